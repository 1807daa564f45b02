/* report_prometheus.h - the records of a report out of the agent's counters that a Prometheus has scraped
 *
 *     GET URL/api/v1/query?query=sum by (namespace, pod, ...) (increase(gpu_pod_allocated_seconds_total[SPAN]))&time=UNTIL
 *
 * One query a counter, and one for whose the pods are (gpu_pod_info); the answers are joined by (namespace, pod). Prometheus
 * extrapolates to the ends of the span and does not see what a counter had when it was first scraped: short pods come out a little low.
 * Queue wait, memory and throttling of a pod are not among the counters: unknown. Where the scrape did not honour labels
 * (exported_namespace, exported_pod), those are the pod's.
 * SOURCE docs/monitoring.md (names and labels); Prometheus' HTTP API
 */
#ifndef EXPORTER_REPORT_PROMETHEUS_H
#define EXPORTER_REPORT_PROMETHEUS_H
#include "exporter/report/report.h"
#include "net/http_client.h"

#define LIMIT_REPORT_PODS 200000

#define REPORT_COUNTERS(X)                                                                                             \
    X(ALLOCATED, "gpu_pod_allocated_seconds_total")                                                                    \
    X(ACTIVE, "gpu_pod_active_seconds_total")                                                                          \
    X(ENERGY, "gpu_pod_energy_joules_total")                                                                           \
    X(WASTED, "gpu_pod_wasted_seconds_total")                                                                          \
    X(INFO, "gpu_pod_info") /* last: it says something of pods that the others have named */
enum report_counter {
#define X(name, text) REPORT_COUNTER_##name,
    REPORT_COUNTERS(X)
#undef X
        REPORT_COUNTERS_N
};

void report_prometheus_query(struct buf *out, enum report_counter counter, double since_s, double until_s); /* path with query */

struct report_joining; /* records by (namespace, pod) */
struct report_joining *report_joining_new(void);
void report_joining_free(struct report_joining *j); /* NULL-safe */
/* The body of one answer. -E_INVALID, -E_LIMIT with what Prometheus said. */
int report_joining_add(struct report_joining *j, enum report_counter counter, struct bytes body, struct err *e);
/* By (ns, pod); everything stands in `a`. */
uint32_t report_joining_records(const struct report_joining *j, struct arena *a, struct usage_record **ret_records);

/* All of it, blocking: runs the client's loop. */
int report_prometheus_read(struct http_client *c, double since_s, double until_s, struct arena *a, struct usage_record **ret_records,
                           uint32_t *ret_n, struct err *e);

#endif
