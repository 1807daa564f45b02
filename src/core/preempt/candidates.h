/* candidates.h - who may be preempted for a gang, and in which order
 *
 * SHAPE  own queue: by withinClusterQueue. Other queues of the cohort tree: by reclaimWithinCohort, and only where the queue, and each
 *        cohort between it and the one that both share, uses more than its own quota of something that is short. Those against whom the
 *        gang has the advantage of the hierarchy (it, or a cohort above it that does not hold them, stays within its own quota with it) may
 *        go whatever their priority; of the others those of lower priority (borrowWithinCohort) also for a gang that will borrow itself.
 *        Of queues with shares (quota/deserve.h) pod groups go, whole ones; of other queues than its own nobody whose queue keeps what it
 *        has, or would not have its guarantee any more.
 *        With fair sharing: all queues of the tree that use more than their own of what is short; shares say who goes (fair.h), and each
 *        queue is looked into when its turn comes.
 *        Without a queue (`queue` is state.queues[0]) all of lower priority may go that have none either and hold places: pod groups and
 *        lone pods. No quota is asked for, and nodes alone are short.
 * ORDER  told to leave already; then by class as above, own queue last; lower priority; reserved later (pod groups: made later); uid, key.
 *        Where the preemptor spares equals, what is lost by their end comes before when they were let in (stakes.h).
 *        In a queue that goes by what its LocalQueues have used (queue/consumption.h), first those of whom used more: who goes before
 *        another there does so also among those of other queues.
 * SOURCE Kueue, pkg/scheduler/preemption: candidates of other queues and their order.
 */
#ifndef CORE_CANDIDATES_H
#define CORE_CANDIDATES_H
#include "core/cycle.h"
#include "core/preempt/stakes.h"

/* What a gang needs under one assignment of flavors, and what of that is short. */
struct preemptor {
    struct cycle *c;
    struct gang *gang;
    struct queue *queue;
    const struct charge *needs;
    uint32_t needs_n;
    bool *is_short;            /* by need */
    bool for_nodes;            /* quota is enough: all needs count as short */
    const struct flavor_choice *choices; /* the assignment itself */
    uint32_t choices_n;
    bool alone;                /* one flavor and resource of what it needs, asked for itself (quota/flavor.h) */
    bool spares;               /* of equals go those by whose end less is lost (stakes.h) */
    bool stays;                /* with what it was promised: nobody goes but who does for it already */
    bool members;              /* those go that groups can do without (surplus.h), not whole groups */
    bool by_node;              /* a lone pod, of lone pods: lone.h */
};
enum candidate_class {
    CLASS_HIERARCHY,
    CLASS_PRIORITY,
    CLASS_OWN,
    CLASS_FAIR, /* by shares (fair.h), once it goes */
    CLASS_MOVED, /* begins again elsewhere (moves/carry.h) */
};
/* What else counts in the order where the preemptor spares equals, or a queue goes by what its LocalQueues have used. */
struct candidate_order {
    const struct used *used;   /* by its LocalQueue, where that counts; else NULL */
    const struct gang *behind; /* it comes after this one of its queue, which comes last of itself of all that do; NULL: it is that one */
    const struct stake *stake; /* of that one; NULL: does not count */
    uint32_t rank;             /* among those behind the same one */
};
struct candidate {
    struct gang *gang;
    struct candidate_order *order; /* NULL: nothing of that */
    uint32_t shared;           /* node of the tree below which it is found: the lowest that both share; 0 = own queue */
    enum candidate_class class : 8;
    bool while_borrowing;      /* also when the preemptor ends up borrowing */
};
_Static_assert(sizeof(struct candidate) <= 24, "a full cluster has tens of thousands");
struct candidates {
    struct candidate *all;     /* in the cycle's arena; the first sorted_n in order */
    uint32_t n, sorted_n;
    bool others, hierarchy;    /* some are of other queues; have the hierarchy against them */
};
void candidates_find(const struct preemptor *x, struct candidates *ret_candidates);
const struct candidate *candidates_at(struct candidates *c, uint32_t i); /* the i-th in order. WHY not sorted whole: most often few go */
bool candidate_before(const struct candidate *a, const struct candidate *b);
/* By shares: those of one queue, but for who leaves already for this preemptor; and who does. */
void candidates_of_queue(const struct preemptor *x, uint32_t node, struct candidates *ret_candidates);
void candidates_leaving(const struct preemptor *x, struct candidates *ret_candidates);
bool candidate_is_own(const struct preemptor *x, const struct gang *g); /* of the preemptor's queue, or neither has one */
/* May one of another queue go at all, with others gone by now? */
bool candidate_may_go(const struct preemptor *x, const struct gang *g);
bool candidate_leaves(const struct preemptor *x, const struct candidate *one); /* for this preemptor, whatever else is true of it */
bool candidates_ask_for_more(const struct preemptor *x); /* of something, than others left for */
/* With others gone by now: is there still a reason to take this one? */
bool candidate_is_valid(const struct preemptor *x, const struct candidate *one, bool borrows);
/* Could anybody be preempted for the gang by the policies of its queue, however much were short? */
bool candidates_any(const struct state *s, struct queue *q, const struct gang *g);
/* Does somebody of lower priority run in the queue? */
bool candidates_lower(struct queue *q, const struct gang *g);

#endif
