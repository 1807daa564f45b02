/* test_agent.c - the whole agent: labels, configs, what is unhealthy, and its own restart */
#include "world_fed.h"
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/log.h"
#include "sim/driver/driver_model.h"

static void test_node_is_labelled(void **state)
{
    struct world *w = *state;
    world_start_agent(w, "a100-40gb", 8);
    assert_string_equal(world_label(w, "nvidia.com/gpu.count"), "8");
    assert_string_equal(world_label(w, "nvidia.com/gpu.present"), "true");
    assert_string_equal(world_label(w, "nvidia.com/gpu.product"), "NVIDIA-A100-SXM4-40GB");
    assert_string_equal(world_label(w, "zone"), "a"); /* of others: left alone */
    assert_string_equal(world_label(w, "nvidia.com/gpu.deploy.driver"), "true");
    assert_non_null(strstr(world_devices(w), "GPU-"));
    assert_string_equal(world_condition(w, "GPUHealthy"), "True/GPUsHealthy");
    assert_string_equal(world_condition(w, "GPUConfigValid"), "True/ConfigValid");
    assert_true(agent_ready(w->agent) && agent_labels_written(w->agent));
    const char *version = json_text(json_path(world_get(w, "/api/v1/nodes/n1"), "metadata", "resourceVersion", NULL), "");
    world_run(w, 600000); /* nothing happens: nothing is written */
    assert_string_equal(json_text(json_path(world_get(w, "/api/v1/nodes/n1"), "metadata", "resourceVersion", NULL), ""), version);
    /* Somebody takes a label away: it comes back. */
    world_set_label(w, "nvidia.com/gpu.family", NULL);
    world_run(w, 3000);
    assert_string_equal(world_label(w, "nvidia.com/gpu.family"), "ampere");
}

static const char map[] = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"cfg\",\"namespace\":\"default\"},\"data\":{"
                          "\"plain\":\"version: v1\\n\",\"shared\":\"version: v1\\nsharing:\\n  timeSlicing:\\n    resources:\\n    - name: "
                          "nvidia.com/gpu\\n      replicas: 4\\n\"}}";

static void test_config_by_label(void **state)
{
    struct world *w = *state;
    world_create(w, map);
    w->options.config_map = "default/cfg";
    w->options.config_default = "plain";
    world_start_agent(w, "t4", 2);
    assert_string_equal(world_label(w, "nvidia.com/gpu.replicas"), "1");
    world_set_label(w, "nvidia.com/device-plugin.config", "shared");
    world_run(w, 3000);
    assert_string_equal(world_label(w, "nvidia.com/gpu.replicas"), "4");
    assert_non_null(strstr(world_devices(w), "::3"));
    assert_true(world_has_event(w, "GPUConfigApplied", "default/cfg/shared"));
    /* Edited under the same name: noticed. */
    world_patch(w, "/api/v1/namespaces/default/configmaps/cfg",
                "{\"data\":{\"shared\":\"version: v1\\nsharing:\\n  timeSlicing:\\n    resources:\\n    - name: nvidia.com/gpu\\n      replicas: "
                "3\\n\"}}");
    world_run(w, 3000);
    assert_string_equal(world_label(w, "nvidia.com/gpu.replicas"), "3");
    /* Broken: the old one stays, and it is said. */
    world_patch(w, "/api/v1/namespaces/default/configmaps/cfg", "{\"data\":{\"shared\":\"version: v1\\nsharing:\\n  timeSlcing: {}\\n\"}}");
    world_run(w, 3000);
    assert_string_equal(world_label(w, "nvidia.com/gpu.replicas"), "3");
    assert_string_equal(world_condition(w, "GPUConfigValid"), "False/ConfigInvalid");
    assert_true(world_has_event(w, "GPUConfigInvalid", "timeSlcing"));
    /* A label that leads nowhere: the same. Put right: used. */
    world_set_label(w, "nvidia.com/device-plugin.config", "nosuch");
    world_run(w, 3000);
    assert_string_equal(world_label(w, "nvidia.com/gpu.replicas"), "3");
    assert_true(world_has_event(w, "GPUConfigInvalid", "nosuch"));
    world_set_label(w, "nvidia.com/device-plugin.config", "plain");
    world_run(w, 3000);
    assert_string_equal(world_label(w, "nvidia.com/gpu.replicas"), "1");
    assert_string_equal(world_condition(w, "GPUConfigValid"), "True/ConfigValid");
}

/* A config that is right in itself and not for these GPUs: said likewise, until it is. */
static void test_config_that_does_not_fit(void **state)
{
    struct world *w = *state;
    w->options.mig_config_file = arena_printf(w->a, "%s/mig.yaml", w->dir);
    world_write_file(w, "mig.yaml", "version: v1\nmig-configs:\n"
                                    "  mixed: [{devices: all, mig-enabled: true, mig-devices: {3g.20gb: 1, 1g.5gb: 1}}]\n"
                                    "  same: [{devices: all, mig-enabled: true, mig-devices: {3g.20gb: 2}}]\n");
    world_create(w, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"cfg\",\"namespace\":\"default\"},\"data\":{"
                    "\"single\":\"version: v1\\nflags: {migStrategy: single}\\n\"}}");
    w->options.config_map = "default/cfg";
    world_start_agent(w, "a100-40gb", 1);
    assert_string_equal(world_condition(w, "GPUConfigValid"), "True/ConfigValid");
    world_set_label(w, "nvidia.com/mig.config", "mixed");
    world_run(w, 10000);
    assert_string_equal(world_condition(w, "GPUConfigValid"), "False/ConfigInvalid");
    world_set_label(w, "nvidia.com/mig.config", "same");
    world_run(w, 10000);
    assert_string_equal(world_condition(w, "GPUConfigValid"), "True/ConfigValid");
}

/* A ConfigMap that goes takes nothing away; the same one again is used at once, and a removed label still leads to the defaults. */
static void test_config_map_deleted(void **state)
{
    struct world *w = *state;
    world_create(w, map);
    w->options.config_map = "default/cfg";
    world_start_agent(w, "t4", 2);
    world_patch(w, "/api/v1/namespaces/default/configmaps/cfg", "{\"data\":{\"plain\":null}}"); /* the only entry counts */
    world_run(w, 3000);
    assert_string_equal(world_label(w, "nvidia.com/gpu.replicas"), "4");
    world_patch(w, "/api/v1/namespaces/default/configmaps/cfg", "{\"data\":{\"shared\":null}}");
    world_run(w, 3000);
    assert_string_equal(world_label(w, "nvidia.com/gpu.replicas"), "4");
    assert_string_equal(world_condition(w, "GPUConfigValid"), "False/ConfigGone");
    assert_true(world_has_event(w, "GPUConfigInvalid", "entry 'shared'"));
    kube_delete(w->client, "/api/v1/namespaces/default/configmaps/cfg", BYTES(""), world_on_got, w);
    world_run(w, 3000);
    assert_string_equal(world_label(w, "nvidia.com/gpu.replicas"), "4");
    assert_true(world_has_event(w, "GPUConfigInvalid", "has been deleted"));
    world_create(w, map);
    world_set_label(w, "nvidia.com/device-plugin.config", "shared");
    world_run(w, 3000);
    assert_string_equal(world_label(w, "nvidia.com/gpu.replicas"), "4");
    assert_string_equal(world_condition(w, "GPUConfigValid"), "True/ConfigValid");
    world_set_label(w, "nvidia.com/device-plugin.config", NULL);
    world_run(w, 3000);
    assert_string_equal(world_label(w, "nvidia.com/gpu.replicas"), "1");
}

/* Node feature discovery's folder comes later than the labels, which do not change any more. */
/* In what the agent says on stderr while fn runs. */
static bool says_meanwhile(struct world *w, int64_t ms, const char *part)
{
    char said[8192] = "";
    int file = memfd_create("said", MFD_CLOEXEC), before = dup(STDERR_FILENO);
    assert_true(file >= 0 && before >= 0 && dup2(file, STDERR_FILENO) == STDERR_FILENO);
    log_set_level(LOG_WARNING);
    world_run(w, ms);
    log_set_level(LOG_ERROR);
    assert_int_equal(dup2(before, STDERR_FILENO), STDERR_FILENO);
    assert_true(pread(file, said, sizeof said - 1, 0) >= 0);
    assert_int_equal(close(before) + close(file), 0);
    return strstr(said, part) != NULL;
}

/* The kubelet has not made it yet, or the name is another one: that is no fault of the API server, which has answered. */
static void test_no_node_object(void **state)
{
    struct world *w = *state;
    world_create(w, map);
    kube_delete(w->client, "/api/v1/nodes/n1", BYTES(""), world_on_got, w);
    world_run(w, 1000);
    w->options.config_map = "default/cfg";
    world_start_agent(w, "t4", 2);
    assert_true(says_meanwhile(w, 15000, "there is no Node object of this name yet: the kubelet makes it; is --node-name right?"));
}

static void test_features_file_is_tried_again(void **state)
{
    struct world *w = *state;
    char *folder = arena_printf(w->a, "%s/features.d", w->dir);
    world_write_file(w, "c.yaml", arena_printf(w->a, "version: v1\nflags: {gfd: {outputFile: %s/gfd}}\n", folder));
    w->options.config_file = arena_printf(w->a, "%s/c.yaml", w->dir);
    world_start_agent(w, "t4", 1);
    assert_string_equal(world_label(w, "nvidia.com/gpu.count"), "1");
    world_run(w, 100000);
    assert_false(agent_labels_written(w->agent));
    assert_int_equal(mkdir(folder, 0700), 0);
    world_run(w, 60000);
    assert_true(agent_labels_written(w->agent));
    assert_int_equal(access(arena_printf(w->a, "%s/gfd", folder), F_OK), 0);
}

/* What the readiness probe reads: written once it can be, though nothing has changed since. */
static void test_status_is_tried_again(void **state)
{
    struct world *w = *state;
    char *path = arena_printf(w->a, "%s/status.json", w->dir);
    assert_int_equal(mkdir(path, 0700), 0);
    world_start_agent(w, "t4", 1);
    world_run(w, 10000);
    assert_int_equal(rmdir(path), 0);
    world_run(w, 3000);
    assert_int_equal(access(path, F_OK), 0);
}

static void test_config_file(void **state)
{
    struct world *w = *state;
    world_write_file(w, "c.yaml", "version: v1\nsharing: {mps: 3}\n");
    w->options.config_file = arena_printf(w->a, "%s/c.yaml", w->dir);
    world_start_agent(w, "t4", 1); /* refused, and up */
    assert_string_equal(world_label(w, "nvidia.com/gpu.present"), "(none)");
    assert_string_equal(world_condition(w, "GPUConfigValid"), "False/ConfigInvalid");
    world_write_file(w, "c.yaml", "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, replicas: 2}\n");
    world_run(w, 3000);
    assert_string_equal(world_label(w, "nvidia.com/gpu.replicas"), "2");
}

static struct {
    struct driver_ops ops;
    void (*read)(void *self, driver_reading_fn fn, void *arg);
    uint32_t n;
} reads;

static void count_read(void *self, driver_reading_fn fn, void *arg)
{
    reads.n++;
    reads.read(self, fn, arg);
}

static uint32_t reads_in_a_minute(struct world *w)
{
    reads.n = 0;
    world_run(w, 60000);
    return reads.n;
}

/* How often labels are to be looked at is how often the driver is read, where that is oftener than the agent's own period. */
static void test_sleep_interval(void **state)
{
    struct world *w = *state;
    const char *text = "version: v1\nflags: {gfd: {sleepInterval: %s}}\n";
    world_write_file(w, "c.yaml", arena_printf(w->a, text, "3s"));
    w->options.config_file = arena_printf(w->a, "%s/c.yaml", w->dir);
    world_start_agent(w, "t4", 1);
    reads.ops = *w->driver->ops;
    reads.read = reads.ops.read;
    reads.ops.read = count_read;
    w->driver->ops = &reads.ops;
    world_run(w, 10000);
    assert_int_equal(reads_in_a_minute(w), 20);
    world_write_file(w, "c.yaml", arena_printf(w->a, text, "infinite"));
    world_run(w, 10000);
    assert_int_equal(reads_in_a_minute(w), 6);
    world_write_file(w, "c.yaml", arena_printf(w->a, text, "1h"));
    world_run(w, 10000);
    assert_int_equal(reads_in_a_minute(w), 6);
}

static bool status_has(const struct world *w, const char *text)
{
    _cleanup_buf_ struct buf status = {0};
    agent_status(w->agent, &status);
    return strstr(status.data, text) != NULL;
}

static void test_lost_gpu(void **state)
{
    struct world *w = *state;
    world_start_agent(w, "h100-80gb", 2);
    driver_model_event(w->driver, 1, ALL, ALL, DRIVER_EVENT_LOST, 0);
    world_run(w, 5000);
    assert_string_equal(world_condition(w, "GPUHealthy"), "False/GPUsUnhealthy");
    assert_non_null(strstr(world_devices(w), "\"healthy\":false,\"state\":\"Lost\""));
    assert_true(world_has_event(w, "GPUSlotsClosed", "nvidia.com/gpu: 1 of 2 slots can be handed out; closed: 1 Lost"));
    assert_true(status_has(w, "\"open\":1,\"closed\":[{\"slot\":\"GPU-"));
    assert_false(world_has_event(w, "GPUSlotsOpen", ""));
    driver_model_event(w->driver, 1, ALL, ALL, DRIVER_EVENT_BACK, 0);
    world_run(w, 1200000);
    assert_string_equal(world_condition(w, "GPUHealthy"), "True/GPUsHealthy");
    assert_null(strstr(world_devices(w), "\"state\""));
    assert_true(world_has_event(w, "GPUSlotsOpen", "all 2 slots can be handed out again"));
    assert_true(status_has(w, "\"open\":2}"));
}

static void test_xid_drains_resets_and_comes_back(void **state)
{
    struct world *w = *state;
    world_start_agent(w, "h100-80gb", 2);
    driver_model_event(w->driver, 0, ALL, ALL, DRIVER_EVENT_XID, 48);
    world_run(w, 4000);
    assert_string_equal(world_condition(w, "GPUHealthy"), "False/GPUsUnhealthy");
    assert_true(world_has_event(w, "GPUError", "XID 48"));
    world_run(w, 600000);
    assert_string_equal(world_condition(w, "GPUHealthy"), "True/GPUsHealthy");
}

static void test_xid_of_the_kernel_log(void **state)
{
    struct world *w = *state;
    char path[160];
    world_write_file(w, "kmsg", "3,1,2,-;NVRM: Xid (PCI:0000:07:00): 48, before the start\n");
    (void)snprintf(path, sizeof path, "%s/kmsg", w->dir);
    w->options.kernel_log = path;
    world_start_agent(w, "h100-80gb", 2);
    assert_string_equal(world_condition(w, "GPUHealthy"), "True/GPUsHealthy");
    FILE *f = fopen(path, "a");
    (void)fprintf(f, "3,2,3,-;NVRM: Xid (PCI:%s): 48, pid=1, name=x\n", inventory_now(agent_inventory(w->agent))->reading->gpus[1].bus_id);
    (void)fclose(f);
    world_run(w, 4000);
    assert_string_equal(world_condition(w, "GPUHealthy"), "False/GPUsUnhealthy");
    assert_true(world_has_event(w, "GPUError", "XID 48"));
    world_run(w, 600000);
    assert_string_equal(world_condition(w, "GPUHealthy"), "True/GPUsHealthy");
}

static void test_restart_keeps_config(void **state)
{
    struct world *w = *state;
    world_create(w, map);
    w->options.config_map = "default/cfg";
    w->options.config_default = "shared";
    world_start_agent(w, "t4", 1);
    agent_free(w->agent);
    struct kube_client *client = w->client;
    w->client = NULL; /* no API server now */
    world_start_agent(w, "t4", 1);
    struct buf status = {0};
    agent_status(w->agent, &status);
    assert_non_null(strstr(status.data, "\"slots\":4"));
    buf_free(&status);
    w->client = client;
}

static void on_stopped(void *arg)
{
    *(bool *)arg = true;
}

/* Until the next agent is there no device can be had, and schedulers are told. */
static void test_an_agent_that_ends_says_so(void **state)
{
    struct world *w = *state;
    bool stopped = false;
    char plugins[96];
    (void)snprintf(plugins, sizeof plugins, "%s/plugins", w->dir);
    w->options.plugin_dir = plugins;
    world_start_agent(w, "t4", 2);
    assert_non_null(strstr(world_devices(w), "\"healthy\":true"));
    agent_stop(w->agent, on_stopped, &stopped);
    world_run(w, 500);
    assert_true(stopped);
    assert_null(strstr(world_devices(w), "\"healthy\":true"));
    assert_non_null(strstr(world_devices(w), "\"healthy\":false"));
    agent_free(w->agent);
    world_start_agent(w, "t4", 2);
    assert_non_null(strstr(world_devices(w), "\"healthy\":true"));
}

/* A node that is to get no pods before its devices are known. */
static void test_startup_taint(void **state)
{
    struct world *w = *state;
    world_patch(w, "/api/v1/nodes/n1", "{\"spec\":{\"taints\":[{\"key\":\"a\",\"effect\":\"NoSchedule\"},{\"key\":\"capstan.dev/starting\","
                                       "\"effect\":\"NoSchedule\"},{\"key\":\"b\",\"effect\":\"NoExecute\"}]}}");
    w->options.config_map = "default/cfg"; /* which is not there: the defaults are in use after a while */
    world_start_agent(w, "t4", 1);
    world_run(w, 30000);
    assert_non_null(strstr(world_devices(w), "GPU-"));
    const struct json *taints = json_path(world_get(w, "/api/v1/nodes/n1"), "spec", "taints", NULL);
    assert_int_equal(taints->n, 2);
    assert_string_equal(json_get_text(json_first(taints), "key", ""), "a");
}

static void test_two_agents_and_bad_flags(void **state)
{
    struct world *w = *state;
    world_start_agent(w, "t4", 1);
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
    world_write_file(w, "journal", "this is something else\n");
    world_start_agent(w, "t4", 1);
    assert_string_equal(world_label(w, "nvidia.com/gpu.count"), "1");
    char path[160];
    (void)snprintf(path, sizeof path, "%s/journal.damaged", w->dir);
    assert_int_equal(access(path, F_OK), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define FED(name) {#name "_fed", name, world_setup_fed, world_teardown_fed, NULL}
    const struct CMUnitTest tests[] = {FED(test_node_is_labelled),
                                       FED(test_config_by_label),
                                       FED(test_config_map_deleted),
                                       FED(test_lost_gpu),
                                       FED(test_xid_drains_resets_and_comes_back),
                                       T(test_node_is_labelled),
                                       T(test_config_by_label),
                                       T(test_config_that_does_not_fit),
                                       T(test_config_map_deleted),
                                       T(test_no_node_object),
                                       T(test_features_file_is_tried_again),
                                       T(test_status_is_tried_again),
                                       T(test_config_file),
                                       T(test_sleep_interval),
                                       T(test_lost_gpu),
                                       T(test_xid_drains_resets_and_comes_back),
                                       T(test_xid_of_the_kernel_log),
                                       T(test_restart_keeps_config),
                                       T(test_startup_taint),
                                       T(test_an_agent_that_ends_says_so),
                                       T(test_two_agents_and_bad_flags),
                                       T(test_damaged_journal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
