/* pod_group.h - the pod group that a pod names: each maker has its own place for that */
#ifndef CLI_LOOKUP_POD_GROUP_H
#define CLI_LOOKUP_POD_GROUP_H
#include "wire/json.h"

/* ORDER  as a pod that names several is read. Kueue's, the last one, has no object of its own. */
enum pod_group_maker { POD_GROUP_VOLCANO, POD_GROUP_COSCHEDULING, POD_GROUP_NATIVE, POD_GROUP_KAI, POD_GROUP_KUEUE, POD_GROUP_MAKERS_N };

const char *pod_group_name(struct arena *a, const struct json *pod, enum pod_group_maker maker); /* "" none; may lie in the arena */
/* The first that a pod, or a template of pods, names, with whose it is; "" none. */
const char *pod_group_first(struct arena *a, const struct json *pod, enum pod_group_maker *ret_maker);
/* Does anything start it together with others? Also a group of a Workload (spec.workloadRef of Kubernetes 1.35), which is no object. */
bool pod_is_in_group(struct arena *a, const struct json *pod);

#endif
