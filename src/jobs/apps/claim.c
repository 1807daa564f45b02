/* claim.c - compare selector and labels; write or take out one ownerReference */
#include "jobs/apps/claim.h"
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

void claim_release(struct work *w, const char *path, const struct json *owner, const struct json *object)
{
    const char *text = arena_printf(w->arena,
                                    "{\"metadata\":{\"uid\":\"%s\",\"ownerReferences\":[{\"$patch\":\"delete\",\"uid\":\"%s\"}]}}",
                                    object_meta(object, "uid"), object_meta(owner, "uid"));
    work_patch(w, KUBE_PATCH_STRATEGIC, path, json_parse(w->arena, bytes_of(text), NULL, NULL));
}
