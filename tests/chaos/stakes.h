/* stakes.h - what jobs say of who of equals is preempted: what users do with it, and what must hold */
#ifndef CHAOS_STAKES_H
#define CHAOS_STAKES_H
#include "world.h"

/* A job has a minimum run or a checkpoint, another, or none any more; or a budget stands for the pods of all jobs. */
void stakes_change(struct world *w, int jobs_n); /* jobs "job0" and on */
/* A Workload that is not over says what its job says. */
bool stakes_check(struct world *w);

#endif
