/* test_settle.c - admitted gangs: who takes the place of a member that ended */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "world.h"

#define GPU "nvidia.com/gpu"
#define FOUR "cpu=1000," GPU "=4"

static void step(struct world *w)
{
    struct err e = {0};
    run(w);
    if (!state_check(w->s, &e))
        fail_msg("%s", e.text);
}

/* Two nodes of four GPUs; a gang of two members that fills both; all bound. A lone pod waits for a node. */
static void bound_gang(struct world *w)
{
    struct queue_words q;
    flavor(w, "any", "");
    queue_begin(w, &q, "q", NULL);
    queue_quota(w, &q, "any", "cpu", 100000, NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "any", GPU, 100, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    local_queue(w, "ns/lq", "q");
    node(w, "n0", "cpu=64000," GPU "=4", "");
    node(w, "n1", "cpu=64000," GPU "=4", "");
    workload(w, "job", "ns/lq", 2, FOUR);
    pod(w, "ns/job-0", "job", FOUR);
    pod(w, "ns/job-1", "job", FOUR);
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 2);
    pod(w, "ns/alone", NULL, FOUR);
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
}

static void set_phase(struct world *w, const char *key, enum pod_phase phase)
{
    struct pod_record p = a_pod(w, key, "job", FOUR);
    p.phase = phase;
    p.node = id(w, "n0");
    pod_record(w, p);
}

static const char *node_of(struct world *w, const char *key)
{
    for (uint32_t i = 0; i < w->plan.entries_n; i++)
        if (w->plan.entries[i].effect == EFFECT_BIND && w->plan.entries[i].pod == id(w, key))
            return text_of(w, w->plan.entries[i].node);
    return "";
}

static void a_failed_member_leaves_its_place_to_its_successor(void **state)
{
    (void)state;
    struct world w = world_new();
    bound_gang(&w);
    set_phase(&w, "ns/job-0", POD_FAILED);
    step(&w);
    assert_int_equal(effects(&w, EFFECT_BIND), 0); /* not to the lone pod */
    pod(&w, "ns/job-2", "job", FOUR);
    step(&w);
    assert_int_equal(effects(&w, EFFECT_BIND), 1);
    assert_true(node_of(&w, "ns/job-2")[0] == 'n');
    world_free(&w);
}

static void a_deleted_member_too(void **state)
{
    (void)state;
    struct world w = world_new();
    bound_gang(&w);
    gone(&w, CHANGE_POD_GONE, "ns/job-1");
    step(&w);
    assert_int_equal(effects(&w, EFFECT_BIND), 0);
    pod(&w, "ns/job-2", "job", FOUR);
    step(&w);
    assert_true(node_of(&w, "ns/job-2")[0] == 'n');
    world_free(&w);
}

static void success_and_the_end_of_the_job_give_the_room_back(void **state)
{
    (void)state;
    struct world w = world_new();
    bound_gang(&w);
    set_phase(&w, "ns/job-0", POD_SUCCEEDED);
    step(&w);
    assert_string_not_equal(node_of(&w, "ns/alone"), "");
    set_phase(&w, "ns/job-1", POD_FAILED);
    pod(&w, "ns/next", NULL, FOUR);
    step(&w);
    assert_int_equal(effects(&w, EFFECT_BIND), 0);
    struct gang_record over = a_workload(&w, "job", "ns/lq", 2, FOUR);
    over.finished = true;
    gang_record(&w, over);
    step(&w);
    assert_string_not_equal(node_of(&w, "ns/next"), "");
    world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_member_leaves_its_place_to_its_successor),
        cmocka_unit_test(a_deleted_member_too),
        cmocka_unit_test(success_and_the_end_of_the_job_give_the_room_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
