/* Pod groups of Kubernetes itself, as each version of scheduling.k8s.io has them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../decoder_world.h"

/* The newest first: the first that a server has is the one to read. */
static void the_versions(void **state)
{
    static const struct {
        const char *path, *version, *api_version, *scheduled;
    } rows[] = {
        {"/apis/scheduling.k8s.io/v1beta1/podgroups", "v1beta1", "scheduling.k8s.io/v1beta1", "PodGroupInitiallyScheduled"},
        {"/apis/scheduling.k8s.io/v1alpha3/podgroups", "v1alpha3", "scheduling.k8s.io/v1alpha3", "PodGroupInitiallyScheduled"},
        {"/apis/scheduling.k8s.io/v1alpha2/podgroups", "v1alpha2", "scheduling.k8s.io/v1alpha2", "PodGroupScheduled"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(native_paths[i], rows[i].path);
        const struct native_version *v = native_version_at(rows[i].path);
        assert_ptr_equal(v, &native_versions[i]);
        assert_string_equal(v->version, rows[i].version);
        assert_string_equal(v->api_version, rows[i].api_version);
        assert_string_equal(v->scheduled, rows[i].scheduled);
    }
    assert_null(native_paths[sizeof rows / sizeof *rows]);
    assert_null(native_versions[sizeof rows / sizeof *rows].version);
}

/* A PodGroup as servers of each release have it; its policy has one name in all of them. */
static void groups_of_each_version(void **state)
{
    static const struct {
        const char *spec;
        int32_t least, priority;
        bool goes_whole, preempts_nobody;
    } rows[] = {
        /* 1.37, v1beta1 and v1alpha3 */
        {"{\"workloadRef\":{\"workloadName\":\"w\",\"templateName\":\"t\"},\"schedulingPolicy\":{\"gang\":{\"minCount\":3}},"
         "\"disruptionMode\":{\"all\":{}},\"priorityClassName\":\"high\"}", 3, 1000, true, false},
        {"{\"schedulingPolicy\":{\"gang\":{\"minCount\":2}},\"priorityClassName\":\"high\",\"priority\":7}", 2, 7},
        /* 1.36, v1alpha2 */
        {"{\"podGroupTemplateRef\":{\"workload\":{\"workloadName\":\"w\",\"podGroupTemplateName\":\"t\"}},\"schedulingPolicy\":{"
         "\"gang\":{\"minCount\":4}},\"disruptionMode\":\"PodGroup\",\"priority\":-5}", 4, -5, true, false},
        {"{\"disruptionMode\":{\"single\":{}},\"preemptionPolicy\":\"Never\"}", 1, 0, false, true},
        {"{\"disruptionMode\":\"Pod\",\"preemptionPolicy\":\"PreemptLowerPriority\"}", 1, 0, false, false},
        /* whose pods start one by one, as they can */
        {"{\"schedulingPolicy\":{\"basic\":{}}}", 1, 0},
        {"{}", 1, 0},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gang_record g;
        struct err e = {0};
        const char *text = arena_printf(w->arena, "{\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},\"spec\":%s}", rows[i].spec);
        assert_int_equal(decode_native_pod_group(&w->d, tree(w, text), &g, &e), 0);
        assert_string_equal(intern_name(w->names, g.key), "native/n/g");
        assert_int_equal(g.min_members, rows[i].least);
        assert_int_equal(g.priority, rows[i].priority);
        assert_int_equal(g.goes_whole, rows[i].goes_whole);
        assert_int_equal(g.preempts_nobody, rows[i].preempts_nobody);
    }
}

/* What an API server of Kubernetes' own stores without a word: told once, by what it means here. */
static void what_does_nothing_is_said(void **state)
{
    static const struct {
        const char *spec, *said[3];
    } rows[] = {
        {"{}", {NULL}},
        {"{\"schedulingPolicy\":{\"gang\":{\"minCount\":2}},\"disruptionMode\":{\"single\":{}},\"resourceClaims\":[]}", {NULL}},
        {"{\"resourceClaims\":[{\"name\":\"a\",\"resourceClaimName\":\"c\"}]}", {"spec.resourceClaims: no device is claimed for the group"}},
        {"{\"parentCompositePodGroupName\":\"all\"}", {NULL}},
        {"{\"resourceClaims\":7,\"disruptionMode\":[],\"parentCompositePodGroupName\":{}}", {NULL}}, /* no server lets it through */
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *text = arena_printf(w->arena, "{\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},\"spec\":%s}", rows[i].spec);
        const char *said = decode_native_unused(&w->d, tree(w, text));
        assert_int_equal(said != NULL, rows[i].said[0] != NULL);
        for (size_t k = 0; rows[i].said[k]; k++)
            assert_non_null(strstr(said, rows[i].said[k]));
    }
}

/* Of a part of a tree. */
static void annotations_of_the_top_are_said(void **state)
{
    struct world *w = *state;
    const struct json *part = tree(w, "{\"metadata\":{\"annotations\":{\"capstan.dev/refill-seconds\":\"5\",\"capstan.dev/hold\":\"x\"}}}");
    const char *said = decode_part_unused(&w->d, part, "one");
    assert_string_equal(said, "one; metadata.annotations[capstan.dev/refill-seconds]: write it on the CompositePodGroup on top, for all below it");
    assert_null(decode_part_unused(&w->d, tree(w, "{\"metadata\":{\"annotations\":[7]}}"), NULL));
}

static name_id gang_of_pod(struct world *w, const char *spec)
{
    struct pod_record p;
    struct err e = {0};
    const char *text = arena_printf(w->arena, "{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\"},\"spec\":{%s}}", spec);
    assert_int_equal(decode_pod(&w->d, bytes_of(text), &p, &e), 0);
    assert_int_equal(p.gang_source, p.gang ? GANG_NATIVE : GANG_POD);
    return p.gang;
}

/* Names have no slash, and points and hyphens in plenty: no two groups are called the same. */
static void pods_name_their_group(void **state)
{
    static const struct {
        const char *spec, *gang, *workload;
    } rows[] = {
        {"\"schedulingGroup\":{\"podGroupName\":\"a-b\"}", "native/n/a-b", NULL},
        {"\"workloadRef\":{\"name\":\"a\",\"podGroup\":\"b\"}", "native/n/a/b", "n/a"},
        {"\"workloadRef\":{\"name\":\"a\",\"podGroup\":\"b\",\"podGroupReplicaKey\":\"0\"}", "native/n/a/b/0", "n/a"},
        {"\"workloadRef\":{\"podGroupReplicaKey\":\"c\",\"podGroup\":\"b\",\"name\":\"a\"}", "native/n/a/b/c", "n/a"},
        {"\"workloadRef\":{\"name\":\"a-b\",\"podGroup\":\"c\"}", "native/n/a-b/c", "n/a-b"},
        {"\"workloadRef\":{\"name\":\"a\",\"podGroup\":\"b-c\"}", "native/n/a/b-c", "n/a"},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *gang = intern_name(w->names, gang_of_pod(w, rows[i].spec));
        struct bytes workload;
        assert_string_equal(gang, rows[i].gang);
        assert_int_equal(decode_native_workload(gang, &workload), rows[i].workload != NULL);
        if (rows[i].workload)
            assert_true(bytes_is(workload, rows[i].workload));
    }
    assert_int_equal(gang_of_pod(w, "\"workloadRef\":{}"), 0);
    assert_int_equal(gang_of_pod(w, "\"workloadRef\":{\"name\":\"a\"}"), 0); /* of no group of it */
    struct bytes unused;
    assert_false(decode_native_workload("workload/n/a/b", &unused));
    assert_false(decode_native_workload("native/n/a", &unused));
    assert_false(decode_native_workload("native/", &unused));
    assert_false(decode_native_workload("", &unused));
}

/* 1.35, v1alpha1: a Workload has the groups, and whichever replica of one a pod names counts by itself. */
static void groups_of_a_workload(void **state)
{
    static const char workload[] =
        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{"
        "\"controllerRef\":{\"kind\":\"Job\",\"name\":\"j\"},\"podGroups\":[{\"name\":\"workers\",\"policy\":{\"gang\":{\"minCount\":4}}},"
        "{\"name\":\"rest\",\"policy\":{\"basic\":{}}}]}}";
    static const struct {
        const char *gang;
        int r;
        int32_t least;
    } rows[] = {
        {"native/n/a/workers", 0, 4}, {"native/n/a/workers/0", 0, 4},          {"native/n/a/workers/1", 0, 4},
        {"native/n/a/rest", 0, 1},    {"native/n/a/worker", -E_NOTFOUND, 0},   {"native/n/a/workers-0", -E_NOTFOUND, 0},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gang_record g;
        struct err e = {0};
        assert_int_equal(decode_native_group_of(&w->d, tree(w, workload), rows[i].gang, &g, &e), rows[i].r);
        if (rows[i].r < 0)
            continue;
        assert_string_equal(intern_name(w->names, g.key), rows[i].gang);
        assert_int_equal(g.source, GANG_NATIVE);
        assert_int_equal(g.min_members, rows[i].least);
        assert_true(g.active && g.created_ms == 1767225600000 && !g.restart_ms);
    }
    struct gang_record g;
    struct err e = {0};
    static const char held[] = "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"annotations\":{\"capstan.dev/hold\":\"true\"}},\"spec\":{"
                               "\"podGroups\":[{\"name\":\"workers\",\"policy\":{\"gang\":{\"minCount\":4}}}]}}";
    assert_int_equal(decode_native_group_of(&w->d, tree(w, held), "native/n/a/workers/1", &g, &e), 0);
    assert_true(g.on_hold); /* as all of its groups are */
    static const char *const broken[] = {"{}", "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"podGroups\":{\"workers\":1}}}",
                                         "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"podGroups\":[1,null,{\"name\":7}]}}"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        assert_true(decode_native_group_of(&w->d, tree(w, broken[i]), "native/n/a/workers", &g, &e) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_versions),
        cmocka_unit_test_setup_teardown(groups_of_each_version, world_open, world_close),
        cmocka_unit_test_setup_teardown(what_does_nothing_is_said, world_open, world_close),
        cmocka_unit_test_setup_teardown(annotations_of_the_top_are_said, world_open, world_close),
        cmocka_unit_test_setup_teardown(pods_name_their_group, world_open, world_close),
        cmocka_unit_test_setup_teardown(groups_of_a_workload, world_open, world_close),
    };
    return cmocka_run_group_tests_name("native_groups", tests, NULL, NULL);
}
