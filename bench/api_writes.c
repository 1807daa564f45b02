/* api_writes.c - how many writes the scheduler and its job controllers ask of the API server, Events and status of queues counted
 *
 *     bench_api_writes [check]     check: TAP, and fails where a limit is passed
 *
 * One process on a virtual clock: the embedded API server, counted at its door; answers take up to 10 ms. A count does not depend on how
 * fast the machine is.
 *
 * api.writes.pod       a pod of one GPU: 5,000 of them in five seconds on 1,000 nodes x 8
 * api.writes.workload  a Workload that is admitted, runs and ends: a tenth of the baseline of Kueue's performance runner (5 cohorts x 6
 *                      ClusterQueues x 50 Workloads, most of which wait), which ends them itself
 * api.writes.job       a Job of 8 pods through a LocalQueue: 200 of them, two waves; its Workload, start and end included
 * api.writes.vcjob     a Volcano Job of 8 pods: 200 of them, two waves; its PodGroup and pods included
 * api.writes.vcjob1    a Volcano Job of one pod that starts at once: 200 of them
 * api.writes.jobset    a JobSet of 8 Jobs of one pod, half of which begin when the others are ready: 50 of them
 * api.writes.trainjob  a TrainJob of mpi, 3 nodes and a launcher, through its JobSet: 50 of them
 * api.writes.lws       a LeaderWorkerSet of 4 groups of 2 whose groups have their own Services: 20 of them, made and then updated once
 */
#include <stdio.h>
#include <stdlib.h>
#include "apiserver/apiserver.h"
#include "base/clock.h"
#include "base/collections/map.h"
#include "base/log.h"
#include "base/memory.h"
#include "jobs/embedded.h"
#include "jobs/jobs.h"
#include "kube/object.h"
#include "kube/watch.h"
#include "net/http_local.h"
#include "sched/sched.h"
#include "sim/kubelet/kubelets.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2"
#define KIND(kind) "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"" kind "\",\"metadata\":{"

struct world {
    struct loop *loop;
    struct apiserver *server;
    struct kube_client *ours, *others; /* ours: what is counted */
    struct http_faults slow;
    struct scheduler *scheduler;
    struct jobs *jobs;
    struct embedded_controllers *controllers;
    struct kubelets *kubelets;
    struct kube_watch *watch;
    struct arena *a;
    struct map *kinds; /* "METHOD resource" -> int64_t */
    struct map *ends;  /* Workload -> struct end * */
    int64_t writes_n, over_n;
};
static struct world w;

/* "/apis/g/v/namespaces/ns/pods/p/status" -> "pods/status", by its method. */
static void count(const struct http_request *r)
{
    char path[256], key[300];
    const char *parts[12] = {0};
    int n = 0;
    snprintf(path, sizeof path, "%s", r->path);
    for (char *save = NULL, *part = strtok_r(path, "/", &save); part && n < 12; part = strtok_r(NULL, "/", &save))
        parts[n++] = part;
    int at = n > 0 && strcmp(parts[0], "api") == 0 ? 2 : 3;
    at += at < n && strcmp(parts[at], "namespaces") == 0 && n > at + 2 ? 2 : 0;
    snprintf(key, sizeof key, "%s %s%s%s", r->method, at < n ? parts[at] : "?", at + 2 < n ? "/" : "", at + 2 < n ? parts[at + 2] : "");
    ++*(int64_t *)map_put(w.kinds, bytes_of(key), NULL);
    w.writes_n++;
}

static void door(void *ctx, struct http_exchange *x)
{
    (void)ctx;
    if (strcmp(x->request.method, "GET") != 0)
        count(&x->request);
    apiserver_handle(w.server, x);
}

static void create(const char *text)
{
    struct err e = {0};
    struct json *object = json_parse(w.a, bytes_of(text), NULL, &e);
    if (!object || apiserver_create(w.server, w.a, object, &e) < 0) {
        fprintf(stderr, "%s: %s\n", text, e.text);
        exit(1);
    }
    arena_reset(w.a);
}

static void run(int64_t ms)
{
    struct err e = {0};
    if (loop_run_for(w.loop, ms, &e) < 0)
        exit(1);
}

static void nodes(int n)
{
#define AMOUNTS "{\"cpu\":\"20000\",\"memory\":\"2560Gi\",\"pods\":\"20000\",\"nvidia.com/gpu\":\"8\"}"
    for (int i = 0; i < n; i++)
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n%d\",\"labels\":{\"capstan.dev/"
                            "simulated\":\"true\"}},\"status\":{\"allocatable\":" AMOUNTS ",\"capacity\":" AMOUNTS
                            ",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
                            i));
}

static void world_start(int nodes_n, bool with_jobs)
{
    struct err e = {0};
    w = (struct world){.loop = loop_new_virtual(1767225600000), .a = arena_new(), .slow = {.latency_ms_max = 5}};
    w.kinds = map_new(sizeof(int64_t));
    if (apiserver_new(w.loop, &(struct apiserver_config){0}, &w.server, &e) < 0)
        exit(1);
    create("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n\"}}");
    nodes(nodes_n);
    w.ours = kube_client_wrap(w.loop, http_local_client_new(w.loop, door, NULL, &w.slow, 1));
    w.others = kube_client_wrap(w.loop, http_local_client_new(w.loop, apiserver_handle, w.server, &w.slow, 2));
    w.scheduler = scheduler_new(w.loop, w.ours, &(struct scheduler_config){.default_scheduler = true});
    if (with_jobs) {
        w.jobs = jobs_new(w.ours, &(struct jobs_config){.embedded = true});
        w.controllers = embedded_controllers_new(w.others, 1, 7);
        w.kubelets = kubelets_new(w.others, &(struct kubelets_config){.speed = 1});
    }
    run(3000);
}

static void world_end(void)
{
    kubelets_free(w.kubelets);
    embedded_controllers_free(w.controllers);
    kube_watch_free(w.watch);
    jobs_free(w.jobs);
    scheduler_free(w.scheduler);
    kube_client_free(w.ours);
    kube_client_free(w.others);
    apiserver_free(w.server);
    loop_free(w.loop);
    map_free(w.kinds);
    arena_free(w.a);
}

/* ---- what is told ---- */

static bool check;
static int tests_n, failed_n;

static void tell(const char *name, int64_t objects_n, double most)
{
    double each = (double)w.writes_n / (double)objects_n;
    bool ok = most <= 0 || each <= most;
    size_t at = 0;
    struct bytes key;
    int64_t *n;
    if (!check)
        printf("{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"writes\"}\n", name, each);
    else
        printf("%s %d - %s: %.2f%s\n", ok ? "ok" : "not ok", ++tests_n, name, each, ok ? "" : ", too many");
    failed_n += !ok;
    while ((n = map_next(w.kinds, &at, &key)))
        fprintf(stderr, "# %-20s %7lld %.*s\n", name, (long long)*n, (int)key.n, key.data);
}

static void count_from_here(void)
{
    w.writes_n = 0;
    map_clear(w.kinds);
}

static void unless_over(int64_t wanted_n, const char *what)
{
    if (w.over_n == wanted_n)
        return;
    fprintf(stderr, "%s: %lld of %lld\n", what, (long long)w.over_n, (long long)wanted_n);
    failed_n++;
}

/* ---- pods ---- */

static void pods(void)
{
    const int n = 5000;
    world_start(1000, false);
    count_from_here();
    for (int i = 0; i < n; i++) {
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%d\",\"namespace\":\"n\"},\"spec\":{\"containers\":"
                            "[{\"name\":\"main\",\"image\":\"x\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}",
                            i));
        run(1);
    }
    run(60000);
    w.over_n = (int64_t)scheduler_counts(w.scheduler).binds_n;
    unless_over(n, "pods bound");
    tell("api.writes.pod", n, 1.2);
    world_end();
}

/* ---- Workloads, ended by a runner ---- */

struct end {
    struct loop_timer *timer;
    char name[64];
};

static void on_time(void *arg)
{
    struct end *e = arg;
    char path[160];
    snprintf(path, sizeof path, KUEUE "/namespaces/n/workloads/%s/status", e->name);
    kube_patch(w.others, KUBE_PATCH_MERGE, path,
               BYTES("{\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\",\"reason\":\"QuotaReserved\",\"message\":\"\","
                     "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"},{\"type\":\"Finished\",\"status\":\"True\",\"reason\":\"Succeeded\","
                     "\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}"),
               NULL, NULL);
    w.over_n++;
}

static void on_workload(void *arg, enum kube_event event, struct bytes raw)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *o = json_parse(a, raw, NULL, NULL);
    bool is_new;
    int64_t ms;
    (void)arg;
    if (event == KUBE_DELETED || !object_condition_true(o, "Admitted") || object_condition_true(o, "Finished"))
        return;
    struct end **slot = map_put(w.ends, bytes_of(object_meta(o, "name")), &is_new), *e;
    if (!is_new || !bytes_int64(bytes_of(object_label(o, "runtime-ms")), &ms))
        return;
    e = *slot = mem_zero(1, sizeof *e);
    snprintf(e->name, sizeof e->name, "%s", object_meta(o, "name"));
    e->timer = loop_timer_new(w.loop, on_time, e);
    loop_timer_start(e->timer, ms, 0);
}

static void cluster_queue(int i)
{
    create(arena_printf(w.a,
                        KIND("ClusterQueue") "\"name\":\"cq%d\"},\"spec\":{\"cohortName\":\"c%d\",\"namespaceSelector\":{},\"resourceGroups\":"
                                             "[{\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\","
                                             "\"nominalQuota\":\"20\",\"borrowingLimit\":\"100\"}]}]}]}}",
                        i, i / 6));
    create(arena_printf(w.a, KIND("LocalQueue") "\"name\":\"lq%d\",\"namespace\":\"n\"},\"spec\":{\"clusterQueue\":\"cq%d\"}}", i, i));
}

static void workload(int queue, const char *class, int number, int cpu, int runtime_ms, int priority)
{
    create(arena_printf(w.a,
                        KIND("Workload") "\"name\":\"%s-%d-%d\",\"namespace\":\"n\",\"labels\":{\"runtime-ms\":\"%d\"}},\"spec\":{\"queueName\":"
                                         "\"lq%d\",\"priority\":%d,\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":"
                                         "[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"%d\"}}}]}}}]}}",
                        class, queue, number, runtime_ms, queue, priority, cpu));
}

/* SOURCE the shape of Kueue's runner: small, medium and large Workloads, made every 100, 500 and 1,200 ms in each queue. They run four
 *        times as long as there, so that they wait for quota as long as they wait there for the machine: 30 s */
static void workloads(void)
{
    enum { QUEUES = 30, SMALL = 35, MEDIUM = 10, LARGE = 5, STEP_MS = 100 };
    w.over_n = 0;
    world_start(4, false);
    w.ends = map_new(sizeof(struct end *));
    create(KIND("ResourceFlavor") "\"name\":\"f\"},\"spec\":{}}");
    for (int i = 0; i < QUEUES; i++)
        cluster_queue(i);
    w.watch = kube_watch_new(w.others, &(struct kube_watch_config){.path = KUEUE "/workloads", .on_event = on_workload});
    run(5000);
    count_from_here();
    for (int step = 0; step < 70; step++, run(STEP_MS))
        for (int queue = 0; queue < QUEUES; queue++) {
            if (step < SMALL)
                workload(queue, "small", step, 1, 800, 50);
            if (step % 5 == 0 && step / 5 < MEDIUM)
                workload(queue, "medium", step / 5, 5, 2000, 100);
            if (step % 12 == 0 && step / 12 < LARGE)
                workload(queue, "large", step / 12, 20, 4000, 200);
        }
    for (int s = 0; s < 600 && w.over_n < QUEUES * (SMALL + MEDIUM + LARGE); s++)
        run(1000);
    fprintf(stderr, "# over after %lld s\n", (long long)(loop_now_ms(w.loop) / 1000));
    run(30000);
    unless_over(QUEUES * (SMALL + MEDIUM + LARGE), "Workloads that ended");
    tell("api.writes.workload", QUEUES * (SMALL + MEDIUM + LARGE), 2.5);
    size_t at = 0;
    struct bytes key;
    for (struct end **e; (e = map_next(w.ends, &at, &key));) {
        loop_timer_free((*e)->timer);
        free(*e);
    }
    map_free(w.ends);
    world_end();
}

/* ---- jobs ---- */

#define TEMPLATE                                                                                                       \
    "{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":\"20\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\"," \
    "\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"},\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}"

static void jobs(void)
{
    const int n = 200;
    world_start(n / 2, true);
    create(KIND("ResourceFlavor") "\"name\":\"f\"},\"spec\":{}}");
    create(KIND("ClusterQueue") "\"name\":\"cq\"},\"spec\":{\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":[\"cpu\",\"nvidia.com/gpu\"],"
                                "\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"10000\"},{\"name\":\"nvidia.com/gpu\","
                                "\"nominalQuota\":\"800\"}]}]}]}}");
    create(KIND("LocalQueue") "\"name\":\"lq\",\"namespace\":\"n\"},\"spec\":{\"clusterQueue\":\"cq\"}}");
    run(5000);
    count_from_here();
    for (int i = 0; i < n; i++, run(20))
        create(arena_printf(
            w.a,
            "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j%d\",\"namespace\":\"n\",\"labels\":{\"kueue.x-k8s."
            "io/queue-name\":\"lq\"}},\"spec\":{\"parallelism\":8,\"completions\":8,\"suspend\":true,\"template\":" TEMPLATE "}}",
            i));
    run(120000);
    w.over_n = (int64_t)scheduler_counts(w.scheduler).binds_n;
    unless_over(8 * n, "pods bound");
    tell("api.writes.job", n, 0);
    world_end();
}

static void vcjobs(const char *name, int size, int nodes_n, double limit)
{
    const int n = 200;
    world_start(nodes_n, true);
    count_from_here();
    for (int i = 0; i < n; i++, run(20))
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"v%d\",\"namespace\":\"n\"},\"spec\":"
                            "{\"minAvailable\":%d,\"tasks\":[{\"name\":\"w\",\"replicas\":%d,\"template\":" TEMPLATE "}]}}",
                            i, size, size));
    run(120000);
    w.over_n = (int64_t)scheduler_counts(w.scheduler).binds_n;
    unless_over(size * n, "pods bound");
    tell(name, n, limit);
    world_end();
}

static void jobsets(void)
{
    const int n = 50;
    world_start(n, true);
    count_from_here();
    for (int i = 0; i < n; i++, run(20))
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"jobset.x-k8s.io/v1alpha2\",\"kind\":\"JobSet\",\"metadata\":{\"name\":\"s%d\",\"namespace\":\"n\"},\"spec\":"
                            "{\"replicatedJobs\":[{\"name\":\"a\",\"replicas\":4,\"template\":{\"spec\":{\"template\":" TEMPLATE "}}},"
                            "{\"name\":\"b\",\"replicas\":4,\"dependsOn\":[{\"name\":\"a\",\"status\":\"Ready\"}],"
                            "\"template\":{\"spec\":{\"template\":" TEMPLATE "}}}]}}",
                            i));
    run(120000);
    w.over_n = (int64_t)scheduler_counts(w.scheduler).binds_n;
    unless_over(8 * n, "pods bound");
    tell("api.writes.jobset", n, 34);
    world_end();
}

#define REPLICATED(name, more, meta, run_s)                                                                                           \
    "{\"name\":\"" name "\"," more "\"template\":{\"metadata\":{\"labels\":{" meta "}},\"spec\":{\"template\":{\"metadata\":{\"annotations\":{" \
    "\"capstan.dev/run-seconds\":\"" run_s "\"}},\"spec\":{\"containers\":[{\"name\":\"node\",\"image\":\"i\"}]}}}}}"

static void trainjobs(void)
{
    const int n = 50;
    world_start(n, true);
    create("{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":\"ClusterTrainingRuntime\",\"metadata\":{\"name\":\"r\"},\"spec\":{\"mlPolicy\":{"
           "\"numNodes\":1,\"mpi\":{}},\"podGroupPolicy\":{\"coscheduling\":{}},\"template\":{\"spec\":{\"successPolicy\":{\"operator\":\"All\",\"targetReplicatedJobs\":[\"launcher\"]},"
           "\"replicatedJobs\":[" REPLICATED("node", "", "", "600") ","
           REPLICATED("launcher", "\"dependsOn\":[{\"name\":\"node\",\"status\":\"Ready\"}],",
                      "\"trainer.kubeflow.org/trainjob-ancestor-step\":\"trainer\"", "20") "]}}}}");
    run(1000);
    count_from_here();
    for (int i = 0; i < n; i++, run(20))
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":\"TrainJob\",\"metadata\":{\"name\":\"t%d\",\"namespace\":\"n\"},"
                            "\"spec\":{\"runtimeRef\":{\"name\":\"r\"},\"trainer\":{\"numNodes\":3,\"resourcesPerNode\":{\"limits\":{\"nvidia.com/gpu\":1}}}}}",
                            i));
    run(120000);
    w.over_n = (int64_t)scheduler_counts(w.scheduler).binds_n;
    unless_over(4 * n, "pods bound");
    tell("api.writes.trainjob", n, 35);
    world_end();
}

static void leader_worker_sets(void)
{
    const int n = 20;
    world_start(n, true);
    count_from_here();
    for (int i = 0; i < n; i++, run(20))
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"leaderworkerset.x-k8s.io/v1\",\"kind\":\"LeaderWorkerSet\",\"metadata\":{\"name\":\"l%d\",\"namespace\":\"n\"},"
                            "\"spec\":{\"replicas\":4,\"networkConfig\":{\"subdomainPolicy\":\"UniquePerReplica\"},\"leaderWorkerTemplate\":{\"size\":2,"
                            "\"workerTemplate\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}}",
                            i));
    run(60000);
    for (int i = 0; i < n; i++, run(20))
        kube_patch(w.others, KUBE_PATCH_MERGE,
                   arena_printf(w.a, "/apis/leaderworkerset.x-k8s.io/v1/namespaces/n/leaderworkersets/l%d", i),
                   BYTES("{\"spec\":{\"leaderWorkerTemplate\":{\"workerTemplate\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"j\"}]}}}}}"),
                   NULL, NULL);
    run(300000);
    w.over_n = (int64_t)scheduler_counts(w.scheduler).binds_n;
    unless_over(16 * n, "pods bound");
    tell("api.writes.lws", n, 88);
    world_end();
}

int main(int argc, char **argv)
{
    check = argc > 1 && strcmp(argv[1], "check") == 0;
    log_set_level(LOG_ERROR);
    pods();
    workloads();
    jobs();
    vcjobs("api.writes.vcjob", 8, 100, 33);
    vcjobs("api.writes.vcjob1", 1, 100, 10);
    jobsets();
    trainjobs();
    leader_worker_sets();
    if (check)
        printf("1..%d\n", tests_n);
    return failed_n > 0;
}
