/* job_flow_patch.c - a JobTemplate's spec with the patch of a flow; see job_flow_plan.h
 *
 * WHY  the server fills defaults into patches too: queue "default" and maxRetry 3 in one say nothing where the template has others.
 */
#include "jobs/volcano/flow/job_flow_plan.h"

/* The member by which items of this list are known; NULL: the list is replaced. */
static const char *key_of(const char *list)
{
    static const struct {
        const char *list, *key;
    } keys[] = {{"tasks", "name"},         {"containers", "name"},       {"initContainers", "name"}, {"env", "name"},
                {"ports", "containerPort"}, {"volumeMounts", "mountPath"}, {"volumes", "name"},        {"tolerations", "key"},
                {"hostAliases", "ip"}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(list, keys[i].list) == 0)
            return keys[i].key;
    return NULL;
}

/* Volumes of a job have no names. */
static const char *key_in(const struct json *list, const char *name)
{
    const char *key = key_of(name);
    JSON_EACH (item, key ? list : NULL)
        if (!json_get(item, key))
            return json_get(item, "mountPath") ? "mountPath" : NULL;
    return key;
}

static struct json *merged(struct arena *a, const struct json *was, const struct json *patch, const char *name);

static struct json *item_of(struct json *list, const char *key, const struct json *wanted)
{
    JSON_EACH (item, list)
        if (json_equal(json_get(item, key), json_get(wanted, key)))
            return item;
    return NULL;
}

static struct json *list_merged(struct arena *a, const struct json *was, const struct json *patch, const char *key)
{
    struct json *list = json_new(a, JSON_ARRAY), *old = json_clone(a, was);
    JSON_EACH (item, old) {
        const struct json *change = NULL;
        JSON_EACH (wanted, patch)
            if (json_equal(json_get(item, key), json_get(wanted, key)))
                change = wanted;
        json_append(list, change ? merged(a, item, change, "") : json_clone(a, item));
    }
    JSON_EACH (wanted, patch)
        if (!item_of(old, key, wanted))
            json_append(list, json_clone(a, wanted));
    return list;
}

static struct json *merged(struct arena *a, const struct json *was, const struct json *patch, const char *name)
{
    const char *key = json_is(patch, JSON_ARRAY) ? key_in(patch, name) : NULL;
    if (json_is(was, JSON_ARRAY) && key)
        return list_merged(a, was, patch, key);
    if (!json_is(was, JSON_OBJECT) || !json_is(patch, JSON_OBJECT))
        return json_clone(a, patch);
    struct json *object = json_clone(a, was);
    JSON_EACH (member, patch)
        if (member->type != JSON_NULL)
            json_set(a, object, member->key, merged(a, json_get(was, member->key), member, member->key));
    return object;
}

struct json *job_flow_patched(struct arena *a, const struct json *spec, const struct json *patch)
{
    if (!json_is(patch, JSON_OBJECT))
        return spec ? json_clone(a, spec) : json_new(a, JSON_OBJECT);
    struct json *change = json_clone(a, patch);
    if (json_get(spec, "queue") && strcmp(json_get_text(change, "queue", ""), "default") == 0)
        (void)json_remove(change, "queue");
    if (json_get(spec, "maxRetry") && json_get_int64(change, "maxRetry", 0) == 3)
        (void)json_remove(change, "maxRetry");
    return merged(a, spec ? spec : json_new(a, JSON_OBJECT), change, "");
}
