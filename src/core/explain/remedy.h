/* remedy.h - what would let a waiting gang start, each answer tried out on the undo log
 *
 * SHAPE  a remedy is a set of measures: with all of it the gang starts in the next cycle, or others are told to go for it and it starts
 *        once they have left; with less of it neither. It is found as a guess that is enough, and then made smaller, measure by measure,
 *        each step by repeating the decision with the measures applied. The state is as it was afterwards.
 * LIMIT  a bounded number of trials a gang and a cycle, few measures a remedy, few others that would be tried, too. Where a bound is hit,
 *        or where it depends on who is tried first, nothing is said rather than something that may be wrong.
 */
#ifndef CORE_REMEDY_H
#define CORE_REMEDY_H
#include "core/moves/moves.h"

#define REMEDY_MEASURES 8   /* in one remedy */
#define REMEDIES_MAX 5
#define REMEDY_TRIALS 200u  /* for one gang; one that places many pods counts as several */
#define CYCLE_TRIALS 400u

#define REMEDY_LOOK_AGAIN_MS 10000 /* who stands in no line: others start and end meanwhile, and nothing of that wakes him */
#define REMEDY_MEMBERS 10000 /* so many more of one kind are tried out */

enum measure_kind { MEASURE_QUOTA, MEASURE_FREE, MEASURE_END, MEASURE_UNCORDON, MEASURE_MEMBERS, MEASURE_MINIMUM, MEASURE_MOVE };
struct measure {
    enum measure_kind kind;
    uint32_t node, rank;       /* slot, and where its name stands among the others */
    uint32_t set;              /* MEMBERS, MINIMUM: of a planned gang its set; of a group its task + 1, or 0: of any */
    uint32_t pod;              /* MEMBERS: a member like whom there are to be more */
    name_id flavor, resource;
    int64_t amount;            /* but for END, UNCORDON and MOVE; MINIMUM: by so much less */
    struct gang *gang;         /* END, MOVE */
    const struct move *move;   /* MOVE */
};
bool measure_has_amount(const struct measure *m);
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
    uint32_t trials_left, unspent; /* unspent: given up, as one more would have cost too much */
    bool others_may_go;        /* for the gang, or are going for others */
    bool room_of_victims, room_of_some; /* FREE on nodes of those who may have to go for it, or for somebody */
    bool is_held;              /* in no line: it has too few members */
    uint32_t *members, members_n; /* of the gang, as they are */
    uint32_t tasks_n;          /* so many of its tasks have minima of their own */
    bool unsure;               /* something was left out: nothing is impossible */
    bool others_matter;        /* the same: it depends on who else is tried */
    struct measures found[REMEDIES_MAX];
    uint32_t found_n;
};

/* remedy.c: the trial. MAYBE: it depends on who else is tried, or a bound was hit. */
enum verdict { VERDICT_NO, VERDICT_YES, VERDICT_MAYBE };
enum verdict remedy_try(struct remedy_search *x, const struct measures *m);
bool remedy_apply(struct remedy_search *x, const struct measures *m); /* on the undo log; false: it cannot be. Take it back either way */
void remedy_take_back(struct remedy_search *x, const struct measures *m, uint32_t mark);
/* Enough -> just enough. False: that could not be shown. */
bool remedy_reduce(struct remedy_search *x, struct measures *m);

/* remedy_members.c: gangs with too few members. Noted as they are held; told when the cycle has nothing left to try. */
void remedy_note_missing(struct cycle *c, struct gang *g, struct reason *why);
void remedy_tell_missing(struct cycle *c);

/* remedy_rivals.c: with the measures applied. */
enum verdict remedy_verdict(struct remedy_search *x, const struct measures *m);
/* The gang alone, beside what is promised to others: does it start, or would others go for it? MAYBE: they would, and it is not known
 * whether it starts once they have left; or no trials are left. */
enum verdict remedy_acts(struct remedy_search *x, const struct measures *m, struct gang *g);

/* remedy_find.c: the REMEDIES of a gang that was refused, in the cycle's arena; NULL: not known. Call it when the cycle has nothing left to
 * try. */
struct reason *remedy_find(struct cycle *c, struct gang *g);
void remedy_search_begin(struct remedy_search *x);
bool remedy_keep_if_proven(struct remedy_search *x, struct measures *m); /* a guess: made smaller, and kept when it is a new one */
void remedy_guess_minimum(struct remedy_search *x); /* those of its kinds, that of the whole: each made smaller, as above */
struct reason *remedy_as_reason(struct remedy_search *x);
/* Held back before any try, by what none of the measures changes: an empty list that says so. NULL: time or somebody may change it. */
struct reason *remedy_of_held(struct cycle *c, const struct gang *g, const struct reason *why);

/* remedy_resume.c: gangs that a stopped queue holds back. Noted as they are held; told when the cycle has nothing left to try. */
void remedy_note_stopped(struct cycle *c, struct gang *g, struct reason *why);
void remedy_tell_stopped(struct cycle *c);
/* A blocked head of the queue comes first, or heads of others keep quota for themselves: who is tried when depends on them. */
bool remedy_somebody_blocks(const struct state *s, const struct queue *q);
bool remedy_looks_at_others(const struct state *s,
                            const struct gang *g); /* where it may stand depends on who stands there: nothing is said */

#endif
