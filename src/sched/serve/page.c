/* page.c - the scheduler as Prometheus reads it: what stands in the queues now, and what was done
 *
 * SHAPE  gauges are taken from core and from the queues' objects when somebody asks; counters are kept (figures/metrics.h).
 * SOURCE names and labels: Kueue, docs "Prometheus Metrics"; what Kueue has no name for is called capstan_.
 */
#include <math.h>
#include "codec/decode/decode.h"
#include "sched/serve/page_part.h"

enum { COHORTS_DEEP = 64 }; /* a chain that is longer is a circle */

static const char *role_of(const struct scheduler *s)
{
    return !s->config.leader_elect ? "standalone" : s->leading ? "leader" : "follower";
}

/* ---- queues ---- */

struct queue_seen {
    const char *name, *cohort, *root;
    bool terminating, active;
    struct queue_counts counts;
    int32_t active_n, inadmissible_n, active_shapes_n, inadmissible_shapes_n;
    struct queue_usage *rows;
    uint32_t rows_n;
};

static const char *root_of(const struct page_writing *w, const char *cohort)
{
    for (int i = 0; i < COHORTS_DEEP; i++) {
        const struct json *object = source_get(w->s, SOURCE_COHORTS, arena_printf(w->a, "/%s", cohort), w->a);
        const char *parent = json_text(json_path(object, "spec", "parentName", NULL), "");
        if (!*parent)
            return cohort;
        cohort = parent;
    }
    return "";
}

static uint32_t read_queues(const struct page_writing *w, struct queue_seen **ret_queues)
{
    const struct kube_cache *cache = w->s->sources[SOURCE_QUEUES].cache;
    struct bytes key, raw;
    uint32_t n = 0;
    struct queue_seen *all = arena_zero(w->a, kube_cache_count(cache) + 1, sizeof *all);
    for (size_t at = 0; kube_cache_next(cache, &at, &key, &raw);) {
        const struct json *object = json_parse(w->a, raw, NULL, NULL);
        struct queue_seen *q = &all[n];
        q->name = object_meta(object, "name");
        name_id id = intern_find(w->s->names, bytes_of(q->name));
        if (!id || !state_queue_counts(w->s->state, id, &q->counts))
            continue;
        q->cohort = json_text(decode_queue_cohort(json_get(object, "spec")), "");
        q->root = *q->cohort ? root_of(w, q->cohort) : "";
        q->terminating = object_deleting(object);
        q->active = !q->terminating && !state_queue_problem(w->s->state, id, w->a);
        q->active_n = state_queue_active_n(w->s->state, id);
        q->inadmissible_n = q->counts.pending_n - q->active_n - state_queue_held_n(w->s->state, id);
        state_queue_shapes_n(w->s->state, id, &q->active_shapes_n, &q->inadmissible_shapes_n);
        q->rows_n = state_queue_usage(w->s->state, id, w->a, &q->rows);
        n++;
    }
    *ret_queues = all;
    return n;
}

static void queue_counts_write(const struct page_writing *w, const struct queue_seen *q, uint32_t n)
{
    prometheus_family(w->page, "kueue_pending_workloads", PROMETHEUS_GAUGE,
                      "Workloads that wait; active: they only wait for their turn, inadmissible: something has to change first");
    for (uint32_t i = 0; i < n; i++) {
        page_sample(w, q[i].active_n, "cluster_queue", q[i].name, "status", "active", NULL);
        page_sample(w, q[i].inadmissible_n, "cluster_queue", q[i].name, "status", "inadmissible", NULL);
    }
    prometheus_family(w->page, "kueue_pending_scheduling_hashes", PROMETHEUS_GAUGE,
                      "How many different things the Workloads ask for that wait; active and inadmissible as of those");
    for (uint32_t i = 0; i < n; i++) {
        page_sample(w, q[i].active_shapes_n, "cluster_queue", q[i].name, "status", "active", NULL);
        page_sample(w, q[i].inadmissible_shapes_n, "cluster_queue", q[i].name, "status", "inadmissible", NULL);
    }
    prometheus_family(w->page, "kueue_reserving_active_workloads", PROMETHEUS_GAUGE, "Workloads that have quota and have not finished");
    for (uint32_t i = 0; i < n; i++)
        page_sample(w, q[i].counts.reserving_n, "cluster_queue", q[i].name, NULL);
    prometheus_family(w->page, "kueue_admitted_active_workloads", PROMETHEUS_GAUGE, "Workloads that are admitted and have not finished");
    for (uint32_t i = 0; i < n; i++)
        page_sample(w, q[i].counts.admitted_n, "cluster_queue", q[i].name, NULL);
}

static void queue_status_write(const struct page_writing *w, const struct queue_seen *q, uint32_t n)
{
    static const char *const words[] = {"pending", "active", "terminating"};
    prometheus_family(w->page, "kueue_cluster_queue_status", PROMETHEUS_GAUGE, "1 for the status that the ClusterQueue has, else 0");
    for (uint32_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            page_sample(w, k == (q[i].terminating ? 2 : q[i].active), "cluster_queue", q[i].name, "status", words[k], NULL);
    prometheus_family(w->page, "kueue_cluster_queue_info", PROMETHEUS_GAUGE, "1; where the ClusterQueue stands");
    for (uint32_t i = 0; i < n; i++)
        page_sample(w, 1, "cluster_queue", q[i].name, "parent_cohort", q[i].cohort, "root_cohort", q[i].root, NULL);
}

enum column { RESERVATION, USAGE, NOMINAL, BORROWING_LIMIT, LENDING_LIMIT, COLUMNS_N };

static int64_t amount_in(const struct queue_usage *row, enum column column)
{
    switch (column) {
    case RESERVATION:
        return row->reserved;
    case USAGE:
        return row->used;
    case NOMINAL:
        return row->nominal;
    case BORROWING_LIMIT:
        return row->borrowing_limit;
    case LENDING_LIMIT:
        return row->lending_limit;
    case COLUMNS_N:
        break;
    }
    return NO_LIMIT;
}

static void resources_write(const struct page_writing *w, const struct queue_seen *q, uint32_t n)
{
    static const struct {
        const char *name, *help;
    } families[COLUMNS_N] = {
        {"kueue_cluster_queue_resource_reservation", "What is reserved, in cores, bytes or pieces"},
        {"kueue_cluster_queue_resource_usage", "What admitted workloads use of it"},
        {"kueue_cluster_queue_nominal_quota", "The ClusterQueue's own quota"},
        {"kueue_cluster_queue_borrowing_limit", "How much it may borrow; +Inf without a limit"},
        {"kueue_cluster_queue_lending_limit", "How much of its own it lends; +Inf without a limit"},
    };
    for (int f = 0; f < COLUMNS_N; f++) {
        prometheus_family(w->page, families[f].name, PROMETHEUS_GAUGE, families[f].help);
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t r = 0; r < q[i].rows_n; r++) {
                const char *resource = intern_name(w->s->names, q[i].rows[r].resource);
                int64_t amount = amount_in(&q[i].rows[r], (enum column)f);
                page_sample(w, amount == NO_LIMIT ? HUGE_VAL : page_amount(resource, amount), "cohort", q[i].cohort, "cluster_queue",
                            q[i].name, "flavor", intern_name(w->s->names, q[i].rows[r].flavor), "resource", resource, NULL);
            }
    }
}

/* ---- the process ---- */

static void one(const struct page_writing *w, const char *name, enum prometheus_type type, const char *help, double value)
{
    prometheus_family(w->page, name, type, help);
    prometheus_sample(w->page, NULL, 0, value);
}

static void process_write(const struct page_writing *w)
{
    const struct scheduler_counts *c = &w->s->counts;
    prometheus_family(w->page, "capstan_build_info", PROMETHEUS_GAUGE, "1; which Capstan this is");
    prometheus_sample(w->page, &(struct prometheus_label){"version", CAPSTAN_VERSION}, 1, 1);
    one(w, "capstan_scheduler_synced", PROMETHEUS_GAUGE, "1 when everything has been read", w->s->synced);
    one(w, "capstan_scheduler_leading", PROMETHEUS_GAUGE, "1 when this one decides", w->s->leading);
    one(w, "capstan_changes_total", PROMETHEUS_COUNTER, "Changes of objects and answers that were taken in", (double)c->changes_n);
    one(w, "capstan_binds_total", PROMETHEUS_COUNTER, "Pods bound to nodes", (double)c->binds_n);
    one(w, "capstan_bind_failures_total", PROMETHEUS_COUNTER, "Bindings that the API server refused", (double)c->bind_failures_n);
    one(w, "capstan_bind_waits_total", PROMETHEUS_COUNTER, "Bindings held back until another pod had its devices", (double)c->bind_waits_n);
    one(w, "capstan_binds_in_flight", PROMETHEUS_GAUGE, "Bindings whose answer is awaited", w->s->binds_in_flight_n);
    one(w, "capstan_requests_unanswered", PROMETHEUS_GAUGE, "Writes whose answer the API server owes",
        (double)kube_client_unanswered_n(w->s->client));
}

void scheduler_page(const struct scheduler *s, bool openmetrics, struct buf *out)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct prometheus_page page;
    struct page_writing w = {.s = s, .a = a, .page = &page, .role = role_of(s)};
    struct queue_seen *queues;
    prometheus_begin(&page, out, openmetrics);
    uint32_t n = read_queues(&w, &queues);
    queue_counts_write(&w, queues, n);
    queue_status_write(&w, queues, n);
    resources_write(&w, queues, n);
    struct page_queue *named = arena_zero(a, n + 1, sizeof *named);
    for (uint32_t i = 0; i < n; i++)
        named[i] = (struct page_queue){queues[i].name, queues[i].cohort};
    page_shares(&w, named, n);
    page_cohorts(&w);
    page_workloads(&w, named, n);
    page_volcano(&w);
    metrics_write(s->metrics, &page, w.role);
    process_write(&w);
    prometheus_end(&page);
}
