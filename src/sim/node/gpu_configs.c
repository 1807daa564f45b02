/* gpu_configs.c - kept ConfigMaps, found by key, name or both; parsed when first asked for */
#include "sim/node/gpu_configs.h"
#include <stdlib.h>
#include "agent/config/config_choice.h"
#include "base/collections/map.h"
#include "sim/node/operator_values.h"
#include "wire/yaml.h"

struct kept {
    struct arena *arena;
    struct json *data;  /* key -> text */
    struct map *parsed; /* key -> struct gpu_config * */
};
struct gpu_configs {
    struct map *maps; /* name -> struct kept */
    struct arena *values_arena;
    struct operator_values values;
    struct kept bare; /* only `parsed`: the values without a ConfigMap */
};

static struct gpu_config *config_ref(struct gpu_config *c)
{
    if (c)
        c->refs++;
    return c;
}

void gpu_config_unref(struct gpu_config *c)
{
    if (!c || --c->refs > 0)
        return;
    arena_free(c->arena);
    free(c->from);
    free(c);
}

/* ---- keeping ---- */

static void forget_parsed(struct kept *k)
{
    size_t at = 0;
    struct bytes key;
    for (struct gpu_config **c; (c = map_next(k->parsed, &at, &key));)
        gpu_config_unref(*c);
    map_clear(k->parsed);
}

static void kept_fini(struct kept *k)
{
    forget_parsed(k);
    map_free(k->parsed);
    arena_free(k->arena);
}

struct gpu_configs *gpu_configs_new(void)
{
    struct gpu_configs *g = mem_zero(1, sizeof *g);
    g->maps = map_new(sizeof(struct kept));
    g->values = (struct operator_values){.device_plugin = {"", "", NULL}, .mig = {"", "", NULL}};
    return g;
}

void gpu_configs_free(struct gpu_configs *g)
{
    if (!g)
        return;
    size_t at = 0;
    struct bytes key;
    for (struct kept *k; (k = map_next(g->maps, &at, &key));)
        kept_fini(k);
    map_free(g->maps);
    if (g->bare.parsed)
        kept_fini(&g->bare);
    arena_free(g->values_arena);
    free(g);
}

/* Settings of the values take part in every configuration: what was parsed with the old ones is of no use. */
static void forget_all_parsed(struct gpu_configs *g)
{
    size_t at = 0;
    struct bytes key;
    for (struct kept *k; (k = map_next(g->maps, &at, &key));)
        forget_parsed(k);
    if (g->bare.parsed)
        forget_parsed(&g->bare);
}

static int put_map(struct gpu_configs *g, const char *name, const struct json *data, struct err *e)
{
    struct kept *k = map_find_text(g->maps, name);
    if (k)
        kept_fini(k);
    if (!data || !json_is(data, JSON_OBJECT)) {
        if (k)
            (void)map_remove(g->maps, bytes_of(name)); /* it is there */
        return 0;
    }
    if (!k && map_count(g->maps) >= GPU_CONFIGS_MAX)
        return err_set(e, E_LIMIT, "more than %d ConfigMaps in namespace %s: this one is not looked at",
                       GPU_CONFIGS_MAX, GPU_CONFIGS_NAMESPACE);
    k = map_put(g->maps, bytes_of(name), NULL);
    *k = (struct kept){.arena = arena_new(), .parsed = map_new(sizeof(struct gpu_config *))};
    k->data = json_clone(k->arena, data);
    return 0;
}

/* devicePlugin.config.data: the chart would make a ConfigMap of it. */
static void put_written_out(struct gpu_configs *g, struct operator_config *c, const char *name)
{
    if (c->data && !*c->name)
        c->name = name;
    if (c->data)
        (void)put_map(g, c->name, c->data, NULL); /* too many: then nodes say that it is missing */
}

static int put_values(struct gpu_configs *g, const struct json *data, struct buf *warnings, struct err *e)
{
    struct arena *a = arena_new();
    struct operator_values values = {.device_plugin = {"", "", NULL}, .mig = {"", "", NULL}};
    const struct json *text = json_first(data);
    int r = 0;
    if (data && (data->n != 1 || !json_is(text, JSON_STRING)))
        r = err_set(e, E_INVALID, "expected one key that holds the operator's values.yaml");
    else if (text)
        r = operator_values_parse(a, json_bytes(text), &values, warnings, e);
    if (r < 0) {
        arena_free(a);
        return r;
    }
    arena_free(g->values_arena);
    g->values_arena = a;
    g->values = values;
    forget_all_parsed(g);
    put_written_out(g, &g->values.device_plugin, "device-plugin-config");
    put_written_out(g, &g->values.mig, "mig-parted-config");
    return 0;
}

int gpu_configs_put(struct gpu_configs *g, const char *name, const struct json *config_map, struct buf *warnings,
                    struct err *e)
{
    const struct json *data = json_get(config_map, "data");
    return text_equal(name, GPU_CONFIGS_VALUES) ? put_values(g, data, warnings, e) : put_map(g, name, data, e);
}

/* ---- finding ---- */

/* A mig-parted file, not one of the device plugin: both have keys like config.yaml. */
static bool is_mig_text(const struct json *text)
{
    struct bytes b = json_bytes(text);
    for (size_t at = 0; at + 11 <= b.n; at++)
        if ((at == 0 || b.data[at - 1] == '\n') && memcmp(b.data + at, "mig-configs", 11) == 0)
            return true;
    return false;
}

static const struct json *plugin_text(const struct kept *k, const char *key)
{
    const struct json *text = json_get(k->data, key);
    return json_is(text, JSON_STRING) && !is_mig_text(text) ? text : NULL;
}

static bool sets_strategy(struct arena *a, const struct json *text)
{
    struct json *documents = NULL;
    return yaml_parse(a, json_bytes(text), &documents, NULL, NULL) == 0 &&
           json_path(json_item(documents, 0), "flags", "migStrategy", NULL) != NULL;
}

/* Settings of the values win over the file, as the operator's environment does; mixed is what nobody has to ask for. */
static int parse_with_settings(struct gpu_configs *g, struct gpu_config *c, const struct json *text, struct err *e)
{
    struct operator_values *v = &g->values;
    struct config_setting *settings = arena_alloc(c->arena, (v->settings_n + 1) * sizeof *settings);
    uint32_t n = 0;
    if (!sets_strategy(c->arena, text))
        settings[n++] = (struct config_setting){"flags.migStrategy", "mixed", "capstan up"};
    for (uint32_t i = 0; i < v->settings_n; i++)
        settings[n++] = (struct config_setting){arena_text(c->arena, v->settings[i].path),
                                                arena_text(c->arena, v->settings[i].value),
                                                arena_text(c->arena, v->settings[i].from)};
    int r = agent_config_parse(c->arena, json_bytes(text), settings, n, &c->plugin, NULL, e);
    c->plugin.gfd_no_timestamp = true;
    return r;
}

static struct gpu_config *parsed_before(const struct kept *k, const char *key)
{
    struct gpu_config **known = map_find_text(k->parsed, key);
    return known ? config_ref(*known) : NULL;
}

static int parse(struct gpu_configs *g, struct kept *k, const char *name, const struct json *text, bool is_mig,
                 struct gpu_config **ret_config, struct err *e)
{
    if ((*ret_config = parsed_before(k, text->key)))
        return 0;
    struct gpu_config *c = mem_zero(1, sizeof *c);
    struct buf from = {0};
    c->refs = 1;
    c->arena = arena_new();
    c->is_mig = is_mig;
    buf_printf(&from, "%s/%s/%s", GPU_CONFIGS_NAMESPACE, name, text->key);
    c->from = buf_take(&from, NULL);
    int r = is_mig ? mig_config_parse(c->arena, json_bytes(text), &c->mig, e) : parse_with_settings(g, c, text, e);
    if (r < 0) {
        err_wrap(e, "%s", c->from);
        gpu_config_unref(c);
        return r;
    }
    *(struct gpu_config **)map_put(k->parsed, bytes_of(text->key), NULL) = c;
    *ret_config = config_ref(c);
    return 0;
}

struct found {
    const char *name; /* of the ConfigMap */
    struct kept *kept;
    const struct json *text;
    uint32_t n; /* ConfigMaps that fit */
};

static void found_add(struct found *f, const char *name, struct kept *k, const struct json *text)
{
    f->n++;
    if (f->n == 1)
        *f = (struct found){name, k, text, 1};
}

/* NAME alone, when it has one key. */
static const struct json *only_text(const struct kept *k)
{
    return k->data->n == 1 ? plugin_text(k, json_first(k->data)->key) : NULL;
}

static struct found find_plugin(struct gpu_configs *g, const char *label)
{
    struct found by_key = {0}, by_name = {0};
    size_t at = 0, label_n = strlen(label);
    struct bytes name;
    for (struct kept *k; (k = map_next(g->maps, &at, &name));) {
        const struct json *text = plugin_text(k, label);
        if (text)
            found_add(&by_key, name.data, k, text);
        bool starts = name.n <= label_n && memcmp(name.data, label, name.n) == 0;
        text = !starts                ? NULL
               : label_n == name.n    ? only_text(k)
               : label[name.n] == '.' ? plugin_text(k, label + name.n + 1)
                                      : NULL;
        if (text)
            found_add(&by_name, name.data, k, text);
    }
    return by_key.n > 0 ? by_key : by_name;
}

/* "time-slicing-config (any), mps-config (config.yaml)" */
static const char *what_there_is(struct gpu_configs *g, struct buf *out)
{
    size_t at = 0;
    struct bytes name;
    for (struct kept *k; out->n < 200 && (k = map_next(g->maps, &at, &name));)
        JSON_EACH (text, k->data)
            if (plugin_text(k, text->key) && !text_ends(text->key, ".crt"))
                buf_printf(out, "%s%.60s (%.60s)", out->n ? ", " : "", name.data, text->key);
    return out->n ? out->data : "none";
}

static int not_found(struct gpu_configs *g, const char *label, struct err *e)
{
    _cleanup_buf_ struct buf names = {0};
    return err_set(e, E_NOTFOUND, "no ConfigMap of namespace %s has the key '%.63s'; those there are: %s",
                   GPU_CONFIGS_NAMESPACE, label, what_there_is(g, &names));
}

/* The ConfigMap that the values name is the one that agents watch: of its entries they choose. */
static enum config_choice choose(const struct kept *k, struct config_wish wish, const struct json **ret_text, const char **ret_wanted)
{
    const char **keys = mem_zero(k->data->n + 1, sizeof *keys);
    uint32_t n = 0, at;
    JSON_EACH (text, k->data)
        if (json_is(text, JSON_STRING))
            keys[n++] = text->key;
    enum config_choice choice = config_choose(keys, n, wish, &at, ret_wanted);
    *ret_text = choice == CONFIG_CHOICE_ENTRY ? json_get(k->data, keys[at]) : NULL;
    free(keys);
    return choice;
}

/* The values ask for a strategy or the like, and name no ConfigMap. */
static int bare_settings(struct gpu_configs *g, struct gpu_config **ret_config, struct err *e)
{
    static const struct json empty = {.key = "values.yaml", .type = JSON_STRING, .text = ""};
    if (g->values.settings_n == 0)
        return 0;
    if (!g->bare.parsed)
        g->bare.parsed = map_new(sizeof(struct gpu_config *));
    return parse(g, &g->bare, GPU_CONFIGS_VALUES, &empty, false, ret_config, e);
}

/* devicePlugin.config.name is set. */
static int named_plugin(struct gpu_configs *g, struct config_wish wish, bool bare_too, struct gpu_config **ret_config, struct err *e)
{
    const char *name = g->values.device_plugin.name, *wanted = NULL;
    struct kept *k = map_find_text(g->maps, name);
    const struct json *text = NULL;
    if (!k)
        return err_set(e, E_NOTFOUND, "devicePlugin.config.name: there is no ConfigMap %s/%s yet", GPU_CONFIGS_NAMESPACE, name);
    switch (choose(k, wish, &text, &wanted)) {
    case CONFIG_CHOICE_ENTRY:
        return parse(g, k, name, text, false, ret_config, e);
    case CONFIG_CHOICE_MISSING:
        return err_set(e, E_NOTFOUND, "%s: ConfigMap %s/%s has no key '%.63s'",
                       text_equal(wanted, wish.label) ? "label nvidia.com/device-plugin.config" : "devicePlugin.config.default",
                       GPU_CONFIGS_NAMESPACE, name, wanted);
    case CONFIG_CHOICE_NONE:
        break;
    }
    return bare_too ? bare_settings(g, ret_config, e) : 0;
}

int gpu_configs_plugin(struct gpu_configs *g, const char *label, bool bare_too, struct gpu_config **ret_config,
                       struct err *e)
{
    const struct operator_config *wanted = &g->values.device_plugin;
    *ret_config = NULL;
    if (*wanted->name)
        return named_plugin(g, (struct config_wish){label, wanted->preset}, bare_too, ret_config, e);
    if (!label || !*label)
        return bare_too ? bare_settings(g, ret_config, e) : 0;
    struct found f = find_plugin(g, label);
    if (f.n == 0)
        return not_found(g, label, e);
    if (f.n > 1)
        return err_set(e, E_INVALID,
                       "%u ConfigMaps of namespace %s have the key '%.63s': write NAME.%.63s, for example %.100s.%.63s",
                       f.n, GPU_CONFIGS_NAMESPACE, label, label, f.name, label);
    return parse(g, f.kept, f.name, f.text, false, ret_config, e);
}

static int layout_in(struct gpu_configs *g, struct kept *k, const char *map_name, const char *name,
                     struct gpu_config **ret_config, const struct mig_layout **ret_layout, struct err *e)
{
    JSON_EACH (text, k->data) {
        struct gpu_config *c = NULL;
        if (!json_is(text, JSON_STRING) || !is_mig_text(text))
            continue;
        int r = parse(g, k, map_name, text, true, &c, e);
        if (r < 0)
            return r;
        const struct mig_layout *l = mig_config_find(&c->mig, name);
        if (l) {
            *ret_config = c;
            *ret_layout = l;
            return 0;
        }
        gpu_config_unref(c);
    }
    return -E_NOTFOUND;
}

/* The ConfigMap that the values name comes first, then the others in the order in which they came. A damaged one is an error only when
 * no other has the layout. */
int gpu_configs_layout(struct gpu_configs *g, const char *name, struct gpu_config **ret_config,
                       const struct mig_layout **ret_layout, struct err *e)
{
    struct kept *first = *g->values.mig.name ? map_find_text(g->maps, g->values.mig.name) : NULL;
    struct err damaged = {0};
    int worst = -E_NOTFOUND;
    if (first && layout_in(g, first, g->values.mig.name, name, ret_config, ret_layout, &damaged) == 0)
        return 0;
    size_t at = 0;
    struct bytes map_name;
    for (struct kept *k; (k = map_next(g->maps, &at, &map_name));) {
        struct err one = {0};
        int r = layout_in(g, k, map_name.data, name, ret_config, ret_layout, &one);
        if (r == 0)
            return 0;
        if (r != -E_NOTFOUND) {
            worst = r;
            damaged = one;
        }
    }
    if (worst != -E_NOTFOUND && e)
        *e = damaged;
    return worst != -E_NOTFOUND ? worst
                                : err_set(e, E_NOTFOUND, "no ConfigMap of namespace %s has a MIG layout '%.63s'",
                                          GPU_CONFIGS_NAMESPACE, name);
}

const char *gpu_configs_default_layout(const struct gpu_configs *g)
{
    return g->values.mig_off ? "" : g->values.mig.preset;
}

bool gpu_configs_plugin_off(const struct gpu_configs *g)
{
    return g->values.device_plugin_off;
}
