/* starts.c - see starts.h */
#include "sched/ahead/starts.h"
#include <time.h>
#include "base/log.h"
#include "core/time/forecast.h"
#include "sched/forecast/run_limit.h"
#include "sched/forecast/run_times.h"
#include "sched/forecast/start_note.h"
#include "sched/scheduler.h"

enum {
    LOOK_MS = 1000,
    SOON_MS = 60000,                  /* who starts before is not told so: it would be a write for nothing */
    IDLE_TIMES = 10,                  /* where no start was found it is looked for so much more rarely */
    /* A copy has the processor for this part of the time at most. WHY not by the clock: one that waits for it costs nothing, and where a
     * machine is busy starts would be told minutes later. */
    COST_TIMES = 20,
    CPU_S = 20,                       /* WHY 50,000 that wait and 1,000 queues take less */
    STEPS_MAX = 100000,
    OUTPUT_MAX = 64 << 20,
};
static const int64_t horizon_ms = 90LL * 86400 * 1000;

struct starts {
    struct scheduler *s;
    struct loop_timer *timer;
    struct loop_copy *copy; /* NULL: nobody thinks */
    int64_t period_ms;
    int64_t next_ms;        /* on the loop's clock */
    bool told_trouble;
};

/* ---- the copy ---- */

/* The longest limit of its pods that are not over; 0: one of them has none. */
static int64_t limit_of_pods_ms(struct scheduler *s, const struct seen_gang *g)
{
    int64_t most_ms = 0;
    for (uint32_t i = 0; i < g->pods_n; i++) {
        const struct seen_pod *p = seen_pod(s, g->pods[i]);
        int64_t ms = run_limit_of_s(p->limit_s);
        if (p->phase == POD_SUCCEEDED || p->phase == POD_FAILED)
            continue;
        if (!ms)
            return 0;
        most_ms = ms > most_ms ? ms : most_ms;
    }
    return most_ms;
}

void starts_expect(struct forecast_job *job, int64_t limit_ms, int64_t usual_ms)
{
    bool by_limit = limit_ms && (!usual_ms || limit_ms <= usual_ms);
    job->run_ms = by_limit ? limit_ms : usual_ms;
    job->basis = by_limit ? END_BY_LIMIT : usual_ms ? END_BY_RUNS : 0;
}

static struct forecast_job job_of(struct scheduler *s, const struct seen_gang *g, enum gang_phase phase, struct arena *a, int64_t now_ms)
{
    struct forecast_job job = {.gang = g->key};
    struct gang_look look;
    const struct json *workload = g->source == GANG_WORKLOAD ? source_get(s, SOURCE_WORKLOADS, seen_gang_object(s, g), a) : NULL;
    bool looked = state_gang_look(s->state, g->key, &look);
    int64_t began_ms = phase < GANG_RESERVED ? 0 : workload ? run_began_ms(workload) : looked ? look.started_ms : 0;
    int64_t elapsed_ms = began_ms && began_ms < now_ms ? now_ms - began_ms : 0;
    int64_t limit_ms = workload ? run_limit_ms(workload) : limit_of_pods_ms(s, g);
    int64_t left_ms = run_times_left_ms(s->run_times, run_name(s, a, g, workload), elapsed_ms);
    if (phase == GANG_CHECKING)
        return job;
    if (limit_ms)
        limit_ms = limit_ms > elapsed_ms ? limit_ms - elapsed_ms : LOOK_MS; /* it ends any moment */
    starts_expect(&job, limit_ms, left_ms);
    return job;
}

static uint32_t jobs_of(struct scheduler *s, struct arena *a, struct forecast_job *jobs, int64_t now_ms)
{
    uint32_t n = 0;
    size_t at = 0;
    struct bytes key;
    struct seen_gang **slot;
    while ((slot = map_next(s->gangs, &at, &key))) {
        enum gang_phase phase = state_gang_phase(s->state, (*slot)->key);
        if (phase != GANG_UNKNOWN && phase != GANG_OVER)
            jobs[n++] = job_of(s, *slot, phase, a, now_ms);
        arena_reset(a);
    }
    return n;
}

uint32_t starts_all(struct scheduler *s, const struct forecast_job *more, uint32_t more_n, struct arena *a, struct forecast_job **ret_jobs)
{
    _cleanup_arena_ struct arena *scratch = arena_new();
    struct forecast_job *jobs = arena_zero(a, map_count(s->gangs) + more_n + 1, sizeof *jobs);
    int64_t now_ms = loop_wall_ms(s->loop);
    uint32_t n = jobs_of(s, scratch, jobs, now_ms);
    const struct forecast_bounds bounds = {.until_ms = now_ms + horizon_ms, .steps_max = STEPS_MAX};
    struct decide_config config = scheduler_decide_config(s);
    for (uint32_t i = 0; i < more_n; i++)
        if (!seen_gang(s, more[i].gang))
            jobs[n++] = more[i];
    forecast(s->state, &config, &bounds, jobs, n, now_ms);
    *ret_jobs = jobs;
    return n;
}

void starts_find(struct scheduler *s, name_id gang, int64_t *ret_start_ms, uint8_t *ret_basis)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct forecast_job *jobs, one = {.gang = gang};
    *ret_start_ms = 0;
    for (uint32_t i = 0, n = starts_all(s, &one, 1, a, &jobs); i < n; i++)
        if (jobs[i].gang == gang && jobs[i].start_basis) {
            *ret_start_ms = jobs[i].start_ms;
            *ret_basis = jobs[i].start_basis;
        }
}

/* A line for each that waits: start, 0 for none, what it follows from, key. Then what it took of the processor. */
#define TOOK "took "
static void think(void *arg, struct buf *out)
{
    struct scheduler *s = ((struct starts *)arg)->s;
    _cleanup_arena_ struct arena *a = arena_new();
    struct forecast_job *jobs;
    int64_t now_ms = loop_wall_ms(s->loop);
    for (uint32_t i = 0, n = starts_all(s, NULL, 0, a, &jobs); i < n; i++) {
        const struct seen_gang *g = seen_gang(s, jobs[i].gang);
        bool is_later = jobs[i].start_ms > now_ms + SOON_MS && jobs[i].start_basis;
        if (g && g->text)
            buf_printf(out, "%lld %d %s\n", is_later ? (long long)jobs[i].start_ms : 0LL, is_later ? jobs[i].start_basis : 0,
                       intern_name(s->names, jobs[i].gang));
    }
    buf_printf(out, TOOK "%lld\n", (long long)clock() * 1000 / CLOCKS_PER_SEC);
}

/* ---- what it found ---- */

static void take_start(struct scheduler *s, struct seen_gang *g, int64_t start_ms, uint8_t basis)
{
    if (!g->tree || !start_is_news(g->start_ms, g->start_basis, start_ms, basis, loop_wall_ms(s->loop)))
        return;
    g->start_ms = start_ms;
    g->start_basis = basis;
    char *tree = start_note(g->tree, start_ms, basis);
    free(g->tree);
    g->tree = tree;
    status_gang_changed(s, g);
    status_members_changed(s, g);
}

/* A line as `think` writes it. Returns whether it says a start. */
static bool take_line(struct scheduler *s, const char *line, const char *end)
{
    char *at;
    int64_t start_ms = strtoll(line, &at, 10);
    uint8_t basis = (uint8_t)strtol(at, &at, 10);
    struct seen_gang **slot = at < end ? map_find(s->gangs, (struct bytes){at + 1, (size_t)(end - at - 1)}) : NULL;
    if (slot)
        take_start(s, *slot, start_ms, basis);
    return start_ms != 0;
}

static void on_thought(void *arg, int exit_code, const char *output, size_t n)
{
    struct starts *t = arg;
    bool any = false;
    int64_t took_ms = exit_code == 0 ? 0 : CPU_S * 1000; /* one that was ended may have had all that it may */
    t->copy = NULL;
    if (exit_code != 0 && !t->told_trouble)
        log_warning("when those that wait start is not known: the copy that thinks it through ended with %d", exit_code);
    t->told_trouble = exit_code != 0;
    const char *line = output, *over = output + (exit_code == 0 ? n : 0);
    for (const char *end; (end = memchr(line, '\n', (size_t)(over - line))); line = end + 1)
        if (text_starts(line, TOOK))
            took_ms = strtoll(line + strlen(TOOK), NULL, 10);
        else
            any |= take_line(t->s, line, end);
    int64_t wait_ms = t->period_ms * (any ? 1 : IDLE_TIMES);
    t->next_ms = loop_now_ms(t->s->loop) + (took_ms * COST_TIMES > wait_ms ? took_ms * COST_TIMES : wait_ms);
}

static void look(void *arg)
{
    struct starts *t = arg;
    struct err e = {0};
    int64_t now_ms = loop_now_ms(t->s->loop);
    if (!t->s->leading || t->copy || !t->s->waiting_n || now_ms < t->next_ms)
        return;
    if (loop_copy_run(t->s->loop, think, CPU_S, OUTPUT_MAX, on_thought, t, &t->copy, &e) == 0)
        return;
    t->next_ms = now_ms + t->period_ms * IDLE_TIMES;
    if (!t->told_trouble)
        log_warning("when those that wait start is not known: %s", e.text);
    t->told_trouble = true;
}

struct starts *starts_new(struct scheduler *s, int64_t period_ms)
{
    if (!period_ms || loop_is_virtual(s->loop))
        return NULL;
    struct starts *t = mem_zero(1, sizeof *t);
    *t = (struct starts){.s = s, .period_ms = period_ms};
    t->timer = loop_timer_new(s->loop, look, t);
    loop_timer_start(t->timer, LOOK_MS, LOOK_MS);
    return t;
}

void starts_free(struct starts *t)
{
    if (!t)
        return;
    loop_copy_forget(t->copy);
    loop_timer_free(t->timer);
    free(t);
}
