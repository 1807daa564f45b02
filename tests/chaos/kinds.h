/* kinds.h - jobs that operators run, queued the Kueue way: JobSets, TrainJobs, MPIJobs, PyTorchJobs, TFJobs; of several pod sets whose pods
 * are unequal, and some of which come after others */
#ifndef CHAOS_KINDS_H
#define CHAOS_KINDS_H
#include "world.h"

#define KINDS_PREFIX "kind" /* their names begin so */

/* The runtime of TrainJobs. */
const char *kinds_seed(int at); /* objects, one after the other; NULL: no more */
void kinds_create(struct world *w); /* in any queue */
void kinds_change(struct world *w); /* one is deleted, moved, made larger or smaller, stopped by hand, or loses its Workload */
/* A pod of theirs got a node. */
void kinds_pod_starts(struct world *w, const char *job);
/* Jobs of each kind had pods that got a node. */
bool kinds_all_ran(const struct world *w);
/* A job runs while its Workload is admitted, with pods that say so and no more of each pod set than it was given; what stands still is as
 * its user wrote it, without pods; who waits for quota asks for the pods that his job has. */
bool kinds_check(struct world *w);

#endif
