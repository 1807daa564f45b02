/* test_config.c - the device plugin's config: every key, precedence, and what each mistake is told */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "agent/config/config.h"
#include "base/limits.h"

static struct arena *arena;
static struct agent_config config;
static struct buf warnings;
static struct err error;

static int begin(void **state)
{
    (void)state;
    arena = arena_new();
    buf_init(&warnings);
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_free(arena);
    buf_free(&warnings);
    return 0;
}

static int parse_with(const char *text, const struct config_setting *settings, uint32_t n)
{
    error = (struct err){0};
    buf_clear(&warnings);
    return agent_config_parse(arena, bytes_of(text), settings, n, &config, &warnings, &error);
}

static void accepted(const char *text)
{
    if (parse_with(text, NULL, 0) < 0)
        fail_msg("%s\nrefused: %s", text, error.text);
}

/* Refused, with all these words in the message. */
static void refused(const char *text, const char *word, const char *more)
{
    struct agent_config before = config;
    assert_int_equal(parse_with(text, NULL, 0), -E_INVALID);
    if (!strstr(error.text, word) || !strstr(error.text, more))
        fail_msg("%s\nexpected '%s' and '%s' in: %s", text, word, more, error.text);
    assert_memory_equal(&before, &config, sizeof config);
}

static void defaults(void **state)
{
    (void)state;
    static const char *const nothing[] = {
        "", "---\n", "version: v1\n", "{}", "version: \"\"\n", "# only a comment\n", "flags:\nsharing:\n"};
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
        accepted(nothing[i]);
        assert_int_equal(config.mig_strategy, MIG_STRATEGY_NONE);
        assert_true(config.fail_on_init_error);
        assert_string_equal(config.mps_root, "/run/nvidia/mps");
        assert_string_equal(config.driver_root, "/");
        assert_string_equal(config.dev_root, "/");
        assert_int_equal(config.device_list_strategies, DEVICE_LIST_ENVVAR);
        assert_int_equal(config.device_id_strategy, DEVICE_ID_UUID);
        assert_string_equal(config.cdi_annotation_prefix, "cdi.k8s.io/");
        assert_int_equal(config.gfd_sleep_ms, 60000);
        assert_false(config.time_slicing.present);
        assert_false(config.mps.present);
    }
}

static void every_key(void **state)
{
    (void)state;
    accepted("version: v1\n"
             "flags:\n"
             "  migStrategy: mixed\n  failOnInitError: false\n  mpsRoot: /var/mps\n  nvidiaDriverRoot: /run/nvidia/driver\n"
             "  nvidiaDevRoot: /\n  gdrcopyEnabled: true\n  gdsEnabled: true\n  mofedEnabled: true\n  useNodeFeatureAPI: true\n"
             "  deviceDiscoveryStrategy: nvml\n"
             "  plugin:\n    passDeviceSpecs: true\n    deviceListStrategy: [envvar, cdi-cri]\n    deviceIDStrategy: index\n"
             "    cdiAnnotationPrefix: example.com/\n    nvidiaCTKPath: /opt/nvidia-cdi-hook\n    containerDriverRoot: /host\n"
             "    sharedDevicesAllocationPolicy: packed\n"
             "  gfd:\n    oneshot: true\n    noTimestamp: true\n    sleepInterval: 1m30s\n    outputFile: /out\n    machineTypeFile: /type\n"
             "resources:\n  gpus:\n  - {pattern: \"*A100*\", name: a100}\n  - {pattern: \"*\", name: nvidia.com/other}\n"
             "  mig:\n  - {pattern: 1g.5gb, name: small}\n"
             "sharing:\n  timeSlicing:\n    renameByDefault: true\n    failRequestsGreaterThanOne: true\n    resources:\n"
             "    - {name: a100, replicas: 4}\n    - {name: other, rename: nvidia.com/o, devices: 2, replicas: 2}\n"
             "  keti: {replicas: 10}\n"
             "imex:\n  channelIDs: [0]\n  required: true\n");
    assert_int_equal(config.mig_strategy, MIG_STRATEGY_MIXED);
    assert_false(config.fail_on_init_error);
    assert_string_equal(config.mps_root, "/var/mps");
    assert_string_equal(config.driver_root, "/run/nvidia/driver");
    assert_string_equal(config.dev_root, "/");
    assert_true(config.gdrcopy && config.gds && config.mofed && config.use_node_feature_api && config.pass_device_specs);
    assert_string_equal(config.device_discovery_strategy, "nvml");
    assert_int_equal(config.device_list_strategies, DEVICE_LIST_ENVVAR | DEVICE_LIST_CDI_CRI);
    assert_int_equal(config.device_id_strategy, DEVICE_ID_INDEX);
    assert_string_equal(config.cdi_annotation_prefix, "example.com/");
    assert_string_equal(config.cdi_hook_path, "/opt/nvidia-cdi-hook");
    assert_string_equal(config.container_driver_root, "/host");
    assert_int_equal(config.shared_allocation_policy, ALLOCATION_PACKED);
    assert_true(config.gfd_oneshot && config.gfd_no_timestamp);
    assert_int_equal(config.gfd_sleep_ms, 90000);
    assert_string_equal(config.gfd_output_file, "/out");
    assert_string_equal(config.gfd_machine_type_file, "/type");
    assert_int_equal(config.gpu_patterns_n, 2);
    assert_string_equal(config.gpu_patterns[0].name, "nvidia.com/a100");
    assert_string_equal(config.mig_patterns[0].pattern, "1g.5gb");
    assert_true(config.time_slicing.present && config.time_slicing.fail_requests_greater_than_one);
    assert_string_equal(config.time_slicing.resources[0].rename, "nvidia.com/a100.shared");
    assert_true(config.time_slicing.resources[0].devices_all);
    assert_string_equal(config.time_slicing.resources[1].rename, "nvidia.com/o");
    assert_int_equal(config.time_slicing.resources[1].devices_count, 2);
    assert_int_equal(config.keti_shares, 10);
    assert_true(config.imex_channel_zero && config.imex_required);
}

static void value_forms(void **state)
{
    (void)state;
    accepted("flags: {nvidiaDriverRoot: /run/nvidia/driver}");
    assert_string_equal(config.dev_root, "/run/nvidia/driver");
    accepted("flags: {plugin: {deviceListStrategy: volume-mounts}}");
    assert_int_equal(config.device_list_strategies, DEVICE_LIST_VOLUME_MOUNTS);
    accepted("flags: {plugin: {cdiDisableHooks: [update-ldcache, chmod]}}");
    assert_true((config.cdi_hooks_off & CDI_HOOK_UPDATE_LDCACHE) && !(config.cdi_hooks_off & (CDI_HOOK_ALL | CDI_HOOK_CREATE_SYMLINKS)));
    accepted("flags: {plugin: {cdiDisableHooks: []}}");
    assert_int_equal(config.cdi_hooks_off, 0);
    accepted("flags: {gfd: {sleepInterval: infinite}}");
    assert_int_equal(config.gfd_sleep_ms, -1);
    accepted("flags: {gfd: {sleepInterval: 60000000000}}");
    assert_int_equal(config.gfd_sleep_ms, 60000);
    assert_int_equal(warnings.n, 0);
    accepted("flags: {gfd: {sleepInterval: 60}}");
    assert_non_null(strstr(warnings.data, "write 60s"));
    accepted("sharing: {mps: {resources: [{name: gpu, replicas: 1, devices: [0, \"0:1\", 1:1, GPU-b1028956-cfa2-0990-bf4a-5da9abb51763,"
             " MIG-b1028956-cfa2-0990-bf4a-5da9abb51763, MIG-GPU-b1028956-cfa2-0990-bf4a-5da9abb51763/3/0]}]}}");
    assert_int_equal(config.mps.resources[0].devices_n, 6);
    assert_string_equal(config.mps.resources[0].devices[2], "1:1");
    assert_true(config.mps.fail_requests_greater_than_one);
    accepted("sharing: {mps: {failRequestsGreaterThanOne: false, resources: [{name: gpu, replicas: 2}]}}");
    assert_false(config.mps.fail_requests_greater_than_one);
    accepted("sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}]}}");
    assert_false(config.time_slicing.fail_requests_greater_than_one);
    accepted("{\"version\": \"v1\", \"sharing\": {\"timeSlicing\": {\"resources\": [{\"name\": \"nvidia.com/gpu\", \"replicas\": 4}]}}}");
    assert_int_equal(config.time_slicing.resources[0].replicas, 4);
}

static void mistakes(void **state)
{
    (void)state;
    static const char *const table[][3] = {
        {"version: v2", "version", "write v1"},
        {"version: 1", "version", "v1"},
        {"flag: {}", "flag", "did you mean 'flags'"},
        {"flags: {migStrategie: none}", "flags.migStrategie", "did you mean 'migStrategy'"},
        {"flags: {plugin: {passDeviceSpec: true}}", "flags.plugin.passDeviceSpec", "'passDeviceSpecs'"},
        {"flags: {gfd: {sleep: 60s}}", "flags.gfd.sleep", "sleepInterval"},
        {"flags: {migStrategy: some}", "flags.migStrategy", "none, single, mixed"},
        {"flags: {migStrategy: true}", "flags.migStrategy", "quotes"},
        {"flags: {failOnInitError: \"true\"}", "flags.failOnInitError", "true or false"},
        {"flags: []", "flags", "a list"},
        {"flags: {mpsRoot: mps}", "flags.mpsRoot", "'/'"},
        {"flags: {deviceDiscoveryStrategy: tegra}", "tegra", "not supported"},
        {"flags: {deviceDiscoveryStrategy: x}", "auto", "nvml"},
        {"flags: {plugin: {deviceListStrategy: cdi}}", "cdi-annotations", "volume-mounts"},
        {"flags: {plugin: {deviceListStrategy: []}}", "empty", "envvar"},
        {"flags: {plugin: {deviceListStrategy: [envvar, 3]}}", "deviceListStrategy[1]", "number 3"},
        {"flags: {plugin: {cdiDisableHooks: ldcache}}", "cdiDisableHooks", "update-ldcache"},
        {"flags: {plugin: {deviceIDStrategy: name}}", "deviceIDStrategy", "uuid, index"},
        {"flags: {plugin: {cdiAnnotationPrefix: x}}", "cdiAnnotationPrefix", "cdi.k8s.io/"},
        {"flags: {gfd: {sleepInterval: soon}}", "sleepInterval", "60s"},
        {"flags: {gfd: {sleepInterval: -5s}}", "sleepInterval", "60s"},
        {"flags: {gfd: {sleepInterval: true}}", "sleepInterval", "true"},
        {"imex: {channelIDs: [1]}", "imex.channelIDs", "[0]"},
        {"imex: {channels: [0]}", "imex.channels", "channelIDs"},
        {"sharing: {timeslicing: {}}", "sharing.timeslicing", "did you mean 'timeSlicing'"},
        {"sharing: {timeSlicing: {}}", "sharing.timeSlicing.resources", "no resource is listed"},
        {"sharing: {timeSlicing: {resources: []}}", "sharing.timeSlicing.resources", "no resource"},
        {"sharing: {timeSlicing: {resources: [{replicas: 2}]}}", "resources[0]", "'name' is missing"},
        {"sharing: {timeSlicing: {resources: [{name: gpu}]}}", "resources[0]", "'replicas' is missing"},
        {"sharing: {timeSlicing: {resources: [{name: gpu, replicas: 1}]}}", "resources[0].replicas", "from 2"},
        {"sharing: {timeSlicing: {resources: [{name: gpu, replicas: -1}]}}", "resources[0].replicas", "number -1"},
        {"sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2.5}]}}", "resources[0].replicas", "2.5"},
        {"sharing: {timeSlicing: {resources: [{name: gpu, replicas: four}]}}", "resources[0].replicas", "four"},
        {"sharing: {timeSlicing: {resources: [{name: gpu, replica: 4}]}}", "resources[0].replica", "did you mean 'replicas'"},
        {"sharing: {mps: {resources: [{name: gpu, replicas: 49}]}}", "resources[0].replicas", "to 48"},
        {"sharing: {mps: {resources: [{name: amd.com/gpu, replicas: 2}]}}", "resources[0].name", "write 'gpu'"},
        {"sharing: {mps: {resources: [{name: GPU, replicas: 2}]}}", "resources[0].name", "lower case"},
        {"sharing: {mps: {resources: [{name: x12345678901234567890123456789012345678901234567890123456789, replicas: 2}]}}", "name", "63"},
        {"sharing: {mps: {resources: [{name: gpu, devices: some, replicas: 2}]}}", "resources[0].devices", "all"},
        {"sharing: {mps: {resources: [{name: gpu, devices: 0, replicas: 2}]}}", "resources[0].devices", "from 1"},
        {"sharing: {mps: {resources: [{name: gpu, devices: [], replicas: 2}]}}", "resources[0].devices", "empty"},
        {"sharing: {mps: {resources: [{name: gpu, devices: [GPU-1], replicas: 2}]}}", "resources[0].devices[0]", "UUID"},
        {"sharing: {mps: {resources: [{name: gpu, devices: [0, 0], replicas: 2}]}}", "resources[0].devices[1]", "twice"},
        {"sharing: {mps: {resources: [{name: gpu, devices: {}, replicas: 2}]}}", "resources[0].devices", "an object"},
        {"sharing: {mps: {resources: [{name: gpu, replicas: 2}, {name: gpu, replicas: 3}]}}", "resources[1]", "twice"},
        {"sharing: {keti: {replicas: 49}}", "sharing.keti.replicas", "48"},
        {"sharing: {keti: {shares: 4}}", "sharing.keti.shares", "replicas"},
        {"sharing: {timeSlicing: {resources: [{name: gpu, devices: [0], replicas: 2}]}, mps: {resources: [{name: gpu, devices: [1], replicas: 2}]}}",
         "sharing.timeSlicing.resources[0]", "rename"},
        {"resources: {gpus: [{name: x}]}", "resources.gpus[0]", "'pattern' is missing"},
        {"resources: {migs: []}", "resources.migs", "'mig'"},
        {"a: b\n---\nc: d\n", "2 YAML documents", "one"},
        {"version: v1\nversion: v1\n", "version", "twice"},
        {"- version: v1", "config", "a list"},
        {"version: v1\nmig-configs: {}", "mig-configs", "MIG manager"},
        {"just words", "config", "words"},
        {"apiVersion: v1\nkind: Secret\ndata: {}\n", "kind", "Secret"},
        {"apiVersion: v1\nkind: ConfigMap\n", "data", "no key"},
        {"apiVersion: v1\nkind: ConfigMap\ndata: {a: \"\", b: \"\"}\n", "data", "2 keys (a, b)"},
        {"apiVersion: v1\nkind: ConfigMap\ndata: {a: {version: v1}}\n", "data.a", "write 'a: |'"},
        {"apiVersion: v1\nkind: ConfigMap\ndata: {a: \"flags: {x: 1}\"}\n", "data.a: flags.x", "unknown key"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        refused(table[i][0], table[i][1], table[i][2]);
}

/* The files of the guides that users copy. */
static void guides(void **state)
{
    (void)state;
    accepted("# Time-slicing\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: time-slicing-config\n  namespace: gpu-operator\ndata:\n"
             "  any: |\n    version: v1\n    sharing:\n      timeSlicing:\n        renameByDefault: false\n        resources:\n"
             "          - name: nvidia.com/gpu\n            replicas: 4  # comment\n");
    assert_int_equal(config.time_slicing.resources[0].replicas, 4);
    assert_null(config.time_slicing.resources[0].rename);
    assert_int_equal(warnings.n, 0);
    accepted("version: v1\nsharing:\n  mps:\n    renameByDefault: false\n    resources:\n      - name: nvidia.com/gpu\n        replicas: 10\n");
    assert_int_equal(config.mps.resources[0].replicas, 10);
    assert_string_equal(config.mps_root, "/run/nvidia/mps");
}

static void together(void **state)
{
    (void)state;
    accepted("sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}]}, mps: {resources: [{name: gpu, replicas: 3}]}}");
    assert_non_null(strstr(warnings.data, "sharing.timeSlicing.resources[0]: has no effect"));
    accepted("flags: {migStrategy: mixed}\nsharing: {mps: {resources: [{name: gpu, replicas: 3}, {name: mig-1g.5gb, replicas: 3}]}}");
    assert_non_null(strstr(warnings.data, "sharing.mps.resources[1]: a MIG device takes fewer"));
    accepted("flags: {useNodeFeatureAPI: true, gfd: {oneshot: true}}");
    assert_non_null(strstr(warnings.data, "flags.useNodeFeatureAPI: has no effect"));
    assert_non_null(strstr(warnings.data, "flags.gfd.oneshot: has no effect"));
    accepted("imex: {required: true}");
    assert_non_null(strstr(warnings.data, "imex.required"));
}

static void precedence(void **state)
{
    (void)state;
    char *environment[] = {"MIG_STRATEGY=single", "PATH=/bin", "DEVICE_LIST_STRATEGY=envvar,cdi-cri", "FAIL_ON_INIT_ERROR=F", "MPS_ROOT=",
                           "IMEX_CHANNEL_IDS=0", "KETI_MPSGPU=7", "GFD_SLEEP_INTERVAL=5s", "GFD_MIG_STRATEGY=mixed", NULL};
    struct config_setting *settings;
    uint32_t n = config_settings_of_environment(arena, environment, &settings);
    assert_int_equal(n, 7);
    assert_int_equal(parse_with("flags: {migStrategy: mixed, mpsRoot: /m}", settings, n), 0);
    assert_int_equal(config.mig_strategy, MIG_STRATEGY_SINGLE);
    assert_int_equal(config.device_list_strategies, DEVICE_LIST_ENVVAR | DEVICE_LIST_CDI_CRI);
    assert_false(config.fail_on_init_error);
    assert_string_equal(config.mps_root, "/m");
    assert_true(config.imex_channel_zero);
    assert_int_equal(config.keti_shares, 7);
    assert_int_equal(config.gfd_sleep_ms, 5000);
    const char *path;
    bool is_switch;
    assert_true(config_setting_of_flag("mig-strategy", &path, &is_switch));
    assert_false(is_switch);
    assert_true(config_setting_of_flag("imex-required", &path, &is_switch));
    assert_true(is_switch);
    assert_true(config_setting_of_flag("mig-strategy", &path, NULL));
    assert_string_equal(path, "flags.migStrategy");
    assert_true(config_setting_of_flag("nvidia-ctk-path", &path, NULL));
    assert_false(config_setting_of_flag("kubelet-socket", &path, NULL));
    struct config_setting flag = {"flags.migStrategy", "none", "--mig-strategy"};
    struct config_setting both[2] = {settings[0], flag};
    assert_int_equal(parse_with("flags: {migStrategy: mixed}", both, 2), 0);
    assert_int_equal(config.mig_strategy, MIG_STRATEGY_NONE);
    flag.value = "x";
    assert_int_equal(parse_with("", &flag, 1), -E_INVALID);
    assert_non_null(strstr(error.text, "--mig-strategy: 'x'"));
    flag = (struct config_setting){"flags.gdsEnabled", "yes", "GDS_ENABLED"};
    assert_int_equal(parse_with("", &flag, 1), -E_INVALID);
    assert_non_null(strstr(error.text, "GDS_ENABLED: expected true or false"));
    flag = (struct config_setting){"flags.none", "yes", NULL};
    assert_int_equal(parse_with("", &flag, 1), -E_INVALID);
}

static void junk(void **state)
{
    (void)state;
    static const char *const bits[] = {"[", "{", "a: ", "- ", "\"", "&a ", "x\n", "\t", "\xff", "a: {b: "};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        _cleanup_buf_ struct buf text = {0};
        while (text.n + 16 < LIMIT_AGENT_CONFIG_BYTES)
            buf_text(&text, bits[i]);
        error = (struct err){0};
        assert_true(agent_config_parse(arena, buf_view(&text), NULL, 0, &config, NULL, &error) < 0);
        assert_true(error.code > 0 && error.text[0] && strlen(error.text) < ERR_TEXT_MAX);
        arena_reset(arena);
    }
    _cleanup_buf_ struct buf large = {0};
    buf_reserve(&large, LIMIT_AGENT_CONFIG_BYTES + 1);
    memset(large.data, ' ', LIMIT_AGENT_CONFIG_BYTES + 1);
    large.n = LIMIT_AGENT_CONFIG_BYTES + 1;
    assert_int_equal(agent_config_parse(arena, buf_view(&large), NULL, 0, &config, NULL, &error), -E_LIMIT);
    _cleanup_buf_ struct buf many = {0};
    buf_text(&many, "sharing: {mps: {resources: [");
    for (int i = 0; i <= LIMIT_AGENT_CONFIG_ENTRIES; i++)
        buf_text(&many, "{name: gpu, replicas: 2}, ");
    buf_text(&many, "]}}");
    assert_int_equal(agent_config_parse(arena, buf_view(&many), NULL, 0, &config, NULL, &error), -E_INVALID);
    assert_non_null(strstr(error.text, "at most 1024"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(defaults, begin, end),  cmocka_unit_test_setup_teardown(every_key, begin, end),
        cmocka_unit_test_setup_teardown(value_forms, begin, end), cmocka_unit_test_setup_teardown(mistakes, begin, end),
        cmocka_unit_test_setup_teardown(guides, begin, end),    cmocka_unit_test_setup_teardown(together, begin, end),
        cmocka_unit_test_setup_teardown(precedence, begin, end), cmocka_unit_test_setup_teardown(junk, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
