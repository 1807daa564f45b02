/* workload_metrics.c - see workload_metrics.h; SOURCE Kueue: what is counted when, and since when time runs */
#include "sched/workload_metrics.h"
#include "base/clock.h"
#include "base/limits.h"
#include "codec/configuration/metrics_policy.h"
#include "codec/kinds/label_selector.h"
#include "sched/figures/workload_wait.h"

enum shown { SHOWN_AT_ALL = 1, SHOWN_FINISHED = 2, SHOWN_READY = 4, SHOWN_RESERVED = 8 };

/* name, or "": a queue that is gone has taken its series with it, and nothing would take them away again. */
static const char *if_there(const struct scheduler *s, enum source_id kind, const char *ns, const char *name)
{
    return kube_cache_raw(s->sources[kind].cache, ns, name).n ? name : "";
}

void scheduler_pod_ungated(struct scheduler *s, const char *gate, const char *queue, bool is_group, double seconds)
{
    if (*if_there(s, SOURCE_QUEUES, "", queue))
        metrics_ungated(s->metrics, gate, queue, is_group, seconds);
}

bool workload_metrics_names(const struct scheduler *s, const struct json *local_queue)
{
    const struct metrics_policy *p = s->config.metrics;
    return !p || !p->chosen || label_selector_matches(p->local_queues, json_path(local_queue, "metadata", "labels", NULL));
}

static const char *local_if_named(struct scheduler *s, const char *ns, const char *name)
{
    struct bytes raw = kube_cache_raw(s->sources[SOURCE_LOCAL_QUEUES].cache, ns, name);
    bool chosen = s->config.metrics && s->config.metrics->chosen;
    return raw.n && (!chosen || workload_metrics_names(s, json_parse(s->scratch, raw, NULL, NULL))) ? name : "";
}

static struct metrics_whose whose_of(struct scheduler *s, const struct json *workload, const char *queue)
{
    const char *ns = object_meta(workload, "namespace"), *name = json_text(json_path(workload, "spec", "queueName", NULL), "");
    return (struct metrics_whose){.queue = if_there(s, SOURCE_QUEUES, "", queue),
                                  .ns = ns,
                                  .name = local_if_named(s, ns, name),
                                  .class = json_text(json_path(workload, "spec", "priorityClassRef", "name", NULL), ""),
                                  .reason = "",
                                  .cause = ""};
}

/* When a condition last changed; fallback where it says no time. */
static int64_t since_ms(const struct json *workload, const char *type, int64_t fallback_ms)
{
    int64_t ms;
    const char *text = json_get_text(object_condition(workload, type), "lastTransitionTime", "");
    return time_parse(bytes_of(text), &ms) ? ms : fallback_ms;
}

static double seconds(int64_t from_ms, int64_t until_ms)
{
    return until_ms > from_ms ? (double)(until_ms - from_ms) / 1000 : 0;
}

void workload_metrics_gate_opened(void *scheduler, const char *gate, const char *workload, bool is_group)
{
    struct scheduler *s = scheduler;
    _cleanup_arena_ struct arena *a = arena_new();
    const char *slash = strchr(workload, '/');
    const struct json *object = kube_cache_get(s->sources[SOURCE_WORKLOADS].cache, arena_text_n(a, workload, (size_t)(slash - workload)),
                                               slash + 1, a);
    int64_t now_ms = loop_wall_ms(s->loop);
    if (object_condition_true(object, "Admitted"))
        scheduler_pod_ungated(s, gate, json_text(json_path(object, "status", "admission", "clusterQueue", NULL), ""), is_group,
                              seconds(since_ms(object, "Admitted", now_ms), now_ms));
}

void workload_eviction_parts(struct arena *a, const struct json *workload, const char *reason, const char **ret_reason,
                             const char **ret_cause)
{
    static const char due[] = "DeactivatedDueTo";
    *ret_reason = reason;
    *ret_cause = "";
    if (text_starts(reason, due)) {
        *ret_reason = "Deactivated";
        *ret_cause = arena_text(a, reason + sizeof due - 1);
    } else if (strcmp(reason, "PodsReadyTimeout") == 0) {
        *ret_cause = json_get_text(object_condition(workload, "PodsReady"), "reason", "WaitForStart");
    }
}

static bool is_of(const struct json *eviction, const char *reason, const char *cause)
{
    return strcmp(json_get_text(eviction, "reason", ""), reason) == 0 && strcmp(json_get_text(eviction, "underlyingCause", ""), cause) == 0;
}

static int64_t times_evicted(const struct json *workload, const char *reason, const char *cause)
{
    JSON_EACH (eviction, json_path(workload, "status", "schedulingStats", "evictions", NULL))
        if (is_of(eviction, reason, cause))
            return json_get_int64(eviction, "count", 0);
    return 0;
}

struct json *workload_evictions_counted(struct arena *a, const struct json *workload, const char *reason, const char *cause)
{
    const struct json *is = json_path(workload, "status", "schedulingStats", "evictions", NULL);
    struct json *list = json_is(is, JSON_ARRAY) ? json_clone(a, is) : json_new(a, JSON_ARRAY);
    JSON_EACH (eviction, list)
        if (is_of(eviction, reason, cause)) {
            json_set_int64(a, eviction, "count", json_get_int64(eviction, "count", 0) + 1);
            return list;
        }
    struct json *first = json_new(a, JSON_OBJECT);
    json_set_text(a, first, "reason", reason);
    json_set_text(a, first, "underlyingCause", cause);
    json_set_int64(a, first, "count", 1);
    json_append(list, first);
    return list;
}

/* ---- what we did ---- */

void workload_metrics_reserved(struct scheduler *s, const struct json *workload, const char *queue, int64_t now_ms)
{
    struct metrics_whose whose = whose_of(s, workload, queue);
    metrics_count(s->metrics, METRICS_RESERVED, &whose);
    metrics_time(s->metrics, METRICS_RESERVED_WAIT, &whose, (double)workload_waited_ms(workload, now_ms) / 1000);
}

void workload_metrics_admitted(struct scheduler *s, const struct json *workload, const char *queue, bool was_reserved, int64_t now_ms)
{
    struct metrics_whose whose = whose_of(s, workload, queue);
    double checks_s = was_reserved ? seconds(since_ms(workload, "QuotaReserved", now_ms), now_ms) : 0;
    name_id above[LIMIT_COHORT_DEPTH];
    uint32_t n = state_cohorts_above(s->state, intern_find(s->names, bytes_of(queue)), above, LIMIT_COHORT_DEPTH);
    metrics_count(s->metrics, METRICS_ADMITTED, &whose);
    metrics_time(s->metrics, METRICS_ADMITTED_WAIT, &whose, (double)workload_waited_ms(workload, now_ms) / 1000 + checks_s);
    if (was_reserved || json_item(json_path(workload, "status", "admissionChecks", NULL), 0))
        metrics_time(s->metrics, METRICS_CHECKS_WAIT, &whose, checks_s);
    for (uint32_t i = 0; i < n; i++)
        metrics_cohort_admitted(s->metrics, intern_name(s->names, above[i]), whose.class);
}

void workload_metrics_evicted(struct scheduler *s, const struct json *workload, const char *queue)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct metrics_whose whose = whose_of(s, workload, queue);
    int64_t evicted_ms = since_ms(workload, "Evicted", 0);
    workload_eviction_parts(a, workload, json_get_text(object_condition(workload, "Evicted"), "reason", ""), &whose.reason, &whose.cause);
    metrics_count(s->metrics, METRICS_EVICTED, &whose);
    if (times_evicted(workload, whose.reason, whose.cause) == 1)
        metrics_count(s->metrics, METRICS_EVICTED_ONCE, &whose);
    if (object_condition_true(workload, "PodsReady"))
        metrics_time(s->metrics, METRICS_READY_RUN, &whose, seconds(since_ms(workload, "PodsReady", evicted_ms), evicted_ms));
}

/* The queue for which it went: the end of "preemptor path: /cohort/queue;" in the condition's message. "" = it says none. */
static const char *preempting_queue(struct arena *a, const struct json *preempted)
{
    static const char before[] = "preemptor path: ";
    const char *path = strstr(json_get_text(preempted, "message", ""), before), *end = path ? strchr(path, ';') : NULL, *from = end;
    while (from && from > path + sizeof before - 1 && from[-1] != '/')
        from--;
    return from ? arena_text_n(a, from, (size_t)(end - from)) : "";
}

void workload_metrics_preempted(struct scheduler *s, struct arena *a, const struct json *workload)
{
    const struct json *preempted = object_condition_true(workload, "Preempted") ? object_condition(workload, "Preempted") : NULL;
    const char *queue = preempted ? preempting_queue(a, preempted) : "";
    if (*queue && *if_there(s, SOURCE_QUEUES, "", queue))
        metrics_preempted(s->metrics, queue, json_get_text(preempted, "reason", ""));
}

/* ---- what others may have done ---- */

static const char *queue_named(const struct json *workload)
{
    return json_text(json_path(workload, "status", "admission", "clusterQueue", NULL), "");
}

static void count_finished(struct scheduler *s, const struct json *workload)
{
    struct metrics_whose whose = whose_of(s, workload, queue_named(workload));
    int64_t end_ms = since_ms(workload, "Finished", 0);
    metrics_count(s->metrics, METRICS_FINISHED, &whose);
    if (object_condition_true(workload, "Admitted"))
        metrics_time(s->metrics, METRICS_RUN, &whose,
                     (double)json_int64(json_path(workload, "status", "accumulatedPastExecutionTimeSeconds", NULL), 0) +
                         seconds(since_ms(workload, "Admitted", end_ms), end_ms));
}

/* For the first time since it was admitted. */
static void count_ready(struct scheduler *s, const struct json *workload)
{
    struct metrics_whose whose = whose_of(s, workload, queue_named(workload));
    int64_t ready_ms = since_ms(workload, "PodsReady", 0), queued_ms = ready_ms;
    (void)time_parse(bytes_of(workload_queued_since(workload)), &queued_ms);
    metrics_time(s->metrics, METRICS_READY_WAIT, &whose, seconds(queued_ms, ready_ms));
    metrics_time(s->metrics, METRICS_START_WAIT, &whose, seconds(since_ms(workload, "Admitted", ready_ms), ready_ms));
}

static void count_left(struct scheduler *s, const struct seen_gang *g, const struct json *workload)
{
    int64_t now_ms = loop_wall_ms(s->loop);
    struct metrics_whose whose = whose_of(s, workload, intern_name(s->names, g->charged_queue));
    whose.reason = json_get_text(object_condition(workload, "Evicted"), "reason", "");
    metrics_time(s->metrics, METRICS_LEAVING, &whose, seconds(since_ms(workload, "Evicted", now_ms), now_ms));
}

bool workload_metrics_is_finished(const struct seen_gang *g)
{
    return (g->shown & SHOWN_FINISHED) != 0;
}

void workload_metrics_seen(struct scheduler *s, struct seen_gang *g, const struct json *workload)
{
    bool is_ready = object_condition_true(workload, "PodsReady") && object_condition_true(workload, "Admitted");
    uint8_t was = g->shown;
    g->shown = SHOWN_AT_ALL;
    g->shown |= object_condition_true(workload, "Finished") ? SHOWN_FINISHED : 0;
    g->shown |= is_ready ? SHOWN_READY : 0;
    g->shown |= object_condition_true(workload, "QuotaReserved") ? SHOWN_RESERVED : 0;
    uint8_t news = g->shown & (uint8_t)~was;
    if (was && s->leading) {
        if (news & SHOWN_FINISHED)
            count_finished(s, workload);
        if ((news & SHOWN_READY) && text_equal(json_get_text(object_condition(workload, "PodsReady"), "reason", ""), "Started"))
            count_ready(s, workload);
        if ((was & SHOWN_RESERVED) && !(g->shown & SHOWN_RESERVED) && g->charged_queue && object_condition_true(workload, "Evicted"))
            count_left(s, g, workload);
    }
    if (g->shown & SHOWN_RESERVED)
        g->charged_queue = intern_text_id(s->names, queue_named(workload));
}
