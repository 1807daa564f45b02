/* token_bound.h - tokens that are good as long as an object is there: a pod, a secret, a node
 *
 * SHAPE  {"kind", "plural", "namespace", "name", "uid"} of the object, and of a pod on a node {"node": {"name", "uid"}}.
 * SOURCE TokenRequest spec.boundObjectRef; claims of KEP-4193 (authentication.kubernetes.io/node-name and their like).
 */
#ifndef APISERVER_TOKEN_BOUND_H
#define APISERVER_TOKEN_BOUND_H
#include "apiserver/request/request.h"

/* What `ref` names, for a token of the service account in ri; *ret_bound NULL when ref is absent. False: answered. */
bool token_bind(struct http_exchange *x, const struct request_info *ri, const struct json *ref, struct json **ret_bound);
bool token_bound_holds(struct apiserver *s, struct arena *a, const struct json *bound); /* NULL: always */
/* {"authentication.kubernetes.io/pod-name": ["p"], ...}; empty for NULL. */
struct json *token_bound_extra(struct arena *a, const struct json *bound);

#endif
