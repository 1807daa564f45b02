/* test_agent_mig.c - the node label protocol of MIG in the whole agent */
#include "world_fed.h"
#include <stdio.h>
#include "sim/driver/driver_model.h"

static int mixed(struct world *w)
{
    static const struct config_setting strategy = {"flags.migStrategy", "mixed", "--mig-strategy"};
    w->options.settings = &strategy;
    w->options.settings_n = 1;
    return 0;
}

static int setup(void **state)
{
    return world_setup(state) < 0 ? -1 : mixed(*state);
}

static int setup_fed(void **state)
{
    return world_setup_fed(state) < 0 ? -1 : mixed(*state);
}

static void test_mig_by_label(void **state)
{
    struct world *w = *state;
    world_start_agent(w, "a100-40gb", 2);
    world_set_label(w, "nvidia.com/mig.config", "all-1g.5gb");
    world_run(w, 10000);
    assert_string_equal(world_label(w, "nvidia.com/mig.config.state"), "success");
    assert_string_equal(world_label(w, "nvidia.com/mig-1g.5gb.count"), "14");
    assert_non_null(strstr(world_devices(w), "nvidia.com/mig-1g.5gb"));
    assert_true(world_has_event(w, "MIGConfigApplied", "2 GPUs changed"));
    /* Somebody works on an instance that has to go: refused, nothing changes. */
    const struct driver_process p = {.pid = 4711, .gpu = 0, .gi = 9, .ci = 0};
    driver_model_set_processes(w->driver, &p, 1);
    world_set_label(w, "nvidia.com/mig.config", "all-disabled");
    world_run(w, 10000);
    assert_string_equal(world_label(w, "nvidia.com/mig.config.state"), "failed");
    assert_string_equal(world_label(w, "nvidia.com/mig-1g.5gb.count"), "7"); /* the other GPU has changed */
    world_set_label(w, "nvidia.com/mig.config", "no-such-layout");
    world_run(w, 10000);
    assert_string_equal(world_label(w, "nvidia.com/mig.config.state"), "failed");
    assert_true(world_has_event(w, "MIGConfigFailed", "all-balanced"));
    driver_model_set_processes(w->driver, NULL, 0);
    world_set_label(w, "nvidia.com/mig.config", "all-disabled");
    world_run(w, 10000);
    assert_string_equal(world_label(w, "nvidia.com/mig.config.state"), "success");
    assert_string_equal(world_label(w, "nvidia.com/mig-1g.5gb.count"), "(none)");
    assert_string_equal(world_label(w, "nvidia.com/gpu.count"), "2");
}

#define OWN(layout, devices)                                                                                                      \
    "{\"metadata\":{\"labels\":{\"nvidia.com/mig.config\":\"" layout "\"},\"annotations\":{\"capstan.dev/mig-layouts\":"            \
    "\"version: v1\\nmig-configs:\\n  own: [{devices: [1], mig-enabled: true, mig-devices: {" devices "}}]\\n\"}}}"

/* The layout comes along with the node: in the same write as the label, edited, and gone. */
static void test_mig_layout_of_the_node(void **state)
{
    struct world *w = *state;
    world_start_agent(w, "a100-40gb", 2);
    world_patch(w, "/api/v1/nodes/n1", OWN("own", "3g.20gb: 2"));
    world_run(w, 10000);
    assert_string_equal(world_label(w, "nvidia.com/mig.config.state"), "success");
    assert_string_equal(world_label(w, "nvidia.com/mig-3g.20gb.count"), "2");
    assert_true(world_has_event(w, "MIGConfigApplied", "MIG layout own: 1 GPUs changed, 0 as they were"));
    assert_false(world_has_event(w, "MIGConfigFailed", ""));
    world_patch(w, "/api/v1/nodes/n1", OWN("own", "1g.5gb: 7"));
    world_run(w, 10000);
    assert_string_equal(world_label(w, "nvidia.com/mig-1g.5gb.count"), "7");
    world_patch(w, "/api/v1/nodes/n1", "{\"metadata\":{\"annotations\":{\"capstan.dev/mig-layouts\":null}}}");
    world_run(w, 10000);
    assert_string_equal(world_label(w, "nvidia.com/mig-1g.5gb.count"), "7"); /* that takes nothing away */
    assert_string_equal(world_label(w, "nvidia.com/mig.config.state"), "success");
    world_patch(w, "/api/v1/nodes/n1", OWN("all-disabled", "1g.5gb: 7")); /* other layouts are found as ever */
    world_run(w, 10000);
    assert_string_equal(world_label(w, "nvidia.com/mig.config.state"), "success");
    assert_string_equal(world_label(w, "nvidia.com/mig-1g.5gb.count"), "(none)");
    world_patch(w, "/api/v1/nodes/n1", OWN("own", "9g.5gb: 7"));
    world_run(w, 10000);
    assert_string_equal(world_label(w, "nvidia.com/mig.config.state"), "failed");
    assert_true(world_has_event(w, "MIGConfigFailed", "9g.5gb"));
}

#define LAYOUTS(profile, n)                                                                                                                \
    "version: v1\\nmig-configs:\\n  mine:\\n  - devices: all\\n    mig-enabled: true\\n    mig-devices:\\n      " profile ": " n "\\n"

/* The layout that the label names is edited: in the ConfigMap, which may go and come back, and in a file. */
static void test_mig_layouts_edited(void **state)
{
    struct world *w = *state;
    static const char path[] = "/api/v1/namespaces/default/configmaps/mig";
    w->options.mig_config_map = "default/mig";
    world_start_agent(w, "a100-40gb", 1);
    world_set_label(w, "nvidia.com/mig.config", "mine");
    world_run(w, 5000);
    assert_string_equal(world_label(w, "nvidia.com/mig.config.state"), "failed"); /* there is no such ConfigMap yet */
    world_create(w, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"mig\",\"namespace\":\"default\"},\"data\":{"
                 "\"config.yaml\":\"" LAYOUTS("1g.5gb", "7") "\"}}");
    world_run(w, 10000);
    assert_string_equal(world_label(w, "nvidia.com/mig-1g.5gb.count"), "7");
    world_patch(w, path, "{\"data\":{\"config.yaml\":\"" LAYOUTS("3g.20gb", "2") "\"}}");
    world_run(w, 10000);
    assert_string_equal(world_label(w, "nvidia.com/mig-1g.5gb.count"), "(none)");
    assert_string_equal(world_label(w, "nvidia.com/mig-3g.20gb.count"), "2");
    world_patch(w, path, "{\"data\":{\"config.yaml\":\"version: v9\"}}");
    world_run(w, 10000);
    assert_string_equal(world_label(w, "nvidia.com/mig.config.state"), "failed");
    assert_string_equal(world_label(w, "nvidia.com/mig-3g.20gb.count"), "2");
    kube_delete(w->client, path, BYTES(""), world_on_got, w);
    world_run(w, 10000);
    assert_string_equal(world_label(w, "nvidia.com/mig-3g.20gb.count"), "2");
}

static void test_mig_file_edited(void **state)
{
    struct world *w = *state;
    w->options.mig_config_file = arena_printf(w->a, "%s/mig.yaml", w->dir);
    world_start_agent(w, "a100-40gb", 1);
    world_set_label(w, "nvidia.com/mig.config", "mine");
    world_run(w, 5000);
    assert_string_equal(world_label(w, "nvidia.com/mig.config.state"), "failed");
    world_write_file(w, "mig.yaml", "version: v1\nmig-configs:\n  mine: [{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 7}}]\n");
    world_run(w, 10000);
    assert_string_equal(world_label(w, "nvidia.com/mig.config.state"), "success");
    assert_string_equal(world_label(w, "nvidia.com/mig-1g.5gb.count"), "7");
    world_write_file(w, "mig.yaml", "version: v1\nmig-configs:\n  mine: [{devices: all, mig-enabled: true, mig-devices: {3g.20gb: 1}}]\n");
    world_run(w, 10000);
    assert_string_equal(world_label(w, "nvidia.com/mig-3g.20gb.count"), "1");
}

static void test_mig_waits_for_a_lost_gpu(void **state)
{
    struct world *w = *state;
    world_start_agent(w, "h100-80gb", 2);
    driver_model_event(w->driver, 1, ALL, ALL, DRIVER_EVENT_LOST, 0);
    world_run(w, 5000);
    world_set_label(w, "nvidia.com/mig.config", "all-1g.10gb");
    world_run(w, 60000);
    assert_string_equal(world_label(w, "nvidia.com/mig.config.state"), "failed");
    assert_true(world_has_event(w, "MIGConfigFailed", "is lost, and layout 'all-1g.10gb' names it"));
    assert_int_equal(inventory_now(agent_inventory(w->agent))->reading->gpus[0].migs_n, 0); /* nor the other one */
    driver_model_event(w->driver, 1, ALL, ALL, DRIVER_EVENT_BACK, 0);
    world_run(w, 20000);
    assert_string_equal(world_label(w, "nvidia.com/mig.config.state"), "success");
    assert_int_equal(inventory_now(agent_inventory(w->agent))->reading->gpus[1].migs_n, 7);
}

/* GPUs that the layout does not name may stay lost. */
static void test_mig_waits_for_no_other_gpu(void **state)
{
    struct world *w = *state;
    w->options.mig_config_file = arena_printf(w->a, "%s/mig.yaml", w->dir);
    world_write_file(w, "mig.yaml", "version: v1\nmig-configs:\n  mine: [{devices: [1], mig-enabled: true, mig-devices: {1g.10gb: 7}}]\n");
    world_start_agent(w, "h100-80gb", 3);
    driver_model_event(w->driver, 1, ALL, ALL, DRIVER_EVENT_LOST, 0);
    driver_model_event(w->driver, 2, ALL, ALL, DRIVER_EVENT_LOST, 0);
    world_run(w, 5000);
    world_set_label(w, "nvidia.com/mig.config", "mine");
    world_run(w, 60000);
    assert_string_equal(world_label(w, "nvidia.com/mig.config.state"), "failed");
    driver_model_event(w->driver, 1, ALL, ALL, DRIVER_EVENT_BACK, 0);
    world_run(w, 20000);
    assert_string_equal(world_label(w, "nvidia.com/mig.config.state"), "success");
    assert_int_equal(inventory_now(agent_inventory(w->agent))->reading->gpus[1].migs_n, 7);
    assert_true(inventory_now(agent_inventory(w->agent))->reading->gpus[2].lost);
}

/* Instances do not outlive the reset of their GPU: they are made again, and those of the other GPU stay. */
static void test_mig_again_after_a_reset(void **state)
{
    struct world *w = *state;
    world_start_agent(w, "a100-40gb", 2);
    world_set_label(w, "nvidia.com/mig.config", "all-1g.5gb");
    world_run(w, 10000);
    assert_string_equal(world_label(w, "nvidia.com/mig-1g.5gb.count"), "14");
    const struct driver_reading *r = inventory_now(agent_inventory(w->agent))->reading;
    const char *stays = arena_text(w->a, r->gpus[1].migs[6].uuid);
    driver_model_event(w->driver, 0, ALL, ALL, DRIVER_EVENT_XID, 48);
    world_run(w, 60000);
    assert_true(world_has_event(w, "GPUHealth", "was reset; in probation"));
    world_run(w, 5000);
    r = inventory_now(agent_inventory(w->agent))->reading;
    assert_int_equal(r->gpus[0].migs_n, 7);
    assert_string_equal(r->gpus[1].migs[6].uuid, stays);
    assert_true(world_has_event(w, "MIGConfigApplied", "1 GPUs changed, 1 as they were"));
    world_run(w, 300000);
    assert_string_equal(world_label(w, "nvidia.com/mig-1g.5gb.count"), "14");
    assert_string_equal(world_label(w, "nvidia.com/mig.config.state"), "success");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, world_teardown)
#define FED(name) {#name "_fed", name, setup_fed, world_teardown_fed, NULL}
    const struct CMUnitTest tests[] = {FED(test_mig_by_label),
                                       FED(test_mig_layout_of_the_node),
                                       T(test_mig_layout_of_the_node),
                                       FED(test_mig_layouts_edited),
                                       FED(test_mig_waits_for_a_lost_gpu),
                                       T(test_mig_by_label),
                                       T(test_mig_layouts_edited),
                                       T(test_mig_file_edited),
                                       T(test_mig_waits_for_a_lost_gpu),
                                       T(test_mig_waits_for_no_other_gpu),
                                       T(test_mig_again_after_a_reset)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
