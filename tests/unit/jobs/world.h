/* world.h - scheduler and job controllers against the API server, in one process on a virtual clock, for the tests of jobs */
#ifndef TEST_JOBS_WORLD_H
#define TEST_JOBS_WORLD_H
#include "apiserver/apiserver.h"
#include "base/log.h"
#include "jobs/embedded.h"
#include "jobs/jobs.h"
#include "kube/object.h"
#include "net/http_local.h"
#include "sched/sched.h"
#include "sim/kubelet/kubelets.h"

struct world {
    struct loop *loop;
    struct apiserver *server;
    struct kube_client *client;
    struct scheduler *scheduler;
    struct jobs *jobs;
    struct embedded_controllers *controllers;
    struct kubelets *kubelets;
    struct arena *a;
    bool (*takes)(struct http_exchange *x); /* NULL, or false: the server answers */
};
static struct world w;

static inline void handle(void *ctx, struct http_exchange *x)
{
    if (!w.takes || !w.takes(x))
        apiserver_handle(ctx, x);
}

static inline void create(const char *text)
{
    struct err e = {0};
    struct json *object = json_parse(w.a, bytes_of(text), NULL, &e);
    if (!object || apiserver_create(w.server, w.a, object, &e) < 0)
        fail_msg("%s: %s", text, e.text);
}

static inline void node(const char *name, int gpus)
{
    create(arena_printf(
        w.a,
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\",\"labels\":{\"gpu\":\"a100\","
        "\"kubernetes.io/hostname\":\"%s\",\"capstan.dev/simulated\":\"true\"}},"
        "\"status\":{\"allocatable\":{\"cpu\":\"64\",\"memory\":\"256Gi\",\"pods\":\"110\",\"nvidia.com/gpu\":\"%d\"},"
        "\"capacity\":{\"cpu\":\"64\",\"memory\":\"256Gi\",\"pods\":\"110\",\"nvidia.com/gpu\":\"%d\"},"
        "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
        name, name, gpus, gpus));
}

/* The scheduler and the controllers, from now on. */
static inline void begin(const struct policy *policy)
{
    w.scheduler = scheduler_new(w.loop, w.client, &(struct scheduler_config){.default_scheduler = true, .policy = *policy});
    w.jobs = jobs_new(w.client, &(struct jobs_config){.embedded = true, .says_ready = policy->ready.timeout_ms > 0});
}

static inline int setup_with(const struct policy *policy)
{
    struct err e = {0};
    log_set_level(LOG_ERROR);
    w = (struct world){.loop = loop_new_virtual(1767225600000), .a = arena_new()};
    if (apiserver_new(w.loop, &(struct apiserver_config){0}, &w.server, &e) < 0)
        return -1;
    create("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n\"}}");
    node("n1", 4);
    node("n2", 4);
    w.client = kube_client_wrap(w.loop, http_local_client_new(w.loop, handle, w.server, NULL, 1));
    begin(policy);
    w.controllers = embedded_controllers_new(w.client, 1, 7);
    w.kubelets = kubelets_new(w.client, &(struct kubelets_config){.speed = 1});
    loop_run_for(w.loop, 1500, &e);
    return 0;
}

/* As without a configuration: pods are waited for, for half an hour. */
static inline int setup(void **state)
{
    (void)state;
    return setup_with(&(struct policy){.ready = {.timeout_ms = 1800000, .recovery_ms = 1800000, .retries_most = -1, .backoff_ms = 60000,
                                                 .backoff_most_ms = 3600000}});
}

static inline int teardown(void **state)
{
    (void)state;
    kubelets_free(w.kubelets);
    embedded_controllers_free(w.controllers);
    jobs_free(w.jobs);
    scheduler_free(w.scheduler);
    kube_client_free(w.client);
    apiserver_free(w.server);
    loop_free(w.loop);
    arena_free(w.a);
    return 0;
}

static inline void run(int64_t ms)
{
    struct err e = {0};
    assert_int_equal(loop_run_for(w.loop, ms, &e), 0);
}

struct got {
    const struct json *object;
    bool done;
};

static inline void on_got(void *arg, const struct kube_answer *answer)
{
    struct got *g = arg;
    g->done = true;
    if (answer->code == 0)
        g->object = json_parse(w.a, answer->body, NULL, NULL);
}

static inline const struct json *get(const char *path)
{
    struct got g = {0};
    kube_get(w.client, path, on_got, &g);
    for (int i = 0; i < 100 && !g.done; i++)
        run(1);
    return g.object;
}

static inline void patch(const char *path, const char *text)
{
    kube_patch(w.client, KUBE_PATCH_MERGE, path, bytes_of(text), NULL, NULL);
    run(2);
}

static inline void delete(const char *path)
{
    kube_delete(w.client, path, (struct bytes){0}, NULL, NULL);
    run(2);
}

/* Pods of the list whose phase is this one ("" = any), and that are bound. */
static inline int pods_n(const char *selector, const char *phase)
{
    int n = 0;
    JSON_EACH (pod, json_get(get(arena_printf(w.a, "/api/v1/namespaces/n/pods?labelSelector=%s", selector)), "items"))
        n += json_path(pod, "spec", "nodeName", NULL) &&
             (!*phase || strcmp(json_text(json_path(pod, "status", "phase", NULL), ""), phase) == 0);
    return n;
}

static inline const char *said(const struct json *object, const char *condition)
{
    return json_get_text(object_condition(object, condition), "message", "");
}

static inline const char *reason(const struct json *object, const char *condition)
{
    return json_get_text(object_condition(object, condition), "reason", "");
}

static inline bool event_seen(const char *reason_, const char *text)
{
    JSON_EACH (event, json_get(get("/api/v1/namespaces/n/events"), "items"))
        if (strcmp(json_get_text(event, "reason", ""), reason_) == 0 &&
            strcmp(json_get_text(event, "message", ""), text) == 0)
            return true;
    return false;
}

static inline const struct json *workload(void)
{
    return json_item(json_get(get("/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads"), "items"), 0);
}

#define FLAVOR "/apis/kueue.x-k8s.io/v1beta2/resourceflavors/a100"
#define LQ "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/localqueues/lq"
#define QUOTA(gpus)                                                                                                    \
    create("{\"apiVersion\":\"kueue.x-k8s.io/"                                                                         \
           "v1beta2\",\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"a100\"},\"spec\":{\"nodeLabels\":{\"gpu\":" \
           "\"a100\"}}}");                                                                                             \
    create(                                                                                                            \
        "{\"apiVersion\":\"kueue.x-k8s.io/"                                                                            \
        "v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"},\"spec\":{\"namespaceSelector\":{},"       \
        "\"resourceGroups\":"                                                                                          \
        "[{\"coveredResources\":[\"nvidia.com/"                                                                        \
        "gpu\"],\"flavors\":[{\"name\":\"a100\",\"resources\":[{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"" gpus  \
        "\"}]}]}]}}");                                                                                                 \
    create("{\"apiVersion\":\"kueue.x-k8s.io/"                                                                         \
           "v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"lq\",\"namespace\":\"n\"},\"spec\":{"           \
           "\"clusterQueue\":\"cq\"}}")

static inline void job(const char *name, int pods, const char *suspend)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"batch/"
                        "v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"labels\":{\"kueue.x-"
                        "k8s.io/queue-name\":\"lq\"}},"
                        "\"spec\":{\"parallelism\":%d,\"completions\":%d,\"suspend\":%s,\"template\":{\"metadata\":{"
                        "\"annotations\":{\"capstan.dev/run-seconds\":\"10\"}},"
                        "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
                        "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}}",
                        name, pods, pods, suspend));
}

#endif
