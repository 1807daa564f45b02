/* core_random_queues.c - quota, queues and cohorts, and what becomes of them, drawn from the seed */
#include "core_model.h"

/* ---- quota ---- */

static int64_t limit(struct model *m, int64_t unit)
{
    return chance(m, 300) ? (int64_t)pick(m, 5) * unit : NO_LIMIT;
}

static void put_quota(struct model *m, struct m_quota *q, int resource, bool cohort)
{
    int64_t unit = resource == RES_CPU ? 2000 : 1;
    q->named = !cohort || chance(m, 300);
    q->nominal = unit * (int64_t)(cohort || resource == RES_NIC ? pick(m, 4) : m->preempts ? pick(m, 7) : 2 + pick(m, 10));
    q->borrowing = limit(m, unit);
    q->lending = limit(m, unit);
}

static void put_quotas(struct model *m, struct m_quota quota[FLAVORS][RES_N], int layout, bool cohort)
{
    memset(quota, 0, sizeof(struct m_quota) * FLAVORS * RES_N);
    for (int g = 0; g < 2; g++)
        for (int f = 0; f < layouts[layout][g].flavors_n; f++)
            for (int r = 0; r < RES_N; r++)
                if (layouts[layout][g].covers[r])
                    put_quota(m, &quota[layouts[layout][g].flavors[f]][r], r, cohort);
}

static void put_policies(struct model *m, struct m_queue *q)
{
    static const enum preemption_policy within[] = {PREEMPT_NEVER, PREEMPT_LOWER_PRIORITY, PREEMPT_LOWER_OR_NEWER_EQUAL_PRIORITY},
                                        reclaim[] = {PREEMPT_NEVER, PREEMPT_LOWER_PRIORITY, PREEMPT_ANY};
    q->threshold = -1;
    if (!m->preempts) {
        q->reclaim = chance(m, 500) ? PREEMPT_ANY : PREEMPT_NEVER;
        return;
    }
    q->within = within[pick(m, 3)];
    q->reclaim = reclaim[pick(m, 3)];
    q->borrow = q->reclaim != PREEMPT_NEVER && chance(m, 400) ? PREEMPT_LOWER_PRIORITY : PREEMPT_NEVER;
    q->threshold = chance(m, 400) ? (int)pick(m, 3) : -1;
}

int random_weight(struct model *m)
{
    return chance(m, 700) ? 1000 : (const int[]){0, 500, 2000, 333}[pick(m, 4)];
}

/* Before anything else is: it is of the process. */
void consumption_policy(struct model *m)
{
    static const int64_t half_lives_ms[] = {0, 700, 20000, 600000};
    static const struct resource_weight weights[] = {{"cpu", 100000000}, {"nvidia.com/gpu", INT64_C(3000000000)}};
    m->consumption = (struct consumption_policy){.on = m->seed % 3 != 0, .half_life_ms = half_lives_ms[m->seed / 3 % 4],
                                                 .sampling_ms = 1000 * (1 + (int64_t)(m->seed % 7)), .weights = weights, .weights_n = 2};
}

/* Of its own, none, or a name that is none: then it keeps what it had. */
static struct queue_placement random_placement(struct model *m, struct queue_placement had)
{
    static const enum placement all[] = {PLACEMENT_BINPACK, PLACEMENT_SPREAD, PLACEMENT_RANDOM, PLACEMENT_FGD, PLACEMENT_CAPSTAN,
                                         PLACEMENT_BINPACK | PLACEMENT_BY_LOAD, PLACEMENT_SPREAD | PLACEMENT_BY_LOAD,
                                         PLACEMENT_CAPSTAN | PLACEMENT_BY_LOAD};
    if (chance(m, 200))
        return (struct queue_placement){.own = had.own, .unread = true, .by = had.by};
    if (chance(m, 300))
        return (struct queue_placement){0};
    return (struct queue_placement){.own = true, .by = all[pick(m, sizeof all / sizeof *all)]};
}

void random_put_queue(struct model *m, int slot)
{
    struct m_queue *q = &m->api.queues[slot];
    const struct queue_placement had = q->placement;
    int layout = q->exists ? q->layout : (int)pick(m, 3);
    *q = (struct m_queue){.exists = true, .layout = layout, .strict = chance(m, 400), .borrow_before_next = chance(m, 500),
                          .preempt_before_next = chance(m, 300), .level_first = chance(m, 300), .cohort = (int)pick(m, COHORTS + 1) - 1,
                          .weight_milli = random_weight(m)};
    q->by_consumption = chance(m, 500);
    if (m->placements)
        q->placement = random_placement(m, had);
    put_policies(m, q);
    if (m->preempts && slot < 3)
        q->cohort = chance(m, 700) ? 0 : (int)pick(m, COHORTS);
    q->stop = chance(m, 60) ? STOP_HOLD_AND_DRAIN : chance(m, 60) ? STOP_HOLD : STOP_NONE;
    if (m->one_cohort) {
        q->cohort = 0;
        q->strict = chance(m, 500);
        if (!m->preempts)
            q->reclaim = chance(m, 200) ? PREEMPT_ANY : PREEMPT_NEVER;
    }
    q->by_consumption &= !q->strict;
    q->backfill = m->backfills ? (enum queue_backfill)pick(m, 3) : BACKFILL_NONE;
    for (int i = 0; i < CHECKS && m->checks; i++)
        q->checks[i] = chance(m, 400);
    q->check_flavors = m->checks ? 1 << pick(m, FLAVORS) | 1 << pick(m, FLAVORS) : 0;
    put_quotas(m, q->quota, layout, false);
    if (slot == VOLCANO_QUEUE) {
        memset(q->checks, 0, sizeof q->checks);
        q->cohort = -1;
        memset(q->quota, 0, sizeof q->quota);
        put_quota(m, &q->quota[0][RES_GPU], RES_GPU, false);
    }
    changed(m, OBJ_QUEUE, slot);
}

void random_put_cohort(struct model *m, int slot)
{
    struct m_cohort *c = &m->api.cohorts[slot];
    *c = (struct m_cohort){.exists = chance(m, 700), .parent = slot && chance(m, 700) ? (int)pick(m, (uint32_t)slot) : -1,
                            .weight_milli = random_weight(m)};
    put_quotas(m, c->quota, 1, true);
    changed(m, OBJ_COHORT, slot);
}

void random_change_queue(struct model *m)
{
    int slot = (int)pick(m, QUEUES), l = (int)pick(m, LOCALS);
    struct m_queue *q = &m->api.queues[slot];
    uint32_t what = pick(m, 20);
    if (what < 12) { /* mostly a stop, and soon a resume */
        q->stop = q->stop != STOP_NONE ? STOP_NONE : chance(m, 500) ? STOP_HOLD : STOP_HOLD_AND_DRAIN;
        changed(m, OBJ_QUEUE, slot);
        note(m, "queue q%d: stop %d", slot, q->stop);
    } else if (what < 15) {
        random_put_queue(m, slot);
        note(m, "queue q%d: stop %d, new quota", slot, q->stop);
    } else if (what < 17) {
        struct m_local *local = &m->api.locals[l];
        local->exists = !local->exists || chance(m, 900);
        local->stop = local->stop != STOP_NONE ? STOP_NONE : (enum stop_policy)pick(m, 3);
        local->weight_milli = random_weight(m);
        local->consumed_ms = local->exists ? local->consumed_ms : 0; /* its status goes with it */
        local->queue = chance(m, 200) ? (int)pick(m, VOLCANO_QUEUE) : local->queue; /* made anew, it may lead to another one */
        changed(m, OBJ_LOCAL, l);
        note(m, "local queue lq%d: of q%d, stop %d", l, local->queue, local->stop);
    } else if (what < 19) {
        random_put_cohort(m, (int)pick(m, COHORTS));
        note(m, "a cohort changed");
    } else if (slot != VOLCANO_QUEUE) {
        q->exists = !q->exists;
        changed(m, OBJ_QUEUE, slot);
        note(m, "queue q%d: %s", slot, q->exists ? "there" : "gone");
    }
    for (int i = 0; i < VOLCANO_QUEUE && chance(m, 500); i++)
        if (i != slot && !m->api.queues[i].exists) { /* nor do queues stay away */
            m->api.queues[i].exists = true;
            changed(m, OBJ_QUEUE, i);
        }
}
