/* Threads for driver calls: order, deadlines, hanging calls, the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <time.h>
#include "agent/driver/nvml_worker.h"
#include "base/bytes.h"

struct world {
    struct loop *l;
    struct worker_pool *p;
    struct buf log; /* what was answered, in order */
    int answers_n, wanted_n;
    atomic_int ran_n, released_n;
    int recovered_lane;
};

struct job {
    struct worker_job job;
    struct world *w;
    char name;
    atomic_bool *gate; /* work waits until it is true */
    bool frees_pool;   /* read in the loop */
};

static void nap(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    (void)nanosleep(&t, NULL);
}

static void job_work(struct worker_job *job)
{
    struct job *j = (struct job *)job;
    while (j->gate && !atomic_load(j->gate))
        nap(2);
    atomic_fetch_add(&j->w->ran_n, 1);
}

static void job_done(struct worker_job *job, int code)
{
    struct job *j = (struct job *)job;
    struct world *w = j->w;
    buf_char(&w->log, j->name);
    buf_char(&w->log, code == 0 ? '+' : code == -E_AGAIN ? '-' : '?');
    if (j->frees_pool) {
        worker_pool_free(w->p);
        w->p = NULL;
    }
    if (++w->answers_n >= w->wanted_n)
        loop_stop(w->l);
}

static void job_release(struct worker_job *job)
{
    struct job *j = (struct job *)job;
    atomic_fetch_add(&j->w->released_n, 1);
    free(j);
}

static void on_recovered(void *arg, uint32_t lane)
{
    struct world *w = arg;
    w->recovered_lane = (int)lane;
    loop_stop(w->l);
}

static struct job *post(struct world *w, uint32_t lane, char name, atomic_bool *gate, int64_t deadline_ms)
{
    struct job *j = calloc(1, sizeof *j);
    j->job = (struct worker_job){.work = job_work, .done = job_done, .release = job_release};
    j->w = w;
    j->name = name;
    j->gate = gate;
    worker_post(w->p, lane, &j->job, deadline_ms);
    return j;
}

static void world_init(struct world *w, uint32_t lanes_n)
{
    *w = (struct world){.l = loop_new(), .recovered_lane = -1};
    w->p = worker_pool_new(w->l, lanes_n, on_recovered, w);
}

static void world_free(struct world *w)
{
    worker_pool_free(w->p);
    loop_free(w->l);
    buf_free(&w->log);
}

static void wait_for(struct world *w, int answers_n)
{
    w->wanted_n = answers_n;
    if (w->answers_n < answers_n)
        loop_run_for(w->l, 5000, NULL);
    assert_int_equal(w->answers_n, answers_n);
}

static void test_empty(void **state)
{
    struct world w;
    world_init(&w, 3);
    assert_false(worker_hung(w.p, 2));
    world_free(&w);
    worker_pool_free(NULL);
}

static void test_jobs_of_a_lane_are_answered_in_order(void **state)
{
    struct world w;
    world_init(&w, 2);
    for (char c = 'a'; c <= 'e'; c++)
        post(&w, 1, c, NULL, 5000);
    assert_null(w.log.data); /* never inside the call */
    wait_for(&w, 5);
    assert_string_equal(w.log.data, "a+b+c+d+e+");
    assert_int_equal(w.released_n, 5);
    world_free(&w);
}

static void test_one_lane_does_not_wait_for_another(void **state)
{
    struct world w;
    atomic_bool gate = false;
    world_init(&w, 2);
    post(&w, 0, 'a', &gate, 5000);
    post(&w, 1, 'b', NULL, 5000);
    wait_for(&w, 1);
    assert_string_equal(w.log.data, "b+");
    atomic_store(&gate, true);
    wait_for(&w, 2);
    world_free(&w);
}

/* What waits is the caller's again; what has begun, or is answered, is not. */
static void test_taken_back(void **state)
{
    struct world w;
    atomic_bool gate = false;
    world_init(&w, 1);
    struct job *a = post(&w, 0, 'a', &gate, 5000);
    while (w.ran_n == 0 && worker_cancel(w.p, &a->job)) { /* not begun yet: once more */
        free(a);
        a = post(&w, 0, 'a', &gate, 5000);
        nap(20);
    }
    struct job *b = post(&w, 0, 'b', NULL, 5000), *c = post(&w, 0, 'c', NULL, 5000);
    assert_true(worker_cancel(w.p, &b->job));
    assert_false(worker_cancel(w.p, &b->job));
    free(b);
    assert_false(worker_cancel(w.p, &a->job));
    atomic_store(&gate, true);
    wait_for(&w, 2);
    assert_string_equal(w.log.data, "a+c+");
    assert_int_equal(w.ran_n, 2);
    assert_int_equal(w.released_n, 2);
    (void)c;
    world_free(&w);
}

static void test_a_call_that_hangs(void **state)
{
    struct world w;
    atomic_bool gate = false;
    world_init(&w, 2);
    post(&w, 0, 'a', &gate, 1000); /* its thread has begun by then */
    post(&w, 0, 'b', NULL, 5000); /* behind it: answered with it, not after five seconds */
    wait_for(&w, 2);
    assert_string_equal(w.log.data, "a-b-");
    assert_true(worker_hung(w.p, 0));
    post(&w, 0, 'c', NULL, 5000);
    assert_int_equal(w.answers_n, 2);
    wait_for(&w, 3); /* refused at once, in the next turn */
    assert_string_equal(w.log.data, "a-b-c-");
    post(&w, 1, 'd', NULL, 5000);
    wait_for(&w, 4);
    assert_int_equal(w.released_n, 3); /* the thread still has `a` */
    atomic_store(&gate, true);
    loop_run_for(w.l, 5000, NULL);
    assert_int_equal(w.recovered_lane, 0);
    assert_false(worker_hung(w.p, 0));
    assert_int_equal(w.released_n, 4);
    post(&w, 0, 'e', NULL, 5000); /* and the lane works again */
    wait_for(&w, 5);
    assert_string_equal(w.log.data, "a-b-c-d+e+");
    world_free(&w);
}

static void test_a_job_that_waits_too_long_for_its_turn(void **state)
{
    struct world w;
    atomic_bool gate = false;
    world_init(&w, 1);
    post(&w, 0, 'a', &gate, 5000);
    post(&w, 0, 'b', NULL, 20);
    wait_for(&w, 1);
    assert_string_equal(w.log.data, "b-");
    assert_false(worker_hung(w.p, 0)); /* the call before it still has time */
    atomic_store(&gate, true);
    wait_for(&w, 2);
    assert_string_equal(w.log.data, "b-a+");
    world_free(&w);
}

static void test_free_with_jobs_everywhere(void **state)
{
    struct world w;
    atomic_bool gate = false;
    world_init(&w, 2);
    post(&w, 0, 'a', &gate, 500); /* its thread has begun by then */
    wait_for(&w, 1);              /* hangs */
    post(&w, 0, 'b', NULL, 1000); /* refused, not yet answered */
    for (int i = 0; i < 3; i++)
        post(&w, 1, 'c', NULL, 1000);
    atomic_store(&gate, true); /* comes back while the pool is being freed */
    worker_pool_free(w.p);
    w.p = NULL;
    assert_int_equal(w.answers_n, 1);
    assert_int_equal(w.released_n, 5);
    world_free(&w);
}

/* A call that never comes back must not keep the program from ending; when it does, nothing is touched that is gone. */
static void test_free_while_a_call_hangs(void **state)
{
    struct world w;
    atomic_bool gate = false;
    world_init(&w, 1);
    post(&w, 0, 'a', &gate, 500); /* its thread has begun by then */
    wait_for(&w, 1);
    worker_pool_free(w.p);
    w.p = NULL;
    assert_int_equal(w.released_n, 0);
    atomic_store(&gate, true);
    for (int i = 0; i < 1000 && atomic_load(&w.released_n) == 0; i++)
        nap(2);
    assert_int_equal(w.released_n, 1);
    nap(20); /* the thread's last steps, for the leak checkers */
    world_free(&w);
}

static void test_free_in_an_answer(void **state)
{
    struct world w;
    world_init(&w, 2);
    post(&w, 0, 'a', NULL, 1000)->frees_pool = true;
    post(&w, 1, 'b', NULL, 1000)->frees_pool = true;
    w.wanted_n = 1;
    loop_run_for(w.l, 5000, NULL);
    assert_int_equal(w.answers_n, 1);
    assert_int_equal(w.released_n, 2);
    world_free(&w);
}

static void test_many(void **state)
{
    struct world w;
    world_init(&w, 8);
    for (int i = 0; i < 4000; i++)
        post(&w, (uint32_t)i % 8, '.', NULL, 20000);
    w.wanted_n = 4000;
    loop_run_for(w.l, 20000, NULL);
    assert_int_equal(w.answers_n, 4000);
    assert_int_equal(w.ran_n, 4000);
    assert_int_equal(w.released_n, 4000);
    world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_jobs_of_a_lane_are_answered_in_order),
        cmocka_unit_test(test_one_lane_does_not_wait_for_another),
        cmocka_unit_test(test_taken_back),
        cmocka_unit_test(test_a_call_that_hangs),
        cmocka_unit_test(test_a_job_that_waits_too_long_for_its_turn),
        cmocka_unit_test(test_free_with_jobs_everywhere),
        cmocka_unit_test(test_free_while_a_call_hangs),
        cmocka_unit_test(test_free_in_an_answer),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
