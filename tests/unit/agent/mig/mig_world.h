/* mig_world.h - MIG layouts on simulated GPUs: faults of their driver, GPUs that are reset together, and what came of a layout */
#ifndef TEST_MIG_WORLD_H
#define TEST_MIG_WORLD_H
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
    bool evict_frees, resets_linked, learns; /* learns: the next reset is refused, since others have to go with it */
    struct driver_reading *reading;
};
struct answer {
    driver_done_fn fn;
    void *arg;
};

static inline void on_answer(void *arg)
{
    struct answer *a = arg, copy = *a;
    struct err e;
    free(a);
    copy.fn(copy.arg, err_set(&e, E_IO, "made to fail"), &e);
}

static inline void on_done_anyway(void *arg, int code, const struct err *e)
{
    on_answer(arg);
}

/* True when the call has been dealt with. */
static inline bool faulty(struct world *w, driver_done_fn fn, void *arg, struct answer **ret_answer)
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
static inline struct driver_reading *own_reading(const struct driver_reading *r)
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

static inline void on_inner_reading(void *arg, int code, const struct driver_reading *r, const struct err *e)
{
    struct question *q = arg, copy = *q;
    struct driver_reading *own = own_reading(r);
    own->resets_linked = copy.world->resets_linked;
    free(q);
    copy.fn(copy.arg, code, own, e);
    driver_reading_unref(own);
}

static inline void outer_read(void *self, driver_reading_fn fn, void *arg)
{
    struct world *w = self;
    struct question *q = mem_alloc(sizeof *q);
    *q = (struct question){w, fn, arg};
    driver_read(w->inner, on_inner_reading, q);
}

static inline void outer_step(void *self, const char *uuid, const struct mig_step *step, driver_done_fn fn, void *arg)
{
    struct world *w = self;
    struct answer *a;
    if (!faulty(w, fn, arg, &a))
        driver_mig_step(w->inner, uuid, step, a ? on_done_anyway : fn, a ? (void *)a : arg);
}

static inline void on_refusal(void *arg)
{
    struct answer *a = arg, copy = *a;
    struct err e;
    free(a);
    copy.fn(copy.arg, err_set(&e, E_CONFLICT, "GPUs that are linked to it go with it"), &e);
}

static inline void ignore(void *arg, int code, const struct err *e)
{
    (void)arg, (void)code, (void)e;
}

static inline void outer_reset(void *self, const char *uuid, driver_done_fn fn, void *arg)
{
    struct world *w = self;
    struct answer *a;
    if (w->learns) {
        w->learns = false;
        w->resets_linked = true;
        a = mem_alloc(sizeof *a);
        *a = (struct answer){fn, arg};
        loop_defer(w->loop, on_refusal, a);
        return;
    }
    for (uint32_t i = 0; w->resets_linked && i < w->reading->gpus_n; i++) /* look() was called */
        if (!text_equal(w->reading->gpus[i].uuid, uuid))
            driver_reset(w->inner, w->reading->gpus[i].uuid, ignore, NULL);
    if (!faulty(w, fn, arg, &a))
        driver_reset(w->inner, uuid, a ? on_done_anyway : fn, a ? (void *)a : arg);
}

/* It is of the world. */
static inline void outer_free(void *self)
{
}

static const struct driver_ops outer_ops = {.read = outer_read, .mig_step = outer_step, .reset = outer_reset, .free = outer_free};

/* ---- the world ---- */

static inline struct world world_new(const char *model, uint32_t gpus_n, bool journal)
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

static inline void world_free(struct world *w)
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

static inline void on_reading(void *arg, int code, const struct driver_reading *r, const struct err *e)
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

static inline void on_result(void *arg, const struct mig_apply_result *result)
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

static inline void on_hold(void *ctx, const char *uuid, bool hold)
{
    struct world *w = ctx;
    if (hold)
        w->holds_n++;
    else
        w->releases_n++;
}

static inline void on_evict(void *ctx, const struct mig_blockers *b, driver_done_fn done, void *arg)
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

static inline void apply(struct world *w, const char *entries, struct mig_apply_config config)
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

static inline void expect(const struct world *w, int code, uint32_t changed_n, uint32_t unchanged_n, uint32_t failed_n)
{
    if (w->result.code != code)
        fail_msg("code %d: %s", w->result.code, w->result.error.text);
    assert_int_equal(w->result.changed_n, changed_n);
    assert_int_equal(w->result.unchanged_n, unchanged_n);
    assert_int_equal(w->result.failed_n, failed_n);
}

static inline void expect_text(const struct world *w, const char *text)
{
    if (!strstr(w->result.error.text, text))
        fail_msg("'%s' is not in '%s'", text, w->result.error.text);
}

static inline int check(struct world *w, const char *entries, bool mode_only, struct err *e)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct mig_config c;
    assert_int_equal(mig_config_parse(a, bytes_of(arena_printf(a, "version: v1\nmig-configs:\n  x:\n%s", entries)), &c, NULL), 0);
    return mig_apply_assert(look(w), &c.layouts[0], mode_only, e);
}

static inline void use_last(struct world *w)
{
    const struct driver_gpu *gpu = &look(w)->gpus[0];
    const struct driver_mig *mig = &gpu->migs[gpu->migs_n - 1];
    struct driver_process p = {.pid = 4711, .gi = mig->gi, .ci = mig->ci, .gpu = 0};
    driver_model_set_processes(w->inner, &p, 1);
}

static inline void free_processes(void *arg)
{
    driver_model_set_processes(((struct world *)arg)->inner, NULL, 0);
}

#define BALANCED "    - {devices: all, mig-enabled: true, mig-devices: {3g.40gb: 1, 2g.20gb: 1, 1g.10gb: 2}}\n"
#define SEVEN "    - {devices: all, mig-enabled: true, mig-devices: {1g.10gb: 7}}\n"
#define PARTS "    - {devices: all, mig-enabled: true, mig-devices: {1c.3g.40gb: 2, 1g.10gb: 3}}\n"
#define ENABLED "    - {devices: all, mig-enabled: true, mig-devices: {}}\n"
#define DISABLED "    - {devices: all, mig-enabled: false}\n"

#endif
