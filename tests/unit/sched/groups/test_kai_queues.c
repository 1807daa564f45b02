/* KAI's Queues before and after the groups that name them; nodes that come; who writes their status. */
#include "../stage.h"
#include "core/state/state.h"
#include "kube/object.h"

static int open_stage(void **state)
{
    (void)state;
    stage_open(NULL);
    node("n0", "nvidia.com/gpu", 4);
    return 0;
}

/* gpu: quota, limit, weight */
static void kai_queue(const char *name, int quota, int limit, int weight)
{
    const char *free = "{\"quota\":-1,\"limit\":-1}";
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"scheduling.run.ai/v2\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"%s\"},\"spec\":{\"resources\":{"
                        "\"gpu\":{\"quota\":%d,\"limit\":%d,\"overQuotaWeight\":%d},\"cpu\":%s,\"memory\":%s}}}",
                        name, quota, limit, weight, free, free));
}

/* Of pods with one of the resource each; and with a fraction, or NULL. */
static void group_with(const char *name, const char *queue, int n, const char *resource, const char *fraction)
{
    const char *note = fraction ? arena_printf(w.a, ",\"gpu-fraction\":\"%s\"", fraction) : "";
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"scheduling.run.ai/v2alpha2\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                        "\"spec\":{\"minMember\":%d,\"queue\":\"%s\"}}", name, n, queue));
    for (int i = 0; i < n; i++)
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s-%d\",\"namespace\":\"n\",\"annotations\":{"
                            "\"pod-group-name\":\"%s\"%s}},\"spec\":{\"schedulerName\":\"kai-scheduler\",\"containers\":[{\"name\":\"main\","
                            "\"image\":\"x\",\"resources\":{\"limits\":{\"%s\":\"1\"}}}]}}", name, i, name, note, resource));
}

static void group_of(const char *name, const char *queue, int n, const char *resource)
{
    group_with(name, queue, n, resource, NULL);
}

static void group(const char *name, const char *queue, int n)
{
    group_of(name, queue, n, "nvidia.com/gpu");
}

static bool is_bound(const char *name)
{
    const struct json *pod = get(arena_printf(w.a, PODS "/%s-0", name));
    return *json_text(json_path(pod, "spec", "nodeName", NULL), "") != '\0';
}

static int bound_n(const char *group)
{
    int n = 0;
    JSON_EACH (pod, json_get(get(PODS), "items"))
        n += strcmp(object_annotation(pod, "pod-group-name"), group) == 0 && *json_text(json_path(pod, "spec", "nodeName", NULL), "");
    return n;
}

static const char *told(const char *name)
{
    return json_get_text(object_condition(get(arena_printf(w.a, PODS "/%s-0", name)), "PodScheduled"), "message", "");
}

/* What a queue deserves, as the core has it. */
static int64_t deserved(const char *name, const char *resource)
{
    struct state *s = scheduler_state(w.scheduler);
    struct queue_usage *rows = NULL;
    name_id id = intern_find(state_names(s), bytes_of(arena_printf(w.a, "kai:%s", name)));
    for (uint32_t i = 0, n = id ? state_queue_usage(s, id, w.a, &rows) : 0; i < n; i++)
        if (strcmp(intern_name(state_names(s), rows[i].resource), resource) == 0)
            return rows[i].nominal;
    return -1;
}

static void groups_never_start_outside_of_their_queue(void **state)
{
    (void)state;
    group("large", "team", 3);
    group("small", "team", 2);
    group("lost", "none", 1);
    kai_queue("team", 2, 2, 1);
    scheduler_start();
    run(5000);
    assert_false(is_bound("large"));
    assert_true(is_bound("small"));
    assert_false(is_bound("lost"));
    assert_non_null(strstr(told("lost"), "queue none doesn't exist"));
    kai_queue("none", 1, 1, 1);
    run(5000);
    assert_true(is_bound("lost"));
    const struct json *status = json_get(get("/apis/scheduling.run.ai/v2/queues/team"), "status");
    assert_string_equal(json_text(json_path(status, "allocated", "nvidia.com/gpu", NULL), ""), "2");
}

/* The watch of groups may be ahead of that of queues. */
static void both_come_at_once(void **state)
{
    (void)state;
    scheduler_start();
    group("both", "late", 2);
    kai_queue("late", 1, 1, 1);
    run(5000);
    assert_false(is_bound("both"));
}

static void shares_follow_nodes(void **state)
{
    (void)state;
    kai_queue("a", 1, -1, 1);
    kai_queue("b", 1, -1, 1);
    scheduler_start();
    assert_int_equal(deserved("a", "gpu"), 2000);
    assert_int_equal(deserved("b", "gpu"), 2000);
    assert_int_equal(deserved("a", "cpu"), 64000);
    node("n1", "nvidia.com/gpu", 8);
    run(2000);
    assert_int_equal(deserved("a", "gpu"), 6000);
    kube_delete(w.user, "/apis/scheduling.run.ai/v2/queues/b", BYTES(""), NULL, NULL);
    run(2000);
    group("first", "a", 1);
    group("second", "gone", 1);
    run(5000);
    assert_true(is_bound("first"));
    assert_false(is_bound("second"));
    kube_delete(w.user, "/apis/scheduling.run.ai/v2/queues/a", BYTES(""), NULL, NULL);
    run(5000);
    assert_true(is_bound("second")); /* there are no Queues any more: a name counts in none */
}

/* What is beyond quotas goes by weight to those that have pods: to all of it while nobody else has, as his part once somebody has. */
static void shares_follow_what_is_asked(void **state)
{
    (void)state;
    kai_queue("a", 0, -1, 1);
    kai_queue("b", 0, -1, 3);
    scheduler_start();
    run(1000);
    assert_int_equal(deserved("a", "gpu"), 1000);
    assert_int_equal(deserved("b", "gpu"), 3000);
    group("first", "a", 4);
    run(2000);
    assert_true(is_bound("first"));
    assert_int_equal(deserved("a", "gpu"), 4000);
    group("second", "b", 4);
    run(2000);
    assert_int_equal(deserved("a", "gpu"), 1000);
    assert_int_equal(deserved("b", "gpu"), 3000);
}

/* The device that hands out a part of a GPU is no second one: two halves ask for one GPU, as the queue counts them. */
static void parts_ask_for_no_device_besides(void **state)
{
    (void)state;
    kai_queue("a", 0, -1, 1);
    kai_queue("b", 0, -1, 1);
    group_with("halves", "a", 2, "nvidia.com/gpu", "0.5");
    group("whole", "b", 4);
    scheduler_start();
    run(1000);
    assert_int_equal(deserved("a", "gpu"), 1000);
    assert_int_equal(deserved("b", "gpu"), 3000);
}

/* Of two groups of one queue that may grow, both do. */
static void groups_grow_by_turns(void **state)
{
    (void)state;
    kai_queue("team", 0, 0, 1);
    for (int i = 0; i < 2; i++)
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"scheduling.run.ai/v2alpha2\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"g%d\",\"namespace\":\"n\"},"
                            "\"spec\":{\"minMember\":1,\"queue\":\"team\"}}", i));
    for (int i = 0; i < 8; i++)
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"g%d-%d\",\"namespace\":\"n\",\"annotations\":{"
                            "\"pod-group-name\":\"g%d\"}},\"spec\":{\"schedulerName\":\"kai-scheduler\",\"containers\":[{\"name\":\"main\","
                            "\"image\":\"x\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}", i % 2, i / 2, i % 2));
    scheduler_start();
    assert_int_equal(bound_n("g0") + bound_n("g1"), 0);
    kube_patch(w.user, KUBE_PATCH_MERGE, "/apis/scheduling.run.ai/v2/queues/team",
               BYTES("{\"spec\":{\"resources\":{\"gpu\":{\"quota\":4,\"limit\":4}}}}"), NULL, NULL);
    run(3000);
    assert_int_equal(bound_n("g0"), 2);
    assert_int_equal(bound_n("g1"), 2);
}

/* The one that begins anew counts what is asked before it decides anything: nobody is ended whom the one before would have let stand. */
static void begins_with_what_is_asked(void **state)
{
    (void)state;
    kai_queue("a", 0, -1, 1);
    kai_queue("b", 0, -1, 3);
    group("first", "a", 4);
    scheduler_start();
    assert_int_equal(deserved("a", "gpu"), 4000);
}

/* An instance of three slices counts as three GPUs, also in what there is to be dealt out; so it does once nodes have others. */
static void counts_mig_instances(void **state)
{
    (void)state;
    kai_queue("team", 4, 7, 1);
    kai_queue("other", 0, -1, 1);
    node("m0", "nvidia.com/mig-3g.20gb", 4);
    scheduler_start();
    assert_int_equal(deserved("team", "gpu"), 7000);
    assert_int_equal(deserved("other", "gpu"), 9000); /* 16 - 4 - 3 */
    assert_int_equal(deserved("team", "nvidia.com/gpu"), -1);
    group_of("two", "team", 2, "nvidia.com/mig-3g.20gb");
    group_of("third", "team", 1, "nvidia.com/mig-3g.20gb");
    run(5000);
    assert_true(is_bound("two"));
    assert_false(is_bound("third"));
    assert_non_null(strstr(told("third"), "insufficient unused quota for gpu in queue team, 2 more needed"));
    group("whole", "team", 1);
    group("second", "team", 1);
    run(5000);
    assert_true(is_bound("whole")); /* 6 and 1 of 7, and no more */
    assert_false(is_bound("second"));
    const struct json *status = json_get(get("/apis/scheduling.run.ai/v2/queues/team"), "status");
    assert_string_equal(json_text(json_path(status, "allocated", "nvidia.com/gpu", NULL), ""), "7");
    node("m1", "nvidia.com/mig-1g.5gb", 12);
    run(2000);
    assert_int_equal(deserved("other", "gpu"), 21000);
}

static void leaves_the_status_to_kai(void **state)
{
    (void)state;
    static const char *const names[] = {"capstan", NULL};
    kai_queue("team", 2, 2, 1);
    scheduler_start_with((struct scheduler_config){.names = names});
    run(5000);
    assert_null(json_path(get("/apis/scheduling.run.ai/v2/queues/team"), "status", "allocated", NULL));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_stage, teardown)
    const struct CMUnitTest tests[] = {TEST(groups_never_start_outside_of_their_queue), TEST(both_come_at_once),
                                       TEST(shares_follow_nodes), TEST(shares_follow_what_is_asked),
                                       TEST(parts_ask_for_no_device_besides), TEST(groups_grow_by_turns),
                                       TEST(begins_with_what_is_asked), TEST(counts_mig_instances),
                                       TEST(leaves_the_status_to_kai)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
