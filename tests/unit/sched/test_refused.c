/* What the API server refuses once is told, counted and done once: the scheduler at a door that says no. */
#include <stdio.h>
#include "stage.h"
#include "kube/object.h"

static struct {
    const char *refused_path, *refused_part; /* requests to that path whose body has that part ... */
    int refused_status, refused_n;           /* ... are answered so, so often */
    int deletes_n, lists_n; /* lists: of budgets */
} seen;

static void door(void *ctx, struct http_exchange *x)
{
    const struct http_request *r = &x->request;
    (void)ctx;
    bool part = !seen.refused_part || (r->body.n && memmem(r->body.data, r->body.n, seen.refused_part, strlen(seen.refused_part)));
    seen.lists_n += strcmp(r->path, "/apis/policy/v1/poddisruptionbudgets") == 0 && !http_query(r, "watch");
    seen.deletes_n += strcmp(r->method, "DELETE") == 0;
    if (seen.refused_n && strcmp(r->path, seen.refused_path) == 0 && part) {
        seen.refused_n--;
        http_reply_text(x, seen.refused_status, "application/json",
                        arena_printf(w.a, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"no, says the door\",\"code\":%d}",
                                     seen.refused_status));
        return;
    }
    apiserver_handle(w.server, x);
}

static void refuse(const char *path, const char *part, int status, int n)
{
    seen.refused_path = path;
    seen.refused_part = part;
    seen.refused_status = status;
    seen.refused_n = n;
}

static int setup(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof seen);
    stage_open(door);
    node("n0", "nvidia.com/gpu", 4);
    return 0;
}

/* Of that reason, with their repeats. */
static int64_t events(const char *reason)
{
    int64_t n = 0;
    JSON_EACH (event, json_get(get("/api/v1/namespaces/n/events"), "items"))
        if (strcmp(json_get_text(event, "reason", ""), reason) == 0)
            n += json_get_int64(event, "count", 1);
    return n;
}

/* What the scheduler's page has of a series, which is named up to its first label. */
static const char *page_line(const char *series)
{
    struct buf page;
    buf_init(&page);
    scheduler_page(w.scheduler, false, &page);
    const char *text = arena_text_n(w.a, page.data, page.n), *at = strstr(text, arena_printf(w.a, "\n%s{", series));
    buf_free(&page);
    return at ? arena_text_n(w.a, at + 1, strcspn(at + 1, "\n")) : "";
}

static void counted(const char *series, int64_t n)
{
    const char *line = page_line(series), *value = strrchr(line, ' ');
    if (!value || atoll(value + 1) != n)
        fail_msg("%s: \"%s\" instead of %lld", series, line, (long long)n);
}

/* ---- admissions ---- */

static void workload_of(const char *name, int priority, int gpus)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},\"spec\":{"
                        "\"priority\":%d,\"queueName\":\"lq\",\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
                        "\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"%d\"}}}]}}}]}}",
                        name, priority, gpus));
}

static void workload(const char *name)
{
    workload_of(name, 0, 2);
}

/* Its quota was reserved by somebody else; what is left is that it is admitted. */
static void an_admission_that_was_refused_is_counted_when_it_is_written(void **state)
{
    (void)state;
    queue();
    workload("a");
    kube_patch(w.user, KUBE_PATCH_MERGE, WORKLOADS "/a/status",
               BYTES("{\"status\":{\"admission\":{\"clusterQueue\":\"cq\",\"podSetAssignments\":[{\"name\":\"main\",\"count\":1,\"flavors\":{"
                     "\"nvidia.com/gpu\":\"f\"},\"resourceUsage\":{\"nvidia.com/gpu\":\"2\"}}]},\"conditions\":[{\"type\":\"QuotaReserved\","
                     "\"status\":\"True\",\"reason\":\"QuotaReserved\",\"message\":\"by hand\",\"lastTransitionTime\":"
                     "\"2026-01-01T00:00:00Z\"}]}}"),
               NULL, NULL);
    run(1000);
    refuse(WORKLOADS "/a/status", "\"Admitted\"", 409, 3);
    scheduler_start();
    run(5000);
    assert_int_equal(seen.refused_n, 0);
    assert_true(object_condition_true(get(WORKLOADS "/a"), "Admitted"));
    assert_int_equal(events("Admitted"), 1);
    counted("kueue_admitted_workloads_total", 1);
}

/* ---- evictions ---- */

static const char *said_of(const char *name)
{
    return json_get_text(object_condition(get(arena_printf(w.a, WORKLOADS "/%s", name)), "QuotaReserved"), "message", "");
}

static void an_eviction_that_is_refused_is_told_to_who_waits_for_it(void **state)
{
    (void)state;
    queue();
    kube_patch(w.user, KUBE_PATCH_MERGE, "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq",
               BYTES("{\"spec\":{\"preemption\":{\"withinClusterQueue\":\"LowerPriority\"}}}"), NULL, NULL);
    scheduler_start();
    workload_of("low", 0, 4);
    run(3000);
    assert_true(object_condition_true(get(WORKLOADS "/low"), "Admitted"));
    refuse(WORKLOADS "/low/status", "\"Evicted\"", 500, 1000);
    workload_of("high", 1000, 4);
    run(10000);
    assert_non_null(strstr(said_of("high"), ", pending the preemption of 1 workload(s). Preempting 1 workload(s) failed, will retry: "));
    assert_non_null(strstr(said_of("high"), "no, says the door"));
    assert_false(object_condition_true(get(WORKLOADS "/low"), "Evicted"));
    const char *version = object_meta(get(WORKLOADS "/high"), "resourceVersion");
    run(60000);
    assert_string_equal(object_meta(get(WORKLOADS "/high"), "resourceVersion"), version); /* said once, however often it is tried */
    refuse("", NULL, 0, 0);
    run(60000);
    assert_true(object_condition_true(get(WORKLOADS "/low"), "Evicted"));
    assert_null(strstr(said_of("high"), "failed"));
}

/* ---- what may not be read ---- */

/* A ClusterRole of an older version does not name them. */
static void a_scheduler_that_may_not_read_budgets_works_without(void **state)
{
    (void)state;
    refuse("/apis/policy/v1/poddisruptionbudgets", NULL, 403, 1000);
    scheduler_start();
    create("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"n\"},\"spec\":{\"containers\":[{\"name\":\"c\","
           "\"image\":\"i\"}]}}");
    run(3000);
    assert_in_range(1000 - seen.refused_n, 1, 2); /* it is not asked for all the time */
    assert_string_equal(json_text(json_path(get(PODS "/p"), "spec", "nodeName", NULL), ""), "n0");
    refuse("", NULL, 0, 0);
    seen.lists_n = 0;
    run(60000);
    assert_int_equal(seen.lists_n, 1); /* somebody has mended the role */
}

/* ---- pods that leave ---- */

static void pod(const char *name, const char *class, const char *node)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},\"spec\":{%s%s"
                        "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"4\"}}}]}}",
                        name, class, node));
}

/* A Job's podFailurePolicy reads the condition: a pod that goes without it counts as failed by itself. */
static void a_victim_goes_when_its_condition_is_written(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":\"high\"},\"value\":1000}");
    pod("low", "", "\"nodeName\":\"n0\",");
    refuse(PODS "/low/status", "DisruptionTarget", 500, 3);
    scheduler_start();
    pod("high", "\"priorityClassName\":\"high\",", "");
    run(5000);
    assert_int_equal(seen.refused_n, 0);
    const struct json *low = get(PODS "/low");
    assert_true(object_deleting(low));
    assert_true(object_condition_true(low, "DisruptionTarget"));
    assert_int_equal(seen.deletes_n, 1);
}

static void volcano_queue(const char *name)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"%s\"},\"spec\":{\"weight\":1,"
                        "\"deserved\":{\"nvidia.com/gpu\":\"2\"},\"reclaimable\":true}}",
                        name));
}

static void group_of_pods(const char *name, const char *in_queue, int pods_n)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                        "\"spec\":{\"queue\":\"%s\",\"minMember\":%d}}",
                        name, in_queue, pods_n));
    for (int i = 0; i < pods_n; i++)
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s-%d\",\"namespace\":\"n\",\"annotations\":{"
                            "\"scheduling.k8s.io/group-name\":\"%s\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
                            "\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}",
                            name, i, name));
}

/* A queue takes back what it deserves; the group must go whole, also where the server refuses to delete one of its pods at first. */
static void a_group_goes_whole_when_a_deletion_is_refused(void **state)
{
    (void)state;
    volcano_queue("has");
    volcano_queue("wants");
    scheduler_start();
    group_of_pods("big", "has", 4);
    run(3000);
    for (int i = 0; i < 4; i++)
        assert_string_equal(json_text(json_path(get(arena_printf(w.a, PODS "/big-%d", i)), "spec", "nodeName", NULL), ""), "n0");
    refuse(PODS "/big-2", NULL, 500, 3);
    group_of_pods("small", "wants", 2);
    run(5000);
    assert_int_equal(seen.refused_n, 0);
    for (int i = 0; i < 4; i++)
        assert_true(object_deleting(get(arena_printf(w.a, PODS "/big-%d", i))));
    assert_int_equal(seen.deletes_n, 4 + 3); /* each once, but for the one that was refused */
}

static void group_of_two(const char *gpus)
{
    create("{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},\"spec\":{"
           "\"minMember\":2}}");
    static const char *const names[] = {"a", "b"};
    for (int i = 0; i < 2; i++)
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"labels\":{"
                            "\"scheduling.x-k8s.io/pod-group\":\"g\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
                            "\"limits\":{\"nvidia.com/gpu\":\"%s\"}}}]}}",
                            names[i], gpus));
}

/* An admission plugin of somebody's, for ever: it is tried after longer and longer waits, and whoever was bound is taken back. */
static void a_group_whose_bind_is_refused_for_ever_is_taken_back(void **state)
{
    (void)state;
    enum { MANY = 1000 };
    scheduler_start();
    refuse(PODS "/b/binding", NULL, 403, MANY);
    group_of_two("1");
    run(60 * 1000);
    assert_in_range(MANY - seen.refused_n, 5, 20);
    assert_true(object_deleting(get(PODS "/a")));
    assert_int_equal(events("Evicted"), 1);
}

/* Whose pods are unschedulable an autoscaler learns pod by pod: a write that fails is not late by the time that an echo has. */
static void a_refused_reason_is_told_with_the_others(void **state)
{
    (void)state;
    scheduler_start();
    refuse(PODS "/b/status", "Unschedulable", 500, 1);
    group_of_two("4");
    run(1200);
    assert_int_equal(seen.refused_n, 0);
    static const char *const names[] = {"a", "b"};
    for (int i = 0; i < 2; i++)
        assert_non_null(object_condition(get(arena_printf(w.a, PODS "/%s", names[i])), "PodScheduled"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_admission_that_was_refused_is_counted_when_it_is_written, setup, teardown),
        cmocka_unit_test_setup_teardown(an_eviction_that_is_refused_is_told_to_who_waits_for_it, setup, teardown),
        cmocka_unit_test_setup_teardown(a_scheduler_that_may_not_read_budgets_works_without, setup, teardown),
        cmocka_unit_test_setup_teardown(a_victim_goes_when_its_condition_is_written, setup, teardown),
        cmocka_unit_test_setup_teardown(a_group_goes_whole_when_a_deletion_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_refused_reason_is_told_with_the_others, setup, teardown),
        cmocka_unit_test_setup_teardown(a_group_whose_bind_is_refused_for_ever_is_taken_back, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
