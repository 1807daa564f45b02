/* Made up processes: the exporter reads whose they are, and nothing of them stays */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "exporter/collect/pods.h"
#include "sim/folder.h"
#include "sim/kubelet/process_tree.h"

#define PID 4194999u
#define WALL_MS 1750000000000

static char root[64];

static int setup(void **state)
{
    const char *base = getenv("TMPDIR");
    (void)state;
    (void)snprintf(root, sizeof root, "%.40s/process-tree-XXXXXX", base && *base ? base : "/tmp");
    return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    folder_remove(root);
    return 0;
}

static bool is_there(const char *path)
{
    struct stat st;
    char text[256];
    (void)snprintf(text, sizeof text, "%s/%s", root, path);
    return stat(text, &st) == 0;
}

static void the_exporter_names_them(void **state)
{
    static const struct process_place main_container = {"team-a", "train-0", "01234567-89ab-cdef-0123-456789abcdef",
                                                        "main"},
                                      side = {"team-a", "train-0", "01234567-89ab-cdef-0123-456789abcdef", "side"};
    struct process_tree *t;
    struct pod_process got;
    (void)state;
    struct loop *l = loop_new();
    struct arena *a = arena_new();
    assert_int_equal(process_tree_new(root, WALL_MS, &t, NULL), 0);
    process_tree_add(t, PID, &main_container, "a-name-that-is-longer-than-the-kernel-keeps", WALL_MS + 5000);
    process_tree_add(t, PID + 1, &side, "side", WALL_MS + 6000);
    struct pods *p = pods_new(l, &(struct pods_config){.root = root});
    pods_begin(p);
    assert_true(pods_process(p, a, PID, &got));
    assert_string_equal(got.command, "a-name-that-is-longer-than-the-kernel-keeps");
    assert_string_equal(got.names.ns, "team-a");
    assert_string_equal(got.names.pod, "train-0");
    assert_string_equal(got.names.container, "main");
    assert_string_equal(got.names.uid, main_container.uid);
    assert_true(got.start_s > WALL_MS / 1000.0 + 4.9 && got.start_s < WALL_MS / 1000.0 + 5.1);
    assert_true(pods_process(p, a, PID + 1, &got));
    assert_string_equal(got.names.container, "side");
    process_tree_remove(t, PID);
    process_tree_remove(t, PID); /* known no more */
    assert_false(pods_process(p, a, PID, &got));
    assert_true(is_there("var/log/pods/team-a_train-0_01234567-89ab-cdef-0123-456789abcdef/side"));
    process_tree_remove(t, PID + 1);
    assert_false(is_there("var/log/pods/team-a_train-0_01234567-89ab-cdef-0123-456789abcdef"));
    pods_free(p);
    process_tree_free(t);
    process_tree_free(NULL);
    arena_free(a);
    loop_free(l);
}

static void what_was_left_goes(void **state)
{
    static const struct process_place place = {"default", "p", "11111111-89ab-cdef-0123-456789abcdef", "c"};
    struct process_tree *t;
    (void)state;
    assert_int_equal(process_tree_new(root, WALL_MS, &t, NULL), 0);
    process_tree_add(t, PID, &place, "p", WALL_MS);
    process_tree_free(t); /* as a kill */
    assert_true(is_there("proc/4194999/cgroup"));
    assert_int_equal(process_tree_new(root, WALL_MS, &t, NULL), 0);
    assert_false(is_there("proc/4194999"));
    assert_false(is_there("var/log/pods/default_p_11111111-89ab-cdef-0123-456789abcdef"));
    assert_true(is_there("proc/stat"));
    process_tree_free(t);
}

/* Its log's name is cut within the container's id, as a kubelet's: then the pod's folder names it. */
static void names_too_long_for_a_file(void **state)
{
    char pod[254];
    const struct process_place place = {"team-a", pod, "01234567-89ab-cdef-0123-456789abcdef", "main"};
    struct process_tree *t;
    struct pod_process got;
    (void)state;
    struct loop *l = loop_new();
    struct arena *a = arena_new();
    memset(pod, 'p', sizeof pod);
    pod[253] = '\0'; /* no room for the pod's folder either */
    assert_int_equal(process_tree_new(root, WALL_MS, &t, NULL), 0);
    process_tree_add(t, PID, &place, "p", WALL_MS);
    assert_true(is_there("proc/4194999/cgroup"));
    process_tree_remove(t, PID);
    pod[190] = '\0';
    process_tree_add(t, PID, &place, "p", WALL_MS);
    struct pods *p = pods_new(l, &(struct pods_config){.root = root});
    pods_begin(p);
    assert_true(pods_process(p, a, PID, &got));
    assert_string_equal(got.names.pod, pod);
    assert_string_equal(got.names.uid, place.uid);
    pods_free(p);
    process_tree_remove(t, PID);
    process_tree_free(t);
    _cleanup_buf_ struct buf logs = {0};
    buf_printf(&logs, "%s/var/log/containers", root);
    assert_int_equal(rmdir(logs.data), 0); /* empty */
    arena_free(a);
    loop_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_exporter_names_them, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_left_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(names_too_long_for_a_file, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
