/* forecast.c - see forecast.h */
#include "core/time/forecast.h"
#include <stddef.h>
#include <stdlib.h>
#include "core/heal/hole.h"
#include "core/state/model.h"
#include "core/state/state_gang.h"

enum { TURNS_MAX = 100 }; /* of decisions at one time */

struct ending {
    size_t heap_at;
    int64_t end_ms;
    struct forecast_job *job;
};
struct future {
    struct state *s;
    struct decide_config config;
    struct forecast_job *jobs;
    struct ending *endings; /* one a job */
    uint32_t n;
    struct heap next;
    struct arena *cycle;    /* of one decision */
    int64_t now_ms;
    uint8_t basis;          /* of all ends so far */
};

static int compare_jobs(const void *left, const void *right)
{
    name_id a = ((const struct forecast_job *)left)->gang, b = ((const struct forecast_job *)right)->gang;
    return a < b ? -1 : a > b;
}

/* ORDER of equal times: by name_id, which an equal history gives equally. */
static bool ends_before(const void *left, const void *right)
{
    const struct ending *a = left, *b = right;
    return a->end_ms != b->end_ms ? a->end_ms < b->end_ms : a->job->gang < b->job->gang;
}

static struct ending *ending_of(struct future *f, name_id gang)
{
    const struct forecast_job key = {.gang = gang}, *job = bsearch(&key, f->jobs, f->n, sizeof key, compare_jobs);
    return job ? &f->endings[job - f->jobs] : NULL;
}

static void end_after(struct future *f, struct ending *one, int64_t run_ms)
{
    if (run_ms > INT64_MAX - f->now_ms)
        return;
    one->end_ms = f->now_ms + run_ms;
    heap_add(&f->next, one);
}

/* Its object, and with it all that is held for it; then its pods. */
static void leave(struct future *f, name_id key)
{
    struct gang *g = gang_find(f->s, key);
    uint32_t n = g ? g->members_n : 0;
    name_id *pods = arena_alloc(f->cycle, (n + 1) * sizeof *pods);
    for (uint32_t i = 0; i < n; i++)
        pods[i] = f->s->pods[g->members[i]].key;
    if (g && !gang_is_lone(g))
        state_apply_gang_gone(f->s, key);
    for (uint32_t i = 0; i < n; i++)
        state_apply_pod_gone(f->s, pods[i]);
}

static void note_start(struct future *f, name_id gang)
{
    struct ending *one = ending_of(f, gang);
    if (!one || one->job->start_ms || one->heap_at)
        return;
    one->job->start_ms = f->now_ms;
    one->job->start_basis = f->basis;
    if (one->job->basis)
        end_after(f, one, one->job->run_ms);
}

static void follow(struct future *f, const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->entries_n; i++) {
        const struct plan_entry *entry = &plan->entries[i];
        if (entry->effect == EFFECT_ADMIT)
            note_start(f, entry->gang);
        if (entry->effect != EFFECT_EVICT)
            continue;
        if (entry->pod) {
            state_apply(f->s, &(struct change){.type = CHANGE_POD_GONE, .gone = entry->pod});
            continue;
        }
        struct ending *one = ending_of(f, entry->gang);
        if (one)
            heap_remove(&f->next, one);
        leave(f, entry->gang);
    }
}

static void decide_all(struct future *f)
{
    for (int turn = 0; turn < TURNS_MAX; turn++) {
        struct plan plan = {0};
        decide(f->s, &f->config, f->now_ms, f->cycle, &plan);
        follow(f, &plan);
        arena_reset(f->cycle);
        if (!decide_has_work(f->s))
            break;
    }
}

/* The next time at which something ends, or somebody's pause does. INT64_MAX: nothing will happen any more. */
static int64_t next_ms(const struct future *f)
{
    const struct ending *first = heap_first(&f->next);
    const struct gang *paused = heap_first(&f->s->timers);
    int64_t ms = first ? first->end_ms : INT64_MAX;
    if (paused && paused->retry_ms > f->now_ms && paused->retry_ms < ms)
        ms = paused->retry_ms;
    return ms;
}

static void end_leaving(struct future *f)
{
    name_id *keys = arena_alloc(f->cycle, (f->s->gangs_n + 1) * sizeof *keys);
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->s->gangs_n; i++)
        if (f->s->gangs[i]->phase == GANG_LEAVING)
            keys[n++] = f->s->gangs[i]->key;
    for (uint32_t i = 0; i < n; i++)
        leave(f, keys[i]);
    arena_reset(f->cycle);
}

/* Its place comes free before long: nothing is kept for its successor. */
static bool goes_alone(const struct state *s, const struct pod *p)
{
    return p->key && p->seat && (p->deleting || p->surplus) && !(p->gang && p->gang->planned) && !hole_is_left(s, p);
}

/* Members that were told to go, and pods that are being deleted. WHY one by one: the last ones of a group may be those that it needs. */
static void end_told(struct future *f)
{
    for (uint32_t i = 1; i < f->s->pods_n; i++)
        if (goes_alone(f->s, &f->s->pods[i]))
            state_apply_pod_gone(f->s, f->s->pods[i].key);
}

static void begin(struct future *f)
{
    for (uint32_t i = 0; i < f->n; i++) {
        const struct gang *g = gang_find(f->s, f->jobs[i].gang);
        f->jobs[i].waits = g && g->phase != GANG_UNKNOWN && g->phase <= GANG_CHECKING && !g->bound_n;
        f->jobs[i].start_ms = 0;
        f->jobs[i].start_basis = 0;
        f->endings[i].job = &f->jobs[i];
    }
    decide_all(f); /* what the state was told last is settled */
    end_leaving(f);
    end_told(f);
    for (uint32_t i = 0; i < f->n; i++) {
        const struct gang *g = gang_find(f->s, f->jobs[i].gang);
        if (g && gang_holds(g) && f->jobs[i].basis && !f->jobs[i].start_ms)
            end_after(f, &f->endings[i], f->jobs[i].run_ms);
    }
}

static void end_due(struct future *f)
{
    for (const struct ending *first; (first = heap_first(&f->next)) && first->end_ms <= f->now_ms;) {
        f->basis |= first->job->basis;
        (void)heap_pop(&f->next);
        leave(f, first->job->gang);
        arena_reset(f->cycle);
    }
}

void forecast(struct state *s, const struct decide_config *config, const struct forecast_bounds *bounds, struct forecast_job *jobs,
              uint32_t n, int64_t now_ms)
{
    _cleanup_arena_ struct arena *a = arena_new(), *cycle = arena_new();
    struct future f = {.s = s, .config = *config, .jobs = jobs, .n = n, .cycle = cycle, .now_ms = now_ms};
    f.config.no_remedies = f.config.no_counts = true;
    f.endings = arena_zero(a, n + 1, sizeof *f.endings);
    qsort(jobs, n, sizeof *jobs, compare_jobs);
    heap_init(&f.next, offsetof(struct ending, heap_at), ends_before);
    state_set_ready_policy(s, &(struct ready_policy){0}); /* pods of the future are ready at once */
    begin(&f);
    for (uint32_t step = 0; step < bounds->steps_max && f.now_ms <= bounds->until_ms; step++) {
        end_due(&f);
        decide_all(&f);
        int64_t ms = next_ms(&f);
        if (ms == INT64_MAX)
            break;
        f.now_ms = ms;
    }
    heap_fini(&f.next);
}
