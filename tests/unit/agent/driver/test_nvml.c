/* The library: found, not found, not one, of another version; names of older drivers; how its answers read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../folder.h"
#include "agent/driver/nvml.h"
#include "base/bytes.h"

static const char *old_library, *mig_library;

static void test_codes(void **state)
{
    struct err e;
    assert_int_equal(nvml_error(NVML_OK, NULL, "x"), 0);
    assert_int_equal(nvml_error(NVML_GPU_IS_LOST, &e, "read GPU %d", 3), -E_GONE);
    assert_string_equal(e.text, "read GPU 3: GPU is lost (NVML code 15)");
    assert_int_equal(nvml_error(NVML_IN_USE, NULL, "x"), -E_CONFLICT);
    assert_int_equal(nvml_error(NVML_INSUFFICIENT_RESOURCES, NULL, "x"), -E_LIMIT);
    assert_int_equal(nvml_error(NVML_NOT_SUPPORTED, NULL, "x"), -E_INVALID);
    assert_int_equal(nvml_error(NVML_NO_PERMISSION, NULL, "x"), -E_DENIED);
    assert_int_equal(nvml_error(NVML_NOT_FOUND, NULL, "x"), -E_NOTFOUND);
    assert_int_equal(nvml_error(NVML_UNKNOWN, NULL, "x"), -E_IO);
    assert_int_equal(nvml_error(12345, NULL, "x"), -E_IO);
    assert_string_equal(nvml_code_text(12345), "Unknown Error");
}

static void test_no_library(void **state)
{
    struct nvml *n = NULL;
    struct err e;
    assert_int_equal(nvml_open("/no/such/libnvidia-ml.so.1", NULL, &n, &e), -E_NOTFOUND);
    assert_non_null(strstr(e.text, "no NVIDIA driver here"));
    assert_int_equal(nvml_open(NULL, "/no/such/root/", &n, &e), -E_NOTFOUND);
    assert_non_null(strstr(e.text, "/no/such/root"));
    assert_int_equal(nvml_open(NULL, "/no/such/root/", &n, NULL), -E_NOTFOUND);
    char path[400];
    memset(path, 'a', sizeof path - 1);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    assert_int_equal(nvml_open(path, NULL, &n, &e), -E_INVALID);
    assert_null(n);
}

static void test_not_a_library(void **state)
{
    struct nvml *n = NULL;
    struct err e;
    assert_int_equal(nvml_open("/dev/null", NULL, &n, &e), -E_INVALID);
    assert_non_null(strstr(e.text, "/dev/null is not a library"));
    assert_int_equal(nvml_open("libm.so.6", NULL, &n, &e), -E_INVALID); /* a library, of something else */
    assert_non_null(strstr(e.text, "is no NVML library"));
}

static void open_with(const char *init_code, int want, const char *text)
{
    struct nvml *n = NULL;
    struct err e;
    setenv("FAKE_NVML_INIT", init_code, 1);
    assert_int_equal(nvml_open(old_library, NULL, &n, &e), want);
    assert_non_null(strstr(e.text, text));
    assert_non_null(n); /* stays loaded for the next attempt */
    void *handle = n->handle;
    assert_int_equal(nvml_open(old_library, NULL, &n, NULL), want);
    assert_ptr_equal(n->handle, handle);
    unsetenv("FAKE_NVML_INIT");
    assert_int_equal(nvml_open(old_library, NULL, &n, &e), 0);
    nvml_unref(n);
}

static void test_a_driver_that_does_not_start(void **state)
{
    open_with("9", -E_NOTFOUND, "kernel module is not loaded");
    open_with("18", -E_CONFLICT, "different versions");
    open_with("4", -E_DENIED, "run as root");
    open_with("17", -E_IO, "NVML code 17");
}

static void test_below_a_driver_root(void **state)
{
    char root[256], path[512];
    folder_make(root, sizeof root, "driver");
    const char *const folders[] = {"usr", "usr/lib64"};
    for (int i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    struct nvml *n = NULL;
    struct err e;
    assert_int_equal(nvml_open(NULL, root, &n, &e), -E_NOTFOUND);
    (void)snprintf(path, sizeof path, "%s/usr/lib64/libnvidia-ml.so.1", root);
    assert_int_equal(symlink(old_library, path), 0);
    assert_int_equal(nvml_open(NULL, root, &n, &e), 0); /* installed meanwhile: found */
    assert_string_equal(n->path, path);
    nvml_unref(n);
    (void)unlink(path);
    for (int i = 1; i >= 0; i--) {
        (void)snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        assert_int_equal(rmdir(path), 0);
    }
    assert_int_equal(rmdir(root), 0);
}

static void test_an_old_library(void **state)
{
    struct nvml *n = NULL;
    assert_int_equal(nvml_open(old_library, NULL, &n, NULL), 0);
    assert_non_null(n->count);
    assert_non_null(n->pci_old);
    assert_non_null(n->compute_processes_v1);
    assert_null(n->compute_processes);
    assert_null(n->pci);
    assert_null(n->mig_mode);
    assert_null(n->events);
    uint32_t gpus_n = 0;
    assert_int_equal(n->count(&gpus_n), NVML_OK);
    assert_int_equal(gpus_n, 1);
    nvml_unref(nvml_ref(n));
    nvml_unref(n);
    nvml_unref(NULL);
}

static void test_the_first_library_with_mig(void **state)
{
    struct nvml *n = NULL;
    assert_int_equal(nvml_open(mig_library, NULL, &n, NULL), 0);
    assert_non_null(n->compute_processes); /* _v2: the same entries as _v3 */
    assert_non_null(n->gi_placements);     /* without suffix */
    assert_null(n->gi_profile_versioned);
    assert_null(n->gi_create_at);
    nvml_unref(n);
}

int main(int argc, char **argv)
{
    assert_int_equal(argc, 4);
    old_library = argv[1];
    mig_library = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_no_library),
        cmocka_unit_test(test_not_a_library),
        cmocka_unit_test(test_a_driver_that_does_not_start),
        cmocka_unit_test(test_below_a_driver_root),
        cmocka_unit_test(test_an_old_library),
        cmocka_unit_test(test_the_first_library_with_mig),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
