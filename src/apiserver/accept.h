/* accept.h - the Accept header's typed clauses: application/json;g=GROUP;v=VERSION;as=KIND */
#ifndef APISERVER_ACCEPT_H
#define APISERVER_ACCEPT_H
#include "net/http.h"

/* True when a clause with as=`as` and g=`group` comes before any plain JSON clause; its v= goes to ret_version (may be
 * NULL). */
bool accept_as(const struct http_request *r, const char *as, const char *group, struct bytes *ret_version);

#endif
