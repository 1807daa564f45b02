/* test_relayout.c - MIG layouts that follow what waits: what is written on the node, when, and what is not. The test is the agent. */
#include <stdio.h>
#include <string.h>
#include "stage.h"
#include "jobs/jobs.h"
#include "kube/object.h"
#include "sched/relayout/relayout.h"

#define NODE "/api/v1/nodes/"
#define DEMAND "\"capstan.dev/mig-demand\":\"true\""

static struct relayout *relayout;
static const char *refuses; /* the door answers 403 to patches of nodes */

static void door(void *ctx, struct http_exchange *x)
{
    (void)ctx;
    if (refuses && text_equal(x->request.method, "PATCH") && text_starts(x->request.path, NODE)) {
        http_reply_text(x, 403, "application/json",
                        arena_printf(w.a, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"%s\",\"code\":403}",
                                     refuses));
        return;
    }
    apiserver_handle(w.server, x);
}

static void patch(const char *path, const char *body)
{
    kube_patch(w.user, KUBE_PATCH_MERGE, path, bytes_of(body), NULL, NULL);
    run(100);
}

static const char *const profiles[] = {"1g.10gb", "3g.40gb", "4g.40gb", "7g.80gb"};

/* What the agent tells of the node: by GPU "whole", or "3g.40gb 2". */
static void gpus(const char *node, const char *const *all, uint32_t n, const char *state)
{
    const char *devices = "";
    struct json *amounts = json_new(w.a, JSON_OBJECT);
    uint32_t id = 0;
    json_set_text(w.a, amounts, "nvidia.com/gpu", "0");
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++) /* those of before go */
        json_set(w.a, amounts, arena_printf(w.a, "nvidia.com/mig-%s", profiles[i]), json_new(w.a, JSON_NULL));
    for (uint32_t i = 0; i < n; i++) {
        char profile[32] = "";
        uint32_t count = 1;
        bool whole = sscanf(all[i], "%31s %u", profile, &count) == 1;
        const char *resource = whole ? "nvidia.com/gpu" : arena_printf(w.a, "nvidia.com/mig-%s", profile);
        for (uint32_t k = 0; k < count; k++)
            devices = arena_printf(w.a, "%s%s{\\\"r\\\":\\\"%s\\\",\\\"id\\\":\\\"%s-%u\\\",\\\"gpu\\\":%u}", devices, *devices ? "," : "",
                                   resource, whole ? "GPU" : "MIG", id++, i);
        int64_t before = 0;
        (void)bytes_int64(bytes_of(json_get_text(amounts, resource, "")), &before);
        json_set_text(w.a, amounts, resource, arena_printf(w.a, "%lld", (long long)before + count));
    }
    struct buf text = {0};
    json_write(&text, amounts);
    patch(arena_printf(w.a, NODE "%s/status", node),
          arena_printf(w.a, "{\"status\":{\"allocatable\":%s,\"capacity\":%s}}", text.data, text.data));
    buf_free(&text);
    patch(arena_printf(w.a, NODE "%s", node),
          arena_printf(w.a, "{\"metadata\":{\"annotations\":{\"capstan.dev/devices\":\"[%s]\"},\"labels\":{\"nvidia.com/mig.config.state\":%s}}}",
                       devices, state ? arena_printf(w.a, "\"%s\"", state) : "null"));
}
#define GPUS(node, state, ...) \
    gpus(node, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), state)

static void gpu_node(const char *name, const char *labels)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\",\"labels\":{%s%s\"nvidia.com/mig.strategy\":\"mixed\","
                        "\"nvidia.com/gpu.product\":\"NVIDIA-A100-SXM4-80GB\"}},\"status\":{\"allocatable\":{\"cpu\":\"64\",\"pods\":\"110\"},"
                        "\"capacity\":{\"cpu\":\"64\",\"pods\":\"110\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
                        name, labels, *labels ? "," : ""));
}

static void pod(const char *name, const char *resource, int n)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},\"spec\":{"
                        "\"schedulerName\":\"capstan\",\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"%s\":\"%d\"},\"requests\":{\"%s\":\"%d\"}}}]},\"status\":{\"phase\":\"Pending\"}}",
                        name, resource, n, resource, n));
}

static void end(const char *name)
{
    kube_delete(w.user, arena_printf(w.a, PODS "/%s", name), BYTES("{\"gracePeriodSeconds\":0}"), NULL, NULL);
    run(1000);
}

static const char *where(const char *name)
{
    return json_text(json_path(get(arena_printf(w.a, PODS "/%s", name)), "spec", "nodeName", NULL), "");
}

static const char *layout(const char *node)
{
    return json_text(json_path(get(arena_printf(w.a, NODE "%s", node)), "metadata", "labels", "nvidia.com/mig.config", NULL), "");
}

/* Without its first three lines, which name it. */
static const char *layouts(const char *node)
{
    const char *text = object_annotation(get(arena_printf(w.a, NODE "%s", node)), "capstan.dev/mig-layouts");
    for (int i = 0; i < 3 && *text; i++)
        text = strchr(text, '\n') + 1;
    return text;
}

/* The messages of all such events, "" when there is none. */
static const char *told(const char *kind, const char *reason)
{
    const char *all = "";
    JSON_EACH (event, json_get(get("/api/v1/events"), "items"))
        if (text_equal(json_get_text(event, "reason", ""), reason) &&
            text_equal(json_text(json_path(event, "involvedObject", "kind", NULL), ""), kind))
            all = arena_printf(w.a, "%s%s%s", all, *all ? "; " : "", json_get_text(event, "message", ""));
    return all;
}

static void begin(const char *labels)
{
    stage_open(door);
    refuses = NULL;
    gpu_node("a", labels);
    scheduler_start();
    relayout = relayout_new(w.scheduler);
    run(1000);
    GPUS("a", NULL, "whole", "whole");
}

static int setup(void **state)
{
    (void)state;
    begin(DEMAND);
    return 0;
}

static int finish(void **state)
{
    relayout_free(relayout);
    return teardown(state);
}

static void follows_what_waits(void **state)
{
    (void)state;
    run(20000);
    assert_string_equal(layout("a"), ""); /* nobody waits */
    pod("p", "nvidia.com/mig-3g.40gb", 1);
    run(8000);
    assert_true(text_starts(layout("a"), "demand-"));
    assert_string_equal(layouts("a"), "  - devices: [0]\n    mig-enabled: true\n    mig-devices: {\"3g.40gb\": 2}\n"
                                      "  - devices: [1]\n    mig-enabled: false\n");
    assert_string_equal(told("Node", "MIGLayoutChanges"), "MIG layout of GPU 0 changes from no MIG to 2×3g.40gb for n/p");
    assert_string_equal(told("Pod", "MIGLayoutChanges"), "on node a, MIG layout of GPU 0 changes from no MIG to 2×3g.40gb");
    /* The agent has not begun yet: nobody comes to that GPU any more. */
    pod("q", "nvidia.com/gpu", 1);
    pod("r", "nvidia.com/gpu", 1);
    run(3000);
    assert_true(*where("q") && !*where("r"));
    GPUS("a", "success", "3g.40gb 2", "whole");
    run(3000);
    assert_string_equal(where("p"), "a");
    assert_string_equal(where("r"), "");
}

static void never_a_gpu_in_use(void **state)
{
    (void)state;
    pod("q", "nvidia.com/gpu", 2);
    run(1000);
    pod("p", "nvidia.com/mig-3g.40gb", 1);
    run(30000);
    assert_string_equal(layout("a"), "");
    end("q");
    run(8000);
    assert_string_equal(layouts("a"), "  - devices: [0]\n    mig-enabled: true\n    mig-devices: {\"3g.40gb\": 2}\n"
                                      "  - devices: [1]\n    mig-enabled: false\n");
}

static void one_change_and_then_a_pause(void **state)
{
    (void)state;
    pod("p", "nvidia.com/mig-7g.80gb", 1);
    run(8000);
    GPUS("a", "success", "7g.80gb 1", "whole");
    run(3000);
    assert_string_equal(where("p"), "a");
    const char *first = layout("a");
    pod("q", "nvidia.com/mig-4g.40gb", 1);
    run(RELAYOUT_PAUSE_MS - 15000);
    assert_string_equal(layout("a"), first);
    run(25000);
    assert_string_not_equal(layout("a"), first);
    assert_string_equal(layouts("a"), "  - devices: [0]\n    mig-enabled: true\n    mig-devices: {\"7g.80gb\": 1}\n"
                                      "  - devices: [1]\n    mig-enabled: true\n    mig-devices: {\"4g.40gb\": 1}\n");
}

/* Nobody comes to what was made for him: the next change is ever longer in coming. */
static void longer_where_nobody_comes(void **state)
{
    static const char *const names[] = {"7g.80gb", "3g.40gb"};
    const char *last = "";
    int64_t changes_n = 0, began_ms = loop_now_ms(w.loop);
    (void)state;
    GPUS("a", NULL, "whole");
    for (int i = 0; loop_now_ms(w.loop) - began_ms < 3600000; i++) {
        const char *name = arena_printf(w.a, "p%d", i);
        pod(name, arena_printf(w.a, "nvidia.com/mig-%s", names[i % 2]), 1);
        for (int s = 0; s < 3600 && text_equal(layout("a"), last); s++)
            run(1000);
        changes_n += !text_equal(layout("a"), last);
        last = layout("a");
        end(name); /* just when it would start */
        GPUS("a", "success", i % 2 ? "3g.40gb 2" : "7g.80gb 1");
    }
    assert_in_range(changes_n, 5, 8);
}

static void a_layout_that_failed_is_taken_back(void **state)
{
    (void)state;
    pod("p", "nvidia.com/mig-3g.40gb", 1);
    run(8000);
    const char *first = layout("a");
    GPUS("a", "failed", "whole", "whole"); /* somebody uses it past Kubernetes */
    run(12000);
    assert_string_not_equal(layout("a"), first);
    assert_string_equal(layouts("a"), "  - devices: [0]\n    mig-enabled: false\n  - devices: [1]\n    mig-enabled: false\n");
    assert_string_equal(told("Node", "MIGLayoutFailed"),
                        arena_printf(w.a, "MIG layout %s, by demand, did not come; it is taken back", first));
    GPUS("a", "success", "whole", "whole");
    pod("q", "nvidia.com/gpu", 2);
    run(3000);
    assert_string_equal(where("q"), "a");
    end("q");
    run(30000);
    assert_string_equal(layouts("a"), "  - devices: [0]\n    mig-enabled: false\n  - devices: [1]\n    mig-enabled: false\n");
    run(2 * RELAYOUT_PAUSE_MS);
    assert_non_null(strstr(layouts("a"), "3g.40gb"));
}

static void what_the_server_denies(void **state)
{
    (void)state;
    refuses = "no";
    pod("p", "nvidia.com/mig-3g.40gb", 1);
    run(8000);
    assert_string_equal(layout("a"), "");
    assert_non_null(strstr(told("Node", "MIGLayoutRefused"), "its MIG layout cannot be written: "));
    pod("q", "nvidia.com/gpu", 2);
    run(3000);
    assert_string_equal(where("q"), "a"); /* nothing stays closed */
}

static void only_where_it_is_allowed(void **state)
{
    (void)state;
    begin("");
    pod("p", "nvidia.com/mig-3g.40gb", 1);
    run(30000);
    assert_string_equal(layout("a"), "");
    patch(NODE "a", "{\"metadata\":{\"labels\":{\"capstan.dev/mig-demand\":\"yes\"}}}");
    run(15000);
    assert_string_equal(told("Node", "MIGDemandIgnored"), "label capstan.dev/mig-demand=yes: write true or false");
    patch(NODE "a", "{\"metadata\":{\"labels\":{\"capstan.dev/mig-demand\":\"true\",\"nvidia.com/mig.strategy\":\"single\"}}}");
    run(15000);
    assert_non_null(strstr(told("Node", "MIGDemandIgnored"), "label capstan.dev/mig-demand has no effect: it needs the MIG strategy mixed"));
    assert_string_equal(layout("a"), "");
    patch(NODE "a", "{\"metadata\":{\"labels\":{\"nvidia.com/mig.strategy\":\"mixed\",\"nvidia.com/mig.config\":\"mine\","
                    "\"nvidia.com/mig.config.state\":\"pending\"}}}");
    run(15000);
    assert_string_equal(layout("a"), "mine"); /* first the administrator's */
    GPUS("a", "success", "1g.10gb 7", "whole");
    run(8000);
    assert_string_equal(layouts("a"), "  - devices: [0]\n    mig-enabled: true\n    mig-devices: {\"1g.10gb\": 4, \"3g.40gb\": 1}\n"
                                      "  - devices: [1]\n    mig-enabled: false\n");
    patch(NODE "a", "{\"metadata\":{\"labels\":{\"capstan.dev/mig-demand\":null}}}");
    kube_delete(w.user, NODE "a", BYTES(""), NULL, NULL);
    run(3000);
}

static void a_workload_is_told(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"f\"},\"spec\":{}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"},\"spec\":{\"namespaceSelector\":{},"
           "\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/mig-1g.10gb\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":"
           "\"nvidia.com/mig-1g.10gb\",\"nominalQuota\":\"14\"}]}]}]}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"lq\",\"namespace\":\"n\"},\"spec\":{"
           "\"clusterQueue\":\"cq\"}}");
    for (int i = 0; i < 2; i++) /* the second finds no quota, and so asks for no GPU */
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"g%d\",\"namespace\":\"n\"},"
                            "\"spec\":{\"queueName\":\"lq\",\"podSets\":[{\"name\":\"main\",\"count\":%d,\"template\":{\"spec\":{\"containers\":[{"
                            "\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"nvidia.com/mig-1g.10gb\":\"1\"}}}]}}}]}}",
                            i, i ? 14 : 10));
    run(8000);
    assert_string_equal(layouts("a"), "  - devices: [0]\n    mig-enabled: true\n    mig-devices: {\"1g.10gb\": 7}\n"
                                      "  - devices: [1]\n    mig-enabled: true\n    mig-devices: {\"1g.10gb\": 7}\n");
    assert_non_null(strstr(told("Workload", "MIGLayoutChanges"), "on node a, MIG layout of GPU 1 changes from no MIG to 7×1g.10gb"));
    GPUS("a", "success", "1g.10gb 7", "1g.10gb 7");
    run(3000);
    assert_true(object_condition_true(get(WORKLOADS "/g0"), "Admitted"));
    assert_false(object_condition_true(get(WORKLOADS "/g1"), "Admitted"));
}

/* GPUs that were cut are whole again for who asks for them, once nobody has a part of them. */
static void whole_again(void **state)
{
    (void)state;
    GPUS("a", NULL, "1g.10gb 7", "whole");
    pod("small", "nvidia.com/mig-1g.10gb", 1);
    run(1000);
    pod("both", "nvidia.com/gpu", 2);
    run(20000);
    assert_string_equal(layout("a"), "");
    end("small");
    run(8000);
    assert_string_equal(layouts("a"), "  - devices: [0]\n    mig-enabled: false\n  - devices: [1]\n    mig-enabled: false\n");
    GPUS("a", "success", "whole", "whole");
    run(3000);
    assert_string_equal(where("both"), "a");
}

/* Another model's instance, a share, a part of an instance: the GPU is not changed, and the layout does not name it. */
static void what_is_not_understood_stays(void **state)
{
    static const char *const odd[] = {"1g.5gb 1", "9g.90gb 1", "1c.3g.40gb 2"};
    (void)state;
    for (uint32_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        GPUS("a", "success", odd[i], "whole");
        const char *name = arena_printf(w.a, "p%u", i);
        const char *before = layout("a");
        pod(name, "nvidia.com/mig-3g.40gb", 1);
        for (int s = 0; s < 600 && text_equal(layout("a"), before); s++)
            run(1000);
        assert_string_equal(layouts("a"), "  - devices: [1]\n    mig-enabled: true\n    mig-devices: {\"3g.40gb\": 2}\n");
        end(name);
        GPUS("a", "success", odd[i], "3g.40gb 2");
        run(2000);
    }
}

static void only_who_leads(void **state)
{
    (void)state;
    relayout_free(relayout);
    scheduler_follows();
    relayout = relayout_new(w.scheduler);
    GPUS("a", NULL, "whole", "whole", "whole"); /* it sees the node, after all */
    pod("p", "nvidia.com/mig-3g.40gb", 1);
    run(30000);
    assert_string_equal(layout("a"), "");
    scheduler_comes_to_lead();
    run(10000);
    assert_true(text_starts(layout("a"), "demand-"));
}

/* What another one began is not begun again; what failed meanwhile is taken back. */
static void after_a_restart(void **state)
{
    (void)state;
    pod("p", "nvidia.com/mig-3g.40gb", 1);
    run(8000);
    const char *first = layout("a");
    patch(NODE "a", "{\"metadata\":{\"labels\":{\"nvidia.com/mig.config.state\":\"pending\"}}}");
    relayout_free(relayout);
    scheduler_free(w.scheduler);
    scheduler_start();
    relayout = relayout_new(w.scheduler);
    run(4 * RELAYOUT_PAUSE_MS);
    assert_string_equal(layout("a"), first);
    patch(NODE "a", "{\"metadata\":{\"labels\":{\"nvidia.com/mig.config.state\":\"failed\"}}}");
    run(10000);
    assert_non_null(strstr(told("Node", "MIGLayoutFailed"), "did not come; it is taken back"));
    assert_string_equal(layouts("a"), "  - devices: [0]\n    mig-enabled: false\n  - devices: [1]\n    mig-enabled: false\n");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, finish)
    const struct CMUnitTest tests[] = {
        T(follows_what_waits),        T(never_a_gpu_in_use),     T(one_change_and_then_a_pause),
        T(longer_where_nobody_comes), T(a_layout_that_failed_is_taken_back), T(what_the_server_denies),
        T(whole_again),               T(only_who_leads),         T(after_a_restart), T(what_is_not_understood_stays),
        T(a_workload_is_told),        cmocka_unit_test_teardown(only_where_it_is_allowed, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
