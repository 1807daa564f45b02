/* page_workloads.c - what is counted Workload by Workload: what waits and for which reason, what it asks for, what is over
 *
 * WHY    counted when somebody asks, by one walk over all Workloads and one over those that hold quota: nothing can go wrong by and by.
 *        bench/page.c has what it takes.
 */
#include <math.h>
#include "base/collections/map.h"
#include "codec/configuration/metrics_policy.h"
#include "sched/figures/metrics.h"
#include "sched/serve/page_part.h"
#include "sched/workload_metrics.h"

struct local_seen {
    int32_t active_n, finished_n;
    const struct local_usage *usage; /* NULL: nobody knows its ClusterQueue */
};
struct walk {
    const struct page_writing *w;
    struct arena *scratch; /* of one object */
    struct map *locals;   /* "ns/name" -> struct local_seen */
    struct map *finished; /* ClusterQueue -> int64_t */
    struct map *asked;    /* labels as they are written -> double */
    struct map *unadmitted[2]; /* by ClusterQueue, by LocalQueue: labels as they are written -> int64_t */
};

static void see_asked(struct walk *x, const struct seen_gang *g, const char *queue)
{
    struct amount *rows;
    arena_reset(x->scratch);
    uint32_t n = state_gang_asks(x->w->s->state, g->key, x->scratch, &rows);
    for (uint32_t i = 0; i < n; i++) {
        const char *resource = intern_name(x->w->s->names, rows[i].resource);
        const struct prometheus_label labels[] = {{"cluster_queue", queue}, {"resource", resource}, {"replica_role", x->w->role}};
        *(double *)metrics_value_of(x->asked, labels, 3) += page_amount(resource, rows[i].value);
    }
}

/* reason: of its condition Admitted; cause: of QuotaReserved, "" = it has quota. */
static void see_unadmitted(struct walk *x, const char *local, const char *queue, const char *reason, const char *cause)
{
    char ns[256];
    const char *name;
    pod_key_split(local, ns, &name);
    const struct prometheus_label labels[] = {{"name", name},     {"namespace", ns},           {"cluster_queue", queue},
                                              {"reason", reason}, {"underlying_cause", cause}, {"replica_role", x->w->role}};
    ++*(int64_t *)metrics_value_of(x->unadmitted[0], &labels[2], 4);
    if (map_find_text(x->locals, local))
        ++*(int64_t *)metrics_value_of(x->unadmitted[1], labels, 6);
}

static void see(struct walk *x, const struct seen_gang *g)
{
    const struct scheduler *s = x->w->s;
    const char *local = intern_name(s->names, g->local_queue);
    const char *queue = kube_cache_marked(s->sources[SOURCE_LOCAL_QUEUES].cache, local);
    struct local_seen *l = map_find_text(x->locals, local);
    enum gang_phase phase = state_gang_phase(s->state, g->key);
    if (!*queue)
        return;
    if (workload_metrics_is_finished(g)) {
        ++*(int64_t *)map_put(x->finished, bytes_of(queue), NULL);
        if (l)
            l->finished_n++;
        return;
    }
    if (phase == GANG_CHECKING)
        see_unadmitted(x, local, queue, g->code ? g->code : OBJECT_AWAITS_CHECKS, "");
    if (phase != GANG_WAITING)
        return;
    see_unadmitted(x, local, queue, "NoReservation", g->code ? g->code : "PendingEvaluation");
    see_asked(x, g, queue);
    if (l && state_gang_is_active(s->state, g->key))
        l->active_n++;
}

static void rendered_write(const struct page_writing *w, const char *name, const char *help, const struct map *m)
{
    const int64_t *n;
    struct bytes labels;
    prometheus_family(w->page, name, PROMETHEUS_GAUGE, help);
    for (size_t at = 0; (n = map_next(m, &at, &labels));)
        prometheus_sample_rendered(w->page, labels, (double)*n);
}

static void queues_write(struct walk *x, const struct page_queue *queues, uint32_t n)
{
    const struct page_writing *w = x->w;
    struct bytes labels;
    const double *asked;
    prometheus_family(w->page, "kueue_finished_workloads", PROMETHEUS_GAUGE, "Workloads that have finished and are still there");
    for (uint32_t i = 0; i < n; i++) {
        const int64_t *finished = map_find_text(x->finished, queues[i].name);
        page_sample(w, finished ? (double)*finished : 0, "cluster_queue", queues[i].name, NULL);
    }
    rendered_write(w, "kueue_unadmitted_workloads", "Workloads that are not admitted, by reason", x->unadmitted[0]);
    prometheus_family(w->page, "kueue_cluster_queue_resource_pending", PROMETHEUS_GAUGE, "What all that waits asks for");
    for (size_t at = 0; (asked = map_next(x->asked, &at, &labels));)
        prometheus_sample_rendered(w->page, labels, *asked);
}

/* ---- LocalQueues ---- */

enum local_column { LOCAL_ACTIVE, LOCAL_INADMISSIBLE, LOCAL_FINISHED, LOCAL_RESERVING, LOCAL_ADMITTED };

static void local_column_write(struct walk *x, const char *name, const char *help, enum local_column first, enum local_column last)
{
    const struct scheduler *s = x->w->s;
    const struct local_seen *l;
    struct bytes key;
    prometheus_family(x->w->page, name, PROMETHEUS_GAUGE, help);
    for (size_t at = 0; (l = map_next(x->locals, &at, &key));) {
        struct queue_counts counts;
        char ns[256];
        const char *local;
        pod_key_split(key.data, ns, &local);
        if (!state_local_queue_counts(s->state, intern_find(s->names, key), &counts))
            continue;
        const int32_t values[] = {l->active_n, counts.pending_n - l->active_n, l->finished_n, counts.reserving_n, counts.admitted_n};
        for (int c = (int)first; c <= (int)last; c++)
            page_sample(x->w, values[c], "name", local, "namespace", ns, first == last ? NULL : "status",
                        c == LOCAL_ACTIVE ? "active" : "inadmissible", NULL);
    }
}

static void local_status_write(struct walk *x)
{
    static const char *const words[] = {"True", "False", "Unknown"};
    const struct kube_cache *cache = x->w->s->sources[SOURCE_LOCAL_QUEUES].cache;
    struct bytes key, raw;
    prometheus_family(x->w->page, "kueue_local_queue_status", PROMETHEUS_GAUGE, "1 for what the LocalQueue's condition Active says, else 0");
    for (size_t at = 0; kube_cache_next(cache, &at, &key, &raw);) {
        arena_reset(x->scratch);
        const struct json *object = json_parse(x->scratch, raw, NULL, NULL);
        if (!map_find(x->locals, key))
            continue;
        const char *is = json_get_text(object_condition(object, "Active"), "status", "Unknown");
        for (int i = 0; i < 3; i++)
            page_sample(x->w, strcmp(is, words[i]) == 0, "name", object_meta(object, "name"), "namespace", object_meta(object, "namespace"),
                        "active", words[i], NULL);
    }
}

static void local_resources_write(struct walk *x, bool used)
{
    const struct scheduler *s = x->w->s;
    const struct local_seen *l;
    struct bytes key;
    prometheus_family(x->w->page, used ? "kueue_local_queue_resource_usage" : "kueue_local_queue_resource_reservation", PROMETHEUS_GAUGE,
                      used ? "What admitted workloads of the LocalQueue use" : "What is reserved by workloads of the LocalQueue");
    for (size_t at = 0; (l = map_next(x->locals, &at, &key));) {
        char ns[256];
        const char *local;
        pod_key_split(key.data, ns, &local);
        for (uint32_t i = 0; l->usage && i < l->usage->rows_n; i++) {
            const struct queue_usage *row = &l->usage->rows[i];
            const char *resource = intern_name(s->names, row->resource);
            page_sample(x->w, page_amount(resource, used ? row->used : row->reserved), "name", local, "namespace", ns, "flavor",
                        intern_name(s->names, row->flavor), "resource", resource, NULL);
        }
    }
}

static void local_entries_write(struct walk *x)
{
    const struct scheduler *s = x->w->s;
    struct bytes key;
    prometheus_family(x->w->page, "capstan_local_queue_entry_penalty", PROMETHEUS_GAUGE,
                      "What counts as used by the LocalQueue already, of workloads that have quota and are not admitted yet");
    for (size_t at = 0; map_next(x->locals, &at, &key);) {
        struct consumption_look look;
        char ns[256];
        const char *local;
        pod_key_split(key.data, ns, &local);
        if (!state_local_queue_consumption(s->state, intern_find(s->names, key), x->w->a, &look))
            continue;
        for (uint32_t i = 0; i < look.entries_n; i++)
            page_sample(x->w, (double)look.entries[i].units + look.entries[i].nano / 1e9, "name", local, "namespace", ns, "resource",
                        intern_name(s->names, look.entries[i].resource), NULL);
    }
}

/* SOURCE Kueue: consumed and on entry, by the weights; +Inf where the LocalQueue's is 0. */
static void local_consumption_write(struct walk *x)
{
    const struct scheduler *s = x->w->s;
    const struct local_seen *l;
    struct bytes key;
    if (!s->config.policy.consumption.on)
        return;
    prometheus_family(x->w->page, "kueue_local_queue_admission_fair_sharing_usage", PROMETHEUS_GAUGE,
                      "What the LocalQueue has used of late, all resources by their weights, divided by its own");
    for (size_t at = 0; (l = map_next(x->locals, &at, &key));) {
        struct consumption_look look;
        char ns[256];
        const char *local;
        pod_key_split(key.data, ns, &local);
        if (state_local_queue_consumption(s->state, intern_find(s->names, key), x->w->a, &look))
            page_sample(x->w, look.share == INT64_MAX ? INFINITY : (double)look.share / 1000, "name", local, "namespace", ns, "cluster_queue",
                        kube_cache_marked(s->sources[SOURCE_LOCAL_QUEUES].cache, key.data), NULL);
    }
    local_entries_write(x);
}

static void locals_write(struct walk *x)
{
    local_column_write(x, "kueue_local_queue_pending_workloads", "Workloads of the LocalQueue that wait, as kueue_pending_workloads",
                       LOCAL_ACTIVE, LOCAL_INADMISSIBLE);
    local_column_write(x, "kueue_local_queue_finished_workloads", "Workloads of the LocalQueue that have finished and are still there",
                       LOCAL_FINISHED, LOCAL_FINISHED);
    local_column_write(x, "kueue_local_queue_reserving_active_workloads",
                       "Of a LocalQueue: workloads that have quota and have not finished", LOCAL_RESERVING, LOCAL_RESERVING);
    local_column_write(x, "kueue_local_queue_admitted_active_workloads",
                       "Of a LocalQueue: workloads that are admitted and have not finished", LOCAL_ADMITTED, LOCAL_ADMITTED);
    rendered_write(x->w, "kueue_local_queue_unadmitted_workloads", "Workloads of the LocalQueue that are not admitted, by reason",
                   x->unadmitted[1]);
    local_status_write(x);
    local_resources_write(x, false);
    local_resources_write(x, true);
    local_consumption_write(x);
}

static bool is_named(struct walk *x, struct bytes local_queue)
{
    if (!x->w->s->config.metrics || !x->w->s->config.metrics->chosen)
        return true;
    arena_reset(x->scratch);
    return workload_metrics_names(x->w->s, json_parse(x->scratch, local_queue, NULL, NULL));
}

static void see_locals(struct walk *x)
{
    const struct scheduler *s = x->w->s;
    struct bytes key, raw;
    struct local_usage *usage;
    for (size_t at = 0; kube_cache_next(s->sources[SOURCE_LOCAL_QUEUES].cache, &at, &key, &raw);)
        if (is_named(x, raw))
            (void)map_put(x->locals, key, NULL);
    uint32_t n = state_local_queues_usage(s->state, x->w->a, &usage);
    for (uint32_t i = 0; i < n; i++) {
        struct local_seen *l = map_find_text(x->locals, intern_name(s->names, usage[i].local_queue));
        if (l)
            l->usage = &usage[i];
    }
}

void page_workloads(const struct page_writing *w, const struct page_queue *queues, uint32_t n)
{
    struct walk x = {.w = w, .scratch = arena_new(), .locals = map_new(sizeof(struct local_seen)), .finished = map_new(sizeof(int64_t)),
                     .asked = map_new(sizeof(double)),
                     .unadmitted = {map_new(sizeof(int64_t)), map_new(sizeof(int64_t))}};
    struct bytes key;
    struct seen_gang **gang;
    see_locals(&x);
    for (size_t at = 0; (gang = map_next(w->s->gangs, &at, &key));)
        if ((*gang)->source == GANG_WORKLOAD && (*gang)->has_object)
            see(&x, *gang);
    queues_write(&x, queues, n);
    locals_write(&x);
    map_free(x.locals);
    map_free(x.finished);
    map_free(x.asked);
    map_free(x.unadmitted[0]);
    map_free(x.unadmitted[1]);
    arena_free(x.scratch);
}
