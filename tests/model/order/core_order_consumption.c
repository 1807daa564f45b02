/* core_order_consumption.c - what LocalQueues have used of late, as KEP-4136 has it: nothing is kept in order, all is asked anew. What
 * halves of amounts are is core/quota/decay.h's, which has a test of its own. */
#include "core_order.h"
#include "core/quota/decay.h"

static const int64_t NANO[RES_N] = {1000000, 1000000000, 1000000000}; /* of milli-cores, of GPUs, of bytes */

static struct plain_local *local_of(struct model *m, const struct plain_gang *g)
{
    return &m->locals[g->queue][g->local];
}

/* ---- who has used less ---- */

static __int128 used(const struct model *m, const struct plain_local *l)
{
    __int128 sum = 0;
    for (int r = 0; r < RES_N; r++)
        sum += m->resource_weights[r] * (l->consumed[r] + l->entry[r]);
    return sum;
}

/* -1: a's LocalQueue has used less, 1: more. */
int compare_used(const struct model *m, const struct plain_gang *a, const struct plain_gang *b)
{
    const struct plain_local *x = &m->locals[a->queue][a->local], *y = &m->locals[b->queue][b->local];
    if (!m->consumption.on || a->queue != b->queue || a->local == b->local || !m->nodes[COHORTS + a->queue].by_consumption)
        return 0;
    if (!x->weight_milli || !y->weight_milli)
        return (x->weight_milli == 0) - (y->weight_milli == 0);
    __int128 left = used(m, x) * y->weight_milli, right = used(m, y) * x->weight_milli;
    return left < right ? -1 : left > right;
}

/* ---- what happens to it ---- */

static int64_t given_of(const struct plain_gang *g, int r)
{
    struct amounts a = charged_now(g);
    int64_t sum = 0;
    for (int f = 0; f < FLAVORS; f++)
        sum += a.of[f][r];
    return sum;
}

static void sample(struct model *m, struct plain_local *l)
{
    int64_t half_ms = m->consumption.half_life_ms, elapsed_ms = m->cycle_ms - l->at_ms;
    uint64_t left = half_ms ? decay_left(elapsed_ms < 0 ? 0 : elapsed_ms, half_ms) : 0;
    for (int r = 0; r < RES_N && l->at_ms && elapsed_ms > 0; r++) {
        l->consumed[r] = (__int128)decay_part((u128)l->consumed[r], left);
        if (half_ms)
            l->consumed[r] += (__int128)decay_part((u128)(l->held[r] * (__int128)NANO[r]), ~left);
    }
    l->at_ms = m->cycle_ms;
}

void consumption_cycle(struct model *m)
{
    m->cycle_ms = m->w.now_ms;
    if (!m->consumption.on || m->cycle_ms < m->due_ms)
        return;
    m->due_ms = m->cycle_ms + m->consumption.sampling_ms;
    for (int q = 0; q < QUEUES; q++)
        for (int l = 0; l < LOCALS; l++)
            sample(m, &m->locals[q][l]);
}

void consumption_forgets(struct model *m, struct plain_gang *g)
{
    for (int r = 0; r < RES_N; r++) {
        local_of(m, g)->entry[r] -= g->entry[r];
        g->entry[r] = 0;
    }
}

void consumption_enters(struct model *m, struct plain_gang *g)
{
    int64_t half_ms = m->consumption.half_life_ms;
    if (!m->consumption.on || !m->nodes[COHORTS + g->queue].by_consumption)
        return;
    consumption_forgets(m, g); /* what it left earlier without having been admitted */
    for (int r = 0; r < RES_N && half_ms; r++) {
        u128 whole = (u128)(given_of(g, r) * (__int128)NANO[r]);
        g->entry[r] = (__int128)decay_part(whole, ~decay_left(m->consumption.sampling_ms, half_ms));
        local_of(m, g)->entry[r] += g->entry[r];
    }
}

void consumption_lands(struct model *m, struct plain_gang *g)
{
    struct plain_local *l = local_of(m, g);
    g->counts = true;
    for (int r = 0; r < RES_N; r++)
        l->held[r] += given_of(g, r);
    if (!m->consumption.on || !m->nodes[COHORTS + g->queue].by_consumption)
        return;
    sample(m, l);
    for (int r = 0; r < RES_N; r++)
        l->consumed[r] += g->entry[r];
    consumption_forgets(m, g);
}

void consumption_leaves(struct model *m, struct plain_gang *g)
{
    for (int r = 0; r < RES_N && g->counts; r++)
        local_of(m, g)->held[r] -= given_of(g, r);
    g->counts = false;
}

/* ---- what is told ---- */

const char *local_key(struct model *m, int queue, int local)
{
    return local ? arena_printf(m->w.records, "ns/lq%d-%d", queue, local) : arena_printf(m->w.records, "ns/lq%d", queue);
}

/* told_gpus: its status says so much, written so long ago; -1: it says nothing. */
void tell_local(struct model *m, int queue, int local, int told_gpus, int64_t ago_ms)
{
    struct plain_local *l = &m->locals[queue][local];
    const char *key = local_key(m, queue, local);
    struct fine_amount consumed = {id(&m->w, "nvidia.com/gpu"), told_gpus, 500000000};
    struct local_queue_record r = {.key = id(&m->w, key), .title = id(&m->w, key + 3), .ns = id(&m->w, "ns"), .consumed = &consumed,
                                   .has_weight = l->weight_milli != 1000, .weight_nano = 1000000 * (int64_t)l->weight_milli};
    r.queue = id(&m->w, arena_printf(m->w.records, "q%d", queue));
    r.consumed_n = told_gpus >= 0;
    r.consumed_ms = told_gpus >= 0 ? m->w.now_ms - ago_ms : 0;
    if (m->consumption.on && r.consumed_ms > l->at_ms) {
        memset(l->consumed, 0, sizeof l->consumed);
        l->consumed[1] = told_gpus * (__int128)1000000000 + 500000000;
        l->at_ms = r.consumed_ms;
    }
    if (!l->at_ms)
        l->at_ms = m->cycle_ms;
    state_apply(m->w.s, &(struct change){.type = CHANGE_LOCAL_QUEUE, .local_queue = r});
}
