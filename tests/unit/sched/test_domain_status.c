/* test_domain_status.c - topologyAssignment of a Workload: as core has it, in columns, and when it has to be written again */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "../core/world.h"
#include "sched/domains/domain_status.h"

static struct pod_set asking(struct world *w, int32_t count)
{
    return (struct pod_set){.name = id(w, "main"), .shape = shape_of(w, "cpu=1000", ""), .count = count, .min_count = count,
                            .topology = {.mode = TOPOLOGY_REQUIRED, .level = id(w, "block")}};
}

/* A queue of nodes x1 (one CPU) and x2 (two) in racks r1 and r2 of block b1; a workload of three pods. */
static struct world cluster(const char *levels)
{
    struct world w = world_new();
    struct queue_words q;
    topology(&w, "t", levels);
    topology_flavor(&w, "f", "t", "");
    queue_begin(&w, &q, "q", NULL);
    queue_quota(&w, &q, "f", "cpu", 100000, NO_LIMIT, NO_LIMIT);
    queue_done(&w, &q);
    local_queue(&w, "ns/lq", "q");
    node(&w, "x1", "cpu=1000,pods=9", "block=b1,rack=r1,kubernetes.io/hostname=x1");
    node(&w, "x2", "cpu=2000,pods=9", "block=b1,rack=r2,kubernetes.io/hostname=x2");
    struct gang_record r = a_workload(&w, "g", "ns/lq", 3, "cpu=1000");
    *(struct pod_set *)r.pod_sets = asking(&w, 3);
    gang_record(&w, r);
    run(&w);
    return w;
}

static const char *text_of_json(struct arena *a, const struct json *v)
{
    struct buf text = {0};
    json_write(&text, v);
    const char *copy = arena_text(a, text.data ? text.data : "");
    buf_free(&text);
    return copy;
}

static const char *added(struct world *w, int64_t count)
{
    struct json *assignment = json_new(w->cycle, JSON_OBJECT);
    json_set_int64(w->cycle, assignment, "count", count);
    domain_status_add(w->cycle, w->s, w->names, id(w, "g"), 0, assignment);
    return text_of_json(w->cycle, assignment);
}

static const char *moved(struct world *w, const char *assignment)
{
    const char *workload = arena_printf(w->cycle,
                                        "{\"spec\":{\"podSets\":[{\"name\":\"main\"}]},\"status\":{\"admission\":{\"podSetAssignments\":[{"
                                        "\"name\":\"main\",\"count\":3%s}]}}}", assignment);
    const struct json *admission =
        domain_status_moved(w->cycle, w->s, w->names, id(w, "g"), json_parse(w->cycle, bytes_of(workload), NULL, NULL));
    return admission ? text_of_json(w->cycle, json_path(admission, "podSetAssignments", NULL)) : "";
}

static void says_domains_in_columns(void **state)
{
    (void)state;
    struct world w = cluster("block,rack,kubernetes.io/hostname");
    assert_string_equal(added(&w, 3), "{\"count\":3,\"topologyAssignment\":{\"levels\":[\"kubernetes.io/hostname\"],\"slices\":[{\"domainCount\":2,"
                                      "\"valuesPerLevel\":[{\"individual\":{\"prefix\":\"x\",\"roots\":[\"1\",\"2\"]}}],\"podCounts\":{\"individual\":"
                                      "[1,2]}}]}}");
    world_free(&w);
    w = cluster("block,rack");
    assert_string_equal(added(&w, 3), "{\"count\":3,\"topologyAssignment\":{\"levels\":[\"block\",\"rack\"],\"slices\":[{\"domainCount\":2,"
                                      "\"valuesPerLevel\":[{\"universal\":\"b1\"},{\"individual\":{\"prefix\":\"r\",\"roots\":[\"1\",\"2\"]}}],"
                                      "\"podCounts\":{\"individual\":[1,2]}}]}}");
    world_free(&w);
}

static void writes_only_what_is_another(void **state)
{
    (void)state;
    struct world w = cluster("block,rack");
    static const char *const said[] = {
        ",\"topologyAssignment\":{\"levels\":[\"block\",\"rack\"],\"domains\":[{\"values\":[\"b1\",\"r1\"],\"count\":1},{\"values\":[\"b1\","
        "\"r2\"],\"count\":2}]}",
        ",\"topologyAssignment\":{\"levels\":[\"block\",\"rack\"],\"slices\":[{\"domainCount\":1,\"valuesPerLevel\":[{\"universal\":\"b1\"},{"
        "\"universal\":\"r1\"}],\"podCounts\":{\"universal\":1}},{\"domainCount\":1,\"valuesPerLevel\":[{\"universal\":\"b1\"},{\"universal\":"
        "\"r2\"}],\"podCounts\":{\"universal\":2}}]}"};
    for (int i = 0; i < 2; i++)
        assert_string_equal(moved(&w, said[i]), "");
    assert_non_null(strstr(moved(&w, ",\"topologyAssignment\":{\"levels\":[\"block\",\"rack\"],\"domains\":[{\"values\":[\"b1\",\"r1\"],\"count\":3}]}"),
                           "\"podCounts\":{\"individual\":[1,2]}"));
    assert_non_null(strstr(moved(&w, ",\"delayedTopologyRequest\":\"Pending\""), "\"delayedTopologyRequest\":\"Ready\""));
    assert_null(strstr(moved(&w, ""), "delayedTopologyRequest"));
    world_free(&w);
}

/* The topology has other levels by now: what was said of the old ones stays. */
static void old_levels_are_not_said_anew(void **state)
{
    (void)state;
    struct world w = cluster("block,rack");
    topology(&w, "t", "zone,block,rack");
    run(&w);
    assert_string_equal(moved(&w, ",\"topologyAssignment\":{\"levels\":[\"block\",\"rack\"],\"domains\":[{\"values\":[\"b1\",\"r1\"],\"count\":3}]}"), "");
    world_free(&w);
}

/* With admission checks quota comes first. */
static void says_that_domains_come_later(void **state)
{
    (void)state;
    struct world w = cluster("block");
    struct queue_words q;
    struct queue_check check = {.name = id(&w, "check")};
    gone(&w, CHANGE_GANG_GONE, "g");
    queue_begin(&w, &q, "q", NULL);
    queue_quota(&w, &q, "f", "cpu", 100000, NO_LIMIT, NO_LIMIT);
    q.r.checks = &check;
    q.r.checks_n = 1;
    queue_done(&w, &q);
    struct gang_record r = a_workload(&w, "g", "ns/lq", 2, "cpu=1000");
    *(struct pod_set *)r.pod_sets = asking(&w, 2);
    gang_record(&w, r);
    run(&w);
    assert_int_equal(state_gang_phase(w.s, id(&w, "g")), GANG_CHECKING);
    assert_string_equal(added(&w, 2), "{\"count\":2,\"delayedTopologyRequest\":\"Pending\"}");
    assert_string_equal(added(&w, 0), "{\"count\":0}");
    world_free(&w);
}

static const char *unhealthy(struct world *w, const char *said)
{
    const char *workload = arena_printf(w->cycle, "{\"status\":{%s}}", said);
    const struct json *list =
        domain_status_unhealthy(w->cycle, w->s, w->names, id(w, "g"), json_parse(w->cycle, bytes_of(workload), NULL, NULL));
    return list ? text_of_json(w->cycle, list) : "";
}

/* Nodes of the gang fail, and come back. */
static void says_which_node_failed_once(void **state)
{
    (void)state;
    struct world w = cluster("block,kubernetes.io/hostname");
    struct flavor_choice choice = {0, id(&w, "cpu"), id(&w, "f")};
    struct domain_choice domains[] = {{0, id(&w, "x1"), 1}, {0, id(&w, "x2"), 2}};
    struct gang_record r = a_workload(&w, "g", "ns/lq", 3, "cpu=1000");
    *(struct pod_set *)r.pod_sets = asking(&w, 3);
    r.admitted = true;
    r.admitted_queue = id(&w, "q");
    r.choices = &choice;
    r.choices_n = 1;
    r.domains = domains;
    r.domains_n = 2;
    gang_record(&w, r);
    run(&w);
    assert_string_equal(unhealthy(&w, ""), "");
    assert_string_equal(unhealthy(&w, "\"unhealthyNodes\":[]"), "");
    assert_string_equal(unhealthy(&w, "\"unhealthyNodes\":[{\"name\":\"x1\"}]"), "null");
    gone(&w, CHANGE_NODE_GONE, "x1");
    run(&w);
    assert_string_equal(unhealthy(&w, ""), "[{\"name\":\"x1\"}]");
    assert_string_equal(unhealthy(&w, "\"unhealthyNodes\":[{\"name\":\"x1\"}]"), "");
    assert_string_equal(unhealthy(&w, "\"unhealthyNodes\":[{\"name\":\"x2\"}]"), "[{\"name\":\"x1\"}]");
    assert_string_equal(unhealthy(&w, "\"unhealthyNodes\":[{\"name\":\"x1\"},{\"name\":\"x2\"}]"), "[{\"name\":\"x1\"}]");
    node(&w, "x1", "cpu=1000,pods=9", "block=b1,rack=r1,kubernetes.io/hostname=x1");
    run(&w);
    assert_string_equal(unhealthy(&w, "\"unhealthyNodes\":[{\"name\":\"x1\"}]"), "null");
    world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(says_domains_in_columns), cmocka_unit_test(writes_only_what_is_another),
                                       cmocka_unit_test(old_levels_are_not_said_anew), cmocka_unit_test(says_that_domains_come_later),
                                       cmocka_unit_test(says_which_node_failed_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
