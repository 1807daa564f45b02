/* report_page.h - a report as one HTML file without scripts and outside files, for the screen and for paper (A4)
 *
 *     headline figures ─ where the hours went, those that nobody had as well ─ a bar for each week ─ a bar for each row ─ who wasted most
 *     ─ the table ─ what the words mean
 */
#ifndef EXPORTER_REPORT_PAGE_H
#define EXPORTER_REPORT_PAGE_H
#include "exporter/report/report.h"
#include "exporter/report/report_period.h"

struct report_page {
    const char *cluster;    /* for the title; "" none */
    const char *read_from;  /* a file or URL; "" not said */
    const char *currency;   /* "EUR"; "" none */
    const char *only;       /* what it is restricted to, "namespace ml"; "" nothing */
    enum report_by by;
    double since_s, until_s;
    const struct report_row *rows;
    uint32_t rows_n;
    struct report_row total;
    enum report_step step;  /* of the trend; REPORT_STEP_NONE: there is none */
    const struct report_period *periods;
    const struct report_row *trend; /* a total for each period */
    const double *given_h;  /* of each row in each period: rows_n times periods_n */
    uint32_t periods_n;
    bool is_compared;       /* then total and rows have `before` */
    struct report_period before;
    bool before_is_short;   /* what is known begins later than it does */
};
void report_html(struct buf *out, const struct report_page *page);

/* ---- parts of it (report_html_parts.c) ---- */

/* Classes exclude each other; what is given and in no class was used. FREE: given to nobody. */
enum report_part { REPORT_USED, REPORT_LOW, REPORT_IDLE, REPORT_NO_PROCESS, REPORT_REST, REPORT_FREE, REPORT_PARTS_N };
struct report_part_text {
    const char *css, *name, *meaning;
};
extern const struct report_part_text report_parts[REPORT_PARTS_N];
void report_part_hours(const struct report_row *row, double ret_hours[REPORT_PARTS_N]);

/* full_h: what the whole width stands for. */
void report_html_bar(struct buf *out, const struct report_row *row, double full_h);
/* Columns side by side, the last the newest, for a line of text. */
void report_html_columns(struct buf *out, const double *hours, uint32_t n);
void report_html_known(struct buf *out, const char *format, double value); /* below 0: "–" */
void report_html_share(struct buf *out, double share);
void report_html_wait(struct buf *out, double seconds);
void report_html_time(struct buf *out, double wall_s);
void report_html_change(struct buf *out, const struct report_page *p, double now_h, double before_h);
extern const char report_html_style[];

#endif
