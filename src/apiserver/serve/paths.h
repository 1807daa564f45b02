/* paths.h - what is served beside resources: "/api", "/apis...", "/openapi/...", "/version", health, "/metrics" */
#ifndef APISERVER_PATHS_H
#define APISERVER_PATHS_H
#include "apiserver/server.h"

bool paths_handle(struct apiserver *s, struct http_exchange *x); /* false: the path is none of these */

#endif
