/* cycle.h - one call of decide: what it works on, and the plan that it writes */
#ifndef CORE_CYCLE_H
#define CORE_CYCLE_H
#include "base/arena.h"
#include "core/state/model.h"

struct cycle {
    struct state *s;
    struct arena *a;
    struct plan *plan;
    int64_t now_ms;
    uint32_t entries_cap;
    uint32_t gangs_left, pods_left;
    uint32_t trials_left;             /* of remedies */
    bool no_counts, no_remedies;      /* as in decide_config */
    bool acts;                        /* the plan says more than reasons */
    bool explains_later;              /* as cycle_explains_later has said */
    struct reason *(*find_remedies)(struct cycle *c, struct gang *g); /* explain/remedy.h */
    uint32_t preempt_trials_left;     /* of sets of victims on nodes (preempt/victims.h) */
    uint32_t spare_trials_left;       /* the same of second searches among equals: nobody's first search is short of them */
    struct stopped *stopped, *stopped_last; /* gangs held back by a stopped queue in this cycle; they are told at its end */
    struct missing *missing, *missing_last; /* the same, of gangs with too few members */
    struct movers *movers;            /* who could be moved, once nothing is decided any more (moves/mover.h); NULL: not listed */
    int64_t stays_until_ms;           /* who could go for the gang that is tried, had he run for longer, may from then on; 0: nobody */
    bool trial;                       /* nothing is committed, nothing explained: what is taken stays on the undo log */
    bool trial_preempts;              /* on trial it is also asked whether others may be preempted */
    const struct gang *no_floor;      /* on trial this one starts whatever all nodes together have free (group/floor.h); NULL: nobody */
    const struct reason *line_reason; /* copy of the reason of a line, for all of its gangs that are told */
    uint64_t line_reason_hash;
};
void cycle_admit(struct cycle *c, struct gang *g);                      /* plan entry; g is reserved already */
void cycle_moved(struct cycle *c, struct gang *g);                      /* plan entry, where it was told other domains before */
void cycle_lost(struct cycle *c, const struct gang *g);                 /* the same, of the node that it lost */
void cycle_bind(struct cycle *c, struct gang *g, uint32_t pod, uint32_t seat);
void cycle_evict(struct cycle *c, struct gang *g, const struct reason *why); /* -> LEAVING */
void cycle_evict_member(struct cycle *c, const struct gang *g, uint32_t pod, const struct reason *why); /* its gang stays */

/* ---- why a gang waits. The tree stays with the gang, or with the line for all in it; a plan entry comes only when there is news:
 *      another cause for all in the line, other amounts of the same causes for the first of it ---- */
void cycle_explain(struct cycle *c, struct gang *g, const struct reason *why);
void cycle_explain_line(const struct cycle *c, struct line *l, const struct reason *why);
void cycle_tell_lines(struct cycle *c);
/* The plan says who starts or goes, and reasons are to be looked for: in a later cycle, for at most EXPLAIN_WITHIN_MS.
 * WHY  what would help them costs more than all the rest, and the plan is waited for. */
bool cycle_explains_later(struct cycle *c);
#define EXPLAIN_WITHIN_MS 500
void cycle_tell_joined(struct cycle *c, struct gang *g); /* it got in line behind others that have been refused already */
void cycle_explained_away(struct gang *g); /* it does not wait any more */

#endif
