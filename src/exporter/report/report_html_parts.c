/* report_html_parts.c - bars, small columns, numbers that may not be known */
#include <stdio.h>
#include <time.h>
#include "exporter/report/report_page.h"
#include "wire/html/html.h"

#define MINUTE_S 60.0
#define HOUR_S 3600.0
#define COLUMN_PX 5
#define COLUMNS_PX 16 /* high */

const struct report_part_text report_parts[REPORT_PARTS_N] = {
    {"used", "used", "the GPU was busy"},
    {"low", "hardly used", "busy for less than a fifth of the time: a smaller share may do"},
    {"idle", "idle", "a process was there and did nothing for half an hour or more"},
    {"none", "no process", "nothing had opened the GPU"},
    {"rest", "other", "between kernels, starting, loading data"},
    {"free", "given to nobody", "no pod had the GPU"},
};

const char report_html_style[] =
    ":root{--used:#2a7de1;--low:#8ab8f0;--idle:#f0a530;--none:#d64545;--rest:#b9bec6;--free:#8883}"
    ".bar{display:flex;height:1.1rem;background:#8882;border-radius:.2rem;overflow:hidden}.bar i{display:block}"
    ".used{background:var(--used)}.low{background:var(--low)}.idle{background:var(--idle)}.none{background:var(--none)}"
    ".rest{background:var(--rest)}.free{background:repeating-linear-gradient(45deg,#8886 0 2px,#8882 2px 6px)}"
    ".rows{display:grid;grid-template-columns:minmax(6rem,25%) 1fr max-content;gap:.35rem .8rem;align-items:center}"
    ".rows.trend{grid-template-columns:max-content 1fr max-content}"
    ".rows span{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}.rows em{font-style:normal;text-align:right}"
    ".cols{vertical-align:-2px;margin-right:.5rem;fill:var(--used)}"
    "td{white-space:nowrap}td:first-child{white-space:normal;min-width:9rem}tfoot td{font-weight:600}tfoot tr+tr td{font-weight:400}"
    ".words{font-size:.85rem;opacity:.8}.warn{border-left:3px solid var(--idle);padding-left:.6rem}"
    "@page{size:A4;margin:14mm 12mm}"
    "@media print{body{font-size:10pt;padding:0}h2{break-after:avoid}.bar,.rows span,.rows em{break-inside:avoid}"
    ".bar i{-webkit-print-color-adjust:exact;print-color-adjust:exact}thead{display:table-header-group}tfoot{display:table-row-group}"
    ".table{overflow:visible}table{font-size:7pt}th,td{padding:.15rem .2rem}td:first-child{min-width:5rem}"
    ".part{display:none}.card{padding:.3rem .6rem;min-width:6rem}.card b{font-size:1.2rem}.words{font-size:8pt}}";

void report_part_hours(const struct report_row *row, double ret_hours[REPORT_PARTS_N])
{
    ret_hours[REPORT_USED] = row->active_h;
    ret_hours[REPORT_LOW] = row->low_h;
    ret_hours[REPORT_IDLE] = row->idle_h;
    ret_hours[REPORT_NO_PROCESS] = row->no_process_h;
    ret_hours[REPORT_FREE] = row->free_h > 0 ? row->free_h : 0;
    double rest = row->allocated_h;
    for (int i = REPORT_USED; i < REPORT_REST; i++)
        rest -= ret_hours[i];
    /* The time of a low hour that was used counts as used. */
    if (rest < 0) {
        ret_hours[REPORT_LOW] = ret_hours[REPORT_LOW] + rest > 0 ? ret_hours[REPORT_LOW] + rest : 0;
        rest = 0;
    }
    ret_hours[REPORT_REST] = rest;
}

void report_html_bar(struct buf *out, const struct report_row *row, double full_h)
{
    double hours[REPORT_PARTS_N];
    report_part_hours(row, hours);
    buf_printf(out, "<div class=\"bar\" role=\"img\" aria-label=\"%.1f GPU-hours given, %.1f used\">", row->allocated_h, row->active_h);
    for (int i = 0; i < REPORT_PARTS_N && full_h > 0; i++)
        if (hours[i] > 0)
            buf_printf(out, "<i class=\"%s\" style=\"width:%.2f%%\" title=\"%s: %.1f GPU-hours\"></i>", report_parts[i].css,
                       hours[i] / full_h * 100, report_parts[i].name, hours[i]);
    buf_text(out, "</div>");
}

void report_html_columns(struct buf *out, const double *hours, uint32_t n)
{
    double most = 0;
    for (uint32_t i = 0; i < n; i++)
        most = hours[i] > most ? hours[i] : most;
    buf_printf(out, "<svg class=\"cols\" width=\"%u\" height=\"%d\" aria-hidden=\"true\">", n * COLUMN_PX, COLUMNS_PX);
    for (uint32_t i = 0; i < n && most > 0; i++)
        if (hours[i] > 0)
            buf_printf(out, "<rect x=\"%u\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"/>", i * COLUMN_PX, COLUMNS_PX * (1 - hours[i] / most),
                       COLUMN_PX - 1, COLUMNS_PX * hours[i] / most);
    buf_text(out, "</svg>");
}

void report_html_known(struct buf *out, const char *format, double value)
{
    if (value < 0)
        buf_text(out, "–");
    else
        buf_printf(out, format, value);
}

void report_html_share(struct buf *out, double share)
{
    report_html_known(out, "%.0f %%", share * 100);
}

void report_html_wait(struct buf *out, double seconds)
{
    if (seconds < 2 * MINUTE_S)
        report_html_known(out, "%.0f s", seconds);
    else if (seconds < 2 * HOUR_S)
        report_html_known(out, "%.0f min", seconds / MINUTE_S);
    else
        report_html_known(out, "%.1f h", seconds / HOUR_S);
}

void report_html_time(struct buf *out, double wall_s)
{
    char text[40] = "";
    time_t t = (time_t)wall_s;
    struct tm tm;
    if (gmtime_r(&t, &tm))
        (void)strftime(text, sizeof text, "%e %B %Y %H:%M", &tm); /* empty: a year that has no name */
    buf_text(out, *text == ' ' ? text + 1 : text);
}

void report_html_change(struct buf *out, const struct report_page *p, double now_h, double before_h)
{
    double change;
    if (!report_change(now_h, p->until_s - p->since_s, before_h, p->before.until_s - p->before.since_s, &change))
        buf_text(out, now_h > 0 ? "new" : "–");
    else
        buf_printf(out, "%s%.0f %%", change > 0 ? "+" : change < 0 ? "−" : "", (change < 0 ? -change : change) * 100);
}
