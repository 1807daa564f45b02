/* resource.c - units to slots: which resource each unit belongs to, into how many shares it is split, what cannot be
 *
 *     unit ── patterns, MIG strategy ──▶ base resource ── sharing entry that selects it ──▶ resource, replicas ──▶ slots
 */
#include "agent/inventory/resource.h"
#include <stdio.h>
#include <stdlib.h>
#include "agent/inventory/resource_share.h"
#include "base/limits.h"
#include "gpu/model.h"

bool resource_gpu_skipped(const struct driver_gpu *gpu)
{
    return text_ends(gpu->name, "DGX Display");
}

/* '*' stands for anything, every other character for itself. SOURCE NVIDIA's device plugin */
static bool pattern_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *retry = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            retry = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++retry;
        } else
            return false;
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

static const char *by_pattern(const struct resource_pattern *patterns, uint32_t n, const char *text)
{
    for (uint32_t i = 0; i < n; i++)
        if (pattern_matches(patterns[i].pattern, text))
            return patterns[i].name;
    return NULL;
}

/* NULL: not offered. */
static const char *base_name_of(struct table_maker *m, const struct unit *u)
{
    const struct agent_config *c = m->config;
    const char *name;
    if (resource_gpu_skipped(u->gpu))
        return NULL;
    if (!u->mig) {
        name = by_pattern(c->gpu_patterns, c->gpu_patterns_n, u->gpu->name);
        return name ? name : "nvidia.com/gpu";
    }
    if (c->mig_strategy == MIG_STRATEGY_NONE)
        return NULL;
    name = by_pattern(c->mig_patterns, c->mig_patterns_n, u->mig->profile);
    if (name)
        return name;
    if (c->mig_strategy == MIG_STRATEGY_SINGLE)
        return "nvidia.com/gpu";
    if (u->mig->ci_slices == u->mig->gi_slices)
        return mig_profile_resource(m->arena, u->mig->profile);
    if (u->mig->ci == 0) /* once for each GPU instance */
        table_warn(m, "MIG devices %s of GPU %u are parts of a GPU instance: not offered; give them a name with resources.mig",
                   u->mig->profile, u->gpu->index);
    return NULL;
}

static bool same_kind(const struct driver_mig *a, const struct driver_mig *b)
{
    return text_equal(a->profile, b->profile) && a->gi_slices == b->gi_slices && a->ci_slices == b->ci_slices &&
           a->memory_mib == b->memory_mib && a->sm_n == b->sm_n && a->copy_n == b->copy_n && a->decoder_n == b->decoder_n &&
           a->encoder_n == b->encoder_n && a->jpeg_n == b->jpeg_n && a->ofa_n == b->ofa_n;
}

/* SOURCE NVIDIA's device plugin: with single, all GPUs alike and all instances alike. */
static int check_single(struct table_maker *m)
{
    const struct driver_reading *r = m->snapshot->reading;
    const struct driver_gpu *with = NULL, *without = NULL;
    const struct driver_mig *first = NULL;
    for (uint32_t g = 0; g < r->gpus_n; g++) {
        const struct driver_gpu *gpu = &r->gpus[g];
        if (resource_gpu_skipped(gpu) || (gpu->lost && !gpu->migs_n))
            continue;
        if (!gpu->mig_on) {
            without = gpu;
            continue;
        }
        with = gpu;
        if (!gpu->migs_n)
            return err_set(m->e, E_INVALID, "flags.migStrategy single: GPU %u has MIG on and no MIG device; create some, or use mixed",
                           gpu->index);
        for (uint32_t i = 0; i < gpu->migs_n; i++) {
            if (first && !same_kind(first, &gpu->migs[i]))
                return err_set(m->e, E_INVALID, "flags.migStrategy single: the node has MIG devices of several kinds (%s, %s); make them "
                                                "alike, or use mixed",
                               first->profile, gpu->migs[i].profile);
            first = first ? first : &gpu->migs[i];
        }
    }
    if (with && without)
        return err_set(m->e, E_INVALID, "flags.migStrategy single: GPU %u has MIG on, GPU %u has not; make them alike, or use mixed",
                       with->index, without->index);
    return 0;
}

static void warn_unoffered(struct table_maker *m)
{
    const struct driver_reading *r = m->snapshot->reading;
    for (uint32_t g = 0; g < r->gpus_n; g++) {
        const struct driver_gpu *gpu = &r->gpus[g];
        if (!gpu->mig_on || resource_gpu_skipped(gpu))
            continue;
        if (m->config->mig_strategy == MIG_STRATEGY_NONE)
            table_warn(m, "GPU %u has MIG on and flags.migStrategy is none: not offered; use single or mixed", gpu->index);
        else if (!gpu->migs_n)
            table_warn(m, "GPU %u has MIG on and no MIG device: nothing of it is offered", gpu->index);
    }
}

static int check_strategy(struct table_maker *m)
{
    int failed = m->config->mig_strategy == MIG_STRATEGY_SINGLE ? check_single(m) : 0;
    if (failed == 0)
        warn_unoffered(m);
    return failed;
}

/* ---- plans of units to resources ---- */

static int plan_order(const void *a, const void *b)
{
    const struct unit_plan *x = a, *y = b;
    int names = strcmp(x->name, y->name);
    return names ? names : (x->unit > y->unit) - (x->unit < y->unit);
}

static int id_order(const void *a, const void *b, void *arg)
{
    const struct slot *slots = arg;
    return strcmp(slots[*(const uint16_t *)a].id, slots[*(const uint16_t *)b].id);
}

static void add_slots(struct table_maker *m, struct resource *r, const struct unit_plan *p)
{
    const struct unit *u = &m->snapshot->units[p->unit];
    bool shared = p->sharing != SHARING_NONE;
    struct slot of_unit = {.unit = p->unit, .shared = shared};
    slot_close_unit(m->arena, &of_unit, u);
    for (uint32_t i = 0; i < p->replicas; i++) {
        struct slot *slot = &r->slots[r->slots_n++];
        *slot = of_unit;
        slot->id = shared ? arena_printf(m->arena, "%s::%u", u->uuid, i) : u->uuid;
        slot->replica = (uint16_t)i;
    }
}

/* What one shared plan adds to the properties of its resource. */
static int join(struct table_maker *m, struct resource *r, const struct unit_plan *p)
{
    if (r->sharing != SHARING_NONE && r->sharing != p->sharing)
        return err_set(m->e, E_INVALID, "sharing: %s would hold time slices and MPS shares; give one of them a 'rename'", r->name);
    if (r->sharing == SHARING_MPS && r->replicas != p->replicas)
        return err_set(m->e, E_INVALID,
                       "sharing.mps: %s has devices with %u and with %u replicas, but one daemon gives equal shares; give one entry a 'rename'",
                       r->name, r->replicas, p->replicas);
    r->sharing = p->sharing;
    r->fail_requests_greater_than_one = p->fail_requests_greater_than_one;
    r->distributed = p->sharing != SHARING_KETI && m->config->shared_allocation_policy == ALLOCATION_DISTRIBUTED;
    r->renamed = p->renamed;
    r->replicas = p->replicas > r->replicas ? p->replicas : r->replicas;
    return 0;
}

static void index_slots(struct table_maker *m, struct resource *r)
{
    r->by_id = arena_zero(m->arena, r->slots_n, sizeof *r->by_id);
    for (uint32_t i = 0; i < r->slots_n; i++)
        r->by_id[i] = (uint16_t)i;
    qsort_r(r->by_id, r->slots_n, sizeof *r->by_id, id_order, r->slots);
}

static int make_resource(struct table_maker *m, const struct unit_plan *plans, uint32_t n, struct resource *r)
{
    uint32_t slots_n = 0, shared_n = 0;
    *r = (struct resource){.name = plans[0].name, .base_name = plans[0].base_name, .replicas = 1};
    for (uint32_t i = 0; i < n; i++) {
        int failed = plans[i].sharing == SHARING_NONE ? 0 : join(m, r, &plans[i]);
        if (failed < 0)
            return failed;
        shared_n += plans[i].sharing != SHARING_NONE;
        slots_n += plans[i].replicas;
    }
    if (shared_n && shared_n < n)
        table_warn(m, "%s: %u of its %u devices are shared, and a pod cannot tell which it gets; give the shared ones a 'rename'", r->name,
                   shared_n, n);
    r->slots = arena_zero(m->arena, slots_n, sizeof *r->slots);
    for (uint32_t i = 0; i < n; i++)
        add_slots(m, r, &plans[i]);
    index_slots(m, r);
    return 0;
}

static int group(struct table_maker *m, struct resource_table *t)
{
    uint32_t total = 0;
    qsort(m->plans, m->plans_n, sizeof *m->plans, plan_order);
    t->resources = arena_zero(m->arena, m->plans_n + 1, sizeof *t->resources);
    t->resources_n = 0;
    for (uint32_t i = 0, n; i < m->plans_n; i += n) {
        for (n = 1; i + n < m->plans_n && text_equal(m->plans[i].name, m->plans[i + n].name);)
            n++;
        int failed = make_resource(m, &m->plans[i], n, &t->resources[t->resources_n]);
        if (failed < 0)
            return failed;
        total += t->resources[t->resources_n++].slots_n;
    }
    if (total > LIMIT_DEVICES_PER_NODE)
        table_warn(m, "the node offers %u slots and the scheduler counts %d of a node: use fewer replicas", total, LIMIT_DEVICES_PER_NODE);
    return 0;
}

int resource_table_make(struct arena *a, const struct inventory_snapshot *s, const struct agent_config *c, struct resource_table *ret_table,
                        struct buf *warnings, struct err *e)
{
    struct table_maker m = {.arena = a, .snapshot = s, .config = c, .warnings = warnings, .e = e};
    struct resource_table table = {0};
    if (!s->reading || !s->units_n) {
        *ret_table = table;
        return 0;
    }
    int failed = check_strategy(&m);
    if (failed < 0)
        return failed;
    m.plans = arena_zero(a, s->units_n, sizeof *m.plans);
    for (uint32_t i = 0; i < s->units_n; i++) {
        const char *name = base_name_of(&m, &s->units[i]);
        if (name)
            m.plans[m.plans_n++] = (struct unit_plan){.unit = (uint16_t)i, .base_name = name, .name = name, .replicas = 1};
    }
    failed = table_share(&m);
    if (failed == 0)
        failed = group(&m, &table);
    if (failed == 0)
        *ret_table = table;
    return failed;
}

const struct resource *resource_table_find(const struct resource_table *t, const char *name)
{
    for (uint32_t i = 0; i < t->resources_n; i++)
        if (text_equal(t->resources[i].name, name))
            return &t->resources[i];
    return NULL;
}

const struct slot *resource_find_slot(const struct resource *r, const char *id)
{
    uint32_t low = 0, high = r->slots_n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        int order = strcmp(id, r->slots[r->by_id[middle]].id);
        if (order == 0)
            return &r->slots[r->by_id[middle]];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}
