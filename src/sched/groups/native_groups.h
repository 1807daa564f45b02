/* native_groups.h - pod groups of scheduling.k8s.io/v1alpha1 (Kubernetes 1.35): a Workload has them, and pods say whose they are
 *
 *   Workload a {podGroups: [workers, ...]}    pod {workloadRef: {name: a, podGroup: workers, podGroupReplicaKey: 0}}
 *            └──────────────────────┬────────────────────┘
 *                       gang "native/ns/a/workers/0", told as long as both are there
 *
 * WHY    no other object has several gangs, and which replicas of a group there are only its pods know.
 * SHAPE  Workload "ns/name" -> the gangs of it that pods name. What it has on itself is said of all of them, and has no place for what one
 *        of them waits for: that stands on their pods.
 * SOURCE Kubernetes' API of 1.35. Later versions have an object for each group.
 */
#ifndef SCHED_NATIVE_GROUPS_H
#define SCHED_NATIVE_GROUPS_H
#include "codec/decode/decode.h"

struct kube_client;
struct native_groups;
struct native_groups_config {
    const struct decoder *decoder;                            /* records are made by it, in its arena */
    void (*on_told)(void *arg, const struct gang_record *g);  /* it is there, or another one than before */
    void (*on_gone)(void *arg, const char *gang_key);
    void (*on_synced)(void *arg);                             /* the Workloads have been listed */
    void *arg;
};
struct native_groups *native_groups_new(struct kube_client *c, const struct native_groups_config *config);
void native_groups_free(struct native_groups *n); /* NULL-safe; tells nobody */
bool native_groups_synced(const struct native_groups *n);

/* A pod of this gang is there (anew: what it is told with is another by that); the gang has none any more. No-op for gangs that are no
 * group of a Workload. */
void native_groups_named(struct native_groups *n, const char *gang_key, bool anew);
void native_groups_left(struct native_groups *n, const char *gang_key);

#endif
