/* capstan lint as a command: exit codes, and what goes where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
    assert_non_null(strstr(out.data, ":3 ConfigMap/A: metadata.name: Invalid value: \"A\""));
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
    assert_string_equal(out.data,
                        "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ResourceFlavor\nmetadata:\n  name: f\nspec:\n  nodeLabels:\n    a: b\n");
    file_write("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A}\n");
    assert_int_equal(LINT(&out, "--fix", file), 1);
}

/* In templates that no kind's own check looks at: the corrected form has no finding any more, and another number is the limit. */
static void devices_have_limits(void **state)
{
    (void)state;
    _cleanup_buf_ struct buf out = {0};
    file_write("apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: r}\nspec:\n  rayClusterSpec:\n    workerGroupSpecs:\n    - template:\n"
               "        spec:\n          containers:\n          - name: a\n            resources: {requests: {nvidia.com/gpu: 2, cpu: 4}}\n"
               "          - name: b\n            resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 4}}\n");
    assert_int_equal(LINT(&out, file), 1);
    assert_non_null(strstr(out.data, ":11 RayJob/r: warning: spec.rayClusterSpec.workerGroupSpecs[0].template.spec.containers[0].resources."
                                     "requests[nvidia.com/gpu]: its pods are refused: a device needs a limit; write nvidia.com/gpu: 2"));
    assert_non_null(strstr(out.data, ":13 RayJob/r: "));
    assert_null(strstr(out.data, "JAXJob")); /* no kind of ours is meant */
    (void)LINT(&out, "--fix", file);
    assert_null(strstr(out.data, "nvidia.com/gpu: 1"));
    file_write(out.data);
    assert_int_equal(LINT(&out, file), 0);
    assert_string_equal(out.data, "");
}

/* `text` is found wrong on these lines, in this order. */
static void stands_on(const char *text, const char *lines)
{
    _cleanup_buf_ struct buf out = {0}, got = {0};
    file_write(text);
    (void)LINT(&out, file);
    for (const char *line = out.data; *line; line = strchrnul(line, '\n'), line += *line == '\n')
        buf_printf(&got, "%s%ld", got.n ? " " : "", strtol(line + strlen(file) + 1, NULL, 10));
    buf_char(&got, '\0');
    assert_string_equal(got.data, lines);
}

static void lines_are_those_of_the_file(void **state)
{
    (void)state;
    static const char pod[] =
        "kind: Pod\nmetadata:\n  name: A\nspec:\n  containers:\n  - name: c\n    image: i\n    resources:\n      limits:\n"
        "        cpu: 1\n        nvidia.com/gpu: 500m\n";
    _cleanup_buf_ struct buf two = {0};
    buf_printf(&two, "# a comment\n\n---\napiVersion: v1\n%s---\napiVersion: v1\n%s", pod, pod);
    stands_on(two.data, "7 15 20 28"); /* of each document, not from its beginning; keys with dots in them */
    stands_on("{\"apiVersion\": \"v1\",\n \"kind\": \"ConfigMap\",\n \"metadata\": {\n  \"name\": \"A\"}}\n", "4"); /* JSON */
    stands_on("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  container:\n  - name: c\n    image: i\n    port: []\n",
              "5 8");                                                                      /* misspelt */
    stands_on("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b\n", "5"); /* no YAML */
    stands_on("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  name: b\n", "5");  /* twice */
    stands_on("apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: A\n", "7");
    stands_on("x: &x\n  name: A\napiVersion: v1\nkind: ConfigMap\nmetadata: *x\n",
              "1 5"); /* what an alias stands for is told where it stands */
    stands_on("\xef\xbb\xbf"
              "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: A\n",
              "4");
    stands_on("{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\",\n \"metadata\": {\"name\": \"\\ud83d\\ude00\"}}\n", "0"); /* no YAML */
    stands_on("", "0");
}

static void keys_that_are_nearly_right(void **state)
{
    (void)state;
    _cleanup_buf_ struct buf out = {0};
    file_write(
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: a\n  labels:\n    kueue.x-k8s.io/queu-name: q\n    mine.example.com/queue-name: q\n"
        "    kueue.x-k8s.io/queue-name: q\n  annotations:\n    kueue.x-k8s.io/queue-name: q\nspec:\n  template:\n    metadata:\n"
        "      annotations:\n        capstan.dev/minimum-run-second: \"5\"\n        gpu-fractions: \"0.5\"\n        gpu-factor: x\n"
        "    spec: {restartPolicy: Never, containers: [{name: c, image: i}]}\n");
    assert_int_equal(LINT(&out, file), 1);
    assert_non_null(strstr(
        out.data, ":6 Job/a: warning: metadata.labels[kueue.x-k8s.io/queu-name]: nothing reads it; write kueue.x-k8s.io/queue-name"));
    assert_non_null(strstr(
        out.data, ":10 Job/a: warning: metadata.annotations[kueue.x-k8s.io/queue-name]: has no effect here: it is read from labels"));
    assert_non_null(
        strstr(out.data, ":15 Job/a: warning: spec.template.metadata.annotations[capstan.dev/minimum-run-second]: nothing reads it"));
    assert_non_null(
        strstr(out.data, ":16 Job/a: warning: spec.template.metadata.annotations[gpu-fractions]: nothing reads it; write gpu-fraction"));
    assert_null(strstr(out.data, "mine.example.com"));
    assert_null(strstr(out.data, "gpu-factor"));
}

static void put(const char *folder, const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void folders_are_looked_through(void **state)
{
    (void)state;
    static const char wrong[] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A}\n";
    char folder[] = "/tmp/test_lint_XXXXXX", inner[64], link[64];
    _cleanup_buf_ struct buf out = {0}, want = {0};
    assert_non_null(mkdtemp(folder));
    (void)snprintf(inner, sizeof inner, "%s/b", folder);
    (void)snprintf(link, sizeof link, "%s/b/up", folder);
    assert_int_equal(LINT(&out, folder), 2); /* nothing to look at is no success */
    assert_int_equal(mkdir(inner, 0700), 0);
    assert_int_equal(symlink("..", link), 0); /* which leads round */
    put(folder, "c.yml", wrong);
    put(folder, "a.txt", "no manifest");
    put(folder, ".hidden.yaml", wrong);
    put(inner, "z.json", "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"b\"}}");
    put(inner, "y.yaml", wrong);
    assert_int_equal(LINT(&out, folder), 1);
    buf_printf(&want, "%s/b/y.yaml:3 ConfigMap/A: ", folder);
    buf_char(&want, '\0');
    assert_int_equal(strncmp(out.data, want.data, want.n - 1), 0); /* by name */
    buf_clear(&want);
    buf_printf(&want, "\n%s/c.yml:3 ConfigMap/A: ", folder);
    buf_char(&want, '\0');
    assert_non_null(strstr(out.data, want.data));
    assert_null(strstr(out.data, "hidden"));
    static const char *const made[] = {"b/up", "b/z.json", "b/y.yaml", "c.yml", "a.txt", ".hidden.yaml"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        char path[256];
        (void)snprintf(path, sizeof path, "%s/%s", folder, made[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(inner), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void text_read(const char *path, struct buf *out)
{
    FILE *f = fopen(path, "rb");
    size_t n;
    buf_clear(out);
    while (f && (n = fread(buf_reserve(out, 4096), 1, 4096, f)) > 0)
        out->n += n;
    buf_char(out, '\0');
    out->n--;
    if (f)
        (void)fclose(f); /* read only */
}

static void text_write(const char *path, const struct buf *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text->data, 1, text->n, f), text->n);
    assert_int_equal(fclose(f), 0);
}

/* Manifests as they are met: tests/golden/wild/NAME.yaml gives NAME.findings (GOLDEN_WRITE=1 writes them anew), and what --fix makes of one
 * stays as it is when it is fixed again. */
static void as_they_are_met(void **state)
{
    (void)state;
    struct dirent **entries;
    char here[4096];
    _cleanup_buf_ struct buf out = {0}, want = {0}, fixed = {0};
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(WILD_PATH), 0); /* findings have the names that were given */
    int n = scandir(".", &entries, NULL, alphasort), files_n = 0;
    for (int i = 0; i < n; i++) {
        char path[300], *name = entries[i]->d_name;
        if (text_ends(name, ".yaml")) {
            (void)snprintf(path, sizeof path, "%.*s.findings", (int)strlen(name) - 5, name);
            int code = LINT(&out, name);
            if (getenv("GOLDEN_WRITE"))
                text_write(path, &out);
            text_read(path, &want);
            assert_string_equal(out.data, want.data);
            assert_int_equal(code, out.n > 0);
            (void)LINT(&fixed, name, "--fix");
            text_write(file, &fixed);
            (void)LINT(&out, file, "--fix");
            assert_string_equal(out.data, fixed.data);
            files_n++;
        }
        free(entries[i]);
    }
    free(entries);
    assert_int_equal(chdir(here), 0);
    assert_true(files_n >= 12);
    file_write("apiVersion: v1\nkind: Pod\nmetadata:\n\tname: tabs\n");
    assert_int_equal(LINT(&out, file), 1);
    assert_non_null(strstr(out.data, ":4: column 1: "));
    assert_non_null(strstr(out.data, "there is a tab"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(exit_codes), cmocka_unit_test(fix_prints_what_applies),
                                       cmocka_unit_test(devices_have_limits),
                                       cmocka_unit_test(lines_are_those_of_the_file), cmocka_unit_test(keys_that_are_nearly_right),
                                       cmocka_unit_test(folders_are_looked_through), cmocka_unit_test(as_they_are_met)};
    int fd = mkstemp(file);
    if (fd < 0)
        return 1;
    close(fd);
    int failed = cmocka_run_group_tests_name("lint", tests, NULL, NULL);
    unlink(file);
    return failed;
}
