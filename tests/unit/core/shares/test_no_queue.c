/* test_no_queue.c - pod groups without a queue, and lone pods beside them: by priority, groups whole or what they can do without */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "shares_words.h"

struct priority_case {
    const char *name, *objects, *decided;
};
#define N8 "node n gpu=8; "
#define TWO "node n gpu=8; node m gpu=8; "
#define RUNS(name) "runs " name " queue=none "
#define WANTS(name) "wants " name " queue=none "

static const struct priority_case cases[] = {
    /* ---- a group for a group ---- */
    {"lower priority goes, whole", N8 RUNS("low") "x=8;" WANTS("high") "x=2 prio=9", "evict low"},
    {"equal priority stays", N8 RUNS("low") "x=8;" WANTS("same") "x=2", ""},
    {"higher priority stays", N8 RUNS("first") "x=8 prio=9;" WANTS("later") "x=2 prio=5", ""},
    {"who fits preempts nobody", N8 RUNS("low") "x=6;" WANTS("high") "x=2 prio=9", "start high"},
    {"never", N8 RUNS("low") "x=8;" WANTS("high") "x=2 prio=9 never", ""},
    {"as the group says", N8 RUNS("low") "x=8;" WANTS("high") "x=2 prio=9 nobody", ""},
    {"who keeps its places stays", N8 RUNS("low") "x=8 keeps;" WANTS("high") "x=2 prio=9", ""},
    {"not yet", N8 RUNS("low") "x=8;" WANTS("high") "x=2 prio=9 patience=60", ""},
    {"nobody goes where that would not be enough", N8 RUNS("low") "x=4;" RUNS("mid") "x=4 prio=9;" WANTS("high") "x=5 prio=9", ""},
    {"nobody goes for more than there is", N8 RUNS("low") "x=8;" WANTS("high") "x=9 prio=9", ""},
    {"the lowest goes", TWO RUNS("mid") "x=8 prio=2;" RUNS("low") "x=8 prio=1 on=m;" WANTS("high") "x=8 prio=9", "evict low"},
    {"of equals the one that was made later", TWO RUNS("first") "x=8;" RUNS("later") "x=8 on=m;" WANTS("high") "x=8 prio=9", "evict later"},
    {"no more than are needed", TWO RUNS("a") "x=4;" RUNS("b") "x=4 prio=1;" RUNS("c") "x=8 prio=2 on=m;" WANTS("high") "x=12 prio=9",
     "evict a; evict c"},
    {"who would not be needed after all is put back", N8 RUNS("small") "x=2;" RUNS("large") "x=6 prio=1;" WANTS("high") "x=6 prio=9",
     "evict large"},
    {"on several nodes at once", TWO RUNS("a") "x=8;" RUNS("b") "x=8 on=m;" WANTS("high") "x=2 gpu=8 prio=9", "evict b; evict a"},

    /* ---- what a group can do without goes first ---- */
    {"members above the minimum", N8 RUNS("low") "x=8 min=4;" WANTS("high") "x=2 prio=9", "evict low-7; evict low-6"},
    {"of whichever group of lower priority", TWO RUNS("mid") "x=8 min=4 prio=5;" RUNS("low") "x=8 on=m;" WANTS("high") "x=2 prio=9",
     "evict mid-7; evict mid-6"},
    {"not of one that goes whole", N8 RUNS("low") "x=8 min=4 whole;" WANTS("high") "x=2 prio=9", "evict low"},
    {"of another one before that", N8 RUNS("low") "x=4 min=2 whole;" RUNS("mid") "x=4 min=2 prio=5;" WANTS("high") "x=2 prio=9",
     "evict mid-3; evict mid-2"},
    {"not where they are too few", N8 RUNS("low") "x=8 min=7;" WANTS("high") "x=2 prio=9", "evict low"},
    {"for the fewest that make it whole", N8 RUNS("low") "x=8 min=1;" WANTS("high") "x=6 min=2 prio=9", "evict low-7; evict low-6"},

    /* ---- lone pods for a group ---- */
    {"lone pods go", N8 "pod x gpu=4 on=n; pod y prio=1 gpu=4 on=n;" WANTS("high") "x=6 prio=9", "evict pod/ns/x; evict pod/ns/y"},
    {"by priority, as groups do", TWO "pod x prio=3 gpu=8 on=n;" RUNS("low") "x=8 on=m;" WANTS("high") "x=8 prio=9", "evict low"},
    {"a lower lone pod before a group", TWO "pod x gpu=8 on=n;" RUNS("mid") "x=8 prio=3 on=m;" WANTS("high") "x=8 prio=9", "evict pod/ns/x"},
    {"a pod that is held for a queue stays", N8 "pod x gpu=8 on=n gated;" WANTS("high") "x=8 prio=9", ""},
    {"another scheduler's pods stay", N8 "pod x gpu=8 on=n foreign;" WANTS("high") "x=8 prio=9", ""},

    /* ---- groups for a lone pod ---- */
    {"a group goes whole for a pod", N8 RUNS("low") "x=8;" "pod high gpu=2 prio=9", "evict low"},
    {"a member that it can do without", N8 RUNS("low") "x=4 min=3 gpu=2;" "pod high gpu=2 prio=9", "evict low-3"},
    {"lone pods before groups", TWO RUNS("low") "x=8; pod x prio=3 gpu=8 on=m; pod high gpu=8 prio=9", "evict pod/ns/x"},
    {"lone pods with groups", N8 RUNS("low") "x=4; pod x gpu=4 on=n; pod high gpu=8 prio=9", "evict pod/ns/x; evict low"},
    {"a pod that preempts nobody", N8 RUNS("low") "x=8; pod high gpu=2 prio=9 never", ""},
    {"a group of equal priority", N8 RUNS("same") "x=8 prio=9; pod high gpu=2 prio=9", ""},

    /* ---- queues ---- */
    {"a queue's group stays", N8 "queue q; queue r;" "runs low queue=q x=8;" WANTS("high") "x=2 prio=9", ""},
    {"and goes for nobody of none", N8 "queue q preempts; queue r;" RUNS("low") "x=8; wants high queue=q x=2 prio=9", ""},
    {"a queue that does not exist is no queue that is not asked for", N8 RUNS("low") "x=8; wants high queue=missing x=2 prio=9", ""},

    /* ---- a scheduler that begins anew ---- */
    {"who is being deleted leaves room enough", TWO RUNS("mid") "x=8 prio=3 deleting;" RUNS("low") "x=8 on=m;" WANTS("high") "x=8 prio=9", ""},
    {"not enough", TWO RUNS("mid") "x=4 prio=3 deleting;" RUNS("low") "x=8 on=m;" WANTS("high") "x=12 prio=9", "evict low"},
    {"and so does a lone pod", TWO "pod x prio=3 gpu=8 on=n deleting;" RUNS("low") "x=8 on=m;" WANTS("high") "x=8 prio=9", ""},

    /* ---- several ---- */
    {"what is promised is nobody else's", N8 RUNS("low") "x=4;" WANTS("high") "x=8 prio=9;" WANTS("small") "x=4", "evict low"},
    {"what is not needed is", N8 RUNS("low") "x=4;" WANTS("high") "x=6 prio=9;" WANTS("small") "x=2", "evict low; start small"},
    {"one each, the higher chooses first", TWO RUNS("x") "x=8 prio=1;" RUNS("y") "x=8 prio=2 on=m;" WANTS("mid") "x=8 prio=8;" WANTS("high") "x=8 prio=9",
     "evict x; evict y"},
};

/* Also beside fair sharing, which is about queues. */
static void each_case_decides_as_it_says(void **state)
{
    (void)state;
    uint32_t failed_n = 0;
    for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; k++) {
        size_t i = k / 2;
        struct world w = world_new();
        w.fair.on = k % 2;
        shares_objects(&w, cases[i].objects);
        run(&w);
        const char *decided = shares_decided(&w);
        if (strcmp(decided, cases[i].decided) != 0) {
            print_error("%s: decided \"%s\", expected \"%s\"\n", cases[i].name, decided, cases[i].decided);
            failed_n++;
        }
        world_free(&w);
    }
    assert_int_equal(failed_n, 0);
}

/* ---- what comes after ---- */

struct story {
    const char *name;
    struct {
        const char *objects, *decided; /* what is told, and what is decided then */
    } steps[4];
};
static const struct story stories[] = {
    {"a place that is kept for a lost member does not come free", {{N8 RUNS("low") "x=8 deleting=1;" WANTS("high") "x=1 prio=9", "evict low"}}},
    {"the place of one above the minimum does",
     {{N8 RUNS("low") "x=8 min=7 deleting=1;" WANTS("high") "x=1 prio=9", ""}, {"gone low-0", "start high"}}},
    {"a pod whose node is lost goes for others elsewhere",
     {{TWO RUNS("low") "x=8;" RUNS("mid") "x=8 prio=3 on=m; pod high prio=9 gpu=8", "evict low"}, {"node n gpu=8 notready", "evict mid"}}},
    {"and so does a group",
     {{TWO RUNS("low") "x=8;" RUNS("mid") "x=8 prio=3 on=m;" WANTS("high") "x=8 prio=9", "evict low"}, {"node n gpu=8 notready", "evict mid"}}},
    {"a scheduler that begins anew waits on the pod's node until all have left",
     {{TWO RUNS("low") "x=2 gpu=4 deleting;" RUNS("mid") "x=8 prio=3 on=m; pod high prio=9 gpu=8 nominated=n", ""},
      {"gone low-0", ""},
      {"gone low-1", "start pod/ns/high"}}},
    {"for a group and a lone pod",
     {{TWO RUNS("low") "x=4 deleting; pod x gpu=4 on=n deleting; pod y prio=3 gpu=8 on=m; pod high prio=9 gpu=8 nominated=n", ""},
      {"gone x", ""}}},
    {"of a queue that does not exist, then of none",
     {{N8 "runs low queue=missing x=8;" WANTS("high") "x=2 prio=9", ""}, {RUNS("low") "x=8", "evict low"}}},
};

static uint32_t fails_of(const struct story *one)
{
    struct world w = world_new();
    struct err e = {0};
    uint32_t failed_n = 0;
    for (int i = 0; i < 4 && one->steps[i].objects; i++) {
        shares_objects(&w, one->steps[i].objects);
        run(&w);
        const char *decided = shares_decided(&w);
        bool is_sound = state_check(w.s, &e), as_said = strcmp(decided, one->steps[i].decided) == 0;
        if (!is_sound || !as_said)
            print_error("%s, step %d: decided \"%s\", expected \"%s\" %s\n", one->name, i + 1, decided, one->steps[i].decided, e.text);
        failed_n += !is_sound || !as_said;
    }
    world_free(&w);
    return failed_n;
}

static void each_story_goes_on_as_it_says(void **state)
{
    (void)state;
    uint32_t failed_n = 0;
    for (size_t i = 0; i < sizeof stories / sizeof *stories; i++)
        failed_n += fails_of(&stories[i]);
    assert_int_equal(failed_n, 0);
}

/* The node stays in its status: a second scheduler that begins anew, and each look of this one, find it there. */
static void whom_it_waits_for_after_a_restart_is_said(void **state)
{
    (void)state;
    struct world w = world_new();
    shares_objects(&w, N8 RUNS("low") "x=8 deleting; pod high prio=9 gpu=8 nominated=n");
    run(&w);
    const struct reason *r = reason_find(state_gang_reason(w.s, id(&w, "pod/ns/high")), REASON_PREEMPTING);
    assert_non_null(r);
    assert_string_equal(text_of(&w, r->name), "n");
    assert_non_null(strstr(why_tree(&w, "pod/ns/high"), "pending the preemption of 1 pod group(s) on node n"));
    world_free(&w);
}

static void who_is_to_wait_before_others_go_says_until_when(void **state)
{
    (void)state;
    struct world w = world_new();
    shares_objects(&w, N8 RUNS("low") "x=8;" WANTS("high") "x=2 prio=9 patience=60");
    run(&w);
    assert_non_null(strstr(why_tree(&w, "high"), "preempts nobody before 1970-01-01T00:17:40Z: it is to wait so long (preemptionDelay)"));
    world_free(&w);
}

/* Two pods have one and the same device, as the API says: the end of one leaves it to the other. */
static void nobody_counts_on_a_device_that_two_have(void **state)
{
    (void)state;
    struct world w = world_new();
    struct err e = {0};
    const struct device one = {.resource = id(&w, GPU), .id = id(&w, "0"), .healthy = true};
    struct node_record n = a_node(&w, "n", GPU "=1", "");
    n.devices = &one;
    n.devices_n = 1;
    node_record(&w, n);
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "b" : "a";
        gang_record(&w, a_group(&w, name, NULL, 1));
        struct pod_record p = a_pod(&w, i ? "ns/b-0" : "ns/a-0", name, GPU "=1");
        p.node = id(&w, "n");
        p.devices = id(&w, GPU "=0");
        p.phase = POD_RUNNING;
        p.deleting = i == 0;
        pod_record(&w, p);
    }
    shares_objects(&w, WANTS("high") "x=1 prio=9");
    run(&w);
    assert_string_equal(state_check(w.s, &e) ? "" : e.text, "");
    world_free(&w);
}

/* All that is left of it are pods that have ended. core_events 9025 400 1 */
static void a_group_whose_last_pods_failed_has_left(void **state)
{
    (void)state;
    struct world w = world_new();
    shares_objects(&w, N8 RUNS("low") "x=2 gpu=4;" WANTS("high") "x=1 gpu=8 prio=9");
    run(&w);
    assert_string_equal(shares_decided(&w), "evict low");
    outcome(&w, EFFECT_EVICT, "low", NULL, OUTCOME_DONE);
    struct pod_record failed = a_pod(&w, "ns/low-0", "low", GPU "=4");
    failed.node = id(&w, "n");
    failed.phase = POD_FAILED;
    pod_record(&w, failed);
    gone(&w, CHANGE_POD_GONE, "ns/low-1");
    run(&w);
    assert_string_equal(shares_decided(&w), "start high");
    assert_int_equal(state_gang_phase(w.s, id(&w, "low")), GANG_OVER);
    world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_case_decides_as_it_says), cmocka_unit_test(each_story_goes_on_as_it_says),
                                       cmocka_unit_test(whom_it_waits_for_after_a_restart_is_said),
                                       cmocka_unit_test(who_is_to_wait_before_others_go_says_until_when),
                                       cmocka_unit_test(nobody_counts_on_a_device_that_two_have),
                                       cmocka_unit_test(a_group_whose_last_pods_failed_has_left)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
