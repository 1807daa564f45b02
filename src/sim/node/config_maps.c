/* config_maps.c - kept ConfigMaps, found by key, name or both; mig-parted files are parsed when a layout is first looked for */
#include "sim/node/config_maps.h"
#include <stdlib.h>
#include "agent/mig/mig_config.h"
#include "base/collections/map.h"
#include "sim/node/operator_values.h"

struct layouts { /* a mig-parted file */
    struct layouts *next;
    const char *text;
    struct mig_config config;
    bool damaged;
};
struct kept {
    struct arena *arena;
    struct json *data; /* key -> text */
    struct layouts *layouts;
    bool parsed; /* layouts are known */
    bool written_out; /* in the operator's values; no object has it */
};
struct config_maps {
    struct map *maps; /* name -> struct kept */
    struct arena *values_arena;
    struct operator_values values;
    struct config_setting *settings; /* ours, then those of the values; in values_arena */
    uint32_t settings_n;
    struct buf name; /* of the answer to config_maps_choose, like the rest */
    const char **keys;
    char **texts;
    uint32_t keys_cap, texts_cap;
};

/* What nobody has to ask for in `capstan up`: slices by their names, and no label that changes by itself. */
static const struct config_setting usual[] = {{"flags.migStrategy", "mixed", "capstan up", .weak = true},
                                              {"flags.gfd.noTimestamp", "true", "capstan up"}};
#define USUAL_N (sizeof usual / sizeof *usual)

/* ---- keeping ---- */

struct config_maps *config_maps_new(void)
{
    struct config_maps *g = mem_zero(1, sizeof *g);
    g->maps = map_new(sizeof(struct kept));
    g->values = (struct operator_values){.device_plugin = {"", "", NULL}, .mig = {"", "", NULL}};
    return g;
}

void config_maps_free(struct config_maps *g)
{
    if (!g)
        return;
    size_t at = 0;
    struct bytes key;
    for (struct kept *k; (k = map_next(g->maps, &at, &key));)
        arena_free(k->arena);
    map_free(g->maps);
    arena_free(g->values_arena);
    buf_free(&g->name);
    free(g->keys);
    free(g->texts);
    free(g);
}

static int put_map(struct config_maps *g, const char *name, const struct json *data, struct err *e)
{
    struct kept *k = map_find_text(g->maps, name);
    if (k)
        arena_free(k->arena);
    if (!data || !json_is(data, JSON_OBJECT)) {
        if (k)
            (void)map_remove(g->maps, bytes_of(name)); /* it is there */
        return 0;
    }
    if (!k && map_count(g->maps) >= CONFIG_MAPS_MAX)
        return err_set(e, E_LIMIT, "more than %d ConfigMaps in namespace %s: this one is not looked at",
                       CONFIG_MAPS_MAX, CONFIG_MAPS_NAMESPACE);
    k = map_put(g->maps, bytes_of(name), NULL);
    *k = (struct kept){.arena = arena_new()};
    k->data = json_clone(k->arena, data);
    return 0;
}

/* config.data: the chart would make a ConfigMap of it. One that there is goes before it. False: so it is. */
static bool put_written_out(struct config_maps *g, const struct operator_config *c)
{
    if (!c->data)
        return true;
    struct kept *k = map_find_text(g->maps, c->name);
    if (k && !k->written_out)
        return false;
    (void)put_map(g, c->name, c->data, NULL); /* too many: then nodes say that it is missing */
    k = map_find_text(g->maps, c->name);
    if (k)
        k->written_out = true;
    return true;
}

static void take_written_out(struct config_maps *g, struct operator_config *c, const char *name, struct buf *warnings)
{
    if (c->data && !*c->name)
        c->name = name;
    if (!put_written_out(g, c) && warnings)
        buf_printf(warnings, "config.data is not used: ConfigMap %.253s exists, and says itself what it holds\n", c->name);
}

static void drop_written_out(struct config_maps *g, const char *name)
{
    const struct kept *k = map_find_text(g->maps, name);
    if (k && k->written_out)
        (void)put_map(g, name, NULL, NULL);
}

static int put_values(struct config_maps *g, const struct json *data, struct buf *warnings, struct err *e)
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
    drop_written_out(g, g->values.device_plugin.name);
    drop_written_out(g, g->values.mig.name);
    arena_free(g->values_arena);
    g->values_arena = a;
    g->values = values;
    g->settings_n = USUAL_N + values.settings_n;
    g->settings = arena_alloc(a, g->settings_n * sizeof *g->settings);
    memcpy(g->settings, usual, sizeof usual);
    for (uint32_t i = 0; i < values.settings_n; i++)
        g->settings[USUAL_N + i] = values.settings[i];
    take_written_out(g, &g->values.device_plugin, "device-plugin-config", warnings);
    take_written_out(g, &g->values.mig, "mig-parted-config", warnings);
    return 0;
}

int config_maps_put(struct config_maps *g, const char *name, const struct json *config_map, struct buf *warnings,
                    struct err *e)
{
    const struct json *data = json_get(config_map, "data");
    if (text_equal(name, CONFIG_MAPS_VALUES))
        return put_values(g, data, warnings, e);
    int r = put_map(g, name, data, e);
    if (!data) { /* what the values say of one that is gone counts again */
        (void)put_written_out(g, &g->values.device_plugin);
        (void)put_written_out(g, &g->values.mig);
    }
    return r;
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

struct found {
    const char *name; /* of the ConfigMap */
    const struct json *text;
    uint32_t n; /* ConfigMaps that fit */
};

static void found_add(struct found *f, const char *name, const struct json *text)
{
    f->n++;
    if (f->n == 1)
        *f = (struct found){name, text, 1};
}

/* NAME alone, when it has one key. */
static const struct json *only_text(const struct kept *k)
{
    return k->data->n == 1 ? plugin_text(k, json_first(k->data)->key) : NULL;
}

static struct found find_plugin(struct config_maps *g, const char *label)
{
    struct found by_key = {0}, by_name = {0};
    size_t at = 0, label_n = strlen(label);
    struct bytes name;
    for (struct kept *k; (k = map_next(g->maps, &at, &name));) {
        const struct json *text = plugin_text(k, label);
        if (text)
            found_add(&by_key, name.data, text);
        bool starts = name.n <= label_n && memcmp(name.data, label, name.n) == 0;
        text = !starts                ? NULL
               : label_n == name.n    ? only_text(k)
               : label[name.n] == '.' ? plugin_text(k, label + name.n + 1)
                                      : NULL;
        if (text)
            found_add(&by_name, name.data, text);
    }
    return by_key.n > 0 ? by_key : by_name;
}

/* "time-slicing-config (any), mps-config (config.yaml)" */
static const char *what_there_is(struct config_maps *g, struct buf *out)
{
    size_t at = 0;
    struct bytes name;
    for (struct kept *k; out->n < 200 && (k = map_next(g->maps, &at, &name));)
        JSON_EACH (text, k->data)
            if (plugin_text(k, text->key) && !text_ends(text->key, ".crt"))
                buf_printf(out, "%s%.60s (%.60s)", out->n ? ", " : "", name.data, text->key);
    return out->n ? out->data : "none";
}

static int not_found(struct config_maps *g, const char *label, struct err *e)
{
    _cleanup_buf_ struct buf names = {0};
    return err_set(e, E_NOTFOUND, "no ConfigMap of namespace %s has the key '%.63s'; those there are: %s",
                   CONFIG_MAPS_NAMESPACE, label, what_there_is(g, &names));
}

static void answer(struct config_maps *g, const struct json *text, struct agent_config_map *m)
{
    MEM_RESERVE(g->keys, g->keys_cap, m->n + 1);
    MEM_RESERVE(g->texts, g->texts_cap, m->n + 1);
    g->keys[m->n] = text->key;
    g->texts[m->n++] = (char *)text->text;
    m->keys = g->keys;
    m->texts = g->texts;
}

static void name_map(struct config_maps *g, const char *name, struct agent_config_map *m)
{
    buf_clear(&g->name);
    buf_printf(&g->name, "%s/%s", CONFIG_MAPS_NAMESPACE, name);
    m->name = g->name.data;
}

/* devicePlugin.config.name is set: of that ConfigMap's entries agents choose. */
static void choose_named(struct config_maps *g, const char *label, struct agent_config_map *m)
{
    const struct operator_config *wanted = &g->values.device_plugin;
    const struct kept *k = map_find_text(g->maps, wanted->name);
    name_map(g, wanted->name, m);
    m->wish = (struct config_wish){label, wanted->preset};
    JSON_EACH (text, k ? k->data : NULL)
        if (json_is(text, JSON_STRING))
            answer(g, text, m);
}

static int choose_searched(struct config_maps *g, const char *label, struct agent_config_map *m, struct err *e)
{
    struct found f = find_plugin(g, label);
    if (f.n == 0)
        return not_found(g, label, e);
    if (f.n > 1)
        return err_set(e, E_INVALID,
                       "%u ConfigMaps of namespace %s have the key '%.63s': write NAME.%.63s, for example %.100s.%.63s",
                       f.n, CONFIG_MAPS_NAMESPACE, label, label, f.name, label);
    name_map(g, f.name, m);
    answer(g, f.text, m);
    m->wish.label = f.text->key;
    return 0;
}

int config_maps_choose(struct config_maps *g, const struct node_kind *kind, const char *label, struct agent_config_map *ret_map,
                       struct err *e)
{
    bool asked = label && *label;
    *ret_map = (struct agent_config_map){.defaults = kind->config, .searched = true, .settings = usual, .settings_n = USUAL_N};
    if (g && g->settings) {
        ret_map->settings = g->settings;
        ret_map->settings_n = g->settings_n;
    }
    if (!g || (kind->shape.mps_shares > 0 && !asked)) /* KETI's nodes run another device plugin: only a label changes them */
        return 0;
    if (*g->values.device_plugin.name) {
        ret_map->searched = false;
        choose_named(g, label, ret_map);
        return 0;
    }
    return asked ? choose_searched(g, label, ret_map, e) : 0;
}

/* ---- layouts ---- */

static void parse_layouts(struct kept *k)
{
    k->parsed = true;
    JSON_EACH (text, k->data) {
        if (!json_is(text, JSON_STRING) || !is_mig_text(text))
            continue;
        struct layouts *l = arena_zero(k->arena, 1, sizeof *l);
        l->text = text->text;
        l->damaged = mig_config_parse(k->arena, json_bytes(text), &l->config, NULL) < 0;
        l->next = k->layouts;
        k->layouts = l;
    }
}

static const char *layouts_in(struct kept *k, const char *layout, const char **damaged)
{
    if (!k->parsed)
        parse_layouts(k);
    for (const struct layouts *l = k->layouts; l; l = l->next) {
        if (!l->damaged && mig_config_find(&l->config, layout))
            return l->text;
        if (l->damaged && !*damaged)
            *damaged = l->text;
    }
    return NULL;
}

/* The ConfigMap that the values name comes first, then the others in the order in which they came. */
const char *config_maps_layouts(struct config_maps *g, const char *layout)
{
    struct kept *first = *g->values.mig.name ? map_find_text(g->maps, g->values.mig.name) : NULL;
    const char *damaged = NULL, *text = first ? layouts_in(first, layout, &damaged) : NULL;
    size_t at = 0;
    struct bytes name;
    for (struct kept *k; !text && (k = map_next(g->maps, &at, &name));)
        text = layouts_in(k, layout, &damaged);
    return text ? text : damaged;
}

const char *config_maps_layout_preset(const struct config_maps *g)
{
    return g->values.mig_off || !*g->values.mig.preset ? NULL : g->values.mig.preset;
}

bool config_maps_ask(const struct config_maps *g)
{
    return *g->values.device_plugin.name || g->values.settings_n > 0 || g->values.device_plugin_off;
}

bool config_maps_plugin_off(const struct config_maps *g)
{
    return g->values.device_plugin_off;
}
