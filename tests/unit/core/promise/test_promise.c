/* test_promise.c - from the eviction of the victims to the start of the one that waits for them: several cycles (stories.h) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "core/state/model.h"
#include "promises.h"

#define FULL "node n0 gpu=8; queue q gpu=8 within=Lower; runs low queue=q gpu=8 at=5 on=n0; "

static void it_waits_for_its_victim_and_starts(void **state)
{
    struct world *w = *state;
    story(w, FULL "wants high queue=q prio=9 gpu=8");
    decides(w, "evict low InClusterQueue");
    says(w, "high", "pending the preemption of 1 workload(s)");
    says(w, "high", "low: InClusterQueue");
    says(w, "low", "Preempted to accommodate a workload (UID: high, JobUID: UNKNOWN) due to prioritization in the ClusterQueue; preemptor path: /q; "
                   "preemptee path: /q");
    assert_string_equal(explain_kueue_reason(state_gang_reason(w->s, id(w, "high"))), "WaitingForPreemptedWorkloads");
    decides(w, "");
    gone(w, CHANGE_POD_GONE, "ns/low-0");
    leaves(w, "low", "wants low queue=q gpu=8 at=5");
    decides_soon(w, "start high"); /* and not low, though it is older and was there before */
    decides(w, "");
}

static void a_victim_that_does_not_go_is_not_told_twice(void **state)
{
    struct world *w = *state;
    story(w, FULL "wants high queue=q prio=9 gpu=8");
    decides(w, "evict low InClusterQueue");
    outcome(w, EFFECT_EVICT, "low", NULL, OUTCOME_DONE);
    for (int i = 0; i < 5; i++) {
        char more[64];
        snprintf(more, sizeof more, "node m%d gpu=1; queue x%d gpu=1; wants other%d queue=x%d gpu=1", i, i, i, i);
        story(w, more);
        w->now_ms += 60000;
        step(w);
        assert_int_equal(effects(w, EFFECT_EVICT), 0);
    }
}

static void an_eviction_that_was_refused_is_told_again(void **state)
{
    struct world *w = *state;
    story(w, FULL "wants high queue=q prio=9 gpu=8");
    decides(w, "evict low InClusterQueue");
    for (int i = 0; i < 3; i++) {
        outcome(w, EFFECT_EVICT, "low", NULL, OUTCOME_FAILED);
        w->now_ms += 20000; /* past any wait after a failure */
        decides(w, "evict low InClusterQueue");
    }
}

static void who_waits_with_fewer_pods_starts_with_them_where_there_is_room_first(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=8; queue q fa.gpu=3 fb.gpu=3 within=Lower; runs low queue=q flavor=fa gpu=3;"
             "runs high queue=q prio=9 flavor=fb gpu=3; wants j queue=q prio=5 x=6 min=3 gpu=1");
    decides(w, "evict low InClusterQueue");
    outcome(w, EFFECT_EVICT, "low", NULL, OUTCOME_DONE);
    gone(w, CHANGE_GANG_GONE, "high");
    decides(w, "start j");
    assert_string_equal(given(w), "j: 3 gpu=fb");
}

/* Alone it would leave in vain: it is told when the other can be. */
static void nobody_is_told_before_all_can_be(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=8; queue q gpu=8 within=Lower; runs a queue=q gpu=4 since=9 on=n0; runs b queue=q gpu=4 since=5 on=n0;"
             "wants high queue=q prio=9 gpu=8");
    decides(w, "evict a InClusterQueue; evict b InClusterQueue");
    outcome(w, EFFECT_EVICT, "a", NULL, OUTCOME_FAILED);
    decides(w, "evict a InClusterQueue");
    outcome(w, EFFECT_EVICT, "a", NULL, OUTCOME_FAILED); /* twice: it is asked later */
    outcome(w, EFFECT_EVICT, "b", NULL, OUTCOME_FAILED);
    decides(w, "");
    assert_true(w->plan.wake_ms > w->now_ms);
    w->now_ms = w->plan.wake_ms;
    decides(w, "evict a InClusterQueue; evict b InClusterQueue");
}

/* Something has changed for it meanwhile, so it is looked at now: nothing else would remind of it later. */
static void a_refused_eviction_is_told_again_when_its_victim_changed(void **state)
{
    struct world *w = *state;
    story(w, FULL "wants high queue=q prio=9 gpu=8");
    decides(w, "evict low InClusterQueue");
    outcome(w, EFFECT_EVICT, "low", NULL, OUTCOME_FAILED);
    decides(w, "evict low InClusterQueue");
    outcome(w, EFFECT_EVICT, "low", NULL, OUTCOME_FAILED);
    decides(w, "");
    struct pod_record p = a_pod(w, "ns/low-1", "low", GPU "=1");
    p.gated = true;
    pod_record(w, p);
    decides_soon(w, "evict low InClusterQueue");
}

static void nobody_goes_for_one_that_has_gone(void **state)
{
    struct world *w = *state;
    story(w, FULL "wants high queue=q prio=9 gpu=8");
    decides(w, "evict low InClusterQueue");
    gone(w, CHANGE_GANG_GONE, "high");
    outcome(w, EFFECT_EVICT, "low", NULL, OUTCOME_FAILED);
    w->now_ms += 20000;
    decides(w, "");
    assert_int_equal(state_gang_phase(w->s, id(w, "low")), GANG_BOUND);
}

static void what_it_was_promised_is_free_when_it_has_gone(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=8; queue q gpu=8 within=Lower; runs low queue=q gpu=6 at=5 on=n0; wants high queue=q prio=9 gpu=8");
    decides(w, "evict low InClusterQueue");
    story(w, "wants small queue=q gpu=2");
    decides(w, ""); /* the two that are free are promised as well */
    gone(w, CHANGE_GANG_GONE, "high");
    decides_soon(w, "start small");
}

static void what_is_not_promised_others_may_have(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=8; node n1 gpu=8; queue q gpu=16 within=Lower; runs low queue=q gpu=8 at=5 on=n0; runs mid queue=q prio=9 gpu=4 on=n1;"
             "wants high queue=q prio=9 gpu=8");
    decides(w, "evict low InClusterQueue");
    story(w, "wants small queue=q gpu=4");
    decides(w, "start small");
}

static void it_starts_elsewhere_when_there_is_room(void **state)
{
    struct world *w = *state;
    story(w, FULL "wants high queue=q prio=9 gpu=8");
    decides(w, "evict low InClusterQueue");
    story(w, "node n1 gpu=8; queue q gpu=16 within=Lower");
    decides_soon(w, "start high");
    outcome(w, EFFECT_EVICT, "low", NULL, OUTCOME_FAILED); /* and now it may stay */
    w->now_ms += 20000;
    decides(w, "");
}

/* Two victims, one leaves: another team with quota of its own must not take the node that is half free. */
static void others_may_not_take_what_is_free_already(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=8; queue q in=c gpu=8 within=Lower; queue other in=c gpu=8; runs a queue=q gpu=4 at=5 on=n0;"
             "runs b queue=q gpu=4 at=5 on=n0; wants high queue=q prio=9 gpu=8");
    decides(w, "evict a InClusterQueue; evict b InClusterQueue");
    gone(w, CHANGE_POD_GONE, "ns/a-0");
    leaves(w, "a", "wants a queue=q gpu=4 at=5");
    story(w, "wants mine queue=other gpu=4");
    decides(w, "");
    decides(w, "");
    gone(w, CHANGE_POD_GONE, "ns/b-0");
    leaves(w, "b", "wants b queue=q gpu=4 at=5");
    decides_soon(w, "start high");
    decides(w, "");
}

/* Also from one who would come before it: he may be one whom it could preempt, and they would take each other's place for ever. */
static void nor_may_one_of_higher_priority(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=8; queue q in=c gpu=8 within=Lower; queue other in=c gpu=8; runs a queue=q gpu=4 at=5 on=n0;"
             "runs b queue=q gpu=4 at=5 on=n0; wants high queue=q prio=9 gpu=8");
    decides(w, "evict a InClusterQueue; evict b InClusterQueue");
    gone(w, CHANGE_POD_GONE, "ns/a-0");
    leaves(w, "a", "wants a queue=q gpu=4 at=5");
    story(w, "wants mine queue=other prio=99 gpu=4");
    decides(w, "");
}

/* A head of higher priority in a StrictFIFO queue comes first, and the victims are its own now. */
static void who_comes_before_it_takes_its_victims_over(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=8; queue q gpu=8 within=Lower strict; runs low queue=q gpu=8 at=5 on=n0; wants high queue=q prio=9 gpu=8");
    decides(w, "evict low InClusterQueue");
    story(w, "wants highest queue=q prio=99 gpu=8");
    step(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 0); /* it leaves already */
    says(w, "highest", "pending the preemption of 1 workload(s)");
    gone(w, CHANGE_POD_GONE, "ns/low-0");
    leaves(w, "low", "wants low queue=q gpu=8 at=5");
    decides_soon(w, "start highest");
}

static void a_restart_tells_nobody_else(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=8; node n1 gpu=8; queue q gpu=16 within=Lower; runs a queue=q gpu=8 since=5 on=n0; runs b queue=q gpu=8 since=9 on=n1;"
             "wants high queue=q prio=9 gpu=8");
    decides(w, "evict b InClusterQueue");
    struct world *fresh = &(struct world){0};
    *fresh = world_new();
    story(fresh, "node n0 gpu=8; node n1 gpu=8; queue q gpu=16 within=Lower; wants high queue=q prio=9 gpu=8;"
                 "runs a queue=q gpu=8 since=9 on=n0; runs b queue=q gpu=8 since=5 on=n1 leaving");
    decides(fresh, "");
    says(fresh, "high", "pending the preemption of 1 workload(s)");
    world_free(fresh);
}

static void it_is_held_back_and_nothing_is_kept(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=8; queue q gpu=8 within=Lower; runs low queue=q gpu=6 at=5 on=n0; wants high queue=q prio=9 gpu=8 at=7");
    decides(w, "evict low InClusterQueue");
    story(w, "wants small queue=q gpu=2");
    decides(w, "");
    struct gang_record r = a_workload(w, "high", "ns/q", 1, GPU "=8");
    r.priority = 9;
    r.on_hold = true;
    r.hold_text = id(w, "held");
    gang_record(w, r);
    decides_soon(w, "start small");
}

static void several_wait_side_by_side(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=8; queue q gpu=8 within=Lower; runs a queue=q gpu=4 since=9 on=n0; runs b queue=q gpu=4 since=5 on=n0;"
             "wants first queue=q prio=9 gpu=4; wants second queue=q prio=9 gpu=4");
    decides(w, "evict a InClusterQueue; evict b InClusterQueue");
    says(w, "first", "a: InClusterQueue");
    says(w, "second", "b: InClusterQueue");
}

/* What the victims of others give back is theirs, and counts once: else the next one would take what both of them need. */
static void each_takes_back_what_it_needs_itself(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=8; queue alpha in=c gpu=2 reclaim=Any; queue beta in=c gpu=2; queue gamma in=c gpu=2 reclaim=Any;"
             "runs b0 queue=beta gpu=2 since=1 on=n0; runs b1 queue=beta gpu=2 since=2 on=n0; runs b2 queue=beta gpu=2 since=3 on=n0;"
             "wants a queue=alpha gpu=2");
    decides(w, "evict b2 InCohortReclamation");
    story(w, "wants g queue=gamma gpu=2");
    decides(w, "evict b1 InCohortReclamation");
    gone(w, CHANGE_POD_GONE, "ns/b2-0");
    leaves(w, "b2", "wants b2 queue=beta gpu=2");
    decides_soon(w, "start a");
    gone(w, CHANGE_POD_GONE, "ns/b1-0");
    leaves(w, "b1", "wants b1 queue=beta gpu=2");
    decides_soon(w, "start g");
    decides(w, "");
}

/* One victim may leave enough for two. */
static void who_needs_what_is_left_over_evicts_nobody(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=8; queue alpha in=c gpu=2 reclaim=Any; queue beta in=c gpu=2; queue gamma in=c gpu=2 reclaim=Any;"
             "runs b0 queue=beta gpu=2 since=1 on=n0; runs b1 queue=beta gpu=4 since=2 on=n0; wants a queue=alpha gpu=2");
    decides(w, "evict b1 InCohortReclamation");
    story(w, "wants g queue=gamma gpu=2");
    decides(w, "");
    says(w, "g", "workloads that are preempted for others will leave quota enough for it, too");
    gone(w, CHANGE_POD_GONE, "ns/b1-0");
    leaves(w, "b1", "wants b1 queue=beta gpu=4");
    decides_soon(w, "start a; start g");
}

#define SURPLUS "node n0 gpu=8; queue alpha in=c gpu=2 reclaim=Any; queue beta in=c gpu=2; queue gamma in=c gpu=4 reclaim=Any;"

/* Who others leave for keeps them, also where somebody else's victim would leave enough. */
static void what_comes_from_elsewhere_ends_no_promise(void **state)
{
    struct world *w = *state;
    story(w, SURPLUS "runs b0 queue=beta gpu=2 since=1 on=n0; runs b1 queue=beta gpu=4 since=2 on=n0; runs b2 queue=beta gpu=2 since=3 on=n0;"
                     "wants a queue=alpha gpu=2");
    decides(w, "evict b2 InCohortReclamation");
    story(w, "wants g queue=gamma gpu=2");
    decides(w, "evict b1 InCohortReclamation");
    story(w, "node n1 gpu=8"); /* all look again */
    step(w);
    says(w, "a", "pending the preemption of 1 workload(s)");
    says(w, "g", "pending the preemption of 1 workload(s)");
}

static void fewer_members_only_where_all_cannot_be_had(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=8; queue q gpu=8 within=Lower; runs low queue=q gpu=4 on=n0; runs same queue=q prio=9 gpu=2 on=n0");
    struct gang_record r = a_workload(w, "high", "ns/q", 6, GPU "=1");
    r.priority = 9;
    struct pod_set *set = (struct pod_set *)r.pod_sets;
    set->min_count = 2;
    gang_record(w, r);
    decides(w, "evict low InClusterQueue"); /* six can be had, though two fit at once */
    r.key = r.uid = id(w, "larger");
    set = arena_zero(w->records, 1, sizeof *set);
    *set = r.pod_sets[0];
    set->count = 7;
    r.pod_sets = set;
    struct world *other = &(struct world){0};
    *other = world_new();
    story(other, "node n0 gpu=8; queue q gpu=8 within=Lower; runs same queue=q prio=9 gpu=6 on=n0");
    r = a_workload(other, "larger", "ns/q", 7, GPU "=1");
    ((struct pod_set *)r.pod_sets)[0].min_count = 2;
    r.priority = 9;
    gang_record(other, r);
    decides(other, "start larger");
    world_free(other);
}

/* With more it might use so much that others could take its place for it. */
static void it_starts_with_as_many_as_others_went_for(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=8; queue q gpu=8 within=Lower; runs low queue=q gpu=4 on=n0; runs same queue=q prio=9 gpu=2 on=n0");
    struct gang_record r = a_workload(w, "high", "ns/q", 8, GPU "=1");
    r.priority = 9;
    ((struct pod_set *)r.pod_sets)[0].min_count = 2;
    gang_record(w, r);
    decides(w, "evict low InClusterQueue");
    gone(w, CHANGE_POD_GONE, "ns/same-0");
    gone(w, CHANGE_GANG_GONE, "same");
    decides(w, ""); /* with whom it could have more by now */
    gone(w, CHANGE_POD_GONE, "ns/low-0");
    leaves(w, "low", "wants low queue=q gpu=4");
    decides(w, "start high");
    assert_int_equal(entry_of(w, EFFECT_ADMIT, "high")->counts[0], 6);
}

/* Two ask for the same, and whom they may preempt is not the same. */
static void who_comes_before_one_alike_looks_for_itself(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=8; queue q gpu=8 within=Lower; runs low queue=q prio=5 gpu=8 on=n0; wants same queue=q prio=5 gpu=8");
    decides(w, "");
    story(w, "wants high queue=q prio=9 gpu=8");
    decides(w, "evict low InClusterQueue");
}

/* Its queue is within its own quota by then, so nobody could be told to go any more; this one goes already. */
static void who_leaves_already_counts_whatever_the_policies_say(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=4; node n1 gpu=3; queue mine in=c gpu=8 reclaim=Any; queue other in=c gpu=4; runs a queue=other gpu=3 since=5 on=n1;"
             "runs b queue=other gpu=4 since=9 on=n0; wants high queue=mine gpu=4");
    decides(w, "evict b InCohortReclamation");
    gone(w, CHANGE_POD_GONE, "ns/a-0");
    gone(w, CHANGE_GANG_GONE, "a");
    decides(w, "");
    says(w, "high", "pending the preemption of 1 workload(s)");
    gone(w, CHANGE_POD_GONE, "ns/b-0");
    leaves(w, "b", "wants b queue=other gpu=4");
    decides_soon(w, "start high");
}

/* "v" leaves so that it does not borrow; borrowing, with the one more that there is by now, it would do with "w". */
static void nobody_more_goes_where_those_who_leave_are_enough(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=100; queue q in=c gpu=4 within=Lower reclaim=Any borrow=Lower; queue o in=c gpu=4; runs low queue=q gpu=2;"
             "runs v queue=o prio=9 gpu=4; runs w queue=o gpu=1; runs x queue=o prio=9 gpu=1; wants high queue=q prio=5 gpu=4");
    decides(w, "evict v InCohortReclamation; evict low InClusterQueue");
    gone(w, CHANGE_GANG_GONE, "x");
    decides(w, "");
    says(w, "high", "pending the preemption of 2 workload(s)");
}

/* A pod of an admission that is over goes as it goes: its gang is not evicted for the pod's place, which would not come any sooner. */
static void a_former_member_is_no_reason_to_evict(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=4; node n1 gpu=4; queue q gpu=12 within=Lower; runs low queue=q gpu=4 at=5 on=n0; wants low queue=q gpu=4 at=5;"
             "wants high queue=q prio=9 gpu=4 x=2");
    decides_soon(w, "start low");
    decides(w, "");
}

/* Its victim's Workload says already that it was stopped, while the pod takes its time to end: the place is promised until then. */
static void what_its_victims_pods_still_hold_is_kept(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=4; node n1 gpu=4; queue q gpu=12 within=Lower; runs low queue=q gpu=4 at=5 on=n0; wants high queue=q prio=9 gpu=4 x=2");
    decides(w, "evict low InClusterQueue");
    leaves(w, "low", "wants low queue=q gpu=4 at=5");
    decides(w, "");
    says(w, "high", "low: InClusterQueue");
    story(w, "wants small queue=q gpu=1");
    decides(w, "");
    gone(w, CHANGE_POD_GONE, "ns/low-0");
    decides_soon(w, "start high");
}

/* It is promised that its queue stays within its own quota: who took that quota now would be its next victim. */
static void the_own_quota_of_its_queue_is_kept(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=8; node n1 gpu=8; queue q in=c gpu=7 within=Lower reclaim=Any; queue o in=c gpu=4; runs b queue=o gpu=6 on=n0;"
             "wants high queue=q prio=9 gpu=6");
    decides(w, "evict b InCohortReclamation");
    story(w, "wants small queue=q gpu=2");
    decides(w, "");
    decides(w, "");
    gone(w, CHANGE_POD_GONE, "ns/b-0");
    leaves(w, "b", "wants b queue=o gpu=6");
    decides_soon(w, "start high; start small");
}

/* Its victim has left, and it did not start: whoever is let in now is not the next victim at once. */
static void who_preempted_in_vain_waits_before_the_next(void **state)
{
    struct world *w = *state;
    story(w, FULL "wants high queue=q prio=9 gpu=8");
    decides(w, "evict low InClusterQueue");
    story(w, "node n0 gpu=4");
    gone(w, CHANGE_POD_GONE, "ns/low-0");
    leaves(w, "low", "wants low queue=q gpu=8 at=5");
    decides(w, "");
    story(w, "wants small queue=q gpu=4");
    decides_soon(w, "start small");
    outcome(w, EFFECT_ADMIT, "small", NULL, OUTCOME_DONE);
    story(w, "node n0 gpu=8");
    decides(w, "");
    decides_within_10_s(w, "evict small InClusterQueue");
}

/* The same where somebody is in already when it looks: that one is not told at once, and the flavor where it would have to go for it ends
 * the search as ever. */
static void who_came_in_meanwhile_is_not_told_at_once(void **state)
{
    static const char *const queues[] = {"queue q gpu=8 within=Lower;", "queue q gpu=8 within=Lower preempt-first;"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct world w = world_new();
        story(&w, "node n0");
        story(&w, queues[i]);
        story(&w, "runs low queue=q gpu=8 at=5 on=n0; wants high queue=q prio=9 gpu=8");
        decides(&w, "evict low InClusterQueue");
        gone(&w, CHANGE_POD_GONE, "ns/low-0");
        story(&w, "runs other queue=q gpu=4 at=6 on=n0");
        leaves(&w, "low", "wants low queue=q gpu=8 at=5");
        decides(&w, "");
        decides_within_10_s(&w, "evict other InClusterQueue");
        world_free(&w);
    }
}

/* Its victim still goes, so nothing has been in vain yet: when there is a node again, what leaves is its own again. */
static void a_promise_that_is_lost_before_its_victims_have_left_is_not_in_vain(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=8; queue q gpu=16 within=Lower; runs low queue=q gpu=6 at=5 on=n0; wants high queue=q prio=9 gpu=8");
    decides(w, "evict low InClusterQueue");
    story(w, "node n0 gpu=7");
    decides_soon(w, "");
    story(w, "node n0 gpu=8");
    decides_soon(w, "");
    says(w, "high", "pending the preemption of 1 workload(s)");
    story(w, "wants small queue=q gpu=2");
    decides(w, "");
    gone(w, CHANGE_POD_GONE, "ns/low-0");
    leaves(w, "low", "wants low queue=q gpu=6 at=5");
    decides_soon(w, "start high");
}

/* Its record says other flavors than it was told: it leaves for the same one as before, and what it leaves besides is still coming. */
static void who_leaves_with_other_flavors_leaves_for_the_same_one(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=99; queue mine in=c fa.gpu=4 reclaim=Any; queue other in=c fa.gpu=0;"
             "queue third in=c fa.gpu=4 fb.gpu=4 reclaim=Lower preempt-first; runs v queue=other prio=9 gpu=8 flavor=fa; wants high queue=mine gpu=2");
    decides(w, "evict v InCohortReclamation");
    struct gang_record v = a_workload(w, "v", "ns/other", 1, GPU "=8");
    struct flavor_choice choices[] = {{0, id(w, GPU), id(w, "fa")}, {0, id(w, "cpu"), id(w, "fa")}};
    v.admitted = true;
    v.admitted_queue = id(w, "other");
    v.choices = choices;
    v.choices_n = 2;
    v.priority = 9;
    gang_record(w, v);
    story(w, "wants late queue=third prio=9 gpu=2");
    decides(w, "");
    leaves(w, "v", "wants v queue=other prio=9 gpu=8");
    decides_soon(w, "start late; start high");
}

/* ---- who is refused by nodes, and then others borrow ---- */

#define FULL_NODE "node n0 gpu=8; node n1 gpu=4; queue own in=c gpu=12 reclaim=Any; "

static void who_borrows_later_is_taken_back_from(void **state)
{
    struct world *w = *state;
    story(w, FULL_NODE "queue other in=c gpu=8; runs a queue=other gpu=8 on=n0; wants mine queue=own gpu=8");
    decides(w, "");
    story(w, "wants late queue=other prio=1 gpu=4");
    decides(w, "start late");
    assert_true(w->s->quota.rose); /* nothing was given back, but the other queue has more than its own now */
    decides(w, "evict a InCohortReclamation");
}

/* Quota is one short, as somebody whom it must not end has 2 of its own: it may end none of a queue that has no more than its own yet. */
static void who_borrows_later_is_taken_back_from_for_quota_too(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=64; queue own in=c gpu=4 reclaim=Lower; queue other in=c gpu=4; queue third in=c gpu=0; runs a queue=other gpu=3;"
             "runs b queue=third prio=9 gpu=2; wants mine queue=own prio=5 gpu=4");
    decides(w, "");
    story(w, "wants late queue=other prio=9 gpu=2");
    decides(w, "start late");
    decides(w, "evict a InCohortReclamation");
}

static void who_stays_within_his_own_wakes_nobody(void **state)
{
    struct world *w = *state;
    story(w, FULL_NODE "queue other in=c gpu=12; runs a queue=other gpu=8 on=n0; wants mine queue=own gpu=8");
    decides(w, "");
    story(w, "wants late queue=other prio=1 gpu=4");
    decides(w, "start late");
    assert_false(w->s->quota.rose);
}

/* ---- why nobody goes ---- */

static void why_not(void **state)
{
    static const struct {
        const char *objects, *says;
    } cases[] = {
        {FULL "wants same queue=q gpu=8", "no running workload is one that its policies allow to preempt"},
        {"node n0 gpu=8; queue q gpu=8 within=Lower; runs a queue=q gpu=4; runs b queue=q prio=9 gpu=4; wants high queue=q prio=9 gpu=8",
         "all whom its policies allow to preempt would not free enough quota"},
        {"node n0 gpu=8; queue q in=c gpu=4 within=Lower reclaim=Any; queue o in=c gpu=4; runs o queue=o gpu=8; wants high queue=q prio=9 gpu=8",
         "it would have to borrow, and borrowWithinCohort is Never"},
        {"node n0 gpu=4; node n1 gpu=4; queue q gpu=8 within=Lower; runs a queue=q gpu=4 on=n0; runs b queue=q gpu=4 on=n1;"
         "wants high queue=q prio=9 gpu=8",
         "would not make room on nodes"},
        {"node n0 gpu=8; queue q gpu=8; runs low queue=q gpu=8 on=n0; wants high queue=q prio=9 gpu=8",
         "ClusterQueue q preempts nobody (withinClusterQueue: Never), though workloads of lower priority run in it"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w = world_new();
        story(&w, cases[i].objects);
        decides(&w, "");
        says(&w, strstr(cases[i].objects, "wants same") ? "same" : "high", cases[i].says);
        assert_null(strstr(why(&w, "high"), "preempt")); /* the sentence stays Kueue's */
        world_free(&w);
    }
}

/* Two of its pods are on the node where "large" is promised two devices, and a third one is free there, another one elsewhere: too little
 * for "large", enough for v. Let in again it would be no victim any more, and "large" would look for one and find it, in every cycle. */
static void who_has_left_is_not_let_in_where_his_pods_still_end(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=3; node n1 gpu=1; queue q gpu=9 within=Lower; runs v queue=q x=2 gpu=1 on=n0; wants large queue=q prio=1 gpu=2");
    decides(w, "evict v InClusterQueue");
    leaves(w, "v", "wants v queue=q x=2 gpu=1");
    decides(w, "");
    decides(w, "");
    assert_false(decide_has_work(w->s));
    gone(w, CHANGE_POD_GONE, "ns/v-0");
    gone(w, CHANGE_POD_GONE, "ns/v-1");
    decides_soon(w, "start large; start v");
}

/* Another node has taken its slot meanwhile. model_core_order 430021881 8 1 */
static void what_is_promised_on_a_node_that_comes_back_is_kept(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=2; node n1 gpu=2; queue q gpu=9 within=Lower; queue s gpu=9; runs v queue=q gpu=2 on=n0;"
             "wants large queue=q prio=1 x=2 gpu=2");
    decides(w, "evict v InClusterQueue");
    gone(w, CHANGE_NODE_GONE, "n1");
    story(w, "node other gpu=1; node n1 gpu=2; wants small queue=s prio=9 gpu=2");
    decides(w, "");
    leaves(w, "v", "wants v queue=q gpu=2");
    gone(w, CHANGE_POD_GONE, "ns/v-0");
    decides_soon(w, "start large");
}

/* "v" is let in again while its pod still ends where "large" is promised all: its new pod comes to the place that was found beside that,
 * not into the promised room; be it that checks come before, that nobody is let in until it is ready (blockAdmission), or neither. */
static void who_is_back_beside_his_former_pods_keeps_his_place(void **state)
{
    static const struct ready_policy blocks = {.timeout_ms = 300000, .retries_most = -1, .block_admission = true};
    static const char *const queues[] = {"queue o in=t gpu=0", "queue o in=t gpu=0 check=c"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct world w = world_new();
        if (i % 2)
            state_set_ready_policy(w.s, &blocks); /* chaos 20000 9 at af2ec977 */
        story(&w, "node n0 gpu=4; node n1 gpu=3; queue q in=t gpu=8 reclaim=Any");
        story(&w, queues[i / 2]);
        story(&w, "runs v queue=o gpu=2 on=n0 ready c:ready; wants large queue=q gpu=4");
        decides(&w, "evict v InCohortReclamation");
        leaves(&w, "v", "wants v queue=o gpu=2 c:ready");
        decides(&w, "start v");
        outcome(&w, EFFECT_ADMIT, "v", NULL, OUTCOME_DONE);
        story(&w, "runs v queue=o gpu=2 since=9 c:ready");
        decides(&w, "");
        pod(&w, "ns/v-1", "v", GPU "=2");
        decides(&w, "");
        if (strcmp(node_of(&w, "ns/v-1"), "n1") != 0)
            fail_msg("way %d: its pod is bound to \"%s\"", i, node_of(&w, "ns/v-1"));
        gone(&w, CHANGE_POD_GONE, "ns/v-0");
        story(&w, "runs v queue=o gpu=2 since=9 ready c:ready");
        decides_soon(&w, "start large");
        world_free(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_world(it_waits_for_its_victim_and_starts),
        in_a_world(a_victim_that_does_not_go_is_not_told_twice),
        in_a_world(an_eviction_that_was_refused_is_told_again),
        in_a_world(who_waits_with_fewer_pods_starts_with_them_where_there_is_room_first),
        in_a_world(nobody_is_told_before_all_can_be),
        in_a_world(a_refused_eviction_is_told_again_when_its_victim_changed),
        in_a_world(nobody_goes_for_one_that_has_gone),
        in_a_world(what_it_was_promised_is_free_when_it_has_gone),
        in_a_world(what_is_not_promised_others_may_have),
        in_a_world(it_starts_elsewhere_when_there_is_room),
        in_a_world(others_may_not_take_what_is_free_already),
        in_a_world(nor_may_one_of_higher_priority),
        in_a_world(who_comes_before_it_takes_its_victims_over),
        in_a_world(a_restart_tells_nobody_else),
        in_a_world(it_is_held_back_and_nothing_is_kept),
        in_a_world(several_wait_side_by_side),
        in_a_world(each_takes_back_what_it_needs_itself),
        in_a_world(who_needs_what_is_left_over_evicts_nobody),
        in_a_world(what_comes_from_elsewhere_ends_no_promise),
        in_a_world(fewer_members_only_where_all_cannot_be_had),
        in_a_world(it_starts_with_as_many_as_others_went_for),
        in_a_world(who_comes_before_one_alike_looks_for_itself),
        in_a_world(who_leaves_already_counts_whatever_the_policies_say),
        in_a_world(nobody_more_goes_where_those_who_leave_are_enough),
        in_a_world(a_former_member_is_no_reason_to_evict),
        in_a_world(what_its_victims_pods_still_hold_is_kept),
        in_a_world(the_own_quota_of_its_queue_is_kept),
        in_a_world(who_preempted_in_vain_waits_before_the_next),
        cmocka_unit_test(who_came_in_meanwhile_is_not_told_at_once),
        in_a_world(a_promise_that_is_lost_before_its_victims_have_left_is_not_in_vain),
        in_a_world(who_leaves_with_other_flavors_leaves_for_the_same_one),
        in_a_world(who_borrows_later_is_taken_back_from),
        in_a_world(who_borrows_later_is_taken_back_from_for_quota_too),
        in_a_world(who_stays_within_his_own_wakes_nobody),
        cmocka_unit_test(why_not),
        in_a_world(who_has_left_is_not_let_in_where_his_pods_still_end),
        in_a_world(what_is_promised_on_a_node_that_comes_back_is_kept),
        cmocka_unit_test(who_is_back_beside_his_former_pods_keeps_his_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
