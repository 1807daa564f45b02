/* sheet.c - see sheet.h */
#include "cli/top/sheet.h"
#include <stdio.h>
#include <stdlib.h>

void sheet_fini(struct sheet *s)
{
    free(s->key);
    *s = (struct sheet){.sort = -1};
}

static bool is_shown(const struct output_column *c)
{
    return c->place != OUTPUT_FOR_PROGRAMS && !c->wide;
}

const char *sheet_sort_key(const struct output_table *t, int column)
{
    const char *key = t->columns[column].key;
    size_t n = strlen(key);
    for (uint32_t i = 0; i < t->columns_n; i++)
        if (strncmp(t->columns[i].key, key, n) == 0 && text_equal(t->columns[i].key + n, "Seconds"))
            return t->columns[i].key;
    return key;
}

static const char *const *row_of(const struct output_table *t, uint32_t row)
{
    return &t->cells[row * t->columns_n];
}

static void remember(struct sheet *s, const struct output_table *t)
{
    free(s->key);
    s->key = s->at < t->rows_n ? mem_text(live_key(t->arena, t, row_of(t, s->at))) : NULL;
}

void sheet_take(struct sheet *s, struct output_table *t)
{
    if (s->sort >= 0)
        output_sort(t, sheet_sort_key(t, s->sort), s->reverse);
    for (uint32_t row = 0; s->key && row < t->rows_n; row++)
        if (text_equal(live_key(t->arena, t, row_of(t, row)), s->key)) {
            s->at = row;
            return;
        }
    s->at = s->at < t->rows_n ? s->at : t->rows_n ? t->rows_n - 1 : 0;
    remember(s, t);
}

void sheet_move(struct sheet *s, const struct output_table *t, int64_t rows)
{
    int64_t at = s->at + rows, last = (int64_t)t->rows_n - 1;
    s->at = (uint32_t)(at < 0 || last < 0 ? 0 : at > last ? last : at);
    remember(s, t);
}

void sheet_sort_step(struct sheet *s, const struct live_list *list, int step)
{
    int n = (int)list->columns_n;
    do
        s->sort = s->sort + step < -1 ? n - 1 : s->sort + step;
    while (s->sort >= 0 && s->sort < n && !is_shown(&list->columns[s->sort]));
    if (s->sort >= n)
        s->sort = -1;
}

void sheet_scroll(struct sheet *s, const struct output_table *t, uint32_t lines)
{
    uint32_t most = t->rows_n > lines ? t->rows_n - lines : 0;
    if (s->at < s->first)
        s->first = s->at;
    if (lines && s->at >= s->first + lines)
        s->first = s->at - lines + 1;
    s->first = s->first < most ? s->first : most;
}

static const char *cut(struct arena *a, const char *cell)
{
    _cleanup_buf_ struct buf out = {0};
    if (!cell || strlen(cell) <= SHEET_CELL_MAX)
        return cell;
    live_cut(&out, cell, SHEET_CELL_MAX, 1, "");
    return arena_text_n(a, out.data, out.n);
}

/* A line end in a cell would part it in two. */
static const char *one_line(struct arena *a, const char *cell)
{
    if (!cell || !strchr(cell, '\n'))
        return cell;
    char *copy = arena_text(a, cell);
    for (char *c = copy; *c; c++)
        *c = *c == '\n' ? ' ' : *c;
    return copy;
}

char *sheet_text(const struct output_table *t)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct output_table shown;
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (!f)
        return NULL;
    output_init(&shown, a, t->columns, t->columns_n);
    for (uint32_t row = 0; row < t->rows_n; row++) {
        const char **cells = arena_alloc(a, t->columns_n * sizeof *cells);
        for (uint32_t c = 0; c < t->columns_n; c++)
            cells[c] = is_shown(&t->columns[c]) ? cut(a, one_line(a, row_of(t, row)[c])) : NULL;
        output_row(&shown, cells);
    }
    output_aligned(&shown, false, NULL, f);
    output_fini(&shown);
    if (fclose(f) == 0)
        return text;
    free(text);
    return NULL;
}

void sheet_row_text(const struct output_table *t, uint32_t row, struct buf *out)
{
    for (uint32_t c = 0; row < t->rows_n && c < t->columns_n; c++)
        if (t->columns[c].place != OUTPUT_FOR_PROGRAMS) {
            const char *cell = row_of(t, row)[c];
            buf_printf(out, "%s: %s\n", t->columns[c].title, cell ? cell : "-");
        }
}
