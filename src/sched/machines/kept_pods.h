/* kept_pods.h - Karpenter does not empty nodes on which a member of a gang stands: annotation karpenter.sh/do-not-disrupt of its pods
 *
 *   pod of a group that needs two or more is bound to a node of Karpenter's ──▶ "true", and capstan.dev/kept-together says that it is ours
 *   its group is gone, or starts with one pod by now                        ──▶ both are taken off
 *
 * Who has the annotation from its owner, with any value, is left alone. Pods of Workloads have it from the check for machines that come,
 * before they are made (checks/scale_up.c).
 * COST  one write a pod, and only where there are NodePools; 300 bytes a bound pod of a group.
 */
#ifndef SCHED_KEPT_PODS_H
#define SCHED_KEPT_PODS_H
#include "core/state/state.h"
#include "kube/client.h"
#include "sched/machines/machine_source.h"

struct kept_pods;
/* leading: nothing is written while it is false. machines: NULL: nobody looks for NodePools. */
struct kept_pods *kept_pods_new(struct kube_client *c, const struct state *s, struct intern *names, const bool *leading,
                                const struct machine_source *machines);
void kept_pods_free(struct kept_pods *x); /* NULL-safe */
/* As it is now, with its text and the head of that (object_text_head). */
void kept_pods_seen(struct kept_pods *x, const struct pod_record *pod, struct bytes object, struct bytes head);
void kept_pods_gone(struct kept_pods *x, const char *key);
/* This one is looked at in a while, if it is one: its gang needs others to start now, or is gone. */
void kept_pods_look(struct kept_pods *x, const char *pod);
void kept_pods_look_all(struct kept_pods *x);
/* There are NodePools, or none any more: all are looked at once it is so that there are. */
void kept_pods_follow(struct kept_pods *x);

#endif
