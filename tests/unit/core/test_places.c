/* test_places.c - gangs of several members and kinds: who gets which place, who holds one, and until when */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "jobs.h"

/* ---- pods of several kinds ---- */

/* Two nodes of eight, one of them in zone x; task a takes eight anywhere, task b eight in x. */
static void the_member_with_fewer_nodes_to_choose_from_chooses_first(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        struct world w = world_new();
        node(&w, way & 1 ? "n0" : "n1", "cpu=8000," GPU "=8", "zone=x");
        node(&w, way & 1 ? "n1" : "n0", "cpu=8000," GPU "=8", "zone=y");
        struct gang_record g = a_group(&w, "job", NULL, 2);
        struct amount least[2] = {{id(&w, "a"), 1}, {id(&w, "b"), 1}};
        g.min_of_task = least;
        g.min_of_task_n = 2;
        gang_record(&w, g);
        struct pod_record a = pod_in(&w, "ns/a", "job", "a", GPU "=8", ""), b = pod_in(&w, "ns/b", "job", "b", GPU "=8", "zone=x");
        pod_record(&w, way & 2 ? a : b);
        pod_record(&w, way & 2 ? b : a);
        step(&w);
        assert_int_equal(effects(&w, EFFECT_BIND), 2);
        world_free(&w);
    }
}

static void the_set_with_fewer_nodes_to_choose_from_chooses_first(void **state)
{
    struct world *w = *state;
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(w, "n0", "cpu=8000," GPU "=8", "zone=x");
    node(w, "n1", "cpu=8000," GPU "=8", "zone=y");
    struct pod_set sets[2] = {a_set(w, "a", 1, GPU "=8"), a_set(w, "b", 1, GPU "=8")};
    sets[1].shape = shape_of(w, GPU "=8", "zone=x");
    gang_record(w, workload_of(w, "job", sets, 2));
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 1);
}

/* ---- and where there is no way, or none is found ---- */

static void kinds_that_do_not_go_together(void **state)
{
    struct world *w = *state;
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(w, "n0", "cpu=8000," GPU "=8", "");
    struct pod_set sets[2] = {a_set(w, "a", 1, GPU "=8"), a_set(w, "b", 1, GPU "=4")};
    gang_record(w, workload_of(w, "job", sets, 2));
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
    assert_non_null(strstr(why_tree(w, "job"), "each kind of pods would fit alone, but not all kinds together"));
}

/* Nine kinds on a node that holds eight of any: so many are not searched, and no step was taken. */
static void more_kinds_than_are_searched_are_said(void **state)
{
    struct world *w = *state;
    struct pod_set sets[9];
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(w, "n0", "cpu=8000," GPU "=8", "");
    for (int i = 0; i < 9; i++) {
        const char *name = arena_printf(w->records, "kind-%d", i);
        sets[i] = a_set(w, name, 1, arena_printf(w->records, "cpu=%d," GPU "=1", i + 1));
    }
    gang_record(w, workload_of(w, "job", sets, 9));
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
    assert_non_null(strstr(why_tree(w, "job"), "more than 8 kinds of pods: only one arrangement of them was tried"));
    assert_null(strstr(why_tree(w, "job"), "steps"));
}

/* Eight kinds that ask for all GPUs of twelve nodes together: there may be a way, which takes longer to find than the search may. */
static void a_search_that_ends_at_its_bound_is_said(void **state)
{
    struct world *w = *state;
    struct pod_set sets[8];
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    for (int i = 0; i < 12; i++)
        node(w, arena_printf(w->records, "n%d", i), arena_printf(w->records, "cpu=100000," GPU "=%d", 11 + i % 3), "");
    for (int i = 0; i < 8; i++) {
        const char *name = arena_printf(w->records, "kind-%d", i);
        sets[i] = a_set(w, name, 4, arena_printf(w->records, GPU "=%d", 3 + i % 4));
        sets[i].shape = shape_of(w, arena_printf(w->records, "cpu=%d," GPU "=%d", i + 1, 3 + i % 4), "");
    }
    gang_record(w, workload_of(w, "job", sets, 8));
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
    assert_non_null(strstr(why_tree(w, "job"), "no arrangement of the kinds of pods was found in 8192 steps"));
}

/* SOURCE Kueue: of a set that is too large it tells what those before it ask for */
static void a_set_that_quota_can_never_hold_beside_those_before_it(void **state)
{
    struct world *w = *state;
    gpu_queue(w, "q", NULL, "ns/lq", 8);
    struct pod_set sets[2] = {a_set(w, "a", 2, GPU "=3"), a_set(w, "b", 1, GPU "=5")};
    gang_record(w, workload_of(w, "job", sets, 2));
    step(w);
    assert_string_equal(why(w, "job"), "couldn't assign flavors to pod set b: insufficient quota for " GPU " in flavor any, previously "
                                       "considered podsets requests (6) + current podset request (5) > maximum capacity (8)");
}

/* Two of four make the group, and quota is for two. The first finds no place: two others start. */
static void others_than_the_first_make_up_the_minimum_within_quota(void **state)
{
    struct world *w = *state;
    volcano_queue(w, 2);
    wide_cluster(w, 1);
    gang_record(w, a_group(w, "g", "volcano:v", 2));
    pod(w, "ns/g-0", "g", "cpu=9000," GPU "=1");
    for (int i = 1; i < 4; i++)
        pod(w, (const char *[]){"", "ns/g-1", "ns/g-2", "ns/g-3"}[i], "g", "cpu=1000," GPU "=1");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 2);
    assert_string_equal(node_of(w, "ns/g-0"), "");
}

/* ---- gangs that hold places ---- */

static void hold(struct world *w, const char *gang, struct gang_record *ret_r)
{
    *ret_r = a_workload(w, gang, "ns/lq", 2, GPU "=8");
    gang_record(w, *ret_r);
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 1);
    outcome(w, EFFECT_ADMIT, gang, NULL, OUTCOME_DONE);
    gang_record(w, admitted(w, *ret_r));
    step(w);
}

/* The API server's part in an eviction; the job controller's pods stay as they are. */
static void answer_evictions(struct world *w, const char *gang, struct gang_record r)
{
    bool evicts = entry_of(w, EFFECT_EVICT, gang) != NULL, admits = entry_of(w, EFFECT_ADMIT, gang) != NULL;
    if (evicts)
        gang_record(w, r);
    if (evicts)
        outcome(w, EFFECT_EVICT, gang, NULL, OUTCOME_DONE);
    if (admits)
        gang_record(w, admitted(w, r));
    if (admits)
        outcome(w, EFFECT_ADMIT, gang, NULL, OUTCOME_DONE);
}

/* Four nodes, two gangs of two; each gang loses one of its places before its pods came. What is left holds one of them. */
static void two_gangs_that_each_lost_a_place_do_not_wait_for_each_other(void **state)
{
    struct world *w = *state;
    struct gang_record a, b;
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(w, "n0", "cpu=8000," GPU "=8", "");
    node(w, "n1", "cpu=8000," GPU "=8", "");
    hold(w, "a", &a);
    node(w, "n2", "cpu=8000," GPU "=8", "");
    node(w, "n3", "cpu=8000," GPU "=8", "");
    hold(w, "b", &b);
    gone(w, CHANGE_NODE_GONE, "n0");
    gone(w, CHANGE_NODE_GONE, "n2");
    step(w);
    answer_evictions(w, "a", a);
    answer_evictions(w, "b", b);
    for (int i = 0; i < 4; i++)
        pod(w, (const char *[]){"ns/a-0", "ns/a-1", "ns/b-0", "ns/b-1"}[i], i < 2 ? "a" : "b", GPU "=8");
    uint32_t bound = 0;
    for (int i = 0; i < 8; i++) {
        w->now_ms += 20000;
        step(w);
        uint32_t now = effects(w, EFFECT_BIND);
        assert_true(now == 0 || now == 2);
        bound += now;
        answer_evictions(w, "a", a);
        answer_evictions(w, "b", b);
    }
    assert_int_equal(bound, 2);
}

/* Two gangs of two run, one member on a node for everybody, one in a zone. Both members in zones are deleted, and who takes over asks for
 * the zone of the other gang. */
static void two_running_gangs_do_not_keep_places_that_they_cannot_use(void **state)
{
    struct world *w = *state;
    const char *zones[2] = {"zone=x", "zone=y"}, *gangs[2] = {"a", "b"};
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(w, "n0", "cpu=8000," GPU "=2", "");
    node(w, "nx", "cpu=8000," GPU "=8", "zone=x");
    node(w, "ny", "cpu=8000," GPU "=8", "zone=y");
    for (int i = 0; i < 2; i++) {
        struct pod_set sets[2] = {a_set(w, "main", 1, GPU "=1"), a_set(w, "zoned", 1, GPU "=8")};
        gang_record(w, admitted(w, workload_of(w, gangs[i], sets, 2)));
        struct pod_record main = pod_in(w, i ? "ns/b-0" : "ns/a-0", gangs[i], "main", GPU "=1", "");
        struct pod_record zoned = pod_in(w, i ? "ns/b-1" : "ns/a-1", gangs[i], "zoned", GPU "=8", zones[i]);
        main.node = id(w, "n0");
        zoned.node = id(w, i ? "ny" : "nx");
        main.phase = zoned.phase = POD_RUNNING;
        pod_record(w, main);
        pod_record(w, zoned);
    }
    step(w);
    assert_int_equal(state_gang_phase(w->s, id(w, "a")), GANG_BOUND);
    assert_int_equal(state_gang_phase(w->s, id(w, "b")), GANG_BOUND);
    gone(w, CHANGE_POD_GONE, "ns/a-1");
    gone(w, CHANGE_POD_GONE, "ns/b-1");
    step(w);
    pod_record(w, pod_in(w, "ns/a-2", "a", "zoned", GPU "=8", zones[1]));
    pod_record(w, pod_in(w, "ns/b-2", "b", "zoned", GPU "=8", zones[0]));
    uint32_t bound = 0;
    for (int i = 0; i < 4; i++) {
        step(w);
        bound += effects(w, EFFECT_BIND);
    }
    assert_int_equal(bound, 2);
}

/* A running gang has lost two members; one that takes over is too large for the place of the other. What it waits with is nobody's. */
static void a_running_gang_that_waits_for_a_place_holds_none(void **state)
{
    struct world *w = *state;
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(w, "n0", "cpu=8000," GPU "=1", "");
    node(w, "n1", "cpu=2000," GPU "=1", "");
    node(w, "n2", "cpu=2000," GPU "=1", "");
    struct gang_record r = admitted(w, a_workload(w, "job", "ns/lq", 3, "cpu=1000," GPU "=1"));
    gang_record(w, r);
    for (int i = 0; i < 3; i++) {
        const char *keys[] = {"ns/job-0", "ns/job-1", "ns/job-2"}, *nodes[] = {"n0", "n1", "n2"};
        running_pod(w, keys[i], "job", "cpu=1000," GPU "=1", nodes[i]);
    }
    step(w);
    gone(w, CHANGE_POD_GONE, "ns/job-1");
    gone(w, CHANGE_POD_GONE, "ns/job-2");
    step(w);
    pod(w, "ns/alone", NULL, "cpu=1000," GPU "=1");
    step(w);
    assert_string_equal(node_of(w, "ns/alone"), ""); /* places are kept for those that take over */
    pod_record(w, pod_in(w, "ns/job-3", "job", "main", "cpu=5000," GPU "=1", ""));
    const char *on = "";
    for (int i = 0; i < 2 && !*on; i++) {
        step(w);
        on = node_of(w, "ns/alone");
    }
    assert_string_not_equal(on, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_member_with_fewer_nodes_to_choose_from_chooses_first),
        in_a_world(the_set_with_fewer_nodes_to_choose_from_chooses_first),
        in_a_world(kinds_that_do_not_go_together),
        in_a_world(more_kinds_than_are_searched_are_said),
        in_a_world(a_search_that_ends_at_its_bound_is_said),
        in_a_world(a_set_that_quota_can_never_hold_beside_those_before_it),
        in_a_world(others_than_the_first_make_up_the_minimum_within_quota),
        in_a_world(two_gangs_that_each_lost_a_place_do_not_wait_for_each_other),
        in_a_world(two_running_gangs_do_not_keep_places_that_they_cannot_use),
        in_a_world(a_running_gang_that_waits_for_a_place_holds_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
