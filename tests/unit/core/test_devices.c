/* test_devices.c - the scheduler's picture of a node's devices follows what the API says of its pods */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "world.h"

#define GPU "nvidia.com/gpu"
#define ONE "cpu=1000," GPU "=1"

static void node_of_four(struct world *w)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    struct node_record r = a_node(w, "n0", "cpu=64000," GPU "=4", "");
    struct device *all = arena_zero(w->records, 4, sizeof *all);
    for (uint16_t i = 0; i < 4; i++)
        all[i] = (struct device){id(w, GPU), id(w, names[i]), i, 0, true};
    r.devices = all;
    r.devices_n = 4;
    node_record(w, r);
}

static void told(struct world *w, const char *key, const char *gang, const char *devices)
{
    struct pod_record p = a_pod(w, key, gang, ONE);
    p.node = id(w, "n0");
    p.phase = POD_RUNNING;
    p.devices = id(w, devices);
    pod_record(w, p);
}

/* What the pod is given in this cycle; "" when it is not bound. */
static const char *chosen(struct world *w, const char *key)
{
    struct err e = {0};
    run(w);
    if (!state_check(w->s, &e))
        fail_msg("%s", e.text);
    const struct plan_entry *entry = entry_of(w, EFFECT_BIND, key);
    return entry && entry->devices ? entry->devices : "";
}

static void a_correction_is_taken_in(void **state)
{
    (void)state;
    struct world w = world_new();
    node_of_four(&w);
    pod(&w, "ns/p", NULL, ONE);
    assert_string_equal(chosen(&w, "ns/p"), GPU "=a");
    told(&w, "ns/p", NULL, GPU "=b"); /* with the bind, as it is seen */
    pod(&w, "ns/q", NULL, ONE);
    assert_string_equal(chosen(&w, "ns/q"), GPU "=a");
    told(&w, "ns/q", NULL, GPU "=a");
    told(&w, "ns/q", NULL, GPU "=c"); /* and later */
    pod(&w, "ns/r", NULL, ONE);
    assert_string_equal(chosen(&w, "ns/r"), GPU "=a");
    world_free(&w);
}

static void two_pods_that_swapped(void **state)
{
    (void)state;
    struct world w = world_new();
    node_of_four(&w);
    told(&w, "ns/p", NULL, GPU "=a");
    told(&w, "ns/q", NULL, GPU "=b");
    told(&w, "ns/p", NULL, GPU "=b"); /* is still the other's */
    told(&w, "ns/q", NULL, GPU "=a");
    pod(&w, "ns/r", NULL, ONE);
    assert_string_equal(chosen(&w, "ns/r"), GPU "=c");
    told(&w, "ns/r", NULL, GPU "=c");
    pod(&w, "ns/s", NULL, ONE);
    assert_string_equal(chosen(&w, "ns/s"), GPU "=d");
    world_free(&w);
}

static void a_place_that_is_held_gives_way(void **state)
{
    (void)state;
    struct world w = world_new();
    struct queue_words q;
    flavor(&w, "any", "");
    queue_begin(&w, &q, "q", NULL);
    queue_quota(&w, &q, "any", "cpu", 100000, NO_LIMIT, NO_LIMIT);
    queue_quota(&w, &q, "any", GPU, 100, NO_LIMIT, NO_LIMIT);
    queue_done(&w, &q);
    local_queue(&w, "ns/lq", "q");
    node_of_four(&w);
    workload(&w, "job", "ns/lq", 1, ONE);
    run(&w); /* holds a for a pod to come */
    struct pod_record foreign = a_pod(&w, "ns/foreign", NULL, ONE);
    foreign.ours = false;
    foreign.node = id(&w, "n0");
    foreign.devices = id(&w, GPU "=a");
    pod_record(&w, foreign);
    pod(&w, "ns/job-0", "job", ONE);
    assert_string_equal(chosen(&w, "ns/job-0"), GPU "=b");
    world_free(&w);
}

/* Two nodes of one GPU each; that of the first, which is held for a pod to come, fails, and nothing else of the node is told. */
static void a_place_that_is_held_moves_when_its_device_fails(void **state)
{
    (void)state;
    struct world w = world_new();
    struct queue_words q;
    struct device device = {id(&w, GPU), id(&w, "a"), 0, 0, true};
    struct node_record r = a_node(&w, "n0", "cpu=64000," GPU "=1", "");
    r.devices = &device;
    r.devices_n = 1;
    flavor(&w, "any", "");
    queue_begin(&w, &q, "q", NULL);
    queue_quota(&w, &q, "any", "cpu", 100000, NO_LIMIT, NO_LIMIT);
    queue_quota(&w, &q, "any", GPU, 100, NO_LIMIT, NO_LIMIT);
    queue_done(&w, &q);
    local_queue(&w, "ns/lq", "q");
    node_record(&w, r);
    workload(&w, "job", "ns/lq", 1, ONE);
    run(&w);
    node(&w, "n1", "cpu=1000," GPU "=1", "");
    pod(&w, "ns/lone", NULL, "cpu=64000");
    run(&w);
    assert_null(entry_of(&w, EFFECT_BIND, "ns/lone")); /* a CPU of n0 is held */
    device.healthy = false;
    node_record(&w, r);
    run(&w);
    assert_true(decide_has_work(w.s)); /* what it gave back helps somebody */
    run(&w);
    assert_non_null(entry_of(&w, EFFECT_BIND, "ns/lone"));
    pod(&w, "ns/job-0", "job", ONE);
    run(&w);
    assert_string_equal(text_of(&w, entry_of(&w, EFFECT_BIND, "ns/job-0")->node), "n1");
    world_free(&w);
}

static void what_two_were_told_is_free_when_both_are_gone(void **state)
{
    (void)state;
    struct world w = world_new();
    node_of_four(&w);
    told(&w, "ns/p", NULL, GPU "=a");
    told(&w, "ns/copy", NULL, GPU "=a");
    gone(&w, CHANGE_POD_GONE, "ns/copy");
    pod(&w, "ns/q", NULL, ONE);
    assert_string_equal(chosen(&w, "ns/q"), GPU "=b");
    gone(&w, CHANGE_POD_GONE, "ns/p");
    pod(&w, "ns/r", NULL, ONE);
    assert_string_equal(chosen(&w, "ns/r"), GPU "=a");
    world_free(&w);
}

/* A pod that was made from the text of another one, with its annotation: until its bind is seen, what was chosen counts. */
static void an_old_annotation_is_not_the_last_word(void **state)
{
    (void)state;
    struct world w = world_new();
    node_of_four(&w);
    struct pod_record p = a_pod(&w, "ns/p", NULL, ONE);
    p.devices = id(&w, GPU "=d");
    pod_record(&w, p);
    assert_string_equal(chosen(&w, "ns/p"), GPU "=a");
    told(&w, "ns/x", NULL, GPU "=a");
    told(&w, "ns/x", NULL, GPU "=b");
    pod(&w, "ns/q", NULL, ONE);
    assert_string_equal(chosen(&w, "ns/q"), GPU "=c");
    world_free(&w);
}

/* A node with more devices than one word of bits holds: each pod has its own, on both sides of the word's end, also while nodes change. */
static void many_devices_of_a_node(void **state)
{
    (void)state;
    enum { DEVICES = 200, OF_ONE = 40 };
    struct world w = world_new();
    struct device all[DEVICES];
    struct node_record node = a_node(&w, "n0", "cpu=8000," GPU "=200", "");
    bool taken[DEVICES + 1] = {false};
    struct err e;
    for (int i = 0; i < DEVICES; i++) {
        char name[8];
        snprintf(name, sizeof name, "%03d", i);
        all[i] = (struct device){.resource = id(&w, GPU), .id = id(&w, name), .gpu = (uint16_t)i, .healthy = true};
    }
    node.devices = all;
    node.devices_n = DEVICES;
    node_record(&w, node);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < DEVICES / OF_ONE; i++) {
            char key[16];
            snprintf(key, sizeof key, "ns/p%d", i);
            pod(&w, key, NULL, "cpu=100," GPU "=40");
            const char *text = chosen(&w, key);
            uint32_t n = 0;
            for (text = strchr(text, '='); text; text = strchr(text + 1, ','), n++) {
                long at = strtol(text + 1, NULL, 10);
                assert_in_range(at, 0, DEVICES - 1);
                assert_false(taken[at]);
                taken[at] = true;
            }
            assert_int_equal(n, OF_ONE);
        }
        all[0].link_group = (uint16_t)(round + 1);
        node_record(&w, node); /* another table: what pods have is found anew in it */
        if (!state_check(w.s, &e))
            fail_msg("%s", e.text);
        for (int i = 0; i < DEVICES / OF_ONE; i++) {
            char key[16];
            snprintf(key, sizeof key, "ns/p%d", i);
            gone(&w, CHANGE_POD_GONE, key);
        }
        memset(taken, 0, sizeof taken);
    }
    world_free(&w);
}

static void a_pod_has_no_more_than_it_asks_for(void **state)
{
    (void)state;
    struct world w = world_new();
    node_of_four(&w);
    told(&w, "ns/p", NULL, GPU "=a,b,c,d");
    struct pod_record none = a_pod(&w, "ns/none", NULL, "cpu=1000");
    none.node = id(&w, "n0");
    none.phase = POD_RUNNING;
    none.devices = id(&w, GPU "=a,b,c,d");
    pod_record(&w, none);
    pod(&w, "ns/q", NULL, ONE);
    assert_string_equal(chosen(&w, "ns/q"), GPU "=b");
    world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_correction_is_taken_in),
        cmocka_unit_test(two_pods_that_swapped),
        cmocka_unit_test(a_place_that_is_held_gives_way),
        cmocka_unit_test(a_place_that_is_held_moves_when_its_device_fails),
        cmocka_unit_test(what_two_were_told_is_free_when_both_are_gone),
        cmocka_unit_test(an_old_annotation_is_not_the_last_word),
        cmocka_unit_test(many_devices_of_a_node),
        cmocka_unit_test(a_pod_has_no_more_than_it_asks_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
