/* What those who wait are told, counted at the door of the API server: once, when it is so, and not again. */
#include <stdio.h>
#include "stage.h"
#include "kube/object.h"
#include "sched/telling/telling.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2"
#define GROUP "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/n/podgroups/g"

static struct {
    int writes_n, writes_of_c_n, writes_of_waiting_n; /* c: the Workload of that name; waiting: those called wait-… */
    char complaint[512]; /* a request that says that pods are missing */
    struct {
        int writes_n;
        int64_t last_ms, least_ms; /* least: between two of them */
    } figures[2];      /* status of ClusterQueue cq, of LocalQueue lq */
} seen;

static void see_figures(const struct http_request *r)
{
    bool local = strstr(r->path, "/localqueues/lq/status");
    if (!local && !strstr(r->path, "/clusterqueues/cq/status"))
        return;
    int64_t now_ms = loop_now_ms(w.loop), since_ms = now_ms - seen.figures[local].last_ms;
    if (seen.figures[local].writes_n++ && since_ms < seen.figures[local].least_ms)
        seen.figures[local].least_ms = since_ms;
    seen.figures[local].last_ms = now_ms;
}

static void door(void *ctx, struct http_exchange *x)
{
    const struct http_request *r = &x->request;
    (void)ctx;
    seen.writes_n += strcmp(r->method, "GET") != 0;
    see_figures(r);
    seen.writes_of_c_n += strcmp(r->method, "GET") != 0 && strstr(r->path, "/workloads/c");
    seen.writes_of_waiting_n += strcmp(r->method, "GET") != 0 && strstr(r->path, "/workloads/wait-");
    if (r->body.n && memmem(r->body.data, r->body.n, "pods exist", 10))
        snprintf(seen.complaint, sizeof seen.complaint, "%s %s %.*s", r->method, r->path, (int)r->body.n, r->body.data);
    apiserver_handle(w.server, x);
}

static int setup(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof seen);
    stage_open(door);
    node("n0", "nvidia.com/gpu", 4);
    scheduler_start();
    return 0;
}

static void pod(const char *name, const char *labels, int gpus)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"labels\":{%s}},\"spec\":{"
                        "\"containers\":[{\"name\":\"main\",\"image\":\"x\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"%d\"}}}]}}",
                        name, labels, gpus));
}

static const char *pod_told(const char *name)
{
    return json_get_text(object_condition(get(arena_printf(w.a, PODS "/%s", name)), "PodScheduled"), "message", "");
}

/* Eighty pods come in waves, for two seconds: who waits is told the real cause, and nothing of pods that do not exist yet. */
static void pods_that_are_being_made_are_no_complaint(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},\"spec\":{"
           "\"minMember\":80}}");
    for (int i = 0; i < 80; i++) {
        pod(arena_printf(w.a, "g%d", i), "\"scheduling.x-k8s.io/pod-group\":\"g\"", 1);
        run(i % 6 == 5 ? 150 : 0);
    }
    run(2000);
    assert_string_equal(seen.complaint, "");
    assert_non_null(strstr(pod_told("g7"), "only 4 of 80 pods can be placed; for the 5th, 0/1 nodes are available: 1 Insufficient"));
    assert_non_null(strstr(object_waiting(get(GROUP)), "4 of 80 pods can be placed"));
}

static void pods_that_stay_away_are_told(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},\"spec\":{"
           "\"minMember\":3}}");
    pod("a", "\"scheduling.x-k8s.io/pod-group\":\"g\"", 1);
    run(2000);
    pod("b", "\"scheduling.x-k8s.io/pod-group\":\"g\"", 1);
    run(TELLING_MEMBERS_MS - 1000);
    assert_string_equal(seen.complaint, "");
    run(2000);
    assert_string_equal(pod_told("a"), "2 of 3 pods exist");
    assert_non_null(strstr(object_waiting(get(GROUP)), "2 of 3 pods exist"));
}

static void queues(const char *quota)
{
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"f\"},\"spec\":{}}");
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"},\"spec\":{\"namespaceSelector\":"
                        "{},\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":"
                        "\"nvidia.com/gpu\",\"nominalQuota\":\"%s\"}]}]}]}}",
                        quota));
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"lq\",\"namespace\":\"n\"},\"spec\":{"
           "\"clusterQueue\":\"cq\"}}");
}

static void workload(const char *name, int gpus)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},\"spec\":{"
                        "\"queueName\":\"lq\",\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
                        "\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"%d\"}}}]}}}]}}",
                        name, gpus));
}

static const struct json *workload_get(const char *name)
{
    return get(arena_printf(w.a, KUEUE "/namespaces/n/workloads/%s", name));
}

/* The quota grows, and is not enough: the number changes each time, the reason does not. */
static void a_changed_number_is_no_news(void **state)
{
    (void)state;
    node("big", "nvidia.com/gpu", 16);
    queues("2");
    workload("c", 8);
    run(1000);
    assert_non_null(strstr(object_waiting(workload_get("c")), "request (8) > maximum capacity (2)"));
    seen.writes_of_c_n = 0;
    for (int i = 3; i < 8; i++, run(5000))
        kube_patch(w.user, KUBE_PATCH_MERGE, KUEUE "/clusterqueues/cq",
                   bytes_of(arena_printf(w.a,
                                         "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"f\","
                                         "\"resources\":[{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"%d\"}]}]}]}}",
                                         i)),
                   NULL, NULL);
    assert_int_equal(seen.writes_of_c_n, 0);
    run(TELLING_NUMBERS_MS); /* but it does not stay untrue for ever */
    assert_non_null(strstr(object_waiting(workload_get("c")), "request (8) > maximum capacity (7)"));
    assert_int_equal(seen.writes_of_c_n, 1);
}

static void preemption(const char *within)
{
    kube_patch(w.user, KUBE_PATCH_MERGE, KUEUE "/clusterqueues/cq",
               bytes_of(arena_printf(w.a, "{\"spec\":{\"preemption\":{\"withinClusterQueue\":\"%s\"}}}", within)), NULL, NULL);
}

/* The sentence stays: it says of quota what it said. Why nobody is preempted stands in the tree alone. */
static void a_changed_remark_is_told_in_time(void **state)
{
    (void)state;
    queues("4");
    preemption("LowerPriority");
    workload("a", 4);
    run(5000);
    workload("c", 4);
    run(5000);
    assert_non_null(strstr(object_waiting(workload_get("c")), "policies allow"));
    seen.writes_of_c_n = 0;
    preemption("Never");
    run(5000);
    assert_int_equal(seen.writes_of_c_n, 0); /* no more pressing than a number */
    run(TELLING_NUMBERS_MS);
    assert_null(strstr(object_waiting(workload_get("c")), "policies allow"));
    run(2 * TELLING_NUMBERS_MS);
    assert_int_equal(seen.writes_of_c_n, 1);
}

/* One write of its status; two Events and the status of both queues are the rest. */
static void an_admission_is_one_write(void **state)
{
    (void)state;
    queues("4");
    run(3000);
    seen.writes_n = 0;
    workload("a", 1);
    run(5000);
    assert_true(object_condition_true(workload_get("a"), "Admitted"));
    assert_int_equal(seen.writes_n, 5);
}

static void forget_figures(void)
{
    for (int i = 0; i < 2; i++) {
        seen.figures[i].writes_n = 0;
        seen.figures[i].least_ms = INT64_MAX;
    }
}

/* Workloads come and go eight times a second, so that the figures of their queues are others all the time. */
static void figures_of_queues_are_written_once_a_second(void **state)
{
    (void)state;
    queues("4");
    run(3000);
    forget_figures();
    for (int i = 0; i < 160; i++, run(125)) {
        workload(arena_printf(w.a, "w-%d", i), 1 + i % 3);
        if (i >= 3)
            kube_delete(w.user, arena_printf(w.a, WORKLOADS "/w-%d", i - 3), BYTES(""), NULL, NULL);
    }
    for (int i = 0; i < 2; i++) {
        assert_in_range(seen.figures[i].writes_n, 5, 20);
        assert_true(seen.figures[i].least_ms >= 1000);
    }
    run(6000);
    const struct json *status = json_get(get(KUEUE "/clusterqueues/cq"), "status");
    int64_t all_n = json_get_int64(status, "pendingWorkloads", -1) + json_get_int64(status, "admittedWorkloads", -1);
    assert_int_equal(all_n, 3); /* and what is written last is so */
    forget_figures();
    run(60000);
    assert_int_equal(seen.figures[0].writes_n + seen.figures[1].writes_n, 0);
}

/* Its eviction, that it has given its quota back and why it waits now, its next admission. Between them nothing is written that it says. */
static void a_change_of_phase_is_one_write(void **state)
{
    (void)state;
    queues("4");
    preemption("LowerPriority");
    workload("c", 4);
    run(3000);
    assert_true(object_condition_true(workload_get("c"), "Admitted"));
    seen.writes_of_c_n = 0;
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"high\",\"namespace\":\"n\"},\"spec\":{"
           "\"queueName\":\"lq\",\"priority\":1000,\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":"
           "\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"4\"}}}]}}}]}}");
    run(20000);
    assert_true(object_condition_true(workload_get("c"), "Evicted"));
    assert_int_equal(seen.writes_of_c_n, 1);
    kube_patch(w.user, KUBE_PATCH_MERGE, WORKLOADS "/c/status",
               BYTES("{\"status\":{\"admission\":null,\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\",\"reason\":\"Pending\","
                     "\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"},{\"type\":\"Evicted\",\"status\":\"True\",\"reason\":"
                     "\"Preempted\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}"),
               NULL, NULL);
    run(20000);
    assert_true(object_condition_true(workload_get("high"), "Admitted"));
    assert_true(*object_waiting(workload_get("c")));
    assert_int_equal(seen.writes_of_c_n, 2);
    kube_delete(w.user, WORKLOADS "/high", BYTES(""), NULL, NULL);
    run(20000);
    assert_true(object_condition_true(workload_get("c"), "Admitted"));
    assert_int_equal(seen.writes_of_c_n, 3);
    run(60000);
    assert_int_equal(seen.writes_of_c_n, 3);
}

static bool is_counted(const char *line)
{
    struct buf page;
    buf_init(&page);
    scheduler_page(w.scheduler, false, &page);
    bool counted = page.n && memmem(page.data, page.n, line, strlen(line));
    buf_free(&page);
    return counted;
}

/* Somebody finishes a Workload, or deletes one that has a finalizer, before the scheduler has seen that it is admitted. */
static void an_admission_that_ends_at_once_is_told(void **state)
{
    (void)state;
    static const char finished[] = "[{\"op\":\"add\",\"path\":\"/status/conditions/-\",\"value\":{\"type\":\"Finished\",\"status\":\"True\","
                                   "\"reason\":\"ByTest\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}}]";
    queues("4");
    run(3000);
    for (int deletes = 0; deletes < 2; deletes++) {
        const char *name = deletes ? "d" : "c", *path = arena_printf(w.a, WORKLOADS "/%s", name);
        workload(name, 1);
        if (deletes)
            kube_patch(w.user, KUBE_PATCH_MERGE, path, BYTES("{\"metadata\":{\"finalizers\":[\"example.com/stays\"]}}"), NULL, NULL);
        for (int i = 0; i < 5000 && !object_condition_true(get(path), "Admitted"); i++)
            run(1);
        if (deletes)
            kube_delete(w.user, path, BYTES(""), NULL, NULL);
        else
            kube_patch(w.user, KUBE_PATCH_JSON, arena_printf(w.a, "%s/status", path), bytes_of(finished), NULL, NULL);
        run(3000);
        assert_true(is_counted(arena_printf(w.a, "kueue_quota_reserved_workloads_total{cluster_queue=\"cq\",priority_class=\"\","
                                                 "replica_role=\"standalone\"} %d\n", deletes + 1)));
        assert_true(is_counted(arena_printf(w.a, "kueue_admitted_workloads_total{cluster_queue=\"cq\",priority_class=\"\","
                                                 "replica_role=\"standalone\"} %d\n", deletes + 1)));
    }
}

/* The scheduler ends as soon as the object shows what it has written, before it comes back to it. */
static void what_was_done_is_told_at_the_end(void **state)
{
    (void)state;
    queues("4");
    run(3000);
    workload("a", 1);
    for (int i = 0; i < 5000 && !object_condition_true(workload_get("a"), "Admitted"); i++)
        run(1);
    run(2);
    scheduler_stop(w.scheduler);
    run(1000);
    int told_n = 0;
    JSON_EACH (event, json_get(get("/api/v1/namespaces/n/events"), "items")) {
        const char *reason = json_get_text(event, "reason", "");
        told_n += strcmp(reason, "QuotaReserved") == 0 || strcmp(reason, "Admitted") == 0;
    }
    assert_int_equal(told_n, 2);
}

/* Writes to Workloads that wait when one of so many gives its quota back and another starts. */
static int told_of_an_end(int waiting_n)
{
    queues("1");
    workload("c", 1);
    run(3000);
    for (int i = 0; i < waiting_n; i++)
        workload(arena_printf(w.a, "wait-%d", i), 1);
    run(TELLING_NUMBERS_MS);
    assert_true(*object_waiting(workload_get(arena_printf(w.a, "wait-%d", waiting_n - 1))));
    seen.writes_of_waiting_n = 0;
    kube_delete(w.user, KUEUE "/namespaces/n/workloads/c", (struct bytes){0}, NULL, NULL);
    run(TELLING_NUMBERS_MS);
    assert_true(object_condition_true(workload_get("wait-0"), "Admitted"));
    return seen.writes_of_waiting_n;
}

static void an_end_is_no_news_to_those_who_wait_on(void **state)
{
    (void)state;
    assert_true(told_of_an_end(40) <= 2); /* who starts, and whom the next in line waits for by now */
}

static void stop_policy(const char *policy)
{
    kube_patch(w.user, KUBE_PATCH_MERGE, KUEUE "/clusterqueues/cq",
               bytes_of(arena_printf(w.a, "{\"spec\":{\"stopPolicy\":\"%s\"}}", policy)), NULL, NULL);
}

/* A queue is stopped for a while, at any time after somebody came behind a blocked head: who waits is told of the stop no more within the
 * seconds between two sentences. */
static void a_stop_that_is_over_is_told_no_more(void **state)
{
    (void)state;
    queues("4");
    kube_patch(w.user, KUBE_PATCH_MERGE, KUEUE "/clusterqueues/cq", BYTES("{\"spec\":{\"queueingStrategy\":\"StrictFIFO\"}}"), NULL, NULL);
    workload("a", 4);
    run(3000);
    int told_n = 0;
    for (int after_ms = 0; after_ms < 8000; after_ms += 230)
        for (int for_ms = 100; for_ms < 3000; for_ms += 700) {
            const char *const names[] = {"b", "c"};
            workload("b", 4);
            workload("c", 1);
            run(after_ms);
            stop_policy("Hold");
            run(for_ms);
            told_n += strstr(object_waiting(workload_get("b")), "is stopped") != NULL;
            stop_policy("None");
            run(TELLING_AGAIN_MS + TELLING_SETTLE_MS + 500);
            for (int i = 0; i < 2; i++)
                if (strstr(object_waiting(workload_get(names[i])), "stopped"))
                    fail_msg("%s, stopped after %d ms for %d ms: %s", names[i], after_ms, for_ms, object_waiting(workload_get(names[i])));
            for (int i = 0; i < 2; i++)
                kube_delete(w.user, arena_printf(w.a, WORKLOADS "/%s", names[i]), BYTES(""), NULL, NULL);
            run(1000);
        }
    assert_true(told_n > 40);
}

static void ranked(const char *queue, const char *name, int priority)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s-%s\",\"namespace\":\"n\"},"
                        "\"spec\":{\"queueName\":\"lq-%s\",\"priority\":%d,\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{"
                        "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"2\"}}}]}}}]}}",
                        queue, name, queue, priority));
    run(25);
}

/* Workloads and queues come by watches of their own: what was made before the hold was lifted counts, whichever is faster. */
static void a_lifted_hold_lets_the_highest_in(void **state)
{
    (void)state;
    node("big", "nvidia.com/gpu", 100);
    queues("1");
    run(1000);
    w.faults.latency_ms_max = 100;
    for (int i = 0; i < 10; i++) {
        const char *name = arena_printf(w.a, "q%d", i);
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq-%s\"},\"spec\":{"
                            "\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"f\","
                            "\"resources\":[{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"4\"}]}]}]%s}}",
                            name, i % 2 ? ",\"stopPolicy\":\"Hold\"" : ""));
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"lq-%s\",\"namespace\":\"n\"},"
                            "\"spec\":{\"clusterQueue\":\"cq-%s\"%s}}",
                            name, name, i % 2 ? "" : ",\"stopPolicy\":\"Hold\""));
        run(1000);
        ranked(name, "low", 0);
        ranked(name, "mid1", 10);
        ranked(name, "mid2", 10);
        ranked(name, "high1", 100);
        ranked(name, "high2", 100);
        kube_patch(w.user, KUBE_PATCH_MERGE,
                   i % 2 ? arena_printf(w.a, KUEUE "/clusterqueues/cq-%s", name)
                         : arena_printf(w.a, KUEUE "/namespaces/n/localqueues/lq-%s", name),
                   BYTES("{\"spec\":{\"stopPolicy\":\"None\"}}"), NULL, NULL);
        run(3000);
        assert_true(object_condition_true(workload_get(arena_printf(w.a, "%s-high1", name)), "Admitted"));
        assert_true(object_condition_true(workload_get(arena_printf(w.a, "%s-high2", name)), "Admitted"));
        assert_false(object_condition_true(workload_get(arena_printf(w.a, "%s-mid1", name)), "Admitted"));
    }
}

/* A scheduler that starts again finds everything said. */
static void a_restart_writes_nothing(void **state)
{
    (void)state;
    queues("4");
    workload("a", 3);
    workload("b", 2);
    workload("c", 8);
    pod("p", "", 8);
    create("{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},\"spec\":{"
           "\"minMember\":2}}");
    pod("g0", "\"scheduling.x-k8s.io/pod-group\":\"g\"", 4);
    pod("g1", "\"scheduling.x-k8s.io/pod-group\":\"g\"", 4);
    run(20000);
    assert_true(*object_waiting(workload_get("b")) && *object_waiting(workload_get("c")) && *object_waiting(get(GROUP)) && *pod_told("p"));
    scheduler_free(w.scheduler);
    seen.writes_n = 0;
    scheduler_start();
    run(50000);
    assert_int_equal(seen.writes_n, 0);
}

static void reservation_by_another(const char *name)
{
    kube_patch(w.user, KUBE_PATCH_MERGE, arena_printf(w.a, KUEUE "/namespaces/n/workloads/%s/status", name),
               BYTES("{\"status\":{\"admission\":{\"clusterQueue\":\"cq\",\"podSetAssignments\":[{\"name\":\"main\",\"count\":1,\"flavors\":{"
                     "\"nvidia.com/gpu\":\"f\"},\"resourceUsage\":{\"nvidia.com/gpu\":\"2\"}}]},\"conditions\":[{\"type\":\"QuotaReserved\","
                     "\"status\":\"True\",\"reason\":\"QuotaReserved\",\"message\":\"by hand\",\"lastTransitionTime\":"
                     "\"2026-01-01T00:00:00Z\"}]}}"),
               NULL, NULL);
}

/* A group ends and a quota is reserved while no scheduler runs: nothing changes any more when one comes back. */
static void what_happened_meanwhile_is_told(void **state)
{
    (void)state;
    queues("2");
    create("{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},\"spec\":{"
           "\"minMember\":1}}");
    pod("g0", "\"scheduling.x-k8s.io/pod-group\":\"g\"", 1);
    run(3000);
    kube_patch(w.user, KUBE_PATCH_MERGE, PODS "/g0/status", BYTES("{\"status\":{\"phase\":\"Running\"}}"), NULL, NULL);
    run(3000);
    assert_string_equal(json_text(json_path(get(GROUP), "status", "phase", NULL), ""), "Running");
    scheduler_free(w.scheduler);
    kube_patch(w.user, KUBE_PATCH_MERGE, PODS "/g0/status", BYTES("{\"status\":{\"phase\":\"Succeeded\"}}"), NULL, NULL);
    workload("a", 2);
    reservation_by_another("a");
    run(1000);
    scheduler_start();
    assert_string_equal(json_text(json_path(get(GROUP), "status", "phase", NULL), ""), "Finished");
    assert_true(object_condition_true(workload_get("a"), "Admitted"));
}

/* ---- by which word: autoscalers buy for pods that are Unschedulable, and for no others ---- */

static const char *pod_reason(const char *name)
{
    return json_get_text(object_condition(get(arena_printf(w.a, PODS "/%s", name)), "PodScheduled"), "reason", "");
}

static void who_waits_for_quota_is_not_unschedulable(void **state)
{
    (void)state;
    node("big", "nvidia.com/gpu", 16);
    create("{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"small\"},\"spec\":{\"weight\":1,"
           "\"capability\":{\"nvidia.com/gpu\":2}}}");
    create("{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},\"spec\":{"
           "\"minMember\":1,\"queue\":\"small\"}}");
    create("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"v\",\"namespace\":\"n\",\"annotations\":{"
           "\"scheduling.k8s.io/group-name\":\"g\"}},\"spec\":{\"schedulerName\":\"volcano\",\"containers\":[{\"name\":\"main\",\"image\":\"x\","
           "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"4\"}}}]}}");
    run(3000);
    assert_non_null(strstr(pod_told("v"), "small"));
    assert_string_equal(pod_reason("v"), "ExceedsMaxQuota");
    pod("l", "", 32); /* and who lacks a node is */
    run(3000);
    assert_string_equal(pod_reason("l"), "Unschedulable");
}

static void who_waits_for_members_is_not_unschedulable(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},\"spec\":{"
           "\"minMember\":2}}");
    pod("a", "\"scheduling.x-k8s.io/pod-group\":\"g\"", 4);
    run(TELLING_MEMBERS_MS + 2000);
    assert_string_equal(pod_reason("a"), "WaitingForMembers");
    pod("b", "\"scheduling.x-k8s.io/pod-group\":\"g\"", 4);
    run(TELLING_AGAIN_MS + 2000);
    assert_string_equal(pod_reason("a"), "Unschedulable");
    assert_string_equal(pod_reason("b"), "Unschedulable");
}

/* Quota for 64 GPUs, and a check for nodes that may come later. */
static void queues_with_machines_to_come(void)
{
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"AdmissionCheck\",\"metadata\":{\"name\":\"m\"},\"spec\":{\"controllerName\":"
           "\"capstan.dev/scale-up\"}}");
    queues("64");
    kube_patch(w.user, KUBE_PATCH_MERGE, KUEUE "/clusterqueues/cq",
               BYTES("{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"m\"}]}}}"), NULL, NULL);
    run(1000);
}

/* A Workload has its quota, its check says that its nodes may come later, and its pods are made one after the other. */
static void pods_of_a_workload_are_unschedulable_when_all_are_made(void **state)
{
    (void)state;
    queues_with_machines_to_come();
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},\"spec\":{"
           "\"queueName\":\"lq\",\"podSets\":[{\"name\":\"main\",\"count\":3,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
           "\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"4\"}}}]}}}]}}");
    run(2000);
    assert_true(object_condition_true(workload_get("g"), "Admitted"));
    static const char *const names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++, run(2000)) {
        assert_string_equal(pod_reason("a"), "");
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"annotations\":{"
                            "\"kueue.x-k8s.io/workload\":\"g\"},\"labels\":{\"kueue.x-k8s.io/podset\":\"main\"}},\"spec\":{\"containers\":[{"
                            "\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"4\"}}}]}}",
                            names[i]));
    }
    for (int i = 0; i < 3; i++)
        assert_string_equal(pod_reason(names[i]), "Unschedulable");
}

/* One of them is never made: the others say so, and nobody buys for them. */
static void pods_of_a_workload_that_is_never_made(void **state)
{
    (void)state;
    queues("64");
    node("a", "nvidia.com/gpu", 4);
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},\"spec\":{"
           "\"queueName\":\"lq\",\"podSets\":[{\"name\":\"main\",\"count\":2,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
           "\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"4\"}}}]}}}]}}");
    run(2000);
    assert_true(object_condition_true(workload_get("g"), "Admitted"));
    kube_delete(w.user, "/api/v1/nodes/a", BYTES(""), NULL, NULL);
    run(1000);
    create("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"one\",\"namespace\":\"n\",\"annotations\":{"
           "\"kueue.x-k8s.io/workload\":\"g\"},\"labels\":{\"kueue.x-k8s.io/podset\":\"main\"}},\"spec\":{\"containers\":[{"
           "\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"4\"}}}]}}");
    run(TELLING_MEMBERS_MS + 2000);
    assert_string_equal(pod_reason("one"), "WaitingForMembers");
    assert_string_equal(pod_told("one"), "1 more pods of it are to be made");
}

/* A node that came while a gang waits for machines is kept for it: others are told so, but who was made for that node. */
static void a_node_that_is_held_is_told_to_others(void **state)
{
    (void)state;
    queues_with_machines_to_come();
    workload("g", 8);
    run(2000);
    assert_true(object_condition_true(workload_get("g"), "Admitted"));
    node("new", "nvidia.com/gpu", 8);
    pod("other", "", 5);
    create("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"daemon\",\"namespace\":\"n\"},\"spec\":{\"affinity\":{\"nodeAffinity\":{"
           "\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":"
           "\"In\",\"values\":[\"new\"]}]}]}}},\"containers\":[{\"name\":\"main\",\"image\":\"x\"}]}}");
    run(3000);
    assert_non_null(strstr(pod_told("other"), "untolerated taint {capstan.dev/held-for}"));
    assert_string_equal(json_text(json_path(get(PODS "/daemon"), "spec", "nodeName", NULL), ""), "new");
    kube_delete(w.user, KUEUE "/namespaces/n/workloads/g", BYTES(""), NULL, NULL);
    run(3000);
    assert_string_equal(json_text(json_path(get(PODS "/other"), "spec", "nodeName", NULL), ""), "new");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pods_that_are_being_made_are_no_complaint, setup, teardown),
        cmocka_unit_test_setup_teardown(pods_that_stay_away_are_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_changed_number_is_no_news, setup, teardown),
        cmocka_unit_test_setup_teardown(a_changed_remark_is_told_in_time, setup, teardown),
        cmocka_unit_test_setup_teardown(an_end_is_no_news_to_those_who_wait_on, setup, teardown),
        cmocka_unit_test_setup_teardown(an_admission_is_one_write, setup, teardown),
        cmocka_unit_test_setup_teardown(figures_of_queues_are_written_once_a_second, setup, teardown),
        cmocka_unit_test_setup_teardown(a_change_of_phase_is_one_write, setup, teardown),
        cmocka_unit_test_setup_teardown(an_admission_that_ends_at_once_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_done_is_told_at_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stop_that_is_over_is_told_no_more, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lifted_hold_lets_the_highest_in, setup, teardown),
        cmocka_unit_test_setup_teardown(a_restart_writes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(what_happened_meanwhile_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(who_waits_for_quota_is_not_unschedulable, setup, teardown),
        cmocka_unit_test_setup_teardown(who_waits_for_members_is_not_unschedulable, setup, teardown),
        cmocka_unit_test_setup_teardown(pods_of_a_workload_are_unschedulable_when_all_are_made, setup, teardown),
        cmocka_unit_test_setup_teardown(pods_of_a_workload_that_is_never_made, setup, teardown),
        cmocka_unit_test_setup_teardown(a_node_that_is_held_is_told_to_others, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
