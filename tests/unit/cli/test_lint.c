/* capstan lint as a command: exit codes, and what goes where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "cli/cli.h"

static char file[] = "/tmp/test_lint_XXXXXX";

static int file_write(const char *text)
{
    FILE *f = fopen(file, "wb");
    assert_non_null(f);
    fputs(text, f);
    return fclose(f);
}

/* Exit code; standard output in *ret_out, standard error thrown away. */
static int lint(char *const *args, int n, struct buf *ret_out)
{
    FILE *out = tmpfile();
    assert_non_null(out);
    fflush(stdout);
    fflush(stderr);
    int saved_out = dup(STDOUT_FILENO), saved_err = dup(STDERR_FILENO);
    assert_int_equal(dup2(fileno(out), STDOUT_FILENO), STDOUT_FILENO);
    assert_non_null(freopen("/dev/null", "w", stderr));
    struct options o;
    int code = options_parse(&o, &command_rows[command_find("lint")], n, (char **)(uintptr_t)args); /* nothing is written there */
    code = code < 0 ? lint_main(&o) : code;
    options_free(&o);
    fflush(stdout);
    fflush(stderr);
    dup2(saved_out, STDOUT_FILENO);
    dup2(saved_err, STDERR_FILENO);
    close(saved_out);
    close(saved_err);
    rewind(out);
    buf_clear(ret_out);
    size_t got;
    while ((got = fread(buf_reserve(ret_out, 4096), 1, 4096, out)) > 0)
        ret_out->n += got;
    buf_char(ret_out, '\0');
    ret_out->n--;
    fclose(out);
    return code;
}
#define LINT(out, ...) lint((char *[]){"lint", __VA_ARGS__, NULL}, (int)(sizeof((char *[]){"lint", __VA_ARGS__}) / sizeof(char *)), (out))

static void exit_codes(void **state)
{
    (void)state;
    _cleanup_buf_ struct buf out = {0};
    file_write("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
    assert_int_equal(LINT(&out, file), 0);
    assert_int_equal(out.n, 0);
    file_write("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A}\n");
    assert_int_equal(LINT(&out, file), 1);
    assert_non_null(strstr(out.data, ":1 ConfigMap/A: metadata.name: Invalid value: \"A\""));
    assert_int_equal(LINT(&out, file, "--output", "json"), 1);
    assert_int_equal(out.data[0], '[');
    assert_int_equal(LINT(&out, "--help"), 0);
    assert_non_null(strstr(out.data, "Example: "));
    assert_int_equal(LINT(&out, "/nonexistent/file.yaml"), 2);
    assert_int_equal(LINT(&out, "--output", "poem", file), 2);
    assert_int_equal(LINT(&out, "--nonsense", file), 2);
}

static void fix_prints_what_applies(void **state)
{
    (void)state;
    _cleanup_buf_ struct buf out = {0};
    file_write("apiVersion: kueue.x-k8s.io/v1beta1\nkind: ResourceFlavor\nmetadata: {name: f}\nspec: {nodeSelector: {a: b}}\n");
    assert_int_equal(LINT(&out, "--fix", file), 0);
    assert_string_equal(out.data, "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ResourceFlavor\nmetadata:\n  name: f\nspec:\n  nodeLabels:\n    a: b\n");
    file_write("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A}\n");
    assert_int_equal(LINT(&out, "--fix", file), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(exit_codes), cmocka_unit_test(fix_prints_what_applies)};
    int fd = mkstemp(file);
    if (fd < 0)
        return 1;
    close(fd);
    int failed = cmocka_run_group_tests_name("lint", tests, NULL, NULL);
    unlink(file);
    return failed;
}
