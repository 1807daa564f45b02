/* What pods would rather have: among the nodes that do, before the policy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../world.h"

static int setup(void **state)
{
    struct world *w = malloc(sizeof *w);
    *w = world_new();
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    world_free(*state);
    free(*state);
    return 0;
}

static struct selector value_is(struct world *w, const char *key, const char *value)
{
    struct requirement *r = arena_zero(w->records, 1, sizeof *r);
    name_id *one = arena_alloc(w->records, sizeof *one);
    *one = id(w, value);
    *r = (struct requirement){.key = id(w, key), .op = REQUIRE_IN, .values = one, .values_n = 1};
    return (struct selector){.all = r, .all_n = 1};
}

static void labelled(struct world *w, struct shape *shape, const char *app)
{
    struct label *label = arena_alloc(w->records, sizeof *label);
    *label = (struct label){id(w, "app"), id(w, app)};
    shape->labels = label;
    shape->labels_n = 1;
}

/* Where it is bound; "": nowhere. */
static const char *stands(struct world *w, struct pod_record r)
{
    pod_record(w, r);
    run(w);
    const struct plan_entry *e = entry_of(w, EFFECT_BIND, text_of(w, r.key));
    return e ? text_of(w, e->node) : "";
}

static struct pod_record pod_of(struct world *w, const char *key, const char *app)
{
    struct pod_record r = a_pod(w, key, NULL, "cpu=100");
    labelled(w, &r.shape, app);
    return r;
}

static void two_nodes(struct world *w)
{
    node_record(w, a_node(w, "full", "cpu=1000", "host=full,zone=a,disk=old"));
    node_record(w, a_node(w, "idle", "cpu=64000", "host=idle,zone=b,disk=new"));
}

static void preferred_nodes_come_first(void **state)
{
    struct world *w = *state;
    two_nodes(w);
    assert_string_equal(stands(w, pod_of(w, "ns/any", "x")), "full"); /* as it is packed */
    struct node_preference wish = {value_is(w, "disk", "new"), 1};
    struct pod_record r = pod_of(w, "ns/picky", "x");
    r.shape.node_wishes = &wish;
    r.shape.node_wishes_n = 1;
    assert_string_equal(stands(w, r), "idle");
    struct pod_record large = a_pod(w, "ns/large", NULL, "cpu=63950"); /* a wish is no rule */
    large.shape.node_wishes = &(struct node_preference){value_is(w, "disk", "old"), 100};
    large.shape.node_wishes_n = 1;
    assert_string_equal(stands(w, large), ""); /* and no room is no room: the picky one has some of it */
}

static void replicas_that_avoid_each_other_spread_while_they_can(void **state)
{
    struct world *w = *state;
    two_nodes(w);
    const struct pod_affinity apart = {.pods = value_is(w, "app", "web"), .topology_key = id(w, "host"), .anti = true, .weight = 1};
    const char *const wanted[] = {"full", "idle", "full"};
    for (int i = 0; i < 3; i++) {
        struct pod_record r = pod_of(w, arena_printf(w->records, "ns/web-%d", i), "web");
        r.shape.pod_wishes = &apart;
        r.shape.pod_wishes_n = 1;
        assert_string_equal(stands(w, r), wanted[i]);
    }
    struct pod_record near = pod_of(w, "ns/near", "cache");
    near.shape.pod_wishes = &(struct pod_affinity){.pods = value_is(w, "app", "web"), .topology_key = id(w, "zone"), .weight = 5};
    near.shape.pod_wishes_n = 1;
    assert_string_equal(stands(w, near), "full"); /* two of them are in its zone, one in the other */
}

static void spreads_that_may_be_broken(void **state)
{
    struct world *w = *state;
    two_nodes(w);
    const struct topology_spread even = {.pods = value_is(w, "app", "web"), .topology_key = id(w, "zone"), .max_skew = 1};
    const char *const wanted[] = {"full", "idle", "full", "idle"};
    for (int i = 0; i < 4; i++) {
        struct pod_record r = pod_of(w, arena_printf(w->records, "ns/web-%d", i), "web");
        r.shape.spread_wishes = &even;
        r.shape.spread_wishes_n = 1;
        assert_string_equal(stands(w, r), wanted[i]);
    }
    state_apply(w->s, &(struct change){.type = CHANGE_NODE_GONE, .gone = id(w, "idle")});
    struct pod_record last = pod_of(w, "ns/web-4", "web");
    last.shape.spread_wishes = &even;
    last.shape.spread_wishes_n = 1;
    assert_string_equal(stands(w, last), "full");
}

static void nodes_that_are_better_avoided(void **state)
{
    struct world *w = *state;
    struct node_record avoided = a_node(w, "full", "cpu=1000", "");
    const struct taint taint = {.key = id(w, "slow"), .effect = TAINT_PREFER_NO_SCHEDULE};
    avoided.taints = &taint;
    avoided.taints_n = 1;
    node_record(w, avoided);
    node_record(w, a_node(w, "idle", "cpu=64000", ""));
    assert_string_equal(stands(w, pod_of(w, "ns/any", "x")), "idle");
    struct pod_record r = pod_of(w, "ns/patient", "x");
    r.shape.tolerations = &(struct toleration){.key = id(w, "slow"), .exists = true, .effects = TAINT_PREFER_NO_SCHEDULE};
    r.shape.tolerations_n = 1;
    assert_string_equal(stands(w, r), "full");
}

/* Required rules say which nodes do; wishes choose among those. Of a gang each member counts those before it. */
static void members_of_a_gang_spread_within_what_is_required(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 4; i++)
        node_record(w, a_node(w, arena_printf(w->records, "n%d", i), "cpu=4000",
                              arena_printf(w->records, "host=n%d,zone=%s", i, i < 2 ? "a" : "b")));
    struct pod_record first = pod_of(w, "ns/first", "data");
    first.shape = shape_of(w, "cpu=100", "host=n2");
    labelled(w, &first.shape, "data");
    assert_string_equal(stands(w, first), "n2");
    const struct pod_affinity near = {.pods = value_is(w, "app", "data"), .topology_key = id(w, "zone")};
    const struct pod_affinity apart = {.pods = value_is(w, "app", "web"), .topology_key = id(w, "host"), .anti = true, .weight = 1};
    struct gang_record g = a_group(w, "ns/g", NULL, 4);
    gang_record(w, g);
    for (int i = 0; i < 4; i++) {
        struct pod_record r = a_pod(w, arena_printf(w->records, "ns/web-%d", i), "ns/g", "cpu=100");
        labelled(w, &r.shape, "web");
        r.shape.affinities = &near;
        r.shape.affinities_n = 1;
        r.shape.pod_wishes = &apart;
        r.shape.pod_wishes_n = 1;
        pod_record(w, r);
    }
    run(w);
    int on[4] = {0};
    for (int i = 0; i < 4; i++) {
        const struct plan_entry *e = entry_of(w, EFFECT_BIND, arena_printf(w->records, "ns/web-%d", i));
        assert_non_null(e);
        on[text_of(w, e->node)[1] - '0']++;
    }
    assert_int_equal(on[0] + on[1], 0);
    assert_int_equal(on[2], 2);
    assert_int_equal(on[3], 2);
}

/* Of those that it would rather have, any. */
static void chance_chooses_among_those_that_are_wished_for(void **state)
{
    struct world *w = *state;
    int on[3] = {0};
    w->placement = PLACEMENT_RANDOM;
    for (int i = 0; i < 3; i++)
        node_record(w, a_node(w, arena_printf(w->records, "n%d", i), "cpu=64000", i ? "disk=new" : "disk=old"));
    struct node_preference wish = {value_is(w, "disk", "new"), 1};
    for (int i = 0; i < 40; i++) {
        struct pod_record r = pod_of(w, arena_printf(w->records, "ns/p%d", i), "x");
        r.shape.node_wishes = &wish;
        r.shape.node_wishes_n = 1;
        on[stands(w, r)[1] - '0']++;
    }
    assert_int_equal(on[0], 0);
    assert_true(on[1] > 0 && on[2] > 0);
}

/* A group in one HyperNode: its wishes choose among the nodes of that one alone. */
static void wishes_count_within_a_domain(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 4; i++)
        node_record(w, a_node(w, arena_printf(w->records, "n%d", i), i < 2 ? "cpu=1000" : "cpu=64000",
                              arena_printf(w->records, "host=n%d,disk=%s", i, i % 2 ? "new" : "old")));
    tiers(w, "1", "n0=s0 n1=s0 n2=s1 n3=s1");
    struct node_preference wish = {value_is(w, "disk", "new"), 1};
    struct gang_record g = a_group(w, "ns/g", NULL, 2);
    g.tiers = (struct tier_request){.mode = TOPOLOGY_REQUIRED, .highest = 1};
    gang_record(w, g);
    for (int i = 0; i < 2; i++) {
        struct pod_record r = a_pod(w, arena_printf(w->records, "ns/m%d", i), "ns/g", "cpu=1500");
        r.shape.node_wishes = &wish;
        r.shape.node_wishes_n = 1;
        pod_record(w, r);
    }
    run(w);
    for (int i = 0; i < 2; i++) {
        const struct plan_entry *e = entry_of(w, EFFECT_BIND, arena_printf(w->records, "ns/m%d", i));
        assert_non_null(e);
        assert_string_equal(text_of(w, e->node), "n3");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(preferred_nodes_come_first, setup, teardown),
        cmocka_unit_test_setup_teardown(replicas_that_avoid_each_other_spread_while_they_can, setup, teardown),
        cmocka_unit_test_setup_teardown(spreads_that_may_be_broken, setup, teardown),
        cmocka_unit_test_setup_teardown(nodes_that_are_better_avoided, setup, teardown),
        cmocka_unit_test_setup_teardown(chance_chooses_among_those_that_are_wished_for, setup, teardown),
        cmocka_unit_test_setup_teardown(wishes_count_within_a_domain, setup, teardown),
        cmocka_unit_test_setup_teardown(members_of_a_gang_spread_within_what_is_required, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
