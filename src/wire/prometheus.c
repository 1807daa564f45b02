/* prometheus.c - pages are written front to back; the only state is which family is open */
#include "wire/prometheus.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void prometheus_begin(struct prometheus_page *p, struct buf *out, bool openmetrics)
{
    *p = (struct prometheus_page){.out = out, .openmetrics = openmetrics};
}

void prometheus_end(struct prometheus_page *p)
{
    if (p->openmetrics)
        buf_text(p->out, "# EOF\n");
}

/* ---- text ---- */

/* HELP: backslash and newline; label values: the quote too. */
static void add_escaped(struct buf *out, const char *text, bool quote)
{
    for (const char *run = text, *c = text;; c++) {
        if (*c && *c != '\\' && *c != '\n' && !(quote && *c == '"'))
            continue;
        buf_add(out, run, (size_t)(c - run));
        if (!*c)
            return;
        buf_char(out, '\\');
        buf_char(out, *c == '\n' ? 'n' : *c);
        run = c + 1;
    }
}

void prometheus_number(struct buf *out, double value)
{
    char text[32];
    if (isnan(value)) {
        buf_text(out, "NaN");
    } else if (isinf(value)) {
        buf_text(out, value > 0 ? "+Inf" : "-Inf");
    } else if (value == floor(value) && fabs(value) < 9007199254740992.0) {
        buf_int64(out, (int64_t)value);
    } else {
        for (int digits = 15; digits <= 17; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, value);
            if (strtod(text, NULL) == value)
                break;
        }
        buf_text(out, text);
    }
}

static bool is_control(const unsigned char *s, size_t length)
{
    return (length == 1 && (s[0] < 0x20 || s[0] == 0x7f)) || (length == 2 && s[0] == 0xc2 && s[1] < 0xa0);
}

void prometheus_clean(struct buf *out, struct bytes text, size_t max_bytes)
{
    size_t left = max_bytes;
    for (size_t i = 0; i < text.n;) {
        const unsigned char *s = (const unsigned char *)text.data + i;
        size_t length = utf8_length(text.data + i, text.data + text.n), written = length ? length : 3;
        i += length ? length : 1;
        if (length && is_control(s, length))
            continue;
        if (written > left)
            break;
        buf_add(out, length ? (const char *)s : "\xef\xbf\xbd", written);
        left -= written;
    }
    buf_reserve(out, 1)[0] = '\0';
}

void prometheus_label_name(struct buf *out, struct bytes text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.data[i];
        bool digit = c >= '0' && c <= '9';
        if (i == 0 && digit)
            buf_char(out, '_');
        buf_char(out, (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || digit ? c : '_');
    }
}

/* ---- families and samples ---- */

void prometheus_family(struct prometheus_page *p, const char *name, enum prometheus_type type, const char *help)
{
    p->family = name;
    p->help = help;
    p->type = type;
    p->is_open = false;
}

/* OpenMetrics: a counter is named without _total; what is called a counter but not named so has no known type there. */
static void family_open(struct prometheus_page *p)
{
    static const char *const types[] = {"gauge", "counter", "histogram", "untyped"};
    size_t name_n = strlen(p->family);
    const char *type = types[p->type];
    if (p->openmetrics && p->type == PROMETHEUS_COUNTER && text_ends(p->family, "_total"))
        name_n -= strlen("_total");
    else if (p->openmetrics && (p->type == PROMETHEUS_COUNTER || p->type == PROMETHEUS_UNTYPED))
        type = "unknown";
    buf_text(p->out, "# HELP ");
    buf_add(p->out, p->family, name_n);
    buf_char(p->out, ' ');
    add_escaped(p->out, p->help, p->openmetrics);
    buf_text(p->out, "\n# TYPE ");
    buf_add(p->out, p->family, name_n);
    buf_printf(p->out, " %s\n", type);
    p->is_open = true;
    p->families_n++;
}

void prometheus_labels_render(struct buf *out, const struct prometheus_label *labels, uint32_t labels_n)
{
    for (uint32_t i = 0; i < labels_n; i++) {
        buf_char(out, i ? ',' : '{');
        buf_text(out, labels[i].name);
        buf_text(out, "=\"");
        add_escaped(out, labels[i].value, true);
        buf_char(out, '"');
    }
    if (labels_n)
        buf_char(out, '}');
}

static void sample_begin(struct prometheus_page *p, const char *suffix)
{
    if (!p->is_open)
        family_open(p);
    buf_text(p->out, p->family);
    buf_text(p->out, suffix);
}

static void sample_end(struct prometheus_page *p, double value)
{
    buf_char(p->out, ' ');
    prometheus_number(p->out, value);
    buf_char(p->out, '\n');
    p->samples_n++;
}

void prometheus_sample_suffix(struct prometheus_page *p, const char *suffix, const struct prometheus_label *labels,
                              uint32_t labels_n, double value)
{
    sample_begin(p, suffix);
    prometheus_labels_render(p->out, labels, labels_n);
    sample_end(p, value);
}

void prometheus_sample(struct prometheus_page *p, const struct prometheus_label *labels, uint32_t labels_n,
                       double value)
{
    prometheus_sample_suffix(p, "", labels, labels_n, value);
}

void prometheus_suffix_rendered(struct prometheus_page *p, const char *suffix, struct bytes rendered_labels, double value)
{
    sample_begin(p, suffix);
    buf_bytes(p->out, rendered_labels);
    sample_end(p, value);
}

void prometheus_sample_rendered(struct prometheus_page *p, struct bytes rendered_labels, double value)
{
    prometheus_suffix_rendered(p, "", rendered_labels, value);
}

/* ---- negotiation ---- */

static struct bytes trimmed(const char *from, const char *to)
{
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
        to--;
    return (struct bytes){from, (size_t)(to - from)};
}

/* One media range: its quality in thousandths, and what it is. An unknown OpenMetrics version is not ours. */
static int range_quality(struct bytes range, bool *ret_openmetrics, bool *ret_text)
{
    int quality = 1000;
    const char *end = range.data + range.n;
    for (const char *part = range.data, *stop; part < end; part = stop + 1) {
        stop = memchr(part, ';', (size_t)(end - part));
        stop = stop ? stop : end;
        struct bytes item = trimmed(part, stop);
        if (part == range.data) {
            *ret_openmetrics = bytes_is(item, "application/openmetrics-text");
            *ret_text = bytes_is(item, "text/plain") || bytes_is(item, "text/*") || bytes_is(item, "*/*");
        } else if (bytes_starts(item, "q=")) {
            char number[8] = "";
            memcpy(number, item.data + 2, item.n - 2 < 7 ? item.n - 2 : 7);
            quality = (int)(strtod(number, NULL) * 1000);
        } else if (bytes_starts(item, "version=") && *ret_openmetrics) {
            *ret_openmetrics = bytes_is(item, "version=1.0.0") || bytes_is(item, "version=0.0.1");
        }
    }
    return quality;
}

bool prometheus_accepts_openmetrics(struct bytes accept)
{
    int openmetrics = 0, text = 0;
    const char *end = accept.data + accept.n;
    for (const char *range = accept.data, *stop; range < end; range = stop + 1) {
        stop = memchr(range, ',', (size_t)(end - range));
        stop = stop ? stop : end;
        bool is_openmetrics = false, is_text = false;
        int quality = range_quality(trimmed(range, stop), &is_openmetrics, &is_text);
        if (is_openmetrics && quality > openmetrics)
            openmetrics = quality;
        if (is_text && quality > text)
            text = quality;
    }
    return openmetrics > 0 && openmetrics >= text;
}
