/* daemon_set_plan.h - what a DaemonSet should do next, from the nodes that match and its pods
 *
 * Pure: records in, plan out; daemon_set.c judges nodes and carries the plan out.
 * ORDER  an update ends old pods that are not available first, then others while fewer than max_unavailable nodes are without one. With
 *        max_surge the new pod comes beside the old one, which ends when the new one is available.
 * SOURCE apps/v1 API reference, DaemonSet.
 */
#ifndef JOBS_APPS_DAEMON_SET_PLAN_H
#define JOBS_APPS_DAEMON_SET_PLAN_H
#include "jobs/batch/batch_job_plan.h"

#define DAEMON_CREATE_MAX 500
#define DAEMON_FAILED_MS 1000 /* a pod that ended stays so long before it is replaced */

struct daemon_node {
    const char *name;
    bool is_wanted; /* a pod should be there */
    bool may_stay;  /* one that is there need not go: only taints that evict nobody keep new ones away */
};
struct daemon_spec {
    const char *update; /* hash of the template: label of the pods that have it */
    bool is_on_delete;
    int64_t max_unavailable, max_surge;
    int64_t min_ready_ms;
};
struct daemon_plan {
    int64_t desired_n, scheduled_n, misscheduled_n, ready_n, available_n, updated_n; /* for the status: nodes */
    const char **create; /* names of nodes */
    uint32_t create_n;
    const struct job_pod **remove;
    uint32_t remove_n;
    int64_t again_ms; /* look again then; 0 = when something changes */
};
/* nodes: by name. The plan lives in the arena. */
void daemon_set_plan(struct arena *a, const struct daemon_spec *spec, const struct daemon_node *nodes, uint32_t nodes_n,
                     const struct job_pod *const *pods, uint32_t pods_n, int64_t now_ms, struct daemon_plan *ret_plan);

#endif
