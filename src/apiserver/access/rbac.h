/* rbac.h - may this user do that: the stored roles and bindings, evaluated
 *
 * Only with `authenticate` (TLS mode). On plain loopback everybody who can connect is the cluster's administrator.
 */
#ifndef APISERVER_RBAC_H
#define APISERVER_RBAC_H
#include "apiserver/access/token.h"

struct rbac_question {
    const char *verb;             /* "get", "create", ... */
    const char *group, *resource; /* resource with subresource: "pods/log" */
    const char *ns, *name;        /* "" = all / none */
    const char *path;             /* non-resource request, in normal form (request_path_normal): else NULL */
};
bool rbac_allows(struct apiserver *s, struct arena *a, const struct requester *who, const struct rbac_question *q);
/* The rule alone allows what is asked for. */
bool rbac_rule_covers(const struct json *rule, const struct rbac_question *q);
/* False: whoever sent x may not, and it was answered. */
bool rbac_require(struct apiserver *s, struct http_exchange *x, const struct rbac_question *q);
/* What a request of HTTP asks for. */
void rbac_question_of(const struct http_request *r, struct rbac_question *ret_q);
/* Call fn for every rule that who has in ns ("" = cluster-wide ones only). */
typedef void (*rbac_rule_fn)(void *arg, const struct json *rule);
void rbac_rules_each(struct apiserver *s, struct arena *a, const struct requester *who, const char *ns, rbac_rule_fn fn,
                     void *arg);

#endif
