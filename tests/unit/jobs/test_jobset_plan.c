/* What becomes of a JobSet whose Jobs succeed and fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../tree.h"
#include "jobs/kubeflow/jobset_plan.h"
#include "kube/object.h"

#define JOBS "\"replicatedJobs\":[{\"name\":\"a\",\"replicas\":2,\"template\":{\"spec\":{\"parallelism\":4,\"completions\":3}}}," \
             "{\"name\":\"b\",\"template\":{\"metadata\":{\"labels\":{\"x\":\"y\"}},\"spec\":{\"completionMode\":\"Indexed\"}}}]"

static const struct json *set_of(const char *more, const char *status)
{
    return parse(arena_printf(a, "{\"metadata\":{\"name\":\"js\"},\"spec\":{%s" JOBS "},\"status\":{%s}}", more, status));
}

static void test_jobs(void **state)
{
    (void)state;
    struct replicated_job *jobs;
    const struct json *set = set_of("\"coordinator\":{\"replicatedJob\":\"a\",\"jobIndex\":1},", "");
    assert_int_equal(jobset_jobs(a, set, &jobs), 2);
    assert_int_equal(jobs[0].replicas, 2);
    assert_int_equal(jobs[0].count, 3);
    assert_int_equal(jobs[1].replicas, 1);
    assert_int_equal(json_get_int64(jobs[1].job_spec, "completions", 0), 1); /* Indexed needs it */
    assert_string_equal(json_get_text(jobs[1].labels, "x", ""), "y");
    assert_string_equal(jobset_children(a, set).coordinator, "js-a-1-0.js");
    assert_null(jobset_children(a, set_of("", "")).coordinator);
    assert_string_equal(jobs[1].group, "default");
    assert_string_equal(jobset_children(a, set).subdomain, "js");
    assert_string_equal(jobset_children(a, set_of("\"network\":{\"subdomain\":\"net\"},", "")).subdomain, "net");
    assert_null(jobset_children(a, set_of("\"network\":{\"enableDNSHostnames\":false},", "")).subdomain);
}

static struct jobset_decision decide(const struct json *set, int64_t a_well, int64_t b_well, const char *failed)
{
    struct replicated_job *jobs;
    uint32_t n = jobset_jobs(a, set, &jobs);
    struct child_counts counts[2] = {{.succeeded = a_well}, {.succeeded = b_well}};
    const struct json *job = failed ? parse(arena_printf(a, "{\"metadata\":{\"name\":\"js-a-0\"},\"status\":{\"conditions\":[{\"type\":"
        "\"Failed\",\"status\":\"True\",\"reason\":\"%s\"}]}}", failed)) : NULL;
    return jobset_decide(a, set, jobs, n, counts, &(struct child_failure){job, &jobs[0]}, failed ? 1 : 0);
}

static void test_success(void **state)
{
    (void)state;
    assert_int_equal(decide(set_of("", ""), 2, 0, NULL).verdict, JOBSET_GOES_ON);
    assert_int_equal(decide(set_of("", ""), 2, 1, NULL).verdict, JOBSET_COMPLETED);
    const struct json *any = set_of("\"successPolicy\":{\"operator\":\"Any\",\"targetReplicatedJobs\":[\"a\"]},", "");
    assert_int_equal(decide(any, 0, 1, NULL).verdict, JOBSET_GOES_ON);
    assert_int_equal(decide(any, 1, 0, NULL).verdict, JOBSET_COMPLETED);
    const struct json *of_b = set_of("\"successPolicy\":{\"operator\":\"All\",\"targetReplicatedJobs\":[\"b\"]},", "");
    assert_int_equal(decide(of_b, 0, 1, NULL).verdict, JOBSET_COMPLETED);
}

static void test_failure(void **state)
{
    (void)state;
#define POLICY(most, rules) "\"failurePolicy\":{\"maxRestarts\":" most ",\"rules\":[" rules "]},"
    struct jobset_decision d = decide(set_of("", ""), 0, 0, "BackoffLimitExceeded");
    assert_int_equal(d.verdict, JOBSET_FAILED);
    assert_string_equal(d.reason, "FailedJobs");
    assert_string_equal(d.message, "jobset failed due to one or more job failures (first failed job: js-a-0)");
    d = decide(set_of(POLICY("2", ""), "\"restartsCountTowardsMax\":1"), 0, 0, "BackoffLimitExceeded");
    assert_true(d.verdict == JOBSET_RESTARTS && d.counts && !d.alone);
    d = decide(set_of(POLICY("2", ""), "\"restartsCountTowardsMax\":2"), 0, 0, "BackoffLimitExceeded");
    assert_int_equal(d.verdict, JOBSET_FAILED);
    assert_string_equal(d.reason, "ReachedMaxRestarts");
    static const char rules[] = POLICY("0", "{\"name\":\"x\",\"action\":\"FailJobSet\",\"onJobFailureReasons\":[\"PodFailurePolicy\"]},"
        "{\"name\":\"y\",\"action\":\"RestartJobSet\",\"targetReplicatedJobs\":[\"b\"]},"
        "{\"name\":\"z\",\"action\":\"RestartJobAndIgnoreMaxRestarts\"}");
    d = decide(set_of(rules, ""), 0, 0, "PodFailurePolicy");
    assert_string_equal(d.reason, "FailJobSetFailurePolicyAction");
    d = decide(set_of(rules, ""), 0, 0, "BackoffLimitExceeded");
    assert_true(d.verdict == JOBSET_RESTARTS && !d.counts && d.alone);
}

static const struct json *failed_job(const char *name, const char *at, const char *message)
{
    return parse(arena_printf(a, "{\"metadata\":{\"name\":\"%s\"},\"status\":{\"conditions\":[{\"type\":\"Failed\",\"status\":\"True\","
        "\"reason\":\"PodFailurePolicy\",\"message\":\"%s\",\"lastTransitionTime\":\"2026-01-01T00:00:%sZ\"}]}}", name, message, at));
}

/* Of several that have failed the first rule that is for one of them decides, and of those the one that failed first is named. */
static void test_rules_in_order(void **state)
{
    (void)state;
    const struct json *set = set_of(POLICY("3", "{\"name\":\"oom\",\"action\":\"FailJobSet\",\"onJobFailureMessagePatterns\":[\"^exit code 1(37|43)$\"]},"
                                                "{\"name\":\"any\",\"action\":\"RestartJobSet\"}"), "");
    struct replicated_job *jobs;
    struct child_counts counts[2] = {{0}};
    uint32_t n = jobset_jobs(a, set, &jobs);
    struct child_failure failures[] = {{failed_job("js-a-1", "05", "exit code 1"), &jobs[0]},
                                       {failed_job("js-a-0", "03", "exit code 1"), &jobs[0]},
                                       {failed_job("js-b-0", "09", "exit code 137"), &jobs[1]}};
    struct jobset_decision d = jobset_decide(a, set, jobs, n, counts, failures, 2);
    assert_int_equal(d.verdict, JOBSET_RESTARTS);
    assert_string_equal(d.reason, "RestartJobSetFailurePolicyAction");
    assert_string_equal(d.message, "applying RestartJobSet failure policy action (first failed job: js-a-0)");
    assert_string_equal(d.rule, "any");
    d = jobset_decide(a, set, jobs, n, counts, failures, 3);
    assert_int_equal(d.verdict, JOBSET_FAILED);
    assert_string_equal(d.message, "applying FailJobSet failure policy action (first failed job: js-b-0)");
    set = set_of(POLICY("3", ""), "");
    d = jobset_decide(a, set, jobs, n, counts, failures, 3);
    assert_true(d.verdict == JOBSET_RESTARTS && !d.rule && strstr(d.message, "js-a-0"));
}

#define MOUNTS(lists) "{\"name\":\"w\",\"template\":{\"spec\":{\"template\":{\"spec\":{" lists "}}}}}"
#define MOUNT(volume) "[{\"name\":\"c\",\"volumeMounts\":[{\"name\":\"" volume "\",\"mountPath\":\"/x\"}]}]"

static void test_claims(void **state)
{
    (void)state;
    const struct json *set = parse(arena_text(a, "{\"metadata\":{\"name\":\"js\"},\"spec\":{\"volumeClaimPolicies\":[{\"templates\":[{\"metadata\":{"
        "\"name\":\"data\",\"labels\":{\"x\":\"y\"}},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"]}}]},{\"retentionPolicy\":{\"whenDeleted\":\"Retain\"},"
        "\"templates\":[{\"metadata\":{\"name\":\"kept\"}}]}],\"replicatedJobs\":[" MOUNTS("\"initContainers\":" MOUNT("data")) ","
        MOUNTS("\"containers\":" MOUNT("kept") ",\"volumes\":[{\"name\":\"own\"}]") "," MOUNTS("\"containers\":[]") "]}}"));
    struct replicated_job *jobs;
    const struct json *claims = jobset_children(a, set).claims, *first = json_item(claims, 0), *second = json_item(claims, 1);
    assert_int_equal(claims->n, 2);
    assert_string_equal(object_meta(first, "name"), "data-js");
    assert_string_equal(object_label(first, "x"), "y");
    assert_false(json_get_bool(first, "retained", true));
    assert_string_equal(object_meta(second, "name"), "kept-js");
    assert_true(json_get_bool(second, "retained", false));
    assert_int_equal(jobset_jobs(a, set, &jobs), 3);
    const struct json *volumes = json_path(jobs[0].job_spec, "template", "spec", "volumes", NULL);
    assert_int_equal(volumes->n, 1);
    assert_string_equal(json_get_text(json_item(volumes, 0), "name", ""), "data");
    assert_string_equal(json_text(json_path(json_item(volumes, 0), "persistentVolumeClaim", "claimName", NULL), ""), "data-js");
    volumes = json_path(jobs[1].job_spec, "template", "spec", "volumes", NULL);
    assert_int_equal(volumes->n, 2); /* beside its own */
    assert_string_equal(json_get_text(json_item(volumes, 1), "name", ""), "kept");
    assert_null(json_path(jobs[2].job_spec, "template", "spec", "volumes", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_jobs), cmocka_unit_test(test_claims), cmocka_unit_test(test_success),
                                       cmocka_unit_test(test_failure), cmocka_unit_test(test_rules_in_order)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
