/* service.h - cluster addresses and node ports of Services: one of 10.96.0.0/16, one of 30000-32767 a port; nobody routes them */
#ifndef APISERVER_SERVICE_H
#define APISERVER_SERVICE_H
#include "apiserver/apply/object_write.h"

/* Give a Service without address one, and its ports node ports where its type has them; keep the old ones on update. Refuses what another
 * Service has. */
void service_settle(struct object_write *w);

#endif
