/* admission.h - the way of a gang through its phases: what it takes and gives back at each step (the picture is in core/state/state.h) */
#ifndef CORE_ADMISSION_H
#define CORE_ADMISSION_H
#include "core/state/model.h"

/* Every change of phase goes through here: counts of queues follow. */
void gang_enter(struct state *s, struct gang *g, enum gang_phase phase);

/* A group whose pods are made only when its queue lets it in: could the queue hold the least that it asks for, on top of what it holds?
 * NULL: yes, or there are pods already; else what is in the way, in the arena. */
const struct reason *admission_why_kept_out(const struct state *s, const struct gang *g, struct arena *a);
/* StrictFIFO: the first that stands in front of the gang (NULL: of everybody) and is refused, or kept out. */
const struct gang *admission_front(const struct state *s, const struct queue *q, const struct gang *g, struct arena *a);

/* WAITING -> RESERVED, or where the queue demands checks CHECKING (a pod group: BOUND, nobody has to answer). The charges stand on the
 * queue already; it copies. q may be NULL. */
void admission_reserve(struct state *s, struct gang *g, struct queue *q, const struct flavor_choice *choices, uint32_t choices_n,
                       const struct charge *charges, uint32_t charges_n);
/* The API says that a planned gang is admitted though we did not: after a restart, or by another writer. Charged over capacity or not. */
void admission_restore(struct state *s, struct gang *g, const struct gang_record *r);
/* Does the record say what we hold, queue and flavors? Another scheduler, or a write of ours that we took for lost, may have said
 * otherwise. */
bool admission_is_as_told(const struct gang *g, const struct gang_record *r);
/* Where it does not: what the record says is held from now on. */
void admission_adopt(struct state *s, struct gang *g, const struct gang_record *r);
/* The queue that a pod group with bound pods asks for is charged for them, from the first pod that is seen bound on. */
void admission_follow_pods(struct state *s, struct gang *g);
/* The gang's record names another queue, or none: its counts move with it. */
void admission_recount_queues(struct state *s, struct gang *g);
void admission_forget(struct state *s, struct gang *g); /* the gang goes: no list of the state may name it any more */
/* A queue came into being that gangs were admitted in before: they are charged now. */
void admission_link(struct state *s, struct queue *q);
/* Whatever it holds -> WAITING: charges and held places are given back; bound pods keep their seats. */
void admission_release(struct state *s, struct gang *g);
/* Pod sets of an admitted gang changed: charge the new counts under the same flavors. */
void admission_recount(struct state *s, struct gang *g);

void admission_hold_seat(struct gang *g, uint32_t seat);
void admission_drop_held(struct state *s, struct gang *g, uint32_t at); /* free g->seats[at]; order of the rest is kept */
/* Others have bound the pod of its set to the node: a place that is held for such a pod there is its own, which it takes anew. WHY at once:
 * until its gang is settled the two would count twice, and whoever holds places on that node might lose them for it. Of several it is the
 * one with the devices that the pod names. */
void admission_leave_held(struct state *s, const struct pod *p, uint32_t set, uint32_t node);

/* Pod and seat belong together from now on. */
void pod_sit(struct state *s, uint32_t pod, uint32_t seat);
void pod_leave_seat(struct state *s, uint32_t pod);
/* The pod is over or gone. A member of a planned gang that did not succeed leaves its place to the pod that will replace it: were
 * others to take it, a running gang would be broken and could not become whole again. So does one of a pod group, for a while
 * (heal/refill.h). */
void pod_end_seat(struct state *s, uint32_t pod);
/* Index of the pod's set in a planned gang; -1: none of that name. */
int32_t pod_set_index(const struct gang *g, const struct pod *p);

#endif
