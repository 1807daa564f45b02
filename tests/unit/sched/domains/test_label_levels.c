/* test_label_levels.c - labels that groups ask for, and nodes in; levels and rows out
 *
 * nodes  "n1=k:v,k:v ..."
 * asks   "GROUP=LEVELS ...", each after the one before, '+' for the space between levels; "GROUP=" asks for none any more
 * rows   "zone/rack: n1=z1/r1 ...": levels from the widest, as the core is told
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "topology_rows.h"
#include "sched/domains/label_levels.h"

struct level_case {
    const char *what, *nodes, *asks, *rows;
};

static const struct level_case cases[] = {
    {"nobody asks", "n1=zone:a", "", ":"},
    {"one label", "n1=zone:a n2=zone:b n3=", "g=zone", "zone: n1=a n2=b"},
    {"a label that no node has", "n1=zone:a", "g=rack", "rack:"},
    {"no nodes", "", "g=rack", "rack:"},
    {"two, the wider first", "n1=rack:r1,zone:z n2=rack:r1,zone:z n3=rack:r2,zone:z n4=zone:y", "a=rack b=zone", "zone rack: n1=z/r1 n2=z/r1 n3=z/r2 n4=y/-"},
    {"whatever their order by name", "n1=a:r1,b:z n2=a:r2,b:z", "x=a y=b", "b a: n1=z/r1 n2=z/r2"},
    {"a wide one with few nodes in its other domains", "n1=zone:a n2=zone:b n3=zone:c,rack:r n4=zone:c,rack:r n5=zone:c", "x=rack y=zone",
     "zone rack: n1=a/- n2=b/- n3=c/r n4=c/r n5=c/-"},
    {"equally wide, by name", "n1=a:1,b:2", "x=b y=a", "a b: n1=1/2"},
    {"several groups, one level", "n1=zone:a", "x=zone y=zone", "zone: n1=a"},
    {"one of them leaves", "n1=zone:a", "x=zone y=zone x=", "zone: n1=a"},
    {"the last one leaves", "n1=zone:a", "x=zone x=", ":"},
    {"who never asked leaves", "n1=zone:a", "x=", ":"},
    {"one asks for another", "n1=zone:a,rack:r", "x=zone x=rack", "rack: n1=r"},
    {"several labels are one level", "n1=block:b1,rack:r n2=block:b2,rack:r n3=rack:r", "x=block,rack", "block,rack: n1=b1,r n2=b2,r"},
    {"one group, several levels", "n1=block:b1,rack:r n2=block:b1,rack:s", "x=block+block,rack", "block block,rack: n1=b1/b1,r n2=b1/b1,s"},
    {"it asks for fewer", "n1=block:b1,rack:r", "x=block+block,rack y=block x=block,rack y=", "block,rack: n1=b1,r"},
    {"more than there may be", "n1=l01:x", "a=l01 b=l02 c=l03 d=l04 e=l05 f=l06 g=l07 h=l08 i=l09 j=l10 k=l11 l=l12 m=l13 n=l14 o=l15 p=l16 q=l17",
     "l01 l02 l03 l04 l05 l06 l07 l08 l09 l10 l11 l12 l13 l14 l15 l16: n1=x/-/-/-/-/-/-/-/-/-/-/-/-/-/-/-"},
};

static void nodes_make(struct world *w, const char *text)
{
    char *save = NULL;
    for (char *word = strtok_r(arena_text(w->records, text), " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *labels = strchr(word, '=');
        *labels++ = '\0';
        for (char *colon; (colon = strchr(labels, ':'));)
            *colon = '=';
        node(w, word, "cpu=1000", labels);
    }
}

static void ask(struct world *w, struct label_levels *l, const char *text)
{
    char *save = NULL;
    for (char *word = strtok_r(arena_text(w->records, text), " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *labels = strchr(word, '=');
        *labels++ = '\0';
        for (char *plus; (plus = strchr(labels, '+'));)
            *plus = ' ';
        (void)label_levels_ask(l, word, *labels ? labels : NULL);
    }
}

static bool build(struct world *w, struct label_levels *l, struct topology_record *r)
{
    struct decoder d = {.names = w->names, .arena = w->records};
    struct node_look *nodes;
    uint32_t n = state_nodes(w->s, w->records, &nodes);
    return label_levels_build(l, &d, nodes, n, r);
}

/* The levels, and what is below them: "block block,rack: a=b1/b1,r1". */
static const char *rows_of(struct world *w, const struct topology_record *r)
{
    const char *text = "";
    for (uint32_t l = 0; l < r->levels_n; l++)
        text = arena_printf(w->records, "%s%s%s", text, l ? " " : "", text_of(w, r->levels[l]));
    return arena_printf(w->records, "%s:%s%s", text, r->rows_n ? " " : "", topology_rows(w, r));
}

static void every_case(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w = world_new();
        struct label_levels *l = label_levels_new();
        struct topology_record r;
        nodes_make(&w, cases[i].nodes);
        ask(&w, l, cases[i].asks);
        (void)build(&w, l, &r);
        if (strcmp(rows_of(&w, &r), cases[i].rows) != 0)
            fail_msg("%s:\n  rows     %s\n  expected %s", cases[i].what, rows_of(&w, &r), cases[i].rows);
        for (uint32_t k = 1; k < r.levels_n; k++)
            assert_true(r.tiers[k] < r.tiers[k - 1] && r.tiers[k] > 0);
        assert_int_equal(label_levels_any(l), r.levels_n > 0);
        label_levels_free(l);
        world_free(&w);
    }
    label_levels_free(NULL);
}

static int64_t tier(const struct label_levels *l, const char *labels)
{
    int64_t found = 0;
    return label_levels_tier(l, labels, &found) ? found : 0;
}

/* A tier is never that of a wider level than before: who still has it is kept too narrow for a moment, not too wide. */
static void tiers_are_not_given_again(void **state)
{
    (void)state;
    struct world w = world_new();
    struct label_levels *l = label_levels_new();
    struct topology_record r;
    nodes_make(&w, "n1=zone:a,rack:r n2=zone:a,rack:s");
    assert_true(label_levels_ask(l, "g", "rack"));
    assert_false(label_levels_ask(l, "g", "rack"));
    assert_false(label_levels_ask(l, "h", "rack"));
    assert_int_equal(tier(l, "rack"), INT64_MIN);
    assert_int_equal(tier(l, "zone"), 0);
    assert_true(build(&w, l, &r));
    assert_false(build(&w, l, &r));
    int64_t rack = tier(l, "rack");
    assert_true(label_levels_ask(l, "z", "zone"));
    assert_true(build(&w, l, &r));
    assert_true(tier(l, "zone") > tier(l, "rack") && tier(l, "rack") > rack);
    int64_t zone = tier(l, "zone");
    rack = tier(l, "rack");
    nodes_make(&w, "n3=rack:r n4=rack:r n5=rack:r"); /* racks are wider now */
    assert_true(build(&w, l, &r));
    assert_true(tier(l, "rack") > tier(l, "zone") && tier(l, "zone") > zone);
    zone = tier(l, "zone");
    rack = tier(l, "rack");
    assert_true(label_levels_ask(l, "z", NULL)); /* who stays keeps its own */
    assert_false(build(&w, l, &r));
    assert_int_equal(tier(l, "rack"), rack);
    label_levels_free(l);
    world_free(&w);
}

/* Of too many one goes: the one that did not count is told. */
static void room_for_another_level(void **state)
{
    (void)state;
    struct world w = world_new();
    struct label_levels *l = label_levels_new();
    struct topology_record r;
    ask(&w, l, "a=l01 b=l02 c=l03 d=l04 e=l05 f=l06 g=l07 h=l08 i=l09 j=l10 k=l11 l=l12 m=l13 n=l14 o=l15 p=l16 q=l17");
    assert_true(build(&w, l, &r));
    assert_int_equal(tier(l, "l17"), 0);
    assert_true(label_levels_ask(l, "a", NULL));
    assert_true(build(&w, l, &r));
    assert_true(tier(l, "l17") > 0);
    label_levels_free(l);
    world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_case), cmocka_unit_test(tiers_are_not_given_again),
                                       cmocka_unit_test(room_for_another_level)};
    return cmocka_run_group_tests_name("label_levels", tests, NULL, NULL);
}
