/* Tables that go on: what fits a small window, and what has changed between two listings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/live/live.h"

static void cut_is(const char *text, int columns, int lines, const char *want)
{
    _cleanup_buf_ struct buf out = {0};
    live_cut(&out, text, columns, lines, "|");
    assert_string_equal(out.data ? out.data : "", want);
}

static void nothing_is_cut_without_a_sign(void **state)
{
    (void)state;
    cut_is("", 20, 5, "");
    cut_is("abc\nde\n", 3, 2, "abc|de|");
    cut_is("abcd\n", 3, 2, "ab>|");
    cut_is("a\nb\nc\n", 20, 2, "a|... 2 more|");
    cut_is("a\nb\nc\n", 4, 1, "...>|");
    cut_is("\xc3\xa4\xc3\xb6\xc3\xbc\n", 3, 2, "\xc3\xa4\xc3\xb6\xc3\xbc|"); /* three columns, six bytes */
    cut_is("\xc3\xa4\xc3\xb6\xc3\xbcx\n", 3, 2, "\xc3\xa4\xc3\xb6>|");
    cut_is("abc", 1, 1, ">|");
}

static const struct output_column columns[] = {
    {"ns", "NS", .is_key = true}, {"name", "NAME", .is_key = true}, {"state", "STATE", .is_number = false}, {"age", "AGE", .ticks = true}};
static const struct output_column all_columns[] = {
    {"time", "TIME", .is_number = false}, {"change", "CHANGE", .is_number = false}, {"ns", "NS", .is_number = false},
    {"name", "NAME", .is_number = false}, {"state", "STATE", .is_number = false},   {"age", "AGE", .is_number = false}};

static void changes_are(struct arena *a, const char *const before[][4], uint32_t before_n, const char *const now[][4], uint32_t now_n,
                        const char *want)
{
    struct output_table b, n, changes;
    _cleanup_buf_ struct buf text = {0};
    output_init(&b, a, columns, 4);
    output_init(&n, a, columns, 4);
    output_init(&changes, a, all_columns, 6);
    for (uint32_t i = 0; i < before_n; i++)
        output_row(&b, before[i]);
    for (uint32_t i = 0; i < now_n; i++)
        output_row(&n, now[i]);
    struct live_rows *rows = before_n ? live_rows_new(&b) : NULL;
    live_changes(&changes, "t", rows, &n);
    for (uint32_t r = 0; r < changes.rows_n; r++)
        for (uint32_t c = 0; c < 4; c++)
            buf_printf(&text, "%s%c", changes.cells[r * 6 + c], "  /;"[c]);
    assert_string_equal(text.data ? text.data : "", want);
    live_rows_free(rows);
    output_fini(&b);
    output_fini(&n);
    output_fini(&changes);
}

static void only_what_happened(void **state)
{
    static const char *const first[][4] = {{"a", "x", "Queued", "1s"}, {"b", "x", "Queued", "1s"}, {"c", "y", NULL, "1s"}},
                      *const second[][4] = {{"a", "x", "Running", "2s"}, {"b", "x", "Queued", "2s"}, {"d", "z", "Queued", "1s"}};
    _cleanup_arena_ struct arena *a = arena_new();
    (void)state;
    changes_are(a, NULL, 0, first, 3, "t there a/x;t there b/x;t there c/y;");
    changes_are(a, first, 3, first, 3, "");
    changes_are(a, first, 3, second, 3, "t changed a/x;t new d/z;t gone c/y;");
    changes_are(a, first, 3, NULL, 0, "t gone a/x;t gone b/x;t gone c/y;");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_cut_without_a_sign), cmocka_unit_test(only_what_happened)};
    return cmocka_run_group_tests_name("cli/live", tests, NULL, NULL);
}
