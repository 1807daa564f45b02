/* test_config_maps.c - in which ConfigMap the agent of a simulated node looks; the operator's values */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "sim/node/config_maps.h"
#include "sim/node/operator_values.h"

#define SLICES(n) "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: " #n "}]}}\n"
#define LAYOUTS "version: v1\nmig-configs:\n  small: [{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 7}}]\n"

static struct arena *arena;
static struct config_maps *g;

static int setup(void **state)
{
    (void)state;
    arena = arena_new();
    g = config_maps_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    config_maps_free(g);
    arena_free(arena);
    return 0;
}

/* put(NAME, key, text, key, text, NULL) */
static int put(struct err *e, const char *name, ...)
{
    struct json *map = json_new(arena, JSON_OBJECT), *data = json_ensure_object(arena, map, "data");
    va_list args;
    va_start(args, name);
    for (const char *key; (key = va_arg(args, const char *));)
        json_set_text(arena, data, key, va_arg(args, const char *));
    va_end(args);
    return config_maps_put(g, name, map, NULL, e);
}

static struct node_kind kind; /* without anything of its own */

/* What an agent would do of that: "NAME/KEY", "(defaults)", "missing KEY", or the error. */
static const char *chosen(const char *label)
{
    struct agent_config_map m;
    struct err e = {0};
    uint32_t at;
    const char *wanted = NULL;
    if (config_maps_choose(g, &kind, label, &m, &e) < 0)
        return arena_text(arena, e.text);
    switch (config_choose(m.keys, m.n, m.wish, &at, &wanted)) {
    case CONFIG_CHOICE_ENTRY:
        return arena_printf(arena, "%s/%s", m.name, m.keys[at]);
    case CONFIG_CHOICE_MISSING:
        return arena_printf(arena, "missing %s", wanted);
    case CONFIG_CHOICE_NONE:
        break;
    }
    return "(defaults)";
}

static enum mig_strategy strategy(const char *label)
{
    struct agent_config_map m;
    struct agent_config c;
    assert_int_equal(config_maps_choose(g, &kind, label, &m, NULL), 0);
    assert_int_equal(agent_config_parse(arena, bytes_of(m.n ? m.texts[0] : m.defaults), m.settings, m.settings_n, &c, NULL, NULL), 0);
    assert_true(c.gfd_no_timestamp);
    return c.mig_strategy;
}

static void nothing_is_asked_for_without_a_label(void **state)
{
    (void)state;
    assert_string_equal(chosen(NULL), "(defaults)");
    put(NULL, "a", "any", SLICES(4), NULL);
    assert_string_equal(chosen(NULL), "(defaults)");
    assert_string_equal(chosen(""), "(defaults)");
    assert_false(config_maps_ask(g));
}

static void labels_name_keys_maps_or_both(void **state)
{
    (void)state;
    put(NULL, "time-slicing-config", "any", SLICES(4), NULL);
    put(NULL, "mps-config", "config.yaml", SLICES(10), NULL);
    put(NULL, "mig-parted-config", "config.yaml", LAYOUTS, NULL);
    assert_string_equal(chosen("any"), "gpu-operator/time-slicing-config/any");
    assert_string_equal(chosen("config.yaml"), "gpu-operator/mps-config/config.yaml"); /* the layouts' key does not count */
    assert_string_equal(chosen("mps-config"), "gpu-operator/mps-config/config.yaml");
    assert_string_equal(chosen("time-slicing-config.any"), "gpu-operator/time-slicing-config/any");
    assert_string_equal(chosen("mps-config.config.yaml"), "gpu-operator/mps-config/config.yaml");
    assert_non_null(strstr(chosen("mig-parted-config"), "no ConfigMap of namespace gpu-operator"));
    put(NULL, "second", "any", SLICES(3), "other", SLICES(5), NULL);
    assert_non_null(strstr(chosen("second"), "no ConfigMap")); /* two keys */
    assert_string_equal(chosen("second.any"), "gpu-operator/second/any");
    assert_non_null(strstr(chosen("any"), "write NAME.any"));
    config_maps_put(g, "second", NULL, NULL, NULL);
    assert_string_equal(chosen("any"), "gpu-operator/time-slicing-config/any");
    assert_non_null(strstr(chosen("none"), "time-slicing-config (any), mps-config (config.yaml)"));
}

/* As agents of a cluster: they look at one ConfigMap, and every entry of it counts. */
static void values_name_the_map_and_the_default(void **state)
{
    (void)state;
    struct err e = {0};
    put(NULL, "m", "any", SLICES(4), "few", SLICES(2), NULL);
    assert_int_equal(put(&e, CONFIG_MAPS_VALUES, "values.yaml",
                         "devicePlugin: {config: {name: m, default: any}}\nmig: {strategy: single}\n"
                         "migManager: {config: {default: small}}\n",
                         NULL),
                     0);
    assert_true(config_maps_ask(g));
    assert_string_equal(chosen(NULL), "gpu-operator/m/any");
    assert_string_equal(chosen("few"), "gpu-operator/m/few");
    assert_string_equal(chosen(""), "gpu-operator/m/any"); /* as no label */
    put(NULL, "others", "many", SLICES(8), NULL);
    assert_string_equal(chosen("many"), "missing many");
    assert_string_equal(config_maps_layout_preset(g), "small");
    assert_int_equal(strategy(NULL), MIG_STRATEGY_SINGLE);
    /* wrong ones: those before stay */
    assert_true(put(&e, CONFIG_MAPS_VALUES, "values.yaml", "mig: {strategy: 3}", NULL) < 0);
    assert_string_equal(chosen(NULL), "gpu-operator/m/any");
    /* the map goes */
    config_maps_put(g, "m", NULL, NULL, NULL);
    assert_string_equal(chosen(NULL), "missing any");
    /* the values go */
    config_maps_put(g, CONFIG_MAPS_VALUES, NULL, NULL, NULL);
    assert_string_equal(chosen(NULL), "(defaults)");
    assert_null(config_maps_layout_preset(g));
    assert_int_equal(strategy(NULL), MIG_STRATEGY_MIXED);
}

/* What the operator's chart makes of values goes with them; what others made does not. */
static void what_values_write_out_goes_with_them(void **state)
{
    (void)state;
    const char *values = "devicePlugin: {config: {data: {any: \"version: v1\"}}}\n"
                         "migManager: {config: {name: mine, data: {config.yaml: "
                         "\"version: v1\\nmig-configs: {small: [{devices: all, mig-enabled: false}]}\\n\"}}}\n";
    assert_int_equal(put(NULL, CONFIG_MAPS_VALUES, "values.yaml", values, NULL), 0);
    assert_string_equal(chosen("any"), "gpu-operator/device-plugin-config/any");
    assert_non_null(config_maps_layouts(g, "small"));
    put(NULL, CONFIG_MAPS_VALUES, "values.yaml", "mig: {strategy: mixed}\n", NULL);
    assert_non_null(strstr(chosen("any"), "no ConfigMap"));
    assert_null(config_maps_layouts(g, "small"));
    put(NULL, CONFIG_MAPS_VALUES, "values.yaml", values, NULL);
    put(NULL, "device-plugin-config", "any", SLICES(4), NULL); /* somebody's own */
    config_maps_put(g, CONFIG_MAPS_VALUES, NULL, NULL, NULL);
    assert_string_equal(chosen("any"), "gpu-operator/device-plugin-config/any");
    assert_null(config_maps_layouts(g, "small"));
}

/* A ConfigMap that there is holds what its owner wrote, whatever the values say of it, until it goes. */
static void values_do_not_write_over_what_there_is(void **state)
{
    (void)state;
    const char *values = "devicePlugin: {config: {data: {written: \"version: v1\"}}}\n";
    put(NULL, "device-plugin-config", "own", SLICES(4), NULL);
    put(NULL, CONFIG_MAPS_VALUES, "values.yaml", values, NULL);
    assert_string_equal(chosen("own"), "gpu-operator/device-plugin-config/own");
    assert_non_null(strstr(chosen("written"), "missing"));
    config_maps_put(g, "device-plugin-config", NULL, NULL, NULL);
    assert_string_equal(chosen("written"), "gpu-operator/device-plugin-config/written");
}

static void the_file_may_say_the_strategy(void **state)
{
    (void)state;
    put(NULL, "m", "none", "version: v1\nflags: {migStrategy: none}\n", "silent", "version: v1\n", NULL);
    assert_int_equal(strategy("none"), MIG_STRATEGY_NONE);
    assert_int_equal(strategy("silent"), MIG_STRATEGY_MIXED);
}

/* Nodes with shares of their own (KETI) do as their shape says, whatever the values name, until they have a label. */
static void shares_of_the_shape_stand_until_there_is_a_label(void **state)
{
    (void)state;
    struct node_shape shape;
    int32_t n;
    assert_int_equal(node_shape_parse("t4,mps=10", &n, &shape, NULL), 0);
    put(NULL, "m", "any", SLICES(4), NULL);
    put(NULL, CONFIG_MAPS_VALUES, "values.yaml", "devicePlugin: {config: {name: m, default: any}}\n", NULL);
    node_kind_init(&kind, &shape);
    assert_string_equal(chosen(NULL), "(defaults)");
    assert_string_equal(chosen("any"), "gpu-operator/m/any");
    memset(&kind, 0, sizeof kind);
    assert_string_equal(chosen(NULL), "gpu-operator/m/any");
}

static void layouts_are_found_in_any_map(void **state)
{
    (void)state;
    static const char damaged[] = "version: v1\nmig-configs: 7\n";
    assert_null(config_maps_layouts(g, "small"));
    put(NULL, "damaged", "x", damaged, NULL);
    assert_string_equal(config_maps_layouts(g, "small"), damaged); /* the agent says what is wrong */
    put(NULL, "good", "config.yaml", LAYOUTS, NULL);
    assert_string_equal(config_maps_layouts(g, "small"), LAYOUTS);
    config_maps_put(g, "damaged", NULL, NULL, NULL);
    assert_null(config_maps_layouts(g, "none"));
    put(NULL, "other", "config.yaml", LAYOUTS "# mine\n", NULL);
    assert_string_equal(config_maps_layouts(g, "small"), LAYOUTS); /* the first that came */
    put(NULL, CONFIG_MAPS_VALUES, "values.yaml", "migManager: {config: {name: other}}\n", NULL);
    assert_string_equal(config_maps_layouts(g, "small"), LAYOUTS "# mine\n"); /* the one that the values name comes first */
}

static void the_number_of_maps_has_a_limit(void **state)
{
    (void)state;
    for (int i = 0; i < CONFIG_MAPS_MAX; i++)
        assert_int_equal(put(NULL, arena_printf(arena, "m%d", i), "k", "", NULL), 0);
    assert_int_equal(put(NULL, "more", "k", "", NULL), -E_LIMIT);
    assert_int_equal(put(NULL, "m3", "k", SLICES(2), NULL), 0); /* those that are there may change */
}

static int parse(const char *yaml, struct operator_values *v, struct buf *warnings, struct err *e)
{
    return operator_values_parse(arena, bytes_of(yaml), v, warnings, e);
}

static void values_are_served_or_said(void **state)
{
    (void)state;
    struct operator_values v;
    _cleanup_buf_ struct buf w = {0};
    struct err e = {0};
    int code =
        parse("driver: {enabled: true}\ntoolkit: {}\nfoo: 1\ndevicePlugin:\n  config: {name: c, default: d}\n"
              "  env: [{name: MIG_STRATEGY, value: none}, {name: X, value: z}]\n  args: [--mig-strategy=single]\n"
              "  image: i\nmig: {strategy: mixed}\nvgpuManager: {enabled: true}\n",
              &v, &w, &e);
    if (code < 0)
        fail_msg("%s", e.text);
    assert_string_equal(v.device_plugin.name, "c");
    assert_string_equal(v.device_plugin.preset, "d");
    assert_string_equal(v.settings[0].value, "mixed"); /* later ones win */
    assert_string_equal(v.settings[v.settings_n - 1].value, "single");
    static const char *const said[] = {"driver: the driver is assumed present",
                                       "toolkit:",
                                       "foo: is not a key",
                                       "devicePlugin.env[X]",
                                       "devicePlugin.image",
                                       "vgpuManager:"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (!strstr(w.data, said[i]))
            fail_msg("'%s' is not among: %s", said[i], w.data);
}

static void wrong_values_name_their_path(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *text;
    } wrong[] = {
        {"- a", "one YAML document"},
        {"a: [", "line"},
        {"mig: {strategy: 7}", "mig.strategy"},
        {"mig: {strategy: mixd}", "mixd"},
        {"devicePlugin: {config: 3}", "devicePlugin.config"},
        {"devicePlugin: {config: {name: 3}}", "devicePlugin.config.name"},
        {"devicePlugin: {enabled: maybe}", "devicePlugin.enabled"},
        {"devicePlugin: {env: [{name: A}]}", "devicePlugin.env"},
        {"devicePlugin: {args: [{}]}", "devicePlugin.args"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct operator_values v;
        struct err e = {0};
        assert_true(parse(wrong[i].yaml, &v, NULL, &e) < 0);
        if (!strstr(e.text, wrong[i].text))
            fail_msg("'%s' gave: %s", wrong[i].yaml, e.text);
    }
}

static void no_values_are_fine(void **state)
{
    (void)state;
    struct operator_values v;
    assert_int_equal(parse("", &v, NULL, NULL), 0);
    assert_string_equal(v.device_plugin.name, "");
    assert_int_equal(v.settings_n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_asked_for_without_a_label, setup, teardown),
        cmocka_unit_test_setup_teardown(labels_name_keys_maps_or_both, setup, teardown),
        cmocka_unit_test_setup_teardown(values_name_the_map_and_the_default, setup, teardown),
        cmocka_unit_test_setup_teardown(what_values_write_out_goes_with_them, setup, teardown),
        cmocka_unit_test_setup_teardown(values_do_not_write_over_what_there_is, setup, teardown),
        cmocka_unit_test_setup_teardown(the_file_may_say_the_strategy, setup, teardown),
        cmocka_unit_test_setup_teardown(shares_of_the_shape_stand_until_there_is_a_label, setup, teardown),
        cmocka_unit_test_setup_teardown(layouts_are_found_in_any_map, setup, teardown),
        cmocka_unit_test_setup_teardown(the_number_of_maps_has_a_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(values_are_served_or_said, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_values_name_their_path, setup, teardown),
        cmocka_unit_test_setup_teardown(no_values_are_fine, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
