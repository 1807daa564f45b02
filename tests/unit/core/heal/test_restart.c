/* test_restart.c - gangs whose object asks for a restart: once, and only of what they were given before */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../jobs.h"

/* Of two pods that run; asked: when, as its object says. */
static void planned_runs(struct world *w, int64_t asked_ms)
{
    wide_cluster(w, 1);
    struct gang_record r = admitted(w, a_workload(w, "job", "ns/lq", 2, GPU "=1"));
    r.reserved_ms = 5000;
    r.restart_ms = asked_ms;
    gang_record(w, r);
    running_pod(w, "ns/job-0", "job", GPU "=1", "n0");
    running_pod(w, "ns/job-1", "job", GPU "=1", "n0");
    step(w);
}

static void a_workload_is_evicted(void **state)
{
    struct world *w = *state;
    planned_runs(w, 6000);
    const struct plan_entry *e = entry_of(w, EFFECT_EVICT, "job");
    assert_non_null(e);
    assert_int_equal(e->reason->code, REASON_RESTARTED);
    assert_string_equal(why(w, "job"), "its GPUs did nothing for too long: it is started again, as it asks for");
    step(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
}

static void what_was_asked_before_it_was_let_in_is_answered(void **state)
{
    struct world *w = *state;
    planned_runs(w, 5000);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
}

/* A pod group of two; it is bound, and then its object asks for a restart. */
static struct gang_record bound_group_is_asked(struct world *w)
{
    node(w, "n0", "cpu=8000," GPU "=2", "");
    struct gang_record r = a_group(w, "g", NULL, 2);
    r.created_ms = 1;
    gang_record(w, r);
    pod(w, "ns/g-0", "g", GPU "=1");
    pod(w, "ns/g-1", "g", GPU "=1");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 2);
    w->now_ms += 10000;
    r.restart_ms = w->now_ms;
    gang_record(w, r);
    step(w);
    return r;
}

static void asked_while_it_runs_it_is_evicted(void **state)
{
    struct world *w = *state;
    struct gang_record r = bound_group_is_asked(w);
    assert_non_null(entry_of(w, EFFECT_EVICT, "g"));
    outcome(w, EFFECT_EVICT, "g", NULL, OUTCOME_DONE);
    gone(w, CHANGE_POD_GONE, "ns/g-0");
    gone(w, CHANGE_POD_GONE, "ns/g-1");
    w->now_ms += 10000;
    pod(w, "ns/g-2", "g", GPU "=1");
    pod(w, "ns/g-3", "g", GPU "=1");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 2);
    gang_record(w, r); /* the object says it still */
    step(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
}

/* model_core_events 5045 400 1 */
static void asked_before_its_start_is_answered_it_is_evicted_then(void **state)
{
    struct world *w = *state;
    wide_cluster(w, 1);
    struct gang_record r = a_workload(w, "job", "ns/lq", 2, GPU "=1");
    gang_record(w, r);
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 1);
    r.restart_ms = w->now_ms + 2000;
    gang_record(w, r);
    step(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 0); /* nobody has been told that it is admitted */
    outcome(w, EFFECT_ADMIT, "job", NULL, OUTCOME_DONE);
    step(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 1);
}

/* The same, where its pods show that it is admitted before anybody says so: all of it is bound at once. model_core_events 7205 400 1 */
static void asked_before_its_pods_come_it_is_evicted_once_they_are_bound(void **state)
{
    struct world *w = *state;
    wide_cluster(w, 1);
    struct gang_record r = a_workload(w, "job", "ns/lq", 2, GPU "=1");
    gang_record(w, r);
    step(w);
    r.restart_ms = w->now_ms + 2000;
    gang_record(w, r);
    pod(w, "ns/job-0", "job", GPU "=1");
    pod(w, "ns/job-1", "job", GPU "=1");
    step(w);
    uint32_t evicts = effects(w, EFFECT_EVICT);
    step(w);
    assert_int_equal(evicts + effects(w, EFFECT_EVICT), 1);
}

/* Its binds failed, and so did its eviction: it waits, whole. model_core_events 11122 400 1 */
static void one_of_which_nothing_was_bound_starts_whole_or_not(void **state)
{
    struct world *w = *state;
    (void)bound_group_is_asked(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 1);
    outcome(w, EFFECT_BIND, "g", "ns/g-0", OUTCOME_FAILED);
    outcome(w, EFFECT_BIND, "g", "ns/g-1", OUTCOME_FAILED);
    outcome(w, EFFECT_EVICT, "g", NULL, OUTCOME_FAILED);
    node(w, "n0", "cpu=8000," GPU "=1", "");
    for (int i = 0; i < 10; i++) {
        w->now_ms += 10000;
        step(w);
        assert_int_equal(effects(w, EFFECT_BIND), 0);
    }
    node(w, "n0", "cpu=8000," GPU "=2", "");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 2);
}

/* Nobody is evicted who waits: there is nothing to give back. */
static void who_waits_is_not_told(void **state)
{
    struct world *w = *state;
    struct gang_record r = a_group(w, "g", NULL, 2);
    r.restart_ms = w->now_ms + 10000;
    gang_record(w, r);
    step(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_world(a_workload_is_evicted),
        in_a_world(what_was_asked_before_it_was_let_in_is_answered),
        in_a_world(asked_while_it_runs_it_is_evicted),
        in_a_world(asked_before_its_start_is_answered_it_is_evicted_then),
        in_a_world(asked_before_its_pods_come_it_is_evicted_once_they_are_bound),
        in_a_world(one_of_which_nothing_was_bound_starts_whole_or_not),
        in_a_world(who_waits_is_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
