/* operator_values.c - one pass over the top-level keys: each is served, or said to be of no use here */
#include "sim/node/operator_values.h"
#include "wire/yaml.h"

#define VALUES_MAX_BYTES (1u << 20)
#define SETTINGS_MAX 64

/* Keys of the operator's chart that ask for nothing on a simulated node. */
static const struct {
    const char *key, *why;
} unserved[] = {
    {"driver", "the driver is assumed present: nothing is installed"},
    {"toolkit", "the container toolkit is assumed present: nothing is installed"},
    {"operator", "there is no operator to set up"},
    {"validator", "there is nothing to validate: nodes offer what they have at once"},
    {"dcgm", "there is no DCGM on simulated nodes"},
    {"dcgmExporter", "simulated nodes have their metrics without it: /api/v1/nodes/NODE:9400/proxy/metrics"},
    {"nodeStatusExporter", "the node's conditions and events say it"},
    {"nfd", "node feature discovery is assumed present"},
    {"cdi", "how devices reach a container makes no difference to simulated pods"},
    {"psa", "no pods of the operator are made"},
    {"daemonsets", "no pods of the operator are made"},
    {"gds", NULL},
    {"gdrcopy", NULL},
    {"vgpuManager", NULL},
    {"vgpuDeviceManager", NULL},
    {"vfioManager", NULL},
    {"kataManager", NULL},
    {"kataSandboxDevicePlugin", NULL},
    {"ccManager", NULL},
    {"sandboxWorkloads", NULL},
    {"sandboxDevicePlugin", NULL},
    {"draDriver", NULL},
    {"gpuCluster", NULL},
    {"hostPaths", NULL},
    {"platform", NULL},
    {"nameOverride", NULL},
    {"fullnameOverride", NULL},
    {"node-feature-discovery", NULL},
};

struct reader {
    struct arena *a;
    struct operator_values *values;
    struct buf *warnings;
    struct err *e;
};

static void warn(struct reader *r, const char *path, const char *why)
{
    if (r->warnings)
        buf_printf(r->warnings, "%s: %s\n", path, why ? why : "has no meaning for simulated nodes");
}

static int take_text(struct reader *r, const struct json *v, const char *path, const char **ret_text)
{
    *ret_text = "";
    if (!v || v->type == JSON_NULL)
        return 0;
    if (!json_is(v, JSON_STRING))
        return err_set(r->e, E_INVALID, "%s: expected a text", path);
    *ret_text = v->text;
    return 0;
}

static int take_switch(struct reader *r, const struct json *object, const char *path, bool *ret_off)
{
    const struct json *v = json_get(object, "enabled");
    if (v && !json_is(v, JSON_BOOL))
        return err_set(r->e, E_INVALID, "%s.enabled: expected true or false", path);
    *ret_off = v && !v->truth;
    return 0;
}

static int take_config(struct reader *r, const struct json *v, const char *path, struct operator_config *ret_config)
{
    if (v && v->type != JSON_NULL && !json_is(v, JSON_OBJECT))
        return err_set(r->e, E_INVALID, "%s: expected an object with name and default", path);
    JSON_EACH (member, v) {
        const char *key = member->key, *at = arena_printf(r->a, "%s.%s", path, key);
        int failed = 0;
        if (text_equal(key, "name"))
            failed = take_text(r, member, at, &ret_config->name);
        else if (text_equal(key, "default"))
            failed = take_text(r, member, at, &ret_config->preset);
        else if (text_equal(key, "data") && json_is(member, JSON_OBJECT) && member->n > 0)
            ret_config->data = member;
        else if (!text_equal(key, "data") && !text_equal(key, "create"))
            warn(r, at, "is not a key of the operator's chart");
        if (failed < 0)
            return failed;
    }
    return 0;
}

static int add_setting(struct reader *r, const char *path, const char *value, const char *from)
{
    if (r->values->settings_n == SETTINGS_MAX)
        return err_set(r->e, E_LIMIT, "more than %d settings", SETTINGS_MAX);
    r->values->settings[r->values->settings_n++] = (struct config_setting){path, value, from};
    return 0;
}

static int take_environment(struct reader *r, const struct json *list, const char *path)
{
    char **environment = arena_zero(r->a, SETTINGS_MAX + 1, sizeof *environment);
    uint32_t n = 0;
    JSON_EACH (item, list) {
        const char *name = json_get_text(item, "name", NULL), *value = json_get_text(item, "value", NULL);
        if (!name || !value || n == SETTINGS_MAX)
            return err_set(r->e, E_INVALID, "%s: expected a list of {name, value}, both texts, at most %d", path,
                           SETTINGS_MAX);
        environment[n] = arena_printf(r->a, "%s=%s", name, value);
        struct config_setting *one;
        char *pair[2] = {environment[n++], NULL};
        uint32_t understood_n = config_settings_of_environment(r->a, pair, &one);
        if (understood_n == 0)
            warn(r, arena_printf(r->a, "%s[%s]", path, name), NULL);
        for (uint32_t i = 0; i < understood_n; i++)
            if (add_setting(r, one[i].path, one[i].value, one[i].from) < 0)
                return -E_LIMIT;
    }
    return 0;
}

static int take_arguments(struct reader *r, const struct json *list)
{
    JSON_EACH (item, list) {
        const char *text = json_text(item, NULL), *path = NULL;
        if (!text)
            return err_set(r->e, E_INVALID, "devicePlugin.args: expected a list of texts like --mig-strategy=mixed");
        const char *equal = strchr(text, '=');
        const char *flag = text_starts(text, "--") ? text + 2 : text;
        const char *name = arena_text_n(r->a, flag, equal ? (size_t)(equal - flag) : strlen(flag));
        if (!config_setting_of_flag(name, &path, NULL))
            warn(r, arena_printf(r->a, "devicePlugin.args[%s]", text), NULL);
        else if (add_setting(r, path, equal ? equal + 1 : "true", arena_printf(r->a, "--%s", name)) < 0)
            return -E_LIMIT;
    }
    return 0;
}

static bool is_image_key(const char *key)
{
    static const char *const keys[] = {"repository",       "image",    "version", "imagePullPolicy",
                                       "imagePullSecrets", "resources"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (text_equal(key, keys[i]))
            return true;
    return false;
}

static int read_device_plugin(struct reader *r, const struct json *v)
{
    int failed = take_switch(r, v, "devicePlugin", &r->values->device_plugin_off);
    JSON_EACH (member, v) {
        const char *key = member->key;
        if (failed < 0)
            return failed;
        if (text_equal(key, "config"))
            failed = take_config(r, member, "devicePlugin.config", &r->values->device_plugin);
        else if (text_equal(key, "env"))
            failed = take_environment(r, member, "devicePlugin.env");
        else if (text_equal(key, "args"))
            failed = take_arguments(r, member);
        else if (is_image_key(key))
            warn(r, arena_printf(r->a, "devicePlugin.%s", key), "the device plugin is built in");
        else if (!text_equal(key, "enabled"))
            warn(r, arena_printf(r->a, "devicePlugin.%s", key), NULL);
    }
    return failed;
}

static int read_mig_manager(struct reader *r, const struct json *v)
{
    int failed = take_switch(r, v, "migManager", &r->values->mig_off);
    JSON_EACH (member, v) {
        if (failed < 0)
            return failed;
        if (text_equal(member->key, "config"))
            failed = take_config(r, member, "migManager.config", &r->values->mig);
        else if (!text_equal(member->key, "enabled"))
            warn(r, arena_printf(r->a, "migManager.%s", member->key), "the MIG manager is built in");
    }
    return failed;
}

static int read_mig(struct reader *r, const struct json *v)
{
    JSON_EACH (member, v) {
        const char *text = json_text(member, NULL);
        if (!text_equal(member->key, "strategy"))
            warn(r, arena_printf(r->a, "mig.%s", member->key), "is not a key of the operator's chart");
        else if (!text)
            return err_set(r->e, E_INVALID, "mig.strategy: expected none, single or mixed");
        else if (add_setting(r, "flags.migStrategy", text, "mig.strategy") < 0)
            return -E_LIMIT;
    }
    return 0;
}

static int read_member(struct reader *r, const struct json *v)
{
    const char *key = v->key;
    if (text_equal(key, "devicePlugin"))
        return read_device_plugin(r, v);
    if (text_equal(key, "migManager"))
        return read_mig_manager(r, v);
    if (text_equal(key, "mig"))
        return 0; /* read first */
    if (text_equal(key, "gfd")) {
        if (json_is(json_get(v, "enabled"), JSON_BOOL) && !json_get_bool(v, "enabled", true))
            warn(r, "gfd.enabled", "labels are written all the same");
        return take_environment(r, json_get(v, "env"), "gfd.env");
    }
    for (size_t i = 0; i < sizeof unserved / sizeof *unserved; i++)
        if (text_equal(key, unserved[i].key)) {
            warn(r, key, unserved[i].why);
            return 0;
        }
    warn(r, key, "is not a key of the operator's chart");
    return 0;
}

int operator_values_parse(struct arena *a, struct bytes yaml, struct operator_values *ret_values, struct buf *warnings,
                          struct err *e)
{
    struct operator_values values = {.device_plugin = {"", "", NULL}, .mig = {"", "", NULL}};
    struct json *documents = NULL;
    if (yaml.n > VALUES_MAX_BYTES)
        return err_set(e, E_LIMIT, "larger than %u bytes", VALUES_MAX_BYTES);
    int r = yaml_parse(a, yaml, &documents, NULL, e);
    if (r < 0)
        return r;
    const struct json *root = json_item(documents, 0);
    if (root && (documents->n > 1 || !json_is(root, JSON_OBJECT)))
        return err_set(e, E_INVALID, "expected one YAML document with the keys of the operator's chart");
    values.settings = arena_alloc(a, SETTINGS_MAX * sizeof *values.settings);
    struct reader reader = {a, &values, warnings, e};
    if ((r = read_mig(&reader, json_get(root, "mig"))) < 0)
        return r;
    JSON_EACH (member, root)
        if ((r = read_member(&reader, member)) < 0)
            return r;
    struct agent_config tried;
    if ((r = agent_config_parse(a, (struct bytes){"", 0}, values.settings, values.settings_n, &tried, warnings, e)) < 0)
        return r;
    *ret_values = values;
    return 0;
}
