#include "apiserver/store/managed_text.h"

#include "wire/json_reader.h"

/* The reader stands in metadata: behind the value of managedFields, or behind metadata. */
static struct bytes managed_find(struct json_reader *r, const char **ret_from)
{
    struct bytes key, value;
    while (json_reader_key(r, &key)) {
        if (bytes_is(key, "managedFields")) {
            value = json_reader_raw(r);
            *ret_from = key.data - 1;
            return value;
        }
        json_reader_skip(r);
    }
    return (struct bytes){0};
}

static bool metadata_enter(struct json_reader *r)
{
    struct bytes key;
    if (!json_reader_object(r))
        return false;
    while (json_reader_key(r, &key)) {
        if (bytes_is(key, "metadata"))
            return json_reader_object(r);
        json_reader_skip(r);
    }
    return false;
}

struct json *managed_text_split(struct arena *a, struct bytes body, struct bytes *ret_managed)
{
    struct json_reader r;
    const char *from = NULL;
    json_reader_init(&r, body);
    struct bytes managed = metadata_enter(&r) ? managed_find(&r, &from) : (struct bytes){0};
    if (r.failed)
        return NULL;
    _cleanup_buf_ struct buf lean = {0};
    if (managed.n) {
        const char *to = r.at, *end = body.data + body.n;
        if (*to == ',')
            to++;
        else if (from[-1] == ',')
            from--;
        if (*managed.data != '[' || (from[-1] != '{' && from[-1] != ',' && *to != '}'))
            return NULL;
        buf_reserve(&lean, body.n);
        buf_add(&lean, body.data, (size_t)(from - body.data));
        buf_add(&lean, to, (size_t)(end - to));
    }
    struct json *object = json_parse(a, managed.n ? buf_view(&lean) : body, NULL, NULL);
    if (!object || !json_is(json_get(object, "metadata"), JSON_OBJECT))
        return NULL;
    *ret_managed = managed;
    return object;
}

void managed_text_join(struct arena *a, struct json *object, struct bytes managed)
{
    struct json *entries = managed.n ? json_parse(a, managed, NULL, NULL) : NULL;
    if (entries)
        json_set(a, json_get(object, "metadata"), "managedFields", entries);
}

void managed_text_write(struct buf *out, const struct json *object, struct bytes managed)
{
    char before = '{';
    JSON_EACH (m, object) {
        buf_char(out, before);
        before = ',';
        json_write_string(out, (struct bytes){m->key, m->key_n});
        buf_char(out, ':');
        json_write(out, m);
        if (managed.n && strcmp(m->key, "metadata") == 0) {
            out->n--; /* its '}' */
            buf_text(out, m->n ? ",\"managedFields\":" : "\"managedFields\":");
            buf_bytes(out, managed);
            buf_char(out, '}');
        }
    }
    buf_char(out, '}');
}
