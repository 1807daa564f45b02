/* queued_sets.h - sets of pods that have no `suspend`: they are queued by their pods, which wait one by one or as a group
 *
 *   StatefulSet, label kueue.x-k8s.io/queue-name  ->  its pod template says who holds its pods (QUEUED_SET_ANNOTATION)
 *                                                 ->  one Workload of all replicas, its pods a group of that name
 *
 * SOURCE Kueue's integrations deployment, statefulset, leaderworkerset.
 */
#ifndef CODEC_QUEUED_SETS_H
#define CODEC_QUEUED_SETS_H
#include "wire/json.h"

#define QUEUED_SET_ANNOTATION "kueue.x-k8s.io/pod-suspending-parent" /* of a pod, or its template: framework of its set */

enum queued_set_id { QUEUED_DEPLOYMENT, QUEUED_STATEFULSET, QUEUED_LEADERWORKERSET, QUEUED_SETS_N };

struct queued_set {
    const char *group, *version, *plural, *kind;
    const char *framework; /* its name in integrations.frameworks of Kueue's Configuration, and in QUEUED_SET_ANNOTATION */
    bool in_groups;        /* its pods wait for each other; false: each is queued by itself */
};
extern const struct queued_set queued_sets[QUEUED_SETS_N];

/* By resource; NULL: no such. */
const struct queued_set *queued_set_of(const char *group, const char *plural);
/* By kind alone, as owner references name it; NULL: no such. */
const struct queued_set *queued_set_named(const char *kind);
/* With which set a pod waits, or one made of this template would: those that wait in groups only. NULL: with none. */
const struct queued_set *queued_set_of_pod(const struct json *pod);

#endif
