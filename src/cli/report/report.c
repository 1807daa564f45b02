/* report.c - capstan report: what each team was given and what it used, what it costs, and what nobody had */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/history/usage_read.h"
#include "cli/report/report_parts.h"

#define HOUR_S 3600.0
#define PAGE_ROWS_MAX 200 /* of a page, where nobody says how many: the rest is one row */

/* ---- options ---- */

static bool is_of_time(const struct report_options *o)
{
    return o->by >= REPORT_BY_DAY;
}

static enum report_step step_of(enum report_by by)
{
    return (enum report_step)((int)by - REPORT_BY_DAY + REPORT_STEP_DAY);
}

/* --since and --until, or --period. ret_step: a week or a month; REPORT_STEP_NONE: neither. */
static int set_span(struct report_options *o, struct report_period *ret_period, enum report_step *ret_step)
{
    double now_s = (double)clock_wall_us() / 1e6;
    const char *period = option_text(o->given, OPT_REPORT_PERIOD);
    *ret_step = REPORT_STEP_NONE;
    *ret_period = (struct report_period){.until_s = now_s};
    if (period && (o->until || o->given->on_line[OPT_REPORT_SINCE]))
        return options_wrong(o->given, "either --period or --since and --until");
    if (period && !report_period_parse(period, now_s, ret_period, ret_step))
        return options_wrong(o->given, "--period: " REPORT_PERIOD_WRONG);
    if (!period && !usage_when(o->since, now_s, &ret_period->since_s))
        return options_wrong(o->given, "--since: " USAGE_WHEN_WRONG);
    if (o->until && !usage_when(o->until, now_s, &ret_period->until_s))
        return options_wrong(o->given, "--until: " USAGE_WHEN_WRONG);
    if (ret_period->since_s >= ret_period->until_s)
        return options_wrong(o->given, period ? "--period has not begun" : "--since must be before --until");
    if (ret_period->until_s - ret_period->since_s > USAGE_SPAN_MAX_S)
        return options_wrong(o->given, "more than ten years are asked for");
    return EXIT_OK;
}

/* What is compared with: the span before, or the same span so much earlier. */
static int set_before(struct report_options *o, const struct report_period *p, enum report_step step)
{
    const char *with = option_text(o->given, OPT_REPORT_COMPARE);
    double earlier_s;
    o->is_compared = with != NULL;
    if (!with)
        return EXIT_OK;
    if (is_of_time(o))
        return options_wrong(o->given, "--compare compares teams, users, jobs...; --by %s compares times already", report_by_name(o->by));
    if (text_equal(with, "previous")) {
        report_period_before(step, p, &o->before);
        o->is_span_before = step == REPORT_STEP_NONE;
        return EXIT_OK;
    }
    if (!usage_when(with, 0, &earlier_s) || earlier_s >= 0)
        return options_wrong(o->given, "--compare: write previous, or how much earlier: 7d, 4w");
    o->before = (struct report_period){.since_s = p->since_s + earlier_s, .until_s = p->until_s + earlier_s};
    return EXIT_OK;
}

static int set_prices(struct report_options *o, struct arena *a)
{
    struct err e = {0};
    const char *text = option_text(o->given, OPT_REPORT_PRICE);
    if (text && report_prices_parse(a, text, &o->prices, &e) < 0)
        return options_wrong(o->given, "--price: %s", e.text);
    if (o->sort == REPORT_SORT_COST && !o->prices)
        return options_wrong(o->given, "--sort cost needs --price");
    if (*o->currency && !o->prices)
        return options_wrong(o->given, "--currency needs --price: without it there are no amounts");
    return EXIT_OK;
}

/* As it is said, else as the name of the file that is written says. */
static enum output_format format_for(const struct options *given)
{
    static const struct {
        const char *end;
        enum output_format format;
    } ends[] = {{".html", OUTPUT_HTML}, {".csv", OUTPUT_CSV}, {".json", OUTPUT_JSON}, {".yaml", OUTPUT_YAML}};
    const char *write = option_text(given, OPT_REPORT_WRITE);
    for (size_t i = 0; write && !given->on_line[OPT_REPORT_OUTPUT] && i < sizeof ends / sizeof *ends; i++)
        if (text_ends(write, ends[i].end))
            return ends[i].format;
    return output_format_of(given);
}

static int take(struct report_options *o, struct arena *a, const struct options *given, struct report_period *ret_period)
{
    const char *title = option_text(given, OPT_REPORT_TITLE), *currency = option_text(given, OPT_REPORT_CURRENCY);
    int sort = option_word(given, OPT_REPORT_SORT), trend = option_word(given, OPT_REPORT_TREND);
    *o = (struct report_options){.given = given,
                                 .since = option_text(given, OPT_REPORT_SINCE),
                                 .until = option_text(given, OPT_REPORT_UNTIL),
                                 .store = option_text(given, OPT_REPORT_STORE),
                                 .prometheus = option_text(given, OPT_REPORT_PROMETHEUS),
                                 .title = title ? title : "",
                                 .currency = currency ? currency : "",
                                 .write = option_text(given, OPT_REPORT_WRITE),
                                 .ns = option_text(given, OPT_REPORT_NAMESPACE),
                                 .queue = option_text(given, OPT_REPORT_QUEUE),
                                 .user = option_text(given, OPT_REPORT_USER),
                                 .kubeconfig = option_text(given, OPT_REPORT_KUBECONFIG),
                                 .context = option_text(given, OPT_REPORT_CONTEXT),
                                 .top = (uint32_t)option_number(given, OPT_REPORT_TOP, 0),
                                 .sort = sort < 0 ? REPORT_SORT_GIVEN : (enum report_sort)sort,
                                 .format = (int)format_for(given)};
    (void)report_by_parse(option_text(given, OPT_REPORT_BY), &o->by); /* it is one of the words */
    if (o->store && o->prometheus)
        return options_wrong(given, "either --store or --prometheus");
    enum report_step step;
    int code = set_span(o, ret_period, &step);
    if (code == EXIT_OK)
        code = set_before(o, ret_period, step);
    if (is_of_time(o))
        o->trend = step_of(o->by);
    else
        o->trend = trend > 0 ? (enum report_step)(trend - 1) : report_step_for(ret_period->since_s, ret_period->until_s);
    return code == EXIT_OK ? set_prices(o, a) : code;
}

static void to_hours(double *since_s, double *until_s)
{
    *since_s = floor(*since_s / HOUR_S) * HOUR_S;
    *until_s = ceil(*until_s / HOUR_S) * HOUR_S;
}

/* ---- making ---- */

struct making {
    const struct report_options *o;
    struct report_source *source;
    struct arena *a;
    struct report_page *page;
};

/* A total for each day, week or month, and what each row had in it. */
static int add_trend(struct making *m)
{
    struct report_page *page = m->page;
    struct report_period *periods;
    uint32_t n = report_periods(m->a, m->o->trend, page->since_s, page->until_s, &periods);
    bool is_page = m->o->format == OUTPUT_HTML || m->o->format == OUTPUT_JSON || m->o->format == OUTPUT_YAML;
    if (m->o->trend == REPORT_STEP_NONE || (!is_of_time(m->o) && !is_page))
        return EXIT_OK;
    if (n == 0)
        return options_wrong(m->o->given, "more than %d of them are in this span: ask for weeks or months", LIMIT_REPORT_PERIODS);
    struct report_row *trend = arena_zero(m->a, n, sizeof *trend);
    double *given_h = arena_zero(m->a, (size_t)n * page->rows_n + 1, sizeof *given_h);
    for (uint32_t i = 0; i < n; i++) {
        struct report_input in;
        struct report_row *rows;
        int code = report_source_read(m->source, m->o, periods[i].since_s, periods[i].until_s, m->a, &in);
        if (code != EXIT_OK)
            return code;
        trend[i] = report_total(&in, m->o->prices);
        trend[i].key = periods[i].name;
        uint32_t rows_n = is_of_time(m->o) ? 0 : report_make(m->a, &in, m->o->by, m->o->prices, &rows);
        for (uint32_t r = 0; r < page->rows_n; r++)
            for (uint32_t k = 0; k < rows_n; k++)
                if (text_equal(page->rows[r].key, rows[k].key))
                    given_h[(size_t)r * n + i] = rows[k].allocated_h;
    }
    page->step = m->o->trend;
    page->periods = periods;
    page->periods_n = n;
    page->trend = trend;
    page->given_h = is_of_time(m->o) ? NULL : given_h;
    return EXIT_OK;
}

/* Times are rows by themselves: all but those without anything at both ends. */
static void rows_of_time(struct making *m)
{
    struct report_page *page = m->page;
    uint32_t first = 0, end = page->periods_n;
    while (first < end && !(page->trend[first].allocated_h > 0) && !(page->trend[first].capacity_h > 0))
        first++;
    while (end > first && !(page->trend[end - 1].allocated_h > 0) && !(page->trend[end - 1].capacity_h > 0))
        end--;
    struct report_row *rows = arena_zero(m->a, end - first + 1, sizeof *rows);
    for (uint32_t i = first; i < end; i++)
        rows[i - first] = page->trend[i];
    if (m->o->given->on_line[OPT_REPORT_SORT])
        report_sort(rows, end - first, m->o->sort);
    page->rows = rows;
    page->rows_n = end - first;
}

static int add_before(struct making *m, struct report_row **rows, uint32_t *rows_n)
{
    struct report_input in;
    struct report_row *before, *total = arena_alloc(m->a, sizeof *total);
    double begin_s;
    int code = report_source_read(m->source, m->o, m->o->before.since_s, m->o->before.until_s, m->a, &in);
    if (code != EXIT_OK)
        return code;
    uint32_t n = report_make(m->a, &in, m->o->by, m->o->prices, &before);
    *rows_n = report_compare(m->a, rows, *rows_n, before, n);
    *total = report_total(&in, m->o->prices);
    m->page->total.before = total;
    m->page->is_compared = true;
    m->page->before = m->o->before;
    m->page->before_is_short = report_source_begin(m->source, &begin_s) && begin_s > m->o->before.since_s;
    return EXIT_OK;
}

static int make_page(struct making *m)
{
    const struct report_options *o = m->o;
    struct report_page *page = m->page;
    struct report_input in;
    struct report_row *rows = NULL;
    int code = report_source_read(m->source, o, page->since_s, page->until_s, m->a, &in);
    if (code != EXIT_OK)
        return code;
    page->total = report_total(&in, o->prices);
    if (!is_of_time(o))
        page->rows_n = report_make(m->a, &in, o->by, o->prices, &rows);
    if (o->is_compared && (code = add_before(m, &rows, &page->rows_n)) != EXIT_OK)
        return code;
    if (!is_of_time(o)) {
        uint32_t most = o->top ? o->top : o->format == OUTPUT_HTML ? PAGE_ROWS_MAX : 0;
        report_sort(rows, page->rows_n, o->sort);
        page->rows_n = most ? report_cut(m->a, rows, page->rows_n, most) : page->rows_n;
    }
    page->rows = rows;
    code = add_trend(m);
    if (code == EXIT_OK && is_of_time(o))
        rows_of_time(m);
    return code;
}

static const char *only_text(const struct report_options *o, struct arena *a)
{
    _cleanup_buf_ struct buf text = {0};
    const char *const names[] = {"namespace", "queue", "user"}, *const values[] = {o->ns, o->queue, o->user};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (values[i])
            buf_printf(&text, "%s%s %s", text.n ? ", " : "", names[i], values[i]);
    return arena_text_n(a, text.n ? text.data : "", text.n);
}

/* On stderr: which span, from where, and what of it is not whole. */
static void say(const struct report_options *o, const struct report_page *page)
{
    char since[TIME_TEXT_MAX], until[TIME_TEXT_MAX];
    bool for_people = o->format == OUTPUT_TABLE || o->format == OUTPUT_WIDE;
    if (for_people)
        fprintf(stderr, "from %s until %s, read from %s\n", time_format(since, (int64_t)(page->since_s * 1000)),
                time_format(until, (int64_t)(page->until_s * 1000)), page->read_from);
    if (for_people && page->is_compared)
        fprintf(stderr, "compared with %s until %s%s\n", time_format(since, (int64_t)(page->before.since_s * 1000)),
                time_format(until, (int64_t)(page->before.until_s * 1000)),
                page->before_is_short ? "; what is known begins later than that, so increases are too high" : "");
    if (page->by == REPORT_BY_USER && page->rows_n == 1 && text_equal(page->rows[0].key, "-"))
        fprintf(stderr, "no pod says whose it is: jobs and pods do so by the label capstan.dev/user (capstan submit --user)\n");
    if (page->total.unpriced_h > 0)
        fprintf(stderr, "%.3f GPU-hours are of models without a price, and in no cost: see --by model\n", page->total.unpriced_h);
}

int report_main(const struct options *given)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct report_options o;
    struct report_period period;
    struct report_source *source = NULL;
    int code = take(&o, a, given, &period);
    if (code == EXIT_OK)
        code = report_source_open(&o, a, &source);
    if (code != EXIT_OK)
        return code;
    o.since_s = period.since_s;
    o.until_s = period.until_s;
    if (report_source_keeps_hours(source)) {
        to_hours(&o.since_s, &o.until_s);
        to_hours(&o.before.since_s, &o.before.until_s);
        if (o.is_span_before) { /* no hour is in both */
            o.before.until_s = o.since_s;
            o.before.since_s = o.since_s - (o.until_s - o.since_s);
        }
    }
    struct report_page page = {.cluster = o.title,
                               .read_from = report_source_name(source),
                               .currency = o.currency,
                               .only = only_text(&o, a),
                               .by = o.by,
                               .since_s = o.since_s,
                               .until_s = o.until_s};
    code = make_page(&(struct making){&o, source, a, &page});
    if (code == EXIT_OK) {
        say(&o, &page);
        if (o.write)
            code = report_print_to_file(&o, a, &page);
        else
            report_print(&o, a, &page);
    }
    report_source_close(source);
    return code;
}
