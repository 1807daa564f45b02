/* What holds in both bodies: order, timers, deferring, turn end. Each test runs twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include "loop/loop.h"
#include "base/bytes.h"

struct world {
    struct loop *l;
    struct buf log;
    struct loop_timer *t[4];
    int n;
};

static int real_setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    w->l = loop_new();
    *state = w;
    return 0;
}

static int virtual_setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    w->l = loop_new_virtual(1000000);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 4; i++)
        loop_timer_free(w->t[i]);
    loop_free(w->l);
    buf_free(&w->log);
    free(w);
    return 0;
}

#define LOGGER(name)                                                                                                   \
    static void log_##name(void *arg)                                                                                  \
    {                                                                                                                  \
        struct world *w = arg;                                                                                         \
        buf_text(&w->log, #name);                                                                                      \
    }
LOGGER(a)
LOGGER(b)
LOGGER(c)
LOGGER(d)

/* Until that is logged, however long a busy machine takes in real time, and no more. */
static void run_until_logged(struct world *w, const char *text)
{
    for (int i = 0; i < 10000 && !(w->log.n && text_equal(w->log.data, text)); i++)
        loop_run_for(w->l, 1, NULL);
    loop_run_for(w->l, 15, NULL);
    assert_string_equal(w->log.data, text);
}

static void test_timers_fire_by_due_time_then_creation(void **state)
{
    struct world *w = *state;
    w->t[0] = loop_timer_new(w->l, log_a, w);
    w->t[1] = loop_timer_new(w->l, log_b, w);
    w->t[2] = loop_timer_new(w->l, log_c, w);
    w->t[3] = loop_timer_new(w->l, log_d, w);
    loop_timer_start(w->t[3], 5, 0);
    loop_timer_start(w->t[2], 10, 0);
    loop_timer_start(w->t[1], 10, 0);
    loop_timer_start(w->t[0], 10, 0);
    assert_true(loop_timer_running(w->t[0]));
    run_until_logged(w, "dabc");
    assert_false(loop_timer_running(w->t[0]));
}

static void restart(void *arg)
{
    struct world *w = arg;
    buf_char(&w->log, 'r');
    if (++w->n < 3)
        loop_timer_start(w->t[0], 0, 0);
}

static void test_restart_in_callback(void **state)
{
    struct world *w = *state;
    w->t[0] = loop_timer_new(w->l, restart, w);
    loop_timer_start(w->t[0], 1, 0);
    run_until_logged(w, "rrr");
}

static void free_all(void *arg)
{
    struct world *w = arg;
    buf_char(&w->log, 'f');
    for (int i = 0; i < 4; i++) {
        loop_timer_free(w->t[i]);
        w->t[i] = NULL;
    }
}

static void test_free_in_callback_stops_others_of_the_same_moment(void **state)
{
    struct world *w = *state;
    w->t[0] = loop_timer_new(w->l, free_all, w);
    w->t[1] = loop_timer_new(w->l, log_b, w);
    loop_timer_start(w->t[0], 3, 7);
    loop_timer_start(w->t[1], 3, 0);
    run_until_logged(w, "f");
}

static void stop_after_three(void *arg)
{
    struct world *w = arg;
    buf_char(&w->log, 'p');
    if (++w->n == 3)
        loop_timer_stop(w->t[0]);
}

static void test_periodic_timer_stops(void **state)
{
    struct world *w = *state;
    w->t[0] = loop_timer_new(w->l, stop_after_three, w);
    loop_timer_start(w->t[0], 2, 2);
    run_until_logged(w, "ppp");
}

static void defer_more(void *arg)
{
    struct world *w = arg;
    buf_char(&w->log, '1');
    loop_defer(w->l, log_a, w);
    loop_at_turn_end(w->l, log_c, w);
    loop_at_turn_end(w->l, log_c, w); /* once a turn */
}

static void test_deferred_calls_of_a_turn_then_its_end_then_the_next_turn(void **state)
{
    struct world *w = *state;
    loop_defer(w->l, defer_more, w);
    loop_defer(w->l, log_b, w);
    run_until_logged(w, "1bca");
}

static void end_asks_end(void *arg)
{
    struct world *w = arg;
    buf_char(&w->log, 'e');
    loop_at_turn_end(w->l, log_d, w);
    if (++w->n < 2)
        loop_at_turn_end(w->l, end_asks_end, w);
}

static void test_turn_end_asked_in_turn_end_runs_in_the_same_turn(void **state)
{
    struct world *w = *state;
    loop_at_turn_end(w->l, end_asks_end, w);
    loop_defer(w->l, log_a, w);
    run_until_logged(w, "aeded");
}

static void forget_others(void *arg)
{
    struct world *w = arg;
    buf_char(&w->log, 'f');
    loop_forget(w->l, log_b, w); /* deferred in this very turn */
    loop_forget(w->l, log_c, w);
}

static void test_forget(void **state)
{
    struct world *w = *state;
    loop_defer(w->l, log_a, w);
    loop_defer(w->l, log_d, w);
    loop_forget(w->l, log_a, w);
    loop_defer(w->l, forget_others, w);
    loop_defer(w->l, log_b, w);
    loop_at_turn_end(w->l, log_c, w);
    run_until_logged(w, "df");
}

static void stop_loop(void *arg)
{
    struct world *w = arg;
    loop_stop(w->l);
}

static void test_stop_ends_run(void **state)
{
    struct world *w = *state;
    w->t[0] = loop_timer_new(w->l, stop_loop, w);
    w->t[1] = loop_timer_new(w->l, log_b, w);
    loop_timer_start(w->t[0], 5, 0);
    loop_timer_start(w->t[1], 60000, 0);
    assert_int_equal(loop_run(w->l, NULL), 0);
    assert_null(w->log.data);
    loop_stop(w->l); /* asked before the run: kept */
    loop_defer(w->l, log_a, w);
    assert_int_equal(loop_run(w->l, NULL), 0);
    assert_null(w->log.data);
}

static void test_run_for_advances_time_without_work(void **state)
{
    struct world *w = *state;
    int64_t now = loop_now_ms(w->l), wall = loop_wall_ms(w->l);
    loop_run_for(w->l, 15, NULL);
    assert_true(loop_now_ms(w->l) - now >= 15);
    assert_true(loop_wall_ms(w->l) - wall >= 10);
}

static void test_virtual_day_ends_at_the_last_timer(void **state)
{
    struct world *w = *state;
    w->t[0] = loop_timer_new(w->l, log_a, w);
    loop_timer_start(w->t[0], 24 * 3600 * 1000, 0);
    assert_true(loop_is_virtual(w->l));
    assert_int_equal(loop_run(w->l, NULL), 0);
    assert_string_equal(w->log.data, "a");
    assert_int_equal(loop_now_ms(w->l), 24 * 3600 * 1000);
    assert_int_equal(loop_wall_ms(w->l), 1000000 + 24 * 3600 * 1000);
    loop_free(NULL);
    loop_timer_free(NULL);
}

#define BOTH(f)                                                                                                        \
    {#f "/real", f, real_setup, teardown, NULL},                                                                       \
    {                                                                                                                  \
#f "/virtual", f, virtual_setup, teardown, NULL                                                                \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(test_timers_fire_by_due_time_then_creation),
        BOTH(test_restart_in_callback),
        BOTH(test_free_in_callback_stops_others_of_the_same_moment),
        BOTH(test_periodic_timer_stops),
        BOTH(test_deferred_calls_of_a_turn_then_its_end_then_the_next_turn),
        BOTH(test_turn_end_asked_in_turn_end_runs_in_the_same_turn),
        BOTH(test_forget),
        BOTH(test_stop_ends_run),
        BOTH(test_run_for_advances_time_without_work),
        cmocka_unit_test_setup_teardown(test_virtual_day_ends_at_the_last_timer, virtual_setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
