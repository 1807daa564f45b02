/* test_consumption.c - admission fair sharing: LocalQueues by what they have used of late; stories (stories.h) on virtual time */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../stories.h"
#include "core/queue/gang.h"
#include "core/quota/decay.h"
#include "core/state/model.h"

/* ---- what is left as time goes by ---- */

static void assert_near(uint64_t is, uint64_t wanted, uint64_t most_off)
{
    uint64_t off = is > wanted ? is - wanted : wanted - is;
    if (off > most_off)
        fail_msg("%llx is not near %llx", (unsigned long long)is, (unsigned long long)wanted);
}

static void halves_are_halves(void **unused)
{
    (void)unused;
    assert_true(decay_left(0, 1000) == UINT64_MAX);
    for (int i = 1; i < 64; i++)
        assert_near(decay_left(i * 1000, 1000), UINT64_MAX >> i, 0);
    assert_true(decay_left(64000, 1000) == 0);
    assert_true(decay_left(INT64_MAX, 1) == 0);
    assert_true(decay_left(1, INT64_MAX) > UINT64_MAX - 4);
    assert_near(decay_left(500, 1000), 0xb504f333f9de6484u, 64);     /* 1 / sqrt 2 */
    assert_near(decay_left(1000, 3000), 0xcb2ff529eb71e415u, 64);    /* 2 ^ -1/3 */
    assert_near(decay_left(300000, 604800000), 0xffe9789944482ffau, 64); /* five minutes of a week */
}

static void steps_are_as_good_as_one(void **unused)
{
    (void)unused;
    u128 at_once = decay_part((u128)1000000000000, decay_left(7000, 9000)), by_steps = (u128)1000000000000;
    for (int i = 0; i < 7000; i++)
        by_steps = decay_part(by_steps, decay_left(1, 9000));
    assert_near((uint64_t)by_steps, (uint64_t)at_once, 7000);
    assert_true(decay_part((u128)INT64_MAX * 1000000000, UINT64_MAX) >> 93 == 0);
    uint32_t rest;
    u128 most = ~(u128)0, whole = decay_whole(most, &rest);
    assert_true(whole * 1000000000 + rest == most);
}

/* ---- stories ---- */

#define ROOM "node n0 gpu=1000;"
#define ONE_QUEUE ROOM "queue q gpu=2 consumption; local a; local b; local c;"

static struct world begin_with(int64_t half_life_s, const struct resource_weight *weights, uint32_t n)
{
    struct world w = world_new();
    state_set_consumption_policy(w.s, &(struct consumption_policy){.on = true, .half_life_ms = 1000 * half_life_s, .sampling_ms = 10000,
                                                           .weights = weights, .weights_n = n});
    return w;
}
static struct world begin(const char *text)
{
    struct world w = begin_with(100, NULL, 0);
    story(&w, text);
    step(&w);
    return w;
}

static void later(struct world *w, int64_t s)
{
    w->now_ms += 1000 * s;
    step(w);
}

/* Whatever the last cycle has let in is told and answered. */
static void land(struct world *w)
{
    for (uint32_t i = 0; i < w->plan.entries_n; i++) {
        const struct plan_entry *e = &w->plan.entries[i];
        struct outcome_record r = {.effect = (uint8_t)e->effect, .outcome = OUTCOME_DONE, .gang = e->gang};
        if (e->effect == EFFECT_ADMIT || e->effect == EFFECT_RESERVE)
            state_apply(w->s, &(struct change){.type = CHANGE_OUTCOME, .outcome = r});
    }
}

/* Of the LocalQueue's GPUs, in thousandths. */
static int64_t consumed(struct world *w, const char *local)
{
    struct consumption_look look;
    assert_true(state_local_queue_consumption(w->s, id(w, local), w->cycle, &look));
    for (uint32_t i = 0; i < look.consumed_n; i++)
        if (look.consumed[i].resource == id(w, GPU))
            return look.consumed[i].units * 1000 + (look.consumed[i].nano + 500000) / 1000000;
    fail();
    return 0;
}
static int64_t entry(struct world *w, const char *local)
{
    struct consumption_look look;
    int64_t sum = 0;
    assert_true(state_local_queue_consumption(w->s, id(w, local), w->cycle, &look));
    for (uint32_t i = 0; i < look.entries_n; i++) {
        assert_int_equal(look.entries[i].resource, id(w, GPU));
        sum += look.entries[i].units * 1000 + (look.entries[i].nano + 500000) / 1000000;
    }
    return sum;
}
static int64_t share(struct world *w, const char *local)
{
    struct consumption_look look;
    assert_true(state_local_queue_consumption(w->s, id(w, local), w->cycle, &look));
    return look.share;
}

static void one_of_each(void **unused)
{
    (void)unused;
    struct world w = begin(ONE_QUEUE "wants a1 local=a prio=9; wants a2 local=a prio=9; wants b1 local=b; wants b2 local=b");
    assert_string_equal(decided(&w), "start a1; start b1");
    world_free(&w);
}

static void nobody_asked_for_it(void **unused)
{
    (void)unused;
    struct world w = begin(ROOM "queue q gpu=2; local a; local b; wants a1 local=a; wants a2 local=a; wants b1 local=b");
    assert_string_equal(decided(&w), "start a1; start a2");
    world_free(&w);
    w = world_new(); /* nor does the configuration */
    story(&w, ONE_QUEUE "wants a1 local=a; wants a2 local=a; wants b1 local=b");
    step(&w);
    assert_string_equal(decided(&w), "start a1; start a2");
    struct consumption_look look;
    assert_false(state_local_queue_consumption(w.s, id(&w, "ns/a"), w.cycle, &look));
    world_free(&w);
}

/* Who comes first says what was used, whoever waits longer or is more important; c has never run. */
static void who_used_less_is_first(void **unused)
{
    (void)unused;
    struct world w = begin(ONE_QUEUE "wants a1 local=a gpu=2");
    land(&w);
    story(&w, "wants a2 local=a prio=9 gpu=2; wants b1 local=b prio=5 gpu=2; wants c1 local=c gpu=2");
    later(&w, 100);
    assert_string_equal(decided(&w), "");
    gone(&w, CHANGE_GANG_GONE, "a1");
    step(&w);
    assert_string_equal(decided(&w), "start b1"); /* neither has run: by priority */
    land(&w);
    later(&w, 10);
    gone(&w, CHANGE_GANG_GONE, "b1");
    step(&w);
    assert_string_equal(decided(&w), "start c1");
    land(&w);
    later(&w, 400); /* c has used more by now than is left of a */
    gone(&w, CHANGE_GANG_GONE, "c1");
    step(&w);
    assert_string_equal(decided(&w), "start a2");
    world_free(&w);
}

static void positions_follow(void **unused)
{
    (void)unused;
    struct world w = begin(ONE_QUEUE "wants a1 local=a gpu=2");
    land(&w);
    story(&w, "wants a2 local=a prio=9 gpu=2; wants b1 local=b gpu=2");
    later(&w, 10);
    assert_int_equal(state_gang_position(w.s, id(&w, "b1")), 0);
    assert_int_equal(state_gang_position(w.s, id(&w, "a2")), 1);
    story(&w, "local a weight=1000000000"); /* a thousandth of a thousandth */
    step(&w);
    assert_int_equal(state_gang_position(w.s, id(&w, "a2")), 1); /* little is more than nothing */
    story(&w, "local b weight=0");
    step(&w);
    assert_int_equal(state_gang_position(w.s, id(&w, "a2")), 0);
    assert_int_equal(share(&w, "ns/b"), INT64_MAX);
    world_free(&w);
}

static void twice_the_weight_half_the_share(void **unused)
{
    (void)unused;
    struct world w = begin(ROOM "queue q gpu=2 consumption; local a weight=2000; local b; wants a1 local=a gpu=1; wants b1 local=b gpu=1");
    land(&w);
    story(&w, "wants b2 local=b prio=9; wants a2 local=a");
    later(&w, 50);
    assert_true(consumed(&w, "ns/a") == consumed(&w, "ns/b"));
    assert_true(share(&w, "ns/b") >= 2 * share(&w, "ns/a") - 1 && share(&w, "ns/b") <= 2 * share(&w, "ns/a"));
    gone(&w, CHANGE_GANG_GONE, "b1");
    step(&w);
    assert_string_equal(decided(&w), "start a2");
    world_free(&w);
}

static void resources_count_by_their_weights(void **unused)
{
    (void)unused;
    const struct resource_weight weights[] = {{"cpu", 0}, {GPU, INT64_C(2500000000)}};
    struct world w = begin_with(100, weights, 2);
    story(&w, ROOM "queue q gpu=2 cpu=100000 consumption; local a; local b;"
                          "wants a1 local=a gpu=1 cpu=90000; wants b1 local=b gpu=1 cpu=10");
    step(&w);
    land(&w);
    later(&w, 100);
    assert_int_equal(consumed(&w, "ns/a"), 533); /* 1 - 0.5^0.1 on entry, halved, and a half of what runs */
    assert_int_equal(share(&w, "ns/a"), share(&w, "ns/b"));
    assert_int_equal(share(&w, "ns/a"), 1334);
    world_free(&w);
}

static void an_interval_is_paid_on_entry(void **unused)
{
    (void)unused;
    struct world w = begin(ONE_QUEUE "wants a1 local=a gpu=2");
    assert_int_equal(share(&w, "ns/a"), 134); /* 2000 * (1 - 0.5^(10/100)), rounded up */
    assert_int_equal(consumed(&w, "ns/a"), 0);
    land(&w);
    assert_int_equal(share(&w, "ns/a"), 134);
    assert_int_equal(consumed(&w, "ns/a"), 134);
    later(&w, 100);
    assert_int_equal(consumed(&w, "ns/a"), 1067); /* a half of it, and of the two that run */
    later(&w, 100);
    assert_int_equal(consumed(&w, "ns/a"), 1533);
    gone(&w, CHANGE_GANG_GONE, "a1");
    later(&w, 100);
    assert_int_equal(consumed(&w, "ns/a"), 767);
    later(&w, 10000);
    assert_int_equal(consumed(&w, "ns/a"), 0);
    assert_int_equal(share(&w, "ns/a"), 0);
    world_free(&w);
}

/* Rounded once, whatever its flavors. model_core_order 733682 8 1 */
static void who_asks_for_as_much_pays_as_much(void **unused)
{
    (void)unused;
    struct world w = begin(ROOM "queue q fa.gpu=1 fb.gpu=5 consumption; local a; local b; wants a1 local=a set=one gpu=1 set=two gpu=2; wants b1 local=b gpu=3");
    assert_int_equal(effects(&w, EFFECT_ADMIT), 2);
    assert_int_equal(entry_of(&w, EFFECT_ADMIT, "a1")->choices[0].flavor, id(&w, "fa"));
    assert_int_equal(entry_of(&w, EFFECT_ADMIT, "a1")->choices[1].flavor, id(&w, "fb"));
    for (int landed = 0; landed < 2; landed++) {
        struct used a = local_queue_named(w.s, id(&w, "ns/a"))->used, b = local_queue_named(w.s, id(&w, "ns/b"))->used;
        assert_true(a.sum && a.sum == b.sum);
        land(&w);
    }
    world_free(&w);
}

static void a_refused_write_is_not_paid(void **unused)
{
    (void)unused;
    struct world w = begin(ONE_QUEUE "wants a1 local=a gpu=2");
    outcome(&w, EFFECT_ADMIT, "a1", NULL, OUTCOME_FAILED);
    assert_int_equal(share(&w, "ns/a"), 0);
    step(&w);
    assert_string_equal(decided(&w), "start a1");
    assert_int_equal(share(&w, "ns/a"), 134);
    gone(&w, CHANGE_GANG_GONE, "a1");
    assert_int_equal(share(&w, "ns/a"), 0);
    world_free(&w);
}

/* Checks: quota first, admitted later. */
static void entries_wait_for_checks(void **unused)
{
    (void)unused;
    struct world w = begin_with(100, NULL, 0);
    struct queue_words q;
    struct queue_check check = {.name = id(&w, "check")};
    story(&w, ROOM);
    flavor(&w, "any", "");
    queue_begin(&w, &q, "q", NULL);
    q.r.by_consumption = true;
    q.r.checks = &check;
    q.r.checks_n = 1;
    queue_quota(&w, &q, "any", GPU, 8, NO_LIMIT, NO_LIMIT);
    queue_done(&w, &q);
    story(&w, "local a; local b");
    struct gang_record r = a_workload(&w, "a1", "ns/a", 1, GPU "=2");
    gang_record(&w, r);
    step(&w);
    assert_int_equal(effects(&w, EFFECT_RESERVE), 1);
    land(&w);
    later(&w, 100);
    assert_int_equal(consumed(&w, "ns/a"), 0);
    assert_int_equal(share(&w, "ns/a"), 134);
    assert_int_equal(entry(&w, "ns/a"), 134);
    /* told to go, and given quota anew: the entry is another one, not a second */
    struct gang_check retry = {id(&w, "check"), CHECK_RETRY}, ready = {id(&w, "check"), CHECK_READY};
    struct gang_record told = admitted_in(&w, r, "any");
    told.reserved_only = true;
    told.checks = &retry;
    told.checks_n = 1;
    gang_record(&w, told);
    step(&w);
    assert_int_equal(effects(&w, EFFECT_EVICT), 1);
    outcome(&w, EFFECT_EVICT, "a1", NULL, OUTCOME_DONE);
    gang_record(&w, r);
    assert_int_equal(share(&w, "ns/a"), 134);
    step(&w);
    assert_int_equal(effects(&w, EFFECT_RESERVE), 1);
    assert_int_equal(share(&w, "ns/a"), 134);
    assert_int_equal(entry(&w, "ns/a"), 134);
    /* told to go once more, and in another LocalQueue by then: the old one has none of it */
    struct gang_record moved = r;
    moved.local_queue = id(&w, "ns/b");
    land(&w);
    told.checks = &retry;
    gang_record(&w, told);
    step(&w);
    outcome(&w, EFFECT_EVICT, "a1", NULL, OUTCOME_DONE);
    gang_record(&w, r);
    assert_int_equal(share(&w, "ns/a"), 134);
    gang_record(&w, moved);
    assert_int_equal(share(&w, "ns/a"), 0);
    assert_int_equal(entry(&w, "ns/a"), 0);
    later(&w, 10);
    assert_int_equal(share(&w, "ns/b"), 134);
    told.local_queue = moved.local_queue;
    told.checks = &ready;
    gang_record(&w, told);
    step(&w);
    land(&w);
    assert_int_equal(consumed(&w, "ns/b"), 134);
    assert_int_equal(entry(&w, "ns/b"), 0);
    assert_int_equal(consumed(&w, "ns/a"), 0);
    world_free(&w);
}

static void deactivated_before_it_ran(void **unused)
{
    (void)unused;
    struct world w = begin(ONE_QUEUE);
    struct gang_record r = a_workload(&w, "a1", "ns/a", 1, GPU "=2");
    gang_record(&w, r);
    step(&w);
    assert_int_equal(share(&w, "ns/a"), 134);
    r.active = false;
    gang_record(&w, r);
    step(&w);
    outcome(&w, EFFECT_ADMIT, "a1", NULL, OUTCOME_FAILED);
    outcome(&w, EFFECT_EVICT, "a1", NULL, OUTCOME_DONE);
    step(&w);
    assert_int_equal(state_gang_phase(w.s, id(&w, "a1")), GANG_WAITING);
    assert_int_equal(share(&w, "ns/a"), 0);
    world_free(&w);
}

/* What the status says is taken over where it is later than what is known here, and goes on from there. */
static void a_new_scheduler_goes_on(void **unused)
{
    (void)unused;
    struct world w = begin_with(100, NULL, 0);
    w.now_ms = 5000000;
    story(&w, ROOM "queue q gpu=2 consumption; local a used=8,4900; local b used=3,5000; runs a1 local=a gpu=2 since=4000");
    story(&w, "wants a2 local=a gpu=2; wants b1 local=b gpu=2");
    w.now_ms = 5000000;
    step(&w);
    assert_int_equal(consumed(&w, "ns/a"), 5000); /* a half of 8, and of the 2 that ran on */
    assert_int_equal(consumed(&w, "ns/b"), 3000);
    story(&w, "local a used=100,4999"); /* older than what is known */
    assert_int_equal(consumed(&w, "ns/a"), 5000);
    story(&w, "local a used=1,5001"); /* somebody else has led meanwhile */
    assert_int_equal(consumed(&w, "ns/a"), 1000);
    gone(&w, CHANGE_GANG_GONE, "a1");
    step(&w);
    assert_string_equal(decided(&w), "start a2");
    world_free(&w);
}

/* What is paid on entry follows from the quota that the Workload has. */
static void a_new_scheduler_knows_who_waits_for_checks(void **unused)
{
    (void)unused;
    struct world w = begin(ROOM "queue q gpu=2 consumption check=c; local a; runs a1 local=a gpu=2 reserved");
    assert_int_equal(entry(&w, "ns/a"), 134);
    assert_int_equal(share(&w, "ns/a"), 134);
    assert_int_equal(consumed(&w, "ns/a"), 0);
    world_free(&w);
    w = begin_with(100, NULL, 0); /* also when its queue is seen later */
    story(&w, ROOM "local a; runs a1 local=a gpu=2 reserved; queue q gpu=2 consumption check=c");
    step(&w);
    assert_int_equal(entry(&w, "ns/a"), 134);
    world_free(&w);
}

static void a_local_queue_made_anew_has_used_nothing(void **unused)
{
    (void)unused;
    struct world w = begin(ONE_QUEUE "wants a1 local=a");
    land(&w);
    story(&w, "wants a2 local=a");
    step(&w);
    assert_true(share(&w, "ns/a") > 100);
    gone(&w, CHANGE_LOCAL_QUEUE_GONE, "ns/a");
    step(&w);
    sweep_names(&w);
    story(&w, "local a");
    step(&w);
    assert_int_equal(share(&w, "ns/a"), 0);
    later(&w, 100); /* but what runs counts on: a1 for a half-life */
    assert_int_equal(consumed(&w, "ns/a"), 500);
    world_free(&w);
}

/* Nothing is remembered: by priority and age, and no share but for weight 0. */
static void without_a_half_life(void **unused)
{
    (void)unused;
    struct world w = begin_with(0, NULL, 0);
    story(&w, ONE_QUEUE "wants a1 local=a; wants a2 local=a; wants b1 local=b");
    step(&w);
    assert_string_equal(decided(&w), "start a1; start a2");
    land(&w);
    later(&w, 100);
    assert_int_equal(share(&w, "ns/a"), 0);
    world_free(&w);
}

/* StrictFIFO: the blocked head is another one as soon as another LocalQueue has used less. */
static void strict_heads_change(void **unused)
{
    (void)unused;
    struct world w = begin(ROOM "queue q gpu=4 strict consumption; local a used=4,1000; local b used=1,1000; wants b0 local=b gpu=3;"
                                "wants b1 local=b gpu=3; wants a1 local=a gpu=1 prio=9");
    assert_string_equal(decided(&w), "start b0"); /* b1 is refused, and a1 stands behind it */
    assert_non_null(strstr(why(&w, "a1"), "b1"));
    land(&w);
    later(&w, 200); /* b uses, a does not */
    assert_string_equal(decided(&w), "start a1");
    world_free(&w);
}

/* ---- victims ---- */

struct victim_case {
    const char *name, *objects, *decided;
};
static const struct victim_case victims[] = {
    {"of one queue whose LocalQueue has used more, whatever their priority",
     ROOM "queue q gpu=4 within=Lower consumption; local a used=9,1000; local b used=1,1000; runs a1 local=a gpu=2 prio=5;"
          "runs b1 local=b gpu=2 prio=1; wants high local=b gpu=2 prio=9",
     "evict a1 InClusterQueue"},
    {"where it does not count: by priority",
     ROOM "queue q gpu=4 within=Lower; local a used=9,1000; local b used=1,1000; runs a1 local=a gpu=2 prio=5;"
          "runs b1 local=b gpu=2 prio=1; wants high local=b gpu=2 prio=9",
     "evict b1 InClusterQueue"},
    {"within a LocalQueue: by priority, then who was let in last",
     ROOM "queue q gpu=6 within=Lower consumption; local a used=9,1000; runs a1 local=a gpu=2 prio=5; runs a2 local=a gpu=2 prio=1 since=1;"
          "runs a3 local=a gpu=2 prio=1 since=5; wants high local=a gpu=2 prio=9",
     "evict a3 InClusterQueue"},
    {"equally much used: by priority",
     ROOM "queue q gpu=4 within=Lower consumption; local a used=9,1000; local b used=9,1000; runs a1 local=a gpu=2 prio=5;"
          "runs b1 local=b gpu=2 prio=1; wants high local=b gpu=2 prio=9",
     "evict b1 InClusterQueue"},
    {"weight 0 goes first",
     ROOM "queue q gpu=4 within=Lower consumption; local a; local b weight=0; runs a1 local=a gpu=2 prio=1;"
          "runs b1 local=b gpu=2 prio=5; wants high local=a gpu=2 prio=9",
     "evict b1 InClusterQueue"},
    {"of another queue that borrows",
     ROOM "queue q in=all gpu=2 consumption; queue r in=all gpu=2 reclaim=Any; local a used=9,1000; local b used=1,1000;"
          "runs a1 local=a gpu=2 prio=5; runs b1 local=b gpu=2 prio=1; wants mine queue=r gpu=2",
     "evict a1 InCohortReclamation"},
    {"of two queues that borrow: each in its own order, and between those who are first in each by priority",
     ROOM "queue q in=all gpu=0 consumption; queue s in=all gpu=0; queue r in=all gpu=6 reclaim=Any; local a used=9,1000; local b used=1,1000;"
          "runs a1 local=a gpu=2 prio=10; runs b1 local=b gpu=2 prio=0; runs s1 queue=s gpu=2 prio=5; wants mine queue=r gpu=4",
     "evict s1 InCohortReclamation; evict a1 InCohortReclamation"},
    {"whom only high may go for comes first, and is not enough: then all is o's own, and stays; but not where only low is asked",
     ROOM "queue o in=all gpu=6 consumption; queue e in=all gpu=0; queue r in=all gpu=5 reclaim=Lower; local a queue=o used=9,1000;"
          "local b queue=o used=1,1000; runs a1 queue=o local=a gpu=3 prio=1; runs b1 queue=o local=b gpu=6 prio=0; runs x queue=e gpu=2 prio=9;"
          "wants high queue=r gpu=5 prio=2; wants low queue=r gpu=5 prio=1",
     "evict b1 InCohortReclamation"},
};

static void who_used_more_goes_first(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof victims / sizeof *victims; i++) {
        struct world w = begin(victims[i].objects);
        if (strcmp(decided(&w), victims[i].decided) != 0)
            fail_msg("%s: decided \"%s\", expected \"%s\"", victims[i].name, decided(&w), victims[i].decided);
        world_free(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_are_halves),
        cmocka_unit_test(steps_are_as_good_as_one),
        cmocka_unit_test(one_of_each),
        cmocka_unit_test(nobody_asked_for_it),
        cmocka_unit_test(who_used_less_is_first),
        cmocka_unit_test(positions_follow),
        cmocka_unit_test(twice_the_weight_half_the_share),
        cmocka_unit_test(resources_count_by_their_weights),
        cmocka_unit_test(an_interval_is_paid_on_entry),
        cmocka_unit_test(who_asks_for_as_much_pays_as_much),
        cmocka_unit_test(a_refused_write_is_not_paid),
        cmocka_unit_test(entries_wait_for_checks),
        cmocka_unit_test(deactivated_before_it_ran),
        cmocka_unit_test(a_new_scheduler_goes_on),
        cmocka_unit_test(a_new_scheduler_knows_who_waits_for_checks),
        cmocka_unit_test(a_local_queue_made_anew_has_used_nothing),
        cmocka_unit_test(without_a_half_life),
        cmocka_unit_test(strict_heads_change),
        cmocka_unit_test(who_used_more_goes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
