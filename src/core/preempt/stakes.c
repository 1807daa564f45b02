#include "core/preempt/stakes.h"
#include <stdlib.h>
#include "base/memory.h"
#include "core/preempt/promise.h"
#include "core/state/budget.h"

/* ---- as told ---- */

static uint32_t new_slot(struct state *s)
{
    uint32_t slot = s->stakes_hole;
    if (slot) {
        s->stakes_hole = s->stakes[slot].next_hole;
        return slot;
    }
    s->stakes_n += !s->stakes_n; /* slot 0 = none */
    MEM_RESERVE(s->stakes, s->stakes_cap, s->stakes_n + 1);
    return s->stakes_n++;
}

static void free_slot(struct state *s, uint32_t slot)
{
    s->stakes[slot] = (struct gang_stakes){.next_hole = s->stakes_hole};
    s->stakes_hole = slot;
    s->stakes_live_n--;
}

void stakes_put(struct state *s, uint32_t *slot, const struct gang_record *r)
{
    bool told = stakes_are_told(r);
    if (!told && *slot)
        free_slot(s, *slot);
    s->stakes_live_n += told && !*slot;
    *slot = !told ? 0 : *slot ? *slot : new_slot(s);
    if (told)
        s->stakes[*slot] = (struct gang_stakes){r->checkpoint_ms, r->minimum_run_s, r->grace_s ? r->grace_s : POD_GRACE_S, r->stays, 0};
}

void stakes_drop(struct state *s, const struct gang *g)
{
    if (g->own->stakes)
        free_slot(s, g->own->stakes); /* with the gang, whose object is not looked at again */
}

/* ---- of one ---- */

/* WHY not from its reservation: with admission checks it runs later. Who waits for those has run nothing that it could lose. */
static bool is_early(const struct state *s, const struct gang *g, const struct gang_stakes *told)
{
    int64_t let_in_ms = stakes_let_in_ms(g), began_ms = g->own->admitted_ms > let_in_ms ? g->own->admitted_ms : let_in_ms;
    return told->minimum_run_s && g->phase != GANG_CHECKING && s->now_ms - began_ms < 1000 * (int64_t)told->minimum_run_s;
}

/* WHY  a checkpoint to come is none, and an older one is of a start that is over. */
static struct stake stake_of(const struct state *s, const struct gang *g)
{
    static const struct gang_stakes nothing = {.grace_s = POD_GRACE_S};
    const struct gang_stakes *told = g->own->stakes ? &s->stakes[g->own->stakes] : &nothing;
    struct stake one = {.is_early = is_early(s, g, told), .grace_s = told->grace_s, .since_ms = stakes_let_in_ms(g)};
    if (told->checkpoint_ms > one.since_ms && told->checkpoint_ms <= s->now_ms)
        one.since_ms = told->checkpoint_ms;
    return one;
}

static uint32_t add_pods(const struct state *s, const struct gang *g, uint32_t *to)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->members_n; i++)
        if (gang_gives_place(g, &s->pods[g->members[i]]))
            to[n++] = g->members[i];
    return n;
}

static void weigh_budgets(const struct state *s, struct arena *a, struct gang *const *gangs, uint32_t n, struct stake *stakes)
{
    uint32_t pods_n = 0, at = 0;
    for (uint32_t i = 0; i < n; i++)
        pods_n += gangs[i]->members_n;
    uint32_t *pods = arena_alloc(a, (pods_n + 1) * sizeof *pods), *of = arena_alloc(a, (pods_n + 1) * sizeof *of);
    bool *broken = arena_alloc(a, pods_n + 1);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t more = add_pods(s, gangs[i], &pods[at]); more; more--)
            of[at++] = i;
    budgets_broken(s, pods, at, broken);
    for (uint32_t i = 0; i < at; i++)
        stakes[of[i]].broken_n += broken[i];
}

void stakes_weigh(const struct state *s, struct arena *a, struct gang *const *gangs, uint32_t n, struct stake *ret_stakes)
{
    for (uint32_t i = 0; i < n; i++)
        ret_stakes[i] = stake_of(s, gangs[i]);
    if (s->budgets_n)
        weigh_budgets(s, a, gangs, n, ret_stakes);
}

int stake_compare(const struct stake *a, const struct stake *b)
{
    if (!a->broken_n != !b->broken_n)
        return a->broken_n ? 1 : -1;
    if (a->is_early != b->is_early)
        return a->is_early ? 1 : -1;
    if (a->since_ms != b->since_ms)
        return a->since_ms > b->since_ms ? -1 : 1;
    return a->grace_s < b->grace_s ? -1 : a->grace_s > b->grace_s;
}

/* ---- of all who go ---- */

/* What its pods have done since then, in seconds of each of them. */
static int64_t lost_s(const struct state *s, const struct gang *g, const struct stake *one)
{
    int64_t each_s = s->now_ms > one->since_ms ? (s->now_ms - one->since_ms) / 1000 : 0, members_n = 0, sum_s;
    for (uint32_t i = 0; i < g->sets_n; i++)
        members_n += g->sets[i].count;
    return __builtin_mul_overflow(each_s, members_n, &sum_s) ? INT64_MAX : sum_s;
}

struct harm harm_of(const struct state *s, struct arena *a, struct gang *const *gangs, uint32_t n)
{
    struct harm h = {0};
    struct stake *stakes = arena_alloc(a, (n + 1) * sizeof *stakes);
    stakes_weigh(s, a, gangs, n, stakes);
    for (uint32_t i = 0; i < n; i++) {
        const struct stake *one = &stakes[i];
        if (gangs[i]->phase == GANG_LEAVING || !gang_holds(gangs[i]))
            continue;
        h.broken_n += one->broken_n;
        h.early_n += one->is_early;
        if (__builtin_add_overflow(h.lost_s, lost_s(s, gangs[i], one), &h.lost_s))
            h.lost_s = INT64_MAX;
        h.grace_s = one->grace_s > h.grace_s ? one->grace_s : h.grace_s;
    }
    return h;
}

bool harm_may_be_less(const struct state *s, const struct harm *h)
{
    return h->broken_n || s->stakes_live_n;
}

enum sparing harm_spares(const struct harm *less, const struct harm *more)
{
    if (less->broken_n != more->broken_n)
        return less->broken_n < more->broken_n ? SPARES_BUDGET : SPARES_NOBODY;
    if (less->early_n != more->early_n)
        return less->early_n < more->early_n ? SPARES_MINIMUM_RUN : SPARES_NOBODY;
    if (less->lost_s != more->lost_s)
        return less->lost_s < more->lost_s ? SPARES_RUN_TIME : SPARES_NOBODY;
    return less->grace_s < more->grace_s ? SPARES_GRACE : SPARES_NOBODY;
}
