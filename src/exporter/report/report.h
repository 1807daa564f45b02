/* report.h - usage records summed by team, queue, user, job, pod or node, and as a page for managers. Pure. */
#ifndef EXPORTER_REPORT_H
#define EXPORTER_REPORT_H
#include "exporter/account/usage.h"

#define REPORT_BYS(X)                                                                                                  \
    X(NAMESPACE, "namespace")                                                                                          \
    X(QUEUE, "queue")                                                                                                  \
    X(USER, "user")                                                                                                    \
    X(JOB, "job")                                                                                                      \
    X(POD, "pod")                                                                                                      \
    X(NODE, "node")
enum report_by {
#define X(name, text) REPORT_BY_##name,
    REPORT_BYS(X)
#undef X
};
bool report_by_parse(const char *text, enum report_by *ret_by);
const char *report_by_name(enum report_by by);

struct report_row {
    const char *key;        /* "ml-training", "ns/pod"; "-" where nothing is known */
    uint32_t pods_n;
    double allocated_h, active_h; /* GPU-hours */
    double efficiency;      /* active / allocated; -1: nothing was allocated */
    double memory_high;     /* the highest part of the granted memory that was used, weighted by hours; -1 unknown */
    double queue_wait_s;    /* mean of the pods of which it is known; -1 none */
    double energy_kwh;
    double no_process_h, idle_h, low_h; /* waste by class; the classes exclude each other */
    double throttled_h;     /* with lowered clocks; -1 unknown */
};
/* Rows by allocated hours, largest first, then by key. */
uint32_t report_make(struct arena *a, const struct usage_record *records, uint32_t n, enum report_by by,
                     struct report_row **ret_rows);
struct report_row report_total(const struct usage_record *records, uint32_t n); /* key "total" */

struct report_page {
    const char *cluster;    /* for the title; "" none */
    enum report_by by;
    double since_s, until_s;
    const struct report_row *rows;
    uint32_t rows_n;
    struct report_row total;
};
/* One HTML file without scripts and outside files: what was given and used as bars, where the rest went, and the table. */
void report_html(struct buf *out, const struct report_page *page);

#endif
