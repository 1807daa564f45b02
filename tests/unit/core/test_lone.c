/* test_lone.c - pods of no queue: who of lower priority leaves for whom; one cycle each as stories, then what comes after */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "stories.h"

struct preemption_case {
    const char *name, *objects, *decided;
};
#define BY " PreemptionByScheduler"
/* Node a is full with one pod of 8 GPUs. */
#define FULL "node a; pod low gpu=8 on=a;"
/* Two nodes, both full. */
#define TWO "node a; node b;"

static const struct preemption_case cases[] = {
    {"lower priority goes", FULL "pod high prio=9 gpu=8", "evict low" BY},
    {"equal priority stays", FULL "pod other gpu=8", ""},
    {"higher priority stays", "node a; pod first prio=9 gpu=8 on=a; pod later prio=5 gpu=8", ""},
    {"who fits preempts nobody", "node a; pod low gpu=4 on=a; pod high prio=9 gpu=4", "start high"},
    {"never", FULL "pod high prio=9 gpu=8 never", ""},
    {"one behind in the same line who may", FULL "pod high prio=9 gpu=8 never; pod mid prio=5 gpu=8", "evict low" BY},
    {"as few as are needed, the less important", "node a; pod x prio=2 gpu=4 on=a; pod y prio=1 gpu=4 on=a; pod high prio=9 gpu=4",
     "evict y" BY},
    {"of equals who began last", "node a; pod x gpu=4 on=a since=5; pod y gpu=4 on=a since=7; pod high prio=9 gpu=4", "evict y" BY},
    {"who has not begun is the last", "node a; pod x gpu=4 on=a; pod y gpu=4 on=a since=7; pod high prio=9 gpu=4", "evict x" BY},
    {"who was not needed after all is taken back",
     "node a; pod small gpu=2 on=a; pod large prio=1 gpu=6 on=a; pod high prio=9 gpu=6", "evict large" BY},
    {"two of three", "node a; pod x gpu=2 on=a; pod y prio=1 gpu=3 on=a; pod z prio=2 gpu=3 on=a; pod high prio=9 gpu=5",
     "evict y" BY "; evict x" BY},
    {"nobody goes where that would not be enough", "node a; pod x gpu=4 on=a; pod y prio=9 gpu=4 on=a; pod high prio=9 gpu=8", ""},
    {"nobody goes for more than a node has", FULL "pod high prio=9 gpu=9", ""},
    {"nobody goes where the pod may not stand", "node a notready; pod low gpu=8 on=a; pod high prio=9 gpu=8", ""},

    /* ---- which node ---- */
    {"the node whose highest victim is the lowest", TWO "pod x prio=5 gpu=8 on=a; pod y prio=3 gpu=8 on=b; pod high prio=9 gpu=8",
     "evict y" BY},
    {"then the least sum", TWO "pod x prio=5 gpu=4 on=a; pod w prio=5 gpu=4 on=a; pod y prio=5 gpu=4 on=b; pod z prio=1 gpu=4 on=b;"
                               "pod high prio=9 gpu=8", "evict y" BY "; evict z" BY},
    {"a negative priority more is no better than one victim less",
     TWO "pod x prio=-5 gpu=4 on=a; pod w prio=-5 gpu=4 on=a; pod y prio=-5 gpu=8 on=b; pod high prio=9 gpu=8", "evict y" BY},
    {"then whose highest began last", TWO "pod x gpu=8 on=a since=5; pod y gpu=8 on=b since=7; pod high prio=9 gpu=8", "evict y" BY},
    {"then the name", TWO "pod y gpu=8 on=b since=7; pod x gpu=8 on=a since=7; pod high prio=9 gpu=8", "evict x" BY},

    {"no pod goes on one node so that there is room on another",
     "node a gpu=8 host=h; node b gpu=8 host=h; pod top prio=10 gpu=7 on=a; pod web gpu=1 on=a app=web; pod high prio=9 gpu=8 apart=web", ""},

    /* ---- budgets ---- */
    {"a node without a broken budget, though its victim is higher",
     TWO "budget p app=db allowed=0; pod x gpu=8 on=a app=db; pod y prio=5 gpu=8 on=b; pod high prio=9 gpu=8", "evict y" BY},
    {"a budget that still allows one", TWO "budget p app=db allowed=1; pod x gpu=8 on=a app=db; pod y prio=5 gpu=8 on=b; pod high prio=9 gpu=8",
     "evict x" BY},
    {"whom a budget protects is taken back first", "node a; budget p app=db allowed=0; pod x prio=1 gpu=4 on=a app=db; pod y prio=5 gpu=4 on=a;"
                                                   "pod high prio=9 gpu=4", "evict y" BY},
    {"a budget keeps nobody when there is no other way", "node a; budget p app=db allowed=0; pod x gpu=8 on=a app=db; pod high prio=9 gpu=8",
     "evict x" BY},
    {"who is counted off already breaks nothing", "node a; budget p app=db allowed=0 but=x; pod x prio=1 gpu=4 on=a app=db;"
                                                  "pod y prio=5 gpu=4 on=a; pod high prio=9 gpu=4", "evict x" BY},
    {"an empty selector selects nobody", TWO "budget p allowed=0; pod x gpu=8 on=a app=db; pod y prio=5 gpu=8 on=b; pod high prio=9 gpu=8",
     "evict x" BY},
    {"the fewest broken", TWO "budget p app=db allowed=0; pod x gpu=4 on=a app=db; pod w gpu=4 on=a app=db; pod y gpu=8 on=b app=db;"
                              "pod high prio=9 gpu=8", "evict y" BY},

    /* ---- more than amounts ---- */
    {"a port", "node a; pod low on=a port=80; pod high prio=9 port=80", "evict low" BY},
    {"anti-affinity", "node a; pod low on=a app=x; pod other on=a; pod high prio=9 apart=x", "evict low" BY},
    {"anti-affinity of somebody who stays", "node a; pod low gpu=8 on=a; pod same prio=9 on=a app=x; pod high prio=9 gpu=1 apart=x", ""},

    /* ---- who is never a victim ---- */
    {"pods of a queue", "node a; queue q gpu=8; runs low queue=q gpu=8 on=a; pod high prio=9 gpu=8", ""},
    {"another scheduler's pods", "node a; pod low gpu=8 on=a foreign; pod high prio=9 gpu=8", ""},
    {"pods held for a queue", "node a; pod low gpu=8 on=a gated; pod high prio=9 gpu=8", ""},
    {"no job of a queue preempts them", "node a; queue q gpu=8 within=Lower; pod low gpu=8 on=a; wants high queue=q prio=9 gpu=8", ""},

    /* ---- those who leave already, after a restart ---- */
    {"others leave its node already", TWO "pod x prio=5 gpu=8 on=a deleting; pod y gpu=8 on=b; pod high prio=9 gpu=8 nominated=a", ""},
    {"and are not enough", "node a; pod x gpu=4 on=a deleting; pod y gpu=4 on=a; pod high prio=9 gpu=8 nominated=a", "evict y" BY},
    {"its node is lost", "node a notready; node b; pod x gpu=8 on=a deleting; pod y gpu=8 on=b; pod high prio=9 gpu=8 nominated=a",
     "evict y" BY},
    {"who is deleted elsewhere is a victim as others are", TWO "pod x prio=1 gpu=8 on=a deleting; pod y gpu=8 on=b; pod high prio=9 gpu=8",
     "evict y" BY},

    {"more leave there than stand where it looked last",
     TWO "pod c on=a deleting; pod d on=a deleting; pod e on=a deleting; pod f on=a deleting; pod g on=a deleting; pod y gpu=8 on=a; "
         "pod z prio=5 gpu=8 on=b; pod high prio=9 gpu=8",
     "evict y" BY},

    /* ---- several ---- */
    {"one each, the higher chooses first", TWO "pod x prio=1 gpu=8 on=a; pod y prio=2 gpu=8 on=b; pod mid prio=8 gpu=8; pod high prio=9 gpu=8",
     "evict x" BY "; evict y" BY},
    {"what is free beside its victims, and is not needed, is for others",
     "node a; pod low gpu=4 on=a; pod high prio=9 gpu=6; pod small gpu=2", "evict low" BY "; start small"},
    {"what is needed is not", "node a; pod low gpu=4 on=a; pod high prio=9 gpu=6; pod small gpu=3", "evict low" BY},
    {"nor where somebody else's end, who was deleted, is enough",
     "node a; pod x gpu=4 on=a deleting; pod y prio=9 gpu=2 on=a; pod high prio=9 gpu=6; pod small gpu=2", ""},
    {"where it must be apart from somebody, he does not come meanwhile",
     FULL "pod high prio=9 gpu=8 apart=x; pod small app=x; pod other", "evict low" BY "; start other"},
    {"nor who must be apart from it", FULL "pod high prio=9 gpu=8 app=x; pod small apart=x; pod other", "evict low" BY "; start other"},
    {"nobody counts on what another was promised", FULL "pod high prio=9 gpu=8; pod same prio=9 gpu=8; pod mid prio=5 gpu=8",
     "evict low" BY},
};

static void each_case_decides_as_it_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w = world_new();
        story(&w, cases[i].objects);
        step(&w);
        if (strcmp(decided(&w), cases[i].decided) != 0)
            fail_msg("%s: decided \"%s\", expected \"%s\"", cases[i].name, decided(&w), cases[i].decided);
        world_free(&w);
    }
}

static void then(struct world *w, const char *objects, const char *expected)
{
    story(w, objects);
    step(w);
    assert_string_equal(decided(w), expected);
}

static void leaves(struct world *w, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "ns/%s", name);
    gone(w, CHANGE_POD_GONE, key);
}

static void told(struct world *w, const char *name, enum outcome how)
{
    char gang[64];
    snprintf(gang, sizeof gang, "pod/ns/%s", name);
    outcome(w, EFFECT_EVICT, gang, NULL, how);
}

static void it_starts_once_all_have_left(void **state)
{
    struct world *w = *state;
    then(w, "node a; pod x gpu=4 on=a; pod y gpu=4 on=a; pod high prio=9 gpu=8", "evict x" BY "; evict y" BY);
    told(w, "x", OUTCOME_DONE);
    told(w, "y", OUTCOME_DONE);
    then(w, "", "");
    leaves(w, "x");
    then(w, "", "");
    leaves(w, "y");
    then(w, "", "start high");
}

static void nobody_of_equal_or_lower_priority_takes_the_room(void **state)
{
    struct world *w = *state;
    then(w, "node a; pod x gpu=4 on=a; pod y gpu=4 on=a; pod high prio=9 gpu=8", "evict x" BY "; evict y" BY);
    leaves(w, "x");
    then(w, "pod low gpu=4; pod same prio=9 gpu=4", "");
    leaves(w, "y");
    then(w, "", "start high");
}

static void a_queue_does_not_take_the_room(void **state)
{
    struct world *w = *state;
    then(w, "node a; queue q gpu=8; pod x gpu=4 on=a; pod y gpu=4 on=a; pod high prio=9 gpu=8", "evict x" BY "; evict y" BY);
    leaves(w, "x");
    then(w, "wants job queue=q prio=20 gpu=4", "");
    leaves(w, "y");
    then(w, "", "start high");
}

static void a_higher_one_takes_the_room_and_the_other_looks_again(void **state)
{
    struct world *w = *state;
    then(w, "node a; node b; pod x gpu=8 on=a; pod y prio=1 gpu=8 on=b; pod mid prio=5 gpu=8", "evict x" BY);
    told(w, "x", OUTCOME_DONE);
    then(w, "pod high prio=9 gpu=8", "evict y" BY); /* it takes x over, and the other is left with y */
    leaves(w, "x");
    then(w, "", "start high");
    leaves(w, "y");
    then(w, "", "start mid");
}

static void it_starts_elsewhere_when_room_comes_free_there(void **state)
{
    struct world *w = *state;
    then(w, "node a; node b; pod x gpu=8 on=a; pod y prio=9 gpu=8 on=b; pod high prio=9 gpu=8", "evict x" BY);
    told(w, "x", OUTCOME_DONE);
    leaves(w, "y");
    then(w, "", "start high");
    leaves(w, "x");
    then(w, "pod low gpu=8", "start low");
}

/* What comes free where others leave for one of lower priority is not kept from it. core_events 940 400 1 */
static void it_starts_where_others_leave_for_a_lower_one(void **state)
{
    struct world *w = *state;
    then(w, "node a; node b; pod v gpu=8 on=a; pod x prio=1 gpu=4 on=b; pod y prio=1 gpu=4 on=b; pod high prio=9 gpu=4", "evict v" BY);
    then(w, "pod mid prio=5 gpu=8", "evict x" BY "; evict y" BY);
    leaves(w, "x");
    then(w, "", "start high");
}

/* Somebody else ends there first, and that is enough. */
static void it_starts_on_its_node_before_those_have_left(void **state)
{
    struct world *w = *state;
    then(w, "node a; pod x gpu=4 on=a; pod y prio=9 gpu=4 on=a; pod high prio=9 gpu=4", "evict x" BY);
    told(w, "x", OUTCOME_DONE);
    leaves(w, "y");
    then(w, "", "start high");
}

static void it_looks_elsewhere_when_its_node_is_lost(void **state)
{
    struct world *w = *state;
    then(w, "node a; node b; pod x gpu=8 on=a; pod y prio=1 gpu=8 on=b; pod high prio=9 gpu=8", "evict x" BY);
    told(w, "x", OUTCOME_DONE);
    then(w, "node a notready", "evict y" BY);
}

/* Its victim has left, and the node was registered anew, before anybody looked. */
static void it_starts_on_its_node_made_anew(void **state)
{
    struct world *w = *state;
    then(w, FULL "pod high prio=9 gpu=8", "evict low" BY);
    leaves(w, "low");
    gone(w, CHANGE_NODE_GONE, "a");
    then(w, "node a", "start high");
}

static void what_was_refused_is_told_again(void **state)
{
    struct world *w = *state;
    then(w, FULL "pod high prio=9 gpu=8", "evict low" BY);
    told(w, "low", OUTCOME_FAILED);
    then(w, "", "evict low" BY);
}

static void nobody_is_told_twice(void **state)
{
    struct world *w = *state;
    then(w, FULL "pod high prio=9 gpu=8", "evict low" BY);
    told(w, "low", OUTCOME_DONE);
    then(w, "pod low gpu=8 on=a deleting", "");
    w->now_ms += 60000;
    then(w, "node c gpu=1", "");
}

/* What comes free on its node while it waits is not looked at: so it must be when the last of its victims has left. */
static void it_looks_again_when_all_have_left_and_others_were_faster(void **state)
{
    struct world *w = *state;
    then(w, FULL "pod high prio=9 gpu=8", "evict low" BY);
    leaves(w, "low");
    then(w, "pod other gpu=4 on=a foreign", "");
    then(w, "node b; pod x gpu=8 on=b", "evict x" BY);
}

/* What somebody else takes of its node is not there when its victims have left: it looks again at once. */
static void it_looks_elsewhere_when_others_take_what_it_needs(void **state)
{
    struct world *w = *state;
    then(w, "node a; node b; pod x gpu=4 on=a; pod y gpu=4 on=a; pod z prio=1 gpu=8 on=b; pod high prio=9 gpu=8",
         "evict x" BY "; evict y" BY);
    told(w, "x", OUTCOME_DONE);
    told(w, "y", OUTCOME_DONE);
    leaves(w, "x");
    then(w, "pod other gpu=4 on=a foreign", "evict z" BY);
}

/* Of two that ask for the same, somebody who is there keeps one away, and not the other, who comes later. */
static void who_must_not_be_near_keeps_nobody_else_away(void **state)
{
    struct world *w = *state;
    then(w, "node a; pod guard prio=9 on=a apart=x; pod first gpu=1 app=x", "");
    then(w, "pod second gpu=1", "start second");
}

/* Whoever stands on a node that is gone is near nobody. */
static void who_kept_it_apart_stands_on_a_node_that_goes(void **state)
{
    struct world *w = *state;
    then(w, "node a host=h; node b host=h; pod other prio=9 on=a app=x; pod high prio=9 gpu=8 apart=x", "");
    gone(w, CHANGE_NODE_GONE, "a");
    then(w, "", "start high");
}

static void while_others_leave_for_it_nobody_else_does(void **state)
{
    struct world *w = *state;
    then(w, "node a; pod x prio=5 gpu=8 on=a; pod high prio=9 gpu=8", "evict x" BY);
    told(w, "x", OUTCOME_DONE);
    then(w, "node b; pod y gpu=4 on=b; pod z prio=9 gpu=4 on=b", "");
    leaves(w, "z");
    then(w, "", "");
}

/* A node gains too little for it as it is, and enough with those who may go. */
static void a_gain_that_is_enough_with_others_wakes_it(void **state)
{
    struct world *w = *state;
    then(w, "node a; pod x gpu=4 on=a; pod y prio=9 gpu=4 on=a; pod high prio=9 gpu=8", "");
    leaves(w, "y");
    then(w, "", "evict x" BY);
}

#define VAIN_MS 10100
/* It fits once they are gone, and each time somebody else is faster. */
static void who_is_told_to_go_for_nothing_is_not_told_for_ever(void **state)
{
    struct world *w = *state;
    then(w, FULL "pod high prio=9 gpu=8", "evict low" BY);
    leaves(w, "low");
    then(w, "pod other1 gpu=8 on=a foreign", "");
    leaves(w, "other1");
    then(w, "pod low2 gpu=8 on=a", "evict low2" BY);
    leaves(w, "low2");
    then(w, "pod low3 gpu=8 on=a", "");
    assert_string_equal(why(w, "pod/ns/high"), "0/1 nodes are available: 1 Insufficient " GPU
                        ". preemption: not again yet: it did not start though others had left for it.");
    int64_t wake_ms = w->plan.wake_ms;
    assert_in_range(wake_ms, w->now_ms + 1, w->now_ms + VAIN_MS);
    for (int i = 0; i < 3 && !effects(w, EFFECT_EVICT); i++) { /* it wakes for others' sake, too */
        w->now_ms = w->plan.wake_ms;
        step(w);
    }
    assert_string_equal(decided(w), "evict low3" BY);
    assert_in_range(w->now_ms - wake_ms, 0, VAIN_MS);
}

/* Room is short and others' rules are in the way: also who goes from another node may be the one who was. */
static void who_kept_it_apart_goes_elsewhere(void **state)
{
    struct world *w = *state;
    then(w, "node a host=h; node b gpu=1 host=h; pod low gpu=8 on=a; pod other prio=9 gpu=1 on=b app=x; pod high prio=9 gpu=8 apart=x", "");
    then(w, "", "");
    leaves(w, "other");
    then(w, "", "evict low" BY);
}

/* It keeps nobody from the other nodes of its zone any more when its own goes. model_core_events 1012 400 1 */
static void the_node_of_who_kept_it_apart_goes(void **state)
{
    struct world *w = *state;
    then(w, "node a host=h; node b gpu=1 host=h; pod other prio=9 gpu=1 on=b app=x; pod high gpu=8 apart=x", "");
    then(w, "", "");
    gone(w, CHANGE_NODE_GONE, "b");
    then(w, "", "start high");
}

/* Two pods leave its node that somebody has deleted: what both give back is not kept from others. model_core_events 5058 400 1 */
static void what_deleted_pods_leave_is_counted_from_the_first(void **state)
{
    struct world *w = *state;
    then(w, "node a; queue q gpu=8; pod x gpu=3 on=a deleting; pod y gpu=3 on=a deleting; pod high prio=9 gpu=4", "");
    then(w, "wants job queue=q gpu=2", "start job");
}

/* And of one that is deleted only then. */
static void who_is_deleted_on_its_node_leaves_more(void **state)
{
    struct world *w = *state;
    then(w, "node a; queue q gpu=8; pod x prio=1 gpu=3 on=a; pod y gpu=3 on=a; pod high prio=9 gpu=4", "evict y" BY);
    then(w, "wants job queue=q gpu=2", "");
    then(w, "pod x prio=1 gpu=3 on=a deleting", "");
    then(w, "", "start job");
}

static void it_is_told_why_nobody_can_go(void **state)
{
    struct world *w = *state;
    then(w, "node a; node b; node c gpu=4; node d notready; pod x prio=9 gpu=8 on=a; pod y gpu=4 on=b; pod z prio=9 gpu=4 on=b;"
            "pod high prio=9 gpu=8", "");
    assert_string_equal(why(w, "pod/ns/high"), "0/4 nodes are available: 3 Insufficient " GPU ", 1 node(s) were not ready. preemption: "
                        "0/4 nodes are available: 1 Insufficient " GPU ", 1 No preemption victims found for incoming pod, "
                        "2 Preemption is not helpful for scheduling.");
    then(w, "pod no prio=9 gpu=8 never", "");
    assert_string_equal(why(w, "pod/ns/no"), "0/4 nodes are available: 3 Insufficient " GPU ", 1 node(s) were not ready. preemption: "
                        "not eligible due to preemptionPolicy=Never.");
}

static void both_sides_know_for_whom(void **state)
{
    struct world *w = *state;
    then(w, FULL "pod high prio=9 gpu=8", "evict low" BY);
    const struct reason *r = state_gang_reason(w->s, id(w, "pod/ns/high")), *for_it = reason_find(r, REASON_PREEMPTING);
    assert_string_equal(why(w, "pod/ns/high"), "0/1 nodes are available: 1 Insufficient " GPU ".");
    assert_string_equal(text_of(w, for_it->name), "a");
    assert_string_equal(text_of(w, for_it->child->name), "pod/ns/low");
    assert_string_equal(why(w, "pod/ns/low"), "Preempted by pod ns/high on node a");
}

/* One member is all that the group needs, and starts; the next would take what a pod leaves for somebody else. core_remedy 1026562 */
static void a_further_member_leaves_it_its_room(void **state)
{
    struct world *w = *state;
    story(w, "node a gpu=8; pod low gpu=4 on=a; pod high prio=9 gpu=6");
    step(w);
    assert_string_equal(decided(w), "evict low" BY);
    gang_record(w, a_group(w, "group", NULL, 1));
    pod(w, "ns/first", "group", GPU "=2");
    step(w);
    assert_non_null(entry_of(w, EFFECT_BIND, "ns/first"));
    pod(w, "ns/second", "group", GPU "=2");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    gone(w, CHANGE_POD_GONE, "ns/low");
    step(w);
    assert_string_equal(decided(w), "start high");
}

/* The bind of a member was refused, since the pod had been made anew by then, as one of no group; told late, that concerns no other pod. */
static void a_bind_refused_for_the_pod_of_that_name_before_it(void **state)
{
    struct world *w = *state;
    node(w, "a", GPU "=8", "");
    gang_record(w, a_group(w, "group", NULL, 1));
    pod(w, "ns/p", "group", GPU "=8");
    step(w);
    assert_non_null(entry_of(w, EFFECT_BIND, "ns/p"));
    struct pod_record anew = a_pod(w, "ns/p", NULL, GPU "=8");
    anew.uid = id(w, "anew");
    pod_record(w, anew);
    step(w);
    assert_non_null(entry_of(w, EFFECT_BIND, "ns/p"));
    outcome(w, EFFECT_BIND, "group", "ns/p", OUTCOME_FAILED);
    pod(w, "ns/other", NULL, GPU "=8");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case_decides_as_it_says),
        in_a_world(it_starts_once_all_have_left),
        in_a_world(nobody_of_equal_or_lower_priority_takes_the_room),
        in_a_world(a_queue_does_not_take_the_room),
        in_a_world(a_higher_one_takes_the_room_and_the_other_looks_again),
        in_a_world(it_starts_elsewhere_when_room_comes_free_there),
        in_a_world(it_starts_where_others_leave_for_a_lower_one),
        in_a_world(it_starts_on_its_node_before_those_have_left),
        in_a_world(it_looks_elsewhere_when_its_node_is_lost),
        in_a_world(it_starts_on_its_node_made_anew),
        in_a_world(what_was_refused_is_told_again),
        in_a_world(nobody_is_told_twice),
        in_a_world(it_looks_again_when_all_have_left_and_others_were_faster),
        in_a_world(it_looks_elsewhere_when_others_take_what_it_needs),
        in_a_world(who_must_not_be_near_keeps_nobody_else_away),
        in_a_world(who_kept_it_apart_stands_on_a_node_that_goes),
        in_a_world(while_others_leave_for_it_nobody_else_does),
        in_a_world(a_gain_that_is_enough_with_others_wakes_it),
        in_a_world(who_is_told_to_go_for_nothing_is_not_told_for_ever),
        in_a_world(who_kept_it_apart_goes_elsewhere),
        in_a_world(the_node_of_who_kept_it_apart_goes),
        in_a_world(what_deleted_pods_leave_is_counted_from_the_first),
        in_a_world(who_is_deleted_on_its_node_leaves_more),
        in_a_world(it_is_told_why_nobody_can_go),
        in_a_world(a_further_member_leaves_it_its_room),
        in_a_world(both_sides_know_for_whom),
        in_a_world(a_bind_refused_for_the_pod_of_that_name_before_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
