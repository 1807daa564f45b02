/* made.h - Workloads that users make beforehand, and the jobs and pods that name them: before or after, of another size, more than one */
#ifndef CHAOS_MADE_H
#define CHAOS_MADE_H
#include "world.h"

struct made;
struct made *made_new(struct world *w);
void made_free(struct made *m);
void made_create(struct world *w); /* a Workload, or who names one, or both */
void made_change(struct world *w); /* one of them is deleted */
/* Workloads that nobody names are deleted. WHY  they hold quota, and places for pods to come, for ever: which places depends on what was
 * there when they were let in, and a scheduler that begins anew may choose better ones. */
void made_delete_left(struct world *w);
/* A job runs while the Workload that is its own is admitted, and never without one; a Workload that somebody waits for does not stay
 * nobody's. */
bool made_check(struct world *w);
/* Workloads that got a job for their owner, or a pod; that ended since who names them is of another size. */
struct made_counts {
    uint64_t jobs_n, pods_n, out_of_sync_n;
};
struct made_counts made_counts(const struct made *m);

#endif
