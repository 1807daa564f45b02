/* queued.h - what users do with what is queued the Kueue way, besides jobs that come and queues that stop: jobs move to another queue and
 * get another priority, Workloads are put aside, classes of priority change, and so do cohorts, limits, flavors and their policies */
#ifndef TESTS_CHAOS_QUEUED_H
#define TESTS_CHAOS_QUEUED_H
#include "world.h"

/* WorkloadPriorityClasses, cohorts "left" and "right" below "all", flavor "more"; one after the other; NULL: no more. */
const char *queued_seed(int at);
const char *queued_annotation(struct world *w, int pods); /* of a job: ,"annotations":{..}: one in four may start with fewer pods */
const char *queued_label(struct world *w);                /* of a job: ,"..":"..": one in four has such a priority */
void queued_change(struct world *w, int jobs_n);          /* of jobs "job0" and on */
void queued_rest(struct world *w);                        /* the tree is no circle any more */

#endif
