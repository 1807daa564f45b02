/* test_shrink.c - gangs that may start with fewer members than they ask for */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "jobs.h"

/* A queue of so many GPUs; nodes have more than that. */
static void quota_of(struct world *w, int64_t gpus)
{
    gpu_queue(w, "q", NULL, "ns/lq", gpus);
    node(w, "n0", GPU "=64", "");
}

static struct gang_record between(struct world *w, const char *name, int32_t fewest, int32_t most)
{
    struct pod_set *set = arena_zero(w->records, 1, sizeof *set);
    *set = a_set(w, "main", most, GPU "=1");
    set->min_count = fewest;
    return workload_of(w, name, set, 1);
}

/* It comes and is tried. */
static struct gang_record submit(struct world *w, const char *name, int32_t fewest, int32_t most)
{
    struct gang_record r = between(w, name, fewest, most);
    gang_record(w, r);
    step(w);
    return r;
}

/* Members that the plan gives to the gang's first set; -1: none are. */
static int given(struct world *w, const char *gang)
{
    const struct plan_entry *e = entry_of(w, EFFECT_ADMIT, gang);
    return e && e->counts_n ? e->counts[0] : -1;
}

/* Members that "a" holds quota and places for; -1: for none. */
static int held(struct world *w)
{
    return state_gang_granted(w->s, id(w, "a"), id(w, "main"));
}

/* What the API says of `r` once it was admitted with so many. */
static struct gang_record granted(struct world *w, struct gang_record r, int32_t n)
{
    struct pod_set *sets = arena_zero(w->records, 1, sizeof *sets);
    sets[0] = r.pod_sets[0];
    sets[0].granted = n;
    r.pod_sets = sets;
    return admitted(w, r);
}

static void members(struct world *w, const char *gang, int n)
{
    for (int i = 0; i < n; i++) {
        char key[32];
        snprintf(key, sizeof key, "ns/%s-%d", gang, i);
        pod_record(w, pod_in(w, key, gang, "main", GPU "=1", ""));
    }
}

/* ---- how many it starts with ---- */

static void starts_with_what_quota_allows(void **state)
{
    struct world *w = *state;
    quota_of(w, 4);
    struct gang_record r = submit(w, "a", 2, 8);
    assert_int_equal(given(w, "a"), 4);
    assert_int_equal(held(w), 4);
    gang_record(w, granted(w, r, 4));
    members(w, "a", 4);
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 4);
    submit(w, "late", 1, 1);
    assert_int_equal(given(w, "late"), -1); /* all four are charged */
}

static void starts_with_what_nodes_hold(void **state)
{
    struct world *w = *state;
    gpu_queue(w, "q", NULL, "ns/lq", 100);
    node(w, "n0", GPU "=3", "");
    node(w, "n1", GPU "=2", "");
    submit(w, "a", 1, 8);
    assert_int_equal(given(w, "a"), 5);
}

static void starts_whole_where_it_can(void **state)
{
    struct world *w = *state;
    quota_of(w, 8);
    submit(w, "a", 2, 8);
    assert_int_equal(given(w, "a"), 8);
}

/* SOURCE Kueue: what is left out is shared in proportion; 4 of 8 and 0 of 2 may go, and 3 of them must. */
static void sets_share_what_is_left_out(void **state)
{
    struct world *w = *state;
    quota_of(w, 9);
    struct pod_set sets[] = {a_set(w, "a", 8, GPU "=1"), a_set(w, "b", 2, GPU "=1"), a_set(w, "c", 2, GPU "=1")};
    sets[0].min_count = 4;
    sets[2].min_count = 1;
    gang_record(w, workload_of(w, "g", sets, 3));
    step(w);
    const struct plan_entry *e = entry_of(w, EFFECT_ADMIT, "g");
    assert_non_null(e);
    assert_int_equal(e->counts[0], 5); /* 4 of the 5 that may go: 3.2 of 4, 0.8 of 1 */
    assert_int_equal(e->counts[1], 2);
    assert_int_equal(e->counts[2], 2);
}

/* Members that are over need nothing, and are not counted among those that were left out. */
static void members_that_are_over_count_first(void **state)
{
    struct world *w = *state;
    quota_of(w, 4);
    struct gang_record r = between(w, "a", 2, 8);
    ((struct pod_set *)r.pod_sets)[0].reclaimed = 5; /* 3 are left */
    gang_record(w, r);
    step(w);
    assert_int_equal(given(w, "a"), 3);
    gang_record(w, granted(w, r, 3));
    submit(w, "late", 1, 1);
    assert_int_equal(given(w, "late"), 1);
}

/* Two queues of a cohort: who starts within its own quota is before who must borrow, with fewer members, too. */
static void borrows_as_it_would_start(void **state)
{
    struct world *w = *state;
    struct queue_words q;
    node(w, "n0", GPU "=64", "");
    gpu_queue(w, "q3", "c", "ns/lq3", 4);
    for (int i = 0; i < 2; i++) {
        queue_begin(w, &q, i ? "q2" : "q1", "c");
        q.r.borrow_within_cohort = PREEMPT_LOWER_PRIORITY; /* what it might preempt for counts as a claim */
        queue_quota(w, &q, "any", GPU, i ? 0 : 4, NO_LIMIT, NO_LIMIT);
        queue_done(w, &q);
        local_queue(w, i ? "ns/lq2" : "ns/lq1", i ? "q2" : "q1");
    }
    workload(w, "holder", "ns/lq3", 4, GPU "=1");
    step(w);
    workload(w, "borrower", "ns/lq2", 4, GPU "=1"); /* older */
    struct gang_record r = between(w, "own", 2, 8);
    r.local_queue = id(w, "ns/lq1");
    gang_record(w, r);
    step(w);
    assert_int_equal(given(w, "own"), 4);
    assert_int_equal(given(w, "borrower"), -1);
}

/* ---- while not even the fewest fit ---- */

/* It waits for them, and so much is said to help. */
static void waits_for_the_fewest(void **state)
{
    struct world *w = *state;
    quota_of(w, 1);
    submit(w, "a", 2, 8);
    assert_int_equal(given(w, "a"), -1);
    struct buf b;
    buf_init(&b);
    explain_json(&b, state_gang_reason(w->s, id(w, "a")), w->names);
    if (!strstr(b.data, "\"change\":\"quota\",\"queue\":\"q\",\"flavor\":\"any\",\"resource\":\"nvidia.com/gpu\",\"add\":\"1\""))
        fail_msg("%s", b.data);
    buf_free(&b);
    quota_of(w, 3);
    step(w);
    assert_int_equal(given(w, "a"), 3);
}

/* What it waits for is room for the fewest: it is woken by that. */
static void is_woken_by_quota_for_the_fewest(void **state)
{
    struct world *w = *state;
    quota_of(w, 8);
    submit(w, "stays", 5, 5);
    submit(w, "goes", 2, 2);
    submit(w, "a", 3, 8);
    assert_int_equal(given(w, "a"), -1);
    gone(w, CHANGE_GANG_GONE, "goes");
    step(w);
    assert_int_equal(given(w, "a"), 3);
}

static void is_woken_by_nodes_for_the_fewest(void **state)
{
    struct world *w = *state;
    gpu_queue(w, "q", NULL, "ns/lq", 100);
    node(w, "n0", GPU "=2", "");
    submit(w, "a", 3, 8);
    assert_int_equal(given(w, "a"), -1);
    node(w, "n1", GPU "=2", "");
    step(w);
    assert_int_equal(given(w, "a"), 4);
}

/* Refused, it asks for all as before: it was only tried with fewer. */
/* One of set "a" takes "fa", which "b" needs whole; two of it take "fb", where the node is too small at first. core_events 100001 320 1 */
static void is_woken_by_nodes_for_more_than_the_fewest(void **state)
{
    struct world *w = *state;
    struct queue_words q;
    flavor(w, "fa", "kind=a");
    flavor(w, "fb", "kind=b");
    for (int i = 0; i < 2; i++) {
        queue_begin(w, &q, i ? "q" : "lends", "c");
        q.r.borrow_before_next_flavor = false;
        queue_quota(w, &q, "fa", GPU, i ? 0 : 3, NO_LIMIT, NO_LIMIT);
        queue_quota(w, &q, "fb", GPU, i ? 0 : 4, NO_LIMIT, NO_LIMIT);
        queue_done(w, &q);
    }
    local_queue(w, "ns/lq", "q");
    node(w, "na", GPU "=3", "kind=a");
    node(w, "nb", GPU "=3", "kind=b");
    struct pod_set sets[2] = {a_set(w, "a", 3, GPU "=2"), a_set(w, "b", 1, GPU "=3")};
    sets[0].min_count = 1;
    sets[1].shape = shape_of(w, GPU "=3", "kind=a");
    gang_record(w, workload_of(w, "job", sets, 2));
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
    node(w, "nb", GPU "=4", "kind=b");
    step(w);
    assert_int_equal(given(w, "job"), 2);
}

static void is_tried_whole_again(void **state)
{
    struct world *w = *state;
    quota_of(w, 1);
    submit(w, "a", 2, 8);
    quota_of(w, 20);
    step(w);
    assert_int_equal(given(w, "a"), 8);
}

/* ---- what was granted ---- */

static void asks_for_all_again_after_an_eviction(void **state)
{
    struct world *w = *state;
    quota_of(w, 4);
    struct gang_record r = submit(w, "a", 2, 8);
    gang_record(w, granted(w, r, 4));
    step(w);
    gang_record(w, r); /* somebody took the admission back */
    quota_of(w, 16);
    step(w);
    assert_int_equal(given(w, "a"), 8);
}

static void a_restart_holds_what_was_granted(void **state)
{
    struct world *w = *state;
    quota_of(w, 8);
    struct gang_record r = between(w, "a", 2, 8);
    gang_record(w, granted(w, r, 3));
    submit(w, "late", 5, 5);
    assert_int_equal(given(w, "late"), 5);
    assert_int_equal(held(w), 3);
    gang_record(w, granted(w, r, 2)); /* and what it says now */
    assert_int_equal(held(w), 2);
}

static void pod_of_a(struct world *w, int number, const char *at, bool over)
{
    char key[32];
    snprintf(key, sizeof key, "ns/a-%d", number);
    struct pod_record r = pod_in(w, key, "a", "main", GPU "=1", "");
    r.node = at ? id(w, at) : 0;
    r.phase = over ? POD_SUCCEEDED : POD_PENDING;
    pod_record(w, r);
    step(w);
}

/* Two at a time of four, `r` was let in for two: who comes after one that succeeded has its place, and it is free when nobody is to come
 * any more: `left_out` of what is reclaimed was never granted. */
static void come_in_turns(struct world *w, struct gang_record r, int32_t left_out)
{
    gang_record(w, granted(w, r, 2));
    members(w, "a", 2);
    pod(w, "ns/alone", NULL, GPU "=1");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 2);
    for (int i = 0; i < 2; i++) {
        pod_of_a(w, i, "n0", true);
        assert_string_equal(node_of(w, "ns/alone"), "");
        pod_of_a(w, i + 2, NULL, false);
        assert_string_equal(node_of(w, i ? "ns/a-3" : "ns/a-2"), "n0");
    }
    pod_of_a(w, 2, "n0", true);
    assert_string_equal(node_of(w, "ns/alone"), "");
    r = granted(w, r, 2);
    ((struct pod_set *)r.pod_sets)[0].reclaimed = left_out + 1;
    gang_record(w, r);
    step(w);
    step(w);
    assert_string_equal(node_of(w, "ns/alone"), "n0");
}

static void who_was_left_out_comes_after_those_that_run(void **state)
{
    struct world *w = *state;
    gpu_queue(w, "q", NULL, "ns/lq", 100);
    node(w, "n0", GPU "=2", "");
    struct gang_record r = between(w, "a", 2, 4);
    ((struct pod_set *)r.pod_sets)[0].in_turns = true;
    gang_record(w, r);
    step(w);
    assert_int_equal(given(w, "a"), 2);
    come_in_turns(w, r, 2);
}

/* Nobody is known to come after those that were granted: a place is free when its pod has succeeded. */
static void who_does_not_come_in_turns_leaves_its_place(void **state)
{
    struct world *w = *state;
    gpu_queue(w, "q", NULL, "ns/lq", 100);
    node(w, "n0", GPU "=2", "");
    struct gang_record r = submit(w, "a", 2, 4);
    gang_record(w, granted(w, r, 2));
    members(w, "a", 2);
    pod(w, "ns/alone", NULL, GPU "=1");
    step(w);
    pod_of_a(w, 0, "n0", true);
    assert_string_equal(node_of(w, "ns/alone"), "n0");
}

/* Of a job that has more completions than it runs pods at a time. */
static struct gang_record two_in_turns(struct world *w)
{
    struct gang_record r = between(w, "a", 2, 2);
    ((struct pod_set *)r.pod_sets)[0].in_turns = true;
    return r;
}

static void who_comes_after_one_that_succeeded_has_its_place(void **state)
{
    struct world *w = *state;
    gpu_queue(w, "q", NULL, "ns/lq", 100);
    node(w, "n0", GPU "=2", "");
    struct gang_record r = two_in_turns(w);
    gang_record(w, r);
    step(w);
    come_in_turns(w, r, 0);
}

/* A core that begins anew while nobody has come yet after one that succeeded. */
static void a_restart_keeps_the_place_of_who_comes_after(void **state)
{
    struct world *w = *state;
    gpu_queue(w, "q", NULL, "ns/lq", 100);
    node(w, "n0", GPU "=2", "");
    gang_record(w, granted(w, two_in_turns(w), 2));
    for (int i = 0; i < 4; i++) {
        char key[32];
        snprintf(key, sizeof key, "ns/a-%d", i);
        struct pod_record r = pod_in(w, key, "a", "main", GPU "=1", "");
        r.node = id(w, "n0");
        r.phase = i < 3 ? POD_SUCCEEDED : POD_RUNNING;
        pod_record(w, r);
    }
    pod(w, "ns/alone", NULL, GPU "=1");
    step(w);
    assert_string_equal(node_of(w, "ns/alone"), "");
    pod_of_a(w, 4, NULL, false);
    assert_string_equal(node_of(w, "ns/a-4"), "n0");
    assert_string_equal(node_of(w, "ns/alone"), "");
}

/* What is reclaimed is neither reserved nor used. */
static void what_is_over_is_not_used(void **state)
{
    struct world *w = *state;
    struct queue_usage *rows;
    quota_of(w, 8);
    struct gang_record r = submit(w, "a", 2, 2);
    gang_record(w, granted(w, r, 2));
    members(w, "a", 2);
    step(w);
    pod_of_a(w, 0, "n0", true);
    assert_int_equal(state_queue_usage(w->s, id(w, "q"), w->cycle, &rows), 1);
    assert_int_equal(rows[0].reserved, 2);
    assert_int_equal(rows[0].used, 1);
    r = granted(w, r, 2);
    ((struct pod_set *)r.pod_sets)[0].reclaimed = 1;
    gang_record(w, r);
    step(w);
    assert_int_equal(state_queue_usage(w->s, id(w, "q"), w->cycle, &rows), 1);
    assert_int_equal(rows[0].reserved, 1);
    assert_int_equal(rows[0].used, 1);
}

static void a_refused_write_takes_back_all(void **state)
{
    struct world *w = *state;
    quota_of(w, 4);
    submit(w, "a", 2, 8);
    assert_int_equal(given(w, "a"), 4);
    outcome(w, EFFECT_ADMIT, "a", "", OUTCOME_FAILED);
    assert_int_equal(held(w), -1);
    quota_of(w, 8);
    step(w);
    assert_int_equal(given(w, "a"), 8);
}

/* Another priority, say, while our word is on its way. */
static void a_record_without_our_word_changes_nothing(void **state)
{
    struct world *w = *state;
    quota_of(w, 4);
    struct gang_record r = submit(w, "a", 2, 8);
    r.priority = 5;
    gang_record(w, r);
    assert_int_equal(held(w), 4);
    step(w);
    assert_int_equal(held(w), 4);
}

static void what_another_has_granted_counts(void **state)
{
    struct world *w = *state;
    quota_of(w, 4);
    gpu_queue(w, "other", NULL, "ns/other", 9);
    struct gang_record r = granted(w, submit(w, "a", 2, 8), 3);
    r.admitted_queue = id(w, "other");
    gang_record(w, r);
    assert_int_equal(held(w), 3);
}

static void another_minimum_is_heard(void **state)
{
    struct world *w = *state;
    quota_of(w, 4);
    struct gang_record r = submit(w, "a", 8, 8);
    assert_int_equal(given(w, "a"), -1);
    struct pod_set set = r.pod_sets[0];
    set.min_count = 2;
    r.pod_sets = &set;
    r.min_members = 2;
    gang_record(w, r);
    step(w);
    assert_int_equal(given(w, "a"), 4);
}

/* Shapes are kept while somebody may wait for room for them: what tries of more and of fewer members noted goes with the gang. */
static void tries_leave_nothing_behind(void **state)
{
    struct world *w = *state;
    const struct toleration rare = {.key = id(w, "known-to-nobody-else"), .exists = true, .effects = TAINT_NO_SCHEDULE};
    gpu_queue(w, "q", NULL, "ns/lq", 100);
    node(w, "n0", GPU "=3", "");
    struct gang_record r = between(w, "a", 1, 8);
    ((struct pod_set *)r.pod_sets)[0].shape.tolerations = &rare;
    ((struct pod_set *)r.pod_sets)[0].shape.tolerations_n = 1;
    gang_record(w, r);
    step(w);
    assert_int_equal(given(w, "a"), 3);
    gone(w, CHANGE_GANG_GONE, "a");
    step(w);
    sweep_names(w);
    assert_int_equal(intern_find(w->names, BYTES("known-to-nobody-else")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_world(starts_with_what_quota_allows),
        in_a_world(starts_with_what_nodes_hold),
        in_a_world(starts_whole_where_it_can),
        in_a_world(sets_share_what_is_left_out),
        in_a_world(members_that_are_over_count_first),
        in_a_world(borrows_as_it_would_start),
        in_a_world(waits_for_the_fewest),
        in_a_world(is_woken_by_quota_for_the_fewest),
        in_a_world(is_woken_by_nodes_for_the_fewest),
        in_a_world(is_woken_by_nodes_for_more_than_the_fewest),
        in_a_world(is_tried_whole_again),
        in_a_world(asks_for_all_again_after_an_eviction),
        in_a_world(a_restart_holds_what_was_granted),
        in_a_world(who_was_left_out_comes_after_those_that_run),
        in_a_world(who_does_not_come_in_turns_leaves_its_place),
        in_a_world(who_comes_after_one_that_succeeded_has_its_place),
        in_a_world(a_restart_keeps_the_place_of_who_comes_after),
        in_a_world(what_is_over_is_not_used),
        in_a_world(a_refused_write_takes_back_all),
        in_a_world(a_record_without_our_word_changes_nothing),
        in_a_world(what_another_has_granted_counts),
        in_a_world(another_minimum_is_heard),
        in_a_world(tries_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
