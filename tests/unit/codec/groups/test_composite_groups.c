/* Trees of CompositePodGroups as one gang: parts, minimums, domains, what is wrong with one; pods that are of such a gang. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>
#include "base/limits.h"
#include "../decoder_world.h"

#define REF "\"workloadRef\":{\"workloadName\":\"w\",\"templateName\":\"t\"}"
#define NEAR(label) ",\"schedulingConstraints\":{\"topology\":[{\"key\":\"" label "\"}]}"

static struct native_part part(struct world *w, bool is_composite, uint32_t above, const char *name, const char *spec)
{
    const char *text = arena_printf(w->arena, "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},\"spec\":{%s}}", name, spec);
    return (struct native_part){tree(w, text), above, is_composite};
}

static char asked[200];

static bool levels_of(void *ctx, name_id gang, const char *const *levels, uint32_t n, int64_t *ret_tiers)
{
    struct world *w = ctx;
    size_t at = (size_t)snprintf(asked, sizeof asked, "%s:", intern_name(w->names, gang));
    for (uint32_t i = 0; i < n; i++) {
        at += (size_t)snprintf(&asked[at], sizeof asked - at, " %s", levels[i] ? levels[i] : "-");
        ret_tiers[i] = levels[i] ? 7 + i : INT64_MIN;
    }
    return true;
}

static void policy_is(const struct world *w, const struct subgroup_policy *p, const char *name, uint32_t above, int32_t size,
                      int32_t least_n)
{
    assert_string_equal(intern_name(w->names, p->name), name);
    assert_int_equal(p->above, above);
    assert_int_equal(p->size, size);
    assert_int_equal(p->least_n, least_n);
    assert_int_equal(p->pods.matches_nothing, size == 0);
}

/*   all (2 of a, b) ── a (basic, one rack) ── a0 (3 pods), a1 (basic)
 *                   └─ b (4 pods, one block)                            */
static void a_tree(void **state)
{
    struct world *w = *state;
    struct gang_record g;
    struct err e = {0};
    const struct native_part parts[] = {
        part(w, true, 0, "all", REF ",\"schedulingPolicy\":{\"gang\":{\"minGroupCount\":2}},\"priority\":9" NEAR("zone")),
        part(w, true, 0, "a", REF ",\"schedulingPolicy\":{\"basic\":{}}" NEAR("rack")),
        part(w, false, 0, "b", REF ",\"schedulingPolicy\":{\"gang\":{\"minCount\":4}}" NEAR("block")),
        part(w, false, 1, "a0", REF ",\"schedulingPolicy\":{\"gang\":{\"minCount\":3}}"),
        part(w, false, 1, "a1", REF ",\"schedulingPolicy\":{\"basic\":{}}"),
    };
    w->d.levels_of = levels_of;
    w->d.ctx = w;
    assert_int_equal(decode_composite_group(&w->d, parts, 5, &g, &e), 0);
    assert_string_equal(intern_name(w->names, g.key), "composite/n/all");
    assert_int_equal(g.source, GANG_COMPOSITE);
    assert_true(g.active && !g.on_hold && g.priority == 9 && g.min_members == 1);
    assert_int_equal(g.subgroups_least, 2);
    assert_int_equal(g.subgroups_n, 4);
    policy_is(w, &g.subgroups[0], "a", 0, 0, 1);
    policy_is(w, &g.subgroups[1], "b", 0, 4, 1);
    policy_is(w, &g.subgroups[2], "a0", 1, 3, 1);
    policy_is(w, &g.subgroups[3], "a1", 1, 1, 1);
    assert_string_equal(asked, "composite/n/all: zone rack block - -");
    assert_int_equal(g.tiers.highest, 7);
    assert_int_equal(g.subgroups[0].tiers.highest, 8);
    assert_int_equal(g.subgroups[1].tiers.highest, 9);
    assert_int_equal(g.subgroups[2].tiers.mode, TOPOLOGY_UNASKED);
    const struct selector *pods = &g.subgroups[1].pods;
    assert_int_equal(pods->all_n, 1);
    assert_string_equal(intern_name(w->names, pods->all[0].key), DECODE_PART_LABEL);
    assert_string_equal(intern_name(w->names, pods->all[0].values[0]), "b");
    w->d.levels_of = NULL;
    assert_int_equal(decode_composite_group(&w->d, parts, 1, &g, &e), 0); /* nobody is below it yet */
    assert_true(!g.subgroups_n && g.tiers.mode == TOPOLOGY_UNASKED);
}

static void what_is_wrong_keeps_all_of_it(void **state)
{
    struct world *w = *state;
    struct gang_record g;
    struct err e = {0};
    static const char policy[] = REF ",\"schedulingPolicy\":{\"gang\":{\"minGroupCount\":1}}";
    struct native_part parts[LIMIT_SUBGROUP_POLICIES + 2];
    for (uint32_t i = 0; i < 5; i++)
        parts[i] = part(w, true, i ? i - 1 : 0, arena_printf(w->arena, "c%u", i), policy);
    assert_int_equal(decode_composite_group(&w->d, parts, 4, &g, &e), 0);
    assert_false(g.on_hold);
    assert_int_equal(decode_composite_group(&w->d, parts, 5, &g, &e), 0);
    assert_true(g.on_hold && g.hold_is_fault && !g.subgroups_n);
    assert_non_null(strstr(intern_name(w->names, g.hold_text), "more than 4, or a circle"));
    for (uint32_t i = 1; i < LIMIT_SUBGROUP_POLICIES + 2; i++)
        parts[i] = part(w, false, 0, arena_printf(w->arena, "g%u", i), policy);
    assert_int_equal(decode_composite_group(&w->d, parts, LIMIT_SUBGROUP_POLICIES + 1, &g, &e), 0);
    assert_int_equal(g.subgroups_n, LIMIT_SUBGROUP_POLICIES);
    assert_int_equal(decode_composite_group(&w->d, parts, LIMIT_SUBGROUP_POLICIES + 2, &g, &e), 0);
    assert_true(g.hold_is_fault);
    assert_non_null(strstr(intern_name(w->names, g.hold_text), "more than 256 groups are below CompositePodGroup c0: make fewer"));
    parts[2] = part(w, false, 0, "other", "\"workloadRef\":{\"workloadName\":\"v\",\"templateName\":\"t\"}");
    assert_int_equal(decode_composite_group(&w->d, parts, 3, &g, &e), 0);
    assert_non_null(strstr(intern_name(w->names, g.hold_text), "PodGroup other is of Workload v, and CompositePodGroup c0 above it of w"));
    parts[0] = (struct native_part){tree(w, "{}"), 0, true};
    assert_int_equal(decode_composite_group(&w->d, parts, 1, &g, &e), -E_INVALID);
}

/* A part that is held holds all: it is one start. */
static void a_part_is_held(void **state)
{
    struct world *w = *state;
    struct gang_record g;
    struct err e = {0};
    const struct native_part parts[] = {
        part(w, true, 0, "all", "\"schedulingPolicy\":{\"gang\":{\"minGroupCount\":1}}"),
        {tree(w, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"annotations\":{\"capstan.dev/hold\":\"\"}}}"), 0, false},
    };
    assert_int_equal(decode_composite_group(&w->d, parts, 2, &g, &e), 0);
    assert_true(g.on_hold && !g.hold_is_fault && g.subgroups_n == 1);
}

static void those_above_several_gangs(void **state)
{
    static const struct {
        const char *spec;
        bool is_apart;
    } rows[] = {
        {"{\"schedulingPolicy\":{\"basic\":{}}}", true},
        {"{\"schedulingPolicy\":{\"basic\":{}},\"schedulingConstraints\":{\"topology\":[]}}", true},
        {"{\"schedulingPolicy\":{\"basic\":{}},\"schedulingConstraints\":{\"topology\":[{\"key\":\"zone\"}]}}", false},
        {"{\"schedulingPolicy\":{\"gang\":{\"minGroupCount\":1}}}", false},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(decode_composite_is_apart(tree(w, arena_printf(w->arena, "{\"spec\":%s}", rows[i].spec))), rows[i].is_apart);
    assert_false(decode_composite_is_apart(NULL));
}

static name_id whole_of(void *ctx, name_id group)
{
    struct world *w = ctx;
    return text_equal(intern_name(w->names, group), "native/n/a") ? intern_text_id(w->names, "composite/n/all") : 0;
}

static struct pod_record pod_of(struct world *w, const char *spec)
{
    struct pod_record p;
    struct err e = {0};
    const char *text = arena_printf(w->arena, "{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"labels\":{\"x\":\"y\"}},\"spec\":{%s}}", spec);
    assert_int_equal(decode_pod(&w->d, bytes_of(text), &p, &e), 0);
    return p;
}

static void pods_are_of_the_whole(void **state)
{
    struct world *w = *state;
    w->d.whole_of = whole_of;
    w->d.ctx = w;
    struct pod_record p = pod_of(w, "\"schedulingGroup\":{\"podGroupName\":\"a\"}");
    assert_string_equal(intern_name(w->names, p.gang), "composite/n/all");
    assert_int_equal(p.gang_source, GANG_COMPOSITE);
    assert_string_equal(intern_name(w->names, p.pod_set), "a");
    assert_int_equal(p.shape.labels_n, 2);
    assert_string_equal(intern_name(w->names, p.shape.labels[1].key), DECODE_PART_LABEL);
    assert_string_equal(intern_name(w->names, p.shape.labels[1].value), "a");
    p = pod_of(w, "\"schedulingGroup\":{\"podGroupName\":\"b\"}");
    assert_string_equal(intern_name(w->names, p.gang), "native/n/b");
    assert_int_equal(p.gang_source, GANG_NATIVE);
    assert_int_equal(p.shape.labels_n, 1);
    p = pod_of(w, "\"workloadRef\":{\"name\":\"a\",\"podGroup\":\"b\"}"); /* of 1.35 */
    assert_string_equal(intern_name(w->names, p.gang), "native/n/a/b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_tree, world_open, world_close),
        cmocka_unit_test_setup_teardown(what_is_wrong_keeps_all_of_it, world_open, world_close),
        cmocka_unit_test_setup_teardown(a_part_is_held, world_open, world_close),
        cmocka_unit_test_setup_teardown(those_above_several_gangs, world_open, world_close),
        cmocka_unit_test_setup_teardown(pods_are_of_the_whole, world_open, world_close),
    };
    return cmocka_run_group_tests_name("composite_groups", tests, NULL, NULL);
}
