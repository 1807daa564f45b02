/* Admission checks from end to end, on a virtual clock: quota is reserved, somebody answers, the job starts, or it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/limits.h"
#include "world.h"

#define CQ "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq"
#define JOB "/apis/batch/v1/namespaces/n/jobs/j"
#define CHECK(name) "/apis/kueue.x-k8s.io/v1beta2/admissionchecks/" name
#define MARK "capstan.dev/Waiting"

static void check(const char *name, const char *controller, const char *active)
{
    create(arena_printf(w.a, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"AdmissionCheck\",\"metadata\":{\"name\":\"%s\"},"
                             "\"spec\":{\"controllerName\":\"%s\"}}", name, controller));
    patch(arena_printf(w.a, CHECK("%s/status"), name),
          arena_printf(w.a, "{\"status\":{\"conditions\":[{\"type\":\"Active\",\"status\":\"%s\",\"reason\":\"R\",\"message\":\"\","
                            "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}", active));
}

/* "": none, for which there is no empty list. */
static void demand(const char *checks)
{
    patch(CQ, *checks ? arena_printf(w.a, "{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[%s]}}}", checks)
                      : "{\"spec\":{\"admissionChecksStrategy\":null}}");
}

/* A cluster whose queue demands check "a", which is active. */
static void checked(void)
{
    QUOTA("8");
    check("a", "example.com/a", "True");
    demand("{\"name\":\"a\"}");
    run(1000);
}

static char *workload_path(const char *sub)
{
    return arena_printf(w.a, "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/%s%s", object_meta(workload(), "name"), sub);
}

static const struct json *check_state(const char *name)
{
    JSON_EACH (state, json_path(workload(), "status", "admissionChecks", NULL))
        if (strcmp(json_get_text(state, "name", ""), name) == 0)
            return state;
    return NULL;
}

static const char *state_of(const char *name)
{
    return json_get_text(check_state(name), "state", "none");
}

/* As its controller does: the whole list, with `more` in the entry. */
static void answer(const char *name, const char *state, const char *more)
{
    const char *list = "";
    JSON_EACH (old, json_path(workload(), "status", "admissionChecks", NULL)) {
        struct buf text = {0};
        json_write(&text, old);
        bool mine = strcmp(json_get_text(old, "name", ""), name) == 0;
        list = arena_printf(w.a, "%s%s%s", list, *list ? "," : "",
                            mine ? arena_printf(w.a, "{\"name\":\"%s\",\"state\":\"%s\",\"lastTransitionTime\":\"2026-01-01T00:00:03Z\""
                                                     "%s%s}", name, state, strstr(more, "\"message\"") ? "" : ",\"message\":\"\"", more)
                                 : text.data);
        buf_free(&text);
    }
    patch(workload_path("/status"), arena_printf(w.a, "{\"status\":{\"admissionChecks\":[%s]}}", list));
}

static bool suspended(void)
{
    return json_bool(json_path(get(JOB), "spec", "suspend", NULL), false);
}

static void test_reserved_is_not_admitted(void **state)
{
    (void)state;
    checked();
    job("j", 2, "true");
    run(2000);
    assert_true(object_condition_true(workload(), "QuotaReserved"));
    assert_string_equal(reason(workload(), "Admitted"), "UnsatisfiedAdmissionChecks");
    assert_string_equal(said(workload(), "Admitted"), "The workload has not all checks ready");
    assert_string_equal(state_of("a"), "Pending");
    assert_true(suspended());
    assert_true(event_seen("QuotaReserved", "Quota reserved in ClusterQueue cq, wait time since queued was 0s"));
    assert_non_null(strstr(object_waiting(workload()), "waits for admission check a"));
    assert_int_equal(json_get_int64(json_get(get(CQ), "status"), "reservingWorkloads", -1), 1);
    assert_int_equal(json_get_int64(json_get(get(CQ), "status"), "admittedWorkloads", -1), 0);
    const char *version = object_meta(workload(), "resourceVersion");
    run(60000);
    assert_string_equal(object_meta(workload(), "resourceVersion"), version); /* nothing is written while nobody answers */
    answer("a", "Ready", "");
    run(3000);
    assert_true(object_condition_true(workload(), "Admitted"));
    assert_null(object_condition(workload(), MARK));
    assert_string_equal(reason(workload(), "PodsReady"), "Started");
    assert_false(suspended());
    assert_int_equal(pods_n("job-name=j", "Running"), 2);
    bool told = false;
    JSON_EACH (event, json_get(get("/api/v1/namespaces/n/events"), "items"))
        told |= text_starts(json_get_text(event, "message", ""), "Admitted by ClusterQueue cq, wait time since reservation was 6");
    assert_true(told);
}

/* Its class stays, as it has quota: what would be refused is not written, again and again, nor told of. */
static void test_class_that_comes_after_the_reservation(void **state)
{
    (void)state;
    checked();
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"WorkloadPriorityClass\",\"metadata\":{\"name\":\"high\"},\"value\":9}");
    job("j", 2, "true");
    run(2000);
    assert_true(object_condition_true(workload(), "QuotaReserved"));
    patch(JOB, "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/priority-class\":\"high\"}}}");
    run(10000);
    assert_null(json_path(workload(), "spec", "priorityClassRef", NULL));
    assert_false(event_seen("UpdatedWorkload", arena_printf(w.a, "Updated workload: n/%s", object_meta(workload(), "name"))));
}

/* A webhook of somebody's, or a definition. */
static bool refuses_start(struct http_exchange *x)
{
    if (strcmp(x->request.method, "PATCH") != 0 || !strstr(x->request.path, "/jobs/"))
        return false;
    http_reply_text(x, 422, "application/json",
                    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Invalid\",\"message\":\"spec.x: field is immutable\"}");
    return true;
}

static void test_refused_start_is_told_and_tried_again(void **state)
{
    (void)state;
    QUOTA("8");
    w.takes = refuses_start;
    job("j", 2, "true");
    run(20000);
    assert_true(object_condition_true(workload(), "Admitted"));
    assert_true(event_seen("FailedToStart", "PATCH /apis/batch/v1/namespaces/n/jobs/j: spec.x: field is immutable"));
    w.takes = NULL;
    run(200 * 1000);
    assert_false(json_get_bool(json_get(get(JOB), "spec"), "suspend", true));
}

static int refused_n;
static const char *refusal; /* of Workloads that are made; "": none */

static bool refuses(struct http_exchange *x)
{
    if (!*refusal || strcmp(x->request.method, "POST") != 0 || !strstr(x->request.path, "/workloads"))
        return false;
    refused_n++;
    http_reply_text(x, strcmp(refusal, "AlreadyExists") == 0 ? 409 : 500, "application/json",
                    arena_printf(w.a, "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"%s\",\"message\":\"no\"}", refusal));
    return true;
}

/* What is told of as made has been made: not before the server says so, and not where somebody else has made it. */
static void test_made_is_told_once_it_is(void **state)
{
    static const char *const refusals[] = {"InternalError", "AlreadyExists"};
    (void)state;
    checked();
    w.takes = refuses;
    for (size_t i = 0; i < 2; i++) {
        refusal = refusals[i];
        refused_n = 0;
        if (i == 0)
            job("j", 2, "true");
        else
            patch(JOB, "{\"metadata\":{\"annotations\":{\"again\":\"1\"}}}");
        run(3000);
        assert_true(refused_n > 0);
        assert_null(workload());
        JSON_EACH (event, json_get(get("/api/v1/namespaces/n/events"), "items"))
            assert_string_not_equal(json_get_text(event, "reason", ""), "CreatedWorkload");
    }
    refusal = "";
    patch(JOB, "{\"metadata\":{\"annotations\":{\"again\":\"2\"}}}");
    run(3000);
    assert_true(event_seen("CreatedWorkload", arena_printf(w.a, "Created Workload: n/%s", object_meta(workload(), "name"))));
}

/* As long as a check's message may be: what is said with it of the Workload would be longer. */
static void test_long_message_of_a_check_keeps_nobody(void **state)
{
    (void)state;
    char *text = arena_zero(w.a, LIMIT_CONDITION_MESSAGE + 1, 1);
    memset(text, 'x', LIMIT_CONDITION_MESSAGE);
    checked();
    job("j", 2, "true");
    run(2000);
    answer("a", "Retry", arena_printf(w.a, ",\"requeueAfterSeconds\":60,\"message\":\"%s\"", text));
    run(2000);
    assert_string_equal(reason(workload(), "Evicted"), "AdmissionCheck");
    assert_int_equal(strlen(said(workload(), "Evicted")), LIMIT_CONDITION_MESSAGE);
    run(70000);
    assert_true(object_condition_true(workload(), "QuotaReserved"));
    assert_true(text_starts(said(workload(), "Evicted"), "Previously: Evicted due to AdmissionCheck in Retry state: \"a\" (xxx"));
}

/* It was stopped with three of its four pods over, and is to go on with two. */
static void test_job_that_shrinks_after_pods_are_over(void **state)
{
    (void)state;
    checked();
    job("j", 4, "true");
    run(2000);
    patch(workload_path("/status"), "{\"status\":{\"reclaimablePods\":[{\"name\":\"main\",\"count\":3}]}}");
    patch(workload_path(""), "{\"spec\":{\"active\":false}}");
    run(2000);
    assert_false(object_condition_true(workload(), "QuotaReserved"));
    assert_non_null(json_path(workload(), "status", "reclaimablePods", NULL));
    patch(JOB, "{\"spec\":{\"parallelism\":2}}");
    run(3000);
    assert_int_equal(json_get_int64(json_item(json_path(workload(), "spec", "podSets", NULL), 0), "count", 0), 2);
    assert_null(json_path(workload(), "status", "reclaimablePods", NULL));
}

/* SOURCE Kueue: what the checks answer is of the pods that the Workload has, so it is made anew. */
static void test_job_that_grows_while_its_checks_are_asked(void **state)
{
    (void)state;
    checked();
    patch(CQ, "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    job("j", 4, "true");
    patch(JOB, "{\"spec\":{\"parallelism\":2}}");
    run(2000);
    patch(CQ, "{\"spec\":{\"stopPolicy\":\"None\"}}");
    run(2000);
    assert_true(object_condition_true(workload(), "QuotaReserved"));
    const char *before = object_meta(workload(), "uid");
    patch(JOB, "{\"spec\":{\"parallelism\":4}}");
    run(3000);
    assert_string_not_equal(object_meta(workload(), "uid"), before);
    assert_int_equal(json_get_int64(json_item(json_path(workload(), "spec", "podSets", NULL), 0), "count", 0), 4);
    assert_true(object_condition_true(workload(), "QuotaReserved"));
    assert_string_equal(state_of("a"), "Pending");
}

static void test_nodes_may_come_after_the_reservation(void **state)
{
    (void)state;
    QUOTA("100");
    check("a", "example.com/a", "True");
    demand("{\"name\":\"a\"}");
    job("j", 20, "true");
    run(2000);
    assert_true(object_condition_true(workload(), "QuotaReserved"));
    answer("a", "Ready", "");
    run(8000);
    assert_true(suspended());
    assert_string_equal(reason(workload(), "Admitted"), "PendingDelayedTopologyRequests");
    assert_non_null(strstr(said(workload(), "Admitted"), "nodes are available"));
    assert_non_null(strstr(object_waiting(workload()), "placement-failed"));
    int told = 0;
    JSON_EACH (event, json_get(get("/api/v1/namespaces/n/events"), "items"))
        told += text_equal(json_get_text(event, "reason", ""), "SecondPassFailed");
    assert_int_equal(told, 3); /* after 1, 3 and 7 s */
    for (int i = 0; i < 3; i++)
        node(arena_printf(w.a, "more%d", i), 4);
    run(5000);
    assert_int_equal(pods_n("job-name=j", ""), 20);
}

static void test_retry(void **state)
{
    (void)state;
    checked();
    job("j", 2, "true");
    run(2000);
    answer("a", "Retry", ",\"message\":\"no nodes\",\"requeueAfterSeconds\":60");
    run(1000);
    assert_string_equal(reason(workload(), "Evicted"), "AdmissionCheck");
    assert_string_equal(said(workload(), "Evicted"), "Evicted due to AdmissionCheck in Retry state: \"a\" (no nodes)");
    assert_true(event_seen("EvictedDueToAdmissionCheck", "Evicted due to AdmissionCheck in Retry state: \"a\" (no nodes)"));
    assert_false(object_condition_true(workload(), "QuotaReserved"));
    assert_string_equal(reason(workload(), "Requeued"), "AdmissionCheck");
    assert_false(object_condition_true(workload(), "Requeued"));
    assert_string_equal(state_of("a"), "Pending");
    assert_string_equal(json_get_text(check_state("a"), "message", ""), "Reset to Pending after eviction. Previously: Retry");
    assert_int_equal(json_get_int64(check_state("a"), "retryCount", 0), 1);
    assert_int_equal(json_get_int64(check_state("a"), "requeueAfterSeconds", 0), 60);
    assert_string_equal(json_text(json_path(workload(), "status", "requeueState", "requeueAt", NULL), ""), "2026-01-01T00:01:03Z");
    run(30000);
    assert_false(object_condition_true(workload(), "QuotaReserved"));
    run(60000);
    assert_true(object_condition_true(workload(), "QuotaReserved"));
    assert_string_equal(reason(workload(), "Requeued"), "BackoffFinished");
    assert_false(object_condition_true(workload(), "Evicted"));
    answer("a", "Ready", "");
    run(3000);
    assert_int_equal(pods_n("job-name=j", "Running"), 2);
    answer("a", "Retry", ""); /* also of what runs */
    run(15000);
    assert_true(object_condition_true(workload(), "QuotaReserved"));
    assert_false(object_condition_true(workload(), "Admitted"));
    assert_true(suspended());
}

static void test_rejected(void **state)
{
    (void)state;
    checked();
    job("j", 2, "true");
    run(2000);
    answer("a", "Rejected", ",\"message\":\"too dear\"");
    run(2000);
    assert_false(json_bool(json_path(workload(), "spec", "active", NULL), true));
    assert_string_equal(reason(workload(), "Evicted"), "DeactivatedDueToAdmissionCheck");
    assert_string_equal(said(workload(), "Evicted"),
                        "The workload is deactivated due to AdmissionCheck in Rejected state: \"a\" (too dear)");
    assert_true(event_seen("AdmissionCheckRejected", "Deactivated due to AdmissionCheck in Rejected state: \"a\" (too dear)"));
    assert_true(event_seen("EvictedDueToDeactivatedDueToAdmissionCheck",
                           "The workload is deactivated due to AdmissionCheck in Rejected state: \"a\" (too dear)"));
    assert_false(object_condition_true(workload(), "QuotaReserved"));
    assert_string_equal(state_of("a"), "Pending");
    run(60000);
    assert_false(object_condition_true(workload(), "QuotaReserved"));
    patch(workload_path(""), "{\"spec\":{\"active\":true}}");
    run(3000);
    assert_true(object_condition_true(workload(), "QuotaReserved"));
    answer("a", "Ready", "");
    run(3000);
    assert_int_equal(pods_n("job-name=j", "Running"), 2);
}

static void test_checks_that_are_not_there(void **state)
{
    (void)state;
    QUOTA("8");
    demand("{\"name\":\"b\"},{\"name\":\"a\"}");
    job("j", 2, "true");
    run(3000);
    assert_string_equal(reason(get(CQ), "Active"), "AdmissionCheckNotFound");
    assert_string_equal(said(get(CQ), "Active"), "Can't admit new workloads: references missing AdmissionCheck(s): a,b.");
    assert_string_equal(reason(get(LQ), "Active"), "ClusterQueueIsInactive");
    assert_string_equal(said(workload(), "QuotaReserved"), "ClusterQueue cq is inactive: references missing AdmissionCheck(s): a,b");
    assert_string_equal(state_of("a"), "Pending"); /* it is known what it will have to wait for */
    check("a", "example.com/a", "False");
    check("b", "example.com/b", "True");
    run(3000);
    assert_string_equal(reason(get(CQ), "Active"), "AdmissionCheckInactive");
    assert_string_equal(said(get(CQ), "Active"), "Can't admit new workloads: references inactive AdmissionCheck(s): a.");
    patch(CHECK("a/status"), "{\"status\":{\"conditions\":[{\"type\":\"Active\",\"status\":\"True\",\"reason\":\"R\",\"message\":\"\","
                             "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}");
    run(3000);
    assert_string_equal(reason(get(CQ), "Active"), "Ready");
    assert_true(object_condition_true(workload(), "QuotaReserved"));
    demand("");
    run(3000);
    assert_int_equal(pods_n("job-name=j", "Running"), 2);
    assert_null(json_path(workload(), "status", "admissionChecks", NULL));
}

static void test_checks_of_flavors(void **state)
{
    (void)state;
    QUOTA("8");
    check("a", "example.com/a", "True");
    check("b", "example.com/b", "True");
    patch(CQ, "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":["
              "{\"name\":\"a100\",\"resources\":[{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"8\"}]},"
              "{\"name\":\"t4\",\"resources\":[{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"8\"}]}]}]}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"t4\"},\"spec\":{}}");
    demand("{\"name\":\"a\",\"onFlavors\":[\"a100\"]},{\"name\":\"b\",\"onFlavors\":[\"t4\"]}");
    job("j", 2, "true");
    run(3000);
    assert_true(object_condition_true(workload(), "QuotaReserved"));
    assert_string_equal(state_of("a"), "Pending");
    assert_string_equal(state_of("b"), "none");
    demand("{\"name\":\"b\",\"onFlavors\":[\"t4\"]}"); /* nobody asks for it any more */
    run(3000);
    assert_int_equal(pods_n("job-name=j", "Running"), 2);
    assert_string_equal(state_of("a"), "none");
    demand("{\"name\":\"a\"}"); /* what runs goes on, and its list says what is asked of it */
    run(3000);
    assert_string_equal(state_of("a"), "Pending");
    assert_true(object_condition_true(workload(), "Admitted"));
    assert_int_equal(pods_n("job-name=j", "Running"), 2);
}

/* One that waits is asked for what all flavors of its queue demand. */
static void test_list_follows_the_flavors_of_a_queue(void **state)
{
    (void)state;
    QUOTA("8");
    check("a", "example.com/a", "True");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"t4\"},\"spec\":{}}");
    demand("{\"name\":\"a\",\"onFlavors\":[\"a100\"]}");
    patch(CQ, "{\"spec\":{\"stopPolicy\":\"Hold\"}}"); /* so that nothing else is told of it */
    job("j", 2, "true");
    run(3000);
    assert_string_equal(state_of("a"), "Pending");
    patch(CQ, "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":["
              "{\"name\":\"a100\",\"resources\":[{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"8\"}]},"
              "{\"name\":\"t4\",\"resources\":[{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"8\"}]}]}]}}");
    run(3000);
    assert_string_equal(state_of("a"), "none");
}

static void test_multikueue_rules(void **state)
{
    (void)state;
    QUOTA("8");
    check("m", "kueue.x-k8s.io/multikueue", "True");
    check("m2", "kueue.x-k8s.io/multikueue", "True");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ProvisioningRequestConfig\",\"metadata\":{\"name\":\"x\"},"
           "\"spec\":{\"provisioningClassName\":\"x\"}}");
    check("p", "kueue.x-k8s.io/provisioning-request", "True");
    patch(CHECK("p"), "{\"spec\":{\"parameters\":{\"apiGroup\":\"kueue.x-k8s.io\",\"kind\":\"ProvisioningRequestConfig\",\"name\":\"x\"}}}");
    demand("{\"name\":\"m\"},{\"name\":\"m2\"}");
    run(1000);
    assert_string_equal(reason(get(CQ), "Active"), "MultipleMultiKueueAdmissionChecks");
    demand("{\"name\":\"m\"},{\"name\":\"p\"}");
    run(1000);
    assert_string_equal(reason(get(CQ), "Active"), "MultiKueueWithProvisioningRequest");
    assert_string_equal(said(get(CQ), "Active"), "Can't admit new workloads: Cannot use both MultiKueue and ProvisioningRequest "
                                                 "AdmissionChecks together, found: m, p.");
    patch(CQ, "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":["
              "{\"name\":\"a100\",\"resources\":[{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"8\"}]},"
              "{\"name\":\"t4\",\"resources\":[{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"8\"}]}]}]}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"t4\"},\"spec\":{}}");
    demand("{\"name\":\"m\",\"onFlavors\":[\"t4\"]}");
    run(1000);
    assert_string_equal(reason(get(CQ), "Active"), "MultiKueueAdmissionCheckAppliedPerFlavor");
}

#define UPDATE ",\"podSetUpdates\":[{\"name\":\"main\",\"labels\":{\"%s\":\"x\"},\"annotations\":{\"paid\":\"yes\"}," \
               "\"nodeSelector\":{\"pool\":\"new\"},\"tolerations\":[{\"key\":\"new\",\"operator\":\"Exists\"}]}]"

static void test_what_checks_add_to_pods(void **state)
{
    (void)state;
    checked();
    job("j", 2, "true");
    run(2000);
    answer("a", "Ready", arena_printf(w.a, UPDATE, "team"));
    run(8000);
    assert_true(suspended()); /* no node is of that pool */
    assert_string_equal(reason(workload(), "Admitted"), "PendingDelayedTopologyRequests");
    patch("/api/v1/nodes/n2", "{\"metadata\":{\"labels\":{\"pool\":\"new\"}}}");
    run(3000);
    assert_int_equal(pods_n("job-name=j", "Running"), 2);
    const struct json *pod = json_item(json_get(get("/api/v1/namespaces/n/pods?labelSelector=team=x"), "items"), 0);
    assert_non_null(pod);
    assert_string_equal(object_annotation(pod, "paid"), "yes");
    assert_string_equal(json_text(json_path(pod, "spec", "nodeSelector", "pool", NULL), ""), "new");
    assert_string_equal(json_text(json_path(pod, "spec", "nodeName", NULL), ""), "n2");
    answer("a", "Retry", "");
    run(40000);
    assert_true(suspended());
    const struct json *template = json_path(get(JOB), "spec", "template", NULL);
    assert_string_equal(object_label(template, "team"), "");
    assert_null(json_path(template, "spec", "nodeSelector", "pool", NULL));
    assert_null(json_get(check_state("a"), "podSetUpdates"));
}

static void test_what_contradicts(void **state)
{
    (void)state;
    checked();
    check("b", "example.com/b", "True");
    demand("{\"name\":\"a\"},{\"name\":\"b\"}");
    job("j", 2, "true");
    run(2000);
    answer("a", "Ready", ",\"podSetUpdates\":[{\"name\":\"main\",\"labels\":{\"team\":\"x\"}}]");
    answer("b", "Ready", ",\"podSetUpdates\":[{\"name\":\"main\",\"labels\":{\"team\":\"y\"}}]");
    run(3000);
    assert_string_equal(reason(workload(), "Finished"), "FailedToStart");
    assert_non_null(strstr(said(workload(), "Finished"), "in admission check \"b\": invalid admission check PodSetUpdate: conflict for "
                                                         "labels: conflict for key=team, value1=x, value2=y"));
    assert_true(suspended());
}

/* A server refuses another value for a key of a pod's nodeSelector: it would be sent for ever, and the quota be held. */
static void test_what_contradicts_a_pod(void **state)
{
    (void)state;
    checked();
    create("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"labels\":{"
           "\"kueue.x-k8s.io/queue-name\":\"lq\"}},\"spec\":{\"restartPolicy\":\"Never\",\"nodeSelector\":{\"pool\":\"old\"},"
           "\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/admission\"}],"
           "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}");
    run(2000);
    assert_true(object_condition_true(workload(), "QuotaReserved"));
    patch("/api/v1/nodes/n1", "{\"metadata\":{\"labels\":{\"pool\":\"old\"}}}");
    answer("a", "Ready", ",\"podSetUpdates\":[{\"name\":\"main\",\"nodeSelector\":{\"pool\":\"new\"}}]");
    run(8000);
    assert_string_equal(reason(workload(), "Finished"), "FailedToStart");
    assert_non_null(strstr(said(workload(), "Finished"), "nodeSelector pool=old contradicts new"));
}

/* Entries of others in the list stay as they are, whoever writes when. */
static void test_answers_come_while_we_write(void **state)
{
    (void)state;
    checked();
    check("b", "example.com/b", "True");
    job("j", 2, "true");
    run(2000);
    kube_patch(w.client, KUBE_PATCH_MERGE, CQ,
               bytes_of("{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"a\"},{\"name\":\"b\"}]}}}"), NULL, NULL);
    answer("a", "Ready", ",\"message\":\"mine\"");
    run(8000);
    assert_string_equal(state_of("a"), "Ready");
    assert_string_equal(json_get_text(check_state("a"), "message", ""), "mine");
    assert_string_equal(state_of("b"), "Pending");
    assert_non_null(strstr(object_waiting(workload()), "waits for admission check b"));
    assert_true(suspended());
}

static void restart(void)
{
    scheduler_free(w.scheduler);
    jobs_free(w.jobs);
    run(10);
    w.scheduler = scheduler_new(w.loop, w.client, &(struct scheduler_config){.default_scheduler = true});
    w.jobs = jobs_new(w.client, &(struct jobs_config){.embedded = true});
    run(2000);
}

static void test_a_restart_at_every_step(void **state)
{
    (void)state;
    checked();
    job("j", 2, "true");
    run(2000);
    restart();
    assert_string_equal(state_of("a"), "Pending");
    assert_true(object_condition_true(workload(), "QuotaReserved"));
    assert_true(suspended());
    assert_non_null(strstr(object_waiting(workload()), "waits for admission check a"));
    patch("/api/v1/nodes/n1", "{\"spec\":{\"unschedulable\":true}}");
    patch("/api/v1/nodes/n2", "{\"spec\":{\"unschedulable\":true}}");
    answer("a", "Ready", "");
    run(2000);
    restart();
    assert_true(suspended()); /* it is still our own reservation, and has no places */
    assert_string_equal(reason(workload(), "Admitted"), "PendingDelayedTopologyRequests");
    patch("/api/v1/nodes/n1", "{\"spec\":{\"unschedulable\":null}}");
    run(3000);
    assert_false(suspended());
    restart();
    assert_int_equal(pods_n("job-name=j", "Running"), 2);
    answer("a", "Retry", ",\"requeueAfterSeconds\":3600");
    run(5);
    restart();
    run(3000);
    assert_string_equal(state_of("a"), "Pending");
    assert_true(suspended());
}

#define FLOW(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FLOW(test_reserved_is_not_admitted),
        FLOW(test_class_that_comes_after_the_reservation),
        FLOW(test_refused_start_is_told_and_tried_again), FLOW(test_made_is_told_once_it_is),
        FLOW(test_long_message_of_a_check_keeps_nobody),
        FLOW(test_job_that_shrinks_after_pods_are_over),
        FLOW(test_job_that_grows_while_its_checks_are_asked),
        FLOW(test_nodes_may_come_after_the_reservation),
        FLOW(test_retry),
        FLOW(test_rejected),
        FLOW(test_checks_that_are_not_there),
        FLOW(test_checks_of_flavors),
        FLOW(test_list_follows_the_flavors_of_a_queue),
        FLOW(test_multikueue_rules),
        FLOW(test_what_checks_add_to_pods),
        FLOW(test_what_contradicts),
        FLOW(test_what_contradicts_a_pod),
        FLOW(test_answers_come_while_we_write),
        FLOW(test_a_restart_at_every_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
