/* openapi.h - the schemas of all kinds, in version 2 and 3 of OpenAPI */
#ifndef APISERVER_OPENAPI_H
#define APISERVER_OPENAPI_H
#include "apiserver/server.h"

/* n > 0 segments of a path (request_path_split). False: it is not its own. */
bool openapi_handle(struct apiserver *s, struct http_exchange *x, const char *const *segments, int n);

#endif
