/* own_service.h - how the server shows itself in its cluster: the Service `kubernetes` of namespace default, and the ServiceCIDR of that
 * name that cluster addresses come from
 */
#ifndef APISERVER_OWN_SERVICE_H
#define APISERVER_OWN_SERVICE_H
#include "apiserver/request/request.h"

int own_service_seed(struct apiserver *s, struct arena *a, struct err *e); /* made when absent */

#endif
