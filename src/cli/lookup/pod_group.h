/* pod_group.h - the pod group that a pod names: each maker has its own place for that */
#ifndef CLI_LOOKUP_POD_GROUP_H
#define CLI_LOOKUP_POD_GROUP_H
#include "wire/json.h"

/* ORDER  as a pod that names several is read. Kueue's, the last one, has no object of its own. */
enum pod_group_maker { POD_GROUP_VOLCANO, POD_GROUP_COSCHEDULING, POD_GROUP_NATIVE, POD_GROUP_KAI, POD_GROUP_KUEUE, POD_GROUP_MAKERS_N };

const char *pod_group_name(struct arena *a, const struct json *pod, enum pod_group_maker maker); /* "" none; may lie in the arena */

#endif
