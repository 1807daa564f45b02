/* config_sharing.c - sharing.timeSlicing, sharing.mps, sharing.keti and resources.{gpus,mig} */
#include "agent/config/config_part.h"
#include "base/limits.h"

static bool digits(struct bytes text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    return text.n > 0 && text.n < 7;
}

static bool uuid(struct bytes text)
{
    if (text.n != 36)
        return false;
    for (size_t i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text.data[i] != '-' : !strchr("0123456789abcdefABCDEF", text.data[i]))
            return false;
    }
    return true;
}

/* "0", "0:1", "GPU-<uuid>", "MIG-<uuid>", "MIG-GPU-<uuid>/3/0" */
static bool device_reference(const char *text)
{
    struct bytes all = bytes_of(text);
    const char *colon = strchr(text, ':');
    if (digits(all))
        return true;
    if (colon)
        return digits((struct bytes){text, (size_t)(colon - text)}) && digits(bytes_of(colon + 1));
    if (text_starts(text, "GPU-"))
        return uuid(bytes_of(text + 4));
    if (!text_starts(text, "MIG-GPU-"))
        return text_starts(text, "MIG-") && uuid(bytes_of(text + 4));
    const char *slash = strchr(text, '/'), *second = slash ? strchr(slash + 1, '/') : NULL;
    return second && uuid((struct bytes){text + 8, (size_t)(slash - text - 8)}) &&
           digits((struct bytes){slash + 1, (size_t)(second - slash - 1)}) && digits(bytes_of(second + 1));
}

static int read_device_list(struct config_reader *r, const struct json *v, const char *path, struct sharing_resource *s)
{
    const struct json *list;
    int failed = config_list(r, v, path, &list);
    if (failed < 0)
        return failed;
    if (!list || !list->n)
        return config_fail(r, path, "the list is empty; name devices, or write all");
    const char **devices = arena_zero(r->a, list->n, sizeof *devices);
    JSON_EACH (item, list) {
        const char *text = json_is(item, JSON_STRING) || json_is(item, JSON_NUMBER) ? arena_text(r->a, item->text) : NULL;
        if (!text || !device_reference(text))
            return config_fail(r, arena_printf(r->a, "%s[%u]", path, s->devices_n),
                               "%s is no device: write a GPU index (0), a MIG index (\"0:1\"), or the UUID of a GPU or MIG device",
                               config_kind(r, item));
        for (uint32_t i = 0; i < s->devices_n; i++)
            if (text_equal(devices[i], text))
                return config_fail(r, arena_printf(r->a, "%s[%u]", path, s->devices_n), "'%s' is there twice", text);
        devices[s->devices_n++] = text;
    }
    s->devices = devices;
    return 0;
}

static int read_devices(struct config_reader *r, const struct json *v, const char *path, struct sharing_resource *s)
{
    if (!v || v->type == JSON_NULL || (json_is(v, JSON_STRING) && text_equal(v->text, "all"))) {
        s->devices_all = true;
        return 0;
    }
    if (json_is(v, JSON_NUMBER))
        return config_count(r, v, path, 1, LIMIT_AGENT_CONFIG_ENTRIES, &s->devices_count);
    if (json_is(v, JSON_ARRAY))
        return read_device_list(r, v, path, s);
    return config_fail(r, path, "expected all, how many, or a list of devices; found %s", config_kind(r, v));
}

static int read_rename(struct config_reader *r, const struct json *v, const char *path, bool by_default, struct sharing_resource *s)
{
    if (v && v->type != JSON_NULL && !(json_is(v, JSON_STRING) && v->n == 0))
        return config_resource_name(r, v, path, &s->rename);
    if (!by_default)
        return 0;
    s->rename = arena_printf(r->a, "%s.shared", s->name);
    if (strlen(s->rename) > 63)
        return config_fail(r, path, "'%s' is longer than 63 characters; give the resource a 'rename'", s->rename);
    return 0;
}

static int read_entry(struct config_reader *r, const struct json *item, const char *path, const struct sharing *sharing, uint32_t least,
                      struct sharing_resource *s)
{
    static const char *const keys[] = {"name", "rename", "devices", "replicas"};
    const struct json *v;
    int failed = config_object(r, item, path, keys, sizeof keys / sizeof *keys, &v);
    if (failed < 0)
        return failed;
    if (!json_get(v, "name"))
        return config_fail(r, path, "'name' is missing; write the resource to share, as in name: nvidia.com/gpu");
    if (!json_get(v, "replicas"))
        return config_fail(r, path, "'replicas' is missing; write into how many shares each device is split");
    failed = config_resource_name(r, json_get(v, "name"), arena_printf(r->a, "%s.name", path), &s->name);
    if (failed == 0)
        failed = config_count(r, json_get(v, "replicas"), arena_printf(r->a, "%s.replicas", path), least,
                              sharing == &r->c->mps ? CONFIG_MPS_REPLICAS_MAX : LIMIT_DEVICES_PER_NODE, &s->replicas);
    if (failed == 0)
        failed = read_devices(r, json_get(v, "devices"), arena_printf(r->a, "%s.devices", path), s);
    return failed < 0 ? failed
                      : read_rename(r, json_get(v, "rename"), arena_printf(r->a, "%s.rename", path), sharing->rename_by_default, s);
}

static int check_twice(struct config_reader *r, const struct sharing *s, const char *path)
{
    const struct sharing_resource *last = &s->resources[s->resources_n - 1];
    for (const struct sharing_resource *other = s->resources; other < last; other++)
        if (text_equal(other->name, last->name) && !last->devices && !other->devices)
            return config_fail(r, path, "%s is listed twice; give 'devices' of each entry as a list", last->name);
    return 0;
}

static int read_kind(struct config_reader *r, const struct json *object, const char *path, uint32_t least, struct sharing *s)
{
    static const char *const keys[] = {"renameByDefault", "failRequestsGreaterThanOne", "resources"};
    const struct json *v, *list;
    int failed = config_object(r, object, path, keys, sizeof keys / sizeof *keys, &v);
    if (failed < 0 || !v)
        return failed;
    const struct json *rename = json_get(v, "renameByDefault"), *fail = json_get(v, "failRequestsGreaterThanOne");
    if (rename && rename->type != JSON_NULL)
        failed = config_bool(r, rename, arena_printf(r->a, "%s.renameByDefault", path), &s->rename_by_default);
    if (failed == 0 && fail && fail->type != JSON_NULL)
        failed = config_bool(r, fail, arena_printf(r->a, "%s.failRequestsGreaterThanOne", path), &s->fail_requests_greater_than_one);
    const char *list_path = arena_printf(r->a, "%s.resources", path);
    if (failed == 0)
        failed = config_list(r, json_get(v, "resources"), list_path, &list);
    if (failed < 0)
        return failed;
    if (!list || !list->n)
        return config_fail(r, list_path, "no resource is listed; write - name: nvidia.com/gpu and replicas: N");
    s->resources = arena_zero(r->a, list->n, sizeof *s->resources);
    JSON_EACH (item, list) {
        const char *entry = arena_printf(r->a, "%s[%u]", list_path, s->resources_n);
        failed = read_entry(r, item, entry, s, least, &s->resources[s->resources_n++]);
        if (failed == 0)
            failed = check_twice(r, s, entry);
        if (failed < 0)
            return failed;
    }
    s->present = true;
    return 0;
}

int config_read_sharing(struct config_reader *r, const struct json *sharing)
{
    static const char *const keys[] = {"timeSlicing", "mps", "keti"};
    const struct json *v;
    int failed = config_object(r, sharing, "sharing", keys, sizeof keys / sizeof *keys, &v);
    if (failed == 0)
        failed = read_kind(r, json_get(v, "timeSlicing"), "sharing.timeSlicing", 2, &r->c->time_slicing);
    if (failed == 0) /* one share is of use with MPS: a client alone, under the daemon's limits */
        failed = read_kind(r, json_get(v, "mps"), "sharing.mps", 1, &r->c->mps);
    return failed < 0 ? failed : config_read_keti(r, json_get(v, "keti"));
}

static int read_patterns(struct config_reader *r, const struct json *v, const char *path, struct resource_pattern **ret_patterns,
                         uint32_t *ret_n)
{
    static const char *const keys[] = {"pattern", "name"};
    const struct json *list, *object;
    uint32_t n = 0;
    int failed = config_list(r, v, path, &list);
    if (failed < 0 || !list || !list->n)
        return failed;
    struct resource_pattern *patterns = arena_zero(r->a, list->n, sizeof *patterns);
    JSON_EACH (item, list) {
        const char *entry = arena_printf(r->a, "%s[%u]", path, n);
        failed = config_object(r, item, entry, keys, 2, &object);
        for (int k = 0; k < 2 && failed == 0; k++)
            if (!json_get(object, keys[k]))
                failed = config_fail(r, entry, "'%s' is missing; write pattern: (product or MIG profile, '*' for any) and name:", keys[k]);
        if (failed == 0)
            failed = config_text(r, json_get(object, "pattern"), arena_printf(r->a, "%s.pattern", entry), &patterns[n].pattern);
        if (failed == 0)
            failed = config_resource_name(r, json_get(object, "name"), arena_printf(r->a, "%s.name", entry), &patterns[n].name);
        if (failed < 0)
            return failed;
        n++;
    }
    *ret_patterns = patterns;
    *ret_n = n;
    return 0;
}

int config_read_resources(struct config_reader *r, const struct json *resources)
{
    static const char *const keys[] = {"gpus", "mig"};
    const struct json *v;
    int failed = config_object(r, resources, "resources", keys, 2, &v);
    if (failed == 0)
        failed = read_patterns(r, json_get(v, "gpus"), "resources.gpus", &r->c->gpu_patterns, &r->c->gpu_patterns_n);
    return failed < 0 ? failed : read_patterns(r, json_get(v, "mig"), "resources.mig", &r->c->mig_patterns, &r->c->mig_patterns_n);
}
