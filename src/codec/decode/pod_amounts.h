/* pod_amounts.h - what a pod asks for and may use, per resource: as quotas and limit ranges of an API server count it
 *
 * The larger of (containers and sidecars together) and (each init container beside the sidecars before it), and the overhead.
 * spec.resources takes the place of the sum for what it names. Unlike pod_requests.h this keeps exact quantities and needs no interned
 * names. SOURCE component-helpers resource.PodRequests and PodLimits.
 */
#ifndef CODEC_POD_AMOUNTS_H
#define CODEC_POD_AMOUNTS_H
#include "codec/decode/amounts.h"

/* key: "requests" or "limits". */
void pod_amounts(struct amounts *out, const struct json *pod_spec, const char *key);

#endif
