/* Pods, groups and Workloads come and go by the thousand: the names that the scheduler keeps are those of what is there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "apiserver/apiserver.h"
#include "base/log.h"
#include "core/state/state.h"
#include "net/http_local.h"
#include "sched/sched.h"

#define PODS "/api/v1/namespaces/n/pods"
#define WORKLOADS "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads"
#define AMOUNTS "{\"cpu\":\"64\",\"memory\":\"256Gi\",\"pods\":\"110\",\"nvidia.com/gpu\":\"8\"}"

enum { BATCH = 200 };

struct world {
    struct loop *loop;
    struct apiserver *server;
    struct kube_client *user, *client; /* client: the scheduler's */
    struct scheduler *scheduler;
    struct arena *a;
};
static struct world w;

static void create(const char *text)
{
    struct err e = {0};
    struct json *object = json_parse(w.a, bytes_of(text), NULL, &e);
    if (!object || apiserver_create(w.server, w.a, object, &e) < 0)
        fail_msg("%s: %s", text, e.text);
}

static void run(int64_t ms)
{
    assert_int_equal(loop_run_for(w.loop, ms, NULL), 0);
}

static void begin(bool sweep_always)
{
    struct err e = {0};
    log_set_level(LOG_ERROR);
    w = (struct world){.loop = loop_new_virtual(1767225600000), .a = arena_new()};
    assert_int_equal(apiserver_new(w.loop, &(struct apiserver_config){0}, &w.server, &e), 0);
    create("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n\"}}");
    create("{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n0\"},\"status\":{\"allocatable\":" AMOUNTS
           ",\"capacity\":" AMOUNTS ",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"f\"},\"spec\":{}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"},\"spec\":{\"namespaceSelector\":{},"
           "\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":"
           "\"nvidia.com/gpu\",\"nominalQuota\":\"4\"}]}]}]}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"lq\",\"namespace\":\"n\"},\"spec\":{"
           "\"clusterQueue\":\"cq\"}}");
    w.user = kube_client_wrap(w.loop, http_local_client_new(w.loop, apiserver_handle, w.server, NULL, 1));
    w.client = kube_client_wrap(w.loop, http_local_client_new(w.loop, apiserver_handle, w.server, NULL, 2));
    w.scheduler = scheduler_new(w.loop, w.client, &(struct scheduler_config){.default_scheduler = true, .sweep_always = sweep_always});
    run(3000);
}

static void end(void)
{
    scheduler_free(w.scheduler);
    kube_client_free(w.user);
    kube_client_free(w.client);
    apiserver_free(w.server);
    loop_free(w.loop);
    arena_free(w.a);
}

static uint32_t names_n(void)
{
    return intern_count(state_names(scheduler_state(w.scheduler)));
}

static void pod(int i)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%d\",\"namespace\":\"n\",\"labels\":{\"job\":\"j%d\"}},"
                        "\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"x\",\"resources\":{\"requests\":{\"cpu\":\"100m\"}}}]}}",
                        i, i));
}

/* Every second one asks for a queue that is not there. */
static void workload(int i)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"w%d\",\"namespace\":\"n\"},"
                        "\"spec\":{\"queueName\":\"lq%.*d\",\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":[{"
                        "\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}]}}",
                        i, i % 2 ? 1 : 0, i % 2 ? i : 0));
}

static void take_away(const char *folder, char kind, int i)
{
    kube_delete(w.user, arena_printf(w.a, "%s/%c%d", folder, kind, i), BYTES("{\"gracePeriodSeconds\":0}"), NULL, NULL);
}

static void round_of_pods(int first)
{
    for (int i = first; i < first + BATCH; i++)
        pod(i);
    run(100);
    for (int i = first; i < first + BATCH; i++)
        take_away(PODS, 'p', i);
    run(100);
    arena_reset(w.a);
}

static void pods_leave_no_names(void **state)
{
    (void)state;
    uint32_t most = 0;
    begin(false);
    for (int i = 0; i < 20000; i += BATCH) {
        round_of_pods(i);
        most = names_n() > most ? names_n() : most;
    }
    assert_true(scheduler_counts(w.scheduler).binds_n > 2000);
    assert_in_range(most, 2000, 4096 + 8 * BATCH); /* a sweep is due at 4096, and comes when the changes of a batch are all in */
    end();
}

static void all_that_is_gone_is_forgotten(void **state)
{
    (void)state;
    begin(true);
    round_of_pods(0);
    run(60000);
    uint32_t before = names_n();
    for (int i = 1; i < 60; i++)
        workload(i);
    run(10000);
    assert_true(names_n() > before + 60);
    for (int i = 1; i < 60; i++)
        take_away(WORKLOADS, 'w', i);
    for (int i = 1000; i < 2000; i += BATCH)
        round_of_pods(i);
    run(60000);
    assert_int_equal(names_n(), before);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pods_leave_no_names), cmocka_unit_test(all_that_is_gone_is_forgotten)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
