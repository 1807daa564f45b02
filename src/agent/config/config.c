/* config.c - the config document: version, parts, ConfigMap manifests, and what does not go together */
#include "agent/config/config.h"
#include "agent/config/config_part.h"

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
        .gfd_output_file = CONFIG_OUTPUT_FILE,
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

/* A ConfigMap manifest: its only key is the config. */
static int unwrap(struct config_reader *r, const struct json **doc)
{
    const struct json *data, *only;
    int is_map = config_manifest(r, *doc, "a device plugin config", &data);
    if (is_map <= 0)
        return is_map;
    only = json_first(data);
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
    return config_manifest_key(r, only, doc);
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
        if (text_starts(c->mps.resources[i].name, "nvidia.com/mig-"))
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
        config_warn(r, "flags.gfd.oneshot", "has no effect in a file: the agent keeps running and updates labels when something "
                                            "changes; use capstan agent --once");
    if (c->use_node_feature_api)
        config_warn(r, "flags.useNodeFeatureAPI", "has no effect: labels are written to the node itself, and to flags.gfd.outputFile where "
                                                  "node feature discovery is installed");
    if (c->imex_required && !c->imex_channel_zero)
        config_warn(r, "imex.required", "has no effect: imex.channelIDs is empty; write channelIDs: [0]");
    return 0;
}

static int apply_settings(struct config_reader *r, const struct config_setting *settings, uint32_t n, bool weak)
{
    int failed = 0;
    for (uint32_t i = 0; failed == 0 && i < n; i++)
        if (settings[i].weak == weak)
            failed = config_apply_setting(r, &settings[i]);
    return failed;
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
    int failed = apply_settings(&r, settings, settings_n, true);
    if (failed == 0)
        failed = config_document(&r, text, &doc);
    if (failed == 0 && doc)
        failed = unwrap(&r, &doc);
    if (failed == 0 && doc)
        failed = read_document(&r, doc);
    r.prefix = "";
    if (failed == 0)
        failed = apply_settings(&r, settings, settings_n, false);
    if (!config.dev_root || !*config.dev_root)
        config.dev_root = config.driver_root;
    if (failed == 0)
        failed = check_together(&r);
    if (failed < 0)
        return failed;
    *ret_config = config;
    return 0;
}
