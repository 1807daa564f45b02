/* expected.c - the pods that may come, taken to be like those that are there: what runs, what waits, what planned gangs still want */
#include <stdlib.h>
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

/* ORDER the most frequent first; then by what they ask for. Kinds that are equal in that and differ in where they may stand count alike. */
static int compare_counts(const void *left, const void *right)
{
    const struct target *a = left, *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    if (a->gpus_n != b->gpus_n)
        return a->gpus_n > b->gpus_n ? -1 : 1;
    if (a->gpu_milli != b->gpu_milli)
        return a->gpu_milli > b->gpu_milli ? -1 : 1;
    return a->cpu_milli > b->cpu_milli ? -1 : a->cpu_milli < b->cpu_milli;
}

void state_expect_as_now(struct state *s)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const uint32_t *counts = count_shapes(s, a);
    struct target *all = arena_alloc(a, (s->shapes.classes_live_n + 1) * sizeof *all);
    uint32_t n = 0;
    uint64_t total = 0;
    for (uint32_t i = 1; i < s->shapes.classes_n; i++) {
        const struct shape_class *c = &s->shapes.classes[i];
        if (!counts[i])
            continue;
        struct gpu_ask ask = gpu_ask_of(s, c);
        all[n++] = (struct target){.on = c->shape, .cpu_milli = ask.cpu, .gpus_n = ask.n, .gpu_milli = ask.each, .count = counts[i]};
        total += counts[i];
    }
    qsort(all, n, sizeof *all, compare_counts);
    state_set_targets(s, all, n < KINDS_MAX ? n : KINDS_MAX, total);
}
