/* test_promise.c - from the eviction of the victims to the start of the one that waits for them: several cycles (stories.h) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "core/state/model.h"
#include "stories.h"

static void decides(struct world *w, const char *expected)
{
    step(w);
    if (strcmp(decided(w), expected) != 0)
        fail_msg("decided \"%s\", expected \"%s\"", decided(w), expected);
}

/* In this cycle or in the next: what the last one gave back is looked at then. */
static void decides_soon(struct world *w, const char *expected)
{
    step(w);
    if (!*decided(w))
        decides(w, expected);
    else if (strcmp(decided(w), expected) != 0)
        fail_msg("decided \"%s\", expected \"%s\"", decided(w), expected);
}

/* When the plan says so, though nothing else changes: reasons are looked for anew in between. */
static void decides_within_10_s(struct world *w, const char *expected)
{
    int64_t end_ms = w->now_ms + 10000;
    do {
        assert_true(w->plan.wake_ms > w->now_ms && w->plan.wake_ms <= end_ms);
        w->now_ms = w->plan.wake_ms;
        step(w);
    } while (!*decided(w));
    if (strcmp(decided(w), expected) != 0)
        fail_msg("decided \"%s\", expected \"%s\"", decided(w), expected);
}

/* The API shows that the eviction was written, and then that its job has stopped: the same line as when it came, but with "wants". */
static void leaves(struct world *w, const char *name, const char *wants)
{
    outcome(w, EFFECT_EVICT, name, NULL, OUTCOME_DONE);
    story(w, wants);
}

static void says(struct world *w, const char *gang, const char *part)
{
    if (!strstr(why_tree(w, gang), part))
        fail_msg("\"%s\" is not in:\n%s", part, why_tree(w, gang));
}

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

/* It waits for what others leave, which would be enough for all of its pods. Who takes some of it gives nothing back that would wake it. */
static void who_waits_for_all_pods_looks_again_whether_that_is_still_coming(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=100; queue a in=c fa.gpu=4 reclaim=Any; queue b in=c fa.gpu=4 fb.gpu=6 reclaim=Any borrow=Lower;"
             "queue d in=c fa.gpu=4; queue z in=c fa.gpu=0; runs x queue=z flavor=fa gpu=9; wants j queue=a prio=9 x=4 gpu=1;"
             "wants k queue=b x=8 min=6 gpu=1");
    decides(w, "evict x InCohortReclamation");
    outcome(w, EFFECT_EVICT, "x", NULL, OUTCOME_DONE);
    story(w, "wants m queue=d x=3 gpu=1");
    decides(w, "start m");
    decides(w, "");
    assert_true(w->plan.wake_ms > w->now_ms && w->plan.wake_ms <= w->now_ms + 1000);
    w->now_ms = w->plan.wake_ms;
    decides(w, "start k");
    assert_string_equal(given(w), "k: 6 gpu=fb");
}

/* What comes is within its queue's own quota until somebody of its queue is promised some of that: then it starts in the flavor where it
 * borrows, which fits. model_core_order 2004369 8 1 */
static void who_waits_not_to_borrow_looks_again_whether_that_is_still_so(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=100; queue h in=c fa.gpu=2 reclaim=Any; queue m in=c fa.gpu=4 fb.gpu=1 reclaim=Any level-first;"
             "queue l in=c fb.gpu=2; queue o in=c fa.gpu=0; runs v1 queue=o prio=-1 flavor=fa gpu=4; runs v2 queue=o flavor=fa gpu=2; wants high queue=h gpu=2");
    decides(w, "evict v1 InCohortReclamation");
    story(w, "wants mine queue=m prio=1 gpu=2");
    decides(w, "");
    story(w, "wants late queue=m gpu=3");
    decides(w, "evict v2 InCohortReclamation");
    w->now_ms += 1000;
    decides(w, "start mine");
    assert_string_equal(given(w), "mine: 1 gpu=fb");
}

static void who_looks_again_keeps_what_he_was_promised_meanwhile(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=100; queue a in=c gpu=4 reclaim=Any; queue b in=c gpu=4 reclaim=Any; queue z in=c gpu=0; runs x queue=z gpu=5;"
             "wants j queue=a prio=9 x=4 gpu=1; wants k queue=b x=4 min=1 gpu=1");
    decides(w, "evict x InCohortReclamation");
    outcome(w, EFFECT_EVICT, "x", NULL, OUTCOME_DONE);
    story(w, "wants m queue=z gpu=1");
    decides(w, "start m"); /* what was coming for k is not enough any more */
    decides(w, "evict m InCohortReclamation");
    outcome(w, EFFECT_EVICT, "m", NULL, OUTCOME_DONE);
    const struct gang *k = gang_find(w->s, id(w, "k"));
    int64_t since_ms = k->promise->since_ms;
    w->now_ms += 2000;
    decides(w, "");
    assert_true(k->promise && k->promise->since_ms == since_ms);
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

/* What comes by itself under the first flavor is waited for: nobody goes under the next one. */
static void a_flavor_that_comes_by_itself_is_waited_for(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=16; queue alpha in=c fa.gpu=2 fb.gpu=2 reclaim=Any; queue gamma in=c fa.gpu=2 reclaim=Any;"
             "queue beta in=c fa.gpu=2; runs b0 queue=beta flavor=fa gpu=2 since=1 on=n0; runs b1 queue=beta flavor=fa gpu=4 since=2 on=n0;"
             "runs w queue=beta flavor=fb gpu=2 since=3 on=n0; wants g queue=gamma gpu=2");
    decides(w, "evict b1 InCohortReclamation");
    story(w, "wants a queue=alpha gpu=2");
    decides(w, "");
    says(w, "a", "workloads that are preempted for others will leave quota enough for it, too");
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

/* And tried once more before its time it does not start in a later flavor either. model_core_order 1987 6 1 */
static void who_has_to_wait_does_not_take_a_later_flavor(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=99; queue q fa.gpu=8 fb.gpu=8 within=Lower preempt-first; runs low queue=q gpu=8 at=5 flavor=fa;"
             "wants high queue=q prio=9 gpu=8");
    decides(w, "evict low InClusterQueue");
    story(w, "runs other queue=q gpu=4 at=6 flavor=fa");
    gone(w, CHANGE_GANG_GONE, "low");
    decides(w, "");
    story(w, "queue q fa.gpu=8 fb.gpu=9 within=Lower preempt-first");
    decides(w, "");
    decides_within_10_s(w, "evict other InClusterQueue");
}

/* Nor does it wait for that time when nobody can go for it any more in the flavor that it would have kept to: as "other" is of its own
 * priority by then, it borrows the later flavor. model_core_order 10201 8 1 */
static void who_has_to_wait_takes_a_later_flavor_when_nobody_can_go_in_the_first(void **state)
{
    static const char *const ways[] = {"preempt-first borrow-last", "level-first borrow-last"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct world w = world_new();
        story(&w, "node n0 gpu=99; queue o in=c fa.gpu=0 fb.gpu=8");
        story(&w, arena_printf(w.records, "queue q in=c fa.gpu=8/0 fb.gpu=0 within=Lower %s", ways[i]));
        story(&w, "runs low queue=q gpu=8 at=5 flavor=fa; wants high queue=q prio=9 gpu=8");
        decides(&w, "evict low InClusterQueue");
        story(&w, "runs other queue=q gpu=4 at=6 flavor=fa");
        gone(&w, CHANGE_GANG_GONE, "low");
        decides_soon(&w, "");
        story(&w, "runs other queue=q prio=9 gpu=4 at=6 flavor=fa");
        decides_soon(&w, "start high");
        assert_string_equal(text_of(&w, entry_of(&w, EFFECT_ADMIT, "high")->choices[0].flavor), "fb");
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

/* Whoever goes comes before those behind it in its own queue when it is back: each of the two stands where the other queue's next would. */
static void two_strict_queues_do_not_end_each_others_heads_for_ever(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=100; queue a in=c strict reclaim=Any fa.gpu=1 fc.gpu=4; queue b in=c strict reclaim=Any fa.gpu=2 fc.gpu=3;"
             "runs x queue=a gpu=2 prio=2 at=1 flavor=fa; runs y queue=b gpu=6 prio=3 at=2 flavor=fc;"
             "wants v queue=a gpu=3 prio=1 at=3; wants u queue=b gpu=2 at=4");
    step(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 2);
    leaves(w, "x", "wants x queue=a gpu=2 prio=2 at=1");
    leaves(w, "y", "wants y queue=b gpu=6 prio=3 at=2");
    decides_soon(w, "start y; start x");
    outcome(w, EFFECT_ADMIT, "x", NULL, OUTCOME_DONE);
    outcome(w, EFFECT_ADMIT, "y", NULL, OUTCOME_DONE);
    story(w, "runs x queue=a gpu=2 prio=2 at=1 flavor=fa; runs y queue=b gpu=6 prio=3 at=2 flavor=fc");
    decides(w, "");
    decides(w, "");
}

/* While they leave it would have enough with v gone alone, if it borrowed; and where it borrows another flavor fits. Tried once more it
 * keeps to what they were told for. model_core_order 3017178 8 1 */
static void who_waits_not_to_borrow_does_not_borrow_meanwhile(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=99; queue q in=c fa.gpu=4 fb.gpu=0 within=Lower reclaim=Any borrow=Lower level-first; queue o in=c fa.gpu=2;"
             "queue x in=c fb.gpu=4; runs v queue=o prio=1 flavor=fa gpu=4; runs low queue=q flavor=fa gpu=2; wants high queue=q prio=1 gpu=3");
    step(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 2);
    story(w, "node n1 gpu=1");
    decides(w, "");
    gone(w, CHANGE_GANG_GONE, "low");
    gone(w, CHANGE_GANG_GONE, "v");
    decides_soon(w, "start high");
    assert_string_equal(text_of(w, entry_of(w, EFFECT_ADMIT, "high")->choices[0].flavor), "fa");
}

/* "large" counts on what v leaves beside "small", which then finds no CPU that it could take back; without "small" v does not leave for
 * anybody, "large" has not enough, and so on. model_core_order 2015649 8 1 */
static void two_do_not_take_the_ground_of_each_others_promise_for_ever(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=99 cpu=99; queue a in=c gpu=0 cpu=10 within=Lower; queue b in=c gpu=3 cpu=0 within=Lower; runs v queue=b gpu=3 cpu=5;"
             "runs w queue=a gpu=0 cpu=4; wants small queue=b prio=1 gpu=3 cpu=1");
    decides(w, "evict v InClusterQueue");
    story(w, "wants large queue=a prio=2 gpu=0 cpu=9");
    decides(w, "evict w InClusterQueue");
    story(w, "node n1 gpu=1");
    for (int i = 0; i < 20 && decide_has_work(w->s); i++)
        decides(w, "");
    assert_false(decide_has_work(w->s));
    leaves(w, "v", "wants v queue=b gpu=3 cpu=5");
    leaves(w, "w", "wants w queue=a gpu=0 cpu=4");
    decides_soon(w, "start large; start small");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_world(two_strict_queues_do_not_end_each_others_heads_for_ever),
        in_a_world(who_waits_not_to_borrow_does_not_borrow_meanwhile),
        in_a_world(two_do_not_take_the_ground_of_each_others_promise_for_ever),
        in_a_world(it_waits_for_its_victim_and_starts),
        in_a_world(a_victim_that_does_not_go_is_not_told_twice),
        in_a_world(an_eviction_that_was_refused_is_told_again),
        in_a_world(who_waits_with_fewer_pods_starts_with_them_where_there_is_room_first),
        in_a_world(who_waits_for_all_pods_looks_again_whether_that_is_still_coming),
        in_a_world(who_waits_not_to_borrow_looks_again_whether_that_is_still_so),
        in_a_world(who_looks_again_keeps_what_he_was_promised_meanwhile),
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
        in_a_world(a_flavor_that_comes_by_itself_is_waited_for),
        in_a_world(fewer_members_only_where_all_cannot_be_had),
        in_a_world(it_starts_with_as_many_as_others_went_for),
        in_a_world(who_comes_before_one_alike_looks_for_itself),
        in_a_world(who_leaves_already_counts_whatever_the_policies_say),
        in_a_world(a_former_member_is_no_reason_to_evict),
        in_a_world(what_its_victims_pods_still_hold_is_kept),
        in_a_world(the_own_quota_of_its_queue_is_kept),
        in_a_world(who_has_to_wait_does_not_take_a_later_flavor),
        in_a_world(who_preempted_in_vain_waits_before_the_next),
        cmocka_unit_test(who_came_in_meanwhile_is_not_told_at_once),
        cmocka_unit_test(who_has_to_wait_takes_a_later_flavor_when_nobody_can_go_in_the_first),
        in_a_world(a_promise_that_is_lost_before_its_victims_have_left_is_not_in_vain),
        in_a_world(who_leaves_with_other_flavors_leaves_for_the_same_one),
        in_a_world(who_borrows_later_is_taken_back_from),
        in_a_world(who_borrows_later_is_taken_back_from_for_quota_too),
        in_a_world(who_stays_within_his_own_wakes_nobody),
        cmocka_unit_test(why_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
