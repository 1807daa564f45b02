#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "core/state/id_map.h"
#include "core/state/selector.h"

static void requirements(void **state)
{
    (void)state;
    struct intern *names = intern_new();
    name_id key = intern_text_id(names, "k"), five = intern_text_id(names, "5"), word = intern_text_id(names, "x");
    struct label label = {key, five};
    struct label_list labels = {&label, 1}, none = {NULL, 0};
    struct requirement r = {.key = key, .op = REQUIRE_IN, .values = &five, .values_n = 1, .number = 4};
    assert_true(requirement_matches(&r, labels, 0, names));
    assert_false(requirement_matches(&r, none, 0, names));
    r.op = REQUIRE_NOT_IN;
    assert_false(requirement_matches(&r, labels, 0, names));
    assert_true(requirement_matches(&r, none, 0, names));
    r.op = REQUIRE_EXISTS;
    assert_true(requirement_matches(&r, labels, 0, names));
    r.op = REQUIRE_NOT_EXISTS;
    assert_true(requirement_matches(&r, none, 0, names));
    r.op = REQUIRE_GREATER;
    assert_true(requirement_matches(&r, labels, 0, names));
    r.op = REQUIRE_LESS;
    assert_false(requirement_matches(&r, labels, 0, names));
    label.value = word; /* not a number: neither greater nor less */
    assert_false(requirement_matches(&r, labels, 0, names));
    r = (struct requirement){.key = key, .op = REQUIRE_IN, .is_field = true, .values = &word, .values_n = 1};
    assert_true(requirement_matches(&r, none, word, names));
    struct selector nothing = {.matches_nothing = true}, everything = {0};
    assert_false(selector_matches(&nothing, labels, 0, names));
    assert_true(selector_matches(&everything, labels, 0, names));
    /* Terms are ORed; an empty term matches no node. */
    struct selector terms[2] = {{0}, {.all = &r, .all_n = 1}};
    struct shape shape = {.node_terms = terms, .node_terms_n = 1};
    assert_false(node_terms_match(&shape, labels, word, names));
    shape.node_terms_n = 2;
    assert_true(node_terms_match(&shape, labels, word, names));
    intern_free(names);
}

static void taints(void **state)
{
    (void)state;
    struct taint taint = {.key = 1, .value = 2, .effect = TAINT_NO_SCHEDULE};
    struct toleration t = {.key = 1, .value = 2, .effects = 7};
    assert_null(taint_untolerated(NULL, 0, NULL, 0, NULL, 0));
    assert_ptr_equal(taint_untolerated(&taint, 1, NULL, 0, NULL, 0), &taint);
    assert_null(taint_untolerated(&taint, 1, &t, 1, NULL, 0));
    assert_null(taint_untolerated(&taint, 1, NULL, 0, &t, 1));
    t.value = 3;
    assert_false(toleration_covers(&t, &taint));
    t.exists = true;
    assert_true(toleration_covers(&t, &taint));
    t.effects = TAINT_NO_EXECUTE;
    assert_false(toleration_covers(&t, &taint));
    t = (struct toleration){.exists = true, .effects = 7};
    assert_true(toleration_covers(&t, &taint));
    taint.effect = TAINT_PREFER_NO_SCHEDULE;
    assert_null(taint_untolerated(&taint, 1, NULL, 0, NULL, 0));
}

static void ports(void **state)
{
    (void)state;
    struct host_port a = {0, 80, 0}, b = {5, 80, 0}, c = {6, 80, 0}, udp = {0, 80, 1};
    assert_true(port_conflicts(&a, &b));
    assert_false(port_conflicts(&b, &c));
    assert_false(port_conflicts(&a, &udp));
}

static void id_maps(void **state)
{
    (void)state;
    struct id_map m = {0};
    assert_int_equal(id_map_get(&m, 7), 0);
    id_map_remove(&m, 7);
    for (uint32_t i = 1; i <= 5000; i++)
        id_map_put(&m, i * 7919u, i);
    for (uint32_t i = 1; i <= 5000; i += 2)
        id_map_remove(&m, i * 7919u);
    for (uint32_t i = 1; i <= 5000; i++)
        assert_int_equal(id_map_get(&m, i * 7919u), i % 2 ? 0 : i);
    assert_int_equal(m.n, 2500);
    id_map_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(requirements), cmocka_unit_test(taints), cmocka_unit_test(ports),
                                       cmocka_unit_test(id_maps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
