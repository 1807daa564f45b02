/* binding.c - a pod gets its node: once, and only if it still wants one */
#include <stdio.h>

#include "apiserver/apply/object_change.h"
#include "apiserver/request/body.h"
#include "apiserver/request/status.h"
#include "apiserver/store/object.h"
#include "apiserver/verbs/subresource.h"
#include "base/clock.h"

struct binding {
    struct apiserver *server;
    const struct json *body;
    const char *node;
};

static int refuse(struct err *e, const char *pod, const char *format, const char *detail)
{
    char reason[256];
    snprintf(reason, sizeof reason, format, pod, detail);
    return err_set(e, E_CONFLICT, "Operation cannot be fulfilled on pods/binding \"%s\": %s", pod, reason);
}

static int binding_check(const struct binding *b, struct arena *a, const struct json *pod, const struct apart *apart, struct err *e)
{
    const struct json *metadata = json_get(pod, "metadata"), *wanted = json_get(b->body, "metadata");
    const char *name = json_get_text(metadata, "name", ""), *uid = json_get_text(wanted, "uid", ""),
               *rv = json_get_text(wanted, "resourceVersion", "");
    const char *node = json_text(apart_spec_get(a, pod, apart, "nodeName"), "");
    const struct json *gates = apart_spec_get(a, pod, apart, "schedulingGates");
    if (*uid && strcmp(uid, json_get_text(metadata, "uid", "")) != 0)
        return refuse(e, name, "pod %s has another uid than %s: it was deleted and made again", uid);
    if (*rv && strcmp(rv, json_get_text(metadata, "resourceVersion", "")) != 0)
        return refuse(e, name, "pod %s is no longer at resourceVersion %s", rv);
    if (json_get(metadata, "deletionTimestamp"))
        return refuse(e, name, "pod %s is being deleted, cannot be assigned to a host%s", "");
    if (*node)
        return refuse(e, name, "pod %s is already assigned to node \"%s\"", node);
    if (gates && gates->n)
        return refuse(e, name, "pod %s has non-empty .spec.schedulingGates%s", "");
    return 0;
}

static void map_copy(struct arena *a, struct json *pod, const struct json *from, const char *field)
{
    if (!json_is(from, JSON_OBJECT) || from->n == 0)
        return;
    struct json *to = json_ensure_object(a, json_ensure_object(a, pod, "metadata"), field);
    JSON_EACH (item, from) {
        if (item->type == JSON_STRING)
            json_set_text(a, to, item->key, item->text);
    }
}

/* PodScheduled=True, whatever it was. */
static void condition_set(struct arena *a, struct json *pod, int64_t now_ms)
{
    char text[TIME_TEXT_MAX];
    struct json *conditions = json_ensure_array(a, json_ensure_object(a, pod, "status"), "conditions"),
                *scheduled = NULL;
    JSON_EACH (condition, conditions) {
        if (strcmp(json_get_text(condition, "type", ""), "PodScheduled") == 0)
            scheduled = condition;
    }
    if (!scheduled) {
        scheduled = json_new(a, JSON_OBJECT);
        json_set_text(a, scheduled, "type", "PodScheduled");
        json_append(conditions, scheduled);
    }
    json_set_text(a, scheduled, "status", "True");
    json_set_text(a, scheduled, "lastTransitionTime", time_format(text, now_ms));
    json_remove(scheduled, "reason");
    json_remove(scheduled, "message");
}

static int binding_apply(void *arg, struct arena *a, struct json *pod, struct apart *apart, struct err *e)
{
    struct binding *b = arg;
    int r = binding_check(b, a, pod, apart, e);
    if (r < 0)
        return r;
    apart_spec_add(a, pod, apart, "nodeName", json_new_text(a, b->node));
    map_copy(a, pod, json_path(b->body, "metadata", "annotations", NULL), "annotations");
    map_copy(a, pod, json_path(b->body, "metadata", "labels", NULL), "labels");
    condition_set(a, pod, loop_wall_ms(b->server->loop));
    return 0;
}

static bool binding_read(struct http_exchange *x, const struct request_info *ri, struct binding *b,
                         const char **ret_name)
{
    struct json *body = NULL;
    if (ri->verb != VERB_CREATE) {
        status_reply(x, 405, "MethodNotAllowed", ri, NULL, "a binding can only be created: use POST");
        return false;
    }
    if (!body_read(x, ri, NULL, &body))
        return false;
    const struct json *target = json_get(body, "target");
    const char *name = json_text(json_path(body, "metadata", "name", NULL), ""),
               *kind = json_get_text(target, "kind", "");
    b->body = body;
    b->node = json_get_text(target, "name", "");
    *ret_name = *ri->name ? ri->name : name;
    if (*name && strcmp(name, *ret_name) != 0) {
        status_reply(x, 400, "BadRequest", ri, NULL, "metadata.name is \"%s\" but the path says \"%s\"", name,
                     *ret_name);
        return false;
    }
    if (*kind && strcmp(kind, "Node") != 0) {
        status_reply(x, 422, "Invalid", ri, NULL,
                     "Binding \"%s\" is invalid: target.kind: Unsupported value: \"%s\": supported values: \"Node\"",
                     *ret_name, kind);
        return false;
    }
    if (!*b->node || !**ret_name) {
        status_reply(x, 422, "Invalid", ri, NULL, "Binding \"%s\" is invalid: %s: Required value", *ret_name,
                     *b->node ? "metadata.name" : "target.name");
        return false;
    }
    return true;
}

void binding_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri)
{
    struct binding b = {.server = s};
    struct err e = {0};
    struct arena *a = x->request.arena;
    const char *name;
    int r;
    if (!binding_read(x, ri, &b, &name))
        return;
    if (ri->dry_run) {
        const struct json *pod = object_read(s, a, ri->kind, ri->ns, name);
        r = pod ? binding_check(&b, a, pod, &(struct apart){0}, &e) : -E_NOTFOUND;
    } else {
        /* no new generation: nobody changed what is wanted */
        r = object_modify_apart(s, ri->kind, ri->ns, name, a, binding_apply, &b, WRITE_OWN_STATUS, &e);
    }
    if (r == -E_NOTFOUND)
        status_reply_not_found(x, ri, name);
    else if (r < 0)
        status_reply_err(x, ri, &e);
    else
        status_success(x, ri, 201, NULL);
}
