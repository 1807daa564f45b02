/* steering.h - the scheduler's choice reaches the kubelet's: which slots a container that is being admitted should get
 *
 * The kubelet says neither in GetPreferredAllocation nor in Allocate for whom it asks. The agent knows the pods bound to its node and the
 * devices that the scheduler chose for each (annotation capstan.dev/devices, "nvidia.com/gpu=GPU-...,GPU-...;..."). A request of n slots of a
 * resource is matched to the waiting containers with the same (resource, n): all of them with equal limits are interchangeable, and the
 * first in line gets its own slots; where two are not interchangeable only one of them is steered at a time (pairwise serialisation).
 * After that podresources tells the truth; a difference is written to the pod and reported. SOURCE device.md 8.3.
 * Pure: pods in, answers out; time is an argument.
 */
#ifndef AGENT_STEERING_H
#define AGENT_STEERING_H
#include "agent/allocate.h"

struct steering;
struct steering *steering_new(void);
void steering_free(struct steering *g);

struct steering_want { const char *container, *resource; const char *const *slots; uint32_t slots_n; struct allocate_limits limits; };
/* A pod bound to this node, in the order in which they are seen. Known pods are replaced. */
void steering_pod(struct steering *g, const char *ns, const char *pod, const char *uid, const struct steering_want *wants, uint32_t wants_n,
                  int64_t now_ms);
void steering_pod_gone(struct steering *g, const char *uid);
/* `owners` of podresources: containers that have their slots wait no more. */
void steering_settled(struct steering *g, const struct slot_owner *owners, uint32_t n);
/* GetPreferredAllocation: true and the slots, when one waiting container fits. */
bool steering_prefer(struct steering *g, struct arena *a, const char *resource, const char *const *available, uint32_t available_n,
                     uint32_t size, int64_t now_ms, const char ***ret_slots);
/* Allocate: 0 and the limits; -E_CONFLICT when these slots were chosen for another waiting pod whose limits differ. */
int steering_admit(struct steering *g, const char *resource, const char *const *slots, uint32_t n, int64_t now_ms,
                   struct allocate_limits *ret_limits, const char **ret_ns, const char **ret_pod, struct err *e);
/* Containers whose truth differs from the choice, once each: for pod events and the annotation. */
struct steering_difference { const char *ns, *pod, *container, *resource, *chosen, *given; };
uint32_t steering_differences(struct steering *g, struct arena *a, struct steering_difference **ret_list);

#endif
