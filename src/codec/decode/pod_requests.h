/* pod_requests.h - how much a pod asks of a node, by the Kubernetes rules
 *
 * max( sum of containers + sidecars, largest init container beside the sidecars started before it ) + overhead. A container's request
 * of a resource is its limit when only the limit is written. spec.resources (pod level) replaces the sum for the resources that it names.
 *
 * SHAPE  rows, one per resource, with four running columns. Init containers must be added in their order, others in any.
 * SOURCE component-helpers resource.PodRequests; KEP-753 (sidecars), KEP-2837 (pod-level resources).
 */
#ifndef CODEC_POD_REQUESTS_H
#define CODEC_POD_REQUESTS_H
#include "base/arena.h"
#include "base/limits.h"
#include "core/flow.h"

struct pod_requests {
    struct {
        name_id resource;
        int64_t containers, sidecars, init_most, overhead;
        int64_t pod_level; /* -1 = not named there */
    } rows[LIMIT_RESOURCES];
    uint32_t rows_n;
    uint32_t dropped_n; /* resources beyond LIMIT_RESOURCES */
};
/* What one container asks for: request and limit per resource as they are read. */
struct container_request {
    name_id resource;
    int64_t request, limit; /* -1 = not written */
};
enum pod_part { POD_CONTAINER, POD_INIT_CONTAINER, POD_SIDECAR, POD_OVERHEAD, POD_LEVEL };

void pod_requests_init(struct pod_requests *p);
void pod_requests_add(struct pod_requests *p, enum pod_part part, const struct container_request *rows, uint32_t rows_n);
/* Rows of value > 0, sorted by resource; in the arena. */
void pod_requests_finish(const struct pod_requests *p, struct arena *a, const struct amount **ret_amounts, uint32_t *ret_n);

#endif
