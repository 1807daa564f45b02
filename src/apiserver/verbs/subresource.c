#include "apiserver/verbs/subresource.h"

#include "apiserver/access/token.h"
#include "apiserver/apply/object_change.h"
#include "apiserver/request/body.h"
#include "apiserver/request/status.h"
#include "apiserver/tables/object_reply.h"
#include "apiserver/verbs/verbs.h"

static void subresource_missing(struct http_exchange *x)
{
    status_reply(x, 404, "NotFound", NULL, NULL, "the server could not find the requested resource");
}

/* Data paths into containers: there are none, the pods are simulated. */
static void connect_refuse(struct http_exchange *x, const struct request_info *ri)
{
    status_reply(x, 501, "NotImplemented", ri, NULL,
                 "%s is not available: this server's pods are simulated and have no processes; `kubectl logs` shows "
                 "what they print",
                 ri->subresource);
}

/* Subresources that are the object itself, with fewer fields to change: object_settle lets only these change. */
static void object_itself(struct apiserver *s, struct http_exchange *x, const struct request_info *ri)
{
    struct request_info *same = arena_alloc(x->request.arena, sizeof *same);
    *same = *ri;
    if (ri->verb == VERB_GET)
        get_handle(x, same);
    else if (ri->verb == VERB_UPDATE)
        update_handle(x, same);
    else if (ri->verb == VERB_PATCH)
        patch_handle(x, same);
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
    struct json *body, *object;
    struct err e = {0};
    if (ri->verb != VERB_UPDATE) {
        status_reply_method(x, ri);
        return;
    }
    if (!body_read(x, ri, ri->kind, &body))
        return;
    int r = object_modify(s, ri->kind, "", ri->name, x->request.arena, finalizers_put, body, WRITE_OWN_STATUS, &object, &e);
    if (r == -E_NOTFOUND)
        status_reply_not_found(x, ri, ri->name);
    else if (r < 0)
        status_reply_err(x, ri, &e);
    else
        object_reply(x, ri, 200, object, true);
}

struct subresource_entry {
    const char *group, *plural, *name;
    void (*handle)(struct apiserver *s, struct http_exchange *x, const struct request_info *ri);
};

void subresource_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri)
{
    static const struct subresource_entry entries[] = {
        {"", "pods", "binding", binding_handle},
        {"", "pods", "eviction", eviction_handle},
        {"", "pods", "log", logs_handle},
        {"", "pods", "ephemeralcontainers", object_itself},
        {"", "pods", "resize", resize_handle},
        {"", "serviceaccounts", "token", token_request_handle},
        {"", "namespaces", "finalize", finalize_handle},
    };
    static const char *const connects[] = {"exec", "attach", "portforward", "proxy"};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(entries[i].name, ri->subresource) == 0 && strcmp(entries[i].plural, ri->plural) == 0 &&
            strcmp(entries[i].group, ri->group) == 0) {
            entries[i].handle(s, x, ri);
            return;
        }
    if (strcmp(ri->subresource, "scale") == 0 && (ri->kind->flags & KIND_SCALE)) {
        scale_handle(s, x, ri);
        return;
    }
    for (size_t i = 0; i < sizeof connects / sizeof *connects; i++)
        if (strcmp(connects[i], ri->subresource) == 0 && *ri->group == 0) {
            connect_refuse(x, ri);
            return;
        }
    subresource_missing(x);
}
