/* claim.c - compare selector and labels; write or take out one ownerReference */
#include "jobs/batch/claim.h"
#include "jobs/batch/pod_template.h"
#include "kube/object.h"

static bool requirement_holds(const struct json *requirement, const struct json *labels)
{
    const struct json *label = json_get(labels, json_get_text(requirement, "key", ""));
    const char *operator= json_get_text(requirement, "operator", "");
    bool is_listed = false;
    JSON_EACH (value, json_get(requirement, "values"))
        is_listed |= label && json_equal(value, label);
    if (text_equal(operator, "In"))
        return is_listed;
    if (text_equal(operator, "NotIn"))
        return !is_listed;
    return text_equal(operator, "Exists") ? label != NULL : text_equal(operator, "DoesNotExist") && !label;
}

bool claim_selects(const struct json *selector, const struct json *labels)
{
    const struct json *all = json_get(selector, "matchLabels"), *expressions = json_get(selector, "matchExpressions");
    if (!json_first(all) && !json_first(expressions))
        return false;
    JSON_EACH (label, all)
        if (!json_equal(json_get(labels, label->key), label))
            return false;
    JSON_EACH (requirement, expressions)
        if (!requirement_holds(requirement, labels))
            return false;
    return true;
}

const struct json *claim_selector(struct arena *a, const struct json *owner)
{
    const struct json *selector = json_path(owner, "spec", "selector", NULL);
    if (!json_is(json_first(selector), JSON_STRING))
        return selector;
    struct json *wrapped = json_new(a, JSON_OBJECT);
    json_set(a, wrapped, "matchLabels", json_clone(a, selector));
    return wrapped;
}

void claim_wake(const struct kube_cache *owners, struct workqueue *queue, const char *ns, const struct json *labels)
{
    size_t at = 0, ns_n = strlen(ns);
    struct bytes key, raw;
    if (!json_first(labels))
        return;
    while (kube_cache_next(owners, &at, &key, &raw)) {
        if (key.n <= ns_n || key.data[ns_n] != '/' || strncmp(key.data, ns, ns_n) != 0)
            continue;
        _cleanup_arena_ struct arena *a = arena_new();
        if (claim_selects(claim_selector(a, json_parse(a, raw, NULL, NULL)), labels))
            workqueue_add(queue, key.data);
    }
}

bool claim_may_concern(struct bytes raw, const char *owner_uid)
{
    static const char controlled[] = "\"controller\":true";
    return memmem(raw.data, raw.n, owner_uid, strlen(owner_uid)) || !memmem(raw.data, raw.n, controlled, sizeof controlled - 1);
}

enum claim claim_of(const struct json *owner, const char *owner_kind, const struct json *selector, const struct json *object)
{
    const struct json *labels = json_path(object, "metadata", "labels", NULL);
    const char *controller = object_controller(object, "uid");
    if (*controller) {
        if (!text_equal(controller, object_meta(owner, "uid")) || !text_equal(object_controller(object, "kind"), owner_kind))
            return CLAIM_NONE;
        return claim_selects(selector, labels) || object_deleting(owner) ? CLAIM_OURS : CLAIM_RELEASE;
    }
    return !object_deleting(owner) && !object_deleting(object) && claim_selects(selector, labels) ? CLAIM_ADOPT : CLAIM_NONE;
}

void claim_adopt(struct work *w, const char *path, const char *api_version, const char *kind, const struct json *owner,
                 const struct json *object)
{
    struct json *patch = json_new(w->arena, JSON_OBJECT), *metadata = json_ensure_object(w->arena, patch, "metadata");
    json_set_text(w->arena, metadata, "uid", object_meta(object, "uid"));
    owner_reference_add(w->arena, metadata, owner, api_version, kind);
    work_patch(w, KUBE_PATCH_STRATEGIC, path, patch);
}

struct json *claim_release_patch(struct arena *a, const struct json *owner, const struct json *object)
{
    const char *text = arena_printf(a, "{\"metadata\":{\"uid\":\"%s\",\"ownerReferences\":[{\"$patch\":\"delete\",\"uid\":\"%s\"}]}}",
                                    object_meta(object, "uid"), object_meta(owner, "uid"));
    return json_parse(a, bytes_of(text), NULL, NULL);
}

void claim_release(struct work *w, const char *path, const struct json *owner, const struct json *object)
{
    work_patch(w, KUBE_PATCH_STRATEGIC, path, claim_release_patch(w->arena, owner, object));
}
