/* body.h - bodies of requests: JSON, YAML or protobuf in, one object out
 *
 * Each returns false when it has answered already.
 */
#ifndef APISERVER_BODY_H
#define APISERVER_BODY_H
#include "apiserver/request/request.h"

/* Read the request body as one object by its Content-Type; fills apiVersion and kind from the URL when absent, refuses others.
 * `expect` NULL: any object (DeleteOptions, reviews: apiVersion and kind are left alone). An empty body gives NULL in *ret_object when
 * `expect` is NULL, else 400. */
bool body_read(struct http_exchange *x, const struct request_info *ri, const struct kind *expect, struct json **ret_object);
/* The same, and which keys came twice. */
bool body_read_info(struct http_exchange *x, const struct request_info *ri, const struct kind *expect, struct json **ret_object,
                    struct json_parse_info *ret_info);
bool body_parse_text(struct http_exchange *x, const struct request_info *ri, bool yaml, struct json **ret_object,
                     struct json_parse_info *ret_info);
/* The body may leave name and namespace out; others than the URL's are refused. */
bool body_identity_check(struct http_exchange *x, const struct request_info *ri, const struct json *metadata);

#endif
