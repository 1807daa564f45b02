/* test_domain_wakes.c - gangs of several pod sets that wait for domains: what others take may let them stand in another way */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "core/state/model.h"
#include "domain_words.h"

/* Of 10 and 7 CPUs; drivers stand on the second node only. */
static void two_nodes(struct world *w)
{
    domain_cluster(w, "H", "");
    node(w, "x1", "cpu=10000,pods=110", "kubernetes.io/hostname=x1,tas=yes");
    node(w, "x2", "cpu=7000,pods=110", "kubernetes.io/hostname=x2,tas=yes,drv=yes");
}

/* Its last set is one of drivers. */
static struct gang_record with_drivers(struct world *w, const char *name, const char *ask)
{
    struct gang_record g = domain_gang(w, name, ask);
    struct pod_set *drivers = (struct pod_set *)&g.pod_sets[g.pod_sets_n - 1];
    drivers->shape.node_labels = labels_of(w, "drv=yes", &drivers->shape.node_labels_n);
    return g;
}

/* The first set goes where it is tightest, and leaves the second one too little; once others stand there it goes elsewhere.
 * model_core_order 4009212 8 1 */
static void what_others_take_may_let_sets_stand_in_another_way(void **state)
{
    struct world *w = *state;
    two_nodes(w);
    gang_record(w, with_drivers(w, "a", "l 1 required=H cpu=5; w 1 required=H cpu=3"));
    gang_record(w, domain_gang(w, "b", "1 unconstrained cpu=3"));
    step(w);
    assert_string_equal(domains_of(w, "a"), "");
    assert_string_equal(domains_of(w, "b"), "x2=1");
    assert_true(decide_has_work(w->s));
    step(w);
    assert_string_equal(domains_of(w, "a"), "x1=1; x2=1");
}

/* The same, where one of them is only promised that: in his own queue somebody goes for him. */
static void what_others_are_promised_may_let_sets_stand_in_another_way(void **state)
{
    struct world *w = *state;
    struct queue_words q;
    two_nodes(w);
    node(w, "x3", "cpu=3000,pods=110", "kubernetes.io/hostname=x3,tas=yes");
    queue_begin(w, &q, "p", NULL);
    q.r.within_queue = PREEMPT_LOWER_PRIORITY;
    queue_quota(w, &q, "f", "cpu", 3000, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    local_queue(w, "ns/lp", "p");
    struct gang_record v = domain_gang(w, "v", "1 unconstrained cpu=3"), high = with_drivers(w, "high", "1 unconstrained cpu=3");
    v.local_queue = high.local_queue = id(w, "ns/lp");
    high.priority = 1;
    gang_record(w, v);
    step(w);
    assert_string_equal(domains_of(w, "v"), "x3=1");
    v = domain_admitted(w, v);
    v.admitted_queue = id(w, "p");
    gang_record(w, v);
    struct gang_record a = with_drivers(w, "a", "l 1 required=H cpu=5; w 1 required=H cpu=3");
    a.priority = 9;
    gang_record(w, a);
    gang_record(w, high);
    step(w);
    assert_string_equal(domains_of(w, "a"), "");
    assert_non_null(entry_of(w, EFFECT_EVICT, "v"));
    assert_true(decide_has_work(w->s));
    step(w);
    assert_string_equal(domains_of(w, "a"), "x1=1; x2=1");
}

/* Who has not room for one of its sets, wherever the others stand, waits until somebody gives some back. */
static void who_lacks_room_for_one_set_alone_is_not_woken_by_that(void **state)
{
    struct world *w = *state;
    two_nodes(w);
    gang_record(w, with_drivers(w, "a", "l 1 required=H cpu=5; w 1 required=H cpu=8"));
    gang_record(w, domain_gang(w, "b", "1 unconstrained cpu=3"));
    step(w);
    assert_string_equal(domains_of(w, "b"), "x2=1");
    step(w); /* what b was let in with is settled */
    assert_int_equal(w->s->parked_n, 1);
    assert_int_equal(w->s->parked[0]->on & PARK_NEIGHBOURS, 0);
}

/* Their table grows while they come, and they move. */
static void as_many_topologies_as_come(void **state)
{
    struct world *w = *state;
    domain_cluster(w, "H", "x1:1");
    for (int i = 0; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        topology(w, name, "block,kubernetes.io/hostname");
        assert_int_equal(w->s->topologies[topology_find(w->s, id(w, name))].levels_n, 2);
    }
    gang_record(w, domain_gang(w, "a", "1 required=H"));
    step(w);
    assert_string_equal(domains_of(w, "a"), "x1=1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_world(as_many_topologies_as_come),
        in_a_world(what_others_take_may_let_sets_stand_in_another_way),
        in_a_world(what_others_are_promised_may_let_sets_stand_in_another_way),
        in_a_world(who_lacks_room_for_one_set_alone_is_not_woken_by_that),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
