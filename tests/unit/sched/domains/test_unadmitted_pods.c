/* Pods that were made before their job was suspended, or before anybody has seen it. */
#include "../stage.h"
#include "jobs/jobs.h"
#include "kube/object.h"

static struct jobs *jobs;
static bool unseen; /* nobody sees a job */

static enum job_waits job_waits(void *arg, const struct queued_kind *kind, const char *ns, const char *name, const char *uid)
{
    (void)arg;
    return unseen ? JOB_UNSEEN : jobs_wait(jobs, kind, ns, name, uid);
}

static int setup(void **state)
{
    (void)state;
    stage_open(NULL);
    node("x", "nvidia.com/gpu", 16);
    queue();
    scheduler_start_with((struct scheduler_config){.job_waits = job_waits});
    jobs = jobs_new(w.client, &(struct jobs_config){.no_volcano = true});
    unseen = false;
    run(3000);
    return 0;
}

static int close_all(void **state)
{
    jobs_free(jobs);
    jobs = NULL;
    return teardown(state);
}

#define POD_SPEC "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{" \
                 "\"nvidia.com/gpu\":\"%d\"}}}]}"
#define OWNED ",\"ownerReferences\":[{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"name\":\"%s\",\"uid\":\"%s\",\"controller\":true}]"

static const char *uid_of(const char *path)
{
    return object_meta(get(path), "uid");
}

/* more: of its metadata. */
static void job(const char *name, const char *more, int gpus)
{
    create(arena_printf(w.a, "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"%s},\"spec\":{"
                             "\"template\":{" POD_SPEC "}}}", name, more, gpus));
}

static void pod(const char *version, const char *kind, const char *owner, const char *uid)
{
    create(arena_printf(w.a, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"n\"" OWNED "},"
                             POD_SPEC "}", version, kind, owner, uid, 1));
}

static const char *node_of_pod(void)
{
    return json_text(json_path(get(PODS "/p"), "spec", "nodeName", NULL), "");
}

#define JOBS "/apis/batch/v1/namespaces/n/jobs"
#define QUEUED ",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"lq\"}"

static void test_pod_waits_for_its_jobs_quota(void **state)
{
    (void)state;
    job("j", QUEUED, 8);
    pod("batch/v1", "Job", "j", uid_of(JOBS "/j"));
    run(5000);
    assert_string_equal(node_of_pod(), "");
    kube_patch(w.user, KUBE_PATCH_MERGE, "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq",
               BYTES("{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"f\","
                     "\"resources\":[{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"8\"}]}]}]}}"), NULL, NULL);
    run(2000);
    assert_string_equal(node_of_pod(), "x");
}

static void test_pod_of_a_job_of_a_job_waits(void **state)
{
    (void)state;
    create(arena_printf(w.a, "{\"apiVersion\":\"jobset.x-k8s.io/v1alpha2\",\"kind\":\"JobSet\",\"metadata\":{\"name\":\"s\","
                             "\"namespace\":\"n\"" QUEUED "},\"spec\":{\"replicatedJobs\":[{\"name\":\"r\",\"replicas\":1,\"template\":{\"spec\":{\"template\":{"
                             POD_SPEC "}}}}]}}", 8));
    const char *uid = uid_of("/apis/jobset.x-k8s.io/v1alpha2/namespaces/n/jobsets/s");
    job("j", arena_printf(w.a, OWNED, "jobset.x-k8s.io/v1alpha2", "JobSet", "s", uid), 8);
    pod("batch/v1", "Job", "j", uid_of(JOBS "/j"));
    run(5000);
    assert_string_equal(node_of_pod(), "");
}

/* A RayJob that runs in a cluster that is there already is not queued, whatever its labels say: nobody would let its submitter in. */
static void test_pod_of_a_job_of_a_job_that_is_left_alone_does_not_wait(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":\"rayjobs.ray.io\"},"
           "\"spec\":{\"group\":\"ray.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"rayjobs\",\"singular\":\"rayjob\",\"kind\":\"RayJob\"},"
           "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
           "\"x-kubernetes-preserve-unknown-fields\":true}}}]}}");
    run(40 * 1000); /* it is known by then */
    create("{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayJob\",\"metadata\":{\"name\":\"r\",\"namespace\":\"n\"" QUEUED "},\"spec\":{"
           "\"clusterSelector\":{\"ray.io/cluster\":\"c\"},\"entrypoint\":\"x\"}}");
    const char *uid = uid_of("/apis/ray.io/v1/namespaces/n/rayjobs/r");
    job("j", arena_printf(w.a, OWNED, "ray.io/v1", "RayJob", "r", uid), 8);
    pod("batch/v1", "Job", "j", uid_of(JOBS "/j"));
    run(5000);
    assert_string_equal(node_of_pod(), "x");
    assert_false(json_get_bool(json_get(get(JOBS "/j"), "spec"), "suspend", false));
}

static void test_pod_of_a_job_without_a_queue_does_not_wait(void **state)
{
    (void)state;
    job("j", "", 8);
    pod("batch/v1", "Job", "j", uid_of(JOBS "/j"));
    run(1000);
    assert_string_equal(node_of_pod(), "x");
}

/* Its kind may be new to the server; but who is never seen keeps nobody. */
static void test_pod_of_a_job_that_nobody_sees_waits_a_minute(void **state)
{
    (void)state;
    unseen = true;
    job("j", "", 8);
    pod("batch/v1", "Job", "j", uid_of(JOBS "/j"));
    run(50 * 1000);
    assert_string_equal(node_of_pod(), "");
    run(15 * 1000);
    assert_string_equal(node_of_pod(), "x");
}

static void test_jobs_of_another_group_are_not_asked_for(void **state)
{
    (void)state;
    pod("example.com/v1", "Job", "j", "1-2-3");
    run(1000);
    assert_string_equal(node_of_pod(), "x");
}

static void test_pod_that_is_deleted_is_forgotten(void **state)
{
    (void)state;
    job("j", QUEUED, 8);
    const char *uid = uid_of(JOBS "/j");
    pod("batch/v1", "Job", "j", uid);
    run(1000);
    kube_delete(w.user, PODS "/p", BYTES("{\"gracePeriodSeconds\":0}"), NULL, NULL);
    run(1000);
    pod("batch/v1", "Job", "j", uid);
    run(1000);
    assert_string_equal(node_of_pod(), "");
    assert_string_equal(object_meta(get(PODS "/p"), "name"), "p");
}

/* Volcano's controllers are here: whoever is in a queue of theirs is told so first, and the queue counts. */
static void test_pods_of_volcano_wait_for_their_group(void **state)
{
    (void)state;
    stage_open(NULL);
    node("x", "nvidia.com/gpu", 16);
    create("{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"q\"},\"spec\":{\"weight\":1,"
           "\"capability\":{\"nvidia.com/gpu\":\"2\"}}}");
    scheduler_start_with((struct scheduler_config){.groups_volcano = true});
    static const char text[] = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"annotations\":{"
                               "\"scheduling.volcano.sh/queue-name\":\"q\"}},\"spec\":{\"schedulerName\":\"%s\",\"containers\":[{"
                               "\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"2\"}}}]}}";
    create(arena_printf(w.a, text, "p", "volcano"));
    create(arena_printf(w.a, text, "other", "capstan"));
    run(3000);
    assert_string_equal(node_of_pod(), "");
    assert_string_equal(json_text(json_path(get(PODS "/other"), "spec", "nodeName", NULL), ""), "x");
    jobs = jobs_new(w.client, &(struct jobs_config){0});
    run(3000);
    assert_string_equal(node_of_pod(), "x");
    create(arena_printf(w.a, text, "second", "volcano"));
    run(3000);
    assert_string_equal(json_text(json_path(get(PODS "/second"), "spec", "nodeName", NULL), ""), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pod_waits_for_its_jobs_quota, setup, close_all),
        cmocka_unit_test_setup_teardown(test_pod_of_a_job_of_a_job_waits, setup, close_all),
        cmocka_unit_test_setup_teardown(test_pod_of_a_job_of_a_job_that_is_left_alone_does_not_wait, setup, close_all),
        cmocka_unit_test_setup_teardown(test_pod_of_a_job_without_a_queue_does_not_wait, setup, close_all),
        cmocka_unit_test_setup_teardown(test_pod_of_a_job_that_nobody_sees_waits_a_minute, setup, close_all),
        cmocka_unit_test_setup_teardown(test_jobs_of_another_group_are_not_asked_for, setup, close_all),
        cmocka_unit_test_setup_teardown(test_pod_that_is_deleted_is_forgotten, setup, close_all),
        cmocka_unit_test_teardown(test_pods_of_volcano_wait_for_their_group, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
