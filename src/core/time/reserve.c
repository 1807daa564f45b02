#include "core/time/reserve.h"
#include <stdlib.h>
#include "base/memory.h"

#define NEVER_USED (-RESERVE_NEVER)

static int64_t end_of(const struct reserve_ask *ask, int64_t from_ms)
{
    return from_ms + (ask->lasts_ms > 0 ? ask->lasts_ms : 1);
}

static int64_t amount_of(const struct reserve_ask *ask)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < ask->pods_n; i++)
        sum += ask->pods[i];
    return sum;
}

static bool quota_holds(const struct profile *p, const struct reserve_ask *ask, int64_t from_ms)
{
    return ask->quota == RESERVE_NO_QUOTA || profile_least(p, ask->quota, from_ms, end_of(ask, from_ms)) >= amount_of(ask);
}

/* ---- one node after the other ---- */

static bool is_open(const struct profile_row *r, const struct reserve_ask *ask)
{
    return r->is_node && (ask->anywhere || ask->lasts_ms <= r->longest_ms);
}

/* Fills in what choices look at. Returns for how many pods of the largest size there is room. */
static uint64_t look(struct profile *p, const struct reserve_ask *ask, int64_t from_ms)
{
    uint64_t room_n = 0;
    for (uint32_t k = 0; k < p->n; k++) {
        struct profile_row *r = &p->rows[k];
        if (!r->is_node)
            continue;
        r->free_now = r->capacity;
        r->last_end_ms = NEVER_USED;
        for (uint32_t i = 0; i < r->n; i++) {
            const struct hold *h = &r->holds[i];
            bool is_there = h->from_ms <= from_ms && (h->until_ms > from_ms || h->from_ms == from_ms);
            r->free_now -= is_there ? h->amount : 0;
            if (h->from_ms <= from_ms && h->until_ms > r->last_end_ms)
                r->last_end_ms = h->until_ms;
        }
        bool may_fit = is_open(r, ask) && r->free_now >= ask->pods[ask->pods_n - 1];
        r->left = may_fit ? profile_least(p, k, from_ms, end_of(ask, from_ms)) : 0;
        room_n += r->left > 0 ? (uint64_t)(r->left / ask->pods[0]) : 0;
    }
    return room_n;
}

struct rank {
    int64_t first, second, third; /* the least is the best */
};

static bool is_before(const struct rank *a, const struct rank *b)
{
    if (a->first != b->first)
        return a->first < b->first;
    return a->second != b->second ? a->second < b->second : a->third < b->third;
}

static int64_t power_of_two(int64_t n)
{
    return n > 0 ? 63 - __builtin_clzll((unsigned long long)n) : 0;
}

#define EXTENDS 128 /* above all classes of nodes where something runs for longer */
#define IDLE 512
static int64_t class_by_end(const struct profile_row *r, int64_t now_ms, int64_t until_ms)
{
    if (r->last_end_ms <= now_ms)
        return IDLE;
    int64_t length = until_ms - now_ms, runs = r->last_end_ms - now_ms;
    if (runs >= length)
        return power_of_two(runs / length);
    return EXTENDS + 64 + power_of_two(length - runs) - power_of_two(runs);
}

static struct rank rank_now(const struct profile_row *r, enum reserve_choice choice, int64_t now_ms, int64_t until_ms)
{
    if (choice == RESERVE_FULLEST)
        return (struct rank){.second = r->free_now};
    return (struct rank){class_by_end(r, now_ms, until_ms), r->free_now, -r->last_end_ms};
}

static struct rank rank_later(const struct profile_row *r)
{
    return (struct rank){.first = -r->last_end_ms};
}

/* After look(). later: nodes of a promise, whatever the choice. */
static bool choose(struct profile *p, const struct reserve_ask *ask, int64_t from_ms, bool later, enum reserve_choice choice,
                   uint32_t *ret_nodes)
{
    for (uint32_t i = 0; i < ask->pods_n; i++) {
        uint32_t best = UINT32_MAX;
        struct rank best_rank = {0};
        for (uint32_t k = 0; k < p->n; k++) {
            const struct profile_row *r = &p->rows[k];
            if (!r->is_node || r->left < ask->pods[i])
                continue;
            struct rank rank = later ? rank_later(r) : rank_now(r, choice, from_ms, end_of(ask, from_ms));
            if (best != UINT32_MAX && !is_before(&rank, &best_rank))
                continue;
            best = k;
            best_rank = rank;
        }
        if (best == UINT32_MAX)
            return false;
        p->rows[best].left -= ask->pods[i];
        p->rows[best].free_now -= ask->pods[i];
        ret_nodes[i] = best;
    }
    return true;
}

static uint64_t largest_n(const struct reserve_ask *ask)
{
    uint64_t n = 0;
    while (n < ask->pods_n && ask->pods[n] == ask->pods[0])
        n++;
    return n;
}

bool reserve_now(struct profile *p, const struct reserve_ask *ask, int64_t now_ms, enum reserve_choice choice, uint32_t *ret_nodes)
{
    return quota_holds(p, ask, now_ms) && look(p, ask, now_ms) >= largest_n(ask) && choose(p, ask, now_ms, false, choice, ret_nodes);
}

/* ---- the earliest time ---- */

static int by_time(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* When a node has room for one of the largest pods, as far as those go who hold something there now: never before that. */
static int64_t node_ready_ms(const struct profile_row *r, int64_t amount, int64_t now_ms, int64_t *ends)
{
    uint32_t n = 0;
    int64_t left = r->capacity;
    for (uint32_t i = 0; i < r->n; i++) {
        const struct hold *h = &r->holds[i];
        if (h->from_ms > now_ms || h->until_ms <= now_ms)
            continue;
        left -= h->amount;
        ends[n++] = h->until_ms;
    }
    if (left >= amount)
        return now_ms;
    qsort(ends, n, sizeof *ends, by_time);
    for (uint32_t e = 0; e < n; e++) {
        left = r->capacity;
        for (uint32_t i = 0; i < r->n; i++)
            left -= r->holds[i].from_ms <= now_ms && r->holds[i].until_ms > ends[e] ? r->holds[i].amount : 0;
        if (left >= amount)
            return ends[e];
    }
    return RESERVE_NEVER;
}

/* Not before so many nodes are ready as the largest pods need at least. WHY  else every end before it would be looked at in vain. */
static int64_t not_before(const struct profile *p, const struct reserve_ask *ask, int64_t now_ms, int64_t *scratch)
{
    int64_t *ready = mem_alloc((p->n + 1) * sizeof *ready);
    uint64_t n = 0, each = 1;
    for (uint32_t k = 0; k < p->n; k++) {
        const struct profile_row *r = &p->rows[k];
        uint64_t fits = is_open(r, ask) ? (uint64_t)(r->capacity / ask->pods[0]) : 0;
        each = fits > each ? fits : each;
        if (fits)
            ready[n++] = node_ready_ms(r, ask->pods[0], now_ms, scratch);
    }
    uint64_t wanted = (largest_n(ask) + each - 1) / each;
    qsort(ready, n, sizeof *ready, by_time);
    int64_t first = wanted <= n ? ready[wanted - 1] : RESERVE_NEVER;
    free(ready);
    return first;
}

int64_t reserve_when(struct profile *p, const struct reserve_ask *ask, int64_t now_ms, uint32_t *ret_nodes)
{
    size_t holds_n = 0, n = 0;
    for (uint32_t k = 0; k < p->n; k++)
        holds_n += p->rows[k].n;
    int64_t *times = mem_alloc((holds_n + 1) * sizeof *times), found = RESERVE_NEVER;
    int64_t first = not_before(p, ask, now_ms, times);
    if (first == RESERVE_NEVER) {
        free(times);
        return RESERVE_NEVER;
    }
    times[n++] = first;
    for (uint32_t k = 0; k < p->n; k++)
        for (uint32_t i = 0; i < p->rows[k].n; i++)
            if (p->rows[k].holds[i].until_ms > first)
                times[n++] = p->rows[k].holds[i].until_ms;
    qsort(times, n, sizeof *times, by_time);
    for (size_t i = 0; i < n && found == RESERVE_NEVER; i++) {
        if (i && times[i] == times[i - 1])
            continue;
        if (quota_holds(p, ask, times[i]) && look(p, ask, times[i]) >= largest_n(ask) &&
            choose(p, ask, times[i], true, RESERVE_FULLEST, ret_nodes))
            found = times[i];
    }
    free(times);
    return found;
}

/* ---- holds ---- */

void reserve_hold(struct profile *p, const struct reserve_ask *ask, uint32_t owner, const uint32_t *nodes, int64_t from_ms)
{
    struct hold h = {.owner = owner, .from_ms = from_ms, .until_ms = end_of(ask, from_ms)};
    for (uint32_t i = 0; i < ask->pods_n; i++) {
        h.amount = ask->pods[i];
        profile_hold(p, nodes[i], &h);
    }
    h.amount = amount_of(ask);
    if (ask->quota != RESERVE_NO_QUOTA)
        profile_hold(p, ask->quota, &h);
}

void reserve_drop(struct profile *p, const struct reserve_ask *ask, uint32_t owner, const uint32_t *nodes)
{
    for (uint32_t i = 0; i < ask->pods_n; i++)
        profile_drop(p, nodes[i], owner);
    if (ask->quota != RESERVE_NO_QUOTA)
        profile_drop(p, ask->quota, owner);
}
