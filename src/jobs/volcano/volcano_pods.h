/* volcano_pods.h - groups for pods that ask for the scheduler "volcano" and name no group
 *
 * Pods of a ReplicaSet, Job, ReplicationController... share PodGroup podgroup-<owner's uid>, others have podgroup-<own uid>;
 * minMember 1, or what the annotation scheduling.volcano.sh/group-min-member of pod or owner says; the queue from the pod's
 * scheduling.volcano.sh/queue-name; annotations volcano.sh/... of the owner pass to the group.
 * The pod is told by annotation scheduling.k8s.io/group-name. The group of a ReplicaSet that has no pods left is deleted.
 * SOURCE Volcano's podgroup controller.
 * RACE   a scheduler that does not know of this binds a pod before it is told: it counts for the group from then on. Ours waits
 *        (sched/domains/unadmitted_pods.h).
 */
#ifndef JOBS_VOLCANO_PODS_H
#define JOBS_VOLCANO_PODS_H
#include "kube/client.h"

struct volcano_pods;
struct volcano_pods *volcano_pods_new(struct kube_client *c);
void volcano_pods_free(struct volcano_pods *v); /* NULL-safe */

#endif
