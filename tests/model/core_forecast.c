/* core_forecast.c - starts as they are forecast against those that come: small clusters whose jobs live their whole lives
 *
 *   core_forecast [SEED [WORLDS]]
 *
 * Two worlds are made alike. One is asked when everybody starts. In the other time passes second by second: who is let in is told so by
 * its object, its pods are made, bound, taken in by their kubelet and end; who has no known end runs on. Nobody is preempted (who was does
 * not come back in a forecast), and nobody comes later. Each must start in the second that was forecast, and who has no start must wait
 * still when nothing happens any more. All wait in one queue, or all in none: where several compete, in whose turn somebody comes depends
 * on who else of his queue was looked at again before, which a forecast does not repeat.
 */
#include <inttypes.h>
#include "../unit/core/world.h"
#include "base/random.h"
#include "core/time/forecast.h"

#define GPU "nvidia.com/gpu"
enum { JOBS_MOST = 14, LONGEST_S = 20, END_S = JOBS_MOST * (LONGEST_S + 1) };

struct plain_job {
    char name[16], queue[24], requests[48];
    int pods_n;
    bool is_pod;
    int64_t runs_s;   /* 0: for ever */
    int64_t start_s;  /* -1: waits */
    bool over;
};
struct drawn {
    struct random random;
    struct plain_job jobs[JOBS_MOST];
    int jobs_n, nodes_n, gpus[3], quota[2], borrowing[2];
    bool strict[2];
    int64_t first_ms;
    uint64_t seed;
};

static int pick(struct drawn *d, int n)
{
    return (int)random_below(&d->random, (uint64_t)n);
}

static void draw(struct drawn *d)
{
    d->nodes_n = 1 + pick(d, 3);
    for (int i = 0; i < 3; i++)
        d->gpus[i] = 1 + pick(d, 4);
    for (int i = 0; i < 2; i++) {
        d->quota[i] = pick(d, 7);
        d->borrowing[i] = pick(d, 2) ? pick(d, 5) : (int)NO_LIMIT;
        d->strict[i] = pick(d, 3) == 0;
    }
    bool pods = pick(d, 5) == 0;
    d->jobs_n = 2 + pick(d, JOBS_MOST - 1);
    for (int i = 0; i < d->jobs_n; i++) {
        struct plain_job *j = &d->jobs[i];
        *j = (struct plain_job){.start_s = -1, .is_pod = pods};
        snprintf(j->name, sizeof j->name, "j%02d", i);
        snprintf(j->queue, sizeof j->queue, "ns/q0");
        snprintf(j->requests, sizeof j->requests, GPU "=%d", 1 + pick(d, 3));
        j->pods_n = j->is_pod ? 1 : 1 + pick(d, 3);
        j->runs_s = pick(d, 8) ? 1 + pick(d, LONGEST_S) : 0;
    }
}

static struct gang_record record_of(struct world *w, const struct plain_job *j, int64_t created_ms)
{
    struct gang_record r = a_workload(w, j->name, j->queue, j->pods_n, j->requests);
    r.created_ms = created_ms;
    return r;
}

static name_id gang_of(struct world *w, const struct plain_job *j)
{
    return id(w, j->is_pod ? arena_printf(w->records, "pod/ns/%s", j->name) : j->name);
}

static struct world made(const struct drawn *d)
{
    struct world w = world_new();
    char name[16];
    flavor(&w, "any", "");
    for (int i = 0; i < d->nodes_n; i++) {
        snprintf(name, sizeof name, "n%d", i);
        node(&w, name, arena_printf(w.records, "pods=100,cpu=100000," GPU "=%d", d->gpus[i]), "");
    }
    for (int i = 0; i < 2; i++) {
        struct queue_words q;
        snprintf(name, sizeof name, "q%d", i);
        queue_begin(&w, &q, name, "c");
        q.r.strategy = d->strict[i] ? QUEUE_STRICT_FIFO : QUEUE_BEST_EFFORT_FIFO;
        queue_quota(&w, &q, "any", GPU, d->quota[i], d->borrowing[i], NO_LIMIT);
        queue_done(&w, &q);
        local_queue(&w, arena_printf(w.records, "ns/%s", name), name);
    }
    for (int i = 0; i < d->jobs_n; i++) {
        const struct plain_job *j = &d->jobs[i];
        if (!j->is_pod) {
            gang_record(&w, record_of(&w, j, i));
            continue;
        }
        struct pod_record p = a_pod(&w, arena_printf(w.records, "ns/%s", j->name), NULL, j->requests);
        p.created_ms = i;
        pod_record(&w, p);
    }
    return w;
}

/* ---- time passes ---- */

_Noreturn static void die(const struct drawn *d, const char *what, const char *name, int64_t have, int64_t want)
{
    printf("not ok - seed %" PRIu64 ": %s %s: %lld, not %lld\n", d->seed, what, name, (long long)have, (long long)want);
    exit(1);
}

static void tell_pod(struct world *w, const struct plain_job *j, int i, const char *node_name, enum pod_phase phase)
{
    const char *key = j->is_pod ? arena_printf(w->records, "ns/%s", j->name) : arena_printf(w->records, "ns/%s-%d", j->name, i);
    struct pod_record p = a_pod(w, key, j->is_pod ? NULL : j->name, j->requests);
    p.pod_set = j->is_pod ? 0 : id(w, "main");
    p.node = id(w, node_name);
    p.phase = phase;
    pod_record(w, p);
}

static struct plain_job *job_of(struct drawn *d, struct world *w, name_id gang)
{
    for (int i = 0; i < d->jobs_n; i++)
        if (gang_of(w, &d->jobs[i]) == gang)
            return &d->jobs[i];
    return NULL;
}

static void let_in(struct drawn *d, struct world *w, struct plain_job *j, int64_t now_s)
{
    if (j->start_s >= 0)
        return;
    j->start_s = now_s;
    outcome(w, EFFECT_ADMIT, text_of(w, gang_of(w, j)), NULL, OUTCOME_DONE);
    if (j->is_pod)
        return;
    struct gang_record r = admitted_in(w, record_of(w, j, j - d->jobs), "any");
    r.admitted_queue = id(w, j->queue + 3);
    gang_record(w, r);
    for (int i = 0; i < j->pods_n; i++)
        tell_pod(w, j, i, NULL, POD_PENDING);
}

static void decide_until_nothing_is_left(struct drawn *d, struct world *w, int64_t now_s)
{
    w->no_remedies = true;
    for (int turn = 0; turn < 50; turn++) {
        run(w);
        for (uint32_t i = 0; i < w->plan.entries_n; i++) {
            const struct plan_entry *e = &w->plan.entries[i];
            struct plain_job *j = job_of(d, w, e->gang);
            if (e->effect == EFFECT_ADMIT)
                let_in(d, w, j, now_s);
            if (e->effect != EFFECT_BIND)
                continue;
            const char *key = text_of(w, e->pod), *dash = strrchr(key, '-');
            tell_pod(w, j, dash ? (int)strtol(dash + 1, NULL, 10) : 0, text_of(w, e->node), POD_RUNNING);
        }
        if (!decide_has_work(w->s))
            return;
    }
}

static void end(struct drawn *d, struct world *w, struct plain_job *j)
{
    j->over = true;
    for (int i = 0; i < j->pods_n; i++)
        gone(w, CHANGE_POD_GONE, j->is_pod ? arena_printf(w->records, "ns/%s", j->name) : arena_printf(w->records, "ns/%s-%d", j->name, i));
    if (j->is_pod)
        return;
    struct gang_record r = admitted_in(w, record_of(w, j, j - d->jobs), "any");
    r.admitted_queue = id(w, j->queue + 3);
    r.finished = true;
    gang_record(w, r);
}

static void live(struct drawn *d)
{
    struct world w = made(d);
    w.now_ms = d->first_ms;
    for (int64_t now_s = 0; now_s <= END_S; now_s++) {
        w.now_ms = d->first_ms + 1000 * now_s;
        for (int i = 0; i < d->jobs_n; i++) {
            struct plain_job *j = &d->jobs[i];
            if (j->start_s >= 0 && !j->over && j->runs_s && now_s >= j->start_s + j->runs_s)
                end(d, &w, j);
        }
        decide_until_nothing_is_left(d, &w, now_s);
    }
    world_free(&w);
}

/* ---- the forecast ---- */

static uint32_t check(struct drawn *d)
{
    struct world w = made(d);
    struct forecast_job jobs[JOBS_MOST];
    uint32_t later_n = 0;
    w.now_ms = d->first_ms;
    for (int i = 0; i < d->jobs_n; i++)
        jobs[i] = (struct forecast_job){.gang = gang_of(&w, &d->jobs[i]), .run_ms = 1000 * d->jobs[i].runs_s,
                                        .basis = d->jobs[i].runs_s ? END_BY_LIMIT : 0};
    forecast(w.s, &(struct decide_config){0}, &(struct forecast_bounds){.until_ms = INT64_MAX / 2, .steps_max = 1000}, jobs,
             (uint32_t)d->jobs_n, w.now_ms);
    for (int i = 0; i < d->jobs_n; i++) {
        const struct plain_job *j = job_of(d, &w, jobs[i].gang);
        int64_t start_s = jobs[i].start_ms ? (jobs[i].start_ms - w.now_ms) / 1000 : -1;
        if (!jobs[i].waits)
            die(d, "waits at the beginning:", j->name, 0, 1);
        if (start_s != j->start_s)
            die(d, "starts after so many seconds:", j->name, start_s, j->start_s);
        later_n += start_s > 0;
    }
    world_free(&w);
    return later_n;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, worlds = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000, later_n = 0;
    for (uint64_t i = 0; i < worlds; i++) {
        struct drawn d = {.random.state = seed + i, .seed = seed + i, .first_ms = 1000000000};
        draw(&d);
        live(&d);
        later_n += check(&d);
    }
    printf("ok - %" PRIu64 " worlds, %" PRIu64 " jobs that start later\n", worlds, later_n);
    return later_n == 0;
}
