/* device_limits.c - see device_limits.h
 *
 * SOURCE Kubernetes' validation of container resources: extended resources need a limit, and requests equal to it.
 */
#include "codec/admission/device_limits.h"
#include <string.h>
#include "base/quantity.h"

enum { DEPTH_MOST = 16 }; /* a runtime's container stands 12 below its object */

bool device_is_extended(const char *resource)
{
    const char *slash = strchr(resource, '/');
    if (!slash)
        return false;
    size_t n = (size_t)(slash - resource);
    bool native = n >= 13 && memcmp(slash - 13, "kubernetes.io", 13) == 0 && (n == 13 || slash[-14] == '.');
    return !native && !text_starts(resource, "requests.");
}

bool device_is_exclusive(const char *resource)
{
    return device_is_extended(resource) || text_starts(resource, "hugepages-");
}

static bool is_equal(const struct json *one, const struct json *other)
{
    struct quantity a, b;
    return quantity_parse(json_bytes(one), &a, NULL) < 0 || quantity_parse(json_bytes(other), &b, NULL) < 0 || quantity_compare(a, b) == 0;
}

/* What is done with each request of a device that lacks its limit (limit NULL), or differs from it. */
struct walk {
    struct arena *arena;
    void (*found)(const struct walk *w, struct json *resources, struct json *request, const struct json *limit, const char *path);
    void (*say)(void *context, const char *path, const char *part, const char *text);
    void *context;
};

static void resources_walk(const struct walk *w, struct json *resources, const char *path)
{
    const struct json *limits = json_get(resources, "limits");
    JSON_EACH (request, json_is(json_get(resources, "requests"), JSON_OBJECT) ? json_get(resources, "requests") : NULL) {
        const struct json *limit = json_get(limits, request->key);
        if (device_is_exclusive(request->key) && (!limit || !is_equal(request, limit)))
            w->found(w, resources, request, limit, path);
    }
}

static void value_walk(const struct walk *w, struct json *v, const char *path, int depth)
{
    uint32_t index = 0;
    JSON_EACH (child, v) {
        if (child->type < JSON_ARRAY || depth >= DEPTH_MOST)
            continue;
        const char *at = json_is(v, JSON_ARRAY) ? arena_printf(w->arena, "%s[%u]", path, index++)
                                                : arena_printf(w->arena, "%s%s%s", path, *path ? "." : "", child->key);
        bool asks = child->key && (strcmp(child->key, "resources") == 0 || strcmp(child->key, "resourcesPerNode") == 0);
        if (asks && json_is(child, JSON_OBJECT))
            resources_walk(w, child, at);
        else
            value_walk(w, child, at, depth + 1);
    }
}

static void tell(const struct walk *w, struct json *resources, struct json *request, const struct json *limit, const char *path)
{
    (void)resources;
    struct arena *a = w->arena;
    const char *text = limit ? arena_printf(a, "its pods are refused: of a device requests and limits are the same; write %s, the limit",
                                            json_bytes(limit).data)
                             : arena_printf(a, "its pods are refused: a device needs a limit; write %s: %s under limits, too", request->key,
                                            json_bytes(request).data);
    w->say(w->context, path, arena_printf(a, "requests[%s]", request->key), text);
}

void device_limits_look(struct arena *a, const struct json *object,
                        void (*say)(void *context, const char *path, const char *part, const char *text), void *context)
{
    value_walk(&(struct walk){a, tell, say, context}, (struct json *)(uintptr_t)object, "", 0); /* it is only read */
}

static void mend(const struct walk *w, struct json *resources, struct json *request, const struct json *limit, const char *path)
{
    (void)path;
    if (limit)
        json_set(w->arena, json_get(resources, "requests"), request->key, json_clone(w->arena, limit));
    else
        json_set(w->arena, json_ensure_object(w->arena, resources, "limits"), request->key, json_clone(w->arena, request));
}

void device_limits_fix(struct arena *a, struct json *object)
{
    value_walk(&(struct walk){.arena = a, .found = mend}, object, "", 0);
}
