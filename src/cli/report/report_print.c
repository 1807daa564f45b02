/* report_print.c - a report as table, JSON, YAML, CSV or page */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "cli/report/report_parts.h"

/* When a column is there: for people also only when it says something. */
enum column_when { ALWAYS, WITH_CAPACITY, WITH_PRICES, WITH_BEFORE };

struct cell_of {
    struct arena *a;
    const struct report_options *o;
    const struct report_page *page;
};
struct report_column {
    struct output_column column;
    enum column_when when;
    const char *(*cell)(const struct cell_of *c, const struct report_row *row);
};

/* NULL: unknown. */
static const char *number_text(struct arena *a, int decimals, double value)
{
    return value < 0 ? NULL : arena_printf(a, "%.*f", decimals, value);
}

static bool is_for_people(const struct report_options *o)
{
    return o->format == OUTPUT_TABLE || o->format == OUTPUT_WIDE;
}

/* People read thousandths, programs add up. */
static const char *hours_text(const struct cell_of *c, double hours)
{
    return number_text(c->a, is_for_people(c->o) ? 3 : 6, hours);
}

static const char *money_text(const struct cell_of *c, double amount)
{
    return number_text(c->a, is_for_people(c->o) ? 2 : 6, amount);
}

static const char *change_text(const struct cell_of *c, double now_h, double before_h)
{
    double change;
    const struct report_period *before = &c->page->before;
    if (!report_change(now_h, c->page->until_s - c->page->since_s, before_h, before->until_s - before->since_s, &change))
        return NULL;
    return arena_printf(c->a, "%.1f", change * 100);
}

#define CELL(name, text)                                                                                               \
    static const char *cell_##name(const struct cell_of *c, const struct report_row *row)                              \
    {                                                                                                                  \
        return text;                                                                                                   \
    }
CELL(key, row->key)
CELL(pods, arena_printf(c->a, "%u", row->pods_n))
CELL(given, hours_text(c, row->allocated_h))
CELL(used, hours_text(c, row->active_h))
CELL(efficiency, number_text(c->a, 1, row->efficiency * 100))
CELL(wasted, hours_text(c, row->wasted_h))
CELL(memory, number_text(c->a, 1, row->memory_high * 100))
CELL(wait, number_text(c->a, 0, row->queue_wait_s))
CELL(energy, hours_text(c, row->energy_kwh))
CELL(no_process, hours_text(c, row->no_process_h))
CELL(idle, hours_text(c, row->idle_h))
CELL(low, hours_text(c, row->low_h))
CELL(throttled, hours_text(c, row->throttled_h))
CELL(capacity, hours_text(c, row->capacity_h))
CELL(free, hours_text(c, row->free_h))
CELL(cost, money_text(c, row->cost))
CELL(wasted_cost, money_text(c, row->wasted_cost))
CELL(free_cost, money_text(c, row->free_cost))
CELL(before, row->before ? hours_text(c, row->before->allocated_h) : NULL)
CELL(change, row->before ? change_text(c, row->allocated_h, row->before->allocated_h) : NULL)
CELL(wasted_before, row->before ? hours_text(c, row->before->wasted_h) : NULL)
CELL(wasted_change, row->before ? change_text(c, row->wasted_h, row->before->wasted_h) : NULL)
CELL(cost_before, row->before ? money_text(c, row->before->cost) : NULL)

static const struct report_column columns[] = {
    {{NULL, NULL, false, false}, ALWAYS, cell_key},
    {{"pods", "PODS", true, false}, ALWAYS, cell_pods},
    {{"allocatedHours", "GPU-H GIVEN", true, false}, ALWAYS, cell_given},
    {{"activeHours", "GPU-H USED", true, false}, ALWAYS, cell_used},
    {{"efficiencyPercent", "USED %", true, false}, ALWAYS, cell_efficiency},
    {{"memoryHighPercent", "MEMORY %", true, false}, ALWAYS, cell_memory},
    {{"queueWaitSeconds", "WAIT S", true, false}, ALWAYS, cell_wait},
    {{"energyKWh", "KWH", true, false}, ALWAYS, cell_energy},
    {{"noProcessHours", "NO PROCESS H", true, true}, ALWAYS, cell_no_process},
    {{"idleHours", "IDLE H", true, true}, ALWAYS, cell_idle},
    {{"lowHours", "LOW H", true, true}, ALWAYS, cell_low},
    {{"throttledHours", "THROTTLED H", true, true}, ALWAYS, cell_throttled},
    {{"wastedHours", "GPU-H WASTED", true, false}, ALWAYS, cell_wasted},
    {{"capacityHours", "GPU-H THERE", true, false}, WITH_CAPACITY, cell_capacity},
    {{"unallocatedHours", "NOBODY'S H", true, false}, WITH_CAPACITY, cell_free},
    {{"cost", "COST", true, false}, WITH_PRICES, cell_cost},
    {{"wastedCost", "OF IT WASTED", true, false}, WITH_PRICES, cell_wasted_cost},
    {{"unallocatedCost", "NOBODY'S COST", true, false}, WITH_PRICES, cell_free_cost},
    {{"allocatedHoursBefore", "GIVEN BEFORE", true, false}, WITH_BEFORE, cell_before},
    {{"allocatedChangePercent", "CHANGE %", true, false}, WITH_BEFORE, cell_change},
    {{"wastedHoursBefore", "WASTED BEFORE", true, false}, WITH_BEFORE, cell_wasted_before},
    {{"wastedChangePercent", "CHANGE %", true, false}, WITH_BEFORE, cell_wasted_change},
    {{"costBefore", "COST BEFORE", true, true}, WITH_BEFORE, cell_cost_before},
};
enum { COLUMNS_MAX = sizeof columns / sizeof *columns };

struct sheet {
    struct cell_of of;
    struct output_column columns[COLUMNS_MAX];
    const char *(*cells[COLUMNS_MAX])(const struct cell_of *c, const struct report_row *row);
    uint32_t n;
};

/* Of rows that have none, people need no column that says so. */
static bool is_there(const struct cell_of *c, const struct report_column *column)
{
    bool has_rows = c->page->rows_n > 0 && c->page->rows[0].capacity_h >= 0;
    bool is_free_cost = column->cell == cell_free_cost;
    switch (column->when) {
    case WITH_CAPACITY:
        return !is_for_people(c->o) || has_rows;
    case WITH_PRICES:
        return c->o->prices && (!is_free_cost || !is_for_people(c->o) || has_rows);
    case WITH_BEFORE:
        return c->page->is_compared && (column->cell != cell_cost_before || c->o->prices);
    case ALWAYS:
        break;
    }
    return true;
}

static void sheet_init(struct sheet *s, const struct report_options *o, struct arena *a, const struct report_page *page)
{
    static const char *const titles[] = {
#define X(name, text) #name,
        REPORT_BYS(X)
#undef X
    };
    *s = (struct sheet){.of = {a, o, page}};
    for (size_t i = 0; i < COLUMNS_MAX; i++)
        if (is_there(&s->of, &columns[i])) {
            s->columns[s->n] = columns[i].column;
            s->cells[s->n++] = columns[i].cell;
        }
    s->columns[0].key = report_by_name(o->by);
    s->columns[0].title = titles[o->by];
}

static void sheet_row(const struct sheet *s, struct output_table *t, const struct report_row *row)
{
    const char *cells[COLUMNS_MAX];
    for (uint32_t i = 0; i < s->n; i++)
        cells[i] = s->cells[i](&s->of, row);
    output_row(t, cells);
}

/* Below the total: what nobody had, and with it all that there was. */
static void add_rest(const struct sheet *s, struct output_table *t)
{
    const struct report_row *total = &s->of.page->total;
    const char *cells[COLUMNS_MAX];
    for (int all = 0; all < 2 && total->free_h >= 0; all++) {
        double hours = all ? total->capacity_h : total->free_h, cost = all ? total->free_cost + total->cost : total->free_cost;
        for (uint32_t i = 0; i < s->n; i++)
            cells[i] = s->cells[i] == cell_key     ? (all ? "all there was" : "given to nobody")
                       : s->cells[i] == cell_given ? hours_text(&s->of, hours)
                       : s->cells[i] == cell_cost  ? money_text(&s->of, cost)
                                                   : "";
        output_row(t, cells);
    }
}

static void print_table(const struct sheet *s)
{
    const struct report_page *page = s->of.page;
    struct output_table t;
    output_init(&t, s->of.a, s->columns, s->n);
    for (uint32_t i = 0; i < page->rows_n; i++)
        sheet_row(s, &t, &page->rows[i]);
    if (s->of.o->format != OUTPUT_CSV) { /* spreadsheets add up themselves */
        sheet_row(s, &t, &page->total);
        add_rest(s, &t);
    }
    output_print(&t, (enum output_format)s->of.o->format);
    output_fini(&t);
}

/* ---- JSON ---- */

static struct json *row_json(const struct sheet *s, const struct report_row *row)
{
    _cleanup_buf_ struct buf text = {0};
    buf_char(&text, '{');
    for (uint32_t i = 0; i < s->n; i++) {
        const char *cell = s->cells[i](&s->of, row);
        buf_printf(&text, "%s\"%s\":", i ? "," : "", s->columns[i].key);
        if (cell && !s->columns[i].is_number)
            json_write_string(&text, bytes_of(cell));
        else
            buf_text(&text, cell ? cell : "null");
    }
    buf_char(&text, '}');
    return json_parse(s->of.a, (struct bytes){arena_text_n(s->of.a, text.data, text.n), text.n}, NULL, NULL);
}

static void set_span(struct arena *a, struct json *v, double since_s, double until_s)
{
    char time[TIME_TEXT_MAX];
    json_set_text(a, v, "since", time_format(time, (int64_t)(since_s * 1000)));
    json_set_text(a, v, "until", time_format(time, (int64_t)(until_s * 1000)));
}

static void add_trend(const struct sheet *s, struct json *v)
{
    static const char *const steps[] = {"", "day", "week", "month"};
    const struct report_page *page = s->of.page;
    struct arena *a = s->of.a;
    struct json *trend = json_ensure_array(a, v, "trend");
    struct sheet of_times = *s;
    of_times.columns[0].key = steps[page->step];
    for (uint32_t i = 0; i < page->periods_n; i++) {
        struct json *row = row_json(&of_times, &page->trend[i]);
        set_span(a, row, page->periods[i].since_s, page->periods[i].until_s);
        json_set_bool(a, row, "whole", page->periods[i].whole);
        json_append(trend, row);
    }
}

static void print_json(const struct sheet *s)
{
    const struct report_page *page = s->of.page;
    struct arena *a = s->of.a;
    struct json *v = json_new(a, JSON_OBJECT);
    json_set_text(a, v, "by", report_by_name(page->by));
    set_span(a, v, page->since_s, page->until_s);
    if (*page->currency)
        json_set_text(a, v, "currency", page->currency);
    if (page->is_compared) {
        struct json *before = json_new(a, JSON_OBJECT);
        set_span(a, before, page->before.since_s, page->before.until_s);
        json_set_bool(a, before, "short", page->before_is_short);
        json_set(a, v, "comparedWith", before);
    }
    struct json *rows = json_ensure_array(a, v, "rows");
    for (uint32_t i = 0; i < page->rows_n; i++)
        json_append(rows, row_json(s, &page->rows[i]));
    json_set(a, v, "total", row_json(s, &page->total));
    if (page->periods_n && page->by < REPORT_BY_DAY)
        add_trend(s, v);
    output_json(v, (enum output_format)s->of.o->format);
}

void report_print(const struct report_options *o, struct arena *a, const struct report_page *page)
{
    _cleanup_buf_ struct buf html = {0};
    struct sheet s;
    sheet_init(&s, o, a, page);
    switch (o->format) {
    case OUTPUT_HTML:
        report_html(&html, page);
        fwrite(html.data, 1, html.n, stdout);
        break;
    case OUTPUT_JSON:
    case OUTPUT_YAML:
        print_json(&s);
        break;
    default:
        print_table(&s);
    }
}

int report_print_to_file(const struct report_options *o, struct arena *a, const struct report_page *page)
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
    report_print(o, a, page);
    bool failed = fflush(stdout) != 0 || ferror(stdout) || fsync(STDOUT_FILENO) < 0;
    if (failed || rename(temporary, path) < 0) {
        fprintf(stderr, "capstan report: %s: %s\n", path, strerror(errno));
        (void)unlink(temporary); /* a part of a report is no report */
        return EXIT_FAILED;
    }
    return EXIT_OK;
}
