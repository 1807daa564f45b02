/* chart.c - see chart.h */
#include "wire/html/chart.h"
#include <math.h>
#include <stdio.h>

enum { WIDTH = 900, LEFT = 150, LEFT_OF_LINES = 56, RIGHT = 30, TOP = 18, BOTTOM = 34, LINES_HEIGHT = 240, ROW = 15, BAR = 22, TICKS = 6 };
#define HOUR_MS 3600000.0

/* ---- scales ---- */

/* 1, 2, 5, 10, 20 ...: the least with which there are not too many ticks. */
static double step_of(double span)
{
    static const double steps[] = {1, 2, 5};
    double ten = pow(10, floor(log10(span / TICKS)));
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (span / (steps[i] * ten) <= TICKS + 2)
            return steps[i] * ten;
    return 10 * ten;
}

/* Of times: round ones. */
static double step_of_time(double span)
{
    static const double steps[] = {1e3, 5e3, 15e3, 30e3, 6e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (span / steps[i] <= TICKS + 2)
            return steps[i];
    return step_of(span / (24 * HOUR_MS)) * 24 * HOUR_MS;
}

static void add_tick(struct buf *out, double v, double step, bool is_time)
{
    if (!is_time)
        buf_printf(out, "%.*f", step < 0.1 ? 2 : step < 1 ? 1 : 0, v);
    else if (step >= 24 * HOUR_MS)
        buf_printf(out, "%.0f d", v / (24 * HOUR_MS));
    else if (step >= HOUR_MS)
        buf_printf(out, "%.0f h", v / HOUR_MS);
    else if (step >= 60000 && v >= HOUR_MS)
        buf_printf(out, "%.0f:%02.0f h", floor(v / HOUR_MS), floor(fmod(v, HOUR_MS) / 60000));
    else if (step >= 60000)
        buf_printf(out, "%.0f min", v / 60000);
    else
        buf_printf(out, "%.0f s", v / 1000);
}

struct frame {
    const struct chart *c;
    double left, width, height; /* of what is drawn in; its top is TOP */
};

static double x_of(const struct frame *f, double x)
{
    double span = f->c->x_most - f->c->x_least, at = span > 0 ? (x - f->c->x_least) / span : 0;
    return f->left + (at < 0 ? 0 : at > 1 ? 1 : at) * f->width;
}

static double y_of(const struct frame *f, double y)
{
    double at = f->c->y_most > 0 ? y / f->c->y_most : 0;
    return TOP + f->height - (at < 0 ? 0 : at > 1 ? 1 : at) * f->height;
}

static void begin(struct buf *out, const struct frame *f, bool has_titles)
{
    buf_printf(out, "<svg class=\"chart\" viewBox=\"0 0 %d %.0f\" width=\"100%%\" role=\"img\" aria-label=\"", WIDTH,
               TOP + f->height + BOTTOM + (has_titles ? 6 : 0));
    html_text(out, f->c->label);
    buf_text(out, "\"><title>");
    html_text(out, f->c->label);
    buf_text(out, "</title><g font-size=\"11\" fill=\"currentColor\">");
}

static void add_x_axis(struct buf *out, const struct frame *f)
{
    const struct chart *c = f->c;
    double span = c->x_most - c->x_least, step = span > 0 ? c->x_is_time ? step_of_time(span) : step_of(span) : 1, bottom = TOP + f->height;
    for (double v = ceil(c->x_least / step) * step; v <= c->x_most * (1 + 1e-9); v += step) {
        double x = x_of(f, v);
        buf_printf(out,
                   "<path d=\"M%.1f %d V%.1f\" stroke=\"currentColor\" stroke-opacity=\".15\"/><text x=\"%.1f\" y=\"%.1f\" "
                   "text-anchor=\"middle\">",
                   x, TOP, bottom, x, bottom + 14);
        add_tick(out, v, step, c->x_is_time);
        buf_text(out, "</text>");
        if (span <= 0)
            break;
    }
    buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" opacity=\".7\">", f->left + f->width, bottom + 30);
    html_text(out, c->x_title);
    buf_text(out, "</text>");
}

static void add_y_axis(struct buf *out, const struct frame *f)
{
    double step = f->c->y_most > 0 ? step_of(f->c->y_most) : 1;
    step = f->c->y_is_count && step < 1 ? 1 : step;
    for (double v = 0; v <= f->c->y_most * (1 + 1e-9); v += step) {
        buf_printf(out,
                   "<path d=\"M%.1f %.1f H%.1f\" stroke=\"currentColor\" stroke-opacity=\".15\"/><text x=\"%.1f\" y=\"%.1f\" "
                   "text-anchor=\"end\">",
                   f->left, y_of(f, v), f->left + f->width, f->left - 6, y_of(f, v) + 4);
        add_tick(out, v, step, false);
        buf_text(out, "</text>");
        if (f->c->y_most <= 0)
            break;
    }
    buf_printf(out, "<text x=\"%.1f\" y=\"11\" opacity=\".7\">", f->left - 30);
    html_text(out, f->c->y_title);
    buf_text(out, "</text>");
}

static void end(struct buf *out)
{
    buf_text(out, "</g></svg>\n");
}

static void add_left_out(struct buf *out, size_t all_n, size_t drawn_n, const char *what)
{
    if (all_n > drawn_n)
        buf_printf(out, "<p class=\"span\">%zu of %zu %s are drawn.</p>", drawn_n, all_n, what);
}

/* ---- lines ---- */

static void add_line(struct buf *out, const struct frame *f, const struct chart_line *l)
{
    size_t n = l->points_n < CHART_POINTS ? l->points_n : CHART_POINTS;
    double x = 0, y = 0;
    buf_text(out, "<path fill=\"none\" stroke-width=\"2\" stroke-linejoin=\"round\"");
    buf_printf(out, "%s style=\"stroke:var(--c%u)\" d=\"", l->is_dashed ? " stroke-dasharray=\"5 4\"" : "", l->colour % HTML_COLOURS);
    for (size_t i = 0; i < n; i++) { /* of too many points so many, evenly */
        const struct chart_point *p = &l->points[n > 1 ? i * (l->points_n - 1) / (n - 1) : i];
        double next_x = x_of(f, p->x), next_y = y_of(f, p->y);
        if (!i)
            buf_printf(out, "M%.1f %.1f", next_x, next_y);
        else if (l->is_level)
            buf_printf(out, "H%.1fV%.1f", next_x, next_y);
        else if (fabs(next_x - x) >= 0.05 || fabs(next_y - y) >= 0.05)
            buf_printf(out, "L%.1f %.1f", next_x, next_y);
        x = next_x;
        y = next_y;
    }
    if (l->is_level && n)
        buf_printf(out, "H%.1f", f->left + f->width);
    buf_text(out, "\"><title>");
    html_text(out, l->name);
    buf_text(out, "</title></path>");
}

void chart_lines(struct buf *out, const struct chart *c, const struct chart_line *lines, uint32_t n)
{
    struct frame f = {c, LEFT_OF_LINES, WIDTH - LEFT_OF_LINES - RIGHT, LINES_HEIGHT};
    begin(out, &f, true);
    add_x_axis(out, &f);
    add_y_axis(out, &f);
    for (uint32_t i = 0; i < n; i++)
        if (lines[i].points_n)
            add_line(out, &f, &lines[i]);
    end(out);
}

/* ---- rows ---- */

static void add_rows(struct buf *out, const char *const *rows, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!*rows[i])
            continue;
        buf_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 6, TOP + (int)i * ROW + ROW - 4);
        size_t length = strlen(rows[i]), most = 23;
        if (length > most) {                                               /* the end tells nodes apart */
            while (((unsigned char)rows[i][length - most] & 0xc0) == 0x80) /* not within a character */
                most--;
            buf_text(out, "…");
        }
        html_text(out, length > most ? rows[i] + length - most : rows[i]);
        buf_text(out, "</text>");
    }
}

static void add_span(struct buf *out, const struct frame *f, const struct chart_span *s)
{
    double from = x_of(f, s->from), width = x_of(f, s->until) - from;
    buf_printf(out, "<rect x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"%d\"", from, TOP + s->row * ROW + 1, width < 0.5 ? 0.5 : width,
               ROW - 2);
    if (s->colour == CHART_HATCHED)
        buf_text(out, " fill=\"url(#hatch)\"");
    else
        buf_printf(out, " fill-opacity=\".85\" style=\"fill:var(--c%u)\"", s->colour % HTML_COLOURS);
    if (!*s->text) {
        buf_text(out, "/>");
        return;
    }
    buf_text(out, "><title>");
    html_text(out, s->text);
    buf_text(out, "</title></rect>");
}

void chart_spans(struct buf *out, const struct chart *c, const char *const *rows, uint32_t rows_n, const struct chart_span *spans, size_t n)
{
    uint32_t shown_n = rows_n < CHART_ROWS ? rows_n : CHART_ROWS;
    struct frame f = {c, LEFT, WIDTH - LEFT - RIGHT, (double)shown_n * ROW};
    size_t drawn_n = 0, wanted_n = 0;
    begin(out, &f, false);
    buf_text(out, "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
                  "<path d=\"M0 0V6\" stroke=\"currentColor\" stroke-opacity=\".45\" stroke-width=\"2\"/></pattern></defs>");
    add_rows(out, rows, shown_n);
    add_x_axis(out, &f);
    for (size_t i = 0; i < n; i++) {
        wanted_n += spans[i].row < shown_n;
        if (spans[i].row >= shown_n || drawn_n == CHART_SPANS)
            continue;
        add_span(out, &f, &spans[i]);
        drawn_n++;
    }
    end(out);
    add_left_out(out, rows_n, shown_n, "rows");
    add_left_out(out, wanted_n, drawn_n, "times");
}

void chart_shades(struct buf *out, const struct chart *c, const char *const *rows, uint32_t rows_n, const double *shades,
                  uint32_t columns_n)
{
    uint32_t shown_n = rows_n < CHART_ROWS ? rows_n : CHART_ROWS;
    struct frame f = {c, LEFT, WIDTH - LEFT - RIGHT, (double)shown_n * ROW};
    double width = f.width / (columns_n ? columns_n : 1);
    begin(out, &f, false);
    add_rows(out, rows, shown_n);
    for (uint32_t row = 0; row < shown_n; row++)
        for (uint32_t column = 0, next; column < columns_n; column = next) {
            double shade = shades[(size_t)row * columns_n + column];
            for (next = column + 1; next < columns_n && fabs(shades[(size_t)row * columns_n + next] - shade) < 0.005;)
                next++;
            if (shade < 0)
                continue;
            buf_printf(
                out,
                "<rect x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"%d\" style=\"fill:var(--c1)\" fill-opacity=\"%.2f\"><title>%.0f %%"
                "</title></rect>",
                f.left + column * width, TOP + row * ROW + 1, (next - column) * width, ROW - 2, 0.07 + 0.93 * (shade > 1 ? 1 : shade),
                100 * shade);
        }
    add_x_axis(out, &f);
    end(out);
    add_left_out(out, rows_n, shown_n, "rows");
}

/* ---- bars ---- */

void chart_bars(struct buf *out, const char *label, const struct chart_bar *bars, uint32_t n, uint32_t colour)
{
    struct chart c = {.label = label};
    struct frame f = {&c, LEFT, WIDTH - LEFT - 240, (double)n * BAR};
    double most = 0;
    for (uint32_t i = 0; i < n; i++)
        most = bars[i].value > most ? bars[i].value : most;
    begin(out, &f, false);
    for (uint32_t i = 0; i < n; i++) {
        double width = most > 0 ? bars[i].value / most * f.width : 0;
        buf_printf(out, "<text x=\"%d\" y=\"%u\" text-anchor=\"end\">", LEFT - 6, TOP + i * BAR + 15);
        html_text(out, bars[i].name);
        buf_printf(out, "</text><rect x=\"%d\" y=\"%u\" width=\"%.1f\" height=\"%d\" style=\"fill:var(--c%u)\"/><text x=\"%.1f\" y=\"%u\">",
                   LEFT, TOP + i * BAR + 3, width < 0.5 ? 0.5 : width, BAR - 6, colour % HTML_COLOURS, LEFT + width + 6,
                   TOP + i * BAR + 15);
        html_text(out, bars[i].text);
        buf_text(out, "</text>");
    }
    end(out);
}

void chart_key(struct buf *out, const char *const *names, const uint32_t *colours, uint32_t n)
{
    buf_text(out, "<div class=\"key\">");
    for (uint32_t i = 0; i < n; i++) {
        buf_printf(out, "<div><i style=\"background:var(--c%u)\"></i>", colours[i] % HTML_COLOURS);
        html_text(out, names[i]);
        buf_text(out, "</div>");
    }
    buf_text(out, "</div>\n");
}
