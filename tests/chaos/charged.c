#include "charged.h"
#include <stdio.h>
#include "base/memory.h"
#include "kube/object.h"

#define KUEUE_OBJECT "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
#define KUEUE "/apis/kueue.x-k8s.io/v1beta2/"
#define CREDITS "example.com/credits"
#define GPUS "nvidia.com/gpu"
#define NANO 1000000000
#define LATE_MS 120000 /* after a quota was lowered, somebody may still be let in by what it was: writes are sent again for so long */
enum { CREDITS_FIRST = 20, GPUS_OF_Q3 = 12 };

struct holder {
    bool in_q6, in_q3;
    int64_t credits, gpus;
};
struct charged {
    struct world *world;
    struct kube_watch *watch;
    struct map *holders; /* "ns/name" -> struct holder */
    struct arena *arena;
    int64_t credits, credits_before, lowered_ms; /* the quota, and what it was until then */
    struct charged_counts counts;
};

/* ---- the rules ---- */

static const struct charge_output gpu_outputs[] = {{CREDITS, {.nano = (__int128)3 * NANO}}};
static const struct charge_output memory_outputs[] = {{CREDITS, {.nano = 2}}}; /* of each 10^9 bytes 2 */
static const struct charge_output product_outputs[] = {{CREDITS, {.nano = NANO}}};
static const struct charge_rule gpu_rule = {.input = GPUS, .outputs = gpu_outputs, .outputs_n = 1};
static const struct charge_rule memory_rule = {.input = "memory", .replaces = true, .outputs = memory_outputs, .outputs_n = 1};
static const struct charge_rule product_rule = {.input = GPUS, .times = "cpu", .outputs = product_outputs, .outputs_n = 1};
static const char *const storage[] = {"ephemeral-"}, *const memory[] = {"mem"};
static const struct charge_policy policies[] = {
    {.rules = &gpu_rule, .rules_n = 1, .ignores_undeclared = true},
    {.rules = &memory_rule, .rules_n = 1, .excluded = storage, .excluded_n = 1},
    {.rules = &product_rule, .rules_n = 1, .excluded = memory, .excluded_n = 1, .ignores_undeclared = true},
};

const struct charge_policy *charged_policy(uint64_t seed)
{
    return seed % 4 ? &policies[seed % 4 - 1] : NULL;
}

const char *charged_seed(int at)
{
    static const char *const objects[] = {
        KUEUE_OBJECT "\"ClusterQueue\",\"metadata\":{\"name\":\"q6\"},\"spec\":{\"namespaceSelector\":{},\"preemption\":{\"withinClusterQueue\":"
                     "\"LowerPriority\"},\"resourceGroups\":[{\"coveredResources\":[\"cpu\",\"" GPUS "\",\"memory\",\"ephemeral-storage\","
                     "\"" CREDITS "\"],\"flavors\":[{\"name\":\"any\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":1000},"
                     "{\"name\":\"" GPUS "\",\"nominalQuota\":100},{\"name\":\"memory\",\"nominalQuota\":\"10Ti\"},"
                     "{\"name\":\"ephemeral-storage\",\"nominalQuota\":\"10Ti\"},{\"name\":\"" CREDITS "\",\"nominalQuota\":20}]}]}]}}",
        KUEUE_OBJECT "\"LocalQueue\",\"metadata\":{\"name\":\"team6\",\"namespace\":\"default\"},\"spec\":{\"clusterQueue\":\"q6\"}}"};
    return (size_t)at < sizeof objects / sizeof *objects ? objects[at] : NULL;
}

/* ---- amounts, counted again in another way ---- */

static int64_t amount(const struct json *list, const char *resource)
{
    struct quantity q;
    const struct json *one = json_get(list, resource);
    if (!one || quantity_parse(json_bytes(one), &q, NULL) < 0)
        return 0;
    return text_equal(resource, "cpu") ? quantity_milli(q) : quantity_whole(q);
}

/* What one pod of the set asks for; a limit without a request is one. */
static int64_t asks(const struct json *set, const char *resource)
{
    int64_t sum = 0;
    JSON_EACH (container, json_path(set, "template", "spec", "containers", NULL)) {
        const struct json *resources = json_get(container, "resources"), *requests = json_get(resources, "requests");
        sum += json_get(requests, resource) ? amount(requests, resource) : amount(json_get(resources, "limits"), resource);
    }
    return sum;
}

static int64_t up(int64_t n, int64_t of)
{
    return (n + of - 1) / of;
}

/* What quota is to count of one pod. */
static int64_t counts(uint64_t seed, const struct json *set, const char *resource)
{
    bool is_credits = text_equal(resource, CREDITS);
    switch (seed % 4) {
    case 1:
        return is_credits ? 3 * asks(set, GPUS) : asks(set, resource);
    case 2:
        if (is_credits)
            return up(2 * asks(set, "memory"), NANO);
        return text_equal(resource, "memory") || text_equal(resource, "ephemeral-storage") ? 0 : asks(set, resource);
    case 3:
        if (is_credits)
            return up(asks(set, GPUS) * (asks(set, "cpu") ? asks(set, "cpu") : 1000), 1000);
        return text_equal(resource, "memory") ? 0 : asks(set, resource);
    default:
        return asks(set, resource);
    }
}

/* ---- the mirror ---- */

static int64_t reclaimed(const struct json *workload, const char *set)
{
    JSON_EACH (one, json_path(workload, "status", "reclaimablePods", NULL))
        if (text_equal(json_get_text(one, "name", ""), set))
            return json_get_int64(one, "count", 0);
    return 0;
}

/* Of all sets, less those pods that are over and were given back. */
static int64_t holds(const struct json *workload, const char *resource)
{
    int64_t sum = 0;
    JSON_EACH (set, json_path(workload, "status", "admission", "podSetAssignments", NULL)) {
        int64_t n = json_get_int64(set, "count", 1), over = reclaimed(workload, json_get_text(set, "name", ""));
        sum += n > over ? amount(json_get(set, "resourceUsage"), resource) / n * (n - over) : 0;
    }
    return sum;
}

static void check_sums(struct charged *c, const char *who)
{
    int64_t credits = 0, gpus = 0, most = c->credits;
    size_t at = 0;
    struct bytes key;
    if (loop_now_ms(c->world->loop) - c->lowered_ms < LATE_MS && c->credits_before > most)
        most = c->credits_before;
    for (const struct holder *h; (h = map_next(c->holders, &at, &key));) {
        credits += h->in_q6 ? h->credits : 0;
        gpus += h->in_q3 ? h->gpus : 0;
    }
    c->counts.full_n += 4 * credits >= 3 * c->credits;
    if (credits > most)
        world_broken(c->world, "with %s q6 holds %lld credits of %lld", who, (long long)credits, (long long)most);
    if (gpus > GPUS_OF_Q3)
        world_broken(c->world, "with %s q3 holds %lld GPUs of %d", who, (long long)gpus, GPUS_OF_Q3);
}

static void on_workload(void *arg, enum kube_event event, struct bytes raw)
{
    struct charged *c = arg;
    arena_reset(c->arena);
    const struct json *workload = json_parse(c->arena, raw, NULL, NULL);
    const char *key = object_key(c->arena, workload);
    const char *queue = json_get_text(json_path(workload, "status", "admission", NULL), "clusterQueue", "");
    bool has_quota = event != KUBE_DELETED && object_condition_true(workload, "QuotaReserved") && !object_condition_true(workload, "Finished");
    if (!has_quota) {
        map_remove(c->holders, bytes_of(key));
        return;
    }
    bool is_new = !map_find_text(c->holders, key);
    struct holder *h = map_put(c->holders, bytes_of(key), NULL);
    *h = (struct holder){.in_q6 = text_equal(queue, "q6"), .in_q3 = text_equal(queue, "q3"), .credits = holds(workload, CREDITS),
                         .gpus = holds(workload, GPUS)};
    if (!is_new)
        return;
    c->counts.admitted_n += h->in_q6 && h->credits > 0;
    if (h->in_q6 || h->in_q3)
        check_sums(c, key);
}

struct charged *charged_new(struct world *w)
{
    struct charged *c = mem_zero(1, sizeof *c);
    c->world = w;
    c->holders = map_new(sizeof(struct holder));
    c->arena = arena_new();
    c->credits = CREDITS_FIRST;
    c->watch = kube_watch_new(w->quiet_client,
                              &(struct kube_watch_config){.path = KUEUE "workloads", .on_event = on_workload, .arg = c});
    return c;
}

void charged_free(struct charged *c)
{
    kube_watch_free(c->watch);
    map_free(c->holders);
    arena_free(c->arena);
    free(c);
}

struct charged_counts charged_counts(const struct charged *c)
{
    return c->counts;
}

/* ---- users ---- */

static int pick(struct world *w, uint64_t n)
{
    return (int)random_below(&w->random, n);
}

void charged_create(struct world *w, int jobs_n)
{
    static const char *const classes[] = {"", "", "", ",\"priorityClassName\":\"urgent\""};
    int number = pick(w, (uint64_t)jobs_n), pods = 1 + pick(w, 4), mebibytes = 100 + pick(w, 4000), milli = 100 + pick(w, 3000),
        gpus = pick(w, 3), seconds = pick(w, 40);
    const char *class = classes[pick(w, 4)];
    world_post(w, "/apis/batch/v1/namespaces/default/jobs",
               "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"charged%d\",\"labels\":{\"kueue.x-k8s.io/queue-name\":"
               "\"team6\"}},\"spec\":{\"parallelism\":%d,\"completions\":%d,\"suspend\":true,\"backoffLimit\":2,\"ttlSecondsAfterFinished\":20,"
               "\"template\":{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":\"%d\"}},\"spec\":{\"restartPolicy\":\"Never\"%s,"
               "\"containers\":[{\"name\":\"main\",\"image\":\"busybox\",\"resources\":{\"requests\":{\"cpu\":\"%dm\",\"memory\":\"%dMi\","
               "\"ephemeral-storage\":\"1Mi\"},\"limits\":{\"" GPUS "\":%d}}}]}}}}",
               number, pods, pods, seconds, class, milli, mebibytes, gpus);
}

void charged_change(struct world *w)
{
    struct charged *c = w->charged;
    int64_t credits = 4 + pick(w, 20), now_ms = loop_now_ms(w->loop);
    if (credits < c->credits || now_ms - c->lowered_ms > LATE_MS) {
        int64_t before = now_ms - c->lowered_ms <= LATE_MS && c->credits_before > c->credits ? c->credits_before : c->credits;
        c->credits_before = before;
        c->lowered_ms = now_ms;
    }
    c->credits = credits;
    world_patch(w, KUEUE "clusterqueues/q6",
                "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"cpu\",\"" GPUS "\",\"memory\",\"ephemeral-storage\",\"" CREDITS "\"],"
                "\"flavors\":[{\"name\":\"any\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":1000},{\"name\":\"" GPUS "\","
                "\"nominalQuota\":100},{\"name\":\"memory\",\"nominalQuota\":\"10Ti\"},{\"name\":\"ephemeral-storage\",\"nominalQuota\":\"10Ti\"},"
                "{\"name\":\"" CREDITS "\",\"nominalQuota\":%lld}]}]}]}}",
                (long long)credits);
}

/* ---- what is said ---- */

static const struct json *set_named(const struct json *workload, const char *name)
{
    JSON_EACH (set, json_path(workload, "spec", "podSets", NULL))
        if (text_equal(json_get_text(set, "name", "main"), name))
            return set;
    return NULL;
}

static void look_at(struct world *w, const struct json *workload)
{
    if (!object_condition_true(workload, "QuotaReserved"))
        return;
    JSON_EACH (given, json_path(workload, "status", "admission", "podSetAssignments", NULL)) {
        const struct json *set = set_named(workload, json_get_text(given, "name", "main"));
        int64_t n = json_get_int64(given, "count", 1);
        bool in_q6 = text_equal(json_get_text(json_path(workload, "status", "admission", NULL), "clusterQueue", ""), "q6");
        if (in_q6 && set && counts(w->seed, set, CREDITS) > 0 && !json_get(json_get(given, "resourceUsage"), CREDITS))
            world_broken(w, "Workload %s does not say how many credits it uses", object_meta(workload, "name"));
        JSON_EACH (used, json_get(given, "resourceUsage")) {
            int64_t is = amount(json_get(given, "resourceUsage"), used->key), one = set ? counts(w->seed, set, used->key) : 0;
            if (set && !text_equal(used->key, "pods") && is != one * n)
                world_broken(w, "Workload %s says that it uses %lld of %s: %lld pods, each of %lld", object_meta(workload, "name"),
                             (long long)is, used->key, (long long)n, (long long)one);
        }
    }
}

bool charged_check(struct world *w)
{
    _cleanup_arena_ struct arena *a = arena_new();
    JSON_EACH (workload, world_read(w, a, KUEUE "workloads"))
        look_at(w, workload);
    return w->fault[0] == '\0';
}
