/* stateful_set.h - StatefulSets of the embedded cluster: numbered pods with claims of their own, one after the other
 *
 * SOURCE apps/v1 API reference. Pod NAME-3 has hostname NAME-3, subdomain spec.serviceName and claims TEMPLATE-NAME-3, which stay when it
 *        goes unless persistentVolumeClaimRetentionPolicy says otherwise.
 */
#ifndef JOBS_APPS_STATEFUL_SET_H
#define JOBS_APPS_STATEFUL_SET_H
#include "kube/client.h"

struct stateful_sets;
/* speed divides minReadySeconds. */
struct stateful_sets *stateful_sets_new(struct kube_client *c, double speed);
void stateful_sets_free(struct stateful_sets *s); /* NULL-safe */

#endif
