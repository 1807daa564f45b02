/* try.h - may this gang start now? Quota, flavors, nodes and devices in one try, taken back whole when anything fails */
#ifndef CORE_TRY_H
#define CORE_TRY_H
#include "core/cycle.h"
#include "core/place/place.h"
#include "core/quota/flavor.h"

/* What a refusal leaves behind: why, and what would have to change. */
struct refusal {
    struct reason *why;
    struct parking park;
    bool preempts; /* others must end for it: it has a promise (preempt/promise.h) */
    bool floor;    /* all nodes together have too little free for it (group/floor.h): nobody goes for that */
    bool others;   /* another pod keeps it away by its own rules: gangs that look alike may fit */
};
/* True: it has left WAITING, and the plan says so. False: nothing has changed, and ret_refusal says why. Release its parking either way. */
bool try_gang(struct cycle *c, struct gang *g, struct refusal *ret_refusal);
/* Would it start as the state stands now? True: its seats and charges are on the undo log, and the caller takes them back. */
bool try_on_trial(struct cycle *c, struct gang *g);
/* The same, or would others go for it, as its queue's policies allow? Nothing stays on the undo log. ret_starts: it starts at once. */
bool try_on_trial_preempting(struct cycle *c, struct gang *g, bool *ret_starts);
struct wishes {
    struct want *wants;
    uint32_t *shapes; /* references */
    uint32_t n, shapes_n;
};
/* The fewest members that make the gang whole, under the nth assignment of flavors that quota allows. Release them either way. */
bool try_wishes(struct cycle *c, const struct gang *g, struct queue *q, uint32_t nth, struct wishes *ret_wishes);
void wishes_release(struct state *s, struct wishes *w);

/* Wishes for these pods of a group, in the arena. */
struct want *try_wants(struct cycle *c, const uint32_t *pods, uint32_t n);
/* On the undo log: what the ledger would book for one member of that shape. q NULL: nothing. */
void try_charge(struct state *s, const struct gang *g, const struct queue *q, uint32_t shape);
/* Wishes for all members under the flavors found. Shapes, one per set, are the caller's to release. */
struct want *try_wish_all(struct cycle *c, const struct gang *g, const struct flavor_search *f, uint32_t **ret_shapes, uint32_t *ret_n);
/* What the gang would charge, set by set; of a group the fewest members that make it whole. */
struct flavor_demand *try_demands(struct cycle *c, const struct gang *g, uint32_t *ret_n);
/* May these pods of a group (each once) be charged to q? Else a tree that says what is short; `park` (may be NULL) gets what would help. */
struct reason *try_pod_quota(struct cycle *c, struct queue *q, const uint32_t *pods, uint32_t n, struct parking *park);
/* Wait for room for what did not fit. */
void refusal_of_misfit(struct state *s, struct parking *park, const struct misfit *m, const struct want *wants, uint32_t n);

#endif
