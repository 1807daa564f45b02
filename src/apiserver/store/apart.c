#include "apiserver/store/apart.h"

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

/* The reader stands behind metadata. *ret_from: where the comma before spec stands. */
static struct bytes spec_find(struct json_reader *r, const char **ret_from)
{
    struct bytes key;
    if (!json_reader_key(r, &key) || !bytes_is(key, "spec") || key.data[-2] != ',' || json_reader_peek(r) != JSON_OBJECT)
        return (struct bytes){0};
    *ret_from = key.data - 2;
    return json_reader_raw(r);
}

/* The reader stands behind managedFields, which begin at `from` with their key. False: they do not stand as the store has them. */
static bool managed_cut(const struct json_reader *r, const char *from, struct bytes managed, struct json_cut *ret_cut)
{
    const char *to = r->at;
    if (*to == ',')
        to++;
    else if (from[-1] == ',')
        from--;
    *ret_cut = (struct json_cut){from, to};
    return *managed.data == '[' && (from[-1] == '{' || from[-1] == ',' || *to == '}');
}

/* What to leave out of the text, which is looked through. False: it is not as the store has them. */
static bool cuts_find(struct bytes text, bool without_spec, struct apart *x, struct json_cut cuts[2], size_t *ret_n)
{
    struct json_reader r;
    struct bytes key;
    const char *from = NULL;
    json_reader_init(&r, text);
    if (!json_reader_member(&r, "metadata") || !json_reader_object(&r))
        return false;
    x->managed = managed_find(&r, &from);
    if (x->managed.n && !managed_cut(&r, from, x->managed, &cuts[(*ret_n)++]))
        return false;
    while (without_spec && x->managed.n && json_reader_key(&r, &key)) /* to the end of metadata */
        json_reader_skip(&r);
    if (without_spec)
        x->spec = spec_find(&r, &from);
    if (x->spec.n)
        cuts[(*ret_n)++] = (struct json_cut){from, r.at};
    return !r.failed;
}

static struct bytes value_of(const struct blob *body, struct blob_part part, size_t key_n)
{
    const char *at = body->data + part.from + (body->data[part.from] == ',') + key_n;
    return (struct bytes){at, (size_t)(body->data + part.to - at)};
}

/* The same, where who printed it has said where its parts stand. False: spec is wanted, and stands not behind metadata. */
static bool cuts_known(const struct blob *body, bool without_spec, struct apart *x, struct json_cut cuts[2], size_t *ret_n)
{
    struct blob_part managed = body->managed, spec = body->spec;
    if (!body->has_parts || managed.from == managed.to || (without_spec && spec.from != managed.to + 1)) /* '}' of metadata between */
        return false;
    struct bytes entries = value_of(body, managed, strlen("\"managedFields\":"));
    struct bytes value = without_spec ? value_of(body, spec, strlen("\"spec\":")) : (struct bytes){0};
    if (*entries.data != '[' || (without_spec && *value.data != '{'))
        return false;
    x->managed = entries;
    x->spec = value;
    cuts[(*ret_n)++] = (struct json_cut){body->data + managed.from, body->data + managed.to};
    if (without_spec)
        cuts[(*ret_n)++] = (struct json_cut){body->data + spec.from, body->data + spec.to};
    return true;
}

struct json *apart_split(struct arena *a, const struct blob *body, bool without_spec, struct apart *ret_apart)
{
    struct bytes text = {body->data, body->n};
    struct json_cut cuts[2];
    size_t n = 0;
    struct apart x = {0};
    if (!cuts_known(body, without_spec, &x, cuts, &n) && !cuts_find(text, without_spec, &x, cuts, &n))
        return NULL;
    struct json *object = json_parse_without(a, text, cuts, n);
    const struct json *metadata = json_get(object, "metadata");
    if (!json_is(metadata, JSON_OBJECT) || json_get(metadata, "managedFields"))
        return NULL;
    *ret_apart = x;
    return object;
}

const struct json *apart_spec_get(struct arena *a, const struct json *object, const struct apart *x, const char *key)
{
    struct json_reader r;
    struct bytes name;
    if (!x->spec.n)
        return json_path(object, "spec", key, NULL);
    if (!memmem(x->spec.data, x->spec.n, key, strlen(key))) /* a look before the walk: most have none */
        return json_get(x->spec_added, key);
    json_reader_init(&r, x->spec);
    (void)json_reader_object(&r); /* it is one */
    while (json_reader_key(&r, &name)) {
        if (bytes_is(name, key))
            return json_parse(a, json_reader_raw(&r), NULL, NULL);
        json_reader_skip(&r);
    }
    return json_get(x->spec_added, key);
}

void apart_join_managed(struct arena *a, struct json *object, struct apart *x)
{
    struct json *entries = x->managed.n ? json_parse(a, x->managed, NULL, NULL) : NULL;
    if (entries && x->managed_added)
        json_append(entries, x->managed_added);
    if (entries)
        json_set(a, json_get(object, "metadata"), "managedFields", entries);
    x->managed = (struct bytes){0};
    x->managed_added = NULL;
}

void apart_join(struct arena *a, struct json *object, struct apart *x)
{
    apart_join_managed(a, object, x);
    struct json *spec = x->spec.n ? json_parse(a, x->spec, NULL, NULL) : NULL;
    size_t at = 1;
    for (const struct json *m = object->first; spec && m && strcmp(m->key, "metadata") != 0; m = m->next)
        at++;
    if (spec) {
        for (struct json *m = json_first(x->spec_added), *next; m; m = next) {
            next = m->next;
            json_append(spec, m);
        }
        spec->key = "spec";
        spec->key_n = sizeof "spec" - 1;
        json_insert(object, at, spec);
    }
    x->spec = (struct bytes){0};
    x->spec_added = NULL;
}

void apart_spec_add(struct arena *a, struct json *object, struct apart *x, const char *key, struct json *v)
{
    if (x->spec.n && apart_spec_get(a, object, x, key))
        apart_join(a, object, x);
    if (x->spec.n && !x->spec_added)
        x->spec_added = json_new(a, JSON_OBJECT);
    json_set(a, x->spec.n ? x->spec_added : json_ensure_object(a, object, "spec"), key, v);
}

/* The text of a list or object, with one more item or the members of one more. */
static void write_with(struct buf *out, struct bytes text, const struct json *added)
{
    if (!added) {
        buf_bytes(out, text);
        return;
    }
    size_t n = text.n - 1;
    while (n > 1 && text.data[n - 1] == ' ')
        n--;
    buf_add(out, text.data, n);
    if (n > 1)
        buf_char(out, ',');
    if (*text.data == '[') {
        json_write(out, added);
        buf_char(out, ']');
        return;
    }
    size_t at = out->n;
    json_write(out, added); /* its bracket closes the object ... */
    memmove(out->data + at, out->data + at + 1, out->n - at - 1);
    out->n--; /* ... that opened before */
}

static inline bool is_key(const struct json *member, const char *key)
{
    return bytes_is((struct bytes){member->key, member->key_n}, key);
}

/* metadata, with what is apart of it. False: managedFields do not stand last. */
static bool metadata_write(struct buf *out, const struct json *metadata, const struct apart *x, struct blob_part *ret_managed)
{
    bool is_last = true;
    buf_char(out, '{');
    JSON_EACH (m, metadata) {
        uint32_t from = (uint32_t)out->n;
        if (m != metadata->first)
            buf_char(out, ',');
        json_write_string(out, (struct bytes){m->key, m->key_n});
        buf_char(out, ':');
        json_write(out, m);
        if (is_key(m, "managedFields")) {
            *ret_managed = (struct blob_part){from, (uint32_t)out->n};
            is_last = !m->next && !x->managed.n;
        }
    }
    if (x->managed.n) {
        uint32_t from = (uint32_t)out->n;
        buf_text(out, metadata->n ? ",\"managedFields\":" : "\"managedFields\":");
        write_with(out, x->managed, x->managed_added);
        *ret_managed = (struct blob_part){from, (uint32_t)out->n};
    }
    buf_char(out, '}');
    return is_last;
}

/* Says where the parts stand in it: false, they do not stand so that they can be left out. */
static bool object_write(struct buf *out, const struct json *object, const struct apart *x, struct blob_part *managed,
                         struct blob_part *spec)
{
    bool has_parts = false;
    char before = '{';
    JSON_EACH (m, object) {
        uint32_t from = (uint32_t)out->n;
        bool is_metadata = is_key(m, "metadata"), is_spec = is_key(m, "spec");
        buf_char(out, before);
        json_write_string(out, (struct bytes){m->key, m->key_n});
        buf_char(out, ':');
        if (is_metadata && json_is(m, JSON_OBJECT))
            has_parts = metadata_write(out, m, x, managed) && !spec->to;
        else
            json_write(out, m);
        if (is_metadata && x->spec.n) {
            from = (uint32_t)out->n;
            buf_text(out, ",\"spec\":");
            write_with(out, x->spec, x->spec_added);
        }
        if (is_spec || (is_metadata && x->spec.n))
            *spec = (struct blob_part){from, (uint32_t)out->n};
        before = ',';
    }
    buf_char(out, '}');
    return has_parts;
}

struct blob *apart_write(struct buf *scratch, const struct json *object, const struct apart *x)
{
    struct blob_part managed = {0}, spec = {0};
    buf_clear(scratch);
    bool has_parts = object_write(scratch, object, x, &managed, &spec);
    struct blob *body = blob_new(scratch->data, scratch->n);
    body->has_parts = has_parts;
    body->managed = managed;
    body->spec = spec;
    return body;
}
