/* What may change in a pod that exists: nearly nothing. */
#include "codec/admission/admission_part.h"

/* Image, and nothing else, may change in a container: take the old one's place. */
static void forget_images(struct admission *x, struct json *is, const struct json *was, const char *list)
{
    struct json *now = json_get(is, list);
    const struct json *before = json_get(was, list);
    if (admission_list_n(now) != admission_list_n(before) || !now)
        return;
    const struct json *old = before->first;
    JSON_EACH (c, now) {
        const char *image = json_get_text(old, "image", "");
        if (image[0])
            json_set_text(x->arena, c, "image", image);
        const char *policy = json_get_text(old, "imagePullPolicy", "");
        if (policy[0])
            json_set_text(x->arena, c, "imagePullPolicy", policy); /* follows the image's tag when defaulted */
        old = old->next;
    }
}

static void adopt(struct admission *x, struct json *is, const struct json *was, const char *key)
{
    const struct json *old = json_get(was, key);
    json_remove(is, key);
    if (old)
        json_set(x->arena, is, key, json_clone(x->arena, old));
}

static bool contains(const struct json *list, const struct json *item)
{
    JSON_EACH (other, admission_list_n(list) ? list : NULL)
        if (json_equal(other, item))
            return true;
    return false;
}

static bool contains_all(const struct json *list, const struct json *items)
{
    JSON_EACH (item, admission_list_n(items) ? items : NULL)
        if (!contains(list, item))
            return false;
    return true;
}

static bool contains_members(const struct json *object, const struct json *members)
{
    JSON_EACH (member, json_is(members, JSON_OBJECT) ? members : NULL)
        if (!json_get(object, member->key) || !json_equal(json_get(object, member->key), member))
            return false;
    return true;
}

/* While gates hold a pod, it may be pinned down further. */
static void allow_gated(struct admission *x, struct json *now, const struct json *was)
{
    const struct json *before = json_get(was, "nodeSelector");
    if (!contains_members(json_get(now, "nodeSelector"), before))
        admission_error(x, FIELD_INVALID, "spec.nodeSelector", json_get(now, "nodeSelector"),
                        "only additions are allowed (no mutations or deletions)");
    adopt(x, now, was, "nodeSelector");
    if (!json_path(was, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", NULL))
        adopt(x, now, was, "affinity");
}

void admission_pod_update(struct admission *x)
{
    const struct json *was = json_get(x->old, "spec"), *is = json_get(x->object, "spec");
    if (!json_is(was, JSON_OBJECT))
        return;
    struct json *now = json_is(is, JSON_OBJECT) ? json_clone(x->arena, is) : json_new(x->arena, JSON_OBJECT); /* taken away: all of it */
    forget_images(x, now, was, "containers");
    forget_images(x, now, was, "initContainers");
    const struct json *deadline = json_get(now, "activeDeadlineSeconds"),
                      *old_deadline = json_get(was, "activeDeadlineSeconds");
    if (old_deadline && (!deadline || json_int64(deadline, 0) > json_int64(old_deadline, 0)))
        admission_error(x, FIELD_INVALID, "spec.activeDeadlineSeconds", deadline,
                        "must be less than or equal to previous value");
    if (!contains_all(json_get(now, "tolerations"), json_get(was, "tolerations")))
        admission_error(
            x, FIELD_FORBIDDEN, "spec.tolerations", NULL,
            "existing toleration can not be modified except its tolerationSeconds; only additions are allowed");
    if (!contains_all(json_get(was, "schedulingGates"), json_get(now, "schedulingGates")))
        admission_error(x, FIELD_FORBIDDEN, "spec.schedulingGates", NULL,
                        "only deletion is allowed: a pod's gates are set when it is created");
    if (admission_list_n(json_get(was, "schedulingGates")))
        allow_gated(x, now, was);
    if (admission_absent(json_get(was, "nodeName")))
        adopt(x, now, was, "nodeName"); /* the binding subresource writes it */
    static const char *const open[] = {"activeDeadlineSeconds", "tolerations", "schedulingGates",
                                       "terminationGracePeriodSeconds"};
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++)
        adopt(x, now, was, open[i]);
    if (x->ephemeral)
        adopt(x, now, was, "ephemeralContainers");
    if (!json_equal(now, was))
        admission_error(
            x, FIELD_FORBIDDEN, "spec", NULL,
            "pod updates may not change fields other than `spec.containers[*].image`, `spec.initContainers[*].image`, "
            "`spec.activeDeadlineSeconds`, `spec.tolerations` (only additions) and `spec.schedulingGates` (only "
            "deletions)");
}
