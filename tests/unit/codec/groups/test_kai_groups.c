/* KAI's PodGroups: who is of one, what of it is read, what is wrong in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/limits.h"
#include "../decoder_world.h"

static bool has_queue(void *ctx, const char *name)
{
    (void)ctx;
    return text_equal(name, "team");
}

static bool names_kai_queue(void *ctx, const char *name)
{
    (void)ctx;
    return text_equal(name, "ours");
}

static struct gang_record group(struct world *w, const char *spec)
{
    struct gang_record g;
    struct err e = {0};
    w->d.has_queue = has_queue;
    w->d.names_kai_queue = names_kai_queue;
    const struct json *o = tree(w, arena_printf(w->arena, "{\"metadata\":{\"name\":\"g\",\"namespace\":\"ns\"},\"spec\":%s}", spec));
    assert_int_equal(decode_kai_pod_group(&w->d, o, &g, &e), 0);
    return g;
}

static void reads_a_group(void **state)
{
    struct world *w = *state;
    struct gang_record g = group(w, "{\"minMember\":4,\"queue\":\"team\",\"priorityClassName\":\"high\"}");
    assert_string_equal(intern_name(w->names, g.key), "kai/ns/g");
    assert_int_equal(g.source, GANG_KAI);
    assert_int_equal(g.min_members, 4);
    assert_int_equal(g.priority, 1000);
    assert_true(g.keeps_places && g.active && !g.on_hold);
    assert_string_equal(intern_name(w->names, g.queue), "volcano:team");
    assert_int_equal(g.queue_kind, QUEUE_VOLCANO);
    g = group(w, "{\"queue\":\"other\",\"priorityClassName\":\"high\",\"preemptibility\":\"preemptible\"}");
    assert_int_equal(g.min_members, 1);
    assert_true(!g.keeps_places && !g.queue && !g.queue_title);
    assert_true(group(w, "{\"preemptibility\":\"non-preemptible\"}").keeps_places);
    assert_string_equal(intern_name(w->names, group(w, "{\"queue\":\"ours\"}").queue), "kai:ours");
    assert_false(group(w, "{}").keeps_places);
}

static void reads_subgroups(void **state)
{
    struct world *w = *state;
    struct gang_record g = group(w, "{\"minMember\":9,\"subGroups\":[{\"name\":\"head\"},{\"name\":\"work\",\"minMember\":3}]}");
    assert_int_equal(g.min_members, 4);
    assert_int_equal(g.min_of_task_n, 2);
    assert_string_equal(intern_name(w->names, g.min_of_task[1].resource), "work");
    assert_int_equal(g.min_of_task[1].value, 3);
    g = group(w, "{\"subGroups\":[{\"name\":\"all\",\"minMember\":9},{\"name\":\"a\",\"minMember\":2,\"parent\":\"all\"},"
                 "{\"name\":\"b\",\"minMember\":1,\"parent\":\"all\"}]}");
    assert_int_equal(g.min_members, 3);
    assert_int_equal(g.min_of_task_n, 2);
}

static void bears_what_is_hostile(void **state)
{
    static const char *const specs[] = {"{}", "[]", "7", "null", "{\"minMember\":-5,\"queue\":{},\"subGroups\":{}}",
                                        "{\"minMember\":\"x\",\"subGroups\":[null,7,{},{\"name\":7},{\"name\":\"\"}]}",
                                        "{\"minMember\":99999999999,\"preemptibility\":[],\"priorityClassName\":1}"};
    struct world *w = *state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct gang_record g = group(w, specs[i]);
        assert_true(g.min_members >= 1 && g.min_members <= LIMIT_GANG_MEMBERS);
    }
    struct gang_record g = group(w, "{\"subGroups\":[{\"name\":\"a\",\"parent\":\"b\"},{\"name\":\"b\",\"parent\":\"a\"}]}");
    assert_true(g.on_hold && g.hold_is_fault);
    assert_non_null(strstr(intern_name(w->names, g.hold_text), "nobody's parent"));
    g = group(w, "{\"subGroups\":[{\"name\":\"a\",\"minMember\":20000},{\"name\":\"b\",\"minMember\":20000}]}");
    assert_int_equal(g.min_members, LIMIT_GANG_MEMBERS);
    _cleanup_buf_ struct buf text = {0};
    buf_text(&text, "{\"subGroups\":[{}");
    for (int i = 0; i < LIMIT_TASK_GROUPS; i++)
        buf_printf(&text, ",{\"name\":\"s%d\",\"minMember\":1}", i);
    buf_text(&text, "]}");
    g = group(w, text.data);
    assert_true(g.on_hold && g.hold_is_fault && g.min_of_task_n == 0);
}

static void says_what_does_nothing(void **state)
{
    struct world *w = *state;
    w->d.has_queue = has_queue;
    assert_null(decode_kai_unused(&w->d, tree(w, "{\"spec\":{\"queue\":\"team\",\"minMember\":1,\"topologyConstraint\":{}}}")));
    assert_null(decode_kai_unused(&w->d, tree(w, "{}")));
    assert_string_equal(decode_kai_unused(&w->d, tree(w, "{\"spec\":{\"topologyConstraint\":{\"requiredTopologyLevel\":\"rack\"}}}")),
                        "spec.topologyConstraint: it names no topology, of which its level would be one");
    const char *text = decode_kai_unused(&w->d, tree(w, "{\"spec\":{\"queue\":\"x\",\"minSubGroup\":1,\"subGroups\":[{\"name\":\"a\",\"parent\":\"b\","
                                                        "\"topologyConstraint\":{\"topology\":\"t\"}}]}}"));
    static const char *const parts[] = {"topologyConstraint: ", "spec.subGroups[*].parent: ", "minSubGroup: ", "spec.queue: there is no Queue"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        assert_non_null(strstr(text, parts[i]));
}

static const struct json *kai_levels(void *ctx, const char *topology, struct arena *a)
{
    (void)ctx;
    return text_equal(topology, "t") ? json_parse(a, BYTES("[{\"nodeLabel\":\"zone\"},{\"nodeLabel\":\"block\",\"alias\":\"b\"},"
                                                           "{\"nodeLabel\":\"rack\"}]"), NULL, NULL)
                                     : NULL;
}

static char levels_asked[200]; /* "-": none */

static bool level_of(void *ctx, name_id gang, const char *levels, int64_t *ret_tier)
{
    (void)ctx;
    (void)gang;
    snprintf(levels_asked, sizeof levels_asked, "%s", levels ? levels : "-");
    *ret_tier = 7;
    return levels != NULL;
}

static void reads_a_topology(void **state)
{
    static const struct {
        const char *asked, *levels, *title;
        enum topology_mode mode;
        const char *fault;
    } cases[] = {
        {"{}", "-", "", TOPOLOGY_UNASKED, ""},
        {"{\"requiredTopologyLevel\":\"rack\"}", "-", "", TOPOLOGY_UNASKED, ""},
        {"{\"topology\":\"t\",\"requiredTopologyLevel\":\"block\"}", "zone,block", "label block", TOPOLOGY_REQUIRED, ""},
        {"{\"topology\":\"t\",\"requiredTopologyLevel\":\"zone\",\"preferredTopologyLevel\":\"b\"}", "zone zone,block", "label zone",
         TOPOLOGY_REQUIRED, ""},
        {"{\"topology\":\"t\",\"preferredTopologyLevel\":\"block\"}", "zone zone,block", "", TOPOLOGY_PREFERRED, ""},
        {"{\"topology\":\"t\",\"preferredTopologyLevel\":\"zone\",\"requiredTopologyLevel\":\"rack\"}", "-", "", TOPOLOGY_UNASKED,
         "zone is wider than requiredTopologyLevel"},
        {"{\"topology\":\"t\"}", "-", "", TOPOLOGY_UNASKED, "write requiredTopologyLevel, preferredTopologyLevel, or both"},
        {"{\"topology\":\"u\",\"requiredTopologyLevel\":\"rack\"}", "-", "", TOPOLOGY_UNASKED, "there is no Topology u (kai.scheduler)"},
        {"{\"topology\":\"t\",\"requiredTopologyLevel\":\"row\"}", "-", "", TOPOLOGY_UNASKED, "Topology t has no level row"},
        {"{\"topology\":\"t\",\"preferredTopologyLevel\":\"row\"}", "-", "", TOPOLOGY_UNASKED, "preferredTopologyLevel: Topology t has no level row"},
        {"{\"topology\":7,\"requiredTopologyLevel\":[]}", "-", "", TOPOLOGY_UNASKED, ""},
        {"7", "-", "", TOPOLOGY_UNASKED, ""},
    };
    struct world *w = *state;
    w->d.level_of = level_of;
    w->d.kai_levels = kai_levels;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gang_record g = group(w, arena_printf(w->arena, "{\"topologyConstraint\":%s}", cases[i].asked));
        assert_string_equal(levels_asked, cases[i].levels);
        assert_string_equal(intern_name(w->names, g.tiers.title), cases[i].title);
        assert_int_equal(g.tiers.mode, cases[i].mode);
        assert_int_equal(g.tiers.highest, cases[i].mode == TOPOLOGY_REQUIRED ? 7 : 0);
        assert_int_equal(g.hold_is_fault, *cases[i].fault != '\0');
        assert_non_null(strstr(intern_name(w->names, g.hold_text), cases[i].fault));
    }
    const struct json *o = tree(w, "{\"metadata\":{\"name\":\"g\"},\"spec\":{\"topologyConstraint\":{\"topology\":\"t\","
                                   "\"requiredTopologyLevel\":\"rack\"}}}");
    assert_null(decode_kai_unused(&w->d, o));
    w->d.level_of = NULL; /* HyperNodes make the domains */
    assert_non_null(strstr(decode_kai_unused(&w->d, o), "spec.topologyConstraint: its pods stand where there is room"));
}

static void finds_a_pods_group(void **state)
{
    static const struct {
        const char *scheduler, *metadata, *gang, *set;
    } cases[] = {
        {"kai-scheduler", "\"annotations\":{\"pod-group-name\":\"g\"}", "kai/ns/g", ""},
        {"kai-scheduler", "\"annotations\":{\"pod-group-name\":\"g\"},\"labels\":{\"kai.scheduler/subgroup-name\":\"s\"}", "kai/ns/g", "s"},
        {"volcano", "\"annotations\":{\"pod-group-name\":\"g\"}", "", ""},
        {"kai-scheduler", "\"annotations\":{\"pod-group-name\":7}", "", ""},
        {"kai-scheduler", "\"annotations\":{\"pod-group-name\":\"\"}", "", ""},
        {"kai-scheduler", "\"annotations\":{\"pod-group-name\":\"g\"},\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"c\"}",
         "coscheduling/ns/c", ""},
    };
    struct world *w = *state;
    struct pod_record p;
    struct err e = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = arena_printf(w->arena, "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",%s},\"spec\":{\"schedulerName\":\"%s\"}}",
                                        cases[i].metadata, cases[i].scheduler);
        assert_int_equal(decode_pod(&w->d, bytes_of(text), &p, &e), 0);
        assert_string_equal(intern_name(w->names, p.gang), cases[i].gang);
        assert_string_equal(intern_name(w->names, p.pod_set), cases[i].set);
        assert_true((p.gang_source == GANG_POD) == !*cases[i].gang);
    }
    char *most = arena_alloc(w->arena, LIMIT_ANNOTATIONS_BYTES + 1);
    memset(most, 'a', LIMIT_ANNOTATIONS_BYTES);
    most[LIMIT_ANNOTATIONS_BYTES] = '\0';
    const char *text = arena_printf(w->arena,
                                    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"annotations\":{\"pod-group-name\":\"%s\"}},"
                                    "\"spec\":{\"schedulerName\":\"kai-scheduler\"}}", most);
    assert_int_equal(decode_pod(&w->d, bytes_of(text), &p, &e), 0);
    assert_true(!p.gang && p.gang_source == GANG_POD);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_open, world_close)
    const struct CMUnitTest tests[] = {TEST(reads_a_group),          TEST(reads_subgroups),   TEST(bears_what_is_hostile),
                                       TEST(says_what_does_nothing), TEST(reads_a_topology), TEST(finds_a_pods_group)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
