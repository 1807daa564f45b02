/* test_slot_state.c - one reason a slot: the worst stands, and it is what people read */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "agent/plugin/resource_guard.h"
#include "wire/json.h"
#include "reading.h"

static void closed_is(const struct slot *slots, uint32_t n, const char *expected)
{
    _cleanup_buf_ struct buf text = {0};
    slots_closed_text(slots, n, &text);
    assert_string_equal(text.n ? text.data : "", expected);
}

static void test_worst_stands(void **state)
{
    (void)state;
    struct slot s = {.id = "GPU-0"};
    assert_true(slot_is_open(&s));
    assert_false(slot_close(&s, SLOT_OPEN, "nothing"));
    assert_null(s.why);
    assert_true(slot_close(&s, SLOT_MPS_STARTING, NULL));
    assert_false(slot_close(&s, SLOT_DRAINING, "XID 79"));
    assert_int_equal(s.state, SLOT_DRAINING);
    assert_false(slot_close(&s, SLOT_MIG_CHANGING, "layout x")); /* a lesser one adds nothing */
    assert_string_equal(s.why, "XID 79");
    closed_is(&s, 1, "1 Draining (XID 79)");
}

static void test_every_state_has_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < SLOT_STATES_N; i++) {
        assert_true(slot_state_name((enum slot_state)i)[0] >= 'A');
        for (int k = 0; k < i; k++)
            assert_string_not_equal(slot_state_name((enum slot_state)i), slot_state_name((enum slot_state)k));
    }
}

static void test_same_reasons_together(void **state)
{
    (void)state;
    struct slot s[6] = {{.id = "a"}, {.id = "b"}, {.id = "c"}, {.id = "d"}, {.id = "e"}, {.id = "f"}};
    closed_is(s, 6, "");
    assert_int_equal(slots_open(s, 6), 6);
    (void)slot_close(&s[0], SLOT_DRAINING, "XID 79");
    (void)slot_close(&s[2], SLOT_MPS_STARTING, NULL);
    (void)slot_close(&s[3], SLOT_DRAINING, "XID 48");
    (void)slot_close(&s[5], SLOT_DRAINING, "XID 79");
    closed_is(s, 6, "2 Draining (XID 79), 1 MPSStarting, 1 Draining (XID 48)");
    assert_int_equal(slots_open(s, 6), 2);
    closed_is(NULL, 0, "");
}

/* The text is bounded however many reasons there are. */
static void test_text_is_cut(void **state)
{
    (void)state;
    static struct slot many[LIMIT_NODE_GPUS];
    static char why[LIMIT_NODE_GPUS][64];
    _cleanup_buf_ struct buf text = {0};
    for (int i = 0; i < LIMIT_NODE_GPUS; i++) {
        (void)snprintf(why[i], sizeof why[i], "held as nvidia.com/gpu by team/train-%d", i);
        many[i] = (struct slot){.id = why[i]};
        (void)slot_close(&many[i], SLOT_OLD_SLICING, why[i]);
    }
    slots_closed_text(many, LIMIT_NODE_GPUS, &text);
    assert_true(text.n >= SLOTS_TEXT && text.n < SLOTS_TEXT + 100);
}

/* What health says of a unit is the state of its slots; a lost GPU is Lost unless worse. */
static void test_of_units(void **state)
{
    (void)state;
    static const enum slot_state expected[] = {[UNIT_HEALTHY] = SLOT_OPEN,
                                               [UNIT_SUSPECT] = SLOT_SUSPECT,
                                               [UNIT_DRAINING] = SLOT_DRAINING,
                                               [UNIT_PROBATION] = SLOT_PROBATION,
                                               [UNIT_FAILED] = SLOT_FAILED};
    struct test_node *n = node_new("a100-40gb", 1);
    (void)node_done(n);
    struct unit *u = &n->snapshot.units[0];
    for (int h = 0; h <= UNIT_FAILED; h++)
        for (int lost = 0; lost < 2; lost++) {
            struct slot s = {.id = u->uuid};
            u->health = (enum unit_health)h;
            u->xid = 79;
            n->reading.gpus[0].lost = lost;
            slot_close_unit(n->arena, &s, u);
            assert_int_equal(s.state, lost && h != UNIT_FAILED ? SLOT_LOST : expected[h]);
            assert_int_equal(slot_is_open(&s), unit_health_usable(u->health) && !lost);
            if (h != UNIT_HEALTHY)
                assert_string_equal(s.why, "XID 79");
        }
    node_free(n);
}

/* All that reads a table reads the same state: the annotation, the list for people. */
static void test_shown(void **state)
{
    (void)state;
    struct test_node *n = node_new("a100-40gb", 2);
    struct err e = {0};
    node_config(n, "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}]}}");
    n->reading.gpus[1].lost = true;
    assert_int_equal(node_table(n, NULL, &e), 0);
    struct resource *r = &n->table.resources[0];
    (void)slot_close(&r->slots[0], SLOT_OLD_SLICING, "held as nvidia.com/gpu by team/train");
    closed_is(r->slots, r->slots_n, "1 OldSlicing (held as nvidia.com/gpu by team/train), 2 Lost");
    _cleanup_buf_ struct buf text = {0};
    resource_table_devices_text(&n->table, &n->snapshot, &text);
    const struct json *list = json_parse(n->arena, buf_view(&text), NULL, NULL);
    assert_string_equal(json_get_text(json_item(list, 0), "state", ""), "OldSlicing");
    assert_false(json_get_bool(json_item(list, 0), "healthy", true));
    assert_null(json_get(json_item(list, 1), "state"));
    assert_string_equal(json_get_text(json_item(list, 3), "state", ""), "Lost");
    struct json *object = json_new(n->arena, JSON_OBJECT);
    resource_closed_json(n->arena, r, object);
    const struct json *closed = json_get(object, "closed");
    assert_int_equal(closed->n, 3);
    assert_string_equal(json_get_text(json_item(closed, 0), "slot", ""), r->slots[0].id);
    assert_string_equal(json_get_text(json_item(closed, 0), "why", ""), "held as nvidia.com/gpu by team/train");
    assert_null(json_get(json_item(closed, 1), "why"));
    node_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worst_stands),          cmocka_unit_test(test_every_state_has_a_name),
        cmocka_unit_test(test_same_reasons_together), cmocka_unit_test(test_text_is_cut),
        cmocka_unit_test(test_of_units),              cmocka_unit_test(test_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
