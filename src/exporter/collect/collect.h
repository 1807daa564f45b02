/* collect.h - once a period: measure, map, account, publish one sample; the driver may hang, this does not
 *
 *     timer ─▶ driver.measure (worker threads, deadline) ─▶ processes ─▶ pods ─▶ account ─▶ sample ─▶ listeners
 *
 * The first samples come soon (a rate needs two), then one a period. At most one measurement is in flight; a period that finds one is
 * skipped and counted. After two periods without a new sample the device families are gone from the page and gpu_agent_collect_stalled is 1
 * (exporter/pages/page.h asks collect_state).
 */
#ifndef EXPORTER_COLLECT_H
#define EXPORTER_COLLECT_H
#include "agent/inventory/slot_state.h"
#include "exporter/account/account.h"
#include "exporter/collect/pods.h"
#include "exporter/sample.h"

struct collect_config {
    int64_t period_ms;            /* 15000; >= 100 */
    uint64_t wanted[(MEASURE_N + 63) / 64];
    const char *root;             /* of pods; not read here */
    const char *hostname;
    uint32_t processes_max;       /* series cap: 2000 processes; further ones are counted */
    int64_t xid_window_ms, clock_window_ms; /* 0: SAMPLE_WINDOW_MS */
    bool session_label_index;     /* label of MIG units by MIG index instead of GPU instance id */
    const struct inventory *slicings; /* who knows how units were cut when slots were handed out; NULL: the inventory itself */
};
struct collect;
/* ORDER  freed before driver, inventory, pods and account. */
struct collect *collect_new(struct loop *l, struct driver *d, struct inventory *i, struct pods *p, struct account *a,
                            const struct collect_config *config);
void collect_free(struct collect *c);
void collect_now(struct collect *c); /* out of turn, e.g. after an event */
/* Measure these from the next collection on (other counters were asked for). */
void collect_want(struct collect *c, const uint64_t wanted[(MEASURE_N + 63) / 64]);
void collect_resources(struct collect *c, const struct resource_table *t); /* shares of resources; what counts is copied */
/* An XID, by itself or as one event of many; others are ignored. Without a GPU's UUID it counts on every GPU. */
void collect_xid(struct collect *c, const struct driver_event *event);
void collect_listen(struct collect *c, void (*fn)(void *arg, const struct sample *s), void *arg);
const struct sample *collect_last(const struct collect *c); /* NULL: none yet; borrowed */
struct collect_offer { /* of one resource */
    char *name;
    uint32_t slots_n[SLOT_STATES_N]; /* in each state */
};
struct collect_state {
    bool stalled, driver_loaded; /* a node without GPUs does not stall: it has no sample */
    double last_success_s;
    uint64_t collections_n, skipped_n, failures_n;
    uint64_t processes_dropped_n, xids_dropped_n; /* beyond a limit: processes of each collection, XIDs of each event */
    double duration_sum_s;
    uint64_t duration_buckets[12]; /* le 1, 2.5, 5, 10, 25, 50, 100, 250, 500 ms, 1, 2.5 s, +Inf: cumulative */
    const struct measure_error *errors; /* summed since the start */
    uint32_t errors_n;
    const struct collect_offer *offers; /* what the agent offers, by name of the resource */
    uint32_t offers_n;
};
void collect_state(const struct collect *c, struct collect_state *ret_state);

#endif
