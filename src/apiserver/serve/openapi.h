/* openapi.h - the schemas of all kinds, in version 2 and 3 of OpenAPI */
#ifndef APISERVER_OPENAPI_H
#define APISERVER_OPENAPI_H
#include "apiserver/server.h"

/* Path segments: "/apis/batch/v1/" is {"apis", "batch", "v1"}. False: the path is not its own. */
bool openapi_handle(struct apiserver *s, struct http_exchange *x, char **segments, unsigned n);

#endif
