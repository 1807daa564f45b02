/* test_gpu_configs.c - which ConfigMap a label means; the operator's values */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "sim/node/gpu_configs.h"
#include "sim/node/operator_values.h"

#define SLICES(n) "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: " #n "}]}}\n"
#define LAYOUTS "version: v1\nmig-configs:\n  small: [{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 7}}]\n"

static struct arena *arena;
static struct gpu_configs *g;

static int setup(void **state)
{
    (void)state;
    arena = arena_new();
    g = gpu_configs_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    gpu_configs_free(g);
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
    return gpu_configs_put(g, name, map, NULL, e);
}

static uint32_t replicas(const char *label)
{
    struct gpu_config *c = NULL;
    struct err e = {0};
    if (gpu_configs_plugin(g, label, true, &c, &e) < 0)
        return 1000;
    uint32_t n = !c ? 0 : c->plugin.time_slicing.resources_n ? c->plugin.time_slicing.resources[0].replicas : 1;
    gpu_config_unref(c);
    return n;
}

static void nothing_is_asked_for_without_a_label(void **state)
{
    (void)state;
    assert_int_equal(replicas(NULL), 0);
    put(NULL, "a", "any", SLICES(4), NULL);
    assert_int_equal(replicas(NULL), 0);
}

static void labels_name_keys_maps_or_both(void **state)
{
    (void)state;
    put(NULL, "time-slicing-config", "any", SLICES(4), NULL);
    put(NULL, "mps-config", "config.yaml", SLICES(10), NULL);
    put(NULL, "mig-parted-config", "config.yaml", LAYOUTS, NULL);
    assert_int_equal(replicas("any"), 4);
    assert_int_equal(replicas("config.yaml"), 10); /* the layouts' key does not count */
    assert_int_equal(replicas("mps-config"), 10);
    assert_int_equal(replicas("time-slicing-config.any"), 4);
    assert_int_equal(replicas("mps-config.config.yaml"), 10);
    assert_int_equal(replicas("mig-parted-config"), 1000);
    put(NULL, "second", "any", SLICES(3), "other", SLICES(5), NULL);
    assert_int_equal(replicas("second"), 1000); /* two keys */
    assert_int_equal(replicas("second.any"), 3);
    struct gpu_config *c;
    struct err e = {0};
    assert_int_equal(gpu_configs_plugin(g, "any", true, &c, &e), -E_INVALID);
    assert_non_null(strstr(e.text, "NAME.any"));
    gpu_configs_put(g, "second", NULL, NULL, NULL);
    assert_int_equal(replicas("any"), 4);
    assert_int_equal(gpu_configs_plugin(g, "none", true, &c, &e), -E_NOTFOUND);
    assert_non_null(strstr(e.text, "time-slicing-config (any), mps-config (config.yaml)"));
}

static void values_name_the_map_and_the_default(void **state)
{
    (void)state;
    struct err e = {0};
    put(NULL, "m", "any", SLICES(4), "few", SLICES(2), NULL);
    assert_int_equal(put(&e, GPU_CONFIGS_VALUES, "values.yaml",
                         "devicePlugin: {config: {name: m, default: any}}\nmig: {strategy: single}\n"
                         "migManager: {config: {default: small}}\n",
                         NULL),
                     0);
    assert_int_equal(replicas(NULL), 4);
    assert_int_equal(replicas("few"), 2);
    assert_int_equal(replicas(""), 4); /* as no label */
    put(NULL, "others", "many", SLICES(8), NULL);
    struct gpu_config *elsewhere = NULL;
    assert_int_equal(gpu_configs_plugin(g, "many", true, &elsewhere, &e), -E_NOTFOUND); /* agents watch one ConfigMap */
    assert_string_equal(e.text, "label nvidia.com/device-plugin.config: ConfigMap gpu-operator/m has no key 'many'");
    assert_string_equal(gpu_configs_default_layout(g), "small");
    struct gpu_config *c = NULL;
    assert_int_equal(gpu_configs_plugin(g, NULL, true, &c, &e), 0);
    assert_int_equal(c->plugin.mig_strategy, MIG_STRATEGY_SINGLE);
    gpu_config_unref(c);
    /* wrong ones: those before stay */
    assert_true(put(&e, GPU_CONFIGS_VALUES, "values.yaml", "mig: {strategy: 3}", NULL) < 0);
    assert_int_equal(replicas(NULL), 4);
    /* the map goes */
    gpu_configs_put(g, "m", NULL, NULL, NULL);
    assert_int_equal(gpu_configs_plugin(g, NULL, true, &c, &e), -E_NOTFOUND);
    assert_non_null(strstr(e.text, "m yet"));
    /* the values go */
    gpu_configs_put(g, GPU_CONFIGS_VALUES, NULL, NULL, NULL);
    assert_int_equal(replicas(NULL), 0);
    assert_string_equal(gpu_configs_default_layout(g), "");
}

static void the_file_may_say_the_strategy(void **state)
{
    (void)state;
    struct gpu_config *c = NULL;
    put(NULL, "m", "none", "version: v1\nflags: {migStrategy: none}\n", "silent", "version: v1\n", NULL);
    assert_int_equal(gpu_configs_plugin(g, "none", true, &c, NULL), 0);
    assert_int_equal(c->plugin.mig_strategy, MIG_STRATEGY_NONE);
    gpu_config_unref(c);
    assert_int_equal(gpu_configs_plugin(g, "silent", true, &c, NULL), 0);
    assert_int_equal(c->plugin.mig_strategy, MIG_STRATEGY_MIXED);
    gpu_config_unref(c);
}

static void layouts_are_found_in_any_map(void **state)
{
    (void)state;
    struct gpu_config *c = NULL;
    const struct mig_layout *l = NULL;
    struct err e = {0};
    assert_int_equal(gpu_configs_layout(g, "small", &c, &l, &e), -E_NOTFOUND);
    put(NULL, "damaged", "x", "version: v1\nmig-configs: 7\n", NULL);
    assert_int_equal(gpu_configs_layout(g, "small", &c, &l, &e), -E_INVALID);
    put(NULL, "good", "config.yaml", LAYOUTS, NULL);
    assert_int_equal(gpu_configs_layout(g, "small", &c, &l, &e), 0);
    assert_string_equal(l->name, "small");
    /* what is in use outlives its ConfigMap */
    gpu_configs_put(g, "good", NULL, NULL, NULL);
    assert_string_equal(l->name, "small");
    gpu_config_unref(c);
}

static void what_is_parsed_is_shared_until_it_changes(void **state)
{
    (void)state;
    struct gpu_config *a, *b;
    put(NULL, "m", "any", SLICES(4), NULL);
    gpu_configs_plugin(g, "any", true, &a, NULL);
    gpu_configs_plugin(g, "any", true, &b, NULL);
    assert_ptr_equal(a, b);
    gpu_config_unref(b);
    put(NULL, "m", "any", SLICES(4), NULL);
    gpu_configs_plugin(g, "any", true, &b, NULL);
    assert_ptr_not_equal(a, b);
    gpu_config_unref(a);
    gpu_config_unref(b);
}

static void the_number_of_maps_has_a_limit(void **state)
{
    (void)state;
    for (int i = 0; i < GPU_CONFIGS_MAX; i++)
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
        cmocka_unit_test_setup_teardown(the_file_may_say_the_strategy, setup, teardown),
        cmocka_unit_test_setup_teardown(layouts_are_found_in_any_map, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_parsed_is_shared_until_it_changes, setup, teardown),
        cmocka_unit_test_setup_teardown(the_number_of_maps_has_a_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(values_are_served_or_said, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_values_name_their_path, setup, teardown),
        cmocka_unit_test_setup_teardown(no_values_are_fine, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
