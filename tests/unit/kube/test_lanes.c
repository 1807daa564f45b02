/* Lanes: order, room, and what is left to the lower ones while a higher one waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/limits.h"
#include "kube/lanes.h"

#define MANY 64
static struct lanes l;
static struct lane_item items[KUBE_LANES_N][MANY];

static int setup(void **state)
{
    (void)state;
    l = (struct lanes){0};
    return 0;
}

static void fill(enum kube_lane lane, int n)
{
    for (int i = 0; i < n; i++) {
        items[lane][i].lane = lane;
        assert_true(lanes_add(&l, &items[lane][i]));
    }
}

/* How many of each lane may be sent now. */
static void send_all(int *ret_n)
{
    for (int i = 0; i < KUBE_LANES_N; i++)
        ret_n[i] = 0;
    for (struct lane_item *item; (item = lanes_next(&l));)
        assert_ptr_equal(item, &items[item->lane][ret_n[item->lane]++]); /* first come, first sent */
}

static void test_nothing(void **state)
{
    (void)state;
    assert_null(lanes_next(&l));
    assert_null(lanes_take(&l, KUBE_LANE_BIND));
    assert_true(lanes_room() < 100); /* streams of one HTTP/2 connection */
}

static void test_whole_room_where_nobody_waits(void **state)
{
    (void)state;
    int n[KUBE_LANES_N];
    fill(KUBE_LANE_EVENT, MANY);
    send_all(n);
    assert_int_equal(n[KUBE_LANE_EVENT], LIMIT_CALLS_EVENT);
    fill(KUBE_LANE_BIND, LIMIT_CALLS_BIND);
    send_all(n);
    assert_int_equal(n[KUBE_LANE_BIND], LIMIT_CALLS_BIND); /* its own: Events took none of it */
}

static void test_least_room_where_one_waits(void **state)
{
    (void)state;
    int n[KUBE_LANES_N];
    for (int lane = 0; lane < KUBE_LANES_N; lane++)
        fill((enum kube_lane)lane, MANY);
    send_all(n);
    assert_int_equal(n[KUBE_LANE_READ], LIMIT_CALLS_READ);
    assert_int_equal(n[KUBE_LANE_LEASE], LIMIT_CALLS_LEASE);
    assert_int_equal(n[KUBE_LANE_BIND], LIMIT_CALLS_BIND);
    assert_int_equal(n[KUBE_LANE_STATUS], LIMIT_CALLS_STATUS_LEAST);
    assert_int_equal(n[KUBE_LANE_EVENT], LIMIT_CALLS_EVENT_LEAST);
    while (lanes_take(&l, KUBE_LANE_BIND))
        ;
    lanes_ended(&l, KUBE_LANE_BIND); /* no bind waits: statuses get their whole room */
    struct lane_item *next = lanes_next(&l);
    assert_non_null(next);
    assert_int_equal(next->lane, KUBE_LANE_STATUS);
}

/* The server is in this process. */
static void test_more_room(void **state)
{
    (void)state;
    int n[KUBE_LANES_N];
    l.times = 2;
    fill(KUBE_LANE_STATUS, MANY);
    fill(KUBE_LANE_EVENT, MANY);
    send_all(n);
    assert_int_equal(n[KUBE_LANE_STATUS], 2 * LIMIT_CALLS_STATUS);
    assert_int_equal(n[KUBE_LANE_EVENT], LIMIT_CALLS_EVENT_LEAST);
    fill(KUBE_LANE_BIND, MANY);
    send_all(n);
    assert_int_equal(n[KUBE_LANE_BIND], 2 * LIMIT_CALLS_BIND);
}

static void test_full(void **state)
{
    (void)state;
    static struct lane_item many[LIMIT_WAITING_BINDS + 1];
    static const int most[KUBE_LANES_N] = {LIMIT_WAITING_CALLS, LIMIT_WAITING_CALLS, LIMIT_WAITING_BINDS, LIMIT_WAITING_CALLS,
                                           LIMIT_WAITING_EVENTS};
    for (int lane = 0; lane < KUBE_LANES_N; lane++) {
        l = (struct lanes){0};
        for (int i = 0; i <= most[lane]; i++) {
            many[i].lane = (enum kube_lane)lane;
            assert_int_equal(lanes_add(&l, &many[i]), i < most[lane]);
        }
        assert_ptr_equal(lanes_take(&l, (enum kube_lane)lane), &many[0]);
        assert_true(lanes_add(&l, &many[most[lane]]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nothing, setup),
        cmocka_unit_test_setup(test_whole_room_where_nobody_waits, setup),
        cmocka_unit_test_setup(test_least_room_where_one_waits, setup),
        cmocka_unit_test_setup(test_more_room, setup),
        cmocka_unit_test_setup(test_full, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
