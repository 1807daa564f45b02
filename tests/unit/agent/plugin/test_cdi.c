/* test_cdi.c - facts of a machine from a made-up root, CDI specifications of it, and how they are written */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/host/roots.h"
#include "agent/plugin/allocate.h"
#include "wire/json.h"
#include "reading.h"
#include "../folder.h"

static char root[64];
static struct test_node *node;
static struct machine machine;
static struct err error;

/* A file with this text under the root; directories are made. */
static void file(const char *path, const char *text)
{
    char full[256];
    (void)snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(full, 0755); /* is there for the second file */
        *slash = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void link_to(const char *path, const char *target)
{
    char full[256];
    (void)snprintf(full, sizeof full, "%s%s", root, path);
    assert_int_equal(symlink(target, full), 0);
}

static int begin(void **state)
{
    (void)state;
    folder_make(root, sizeof root, "cdi");
    node = node_new("a100-40gb", 2);
    return 0;
}

static int end(void **state)
{
    (void)state;
    node_free(node);
    folder_remove(root);
    return 0;
}

static void read_machine(void)
{
    struct roots roots;
    roots_find(&(struct roots_options){.root = root, .driver = node->config.driver_root, .dev = node->config.dev_root}, &roots);
    if (machine_read(node->arena, &roots, &machine, &error) < 0)
        fail_msg("%s", error.text);
    machine_read_driver(node->arena, &roots, &node->config, &machine);
}

static void minors(void **state)
{
    (void)state;
    read_machine();
    assert_int_equal(machine.cap_minor(&machine, 0, 1, 0), -1);
    assert_false(machine.has_ctl);
    file("/proc/driver/nvidia-caps/mig-minors",
         "config 1\nmonitor 2\ngpu0/gi0/access 3\ngpu0/gi0/ci0/access 4\ngpu1/gi13/ci7/access 300\nnonsense\ngpu0/gi2/access\ngpu99999/gi1/access 5\n"
         "gpu0/gi99999/ci1/access 6");
    file("/dev/nvidiactl", "");
    file("/dev/nvidia-uvm", "");
    file("/dev/nvidia-fs1", "");
    file("/dev/nvidia-fs0", "");
    file("/dev/infiniband/uverbs0", "");
    file("/dev/nvidia-caps-imex-channels/channel0", "");
    read_machine();
    assert_int_equal(machine.cap_minor(&machine, 0, 0, -1), 3);
    assert_int_equal(machine.cap_minor(&machine, 0, 0, 0), 4);
    assert_int_equal(machine.cap_minor(&machine, 1, 13, 7), 300);
    assert_int_equal(machine.cap_minor(&machine, 1, 13, -1), -1);
    assert_int_equal(machine.cap_minor(&machine, 0, 2, -1), -1);
    assert_true(machine.has_ctl && machine.has_uvm && machine.has_imex_channel);
    assert_false(machine.has_uvm_tools);
    assert_int_equal(machine.gds.n, 2);
    assert_string_equal(machine.gds.paths[0], "/dev/nvidia-fs0");
    assert_int_equal(machine.mofed.n, 1);
    assert_int_equal(machine.gdrcopy.n, 0);
}

static struct json *make(const char *class)
{
    struct buf text = {0};
    (void)node_done(node);
    cdi_class_make(node->arena, class, &node->snapshot, &node->config, &machine, &text);
    struct json *spec = text.n ? json_parse(node->arena, buf_view(&text), NULL, &error) : NULL;
    buf_free(&text);
    return spec;
}

static void driver_files(void)
{
    file("/run/nvidia/driver/usr/lib64/libcuda.so.580.95.05", "");
    file("/run/nvidia/driver/usr/lib64/libcuda.so.470.1", "");
    file("/run/nvidia/driver/usr/lib64/libcudart.so.12", "");
    file("/run/nvidia/driver/usr/bin/nvidia-smi", "");
    link_to("/run/nvidia/driver/usr/lib64/libcuda.so.1", "libcuda.so.580.95.05");
    link_to("/run/nvidia/driver/usr/lib64/libcuda.so", "libcuda.so.1");
    link_to("/run/nvidia/driver/usr/lib64/libnvcuvid.so.1", "libnvcuvid.so.missing");
    link_to("/run/nvidia/driver/lib64", "usr/lib64");
    link_to("/run/nvidia/driver/usr/lib64/libnvidia-ml.so.1", "libnvidia-ml.so.1");
}

static void without_hook(void **state)
{
    (void)state;
    driver_files();
    file("/dev/nvidiactl", "");
    node_config(node, "flags: {nvidiaDriverRoot: /run/nvidia/driver, nvidiaDevRoot: /, plugin: {deviceListStrategy: cdi-cri}}");
    read_machine();
    assert_int_equal(machine.libraries_n, 4);
    const struct json *spec = make("gpu"), *edits = json_get(spec, "containerEdits"), *mounts = json_get(edits, "mounts");
    assert_string_equal(json_get_text(spec, "kind", ""), "k8s.device-plugin.nvidia.com/gpu");
    assert_int_equal(json_get(spec, "devices")->n, 2);
    assert_null(json_get(edits, "hooks"));
    assert_int_equal(mounts->n, 4); /* libcuda.so, .so.1, .so.580.95.05 and nvidia-smi; not the driver that was left behind */
    assert_string_equal(json_get_text(json_item(mounts, 0), "hostPath", ""), "/run/nvidia/driver/usr/lib64/libcuda.so.580.95.05");
    assert_string_equal(json_get_text(json_item(mounts, 0), "containerPath", ""), "/usr/lib64/libcuda.so");
    assert_string_equal(json_item(json_get(edits, "env"), 1)->text,
                        "LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64:/usr/lib64");
}

static void with_hook(void **state)
{
    (void)state;
    driver_files();
    file("/usr/bin/nvidia-ctk", "");
    char full[128];
    (void)snprintf(full, sizeof full, "%s/usr/bin/nvidia-ctk", root);
    assert_int_equal(chmod(full, 0755), 0);
    node_config(node, "flags: {nvidiaDriverRoot: /run/nvidia/driver, plugin: {deviceListStrategy: cdi-cri, deviceIDStrategy: index}}");
    read_machine();
    const struct json *spec = make("gpu"), *edits = json_get(spec, "containerEdits"), *hooks = json_get(edits, "hooks");
    assert_int_equal(json_get(edits, "mounts")->n, 2);
    assert_int_equal(json_get(edits, "env")->n, 1);
    assert_int_equal(hooks->n, 2);
    const struct json *args = json_get(json_item(hooks, 0), "args");
    assert_string_equal(json_item(args, 1)->text, "hook");
    assert_string_equal(json_item(args, 2)->text, "create-symlinks");
    assert_string_equal(json_item(args, 4)->text, "libcuda.so.580.95.05::/usr/lib64/libcuda.so");
    assert_string_equal(json_item(json_get(json_item(hooks, 1), "args"), 4)->text, "/usr/lib64");
    const struct json *device = json_item(json_get(spec, "devices"), 1);
    assert_string_equal(json_get_text(device, "name", ""), "1");
    const struct json *first = json_item(json_path(device, "containerEdits", "deviceNodes", NULL), 0);
    assert_string_equal(json_get_text(first, "hostPath", ""), "/run/nvidia/driver/dev/nvidia1");
    node_config(node, "flags: {nvidiaDriverRoot: /run/nvidia/driver, plugin: {deviceListStrategy: cdi-cri, cdiDisableHooks: update-ldcache}}");
    read_machine();
    edits = json_get(make("gpu"), "containerEdits");
    assert_int_equal(json_get(edits, "hooks")->n, 1);
    assert_int_equal(json_get(edits, "mounts")->n, 2);
    assert_int_equal(json_get(edits, "env")->n, 2);
    node_config(node, "flags: {nvidiaDriverRoot: /run/nvidia/driver, plugin: {deviceListStrategy: cdi-cri, cdiDisableHooks: all}}");
    read_machine();
    edits = json_get(make("gpu"), "containerEdits");
    assert_null(json_get(edits, "hooks"));
    assert_int_equal(json_get(edits, "mounts")->n, 4);
    node_config(node, "flags: {nvidiaDriverRoot: /run/nvidia/driver, plugin: {deviceListStrategy: cdi-cri, nvidiaCTKPath: /opt/nvidia-cdi-hook}}");
    read_machine();
    assert_null(json_path(make("gpu"), "containerEdits", "hooks", NULL)); /* it is not there */
    file("/opt/nvidia-cdi-hook", "");
    (void)snprintf(full, sizeof full, "%s/opt/nvidia-cdi-hook", root);
    assert_int_equal(chmod(full, 0755), 0);
    read_machine();
    const struct json *hook = json_item(json_path(make("gpu"), "containerEdits", "hooks", NULL), 0);
    assert_string_equal(json_get_text(hook, "path", ""), "/opt/nvidia-cdi-hook");
    assert_string_equal(json_item(json_get(hook, "args"), 0)->text, "nvidia-cdi-hook");
    assert_string_equal(json_item(json_get(hook, "args"), 1)->text, "create-symlinks");
}

static void mig_without_caps(void **state)
{
    (void)state;
    node_mig(node, 0, "3g.20gb", 0, 2);
    node_mig(node, 1, "3g.20gb", 0, 2);
    file("/proc/driver/nvidia-caps/mig-minors", "gpu0/gi1/access 3\ngpu0/gi1/ci0/access 4\n");
    node_config(node, "flags: {migStrategy: mixed, plugin: {deviceListStrategy: cdi-cri}}");
    read_machine();
    const struct json *devices = json_get(make("gpu"), "devices");
    assert_int_equal(devices->n, 1);
    assert_int_equal(json_path(json_item(devices, 0), "containerEdits", "deviceNodes", NULL)->n, 3);
    machine.minors = NULL;
    assert_null(make("gpu"));
}

static bool exists(const char *dir, const char *class)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/k8s.device-plugin.nvidia.com-%s.json", dir, class);
    return access(path, F_OK) == 0;
}

static void written(void **state)
{
    (void)state;
    char dir[80], path[256];
    struct stat first, again;
    (void)snprintf(dir, sizeof dir, "%s/cdi", root);
    (void)snprintf(path, sizeof path, "%s/k8s.device-plugin.nvidia.com-gpu.json", dir);
    file("/dev/gdrdrv", "");
    file("/dev/infiniband/uverbs0", "");
    node_config(node, "flags: {gdrcopyEnabled: true, gdsEnabled: true, mofedEnabled: true, plugin: {deviceListStrategy: cdi-cri}}");
    read_machine();
    (void)node_done(node);
    assert_int_equal(cdi_publish(node->arena, dir, &node->snapshot, &node->config, &machine, &error), 0);
    assert_true(exists(dir, "gpu") && exists(dir, "gdrcopy") && exists(dir, "mofed"));
    assert_false(exists(dir, "gds"));
    assert_int_equal(stat(path, &first), 0);
    assert_int_equal(cdi_publish(node->arena, dir, &node->snapshot, &node->config, &machine, &error), 0);
    assert_int_equal(stat(path, &again), 0);
    assert_true(first.st_ino == again.st_ino); /* unchanged: not written */
    assert_int_equal(truncate(path, 2), 0);
    assert_int_equal(cdi_publish(node->arena, dir, &node->snapshot, &node->config, &machine, &error), 0);
    assert_int_equal(stat(path, &again), 0);
    assert_int_equal(again.st_size, first.st_size); /* what somebody damaged is written again */
    char none[100];
    (void)snprintf(none, sizeof none, "%s/none/none", root);
    assert_true(cdi_publish(node->arena, none, &node->snapshot, &node->config, &machine, &error) < 0);
    assert_non_null(strstr(error.text, "none"));
    node_config(node, "");
    assert_int_equal(cdi_publish(node->arena, dir, &node->snapshot, &node->config, &machine, &error), 0);
    assert_false(exists(dir, "gpu") || exists(dir, "gdrcopy"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(minors, begin, end),           cmocka_unit_test_setup_teardown(without_hook, begin, end),
        cmocka_unit_test_setup_teardown(with_hook, begin, end),        cmocka_unit_test_setup_teardown(mig_without_caps, begin, end),
        cmocka_unit_test_setup_teardown(written, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
