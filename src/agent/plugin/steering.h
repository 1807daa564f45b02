/* steering.h - the scheduler's choice reaches the kubelet's: which slots a container that is being admitted should get
 *
 * The kubelet says neither in GetPreferredAllocation nor in Allocate for whom it asks. The agent knows the pods bound to its node and the
 * devices that the scheduler chose for each (annotation capstan.dev/devices, "nvidia.com/gpu=GPU-...,GPU-...;..."). So a question for n
 * slots of a resource is for one of the containers that wait for n slots of it. Those with equal limits are interchangeable: the slots of
 * the first in line are given, whichever of them it is. While two with different limits wait, nobody can tell for whom the kubelet asks:
 * Allocate is refused rather than one pod given the limits of the other. Schedulers bind such a pair one after the other, the second when
 * the first has its slots. podresources says later who has what: then containers that got each other's slots exchange their choices here,
 * and every other difference is reported once.
 *
 *     WAITING ─Allocate─▶ ADMITTED (a guess among the interchangeable) ─podresources─▶ SETTLED
 *
 * ORDER  the first in line is the pod that was seen first. The agent has to see a pod before the kubelet asks for it: who asks for what
 *        nobody waits for is held back for a while (steering_awaits, agent/plugin/device_plugin.h).
 * Pure: pods in, answers out; time is an argument.
 */
#ifndef AGENT_STEERING_H
#define AGENT_STEERING_H
#include "agent/plugin/allocate.h"

#define LIMIT_STEERING_PODS 2000      /* pods of one node; kubelets allow 110, some 500 */
#define LIMIT_STEERING_SLOTS 1024     /* slots of one container */
#define STEERING_RESERVE_MS 300000    /* a choice that nobody has asked for so long no longer keeps others away */
#define STEERING_UNSETTLED_MS 60000   /* admitted, and podresources does not say so for so long: it counts as waiting again */

struct steering;
struct steering *steering_new(void);
void steering_free(struct steering *g); /* NULL-safe */

/* slots NULL: no choice was made; slots_n is what it asks for all the same. passing: an init container, whose slots go to those after
 * it. */
struct steering_want {
    const char *container, *resource;
    const char *const *slots;
    uint32_t slots_n;
    struct allocate_limits limits;
    bool passing;
};
/* A pod bound to this node, in the order in which they are seen. Known pods are replaced: what has been admitted stays so. */
void steering_pod(struct steering *g, const char *ns, const char *pod, const char *uid, const struct steering_want *wants, uint32_t wants_n,
                  int64_t now_ms);
/* Deleted, or ended (Succeeded, Failed). */
void steering_pod_gone(struct steering *g, const char *uid);
/* `owners` of podresources: containers that have their slots wait no more. */
void steering_settled(struct steering *g, const struct slot_owner *owners, uint32_t n);
/* The kubelet starts again: it may ask again for whom it has asked already. */
void steering_kubelet_restarted(struct steering *g);
/* The kubelet has begun with this pod: all of its containers had their slots before. Say it once, when it comes to be so. */
void steering_begun(struct steering *g, const char *uid, int64_t now_ms);
/* A container is known that waits for n slots of this resource; not only because an answer of ours may have been lost, unless lost_too. */
bool steering_awaits(struct steering *g, const char *resource, uint32_t n, bool lost_too, int64_t now_ms);
/* GetPreferredAllocation: true and `size` slots, when one waiting container fits. */
bool steering_prefer(struct steering *g, struct arena *a, const char *resource, const char *const *available, uint32_t available_n,
                     uint32_t size, int64_t now_ms, const char ***ret_slots);
/* For the choice by other rules, when steering_prefer has none: `available` without what was chosen for waiting containers; with what was
 * chosen for those who may be asking, when too little would be left; or all of it. Returns how many. */
uint32_t steering_unreserved(const struct steering *g, struct arena *a, const char *resource, const char *const *available,
                             uint32_t available_n, uint32_t size, int64_t now_ms, const char ***ret_slots);
/* Allocate: 0 and the limits; -E_CONFLICT when the one who asks may be either of two with different limits, or when these slots were chosen
 * for another waiting pod whose limits differ. ret_ns, ret_pod: "" when several may be the one; good until the next change. */
int steering_admit(struct steering *g, const char *resource, const char *const *slots, uint32_t n, int64_t now_ms,
                   struct allocate_limits *ret_limits, const char **ret_ns, const char **ret_pod, struct err *e);
/* Containers whose truth differs from the choice, once each: for pod events and the annotation. Slots with commas, as chosen and sorted as
 * given. Texts stand in `a`. An exchange between interchangeable containers is none: all of them together have what was chosen. */
struct steering_difference { const char *ns, *pod, *uid, *container, *resource, *chosen, *given; };
uint32_t steering_differences(struct steering *g, struct arena *a, struct steering_difference **ret_list);
/* Containers that run with limits of another pod, once each: which of them asked was mistaken. Texts stand in `a`. */
struct steering_wrong_limits { const char *ns, *pod, *uid, *container, *resource; struct allocate_limits asked, given; };
uint32_t steering_wrong_limits(struct steering *g, struct arena *a, struct steering_wrong_limits **ret_list);
/* What podresources says a pod has, whether or not anything was chosen for it: by resource, once all of its containers have theirs. In
 * their order, each slot once, those that only init containers had at the end. whole: it has no others (kubelets do not list init
 * containers that have ended). In `a`. */
struct steering_given { const char *resource, **slots; uint32_t n; bool whole; };
uint32_t steering_given(const struct steering *g, struct arena *a, const char *uid, struct steering_given **ret_list);
uint32_t steering_waiting(const struct steering *g); /* containers that have not got their slots yet */

#endif
