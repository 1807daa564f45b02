/* config.c - the config document: version, parts, ConfigMap manifests, and what does not go together */
#include "agent/config.h"
#include <stdio.h>
#include "agent/config_part.h"
#include "base/limits.h"
#include "codec/validate_name.h"
#include "codec/validate_suggest.h"
#include "wire/yaml.h"

#define PREFIX "nvidia.com/"
#define RESOURCE_NAME_MAX 63 /* SOURCE NVIDIA's plugin: prefix and name together */

int config_fail(struct config_reader *r, const char *path, const char *format, ...)
{
    char text[ERR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args); /* cut is fine */
    va_end(args);
    return err_set(r->e, E_INVALID, "%s%.200s: %s", r->prefix, path, text);
}

void config_warn(struct config_reader *r, const char *path, const char *format, ...)
{
    va_list args;
    if (!r->warnings)
        return;
    buf_printf(r->warnings, "%s%s: ", r->prefix, path);
    va_start(args, format);
    buf_vprintf(r->warnings, format, args);
    va_end(args);
    buf_char(r->warnings, '\n');
}

const char *config_shown(struct config_reader *r, const char *text)
{
    size_t n = strlen(text);
    char *copy = arena_text_n(r->a, text, n > 60 ? 60 : n);
    for (char *p = copy; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
    return n > 60 ? arena_printf(r->a, "%s...", copy) : copy;
}

const char *config_kind(struct config_reader *r, const struct json *v)
{
    if (!v || v->type == JSON_NULL)
        return "nothing";
    if (v->type == JSON_STRING)
        return arena_printf(r->a, "the text \"%s\"", config_shown(r, v->text));
    if (v->type == JSON_NUMBER)
        return arena_printf(r->a, "the number %s", config_shown(r, v->text));
    if (v->type == JSON_BOOL)
        return v->truth ? "true" : "false";
    return v->type == JSON_ARRAY ? "a list" : "an object";
}

static int unknown_key(struct config_reader *r, const char *path, const char *key, const char *const *keys, size_t keys_n)
{
    const char *best = NULL;
    size_t n = strlen(key), least = n < 4 ? 2 : n < 10 ? 4 : 6;
    struct buf all = {0};
    for (size_t i = 0; i < keys_n; i++) {
        size_t distance = n > 100 ? least : suggest_distance(key, keys[i], least);
        if (distance < least) {
            best = keys[i];
            least = distance;
        }
        buf_printf(&all, "%s%s", i ? ", " : "", keys[i]);
    }
    const char *full = arena_printf(r->a, "%s%s%s", path, *path ? "." : "", config_shown(r, key));
    int failed = best ? config_fail(r, full, "unknown key; did you mean '%s'?", best)
                      : config_fail(r, full, "unknown key; there are %s", all.data ? all.data : "none");
    buf_free(&all);
    return failed;
}

int config_object(struct config_reader *r, const struct json *v, const char *path, const char *const *keys, size_t keys_n,
                  const struct json **ret_v)
{
    *ret_v = NULL;
    if (!v || v->type == JSON_NULL)
        return 0;
    if (v->type != JSON_OBJECT)
        return config_fail(r, *path ? path : "config", "expected keys and values, found %s", config_kind(r, v));
    JSON_EACH (member, v) {
        bool known = false;
        for (size_t i = 0; i < keys_n && !known; i++)
            known = text_equal(member->key, keys[i]);
        if (!known)
            return unknown_key(r, path, member->key, keys, keys_n);
    }
    *ret_v = v;
    return 0;
}

int config_list(struct config_reader *r, const struct json *v, const char *path, const struct json **ret_v)
{
    *ret_v = NULL;
    if (!v || v->type == JSON_NULL)
        return 0;
    if (v->type != JSON_ARRAY)
        return config_fail(r, path, "expected a list, found %s", config_kind(r, v));
    if (v->n > LIMIT_AGENT_CONFIG_ENTRIES)
        return config_fail(r, path, "%u entries, at most %d are taken", v->n, LIMIT_AGENT_CONFIG_ENTRIES);
    *ret_v = v;
    return 0;
}

int config_bool(struct config_reader *r, const struct json *v, const char *path, bool *ret_value)
{
    if (!json_is(v, JSON_BOOL))
        return config_fail(r, path, "expected true or false, found %s", config_kind(r, v));
    *ret_value = v->truth;
    return 0;
}

int config_text(struct config_reader *r, const struct json *v, const char *path, const char **ret_value)
{
    if (!json_is(v, JSON_STRING))
        return config_fail(r, path, "expected a text, found %s%s", config_kind(r, v),
                           json_is(v, JSON_NUMBER) || json_is(v, JSON_BOOL) ? " (put it in quotes)" : "");
    if (strlen(v->text) != v->n || v->n > 4096)
        return config_fail(r, path, "the text is too long or holds a NUL character");
    *ret_value = arena_text(r->a, v->text);
    return 0;
}

int config_count(struct config_reader *r, const struct json *v, const char *path, int64_t min, int64_t max, uint32_t *ret_value)
{
    int64_t value = json_int64(v, INT64_MIN);
    if (!json_is(v, JSON_NUMBER) || value < min || value > max)
        return config_fail(r, path, "expected a whole number from %lld to %lld, found %s", (long long)min, (long long)max,
                           config_kind(r, v));
    *ret_value = (uint32_t)value;
    return 0;
}

int config_resource_name(struct config_reader *r, const struct json *v, const char *path, const char **ret_name)
{
    const char *text;
    int failed = config_text(r, v, path, &text);
    if (failed < 0)
        return failed;
    const char *name = text_starts(text, PREFIX) ? text + strlen(PREFIX) : text;
    if (strchr(name, '/'))
        return config_fail(r, path, "'%s' has a prefix other than " PREFIX "; write '%s'", config_shown(r, text),
                           config_shown(r, strrchr(name, '/') + 1));
    if (!name_is_dns_subdomain(bytes_of(name)))
        return config_fail(r, path, "'%s' is no resource name: lower case letters, digits, '-' and '.', as in " PREFIX "gpu",
                           config_shown(r, text));
    if (strlen(PREFIX) + strlen(name) > RESOURCE_NAME_MAX)
        return config_fail(r, path, "'%s' is longer than %d characters with " PREFIX, config_shown(r, name), RESOURCE_NAME_MAX);
    *ret_name = arena_printf(r->a, PREFIX "%s", name);
    return 0;
}

void agent_config_default(struct agent_config *c)
{
    *c = (struct agent_config){
        .fail_on_init_error = true,
        .mps_root = "/run/nvidia/mps",
        .driver_root = "/",
        .dev_root = "/",
        .device_discovery_strategy = "auto",
        .device_list_strategies = DEVICE_LIST_ENVVAR,
        .cdi_annotation_prefix = "cdi.k8s.io/",
        .cdi_hook_path = "/usr/bin/nvidia-ctk",
        .container_driver_root = "/driver-root",
        .gfd_sleep_ms = 60000,
        .gfd_output_file = "/etc/kubernetes/node-feature-discovery/features.d/gfd",
        .gfd_machine_type_file = "/sys/class/dmi/id/product_name",
        .mps = {.fail_requests_greater_than_one = true},
    };
}

static int check_version(struct config_reader *r, const struct json *version)
{
    if (!version || version->type == JSON_NULL)
        return 0;
    if (!json_is(version, JSON_STRING) || (version->n && !text_equal(version->text, "v1")))
        return config_fail(r, "version", "unknown version: found %s; write v1", config_kind(r, version));
    return 0;
}

static int read_document(struct config_reader *r, const struct json *doc)
{
    static const char *const keys[] = {"version", "flags", "resources", "sharing", "imex"};
    const struct json *v;
    if (json_get(doc, "mig-configs"))
        return config_fail(r, "mig-configs", "this is a config of the MIG manager, not of the device plugin");
    int failed = config_object(r, doc, "", keys, sizeof keys / sizeof *keys, &v);
    if (failed == 0)
        failed = check_version(r, json_get(v, "version"));
    if (failed == 0)
        failed = config_read_flags(r, json_get(v, "flags"));
    if (failed == 0)
        failed = config_read_resources(r, json_get(v, "resources"));
    if (failed == 0)
        failed = config_read_sharing(r, json_get(v, "sharing"));
    return failed < 0 ? failed : config_read_imex(r, json_get(v, "imex"));
}

/* The only document of the text; NULL when there is none. */
static int parse_text(struct config_reader *r, struct bytes text, const struct json **ret_doc)
{
    struct json *docs;
    struct json_parse_info info;
    *ret_doc = NULL;
    if (text.n > LIMIT_AGENT_CONFIG_BYTES)
        return err_set(r->e, E_LIMIT, "%sconfig: %zu bytes; at most %u are taken", r->prefix, text.n, LIMIT_AGENT_CONFIG_BYTES);
    if (!text.n)
        return 0;
    int failed = yaml_parse(r->a, text, &docs, &info, r->e);
    if (failed < 0)
        return err_wrap(r->e, "%sconfig", r->prefix);
    if (info.duplicate_n)
        return config_fail(r, config_shown(r, info.duplicate[0]), "the key is there twice; keep one");
    if (docs->n > 1)
        return config_fail(r, "config", "%u YAML documents; one is wanted (remove '---')", docs->n);
    *ret_doc = docs->first && docs->first->type != JSON_NULL ? docs->first : NULL;
    return 0;
}

/* A ConfigMap manifest: its only key is the config. */
static int unwrap(struct config_reader *r, const struct json **doc)
{
    const char *kind = json_get_text(*doc, "kind", NULL);
    if (!kind || !json_get(*doc, "apiVersion"))
        return 0;
    if (!text_equal(kind, "ConfigMap"))
        return config_fail(r, "kind", "this is a manifest of kind %s; give a device plugin config (version: v1) or its ConfigMap",
                           config_shown(r, kind));
    const struct json *data = json_get(*doc, "data"), *only = json_first(data);
    if (!json_is(data, JSON_OBJECT) || !only)
        return config_fail(r, "data", "the ConfigMap has no key; a config stands under one, as in data: {any: |...}");
    if (only->next) {
        _cleanup_buf_ struct buf keys = {0};
        JSON_EACH (key, data)
            if (keys.n < 200)
                buf_printf(&keys, "%s%s", keys.n ? ", " : "", config_shown(r, key->key));
        return config_fail(r, "data", "%u keys (%s): save the one that is meant as a file of its own, or name the ConfigMap and let the "
                                      "node label nvidia.com/device-plugin.config choose",
                           data->n, keys.data);
    }
    const char *path = arena_printf(r->a, "data.%s", config_shown(r, only->key));
    if (!json_is(only, JSON_STRING))
        return config_fail(r, path, "expected a text (write '%s: |'), found %s", config_shown(r, only->key), config_kind(r, only));
    r->prefix = arena_printf(r->a, "%s: ", path);
    return parse_text(r, json_bytes(only), doc);
}

static const char *shares_name(const struct sharing_resource *s)
{
    return s->rename ? s->rename : s->name;
}

/* What each part allows alone and not together. */
static int check_together(struct config_reader *r)
{
    struct agent_config *c = r->c;
    for (uint32_t i = 0; i < c->mps.resources_n; i++)
        if (text_starts(c->mps.resources[i].name, PREFIX "mig-"))
            config_warn(r, arena_printf(r->a, "sharing.mps.resources[%u]", i),
                        "a MIG device takes fewer MPS clients than a GPU, in proportion to its slices (NVIDIA's plugin refuses this)");
    for (uint32_t i = 0; c->mps.present && i < c->time_slicing.resources_n; i++)
        for (uint32_t k = 0; k < c->mps.resources_n; k++) {
            const struct sharing_resource *slice = &c->time_slicing.resources[i], *mps = &c->mps.resources[k];
            if (slice->devices_all && mps->devices_all && text_equal(slice->name, mps->name))
                config_warn(r, arena_printf(r->a, "sharing.timeSlicing.resources[%u]", i),
                            "has no effect: sharing.mps takes every %s", mps->name);
            else if (text_equal(shares_name(slice), shares_name(mps)))
                return config_fail(r, arena_printf(r->a, "sharing.timeSlicing.resources[%u]", i),
                                   "%s would hold time slices and MPS shares; give one of them a 'rename'", shares_name(mps));
        }
    if (c->gfd_oneshot)
        config_warn(r, "flags.gfd.oneshot", "has no effect: the agent keeps running and updates labels when something changes; use capstan agent --once");
    if (c->use_node_feature_api)
        config_warn(r, "flags.useNodeFeatureAPI", "has no effect: labels are written to the node itself, and to flags.gfd.outputFile where "
                                                  "node feature discovery is installed");
    if (c->imex_required && !c->imex_channel_zero)
        config_warn(r, "imex.required", "has no effect: imex.channelIDs is empty; write channelIDs: [0]");
    return 0;
}

int agent_config_parse(struct arena *a, struct bytes text, const struct config_setting *settings, uint32_t settings_n,
                       struct agent_config *ret_config, struct buf *warnings, struct err *e)
{
    struct agent_config config;
    struct err local = {0};
    struct config_reader r = {.a = a, .c = &config, .warnings = warnings, .prefix = "", .e = e ? e : &local};
    const struct json *doc;
    agent_config_default(&config);
    config.dev_root = NULL;
    int failed = parse_text(&r, text, &doc);
    if (failed == 0 && doc)
        failed = unwrap(&r, &doc);
    if (failed == 0 && doc)
        failed = read_document(&r, doc);
    r.prefix = "";
    for (uint32_t i = 0; failed == 0 && i < settings_n; i++)
        failed = config_apply_setting(&r, &settings[i]);
    if (!config.dev_root || !*config.dev_root)
        config.dev_root = config.driver_root;
    if (failed == 0)
        failed = check_together(&r);
    if (failed < 0)
        return failed;
    *ret_config = config;
    return 0;
}
