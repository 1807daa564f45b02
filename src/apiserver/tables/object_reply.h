/* object_reply.h - answers that are objects, in the form that was asked for: whole, as a Table, or their metadata alone */
#ifndef APISERVER_OBJECT_REPLY_H
#define APISERVER_OBJECT_REPLY_H
#include "apiserver/request/request.h"

/* Answer with one object. `object` is in storage version: converted to the URL's version here, then printed, as Table
 * when asked. durable: after the commit of this turn's writes. */
void object_reply(struct http_exchange *x, const struct request_info *ri, int http, struct json *object, bool durable);

#endif
