/* test_booking.c - starts that are promised to those who wait (core/time/booking.h): who is, who may pass, and what is said. Times begin at
 * 1,000 s. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../promise/promises.h"

static void at(struct world *w, int64_t s)
{
    w->now_ms = 1000 * s;
}

/* "big: 1600 n0 n1", or "big: none" */
static const char *promised(struct world *w, const char *gang)
{
    struct booking_record b;
    struct buf text;
    buf_init(&text);
    buf_printf(&text, "%s:", gang);
    if (!state_gang_booking(w->s, id(w, gang), &b))
        buf_text(&text, " none");
    else
        buf_printf(&text, " %lld", (long long)(b.start_ms / 1000));
    for (uint32_t i = 0; state_gang_booking(w->s, id(w, gang), &b) && i < b.places_n; i++)
        buf_printf(&text, " %s", text_of(w, b.places[i].node));
    const char *copy = arena_text(w->records, text.data);
    buf_free(&text);
    return copy;
}

static const char two_nodes[] = "node n0 gpu=4; node n1 gpu=4; queue q gpu=8 backfill=easy;"
                                "runs a queue=q gpu=4 since=1000 limit=600 on=n0; runs b queue=q gpu=2 since=1000 limit=300 on=n1;";

static void a_short_one_passes_and_a_long_one_is_kept_out(void **state)
{
    struct world *w = *state;
    story(w, two_nodes);
    story(w,
          "wants big queue=q x=2 gpu=4; wants long queue=q gpu=2; wants short queue=q gpu=1 limit=500; wants late queue=q gpu=1 limit=700");
    decides(w, "start short");
    decides(w, ""); /* who waits is told once nobody starts */
    assert_string_equal(promised(w, "big"), "big: 1600 n0 n1");
    says(w, "big", "is promised a start about 1970-01-01T00:26:40Z on nodes n0, n1, by limits of time");
    says(w, "long",
         "would pass ns/big, which is promised a start about 1970-01-01T00:26:40Z, and nothing is known of how long it runs: set a "
         "limit of time (activeDeadlineSeconds of its job, or maximumExecutionTimeSeconds) of at most 480 s");
    says(w, "long",
         "would help:\n  a limit of time (activeDeadlineSeconds of its job, or maximumExecutionTimeSeconds) of at most 480 s for "
         "Workload ns/long");
    says(w, "late", "and may run for longer than until then");
    assert_true(w->plan.wake_ms && w->plan.wake_ms <= 1600000);
    story(w, "wants long queue=q gpu=1 limit=480"); /* as it was told */
    decides(w, "start long");
    at(w, 1300);
    gone(w, CHANGE_GANG_GONE, "b");
    gone(w, CHANGE_POD_GONE, "ns/b-0");
    decides(w, "");
    at(w, 1600);
    for (const char *name = "a"; name; name = *name == 'a' ? "short" : *name == 's' ? "long" : NULL)
        gone(w, CHANGE_GANG_GONE, name);
    gone(w, CHANGE_POD_GONE, "ns/a-0");
    decides(w, "start big");
    assert_string_equal(promised(w, "big"), "big: none");
}

static void without_it_big_ones_are_passed_for_ever(void **state)
{
    struct world *w = *state;
    story(w, two_nodes);
    story(w, "queue q gpu=8; wants big queue=q x=2 gpu=4; wants long queue=q gpu=2");
    decides(w, "start long");
    assert_string_equal(promised(w, "big"), "big: none");
}

/* Beside its nodes there is room for whoever. */
static void who_stands_elsewhere_passes(void **state)
{
    struct world *w = *state;
    story(w, two_nodes);
    story(w,
          "node n2 gpu=2; queue q gpu=12 backfill=easy; wants big queue=q x=2 gpu=4; wants long queue=q gpu=2; wants other queue=q gpu=1");
    decides(w, "start long");
    says(w, "other", "would pass ns/big");
}

/* Quota is promised as nodes are. */
static void quota_is_kept_too(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=100; queue q gpu=8 backfill=easy; runs a queue=q gpu=6 since=1000 limit=600 on=n0;"
             "wants big queue=q gpu=7; wants long queue=q gpu=2; wants fits queue=q gpu=1");
    decides(w, "start fits");
    assert_string_equal(promised(w, "big"), "big: 1600 n0");
    says(w, "long", "would pass ns/big");
}

/* Who comes before is not held to it, nor who takes no more than his own queue's quota where it borrows. */
static void who_comes_before_is_not_bound(void **state)
{
    struct world *w = *state;
    story(w, two_nodes);
    story(w, "wants big queue=q x=2 gpu=4; wants urgent queue=q prio=1 gpu=2");
    decides(w, "start urgent");
    assert_string_equal(promised(w, "big"), "big: none"); /* who runs for ever has one of its nodes */
}

static void who_takes_his_own_is_not_bound_by_who_borrows(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=8; queue q in=c gpu=4 backfill=easy; queue o in=c gpu=4; runs a queue=q gpu=4 since=1000 limit=600 on=n0;"
             "wants big queue=q gpu=8; wants more queue=q gpu=2; wants own queue=o gpu=2");
    decides(w, "start own; start more"); /* own runs for ever, so that big has no start any more */
}

/* core_backfill 288512: first there is no room; then there is, and a start that is promised keeps it out as long as it borrows; then
 * somebody leaves a node that has no room for it either, and it borrows no more. */
static void who_is_kept_out_starts_when_he_borrows_no_more(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=4; node n1 gpu=4; queue q in=c gpu=6 backfill=easy; queue o in=c gpu=6;"
             "runs a queue=o gpu=2 since=1000 limit=900 on=n0; runs b queue=o gpu=2 since=1000 limit=300 on=n0;"
             "runs c queue=q gpu=3 since=1000 limit=200 on=n1; wants big queue=q x=2 gpu=4; wants own queue=o gpu=3");
    decides(w, "");
    assert_string_equal(promised(w, "big"), "big: 1900 n0 n1");
    at(w, 1200);
    gone(w, CHANGE_GANG_GONE, "c");
    gone(w, CHANGE_POD_GONE, "ns/c-0");
    decides(w, "");
    decides(w, "");
    says(w, "own", "would pass ns/big");
    at(w, 1300);
    gone(w, CHANGE_GANG_GONE, "b");
    gone(w, CHANGE_POD_GONE, "ns/b-0");
    decides(w, "start own");
}

/* core_backfill 714628: own is promised no more than its queue's, before big, of the same queue, borrows; beside both, one
 * of another queue that borrows has its own place. */
static void who_is_of_another_queue_is_promised_a_start_where_two_of_one_borrow_together(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=4; node n1 gpu=4; node n2 gpu=1; queue q in=c gpu=2 backfill=conservative; queue o in=c gpu=2 backfill=easy;"
             "queue p in=c gpu=8; runs a queue=p gpu=2 since=1000 limit=600 on=n0; runs b queue=p gpu=2 since=1000 limit=900 on=n0;"
             "runs d queue=p gpu=4 since=1000 limit=800 on=n1; runs e queue=o gpu=1 since=1000 on=n2;"
             "wants big queue=q gpu=4; wants own queue=q gpu=2; wants other queue=o gpu=2");
    decides(w, "");
    assert_string_equal(promised(w, "big"), "big: 1800 n1");
    assert_string_equal(promised(w, "own"), "own: 1600 n0");
    assert_string_equal(promised(w, "other"), "other: 1900 n0");
}

/* easy: the first. conservative: all, up to a bound. */
static void more_than_one_are_promised_a_start(void **state)
{
    struct world *w = *state;
    story(
        w,
        "node n0 gpu=4; node n1 gpu=4; queue q gpu=8 backfill=conservative; runs a queue=q gpu=4 since=1000 limit=600 on=n0;"
        "runs b queue=q gpu=4 since=1000 limit=300 on=n1;"
        "wants big queue=q x=2 gpu=4 limit=100; wants next queue=q gpu=4; wants small queue=q gpu=4 limit=300; wants twin queue=q gpu=4 limit=300");
    decides(w, "");
    assert_string_equal(promised(w, "big"), "big: 1600 n0 n1");
    assert_string_equal(promised(w, "next"), "next: 1700 n0");
    assert_string_equal(promised(w, "small"), "small: 1300 n1"); /* before both */
    assert_string_equal(promised(w, "twin"), "twin: 1700 n1");
    story(w, "queue q gpu=8 backfill=easy");
    decides(w, "");
    assert_string_equal(promised(w, "big"), "big: 1600 n0 n1");
    assert_string_equal(promised(w, "next"), "next: none");
    assert_string_equal(promised(w, "small"), "small: none");
    story(w, "queue q gpu=8");
    decides(w, "");
    assert_string_equal(promised(w, "big"), "big: none");
}

/* The next is promised one when the first starts. */
static void the_next_has_its_turn(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=4; queue q gpu=4 backfill=easy; runs a queue=q gpu=4 since=1000 limit=600 on=n0;"
             "wants one queue=q gpu=4 limit=50; wants two queue=q gpu=3; wants three queue=q gpu=2");
    decides(w, "");
    assert_string_equal(promised(w, "two"), "two: none");
    at(w, 1600);
    gone(w, CHANGE_GANG_GONE, "a");
    gone(w, CHANGE_POD_GONE, "ns/a-0");
    decides(w, "start one");
    assert_string_equal(promised(w, "two"), "two: 1650 n0");
    assert_string_equal(promised(w, "three"), "three: none");
}

/* Nobody ends as expected: by earlier runs as long again, by a limit any moment. */
static void a_start_is_found_anew_when_its_time_is_over(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=4; queue q gpu=4 backfill=easy; runs a queue=q gpu=4 since=1000 usually=600 on=n0; wants big queue=q gpu=4");
    decides(w, "");
    assert_string_equal(promised(w, "big"), "big: 1600 n0");
    says(w, "big", ", by earlier runs");
    at(w, 1600);
    decides(w, "");
    assert_string_equal(promised(w, "big"), "big: 2200 n0");
    story(w, "runs a queue=q gpu=4 since=1000 limit=700 on=n0");
    at(w, 2200);
    decides(w, "");
    assert_string_equal(promised(w, "big"), "big: 2660 n0");
}

static void without_a_known_end_there_is_none(void **state)
{
    struct world *w = *state;
    story(
        w,
        "node n0 gpu=4; queue q gpu=4 backfill=easy; runs a queue=q gpu=3 since=1000 on=n0; wants big queue=q gpu=4; wants small queue=q gpu=1");
    decides(w, "start small");
    assert_string_equal(promised(w, "big"), "big: none");
}

/* Pods of a group that was never whole stay on their nodes, and are no end that is known: the start would be put off for ever. */
static void who_stays_without_the_others_is_not_awaited(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=4; queue q gpu=8 backfill=easy; wants big queue=q gpu=4");
    gang_record(w, a_group(w, "group", NULL, 2));
    struct pod_record p = a_pod(w, "ns/group-0", "group", GPU "=1");
    p.node = id(w, "n0");
    p.phase = POD_RUNNING;
    pod_record(w, p);
    decides(w, "");
    assert_string_equal(promised(w, "big"), "big: none");
}

/* The quota that one flavor would have to gain is not all that helps who is kept from another one by a start that is promised. */
static void who_has_no_room_either_looks_again_when_nothing_is_promised_any_more(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=8; queue q in=c fb.gpu=6 backfill=easy; queue o in=c fa.gpu=1 fb.gpu=2; queue p fc.gpu=4;"
             "runs a queue=q gpu=4 flavor=fb since=1000 limit=600 on=n0; runs b queue=p gpu=4 flavor=fc since=1000 limit=300 on=n0;"
             "wants big queue=q gpu=6; wants small queue=o gpu=3");
    decides(w, "");
    assert_string_equal(promised(w, "big"), "big: 1600 n0");
    gone(w, CHANGE_GANG_GONE, "b");
    gone(w, CHANGE_POD_GONE, "ns/b-0");
    decides(w, "");
    assert_string_equal(promised(w, "big"), "big: 1600 n0");
    gone(w, CHANGE_GANG_GONE, "big");
    decides_soon(w, "start small");
}

/* Another queue of the tree is gone: what that one counted on is not there then, and it keeps nobody out any longer. */
static void a_start_is_promised_no_more_when_the_queue_that_lends_is_gone(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=8; queue q in=c gpu=4 backfill=easy; queue o in=c gpu=4; runs a queue=q gpu=3 since=1000 limit=600 on=n0;"
             "wants big queue=q gpu=8; wants small queue=q gpu=1");
    decides(w, "");
    assert_string_equal(promised(w, "big"), "big: 1600 n0");
    gone(w, CHANGE_QUEUE_GONE, "o");
    decides_soon(w, "start small");
    assert_string_equal(promised(w, "big"), "big: none");
}

/* Of another start than before, too. */
static void who_is_kept_out_is_told_of_the_start_that_stands(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=4; queue q gpu=8 backfill=easy; runs a queue=q gpu=3 since=1000 limit=600 on=n0; wants big queue=q gpu=4");
    decides(w, "");
    story(w, "pod p gpu=1");
    decides(w, "");
    says(w, "pod/ns/p", "would pass ns/big, which is promised a start about 1970-01-01T00:26:40Z");
    static const int64_t times[] = {1020, 1040, 1600, 1605, 1611, 1620};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        at(w, times[i]);
        decides(w, "");
        decides(w, "");
    }
    assert_string_equal(promised(w, "big"), "big: 1630 n0");
    says(w, "pod/ns/p", "would pass ns/big, which is promised a start about 1970-01-01T00:27:10Z, and nothing is known of how long it runs, as "
                        "of all that are in no ClusterQueue");
    assert_null(strstr(why_tree(w, "pod/ns/p"), "limit of time")); /* no pod's counts */
}

/* A node goes: another start, on others. */
static void a_node_that_goes_is_promised_no_more(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=4; node n1 gpu=4; queue q gpu=8 backfill=easy; runs a queue=q gpu=4 since=1000 limit=600 on=n0;"
             "runs b queue=q gpu=4 since=1000 limit=700 on=n1; wants big queue=q gpu=4");
    decides(w, "");
    assert_string_equal(promised(w, "big"), "big: 1600 n0");
    story(w, "node n0 gpu=4 notready");
    decides(w, "");
    assert_string_equal(promised(w, "big"), "big: 1700 n1");
    sweep_names(w);
    gone(w, CHANGE_NODE_GONE, "n1");
    decides(w, "");
    assert_string_equal(promised(w, "big"), "big: none");
}

/* Whoever preempts leaves those alone whose end is awaited, and waits like others. */
static void who_is_awaited_is_not_preempted_by_who_comes_behind(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=4; queue q in=c gpu=4 backfill=easy; queue o in=c gpu=4 within=Lower; queue r in=c gpu=4 within=Lower;"
             "runs a queue=o prio=-2 gpu=4 since=1000 limit=600 on=n0; wants big queue=q prio=2 gpu=4; wants eager queue=o prio=1 gpu=4");
    decides(w, "");
    assert_string_equal(promised(w, "big"), "big: 1600 n0");
    story(w, "wants first queue=o prio=3 gpu=4");
    decides(w, "evict a InClusterQueue");
}

/* A lone pod for which others would go has no room even then, for what is promised: that is what it is told. */
static void a_pod_that_would_preempt_is_told_whose_start_keeps_it_out(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=4; queue q gpu=8 backfill=easy; runs a queue=q gpu=2 since=1000 limit=600 on=n0; pod low gpu=1 on=n0;"
             "wants big queue=q prio=2 gpu=3; pod eager prio=1 gpu=2");
    decides(w, "");
    assert_string_equal(promised(w, "big"), "big: 1600 n0");
    says(w, "pod/ns/eager", "would pass ns/big");
    story(w, "queue q gpu=8"); /* promises nobody a start */
    decides(w, "");
    decides(w, "evict low PreemptionByScheduler");
}

/* The same, as its object said: held from the first cycle on, whoever is tried first. */
static void it_survives_a_restart(void **state)
{
    struct world *w = *state;
    story(w, two_nodes);
    story(
        w,
        "queue o gpu=20; node n2 gpu=4; node n3 gpu=4; runs c queue=o gpu=4 since=1000 limit=600 on=n2; runs d queue=o gpu=4 since=1000 limit=600 on=n3");
    struct gang_record r = a_workload(w, "big", "ns/q", 2, GPU "=4");
    const struct booked_place places[] = {{0, id(w, "n2"), 1}, {0, id(w, "n3"), 1}};
    const struct booked_quota quota = {id(w, "any"), id(w, GPU), 8};
    const struct booking_record b = {.start_ms = 1600000, .basis = 1, .places = places, .places_n = 2, .quota = &quota, .quota_n = 1};
    r.booking = &b;
    r.created_ms = 500;
    gang_record(w, r);
    story(w, "wants other queue=o at=501 gpu=2");
    decides(w, "start other");
    assert_string_equal(promised(w, "big"), "big: 1600 n2 n3");
    assert_string_equal(given(w), "other: 1 gpu=any");
    r.booking = NULL; /* a write that is older comes back */
    gang_record(w, r);
    decides(w, "");
    assert_string_equal(promised(w, "big"), "big: 1600 n2 n3");
}

static int setup(void **state)
{
    static struct world w;
    w = world_new();
    *state = &w;
    return 0;
}

static int teardown(void **state)
{
    world_free(*state);
    return 0;
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {T(a_short_one_passes_and_a_long_one_is_kept_out),
                                       T(without_it_big_ones_are_passed_for_ever),
                                       T(who_stands_elsewhere_passes),
                                       T(quota_is_kept_too),
                                       T(who_comes_before_is_not_bound),
                                       T(who_takes_his_own_is_not_bound_by_who_borrows),
                                       T(who_is_kept_out_starts_when_he_borrows_no_more),
                                       T(who_is_of_another_queue_is_promised_a_start_where_two_of_one_borrow_together),
                                       T(more_than_one_are_promised_a_start),
                                       T(the_next_has_its_turn),
                                       T(a_start_is_found_anew_when_its_time_is_over),
                                       T(without_a_known_end_there_is_none),
                                       T(who_stays_without_the_others_is_not_awaited),
                                       T(who_has_no_room_either_looks_again_when_nothing_is_promised_any_more),
                                       T(a_start_is_promised_no_more_when_the_queue_that_lends_is_gone),
                                       T(who_is_kept_out_is_told_of_the_start_that_stands),
                                       T(a_node_that_goes_is_promised_no_more),
                                       T(who_is_awaited_is_not_preempted_by_who_comes_behind),
                                       T(a_pod_that_would_preempt_is_told_whose_start_keeps_it_out),
                                       T(it_survives_a_restart)};
    return cmocka_run_group_tests_name("booking", tests, NULL, NULL);
}
