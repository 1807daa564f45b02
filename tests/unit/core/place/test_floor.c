/* test_floor.c - groups that start only while all nodes together have so much free */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../jobs.h"

/* A group of so many pods, all of which it needs, of one GPU each. floor: "resource=amount". */
static void group(struct world *w, const char *name, int pods_n, const char *floor)
{
    struct gang_record r = a_group(w, arena_printf(w->records, "group/ns/%s", name), NULL, pods_n);
    floor_of(w, &r, floor);
    gang_record(w, r);
    for (int i = 0; i < pods_n; i++)
        pod(w, arena_printf(w->records, "ns/%s-%d", name, i), arena_printf(w->records, "group/ns/%s", name), GPU "=1");
}

static void bound_pod(struct world *w, const char *key, const char *gang, const char *requests, const char *on)
{
    struct pod_record p = a_pod(w, key, gang, requests);
    p.node = id(w, on);
    p.phase = POD_RUNNING;
    pod_record(w, p);
}

static const char *remedies(struct world *w, const char *gang)
{
    _cleanup_buf_ struct buf b = {0};
    explain_json(&b, state_gang_reason(w->s, id(w, gang)), w->names);
    const char *at = strstr(b.data ? b.data : "", "\"remedies\"");
    at = at ? at : strstr(b.data ? b.data : "", "\"notComputed\"");
    return arena_text(w->cycle, at ? at : "");
}

/* What is missing comes free where none of its pods could stand. */
static void any_room_wakes_it(void **state)
{
    struct world *w = *state;
    node(w, "n0", "memory=50," GPU "=4", "");
    node(w, "n1", "memory=100", "");
    bound_pod(w, "ns/other", NULL, "memory=60", "n1");
    group(w, "g", 2, "memory=120");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    assert_string_equal(why(w, "group/ns/g"),
                        "minResources asks that all nodes together have 120 memory free, and with what its own pods have they have 90: it waits "
                        "until they do; write there no more than minMember of its pods ask for, or leave it out");
    w->now_ms += 60000;
    step(w);
    assert_string_equal(remedies(w, "group/ns/g"),
                        "\"remedies\":[{\"all\":[{\"change\":\"lower-min-resources\",\"kind\":\"PodGroup\",\"namespace\":\"ns\",\"name\":\"g\","
                        "\"resource\":\"memory\",\"subtract\":\"30\"}],\"message\":\"30 less memory in minResources of PodGroup ns/g\"}]}");
    gone(w, CHANGE_POD_GONE, "ns/other");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 2);
}

/* Those that are alike but for that do not wait for each other. */
static void each_has_its_own(void **state)
{
    struct world *w = *state;
    node(w, "n0", "memory=100," GPU "=4", "");
    group(w, "much", 2, "memory=200");
    group(w, "little", 2, "memory=50");
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "group/ns/little"));
    assert_int_equal(effects(w, EFFECT_BIND), 2);
}

/* As makers of groups write it: with the last room that there is, and where there is none it is told as it would be without. */
static void what_its_pods_ask_for(void **state)
{
    struct world *w = *state;
    node(w, "n0", GPU "=2", "");
    node(w, "n1", GPU "=1", "");
    group(w, "g", 3, GPU "=3");
    group(w, "late", 1, GPU "=1");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 3);
    assert_non_null(strstr(why(w, "group/ns/late"), "nodes are available"));
    node(w, "n2", GPU "=1", "");
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "group/ns/late"));
}

/* A node that has given more than it has takes nothing off the others; a cordoned one counts. */
static void the_sum_is_of_all_nodes(void **state)
{
    struct world *w = *state;
    struct node_record cordoned = a_node(w, "n1", "memory=100", "");
    node(w, "n0", "memory=50," GPU "=4", "");
    cordoned.unschedulable = true;
    node_record(w, cordoned);
    node(w, "n2", "memory=10", "");
    bound_pod(w, "ns/other", NULL, "memory=60", "n2");
    group(w, "g", 2, "memory=150");
    group(w, "more", 1, "memory=151");
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "group/ns/g"));
    assert_null(entry_of(w, EFFECT_ADMIT, "group/ns/more"));
}

/* It runs in part: with what that has there is enough. */
static void its_own_pods_count(void **state)
{
    struct world *w = *state;
    for (int own = 0; own < 2; own++) {
        const char *name = own ? "mine" : "theirs", *gang = arena_printf(w->records, "group/ns/%s", name);
        struct gang_record r = a_group(w, gang, NULL, 2);
        node(w, name, "cpu=8000,memory=100", arena_printf(w->records, "of=%s", name));
        floor_of(w, &r, "memory=130");
        gang_record(w, r);
        bound_pod(w, arena_printf(w->records, "ns/%s-0", name), own ? gang : NULL, "memory=60", name);
        pod(w, arena_printf(w->records, "ns/%s-1", name), gang, "cpu=1000");
        pod(w, arena_printf(w->records, "ns/%s-2", name), gang, "cpu=1000");
        step(w);
        assert_int_equal(effects(w, EFFECT_BIND), own ? 2 : 0);
    }
}

/* Of several resources all that are short are told; and where its pods would find no places either, nothing is said to help. */
static void all_that_is_short(void **state)
{
    struct world *w = *state;
    node(w, "n0", "cpu=4000,memory=100," GPU "=1", "");
    group(w, "g", 2, "cpu=5500,example.com/none=1,memory=100");
    step(w);
    assert_non_null(strstr(why(w, "group/ns/g"), "have 5500m cpu free, and with what its own pods have they have 4, 1 example.com/none free, and with "
                                                 "what its own pods have they have 0: it waits"));
    w->now_ms += 60000;
    step(w);
    assert_non_null(strstr(remedies(w, "group/ns/g"), "\"notComputed\":\"not computed: it waits for the sum of what is free on all nodes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {in_a_world(any_room_wakes_it), in_a_world(each_has_its_own), in_a_world(what_its_pods_ask_for),
                                       in_a_world(the_sum_is_of_all_nodes), in_a_world(its_own_pods_count), in_a_world(all_that_is_short)};
    return cmocka_run_group_tests_name("core/place/floor", tests, NULL, NULL);
}
