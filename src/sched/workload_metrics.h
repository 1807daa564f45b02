/* workload_metrics.h - what happens to Workloads, counted (figures/metrics.h)
 *
 * SHAPE  what we write ourselves is counted once the object shows it, by who wrote it (status_workload.c); what others may write as well
 *        by comparing what an object says with what it said before: readiness, the end, quota given back. Nothing is counted of queues that
 *        are gone.
 */
#ifndef SCHED_WORKLOAD_METRICS_H
#define SCHED_WORKLOAD_METRICS_H
#include "sched/scheduler.h"

/* It was admitted in this queue. was_reserved: its quota was counted before, since when it waited for checks. */
void workload_metrics_admitted(struct scheduler *s, const struct json *workload, const char *queue, bool was_reserved, int64_t now_ms);
void workload_metrics_reserved(struct scheduler *s, const struct json *workload, const char *queue, int64_t now_ms);
void workload_metrics_evicted(struct scheduler *s, const struct json *workload, const char *queue);
/* If it was evicted for another: for whose queue, as its condition Preempted says. */
void workload_metrics_preempted(struct scheduler *s, struct arena *a, const struct json *workload);
/* A pod of this Workload ("ns/name") has lost a gate. */
void workload_metrics_gate_opened(void *scheduler, const char *gate, const char *workload, bool is_group);
/* A Workload as it came by the watch. */
void workload_metrics_seen(struct scheduler *s, struct seen_gang *g, const struct json *workload);

bool workload_metrics_names(const struct scheduler *s, const struct json *local_queue); /* has it series of its own? */
bool workload_metrics_is_finished(const struct seen_gang *g); /* as its object said last */

/* "DeactivatedDueToX" is the reason Deactivated with the cause X; pods that were late have the cause that PodsReady tells. In the arena. */
void workload_eviction_parts(struct arena *a, const struct json *workload, const char *reason, const char **ret_reason,
                             const char **ret_cause);
/* status.schedulingStats.evictions with one more of these. */
struct json *workload_evictions_counted(struct arena *a, const struct json *workload, const char *reason, const char *cause);

#endif
