/* pod_grouper.h - what KAI's podgrouper does, where it does not run: PodGroups for pods of KAI's scheduler name
 *
 *   pod (schedulerName: kai-scheduler) -> its owner's object -> PodGroup pg-OWNER-UID, owned by it; the pod names it in an annotation
 *
 * SHAPE  which group: codec/groups/kai_grouping.h. Pods that may start one by one get a group only where there are Queues of KAI's: then it
 *        says in which they count.
 * WHY    PodGroups, as KAI has them: they are held, shown and told of as those that its podgrouper makes, and it can take over.
 * LIMIT  PodGroups that have owners and are not made here mean that KAI's podgrouper runs: then nothing is made. Nothing is, either, where
 *        the kind is not installed.
 */
#ifndef JOBS_POD_GROUPER_H
#define JOBS_POD_GROUPER_H
#include "jobs/controllers.h"

struct pod_grouper;
struct pod_grouper *pod_grouper_new(struct jobs *j);
void pod_grouper_free(struct pod_grouper *x); /* NULL-safe */
/* Is this pod, which names no group, about to get one? Then it must not be bound before. x may be NULL: no. */
bool pod_grouper_groups(struct pod_grouper *x, const struct json *pod);

#endif
