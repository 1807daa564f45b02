#include "sched/figures/metrics.h"
#include <math.h>
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/memory.h"

enum { OF_QUEUE, OF_LOCAL_QUEUE, OWNERS_N };
enum part { PART_REASON = 1, PART_CAUSE = 2, PART_CLASS = 4 };
struct family {
    const char *names[OWNERS_N]; /* NULL: not counted for such */
    const char *help;
    unsigned parts;              /* enum part: labels behind those of the queue */
    uint32_t bounds_n[OWNERS_N];
};
#define QUEUE_AND_LOCAL(name) {"kueue_" name, "kueue_local_queue_" name}
#define EVICTION (PART_REASON | PART_CAUSE | PART_CLASS)
static const struct family counts[METRICS_COUNTS_N] = {
    [METRICS_RESERVED] = {QUEUE_AND_LOCAL("quota_reserved_workloads_total"), "Workloads for which quota was reserved", PART_CLASS},
    [METRICS_ADMITTED] = {QUEUE_AND_LOCAL("admitted_workloads_total"), "Workloads admitted", PART_CLASS},
    [METRICS_FINISHED] = {QUEUE_AND_LOCAL("finished_workloads_total"), "Workloads that finished", PART_CLASS},
    [METRICS_EVICTED] = {QUEUE_AND_LOCAL("evicted_workloads_total"), "Workloads that had to give back what they had, by reason", EVICTION},
    [METRICS_EVICTED_ONCE] = {{"kueue_evicted_workloads_once_total", NULL}, "Workloads evicted, each once for each reason", EVICTION},
};
/* SOURCE Kueue, for how far each goes. */
enum { USUAL = 14, LONG = 16 };
static const struct family times[METRICS_TIMES_N] = {
    [METRICS_RESERVED_WAIT] = {QUEUE_AND_LOCAL("quota_reserved_wait_time_seconds"),
                               "Time between being queued, or queued again, and the reservation of quota", PART_CLASS, {USUAL, USUAL}},
    [METRICS_ADMITTED_WAIT] = {QUEUE_AND_LOCAL("admission_wait_time_seconds"),
                               "Time between being queued, or queued again, and admission", PART_CLASS, {LONG, USUAL}},
    [METRICS_CHECKS_WAIT] = {QUEUE_AND_LOCAL("admission_checks_wait_time_seconds"),
                             "Time between the reservation of quota and admission", PART_CLASS, {USUAL, USUAL}},
    [METRICS_READY_WAIT] = {QUEUE_AND_LOCAL("ready_wait_time_seconds"),
                            "Time between being queued, or queued again, and all pods being ready", PART_CLASS, {USUAL, USUAL}},
    [METRICS_START_WAIT] = {QUEUE_AND_LOCAL("admitted_until_ready_wait_time_seconds"),
                            "Time between admission and all pods being ready", PART_CLASS, {USUAL, USUAL}},
    [METRICS_RUN] = {QUEUE_AND_LOCAL("execution_time_seconds"),
                     "Time for which a finished workload was admitted, all its admissions together", PART_CLASS, {LONG, LONG}},
    [METRICS_READY_RUN] = {{"kueue_pods_ready_to_evicted_time_seconds", NULL},
                           "Time between all pods being ready and eviction", PART_REASON | PART_CAUSE, {USUAL, 0}},
    [METRICS_LEAVING] = {{"kueue_workload_eviction_latency_seconds", NULL},
                         "Time between eviction and the return of the quota", PART_REASON, {USUAL, 0}},
};

/* SOURCE Kueue: 1, then 2.5 and its doublings. */
static const double wait_bounds[LONG] = {1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240, 20480, 40960};
/* Prometheus' usual bounds from 5 ms on; most decisions take far less. */
static const double decision_bounds[USUAL] = {0.00001, 0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

/* Prometheus' usual bounds. */
enum { GATE = 11 };
static const double gate_bounds[GATE] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

struct histogram {
    uint64_t below[LONG], n; /* below: each alone */
    double sum;
};

struct metrics {
    struct map *counted[METRICS_COUNTS_N][OWNERS_N]; /* labels as they are written -> uint64_t */
    struct map *timed[METRICS_TIMES_N][OWNERS_N];    /* -> struct histogram */
    struct map *preempted, *below_cohort;            /* -> uint64_t */
    struct map *ungated;                             /* -> struct histogram */
    uint64_t decisions[2];                           /* that admitted nobody, somebody */
    struct histogram took[2];
};

struct metrics *metrics_new(void)
{
    struct metrics *m = mem_zero(1, sizeof *m);
    for (int o = 0; o < OWNERS_N; o++) {
        for (int i = 0; i < METRICS_COUNTS_N; i++)
            m->counted[i][o] = map_new(sizeof(uint64_t));
        for (int i = 0; i < METRICS_TIMES_N; i++)
            m->timed[i][o] = map_new(sizeof(struct histogram));
    }
    m->preempted = map_new(sizeof(uint64_t));
    m->below_cohort = map_new(sizeof(uint64_t));
    m->ungated = map_new(sizeof(struct histogram));
    return m;
}

void metrics_free(struct metrics *m)
{
    if (!m)
        return;
    for (int o = 0; o < OWNERS_N; o++) {
        for (int i = 0; i < METRICS_COUNTS_N; i++)
            map_free(m->counted[i][o]);
        for (int i = 0; i < METRICS_TIMES_N; i++)
            map_free(m->timed[i][o]);
    }
    map_free(m->preempted);
    map_free(m->below_cohort);
    map_free(m->ungated);
    free(m);
}

/* ---- counting ---- */

static void observe(struct histogram *h, const double *bounds, uint32_t bounds_n, double value)
{
    uint32_t i = 0;
    while (i < bounds_n && value > bounds[i])
        i++;
    if (i < bounds_n)
        h->below[i]++;
    h->n++;
    h->sum += value;
}

void *metrics_value_of(struct map *m, const struct prometheus_label *labels, uint32_t n)
{
    _cleanup_buf_ struct buf text = {0};
    prometheus_labels_render(&text, labels, n);
    return map_put(m, buf_view(&text), NULL);
}

/* NULL: it is not counted for such an owner, or it has none. */
static void *value_for(struct map *m, const struct family *f, int owner, const struct metrics_whose *whose)
{
    struct prometheus_label labels[5];
    uint32_t n = 0;
    if (!f->names[owner] || !*(owner == OF_QUEUE ? whose->queue : whose->name))
        return NULL;
    if (owner == OF_QUEUE) {
        labels[n++] = (struct prometheus_label){"cluster_queue", whose->queue};
    } else {
        labels[n++] = (struct prometheus_label){"name", whose->name};
        labels[n++] = (struct prometheus_label){"namespace", whose->ns};
    }
    if (f->parts & PART_REASON)
        labels[n++] = (struct prometheus_label){"reason", whose->reason};
    if (f->parts & PART_CAUSE)
        labels[n++] = (struct prometheus_label){"underlying_cause", whose->cause};
    if (f->parts & PART_CLASS)
        labels[n++] = (struct prometheus_label){"priority_class", whose->class};
    return metrics_value_of(m, labels, n);
}

void metrics_decided(struct metrics *m, double seconds, bool admitted)
{
    m->decisions[admitted]++;
    observe(&m->took[admitted], decision_bounds, USUAL, seconds);
}

void metrics_count(struct metrics *m, enum metrics_count which, const struct metrics_whose *whose)
{
    for (int o = 0; o < OWNERS_N; o++) {
        uint64_t *n = value_for(m->counted[which][o], &counts[which], o, whose);
        if (n)
            ++*n;
    }
}

void metrics_time(struct metrics *m, enum metrics_time which, const struct metrics_whose *whose, double seconds)
{
    for (int o = 0; o < OWNERS_N; o++) {
        struct histogram *h = value_for(m->timed[which][o], &times[which], o, whose);
        if (h)
            observe(h, wait_bounds, times[which].bounds_n[o], seconds > 0 ? seconds : 0);
    }
}

void metrics_ungated(struct metrics *m, const char *gate, const char *queue, bool is_group, double seconds)
{
    const struct prometheus_label labels[] = {{"cluster_queue", queue}, {"is_group", is_group ? "true" : "false"}, {"name", gate}};
    observe(metrics_value_of(m->ungated, labels, 3), gate_bounds, GATE, seconds > 0 ? seconds : 0);
}

void metrics_preempted(struct metrics *m, const char *queue, const char *reason)
{
    const struct prometheus_label labels[] = {{"preempting_cluster_queue", queue}, {"reason", reason}};
    ++*(uint64_t *)metrics_value_of(m->preempted, labels, 2);
}

void metrics_cohort_admitted(struct metrics *m, const char *cohort, const char *class)
{
    const struct prometheus_label labels[] = {{"cohort", cohort}, {"priority_class", class}};
    ++*(uint64_t *)metrics_value_of(m->below_cohort, labels, 2);
}

/* Labels as they are written begin with these. */
static void forget(struct map *m, const struct prometheus_label *labels, uint32_t n)
{
    _cleanup_buf_ struct buf text = {0};
    struct bytes key;
    prometheus_labels_render(&text, labels, n);
    struct bytes first = {text.data, text.n - 1}; /* without the brace */
    for (size_t at = 0; map_next(m, &at, &key);)
        if (key.n > first.n && memcmp(key.data, first.data, first.n) == 0 && (key.data[first.n] == ',' || key.data[first.n] == '}'))
            (void)map_remove(m, key);
}

static void forget_owner(struct metrics *m, int owner, const struct prometheus_label *labels, uint32_t n)
{
    for (int i = 0; i < METRICS_COUNTS_N; i++)
        forget(m->counted[i][owner], labels, n);
    for (int i = 0; i < METRICS_TIMES_N; i++)
        forget(m->timed[i][owner], labels, n);
}

void metrics_forget_queue(struct metrics *m, const char *queue)
{
    forget_owner(m, OF_QUEUE, &(struct prometheus_label){"cluster_queue", queue}, 1);
    forget(m->preempted, &(struct prometheus_label){"preempting_cluster_queue", queue}, 1);
    forget(m->ungated, &(struct prometheus_label){"cluster_queue", queue}, 1);
}

void metrics_forget_local_queue(struct metrics *m, const char *ns, const char *name)
{
    const struct prometheus_label labels[] = {{"name", name}, {"namespace", ns}};
    forget_owner(m, OF_LOCAL_QUEUE, labels, 2);
}

void metrics_keep_cohorts(struct metrics *m, bool (*is_there)(const void *arg, struct bytes name), const void *arg)
{
    static const char before[] = "{cohort=\"";
    struct bytes key;
    for (size_t at = 0; map_next(m->below_cohort, &at, &key);) {
        const char *name = key.data + sizeof before - 1, *end = memchr(name, '"', key.n - (sizeof before - 1)); /* names need no escapes */
        if (!is_there(arg, (struct bytes){name, (size_t)(end - name)}))
            (void)map_remove(m->below_cohort, key);
    }
}

void metrics_forget_cohort(struct metrics *m, const char *cohort)
{
    forget(m->below_cohort, &(struct prometheus_label){"cohort", cohort}, 1);
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

static void histogram_write(struct prometheus_page *page, const struct histogram *h, const double *bounds, uint32_t bounds_n,
                            struct bytes labels, const char *role)
{
    _cleanup_buf_ struct buf text = {0};
    uint64_t sum = 0;
    for (uint32_t i = 0; i < bounds_n; i++) {
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
        histogram_write(page, &m->took[i], decision_bounds, USUAL, bytes_of(results[i]), role);
}

static void counter_write(const struct map *counted, struct prometheus_page *page, const char *name, const char *help, const char *role)
{
    _cleanup_buf_ struct buf text = {0};
    struct bytes labels;
    const uint64_t *n;
    prometheus_family(page, name, PROMETHEUS_COUNTER, help);
    for (size_t at = 0; (n = map_next(counted, &at, &labels));)
        prometheus_sample_rendered(page, with(&text, labels, role, NULL, 0), (double)*n);
}

static void histograms_write(const struct map *timed, struct prometheus_page *page, const char *name, const char *help,
                             const double *bounds, uint32_t bounds_n, const char *role)
{
    const struct histogram *h;
    struct bytes labels;
    prometheus_family(page, name, PROMETHEUS_HISTOGRAM, help);
    for (size_t at = 0; (h = map_next(timed, &at, &labels));)
        histogram_write(page, h, bounds, bounds_n, labels, role);
}

void metrics_write(const struct metrics *m, struct prometheus_page *page, const char *role)
{
    decisions_write(m, page, role);
    for (int o = 0; o < OWNERS_N; o++) {
        for (int i = 0; i < METRICS_COUNTS_N; i++)
            if (counts[i].names[o])
                counter_write(m->counted[i][o], page, counts[i].names[o], counts[i].help, role);
        for (int i = 0; i < METRICS_TIMES_N; i++)
            if (times[i].names[o])
                histograms_write(m->timed[i][o], page, times[i].names[o], times[i].help, wait_bounds, times[i].bounds_n[o], role);
    }
    histograms_write(m->ungated, page, "kueue_pod_scheduling_gate_removal_seconds",
                     "Time between the admission of a Workload and the removal of a gate from a pod of it", gate_bounds, GATE, role);
    counter_write(m->preempted, page, "kueue_preempted_workloads_total", "Workloads evicted for one of preempting_cluster_queue", role);
    counter_write(m->below_cohort, page, "kueue_cohort_subtree_admitted_workloads_total", "Workloads admitted anywhere below the Cohort",
                  role);
}
