#include "sched/domains/label_levels.h"
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/memory.h"

#define NOT_BUILT INT64_MIN
#define TOO_MANY (-1)

struct level {
    char *labels;
    uint32_t asks_n;
    int64_t tier;            /* above 0; NOT_BUILT, TOO_MANY */
};
struct label_levels {
    struct map *asks;        /* gang key -> char *: levels, with ' ' between */
    struct map *levels;      /* labels -> struct level * */
    int64_t last_tier;       /* the highest that was given so far */
};

struct label_levels *label_levels_new(void)
{
    struct label_levels *l = mem_zero(1, sizeof *l);
    l->asks = map_new(sizeof(char *));
    l->levels = map_new(sizeof(struct level *));
    return l;
}

static void level_free(struct level *level)
{
    free(level->labels);
    free(level);
}

void label_levels_free(struct label_levels *l)
{
    struct bytes key;
    size_t at = 0;
    if (!l)
        return;
    for (struct level **level; (level = map_next(l->levels, &at, &key));)
        level_free(*level);
    at = 0;
    for (char **levels; (levels = map_next(l->asks, &at, &key));)
        free(*levels);
    map_free(l->asks);
    map_free(l->levels);
    free(l);
}

/* ---- who asks ---- */

/* The next of "zone block,rack" from *at on. False: there is none. */
static bool next_level(const char **at, struct bytes *ret_labels)
{
    *at += strspn(*at, " ");
    *ret_labels = (struct bytes){*at, strcspn(*at, " ")};
    *at += ret_labels->n;
    return ret_labels->n > 0;
}

/* Both return whether there are other levels by that. */
static bool levels_add(struct label_levels *l, const char *levels)
{
    struct bytes labels;
    bool any = false, is_new;
    while (next_level(&levels, &labels)) {
        struct level **level = map_put(l->levels, labels, &is_new);
        if (is_new) {
            *level = mem_zero(1, sizeof **level);
            **level = (struct level){.labels = mem_text_n(labels.data, labels.n), .tier = NOT_BUILT};
        }
        (*level)->asks_n++;
        any |= is_new;
    }
    return any;
}

static bool levels_take(struct label_levels *l, const char *levels)
{
    struct bytes labels;
    bool any = false;
    while (next_level(&levels, &labels)) {
        struct level *level = *(struct level **)map_find(l->levels, labels); /* it is there while anybody asks for it */
        if (--level->asks_n)
            continue;
        (void)map_remove(l->levels, labels); /* just found */
        level_free(level);
        any = true;
    }
    return any;
}

/* ORDER  what is asked for anew before what no longer is: a level that is in both stays as it is. */
bool label_levels_ask(struct label_levels *l, const char *gang, const char *levels)
{
    char **was = map_find_text(l->asks, gang), *old = was ? *was : NULL;
    if ((!old && !levels) || (old && levels && strcmp(old, levels) == 0))
        return false;
    bool differs = levels && levels_add(l, levels);
    differs |= old && levels_take(l, old);
    if (levels)
        *(char **)map_put(l->asks, bytes_of(gang), NULL) = mem_text(levels);
    else
        (void)map_remove(l->asks, bytes_of(gang)); /* just found */
    free(old);
    return differs;
}

bool label_levels_any(const struct label_levels *l)
{
    return map_count(l->levels) > 0;
}

bool label_levels_tier(const struct label_levels *l, const char *levels, int64_t *ret_tier)
{
    struct bytes labels;
    struct level *const *level = next_level(&levels, &labels) ? map_find(l->levels, labels) : NULL;
    if (!level || (*level)->tier == TOO_MANY)
        return false;
    *ret_tier = (*level)->tier;
    return true;
}

/* ---- the tree ---- */

struct built {
    struct level *level;
    name_id *domains;        /* by node; 0: in none */
    uint64_t width;
};

static const struct label *label_of(const struct node_look *node, name_id key)
{
    for (uint32_t i = 0; key && i < node->labels_n; i++)
        if (node->labels[i].key == key)
            return &node->labels[i];
    return NULL;
}

/* "b1" of "block", "b1,r2" of "block,rack"; 0: it lacks one of them. */
static name_id domain_of(const struct decoder *d, const struct node_look *node, const char *labels)
{
    const char *text = NULL;
    for (const char *at = labels; at;) {
        size_t n = strcspn(at, ",");
        const struct label *label = label_of(node, intern_find(d->names, (struct bytes){at, n}));
        if (!label)
            return 0;
        const char *value = intern_name(d->names, label->value);
        text = text ? arena_printf(d->arena, "%s,%s", text, value) : value;
        at = at[n] ? at + n + 1 : NULL;
    }
    return text ? intern_text_id(d->names, text) : 0;
}

static int compare_ids(const void *left, const void *right)
{
    const name_id *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static uint64_t width_of(const struct decoder *d, const name_id *domains, uint32_t nodes_n)
{
    name_id *sorted = arena_alloc(d->arena, (nodes_n + 1) * sizeof *sorted);
    uint64_t width = 0;
    if (nodes_n) {
        memcpy(sorted, domains, nodes_n * sizeof *sorted);
        qsort(sorted, nodes_n, sizeof *sorted, compare_ids);
    }
    for (uint32_t i = 0, end; i < nodes_n; i = end) {
        for (end = i; end < nodes_n && sorted[end] == sorted[i]; end++)
            ;
        width += sorted[i] ? (uint64_t)(end - i) * (end - i) : 0;
    }
    return width;
}

static int by_labels(const void *left, const void *right)
{
    struct level *const *a = left, *const *b = right;
    return strcmp((*a)->labels, (*b)->labels);
}

static int by_width(const void *left, const void *right)
{
    const struct built *a = left, *b = right;
    if (a->width != b->width)
        return a->width > b->width ? -1 : 1;
    return strcmp(a->level->labels, b->level->labels);
}

/* Those that count, the widest first. */
static uint32_t build_levels(struct label_levels *l, const struct decoder *d, const struct node_look *nodes, uint32_t nodes_n,
                             struct built *out, bool *ret_differs)
{
    struct level **all = arena_alloc(d->arena, (map_count(l->levels) + 1) * sizeof *all);
    uint32_t n = 0, out_n = 0;
    struct bytes labels;
    size_t at = 0;
    for (struct level **level; (level = map_next(l->levels, &at, &labels));)
        all[n++] = *level;
    if (n)
        qsort(all, n, sizeof *all, by_labels);
    for (uint32_t i = 0; i < n; i++) {
        if (out_n == TOPOLOGY_LEVELS) {
            *ret_differs |= all[i]->tier != TOO_MANY;
            all[i]->tier = TOO_MANY;
            continue;
        }
        struct built *b = &out[out_n++];
        *b = (struct built){.level = all[i], .domains = arena_alloc(d->arena, (nodes_n + 1) * sizeof *b->domains)};
        for (uint32_t k = 0; k < nodes_n; k++)
            b->domains[k] = domain_of(d, &nodes[k], all[i]->labels);
        b->width = width_of(d, b->domains, nodes_n);
    }
    if (out_n)
        qsort(out, out_n, sizeof *out, by_width);
    return out_n;
}

/* From the narrowest up. They stay while they rise so. */
static bool give_tiers(struct label_levels *l, const struct built *built, uint32_t n)
{
    bool rise = true;
    for (uint32_t i = n; i-- > 0 && rise;)
        rise = built[i].level->tier > 0 && (i + 1 == n || built[i].level->tier > built[i + 1].level->tier);
    for (uint32_t i = n; i-- > 0 && !rise;)
        built[i].level->tier = ++l->last_tier;
    return !rise;
}

bool label_levels_build(struct label_levels *l, const struct decoder *d, const struct node_look *nodes, uint32_t nodes_n,
                        struct topology_record *ret_topology)
{
    struct built built[TOPOLOGY_LEVELS];
    bool differs = false;
    uint32_t n = build_levels(l, d, nodes, nodes_n, built, &differs);
    differs |= give_tiers(l, built, n);
    name_id *levels = arena_alloc(d->arena, TOPOLOGY_LEVELS * sizeof *levels);
    int64_t *tiers = arena_alloc(d->arena, TOPOLOGY_LEVELS * sizeof *tiers);
    struct topology_row *rows = arena_alloc(d->arena, (nodes_n + 1) * sizeof *rows);
    *ret_topology = (struct topology_record){.levels = levels, .tiers = tiers, .rows = rows, .levels_n = n};
    for (uint32_t i = 0; i < n; i++) {
        levels[i] = intern_text_id(d->names, built[i].level->labels);
        tiers[i] = built[i].level->tier;
    }
    for (uint32_t k = 0; k < nodes_n; k++) {
        name_id *domains = arena_zero(d->arena, n + 1, sizeof *domains);
        bool any = false;
        for (uint32_t i = 0; i < n; i++) {
            domains[i] = built[i].domains[k];
            any |= domains[i] != 0;
        }
        if (any)
            rows[ret_topology->rows_n++] = (struct topology_row){nodes[k].name, domains};
    }
    return differs;
}
