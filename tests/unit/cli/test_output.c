/* The order of rows: by numbers or texts, either way round, unknown ones last, equal ones as they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/output.h"

static const struct output_column columns[] = {
    {"name", "NAME", .is_number = false},
    {"gpus", "GPUS", .is_number = true},
    {"user", "USER", .is_number = false},
};

static void in_order(const char *key, bool reverse, const char *want)
{
    static const char *const rows[][3] = {
        {"a", "10", "kim"}, {"b", "9", NULL}, {"c", NULL, "ann"}, {"d", "-1", "kim"}, {"e", "10", NULL},
    };
    struct output_table t;
    struct arena *a = arena_new();
    _cleanup_buf_ struct buf names = {0};
    output_init(&t, a, columns, 3);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        output_row(&t, rows[i]);
    output_sort(&t, key, reverse);
    for (uint32_t r = 0; r < t.rows_n; r++)
        buf_text(&names, t.cells[r * 3]);
    assert_string_equal(names.data, want);
    output_fini(&t);
    arena_free(a);
}

static void rows_in_order(void **state)
{
    (void)state;
    in_order("gpus", false, "dbaec");
    in_order("gpus", true, "aebdc");
    in_order("user", false, "cadbe");
    in_order("user", true, "adcbe");
    in_order("name", true, "edcba");
}

static void no_rows(void **state)
{
    struct output_table t;
    struct arena *a = arena_new();
    (void)state;
    output_init(&t, a, columns, 3);
    output_sort(&t, "gpus", false);
    assert_int_equal(t.rows_n, 0);
    output_fini(&t);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_in_order), cmocka_unit_test(no_rows)};
    return cmocka_run_group_tests_name("cli/output", tests, NULL, NULL);
}
