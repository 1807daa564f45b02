/* stage.h - a scheduler on virtual time against an API server in the same process, with somebody at the door between them
 *
 *   test --user--> API server <--door-- client <-- scheduler
 *
 * What a test counts or refuses at the door is its own; `w` begins anew for each test.
 */
#ifndef TEST_SCHED_STAGE_H
#define TEST_SCHED_STAGE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "apiserver/apiserver.h"
#include "base/log.h"
#include "net/http_local.h"
#include "sched/sched.h"

#define PODS "/api/v1/namespaces/n/pods"
#define WORKLOADS "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads"

struct stage {
    struct loop *loop;
    struct apiserver *server;
    struct kube_client *user, *client; /* client: the scheduler's */
    struct http_faults faults;         /* of the scheduler's calls and watches */
    struct scheduler *scheduler;
    struct arena *a;
};
static struct stage w;

static inline void create(const char *text)
{
    struct err e = {0};
    struct json *object = json_parse(w.a, bytes_of(text), NULL, &e);
    if (!object || apiserver_create(w.server, w.a, object, &e) < 0)
        fail_msg("%s: %s", text, e.text);
}

static inline void run(int64_t ms)
{
    assert_int_equal(loop_run_for(w.loop, ms, NULL), 0);
}

/* "nvidia.com/gpu": how many of which extended resource. */
static inline void node(const char *name, const char *resource, int n)
{
    const char *amounts = arena_printf(w.a, "{\"cpu\":\"64\",\"memory\":\"256Gi\",\"pods\":\"110\",\"%s\":\"%d\"}", resource, n);
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\"},\"status\":{\"allocatable\":%s,\"capacity\":%s,"
                        "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
                        name, amounts, amounts));
}

/* LocalQueue lq of ClusterQueue cq, four GPUs. */
static inline void queue(void)
{
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"f\"},\"spec\":{}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"},\"spec\":{\"namespaceSelector\":{},"
           "\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"nvidia.com/gpu\","
           "\"nominalQuota\":\"4\"}]}]}]}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"lq\",\"namespace\":\"n\"},\"spec\":{"
           "\"clusterQueue\":\"cq\"}}");
}

/* A server with namespace n, and no scheduler yet. door: what the scheduler's requests come to; NULL: the server itself. */
static inline void stage_open(void (*door)(void *ctx, struct http_exchange *x))
{
    struct err e = {0};
    log_set_level(LOG_ERROR);
    w = (struct stage){.loop = loop_new_virtual(1767225600000), .a = arena_new()};
    assert_int_equal(apiserver_new(w.loop, &(struct apiserver_config){0}, &w.server, &e), 0);
    create("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n\"}}");
    w.user = kube_client_wrap(w.loop, http_local_client_new(w.loop, apiserver_handle, w.server, NULL, 1));
    w.client = kube_client_wrap(w.loop, http_local_client_new(w.loop, door ? door : apiserver_handle, w.server, &w.faults, 2));
}

static inline void scheduler_start_with(struct scheduler_config config)
{
    config.default_scheduler = config.sweep_always = true;
    w.scheduler = scheduler_new(w.loop, w.client, &config);
    run(3000);
}

static inline void scheduler_start(void)
{
    scheduler_start_with((struct scheduler_config){0});
}

#define LEASE "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/capstan-scheduler"

/* Another scheduler in the place of this one, while somebody else leads. */
static inline void scheduler_follows(void)
{
    scheduler_stop(w.scheduler);
    run(1000);
    scheduler_free(w.scheduler);
    kube_client_free(w.client);
    w.client = kube_client_wrap(w.loop, http_local_client_new(w.loop, apiserver_handle, w.server, &w.faults, 2));
    create("{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"capstan-scheduler\","
           "\"namespace\":\"kube-system\"},\"spec\":{\"holderIdentity\":\"other\",\"leaseDurationSeconds\":3600,"
           "\"renewTime\":\"2026-01-01T00:00:00.000000Z\"}}");
    w.scheduler = scheduler_new(w.loop, w.client,
                                &(struct scheduler_config){.leader_elect = true, .identity = "follower", .sweep_always = true});
    run(3000);
    assert_true(scheduler_counts(w.scheduler).synced);
    assert_false(scheduler_counts(w.scheduler).leading);
}

static inline void scheduler_comes_to_lead(void)
{
    kube_delete(w.user, LEASE, BYTES(""), NULL, NULL);
    run(30000);
    assert_true(scheduler_counts(w.scheduler).leading);
}

static inline void clients_close(void)
{
    scheduler_free(w.scheduler);
    kube_client_free(w.user);
    kube_client_free(w.client);
}

static inline void server_close(void)
{
    apiserver_free(w.server);
    loop_free(w.loop);
    arena_free(w.a);
}

static inline int teardown(void **state)
{
    (void)state;
    clients_close();
    server_close();
    return 0;
}

static inline void on_got(void *arg, const struct kube_answer *answer)
{
    *(const struct json **)arg = json_parse(w.a, answer->code == 0 ? answer->body : BYTES("{}"), NULL, NULL);
}

/* The object now; {} when there is none. */
static inline const struct json *get(const char *path)
{
    const struct json *object = NULL;
    kube_get(w.user, path, on_got, &object);
    for (int i = 0; i < 100 && !object; i++)
        run(1);
    return object;
}

#endif
