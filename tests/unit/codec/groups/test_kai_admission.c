/* What is refused of KAI's PodGroups, as its webhook refuses it: minimums that exclude each other, trees whose minimums stand at the wrong
 * place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../admission_world.h"

static const char *group(struct world *w, const char *spec, const struct json *old)
{
    const char *yaml = "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: g, namespace: ns}\nspec: %s\n";
    return admit_as(w, arena_printf(w->arena, yaml, spec), old, false, true);
}

static const char *warnings(const struct world *w)
{
    const char *text = "";
    for (uint32_t i = 0; i < w->x.warnings_n; i++)
        text = arena_printf(w->arena, "%s%s\n", text, w->x.warnings[i]);
    return text;
}

static void minimums(void **state)
{
    static const struct {
        const char *spec, *error, *warning;
    } cases[] = {
        {"{minMember: 0}", "", ""},
        {"{minMember: -1}", "spec.minMember", ""},
        {"{stalenessGracePeriod: 90s, preemptionDelay: 1m}", "", ""},
        {"{stalenessGracePeriod: -1s}", "", ""},
        {"{stalenessGracePeriod: soon}", "spec.stalenessGracePeriod", ""},
        {"{preemptionDelay: 90}", "spec.preemptionDelay", ""},
        {"{minSubGroup: 0, subGroups: [{name: a, minMember: 8}]}", "", ""},
        {"{minSubGroup: 2, subGroups: [{name: a, minMember: 8}, {name: b, minMember: 0}, {name: c, minMember: 1}]}", "", ""},
        {"{minMember: 24, minSubGroup: 3, subGroups: [{name: a, minMember: 8}]}", "spec.minSubGroup", ""},
        {"{minSubGroup: 3, subGroups: [{name: a, minSubGroup: 2}, {name: b, minMember: 8}]}", "spec.subGroups[0].minSubGroup", ""},
        {"{minSubGroup: 5, subGroups: [{name: a, minMember: 8}, {name: b, minMember: 8}, {name: c, minMember: 8}, {name: d, minMember: 8}]}", "",
         "minSubGroup (5) exceeds the number of direct child SubGroups (4)"},
        {"{subGroups: [{name: top, minSubGroup: 2}, {name: a, minMember: 1, parent: top}]}", "",
         "spec.subGroups[0].minSubGroup: minSubGroup (2) exceeds the number of direct child SubGroups (1)"},
        {"{minSubGroup: 1, subGroups: [{name: top, minMember: 5, minSubGroup: 2}, {name: a, minMember: 1, parent: top}, {name: b, minMember: 4, parent: top}]}",
         "spec.subGroups[0].minSubGroup", ""},
        {"{minSubGroup: 1, subGroups: [{name: top, minMember: 5}, {name: a, minMember: 1, parent: top}]}", "spec.subGroups[0].minMember", ""},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *errors = group(w, cases[i].spec, NULL);
        if (*cases[i].error ? !strstr(errors, cases[i].error) : *errors)
            fail_msg("%s: %s", cases[i].spec, errors);
        if (!strstr(warnings(w), cases[i].warning))
            fail_msg("%s: %s", cases[i].spec, warnings(w));
    }
}

/* As KAI: what a version before that rule has let in may change in other fields. */
static void an_old_tree_may_change(void **state)
{
    struct world *w = *state;
    const char *spec = "{priorityClassName: x, subGroups: [{name: top, minMember: 5}, {name: a, minMember: 1, parent: top}]}";
    const struct json *old = parse(w, "metadata: {name: g, namespace: ns}\nspec: {subGroups: [{name: top, minMember: 5}, {name: a, minMember: 1, parent: top}]}");
    assert_string_equal(group(w, spec, old), "");
    assert_non_null(strstr(warnings(w), "spec.subGroups[0].minMember"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_open, world_close)
    const struct CMUnitTest tests[] = {TEST(minimums), TEST(an_old_tree_may_change)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
