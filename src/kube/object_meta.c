/* object_meta.c - see object_meta.h */
#include "kube/object_meta.h"
#include "wire/json_reader.h"

void object_meta_free(struct object_meta *m)
{
    buf_free(&m->ns);
    buf_free(&m->name);
    buf_free(&m->uid);
    buf_free(&m->rv);
}

static bool is_complete(const struct object_meta *m)
{
    return m->name.n && m->ns.n && m->uid.n && m->rv.n;
}

/* WHY  not to the end: behind them stand mostly managedFields, a third of the object. */
static void meta_members(struct json_reader *r, struct object_meta *m, struct buf *scratch)
{
    struct bytes key, text;
    while (!is_complete(m) && json_reader_key(r, &key)) {
        struct buf *into = bytes_is(key, "name")              ? &m->name
                           : bytes_is(key, "namespace")       ? &m->ns
                           : bytes_is(key, "uid")             ? &m->uid
                           : bytes_is(key, "resourceVersion") ? &m->rv
                                                              : NULL;
        if (!into) {
            json_reader_skip(r);
            continue;
        }
        buf_clear(into);
        if (json_reader_string(r, scratch, &text))
            buf_bytes(into, text);
    }
}

bool object_meta_read(struct bytes object, struct object_meta *m)
{
    struct json_reader r;
    struct bytes key;
    _cleanup_buf_ struct buf scratch = {0};
    bool found = false;
    buf_clear(&m->ns);
    buf_clear(&m->name);
    buf_clear(&m->uid);
    buf_clear(&m->rv);
    json_reader_init(&r, object);
    if (!json_reader_object(&r))
        return false;
    while (!found && json_reader_key(&r, &key)) {
        if (bytes_is(key, "metadata") && json_reader_object(&r)) {
            meta_members(&r, m, &scratch);
            found = true;
        } else if (!bytes_is(key, "metadata")) {
            json_reader_skip(&r);
        }
    }
    return found && !r.failed;
}

void object_meta_key(const struct object_meta *m, struct buf *out)
{
    buf_clear(out);
    buf_bytes(out, buf_view(&m->ns));
    buf_char(out, '/');
    buf_bytes(out, buf_view(&m->name));
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The reader stands behind the member's value; key lies in the text. Sets the span of the member with one of its
 * commas. */
static void member_span(const struct json_reader *r, struct bytes key, const char **ret_from, const char **ret_to)
{
    const char *from = key.data - 1, *to = r->at;
    while (to < r->end && is_space(*to))
        to++;
    if (to < r->end && *to == ',') {
        to++;
    } else {
        to = r->at;
        while (from > r->start && is_space(from[-1]))
            from--;
        if (from > r->start && from[-1] == ',')
            from--;
    }
    *ret_from = from;
    *ret_to = to;
}

void object_without_managed_fields(struct bytes object, struct buf *out)
{
    struct json_reader r;
    struct bytes key, inner;
    const char *from = NULL, *to = NULL;
    json_reader_init(&r, object);
    if (json_reader_object(&r)) {
        while (!from && json_reader_key(&r, &key)) {
            if (!bytes_is(key, "metadata") || !json_reader_object(&r)) {
                if (!bytes_is(key, "metadata"))
                    json_reader_skip(&r);
                continue;
            }
            while (json_reader_key(&r, &inner)) {
                json_reader_skip(&r);
                if (!from && bytes_is(inner, "managedFields"))
                    member_span(&r, inner, &from, &to);
            }
        }
    }
    buf_clear(out);
    if (!from || r.failed) {
        buf_bytes(out, object);
        return;
    }
    buf_add(out, object.data, (size_t)(from - object.data));
    buf_add(out, to, (size_t)(object.data + object.n - to));
}
