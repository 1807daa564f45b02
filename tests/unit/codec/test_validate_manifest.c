/* Lint against files: tests/golden/lint/NAME.yaml gives NAME.findings and NAME.fixed. GOLDEN_WRITE=1 in the environment writes them anew.
 * The manifests of users (../shared/seeds) are checked too where they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "codec/admission/validate_manifest.h"
#include "codec/schema/validate_suggest.h"

static bool file_read(const char *path, struct buf *out)
{
    FILE *f = fopen(path, "rb");
    size_t n;
    if (!f)
        return false;
    while ((n = fread(buf_reserve(out, 65536), 1, 65536, f)) > 0)
        out->n += n;
    (void)fclose(f); /* read only */
    buf_char(out, '\0');
    out->n--;
    return true;
}

static void compare(const char *path, const struct buf *got)
{
    _cleanup_buf_ struct buf wanted = {0};
    const char *text = got->n ? got->data : "";
    if (getenv("GOLDEN_WRITE")) {
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(text, 1, got->n, f), got->n);
        assert_int_equal(fclose(f), 0);
        return;
    }
    if (!file_read(path, &wanted))
        fail_msg("%s: missing (run with GOLDEN_WRITE=1)", path);
    if (!text_equal(text, wanted.data))
        fail_msg("%s: wanted\n%s\ngot\n%s", path, wanted.data, text);
}

struct lint {
    struct arena *arena;
    struct kind_table *kinds;
    struct manifest_report report;
    struct buf findings, fixed;
};

static void lint_open(struct lint *l, bool strict)
{
    *l = (struct lint){.arena = arena_new(), .kinds = kind_table_new()};
    manifest_report_init(&l->report, l->arena, l->kinds, strict);
}

static void lint_close(struct lint *l)
{
    buf_free(&l->findings);
    buf_free(&l->fixed);
    kind_table_free(l->kinds);
    arena_free(l->arena);
}

static bool lint_file(struct lint *l, const char *folder, const char *name)
{
    _cleanup_buf_ struct buf text = {0};
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!file_read(path, &text))
        return false;
    manifest_check(&l->report, name, buf_view(&text));
    manifest_print_findings(&l->findings, &l->report);
    manifest_print_fixed(&l->fixed, &l->report);
    return true;
}

static void golden_files(void **state)
{
    (void)state;
    DIR *folder = opendir(GOLDEN_PATH);
    int files_n = 0;
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[4096];
        struct lint l;
        if (!text_ends(entry->d_name, ".yaml"))
            continue;
        int base_n = (int)strlen(entry->d_name) - 5;
        lint_open(&l, false);
        assert_true(lint_file(&l, GOLDEN_PATH, entry->d_name));
        snprintf(path, sizeof path, "%s/%.*s.findings", GOLDEN_PATH, base_n, entry->d_name);
        compare(path, &l.findings);
        snprintf(path, sizeof path, "%s/%.*s.fixed", GOLDEN_PATH, base_n, entry->d_name);
        compare(path, &l.fixed);
        lint_close(&l);
        files_n++;
    }
    closedir(folder);
    assert_true(files_n >= 7);
}

/* What --fix prints is found clean, also by Kueue's own rules. */
static void fixed_is_clean(void **state)
{
    static const char *const names[] = {"cluster-queue-flat.yaml", "cluster-queue-order.yaml", "typing-errors.yaml"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct lint l, again;
        lint_open(&l, false);
        lint_open(&again, true);
        assert_true(lint_file(&l, GOLDEN_PATH, names[i]));
        assert_true(l.report.findings_n > 0);
        assert_int_equal(l.report.remaining_n, 0);
        manifest_check(&again.report, "fixed", buf_view(&l.fixed));
        manifest_print_findings(&again.findings, &again.report);
        if (again.report.findings_n)
            fail_msg("%s: %s", names[i], again.findings.data);
        lint_close(&again);
        lint_close(&l);
    }
}

static void clean(const char *path)
{
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        struct lint l;
        if (!text_ends(entry->d_name, ".yaml"))
            continue;
        lint_open(&l, true);
        assert_true(lint_file(&l, path, entry->d_name));
        if (l.report.findings_n)
            fail_msg("%s", l.findings.data);
        lint_close(&l);
    }
    closedir(folder);
}

static void examples_are_clean(void **state)
{
    (void)state;
    clean(EXAMPLES_PATH);
    clean(EXAMPLES_PATH "/jobs");
    clean(EXAMPLES_PATH "/flows");
}

static void manifests_of_users(void **state)
{
    static const struct {
        const char *name;
        uint32_t findings_n, refused_n, remaining_n;
    } cases[] = {
        {"eks-clusterqueue.yaml", 6, 6, 0}, {"eks-localqueue.yaml", 0, 0, 0},      {"eks-resourceflavors.yaml", 2, 0, 0},
        {"eks-trainjob.yaml", 1, 1, 0},     {"gpu-alerts.rules.yaml", 1, 1, 0},    {"keti-nbody-mps-job.yaml", 0, 0, 0},
        {"kueue-job.yaml", 0, 0, 0},        {"kueue-quota.yaml", 3, 0, 0},         {"mig-inference-pod.yaml", 0, 0, 0},
        {"shared-gpu-pod.yaml", 0, 0, 0},   {"volcano-horovod-mpi.yaml", 4, 0, 0}, {"volcano-pytorch-ddp.yaml", 1, 0, 0},
    };
    (void)state;
    if (access(SEEDS_PATH, R_OK) != 0)
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lint l;
        lint_open(&l, false);
        assert_true(lint_file(&l, SEEDS_PATH, cases[i].name));
        if (l.report.findings_n != cases[i].findings_n || l.report.refused_n != cases[i].refused_n ||
            l.report.remaining_n != cases[i].remaining_n)
            fail_msg("%s: %u findings, %u refused, %u remain\n%s", cases[i].name, l.report.findings_n, l.report.refused_n,
                     l.report.remaining_n, l.findings.data);
        lint_close(&l);
    }
}

/* What is made of it is called by the name that the server gives. */
static void generated_names(void **state)
{
#define NAMED(kind, name, spec) kind "\nmetadata: {generateName: " name "}\nspec: " spec "\n"
#define POD "spec: {containers: [{name: c, image: i}]}"
#define SET(name) NAMED("apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet", name, "{replicatedJobs: [{name: w, template: {spec: {template: {" POD "}}}}]}")
    static const struct {
        const char *yaml, *finding;
    } cases[] = {
        {SET("train-"), NULL},
        {NAMED("apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet", "serve-", "{leaderWorkerTemplate: {workerTemplate: {" POD "}}}"),
         NULL},
        {SET("a-name-of-sixty-letters-of-which-the-server-takes-fifty-eight"),
         "its jobs would be named a-name-of-sixty-letters-of-which-the-server-takes-fifty-eixxxxx-w-0"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lint l;
        lint_open(&l, false);
        manifest_check(&l.report, "x.yaml", bytes_of(cases[i].yaml));
        manifest_print_findings(&l.findings, &l.report);
        if (cases[i].finding ? !l.findings.n || !strstr(l.findings.data, cases[i].finding) : l.report.findings_n)
            fail_msg("%s\n%s", cases[i].yaml, l.findings.n ? l.findings.data : "no finding");
        lint_close(&l);
    }
}

static void distances(void **state)
{
    (void)state;
    assert_int_equal(suggest_distance("image", "image", 2), 0);
    assert_int_equal(suggest_distance("Image", "image", 2), 0);
    assert_int_equal(suggest_distance("imge", "image", 2), 1);
    assert_int_equal(suggest_distance("container", "containers", 3), 1);
    assert_int_equal(suggest_distance("a", "abcdef", 2), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(golden_files), cmocka_unit_test(fixed_is_clean),
                                       cmocka_unit_test(examples_are_clean), cmocka_unit_test(manifests_of_users),
                                       cmocka_unit_test(generated_names), cmocka_unit_test(distances)};
    return cmocka_run_group_tests_name("validate_manifest", tests, NULL, NULL);
}
