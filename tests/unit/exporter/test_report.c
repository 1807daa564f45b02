/* A report's sums, with every number worked out by hand; its spans, prices and page */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include "base/clock.h"
#include "exporter/report/report_page.h"

static struct usage_record record(const char *pod, double allocated_s, double active_s)
{
    return (struct usage_record){.uid = pod,
                                 .ns = "ml",
                                 .pod = pod,
                                 .job = "train",
                                 .queue = "team-a",
                                 .user = "",
                                 .node = "n1",
                                 .device_kind = "",
                                 .allocated_s = allocated_s,
                                 .active_s = active_s};
}

static void sums_rows(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct usage_record records[3] = {record("a", 3600, 900), record("b", 7200, 7200), record("c", 1800, 0)};
    struct report_input in = {.records = records, .records_n = 3}, nothing = {.records_n = 0};
    records[0].memory_granted_bytes = 100;
    records[0].memory_high_bytes = 50;
    records[0].queue_wait_s = 30;
    records[2].queue_wait_s = records[2].throttled_s = -1; /* unknown */
    records[1].queue = records[1].job = "";
    records[2].ns = "web";
    struct report_row *rows;
    assert_int_equal(report_make(a, &in, REPORT_BY_NAMESPACE, NULL, &rows), 2);
    assert_string_equal(rows[0].key, "ml");
    assert_true(rows[0].allocated_h == 3 && rows[0].active_h == 2.25 && rows[0].efficiency == 0.75);
    assert_true(rows[0].memory_high == 0.5 && rows[0].queue_wait_s == 15);
    assert_true(rows[1].efficiency == 0 && rows[1].memory_high == -1);
    assert_true(rows[1].queue_wait_s == -1 && rows[1].throttled_h == -1);
    assert_true(rows[0].capacity_h == -1 && rows[0].free_h == -1 && rows[0].cost == -1); /* not known is not 0 */
    assert_int_equal(report_make(a, &in, REPORT_BY_QUEUE, NULL, &rows), 2);
    assert_string_equal(rows[0].key, "-");
    assert_int_equal(report_make(a, &in, REPORT_BY_JOB, NULL, &rows), 3);
    assert_string_equal(rows[1].key, "ml/train");
    assert_int_equal(report_make(a, &nothing, REPORT_BY_JOB, NULL, &rows), 0);
    struct report_row total = report_total(&in, NULL);
    assert_true(total.allocated_h == 3.5 && total.queue_wait_s == 15 && total.throttled_h == 0);
    assert_true(report_total(&nothing, NULL).efficiency == -1);
    enum report_by by;
    assert_true(report_by_parse("queue", &by) && by == REPORT_BY_QUEUE);
    assert_false(report_by_parse("planet", &by));
}

/* Two nodes for ten hours: 8 A100 and 4 T4 are 80 + 40 = 120 GPU-hours.
 *
 *     pod     node  kind       given h  used h  waste h                    rest h
 *     train   n1    A100        40       30      4 idle                     6
 *     slice   n1    1g.5gb       2        0      2 no process               0
 *     web     n2    T4-SHARED   10        1      9.5 low, 9 of it unused    0
 *
 * Given 52, used 31, wasted 4 + 2 + 9 = 15, given to nobody 120 - 52 = 68: 38 of A100, 30 of T4.
 * At 2.00 for A100 and 0.50 for T4: given 42 * 2 + 10 * 0.5 = 89, wasted 6 * 2 + 9 * 0.5 = 16.5, all 80 * 2 + 40 * 0.5 = 180. */
enum { H = 3600 };
static struct report_input world(struct usage_record records[3], struct usage_capacity capacity[2])
{
    records[0] = record("train", 40 * H, 30 * H);
    records[0].device_kind = "NVIDIA A100-SXM4-40GB";
    records[0].idle_s = 4 * H;
    records[1] = record("slice", 2 * H, 0);
    records[1].device_kind = "1g.5gb";
    records[1].no_process_s = 2 * H;
    records[1].user = "ada";
    records[2] = record("web", 10 * H, 1 * H);
    records[2].node = "n2";
    records[2].ns = "shop";
    records[2].device_kind = "Tesla-T4-SHARED";
    records[2].low_s = 9.5 * H;
    capacity[0] = (struct usage_capacity){"n1", "NVIDIA A100-SXM4-40GB", 80 * H};
    capacity[1] = (struct usage_capacity){"n2", "Tesla T4", 40 * H};
    struct report_input in = {records, 3, capacity, 2};
    report_settle_models(&in);
    return in;
}

static const struct report_prices *prices_of(struct arena *a, const char *text)
{
    const struct report_prices *p = NULL;
    assert_int_equal(report_prices_parse(a, text, &p, NULL), 0);
    return p;
}

static const struct report_row *row_of(const struct report_row *rows, uint32_t n, const char *key)
{
    for (uint32_t i = 0; i < n; i++)
        if (text_equal(rows[i].key, key))
            return &rows[i];
    fail_msg("no row %s", key);
    return NULL;
}

static void what_there_was_adds_up(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct usage_record records[3];
    struct usage_capacity capacity[2];
    struct report_input in = world(records, capacity);
    const struct report_prices *prices = prices_of(a, "a100=2,tesla-t4=0.5");
    struct report_row total = report_total(&in, prices), *rows;
    assert_true(total.allocated_h == 52 && total.active_h == 31 && total.wasted_h == 15);
    assert_true(total.capacity_h == 120 && total.free_h == 68);
    assert_true(total.cost == 89 && total.wasted_cost == 16.5 && total.free_cost == 180 - 89 && total.unpriced_h == 0);
    uint32_t n = report_make(a, &in, REPORT_BY_MODEL, prices, &rows);
    assert_int_equal(n, 2);
    const struct report_row *a100 = row_of(rows, n, "NVIDIA A100-SXM4-40GB"), *t4 = row_of(rows, n, "Tesla T4");
    assert_true(a100->allocated_h == 42 && a100->capacity_h == 80 && a100->free_h == 38 && a100->cost == 84 && a100->wasted_h == 6);
    assert_true(t4->allocated_h == 10 && t4->capacity_h == 40 && t4->free_h == 30 && t4->cost == 5 && t4->free_cost == 15);
    n = report_make(a, &in, REPORT_BY_NAMESPACE, prices, &rows);
    const struct report_row *ml = row_of(rows, n, "ml"), *shop = row_of(rows, n, "shop");
    assert_true(ml->cost == 84 && ml->wasted_cost == 12 && ml->capacity_h == -1 && ml->free_cost == -1);
    assert_true(shop->wasted_h == 9 && shop->wasted_cost == 4.5);
    double hours[REPORT_PARTS_N], sum = 0;
    report_part_hours(&total, hours);
    for (int i = 0; i < REPORT_PARTS_N; i++)
        sum += hours[i];
    assert_float_equal(sum, 120, 1e-9);
    assert_float_equal(hours[REPORT_USED] + hours[REPORT_FREE], 31 + 68, 1e-9);
}

static void a_node_of_which_nobody_had_anything_is_a_row(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct usage_capacity capacity[1] = {{"n9", "T4", 4 * H}};
    struct report_input in = {.capacity = capacity, .capacity_n = 1};
    struct report_row *rows;
    assert_int_equal(report_make(a, &in, REPORT_BY_NODE, NULL, &rows), 1);
    assert_true(rows[0].capacity_h == 4 && rows[0].free_h == 4 && rows[0].allocated_h == 0 && rows[0].efficiency == -1);
}

static void of_one_team_nothing_is_free(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct usage_record records[3];
    struct usage_capacity capacity[2];
    struct report_input in = world(records, capacity);
    report_filter(&in, NULL, "team-a", "ada");
    struct report_row total = report_total(&in, prices_of(a, "3"));
    assert_true(total.allocated_h == 2 && total.cost == 6 && total.capacity_h == -1 && total.free_cost == -1);
    assert_int_equal(total.pods_n, 1);
}

static void a_model_without_a_price_is_told(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct usage_record records[3];
    struct usage_capacity capacity[2];
    struct report_input in = world(records, capacity);
    struct report_row total = report_total(&in, prices_of(a, "T4=1"));
    assert_true(total.cost == 10 && total.unpriced_h == 42 && total.free_cost == 30);
}

static void prices_are_read(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct report_prices *p = prices_of(a, "h100 pcie=3,h100=4.10,A100=2.20,0.50");
    assert_true(report_price_of(p, "NVIDIA H100-PCIe") == 3 && report_price_of(p, "NVIDIA-H100-80GB-HBM3") == 4.10);
    assert_true(report_price_of(p, "nvidia a100-sxm4-40gb") == 2.20 && report_price_of(p, "") == 0.50);
    assert_true(report_price_of(prices_of(a, "A100=1"), "Tesla T4") == -1);
    static const char *const wrong[] = {"", "x", "=1", "A100=", "A100=x", "1,", ",1", "-1", "nan", "inf", "1e400", "A100=1;T4=2", "2.5 EUR"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct err e = {0};
        assert_int_equal(report_prices_parse(a, wrong[i], &p, &e), -E_INVALID);
        assert_non_null(strstr(e.text, "price per GPU-hour"));
    }
    _cleanup_buf_ struct buf many = {0};
    for (int i = 0; i <= LIMIT_REPORT_PRICES; i++)
        buf_printf(&many, "%sm%d=1", i ? "," : "", i);
    assert_int_equal(report_prices_parse(a, many.data, &p, NULL), -E_INVALID);
}

static void rows_are_ranked_and_cut(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct usage_record records[3];
    struct usage_capacity capacity[2];
    struct report_input in = world(records, capacity);
    struct report_row *rows;
    uint32_t n = report_make(a, &in, REPORT_BY_POD, prices_of(a, "1"), &rows);
    assert_string_equal(rows[0].key, "ml/train"); /* given 40, 10, 2 */
    report_sort(rows, n, REPORT_SORT_WASTED);     /* 9, 4, 2 */
    assert_string_equal(rows[0].key, "shop/web");
    assert_string_equal(rows[1].key, "ml/train");
    report_sort(rows, n, REPORT_SORT_NAME);
    assert_string_equal(rows[0].key, "ml/slice");
    assert_int_equal(report_cut(a, rows, n, 2), 3); /* one other would be a row, too */
    assert_int_equal(report_cut(a, rows, n, 1), 2);
    assert_string_equal(rows[1].key, "2 others");
    assert_true(rows[1].allocated_h == 50 && rows[1].active_h == 31 && rows[1].wasted_h == 13 && rows[1].cost == 50);
    assert_true(rows[1].efficiency == 0.62 && rows[1].capacity_h == -1 && rows[1].pods_n == 2);
}

static void spans_are_compared(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct usage_record now[2] = {record("a", 10 * H, 5 * H), record("b", 3 * H, 0)};
    struct usage_record then[2] = {record("a", 4 * H, 4 * H), record("c", 6 * H, 0)};
    struct report_input in = {.records = now, .records_n = 2}, in_then = {.records = then, .records_n = 2};
    struct report_row *rows, *before;
    uint32_t n = report_make(a, &in, REPORT_BY_POD, NULL, &rows), before_n = report_make(a, &in_then, REPORT_BY_POD, NULL, &before);
    n = report_compare(a, &rows, n, before, before_n);
    assert_int_equal(n, 3);
    assert_true(row_of(rows, n, "ml/a")->before->allocated_h == 4);
    assert_true(row_of(rows, n, "ml/b")->before->allocated_h == 0);
    assert_true(row_of(rows, n, "ml/c")->before->allocated_h == 6 && row_of(rows, n, "ml/c")->allocated_h == 0);
    double change;
    assert_true(report_change(10, 100, 4, 100, &change));
    assert_float_equal(change, 1.5, 1e-9);
    assert_true(report_change(31, 31 * 24, 28, 28 * 24, &change)); /* an hour a day, then and now */
    assert_float_equal(change, 0, 1e-9);
    assert_false(report_change(1, 1, 0, 1, &change));
    assert_int_equal(report_cut(a, rows, n, 1), 2);
    assert_true(rows[1].before->allocated_h == 6);
}

static double wall(const char *text)
{
    int64_t ms;
    assert_true(time_parse(bytes_of(text), &ms));
    return (double)ms / 1000;
}

static void weeks_and_months(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct report_period *p;
    /* 2026-11-29 is a Sunday. */
    assert_int_equal(report_periods(a, REPORT_STEP_WEEK, wall("2026-11-15T12:00:00Z"), wall("2026-11-30T01:00:00Z"), &p), 4);
    assert_string_equal(p[0].name, "2026-W46");
    assert_true(!p[0].whole && p[1].whole && p[2].whole && !p[3].whole);
    assert_true(p[1].since_s == wall("2026-11-16T00:00:00Z") && p[1].until_s == p[2].since_s && p[3].until_s == wall("2026-11-30T01:00:00Z"));
    assert_int_equal(report_periods(a, REPORT_STEP_MONTH, wall("2026-01-01T00:00:00Z"), wall("2026-04-01T00:00:00Z"), &p), 3);
    assert_string_equal(p[1].name, "2026-02");
    assert_true(p[1].whole && p[1].until_s - p[1].since_s == 28 * 86400);
    assert_int_equal(report_periods(a, REPORT_STEP_DAY, wall("2026-01-01T23:00:00Z"), wall("2026-01-02T01:00:00Z"), &p), 2);
    assert_int_equal(report_periods(a, REPORT_STEP_DAY, 0, (LIMIT_REPORT_PERIODS + 1) * 86400.0, &p), 0);
    assert_int_equal(report_periods(a, REPORT_STEP_NONE, 0, 1e9, &p), 0);
    assert_int_equal(report_step_for(0, 14 * 86400.0), REPORT_STEP_WEEK);
    assert_int_equal(report_step_for(0, 13 * 86400.0), REPORT_STEP_DAY);
    assert_int_equal(report_step_for(0, 86400.0), REPORT_STEP_NONE);
    assert_int_equal(report_step_for(0, 9e8), REPORT_STEP_MONTH);
}

static void words_for_spans(void **state)
{
    (void)state;
    static const struct {
        const char *text, *since, *until, *before, *before_until;
        bool whole;
    } cases[] = {
        {"last-week", "2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z", "2026-11-09T00:00:00Z", "2026-11-16T00:00:00Z", true},
        {"this-week", "2026-11-23T00:00:00Z", "2026-11-29T06:00:00Z", "2026-11-16T00:00:00Z", "2026-11-22T06:00:00Z", false},
        {"this-month", "2026-11-01T00:00:00Z", "2026-11-29T06:00:00Z", "2026-10-01T00:00:00Z", "2026-10-29T06:00:00Z", false},
        {"last-month", "2026-10-01T00:00:00Z", "2026-11-01T00:00:00Z", "2026-09-01T00:00:00Z", "2026-10-01T00:00:00Z", true},
        {"2026-03", "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z", true},
        {"2026-W01", "2025-12-29T00:00:00Z", "2026-01-05T00:00:00Z", "2025-12-22T00:00:00Z", "2025-12-29T00:00:00Z", true},
        {"2020-W53", "2020-12-28T00:00:00Z", "2021-01-04T00:00:00Z", "2020-12-21T00:00:00Z", "2020-12-28T00:00:00Z", true},
        {"2021-W01", "2021-01-04T00:00:00Z", "2021-01-11T00:00:00Z", "2020-12-28T00:00:00Z", "2021-01-04T00:00:00Z", true},
    };
    double now_s = wall("2026-11-29T06:00:00Z");
    struct report_period p, before;
    enum report_step step;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(report_period_parse(cases[i].text, now_s, &p, &step));
        assert_true(p.since_s == wall(cases[i].since) && p.until_s == wall(cases[i].until) && p.whole == cases[i].whole);
        report_period_before(step, &p, &before);
        assert_true(before.since_s == wall(cases[i].before) && before.until_s == wall(cases[i].before_until));
    }
    static const char *const wrong[] = {"", "week", "2026", "2026-13", "2026-00", "2026-W00", "2026-W54", "2025-W53", "2026-1", "2026-10-01", "26-10",
                                        "2026-W1", "1969-12", "last-year"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(report_period_parse(wrong[i], now_s, &p, &step));
    /* 31 March, 06:00: February has no so long part. */
    assert_true(report_period_parse("this-month", wall("2026-03-31T06:00:00Z"), &p, &step));
    report_period_before(step, &p, &before);
    assert_true(before.since_s == wall("2026-02-01T00:00:00Z") && before.until_s == wall("2026-03-01T00:00:00Z"));
    p = (struct report_period){.since_s = 1000, .until_s = 1600};
    report_period_before(REPORT_STEP_NONE, &p, &before);
    assert_true(before.since_s == 400 && before.until_s == 1000);
}

static void the_page_is_safe(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf out = {0}, empty = {0};
    struct usage_record r = record("a", 3600, 900);
    struct report_input in = {.records = &r, .records_n = 1};
    r.ns = "<script>alert(1)</script>";
    struct report_page p = {.cluster = "a\"b",
                            .read_from = "<f>",
                            .currency = "<EUR>",
                            .only = "user <u>",
                            .by = REPORT_BY_NAMESPACE,
                            .until_s = 3600,
                            .total = report_total(&in, prices_of(a, "2"))};
    struct report_row *rows;
    p.rows_n = report_make(a, &in, p.by, prices_of(a, "2"), &rows);
    p.rows = rows;
    report_html(&out, &p);
    assert_null(strstr(out.data, "<script"));
    assert_null(strstr(out.data, "<f>"));
    assert_null(strstr(out.data, "<EUR>"));
    assert_null(strstr(out.data, "<u>"));
    assert_non_null(strstr(out.data, "&lt;script&gt;"));
    assert_non_null(strstr(out.data, "25 %"));
    assert_non_null(strstr(out.data, "2.00 &lt;EUR&gt;"));
    assert_null(strstr(out.data, "http")); /* nothing from outside */
    p.rows_n = 0;
    report_html(&empty, &p);
    assert_non_null(strstr(empty.data, "No GPU was handed out"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_rows),
        cmocka_unit_test(what_there_was_adds_up),
        cmocka_unit_test(a_node_of_which_nobody_had_anything_is_a_row),
        cmocka_unit_test(of_one_team_nothing_is_free),
        cmocka_unit_test(a_model_without_a_price_is_told),
        cmocka_unit_test(prices_are_read),
        cmocka_unit_test(rows_are_ranked_and_cut),
        cmocka_unit_test(spans_are_compared),
        cmocka_unit_test(weeks_and_months),
        cmocka_unit_test(words_for_spans),
        cmocka_unit_test(the_page_is_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
