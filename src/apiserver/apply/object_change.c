/* Writes that come from inside the server: read-modify-write, create, delete. */
#include "apiserver/apply/object_change.h"

#include <assert.h>
#include <stdio.h>

#include "apiserver/apply/object_write.h"
#include "apiserver/request/status.h"
#include "apiserver/store/object.h"
#include "base/clock.h"

static void write_own(struct object_write *w, enum write_as as, struct apiserver *s, const struct kind *k, const char *ns,
                      const char *name, struct arena *a)
{
    struct request_info ri;
    request_info_internal(s, k, k->flags & KIND_NAMESPACED ? ns : "", name, &ri);
    object_write_init(w, &ri, a);
    w->as = as;
}

int object_modify(struct apiserver *s, const struct kind *k, const char *ns, const char *name, struct arena *a,
                  object_modify_fn fn, void *arg, enum write_as as, struct json **ret_object, struct err *e)
{
    struct object_write w;
    write_own(&w, as, s, k, ns, name, a);
    if (!object_write_read(&w, name, false))
        return err_set(e, E_NOTFOUND, "%s \"%s\" not found", status_resource(a, k), name);
    w.object = json_copy(a, w.old);
    int r = fn(arg, a, w.object, e);
    if (r < 0)
        return r;
    if (!object_write_run(&w))
        return object_write_err(&w, e);
    if (ret_object) {
        object_write_join(&w);
        *ret_object = w.object;
    }
    return 0;
}

int object_modify_apart(struct apiserver *s, const struct kind *k, const char *ns, const char *name, struct arena *a,
                        object_modify_apart_fn fn, void *arg, enum write_as as, struct err *e)
{
    struct object_write w;
    write_own(&w, as, s, k, ns, name, a);
    if (!object_write_read(&w, name, true))
        return err_set(e, E_NOTFOUND, "%s \"%s\" not found", status_resource(a, k), name);
    w.object = json_copy(a, w.old);
    int r = fn(arg, a, w.object, &w.apart, e);
    if (r < 0)
        return r;
    return object_write_run(&w) ? 0 : object_write_err(&w, e);
}

int object_create(struct apiserver *s, const struct kind *k, struct arena *a, struct json *object, struct err *e)
{
    struct object_write w;
    const char *ns = json_get_text(json_get(object, "metadata"), "namespace", "");
    struct request_info ri;
    request_info_internal(s, k, ns, "", &ri);
    object_write_init(&w, &ri, a);
    const char *api_version = json_get_text(object, "apiVersion", "");
    const char *slash = strchr(api_version, '/');
    const char *version = slash ? slash + 1 : api_version;
    if (kind_version_find(k, version))
        w.version = version;
    w.object = object;
    if (!object_write_decode(&w))
        return object_write_err(&w, e);
    return object_write_run(&w) ? 0 : object_write_err(&w, e);
}

/* ---- delete ---- */

void delete_options_of(const struct json *said, bool dry_run, struct delete_options *ret_o)
{
    const struct json *conditions = json_get(said, "preconditions"), *dry = json_get(said, "dryRun");
    *ret_o = (struct delete_options){
        .grace_seconds = json_get_int64(said, "gracePeriodSeconds", -1),
        .propagation = json_get_bool(said, "orphanDependents", false) ? "Orphan" : json_get_text(said, "propagationPolicy", ""),
        .precondition_uid = json_get_text(conditions, "uid", NULL),
        .precondition_rv = json_get_text(conditions, "resourceVersion", NULL),
        .dry_run = dry_run || (json_is(dry, JSON_ARRAY) && dry->n),
    };
}

static int precondition_check(const struct kind *k, struct arena *a, const struct json *metadata,
                              const struct delete_options *o, struct err *e)
{
    const char *uid = json_get_text(metadata, "uid", ""), *rv = json_get_text(metadata, "resourceVersion", "");
    const char *name = json_get_text(metadata, "name", "");
    if (o->precondition_uid && strcmp(o->precondition_uid, uid) != 0)
        return err_set(e, E_CONFLICT,
                       "Operation cannot be fulfilled on %s \"%s\": Precondition failed: UID in precondition: %.64s, "
                       "UID in object meta: %s",
                       status_resource(a, k), name, o->precondition_uid, uid);
    if (o->precondition_rv && strcmp(o->precondition_rv, rv) != 0)
        return err_set(
            e, E_CONFLICT,
            "Operation cannot be fulfilled on %s \"%s\": Precondition failed: ResourceVersion in precondition: %.64s, "
            "ResourceVersion in object meta: %s",
            status_resource(a, k), name, o->precondition_rv, rv);
    return 0;
}

static void deletion_mark(const struct object_write *w, struct json *object, int64_t grace)
{
    struct arena *a = w->arena;
    struct json *metadata = json_get(object, "metadata");
    bool first = !json_get(metadata, "deletionTimestamp");
    char text[TIME_TEXT_MAX];
    if (first || grace < json_get_int64(metadata, "deletionGracePeriodSeconds", 0))
        json_set_text(a, metadata, "deletionTimestamp", time_format(text, loop_wall_ms(w->server->loop) + grace * 1000));
    json_set_int64(a, metadata, "deletionGracePeriodSeconds", grace);
    if (first && (w->kind->flags & KIND_GENERATION))
        json_set_int64(a, metadata, "generation", json_get_int64(metadata, "generation", 0) + 1);
    if (w->rules->mark)
        w->rules->mark(a, object);
}

void object_remove(struct apiserver *s, uint32_t kind_id, const char *ns, const char *name, struct arena *a, struct json *object)
{
    uint64_t rv = store_next_rv(s->store);
    json_set_text(a, json_get(object, "metadata"), "resourceVersion", arena_printf(a, "%llu", (unsigned long long)rv));
    struct blob *body = object_text(s, object);
    int r = store_delete(s->store, kind_id, ns, name, 0, rv, body, NULL);
    assert(r == 0 && "it was read a moment ago");
    (void)r;
    blob_unref(body);
}

int object_delete(struct apiserver *s, const struct kind *k, const char *ns, const char *name, struct arena *a,
                  const struct delete_options *o, bool *ret_gone, struct json **ret_object, struct err *e)
{
    struct object_write w;
    k = kind_stored(k);
    write_own(&w, WRITE_OWN_STATUS, s, k, ns, name, a);
    struct json *old = object_read(s, a, k, w.ns, name);
    if (!old)
        return err_set(e, E_NOTFOUND, "%s \"%s\" not found", status_resource(a, k), name);
    int r = w.rules->stays ? w.rules->stays(s, a, old, e) : 0;
    if (r < 0 || (r = precondition_check(k, a, json_get(old, "metadata"), o, e)) < 0)
        return r;
    struct json *object = json_copy(a, old);
    int64_t grace = w.rules->grace ? w.rules->grace(object, o->grace_seconds) : 0;
    if (object_terminating(old) && grace > json_get_int64(json_get(old, "metadata"), "deletionGracePeriodSeconds", 0))
        grace =
            json_get_int64(json_get(old, "metadata"), "deletionGracePeriodSeconds", 0); /* may only become shorter */
    s->rules->propagate(s, a, object, o);
    if (w.rules->leave)
        w.rules->leave(s, a, object);
    if (ret_object)
        *ret_object = object;
    *ret_gone = grace == 0 && !object_held(&w, object);
    if (*ret_gone) {
        if (o->dry_run)
            return 0;
        object_remove(s, w.kind_id, w.ns, name, a, object);
        if (w.rules->gone)
            w.rules->gone(s, object);
        return 0;
    }
    deletion_mark(&w, object, grace);
    w.old = old;
    w.object = object;
    w.dry_run = o->dry_run;
    if (!object_write_run(&w))
        return object_write_err(&w, e);
    if (ret_object)
        *ret_object = w.object;
    return 0;
}

size_t objects_delete(struct apiserver *s, const struct kind *k, const char *ns, size_t *budget_n)
{
    struct store_cursor *c = store_list(s->store, store_kind(s->store, k->group, k->plural), ns, NULL);
    const struct delete_options options = {.grace_seconds = -1, .propagation = "Background"};
    size_t left_n = 0;
    for (const struct store_object *o; (o = store_list_next(c));) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct err e = {0};
        bool gone = false;
        if (*budget_n && !object_text_terminating(o->body)) {
            --*budget_n;
            (void)object_delete(s, k, arena_text(a, o->ns), arena_text(a, o->name), a, &options, &gone, NULL, &e);
        }
        left_n += !gone;
    }
    store_list_free(c);
    return left_n;
}

struct finalizer {
    const char *member, *name;
};

static int finalizer_take(void *arg, struct arena *a, struct json *object, struct err *e)
{
    const struct finalizer *f = arg;
    struct json *list = json_path(object, f->member, "finalizers", NULL);
    for (struct json *one = list ? list->first : NULL, *next; one; one = next) {
        next = one->next;
        if (strcmp(json_text(one, ""), f->name) == 0)
            json_remove_item(list, one);
    }
    return 0;
}

void finalizer_drop(struct apiserver *s, const struct kind *k, const char *ns, const char *name, struct arena *a, const char *member,
                    const char *finalizer)
{
    struct finalizer f = {member, finalizer};
    struct err e = {0};
    (void)object_modify(s, k, ns, name, a, finalizer_take, &f, WRITE_OWN_STATUS, NULL, &e); /* gone already is as good */
}
