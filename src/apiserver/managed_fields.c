#include "apiserver/managed_fields.h"

#include "apiserver/managed_fields_set.h"

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
    struct json *copy = json_clone(a, entry);
    json_set(a, copy, "fieldsV1", set);
    return copy;
}

static const struct json *entry_set(const struct json *entry)
{
    const struct json *set = json_get(entry, "fieldsV1");
    return json_is(set, JSON_OBJECT) && set->n ? set : NULL;
}

static void entries_store(struct arena *a, struct json *object, struct json *entries)
{
    struct json *metadata = json_ensure_object(a, object, "metadata");
    if (entries->n)
        json_set(a, metadata, "managedFields", entries);
    else
        json_remove(metadata, "managedFields");
}

void managed_fields_update(struct arena *a, const struct schema *s, const struct json *old, struct json *object,
                           const struct managed_writer *writer)
{
    struct json *changed, *removed;
    field_set_compare(a, s, old, object, &changed, &removed);
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
        json_append(entries, entry_new(a, writer, "Update", json_clone(a, changed)));
    entries_store(a, object, entries);
}

/* ---- apply: merge ---- */

static struct json *merge_value(struct arena *a, const struct schema *s, const struct json *live,
                                const struct json *config);

static struct json *merge_members(struct arena *a, const struct schema *s, const struct json *live,
                                  const struct json *config)
{
    struct json *out = json_clone(a, live);
    JSON_EACH (m, config)
        json_set(a, out, m->key, merge_value(a, field_member_type(s, m->key), json_get(live, m->key), m));
    return out;
}

/* ORDER  when the config has every live item, its order counts; else live items stay where they are and new ones
 * follow. */
static struct json *merge_items(struct arena *a, const struct schema *s, const struct json *live,
                                const struct json *config)
{
    bool keyed = s->list == SCHEMA_LIST_MAP, all = true;
    struct json *out = json_new(a, JSON_ARRAY);
    JSON_EACH (item, live) {
        const char *key = keyed ? field_item_key(a, s, item) : field_set_key(a, item);
        all = all && key && field_item_find(a, s, config, key);
    }
    if (!all)
        JSON_EACH (item, live) {
            const char *key = keyed ? field_item_key(a, s, item) : field_set_key(a, item);
            const struct json *mine = key ? field_item_find(a, s, config, key) : NULL;
            json_append(out, mine && keyed ? merge_members(a, s->item, item, mine) : json_clone(a, item));
        }
    JSON_EACH (mine, config) {
        const char *key = keyed ? field_item_key(a, s, mine) : field_set_key(a, mine);
        const struct json *item = key ? field_item_find(a, s, live, key) : NULL;
        if (all || !item)
            json_append(out, item && keyed ? merge_members(a, s->item, item, mine) : json_clone(a, mine));
    }
    return out;
}

static struct json *merge_value(struct arena *a, const struct schema *s, const struct json *live,
                                const struct json *config)
{
    enum field_shape x = live ? field_shape(s, live) : FIELD_LEAF, y = field_shape(s, config);
    if (x == FIELD_LEAF || x != y)
        return config->n == 0 && x != FIELD_LEAF && config->type >= JSON_ARRAY ? json_clone(a, live)
                                                                               : json_clone(a, config);
    return x == FIELD_MEMBERS ? merge_members(a, s, live, config) : merge_items(a, s, live, config);
}

/* Two items with one key, or an item without key, cannot be merged. */
static int items_check(struct arena *a, const struct schema *s, const struct json *v, const char *path, struct err *e)
{
    switch (field_shape(s, v)) {
    case FIELD_LEAF:
    case FIELD_SET:
        return 0;
    case FIELD_MEMBERS:
        JSON_EACH (m, v) {
            int r = items_check(a, field_member_type(s, m->key), m, arena_printf(a, "%s.%s", path, m->key), e);
            if (r < 0)
                return r;
        }
        return 0;
    case FIELD_KEYED:
        break;
    }
    JSON_EACH (item, v) {
        const char *key = field_item_key(a, s, item);
        if (!key)
            return err_set(e, E_INVALID, "%s: an item lacks its key field \"%s\"", path,
                           s->list_keys ? s->list_keys[0] : "");
        if (field_item_find(a, s, v, key) != item)
            return err_set(e, E_INVALID, "%s: duplicate entries for key [%s]", path, key + 2);
        int r = items_check(a, s->item, item, arena_printf(a, "%s[%s]", path, key + 2), e);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- apply: what is no longer applied goes ---- */

static void prune(struct arena *a, const struct schema *s, struct json *v, const struct json *gone,
                  const struct json *others);

static void prune_member(struct arena *a, const struct schema *s, struct json *v, const struct json *element,
                         const struct json *others)
{
    const char *key = element->key + 2;
    struct json *member = json_get(v, key);
    const struct json *theirs = json_get(others, element->key);
    if (!member)
        return;
    const struct schema *type = field_member_type(s, key);
    bool had = member->type >= JSON_ARRAY && member->n > 0;
    if (element->n)
        prune(a, type, member, element, theirs);
    bool emptied = had && member->n == 0;
    if ((emptied || (field_set_has(element) && (element->n == 0 || member->n == 0))) && !theirs)
        json_remove(v, key);
}

static void prune_item(struct arena *a, const struct schema *s, struct json *v, const struct json *element,
                       const struct json *others)
{
    struct json *item = field_item_find(a, s, v, element->key);
    const struct json *theirs = json_get(others, element->key);
    if (!item)
        return;
    if (field_set_has(element) && !theirs)
        json_remove_item(v, item);
    else
        prune(a, s->item, item, element, theirs);
}

static void prune(struct arena *a, const struct schema *s, struct json *v, const struct json *gone,
                  const struct json *others)
{
    JSON_EACH (element, gone) {
        if (element->key_n < 2)
            continue;
        if (element->key[0] == 'f' && v->type == JSON_OBJECT)
            prune_member(a, s, v, element, others);
        else if (element->key[0] != 'f' && v->type == JSON_ARRAY && s && s->form == SCHEMA_LIST &&
                 s->list != SCHEMA_LIST_ATOMIC)
            prune_item(a, s, v, element, others);
    }
}

/* ---- apply ---- */

struct conflict_list {
    struct arena *arena;
    const struct json *entry;
    struct managed_conflict **link;
};

static void conflict_add(void *arg, const char *path)
{
    struct conflict_list *list = arg;
    struct managed_conflict *c = arena_zero(list->arena, 1, sizeof *c);
    *c = (struct managed_conflict){json_get_text(list->entry, "manager", ""),
                                   json_get_text(list->entry, "operation", ""),
                                   json_get_text(list->entry, "apiVersion", ""),
                                   json_get_text(list->entry, "subresource", ""),
                                   arena_text(list->arena, path),
                                   NULL};
    *list->link = c;
    list->link = &c->next;
}

static struct managed_conflict *conflicts_find(struct arena *a, const struct json *entries, const struct json *changed,
                                               const struct managed_writer *writer)
{
    struct managed_conflict *first = NULL;
    struct conflict_list list = {a, NULL, &first};
    JSON_EACH (entry, entries) {
        if (entry_is(entry, writer, "Apply"))
            continue;
        list.entry = entry;
        field_set_each(a, field_set_common(a, entry_set(entry), changed), conflict_add, &list);
    }
    return first;
}

/* Whether every conflict is about what kubectl's client-side apply wrote: then `kubectl apply --server-side` takes it
 * over. SOURCE kube-apiserver, lastAppliedManager: only for the manager "kubectl", by the last-applied annotation. */
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

/* Entries after an apply: others lose what was taken from them by force, the writer owns exactly what it sent. */
static struct json *entries_settle(struct arena *a, const struct json *before, const struct json *changed,
                                   struct json *config_set, const struct managed_writer *writer)
{
    struct json *entries = json_new(a, JSON_ARRAY);
    bool mine = false;
    JSON_EACH (entry, before) {
        if (entry_is(entry, writer, "Apply")) {
            bool same = config_set && entry_set(entry) && json_equal(entry_set(entry), config_set) && !changed;
            mine = true;
            if (config_set)
                json_append(entries, same ? json_clone(a, entry) : entry_new(a, writer, "Apply", config_set));
            continue;
        }
        struct json *left = field_set_minus(a, entry_set(entry), changed);
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
    int r = items_check(a, s, config, "", e);
    if (r < 0)
        return r;
    struct json *config_set = field_set_of(a, s, config), *changed = NULL, *removed = NULL;
    struct json *merged = live ? merge_members(a, s, live, config) : json_clone(a, config);
    const struct json *before = json_path(live, "metadata", "managedFields", NULL);
    field_set_compare(a, s, live, merged, &changed, &removed);
    struct managed_conflict *conflicts = live ? conflicts_find(a, before, changed, writer) : NULL;
    if (conflicts && !force && !conflicts_taken_over(a, s, live, changed, writer)) {
        *ret_conflicts = conflicts;
        return 1;
    }
    const struct json *previous = NULL;
    struct json *others = NULL;
    JSON_EACH (entry, before) {
        if (entry_is(entry, writer, "Apply"))
            previous = entry_set(entry);
        else
            others = field_set_union(a, others, field_set_minus(a, entry_set(entry), changed));
    }
    struct json *gone = field_set_minus(a, previous, config_set);
    if (gone)
        prune(a, s, merged, gone, field_set_union(a, others, config_set));
    entries_store(a, merged, entries_settle(a, before, changed, config_set, writer));
    *ret_object = merged;
    return 0;
}
