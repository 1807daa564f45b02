#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "base/intern.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_intern)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
