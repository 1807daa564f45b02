/* pod_template.c - template + owner -> pod */
#include "jobs/batch/pod_template.h"

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

struct json *pod_from_template(struct arena *a, struct random *random, const struct json *template,
                               const struct json *owner, const char *api_version, const char *kind, const char *base)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789"; /* the alphabet of generateName */
    char suffix[6] = "";
    for (int i = 0; i < 5; i++)
        suffix[i] = letters[random_below(random, sizeof letters - 1)];
    struct json *pod = json_new(a, JSON_OBJECT);
    json_set_text(a, pod, "apiVersion", "v1");
    json_set_text(a, pod, "kind", "Pod");
    const struct json *from = json_get(template, "metadata");
    struct json *metadata = json_is(from, JSON_OBJECT) ? json_clone(a, from) : json_new(a, JSON_OBJECT);
    json_remove(metadata, "creationTimestamp");
    json_remove(metadata, "name");
    json_set_text(a, metadata, "name", arena_printf(a, "%.*s-%s", 57, base, suffix));
    json_set_text(a, metadata, "namespace", json_get_text(json_get(owner, "metadata"), "namespace", ""));
    owner_reference_add(a, metadata, owner, api_version, kind);
    json_set(a, pod, "metadata", metadata);
    const struct json *spec = json_get(template, "spec");
    json_set(a, pod, "spec", spec ? json_clone(a, spec) : json_new(a, JSON_OBJECT));
    return pod;
}
