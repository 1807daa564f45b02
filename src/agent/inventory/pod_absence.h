/* pod_absence.h - whose slots are free: the kubelet's lists against what the API server says, what the kubelet lived through, and which
 * processes run
 *
 * A kubelet that has just started answers podresources before it has its pods: its list is short, and whom it does not name may run. So an
 * owner stays until its pod is known to be gone:
 *
 *     the API server deleted it, or says that it has ended            and no process of it runs any more
 *     it has a pod of that name which asks for none of these, or which the kubelet names with other slots
 *     nobody has ever heard of the pod                                ABSENCE_UNHEARD_MS of whole lists without it
 *     there is no API server                                          the kubelet has been there for ABSENCE_KUBELET_MS
 *
 * A list is whole when it names every pod that asks, and that the kubelet has begun with, by the API server's word; without an API server
 * when the kubelet has been there for ABSENCE_KUBELET_MS. What is not whole proves nothing: inventory_snapshot.owners_unsure.
 *
 * SHAPE  one entry a pod of this node, by uid; a deleted one stays while a slot is its.
 * Pure but for `lives`: time is an argument.
 */
#ifndef AGENT_POD_ABSENCE_H
#define AGENT_POD_ABSENCE_H
#include "agent/inventory/inventory.h"

#define ABSENCE_UNHEARD_MS 60000
#define ABSENCE_KUBELET_MS 30000

struct pod_name { const char *ns, *name; };
struct pod_absence;
/* lives: a process in the control group of the pod with this uid runs. NULL: that cannot be told. */
struct pod_absence *pod_absence_new(bool with_api, bool (*lives)(void *ctx, const char *uid), void *ctx);
void pod_absence_free(struct pod_absence *p); /* NULL-safe */

/* The API server's word on a pod of this node. begun: the kubelet has taken it up (status.startTime). asks: for slots of ours. */
struct pod_word { const char *uid, *ns, *name; bool begun, ended, asks; };
void pod_absence_word(struct pod_absence *p, const struct pod_word *w);
void pod_absence_deleted(struct pod_absence *p, const char *uid);
/* The kubelet starts again, or another one does: what it answers soon may be short. */
void pod_absence_kubelet_restarted(struct pod_absence *p, int64_t now_ms);

/* podresources as it was answered: `owners` of all slots, `named` all pods, also those without any. synced: the API server has told all
 * pods. */
struct pod_list { const struct slot_owner *owners; uint32_t owners_n; const struct pod_name *named; uint32_t named_n; bool synced; };
/* To the inventory. True: the list was whole. */
bool pod_absence_settle(struct pod_absence *p, struct inventory *i, const struct pod_list *l, int64_t now_ms);
/* podresources does not answer. no_kubelet: none has ever run here; then nothing is unsure unless a pod asks or a slot is somebody's. */
void pod_absence_silent(struct pod_absence *p, struct inventory *i, bool no_kubelet);
/* A pod that a list that is not whole does not name, "" none: for the log. */
const char *pod_absence_missing(const struct pod_absence *p);

#endif
