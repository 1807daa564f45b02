/* test_core_flavors.c - which flavor and how much, computed by hand from Kueue's documented rules */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../unit/core/world.h"

#define GPU "nvidia.com/gpu"

static void flavors(struct world *w)
{
    flavor(w, "on-demand", "type=on-demand");
    flavor(w, "spot", "type=spot");
    local_queue(w, "ns/a", "qa");
    local_queue(w, "ns/b", "qb");
    local_queue(w, "ns/c", "qc");
    node(w, "n1", "cpu=100000," GPU "=100", "type=on-demand");
    node(w, "n2", "cpu=100000," GPU "=100", "type=spot");
}

static void queue(struct world *w, const char *name, const char *cohort, int64_t nominal, int64_t borrowing, int64_t lending)
{
    struct queue_words q;
    queue_begin(w, &q, name, cohort);
    queue_quota(w, &q, "on-demand", GPU, nominal, borrowing, lending);
    queue_done(w, &q);
}

static void cohort(struct world *w, const char *name, const char *parent, int64_t nominal, int64_t borrowing, int64_t lending)
{
    struct quota_record r = {id(w, "on-demand"), id(w, GPU), nominal, borrowing, lending};
    struct cohort_record c = {.name = id(w, name), .parent = id(w, parent), .quotas = &r, .quotas_n = nominal >= 0};
    state_apply(w->s, &(struct change){.type = CHANGE_COHORT, .cohort = c});
}

/* How many single-GPU jobs the queue admits one after another. */
static int admits(struct world *w, const char *local, int tries)
{
    static int serial;
    int n = 0;
    for (int i = 0; i < tries; i++) {
        char name[32];
        snprintf(name, sizeof name, "job-%d", ++serial);
        workload(w, name, local, 1, GPU "=1");
        run(w);
        n += (int)effects(w, EFFECT_ADMIT);
        if (!effects(w, EFFECT_ADMIT))
            gone(w, CHANGE_GANG_GONE, name);
    }
    return n;
}

/* Cohort of two queues, nominal 10 each: a borrows all that b lends. */
static void borrowing(void **state)
{
    (void)state;
    struct world w = world_new();
    flavors(&w);
    queue(&w, "qa", "co", 10, NO_LIMIT, NO_LIMIT);
    queue(&w, "qb", "co", 10, NO_LIMIT, NO_LIMIT);
    assert_int_equal(admits(&w, "ns/a", 25), 20);
    assert_int_equal(admits(&w, "ns/b", 1), 0);
    world_free(&w);
}

/* borrowingLimit 3: 10 + 3. lendingLimit 4 of b: a gets 10 + 4, b keeps 6 of its own. */
static void limits(void **state)
{
    (void)state;
    struct world w = world_new();
    flavors(&w);
    queue(&w, "qa", "co", 10, 3, NO_LIMIT);
    queue(&w, "qb", "co", 10, NO_LIMIT, NO_LIMIT);
    assert_int_equal(admits(&w, "ns/a", 25), 13);
    assert_int_equal(admits(&w, "ns/b", 25), 7);
    world_free(&w);
    w = world_new();
    flavors(&w);
    queue(&w, "qa", "co", 10, NO_LIMIT, NO_LIMIT);
    queue(&w, "qb", "co", 10, NO_LIMIT, 4);
    assert_int_equal(admits(&w, "ns/a", 25), 14);
    assert_int_equal(admits(&w, "ns/b", 25), 6);
    world_free(&w);
}

/* root <- mid (own 5, borrows at most 4) <- qa 10; root <- qb 10.
 * S(mid) = 5 + 10 = 15; qa may use 15 + 4 = 19 although root has 25. Then qb finds 25 - 19 = 6. */
static void three_levels(void **state)
{
    (void)state;
    struct world w = world_new();
    flavors(&w);
    cohort(&w, "root", NULL, -1, NO_LIMIT, NO_LIMIT);
    cohort(&w, "mid", "root", 5, 4, NO_LIMIT);
    queue(&w, "qa", "mid", 10, NO_LIMIT, NO_LIMIT);
    queue(&w, "qb", "root", 10, NO_LIMIT, NO_LIMIT);
    assert_int_equal(admits(&w, "ns/a", 30), 19);
    assert_int_equal(admits(&w, "ns/b", 30), 6);
    world_free(&w);
}

/* root <- mid (lends at most 6) <- qa 10, qc 5; root <- qb 2.
 * S(mid) = 15, L(mid) = 15 - 6 = 9: qb gets 2 + 6 = 8, then mid's queues share the 9 that stay. */
static void lending_of_a_cohort(void **state)
{
    (void)state;
    struct world w = world_new();
    flavors(&w);
    cohort(&w, "root", NULL, -1, NO_LIMIT, NO_LIMIT);
    cohort(&w, "mid", "root", 0, NO_LIMIT, 6);
    queue(&w, "qa", "mid", 10, NO_LIMIT, NO_LIMIT);
    queue(&w, "qc", "mid", 5, NO_LIMIT, NO_LIMIT);
    queue(&w, "qb", "root", 2, NO_LIMIT, NO_LIMIT);
    assert_int_equal(admits(&w, "ns/b", 30), 8);
    assert_int_equal(admits(&w, "ns/c", 30), 9);
    assert_int_equal(admits(&w, "ns/a", 30), 0);
    world_free(&w);
}

static const char *flavor_given(struct world *w, const char *name, const char *requests, const char *node_labels)
{
    struct gang_record r = a_workload(w, name, "ns/a", 1, requests);
    struct pod_set set = r.pod_sets[0];
    set.shape = shape_of(w, requests, node_labels);
    r.pod_sets = &set;
    gang_record(w, r);
    run(w);
    const struct plan_entry *e = entry_of(w, EFFECT_ADMIT, name);
    return e ? text_of(w, e->choices[0].flavor) : why(w, name);
}

static void two_flavors(struct world *w, bool borrow_stops)
{
    struct queue_words q;
    queue_begin(w, &q, "qa", "co");
    q.r.borrow_before_next_flavor = borrow_stops;
    queue_quota(w, &q, "on-demand", GPU, 2, NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "spot", GPU, 2, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    queue_begin(w, &q, "qb", "co");
    queue_quota(w, &q, "on-demand", GPU, 4, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
}

/* whenCanBorrow: MayStopSearch borrows in the first flavor; TryNextFlavor prefers the second one's own quota. */
static void fungibility(void **state)
{
    (void)state;
    struct world w = world_new();
    flavors(&w);
    two_flavors(&w, true);
    assert_string_equal(flavor_given(&w, "j1", GPU "=2", ""), "on-demand");
    assert_string_equal(flavor_given(&w, "j2", GPU "=1", ""), "on-demand");
    world_free(&w);
    w = world_new();
    flavors(&w);
    two_flavors(&w, false);
    assert_string_equal(flavor_given(&w, "j1", GPU "=2", ""), "on-demand");
    assert_string_equal(flavor_given(&w, "j2", GPU "=1", ""), "spot");
    assert_string_equal(flavor_given(&w, "j3", GPU "=2", ""), "on-demand"); /* spot has 1 left and nobody to borrow from */
    world_free(&w);
}

static void affinity_and_taints(void **state)
{
    (void)state;
    struct world w = world_new();
    flavors(&w);
    two_flavors(&w, true);
    assert_string_equal(flavor_given(&w, "j1", GPU "=1", "type=spot"), "spot");
    /* A key that no flavor defines does not speak about flavors: quota says yes, then no node has it. */
    assert_non_null(strstr(flavor_given(&w, "j2", GPU "=1", "disk=ssd"), "no node for flavor on-demand"));
    assert_string_equal(flavor_given(&w, "j3", GPU "=1", "type=other"),
                        "couldn't assign flavors to pod set main: flavor on-demand doesn't match node affinity, "
                        "flavor spot doesn't match node affinity");
    struct taint taint = {.key = id(&w, "spot"), .value = id(&w, "true"), .effect = TAINT_NO_SCHEDULE};
    struct flavor_record tainted = {.name = id(&w, "spot"), .taints = &taint, .taints_n = 1};
    tainted.node_labels = labels_of(&w, "type=spot", &tainted.node_labels_n);
    state_apply(w.s, &(struct change){.type = CHANGE_FLAVOR, .flavor = tainted});
    assert_string_equal(flavor_given(&w, "j4", GPU "=1", "type=spot"),
                        "couldn't assign flavors to pod set main: flavor on-demand doesn't match node affinity, "
                        "untolerated taint {spot} in flavor spot");
    struct toleration toleration = {.key = id(&w, "spot"), .exists = true, .effects = 7};
    tainted.tolerations = &toleration;
    tainted.tolerations_n = 1;
    state_apply(w.s, &(struct change){.type = CHANGE_FLAVOR, .flavor = tainted});
    run(&w);
    assert_non_null(entry_of(&w, EFFECT_ADMIT, "j4"));
    world_free(&w);
}

/* A flavor is asked only about the label keys that it has itself: one that is silent about the disk takes a job that wants a certain disk,
 * and one without labels takes every job; whether nodes have what the job wants is for placement to say. */
static void only_own_keys(void **state)
{
    (void)state;
    struct world w = world_new();
    struct queue_words q;
    flavor(&w, "any", "");
    flavor(&w, "a", "gen=a");
    flavor(&w, "b", "gen=b,disk=ssd");
    local_queue(&w, "ns/a", "qa");
    node(&w, "n1", "cpu=100000," GPU "=8", "gen=a,disk=hdd");
    node(&w, "n2", "cpu=100000," GPU "=8", "gen=b,disk=ssd");
    queue_begin(&w, &q, "qa", NULL);
    queue_quota(&w, &q, "b", GPU, 8, NO_LIMIT, NO_LIMIT);
    queue_quota(&w, &q, "a", GPU, 8, NO_LIMIT, NO_LIMIT);
    queue_done(&w, &q);
    assert_string_equal(flavor_given(&w, "j1", GPU "=1", "gen=a,disk=hdd"), "a");
    assert_string_equal(flavor_given(&w, "j2", GPU "=1", "disk=hdd"), "a");
    assert_string_equal(flavor_given(&w, "j3", GPU "=1", "disk=ssd"), "b");
    queue_begin(&w, &q, "qa", NULL);
    queue_quota(&w, &q, "any", GPU, 8, NO_LIMIT, NO_LIMIT);
    queue_quota(&w, &q, "a", GPU, 8, NO_LIMIT, NO_LIMIT);
    queue_done(&w, &q);
    assert_string_equal(flavor_given(&w, "j4", GPU "=1", "gen=a"), "any");
    world_free(&w);
}

/* Members that are over count neither against the quota (8) nor against the node (4): of 6, 2 over, 4 are asked for; when 3 more are
 * over, the next one has 7 to take. */
static void reclaimed_members(void **state)
{
    (void)state;
    struct world w = world_new();
    struct queue_words q;
    flavor(&w, "any", "");
    local_queue(&w, "ns/a", "qa");
    node(&w, "n1", "cpu=100000," GPU "=4", "");
    queue_begin(&w, &q, "qa", NULL);
    queue_quota(&w, &q, "any", GPU, 8, NO_LIMIT, NO_LIMIT);
    queue_done(&w, &q);
    struct gang_record r = a_workload(&w, "big", "ns/a", 6, GPU "=1");
    struct pod_set set = r.pod_sets[0];
    r.pod_sets = &set;
    gang_record(&w, r);
    run(&w);
    assert_null(entry_of(&w, EFFECT_ADMIT, "big"));
    set.reclaimed = 2;
    gang_record(&w, r);
    run(&w);
    assert_non_null(entry_of(&w, EFFECT_ADMIT, "big"));
    workload(&w, "next", "ns/a", 3, GPU "=1");
    run(&w);
    assert_null(entry_of(&w, EFFECT_ADMIT, "next")); /* quota has 4 left, the node nothing */
    set.reclaimed = 5;
    gang_record(&w, r);
    run(&w);
    run(&w);
    assert_int_equal(state_gang_phase(w.s, id(&w, "next")), GANG_RESERVED);
    struct err e = {0};
    assert_true(state_check(w.s, &e));
    world_free(&w);
}

/* Two sets of equal pods, three in all: flavor a has room for two of them, b for one. Each set finds its flavor. */
static void equal_sets_part(void **state)
{
    (void)state;
    struct world w = world_new();
    struct queue_words q;
    flavor(&w, "a", "type=a");
    flavor(&w, "b", "type=b");
    local_queue(&w, "ns/a", "qa");
    node(&w, "n1", "cpu=3", "type=a");
    node(&w, "n2", "cpu=3", "type=a");
    node(&w, "n3", "cpu=3", "type=b");
    queue_begin(&w, &q, "qa", NULL);
    queue_quota(&w, &q, "a", "cpu", 100, NO_LIMIT, NO_LIMIT);
    queue_quota(&w, &q, "b", "cpu", 100, NO_LIMIT, NO_LIMIT);
    queue_done(&w, &q);
    struct gang_record r = a_workload(&w, "equal", "ns/a", 2, "cpu=3");
    struct pod_set sets[2] = {r.pod_sets[0], r.pod_sets[0]};
    sets[1].name = id(&w, "second");
    sets[1].count = sets[1].min_count = 1;
    r.pod_sets = sets;
    r.pod_sets_n = 2;
    gang_record(&w, r);
    run(&w);
    const struct plan_entry *e = entry_of(&w, EFFECT_ADMIT, "equal");
    assert_non_null(e);
    assert_string_equal(text_of(&w, e->choices[0].flavor), "a");
    assert_string_equal(text_of(&w, e->choices[1].flavor), "b");
    world_free(&w);
}

/* One resource, flavors a 5, b 7, c 6. Set one asks for 6: b. Set two asks for 6 of b or nothing else that has disks: b has 1 left. Looking
 * on from b, set one takes c, and set two has b. */
static void a_later_set_moves_an_earlier_one(void **state)
{
    (void)state;
    struct world w = world_new();
    struct queue_words q;
    flavor(&w, "a", "type=a");
    flavor(&w, "b", "type=b");
    flavor(&w, "c", "type=c");
    local_queue(&w, "ns/a", "qa");
    node(&w, "n1", "cpu=100,disk=100", "type=a");
    node(&w, "n2", "cpu=100,disk=100", "type=b");
    node(&w, "n3", "cpu=100,disk=100", "type=c");
    queue_begin(&w, &q, "qa", NULL);
    queue_quota(&w, &q, "a", "cpu", 5, NO_LIMIT, NO_LIMIT);
    queue_quota(&w, &q, "b", "cpu", 7, NO_LIMIT, NO_LIMIT);
    queue_quota(&w, &q, "b", "disk", 4, NO_LIMIT, NO_LIMIT);
    queue_quota(&w, &q, "c", "cpu", 6, NO_LIMIT, NO_LIMIT);
    queue_done(&w, &q);
    struct gang_record r = a_workload(&w, "two-sets", "ns/a", 2, "cpu=3");
    struct pod_set sets[2] = {r.pod_sets[0], r.pod_sets[0]};
    sets[1].name = id(&w, "second");
    sets[1].shape = shape_of(&w, "cpu=3,disk=2", "");
    r.pod_sets = sets;
    r.pod_sets_n = 2;
    gang_record(&w, r);
    run(&w);
    const struct plan_entry *e = entry_of(&w, EFFECT_ADMIT, "two-sets");
    assert_non_null(e);
    assert_string_equal(text_of(&w, e->choices[0].flavor), "c");
    assert_string_equal(text_of(&w, e->choices[1].flavor), "b");
    assert_int_equal(e->choices[1].pod_set, 1);
    world_free(&w);
}

static void claiming_queue(struct world *w, enum queue_strategy strategy, enum preemption_policy reclaim)
{
    struct queue_words q;
    queue_begin(w, &q, "qa", "co");
    q.r.strategy = strategy;
    q.r.reclaim_within_cohort = reclaim;
    queue_quota(w, &q, "on-demand", GPU, 4, 2, NO_LIMIT);
    queue_done(w, &q);
}

/* qa holds 3 of its own 4 and may borrow 2; qc has 5 to lend, qb nothing. A job of 4 in qa fits once the first one has ended.
 * While it is the head of a StrictFIFO queue that cannot reclaim, the 4 + 2 - 3 = 3 that it may still take are kept for it: of the free
 * 6, qb gets 3. */
static int left_for_others(struct world *w, enum queue_strategy strategy, enum preemption_policy reclaim)
{
    flavors(w);
    claiming_queue(w, strategy, reclaim);
    queue(w, "qb", "co", 0, NO_LIMIT, NO_LIMIT);
    queue(w, "qc", "co", 5, NO_LIMIT, NO_LIMIT);
    workload(w, "first", "ns/a", 3, GPU "=1");
    run(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "first"));
    workload(w, "head", "ns/a", 4, GPU "=1");
    run(w);
    assert_null(entry_of(w, EFFECT_ADMIT, "head"));
    return admits(w, "ns/b", 10);
}

static void claim_of_a_strict_head(void **state)
{
    (void)state;
    struct world w = world_new();
    assert_int_equal(left_for_others(&w, QUEUE_STRICT_FIFO, PREEMPT_NEVER), 3);
    workload(&w, "fourth", "ns/b", 1, GPU "=1");
    run(&w);
    assert_null(entry_of(&w, EFFECT_ADMIT, "fourth"));
    gone(&w, CHANGE_GANG_GONE, "head");
    run(&w);
    assert_non_null(entry_of(&w, EFFECT_ADMIT, "fourth"));
    struct err e = {0};
    assert_true(state_check(w.s, &e));
    world_free(&w);
    w = world_new();
    assert_int_equal(left_for_others(&w, QUEUE_STRICT_FIFO, PREEMPT_ANY), 6); /* can take it back at any time */
    world_free(&w);
    w = world_new();
    assert_int_equal(left_for_others(&w, QUEUE_BEST_EFFORT_FIFO, PREEMPT_NEVER), 6);
    world_free(&w);
}

/* Both must borrow; the older one goes first, and only then the other's claim counts. qa 4 (3 used), qb 0, qc 5: of the free 6, "old" takes
 * 3 before "head" claims its 4; were it younger, 2 would be left for it. */
static void a_claim_waits_for_its_turn(void **state)
{
    (void)state;
    for (int old_first = 0; old_first < 2; old_first++) {
        struct world w = world_new();
        flavors(&w);
        struct queue_words q;
        queue_begin(&w, &q, "qa", "co");
        q.r.strategy = QUEUE_STRICT_FIFO;
        queue_quota(&w, &q, "on-demand", GPU, 4, NO_LIMIT, NO_LIMIT);
        queue_quota(&w, &q, "on-demand", "cpu", 1000, NO_LIMIT, NO_LIMIT);
        queue_done(&w, &q);
        queue(&w, "qb", "co", 0, NO_LIMIT, NO_LIMIT);
        queue(&w, "qc", "co", 5, NO_LIMIT, NO_LIMIT);
        workload(&w, "first", "ns/a", 3, GPU "=1,cpu=300");
        run(&w);
        struct gang_record old = a_workload(&w, "old", "ns/b", 3, GPU "=1");
        struct gang_record head = a_workload(&w, "head", "ns/a", 4, GPU "=1,cpu=200"); /* cpu: 100 short, nobody to borrow from */
        old.created_ms += old_first ? 0 : 10;
        gang_record(&w, old);
        gang_record(&w, head);
        run(&w);
        assert_null(entry_of(&w, EFFECT_ADMIT, "head"));
        assert_int_equal(entry_of(&w, EFFECT_ADMIT, "old") != NULL, old_first);
        world_free(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(borrowing),   cmocka_unit_test(limits),      cmocka_unit_test(three_levels),
        cmocka_unit_test(lending_of_a_cohort), cmocka_unit_test(fungibility), cmocka_unit_test(affinity_and_taints),
        cmocka_unit_test(only_own_keys), cmocka_unit_test(reclaimed_members),
        cmocka_unit_test(claim_of_a_strict_head), cmocka_unit_test(a_later_set_moves_an_earlier_one), cmocka_unit_test(equal_sets_part),
        cmocka_unit_test(a_claim_waits_for_its_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
