/* report_html.c - the report as one page that prints well: no scripts, no outside files, dark and light
 *
 *     headline numbers ─ one bar for all hours (used, and waste by class) ─ a bar for each row ─ the table
 */
#include <stdio.h>
#include <time.h>
#include "exporter/report/report.h"
#include "wire/html/html.h"

#define MINUTE_S 60.0
#define HOUR_S 3600.0
#define BARS_MAX 25 /* more rows than that are read as a table, not as a picture */

/* Classes exclude each other; what is allocated and in no class was used. */
static const struct {
    const char *css, *name, *meaning;
} parts[] = {
    {"used", "used", "the GPU was busy"},
    {"low", "hardly used", "busy for less than a fifth of the time: a smaller share may do"},
    {"idle", "idle", "a process was there and did nothing for half an hour or more"},
    {"none", "no process", "nothing had opened the GPU"},
    {"rest", "other", "between kernels, starting, loading data"},
};
enum { USED, LOW, IDLE, NONE, REST, PARTS_N };

static void part_hours(const struct report_row *row, double ret_hours[PARTS_N])
{
    ret_hours[USED] = row->active_h;
    ret_hours[LOW] = row->low_h;
    ret_hours[IDLE] = row->idle_h;
    ret_hours[NONE] = row->no_process_h;
    double rest = row->allocated_h;
    for (int i = USED; i < REST; i++)
        rest -= ret_hours[i];
    /* The time of a low hour that was used counts as used. */
    if (rest < 0) {
        ret_hours[LOW] = ret_hours[LOW] + rest > 0 ? ret_hours[LOW] + rest : 0;
        rest = 0;
    }
    ret_hours[REST] = rest;
}

static const char style[] =
    ":root{--used:#2a7de1;--low:#8ab8f0;--idle:#f0a530;--none:#d64545;--rest:#b9bec6}"
    ".bar{display:flex;height:1.1rem;background:#8882;border-radius:.2rem;overflow:hidden}.bar i{display:block}"
    ".used{background:var(--used)}.low{background:var(--low)}.idle{background:var(--idle)}.none{background:var(--none)}"
    ".rest{background:var(--rest)}"
    ".rows{display:grid;grid-template-columns:minmax(6rem,25%) 1fr max-content;gap:.35rem .8rem;align-items:center}"
    ".rows span{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}.rows em{font-style:normal;text-align:right}"
    "td{white-space:nowrap}td:first-child{white-space:normal;min-width:9rem}tfoot td{font-weight:600}@media print{.bar{break-inside:avoid}}";

static void add_bar(struct buf *out, const struct report_row *row, double full_h)
{
    double hours[PARTS_N];
    part_hours(row, hours);
    buf_printf(out, "<div class=\"bar\" role=\"img\" aria-label=\"%.1f GPU-hours, %.1f used\">", row->allocated_h, row->active_h);
    for (int i = 0; i < PARTS_N && full_h > 0; i++)
        if (hours[i] > 0)
            buf_printf(out, "<i class=\"%s\" style=\"width:%.2f%%\" title=\"%s: %.1f GPU-hours\"></i>", parts[i].css,
                       hours[i] / full_h * 100, parts[i].name, hours[i]);
    buf_text(out, "</div>");
}

static void add_known(struct buf *out, const char *format, double value)
{
    if (value < 0)
        buf_text(out, "–");
    else
        buf_printf(out, format, value);
}

static void add_share(struct buf *out, double share)
{
    add_known(out, "%.0f %%", share * 100);
}

static void add_wait(struct buf *out, double seconds)
{
    if (seconds < 2 * MINUTE_S)
        add_known(out, "%.0f s", seconds);
    else if (seconds < 2 * HOUR_S)
        add_known(out, "%.0f min", seconds / MINUTE_S);
    else
        add_known(out, "%.1f h", seconds / HOUR_S);
}

static void add_time(struct buf *out, double wall_s)
{
    char text[40] = "";
    time_t t = (time_t)wall_s;
    struct tm tm;
    if (gmtime_r(&t, &tm))
        (void)strftime(text, sizeof text, "%e %B %Y %H:%M", &tm); /* empty: a year that has no name */
    buf_text(out, text);
}

static void add_card(struct buf *out, const char *title, const char *format, double value)
{
    char text[64];
    (void)snprintf(text, sizeof text, format, value);
    html_card(out, title, text);
}

static void add_head(struct buf *out, const struct report_page *p)
{
    _cleanup_buf_ struct buf title = {0};
    buf_printf(&title, *p->cluster ? "GPU report of %s" : "GPU report%s", p->cluster);
    html_begin(out, title.data, "Who had the GPUs, and what came of it", style);
    buf_text(out, "<p class=\"span\">");
    add_time(out, p->since_s);
    buf_text(out, " to ");
    add_time(out, p->until_s);
    buf_printf(out, " (UTC), by %s", report_by_name(p->by));
    if (*p->cluster) {
        buf_text(out, ", cluster ");
        html_text(out, p->cluster);
    }
    buf_text(out, "</p><div class=\"cards\">");
    add_card(out, "GPU-hours given", "%.1f", p->total.allocated_h);
    add_card(out, "GPU-hours used", "%.1f", p->total.active_h);
    if (p->total.efficiency >= 0)
        add_card(out, "of what was given was used", "%.0f %%", p->total.efficiency * 100);
    add_card(out, "kWh", "%.1f", p->total.energy_kwh);
    add_card(out, "pods", "%.0f", p->total.pods_n);
    double span_h = (p->until_s - p->since_s) / HOUR_S;
    buf_printf(out, "</div><p>On average, %.1f GPUs were given to pods, and %.1f of them worked.</p>", p->total.allocated_h / span_h,
               p->total.active_h / span_h);
}

static void add_picture(struct buf *out, const struct report_page *p)
{
    double hours[PARTS_N], all_h = p->total.allocated_h;
    part_hours(&p->total, hours);
    buf_text(out, "<h2>Where the hours went</h2>");
    add_bar(out, &p->total, all_h);
    buf_text(out, "<div class=\"key\">");
    for (int i = 0; i < PARTS_N; i++)
        buf_printf(out, "<div><i class=\"%s\"></i><b>%.0f %% %s</b> (%.1f h): %s</div>", parts[i].css,
                   all_h > 0 ? hours[i] / all_h * 100 : 0, parts[i].name, hours[i], parts[i].meaning);
    buf_printf(out, "</div><h2>By %s</h2><div class=\"rows\">", report_by_name(p->by));
    uint32_t n = p->rows_n < BARS_MAX ? p->rows_n : BARS_MAX;
    for (uint32_t i = 0; i < n; i++) {
        buf_text(out, "<span title=\"");
        html_text(out, p->rows[i].key);
        buf_text(out, "\">");
        html_text(out, p->rows[i].key);
        buf_text(out, "</span>");
        add_bar(out, &p->rows[i], p->rows[0].allocated_h);
        buf_printf(out, "<em>%.1f h, ", p->rows[i].allocated_h);
        add_share(out, p->rows[i].efficiency);
        buf_text(out, "</em>");
    }
    buf_text(out, "</div>");
    if (n < p->rows_n)
        buf_printf(out, "<p>%u more in the table.</p>", p->rows_n - n);
}

static void add_cells(struct buf *out, const struct report_row *row)
{
    buf_text(out, "<tr><td>");
    html_text(out, row->key);
    buf_printf(out, "</td><td>%u</td><td>%.2f</td><td>%.2f</td><td>", row->pods_n, row->allocated_h, row->active_h);
    add_share(out, row->efficiency);
    buf_text(out, "</td><td>");
    add_share(out, row->memory_high);
    buf_printf(out, "</td><td>%.2f</td><td>%.2f</td><td>%.2f</td><td>", row->no_process_h, row->idle_h, row->low_h);
    add_known(out, "%.2f", row->throttled_h);
    buf_printf(out, "</td><td>%.1f</td><td>", row->energy_kwh);
    add_wait(out, row->queue_wait_s);
    buf_text(out, "</td></tr>");
}

void report_html(struct buf *out, const struct report_page *p)
{
    add_head(out, p);
    if (p->rows_n == 0) {
        buf_text(out, "<p>No GPU was handed out in this time.</p>");
        html_end(out);
        return;
    }
    add_picture(out, p);
    buf_printf(out,
               "<h2>In numbers</h2><div class=\"table\"><table><thead><tr><th>%s</th><th>pods</th><th>given, GPU-h</th><th>used, GPU-h</th>"
               "<th>used of given</th><th>memory high</th><th>no process, h</th><th>idle, h</th><th>hardly used, h</th><th>throttled, h</th>"
               "<th>kWh</th><th>mean wait</th></tr></thead><tbody>",
               report_by_name(p->by));
    for (uint32_t i = 0; i < p->rows_n; i++)
        add_cells(out, &p->rows[i]);
    buf_text(out, "</tbody><tfoot>");
    add_cells(out, &p->total);
    buf_text(out, "</tfoot></table></div>");
    html_end(out);
}
