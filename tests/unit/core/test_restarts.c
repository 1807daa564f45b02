/* test_restarts.c - a core that is told everything anew, in any order: it must know what the one before it knew */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "jobs.h"

/* ---- restarts ---- */

/* A job of two, of which one has succeeded, the other runs; told to a new state in the one or the other order. */
static void restarted_with_a_finished_member(bool pods_first)
{
    struct world w = world_new();
    wide_queue(&w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(&w, "n0", "cpu=8000," GPU "=8", "");
    node(&w, "n1", "cpu=8000," GPU "=8", "");
    struct gang_record r = admitted(&w, a_workload(&w, "job", "ns/lq", 2, GPU "=8"));
    struct pod_record over = a_pod(&w, "ns/job-0", "job", GPU "=8"), runs = a_pod(&w, "ns/job-1", "job", GPU "=8");
    over.node = id(&w, "n0");
    over.phase = POD_SUCCEEDED;
    runs.node = id(&w, "n1");
    runs.phase = POD_RUNNING;
    if (!pods_first)
        gang_record(&w, r);
    pod_record(&w, over);
    pod_record(&w, runs);
    if (pods_first)
        gang_record(&w, r);
    step(&w);
    pod(&w, "ns/alone", NULL, GPU "=8");
    step(&w);
    assert_string_equal(node_of(&w, "ns/alone"), "n0");
    assert_int_equal(state_gang_phase(w.s, id(&w, "job")), GANG_BOUND);
    world_free(&w);
}

static void a_restart_that_lists_gangs_first_knows_finished_members(void **state)
{
    (void)state;
    restarted_with_a_finished_member(false);
}

static void a_restart_that_lists_pods_first_knows_finished_members(void **state)
{
    (void)state;
    restarted_with_a_finished_member(true);
}

/* A job of three lost its quota when one member had succeeded, and got it again for the other two: that one does not count for these. */
static void restarted_with_a_member_of_before(bool pods_first)
{
    struct world w = world_new();
    wide_queue(&w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(&w, "n0", "cpu=8000," GPU "=8", "");
    node(&w, "n1", "cpu=8000," GPU "=8", "");
    struct gang_record r = admitted(&w, a_workload(&w, "job", "ns/lq", 3, GPU "=8"));
    struct pod_set *sets = arena_alloc(w.records, sizeof *sets);
    *sets = r.pod_sets[0];
    sets->granted = 2;
    sets->reclaimed = 1;
    r.pod_sets = sets;
    r.reserved_ms = 9000;
    struct pod_record over = a_pod(&w, "ns/job-0", "job", GPU "=8");
    over.node = id(&w, "n0");
    over.created_ms = 4000;
    over.started_ms = 5000;
    over.phase = POD_SUCCEEDED;
    if (!pods_first)
        gang_record(&w, r);
    pod_record(&w, over);
    if (pods_first)
        gang_record(&w, r);
    step(&w);
    pod(&w, "ns/alone", NULL, GPU "=8");
    step(&w);
    assert_string_equal(node_of(&w, "ns/alone"), ""); /* both nodes are kept for the two */
    world_free(&w);
}

static void a_restart_counts_no_member_of_an_admission_before(void **state)
{
    (void)state;
    restarted_with_a_member_of_before(false);
    restarted_with_a_member_of_before(true);
}

static void which_node_is_chosen_does_not_depend_on_the_order_of_listing(void **state)
{
    (void)state;
    const char *names[3] = {"n0", "n1", "n2"};
    char chosen[2][16];
    for (int way = 0; way < 2; way++) {
        struct world w = world_new();
        for (int i = 0; i < 3; i++)
            node(&w, names[way ? 2 - i : i], "cpu=8000," GPU "=8", "");
        pod(&w, "ns/p", NULL, "cpu=1000," GPU "=1");
        step(&w);
        snprintf(chosen[way], sizeof chosen[way], "%s", node_of(&w, "ns/p"));
        world_free(&w);
    }
    assert_string_equal(chosen[0], chosen[1]);
}

/* Of a pod that asks for two kinds of devices one says how well a node is used. */
static void which_node_is_chosen_does_not_depend_on_which_device_was_named_first(void **state)
{
    (void)state;
    const char *asks[2] = {"cpu=1000," GPU "=1,rdma/hca=1", "cpu=1000,rdma/hca=1," GPU "=1"};
    for (int way = 0; way < 2; way++) {
        struct world w = world_new();
        node(&w, "n0", "cpu=8000," GPU "=8,rdma/hca=2", "");
        node(&w, "n1", "cpu=8000," GPU "=4,rdma/hca=8", "");
        pod(&w, "ns/p", NULL, asks[way]);
        step(&w);
        assert_string_equal(node_of(&w, "ns/p"), "n1");
        world_free(&w);
    }
}

/* Which of its two tasks was named first, long ago, says nothing about a group. */
static void a_group_is_the_same_whichever_name_was_seen_first(void **state)
{
    (void)state;
    uint64_t digests[2];
    for (int way = 0; way < 2; way++) {
        struct world w = world_new();
        (void)id(&w, way ? "worker" : "leader");
        (void)id(&w, way ? "leader" : "worker");
        gang_record(&w, a_group(&w, "g", NULL, 3));
        pod_record(&w, pod_in(&w, "ns/g-0", "g", "leader", GPU "=1", ""));
        pod_record(&w, pod_in(&w, "ns/g-1", "g", "worker", GPU "=8", ""));
        pod_record(&w, pod_in(&w, "ns/g-2", "g", "worker", GPU "=8", ""));
        step(&w);
        digests[way] = state_digest(w.s);
        world_free(&w);
    }
    assert_true(digests[0] == digests[1]);
}

/* ---- restarts in any order ---- */

static void a_restart_that_lists_gangs_before_queues_takes_their_quota(void **state)
{
    struct world *w = *state;
    node(w, "n0", "cpu=8000," GPU "=8", "");
    gang_record(w, admitted(w, a_workload(w, "job", "ns/lq", 1, GPU "=8")));
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    step(w);
    struct queue_usage *rows;
    struct queue_counts counts;
    assert_int_equal(state_queue_usage(w->s, id(w, "q"), w->cycle, &rows), 2);
    assert_int_equal(rows[1].reserved, 8);
    assert_true(state_queue_counts(w->s, id(w, "q"), &counts));
    assert_int_equal(counts.admitted_n, 1);
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_HOLD_AND_DRAIN);
    step(w);
    assert_non_null(entry_of(w, EFFECT_EVICT, "job"));
}

static void a_restart_that_lists_pods_before_their_group_takes_its_quota(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        struct world w = world_new();
        node(&w, "n0", "cpu=8000," GPU "=8", "");
        node(&w, "n1", "cpu=8000," GPU "=8", "");
        if (way & 1)
            volcano_queue(&w, 8);
        if (way & 2)
            running_pod(&w, "ns/g-0", "g", GPU "=8", "n0");
        gang_record(&w, a_group(&w, "g", "volcano:v", 1));
        if (!(way & 2))
            running_pod(&w, "ns/g-0", "g", GPU "=8", "n0");
        if (!(way & 1))
            volcano_queue(&w, 8);
        step(&w);
        gang_record(&w, a_group(&w, "later", "volcano:v", 1));
        pod(&w, "ns/later-0", "later", GPU "=8");
        step(&w);
        assert_string_equal(node_of(&w, "ns/later-0"), "");
        world_free(&w);
    }
}

/* A group of two, of which one has gone: it runs, before a restart and after. Its new member may come alone, and draining it evicts it. */
static void a_restart_knows_a_group_that_runs_in_part(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) {
        struct world w = world_new();
        struct queue_record q = volcano_queue(&w, -1);
        node(&w, "n0", "cpu=8000," GPU "=8", "");
        running_pod(&w, "ns/g-0", "g", GPU "=1", "n0");
        gang_record(&w, a_group(&w, "g", "volcano:v", 2));
        step(&w);
        if (way == 0) {
            pod(&w, "ns/g-1", "g", GPU "=1");
            step(&w);
            assert_string_equal(node_of(&w, "ns/g-1"), "n0");
        } else {
            q.stop = STOP_HOLD_AND_DRAIN;
            state_apply(w.s, &(struct change){.type = CHANGE_QUEUE, .queue = q});
            step(&w);
            assert_non_null(entry_of(&w, EFFECT_EVICT, "g"));
        }
        world_free(&w);
    }
}

/* A job of two, one runs; the other's pod tolerates what its template does not, and only such a node is left. */
static void a_restart_places_a_late_member_as_it_is(void **state)
{
    struct world *w = *state;
    struct taint taint = {.key = id(w, "dedicated"), .value = id(w, "x"), .effect = TAINT_NO_SCHEDULE};
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(w, "n0", "cpu=8000," GPU "=1", "");
    struct node_record tainted = a_node(w, "n1", "cpu=8000," GPU "=1", "");
    tainted.taints = &taint;
    tainted.taints_n = 1;
    node_record(w, tainted);
    gang_record(w, admitted(w, a_workload(w, "job", "ns/lq", 2, GPU "=1")));
    struct pod_record late = a_pod(w, "ns/job-1", "job", GPU "=1");
    struct toleration all = {.exists = true, .effects = 7};
    late.shape.tolerations = &all;
    late.shape.tolerations_n = 1;
    running_pod(w, "ns/job-0", "job", GPU "=1", "n0");
    pod_record(w, late);
    step(w);
    assert_string_equal(node_of(w, "ns/job-1"), "n1");
}

/* The group, its pod, and only then its queue: it is draining. */
static void a_restart_that_lists_the_queue_last_drains_a_group_that_runs_in_part(void **state)
{
    struct world *w = *state;
    node(w, "n0", "cpu=8000," GPU "=8", "");
    gang_record(w, a_group(w, "g", "volcano:v", 2));
    running_pod(w, "ns/g-0", "g", GPU "=1", "n0");
    struct queue_record q = volcano_queue(w, -1);
    q.stop = STOP_HOLD_AND_DRAIN;
    state_apply(w->s, &(struct change){.type = CHANGE_QUEUE, .queue = q});
    step(w);
    assert_non_null(entry_of(w, EFFECT_EVICT, "g"));
}

/* The same record once more is no news, whatever stands in the holes of its structs. It woke the gang; a replayed recording showed it. */
static void the_same_record_is_no_news(void **state)
{
    struct world *w = *state;
    struct amount of_task[2][1];
    for (int i = 0; i < 2; i++) {
        memset(of_task[i], i ? 0xff : 0, sizeof of_task[i]);
        of_task[i][0].resource = id(w, "worker");
        of_task[i][0].value = 2;
    }
    struct gang_record r = {.key = id(w, "volcano/ns/vc"), .source = GANG_VOLCANO, .ns = id(w, "ns"), .uid = id(w, "u"), .active = true,
                            .min_members = 2, .min_of_task = of_task[0], .min_of_task_n = 1};
    gang_record(w, r);
    step(w);
    assert_false(decide_has_work(w->s));
    r.min_of_task = of_task[1];
    gang_record(w, r);
    assert_false(decide_has_work(w->s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restart_that_lists_gangs_first_knows_finished_members),
        cmocka_unit_test(a_restart_that_lists_pods_first_knows_finished_members),
        cmocka_unit_test(a_restart_counts_no_member_of_an_admission_before),
        cmocka_unit_test(which_node_is_chosen_does_not_depend_on_the_order_of_listing),
        cmocka_unit_test(which_node_is_chosen_does_not_depend_on_which_device_was_named_first),
        cmocka_unit_test(a_group_is_the_same_whichever_name_was_seen_first),
        in_a_world(a_restart_that_lists_gangs_before_queues_takes_their_quota),
        cmocka_unit_test(a_restart_that_lists_pods_before_their_group_takes_its_quota),
        cmocka_unit_test(a_restart_knows_a_group_that_runs_in_part),
        in_a_world(a_restart_that_lists_the_queue_last_drains_a_group_that_runs_in_part),
        in_a_world(a_restart_places_a_late_member_as_it_is),
        in_a_world(the_same_record_is_no_news),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
