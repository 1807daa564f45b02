/* view_row.c - one row: an object of JSON that is sent only where it says something else than before */
#include "sched/view/view_part.h"
#include "wire/json.h"

static void id_write(struct buf *out, char kind, struct bytes id)
{
    _cleanup_buf_ struct buf whole = {0};
    buf_printf(&whole, "%c/%.*s", kind, (int)id.n, id.data);
    json_write_string(out, buf_view(&whole));
}

struct buf *view_row_begin(struct view *v, char kind, const char *id)
{
    buf_char(&v->all, ',');
    v->row_at = v->all.n;
    buf_text(&v->all, "{\"id\":");
    id_write(&v->all, kind, bytes_of(id));
    buf_printf(&v->all, ",\"k\":\"%c\"", kind);
    return &v->all;
}

void view_row_end(struct view *v, struct row *row)
{
    buf_char(&v->all, '}');
    struct bytes text = {v->all.data + v->row_at, v->all.n - v->row_at};
    uint64_t hash = hash_bytes(text.data, text.n, 1);
    if (hash != row->hash || !row->pass) {
        buf_char(&v->set, ',');
        buf_bytes(&v->set, text);
    }
    row->hash = hash;
    row->pass = v->pass;
    arena_reset(v->scratch);
}

void view_row_unwritten(struct view *v, struct row *row)
{
    row->pass = v->pass;
    arena_reset(v->scratch);
}

void view_row_gone(struct view *v, char kind, struct bytes id)
{
    buf_char(&v->del, ',');
    id_write(&v->del, kind, id);
}

void view_row_text(struct buf *out, const char *key, const char *text)
{
    if (text && *text)
        json_write_member(out, key, text, ',');
}

void view_row_number(struct buf *out, const char *key, int64_t n)
{
    if (n)
        buf_printf(out, ",\"%s\":%lld", key, (long long)n);
}

bool view_row_object_is_new(uint64_t *hash, struct bytes raw)
{
    uint64_t now = hash_bytes(raw.data, raw.n, 2);
    bool is_new = now != *hash;
    *hash = now;
    return is_new;
}
