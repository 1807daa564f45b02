/* subresource_resize.c - pods/NAME/resize: the resources of running containers, and nothing else of the pod */
#include "apiserver/apply/object_change.h"
#include "apiserver/apply/object_write.h"
#include "apiserver/apply/strategic_merge.h"
#include "apiserver/lifecycle/quota.h"
#include "apiserver/request/body.h"
#include "apiserver/request/status.h"
#include "apiserver/store/object.h"
#include "apiserver/tables/object_reply.h"
#include "apiserver/verbs/subresource.h"
#include "apiserver/verbs/write_reply.h"
#include "base/quantity.h"
#include "codec/admission/admission.h"
#include "codec/decode/limit_range.h"
#include "wire/patch.h"

/* The pod as the request wants it. False: answered. */
static bool wanted_read(struct http_exchange *x, const struct request_info *ri, const struct json *old,
                        struct json **ret_pod)
{
    struct arena *a = x->request.arena;
    const char *type = http_header(&x->request, "content-type");
    struct err e = {0};
    int r = 0;
    if (ri->verb == VERB_UPDATE)
        return body_read(x, ri, ri->kind, ret_pod);
    struct json *patch = json_parse(a, x->request.body, NULL, &e);
    *ret_pod = json_clone(a, old);
    if (!patch)
        r = -E_INVALID;
    else if (patch->type == JSON_ARRAY)
        r = patch_json(a, ret_pod, patch, &e);
    else if (type && text_starts(type, "application/merge-patch+json"))
        patch_merge(a, ret_pod, patch);
    else
        r = strategic_merge(a, ri->kind_version->schema, *ret_pod, patch, &e);
    if (r < 0)
        status_reply_err(x, ri, &e);
    return r == 0;
}

static void amounts_check(struct field_errors *errors, struct arena *a, const char *container,
                          const struct json *resources)
{
    static const char *const lists[] = {"requests", "limits"};
    for (size_t i = 0; i < 2; i++)
        JSON_EACH (amount, json_get(resources, lists[i])) {
            struct quantity q;
            struct err e = {0};
            const char *path = arena_printf(a, "spec.containers[%s].resources.%s.%s", container, lists[i], amount->key);
            if (quantity_parse(json_bytes(amount), &q, &e) < 0)
                field_error_add(errors, FIELD_INVALID, path, NULL, "%s", e.text);
            else if (quantity_sign(q) < 0)
                field_error_add(errors, FIELD_INVALID, path, NULL, "must be greater than or equal to 0");
        }
}

static const struct json *container_named(const struct json *pod, const char *name)
{
    JSON_EACH (container, json_path(pod, "spec", "containers", NULL)) {
        if (strcmp(json_get_text(container, "name", ""), name) == 0)
            return container;
    }
    return NULL;
}

static int resources_put(void *arg, struct arena *a, struct json *pod, struct err *e)
{
    JSON_EACH (container, json_path(pod, "spec", "containers", NULL)) {
        const struct json *wanted = container_named(arg, json_get_text(container, "name", ""));
        const struct json *resources = json_get(wanted, "resources");
        if (json_is(resources, JSON_OBJECT))
            json_set(a, container, "resources", json_clone(a, resources));
    }
    return 0;
}

/* A larger pod must fit the quotas and limit ranges of its namespace as a new one must. */
static void limits_check(struct object_write *w, const char *name)
{
    const struct json *ranges = object_list_plural(w->server, w->arena, "", "limitranges", w->ns);
    const char *broken = limit_range_pod_broken(w->arena, ranges, w->object);
    if (broken)
        (void)object_write_fail(w, 403, "Forbidden", "pods \"%s\" is forbidden: %s", name, broken);
    else
        (void)quota_admit(w); /* the answer says what it would exceed */
}

/* WHY  as of a pod that has this size already: nothing else may change, and a pod that may not be so takes no other write. */
static bool size_check(struct object_write *w)
{
    struct admission x = {.arena = w->arena, .old = json_copy(w->arena, w->object), .object = w->object};
    field_errors_init(&x.errors, w->arena);
    schema_validate(kind_storage(w->kind)->schema, x.object, &x.errors);
    admission_run(&x, w->kind);
    w->errors = x.errors;
    return !x.errors.n;
}

/* The pod of that size, with nothing in its resources that their type does not have. False: answered. */
static bool resized(struct http_exchange *x, const struct request_info *ri, const struct json *old, struct json *wanted,
                    struct json **ret_pod)
{
    struct object_write w;
    struct arena *a = x->request.arena;
    object_write_init(&w, ri, a);
    w.old = old;
    w.object = json_copy(a, old);
    (void)resources_put(wanted, a, w.object, NULL); /* never fails */
    if (object_write_decode(&w) && size_check(&w))
        limits_check(&w, ri->name);
    *ret_pod = w.object;
    return object_write_answer(x, ri, &w);
}

void resize_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri)
{
    struct arena *a = x->request.arena;
    struct json *old = object_read(s, a, ri->kind, ri->ns, ri->name), *wanted = NULL, *object = old;
    struct field_errors errors;
    struct err e = {0};
    if (!old) {
        status_reply_not_found(x, ri, ri->name);
        return;
    }
    if (ri->verb == VERB_GET) {
        object_reply(x, ri, 200, old, false);
        return;
    }
    if (ri->verb != VERB_UPDATE && ri->verb != VERB_PATCH) {
        status_reply_method(x, ri);
        return;
    }
    if (!wanted_read(x, ri, old, &wanted))
        return;
    field_errors_init(&errors, a);
    JSON_EACH (container, json_path(wanted, "spec", "containers", NULL)) {
        amounts_check(&errors, a, json_get_text(container, "name", ""), json_get(container, "resources"));
    }
    if (errors.n) {
        status_reply_invalid(x, ri, ri->name, &errors);
        return;
    }
    if (!resized(x, ri, old, wanted, &wanted))
        return;
    if (ri->dry_run)
        (void)resources_put(wanted, a, object, &e); /* never fails */
    else if (object_modify(s, ri->kind, ri->ns, ri->name, a, resources_put, wanted, WRITE_OWN, &object, &e) < 0) {
        status_reply_err(x, ri, &e);
        return;
    }
    object_reply(x, ri, 200, object, true);
}
