/* status.h - answers that are no object: Status, failure or success, and when an answer may leave */
#ifndef APISERVER_STATUS_H
#define APISERVER_STATUS_H
#include "apiserver/request/request.h"
#include "codec/schema/field_errors.h"

/* Failure. `reason` as Kubernetes ("NotFound"); details.name/group/kind from ri (may be NULL); causes may be NULL. */
void status_reply(struct http_exchange *x, int http, const char *reason, const struct request_info *ri,
                  const struct field_errors *causes, const char *format, ...) PRINTF_LIKE(6, 7);
/* From an error of this room: code gives status and reason, text the message. */
void status_reply_err(struct http_exchange *x, const struct request_info *ri, const struct err *e);
/* The Status object as a tree (watch ERROR events, special causes). */
struct json *status_json(struct arena *a, int http, const char *reason, const struct request_info *ri,
                         const struct field_errors *causes, const char *message);
void status_reply_json(struct http_exchange *x, int http, struct json *status);
/* 422 Invalid: `Pod "p1" is invalid: <errors>`. */
void status_reply_invalid(struct http_exchange *x, const struct request_info *ri, const char *name,
                          const struct field_errors *causes);
void status_reply_not_found(struct http_exchange *x, const struct request_info *ri, const char *name);
void status_reply_method(struct http_exchange *x, const struct request_info *ri); /* 405; ri may be NULL */
/* Success Status, after the commit. uid may be NULL. */
void status_success(struct http_exchange *x, const struct request_info *ri, int http, const char *uid);
void status_warn(struct http_exchange *x, const char *text); /* Warning: 299 - "text" */
/* `jobs.batch`, `pods`: plural with group. In the arena. */
const char *status_resource(struct arena *a, const struct kind *k);

/* Answer with any body after the commit (500 when the commit failed). Takes over the reference.
 * WHY  whoever answers a write uses this, status_success or object_reply(..., true), never http_reply: what was answered is on the disk. */
void reply_durable(struct apiserver *s, struct http_exchange *x, int http, const char *content_type, struct blob *body);

#endif
