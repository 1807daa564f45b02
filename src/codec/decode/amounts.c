#include "codec/decode/amounts.h"

#include <stdlib.h>

void amounts_init(struct amounts *x, struct arena *a)
{
    *x = (struct amounts){.arena = a};
}

static struct amounts_row *find(const struct amounts *x, const char *name)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (text_equal(x->rows[i].name, name))
            return &x->rows[i];
    return NULL;
}

const struct quantity *amounts_find(const struct amounts *x, const char *name)
{
    const struct amounts_row *row = find(x, name);
    return row ? &row->q : NULL;
}

void amounts_set(struct amounts *x, const char *name, struct quantity q)
{
    struct amounts_row *row = find(x, name);
    if (row) {
        row->q = q;
        return;
    }
    if (x->n == x->cap) {
        uint32_t cap = x->cap ? 2 * x->cap : 8;
        struct amounts_row *rows = arena_alloc(x->arena, cap * sizeof *rows);
        memcpy(rows, x->rows ? x->rows : rows, x->n * sizeof *rows);
        x->rows = rows;
        x->cap = cap;
    }
    x->rows[x->n++] = (struct amounts_row){arena_text(x->arena, name), q};
}

void amounts_add(struct amounts *x, const char *name, struct quantity q)
{
    const struct amounts_row *row = find(x, name);
    if (row)
        q = (struct quantity){row->q.nano + q.nano, quantity_sign(row->q) ? row->q.format : q.format};
    amounts_set(x, name, q);
}

void amounts_add_whole(struct amounts *x, const char *name, int64_t units)
{
    amounts_add(x, name, quantity_of_whole(units, QUANTITY_DECIMAL_SI));
}

void amounts_add_all(struct amounts *x, const struct amounts *other)
{
    for (uint32_t i = 0; i < other->n; i++)
        amounts_add(x, other->rows[i].name, other->rows[i].q);
}

void amounts_raise(struct amounts *x, const struct amounts *other)
{
    for (uint32_t i = 0; i < other->n; i++) {
        const struct quantity *had = amounts_find(x, other->rows[i].name);
        if (!had || quantity_compare(*had, other->rows[i].q) < 0)
            amounts_set(x, other->rows[i].name, other->rows[i].q);
    }
}

void amounts_read(struct amounts *x, const struct json *map)
{
    JSON_EACH (amount, json_is(map, JSON_OBJECT) ? map : NULL) {
        struct quantity q;
        if (quantity_parse(json_bytes(amount), &q, NULL) == 0)
            amounts_add(x, amount->key, q);
    }
}

static int row_order(const void *a, const void *b)
{
    return strcmp(((const struct amounts_row *)a)->name, ((const struct amounts_row *)b)->name);
}

static const struct amounts_row *sorted(const struct amounts *x, struct arena *a)
{
    struct amounts_row *rows = arena_zero(a, x->n + 1, sizeof *rows);
    memcpy(rows, x->n ? x->rows : rows, x->n * sizeof *rows);
    qsort(rows, x->n, sizeof *rows, row_order);
    return rows;
}

struct json *amounts_json(const struct amounts *x, struct arena *a)
{
    const struct amounts_row *rows = sorted(x, a);
    struct json *map = json_new(a, JSON_OBJECT);
    for (uint32_t i = 0; i < x->n; i++) {
        char text[QUANTITY_TEXT_MAX];
        json_set_text(a, map, rows[i].name, quantity_format(text, rows[i].q));
    }
    return map;
}

const char *amounts_text(const struct amounts *x, struct arena *a)
{
    const struct amounts_row *rows = sorted(x, a);
    _cleanup_buf_ struct buf out = {0};
    for (uint32_t i = 0; i < x->n; i++) {
        char text[QUANTITY_TEXT_MAX];
        buf_printf(&out, "%s%s=%s", i ? "," : "", rows[i].name, quantity_format(text, rows[i].q));
    }
    return arena_text(a, out.data ? out.data : "");
}
