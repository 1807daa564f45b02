/* Nodes that an autoscaler is asked for, from quota to the start, on a virtual clock; the autoscaler is played by patches of status. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "jobs/provisioning/provisioning_request.h"
#include "world.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2/"
#define CQ KUEUE "clusterqueues/cq"
#define CONFIG KUEUE "provisioningrequestconfigs/conf"
#define CHECK KUEUE "admissionchecks/c"
#define JOB "/apis/batch/v1/namespaces/n/jobs/j"
#define REQUESTS "/apis/autoscaling.x-k8s.io/v1/namespaces/n/provisioningrequests"
#define TEMPLATES "/api/v1/namespaces/n/podtemplates"

/* A door that counts what the controllers write, and may close one resource. */
static int request_writes_n, template_writes_n, entry_writes_n;
static const char *closed;

static void door(void *ctx, struct http_exchange *x)
{
    const struct http_request *r = &x->request;
    bool writes = strcmp(r->method, "GET") != 0;
    (void)ctx;
    if (writes && closed && strstr(r->path, closed))
        x->request.path = "/nowhere";
    request_writes_n += writes && strstr(r->path, "/provisioningrequests");
    template_writes_n += writes && strstr(r->path, "/podtemplates");
    entry_writes_n += writes && strstr(r->path, "/workloads/") && memmem(r->body.data, r->body.n, "\"admissionChecks\"", 17);
    apiserver_handle(w.server, x);
}

static struct kube_client *controllers;

static void begin_counted(void)
{
    scheduler_free(w.scheduler);
    jobs_free(w.jobs);
    controllers = kube_client_wrap(w.loop, http_local_client_new(w.loop, door, NULL, NULL, 1));
    w.scheduler = scheduler_new(w.loop, w.client, &(struct scheduler_config){.default_scheduler = true});
    w.jobs = jobs_new(controllers, &(struct jobs_config){.embedded = true});
    run(2000);
}

static int provisioning_setup(void **state)
{
    request_writes_n = template_writes_n = entry_writes_n = 0;
    closed = NULL;
    return setup(state);
}

static int provisioning_teardown(void **state)
{
    jobs_free(w.jobs);
    w.jobs = NULL;
    if (controllers)
        kube_client_free(controllers);
    controllers = NULL;
    return teardown(state);
}

static void config(const char *more)
{
    create(arena_printf(w.a, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ProvisioningRequestConfig\",\"metadata\":{\"name\":\"conf\"},"
                             "\"spec\":{\"provisioningClassName\":\"atomic.example\"%s}}", more));
}

static void check(void)
{
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"AdmissionCheck\",\"metadata\":{\"name\":\"c\"},\"spec\":{\"controllerName\":"
           "\"kueue.x-k8s.io/provisioning-request\",\"parameters\":{\"apiGroup\":\"kueue.x-k8s.io\",\"kind\":\"ProvisioningRequestConfig\","
           "\"name\":\"conf\"}}}");
    patch(CQ, "{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"c\"}]}}}");
}

/* A cluster whose queue asks an autoscaler, and a job in it. */
static void asked(const char *more)
{
    QUOTA("8");
    begin_counted();
    config(more);
    check();
    run(2000);
    job("j", 2, "true");
    run(3000);
}

static const struct json *items(const char *path)
{
    return json_get(get(path), "items");
}

static const char *name_of(int64_t attempt)
{
    return provisioning_name(w.a, object_meta(workload(), "name"), "c", attempt);
}

static const struct json *request(int64_t attempt)
{
    return get(arena_printf(w.a, REQUESTS "/%s", name_of(attempt)));
}

static const struct json *entry(void)
{
    return json_item(json_path(workload(), "status", "admissionChecks", NULL), 0);
}

static const char *of_entry(const char *key)
{
    return json_get_text(entry(), key, "");
}

/* The autoscaler says so of that attempt. */
static void say(int64_t attempt, const char *type, const char *message, const char *more)
{
    patch(arena_printf(w.a, REQUESTS "/%s/status", name_of(attempt)),
          arena_printf(w.a, "{\"status\":{\"conditions\":[{\"type\":\"Accepted\",\"status\":\"True\",\"reason\":\"R\",\"message\":\"\","
                            "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"},{\"type\":\"%s\",\"status\":\"True\",\"reason\":\"R\",\"message\":"
                            "\"%s\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]%s}}", type, message, more));
}

static bool suspended(void)
{
    return json_bool(json_path(get(JOB), "spec", "suspend", NULL), false);
}

/* ---- from quota to the start ---- */

static void test_nodes_are_asked_for(void **state)
{
    (void)state;
    asked(",\"parameters\":{\"p1\":\"v1\"}");
    assert_string_equal(reason(get(CHECK), "Active"), "Active");
    assert_true(object_condition_true(get(CHECK), "Active"));
    assert_string_equal(of_entry("state"), "Pending");
    const struct json *r = request(1), *set = json_item(json_path(r, "spec", "podSets", NULL), 0);
    assert_non_null(r);
    assert_string_equal(json_get_text(json_get(r, "spec"), "provisioningClassName", ""), "atomic.example");
    assert_string_equal(json_text(json_path(r, "spec", "parameters", "p1", NULL), ""), "v1");
    assert_string_equal(object_label(r, PROVISIONING_MANAGED), "true");
    assert_string_equal(object_controller(r, "uid"), object_meta(workload(), "uid"));
    assert_int_equal(json_get_int64(set, "count", 0), 2);
    const char *name = json_text(json_path(set, "podTemplateRef", "name", NULL), "");
    assert_string_equal(name, arena_printf(w.a, "ppt-%s-main", name_of(1)));
    const struct json *template = get(arena_printf(w.a, TEMPLATES "/%s", name));
    assert_string_equal(object_controller(template, "uid"), object_meta(r, "uid"));
    assert_string_equal(json_text(json_path(template, "template", "spec", "nodeSelector", "gpu", NULL), ""), "a100");
    const struct json *container = json_item(json_path(template, "template", "spec", "containers", NULL), 0);
    assert_string_equal(json_text(json_path(container, "resources", "requests", "nvidia.com/gpu", NULL), ""), "1");
    assert_true(event_seen("ProvisioningRequestCreated", arena_printf(w.a, "Created ProvisioningRequest: \"%s\"", name_of(1))));
    assert_int_equal(request_writes_n, 1);
    assert_int_equal(template_writes_n, 2); /* made, and handed over */
    assert_int_equal(entry_writes_n, 0);
    run(60000);
    assert_int_equal(request_writes_n + template_writes_n + entry_writes_n, 3); /* while nobody answers nothing is written */
}

static void test_provisioned_starts_the_job(void **state)
{
    (void)state;
    asked(",\"podSetUpdates\":{\"nodeSelector\":[{\"key\":\"pool\",\"valueFromProvisioningClassDetail\":\"PoolName\"},"
          "{\"key\":\"none\",\"valueFromProvisioningClassDetail\":\"None\"}]}");
    say(1, "Provisioned", "done", ",\"provisioningClassDetails\":{\"PoolName\":\"new\"}");
    run(3000);
    assert_string_equal(of_entry("state"), "Ready");
    assert_string_equal(of_entry("message"), "done");
    assert_int_equal(entry_writes_n, 1);
    assert_true(event_seen("AdmissionCheckUpdated", "Admission check c updated state from Pending to Ready with message: done"));
    assert_true(suspended()); /* no node is of that pool yet */
    patch("/api/v1/nodes/n1", "{\"metadata\":{\"labels\":{\"pool\":\"new\"}}}");
    run(3000);
    assert_int_equal(pods_n("job-name=j", "Running"), 2);
    const struct json *pod = json_item(items("/api/v1/namespaces/n/pods?labelSelector=job-name=j"), 0);
    assert_string_equal(object_annotation(pod, "autoscaling.x-k8s.io/consume-provisioning-request"), name_of(1));
    assert_string_equal(object_annotation(pod, "autoscaling.x-k8s.io/provisioning-class-name"), "atomic.example");
    assert_null(json_path(pod, "spec", "nodeSelector", "none", NULL));
    run(30000);
    assert_true(object_condition_true(workload(), "Finished"));
    assert_null(request(1)); /* nobody needs it any more */
    run(3000);
    assert_int_equal(items(TEMPLATES)->n, 0);
}

static void test_what_it_says_meanwhile_is_passed_on(void **state)
{
    (void)state;
    asked("");
    patch(arena_printf(w.a, REQUESTS "/%s/status", name_of(1)),
          "{\"status\":{\"conditions\":[{\"type\":\"Accepted\",\"status\":\"True\",\"reason\":\"R\",\"message\":\"\",\"lastTransitionTime\":"
          "\"2026-01-01T00:00:00Z\"},{\"type\":\"Provisioned\",\"status\":\"False\",\"reason\":\"R\",\"message\":\"in ten minutes\","
          "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}");
    run(1000);
    assert_string_equal(of_entry("state"), "Pending");
    assert_string_equal(of_entry("message"), "in ten minutes");
    assert_true(suspended());
}

/* ---- what goes wrong ---- */

static void test_failure_is_retried_and_then_final(void **state)
{
    (void)state;
    asked(",\"retryStrategy\":{\"backoffLimitCount\":1,\"backoffBaseSeconds\":60,\"backoffMaxSeconds\":1800}");
    say(1, "Failed", "no room", "");
    run(2000);
    assert_string_equal(reason(workload(), "Evicted"), "AdmissionCheck");
    assert_string_equal(said(workload(), "Evicted"),
                        "Evicted due to AdmissionCheck in Retry state: \"c\" (Retrying after failure: no room)");
    assert_int_equal(json_get_int64(entry(), "requeueAfterSeconds", 0), 60);
    assert_null(request(1));
    run(30000);
    assert_false(object_condition_true(workload(), "QuotaReserved"));
    run(40000);
    assert_true(object_condition_true(workload(), "QuotaReserved"));
    assert_non_null(request(2));
    say(2, "Failed", "still none", "");
    run(2000);
    assert_false(json_bool(json_path(workload(), "spec", "active", NULL), true));
    assert_string_equal(said(workload(), "Evicted"), "The workload is deactivated due to AdmissionCheck in Rejected state: \"c\" (still none)");
    run(60000);
    assert_int_equal(items(REQUESTS)->n, 0);
    assert_int_equal(items(TEMPLATES)->n, 0);
    assert_int_equal(request_writes_n, 4); /* two made, two deleted */
    assert_int_equal(entry_writes_n, 3);   /* Retry, Rejected, and between them the word of the reset taken back, as a new request is out */
    assert_string_equal(of_entry("message"), "Reset to Pending after eviction. Previously: Rejected");
    assert_int_equal(json_get_int64(entry(), "retryCount", 0), 1); /* so often it was tried again */
    patch(arena_printf(w.a, "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/%s", object_meta(workload(), "name")),
          "{\"spec\":{\"active\":true}}");
    run(3000);
    assert_non_null(request(1)); /* who is activated again has all tries again */
    assert_null(json_get(entry(), "retryCount"));
}

static void test_backoff_doubles(void **state)
{
    (void)state;
    asked(",\"retryStrategy\":{\"backoffLimitCount\":5,\"backoffBaseSeconds\":10,\"backoffMaxSeconds\":25}");
    static const int wait_s[] = {10, 20, 25, 25};
    for (int i = 0; i < 4; i++) {
        say(i + 1, "Failed", "no", "");
        run(2000);
        assert_int_equal(json_get_int64(entry(), "requeueAfterSeconds", 0), wait_s[i]);
        run(wait_s[i] * 1000 + 3000);
        assert_non_null(request(i + 2));
    }
}

static void test_expired_before_the_start(void **state)
{
    (void)state;
    asked("");
    patch("/api/v1/nodes/n1", "{\"spec\":{\"unschedulable\":true}}");
    patch("/api/v1/nodes/n2", "{\"spec\":{\"unschedulable\":true}}");
    say(1, "Provisioned", "", "");
    run(2000);
    assert_string_equal(of_entry("state"), "Ready");
    say(1, "BookingExpired", "too late", "");
    run(2000);
    assert_string_equal(said(workload(), "Evicted"),
                        "Evicted due to AdmissionCheck in Retry state: \"c\" (Retrying after booking expired: too late)");
}

/* With the nodes that it asked for. */
static void started(void)
{
    asked("");
    say(1, "Provisioned", "", "");
    run(4000);
    assert_int_equal(pods_n("job-name=j", "Running"), 2);
}

static void test_expired_after_the_start_is_nothing(void **state)
{
    (void)state;
    started();
    say(1, "BookingExpired", "used", "");
    run(2000);
    assert_int_equal(pods_n("job-name=j", "Running"), 2);
    assert_string_equal(of_entry("state"), "Ready");
    delete(arena_printf(w.a, REQUESTS "/%s", name_of(1)));
    run(2000);
    assert_string_equal(of_entry("state"), "Ready");
    assert_int_equal(pods_n("job-name=j", "Running"), 2);
}

static void test_revoked_ends_it(void **state)
{
    (void)state;
    started();
    say(1, "CapacityRevoked", "spot is gone", "");
    run(40000);
    assert_string_equal(reason(workload(), "Evicted"), "DeactivatedDueToAdmissionCheck");
    assert_non_null(strstr(said(workload(), "Evicted"), "(spot is gone)"));
    assert_true(suspended());
    assert_int_equal(items(REQUESTS)->n, 0);
}

static void test_a_server_that_refuses_is_quoted(void **state)
{
    (void)state;
    QUOTA("8");
    begin_counted();
    config("");
    check();
    closed = "/provisioningrequests";
    run(2000);
    job("j", 2, "true");
    run(10000);
    assert_non_null(strstr(of_entry("message"), arena_printf(w.a, "Error creating ProvisioningRequest \"%s\": ", name_of(1))));
    assert_int_equal(entry_writes_n, 1);
    assert_int_equal(template_writes_n, 1);
    closed = NULL;
    run(40000);
    assert_non_null(request(1));
    assert_string_equal(of_entry("message"), "");
}

static void test_a_name_that_is_taken(void **state)
{
    (void)state;
    QUOTA("8");
    begin_counted();
    config("");
    check();
    patch("/api/v1/nodes/n1", "{\"spec\":{\"unschedulable\":true}}");
    run(2000);
    patch(CQ, "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    job("j", 2, "true");
    run(2000);
    create(arena_printf(w.a, "{\"apiVersion\":\"autoscaling.x-k8s.io/v1\",\"kind\":\"ProvisioningRequest\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
                             "\"n\"},\"spec\":{\"provisioningClassName\":\"x\",\"podSets\":[{\"count\":1,\"podTemplateRef\":{\"name\":\"t\"}}]}}",
                        name_of(1)));
    patch(CQ, "{\"spec\":{\"stopPolicy\":\"None\"}}");
    run(3000);
    assert_non_null(strstr(of_entry("message"), "it is there already, and is not made for this Workload"));
    int writes_n = entry_writes_n;
    run(30000);
    assert_int_equal(entry_writes_n, writes_n);
}

/* ---- checks and configs ---- */

static void test_parameters_that_are_wrong(void **state)
{
    (void)state;
    QUOTA("8");
    check();
    run(2000);
    assert_string_equal(reason(get(CHECK), "Active"), "BadParametersRef");
    assert_string_equal(said(get(CHECK), "Active"), "ProvisioningRequestConfig.kueue.x-k8s.io \"conf\" not found");
    assert_string_equal(reason(get(CQ), "Active"), "AdmissionCheckInactive");
    config("");
    run(2000);
    assert_true(object_condition_true(get(CHECK), "Active"));
    assert_string_equal(reason(get(CQ), "Active"), "Ready");
    patch(CHECK, "{\"spec\":{\"parameters\":{\"apiGroup\":\"example.com\"}}}");
    run(2000);
    assert_string_equal(said(get(CHECK), "Active"), "wrong group \"example.com\", expecting \"kueue.x-k8s.io\": bad parameters reference");
    patch(CHECK, "{\"spec\":{\"parameters\":null}}");
    run(2000);
    assert_string_equal(said(get(CHECK), "Active"), "missing parameters reference");
}

static void test_a_config_that_changes(void **state)
{
    (void)state;
    asked("");
    const char *uid = object_meta(request(1), "uid");
    patch(CONFIG, "{\"spec\":{\"provisioningClassName\":\"other.example\"}}");
    run(8000);
    const struct json *r = request(1);
    assert_non_null(r);
    assert_string_not_equal(object_meta(r, "uid"), uid);
    assert_string_equal(json_get_text(json_get(r, "spec"), "provisioningClassName", ""), "other.example");
    const struct json *template = json_item(items(TEMPLATES), 0);
    assert_string_equal(object_controller(template, "uid"), object_meta(r, "uid"));
    patch(CONFIG, "{\"spec\":{\"managedResources\":[\"example.com/tpu\"]}}");
    run(4000);
    assert_string_equal(of_entry("message"), "the provisioning request is not needed");
    assert_int_equal(pods_n("job-name=j", "Running"), 2);
    assert_int_equal(items(REQUESTS)->n, 0);
}

/* What another needs more urgently is given back, and asked for again later, by the same name. */
static void test_eviction_and_back(void **state)
{
    (void)state;
    asked("");
    patch(CQ, "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
    run(3000);
    assert_true(object_condition_true(workload(), "Evicted"));
    assert_null(request(1));
    run(2000);
    assert_int_equal(items(TEMPLATES)->n, 0);
    patch(CQ, "{\"spec\":{\"stopPolicy\":\"None\"}}");
    run(5000);
    assert_non_null(request(1));
    assert_int_equal(items(TEMPLATES)->n, 1);
}

/* Whoever asks names a template: it is there for as long as the request, whoever deletes it. */
static void test_a_lost_template_is_made_again(void **state)
{
    (void)state;
    asked("");
    const char *name = arena_printf(w.a, "ppt-%s-main", name_of(1)), *path = arena_printf(w.a, TEMPLATES "/%s", name);
    delete(path);
    run(2000);
    assert_non_null(get(path));
    assert_string_equal(object_controller(get(path), "uid"), object_meta(request(1), "uid"));
    assert_int_equal(request_writes_n, 1);
}

/* It went with the request of this name before this one, and was seen as there when this one was made. */
static void test_a_template_of_the_request_before(void **state)
{
    (void)state;
    asked("");
    const char *path = arena_printf(w.a, TEMPLATES "/ppt-%s-main", name_of(1));
    patch(path, arena_printf(w.a, "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"" PROVISIONING_GROUP "/v1\",\"kind\":"
                                  "\"ProvisioningRequest\",\"name\":\"%s\",\"uid\":\"of-before\",\"controller\":true}]}}", name_of(1)));
    run(8000);
    assert_string_equal(object_controller(get(path), "uid"), object_meta(request(1), "uid"));
    assert_int_equal(request_writes_n, 1);
}

static void test_it_goes_with_its_job(void **state)
{
    (void)state;
    asked("");
    delete(JOB);
    run(8000);
    assert_int_equal(items(REQUESTS)->n, 0);
    assert_int_equal(items(TEMPLATES)->n, 0);
}

static void test_a_restart_asks_nothing_twice(void **state)
{
    (void)state;
    asked("");
    jobs_free(w.jobs);
    w.jobs = jobs_new(controllers, &(struct jobs_config){.embedded = true});
    run(5000);
    assert_int_equal(request_writes_n, 1);
    assert_int_equal(template_writes_n, 2);
    say(1, "Provisioned", "", "");
    run(3000);
    assert_int_equal(pods_n("job-name=j", "Running"), 2);
}

/* ---- what is asked for, alone ---- */

static const struct json *parse(const char *text)
{
    struct err e = {0};
    const struct json *v = json_parse(w.a, bytes_of(text), NULL, &e);
    if (!v)
        fail_msg("%s: %s", text, e.text);
    return v;
}

#define SET(name, count, spec) "{\"name\":\"" name "\",\"count\":" count ",\"template\":{\"spec\":{\"containers\":[{" spec "}]}}}"
#define GIVEN(name, count) "{\"name\":\"" name "\",\"count\":" count "}"
#define CPU(n) "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"" n "\"}}"

/* "name count, ..." */
static const char *sets_of(const char *pod_sets, const char *given, const char *spec)
{
    uint32_t n;
    const struct json *wl = parse(arena_printf(w.a, "{\"spec\":{\"podSets\":[%s]},\"status\":{\"admission\":{\"podSetAssignments\":[%s]}}}",
                                               pod_sets, given));
    const struct json *conf = parse(arena_printf(w.a, "{\"spec\":{%s}}", spec));
    const struct provisioning_set *sets = provisioning_sets(w.a, wl, conf, &n);
    const char *text = "";
    for (uint32_t i = 0; i < n; i++)
        text = arena_printf(w.a, "%s%s%s %lld", text, i ? ", " : "", sets[i].name, (long long)sets[i].count);
    assert_int_equal(provisioning_is_needed(wl, conf), n > 0);
    return text;
}

static void test_pod_sets(void **state)
{
    (void)state;
    w.a = arena_new();
    const char *two = SET("a", "1", CPU("1")) "," SET("b", "4", CPU("1")), *given = GIVEN("a", "1") "," GIVEN("b", "3");
    assert_string_equal(sets_of(two, given, ""), "a 1, b 3"); /* as many as were given */
    assert_string_equal(sets_of(two, given, "\"podSetMergePolicy\":\"IdenticalPodTemplates\""), "a 4");
    const char *unlike = SET("a", "1", "\"image\":\"x\"," CPU("1")) "," SET("b", "4", "\"image\":\"y\"," CPU("1"));
    assert_string_equal(sets_of(unlike, given, "\"podSetMergePolicy\":\"IdenticalPodTemplates\""), "a 1, b 3");
    assert_string_equal(sets_of(unlike, given, "\"podSetMergePolicy\":\"IdenticalWorkloadSchedulingRequirements\""), "a 4");
    const char *heavier = SET("a", "1", CPU("1")) "," SET("b", "4", CPU("2"));
    assert_string_equal(sets_of(heavier, given, "\"podSetMergePolicy\":\"IdenticalWorkloadSchedulingRequirements\""), "a 1, b 3");
    assert_string_equal(sets_of(two, given, "\"managedResources\":[\"nvidia.com/gpu\"]"), "");
    assert_string_equal(sets_of(two, given, "\"managedResources\":[\"nvidia.com/gpu\",\"cpu\"]"), "a 1, b 3");
    assert_string_equal(sets_of(two, GIVEN("a", "0") "," GIVEN("b", "3"), ""), "b 3");
    assert_string_equal(sets_of(SET("a", "0", CPU("1")), GIVEN("a", "0"), ""), "");
    arena_free(w.a);
}

static void test_names(void **state)
{
    char long_name[254];
    (void)state;
    w.a = arena_new();
    memset(long_name, 'w', 253);
    long_name[253] = '\0';
    assert_string_equal(provisioning_name(w.a, "wl", "check", 12), "wl-check-12");
    assert_string_equal(provisioning_template_name(w.a, "wl-check-1", "main"), "ppt-wl-check-1-main");
    const char *first = provisioning_name(w.a, long_name, "c", 1), *second = provisioning_name(w.a, long_name, "c", 2);
    assert_int_equal(strlen(first), 253);
    assert_string_not_equal(first, second);
    const struct json *entries[] = {parse("{\"name\":\"c\"}"), parse("{\"name\":\"c\",\"retryCount\":1}"), parse("{\"name\":\"d\"}")};
    const struct json *of_second = parse(arena_printf(w.a, "{\"metadata\":{\"name\":\"%s\"}}", second));
    assert_int_equal(provisioning_attempt(w.a, of_second, long_name, entries[0]), 2);
    assert_int_equal(provisioning_attempt(w.a, of_second, long_name, entries[1]), 2);
    assert_int_equal(provisioning_attempt(w.a, of_second, long_name, entries[2]), 0);
    assert_int_equal(provisioning_attempt(w.a, parse("{\"metadata\":{\"name\":\"wl-c-9\"}}"), "wl", entries[0]), 0);
    arena_free(w.a);
}

#define FLOW(test) cmocka_unit_test_setup_teardown(test, provisioning_setup, provisioning_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FLOW(test_nodes_are_asked_for),
        FLOW(test_provisioned_starts_the_job),
        FLOW(test_what_it_says_meanwhile_is_passed_on),
        FLOW(test_failure_is_retried_and_then_final),
        FLOW(test_backoff_doubles),
        FLOW(test_expired_before_the_start),
        FLOW(test_expired_after_the_start_is_nothing),
        FLOW(test_revoked_ends_it),
        FLOW(test_a_server_that_refuses_is_quoted),
        FLOW(test_a_name_that_is_taken),
        FLOW(test_parameters_that_are_wrong),
        FLOW(test_a_config_that_changes),
        FLOW(test_eviction_and_back),
        FLOW(test_a_lost_template_is_made_again),
        FLOW(test_a_template_of_the_request_before),
        FLOW(test_it_goes_with_its_job),
        FLOW(test_a_restart_asks_nothing_twice),
        cmocka_unit_test(test_pod_sets),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
