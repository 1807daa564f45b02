#include "apiserver/store/object.h"

#include "apiserver/store/apart.h"
#include "base/limits.h"
#include "base/log.h"
#include "wire/json_reader.h"

#define TEXT_KEPT_BYTES (256u << 10)

const struct kind *object_kind_named(struct apiserver *s, struct arena *a, const struct json *named)
{
    const char *api_version = json_get_text(named, "apiVersion", ""), *slash = strchr(api_version, '/');
    const char *group = slash ? arena_text_n(a, api_version, (size_t)(slash - api_version)) : "";
    return kind_find_kind(s->kinds, group, json_get_text(named, "kind", ""));
}

bool object_kind_is(const struct kind *k, const char *group, const char *plural)
{
    return k->plural[0] == plural[0] && strcmp(k->plural, plural) == 0 && strcmp(k->group, group) == 0; /* most differ there */
}

const char *object_api_version(struct arena *a, const struct kind *k, const char *version)
{
    return *k->group ? arena_joined(a, k->group, '/', version) : version;
}

/* Member by member: what cannot be read is left out, and of an object only as little as possible. */
static struct json *parse_members(struct arena *a, struct bytes text, int levels)
{
    struct json_reader r;
    struct bytes key;
    struct json *object = json_new(a, JSON_OBJECT);
    json_reader_init(&r, text);
    if (!json_reader_object(&r))
        return object;
    while (json_reader_key(&r, &key)) {
        const char *name = arena_text_n(a, key.data, key.n);
        struct bytes value = json_reader_raw(&r);
        struct json *v = json_parse(a, value, NULL, NULL);
        if (!v && levels > 0 && value.n && *value.data == '{')
            v = parse_members(a, value, levels - 1);
        if (v)
            json_set(a, object, name, v);
    }
    return object;
}

struct json *object_parse(struct arena *a, const struct blob *body)
{
    struct bytes text = {body->data, body->n};
    struct err e = {0};
    struct json *object = json_parse(a, text, NULL, &e);
    if (!object)
        object = parse_members(a, text, 2);
    struct json *metadata = json_ensure_object(a, object, "metadata");
    if (e.code)
        log_warning("a stored object is shown in part only name=\"%s\" error=\"%s\"", json_get_text(metadata, "name", ""), e.text);
    return object;
}

bool object_terminating(const struct json *object)
{
    return json_is(json_path(object, "metadata", "deletionTimestamp", NULL), JSON_STRING);
}

bool object_text_terminating(const struct blob *text)
{
    static const char word[] = "\"deletionTimestamp\"";
    if (!memmem(text->data, text->n, word, sizeof word - 1))
        return false;
    _cleanup_arena_ struct arena *a = arena_new();
    return object_terminating(object_parse(a, text));
}

bool object_defaults_late(const struct kind *k, const char *version)
{
    const struct kind_version *v = kind_is_built_in(k) ? NULL : kind_version_find(k, version);
    return v && v->schema && v->schema->defaults_below;
}

void object_show(struct arena *a, const struct kind *k, struct json *object, const char *version)
{
    kind_convert(a, k, object, version);
    if (object_defaults_late(k, version))
        schema_default(a, kind_version_find(k, version)->schema, object);
}

static struct json *stored_read(struct apiserver *s, struct arena *a, const struct kind *k, const char *ns, const char *name,
                                bool with_managed)
{
    const struct kind_version *storage = kind_storage(k);
    k = kind_stored(k);
    const struct store_object *o = store_get(s->store, store_kind(s->store, k->group, k->plural), ns, name);
    struct apart unread;
    struct json *object = o && !with_managed ? apart_split(a, o->body, false, &unread) : NULL;
    if (o && !object)
        object = object_parse(a, o->body);
    if (object && object_defaults_late(k, storage->version))
        schema_default(a, storage->schema, object);
    return object;
}

struct json *object_read(struct apiserver *s, struct arena *a, const struct kind *k, const char *ns, const char *name)
{
    return stored_read(s, a, k, ns, name, true);
}

struct json *object_read_plural(struct apiserver *s, struct arena *a, const char *group, const char *plural,
                                const char *ns, const char *name)
{
    const struct kind *k = kind_find(s->kinds, group, plural);
    return k ? stored_read(s, a, k, k->flags & KIND_NAMESPACED ? ns : "", name, false) : NULL;
}

struct json *object_list_plural(struct apiserver *s, struct arena *a, const char *group, const char *plural, const char *ns)
{
    uint32_t kind = store_kind(s->store, group, plural);
    if (!store_count(s->store, kind)) /* most clusters have none of what is asked for */
        return NULL;
    struct json *all = json_new(a, JSON_ARRAY);
    struct store_cursor *c = store_list(s->store, kind, ns, NULL);
    for (const struct store_object *o; (o = store_list_next(c));)
        json_append(all, object_parse(a, o->body));
    store_list_free(c);
    return all->n ? all : NULL;
}

const struct kind *object_kind(struct apiserver *s, uint32_t kind_id)
{
    char group[LIMIT_NAME + 1];
    const char *name = store_kind_name(s->store, kind_id), *slash = strchr(name, '/');
    size_t n = (size_t)(slash - name);
    if (n > LIMIT_NAME)
        return NULL;
    memcpy(group, name, n);
    group[n] = 0;
    const struct kind *k = kind_find(s->kinds, group, slash + 1);
    return k && !(k->flags & (KIND_REVIEW | KIND_READ_ONLY)) ? k : NULL;
}

struct json *object_ordered(struct arena *a, struct json *object, const char *api_version, const char *kind)
{
    json_remove(object, "apiVersion");
    json_remove(object, "kind");
    struct json *metadata = json_get(object, "metadata");
    if (metadata)
        json_remove(object, "metadata");
    if (!json_is(metadata, JSON_OBJECT))
        metadata = json_new(a, JSON_OBJECT);
    struct json *out = json_new(a, JSON_OBJECT);
    json_set_text(a, out, "kind", kind);
    json_set_text(a, out, "apiVersion", api_version);
    metadata->next = NULL;
    json_set(a, out, "metadata", metadata);
    for (struct json *v = object->first, *next; v; v = next) {
        next = v->next;
        v->next = NULL;
        json_append(out, v); /* none has the key of one before it */
    }
    return out;
}

struct blob *object_text_apart(struct apiserver *s, const struct json *object, const struct apart *apart)
{
    struct blob *body = apart_write(&s->text, object, apart);
    if (s->text.cap > TEXT_KEPT_BYTES)
        buf_free(&s->text);
    return body;
}

struct blob *object_text(struct apiserver *s, const struct json *object)
{
    return object_text_apart(s, object, &(struct apart){0});
}
