/* test_settle.c - admitted gangs: who takes the place of a member that ended */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "jobs.h"

#define FOUR "cpu=1000," GPU "=4"

/* Two nodes of four GPUs; a gang of two members that fills both; all bound. A lone pod waits for a node. */
static void bound_gang(struct world *w)
{
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(w, "n0", "cpu=64000," GPU "=4", "");
    node(w, "n1", "cpu=64000," GPU "=4", "");
    workload(w, "job", "ns/lq", 2, FOUR);
    pod(w, "ns/job-0", "job", FOUR);
    pod(w, "ns/job-1", "job", FOUR);
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 2);
    pod(w, "ns/alone", NULL, FOUR);
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
}

static void set_phase(struct world *w, const char *key, enum pod_phase phase)
{
    struct pod_record p = a_pod(w, key, "job", FOUR);
    p.phase = phase;
    p.node = id(w, "n0");
    pod_record(w, p);
}

static void a_failed_member_leaves_its_place_to_its_successor(void **state)
{
    struct world *w = *state;
    bound_gang(w);
    set_phase(w, "ns/job-0", POD_FAILED);
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0); /* not to the lone pod */
    pod(w, "ns/job-2", "job", FOUR);
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 1);
    assert_true(node_of(w, "ns/job-2")[0] == 'n');
}

static void a_deleted_member_too(void **state)
{
    struct world *w = *state;
    bound_gang(w);
    gone(w, CHANGE_POD_GONE, "ns/job-1");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    pod(w, "ns/job-2", "job", FOUR);
    step(w);
    assert_true(node_of(w, "ns/job-2")[0] == 'n');
}

static void success_and_the_end_of_the_job_give_the_room_back(void **state)
{
    struct world *w = *state;
    bound_gang(w);
    set_phase(w, "ns/job-0", POD_SUCCEEDED);
    step(w);
    assert_string_not_equal(node_of(w, "ns/alone"), "");
    set_phase(w, "ns/job-1", POD_FAILED);
    pod(w, "ns/next", NULL, FOUR);
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    struct gang_record over = a_workload(w, "job", "ns/lq", 2, FOUR);
    over.finished = true;
    gang_record(w, over);
    step(w);
    assert_string_not_equal(node_of(w, "ns/next"), "");
}

/* A turn binds so many pods and no more. Who was not looked at is in the next one, whatever stands before him. */
static void pods_beyond_the_limit_of_a_turn_come_in_the_next(void **state)
{
    struct world *w = *state;
    const struct decide_config one = {.pods_max = 1};
    uint32_t bound_n = 0;
    wide_cluster(w, 1);
    gang_record(w, a_group(w, "g", NULL, 1));
    running_pod(w, "ns/g-0", "g", "cpu=1000", "n0");
    step(w);
    pod(w, "ns/g-1", "g", "cpu=9000"); /* nowhere */
    pod(w, "ns/g-2", "g", "cpu=1000");
    pod(w, "ns/g-3", "g", "cpu=1000");
    for (int turn = 0; turn < 3; turn++) {
        arena_reset(w->cycle);
        decide(w->s, &one, w->now_ms, w->cycle, &w->plan);
        bound_n += effects(w, EFFECT_BIND);
    }
    assert_int_equal(bound_n, 2);
}

/* An admission that landed, and was answered as failed: the pods that it let in have the first flavor's selectors when the gang is given
 * another one. What that one tolerates they do not. */
static void a_pod_stands_only_where_its_own_tolerations_let_it(void **state)
{
    struct world *w = *state;
    struct taint taint = {.key = id(w, "dedicated"), .value = id(w, "x"), .effect = TAINT_NO_SCHEDULE};
    struct toleration covers = {.key = id(w, "dedicated"), .exists = true, .effects = 7};
    struct queue_words q;
    state_apply(w->s, &(struct change){.type = CHANGE_FLAVOR,
                                       .flavor = {.name = id(w, "any"), .tolerations = &covers, .tolerations_n = 1}});
    queue_begin(w, &q, "q", NULL);
    queue_quota(w, &q, "any", "cpu", 4000, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    local_queue(w, "ns/lq", "q");
    struct node_record tainted = a_node(w, "n0", "cpu=8000", "");
    tainted.taints = &taint;
    tainted.taints_n = 1;
    node_record(w, tainted);
    workload(w, "job", "ns/lq", 1, "cpu=1000");
    pod(w, "ns/job-0", "job", "cpu=1000");
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 1);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    assert_non_null(strstr(why(w, "job"), "dedicated"));
    gone(w, CHANGE_POD_GONE, "ns/job-0");
    struct pod_record let_in = a_pod(w, "ns/job-1", "job", "cpu=1000");
    let_in.shape.tolerations = &covers;
    let_in.shape.tolerations_n = 1;
    pod_record(w, let_in);
    step(w);
    assert_string_equal(node_of(w, "ns/job-1"), "n0");
}

/* Another scheduler binds a pod where places are held: others are held at once, before somebody else is let in there. */
static void who_loses_his_place_to_a_pod_of_others_finds_another(void **state)
{
    struct world *w = *state;
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(w, "n0", "cpu=64000," GPU "=4", "");
    workload(w, "job", "ns/lq", 1, FOUR);
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 1);
    node(w, "n1", "cpu=64000," GPU "=4", "");
    struct pod_record p = a_pod(w, "ns/theirs", NULL, FOUR);
    p.ours = false;
    p.node = id(w, "n0");
    p.phase = POD_RUNNING;
    pod_record(w, p);
    step(w);
    workload(w, "later", "ns/lq", 1, FOUR);
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
    pod(w, "ns/job-0", "job", FOUR);
    step(w);
    assert_string_equal(node_of(w, "ns/job-0"), "n1");
}

/* A node goes with two members of different kinds. Each waits for a place of its own: what helps the first wakes it, though the other was
 * refused after it. */
static void members_of_two_kinds_wait_each_for_its_own_place(void **state)
{
    struct world *w = *state;
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(w, "n0", "cpu=64000," GPU "=1", "");
    node(w, "n1", "cpu=64000," GPU "=6", "zone=y");
    struct pod_set *sets = arena_zero(w->records, 3, sizeof *sets);
    sets[0] = a_set(w, "main", 1, GPU "=1");
    sets[1] = a_set(w, "wide", 1, GPU "=4");
    sets[2] = a_set(w, "zoned", 1, GPU "=2");
    sets[2].shape = shape_of(w, GPU "=2", "zone=y");
    submit_and_admit(w, workload_of(w, "job", sets, 3));
    pod_record(w, pod_in(w, "ns/main", "job", "main", GPU "=1", ""));
    pod_record(w, pod_in(w, "ns/wide-0", "job", "wide", GPU "=4", ""));
    pod_record(w, pod_in(w, "ns/zoned-0", "job", "zoned", GPU "=2", "zone=y"));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 3);
    gone(w, CHANGE_NODE_GONE, "n1");
    gone(w, CHANGE_POD_GONE, "ns/wide-0");
    gone(w, CHANGE_POD_GONE, "ns/zoned-0");
    pod_record(w, pod_in(w, "ns/wide-1", "job", "wide", GPU "=4", ""));
    pod_record(w, pod_in(w, "ns/zoned-1", "job", "zoned", GPU "=2", "zone=y"));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    node(w, "n2", "cpu=64000," GPU "=4", "");
    step(w);
    assert_string_equal(node_of(w, "ns/wide-1"), "n2");
    node(w, "n3", "cpu=64000," GPU "=4", "zone=y");
    step(w);
    assert_string_equal(node_of(w, "ns/zoned-1"), "n3");
}

/* A job of three was evicted and is let in again while its pods take their time to end. */
static void let_in_beside_former_pods(struct world *w, int node_gpus)
{
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(w, "n0", arena_printf(w->records, "cpu=64000," GPU "=%d", node_gpus), "");
    struct gang_record r = a_workload(w, "job", "ns/lq", 3, GPU "=1"), stopped = r;
    submit_and_admit(w, r);
    for (int i = 0; i < 3; i++)
        running_pod(w, arena_printf(w->records, "ns/job-%d", i), "job", GPU "=1", "n0");
    gang_record(w, admitted(w, r));
    step(w);
    stopped.active = false;
    gang_record(w, admitted(w, stopped));
    step(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 1);
    for (int i = 0; i < 3; i++) {
        struct pod_record p = a_pod(w, arena_printf(w->records, "ns/job-%d", i), "job", GPU "=1");
        p.node = id(w, "n0");
        p.phase = POD_RUNNING;
        p.deleting = true;
        pod_record(w, p);
    }
    outcome(w, EFFECT_EVICT, "job", "", OUTCOME_DONE);
    gang_record(w, r);
    step(w);
    step(w);
    gang_record(w, admitted(w, r));
    step(w);
}

/* Those that are on their way out are no start of it. */
static void a_job_starts_whole_beside_its_former_pods(void **state)
{
    struct world *w = *state;
    let_in_beside_former_pods(w, 8);
    pod(w, "ns/job-3", "job", GPU "=1");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    pod(w, "ns/job-4", "job", GPU "=1");
    pod(w, "ns/job-5", "job", GPU "=1");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 3);
}

static void comes_to_rest(struct world *w)
{
    for (int i = 0; i < 4 && decide_has_work(w->s); i++)
        step(w);
    assert_false(decide_has_work(w->s));
}

static void a_part_of_a_job_waits_in_peace_beside_its_former_pods(void **state)
{
    struct world *w = *state;
    let_in_beside_former_pods(w, 3);
    gone(w, CHANGE_POD_GONE, "ns/job-2");
    comes_to_rest(w); /* its place is held again */
    pod(w, "ns/job-3", "job", GPU "=1");
    pod(w, "ns/job-4", "job", GPU "=1");
    comes_to_rest(w);
}

/* A job of three of which a scheduler before this one has started the first. A webhook made the second larger than was planned, so that it
 * has no place, while the third has not come yet: what is held for it is given up, which helps nobody, least of all the job itself. */
static void what_was_held_a_moment_ago_wakes_nobody_when_it_is_given_up(void **state)
{
    struct world *w = *state;
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(w, "n0", "cpu=64000," GPU "=3", "");
    gang_record(w, admitted(w, a_workload(w, "job", "ns/lq", 3, GPU "=1")));
    running_pod(w, "ns/job-0", "job", GPU "=1", "n0");
    pod(w, "ns/job-1", "job", GPU "=2");
    comes_to_rest(w);
    node(w, "n1", "cpu=64000," GPU "=2", "");
    step(w);
    assert_string_equal(node_of(w, "ns/job-1"), "n1");
}

static void two_sets(struct world *w, const char *first, int first_n, const char *then, int then_n)
{
    struct pod_set *sets = arena_zero(w->records, 2, sizeof *sets);
    sets[0] = a_set(w, first, first_n, GPU "=1");
    sets[1] = a_set(w, then, then_n, GPU "=1");
    sets[1].later = true;
    submit_and_admit(w, workload_of(w, "job", sets, 2));
}

/* A launcher that is made when the workers are ready: they do not wait for it, and nobody takes its place meanwhile. */
static void a_set_that_comes_later_is_not_waited_for_and_keeps_its_places(void **state)
{
    struct world *w = *state;
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(w, "n0", "cpu=64000," GPU "=3", "");
    two_sets(w, "worker", 2, "launcher", 1);
    pod_record(w, pod_in(w, "ns/w0", "job", "worker", GPU "=1", ""));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0); /* its own set is not whole */
    pod_record(w, pod_in(w, "ns/w1", "job", "worker", GPU "=1", ""));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 2);
    pod(w, "ns/alone", NULL, GPU "=1");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    pod_record(w, pod_in(w, "ns/l", "job", "launcher", GPU "=1", ""));
    step(w);
    assert_string_equal(node_of(w, "ns/l"), "n0");
}

/* The pods of a set of which each is made when the one before is ready: nobody waits for the others, and nobody takes their places. */
static void a_set_that_comes_one_by_one_keeps_its_places(void **state)
{
    struct world *w = *state;
    struct pod_set *sets = arena_zero(w->records, 1, sizeof *sets);
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(w, "n0", "cpu=64000," GPU "=3", "");
    sets[0] = a_set(w, "main", 3, GPU "=1");
    sets[0].serial = true;
    submit_and_admit(w, workload_of(w, "set", sets, 1));
    for (int i = 0; i < 3; i++) {
        pod(w, arena_printf(w->records, "ns/alone-%d", i), NULL, GPU "=1");
        step(w);
        assert_int_equal(effects(w, EFFECT_BIND), 0);
        const char *name = arena_printf(w->records, "ns/s-%d", i);
        pod_record(w, pod_in(w, name, "set", "main", GPU "=1", ""));
        step(w);
        assert_string_equal(node_of(w, name), "n0");
    }
    gone(w, CHANGE_POD_GONE, "ns/s-1"); /* updated: its place is kept for the next */
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    pod_record(w, pod_in(w, "ns/s-4", "set", "main", GPU "=1", ""));
    step(w);
    assert_string_equal(node_of(w, "ns/s-4"), "n0");
}

/* Jobs that are made when others are over start together all the same. */
static void a_set_that_comes_later_starts_whole(void **state)
{
    struct world *w = *state;
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(w, "n0", "cpu=64000," GPU "=8", "");
    two_sets(w, "data", 1, "train", 2);
    struct pod_record p = pod_in(w, "ns/d", "job", "data", GPU "=1", "");
    pod_record(w, p);
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 1);
    p.phase = POD_SUCCEEDED;
    p.node = id(w, "n0");
    pod_record(w, p);
    step(w);
    pod_record(w, pod_in(w, "ns/t0", "job", "train", GPU "=1", ""));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    pod_record(w, pod_in(w, "ns/t1", "job", "train", GPU "=1", ""));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 2);
    gone(w, CHANGE_POD_GONE, "ns/t0"); /* one alone is made again */
    step(w);
    pod_record(w, pod_in(w, "ns/t2", "job", "train", GPU "=1", ""));
    step(w);
    assert_string_equal(node_of(w, "ns/t2"), "n0");
}

/* Nobody of it is left, and for one of two alone there is a place: it would wait in vain for the other. */
static void a_set_that_comes_later_starts_again_whole(void **state)
{
    struct world *w = *state;
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(w, "n0", "cpu=64000," GPU "=3", "");
    two_sets(w, "data", 1, "train", 2);
    pod_record(w, pod_in(w, "ns/d", "job", "data", GPU "=1", ""));
    pod_record(w, pod_in(w, "ns/t0", "job", "train", GPU "=1", ""));
    pod_record(w, pod_in(w, "ns/t1", "job", "train", GPU "=1", ""));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 3);
    gone(w, CHANGE_POD_GONE, "ns/t0");
    gone(w, CHANGE_POD_GONE, "ns/t1");
    node(w, "n0", "cpu=64000," GPU "=2", ""); /* a GPU has failed */
    comes_to_rest(w);
    pod_record(w, pod_in(w, "ns/t2", "job", "train", GPU "=1", ""));
    pod_record(w, pod_in(w, "ns/t3", "job", "train", GPU "=1", ""));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    node(w, "n1", "cpu=64000," GPU "=1", "");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 2);
}

/* Another scheduler has bound the pod of "second" where that holds a place for it: it takes that, and "first", which waits for its own pod
 * on the same node, loses nothing to it, nor to who comes then. model_core_order 301492 12 1, with pods in domains */
static void a_pod_bound_by_others_takes_the_place_that_is_held_for_it(void **state)
{
    struct world *w = *state;
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(w, "n0", "cpu=64000," GPU "=8", "");
    workload(w, "first", "ns/lq", 1, FOUR);
    workload(w, "second", "ns/lq", 1, FOUR);
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 2);
    outcome(w, EFFECT_ADMIT, "first", NULL, OUTCOME_DONE);
    outcome(w, EFFECT_ADMIT, "second", NULL, OUTCOME_DONE);
    struct pod_record p = a_pod(w, "ns/second-0", "second", FOUR);
    p.node = id(w, "n0");
    p.phase = POD_RUNNING;
    pod_record(w, p);
    workload(w, "third", "ns/lq", 1, FOUR);
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
    pod(w, "ns/first-0", "first", FOUR);
    step(w);
    assert_string_equal(node_of(w, "ns/first-0"), "n0");
}

/* Its pod exists already, and both writes of one plan are refused, the binding last: neither quota nor a place has been heard of. */
static void an_admission_refused_before_its_binding_is_refused_is_written_again(void **state)
{
    struct world *w = *state;
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(w, "n0", "cpu=64000," GPU "=8", "");
    workload(w, "job", "ns/lq", 1, FOUR);
    pod(w, "ns/job-0", "job", FOUR);
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "job"));
    assert_string_equal(node_of(w, "ns/job-0"), "n0");
    outcome(w, EFFECT_ADMIT, "job", NULL, OUTCOME_FAILED);
    assert_int_equal(state_gang_phase(w->s, id(w, "job")), GANG_BOUND); /* when it lands, the pod runs */
    outcome(w, EFFECT_BIND, "job", "ns/job-0", OUTCOME_FAILED);
    assert_int_equal(state_gang_phase(w->s, id(w, "job")), GANG_WAITING);
    w->now_ms += 20000; /* past any wait after a failure */
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "job"));
    assert_string_equal(node_of(w, "ns/job-0"), "n0");
}

/* Of a group there is room for one: the one with the higher priority starts, though it came later. */
static void members_start_by_priority(void **state)
{
    struct world *w = *state;
    node(w, "n0", "cpu=64000," GPU "=4", "");
    gang_record(w, a_group(w, "g", NULL, 1));
    for (int i = 0; i < 3; i++) {
        struct pod_record p = a_pod(w, arena_printf(w->records, "ns/g-%d", i), "g", FOUR);
        p.priority = i == 1 ? 5 : 0;
        pod_record(w, p);
    }
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 1);
    assert_non_null(entry_of(w, EFFECT_BIND, "ns/g-1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_world(an_admission_refused_before_its_binding_is_refused_is_written_again),
        in_a_world(members_start_by_priority),
        in_a_world(a_failed_member_leaves_its_place_to_its_successor),
        in_a_world(a_deleted_member_too),
        in_a_world(success_and_the_end_of_the_job_give_the_room_back),
        in_a_world(pods_beyond_the_limit_of_a_turn_come_in_the_next),
        in_a_world(a_pod_stands_only_where_its_own_tolerations_let_it),
        in_a_world(a_pod_bound_by_others_takes_the_place_that_is_held_for_it),
        in_a_world(who_loses_his_place_to_a_pod_of_others_finds_another),
        in_a_world(members_of_two_kinds_wait_each_for_its_own_place),
        in_a_world(a_job_starts_whole_beside_its_former_pods),
        in_a_world(a_part_of_a_job_waits_in_peace_beside_its_former_pods),
        in_a_world(what_was_held_a_moment_ago_wakes_nobody_when_it_is_given_up),
        in_a_world(a_set_that_comes_later_is_not_waited_for_and_keeps_its_places),
        in_a_world(a_set_that_comes_one_by_one_keeps_its_places),
        in_a_world(a_set_that_comes_later_starts_whole),
        in_a_world(a_set_that_comes_later_starts_again_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
