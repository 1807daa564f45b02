#include "sim/trace/job_replay.h"
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/collections/heap.h"
#include "base/memory.h"
#include "core/time/backfill.h"
#include "sim/trace/job_cluster.h"

#define PROGRESS_EVERY 1024
#define KEY_MOST 9e18
/* docs/queueing-in-time.md, where they come from */
#define GANG_WEIGHT 2
#define GANG_DUE 4
#define KEPT_OF_NODES 16               /* one of so many ... */
#define KEPT_FOR_MS 86400000           /* ... is kept for who is expected to last so long at most */
#define BEHIND_DUE ((uint64_t)1 << 63) /* of keys: others are due, by when they were */

/* A job that runs. */
struct stay {
    size_t heap_at;
    int64_t until_ms;
    struct backfill_gang gang;
    uint32_t slot, pods_n;
    uint32_t nodes[];
};
struct replay {
    struct job_trace *t;
    const struct job_options *o;
    struct profile profile;
    struct backfill line;
    struct job_cluster *cluster;
    struct heap ends;
    uint32_t *shapes; /* by GPUs asked for, + 1; 0: not met yet */
    size_t shapes_cap;
    uint32_t shapes_n;
    int64_t now_ms;
    uint32_t next, ended_n; /* the next to come */
    uint32_t *undue;        /* queue capstan: gangs in line that are not due yet, by arrival */
    size_t undue_cap;
    uint32_t undue_n;
    struct forecast_start *forecasts;
    uint32_t forecasts_n;
    bool looks;       /* a copy that goes on by itself: nobody comes, and what ends is what is expected to */
    uint32_t watched; /* by it */
    int64_t found_ms; /* when that one starts; -1: not yet */
};
/* When a job came it was expected to start then. */
struct forecast_start {
    uint32_t job;
    int64_t start_ms;
};

static bool ends_before(const void *left, const void *right)
{
    const struct stay *a = left, *b = right;
    return a->until_ms != b->until_ms ? a->until_ms < b->until_ms : a->gang.owner < b->gang.owner;
}

/* ---- who stands where in line ---- */

/* Pods that fill a node each, and one with the rest. */
static uint32_t shape_of(struct replay *r, uint32_t gpus_n)
{
    while (r->shapes_n <= gpus_n) {
        MEM_RESERVE(r->shapes, r->shapes_cap, r->shapes_n + 1);
        r->shapes[r->shapes_n++] = 0;
    }
    if (!r->shapes[gpus_n]) {
        uint32_t n = 0, whole_n = gpus_n / r->o->gpus_n, rest = gpus_n % r->o->gpus_n;
        int64_t *pods = mem_alloc((whole_n + 1) * sizeof *pods);
        while (n < whole_n)
            pods[n++] = r->o->gpus_n;
        if (rest)
            pods[n++] = rest;
        r->shapes[gpus_n] = backfill_shape(&r->line, pods, n) + 1;
        free(pods);
    }
    return r->shapes[gpus_n] - 1;
}

/* Of several nodes. */
static bool is_gang(const struct replay *r, const struct job *j)
{
    return j->gpus_n > r->o->gpus_n;
}

/* In thousandths of a second times GPUs. WHY  of two the one with less of it first: that is least time lost by all who wait together. A
 * gang counts half: an hour that it waits counts twice. */
static double expected_work(const struct replay *r, const struct job *j)
{
    double work = (double)(j->expected_ms > 0 ? j->expected_ms : 1) * j->gpus_n;
    return is_gang(r, j) ? work : work * GANG_WEIGHT;
}

static uint64_t key_of(const struct replay *r, const struct job *j)
{
    switch (r->o->queue) {
    case JOB_QUEUE_SJF:
        return (uint64_t)j->expected_ms;
    case JOB_QUEUE_CAPSTAN:
        return BEHIND_DUE | (uint64_t)fmin(expected_work(r, j), KEY_MOST);
    case JOB_QUEUE_FIFO:
    case JOB_QUEUE_SKIP:
    case JOB_QUEUE_EASY:
        break;
    }
    return (uint64_t)j->came_ms;
}

/* The first of all nodes. WHY  where all stand full of long jobs, nothing becomes free for the many short ones for a long time. */
static uint32_t kept_nodes(const struct job_options *o)
{
    return o->queue == JOB_QUEUE_CAPSTAN ? o->nodes_n / KEPT_OF_NODES : 0;
}

static struct backfill_policy policy_of(enum job_queue queue)
{
    static const struct backfill_policy policies[] = {
        [JOB_QUEUE_FIFO] = {.is_strict = true},
        [JOB_QUEUE_SKIP] = {0},
        [JOB_QUEUE_EASY] = {.promises_n = 1},
        [JOB_QUEUE_SJF] = {0},
        [JOB_QUEUE_CAPSTAN] = {.promises_n = 1, .choice = RESERVE_BY_END},
    };
    return policies[queue];
}

/* ---- what happens ---- */

static void started_in_copy(struct replay *r, const struct backfill_gang *g, struct stay *s)
{
    s->until_ms = r->now_ms + r->t->jobs[g->owner].expected_ms;
    heap_add(&r->ends, s);
    if (g->owner == r->watched)
        r->found_ms = r->now_ms;
    for (uint32_t i = 0; i < r->undue_n; i++)
        if (r->undue[i] == g->owner)
            r->undue[i--] = r->undue[--r->undue_n];
}

static void started(void *arg, const struct backfill_gang *g, const uint32_t *nodes)
{
    struct replay *r = arg;
    const struct backfill_shape *shape = &r->line.shapes[g->shape];
    struct job *j = &r->t->jobs[g->owner];
    struct stay *s = mem_alloc(sizeof *s + shape->pods_n * sizeof *s->nodes);
    *s = (struct stay){.until_ms = r->now_ms + j->runs_ms, .gang = *g, .pods_n = shape->pods_n};
    memcpy(s->nodes, nodes, shape->pods_n * sizeof *nodes);
    if (r->looks) {
        started_in_copy(r, g, s);
        return;
    }
    int64_t slot = job_cluster_start(r->cluster, shape->pods, nodes, shape->pods_n);
    assert(slot >= 0); /* the core has as much room as its profile says */
    s->slot = (uint32_t)slot;
    j->started_ms = r->now_ms;
    heap_add(&r->ends, s);
}

static void end_first(struct replay *r)
{
    struct stay *s = heap_pop(&r->ends);
    backfill_ended(&r->line, &s->gang, s->nodes);
    if (!r->looks)
        job_cluster_end(r->cluster, s->slot, s->pods_n);
    free(s);
    r->ended_n++;
    if (!r->looks && r->o->progress && (r->ended_n % PROGRESS_EVERY == 0 || r->ended_n == r->t->jobs_n))
        r->o->progress(r->ended_n, r->t->jobs_n);
}

static void get_in_line(struct replay *r, uint32_t at, uint64_t key)
{
    const struct job *j = &r->t->jobs[at];
    struct backfill_gang g = {
        .key = key, .owner = at, .shape = shape_of(r, j->gpus_n), .quota = RESERVE_NO_QUOTA, .lasts_ms = j->expected_ms};
    g.anywhere = r->line.shapes[g.shape].pods_n > r->o->nodes_n - kept_nodes(r->o); /* else it could never start */
    backfill_add(&r->line, &g);
}

static void come(struct replay *r, uint32_t at)
{
    const struct job *j = &r->t->jobs[at];
    get_in_line(r, at, key_of(r, j));
    if (r->o->queue != JOB_QUEUE_CAPSTAN || !is_gang(r, j))
        return;
    MEM_RESERVE(r->undue, r->undue_cap, r->undue_n + 1);
    r->undue[r->undue_n++] = at;
}

static int64_t due_ms(const struct job *j)
{
    return j->came_ms + GANG_DUE * j->expected_ms;
}

/* A gang that is due comes before all that are not. WHY  it needs nodes that become free together, which they do for nobody who is not
 * promised them; who is passed by everything with less to do is promised nothing. */
static void come_due(struct replay *r)
{
    uint32_t kept_n = 0;
    for (uint32_t i = 0; i < r->undue_n; i++) {
        const struct job *j = &r->t->jobs[r->undue[i]];
        if (j->started_ms >= 0)
            continue;
        if (r->now_ms < due_ms(j)) {
            r->undue[kept_n++] = r->undue[i];
            continue;
        }
        backfill_take_out(&r->line, key_of(r, j), r->undue[i]);
        get_in_line(r, r->undue[i], (uint64_t)(j->came_ms + j->expected_ms));
    }
    r->undue_n = kept_n;
}

/* All that happens at the next time at which something does. False: nothing is left. */
static bool step(struct replay *r)
{
    const struct stay *first = heap_first(&r->ends);
    bool comes = !r->looks && r->next < r->t->jobs_n;
    if (!first && !comes)
        return false;
    int64_t next_ms = comes ? r->t->jobs[r->next].came_ms : INT64_MAX;
    r->now_ms = first && first->until_ms < next_ms ? first->until_ms : next_ms;
    while ((first = heap_first(&r->ends)) && first->until_ms <= r->now_ms)
        end_first(r);
    while (!r->looks && r->next < r->t->jobs_n && r->t->jobs[r->next].came_ms <= r->now_ms)
        come(r, r->next++);
    come_due(r);
    profile_prolong(&r->profile, r->now_ms);
    backfill_turn(&r->line, r->now_ms, started, r);
    return true;
}

/* ---- the copy that goes on by itself ---- */

static void *copy(const void *from, size_t n, size_t size)
{
    void *to = mem_alloc((n + 1) * size);
    if (n)
        memcpy(to, from, n * size);
    return to;
}

/* As its row says. */
static int64_t expected_end_ms(const struct profile *p, const struct stay *s)
{
    const struct profile_row *row = &p->rows[s->nodes[0]];
    for (uint32_t i = 0; i < row->n; i++)
        if (row->holds[i].owner == s->gang.owner)
            return row->holds[i].until_ms;
    return s->until_ms;
}

/* Shapes stay those of the one that is copied. */
static void copy_replay(const struct replay *r, uint32_t watched, struct replay *c)
{
    *c = *r;
    c->looks = true;
    c->watched = watched;
    c->found_ms = -1;
    c->profile.rows = copy(r->profile.rows, r->profile.n, sizeof *r->profile.rows);
    for (uint32_t i = 0; i < r->profile.n; i++) {
        struct profile_row *row = &c->profile.rows[i];
        row->holds = copy(row->holds, row->n, sizeof *row->holds);
        row->cap = row->n + 1;
    }
    c->line.profile = &c->profile;
    c->line.line = copy(r->line.line, r->line.line_n, sizeof *r->line.line);
    c->line.line_cap = r->line.line_n + 1;
    c->line.promises = copy(r->line.promises, r->line.promised_n, sizeof *r->line.promises);
    c->line.promised_cap = r->line.promised_n + 1;
    for (uint32_t i = 0; i < r->line.promised_n; i++)
        c->line.promises[i].nodes =
            copy(r->line.promises[i].nodes, r->line.shapes[r->line.promises[i].gang.shape].pods_n, sizeof *r->line.promises[i].nodes);
    c->line.nodes = mem_alloc((r->line.nodes_cap + 1) * sizeof *c->line.nodes);
    c->undue = copy(r->undue, r->undue_n, sizeof *r->undue);
    heap_init(&c->ends, offsetof(struct stay, heap_at), ends_before);
    for (size_t i = 0; i < r->ends.n; i++) {
        const struct stay *from = r->ends.items[i];
        struct stay *s = copy(from, 1, sizeof *s + from->pods_n * sizeof *s->nodes);
        s->heap_at = 0;
        s->until_ms = expected_end_ms(&r->profile, from);
        heap_add(&c->ends, s);
    }
}

static void free_copy(struct replay *c)
{
    for (struct stay *s; (s = heap_first(&c->ends)); free(s))
        (void)heap_pop(&c->ends);
    heap_fini(&c->ends);
    for (uint32_t i = 0; i < c->line.promised_n; i++)
        free(c->line.promises[i].nodes);
    free(c->line.promises);
    free(c->line.line);
    free(c->line.nodes);
    free(c->undue);
    profile_fini(&c->profile);
}

static void forecast_one(struct replay *r, uint32_t job)
{
    struct replay c;
    copy_replay(r, job, &c);
    while (c.found_ms < 0 && step(&c))
        ;
    if (c.found_ms >= 0)
        r->forecasts[r->forecasts_n++] = (struct forecast_start){job, c.found_ms};
    free_copy(&c);
}

/* Of those that have come since `first` and wait. */
static void forecast_some(struct replay *r, uint32_t first)
{
    uint32_t every = r->o->forecasts_n ? r->t->jobs_n / r->o->forecasts_n : 0;
    for (uint32_t i = first; i < r->next && r->o->forecasts_n; i++)
        if (r->t->jobs[i].started_ms < 0 && i % (every ? every : 1) == 0)
            forecast_one(r, i);
}

/* ---- figures ---- */

static int by_time(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* The least time that so much of them do not exceed. */
static int64_t percentile(const int64_t *sorted, uint32_t n, uint64_t per_cent)
{
    uint64_t at = (n * per_cent + 99) / 100;
    return sorted[at ? at - 1 : 0];
}

static void sum_up(int64_t *times, uint32_t n, struct job_times *ret_times)
{
    double sum = 0;
    if (!n)
        return;
    for (uint32_t i = 0; i < n; i++)
        sum += (double)times[i];
    qsort(times, n, sizeof *times, by_time);
    *ret_times = (struct job_times){sum / n, percentile(times, n, 50), percentile(times, n, 99), times[n - 1]};
}

static struct job_figures figures_of(const struct job_trace *t, uint32_t gpus_least)
{
    struct job_figures f = {0};
    int64_t *times = mem_alloc(((size_t)t->jobs_n + 1) * sizeof *times);
    double slowdowns = 0;
    for (int pass = 0; pass < 2; pass++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < t->jobs_n; i++) {
            const struct job *j = &t->jobs[i];
            if (j->gpus_n < gpus_least)
                continue;
            int64_t wait_ms = j->started_ms - j->came_ms;
            times[n++] = pass ? wait_ms + j->runs_ms : wait_ms;
            if (!pass)
                slowdowns +=
                    fmax(1, (double)(wait_ms + j->runs_ms) / (double)(j->runs_ms > JOB_SLOWDOWN_MS ? j->runs_ms : JOB_SLOWDOWN_MS));
        }
        f.jobs_n = n;
        sum_up(times, n, pass ? &f.completion : &f.wait);
    }
    f.bounded_slowdown = f.jobs_n ? slowdowns / f.jobs_n : 0;
    free(times);
    return f;
}

/* In hundredths of a per cent, so that they are sorted as times are. */
static struct job_forecasts forecasts_of(const struct replay *r)
{
    int64_t *errors = mem_alloc(((size_t)r->forecasts_n + 1) * sizeof *errors);
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->forecasts_n; i++) {
        const struct job *j = &r->t->jobs[r->forecasts[i].job];
        double wait_ms = (double)(j->started_ms - j->came_ms), off_ms = fabs((double)(r->forecasts[i].start_ms - j->started_ms));
        errors[n++] = (int64_t)fmin(off_ms / wait_ms * 10000, KEY_MOST); /* it waits when it is forecast, so for some time */
    }
    if (n)
        qsort(errors, n, sizeof *errors, by_time);
    struct job_forecasts f = {n, n ? (double)percentile(errors, n, 50) / 100 : 0, n ? (double)percentile(errors, n, 90) / 100 : 0};
    free(errors);
    return f;
}

static void tell(const struct replay *r, struct job_result *ret_result)
{
    double used = 0, all = (double)r->now_ms * r->o->nodes_n * r->o->gpus_n;
    for (uint32_t i = 0; i < r->t->jobs_n; i++)
        used += (double)r->t->jobs[i].runs_ms * r->t->jobs[i].gpus_n;
    ret_result->all = figures_of(r->t, 0);
    ret_result->large = figures_of(r->t, JOB_LARGE_GPUS);
    ret_result->forecasts = forecasts_of(r);
    ret_result->utilisation = all > 0 ? used / all * 100 : 0;
    ret_result->end_ms = r->now_ms;
}

void job_replay(struct job_trace *t, const struct job_options *o, struct job_result *ret_result)
{
    struct replay r = {.t = t, .o = o, .cluster = job_cluster_new(o->nodes_n, o->gpus_n)};
    struct backfill_policy policy = policy_of(o->queue);
    int64_t start_ns = clock_thread_ns();
    *ret_result = (struct job_result){0};
    profile_init(&r.profile);
    for (uint32_t i = 0; i < o->nodes_n; i++)
        (void)profile_add(&r.profile, o->gpus_n, true);
    for (uint32_t i = 0; i < kept_nodes(o); i++)
        r.profile.rows[i].longest_ms = KEPT_FOR_MS;
    backfill_init(&r.line, &r.profile, &policy);
    heap_init(&r.ends, offsetof(struct stay, heap_at), ends_before);
    r.forecasts = mem_alloc(((size_t)t->jobs_n + 1) * sizeof *r.forecasts);
    for (uint32_t came_n = 0; step(&r); came_n = r.next) {
        ret_result->turns_n++;
        forecast_some(&r, came_n);
    }
    ret_result->worked_ns = clock_thread_ns() - start_ns;
    tell(&r, ret_result);
    heap_fini(&r.ends);
    backfill_fini(&r.line);
    profile_fini(&r.profile);
    job_cluster_free(r.cluster);
    free(r.shapes);
    free(r.undue);
    free(r.forecasts);
}
