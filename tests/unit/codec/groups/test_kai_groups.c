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
    g = group(w, "{\"subGroups\":[{\"name\":\"a\",\"minMember\":2},{\"name\":\"b\",\"minMember\":0}]}"); /* b: each by itself */
    assert_int_equal(g.min_members, 2);
    assert_int_equal(g.min_of_task[1].value, 0);
    g = group(w, "{\"minMember\":0,\"subGroups\":[{\"name\":\"a\",\"minMember\":0}]}");
    assert_int_equal(g.min_members, 1);
    assert_int_equal(g.min_of_task[0].value, 0);
}

/* So long below its minimum it goes as a whole, as with our own annotation, which counts where both are there. */
static void reads_how_long_it_may_be_broken(void **state)
{
    static const struct {
        const char *said;
        int32_t seconds;
    } cases[] = {{"\"90s\"", 90}, {"\"1m30s\"", 90}, {"\"1500ms\"", 2}, {"\"0s\"", 1}, {"\"-1s\"", 0}, {"\"soon\"", 0}, {"7", 0}, {"\"9999h\"", 86400}};
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(group(w, arena_printf(w->arena, "{\"stalenessGracePeriod\":%s}", cases[i].said)).refill_s, cases[i].seconds);
    const struct json *o = tree(w, "{\"metadata\":{\"name\":\"g\",\"namespace\":\"ns\",\"annotations\":{\"capstan.dev/refill-seconds\":\"30\"}},"
                                   "\"spec\":{\"stalenessGracePeriod\":\"90s\"}}");
    struct gang_record g;
    assert_int_equal(decode_kai_pod_group(&w->d, o, &g, NULL), 0);
    assert_int_equal(g.refill_s, 30);
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

static const struct json *kai_levels(void *ctx, const char *topology, struct arena *a)
{
    (void)ctx;
    return text_equal(topology, "t") ? json_parse(a, BYTES("[{\"nodeLabel\":\"zone\"},{\"nodeLabel\":\"block\",\"alias\":\"b\"},"
                                                           "{\"nodeLabel\":\"rack\"}]"), NULL, NULL)
                                     : NULL;
}

static void says_what_does_nothing(void **state)
{
    struct world *w = *state;
    w->d.has_queue = has_queue;
    w->d.kai_levels = kai_levels;
    assert_null(decode_kai_unused(&w->d, tree(w, "{\"spec\":{\"queue\":\"team\",\"minMember\":1,\"topologyConstraint\":{}}}")));
    assert_null(decode_kai_unused(&w->d, tree(w, "{}")));
    assert_string_equal(decode_kai_unused(&w->d, tree(w, "{\"spec\":{\"topologyConstraint\":{\"requiredTopologyLevel\":\"rack\"}}}")),
                        "spec.topologyConstraint: it names no topology, of which its level would be one");
    const char *text = decode_kai_unused(&w->d, tree(w, "{\"metadata\":{\"name\":\"g\"},\"spec\":{\"queue\":\"x\",\"minSubGroup\":1,\"subGroups\":[{\"name\":\"a\",\"parent\":\"b\","
                                                        "\"topologyConstraint\":{\"topology\":\"t\",\"requiredTopologyLevel\":\"rack\"}}]}}"));
    static const char *const parts[] = {"topologyConstraint: its pods stand where there is room", "spec.queue: there is no Queue"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        assert_non_null(strstr(text, parts[i]));
}

static char levels_asked[200]; /* "-": none */

static bool levels_of(void *ctx, name_id gang, const char *const *levels, uint32_t n, int64_t *ret_tiers)
{
    (void)ctx;
    (void)gang;
    size_t at = 0;
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        at += (size_t)snprintf(&levels_asked[at], sizeof levels_asked - at, "%s%s", i ? "; " : "", levels[i] ? levels[i] : "-");
        any |= levels[i] != NULL;
        ret_tiers[i] = levels[i] ? 7 + i : INT64_MIN;
    }
    return any;
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
    w->d.levels_of = levels_of;
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
    w->d.levels_of = NULL; /* HyperNodes make the domains */
    assert_non_null(strstr(decode_kai_unused(&w->d, o), "topologyConstraint: its pods stand where there is room"));
}

#define RACK ",\"topologyConstraint\":{\"topology\":\"t\",\"requiredTopologyLevel\":\"rack\"}}"
#define BLOCK ",\"topologyConstraint\":{\"topology\":\"t\",\"preferredTopologyLevel\":\"block\"}}"
#define NAMED(name, more) "{\"name\":\"" name "\"" more

/* "NAME [<ABOVE] size least [mode tier]", and of the group how many of those that are below none. */
static const char *subgroups_text(struct world *w, const struct gang_record *g)
{
    const char *text = arena_printf(w->arena, "%d", g->subgroups_least);
    for (uint32_t i = 0; i < g->subgroups_n; i++) {
        const struct subgroup_policy *p = &g->subgroups[i];
        text = arena_printf(w->arena, "%s; %s", text, intern_name(w->names, p->name));
        if (p->above)
            text = arena_printf(w->arena, "%s <%s", text, intern_name(w->names, g->subgroups[p->above - 1].name));
        text = arena_printf(w->arena, "%s %d %d", text, p->size, p->least_n);
        if (p->tiers.mode != TOPOLOGY_UNASKED)
            text = arena_printf(w->arena, "%s %d %lld", text, (int)p->tiers.mode, (long long)p->tiers.highest);
        assert_true(p->pods.matches_nothing || (p->pods.all_n == 1 && p->pods.all[0].values[0] == p->name && p->pods.all[0].values_n == 1 &&
                                                strcmp(intern_name(w->names, p->pods.all[0].key), DECODE_KAI_SUBGROUP_LABEL) == 0));
        assert_true(p->pods.matches_nothing == !p->size);
    }
    return g->subgroups_n ? text : "";
}

static void reads_trees(void **state)
{
    static const struct {
        const char *groups, *expected, *levels, *fault;
    } cases[] = {
        {NAMED("a", "}") "," NAMED("b", "}"), "", "-", ""},
        {NAMED("a", ",\"minMember\":2" RACK) "," NAMED("b", "}"), "0; a 2 1 1 8; b 1 1", "-; zone,block,rack", ""},
        {NAMED("a", BLOCK) "," NAMED("b", RACK), "0; a 1 1 2 0; b 1 1 1 9", "-; zone zone,block; zone,block,rack", ""},
        {NAMED("top", RACK) "," NAMED("a", ",\"parent\":\"top\",\"minMember\":3}") "," NAMED("b", ",\"parent\":\"top\"}"),
         "0; top 0 2 1 8; a <top 3 1; b <top 1 1", "-; zone,block,rack", ""},
        {NAMED("a", ",\"parent\":\"top\"" RACK) "," NAMED("top", BLOCK), "0; a <top 1 1 1 8; top 0 1 2 0", "-; zone,block,rack; zone zone,block", ""},
        {NAMED("top", ",\"minSubGroup\":1}") "," NAMED("a", ",\"parent\":\"top\"}") "," NAMED("b", ",\"parent\":\"top\"}"),
         "0; top 0 1; a <top 1 1; b <top 1 1", "-", ""},
        {NAMED("top", ",\"minSubGroup\":0}") "," NAMED("a", ",\"parent\":\"top\"}"), "0; top 0 0; a <top 1 1", "-", ""},
        {NAMED("a", ",\"parent\":\"b\"}") "," NAMED("b", ",\"parent\":\"a\"}"), "", "-", "each names another as its parent"},
        {NAMED("a", ",\"topologyConstraint\":{\"topology\":\"u\"}}"), "", "-", "spec.subGroups[0].topologyConstraint.topology: there is no Topology u"},
        {NAMED("a", ",\"topologyConstraint\":{\"topology\":\"t\"}}") "," NAMED("b", RACK), "", "-; zone,block,rack",
         "spec.subGroups[0].topologyConstraint: write requiredTopologyLevel"},
    };
    struct world *w = *state;
    w->d.levels_of = levels_of;
    w->d.kai_levels = kai_levels;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gang_record g = group(w, arena_printf(w->arena, "{\"subGroups\":[%s]}", cases[i].groups));
        assert_string_equal(subgroups_text(w, &g), cases[i].expected);
        assert_string_equal(levels_asked, cases[i].levels);
        assert_int_equal(g.hold_is_fault, *cases[i].fault != '\0');
        assert_non_null(strstr(intern_name(w->names, g.hold_text), cases[i].fault));
    }
    struct gang_record g = group(w, "{\"minSubGroup\":2,\"subGroups\":[" NAMED("a", ",\"minMember\":4}") "," NAMED("b", "}") "]}");
    assert_string_equal(subgroups_text(w, &g), "2; a 4 1; b 1 1");
    assert_true(g.min_members == 1 && !g.min_of_task_n);
    g = group(w, "{\"minSubGroup\":-2,\"subGroups\":[" NAMED("a", "}") "]}");
    assert_string_equal(subgroups_text(w, &g), "1; a 1 1");
    const char *many = NAMED("a", RACK);
    for (int i = 0; i < LIMIT_SUBGROUP_POLICIES; i++)
        many = arena_printf(w->arena, "%s," NAMED("a%d", "}"), many, i);
    g = group(w, arena_printf(w->arena, "{\"subGroups\":[%s]}", many));
    assert_non_null(strstr(intern_name(w->names, g.hold_text), "more than 256, and topologies or minSubGroup among them"));
    const struct json *o = tree(w, arena_printf(w->arena, "{\"metadata\":{\"name\":\"g\"},\"spec\":{\"subGroups\":[%s]}}",
                                                cases[4].groups));
    assert_null(decode_kai_unused(&w->d, o));
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

/* Which pods of a group go first, where some may: those with less, those that say nothing before them. Of others it is the pod's own. */
static void reads_the_order_of_pods(void **state)
{
    static const struct {
        const char *labels, *annotations;
        int32_t priority;
    } cases[] = {
        {"\"kai.scheduler/task-priority\":\"3\"", "\"pod-group-name\":\"g\"", 3},
        {"\"kai.scheduler/task-priority\":\"-3\"", "\"pod-group-name\":\"g\"", -3},
        {"\"kai.scheduler/task-priority\":\"99999999999\"", "\"pod-group-name\":\"g\"", INT32_MAX},
        {"\"kai.scheduler/task-priority\":\"first\"", "\"pod-group-name\":\"g\"", INT32_MIN},
        {"", "\"pod-group-name\":\"g\"", INT32_MIN},
        {"\"kai.scheduler/task-priority\":\"3\"", "", 60},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pod_record p;
        struct err e = {0};
        const char *pod = "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"labels\":{%s},\"annotations\":{%s}},"
                          "\"spec\":{\"schedulerName\":\"kai-scheduler\",\"priority\":60}}";
        assert_int_equal(decode_pod(&w->d, bytes_of(arena_printf(w->arena, pod, cases[i].labels, cases[i].annotations)), &p, &e), 0);
        assert_int_equal(p.priority, cases[i].priority);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_open, world_close)
    const struct CMUnitTest tests[] = {TEST(reads_a_group), TEST(reads_subgroups), TEST(bears_what_is_hostile),
                                       TEST(reads_how_long_it_may_be_broken), TEST(says_what_does_nothing), TEST(reads_a_topology),
                                       TEST(finds_a_pods_group), TEST(reads_the_order_of_pods), TEST(reads_trees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
