/* The order of rows: by numbers or texts, either way round, unknown ones last, equal ones as they were. Which column is in which form;
 * texts of others on a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
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

static void shown(const struct output_table *t, bool wide, const char *want)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    output_aligned(t, wide, NULL, f);
    (void)fclose(f);
    assert_string_equal(text, want);
    free(text);
}

/* A short form is for tables alone, and the whole for the other forms. */
static void short_and_whole(void **state)
{
    static const struct output_column two[] = {
        {"gpu", "GPU", .place = OUTPUT_FOR_SCREENS}, {"gpu", "GPU", .is_number = true, .wide = true}, {"name", "NAME"}};
    struct output_table t;
    struct arena *a = arena_new();
    (void)state;
    output_init(&t, a, two, 3);
    output_row(&t, (const char *const[]){"0 MIG-a", "0", "x"});
    shown(&t, false, "GPU       NAME\n0 MIG-a   x\n");
    shown(&t, true, "GPU   NAME\n  0   x\n");
    const struct json *row = json_first(output_rows_json(&t));
    assert_int_equal(json_get_int64(row, "gpu", -1), 0);
    output_fini(&t);
    arena_free(a);
}

static void nothing_moves_the_cursor(void **state)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    (void)state;
    output_say(f, "%s: %s\n", "a\tb", "\033[2J\302\233K\342\200\256gnp.exe \xff caf\303\251 \352\260\200");
    output_say(f, "one\ntwo\r\n");
    output_line(f, "one\ntwo\n");
    (void)fclose(f);
    assert_string_equal(text, "a?b: ?[2J?K?gnp.exe ? caf\303\251 \352\260\200\none\ntwo?\none?two\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_in_order), cmocka_unit_test(no_rows), cmocka_unit_test(short_and_whole),
                                       cmocka_unit_test(nothing_moves_the_cursor)};
    return cmocka_run_group_tests_name("cli/output", tests, NULL, NULL);
}
