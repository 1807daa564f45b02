/* discovery.h - which resources there are */
#ifndef APISERVER_DISCOVERY_H
#define APISERVER_DISCOVERY_H
#include "apiserver/server.h"

/* Path segments: "/apis/batch/v1/" is {"apis", "batch", "v1"}. False: the path is not its own. */
bool discovery_handle(struct apiserver *s, struct http_exchange *x, char **segments, unsigned n);

#endif
