/* PyTorchJobs, MPIJobs, JobSets and their family through a queue and without, to their end, on a virtual clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "world.h"

#define PYTORCH "/apis/kubeflow.org/v1/namespaces/n/pytorchjobs/p"
#define MPI "/apis/kubeflow.org/v2beta1/namespaces/n/mpijobs/m"
#define JOBSET "/apis/jobset.x-k8s.io/v1alpha2/namespaces/n/jobsets/s"
#define QUEUED ",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"lq\"}"
/* A template whose pods run for so many seconds and ask for one GPU. */
#define RUNS(container, seconds)                                                                                            \
    "\"template\":{\"metadata\":{\"labels\":{\"mine\":\"1\"},\"annotations\":{\"capstan.dev/run-seconds\":\"" seconds "\"}},"   \
    "\"spec\":{\"nodeSelector\":{\"capstan.dev/simulated\":\"true\"},\"containers\":[{\"name\":\"" container "\",\"image\":\"i\"," \
    "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}"

static void pytorch(const char *labels, int workers, const char *more)
{
    create(arena_printf(w.a, "{\"apiVersion\":\"kubeflow.org/v1\",\"kind\":\"PyTorchJob\",\"metadata\":{\"name\":\"p\",\"namespace\":\"n\"%s},"
                             "\"spec\":{%s\"pytorchReplicaSpecs\":{\"Master\":{" RUNS("pytorch", "10") "},\"Worker\":{\"replicas\":%d,"
                             RUNS("pytorch", "10") "}}}}", labels, more, workers));
}

static void mpi(const char *labels, const char *policy)
{
    create(arena_printf(w.a, "{\"apiVersion\":\"kubeflow.org/v2beta1\",\"kind\":\"MPIJob\",\"metadata\":{\"name\":\"m\",\"namespace\":\"n\"%s},"
                             "\"spec\":{\"launcherCreationPolicy\":\"%s\",\"runPolicy\":{\"cleanPodPolicy\":\"Running\"},"
                             "\"mpiReplicaSpecs\":{\"Launcher\":{" RUNS("l", "30") "},\"Worker\":{\"replicas\":3," RUNS("w", "600") "}}}}",
                        labels, policy));
}

static void jobset(const char *labels, const char *more, const char *first_exits)
{
    create(arena_printf(w.a, "{\"apiVersion\":\"jobset.x-k8s.io/v1alpha2\",\"kind\":\"JobSet\",\"metadata\":{\"name\":\"s\",\"namespace\":\"n\"%s},"
                             "\"spec\":{%s\"replicatedJobs\":[{\"name\":\"data\",\"template\":{\"spec\":{\"backoffLimit\":0,\"template\":{"
                             "\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":\"5\",\"capstan.dev/exit-code\":\"%s\"}},\"spec\":{"
                             "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}},"
                             "{\"name\":\"train\",\"replicas\":2,\"dependsOn\":[{\"name\":\"data\",\"status\":\"Complete\"}],\"template\":{\"spec\":{"
                             "\"parallelism\":2,\"completions\":2," RUNS("c", "10") "}}}]}}", labels, more, first_exits));
}

static bool is(const char *path, const char *condition)
{
    return object_condition_true(get(path), condition);
}

static bool is_suspended(const char *path)
{
    const struct json *spec = json_get(get(path), "spec"), *policy = json_get(spec, "runPolicy");
    return json_get_bool(policy ? policy : spec, "suspend", false);
}

/* What decides where pods run and whose they are, of each pod template in the job. */
static const char *templates(const char *path)
{
    const struct json *spec = json_get(get(path), "spec");
    _cleanup_buf_ struct buf text = {0};
    static const char *const roles[] = {"pytorchReplicaSpecs", "mpiReplicaSpecs", "replicatedJobs"};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        JSON_EACH (role, json_get(spec, roles[i]))
            json_write(&text, role);
    return arena_text_n(w.a, text.data, text.n);
}

static const char *counts(void)
{
    const char *text = "";
    JSON_EACH (set, json_path(workload(), "spec", "podSets", NULL))
        text = arena_printf(w.a, "%s%s=%lld ", text, json_get_text(set, "name", ""), (long long)json_get_int64(set, "count", 0));
    return text;
}

#define OF_P "training.kubeflow.org%2Fjob-name%3Dp"
#define OF_M "training.kubeflow.org%2Fjob-name%3Dm"
#define OF_S "jobset.sigs.k8s.io%2Fjobset-name%3Ds"
static int of_job(const char *selector, const char *phase)
{
    return pods_n(selector, phase);
}

static void test_pytorch_waits_starts_whole_and_ends(void **state)
{
    (void)state;
    QUOTA("2");
    pytorch(QUEUED, 2, "");
    run(3000);
    assert_true(is_suspended(PYTORCH));
    assert_string_equal(counts(), "master=1 worker=2 ");
    assert_int_equal(of_job(OF_P, ""), 0);
    assert_true(is(PYTORCH, "Suspended"));
    patch("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq",
          "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"a100\",\"resources\":["
          "{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"8\"}]}]}]}}");
    run(4000);
    assert_int_equal(of_job(OF_P, "Running"), 3);
    assert_true(is(PYTORCH, "Running"));
    assert_true(object_condition_true(workload(), "PodsReady"));
    run(15000);
    assert_true(is(PYTORCH, "Succeeded"));
    assert_true(object_condition_true(workload(), "Finished"));
    assert_string_equal(reason(workload(), "Finished"), "Succeeded");
}

static const char *workload_of_only(void)
{
    return arena_printf(w.a, "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/%s", object_meta(workload(), "name"));
}

/* Started, stopped and started again: between the two it is, to the byte, what its owner wrote. */
static void stopped_and_restored(const char *path, const char *selector, int pods)
{
    run(8000);
    assert_int_equal(of_job(selector, "Running"), pods);
    assert_non_null(strstr(templates(path), "kueue.x-k8s.io/podset"));
    patch(workload_of_only(), "{\"spec\":{\"active\":false}}");
    run(8000);
    assert_true(is_suspended(path));
    assert_true(is(path, "Suspended"));
    assert_int_equal(of_job(selector, "Running"), 0);
    assert_false(object_condition_true(workload(), "QuotaReserved"));
}

static void test_what_was_stopped_is_as_before(void **state)
{
    (void)state;
    QUOTA("8");
    const struct {
        const char *path, *selector;
        int pods;
    } kinds[] = {{PYTORCH, OF_P, 3}, {MPI, OF_M, 4}, {JOBSET, OF_S, 4}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        delete(LQ); /* nothing starts before it was looked at */
        if (i == 0)
            pytorch(QUEUED, 2, "");
        else if (i == 1)
            mpi(QUEUED, "AtStartup");
        else
            jobset(QUEUED, "", "0");
        const char *before = templates(kinds[i].path);
        create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"lq\",\"namespace\":\"n\"},"
               "\"spec\":{\"clusterQueue\":\"cq\"}}");
        stopped_and_restored(kinds[i].path, kinds[i].selector, kinds[i].pods);
        assert_string_equal(templates(kinds[i].path), before);
        patch(workload_of_only(), "{\"spec\":{\"active\":true}}");
        run(8000);
        assert_false(is_suspended(kinds[i].path));
        assert_int_equal(of_job(kinds[i].selector, "Running"), kinds[i].pods);
        delete(kinds[i].path);
        run(8000);
        assert_null(workload());
    }
}

static void test_launcher_comes_when_the_workers_are_ready(void **state)
{
    (void)state;
    QUOTA("4");
    mpi(QUEUED, "WaitForWorkersReady");
    run(2500);
    assert_string_equal(object_annotation(workload(), "capstan.dev/later-pod-sets"), "launcher");
    run(4500);
    assert_int_equal(of_job(OF_M, "Running"), 4);
    assert_true(is(MPI, "Running"));
    run(35000);
    assert_true(is(MPI, "Succeeded"));
    assert_true(object_condition_true(workload(), "Finished"));
    assert_int_equal(of_job(OF_M, "Running"), 0); /* the workers are not needed any more */
    assert_non_null(get("/api/v1/namespaces/n/secrets/m-ssh"));
    assert_non_null(strstr(json_text(json_path(get("/api/v1/namespaces/n/configmaps/m-config"), "data", "hostfile", NULL), ""),
                           "m-worker-2.m.n.svc slots=1\n"));
}

static void test_jobs_that_depend_on_others_come_after_them(void **state)
{
    (void)state;
    QUOTA("4");
    jobset(QUEUED, "", "0");
    run(3000);
    assert_string_equal(counts(), "data=1 train=4 ");
    assert_int_equal(of_job(OF_S, "Running"), 1);
    run(8000);
    assert_int_equal(of_job(OF_S, "Running"), 4);
    assert_string_equal(json_get_text(json_first(json_path(workload(), "status", "reclaimablePods", NULL)), "name", ""), "data");
    run(15000);
    assert_true(is(JOBSET, "Completed"));
    assert_string_equal(json_text(json_path(get(JOBSET), "status", "terminalState", NULL), ""), "Completed");
    assert_true(object_condition_true(workload(), "Finished"));
}

static void test_a_jobset_that_fails_is_made_again_so_often(void **state)
{
    (void)state;
    jobset("", "\"failurePolicy\":{\"maxRestarts\":2},", "1");
    run(60000);
    assert_true(is(JOBSET, "Failed"));
    assert_string_equal(reason(get(JOBSET), "Failed"), "ReachedMaxRestarts");
    assert_int_equal(json_int64(json_path(get(JOBSET), "status", "restarts", NULL), 0), 2);
}

/* Three jobs of one pod: the first succeeds early, the last fails later. */
static void jobset_that_restarts(void)
{
#define RUNS_AND_EXITS(name, seconds, code) "{\"name\":\"" name "\",\"template\":{\"spec\":{\"backoffLimit\":0,\"template\":{\"metadata\":{" \
    "\"annotations\":{\"capstan.dev/run-seconds\":\"" seconds "\",\"capstan.dev/exit-code\":\"" code "\"}},\"spec\":{\"restartPolicy\":\"Never\"," \
    "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":1}}}]}}}}}"
    create("{\"apiVersion\":\"jobset.x-k8s.io/v1alpha2\",\"kind\":\"JobSet\",\"metadata\":{\"name\":\"s\",\"namespace\":\"n\"" QUEUED "},"
           "\"spec\":{\"failurePolicy\":{\"maxRestarts\":1},\"replicatedJobs\":[" RUNS_AND_EXITS("early", "8", "0") ","
           RUNS_AND_EXITS("long", "60", "0") "," RUNS_AND_EXITS("fails", "15", "1") "]}}");
}

/* A pod of "early" ended well and gave its quota back. When all begin anew it needs quota again. */
static void test_a_restart_asks_again_for_what_was_over(void **state)
{
    (void)state;
    QUOTA("3");
    jobset_that_restarts();
    run(12000);
    assert_int_equal(of_job(OF_S, "Running"), 2);
    assert_string_equal(json_get_text(json_first(json_path(workload(), "status", "reclaimablePods", NULL)), "name", ""), "early");
    run(10000);
    assert_int_equal(json_int64(json_path(get(JOBSET), "status", "restarts", NULL), 0), 1);
    assert_true(object_condition_true(workload(), "Admitted"));
    assert_int_equal(of_job(OF_S, "Running"), 3);
    assert_null(json_path(workload(), "status", "reclaimablePods", NULL));
    assert_true(event_seen("Stopped", "Pods that were over are made again, and need the quota that they gave back: the job is queued again"));
    run(40000);
    assert_string_equal(reason(get(JOBSET), "Failed"), "ReachedMaxRestarts");
}

/* Somebody has taken the quota meanwhile: it waits for all of it, and no pod of it runs. */
static void test_a_restart_waits_for_what_was_over(void **state)
{
    (void)state;
    QUOTA("3");
    jobset_that_restarts();
    run(12000);
    job("j", 1, "true");
    run(8500);
    assert_int_equal(of_job(OF_S, "Running"), 0);
    assert_true(is_suspended(JOBSET));
    assert_int_equal(pods_n("job-name=j", "Running"), 1);
    delete("/apis/batch/v1/namespaces/n/jobs/j");
    run(6000);
    assert_int_equal(of_job(OF_S, "Running"), 3);
}

static void test_managed_by_others(void **state)
{
    (void)state;
    jobset("", "\"managedBy\":\"example.com/mine\",", "0");
    pytorch("", 1, "\"runPolicy\":{\"managedBy\":\"kueue.x-k8s.io/multikueue\"},");
    run(5000);
    assert_int_equal(of_job(OF_S, ""), 0);
    assert_int_equal(of_job(OF_P, ""), 0);
    assert_null(object_condition(get(JOBSET), "Suspended"));
}

#define CHILD(name) "/apis/batch/v1/namespaces/n/jobs/" name
/* As an operator makes it that does not look whether its job is suspended. */
static void child(const char *name, const char *kind, const char *version, const char *owner)
{
    create(arena_printf(w.a, "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\","
                             "\"ownerReferences\":[{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"name\":\"%s\",\"uid\":\"%s\",\"controller\":true}]},"
                             "\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}",
                        name, version, kind, json_text(json_path(get(owner), "metadata", "name", NULL), ""), object_meta(get(owner), "uid")));
}

/* It names no queue itself, nor has it a Workload: it waits with the job that it was made for. */
static void test_what_operators_make_waits_with_its_job(void **state)
{
    (void)state;
    mpi(QUEUED, "AtStartup");
    pytorch("", 1, "\"runPolicy\":{\"managedBy\":\"kueue.x-k8s.io/multikueue\"},");
    run(1000);
    child("one", "MPIJob", "kubeflow.org/v2beta1", MPI);
    child("free", "PyTorchJob", "kubeflow.org/v1", PYTORCH);
    run(2000);
    assert_true(is_suspended(CHILD("one")));
    assert_true(event_seen("Suspended", "Kueue managed child job suspended"));
    assert_false(is_suspended(CHILD("free"))); /* nobody asked for a queue */
    assert_int_equal((int)json_get(get("/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads"), "items")->n, 1);
    patch(PYTORCH, "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/queue-name\":\"lq\"}}}");
    run(2000);
    assert_true(is_suspended(CHILD("free")));
    QUOTA("8");
    run(3000);
    child("two", "MPIJob", "kubeflow.org/v2beta1", MPI);
    run(2000);
    assert_false(is_suspended(CHILD("two")));
}

#define RAY "/apis/ray.io/v1/namespaces/n/rayjobs/r"
/* KubeRay finds that it cannot run the job, and somebody corrects it. */
static void test_an_invalid_job_is_on_hold(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":\"rayjobs.ray.io\"},"
           "\"spec\":{\"group\":\"ray.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"rayjobs\",\"singular\":\"rayjob\",\"kind\":"
           "\"RayJob\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"subresources\":{\"status\":{}},\"schema\":{"
           "\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]}}");
    QUOTA("8");
    run(40000); /* a kind that was not there is looked for now and then */
    create("{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayJob\",\"metadata\":{\"name\":\"r\",\"namespace\":\"n\"" QUEUED "},\"spec\":{"
           "\"submissionMode\":\"HTTPMode\",\"rayClusterSpec\":{\"headGroupSpec\":{" RUNS("h", "10") "}}}}");
    run(3000);
    assert_true(object_condition_true(workload(), "Admitted"));
    assert_false(is_suspended(RAY));
    patch(RAY "/status", "{\"status\":{\"jobDeploymentStatus\":\"ValidationFailed\"}}");
    run(3000);
    assert_string_equal(reason(workload(), "QuotaReserved"), "OnHold");
    assert_false(object_condition_true(workload(), "QuotaReserved"));
    assert_false(object_condition_true(workload(), "Finished"));
    assert_true(is_suspended(RAY)); /* or it would run without quota once it is corrected */
    assert_null(json_path(get(RAY), "spec", "rayClusterSpec", "headGroupSpec", "template", "metadata", "annotations",
                          "kueue.x-k8s.io/workload", NULL));
    const char *version = object_meta(workload(), "resourceVersion");
    run(60000);
    assert_string_equal(object_meta(workload(), "resourceVersion"), version);
    patch(RAY "/status", "{\"status\":{\"jobDeploymentStatus\":\"Suspended\"}}");
    run(3000);
    assert_true(object_condition_true(workload(), "Admitted"));
    assert_false(is_suspended(RAY));
}

/* Nine pods, and room for eight: none starts. */
static void test_without_a_queue_it_starts_whole_or_not_at_all(void **state)
{
    (void)state;
    pytorch("", 8, "");
    run(5000);
    assert_int_equal(of_job(OF_P, ""), 0);
    node("n3", 4);
    run(8000);
    assert_int_equal(of_job(OF_P, "Running"), 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pytorch_waits_starts_whole_and_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_was_stopped_is_as_before, setup, teardown),
        cmocka_unit_test_setup_teardown(test_launcher_comes_when_the_workers_are_ready, setup, teardown),
        cmocka_unit_test_setup_teardown(test_jobs_that_depend_on_others_come_after_them, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_jobset_that_fails_is_made_again_so_often, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_restart_asks_again_for_what_was_over, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_restart_waits_for_what_was_over, setup, teardown),
        cmocka_unit_test_setup_teardown(test_managed_by_others, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_operators_make_waits_with_its_job, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_invalid_job_is_on_hold, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_a_queue_it_starts_whole_or_not_at_all, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
