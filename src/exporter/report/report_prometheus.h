/* report_prometheus.h - the records of a report out of the agent's counters that a Prometheus has scraped
 *
 *     GET URL/api/v1/query?query=sum by (namespace, pod, ...) (increase(gpu_pod_allocated_seconds_total[SPAN]))&time=UNTIL
 *
 * One query a counter, and one for whose the pods are (gpu_pod_info); the answers are joined by (namespace, pod). Prometheus
 * extrapolates to the ends of the span and does not see what a counter had when it was first scraped: short pods come out a little low.
 * What was there is counted by samples of gpu_device_info, one in so many minutes: a GPU whose agent was not scraped was not there.
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
    X(INFO, "gpu_pod_info") /* behind those: it says something of pods that they have named */                         \
    X(CAPACITY, "gpu_device_info")
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
/* Records by (ns, pod), capacity by (node, model); everything stands in `a`. */
void report_joining_take(const struct report_joining *j, struct arena *a, struct report_input *ret_input);

/* All of it, blocking: runs the client's loop. prefix: what stands in front of "/api/v1/query" where something forwards to Prometheus, or
 * "". */
int report_prometheus_read(struct http_client *c, const char *prefix, double since_s, double until_s, struct arena *a,
                           struct report_input *ret_input, struct err *e);

#endif
