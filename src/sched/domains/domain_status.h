/* domain_status.h - status.admission.podSetAssignments[].topologyAssignment of a Workload, as the core has it
 *
 * SHAPE  v1beta2: columns in `slices`, one slice; v1beta1 reads them as `domains` (codec/kinds/kind_convert.h).
 */
#ifndef SCHED_DOMAIN_STATUS_H
#define SCHED_DOMAIN_STATUS_H
#include "core/state/state.h"
#include "wire/json.h"

/* Into the assignment of the set: its domains; where it has none yet but will have them, that they come later (delayedTopologyRequest). */
void domain_status_add(struct arena *a, const struct state *s, const struct intern *names, name_id gang, uint32_t pod_set,
                       struct json *assignment);
/* status.admission with the domains that the core has now. NULL: it says so already, or there is nothing to be said. */
struct json *domain_status_moved(struct arena *a, const struct state *s, const struct intern *names, name_id gang,
                                 const struct json *workload);

/* status.unhealthyNodes: the node that the gang has lost (core/queue/lost.h). NULL: it says so already; JSON null: it is to say nothing. */
struct json *domain_status_unhealthy(struct arena *a, const struct state *s, const struct intern *names, name_id gang,
                                     const struct json *workload);

#endif
