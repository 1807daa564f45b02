#include "apiserver/lifecycle/namespace.h"

#include <stdio.h>

#include "apiserver/apply/object_change.h"
#include "apiserver/request/status.h"
#include "apiserver/store/object.h"

#define PASS_DELETIONS 2000 /* objects deleted in one turn of the loop */

bool namespace_admit(struct object_write *w)
{
    if (!(w->kind->flags & KIND_NAMESPACED))
        return true;
    struct store *store = w->server->store;
    const struct store_object *ns = store_get(store, store_kind(store, "", "namespaces"), "", w->ns);
    if (!ns)
        return object_write_fail(w, 404, "NotFound", "namespaces \"%s\" not found", w->ns);
    if (object_text_terminating(ns->body))
        return object_write_fail(
            w, 403, "Forbidden",
            "%s \"%s\" is forbidden: unable to create new content in namespace %s because it is being terminated",
            status_resource(w->arena, w->kind), json_get_text(json_get(w->object, "metadata"), "name", ""), w->ns);
    return true;
}

void namespace_settle(struct object_write *w)
{
    struct arena *a = w->arena;
    struct json *metadata = json_get(w->object, "metadata");
    const char *name = json_get_text(metadata, "name", "");
    if (*name)
        json_set_text(a, json_ensure_object(a, metadata, "labels"), "kubernetes.io/metadata.name", name);
    if (w->old) {
        const struct json *spec = json_get(w->old, "spec");
        if (!object_write_is_own(w)) /* its finalizers go by /finalize alone */
            json_set(a, w->object, "spec", spec ? json_copy(a, spec) : json_new(a, JSON_OBJECT));
        return;
    }
    struct json *finalizers = json_ensure_array(a, json_ensure_object(a, w->object, "spec"), "finalizers");
    bool have = false;
    JSON_EACH (f, finalizers)
        have = have || strcmp(json_text(f, ""), "kubernetes") == 0;
    if (!have)
        json_append(finalizers, json_new_text(a, "kubernetes"));
    json_set_text(a, json_ensure_object(a, w->object, "status"), "phase", "Active");
}

static struct json *named_object(struct arena *a, const char *kind, const char *ns, const char *name)
{
    struct json *object = json_new(a, JSON_OBJECT);
    json_set_text(a, object, "kind", kind);
    json_set_text(a, object, "apiVersion", "v1");
    struct json *metadata = json_ensure_object(a, object, "metadata");
    json_set_text(a, metadata, "name", name);
    if (*ns)
        json_set_text(a, metadata, "namespace", ns);
    return object;
}

static int create_absent(struct apiserver *s, struct arena *a, const char *plural, struct json *object, struct err *e)
{
    const struct kind *k = kind_find(s->kinds, "", plural);
    const struct json *metadata = json_get(object, "metadata");
    if (!k || object_read(s, a, k, json_get_text(metadata, "namespace", ""), json_get_text(metadata, "name", "")))
        return 0;
    return object_create(s, k, a, object, e);
}

static struct json *root_data(struct apiserver *s, struct arena *a)
{
    struct json *data = json_new(a, JSON_OBJECT);
    json_set_text(a, data, "ca.crt", s->config.ca_pem ? s->config.ca_pem : "");
    return data;
}

static void root_create(struct apiserver *s, struct arena *a, const char *name)
{
    struct err e = {0};
    struct json *ca = named_object(a, "ConfigMap", name, NAMESPACE_ROOT_CA);
    json_set(a, ca, "data", root_data(s, a));
    (void)create_absent(s, a, "configmaps", ca, &e); /* exists: somebody was faster */
}

void namespace_created(struct apiserver *s, const char *name)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct err e = {0};
    (void)create_absent(s, a, "serviceaccounts", named_object(a, "ServiceAccount", name, "default"),
                        &e); /* exists: somebody was faster */
    root_create(s, a, name);
}

static int root_put(void *arg, struct arena *a, struct json *object, struct err *e)
{
    json_set(a, object, "data", root_data(arg, a));
    return 0;
}

static void root_restore(struct apiserver *s, struct arena *a, const char *name)
{
    const struct kind *maps = kind_find(s->kinds, "", "configmaps"), *namespaces = kind_find(s->kinds, "", "namespaces");
    const struct json *map = object_read(s, a, maps, name, NAMESPACE_ROOT_CA), *data = json_get(map, "data");
    if (object_terminating(object_read(s, a, namespaces, "", name)))
        return;
    if (!map)
        root_create(s, a, name);
    else if (!data || !json_equal(data, root_data(s, a)))
        (void)object_modify(s, maps, name, NAMESPACE_ROOT_CA, a, root_put, s, WRITE_OWN, NULL, NULL); /* it was there a moment ago */
}

void namespace_roots_restore(struct apiserver *s)
{
    struct store_cursor *c = store_list(s->store, store_kind(s->store, "", "namespaces"), NULL, NULL);
    for (const struct store_object *o; (o = store_list_next(c));) {
        _cleanup_arena_ struct arena *a = arena_new();
        root_restore(s, a, arena_text(a, o->name));
    }
    store_list_free(c);
}

int namespace_seed(struct apiserver *s, struct err *e)
{
    static const char *const names[] = {"default", "kube-system", "kube-public", "kube-node-lease", NULL};
    _cleanup_arena_ struct arena *a = arena_new();
    for (size_t i = 0; names[i]; i++) {
        int r = create_absent(s, a, "namespaces", named_object(a, "Namespace", "", names[i]), e);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- the end ---- */

int namespace_stays(struct apiserver *s, struct arena *a, const struct json *ns, struct err *e)
{
    static const char *const namespaces[] = {"default", "kube-system", "kube-public"};
    const char *name = json_text(json_path(ns, "metadata", "name", NULL), "");
    for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++)
        if (strcmp(name, namespaces[i]) == 0)
            return err_set(e, E_DENIED, "namespaces \"%s\" is forbidden: this namespace may not be deleted", name);
    return 0;
}

bool namespace_held(const struct json *ns)
{
    const struct json *finalizers = json_path(ns, "spec", "finalizers", NULL);
    return finalizers && finalizers->n;
}

void namespace_mark(struct arena *a, struct json *ns)
{
    json_set_text(a, json_ensure_object(a, ns, "status"), "phase", "Terminating");
}

void namespace_finish(struct apiserver *s, const char *name)
{
    const struct kind *namespaces = kind_find(s->kinds, "", "namespaces");
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *ns = object_read(s, a, namespaces, "", name);
    if (!ns || !object_terminating(ns))
        return;
    size_t budget_n = PASS_DELETIONS, left_n = 0;
    for (uint32_t i = 0; i < kind_count(s->kinds); i++) {
        const struct kind *k = kind_at(s->kinds, i);
        if ((k->flags & KIND_NAMESPACED) && !(k->flags & (KIND_REVIEW | KIND_READ_ONLY)))
            left_n += objects_delete(s, k, name, &budget_n);
    }
    if (!left_n)
        finalizer_drop(s, namespaces, "", name, a, "spec", "kubernetes");
}
