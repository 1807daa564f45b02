/* output.c - tables as aligned text, JSON, YAML or CSV */
#include "cli/output.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/memory.h"
#include "base/quantity.h"
#include "wire/yaml.h"

enum output_format output_format_of(const struct options *o)
{
    static const char *const names[] = {"table", "wide", "json", "yaml", "csv", "name", "html"}; /* ORDER of output_format */
    const char *text = option_shared(o, "output");
    for (int i = 0; text && i < 7; i++)
        if (text_equal(text, names[i]))
            return (enum output_format)i;
    return OUTPUT_TABLE;
}

void output_init(struct output_table *t, struct arena *a, const struct output_column *columns, uint32_t columns_n)
{
    *t = (struct output_table){.columns = columns, .columns_n = columns_n, .arena = a};
}

void output_row(struct output_table *t, const char *const *cells)
{
    MEM_RESERVE(t->cells, t->rows_cap, (t->rows_n + 1) * t->columns_n);
    for (uint32_t i = 0; i < t->columns_n; i++)
        t->cells[t->rows_n * t->columns_n + i] = arena_text(t->arena, cells[i]);
    t->rows_n++;
}

const char *output_keys_text(struct arena *a, const struct json *object)
{
    const char *text = NULL;
    JSON_EACH (member, object)
        text = arena_printf(a, "%s%s%s", text ? text : "", text ? ", " : "", member->key);
    return text;
}

const char *output_keys_json(struct arena *a, const struct json *object)
{
    _cleanup_buf_ struct buf out = {0};
    struct json *list = json_new(a, JSON_ARRAY);
    JSON_EACH (member, object)
        json_append(list, json_new_text(a, member->key));
    json_write(&out, list);
    return arena_text_n(a, out.data, out.n);
}

void output_fini(struct output_table *t)
{
    free(t->cells);
    t->cells = NULL;
    t->rows_n = t->rows_cap = 0;
}

/* Columns that a terminal needs for UTF-8 text: continuation bytes take none. */
static int text_columns(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* WHY  names come from whoever may create objects: what moves the cursor or starts a line does not reach the terminal. */
static void print_plain(struct bytes text, bool lines, FILE *f)
{
    const char *end = text.data + text.n;
    for (const char *at = text.data; at < end;) {
        size_t n = utf8_length(at, end);
        if (utf8_is_plain(at, n) || (lines && *at == '\n'))
            fwrite(at, 1, n, f);
        else
            fputc('?', f);
        at += n ? n : 1;
    }
}

static void say(FILE *f, bool lines, const char *format, va_list args)
{
    char *text = NULL;
    int n = vasprintf(&text, format, args);
    if (n < 0)
        return;
    bool ends = n > 0 && text[n - 1] == '\n';
    print_plain((struct bytes){text, (size_t)n - ends}, lines, f);
    if (ends)
        fputc('\n', f);
    free(text);
}

void output_say(FILE *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(f, true, format, args);
    va_end(args);
}

void output_line(FILE *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(f, false, format, args);
    va_end(args);
}

static bool is_hidden(const struct output_column *column, bool wide)
{
    return column->place == OUTPUT_FOR_PROGRAMS || (wide ? column->place == OUTPUT_FOR_SCREENS : column->wide);
}

static void measure(const struct output_table *t, const struct output_layout *layout, int *widths)
{
    for (uint32_t c = 0; c < t->columns_n; c++) {
        int least = layout && layout->headless ? 0 : text_columns(t->columns[c].title);
        widths[c] = widths[c] > least ? widths[c] : least;
        for (uint32_t r = 0; r < t->rows_n; r++) {
            const char *cell = t->cells[r * t->columns_n + c];
            int n = text_columns(cell ? cell : "-");
            widths[c] = n > widths[c] ? n : widths[c];
        }
    }
}

void output_aligned(const struct output_table *t, bool wide, const struct output_layout *layout, FILE *f)
{
    int *own = mem_zero(t->columns_n, sizeof *own), *widths = layout && layout->widths ? layout->widths : own;
    measure(t, layout, widths);
    for (uint32_t r = layout && layout->headless; r <= t->rows_n; r++) {
        int gap = 0;
        for (uint32_t c = 0; c < t->columns_n; c++) {
            if (is_hidden(&t->columns[c], wide))
                continue;
            const char *cell = r == 0 ? t->columns[c].title : t->cells[(r - 1) * t->columns_n + c];
            cell = cell ? cell : "-";
            int pad = widths[c] - text_columns(cell);
            fprintf(f, "%*s", gap + (t->columns[c].is_number ? pad : 0), "");
            print_plain(bytes_of(cell), false, f);
            gap = 3 + (t->columns[c].is_number ? 0 : pad);
        }
        fputc('\n', f);
    }
    free(own);
}

/* RFC 4180. WHY  a spreadsheet calculates what begins like a formula: such a name gets an apostrophe, which makes it text. */
static void print_csv_cell(const char *cell, bool is_number)
{
    bool is_formula = !is_number && *cell && strchr("=+-@\t\r", *cell) && cell[1], is_quoted = strpbrk(cell, ",\"\r\n");
    printf("%s%s", is_quoted ? "\"" : "", is_formula ? "'" : "");
    for (; *cell; cell++) {
        if (*cell == '"')
            putchar('"');
        putchar(*cell);
    }
    if (is_quoted)
        putchar('"');
}

void output_csv(const struct output_table *t, bool headless)
{
    for (uint32_t r = headless; r <= t->rows_n; r++) {
        const char *gap = "";
        for (uint32_t c = 0; c < t->columns_n; c++) {
            if (is_hidden(&t->columns[c], true))
                continue;
            const char *cell = r == 0 ? t->columns[c].key : t->cells[(r - 1) * t->columns_n + c];
            fputs(gap, stdout);
            gap = ",";
            print_csv_cell(cell ? cell : "", t->columns[c].is_number);
        }
        putchar('\n');
    }
}

static struct json *row_json(const struct output_table *t, uint32_t r)
{
    struct json *row = json_new(t->arena, JSON_OBJECT);
    for (uint32_t c = 0; c < t->columns_n; c++) {
        const char *cell = t->cells[r * t->columns_n + c];
        int64_t number;
        struct json *v = NULL;
        if (t->columns[c].place == OUTPUT_FOR_PEOPLE || t->columns[c].place == OUTPUT_FOR_SCREENS)
            continue;
        if (!cell)
            v = json_new(t->arena, JSON_NULL);
        else if (t->columns[c].place == OUTPUT_FOR_PROGRAMS)
            v = json_parse(t->arena, bytes_of(cell), NULL, NULL);
        else if (t->columns[c].is_number && bytes_int64(bytes_of(cell), &number))
            v = json_new_int64(t->arena, number);
        else if (t->columns[c].is_number)
            v = json_parse(t->arena, bytes_of(cell), NULL, NULL);
        else
            v = json_new_text(t->arena, cell);
        json_set(t->arena, row, t->columns[c].key, v);
    }
    return row;
}

struct json *output_rows_json(const struct output_table *t)
{
    struct json *rows = json_new(t->arena, JSON_ARRAY);
    for (uint32_t r = 0; r < t->rows_n; r++)
        json_append(rows, row_json(t, r));
    return rows;
}

void output_json_lines(const struct output_table *t)
{
    for (uint32_t r = 0; r < t->rows_n; r++) {
        _cleanup_buf_ struct buf text = {0};
        json_write(&text, row_json(t, r));
        fwrite(text.data, 1, text.n, stdout);
        putchar('\n');
    }
}

void output_json(const struct json *v, enum output_format format)
{
    _cleanup_buf_ struct buf text = {0};
    if (format == OUTPUT_JSON)
        json_write_pretty(&text, v);
    else
        yaml_write(&text, v);
    if (text.n == 0 || text.data[text.n - 1] != '\n')
        buf_char(&text, '\n');
    fwrite(text.data, 1, text.n, stdout);
}

static uint32_t column_of(const struct output_table *t, const char *key)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < t->columns_n; i++)
        if (text_equal(t->columns[i].key, key))
            found = i;
    return found;
}

static void print_names(const struct output_table *t)
{
    uint32_t kind = column_of(t, "kind"), name = column_of(t, "name");
    for (uint32_t r = 0; r < t->rows_n; r++) {
        print_plain(bytes_of(t->cells[r * t->columns_n + kind]), false, stdout);
        putchar('/');
        print_plain(bytes_of(t->cells[r * t->columns_n + name]), false, stdout);
        putchar('\n');
    }
}

struct sort_row {
    const char *cell;
    double number; /* of a column of numbers */
    uint32_t row;
};

static int compare_rows(const void *left, const void *right, void *reverse)
{
    const struct sort_row *a = left, *b = right;
    int order = 0;
    if (!a->cell != !b->cell)
        return a->cell ? -1 : 1;
    if (a->number != b->number)
        order = a->number < b->number ? -1 : 1;
    else if (a->cell)
        order = strcmp(a->cell, b->cell);
    if (order == 0)
        return a->row < b->row ? -1 : 1;
    return *(bool *)reverse ? -order : order;
}

void output_sort(struct output_table *t, const char *key, bool reverse)
{
    uint32_t column = column_of(t, key);
    size_t row_bytes = t->columns_n * sizeof *t->cells;
    struct sort_row *rows = mem_zero(t->rows_n + 1, sizeof *rows);
    for (uint32_t r = 0; r < t->rows_n; r++) {
        rows[r] = (struct sort_row){.cell = t->cells[r * t->columns_n + column], .row = r};
        struct quantity q;
        if (rows[r].cell && t->columns[column].is_number)
            rows[r].number = strtod(rows[r].cell, NULL);
        else if (rows[r].cell && t->columns[column].is_quantity && quantity_parse(bytes_of(rows[r].cell), &q, NULL) == 0)
            rows[r].number = (double)q.nano;
    }
    qsort_r(rows, t->rows_n, sizeof *rows, compare_rows, &reverse);
    const char **cells = mem_zero(t->rows_n + 1, row_bytes);
    for (uint32_t r = 0; r < t->rows_n; r++)
        memcpy(cells + r * t->columns_n, t->cells + rows[r].row * t->columns_n, row_bytes);
    free(t->cells);
    t->cells = cells;
    t->rows_cap = (t->rows_n + 1) * t->columns_n;
    free(rows);
}

void output_print(const struct output_table *t, enum output_format format)
{
    switch (format) {
    case OUTPUT_TABLE:
    case OUTPUT_WIDE:
        output_aligned(t, format == OUTPUT_WIDE, NULL, stdout);
        break;
    case OUTPUT_CSV:
        output_csv(t, false);
        break;
    case OUTPUT_NAME:
        print_names(t);
        break;
    case OUTPUT_JSON:
    case OUTPUT_YAML:
    case OUTPUT_HTML: /* of commands that have a page: they write it themselves */
        output_json(output_rows_json(t), format);
        break;
    }
}

int output_finish(const char *command, int code)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    failed |= fflush(stdout) != 0;
    if (failed && errno == 0) { /* what failed was long ago: the same again says why */
        (void)fputc('\n', stdout);
        (void)fflush(stdout);
    }
    if (!failed || errno == EPIPE)
        return code;
    fprintf(stderr, "capstan %s: standard output: %s\n", command, errno ? strerror(errno) : "it could not be written");
    return code ? code : 1;
}

static const char *colour(const char *code)
{
    const char *no_color = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && !(no_color && *no_color) ? code : "";
}

const char *output_bold(void)
{
    return colour("\033[1m");
}
const char *output_green(void)
{
    return colour("\033[32m");
}
const char *output_plain(void)
{
    return colour("\033[0m");
}
