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

struct json *apart_split(struct arena *a, struct bytes body, bool without_spec, struct apart *ret_apart)
{
    struct json_reader r;
    struct bytes key;
    struct json_cut cuts[2];
    size_t n = 0;
    const char *from = NULL;
    struct apart x = {0};
    json_reader_init(&r, body);
    if (!json_reader_member(&r, "metadata") || !json_reader_object(&r))
        return NULL;
    x.managed = managed_find(&r, &from);
    if (x.managed.n && !managed_cut(&r, from, x.managed, &cuts[n++]))
        return NULL;
    while (without_spec && x.managed.n && json_reader_key(&r, &key)) /* to the end of metadata */
        json_reader_skip(&r);
    if (without_spec)
        x.spec = spec_find(&r, &from);
    if (x.spec.n)
        cuts[n++] = (struct json_cut){from, r.at};
    struct json *object = r.failed ? NULL : json_parse_without(a, body, cuts, n);
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

void apart_write(struct buf *out, const struct json *object, const struct apart *x)
{
    char before = '{';
    JSON_EACH (m, object) {
        buf_char(out, before);
        before = ',';
        json_write_string(out, (struct bytes){m->key, m->key_n});
        buf_char(out, ':');
        json_write(out, m);
        if (strcmp(m->key, "metadata") != 0)
            continue;
        if (x->managed.n) {
            out->n--; /* its '}' */
            buf_text(out, m->n ? ",\"managedFields\":" : "\"managedFields\":");
            write_with(out, x->managed, x->managed_added);
            buf_char(out, '}');
        }
        if (x->spec.n) {
            buf_text(out, ",\"spec\":");
            write_with(out, x->spec, x->spec_added);
        }
    }
    buf_char(out, '}');
}
