/* device_manager.h - the kubelet's device manager on a simulated node: which pod gets which slots of what the agent offers
 *
 * SHAPE  no state of its own: who has which slot stands in the agent's inventory, as podresources would tell it.
 */
#ifndef SIM_DEVICE_MANAGER_H
#define SIM_DEVICE_MANAGER_H
#include "agent/agent_feed.h"

struct node_pod { const char *ns, *name; };
/* n slots of a resource for `pod`: those chosen (annotation of the scheduler) where they can be had, else as GetPreferredAllocation says.
 * Returns 1: as chosen, or nothing was chosen; 0: others than chosen; -E_NOTFOUND: no such resource here; -E_DENIED with the kubelet's
 * text: not so many free. The slots stand in `m`. */
int device_manager_take(struct agent *a, const struct node_pod *pod, const char *resource, uint32_t n, const char *const *chosen,
                        uint32_t chosen_n, struct arena *m, const char ***ret_slots, struct err *e);
/* May one container ask for so many? -E_DENIED with the text of the device plugin. Whatever it was given before: Allocate is asked for
 * all. */
int device_manager_allows(const struct agent *a, const char *resource, uint32_t n, struct err *e);
/* Slots that a pod had before this program started: theirs, whatever the table says now. */
void device_manager_hold(struct agent *a, const struct node_pod *pod, const char *resource, const char *const *slots, uint32_t n);
void device_manager_release(struct agent *a, const struct node_pod *pod);
bool device_manager_healthy(const struct agent *a, const char *resource, const char *slot);

#endif
