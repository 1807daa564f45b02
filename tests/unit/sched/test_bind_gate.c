/* Which binds wait for which pods, and until when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>
#include "base/memory.h"
#include "base/random.h"
#include "sched/binding/bind_gate.h"

struct fixture {
    struct intern *names;
    struct bind_gate *gate;
};
static int tickets[64]; /* only their addresses count */

static int setup(void **state)
{
    struct fixture *f = mem_zero(1, sizeof *f);
    f->names = intern_new();
    f->gate = bind_gate_new(f->names);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    bind_gate_free(f->gate);
    intern_free(f->names);
    free(f);
    return 0;
}

static name_id id(struct fixture *f, const char *text)
{
    return intern_text_id(f->names, text);
}

static struct bind_gate_pod pod(struct fixture *f, const char *uid, const char *node, const char *asks,
                                const char *limits)
{
    return (struct bind_gate_pod){id(f, uid), id(f, node), id(f, asks), id(f, limits)};
}

static bool enter(struct fixture *f, const char *uid, const char *asks, const char *limits, int ticket)
{
    struct bind_gate_pod p = pod(f, uid, "n1", asks, limits);
    return bind_gate_enter(f->gate, &p, &tickets[ticket], 1000);
}

#define MPS "keti.com/mpsgpu=1"

static void differing_pods_go_one_after_the_other(void **state)
{
    struct fixture *f = *state;
    assert_true(enter(f, "a", MPS, "2G", 1));
    assert_false(enter(f, "b", MPS, "4G", 2));
    assert_false(enter(f, "c", MPS, NULL, 3)); /* no limits differ from any */
    assert_false(enter(f, "d", MPS, "2G", 4)); /* behind b and c: nobody is overtaken */
    bind_gate_bound(f->gate, id(f, "a"), 1010);
    assert_null(bind_gate_next(f->gate));
    assert_null(bind_gate_leave(f->gate, id(f, "a"), 1020));
    assert_ptr_equal(bind_gate_next(f->gate), &tickets[2]);
    assert_null(bind_gate_next(f->gate));
    assert_null(bind_gate_leave(f->gate, id(f, "b"), 1030));
    assert_ptr_equal(bind_gate_next(f->gate), &tickets[3]);
    assert_ptr_equal(bind_gate_leave(f->gate, id(f, "d"), 1040), &tickets[4]); /* deleted while it waited */
    assert_null(bind_gate_leave(f->gate, id(f, "c"), 1050));
    assert_null(bind_gate_next(f->gate));
    assert_int_equal(bind_gate_pods(f->gate), 0);
}

static void others_do_not_wait(void **state)
{
    struct fixture *f = *state;
    assert_true(enter(f, "a", MPS, "2G", 1));
    assert_true(enter(f, "b", MPS, "2G", 2));                 /* equal limits */
    assert_true(enter(f, "c", "keti.com/mpsgpu=2", "4G", 3)); /* another count */
    assert_true(enter(f, "d", "nvidia.com/gpu=1", "4G", 4));  /* another resource */
    struct bind_gate_pod e = pod(f, "e", "n2", MPS, "4G");    /* another node */
    assert_true(bind_gate_enter(f->gate, &e, &tickets[5], 1000));
}

static void every_container_counts(void **state)
{
    struct fixture *f = *state;
    assert_true(enter(f, "a", "nvidia.com/gpu=1," MPS, "2G", 1));
    assert_false(enter(f, "b", "nvidia.com/gpu=4," MPS, "4G", 2));
    assert_false(enter(f, "c", "nvidia.com/gpu=4", "1G", 3)); /* waits for b, which waits */
    (void)bind_gate_leave(f->gate, id(f, "a"), 1000);
    assert_ptr_equal(bind_gate_next(f->gate), &tickets[2]);
    assert_null(bind_gate_next(f->gate));
}

static void bound_by_others_counts(void **state)
{
    struct fixture *f = *state;
    struct bind_gate_pod a = pod(f, "a", "n1", MPS, NULL), b = pod(f, "b", "n2", MPS, "4G");
    assert_null(bind_gate_seen(f->gate, &a, 1000));
    assert_false(enter(f, "b", MPS, "4G", 2));
    assert_ptr_equal(bind_gate_seen(f->gate, &b, 1000), &tickets[2]); /* somebody bound it elsewhere */
    struct bind_gate_pod c = pod(f, "c", "n2", MPS, NULL);
    assert_false(bind_gate_enter(f->gate, &c, &tickets[3], 1000));
    assert_true(enter(f, "d", MPS, NULL, 4));
    struct bind_gate_pod sent = pod(f, "e", "n1", MPS, "8G");
    assert_true(bind_gate_enter(f->gate, &sent, NULL, 1000)); /* what was sent is sent */
    assert_false(enter(f, "g", MPS, NULL, 5));
}

static void time_runs_out(void **state)
{
    struct fixture *f = *state;
    assert_true(enter(f, "a", MPS, "2G", 1)); /* at 1000 */
    assert_false(enter(f, "b", MPS, "4G", 2));
    assert_false(enter(f, "c", MPS, "1G", 3));
    bind_gate_bound(f->gate, id(f, "a"), 5000);
    assert_int_equal(bind_gate_expire(f->gate, 1000 + BIND_GATE_MS), 5000 + BIND_GATE_MS);
    assert_null(bind_gate_next(f->gate));
    bind_gate_bound(f->gate, id(f, "a"), 9000); /* told twice: no more time */
    struct bind_gate_pod a = pod(f, "a", "n1", MPS, "2G");
    assert_null(bind_gate_seen(f->gate, &a, 9000));
    /* b's time begins when its turn comes, even when no answer ever arrives */
    assert_int_equal(bind_gate_expire(f->gate, 5000 + BIND_GATE_MS), 5000 + 2 * BIND_GATE_MS);
    assert_ptr_equal(bind_gate_next(f->gate), &tickets[2]);
    assert_null(bind_gate_next(f->gate));
    assert_null(bind_gate_seen(f->gate, &a, 40000)); /* seen again: stays out of the way */
    (void)bind_gate_expire(f->gate, 5000 + 2 * BIND_GATE_MS);
    assert_ptr_equal(bind_gate_next(f->gate), &tickets[3]);
    (void)bind_gate_expire(f->gate, 1000000);
    assert_int_equal(bind_gate_expire(f->gate, 1000001), 0);
    assert_true(enter(f, "d", MPS, NULL, 4));
}

static void bound_once_more(void **state)
{
    struct fixture *f = *state;
    assert_true(enter(f, "a", MPS, "2G", 1));
    struct bind_gate_pod elsewhere = pod(f, "a", "n2", MPS, "2G");
    assert_true(bind_gate_enter(f->gate, &elsewhere, &tickets[2], 1000)); /* n1 refused it; decided anew */
    assert_true(enter(f, "b", MPS, "4G", 3));                             /* n1 is free */
    assert_false(enter(f, "c", MPS, "2G", 4));
    assert_true(enter(f, "c", MPS, "2G", 5)); /* it waits already, and twice it cannot */
    assert_int_equal(bind_gate_pods(f->gate), 3);
}

static void many_kinds_meet_everything(void **state)
{
    struct fixture *f = *state;
    struct buf text = {0};
    for (int i = 0; i < 100; i++)
        buf_printf(&text, "%sx.io/r%d=1", i ? "," : "", i);
    assert_true(enter(f, "a", text.data, "2G", 1));
    assert_false(enter(f, "b", MPS, "4G", 2));
    buf_free(&text);
}

/* Random events against the rule itself: what has entered and is not admitted never differs where it meets, and all get their turn. */
struct model_pod {
    int node, ask, limits;
    enum { NOT_THERE, WAITS, ENTERED } state;
};

static void check_model(const struct model_pod *pods)
{
    for (int i = 0; i < 64; i++)
        for (int k = 0; k < i; k++)
            if (pods[i].state == ENTERED && pods[k].state == ENTERED && pods[i].node == pods[k].node &&
                pods[i].ask == pods[k].ask)
                assert_int_equal(pods[i].limits, pods[k].limits);
}

static int drain(struct fixture *f, struct model_pod *pods)
{
    int n = 0;
    for (int *ticket; (ticket = bind_gate_next(f->gate)); n++) {
        assert_int_equal(pods[ticket - tickets].state, WAITS);
        pods[ticket - tickets].state = ENTERED;
    }
    return n;
}

static void random_events_keep_the_rule(void **state)
{
    static const char *const nodes[] = {"n1", "n2"}, *const asks[] = {MPS, "nvidia.com/gpu=1"},
                             *const limits[] = {NULL, "2G", "4G"};
    struct fixture *f = *state;
    struct model_pod pods[64] = {0};
    struct random r = {7};
    int waited_n = 0;
    for (int step = 0; step < 100000; step++) {
        int i = (int)random_below(&r, 64);
        struct model_pod *p = &pods[i];
        char uid[16];
        snprintf(uid, sizeof uid, "u%d", i);
        if (p->state != NOT_THERE) {
            void *ticket = bind_gate_leave(f->gate, id(f, uid), 1000);
            assert_ptr_equal(ticket, p->state == WAITS ? &tickets[i] : NULL);
            p->state = NOT_THERE;
        } else {
            *p = (struct model_pod){(int)random_below(&r, 2), (int)random_below(&r, 2), (int)random_below(&r, 3),
                                    NOT_THERE};
            struct bind_gate_pod g = pod(f, uid, nodes[p->node], asks[p->ask], limits[p->limits]);
            p->state = bind_gate_enter(f->gate, &g, &tickets[i], 1000) ? ENTERED : WAITS;
            waited_n += p->state == WAITS;
        }
        (void)drain(f, pods);
        check_model(pods);
    }
    assert_true(waited_n > 1000);
    for (int i = 0; i < 64; i++) { /* nobody is left behind: who entered leaves, the others follow */
        char uid[16];
        snprintf(uid, sizeof uid, "u%d", i);
        if (pods[i].state != ENTERED)
            continue;
        (void)bind_gate_leave(f->gate, id(f, uid), 1000);
        pods[i].state = NOT_THERE;
        i = drain(f, pods) ? -1 : i;
    }
    for (int i = 0; i < 64; i++)
        assert_int_equal(pods[i].state, NOT_THERE);
    assert_int_equal(bind_gate_pods(f->gate), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(differing_pods_go_one_after_the_other, setup, teardown),
        cmocka_unit_test_setup_teardown(others_do_not_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(every_container_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(bound_by_others_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(time_runs_out, setup, teardown),
        cmocka_unit_test_setup_teardown(bound_once_more, setup, teardown),
        cmocka_unit_test_setup_teardown(many_kinds_meet_everything, setup, teardown),
        cmocka_unit_test_setup_teardown(random_events_keep_the_rule, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
