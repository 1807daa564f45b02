/* TrainJobs on a virtual clock: as JobSets (the embedded cluster), and as Jobs where nobody may run JobSets; deadlines of all kinds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../world.h"

#define JOB "/apis/batch/v1/namespaces/n/jobs/"
#define TRAINJOB "/apis/trainer.kubeflow.org/v1alpha1/namespaces/n/trainjobs/t"
#define GROUP "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/n/podgroups/t"
#define STEP "\"metadata\":{\"labels\":{\"trainer.kubeflow.org/trainjob-ancestor-step\":\"trainer\"}},"
#define POD(more) "\"spec\":{\"template\":{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":\"600\"}},\"spec\":{" more \
                  "\"containers\":[{\"name\":\"node\",\"image\":\"i\"}]}}}"

static void runtime(const char *policies, const char *jobset)
{
    create(arena_printf(w.a, "{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":\"TrainingRuntime\",\"metadata\":{\"name\":\"r\","
                             "\"namespace\":\"n\"},\"spec\":{%s,\"template\":{\"spec\":{%s}}}}", policies, jobset));
}

static void trainjob(const char *more)
{
    create(arena_printf(w.a, "{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":\"TrainJob\",\"metadata\":{\"name\":\"t\","
                             "\"namespace\":\"n\"},\"spec\":{%s\"runtimeRef\":{\"kind\":\"TrainingRuntime\",\"name\":\"r\"}}}", more));
}

/* As --run-trainjobs. */
static void nobody_runs_jobsets(void)
{
    jobs_free(w.jobs);
    w.jobs = jobs_new(w.client, &(struct jobs_config){.run_trainjobs = true});
    run(1500);
}

static int made_n, refused_n;
static const char *watched; /* of what is made */

static bool watches_over(struct http_exchange *x)
{
    bool makes = strcmp(x->request.method, "POST") == 0;
    made_n += makes && strstr(x->request.path, watched);
    if (!makes || refused_n == 0 || !strstr(x->request.path, watched))
        return false;
    refused_n--;
    http_reply_text(x, 403, "application/json", "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\",\"message\":\"no\"}");
    return true;
}

static void test_jobs_are_made_as_their_jobset_would_make_them(void **state)
{
    (void)state;
    nobody_runs_jobsets();
    runtime("\"mlPolicy\":{\"numNodes\":1}", "\"startupPolicy\":{\"startupPolicyOrder\":\"InOrder\"},\"network\":{\"enableDNSHostnames\":false},"
            "\"coordinator\":{\"replicatedJob\":\"first\"},"
            "\"replicatedJobs\":[{\"name\":\"first\",\"template\":{" POD("\"nodeSelector\":{\"no\":\"where\"},") "}},{\"name\":\"node\",\"template\":{" STEP POD("") "}}]");
    trainjob("");
    run(5000);
    const struct json *first = get(JOB "t-first-0");
    assert_non_null(first);
    assert_null(json_path(first, "spec", "template", "spec", "subdomain", NULL));
    assert_string_equal(object_label(first, "jobset.sigs.k8s.io/coordinator"), "t-first-0-0.t");
    assert_null(get(JOB "t-node-0")); /* the first is not ready */
}

static void test_keys_are_made_once(void **state)
{
    (void)state;
    nobody_runs_jobsets();
    watched = "/secrets";
    made_n = 0;
    w.takes = watches_over;
    runtime("\"mlPolicy\":{\"numNodes\":1,\"mpi\":{}}", "\"replicatedJobs\":[{\"name\":\"node\",\"template\":{" POD("") "}},{\"name\":\"launcher\","
            "\"dependsOn\":[{\"name\":\"node\",\"status\":\"Ready\"}],\"template\":{" STEP POD("") "}}]");
    trainjob("");
    run(10000);
    w.takes = NULL;
    assert_non_null(get(JOB "t-launcher-0"));
    assert_int_equal(made_n, 1);
}

static void test_a_group_that_was_refused_is_made_later(void **state)
{
    (void)state;
    watched = "/podgroups";
    refused_n = 3;
    w.takes = watches_over;
    runtime("\"mlPolicy\":{\"numNodes\":2},\"podGroupPolicy\":{\"coscheduling\":{}}", "\"replicatedJobs\":[{\"name\":\"node\",\"template\":{" STEP POD("") "}}]");
    trainjob("");
    run(30000);
    w.takes = NULL;
    assert_int_equal(refused_n, 0);
    assert_int_equal(json_int64(json_path(get(GROUP), "spec", "minMember", NULL), 0), 2);
    assert_int_equal(pods_n("jobset.sigs.k8s.io%2Fjobset-name%3Dt", "Running"), 2);
}

#define FOR_EVER "\"activeDeadlineSeconds\":9223372036854775807,"

static void test_who_has_time_for_ever_is_not_late(void **state)
{
    (void)state;
    runtime("\"mlPolicy\":{\"numNodes\":1}", "\"replicatedJobs\":[{\"name\":\"node\",\"template\":{" STEP POD("") "}}]");
    trainjob(FOR_EVER);
    create("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\",\"namespace\":\"n\"},\"spec\":{" FOR_EVER "\"template\":{\"metadata\":{"
           "\"annotations\":{\"capstan.dev/run-seconds\":\"600\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}");
    create("{\"apiVersion\":\"kubeflow.org/v1\",\"kind\":\"PyTorchJob\",\"metadata\":{\"name\":\"p\",\"namespace\":\"n\"},\"spec\":{\"runPolicy\":{"
           FOR_EVER "\"cleanPodPolicy\":\"None\"},\"pytorchReplicaSpecs\":{\"Worker\":{\"template\":{\"metadata\":{\"annotations\":{"
           "\"capstan.dev/run-seconds\":\"600\"}},\"spec\":{\"containers\":[{\"name\":\"pytorch\",\"image\":\"i\"}]}}}}}}");
    run(20000);
    assert_false(object_condition_true(get(TRAINJOB), "Failed"));
    assert_int_equal(pods_n("jobset.sigs.k8s.io%2Fjobset-name%3Dt", "Running"), 1);
    assert_false(object_condition_true(get(JOB "j"), "Failed"));
    const struct json *p = get("/apis/kubeflow.org/v1/namespaces/n/pytorchjobs/p");
    assert_true(object_condition_true(p, "Running") && !object_condition_true(p, "Failed"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_jobs_are_made_as_their_jobset_would_make_them, setup, teardown),
        cmocka_unit_test_setup_teardown(test_keys_are_made_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_group_that_was_refused_is_made_later, setup, teardown),
        cmocka_unit_test_setup_teardown(test_who_has_time_for_ever_is_not_late, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
