/* test_inventory.c - snapshots, health, owners, and what of it survives a restart */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>
#include "../folder.h"
#include "agent/inventory/inventory.h"
#include "sim/driver/driver_model.h"

#define ALL 0xffffffffu

struct world {
    char dir[64], path[96];
    struct loop *loop;
    struct driver *driver;
    struct inventory *inventory;
    int told_n;
    uint64_t last_generation;
};

static void on_reading(void *arg, int code, const struct driver_reading *r, const struct err *e)
{
    struct world *w = arg;
    (void)e;
    assert_int_equal(code, 0);
    inventory_set_reading(w->inventory, r);
}

static void read_again(struct world *w)
{
    driver_read(w->driver, on_reading, w);
    assert_int_equal(loop_run_for(w->loop, 10, NULL), 0);
}

static void on_change(void *arg, const struct inventory_snapshot *s)
{
    struct world *w = arg;
    w->told_n++;
    w->last_generation = s->generation;
}

static void open_inventory(struct world *w)
{
    struct err e = {0};
    if (inventory_open(w->loop, w->path, &w->inventory, &e) < 0)
        fail_msg("%s", e.text);
    inventory_listen(w->inventory, on_change, w);
}

static int setup(void **state)
{
    struct world *w = mem_zero(1, sizeof *w);
    folder_make(w->dir, sizeof w->dir, "inventory");
    (void)snprintf(w->path, sizeof w->path, "%s/journal", w->dir);
    w->loop = loop_new_virtual(1000000);
    w->driver = driver_model_new(w->loop, gpu_model_find("a100-40gb"), 2, "node-a");
    open_inventory(w);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    inventory_close(w->inventory);
    driver_free(w->driver);
    loop_free(w->loop);
    char name[160];
    static const char *const files[] = {"/journal", "/journal.lock", ""};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        (void)snprintf(name, sizeof name, "%s%s", w->dir, files[i]);
        (void)remove(name);
    }
    free(w);
    return 0;
}

static void on_done(void *arg, int code, const struct err *e)
{
    (void)arg;
    if (code != 0)
        fail_msg("%s", e->text);
}

/* GPU 1: MIG on, two instances 1g.5gb. */
static void split_gpu(struct world *w)
{
    const struct mig_step steps[] = {{.kind = MIG_STEP_MODE_ON},
                                     {.kind = MIG_STEP_CREATE_GI, .profile_id = 19, .start = 0},
                                     {.kind = MIG_STEP_CREATE_CI, .instance_id = 0xff, .slices = 1},
                                     {.kind = MIG_STEP_CREATE_GI, .profile_id = 19, .start = 1},
                                     {.kind = MIG_STEP_CREATE_CI, .instance_id = 0xff, .slices = 1}};
    char uuid[48];
    driver_model_uuid("node-a", 1, uuid);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        driver_mig_step(w->driver, uuid, &steps[i], on_done, w);
        if (i == 0)
            driver_reset(w->driver, uuid, on_done, w);
    }
    read_again(w);
}

static void test_empty(void **state)
{
    struct world *w = *state;
    const struct inventory_snapshot *s = inventory_now(w->inventory);
    assert_int_equal(s->units_n, 0);
    assert_int_equal(s->reading->gpus_n, 0);
    assert_ptr_equal(s, inventory_now(w->inventory));
}

static void test_units_and_generations(void **state)
{
    struct world *w = *state;
    read_again(w);
    assert_int_equal(w->told_n, 1);
    const struct inventory_snapshot *s = inventory_now(w->inventory), *kept = inventory_snapshot_ref(s);
    assert_int_equal(s->units_n, 2);
    assert_int_equal(s->units[0].generation, 1);
    read_again(w); /* nothing new: nobody is told */
    assert_int_equal(w->told_n, 1);
    split_gpu(w);
    s = inventory_now(w->inventory);
    assert_int_equal(s->units_n, 3);
    assert_null(s->units[0].mig);
    assert_string_equal(s->units[1].mig->profile, "1g.5gb");
    assert_int_equal(s->units[0].generation, 1);
    assert_int_equal(kept->units_n, 2); /* still good */
    inventory_snapshot_unref(kept);
    inventory_set_reading(w->inventory, NULL);
    assert_int_equal(inventory_now(w->inventory)->units_n, 0);
}

static void test_health_of_parts(void **state)
{
    struct world *w = *state;
    split_gpu(w);
    const struct inventory_snapshot *s = inventory_now(w->inventory);
    const char *gpu = s->units[1].gpu->uuid;
    char gpu_uuid[48];
    (void)snprintf(gpu_uuid, sizeof gpu_uuid, "%s", gpu);
    uint32_t gi = s->units[1].mig->gi;
    inventory_set_health(w->inventory, gpu_uuid, gi, 0, UNIT_SUSPECT, 94);
    s = inventory_now(w->inventory);
    assert_int_equal(s->units[1].health, UNIT_SUSPECT);
    assert_int_equal(s->units[1].xid, 94);
    assert_int_equal(s->units[2].health, UNIT_HEALTHY);
    assert_int_equal(s->units[1].generation, 2);
    inventory_set_health(w->inventory, gpu_uuid, ALL, ALL, UNIT_DRAINING, 79);
    s = inventory_now(w->inventory);
    assert_int_equal(s->units[1].health, UNIT_DRAINING);
    assert_int_equal(s->units[2].health, UNIT_DRAINING);
    assert_int_equal(s->units[0].health, UNIT_HEALTHY);
    inventory_set_health(w->inventory, gpu_uuid, ALL, ALL, UNIT_HEALTHY, 0);
    assert_int_equal(inventory_now(w->inventory)->units[1].health, UNIT_HEALTHY);
    assert_string_equal(unit_health_name(UNIT_PROBATION), "Probation");
    assert_true(unit_health_usable(UNIT_HEALTHY) && !unit_health_usable(UNIT_SUSPECT));
}

/* A new instance with the number of one that was at fault is healthy. */
static void test_health_dies_with_its_instance(void **state)
{
    struct world *w = *state;
    split_gpu(w);
    const struct unit *u = &inventory_now(w->inventory)->units[1];
    char gpu[48];
    (void)snprintf(gpu, sizeof gpu, "%s", u->gpu->uuid);
    uint8_t gi = u->mig->gi;
    inventory_set_health(w->inventory, gpu, gi, 0, UNIT_FAILED, 94);
    const struct mig_step again[] = {{.kind = MIG_STEP_DESTROY_CI, .instance_id = gi, .compute_id = 0},
                                     {.kind = MIG_STEP_CREATE_CI, .instance_id = gi, .slices = 1}};
    for (int i = 0; i < 2; i++)
        driver_mig_step(w->driver, gpu, &again[i], on_done, w);
    read_again(w);
    assert_int_equal(inventory_now(w->inventory)->units[1].mig->gi, gi);
    assert_int_equal(inventory_now(w->inventory)->units[1].health, UNIT_HEALTHY);
}

static void test_lost_gpu_is_suspect(void **state)
{
    struct world *w = *state;
    read_again(w);
    driver_model_event(w->driver, 0, ALL, ALL, DRIVER_EVENT_LOST, 0);
    read_again(w);
    assert_int_equal(inventory_now(w->inventory)->units[0].health, UNIT_SUSPECT);
    driver_model_event(w->driver, 0, ALL, ALL, DRIVER_EVENT_BACK, 0);
    read_again(w);
    assert_int_equal(inventory_now(w->inventory)->units[0].health, UNIT_HEALTHY);
}

static bool never(void *ctx, const struct slot_owner *o, int64_t missing_ms)
{
    return false;
}

static void test_owners(void **state)
{
    struct world *w = *state;
    const char *const slots[] = {"b", "a"};
    assert_int_equal(inventory_claim(w->inventory, "nvidia.com/gpu", slots, 2, "", "", "", NULL), 0);
    const struct inventory_snapshot *s = inventory_now(w->inventory);
    assert_int_equal(s->owners_n, 2);
    assert_string_equal(s->owners[0].slot, "a");
    assert_false(s->owners_known);
    const struct slot_owner truth[] = {{"nvidia.com/gpu", "b", "ns", "pod", "main"}};
    inventory_set_owners(w->inventory, truth, 1); /* "a" was claimed just now: the kubelet may not name it yet */
    assert_int_equal(inventory_now(w->inventory)->owners_n, 2);
    assert_string_equal(inventory_now(w->inventory)->owners[1].pod, "pod");
    assert_int_equal(loop_run_for(w->loop, 11000, NULL), 0);
    inventory_set_owners(w->inventory, truth, 1);
    assert_int_equal(inventory_now(w->inventory)->owners_n, 1);
    assert_true(inventory_now(w->inventory)->owners_known);
    inventory_owners_unknown(w->inventory, true);
    assert_int_equal(inventory_now(w->inventory)->owners_n, 1);
    assert_false(inventory_now(w->inventory)->owners_known);
    assert_true(inventory_now(w->inventory)->owners_unsure);
    inventory_set_owners(w->inventory, NULL, 0);
    assert_false(inventory_now(w->inventory)->owners_unsure);
    assert_int_equal(inventory_now(w->inventory)->owners_n, 0);
    const char *const bad[] = {"x\ty"};
    struct err e = {0};
    assert_int_equal(inventory_claim(w->inventory, "r", bad, 1, "", "", "", &e), -E_INVALID);
}

/* A claim whose pod the kubelet had no time to name before it was killed, and a list that may be short. */
static void test_short_lists_free_nothing(void **state)
{
    struct world *w = *state;
    const char *const slots[] = {"claimed"};
    const struct slot_owner truth[] = {{"nvidia.com/gpu", "named", "ns", "pod", "main"}};
    inventory_set_owners(w->inventory, truth, 1);
    assert_int_equal(inventory_claim(w->inventory, "nvidia.com/gpu", slots, 1, "", "", "", NULL), 0);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(loop_run_for(w->loop, 5000, NULL), 0);
        inventory_see_owners(w->inventory, &(struct owners_seen){.gone = never});
        assert_int_equal(inventory_now(w->inventory)->owners_n, 2);
        assert_true(inventory_now(w->inventory)->owners_unsure);
    }
    /* the first whole one: the claim may be next */
    inventory_see_owners(w->inventory, &(struct owners_seen){.whole = true, .complete = true, .gone = never});
    assert_int_equal(inventory_now(w->inventory)->owners_n, 2);
    assert_int_equal(loop_run_for(w->loop, 11000, NULL), 0);
    inventory_see_owners(w->inventory, &(struct owners_seen){.whole = true, .gone = never}); /* it may be that of a pod which is to come */
    assert_int_equal(inventory_now(w->inventory)->owners_n, 2);
    inventory_see_owners(w->inventory, &(struct owners_seen){.whole = true, .complete = true, .gone = never});
    assert_int_equal(inventory_now(w->inventory)->owners_n, 1);
    assert_string_equal(inventory_now(w->inventory)->owners[0].slot, "named");
    inventory_set_owners(w->inventory, NULL, 0);
    assert_int_equal(inventory_now(w->inventory)->owners_n, 0);
}

/* A pod that has ended is listed until it is deleted, beside the one that has its slot now, and before that one. */
static void test_slot_of_two(void **state)
{
    struct world *w = *state;
    const char *const slots[] = {"s"};
    const struct slot_owner both[] = {{"r", "s", "ns", "new", "main"}, {"r", "s", "ns", "old", "main"}};
    inventory_set_owners(w->inventory, &both[1], 1);
    assert_int_equal(inventory_claim(w->inventory, "r", slots, 1, "", "", "", NULL), 0);
    inventory_set_owners(w->inventory, &both[1], 1);
    assert_string_equal(inventory_now(w->inventory)->owners[0].pod, "");
    inventory_set_owners(w->inventory, both, 2);
    assert_string_equal(inventory_now(w->inventory)->owners[0].pod, "new");
    inventory_set_owners(w->inventory, both, 2);
    assert_string_equal(inventory_now(w->inventory)->owners[0].pod, "new");
    assert_int_equal(inventory_claim(w->inventory, "r", slots, 1, "", "", "", NULL), 0); /* by its successor under the same name */
    inventory_set_owners(w->inventory, both, 1);
    assert_string_equal(inventory_now(w->inventory)->owners[0].pod, "");
    assert_int_equal(loop_run_for(w->loop, 11000, NULL), 0);
    inventory_set_owners(w->inventory, both, 1);
    assert_string_equal(inventory_now(w->inventory)->owners[0].pod, "new");
}

static void test_restart(void **state)
{
    struct world *w = *state;
    split_gpu(w);
    char gpu[48], uuid[48];
    (void)snprintf(gpu, sizeof gpu, "%s", inventory_now(w->inventory)->units[1].gpu->uuid);
    (void)snprintf(uuid, sizeof uuid, "%s", inventory_now(w->inventory)->units[1].uuid);
    uint8_t gi = inventory_now(w->inventory)->units[1].mig->gi;
    const char *const slots[] = {"one", "two"};
    inventory_set_health(w->inventory, gpu, gi, 0, UNIT_PROBATION, 31);
    assert_int_equal(inventory_claim(w->inventory, "nvidia.com/gpu", slots, 2, "", "", "", NULL), 0);
    assert_int_equal(inventory_intent_set(w->inventory, "mig/1", "a\tvalue of\ntwo lines", NULL), 0);
    assert_int_equal(inventory_intent_set(w->inventory, "mig/2", "x", NULL), 0);
    assert_int_equal(inventory_intent_set(w->inventory, "mig/2", "", NULL), 0);
    struct inventory *second = NULL;
    assert_int_equal(inventory_open(w->loop, w->path, &second, NULL), -E_CONFLICT);
    inventory_close(w->inventory);
    open_inventory(w);
    read_again(w);
    const struct unit *u = inventory_snapshot_unit(inventory_now(w->inventory), uuid);
    assert_non_null(u);
    assert_int_equal(u->health, UNIT_PROBATION);
    assert_int_equal(u->xid, 31);
    assert_int_equal(inventory_now(w->inventory)->owners_n, 2);
    assert_string_equal(inventory_intent(w->inventory, "mig/1"), "a\tvalue of\ntwo lines");
    assert_null(inventory_intent(w->inventory, "mig/2"));
}

/* 20,000 pods come and go: the journal is rewritten, the file stays small. */
static void test_journal_does_not_grow(void **state)
{
    struct world *w = *state;
    const char *const slot[] = {"GPU-00000000-0000-0000-0000-000000000000::3"};
    for (int i = 0; i < 20000; i++) {
        char pod[32];
        (void)snprintf(pod, sizeof pod, "pod-%d", i);
        assert_int_equal(inventory_claim(w->inventory, "nvidia.com/gpu", slot, 1, "ns", pod, "main", NULL), 0);
    }
    FILE *f = fopen(w->path, "r");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    assert_in_range(ftell(f), 0, 80 << 10);
    (void)fclose(f);
    inventory_close(w->inventory);
    open_inventory(w);
    assert_string_equal(inventory_now(w->inventory)->owners[0].pod, "pod-19999");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_empty),
        T(test_units_and_generations),
        T(test_health_of_parts),
        T(test_health_dies_with_its_instance),
        T(test_lost_gpu_is_suspect),
        T(test_owners),
        T(test_short_lists_free_nothing),
        T(test_slot_of_two),
        T(test_restart),
        T(test_journal_does_not_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
