/* accept.h - the Accept header's typed clauses: application/json;g=GROUP;v=VERSION;as=KIND */
#ifndef APISERVER_ACCEPT_H
#define APISERVER_ACCEPT_H
#include "net/http.h"
#include "wire/json.h"

/* True when a clause with as=`as` and g=`group` comes before any plain JSON clause; its v= goes to ret_version (may be
 * NULL). */
bool accept_as(const struct http_request *r, const char *as, const char *group, struct bytes *ret_version);
/* A Table or metadata alone would be taken, and no plain object. */
bool accept_no_plain(const struct http_request *r);
/* Only metadata is asked for: what clients do that watch many kinds, such as garbage collectors. */
bool accept_partial(const struct http_request *r);
void accept_partial_write(struct buf *out, const struct json *object);

#endif
