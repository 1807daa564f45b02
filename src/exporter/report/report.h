/* report.h - usage summed by team, queue, user, job, pod, node or model, with what was there and what it costs. Pure.
 *
 *     capacity = given to nobody + given          given = used + wasted + rest (between kernels, starting, loading data)
 *
 * UNIT   GPU-hours: a whole physical GPU for an hour; a slice of 1 of 7 counts a seventh. Money: whatever the prices are in.
 * WASTE  what was given and not used, in one of the classes of account.h; never more than what was not used.
 */
#ifndef EXPORTER_REPORT_H
#define EXPORTER_REPORT_H
#include "exporter/account/usage.h"
#include "exporter/report/report_price.h"

#define REPORT_BYS(X)                                                                                                  \
    X(NAMESPACE, "namespace")                                                                                          \
    X(QUEUE, "queue")                                                                                                  \
    X(USER, "user")                                                                                                    \
    X(JOB, "job")                                                                                                      \
    X(POD, "pod")                                                                                                      \
    X(NODE, "node")                                                                                                    \
    X(MODEL, "model")                                                                                                  \
    X(DAY, "day")                                                                                                      \
    X(WEEK, "week")                                                                                                    \
    X(MONTH, "month") /* the last three: of whole spans, report_period.h */
enum report_by {
#define X(name, text) REPORT_BY_##name,
    REPORT_BYS(X)
#undef X
};
bool report_by_parse(const char *text, enum report_by *ret_by);
const char *report_by_name(enum report_by by);

#define REPORT_SORTS(X) X(GIVEN, "given") X(USED, "used") X(WASTED, "wasted") X(COST, "cost") X(WAIT, "wait") X(NAME, "name")
enum report_sort {
#define X(name, text) REPORT_SORT_##name,
    REPORT_SORTS(X)
#undef X
};

/* All that is known of a span. */
struct report_input {
    struct usage_record *records;
    uint32_t records_n;
    struct usage_capacity *capacity;
    uint32_t capacity_n; /* 0: not known */
};
/* Who had a MIG device or a share is told to have had the model of its GPU, as far as capacity says what its node has. */
void report_settle_models(struct report_input *in);
/* Keeps those records whose namespace, queue and user are these; NULL: any. Then nothing is said of capacity: it is no team's. */
void report_filter(struct report_input *in, const char *ns, const char *queue, const char *user);

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
    double wasted_h;
    double capacity_h, free_h; /* free: given to nobody. -1: not known, or of a row that has no capacity of its own */
    double cost, wasted_cost, free_cost; /* -1: there are no prices; free_cost as free_h */
    double unpriced_h;      /* given, of models without a price: in no cost */
    const struct report_row *before; /* of the span that it is compared with; NULL: there is none */
};
/* Rows by allocated hours, largest first, then by key. prices NULL: none. */
uint32_t report_make(struct arena *a, const struct report_input *in, enum report_by by, const struct report_prices *prices,
                     struct report_row **ret_rows);
struct report_row report_total(const struct report_input *in, const struct report_prices *prices); /* key "total" */
/* The largest first, names from A on; equal ones by key. */
void report_sort(struct report_row *rows, uint32_t n, enum report_sort sort);
/* Those behind the first `most` become one row, "12 others"; its wait and memory are means by pods and hours. Returns how many rows. */
uint32_t report_cut(struct arena *a, struct report_row *rows, uint32_t n, uint32_t most);
/* Each row of `rows` with that of `before` of the same key; who had something before and nothing now gets a row of nothing. */
uint32_t report_compare(struct arena *a, struct report_row **rows, uint32_t n, const struct report_row *before, uint32_t before_n);
/* By how much hours per hour of the span have changed, as part of what they were: spans need not be equally long. False: from nothing. */
bool report_change(double now_h, double now_span_s, double before_h, double before_span_s, double *ret_change);

#endif
