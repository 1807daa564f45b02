#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "base/collections/intern.h"

static void test_intern(void **state)
{
    struct intern *in = intern_new();
    assert_int_equal(intern_text_id(in, NULL), 0);
    assert_int_equal(intern_text_id(in, ""), 0);
    assert_string_equal(intern_name(in, 0), "");
    assert_int_equal(intern_find(in, BYTES("a")), 0);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 1; i <= 5000; i++) {
            char text[16];
            snprintf(text, sizeof text, "node-%u", i);
            assert_int_equal(intern_text_id(in, text), i);
            assert_int_equal(intern_find(in, bytes_of(text)), i);
            assert_string_equal(intern_name(in, i), text);
        }
    assert_int_equal(intern_count(in), 5000);
    assert_int_equal(intern_find(in, BYTES("node-")), 0);
    intern_free(in);
    intern_free(NULL);
}

static uint32_t id_of(struct intern *in, uint32_t i)
{
    char text[16];
    snprintf(text, sizeof text, "pod-%u", i);
    return intern_text_id(in, text);
}

static uint32_t find(const struct intern *in, uint32_t i)
{
    char text[16];
    snprintf(text, sizeof text, "pod-%u", i);
    return intern_find(in, bytes_of(text));
}

static void test_sweep(void **state)
{
    struct intern *in = intern_new();
    intern_sweep(in);
    intern_mark(in, 0);
    for (uint32_t i = 1; i <= 1000; i++)
        assert_int_equal(id_of(in, i), i);
    uint32_t hash = intern_hash(in, 8);
    assert_int_equal(intern_hash(in, 0), 0);
    for (uint32_t i = 8; i <= 800; i += 8)
        intern_mark(in, i);
    intern_sweep(in);
    assert_int_equal(intern_count(in), 800); /* what was above is as if it had never been */
    for (uint32_t i = 1; i <= 1000; i++)
        assert_int_equal(find(in, i), i <= 800 && i % 8 == 0 ? i : 0);
    assert_string_equal(intern_name(in, 800), "pod-800");
    assert_int_equal(id_of(in, 5000), 1); /* the lowest first */
    assert_int_equal(id_of(in, 5001), 2);
    assert_int_equal(id_of(in, 8), 8);
    for (uint32_t i = 6000; i < 6698; i++)
        assert_true(id_of(in, i) < 800);
    assert_int_equal(id_of(in, 6698), 801);
    intern_sweep(in); /* marks hold for one sweep only */
    assert_int_equal(intern_count(in), 0);
    assert_int_equal(find(in, 8), 0);
    assert_int_equal(id_of(in, 7000), 1);
    assert_int_equal(id_of(in, 8), 2);
    assert_int_equal(intern_hash(in, 2), hash); /* of the text, not of the id */
    intern_free(in);
}

static void test_sweep_due(void **state)
{
    struct intern *in = intern_new();
    for (uint32_t i = 1; i <= 99; i++)
        id_of(in, i);
    assert_false(intern_sweep_due(in, 100));
    id_of(in, 100);
    assert_true(intern_sweep_due(in, 100));
    for (uint32_t i = 1; i <= 100; i++)
        intern_mark(in, i);
    intern_sweep(in);
    assert_false(intern_sweep_due(in, 100)); /* all of them are needed: not before there are twice as many */
    for (uint32_t i = 101; i <= 199; i++)
        id_of(in, i);
    assert_false(intern_sweep_due(in, 100));
    id_of(in, 200);
    assert_true(intern_sweep_due(in, 100));
    intern_free(in);
}

/* Names come and go for ever: neither ids nor memory grow. */
static void test_bounded(void **state)
{
    struct intern *in = intern_new();
    uint32_t stays = intern_text_id(in, "stays"), most = 0;
    for (uint32_t i = 0; i < 200000; i++) {
        id_of(in, i);
        if (intern_sweep_due(in, 1000)) {
            intern_mark(in, stays);
            intern_sweep(in);
        }
        most = intern_count(in) > most ? intern_count(in) : most;
    }
    assert_int_equal(intern_text_id(in, "stays"), stays);
    assert_true(most <= 1000);
    intern_free(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_intern), cmocka_unit_test(test_sweep), cmocka_unit_test(test_sweep_due),
                                       cmocka_unit_test(test_bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
