/* test_validation.c - the files that pods of the GPU operator wait for: ours, and those of its validator */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/host/validation.h"
#include "base/file.h"
#include "base/memory.h"
#include "../folder.h"

static char dir[64];
static struct roots roots;
static struct err error;

static const char *path_of(const char *name)
{
    static char path[200];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static bool is_there(const char *name)
{
    return access(path_of(name), F_OK) == 0;
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(path_of(name), "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void expect_text(const char *name, const char *text)
{
    _cleanup_buf_ struct buf is = {0};
    assert_int_equal(file_read(path_of(name), 4096, &is, NULL), 0);
    assert_string_equal(is.data, text);
}

static int begin(void **state)
{
    (void)state;
    roots = (struct roots){.root = ""};
    folder_make(dir, sizeof dir, "validation");
    return 0;
}

static int end(void **state)
{
    (void)state;
    folder_remove(dir);
    return 0;
}

static void ours_are_kept_true(void **state)
{
    (void)state;
    struct validation v = {.driver = true, .plugin = true, .roots = &roots};
    assert_int_equal(validation_write("/no/such/folder", &v, &error), 0);
    assert_int_equal(validation_write(dir, &v, &error), 2);
    assert_int_equal(validation_write(dir, &v, &error), 0); /* as they should be */
    expect_text("driver-ready", "# capstan agent\nIS_HOST_DRIVER=true\nNVIDIA_DRIVER_ROOT=/\nDRIVER_ROOT_CTR_PATH=/host\nNVIDIA_DEV_ROOT=/\n"
                                "DEV_ROOT_CTR_PATH=/host\n");
    expect_text("plugin-ready", "# capstan agent\n");
    assert_false(is_there("toolkit-ready"));
    (void)snprintf(roots.driver.host, ROOT_BYTES, "/run/nvidia/driver"); /* a driver container came up */
    v.toolkit = true;
    assert_int_equal(validation_write(dir, &v, &error), 2);
    expect_text("driver-ready", "# capstan agent\nIS_HOST_DRIVER=false\nNVIDIA_DRIVER_ROOT=/run/nvidia/driver\n"
                                "DRIVER_ROOT_CTR_PATH=/driver-root\nNVIDIA_DEV_ROOT=/\nDEV_ROOT_CTR_PATH=/host\n");
    roots.dev = roots.driver;
    assert_int_equal(validation_write(dir, &v, &error), 1);
    expect_text("driver-ready", "# capstan agent\nIS_HOST_DRIVER=false\nNVIDIA_DRIVER_ROOT=/run/nvidia/driver\n"
                                "DRIVER_ROOT_CTR_PATH=/driver-root\nNVIDIA_DEV_ROOT=/run/nvidia/driver\nDEV_ROOT_CTR_PATH=/driver-root\n");
    assert_int_equal(validation_write(dir, &(struct validation){.roots = &roots}, &error), 3);
    assert_false(is_there("driver-ready") || is_there("plugin-ready") || is_there("toolkit-ready"));
}

static void theirs_are_left_alone(void **state)
{
    (void)state;
    char driver[ROOT_BYTES], dev[ROOT_BYTES];
    struct validation v = {.driver = true, .toolkit = true, .plugin = true, .roots = &roots};
    assert_false(validation_read(dir, driver, dev));
    write_file("plugin-ready", ""); /* as the validator makes it */
    write_file("driver-ready", "IS_HOST_DRIVER=false\nNVIDIA_DRIVER_ROOT=/opt/driver\nDRIVER_ROOT_CTR_PATH=/driver-root\nNVIDIA_DEV_ROOT=/\n"
                               "DEV_ROOT_CTR_PATH=/host\n");
    assert_int_equal(validation_write(dir, &v, &error), 1); /* toolkit-ready */
    assert_true(validation_read(dir, driver, dev));
    assert_string_equal(driver, "/opt/driver");
    assert_string_equal(dev, "/");
    assert_int_equal(validation_write(dir, &(struct validation){.roots = &roots}, &error), 1);
    assert_true(is_there("driver-ready") && is_there("plugin-ready"));
    expect_text("plugin-ready", "");
    write_file("driver-ready", "NVIDIA_DRIVER_ROOT=relative\nNVIDIA_DEV_ROOT=/\n");
    assert_false(validation_read(dir, driver, dev));
    write_file("driver-ready", "NVIDIA_DRIVER_ROOT=/opt/driver");
    assert_false(validation_read(dir, driver, dev));
    assert_int_equal(unlink(path_of("driver-ready")), 0);
    assert_int_equal(validation_write(dir, &v, &error), 2);
    assert_false(validation_read(dir, driver, dev)); /* our own */
}

static void what_cannot_be_written_is_told(void **state)
{
    (void)state;
    struct validation v = {.plugin = true, .roots = &roots};
    assert_int_equal(mkdir(path_of(".plugin-ready.new"), 0755), 0); /* where file_replace writes first */
    assert_true(validation_write(dir, &v, &error) < 0);
    assert_non_null(strstr(error.text, "plugin-ready"));
    assert_int_equal(rmdir(path_of(".plugin-ready.new")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ours_are_kept_true, begin, end),
        cmocka_unit_test_setup_teardown(theirs_are_left_alone, begin, end),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_is_told, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
