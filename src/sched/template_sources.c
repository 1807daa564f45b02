/* template_sources.c - LimitRanges and RuntimeClasses: what the API server will add to the pods of a Workload
 *
 * The decoder asks for them (codec/decode/template_rules.h). When one changes, the Workloads that wait in its namespace are read again.
 */
#include "sched/scheduler.h"

enum { RULE_LIMIT_RANGES, RULE_RUNTIME_CLASSES, RULES_N };
struct template_sources {
    struct scheduler *scheduler;
    struct kube_cache *caches[RULES_N];
};

static const struct json *limit_ranges(void *ctx, const char *ns, struct arena *a)
{
    const struct scheduler *s = ctx;
    const struct template_sources *t = s->template_sources;
    struct json *list = NULL;
    struct bytes key, raw;
    const char *prefix = arena_printf(a, "%s/", ns);
    /* WHY all of them: there is one a namespace at most times, and Workloads are read seldom. */
    for (size_t at = 0; kube_cache_next(t->caches[RULE_LIMIT_RANGES], &at, &key, &raw);) {
        struct json *range = bytes_starts(key, prefix) ? json_parse(a, raw, NULL, NULL) : NULL;
        if (!range)
            continue;
        if (!list)
            list = json_new(a, JSON_ARRAY);
        json_append(list, range);
    }
    return list;
}

static const struct json *runtime_class(void *ctx, const char *name, struct arena *a)
{
    const struct scheduler *s = ctx;
    return kube_cache_get(s->template_sources->caches[RULE_RUNTIME_CLASSES], "", name, a);
}

static void on_limit_range(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct template_sources *t = arg;
    const char *slash = strchr(key, '/');
    (void)event;
    (void)object;
    sources_read_workloads(t->scheduler, (struct bytes){key, slash ? (size_t)(slash - key) : 0});
}

static void on_runtime_class(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct template_sources *t = arg;
    (void)event;
    (void)key;
    (void)object;
    sources_read_workloads(t->scheduler, (struct bytes){0});
}

static void on_list(void *arg)
{
    struct template_sources *t = arg;
    scheduler_synced(t->scheduler);
}

void template_sources_start(struct scheduler *s)
{
    struct template_sources *t = mem_zero(1, sizeof *t);
    t->scheduler = s;
    s->template_sources = t;
    struct kube_cache_config ranges = {.watch = {.path = "/api/v1/limitranges", .optional = true},
                                       .on_change = on_limit_range,
                                       .on_synced = on_list,
                                       .arg = t},
                             classes = {.watch = {.path = "/apis/node.k8s.io/v1/runtimeclasses", .optional = true},
                                        .on_change = on_runtime_class,
                                        .on_synced = on_list,
                                        .arg = t};
    t->caches[RULE_LIMIT_RANGES] = kube_cache_new(s->client, &ranges);
    t->caches[RULE_RUNTIME_CLASSES] = kube_cache_new(s->client, &classes);
    s->decoder.limit_ranges = limit_ranges;
    s->decoder.runtime_class = runtime_class;
}

bool template_sources_synced(const struct scheduler *s)
{
    const struct template_sources *t = s->template_sources;
    return kube_cache_synced(t->caches[RULE_LIMIT_RANGES]) && kube_cache_synced(t->caches[RULE_RUNTIME_CLASSES]);
}

void template_sources_stop(struct scheduler *s)
{
    struct template_sources *t = s->template_sources;
    if (!t)
        return;
    for (int i = 0; i < RULES_N; i++)
        kube_cache_free(t->caches[i]);
    free(t);
    s->template_sources = NULL;
}
