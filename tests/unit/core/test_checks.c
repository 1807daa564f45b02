/* test_checks.c - admission checks: quota first, places when all checks are ready */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "jobs.h"

/* Queue "q" of flavors "fa" and "fb", 8 GPUs each; it demands check "budget" of all, and "buy" of who is given "fb". */
static void checked_queue(struct world *w, bool demands)
{
    struct queue_words q;
    name_id only_b[] = {id(w, "fb")};
    struct queue_check checks[] = {{.name = id(w, "budget")}, {.name = id(w, "buy"), .flavors = only_b, .flavors_n = 1}};
    flavor(w, "fa", "kind=a");
    flavor(w, "fb", "kind=b");
    queue_begin(w, &q, "q", NULL);
    queue_quota(w, &q, "fa", GPU, 8, NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "fb", GPU, 8, NO_LIMIT, NO_LIMIT);
    q.r.checks = demands ? checks : NULL;
    q.r.checks_n = demands ? 2 : 0;
    queue_done(w, &q);
    local_queue(w, "ns/lq", "q");
}

/* The job's record as the API shows it: quota reserved in `flavor`, and these answers. */
static struct gang_record reserved(struct world *w, struct gang_record r, const char *flavor_name, enum check_state budget,
                                   enum check_state buy)
{
    struct flavor_choice *choice = arena_zero(w->records, 1, sizeof *choice);
    struct gang_check *checks = arena_zero(w->records, 2, sizeof *checks);
    *choice = (struct flavor_choice){0, id(w, GPU), id(w, flavor_name)};
    checks[0] = (struct gang_check){id(w, "budget"), budget};
    checks[1] = (struct gang_check){id(w, "buy"), buy};
    r.admitted = r.reserved_only = true;
    r.admitted_queue = id(w, "q");
    r.choices = choice;
    r.choices_n = 1;
    r.checks = checks;
    r.checks_n = 2;
    return r;
}

static enum gang_phase phase(struct world *w)
{
    return state_gang_phase(w->s, id(w, "job"));
}

static int64_t held(struct world *w, int row)
{
    struct queue_usage *rows;
    assert_true(state_queue_usage(w->s, id(w, "q"), w->cycle, &rows) > (uint32_t)row);
    return rows[row].reserved;
}

/* Set "a" has quota for its GPUs in "fa" alone, where no node has so many. Were "b" given "fb", the job would wait for a check, and not for
 * places; "b" must not stay in "fa" because that comes first. core_events 2397 320 1 */
static void another_set_moves_to_a_flavor_with_a_check(void **state)
{
    struct world *w = *state;
    struct queue_words q;
    name_id only_b[] = {id(w, "fb")};
    struct queue_check check = {.name = id(w, "buy"), .flavors = only_b, .flavors_n = 1};
    flavor(w, "fa", "kind=a");
    flavor(w, "fb", "kind=b");
    queue_begin(w, &q, "q", NULL);
    queue_quota(w, &q, "fa", GPU, 8, NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "fa", "cpu", 8000, NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "fb", GPU, 0, NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "fb", "cpu", 8000, NO_LIMIT, NO_LIMIT);
    q.r.checks = &check;
    q.r.checks_n = 1;
    queue_done(w, &q);
    local_queue(w, "ns/lq", "q");
    node(w, "n0", "cpu=8000," GPU "=4", "kind=a");
    struct pod_set sets[2] = {a_set(w, "a", 1, GPU "=8"), a_set(w, "b", 1, "cpu=1000")};
    gang_record(w, workload_of(w, "job", sets, 2));
    step(w);
    assert_int_equal(effects(w, EFFECT_RESERVE), 1);
}

static void quota_is_taken_without_places(void **state)
{
    struct world *w = *state;
    struct queue_counts counts;
    checked_queue(w, true); /* no node anywhere: the check may bring one */
    struct gang_record r = a_workload(w, "job", "ns/lq", 1, GPU "=8");
    gang_record(w, r);
    step(w);
    const struct plan_entry *e = entry_of(w, EFFECT_RESERVE, "job");
    assert_non_null(e);
    assert_int_equal(e->queue, id(w, "q"));
    assert_int_equal(e->choices_n, 1);
    assert_int_equal(e->counts[0], 1);
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
    assert_int_equal(phase(w), GANG_CHECKING);
    assert_int_equal(held(w, 0), 8);
    assert_true(state_queue_counts(w->s, id(w, "q"), &counts));
    assert_int_equal(counts.pending_n, 0);
    assert_int_equal(counts.reserving_n, 1);
    assert_int_equal(counts.admitted_n, 0);
    assert_string_equal(why(w, "job"), "quota is reserved in ClusterQueue q; waits for admission check budget");
    assert_string_equal(explain_kueue_reason(state_gang_reason(w->s, id(w, "job"))), "UnsatisfiedAdmissionChecks");

    gang_record(w, reserved(w, r, "fa", CHECK_READY, CHECK_PENDING)); /* "buy" is for the other flavor */
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
    assert_int_equal(phase(w), GANG_CHECKING);
    assert_non_null(strstr(why(w, "job"), "no nodes"));
    node(w, "n0", "cpu=8000," GPU "=8", "kind=a");
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "job"));
    assert_int_equal(phase(w), GANG_RESERVED);
    assert_string_equal(why(w, "job"), "");
}

static void checks_of_flavors_are_of_those_flavors(void **state)
{
    struct world *w = *state;
    checked_queue(w, true);
    node(w, "n0", "cpu=8000," GPU "=8", "kind=b");
    workload(w, "first", "ns/lq", 1, GPU "=8");
    struct gang_record r = a_workload(w, "job", "ns/lq", 1, GPU "=8");
    gang_record(w, r);
    step(w);
    assert_string_equal(why(w, "job"), "quota is reserved in ClusterQueue q; waits for admission check budget, admission check buy");
    gang_record(w, reserved(w, r, "fb", CHECK_READY, CHECK_PENDING));
    step(w);
    assert_string_equal(why(w, "job"), "quota is reserved in ClusterQueue q; waits for admission check buy");
    gang_record(w, reserved(w, r, "fb", CHECK_READY, CHECK_REJECTED));
    step(w);
    assert_string_equal(why(w, "job"), "quota is reserved in ClusterQueue q; waits for admission check buy (rejected)");
    gang_record(w, reserved(w, r, "fb", CHECK_READY, CHECK_READY));
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "job"));
}

static void who_waits_for_checks_holds_no_nodes(void **state)
{
    struct world *w = *state;
    checked_queue(w, true);
    node(w, "n0", "cpu=8000," GPU "=8", "kind=a");
    struct gang_record r = a_workload(w, "job", "ns/lq", 1, GPU "=8");
    gang_record(w, r);
    step(w);
    pod(w, "ns/other", NULL, GPU "=8");
    step(w);
    assert_non_null(entry_of(w, EFFECT_BIND, "ns/other"));
    gang_record(w, reserved(w, r, "fa", CHECK_READY, CHECK_READY));
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
    gone(w, CHANGE_POD_GONE, "ns/other");
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "job"));
}

static void answers_that_came_before_count(void **state)
{
    struct world *w = *state;
    checked_queue(w, true);
    node(w, "n0", "cpu=8000," GPU "=8", "kind=a");
    struct gang_record r = reserved(w, a_workload(w, "job", "ns/lq", 1, GPU "=8"), "fa", CHECK_READY, CHECK_READY);
    r.admitted = r.reserved_only = false;
    r.choices_n = 0;
    gang_record(w, r);
    step(w);
    assert_non_null(entry_of(w, EFFECT_RESERVE, "job"));
    assert_non_null(entry_of(w, EFFECT_ADMIT, "job"));
    assert_int_equal(phase(w), GANG_RESERVED);
}

static void retry_gives_the_quota_back(void **state)
{
    struct world *w = *state;
    checked_queue(w, true);
    struct gang_record r = a_workload(w, "job", "ns/lq", 1, GPU "=8");
    gang_record(w, r);
    step(w);
    gang_record(w, reserved(w, r, "fa", CHECK_RETRY, CHECK_PENDING));
    step(w);
    const struct plan_entry *e = entry_of(w, EFFECT_EVICT, "job");
    assert_non_null(e);
    assert_int_equal(e->reason->code, REASON_CHECK_RETRIED);
    assert_int_equal(e->reason->name, id(w, "budget"));
    assert_int_equal(phase(w), GANG_LEAVING);
    assert_int_equal(held(w, 0), 8);
    outcome(w, EFFECT_EVICT, "job", NULL, OUTCOME_DONE);
    r.not_before_ms = w->now_ms + 60000; /* taken back, checks pending again, and it comes later */
    gang_record(w, r);
    step(w);
    assert_int_equal(held(w, 0), 0);
    assert_int_equal(effects(w, EFFECT_RESERVE), 0);
    assert_string_equal(why(w, "job"), "waits for its backoff to end");
    w->now_ms += 60001;
    step(w);
    assert_non_null(entry_of(w, EFFECT_RESERVE, "job"));
}

static void an_answer_from_before_ends_nothing_that_is_not_told(void **state)
{
    struct world *w = *state;
    checked_queue(w, true);
    struct gang_record r = reserved(w, a_workload(w, "job", "ns/lq", 1, GPU "=8"), "fa", CHECK_RETRY, CHECK_PENDING);
    r.admitted = r.reserved_only = false;
    r.choices_n = 0;
    gang_record(w, r);
    step(w);
    assert_non_null(entry_of(w, EFFECT_RESERVE, "job"));
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
    gang_record(w, reserved(w, r, "fa", CHECK_RETRY, CHECK_PENDING));
    step(w);
    assert_non_null(entry_of(w, EFFECT_EVICT, "job"));
}

static void a_running_job_goes_when_a_check_asks(void **state)
{
    struct world *w = *state;
    checked_queue(w, true);
    node(w, "n0", "cpu=8000," GPU "=8", "kind=a");
    struct gang_record r = reserved(w, a_workload(w, "job", "ns/lq", 1, GPU "=8"), "fa", CHECK_READY, CHECK_READY);
    r.reserved_only = false;
    gang_record(w, r);
    pod(w, "ns/job-0", "job", GPU "=8");
    step(w);
    assert_int_equal(phase(w), GANG_BOUND);
    r = reserved(w, r, "fa", CHECK_PENDING, CHECK_READY); /* demanded since, say: what runs goes on */
    r.reserved_only = false;
    gang_record(w, r);
    step(w);
    assert_int_equal(phase(w), GANG_BOUND);
    r = reserved(w, r, "fa", CHECK_RETRY, CHECK_READY);
    r.reserved_only = false;
    gang_record(w, r);
    step(w);
    assert_non_null(entry_of(w, EFFECT_EVICT, "job"));
}

/* It answered while nobody asked: the answer counts from the moment on that the queue demands it. */
static void a_running_job_goes_when_what_a_check_asked_is_demanded(void **state)
{
    struct world *w = *state;
    checked_queue(w, false);
    node(w, "n0", "cpu=8000," GPU "=8", "kind=a");
    struct gang_record r = reserved(w, a_workload(w, "job", "ns/lq", 1, GPU "=8"), "fa", CHECK_RETRY, CHECK_READY);
    r.reserved_only = false;
    gang_record(w, r);
    pod(w, "ns/job-0", "job", GPU "=8");
    step(w);
    assert_int_equal(phase(w), GANG_BOUND);
    checked_queue(w, true);
    step(w);
    const struct plan_entry *e = entry_of(w, EFFECT_EVICT, "job");
    assert_non_null(e);
    assert_int_equal(e->reason->code, REASON_CHECK_RETRIED);
}

static void a_check_that_is_no_longer_demanded_holds_nobody(void **state)
{
    struct world *w = *state;
    checked_queue(w, true);
    node(w, "n0", "cpu=8000," GPU "=8", "kind=a");
    struct gang_record r = a_workload(w, "job", "ns/lq", 1, GPU "=8");
    gang_record(w, r);
    step(w);
    gang_record(w, reserved(w, r, "fa", CHECK_PENDING, CHECK_PENDING));
    step(w);
    assert_int_equal(phase(w), GANG_CHECKING);
    checked_queue(w, false);
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "job"));
    checked_queue(w, true); /* and back, before anybody has heard of it */
    step(w);
    assert_int_equal(phase(w), GANG_CHECKING);
    gone(w, CHANGE_QUEUE_GONE, "q"); /* what its object lists is all that is known */
    step(w);
    assert_int_equal(phase(w), GANG_CHECKING);
    gang_record(w, reserved(w, r, "fa", CHECK_READY, CHECK_READY));
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "job"));
}

static void writes_that_were_refused(void **state)
{
    struct world *w = *state;
    checked_queue(w, true);
    node(w, "n0", "cpu=8000," GPU "=8", "kind=a");
    struct gang_record r = a_workload(w, "job", "ns/lq", 1, GPU "=8");
    gang_record(w, r);
    step(w);
    outcome(w, EFFECT_RESERVE, "job", NULL, OUTCOME_FAILED); /* nobody knows of its quota: all is taken back, and tried again */
    step(w);
    assert_non_null(entry_of(w, EFFECT_RESERVE, "job"));
    gang_record(w, reserved(w, r, "fa", CHECK_READY, CHECK_READY));
    outcome(w, EFFECT_RESERVE, "job", NULL, OUTCOME_DONE);
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "job"));
    outcome(w, EFFECT_ADMIT, "job", NULL, OUTCOME_FAILED); /* its quota is known: it stays, and it is admitted again */
    assert_int_equal(phase(w), GANG_CHECKING);
    assert_int_equal(held(w, 0), 8);
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "job"));
    outcome(w, EFFECT_ADMIT, "job", NULL, OUTCOME_DONE);
    assert_int_equal(phase(w), GANG_ADMITTED);
}

/* The same question at each step: what does a core say that is told all anew? */
static void restarted_at(enum check_state budget, bool admitted_too, bool evicted, enum gang_phase is)
{
    for (int way = 0; way < 2; way++) {
        struct world w = world_new();
        struct gang_record r = reserved(&w, a_workload(&w, "job", "ns/lq", 1, GPU "=8"), "fa", budget, CHECK_PENDING);
        r.reserved_only = !admitted_too;
        r.evicted = evicted;
        if (way)
            gang_record(&w, r);
        node(&w, "n0", "cpu=8000," GPU "=8", "kind=a");
        checked_queue(&w, true);
        if (!way)
            gang_record(&w, r);
        step(&w);
        assert_int_equal(phase(&w), is);
        assert_int_equal(held(&w, 0), 8);
        assert_int_equal(effects(&w, EFFECT_RESERVE), 0);
        assert_int_equal(effects(&w, EFFECT_ADMIT), is == GANG_RESERVED);
        world_free(&w);
    }
}

static void restarts(void **state)
{
    (void)state;
    restarted_at(CHECK_PENDING, false, false, GANG_CHECKING);
    restarted_at(CHECK_READY, false, false, GANG_RESERVED);
    restarted_at(CHECK_READY, true, false, GANG_ADMITTED);
    restarted_at(CHECK_PENDING, true, false, GANG_ADMITTED);
    restarted_at(CHECK_RETRY, false, false, GANG_LEAVING);
    restarted_at(CHECK_REJECTED, false, false, GANG_CHECKING);
    restarted_at(CHECK_PENDING, false, true, GANG_LEAVING);
}

/* Whoever wrote it has decided, nodes or not. */
static void a_reservation_of_another_writer(void **state)
{
    struct world *w = *state;
    checked_queue(w, true);
    struct gang_record r = a_workload(w, "job", "ns/lq", 1, GPU "=8");
    r.on_hold = true;
    gang_record(w, r);
    step(w);
    r = reserved(w, r, "fa", CHECK_PENDING, CHECK_PENDING);
    r.foreign = true;
    gang_record(w, r);
    step(w);
    assert_int_equal(phase(w), GANG_CHECKING);
    r = reserved(w, r, "fa", CHECK_READY, CHECK_PENDING);
    gang_record(w, r);
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "job"));
    assert_int_equal(phase(w), GANG_RESERVED);
}

/* Its quota is counted: it may be taken from it, and it takes it from others without asking for nodes. */
static void preemption(void **state)
{
    struct world *w = *state;
    struct queue_words q;
    struct queue_check check = {.name = id(w, "budget")};
    flavor(w, "fa", "");
    queue_begin(w, &q, "q", NULL);
    queue_quota(w, &q, "fa", GPU, 8, NO_LIMIT, NO_LIMIT);
    q.r.within_queue = PREEMPT_LOWER_PRIORITY;
    q.r.checks = &check;
    q.r.checks_n = 1;
    queue_done(w, &q);
    local_queue(w, "ns/lq", "q");
    struct gang_record low = a_workload(w, "low", "ns/lq", 1, GPU "=8"), job = a_workload(w, "job", "ns/lq", 1, GPU "=8");
    gang_record(w, low);
    step(w);
    gang_record(w, reserved(w, low, "fa", CHECK_PENDING, CHECK_PENDING));
    job.priority = 5;
    gang_record(w, job);
    step(w);
    const struct plan_entry *e = entry_of(w, EFFECT_EVICT, "low");
    assert_non_null(e);
    assert_int_equal(e->reason->code, REASON_PREEMPTED);
    outcome(w, EFFECT_EVICT, "low", NULL, OUTCOME_DONE);
    gang_record(w, low);
    step(w);
    assert_non_null(entry_of(w, EFFECT_RESERVE, "job"));
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
}

/* Somebody has left for another one, and the answer comes just then: the room is not for whoever is looked at first. */
static void what_is_promised_is_not_for_one_whose_checks_are_ready(void **state)
{
    struct world *w = *state;
    struct queue_words q;
    checked_queue(w, true);
    node(w, "n0", "cpu=8000," GPU "=8", "kind=a");
    queue_begin(w, &q, "mine", NULL);
    queue_quota(w, &q, "fa", GPU, 8, NO_LIMIT, NO_LIMIT);
    q.r.within_queue = PREEMPT_LOWER_PRIORITY;
    queue_done(w, &q);
    local_queue(w, "ns/mine", "mine");
    struct gang_record low = a_workload(w, "low", "ns/mine", 1, GPU "=8"), high = a_workload(w, "high", "ns/mine", 1, GPU "=8"),
                       runs = admitted_in(w, low, "fa"), job = a_workload(w, "job", "ns/lq", 1, GPU "=8");
    runs.admitted_queue = id(w, "mine");
    gang_record(w, runs);
    running_pod(w, "ns/low-0", "low", GPU "=8", "n0");
    gang_record(w, job);
    step(w);
    gang_record(w, reserved(w, job, "fa", CHECK_PENDING, CHECK_PENDING));
    high.priority = 9;
    gang_record(w, high);
    step(w);
    assert_non_null(entry_of(w, EFFECT_EVICT, "low"));
    outcome(w, EFFECT_EVICT, "low", NULL, OUTCOME_DONE);
    gang_record(w, low);
    gone(w, CHANGE_POD_GONE, "ns/low-0");
    gang_record(w, reserved(w, job, "fa", CHECK_READY, CHECK_PENDING));
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "high"));
    assert_null(entry_of(w, EFFECT_ADMIT, "job"));
    outcome(w, EFFECT_ADMIT, "high", NULL, OUTCOME_DONE);
    gone(w, CHANGE_GANG_GONE, "high");
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "job"));
}

/* Nobody is let in before it is ready, nor is the one whom the room was promised to: so it takes the room. */
static void what_is_promised_to_one_that_waits_for_it_is_for_it(void **state)
{
    struct world *w = *state;
    struct queue_words q;
    struct ready_policy p = {.timeout_ms = 5000, .block_admission = true, .retries_most = -1};
    state_set_ready_policy(w->s, &p);
    checked_queue(w, true);
    node(w, "n0", "cpu=8000," GPU "=8", "kind=a");
    queue_begin(w, &q, "mine", NULL);
    queue_quota(w, &q, "fa", GPU, 8, NO_LIMIT, NO_LIMIT);
    q.r.within_queue = PREEMPT_LOWER_PRIORITY;
    queue_done(w, &q);
    local_queue(w, "ns/mine", "mine");
    struct gang_record low = a_workload(w, "low", "ns/mine", 1, GPU "=8"), high = a_workload(w, "high", "ns/mine", 1, GPU "=8"),
                       runs = admitted_in(w, low, "fa"), job = a_workload(w, "job", "ns/lq", 1, GPU "=8");
    runs.admitted_queue = id(w, "mine");
    runs.pods = PODS_READY;
    gang_record(w, runs);
    running_pod(w, "ns/low-0", "low", GPU "=8", "n0");
    step(w);
    high.priority = 9;
    gang_record(w, high);
    gang_record(w, job);
    step(w);
    assert_non_null(entry_of(w, EFFECT_EVICT, "low"));
    assert_non_null(entry_of(w, EFFECT_RESERVE, "job"));
    outcome(w, EFFECT_EVICT, "low", NULL, OUTCOME_DONE);
    gang_record(w, low);
    gone(w, CHANGE_POD_GONE, "ns/low-0");
    gang_record(w, reserved(w, job, "fa", CHECK_READY, CHECK_PENDING));
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "job"));
    assert_null(entry_of(w, EFFECT_ADMIT, "high"));
}

/* It was told to leave, and has; in the same turn another writer has reserved quota for it: that is no reason to wait until it leaves.
 * core_events 110131 120 1 */
static void who_has_left_may_be_let_in_by_others_before_anybody_looks(void **state)
{
    struct world *w = *state;
    checked_queue(w, true);
    struct gang_record r = a_workload(w, "job", "ns/lq", 1, GPU "=1");
    gang_record(w, r);
    step(w);
    assert_non_null(entry_of(w, EFFECT_RESERVE, "job"));
    r.active = false;
    gang_record(w, r);
    step(w);
    assert_non_null(entry_of(w, EFFECT_EVICT, "job"));
    outcome(w, EFFECT_EVICT, "job", NULL, OUTCOME_DONE);
    r.active = true;
    r = reserved(w, r, "fa", CHECK_PENDING, CHECK_PENDING);
    r.foreign = true;
    gang_record(w, r);
    step(w);
    assert_int_equal(phase(w), GANG_CHECKING);
}

/* The same, but its eviction is answered only after the reservation was seen: in vain as it was, it is judged anew.
 * core_events 167225 400 1 (of commit 663f5cfb) */
static void who_was_let_in_by_others_before_its_eviction_was_answered(void **state)
{
    struct world *w = *state;
    checked_queue(w, true);
    for (int active = 0; active < 2; active++) {
        struct gang_record r = a_workload(w, "job", "ns/lq", 1, GPU "=1");
        gang_record(w, r);
        step(w);
        assert_non_null(entry_of(w, EFFECT_RESERVE, "job"));
        r.active = false;
        gang_record(w, r);
        step(w);
        assert_non_null(entry_of(w, EFFECT_EVICT, "job"));
        r.active = active;
        struct gang_record other = reserved(w, r, "fb", CHECK_PENDING, CHECK_PENDING);
        other.foreign = true;
        gang_record(w, other);
        step(w);
        assert_int_equal(phase(w), GANG_LEAVING);
        outcome(w, EFFECT_EVICT, "job", NULL, OUTCOME_DONE);
        step(w);
        assert_int_equal(phase(w), active ? GANG_CHECKING : GANG_LEAVING);
        assert_int_equal(held(w, 0), 0);
        assert_int_equal(held(w, 1), 1);
        if (active)
            continue;
        assert_non_null(entry_of(w, EFFECT_EVICT, "job")); /* what it must leave for is told of the new reservation, too */
        outcome(w, EFFECT_EVICT, "job", NULL, OUTCOME_DONE);
        gang_record(w, r);
        step(w);
        assert_int_equal(phase(w), GANG_WAITING);
    }
}

/* What we had reserved is gone and another's is there, in one look: it is not what was told to leave. */
static void a_reservation_of_another_in_the_place_of_ours(void **state)
{
    struct world *w = *state;
    checked_queue(w, true);
    for (int answered_first = 0; answered_first < 2; answered_first++) {
        struct gang_record r = a_workload(w, "job", "ns/lq", 1, GPU "=1");
        gang_record(w, r);
        step(w);
        assert_int_equal(phase(w), GANG_CHECKING);
        gang_record(w, reserved(w, r, "fa", CHECK_PENDING, CHECK_PENDING));
        step(w);
        gang_record(w, reserved(w, r, "fa", CHECK_RETRY, CHECK_PENDING));
        step(w);
        assert_non_null(entry_of(w, EFFECT_EVICT, "job"));
        if (answered_first)
            outcome(w, EFFECT_EVICT, "job", NULL, OUTCOME_DONE);
        struct gang_record other = reserved(w, r, "fa", CHECK_PENDING, CHECK_PENDING);
        other.foreign = true;
        gang_record(w, other);
        if (!answered_first)
            outcome(w, EFFECT_EVICT, "job", NULL, OUTCOME_DONE);
        step(w);
        assert_int_equal(phase(w), GANG_CHECKING);
        assert_int_equal(held(w, 0), 1);
        gang_record(w, r);
        step(w);
    }
}

/* It is told to leave, and before it has given its quota back somebody reserves the same quota for it again: its eviction is over, and it
 * waits for its checks. */
static void the_same_quota_again_before_it_was_given_back(void **state)
{
    struct world *w = *state;
    checked_queue(w, true);
    for (int answered_first = 0; answered_first < 2; answered_first++) {
        struct gang_record r = a_workload(w, "job", "ns/lq", 1, GPU "=1"), other = reserved(w, r, "fa", CHECK_RETRY, CHECK_PENDING);
        other.foreign = true;
        gang_record(w, other);
        step(w);
        assert_non_null(entry_of(w, EFFECT_EVICT, "job"));
        other = reserved(w, r, "fa", CHECK_PENDING, CHECK_PENDING);
        other.foreign = other.evicted = true;
        gang_record(w, other);
        if (answered_first)
            outcome(w, EFFECT_EVICT, "job", NULL, OUTCOME_DONE);
        step(w);
        assert_int_equal(phase(w), GANG_LEAVING);
        other.evicted = false;
        gang_record(w, other);
        if (!answered_first)
            outcome(w, EFFECT_EVICT, "job", NULL, OUTCOME_DONE);
        step(w);
        assert_int_equal(phase(w), GANG_CHECKING);
        assert_int_equal(effects(w, EFFECT_EVICT), 0);
        assert_int_equal(held(w, 0), 1);
        other = reserved(w, r, "fa", CHECK_RETRY, CHECK_PENDING);
        other.foreign = true;
        gang_record(w, other);
        step(w);
        assert_non_null(entry_of(w, EFFECT_EVICT, "job")); /* and a check that asks for another try ends it again */
        outcome(w, EFFECT_EVICT, "job", NULL, OUTCOME_DONE);
        gang_record(w, r);
        step(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_world(quota_is_taken_without_places),
        in_a_world(another_set_moves_to_a_flavor_with_a_check),
        in_a_world(checks_of_flavors_are_of_those_flavors),
        in_a_world(who_waits_for_checks_holds_no_nodes),
        in_a_world(answers_that_came_before_count),
        in_a_world(retry_gives_the_quota_back),
        in_a_world(an_answer_from_before_ends_nothing_that_is_not_told),
        in_a_world(a_running_job_goes_when_a_check_asks),
        in_a_world(a_running_job_goes_when_what_a_check_asked_is_demanded),
        in_a_world(a_check_that_is_no_longer_demanded_holds_nobody),
        in_a_world(writes_that_were_refused),
        cmocka_unit_test(restarts),
        in_a_world(a_reservation_of_another_writer),
        in_a_world(preemption),
        in_a_world(what_is_promised_is_not_for_one_whose_checks_are_ready),
        in_a_world(what_is_promised_to_one_that_waits_for_it_is_for_it),
        in_a_world(who_has_left_may_be_let_in_by_others_before_anybody_looks),
        in_a_world(who_was_let_in_by_others_before_its_eviction_was_answered),
        in_a_world(a_reservation_of_another_in_the_place_of_ours),
        in_a_world(the_same_quota_again_before_it_was_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
