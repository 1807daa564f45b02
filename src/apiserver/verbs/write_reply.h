/* write_reply.h - answers to writes: warnings, what failed, the new state */
#ifndef APISERVER_WRITE_REPLY_H
#define APISERVER_WRITE_REPLY_H
#include "apiserver/apply/object_write.h"

/* Send the warnings; when it failed answer so and return false. */
bool object_write_answer(struct http_exchange *x, const struct request_info *ri, const struct object_write *w);
/* Answer with the new state, after the commit. */
void object_write_reply(struct http_exchange *x, const struct request_info *ri, int http, struct object_write *w);
/* A new state of an existing object by the whole write path, as PUT does: for handlers such as scale that build the whole object.
 * False: it failed and was answered. */
bool object_write_checked(struct http_exchange *x, const struct request_info *ri, struct json *old, struct json *object,
                          struct json **ret_object);

#endif
