/* What Kueue's Configuration says of Workloads of jobs, on a virtual clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "codec/charge/charge.h"
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

/* ---- what a Workload has from its job ---- */

#define JOB "/apis/batch/v1/namespaces/n/jobs/j"
#define HELD "{\"spec\":{\"stopPolicy\":\"Hold\"}}"
#define STAKE(key, value) patch(JOB, "{\"metadata\":{\"annotations\":{\"capstan.dev/" key "\":" value "}}}")

static const char *stake(const char *key)
{
    return object_annotation(workload(), arena_printf(w.a, "capstan.dev/%s", key));
}

static void test_stakes_go_when_their_job_has_them_no_more(void **state)
{
    (void)state;
    QUOTA("8");
    job("j", 1, "true");
    run(1000);
    STAKE("minimum-run-seconds", "\"600\"");
    STAKE("checkpoint-time", "\"2026-01-01T00:00:00Z\"");
    run(1000);
    assert_string_equal(stake("minimum-run-seconds"), "600");
    assert_string_equal(stake("checkpoint-time"), "2026-01-01T00:00:00Z");
    STAKE("checkpoint-time", "null");
    run(1000);
    assert_string_equal(stake("minimum-run-seconds"), "600");
    assert_string_equal(stake("checkpoint-time"), "");
    STAKE("minimum-run-seconds", "null");
    run(1000);
    assert_string_equal(stake("minimum-run-seconds"), "");
    const char *version = object_meta(workload(), "resourceVersion");
    run(3000);
    assert_string_equal(object_meta(workload(), "resourceVersion"), version);
}

#define POD_CLASS(name, value)                                                                                          \
    create("{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":\"" name          \
           "\"},\"value\":" value "}")

static const char *class_now(void)
{
    const struct json *spec = json_get(workload(), "spec"), *ref = json_get(spec, "priorityClassRef");
    return arena_printf(w.a, "%s %s %lld", json_get_text(ref, "kind", "none"), json_get_text(ref, "name", ""),
                        (long long)json_get_int64(spec, "priority", -1));
}

/* A waiting Workload has the class of its job, whichever that is; each change is one write, told of by its name. */
static void test_waiting_workload_is_of_the_class_of_its_job(void **state)
{
    static const struct {
        const char *label, *class;
    } steps[] = {{"\"high\"", "WorkloadPriorityClass high 1000"}, {"null", "PriorityClass pods 5"}, {"\"low\"", "WorkloadPriorityClass low 10"},
                 {"\"gone\"", "WorkloadPriorityClass low 10"},    {"null", "PriorityClass pods 5"}};
    (void)state;
    QUOTA("8");
    patch("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq", HELD);
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"WorkloadPriorityClass\",\"metadata\":{\"name\":\"low\"},\"value\":10}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"WorkloadPriorityClass\",\"metadata\":{\"name\":\"high\"},\"value\":1000}");
    create("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"labels\":{"
           "\"kueue.x-k8s.io/queue-name\":\"lq\"}},\"spec\":{\"suspend\":true,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
           "\"priorityClassName\":\"pods\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}");
    run(1000);
    assert_string_equal(class_now(), "PriorityClass pods 0"); /* it comes late */
    POD_CLASS("pods", "5");
    STAKE("again", "\"1\"");
    run(1000);
    assert_string_equal(class_now(), "PriorityClass pods 5");
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        int64_t generation = object_generation_of(workload());
        bool changes = strcmp(class_now(), steps[i].class) != 0;
        patch(JOB, arena_printf(w.a, "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/priority-class\":%s}}}", steps[i].label));
        run(1000);
        assert_string_equal(class_now(), steps[i].class);
        assert_int_equal(object_generation_of(workload()), generation + changes);
    }
    assert_true(event_seen("UpdatedWorkload", arena_printf(w.a, "Updated workload priority class: n/%s", object_meta(workload(), "name"))));
}

/* ---- retention ---- */

#define MINUTE 60000

/* A door that counts what is written to Workloads and jobs, apart from the Events that tell of it. */
static int workload_writes_n, job_writes_n;
static void door(void *ctx, struct http_exchange *x)
{
    const struct http_request *r = &x->request;
    (void)ctx;
    workload_writes_n += strcmp(r->method, "GET") != 0 && strstr(r->path, "/workloads/");
    job_writes_n += strcmp(r->method, "GET") != 0 && strstr(r->path, "/jobs/");
    apiserver_handle(w.server, x);
}

static const struct workload_policy minute = {.finished = {true, MINUTE}, .deactivated = {true, MINUTE}},
                                    at_once = {.finished = {true, 0}, .deactivated = {true, 0}};

static void test_finished_workload_goes_after_its_time(void **state)
{
    (void)state;
    QUOTA("8");
    jobs_with(&minute);
    job("j", 1, "true");
    run(20000);
    assert_true(object_condition_true(workload(), "Finished"));
    run(MINUTE - 20000);
    assert_non_null(workload());
    run(20000);
    assert_null(workload());
    assert_true(event_seen("Deleted", "Deleted finished workload due to elapsed retention"));
    run(10 * MINUTE);
    assert_null(workload()); /* its job is over, and needs no other */
    assert_true(object_condition_true(get(JOB), "Complete"));
}

static void test_time_of_a_finished_workload_goes_on_while_nobody_looks(void **state)
{
    (void)state;
    QUOTA("8");
    jobs_with(&minute);
    job("j", 1, "true");
    run(20000);
    assert_true(object_condition_true(workload(), "Finished"));
    jobs_free(w.jobs);
    w.jobs = NULL;
    run(MINUTE);
    assert_non_null(workload());
    jobs_with(&minute);
    assert_null(workload());
}

static void test_workload_of_a_group_that_is_over_is_not_made_again(void **state)
{
    (void)state;
    QUOTA("8");
    jobs_with(&at_once);
    pod("a", "");
    pod("b", "");
    run(40000);
    assert_int_equal(pods_n("", "Succeeded"), 2);
    assert_null(workload());
    patch("/api/v1/namespaces/n/pods/a", "{\"metadata\":{\"labels\":{\"any\":\"change\"}}}");
    run(4000);
    assert_null(workload());
}

static void deactivate(void)
{
    create("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"labels\":{"
           "\"kueue.x-k8s.io/queue-name\":\"lq\",\"kueue.x-k8s.io/max-exec-time-seconds\":\"5\"}},\"spec\":{\"suspend\":true,\"template\":{"
           "\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":\"600\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{"
           "\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}}");
    run(15000);
}

static void test_job_that_was_deactivated_goes_after_its_time(void **state)
{
    (void)state;
    QUOTA("8");
    jobs_with(&minute);
    deactivate();
    assert_string_equal(reason(workload(), "Evicted"), "DeactivatedDueToMaximumExecutionTimeExceeded");
    run(MINUTE - 15000);
    assert_non_null(get(JOB));
    run(60000);
    assert_null(get(JOB));
    assert_null(workload());
    assert_true(event_seen("Deleted", "Deleted job: deactivation retention period expired"));
}

/* SOURCE Kueue: what its users deactivate is theirs. */
static void test_job_that_its_user_deactivated_stays(void **state)
{
    (void)state;
    QUOTA("8");
    jobs_with(&at_once);
    job("j", 1, "true");
    run(3000);
    patch(arena_printf(w.a, "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/%s", object_meta(workload(), "name")),
          "{\"spec\":{\"active\":false}}");
    run(10 * MINUTE);
    assert_string_equal(reason(workload(), "Evicted"), "Deactivated");
    assert_non_null(get(JOB));
}

static void test_nothing_goes_where_nobody_says_so(void **state)
{
    (void)state;
    QUOTA("8");
    deactivate();
    run(600 * MINUTE);
    assert_non_null(get(JOB));
    assert_non_null(workload());
}

static void group_pod(const char *name)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\","
                        "\"finalizers\":[\"kueue.x-k8s.io/managed\"],"
                        "\"labels\":{\"kueue.x-k8s.io/queue-name\":\"lq\",\"kueue.x-k8s.io/pod-group-name\":\"g\","
                        "\"kueue.x-k8s.io/max-exec-time-seconds\":\"8\"},\"annotations\":{\"capstan.dev/run-seconds\":\"900\","
                        "\"kueue.x-k8s.io/pod-group-total-count\":\"2\"}},\"spec\":{\"restartPolicy\":\"Never\","
                        "\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/admission\"}],"
                        "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}",
                        name));
}

static void test_group_that_was_deactivated_goes_after_its_time(void **state)
{
    (void)state;
    QUOTA("8");
    jobs_with(&minute);
    group_pod("a");
    group_pod("b");
    run(4000);
    run(20000);
    assert_string_equal(reason(workload(), "Evicted"), "DeactivatedDueToMaximumExecutionTimeExceeded");
    group_pod("c"); /* held by its gate: it replaces one that was stopped */
    run(MINUTE / 2);
    assert_non_null(get("/api/v1/namespaces/n/pods/c"));
    run(2 * MINUTE);
    assert_null(json_first(json_get(get("/api/v1/namespaces/n/pods"), "items")));
    assert_null(workload());
}

static void test_each_that_goes_costs_one_write(void **state)
{
    (void)state;
    QUOTA("8");
    struct kube_client *counted = kube_client_wrap(w.loop, http_local_client_new(w.loop, door, NULL, NULL, 1));
    jobs_free(w.jobs);
    w.jobs = jobs_new(counted, &(struct jobs_config){.embedded = true, .policy = &minute});
    run(1000);
    for (int i = 0; i < 6; i++)
        job(arena_printf(w.a, "j%d", i), 1, "true");
    run(40000);
    workload_writes_n = job_writes_n = 0;
    run(2 * MINUTE);
    assert_null(workload());
    assert_int_equal(workload_writes_n, 6);
    assert_int_equal(job_writes_n, 0);
    deactivate();
    run(20000);
    job_writes_n = 0;
    run(2 * MINUTE);
    assert_null(get(JOB));
    assert_int_equal(job_writes_n, 1); /* its Workload goes as that of any job that is deleted */
    jobs_free(w.jobs);
    w.jobs = NULL;
    kube_client_free(counted);
}

/* ---- what is lost by its end ---- */

#define ANNOTATED(text) patch(JOB, "{\"metadata\":{\"annotations\":{" text "}}}")

static void test_checkpoints_of_a_running_job_are_told_on(void **state)
{
    (void)state;
    QUOTA("8");
    struct kube_client *counted = kube_client_wrap(w.loop, http_local_client_new(w.loop, door, NULL, NULL, 1));
    jobs_free(w.jobs);
    w.jobs = jobs_new(counted, &(struct jobs_config){.embedded = true});
    job("j", 1, "true");
    ANNOTATED("\"capstan.dev/minimum-run-seconds\":\"60\"");
    run(3000);
    assert_true(object_condition_true(workload(), "Admitted"));
    assert_string_equal(object_annotation(workload(), "capstan.dev/minimum-run-seconds"), "60");
    assert_string_equal(object_annotation(workload(), "capstan.dev/checkpoint-time"), "");
    workload_writes_n = 0;
    ANNOTATED("\"capstan.dev/checkpoint-time\":\"2026-01-01T00:00:00Z\"");
    run(1000);
    assert_string_equal(object_annotation(workload(), "capstan.dev/checkpoint-time"), "2026-01-01T00:00:00Z");
    assert_int_equal(workload_writes_n, 1);
    ANNOTATED("\"capstan.dev/checkpoint-time\":\"2026-01-01T00:01:00Z\",\"capstan.dev/minimum-run-seconds\":\"90\"");
    run(1000);
    assert_string_equal(object_annotation(workload(), "capstan.dev/checkpoint-time"), "2026-01-01T00:01:00Z");
    assert_string_equal(object_annotation(workload(), "capstan.dev/minimum-run-seconds"), "90");
    assert_int_equal(workload_writes_n, 2);
    ANNOTATED("\"team\":\"a\"");
    run(1000);
    assert_int_equal(workload_writes_n, 2);
    assert_true(object_condition_true(workload(), "Admitted"));
    jobs_free(w.jobs);
    w.jobs = NULL;
    kube_client_free(counted);
}

/* ---- what quota counts ---- */

static void scheduler_with(const struct charge_policy *charge)
{
    scheduler_stop(w.scheduler);
    run(1000);
    scheduler_free(w.scheduler);
    w.scheduler = scheduler_new(w.loop, w.client, &(struct scheduler_config){.default_scheduler = true, .charge = charge});
    run(3000);
}

/* The queue counts credits, of which a GPU costs three. */
static void credits(const char *quota)
{
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"a100\"},\"spec\":{}}");
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"},\"spec\":{"
                        "\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":[\"credits\"],\"flavors\":[{\"name\":\"a100\","
                        "\"resources\":[{\"name\":\"credits\",\"nominalQuota\":\"%s\"}]}]}]}}",
                        quota));
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"lq\",\"namespace\":\"n\"},\"spec\":{"
           "\"clusterQueue\":\"cq\"}}");
}

static const struct charge_output three_credits = {"credits", {(__int128)3 * 1000000000, QUANTITY_DECIMAL_SI}};
static const struct charge_rule gpu_rule = {.input = "nvidia.com/gpu", .replaces = true, .outputs = &three_credits, .outputs_n = 1};
static const struct charge_policy gpus_are_credits = {.rules = &gpu_rule, .rules_n = 1};

static const char *used_credits(void)
{
    const struct json *queue = get("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq"),
                      *flavor = json_item(json_path(queue, "status", "flavorsReservation", NULL), 0);
    return json_get_text(json_item(json_get(flavor, "resources"), 0), "total", "");
}

static bool is_admitted(const char *job_name)
{
    JSON_EACH (one, json_get(get("/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads"), "items"))
        if (strcmp(object_controller(one, "name"), job_name) == 0)
            return object_condition_true(one, "Admitted");
    return false;
}

/* While it waits: what quota would count of its first pod set. */
static const char *requested_credits(const char *job_name)
{
    JSON_EACH (one, json_get(get("/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads"), "items"))
        if (strcmp(object_controller(one, "name"), job_name) == 0) {
            const struct json *set = json_item(json_path(one, "status", "resourceRequests", NULL), 0);
            return json_text(json_path(set, "resources", "credits", NULL), "");
        }
    return "";
}

static void test_quota_counts_what_rules_make_of_requests(void **state)
{
    (void)state;
    credits("10");
    scheduler_with(&gpus_are_credits);
    job("j", 2, "true");
    run(4000);
    const struct json *given = json_item(json_path(workload(), "status", "admission", "podSetAssignments", NULL), 0);
    assert_string_equal(json_text(json_path(given, "resourceUsage", "credits", NULL), ""), "6");
    assert_int_equal(json_get(given, "resourceUsage")->n, 1);
    assert_string_equal(json_text(json_path(given, "flavors", "credits", NULL), ""), "a100");
    assert_string_equal(used_credits(), "6");
    assert_int_equal(pods_n("job-name=j", ""), 2);
    job("k", 2, "true"); /* six more are too many, whatever the nodes have */
    run(3000);
    assert_false(is_admitted("k"));
    assert_string_equal(requested_credits("k"), "6");
    assert_string_equal(requested_credits("j"), ""); /* its admission says it */
    run(20000);
    assert_true(is_admitted("k"));
    assert_string_equal(requested_credits("k"), "");
}

static void test_nodes_have_to_hold_what_pods_ask_for(void **state)
{
    (void)state;
    credits("1000");
    scheduler_with(&gpus_are_credits);
    job("j", 9, "true"); /* of eight GPUs there are */
    run(4000);
    assert_false(is_admitted("j"));
    assert_string_equal(reason(workload(), "QuotaReserved"), "TopologyPlacementFailed");
}

/* It keeps what it was given for as long as it runs, whatever the rules of another start say. */
static void test_what_was_given_outlives_the_rules(void **state)
{
    (void)state;
    credits("10");
    scheduler_with(&gpus_are_credits);
    job("j", 2, "true");
    run(4000);
    assert_true(is_admitted("j"));
    scheduler_with(NULL);
    assert_string_equal(used_credits(), "6");
    assert_true(is_admitted("j"));
    run(20000);
    assert_string_equal(used_credits(), "0");
}

static void test_excluded_resources_need_no_quota(void **state)
{
    (void)state;
    static const char *const prefixes[] = {"nvidia.com/"};
    static const struct charge_policy policy = {.excluded = prefixes, .excluded_n = 1};
    credits("0");
    job("j", 2, "true");
    run(3000);
    assert_false(is_admitted("j"));
    scheduler_with(&policy);
    run(3000);
    assert_true(is_admitted("j"));
    const struct json *given = json_item(json_path(workload(), "status", "admission", "podSetAssignments", NULL), 0);
    assert_null(json_path(given, "resourceUsage", "nvidia.com/gpu", NULL));
    assert_int_equal(pods_n("job-name=j", ""), 2);
}

/* Of two at a time, three in all; a quota of two. */
static void test_pods_that_are_over_keep_their_quota_where_it_is_switched_off(void **state)
{
    (void)state;
    static const struct workload_policy hides = {.hides_reclaimable = true};
    static const struct charge_policy counts = {.counts_reclaimable = true};
    QUOTA("2");
    create("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"labels\":{"
           "\"kueue.x-k8s.io/queue-name\":\"lq\"}},\"spec\":{\"suspend\":true,\"parallelism\":2,\"completions\":3,\"template\":{\"metadata\":{"
           "\"annotations\":{\"capstan.dev/run-seconds\":\"30\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":["
           "{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}}");
    jobs_with(&hides);
    run(45000); /* two have ended, the third runs */
    assert_int_equal(pods_n("", "Running"), 1);
    assert_null(json_path(workload(), "status", "reclaimablePods", NULL));
    scheduler_with(&counts);
    jobs_with(NULL);
    assert_int_equal(json_get_int64(json_item(json_path(workload(), "status", "reclaimablePods", NULL), 0), "count", 0), 1);
    job("k", 1, "true");
    run(3000);
    assert_false(is_admitted("k"));
    scheduler_with(NULL);
    assert_true(is_admitted("k"));
}

static void test_what_a_queue_does_not_name_may_need_no_quota(void **state)
{
    (void)state;
    static const struct charge_policy policy = {.ignores_undeclared = true};
    credits("0"); /* it names no GPUs */
    job("j", 2, "true");
    run(3000);
    assert_false(is_admitted("j"));
    scheduler_with(&policy);
    run(3000);
    assert_true(is_admitted("j"));
    const struct json *given = json_item(json_path(workload(), "status", "admission", "podSetAssignments", NULL), 0);
    assert_null(json_path(given, "resourceUsage", "nvidia.com/gpu", NULL));
    assert_null(json_path(given, "flavors", "nvidia.com/gpu", NULL));
}

/* What it names needs quota all the same. */
static void test_what_a_queue_names_needs_quota_always(void **state)
{
    (void)state;
    static const struct charge_policy policy = {.ignores_undeclared = true};
    QUOTA("1");
    scheduler_with(&policy);
    job("j", 2, "true");
    run(3000);
    assert_false(is_admitted("j"));
}

/* ---- jobs that name no queue ---- */

#define PLAIN_JOB(ns, labels)                                                                                                              \
    create("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"plain\",\"namespace\":\"" ns "\"" labels "},\"spec\":{"         \
           "\"template\":{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":\"600\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":["  \
           "{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}}")
#define PLAIN(ns) "/apis/batch/v1/namespaces/" ns "/jobs/plain"

static bool is_held(const char *path)
{
    return json_get_bool(json_get(get(path), "spec"), "suspend", false);
}

static const struct json *selector_of(const char *text)
{
    return json_parse(w.a, bytes_of(text), NULL, NULL);
}

static void test_jobs_without_a_queue_wait_for_one(void **state)
{
    (void)state;
    static const struct workload_policy all = {.all_jobs = true};
    QUOTA("8");
    PLAIN_JOB("n", "");
    run(3000);
    assert_false(is_held(PLAIN("n")));
    assert_int_equal(pods_n("job-name=plain", ""), 1);
    jobs_with(&all);
    run(3000);
    assert_true(is_held(PLAIN("n"))); /* SOURCE Kueue: those that were there before, too */
    assert_int_equal(pods_n("job-name=plain", "Running"), 0);
    assert_null(json_path(workload(), "spec", "queueName", NULL));
    assert_false(object_condition_true(workload(), "QuotaReserved"));
    patch(PLAIN("n"), "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/queue-name\":\"lq\"}}}");
    run(60000);
    assert_true(object_condition_true(workload(), "Admitted"));
    assert_false(is_held(PLAIN("n")));
}

static void test_jobs_of_other_namespaces_are_left_alone(void **state)
{
    (void)state;
    struct workload_policy some = {.all_jobs = true, .namespaces = selector_of("{\"matchLabels\":{\"queued\":\"yes\"}}")};
    jobs_with(&some);
    PLAIN_JOB("n", "");
    run(3000);
    assert_false(is_held(PLAIN("n")));
    assert_null(workload());
    patch("/api/v1/namespaces/n", "{\"metadata\":{\"labels\":{\"queued\":\"yes\"}}}");
    run(3000);
    assert_true(is_held(PLAIN("n")));
    assert_non_null(workload());
}

/* Who was taken in is served until it is over: its Workload holds quota. */
static void test_job_whose_namespace_leaves_is_served_to_its_end(void **state)
{
    (void)state;
    struct workload_policy some = {.namespaces = selector_of("{\"matchLabels\":{\"queued\":\"yes\"}}")};
    QUOTA("8");
    patch("/api/v1/namespaces/n", "{\"metadata\":{\"labels\":{\"queued\":\"yes\"}}}");
    jobs_with(&some);
    job("j", 1, "true");
    run(5000);
    assert_true(object_condition_true(workload(), "Admitted"));
    patch("/api/v1/namespaces/n", "{\"metadata\":{\"labels\":{\"queued\":null}}}");
    job("k", 1, "true");
    run(60000);
    assert_true(object_condition_true(get(JOB), "Complete"));
    assert_true(object_condition_true(workload(), "Finished"));
    assert_int_equal(json_get(get("/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads"), "items")->n, 1); /* k is not taken in */
}

/* SOURCE Kueue: jobs that name a queue, too. */
static void test_selector_of_namespaces_counts_for_all_jobs(void **state)
{
    (void)state;
    struct workload_policy some = {.namespaces = selector_of("{\"matchLabels\":{\"queued\":\"yes\"}}")};
    QUOTA("8");
    jobs_with(&some);
    PLAIN_JOB("n", "");
    job("j", 1, "true");
    run(3000);
    assert_null(workload());
    assert_false(is_held(PLAIN("n")));
    patch("/api/v1/namespaces/n", "{\"metadata\":{\"labels\":{\"queued\":\"yes\"}}}");
    run(3000);
    assert_true(is_admitted("j"));
    assert_false(is_held(PLAIN("n")));
}

static void test_jobs_that_follow_an_owner_are_left_to_it(void **state)
{
    (void)state;
    static const struct workload_policy all = {.all_jobs = true};
    jobs_with(&all);
    PLAIN_JOB("n", ",\"ownerReferences\":[{\"apiVersion\":\"jobset.x-k8s.io/v1alpha2\",\"kind\":\"JobSet\",\"name\":\"s\",\"uid\":\"u\","
                   "\"controller\":true}]");
    run(3000);
    assert_null(workload());
}

#define FLOW(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        FLOW(test_labels_of_a_job_are_copied_when_its_workload_is_made),
        FLOW(test_labels_of_a_group_are_those_of_any_member),
        FLOW(test_group_whose_labels_contradict_each_other_is_told),
        FLOW(test_labels_that_nobody_names_are_not_copied),
        FLOW(test_stakes_go_when_their_job_has_them_no_more),
        FLOW(test_waiting_workload_is_of_the_class_of_its_job),
        FLOW(test_finished_workload_goes_after_its_time),
        FLOW(test_time_of_a_finished_workload_goes_on_while_nobody_looks),
        FLOW(test_workload_of_a_group_that_is_over_is_not_made_again),
        FLOW(test_job_that_was_deactivated_goes_after_its_time),
        FLOW(test_job_that_its_user_deactivated_stays),
        FLOW(test_group_that_was_deactivated_goes_after_its_time),
        FLOW(test_nothing_goes_where_nobody_says_so),
        FLOW(test_each_that_goes_costs_one_write),
        FLOW(test_quota_counts_what_rules_make_of_requests),
        FLOW(test_nodes_have_to_hold_what_pods_ask_for),
        FLOW(test_what_was_given_outlives_the_rules),
        FLOW(test_checkpoints_of_a_running_job_are_told_on),
        FLOW(test_excluded_resources_need_no_quota),
        FLOW(test_pods_that_are_over_keep_their_quota_where_it_is_switched_off),
        FLOW(test_what_a_queue_does_not_name_may_need_no_quota),
        FLOW(test_what_a_queue_names_needs_quota_always),
        FLOW(test_jobs_without_a_queue_wait_for_one),
        FLOW(test_jobs_of_other_namespaces_are_left_alone),
        FLOW(test_job_whose_namespace_leaves_is_served_to_its_end),
        FLOW(test_selector_of_namespaces_counts_for_all_jobs),
        FLOW(test_jobs_that_follow_an_owner_are_left_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
