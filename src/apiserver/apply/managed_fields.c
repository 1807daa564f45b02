#include "apiserver/apply/managed_fields.h"

#include "apiserver/apply/managed_fields_set.h"
#include "wire/json_index.h"
#include "wire/json_reader.h"

#define CONFLICTS_MAX 256
#define CONFLICT_PATH_MAX 2048
#define UPDATERS_MAX 10
#define ANCIENT "ancient-changes"

/* ---- entries of metadata.managedFields ---- */

static bool entry_is(const struct json *entry, const struct managed_writer *w, const char *operation)
{
    return strcmp(json_get_text(entry, "manager", ""), w->manager) == 0 &&
           strcmp(json_get_text(entry, "operation", ""), operation) == 0 &&
           strcmp(json_get_text(entry, "subresource", ""), w->subresource) == 0;
}

static struct json *entry_new(struct arena *a, const struct managed_writer *w, const char *operation, struct json *set)
{
    struct json *entry = json_new(a, JSON_OBJECT);
    json_set_text(a, entry, "manager", w->manager);
    json_set_text(a, entry, "operation", operation);
    json_set_text(a, entry, "apiVersion", w->api_version);
    json_set_text(a, entry, "time", w->time);
    json_set_text(a, entry, "fieldsType", "FieldsV1");
    json_set(a, entry, "fieldsV1", set);
    if (*w->subresource)
        json_set_text(a, entry, "subresource", w->subresource);
    return entry;
}

/* Copy of an entry that owns `set` instead. */
static struct json *entry_with(struct arena *a, const struct json *entry, struct json *set)
{
    struct json *copy = json_new(a, JSON_OBJECT);
    JSON_EACH (m, entry)
        json_set(a, copy, m->key, strcmp(m->key, "fieldsV1") == 0 ? set : json_copy(a, m));
    return copy;
}

/* Entries may come from outside. */
static bool set_is_sound(const struct json *node)
{
    if (!json_is(node, JSON_OBJECT))
        return false;
    JSON_EACH (m, node)
        if (!set_is_sound(m))
            return false;
    return true;
}

static const struct json *entry_set(const struct json *entry)
{
    const struct json *set = json_get(entry, "fieldsV1");
    return set && set->n && set_is_sound(set) ? set : NULL;
}

static void entries_store(struct arena *a, struct json *object, struct json *entries)
{
    struct json *metadata = json_ensure_object(a, object, "metadata");
    if (entries->n)
        json_set(a, metadata, "managedFields", entries);
    else
        json_remove(metadata, "managedFields");
}

static bool is_update(const struct json *entry)
{
    return strcmp(json_get_text(entry, "operation", ""), "Update") == 0;
}

/* The oldest update of somebody by name; NULL: there are no more than UPDATERS_MAX of them. */
static struct json *entry_to_fold(const struct json *entries)
{
    struct json *oldest = NULL;
    uint32_t n = 0;
    JSON_EACH (entry, entries) {
        if (!is_update(entry))
            continue;
        n++;
        if (strcmp(json_get_text(entry, "manager", ""), ANCIENT) != 0 &&
            (!oldest || strcmp(json_get_text(entry, "time", ""), json_get_text(oldest, "time", "")) < 0))
            oldest = entry;
    }
    return n > UPDATERS_MAX ? oldest : NULL;
}

/* WHY  tools that name themselves anew at each run would make every object grow. SOURCE structured-merge-diff's cap of ten,
 * beyond which the oldest become "ancient-changes". */
static void entries_fold(struct arena *a, struct json *entries)
{
    struct json *oldest;
    while ((oldest = entry_to_fold(entries))) {
        struct json *ancient = NULL;
        JSON_EACH (entry, entries)
            if (is_update(entry) && strcmp(json_get_text(entry, "manager", ""), ANCIENT) == 0 &&
                strcmp(json_get_text(entry, "apiVersion", ""), json_get_text(oldest, "apiVersion", "")) == 0)
                ancient = entry;
        if (!ancient) {
            json_set_text(a, oldest, "manager", ANCIENT);
            json_remove(oldest, "subresource");
            continue;
        }
        json_set(a, ancient, "fieldsV1", field_set_union(a, entry_set(ancient), entry_set(oldest)));
        json_remove_item(entries, oldest);
    }
}

struct managed_change managed_fields_compare(struct arena *a, const struct schema *s, const struct json *old, const struct json *object)
{
    struct managed_change c;
    field_set_compare(a, s, old, object, &c.changed, &c.removed);
    return c;
}

void managed_fields_update(struct arena *a, const struct schema *s, const struct json *old, struct json *object,
                           const struct managed_writer *writer)
{
    managed_fields_own(a, object, managed_fields_compare(a, s, old, object), writer);
}

void managed_fields_own(struct arena *a, struct json *object, struct managed_change change, const struct managed_writer *writer)
{
    struct json *changed = change.changed, *removed = change.removed;
    const struct json *before = json_path(object, "metadata", "managedFields", NULL);
    /* A list of one empty entry asks for a reset; entries without owner are of no use. */
    if (!changed && !removed && !(before && before->n && !*json_get_text(before->first, "manager", "")))
        return;
    struct json *entries = json_new(a, JSON_ARRAY), *touched = field_set_union(a, changed, removed);
    bool mine = false;
    JSON_EACH (entry, before) {
        if (!*json_get_text(entry, "manager", ""))
            continue;
        bool own = entry_is(entry, writer, "Update") &&
                   strcmp(json_get_text(entry, "apiVersion", ""), writer->api_version) == 0;
        const struct json *set = entry_set(entry);
        struct json *left = field_set_minus(a, set, own ? removed : touched);
        if (own)
            left = field_set_union(a, left, changed);
        mine = mine || own;
        if (!left)
            continue;
        struct json *copy = entry_with(a, entry, left);
        if (own && changed)
            json_set_text(a, copy, "time", writer->time);
        json_append(entries, copy);
    }
    if (!mine && changed)
        json_append(entries, entry_new(a, writer, "Update", json_copy(a, changed)));
    entries_fold(a, entries);
    entries_store(a, object, entries);
}

/* The reader stands before a set. */
static bool set_has_status(struct json_reader *r)
{
    struct bytes key;
    bool found = !json_reader_object(r);
    while (json_reader_key(r, &key)) {
        found = found || bytes_is(key, "f:status");
        json_reader_skip(r);
    }
    return found;
}

/* The reader stands before an entry: it has an owner, who did not write it by a subresource and owns nothing of the status. */
static bool entry_is_aside(struct json_reader *r)
{
    struct bytes key, manager = {0};
    bool aside = json_reader_object(r), has_set = false;
    while (aside && json_reader_key(r, &key)) {
        if (bytes_is(key, "manager")) {
            manager = json_reader_raw(r);
        } else if (bytes_is(key, "fieldsV1")) {
            has_set = true;
            aside = !set_has_status(r);
        } else {
            aside = !bytes_is(key, "subresource");
            json_reader_skip(r);
        }
    }
    return aside && has_set && manager.n > 2;
}

/* WHY  most objects have one entry of who made them and one of who tells how they are: the second is made beside the first. */
struct json *managed_fields_added(struct arena *a, struct bytes entries, struct managed_change change, const struct managed_writer *writer)
{
    const struct json *changed = change.changed;
    bool status_only = changed && !change.removed && changed->n == 1 && strcmp(changed->first->key, "f:status") == 0;
    struct json_reader r;
    uint32_t n = 0;
    json_reader_init(&r, entries);
    if (!entries.n || !status_only || !*writer->subresource || !json_reader_array(&r))
        return NULL;
    for (; json_reader_item(&r); n++)
        if (n + 1 == UPDATERS_MAX || !entry_is_aside(&r))
            return NULL;
    return r.failed ? NULL : entry_new(a, writer, "Update", json_copy(a, changed));
}

/* ---- apply: merge ---- */

static struct json *merge_value(struct arena *a, const struct schema *s, const struct json *live,
                                const struct json *config);

static void member_add(struct json *object, const struct json *like, struct json *v)
{
    v->key = like->key;
    v->key_n = like->key_n;
    json_append(object, v);
}

static struct json *merge_members(struct arena *a, const struct schema *s, const struct json *live,
                                  const struct json *config)
{
    struct json *out = json_new(a, JSON_OBJECT);
    _cleanup_json_index_ struct json_index in_live = json_index_of(live), in_config = json_index_of(config);
    JSON_EACH (m, live) {
        const struct json *mine = json_index_find(&in_config, (struct bytes){m->key, m->key_n});
        member_add(out, m, mine ? merge_value(a, field_member_type(s, m), m, mine) : json_copy(a, m));
    }
    JSON_EACH (m, config)
        if (!json_index_find(&in_live, (struct bytes){m->key, m->key_n}))
            member_add(out, m, merge_value(a, field_member_type(s, m), NULL, m));
    return out;
}

/* ORDER  when the config has every live item, its order counts; else live items stay where they are and new ones
 * follow. */
static struct json *merge_items(struct arena *a, const struct schema *s, const struct json *live,
                                const struct json *config)
{
    bool keyed = s->list == SCHEMA_LIST_MAP, all = true;
    struct json *out = json_new(a, JSON_ARRAY);
    _cleanup_field_items_ struct field_items in_live, in_config;
    field_items_init(&in_live, a, s, live);
    field_items_init(&in_config, a, s, config);
    for (uint32_t i = 0; i < in_live.n; i++)
        all = all && in_live.elements[i] && field_items_find(&in_config, in_live.elements[i]);
    for (uint32_t i = 0; !all && i < in_live.n; i++) {
        const char *key = in_live.elements[i];
        const struct json *item = in_live.items[i], *mine = key ? field_items_find(&in_config, key) : NULL;
        json_append(out, mine && keyed ? merge_members(a, s->item, item, mine) : json_copy(a, item));
    }
    for (uint32_t i = 0; i < in_config.n; i++) {
        const char *key = in_config.elements[i];
        const struct json *mine = in_config.items[i], *item = key ? field_items_find(&in_live, key) : NULL;
        if (all || !item)
            json_append(out, item && keyed ? merge_members(a, s->item, item, mine) : json_copy(a, mine));
    }
    return out;
}

static struct json *merge_value(struct arena *a, const struct schema *s, const struct json *live,
                                const struct json *config)
{
    enum field_shape x = live ? field_shape(s, live) : FIELD_LEAF, y = field_shape(s, config);
    if (x == FIELD_LEAF || x != y)
        return json_copy(a, config->n == 0 && x != FIELD_LEAF && config->type >= JSON_ARRAY ? live : config);
    return x == FIELD_MEMBERS ? merge_members(a, s, live, config) : merge_items(a, s, live, config);
}

/* Where a check stands: printed only when it fails, as a path is as long as all keys above. */
struct place {
    const struct place *above; /* NULL = the root */
    const char *member;        /* else an item: */
    const char *element;
};

static void place_write(struct buf *out, const struct place *p)
{
    if (p->above)
        place_write(out, p->above);
    if (p->member)
        buf_printf(out, ".%s", p->member);
    else if (p->element)
        buf_printf(out, "[%s]", p->element + 2);
}

static int item_refused(const struct place *place, const char *what, const char *detail, const char *end, struct err *e)
{
    _cleanup_buf_ struct buf path = {0};
    place_write(&path, place);
    return err_set(e, E_INVALID, "%.160s: %s%.60s%s", path.data ? path.data : "", what, detail, end);
}

static int items_check(struct arena *a, const struct schema *s, const struct json *v, const struct place *place,
                       struct err *e);

static int keyed_check(struct arena *a, const struct schema *s, const struct json *v, const struct place *place,
                       struct err *e)
{
    _cleanup_field_items_ struct field_items x;
    int r = 0;
    field_items_init(&x, a, s, v);
    for (uint32_t i = 0; r == 0 && i < x.n; i++) {
        const char *key = x.elements[i];
        if (!key)
            return item_refused(place, "an item lacks its key field \"", s->list_keys ? s->list_keys[0] : "", "\"", e);
        if (field_items_find(&x, key) != x.items[i])
            return item_refused(place, "duplicate entries for key [", key + 2, "]", e);
        r = items_check(a, s->item, x.items[i], &(struct place){place, NULL, key}, e);
    }
    return r;
}

/* Two items with one key, or an item without key, cannot be merged. */
static int items_check(struct arena *a, const struct schema *s, const struct json *v, const struct place *place,
                       struct err *e)
{
    enum field_shape shape = field_shape(s, v);
    int r = 0;
    if (shape == FIELD_KEYED)
        return keyed_check(a, s, v, place, e);
    for (const struct json *m = shape == FIELD_MEMBERS ? v->first : NULL; r == 0 && m; m = m->next)
        r = items_check(a, field_member_type(s, m), m, &(struct place){place, m->key, NULL}, e);
    return r;
}

/* ---- apply: what is no longer applied goes ---- */

static void prune(struct arena *a, const struct schema *s, struct json *v, const struct json *gone,
                  const struct json *others);

/* True: the member goes. */
static bool prune_member(struct arena *a, const struct schema *s, struct json *member, const struct json *element,
                         const struct json *theirs)
{
    const struct schema *type = field_member_type(s, member);
    bool had = member->type >= JSON_ARRAY && member->n > 0;
    if (element->n)
        prune(a, type, member, element, theirs);
    bool emptied = had && member->n == 0;
    return (emptied || (field_set_has(element) && (element->n == 0 || member->n == 0))) && !theirs;
}

/* The set without the fields that make an item the one that it is. */
static const struct json *without_keys(struct arena *a, const struct schema *list, const struct json *set)
{
    struct json *keys = json_new(a, JSON_OBJECT);
    for (size_t i = 0; list->list == SCHEMA_LIST_MAP && list->list_keys && list->list_keys[i]; i++)
        json_set(a, keys, arena_printf(a, "f:%s", list->list_keys[i]), json_new(a, JSON_OBJECT));
    return field_set_minus(a, set, keys);
}

/* True: the item goes. */
static bool prune_item(struct arena *a, const struct schema *s, struct json *item, const struct json *element,
                       const struct json *theirs)
{
    if (field_set_has(element) && !theirs)
        return true;
    prune(a, s->item, item, without_keys(a, s, element), theirs);
    return false;
}

/* v keeps what neither is gone nor loses its last part. */
static void prune(struct arena *a, const struct schema *s, struct json *v, const struct json *gone,
                  const struct json *others)
{
    bool members = v->type == JSON_OBJECT;
    if (!members && !(v->type == JSON_ARRAY && s && s->form == SCHEMA_LIST && s->list != SCHEMA_LIST_ATOMIC))
        return;
    _cleanup_json_index_ struct json_index in_gone = json_index_of(gone), in_others = json_index_of(others);
    struct json *next, *child = v->first;
    v->first = v->last = NULL;
    v->n = 0;
    for (; child; child = next) {
        next = child->next;
        const char *key = members ? field_member_element(a, child) : field_item_element(a, s, child);
        const struct json *element = key ? json_index_find(&in_gone, bytes_of(key)) : NULL;
        const struct json *theirs = element ? json_index_find(&in_others, bytes_of(key)) : NULL;
        if (!element || !(members ? prune_member : prune_item)(a, s, child, element, theirs))
            json_append(v, child);
    }
}

/* ---- apply ---- */

struct conflict_list {
    struct arena *arena;
    const struct json *entry;
    struct managed_conflict **link;
    uint32_t n;
};

static void conflict_add(void *arg, const char *path)
{
    struct conflict_list *list = arg;
    if (list->n++ >= CONFLICTS_MAX)
        return;
    struct managed_conflict *c = arena_zero(list->arena, 1, sizeof *c);
    *c = (struct managed_conflict){json_get_text(list->entry, "manager", ""),
                                   json_get_text(list->entry, "operation", ""),
                                   json_get_text(list->entry, "apiVersion", ""),
                                   json_get_text(list->entry, "subresource", ""),
                                   arena_text_n(list->arena, path, strnlen(path, CONFLICT_PATH_MAX)),
                                   NULL};
    *list->link = c;
    list->link = &c->next;
}

static struct managed_conflict *conflicts_find(struct arena *a, const struct json *entries, const struct json *changed,
                                               const struct managed_writer *writer)
{
    struct managed_conflict *first = NULL;
    struct conflict_list list = {a, NULL, &first, 0};
    JSON_EACH (entry, entries) {
        if (entry_is(entry, writer, "Apply"))
            continue;
        list.entry = entry;
        field_set_each(a, field_set_common(a, entry_set(entry), changed), conflict_add, &list);
    }
    return first;
}

/* Whether every conflict is about what kubectl's client-side apply wrote: then `kubectl apply --server-side` takes it over.
 * SOURCE kube-apiserver, lastAppliedManager: only for the manager "kubectl", by the last-applied annotation. */
static bool conflicts_taken_over(struct arena *a, const struct schema *s, const struct json *live,
                                 const struct json *changed, const struct managed_writer *writer)
{
    const char *text = json_text(
        json_path(live, "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration", NULL), NULL);
    if (!text || strcmp(writer->manager, "kubectl") != 0)
        return false;
    const struct json *applied = json_parse(a, bytes_of(text), NULL, NULL);
    const struct json *allowed = json_is(applied, JSON_OBJECT) ? field_set_of(a, s, applied) : NULL;
    JSON_EACH (entry, json_path(live, "metadata", "managedFields", NULL)) {
        const struct json *common =
            entry_is(entry, writer, "Apply") ? NULL : field_set_common(a, entry_set(entry), changed);
        if (common && field_set_minus(a, common, allowed))
            return false;
    }
    return true;
}

/* Entries after an apply: others lose what was taken from them by force or is replaced, the writer owns exactly what it sent. */
static struct json *entries_settle(struct arena *a, const struct json *before, const struct json *touched,
                                   struct json *config_set, const struct managed_writer *writer)
{
    struct json *entries = json_new(a, JSON_ARRAY);
    bool mine = false;
    JSON_EACH (entry, before) {
        if (entry_is(entry, writer, "Apply")) {
            bool same = config_set && entry_set(entry) && json_equal(entry_set(entry), config_set) && !touched;
            mine = true;
            if (config_set)
                json_append(entries, same ? json_copy(a, entry) : entry_new(a, writer, "Apply", config_set));
            continue;
        }
        struct json *left = field_set_minus(a, entry_set(entry), touched);
        if (left)
            json_append(entries, entry_with(a, entry, left));
    }
    if (!mine && config_set)
        json_append(entries, entry_new(a, writer, "Apply", config_set));
    return entries;
}

int managed_fields_apply(struct arena *a, const struct schema *s, const struct json *live, const struct json *config,
                         bool force, const struct managed_writer *writer, struct json **ret_object,
                         struct managed_conflict **ret_conflicts, struct err *e)
{
    int r = items_check(a, s, config, &(struct place){0}, e);
    if (r < 0)
        return r;
    struct json *config_set = field_set_of(a, s, config), *changed = NULL, *removed = NULL;
    struct json *merged = live ? merge_members(a, s, live, config) : json_copy(a, config);
    const struct json *before = json_path(live, "metadata", "managedFields", NULL);
    field_set_compare(a, s, live, merged, &changed, &removed);
    struct managed_conflict *conflicts = live ? conflicts_find(a, before, changed, writer) : NULL;
    if (conflicts && !force && !conflicts_taken_over(a, s, live, changed, writer)) {
        *ret_conflicts = conflicts;
        return 1;
    }
    const struct json *previous = NULL, *touched = removed ? field_set_union(a, changed, removed) : changed;
    struct json *others = NULL;
    JSON_EACH (entry, before) {
        if (entry_is(entry, writer, "Apply"))
            previous = entry_set(entry);
        else
            others = field_set_union(a, others, field_set_minus(a, entry_set(entry), touched));
    }
    struct json *gone = field_set_minus(a, previous, config_set);
    if (gone) {
        prune(a, s, merged, gone, field_set_union(a, others, config_set));
        merged = merge_members(a, s, merged, config); /* ORDER  of items that are left: what went had a place among them */
    }
    entries_store(a, merged, entries_settle(a, before, touched, config_set, writer));
    *ret_object = merged;
    return 0;
}
