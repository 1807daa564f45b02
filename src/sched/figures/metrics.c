#include "sched/figures/metrics.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/memory.h"

enum counter { RESERVED, ADMITTED, EVICTED, PREEMPTED, COUNTERS_N };
enum wait { RESERVED_WAIT, ADMITTED_WAIT, WAITS_N };
struct family {
    const char *name, *help;
};
static const struct family counters[COUNTERS_N] = {
    [RESERVED] = {"kueue_quota_reserved_workloads_total", "Workloads for which quota was reserved"},
    [ADMITTED] = {"kueue_admitted_workloads_total", "Workloads admitted"},
    [EVICTED] = {"kueue_evicted_workloads_total", "Workloads that had to give back what they had, by reason"},
    [PREEMPTED] = {"kueue_preempted_workloads_total", "Workloads evicted for one of preempting_cluster_queue"},
};
static const struct family waits[WAITS_N] = {
    [RESERVED_WAIT] = {"kueue_quota_reserved_wait_time_seconds", "Time between being queued, or queued again, and the reservation of quota"},
    [ADMITTED_WAIT] = {"kueue_admission_wait_time_seconds", "Time between being queued, or queued again, and admission"},
};

/* SOURCE Kueue: 1, then 2.5 and its doublings. */
static const double wait_bounds[] = {1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240};
/* Prometheus' usual bounds from 5 ms on; most decisions take far less. */
static const double decision_bounds[] = {0.00001, 0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
enum { BOUNDS_N = sizeof wait_bounds / sizeof *wait_bounds };
static_assert(sizeof wait_bounds == sizeof decision_bounds, "one size of histogram");

struct histogram {
    uint64_t below[BOUNDS_N], n; /* below: each alone */
    double sum;
};

struct metrics {
    struct map *counted[COUNTERS_N]; /* labels as they are written -> uint64_t */
    struct map *waited[WAITS_N];     /* -> struct histogram */
    uint64_t decisions[2];           /* that admitted nobody, somebody */
    struct histogram took[2];
};

struct metrics *metrics_new(void)
{
    struct metrics *m = mem_zero(1, sizeof *m);
    for (int i = 0; i < COUNTERS_N; i++)
        m->counted[i] = map_new(sizeof(uint64_t));
    for (int i = 0; i < WAITS_N; i++)
        m->waited[i] = map_new(sizeof(struct histogram));
    return m;
}

void metrics_free(struct metrics *m)
{
    if (!m)
        return;
    for (int i = 0; i < COUNTERS_N; i++)
        map_free(m->counted[i]);
    for (int i = 0; i < WAITS_N; i++)
        map_free(m->waited[i]);
    free(m);
}

/* ---- counting ---- */

static void observe(struct histogram *h, const double *bounds, double value)
{
    uint32_t i = 0;
    while (i < BOUNDS_N && value > bounds[i])
        i++;
    if (i < BOUNDS_N)
        h->below[i]++;
    h->n++;
    h->sum += value;
}

/* The value of these labels, zero when they are new. */
static void *value_of(struct map *m, const struct prometheus_label *labels, uint32_t n)
{
    _cleanup_buf_ struct buf text = {0};
    prometheus_labels_render(&text, labels, n);
    return map_put(m, buf_view(&text), NULL);
}

static void count(struct metrics *m, enum counter which, const struct prometheus_label *labels, uint32_t n)
{
    ++*(uint64_t *)value_of(m->counted[which], labels, n);
}

void metrics_decided(struct metrics *m, double seconds, bool admitted)
{
    m->decisions[admitted]++;
    observe(&m->took[admitted], decision_bounds, seconds);
}

static void let_in(struct metrics *m, enum counter counter, enum wait wait, const char *queue, const char *class, double waited_s)
{
    const struct prometheus_label labels[] = {{"cluster_queue", queue}, {"priority_class", class}};
    count(m, counter, labels, 2);
    observe(value_of(m->waited[wait], labels, 2), wait_bounds, waited_s);
}

void metrics_reserved(struct metrics *m, const char *queue, const char *class, double waited_s)
{
    let_in(m, RESERVED, RESERVED_WAIT, queue, class, waited_s);
}

void metrics_admitted(struct metrics *m, const char *queue, const char *class, double waited_s)
{
    let_in(m, ADMITTED, ADMITTED_WAIT, queue, class, waited_s);
}

void metrics_evicted(struct metrics *m, const char *queue, const char *class, const char *reason)
{
    const struct prometheus_label labels[] = {
        {"cluster_queue", queue}, {"reason", reason}, {"underlying_cause", ""}, {"priority_class", class}};
    count(m, EVICTED, labels, 4);
}

void metrics_preempted(struct metrics *m, const char *queue, const char *reason)
{
    const struct prometheus_label labels[] = {{"preempting_cluster_queue", queue}, {"reason", reason}};
    count(m, PREEMPTED, labels, 2);
}

/* Labels as they are written begin with the queue's. */
static void forget(struct map *m, struct bytes first)
{
    size_t at = 0;
    struct bytes key;
    while (map_next(m, &at, &key))
        if (key.n > first.n && memcmp(key.data, first.data, first.n) == 0 && (key.data[first.n] == ',' || key.data[first.n] == '}'))
            (void)map_remove(m, key);
}

void metrics_forget_queue(struct metrics *m, const char *queue)
{
    static const char *const names[] = {"cluster_queue", "preempting_cluster_queue"};
    for (int k = 0; k < 2; k++) {
        _cleanup_buf_ struct buf text = {0};
        prometheus_labels_render(&text, &(struct prometheus_label){names[k], queue}, 1);
        struct bytes first = {text.data, text.n - 1}; /* without the brace */
        for (int i = 0; i < COUNTERS_N; i++)
            forget(m->counted[i], first);
        for (int i = 0; i < WAITS_N; i++)
            forget(m->waited[i], first);
    }
}

/* ---- writing ---- */

/* "{a="b"}" and more labels behind. Good until the next call with this buf. */
static struct bytes with(struct buf *out, struct bytes labels, const char *role, const char *more, double bound)
{
    buf_clear(out);
    buf_add(out, labels.data, labels.n - 1);
    buf_printf(out, ",replica_role=\"%s\"", role);
    if (more) {
        buf_printf(out, ",%s=\"", more);
        prometheus_number(out, bound);
        buf_char(out, '"');
    }
    buf_char(out, '}');
    return buf_view(out);
}

static void histogram_write(struct prometheus_page *page, const struct histogram *h, const double *bounds, struct bytes labels,
                            const char *role)
{
    _cleanup_buf_ struct buf text = {0};
    uint64_t sum = 0;
    for (uint32_t i = 0; i < BOUNDS_N; i++) {
        sum += h->below[i];
        prometheus_suffix_rendered(page, "_bucket", with(&text, labels, role, "le", bounds[i]), (double)sum);
    }
    prometheus_suffix_rendered(page, "_bucket", with(&text, labels, role, "le", HUGE_VAL), (double)h->n);
    prometheus_suffix_rendered(page, "_sum", with(&text, labels, role, NULL, 0), h->sum);
    prometheus_suffix_rendered(page, "_count", with(&text, labels, role, NULL, 0), (double)h->n);
}

static void decisions_write(const struct metrics *m, struct prometheus_page *page, const char *role)
{
    static const char *const results[2] = {"{result=\"inadmissible\"}", "{result=\"success\"}"};
    _cleanup_buf_ struct buf text = {0};
    prometheus_family(page, "kueue_admission_attempts_total", PROMETHEUS_COUNTER,
                      "Decisions, by whether somebody was admitted by them");
    for (int i = 0; i < 2; i++)
        prometheus_sample_rendered(page, with(&text, bytes_of(results[i]), role, NULL, 0), (double)m->decisions[i]);
    prometheus_family(page, "kueue_admission_attempt_duration_seconds", PROMETHEUS_HISTOGRAM, "How long a decision took");
    for (int i = 0; i < 2; i++)
        histogram_write(page, &m->took[i], decision_bounds, bytes_of(results[i]), role);
}

void metrics_write(const struct metrics *m, struct prometheus_page *page, const char *role)
{
    _cleanup_buf_ struct buf text = {0};
    struct bytes labels;
    decisions_write(m, page, role);
    for (int i = 0; i < COUNTERS_N; i++) {
        prometheus_family(page, counters[i].name, PROMETHEUS_COUNTER, counters[i].help);
        const uint64_t *n;
        for (size_t at = 0; (n = map_next(m->counted[i], &at, &labels));)
            prometheus_sample_rendered(page, with(&text, labels, role, NULL, 0), (double)*n);
    }
    for (int i = 0; i < WAITS_N; i++) {
        prometheus_family(page, waits[i].name, PROMETHEUS_HISTOGRAM, waits[i].help);
        const struct histogram *h;
        for (size_t at = 0; (h = map_next(m->waited[i], &at, &labels));)
            histogram_write(page, h, wait_bounds, labels, role);
    }
}
