/* expected.c - the pods that may come, taken to be like those that are there: what runs, what waits, what planned gangs still want */
#include <stdlib.h>
#include <string.h>
#include "core/score/gpus.h"

enum { KINDS_MAX = 512 }; /* WHY as many as are looked at (target.h): more would cost and change nothing */

static bool is_there(const struct pod *p)
{
    return p->key && !p->deleting && (p->phase == POD_PENDING || p->phase == POD_RUNNING);
}

static uint32_t *count_shapes(const struct state *s, struct arena *a)
{
    uint32_t *counts = arena_zero(a, s->shapes.classes_n + 1, sizeof *counts);
    for (uint32_t i = 1; i < s->pods_n; i++)
        counts[s->pods[i].shape] += is_there(&s->pods[i]);
    for (uint32_t i = 0; i < s->gangs_n; i++) {
        const struct gang *g = s->gangs[i];
        for (uint32_t k = 0; k < g->sets_n && g->planned && !g->finished && g->phase == GANG_WAITING; k++)
            counts[g->sets[k].shape] += (uint32_t)(g->sets[k].count > 0 ? g->sets[k].count : 0);
    }
    return counts;
}

struct kind_count {
    struct target kind;
    uint64_t where;          /* hash of the texts of what it demands of a node's labels */
};

static uint64_t hash_name(const struct state *s, name_id name, uint64_t seed)
{
    const char *text = intern_name(s->names, name);
    return hash_bytes(text, strlen(text), seed);
}

static uint64_t hash_of_labels(const struct state *s, const struct shape *shape)
{
    uint64_t hash = 1;
    for (uint32_t i = 0; i < shape->node_labels_n; i++)
        hash = hash_name(s, shape->node_labels[i].value, hash_name(s, shape->node_labels[i].key, hash));
    for (uint32_t i = 0; i < shape->node_terms_n; i++)
        for (uint32_t k = 0; k < shape->node_terms[i].all_n; k++) {
            const struct requirement *r = &shape->node_terms[i].all[k];
            hash = hash_name(s, r->key, hash + (uint64_t)r->op + (uint64_t)r->number);
            for (uint32_t v = 0; v < r->values_n; v++)
                hash = hash_name(s, r->values[v], hash);
        }
    return hash;
}

static int compare_asks(const void *left, const void *right)
{
    const struct kind_count *a = left, *b = right;
    if (a->kind.gpus_n != b->kind.gpus_n)
        return a->kind.gpus_n > b->kind.gpus_n ? -1 : 1;
    if (a->kind.gpu_milli != b->kind.gpu_milli)
        return a->kind.gpu_milli > b->kind.gpu_milli ? -1 : 1;
    if (a->kind.cpu_milli != b->kind.cpu_milli)
        return a->kind.cpu_milli > b->kind.cpu_milli ? -1 : 1;
    return a->where < b->where ? -1 : a->where > b->where;
}

/* ORDER  total, and by texts: sums are rounded in this order (binary64.h), after a restart, too. */
static int compare_counts(const void *left, const void *right)
{
    const struct kind_count *a = left, *b = right;
    return a->kind.count != b->kind.count ? (a->kind.count > b->kind.count ? -1 : 1) : compare_asks(a, b);
}

/* Those that differ in memory alone, say, are one kind. */
static uint32_t merge(struct kind_count *all, uint32_t n)
{
    uint32_t kept_n = 0;
    qsort(all, n, sizeof *all, compare_asks);
    for (uint32_t i = 0; i < n; i++)
        if (kept_n && compare_asks(&all[kept_n - 1], &all[i]) == 0)
            all[kept_n - 1].kind.count += all[i].kind.count;
        else
            all[kept_n++] = all[i];
    qsort(all, kept_n, sizeof *all, compare_counts);
    return kept_n < KINDS_MAX ? kept_n : KINDS_MAX;
}

void state_expect_as_now(struct state *s)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const uint32_t *counts = count_shapes(s, a);
    struct kind_count *all = arena_alloc(a, (s->shapes.classes_live_n + 1) * sizeof *all);
    struct target *kinds = arena_alloc(a, KINDS_MAX * sizeof *kinds);
    uint32_t n = 0;
    uint64_t total = 0;
    for (uint32_t i = 1; i < s->shapes.classes_n; i++) {
        const struct shape_class *c = &s->shapes.classes[i];
        if (!counts[i])
            continue;
        struct gpu_ask ask = gpu_ask_of(s, c);
        struct target kind = {.on = c->shape, .cpu_milli = ask.cpu, .gpus_n = ask.n, .gpu_milli = ask.each, .count = counts[i]};
        all[n++] = (struct kind_count){kind, hash_of_labels(s, &c->shape)};
        total += counts[i];
    }
    n = merge(all, n);
    for (uint32_t i = 0; i < n; i++)
        kinds[i] = all[i].kind;
    state_set_targets(s, kinds, n, total);
}
