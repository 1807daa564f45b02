/* admission.h - what a gang holds once it is admitted: quota charges, flavors, places for members to come, room of its pods */
#ifndef CORE_ADMISSION_H
#define CORE_ADMISSION_H
#include "core/model.h"

/* Charges stand already (committed search). Takes copies. q may be NULL. */
void admission_book(struct state *s, struct gang *g, struct queue *q, const struct flavor_choice *choices, uint32_t choices_n,
                    const struct charge *charges, uint32_t charges_n);
/* The API says that the gang is admitted (restart, other writer): charge what its flavors and counts come to, over capacity or not. */
void admission_restore(struct state *s, struct gang *g, const struct gang_record *r);
/* Give back charges and held places; bound pods keep their seats. */
void admission_release(struct state *s, struct gang *g);
/* Pod sets of an admitted gang changed: charge the new counts under the same flavors. */
void admission_recharge(struct state *s, struct gang *g);

void admission_hold_seat(struct gang *g, uint32_t seat);
void admission_drop_held(struct state *s, struct gang *g, uint32_t at); /* free g->seats[at]; order of the rest is kept */

/* Pod and seat belong together from now on. */
void pod_sit(struct state *s, uint32_t pod, uint32_t seat);
void pod_leave_seat(struct state *s, uint32_t pod);
/* The pod is over or gone. A member of a planned gang that did not succeed leaves its place to the pod that will replace it: were
 * others to take it, a running gang would be broken and could not become whole again. */
void pod_end_seat(struct state *s, uint32_t pod);
/* Index of the pod's set in a planned gang; -1: none of that name. */
int32_t pod_set_index(const struct gang *g, const struct pod *p);

#endif
