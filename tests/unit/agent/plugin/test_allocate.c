/* test_allocate.c - answers to Allocate: what is refused, and what each option adds (the plain answers are golden files) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "agent/plugin/allocate.h"
#include "reading.h"

static struct test_node *node;
static struct err error;
static struct allocate_answer answer;
static struct machine machine;

static int caps(const struct machine *m, uint16_t gpu_minor, int gi, int ci)
{
    (void)m;
    return gpu_minor == 0 ? gi * 10 + (ci < 0 ? 0 : ci + 1) : -1;
}

static int begin(void **state)
{
    (void)state;
    node = node_new("a100-40gb", 4);
    machine = (struct machine){.dev_root = "/", .has_ctl = true, .has_uvm = true, .cap_minor = caps};
    return 0;
}

static int end(void **state)
{
    (void)state;
    node_free(node);
    return 0;
}

static void config(const char *yaml)
{
    node_config(node, yaml);
    if (node_table(node, NULL, &error) < 0)
        fail_msg("%s", error.text);
}

/* The slots at these places of the first resource; -1 ends the list. */
static int allocate_with(const struct allocate_limits *limits, const int *at)
{
    const char *slots[8];
    uint32_t n = 0;
    for (; at[n] >= 0; n++)
        slots[n] = node->table.resources[0].slots[at[n]].id;
    error = (struct err){0};
    return allocate_answer_make(node->arena, &node->snapshot, &node->config, &machine, &node->table.resources[0], slots, n, limits, &answer,
                                &error);
}
#define ALLOCATE(...) allocate_with(NULL, (const int[]){__VA_ARGS__, -1})

static const char *env(const char *name)
{
    for (uint32_t i = 0; i < answer.envs_n; i++) {
        assert_true(i == 0 || strcmp(answer.envs[i - 1].name, answer.envs[i].name) < 0);
        if (text_equal(answer.envs[i].name, name))
            return answer.envs[i].value;
    }
    return "";
}

static void refusals(void **state)
{
    (void)state;
    const char *unknown = "GPU-x";
    node->reading.gpus[1].lost = true;
    config("");
    assert_int_equal(allocate_answer_make(node->arena, &node->snapshot, &node->config, &machine, &node->table.resources[0], &unknown, 1,
                                          NULL, &answer, &error),
                     -E_NOTFOUND);
    assert_int_equal(ALLOCATE(0, 1), -E_DENIED);
    assert_non_null(strstr(error.text, "is not handed out now: Lost"));
    node->snapshot.units[2].health = UNIT_DRAINING;
    assert_int_equal(resource_table_make(node->arena, &node->snapshot, &node->config, &node->table, NULL, &error), 0);
    assert_int_equal(ALLOCATE(2), -E_DENIED);
    assert_non_null(strstr(error.text, "is not handed out now: Draining"));
    assert_int_equal(ALLOCATE(0, 3), 0);
    assert_string_equal(env("NVIDIA_VISIBLE_DEVICES"), "GPU-00000000-1111-4222-8333-000000000000,GPU-00000003-1111-4222-8333-000000000003");
}

static void more_than_one(void **state)
{
    (void)state;
    config("sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}]}}");
    assert_int_equal(ALLOCATE(0, 1), 0); /* two shares of one GPU are one GPU */
    assert_string_equal(env("NVIDIA_VISIBLE_DEVICES"), "GPU-00000000-1111-4222-8333-000000000000");
    config("sharing: {timeSlicing: {failRequestsGreaterThanOne: true, resources: [{name: gpu, replicas: 2}]}}");
    assert_int_equal(ALLOCATE(0), 0);
    assert_int_equal(ALLOCATE(0, 2), -E_DENIED);
    assert_non_null(strstr(error.text, "failRequestsGreaterThanOne"));
    config("sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}");
    assert_int_equal(ALLOCATE(0, 2), -E_DENIED);
    config("sharing: {mps: {failRequestsGreaterThanOne: false, resources: [{name: gpu, replicas: 2}]}}");
    assert_int_equal(ALLOCATE(0, 2), 0);
    /* unshared devices of the same resource may be several */
    config("sharing: {timeSlicing: {failRequestsGreaterThanOne: true, resources: [{name: gpu, devices: [3], replicas: 2}]}}");
    assert_int_equal(ALLOCATE(0, 1), 0);
    assert_int_equal(ALLOCATE(0, 3), -E_DENIED);
}

static void mps_only_where_shared(void **state)
{
    (void)state;
    struct allocate_limits limits = {.thread_percentage = 25};
    config("sharing: {mps: {failRequestsGreaterThanOne: false, resources: [{name: gpu, devices: [3], replicas: 2}]}}");
    assert_int_equal(ALLOCATE(0), 0);
    assert_string_equal(env("CUDA_MPS_PIPE_DIRECTORY"), "");
    assert_int_equal(answer.mounts_n, 0);
    assert_int_equal(allocate_with(&limits, (const int[]){3, -1}), 0);
    assert_string_equal(env("CUDA_MPS_PIPE_DIRECTORY"), "/mps/nvidia.com/gpu/pipe");
    assert_string_equal(env("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "25");
    assert_string_equal(env("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), "");
    assert_int_equal(answer.mounts_n, 2);
    assert_string_equal(answer.mounts[1].container_path, "/dev/shm");
    config("flags: {mpsRoot: /m}\nsharing: {mps: {renameByDefault: true, resources: [{name: gpu, replicas: 2}]}}");
    assert_int_equal(ALLOCATE(0), 0);
    assert_string_equal(answer.mounts[0].host_path, "/m/nvidia.com/gpu.shared/pipe");
}

static void device_nodes(void **state)
{
    (void)state;
    node_mig(node, 0, "3g.20gb", 0, 2);
    node_mig(node, 1, "3g.20gb", 0, 2);
    config("flags: {migStrategy: mixed, nvidiaDevRoot: /run/driver, plugin: {passDeviceSpecs: true}}\n"
           "resources: {gpus: [{pattern: \"*\", name: z}]}");
    machine.dev_root = "/run/driver";
    assert_int_equal(ALLOCATE(0, 1), 0);
    assert_int_equal(answer.devices_n, 7); /* ctl, uvm, nvidia0 once, two instances with two nodes each */
    assert_string_equal(answer.devices[0].host_path, "/run/driver/dev/nvidiactl");
    assert_string_equal(answer.devices[2].container_path, "/dev/nvidia0");
    assert_string_equal(answer.devices[3].permissions, "rw");
    assert_int_equal(ALLOCATE(2), -E_NOTFOUND); /* the capabilities of GPU 1 are unknown */
    assert_non_null(strstr(error.text, "mig-minors"));
    config("flags: {migStrategy: mixed}\nresources: {gpus: [{pattern: \"*\", name: z}]}");
    assert_int_equal(ALLOCATE(2), 0);
    assert_int_equal(answer.devices_n, 0);
}

static void imex(void **state)
{
    (void)state;
    config("imex: {channelIDs: [0]}");
    assert_int_equal(ALLOCATE(0), 0);
    assert_string_equal(env("NVIDIA_IMEX_CHANNELS"), "");
    config("imex: {channelIDs: [0], required: true}");
    assert_int_equal(ALLOCATE(0), -E_NOTFOUND);
    machine.has_imex_channel = true;
    assert_int_equal(ALLOCATE(0), 0);
    assert_string_equal(env("NVIDIA_IMEX_CHANNELS"), "0");
    config("imex: {channelIDs: [0]}\nflags: {plugin: {deviceListStrategy: [volume-mounts, envvar]}}");
    assert_int_equal(ALLOCATE(0), 0);
    assert_string_equal(env("NVIDIA_VISIBLE_DEVICES"), "/var/run/nvidia-container-devices");
    assert_string_equal(answer.mounts[1].container_path, "/var/run/nvidia-container-devices/imex/0");
}

static void cdi_names(void **state)
{
    (void)state;
    static const char *const nodes[] = {"/dev/gdrdrv"};
    config("flags: {gdrcopyEnabled: true, gdsEnabled: true, plugin: {deviceListStrategy: [cdi-cri, cdi-annotations], deviceIDStrategy: index,"
           " cdiAnnotationPrefix: x.example/, passDeviceSpecs: true}}\nimex: {channelIDs: [0]}");
    machine.has_imex_channel = true;
    machine.gdrcopy = (struct machine_paths){nodes, 1}; /* gds: switched on, but there is no node */
    assert_int_equal(ALLOCATE(2), 0);
    assert_int_equal(answer.cdi_devices_n, 3);
    assert_string_equal(answer.cdi_devices[0], "k8s.device-plugin.nvidia.com/gpu=2");
    assert_string_equal(answer.cdi_devices[1], "k8s.device-plugin.nvidia.com/imex-channel=0");
    assert_string_equal(answer.cdi_devices[2], "k8s.device-plugin.nvidia.com/gdrcopy=all");
    assert_int_equal(answer.annotations_n, 1);
    assert_true(text_starts(answer.annotations[0].name, "x.example/nvidia-device-plugin_"));
    assert_string_equal(answer.annotations[0].value, "k8s.device-plugin.nvidia.com/gpu=2,k8s.device-plugin.nvidia.com/imex-channel=0,"
                                                     "k8s.device-plugin.nvidia.com/gdrcopy=all");
    assert_string_equal(env("NVIDIA_GDRCOPY"), "enabled");
    assert_string_equal(env("NVIDIA_GDS"), "enabled");
    assert_string_equal(env("NVIDIA_VISIBLE_DEVICES"), "");
    assert_int_equal(answer.devices_n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(refusals, begin, end),
        cmocka_unit_test_setup_teardown(more_than_one, begin, end),
        cmocka_unit_test_setup_teardown(mps_only_where_shared, begin, end),
        cmocka_unit_test_setup_teardown(device_nodes, begin, end),
        cmocka_unit_test_setup_teardown(imex, begin, end),
        cmocka_unit_test_setup_teardown(cdi_names, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
