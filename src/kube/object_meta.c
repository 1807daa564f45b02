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

/* The member with one of its commas. The reader stands behind its value; key lies in the text. */
static struct json_cut member_cut(const struct json_reader *r, struct bytes key)
{
    const char *from = key.data - 1, *to = r->at;
    while (to < r->end && is_space(*to))
        to++;
    if (to < r->end && *to == ',')
        return (struct json_cut){from, to + 1};
    while (from > r->start && is_space(from[-1]))
        from--;
    if (from > r->start && from[-1] == ',')
        from--;
    return (struct json_cut){from, r->at};
}

/* The reader stands in metadata, and goes to its end. */
static bool managed_fields_find(struct json_reader *r, struct json_cut *ret_cut)
{
    struct bytes key;
    bool found = false;
    while (json_reader_key(r, &key)) {
        json_reader_skip(r);
        if (!found && bytes_is(key, "managedFields")) {
            *ret_cut = member_cut(r, key);
            found = true;
        }
    }
    return found;
}

/* metadata.managedFields, and spec where that is wanted: in the order of the text, 2 at most. 0 also where the text is malformed. */
static size_t cuts_find(struct bytes object, bool with_spec, struct json_cut cuts[2])
{
    struct json_reader r;
    struct bytes key;
    size_t n = 0;
    bool has_metadata = false, has_spec = !with_spec;
    json_reader_init(&r, object);
    if (!json_reader_object(&r))
        return 0;
    while (!(has_metadata && has_spec) && json_reader_key(&r, &key)) {
        bool is_metadata = !has_metadata && bytes_is(key, "metadata"), is_spec = !has_spec && bytes_is(key, "spec");
        if (is_metadata && json_reader_object(&r)) {
            n += managed_fields_find(&r, &cuts[n]);
            has_metadata = true;
            continue;
        }
        json_reader_skip(&r);
        if (is_spec)
            cuts[n++] = member_cut(&r, key);
        has_spec = has_spec || is_spec;
    }
    return r.failed ? 0 : n;
}

struct bytes object_text_annotation(struct bytes object, const char *name)
{
    struct json_reader r;
    json_reader_init(&r, object);
    if (!json_reader_member(&r, "metadata") || !json_reader_member(&r, "annotations") || !json_reader_member(&r, name))
        return (struct bytes){0};
    struct bytes value = json_reader_raw(&r);
    return value.n > 2 && *value.data == '"' ? (struct bytes){value.data + 1, value.n - 2} : (struct bytes){0};
}

/* Where managedFields that stand last in metadata begin, or where metadata ends; NULL: there is none. */
static const char *head_end(struct bytes object)
{
    struct json_reader r;
    struct bytes key;
    const char *managed = NULL;
    json_reader_init(&r, object);
    if (!json_reader_member(&r, "metadata") || !json_reader_object(&r))
        return NULL;
    while (json_reader_key(&r, &key)) {
        managed = bytes_is(key, "managedFields") ? key.data : NULL;
        json_reader_skip(&r);
    }
    return r.failed ? NULL : managed ? managed : r.at;
}

struct bytes object_text_head(struct bytes object, const struct blob *body)
{
    bool is_known = body && body->has_parts && body->managed.to > body->managed.from;
    const char *end = is_known ? object.data + body->managed.from : head_end(object);
    return end ? (struct bytes){object.data, (size_t)(end - object.data)} : object;
}

/* The same, where who printed it has said where they stand. */
static size_t cuts_of(struct bytes object, const struct blob *body, bool with_spec, struct json_cut cuts[2])
{
    size_t n = 0;
    if (!body || !body->has_parts)
        return cuts_find(object, with_spec, cuts);
    if (body->managed.to > body->managed.from)
        cuts[n++] = (struct json_cut){object.data + body->managed.from, object.data + body->managed.to};
    if (with_spec && body->spec.to > body->spec.from)
        cuts[n++] = (struct json_cut){object.data + body->spec.from, object.data + body->spec.to};
    return n;
}

struct blob *object_without_managed_fields(struct bytes object, const struct blob *body)
{
    struct json_cut cuts[2];
    const char *end = object.data + object.n;
    if (!cuts_of(object, body, false, cuts))
        cuts[0] = (struct json_cut){end, end};
    return blob_joined((struct bytes){object.data, (size_t)(cuts[0].from - object.data)},
                       (struct bytes){cuts[0].to, (size_t)(end - cuts[0].to)});
}

struct json *object_parse_lean(struct arena *a, struct bytes object, const struct blob *body, bool with_spec)
{
    struct json_cut cuts[2];
    size_t n = cuts_of(object, body, !with_spec, cuts);
    return json_parse_without(a, object, cuts, n);
}

static const char nul[] = "\\u0000";
enum { NUL_N = sizeof nul - 1 };

/* From `at` on. WHY not memmem: most texts have few backslashes or none. */
static const char *nul_find(struct bytes text, size_t at)
{
    if (at >= text.n) /* of an answer without a body there is no text at all */
        return NULL;
    const char *end = text.data + text.n, *p = memchr(text.data + at, '\\', text.n - at);
    while (p && end - p >= NUL_N && memcmp(p, nul, NUL_N) != 0)
        p = memchr(p + 1, '\\', (size_t)(end - p - 1));
    return p && end - p >= NUL_N ? p : NULL;
}

struct bytes object_text_without_nul(struct bytes text, struct buf *room)
{
    const char *found = nul_find(text, 0);
    if (!found)
        return text;
    size_t at = (size_t)(found - text.data);
    buf_clear(room);
    buf_bytes(room, text);
    while (found) {
        size_t slashes_n = 0; /* before it: an odd one makes a backslash of this one, and a text of what follows */
        while (slashes_n < at && room->data[at - slashes_n - 1] == '\\')
            slashes_n++;
        if (slashes_n % 2 == 0)
            memcpy(room->data + at + 2, "fffd", 4);
        at += NUL_N;
        found = nul_find(buf_view(room), at);
        at = found ? (size_t)(found - room->data) : at;
    }
    return buf_view(room);
}
