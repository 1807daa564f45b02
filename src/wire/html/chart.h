/* chart.h - pictures of a page as inline SVG: lines over something, who had which row when, a map of shades
 *
 *     ^ y, with its unit                   rows ████░░░██████   spans in the colours --c0 to --c7, each with what it is as a tooltip
 *     |   __/‾‾                                 ██████░░░░██
 *     |__/_______> x, with its unit             ------------> time
 *
 * UNIT   x of times: milliseconds. Colours are numbers, taken modulo HTML_COLOURS.
 * OWNER  nothing is kept; what is written is well-formed XML, numbers are rounded to a tenth of a pixel.
 * LIMIT  CHART_ROWS, CHART_SPANS, CHART_POINTS: what is beyond is left out, and the picture says so.
 */
#ifndef WIRE_HTML_CHART_H
#define WIRE_HTML_CHART_H
#include <stdbool.h>
#include <stdint.h>
#include "wire/html/html.h"

#define CHART_ROWS 256
#define CHART_SPANS 20000
#define CHART_POINTS 4000 /* of a line: more than there are pixels */

struct chart_point {
    double x, y;
};
struct chart_line {
    const char *name;
    const struct chart_point *points; /* by x */
    size_t points_n;
    uint32_t colour;
    bool is_level; /* it stays as it is until the next point */
    bool is_dashed;
};
struct chart {
    const char *label; /* what is to be seen, for those who do not see it */
    const char *x_title, *y_title;
    double x_least, x_most, y_most; /* y begins at 0 */
    bool x_is_time, y_is_count;
};
void chart_lines(struct buf *out, const struct chart *c, const struct chart_line *lines, uint32_t n);

#define CHART_HATCHED UINT32_MAX /* as colour: nobody's time */
struct chart_span {
    uint32_t row, colour;
    double from, until;
    const char *text; /* tooltip; may be "" */
};
/* Rows from above; rows[i] may be "" where it is the same as above. */
void chart_spans(struct buf *out, const struct chart *c, const char *const *rows, uint32_t rows_n, const struct chart_span *spans,
                 size_t n);

/* shades[row * columns_n + column], from 0 to 1; negative: there is nothing. */
void chart_shades(struct buf *out, const struct chart *c, const char *const *rows, uint32_t rows_n, const double *shades,
                  uint32_t columns_n);

struct chart_bar {
    const char *name, *text; /* text: beside it */
    double value;
};
void chart_bars(struct buf *out, const char *label, const struct chart_bar *bars, uint32_t n, uint32_t colour);

/* Which colour is what: a line of names below the picture. */
void chart_key(struct buf *out, const char *const *names, const uint32_t *colours, uint32_t n);

#endif
