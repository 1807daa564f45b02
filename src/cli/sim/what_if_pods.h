/* what_if_pods.h - the pods that a controller would make of a workload, as the scheduler reads them. Pure.
 *
 * SHAPE  names, uids and times are made up: the scheduler looks at nothing else of pods that are not there.
 */
#ifndef CLI_WHAT_IF_PODS_H
#define CLI_WHAT_IF_PODS_H
#include "wire/json.h"

/* "NAME-0", ... up to n of them, behind those in `to`; `like` has their namespace and creationTimestamp. */
void what_if_pods(struct arena *a, struct json *to, const struct json *like, const char *name, const struct json *pod_template, int64_t n);
/* A Volcano Job: its PodGroup, and all its pods, which name it. */
void what_if_vcjob(struct arena *a, struct json *to, const struct json *vcjob);

#endif
