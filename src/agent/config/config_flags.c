/* config_flags.c - every single setting: its key in the file, its flags and environment variables, and how its value is read */
#include <stdio.h>
#include "agent/config/config_part.h"
#include "base/clock.h"
#include "codec/schema/validate_name.h"

struct setting_row;
typedef int (*setting_fn)(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path);
static int set_choice(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path);
static int set_bool(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path);
static int set_path(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path);
static int set_discovery(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path);
static int set_strategies(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path);
static int set_bits(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path);
static int set_prefix(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path);
static int set_interval(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path);
static int set_channels(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path);
static int set_keti(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path);

enum setting_form { FORM_TEXT, FORM_BOOL, FORM_LIST, FORM_NUMBERS, FORM_NUMBER };
struct setting_row {
    const char *path;
    const char *flags[2];
    const char *variables[2]; /* the later one wins */
    setting_fn set;
    enum setting_form form; /* of the value when it comes as text */
    size_t offset;
    const char *choices[6]; /* set_choice: by value; set_bits: by bit */
};
#define AT(field) offsetof(struct agent_config, field)

/* SOURCE NVIDIA's device plugin. Variables GFD_*: GPU Feature Discovery's own. */
static const struct setting_row rows[] = {
    {"flags.migStrategy", {"mig-strategy"}, {"GFD_MIG_STRATEGY", "MIG_STRATEGY"}, set_choice, FORM_TEXT, AT(mig_strategy),
     {"none", "single", "mixed"}},
    {"flags.failOnInitError", {"fail-on-init-error"}, {"GFD_FAIL_ON_INIT_ERROR", "FAIL_ON_INIT_ERROR"}, set_bool, FORM_BOOL,
     AT(fail_on_init_error), {0}},
    {"flags.mpsRoot", {"mps-root"}, {"MPS_ROOT"}, set_path, FORM_TEXT, AT(mps_root), {0}},
    {"flags.nvidiaDriverRoot", {"nvidia-driver-root", "driver-root"}, {"NVIDIA_DRIVER_ROOT"}, set_path, FORM_TEXT, AT(driver_root), {0}},
    {"flags.nvidiaDevRoot", {"nvidia-dev-root", "dev-root"}, {"NVIDIA_DEV_ROOT"}, set_path, FORM_TEXT, AT(dev_root), {0}},
    {"flags.gdrcopyEnabled", {"gdrcopy-enabled"}, {"GDRCOPY_ENABLED"}, set_bool, FORM_BOOL, AT(gdrcopy), {0}},
    {"flags.gdsEnabled", {"gds-enabled"}, {"GDS_ENABLED"}, set_bool, FORM_BOOL, AT(gds), {0}},
    {"flags.mofedEnabled", {"mofed-enabled"}, {"MOFED_ENABLED"}, set_bool, FORM_BOOL, AT(mofed), {0}},
    {"flags.useNodeFeatureAPI", {"use-node-feature-api"}, {"GFD_USE_NODE_FEATURE_API", "USE_NODE_FEATURE_API"}, set_bool, FORM_BOOL,
     AT(use_node_feature_api), {0}},
    {"flags.deviceDiscoveryStrategy", {"device-discovery-strategy"}, {"DEVICE_DISCOVERY_STRATEGY"}, set_discovery, FORM_TEXT,
     AT(device_discovery_strategy), {0}},
    {"flags.plugin.passDeviceSpecs", {"pass-device-specs"}, {"PASS_DEVICE_SPECS"}, set_bool, FORM_BOOL, AT(pass_device_specs), {0}},
    {"flags.plugin.deviceListStrategy", {"device-list-strategy"}, {"DEVICE_LIST_STRATEGY"}, set_strategies, FORM_LIST,
     AT(device_list_strategies), {"envvar", "volume-mounts", "cdi-annotations", "cdi-cri"}},
    {"flags.plugin.deviceIDStrategy", {"device-id-strategy"}, {"DEVICE_ID_STRATEGY"}, set_choice, FORM_TEXT, AT(device_id_strategy),
     {"uuid", "index"}},
    {"flags.plugin.cdiAnnotationPrefix", {"cdi-annotation-prefix"}, {"CDI_ANNOTATION_PREFIX"}, set_prefix, FORM_TEXT,
     AT(cdi_annotation_prefix), {0}},
    {"flags.plugin.cdiDisableHooks", {"cdi-disable-hooks"}, {"CDI_DISABLE_HOOKS"}, set_bits, FORM_LIST, AT(cdi_hooks_off),
     {"create-symlinks", "update-ldcache", "all", "enable-cuda-compat", "chmod", "disable-device-node-modification"}},
    {"flags.plugin.nvidiaCTKPath", {"nvidia-cdi-hook-path", "nvidia-ctk-path"}, {"NVIDIA_CTK_PATH", "NVIDIA_CDI_HOOK_PATH"}, set_path,
     FORM_TEXT, AT(cdi_hook_path), {0}},
    {"flags.plugin.containerDriverRoot", {"driver-root-ctr-path", "container-driver-root"},
     {"CONTAINER_DRIVER_ROOT", "DRIVER_ROOT_CTR_PATH"}, set_path, FORM_TEXT, AT(container_driver_root), {0}},
    {"flags.plugin.sharedDevicesAllocationPolicy", {"shared-devices-allocation-policy"}, {"SHARED_DEVICES_ALLOCATION_POLICY"}, set_choice,
     FORM_TEXT, AT(shared_allocation_policy), {"distributed", "packed"}},
    {"flags.gfd.oneshot", {"oneshot"}, {"GFD_ONESHOT"}, set_bool, FORM_BOOL, AT(gfd_oneshot), {0}},
    {"flags.gfd.noTimestamp", {"no-timestamp"}, {"GFD_NO_TIMESTAMP"}, set_bool, FORM_BOOL, AT(gfd_no_timestamp), {0}},
    {"flags.gfd.sleepInterval", {"sleep-interval"}, {"GFD_SLEEP_INTERVAL"}, set_interval, FORM_TEXT, AT(gfd_sleep_ms), {0}},
    {"flags.gfd.outputFile", {"output-file"}, {"GFD_OUTPUT_FILE"}, set_path, FORM_TEXT, AT(gfd_output_file), {0}},
    {"flags.gfd.machineTypeFile", {"machine-type-file"}, {"GFD_MACHINE_TYPE_FILE"}, set_path, FORM_TEXT, AT(gfd_machine_type_file), {0}},
    {"imex.channelIDs", {"imex-channel-ids"}, {"IMEX_CHANNEL_IDS"}, set_channels, FORM_NUMBERS, AT(imex_channel_zero), {0}},
    {"imex.required", {"imex-required"}, {"IMEX_REQUIRED"}, set_bool, FORM_BOOL, AT(imex_required), {0}},
    {"sharing.keti.replicas", {"ketimpsgpu"}, {"KETI_MPSGPU"}, set_keti, FORM_NUMBER, AT(keti_shares), {0}},
};
#define ROWS_N (sizeof rows / sizeof *rows)

static void *field_of(struct config_reader *r, const struct setting_row *row)
{
    return (char *)r->c + row->offset;
}

#define CHOICES_N (sizeof ((struct setting_row *)0)->choices / sizeof(const char *))

/* Which of the row's choices `v` is, or an error that names them. */
static int choice_of(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path, unsigned *ret_i)
{
    const char *text;
    int failed = config_text(r, v, path, &text);
    if (failed < 0)
        return failed;
    _cleanup_buf_ struct buf all = {0};
    for (unsigned i = 0; i < CHOICES_N && row->choices[i]; i++) {
        if (text_equal(text, row->choices[i])) {
            *ret_i = i;
            return 0;
        }
        buf_printf(&all, "%s%s", i ? ", " : "", row->choices[i]);
    }
    return config_fail(r, path, "'%s' is none of %s", config_shown(r, text), all.data);
}

static int set_choice(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path)
{
    unsigned i;
    int failed = choice_of(r, row, v, path, &i);
    if (failed == 0)
        *(unsigned *)field_of(r, row) = i;
    return failed;
}

/* One of the choices or a list of them. */
static int set_bits(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path)
{
    const struct json *item = json_is(v, JSON_ARRAY) ? json_first(v) : v;
    unsigned bits = 0, bit;
    for (uint32_t i = 0; item; item = json_is(v, JSON_ARRAY) ? item->next : NULL, i++) {
        int failed = choice_of(r, row, item, json_is(v, JSON_ARRAY) ? arena_printf(r->a, "%s[%u]", path, i) : path, &bit);
        if (failed < 0)
            return failed;
        bits |= 1u << bit;
    }
    *(unsigned *)field_of(r, row) = bits;
    return 0;
}

static int set_strategies(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path)
{
    if (json_is(v, JSON_ARRAY) && !json_first(v))
        return config_fail(r, path, "the list is empty: containers would get no GPU; write envvar");
    return set_bits(r, row, v, path);
}

static int set_bool(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path)
{
    return config_bool(r, v, path, field_of(r, row));
}

static int set_path(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path)
{
    const char *text;
    int failed = config_text(r, v, path, &text);
    if (failed < 0)
        return failed;
    if (!*text) /* the default, as Helm charts write it */
        return 0;
    if (*text != '/')
        return config_fail(r, path, "'%s' is no absolute path; write one that begins with '/'", config_shown(r, text));
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < ' ')
            return config_fail(r, path, "the path holds a control character");
    *(const char **)field_of(r, row) = text;
    return 0;
}

static int set_discovery(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path)
{
    const char *text;
    int failed = config_text(r, v, path, &text);
    if (failed < 0)
        return failed;
    if (text_equal(text, "tegra") || text_equal(text, "vfio"))
        return config_fail(r, path, "'%s' is not supported: GPUs are read through NVML; write auto or nvml", text);
    if (!text_equal(text, "auto") && !text_equal(text, "nvml"))
        return config_fail(r, path, "'%s' is none of auto, nvml", config_shown(r, text));
    *(const char **)field_of(r, row) = text;
    return 0;
}

static int set_prefix(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path)
{
    const char *text;
    int failed = config_text(r, v, path, &text);
    if (failed < 0)
        return failed;
    size_t n = strlen(text);
    if (n < 2 || text[n - 1] != '/' || !name_is_dns_subdomain((struct bytes){text, n - 1}))
        return config_fail(r, path, "'%s' is no annotation prefix; write a domain and '/', as in cdi.k8s.io/", config_shown(r, text));
    *(const char **)field_of(r, row) = text;
    return 0;
}

/* Go's duration, "infinite", or a bare number of nanoseconds. */
static int set_interval(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path)
{
    int64_t *ms = field_of(r, row), nanoseconds, parsed;
    if (json_is(v, JSON_NUMBER)) {
        if (!bytes_int64(json_bytes(v), &nanoseconds) || nanoseconds < 0)
            return config_fail(r, path, "expected a duration (60s) or nanoseconds, found %s", config_kind(r, v));
        if (nanoseconds && nanoseconds < 1000000)
            config_warn(r, path, "%lld is nanoseconds; write %llds for seconds", (long long)nanoseconds, (long long)nanoseconds);
        *ms = (nanoseconds + 999999) / 1000000;
        return 0;
    }
    const char *text;
    int failed = config_text(r, v, path, &text);
    if (failed < 0)
        return failed;
    if (text_equal(text, "infinite"))
        parsed = -1;
    else if (!duration_parse(bytes_of(text), &parsed) || parsed < 0)
        return config_fail(r, path, "'%s' is no duration; write 60s, 5m or infinite", config_shown(r, text));
    *ms = parsed;
    return 0;
}

static int set_channels(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path)
{
    const struct json *list;
    int failed = config_list(r, v, path, &list);
    if (failed < 0)
        return failed;
    if (list && list->n && (list->n > 1 || json_int64(list->first, -1) != 0))
        return config_fail(r, path, "only [] or [0] is possible: channel 0 is the one that a node shares");
    *(bool *)field_of(r, row) = list && list->n;
    return 0;
}

static int set_keti(struct config_reader *r, const struct setting_row *row, const struct json *v, const char *path)
{
    return config_count(r, v, path, 0, CONFIG_MPS_REPLICAS_MAX, field_of(r, row));
}

/* ---- from the file ---- */

static const struct setting_row *row_find(const char *path)
{
    for (size_t i = 0; i < ROWS_N; i++)
        if (text_equal(rows[i].path, path))
            return &rows[i];
    return NULL;
}

/* The keys that stand directly under `path`: of rows, and `more`. */
static size_t keys_under(const char *path, const char *const *more, const char **ret_keys)
{
    size_t n = 0, path_n = strlen(path);
    for (; more && *more; more++)
        ret_keys[n++] = *more;
    for (size_t i = 0; i < ROWS_N; i++)
        if (text_starts(rows[i].path, path) && rows[i].path[path_n] == '.' && !strchr(rows[i].path + path_n + 1, '.'))
            ret_keys[n++] = rows[i].path + path_n + 1;
    return n;
}

static int read_rows(struct config_reader *r, const struct json *object, const char *path, const char *const *groups)
{
    const char *keys[ROWS_N + 2];
    size_t keys_n = keys_under(path, groups, keys);
    const struct json *v;
    int failed = config_object(r, object, path, keys, keys_n, &v);
    for (const struct json *member = failed < 0 ? NULL : json_first(v); member && failed == 0; member = member->next) {
        const char *full = arena_printf(r->a, "%s.%s", path, member->key);
        const struct setting_row *row = row_find(full);
        if (row && member->type != JSON_NULL)
            failed = row->set(r, row, member, full);
    }
    return failed;
}

int config_read_flags(struct config_reader *r, const struct json *flags)
{
    static const char *const groups[] = {"plugin", "gfd", NULL};
    int failed = read_rows(r, flags, "flags", groups);
    if (failed == 0)
        failed = read_rows(r, json_get(flags, "plugin"), "flags.plugin", NULL);
    return failed < 0 ? failed : read_rows(r, json_get(flags, "gfd"), "flags.gfd", NULL);
}

int config_read_imex(struct config_reader *r, const struct json *imex)
{
    return read_rows(r, imex, "imex", NULL);
}

int config_read_keti(struct config_reader *r, const struct json *keti)
{
    return read_rows(r, keti, "sharing.keti", NULL);
}

/* ---- from flags and environment ---- */

/* NULL when it is none. */
static struct json *text_truth(struct config_reader *r, const char *text)
{
    bool value;
    return text_bool(text, &value) ? json_new_bool(r->a, value) : NULL;
}

static struct json *text_number(struct config_reader *r, struct bytes text)
{
    int64_t value;
    return bytes_int64(text, &value) ? json_new_int64(r->a, value) : json_new_text_n(r->a, text);
}

static struct json *text_list(struct config_reader *r, const char *text, bool numbers)
{
    struct json *list = json_new(r->a, JSON_ARRAY);
    while (*text) {
        size_t n = strcspn(text, ","), start = strspn(text, " \t");
        struct bytes item = {text + (start < n ? start : n), n - (start < n ? start : n)};
        while (item.n && item.data[item.n - 1] == ' ')
            item.n--;
        json_append(list, numbers ? text_number(r, item) : json_new_text_n(r->a, item));
        text += n + (text[n] == ',');
    }
    return list;
}

int config_apply_setting(struct config_reader *r, const struct config_setting *s)
{
    const struct setting_row *row = row_find(s->path);
    const char *from = s->from && *s->from ? s->from : s->path;
    struct json *v = NULL;
    if (!row)
        return config_fail(r, from, "there is no setting '%s'", config_shown(r, s->path));
    if (strlen(s->value) > 4096)
        return config_fail(r, from, "the value is longer than 4096 bytes");
    switch (row->form) {
    case FORM_TEXT:
        v = json_new_text(r->a, s->value);
        break;
    case FORM_BOOL:
        v = text_truth(r, s->value);
        if (!v)
            return config_fail(r, from, "expected true or false, found \"%s\"", config_shown(r, s->value));
        break;
    case FORM_NUMBER:
        v = text_number(r, bytes_of(s->value));
        break;
    case FORM_LIST:
    case FORM_NUMBERS:
        v = text_list(r, s->value, row->form == FORM_NUMBERS);
        break;
    }
    return row->set(r, row, v, from);
}

static const char *environment_value(char *const *environment, const char *name)
{
    size_t n = strlen(name);
    for (; environment && *environment; environment++)
        if (strncmp(*environment, name, n) == 0 && (*environment)[n] == '=')
            return *environment + n + 1;
    return NULL;
}

uint32_t config_settings_of_environment(struct arena *a, char *const *environment, struct config_setting **ret_settings)
{
    struct config_setting *settings = arena_zero(a, ROWS_N * 2, sizeof *settings);
    uint32_t n = 0;
    for (size_t i = 0; i < ROWS_N; i++)
        for (int k = 0; k < 2 && rows[i].variables[k]; k++) {
            const char *value = environment_value(environment, rows[i].variables[k]);
            if (value && *value)
                settings[n++] = (struct config_setting){rows[i].path, value, rows[i].variables[k]};
        }
    *ret_settings = settings;
    return n;
}

bool config_setting_of_flag(const char *option, const char **ret_path, bool *ret_is_switch)
{
    for (size_t i = 0; i < ROWS_N; i++)
        for (int k = 0; k < 2 && rows[i].flags[k]; k++)
            if (text_equal(rows[i].flags[k], option)) {
                *ret_path = rows[i].path;
                if (ret_is_switch)
                    *ret_is_switch = rows[i].form == FORM_BOOL;
                return true;
            }
    return false;
}
