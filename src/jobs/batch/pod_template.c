/* pod_template.c - template + owner -> pod */
#include "jobs/batch/pod_template.h"
#include "base/collections/map.h"

void owner_reference_add(struct arena *a, struct json *metadata, const struct json *owner, const char *api_version,
                         const char *kind)
{
    const struct json *from = json_get(owner, "metadata");
    struct json *reference = json_new(a, JSON_OBJECT);
    json_set_text(a, reference, "apiVersion", api_version);
    json_set_text(a, reference, "kind", kind);
    json_set_text(a, reference, "name", json_get_text(from, "name", ""));
    json_set_text(a, reference, "uid", json_get_text(from, "uid", ""));
    json_set_bool(a, reference, "controller", true);
    json_set_bool(a, reference, "blockOwnerDeletion", true);
    json_append(json_ensure_array(a, metadata, "ownerReferences"), reference);
}

/* The alphabet of generateName. */
static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";

struct json *pod_named_from_template(struct arena *a, const struct json *template, const struct json *owner,
                                     const char *api_version, const char *kind, const char *name)
{
    struct json *pod = json_new(a, JSON_OBJECT);
    json_set_text(a, pod, "apiVersion", "v1");
    json_set_text(a, pod, "kind", "Pod");
    const struct json *from = json_get(template, "metadata");
    struct json *metadata = json_is(from, JSON_OBJECT) ? json_clone(a, from) : json_new(a, JSON_OBJECT);
    json_remove(metadata, "creationTimestamp");
    json_remove(metadata, "name");
    json_set_text(a, metadata, "name", name);
    json_set_text(a, metadata, "namespace", json_get_text(json_get(owner, "metadata"), "namespace", ""));
    owner_reference_add(a, metadata, owner, api_version, kind);
    json_set(a, pod, "metadata", metadata);
    const struct json *spec = json_get(template, "spec");
    json_set(a, pod, "spec", spec ? json_clone(a, spec) : json_new(a, JSON_OBJECT));
    return pod;
}

struct json *pod_from_template(struct arena *a, struct random *random, const struct json *template,
                               const struct json *owner, const char *api_version, const char *kind, const char *base)
{
    char suffix[6] = "";
    for (int i = 0; i < 5; i++)
        suffix[i] = letters[random_below(random, sizeof letters - 1)];
    return pod_named_from_template(a, template, owner, api_version, kind, arena_printf(a, "%.*s-%s", 57, base, suffix));
}

struct json *pod_template_plain(struct arena *a, const struct json *template, const char *label)
{
    struct json *copy = json_clone(a, template), *metadata = json_get(copy, "metadata");
    struct json *labels = json_get(metadata, "labels");
    if (label)
        (void)json_remove(labels, label);
    if (json_is(metadata, JSON_OBJECT))
        for (struct json *field = metadata->first, *next; field; field = next) {
            next = field->next;
            if (field->type == JSON_NULL || (json_is(field, JSON_OBJECT) && field->n == 0))
                (void)json_remove(metadata, field->key);
        }
    return copy;
}

const char *pod_template_hash(struct arena *a, const struct json *template)
{
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, template);
    uint64_t hash = hash_bytes(text.data, text.n, 0);
    char name[11] = "";
    for (int i = 0; i < 10; i++, hash /= 27)
        name[i] = letters[hash % 27];
    return arena_text(a, name);
}

int64_t pod_share(const struct json *value, int64_t fallback, int64_t total, bool up)
{
    if (json_is(value, JSON_NUMBER))
        return json_int64(value, 0);
    int64_t percent;
    struct bytes text = json_bytes(value);
    if (text.n < 2 || text.data[text.n - 1] != '%' || !bytes_int64((struct bytes){text.data, text.n - 1}, &percent))
        return fallback;
    return (total * percent + (up ? 99 : 0)) / 100;
}
