/* Trees of CompositePodGroups while they come, change and go, in any order; a scheduler that begins anew. */
#include "../stage.h"
#include "kube/object.h"
#include "sched/telling/telling.h"

#define GROUPS "/apis/scheduling.k8s.io/v1beta1/namespaces/n/podgroups"
#define COMPOSITES "/apis/scheduling.k8s.io/v1alpha3/namespaces/n/compositepodgroups"
#define REF "\"workloadRef\":{\"workloadName\":\"w\",\"templateName\":\"t\"}"

static int open_stage(void **state)
{
    (void)state;
    stage_open(NULL);
    node("n0", "nvidia.com/gpu", 2000);
    scheduler_start();
    return 0;
}

static const char *below(const char *parent)
{
    return *parent ? arena_printf(w.a, "\"parentCompositePodGroupName\":\"%s\",", parent) : "";
}

static void composite(const char *name, const char *parent, int least)
{
    const char *policy = least ? arena_printf(w.a, "\"gang\":{\"minGroupCount\":%d}", least) : "\"basic\":{}";
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"scheduling.k8s.io/v1alpha3\",\"kind\":\"CompositePodGroup\",\"metadata\":{\"name\":\"%s\","
                        "\"namespace\":\"n\"},\"spec\":{%s" REF ",\"schedulingPolicy\":{%s}}}", name, below(parent), policy));
}

static void group(const char *name, const char *parent, int least)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"scheduling.k8s.io/v1beta1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"%s\","
                        "\"namespace\":\"n\"},\"spec\":{%s" REF ",\"schedulingPolicy\":{\"gang\":{\"minCount\":%d}}}}", name, below(parent),
                        least));
}

static void pod(const char *name, const char *of)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},\"spec\":{"
                        "\"schedulingGroup\":{\"podGroupName\":\"%s\"},\"containers\":[{\"name\":\"main\",\"image\":\"x\","
                        "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}", name, of));
}

static bool stands(const char *name)
{
    return *json_text(json_path(get(arena_printf(w.a, PODS "/%s", name)), "spec", "nodeName", NULL), "") != '\0';
}

static const char *told(const char *name)
{
    return json_get_text(object_condition(get(arena_printf(w.a, PODS "/%s", name)), "PodScheduled"), "message", "");
}

static void remove_at(const char *path)
{
    kube_delete(w.user, path, BYTES("{\"gracePeriodSeconds\":0}"), NULL, NULL);
    run(3000);
}

static const struct json *condition(const char *path, const char *name)
{
    bool is_composite = strstr(path, "composite") != NULL;
    return object_condition(get(arena_printf(w.a, "%s/%s", path, name)),
                            is_composite ? "CompositePodGroupInitiallyScheduled" : "PodGroupInitiallyScheduled");
}

/* ---- in any order ---- */

/*   top ── mid ── a ── a0, a1
 *       └─ b ── b0              */
enum { TOP, MID, A, B, A0, A1, B0, STEPS_N };

static void make(int step, int round)
{
    const char *top = arena_printf(w.a, "top%d", round), *mid = arena_printf(w.a, "mid%d", round);
    const char *a = arena_printf(w.a, "a%d", round), *b = arena_printf(w.a, "b%d", round);
    if (step == TOP)
        composite(top, "", 2);
    else if (step == MID)
        composite(mid, top, 1);
    else if (step == A || step == B)
        group(step == A ? a : b, step == A ? mid : top, step == A ? 2 : 1);
    else
        pod(arena_printf(w.a, "%s-%d", step == B0 ? b : a, step == A1), step == B0 ? b : a);
}

static int standing(int round)
{
    return stands(arena_printf(w.a, "a%d-0", round)) + stands(arena_printf(w.a, "a%d-1", round)) +
           stands(arena_printf(w.a, "b%d-0", round));
}

/* Whatever comes when: nobody starts before all is there, and then all do, once. */
static void whatever_comes_last(void **state)
{
    uint32_t seed = 7;
    (void)state;
    for (int round = 0; round < 30; round++) {
        int order[STEPS_N];
        for (int i = 0; i < STEPS_N; i++) {
            seed = seed * 1664525 + 1013904223;
            int at = (int)((seed >> 16) % (uint32_t)(i + 1));
            order[i] = order[at];
            order[at] = i;
        }
        for (int i = 0; i < STEPS_N; i++) {
            assert_int_equal(standing(round), 0);
            make(order[i], round);
            run((seed >> i) & 1 ? 200 : 0); /* several together, or one by one */
        }
        run(1500);
        assert_int_equal(standing(round), 3);
    }
    run(3000);
    assert_true(object_condition_true(get(COMPOSITES "/mid29"), "CompositePodGroupInitiallyScheduled"));
    assert_true(object_condition_true(get(GROUPS "/a0"), "PodGroupInitiallyScheduled"));
}

/* ---- a scheduler begins anew ---- */

static void who_runs_still_counts(void **state)
{
    (void)state;
    composite("all", "", 2);
    group("a", "all", 2);
    group("b", "all", 2);
    for (int i = 0; i < 4; i++)
        pod(arena_printf(w.a, "%c%d", "ab"[i / 2], i % 2), i / 2 ? "b" : "a");
    composite("waits", "", 1);
    group("c", "waits", 2);
    pod("c0", "c");
    run(3000);
    assert_true(stands("a0") && stands("b1") && !stands("c0"));
    scheduler_free(w.scheduler);
    scheduler_start();
    remove_at(PODS "/a1");
    pod("a2", "a"); /* the others are there: it starts alone */
    run(3000);
    assert_true(stands("a2"));
    pod("c1", "c");
    run(3000);
    assert_true(stands("c0") && stands("c1"));
}

/* ---- what goes ---- */

static void a_group_goes(void **state)
{
    (void)state;
    composite("all", "", 1);
    group("a", "all", 1);
    group("b", "all", 2);
    pod("a0", "a");
    pod("b0", "b");
    run(2 * TELLING_MEMBERS_MS);
    assert_true(stands("a0") && !stands("b0"));
    assert_non_null(strstr(json_get_text(condition(GROUPS, "b"), "message", ""), "1 of 2 pods exist"));
    remove_at(GROUPS "/b");
    pod("b1", "b");
    run(2 * TELLING_MEMBERS_MS);
    assert_true(!stands("b0") && !stands("b1"));
    assert_non_null(strstr(told("b0"), "PodGroup n/b, of which it is, does not exist"));
    group("b", "all", 2);
    run(3000);
    assert_true(stands("b0") && stands("b1"));
    remove_at(GROUPS "/b");
    group("b", "", 1); /* it is a gang of its own now */
    pod("b2", "b");
    run(3000);
    assert_true(stands("b2"));
}

static void a_tree_gets_another_top(void **state)
{
    (void)state;
    composite("mid", "", 2);
    group("a", "mid", 1);
    pod("a0", "a");
    run(3000);
    assert_false(stands("a0"));
    remove_at(COMPOSITES "/mid");
    assert_false(stands("a0"));
    composite("top", "", 1);
    composite("mid", "top", 1);
    run(3000);
    assert_true(stands("a0"));
    remove_at(COMPOSITES "/mid");
    remove_at(COMPOSITES "/top");
    composite("mid", "", 0); /* each by itself */
    pod("a1", "a");
    run(3000);
    assert_true(stands("a0") && stands("a1"));
}

/* Who runs is of the new one, too: a successor needs those that are there. */
static void who_runs_goes_along(void **state)
{
    (void)state;
    composite("mid", "", 1);
    group("a", "mid", 2);
    pod("a0", "a");
    pod("a1", "a");
    run(3000);
    assert_true(stands("a0") && stands("a1"));
    remove_at(COMPOSITES "/mid");
    composite("top", "", 1);
    composite("mid", "top", 1);
    run(1000);
    remove_at(PODS "/a1");
    pod("a2", "a");
    run(3000);
    assert_true(stands("a2"));
    assert_true(object_condition_true(get(COMPOSITES "/top"), "CompositePodGroupInitiallyScheduled"));
}

/* 300 groups are more than a gang may have: nobody starts, and it says why. Nor does a circle keep anything busy. */
static void too_many_and_in_circles(void **state)
{
    (void)state;
    composite("all", "", 1);
    for (int i = 0; i < 300; i++)
        group(arena_printf(w.a, "g%d", i), "all", 1);
    pod("p", "g7");
    composite("x", "x", 1);
    group("y", "x", 1);
    pod("q", "y");
    run(120000); /* 300 objects are told: not all at once */
    assert_true(!stands("p") && !stands("q"));
    assert_string_equal(json_get_text(condition(COMPOSITES, "all"), "reason", ""), "Invalid");
    assert_non_null(strstr(told("p"), "more than 256 groups are below CompositePodGroup all"));
    assert_string_equal(json_get_text(condition(COMPOSITES, "x"), "reason", ""), "Invalid");
    assert_non_null(strstr(told("q"), "more than 4, or a circle"));
    for (int i = 250; i < 300; i++)
        kube_delete(w.user, arena_printf(w.a, GROUPS "/g%d", i), BYTES("{}"), NULL, NULL);
    run(3000);
    assert_true(stands("p"));
}

static bool an_event_says(const char *kind, const char *text)
{
    bool found = false;
    JSON_EACH (event, json_get(get("/api/v1/namespaces/n/events"), "items"))
        found |= text_equal(json_text(json_path(event, "involvedObject", "kind", NULL), ""), kind) &&
                 text_equal(json_get_text(event, "reason", ""), "PodGroupIgnored") && strstr(json_get_text(event, "message", ""), text);
    return found;
}

/* A chain of many that are above several gangs: those high up start, those far below are told that it is too long. */
static void a_long_chain(void **state)
{
    (void)state;
    for (int i = 299; i >= 0; i--)
        composite(arena_printf(w.a, "c%d", i), i ? arena_printf(w.a, "c%d", i - 1) : "", 0);
    group("a", "c2", 1);
    group("b", "c250", 1);
    pod("a0", "a");
    pod("b0", "b");
    run(30000);
    assert_true(stands("a0") && !stands("b0"));
    assert_non_null(strstr(told("b0"), "more than 4, or a circle"));
}

/* While there are HyperNodes labels make no domains: that is said, and the groups start. */
static void a_domain_that_is_none(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"topology.volcano.sh/v1alpha1\",\"kind\":\"HyperNode\",\"metadata\":{\"name\":\"h\"},\"spec\":{\"tier\":1,"
           "\"members\":[{\"type\":\"Node\",\"selector\":{\"exactMatch\":{\"name\":\"n0\"}}}]}}");
    run(1000);
    create("{\"apiVersion\":\"scheduling.k8s.io/v1alpha3\",\"kind\":\"CompositePodGroup\",\"metadata\":{\"name\":\"all\",\"namespace\":\"n\"},"
           "\"spec\":{" REF ",\"schedulingPolicy\":{\"basic\":{}},\"schedulingConstraints\":{\"topology\":[{\"key\":\"zone\"}]}}}");
    group("a", "all", 1);
    pod("a0", "a");
    run(3000);
    assert_true(stands("a0"));
    assert_true(an_event_says("CompositePodGroup", "spec.schedulingConstraints.topology: its pods stand where there is room"));
    assert_false(an_event_says("PodGroup", ""));
}

/* A role of before they were read: the rest goes on as it did. */
static void door(void *ctx, struct http_exchange *x)
{
    (void)ctx;
    if (strstr(x->request.path, "compositepodgroups"))
        http_reply_text(x, 403, "text/plain", "forbidden\n");
    else
        apiserver_handle(w.server, x);
}

static void who_may_not_read_them(void **state)
{
    (void)state;
    stage_open(door);
    node("n0", "nvidia.com/gpu", 4);
    scheduler_start();
    group("alone", "", 1);
    pod("p", "alone");
    composite("all", "", 1);
    group("a", "all", 1);
    pod("a0", "a");
    run(2 * TELLING_MEMBERS_MS);
    assert_true(stands("p") && !stands("a0"));
    assert_non_null(strstr(told("a0"), "CompositePodGroup n/all, of which it is, does not exist"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whatever_comes_last, open_stage, teardown),
        cmocka_unit_test_setup_teardown(who_runs_still_counts, open_stage, teardown),
        cmocka_unit_test_setup_teardown(a_group_goes, open_stage, teardown),
        cmocka_unit_test_setup_teardown(a_tree_gets_another_top, open_stage, teardown),
        cmocka_unit_test_setup_teardown(who_runs_goes_along, open_stage, teardown),
        cmocka_unit_test_setup_teardown(too_many_and_in_circles, open_stage, teardown),
        cmocka_unit_test_setup_teardown(a_long_chain, open_stage, teardown),
        cmocka_unit_test_setup_teardown(a_domain_that_is_none, open_stage, teardown),
        cmocka_unit_test_teardown(who_may_not_read_them, teardown),
    };
    return cmocka_run_group_tests_name("composites", tests, NULL, NULL);
}
