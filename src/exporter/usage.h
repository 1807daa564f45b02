/* usage.h - GPU-hours: what each pod was given and what it used, kept as records; and the report made of them
 *
 *     agent: account_drain ─▶ node annotation / file ─▶ usage store (embedded server's SQLite, or a file) ─▶ report
 *     scheduler: admission and queue wait of each gang ──────────────────▲
 *
 * One record per pod (key: uid): later ones replace it, so that writing twice counts once. SOURCE monitoring.md 8.3, 9.3
 */
#ifndef EXPORTER_USAGE_H
#define EXPORTER_USAGE_H
#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"

struct usage_record {
    const char *uid, *ns, *pod, *job, *queue, *user, *node, *device_kind; /* device_kind: product or MIG profile */
    double start_s, end_s;          /* end 0: still running */
    double queue_wait_s;            /* from creation to admission */
    double allocated_s, active_s;   /* GPU-seconds */
    double memory_high_bytes, memory_granted_bytes, energy_j;
    double no_process_s, idle_s, low_s, throttled_s, idle_tail_s;
};
struct usage_store;
int usage_open(const char *path, struct usage_store **ret_u, struct err *e); /* SQLite file; made when absent */
void usage_close(struct usage_store *u);
int usage_put(struct usage_store *u, const struct usage_record *records, uint32_t n, struct err *e);
int usage_since(struct usage_store *u, struct arena *a, double since_s, double until_s, struct usage_record **ret_records, uint32_t *ret_n,
                struct err *e);

enum report_by { REPORT_BY_NAMESPACE, REPORT_BY_QUEUE, REPORT_BY_USER, REPORT_BY_JOB, REPORT_BY_POD, REPORT_BY_NODE };
struct report_row {
    const char *key;
    uint32_t pods_n;
    double allocated_h, active_h, efficiency, memory_high, queue_wait_s, energy_kwh; /* memory_high: part of what was granted; -1 unknown */
    double waste_no_process_h, waste_idle_h, waste_low_h, waste_throttled_h;
};
/* Rows by allocated hours, largest first; a total row is the caller's. Records are cut to [since, until]. */
uint32_t report_make(struct arena *a, const struct usage_record *records, uint32_t n, enum report_by by, double since_s, double until_s,
                     struct report_row **ret_rows);
/* A page that a manager reads: bars of allocated and active hours, waste by class, a table; no scripts, no outside files. */
void report_html(struct buf *out, const struct report_row *rows, uint32_t n, enum report_by by, double since_s, double until_s,
                 const char *cluster);

#endif
