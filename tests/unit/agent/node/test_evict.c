#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "agent/node/evict.h"

struct world {
    struct loop *loop;
    struct evict *evict;
    const char *uid; /* of the pod that is here */
    int done_n, code;
};

static const char *uid_of(void *arg, const char *ns, const char *name)
{
    return ((struct world *)arg)->uid;
}

static void on_done(void *arg, int code, const struct err *e)
{
    struct world *w = arg;
    w->done_n++;
    w->code = code;
}

static int set_up(void **state)
{
    static struct world w;
    w = (struct world){.loop = loop_new_virtual(0)};
    w.evict = evict_new(&(struct evict_config){.loop = w.loop, .uid_of = uid_of, .arg = &w});
    *state = &w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    evict_free(w->evict);
    loop_free(w->loop);
    return 0;
}

static void wait_for(struct world *w, const char *name)
{
    evict_begin(w->evict);
    evict_pod(w->evict, "ns", name, "why");
    evict_wait(w->evict, on_done, w);
    loop_run_for(w->loop, 3000, NULL);
}

/* A StatefulSet's next pod has the name of the one that left. */
static void test_namesake(void **state)
{
    struct world *w = *state;
    w->uid = "first";
    wait_for(w, "web-0");
    assert_int_equal(w->done_n, 0);
    w->uid = NULL;
    loop_run_for(w->loop, 3000, NULL);
    assert_int_equal(w->done_n, 1);
    assert_int_equal(w->code, 0);
    w->uid = "second";
    wait_for(w, "web-0");
    assert_int_equal(w->done_n, 1);
    w->uid = "third"; /* the second has left */
    loop_run_for(w->loop, 3000, NULL);
    assert_int_equal(w->done_n, 2);
}

static void test_too_long(void **state)
{
    struct world *w = *state;
    w->uid = "first";
    wait_for(w, "web-0");
    loop_run_for(w->loop, EVICT_TIMEOUT_MS, NULL);
    assert_int_equal(w->done_n, 1);
    assert_int_equal(w->code, -E_AGAIN);
}

static void test_end_while_waiting(void **state)
{
    struct world *w = *state;
    w->uid = "first";
    wait_for(w, "web-0");
    evict_free(w->evict);
    w->evict = NULL;
    assert_int_equal(w->done_n, 1);
    assert_int_equal(w->code, -E_GONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_namesake, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_too_long, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_end_while_waiting, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
