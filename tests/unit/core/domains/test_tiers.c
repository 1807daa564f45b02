/* test_tiers.c - pod groups in one HyperNode: a table, then stories
 *
 * nodes  "n1:4=x/s0 n2:2=x/- n3:1": how many CPUs, and of each tier the HyperNode that the node is in; the last without any
 * ask    "COUNT [hard=TIER | soft] [cpu=N] [min=N]", kinds of pods are parted by ";"; "of=N": every N of a kind are a subgroup, of which
 *        "size=N" (else all) start together, "least=N" of them at least; "each=TIER": each stands in one HyperNode, "each=soft": if it can
 * out    "n1=3 n2=1", or why not
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../jobs.h"

struct tier_case {
    const char *what, *levels, *nodes, *ask, *expected;
};

#define TREE "n1:2=x/s0 n2:2=x/s0 n3:2=x/s1 n4:4=x/s1 n5:8=y/s2"

static const struct tier_case cases[] = {
    {"the lowest tier, of two HyperNodes the fuller one", "2,1", TREE, "3 hard=1", "n1=2 n2=1"},
    {"the fuller one has too little", "2,1", TREE, "5 hard=1", "n3=2 n4=3"},
    {"a wider one is only taken when it is allowed", "2,1", "n1:2=x/s0 n2:2=x/s1", "3 hard=1",
     "no HyperNode up to tier 1 holds 3 pod(s) together: \"s0\" has room for 2"},
    {"as many places in each: the one with less left", "1", "n1:3=s0 n2:3=s0 n3:3=s1 n4:2=s1", "2 cpu=2 hard=1", "n3=1 n4=1"},
    {"and then it is", "2,1", "n1:2=x/s0 n2:2=x/s1", "3 hard=2", "n1=2 n2=1"},
    {"a tier between that nobody has", "3,1", "n1:2=x/s0 n2:2=x/s1", "3 hard=2",
     "no HyperNode up to tier 2 holds 3 pod(s) together: \"s0\" has room for 2"},
    {"the lowest tier that holds it, though a wider one is fuller", "2,1", "n1:3=x/s0 n2:2=x/- n3:1=y/s1 n4:1=y/s1", "2 hard=2", "n3=1 n4=1"},
    {"nodes right below a wide one are none of the lowest tier", "2,1", "n1:4=x/- n2:1=x/s0", "2 hard=1",
     "no HyperNode up to tier 1 holds 2 pod(s) together: \"s0\" has room for 1"},
    {"but of the wide one they are", "2,1", "n1:4=x/- n2:1=x/s0", "4 hard=2", "n1=3 n2=1"},
    {"two without a HyperNode above are not together there", "2,1", "n1:1=-/s0 n2:1=-/s1 n3:1=x/s2", "2 hard=2",
     "no HyperNode up to tier 2 holds 2 pod(s) together: \"s0\" has room for 1"},
    {"nodes of no HyperNode are for others", "1", "n1:1=s0 n2:9", "2 hard=1",
     "no HyperNode up to tier 1 holds 2 pod(s) together: \"s0\" has room for 1"},
    {"no HyperNode is so low", "2", "n1:4=x", "1 hard=1", "no node is in a HyperNode up to tier 1"},
    {"there are none", "", "n1:4", "1 hard=9", "no node is in a HyperNode up to tier 9"},
    {"too little anywhere: that comes first", "1", "n1:1=s0 n2:1=s0", "3 hard=1",
     "only 2 of 3 pods can be placed; for the 3rd, 0/2 nodes are available: 2 Insufficient cpu."},
    {"half places are none", "1", "n1:3=s0 n2:3=s0 n3:6=s1", "2 cpu=2 hard=1", "n1=1 n2=1"},
    {"each kind has to find a place in the same one", "1", "n1:3=s0 n2:1=s1 n3:9=s2", "1 cpu=3 hard=1; 1 cpu=1", "n3=2"},
    {"one after the other they would not: the search finds it", "1", "n1:3=s0 n2:4=s0", "1 cpu=4 hard=1; 1 cpu=3", "n1=1 n2=1"},
    {"each kind has room, not both", "1", "n1:3=s0 n2:3", "1 cpu=3 hard=1; 1 cpu=2",
     "HyperNode \"s0\" has room for each kind of its pods alone, not for all together, and no other HyperNode up to tier 1 has"},
    {"the other HyperNode has", "1", "n1:3=s0 n2:3=s1 n3:2=s1", "1 cpu=3 hard=1; 1 cpu=2", "n2=1 n3=1"},
    {"soft: the lowest tier", "2,1", TREE, "5 soft", "n3=2 n4=3"},
    {"soft: a wider one", "2,1", TREE, "9 soft", "n1=2 n2=2 n3=2 n4=3"},
    {"soft: anywhere", "2,1", TREE, "17 soft", "n1=2 n2=2 n3=2 n4=4 n5=7"},
    {"soft: more than there is", "1", "n1:2=s0 n2:2", "5 soft",
     "only 4 of 5 pods can be placed; for the 5th, 0/2 nodes are available: 2 Insufficient cpu."},
    {"soft: there are no HyperNodes", "", "n1:2 n2:2", "3 soft", "n1=2 n2=1"},
    {"fewer than all", "1", "n1:2=s0 n2:1=s1", "3 min=2 hard=1", "n1=2"},
    {"subgroups, each in a HyperNode", "1", "n1:2=s0 n2:1=s1 n3:2=s1 n4:1", "4 of=2 each=1", "n1=2 n2=1 n3=1"},
    {"the fuller one first", "1", "n1:3=s0 n2:2=s1", "4 of=2 each=1", "n1=2 n2=2"},
    {"one finds none", "1", "n1:2=s0 n2:1=s1 n3:9", "4 of=2 each=1", "no HyperNode up to tier 1 holds 2 pod(s) together: \"s1\" has room for 1"},
    {"but what need not start does not", "1", "n1:2=s0 n2:1=s1 n3:9", "4 of=2 each=1 min=2", "n1=2"},
    {"a wider one for each", "2,1", "n1:1=x/s0 n2:1=x/s1 n3:1=y/s2 n4:1=y/s3", "4 of=2 each=2", "n1=1 n2=1 n3=1 n4=1"},
    {"all in one, each in one of its own there", "2,1", "n1:2=x/s0 n2:1=x/s1 n3:1=x/s1 n4:3=y/s2", "4 of=2 each=1 hard=2", "n1=2 n2=1 n3=1"},
    {"all in one, where each finds none", "2,1", "n1:2=x/s0 n2:1=x/s1 n3:1=x/s2 n4:4=y/s3", "4 of=2 each=1 hard=2", "n4=4"},
    {"all in one of the lowest", "2,1", "n1:2=x/s0 n2:2=x/s1 n3:5=y/s2", "4 of=2 each=1 hard=1", "n3=4"},
    {"each may stand wider than all", "2,1", "n1:2=x/s0 n2:2=x/s0 n3:2=x/s1", "4 of=2 each=2 hard=1", "n1=2 n2=2"},
    {"together by choice, each for sure", "2,1", "n1:2=x/s0 n2:2=y/s1", "4 of=2 each=1 soft", "n1=2 n2=2"},
    {"each by choice", "2,1", "n1:2=x/s0 n2:3=x/s1 n3:1=y/s2", "6 of=3 each=soft hard=2", "no HyperNode up to tier 2 holds 6 pod(s) together: \"x\" has room for 5"},
    {"each by choice, as low as it can", "2,1", "n1:2=x/s0 n2:3=x/s1 n3:1=y/s2", "6 of=3 each=soft", "n1=2 n2=3 n3=1"},
    {"large ones first", "1", "n1:2=s0 n2:3=s1", "2 of=2 each=1; 3 of=3 each=1", "n1=2 n2=3"},
    {"who is of none goes last", "1", "n1:2=s0 n2:2=s1", "1; 2 of=2 each=1", "n1=2 n2=1"},
    {"members beyond its size may stay away", "1", "n1:2=s0 n2:2=s1", "3 of=3 size=2 each=1 min=2", "n1=2"},
    {"so many subgroups", "1", "n1:2=s0 n2:2=s1", "6 of=2 least=2 each=1 min=2", "n1=2 n2=2"},
    {"too few of them", "1", "n1:2=s0 n2:1=s1", "6 of=2 least=2 each=1 min=2",
     "only 1 of 2 pods can be placed; for the 2nd, 0/2 nodes are available: 2 Insufficient cpu."},
    {"a subgroup that is not whole waits", "", "n1:9", "3 of=2 min=2", "n1=2"},
    {"and so do all, if it is needed", "", "n1:9", "3 of=2 min=3", "2 of 3 pods exist"},
    {"or has to be whole", "", "n1:9", "5 of=2 least=3 min=2", "1 of 2 pods of subgroup part exist"},
    {"the minimum is reached by whole ones", "", "n1:4", "6 of=2 min=3", "n1=4"},
    {"whole ones alone, without any HyperNode", "", "n1:5", "6 of=2 min=3", "n1=4"},
    {"a later one that fits, in the place of the first", "1", "n1:2=s0", "2 of=2 cpu=2 each=1; 2 of=2 each=1 min=2", "n1=2"},
};

static void begin(struct world *w, const char *levels, const char *nodes)
{
    char *copy = arena_text(w->records, nodes), *save = NULL;
    const char *rows = "";
    for (char *one = strtok_r(copy, " ", &save); one; one = strtok_r(NULL, " ", &save)) {
        char *colon = strchr(one, ':'), *equals = strchr(one, '=');
        *colon = 0;
        node(w, one, arena_printf(w->records, "cpu=%ld000,pods=110", strtol(colon + 1, NULL, 10)), "");
        rows = equals ? arena_printf(w->records, "%s%s%s=%s", rows, *rows ? " " : "", one, equals + 1) : rows;
    }
    if (*levels)
        tiers(w, levels, rows);
}

/* A group and its pods "NAME-0"...; kinds of pods by ";". */
static struct gang_record group(struct world *w, const char *name, const char *ask)
{
    char *copy = arena_text(w->records, ask), *save = NULL, *inner;
    struct gang_record r = a_group(w, name, NULL, 0);
    struct pod_record pods[64];
    struct subgroup_policy *part = arena_zero(w->records, 1, sizeof *part);
    name_id *key = arena_zero(w->records, 1, sizeof *key);
    *key = id(w, "part");
    *part = (struct subgroup_policy){.name = *key, .keys = key, .keys_n = 1};
    int n = 0;
    for (char *kind = strtok_r(copy, ";", &save); kind; kind = strtok_r(NULL, ";", &save)) {
        long count = 0, cpu = 1, of = 0;
        for (char *word = strtok_r(kind, " ", &inner); word; word = strtok_r(NULL, " ", &inner)) {
            char *value = strchr(word, '=');
            long number = strtol(value ? value + 1 : word, NULL, 10);
            if (!strncmp(word, "hard", 4))
                r.tiers = (struct tier_request){TOPOLOGY_REQUIRED, number, 0};
            else if (!strcmp(word, "soft"))
                r.tiers.mode = TOPOLOGY_PREFERRED;
            else if (!strncmp(word, "cpu", 3))
                cpu = number;
            else if (!strncmp(word, "min", 3))
                r.min_members = (int32_t)number;
            else if (!strncmp(word, "of", 2))
                of = number;
            else if (!strncmp(word, "size", 4))
                part->size = (int32_t)number;
            else if (!strncmp(word, "least", 5))
                part->least_n = (int32_t)number;
            else if (!strcmp(word, "each=soft"))
                part->tiers.mode = TOPOLOGY_PREFERRED;
            else if (!strncmp(word, "each", 4))
                part->tiers = (struct tier_request){TOPOLOGY_REQUIRED, number, 0};
            else
                count = number;
        }
        part->size = part->size ? part->size : (int32_t)of;
        r.subgroups = of ? part : r.subgroups;
        r.subgroups_n = r.subgroups != NULL;
        for (int first = n; n < first + count; n++) {
            pods[n] = a_pod(w, arena_printf(w->records, "ns/%s-%d", name, n), name, arena_printf(w->records, "cpu=%ld000", cpu));
            if (of)
                pods[n].shape.labels = labels_of(w, arena_printf(w->records, "part=%d-%ld", first, (n - first) / of),
                                                 &pods[n].shape.labels_n);
        }
    }
    r.min_members = r.min_members ? r.min_members : n;
    gang_record(w, r);
    for (int i = 0; i < n; i++)
        pod_record(w, pods[i]);
    return r;
}

/* Where its pods were bound in this cycle, by node; or why they were not. */
static const char *bound(struct world *w, const char *name)
{
    struct { const char *node; int n; } at[16];
    int n = 0;
    const char *text = "";
    for (uint32_t i = 0; i < w->plan.entries_n; i++) {
        const struct plan_entry *e = &w->plan.entries[i];
        int k = 0;
        if (e->effect != EFFECT_BIND || e->gang != id(w, name))
            continue;
        while (k < n && strcmp(at[k].node, text_of(w, e->node)))
            k++;
        if (k == n) {
            for (k = n++; k && strcmp(at[k - 1].node, text_of(w, e->node)) > 0; k--)
                at[k] = at[k - 1];
            at[k].node = text_of(w, e->node);
            at[k].n = 0;
        }
        at[k].n++;
    }
    for (int i = 0; i < n; i++)
        text = arena_printf(w->records, "%s%s%s=%d", text, i ? " " : "", at[i].node, at[i].n);
    return n ? text : arena_text(w->records, why(w, name));
}

static const char *try_again(struct world *w, const char *name)
{
    struct err e = {0};
    run(w);
    if (!state_check(w->s, &e))
        fail_msg("%s", e.text);
    return bound(w, name);
}

/* The API says that it runs there. */
static void runs_on(struct world *w, const char *name, int at, const char *on)
{
    struct pod_record p = a_pod(w, arena_printf(w->records, "ns/%s-%d", name, at), name, "cpu=1000");
    p.node = id(w, on);
    p.phase = POD_RUNNING;
    pod_record(w, p);
}

static void every_case(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w = world_new();
        begin(&w, cases[i].levels, cases[i].nodes);
        (void)group(&w, "a", cases[i].ask);
        const char *is = try_again(&w, "a");
        if (strncmp(is, cases[i].expected, strlen(cases[i].expected)))
            fail_msg("%s:\n  %s\n  expected %s", cases[i].what, is, cases[i].expected);
        world_free(&w);
    }
}

static void pods_that_come_later_join_the_others(void **state)
{
    struct world *w = *state;
    begin(w, "2,1", "n1:2=x/s0 n2:2=x/s0 n3:9=x/s1");
    runs_on(w, "a", 0, "n1");
    (void)group(w, "a", "1 hard=1");
    runs_on(w, "a", 0, "n1");
    run(w);
    pod(w, "ns/a-1", "a", "cpu=2000");
    assert_string_equal(try_again(w, "a"), "n2=1");
    runs_on(w, "a", 1, "n2");
    pod(w, "ns/a-2", "a", "cpu=2000");
    assert_string_equal(try_again(w, "a"), "no HyperNode up to tier 1 holds 1 pod(s) together: \"s0\" has room for 0");
    gone(w, CHANGE_POD_GONE, "ns/a-1");
    assert_string_equal(try_again(w, "a"), "n2=1");
}

/* One of the pods "NAME-AT" of subgroups of two, by its number; on: "" while it waits. */
static void of_two(struct world *w, const char *name, int at, const char *on)
{
    struct pod_record p = a_pod(w, arena_printf(w->records, "ns/%s-%d", name, at), name, "cpu=1000");
    p.shape.labels = labels_of(w, arena_printf(w->records, "part=0-%d", at / 2), &p.shape.labels_n);
    p.node = id(w, on);
    p.phase = p.node ? POD_RUNNING : POD_PENDING;
    pod_record(w, p);
}

static void a_subgroup_that_comes_later_starts_whole(void **state)
{
    struct world *w = *state;
    begin(w, "1", "n1:2=s0 n2:1=s1 n3:2=s2");
    (void)group(w, "a", "2 of=2 each=1");
    assert_string_equal(try_again(w, "a"), "n1=2");
    of_two(w, "a", 0, "n1");
    of_two(w, "a", 1, "n1");
    of_two(w, "a", 2, NULL);
    assert_string_equal(try_again(w, "a"), ""); /* it has started; the other of the new pod's subgroup is not there yet */
    of_two(w, "a", 3, NULL);
    assert_string_equal(try_again(w, "a"), "n3=2");
    of_two(w, "a", 2, "n3");
    of_two(w, "a", 3, "n3");
    gone(w, CHANGE_POD_GONE, "ns/a-3"); /* its place is kept, in the HyperNode of the one that is left */
    run(w);
    of_two(w, "a", 4, NULL);
    of_two(w, "a", 3, NULL);
    assert_string_equal(try_again(w, "a"), "n3=1");
}

/* Three pods of a new subgroup of two: none takes the only place alone. */
static void nobody_starts_before_his_subgroup(void **state)
{
    struct world *w = *state;
    begin(w, "1", "n1:2=s0 n2:1=s1");
    (void)group(w, "a", "2 of=2 each=1");
    assert_string_equal(try_again(w, "a"), "n1=2");
    of_two(w, "a", 0, "n1");
    of_two(w, "a", 1, "n1");
    for (int i = 2; i < 5; i++) {
        struct pod_record p = a_pod(w, arena_printf(w->records, "ns/a-%d", i), "a", "cpu=1000");
        p.shape.labels = labels_of(w, "part=later", &p.shape.labels_n);
        pod_record(w, p);
    }
    run(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
}

/* The pod that a task needs is the third of a subgroup of two, which starts with it. */
static void a_task_brings_its_subgroup(void **state)
{
    struct world *w = *state;
    begin(w, "", "n1:2");
    struct gang_record r = a_group(w, "a", NULL, 1);
    const name_id key = id(w, "part");
    const struct subgroup_policy part = {.name = key, .keys = &key, .keys_n = 1, .size = 2};
    const struct amount task = {id(w, "last"), 1};
    r.subgroups = &part;
    r.subgroups_n = 1;
    r.min_of_task = &task;
    r.min_of_task_n = 1;
    gang_record(w, r);
    for (int i = 0; i < 5; i++) { /* two of no subgroup, for which there is no room */
        struct pod_record p = a_pod(w, arena_printf(w->records, "ns/a-%d", i), "a", i < 2 ? "cpu=9000" : "cpu=1000");
        p.pod_set = i == 4 ? task.resource : 0;
        if (i > 1)
            p.shape.labels = labels_of(w, "part=0", &p.shape.labels_n);
        pod_record(w, p);
    }
    run(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    node(w, "n1", "cpu=3000,pods=110", "");
    assert_string_equal(try_again(w, "a"), "n1=3");
}

/* Alike but for who is of which subgroup: each is asked for itself. */
static void groups_of_other_subgroups_are_not_alike(void **state)
{
    struct world *w = *state;
    begin(w, "1", "n1:2=s0 n2:2=s1");
    (void)group(w, "a", "4 of=4 each=1");
    (void)group(w, "b", "4 of=2 each=1");
    assert_string_equal(try_again(w, "a"), "no HyperNode up to tier 1 holds 4 pod(s) together: \"s0\" has room for 2");
    assert_string_equal(bound(w, "b"), "n1=2 n2=2");
}

/* Replicas "r0".. of a leader and two workers each: of the policies of the replicas, or of those of their pods, everything else is made. */
static void replicas(struct world *w, const char *name, int n, int32_t least, struct tier_request in, struct tier_request each)
{
    struct subgroup_policy *all = arena_zero(w->records, 3 * (size_t)n, sizeof *all);
    struct requirement *is = arena_zero(w->records, 2 * (size_t)n, sizeof *is);
    name_id *values = arena_zero(w->records, 2 * (size_t)n, sizeof *values);
    for (int i = 0; i < n; i++) {
        all[i] = (struct subgroup_policy){.name = id(w, arena_printf(w->records, "r%d", i)), .pods = {.matches_nothing = true},
                                          .least_n = 2, .tiers = in};
        for (int k = 0; k < 2; k++) {
            int at = 2 * i + k;
            values[at] = id(w, arena_printf(w->records, "r%d-%s", i, k ? "workers" : "leader"));
            is[at] = (struct requirement){.key = id(w, "part"), .op = REQUIRE_IN, .values = &values[at], .values_n = 1};
            all[n + at] = (struct subgroup_policy){.name = values[at], .above = (uint32_t)i + 1, .pods = {.all = &is[at], .all_n = 1},
                                                   .size = k + 1, .least_n = 1, .tiers = each};
        }
    }
    struct gang_record r = a_group(w, name, NULL, 1);
    r.subgroups = all;
    r.subgroups_n = 3 * (uint32_t)n;
    r.subgroups_least = least;
    gang_record(w, r);
}

/* Pod "NAME-r0-0" is the leader of the replica, 1 and 2 are its workers; on: NULL while it waits. */
static void of_replica(struct world *w, const char *name, int replica, int at, const char *on)
{
    struct pod_record p = a_pod(w, arena_printf(w->records, "ns/%s-r%d-%d", name, replica, at), name, "cpu=1000");
    p.shape.labels = labels_of(w, arena_printf(w->records, "part=r%d-%s", replica, at ? "workers" : "leader"), &p.shape.labels_n);
    p.node = id(w, on);
    p.phase = p.node ? POD_RUNNING : POD_PENDING;
    pod_record(w, p);
}

static void replicas_start_whole(void **state)
{
    struct world *w = *state;
    const struct tier_request none = {0};
    begin(w, "", "n1:5");
    replicas(w, "a", 3, 2, none, none);
    for (int i = 0; i < 9; i++)
        of_replica(w, "a", i % 3, i / 3, NULL); /* leaders first */
    assert_string_equal(try_again(w, "a"),
                        "only 5 of 6 pods can be placed; for the 6th, 0/1 nodes are available: 1 Insufficient cpu.");
    node(w, "n1", "cpu=8000,pods=110", "");
    assert_string_equal(try_again(w, "a"), "n1=6");
    for (int i = 0; i < 6; i++)
        of_replica(w, "a", i % 2, i / 2, "n1");
    run(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0); /* two more would fit, but not all three of the third */
    node(w, "n1", "cpu=9000,pods=110", "");
    assert_string_equal(try_again(w, "a"), "n1=3");
}

static void a_replica_that_is_not_there_is_said(void **state)
{
    struct world *w = *state;
    const struct tier_request none = {0};
    begin(w, "", "n1:9");
    replicas(w, "a", 2, 0, none, none);
    for (int i = 0; i < 5; i++)
        of_replica(w, "a", i / 3, i % 3, NULL);
    assert_string_equal(try_again(w, "a"), "1 of 2 pods of subgroup r1-workers exist");
    replicas(w, "b", 3, 2, none, none);
    for (int i = 0; i < 3; i++)
        of_replica(w, "b", 0, i, NULL);
    assert_string_equal(try_again(w, "b"), "1 of 2 subgroups have all their pods");
}

/* Each replica in one of the wider domains, its workers in one of the narrow ones there. */
static void domains_in_domains(void **state)
{
    struct world *w = *state;
    begin(w, "2,1", "n1:1=x/s0 n2:2=x/s1 n3:1=y/s2 n4:1=y/s3 n5:1=y/s3");
    replicas(w, "a", 2, 0, (struct tier_request){TOPOLOGY_REQUIRED, 2, 0}, (struct tier_request){TOPOLOGY_REQUIRED, 1, 0});
    for (int i = 0; i < 6; i++)
        of_replica(w, "a", i / 3, i % 3, NULL);
    assert_string_equal(try_again(w, "a"), "n1=1 n2=2 n3=1 n4=1 n5=1");
}

static void what_nobody_needs_may_stay_away(void **state)
{
    struct world *w = *state;
    begin(w, "", "n1:2");
    struct gang_record r = a_group(w, "a", NULL, 1);
    name_id names[] = {id(w, "needed"), id(w, "spare")};
    struct requirement is[2];
    struct subgroup_policy all[4];
    for (uint32_t i = 0; i < 2; i++) {
        is[i] = (struct requirement){.key = id(w, "part"), .op = REQUIRE_IN, .values = &names[i], .values_n = 1};
        all[i] = (struct subgroup_policy){.name = names[i], .pods = {.matches_nothing = true}, .least_n = i ? 0 : 1};
        all[2 + i] = (struct subgroup_policy){.name = names[i], .above = i + 1, .pods = {.all = &is[i], .all_n = 1}, .size = 2,
                                              .least_n = 1};
    }
    r.subgroups = all;
    r.subgroups_n = 4;
    gang_record(w, r);
    for (int i = 0; i < 4; i++) { /* the spare ones first */
        struct pod_record p = a_pod(w, arena_printf(w->records, "ns/a-%d", i), "a", "cpu=1000");
        p.shape.labels = labels_of(w, i < 2 ? "part=spare" : "part=needed", &p.shape.labels_n);
        pod_record(w, p);
    }
    assert_string_equal(try_again(w, "a"), "n1=2");
    assert_non_null(entry_of(w, EFFECT_BIND, "ns/a-2"));
    assert_non_null(entry_of(w, EFFECT_BIND, "ns/a-3"));
}

/* Policies that are above each other. */
static void a_circle_is_no_end(void **state)
{
    struct world *w = *state;
    begin(w, "", "n1:2");
    struct gang_record r = a_group(w, "a", NULL, 1);
    const struct subgroup_policy all[] = {{.name = id(w, "x"), .above = 2, .size = 1, .least_n = 1},
                                          {.name = id(w, "y"), .above = 1, .least_n = 1},
                                          {.name = id(w, "z"), .above = 99, .pods = {.matches_nothing = true}}};
    r.subgroups = all;
    r.subgroups_n = 3;
    gang_record(w, r);
    pod(w, "ns/a-0", "a", "cpu=1000");
    assert_string_equal(try_again(w, "a"), "n1=1");
}

/* Fewer subgroups than have to be whole: it is broken, though it has members enough. */
static void a_broken_subgroup_breaks_the_group(void **state)
{
    struct world *w = *state;
    begin(w, "1", "n1:2=s0 n2:2=s1");
    (void)group(w, "a", "4 of=2 least=2 each=1 min=2");
    assert_string_equal(try_again(w, "a"), "n1=2 n2=2");
    for (int i = 0; i < 4; i++)
        of_two(w, "a", i, i < 2 ? "n1" : "n2");
    run(w);
    gone(w, CHANGE_POD_GONE, "ns/a-3");
    (void)group(w, "b", "1");
    assert_string_equal(try_again(w, "a"), "1 of 2 pods of subgroup part are left or have come anew; the places of the others are kept for them");
    assert_string_equal(bound(w, "b"), "0/2 nodes are available: 2 Insufficient cpu.");
}

static void its_pods_stand_apart(void **state)
{
    struct world *w = *state;
    begin(w, "2,1", "n1:2=x/s0 n2:9=x/s1");
    struct gang_record r = group(w, "a", "1 hard=1");
    runs_on(w, "a", 0, "n1");
    runs_on(w, "a", 1, "n2");
    run(w);
    pod(w, "ns/a-2", "a", "cpu=1000");
    assert_string_equal(try_again(w, "a"), "its other pods stand in no one HyperNode up to tier 1");
    r.tiers.highest = 2;
    gang_record(w, r);
    assert_string_equal(try_again(w, "a"), "n1=1");
}

static void hypernodes_that_come_and_change_wake_it(void **state)
{
    struct world *w = *state;
    begin(w, "", "n1:1 n2:1 n3:1");
    (void)group(w, "a", "2 hard=1");
    assert_string_equal(try_again(w, "a"), "no node is in a HyperNode up to tier 1");
    tiers(w, "1", "n1=s0 n2=s1");
    assert_string_equal(try_again(w, "a"), "no HyperNode up to tier 1 holds 2 pod(s) together: \"s0\" has room for 1");
    sweep_names(w);
    tiers(w, "1", "n1=s0 n2=s1 n3=s1");
    assert_string_equal(try_again(w, "a"), "n2=1 n3=1");
    gone(w, CHANGE_TOPOLOGY_GONE, "hypernodes");
    sweep_names(w);
    (void)group(w, "b", "1 hard=1");
    assert_string_equal(try_again(w, "b"), "no node is in a HyperNode up to tier 1");
}

static void nodes_that_come_are_in_their_hypernode(void **state)
{
    struct world *w = *state;
    begin(w, "", "n1:1");
    tiers(w, "1", "n1=s0 n2=s0");
    (void)group(w, "a", "2 hard=1");
    assert_string_equal(try_again(w, "a"), "only 1 of 2 pods can be placed; for the 2nd, 0/1 nodes are available: 1 Insufficient cpu.");
    node(w, "n3", "cpu=9000,pods=110", "");
    assert_string_equal(try_again(w, "a"), "no HyperNode up to tier 1 holds 2 pod(s) together: \"s0\" has room for 1");
    node(w, "n2", "cpu=1000,pods=110", "");
    assert_string_equal(try_again(w, "a"), "n1=1 n2=1");
}

/* Alike but for the tiers: each is asked for itself. */
static void groups_of_other_tiers_are_not_alike(void **state)
{
    struct world *w = *state;
    begin(w, "2,1", "n1:1=x/s0 n2:1=x/s1 n3:1 n4:1");
    (void)group(w, "a", "2 hard=1");
    (void)group(w, "b", "2 hard=2");
    (void)group(w, "c", "2");
    assert_string_equal(try_again(w, "a"), "no HyperNode up to tier 1 holds 2 pod(s) together: \"s0\" has room for 1");
    assert_string_equal(bound(w, "b"), "n1=1 n2=1");
    assert_string_equal(bound(w, "c"), "n3=1 n4=1");
}

/* Whoever must go for a group that has to stand in one HyperNode is of that HyperNode; where that is not enough, nobody goes. */
static void others_go_of_one_hypernode(void **state)
{
    struct world *w = *state;
    begin(w, "1", "n1:2=s0 n2:1=s0 n3:2=s1");
    for (int i = 0; i < 2; i++) {
        struct queue_shares shares = {.parent = i ? id(w, "root") : 0, .weight = 1};
        name_id queue = id(w, i ? "q" : "root");
        struct queue_record r = {.name = queue, .title = queue, .kind = QUEUE_VOLCANO, .unlimited = true, .shares = &shares,
                                 .borrow_before_next_flavor = true, .within_queue = PREEMPT_LOWER_PRIORITY};
        state_apply(w->s, &(struct change){.type = CHANGE_QUEUE, .queue = r});
    }
    static const char *const on[] = {"n1", "n1", "n3", "n3"};
    for (int i = 0; i < 4; i++) {
        const char *name = arena_printf(w->records, "low%d", i);
        gang_record(w, a_group(w, name, "q", 1));
        runs_on(w, name, 0, on[i]);
    }
    run(w);
    struct gang_record r = a_group(w, "high", "q", 3);
    r.priority = 10;
    r.tiers = (struct tier_request){TOPOLOGY_REQUIRED, 1, 0};
    gang_record(w, r);
    for (int i = 0; i < 3; i++)
        pod(w, arena_printf(w->records, "ns/high-%d", i), "high", "cpu=1000");
    run(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 2);
    assert_non_null(entry_of(w, EFFECT_EVICT, "low0"));
    assert_non_null(entry_of(w, EFFECT_EVICT, "low1"));
    for (int i = 0; i < 2; i++) {
        outcome(w, EFFECT_EVICT, arena_printf(w->records, "low%d", i), NULL, OUTCOME_DONE);
        gone(w, CHANGE_POD_GONE, arena_printf(w->records, "ns/low%d-0", i));
    }
    assert_string_equal(try_again(w, "high"), "n1=2 n2=1");
    r = a_group(w, "wide", "q", 4);
    r.priority = 20;
    r.tiers = (struct tier_request){TOPOLOGY_REQUIRED, 1, 0};
    gang_record(w, r);
    for (int i = 0; i < 4; i++)
        pod(w, arena_printf(w->records, "ns/wide-%d", i), "wide", "cpu=1000");
    run(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case),
        in_a_world(pods_that_come_later_join_the_others),
        in_a_world(a_subgroup_that_comes_later_starts_whole),
        in_a_world(nobody_starts_before_his_subgroup),
        in_a_world(a_task_brings_its_subgroup),
        in_a_world(groups_of_other_subgroups_are_not_alike),
        in_a_world(a_broken_subgroup_breaks_the_group),
        in_a_world(replicas_start_whole),
        in_a_world(a_replica_that_is_not_there_is_said),
        in_a_world(domains_in_domains),
        in_a_world(what_nobody_needs_may_stay_away),
        in_a_world(a_circle_is_no_end),
        in_a_world(its_pods_stand_apart),
        in_a_world(hypernodes_that_come_and_change_wake_it),
        in_a_world(nodes_that_come_are_in_their_hypernode),
        in_a_world(groups_of_other_tiers_are_not_alike),
        in_a_world(others_go_of_one_hypernode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
