/* --hold, by dialect: nobody is let in as long as it holds, and who waited is let in by the next scheduler without it */
#include "stage.h"
#include "jobs/jobs.h"
#include "kube/object.h"
#include "sched/telling/telling.h"

#define GROUP "/apis/scheduling.volcano.sh/v1beta1/namespaces/n/podgroups"

static struct jobs *jobs;

static void start(bool hold)
{
    scheduler_free(w.scheduler);
    struct scheduler_config config = {.default_scheduler = true, .hold = hold, .sweep_always = true};
    w.scheduler = scheduler_new(w.loop, w.client, &config);
    run(5000);
}

static int setup(void **state)
{
    (void)state;
    stage_open(NULL);
    node("n0", "nvidia.com/gpu", 4);
    jobs = jobs_new(w.client, &(struct jobs_config){.embedded = true});
    start(true);
    return 0;
}

static int held_teardown(void **state)
{
    jobs_free(jobs);
    return teardown(state);
}

static int pods_n(void)
{
    const struct json *items = json_get(get(PODS), "items");
    return items ? (int)items->n : -1;
}

static const struct json *group(void)
{
    return json_item(json_get(get(GROUP), "items"), 0);
}

static const char *phase(void)
{
    return json_text(json_path(group(), "status", "phase", NULL), "");
}

/* Its controller makes the pods of whoever is let in. */
static void a_volcano_job_gets_no_pods(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"v\",\"namespace\":\"n\"},\"spec\":{"
           "\"minAvailable\":2,\"schedulerName\":\"volcano\",\"tasks\":[{\"name\":\"t\",\"replicas\":2,\"template\":{\"spec\":{"
           "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}]}}");
    run(2 * TELLING_MEMBERS_MS);
    assert_string_equal(phase(), "Pending");
    assert_int_equal(pods_n(), 0);
    assert_null(object_condition(group(), "Unschedulable")); /* that its pods do not exist is no fault of its own */
    assert_string_equal(object_waiting(group()), "");
    start(false);
    assert_int_equal(pods_n(), 2);
}

/* Pods that are there already, and a group that somebody else made for them. */
static void a_volcano_group_with_pods_stays_pending(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},"
           "\"spec\":{\"minMember\":1}}");
    create("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"annotations\":{"
           "\"scheduling.k8s.io/group-name\":\"g\"}},\"spec\":{\"schedulerName\":\"volcano\",\"containers\":[{\"name\":\"c\","
           "\"image\":\"i\"}]}}");
    run(10000);
    assert_string_equal(phase(), "Pending");
    assert_string_equal(json_text(json_path(get(PODS "/p"), "spec", "nodeName", NULL), ""), "");
    start(false);
    assert_string_equal(json_text(json_path(get(PODS "/p"), "spec", "nodeName", NULL), ""), "n0");
}

static void workload(void)
{
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"},\"spec\":{"
           "\"queueName\":\"lq\",\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\","
           "\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}]}}");
}

static void a_workload_gets_no_quota(void **state)
{
    (void)state;
    queue();
    workload();
    run(10000);
    assert_false(object_condition_true(get(WORKLOADS "/a"), "QuotaReserved"));
    start(false);
    assert_true(object_condition_true(get(WORKLOADS "/a"), "Admitted"));
}

static void change(const char *path, const char *text)
{
    kube_patch(w.user, KUBE_PATCH_MERGE, path, bytes_of(text), NULL, NULL);
    run(3000);
}

/* SOURCE Kueue: quota is what lets somebody in; the answers of his checks only end his waiting. */
static void a_workload_that_has_quota_follows_its_checks(void **state)
{
    (void)state;
    queue();
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"AdmissionCheck\",\"metadata\":{\"name\":\"c\"},\"spec\":{"
           "\"controllerName\":\"example.com/c\"}}");
    change("/apis/kueue.x-k8s.io/v1beta2/admissionchecks/c/status",
           "{\"status\":{\"conditions\":[{\"type\":\"Active\",\"status\":\"True\",\"reason\":\"R\",\"message\":\"\","
           "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}");
    change("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq",
           "{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"c\"}]}}}");
    start(false);
    workload();
    run(3000);
    start(true);
    assert_true(object_condition_true(get(WORKLOADS "/a"), "QuotaReserved"));
    assert_false(object_condition_true(get(WORKLOADS "/a"), "Admitted"));
    change(WORKLOADS "/a/status", "{\"status\":{\"admissionChecks\":[{\"name\":\"c\",\"state\":\"Ready\",\"message\":\"\","
                                  "\"lastTransitionTime\":\"2026-01-01T00:00:03Z\"}]}}");
    assert_true(object_condition_true(get(WORKLOADS "/a"), "Admitted"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_volcano_job_gets_no_pods, setup, held_teardown),
        cmocka_unit_test_setup_teardown(a_volcano_group_with_pods_stays_pending, setup, held_teardown),
        cmocka_unit_test_setup_teardown(a_workload_gets_no_quota, setup, held_teardown),
        cmocka_unit_test_setup_teardown(a_workload_that_has_quota_follows_its_checks, setup, held_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
