/* Volcano's queues: their amounts, and in their tree which parents, capabilities, guarantees and shares are taken; the queue of a group by
 * its namespace; of pods how many may be gone; members of HyperNodes. */
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

#define NOTED(notes) \
    "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: q, annotations: {" notes "}}\nspec: {weight: 1}\n"
#define POD(scheduler, notes)                                                                         \
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ns, annotations: {" notes "}}\nspec: " \
    "{schedulerName: " scheduler ", containers: [{name: c, image: i}]}\n"
#define FEWEST "volcano.sh/jdb-min-available: "
#define MOST "volcano.sh/jdb-max-unavailable: "
#define HYPER(selector)                                                                    \
    "apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata: {name: h}\nspec: " \
    "{tier: 1, members: [{type: Node, selector: {" selector "}}]}\n"
#define SELECTOR "spec.members[0].selector."

#define JOB(ns, queue)                                                                                                       \
    "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j, namespace: " ns "}\n"                              \
    "spec: {" queue "tasks: [{name: t, replicas: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}]}\n"

/* SOURCE Volcano's own e2e suite of its webhooks. */
static void volcanos_rules_are_kept(void **state)
{
    static const struct {
        const char *yaml, *error;
    } cases[] = {
        /* amounts of one queue */
        {QUEUE("q", "capability: {cpu: 3}, deserved: {cpu: 2, memory: 1Gi}, guarantee: {resource: {cpu: 1500m}}"), ""},
        {QUEUE("q", "weight: -1"), "spec.weight: Invalid value: -1: spec.weight in body should be greater than or equal to 1"},
        {QUEUE("q", "weight: 65536"), "spec.weight in body should be less than or equal to 65535"},
        {QUEUE("q", "capability: {cpu: 1}, deserved: {cpu: 1500m}"),
         "spec.deserved[cpu]: Invalid value: \"1500m\": deserved[cpu]=1500m must be <= capability[cpu]=1: lower it, or raise spec.capability"},
        {QUEUE("q", "deserved: {memory: 1Gi}, guarantee: {resource: {memory: 3Gi}}"),
         "spec.deserved[memory]: Invalid value: \"1Gi\": deserved[memory]=1Gi must be >= guarantee[memory]=3Gi: raise it, or lower "
         "spec.guarantee.resource"},
        {QUEUE("q", "guarantee: {resource: {cpu: 2}}"),
         "spec.deserved[cpu]: Invalid value: deserved[cpu] must be >= guarantee[cpu]=2: write at least what spec.guarantee.resource has"},
        {QUEUE("q", "deserved: {cpu: 2}, guarantee: {resource: {cpu: 2, nvidia.com/gpu: 1}}"), "deserved[nvidia.com/gpu] must be >= guarantee"},
        {QUEUE("q", "capability: {cpu: 1}, guarantee: {resource: {cpu: 2}}"),
         "spec.guarantee.resource[cpu]: Invalid value: 2: guarantee[cpu]=2 must be <= capability[cpu]=1"},
        {QUEUE("root", "guarantee: {resource: {cpu: 2}}"), "spec.deserved[cpu]"},
        /* a hierarchy in annotations */
        {NOTED("volcano.sh/hierarchy: root/sci, volcano.sh/hierarchy-weights: 1/2.5"), ""},
        {NOTED("volcano.sh/hierarchy: '', volcano.sh/hierarchy-weights: ''"), ""},
        {NOTED("volcano.sh/hierarchy: root"), "metadata.annotations[volcano.sh/hierarchy]: Invalid value: \"root\": denied without "
                                              "volcano.sh/hierarchy-weights, which must have the same length with it: write both"},
        {NOTED("volcano.sh/hierarchy-weights: 1/2"), "metadata.annotations[volcano.sh/hierarchy-weights]: Invalid value: \"1/2\": denied without"},
        {NOTED("volcano.sh/hierarchy: root/a/b, volcano.sh/hierarchy-weights: 1/2"),
         "must have the same length with volcano.sh/hierarchy-weights: 3 names, 2 weights: write one weight a name"},
        {NOTED("volcano.sh/hierarchy: root/a, volcano.sh/hierarchy-weights: 1/-2"), "-2 in the 1/-2 is invalid number: each must be larger than 0"},
        {NOTED("volcano.sh/hierarchy: root/a, volcano.sh/hierarchy-weights: 1/0"), "0 in the 1/0 is invalid number"},
        {NOTED("volcano.sh/hierarchy: root/a, volcano.sh/hierarchy-weights: 1/"), "is invalid number"},
        {NOTED("volcano.sh/hierarchy: root/a, volcano.sh/hierarchy-weights: 1/2x"), "2x in the 1/2x is invalid number"},
        {NOTED("volcano.sh/hierarchy: root/a, volcano.sh/hierarchy-weights: inf/nan"), "inf in the"},
        {NOTED("volcano.sh/hierarchy: root/a, volcano.sh/hierarchy-weights: 1/1e999"), "1e999 in the"},
        /* pods */
        {POD("volcano", FEWEST "'2'"), ""},
        {POD("volcano", MOST "50%"), ""},
        {POD("volcano", FEWEST "'0'"), "metadata.annotations[volcano.sh/jdb-min-available]: Invalid value: \"0\": it must be a positive integer: "},
        {POD("volcano", FEWEST "'-1'"), "it must be a positive integer"},
        {POD("volcano", FEWEST "'99999999999'"), "it must be a positive integer"},
        {POD("volcano", MOST "0%"), "a valid percentage which between 1% ~ 99%: write one such as 50%"},
        {POD("volcano", MOST "100%"), "metadata.annotations[volcano.sh/jdb-max-unavailable]: Invalid value: \"100%\": "},
        {POD("volcano", MOST "some"), "neither a number nor a percentage"},
        {POD("volcano", MOST "'%'"), "neither a number nor a percentage"},
        {POD("volcano", MOST "''"), "neither a number nor a percentage"},
        {POD("volcano", FEWEST "'2', " MOST "50%"), "not allow configure multiple annotations"},
        {POD("capstan", FEWEST "'-1', " MOST "none"), ""},
        /* volumes of jobs */
        {JOB("ns", "volumes: [{mountPath: /a, volumeClaimName: a}, {mountPath: /b, volumeClaimName: a}], "), ""},
        {JOB("ns", "volumes: [{mountPath: '', volumeClaimName: a}], "), "spec.volumes[0].mountPath: Invalid value: \"\": should be at least 1 chars"},
        {JOB("ns", "volumes: [{volumeClaimName: a}], "), "spec.volumes[0].mountPath: Required value"},
        {JOB("ns", "volumes: [{mountPath: /a, volumeClaimName: a}, {mountPath: /a, volumeClaimName: b}], "),
         "spec.volumes[1].mountPath: Duplicate value: \"/a\": duplicated mountPath: give each volume a path of its own"},
        {JOB("ns", "volumes: [{mountPath: /a}], "),
         "spec.volumes[0]: Required value: either VolumeClaim or VolumeClaimName must be specified: write either volumeClaim or volumeClaimName"},
        /* members of HyperNodes */
        {HYPER("exactMatch: {name: node-1}"), ""},
        {HYPER("regexMatch: {pattern: 'node-[0-9]+'}"), ""},
        {HYPER("exactMatch: {name: ''}"), SELECTOR "exactMatch.name: Invalid value: \"\": should be at least 1 chars long"},
        {HYPER("exactMatch: {name: Node@1}"), SELECTOR "exactMatch.name: Invalid value: \"Node@1\": should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?"},
        {HYPER("regexMatch: {pattern: ''}"), SELECTOR "regexMatch.pattern: Invalid value: \"\": should be at least 1 chars long"},
        {HYPER("regexMatch: {pattern: '['}"), "member regexMatch pattern is invalid: write a regular expression of RE2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *errors = admit(*state, cases[i].yaml);
        if (cases[i].error[0] ? !strstr(errors, cases[i].error) : errors[0] != '\0')
            fail_msg("%s\n%s", cases[i].yaml, errors);
    }
}

static void a_hierarchy_ends_in_its_queue(void **state)
{
    struct world *w = *state;
    w->others = json_get(parse(w, "items:\n- {metadata: {name: dev, annotations: {volcano.sh/hierarchy: root/sci/dev}}}\n"
                                  "- {metadata: {name: q, annotations: {volcano.sh/hierarchy: root/eng/x}}}\n"),
                         "items");
    assert_non_null(strstr(admit(w, NOTED("volcano.sh/hierarchy: root/sci, volcano.sh/hierarchy-weights: 1/2")),
                           "root/sci is not allowed to be in the sub path of root/sci/dev of queue dev"));
    assert_string_equal(admit(w, NOTED("volcano.sh/hierarchy: root/sc, volcano.sh/hierarchy-weights: 1/2")), "");
    assert_string_equal(admit(w, NOTED("volcano.sh/hierarchy: root/eng, volcano.sh/hierarchy-weights: 1/2")), ""); /* itself, as it was */
}

#define GROUP(ns, spec) "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: g, namespace: " ns "}\nspec: {" spec "}\n"

static void a_namespace_says_which_queue_is_the_default(void **state)
{
    static const struct {
        const char *yaml, *queue;
    } cases[] = {
        {GROUP("research", "minMember: 1"), "lab"},
        {GROUP("research", "queue: default"), "lab"},
        {GROUP("research", "queue: own"), "own"},
        {GROUP("ns", "queue: default"), "default"},
        {GROUP("ns", "minMember: 1"), "default"},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(admit(w, cases[i].yaml), "");
        assert_string_equal(json_text(json_path(w->object, "spec", "queue", NULL), ""), cases[i].queue);
    }
    const char *moved = GROUP("research", "queue: default");
    assert_string_equal(admit_as(w, moved, parse(w, GROUP("research", "queue: lab")), false, true), "");
    assert_string_equal(json_text(json_path(w->object, "spec", "queue", NULL), ""), "default"); /* only as it is created */
}

static void so_does_that_of_a_job(void **state)
{
    struct world *w = *state;
    assert_string_equal(admit(w, JOB("research", "queue: default, ")), "");
    assert_string_equal(json_text(json_path(w->object, "spec", "queue", NULL), ""), "lab");
    struct json *stored = json_clone(w->arena, w->object);
    assert_string_equal(admit_as(w, JOB("research", "queue: default, "), stored, false, true), ""); /* applied once more */
    assert_string_equal(json_text(json_path(w->object, "spec", "queue", NULL), ""), "lab");
    assert_string_equal(admit(w, JOB("ns", "")), "");
    assert_string_equal(json_text(json_path(w->object, "spec", "queue", NULL), ""), "default");
    stored = json_clone(w->arena, w->object);
    json_set_text(w->arena, json_get(stored, "metadata"), "namespace", "research"); /* from before the annotation */
    assert_string_equal(admit_as(w, JOB("research", ""), stored, false, true), "");
    assert_string_equal(json_text(json_path(w->object, "spec", "queue", NULL), ""), "default");
}

/* Its pods would be refused, and nobody would look there. */
static void a_job_is_told_what_its_pods_may_not_have(void **state)
{
    struct world *w = *state;
    const char *yaml = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j, namespace: ns, annotations: {" FEWEST "'150%'}}\n"
                       "spec: {tasks: [{name: t, replicas: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}]}\n";
    assert_string_equal(admit(w, yaml), "");
    bool told = false;
    for (uint32_t i = 0; i < w->x.warnings_n; i++)
        told |= strstr(w->x.warnings[i], "metadata.annotations[volcano.sh/jdb-min-available]: its pods would be refused: it must be a valid") != NULL;
    assert_true(told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(queues_fit_into_their_tree, world_open, world_close),
        cmocka_unit_test_setup_teardown(what_does_not_change_is_not_asked, world_open, world_close),
        cmocka_unit_test_setup_teardown(a_tree_has_so_many_levels, world_open, world_close),
        cmocka_unit_test_setup_teardown(volcanos_rules_are_kept, world_open, world_close),
        cmocka_unit_test_setup_teardown(a_hierarchy_ends_in_its_queue, world_open, world_close),
        cmocka_unit_test_setup_teardown(a_namespace_says_which_queue_is_the_default, world_open, world_close),
        cmocka_unit_test_setup_teardown(so_does_that_of_a_job, world_open, world_close),
        cmocka_unit_test_setup_teardown(a_job_is_told_what_its_pods_may_not_have, world_open, world_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
