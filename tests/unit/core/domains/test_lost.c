/* test_lost.c - nodes that fail under gangs that were told to stand on them: a table, then stories
 *
 * SOURCE Kueue, TASFailedNodeReplacement, TASFailedNodeReplacementFailFast, TASReplaceNodeOnPodTermination, TASReplaceNodeOnNodeTaints.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "domain_words.h"

/* The gang runs where it was placed (running: with all its pods), then nodes fail, and the pods there end. */
struct lost_case {
    const char *what, *levels, *nodes, *ask, *fails, *expected;
    bool running;
};

static const struct lost_case lost_cases[] = {
    {"a node is gone: one of the same rack", "RH", "r1/x1:1 r1/x2:1 r1/x3:1 r2/x4:9", "2 required=R", "x1", "x2=1 x3=1", true},
    {"the same before its pods exist", "RH", "r1/x1:1 r1/x2:1 r1/x3:1 r2/x4:9", "2 required=R", "x1", "x2=1 x3=1", false},
    {"not ready", "RH", "r1/x1:1 r1/x2:1 r1/x3:1", "2 required=R", "x1!", "x2=1 x3=1", true},
    {"cordoned", "RH", "r1/x1:1 r1/x2:1 r1/x3:1", "2 required=R", "x2~", "x1=1 x3=1", false},
    {"tainted", "RH", "r1/x1:1 r1/x2:1 r1/x3:1", "2 required=R", "x2#", "x1=1 x3=1", true},
    {"the rack has no other: evicted", "RH", "r1/x1:1 r1/x2:1 r2/x4:9", "2 required=R", "x2",
     "evicted: There is no other node in the place of the failed node x2", true},
    {"evicted before its pods exist", "RH", "r1/x1:1 r1/x2:1 r2/x4:9", "2 required=R", "x2#",
     "evicted: There is no other node in the place of the failed node x2", false},
    {"preferred: another rack", "RH", "r1/x1:1 r1/x2:1 r2/x4:9", "2 preferred=R", "x2", "x1=1 x4=1", true},
    {"preferred: the tightest of all", "RH", "r1/x1:1 r1/x2:1 r2/x3:3 r3/x4:1", "2 preferred=R", "x2", "x1=1 x4=1", true},
    {"unconstrained", "RH", "r1/x1:1 r1/x2:1 r2/x3:1", "2 unconstrained", "x1!", "x2=1 x3=1", true},
    {"nobody asks, all flavors have a topology", "RH", "r1/x1:2 r2/x3:1 r2/x4:1", "1", "x3", "x4=1", false},
    {"nothing else of it stands: any rack", "RH", "r1/x1:2 r2/x3:3", "2 required=R", "x1!", "x3=2", true},
    {"a node is one domain: any other", "RH", "r1/x1:2 r2/x3:3", "2 required=H", "x1", "x3=2", false},
    {"several nodes in the place of one", "RH", "r1/x1:1 r1/x2:3 r1/x3:1 r1/x4:1 r1/x5:1", "4 required=R", "x2", "x1=1 x3=1 x4=1 x5=1",
     false},
    {"two at once", "RH", "r1/x1:1 r1/x2:1 r1/x3:9", "11 required=R", "x1 x2",
     "evicted: Several nodes of its topology assignment failed: x1, x2", false},
    {"two at once, for different reasons", "RH", "r1/x1:1 r1/x2:1 r1/x3:1 r1/x4:9", "12 required=R", "x1! x3#",
     "evicted: Several nodes of its topology assignment failed: x1, x3", true},
    {"a slice stays together", "BRH", "b1/r1/x1:1 b1/r1/x2:1 b1/r1/x3:1 b1/r2/x4:2 b1/r3/x5:1", "4 required=B slice=R:2", "x1",
     "x2=1 x3=1 x4=2", true},
    {"a slice cannot stay together", "BRH", "b1/r1/x1:1 b1/r1/x2:1 b1/r2/x4:2 b1/r2/x5:1", "4 required=B slice=R:2", "x1",
     "evicted: There is no other node in the place of the failed node x1", true},
    {"a whole slice goes elsewhere in the block", "BRH", "b1/r1/x1:2 b1/r2/x4:2 b1/r3/x5:2 b2/r1/x6:9", "4 required=B slice=R:2", "x1",
     "x4=2 x5=2", false},
    {"a leader, with his workers", "RH", "r1/x1:2 r1/x2:2 r1/x3:2 r2/x4:9", "l 1 required=R group=g; w 3 required=R group=g", "x2",
     "x1=1; x1=1 x3=2", false},
    {"other sets stay where they are", "RH", "r1/x1:2 r2/x2:3 r2/x3:3", "a 2 required=R; b 3 required=H", "x2", "x1=2; x3=3", true},
};

static void run_pods(struct world *w, const struct gang_record *g)
{
    int at = 0;
    for (uint32_t i = 0; i < g->pod_sets_n; i++)
        for (int k = 0; k < g->pod_sets[i].count; k++)
            pod_record(w, pod_in(w, arena_printf(w->records, "ns/a-%d", at++), "a", text_of(w, g->pod_sets[i].name), "cpu=1000", "tas=yes"));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), at);
}

/* Pods of nodes that the text names. */
static void end_pods(struct world *w, const char *fails)
{
    const struct plan plan = w->plan;
    for (uint32_t i = 0; i < plan.entries_n; i++)
        if (plan.entries[i].effect == EFFECT_BIND && strstr(fails, text_of(w, plan.entries[i].node)))
            gone(w, CHANGE_POD_GONE, text_of(w, plan.entries[i].pod));
}

static const char *lost_case_run(struct world *w, const struct lost_case *one)
{
    domain_cluster(w, one->levels, one->nodes);
    struct gang_record g = domain_gang(w, "a", one->ask);
    gang_record(w, g);
    step(w);
    const char *before = domains_of(w, "a");
    gang_record(w, domain_admitted(w, g));
    if (one->running) {
        run_pods(w, &g);
        end_pods(w, one->fails);
    }
    domain_nodes_fail(w, one->fails);
    step(w);
    bool several = strchr(one->fails, ' ') != NULL;
    if (!several && (strcmp(domains_of(w, "a"), before) != 0 || !strstr(one->fails, text_of(w, state_gang_lost(w->s, id(w, "a"))))))
        return "not looked at, or not waited for";
    if (!several)
        wait_for_lost(w);
    const struct plan_entry *evict = entry_of(w, EFFECT_EVICT, "a");
    return evict ? arena_printf(w->records, "evicted: %s", why(w, "a")) : domains_of(w, "a");
}

static void every_case_of_a_failed_node(void **state)
{
    int wrong_n = 0;
    for (size_t i = 0; i < sizeof lost_cases / sizeof *lost_cases; i++) {
        struct world *w = *state;
        const char *got = lost_case_run(w, &lost_cases[i]);
        if (strcmp(got, lost_cases[i].expected) != 0)
            print_error("%s (%s), case %d\n  expected %s\n  got      %s\n", lost_cases[i].what, lost_cases[i].ask, ++wrong_n,
                        lost_cases[i].expected, got);
        world_free(w);
        *w = world_new();
    }
    assert_int_equal(wrong_n, 0);
}

/* Two pods on two nodes of one rack, of which the first is not ready. */
static struct gang_record on_two_nodes(struct world *w, const char *nodes)
{
    domain_cluster(w, "RH", nodes);
    struct gang_record g = domain_gang(w, "a", "2 required=R");
    gang_record(w, g);
    step(w);
    assert_string_equal(domains_of(w, "a"), "x1=1 x2=1");
    gang_record(w, domain_admitted(w, g));
    return g;
}

static void a_node_that_comes_back_in_time_is_not_replaced(void **state)
{
    struct world *w = *state;
    (void)on_two_nodes(w, "r1/x1:1 r1/x2:1 r1/x3:1 r1/x4:1");
    step(w);
    gone(w, CHANGE_NODE_GONE, "x1");
    step(w);
    assert_string_equal(text_of(w, state_gang_lost(w->s, id(w, "a"))), "x1");
    assert_int_equal(effects(w, EFFECT_MOVE), 1);
    w->now_ms += LOST_WAIT_MS - 1;
    node(w, "x1", "cpu=1000,pods=110", "rack=r1,kubernetes.io/hostname=x1,tas=yes");
    step(w);
    assert_int_equal(state_gang_lost(w->s, id(w, "a")), 0);
    assert_int_equal(effects(w, EFFECT_MOVE), 1);
    w->now_ms += 1;
    step(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
    assert_string_equal(domains_of(w, "a"), "x1=1 x2=1");
}

/* Its time comes while nobody is let in: it is given another node when somebody may be. model_core_order 128112 100 1 */
static void it_is_replaced_once_somebody_may_be_let_in(void **state)
{
    struct world *w = *state;
    (void)on_two_nodes(w, "r1/x1:1 r1/x2:1 r1/x3:1 r1/x4:1");
    step(w);
    gone(w, CHANGE_NODE_GONE, "x1");
    step(w);
    w->hold = true;
    wait_for_lost(w);
    assert_string_equal(domains_of(w, "a"), "x1=1 x2=1");
    assert_true(w->plan.wake_ms > w->now_ms);
    w->now_ms += LOST_WAIT_MS / 2;
    w->hold = false;
    step(w);
    assert_string_equal(domains_of(w, "a"), "x2=1 x3=1");
}

static void while_a_pod_goes_on_there_nothing_is_lost(void **state)
{
    struct world *w = *state;
    struct gang_record g = on_two_nodes(w, "r1/x1:1 r1/x2:1 r1/x3:1 r1/x4:1");
    run_pods(w, &g);
    const char *on_x1 = strcmp(node_of(w, "ns/a-0"), "x1") == 0 ? "ns/a-0" : "ns/a-1";
    domain_nodes_fail(w, "x1!");
    step(w);
    wait_for_lost(w);
    assert_int_equal(state_gang_lost(w->s, id(w, "a")), 0);
    assert_string_equal(domains_of(w, "a"), "x1=1 x2=1");
    struct pod_record p = pod_in(w, on_x1, "a", "main", "cpu=1000", "tas=yes");
    p.node = id(w, "x1");
    p.phase = POD_RUNNING;
    p.deleting = true; /* and it stays for a while: nobody is there who could end it */
    pod_record(w, p);
    step(w);
    assert_string_equal(text_of(w, state_gang_lost(w->s, id(w, "a"))), "x1");
    wait_for_lost(w);
    assert_string_equal(domains_of(w, "a"), "x2=1 x3=1");
    pod_record(w, pod_in(w, "ns/a-2", "a", "main", "cpu=1000", "tas=yes"));
    step(w);
    assert_string_equal(node_of(w, "ns/a-2"), "x3");
    gone(w, CHANGE_POD_GONE, on_x1);
    step(w);
    assert_string_equal(domains_of(w, "a"), "x2=1 x3=1");
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
}

static void without_the_feature_it_is_replaced_at_once(void **state)
{
    struct world *w = *state;
    w->lost.off = true;
    (void)on_two_nodes(w, "r1/x1:1 r1/x2:1 r1/x3:1 r1/x4:1");
    gone(w, CHANGE_NODE_GONE, "x1");
    gone(w, CHANGE_NODE_GONE, "x2");
    step(w);
    assert_string_equal(domains_of(w, "a"), "x3=1 x4=1");
}

static void a_patient_gang_waits_for_a_node(void **state)
{
    struct world *w = *state;
    w->lost.patient = true;
    (void)on_two_nodes(w, "r1/x1:1 r1/x2:1 r2/x3:9");
    step(w);
    gone(w, CHANGE_NODE_GONE, "x1");
    step(w);
    wait_for_lost(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
    assert_string_equal(domains_of(w, "a"), "x1=1 x2=1");
    assert_string_equal(text_of(w, state_gang_lost(w->s, id(w, "a"))), "x1");
    node(w, "x4", "cpu=1000,pods=110", "rack=r1,kubernetes.io/hostname=x4,tas=yes");
    step(w);
    assert_string_equal(domains_of(w, "a"), "x2=1 x4=1");
    assert_int_equal(state_gang_lost(w->s, id(w, "a")), 0);
}

static void a_second_one_while_the_first_is_waited_for(void **state)
{
    struct world *w = *state;
    (void)on_two_nodes(w, "r1/x1:1 r1/x2:1 r1/x3:1 r1/x4:1");
    gone(w, CHANGE_NODE_GONE, "x1");
    step(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
    gone(w, CHANGE_NODE_GONE, "x2");
    step(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 1);
    assert_int_equal(state_gang_lost(w->s, id(w, "a")), 0);
}

static void one_after_the_other_each_is_replaced(void **state)
{
    struct world *w = *state;
    (void)on_two_nodes(w, "r1/x1:1 r1/x2:1 r1/x3:1 r1/x4:1");
    gone(w, CHANGE_NODE_GONE, "x1");
    step(w);
    wait_for_lost(w);
    assert_string_equal(domains_of(w, "a"), "x2=1 x3=1");
    gone(w, CHANGE_NODE_GONE, "x2");
    step(w);
    wait_for_lost(w);
    assert_string_equal(domains_of(w, "a"), "x3=1 x4=1");
}

static void who_is_over_needs_no_other_node(void **state)
{
    struct world *w = *state;
    struct gang_record g = on_two_nodes(w, "r1/x1:1 r1/x2:1");
    run_pods(w, &g);
    const char *on_x1 = strcmp(node_of(w, "ns/a-0"), "x1") == 0 ? "ns/a-0" : "ns/a-1";
    struct pod_record p = pod_in(w, on_x1, "a", "main", "cpu=1000", "tas=yes");
    p.node = id(w, "x1");
    p.phase = POD_SUCCEEDED;
    pod_record(w, p);
    step(w);
    gone(w, CHANGE_NODE_GONE, "x1");
    step(w);
    wait_for_lost(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
    assert_int_equal(state_gang_lost(w->s, id(w, "a")), 0);
}

static const char *pod_on(struct world *w, const char *node, int pods_n)
{
    for (int i = 0; i < pods_n; i++) {
        const char *pod = arena_printf(w->records, "ns/a-%d", i);
        if (strcmp(node_of(w, pod), node) == 0)
            return pod;
    }
    return "";
}

/* While one of its pods waits for a place, what is found for the lost one is left to others: they may be waiting for it. */
static void who_waits_for_a_place_holds_none_for_the_lost(void **state)
{
    struct world *w = *state;
    domain_cluster(w, "RH", "r1/x1:1 r1/x2:1 r1/x3:1");
    struct gang_record g = domain_gang(w, "a", "3 required=R");
    gang_record(w, g);
    step(w);
    gang_record(w, domain_admitted(w, g));
    run_pods(w, &g);
    const char *on_x1 = pod_on(w, "x1", 3), *on_x2 = pod_on(w, "x2", 3);
    gone(w, CHANGE_POD_GONE, on_x2);
    pod_record(w, pod_in(w, "ns/a-3", "a", "main", "cpu=2000", "tas=yes"));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    gone(w, CHANGE_POD_GONE, on_x1);
    domain_nodes_fail(w, "x1!");
    step(w);
    wait_for_lost(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
    assert_string_equal(text_of(w, state_gang_lost(w->s, id(w, "a"))), "x1");
    node(w, "x4", "cpu=2000,pods=110", "rack=r1,kubernetes.io/hostname=x4,tas=yes");
    step(w);
    assert_string_equal(node_of(w, "ns/a-3"), "x4");
    assert_string_equal(domains_of(w, "a"), "x2=1 x3=1 x4=1");
    assert_int_equal(state_gang_lost(w->s, id(w, "a")), 0);
}

/* Its pods come as the node fails: without that node there is no place for all of them, and nothing of it stands anywhere. What the lost
 * ones alone would find in another rack is none. Chaos, seed 1, step 34,551. */
static void who_cannot_begin_without_the_lost_goes(void **state)
{
    struct world *w = *state;
    domain_cluster(w, "RH", "r1/x1:4 r1/x2:4 r2/x3:4");
    struct gang_record g = domain_gang(w, "a", "8 required=R");
    gang_record(w, g);
    step(w);
    gang_record(w, domain_admitted(w, g));
    step(w);
    for (int i = 0; i < 8; i++)
        pod_record(w, pod_in(w, arena_printf(w->records, "ns/a-%d", i), "a", "main", "cpu=1000", "tas=yes"));
    domain_nodes_fail(w, "x2#");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    wait_for_lost(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 1);
    assert_string_equal(why(w, "a"), "There is no other node in the place of the failed node x2");
}

static void the_pod_that_owns_its_workload_is_not_replaced(void **state)
{
    struct world *w = *state;
    domain_cluster(w, "RH", "r1/x1:1 r2/x2:9");
    struct gang_record g = domain_gang(w, "a", "1 required=H");
    g.of_one_pod = true;
    gang_record(w, g);
    step(w);
    gang_record(w, domain_admitted(w, g));
    step(w);
    gone(w, CHANGE_NODE_GONE, "x1");
    step(w);
    wait_for_lost(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
    assert_string_equal(domains_of(w, "a"), "x1=1");
}

static void slices_within_the_broken_slice_stay_whole(void **state)
{
    struct world *w = *state;
    struct domain_choice told[] = {{0, id(w, "x1"), 4}, {0, id(w, "x2"), 4}};
    domain_cluster(w, "RH", "r1/x1:4 r1/x2:4 r1/x3:3 r1/x4:1 r1/x5:2 r2/x6:9");
    struct gang_record g = domain_admitted(w, domain_gang(w, "a", "8 required=R slice=R:8,H:2"));
    g.domains = told;
    g.domains_n = 2;
    gang_record(w, g);
    step(w);
    gone(w, CHANGE_NODE_GONE, "x1");
    step(w);
    wait_for_lost(w);
    assert_string_equal(domains_of(w, "a"), "x2=4 x3=2 x5=2");
}

/* It would not stand there by the new levels, and a node fails that it does not stand on. */
static void levels_that_come_move_nobody(void **state)
{
    struct world *w = *state;
    domain_cluster(w, "BRH", "b1/r1/x1:1 b1/r2/x2:1 b1/r1/x3:1 b1/r2/x4:1");
    topology(w, "t", "block,kubernetes.io/hostname");
    struct gang_record g = domain_gang(w, "a", "2 required=B");
    gang_record(w, g);
    step(w);
    assert_string_equal(domains_of(w, "a"), "x1=1 x2=1");
    gang_record(w, domain_admitted(w, g));
    run_pods(w, &g);
    topology(w, "t", "rack,kubernetes.io/hostname"); /* its level is none of them any more */
    step(w);
    gone(w, CHANGE_NODE_GONE, "x3");
    step(w);
    wait_for_lost(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
    assert_int_equal(state_gang_lost(w->s, id(w, "a")), 0);
    assert_string_equal(domains_of(w, "a"), "x1=1 x2=1");
    topology(w, "t", "block,rack,kubernetes.io/hostname"); /* and is again: another node of its block */
    gone(w, CHANGE_POD_GONE, "ns/a-1");
    gone(w, CHANGE_NODE_GONE, "x2");
    step(w);
    wait_for_lost(w);
    assert_string_equal(domains_of(w, "a"), "x1=1 x4=1");
}

static void its_level_is_gone_when_its_node_fails(void **state)
{
    struct world *w = *state;
    (void)on_two_nodes(w, "r1/x1:1 r1/x2:1 r1/x3:1 r1/x4:1");
    step(w);
    topology(w, "t", "kubernetes.io/hostname");
    step(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
    gone(w, CHANGE_NODE_GONE, "x1");
    step(w);
    wait_for_lost(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 1);
    assert_string_equal(why(w, "a"), "There is no other node in the place of the failed node x1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_world(every_case_of_a_failed_node),
        in_a_world(a_node_that_comes_back_in_time_is_not_replaced),
        in_a_world(it_is_replaced_once_somebody_may_be_let_in),
        in_a_world(while_a_pod_goes_on_there_nothing_is_lost),
        in_a_world(without_the_feature_it_is_replaced_at_once),
        in_a_world(a_patient_gang_waits_for_a_node),
        in_a_world(a_second_one_while_the_first_is_waited_for),
        in_a_world(one_after_the_other_each_is_replaced),
        in_a_world(who_is_over_needs_no_other_node),
        in_a_world(who_waits_for_a_place_holds_none_for_the_lost),
        in_a_world(who_cannot_begin_without_the_lost_goes),
        in_a_world(the_pod_that_owns_its_workload_is_not_replaced),
        in_a_world(slices_within_the_broken_slice_stay_whole),
        in_a_world(levels_that_come_move_nobody),
        in_a_world(its_level_is_gone_when_its_node_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
