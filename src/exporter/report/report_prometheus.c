/* report_prometheus.c - instant queries, joined by pod */
#include "exporter/report/report_prometheus.h"
#include <math.h>
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/memory.h"
#include "wire/json.h"

#define ANSWER_MAX_BYTES (256u << 20)
#define TIMEOUT_MS 120000 /* Prometheus' own --query.timeout */

static const char *const counter_names[] = {
#define X(name, text) text,
    REPORT_COUNTERS(X)
#undef X
};

/* How often it is looked whether a GPU is there: often enough for the span, and not much more often than it is scraped. */
static double capacity_step_s(double span_s)
{
    double step_s = floor(span_s / 100);
    return step_s < 15 ? 15 : step_s > 300 ? 300 : step_s;
}

void report_prometheus_query(struct buf *out, enum report_counter counter, double since_s, double until_s)
{
    _cleanup_buf_ struct buf promql = {0};
    double span_s = ceil(until_s - since_s);
    bool is_info = counter == REPORT_COUNTER_INFO;
    const char *more = is_info ? ", job_name, user" : counter == REPORT_COUNTER_WASTED ? ", class" : "";
    double step_s = capacity_step_s(span_s);
    if (counter == REPORT_COUNTER_CAPACITY)
        buf_printf(&promql, "sum by (node, instance, product) (count_over_time(%s{parent_uuid=\"\"}[%.0fs:%.0fs])) * %.0f",
                   counter_names[counter], span_s < step_s ? step_s : span_s, step_s, step_s);
    else
        buf_printf(&promql, "%s by (namespace, exported_namespace, pod, exported_pod, queue, node, instance%s) (%s(%s[%.0fs]))",
                   is_info ? "max" : "sum", more, is_info ? "last_over_time" : "increase", counter_names[counter], span_s < 1 ? 1 : span_s);
    buf_text(out, "/api/v1/query?query=");
    http_escape(out, promql.data);
    buf_printf(out, "&time=%.3f", until_s);
}

/* ---- joining ---- */

struct report_joining {
    struct map *records; /* "ns/pod" -> struct usage_record */
    struct map *capacity; /* "node\nmodel" -> struct usage_capacity */
    struct arena *arena;
};

struct report_joining *report_joining_new(void)
{
    struct report_joining *j = mem_zero(1, sizeof *j);
    j->records = map_new(sizeof(struct usage_record));
    j->capacity = map_new(sizeof(struct usage_capacity));
    j->arena = arena_new();
    return j;
}

void report_joining_free(struct report_joining *j)
{
    if (!j)
        return;
    map_free(j->records);
    map_free(j->capacity);
    arena_free(j->arena);
    free(j);
}

static const char *either(const struct json *metric, const char *first, const char *second)
{
    const char *text = json_get_text(metric, first, "");
    return *text ? text : json_get_text(metric, second, "");
}

static void know(struct report_joining *j, const char **text, const char *value)
{
    if (!**text && *value)
        *text = arena_text(j->arena, value);
}

/* NULL: of a pod that has used nothing. */
static struct usage_record *record_of(struct report_joining *j, enum report_counter counter, const struct json *metric)
{
    const char *ns = either(metric, "exported_namespace", "namespace"), *pod = either(metric, "exported_pod", "pod");
    const char *key = arena_printf(j->arena, "%s/%s", ns, pod);
    bool is_new;
    if (counter == REPORT_COUNTER_INFO && !map_find(j->records, bytes_of(key)))
        return NULL;
    struct usage_record *r = map_put(j->records, bytes_of(key), &is_new);
    if (is_new)
        *r = (struct usage_record){.uid = key,
                                   .ns = arena_text(j->arena, ns),
                                   .pod = arena_text(j->arena, pod),
                                   .job = "",
                                   .queue = "",
                                   .user = "",
                                   .node = "",
                                   .device_kind = "",
                                   .queue_wait_s = -1,
                                   .throttled_s = -1};
    know(j, &r->queue, json_get_text(metric, "queue", ""));
    know(j, &r->job, json_get_text(metric, "job_name", ""));
    know(j, &r->user, json_get_text(metric, "user", ""));
    know(j, &r->node, either(metric, "node", "instance"));
    return r;
}

static void add_value(struct usage_record *r, enum report_counter counter, const char *class, double value)
{
    switch (counter) {
    case REPORT_COUNTER_ALLOCATED:
        r->allocated_s += value;
        break;
    case REPORT_COUNTER_ACTIVE:
        r->active_s += value;
        break;
    case REPORT_COUNTER_ENERGY:
        r->energy_j += value;
        break;
    case REPORT_COUNTER_WASTED:
        if (text_equal(class, "no_process"))
            r->no_process_s += value;
        else if (text_equal(class, "idle"))
            r->idle_s += value;
        else if (text_equal(class, "low"))
            r->low_s += value;
        break;
    case REPORT_COUNTER_INFO:
    case REPORT_COUNTER_CAPACITY:
    case REPORT_COUNTERS_N:
        break;
    }
}

static void add_capacity(struct report_joining *j, const struct json *metric, double value)
{
    const char *node = either(metric, "node", "instance"), *model = json_get_text(metric, "product", "");
    struct usage_capacity *c = map_put(j->capacity, bytes_of(arena_printf(j->arena, "%s\n%s", node, model)), NULL);
    *c = (struct usage_capacity){arena_text(j->arena, node), arena_text(j->arena, model), c->gpu_s + value};
}

static int add_series(struct report_joining *j, enum report_counter counter, const struct json *series, struct err *e)
{
    const struct json *metric = json_get(series, "metric");
    const char *text = json_text(json_item(json_get(series, "value"), 1), "");
    char *end;
    double value = strtod(text, &end);
    if (!json_is(metric, JSON_OBJECT) || end == text || *end)
        return err_set(e, E_INVALID, "Prometheus: a series without labels or number in the answer");
    if (!isfinite(value) || value <= 0)
        return 0;
    if (map_count(j->records) > LIMIT_REPORT_PODS)
        return err_set(e, E_LIMIT, "more than %d pods: ask for a shorter span", LIMIT_REPORT_PODS);
    if (counter == REPORT_COUNTER_CAPACITY) {
        add_capacity(j, metric, value);
        return 0;
    }
    struct usage_record *r = record_of(j, counter, metric);
    if (r)
        add_value(r, counter, json_get_text(metric, "class", ""), value);
    return 0;
}

int report_joining_add(struct report_joining *j, enum report_counter counter, struct bytes body, struct err *e)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *answer = json_parse(a, body, NULL, NULL), *data = json_get(answer, "data");
    const char *status = json_get_text(answer, "status", "");
    if (!text_equal(status, "success") && !text_equal(status, "error"))
        return err_set(e, E_INVALID, "what answers is no Prometheus: give its URL, for example http://prometheus:9090");
    if (text_equal(status, "error"))
        return err_set(e, E_INVALID, "Prometheus: %s", json_get_text(answer, "error", "an error without text"));
    if (!text_equal(json_get_text(data, "resultType", ""), "vector"))
        return err_set(e, E_INVALID, "Prometheus: the answer is no vector");
    int r = 0;
    JSON_EACH (series, json_get(data, "result"))
        if (r == 0)
            r = add_series(j, counter, series, e);
    return r;
}

static int record_order(const void *a, const void *b)
{
    const struct usage_record *x = a, *y = b;
    int order = strcmp(x->ns, y->ns);
    return order ? order : strcmp(x->pod, y->pod);
}

static int capacity_order(const void *a, const void *b)
{
    const struct usage_capacity *x = a, *y = b;
    int order = strcmp(x->node, y->node);
    return order ? order : strcmp(x->model, y->model);
}

void report_joining_take(const struct report_joining *j, struct arena *a, struct report_input *ret_input)
{
    uint32_t n = 0, capacity_n = 0;
    struct usage_record *records = arena_zero(a, map_count(j->records) + 1, sizeof *records);
    struct usage_capacity *capacity = arena_zero(a, map_count(j->capacity) + 1, sizeof *capacity);
    size_t at = 0;
    struct bytes key;
    for (const struct usage_record *from; (from = map_next(j->records, &at, &key)); n++) {
        struct usage_record *r = &records[n];
        *r = *from;
        const char **const texts[] = {&r->uid, &r->ns, &r->pod, &r->queue, &r->job, &r->user, &r->node};
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            *texts[i] = arena_text(a, *texts[i]);
    }
    at = 0;
    for (const struct usage_capacity *from; (from = map_next(j->capacity, &at, &key)); capacity_n++)
        capacity[capacity_n] = (struct usage_capacity){arena_text(a, from->node), arena_text(a, from->model), from->gpu_s};
    qsort(records, n, sizeof *records, record_order);
    qsort(capacity, capacity_n, sizeof *capacity, capacity_order);
    *ret_input = (struct report_input){records, n, capacity, capacity_n};
}

/* ---- asking ---- */

/* Errors of the client name the whole URL; the query in it is long, and not what is wrong. */
static void leave_out_query(struct err *e)
{
    char *query = strchr(e->text, '?'), *rest = query ? strstr(query, "&time=") : NULL;
    if (rest && (rest = strstr(rest, ": ")))
        memmove(query, rest, strlen(rest) + 1);
}

static int ask(struct http_client *c, const char *prefix, struct report_joining *j, enum report_counter counter, double since_s,
               double until_s, struct err *e)
{
    _cleanup_buf_ struct buf path = {0}, body = {0};
    int status = 0;
    buf_text(&path, prefix);
    report_prometheus_query(&path, counter, since_s, until_s);
    struct http_call call = {
        .method = "GET", .path = path.data, .timeout_ms = TIMEOUT_MS, .answer_max_bytes = ANSWER_MAX_BYTES};
    struct err failed = {0};
    e = e ? e : &failed;
    int r = http_client_fetch(c, &call, &body, &status, e);
    if (r < 0) {
        leave_out_query(e);
        return err_wrap(e, "Prometheus");
    }
    struct err said = {0};
    r = report_joining_add(j, counter, buf_view(&body), &said);
    if (r < 0 && *prefix && (status == 401 || status == 403))
        return err_set(e, E_DENIED, "HTTP %d from %s: it needs the right to get services/proxy; or name it with --prometheus", status,
                       prefix);
    if (r < 0 && status != 200)
        return err_set(e, E_PROTO, "HTTP %d: %s", status, said.text);
    if (r < 0)
        *e = said;
    return r;
}

int report_prometheus_read(struct http_client *c, const char *prefix, double since_s, double until_s, struct arena *a,
                           struct report_input *ret_input, struct err *e)
{
    struct report_joining *j = report_joining_new();
    int r = 0;
    for (int counter = 0; r == 0 && counter < REPORT_COUNTERS_N; counter++)
        r = ask(c, prefix, j, (enum report_counter)counter, since_s, until_s, e);
    if (r == 0)
        report_joining_take(j, a, ret_input);
    report_joining_free(j);
    return r;
}
