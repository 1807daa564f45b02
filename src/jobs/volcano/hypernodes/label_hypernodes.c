#include "jobs/volcano/hypernodes/label_hypernodes.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "base/collections/map.h"
#include "core/flow.h"
#include "kube/object.h"
#include "wire/yaml.h"

enum { NAME_MOST = 20, TRIES = 20 };

/* ---- what is asked for ---- */

static void note(struct label_topologies *t, const char *problem)
{
    t->problem = t->problem ? t->problem : problem;
}

/* False: it counts for nothing, and the problem is noted. */
static bool read_labels(struct arena *a, const struct json *list, struct label_topologies *t, struct label_topology *ret)
{
    const char *path = arena_printf(a, "networkTopologyTypes.%s", ret->name), *own = NULL;
    ret->labels = arena_alloc(a, TOPOLOGY_LEVELS * sizeof *ret->labels);
    for (size_t i = json_is(list, JSON_ARRAY) ? list->n : 0; i-- > 0;) {
        const char *label = json_get_text(json_item(list, i), "nodeLabel", "");
        bool twice = own && text_equal(label, own);
        for (uint32_t k = 0; k < ret->n; k++)
            twice |= text_equal(ret->labels[k], label);
        if (!*label || twice || ret->n == TOPOLOGY_LEVELS) {
            note(t, !*label  ? arena_printf(a, "%s[%zu].nodeLabel: missing: write the label of nodes that makes this tier", path, i)
                    : twice ? arena_printf(a, "%s: has no effect: label %s stands there twice", path, label)
                            : arena_printf(a, "%s: has no effect: it has more than %d labels", path, TOPOLOGY_LEVELS));
            return false;
        }
        if (own)
            ret->labels[ret->n++] = label;
        else
            own = label;
    }
    if (!ret->n)
        note(t, arena_printf(a, "%s: names no label above that of the node itself (kubernetes.io/hostname), which comes last", path));
    return ret->n > 0;
}

static void read_types(struct arena *a, const struct json *types, struct label_topologies *t)
{
    JSON_EACH (type, types) {
        struct label_topology one = {.name = type->key};
        if (strlen(one.name) > NAME_MOST)
            note(t, arena_printf(a, "networkTopologyTypes.%s: has no effect: a name has %d characters at most", one.name, NAME_MOST));
        else if (t->n == LABEL_TOPOLOGIES)
            note(t, arena_printf(a, "networkTopologyTypes.%s: has no effect: there are %d before it", one.name, LABEL_TOPOLOGIES));
        else if (read_labels(a, type, t, &one))
            t->all[t->n++] = one;
    }
}

void label_topologies_read(struct arena *a, struct bytes text, struct label_topologies *ret)
{
    struct err e = {0};
    struct json *docs;
    *ret = (struct label_topologies){0};
    if (yaml_parse(a, text, &docs, NULL, &e) < 0) {
        note(ret, arena_printf(a, "cannot be read: %s", e.text));
        return;
    }
    JSON_EACH (source, json_get(json_first(docs), "networkTopologyDiscovery")) {
        const char *name = json_get_text(source, "source", "");
        if (!json_get_bool(source, "enabled", false))
            continue;
        if (!text_equal(name, "label")) {
            note(ret, arena_printf(a, "networkTopologyDiscovery: source %s has no effect here: only label has", name));
            continue;
        }
        ret->enabled = true;
        read_types(a, json_path(source, "config", "networkTopologyTypes", NULL), ret);
    }
}

/* ---- what labels make of it ---- */

struct found {
    const char *name, *label, *value;
    uint32_t tier;
    struct json *members;
};
struct finder {
    struct arena *a;
    struct map *there;       /* "label\nvalue\nhypernode-...-" -> const char *: the first by name */
    struct map *found;       /* "label\nvalue" -> struct found * */
    struct map *names;       /* that are taken: of `there`, and given */
    struct map *known;       /* "name\nmember" */
    struct found **all;
    uint32_t n, cap;
};

static const char *clean(struct arena *a, const char *name)
{
    char *text = arena_text_n(a, name, strlen(name));
    for (char *c = text; *c; c++)
        *c = isalpha((unsigned char)*c) ? (char)tolower((unsigned char)*c) : isdigit((unsigned char)*c) || *c == '.' ? *c : '-';
    return text;
}

static const char *name_for(struct finder *f, const char *type, const char *label, const char *value, uint32_t tier)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    const char *prefix = arena_printf(f->a, "hypernode-%s-tier%u-", clean(f->a, type), tier);
    const char **there = map_find_text(f->there, arena_printf(f->a, "%s\n%s\n%s", label, value, prefix)), *name = there ? *there : "";
    bool is_new = there != NULL;
    for (uint64_t i = 0; !is_new && i < TRIES; i++) {
        char end[6] = "";
        uint64_t hash = hash_bytes(value, strlen(value), hash_bytes(label, strlen(label), i));
        for (int k = 0; k < 5; k++, hash /= sizeof letters - 1)
            end[k] = letters[hash % (sizeof letters - 1)];
        name = arena_printf(f->a, "%s%s", prefix, end);
        is_new = !map_find_text(f->names, name);
    }
    (void)map_put(f->names, bytes_of(name), NULL); /* no value */
    return name;
}

static struct found *found_for(struct finder *f, const char *type, const char *label, const char *value, uint32_t tier)
{
    bool is_new;
    struct found **slot = map_put(f->found, bytes_of(arena_printf(f->a, "%s\n%s", label, value)), &is_new);
    if (!is_new)
        return *slot;
    struct found *made = *slot = arena_alloc(f->a, sizeof *made);
    *made = (struct found){name_for(f, type, label, value, tier), label, value, tier, json_new(f->a, JSON_ARRAY)};
    if (f->n == f->cap) {
        struct found **more = arena_alloc(f->a, (f->cap = 2 * f->cap + 16) * sizeof *more);
        if (f->n)
            memcpy(more, f->all, f->n * sizeof *more);
        f->all = more;
    }
    f->all[f->n++] = made;
    return made;
}

static void add_member(struct finder *f, struct found *to, const char *member)
{
    bool is_new;
    (void)map_put(f->known, bytes_of(arena_printf(f->a, "%s\n%s", to->name, member)), &is_new); /* no value */
    if (!is_new)
        return;
    struct json *m = json_new(f->a, JSON_OBJECT);
    json_set_text(f->a, m, "type", to->tier == 1 ? "Node" : "HyperNode");
    json_set_text(f->a, json_ensure_object(f->a, json_ensure_object(f->a, m, "selector"), "exactMatch"), "name", member);
    json_append(to->members, m);
}

static void add_node(struct finder *f, const struct label_topology *t, const struct json *node)
{
    const char *member = json_get_text(node, "name", "");
    for (uint32_t i = 0; i < t->n; i++) {
        const char *value = json_get_text(json_get(node, "labels"), t->labels[i], "");
        if (!*value)
            return;
        struct found *to = found_for(f, t->name, t->labels[i], value, i + 1);
        if (to->tier == i + 1) /* else another topology has the label in another place: there it counts */
            add_member(f, to, member);
        member = to->name;
    }
}

static int compare_members(const void *left, const void *right)
{
    const struct json *const *a = left, *const *b = right;
    return strcmp(json_text(json_path(*a, "selector", "exactMatch", "name", NULL), ""),
                  json_text(json_path(*b, "selector", "exactMatch", "name", NULL), ""));
}

static struct json *by_name(struct arena *a, struct json *members)
{
    struct json **all = arena_alloc(a, (members->n + 1) * sizeof *all), *sorted = json_new(a, JSON_ARRAY);
    size_t n = 0;
    JSON_EACH (m, members)
        all[n++] = m;
    if (n > 1)
        qsort(all, n, sizeof *all, compare_members);
    for (size_t i = 0; i < n; i++)
        json_append(sorted, json_copy(a, all[i]));
    return sorted;
}

static struct json *object_of(struct arena *a, const struct found *found)
{
    struct json *o = json_new(a, JSON_OBJECT), *metadata = json_ensure_object(a, o, "metadata"), *spec = json_ensure_object(a, o, "spec");
    struct json *labels = json_ensure_object(a, metadata, "labels");
    json_set_text(a, o, "apiVersion", "topology.volcano.sh/v1alpha1");
    json_set_text(a, o, "kind", "HyperNode");
    json_set_text(a, metadata, "name", found->name);
    json_set_text(a, labels, found->label, found->value);
    json_set_text(a, labels, HYPERNODE_SOURCE_LABEL, "label");
    json_set_int64(a, spec, "tier", found->tier);
    json_set_text(a, spec, "tierName", found->label);
    json_set(a, spec, "members", by_name(a, found->members));
    return o;
}

static int compare_found(const void *left, const void *right)
{
    const struct found *a = *(struct found *const *)left, *b = *(struct found *const *)right;
    return a->tier != b->tier ? (a->tier < b->tier ? -1 : 1) : strcmp(a->name, b->name);
}

static void add_there(struct finder *f, const struct json *o)
{
    const char *name = object_meta(o, "name"), *end = strrchr(name, '-');
    (void)map_put(f->names, bytes_of(name), NULL); /* no value */
    JSON_EACH (label, json_path(o, "metadata", "labels", NULL)) {
        const char *value = json_text(label, "");
        if (!end || text_equal(label->key, HYPERNODE_SOURCE_LABEL))
            continue;
        const char *key = arena_printf(f->a, "%s\n%s\n%.*s-", label->key, value, (int)(end - name), name);
        const char **slot = map_put(f->there, bytes_of(key), NULL);
        if (!*slot || strcmp(name, *slot) < 0)
            *slot = arena_text_n(f->a, name, strlen(name));
    }
}

struct json *label_hypernodes(struct arena *a, const struct label_topologies *t, const struct json *nodes, const struct json *there)
{
    struct map *maps[] = {map_new(sizeof(const char *)), map_new(sizeof(struct found *)), map_new(0), map_new(0)};
    struct finder f = {.a = a, .there = maps[0], .found = maps[1], .names = maps[2], .known = maps[3]};
    struct json *all = json_new(a, JSON_ARRAY);
    JSON_EACH (o, there)
        add_there(&f, o);
    JSON_EACH (node, nodes)
        for (uint32_t i = 0; i < t->n; i++)
            add_node(&f, &t->all[i], node);
    if (f.n > 1)
        qsort(f.all, f.n, sizeof *f.all, compare_found);
    for (uint32_t i = 0; i < f.n; i++)
        json_append(all, object_of(a, f.all[i]));
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        map_free(maps[i]);
    return all;
}
