/* test_regressions.c - faults that were found once, each as the shortest way there */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "core/state/model.h"
#include "jobs.h"

/* ---- pod sets that change ---- */

/* Three sets of one member, each in a zone of one node; an edit leaves one of them. */
static void edited_down_to(struct world *w, const char *left, const char *free_1, const char *free_2)
{
    const char *names[3] = {"a", "b", "c"};
    struct pod_set sets[3];
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    for (int i = 0; i < 3; i++) {
        char zone[16];
        snprintf(zone, sizeof zone, "zone=%s", names[i]);
        node(w, names[i], "cpu=8000," GPU "=8", zone);
        sets[i] = a_set(w, names[i], 1, GPU "=8");
        sets[i].shape = shape_of(w, GPU "=8", zone);
    }
    struct gang_record r = workload_of(w, "job", sets, 3);
    submit_and_admit(w, r);
    gang_record(w, admitted(w, r));
    outcome(w, EFFECT_ADMIT, "job", NULL, OUTCOME_DONE);
    step(w);
    struct pod_set rest = *left == 'a' ? sets[0] : sets[2];
    r.pod_sets = &rest;
    r.pod_sets_n = 1;
    r.min_members = 1;
    gang_record(w, admitted(w, r));
    step(w);
    for (int i = 0; i < 3; i++)
        pod(w, (const char *[]){"ns/alone-0", "ns/alone-1", "ns/alone-2"}[i], NULL, GPU "=8");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 2);
    for (int i = 0; i < 2; i++)
        if (strcmp(node_of(w, i ? "ns/alone-1" : "ns/alone-0"), free_1) != 0)
            assert_string_equal(node_of(w, i ? "ns/alone-1" : "ns/alone-0"), free_2);
    pod_record(w, pod_in(w, "ns/job-0", "job", left, GPU "=8", ""));
    step(w);
    assert_string_equal(node_of(w, "ns/job-0"), left);
}

static void sets_that_an_edit_took_away_give_their_places_back(void **state)
{
    edited_down_to(*state, "a", "b", "c");
}

static void a_set_that_an_edit_moved_to_the_front_keeps_its_own_place(void **state)
{
    edited_down_to(*state, "c", "a", "b");
}

/* The same while the admission is still under way: nobody has heard of it, so the places follow the edit at once. */
static void an_edit_that_overtakes_the_admission_takes_places_away(void **state)
{
    struct world *w = *state;
    struct err e = {0};
    struct pod_set sets[3];
    wide_cluster(w, 3);
    for (int i = 0; i < 3; i++)
        sets[i] = a_set(w, (const char *[]){"a", "b", "c"}[i], 1, GPU "=8");
    struct gang_record r = workload_of(w, "job", sets, 3);
    submit_and_admit(w, r);
    r.pod_sets = &sets[2];
    r.pod_sets_n = 1;
    r.min_members = 1;
    gang_record(w, r);
    if (!state_check(w->s, &e))
        fail_msg("%s", e.text);
    outcome(w, EFFECT_ADMIT, "job", NULL, OUTCOME_FAILED);
    step(w);
    assert_int_equal(entry_of(w, EFFECT_ADMIT, "job")->choices_n, 1);
    pod(w, "ns/alone-0", NULL, GPU "=8");
    pod(w, "ns/alone-1", NULL, GPU "=8");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 2);
}

static void pods_of_a_set_that_is_gone_are_no_members(void **state)
{
    struct world *w = *state;
    wide_cluster(w, 1);
    struct pod_set sets[2] = {a_set(w, "a", 1, "cpu=1000"), a_set(w, "b", 2, "cpu=2000")};
    struct gang_record r = workload_of(w, "job", sets, 2);
    gang_record(w, admitted(w, r));
    pod_record(w, pod_in(w, "ns/job-a", "job", "a", "cpu=1000", ""));
    pod_record(w, pod_in(w, "ns/job-b0", "job", "b", "cpu=2000", ""));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0); /* one of b is missing */
    r.pod_sets = &sets[1];
    r.pod_sets_n = 1;
    r.min_members = 2;
    gang_record(w, admitted(w, r));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0); /* still */
    pod_record(w, pod_in(w, "ns/job-b1", "job", "b", "cpu=2000", ""));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 2);
    assert_null(entry_of(w, EFFECT_BIND, "ns/job-a"));
}

/* Its only member is over when it is admitted, so nothing of it ever starts; then it is made wider. A core that begins anew sees a gang
 * that has not started, and waits for all of them. */
static void a_job_without_members_that_is_widened_starts_whole(void **state)
{
    struct world *w = *state;
    wide_cluster(w, 1);
    struct pod_set set = a_set(w, "main", 1, "cpu=1000");
    set.reclaimed = 1;
    struct gang_record r = workload_of(w, "job", &set, 1);
    submit_and_admit(w, r);
    gang_record(w, admitted(w, r));
    step(w);
    set.count = set.min_count = 3;
    gang_record(w, admitted(w, r));
    pod_record(w, pod_in(w, "ns/job-0", "job", "main", "cpu=1000", ""));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    pod_record(w, pod_in(w, "ns/job-1", "job", "main", "cpu=1000", ""));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 2);
}

/* ---- admissions that are refused ---- */

static void an_admission_refused_while_its_node_is_cordoned_is_written_again(void **state)
{
    struct world *w = *state;
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    struct node_record n = a_node(w, "n0", "cpu=8000," GPU "=8", "");
    node_record(w, n);
    workload(w, "job", "ns/lq", 1, GPU "=8");
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 1);
    n.unschedulable = true;
    node_record(w, n);
    outcome(w, EFFECT_ADMIT, "job", NULL, OUTCOME_FAILED);
    step(w);
    assert_int_equal(state_gang_phase(w->s, id(w, "job")), GANG_WAITING);
    n.unschedulable = false;
    node_record(w, n);
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "job"));
}

/* A pod of the start before this one stands on its node still: it says nothing of this start. */
static void an_admission_refused_beside_a_pod_of_before_is_written_again(void **state)
{
    struct world *w = *state;
    wide_cluster(w, 2);
    struct gang_record r = a_workload(w, "job", "ns/lq", 1, GPU "=8");
    submit_and_admit(w, r);
    gang_record(w, admitted(w, r));
    struct pod_record p = pod_in(w, "ns/job-a", "job", "main", GPU "=8", "");
    p.node = id(w, "n0");
    p.phase = POD_RUNNING;
    pod_record(w, p);
    step(w);
    p.deleting = true;
    pod_record(w, p);
    gang_record(w, r); /* taken back, and its pod has not gone yet */
    step(w);
    if (!entry_of(w, EFFECT_ADMIT, "job"))
        step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "job"));
    outcome(w, EFFECT_ADMIT, "job", NULL, OUTCOME_FAILED);
    assert_int_equal(state_gang_phase(w->s, id(w, "job")), GANG_WAITING);
    w->now_ms += 20000;
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "job"));
}

/* ---- evictions ---- */

static void drain_before_the_admission_was_written(struct world *w, bool admit_fails, enum outcome evicted)
{
    wide_cluster(w, 1);
    struct gang_record r = a_workload(w, "job", "ns/lq", 1, GPU "=8");
    submit_and_admit(w, r);
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_HOLD_AND_DRAIN);
    step(w);
    bool evicts = effects(w, EFFECT_EVICT) != 0;
    if (admit_fails)
        outcome(w, EFFECT_ADMIT, "job", NULL, OUTCOME_FAILED);
    gang_record(w, r); /* the API shows the eviction, and that it was never admitted */
    if (evicts)
        outcome(w, EFFECT_EVICT, "job", NULL, evicted);
    step(w);
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    bool again = false;
    for (int i = 0; i < 5; i++) {
        w->now_ms += 20000; /* past any wait after a failure */
        step(w);
        again |= effects(w, EFFECT_ADMIT) != 0;
    }
    assert_true(again);
}

static void a_queue_drained_before_an_admission_was_written_admits_again_later(void **state)
{
    drain_before_the_admission_was_written(*state, false, OUTCOME_DONE);
}

static void a_queue_drained_before_an_admission_was_refused_admits_again_later(void **state)
{
    drain_before_the_admission_was_written(*state, true, OUTCOME_DONE);
}

/* It was never let in: nobody may take it for admitted because its eviction could not be written either. */
static void a_queue_drained_before_an_admission_and_its_eviction_were_refused_admits_again_later(void **state)
{
    drain_before_the_admission_was_written(*state, true, OUTCOME_FAILED);
}

/* Not all of its pods could be deleted: the eviction is told until they could. */
static void an_eviction_of_a_group_that_failed_is_told_again(void **state)
{
    struct world *w = *state;
    struct queue_record q = volcano_queue(w, -1);
    wide_cluster(w, 1);
    gang_record(w, a_group(w, "g", "volcano:v", 1));
    running_pod(w, "ns/g-0", "g", GPU "=1", "n0");
    step(w);
    q.stop = STOP_HOLD_AND_DRAIN;
    state_apply(w->s, &(struct change){.type = CHANGE_QUEUE, .queue = q});
    step(w);
    for (int i = 0; i < 3; i++) {
        assert_non_null(entry_of(w, EFFECT_EVICT, "g"));
        outcome(w, EFFECT_EVICT, "g", NULL, OUTCOME_FAILED);
        w->now_ms += 20000; /* past any wait after a failure */
        step(w);
    }
    outcome(w, EFFECT_EVICT, "g", NULL, OUTCOME_DONE);
    step(w);
    assert_null(entry_of(w, EFFECT_EVICT, "g"));
}

/* ---- the first burst ---- */

/* Two nodes; the plan has one member on each. The members that come ask for more than their template: one fits, the other does not. */
static void larger_than_their_template(struct world *w, bool smaller_first)
{
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(w, smaller_first ? "n1" : "n0", "cpu=4000," GPU "=1", "");
    node(w, smaller_first ? "n0" : "n1", "cpu=1500," GPU "=1", "");
    workload(w, "job", "ns/lq", 2, "cpu=1000," GPU "=1");
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 1);
    outcome(w, EFFECT_ADMIT, "job", NULL, OUTCOME_DONE);
    pod(w, "ns/job-0", "job", "cpu=3000," GPU "=1");
    pod(w, "ns/job-1", "job", "cpu=3000," GPU "=1");
    for (int i = 0; i < 4; i++) {
        step(w);
        assert_int_equal(effects(w, EFFECT_BIND), 0);
    }
    assert_string_not_equal(why(w, "job"), "");
    node(w, "n2", "cpu=4000," GPU "=1", "");
    uint32_t bound = 0;
    for (int i = 0; i < 4 && !bound; i++) {
        step(w);
        bound = effects(w, EFFECT_BIND);
        outcome(w, EFFECT_ADMIT, "job", NULL, OUTCOME_DONE);
    }
    assert_int_equal(bound, 2);
}

static void pods_larger_than_their_template_start_together_or_not_at_all(void **state)
{
    larger_than_their_template(*state, false);
}

static void so_they_do_when_the_smaller_node_comes_first(void **state)
{
    larger_than_their_template(*state, true);
}

/* The same with one larger member only, which would fit if the places changed hands. */
static void a_larger_member_takes_the_larger_place(void **state)
{
    struct world *w = *state;
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(w, "n0", "cpu=4000," GPU "=1", "");
    node(w, "n1", "cpu=1500," GPU "=1", "");
    workload(w, "job", "ns/lq", 2, "cpu=1000," GPU "=1");
    step(w);
    outcome(w, EFFECT_ADMIT, "job", NULL, OUTCOME_DONE);
    pod(w, "ns/job-0", "job", "cpu=1000," GPU "=1");
    pod(w, "ns/job-1", "job", "cpu=3000," GPU "=1");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 2);
    assert_string_equal(node_of(w, "ns/job-1"), "n0");
}

/* ---- flavors ---- */

/* Three sets of one pod: "y" 4 GPUs, "z" 2, "x" 3; kind=a has a node of 5, kind=b one of 4. Only y on b, z and x on a works, and the way
 * there leads over x's refusal of a, which was true as long as y stood there. */
static void a_refused_flavor_is_asked_again_when_an_earlier_set_moved(void **state)
{
    struct world *w = *state;
    two_flavors(w, GPU, 100, 100);
    node(w, "na", GPU "=5", "kind=a");
    node(w, "nb", GPU "=4", "kind=b");
    struct pod_set sets[3] = {a_set(w, "y", 1, GPU "=4"), a_set(w, "z", 1, GPU "=2"), a_set(w, "x", 1, GPU "=3")};
    gang_record(w, workload_of(w, "job", sets, 3));
    step(w);
    const struct plan_entry *e = entry_of(w, EFFECT_ADMIT, "job");
    assert_non_null(e);
    assert_int_equal(e->choices_n, 3);
    assert_string_equal(text_of(w, e->choices[0].flavor), "fb");
    assert_string_equal(text_of(w, e->choices[1].flavor), "fa");
    assert_string_equal(text_of(w, e->choices[2].flavor), "fa");
}

/* Flavor "fb" is one node of five GPUs with the two cards that set "a" needs, "fn" is any node. The search blames a, which has no other
 * node in either flavor; it is b that must move to fn. */
static void another_set_moves_when_the_one_that_failed_has_no_flavor_left(void **state)
{
    struct world *w = *state;
    struct queue_words q;
    flavor(w, "fb", "kind=b");
    flavor(w, "fn", "");
    queue_begin(w, &q, "q", NULL);
    for (int i = 0; i < 2; i++) {
        queue_quota(w, &q, i ? "fn" : "fb", GPU, 100, NO_LIMIT, NO_LIMIT);
        queue_quota(w, &q, i ? "fn" : "fb", "x.io/nic", 100, NO_LIMIT, NO_LIMIT);
    }
    queue_done(w, &q);
    local_queue(w, "ns/lq", "q");
    node(w, "nb", GPU "=5,x.io/nic=2", "kind=b");
    node(w, "na", GPU "=8", "kind=a");
    struct pod_set sets[2] = {a_set(w, "a", 2, GPU "=1,x.io/nic=1"), a_set(w, "b", 1, GPU "=5")};
    gang_record(w, workload_of(w, "job", sets, 2));
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 1);
}

/* The same where the set that is blamed has another node in "fn", but no quota there. core_events 2009 200 1 */
static void another_set_moves_when_quota_refuses_the_last_flavor_of_the_one_that_failed(void **state)
{
    struct world *w = *state;
    struct queue_words q;
    flavor(w, "fb", "kind=b");
    flavor(w, "fn", "");
    queue_begin(w, &q, "q", NULL);
    queue_quota(w, &q, "fb", GPU, 5, NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "fn", GPU, 2, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    local_queue(w, "ns/lq", "q");
    node(w, "nb", GPU "=4", "kind=b");
    node(w, "na", GPU "=4", "kind=a");
    struct pod_set sets[2] = {a_set(w, "a", 3, GPU "=1"), a_set(w, "b", 1, GPU "=2")};
    gang_record(w, workload_of(w, "job", sets, 2));
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 1);
}

/* "a" is given four of "fa", though it could have "fb", and "b", which needs three of "fa", has too little left: once somebody else has
 * taken some of it, "a" goes elsewhere. core_events 77159 10 1 */
static void what_others_take_may_let_it_start(void **state)
{
    struct world *w = *state;
    struct queue_words q;
    flavor(w, "fa", "kind=a");
    flavor(w, "fb", "kind=b");
    for (int i = 0; i < 2; i++) {
        queue_begin(w, &q, i ? "q" : "lends", "c");
        q.r.borrow_before_next_flavor = false;
        queue_quota(w, &q, "fa", GPU, i ? 0 : 6, NO_LIMIT, NO_LIMIT);
        queue_quota(w, &q, "fb", GPU, i ? 0 : 4, NO_LIMIT, NO_LIMIT);
        queue_done(w, &q);
        local_queue(w, i ? "ns/lq" : "ns/other", i ? "q" : "lends");
    }
    node(w, "na", GPU "=8", "kind=a");
    node(w, "nb", GPU "=8", "kind=b");
    struct pod_set sets[2] = {a_set(w, "a", 1, GPU "=4"), a_set(w, "b", 1, GPU "=3")};
    sets[1].shape = shape_of(w, GPU "=3", "kind=a");
    gang_record(w, workload_of(w, "job", sets, 2));
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
    workload(w, "other", "ns/other", 1, GPU "=3");
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "other"));
    assert_true(decide_has_work(w->s));
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "job"));
}

/* Two groups of resources. GPUs are asked for in "fa" first, cards in "fz", which is on nodes of kind b only; "fn" has no quota for cards.
 * Only GPUs in "fb" and cards in "fz" go together. */
static void another_group_moves_when_quota_refuses_the_last_flavor_of_one(void **state)
{
    struct world *w = *state;
    const char *names[4] = {"fa", "fb", "fz", "fn"}, *labels[4] = {"kind=a", "kind=b", "kind=b", ""};
    name_id gpu = id(w, GPU), nic = id(w, "x.io/nic"), flavors[4];
    struct quota_record quotas[4];
    for (int i = 0; i < 4; i++) {
        flavor(w, names[i], labels[i]);
        flavors[i] = id(w, names[i]);
        quotas[i] = (struct quota_record){.flavor = flavors[i], .resource = i < 2 ? gpu : nic, .nominal = i < 3 ? 8 : 0,
                                          .borrowing_limit = NO_LIMIT, .lending_limit = NO_LIMIT};
    }
    struct resource_group groups[2] = {{&gpu, 1, &flavors[0], 2}, {&nic, 1, &flavors[2], 2}};
    struct queue_record q = {.name = id(w, "q"), .groups = groups, .groups_n = 2, .quotas = quotas, .quotas_n = 4,
                             .borrow_before_next_flavor = true};
    state_apply(w->s, &(struct change){.type = CHANGE_QUEUE, .queue = q});
    local_queue(w, "ns/lq", "q");
    node(w, "na", GPU "=8,x.io/nic=2", "kind=a");
    node(w, "nb", GPU "=8,x.io/nic=2", "kind=b");
    workload(w, "job", "ns/lq", 1, GPU "=1,x.io/nic=1");
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 1);
}

/* A shape that quota counts by is kept for as long as somebody is charged by it. */
static void what_quota_counts_goes_with_its_gang(void **state)
{
    struct world *w = *state;
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    node(w, "n0", "cpu=8000," GPU "=4", "");
    for (int i = 0; i < 3; i++) {
        struct gang_record r = a_workload(w, "job", "ns/lq", 1, i ? GPU "=2" : GPU "=1"); /* twice the same, and once another */
        charge_only(w, &r);
        gang_record(w, r);
        step(w);
    }
    gone(w, CHANGE_GANG_GONE, "job");
    step(w);
    assert_int_equal(w->s->shapes.classes_live_n, 0);
}

/* ---- order ---- */

static void a_strict_queue_stays_closed_when_the_gang_that_overtook_its_head_goes(void **state)
{
    struct world *w = *state;
    wide_queue(w, QUEUE_STRICT_FIFO, STOP_NONE);
    node(w, "n0", "cpu=8000," GPU "=4", "");
    workload(w, "head", "ns/lq", 1, GPU "=8");
    step(w);
    struct gang_record higher = a_workload(w, "higher", "ns/lq", 1, GPU "=6"); /* unlike the head: a line of its own */
    higher.priority = 10;
    gang_record(w, higher);
    step(w);
    workload(w, "lower", "ns/lq", 1, GPU "=1");
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
    gone(w, CHANGE_GANG_GONE, "higher");
    for (int i = 0; i < 3; i++) {
        step(w);
        assert_int_equal(effects(w, EFFECT_ADMIT), 0);
    }
    assert_string_equal(why(w, "lower"), "waits behind head in StrictFIFO queue q");
    node(w, "n1", "cpu=8000," GPU "=8", "");
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "head"));
    assert_non_null(entry_of(w, EFFECT_ADMIT, "lower"));
}

/* Cohort of "qa" (StrictFIFO: 8 GPUs of "fa", 8 of "fb") and "qb" (4 of "fa", of which it uses 8); all nodes there are have "fa". */
static void borrowed_cohort(struct world *w)
{
    struct queue_words q;
    flavor(w, "fa", "kind=a");
    flavor(w, "fb", "kind=b");
    queue_begin(w, &q, "qa", "co");
    q.r.strategy = QUEUE_STRICT_FIFO;
    queue_quota(w, &q, "fa", GPU, 8, NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "fb", GPU, 8, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    queue_begin(w, &q, "qb", "co");
    queue_quota(w, &q, "fa", GPU, 4, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    local_queue(w, "ns/la", "qa");
    local_queue(w, "ns/lb", "qb");
    node(w, "na", GPU "=32", "kind=a");
    workload(w, "borrows", "ns/lb", 1, GPU "=8");
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 1);
}

/* The head claims its 8 of "fa", which others have borrowed; "small" waits for what it keeps. */
static void claim_of_borrowed_quota(struct world *w)
{
    borrowed_cohort(w);
    workload(w, "head", "ns/la", 1, GPU "=8");
    step(w);
    workload(w, "small", "ns/lb", 1, GPU "=2");
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
}

static void admitted_within(struct world *w, int cycles, const char *gang)
{
    bool any = false;
    for (int i = 0; i < cycles; i++) {
        step(w);
        any |= entry_of(w, EFFECT_ADMIT, gang) != NULL;
    }
    assert_true(any);
}

/* When it finds room in "fb", what it kept in "fa" is anybody's. */
static void a_claim_ends_when_its_head_starts_elsewhere(void **state)
{
    struct world *w = *state;
    claim_of_borrowed_quota(w);
    node(w, "nb", GPU "=8", "kind=b");
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "head"));
    if (!entry_of(w, EFFECT_ADMIT, "small"))
        admitted_within(w, 2, "small");
}

/* A higher head asks for more than its queue may ever have, and claims nothing: what the one behind it claimed is free. */
static void a_claim_ends_when_its_head_is_overtaken(void **state)
{
    struct world *w = *state;
    claim_of_borrowed_quota(w);
    struct gang_record higher = a_workload(w, "higher", "ns/la", 1, GPU "=100");
    higher.priority = 10;
    gang_record(w, higher);
    admitted_within(w, 3, "small");
}

/* ---- answers that lie ---- */

/* Two flavors. The first admission lands under "fa", but its answer is lost; before the record shows it "fa" has no room, so the second try
 * says "fb". What was written counts. */
static void an_admission_that_landed_unheard_counts_as_it_was_written(void **state)
{
    struct world *w = *state;
    two_flavors(w, GPU, 8, 8);
    struct node_record a = a_node(w, "na", GPU "=8", "kind=a");
    node_record(w, a);
    node(w, "nb", GPU "=8", "kind=b");
    struct gang_record r = a_workload(w, "job", "ns/lq", 1, GPU "=8");
    gang_record(w, r);
    step(w);
    assert_int_equal(entry_of(w, EFFECT_ADMIT, "job")->choices[0].flavor, id(w, "fa"));
    a.unschedulable = true;
    node_record(w, a);
    outcome(w, EFFECT_ADMIT, "job", NULL, OUTCOME_FAILED);
    step(w);
    assert_int_equal(entry_of(w, EFFECT_ADMIT, "job")->choices[0].flavor, id(w, "fb"));
    gang_record(w, admitted_in(w, r, "fa"));
    outcome(w, EFFECT_ADMIT, "job", NULL, OUTCOME_DONE);
    step(w);
    struct queue_usage *rows;
    assert_int_equal(state_queue_usage(w->s, id(w, "q"), w->cycle, &rows), 2);
    assert_int_equal(rows[0].reserved, 8);
    assert_int_equal(rows[1].reserved, 0);
    a.unschedulable = false;
    node_record(w, a);
    pod_record(w, pod_in(w, "ns/job-0", "job", "main", GPU "=8", "kind=a"));
    step(w);
    assert_string_equal(node_of(w, "ns/job-0"), "na");
}

/* Two schedulers took turns, or two writes of one: the record goes from one flavor to the other, admitted all the while. */
static void an_admission_that_was_written_again_counts_as_it_was_written_last(void **state)
{
    struct world *w = *state;
    struct queue_usage *rows;
    two_flavors(w, GPU, 8, 8);
    node(w, "na", GPU "=8", "kind=a");
    node(w, "nb", GPU "=8", "kind=b");
    struct gang_record r = a_workload(w, "job", "ns/lq", 1, GPU "=8");
    for (int i = 0; i < 4; i++) {
        gang_record(w, admitted_in(w, r, i % 2 ? "fb" : "fa"));
        step(w);
        assert_int_equal(state_queue_usage(w->s, id(w, "q"), w->cycle, &rows), 2);
        assert_int_equal(rows[i % 2].reserved, 8);
        assert_int_equal(rows[!(i % 2)].reserved, 0);
    }
    pod_record(w, pod_in(w, "ns/job-0", "job", "main", GPU "=8", "kind=b"));
    step(w);
    assert_string_equal(node_of(w, "ns/job-0"), "nb");
}

static void a_failure_told_after_the_record_showed_the_admission_changes_nothing(void **state)
{
    struct world *w = *state;
    wide_cluster(w, 1);
    struct gang_record r = a_workload(w, "job", "ns/lq", 1, GPU "=8");
    submit_and_admit(w, r);
    gang_record(w, admitted(w, r));
    outcome(w, EFFECT_ADMIT, "job", NULL, OUTCOME_FAILED); /* it landed, only the answer was lost */
    for (int i = 0; i < 3; i++) {
        step(w);
        assert_int_equal(effects(w, EFFECT_ADMIT), 0);
        w->now_ms += 20000;
    }
    assert_int_equal(state_gang_phase(w->s, id(w, "job")), GANG_ADMITTED);
}

/* ---- devices ---- */

static void put_devices(struct world *w, int n)
{
    struct device all[8] = {0};
    char amounts[32];
    snprintf(amounts, sizeof amounts, GPU "=%d", n);
    struct node_record r = a_node(w, "n0", amounts, "");
    for (int i = 0; i < n; i++)
        all[i] = (struct device){.resource = id(w, GPU), .id = id(w, (const char *[]){"0", "1", "2", "3"}[i]), .gpu = (uint16_t)i,
                                 .link_group = (uint16_t)(i / 2), .healthy = true};
    r.devices = all;
    r.devices_n = (uint32_t)n;
    node_record(w, r);
}

static void a_device_that_was_lost_for_a_while_still_belongs_to_its_pod(void **state)
{
    struct world *w = *state;
    put_devices(w, 4);
    struct pod_record p = a_pod(w, "ns/p", NULL, GPU "=2");
    p.node = id(w, "n0");
    p.devices = id(w, GPU "=1,3");
    p.phase = POD_RUNNING;
    pod_record(w, p);
    put_devices(w, 3);
    put_devices(w, 4);
    pod(w, "ns/next", NULL, GPU "=2");
    step(w);
    const struct plan_entry *e = entry_of(w, EFFECT_BIND, "ns/next");
    assert_non_null(e);
    assert_string_equal(e->devices, GPU "=0,2");
}

/* Two binds whose answers were lost landed with one and the same device. The place that one of them leaves is no reason to keep it. */
static void a_place_left_behind_keeps_no_device_that_another_pod_has(void **state)
{
    struct world *w = *state;
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    put_devices(w, 3);
    gang_record(w, admitted(w, a_workload(w, "job", "ns/lq", 2, GPU "=1")));
    for (int i = 0; i < 2; i++) {
        struct pod_record p = a_pod(w, i ? "ns/job-1" : "ns/job-0", "job", GPU "=1");
        p.node = id(w, "n0");
        p.devices = id(w, GPU "=0");
        p.phase = POD_RUNNING;
        pod_record(w, p);
    }
    step(w);
    gone(w, CHANGE_POD_GONE, "ns/job-1");
    step(w);
    put_devices(w, 3);
    step(w);
    pod(w, "ns/job-2", "job", GPU "=1");
    step(w);
    const struct plan_entry *e = entry_of(w, EFFECT_BIND, "ns/job-2");
    assert_non_null(e);
    assert_string_not_equal(e->devices, GPU "=0");
}

/* ---- wake-ups ---- */

/* Each of the two has room, both have not: quota was charged and a place taken, and nobody but us has seen it. */
static void a_try_that_was_taken_back_wakes_nobody(void **state)
{
    struct world *w = *state;
    wide_cluster(w, 1);
    struct pod_set sets[2] = {a_set(w, "a", 1, GPU "=5"), a_set(w, "b", 1, GPU "=4")};
    gang_record(w, workload_of(w, "waits", sets, 2));
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
    assert_false(decide_has_work(w->s));
}

/* Two flavors: in "fa" quota is short by what another job holds, in "fb" no node is. Nodes refused last, but it is quota that comes
 * back. */
static void quota_that_comes_back_wakes_whom_nodes_refused_last(void **state)
{
    struct world *w = *state;
    two_flavors(w, "cpu", 12000, 100000);
    node(w, "n0", "cpu=9000", "kind=a");
    node(w, "n1", "cpu=9000", "kind=a");
    workload(w, "first", "ns/lq", 4, "cpu=500");
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 1);
    struct pod_set sets[2] = {a_set(w, "a", 3, "cpu=3000"), a_set(w, "b", 1, "cpu=1500")};
    gang_record(w, workload_of(w, "second", sets, 2));
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
    gone(w, CHANGE_GANG_GONE, "first");
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "second"));
}

/* "x" backs off after refused writes, for less long than its object asks for. Who looks which gang is first in its stopped queue must not
 * touch that: "y" of another queue is next in time. */
static void a_look_at_a_stopped_queue_delays_nobody(void **state)
{
    struct world *w = *state;
    struct queue_words q;
    gpu_queue(w, "q", NULL, "ns/lq", 8);
    gpu_queue(w, "p", NULL, "ns/lp", 8);
    node(w, "n0", GPU "=64", "");
    struct gang_record x = a_workload(w, "x", "ns/lq", 1, GPU "=1"), y = a_workload(w, "y", "ns/lp", 1, GPU "=1");
    submit_and_admit(w, x);
    outcome(w, EFFECT_ADMIT, "x", NULL, OUTCOME_FAILED);
    step(w);
    x.not_before_ms = w->now_ms + 100000;
    gang_record(w, x);
    outcome(w, EFFECT_ADMIT, "x", NULL, OUTCOME_FAILED);
    y.not_before_ms = w->now_ms + 60; /* the wait of x is shorter */
    gang_record(w, y);
    queue_begin(w, &q, "q", NULL);
    queue_quota(w, &q, "any", GPU, 8, NO_LIMIT, NO_LIMIT);
    q.r.stop = STOP_HOLD;
    queue_done(w, &q);
    workload(w, "z", "ns/lq", 1, GPU "=1");
    step(w);
    assert_true(w->plan.wake_ms <= y.not_before_ms);
    w->now_ms = y.not_before_ms;
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "y"));
}

/* ---- bounds ---- */

/* Pods that ask for things that no node has take no columns from those that nodes have. */
static void invented_resources_do_not_crowd_out_real_ones(void **state)
{
    struct world *w = *state;
    node(w, "n0", "cpu=8000", "");
    for (int p = 0; p < 3; p++) {
        char requests[16][32], key[16];
        struct amount all[40];
        snprintf(key, sizeof key, "ns/odd-%d", p);
        struct pod_record r = a_pod(w, key, NULL, "cpu=100");
        for (int i = 0; i < 40; i++) {
            snprintf(requests[0], sizeof requests[0], "odd.io/r%d-%d", p, i);
            all[i] = (struct amount){id(w, requests[0]), 1};
        }
        r.shape.requests = all;
        r.shape.requests_n = 40;
        pod_record(w, r);
        step(w);
    }
    node(w, "n1", "cpu=8000,real.io/fpga=2", "");
    pod(w, "ns/p", NULL, "cpu=100,real.io/fpga=1");
    step(w);
    assert_string_equal(node_of(w, "ns/p"), "n1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_world(sets_that_an_edit_took_away_give_their_places_back),
        in_a_world(a_set_that_an_edit_moved_to_the_front_keeps_its_own_place),
        in_a_world(an_edit_that_overtakes_the_admission_takes_places_away),
        in_a_world(pods_of_a_set_that_is_gone_are_no_members),
        in_a_world(a_job_without_members_that_is_widened_starts_whole),
        in_a_world(an_admission_refused_while_its_node_is_cordoned_is_written_again),
        in_a_world(an_admission_refused_beside_a_pod_of_before_is_written_again),
        in_a_world(a_queue_drained_before_an_admission_was_written_admits_again_later),
        in_a_world(a_queue_drained_before_an_admission_was_refused_admits_again_later),
        in_a_world(a_queue_drained_before_an_admission_and_its_eviction_were_refused_admits_again_later),
        in_a_world(an_eviction_of_a_group_that_failed_is_told_again),
        in_a_world(pods_larger_than_their_template_start_together_or_not_at_all),
        in_a_world(so_they_do_when_the_smaller_node_comes_first),
        in_a_world(a_larger_member_takes_the_larger_place),
        in_a_world(a_refused_flavor_is_asked_again_when_an_earlier_set_moved),
        in_a_world(another_set_moves_when_the_one_that_failed_has_no_flavor_left),
        in_a_world(another_set_moves_when_quota_refuses_the_last_flavor_of_the_one_that_failed),
        in_a_world(what_others_take_may_let_it_start),
        in_a_world(another_group_moves_when_quota_refuses_the_last_flavor_of_one),
        in_a_world(what_quota_counts_goes_with_its_gang),
        in_a_world(a_strict_queue_stays_closed_when_the_gang_that_overtook_its_head_goes),
        in_a_world(a_claim_ends_when_its_head_starts_elsewhere),
        in_a_world(a_claim_ends_when_its_head_is_overtaken),
        in_a_world(an_admission_that_landed_unheard_counts_as_it_was_written),
        in_a_world(an_admission_that_was_written_again_counts_as_it_was_written_last),
        in_a_world(a_failure_told_after_the_record_showed_the_admission_changes_nothing),
        in_a_world(a_device_that_was_lost_for_a_while_still_belongs_to_its_pod),
        in_a_world(a_place_left_behind_keeps_no_device_that_another_pod_has),
        in_a_world(a_try_that_was_taken_back_wakes_nobody),
        in_a_world(quota_that_comes_back_wakes_whom_nodes_refused_last),
        in_a_world(a_look_at_a_stopped_queue_delays_nobody),
        in_a_world(invented_resources_do_not_crowd_out_real_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
