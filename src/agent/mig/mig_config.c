/* mig_config.c - reading the mig-parted file, strictly */
#include "agent/mig/mig_config.h"
#include "agent/config/config_part.h"
#include "base/limits.h"

#define COUNT_MAX 1000 /* no GPU has as many; keeps sums small */

/* A manifest of a ConfigMap: the file under config.yaml, or under its only key. */
static int unwrap(struct config_reader *r, const struct json **doc)
{
    const struct json *data;
    int is_map = config_manifest(r, *doc, "a mig-parted file", &data);
    if (is_map <= 0)
        return is_map;
    const struct json *file = json_get(data, "config.yaml");
    if (!file && json_is(data, JSON_OBJECT) && data->n == 1)
        file = json_first(data);
    return file ? config_manifest_key(r, file, doc) : config_fail(r, "data", "the ConfigMap has no key config.yaml");
}

/* ---- the parts of an entry ---- */

static bool take_hex(const char **at, uint32_t *ret_value)
{
    uint32_t value = 0, digits_n = 0;
    if (!text_starts(*at, "0x") && !text_starts(*at, "0X"))
        return false;
    for (*at += 2; **at && strchr("0123456789abcdefABCDEF", **at); (*at)++) {
        uint32_t digit = (uint32_t)(**at <= '9' ? **at - '0' : (**at | 0x20) - 'a' + 10);
        if (++digits_n > 8)
            return false;
        value = value << 4 | digit;
    }
    *ret_value = value;
    return digits_n > 0;
}

static int read_filter(struct config_reader *r, const struct json *v, const char *path, uint64_t *ret_filter)
{
    const char *text;
    uint32_t device = 0, subsystem = 0;
    int failed = config_text(r, v, path, &text);
    if (failed < 0)
        return failed;
    const char *at = text;
    bool ok = take_hex(&at, &device) && device;
    if (ok && *at == ':') {
        at++;
        ok = take_hex(&at, &subsystem) && subsystem;
    }
    if (!ok || *at)
        return config_fail(r, path, "'%s' is no device filter: device and vendor in hexadecimal, \"0x233010DE\", with a subsystem "
                                    "\"0x233010DE:0x16C110DE\"", config_shown(r, text));
    *ret_filter = (uint64_t)subsystem << 32 | device;
    return 0;
}

static int read_filters(struct config_reader *r, const struct json *v, const char *path, struct mig_config_entry *entry)
{
    if (!v || v->type == JSON_NULL || (v->type == JSON_STRING && !*v->text))
        return 0; /* every model */
    if (v->type == JSON_STRING) {
        uint64_t *one = arena_zero(r->a, 1, sizeof *one);
        entry->filters = one;
        entry->filters_n = 1;
        return read_filter(r, v, path, one);
    }
    if (v->type != JSON_ARRAY)
        return config_fail(r, path, "expected a text or a list of texts, found %s (put it in quotes: \"0x233010DE\")",
                           config_kind(r, v));
    const struct json *list;
    int failed = config_list(r, v, path, &list);
    if (failed < 0)
        return failed;
    if (!list->n)
        return config_fail(r, path, "an empty list selects nothing; leave device-filter out to select every model");
    uint64_t *filters = arena_zero(r->a, list->n, sizeof *filters);
    entry->filters = filters;
    JSON_EACH (item, list) {
        failed = read_filter(r, item, arena_printf(r->a, "%s[%u]", path, entry->filters_n), &filters[entry->filters_n]);
        if (failed < 0)
            return failed;
        entry->filters_n++;
    }
    return 0;
}

static int read_devices(struct config_reader *r, const struct json *v, const char *path, struct mig_config_entry *entry)
{
    const struct json *list;
    if (json_is(v, JSON_STRING) && text_equal(v->text, "all")) {
        entry->devices_all = true;
        return 0;
    }
    if (!json_is(v, JSON_ARRAY))
        return config_fail(r, path, "expected all or a list of GPU indexes ([0, 1]), found %s", config_kind(r, v));
    int failed = config_list(r, v, path, &list);
    if (failed < 0)
        return failed;
    uint32_t *devices = arena_zero(r->a, list->n, sizeof *devices);
    entry->devices = devices;
    JSON_EACH (item, list) {
        failed = config_count(r, item, arena_printf(r->a, "%s[%u]", path, entry->devices_n), 0, 65535,
                              &devices[entry->devices_n]);
        if (failed < 0)
            return failed;
        entry->devices_n++;
    }
    return 0;
}

static int read_wishes(struct config_reader *r, const struct json *v, const char *path, struct mig_config_entry *entry)
{
    uint64_t sum = 0;
    if (!json_is(v, JSON_OBJECT))
        return config_fail(r, path, "expected profiles and counts ({\"1g.10gb\": 7}), found %s", config_kind(r, v));
    if (v->n > LIMIT_AGENT_CONFIG_ENTRIES)
        return config_fail(r, path, "%u profiles, at most %d are taken", v->n, LIMIT_AGENT_CONFIG_ENTRIES);
    struct mig_config_wish *wishes = arena_zero(r->a, v->n, sizeof *wishes);
    entry->wishes = wishes;
    JSON_EACH (item, v) {
        const char *item_path = arena_printf(r->a, "%s[\"%s\"]", path, config_shown(r, item->key));
        if (strlen(item->key) != item->key_n || !mig_name_is_valid(item->key))
            return config_fail(r, item_path, "no MIG profile: write one as 1g.10gb, 1g.10gb+me or 1c.3g.40gb");
        struct mig_config_wish *w = &wishes[entry->wishes_n++];
        w->profile = arena_text(r->a, item->key);
        int failed = config_count(r, item, item_path, 0, COUNT_MAX, &w->n);
        if (failed < 0)
            return failed;
        sum += w->n;
    }
    if (v->n && !sum)
        return config_fail(r, path, "every count is 0; write {} for MIG mode on without instances");
    return 0;
}

static int read_entry(struct config_reader *r, const struct json *v, const char *path, struct mig_config_entry *entry)
{
    static const char *const keys[] = {"device-filter", "devices", "mig-enabled", "mig-devices"};
    const struct json *o;
    int failed = config_object(r, v, path, keys, sizeof keys / sizeof *keys, &o);
    if (failed < 0)
        return failed;
    const struct json *devices = json_get(o, "devices"), *enabled = json_get(o, "mig-enabled"), *wishes = json_get(o, "mig-devices");
    if (!devices)
        return config_fail(r, arena_printf(r->a, "%s.devices", path), "is missing; write all or a list of GPU indexes");
    if (!enabled)
        return config_fail(r, arena_printf(r->a, "%s.mig-enabled", path), "is missing; write true or false");
    failed = read_devices(r, devices, arena_printf(r->a, "%s.devices", path), entry);
    if (failed == 0)
        failed = config_bool(r, enabled, arena_printf(r->a, "%s.mig-enabled", path), &entry->mig_enabled);
    if (failed == 0)
        failed = read_filters(r, json_get(o, "device-filter"), arena_printf(r->a, "%s.device-filter", path), entry);
    path = arena_printf(r->a, "%s.mig-devices", path);
    if (failed == 0 && wishes && wishes->type != JSON_NULL)
        failed = read_wishes(r, wishes, path, entry);
    else if (failed == 0 && entry->mig_enabled)
        return config_fail(r, path, "is missing where mig-enabled is true; write {} for MIG mode on without instances");
    if (failed == 0 && !entry->mig_enabled && entry->wishes_n)
        return config_fail(r, path, "has to be empty where mig-enabled is false");
    return failed;
}

static int read_layout(struct config_reader *r, const struct json *v, struct mig_layout *layout)
{
    const struct json *list;
    const char *path = arena_printf(r->a, "mig-configs.%s", config_shown(r, v->key));
    int failed = config_list(r, v, path, &list);
    if (failed < 0)
        return failed;
    if (!list || !list->n)
        return config_fail(r, path, "at least one entry is expected, with devices, mig-enabled and mig-devices");
    struct mig_config_entry *entries = arena_zero(r->a, list->n, sizeof *entries);
    layout->name = arena_text(r->a, v->key);
    layout->entries = entries;
    JSON_EACH (item, list) {
        failed = read_entry(r, item, arena_printf(r->a, "%s[%u]", path, layout->entries_n), &entries[layout->entries_n]);
        if (failed < 0)
            return failed;
        layout->entries_n++;
    }
    return 0;
}

static int check_top(struct config_reader *r, const struct json *doc)
{
    const struct json *version = json_get(doc, "version");
    if (!json_is(doc, JSON_OBJECT))
        return config_fail(r, "config", "expected keys and values, found %s", config_kind(r, doc));
    if (!version)
        return config_fail(r, "version", "is missing; write version: v1");
    if (!json_is(version, JSON_STRING) || !text_equal(version->text, "v1"))
        return config_fail(r, "version", "unknown version: found %s; write v1", config_kind(r, version));
    JSON_EACH (member, doc)
        if (!text_equal(member->key, "version") && !text_equal(member->key, "mig-configs"))
            return config_fail(r, config_shown(r, member->key), "unexpected field; there are version and mig-configs");
    return 0;
}

int mig_config_parse(struct arena *a, struct bytes text, struct mig_config *ret_config, struct err *e)
{
    struct config_reader r = {.a = a, .prefix = "", .e = e};
    const struct json *doc;
    int failed = config_document(&r, text, &doc);
    if (failed == 0 && doc)
        failed = unwrap(&r, &doc);
    if (failed == 0 && !doc)
        failed = config_fail(&r, "config", "the file is empty; it begins with 'version: v1' and 'mig-configs:'");
    if (failed == 0)
        failed = check_top(&r, doc);
    if (failed < 0)
        return failed;
    const struct json *layouts = json_get(doc, "mig-configs");
    if (!json_is(layouts, JSON_OBJECT) || !layouts->n)
        return config_fail(&r, "mig-configs", "at least one layout is expected, found %s",
                           json_is(layouts, JSON_OBJECT) ? "none" : config_kind(&r, layouts));
    if (layouts->n > LIMIT_AGENT_CONFIG_ENTRIES)
        return config_fail(&r, "mig-configs", "%u layouts, at most %d are taken", layouts->n, LIMIT_AGENT_CONFIG_ENTRIES);
    struct mig_layout *list = arena_zero(a, layouts->n, sizeof *list);
    uint32_t n = 0;
    JSON_EACH (item, layouts) {
        failed = read_layout(&r, item, &list[n++]);
        if (failed < 0)
            return failed;
    }
    *ret_config = (struct mig_config){list, n};
    return 0;
}

const struct mig_layout *mig_config_find(const struct mig_config *c, const char *name)
{
    for (uint32_t i = 0; i < c->layouts_n; i++)
        if (text_equal(c->layouts[i].name, name))
            return &c->layouts[i];
    return NULL;
}

/* ---- one GPU of the node ---- */

static bool entry_selects(const struct mig_config_entry *entry, const struct driver_gpu *gpu, bool *ret_by_index)
{
    bool selected = entry->devices_all, filtered = entry->filters_n == 0;
    *ret_by_index = false;
    for (uint32_t i = 0; i < entry->devices_n; i++)
        *ret_by_index |= entry->devices[i] == gpu->index;
    for (uint32_t i = 0; i < entry->filters_n; i++) {
        uint32_t subsystem = (uint32_t)(entry->filters[i] >> 32);
        filtered |= (uint32_t)entry->filters[i] == gpu->pci_device_id && (!subsystem || subsystem == gpu->pci_subsystem_id);
    }
    return filtered && (selected || *ret_by_index);
}

const struct gpu_model *mig_geometry(const struct driver_gpu *gpu)
{
    return gpu->geometry ? gpu->geometry : gpu_model_find(gpu->name);
}

/* A lost GPU tells nothing: it counts as one with MIG, unless its name says otherwise. */
static bool is_lost_with_mig(const struct driver_gpu *gpu)
{
    const struct gpu_model *m = gpu->lost && !gpu->mig_capable ? gpu_model_find(gpu->name) : NULL;
    return gpu->lost && !gpu->mig_capable && (!m || m->mig_slices);
}

int mig_layout_for(const struct mig_layout *l, const struct driver_gpu *gpu, bool *ret_mode_on, struct mig_wish *ret_wishes,
                   uint32_t wishes_max, uint32_t *ret_wishes_n, struct err *e)
{
    const struct mig_config_entry *entry = NULL;
    bool by_index = false, one_by_index;
    for (uint32_t i = 0; i < l->entries_n; i++)
        if (entry_selects(&l->entries[i], gpu, &one_by_index)) {
            entry = &l->entries[i];
            by_index = one_by_index;
        }
    if (entry && is_lost_with_mig(gpu)) {
        *ret_mode_on = entry->mig_enabled;
        *ret_wishes_n = 0;
        return 1;
    }
    if (!entry || (!gpu->mig_capable && !(by_index && entry->mig_enabled)))
        return 0;
    if (!gpu->mig_capable)
        return err_set(e, E_INVALID, "layout '%s': GPU %u (%s) has no MIG", l->name, gpu->index, gpu->name);
    const struct gpu_model *m = mig_geometry(gpu);
    if (!m && entry->wishes_n)
        return err_set(e, E_INVALID, "layout '%s': the driver tells no profiles of GPU %u (%s); turn its MIG mode on first", l->name,
                       gpu->index, gpu->name);
    if (entry->wishes_n > wishes_max)
        return err_set(e, E_LIMIT, "layout '%s': %u profiles for GPU %u, at most %u are taken", l->name, entry->wishes_n, gpu->index,
                       wishes_max);
    for (uint32_t i = 0; i < entry->wishes_n; i++) {
        int r = mig_wish_parse(m, entry->wishes[i].profile, &ret_wishes[i], e);
        if (r < 0) {
            (void)err_wrap(e, "layout '%s': GPU %u", l->name, gpu->index); /* the code below is the one to return */
            return -E_INVALID;
        }
        ret_wishes[i].n = entry->wishes[i].n;
    }
    *ret_wishes_n = entry->wishes_n;
    *ret_mode_on = entry->mig_enabled;
    return 1;
}
