#include "apiserver/rules/crd.h"

#include "apiserver/apply/object_change.h"
#include "apiserver/store/object.h"
#include "apiserver/store/store.h"
#include "base/clock.h"

#define CRD_GROUP "apiextensions.k8s.io"
#define CRD_PLURAL "customresourcedefinitions"
#define CLEANUP "customresourcecleanup.apiextensions.k8s.io"
#define SOON_MS 50       /* after a change, until what leaves is looked at */
#define AGAIN_MS 1000
#define PASS_DELETIONS 500 /* of one kind; others have their turn between two passes */

struct crds {
    struct apiserver *server;
    uint32_t kind_id;
    uint32_t uncommitted_n; /* changes of definitions that the disk does not have yet */
    bool any_leaves;        /* perhaps: a definition waits for the objects of its kind */
    struct loop_timer *timer;
};

static void names_default(struct arena *a, struct json *spec)
{
    struct json *names = json_get(spec, "names");
    const char *kind = json_get_text(names, "kind", "");
    if (!*kind)
        return;
    if (!*json_get_text(names, "singular", ""))
        json_set_text(a, names, "singular", arena_text_lower(a, kind));
    if (!*json_get_text(names, "listKind", ""))
        json_set_text(a, names, "listKind", arena_printf(a, "%sList", kind));
    if (!json_get(spec, "conversion"))
        json_set_text(a, json_ensure_object(a, spec, "conversion"), "strategy", "None");
}

static void name_check(const struct json *object, struct field_errors *errors, struct arena *a)
{
    const struct json *spec = json_get(object, "spec");
    const char *name = json_text(json_path(object, "metadata", "name", NULL), "");
    const char *plural = json_text(json_path(spec, "names", "plural", NULL), ""),
               *group = json_get_text(spec, "group", "");
    const char *expected = arena_printf(a, "%s.%s", plural, group);
    if (*plural && *group && strcmp(name, expected) != 0)
        field_error_add(errors, FIELD_INVALID, "metadata.name", arena_printf(a, "\"%.300s\"", name),
                        "must be spec.names.plural+\".\"+spec.group: %s", expected);
}

/* Add a condition unless there is one of the type: its transition time must not move. */
static void condition_add(struct apiserver *s, struct arena *a, struct json *conditions, const char *type,
                          const char *reason, const char *message)
{
    char text[TIME_TEXT_MAX];
    JSON_EACH (old, conditions) {
        if (strcmp(json_get_text(old, "type", ""), type) == 0)
            return;
    }
    struct json *condition = json_new(a, JSON_OBJECT);
    json_set_text(a, condition, "type", type);
    json_set_text(a, condition, "status", "True");
    json_set_text(a, condition, "lastTransitionTime", time_format(text, loop_wall_ms(s->loop)));
    json_set_text(a, condition, "reason", reason);
    json_set_text(a, condition, "message", message);
    json_append(conditions, condition);
}

static void stored_version_add(struct arena *a, struct json *status, const char *version)
{
    struct json *stored = json_ensure_array(a, status, "storedVersions");
    JSON_EACH (known, stored) {
        if (strcmp(json_text(known, ""), version) == 0)
            return;
    }
    json_append(stored, json_new_text(a, version));
}

static void status_set(struct apiserver *s, struct arena *a, const struct json *old, struct json *object)
{
    const struct json *old_status = json_get(old, "status");
    struct json *spec = json_get(object, "spec");
    if (old_status && !json_get(object, "status"))
        json_set(a, object, "status", json_clone(a, old_status));
    struct json *status = json_ensure_object(a, object, "status");
    struct json *conditions = json_ensure_array(a, status, "conditions");
    condition_add(s, a, conditions, "NamesAccepted", "NoConflicts", "no conflicts found");
    condition_add(s, a, conditions, "Established", "InitialNamesAccepted", "the initial names have been accepted");
    json_set(a, status, "acceptedNames", json_clone(a, json_get(spec, "names")));
    JSON_EACH (version, json_get(spec, "versions")) {
        if (json_get_bool(version, "storage", false))
            stored_version_add(a, status, json_get_text(version, "name", ""));
    }
}

static bool has_rules(const struct json *v)
{
    if (json_is(v, JSON_OBJECT) && json_first(json_get(v, "x-kubernetes-validations")))
        return true;
    JSON_EACH (child, v)
        if (has_rules(child))
            return true;
    return false;
}

/* Kueue's kinds are built in, and src/codec/admission has their rules. */
static bool is_judged_anyway(const struct object_write *w)
{
    const struct json *spec = json_get(w->object, "spec");
    const char *plural = json_text(json_path(spec, "names", "plural", NULL), "");
    const struct kind *k = kind_find(w->server->kinds, json_get_text(spec, "group", ""), plural);
    return k && kind_is_built_in(k) && text_equal(k->group, "kueue.x-k8s.io");
}

static void warn(struct object_write *w)
{
    const char *strategy = json_text(json_path(w->object, "spec", "conversion", "strategy", NULL), "");
    if (strcmp(strategy, "Webhook") == 0)
        object_write_warn(w, "spec.conversion.webhook: conversion webhooks are stored but never called by this server: all versions "
                             "show the same fields");
    if (!is_judged_anyway(w) && has_rules(json_path(w->object, "spec", "versions", NULL)))
        object_write_warn(w, "x-kubernetes-validations: rules (CEL) are stored but not evaluated by this server");
}

void crd_admit(struct object_write *w)
{
    struct apiserver *s = w->server;
    const struct json *spec = json_get(w->object, "spec");
    if (!w->old || strcmp(w->subresource, "status") != 0)
        warn(w);
    if (w->errors.n)
        return;
    names_default(w->arena, json_get(w->object, "spec"));
    name_check(w->object, &w->errors, w->arena);
    if (w->errors.n)
        return;
    bool known =
        w->old && json_equal(json_get(w->old, "spec"), spec) &&
        kind_find(s->kinds, json_get_text(spec, "group", ""), json_text(json_path(spec, "names", "plural", NULL), ""));
    if (!known)
        (void)kind_table_check_crd(s->kinds, w->object, &w->errors); /* what is wrong is in errors */
    if (!w->errors.n)
        status_set(s, w->arena, w->old, w->object);
}

/* ---- kinds come and go ---- */

static const char *group_of(const struct json *crd)
{
    return json_text(json_path(crd, "spec", "group", NULL), "");
}

static const char *plural_of(const struct json *crd)
{
    return json_text(json_path(crd, "spec", "names", "plural", NULL), "");
}

static bool has_finalizers(const struct json *object)
{
    return json_first(json_path(object, "metadata", "finalizers", NULL)) != NULL;
}

static bool any_is_held(struct apiserver *s, const struct json *crd)
{
    static const char word[] = "\"finalizers\"";
    struct store_cursor *c = store_list(s->store, store_kind(s->store, group_of(crd), plural_of(crd)), NULL, NULL);
    bool held = false;
    for (const struct store_object *o; !held && (o = store_list_next(c));) {
        _cleanup_arena_ struct arena *a = arena_new();
        held = memmem(o->body->data, o->body->n, word, sizeof word - 1) && has_finalizers(object_parse(a, o->body));
    }
    store_list_free(c);
    return held;
}

static bool waits_for_objects(const struct json *crd)
{
    JSON_EACH (finalizer, json_path(crd, "metadata", "finalizers", NULL))
        if (strcmp(json_text(finalizer, ""), CLEANUP) == 0)
            return object_terminating(crd);
    return false;
}

void crd_leave(struct apiserver *s, struct arena *a, struct json *crd)
{
    const struct kind *k = kind_find(s->kinds, group_of(crd), plural_of(crd));
    if (!k || kind_is_built_in(k) || waits_for_objects(crd) || (!has_finalizers(crd) && !any_is_held(s, crd)))
        return;
    json_append(json_ensure_array(a, json_get(crd, "metadata"), "finalizers"), json_new_text(a, CLEANUP));
    condition_add(s, a, json_ensure_array(a, json_ensure_object(a, crd, "status"), "conditions"), "Terminating",
                  "InstanceDeletionInProgress", "CustomResource deletion is in progress");
}

bool crd_create_admit(struct object_write *w)
{
    struct apiserver *s = w->server;
    if (kind_is_built_in(w->kind) || !s->crds->any_leaves)
        return true;
    const char *name = arena_printf(w->arena, "%s.%s", w->kind->plural, w->kind->group);
    const struct json *crd = object_read(s, w->arena, kind_find(s->kinds, CRD_GROUP, CRD_PLURAL), "", name);
    return !object_terminating(crd) ||
           object_write_fail(w, 405, "MethodNotAllowed", "create not allowed while custom resource definition is terminating");
}

/* What its objects allow of its end. WHY  those of a built-in kind stay, as where nothing waits: the definition was a copy. */
static void leaving_go_on(struct crds *d, struct arena *a, const struct json *crd)
{
    struct apiserver *s = d->server;
    const struct kind *k = kind_find(s->kinds, group_of(crd), plural_of(crd));
    size_t budget_n = PASS_DELETIONS;
    if (!k || kind_is_built_in(k) || objects_delete(s, k, NULL, &budget_n) == 0)
        finalizer_drop(s, kind_find(s->kinds, CRD_GROUP, CRD_PLURAL), "", json_text(json_path(crd, "metadata", "name", NULL), ""), a,
                       "metadata", CLEANUP);
}

static void leaving_look(void *arg)
{
    struct crds *d = arg;
    struct apiserver *s = d->server;
    struct store_cursor *c = store_list(s->store, d->kind_id, NULL, NULL);
    d->any_leaves = false;
    for (const struct store_object *o; (o = store_list_next(c));) {
        if (!memmem(o->body->data, o->body->n, CLEANUP, sizeof CLEANUP - 1))
            continue;
        _cleanup_arena_ struct arena *a = arena_new();
        const struct json *crd = object_parse(a, o->body);
        if (!waits_for_objects(crd))
            continue;
        d->any_leaves = true;
        leaving_go_on(d, a, crd);
    }
    store_list_free(c);
    if (d->any_leaves)
        loop_timer_start(d->timer, AGAIN_MS, 0);
}

/* Something changed that may let a definition go. */
static void look_soon(struct crds *d)
{
    d->any_leaves = true;
    loop_timer_start(d->timer, SOON_MS, 0);
}

void crd_gone(struct apiserver *s, const struct json *crd)
{
    if (kind_find(s->kinds, group_of(crd), plural_of(crd))) /* built in: the definition was a copy of what is there anyway */
        return;
    uint32_t kind_id = store_kind(s->store, group_of(crd), plural_of(crd));
    struct store_cursor *c = store_list(s->store, kind_id, NULL, NULL);
    const struct store_object *o;
    while ((o = store_list_next(c))) {
        _cleanup_arena_ struct arena *a = arena_new();
        object_remove(s, kind_id, arena_text(a, o->ns), arena_text(a, o->name), a, object_parse(a, o->body));
    }
    store_list_free(c);
}

/* Kinds as the store has their definitions. -E_INVALID: one of them cannot be read. */
static int definitions_read(struct crds *d, struct err *e)
{
    struct apiserver *s = d->server;
    struct store_cursor *c = store_list(s->store, d->kind_id, NULL, NULL);
    const struct store_object *o;
    int r = 0;
    while (r == 0 && (o = store_list_next(c))) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct field_errors errors;
        field_errors_init(&errors, a);
        if (kind_table_add_crd(s->kinds, object_parse(a, o->body), &errors) < 0) {
            _cleanup_buf_ struct buf text = {0};
            field_errors_text(&text, &errors);
            r = err_set(e, E_INVALID, "stored CustomResourceDefinition %s cannot be read: %s", o->name, text.data ? text.data : "");
        }
    }
    store_list_free(c);
    return r;
}

static void kinds_drop(struct kind_table *kinds)
{
    for (uint32_t i = kind_count(kinds); i-- > 0;) {
        const struct kind *k = kind_at(kinds, i);
        if (!kind_is_built_in(k))
            kind_table_remove_crd(kinds, k->group, k->plural);
    }
}

static void definition_changed(struct crds *d, const struct store_event *event)
{
    struct kind_table *kinds = d->server->kinds;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *is = object_parse(a, event->body), *was = event->old ? object_parse(a, event->old) : NULL;
    if (event->type == STORE_DELETED)
        kind_table_remove_crd(kinds, group_of(is), plural_of(is));
    else if (!was || !json_equal(json_get(was, "spec"), json_get(is, "spec")))
        (void)kind_table_add_crd(kinds, is, NULL); /* crd_admit has checked it */
    if (event->type != STORE_DELETED && waits_for_objects(is))
        look_soon(d);
}

void crds_changed(struct crds *d, uint32_t kind, const struct store_event *event)
{
    if (!event && d->uncommitted_n) {
        d->uncommitted_n = 0;
        kinds_drop(d->server->kinds);
        (void)definitions_read(d, NULL); /* those that are left were read before */
        look_soon(d);                    /* and some of them may be leaving again */
    } else if (event && kind == d->kind_id) {
        d->uncommitted_n++;
        definition_changed(d, event);
    } else if (event && d->any_leaves && event->type == STORE_DELETED) {
        look_soon(d);
    }
}

static void committed(void *arg, uint32_t kind, const struct store_event *event)
{
    struct crds *d = arg;
    if (kind == d->kind_id && d->uncommitted_n)
        d->uncommitted_n--;
}

int crds_new(struct apiserver *s, struct crds **ret_d, struct err *e)
{
    struct crds *d = mem_zero(1, sizeof *d);
    *d = (struct crds){.server = s, .kind_id = store_kind(s->store, CRD_GROUP, CRD_PLURAL)};
    *ret_d = d;
    d->timer = loop_timer_new(s->loop, leaving_look, d);
    store_observe(s->store, committed, d);
    look_soon(d); /* some may have been leaving when the program ended */
    return definitions_read(d, e);
}

void crds_free(struct crds *d)
{
    if (!d)
        return;
    loop_timer_free(d->timer);
    free(d);
}
