/* Volcano's queues in their tree: which parents, capabilities, guarantees and shares are taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "admission_world.h"

/*
 *   root - org (cpu 10, deserves 8, is guaranteed 4) - team (deserves 3, is guaranteed 1) - small (cpu 2)
 *        |                                            `- other (deserves 4)
 *        `- busy (has pods)                 loose (cpu 1) stands below org too, without a capability of its own in between
 */
#define TREE                                                                                                                       \
    "items:\n"                                                                                                                     \
    "- {metadata: {name: org}, spec: {parent: root, capability: {cpu: 10}, deserved: {cpu: 8}, guarantee: {resource: {cpu: 4}}}}\n"   \
    "- {metadata: {name: team}, spec: {parent: org, deserved: {cpu: 3}, guarantee: {resource: {cpu: 1}}}}\n"                         \
    "- {metadata: {name: other}, spec: {parent: org, deserved: {cpu: 4}}}\n"                                                        \
    "- {metadata: {name: small}, spec: {parent: team, capability: {cpu: 2}}}\n"                                                     \
    "- {metadata: {name: busy}, spec: {parent: root}, status: {allocated: {pods: 3, cpu: 2}}}\n"
#define QUEUE(name, spec) "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: " name "}\nspec: {" spec "}\n"

static void queues_fit_into_their_tree(void **state)
{
    static const struct {
        const char *yaml, *error;
    } cases[] = {
        {QUEUE("q", "weight: 1"), ""},
        {QUEUE("q", "parent: org, capability: {cpu: 10}, deserved: {cpu: 1}, guarantee: {resource: {cpu: 1}}"), ""},
        {QUEUE("q", "parent: q"), "spec.parent: Invalid value: \"q\": queue q cannot use itself as parent"},
        {QUEUE("q", "parent: gone"), "spec.parent: Invalid value: \"gone\": failed to get parent queue of queue q: there is no queue gone; "
                                     "create it first, or write root"},
        {QUEUE("q", "parent: busy"), "queue busy cannot be the parent queue of queue q because it has allocated Pods: 3"},
        {QUEUE("q", "parent: team, capability: {cpu: 11}"),
         "spec.capability[cpu]: Invalid value: 11: queue q capability[cpu]=11 exceeds its ancestor's capability=10, of queue org"},
        {QUEUE("q", "parent: team, capability: {memory: 1Ti}"), ""}, /* nobody above names it */
        {QUEUE("q", "parent: org, deserved: {cpu: 1500m}"),
         "spec.deserved: Invalid value: parent queue org validation failed: sum of children's deserved (8500m cpu) exceeds parent's deserved "
         "limit (8)"},
        {QUEUE("q", "parent: org, deserved: {memory: 1Gi}"), "sum of children's deserved (1073741824 memory) exceeds parent's deserved limit (0)"},
        {QUEUE("q", "parent: org, deserved: {cpu: 4}, guarantee: {resource: {cpu: 4}}"),
         "spec.guarantee.resource: Invalid value: parent queue org validation failed: sum of children's guarantee (5 cpu) exceeds parent's "
         "guarantee limit (4)"},
        {QUEUE("org", "capability: {cpu: 1}, deserved: {cpu: 8}, guarantee: {resource: {cpu: 4}}"),
         "spec.capability[cpu]: Invalid value: 1: queue org capability[cpu]=1 is smaller than its descendants' max capability=2"},
        {QUEUE("org", "deserved: {cpu: 6}, guarantee: {resource: {cpu: 4}}"), "sum of children's deserved (7 cpu) exceeds parent's deserved limit (6)"},
        {QUEUE("org", "parent: small"), "spec.parent: Invalid value: \"small\": queue org would stand below itself"},
        {QUEUE("root", "weight: 1, capability: {cpu: 1}"), ""},
    };
    struct world *w = *state;
    w->others = json_get(parse(w, TREE), "items");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *errors = admit(w, cases[i].yaml);
        if (cases[i].error[0] ? !strstr(errors, cases[i].error) : errors[0] != '\0')
            fail_msg("%s\n%s", cases[i].yaml, errors);
    }
}

static void what_does_not_change_is_not_asked(void **state)
{
    struct world *w = *state;
    w->others = json_get(parse(w, TREE), "items");
    assert_string_equal(admit(w, QUEUE("q", "weight: 1")), "");
    assert_string_equal(json_text(json_path(w->object, "spec", "parent", NULL), ""), "root");
    assert_string_equal(admit(w, QUEUE("root", "weight: 1")), "");
    assert_null(json_path(w->object, "spec", "parent", NULL));
    /* stored before there was a rule: other fields may change */
    const char *yaml = QUEUE("q", "parent: gone, weight: 1, reclaimable: true");
    struct json *old = parse(w, yaml);
    assert_string_equal(admit_as(w, QUEUE("q", "parent: gone, weight: 2, reclaimable: true"), old, false, true), "");
    assert_non_null(strstr(admit_as(w, QUEUE("q", "parent: gone, capability: {cpu: 1}"), old, false, true), "there is no queue gone"));
}

static void a_tree_has_so_many_levels(void **state)
{
    struct world *w = *state;
    struct buf text = {0};
    buf_text(&text, "items:\n");
    for (int i = 0; i < 40; i++)
        buf_printf(&text, "- {metadata: {name: q%d}, spec: {parent: %s}}\n", i, i ? arena_printf(w->arena, "q%d", i - 1) : "root");
    w->others = json_get(parse(w, text.data), "items");
    buf_free(&text);
    assert_string_equal(admit(w, QUEUE("x", "parent: q29")), "");
    assert_non_null(strstr(admit(w, QUEUE("x", "parent: q35")), "queue x exceeds the maximum allowed depth of 32"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(queues_fit_into_their_tree, world_open, world_close),
        cmocka_unit_test_setup_teardown(what_does_not_change_is_not_asked, world_open, world_close),
        cmocka_unit_test_setup_teardown(a_tree_has_so_many_levels, world_open, world_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
