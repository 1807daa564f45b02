/* test_tables.c - node_table, shape_table, view, order and undo, each by itself */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "core/place/undo.h"
#include "core/place/view.h"
#include "core/queue/order.h"
#include "world.h"

static void measurements_have_an_age(void **state)
{
    (void)state;
    struct world w = world_new();
    const struct device_feedback sample[2] = {{.id = id(&w, "GPU-0"), .activity_permille = 620, .xid = 79},
                                              {.id = id(&w, "GPU-1"), .activity_permille = -1}};
    const struct device_feedback *got = NULL;
    struct change c = {.type = CHANGE_NODE, .node = {.name = id(&w, "a"), .ready = true}};
    int64_t age_ms = -1;
    state_apply(w.s, &c);
    assert_int_equal(state_node_feedback(w.s, id(&w, "a"), 0, &got, &age_ms), 0);
    c.node.feedback = sample;
    c.node.feedback_n = 2;
    c.node.feedback_ms = 1000000;
    c.node.feedback_period_ms = 15000;
    uint64_t seq = w.s->nodes.seq, digest = state_digest(w.s);
    state_apply(w.s, &c);
    assert_int_equal(w.s->nodes.seq, seq); /* wakes nobody, decides nothing */
    assert_true(state_digest(w.s) == digest);
    assert_int_equal(state_node_feedback(w.s, id(&w, "a"), 1030000, &got, &age_ms), 2);
    assert_int_equal(age_ms, 30000);
    assert_int_equal(got[0].activity_permille, 620);
    assert_int_equal(got[0].xid, 79);
    assert_int_equal(state_node_feedback(w.s, id(&w, "a"), 1180001, &got, &age_ms), 0); /* stale */
    assert_int_equal(state_node_feedback(w.s, id(&w, "a"), 995000, &got, &age_ms), 2); /* its clock is ahead */
    assert_int_equal(age_ms, 0);
    assert_int_equal(state_node_feedback(w.s, id(&w, "a"), 0, &got, &age_ms), 0); /* far ahead */
    assert_int_equal(state_node_feedback(w.s, id(&w, "b"), 1000000, &got, &age_ms), 0);
    gone(&w, CHANGE_NODE_GONE, "a");
    assert_int_equal(state_node_feedback(w.s, id(&w, "a"), 1000000, &got, &age_ms), 0);
    world_free(&w);
}

static void nodes_come_and_go(void **state)
{
    (void)state;
    struct world w = world_new();
    struct node_table *t = &w.s->nodes;
    node(&w, "a", "cpu=1000", "k=v");
    uint32_t slot = node_table_find(t, id(&w, "a"));
    assert_int_equal(slot, 1);
    assert_int_equal(node_free(t, slot)[0], 110); /* says nothing about pods: the kubelet's default */
    uint64_t seq = t->seq;
    node(&w, "a", "cpu=1000", "k=v"); /* a heartbeat */
    assert_int_equal(t->seq, seq);
    node(&w, "a", "cpu=2000", "k=v");
    assert_true(t->seq > seq);
    gone(&w, CHANGE_NODE_GONE, "a");
    gone(&w, CHANGE_NODE_GONE, "a");
    assert_int_equal(node_table_find(t, id(&w, "a")), 0);
    node(&w, "b", "cpu=1", "");
    assert_int_equal(node_table_find(t, id(&w, "b")), 1); /* the slot is used again */
    assert_int_equal(t->known_n, 1);
    /* More resources than are counted: what asks for one of those fits nowhere, nothing breaks. */
    for (int i = 0; i < LIMIT_RESOURCES + 5; i++) {
        char text[64];
        snprintf(text, sizeof text, "example.com/r%d=1", i);
        node(&w, "c", text, "");
    }
    pod(&w, "ns/p", NULL, "example.com/r66=1");
    run(&w);
    assert_int_equal(effects(&w, EFFECT_BIND), 0);
    struct err e;
    assert_true(state_check(w.s, &e));
    world_free(&w);
}

static void shapes(void **state)
{
    (void)state;
    struct world w = world_new();
    struct shape_table *t = &w.s->shapes;
    struct shape one = shape_of(&w, "cpu=1", "k=v"), same = shape_of(&w, "cpu=1", "k=v"), other = shape_of(&w, "cpu=2", "k=v");
    same.labels = labels_of(&w, "pod=own", &same.labels_n); /* own labels are no demand */
    uint32_t a = shape_class_id(t, &w.s->nodes, &one, w.names), b = shape_class_id(t, &w.s->nodes, &same, w.names);
    uint32_t c = shape_class_id(t, &w.s->nodes, &other, w.names);
    assert_int_equal(a, b);
    assert_int_not_equal(a, c);
    assert_false(shape_class_unref(t, a));
    assert_true(shape_class_unref(t, b));
    assert_true(shape_class_unref(t, c));
    for (int i = 1; i < 2000; i++) { /* tables grow */
        char text[32];
        snprintf(text, sizeof text, "cpu=%d", i);
        struct shape s = shape_of(&w, text, "");
        assert_true(shape_class_id(t, &w.s->nodes, &s, w.names) > 0);
        assert_true(label_set_id(t, (name_id)i, NULL, 0) > 0);
    }
    assert_int_equal(t->classes_live_n, 1999);
    world_free(&w);
}

static void view_and_undo(void **state)
{
    (void)state;
    struct world w = world_new();
    struct state *s = w.s;
    node(&w, "a", "cpu=4000", "");
    node(&w, "b", "cpu=8000", "");
    struct shape want = shape_of(&w, "cpu=1000", "");
    uint32_t shape = shape_class_id(&s->shapes, &s->nodes, &want, w.names);
    struct view *v = view_sync(s, shape);
    assert_int_equal(v->room_n, 12);
    uint32_t best = view_best(v), mark = undo_mark(s);
    uint64_t digest = state_digest(s);
    for (int i = 0; i < 4; i++) {
        uint32_t seat = seat_take(s, view_best(view_sync(s, shape)), shape, 0, NULL, 0, NULL);
        undo_seat(s, seat);
        assert_int_equal(s->seats[seat].node, best); /* packs: the first node is filled up */
    }
    assert_int_equal(view_sync(s, shape)->room_n, 8);
    assert_int_not_equal(view_best(view_sync(s, shape)), best);
    undo_back(s, mark);
    assert_int_equal(view_sync(s, shape)->room_n, 12);
    assert_int_equal(state_digest(s), digest);
    assert_int_equal(view_diagnose(s, view_sync(s, shape), false)->nodes_n, 2);
    /* More shapes than views: the oldest gives way and comes back right. */
    for (uint32_t i = 0; i < VIEWS_MIN + 6; i++) {
        char text[32];
        snprintf(text, sizeof text, "cpu=%u", 2000 + i);
        struct shape other = shape_of(&w, text, "");
        view_sync(s, shape_class_id(&s->shapes, &s->nodes, &other, w.names));
    }
    assert_int_equal(view_sync(s, shape)->room_n, 12);
    world_free(&w);
}

static void order(void **state)
{
    (void)state;
    struct world w = world_new();
    const char *names[] = {"b", "a", "high", "late"};
    for (int i = 0; i < 4; i++) {
        struct gang_record r = a_group(&w, names[i], NULL, 9);
        r.created_ms = i == 3 ? 5 : 4;
        r.priority = i == 2 ? 1 : 0;
        gang_record(&w, r);
    }
    const char *expected[] = {"high", "a", "b", "late"};
    for (int i = 0; i < 4; i++)
        order_line_up(w.s, gang_find(w.s, id(&w, names[i])));
    for (int i = 0; i < 4; i++) {
        struct gang *first = line_first(order_first(w.s->queues[0]));
        assert_string_equal(text_of(&w, first->key), expected[i]);
        assert_int_equal(state_gang_position(w.s, id(&w, expected[i])), i);
        order_hold(w.s, first, PARK_SELF);
    }
    assert_null(order_first(w.s->queues[0]));
    for (int i = 0; i < 4; i++)
        assert_int_equal(state_gang_position(w.s, id(&w, expected[i])), i); /* parked ones keep their place in the line */
    assert_int_equal(state_gang_position(w.s, id(&w, "nobody")), -1);
    world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nodes_come_and_go), cmocka_unit_test(measurements_have_an_age),
                                       cmocka_unit_test(shapes), cmocka_unit_test(view_and_undo), cmocka_unit_test(order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
