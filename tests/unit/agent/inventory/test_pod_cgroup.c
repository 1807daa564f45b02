/* test_pod_cgroup.c - where the text comes from. Its forms: tests/golden/test_cgroups.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../folder.h"
#include "agent/inventory/pod_cgroup.h"

#define UID "0a1b2c3d-1111-2222-3333-444455556666"

static void test_read(void **state)
{
    struct pod_cgroup c;
    assert_true(pod_cgroup_read("", (uint32_t)getpid(), &c) >= 0);
    assert_int_equal(pod_cgroup_read("", 0x7ffffffe, &c), -E_NOTFOUND);
    assert_int_equal(pod_cgroup_read("/nonexistent", 1, &c), -E_NOTFOUND);
}

/* A file of many lines, of which only the last ones name the pod; one that is longer than any is read in part. */
static void test_another_root(void **state)
{
    char root[64], path[128];
    folder_make(root, sizeof root, "cgroup");
    (void)snprintf(path, sizeof path, "%s/proc", root);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/proc/7", root);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/proc/7/cgroup", root);
    for (int lines = 12; lines <= 1200; lines *= 100) {
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        for (int i = 0; i < lines; i++)
            assert_true(fprintf(f, "%d:controller%d:/user.slice/user-1000.slice\n", i + 2, i) > 0);
        assert_true(fputs("1:name=systemd:/kubepods/pod" UID "\n", f) >= 0);
        assert_int_equal(fclose(f), 0);
        struct pod_cgroup c;
        assert_int_equal(pod_cgroup_read(root, 7, &c), lines == 12);
        assert_string_equal(c.uid, lines == 12 ? UID : "");
        assert_int_equal(pod_cgroup_lives(root, UID), lines == 12);
        assert_false(pod_cgroup_lives(root, "0a1b2c3d-1111-2222-3333-444455556667"));
    }
    unlink(path);
    (void)snprintf(path, sizeof path, "%s/proc/7", root);
    rmdir(path);
    (void)snprintf(path, sizeof path, "%s/proc", root);
    rmdir(path);
    assert_int_equal(rmdir(root), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_read), cmocka_unit_test(test_another_root)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
