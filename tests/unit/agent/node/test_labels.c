/* test_labels.c - node labels where GPUs differ, are missing or are oddly named (the plain ones are golden files) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "agent/node/labels.h"
#include "reading.h"

static struct test_node *node;
static struct label_facts facts;
static struct label_pair *labels;
static uint32_t labels_n;
static struct buf warnings;

static int end(void **state)
{
    (void)state;
    node_free(node);
    buf_free(&warnings);
    facts = (struct label_facts){0};
    return 0;
}

static void make(const char *yaml)
{
    struct err e = {0};
    node_config(node, yaml);
    (void)node_table(node, NULL, &e); /* refused tables have labels all the same */
    buf_clear(&warnings);
    labels_make(node->arena, &node->snapshot, &node->config, &node->table, &facts, &labels, &labels_n, &warnings);
    for (uint32_t i = 0; i < labels_n; i++) {
        assert_true(labels_owns(labels[i].name));
        assert_true(strlen(labels[i].value) <= 63);
        assert_true(i == 0 || strcmp(labels[i - 1].name, labels[i].name) < 0);
    }
}

static void is(const char *name, const char *value)
{
    const char *found = NULL, *full = arena_printf(node->arena, "nvidia.com/%s", name);
    for (uint32_t i = 0; i < labels_n; i++)
        if (text_equal(labels[i].name, full))
            found = labels[i].value;
    if (!text_equal(found, value))
        fail_msg("%s: expected %s, is %s", name, value ? value : "no label", found ? found : "no label");
}

static void nothing(void **state)
{
    (void)state;
    node = node_new("t4", 0);
    make("");
    assert_int_equal(labels_n, 3);
    is("gpu.present", "false");
    is("vgpu.present", "false");
    is("gfd.timestamp", "0");
    make("flags: {gfd: {noTimestamp: true}}");
    is("gfd.timestamp", NULL);
}

static void names(void **state)
{
    (void)state;
    node = node_new("t4", 1);
    (void)snprintf(node->reading.gpus[0].name, 96, "  Tesla (T4) \xc2\xae @ 16  GB_x.y ");
    (void)snprintf(node->reading.driver_version, 80, "470.57");
    facts.machine_type = "A very long product name that goes on and on and on until it is much too long for a label";
    make("");
    is("gpu.product", "Tesla-T4-16-GB_x.y");
    is("gpu.machine", "A-very-long-product-name-that-goes-on-and-on-and-on-until-it-is");
    is("cuda.driver-version.minor", "57");
    is("cuda.driver-version.revision", "");
    is("gpu.family", "turing");
    facts.machine_type = "";
    make("");
    is("gpu.machine", "unknown");
}

static void families(void **state)
{
    (void)state;
    static const struct { uint8_t major, minor; const char *family; } table[] = {
        {3, 5, "kepler"}, {5, 2, "maxwell"}, {6, 1, "pascal"}, {7, 0, "volta"}, {7, 2, "volta"}, {7, 5, "turing"}, {8, 0, "ampere"},
        {8, 6, "ampere"}, {8, 9, "ada-lovelace"}, {9, 0, "hopper"}, {10, 3, "blackwell"}, {12, 1, "blackwell"}, {13, 0, "rubin"},
        {11, 0, "undefined"}, {4, 0, "undefined"}, {2, 0, "fermi"}, {1, 3, "tesla"}};
    node = node_new("t4", 1);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        node->reading.gpus[0].compute_major = table[i].major;
        node->reading.gpus[0].compute_minor = table[i].minor;
        make("");
        is("gpu.family", table[i].family);
    }
}

static void several_models(void **state)
{
    (void)state;
    node = node_new("a100-40gb", 4);
    (void)snprintf(node->reading.gpus[0].name, 96, "Tesla T4");
    (void)snprintf(node->reading.gpus[1].name, 96, "NVIDIA DGX Display");
    node->reading.gpus[0].pci_class = 0x030000;
    make("");
    is("gpu.product", "NVIDIA-A100-SXM4-40GB");
    is("gpu.count", "2");
    is("gpu.mode", "unknown");
    assert_non_null(strstr(warnings.data, "several GPU models"));
    node->reading.gpus[2].pci_class = node->reading.gpus[3].pci_class = 0x030000;
    make("");
    is("gpu.mode", "graphics");
}

static void cliques(void **state)
{
    (void)state;
    node = node_new("gb200", 3);
    for (int i = 0; i < 2; i++) {
        node->reading.gpus[i].fabric_state = 3;
        node->reading.gpus[i].fabric_clique = 7;
        (void)snprintf(node->reading.gpus[i].fabric_cluster, 40, "7d1f1c3a-5c5c-4b6e-9b0a-0123456789ab");
    }
    node->reading.gpus[2].fabric_state = 2;
    make("");
    is("gpu.clique", "7d1f1c3a-5c5c-4b6e-9b0a-0123456789ab.7");
    node->reading.gpus[2].fabric_state = 3; /* completed, without a cluster: one machine with NVSwitches */
    (void)snprintf(node->reading.gpus[2].fabric_cluster, 40, "00000000-0000-0000-0000-000000000000");
    make("");
    is("gpu.clique", "7d1f1c3a-5c5c-4b6e-9b0a-0123456789ab.7");
    node->reading.gpus[1].fabric_clique = 8;
    make("");
    is("gpu.clique", NULL);
    assert_non_null(strstr(warnings.data, "cliques"));
}

static void sharing(void **state)
{
    (void)state;
    node = node_new("a100-40gb", 2);
    make("sharing: {mps: {resources: [{name: gpu, replicas: 1}]}}");
    is("gpu.replicas", "1");
    is("gpu.product", "NVIDIA-A100-SXM4-40GB");
    make("resources: {gpus: [{pattern: \"*A100*\", name: a100}]}\nsharing: {timeSlicing: {resources: [{name: a100, replicas: 3}]}}");
    is("gpu.replicas", "3");
    is("gpu.product", "NVIDIA-A100-SXM4-40GB-SHARED");
    node_mig(node, 0, "1g.5gb", 0, 7);
    make("flags: {migStrategy: mixed}\nsharing: {timeSlicing: {resources: [{name: mig-1g.5gb, replicas: 3}]}}");
    is("mig-1g.5gb.replicas", "3");
    is("mig-1g.5gb.count", "7");
    is("mig-1g.5gb.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED");
    is("gpu.replicas", "1");
    make("flags: {migStrategy: mixed}\nsharing: {mps: {resources: [{name: mig-1g.5gb, replicas: 3}]}}");
    is("mps.capable", "true");
    is("mig-1g.5gb.sharing-strategy", "mps");
    make("sharing: {mps: {resources: [{name: other, replicas: 3}]}}");
    is("mps.capable", "false");
    node_mig_on(node, 1);
    make("flags: {migStrategy: single}");
    is("gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-INVALID");
    is("gpu.sharing-strategy", "");
    assert_non_null(strstr(warnings.data, "no MIG device"));
}

/* A GPU that is lost must not turn the labels of the others. */
static void lost(void **state)
{
    (void)state;
    node = node_new("a100-40gb", 2);
    node_mig(node, 0, "1g.5gb", 0, 7);
    node->reading.gpus[1].lost = true;
    node->reading.gpus[1].pci_class = 0;
    make("flags: {migStrategy: single}");
    is("gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb");
    is("gpu.count", "7");
    is("gpu.mode", "compute");
}

static void vgpu(void **state)
{
    (void)state;
    node = node_new("a10", 1);
    make("");
    is("vgpu.present", "false");
    facts.is_vgpu = true;
    make("");
    is("vgpu.present", "true");
    facts.vgpu_driver_version = "550.54.10";
    facts.vgpu_driver_branch = "r550_00";
    make("");
    is("vgpu.present", "true");
    is("vgpu.host-driver-version", "550.54.10");
    is("vgpu.host-driver-branch", "r550_00");
}

static void owned(void **state)
{
    (void)state;
    assert_true(labels_owns("nvidia.com/mig-1g.5gb.count"));
    assert_false(labels_owns("nvidia.com/mig.config"));
    assert_false(labels_owns("nvidia.com/mig.config.state"));
    assert_false(labels_owns("nvidia.com/gpu.deploy.dcgm"));
    assert_false(labels_owns("nvidia.com/device-plugin.config"));
    assert_false(labels_owns("nvidia.com/gpu.workload.config"));
    _cleanup_buf_ struct buf out = {0};
    struct label_pair two[] = {{"nvidia.com/a", "1"}, {"nvidia.com/b", ""}};
    labels_write_features(two, 2, &out);
    assert_string_equal(out.data, "nvidia.com/a=1\nnvidia.com/b=\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(nothing, end),  cmocka_unit_test_teardown(names, end),
        cmocka_unit_test_teardown(families, end), cmocka_unit_test_teardown(several_models, end),
        cmocka_unit_test_teardown(cliques, end),  cmocka_unit_test_teardown(sharing, end),
        cmocka_unit_test_teardown(lost, end),     cmocka_unit_test_teardown(vgpu, end),
        cmocka_unit_test(owned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
