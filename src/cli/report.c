/* report.c - capstan report: what each team was given and what it used, from the usage store or from a Prometheus */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/history/usage_read.h"
#include "exporter/report/report_prometheus.h"

#define HOUR_S 3600.0
#define FORMAT_HTML (-2)

struct report_options {
    enum report_by by;
    const char *since, *until, *store, *prometheus, *title, *write;
    int format;            /* enum output_format or FORMAT_HTML */
    double since_s, until_s;
    const char *read_from;
    const struct options *given;
};

/* ---- options ---- */

static int set_span(struct report_options *o)
{
    double now_s = (double)clock_wall_us() / 1e6;
    o->until_s = now_s;
    if (!usage_when(o->since, now_s, &o->since_s))
        return options_wrong(o->given, "--since: " USAGE_WHEN_WRONG);
    if (o->until && !usage_when(o->until, now_s, &o->until_s))
        return options_wrong(o->given, "--until: " USAGE_WHEN_WRONG);
    if (o->since_s >= o->until_s)
        return options_wrong(o->given, "--since must be before --until");
    if (o->until_s - o->since_s > USAGE_SPAN_MAX_S)
        return options_wrong(o->given, "more than ten years are asked for");
    if (!o->prometheus) { /* the store keeps hours */
        o->since_s = floor(o->since_s / HOUR_S) * HOUR_S;
        o->until_s = ceil(o->until_s / HOUR_S) * HOUR_S;
    }
    return EXIT_OK;
}

static int take(struct report_options *o, const struct options *given)
{
    const char *format = option_text(given, OPT_REPORT_OUTPUT), *title = option_text(given, OPT_REPORT_TITLE);
    *o = (struct report_options){.given = given,
                                 .since = option_text(given, OPT_REPORT_SINCE),
                                 .until = option_text(given, OPT_REPORT_UNTIL),
                                 .store = option_text(given, OPT_REPORT_STORE),
                                 .prometheus = option_text(given, OPT_REPORT_PROMETHEUS),
                                 .title = title ? title : "",
                                 .write = option_text(given, OPT_REPORT_WRITE),
                                 .format = text_equal(format, "html") ? FORMAT_HTML : (int)output_format_of(given)};
    (void)report_by_parse(option_text(given, OPT_REPORT_BY), &o->by); /* it is one of the words */
    return o->store && o->prometheus ? options_wrong(given, "either --store or --prometheus") : set_span(o);
}

/* ---- reading ---- */

static int read_store(struct report_options *o, struct arena *a, struct usage_record **ret_records, uint32_t *ret_n, struct err *e)
{
    int r = usage_read(o->store, a, o->since_s, o->until_s, ret_records, ret_n, &o->read_from, e);
    return r == -E_NOTFOUND ? err_set(e, E_NOTFOUND, "%s, or a --prometheus", arena_text(a, e->text)) : r;
}

static int read_prometheus(struct report_options *o, struct arena *a, struct usage_record **ret_records,
                           uint32_t *ret_n, struct err *e)
{
    struct loop *l = loop_new();
    struct http_client *c = NULL;
    struct http_client_config config = {.base_url = o->prometheus};
    int r = http_client_new(l, &config, &c, e);
    o->read_from = o->prometheus;
    if (r == 0) {
        r = report_prometheus_read(c, o->since_s, o->until_s, a, ret_records, ret_n, e);
        http_client_free(c);
    }
    loop_free(l);
    return r;
}

/* ---- printing ---- */

enum { COLUMNS_N = 12 };

/* NULL: unknown. */
static const char *number_text(struct arena *a, int decimals, double value)
{
    return value < 0 ? NULL : arena_printf(a, "%.*f", decimals, value);
}

/* People read thousandths, programs add up. */
static const char *hours_text(struct arena *a, const struct report_options *o, double hours)
{
    bool for_people = o->format == OUTPUT_TABLE || o->format == OUTPUT_WIDE;
    return number_text(a, for_people ? 3 : 6, hours);
}

static void cells_of(struct arena *a, const struct report_options *o, const struct report_row *row,
                     const char *cells[COLUMNS_N])
{
    const char *all[COLUMNS_N] = {row->key,
                                  arena_printf(a, "%u", row->pods_n),
                                  hours_text(a, o, row->allocated_h),
                                  hours_text(a, o, row->active_h),
                                  number_text(a, 1, row->efficiency * 100),
                                  number_text(a, 1, row->memory_high * 100),
                                  number_text(a, 0, row->queue_wait_s),
                                  hours_text(a, o, row->energy_kwh),
                                  hours_text(a, o, row->no_process_h),
                                  hours_text(a, o, row->idle_h),
                                  hours_text(a, o, row->low_h),
                                  hours_text(a, o, row->throttled_h)};
    memcpy(cells, all, sizeof all);
}

static void columns_of(const struct report_options *o, struct output_column columns[COLUMNS_N])
{
    static const char *const titles[] = {"NAMESPACE", "QUEUE", "USER", "JOB", "POD", "NODE"}; /* enum report_by */
    const struct output_column all[COLUMNS_N] = {{report_by_name(o->by), titles[o->by], false, false},
                                                 {"pods", "PODS", true, false},
                                                 {"allocatedHours", "GPU-H GIVEN", true, false},
                                                 {"activeHours", "GPU-H USED", true, false},
                                                 {"efficiencyPercent", "USED %", true, false},
                                                 {"memoryHighPercent", "MEMORY %", true, false},
                                                 {"queueWaitSeconds", "WAIT S", true, false},
                                                 {"energyKWh", "KWH", true, false},
                                                 {"noProcessHours", "NO PROCESS H", true, true},
                                                 {"idleHours", "IDLE H", true, true},
                                                 {"lowHours", "LOW H", true, true},
                                                 {"throttledHours", "THROTTLED H", true, true}};
    memcpy(columns, all, sizeof all);
}

static void print_table(const struct report_options *o, struct arena *a, const struct report_page *page)
{
    struct output_column columns[COLUMNS_N];
    const char *cells[COLUMNS_N];
    struct output_table t;
    columns_of(o, columns);
    output_init(&t, a, columns, COLUMNS_N);
    for (uint32_t i = 0; i < page->rows_n; i++) {
        cells_of(a, o, &page->rows[i], cells);
        output_row(&t, cells);
    }
    if (o->format != OUTPUT_CSV) { /* spreadsheets add up themselves */
        cells_of(a, o, &page->total, cells);
        output_row(&t, cells);
    }
    output_print(&t, (enum output_format)o->format);
    output_fini(&t);
}

static struct json *row_json(struct arena *a, const struct report_options *o, const struct output_column *columns,
                             const struct report_row *row)
{
    const char *cells[COLUMNS_N];
    _cleanup_buf_ struct buf text = {0};
    cells_of(a, o, row, cells);
    buf_char(&text, '{');
    for (int i = 0; i < COLUMNS_N; i++) {
        buf_printf(&text, "%s\"%s\":", i ? "," : "", columns[i].key);
        if (cells[i] && !columns[i].is_number)
            json_write_string(&text, bytes_of(cells[i]));
        else
            buf_text(&text, cells[i] ? cells[i] : "null");
    }
    buf_char(&text, '}');
    return json_parse(a, (struct bytes){arena_text_n(a, text.data, text.n), text.n}, NULL, NULL);
}

static void print_json(const struct report_options *o, struct arena *a, const struct report_page *page)
{
    char time[TIME_TEXT_MAX];
    struct output_column columns[COLUMNS_N];
    struct json *v = json_new(a, JSON_OBJECT);
    columns_of(o, columns);
    json_set_text(a, v, "by", report_by_name(o->by));
    json_set_text(a, v, "since", time_format(time, (int64_t)(page->since_s * 1000)));
    json_set_text(a, v, "until", time_format(time, (int64_t)(page->until_s * 1000)));
    struct json *rows = json_ensure_array(a, v, "rows");
    for (uint32_t i = 0; i < page->rows_n; i++)
        json_append(rows, row_json(a, o, columns, &page->rows[i]));
    json_set(a, v, "total", row_json(a, o, columns, &page->total));
    output_json(v, (enum output_format)o->format);
}

static void print(const struct report_options *o, struct arena *a, const struct report_page *page)
{
    _cleanup_buf_ struct buf html = {0};
    switch (o->format) {
    case FORMAT_HTML:
        report_html(&html, page);
        fwrite(html.data, 1, html.n, stdout);
        break;
    case OUTPUT_JSON:
    case OUTPUT_YAML:
        print_json(o, a, page);
        break;
    default:
        print_table(o, a, page);
    }
}

/* Print into FILE: into a new one beside it, which takes its place when it is whole. */
static int print_to_file(const struct report_options *o, struct arena *a, const struct report_page *page)
{
    char path[4096], temporary[sizeof path + 8];
    time_t now = (time_t)page->until_s;
    struct tm tm;
    if (!gmtime_r(&now, &tm) || strftime(path, sizeof path, o->write, &tm) == 0)
        return options_wrong(o->given, "--write: the name is empty or too long");
    (void)snprintf(temporary, sizeof temporary, "%s.new", path);
    if (!freopen(temporary, "we", stdout)) {
        fprintf(stderr, "capstan report: %s: %s\n", temporary, strerror(errno));
        return EXIT_FAILED;
    }
    print(o, a, page);
    bool failed = fflush(stdout) != 0 || ferror(stdout) || fsync(STDOUT_FILENO) < 0;
    if (failed || rename(temporary, path) < 0) {
        fprintf(stderr, "capstan report: %s: %s\n", path, strerror(errno));
        (void)unlink(temporary); /* a part of a report is no report */
        return EXIT_FAILED;
    }
    return EXIT_OK;
}

int report_main(const struct options *given)
{
    struct report_options o;
    int code = take(&o, given);
    if (code != EXIT_OK)
        return code;
    _cleanup_arena_ struct arena *a = arena_new();
    struct err e = {0};
    struct usage_record *records = NULL;
    uint32_t n = 0;
    int r = o.prometheus ? read_prometheus(&o, a, &records, &n, &e) : read_store(&o, a, &records, &n, &e);
    if (r < 0 && o.prometheus)
        return connection_fail("report", &e);
    if (r < 0) {
        fprintf(stderr, "capstan report: %s\n", e.text);
        return r == -E_NOTFOUND ? EXIT_NOT_FOUND : EXIT_FAILED;
    }
    struct report_row *rows;
    struct report_page page = {
        .cluster = o.title, .by = o.by, .since_s = o.since_s, .until_s = o.until_s, .total = report_total(records, n)};
    page.rows_n = report_make(a, records, n, o.by, &rows);
    page.rows = rows;
    char since[TIME_TEXT_MAX], until[TIME_TEXT_MAX];
    if (o.format == OUTPUT_TABLE || o.format == OUTPUT_WIDE)
        fprintf(stderr, "from %s until %s, read from %s\n", time_format(since, (int64_t)(o.since_s * 1000)),
                time_format(until, (int64_t)(o.until_s * 1000)), o.read_from);
    if (o.write)
        return print_to_file(&o, a, &page);
    print(&o, a, &page);
    return EXIT_OK;
}
