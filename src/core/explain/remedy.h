/* remedy.h - what would let a waiting gang start, each answer tried out on the undo log
 *
 * SHAPE  a remedy is a set of measures: all of it lets the gang start in the next cycle, less of it does not. It is found as a guess that
 *        is enough, and then made smaller, measure by measure, each step by repeating the decision with the measures applied. The state is
 *        as it was afterwards.
 * LIMIT  a bounded number of trials a gang and a cycle, few measures a remedy, few others that would be tried, too. Where a bound is hit,
 *        or where it depends on who is tried first, nothing is said rather than something that may be wrong.
 */
#ifndef CORE_REMEDY_H
#define CORE_REMEDY_H
#include "core/cycle.h"

#define REMEDY_MEASURES 8   /* in one remedy */
#define REMEDIES_MAX 4
#define REMEDY_TRIALS 200u  /* for one gang; one that places many pods counts as several */
#define CYCLE_TRIALS 400u

enum measure_kind { MEASURE_QUOTA, MEASURE_FREE, MEASURE_END, MEASURE_UNCORDON };
struct measure {
    enum measure_kind kind;
    uint32_t node, rank;       /* slot, and where its name stands among the others */
    name_id flavor, resource;
    int64_t amount;            /* QUOTA, FREE */
    struct gang *gang;         /* END */
};
struct measures {
    struct measure all[REMEDY_MEASURES];
    uint32_t n;
    bool overflow;
};
void measures_add(struct measures *m, struct measure one);

/* One gang's search. */
struct remedy_search {
    struct cycle *c;
    struct gang *gang;
    struct queue *queue;       /* NULL: needs no quota */
    uint32_t shape, least_n;   /* pods that are all alike: so many of the shape must find room; else 0 */
    uint32_t trials_left;
    bool unsure;               /* something was left out: nothing is impossible */
    struct measures found[REMEDIES_MAX];
    uint32_t found_n;
};

/* remedy.c: the trial. MAYBE: it depends on who else is tried, or a bound was hit. */
enum verdict { VERDICT_NO, VERDICT_YES, VERDICT_MAYBE };
enum verdict remedy_try(struct remedy_search *x, const struct measures *m);
bool remedy_apply(struct remedy_search *x, const struct measures *m); /* on the undo log; false: it cannot be */
/* Enough -> just enough. False: that could not be shown. */
bool remedy_reduce(struct remedy_search *x, struct measures *m);

/* remedy_find.c: the REMEDIES of a gang that was refused, in the cycle's arena; NULL: not known. Call it when the cycle has nothing left to
 * try. */
struct reason *remedy_find(struct cycle *c, struct gang *g);
/* Held back before any try, by what none of the measures changes: an empty list that says so. NULL: time or somebody may change it. */
struct reason *remedy_of_held(struct cycle *c, const struct gang *g, const struct reason *why);

/* remedy_resume.c: gangs that a stopped queue holds back. Noted as they are held; told when the cycle has nothing left to try. */
void remedy_note_stopped(struct cycle *c, struct gang *g, struct reason *why);
void remedy_tell_stopped(struct cycle *c);
bool remedy_looks_at_others(const struct state *s,
                            const struct gang *g); /* where it may stand depends on who stands there: nothing is said */

#endif
