#include "sim/trace/csv.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <zlib.h>
#include "base/limits.h"
#include "base/memory.h"

struct csv {
    gzFile file;
    const char *path;
    const char *const *columns;
    uint32_t asked_n, columns_n;
    int32_t asked_at[LIMIT_TRACE_COLUMNS]; /* by column of the file: which of those asked for it is; -1: none */
    uint64_t line;
    char text[LIMIT_TRACE_LINE + 2];
};

static int wrong_line(const struct csv *c, struct err *e, const char *what)
{
    return err_set(e, E_INVALID, "%s: line %llu: %s", c->path, (unsigned long long)c->line, what);
}

int csv_line(struct csv *c, struct bytes *ret_line, struct err *e)
{
    int code;
    if (!gzgets(c->file, c->text, sizeof c->text)) {
        const char *why = gzerror(c->file, &code);
        if (code == Z_OK || code == Z_STREAM_END)
            return 0;
        return err_set(e, E_IO, "%s: line %llu: %s", c->path, (unsigned long long)c->line + 1, why);
    }
    c->line++;
    size_t n = strlen(c->text);
    bool ends = n && c->text[n - 1] == '\n';
    if (!ends && n > LIMIT_TRACE_LINE)
        return wrong_line(c, e, "longer than a line may be");
    if (!ends && !gzeof(c->file))
        return wrong_line(c, e, "holds a byte 0: this is no text");
    n -= ends;
    n -= n && c->text[n - 1] == '\r';
    *ret_line = (struct bytes){c->text, n};
    return 1;
}

/* Cuts off the first cell. */
static struct bytes take_cell(struct bytes *rest)
{
    const char *comma = rest->n ? memchr(rest->data, ',', rest->n) : NULL;
    struct bytes cell = {rest->data, comma ? (size_t)(comma - rest->data) : rest->n};
    *rest = comma ? (struct bytes){comma + 1, rest->n - cell.n - 1} : (struct bytes){rest->data + rest->n, 0};
    return cell;
}

static const char *name_of(const struct csv *c, uint32_t column)
{
    return c->columns[column] + (c->columns[column][0] == '?');
}

static int read_heading(struct csv *c, struct err *e)
{
    struct bytes rest;
    bool found[CSV_ASKED_MAX] = {false};
    int r = csv_line(c, &rest, e);
    if (r < 0)
        return r;
    if (!r)
        return err_set(e, E_INVALID, "%s: is empty: want a line that names the columns", c->path);
    bool more = true;
    for (c->columns_n = 0; more; c->columns_n++) {
        if (c->columns_n == LIMIT_TRACE_COLUMNS)
            return wrong_line(c, e, "more columns than a table may have");
        more = memchr(rest.data, ',', rest.n) != NULL;
        struct bytes cell = take_cell(&rest);
        c->asked_at[c->columns_n] = -1;
        for (uint32_t i = 0; i < c->asked_n; i++) {
            if (!bytes_equal(cell, bytes_of(name_of(c, i))))
                continue;
            if (found[i])
                return err_set(e, E_INVALID, "%s: line 1: column %s is there twice", c->path, name_of(c, i));
            found[i] = true;
            c->asked_at[c->columns_n] = (int32_t)i;
        }
    }
    for (uint32_t i = 0; i < c->asked_n; i++)
        if (!found[i] && c->columns[i][0] != '?')
            return err_set(e, E_INVALID, "%s: line 1: no column %s", c->path, name_of(c, i));
    return 0;
}

int csv_open(const char *path, const char *const *columns, struct csv **ret_csv, struct err *e)
{
    gzFile file = gzopen(path, "rbe");
    if (!file)
        return errno ? err_errno(e, errno, "open %s", path) : err_set(e, E_IO, "open %s: out of memory", path);
    struct csv *c = mem_zero(1, sizeof *c);
    c->file = file;
    c->path = path;
    c->columns = columns;
    while (columns[c->asked_n])
        c->asked_n++;
    int r = c->asked_n ? read_heading(c, e) : 0;
    if (r < 0) {
        csv_close(c);
        return r;
    }
    *ret_csv = c;
    return 0;
}

void csv_close(struct csv *c)
{
    if (!c)
        return;
    gzclose(c->file);
    free(c);
}

int csv_next(struct csv *c, struct bytes ret_cells[CSV_ASKED_MAX], struct err *e)
{
    struct bytes rest;
    int r;
    do
        r = csv_line(c, &rest, e);
    while (r > 0 && !rest.n);
    if (r <= 0)
        return r;
    for (uint32_t i = 0; i < c->asked_n; i++)
        ret_cells[i] = (struct bytes){c->text, 0};
    bool more = true;
    uint32_t column = 0;
    for (; more && column < c->columns_n; column++) {
        more = memchr(rest.data, ',', rest.n) != NULL;
        struct bytes cell = take_cell(&rest);
        if (c->asked_at[column] >= 0)
            ret_cells[c->asked_at[column]] = cell;
    }
    if (more || column < c->columns_n)
        return err_set(e, E_INVALID, "%s: line %llu: %s cells than line 1 names columns (%u)", c->path, (unsigned long long)c->line,
                       more ? "more" : "fewer", c->columns_n);
    return 1;
}

int csv_wrong(const struct csv *c, uint32_t column, struct err *e, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (!c->asked_n)
        return wrong_line(c, e, what);
    return err_set(e, E_INVALID, "%s: line %llu, column %s: %s", c->path, (unsigned long long)c->line, name_of(c, column), what);
}

int csv_number(const struct csv *c, uint32_t column, struct bytes cell, int64_t most, int64_t *ret_n, struct err *e)
{
    int64_t n = 0;
    size_t at = 0;
    int shown = cell.n < 40 ? (int)cell.n : 40;
    for (; at < cell.n && cell.data[at] >= '0' && cell.data[at] <= '9' && n <= most; at++)
        n = n * 10 + (cell.data[at] - '0');
    bool digits = at > 0;
    if (digits && n <= most && at < cell.n && cell.data[at] == '.')
        for (at++; at < cell.n && cell.data[at] == '0'; at++)
            ;
    if (!digits || (at < cell.n && n <= most))
        return csv_wrong(c, column, e, "\"%.*s\": want a whole number, 0 or more", shown, cell.data);
    if (n > most)
        return csv_wrong(c, column, e, "\"%.*s\": at most %lld is taken", shown, cell.data, (long long)most);
    *ret_n = n;
    return 0;
}
