/* What Kueue's Configuration says of Workloads of jobs, on a virtual clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "codec/configuration/workload_policy.h"
#include "world.h"

/* The controllers begin anew, as with another configuration. */
static void jobs_with(const struct workload_policy *policy)
{
    jobs_free(w.jobs);
    w.jobs = jobs_new(w.client, &(struct jobs_config){.embedded = true, .policy = policy});
    run(1000);
}

/* ---- labels ---- */

static void labels_are_copied(void)
{
    static const char *const keys[] = {"team", "cost", "kueue.x-k8s.io/queue-name"};
    static const struct workload_policy policy = {.labels = keys, .labels_n = 3};
    QUOTA("8");
    jobs_with(&policy);
}

static void pod(const char *name, const char *labels)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\","
                        "\"labels\":{\"kueue.x-k8s.io/queue-name\":\"lq\",\"kueue.x-k8s.io/pod-group-name\":\"g\"%s},"
                        "\"annotations\":{\"kueue.x-k8s.io/pod-group-total-count\":\"2\"}},\"spec\":{\"restartPolicy\":\"Never\","
                        "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
                        name, labels));
}

static void test_labels_of_a_job_are_copied_when_its_workload_is_made(void **state)
{
    (void)state;
    labels_are_copied();
    create("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"labels\":{"
           "\"kueue.x-k8s.io/queue-name\":\"lq\",\"team\":\"a\",\"other\":\"x\"}},\"spec\":{\"suspend\":true,\"template\":{\"spec\":{"
           "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}");
    run(1000);
    const struct json *labels = json_path(workload(), "metadata", "labels", NULL);
    assert_string_equal(json_get_text(labels, "team", ""), "a");
    assert_string_equal(json_get_text(labels, "kueue.x-k8s.io/queue-name", ""), "lq");
    assert_non_null(json_get(labels, "kueue.x-k8s.io/job-uid"));
    assert_int_equal(labels->n, 3);
    patch("/apis/batch/v1/namespaces/n/jobs/j", "{\"metadata\":{\"labels\":{\"team\":\"b\"}}}");
    run(1000);
    assert_string_equal(object_label(workload(), "team"), "a"); /* SOURCE Kueue: only then */
}

static void test_labels_of_a_group_are_those_of_any_member(void **state)
{
    (void)state;
    labels_are_copied();
    pod("a", ",\"team\":\"a\"");
    pod("b", ",\"team\":\"a\",\"cost\":\"9\"");
    run(1000);
    assert_string_equal(object_label(workload(), "team"), "a");
    assert_string_equal(object_label(workload(), "cost"), "9");
}

static void test_group_whose_labels_contradict_each_other_is_told(void **state)
{
    (void)state;
    labels_are_copied();
    pod("a", ",\"team\":\"a\"");
    pod("b", ",\"team\":\"b\"");
    run(1000);
    assert_null(workload());
    assert_true(event_seen("ErrWorkloadCompose", "pods of group g have different values of label team, which is copied onto their Workload: "
                                                 "'a' and 'b'; write the same"));
    patch("/api/v1/namespaces/n/pods/b", "{\"metadata\":{\"labels\":{\"team\":\"a\"}}}");
    run(1000);
    assert_string_equal(object_label(workload(), "team"), "a");
}

static void test_labels_that_nobody_names_are_not_copied(void **state)
{
    (void)state;
    QUOTA("8");
    pod("a", ",\"team\":\"a\"");
    pod("b", ",\"team\":\"b\"");
    run(1000);
    assert_int_equal(json_path(workload(), "metadata", "labels", NULL)->n, 1);
}

#define FLOW(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        FLOW(test_labels_of_a_job_are_copied_when_its_workload_is_made),
        FLOW(test_labels_of_a_group_are_those_of_any_member),
        FLOW(test_group_whose_labels_contradict_each_other_is_told),
        FLOW(test_labels_that_nobody_names_are_not_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
