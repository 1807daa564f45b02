/* route.h - from a request for objects to the function that answers it */
#ifndef APISERVER_ROUTE_H
#define APISERVER_ROUTE_H
#include "apiserver/request/request.h"

void route_handle(struct apiserver *s, struct http_exchange *x);

#endif
