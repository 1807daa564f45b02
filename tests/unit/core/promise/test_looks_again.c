/* test_looks_again.c - gangs that wait for those who leave, and look again meanwhile: in which flavor, whether they start after all, and
 * that they come to rest */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/limits.h"
#include "core/state/model.h"
#include "promises.h"

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

#define LEVELS "node n0 gpu=99; cohort s in=c; cohort t in=s; queue z in=c fa.gpu=0 fa.cpu=9; queue y in=s fb.gpu=4 fb.cpu=4;" \
               "queue q in=t fa.gpu=4 fa.cpu=0 fb.gpu=0 fb.cpu=0 within=Lower borrow-last level-first;" \
               "queue o in=t fa.gpu=1 fa.cpu=4 within=Lower; runs v queue=o flavor=fa gpu=1; runs low queue=q flavor=fa gpu=4;" \
               "wants high queue=q prio=1 gpu=4 cpu=2"

/* It waits in the flavor where it borrows from its neighbour, until he takes that himself: it would borrow from farther away there than in
 * the other flavor, which fits. Kueue looks at it again in each cycle. model_core_order 6002529 8 1 */
static void what_others_take_may_let_it_start_in_another_flavor(void **state)
{
    struct world *w = *state;
    story(w, LEVELS);
    decides(w, "evict low InClusterQueue");
    story(w, "wants k queue=o gpu=0 cpu=3");
    decides(w, "start k");
    assert_true(decide_has_work(w->s));
    decides(w, "start high");
    assert_string_equal(text_of(w, entry_of(w, EFFECT_ADMIT, "high")->choices[0].flavor), "fb");
}

/* The same, where he is only promised it: others leave for him, too. */
static void what_others_are_promised_may_let_it_start_in_another_flavor(void **state)
{
    struct world *w = *state;
    story(w, LEVELS);
    decides(w, "evict low InClusterQueue");
    story(w, "wants k queue=o prio=1 gpu=1 cpu=3");
    decides(w, "evict v InClusterQueue");
    assert_true(decide_has_work(w->s));
    decides(w, "start high");
    assert_string_equal(text_of(w, entry_of(w, EFFECT_ADMIT, "high")->choices[0].flavor), "fb");
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

/* "top" was sent away for "own", and waits again, for "mid" to leave, while its pods still end. As it looks to "low", there is room beside
 * what both are promised; as it looks to "top", "low" is in its way. Chaos, seed 2, step 46,000: no moment went by between two rounds. */
static void lets_low_in_again_and_again(struct world *w, bool has_pods_yet)
{
    int starts_n = 0;
    w->fair.on = true;
    story(w, "node n0 gpu=4; node n4 gpu=4; node n1 gpu=4; node n2 gpu=4; node n3 gpu=4; node n5 gpu=4; queue z in=t gpu=7;"
             "queue o in=t gpu=8 within=Lower reclaim=Any; queue q in=t gpu=13/6/6 reclaim=Any;"
             "runs top queue=o prio=9 gpu=2 x=5 on=n2+n1+n0+n3+n5; pod x0 gpu=2 on=n0; pod x1 gpu=2 on=n1; pod x2 gpu=2 on=n2;"
             "pod x3 gpu=2 on=n3; pod x4 gpu=4 on=n4; pod x5 gpu=2 on=n5; wants own queue=q prio=2 gpu=2 x=5");
    decides(w, "evict top InCohortReclamation");
    for (int i = 1; i < 6; i++)
        gone(w, CHANGE_POD_GONE, arena_printf(w->records, "ns/x%d", i));
    story(w, "runs mid queue=o prio=2 gpu=1 x=4 on=n1+n1+n3+n3; runs first queue=o prio=1 gpu=4 on=n4;"
             "runs second queue=o prio=1 gpu=2 x=2 on=n2+n5");
    leaves(w, "top", "wants top queue=o prio=9 gpu=2 x=5");
    decides_soon(w, "evict first InClusterQueue; evict second InClusterQueue; evict mid InClusterQueue");
    gone(w, CHANGE_GANG_GONE, "first");
    gone(w, CHANGE_GANG_GONE, "second");
    for (const char *const *pod = (const char *const[]){"ns/first-0", "ns/second-0", "ns/second-1", "ns/x0", NULL}; *pod; pod++)
        gone(w, CHANGE_POD_GONE, *pod);
    if (has_pods_yet) { /* of an earlier start */
        story(w, "node n6 gpu=2; runs low queue=o gpu=1 x=2 on=n6");
        step(w);
    }
    story(w, "wants low queue=o gpu=1 x=2");
    for (int i = 0; i < 30; i++) {
        step(w);
        starts_n += strstr(decided(w), "start low") != NULL;
        if (strstr(decided(w), "evict low"))
            leaves(w, "low", "wants low queue=o gpu=1 x=2");
    }
    assert_false(decide_has_work(w->s));
    assert_int_equal(starts_n, has_pods_yet ? 3 : 4); /* the start of before was the first */
    says(w, "low", "backoff");
    w->now_ms += 10001;
    decides_soon(w, "start low");
}

static void who_is_let_in_and_sent_away_again_and_again_rests(void **state)
{
    (void)state;
    for (int has_pods_yet = 0; has_pods_yet < 2; has_pods_yet++) {
        struct world w = world_new();
        lets_low_in_again_and_again(&w, has_pods_yet);
        world_free(&w);
    }
}

/* "large" needs more than its queue's own CPUs. Once "other" is promised so much that all of the tree would have to hold both, policies let
 * nobody look for victims for that: but low leaves for it already, and each has what it waits for soon. model_core_order 50015921 8 1 */
static void what_another_is_promised_ends_no_promise(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=99; cohort r cpu=2000; cohort s in=r; queue a in=r gpu=5 cpu=2000 within=Newer reclaim=Any;"
             "queue b in=s gpu=0 cpu=1000 within=Lower reclaim=Any borrow=Lower; runs low queue=a prio=1 gpu=4 cpu=1012;"
             "runs v queue=a gpu=0 cpu=506; runs w queue=b prio=2 gpu=0 cpu=535; wants large queue=a prio=2 gpu=4 cpu=2031");
    decides(w, "evict low InClusterQueue");
    story(w, "wants other queue=b prio=1 gpu=0 cpu=2007");
    decides(w, "evict v InCohortReclaimWhileBorrowing");
    story(w, "node n1 gpu=1");
    decides(w, "");
    decides(w, "");
    gone(w, CHANGE_GANG_GONE, "low");
    decides_soon(w, "start large");
    gone(w, CHANGE_GANG_GONE, "v");
    decides_soon(w, "start other");
}

/* "high" finds somebody to take back from in the first flavor, where its second set has not enough beside it, and so looks at no other one.
 * For "low" nobody goes there: it fits with the other flavor. What stops one stops no other of another priority, though it asks for the
 * same. SOURCE Kueue, whose classes of equal workloads have the priority in them. model_core_order 70029725 8 1 */
static void what_stops_one_stops_none_of_lower_priority(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=99 cpu=99; queue q in=c fa.gpu=4 fa.cpu=1 fb.gpu=0 fb.cpu=0 reclaim=Lower borrow-last level-first;"
             "queue d in=c fb.gpu=4; queue o in=c fa.gpu=0; runs v queue=o prio=1 flavor=fa gpu=2;"
             "wants high queue=q prio=2 set=one gpu=3 set=two gpu=2 cpu=1; wants low queue=q prio=1 set=one gpu=3 set=two gpu=2 cpu=1");
    decides(w, "start low");
    assert_string_equal(given(w), "low: 1 gpu=fb, 1 cpu=fa gpu=fa");
}

/* "late" borrows CPUs beside what "high" is promised of their queue's own. Beside what "late" is promised it is "high" that would borrow,
 * and v may not go for that; but he leaves already, and when he has there is enough for both. model_core_order 4018338 16 1 */
static void what_is_promised_to_who_borrows_ends_no_promise(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=99 cpu=99; queue q in=c gpu=2 cpu=4 within=Lower reclaim=Any borrow=Lower; queue s in=c gpu=0 cpu=2;"
             "queue o in=c gpu=0 cpu=0; runs v queue=o prio=2 gpu=1 cpu=2; runs low queue=q gpu=0 cpu=2;"
             "wants high queue=q prio=2 x=2 min=1 gpu=1 cpu=1");
    decides(w, "evict v InCohortReclamation");
    story(w, "wants late queue=q prio=1 gpu=0 cpu=3");
    decides(w, "evict low InClusterQueue");
    story(w, "node n1 gpu=1");
    decides(w, "");
    gone(w, CHANGE_GANG_GONE, "v");
    decides_soon(w, "start high");
    assert_string_equal(given(w), "high: 2 cpu=any gpu=any");
    gone(w, CHANGE_GANG_GONE, "low");
    decides_soon(w, "start late");
}

/* "other" leaves for GPUs, "old" for cpu of flavor fa, where "new" then borrows nothing: so it looks at no other flavor. Once "other"
 * counts as gone his cpu would be enough, but "new" would borrow it, and rather start in fb: then both had left in vain. "old" leaves all
 * the same. model_core_order 550875 12 1 */
static void who_waits_for_its_victims_waits_in_their_flavor(void **state)
{
    struct world *w = *state;
    story(w, "queue q in=c within=Lower reclaim=Any preempt-first borrow-last fa.cpu=6 fa.gpu=6 fb.cpu=3 fb.gpu=6;"
             "queue o in=c fa.cpu=4 fa.gpu=0 fb.cpu=4 fb.gpu=4;"
             "node n0 gpu=99 cpu=99; runs old queue=q prio=1 gpu=0 cpu=5 flavor=fa on=n0; runs other queue=o cpu=3 gpu=1 flavor=fa on=n0;"
             "wants new queue=q prio=2 cpu=3 gpu=6");
    decides(w, "evict other InCohortReclamation; evict old InClusterQueue");
    story(w, "node n1 gpu=1"); /* who waits looks again */
    decides(w, "");
    says(w, "new", "pending the preemption of 2 workload(s)");
}

/* Others have let somebody in, and w has to leave for "high" besides v. What both leave is more than "high" needs beside what is free: that
 * is kept from nobody any more, and "small", which was tried before, may have it. model_core_order 400085265 8 1 */
static void who_was_kept_out_looks_again_when_more_leave(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=99; queue q in=c gpu=7 within=Lower; queue s in=c gpu=3; runs v queue=q gpu=4 since=2;"
             "runs w queue=q gpu=3 since=1; wants high queue=q prio=1 gpu=7");
    decides(w, "evict v InClusterQueue");
    story(w, "wants small queue=s prio=9 gpu=1");
    decides(w, "");
    story(w, "runs other queue=s gpu=2");
    decides(w, "evict w InClusterQueue");
    decides(w, "start small");
}

/* With "big" gone it is within its queue's own quota, with "small", who has just saved what he did, it would borrow as it does in the other
 * flavor, which fits: it would start there when it looks again, and "small" would have gone in vain. model_core_order 450034531 8 1 */
static void who_loses_least_does_not_go_where_it_would_borrow_for_that(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=99; queue q in=c fa.gpu=4 fb.gpu=0 within=Lower level-first; queue o in=c fa.gpu=2 fb.gpu=2;"
             "runs big queue=q flavor=fa gpu=4 since=3; runs small queue=q flavor=fa gpu=2 since=2 saved=990; wants high queue=q prio=1 gpu=2");
    decides(w, "evict big InClusterQueue");
    story(w, "node n1 gpu=1");
    decides(w, "");
    gone(w, CHANGE_GANG_GONE, "big");
    decides_soon(w, "start high");
    assert_string_equal(given(w), "high: 1 gpu=fa");
}

/* The same of GPUs, where it borrows cpu with either. model_core_order 181843 12 1 */
static void nor_where_it_would_borrow_for_more_resources(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=99 cpu=99; queue q in=c fa.gpu=4 fa.cpu=1 fb.gpu=0 fb.cpu=0 within=Lower level-first;"
             "queue o in=c fa.gpu=2 fa.cpu=9 fb.gpu=2 fb.cpu=9; runs big queue=q flavor=fa gpu=4 cpu=1 since=3;"
             "runs small queue=q flavor=fa gpu=2 cpu=1 since=2 saved=990; wants high queue=q prio=1 gpu=2 cpu=2");
    decides(w, "evict big InClusterQueue");
    story(w, "node n1 gpu=1");
    decides(w, "");
    gone(w, CHANGE_GANG_GONE, "big");
    decides_soon(w, "start high");
    assert_string_equal(given(w), "high: 1 cpu=fa gpu=fa");
}

/* A tree that was too deep, or a circle, is one again: whoever waits in it starts, wherever the mend was. */
static void who_waits_in_a_tree_that_is_mended_looks_again(void **state)
{
    struct world *w = *state;
    char line[64];
    story(w, "node n0 gpu=99; queue q in=c0 gpu=4");
    for (int i = 0; i < LIMIT_COHORT_DEPTH - 1; i++) {
        snprintf(line, sizeof line, "cohort c%d in=c%d", i, i + 1);
        story(w, line);
    }
    story(w, "cohort below in=c0; wants a queue=q gpu=1");
    decides(w, "start a");
    story(w, "queue deep in=below; wants b queue=q gpu=1"); /* one too many */
    decides(w, "");
    story(w, "queue deep in=other");
    decides(w, "start b");
    story(w, "queue deep in=below; wants c queue=q gpu=1");
    decides(w, "");
    story(w, "cohort below in=other");
    decides(w, "start c");
    story(w, "cohort c1 in=c0; wants d queue=q gpu=1");
    decides(w, "");
    story(w, "cohort c1 in=c2");
    decides(w, "start d");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_world(who_waits_for_all_pods_looks_again_whether_that_is_still_coming),
        in_a_world(who_waits_not_to_borrow_looks_again_whether_that_is_still_so),
        in_a_world(who_looks_again_keeps_what_he_was_promised_meanwhile),
        in_a_world(a_flavor_that_comes_by_itself_is_waited_for),
        in_a_world(who_has_to_wait_does_not_take_a_later_flavor),
        cmocka_unit_test(who_has_to_wait_takes_a_later_flavor_when_nobody_can_go_in_the_first),
        in_a_world(two_strict_queues_do_not_end_each_others_heads_for_ever),
        in_a_world(who_waits_not_to_borrow_does_not_borrow_meanwhile),
        in_a_world(what_others_take_may_let_it_start_in_another_flavor),
        in_a_world(what_others_are_promised_may_let_it_start_in_another_flavor),
        in_a_world(who_is_let_in_and_sent_away_again_and_again_rests),
        in_a_world(what_another_is_promised_ends_no_promise),
        in_a_world(two_do_not_take_the_ground_of_each_others_promise_for_ever),
        in_a_world(what_stops_one_stops_none_of_lower_priority),
        in_a_world(what_is_promised_to_who_borrows_ends_no_promise),
        in_a_world(who_waits_for_its_victims_waits_in_their_flavor),
        in_a_world(who_was_kept_out_looks_again_when_more_leave),
        in_a_world(who_loses_least_does_not_go_where_it_would_borrow_for_that),
        in_a_world(nor_where_it_would_borrow_for_more_resources),
        in_a_world(who_waits_in_a_tree_that_is_mended_looks_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
