#include "apiserver/access/token_bound.h"

#include "apiserver/request/status.h"
#include "apiserver/store/object.h"

#define CLAIM "authentication.kubernetes.io/"

static const struct bindable {
    const char *kind, *plural;
    bool namespaced;
} bindables[] = {{"Pod", "pods", true}, {"Secret", "secrets", true}, {"Node", "nodes", false}};

static const struct bindable *bindable_find(const char *kind)
{
    for (size_t i = 0; i < sizeof bindables / sizeof *bindables; i++)
        if (strcmp(bindables[i].kind, kind) == 0)
            return &bindables[i];
    return NULL;
}

static const char *uid_of(const struct json *object)
{
    return json_text(json_path(object, "metadata", "uid", NULL), "");
}

static void node_put(struct apiserver *s, struct arena *a, struct json *bound, const char *name)
{
    const struct json *node = *name ? object_read_plural(s, a, "", "nodes", "", name) : NULL;
    struct json *facts = json_new(a, JSON_OBJECT);
    if (!*name)
        return;
    json_set_text(a, facts, "name", name);
    if (node)
        json_set_text(a, facts, "uid", uid_of(node));
    json_set(a, bound, "node", facts);
}

/* Pods run as one service account: a token of another must not look as theirs. */
static bool pod_check(struct http_exchange *x, const struct request_info *ri, const struct json *pod)
{
    const char *account = json_text(json_path(pod, "spec", "serviceAccountName", NULL), "default");
    if (strcmp(account, ri->name) == 0)
        return true;
    status_reply(x, 400, "BadRequest", ri, NULL,
                 "cannot bind token for serviceaccount \"%s\" to pod running with different serviceaccount name.", ri->name);
    return false;
}

bool token_bind(struct http_exchange *x, const struct request_info *ri, const struct json *ref, struct json **ret_bound)
{
    struct arena *a = x->request.arena;
    const char *kind = json_get_text(ref, "kind", ""), *name = json_get_text(ref, "name", ""), *uid = json_get_text(ref, "uid", "");
    const struct bindable *b = bindable_find(kind);
    *ret_bound = NULL;
    if (!json_is(ref, JSON_OBJECT))
        return true;
    if (!b || strcmp(json_get_text(ref, "apiVersion", "v1"), "v1") != 0) {
        status_reply(x, 400, "BadRequest", ri, NULL, "cannot bind token to object of type %s %s: only to a Pod, a Secret or a Node of v1",
                     json_get_text(ref, "apiVersion", ""), kind);
        return false;
    }
    const struct json *object = object_read_plural(ri->server, a, "", b->plural, ri->ns, name);
    if (!object) {
        status_reply(x, 404, "NotFound", NULL, NULL, "%s \"%s\" not found", b->plural, name);
        return false;
    }
    if (*uid && strcmp(uid, uid_of(object)) != 0) {
        status_reply(x, 409, "Conflict", ri, NULL,
                     "the UID in the bound object reference (%.64s) does not match the UID in record. The object might have been deleted and "
                     "then recreated",
                     uid);
        return false;
    }
    if (strcmp(kind, "Pod") == 0 && !pod_check(x, ri, object))
        return false;
    struct json *bound = json_new(a, JSON_OBJECT);
    json_set_text(a, bound, "kind", kind);
    json_set_text(a, bound, "plural", b->plural);
    json_set_text(a, bound, "namespace", b->namespaced ? ri->ns : "");
    json_set_text(a, bound, "name", name);
    json_set_text(a, bound, "uid", uid_of(object));
    if (strcmp(kind, "Pod") == 0)
        node_put(ri->server, a, bound, json_text(json_path(object, "spec", "nodeName", NULL), ""));
    *ret_bound = bound;
    return true;
}

bool token_bound_holds(struct apiserver *s, struct arena *a, const struct json *bound)
{
    const struct json *object = bound ? object_read_plural(s, a, "", json_get_text(bound, "plural", ""), json_get_text(bound, "namespace", ""),
                                                           json_get_text(bound, "name", ""))
                                      : NULL;
    return !bound || (object && strcmp(uid_of(object), json_get_text(bound, "uid", "")) == 0);
}

static void claim_put(struct arena *a, struct json *extra, const char *what, const char *member, const char *value)
{
    struct json *list = json_new(a, JSON_ARRAY);
    if (!*value)
        return;
    json_append(list, json_new_text(a, value));
    json_set(a, extra, arena_printf(a, CLAIM "%s-%s", what, member), list);
}

struct json *token_bound_extra(struct arena *a, const struct json *bound)
{
    const char *kind = json_get_text(bound, "kind", ""), *what = strcmp(kind, "Pod") == 0    ? "pod"
                                                                 : strcmp(kind, "Node") == 0 ? "node"
                                                                                             : NULL;
    const struct json *node = json_get(bound, "node");
    struct json *extra = json_new(a, JSON_OBJECT);
    if (what) {
        claim_put(a, extra, what, "name", json_get_text(bound, "name", ""));
        claim_put(a, extra, what, "uid", json_get_text(bound, "uid", ""));
    }
    claim_put(a, extra, "node", "name", json_get_text(node, "name", ""));
    claim_put(a, extra, "node", "uid", json_get_text(node, "uid", ""));
    return extra;
}
