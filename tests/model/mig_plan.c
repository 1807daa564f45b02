/* mig_plan.c - random MIG layouts and wishes against a planner that tries every final layout, written out without any bound or order
 *
 *   mig_plan [SEED [STEPS [RUNS]]]      STEPS applies on each of RUNS GPUs
 *
 * Each plan is then carried out by the rules of gpu/mig.c: it has to end in exactly the wish, with the costs that it claims and every kept
 * instance under its old UUID.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "gpu/mig_plan.h"

#define WISHES_MAX 8

struct cost {
    uint32_t busy, destroyed, created;
};
struct wish_left { /* what is still to be placed */
    const struct mig_profile *profile;
    uint8_t slices;
    uint32_t n;
};
struct reference {
    const struct gpu_model *m;
    const struct mig_state *now;
    struct wish_left left[WISHES_MAX];
    uint32_t left_n;
    struct mig_state final; /* under construction: places only */
    uint32_t final_n;
    bool found;
    struct cost best;
};
struct model {
    const struct gpu_model *m;
    struct mig_state s;
    struct random random;
    uint64_t seed, step, feasible_n, refused_n, steps_n;
};

static void fail(const struct model *m, const char *what)
{
    fprintf(stderr, "mig_plan: seed %" PRIu64 " step %" PRIu64 " on %s: %s\n", m->seed, m->step, m->m->key, what);
    exit(1);
}

/* ---- the reference: every final layout, compared place by place with the present one ---- */

static const struct mig_instance *same_place(const struct mig_state *s, uint8_t profile_id, uint8_t start)
{
    for (int i = 0; i < MIG_GI_MAX; i++)
        if (s->instances[i].used && s->instances[i].profile_id == profile_id && s->instances[i].start == start)
            return &s->instances[i];
    return NULL;
}

static const struct mig_compute *same_compute(const struct mig_instance *gi, uint8_t slices, uint8_t start)
{
    for (int c = 0; gi && c < MIG_CI_MAX; c++)
        if (gi->computes[c].used && gi->computes[c].slices == slices && gi->computes[c].start == start)
            return &gi->computes[c];
    return NULL;
}

static uint32_t only_in(const struct mig_state *a, const struct mig_state *b, uint32_t *busy)
{
    uint32_t n = 0;
    for (int i = 0; i < MIG_GI_MAX; i++) {
        const struct mig_instance *gi = &a->instances[i];
        if (!gi->used)
            continue;
        const struct mig_instance *other = same_place(b, gi->profile_id, gi->start);
        n += !other;
        for (int c = 0; c < MIG_CI_MAX; c++)
            if (gi->computes[c].used && !same_compute(other, gi->computes[c].slices, gi->computes[c].start)) {
                n++;
                *busy += gi->computes[c].busy_n > 0;
            }
    }
    return n;
}

static bool cheaper(struct cost a, struct cost b)
{
    if (a.busy != b.busy)
        return a.busy < b.busy;
    return a.destroyed != b.destroyed ? a.destroyed < b.destroyed : a.created < b.created;
}

static void judge(struct reference *r)
{
    struct cost cost = {0};
    uint32_t ignored = 0;
    for (uint32_t i = 0; i < r->left_n; i++)
        if (r->left[i].n)
            return;
    struct mig_engines sum = {0};
    for (uint32_t i = 0; i < r->final_n; i++)
        sum = mig_engines_sum(sum, mig_profile_engines(mig_profile_by_id(r->m, r->final.instances[i].profile_id)));
    if (sum.decoder_n > r->m->decoder_n || sum.encoder_n > r->m->encoder_n || sum.jpeg_n > r->m->jpeg_n || sum.ofa_n > r->m->ofa_n)
        return;
    cost.destroyed = only_in(r->now, &r->final, &cost.busy);
    cost.created = only_in(&r->final, r->now, &ignored);
    if (!r->found || cheaper(cost, r->best))
        r->best = cost;
    r->found = true;
}

static void try_instances(struct reference *r, uint32_t unit);

/* Every way to fill compute slices [slice..) of the GPU instance made last. */
static void try_computes(struct reference *r, const struct mig_profile *p, uint8_t slice, uint32_t computes_n)
{
    struct mig_instance *gi = &r->final.instances[r->final_n - 1];
    if (slice >= p->slices) {
        if (computes_n)
            try_instances(r, gi->start + p->units);
        return;
    }
    for (uint32_t k = 0; k < r->left_n; k++) {
        if (r->left[k].profile != p || !r->left[k].n || !(mig_compute_starts(p->slices, r->left[k].slices) & 1u << slice))
            continue;
        r->left[k].n--;
        gi->computes[computes_n] = (struct mig_compute){.used = 1, .slices = r->left[k].slices, .start = slice};
        try_computes(r, p, (uint8_t)(slice + r->left[k].slices), computes_n + 1);
        gi->computes[computes_n].used = 0;
        r->left[k].n++;
    }
    try_computes(r, p, (uint8_t)(slice + 1), computes_n);
}

/* Every way to fill memory slices [unit..). */
static void try_instances(struct reference *r, uint32_t unit)
{
    if (unit >= r->m->mig_units) {
        judge(r);
        return;
    }
    for (uint32_t i = 0; i < r->m->profiles_n; i++) {
        const struct mig_profile *p = &r->m->profiles[i];
        bool wanted = false;
        for (uint32_t k = 0; k < r->left_n; k++)
            wanted |= r->left[k].profile == p && r->left[k].n;
        if (!wanted || !(p->starts & 1u << unit))
            continue;
        r->final.instances[r->final_n++] =
            (struct mig_instance){.used = 1, .profile_id = p->id, .start = (uint8_t)unit, .units = p->units};
        try_computes(r, p, 0, 0);
        r->final.instances[--r->final_n].used = 0;
    }
    try_instances(r, unit + 1);
}

/* ---- random states and wishes ---- */

static void scramble(struct model *m)
{
    uint8_t id, ci;
    memset(m->s.instances, 0, sizeof m->s.instances);
    m->s.mode = m->s.mode_pending = 1;
    for (uint64_t tries = random_below(&m->random, 12); tries; tries--) {
        const struct mig_profile *p = &m->m->profiles[random_below(&m->random, m->m->profiles_n)];
        int start = random_permille(&m->random, 300) ? -1 : (int)random_below(&m->random, m->m->mig_units);
        if (mig_create_instance(&m->s, m->m, p->id, start, &id) != MIG_OK)
            continue;
        if (random_permille(&m->random, 700))
            mig_create_compute(&m->s, m->m, id, p->slices, -1, m->seed, &ci);
        else
            for (uint64_t more = random_below(&m->random, 5); more; more--)
                mig_create_compute(&m->s, m->m, id, (uint8_t)(1 + random_below(&m->random, p->slices)),
                                   (int)random_below(&m->random, 8) - 1, m->seed, &ci);
    }
}

static void make_busy(struct model *m)
{
    uint32_t permille = (uint32_t)random_below(&m->random, 4) * 300;
    for (int i = 0; i < MIG_GI_MAX; i++)
        for (int c = 0; c < MIG_CI_MAX; c++)
            if (m->s.instances[i].used && m->s.instances[i].computes[c].used)
                m->s.instances[i].computes[c].busy_n = random_permille(&m->random, permille);
}

static uint32_t random_wish(struct model *m, struct mig_wish wishes[WISHES_MAX])
{
    uint32_t n = (uint32_t)random_below(&m->random, 4);
    bool parts = random_permille(&m->random, 250);
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct mig_profile *p = &m->m->profiles[random_below(&m->random, m->m->profiles_n)];
        uint8_t slices = p->slices;
        if (parts && random_permille(&m->random, 700))
            slices = (uint8_t)(1 + random_below(&m->random, p->slices));
        if (!mig_compute_starts(p->slices, slices))
            slices = p->slices;
        uint32_t most = slices < p->slices ? p->slices / slices + 1u : p->max_n;
        wishes[count++] = (struct mig_wish){p, slices, (uint32_t)random_below(&m->random, most + 1u)};
    }
    return count;
}

static void reference_wish(struct reference *r, const struct mig_wish *wishes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;
        while (k < r->left_n && (r->left[k].profile != wishes[i].profile || r->left[k].slices != wishes[i].compute_slices))
            k++;
        if (k == r->left_n)
            r->left[r->left_n++] = (struct wish_left){wishes[i].profile, wishes[i].compute_slices, 0};
        r->left[k].n += wishes[i].n;
    }
}

/* ---- one apply ---- */

static bool stays(const struct mig_plan *plan, uint8_t instance_id, uint8_t compute_id)
{
    for (uint32_t i = 0; i < plan->steps_n; i++)
        if (plan->steps[i].kind == MIG_STEP_DESTROY_CI && plan->steps[i].instance_id == instance_id &&
            plan->steps[i].compute_id == compute_id)
            return false;
    return true;
}

static void check_kept(struct model *m, const struct mig_state *before, const struct mig_plan *plan)
{
    uint32_t kept_n = 0;
    for (int i = 0; i < MIG_GI_MAX; i++)
        for (int c = 0; c < MIG_CI_MAX; c++) {
            const struct mig_instance *gi = &before->instances[i];
            if (!gi->used || !gi->computes[c].used || !stays(plan, gi->id, gi->computes[c].id))
                continue;
            const struct mig_compute *ci = mig_find_compute(&m->s, gi->id, gi->computes[c].id);
            if (!ci || memcmp(ci, &gi->computes[c], sizeof *ci) != 0)
                fail(m, "a kept instance changed");
            kept_n++;
        }
    if (kept_n != plan->kept_n)
        fail(m, "kept_n is wrong");
}

static struct cost plan_cost(const struct mig_plan *plan)
{
    struct cost cost = {.busy = plan->busy_n};
    for (uint32_t i = 0; i < plan->steps_n; i++) {
        enum mig_step_kind kind = plan->steps[i].kind;
        cost.destroyed += kind == MIG_STEP_DESTROY_CI || kind == MIG_STEP_DESTROY_GI;
        cost.created += kind == MIG_STEP_CREATE_CI || kind == MIG_STEP_CREATE_GI;
    }
    return cost;
}

static void execute(struct model *m, const struct mig_plan *plan)
{
    uint8_t last = 0xff;
    for (uint32_t i = 0; i < plan->steps_n; i++) {
        const struct mig_step *step = &plan->steps[i];
        if (step->kind == MIG_STEP_DESTROY_CI) { /* the pods of a busy one have left by now */
            struct mig_compute *ci = mig_find_compute(&m->s, step->instance_id, step->compute_id);
            if (!ci || step->busy != (ci->busy_n > 0))
                fail(m, "a step names no compute instance, or its use wrongly");
            ci->busy_n = 0;
        }
        if (mig_step_do(&m->s, m->m, step, false, m->seed, &last) != MIG_OK)
            fail(m, "a step is refused");
        m->steps_n++;
    }
    if (m->s.mode != m->s.mode_pending)
        mig_reset(&m->s, m->m);
}

static void restore(struct model *m, const struct mig_state *before)
{
    struct mig_plan back;
    struct mig_state there = m->s;
    uint32_t ignored = 0;
    mig_plan_restore(m->m, &m->s, before, &back);
    execute(m, &back);
    if (only_in(&m->s, before, &ignored) || only_in(before, &m->s, &ignored))
        fail(m, "the recorded layout was not restored");
    m->s = there;
}

static void apply(struct model *m)
{
    struct mig_wish wishes[WISHES_MAX];
    struct mig_plan plan;
    struct err e;
    uint32_t n = random_wish(m, wishes);
    struct reference r = {.m = m->m, .now = &m->s};
    reference_wish(&r, wishes, n);
    try_instances(&r, 0);
    struct mig_state before = m->s;
    bool ok = mig_plan_make(m->m, &m->s, true, wishes, n, &plan, &e) == 0;
    if (ok != r.found)
        fail(m, ok ? "a plan for what fits nowhere" : "no plan where there is one");
    if (!ok) {
        m->refused_n++;
        return;
    }
    struct cost cost = plan_cost(&plan);
    if (cheaper(r.best, cost) || cheaper(cost, r.best)) {
        fprintf(stderr, "plan %u/%u/%u, best %u/%u/%u\n", cost.busy, cost.destroyed, cost.created, r.best.busy,
                r.best.destroyed, r.best.created);
        fail(m, "not the cheapest plan");
    }
    if (mig_plan_matches(m->m, &m->s, true, wishes, n) != (plan.steps_n == 0))
        fail(m, "match and plan do not agree");
    execute(m, &plan);
    if (!mig_plan_matches(m->m, &m->s, true, wishes, n))
        fail(m, "the plan does not end in the wish");
    check_kept(m, &before, &plan);
    if (random_permille(&m->random, 100))
        restore(m, &before);
    m->feasible_n++;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 100;
    uint64_t runs = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000, feasible_n = 0, refused_n = 0, steps_n = 0;
    for (uint64_t r = 0; r < runs; r++) {
        struct model m = {.seed = seed + r, .random = {seed + r}};
        do
            m.m = &gpu_models[random_below(&m.random, gpu_models_n)];
        while (!m.m->mig_slices);
        for (m.step = 0; m.step < steps; m.step++) {
            if (m.step == 0 || random_permille(&m.random, 300))
                scramble(&m);
            make_busy(&m);
            apply(&m);
        }
        feasible_n += m.feasible_n;
        refused_n += m.refused_n;
        steps_n += m.steps_n;
    }
    printf("mig plans ok: %" PRIu64 " applied, %" PRIu64 " refused, %" PRIu64 " steps\n", feasible_n, refused_n, steps_n);
    return 0;
}
