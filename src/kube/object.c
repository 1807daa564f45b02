/* object.c - parts that all Kubernetes objects share; see object.h */
#include "kube/object.h"
#include "base/clock.h"
#include "base/limits.h"

const char *object_label(const struct json *object, const char *key)
{
    return json_get_text(json_path(object, "metadata", "labels", NULL), key, "");
}

const char *object_annotation(const struct json *object, const char *key)
{
    return json_get_text(json_path(object, "metadata", "annotations", NULL), key, "");
}

bool object_deleting(const struct json *object)
{
    return *object_meta(object, "deletionTimestamp") != '\0';
}

char *object_key(struct arena *a, const struct json *object)
{
    return arena_printf(a, "%s/%s", object_meta(object, "namespace"), object_meta(object, "name"));
}

const struct json *object_controlling_owner(const struct json *object)
{
    JSON_EACH (owner, json_path(object, "metadata", "ownerReferences", NULL))
        if (json_get_bool(owner, "controller", false))
            return owner;
    return NULL;
}

const char *object_controller(const struct json *object, const char *field)
{
    return json_get_text(object_controlling_owner(object), field, "");
}

static struct json *find(const struct json *conditions, const char *type)
{
    JSON_EACH (condition, conditions)
        if (strcmp(json_get_text(condition, "type", ""), type) == 0)
            return condition;
    return NULL;
}

struct json *object_condition(const struct json *object, const char *type)
{
    return find(json_path(object, "status", "conditions", NULL), type);
}

bool object_condition_true(const struct json *object, const char *type)
{
    return strcmp(json_get_text(object_condition(object, type), "status", ""), "True") == 0;
}

struct json *object_status_copy(struct arena *a, const struct json *object)
{
    const struct json *old = json_get(object, "status");
    return json_is(old, JSON_OBJECT) ? json_clone(a, old) : json_new(a, JSON_OBJECT);
}

struct json *object_conditions_copy(struct arena *a, const struct json *object)
{
    const struct json *old = json_path(object, "status", "conditions", NULL);
    return json_is(old, JSON_ARRAY) ? json_clone(a, old) : json_new(a, JSON_ARRAY);
}

int64_t object_generation_of(const struct json *object)
{
    return json_int64(json_path(object, "metadata", "generation", NULL), 0);
}

void object_count_set(struct arena *a, struct json *status, const char *key, int64_t n)
{
    if (n > 0)
        json_set_int64(a, status, key, n);
    else
        (void)json_remove(status, key);
}

bool object_awaits_with_quota(const struct json *workload)
{
    const char *reason = json_get_text(object_condition(workload, OBJECT_WAITING), "reason", "");
    return object_condition_true(workload, OBJECT_WAITING) && object_condition_true(workload, "QuotaReserved") &&
           (strcmp(reason, OBJECT_AWAITS_CHECKS) == 0 || strcmp(reason, OBJECT_AWAITS_PLACES) == 0);
}

const char *object_waiting(const struct json *object)
{
    if (!object_condition_true(object, OBJECT_WAITING))
        return object_annotation(object, OBJECT_REASON);
    bool is_over = object_condition_true(object, "Finished") || object_condition_true(object, "Admitted") ||
                   (object_condition_true(object, "QuotaReserved") && !object_awaits_with_quota(object));
    return is_over ? "" : json_get_text(object_condition(object, OBJECT_WAITING), "message", "");
}

/* WHY  what others say is put together in messages: one that is too long would be refused, and all else that the write says with it. */
static const char *message_cut(struct arena *a, const char *message)
{
    static const char end[] = " ...";
    size_t n = strlen(message);
    if (n <= LIMIT_CONDITION_MESSAGE)
        return message;
    n = LIMIT_CONDITION_MESSAGE - (sizeof end - 1);
    while (n && ((unsigned char)message[n] & 0xc0) == 0x80) /* not within a character */
        n--;
    return arena_printf(a, "%.*s%s", (int)n, message, end);
}

bool object_condition_set(struct arena *a, struct json *conditions, const char *type, bool status, const char *reason,
                          const char *message, int64_t now_ms, int64_t generation)
{
    const char *text = status ? "True" : "False";
    message = message_cut(a, message);
    struct json *condition = find(conditions, type);
    bool moved = !condition || strcmp(json_get_text(condition, "status", ""), text) != 0;
    if (!moved && strcmp(json_get_text(condition, "reason", ""), reason) == 0 &&
        strcmp(json_get_text(condition, "message", ""), message) == 0)
        return false;
    if (!condition) {
        condition = json_new(a, JSON_OBJECT);
        json_append(conditions, condition);
    }
    json_set_text(a, condition, "type", type);
    json_set_text(a, condition, "status", text);
    if (moved) {
        char now[TIME_TEXT_MAX];
        json_set_text(a, condition, "lastTransitionTime", time_format(now, now_ms));
    }
    json_set_text(a, condition, "reason", reason);
    json_set_text(a, condition, "message", message);
    if (generation > 0)
        json_set_int64(a, condition, "observedGeneration", generation);
    return true;
}

struct json *object_diff(struct arena *a, const struct json *from, const struct json *to)
{
    struct json *diff = json_new(a, JSON_OBJECT);
    JSON_EACH (old, from)
        if (!json_get(to, old->key))
            json_set(a, diff, old->key, json_new(a, JSON_NULL));
    JSON_EACH (new, to) {
        const struct json *old = json_get(from, new->key);
        if (old && json_equal(old, new))
            continue;
        struct json *part = NULL;
        if (old && old->type == JSON_OBJECT && new->type == JSON_OBJECT)
            part = object_diff(a, old, new);
        json_set(a, diff, new->key, part ? part : json_clone(a, new));
    }
    return diff->n ? diff : NULL;
}

bool object_has_finalizer(const struct json *object, const char *finalizer)
{
    JSON_EACH (one, json_path(object, "metadata", "finalizers", NULL))
        if (strcmp(json_text(one, ""), finalizer) == 0)
            return true;
    return false;
}

struct json *object_finalizer_patch(struct arena *a, const struct json *object, const char *finalizer, bool wanted)
{
    if (object_has_finalizer(object, finalizer) == wanted)
        return NULL;
    struct json *patch = object_patch(a, object), *list = json_new(a, JSON_ARRAY);
    JSON_EACH (one, json_path(object, "metadata", "finalizers", NULL))
        if (strcmp(json_text(one, ""), finalizer) != 0)
            json_append(list, json_clone(a, one));
    if (wanted)
        json_append(list, json_new_text(a, finalizer));
    json_set(a, json_ensure_object(a, patch, "metadata"), "finalizers", list->n ? list : json_new(a, JSON_NULL));
    return patch;
}

struct json *object_patch(struct arena *a, const struct json *read)
{
    struct json *patch = json_new(a, JSON_OBJECT);
    json_set_text(a, json_ensure_object(a, patch, "metadata"), "resourceVersion", object_meta(read, "resourceVersion"));
    return patch;
}
