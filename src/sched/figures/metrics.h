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

/* Whose it is. Text is never NULL. */
struct metrics_whose {
    const char *queue;     /* ClusterQueue; "" = it has none */
    const char *ns, *name; /* of the LocalQueue */
    const char *class;     /* its WorkloadPriorityClass or PriorityClass, "" = none */
    const char *reason;    /* of the condition Evicted, without its cause; "" where nothing is evicted */
    const char *cause;     /* what was behind that reason; "" = nothing more */
};
/* Workloads, counted for the ClusterQueue and for the LocalQueue. */
enum metrics_count {
    METRICS_RESERVED,
    METRICS_ADMITTED,
    METRICS_FINISHED,
    METRICS_EVICTED,
    METRICS_EVICTED_ONCE, /* the first time for this reason and cause */
    METRICS_COUNTS_N
};
enum metrics_time {
    METRICS_RESERVED_WAIT, /* queued, or queued again, until quota was reserved */
    METRICS_ADMITTED_WAIT, /* the same until admitted */
    METRICS_CHECKS_WAIT,   /* reserved until admitted */
    METRICS_READY_WAIT,    /* queued, or queued again, until its pods were ready for the first time */
    METRICS_START_WAIT,    /* admitted until then */
    METRICS_RUN,           /* admitted until finished, and all times that it was admitted before */
    METRICS_READY_RUN,     /* its pods were ready until it was evicted */
    METRICS_LEAVING,       /* evicted until it gave its quota back */
    METRICS_TIMES_N
};
void metrics_count(struct metrics *m, enum metrics_count which, const struct metrics_whose *whose);
void metrics_time(struct metrics *m, enum metrics_time which, const struct metrics_whose *whose, double seconds);
/* queue: whose workload made it necessary; reason: of the condition Preempted. */
void metrics_preempted(struct metrics *m, const char *queue, const char *reason);
/* A scheduling gate of Kueue's was taken from a pod so long after its Workload was admitted. */
void metrics_ungated(struct metrics *m, const char *gate, const char *queue, bool is_group, double seconds);
/* Somebody below this cohort was admitted. */
void metrics_cohort_admitted(struct metrics *m, const char *cohort, const char *class);
/* Of Cohorts that are there no more, those that only queues named among them. */
void metrics_keep_cohorts(struct metrics *m, bool (*is_there)(const void *arg, struct bytes name), const void *arg);
void metrics_forget_queue(struct metrics *m, const char *queue);
void metrics_forget_local_queue(struct metrics *m, const char *ns, const char *name);
void metrics_forget_cohort(struct metrics *m, const char *cohort);

/* What a map by labels, as they are written, has for these; zero when they are new. */
struct map;
void *metrics_value_of(struct map *m, const struct prometheus_label *labels, uint32_t n);

/* role: "leader", "follower", "standalone". */
void metrics_write(const struct metrics *m, struct prometheus_page *page, const char *role);

#endif
