#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "agent/mig/mig_config.h"
#include "base/limits.h"

#define HEAD "version: v1\nmig-configs:\n  a:\n"

static const struct mig_state off;

static struct mig_config parse(struct arena *a, const char *text)
{
    struct mig_config c = {0};
    struct err e = {0};
    if (mig_config_parse(a, bytes_of(text), &c, &e) < 0)
        fail_msg("%s", e.text);
    return c;
}

static void refuse(const char *text, const char *message)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct mig_config c;
    struct err e = {0};
    assert_true(mig_config_parse(a, bytes_of(text), &c, &e) < 0);
    if (!strstr(e.text, message))
        fail_msg("'%s' is not in '%s'", message, e.text);
}

static struct driver_gpu gpu(uint16_t index, const char *key)
{
    const struct gpu_model *m = gpu_model_find(key);
    struct driver_gpu g = {.index = index,
                           .pci_device_id = m->pci_device_id,
                           .pci_subsystem_id = m->pci_subsystem_id,
                           .mig_capable = m->mig_slices > 0,
                           .geometry = m->mig_slices ? m : NULL};
    snprintf(g.name, sizeof g.name, "%s", m->name);
    return g;
}

/* The ConfigMap of the guide, comments and all. */
static const char guide[] = "# MIG partitions\n"
                            "apiVersion: v1\n"
                            "kind: ConfigMap\n"
                            "metadata:\n"
                            "  name: mig-parted-config\n"
                            "data:\n"
                            "  config.yaml: |\n"
                            "    version: v1\n"
                            "    mig-configs:\n"
                            "      # A100-40GB\n"
                            "      all-1g.5gb:\n"
                            "        - devices: all\n"
                            "          mig-enabled: true\n"
                            "          mig-devices:\n"
                            "            \"1g.5gb\": 7     # seven\n"
                            "      all-balanced:\n"
                            "        - devices: all\n"
                            "          mig-enabled: true\n"
                            "          mig-devices:\n"
                            "            \"3g.20gb\": 2\n"
                            "            \"1g.5gb\": 1\n";

static void test_guide(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct mig_config c = parse(a, guide);
    assert_int_equal(c.layouts_n, 2);
    assert_null(mig_config_find(&c, "all"));
    const struct mig_layout *l = mig_config_find(&c, "all-balanced");
    assert_non_null(l);
    assert_int_equal(l->entries_n, 1);
    assert_true(l->entries[0].devices_all && l->entries[0].mig_enabled);
    assert_int_equal(l->entries[0].wishes_n, 2);
    assert_string_equal(l->entries[0].wishes[0].profile, "3g.20gb");
    assert_int_equal(l->entries[0].wishes[0].n, 2);
    /* It parses, and does not fit: two 3g fill the memory. The plan says so. */
    struct driver_gpu g = gpu(0, "a100-40gb");
    struct mig_wish wishes[8];
    uint32_t n = 0;
    bool on = false;
    struct err e;
    assert_int_equal(mig_layout_for(l, &g, &on, wishes, 8, &n, &e), 1);
    struct mig_plan plan;
    assert_int_equal(mig_plan_make(g.geometry, &off, on, wishes, n, &plan, &e), -E_INVALID);
    assert_non_null(strstr(e.text, "it takes 9 memory slices, the GPU has 8"));
    /* On another model the profile does not exist. */
    g = gpu(3, "h100-80gb");
    assert_int_equal(mig_layout_for(l, &g, &on, wishes, 8, &n, &e), -E_INVALID);
    assert_non_null(strstr(e.text, "layout 'all-balanced': GPU 3: NVIDIA H100 80GB HBM3 has no MIG profile '3g.20gb': there are 1g.10gb"));
}

static void test_filters(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    assert_int_equal(parse(a, HEAD "    - {devices: all, mig-enabled: false, device-filter: \"\"}\n").layouts[0].entries[0].filters_n, 0);
    struct mig_config c = parse(a, HEAD "    - device-filter: \"0x20B010DE\"\n      devices: all\n      mig-enabled: false\n"
                                        "    - device-filter: [\"0x233010de\", \"0x233510DE:0x18BE10DE\"]\n      devices: [0, 2]\n"
                                        "      mig-enabled: true\n      mig-devices: {}\n"
                                        "    - {devices: [7], mig-enabled: yes, mig-devices: {1g.10gb: 7}}\n");
    const struct mig_layout *l = mig_config_find(&c, "a");
    struct mig_wish wishes[8];
    uint32_t n = 9;
    bool on = true;
    struct err e;
    struct driver_gpu g = gpu(0, "a100-40gb");
    assert_int_equal(mig_layout_for(l, &g, &on, wishes, 8, &n, &e), 1);
    assert_false(on);
    assert_int_equal(n, 0);
    g = gpu(0, "h100-80gb");
    assert_int_equal(mig_layout_for(l, &g, &on, wishes, 8, &n, &e), 1);
    assert_true(on);
    g = gpu(1, "h100-80gb");
    assert_int_equal(mig_layout_for(l, &g, &on, wishes, 8, &n, &e), 0);
    g = gpu(2, "h200-141gb");
    assert_int_equal(mig_layout_for(l, &g, &on, wishes, 8, &n, &e), 1);
    g.pci_subsystem_id++;
    assert_int_equal(mig_layout_for(l, &g, &on, wishes, 8, &n, &e), 0);
    /* No MIG: passed over, unless it is named and MIG is wanted. */
    g = gpu(0, "t4");
    assert_int_equal(mig_layout_for(l, &g, &on, wishes, 8, &n, &e), 0);
    g = gpu(7, "t4");
    assert_int_equal(mig_layout_for(l, &g, &on, wishes, 8, &n, &e), -E_INVALID);
    assert_string_equal(e.text, "layout 'a': GPU 7 (Tesla T4) has no MIG");
    /* Before MIG mode is on some drivers tell no profiles: the table of models knows them. */
    g = gpu(7, "h100-80gb");
    g.geometry = NULL;
    assert_int_equal(mig_layout_for(l, &g, &on, wishes, 8, &n, &e), 1);
    assert_int_equal(n, 1);
    assert_int_equal(wishes[0].n, 7);
    g.name[7] = 'x';
    assert_int_equal(mig_layout_for(l, &g, &on, wishes, 8, &n, &e), -E_INVALID);
    assert_int_equal(mig_layout_for(l, &g, &on, wishes, 0, &n, &e), -E_INVALID);
}

static void test_override(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct mig_config c = parse(a, HEAD "    - {devices: all, mig-enabled: true, mig-devices: {\"7g.80gb\": 1}}\n"
                                        "    - {devices: [1], mig-enabled: false, mig-devices: {}}\n");
    struct mig_wish wishes[8];
    uint32_t n;
    bool on;
    struct driver_gpu g = gpu(0, "h100-80gb");
    assert_int_equal(mig_layout_for(&c.layouts[0], &g, &on, wishes, 8, &n, NULL), 1);
    assert_true(on && n == 1);
    g.index = 1;
    assert_int_equal(mig_layout_for(&c.layouts[0], &g, &on, wishes, 8, &n, NULL), 1);
    assert_true(!on && n == 0);
}

static void test_top_errors(void **state)
{
    refuse("", "the file is empty");
    refuse("# nothing\n", "the file is empty");
    refuse("[]", "expected keys and values, found a list");
    refuse("mig-configs: {}\n", "version: is missing; write version: v1");
    refuse("version: v2\nmig-configs: {}\n", "version: unknown version: found the text \"v2\"; write v1");
    refuse("version: 1\n", "unknown version: found the number 1");
    refuse("version: v1\nmig-config: {}\n", "mig-config: unexpected field; there are version and mig-configs");
    refuse("version: v1\n", "mig-configs: at least one layout is expected, found nothing");
    refuse("version: v1\nmig-configs: {}\n", "at least one layout is expected, found none");
    refuse("version: v1\nmig-configs: {a: []}\n", "mig-configs.a: at least one entry");
    refuse("version: v1\nmig-configs: {a: 3}\n", "mig-configs.a: expected a list, found the number 3");
    refuse("version: v1\n---\nversion: v1\n", "2 YAML documents");
    refuse("version: v1\nversion: v1\n", "version: the key is there twice");
    refuse("version: [v1\n", "line");
    refuse("apiVersion: v1\nkind: Pod\n", "this is a manifest of kind Pod");
    refuse("apiVersion: v1\nkind: ConfigMap\n", "data: the ConfigMap has no key config.yaml");
    refuse("apiVersion: v1\nkind: ConfigMap\ndata: {a: x, b: y}\n", "data: the ConfigMap has no key config.yaml");
    refuse("apiVersion: v1\nkind: ConfigMap\ndata: {config.yaml: 3}\n", "data.config.yaml: expected a text");
    refuse("apiVersion: v1\nkind: ConfigMap\ndata: {config.yaml: \"version: v3\"}\n", "data.config.yaml: version: unknown version");
    refuse("apiVersion: v1\nkind: ConfigMap\ndata: {config.yaml: \"[\"}\n", "data.config.yaml: ");
}

static void test_entry_errors(void **state)
{
    refuse(HEAD "    - 3\n", "mig-configs.a[0]: expected keys and values, found the number 3");
    refuse(HEAD "    - {mig-enabled: true}\n", "mig-configs.a[0].devices: is missing");
    refuse(HEAD "    - {devices: all}\n", "mig-configs.a[0].mig-enabled: is missing");
    refuse(HEAD "    - {devices: all, mig-enabled: true}\n", "mig-configs.a[0].mig-devices: is missing where mig-enabled is true");
    refuse(HEAD "    - {devices: every, mig-enabled: true}\n", "mig-configs.a[0].devices: expected all or a list of GPU indexes");
    refuse(HEAD "    - {devices: [-1], mig-enabled: true}\n", "mig-configs.a[0].devices[0]: expected a whole number from 0");
    refuse(HEAD "    - {devices: all, mig-enabled: \"true\"}\n", "mig-enabled: expected true or false, found the text");
    refuse(HEAD "    - {devices: all, mig-enabled: false, mig-devices: {1g.5gb: 1}}\n", "has to be empty where mig-enabled is false");
    refuse(HEAD "    - {devices: all, mig-enabled: true, mig-devices: {1g.5gb: -1}}\n", "mig-devices[\"1g.5gb\"]: expected a whole number");
    refuse(HEAD "    - {devices: all, mig-enabled: true, mig-devices: {1g.5gb: 1.5}}\n", "expected a whole number");
    refuse(HEAD "    - {devices: all, mig-enabled: true, mig-devices: {1g.5gb: 0}}\n", "every count is 0");
    refuse(HEAD "    - {devices: all, mig-enabled: true, mig-devices: {5g: 1}}\n", "mig-devices[\"5g\"]: no MIG profile");
    refuse(HEAD "    - {devices: all, mig-enabled: true, mig-devices: [1g.5gb]}\n", "expected profiles and counts");
    refuse(HEAD "    - {devices: all, mig-enabled: true, mig-device: {}}\n", "did you mean 'mig-devices'?");
    refuse(HEAD "    - {devices: all, mig-enabled: false, device-filter: 20B0}\n", "'20B0' is no device filter");
    refuse(HEAD "    - {devices: all, mig-enabled: false, device-filter: [\"0x20B010DE:\"]}\n", "device-filter[0]: '0x20B010DE:' is no");
    refuse(HEAD "    - {devices: all, mig-enabled: false, device-filter: []}\n", "selects nothing");
    refuse(HEAD "    - {devices: all, mig-enabled: false, device-filter: 0x20B010DE}\n", "put it in quotes");
}

static void test_limits(void **state)
{
    struct buf text = {0};
    buf_text(&text, HEAD "    - devices: [0");
    for (int i = 0; i < LIMIT_AGENT_CONFIG_ENTRIES; i++)
        buf_printf(&text, ",%d", i);
    buf_text(&text, "]\n      mig-enabled: false\n");
    refuse(text.data, "entries, at most");
    buf_clear(&text);
    buf_text(&text, "version: v1\n#");
    while (text.n <= LIMIT_AGENT_CONFIG_BYTES)
        buf_text(&text, "junk junk junk junk junk junk junk junk ");
    refuse(text.data, "bytes; at most");
    buf_free(&text);
}

/* What is written can be read, and names the state it was made of. As mig-parted merges it. */
static void test_export(void **state)
{
    (void)state;
    struct driver_mig migs[] = {{.profile = "1c.3g.40gb"}, {.profile = "1g.10gb"}, {.profile = "1g.10gb"}};
    static const struct {
        const char *models[4], *on, *entries; /* on: '+' has the instances */
    } cases[] = {
        {{"h100-80gb", NULL}, "-", "    - devices: all\n      mig-enabled: false\n      mig-devices: {}\n"},
        {{"h100-80gb", "h100-80gb"}, "++", "    - devices: all\n@"},
        {{"h100-80gb", "a100-40gb"}, "++", "    - devices: all\n@"},
        {{"h100-80gb", "h100-80gb", "h100-80gb"}, "+-+",
         "    - devices: [0, 2]\n@    - devices: [1]\n      mig-enabled: false\n      mig-devices: {}\n"},
        {{"h100-80gb", "h100-80gb", "t4"}, "++-",
         "    - device-filter: \"0x233010DE\"\n      devices: all\n@"
         "    - device-filter: \"0x1EB810DE\"\n      devices: all\n      mig-enabled: false\n      mig-devices: {}\n"},
        {{"h100-80gb", "h100-80gb", "t4", "h100-80gb"}, "++--",
         "    - device-filter: \"0x233010DE\"\n      devices: [0, 1]\n@"
         "    - device-filter: [\"0x1EB810DE\", \"0x233010DE\"]\n      devices: [2, 3]\n      mig-enabled: false\n      mig-devices: {}\n"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        _cleanup_arena_ struct arena *a = arena_new();
        _cleanup_buf_ struct buf out = {0}, want = {0};
        struct driver_gpu gpus[4];
        struct driver_reading r = {.gpus = gpus};
        while (r.gpus_n < 4 && cases[k].models[r.gpus_n]) {
            struct driver_gpu *g = &gpus[r.gpus_n];
            *g = gpu((uint16_t)r.gpus_n, cases[k].models[r.gpus_n]);
            g->mig_on = cases[k].on[r.gpus_n++] == '+';
            g->migs = migs;
            g->migs_n = g->mig_on ? 3 : 0;
        }
        buf_text(&want, "version: v1\nmig-configs:\n  \"now: 1\":\n");
        for (const char *c = cases[k].entries; *c; c++)
            buf_printf(&want, *c == '@' ? "      mig-enabled: true\n      mig-devices:\n        \"1c.3g.40gb\": 1\n        \"1g.10gb\": 2\n" : "%c", *c);
        mig_config_export(&r, "now: 1", &out);
        assert_string_equal(out.data, want.data);
        assert_string_equal(parse(a, out.data).layouts[0].name, "now: 1");
        r.silent = 1u << 4; /* what it has is not known: not "all" */
        mig_config_export(&r, "x", &out);
        assert_null(strstr(strstr(out.data, "\"x\""), "all"));
    }
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf out = {0};
    mig_config_export(&(struct driver_reading){0}, "current", &out);
    assert_int_equal(parse(a, out.data).layouts_n, 1);
}

static void test_default(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct driver_gpu gpus[] = {gpu(0, "a30"), gpu(1, "a30")};
    struct buf out = {0};
    mig_config_default(&(struct driver_reading){.gpus = gpus, .gpus_n = 2}, &out);
    struct mig_config c = parse(a, out.data);
    assert_int_equal(c.layouts_n, 8);
    assert_non_null(strstr(out.data, "\n  all-balanced:\n    - devices: all\n      mig-enabled: true\n      mig-devices:\n"
                                     "        \"1g.6gb\": 2\n        \"2g.12gb\": 1\n\n"));
    assert_non_null(strstr(out.data, "\n  all-2g.12gb.me:\n    - devices: all\n      mig-enabled: true\n      mig-devices:\n"
                                     "        \"2g.12gb+me\": 1\n"));
    buf_clear(&out);
    mig_config_default(&(struct driver_reading){0}, &out);
    assert_int_equal(parse(a, out.data).layouts_n, 2);
    buf_free(&out);
}

/* Every default layout of every model fits on it; with two models each entry has its filter. */
static void test_default_fits(void **state)
{
    for (uint32_t i = 0; i < gpu_models_n; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct driver_gpu gpus[] = {gpu(0, gpu_models[i].key), gpu(1, "a100-40gb")};
        struct buf out = {0};
        mig_config_default(&(struct driver_reading){.gpus = gpus, .gpus_n = 2}, &out);
        struct mig_config c = parse(a, out.data);
        for (uint32_t l = 0; l < c.layouts_n; l++)
            for (uint32_t g = 0; g < 2; g++) {
                struct mig_wish wishes[4];
                struct mig_plan plan;
                struct err e = {0};
                uint32_t n = 0;
                bool on = false;
                int selected = mig_layout_for(&c.layouts[l], &gpus[g], &on, wishes, 4, &n, &e);
                assert_true(selected >= 0);
                if (selected && mig_plan_make(gpus[g].geometry, &off, on, wishes, n, &plan, &e) < 0)
                    fail_msg("%s: %s", c.layouts[l].name, e.text);
            }
        buf_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guide),      cmocka_unit_test(test_filters),      cmocka_unit_test(test_override),
        cmocka_unit_test(test_top_errors), cmocka_unit_test(test_entry_errors), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_export),     cmocka_unit_test(test_default),      cmocka_unit_test(test_default_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
