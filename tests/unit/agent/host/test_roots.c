/* test_roots.c - where the host's driver and device nodes are, from made-up roots; nodes that are missing */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "../folder.h"
#include "agent/host/device_nodes.h"
#include "agent/host/roots.h"

#define LIBRARY "/usr/lib64/libnvidia-ml.so.1"

static char host[64];
static struct roots found;
static char text[512];

static const char *below(const char *path)
{
    static char full[4][512];
    static int turn;
    turn = (turn + 1) % 4;
    (void)snprintf(full[turn], sizeof full[turn], "%s%s", host, path);
    return full[turn];
}

static void file(const char *path, const char *content)
{
    char full[256];
    (void)snprintf(full, sizeof full, "%s%s", host, path);
    for (char *slash = strchr(full + strlen(host) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(full, 0755); /* is there for the second file */
        *slash = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    assert_true(fputs(content, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int begin(void **state)
{
    (void)state;
    folder_make(host, sizeof host, "roots");
    return 0;
}

static int end(void **state)
{
    (void)state;
    folder_remove(host);
    return 0;
}

#define FIND(...) roots_find(&(struct roots_options){__VA_ARGS__}, &found)
#define IS(names, h, o)                        \
    do {                                       \
        assert_string_equal((names).here, h);  \
        assert_string_equal((names).host, o);  \
    } while (0)

static void on_a_host(void **state)
{
    (void)state;
    FIND(.root = NULL, .driver = "/", .dev = "/", .driver_here = "/driver-root-that-is-not");
    IS(found.driver, "", "");
    IS(found.dev, "", "");
    assert_string_equal(found.root, "");
    FIND(.root = "/", .driver = below(""), .dev = below("")); /* said, and there, though without a driver yet */
    IS(found.driver, host, host);
    IS(found.dev, host, host);
    FIND(.driver = "/no/such/place");
    IS(found.driver, "", "");
}

static void in_a_container(void **state)
{
    (void)state;
    char longest[400];
    FIND(.root = host);
    IS(found.driver, host, "");
    IS(found.dev, host, "");
    file("/run/nvidia/driver" LIBRARY, ""); /* the operator's driver container comes up */
    FIND(.root = host, .driver = "/", .dev = "/");
    IS(found.driver, below("/run/nvidia/driver"), "/run/nvidia/driver");
    IS(found.dev, host, "");
    file("/run/nvidia/driver/dev/nvidiactl", "");
    FIND(.root = host, .driver = "/", .dev = "/");
    IS(found.dev, below("/run/nvidia/driver"), "/run/nvidia/driver");
    FIND(.root = host, .driver = "/run/nvidia/driver/", .dev = "/"); /* said: nodes are the host's own */
    IS(found.driver, below("/run/nvidia/driver"), "/run/nvidia/driver");
    IS(found.dev, host, "");
    FIND(.root = host, .driver = "/home/kubernetes/bin/nvidia", .dev = "/home/kubernetes/bin/nvidia");
    IS(found.driver, below("/run/nvidia/driver"), "/run/nvidia/driver"); /* nothing is there; here is one */
    file("/home/kubernetes/bin/nvidia/lib64/libnvidia-ml.so.1", "");
    FIND(.root = host, .driver = "/home/kubernetes/bin/nvidia", .dev = "/home/kubernetes/bin/nvidia");
    IS(found.driver, below("/home/kubernetes/bin/nvidia"), "/home/kubernetes/bin/nvidia");
    IS(found.dev, below("/home/kubernetes/bin/nvidia"), "/home/kubernetes/bin/nvidia"); /* NVIDIA's default */
    file("/dev/nvidiactl", "");
    FIND(.root = host, .driver = "/home/kubernetes/bin/nvidia", .dev = "/home/kubernetes/bin/nvidia");
    IS(found.dev, host, ""); /* but that is where they are */
    memset(longest, 'x', sizeof longest);
    longest[0] = '/';
    longest[sizeof longest - 1] = '\0';
    FIND(.root = host, .driver = longest, .dev = longest, .driver_here = longest, .dev_here = longest);
    IS(found.driver, below("/run/nvidia/driver"), "/run/nvidia/driver");
}

/* As gpu-operator's validator: a driver of the host before one in a container, and what it has found before both. */
static void who_comes_first(void **state)
{
    (void)state;
    char folder[200];
    file("/run/nvidia/driver" LIBRARY, "");
    file(LIBRARY, "");
    FIND(.root = host);
    IS(found.driver, host, "");
    (void)snprintf(folder, sizeof folder, "%s/validations", host);
    file("/validations/driver-ready", "IS_HOST_DRIVER=false\nNVIDIA_DRIVER_ROOT=/run/nvidia/driver\nNVIDIA_DEV_ROOT=/\n");
    FIND(.root = host, .driver = "/", .dev = "/", .validations = folder);
    IS(found.driver, below("/run/nvidia/driver"), "/run/nvidia/driver");
    IS(found.dev, host, "");
    file("/opt/driver" LIBRARY, "");
    FIND(.root = host, .driver = "/opt/driver", .dev = "/", .validations = folder);
    IS(found.driver, below("/opt/driver"), "/opt/driver");
}

static void mounted_apart(void **state)
{
    (void)state;
    file("/driver-root/etc/x", "");
    file("/run/nvidia/driver" LIBRARY, "");
    FIND(.root = host, .driver = "/opt/driver", .driver_here = below("/driver-root"));
    IS(found.driver, below("/run/nvidia/driver"), "/run/nvidia/driver"); /* nothing came there */
    file("/driver-root" LIBRARY, "");
    FIND(.root = host, .driver = "/opt/driver", .driver_here = below("/driver-root"));
    IS(found.driver, below("/driver-root"), "/opt/driver");
    FIND(.root = host, .driver = "/opt/driver", .driver_here = below("/driver-root"), .dev = "/opt/dev", .dev_here = below("/nodes"));
    IS(found.dev, below("/opt/dev"), "/opt/dev");
    file("/nodes/dev/x", "");
    FIND(.root = host, .driver = "/opt/driver", .driver_here = below("/driver-root"), .dev = "/opt/dev", .dev_here = below("/nodes"));
    IS(found.dev, below("/nodes"), "/opt/dev");
}

static void links_as_the_host_follows_them(void **state)
{
    (void)state;
    file("/usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.535.1", "");
    file("/etc/alternatives/x", "");
    assert_int_equal(symlink("libnvidia-ml.so.535.1", below("/usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.1")), 0);
    assert_int_equal(symlink("/usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.1", below("/etc/alternatives/capstan-nvidia-ml")),
                     0);
    assert_int_equal(symlink("/etc/alternatives/capstan-nvidia-ml", below("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1")), 0);
    assert_true(root_library(host, "libnvidia-ml.so.1", text, sizeof text));
    assert_string_equal(text, below("/usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.535.1"));
    assert_false(root_library(host, "libcuda.so.1", text, sizeof text));
    assert_int_equal(symlink("../../etc/alternatives/x", below("/usr/lib/out")), 0);
    assert_false(root_follow(host, "/usr/lib/out", text, sizeof text));
    assert_int_equal(symlink("round", below("/usr/lib/round")), 0);
    assert_false(root_follow(host, "/usr/lib/round", text, sizeof text));
    assert_true(root_follow(host, "/etc/alternatives/x", text, sizeof text));
    assert_false(root_follow(host, "/etc/alternatives/x", text, 5));
}

static void driver_says(const char *params)
{
    file("/proc/driver/nvidia/params", params);
    file("/proc/devices", "Character devices:\n  1 mem\n195 nvidia\n195 nvidia-modeset\n195 nvidiactl\n234 nvidia-caps\n510 nvidia-uvm\n\nBlock devices:\n");
    file("/proc/driver/nvidia/gpus/0000:07:00.0/information", "Model: \t\t X\nDevice Minor: \t 3\n");
    file("/dev/null", "");
    FIND(.root = host);
}

static bool is_node(const char *path, unsigned major_number, unsigned minor_number, unsigned mode)
{
    struct stat st;
    return lstat(below(path), &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(major_number, minor_number) &&
           (st.st_mode & 0777) == mode;
}

static void missing_nodes_are_made(void **state)
{
    (void)state;
    struct err e = {0};
    const int minors[] = {30, -1, 31};
    assert_int_equal(device_nodes_make(&found, &e), 0); /* no driver */
    file("/dev/probe", "");
    if (mknod(below("/dev/node"), S_IFCHR | 0600, makedev(1, 3)) < 0)
        skip();
    driver_says("DeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\nModifyDeviceFiles: 1\n");
    assert_int_equal(device_nodes_make(&found, &e), 5);
    assert_true(is_node("/dev/nvidiactl", 195, 255, 0666) && is_node("/dev/nvidia3", 195, 3, 0666));
    assert_true(is_node("/dev/nvidia-uvm", 510, 0, 0666) && is_node("/dev/nvidia-uvm-tools", 510, 1, 0666));
    assert_int_equal(device_nodes_make(&found, &e), 0);
    assert_int_equal(device_nodes_make_capabilities(&found, minors, 3, &e), 2);
    assert_true(is_node("/dev/nvidia-caps/nvidia-cap30", 234, 30, 0444) && is_node("/dev/nvidia-caps/nvidia-cap31", 234, 31, 0444));
    file("/proc/devices", "195 nvidia\n235 nvidia-caps\n"); /* loaded again: the numbers are given out anew */
    assert_int_equal(device_nodes_make_capabilities(&found, minors, 1, &e), 1);
    assert_true(is_node("/dev/nvidia-caps/nvidia-cap30", 235, 30, 0444) && is_node("/dev/nvidia-caps/nvidia-cap31", 234, 31, 0444));
    assert_int_equal(unlink(below("/dev/nvidiactl")), 0);
    file("/dev/nvidiactl", "a simulated node"); /* no device: not ours to replace */
    assert_int_equal(device_nodes_make(&found, &e), 0);
    driver_says("ModifyDeviceFiles: 0\n");
    assert_int_equal(unlink(below("/dev/nvidia3")), 0);
    assert_int_equal(device_nodes_make(&found, &e), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(on_a_host, begin, end),
        cmocka_unit_test_setup_teardown(in_a_container, begin, end),
        cmocka_unit_test_setup_teardown(who_comes_first, begin, end),
        cmocka_unit_test_setup_teardown(mounted_apart, begin, end),
        cmocka_unit_test_setup_teardown(links_as_the_host_follows_them, begin, end),
        cmocka_unit_test_setup_teardown(missing_nodes_are_made, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
