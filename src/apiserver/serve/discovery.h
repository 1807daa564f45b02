/* discovery.h - which resources there are */
#ifndef APISERVER_DISCOVERY_H
#define APISERVER_DISCOVERY_H
#include "apiserver/server.h"

/* n > 0 segments of a path (request_path_split). False: it is not its own. */
bool discovery_handle(struct apiserver *s, struct http_exchange *x, const char *const *segments, int n);

#endif
