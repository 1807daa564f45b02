/* limit_range.h - LimitRanges of a namespace: amounts that containers get unasked, and bounds that pods and claims must keep
 *
 * SOURCE kube-apiserver's LimitRanger plugin, its order and its words.
 */
#ifndef CODEC_LIMIT_RANGE_H
#define CODEC_LIMIT_RANGE_H
#include "base/arena.h"
#include "wire/json.h"

/* Amounts that a container does not write, from the ranges' defaultRequest and default. ret_set may be NULL: an array to which
 * "cpu, memory request" and "cpu limit" are added. */
void limit_range_container(struct arena *a, const struct json *ranges, struct json *container, struct json *ret_set);
/* A pod that is created: its containers' defaults, and the annotation that tells of them. */
void limit_range_pod(struct arena *a, const struct json *ranges, struct json *pod);
/* A sentence that says which bound is not kept, "[a, b]" for several; NULL = all are. */
const char *limit_range_pod_broken(struct arena *a, const struct json *ranges, const struct json *pod);
const char *limit_range_claim_broken(struct arena *a, const struct json *ranges, const struct json *claim);

#endif
