/* endpoints_mirror.h - EndpointSlices for Endpoints that a user writes, for a Service without a selector (embedded cluster only)
 *
 * SOURCE Kubernetes' EndpointSlice mirroring: not for those with label endpointslice.kubernetes.io/skip-mirror=true, nor for those of
 *        leader elections (annotation control-plane.alpha.kubernetes.io/leader). The slices belong to the Endpoints.
 */
#ifndef JOBS_APPS_ENDPOINTS_MIRROR_H
#define JOBS_APPS_ENDPOINTS_MIRROR_H
#include "kube/client.h"
#include "wire/json.h"

struct endpoints_mirror;
struct endpoints_mirror *endpoints_mirror_new(struct kube_client *c);
void endpoints_mirror_free(struct endpoints_mirror *m); /* NULL-safe */

/* The slices for these Endpoints: one for each subset. */
struct json *endpoints_mirror_make(struct arena *a, const struct json *endpoints);

#endif
