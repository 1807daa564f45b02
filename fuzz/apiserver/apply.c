/* apply.c - an object and what two managers apply to it: server-side apply does what it promises, and managedFields say so
 *
 *   KIND [force|patch] a kind of `kinds`; force: B takes what is A's; patch: B is an editor's patch instead
 *   OBJECT             as somebody created it
 *   A                  what manager a applies
 *   B                  what manager b applies then, and a too; at last a applies nothing
 */
#include <string.h>
#include "apiserver/apply/managed_fields.h"
#include "apiserver/apply/managed_fields_set.h"
#include "apiserver/apply/strategic_merge.h"
#include "../fuzz.h"
#include "wire/patch.h"

#define SIZE_MAX_IN 8192
#define ARENA_PER_BYTE 16384 /* much more than any input needs, less than one that is looked at again for each of its parts */

static const struct {
    const char *name, *group, *version;
} kinds[] = {{"Pod", "", "v1"},     {"Service", "", "v1"},  {"ConfigMap", "", "v1"}, {"Node", "", "v1"}, {"Deployment", "apps", "v1"},
             {"Job", "batch", "v1"}, {"Custom", "none", "v1"}}; /* the last has no schema */

struct run {
    struct arena *arena;
    const struct schema *schema;
    bool force, patch;
};

/* ---- reading ---- */

static struct bytes line_take(struct bytes *rest)
{
    const char *end = rest->n ? memchr(rest->data, '\n', rest->n) : NULL;
    struct bytes line = {rest->data, end ? (size_t)(end - rest->data) : rest->n};
    rest->data += line.n + (end != NULL);
    rest->n -= line.n + (end != NULL);
    return line;
}

static bool kind_read(struct bytes line, struct run *x)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t n = strlen(kinds[i].name);
        if (!bytes_starts(line, kinds[i].name))
            continue;
        x->force = bytes_is((struct bytes){line.data + n, line.n - n}, " force");
        x->patch = bytes_is((struct bytes){line.data + n, line.n - n}, " patch");
        x->schema = schema_of(kinds[i].group, kinds[i].version, kinds[i].name);
        return true;
    }
    return false;
}

/* As the server has it when it comes to fields: with metadata, without nulls and unknown fields, and types are right. */
static struct json *document_read(const struct run *x, struct bytes text)
{
    struct json *v = json_parse(x->arena, text, NULL, NULL);
    struct schema_findings found = {0};
    struct err e = {0};
    if (!json_is(v, JSON_OBJECT) || !json_is(json_get(v, "metadata"), JSON_OBJECT))
        return NULL;
    json_remove_nulls(v);
    json_remove(json_get(v, "metadata"), "managedFields");
    return !x->schema || schema_prune(x->arena, x->schema, v, &found, &e) == 0 ? v : NULL;
}

/* ---- values by path elements, found by looking at each ---- */

static const struct schema *part_type(const struct schema *s, const struct json *whole, const struct json *part)
{
    return whole->type == JSON_OBJECT ? field_member_type(s, part) : field_item_type(s);
}

static const char *part_element(struct arena *a, const struct schema *s, const struct json *whole, const struct json *part)
{
    return whole->type == JSON_OBJECT ? field_member_element(a, part) : field_item_element(a, s, part);
}

static bool has_parts(const struct schema *s, const struct json *v)
{
    return v && field_shape(s, v) != FIELD_LEAF;
}

static struct json *part_find(struct arena *a, const struct schema *s, const struct json *whole, const char *element)
{
    JSON_EACH (part, has_parts(s, whole) ? whole : NULL) {
        const char *its = part_element(a, s, whole, part);
        if (its && strcmp(its, element) == 0)
            return part;
    }
    return NULL;
}

static bool is_self(const struct json *element)
{
    return strcmp(element->key, ".") == 0;
}

/* ---- what must hold ---- */

static struct json *entries_of(const struct json *object)
{
    return json_path(object, "metadata", "managedFields", NULL);
}

static struct json *entry_find(const struct json *object, const char *manager)
{
    JSON_EACH (entry, entries_of(object))
        if (strcmp(json_get_text(entry, "manager", ""), manager) == 0)
            return entry;
    return NULL;
}

static const struct json *set_of(const struct json *object, const char *manager)
{
    return json_get(entry_find(object, manager), "fieldsV1");
}

/* Every owned field is there. */
static void owned_exist(struct arena *a, const struct schema *s, const struct json *set, const struct json *v)
{
    JSON_EACH (element, set) {
        if (is_self(element))
            continue;
        const struct json *part = part_find(a, s, v, element->key);
        MUST_HOLD(part);
        owned_exist(a, part_type(s, v, part), element, part);
    }
}

/* Valid JSON, no larger than its parts, and its owners own what is in it. */
static void sound(const struct run *x, const struct json *object)
{
    _cleanup_buf_ struct buf out = {0};
    json_write(&out, object);
    struct json_parse_info info;
    struct json *again = json_parse(x->arena, buf_view(&out), &info, NULL);
    MUST_HOLD(again && info.duplicate_n == 0 && json_equal(again, object));
    JSON_EACH (entry, entries_of(again))
        owned_exist(x->arena, x->schema, json_get(entry, "fieldsV1"), again);
}

/* What was applied is in the object. An empty list or object may be there with more in it. */
static void holds(struct arena *a, const struct schema *s, const struct json *object, const struct json *applied)
{
    if (!has_parts(s, applied)) {
        MUST_HOLD((applied->type >= JSON_ARRAY && applied->n == 0) || json_equal(object, applied));
        return;
    }
    JSON_EACH (part, applied) {
        const char *element = part_element(a, s, applied, part);
        const struct json *there = element ? part_find(a, s, object, element) : NULL;
        MUST_HOLD(there);
        if (applied->type == JSON_OBJECT || s->list == SCHEMA_LIST_MAP)
            holds(a, part_type(s, applied, part), there, part);
    }
}

/* Owned by others and not applied: as before. Where the applied document has one piece, there is nothing below it to keep. */
static void kept(struct arena *a, const struct schema *s, const struct json *set, const struct json *before, const struct json *now,
                 const struct json *applied)
{
    if (applied && !has_parts(s, applied) && (applied->type < JSON_ARRAY || applied->n))
        return;
    JSON_EACH (element, set) {
        const struct json *old = is_self(element) ? NULL : part_find(a, s, before, element->key);
        if (!old)
            continue;
        const struct schema *type = part_type(s, before, old);
        const struct json *new = part_find(a, s, now, element->key), *mine = part_find(a, s, applied, element->key);
        MUST_HOLD(new);
        if (has_parts(type, old))
            kept(a, type, element, old, new, mine);
        else
            MUST_HOLD(mine || json_equal(old, new));
    }
}

/* Nobody else's set grows. */
static void others_kept(const struct run *x, const struct json *before, const struct json *now, const struct json *applied,
                        const char *manager)
{
    const struct json *mine = field_set_of(x->arena, x->schema, applied);
    JSON_EACH (entry, entries_of(before)) {
        const char *other = json_get_text(entry, "manager", "");
        if (strcmp(other, manager) == 0)
            continue;
        const struct json *owned = json_get(entry, "fieldsV1"), *left = set_of(now, other);
        MUST_HOLD(!field_set_minus(x->arena, left, owned));
        kept(x->arena, x->schema, field_set_minus(x->arena, owned, mine), before, now, applied);
    }
}

static bool is_key(const struct schema *list, const struct json *element)
{
    bool keyed = list && list->form == SCHEMA_LIST && list->list == SCHEMA_LIST_MAP;
    for (size_t i = 0; keyed && list->list_keys && list->list_keys[i]; i++)
        if (strcmp(element->key + 2, list->list_keys[i]) == 0)
            return true;
    return false;
}

/* A field that only this manager owned and no longer applies. above: the type of what v is in; an item that stays keeps its key. */
static void gone(struct arena *a, const struct schema *above, const struct schema *s, const struct json *set, const struct json *v)
{
    JSON_EACH (element, set) {
        const struct json *part = is_self(element) || is_key(above, element) ? NULL : part_find(a, s, v, element->key);
        if (!part)
            continue;
        MUST_HOLD(element->n || (part->type >= JSON_ARRAY && part->n));
        gone(a, s, part_type(s, v, part), element, part);
    }
}

static void dropped(const struct run *x, const struct json *before, const struct json *now, const struct json *applied, const char *manager)
{
    const struct json *set = field_set_minus(x->arena, set_of(before, manager), field_set_of(x->arena, x->schema, applied));
    JSON_EACH (entry, entries_of(now))
        set = field_set_minus(x->arena, set, json_get(entry, "fieldsV1"));
    gone(x->arena, NULL, x->schema, set, now);
}

static void conflicts_sound(const struct managed_conflict *c, const char *manager)
{
    MUST_HOLD(c);
    for (; c; c = c->next)
        MUST_HOLD(c->path[0] == '.' && strcmp(c->manager, manager) != 0);
}

/* ---- the target ---- */

static struct managed_writer writer_of(const char *manager)
{
    return (struct managed_writer){manager, "v1", "", "2026-01-01T00:00:00Z"};
}

/* The object after an apply; NULL: refused, or in conflict. */
static struct json *apply(const struct run *x, const struct json *live, const struct json *config, const char *manager, bool force)
{
    struct managed_writer writer = writer_of(manager);
    struct managed_conflict *conflicts = NULL;
    struct json *now = NULL, *again = NULL, *before = json_clone(x->arena, live);
    struct err e = {0};
    int r = managed_fields_apply(x->arena, x->schema, live, config, force, &writer, &now, &conflicts, &e);
    MUST_HOLD(json_equal(live, before));
    MUST_HOLD(r >= 0 || (e.code == -r && e.text[0]));
    if (r == 1)
        conflicts_sound(conflicts, manager);
    MUST_HOLD(r != 1 || !force);
    if (r)
        return NULL;
    sound(x, now);
    const struct json *set = field_set_of(x->arena, x->schema, config), *stored = set_of(now, manager);
    MUST_HOLD(set ? stored && json_equal(set, stored) : !stored);
    holds(x->arena, x->schema, now, config);
    others_kept(x, live, now, config, manager);
    dropped(x, live, now, config, manager);
    r = managed_fields_apply(x->arena, x->schema, now, config, false, &writer, &again, &conflicts, &e);
    MUST_HOLD(r == 0 && json_equal(now, again));
    return now;
}

/* A write of the whole object, document, by somebody who applies nothing. */
static struct json *update(const struct run *x, const struct json *now, const struct json *document)
{
    struct managed_writer writer = writer_of("editor");
    struct json *object = json_clone(x->arena, document);
    const struct json *entries = entries_of(now);
    if (entries)
        json_set(x->arena, json_ensure_object(x->arena, object, "metadata"), "managedFields", json_clone(x->arena, entries));
    managed_fields_update(x->arena, x->schema, now, object, &writer);
    sound(x, object);
    return object;
}

/* The same of what a patch makes; the object itself when there is no such patch. */
static const struct json *patched(const struct run *x, const struct json *now, const struct json *patch)
{
    struct json *object = json_clone(x->arena, now);
    struct schema_findings found = {0};
    struct err e = {0};
    if (!x->schema)
        patch_merge(x->arena, &object, patch);
    else if (strategic_merge(x->arena, x->schema, object, patch, &e) < 0 || schema_prune(x->arena, x->schema, object, &found, &e) < 0)
        return now;
    return update(x, now, object);
}

static void check(const struct run *x, struct json *object, const struct json *first, const struct json *second)
{
    struct managed_writer creator = writer_of("creator");
    const struct json *document = json_clone(x->arena, object);
    managed_fields_update(x->arena, x->schema, NULL, object, &creator);
    sound(x, object);
    const struct json *now = apply(x, object, first, "a", false);
    if (!now)
        now = apply(x, object, first, "a", true);
    if (!now)
        return;
    const struct json *then = x->patch ? patched(x, now, second) : apply(x, now, second, "b", x->force);
    if (then)
        now = then;
    (void)update(x, now, document);
    struct json *nothing = json_new(x->arena, JSON_OBJECT);
    json_ensure_object(x->arena, nothing, "metadata");
    then = apply(x, now, nothing, "a", false);
    MUST_HOLD(then && !entry_find(then, "a"));
    (void)update(x, then, document);
    now = apply(x, now, second, "a", true); /* instead of the first: what it alone had goes */
    if (now)
        (void)apply(x, now, nothing, "a", false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > SIZE_MAX_IN)
        return 0;
    _cleanup_arena_ struct arena *a = arena_new();
    struct bytes rest = {(const char *)data, size};
    struct run x = {.arena = a};
    if (!kind_read(line_take(&rest), &x))
        return 0;
    struct json *object = document_read(&x, line_take(&rest)), *first = object ? document_read(&x, line_take(&rest)) : NULL,
                *second = first ? document_read(&x, line_take(&rest)) : NULL;
    if (!second)
        return 0;
    check(&x, object, first, second);
    MUST_HOLD(arena_used(a) < ARENA_PER_BYTE * (size + 64));
    return 0;
}
