/* endpoints_write.c - what is there and what should be: the difference as writes */
#include "jobs/apps/endpoints_write.h"
#include "kube/object.h"

void endpoints_write(struct work *w, const struct json *old, const struct json *wanted, const char *collection, const char *path)
{
    struct arena *a = w->arena;
    if (!old) {
        work_create(w, collection, wanted);
        return;
    }
    struct json *patch = json_new(a, JSON_OBJECT);
    JSON_EACH (field, wanted) {
        if (!text_equal(field->key, "metadata") && !json_equal(json_get(old, field->key), field) &&
            !(json_is(field, JSON_ARRAY) && field->n == 0 && !json_get(old, field->key)))
            json_set(a, patch, field->key, json_clone(a, field));
    }
    (void)json_remove(patch, "apiVersion");
    (void)json_remove(patch, "kind");
    const struct json *labels = json_path(wanted, "metadata", "labels", NULL), *was = json_path(old, "metadata", "labels", NULL);
    struct json *diff = object_diff(a, was ? was : json_new(a, JSON_OBJECT), labels);
    if (diff)
        json_set(a, json_ensure_object(a, patch, "metadata"), "labels", diff);
    if (json_first(patch))
        work_patch(w, KUBE_PATCH_MERGE, path, patch);
}

static char *slice_path(struct work *w, const char *name)
{
    return kube_path(w->arena, "discovery.k8s.io", "v1", "endpointslices", w->ns, name, NULL);
}

static bool is_wanted(const struct json *slices, const char *name)
{
    JSON_EACH (slice, slices)
        if (text_equal(object_meta(slice, "name"), name))
            return true;
    return false;
}

void endpoints_write_slices(struct work *w, const struct kube_cache *slices, const struct json *wanted)
{
    JSON_EACH (slice, wanted) {
        const char *name = object_meta(slice, "name");
        endpoints_write(w, kube_cache_get(slices, w->ns, name, w->arena), slice, slice_path(w, NULL), slice_path(w, name));
    }
    const char *prefix = arena_printf(w->arena, "%s/%.*s-", w->ns, 57, w->name);
    size_t at = 0;
    struct bytes key, raw;
    while (kube_cache_next(slices, &at, &key, &raw)) {
        if (!text_starts(key.data, prefix))
            continue;
        const struct json *slice = json_parse(w->arena, raw, NULL, NULL);
        if (text_equal(object_label(slice, "kubernetes.io/service-name"), w->name) && !is_wanted(wanted, object_meta(slice, "name")))
            work_delete(w, slice_path(w, object_meta(slice, "name")), object_meta(slice, "uid"), "Background");
    }
}
