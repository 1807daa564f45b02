/* endpoints_make.h - the Endpoints and EndpointSlices of a Service, from its pods
 *
 * Pure: objects in, objects out.
 * SHAPE  a pod's view is the part of it that counts here: {"namespace","name","uid","labels","ip","node","hostname","subdomain","ready",
 *        "deleting","ports":[{"name","containerPort","protocol"}]}.
 * LIMIT  ENDPOINTS_A_SLICE addresses in one slice, ENDPOINTS_MAX in Endpoints (annotation endpoints.kubernetes.io/over-capacity says so).
 * SOURCE core/v1 Endpoints, discovery.k8s.io/v1 EndpointSlice.
 */
#ifndef JOBS_APPS_ENDPOINTS_MAKE_H
#define JOBS_APPS_ENDPOINTS_MAKE_H
#include "wire/json.h"

#define ENDPOINTS_A_SLICE 100
#define ENDPOINTS_MAX 1000
#define ENDPOINTS_MANAGED_LABEL "endpoints.kubernetes.io/managed-by"
#define ENDPOINTS_MANAGER "endpoint-controller"
#define ENDPOINTS_SLICE_MANAGED_LABEL "endpointslice.kubernetes.io/managed-by"
#define ENDPOINTS_SLICE_MANAGER "endpointslice-controller.k8s.io"

/* NULL: the pod has no address, or has ended. */
struct json *endpoints_pod_view(struct arena *a, const struct json *pod);
struct json *endpoints_make(struct arena *a, const struct json *service, const struct json *const *views, uint32_t n);
/* An array of slices, one at least. Their names depend on the service and their place only. */
struct json *endpoints_make_slices(struct arena *a, const struct json *service, const struct json *const *views, uint32_t n);

#endif
