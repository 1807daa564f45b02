#include "core/time/backfill.h"
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"

void backfill_init(struct backfill *b, struct profile *p, const struct backfill_policy *policy)
{
    *b = (struct backfill){.profile = p, .policy = *policy};
}

void backfill_fini(struct backfill *b)
{
    for (uint32_t i = 0; i < b->shapes_n; i++)
        free((void *)b->shapes[i].pods);
    for (uint32_t i = 0; i < b->promised_n; i++)
        free(b->promises[i].nodes);
    free(b->shapes);
    free(b->promises);
    free(b->line);
    free(b->nodes);
    *b = (struct backfill){0};
}

uint32_t backfill_shape(struct backfill *b, const int64_t *pods, uint32_t pods_n)
{
    struct backfill_shape s = {.pods_n = pods_n};
    int64_t *copy = mem_alloc((pods_n + 1) * sizeof *copy);
    memcpy(copy, pods, pods_n * sizeof *copy);
    for (uint32_t i = 0; i < pods_n; i++)
        s.sum += pods[i];
    s.pods = copy;
    MEM_RESERVE(b->shapes, b->shapes_cap, b->shapes_n + 1);
    MEM_RESERVE(b->nodes, b->nodes_cap, pods_n + 1);
    b->shapes[b->shapes_n] = s;
    return b->shapes_n++;
}

/* ---- the line ---- */

/* The first place whose gang stands behind (key, owner), or is it. */
static uint32_t place_of(const struct backfill *b, uint64_t key, uint32_t owner)
{
    uint32_t first = 0, end = b->line_n;
    while (first < end) {
        uint32_t mid = first + (end - first) / 2;
        const struct backfill_gang *g = &b->line[mid];
        if (g->key < key || (g->key == key && g->owner < owner))
            first = mid + 1;
        else
            end = mid;
    }
    return first;
}

void backfill_add(struct backfill *b, const struct backfill_gang *g)
{
    uint32_t at = place_of(b, g->key, g->owner);
    MEM_RESERVE(b->line, b->line_cap, b->line_n + 1);
    memmove(&b->line[at + 1], &b->line[at], (b->line_n - at) * sizeof *b->line);
    b->line[at] = *g;
    b->line_n++;
}

void backfill_take_out(struct backfill *b, uint64_t key, uint32_t owner)
{
    uint32_t at = place_of(b, key, owner);
    if (at == b->line_n || b->line[at].owner != owner)
        return;
    b->line_n--;
    memmove(&b->line[at], &b->line[at + 1], (b->line_n - at) * sizeof *b->line);
}

/* ---- a turn ---- */

static struct reserve_ask ask_of(const struct backfill *b, const struct backfill_gang *g)
{
    const struct backfill_shape *s = &b->shapes[g->shape];
    return (struct reserve_ask){.pods = s->pods, .pods_n = s->pods_n, .quota = g->quota, .lasts_ms = g->lasts_ms, .anywhere = g->anywhere};
}

static void take_promises_back(struct backfill *b)
{
    for (uint32_t i = 0; i < b->promised_n; i++) {
        struct reserve_ask ask = ask_of(b, &b->promises[i].gang);
        reserve_drop(b->profile, &ask, b->promises[i].gang.owner, b->promises[i].nodes);
        free(b->promises[i].nodes);
    }
    b->promised_n = 0;
}

static void promise(struct backfill *b, const struct backfill_gang *g, int64_t now_ms)
{
    struct reserve_ask ask = ask_of(b, g);
    struct backfill_promise p = {.gang = *g, .nodes = mem_alloc((ask.pods_n + 1) * sizeof *p.nodes)};
    p.start_ms = reserve_when(b->profile, &ask, now_ms, p.nodes);
    if (p.start_ms == RESERVE_NEVER) { /* nothing can be kept for it: the line goes on without it */
        free(p.nodes);
        return;
    }
    reserve_hold(b->profile, &ask, g->owner, p.nodes, p.start_ms);
    MEM_RESERVE(b->promises, b->promised_cap, b->promised_n + 1);
    b->promises[b->promised_n++] = p;
}

static int64_t free_now(const struct profile *p, int64_t now_ms)
{
    int64_t sum = 0;
    for (uint32_t k = 0; k < p->n; k++) {
        int64_t left = p->rows[k].is_node ? profile_least(p, k, now_ms, now_ms) : 0;
        sum += left > 0 ? left : 0;
    }
    return sum;
}

/* WHY failed_ms: within a turn less and less is free, and who lasts longer meets every promise that others meet. Of those with a quota, or
 * who may stand anywhere, it says nothing to the others of their shape that they do not fit. */
static bool fits(struct backfill *b, const struct backfill_gang *g, int64_t now_ms, int64_t left)
{
    struct backfill_shape *s = &b->shapes[g->shape];
    if (s->sum > left || (g->lasts_ms >= s->failed_ms && !g->anywhere))
        return false;
    struct reserve_ask ask = ask_of(b, g);
    if (reserve_now(b->profile, &ask, now_ms, b->policy.choice, b->nodes)) {
        reserve_hold(b->profile, &ask, g->owner, b->nodes, now_ms);
        return true;
    }
    if (g->quota == RESERVE_NO_QUOTA && !g->anywhere)
        s->failed_ms = g->lasts_ms;
    return false;
}

void backfill_turn(struct backfill *b, int64_t now_ms, backfill_started_fn *started, void *arg)
{
    take_promises_back(b);
    if (!b->line_n)
        return;
    int64_t left = free_now(b->profile, now_ms);
    for (uint32_t i = 0; i < b->shapes_n; i++)
        b->shapes[i].failed_ms = INT64_MAX;
    uint32_t kept_n = 0, i = 0;
    bool goes_on = true;
    for (; i < b->line_n && goes_on; i++) {
        struct backfill_gang g = b->line[i];
        if (fits(b, &g, now_ms, left)) {
            left -= b->shapes[g.shape].sum;
            started(arg, &g, b->nodes);
            continue;
        }
        b->line[kept_n++] = g;
        if (b->promised_n < b->policy.promises_n)
            promise(b, &g, now_ms);
        goes_on = !b->policy.is_strict && (left > 0 || b->promised_n < b->policy.promises_n);
    }
    if (kept_n < i) {
        memmove(&b->line[kept_n], &b->line[i], (b->line_n - i) * sizeof *b->line);
        b->line_n -= i - kept_n;
    }
}

void backfill_ended(struct backfill *b, const struct backfill_gang *g, const uint32_t *nodes)
{
    struct reserve_ask ask = ask_of(b, g);
    reserve_drop(b->profile, &ask, g->owner, nodes);
}
