/* test_shrink.c - gangs that may start with fewer members than they ask for */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "jobs.h"

static void gpus(struct world *w, int64_t quota)
{
    struct queue_words q;
    flavor(w, "any", "");
    queue_begin(w, &q, "q", NULL);
    queue_quota(w, &q, "any", GPU, quota, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    local_queue(w, "ns/lq", "q");
}

static struct gang_record between(struct world *w, const char *name, int32_t fewest, int32_t most)
{
    struct pod_set *set = arena_zero(w->records, 1, sizeof *set);
    *set = a_set(w, "main", most, GPU "=1");
    set->min_count = fewest;
    return workload_of(w, name, set, 1);
}

/* Members that the plan gives to the gang's first set; -1: none are. */
static int given(struct world *w, const char *gang)
{
    const struct plan_entry *e = entry_of(w, EFFECT_ADMIT, gang);
    return e && e->counts_n ? e->counts[0] : -1;
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

static void starts_with_what_quota_allows(void **state)
{
    (void)state;
    struct world w = world_new();
    gpus(&w, 4);
    node(&w, "n0", GPU "=64", "");
    struct gang_record r = between(&w, "a", 2, 8);
    gang_record(&w, r);
    step(&w);
    assert_int_equal(given(&w, "a"), 4);
    assert_int_equal(state_gang_granted(w.s, id(&w, "a"), id(&w, "main")), 4);
    gang_record(&w, granted(&w, r, 4));
    members(&w, "a", 4);
    step(&w);
    assert_int_equal(effects(&w, EFFECT_BIND), 4);
    workload(&w, "late", "ns/lq", 1, GPU "=1");
    step(&w);
    assert_int_equal(given(&w, "late"), -1); /* all four are charged */
    world_free(&w);
}

static void starts_with_what_nodes_hold(void **state)
{
    (void)state;
    struct world w = world_new();
    gpus(&w, 100);
    node(&w, "n0", GPU "=3", "");
    node(&w, "n1", GPU "=2", "");
    gang_record(&w, between(&w, "a", 1, 8));
    step(&w);
    assert_int_equal(given(&w, "a"), 5);
    world_free(&w);
}

static void starts_whole_where_it_can(void **state)
{
    (void)state;
    struct world w = world_new();
    gpus(&w, 8);
    node(&w, "n0", GPU "=64", "");
    gang_record(&w, between(&w, "a", 2, 8));
    step(&w);
    assert_int_equal(given(&w, "a"), 8);
    world_free(&w);
}

/* Not even the fewest fit: it waits for them, and so much is said to help. */
static void waits_for_the_fewest(void **state)
{
    (void)state;
    struct world w = world_new();
    gpus(&w, 1);
    node(&w, "n0", GPU "=64", "");
    gang_record(&w, between(&w, "a", 2, 8));
    step(&w);
    assert_int_equal(given(&w, "a"), -1);
    struct buf b;
    buf_init(&b);
    explain_json(&b, state_gang_reason(w.s, id(&w, "a")), w.names);
    if (!strstr(b.data, "\"change\":\"quota\",\"queue\":\"q\",\"flavor\":\"any\",\"resource\":\"nvidia.com/gpu\",\"add\":\"1\""))
        fail_msg("%s", b.data);
    buf_free(&b);
    gpus(&w, 3);
    step(&w);
    assert_int_equal(given(&w, "a"), 3);
    world_free(&w);
}

/* What it waits for is room for the fewest: it is woken by that. */
static void is_woken_by_room_for_the_fewest(void **state)
{
    (void)state;
    struct world w = world_new();
    gpus(&w, 8);
    node(&w, "n0", GPU "=64", "");
    workload(&w, "stays", "ns/lq", 5, GPU "=1");
    workload(&w, "goes", "ns/lq", 2, GPU "=1");
    step(&w);
    assert_int_equal(effects(&w, EFFECT_ADMIT), 2);
    gang_record(&w, between(&w, "a", 3, 8));
    step(&w);
    assert_int_equal(given(&w, "a"), -1);
    gone(&w, CHANGE_GANG_GONE, "goes");
    step(&w);
    assert_int_equal(given(&w, "a"), 3);
    world_free(&w);
}

static void asks_for_all_again_after_an_eviction(void **state)
{
    (void)state;
    struct world w = world_new();
    gpus(&w, 4);
    node(&w, "n0", GPU "=64", "");
    struct gang_record r = between(&w, "a", 2, 8);
    gang_record(&w, r);
    step(&w);
    gang_record(&w, granted(&w, r, 4));
    step(&w);
    gang_record(&w, r); /* somebody took the admission back */
    gpus(&w, 16);
    step(&w);
    assert_int_equal(given(&w, "a"), 8);
    world_free(&w);
}

/* A refused write takes everything back, and a restart holds what the API says. */
static void a_restart_holds_what_was_granted(void **state)
{
    (void)state;
    struct world w = world_new();
    gpus(&w, 8);
    node(&w, "n0", GPU "=64", "");
    struct gang_record r = between(&w, "a", 2, 8);
    gang_record(&w, granted(&w, r, 3));
    workload(&w, "late", "ns/lq", 5, GPU "=1");
    step(&w);
    assert_int_equal(given(&w, "late"), 5);
    assert_int_equal(state_gang_granted(w.s, id(&w, "a"), id(&w, "main")), 3);
    gang_record(&w, granted(&w, r, 2)); /* and what it says now */
    assert_int_equal(state_gang_granted(w.s, id(&w, "a"), id(&w, "main")), 2);
    world_free(&w);
}

static void a_refused_write_takes_back_all(void **state)
{
    (void)state;
    struct world w = world_new();
    gpus(&w, 4);
    node(&w, "n0", GPU "=64", "");
    gang_record(&w, between(&w, "a", 2, 8));
    step(&w);
    assert_int_equal(given(&w, "a"), 4);
    outcome(&w, EFFECT_ADMIT, "a", "", OUTCOME_FAILED);
    assert_int_equal(state_gang_granted(w.s, id(&w, "a"), id(&w, "main")), -1);
    gpus(&w, 8);
    step(&w);
    assert_int_equal(given(&w, "a"), 8);
    world_free(&w);
}

/* Another priority, say, while our word is on its way. */
static void a_record_without_our_word_changes_nothing(void **state)
{
    (void)state;
    struct world w = world_new();
    gpus(&w, 4);
    node(&w, "n0", GPU "=64", "");
    struct gang_record r = between(&w, "a", 2, 8);
    gang_record(&w, r);
    step(&w);
    r.priority = 5;
    gang_record(&w, r);
    assert_int_equal(state_gang_granted(w.s, id(&w, "a"), id(&w, "main")), 4);
    step(&w);
    assert_int_equal(state_gang_granted(w.s, id(&w, "a"), id(&w, "main")), 4);
    world_free(&w);
}

static void what_another_has_granted_counts(void **state)
{
    (void)state;
    struct world w = world_new();
    struct queue_words q;
    gpus(&w, 4);
    queue_begin(&w, &q, "other", NULL);
    queue_quota(&w, &q, "any", GPU, 9, NO_LIMIT, NO_LIMIT);
    queue_done(&w, &q);
    node(&w, "n0", GPU "=64", "");
    struct gang_record r = between(&w, "a", 2, 8);
    gang_record(&w, r);
    step(&w);
    r = granted(&w, r, 3);
    r.admitted_queue = id(&w, "other");
    gang_record(&w, r);
    assert_int_equal(state_gang_granted(w.s, id(&w, "a"), id(&w, "main")), 3);
    world_free(&w);
}

static void another_minimum_is_heard(void **state)
{
    (void)state;
    struct world w = world_new();
    gpus(&w, 4);
    node(&w, "n0", GPU "=64", "");
    struct gang_record r = between(&w, "a", 8, 8);
    gang_record(&w, r);
    step(&w);
    assert_int_equal(given(&w, "a"), -1);
    struct pod_set set = r.pod_sets[0];
    set.min_count = 2;
    r.pod_sets = &set;
    r.min_members = 2;
    gang_record(&w, r);
    step(&w);
    assert_int_equal(given(&w, "a"), 4);
    world_free(&w);
}

/* SOURCE Kueue: what is left out is shared in proportion; 4 of 8 and 0 of 2 may go, and 3 of them must. */
static void sets_share_what_is_left_out(void **state)
{
    (void)state;
    struct world w = world_new();
    gpus(&w, 9);
    node(&w, "n0", GPU "=64", "");
    struct pod_set sets[] = {a_set(&w, "a", 8, GPU "=1"), a_set(&w, "b", 2, GPU "=1"), a_set(&w, "c", 2, GPU "=1")};
    sets[0].min_count = 4;
    sets[2].min_count = 1;
    gang_record(&w, workload_of(&w, "g", sets, 3));
    step(&w);
    const struct plan_entry *e = entry_of(&w, EFFECT_ADMIT, "g");
    assert_non_null(e);
    assert_int_equal(e->counts[0], 5); /* 4 of the 5 that may go: 3.2 of 4, 0.8 of 1 */
    assert_int_equal(e->counts[1], 2);
    assert_int_equal(e->counts[2], 2);
    world_free(&w);
}

/* Members that are over need nothing, and are not counted among those that were left out. */
static void members_that_are_over_count_first(void **state)
{
    (void)state;
    struct world w = world_new();
    gpus(&w, 4);
    node(&w, "n0", GPU "=64", "");
    struct gang_record r = between(&w, "a", 2, 8);
    ((struct pod_set *)r.pod_sets)[0].reclaimed = 5; /* 3 are left */
    gang_record(&w, r);
    step(&w);
    assert_int_equal(given(&w, "a"), 3);
    gang_record(&w, granted(&w, r, 3));
    workload(&w, "late", "ns/lq", 1, GPU "=1");
    step(&w);
    assert_int_equal(given(&w, "late"), 1);
    world_free(&w);
}

/* Two queues of a cohort: who starts within its own quota is before who must borrow, with fewer members, too. */
static void borrows_as_it_would_start(void **state)
{
    (void)state;
    struct world w = world_new();
    struct queue_words q;
    flavor(&w, "any", "");
    node(&w, "n0", GPU "=64", "");
    for (int i = 0; i < 2; i++) {
        queue_begin(&w, &q, i ? "q2" : "q1", "c");
        q.r.borrow_within_cohort = PREEMPT_LOWER_PRIORITY; /* what it might preempt for counts as a claim */
        queue_quota(&w, &q, "any", GPU, i ? 0 : 4, NO_LIMIT, NO_LIMIT);
        queue_done(&w, &q);
        local_queue(&w, i ? "ns/lq2" : "ns/lq1", i ? "q2" : "q1");
    }
    queue_begin(&w, &q, "q3", "c");
    queue_quota(&w, &q, "any", GPU, 4, NO_LIMIT, NO_LIMIT);
    queue_done(&w, &q);
    local_queue(&w, "ns/lq3", "q3");
    workload(&w, "holder", "ns/lq3", 4, GPU "=1");
    step(&w);
    workload(&w, "borrower", "ns/lq2", 4, GPU "=1"); /* older */
    struct gang_record r = between(&w, "own", 2, 8);
    r.local_queue = id(&w, "ns/lq1");
    gang_record(&w, r);
    step(&w);
    assert_int_equal(given(&w, "own"), 4);
    assert_int_equal(given(&w, "borrower"), -1);
    world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_with_what_quota_allows), cmocka_unit_test(starts_with_what_nodes_hold),
        cmocka_unit_test(starts_whole_where_it_can), cmocka_unit_test(waits_for_the_fewest),
        cmocka_unit_test(is_woken_by_room_for_the_fewest), cmocka_unit_test(asks_for_all_again_after_an_eviction),
        cmocka_unit_test(a_restart_holds_what_was_granted), cmocka_unit_test(a_refused_write_takes_back_all),
        cmocka_unit_test(a_record_without_our_word_changes_nothing),
        cmocka_unit_test(what_another_has_granted_counts), cmocka_unit_test(another_minimum_is_heard),
        cmocka_unit_test(sets_share_what_is_left_out), cmocka_unit_test(members_that_are_over_count_first),
        cmocka_unit_test(borrows_as_it_would_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
