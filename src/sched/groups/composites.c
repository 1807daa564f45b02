#include "sched/groups/composites.h"
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/limits.h"
#include "base/memory.h"
#include "kube/cache.h"
#include "kube/object_meta.h"

enum { CLIMB_MOST = 16 }; /* what ends no sooner is a circle, or far too deep: each of it is a top of its own, which is told so */

struct part {                /* a PodGroup that is below something */
    name_id whole;           /* the gang that it is a part of; 0: it starts by itself */
    bool is_settled;         /* that is known */
    bool is_fresh, is_moved; /* it has changed; its pods are of another gang */
    bool is_told;            /* to the core, as a gang of its own */
};
struct node {                /* a CompositePodGroup, or a name above others */
    bool is_told, is_invalid;
    bool is_anywhere;        /* it asks for a domain, and labels make none here */
    struct telling telling;
};
struct kept {
    name_id group;           /* the gang that its PodGroup would be */
    bool is_of_whole;        /* it was taken for a pod of a larger one */
    struct blob *object;     /* without managedFields */
};
struct composites {
    struct composites_config config;
    struct intern *names;
    struct kube_cache *groups, *composites;
    struct map *parts;       /* "ns/name" of PodGroups -> struct part */
    struct map *nodes;       /* "ns/name" -> struct node */
    struct map *changed;     /* the same -> nothing: their trees are told anew */
    struct map *kept;        /* "ns/name" of pods -> struct kept */
    bool looks_at_kept;
    struct arena *scratch;
};

struct composites *composites_new(const struct composites_config *config)
{
    struct composites *c = mem_zero(1, sizeof *c);
    c->config = *config;
    c->names = config->decoder->names;
    c->parts = map_new(sizeof(struct part));
    c->nodes = map_new(sizeof(struct node));
    c->changed = map_new(1);
    c->kept = map_new(sizeof(struct kept));
    c->scratch = arena_new();
    return c;
}

void composites_free(struct composites *c)
{
    size_t at = 0;
    if (!c)
        return;
    for (struct kept *k; (k = map_next(c->kept, &at, NULL));)
        blob_unref(k->object);
    map_free(c->parts);
    map_free(c->nodes);
    map_free(c->changed);
    map_free(c->kept);
    arena_free(c->scratch);
    free(c);
}

void composites_mark_names(const struct composites *c)
{
    size_t at = 0;
    for (struct part *p; (p = map_next(c->parts, &at, NULL));)
        intern_mark(c->names, p->whole);
    at = 0;
    for (struct kept *k; (k = map_next(c->kept, &at, NULL));)
        intern_mark(c->names, k->group);
}

/* ---- up and down the tree ---- */

static const struct json *object_at(const struct kube_cache *k, const char *key, struct arena *a)
{
    size_t ns_n = strcspn(key, "/");
    return key[ns_n] ? kube_cache_get(k, arena_text_n(a, key, ns_n), key + ns_n + 1, a) : NULL;
}

/* "ns/PARENT"; NULL: it is below nothing. */
static const char *above(struct arena *a, const char *key, const struct json *object)
{
    const char *parent = decode_native_parent(object);
    return *parent ? arena_printf(a, "%.*s/%s", (int)strcspn(key, "/"), key, parent) : NULL;
}

/* The top of what this one is of; NULL: it is above the tops (decode_composite_is_apart). */
static const char *climb(const struct composites *c, const char *key, struct arena *a, bool *ret_is_endless)
{
    const char *next = key, *path[CLIMB_MOST];
    const struct json *object = NULL;
    uint32_t n = 0;
    for (; next && n < CLIMB_MOST; next = above(a, next, object)) {
        path[n++] = next;
        object = object_at(c->composites, next, a);
    }
    *ret_is_endless = next != NULL;
    if (next)
        return key;
    while (n > 0 && decode_composite_is_apart(object_at(c->composites, path[n - 1], a)))
        n--;
    return n ? path[n - 1] : NULL;
}

struct tree {
    struct native_part *parts;
    const char **keys;
    uint32_t n, cap;
};

static void add(struct tree *t, struct arena *a, struct native_part part, const char *key)
{
    if (t->n == t->cap) {
        uint32_t cap = t->cap ? 2 * t->cap : 16;
        struct native_part *parts = arena_alloc(a, cap * sizeof *parts);
        const char **keys = arena_alloc(a, cap * sizeof *keys);
        for (uint32_t i = 0; i < t->n; i++) {
            parts[i] = t->parts[i];
            keys[i] = t->keys[i];
        }
        t->parts = parts;
        t->keys = keys;
        t->cap = cap;
    }
    t->parts[t->n] = part;
    t->keys[t->n++] = key;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void add_below(struct tree *t, struct arena *a, uint32_t at, const struct kube_cache *cache, bool is_composite)
{
    struct bytes key, raw;
    uint32_t n = 0, cap = 0;
    const char **keys = NULL;
    for (size_t i = 0; kube_cache_next_of(cache, t->keys[at], &i, &key, &raw);) {
        if (n == cap) {
            const char **more = arena_alloc(a, (cap = cap ? 2 * cap : 16) * sizeof *more);
            for (uint32_t k = 0; k < n; k++)
                more[k] = keys[k];
            keys = more;
        }
        keys[n++] = arena_text_n(a, key.data, key.n);
    }
    if (n > 1)
        qsort(keys, n, sizeof *keys, by_text);
    for (uint32_t k = 0; k < n && t->n < LIMIT_GANG_MEMBERS; k++)
        add(t, a, (struct native_part){object_at(cache, keys[k], a), at, is_composite}, keys[k]);
}

/* All that is below it, so many levels with itself. */
static struct tree tree_of(const struct composites *c, const char *top, uint32_t depth_most, struct arena *a)
{
    struct tree t = {0};
    add(&t, a, (struct native_part){object_at(c->composites, top, a), 0, true}, top);
    for (uint32_t i = 0, depth = 1, end = 1; i < t.n && depth < depth_most; i++) {
        if (i == end) {
            depth++;
            end = t.n;
        }
        if (!t.parts[i].is_composite || depth >= depth_most)
            continue;
        add_below(&t, a, i, c->composites, true);
        add_below(&t, a, i, c->groups, false);
    }
    return t;
}

/* ---- what the core is told ---- */

static void tell_gone(struct composites *c, const char *key)
{
    struct node *n = map_find_text(c->nodes, key);
    if (!n || !n->is_told)
        return;
    n->is_told = n->is_invalid = false;
    c->config.on_gone(c->config.arg, arena_printf(c->scratch, "%s%s", decode_gang_prefix(GANG_COMPOSITE), key));
}

static void tell(struct composites *c, const struct tree *t)
{
    struct gang_record g;
    if (decode_composite_group(c->config.decoder, t->parts, t->n, &g, NULL) < 0)
        return;
    for (uint32_t i = 0; i < t->n; i++) {
        struct node *n = t->parts[i].is_composite ? map_put(c->nodes, bytes_of(t->keys[i]), NULL) : NULL;
        const struct tier_request *tiers = !i ? &g.tiers : i <= g.subgroups_n ? &g.subgroups[i - 1].tiers : NULL;
        if (n)
            n->is_anywhere = decode_native_asks(t->parts[i].object) && tiers && tiers->mode == TOPOLOGY_UNASKED;
    }
    struct node *top = map_find_text(c->nodes, t->keys[0]);
    top->is_told = true;
    top->is_invalid = g.hold_is_fault;
    c->config.on_told(c->config.arg, &g);
}

/* whole 0: it starts by itself. */
static void settle(struct composites *c, const char *key, name_id whole)
{
    struct part *p = map_find_text(c->parts, key);
    if (!p)
        return;
    p->is_moved |= !p->is_settled || p->whole != whole;
    c->looks_at_kept |= p->is_moved;
    if (whole ? p->is_told : p->is_fresh || !p->is_told)
        c->config.on_alone(c->config.arg, key, !whole);
    p->is_told = !whole;
    p->is_settled = true;
    p->is_fresh = false;
    p->whole = whole;
}

static void follow_top(struct composites *c, const char *top, bool is_endless)
{
    struct tree t = tree_of(c, top, is_endless ? 2 : CLIMB_MOST, c->scratch);
    name_id gang = intern_text_id(c->names, arena_printf(c->scratch, "%s%s", decode_gang_prefix(GANG_COMPOSITE), top));
    t.parts[0].is_endless = is_endless;
    if (t.parts[0].object)
        tell(c, &t);
    else
        tell_gone(c, top);
    for (uint32_t i = 1; i < t.n; i++) {
        if (!t.parts[i].is_composite)
            settle(c, t.keys[i], gang);
        else if (!is_endless)
            tell_gone(c, t.keys[i]); /* it was a top */
    }
}

/* Those right below are tops. LIMIT  as deep as is climbed: who is below that has another top. */
static void follow_apart(struct composites *c, const char *key, int depth)
{
    struct tree t = tree_of(c, key, 2, c->scratch);
    tell_gone(c, key);
    for (uint32_t i = 1; i < t.n; i++) {
        if (!t.parts[i].is_composite)
            settle(c, t.keys[i], 0);
        else if (!decode_composite_is_apart(t.parts[i].object))
            follow_top(c, t.keys[i], false);
        else if (depth < CLIMB_MOST)
            follow_apart(c, t.keys[i], depth + 1);
    }
}

/* ---- pods that could be of another gang ---- */

static bool has_group(const struct composites *c, const char *group)
{
    char ns[LIMIT_NAME + 1];
    size_t ns_n = strcspn(group, "/");
    if (!group[ns_n] || ns_n >= sizeof ns)
        return false;
    memcpy(ns, group, ns_n);
    ns[ns_n] = '\0';
    return kube_cache_raw(c->groups, ns, group + ns_n + 1).n > 0;
}

/* ORDER  they are taken out before they are taken in again: that keeps some of them anew. */
static void take_in_again(struct composites *c)
{
    uint32_t n = 0;
    struct bytes key;
    struct blob **pods = mem_alloc((map_count(c->kept) + 1) * sizeof *pods);
    struct part *p;
    size_t at = 0;
    for (struct kept *k; (k = map_next(c->kept, &at, &key));) {
        const char *group = decode_gang_object(GANG_NATIVE, intern_name(c->names, k->group));
        p = map_find_text(c->parts, group);
        bool is_other = p ? p->is_moved : k->is_of_whole;
        if (is_other)
            pods[n++] = k->object;
        else if (!p && has_group(c, group)) /* that is below nothing: the pod is what it was taken for */
            blob_unref(k->object);
        else
            continue;
        (void)map_remove(c->kept, key);
    }
    for (at = 0; (p = map_next(c->parts, &at, NULL));)
        p->is_moved = false;
    c->looks_at_kept = false;
    for (uint32_t i = 0; i < n; i++) {
        c->config.again(c->config.arg, (struct bytes){pods[i]->data, pods[i]->n});
        blob_unref(pods[i]);
    }
    free(pods);
}

void composites_follow(struct composites *c)
{
    struct bytes key;
    size_t at = 0;
    if (!map_count(c->changed) && !c->looks_at_kept)
        return;
    arena_reset(c->scratch);
    uint32_t n = 0;
    const char **keys = arena_alloc(c->scratch, (map_count(c->changed) + 1) * sizeof *keys);
    while (map_next(c->changed, &at, &key))
        keys[n++] = arena_text_n(c->scratch, key.data, key.n);
    map_clear(c->changed);
    if (n > 1)
        qsort(keys, n, sizeof *keys, by_text);
    struct map *done = map_new(1);
    for (uint32_t i = 0; i < n; i++) {
        bool is_new, is_endless;
        const char *top = climb(c, keys[i], c->scratch, &is_endless);
        (void)map_put(done, bytes_of(top ? top : keys[i]), &is_new);
        if (is_new && top)
            follow_top(c, top, is_endless);
        else if (is_new)
            follow_apart(c, keys[i], 1);
        struct node *node = map_find_text(c->nodes, keys[i]);
        if (node && !node->is_told && !object_at(c->composites, keys[i], c->scratch))
            (void)map_remove(c->nodes, bytes_of(keys[i]));
    }
    map_free(done);
    if (c->looks_at_kept)
        take_in_again(c);
}

name_id composites_whole_of(const struct composites *c, name_id group)
{
    const struct part *p = map_find_text(c->parts, decode_gang_object(GANG_NATIVE, intern_name(c->names, group)));
    return p ? p->whole : 0;
}

name_id composites_part_of(const struct composites *c, const struct pod_record *pod)
{
    struct bytes ns = bytes_of(intern_name(c->names, pod->shape.ns)), name = bytes_of(intern_name(c->names, pod->pod_set));
    return pod->gang_source == GANG_COMPOSITE ? decode_gang_key(c->config.decoder, GANG_NATIVE, ns, name) : 0;
}

void composites_pod_gone(struct composites *c, const char *key)
{
    struct kept *k = map_find_text(c->kept, key);
    if (!k)
        return;
    blob_unref(k->object);
    (void)map_remove(c->kept, bytes_of(key));
}

void composites_pod_seen(struct composites *c, const struct pod_record *pod, struct bytes object)
{
    struct bytes unused;
    const char *key = intern_name(c->names, pod->key);
    composites_pod_gone(c, key);
    name_id group = pod->gang_source == GANG_NATIVE ? pod->gang : composites_part_of(c, pod);
    if (!group || decode_native_workload(intern_name(c->names, group), &unused))
        return;
    const char *name = decode_gang_object(GANG_NATIVE, intern_name(c->names, group));
    if (!map_find_text(c->parts, name) && has_group(c, name)) /* that is below nothing */
        return;
    struct kept *k = map_put(c->kept, bytes_of(key), NULL);
    *k = (struct kept){group, pod->gang_source == GANG_COMPOSITE, object_without_managed_fields(object, NULL)};
}

/* ---- what has changed ---- */

static void change(struct composites *c, const char *key)
{
    if (!key)
        return;
    (void)map_put(c->changed, bytes_of(key), NULL);
    c->config.on_news(c->config.arg);
}

static void note_composite(struct composites *c, const char *key, const struct json *object, bool is_gone)
{
    const char *parent = above(c->scratch, key, object);
    if (!is_gone)
        kube_cache_mark(c->composites, key, parent);
    change(c, key);
    change(c, is_gone ? parent : NULL);
    (void)map_put(c->nodes, bytes_of(key), NULL);
}

/* Is it a part of a tree? */
static bool note_group(struct composites *c, const char *key, const struct json *object, bool is_gone)
{
    const char *parent = above(c->scratch, key, object);
    if (!is_gone)
        kube_cache_mark(c->groups, key, parent);
    change(c, parent);
    if (!parent || is_gone) {
        (void)map_remove(c->parts, bytes_of(key));
        c->looks_at_kept |= map_count(c->kept) > 0;
        if (c->looks_at_kept)
            c->config.on_news(c->config.arg);
        return false;
    }
    ((struct part *)map_put(c->parts, bytes_of(key), NULL))->is_fresh = true;
    return true;
}

void composites_begin(struct composites *c, struct kube_cache *groups, struct kube_cache *composites)
{
    c->groups = groups;
    c->composites = composites;
}

bool composites_take(struct composites *c, const char *key, const struct json *group)
{
    arena_reset(c->scratch);
    return note_group(c, key, group, false);
}

void composites_gone(struct composites *c, const char *key, struct bytes group)
{
    arena_reset(c->scratch);
    (void)note_group(c, key, json_parse(c->scratch, group, NULL, NULL), true);
}

void composites_note(struct composites *c, const char *key, struct bytes composite, bool is_gone)
{
    arena_reset(c->scratch);
    note_composite(c, key, json_parse(c->scratch, composite, NULL, NULL), is_gone);
}

/* ---- what objects say of it ---- */

static bool is_scheduled(struct composites *c, const struct json *object, const char *key, bool is_composite, int depth)
{
    const struct json *policy = json_path(object, "spec", "schedulingPolicy", NULL);
    int64_t least = json_int64(json_path(policy, "gang", is_composite ? "minGroupCount" : "minCount", NULL), 1), n = 0;
    if (!is_composite) {
        name_id group = intern_find(c->names, bytes_of(arena_printf(c->scratch, "%s%s", decode_gang_prefix(GANG_NATIVE), key)));
        return group && c->config.bound_n(c->config.arg, group) >= least;
    }
    struct tree t = tree_of(c, key, depth < NATIVE_DEPTH ? 2 : 1, c->scratch);
    for (uint32_t i = 1; i < t.n && n < least; i++)
        n += is_scheduled(c, t.parts[i].object, t.keys[i], t.parts[i].is_composite, depth + 1);
    return n >= least;
}

bool composites_scheduled(struct composites *c, const char *key)
{
    arena_reset(c->scratch);
    const struct json *object = object_at(c->composites, key, c->scratch);
    return object && is_scheduled(c, object, key, true, 1);
}

struct composite_look composites_look(struct composites *c, const char *key, struct arena *a)
{
    bool is_endless;
    const char *top = climb(c, key, a, &is_endless);
    struct node *own = map_find_text(c->nodes, key), *of_top = top ? map_find_text(c->nodes, top) : NULL;
    name_id gang = top ? intern_find(c->names, bytes_of(arena_printf(a, "%s%s", decode_gang_prefix(GANG_COMPOSITE), top))) : 0;
    return (struct composite_look){.whole = gang,
                                   .missing = top && !object_at(c->composites, top, a) ? top : NULL,
                                   .is_invalid = of_top && of_top->is_invalid,
                                   .is_anywhere = own && own->is_anywhere,
                                   .telling = own ? &own->telling : NULL};
}

void composites_status(struct composites *c, const char *top)
{
    arena_reset(c->scratch);
    bool is_endless;
    (void)climb(c, top, c->scratch, &is_endless);
    struct tree t = tree_of(c, top, is_endless ? 2 : CLIMB_MOST, c->scratch);
    for (uint32_t i = 1; i < t.n; i++)
        c->config.on_status(c->config.arg, t.keys[i], t.parts[i].is_composite);
}
