/* What a PodGroup of KAI's says while it waits, and after, as its own scheduler does: status.schedulingConditions, the event NotReady. */
#include "../stage.h"

static int open_stage(void **state)
{
    (void)state;
    stage_open(NULL);
    node("n0", "nvidia.com/gpu", 4);
    return 0;
}

static void kai_queue(const char *name, int limit)
{
    const char *free = "{\"quota\":-1,\"limit\":-1}";
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"scheduling.run.ai/v2\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"%s\"},\"spec\":{\"resources\":{"
                        "\"gpu\":{\"quota\":%d,\"limit\":%d,\"overQuotaWeight\":1},\"cpu\":%s,\"memory\":%s}}}",
                        name, limit, limit, free, free));
}

static void pod(const char *name, const char *group, int gpus)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"annotations\":{"
                        "\"pod-group-name\":\"%s\"}},\"spec\":{\"schedulerName\":\"kai-scheduler\",\"containers\":[{\"name\":\"main\","
                        "\"image\":\"x\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"%d\"}}}]}}", name, group, gpus));
}

static void group(const char *name, const char *queue, int least)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"scheduling.run.ai/v2alpha2\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                        "\"spec\":{\"minMember\":%d,\"queue\":\"%s\"}}", name, least, queue));
}

/* "TYPE STATUS POOL REASON REASON-OF-LIST QUEUE", "" where it says none. */
static const char *said(const char *name)
{
    const struct json *o = get(arena_printf(w.a, "/apis/scheduling.run.ai/v2alpha2/namespaces/n/podgroups/%s", name));
    const struct json *list = json_path(o, "status", "schedulingConditions", NULL), *c = json_item(list, 0);
    const struct json *why = json_item(json_get(c, "reasons"), 0);
    if (!c)
        return "";
    assert_int_equal(list->n, 1);
    assert_true(*json_get_text(c, "message", "") && *json_get_text(c, "lastTransitionTime", ""));
    assert_string_equal(json_get_text(why, "message", ""), why ? json_get_text(c, "message", "") : "");
    return arena_printf(w.a, "%s %s %s %s %s %s", json_get_text(c, "type", ""), json_get_text(c, "status", ""), json_get_text(c, "nodePool", ""),
                        json_get_text(c, "reason", ""), json_get_text(why, "reason", "-"),
                        json_text(json_path(why, "details", "queueDetails", "name", NULL), "-"));
}

#define WAITS "UnschedulableOnNodePool True default Unschedulable "
static void says_why_it_waits(void **state)
{
    (void)state;
    kai_queue("team", 1);
    kai_queue("other", -1);
    group("over", "team", 1);
    pod("over-0", "over", 2);
    group("nowhere", "gone", 1);
    pod("nowhere-0", "nowhere", 1);
    group("large", "other", 1);
    pod("large-0", "large", 5);
    group("fits", "other", 1);
    pod("fits-0", "fits", 4);
    group("second", "team", 1);
    pod("second-0", "second", 1);
    scheduler_start();
    run(8000);
    assert_string_equal(said("over"), WAITS "OverLimit team");
    assert_string_equal(said("nowhere"), WAITS "QueueDoesNotExist gone");
    assert_string_equal(said("large"), WAITS "- -"); /* of nodes KAI names no reason */
    assert_string_equal(said("fits"), "");
    assert_string_equal(said("second"), WAITS "- -");
    kube_delete(w.user, PODS "/fits-0", BYTES("{\"gracePeriodSeconds\":0}"), NULL, NULL);
    run(8000);
    assert_string_equal(said("second"), ""); /* it runs */
}

static const char *status_of(const char *queue, const char *field)
{
    const struct json *o = get(arena_printf(w.a, "/apis/scheduling.run.ai/v2/queues/%s", queue));
    return json_text(json_path(o, "status", field, "nvidia.com/gpu", NULL), "");
}

static void kept_group(const char *name, int gpus)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"scheduling.run.ai/v2alpha2\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                        "\"spec\":{\"minMember\":1,\"queue\":\"team\",\"preemptibility\":\"non-preemptible\"}}", name));
    pod(arena_printf(w.a, "%s-0", name), name, gpus);
}

/* Who is non-preemptible stays within the quota, whoever else borrows. */
static void says_what_is_over_quota(void **state)
{
    (void)state;
    const char *free = "{\"quota\":-1,\"limit\":-1}";
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"scheduling.run.ai/v2\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"team\"},\"spec\":{\"resources\":{"
                        "\"gpu\":{\"quota\":1,\"limit\":-1,\"overQuotaWeight\":1},\"cpu\":%s,\"memory\":%s}}}", free, free));
    kept_group("one", 1);
    kept_group("two", 2);
    group("others", "team", 1);
    pod("others-0", "others", 2);
    scheduler_start();
    run(8000);
    assert_string_equal(said("one"), "");
    assert_string_equal(said("others"), "");
    assert_string_equal(said("two"), WAITS "NonPreemptibleOverQuota team");
    assert_string_equal(status_of("team", "allocated"), "3");
    assert_string_equal(status_of("team", "allocatedNonPreemptible"), "1");
}

static const char *event_of(const char *name)
{
    const struct json *items = json_get(get("/api/v1/namespaces/n/events"), "items");
    JSON_EACH (e, items)
        if (strcmp(json_text(json_path(e, "involvedObject", "name", NULL), ""), name) == 0 &&
            strcmp(json_text(json_path(e, "involvedObject", "kind", NULL), ""), "PodGroup") == 0)
            return arena_printf(w.a, "%s %s %s", json_get_text(e, "type", ""), json_get_text(e, "reason", ""), json_get_text(e, "message", ""));
    return "";
}

static void says_whom_it_waits_for(void **state)
{
    (void)state;
    kai_queue("team", -1);
    group("two", "team", 2);
    pod("two-0", "two", 1);
    scheduler_start();
    run(15000);
    assert_string_equal(event_of("two"), "Normal NotReady Job is not ready for scheduling. Waiting for 2 pods, currently 1 exist, 0 are gated");
    assert_string_equal(said("two"), "");
}

static int64_t told_of_what_does_nothing(void)
{
    const struct json *items = json_get(get("/api/v1/namespaces/n/events"), "items");
    int64_t n = 0;
    JSON_EACH (e, items)
        if (strcmp(json_get_text(e, "reason", ""), "PodGroupIgnored") == 0)
            n += json_get_int64(e, "count", 1);
    return n;
}

#define GROUP "/apis/scheduling.run.ai/v2alpha2/namespaces/n/podgroups/g"

/* There it is written once, and again when it is another one, or the group is. */
static void writes_no_phase_where_none_is_kept(void **state)
{
    (void)state;
    kai_queue("team", -1);
    group("g", "team", 2);
    pod("g-0", "g", 1);
    scheduler_start();
    run(8000);
    assert_string_equal(json_text(json_path(get(GROUP), "status", "phase", NULL), ""), "Pending");
    kube_patch(w.user, KUBE_PATCH_MERGE, GROUP "/status", BYTES("{\"status\":{\"phase\":null,\"pending\":null}}"), NULL, NULL);
    run(20000);
    assert_null(json_path(get(GROUP), "status", "phase", NULL));
    pod("g-1", "g", 1);
    run(8000);
    assert_string_equal(json_text(json_path(get(GROUP), "status", "phase", NULL), ""), "Running");
    kube_delete(w.user, GROUP, BYTES(""), NULL, NULL);
    run(2000);
    group("g", "team", 2);
    run(8000);
    assert_string_equal(json_text(json_path(get(GROUP), "status", "phase", NULL), ""), "Running");
}

/* In KAI's own definition of today there is no status.phase: what is written there is gone, and nothing is said again for that. */
static void says_once_what_does_nothing(void **state)
{
    (void)state;
    const char *path = "/apis/scheduling.run.ai/v2alpha2/namespaces/n/podgroups/g/status";
    create("{\"apiVersion\":\"scheduling.run.ai/v2alpha2\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},"
           "\"spec\":{\"minMember\":1,\"topologyConstraint\":{\"requiredTopologyLevel\":\"rack\"}}}");
    pod("g-0", "g", 1);
    scheduler_start();
    run(5000);
    assert_int_equal(told_of_what_does_nothing(), 1);
    for (int i = 0; i < 3; i++) {
        kube_patch(w.user, KUBE_PATCH_MERGE, path, BYTES("{\"status\":{\"phase\":null}}"), NULL, NULL);
        run(5000);
    }
    assert_int_equal(told_of_what_does_nothing(), 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_stage, teardown)
    const struct CMUnitTest tests[] = {TEST(says_why_it_waits), TEST(says_what_is_over_quota), TEST(says_whom_it_waits_for),
                                       TEST(says_once_what_does_nothing), TEST(writes_no_phase_where_none_is_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
