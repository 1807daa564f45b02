/* mig_apply.c - the transaction of each GPU as a chain of calls to the driver
 *
 *     next_gpu ─▶ begin ─(in use)─▶ evict ─▶ read ─▶ begin again
 *                   └─▶ intent, hold ─▶ run: step, step, ... ─(mode step)─▶ read, reset? ─▶ plan anew ─▶ run
 *                                        │ └─▶ read, verify ─▶ intent removed ─▶ next_gpu
 *                                        └ failure ─▶ read ─▶ plan back ─▶ run ─▶ verify ─▶ next_gpu (failed)
 *     after the last one: once more from the first, where a reset has hit GPUs that were done (sweep)
 *
 * Every arrow is a callback of the driver or a timer; after each reading everything is decided from that reading.
 */
#include "agent/mig/mig_apply.h"
#include <stdio.h>
#include <stdlib.h>
#include "agent/mig/mig_intent.h"
#include "agent/mig/mig_target.h"

#define INTENT_KEY "mig/"
#define BACK_TRIES 5 /* of a rollback, RETRY_MS apart: a GPU that was reset needs a moment */
#define RETRY_MS 1000
#define ROUNDS 4     /* plans of one GPU: a mode change takes two; and passes over all of them, where resets of one hit others */

enum outcome { UNCHANGED, CHANGED, FAILED, OUTCOMES_N }; /* the later counts where a GPU is looked at twice */

struct ticket { /* of an eviction: outlives the transaction when that gives up first */
    struct mig_apply *apply;
};
typedef void (*then_fn)(struct mig_apply *x, int code);
struct mig_apply {
    struct loop *loop;
    struct driver *driver;
    struct driver_call *call;        /* under way; NULL: none */
    struct inventory *inventory;
    struct mig_apply_config config;
    mig_apply_fn fn;
    void *fn_arg;
    struct arena *arena;
    const struct mig_layout *layout; /* a copy; NULL: recovery */
    char (*uuids)[48];               /* GPUs to look at */
    enum outcome *outcomes;          /* of each */
    uint32_t uuids_n, at, passes;
    bool swept;                      /* in this pass GPUs were reset with another: their instances are gone */
    struct driver_reading *reading;
    then_fn then;                    /* what the next reading is for */
    struct loop_timer *timer;
    struct ticket *ticket;
    int64_t evict_until_ms;          /* -1: not begun */
    struct mig_apply_result result;
    /* the GPU at hand */
    struct mig_target target;        /* points into the geometry of `reading`: made anew for each (aim) */
    char *intent_text;               /* recovery: what the journal had; in the arena */
    struct mig_state recorded;
    struct mig_plan plan;
    struct mig_blockers blockers;    /* of this GPU and of those that are reset with it, when they were looked at last */
    uint32_t step, rounds, back_tries;
    uint64_t linked;                 /* GPUs that are reset with it, by index: held as it is */
    bool back, held, intent;
    bool reset_refused;              /* on the way forward */
    struct err failure;              /* why it goes back */
    struct err error;                /* of the last call */
};

static void next_gpu(struct mig_apply *x);
static void begin(struct mig_apply *x);
static void run(struct mig_apply *x);
static void failed(struct mig_apply *x);
static void refuse_second(void *arg);

/* ---- readings and waiting ---- */

static const struct driver_gpu *gpu_now(const struct mig_apply *x)
{
    for (uint32_t g = 0; g < x->reading->gpus_n; g++)
        if (text_equal(x->reading->gpus[g].uuid, x->uuids[x->at]))
            return &x->reading->gpus[g];
    return NULL;
}

static void on_reading(void *arg, int code, const struct driver_reading *reading, const struct err *e)
{
    struct mig_apply *x = arg;
    then_fn then = x->then;
    x->call = NULL;
    if (code < 0) {
        x->error = *e;
    } else {
        driver_reading_unref(x->reading);
        x->reading = driver_reading_ref(reading);
    }
    then(x, code);
}

static void read_then(struct mig_apply *x, then_fn then)
{
    x->then = then;
    x->call = driver_read(x->driver, on_reading, x);
}

static void evict_timeout(struct mig_apply *x);

static void on_timer(void *arg)
{
    struct mig_apply *x = arg;
    if (x->ticket)
        evict_timeout(x);
    else
        read_then(x, x->then);
}

static void wait_then(struct mig_apply *x, then_fn then)
{
    x->then = then;
    loop_timer_start(x->timer, RETRY_MS, 0);
}

/* ---- the journal and the hold ---- */

static const char *intent_key(struct mig_apply *x, char text[64])
{
    (void)snprintf(text, 64, INTENT_KEY "%s", x->uuids[x->at]);
    return text;
}

static int set_intent(struct mig_apply *x, const char *value)
{
    char key[64];
    return x->inventory ? inventory_intent_set(x->inventory, intent_key(x, key), value, &x->error) : 0;
}

static void hold_linked(struct mig_apply *x, uint64_t gpus, bool on)
{
    for (uint32_t g = 0; x->config.hold && g < x->reading->gpus_n; g++)
        if (gpus >> x->reading->gpus[g].index & 1)
            x->config.hold(x->config.ctx, x->reading->gpus[g].uuid, on);
}

static void hold(struct mig_apply *x, bool on)
{
    if (x->held == on)
        return;
    if (x->config.hold)
        x->config.hold(x->config.ctx, x->uuids[x->at], on);
    hold_linked(x, x->linked, on);
    x->held = on;
}

/* ---- the end of one GPU, and of all ---- */

static void apply_free(struct mig_apply *x)
{
    if (x->driver->mig_apply == x)
        x->driver->mig_apply = NULL;
    driver_cancel(x->call);
    loop_forget(x->loop, refuse_second, x);
    if (x->ticket)
        x->ticket->apply = NULL;
    loop_timer_free(x->timer);
    driver_reading_unref(x->reading);
    arena_free(x->arena);
    mig_blockers_free(&x->blockers);
    mig_blockers_free(&x->result.blockers);
    free(x);
}

static void finish(struct mig_apply *x)
{
    uint32_t counts[OUTCOMES_N] = {0};
    for (uint32_t i = 0; i < x->uuids_n; i++)
        counts[x->outcomes[i]]++;
    x->result.unchanged_n = counts[UNCHANGED];
    x->result.changed_n = counts[CHANGED];
    x->result.failed_n = counts[FAILED];
    struct mig_apply_result result = x->result;
    mig_apply_fn fn = x->fn;
    void *arg = x->fn_arg;
    x->result.blockers = (struct mig_blockers){0}; /* they are `result`'s now */
    apply_free(x);
    fn(arg, &result);
    mig_blockers_free(&result.blockers);
}

static void end_gpu(struct mig_apply *x, enum outcome outcome)
{
    if (outcome > x->outcomes[x->at])
        x->outcomes[x->at] = outcome;
    hold(x, false);
    x->at++;
    next_gpu(x);
}

static void fail_gpu(struct mig_apply *x, const struct err *e)
{
    const struct driver_gpu *gpu = gpu_now(x);
    bool refused = e->code == E_CONFLICT || e->code == E_AGAIN;
    if (!x->blockers.n && refused && gpu)
        mig_blockers_add_refusal(&x->blockers, gpu, x->inventory ? inventory_now(x->inventory) : NULL);
    for (uint32_t i = 0; i < x->blockers.n; i++)
        mig_blockers_add(&x->result.blockers, &x->blockers.list[i]);
    if (!x->result.code) {
        x->result.error = *e;
        x->result.code = gpu ? err_wrap(&x->result.error, "GPU %u (%s)", gpu->index, gpu->uuid)
                             : err_wrap(&x->result.error, "%s", x->uuids[x->at]);
    }
    x->result.reset_required |= x->reset_refused;
    end_gpu(x, FAILED);
}

static void succeed_gpu(struct mig_apply *x, enum outcome outcome)
{
    if (x->intent)
        (void)set_intent(x, ""); /* left behind it does no harm: recovery finds the wish fulfilled */
    end_gpu(x, outcome);
}

/* ---- steps ---- */

/* The target as the profiles of this reading name it. */
static int aim(struct mig_apply *x, const struct driver_gpu *gpu)
{
    struct mig_state before;
    const struct gpu_model *m = mig_geometry(gpu);
    if (x->layout)
        return mig_target_of(x->layout, gpu, &x->target, &x->error);
    return m ? mig_intent_read(m, x->intent_text, &before, &x->target, &x->error)
             : err_set(&x->error, E_INVALID, "the driver tells no MIG profiles of this GPU");
}

static int make_plan(struct mig_apply *x, const struct driver_gpu *gpu)
{
    struct mig_state now = mig_target_state(gpu, x->inventory);
    const struct gpu_model *m = mig_geometry(gpu);
    x->plan.steps_n = x->step = 0;
    if (x->back) {
        mig_plan_restore(m, &now, &x->recorded, &x->plan);
        return 0;
    }
    int r = aim(x, gpu);
    if (r < 0)
        return r;
    return mig_target_plan(&x->target, gpu, &now, x->config.mode_only, &x->plan, &x->error);
}

static bool is_reached(struct mig_apply *x, const struct driver_gpu *gpu)
{
    struct mig_plan rest;
    if (x->back) {
        mig_plan_restore(mig_geometry(gpu), gpu->mig, &x->recorded, &rest);
        return rest.steps_n == 0;
    }
    return aim(x, gpu) >= 0 && mig_target_reached(&x->target, gpu, x->config.mode_only);
}

/* The refusal has taught the driver which GPUs go with this one. */
static bool has_learned(const struct mig_apply *x, const struct driver_gpu *gpu)
{
    return x->reset_refused && (driver_linked_set(x->reading, gpu) & ~x->linked);
}

static void verified(struct mig_apply *x, int code)
{
    const struct driver_gpu *gpu = code < 0 ? NULL : gpu_now(x);
    struct err e;
    if (code == 0 && !gpu)
        err_set(&x->error, E_GONE, "the driver does not list it any more");
    else if (code == 0 && !is_reached(x, gpu))
        err_set(&x->error, E_IO, "every step was done, and the driver reports another layout");
    else if (code == 0 && !x->back)
        return succeed_gpu(x, CHANGED);
    else if (code == 0 && !x->layout)
        return succeed_gpu(x, CHANGED); /* recovery: back is where it should be */
    else if (code == 0) {
        err_set(&e, x->failure.code, "%s; the layout before is back", x->failure.text);
        if (x->intent)
            (void)set_intent(x, "");
        if (!has_learned(x, gpu))
            return fail_gpu(x, &e);
        hold(x, false);
        return next_gpu(x); /* this one again, now with regard to those */
    }
    failed(x);
}

/* The mode is as wanted now: what is left follows from the new reading. */
static void plan_anew(struct mig_apply *x, int code)
{
    const struct driver_gpu *gpu = code < 0 ? NULL : gpu_now(x);
    if (code == 0 && (!gpu || gpu->lost))
        code = err_set(&x->error, E_GONE, "the GPU is lost");
    else if (code == 0 && gpu->mig_pending)
        code = err_set(&x->error, E_CONFLICT, "the mode change is still pending after a reset");
    else if (code == 0 && ++x->rounds > ROUNDS)
        code = err_set(&x->error, E_IO, "the driver takes the mode change back again and again");
    if (code == 0)
        code = make_plan(x, gpu);
    if (code < 0)
        return failed(x);
    run(x);
}

static void reset_refused(struct mig_apply *x, const struct err *e)
{
    x->error = *e;
    (void)err_wrap(&x->error, "the mode change needs a reset");
    x->reset_refused |= !x->back;
    failed(x);
}

static void on_reset(void *arg, int code, const struct err *e)
{
    struct mig_apply *x = arg;
    x->call = NULL;
    if (code < 0)
        return reset_refused(x, e);
    x->swept |= x->linked != 0;
    read_then(x, plan_anew);
}

static void add_linked_blockers(struct mig_apply *x)
{
    for (uint32_t g = 0; g < x->reading->gpus_n; g++)
        if (x->linked >> x->reading->gpus[g].index & 1)
            mig_target_linked_blockers(&x->reading->gpus[g], x->inventory, &x->blockers);
}

/* WHY  looked at once more: who came before they were held, and what a plan back or after a restart did not foresee. */
static void reset(struct mig_apply *x, const struct driver_gpu *gpu)
{
    struct err e;
    uint64_t more = driver_linked_set(x->reading, gpu) & ~x->linked;
    if (x->held)
        hold_linked(x, more, true);
    x->linked |= more;
    x->blockers.n = 0;
    add_linked_blockers(x);
    if (x->blockers.n) {
        mig_blockers_error(&x->blockers, &e);
        return reset_refused(x, &e);
    }
    x->call = driver_reset(x->driver, gpu->uuid, on_reset, x);
}

static void mode_changed(struct mig_apply *x, int code)
{
    const struct driver_gpu *gpu = code < 0 ? NULL : gpu_now(x);
    if (!gpu || !gpu->mig_pending)
        return plan_anew(x, code);
    if (x->config.skip_reset && !x->back) {
        x->result.reset_required = true;
        return succeed_gpu(x, CHANGED);
    }
    reset(x, gpu);
}

static void on_step(void *arg, int code, const struct err *e)
{
    struct mig_apply *x = arg;
    enum mig_step_kind kind = x->plan.steps[x->step].kind;
    x->call = NULL;
    if (code < 0) {
        char text[96];
        const struct driver_gpu *gpu = gpu_now(x);
        x->error = *e;
        if (gpu) {
            mig_step_text(mig_geometry(gpu), &x->plan.steps[x->step], text);
            (void)err_wrap(&x->error, "%s", text);
        }
        return failed(x);
    }
    x->result.steps_n++;
    x->step++;
    if (kind == MIG_STEP_MODE_ON || kind == MIG_STEP_MODE_OFF)
        return read_then(x, mode_changed);
    run(x);
}

static void run(struct mig_apply *x)
{
    if (x->step < x->plan.steps_n)
        x->call = driver_mig_step(x->driver, x->uuids[x->at], &x->plan.steps[x->step], on_step, x);
    else
        read_then(x, verified);
}

/* ---- back ---- */

static void run_back(struct mig_apply *x, int code)
{
    const struct driver_gpu *gpu = code < 0 ? NULL : gpu_now(x);
    if (code == 0 && (!gpu || gpu->lost)) {
        err_set(&x->error, E_GONE, "the GPU is lost");
        code = -E_GONE;
    }
    if (code < 0)
        return failed(x);
    x->rounds = 0;
    (void)make_plan(x, gpu); /* going back is always possible on paper */
    run(x);
}

/* A call has failed (x->error). Forward: turn round. On the way back: again after a while, then give up; the intent stays for the next
 * start. */
static void failed(struct mig_apply *x)
{
    if (!x->back) {
        x->back = true;
        x->failure = x->error;
        return read_then(x, run_back);
    }
    if (++x->back_tries < BACK_TRIES)
        return wait_then(x, run_back);
    struct err e;
    if (x->failure.code)
        err_set(&e, x->failure.code, "%s; going back failed: %s", x->failure.text, x->error.text);
    else
        err_set(&e, x->error.code, "going back failed: %s", x->error.text);
    fail_gpu(x, &e);
}

/* ---- in use ---- */

static void evicted(struct mig_apply *x, int code)
{
    if (code < 0)
        return fail_gpu(x, &x->error);
    begin(x);
}

static void on_evicted(void *arg, int code, const struct err *e)
{
    struct ticket *t = arg;
    struct mig_apply *x = t->apply;
    free(t);
    if (!x)
        return;
    x->ticket = NULL;
    loop_timer_stop(x->timer);
    if (code < 0) {
        err_set(&x->error, e->code, "%s is in use: %s", x->blockers.list[0].unit, e->text);
        return evicted(x, code);
    }
    read_then(x, evicted);
}

/* No answer in time: the eviction may go on, nothing is changed here. */
static void evict_timeout(struct mig_apply *x)
{
    x->ticket->apply = NULL;
    x->ticket = NULL;
    err_set(&x->error, E_AGAIN, "%s is in use: its pods have not left within %lld ms", x->blockers.list[0].unit,
            (long long)x->config.evict_timeout_ms);
    fail_gpu(x, &x->error);
}

static void evict(struct mig_apply *x)
{
    hold(x, true); /* nobody new meanwhile */
    if (x->evict_until_ms >= 0) {
        if (loop_now_ms(x->loop) < x->evict_until_ms)
            return wait_then(x, evicted);
        err_set(&x->error, E_AGAIN, "still in use %lld ms after the eviction: %s", (long long)x->config.evict_timeout_ms,
                x->blockers.list[0].unit);
        return fail_gpu(x, &x->error);
    }
    x->evict_until_ms = loop_now_ms(x->loop) + x->config.evict_timeout_ms;
    x->ticket = mem_zero(1, sizeof *x->ticket);
    x->ticket->apply = x;
    loop_timer_start(x->timer, x->config.evict_timeout_ms, 0);
    x->config.evict(x->config.ctx, &x->blockers, on_evicted, x->ticket);
}

/* ---- one GPU after the other ---- */

static void go(struct mig_apply *x, const struct driver_gpu *gpu)
{
    _cleanup_buf_ struct buf text = {0};
    if (x->layout) {
        x->recorded = *gpu->mig;
        mig_intent_write(gpu->mig, &x->target, &text);
        if (set_intent(x, text.data) < 0)
            return fail_gpu(x, &x->error);
    }
    x->intent = true;
    hold(x, true);
    run(x);
}

/* WHY  instances do not outlive a reset. Those that the layout names are made anew in the next pass; nobody would make the others. */
static int others_kept(struct mig_apply *x)
{
    for (uint32_t g = 0; g < x->reading->gpus_n; g++) {
        const struct driver_gpu *other = &x->reading->gpus[g];
        struct mig_target target;
        if (x->linked >> other->index & 1 && other->migs_n && mig_target_of(x->layout, other, &target, NULL) == 0)
            return err_set(&x->error, E_CONFLICT, "GPU %u (%s) has to be reset with it, and would lose MIG instances that the layout does "
                           "not name: name them, too, or take them away", other->index, other->uuid);
    }
    return 0;
}

static void begin_layout(struct mig_apply *x, const struct driver_gpu *gpu)
{
    x->blockers.n = 0;
    int r = mig_target_of(x->layout, gpu, &x->target, &x->error);
    if (r == 0 || (r > 0 && mig_target_reached(&x->target, gpu, x->config.mode_only)))
        return end_gpu(x, UNCHANGED);
    if (r > 0)
        r = make_plan(x, gpu);
    if (r < 0)
        return fail_gpu(x, &x->error);
    mig_target_blockers(&x->plan, gpu, x->inventory, &x->blockers);
    x->linked = x->config.skip_reset ? 0 : mig_target_linked(x->reading, &x->plan, gpu);
    add_linked_blockers(x);
    if (x->blockers.n && x->config.busy == MIG_BUSY_EVICT && x->config.evict)
        return evict(x);
    if (x->blockers.n) {
        mig_blockers_error(&x->blockers, &x->error);
        return fail_gpu(x, &x->error);
    }
    if (others_kept(x) < 0)
        return fail_gpu(x, &x->error);
    go(x, gpu);
}

/* What a crash has left: fulfilled already; else back, unless that would end what is in use and going on would not. */
static void begin_recover(struct mig_apply *x, const struct driver_gpu *gpu)
{
    char key[64];
    const char *text = inventory_intent(x->inventory, intent_key(x, key));
    const struct gpu_model *m = mig_geometry(gpu);
    x->intent_text = arena_text(x->arena, text ? text : "");
    int r = m ? mig_intent_read(m, x->intent_text, &x->recorded, &x->target, &x->error)
              : err_set(&x->error, E_INVALID, "the driver tells no MIG profiles of this GPU");
    if (r < 0) {
        struct err e = x->error;
        if (m)
            (void)set_intent(x, ""); /* nothing can be done with it */
        return fail_gpu(x, &e);
    }
    x->intent = true;
    if (is_reached(x, gpu))
        return succeed_gpu(x, UNCHANGED);
    if (make_plan(x, gpu) < 0 || x->plan.busy_n) { /* forward does not go without harm */
        x->back = true;
        (void)make_plan(x, gpu);
    } else {
        uint32_t forward_busy_n = x->plan.busy_n;
        x->back = true;
        (void)make_plan(x, gpu);
        if (x->plan.busy_n > forward_busy_n) {
            x->back = false;
            (void)make_plan(x, gpu);
        }
    }
    x->blockers.n = 0;
    x->linked = mig_target_linked(x->reading, &x->plan, gpu);
    add_linked_blockers(x);
    if (x->plan.busy_n || x->blockers.n) {
        err_set(&x->error, E_CONFLICT, "an interrupted MIG change can be neither finished nor taken back: instances are in use");
        return fail_gpu(x, &x->error);
    }
    go(x, gpu);
}

static void begin(struct mig_apply *x)
{
    const struct driver_gpu *gpu = gpu_now(x);
    if (!gpu || gpu->lost) {
        err_set(&x->error, E_GONE, "the GPU is lost");
        return fail_gpu(x, &x->error);
    }
    if (x->layout)
        begin_layout(x, gpu);
    else
        begin_recover(x, gpu);
}

/* Another pass. Those that failed are as they were, or as they could be left. */
static void sweep(struct mig_apply *x)
{
    x->swept = false;
    x->passes++;
    x->at = 0;
}

static void next_gpu(struct mig_apply *x)
{
    if (x->at == x->uuids_n && x->swept && x->layout && x->passes < ROUNDS)
        sweep(x);
    while (x->passes && x->at < x->uuids_n && x->outcomes[x->at] == FAILED)
        x->at++;
    if (x->at == x->uuids_n)
        return finish(x);
    x->back = x->held = x->intent = x->reset_refused = false;
    x->blockers.n = 0;
    x->step = x->rounds = x->back_tries = 0;
    x->linked = 0;
    x->evict_until_ms = -1;
    x->failure = x->error = (struct err){0};
    begin(x);
}

/* ---- beginning and end of all ---- */

static bool concerns(struct mig_apply *x, const struct driver_gpu *gpu)
{
    char key[64];
    if (x->layout)
        return mig_target_of(x->layout, gpu, &x->target, NULL) != 0;
    (void)snprintf(key, sizeof key, INTENT_KEY "%s", gpu->uuid);
    return x->inventory && inventory_intent(x->inventory, key);
}

/* A layout that does not fit one GPU, or names one that cannot be reached, changes none. */
static int check_fits(struct mig_apply *x)
{
    if (x->layout && mig_apply_reaches(x->reading, x->layout, &x->error) < 0)
        return -E_GONE;
    for (uint32_t g = 0; x->layout && g < x->reading->gpus_n; g++) {
        struct mig_plan plan;
        int r = mig_apply_plan(&x->reading->gpus[g], x->inventory, x->layout, x->config.mode_only, &plan, &x->error);
        if (r < 0)
            return r;
    }
    return 0;
}

static void first_reading(struct mig_apply *x, int code)
{
    if (code == 0)
        code = check_fits(x);
    if (code < 0) {
        x->result.code = code;
        x->result.error = x->error;
        return finish(x);
    }
    x->uuids = arena_zero(x->arena, x->reading->gpus_n, sizeof *x->uuids);
    x->outcomes = arena_zero(x->arena, x->reading->gpus_n, sizeof *x->outcomes);
    for (uint32_t g = 0; g < x->reading->gpus_n; g++)
        if (concerns(x, &x->reading->gpus[g]))
            memcpy(x->uuids[x->uuids_n++], x->reading->gpus[g].uuid, sizeof *x->uuids);
    next_gpu(x);
}

static void refuse_second(void *arg)
{
    struct mig_apply *x = arg;
    x->result.code = err_set(&x->result.error, E_CONFLICT, "another MIG change is running on this node");
    finish(x);
}

static struct mig_apply *start(struct mig_apply *x)
{
    x->timer = loop_timer_new(x->loop, on_timer, x);
    if (x->driver->mig_apply) {
        loop_defer(x->loop, refuse_second, x);
        return x;
    }
    x->driver->mig_apply = x;
    read_then(x, first_reading);
    return x;
}

struct mig_apply *mig_apply_start(struct loop *l, struct driver *d, struct inventory *i, const struct mig_layout *layout,
                     const struct mig_apply_config *config, mig_apply_fn fn, void *arg)
{
    struct mig_apply *x = mem_zero(1, sizeof *x);
    x->loop = l;
    x->driver = d;
    x->inventory = i;
    x->config = *config;
    x->fn = fn;
    x->fn_arg = arg;
    x->arena = arena_new();
    x->layout = mig_target_copy(x->arena, layout);
    return start(x);
}

struct mig_apply *mig_apply_recover(struct loop *l, struct driver *d, struct inventory *i, const struct mig_apply_config *config,
                                    mig_apply_fn fn, void *arg)
{
    struct mig_apply *x = mem_zero(1, sizeof *x);
    x->loop = l;
    x->driver = d;
    x->inventory = i;
    x->config.hold = config->hold;
    x->config.ctx = config->ctx;
    x->fn = fn;
    x->fn_arg = arg;
    x->arena = arena_new();
    return start(x);
}

void mig_apply_cancel(struct mig_apply *x)
{
    if (x)
        apply_free(x);
}
