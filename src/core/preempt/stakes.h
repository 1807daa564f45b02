/* stakes.h - what is lost by the end of a gang: who goes of those whom Kueue's rules order by nothing but when they were let in
 *
 * ORDER  of equals: whose end breaks no PodDisruptionBudget; who has run as long as its object asks for; who has lost the least, counted
 *        from its last checkpoint, or from when it was let in; whose pods end sooner.
 * SHAPE  a gang's object says three things, most say none: those of a gang stand in state.stakes. Budgets say the fourth.
 * SOURCE docs/design/0018-equals.md
 */
#ifndef CORE_STAKES_H
#define CORE_STAKES_H
#include "base/arena.h"
#include "core/state/model.h"

struct stake {                 /* of one who may have to go */
    uint32_t broken_n;         /* pods whose end breaks a budget, after those who would go before it */
    bool is_early;             /* it has not run yet as long as it should */
    int32_t grace_s;
    int64_t since_ms;          /* what it has done since then is lost */
};
struct harm {                  /* of all who go */
    uint32_t broken_n, early_n;
    int64_t lost_s;            /* by each pod, together */
    int32_t grace_s;           /* the longest */
};

/* ---- as told ---- */
static inline bool stakes_are_told(const struct gang_record *r)
{
    return r->checkpoint_ms || r->minimum_run_s || r->stays || (r->grace_s && r->grace_s != POD_GRACE_S);
}
/* Of the object whose slot this is; 0: it says nothing. */
void stakes_put(struct state *s, uint32_t *slot, const struct gang_record *r);
void stakes_drop(struct state *s, const struct gang *g);

/* ---- weighed ---- */
/* WHY  a pod group's object does not say when it was let in, and a scheduler that begins anew must decide the same. */
static inline int64_t stakes_let_in_ms(const struct gang *g)
{
    return g->planned ? g->reserved_ms : g->created_ms;
}
/* In the order in which they would go: each budget counts off those before. */
void stakes_weigh(const struct state *s, struct arena *a, struct gang *const *gangs, uint32_t n, struct stake *ret_stakes);
int stake_compare(const struct stake *a, const struct stake *b); /* < 0: a goes first */
/* But for those who leave already. */
struct harm harm_of(const struct state *s, struct arena *a, struct gang *const *gangs, uint32_t n);
bool harm_may_be_less(const struct state *s, const struct harm *h); /* had others gone */
enum sparing harm_spares(const struct harm *less, const struct harm *more); /* by what it is less; SPARES_NOBODY: by nothing */

#endif
