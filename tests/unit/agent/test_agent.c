/* test_agent.c - the whole agent on a virtual clock: simulated GPUs below, an API server above, what a user sees of the node */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>
#include "agent/agent.h"
#include "apiserver/apiserver.h"
#include "base/log.h"
#include "net/http_local.h"
#include "../folder.h"

#define ALL 0xffffffffu

struct world {
    struct loop *loop;
    struct apiserver *server;
    struct kube_client *client;
    struct driver *driver;
    struct agent *agent;
    struct agent_options options;
    struct arena *a;
    char dir[64];
    struct json *got; /* of the last kube_get */
    int code;
};

static void create(struct world *w, const char *text)
{
    struct err e = {0};
    struct json *object = json_parse(w->a, bytes_of(text), NULL, &e);
    if (!object || apiserver_create(w->server, w->a, object, &e) < 0)
        fail_msg("%s: %s", text, e.text);
}

static void on_got(void *arg, const struct kube_answer *answer)
{
    struct world *w = arg;
    w->code = answer->code;
    w->got = answer->code == 0 ? json_parse(w->a, answer->body, NULL, NULL) : NULL;
}

static void run(struct world *w, int64_t ms)
{
    assert_int_equal(loop_run_for(w->loop, ms, NULL), 0);
}

static struct json *get(struct world *w, const char *path)
{
    kube_get(w->client, path, on_got, w);
    run(w, 100);
    if (w->code != 0)
        fail_msg("%s: %d", path, w->code);
    return w->got;
}

static void patch(struct world *w, const char *path, const char *body)
{
    kube_patch(w->client, KUBE_PATCH_MERGE, path, bytes_of(body), on_got, w);
    run(w, 100);
    assert_int_equal(w->code, 0);
}

static const char *label(struct world *w, const char *name)
{
    return json_text(json_path(get(w, "/api/v1/nodes/n1"), "metadata", "labels", name, NULL), "(none)");
}

static const char *devices(struct world *w)
{
    return json_text(json_path(get(w, "/api/v1/nodes/n1"), "metadata", "annotations", "capstan.dev/devices", NULL), "(none)");
}

/* status/reason of a condition of the node */
static const char *condition(struct world *w, const char *type)
{
    JSON_EACH(one, json_path(get(w, "/api/v1/nodes/n1"), "status", "conditions", NULL))
    if (text_equal(json_get_text(one, "type", ""), type))
        return arena_printf(w->a, "%s/%s", json_get_text(one, "status", ""), json_get_text(one, "reason", ""));
    return "(none)";
}

static bool has_event(struct world *w, const char *reason, const char *part)
{
    JSON_EACH(one, json_get(get(w, "/api/v1/namespaces/default/events"), "items"))
    if (text_equal(json_get_text(one, "reason", ""), reason) && strstr(json_get_text(one, "message", ""), part))
        return true;
    return false;
}

static void start_agent(struct world *w, const char *model, uint32_t gpus_n)
{
    struct err e = {0};
    w->driver = driver_model_new(w->loop, gpu_model_find(model), gpus_n, "n1");
    if (agent_new(w->loop, w->driver, w->client, &w->options, &w->agent, &e) < 0)
        fail_msg("%s", e.text);
    run(w, 3000);
}

static int setup(void **state)
{
    struct world *w = mem_zero(1, sizeof *w);
    struct err e = {0};
    log_set_level(getenv("TEST_LOG") ? LOG_DEBUG : LOG_ERROR);
    folder_make(w->dir, sizeof w->dir, "agent");
    w->a = arena_new();
    w->loop = loop_new_virtual(1767225600000);
    if (apiserver_new(w->loop, &(struct apiserver_config){0}, &w->server, &e) < 0)
        return -1;
    create(w, "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\",\"labels\":{\"nvidia.com/gpu.deploy.driver\":\"true\","
              "\"nvidia.com/gpu.count\":\"99\",\"zone\":\"a\"}}}");
    w->client = kube_client_wrap(w->loop, http_local_client_new(w->loop, apiserver_handle, w->server, NULL, 1));
    w->options = (struct agent_options){.node_name = "n1", .state_dir = w->dir, .root = "/nonexistent"};
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    agent_free(w->agent);
    kube_client_free(w->client);
    apiserver_free(w->server);
    loop_free(w->loop);
    arena_free(w->a);
    folder_remove(w->dir);
    free(w);
    return 0;
}

static void write_file(struct world *w, const char *name, const char *text)
{
    char path[160];
    (void)snprintf(path, sizeof path, "%s/%s", w->dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs(text, f);
    (void)fclose(f);
}

static void test_node_is_labelled(void **state)
{
    struct world *w = *state;
    start_agent(w, "a100-40gb", 8);
    assert_string_equal(label(w, "nvidia.com/gpu.count"), "8");
    assert_string_equal(label(w, "nvidia.com/gpu.present"), "true");
    assert_string_equal(label(w, "nvidia.com/gpu.product"), "NVIDIA-A100-SXM4-40GB");
    assert_string_equal(label(w, "zone"), "a"); /* of others: left alone */
    assert_string_equal(label(w, "nvidia.com/gpu.deploy.driver"), "true");
    assert_non_null(strstr(devices(w), "GPU-"));
    assert_string_equal(condition(w, "GPUHealthy"), "True/GPUsHealthy");
    assert_string_equal(condition(w, "GPUConfigValid"), "True/ConfigValid");
    assert_true(agent_ready(w->agent) && agent_labels_written(w->agent));
    const char *version = json_text(json_path(get(w, "/api/v1/nodes/n1"), "metadata", "resourceVersion", NULL), "");
    run(w, 600000); /* nothing happens: nothing is written */
    assert_string_equal(json_text(json_path(get(w, "/api/v1/nodes/n1"), "metadata", "resourceVersion", NULL), ""), version);
    /* Somebody takes a label away: it comes back. */
    patch(w, "/api/v1/nodes/n1", "{\"metadata\":{\"labels\":{\"nvidia.com/gpu.family\":null}}}");
    run(w, 3000);
    assert_string_equal(label(w, "nvidia.com/gpu.family"), "ampere");
}

static const char map[] = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"cfg\",\"namespace\":\"default\"},\"data\":{"
                          "\"plain\":\"version: v1\\n\",\"shared\":\"version: v1\\nsharing:\\n  timeSlicing:\\n    resources:\\n    - name: "
                          "nvidia.com/gpu\\n      replicas: 4\\n\"}}";

static void test_config_by_label(void **state)
{
    struct world *w = *state;
    create(w, map);
    w->options.config_map = "default/cfg";
    w->options.config_default = "plain";
    start_agent(w, "t4", 2);
    assert_string_equal(label(w, "nvidia.com/gpu.replicas"), "1");
    patch(w, "/api/v1/nodes/n1", "{\"metadata\":{\"labels\":{\"nvidia.com/device-plugin.config\":\"shared\"}}}");
    run(w, 3000);
    assert_string_equal(label(w, "nvidia.com/gpu.replicas"), "4");
    assert_non_null(strstr(devices(w), "::3"));
    /* Edited under the same name: noticed. */
    patch(w, "/api/v1/namespaces/default/configmaps/cfg",
          "{\"data\":{\"shared\":\"version: v1\\nsharing:\\n  timeSlicing:\\n    resources:\\n    - name: nvidia.com/gpu\\n      replicas: "
          "3\\n\"}}");
    run(w, 3000);
    assert_string_equal(label(w, "nvidia.com/gpu.replicas"), "3");
    /* Broken: the old one stays, and it is said. */
    patch(w, "/api/v1/namespaces/default/configmaps/cfg", "{\"data\":{\"shared\":\"version: v1\\nsharing:\\n  timeSlcing: {}\\n\"}}");
    run(w, 3000);
    assert_string_equal(label(w, "nvidia.com/gpu.replicas"), "3");
    assert_string_equal(condition(w, "GPUConfigValid"), "False/ConfigInvalid");
    assert_true(has_event(w, "GPUConfigInvalid", "timeSlcing"));
    /* A label that leads nowhere: the same. Put right: used. */
    patch(w, "/api/v1/nodes/n1", "{\"metadata\":{\"labels\":{\"nvidia.com/device-plugin.config\":\"nosuch\"}}}");
    run(w, 3000);
    assert_string_equal(label(w, "nvidia.com/gpu.replicas"), "3");
    assert_true(has_event(w, "GPUConfigInvalid", "nosuch"));
    patch(w, "/api/v1/nodes/n1", "{\"metadata\":{\"labels\":{\"nvidia.com/device-plugin.config\":\"plain\"}}}");
    run(w, 3000);
    assert_string_equal(label(w, "nvidia.com/gpu.replicas"), "1");
    assert_string_equal(condition(w, "GPUConfigValid"), "True/ConfigValid");
}

/* A ConfigMap that goes takes nothing away; the same one again is used at once, and a removed label still leads to the defaults. */
static void test_config_map_deleted(void **state)
{
    struct world *w = *state;
    create(w, map);
    w->options.config_map = "default/cfg";
    start_agent(w, "t4", 2);
    patch(w, "/api/v1/namespaces/default/configmaps/cfg", "{\"data\":{\"plain\":null}}"); /* the only entry counts */
    run(w, 3000);
    assert_string_equal(label(w, "nvidia.com/gpu.replicas"), "4");
    patch(w, "/api/v1/namespaces/default/configmaps/cfg", "{\"data\":{\"shared\":null}}");
    run(w, 3000);
    assert_string_equal(label(w, "nvidia.com/gpu.replicas"), "4");
    assert_string_equal(condition(w, "GPUConfigValid"), "False/ConfigGone");
    assert_true(has_event(w, "GPUConfigInvalid", "entry 'shared'"));
    kube_delete(w->client, "/api/v1/namespaces/default/configmaps/cfg", BYTES(""), on_got, w);
    run(w, 3000);
    assert_string_equal(label(w, "nvidia.com/gpu.replicas"), "4");
    assert_true(has_event(w, "GPUConfigInvalid", "has been deleted"));
    create(w, map);
    patch(w, "/api/v1/nodes/n1", "{\"metadata\":{\"labels\":{\"nvidia.com/device-plugin.config\":\"shared\"}}}");
    run(w, 3000);
    assert_string_equal(label(w, "nvidia.com/gpu.replicas"), "4");
    assert_string_equal(condition(w, "GPUConfigValid"), "True/ConfigValid");
    patch(w, "/api/v1/nodes/n1", "{\"metadata\":{\"labels\":{\"nvidia.com/device-plugin.config\":null}}}");
    run(w, 3000);
    assert_string_equal(label(w, "nvidia.com/gpu.replicas"), "1");
}

/* Node feature discovery's folder comes later than the labels, which do not change any more. */
static void test_features_file_is_tried_again(void **state)
{
    struct world *w = *state;
    char *folder = arena_printf(w->a, "%s/features.d", w->dir);
    write_file(w, "c.yaml", arena_printf(w->a, "version: v1\nflags: {gfd: {outputFile: %s/gfd}}\n", folder));
    w->options.config_file = arena_printf(w->a, "%s/c.yaml", w->dir);
    start_agent(w, "t4", 1);
    assert_string_equal(label(w, "nvidia.com/gpu.count"), "1");
    run(w, 100000);
    assert_false(agent_labels_written(w->agent));
    assert_int_equal(mkdir(folder, 0700), 0);
    run(w, 60000);
    assert_true(agent_labels_written(w->agent));
    assert_int_equal(access(arena_printf(w->a, "%s/gfd", folder), F_OK), 0);
}

/* What the readiness probe reads: written once it can be, though nothing has changed since. */
static void test_status_is_tried_again(void **state)
{
    struct world *w = *state;
    char *path = arena_printf(w->a, "%s/status.json", w->dir);
    assert_int_equal(mkdir(path, 0700), 0);
    start_agent(w, "t4", 1);
    run(w, 10000);
    assert_int_equal(rmdir(path), 0);
    run(w, 3000);
    assert_int_equal(access(path, F_OK), 0);
}

static void test_config_file(void **state)
{
    struct world *w = *state;
    write_file(w, "c.yaml", "version: v1\nsharing: {mps: 3}\n");
    w->options.config_file = arena_printf(w->a, "%s/c.yaml", w->dir);
    start_agent(w, "t4", 1); /* refused, and up */
    assert_string_equal(label(w, "nvidia.com/gpu.present"), "(none)");
    assert_string_equal(condition(w, "GPUConfigValid"), "False/ConfigInvalid");
    write_file(w, "c.yaml", "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, replicas: 2}\n");
    run(w, 3000);
    assert_string_equal(label(w, "nvidia.com/gpu.replicas"), "2");
}

static void test_mig_by_label(void **state)
{
    struct world *w = *state;
    static const struct config_setting mixed = {"flags.migStrategy", "mixed", "--mig-strategy"};
    w->options.settings = &mixed;
    w->options.settings_n = 1;
    start_agent(w, "a100-40gb", 2);
    patch(w, "/api/v1/nodes/n1", "{\"metadata\":{\"labels\":{\"nvidia.com/mig.config\":\"all-1g.5gb\"}}}");
    run(w, 10000);
    assert_string_equal(label(w, "nvidia.com/mig.config.state"), "success");
    assert_string_equal(label(w, "nvidia.com/mig-1g.5gb.count"), "14");
    assert_non_null(strstr(devices(w), "nvidia.com/mig-1g.5gb"));
    assert_true(has_event(w, "MIGConfigApplied", "2 GPUs changed"));
    /* Somebody works on an instance that has to go: refused, nothing changes. */
    const struct driver_process p = {.pid = 4711, .gpu = 0, .gi = 9, .ci = 0};
    driver_model_set_processes(w->driver, &p, 1);
    patch(w, "/api/v1/nodes/n1", "{\"metadata\":{\"labels\":{\"nvidia.com/mig.config\":\"all-disabled\"}}}");
    run(w, 10000);
    assert_string_equal(label(w, "nvidia.com/mig.config.state"), "failed");
    assert_string_equal(label(w, "nvidia.com/mig-1g.5gb.count"), "7"); /* the other GPU has changed */
    patch(w, "/api/v1/nodes/n1", "{\"metadata\":{\"labels\":{\"nvidia.com/mig.config\":\"no-such-layout\"}}}");
    run(w, 10000);
    assert_string_equal(label(w, "nvidia.com/mig.config.state"), "failed");
    assert_true(has_event(w, "MIGConfigFailed", "all-balanced"));
    driver_model_set_processes(w->driver, NULL, 0);
    patch(w, "/api/v1/nodes/n1", "{\"metadata\":{\"labels\":{\"nvidia.com/mig.config\":\"all-disabled\"}}}");
    run(w, 10000);
    assert_string_equal(label(w, "nvidia.com/mig.config.state"), "success");
    assert_string_equal(label(w, "nvidia.com/mig-1g.5gb.count"), "(none)");
    assert_string_equal(label(w, "nvidia.com/gpu.count"), "2");
}

#define LAYOUTS(profile, n) "version: v1\\nmig-configs:\\n  mine:\\n  - devices: all\\n    mig-enabled: true\\n    mig-devices:\\n      " profile ": " n "\\n"

/* The layout that the label names is edited: in the ConfigMap, which may go and come back, and in a file. */
static void test_mig_layouts_edited(void **state)
{
    struct world *w = *state;
    static const struct config_setting mixed = {"flags.migStrategy", "mixed", "--mig-strategy"};
    static const char path[] = "/api/v1/namespaces/default/configmaps/mig";
    w->options.settings = &mixed;
    w->options.settings_n = 1;
    w->options.mig_config_map = "default/mig";
    start_agent(w, "a100-40gb", 1);
    patch(w, "/api/v1/nodes/n1", "{\"metadata\":{\"labels\":{\"nvidia.com/mig.config\":\"mine\"}}}");
    run(w, 5000);
    assert_string_equal(label(w, "nvidia.com/mig.config.state"), "failed"); /* there is no such ConfigMap yet */
    create(w, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"mig\",\"namespace\":\"default\"},\"data\":{"
              "\"config.yaml\":\"" LAYOUTS("1g.5gb", "7") "\"}}");
    run(w, 10000);
    assert_string_equal(label(w, "nvidia.com/mig-1g.5gb.count"), "7");
    patch(w, path, "{\"data\":{\"config.yaml\":\"" LAYOUTS("3g.20gb", "2") "\"}}");
    run(w, 10000);
    assert_string_equal(label(w, "nvidia.com/mig-1g.5gb.count"), "(none)");
    assert_string_equal(label(w, "nvidia.com/mig-3g.20gb.count"), "2");
    patch(w, path, "{\"data\":{\"config.yaml\":\"version: v9\"}}");
    run(w, 10000);
    assert_string_equal(label(w, "nvidia.com/mig.config.state"), "failed");
    assert_string_equal(label(w, "nvidia.com/mig-3g.20gb.count"), "2");
    kube_delete(w->client, path, BYTES(""), on_got, w);
    run(w, 10000);
    assert_string_equal(label(w, "nvidia.com/mig-3g.20gb.count"), "2");
}

static void test_mig_file_edited(void **state)
{
    struct world *w = *state;
    static const struct config_setting mixed = {"flags.migStrategy", "mixed", "--mig-strategy"};
    w->options.settings = &mixed;
    w->options.settings_n = 1;
    w->options.mig_config_file = arena_printf(w->a, "%s/mig.yaml", w->dir);
    start_agent(w, "a100-40gb", 1);
    patch(w, "/api/v1/nodes/n1", "{\"metadata\":{\"labels\":{\"nvidia.com/mig.config\":\"mine\"}}}");
    run(w, 5000);
    assert_string_equal(label(w, "nvidia.com/mig.config.state"), "failed");
    write_file(w, "mig.yaml", "version: v1\nmig-configs:\n  mine: [{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 7}}]\n");
    run(w, 10000);
    assert_string_equal(label(w, "nvidia.com/mig.config.state"), "success");
    assert_string_equal(label(w, "nvidia.com/mig-1g.5gb.count"), "7");
    write_file(w, "mig.yaml", "version: v1\nmig-configs:\n  mine: [{devices: all, mig-enabled: true, mig-devices: {3g.20gb: 1}}]\n");
    run(w, 10000);
    assert_string_equal(label(w, "nvidia.com/mig-3g.20gb.count"), "1");
}

static void test_lost_gpu(void **state)
{
    struct world *w = *state;
    start_agent(w, "h100-80gb", 2);
    driver_model_event(w->driver, 1, ALL, ALL, DRIVER_EVENT_LOST, 0);
    run(w, 5000);
    assert_string_equal(condition(w, "GPUHealthy"), "False/GPUsUnhealthy");
    assert_non_null(strstr(devices(w), "\"healthy\":false"));
    driver_model_event(w->driver, 1, ALL, ALL, DRIVER_EVENT_BACK, 0);
    run(w, 1200000);
    assert_string_equal(condition(w, "GPUHealthy"), "True/GPUsHealthy");
}

static void test_mig_waits_for_a_lost_gpu(void **state)
{
    struct world *w = *state;
    start_agent(w, "h100-80gb", 2);
    driver_model_event(w->driver, 1, ALL, ALL, DRIVER_EVENT_LOST, 0);
    run(w, 5000);
    patch(w, "/api/v1/nodes/n1", "{\"metadata\":{\"labels\":{\"nvidia.com/mig.config\":\"all-1g.10gb\"}}}");
    run(w, 60000);
    assert_string_equal(label(w, "nvidia.com/mig.config.state"), "failed");
    assert_true(has_event(w, "MIGConfigFailed", "is lost, and layout 'all-1g.10gb' names it"));
    assert_int_equal(inventory_now(agent_inventory(w->agent))->reading->gpus[0].migs_n, 0); /* nor the other one */
    driver_model_event(w->driver, 1, ALL, ALL, DRIVER_EVENT_BACK, 0);
    run(w, 20000);
    assert_string_equal(label(w, "nvidia.com/mig.config.state"), "success");
    assert_int_equal(inventory_now(agent_inventory(w->agent))->reading->gpus[1].migs_n, 7);
}

static void test_xid_drains_resets_and_comes_back(void **state)
{
    struct world *w = *state;
    start_agent(w, "h100-80gb", 2);
    driver_model_event(w->driver, 0, ALL, ALL, DRIVER_EVENT_XID, 48);
    run(w, 4000);
    assert_string_equal(condition(w, "GPUHealthy"), "False/GPUsUnhealthy");
    assert_true(has_event(w, "GPUError", "XID 48"));
    run(w, 600000);
    assert_string_equal(condition(w, "GPUHealthy"), "True/GPUsHealthy");
}

static void create_pod(struct world *w, const char *name, const char *more)
{
    create(w, arena_printf(w->a, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"%s},\"spec\":{"
                                 "\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}", name, more));
    patch(w, arena_printf(w->a, "/api/v1/namespaces/default/pods/%s/status", name),
          "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
}

static void on_deleted(void *arg, const struct kube_answer *answer)
{
    (void)arg;
    assert_int_equal(answer->code, 0);
}

/* The kubelet's end of a pod. */
static void end_pod(struct world *w, const char *name)
{
    kube_delete(w->client, arena_printf(w->a, "/api/v1/namespaces/default/pods/%s", name), BYTES("{\"gracePeriodSeconds\":0}"), on_deleted, w);
    run(w, 100);
}

/* 'e' evicted and ending, 'r' runs, '-' gone; one letter a name. */
static const char *pods(struct world *w, const char *names)
{
    char *text = arena_text(w->a, names);
    for (char *c = text; *c; c++) {
        kube_get(w->client, arena_printf(w->a, "/api/v1/namespaces/default/pods/%c", *c), on_got, w);
        run(w, 1);
        *c = w->code == -E_NOTFOUND ? '-' : json_path(w->got, "metadata", "deletionTimestamp", NULL) ? 'e' : 'r';
    }
    return text;
}

#define GPU(i) inventory_now(agent_inventory(w->agent))->reading->gpus[i].uuid

static void test_drain_evicts(void **state)
{
    struct world *w = *state;
    w->options.drain_evicts = true;
    create(w, "{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\",\"metadata\":{\"name\":\"keep\",\"namespace\":\"default\"},"
              "\"spec\":{\"minAvailable\":1,\"selector\":{\"matchLabels\":{\"app\":\"a\"}}}}");
    create_pod(w, "a", ",\"labels\":{\"app\":\"a\"}");
    create_pod(w, "b", "");
    create_pod(w, "c", "");
    create_pod(w, "d", ",\"annotations\":{\"kubernetes.io/config.mirror\":\"x\"}");
    create_pod(w, "e", "");
    start_agent(w, "h100-80gb", 2);
    char *shares[4];
    for (uint32_t i = 0; i < 4; i++)
        shares[i] = arena_printf(w->a, "%s::%u", GPU(0), i);
    const struct slot_owner owners[] = {{"r", shares[0], "default", "a", "c"}, {"r", shares[1], "default", "b", "c"},
                                        {"r", shares[2], "default", "c", "c"}, {"r", shares[3], "default", "d", "c"},
                                        {"r", arena_text(w->a, GPU(1)), "default", "e", "c"}};
    inventory_set_owners(agent_inventory(w->agent), owners, 5);
    driver_model_set_processes(w->driver, &(struct driver_process){.pid = 77, .gi = ALL, .ci = ALL, .gpu = 0}, 1);
    driver_model_event(w->driver, 0, ALL, ALL, DRIVER_EVENT_XID, 31); /* an application's own: nobody is sent away */
    run(w, 30000);
    assert_string_equal(pods(w, "abcde"), "rrrrr");
    driver_model_event(w->driver, 0, ALL, ALL, DRIVER_EVENT_XID, 48);
    run(w, 9000);
    assert_string_equal(pods(w, "abcde"), "rerrr"); /* "a" was asked first and is protected; then one every five seconds */
    run(w, 30000);
    assert_string_equal(pods(w, "abcde"), "reerr");
    assert_true(has_event(w, "GPUEvictionWaits", "is draining after XID 48: "));
    assert_true(has_event(w, "GPUEviction", "is draining after XID 48"));
    end_pod(w, "b");
    create_pod(w, "b", ""); /* of the same name, with another GPU by now: stays, whatever the kubelet still says of the old one */
    run(w, 20000);
    assert_string_equal(pods(w, "abcde"), "rrerr");
    kube_delete(w->client, "/apis/policy/v1/namespaces/default/poddisruptionbudgets/keep", (struct bytes){0}, on_deleted, w);
    run(w, 15000);
    assert_string_equal(pods(w, "abcde"), "ererr");
    end_pod(w, "a");
    end_pod(w, "c");
    driver_model_set_processes(w->driver, NULL, 0);
    inventory_set_owners(agent_inventory(w->agent), &owners[4], 1);
    run(w, 600000);
    assert_string_equal(condition(w, "GPUHealthy"), "True/GPUsHealthy");
    assert_string_equal(pods(w, "abcde"), "-r-rr");
}

static void test_drain_of_an_instance(void **state)
{
    struct world *w = *state;
    w->options.drain_evicts = true;
    create_pod(w, "a", "");
    create_pod(w, "b", "");
    start_agent(w, "h100-80gb", 1);
    patch(w, "/api/v1/nodes/n1", "{\"metadata\":{\"labels\":{\"nvidia.com/mig.config\":\"all-3g.40gb\"}}}");
    run(w, 10000);
    assert_string_equal(label(w, "nvidia.com/mig.config.state"), "success");
    const struct driver_gpu *gpu = &inventory_now(agent_inventory(w->agent))->reading->gpus[0];
    assert_int_equal(gpu->migs_n, 2);
    const struct driver_mig broken = gpu->migs[1];
    const struct slot_owner owners[] = {{"r", arena_text(w->a, gpu->migs[0].uuid), "default", "a", "c"},
                                        {"r", arena_text(w->a, gpu->migs[1].uuid), "default", "b", "c"}};
    inventory_set_owners(agent_inventory(w->agent), owners, 2);
    driver_model_event(w->driver, 0, broken.gi, broken.ci, DRIVER_EVENT_XID, 48);
    run(w, 60000);
    assert_string_equal(pods(w, "ab"), "re"); /* the other instance is well */
    end_pod(w, "b");
    create_pod(w, "b", ""); /* its successor has nothing here */
    inventory_set_owners(agent_inventory(w->agent), owners, 1);
    driver_model_event(w->driver, 0, ALL, ALL, DRIVER_EVENT_LOST, 0);
    run(w, HEALTH_LOST_MS - 10000);
    assert_string_equal(pods(w, "ab"), "rr"); /* it may come back */
    run(w, 30000);
    assert_string_equal(pods(w, "ab"), "er");
    assert_true(has_event(w, "GPUEviction", "has failed"));
}

static void test_drain_waits(void **state)
{
    struct world *w = *state;
    create_pod(w, "a", "");
    start_agent(w, "h100-80gb", 1);
    inventory_set_owners(agent_inventory(w->agent), &(struct slot_owner){"r", GPU(0), "default", "a", "c"}, 1);
    driver_model_set_processes(w->driver, &(struct driver_process){.pid = 77, .gi = ALL, .ci = ALL, .gpu = 0}, 1);
    driver_model_event(w->driver, 0, ALL, ALL, DRIVER_EVENT_XID, 48);
    run(w, 600000);
    assert_string_equal(pods(w, "a"), "r");
    assert_string_equal(condition(w, "GPUHealthy"), "False/GPUsUnhealthy");
}

static void test_xid_of_the_kernel_log(void **state)
{
    struct world *w = *state;
    char path[160];
    write_file(w, "kmsg", "3,1,2,-;NVRM: Xid (PCI:0000:07:00): 48, before the start\n");
    (void)snprintf(path, sizeof path, "%s/kmsg", w->dir);
    w->options.kernel_log = path;
    start_agent(w, "h100-80gb", 2);
    assert_string_equal(condition(w, "GPUHealthy"), "True/GPUsHealthy");
    FILE *f = fopen(path, "a");
    (void)fprintf(f, "3,2,3,-;NVRM: Xid (PCI:%s): 48, pid=1, name=x\n", inventory_now(agent_inventory(w->agent))->reading->gpus[1].bus_id);
    (void)fclose(f);
    run(w, 4000);
    assert_string_equal(condition(w, "GPUHealthy"), "False/GPUsUnhealthy");
    assert_true(has_event(w, "GPUError", "XID 48"));
    run(w, 600000);
    assert_string_equal(condition(w, "GPUHealthy"), "True/GPUsHealthy");
}

static void test_restart_keeps_config(void **state)
{
    struct world *w = *state;
    create(w, map);
    w->options.config_map = "default/cfg";
    w->options.config_default = "shared";
    start_agent(w, "t4", 1);
    agent_free(w->agent);
    struct kube_client *client = w->client;
    w->client = NULL; /* no API server now */
    start_agent(w, "t4", 1);
    struct buf status = {0};
    agent_status(w->agent, &status);
    assert_non_null(strstr(status.data, "\"slots\":4"));
    buf_free(&status);
    w->client = client;
}

static void test_two_agents_and_bad_flags(void **state)
{
    struct world *w = *state;
    start_agent(w, "t4", 1);
    struct agent *other = NULL;
    struct err e = {0};
    struct driver *d = driver_model_new(w->loop, gpu_model_find("t4"), 1, "n1");
    assert_int_equal(agent_new(w->loop, d, NULL, &w->options, &other, &e), -E_CONFLICT);
    static const struct config_setting bad = {"flags.migStrategy", "sometimes", "--mig-strategy"};
    struct agent_options o = {.node_name = "n2", .settings = &bad, .settings_n = 1};
    d = driver_model_new(w->loop, gpu_model_find("t4"), 1, "n2");
    assert_int_equal(agent_new(w->loop, d, NULL, &o, &other, &e), -E_INVALID);
    assert_non_null(strstr(e.text, "--mig-strategy"));
}

static void test_damaged_journal(void **state)
{
    struct world *w = *state;
    write_file(w, "journal", "this is something else\n");
    start_agent(w, "t4", 1);
    assert_string_equal(label(w, "nvidia.com/gpu.count"), "1");
    char path[160];
    (void)snprintf(path, sizeof path, "%s/journal.damaged", w->dir);
    assert_int_equal(access(path, F_OK), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(test_node_is_labelled),
                                       T(test_config_by_label),
                                       T(test_config_map_deleted),
                                       T(test_features_file_is_tried_again),
                                       T(test_status_is_tried_again),
                                       T(test_config_file),
                                       T(test_mig_by_label),
                                       T(test_mig_layouts_edited),
                                       T(test_mig_file_edited),
                                       T(test_lost_gpu),
                                       T(test_mig_waits_for_a_lost_gpu),
                                       T(test_xid_drains_resets_and_comes_back),
                                       T(test_drain_evicts),
                                       T(test_drain_of_an_instance),
                                       T(test_drain_waits),
                                       T(test_xid_of_the_kernel_log),
                                       T(test_restart_keeps_config),
                                       T(test_two_agents_and_bad_flags),
                                       T(test_damaged_journal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
