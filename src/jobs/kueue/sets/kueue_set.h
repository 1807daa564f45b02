/* kueue_set.h - how one kind of set is queued by its pods: what the one reconciler (kueue_sets.c) asks of a kind
 *
 *   StatefulSet (label queue-name)     -> one Workload of all replicas; none left: it is on hold
 *   LeaderWorkerSet (label queue-name) -> a Workload a group: leader and workers
 *
 *   its pods, held by their gate or by their label, get the group of that Workload: kueue_pods.c does the rest
 *
 * Callbacks read JSON; they do no I/O.
 */
#ifndef JOBS_KUEUE_SET_H
#define JOBS_KUEUE_SET_H
#include "codec/kinds/queued_sets.h"
#include "jobs/kueue/kueue_kind.h"

struct kueue_set_kind {
    enum queued_set_id id;
    int64_t (*groups_n)(const struct json *set); /* Workloads that it has now */
    bool keeps_last;                             /* without groups its Workload stays, on hold */
    /* Names of its Workloads: of group i; without its uid, as Kueue called it before 0.16, or NULL. */
    const char *(*workload_name)(struct arena *a, const struct json *set, int64_t group);
    const char *(*former_name)(struct arena *a, const struct json *set);
    struct json *(*pod_sets)(struct arena *a, const struct json *set); /* of one group */
    /* Those of them whose pods are made when others, or the pod before, are ready: DECODE_LATER_ANNOTATION, DECODE_SERIAL_ANNOTATION; "":
     * none */
    const char *(*later)(const struct json *set), *(*serial)(const struct json *set);
    /* Of a pod: the name of its set; its group, -1: it is not known yet; the name of its pod set; how many pods its group has. */
    const char *(*set_of)(const struct json *pod);
    int64_t (*group_of)(const struct json *pod);
    const char *(*pod_set_of)(const struct json *set, const struct json *pod);
    int64_t (*pods_n)(const struct json *set);
    bool is_fast;            /* its group starts with the first of its pods: the others come when that one is ready */
    const char *index_label; /* by which its pods are told apart; NULL: none */
};
extern const struct kueue_set_kind kueue_stateful_set, kueue_leader_worker_set;

#define KUEUE_SET_REPLICAS_MOST 1000000 /* SOURCE Kueue, of LeaderWorkerSets */

#endif
