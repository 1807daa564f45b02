/* Pods that must be ready in time: who is evicted when, how long it is kept out, when it is deactivated, and who waits for whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "jobs.h"

#define T0 INT64_C(1000000) /* admitted then */

static const struct ready_policy five_seconds = {
    .timeout_ms = 5000, .recovery_ms = 3000, .retries_most = -1, .backoff_ms = 1000, .backoff_most_ms = 4000};

static struct ready_policy policy_of(bool blocks, int32_t retries_most)
{
    struct ready_policy p = five_seconds;
    p.block_admission = blocks;
    p.retries_most = retries_most;
    return p;
}

/* What the API says of "job": admitted at T0, its pods as told. */
static struct gang_record runs(struct world *w, enum gang_pods pods, int64_t unready_ms, int32_t retries_n)
{
    struct gang_record r = admitted(w, a_workload(w, "job", "ns/lq", 1, GPU "=1"));
    r.created_ms = 1;
    r.admitted_ms = r.reserved_ms = T0;
    r.pods = pods;
    r.unready_ms = unready_ms;
    r.retries_n = retries_n;
    return r;
}

static void step_at(struct world *w, int64_t now_ms)
{
    w->now_ms = now_ms;
    step(w);
}

/* ---- deadlines ---- */

static const struct {
    const char *what;
    enum gang_pods pods;
    int64_t unready_ms, timeout_ms, recovery_ms; /* of the policy */
    int32_t retries_n, retries_most;
    int64_t due_ms;   /* 0: never */
    int64_t again_ms; /* after the eviction; 0: it is to be deactivated */
} rows[] = {
    {"not ready yet", PODS_START, 0, 5000, 3000, 0, -1, T0 + 5000, T0 + 6000},
    {"nobody waits", PODS_START, 0, 0, 3000, 0, -1, 0, 0},
    {"ready", PODS_READY, 0, 5000, 3000, 0, -1, 0, 0},
    {"ready for long", PODS_READY, T0 - 90000, 5000, 3000, 0, -1, 0, 0},
    {"one is lost", PODS_RECOVER, T0 + 60000, 5000, 3000, 0, -1, T0 + 63000, T0 + 64000},
    {"one is lost, and it may take its time", PODS_RECOVER, T0 + 60000, 5000, 0, 0, -1, 0, 0},
    {"not ready for a reason of others", PODS_UNSAID, T0, 5000, 3000, 0, -1, 0, 0},
    {"the second time", PODS_START, 0, 5000, 3000, 1, -1, T0 + 5000, T0 + 7000},
    {"the third time", PODS_START, 0, 5000, 3000, 2, -1, T0 + 5000, T0 + 9000},
    {"the pause grows no more", PODS_START, 0, 5000, 3000, 3, -1, T0 + 5000, T0 + 9000},
    {"for the rest of its life", PODS_START, 0, 5000, 3000, INT32_MAX, -1, T0 + 5000, T0 + 9000},
    {"the last time", PODS_START, 0, 5000, 3000, 1, 2, T0 + 5000, T0 + 7000},
    {"once more than it may", PODS_START, 0, 5000, 3000, 2, 2, T0 + 5000, 0},
    {"it may not even once", PODS_START, 0, 5000, 3000, 0, 0, T0 + 5000, 0},
    {"nor when one is lost", PODS_RECOVER, T0 + 1000, 5000, 3000, 0, 0, T0 + 4000, 0},
};

static void deadlines(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world w = world_new();
        struct ready_policy p = policy_of(false, rows[i].retries_most);
        p.timeout_ms = rows[i].timeout_ms;
        p.recovery_ms = rows[i].recovery_ms;
        state_set_ready_policy(w.s, &p);
        wide_cluster(&w, 1);
        gang_record(&w, runs(&w, rows[i].pods, rows[i].unready_ms, rows[i].retries_n));
        int64_t before_ms = rows[i].due_ms ? rows[i].due_ms - 1 : T0 + 100000000;
        step_at(&w, before_ms);
        if (effects(&w, EFFECT_EVICT) || w.plan.wake_ms != rows[i].due_ms)
            fail_msg("%s: too early, or it wakes at %lld", rows[i].what, (long long)w.plan.wake_ms);
        if (rows[i].due_ms) {
            step_at(&w, rows[i].due_ms);
            const struct plan_entry *e = entry_of(&w, EFFECT_EVICT, "job");
            if (!e || e->reason->code != (rows[i].again_ms ? REASON_PODS_TIMEOUT : REASON_RETRIES_EXCEEDED) ||
                (rows[i].again_ms && (e->reason->have != rows[i].again_ms || e->reason->need < 1)))
                fail_msg("%s: not evicted as it should be", rows[i].what);
            assert_int_equal(w.plan.wake_ms, 0);
        }
        world_free(&w);
    }
}

/* Not ours: a Volcano group with its pods runs as long as it likes. */
static void only_workloads_are_watched(void **state)
{
    struct world *w = *state;
    struct ready_policy p = policy_of(true, -1);
    state_set_ready_policy(w->s, &p);
    wide_cluster(w, 1);
    (void)volcano_queue(w, -1);
    gang_record(w, a_group(w, "g", "volcano:v", 1));
    pod(w, "ns/g-0", "g", GPU "=1");
    step(w);
    assert_non_null(entry_of(w, EFFECT_BIND, "ns/g-0"));
    workload(w, "job", "ns/lq", 1, GPU "=1");
    step_at(w, w->now_ms + 1000000);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "job"));
    pod(w, "ns/lone", NULL, GPU "=1"); /* nor does it wait */
    step(w);
    assert_non_null(entry_of(w, EFFECT_BIND, "ns/lone"));
}

/* Reserved, or waiting for checks: its time has not begun. */
static void time_begins_with_the_admission(void **state)
{
    struct world *w = *state;
    state_set_ready_policy(w->s, &five_seconds);
    wide_cluster(w, 1);
    struct gang_record r = runs(w, PODS_START, 0, 0);
    r.admitted_ms = 0;
    r.reserved_only = true;
    gang_record(w, r);
    step_at(w, T0 + 50000);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
    assert_int_equal(w->plan.wake_ms, 0);
    r.admitted_ms = T0 + 50000;
    r.reserved_only = false;
    gang_record(w, r);
    step_at(w, T0 + 54999);
    assert_int_equal(w->plan.wake_ms, T0 + 55000);
    step_at(w, T0 + 55000);
    assert_non_null(entry_of(w, EFFECT_EVICT, "job"));
}

static void ready_in_time_is_left_alone(void **state)
{
    struct world *w = *state;
    state_set_ready_policy(w->s, &five_seconds);
    wide_cluster(w, 1);
    gang_record(w, runs(w, PODS_START, 0, 0));
    step_at(w, T0 + 1000);
    assert_int_equal(w->plan.wake_ms, T0 + 5000);
    gang_record(w, runs(w, PODS_READY, T0 + 2000, 0));
    step_at(w, T0 + 5000);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
    gang_record(w, runs(w, PODS_RECOVER, T0 + 7000, 0));
    step_at(w, T0 + 7000);
    assert_int_equal(w->plan.wake_ms, T0 + 10000);
    gang_record(w, runs(w, PODS_READY, T0 + 8000, 0));
    step_at(w, T0 + 90000);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
}

/* The eviction could not be written: told again, each time after a longer pause, and not every moment. */
static void an_eviction_that_fails_is_told_again(void **state)
{
    struct world *w = *state;
    state_set_ready_policy(w->s, &five_seconds);
    wide_cluster(w, 1);
    gang_record(w, runs(w, PODS_START, 0, 0));
    step_at(w, T0 + 5000);
    uint32_t told_n = effects(w, EFFECT_EVICT);
    for (int64_t ms = 5000; ms < 9000; ms += 10) {
        outcome(w, EFFECT_EVICT, "job", NULL, OUTCOME_FAILED);
        step_at(w, T0 + ms);
        told_n += effects(w, EFFECT_EVICT);
    }
    assert_in_range(told_n, 4, 12);
    outcome(w, EFFECT_EVICT, "job", NULL, OUTCOME_DONE);
    step_at(w, T0 + 20000);
    assert_int_equal(state_gang_phase(w->s, id(w, "job")), GANG_LEAVING);
}

/* A scheduler begins anew at each step of an eviction; it goes on where the API says that it stands. */
static void every_step_survives_a_restart(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        bool admitted, evicted, inactive;
        int64_t not_before_ms;
        enum gang_phase phase;
        enum effect effect; /* EFFECT_BIND: none */
    } steps[] = {
        {"nothing written", true, false, false, 0, GANG_LEAVING, EFFECT_EVICT},
        {"evicted", true, true, false, T0 + 7000, GANG_LEAVING, EFFECT_BIND},
        {"released", false, true, false, T0 + 7000, GANG_WAITING, EFFECT_EXPLAIN},
        {"its pause is over", false, true, false, T0 + 5500, GANG_RESERVED, EFFECT_ADMIT},
        {"deactivated", true, false, true, 0, GANG_LEAVING, EFFECT_EVICT},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct world w = world_new();
        struct ready_policy p = policy_of(false, steps[i].inactive ? 0 : -1);
        state_set_ready_policy(w.s, &p);
        wide_cluster(&w, 1);
        struct gang_record r = runs(&w, PODS_START, 0, 0);
        if (!steps[i].admitted)
            r = a_workload(&w, "job", "ns/lq", 1, GPU "=1");
        r.evicted = steps[i].admitted && steps[i].evicted;
        r.active = !steps[i].inactive;
        r.not_before_ms = steps[i].not_before_ms;
        gang_record(&w, r);
        step_at(&w, T0 + 6000);
        const struct plan_entry *e = w.plan.entries_n ? &w.plan.entries[0] : NULL;
        if (state_gang_phase(w.s, id(&w, "job")) != steps[i].phase ||
            (steps[i].effect == EFFECT_BIND ? e != NULL : !e || e->effect != steps[i].effect))
            fail_msg("%s: phase %d", steps[i].what, state_gang_phase(w.s, id(&w, "job")));
        if (steps[i].inactive)
            assert_int_equal(e->reason->code, REASON_DEACTIVATED);
        world_free(&w);
    }
}

/* A pause that has ended wakes its gang; that its end is taken out of the object afterwards wakes nobody. */
static void the_end_of_a_pause_is_no_news(void **state)
{
    struct world *w = *state;
    state_set_ready_policy(w->s, &five_seconds);
    wide_cluster(w, 1);
    struct gang_record r = a_workload(w, "job", "ns/lq", 9, GPU "=1");
    r.not_before_ms = T0 + 9000;
    gang_record(w, r);
    step_at(w, T0 + 100);
    assert_string_equal(why(w, "job"), "waits for its backoff to end");
    assert_int_equal(w->plan.wake_ms, T0 + 9000);
    step_at(w, T0 + 9000);
    assert_non_null(entry_of(w, EFFECT_EXPLAIN, "job"));
    assert_false(decide_has_work(w->s));
    r.not_before_ms = 0;
    gang_record(w, r);
    assert_false(decide_has_work(w->s));
}

/* ---- the standstill ---- */

static void two_queues(struct world *w, struct ready_policy p)
{
    state_set_ready_policy(w->s, &p);
    node(w, "n0", "cpu=8000," GPU "=8", "");
    gpu_queue(w, "q", "all", "ns/lq", 4);
    gpu_queue(w, "other", "all", "ns/lo", 4);
}

static void say(struct world *w, struct gang_record r, enum gang_pods pods)
{
    r = admitted(w, r);
    r.admitted_ms = r.reserved_ms = w->now_ms;
    r.pods = pods;
    gang_record(w, r);
}

/* Two at once, in two queues: the first is admitted, the other when the first is ready. */
static void others_wait_until_it_is_ready(void **state)
{
    struct world *w = *state;
    two_queues(w, policy_of(true, -1));
    struct gang_record a = a_workload(w, "a", "ns/lq", 1, GPU "=2"), b = a_workload(w, "b", "ns/lo", 1, GPU "=2");
    gang_record(w, a);
    gang_record(w, b);
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "a"));
    assert_null(entry_of(w, EFFECT_ADMIT, "b"));
    assert_string_equal(why(w, "b"), "waiting for all admitted workloads to be in PodsReady condition");
    assert_string_equal(explain_kueue_reason(state_gang_reason(w->s, id(w, "b"))), "WaitingForPodsReady");
    outcome(w, EFFECT_ADMIT, "a", NULL, OUTCOME_DONE);
    say(w, a, PODS_START);
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
    say(w, a, PODS_READY);
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "b"));
}

static void what_ends_a_standstill(void **state)
{
    (void)state;
    for (int way = 0; way < 5; way++) {
        struct world w = world_new();
        two_queues(&w, policy_of(true, -1));
        struct gang_record a = a_workload(&w, "a", "ns/lq", 1, GPU "=2"), given_back = a;
        gang_record(&w, a);
        step(&w);
        workload(&w, "b", "ns/lo", 1, GPU "=2");
        step(&w);
        assert_null(entry_of(&w, EFFECT_ADMIT, "b"));
        if (way == 0) {
            gone(&w, CHANGE_GANG_GONE, "a");
        } else if (way == 1) {
            a.finished = true;
            gang_record(&w, a);
        } else if (way == 2) { /* refused */
            outcome(&w, EFFECT_ADMIT, "a", NULL, OUTCOME_FAILED);
            a.on_hold = true; /* else it comes first again */
            gang_record(&w, a);
        } else if (way == 3) { /* evicted because it was not ready in time, and gone */
            say(&w, a, PODS_START);
            step_at(&w, w.now_ms + 5000);
            assert_non_null(entry_of(&w, EFFECT_EVICT, "a"));
            assert_null(entry_of(&w, EFFECT_ADMIT, "b")); /* it holds its quota yet */
            outcome(&w, EFFECT_EVICT, "a", NULL, OUTCOME_DONE);
            given_back.not_before_ms = w.now_ms + 1000;
            gang_record(&w, given_back);
        } else {
            say(&w, a, PODS_READY);
        }
        step(&w);
        if (!entry_of(&w, EFFECT_ADMIT, "b"))
            fail_msg("way %d: b waits on", way);
        world_free(&w);
    }
}

static void one_that_was_ready_stops_others_when_it_is_no_more(void **state)
{
    struct world *w = *state;
    two_queues(w, policy_of(true, -1));
    struct gang_record a = a_workload(w, "a", "ns/lq", 1, GPU "=2");
    gang_record(w, a);
    step(w);
    say(w, a, PODS_READY);
    say(w, a, PODS_RECOVER);
    workload(w, "b", "ns/lo", 1, GPU "=2");
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
    say(w, a, PODS_READY);
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "b"));
}

/* Who was told that quota is short keeps that reason: nothing new is known of it. Many of them cost one look each. */
static void a_standstill_tells_nobody_twice(void **state)
{
    struct world *w = *state;
    two_queues(w, policy_of(true, -1));
    struct gang_record a = a_workload(w, "a", "ns/lq", 1, GPU "=7"), c = a_workload(w, "c", "ns/lq", 1, GPU "=1");
    gang_record(w, a);
    step(w);
    say(w, a, PODS_READY);
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "w%d", i);
        workload(w, name, i % 2 ? "ns/lo" : "ns/lq", 1 + i % 3, GPU "=2");
    }
    step(w);
    assert_int_equal(effects(w, EFFECT_EXPLAIN), 20);
    gang_record(w, c);
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "c"));
    gone(w, CHANGE_GANG_GONE, "a"); /* there would be room for them */
    step(w);
    assert_int_equal(w->plan.entries_n, 0);
    say(w, c, PODS_READY);
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 1);
}

/* Quota grew while somebody was not ready: who could never start waits for that one by now. */
static void who_could_never_start_is_told_anew(void **state)
{
    struct world *w = *state;
    two_queues(w, policy_of(true, -1));
    struct gang_record a = a_workload(w, "a", "ns/lq", 1, GPU "=1"), b = a_workload(w, "b", "ns/lo", 1, GPU "=9");
    gang_record(w, a);
    gang_record(w, b);
    step(w);
    assert_string_equal(explain_kueue_reason(state_gang_reason(w->s, id(w, "b"))), "WaitingForPodsReady");
    say(w, a, PODS_READY);
    step(w);
    assert_string_equal(explain_kueue_reason(state_gang_reason(w->s, id(w, "b"))), "ExceedsMaxQuota");
    say(w, a, PODS_RECOVER);
    step(w);
    assert_string_equal(explain_kueue_reason(state_gang_reason(w->s, id(w, "b"))), "ExceedsMaxQuota"); /* nothing has changed for it */
    gpu_queue(w, "more", "all", "ns/lm", 8);
    step(w);
    assert_string_equal(explain_kueue_reason(state_gang_reason(w->s, id(w, "b"))), "WaitingForPodsReady");
}

/* Its pause is over when it gives its quota back, and it is the older one: who waited for it is first all the same. */
static void who_was_late_comes_after_those_who_waited(void **state)
{
    struct world *w = *state;
    two_queues(w, policy_of(true, -1));
    struct gang_record a = a_workload(w, "a", "ns/lq", 1, GPU "=2"), back = a;
    gang_record(w, a);
    step(w);
    say(w, a, PODS_START);
    workload(w, "b", "ns/lo", 1, GPU "=2");
    step_at(w, w->now_ms + 5000);
    assert_non_null(entry_of(w, EFFECT_EVICT, "a"));
    outcome(w, EFFECT_EVICT, "a", NULL, OUTCOME_DONE);
    back.retries_n = 1;
    gang_record(w, back);
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "b"));
    assert_null(entry_of(w, EFFECT_ADMIT, "a"));
    gone(w, CHANGE_GANG_GONE, "b");
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "a"));
}

/* So are they where another one of its queue was late, too. */
static void all_who_were_late_come_after_those_who_waited(void **state)
{
    struct world *w = *state;
    two_queues(w, policy_of(true, -1));
    struct gang_record a = a_workload(w, "a", "ns/lq", 1, GPU "=2"), a2 = a_workload(w, "a2", "ns/lq", 1, GPU "=1"), back = a;
    gang_record(w, a);
    step(w);
    say(w, a, PODS_START);
    workload(w, "b", "ns/lo", 1, GPU "=2");
    step_at(w, w->now_ms + 5000);
    assert_non_null(entry_of(w, EFFECT_EVICT, "a"));
    outcome(w, EFFECT_EVICT, "a", NULL, OUTCOME_DONE);
    back.retries_n = a2.retries_n = 1;
    gang_record(w, back);
    gang_record(w, a2);
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "b"));
    assert_int_equal(effects(w, EFFECT_ADMIT), 1);
}

/* So is one of its own queue that asks for the same and has a lower priority. */
static void who_was_late_comes_after_those_who_are_like_it(void **state)
{
    struct world *w = *state;
    two_queues(w, policy_of(true, -1));
    struct gang_record a = a_workload(w, "a", "ns/lq", 1, GPU "=2"), back = a;
    a.priority = back.priority = 100;
    gang_record(w, a);
    step(w);
    say(w, a, PODS_START);
    workload(w, "b", "ns/lq", 1, GPU "=2");
    step_at(w, w->now_ms + 5000);
    assert_non_null(entry_of(w, EFFECT_EVICT, "a"));
    outcome(w, EFFECT_EVICT, "a", NULL, OUTCOME_DONE);
    back.retries_n = 1;
    gang_record(w, back);
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "b"));
    assert_null(entry_of(w, EFFECT_ADMIT, "a"));
}

/* Its head waits with the rest, and is the first afterwards. */
static void strict_queues_keep_their_order(void **state)
{
    struct world *w = *state;
    struct ready_policy p = policy_of(true, -1);
    state_set_ready_policy(w->s, &p);
    wide_queue(w, QUEUE_STRICT_FIFO, STOP_NONE);
    node(w, "n0", "cpu=8000," GPU "=8", "");
    struct gang_record a = a_workload(w, "a", "ns/lq", 1, GPU "=1"), b = a_workload(w, "b", "ns/lq", 1, GPU "=2");
    gang_record(w, a);
    step(w);
    gang_record(w, b);
    workload(w, "c", "ns/lq", 1, GPU "=3");
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
    say(w, a, PODS_READY);
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "b"));
    assert_int_equal(effects(w, EFFECT_ADMIT), 1);
}

/* "low" has left for "high", and then nobody is let in: what it left is kept, also in a StrictFIFO queue. core_events 160132 330 1 */
static void what_others_left_is_kept_while_nobody_is_let_in(void **state)
{
    struct world *w = *state;
    struct ready_policy p = policy_of(true, -1);
    struct queue_words q;
    state_set_ready_policy(w->s, &p);
    node(w, "n0", "cpu=8000," GPU "=9", "");
    gpu_queue(w, "other", NULL, "ns/lo", 1);
    queue_begin(w, &q, "q", NULL);
    q.r.strategy = QUEUE_STRICT_FIFO;
    q.r.within_queue = PREEMPT_LOWER_PRIORITY;
    queue_quota(w, &q, "any", GPU, 9, NO_LIMIT, NO_LIMIT); /* x counts here once it is admitted (jobs.h) */
    queue_done(w, &q);
    local_queue(w, "ns/lq", "q");
    struct gang_record low = a_workload(w, "low", "ns/lq", 1, GPU "=8"), high = a_workload(w, "high", "ns/lq", 1, GPU "=8"),
                       x = a_workload(w, "x", "ns/lo", 1, GPU "=1");
    high.priority = 9;
    gang_record(w, low);
    step(w);
    say(w, low, PODS_READY);
    gang_record(w, high);
    step(w);
    assert_non_null(entry_of(w, EFFECT_EVICT, "low"));
    gang_record(w, x);
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "x"));
    say(w, x, PODS_START);
    gone(w, CHANGE_GANG_GONE, "low");
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
    pod(w, "ns/lone", NULL, GPU "=4");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    say(w, x, PODS_READY);
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "high"));
}

static void a_standstill_survives_a_restart(void **state)
{
    struct world *w = *state;
    two_queues(w, policy_of(true, -1));
    workload(w, "b", "ns/lo", 1, GPU "=2");
    say(w, a_workload(w, "a", "ns/lq", 1, GPU "=2"), PODS_START);
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
}

/* Nobody is let in then, so nobody is to be looked at either. */
static void a_standstill_that_ends_is_no_work_for_a_held_core(void **state)
{
    struct world *w = *state;
    struct ready_policy p = policy_of(true, -1);
    struct decide_config held = {.hold = true};
    state_set_ready_policy(w->s, &p);
    w->now_ms = T0;
    wide_cluster(w, 1);
    struct gang_record off = a_workload(w, "off", "ns/lq", 1, GPU "=1");
    off.active = false;
    gang_record(w, off);
    gang_record(w, runs(w, PODS_START, 0, 0));
    decide(w->s, &held, w->now_ms, w->cycle, &w->plan);
    gone(w, CHANGE_GANG_GONE, "job");
    for (int i = 0; i < 3; i++)
        decide(w->s, &held, w->now_ms, w->cycle, &w->plan);
    assert_false(decide_has_work(w->s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deadlines),
        in_a_world(only_workloads_are_watched),
        in_a_world(time_begins_with_the_admission),
        in_a_world(ready_in_time_is_left_alone),
        in_a_world(an_eviction_that_fails_is_told_again),
        cmocka_unit_test(every_step_survives_a_restart),
        in_a_world(the_end_of_a_pause_is_no_news),
        in_a_world(others_wait_until_it_is_ready),
        cmocka_unit_test(what_ends_a_standstill),
        in_a_world(one_that_was_ready_stops_others_when_it_is_no_more),
        in_a_world(a_standstill_tells_nobody_twice),
        in_a_world(a_standstill_that_ends_is_no_work_for_a_held_core),
        in_a_world(who_could_never_start_is_told_anew),
        in_a_world(who_was_late_comes_after_those_who_waited),
        in_a_world(all_who_were_late_come_after_those_who_waited),
        in_a_world(who_was_late_comes_after_those_who_are_like_it),
        in_a_world(strict_queues_keep_their_order),
        in_a_world(what_others_left_is_kept_while_nobody_is_let_in),
        in_a_world(a_standstill_survives_a_restart),
    };
    return cmocka_run_group_tests_name("ready", tests, NULL, NULL);
}
