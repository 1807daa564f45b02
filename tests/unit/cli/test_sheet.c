/* The part of a table that a screen shows: its order, its cursor, cells that are cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include "cli/top/sheet.h"

static const struct output_column columns[] = {
    {"name", "NAME", .is_key = true}, {"secret", "SECRET", .is_number = true, .place = OUTPUT_FOR_PROGRAMS},
    {"wait", "WAIT", .ticks = true},  {"waitSeconds", "WAIT S", .is_number = true, .place = OUTPUT_FOR_PROGRAMS},
    {"note", "NOTE", .wide = true},   {"memory", "MEMORY", .is_quantity = true},
};
enum { N = sizeof columns / sizeof *columns };
static const struct live_list list = {columns, N, NULL};

static struct arena *a;
static struct output_table t;

static void begin(void)
{
    a = a ? a : arena_new();
    output_init(&t, a, columns, N);
}

static void row(const char *name, const char *wait, const char *seconds, const char *memory)
{
    const char *cells[] = {name, "1", wait, seconds, "n", memory};
    output_row(&t, cells);
}

static void end(void)
{
    output_fini(&t);
    arena_free(a);
    a = NULL;
}

static const char *at(const struct sheet *s)
{
    return t.cells[s->at * N];
}

static void three(void)
{
    begin();
    row("a", "2m", "120", "10Gi");
    row("b", "9s", "9", "9Gi");
    row("c", "1h", "3600", "512Mi");
}

static void nothing(void **state)
{
    (void)state;
    struct sheet s = {.sort = -1};
    begin();
    sheet_take(&s, &t);
    sheet_move(&s, &t, 5);
    sheet_scroll(&s, &t, 10);
    assert_int_equal(s.at, 0);
    assert_null(s.key);
    char *text = sheet_text(&t);
    assert_string_equal(text, "NAME   WAIT   MEMORY\n");
    free(text);
    struct buf out = {0};
    sheet_row_text(&t, 0, &out);
    assert_int_equal(out.n, 0);
    sheet_fini(&s);
    output_fini(&t);
    end();
}

static void the_cursor_stays_on_its_row(void **state)
{
    (void)state;
    struct sheet s = {.sort = -1};
    three();
    sheet_take(&s, &t);
    sheet_move(&s, &t, 1);
    assert_string_equal(at(&s), "b");
    output_fini(&t);
    begin();
    row("0", "1s", "1", "1");
    row("a", "2m", "120", "1");
    row("b", "9s", "9", "1");
    sheet_take(&s, &t);
    assert_string_equal(at(&s), "b");
    output_fini(&t);
    begin();
    row("z", "1s", "1", "1");
    sheet_take(&s, &t); /* gone: the last there is */
    assert_string_equal(at(&s), "z");
    output_fini(&t);
    three();
    sheet_take(&s, &t); /* z is gone: its place */
    assert_string_equal(at(&s), "a");
    sheet_move(&s, &t, INT32_MAX);
    assert_string_equal(at(&s), "c");
    sheet_move(&s, &t, -(int64_t)UINT32_MAX);
    assert_string_equal(at(&s), "a");
    sheet_fini(&s);
    end();
}

static void orders(void **state)
{
    (void)state;
    struct sheet s = {.sort = -1};
    three();
    static const struct {
        int sort;
        const char *first;
    } steps[] = {{0, "a"}, {2, "b"}, {5, "c"}, {-1, "c"}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        sheet_sort_step(&s, &list, 1);
        assert_int_equal(s.sort, steps[i].sort); /* what is not shown is passed over */
        sheet_take(&s, &t);
        assert_string_equal(t.cells[0], steps[i].first); /* 9s before 2m before 1h; 512Mi before 9Gi before 10Gi */
    }
    sheet_sort_step(&s, &list, -1);
    assert_int_equal(s.sort, 5);
    sheet_fini(&s);
    end();
}

static void what_is_seen(void **state)
{
    (void)state;
    struct sheet s = {.sort = -1};
    three();
    sheet_take(&s, &t);
    sheet_move(&s, &t, 2);
    sheet_scroll(&s, &t, 2);
    assert_int_equal(s.first, 1);
    sheet_move(&s, &t, -2);
    sheet_scroll(&s, &t, 2);
    assert_int_equal(s.first, 0);
    sheet_move(&s, &t, 2);
    sheet_scroll(&s, &t, 0); /* no room at all */
    sheet_scroll(&s, &t, 10);
    assert_int_equal(s.first, 0); /* all of them fit */
    sheet_fini(&s);
    end();
}

static void long_and_hostile_cells(void **state)
{
    (void)state;
    char name[254];
    memset(name, 'x', 253);
    name[253] = '\0';
    begin();
    row(name, "a\nb", "1", NULL);
    char *text = sheet_text(&t);
    char want[SHEET_CELL_MAX + 1];
    memset(want, 'x', SHEET_CELL_MAX - 1);
    memcpy(want + SHEET_CELL_MAX - 1, ">", 2);
    assert_non_null(strstr(text, want));
    assert_null(strstr(text, "xx>x"));
    int lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 2);
    free(text);
    struct buf out = {0};
    sheet_row_text(&t, 0, &out);
    buf_char(&out, '\0');
    assert_non_null(strstr(out.data, name)); /* in whole */
    assert_non_null(strstr(out.data, "MEMORY: -\n"));
    assert_null(strstr(out.data, "SECRET"));
    buf_free(&out);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing),      cmocka_unit_test(the_cursor_stays_on_its_row), cmocka_unit_test(orders),
        cmocka_unit_test(what_is_seen), cmocka_unit_test(long_and_hostile_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
