#include "apiserver/access/rbac.h"
#include "apiserver/apply/managed_fields.h"
#include "apiserver/apply/object_write.h"
#include "apiserver/apply/strategic_merge.h"
#include "apiserver/request/body.h"
#include "apiserver/request/status.h"
#include "apiserver/store/object.h"
#include "apiserver/verbs/list.h"
#include "apiserver/verbs/verbs.h"
#include "apiserver/verbs/write_reply.h"
#include "base/clock.h"
#include "base/limits.h"
#include "wire/patch.h"

enum patch_type { PATCH_NONE, PATCH_JSON, PATCH_MERGE, PATCH_STRATEGIC, PATCH_APPLY };

static enum patch_type type_of(const char *content_type)
{
    static const struct {
        const char *media;
        enum patch_type type;
    } table[] = {
        {"application/json-patch+json", PATCH_JSON},
        {"application/merge-patch+json", PATCH_MERGE},
        {"application/strategic-merge-patch+json", PATCH_STRATEGIC},
        {"application/apply-patch+yaml", PATCH_APPLY},
    };
    size_t n = content_type ? strcspn(content_type, "; ") : 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (n == strlen(table[i].media) && memcmp(table[i].media, content_type, n) == 0)
            return table[i].type;
    return PATCH_NONE;
}

/* ---- json, merge, strategic ---- */

/* The patched object in the URL's version. False: answered. */
static bool patched(struct http_exchange *x, const struct request_info *ri, enum patch_type type,
                    const struct json *patch, struct json **object)
{
    struct arena *a = x->request.arena;
    struct err e = {0};
    int r = 0;
    if (type == PATCH_JSON) {
        if (!json_is(patch, JSON_ARRAY)) {
            status_reply(x, 400, "BadRequest", ri, NULL,
                         "a JSON patch is a list of operations: [{\"op\":...,\"path\":...}]");
            return false;
        }
        r = patch_json(a, object, patch, &e);
    } else if (!json_is(patch, JSON_OBJECT)) {
        status_reply(x, 400, "BadRequest", ri, NULL, "a merge patch is an object: {...}");
        return false;
    } else if (type == PATCH_MERGE) {
        patch_merge(a, object, patch);
    } else {
        r = strategic_merge(a, ri->kind_version->schema, *object, patch, &e);
    }
    if (r == -E_LIMIT)
        status_reply(x, 413, "RequestEntityTooLarge", ri, NULL, "%s", e.text);
    else if (r < 0)
        status_reply(x, 422, "Invalid", ri, NULL, "the server rejected our request due to an error in our request: %s",
                     e.text);
    else if (!json_is(*object, JSON_OBJECT) || !json_is(json_get(*object, "metadata"), JSON_OBJECT))
        status_reply(x, 422, "Invalid", ri, NULL, "the patch leaves no object with metadata");
    else
        return true;
    return false;
}

static bool identity_kept(struct http_exchange *x, const struct request_info *ri, const struct json *before,
                          const struct json *object)
{
    static const char *const names[] = {"apiVersion", "kind"};
    for (size_t i = 0; i < 2; i++)
        if (strcmp(json_get_text(object, names[i], ""), json_get_text(before, names[i], "")) != 0) {
            status_reply(x, 400, "BadRequest", ri, NULL, "the patch may not change %s (%s)", names[i],
                         json_get_text(before, names[i], ""));
            return false;
        }
    const char *name = json_get_text(json_get(object, "metadata"), "name", "");
    if (strcmp(name, ri->name) != 0) {
        status_reply(x, 400, "BadRequest", ri, NULL,
                     "the name of the object (%.253s) does not match the name on the URL (%.253s)", name, ri->name);
        return false;
    }
    const struct json *uid = json_path(object, "metadata", "uid", NULL);
    if (uid && !json_equal(uid, json_path(before, "metadata", "uid", NULL))) {
        struct field_errors errors;
        _cleanup_buf_ struct buf text = {0};
        json_write(&text, uid);
        field_errors_init(&errors, x->request.arena);
        field_error_add(&errors, FIELD_INVALID, "metadata.uid", text.data, "field is immutable");
        status_reply_invalid(x, ri, name, &errors);
        return false;
    }
    return true;
}

/* Kinds whose status is written more often than anything else. Nothing looks at their spec then, no check and no rule, unless the patch
 * does. WHY  PodGroups of Volcano as a whole: theirs is written with the object, since older servers have no path for it. */
static bool spec_rests(const struct request_info *ri, const struct json *patch)
{
    bool is_status = strcmp(ri->subresource, "status") == 0;
    if (json_get(patch, "spec"))
        return false;
    return (is_status && (object_kind_is(ri->kind, "", "pods") || object_kind_is(ri->kind, "batch.volcano.sh", "jobs"))) ||
           object_kind_is(ri->kind, "scheduling.volcano.sh", "podgroups");
}

/* Read what is patched, by an object or a list of operations: without managedFields where neither the patch nor another version looks at
 * them. */
static bool patched_read(struct object_write *w, const struct request_info *ri, const struct json *patch)
{
    if (json_is(patch, JSON_OBJECT) && !list_stored_converts(ri) && !json_path(patch, "metadata", "managedFields", NULL))
        return object_write_read(w, ri->name, spec_rests(ri, patch));
    w->old = object_read(ri->server, w->arena, ri->kind, ri->ns, ri->name);
    return w->old != NULL;
}

static void patch_plain(struct http_exchange *x, const struct request_info *ri, enum patch_type type)
{
    struct arena *a = x->request.arena;
    struct json_parse_info info = {0};
    struct json *patch;
    if (!body_parse_text(x, ri, false, &patch, &info))
        return;
    struct object_write w;
    object_write_init(&w, ri, a);
    object_write_asked(&w, x);
    if (!patched_read(&w, ri, patch)) {
        status_reply_not_found(x, ri, ri->name);
        return;
    }
    const struct json *before = w.old;
    if (list_stored_converts(ri)) {
        struct json *converted = json_copy(a, w.old);
        object_show(a, ri->kind, converted, ri->version);
        before = converted;
    }
    w.object = json_copy(a, before);
    w.info = &info;
    if (!patched(x, ri, type, patch, &w.object) || !identity_kept(x, ri, before, w.object))
        return;
    if (object_write_decode(&w))
        (void)object_write_run(&w); /* the answer says what failed */
    if (object_write_answer(x, ri, &w))
        object_write_reply(x, ri, 200, &w);
}

/* ---- apply ---- */

static const char *conflict_who(struct arena *a, const struct managed_conflict *c)
{
    const char *sub = *c->subresource ? arena_printf(a, " with subresource \"%s\"", c->subresource) : "";
    return arena_printf(a, "conflict with \"%s\"%s using %s", c->manager, sub, c->api_version);
}

static void conflict_reply(struct http_exchange *x, const struct request_info *ri, const struct managed_conflict *first)
{
    struct arena *a = x->request.arena;
    _cleanup_buf_ struct buf text = {0};
    struct json *causes = json_new(a, JSON_ARRAY);
    const char *who = "";
    for (const struct managed_conflict *c = first; c; c = c->next) {
        const char *this = conflict_who(a, c);
        struct json *cause = json_new(a, JSON_OBJECT);
        json_set_text(a, cause, "reason", "FieldManagerConflict");
        json_set_text(a, cause, "message", this);
        json_set_text(a, cause, "field", c->path);
        json_append(causes, cause);
        if (!first->next)
            buf_printf(&text, " %s: %s", this, c->path);
        else if (strcmp(this, who) == 0)
            buf_printf(&text, "\n- %s", c->path);
        else
            buf_printf(&text, "%s%s:\n- %s", c == first ? " conflicts" : "\nconflicts", this + strlen("conflict"),
                       c->path);
        who = this;
    }
    struct json *status = status_json(
        a, 409, "Conflict", ri, NULL,
        arena_printf(a, "Apply failed with %u conflict%s:%s", causes->n, causes->n == 1 ? "" : "s", text.data));
    json_set(a, json_ensure_object(a, status, "details"), "causes", causes);
    status_reply_json(x, 409, status);
}

static bool apply_check(struct http_exchange *x, const struct request_info *ri, const struct json *config)
{
    const struct json *metadata = json_get(config, "metadata");
    if (metadata && !json_is(metadata, JSON_OBJECT) && !json_is(metadata, JSON_NULL)) {
        status_reply(x, 400, "BadRequest", ri, NULL, "metadata: expected an object");
        return false;
    }
    if (!ri->field_manager_given) {
        status_reply(
            x, 422, "Invalid", ri, NULL,
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch");
        return false;
    }
    if (json_is(json_get(metadata, "managedFields"), JSON_ARRAY)) {
        status_reply(x, 400, "BadRequest", ri, NULL, "metadata.managedFields must be nil");
        return false;
    }
    return body_identity_check(x, ri, metadata);
}

/* The config holds only the half that this path may write. */
static void apply_half(const struct request_info *ri, struct json *config)
{
    bool status = strcmp(ri->subresource, "status") == 0;
    for (struct json *m = config->first, *next; m; m = next) {
        next = m->next;
        bool head = strcmp(m->key, "metadata") == 0 || strcmp(m->key, "kind") == 0 || strcmp(m->key, "apiVersion") == 0;
        bool is_status = strcmp(m->key, "status") == 0;
        if (!head && (status ? !is_status : is_status && (ri->kind->flags & KIND_STATUS)))
            json_remove(config, m->key);
    }
}

/* False: answered. */
static bool apply_merge(struct http_exchange *x, const struct request_info *ri, struct object_write *w)
{
    struct arena *a = x->request.arena;
    struct err e = {0};
    char now[TIME_TEXT_MAX];
    struct managed_writer writer = {ri->field_manager, object_api_version(a, ri->kind, ri->version), ri->subresource,
                                    time_format(now, loop_wall_ms(ri->server->loop))};
    struct managed_conflict *conflicts = NULL;
    const char *force = http_query(&x->request, "force");
    int r = managed_fields_apply(a, kind_storage(ri->kind)->schema, w->old, w->object, request_bool(force),
                                 &writer, &w->object, &conflicts, &e);
    if (r == 1)
        conflict_reply(x, ri, conflicts);
    else if (r < 0)
        status_reply(x, 422, "Invalid", ri, NULL, "%s", e.text);
    return r == 0;
}

static void patch_apply(struct http_exchange *x, const struct request_info *ri)
{
    struct arena *a = x->request.arena;
    struct json_parse_info info = {0};
    struct json *config;
    if (!body_parse_text(x, ri, true, &config, &info))
        return;
    if (!json_is(config, JSON_OBJECT)) {
        status_reply(x, 400, "BadRequest", ri, NULL, "an apply patch is an object in YAML or JSON");
        return;
    }
    const char *api_version = object_api_version(a, ri->kind, ri->version);
    if (strcmp(json_get_text(config, "apiVersion", ""), api_version) != 0 ||
        strcmp(json_get_text(config, "kind", ""), ri->kind->kind) != 0) {
        status_reply(x, 400, "BadRequest", ri, NULL,
                     "an apply patch for this path must have apiVersion: %s and kind: %s", api_version, ri->kind->kind);
        return;
    }
    if (!apply_check(x, ri, config))
        return;
    struct object_write w;
    object_write_init(&w, ri, a);
    object_write_asked(&w, x);
    w.old = object_read(ri->server, a, ri->kind, ri->ns, ri->name);
    if (!w.old && *ri->subresource) {
        status_reply_not_found(x, ri, ri->name);
        return;
    }
    struct rbac_question create = {.verb = "create", .group = ri->group, .resource = ri->plural, .ns = ri->ns, .name = ri->name};
    if (!w.old && !rbac_require(ri->server, x, &create))
        return;
    w.object = object_ordered(a, config, api_version, ri->kind->kind);
    w.info = &info;
    w.as = WRITE_APPLIED;
    json_set_text(a, json_get(w.object, "metadata"), "name", ri->name);
    if (object_write_decode(&w)) {
        apply_half(ri, w.object);
        if (!apply_merge(x, ri, &w))
            return;
        (void)object_write_run(&w); /* the answer says what failed */
    }
    if (object_write_answer(x, ri, &w))
        object_write_reply(x, ri, w.old ? 200 : 201, &w);
}

void patch_handle(struct http_exchange *x, const struct request_info *ri)
{
    enum patch_type type = type_of(http_header(&x->request, "content-type"));
    bool custom = ri->kind->flags & KIND_CUSTOM;
    if (x->request.body.n > LIMIT_BODY_BYTES)
        status_reply(x, 413, "RequestEntityTooLarge", ri, NULL, "Request entity too large: limit is %u",
                     LIMIT_BODY_BYTES);
    else if (type == PATCH_NONE || (type == PATCH_STRATEGIC && custom))
        status_reply(x, 415, "UnsupportedMediaType", ri, NULL,
                     "the body of the request was in an unknown format - accepted media types include: "
                     "application/json-patch+json, "
                     "application/merge-patch+json, %sapplication/apply-patch+yaml",
                     custom ? "" : "application/strategic-merge-patch+json, ");
    else if (type == PATCH_APPLY)
        patch_apply(x, ri);
    else
        patch_plain(x, ri, type);
}
