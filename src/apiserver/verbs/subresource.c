#include "apiserver/verbs/subresource.h"

#include "apiserver/access/token.h"
#include "apiserver/apply/object_change.h"
#include "apiserver/request/body.h"
#include "apiserver/request/status.h"
#include "apiserver/store/object.h"
#include "apiserver/tables/object_reply.h"
#include "apiserver/verbs/verbs.h"
#include "apiserver/verbs/write_reply.h"

/* Data paths into containers: there are none, the pods are simulated. */
static void connect_refuse(struct apiserver *s, struct http_exchange *x, const struct request_info *ri)
{
    status_reply(x, 501, "NotImplemented", ri, NULL,
                 "%s is not available: this server's pods are simulated and have no processes; `kubectl logs` shows "
                 "what they print",
                 ri->subresource);
}

/* Subresources that are the object itself, with fewer fields to change: object_settle lets only these change. */
static void object_itself(struct apiserver *s, struct http_exchange *x, const struct request_info *ri)
{
    if (ri->verb == VERB_GET)
        get_handle(x, ri);
    else if (ri->verb == VERB_UPDATE)
        update_handle(x, ri);
    else if (ri->verb == VERB_PATCH)
        patch_handle(x, ri);
    else
        status_reply_method(x, ri);
}

/* ---- namespaces/NAME/finalize: what holds the namespace back ---- */

static int finalizers_put(void *arg, struct arena *a, struct json *object, struct err *e)
{
    const struct json *finalizers = json_path(arg, "spec", "finalizers", NULL);
    struct json *spec = json_ensure_object(a, object, "spec");
    if (finalizers && finalizers->n)
        json_set(a, spec, "finalizers", json_clone(a, finalizers));
    else
        json_remove(spec, "finalizers");
    return 0;
}

static void finalize_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri)
{
    struct arena *a = x->request.arena;
    struct object_write sent; /* only read: what it says otherwise does not count */
    struct json *object;
    struct err e = {0};
    if (ri->verb != VERB_UPDATE) {
        status_reply_method(x, ri);
        return;
    }
    object_write_init(&sent, ri, a);
    if (!body_read(x, ri, ri->kind, &sent.object))
        return;
    (void)object_write_decode(&sent); /* the answer says what failed */
    if (!object_write_answer(x, ri, &sent))
        return;
    int r = 0;
    if (!ri->dry_run)
        r = object_modify(s, ri->kind, "", ri->name, a, finalizers_put, sent.object, WRITE_OWN_STATUS, &object, &e);
    else
        r = (object = object_read(s, a, ri->kind, "", ri->name)) ? finalizers_put(sent.object, a, object, &e) : -E_NOTFOUND;
    if (r == -E_NOTFOUND)
        status_reply_not_found(x, ri, ri->name);
    else if (r < 0)
        status_reply_err(x, ri, &e);
    else
        object_reply(x, ri, 200, object, true);
}

/* ---- the table ---- */

#define CHANGE "[\"get\",\"patch\",\"update\"]"
#define CONNECT "[\"create\",\"get\"]"
#define CREATE "[\"create\"]"
#define VISIBILITY "visibility.kueue.x-k8s.io"

/* ORDER  discovery's. */
static const struct subresource subresources[] = {
    {"", "pods", 0, "attach", CONNECT, .kind = "PodAttachOptions", .handle = connect_refuse},
    {"", "pods", 0, "binding", CREATE, .kind = "Binding", .handle = binding_handle},
    {"", "pods", 0, "ephemeralcontainers", CHANGE, .handle = object_itself},
    {"", "pods", 0, "eviction", CREATE, "policy", "v1", "Eviction", eviction_handle},
    {"", "pods", 0, "exec", CONNECT, .kind = "PodExecOptions", .handle = connect_refuse},
    {"", "pods", 0, "log", "[\"get\"]", .handle = logs_handle},
    {"", "pods", 0, "portforward", CONNECT, .kind = "PodPortForwardOptions", .handle = connect_refuse},
    {"", "pods", 0, "proxy", NULL, .handle = connect_refuse},
    {"", "pods", 0, "resize", CHANGE, .handle = resize_handle},
    {"", "services", 0, "proxy", NULL, .handle = connect_refuse},
    {"", "nodes", 0, "proxy", NULL, .handle = connect_refuse},
    {"certificates.k8s.io", "certificatesigningrequests", 0, "approval", CHANGE, .handle = object_itself},
    {"", "namespaces", 0, "finalize", "[\"update\"]", .handle = finalize_handle},
    {"", "serviceaccounts", 0, "token", CREATE, "authentication.k8s.io", "v1", "TokenRequest", token_request_handle},
    {VISIBILITY, "clusterqueues", 0, "pendingworkloads", "[\"get\"]", .kind = "PendingWorkloadsSummary", .handle = pending_handle},
    {VISIBILITY, "localqueues", 0, "pendingworkloads", "[\"get\"]", .kind = "PendingWorkloadsSummary", .handle = pending_handle},
    {NULL, NULL, KIND_SCALE, "scale", CHANGE, "autoscaling", "v1", "Scale", scale_handle},
    {NULL, NULL, KIND_STATUS, "status", CHANGE, .handle = object_itself},
};

const struct subresource *subresource_next(const struct kind *k, const struct subresource *after)
{
    static const struct subresource *const end = subresources + sizeof subresources / sizeof *subresources;
    for (const struct subresource *sub = after ? after + 1 : subresources; sub < end; sub++)
        if (sub->flag ? (k->flags & sub->flag) != 0 : strcmp(sub->group, k->group) == 0 && strcmp(sub->plural, k->plural) == 0)
            return sub;
    return NULL;
}

void subresource_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri)
{
    for (const struct subresource *sub = NULL; (sub = subresource_next(ri->kind, sub));)
        if (strcmp(sub->name, ri->subresource) == 0) {
            sub->handle(s, x, ri);
            return;
        }
    status_reply(x, 404, "NotFound", NULL, NULL, "the server could not find the requested resource");
}
