/* refresh.h - what follows from other objects, brought up to date a while after those changed: the status of disruption budgets, the rules
 * of aggregated ClusterRoles, kube-root-ca.crt
 *
 * WHY    a while: a burst of changes makes one pass.
 */
#ifndef APISERVER_REFRESH_H
#define APISERVER_REFRESH_H
#include "apiserver/server.h"

struct refresh *refresh_new(struct apiserver *s); /* observes the store */
void refresh_free(struct refresh *f);

#endif
