/* metrics.h - what a scheduler has done, counted as Kueue counts it: names and labels are Kueue's, so that dashboards and alerts go on
 *
 * SHAPE  counters and histograms by label values; a series begins with its first event, and goes with its ClusterQueue. What stands in
 *        queues now is not kept here: sched/serve/page.c takes it from core when somebody asks.
 * UNIT   seconds.
 * SOURCE Kueue, pkg/metrics: kueue_quota_reserved_workloads_total and so on; Prometheus, naming.
 */
#ifndef SCHED_METRICS_H
#define SCHED_METRICS_H
#include "wire/prometheus.h"

struct metrics;
struct metrics *metrics_new(void);
void metrics_free(struct metrics *m); /* NULL-safe */

/* One decision: how long it took, and whether somebody was admitted by it. */
void metrics_decided(struct metrics *m, double seconds, bool admitted);
/* The object shows it. waited_s: since it was queued. class: the name of its WorkloadPriorityClass or PriorityClass, "" = none. */
void metrics_reserved(struct metrics *m, const char *queue, const char *class, double waited_s);
void metrics_admitted(struct metrics *m, const char *queue, const char *class, double waited_s);
/* reason: of its condition Evicted. */
void metrics_evicted(struct metrics *m, const char *queue, const char *class, const char *reason);
/* queue: whose workload made it necessary; reason: of the condition Preempted. */
void metrics_preempted(struct metrics *m, const char *queue, const char *reason);
void metrics_forget_queue(struct metrics *m, const char *queue);

/* role: "leader", "follower", "standalone". */
void metrics_write(const struct metrics *m, struct prometheus_page *page, const char *role);

#endif
