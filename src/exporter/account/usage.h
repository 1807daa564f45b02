/* usage.h - GPU-hours: what each pod was given and what it used, kept by the hour
 *
 *     agent: account_drain ─▶ node annotation / file ─▶ usage store (embedded server's SQLite, or a file) ─▶ report
 *     scheduler: admission and queue wait of each gang ──────────────────▲
 *
 * What comes in are totals since the pod began; what is kept are the increments, in slices of an hour, so that a report for any span of
 * hours is exact to the hour and writing twice counts once. Totals of a pod that started later than the one known (a wiped node, a name
 * used again) count from 0; a writer that comes back with older totals of the same start counts again where it had left off.
 * SOURCE docs/design/0004-usage.md
 */
#ifndef EXPORTER_USAGE_H
#define EXPORTER_USAGE_H
#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"

struct usage_record {
    const char *uid, *ns, *pod, *job, *queue, *user, *node, *device_kind; /* device_kind: product or MIG profile */
    double start_s, end_s;          /* end 0: still running */
    double queue_wait_s;            /* from creation to admission; -1 unknown */
    double allocated_s, active_s;   /* GPU-seconds */
    double memory_high_bytes, memory_granted_bytes, energy_j;
    double no_process_s, idle_s, low_s, throttled_s; /* GPU-seconds by class of waste: account.h; throttled_s -1 unknown */
    double idle_tail_s;             /* since the last activity; not summed */
};
struct usage_store;
int usage_open(const char *path, struct usage_store **ret_u, struct err *e); /* SQLite file; made when absent */
/* For usage_since alone: writes nothing, needs no right to. -E_NOTFOUND, -E_INVALID: it is no usage store. */
int usage_open_to_read(const char *path, struct usage_store **ret_u, struct err *e);
void usage_close(struct usage_store *u);
/* Totals as of now_s: the difference to the last totals goes into the hour of now_s. Empty texts do not replace known ones. One
 * transaction. */
int usage_put(struct usage_store *u, const struct usage_record *records, uint32_t n, double now_s, struct err *e);
/* What each pod was given and used in the hours that overlap [since, until), by (ns, pod, uid). */
int usage_since(struct usage_store *u, struct arena *a, double since_s, double until_s, struct usage_record **ret_records, uint32_t *ret_n,
                struct err *e);
/* What a node had, whether anybody was given it or not: the other side of the account. */
struct usage_capacity {
    const char *node, *model; /* model: the product's name; "" unknown */
    double gpu_s;             /* GPU-seconds of physical GPUs */
};
/* What was there since the last call: increments, into the hour of now_s. One transaction; after a failure none of it is kept. */
int usage_put_capacity(struct usage_store *u, const struct usage_capacity *more, uint32_t n, double now_s, struct err *e);
/* The hours that overlap [since, until), by (node, model). *ret_n 0: nothing is known of it, as in stores of before. */
int usage_capacity_since(struct usage_store *u, struct arena *a, double since_s, double until_s, struct usage_capacity **ret_rows,
                         uint32_t *ret_n, struct err *e);
/* The beginning of the first hour of which the store knows anything. False: of none. */
bool usage_begin(struct usage_store *u, double *ret_s);
/* Forget slices that ended before `before_s`, and pods without slices. */
int usage_prune(struct usage_store *u, double before_s, struct err *e);

#endif
