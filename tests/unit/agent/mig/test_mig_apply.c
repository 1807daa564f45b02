#include "mig_world.h"

static void test_apply(void **state)
{
    struct world w = world_new("h100-80gb", 2, false);
    struct err e;
    apply(&w, DISABLED, (struct mig_apply_config){0});
    expect(&w, 0, 0, 2, 0);
    assert_int_equal(check(&w, BALANCED, false, &e), -E_CONFLICT);
    assert_string_equal(e.text, "GPU 0 (NVIDIA H100 80GB HBM3) is not as layout 'x' says: 9 steps are missing, the first: MIG mode on");
    apply(&w, BALANCED, (struct mig_apply_config){0});
    expect(&w, 0, 2, 0, 0);
    assert_int_equal(w.result.steps_n, 18);
    assert_int_equal(check(&w, BALANCED, false, NULL), 0);
    assert_int_equal(check(&w, DISABLED, true, NULL), -E_CONFLICT);
    assert_int_equal(check(&w, SEVEN, true, NULL), 0);
    assert_int_equal(look(&w)->gpus[1].migs_n, 4);
    char uuid[48];
    memcpy(uuid, w.reading->gpus[1].migs[3].uuid, sizeof uuid); /* a 1g */
    apply(&w, BALANCED, (struct mig_apply_config){0});
    expect(&w, 0, 0, 2, 0);
    assert_int_equal(w.calls_n, 0);
    apply(&w, SEVEN, (struct mig_apply_config){0});
    expect(&w, 0, 2, 0, 0);
    bool kept = false;
    for (uint32_t i = 0; i < look(&w)->gpus[1].migs_n; i++)
        kept |= text_equal(w.reading->gpus[1].migs[i].uuid, uuid);
    assert_true(kept);
    apply(&w, PARTS, (struct mig_apply_config){0});
    expect(&w, 0, 2, 0, 0);
    apply(&w, "    - {devices: [1], mig-enabled: false}\n", (struct mig_apply_config){0});
    expect(&w, 0, 1, 0, 0);
    assert_true(look(&w)->gpus[0].mig_on && !w.reading->gpus[1].mig_on);
    world_free(&w);
}

static void test_mode(void **state)
{
    struct world w = world_new("a100-80gb", 1, false);
    apply(&w, BALANCED, (struct mig_apply_config){.skip_reset = true});
    expect(&w, 0, 1, 0, 0);
    assert_true(w.result.reset_required);
    assert_true(look(&w)->gpus[0].mig_pending);
    apply(&w, DISABLED, (struct mig_apply_config){0}); /* taken back without a reset */
    expect(&w, 0, 1, 0, 0);
    assert_false(look(&w)->gpus[0].mig_pending);
    apply(&w, BALANCED, (struct mig_apply_config){0});
    expect(&w, 0, 1, 0, 0);
    assert_false(w.result.reset_required);
    assert_int_equal(w.calls_n, 10); /* mode, reset, 4 x 2 */
    apply(&w, SEVEN, (struct mig_apply_config){.mode_only = true});
    expect(&w, 0, 0, 1, 0);
    apply(&w, DISABLED, (struct mig_apply_config){.mode_only = true});
    expect(&w, 0, 1, 0, 0);
    assert_int_equal(look(&w)->gpus[0].migs_n, 0);
    world_free(&w);
}

/* The reset that a mode change needs hits linked GPUs, too. */
static void test_linked(void **state)
{
    struct world w = world_new("a100-80gb", 3, false);
    struct driver_process process = {.pid = 7, .gi = 0xffffffff, .ci = 0xffffffff, .gpu = 2};
    const char *first = "    - {devices: [0], mig-enabled: true, mig-devices: {1g.10gb: 7}}\n";
    driver_model_set_processes(w.inner, &process, 1);
    w.resets_linked = true;
    apply(&w, first, (struct mig_apply_config){0});
    expect(&w, -E_CONFLICT, 0, 0, 1);
    expect_text(&w, look(&w)->gpus[2].uuid);
    assert_int_equal(w.calls_n, 0);
    apply(&w, first, (struct mig_apply_config){.busy = MIG_BUSY_EVICT, .evict = on_evict, .evict_timeout_ms = 10000});
    expect(&w, -E_CONFLICT, 0, 0, 1); /* its pod stays */
    assert_int_equal(w.calls_n, 0);
    w.holds_n = w.releases_n = 0;
    driver_model_set_processes(w.inner, NULL, 0);
    apply(&w, first, (struct mig_apply_config){0});
    expect(&w, 0, 1, 0, 0);
    assert_int_equal(w.holds_n, 3); /* nobody new comes on any of them */
    driver_model_set_processes(w.inner, &process, 1);
    apply(&w, "    - {devices: [0], mig-enabled: true, mig-devices: {3g.40gb: 2}}\n", (struct mig_apply_config){0});
    expect(&w, 0, 1, 0, 0); /* without a change of mode the others are not touched */
    world_free(&w);
}

/* That others go with it is known only once the reset was refused: then it is begun again. */
static void test_linked_is_learned(void **state)
{
    struct world w = world_new("a100-80gb", 3, true);
    struct driver_process process = {.pid = 7, .gi = 0xffffffff, .ci = 0xffffffff, .gpu = 2};
    const char *first = "    - {devices: [0], mig-enabled: true, mig-devices: {1g.10gb: 7}}\n";
    driver_model_set_processes(w.inner, &process, 1);
    inventory_set_reading(w.inventory, look(&w));
    w.learns = true;
    apply(&w, first, (struct mig_apply_config){0});
    expect(&w, -E_CONFLICT, 0, 0, 1);
    expect_text(&w, look(&w)->gpus[2].uuid);
    assert_int_equal(w.result.blockers.n, 1);
    assert_string_equal(w.result.blockers.list[0].unit, look(&w)->gpus[2].uuid);
    assert_true(mig_blockers_hold(&w.result.blockers, inventory_now(w.inventory))); /* so it is tried again when that one is free */
    assert_false(look(&w)->gpus[0].mig_pending);
    w.resets_linked = false;
    w.learns = true;
    w.holds_n = w.releases_n = 0;
    driver_model_set_processes(w.inner, NULL, 0);
    apply(&w, first, (struct mig_apply_config){0});
    expect(&w, 0, 1, 0, 0);
    assert_false(w.result.reset_required);
    assert_int_equal(look(&w)->gpus[0].migs_n, 7);
    assert_int_equal(w.holds_n, 4); /* it alone, then all three */
    assert_int_equal(w.releases_n, 4);
    world_free(&w);
}

/* The mode change of one GPU takes the instances of those that are reset with it. */
static void test_linked_instances(void **state)
{
    struct world w = world_new("a100-80gb", 3, false);
    (void)look(&w);
    w.resets_linked = true;
    apply(&w, SEVEN, (struct mig_apply_config){0});
    expect(&w, 0, 3, 0, 0);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(look(&w)->gpus[i].migs_n, 7);
    apply(&w, "    - {devices: [1], mig-enabled: false}\n", (struct mig_apply_config){0});
    expect(&w, -E_CONFLICT, 0, 0, 1);
    expect_text(&w, "would lose MIG instances that the layout does not name");
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(look(&w)->gpus[i].migs_n, 7);
    apply(&w, "    - {devices: [0, 2], mig-enabled: true, mig-devices: {1g.10gb: 7}}\n    - {devices: [1], mig-enabled: false}\n",
          (struct mig_apply_config){0});
    expect(&w, 0, 3, 0, 0);
    assert_int_equal(look(&w)->gpus[0].migs_n, 7);
    assert_int_equal(look(&w)->gpus[1].migs_n, 0);
    assert_int_equal(look(&w)->gpus[2].migs_n, 7);
    world_free(&w);
}

/* A linked GPU whose mode is on, and that has no instances, has no units: what is on it is in the way all the same, once. */
static void test_linked_without_units(void **state)
{
    struct world w = world_new("a100-80gb", 2, true);
    const char *first = "    - {devices: [0], mig-enabled: true, mig-devices: {1g.10gb: 7}}\n";
    struct driver_process process = {.pid = 7, .gi = 0xffffffff, .ci = 0xffffffff, .gpu = 1};
    apply(&w, "    - {devices: [1], mig-enabled: true, mig-devices: {}}\n", (struct mig_apply_config){0});
    expect(&w, 0, 1, 0, 0);
    w.resets_linked = true;
    driver_model_set_processes(w.inner, &process, 1);
    inventory_set_reading(w.inventory, look(&w));
    apply(&w, first, (struct mig_apply_config){0});
    expect(&w, -E_CONFLICT, 0, 0, 1);
    assert_int_equal(w.result.blockers.n, 1);
    assert_true(mig_blockers_hold(&w.result.blockers, inventory_now(w.inventory)));
    driver_model_set_processes(w.inner, NULL, 0);
    inventory_set_reading(w.inventory, look(&w));
    assert_false(mig_blockers_hold(&w.result.blockers, inventory_now(w.inventory)));
    apply(&w, "    - {devices: [1], mig-enabled: true, mig-devices: {1g.10gb: 7}}\n", (struct mig_apply_config){0});
    process.gi = look(&w)->gpus[1].migs[3].gi;
    process.ci = look(&w)->gpus[1].migs[3].ci;
    driver_model_set_processes(w.inner, &process, 1);
    apply(&w, first, (struct mig_apply_config){0});
    expect(&w, -E_CONFLICT, 0, 0, 1);
    assert_int_equal(w.result.blockers.n, 1);
    assert_string_equal(w.result.blockers.list[0].unit, look(&w)->gpus[1].migs[3].uuid);
    world_free(&w);
}

static void test_refused(void **state)
{
    struct world w = world_new("a100-40gb", 2, false);
    apply(&w, "    - {devices: [1], mig-enabled: true, mig-devices: {3g.20gb: 2, 1g.5gb: 1}}\n"
              "    - {devices: [0], mig-enabled: true, mig-devices: {1g.5gb: 7}}\n", (struct mig_apply_config){0});
    expect(&w, -E_INVALID, 0, 0, 0);
    expect_text(&w, "layout 'x': GPU 1: 3g.20gb x 2 + 1g.5gb x 1 does not fit on NVIDIA A100-SXM4-40GB: it takes 9 memory slices");
    assert_int_equal(w.calls_n, 0); /* GPU 0 would have fitted: nothing is changed */
    driver_model_event(w.inner, 0, 0xffffffff, 0xffffffff, DRIVER_EVENT_LOST, 0);
    apply(&w, "    - {devices: all, mig-enabled: true, mig-devices: {1g.5gb: 7}}\n", (struct mig_apply_config){0});
    expect(&w, -E_GONE, 0, 0, 0);
    expect_text(&w, "GPU 0 (GPU-");
    assert_int_equal(w.calls_n, 0); /* GPU 1 neither */
    apply(&w, "    - {devices: [1], mig-enabled: true, mig-devices: {1g.5gb: 7}}\n", (struct mig_apply_config){0});
    expect(&w, 0, 1, 0, 0);
    world_free(&w);
    w = world_new("t4", 1, false);
    apply(&w, SEVEN, (struct mig_apply_config){0});
    expect(&w, 0, 0, 0, 0);
    world_free(&w);
}

static void test_busy(void **state)
{
    struct world w = world_new("h100-80gb", 1, false);
    struct mig_apply_config evict = {.busy = MIG_BUSY_EVICT, .evict = on_evict, .evict_timeout_ms = 5000};
    apply(&w, SEVEN, (struct mig_apply_config){0});
    use_last(&w); /* at memory slice 6: 3g goes to 0, then there is no room for 2g and another 1g */
    apply(&w, BALANCED, (struct mig_apply_config){0});
    expect(&w, -E_CONFLICT, 0, 0, 1);
    apply(&w, PARTS, (struct mig_apply_config){0}); /* around it */
    expect(&w, 0, 1, 0, 0);
    use_last(&w);
    apply(&w, "    - {devices: all, mig-enabled: true, mig-devices: {7g.80gb: 1}}\n", (struct mig_apply_config){0});
    expect(&w, -E_CONFLICT, 0, 0, 1);
    expect_text(&w, "in use: 1g.10gb MIG-");
    assert_int_equal(w.calls_n, 0);
    apply(&w, DISABLED, evict); /* refused by a budget: nothing changes */
    expect(&w, -E_CONFLICT, 0, 0, 1);
    expect_text(&w, "a disruption budget forbids it");
    assert_int_equal(w.calls_n, 0);
    w.evict_frees = true;
    apply(&w, DISABLED, evict);
    expect(&w, 0, 1, 0, 0);
    assert_int_equal(w.evictions_n, 2);
    struct driver_process p = {.pid = 4711, .gi = 0xffffffff, .ci = 0xffffffff};
    driver_model_set_processes(w.inner, &p, 1); /* on the whole GPU: its mode cannot go on */
    apply(&w, ENABLED, (struct mig_apply_config){0});
    expect(&w, -E_CONFLICT, 0, 0, 1);
    expect_text(&w, "in use: GPU-");
    apply(&w, ENABLED, evict);
    expect(&w, 0, 1, 0, 0);
    world_free(&w);
}

/* Whoever was given a slot is in the way, however his plugin named it, and is told of by name; several slots of one pod are one record. */
static void test_owners_are_in_the_way(void **state)
{
    static const char *const forms[] = {"%s", "%s::3", "%s-2", "0", "nvidia0/vgpu1"};
    struct world w = world_new("h100-80gb", 1, true);
    inventory_set_reading(w.inventory, look(&w));
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        const struct slot_owner owners[] = {{"keti.com/mpsgpu", arena_printf(a, forms[i], look(&w)->gpus[0].uuid), "ml", "train", "c"},
                                            {"x/other", arena_printf(a, "%s::9", look(&w)->gpus[0].uuid), "ml", "train", "d"}};
        inventory_set_owners(w.inventory, owners, 1 + i % 2);
        apply(&w, ENABLED, (struct mig_apply_config){0});
        expect(&w, -E_CONFLICT, 0, 0, 1);
        assert_int_equal(w.calls_n, 0);
        assert_int_equal(w.result.blockers.n, 1);
        const struct mig_blocker *b = &w.result.blockers.list[0];
        assert_int_equal(b->by, MIG_BLOCK_OWNER);
        assert_string_equal(b->unit, look(&w)->gpus[0].uuid);
        assert_string_equal(b->pod, "train");
        expect_text(&w, " by ml/train");
        assert_true(mig_blockers_seen(&w.result.blockers) && mig_blockers_hold(&w.result.blockers, inventory_now(w.inventory)));
    }
    inventory_set_owners(w.inventory, NULL, 0);
    assert_false(mig_blockers_hold(&w.result.blockers, inventory_now(w.inventory)));
    apply(&w, ENABLED, (struct mig_apply_config){0});
    expect(&w, 0, 1, 0, 0);
    world_free(&w);
}

/* The driver refuses without a word on whom: the record is of the GPU, and those who are known there follow. */
static void test_refusal_is_a_record(void **state)
{
    struct world w = world_new("h100-80gb", 1, true);
    apply(&w, SEVEN, (struct mig_apply_config){0});
    inventory_set_reading(w.inventory, look(&w));
    const char *keeps = look(&w)->gpus[0].migs[0].uuid;
    const struct slot_owner owner = {"nvidia.com/mig-1g.10gb", keeps, "ml", "train", "c"};
    driver_model_refuse(w.inner, -E_CONFLICT, 1);
    apply(&w, PARTS, (struct mig_apply_config){0});
    expect(&w, -E_CONFLICT, 0, 0, 1);
    assert_int_equal(w.result.blockers.n, 1);
    assert_int_equal(w.result.blockers.list[0].by, MIG_BLOCK_DRIVER);
    assert_string_equal(w.result.blockers.list[0].unit, look(&w)->gpus[0].uuid);
    assert_false(mig_blockers_seen(&w.result.blockers));
    assert_false(mig_blockers_hold(&w.result.blockers, inventory_now(w.inventory)));
    inventory_set_owners(w.inventory, &owner, 1);
    assert_true(mig_blockers_hold(&w.result.blockers, inventory_now(w.inventory))); /* anything on that GPU */
    driver_model_refuse(w.inner, -E_CONFLICT, 1);
    apply(&w, PARTS, (struct mig_apply_config){0});
    assert_int_equal(w.result.blockers.n, 2);
    assert_string_equal(w.result.blockers.list[1].unit, keeps);
    world_free(&w);
}

static void on_evict_late(void *ctx, const struct mig_blockers *b, driver_done_fn done, void *arg)
{
    struct world *w = ctx; /* pods are gone, their processes linger until the third look */
    w->evictions_n++;
    done(arg, 0, &(struct err){0});
}

static struct ticket_held {
    driver_done_fn done;
    void *arg;
} held;

static void on_evict_silent(void *ctx, const struct mig_blockers *b, driver_done_fn done, void *arg)
{
    held = (struct ticket_held){done, arg};
}

static void test_evict_slowly(void **state)
{
    struct world w = world_new("h100-80gb", 1, false);
    struct mig_apply_config evict = {.busy = MIG_BUSY_EVICT, .evict = on_evict_late, .evict_timeout_ms = 5000};
    apply(&w, SEVEN, (struct mig_apply_config){0});
    use_last(&w);
    apply(&w, DISABLED, evict);
    expect(&w, -E_AGAIN, 0, 0, 1);
    expect_text(&w, "still in use 5000 ms after the eviction");
    struct loop_timer *t = loop_timer_new(w.loop, free_processes, &w);
    loop_timer_start(t, 2500, 0);
    apply(&w, DISABLED, evict);
    expect(&w, 0, 1, 0, 0);
    loop_timer_free(t);
    apply(&w, SEVEN, (struct mig_apply_config){0});
    use_last(&w);
    evict.evict = on_evict_silent;
    apply(&w, DISABLED, evict);
    expect(&w, -E_AGAIN, 0, 0, 1);
    expect_text(&w, "pods have not left within 5000 ms");
    held.done(held.arg, 0, &(struct err){0}); /* too late: nobody waits */
    assert_int_equal(loop_run(w.loop, NULL), 0);
    assert_int_equal(look(&w)->gpus[0].migs_n, 7);
    world_free(&w);
}

static void second_result(void *arg, const struct mig_apply_result *result)
{
    *(struct mig_apply_result *)arg = *result;
}

static void test_one_at_a_time(void **state)
{
    struct world w = world_new("h100-80gb", 1, false);
    struct mig_apply_result second = {0};
    struct mig_layout none = {.name = "none"};
    w.outer.self = &w;
    mig_apply_start(w.loop, &w.outer, NULL, &none, &(struct mig_apply_config){0}, on_result, &w);
    mig_apply_start(w.loop, &w.outer, NULL, &none, &(struct mig_apply_config){0}, second_result, &second);
    assert_int_equal(second.code, 0);
    assert_int_equal(loop_run(w.loop, NULL), 0);
    assert_int_equal(second.code, -E_CONFLICT);
    assert_int_equal(w.result.code, 0);
    world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apply), cmocka_unit_test(test_mode),
        cmocka_unit_test(test_linked), cmocka_unit_test(test_linked_is_learned), cmocka_unit_test(test_linked_instances),
        cmocka_unit_test(test_linked_without_units),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_busy),
        cmocka_unit_test(test_owners_are_in_the_way), cmocka_unit_test(test_refusal_is_a_record), cmocka_unit_test(test_evict_slowly),
        cmocka_unit_test(test_one_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
