/* report_html.c - see report_page.h */
#include <stdio.h>
#include "exporter/report/report_page.h"
#include "wire/html/html.h"

#define HOUR_S 3600.0
#define BARS_MAX 25 /* more rows than that are read as a table, not as a picture */
#define WASTERS_MAX 10
#define WASTED_LEAST_H 0.05 /* less is shown as 0.0 */

static bool is_priced(const struct report_page *p)
{
    return p->total.cost >= 0;
}

static void add_card(struct buf *out, const char *title, const char *format, double value)
{
    char text[64];
    (void)snprintf(text, sizeof text, format, value);
    html_card(out, title, text);
}

static void add_span(struct buf *out, double since_s, double until_s)
{
    report_html_time(out, since_s);
    buf_text(out, " to ");
    report_html_time(out, until_s);
    buf_text(out, " (UTC)");
}

static void add_named(struct buf *out, const char *before, const char *name)
{
    if (!*name)
        return;
    buf_text(out, before);
    html_text(out, name);
}

static void add_money(struct buf *out, const struct report_page *p, double amount)
{
    report_html_known(out, "%.2f", amount);
    if (amount >= 0)
        add_named(out, " ", p->currency);
}

static void add_money_card(struct buf *out, const struct report_page *p, const char *title, double amount)
{
    _cleanup_buf_ struct buf text = {0};
    buf_printf(&text, "%.2f%s%s", amount, *p->currency ? " " : "", p->currency);
    html_card(out, title, text.data);
}

static void add_cards(struct buf *out, const struct report_page *p)
{
    const struct report_row *t = &p->total;
    buf_text(out, "<div class=\"cards\">");
    if (t->capacity_h > 0) {
        add_card(out, "GPU-hours there were", "%.1f", t->capacity_h);
        add_card(out, "of them were given", "%.0f %%", t->allocated_h / t->capacity_h * 100);
    }
    add_card(out, "GPU-hours given", "%.1f", t->allocated_h);
    add_card(out, "GPU-hours used", "%.1f", t->active_h);
    if (t->efficiency >= 0)
        add_card(out, "of what was given was used", "%.0f %%", t->efficiency * 100);
    add_card(out, "GPU-hours wasted", "%.1f", t->wasted_h);
    if (t->cost >= 0) {
        add_money_card(out, p, "for what was given", t->cost);
        add_money_card(out, p, "of it wasted", t->wasted_cost);
    }
    if (t->free_cost >= 0)
        add_money_card(out, p, "for what nobody had", t->free_cost);
    if (t->energy_kwh > 0)
        add_card(out, "kWh", "%.1f", t->energy_kwh);
    add_card(out, "pods", "%.0f", t->pods_n);
    buf_text(out, "</div>");
}

static void add_head(struct buf *out, const struct report_page *p)
{
    _cleanup_buf_ struct buf title = {0};
    buf_printf(&title, *p->cluster ? "GPU report of %s" : "GPU report%s", p->cluster);
    html_begin(out, title.data, "Who had the GPUs, and what came of it", report_html_style);
    buf_text(out, "<p class=\"span\">");
    add_span(out, p->since_s, p->until_s);
    buf_printf(out, ", by %s", report_by_name(p->by));
    add_named(out, ", cluster ", p->cluster);
    add_named(out, ", only ", p->only);
    buf_text(out, "</p>");
    add_cards(out, p);
    double span_h = (p->until_s - p->since_s) / HOUR_S;
    buf_text(out, "<p>On average, ");
    if (p->total.capacity_h > 0)
        buf_printf(out, "%.1f GPUs were there, ", p->total.capacity_h / span_h);
    buf_printf(out, "%.1f GPUs were given to pods, and %.1f of them worked.</p>", p->total.allocated_h / span_h,
               p->total.active_h / span_h);
    if (p->total.unpriced_h > 0)
        buf_printf(out, "<p class=\"warn\">%.1f GPU-hours were of models without a price: they are in no sum of money.</p>",
                   p->total.unpriced_h);
}

/* ---- pictures ---- */

static void add_whole(struct buf *out, const struct report_page *p)
{
    double hours[REPORT_PARTS_N], all_h = p->total.allocated_h + (p->total.free_h > 0 ? p->total.free_h : 0);
    report_part_hours(&p->total, hours);
    buf_text(out, "<h2>Where the hours went</h2>");
    report_html_bar(out, &p->total, all_h);
    buf_text(out, "<div class=\"key\">");
    for (int i = 0; i < REPORT_PARTS_N; i++)
        if (i != REPORT_FREE || p->total.free_h >= 0)
            buf_printf(out, "<div><i class=\"%s\"></i><b>%.0f %% %s</b> (%.1f h): %s</div>", report_parts[i].css,
                       all_h > 0 ? hours[i] / all_h * 100 : 0, report_parts[i].name, hours[i], report_parts[i].meaning);
    buf_text(out, "</div>");
}

static double most_hours(const struct report_row *rows, uint32_t n)
{
    double most = 0;
    for (uint32_t i = 0; i < n; i++) {
        double hours = rows[i].allocated_h + (rows[i].free_h > 0 ? rows[i].free_h : 0);
        most = hours > most ? hours : most;
    }
    return most;
}

/* WHY  averages: the first and the last week may be parts of one. */
static void add_trend(struct buf *out, const struct report_page *p)
{
    static const char *const steps[] = {"", "Day by day", "Week by week", "Month by month"};
    if (p->periods_n < 2)
        return;
    double most = most_hours(p->trend, p->periods_n);
    buf_printf(out, "<h2>%s</h2><div class=\"rows trend\">", steps[p->step]);
    for (uint32_t i = 0; i < p->periods_n; i++) {
        const struct report_row *row = &p->trend[i];
        double span_h = (p->periods[i].until_s - p->periods[i].since_s) / HOUR_S;
        buf_printf(out, "<span>%s%s</span>", p->periods[i].name, p->periods[i].whole ? "" : " (part)");
        report_html_bar(out, row, most);
        buf_printf(out, "<em>%.1f GPUs, ", row->allocated_h / span_h);
        report_html_share(out, row->efficiency);
        buf_text(out, " used");
        if (row->cost >= 0) {
            buf_text(out, ", ");
            add_money(out, p, row->cost);
        }
        buf_text(out, "</em>");
    }
    buf_text(out, "</div>");
}

static void add_rows(struct buf *out, const struct report_page *p)
{
    double most = most_hours(p->rows, p->rows_n);
    buf_printf(out, "<h2>By %s</h2><div class=\"rows\">", report_by_name(p->by));
    uint32_t n = p->rows_n < BARS_MAX ? p->rows_n : BARS_MAX;
    for (uint32_t i = 0; i < n; i++) {
        const struct report_row *row = &p->rows[i];
        buf_text(out, "<span title=\"");
        html_text(out, row->key);
        buf_text(out, "\">");
        html_text(out, row->key);
        buf_text(out, "</span>");
        report_html_bar(out, row, most);
        buf_text(out, "<em>");
        if (p->given_h && p->periods_n > 1)
            report_html_columns(out, p->given_h + (size_t)i * p->periods_n, p->periods_n);
        buf_printf(out, "%.1f h, ", row->allocated_h);
        report_html_share(out, row->efficiency);
        buf_text(out, "</em>");
    }
    buf_text(out, "</div>");
    if (n < p->rows_n)
        buf_printf(out, "<p>%u more in the table.</p>", p->rows_n - n);
}

/* ---- who wasted most ---- */

static const char *what_to_do(const struct report_row *row)
{
    if (row->no_process_h >= row->idle_h && row->no_process_h >= row->low_h)
        return "mostly never opened: ask for fewer GPUs, or let the job end when its work does";
    if (row->idle_h >= row->low_h)
        return "mostly idle after work: end notebooks and servers that nobody uses";
    return "mostly hardly used: a share or a MIG slice would do";
}

static bool is_more_wasted(const struct report_row *x, const struct report_row *than)
{
    return !than || x->wasted_h > than->wasted_h;
}

static void add_wasters(struct buf *out, const struct report_page *p)
{
    const struct report_row *last = NULL;
    uint32_t said_n = 0;
    for (; said_n < WASTERS_MAX && p->by < REPORT_BY_DAY; said_n++) {
        const struct report_row *most = NULL; /* of those after `last` */
        for (uint32_t i = 0; i < p->rows_n; i++) {
            const struct report_row *x = &p->rows[i];
            bool is_said = last && (x->wasted_h > last->wasted_h || (x->wasted_h == last->wasted_h && x <= last));
            if (!is_said && x->wasted_h >= WASTED_LEAST_H && is_more_wasted(x, most))
                most = x;
        }
        if (!most)
            break;
        buf_text(out, said_n ? "" : "<h2>Who wasted most</h2><ol>");
        buf_text(out, "<li><b>");
        html_text(out, most->key);
        buf_printf(out, "</b>: %.1f of %.1f GPU-hours", most->wasted_h, most->allocated_h);
        if (most->wasted_cost >= 0) {
            buf_text(out, ", ");
            add_money(out, p, most->wasted_cost);
        }
        buf_printf(out, "; %s.</li>", what_to_do(most));
        last = most;
    }
    buf_text(out, said_n ? "</ol>" : "");
}

/* ---- the table ---- */

/* WHY  what the bars show as well does not fit on paper beside changes and money. */
static const char *cell_of_part(const struct report_page *p)
{
    return p->is_compared || is_priced(p) ? "<td class=\"part\">" : "<td>";
}

static void add_part_cell(struct buf *out, const struct report_page *p, double hours)
{
    buf_text(out, cell_of_part(p));
    report_html_known(out, "%.2f", hours);
    buf_text(out, "</td>");
}

static void add_cell(struct buf *out, const char *format, double value)
{
    buf_text(out, "<td>");
    report_html_known(out, format, value);
    buf_text(out, "</td>");
}

static void add_cells(struct buf *out, const struct report_page *p, const struct report_row *row)
{
    buf_text(out, "<tr><td>");
    html_text(out, row->key);
    buf_printf(out, "</td><td>%u</td>", row->pods_n);
    add_cell(out, "%.2f", row->allocated_h);
    if (p->is_compared) {
        buf_text(out, "<td>");
        report_html_change(out, p, row->allocated_h, row->before ? row->before->allocated_h : 0);
        buf_text(out, "</td>");
    }
    add_cell(out, "%.2f", row->active_h);
    buf_text(out, "<td>");
    report_html_share(out, row->efficiency);
    buf_text(out, "</td><td>");
    report_html_share(out, row->memory_high);
    buf_text(out, "</td>");
    add_cell(out, "%.2f", row->wasted_h);
    if (p->is_compared) {
        buf_text(out, "<td>");
        report_html_change(out, p, row->wasted_h, row->before ? row->before->wasted_h : 0);
        buf_text(out, "</td>");
    }
    add_part_cell(out, p, row->no_process_h);
    add_part_cell(out, p, row->idle_h);
    add_part_cell(out, p, row->low_h);
    add_part_cell(out, p, row->throttled_h);
    if (is_priced(p)) {
        add_cell(out, "%.2f", row->cost);
        add_cell(out, "%.2f", row->wasted_cost);
    }
    add_cell(out, "%.1f", row->energy_kwh);
    buf_text(out, "<td>");
    report_html_wait(out, row->queue_wait_s);
    buf_text(out, "</td></tr>");
}

/* Below the total: hours and money of what nobody had, and of all. */
static void add_more(struct buf *out, const struct report_page *p, const char *key, double hours, double cost)
{
    const char *change = p->is_compared ? "<td></td>" : "";
    buf_printf(out, "<tr><td>%s</td><td></td><td>%.2f</td>%s<td></td><td></td><td></td><td></td>%s", key, hours, change, change);
    for (int i = REPORT_LOW; i <= REPORT_REST; i++)
        buf_printf(out, "%s</td>", cell_of_part(p));
    if (is_priced(p)) {
        add_cell(out, "%.2f", cost);
        buf_text(out, "<td></td>");
    }
    buf_text(out, "<td></td><td></td></tr>");
}

static void add_table(struct buf *out, const struct report_page *p)
{
    const char *change = p->is_compared ? "<th>change</th>" : "";
    buf_printf(out,
               "<h2>In numbers</h2><div class=\"table\"><table><thead><tr><th>%s</th><th>pods</th><th>given, GPU-h</th>%s<th>used, GPU-h</th>"
               "<th>used of given</th><th>memory high</th><th>wasted, GPU-h</th>%s",
               report_by_name(p->by), change, change);
    static const char *const titles[] = {"no process", "idle", "hardly used", "throttled"};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        buf_printf(out, "<th%s>%s, h</th>", p->is_compared || is_priced(p) ? " class=\"part\"" : "", titles[i]);
    if (is_priced(p)) {
        buf_text(out, "<th>cost");
        add_named(out, ", ", p->currency);
        buf_text(out, "</th><th>of it wasted</th>");
    }
    buf_text(out, "<th>kWh</th><th>mean wait</th></tr></thead><tbody>");
    for (uint32_t i = 0; i < p->rows_n; i++)
        add_cells(out, p, &p->rows[i]);
    buf_text(out, "</tbody><tfoot>");
    add_cells(out, p, &p->total);
    if (p->total.free_h >= 0) {
        add_more(out, p, "given to nobody", p->total.free_h, p->total.free_cost);
        add_more(out, p, "there was", p->total.capacity_h, p->total.free_cost + p->total.cost);
    }
    buf_text(out, "</tfoot></table></div>");
}

static void add_words(struct buf *out, const struct report_page *p)
{
    buf_text(out, "<p class=\"words\">A GPU-hour is a whole GPU for an hour; a slice of 1 of 7 counts a seventh, one of four shares a quarter. "
                  "Wasted is what was given and not used in one of three ways: no process, idle, hardly used.");
    if (p->is_compared) {
        buf_text(out, " Changes are those of hours per hour, against ");
        add_span(out, p->before.since_s, p->before.until_s);
        buf_text(out, p->before_is_short ? "; what is known begins later than that, so that increases are too high." : ".");
    }
    add_named(out, " Read from ", p->read_from);
    buf_text(out, *p->read_from ? ".</p>" : "</p>");
}

void report_html(struct buf *out, const struct report_page *p)
{
    add_head(out, p);
    if (p->rows_n == 0) {
        buf_text(out, "<p>No GPU was handed out in this time.</p>");
        html_end(out);
        return;
    }
    add_whole(out, p);
    add_trend(out, p);
    add_rows(out, p);
    add_wasters(out, p);
    add_table(out, p);
    add_words(out, p);
    html_end(out);
}
