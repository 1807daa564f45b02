/* test_hypernodes.c - HyperNodes and nodes in; rows, counts and what is wrong out
 *
 * hypernodes  lines "NAME TIER[:TIERNAME] MEMBER..."; members: "n1" node, "/re/" nodes by pattern, "k=v" nodes by label, "@s0" HyperNode,
 *             "@/re/" HyperNodes by pattern, "=" nodes by labels that ask for nothing
 * rows        "n1=x/s0 ...": tiers from the widest, as the core is told
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "topology_rows.h"
#include "sched/domains/hypernodes.h"

struct hypernode_case {
    const char *what, *hypernodes, *rows, *found; /* found: "NAME COUNT[ REASON: PROBLEM]", parted by "; ", by tier and name */
};
#define NODES "n1 n2 n3 n4"

static const struct hypernode_case cases[] = {
    {"nodes by name", "s0 1 n1 n2\ns1 1 n3", "n1=s0 n2=s0 n3=s1", "s0 2; s1 1"},
    {"by pattern, anywhere in the name", "s0 1 /[12]/\ns1 1 /^n3$/", "n1=s0 n2=s0 n3=s1", "s0 2; s1 1"},
    {"by label", "s0 1 rack=a", "n1=s0 n3=s0", "s0 2"},
    {"labels that ask for nothing select none", "s0 1 = n2", "n2=s0", "s0 1"},
    {"several selectors, none counts twice", "s0 1 n1 /n[12]/ rack=a", "n1=s0 n2=s0 n3=s0", "s0 3"},
    {"HyperNodes of HyperNodes: as members they are one each", "x 2 @s0 @s1\ns0 1 n1 n2\ns1 1 n3", "n1=x/s0 n2=x/s0 n3=x/s1", "s0 2; s1 1; x 2"},
    {"in whatever order they come, over a gap of tiers", "y 7 @x n4\nx 3 @s0\ns0 0 n1", "n1=y/x/s0 n4=y/-/-", "s0 1; x 1; y 2"},
    {"a node right below a wide one", "x 2 @s0 n4\ns0 1 n1", "n1=x/s0 n4=x/-", "s0 1; x 2"},
    {"a wide one by nodes alone", "x 2 /n/\ns0 1 n1", "n1=x/s0 n2=x/- n3=x/- n4=x/-", "s0 1; x 4"},
    {"no node of that name", "s0 1 n1 n9", "n1=s0", "s0 2 NoSuchMember: there is no node \"n9\""},
    {"no HyperNode of that name", "x 2 @s9 n1", "n1=x", "x 2 NoSuchMember: there is no HyperNode \"s9\""},
    {"no member of a HyperNode is of its own tier", "a 1 @b n1\nb 1 n2", "n1=a n2=b",
     "a 2 TierOrder: its member HyperNode \"b\" is of tier 1, which is not below its own: it does not count; b 1"},
    {"a circle", "a 1 @b n1\nb 2 @a n2", "n1=b/a n2=b/-",
     "a 2 TierOrder: its member HyperNode \"b\" is of tier 2, which is not below its own: it does not count; b 2"},
    {"itself", "a 1 @a n1", "n1=a", "a 2 TierOrder: its member HyperNode \"a\" is of tier 1, which is not below its own: it does not count"},
    {"a node of two of a tier counts for the first by name", "b 1 n1 n2\na 1 n1", "n1=a n2=b",
     "a 1; b 2 Overlap: of its nodes \"n1\" (a) count for another HyperNode of its tier already"},
    {"two that have one member", "y 2 @a\nx 2 @a\na 1 n1", "n1=x/a", "a 1; x 1; y 1 Overlap: of its nodes \"n1\" (x) count for another HyperNode of its tier already"},
    {"many nodes of another one", "b 1 /n/\na 1 /n/", "n1=a n2=a n3=a n4=a",
     "a 4; b 4 Overlap: of its nodes \"n1\" (a), \"n2\" (a), \"n3\" (a) and 1 more count for another HyperNode of its tier already"},
    {"a part of a HyperNode", "x 2 n1 n3\ns0 1 n1 n2", "n1=-/s0 n2=-/s0 n3=x/-",
     "s0 2; x 2 Split: it has some nodes of HyperNode \"s0\" and not all: those do not count for it"},
    {"and another one has all of it", "x 2 n1\ny 2 n1 n2\ns0 1 n1 n2", "n1=y/s0 n2=y/s0",
     "s0 2; x 1 Split: it has some nodes of HyperNode \"s0\" and not all: those do not count for it; y 2"},
    {"a pattern that is none", "a 1 /(/ n1", "n1=a", "a 1 InvalidPattern: regexMatch \"(\" cannot be understood: it selects no node"},
    {"HyperNodes by pattern", "a 2 @/s/ n1", "n1=a", "a 1 NotNamed: members of type HyperNode are named by exactMatch: another selector selects none"},
    {"a name of two tiers", "a 1:rack n1\nb 2:rack n1", "n1=b/a", "a 1; b 1 TierName: tier 1 is called \"rack\", too: the name stands for that one"},
    {"nothing selected", "a 1 rack=z", "", "a 0"},
    {"more tiers than there may be", "t0 0 n1\nt1 1 n1\nt2 2 n1\nt3 3 n1\nt4 4 n1\nt5 5 n1\nt6 6 n1\nt7 7 n1\nt8 8 n1\nt9 9 n1\nta 10 n1\ntb 11 n1\n"
     "tc 12 n1\ntd 13 n1\nte 14 n1\ntf 15 n1\ntg 16 n1", "n1=tf/te/td/tc/tb/ta/t9/t8/t7/t6/t5/t4/t3/t2/t1/t0",
     "t0 1; t1 1; t2 1; t3 1; t4 1; t5 1; t6 1; t7 1; t8 1; t9 1; ta 1; tb 1; tc 1; td 1; te 1; tf 1; "
     "tg 1 TooManyTiers: there are more than 16 tiers: the highest do not count"},
};

static const char *member_json(struct world *w, const char *word)
{
    const char *type = *word == '@' ? "HyperNode" : "Node", *selector;
    word += *word == '@';
    size_t n = strlen(word);
    if (*word == '/')
        selector = arena_printf(w->records, "\"regexMatch\":{\"pattern\":\"%.*s\"}", (int)n - 2, word + 1);
    else if (!strcmp(word, "="))
        selector = "\"labelMatch\":{}";
    else if (strchr(word, '='))
        selector = arena_printf(w->records, "\"labelMatch\":{\"matchLabels\":{\"%.*s\":\"%s\"}}", (int)(strchr(word, '=') - word), word,
                                strchr(word, '=') + 1);
    else
        selector = arena_printf(w->records, "\"exactMatch\":{\"name\":\"%s\"}", word);
    return arena_printf(w->records, "{\"type\":\"%s\",\"selector\":{%s}}", type, selector);
}

static struct hypernode read_line(struct world *w, char *line)
{
    char *save = NULL, *name = strtok_r(line, " ", &save), *tier = strtok_r(NULL, " ", &save), *title = strchr(tier, ':');
    const char *members = "";
    for (char *word; (word = strtok_r(NULL, " ", &save));)
        members = arena_printf(w->records, "%s%s%s", members, *members ? "," : "", member_json(w, word));
    const char *text = arena_printf(w->records, "[%s]", members);
    return (struct hypernode){.name = name, .tier_name = title ? title + 1 : "", .tier = strtoll(tier, NULL, 10),
                              .members = json_parse(w->records, bytes_of(text), NULL, NULL)};
}

static void every_case(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w = world_new();
        struct decoder d = {.names = w.names, .arena = w.records};
        struct hypernode all[32];
        struct node_look *nodes;
        struct topology_record r;
        uint32_t n = 0;
        char *copy = arena_text(w.records, cases[i].hypernodes), *save = NULL;
        for (const char *name = NODES; *name; name += name[2] ? 3 : 2)
            node(&w, arena_printf(w.records, "%.2s", name), "cpu=1000", name[1] % 2 ? "rack=a" : "rack=b");
        for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
            all[n++] = read_line(&w, line);
        uint32_t nodes_n = state_nodes(w.s, w.records, &nodes);
        hypernodes_build(&d, all, n, nodes, nodes_n, &r);
        const char *found = "";
        for (uint32_t k = 0; k < n; k++)
            found = arena_printf(w.records, "%s%s%s %lld%s%s%s%s", found, k ? "; " : "", all[k].name, (long long)all[k].count,
                                 all[k].problem ? " " : "", all[k].problem ? all[k].reason : "", all[k].problem ? ": " : "",
                                 all[k].problem ? all[k].problem : "");
        if (strcmp(topology_rows(&w, &r), cases[i].rows) || strcmp(found, cases[i].found))
            fail_msg("%s:\n  rows     %s\n  expected %s\n  found    %s\n  expected %s", cases[i].what, topology_rows(&w, &r), cases[i].rows,
                     found, cases[i].found);
        for (uint32_t l = 1; l < r.levels_n; l++)
            assert_true(r.tiers[l] < r.tiers[l - 1]);
        state_apply(w.s, &(struct change){.type = CHANGE_TOPOLOGY, .topology = r});
        world_free(&w);
    }
}

/* What a pod group asks for, as the core is told. */
static void what_groups_ask_for(void **state)
{
    (void)state;
    static const struct {
        const char *asked;
        enum topology_mode mode;
        int64_t highest;
        const char *title;
    } asks[] = {
        {"{\"mode\":\"hard\",\"highestTierAllowed\":2}", TOPOLOGY_REQUIRED, 2, ""},
        {"{\"highestTierAllowed\":0}", TOPOLOGY_REQUIRED, 0, ""},
        {"{\"mode\":\"hard\",\"highestTierName\":\"rack\"}", TOPOLOGY_REQUIRED, INT64_MIN, "rack"},
        {"{\"mode\":\"hard\"}", TOPOLOGY_PREFERRED, 0, ""},
        {"{\"mode\":\"soft\",\"highestTierAllowed\":1}", TOPOLOGY_PREFERRED, 0, ""},
        {"null", TOPOLOGY_UNASKED, 0, ""},
    };
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        struct world w = world_new();
        struct decoder d = {.names = w.names, .arena = w.records};
        struct gang_record g;
        const char *text = arena_printf(w.records, "{\"metadata\":{\"name\":\"g\",\"namespace\":\"ns\"},\"spec\":{\"networkTopology\":%s}}",
                                        asks[i].asked);
        assert_int_equal(decode_volcano_pod_group(&d, json_parse(w.records, bytes_of(text), NULL, NULL), &g, NULL), 0);
        assert_int_equal(g.tiers.mode, asks[i].mode);
        assert_true(g.tiers.highest == asks[i].highest);
        assert_string_equal(text_of(&w, g.tiers.title), asks[i].title);
        world_free(&w);
    }
}

#define POLICY(more) "{\"name\":\"w\"" more "}"

/* The same of spec.subGroupPolicy: "NAME size least mode tier, KEY=VALUES of selected pods; labels". */
static void what_subgroups_ask_for(void **state)
{
    (void)state;
    static const struct {
        const char *policies, *expected;
    } asks[] = {
        {"[" POLICY("") "]", "w 1 0 0 0,;"},
        {"[" POLICY(",\"subGroupSize\":4,\"minSubGroups\":2,\"networkTopology\":{\"highestTierAllowed\":1},"
                    "\"labelSelector\":{\"matchLabels\":{\"a\":\"b\"}},\"matchLabelKeys\":[\"x\",\"y\"]") "]", "w 4 2 1 1, a=b; x y"},
        {"[" POLICY(",\"networkTopology\":{\"mode\":\"soft\"}") "," POLICY(",\"labelSelector\":{}") "]", "w 1 0 2 0,; w 1 0 0 0,;"},
        {"[" POLICY(",\"subGroupSize\":-3,\"minSubGroups\":-1,\"labelSelector\":7,\"matchLabelKeys\":{}") "]", "w 1 0 0 0,;"},
        {"[7]", " 1 0 0 0,;"},
        {"[]", ""},
        {"{}", ""},
    };
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        struct world w = world_new();
        struct decoder d = {.names = w.names, .arena = w.records};
        struct gang_record g;
        const char *is = "", *text = arena_printf(w.records, "{\"metadata\":{\"name\":\"g\"},\"spec\":{\"subGroupPolicy\":%s}}",
                                                  asks[i].policies);
        assert_int_equal(decode_volcano_pod_group(&d, json_parse(w.records, bytes_of(text), NULL, NULL), &g, NULL), 0);
        for (uint32_t k = 0; k < g.subgroups_n; k++) {
            const struct subgroup_policy *p = &g.subgroups[k];
            is = arena_printf(w.records, "%s%s%s %d %d %d %lld,", is, k ? " " : "", text_of(&w, p->name), p->size, p->least_n,
                              (int)p->tiers.mode, (long long)p->tiers.highest);
            for (uint32_t m = 0; m < p->pods.all_n; m++)
                is = arena_printf(w.records, "%s %s=%s", is, text_of(&w, p->pods.all[m].key), text_of(&w, p->pods.all[m].values[0]));
            is = arena_printf(w.records, "%s;", is);
            for (uint32_t m = 0; m < p->keys_n; m++)
                is = arena_printf(w.records, "%s %s", is, text_of(&w, p->keys[m]));
        }
        assert_string_equal(is, asks[i].expected);
        world_free(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_case), cmocka_unit_test(what_groups_ask_for),
                                       cmocka_unit_test(what_subgroups_ask_for)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
