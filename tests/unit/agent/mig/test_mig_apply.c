#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../folder.h"
#include "agent/mig/mig_apply.h"
#include "agent/mig/mig_intent.h"
#include "sim/driver/driver_model.h"

/* ---- a driver that fails or falls silent at the n-th changing call, over a simulated one ---- */

enum fault { FAULT_NONE, FAULT_REFUSED, FAULT_DONE_BUT_ERROR, FAULT_SILENT };
struct world {
    struct loop *loop;
    struct driver outer, *inner;
    struct inventory *inventory;
    char dir[80], journal[100];
    enum fault fault;
    uint32_t fault_at, calls_n; /* changing calls, the first is 1 */
    struct mig_apply *apply;
    struct mig_apply_result result;
    uint32_t results_n, holds_n, releases_n, evictions_n;
    bool evict_frees, resets_linked;
    struct driver_reading *reading;
};
struct answer {
    driver_done_fn fn;
    void *arg;
};

static void on_answer(void *arg)
{
    struct answer *a = arg, copy = *a;
    struct err e;
    free(a);
    copy.fn(copy.arg, err_set(&e, E_IO, "made to fail"), &e);
}

static void on_done_anyway(void *arg, int code, const struct err *e)
{
    on_answer(arg);
}

/* True when the call has been dealt with. */
static bool faulty(struct world *w, driver_done_fn fn, void *arg, struct answer **ret_answer)
{
    *ret_answer = NULL;
    w->calls_n++;
    if (w->fault == FAULT_SILENT)
        return w->calls_n >= w->fault_at;
    if (w->fault == FAULT_NONE || w->calls_n != w->fault_at)
        return false;
    struct answer *a = mem_alloc(sizeof *a);
    *a = (struct answer){fn, arg};
    if (w->fault == FAULT_DONE_BUT_ERROR)
        *ret_answer = a;
    else
        loop_defer(w->loop, on_answer, a);
    return w->fault == FAULT_REFUSED;
}

/* As from a real driver: everything, profiles too, lives as long as the reading. */
static struct driver_reading *own_reading(const struct driver_reading *r)
{
    struct arena *a = arena_new();
    struct driver_reading *own = arena_zero(a, 1, sizeof *own);
    struct driver_gpu *gpus = arena_zero(a, r->gpus_n, sizeof *gpus);
    *own = *r;
    own->refs = 1;
    own->arena = a;
    own->gpus = gpus;
    for (uint32_t g = 0; g < r->gpus_n; g++) {
        struct mig_state *s = arena_alloc(a, sizeof *s);
        gpus[g] = r->gpus[g];
        *s = *r->gpus[g].mig;
        gpus[g].mig = s;
        gpus[g].migs = arena_alloc(a, (gpus[g].migs_n + 1) * sizeof *gpus->migs);
        if (gpus[g].migs_n)
            memcpy(gpus[g].migs, r->gpus[g].migs, gpus[g].migs_n * sizeof *gpus->migs);
        if (!r->gpus[g].geometry)
            continue;
        struct gpu_model *m = arena_alloc(a, sizeof *m);
        struct mig_profile *profiles = arena_alloc(a, r->gpus[g].geometry->profiles_n * sizeof *profiles);
        *m = *r->gpus[g].geometry;
        memcpy(profiles, m->profiles, m->profiles_n * sizeof *profiles);
        for (uint32_t i = 0; i < m->profiles_n; i++)
            profiles[i].name = arena_text(a, profiles[i].name);
        m->profiles = profiles;
        gpus[g].geometry = m;
    }
    return own;
}

struct question {
    struct world *world;
    driver_reading_fn fn;
    void *arg;
};

static void on_inner_reading(void *arg, int code, const struct driver_reading *r, const struct err *e)
{
    struct question *q = arg, copy = *q;
    struct driver_reading *own = own_reading(r);
    own->resets_linked = copy.world->resets_linked;
    free(q);
    copy.fn(copy.arg, code, own, e);
    driver_reading_unref(own);
}

static void outer_read(void *self, driver_reading_fn fn, void *arg)
{
    struct world *w = self;
    struct question *q = mem_alloc(sizeof *q);
    *q = (struct question){w, fn, arg};
    driver_read(w->inner, on_inner_reading, q);
}

static void outer_step(void *self, const char *uuid, const struct mig_step *step, driver_done_fn fn, void *arg)
{
    struct world *w = self;
    struct answer *a;
    if (!faulty(w, fn, arg, &a))
        driver_mig_step(w->inner, uuid, step, a ? on_done_anyway : fn, a ? (void *)a : arg);
}

static void outer_reset(void *self, const char *uuid, driver_done_fn fn, void *arg)
{
    struct world *w = self;
    struct answer *a;
    if (!faulty(w, fn, arg, &a))
        driver_reset(w->inner, uuid, a ? on_done_anyway : fn, a ? (void *)a : arg);
}

/* It is of the world. */
static void outer_free(void *self)
{
}

static const struct driver_ops outer_ops = {.read = outer_read, .mig_step = outer_step, .reset = outer_reset, .free = outer_free};

/* ---- the world ---- */

static struct world world_new(const char *model, uint32_t gpus_n, bool journal)
{
    struct world w = {.loop = loop_new_virtual(0)};
    struct err e;
    w.inner = driver_model_new(w.loop, gpu_model_find(model), gpus_n, "node-1");
    w.outer.ops = &outer_ops;
    if (journal) {
        folder_make(w.dir, sizeof w.dir, "mig-apply");
        snprintf(w.journal, sizeof w.journal, "%s/journal", w.dir);
        if (inventory_open(w.loop, w.journal, &w.inventory, &e) < 0)
            fail_msg("%s", e.text);
    }
    return w;
}

static void world_free(struct world *w)
{
    mig_blockers_free(&w->result.blockers);
    driver_reading_unref(w->reading);
    inventory_close(w->inventory);
    driver_free(&w->outer);
    driver_free(w->inner);
    loop_free(w->loop);
    if (w->journal[0]) {
        char lock[128];
        snprintf(lock, sizeof lock, "%s.lock", w->journal);
        unlink(lock);
        unlink(w->journal);
        assert_int_equal(rmdir(w->dir), 0);
    }
}

static void on_reading(void *arg, int code, const struct driver_reading *r, const struct err *e)
{
    struct world *w = arg;
    assert_int_equal(code, 0);
    driver_reading_unref(w->reading);
    w->reading = driver_reading_ref(r);
}

static const struct driver_reading *look(struct world *w)
{
    driver_read(w->inner, on_reading, w);
    assert_int_equal(loop_run(w->loop, NULL), 0);
    return w->reading;
}

static void on_result(void *arg, const struct mig_apply_result *result)
{
    struct world *w = arg;
    w->apply = NULL;
    mig_blockers_free(&w->result.blockers);
    w->result = *result;
    w->result.blockers = (struct mig_blockers){0};
    for (uint32_t i = 0; i < result->blockers.n; i++)
        mig_blockers_add(&w->result.blockers, &result->blockers.list[i]);
    w->results_n++;
}

static void on_hold(void *ctx, const char *uuid, bool hold)
{
    struct world *w = ctx;
    if (hold)
        w->holds_n++;
    else
        w->releases_n++;
}

static void on_evict(void *ctx, const struct mig_blockers *b, driver_done_fn done, void *arg)
{
    struct world *w = ctx;
    struct err e;
    assert_true(b->n > 0 && b->list[0].by == MIG_BLOCK_PROCESS && text_starts(b->list[0].gpu, "GPU-"));
    assert_int_equal(text_starts(b->list[0].unit, "MIG-"), b->list[0].profile[0] != 0);
    w->evictions_n++;
    if (w->evict_frees)
        driver_model_set_processes(w->inner, NULL, 0);
    done(arg, w->evict_frees ? 0 : err_set(&e, E_CONFLICT, "a disruption budget forbids it"), &e);
}

static void apply(struct world *w, const char *entries, struct mig_apply_config config)
{
    struct arena *a = arena_new();
    struct mig_config c;
    struct err e = {0};
    const char *text = arena_printf(a, "version: v1\nmig-configs:\n  x:\n%s", entries);
    if (mig_config_parse(a, bytes_of(text), &c, &e) < 0)
        fail_msg("%s", e.text);
    w->outer.self = w;
    w->results_n = w->calls_n = 0;
    config.ctx = w;
    config.hold = on_hold;
    w->apply = mig_apply_start(w->loop, &w->outer, w->inventory, &c.layouts[0], &config, on_result, w);
    assert_int_equal(w->results_n, 0);
    arena_free(a); /* the layout was copied */
    assert_int_equal(loop_run(w->loop, NULL), 0);
    assert_int_equal(w->results_n, w->fault != FAULT_SILENT);
    if (w->fault != FAULT_SILENT)
        assert_int_equal(w->holds_n, w->releases_n);
}

static void expect(const struct world *w, int code, uint32_t changed_n, uint32_t unchanged_n, uint32_t failed_n)
{
    if (w->result.code != code)
        fail_msg("code %d: %s", w->result.code, w->result.error.text);
    assert_int_equal(w->result.changed_n, changed_n);
    assert_int_equal(w->result.unchanged_n, unchanged_n);
    assert_int_equal(w->result.failed_n, failed_n);
}

static void expect_text(const struct world *w, const char *text)
{
    if (!strstr(w->result.error.text, text))
        fail_msg("'%s' is not in '%s'", text, w->result.error.text);
}

static int check(struct world *w, const char *entries, bool mode_only, struct err *e)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct mig_config c;
    assert_int_equal(mig_config_parse(a, bytes_of(arena_printf(a, "version: v1\nmig-configs:\n  x:\n%s", entries)), &c, NULL), 0);
    return mig_apply_assert(look(w), &c.layouts[0], mode_only, e);
}

#define BALANCED "    - {devices: all, mig-enabled: true, mig-devices: {3g.40gb: 1, 2g.20gb: 1, 1g.10gb: 2}}\n"
#define SEVEN "    - {devices: all, mig-enabled: true, mig-devices: {1g.10gb: 7}}\n"
#define PARTS "    - {devices: all, mig-enabled: true, mig-devices: {1c.3g.40gb: 2, 1g.10gb: 3}}\n"
#define ENABLED "    - {devices: all, mig-enabled: true, mig-devices: {}}\n"
#define DISABLED "    - {devices: all, mig-enabled: false}\n"

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

static void use_last(struct world *w)
{
    const struct driver_gpu *gpu = &look(w)->gpus[0];
    const struct driver_mig *mig = &gpu->migs[gpu->migs_n - 1];
    struct driver_process p = {.pid = 4711, .gi = mig->gi, .ci = mig->ci, .gpu = 0};
    driver_model_set_processes(w->inner, &p, 1);
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

static void free_processes(void *arg)
{
    driver_model_set_processes(((struct world *)arg)->inner, NULL, 0);
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

/* ---- faults at every step ---- */

static void places(struct world *w, struct buf *out)
{
    buf_clear(out);
    mig_intent_write(look(w)->gpus[0].mig, &(struct mig_target){0}, out);
}

/* From SEVEN with one instance in use to PARTS, or from off to PARTS; the n-th changing call goes wrong. Returns false when n is beyond. */
static bool fail_at(const char *model, const char *before, enum fault fault, uint32_t n)
{
    struct world w = world_new(model, 1, true);
    struct buf first = {0}, last = {0};
    apply(&w, before, (struct mig_apply_config){0});
    expect(&w, 0, w.result.changed_n, w.result.unchanged_n, 0);
    if (look(&w)->gpus[0].migs_n)
        use_last(&w);
    places(&w, &first);
    w.fault = fault;
    w.fault_at = n;
    apply(&w, PARTS, (struct mig_apply_config){0});
    bool hit = w.calls_n >= n;
    if (hit) {
        expect(&w, -E_IO, 0, 0, 1);
        expect_text(&w, "made to fail; the layout before is back");
        places(&w, &last);
        assert_string_equal(last.data, first.data);
    } else {
        expect(&w, 0, 1, 0, 0);
    }
    assert_null(inventory_intent(w.inventory, "mig/none"));
    w.fault = FAULT_NONE;
    apply(&w, PARTS, (struct mig_apply_config){0});
    expect(&w, 0, hit, !hit, 0);
    assert_int_equal(check(&w, PARTS, false, NULL), 0);
    buf_free(&first);
    buf_free(&last);
    world_free(&w);
    return hit;
}

static void fail_at_all(const char *model, const char *before, enum fault fault, uint32_t least_n)
{
    uint32_t n = 1;
    while (fail_at(model, before, fault, n))
        n++;
    assert_true(n > least_n);
}

static void test_failures(void **state)
{
    fail_at_all("h100-80gb", SEVEN, FAULT_REFUSED, 9);
    fail_at_all("h100-80gb", SEVEN, FAULT_DONE_BUT_ERROR, 9);
    fail_at_all("h100-80gb", DISABLED, FAULT_REFUSED, 10);
    fail_at_all("h100-80gb", DISABLED, FAULT_DONE_BUT_ERROR, 10);
    fail_at_all("a100-80gb", DISABLED, FAULT_REFUSED, 11);
    fail_at_all("a100-80gb", DISABLED, FAULT_DONE_BUT_ERROR, 11);
}

static void restart(struct world *w)
{
    struct err e;
    mig_apply_cancel(w->apply);
    inventory_close(w->inventory);
    if (inventory_open(w->loop, w->journal, &w->inventory, &e) < 0)
        fail_msg("%s", e.text);
    w->fault = FAULT_NONE;
    w->results_n = 0;
    w->apply = mig_apply_recover(w->loop, &w->outer, w->inventory, on_result, w);
    assert_int_equal(loop_run(w->loop, NULL), 0);
    assert_int_equal(w->results_n, 1);
}

/* The process ends while the n-th changing call is on its way, which is carried out or not. */
static bool kill_at(const char *model, const char *before, uint32_t n)
{
    struct world w = world_new(model, 1, true);
    struct buf first = {0}, last = {0};
    char key[64];
    apply(&w, before, (struct mig_apply_config){0});
    if (look(&w)->gpus[0].migs_n)
        use_last(&w);
    places(&w, &first);
    w.fault = FAULT_SILENT;
    w.fault_at = n;
    w.outer.self = &w;
    w.results_n = 1; /* a run that ends before the n-th call answers */
    _cleanup_arena_ struct arena *a = arena_new();
    struct mig_config c;
    assert_int_equal(mig_config_parse(a, bytes_of("version: v1\nmig-configs:\n  x:\n" PARTS), &c, NULL), 0);
    w.calls_n = 0;
    w.apply = mig_apply_start(w.loop, &w.outer, w.inventory, &c.layouts[0], &(struct mig_apply_config){0}, on_result, &w);
    assert_int_equal(loop_run(w.loop, NULL), 0);
    bool hit = w.calls_n >= n;
    snprintf(key, sizeof key, "mig/%s", w.reading->gpus[0].uuid);
    assert_int_equal(inventory_intent(w.inventory, key) != NULL, hit);
    restart(&w);
    expect(&w, 0, w.result.changed_n, w.result.unchanged_n, 0);
    places(&w, &last);
    assert_true(text_equal(last.data, first.data) || check(&w, PARTS, false, NULL) == 0);
    assert_int_equal(text_equal(last.data, first.data), hit);
    assert_null(inventory_intent(w.inventory, key));
    restart(&w); /* nothing left to do */
    expect(&w, 0, 0, 0, 0);
    buf_free(&first);
    buf_free(&last);
    world_free(&w);
    return hit;
}

static void test_killed(void **state)
{
    const char *const before[] = {SEVEN, DISABLED, BALANCED};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        uint32_t n = 1;
        while (kill_at("h100-80gb", before[i], n))
            n++;
        assert_true(n > 5);
        for (n = 1; kill_at("a100-80gb", before[i], n);)
            n++;
    }
}

/* Recovery with something in use: on when back would end it, neither when both would. */
static void recover_with(struct world *w, const char *text)
{
    char key[64];
    struct err e;
    snprintf(key, sizeof key, "mig/%s", look(w)->gpus[0].uuid);
    if (inventory_intent_set(w->inventory, key, text, &e) < 0)
        fail_msg("%s", e.text);
    w->outer.self = w;
    restart(w);
}

static void test_recover_busy(void **state)
{
    struct world w = world_new("h100-80gb", 1, true);
    apply(&w, "    - {devices: all, mig-enabled: true, mig-devices: {1g.10gb: 1}}\n", (struct mig_apply_config){0});
    use_last(&w);
    recover_with(&w, "from:1;0@0:7@0|to:1;19/1x2"); /* back: 7g, over the one in use; on: one more */
    expect(&w, 0, 1, 0, 0);
    assert_int_equal(look(&w)->gpus[0].migs_n, 2);
    recover_with(&w, "from:1;0@0:7@0|to:1;9/3x2"); /* both ways over it */
    expect(&w, -E_CONFLICT, 0, 0, 1);
    expect_text(&w, "can be neither finished nor taken back");
    driver_model_set_processes(w.inner, NULL, 0);
    restart(&w); /* the intent was kept */
    expect(&w, 0, 1, 0, 0);
    assert_string_equal(look(&w)->gpus[0].migs[0].profile, "7g.80gb");
    recover_with(&w, "nonsense");
    expect(&w, -E_INVALID, 0, 0, 1);
    expect_text(&w, "the journal's MIG intent 'nonsense' is not understood");
    restart(&w);
    expect(&w, 0, 0, 0, 0);
    world_free(&w);
}

/* The driver stays away during the way back: the intent is kept, the next start finishes it. */
static void test_back_fails(void **state)
{
    struct world w = world_new("h100-80gb", 1, true);
    struct buf first = {0}, last = {0};
    apply(&w, SEVEN, (struct mig_apply_config){0});
    places(&w, &first);
    w.fault = FAULT_REFUSED;
    w.fault_at = 6;
    w.outer.self = &w;
    driver_model_refuse(w.inner, -E_IO, 0);
    apply(&w, PARTS, (struct mig_apply_config){0});
    expect(&w, -E_IO, 0, 0, 1);
    expect_text(&w, "is back");
    w.fault = FAULT_NONE;
    struct loop_timer *t = loop_timer_new(w.loop, free_processes, &w);
    driver_model_refuse(w.inner, -E_AGAIN, 6); /* forward once, back five times */
    apply(&w, PARTS, (struct mig_apply_config){0});
    expect(&w, -E_AGAIN, 0, 0, 1);
    loop_timer_free(t);
    driver_model_refuse(w.inner, 0, 0);
    restart(&w);
    places(&w, &last);
    assert_string_equal(last.data, first.data);
    buf_free(&first);
    buf_free(&last);
    world_free(&w);
}

static void test_intent_text(void **state)
{
    const struct gpu_model *m = gpu_model_find("a100-40gb");
    struct mig_state from = {.mode = 1, .mode_pending = 1}, back;
    struct mig_target to = {.mode_on = true}, target;
    struct buf text = {0}, again = {0};
    uint8_t id, ci;
    assert_int_equal(mig_create_instance(&from, m, 9, 0, &id), MIG_OK);
    assert_int_equal(mig_create_compute(&from, m, id, 1, 1, 0, &ci), MIG_OK);
    assert_int_equal(mig_create_compute(&from, m, id, 1, 2, 0, &ci), MIG_OK);
    assert_int_equal(mig_create_instance(&from, m, 19, 6, &id), MIG_OK);
    assert_int_equal(mig_wish_parse(m, "1c.3g.20gb", &to.wishes[to.wishes_n], NULL), 0);
    to.wishes[to.wishes_n++].n = 2;
    mig_intent_write(&from, &to, &text);
    assert_string_equal(text.data, "from:1;9@0:1@1,1@2;19@6|to:1;9/1x2");
    assert_int_equal(mig_intent_read(m, text.data, &back, &target, NULL), 0);
    mig_intent_write(&back, &target, &again);
    assert_string_equal(again.data, text.data);
    static const char *const bad[] = {"", "from:", "from:1", "from:2|to:1", "from:0;9@0|to:1", "from:1;9@1|to:0", "from:1;9@0;9@0|to:0",
                                      "from:1;9@0:1@0,1@0|to:0", "from:1;9@0:3@|to:0", "from:1;77@0|to:0", "from:1|to:1;9/4x1",
                                      "from:1|to:1;9/1x99999", "from:1|to:1;9/1x1 ", "from:1;9@0:|to:1", "from:99999999999|to:1",
                                      "from:1|to:1;0/0x1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (mig_intent_read(m, bad[i], &back, &target, NULL) != -E_INVALID)
            fail_msg("'%s' was read", bad[i]);
    buf_free(&text);
    buf_free(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apply),         cmocka_unit_test(test_mode),        cmocka_unit_test(test_linked),
        cmocka_unit_test(test_refused),       cmocka_unit_test(test_busy),        cmocka_unit_test(test_owners_are_in_the_way),
        cmocka_unit_test(test_refusal_is_a_record),
        cmocka_unit_test(test_evict_slowly),  cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_failures),      cmocka_unit_test(test_killed),      cmocka_unit_test(test_recover_busy),
        cmocka_unit_test(test_back_fails),    cmocka_unit_test(test_intent_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
