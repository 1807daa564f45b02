/* Pages: text that cannot become markup, and pictures of nothing, of too much, of odd numbers */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "wire/html/chart.h"

static void text_is_no_markup(void **state)
{
    static const char *const rows[][2] = {
        {"", ""},
        {"a", "a"},
        {"<b>&\"", "&lt;b&gt;&amp;&quot;"},
        {"é…", "é…"},
        {"a\x01z\x7f", "a\xef\xbf\xbdz\xef\xbf\xbd"},
        {"\xff\xc3", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"line\n\ttab", "line\n\ttab"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_buf_ struct buf out = {0};
        html_text(&out, rows[i][0]);
        assert_string_equal(out.data ? out.data : "", rows[i][1]);
    }
}

static void a_page_names_itself(void **state)
{
    _cleanup_buf_ struct buf out = {0};
    html_begin(&out, "a<b", NULL, "x{}");
    html_end(&out);
    assert_non_null(strstr(out.data, "<title>a&lt;b</title>"));
    assert_non_null(strstr(out.data, "<h1>a&lt;b</h1>"));
    assert_non_null(strstr(out.data, "x{}</style>"));
    assert_null(strstr(out.data, "<script"));
}

static void check_numbers(const struct buf *out)
{
    assert_null(strstr(out->data, "nan"));
    assert_null(strstr(out->data, "inf"));
}

static void pictures_of_nothing(void **state)
{
    _cleanup_buf_ struct buf out = {0};
    struct chart c = {.label = "l", .x_title = "x", .y_title = "y", .x_is_time = true};
    chart_lines(&out, &c, NULL, 0);
    chart_spans(&out, &c, NULL, 0, NULL, 0);
    chart_shades(&out, &c, NULL, 0, NULL, 0);
    chart_bars(&out, "l", NULL, 0, 0);
    chart_key(&out, NULL, NULL, 0);
    c.x_is_time = false;
    chart_lines(&out, &c, NULL, 0);
    check_numbers(&out);
}

static void what_is_beyond_stands_at_the_border(void **state)
{
    _cleanup_buf_ struct buf out = {0};
    static const struct chart_point points[] = {{-5, 2}, {50, 200}, {500, -1}};
    const struct chart_line line = {.name = "<n>", .points = points, .points_n = 3};
    struct chart c = {.label = "\"l\"", .x_title = "x", .y_title = "y", .x_most = 100, .y_most = 10};
    chart_lines(&out, &c, &line, 1);
    assert_non_null(strstr(out.data, "&quot;l&quot;"));
    assert_non_null(strstr(out.data, "&lt;n&gt;"));
    assert_non_null(strstr(out.data, "M56.0 ")); /* the left border */
    check_numbers(&out);
}

/* Texts of ticks stand between > and </text>. */
static void ticks_are_round(void **state)
{
    static const struct {
        double most;
        bool is_time;
        const char *ticks[3];
        const char *not_there;
    } rows[] = {
        {130, false, {">20<", ">120<", ">0<"}, ">130<"},
        {1, false, {">0.2<", ">1.0<", ">0.0<"}, ">0.1<"},
        {8, false, {">1<", ">8<", ">0<"}, ">9<"},
        {1600, false, {">200<", ">1600<", ">0<"}, ">100<"},
        {3 * 3600000.0, true, {">30 min<", ">2:30 h<", ">3:00 h<"}, ">3:30 h<"},
        {123 * 86400000.0, true, {">20 d<", ">120 d<", ">0 d<"}, ">10 d<"},
        {20000, true, {">5 s<", ">20 s<", ">0 s<"}, ">1 s<"},
        {36 * 3600000.0, true, {">6 h<", ">36 h<", ">0 h<"}, ">3 h<"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_buf_ struct buf out = {0};
        struct chart c = {.label = "l", .x_title = "x", .x_most = rows[i].most, .x_is_time = rows[i].is_time};
        chart_spans(&out, &c, NULL, 0, NULL, 0);
        for (int k = 0; k < 3; k++)
            if (!strstr(out.data, rows[i].ticks[k]))
                fail_msg("no %s in %s", rows[i].ticks[k], out.data);
        if (strstr(out.data, rows[i].not_there))
            fail_msg("%s is there: %s", rows[i].not_there, out.data);
    }
}

static void too_much_is_said(void **state)
{
    _cleanup_buf_ struct buf out = {0};
    enum { ROWS = CHART_ROWS + 10, SPANS = CHART_SPANS + 5 };
    const char **rows = mem_zero(ROWS, sizeof *rows);
    struct chart_span *spans = mem_zero(SPANS, sizeof *spans);
    for (uint32_t i = 0; i < ROWS; i++)
        rows[i] = i % 2 ? "" : "a-very-long-name-of-a-node-in-a-large-cluster";
    for (uint32_t i = 0; i < SPANS; i++)
        spans[i] =
            (struct chart_span){.row = i % 3, .colour = i % 5 ? i : CHART_HATCHED, .from = i, .until = i + 1, .text = i % 7 ? "" : "<job>"};
    struct chart c = {.label = "l", .x_title = "x", .x_most = SPANS, .x_is_time = true};
    chart_spans(&out, &c, rows, ROWS, spans, SPANS);
    assert_non_null(strstr(out.data, "256 of 266 rows are drawn"));
    assert_non_null(strstr(out.data, "20000 of 20005 times are drawn"));
    assert_non_null(strstr(out.data, "…node-in-a-large-cluster"));
    assert_null(strstr(out.data, "<job>"));
    free(rows);
    free(spans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(text_is_no_markup), cmocka_unit_test(a_page_names_itself),
                                       cmocka_unit_test(pictures_of_nothing), cmocka_unit_test(what_is_beyond_stands_at_the_border),
                                       cmocka_unit_test(ticks_are_round), cmocka_unit_test(too_much_is_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
