#include "apiserver/apply/object_write.h"

#include <assert.h>
#include <stdio.h>

#include "apiserver/apply/managed_fields.h"
#include "apiserver/request/status.h"
#include "apiserver/store/object.h"
#include "apiserver/store/question.h"
#include "base/clock.h"
#include "base/limits.h"
#include "codec/admission/admission.h"

#define NAME_SUFFIX "bcdfghjklmnpqrstvwxz2456789"
#define NAME_TRIES 8

static void warnings_take(struct object_write *w, const struct admission *admission)
{
    for (uint32_t i = 0; i < admission->warnings_n; i++)
        object_write_warn(w, admission->warnings[i]);
}

/* ---- decode ---- */

static const char *duplicate_text(struct object_write *w, uint32_t i)
{
    const char *path = w->info->duplicate[i], *dot = strrchr(path, '.');
    if (!w->info->line[i])
        return arena_printf(w->arena, "duplicate field \"%s\"", path);
    return arena_printf(w->arena, "line %u: key \"%s\" already set in map", w->info->line[i], dot ? dot + 1 : path);
}

/* SOURCE Kubernetes: what is applied becomes a typed object first, which has no room for unknown fields. */
static bool apply_judge(struct object_write *w, const struct schema_findings *found)
{
    _cleanup_buf_ struct buf all = {0};
    bool several = found->unknown_n > 1;
    for (uint32_t i = 0; i < found->unknown_n && i < 32; i++)
        buf_printf(&all, "%s.%s: field not declared in schema", several ? "\n  " : "", found->unknown[i]);
    return !all.n ||
           object_write_fail(w, 400, "BadRequest", "failed to create typed patch object (%s%s%s; %s, Kind=%s): %s%s", w->ns,
                             *w->ns ? "/" : "", json_text(json_path(w->object, "metadata", "name", NULL), ""),
                             object_api_version(w->arena, w->asked, w->version), w->asked->kind, several ? "errors:" : "", all.data);
}

/* Unknown and duplicate fields: refused when Strict, told when Warn. */
static bool findings_judge(struct object_write *w, const struct schema_findings *found)
{
    _cleanup_buf_ struct buf all = {0};
    uint32_t duplicates_n = w->info ? w->info->duplicate_n : 0;
    for (uint32_t i = 0; i < found->unknown_n && i < 32; i++) {
        buf_printf(&all, "%sunknown field \"%s\"", all.n ? ", " : "", found->unknown[i]);
        if (w->validation == VALIDATION_WARN)
            object_write_warn(w, arena_printf(w->arena, "unknown field \"%s\"", found->unknown[i]));
    }
    for (uint32_t i = 0; i < duplicates_n && i < 8; i++) {
        const char *text = duplicate_text(w, i);
        buf_printf(&all, "%s%s", all.n ? ", " : "", text);
        if (w->validation == VALIDATION_WARN)
            object_write_warn(w, text);
    }
    if (w->validation != VALIDATION_STRICT || !all.n)
        return true;
    if (w->as == WRITE_APPLIED && !duplicates_n)
        return apply_judge(w, found);
    return object_write_fail(w, 400, "BadRequest",
                             "%s in version \"%s\" cannot be handled as a %s: strict decoding error: %s", w->asked->kind,
                             w->version, w->asked->kind, all.data);
}

bool object_write_decode(struct object_write *w)
{
    struct err e = {0};
    const struct kind_version *v = kind_version_find(w->asked, w->version);
    assert(v && "the version was resolved from the URL");
    json_remove_nulls(w->object);
    struct admission repair = {
        .arena = w->arena, .old = w->old, .object = w->object, .strict_kueue = w->server->config.strict_kueue};
    field_errors_init(&repair.errors, w->arena);
    admission_repair(&repair, w->asked, w->version);
    warnings_take(w, &repair);
    if (repair.errors.n) {
        w->errors = repair.errors;
        return false;
    }
    struct schema_findings found = {0};
    bool pruned = !v->schema || schema_prune(w->arena, v->schema, w->object, &found, &e) == 0;
    if (!pruned && (w->kind->flags & KIND_CUSTOM)) { /* there it is the schema that knows the types: a finding as others */
        const char *detail = strstr(e.text, ": ");
        const char *path = arena_text_n(w->arena, e.text, detail ? (size_t)(detail - e.text) : 0);
        field_error_add(&w->errors, FIELD_TYPE_INVALID, path, NULL, "%s", detail ? detail + 2 : e.text);
        return false;
    }
    if (!pruned)
        return object_write_fail(w, 400, "BadRequest", "%s in version \"%s\" cannot be handled as a %s: %s",
                                 w->asked->kind, w->version, w->asked->kind, e.text);
    if (!findings_judge(w, &found))
        return false;
    const char *storage = kind_storage(w->kind)->version;
    kind_convert(w->arena, w->kind, w->object, storage);
    w->object = object_ordered(w->arena, w->object, object_api_version(w->arena, w->kind, storage), w->kind->kind);
    return true;
}

/* ---- names ---- */

static bool name_generate(struct object_write *w, struct json *metadata)
{
    const char *base = json_get_text(metadata, "generateName", "");
    if (!*base) {
        field_error_add(&w->errors, FIELD_REQUIRED, "metadata.name", NULL, "name or generateName is required");
        return false;
    }
    for (int try = 0; try < NAME_TRIES; try++) {
        char name[NAME_GENERATED_BASE_MAX + 6];
        int n = snprintf(name, NAME_GENERATED_BASE_MAX + 1, "%s", base);
        n = n > NAME_GENERATED_BASE_MAX ? NAME_GENERATED_BASE_MAX : n;
        for (int i = 0; i < 5; i++)
            name[n++] = NAME_SUFFIX[random_below(&w->server->random, sizeof NAME_SUFFIX - 1)];
        name[n] = 0;
        if (store_get(w->server->store, w->kind_id, w->ns, name))
            continue;
        json_set_text(w->arena, metadata, "name", name);
        return true;
    }
    return object_write_fail(
        w, 409, "AlreadyExists",
        "%s \"%s\" already exists, the server was not able to generate a unique name for the object",
        status_resource(w->arena, w->kind), base);
}

static bool create_check(struct object_write *w)
{
    struct json *metadata = json_get(w->object, "metadata");
    const char *ns = json_get_text(metadata, "namespace", "");
    if (*json_get_text(metadata, "resourceVersion", "") && w->as == WRITE_CHECKED)
        return object_write_fail(w, 400, "BadRequest", "resourceVersion should not be set on objects to be created");
    if (*ns && strcmp(ns, w->ns) != 0 && (w->kind->flags & KIND_NAMESPACED))
        return object_write_fail(
            w, 400, "BadRequest",
            "the namespace of the provided object does not match the namespace sent on the request");
    const char *name = json_get_text(metadata, "name", "");
    if (strlen(name) > LIMIT_NAME) {
        field_error_add(&w->errors, FIELD_TOO_LONG, "metadata.name", NULL, "may not be more than %d bytes", LIMIT_NAME);
        return false;
    }
    if (!*name && !name_generate(w, metadata))
        return false;
    name = json_get_text(metadata, "name", "");
    if (store_get(w->server->store, w->kind_id, w->ns, name))
        return object_write_fail(w, 409, "AlreadyExists", "%s \"%s\" already exists",
                                 status_resource(w->arena, w->kind), name);
    return object_write_is_own(w) || w->server->rules->create(w);
}

/* ---- admit ---- */

static const struct json *admission_read(void *ctx, const char *group, const char *plural, const char *ns,
                                         const char *name)
{
    struct object_write *w = ctx;
    return object_read_plural(w->server, w->arena, group, plural, ns, name);
}

static const struct json *admission_list(void *ctx, const char *group, const char *plural, const char *ns)
{
    struct object_write *w = ctx;
    return object_list_plural(w->server, w->arena, group, plural, ns);
}

static bool admission_has_child(void *ctx, const char *group, const char *plural, const char *name)
{
    struct object_write *w = ctx;
    const char *said = arena_printf(w->arena, "\"parent\":\"%s\"", name);
    struct store_cursor *c = store_list(w->server->store, store_kind(w->server->store, group, plural), "", NULL);
    bool found = false;
    for (const struct store_object *o; !found && (o = store_list_next(c));)
        if (memmem(o->body->data, o->body->n, said, strlen(said))) /* a look before the parse: most name none */
            found = text_equal(json_text(json_path(object_parse(w->arena, o->body), "spec", "parent", NULL), ""), name);
    store_list_free(c);
    return found;
}

/* What the writer changed. A status that is written by its subresource is the server's in any other write. */
static void change_tell(struct object_write *w, const struct json *object)
{
    if (w->is_told || w->as != WRITE_CHECKED || !kind_storage(w->kind)->schema)
        return;
    w->told = managed_fields_compare(w->arena, kind_storage(w->kind)->schema, w->old, object);
    if (w->told.changed && !*w->subresource && (w->kind->flags & KIND_STATUS))
        json_remove(w->told.changed, "f:status");
    w->is_told = true;
}

/* SOURCE Kubernetes owns fields after defaults and before admission: what its plugins put there (tolerations, the priority, the service
 * account, the class of service) belongs to nobody. Here it is so of what is created: an update that admission turns into no change
 * would else be one of owners. */
static void admission_defaulted(struct admission *x)
{
    struct object_write *w = x->ctx;
    if (!w->old)
        change_tell(w, x->object);
}

/* WHY  rules come and grow stricter, and what was stored before has to be mended, and ended, all the same. SOURCE Kubernetes: of custom
 * kinds it does not judge anew what did not change. LIMIT  here that is told by the error, which would be the same of the stored object. */
static void forgive_old(const struct object_write *w, struct admission *x, const struct schema *schema)
{
    if (!w->old || !schema || !x->errors.n || x->errors.refusal || text_starts(schema->name, "io.k8s."))
        return;
    struct admission was = {.arena = x->arena,
                            .old = w->old,
                            .object = json_clone(x->arena, w->old),
                            .asked = x->asked,
                            .strict_kueue = x->strict_kueue,
                            .status_only = x->status_only,
                            .spec_rests = x->spec_rests,
                            .read = x->read,
                            .list = x->list,
                            .has_child = x->has_child,
                            .ctx = x->ctx};
    field_errors_init(&was.errors, x->arena);
    schema_default(x->arena, schema, was.object);
    schema_validate(schema, was.object, &was.errors);
    admission_run(&was, w->kind);
    field_errors_drop(&x->errors, &was.errors);
}

static bool admit(struct object_write *w)
{
    struct admission x = {.arena = w->arena,
                          .old = w->old,
                          .object = w->object,
                          .asked = w->asked,
                          .strict_kueue = w->server->config.strict_kueue,
                          .shares = w->server->config.shares,
                          .ephemeral = strcmp(w->subresource, "ephemeralcontainers") == 0,
                          .status_only = w->old && strcmp(w->subresource, "status") == 0,
                          .metadata_rests = w->old && json_equal(json_get(w->old, "metadata"), json_get(w->object, "metadata")),
                          .spec_rests = w->apart.spec.n > 0,
                          .read = admission_read,
                          .list = admission_list,
                          .has_child = admission_has_child,
                          .defaulted = admission_defaulted,
                          .ctx = w};
    field_errors_init(&x.errors, w->arena);
    const struct schema *schema = kind_storage(w->kind)->schema;
    if (schema)
        schema_default(w->arena, schema, w->object);
    admission_metadata(&x, w->kind);
    if (schema)
        schema_validate(schema, w->object, &x.errors);
    admission_run(&x, w->kind);
    forgive_old(w, &x, schema);
    w->object = x.object;
    warnings_take(w, &x);
    w->errors = x.errors;
    if (w->rules->admit)
        w->rules->admit(w);
    return w->errors.n == 0 && !w->fail_http;
}

/* ---- store ---- */

bool object_held(const struct object_write *w, const struct json *object)
{
    const struct json *finalizers = json_path(object, "metadata", "finalizers", NULL);
    return (finalizers && finalizers->n) || (w->rules->held && w->rules->held(object));
}

/* Nothing holds the object any more: no finalizer, no grace time that a kubelet still has to end. */
static bool deletion_complete(const struct object_write *w)
{
    return object_terminating(w->object) && !object_held(w, w->object) &&
           json_get_int64(json_get(w->object, "metadata"), "deletionGracePeriodSeconds", 0) == 0;
}

/* WHY  here and not at the body: merges, JSON patches, defaults and managedFields add up to more than any body holds. The server's
 * own writes add little, and must be able to end what an older program stored. */
static bool extent_check(struct object_write *w)
{
    enum { ENTRY_LEVEL = 3 }; /* of an entry of managedFields */
    if (object_write_is_own(w))
        return true;
    struct json_extent x = json_extent(w->object);
    if (w->apart.managed_added) {
        struct json_extent entry = json_extent(w->apart.managed_added);
        x.nodes += entry.nodes;
        x.depth = x.depth > entry.depth + ENTRY_LEVEL ? x.depth : entry.depth + ENTRY_LEVEL;
    }
    if (x.nodes + w->apart.managed.n + w->apart.spec.n > LIMIT_JSON_NODES) { /* a value takes a byte at least */
        object_write_join(w);
        x = json_extent(w->object);
    }
    if (x.depth > LIMIT_OBJECT_DEPTH)
        return object_write_fail(w, 413, "RequestEntityTooLarge",
                                 "the object, with the record of who owns its fields, would have %zu lists and objects inside each "
                                 "other: at most %d can be stored",
                                 x.depth, LIMIT_OBJECT_DEPTH);
    if (x.nodes > LIMIT_JSON_NODES)
        return object_write_fail(w, 413, "RequestEntityTooLarge",
                                 "the object, with the record of who owns its fields, would have %zu values: at most %u can be stored",
                                 x.nodes, LIMIT_JSON_NODES);
    return true;
}

static bool size_check(struct object_write *w, const struct blob *body)
{
    return object_write_is_own(w) || body->n <= LIMIT_OBJECT_BYTES ||
           object_write_fail(w, 413, "RequestEntityTooLarge",
                             "the object, with the record of who owns its fields, would be %u bytes long: at most %u can be stored",
                             body->n, LIMIT_OBJECT_BYTES);
}

/* WHY  a write that leaves managedFields apart puts them there: so the text does not say which way it was written. */
static void managed_last(struct json *metadata)
{
    struct json *managed = json_get(metadata, "managedFields");
    if (managed && managed->next) {
        (void)json_remove_item(metadata, managed); /* it is there */
        json_append(metadata, managed);
    }
}

/* What binds it to others (lifecycle/garbage.c) is as it was. */
static bool links_kept(const struct object_write *w)
{
    static const char *const links[] = {"ownerReferences", "finalizers", "deletionTimestamp"};
    const struct json *was = json_get(w->old, "metadata"), *is = json_get(w->object, "metadata");
    bool kept = w->old != NULL;
    for (size_t i = 0; kept && i < sizeof links / sizeof *links; i++)
        kept = json_equal(json_get(was, links[i]), json_get(is, links[i]));
    return kept;
}

/* False: nothing was stored. */
static bool store_now(struct object_write *w)
{
    struct store *store = w->server->store;
    struct json *metadata = json_get(w->object, "metadata");
    const char *name = json_get_text(metadata, "name", "");
    uint64_t rv = store_next_rv(store);
    char text[24];
    struct buf digits = {text, 0, sizeof text}; /* 20 characters at most: never grows */
    buf_int64(&digits, (int64_t)rv);
    json_set(w->arena, metadata, "resourceVersion", json_new_text_n(w->arena, buf_view(&digits)));
    struct blob *body = object_text_apart(w->server, w->object, &w->apart);
    if (!size_check(w, body)) {
        blob_unref(body);
        return false;
    }
    const struct store_object *was = w->apart.spec.n ? store_get(store, w->kind_id, w->ns, name) : NULL;
    questions_note(w->server->questions, w->kind_id, w->object, was ? was->body : NULL, w->apart.spec_added, body);
    body->notes |= links_kept(w) ? STORE_NOTE_KEPT : 0;
    w->stored = body; /* the store or what waits for the commit refers to it */
    int r;
    if (!w->old)
        r = store_create(store, w->kind_id, w->ns, name, rv, body, NULL);
    else if (w->removed)
        r = store_delete(store, w->kind_id, w->ns, name, 0, rv, body, NULL);
    else
        r = store_update(store, w->kind_id, w->ns, name, 0, rv, body, NULL);
    assert(r == 0 && "one thread: what was read a moment ago is still there");
    (void)r;
    blob_unref(body);
    return true;
}

bool object_write_read(struct object_write *w, const char *name, bool without_spec)
{
    const struct store_object *o = store_get(w->server->store, w->kind_id, w->ns, name);
    struct json *old = NULL;
    if (o && !object_defaults_late(w->kind, kind_storage(w->kind)->version))
        old = apart_split(w->arena, o->body, without_spec, &w->apart);
    w->is_apart = old != NULL;
    w->old = old ? old : object_read(w->server, w->arena, w->kind, w->ns, name);
    return w->old != NULL;
}

void object_write_join(struct object_write *w)
{
    apart_join(w->arena, w->object, &w->apart);
    w->is_apart = false;
}

bool object_write_run(struct object_write *w)
{
    if (!w->old && !create_check(w))
        return false;
    if (!object_settle(w))
        return false;
    if (w->errors.n || (!object_write_is_own(w) && (!admit(w) || !w->server->rules->admit(w))))
        return false;
    if (w->rules->given)
        w->rules->given(w);
    object_generation(w);
    char now[TIME_TEXT_MAX];
    struct managed_writer writer = {w->manager, object_api_version(w->arena, w->asked, w->version), w->subresource,
                                    time_format(now, loop_wall_ms(w->server->loop))};
    bool compared = w->is_apart;
    if (w->is_apart && !w->apart.spec_added && json_equal(w->old, w->object))
        return true;
    change_tell(w, w->object);
    if (w->is_told)
        w->apart.managed_added = managed_fields_added(w->arena, w->apart.managed, w->told, &writer);
    if (w->is_told && !w->apart.managed_added) {
        apart_join_managed(w->arena, w->object, &w->apart);
        managed_fields_own(w->arena, w->object, w->told, &writer);
    }
    managed_last(json_get(w->object, "metadata"));
    if (w->old && !compared && json_equal(w->old, w->object))
        return true;
    w->removed = w->old && deletion_complete(w);
    if (!extent_check(w) || (!w->dry_run && !store_now(w)))
        return false;
    w->changed = true;
    if (w->dry_run && !w->old)
        json_remove(json_get(w->object, "metadata"), "resourceVersion");
    if (!w->dry_run && !w->old && w->rules->created)
        w->rules->created(w->server, json_get_text(json_get(w->object, "metadata"), "name", ""));
    if (!w->dry_run && w->removed && w->rules->gone) {
        object_write_join(w);
        w->rules->gone(w->server, w->object);
    }
    return true;
}
