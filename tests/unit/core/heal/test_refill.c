/* test_refill.c - pod groups that run and lose members: what is kept for those who come in their stead, for how long, and from whom
 *
 * Node n0 has two GPUs, n1 has two. Group g asks for four pods of one GPU each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../jobs.h"

static const char *const members[] = {"ns/g-0", "ns/g-1", "ns/g-2", "ns/g-3"};

static const char *places[4]; /* of these */

static struct pod_record member(struct world *w, const char *key, const char *on)
{
    struct pod_record p = a_pod(w, key, "g", GPU "=1");
    p.created_ms = 1;
    p.node = on ? id(w, on) : 0;
    p.phase = on ? POD_RUNNING : POD_PENDING;
    return p;
}

static struct gang_record group(struct world *w, const char *queue, int32_t refill_s)
{
    struct gang_record r = a_group(w, "g", queue, 4);
    r.refill_s = refill_s;
    r.created_ms = 1;
    return r;
}

/* It runs, on all four GPUs. */
static void runs(struct world *w, const char *queue, int32_t refill_s)
{
    node(w, "n0", "cpu=8000," GPU "=2", "");
    node(w, "n1", "cpu=8000," GPU "=2", "");
    gang_record(w, group(w, queue, refill_s));
    for (int i = 0; i < 4; i++)
        pod_record(w, member(w, members[i], NULL));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 4);
    for (int i = 0; i < 4; i++)
        places[i] = node_of(w, members[i]);
    for (int i = 0; i < 4; i++)
        pod_record(w, member(w, members[i], places[i]));
    step(w);
}

static void after(struct world *w, int64_t ms)
{
    w->now_ms += ms;
    step(w);
}

/* Where the pod is bound in one of the next cycles; "": nowhere. */
static const char *soon_on(struct world *w, const char *pod_key)
{
    const char *on = "";
    for (int i = 0; i < 3 && !*on; i++) {
        step(w);
        on = node_of(w, pod_key);
    }
    return on;
}

static void others_do_not_take_the_place_of_a_lost_member(void **state)
{
    struct world *w = *state;
    runs(w, NULL, 0);
    struct pod_record other = a_pod(w, "ns/other", NULL, GPU "=1");
    other.priority = 1000;
    other.preempts_nobody = true;
    pod_record(w, other);
    step(w);
    gone(w, CHANGE_POD_GONE, members[1]);
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    assert_int_equal(state_gang_phase(w->s, id(w, "g")), GANG_BOUND);
    assert_string_equal(why(w, "g"), "3 of 4 pods are left or have come anew; the places of the others are kept for them");
    after(w, 30000);
    pod_record(w, member(w, "ns/g-1b", NULL));
    step(w);
    assert_non_null(entry_of(w, EFFECT_BIND, "ns/g-1b"));
    assert_null(entry_of(w, EFFECT_BIND, "ns/other"));
    assert_string_equal(why(w, "g"), "");
}

/* They come one by one, and start together. */
static void two_lost_members_start_together(void **state)
{
    struct world *w = *state;
    runs(w, NULL, 0);
    gone(w, CHANGE_POD_GONE, members[0]);
    gone(w, CHANGE_POD_GONE, members[3]);
    step(w);
    pod_record(w, member(w, "ns/g-0b", NULL));
    pod(w, "ns/other", NULL, GPU "=1");
    after(w, 1000);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    pod_record(w, member(w, "ns/g-3b", NULL));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 2);
    assert_null(entry_of(w, EFFECT_BIND, "ns/other"));
}

static void a_place_is_not_kept_for_ever(void **state)
{
    struct world *w = *state;
    runs(w, NULL, 0);
    pod(w, "ns/other", NULL, GPU "=1");
    step(w);
    gone(w, CHANGE_POD_GONE, members[2]);
    step(w);
    assert_true(w->plan.wake_ms <= w->now_ms + 60000 && w->plan.wake_ms > w->now_ms);
    after(w, 59000);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    w->now_ms += 1000;
    assert_string_equal(soon_on(w, "ns/other"), places[2]);
    assert_int_equal(effects(w, EFFECT_EVICT), 0); /* nobody has asked for that */
    assert_int_equal(state_gang_phase(w->s, id(w, "g")), GANG_WAITING);
}

static void a_group_that_asks_for_it_is_released_whole(void **state)
{
    struct world *w = *state;
    runs(w, NULL, 120);
    pod(w, "ns/other", NULL, GPU "=4");
    gone(w, CHANGE_POD_GONE, members[2]);
    step(w);
    after(w, 119000);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
    after(w, 1000);
    const struct plan_entry *evict = entry_of(w, EFFECT_EVICT, "g");
    assert_non_null(evict);
    assert_int_equal(evict->reason->code, REASON_GANG_BROKEN);
    outcome(w, EFFECT_EVICT, "g", NULL, OUTCOME_DONE);
    for (int i = 0; i < 4; i++)
        if (i != 2)
            gone(w, CHANGE_POD_GONE, members[i]);
    for (int i = 0; i < 4; i++) {
        char key[32];
        snprintf(key, sizeof key, "ns/g-%db", i);
        pod_record(w, member(w, key, NULL));
    }
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 4); /* whole again, and in front of nobody who fits beside it */
}

/* Its place is on a node that failed: it is in line, holds what it has left, and is evicted whole when it asks for that. */
/* It is not whole because its eviction could not be written: it is told again, and not after as long once more. */
static void an_eviction_that_failed_is_told_again_soon(void **state)
{
    struct world *w = *state;
    runs(w, NULL, 120);
    pod(w, "ns/other", NULL, GPU "=4");
    gone(w, CHANGE_POD_GONE, members[2]);
    step(w);
    after(w, 120000);
    assert_non_null(entry_of(w, EFFECT_EVICT, "g"));
    outcome(w, EFFECT_EVICT, "g", NULL, OUTCOME_FAILED);
    step(w);
    assert_non_null(entry_of(w, EFFECT_EVICT, "g"));
}

/* Others have bound three of four, and the fourth finds room later: what it lost before counts no more. model_core_events 8037 400 1 */
static void one_that_was_mended_is_broken_anew(void **state)
{
    struct world *w = *state;
    node(w, "n0", "cpu=8000," GPU "=3", "");
    gang_record(w, group(w, NULL, 60));
    for (int i = 0; i < 3; i++)
        pod_record(w, member(w, members[i], "n0"));
    pod_record(w, member(w, members[3], NULL));
    step(w);
    after(w, 50000);
    node(w, "n1", "cpu=8000," GPU "=1", "");
    assert_string_equal(soon_on(w, members[3]), "n1");
    pod_record(w, member(w, members[3], "n1"));
    after(w, 50000);
    gone(w, CHANGE_POD_GONE, members[1]);
    step(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
    after(w, 59000);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
    after(w, 1000);
    assert_non_null(entry_of(w, EFFECT_EVICT, "g"));
}

/* Its last pods may take long to end; nobody comes for the place of the one that is gone. model_core_events 5017 400 1 */
static void what_was_kept_is_free_while_the_rest_ends(void **state)
{
    struct world *w = *state;
    runs(w, NULL, 90);
    pod(w, "ns/other", NULL, GPU "=1");
    step(w);
    gone(w, CHANGE_POD_GONE, members[0]);
    step(w);
    after(w, 90000);
    assert_int_equal(effects(w, EFFECT_EVICT), 1);
    outcome(w, EFFECT_EVICT, "g", NULL, OUTCOME_DONE);
    assert_string_equal(soon_on(w, "ns/other"), places[0]);
}

static void also_where_it_is_to_start_again(void **state)
{
    struct world *w = *state;
    runs(w, NULL, 0);
    pod(w, "ns/other", NULL, GPU "=1");
    step(w);
    gone(w, CHANGE_POD_GONE, members[0]);
    step(w);
    struct gang_record r = group(w, NULL, 0);
    r.restart_ms = w->now_ms + 1;
    w->now_ms += 1000;
    gang_record(w, r);
    step(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 1);
    outcome(w, EFFECT_EVICT, "g", NULL, OUTCOME_DONE);
    assert_string_equal(soon_on(w, "ns/other"), places[0]);
}

static void so_is_one_whose_node_failed(void **state)
{
    struct world *w = *state;
    runs(w, NULL, 120);
    struct node_record failed = a_node(w, places[0], "cpu=8000," GPU "=2", "");
    failed.ready = false;
    node_record(w, failed);
    gone(w, CHANGE_POD_GONE, members[0]);
    step(w);
    assert_int_equal(state_gang_phase(w->s, id(w, "g")), GANG_WAITING);
    pod_record(w, member(w, "ns/g-0b", NULL));
    after(w, 60000);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    after(w, 59000);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
    after(w, 2000);
    assert_non_null(entry_of(w, EFFECT_EVICT, "g"));
}

static void fails(struct world *w, int i)
{
    struct pod_record p = member(w, members[i], places[i]);
    p.phase = POD_FAILED;
    pod_record(w, p);
    step(w);
}

/* A pod of a removed node fails, and then it is gone: one hole, not two, and what comes in its stead starts once. */
static void who_fails_before_he_is_gone_leaves_one_hole(void **state)
{
    struct world *w = *state;
    runs(w, NULL, 0);
    pod(w, "ns/other", NULL, GPU "=1");
    fails(w, 1);
    assert_string_equal(why(w, "g"), "3 of 4 pods are left or have come anew; the places of the others are kept for them");
    gone(w, CHANGE_POD_GONE, members[1]);
    step(w);
    assert_string_equal(why(w, "g"), "3 of 4 pods are left or have come anew; the places of the others are kept for them");
    pod_record(w, member(w, "ns/g-1b", NULL));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 1);
    assert_non_null(entry_of(w, EFFECT_BIND, "ns/g-1b"));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
}

/* The successor may be there before the failed one is gone. */
static void who_comes_before_he_is_gone_starts_once(void **state)
{
    struct world *w = *state;
    runs(w, NULL, 0);
    fails(w, 1);
    pod_record(w, member(w, "ns/g-1b", NULL));
    step(w);
    assert_non_null(entry_of(w, EFFECT_BIND, "ns/g-1b"));
    pod_record(w, member(w, "ns/g-1b", node_of(w, "ns/g-1b")));
    gone(w, CHANGE_POD_GONE, members[1]);
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    assert_int_equal(state_gang_phase(w->s, id(w, "g")), GANG_BOUND);
    assert_string_equal(why(w, "g"), "");
}

/* With the node: the others of it hold their GPUs until the group is whole elsewhere, or its grace is over; then it goes once, whole. */
static void a_removed_node_is_no_place_for_who_failed_there(void **state)
{
    struct world *w = *state;
    runs(w, NULL, 120);
    const char *node_name = places[0];
    gone(w, CHANGE_NODE_GONE, node_name);
    step(w);
    after(w, 4000);
    int left_n = 0;
    for (int i = 0; i < 4; i++)
        if (strcmp(places[i], node_name) == 0)
            fails(w, i);
        else
            left_n++;
    for (int i = 0; i < 4; i++)
        if (strcmp(places[i], node_name) == 0)
            gone(w, CHANGE_POD_GONE, members[i]);
    step(w);
    assert_int_equal(left_n, 2);
    assert_int_equal(state_gang_phase(w->s, id(w, "g")), GANG_WAITING);
    pod_record(w, member(w, "ns/g-a", NULL));
    pod_record(w, member(w, "ns/g-b", NULL));
    after(w, 60000);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    node(w, "n9", "cpu=8000," GPU "=2", "");
    assert_string_equal(soon_on(w, "ns/g-a"), "n9");
    assert_non_null(entry_of(w, EFFECT_BIND, "ns/g-b"));
}

static void whose_grace_is_over_goes_once(void **state)
{
    struct world *w = *state;
    runs(w, NULL, 120);
    const char *node_name = places[0];
    gone(w, CHANGE_NODE_GONE, node_name);
    step(w);
    for (int i = 0; i < 4; i++)
        if (strcmp(places[i], node_name) == 0)
            fails(w, i);
    for (int i = 0; i < 4; i++)
        if (strcmp(places[i], node_name) == 0)
            gone(w, CHANGE_POD_GONE, members[i]);
    after(w, 119000);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
    after(w, 2000);
    assert_int_equal(effects(w, EFFECT_EVICT), 1);
    outcome(w, EFFECT_EVICT, "g", NULL, OUTCOME_DONE);
    after(w, 1000);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
}

/* Devices of a GPU that is not healthy are no place: the member goes where another is free, at once. */
static void a_faulty_gpu_is_not_kept(void **state)
{
    struct world *w = *state;
    runs(w, NULL, 0);
    node(w, "n2", "cpu=8000," GPU "=1", "");
    const char *name = places[0];
    struct device *devices = arena_zero(w->records, 2, sizeof *devices);
    for (int i = 0; i < 2; i++)
        devices[i] = (struct device){.resource = id(w, GPU), .id = id(w, i ? "GPU-1" : "GPU-0"), .gpu = (uint16_t)i, .healthy = true};
    struct node_record n = a_node(w, name, "cpu=8000," GPU "=2", "");
    n.devices = devices;
    n.devices_n = 2;
    node_record(w, n);
    step(w);
    devices[0].healthy = devices[1].healthy = false;
    n = a_node(w, name, "cpu=8000," GPU "=1", "");
    n.devices = devices;
    n.devices_n = 2;
    node_record(w, n);
    gone(w, CHANGE_POD_GONE, members[0]);
    pod_record(w, member(w, "ns/g-0b", NULL));
    assert_string_equal(soon_on(w, "ns/g-0b"), "n2");
}

/* Who has more pods than its minimum is not broken by the end of one of them. */
static void the_end_of_a_surplus_member_keeps_nothing(void **state)
{
    struct world *w = *state;
    struct gang_record r = group(w, NULL, 0);
    runs(w, NULL, 0);
    r.min_members = 3;
    gang_record(w, r);
    pod(w, "ns/other", NULL, GPU "=1");
    step(w);
    gone(w, CHANGE_POD_GONE, members[2]);
    step(w);
    assert_non_null(entry_of(w, EFFECT_BIND, "ns/other"));
    assert_int_equal(state_gang_phase(w->s, id(w, "g")), GANG_BOUND);
}

/* Fewer are enough from now on: it is whole, and the place is anybody's. */
static void a_lower_minimum_keeps_nothing(void **state)
{
    struct world *w = *state;
    runs(w, NULL, 0);
    pod(w, "ns/other", NULL, GPU "=1");
    step(w);
    gone(w, CHANGE_POD_GONE, members[2]);
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    struct gang_record r = group(w, NULL, 0);
    r.min_members = 3;
    gang_record(w, r);
    assert_string_equal(soon_on(w, "ns/other"), places[2]);
    assert_int_equal(state_gang_phase(w->s, id(w, "g")), GANG_BOUND);
}

/* A job that is deleted whole, or restarted whole, leaves no holes. */
static void a_group_that_is_deleted_keeps_nothing(void **state)
{
    struct world *w = *state;
    runs(w, NULL, 0);
    pod(w, "ns/other", NULL, GPU "=1");
    for (int i = 0; i < 4; i++) {
        struct pod_record p = member(w, members[i], places[i]);
        p.deleting = true;
        pod_record(w, p);
    }
    step(w);
    gone(w, CHANGE_POD_GONE, members[0]);
    step(w);
    assert_non_null(entry_of(w, EFFECT_BIND, "ns/other"));
}

static void who_is_deleted_while_places_are_kept_gives_them_back(void **state)
{
    struct world *w = *state;
    runs(w, NULL, 0);
    pod(w, "ns/other", NULL, GPU "=1");
    gone(w, CHANGE_POD_GONE, members[0]);
    step(w);
    gone(w, CHANGE_GANG_GONE, "g");
    step(w);
    assert_non_null(entry_of(w, EFFECT_BIND, "ns/other"));
}

/* Quota is kept with the place: another group of the queue does not get it. */
static void its_quota_is_kept_too(void **state)
{
    struct world *w = *state;
    volcano_queue(w, 4);
    runs(w, "volcano:v", 0);
    node(w, "n2", "cpu=8000," GPU "=8", "");
    gang_record(w, a_group(w, "h", "volcano:v", 1));
    pod(w, "ns/h-0", "h", GPU "=1");
    step(w);
    gone(w, CHANGE_POD_GONE, members[0]);
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    pod_record(w, member(w, "ns/g-0b", NULL));
    step(w);
    assert_non_null(entry_of(w, EFFECT_BIND, "ns/g-0b"));
    gone(w, CHANGE_POD_GONE, members[1]);
    step(w);
    w->now_ms += 60000;
    assert_string_not_equal(soon_on(w, "ns/h-0"), "");
}

/* A pod that asks for more than the one before, and fits nowhere: the places are given back, and it waits as others do. */
static void who_does_not_fit_keeps_nothing(void **state)
{
    struct world *w = *state;
    runs(w, NULL, 0);
    pod(w, "ns/other", NULL, GPU "=1");
    gone(w, CHANGE_POD_GONE, members[0]);
    step(w);
    struct pod_record large = a_pod(w, "ns/g-0b", "g", GPU "=2");
    large.created_ms = 1;
    pod_record(w, large);
    assert_string_equal(soon_on(w, "ns/other"), places[0]);
    assert_int_equal(state_gang_phase(w->s, id(w, "g")), GANG_WAITING);
}

static void while_nobody_may_be_let_in_it_waits(void **state)
{
    struct world *w = *state;
    runs(w, NULL, 0);
    w->hold = true;
    gone(w, CHANGE_POD_GONE, members[0]);
    pod_record(w, member(w, "ns/g-0b", NULL));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    w->hold = false;
    w->now_ms += 60000;
    assert_string_equal(soon_on(w, "ns/g-0b"), places[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_world(others_do_not_take_the_place_of_a_lost_member),
        in_a_world(two_lost_members_start_together),
        in_a_world(a_place_is_not_kept_for_ever),
        in_a_world(a_group_that_asks_for_it_is_released_whole),
        in_a_world(an_eviction_that_failed_is_told_again_soon),
        in_a_world(one_that_was_mended_is_broken_anew),
        in_a_world(what_was_kept_is_free_while_the_rest_ends),
        in_a_world(also_where_it_is_to_start_again),
        in_a_world(so_is_one_whose_node_failed),
        in_a_world(who_fails_before_he_is_gone_leaves_one_hole),
        in_a_world(who_comes_before_he_is_gone_starts_once),
        in_a_world(a_removed_node_is_no_place_for_who_failed_there),
        in_a_world(whose_grace_is_over_goes_once),
        in_a_world(a_faulty_gpu_is_not_kept),
        in_a_world(the_end_of_a_surplus_member_keeps_nothing),
        in_a_world(a_lower_minimum_keeps_nothing),
        in_a_world(a_group_that_is_deleted_keeps_nothing),
        in_a_world(who_is_deleted_while_places_are_kept_gives_them_back),
        in_a_world(its_quota_is_kept_too),
        in_a_world(who_does_not_fit_keeps_nothing),
        in_a_world(while_nobody_may_be_let_in_it_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
