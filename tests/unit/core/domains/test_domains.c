/* test_domains.c - pod sets in domains of a topology: tables (nodes and what is asked in, domains or a sentence out), then stories
 *
 * SOURCE Kueue, KEP 2724 and its documented examples.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "domain_words.h"

/* ---- one gang, an empty cluster ---- */

#define TWO_BLOCKS "b1/r1/x1:2 b1/r1/x2:1 b1/r2/x3:2 b1/r2/x4:1 b2/r1/x5:3 b2/r2/x6:4"

static const struct domain_case cases[] = {
    /* required */
    {"one node that is enough, the tightest", "H", "x1:4 x2:2 x3:3", "2 required=H", "x2=2"},
    {"of equal ones the first by name", "H", "x2:2 x1:2", "2 required=H", "x1=2"},
    {"a node must hold all", "H", "x1:1 x2:2", "3 required=H",
     "couldn't assign flavors to pod set main: topology \"t\" allows to fit only 2 out of 3 pod(s)"},
    {"none of them", "H", "x1:1 x2:1", "1 required=H cpu=2",
     "couldn't assign flavors to pod set main: topology \"t\" doesn't allow to fit any of 1 pod(s). Total nodes: 2; excluded: resource \"cpu\": 2"},
    {"the tightest rack, of equal ones the first by path", "BRH", TWO_BLOCKS, "3 required=R", "x1=2 x2=1"},
    {"a rack of two nodes", "BRH", "b1/r1/x1:2 b1/r1/x2:1 b1/r2/x3:1", "3 required=R", "x1=2 x2=1"},
    {"a block: the tightest", "BRH", TWO_BLOCKS, "6 required=B", "x1=2 x2=1 x3=2 x4=1"},
    {"a block: the other has too few", "BRH", TWO_BLOCKS, "7 required=B", "x5=3 x6=4"},
    {"a block: neither", "BRH", TWO_BLOCKS, "8 required=B",
     "couldn't assign flavors to pod set main: topology \"t\" allows to fit only 7 out of 8 pod(s)"},
    {"within a block as few racks as possible, the last the tightest", "BRH", "b1/r1/x1:4 b1/r2/x2:3 b1/r3/x3:1", "5 required=B",
     "x1=4 x3=1"},
    {"one rack of the block when one is enough", "BRH", "b1/r1/x1:4 b1/r2/x2:2 b1/r3/x3:3", "3 required=B", "x3=3"},
    {"racks of two blocks are not one rack", "BRH", "b1/r1/x1:1 b2/r1/x2:1", "2 required=R",
     "couldn't assign flavors to pod set main: topology \"t\" allows to fit only 1 out of 2 pod(s)"},
    {"the lowest level is no node", "BR", "b1/r1:2 b1/r1:1 b1/r2:2", "3 required=R", "b1,r1=3"},
    {"half nodes are no place", "BR", "b1/r1:1 b1/r1:1 b1/r2:2", "1 required=R cpu=2", "b1,r2=1"},
    {"where no rack holds it", "BR", "b1/r1:2 b1/r2:1", "3 required=R",
     "couldn't assign flavors to pod set main: topology \"t\" allows to fit only 2 out of 3 pod(s)"},
    {"a block over racks", "BR", "b1/r1:2 b1/r2:1", "3 required=B", "b1,r1=2 b1,r2=1"},
    {"nodes without the labels do not count", "BRH", "b1/r1/x1:1 -/-/x2:8 b1/-/x3:8", "2 required=B",
     "couldn't assign flavors to pod set main: topology \"t\" allows to fit only 1 out of 2 pod(s)"},
    {"no node has the labels", "BRH", "-/-/x2:8", "1 required=B", "couldn't assign flavors to pod set main: no topology domains at level: block"},
    /* preferred */
    {"the level that is preferred", "BRH", TWO_BLOCKS, "3 preferred=R", "x1=2 x2=1"},
    {"else the one above", "BRH", TWO_BLOCKS, "5 preferred=R", "x1=2 x2=1 x3=2"},
    {"else several at the top", "BRH", TWO_BLOCKS, "9 preferred=R", "x1=2 x2=1 x3=2 x6=4"},
    {"all there are", "BRH", TWO_BLOCKS, "13 preferred=R", "x1=2 x2=1 x3=2 x4=1 x5=3 x6=4"},
    {"more than there are", "BRH", TWO_BLOCKS, "14 preferred=R",
     "couldn't assign flavors to pod set main: topology \"t\" allows to fit only 13 out of 14 pod(s)"},
    {"a node", "BRH", TWO_BLOCKS, "4 preferred=H", "x6=4"},
    {"nodes of one rack", "BRH", "b1/r1/x1:2 b1/r1/x2:2 b1/r2/x3:2 b1/r2/x4:1", "3 preferred=H", "x3=2 x4=1"},
    {"the widest first, the last the tightest", "H", "x1:1 x2:5 x3:3 x4:2", "6 preferred=H", "x1=1 x2=5"},
    {"the widest first: three nodes", "H", "x1:1 x2:2 x3:2 x4:1", "5 preferred=H", "x1=1 x2=2 x3=2"},
    /* unconstrained */
    {"the node with the fewest places that is enough", "BRH", TWO_BLOCKS, "2 unconstrained", "x1=2"},
    {"the fullest first", "BRH", TWO_BLOCKS, "5 unconstrained", "x1=2 x2=1 x3=1 x4=1"},
    {"anywhere", "BRH", TWO_BLOCKS, "13 unconstrained", "x1=2 x2=1 x3=2 x4=1 x5=3 x6=4"},
    {"nobody asks, all flavors have a topology", "BRH", TWO_BLOCKS, "4", "x6=4"},
    {"who asks for nothing stands in domains, too", "RH", "r1/x1:1 r2/x2:2", "3 required=H cpu=0", "x1=3"},
    {"nobody asks, for nothing", "RH", "r1/x1:1 r2/x2:2", "2 cpu=0", "x1=2"},
    {"one of two sets asks for nothing", "RH", "r1/x1:1 r2/x2:2", "a 2 required=R cpu=0; b 2 required=R", "x1=2; x2=2"},
    {"unconstrained: more than there are", "H", "x1:1 x2:1", "3 unconstrained",
     "couldn't assign flavors to pod set main: topology \"t\" allows to fit only 2 out of 3 pod(s)"},
    /* preferred node affinity */
    {"the node that is wished for", "RH", "r1/x1:1 r1/x2:1 r1/x3:1", "1 unconstrained wish=H:x2:10", "x2=1"},
    {"nobody asks for a domain, but wishes for a node", "RH", "r1/x1:1 r1/x2:1 r1/x3:1", "1 wish=H:x3:10", "x3=1"},
    {"of two the one with more weight", "RH", "r1/x1:1 r1/x2:1 r1/x3:1", "1 unconstrained wish=H:x2:10,H:x3:11", "x3=1"},
    {"weights of one node add up", "RH", "r1/x1:1 r2/x2:1 r2/x3:1", "1 unconstrained wish=H:x1:10,H:x3:6,R:r2:5", "x3=1"},
    {"before the tightest", "H", "x1:4 x2:2 x3:3", "2 required=H wish=H:x1:1", "x1=2"},
    {"what is wished for and too small is left", "H", "x1:1 x2:2 x3:3", "2 required=H wish=H:x1:1", "x2=2"},
    {"required: of those that are enough the one that is wished for most", "H", "x1:1 x2:2 x3:3 x4:4", "2 required=H wish=H:x1:9,H:x4:2,H:x3:1",
     "x4=2"},
    {"preferred: what is wished for is too small, so the level above", "RH", "r1/x1:1 r1/x2:2 r2/x3:3", "2 preferred=H wish=H:x1:1",
     "x1=1 x2=1"},
    {"the rack whose nodes are wished for more together", "RH", "r1/x1:2 r1/x2:2 r2/x3:2 r2/x4:2",
     "2 required=R wish=H:x1:5,H:x3:3,H:x4:3", "x3=2"},
    {"in the rack the node that is wished for", "RH", "r1/x1:3 r1/x2:3", "2 required=R wish=H:x2:5", "x2=2"},
    {"the rest not where it is tightest, but where it is wished for", "RH", "r1/x1:3 r1/x2:5 r1/x3:2", "5 required=R wish=H:x1:1", "x1=3 x3=2"},
    {"slices, too", "RH", "r1/x1:2 r1/x2:4", "2 required=R slice=H:2 wish=H:x2:5", "x2=2"},
    {"a wish that no node grants", "H", "x1:4 x2:2", "2 required=H wish=H:x9:1", "x2=2"},
    {"where the lowest level is no node, nothing is wished for", "BR", "b1/r1:4 b1/r2:2", "2 required=R wish=R:r1:1", "b1,r2=2"},
    /* slices */
    {"two to a rack", "BRH", "b1/r1/x1:3 b1/r2/x2:2 b1/r3/x3:1", "4 required=B slice=R:2", "x1=2 x2=2"},
    {"slices are counted, not pods", "BRH", "b1/r1/x1:3 b1/r2/x2:1", "4 required=B slice=R:2",
     "couldn't assign flavors to pod set main: topology \"t\" allows to fit only 1 out of 2 slice(s)"},
    {"a slice over two nodes of its rack", "BRH", "b1/r1/x1:1 b1/r1/x2:1 b1/r2/x3:2", "4 required=B slice=R:2", "x1=1 x2=1 x3=2"},
    {"the slice's level need not be that of the set", "BRH", "b1/r1/x1:2 b2/r1/x2:2 b2/r2/x3:2", "4 required=B slice=H:2", "x2=2 x3=2"},
    {"preferred, with slices", "BRH", "b1/r1/x1:2 b2/r1/x2:2", "4 preferred=B slice=R:2", "x1=2 x2=2"},
    {"slices only", "BRH", "b1/r1/x1:2 b2/r1/x2:3", "4 slice=R:2", "x1=2 x2=2"},
    {"slices within slices", "BRH", "b1/r1/x1:3 b1/r1/x2:1 b1/r2/x3:2 b1/r2/x4:2", "4 required=B slice=R:4,H:2", "x3=2 x4=2"},
    {"slices within slices: too few", "BRH", "b1/r1/x1:3 b1/r1/x2:1", "4 required=B slice=R:4,H:2",
     "couldn't assign flavors to pod set main: topology \"t\" doesn't allow to fit; 0/1 slice(s) fit on level rack; 1/2 slice(s) fit on "
     "level kubernetes.io/hostname"},
    {"slices within slices: the node with the fewest places first", "BRH", "b1/r1/x1:6 b1/r1/x2:8 b1/r2/x3:2 b1/r2/x4:8",
     "16 required=B slice=R:8,H:4", "x1=4 x2=4 x4=8"},
    {"pods of a slice: the node with the fewest places first", "BRH", "b1/r1/x1:1 b1/r1/x2:2", "2 required=B slice=R:2", "x1=1 x2=1"},
    {"pods of a slice over nodes", "BRH", "b1/r1/x1:3 b1/r1/x2:2", "4 required=B slice=R:4", "x1=2 x2=2"},
    {"slices that those within them do not fill", "BRH", "b1/r1/x1:6", "6 required=B slice=R:3,H:2",
     "couldn't assign flavors to pod set main: slices on level kubernetes.io/hostname do not fill the slices above them"},
    {"slices above the set's level", "BRH", "b1/r1/x1:4", "4 required=H slice=R:2",
     "couldn't assign flavors to pod set main: podset slice topology rack is above the podset topology kubernetes.io/hostname"},
    {"what does not fill a slice stands beside them", "BRH", "b1/r1/x1:2 b1/r2/x2:1", "3 required=B slice=R:2", "x1=2 x2=1"},
    {"one slice larger than the set", "BRH", "b1/r1/x1:2", "1 required=B slice=R:2", "x1=1"},
    /* groups */
    {"the leader where the workers are", "BRH", "b1/r1/x1:3 b1/r2/x2:2 b2/r1/x3:5", "l 1 required=R group=g; w 4 required=R group=g",
     "x3=1; x3=4"},
    {"the leader takes a place from them", "BRH", "b1/r1/x1:4 b2/r1/x3:4", "l 1 required=R group=g; w 4 required=R group=g",
     "couldn't assign flavors to pod set w: topology \"t\" allows to fit only 4 out of 4 pod(s)"},
    {"preferred: the block above", "BRH", "b1/r1/x1:2 b1/r2/x2:3", "l 1 preferred=R group=g; w 4 preferred=R group=g", "x2=1; x1=2 x2=2"},
    {"fewer workers than a slice", "BRH", "b1/r1/x1:1 b1/r2/x2:3", "l 1 required=B group=g; w 2 required=B slice=R:4 group=g", "x2=1; x2=2"},
    {"more workers than a slice", "BRH", "b1/r1/x1:2 b1/r2/x2:4", "l 1 required=B group=g; w 5 required=B slice=R:4 group=g", "x1=1; x1=1 x2=4"},
    {"a group of two that are both of several pods", "RH", "r1/x1:2 r2/x2:3 r3/x3:9", "a 2 required=R group=g; b 3 required=R group=g",
     "couldn't assign flavors to pod set a: its group has to be two pod sets, one of them of a single pod"},
    {"a group of three", "RH", "r1/x1:2 r2/x2:3 r3/x3:9", "a 1 required=R group=g; b 3 required=R group=g; c 1 required=R group=g",
     "couldn't assign flavors to pod set a: its group has to be two pod sets, one of them of a single pod"},
    {"a group of one", "RH", "r1/x1:2 r2/x2:3", "2 required=R group=g", "x1=2"},
    {"two sets that are no group go one after the other", "H", "x1:2 x2:3", "a 2 required=H; b 3 required=H", "x1=2; x2=3"},
    /* places are of pods, not of CPUs */
    {"so many as are whole on each node", "RH", "r1/x1:5 r1/x2:3 r2/x3:8", "4 required=R cpu=2", "x3=4"},
    {"of equal racks the first, half CPUs do not count", "RH", "r1/x1:3 r1/x2:3 r2/x3:5", "2 required=R cpu=2", "x1=1 x2=1"},
    {"a tie is found after the halves are left out", "RH", "r1/x1:3 r2/x2:2", "1 required=R cpu=2", "x1=1"},
    /* required, more levels */
    {"two racks of one block", "BRH", "b1/r1/x1:2 b1/r2/x2:2 b2/r1/x3:3", "4 required=B", "x1=2 x2=2"},
    {"the block with the fewest places that are enough", "BRH", "b1/r1/x1:5 b2/r1/x2:4 b3/r1/x3:9", "4 required=B", "x2=4"},
    {"all of a block", "BH", "b1/x1:3 b1/x2:3 b1/x3:3", "9 required=B", "x1=3 x2=3 x3=3"},
    {"one pod: the tightest rack", "BRH", "b1/r1/x1:4 b1/r1/x2:1 b1/r2/x3:2", "1 required=R", "x3=1"},
    {"in the rack the tightest node", "RH", "r1/x1:4 r1/x2:2 r1/x3:3", "2 required=R", "x2=2"},
    {"levels in between do not matter", "BRH", "b1/r1/x1:1 b1/r2/x2:1 b1/r3/x3:1", "3 required=B", "x1=1 x2=1 x3=1"},
    /* preferred, more levels */
    {"one node when one is enough", "RH", "r1/x1:2 r1/x2:2 r2/x3:4", "4 preferred=H", "x3=4"},
    {"no node is: those of the tightest rack", "RH", "r1/x1:3 r1/x2:3 r2/x3:2 r2/x4:2", "4 preferred=H", "x3=2 x4=2"},
    {"two blocks: the widest, then the tightest", "BH", "b1/x1:3 b2/x2:5 b3/x3:1", "6 preferred=B", "x2=5 x3=1"},
    {"two blocks that are equal", "BH", "b2/x2:2 b1/x1:2", "3 preferred=B", "x1=2 x2=1"},
    /* unconstrained, more */
    {"one pod on the fullest node", "H", "x1:4 x2:1 x3:2", "1 unconstrained", "x2=1"},
    {"slices anywhere: the fewest that are enough", "RH", "r1/x1:2 r2/x2:4", "4 unconstrained slice=R:2", "x2=4"},
    /* slices, more */
    {"slices of one pod are pods", "RH", "r1/x1:2 r2/x2:3", "3 required=R slice=H:1", "x2=3"},
    {"of nodes: half a node is none", "RH", "r1/x1:3 r1/x2:3 r1/x3:2", "6 required=R slice=H:2", "x1=2 x2=2 x3=2"},
    {"of nodes: pods would find places, slices do not", "RH", "r1/x1:1 r1/x2:1 r1/x3:2", "4 required=R slice=H:2",
     "couldn't assign flavors to pod set main: topology \"t\" allows to fit only 1 out of 2 slice(s)"},
    {"three layers", "BRH", "b1/r1/x1:4 b1/r2/x2:2 b1/r2/x3:2", "8 required=B slice=B:8,R:4,H:2", "x1=4 x2=2 x3=2"},
    {"three layers: the innermost lacks a place", "BRH", "b1/r1/x1:4 b1/r2/x2:3 b1/r2/x3:1", "8 required=B slice=B:8,R:4,H:2",
     "couldn't assign flavors to pod set main: topology \"t\" doesn't allow to fit; 0/1 slice(s) fit on level block; 1/2 slice(s) fit on "
     "level rack; 3/4 slice(s) fit on level kubernetes.io/hostname"},
    {"inner slices that are larger than the outer", "BRH", "b1/r1/x1:8", "4 required=B slice=R:2,H:4",
     "couldn't assign flavors to pod set main: slices on level kubernetes.io/hostname do not fill the slices above them"},
    /* what does not fill a slice */
    {"in the same rack", "RH", "r1/x1:2 r1/x2:1 r2/x3:9", "3 required=R slice=H:2", "x1=2 x2=1"},
    {"a rack that has no place for it is none", "RH", "r1/x1:2 r2/x3:3", "3 required=R slice=H:2", "x3=3"},
    {"no rack has one", "RH", "r1/x1:2 r2/x3:2", "3 required=R slice=H:2",
     "couldn't assign flavors to pod set main: topology \"t\" allows to fit only 2 out of 3 pod(s)"},
    {"preferred: in the same rack", "RH", "r1/x1:2 r1/x2:2 r2/x3:1", "3 preferred=R slice=H:2", "x1=2 x2=1"},
    {"preferred: else in another", "RH", "r1/x1:2 r2/x3:1", "3 preferred=R slice=H:2", "x1=2 x3=1"},
    {"a place that inner slices leave over", "RH", "r1/x1:3 r1/x2:2", "5 required=R slice=R:4,H:2", "x1=3 x2=2"},
    {"beside the leader", "RH", "r1/x1:3 r2/x3:4", "l 1 required=R group=g; w 3 required=R slice=H:2 group=g", "x3=1; x3=3"},
    /* groups, more */
    {"the leader on the widest node, where the workers have places enough all the same", "RH", "r1/x1:4 r1/x2:1",
     "l 1 required=R group=g; w 4 required=R group=g", "x1=1; x1=3 x2=1"},
    {"a group in one node", "RH", "r1/x1:4 r1/x2:5", "l 1 required=H group=g; w 4 required=H group=g", "x2=1; x2=4"},
    /* levels and flavors */
    {"no such level", "BRH", TWO_BLOCKS, "1 required=zone",
     "couldn't assign flavors to pod set main: Flavor \"f\" does not contain the requested level"},
    {"no such level for slices", "BRH", TWO_BLOCKS, "2 required=B slice=zone:2",
     "couldn't assign flavors to pod set main: Flavor \"f\" does not contain the requested level"},
};

static void every_case(void **state)
{
    int wrong_n = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world *w = *state;
        domain_case_begin(w, &cases[i]);
        const char *got = domain_case_run(w, &cases[i]);
        if (strcmp(got, cases[i].expected) != 0)
            print_error("%s (%s), case %d\n  expected %s\n  got      %s\n", cases[i].what, cases[i].ask, ++wrong_n, cases[i].expected, got);
        world_free(w);
        *w = world_new();
    }
    assert_int_equal(wrong_n, 0);
}

/* ---- stories ---- */

static void cluster(struct world *w, const char *levels, const char *nodes)
{
    domain_cluster(w, levels, nodes);
}

static void usage_counts(void **state)
{
    struct world *w = *state;
    cluster(w, "BRH", TWO_BLOCKS);
    gang_record(w, domain_gang(w, "a", "3 required=R"));
    gang_record(w, domain_gang(w, "b", "4 required=R"));
    gang_record(w, domain_gang(w, "c", "3 required=R"));
    step(w);
    assert_string_equal(domains_of(w, "a"), "x1=2 x2=1");
    assert_string_equal(domains_of(w, "b"), "x6=4");
    assert_string_equal(domains_of(w, "c"), "x3=2 x4=1");
}

static void foreign_pods_count(void **state)
{
    struct world *w = *state;
    cluster(w, "H", "x1:2 x2:3");
    struct pod_record p = a_pod(w, "ns/other", NULL, "cpu=2000");
    p.ours = false;
    p.node = id(w, "x2");
    p.phase = POD_RUNNING;
    pod_record(w, p);
    gang_record(w, domain_gang(w, "a", "2 required=H"));
    step(w);
    assert_string_equal(domains_of(w, "a"), "x1=2");
}

/* A pod of somebody else's that wants none with app=`app` on its node. */
static void anti_affine_pod(struct world *w, const char *on, const char *app)
{
    struct pod_record p = a_pod(w, "ns/redis", NULL, "cpu=1");
    name_id value = id(w, app), ns = id(w, "ns");
    struct requirement wanted = {.key = id(w, "app"), .op = REQUIRE_IN, .values = &value, .values_n = 1};
    struct pod_affinity term = {.pods = {.all = &wanted, .all_n = 1}, .namespaces = &ns, .namespaces_n = 1,
                                .topology_key = id(w, "kubernetes.io/hostname"), .anti = true};
    p.ours = false;
    p.node = id(w, on);
    p.phase = POD_RUNNING;
    p.shape.affinities = &term;
    p.shape.affinities_n = 1;
    pod_record(w, p);
}

static struct gang_record of_app(struct world *w, struct gang_record g, const char *app)
{
    struct pod_set *set = (struct pod_set *)g.pod_sets;
    set->shape.labels = labels_of(w, arena_printf(w->records, "app=%s", app), &set->shape.labels_n);
    set->shape.ns = id(w, "ns");
    return g;
}

static void rules_about_others_do_not_touch_it(void **state)
{
    struct world *w = *state;
    cluster(w, "BRH", "b1/r1/x1:2 b1/r2/x2:2 b1/r2/x3:9");
    anti_affine_pod(w, "x3", "redis");
    gang_record(w, of_app(w, domain_gang(w, "a", "4 required=B slice=R:2"), "other"));
    gang_record(w, of_app(w, domain_gang(w, "b", "2 unconstrained"), "other"));
    step(w);
    assert_string_equal(domains_of(w, "a"), "x2=2 x3=2");
    assert_string_equal(domains_of(w, "b"), "x1=2");
}

static void rules_of_others_forbid_a_node(void **state)
{
    struct world *w = *state;
    cluster(w, "BRH", "b1/r1/x1:2 b1/r2/x2:2 b1/r2/x3:9");
    anti_affine_pod(w, "x3", "redis");
    gang_record(w, of_app(w, domain_gang(w, "a", "4 required=B"), "redis"));
    gang_record(w, of_app(w, domain_gang(w, "slices", "4 required=B slice=R:2"), "redis"));
    step(w);
    assert_string_equal(domains_of(w, "a"), "x1=2 x2=2");
    assert_string_equal(domains_of(w, "slices"), "");
    gone(w, CHANGE_POD_GONE, "ns/redis");
    step(w);
    assert_string_equal(domains_of(w, "slices"), "x3=4");
}

static void waits_until_a_node_has_the_label(void **state)
{
    struct world *w = *state;
    cluster(w, "BH", "b1/x1:1 -/x2:1");
    gang_record(w, domain_gang(w, "a", "2 required=B"));
    step(w);
    assert_string_equal(domains_of(w, "a"), "");
    node(w, "x2", "cpu=1000,pods=110", "block=b1,kubernetes.io/hostname=x2,tas=yes");
    step(w);
    assert_string_equal(domains_of(w, "a"), "x1=1 x2=1");
}

static void waits_for_a_level(void **state)
{
    struct world *w = *state;
    cluster(w, "BH", "b1/x1:1 b1/x2:1");
    gang_record(w, domain_gang(w, "a", "2 required=R"));
    step(w);
    assert_string_equal(why(w, "a"), "couldn't assign flavors to pod set main: Flavor \"f\" does not contain the requested level");
    for (int i = 1; i <= 2; i++) {
        char name[8], labels[80];
        snprintf(name, sizeof name, "x%d", i);
        snprintf(labels, sizeof labels, "block=b1,rack=r1,kubernetes.io/hostname=%s,tas=yes", name);
        node(w, name, "cpu=1000,pods=110", labels);
    }
    topology(w, "t", "block,rack,kubernetes.io/hostname");
    step(w);
    assert_string_equal(domains_of(w, "a"), "x1=1 x2=1");
}

static void nothing_without_its_topology(void **state)
{
    struct world *w = *state;
    cluster(w, "H", "x1:1");
    gone(w, CHANGE_TOPOLOGY_GONE, "t");
    gang_record(w, domain_gang(w, "a", "1 required=H"));
    step(w);
    assert_string_equal(why(w, "a"), "ClusterQueue q is inactive: there is no Topology \"t\" for TAS flavor \"f\"");
    topology(w, "t", "kubernetes.io/hostname");
    step(w);
    assert_string_equal(domains_of(w, "a"), "x1=1");
}

/* Flavors in this order, with room for all. */
static void queue_with_two(struct world *w, const char *first, const char *second)
{
    struct queue_words q;
    queue_begin(w, &q, "q", NULL);
    queue_quota(w, &q, first, "cpu", 100000, NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, second, "cpu", 100000, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
}

static void flavors_with_and_without(void **state)
{
    struct world *w = *state;
    cluster(w, "H", "x1:4");
    node(w, "y1", "cpu=4000,pods=110", "tas=no");
    flavor(w, "plain", "tas=no");
    queue_with_two(w, "f", "plain");
    gang_record(w, domain_gang(w, "asks", "2 required=H"));
    gang_record(w, domain_gang(w, "does-not", "2"));
    gang_record(w, domain_gang(w, "large", "5 required=H"));
    step(w);
    assert_string_equal(domains_of(w, "asks"), "x1=2");
    assert_string_equal(domains_of(w, "does-not"), "");
    assert_int_equal(state_gang_phase(w->s, id(w, "does-not")), GANG_RESERVED);
    assert_non_null(strstr(why(w, "large"), "Flavor \"plain\" does not support TopologyAwareScheduling"));
    flavor(w, "plain", "tas=none");
    gang_record(w, domain_gang(w, "b", "1"));
    step(w);
    assert_non_null(strstr(why(w, "b"), "Flavor \"f\" supports only TopologyAwareScheduling"));
}

/* SOURCE Kueue: where some flavor of the queue has no topology, a set that asks for none is given that, whatever its sisters ask for. */
static void one_set_asks_and_the_other_does_not(void **state)
{
    struct world *w = *state;
    cluster(w, "H", "x1:4");
    node(w, "y1", "cpu=4000,pods=110", "tas=no");
    gang_record(w, domain_gang(w, "only", "a 2 required=H; b 1"));
    step(w);
    assert_string_equal(domains_of(w, "only"), "x1=2; x1=1");
    flavor(w, "plain", "tas=no");
    queue_with_two(w, "f", "plain");
    gone(w, CHANGE_GANG_GONE, "only");
    struct gang_record g = domain_gang(w, "mixed", "a 3 required=H; b 2");
    gang_record(w, g);
    step(w);
    assert_string_equal(domains_of(w, "mixed"), "x1=3");
    g.admitted = true;
    g.admitted_queue = id(w, "q");
    g.choices = (struct flavor_choice[]){{0, id(w, "cpu"), id(w, "f")}, {1, id(w, "cpu"), id(w, "plain")}};
    g.choices_n = 2;
    gang_record(w, g);
    for (int i = 0; i < 5; i++)
        pod_record(w, pod_in(w, arena_printf(w->records, "ns/p-%d", i), "mixed", i < 3 ? "a" : "b", "cpu=1000", i < 3 ? "tas=yes" : "tas=no"));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 5);
    assert_string_equal(node_of(w, "ns/p-2"), "x1");
    assert_string_equal(node_of(w, "ns/p-3"), "y1");
    assert_string_equal(domains_of(w, "mixed"), "x1=3");
}

/* Queue "q": two resource groups, CPUs of flavor "f" and GPUs of flavor "g", each flavor with its topology. */
static void two_resource_groups(struct world *w, const char *topology_of_g)
{
    topology(w, "t", "kubernetes.io/hostname");
    topology_flavor(w, "f", "t", "tas=yes");
    topology_flavor(w, "g", topology_of_g, "tas=yes");
    name_id resources[2] = {id(w, "cpu"), id(w, GPU)}, flavors[2] = {id(w, "f"), id(w, "g")};
    struct resource_group groups[2];
    struct quota_record quotas[2];
    for (int i = 0; i < 2; i++) {
        groups[i] = (struct resource_group){&resources[i], 1, &flavors[i], 1};
        quotas[i] = (struct quota_record){.flavor = flavors[i], .resource = resources[i], .nominal = 1000000,
                                          .borrowing_limit = NO_LIMIT, .lending_limit = NO_LIMIT};
    }
    struct queue_record q = {.name = id(w, "q"), .groups = groups, .groups_n = 2, .quotas = quotas, .quotas_n = 2};
    state_apply(w->s, &(struct change){.type = CHANGE_QUEUE, .queue = q});
    local_queue(w, "ns/lq", "q");
    node(w, "x1", "cpu=8000,pods=110," GPU "=8", "kubernetes.io/hostname=x1,tas=yes");
}

static void flavors_of_several_topologies_are_refused(void **state)
{
    struct world *w = *state;
    two_resource_groups(w, "t");
    struct gang_record g = domain_gang(w, "a", "l 1 required=H group=g; w 2 required=H group=g");
    for (int i = 0; i < 2; i++)
        ((struct pod_set *)g.pod_sets)[i].shape = shape_of(w, "cpu=1000," GPU "=1", "");
    gang_record(w, g);
    struct gang_record single = domain_gang(w, "b", "2 required=H");
    ((struct pod_set *)single.pod_sets)->shape = ((struct pod_set *)g.pod_sets)->shape;
    gang_record(w, single);
    step(w);
    assert_string_equal(domains_of(w, "a"), "");
    assert_string_equal(why(w, "a"), "couldn't assign flavors to pod set l: more than one TAS flavor assigned");
    assert_string_equal(domains_of(w, "b"), "");
    assert_string_equal(why(w, "b"), "couldn't assign flavors to pod set main: more than one TAS flavor assigned");
}

static void the_reasons_count_nodes(void **state)
{
    struct world *w = *state;
    cluster(w, "H", "x1:4 x2:1");
    struct node_record r = a_node(w, "x3", "cpu=9000,pods=110", "kubernetes.io/hostname=x3,tas=yes");
    r.taints = &(struct taint){id(w, "key"), id(w, "value"), TAINT_NO_SCHEDULE};
    r.taints_n = 1;
    node_record(w, r);
    node(w, "x4", "cpu=9000,pods=110", "kubernetes.io/hostname=x4,tas=yes,disk=hdd");
    node(w, "other", "cpu=9000,pods=110", "kubernetes.io/hostname=other");
    struct gang_record g = domain_gang(w, "a", "3 required=H cpu=2");
    struct pod_set *set = (struct pod_set *)g.pod_sets;
    set->shape.node_labels = labels_of(w, "disk=ssd", &set->shape.node_labels_n);
    node(w, "x1", "cpu=4000,pods=110", "kubernetes.io/hostname=x1,tas=yes,disk=ssd");
    node(w, "x2", "cpu=1000,pods=110", "kubernetes.io/hostname=x2,tas=yes,disk=ssd");
    gang_record(w, g);
    step(w);
    assert_string_equal(why(w, "a"), "couldn't assign flavors to pod set main: topology \"t\" allows to fit only 2 out of 3 pod(s). Total "
                                     "nodes: 4; excluded: nodeSelector: 1, resource \"cpu\": 1, taint \"key=value:NoSchedule\": 1");
}

static void tainted_node(struct world *w, const char *name, const char *rack, const char *key, const char *value)
{
    struct node_record r = a_node(w, name, "cpu=9000,pods=110", arena_printf(w->records, "rack=%s,tas=yes", rack));
    r.taints = &(struct taint){id(w, key), id(w, value), TAINT_NO_SCHEDULE};
    r.taints_n = 1;
    node_record(w, r);
}

static void the_reasons_count_domains_that_are_no_nodes(void **state)
{
    struct world *w = *state;
    cluster(w, "R", "r1:4");
    tainted_node(w, "t1", "r2", "a", "1");
    tainted_node(w, "t2", "r2", "a", "1");
    tainted_node(w, "t3", "r3", "a", "1");
    tainted_node(w, "t4", "r4", "b", "");
    gang_record(w, domain_gang(w, "a", "5 required=R"));
    step(w);
    assert_string_equal(why(w, "a"), "couldn't assign flavors to pod set main: topology \"t\" allows to fit only 4 out of 5 pod(s). Total "
                                     "nodes: 4; excluded: taint \"a=1:NoSchedule\": 2, taint \"b:NoSchedule\": 1");
}

/* Kueue's sentence counts what is in the topology; the tree says what is not, and why. */
static void nodes_without_a_label_of_the_topology_are_told(void **state)
{
    struct world *w = *state;
    cluster(w, "R", "r1:4");
    node(w, "bare-1", "cpu=9000,pods=110", "tas=yes");
    node(w, "bare-2", "cpu=9000,pods=110", "tas=yes");
    node(w, "full", "cpu=500,pods=110", "tas=yes");
    node(w, "other", "cpu=9000,pods=110", "disk=ssd");
    gang_record(w, domain_gang(w, "a", "5 required=R"));
    step(w);
    assert_string_equal(why(w, "a"), "couldn't assign flavors to pod set main: topology \"t\" allows to fit only 4 out of 5 pod(s)");
    assert_non_null(strstr(why_tree(w, "a"), "2 node(s) with room are in no domain of it: they have no label rack"));
}

static void the_reasons_count_ports(void **state)
{
    struct world *w = *state;
    struct host_port port = {.port = 80};
    cluster(w, "H", "x1:4");
    struct pod_record p = a_pod(w, "ns/web", NULL, "cpu=1");
    p.ours = false;
    p.node = id(w, "x1");
    p.phase = POD_RUNNING;
    p.shape.ports = &port;
    p.shape.ports_n = 1;
    pod_record(w, p);
    struct gang_record g = domain_gang(w, "a", "1 required=H");
    ((struct pod_set *)g.pod_sets)->shape.ports = &port;
    ((struct pod_set *)g.pod_sets)->shape.ports_n = 1;
    gang_record(w, g);
    step(w);
    assert_string_equal(why(w, "a"), "couldn't assign flavors to pod set main: topology \"t\" doesn't allow to fit any of 1 pod(s). Total "
                                     "nodes: 1; excluded: ports or devices: 1");
}

static void a_group_in_two_topologies_is_refused(void **state)
{
    struct world *w = *state;
    topology(w, "t2", "kubernetes.io/hostname");
    two_resource_groups(w, "t2");
    struct gang_record g = domain_gang(w, "a", "l 1 required=H group=g; w 2 required=H group=g");
    ((struct pod_set *)g.pod_sets)[1].shape = shape_of(w, GPU "=1", "");
    gang_record(w, g);
    step(w);
    assert_string_equal(why(w, "a"), "couldn't assign flavors to pod set l: the pod sets of its group were given flavors of different topologies");
}

/* ---- sets with and without domains ---- */

/* Set `at` stands only on nodes with drv=yes. */
static void only_on_drivers(struct world *w, const struct gang_record *g, int at)
{
    struct pod_set *set = (struct pod_set *)&g->pod_sets[at];
    set->shape.node_labels = labels_of(w, "drv=yes", &set->shape.node_labels_n);
}

static void room_for_domains_wakes_who_lacks_room_beside_them(void **state)
{
    struct world *w = *state;
    topology(w, "t", "rack,kubernetes.io/hostname");
    topology_flavor(w, "f", "t", "tas=yes");
    flavor(w, "plain", "");
    queue_with_two(w, "plain", "f");
    local_queue(w, "ns/lq", "q");
    node(w, "x1", "cpu=2000,pods=110", "rack=r1,kubernetes.io/hostname=x1,tas=yes,drv=yes");
    node(w, "x2", "cpu=1000,pods=110", "rack=r0,kubernetes.io/hostname=x2,tas=yes");
    struct gang_record g = domain_gang(w, "a", "w 2 required=kubernetes.io/hostname; drv 2");
    only_on_drivers(w, &g, 1);
    gang_record(w, g);
    step(w);
    assert_string_equal(domains_of(w, "a"), "");
    node(w, "x2", "cpu=2000,pods=110", "rack=r0,kubernetes.io/hostname=x2,tas=yes");
    step(w);
    assert_string_equal(domains_of(w, "a"), "x2=2");
    assert_int_equal(state_gang_phase(w->s, id(w, "a")), GANG_RESERVED);
}

/* ---- after admission ---- */

static struct gang_record told_domains(struct world *w, const char *name, const char *ask, const struct domain_choice *told, uint32_t n)
{
    struct gang_record g = domain_admitted(w, domain_gang(w, name, ask));
    g.domains = told;
    g.domains_n = n;
    return g;
}

static void a_lost_place_is_found_in_the_same_domain(void **state)
{
    struct world *w = *state;
    cluster(w, "RH", "r1/x1:1 r1/x2:1 r1/x3:1 r2/x4:9");
    struct gang_record g = domain_gang(w, "a", "2 required=R");
    gang_record(w, g);
    step(w);
    assert_string_equal(domains_of(w, "a"), "x1=1 x2=1");
    gang_record(w, domain_admitted(w, g));
    struct pod_record p = pod_in(w, "ns/a-0", "a", "main", "cpu=1000", "tas=yes");
    pod_record(w, p);
    p = pod_in(w, "ns/a-1", "a", "main", "cpu=1000", "tas=yes");
    pod_record(w, p);
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 2);
    const char *lost = node_of(w, "ns/a-0");
    assert_string_equal(lost, "x1");
    gone(w, CHANGE_POD_GONE, "ns/a-0");
    gone(w, CHANGE_NODE_GONE, lost);
    pod_record(w, pod_in(w, "ns/a-2", "a", "main", "cpu=1000", "tas=yes"));
    step(w);
    assert_string_equal(node_of(w, "ns/a-2"), "x3");
    assert_string_equal(domains_of(w, "a"), "x2=1 x3=1");
}

static void a_lost_place_of_a_slice_is_found_with_the_slice(void **state)
{
    struct world *w = *state;
    cluster(w, "BRH", "b1/r1/x1:2 b1/r2/x2:1 b1/r2/x3:1 b1/r2/x4:2 b1/r3/x5:1");
    struct domain_choice told[] = {{0, id(w, "x1"), 2}, {0, id(w, "x2"), 1}, {0, id(w, "x3"), 1}};
    gang_record(w, told_domains(w, "a", "4 required=B slice=R:2", told, 3));
    for (int i = 0; i < 4; i++)
        pod_record(w, pod_in(w, arena_printf(w->records, "ns/a-%d", i), "a", "main", "cpu=1000", "tas=yes"));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 4);
    for (int i = 0; i < 4; i++)
        if (!strcmp(node_of(w, arena_printf(w->records, "ns/a-%d", i)), "x3"))
            gone(w, CHANGE_POD_GONE, arena_printf(w->records, "ns/a-%d", i));
    gone(w, CHANGE_NODE_GONE, "x3");
    pod_record(w, pod_in(w, "ns/a-9", "a", "main", "cpu=1000", "tas=yes"));
    step(w);
    assert_string_equal(node_of(w, "ns/a-9"), "x4");
}

static void a_new_start_remembers_where_it_was_told(void **state)
{
    struct world *w = *state;
    cluster(w, "RH", "r1/x1:2 r1/x2:2 r2/x4:9");
    struct gang_record g = domain_admitted(w, domain_gang(w, "a", "3 required=R"));
    struct domain_choice *told = arena_zero(w->records, 2, sizeof *told);
    told[0] = (struct domain_choice){0, id(w, "x1"), 1};
    told[1] = (struct domain_choice){0, id(w, "x2"), 2};
    g.domains = told;
    g.domains_n = 2;
    gang_record(w, g);
    step(w);
    assert_string_equal(domains_of(w, "a"), "x1=1 x2=2");
    gang_record(w, domain_gang(w, "b", "2 required=R"));
    gang_record(w, domain_gang(w, "c", "1 unconstrained"));
    step(w);
    assert_string_equal(domains_of(w, "b"), "x4=2");
    assert_string_equal(domains_of(w, "c"), "x1=1");
}

/* It was stopped and is let in again elsewhere, while its pod takes its time to end: what that one leaves is not where it was told. */
static void a_pod_of_an_earlier_admission_leaves_it_no_place(void **state)
{
    struct world *w = *state;
    cluster(w, "RH", "r1/x1:1 r2/x4:1");
    struct gang_record g = domain_gang(w, "a", "1 unconstrained"), stopped = domain_admitted(w, g);
    gang_record(w, g);
    step(w);
    assert_string_equal(domains_of(w, "a"), "x1=1");
    gang_record(w, domain_admitted(w, g));
    struct pod_record p = pod_in(w, "ns/a-0", "a", "main", "cpu=1000", "tas=yes");
    p.node = id(w, "x1");
    p.phase = POD_RUNNING;
    pod_record(w, p);
    step(w);
    stopped.active = false;
    gang_record(w, stopped);
    step(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 1);
    p.deleting = true;
    pod_record(w, p);
    outcome(w, EFFECT_EVICT, "a", "", OUTCOME_DONE);
    gang_record(w, g);
    step(w);
    assert_string_equal(domains_of(w, "a"), "x4=1");
    gone(w, CHANGE_POD_GONE, "ns/a-0");
    step(w);
    assert_string_equal(domains_of(w, "a"), "x4=1");
}

static void no_more_is_told_than_the_set_has(void **state)
{
    struct world *w = *state;
    cluster(w, "RH", "r1/x1:2 r1/x2:2 r2/x4:9");
    struct domain_choice told[] = {{0, id(w, "x1"), INT32_MAX}, {0, id(w, "x1"), INT32_MAX}, {0, id(w, "x9"), INT32_MAX}};
    gang_record(w, told_domains(w, "a", "3 required=R", told, 3));
    step(w);
    assert_string_equal(domains_of(w, "a"), "x1=2 x2=1");
    for (int i = 0; i < 3; i++)
        pod_record(w, pod_in(w, arena_printf(w->records, "ns/a-%d", i), "a", "main", "cpu=1000", "tas=yes"));
    step(w);
    assert_string_equal(domains_of(w, "a"), "x1=2 x2=1");
    assert_int_equal(effects(w, EFFECT_BIND), 3);
}

static void without_room_there_it_starts_elsewhere(void **state)
{
    struct world *w = *state;
    cluster(w, "RH", "r1/x1:2 r2/x4:9");
    struct gang_record g = domain_gang(w, "a", "2 required=R");
    gang_record(w, g);
    step(w);
    assert_string_equal(domains_of(w, "a"), "x1=2");
    gang_record(w, domain_admitted(w, g));
    step(w);
    gone(w, CHANGE_NODE_GONE, "x1");
    step(w);
    assert_string_equal(domains_of(w, "a"), "x1=2");
    wait_for_lost(w);
    assert_string_equal(domains_of(w, "a"), "x4=2");
}

static void a_topology_that_changes_moves_nobody(void **state)
{
    struct world *w = *state;
    cluster(w, "RH", "r1/x1:2 r2/x4:9");
    struct gang_record g = domain_gang(w, "a", "2 required=R");
    gang_record(w, g);
    step(w);
    gang_record(w, domain_admitted(w, g));
    for (int i = 0; i < 2; i++)
        pod_record(w, pod_in(w, arena_printf(w->records, "ns/a-%d", i), "a", "main", "cpu=1000", "tas=yes"));
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 2);
    topology(w, "t", "block,kubernetes.io/hostname"); /* of no node */
    step(w);
    assert_string_equal(domains_of(w, "a"), "x1=2");
    topology(w, "t", "rack");
    step(w);
    assert_string_equal(domains_of(w, "a"), "x1=2");
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
}

static void a_group_that_lost_all_starts_elsewhere_together(void **state)
{
    struct world *w = *state;
    w->lost.patient = true;
    cluster(w, "RH", "r3/x3:5");
    struct gang_record g = domain_gang(w, "a", "l 1 required=R group=g; w 4 required=R group=g");
    gang_record(w, g);
    step(w);
    assert_string_equal(domains_of(w, "a"), "x3=1; x3=4");
    gang_record(w, domain_admitted(w, g));
    step(w);
    node(w, "x1", "cpu=1000,pods=110", "rack=r1,kubernetes.io/hostname=x1,tas=yes");
    node(w, "x2", "cpu=4000,pods=110", "rack=r2,kubernetes.io/hostname=x2,tas=yes");
    gone(w, CHANGE_NODE_GONE, "x3");
    step(w);
    wait_for_lost(w);
    assert_string_equal(domains_of(w, "a"), "x3=1; x3=4");
    node(w, "x5", "cpu=5000,pods=110", "rack=r5,kubernetes.io/hostname=x5,tas=yes");
    step(w);
    assert_string_equal(domains_of(w, "a"), "x5=1; x5=4");
}

static void a_group_begins_anew_where_it_was_told(void **state)
{
    struct world *w = *state;
    cluster(w, "RH", "r1/x1:3 r2/x2:2 r2/x3:3");
    struct domain_choice told[] = {{0, id(w, "gone"), 1}, {1, id(w, "x2"), 2}};
    gang_record(w, told_domains(w, "a", "l 1 required=R group=g; w 2 required=R group=g", told, 2));
    step(w);
    wait_for_lost(w);
    assert_string_equal(domains_of(w, "a"), "x3=1; x2=2");
}

static void a_lost_leader_comes_back_to_his_workers(void **state)
{
    struct world *w = *state;
    cluster(w, "RH", "r1/x1:1 r2/x2:1 r2/x3:2");
    struct domain_choice told[] = {{0, id(w, "x2"), 1}, {1, id(w, "x3"), 1}};
    gang_record(w, told_domains(w, "a", "l 1 required=R group=g; w 1 required=R group=g", told, 2));
    pod_record(w, pod_in(w, "ns/l", "a", "l", "cpu=1000", "tas=yes"));
    pod_record(w, pod_in(w, "ns/w", "a", "w", "cpu=1000", "tas=yes"));
    step(w);
    assert_string_equal(node_of(w, "ns/l"), "x2");
    assert_string_equal(node_of(w, "ns/w"), "x3");
    gone(w, CHANGE_POD_GONE, "ns/l");
    gone(w, CHANGE_NODE_GONE, "x2");
    pod_record(w, pod_in(w, "ns/l2", "a", "l", "cpu=1000", "tas=yes"));
    step(w);
    assert_string_equal(node_of(w, "ns/l2"), "x3");
    assert_string_equal(domains_of(w, "a"), "x3=1; x3=1");
}

static void others_go_for_a_domain(void **state)
{
    struct world *w = *state;
    struct queue_words q;
    cluster(w, "RH", "r1/x1:2 r1/x2:2 r2/x4:3");
    queue_begin(w, &q, "q", NULL);
    q.r.within_queue = PREEMPT_LOWER_PRIORITY;
    queue_quota(w, &q, "f", "cpu", 100000, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    const char *names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        struct gang_record g = domain_gang(w, names[i], i < 2 ? "2 required=H" : "3 required=H");
        g.priority = i;
        gang_record(w, g);
        step(w);
        gang_record(w, domain_admitted(w, g));
    }
    assert_string_equal(domains_of(w, "c"), "x4=3");
    struct gang_record high = domain_gang(w, "high", "4 required=R");
    high.priority = 9;
    gang_record(w, high);
    step(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 2);
    assert_non_null(entry_of(w, EFFECT_EVICT, "a"));
    assert_non_null(entry_of(w, EFFECT_EVICT, "b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_world(every_case),
        in_a_world(usage_counts),
        in_a_world(foreign_pods_count),
        in_a_world(rules_about_others_do_not_touch_it),
        in_a_world(rules_of_others_forbid_a_node),
        in_a_world(waits_until_a_node_has_the_label),
        in_a_world(waits_for_a_level),
        in_a_world(nothing_without_its_topology),
        in_a_world(flavors_with_and_without),
        in_a_world(one_set_asks_and_the_other_does_not),
        in_a_world(flavors_of_several_topologies_are_refused),
        in_a_world(the_reasons_count_nodes),
        in_a_world(the_reasons_count_domains_that_are_no_nodes),
        in_a_world(nodes_without_a_label_of_the_topology_are_told),
        in_a_world(the_reasons_count_ports),
        in_a_world(a_group_in_two_topologies_is_refused),
        in_a_world(a_topology_that_changes_moves_nobody),
        in_a_world(room_for_domains_wakes_who_lacks_room_beside_them),
        in_a_world(a_lost_place_is_found_in_the_same_domain),
        in_a_world(a_lost_place_of_a_slice_is_found_with_the_slice),
        in_a_world(a_new_start_remembers_where_it_was_told),
        in_a_world(a_pod_of_an_earlier_admission_leaves_it_no_place),
        in_a_world(no_more_is_told_than_the_set_has),
        in_a_world(without_room_there_it_starts_elsewhere),
        in_a_world(a_group_that_lost_all_starts_elsewhere_together),
        in_a_world(a_group_begins_anew_where_it_was_told),
        in_a_world(a_lost_leader_comes_back_to_his_workers),
        in_a_world(others_go_for_a_domain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
