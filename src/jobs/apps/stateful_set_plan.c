/* stateful_set_plan.c - sort the pods by number, walk up to make the missing, down to end the surplus and to update */
#include "jobs/apps/stateful_set_plan.h"
#include <stdlib.h>

struct numbered {
    int64_t ordinal;
    const struct job_pod *pod;
};
struct context {
    const struct stateful_spec *spec;
    struct numbered *pods; /* by ordinal */
    uint32_t n;
    int64_t now_ms;
    struct stateful_plan *plan;
};

int64_t stateful_set_ordinal(const char *set, const char *pod)
{
    size_t n = strlen(set);
    int64_t ordinal;
    if (strncmp(set, pod, n) != 0 || pod[n] != '-' || pod[n + 1] < '0' || pod[n + 1] > '9' ||
        !bytes_int64(bytes_of(pod + n + 1), &ordinal) || ordinal > INT32_MAX || (pod[n + 1] == '0' && pod[n + 2]))
        return -1;
    return ordinal;
}

static int order(const void *x, const void *y)
{
    int64_t a = ((const struct numbered *)x)->ordinal, b = ((const struct numbered *)y)->ordinal;
    return a < b ? -1 : a > b;
}

static bool is_ready(const struct job_pod *p)
{
    return p->phase == JOB_POD_RUNNING && p->ready;
}

static bool is_healthy(const struct job_pod *p)
{
    return is_ready(p) && !p->deleting;
}

static void look_again(struct context *c, int64_t delay_ms)
{
    if (c->plan->again_ms == 0 || delay_ms < c->plan->again_ms)
        c->plan->again_ms = delay_ms;
}

static bool is_available(struct context *c, const struct job_pod *p)
{
    if (!is_ready(p))
        return false;
    int64_t left_ms = p->ready_ms + c->spec->min_ready_ms - c->now_ms;
    if (c->spec->min_ready_ms == 0 || left_ms <= 0)
        return true;
    look_again(c, left_ms);
    return false;
}

static bool is_wanted(const struct stateful_spec *s, int64_t ordinal)
{
    return ordinal >= s->first && ordinal - s->first < s->replicas;
}

static void count(struct context *c)
{
    struct stateful_plan *plan = c->plan;
    for (uint32_t i = 0; i < c->n; i++) {
        const struct job_pod *p = c->pods[i].pod;
        if (p->expected)
            continue;
        plan->pods_n++;
        plan->ready_n += is_ready(p);
        plan->available_n += is_available(c, p);
        plan->current_n += !p->deleting && text_equal(p->revision, c->spec->current);
        plan->updated_n += !p->deleting && text_equal(p->revision, c->spec->update);
    }
    plan->is_rolled_out = !c->spec->is_on_delete && plan->updated_n == c->spec->replicas &&
                          plan->ready_n == c->spec->replicas && plan->pods_n == c->spec->replicas;
    if (plan->is_rolled_out)
        plan->current_n = plan->updated_n;
}

static void remove_pod(struct context *c, const struct job_pod *p)
{
    c->plan->remove[c->plan->remove_n++] = p;
}

/* False: enough for this pass. */
static bool make(struct context *c, int64_t ordinal)
{
    const struct stateful_spec *s = c->spec;
    if (c->plan->create_n == STATEFUL_CREATE_MAX) {
        look_again(c, 1);
        return false;
    }
    bool is_old = !s->is_on_delete && ordinal - s->first < s->partition;
    c->plan->create[c->plan->create_n++] = (struct stateful_create){ordinal, is_old ? s->current : s->update};
    return s->is_parallel;
}

/* A pod that stands where one is wanted. False: those after it have to wait. */
static bool keep(struct context *c, const struct job_pod *p)
{
    if (p->phase >= JOB_POD_SUCCEEDED && !p->deleting) {
        int64_t left_ms = p->ended_ms + STATEFUL_FAILED_MS - c->now_ms;
        if (left_ms > 0)
            look_again(c, left_ms);
        else
            remove_pod(c, p);
    }
    return c->spec->is_parallel || (is_healthy(p) && is_available(c, p));
}

/* Upwards. False: some pod has to come or get ready first. */
static bool fill(struct context *c)
{
    const struct stateful_spec *s = c->spec;
    uint32_t at = 0;
    while (at < c->n && c->pods[at].ordinal < s->first)
        at++;
    for (int64_t ordinal = s->first; ordinal - s->first < s->replicas; ordinal++) {
        bool is_there = at < c->n && c->pods[at].ordinal == ordinal;
        if (!(is_there ? keep(c, c->pods[at++].pod) : make(c, ordinal)))
            return false;
    }
    return true;
}

/* Downwards. False: some pod has to go first. */
static bool empty(struct context *c)
{
    bool is_done = true;
    for (uint32_t i = c->n; i-- > 0;) {
        const struct job_pod *p = c->pods[i].pod;
        if (is_wanted(c->spec, c->pods[i].ordinal))
            continue;
        if (!p->deleting && !p->expected)
            remove_pod(c, p);
        is_done = false;
        if (!c->spec->is_parallel)
            return false;
    }
    return is_done;
}

/* One pod that has not the update, when all above it are healthy. */
static void update(struct context *c)
{
    const struct stateful_spec *s = c->spec;
    if (s->is_on_delete || c->plan->create_n || c->plan->remove_n)
        return;
    for (uint32_t i = c->n; i-- > 0;) {
        const struct job_pod *p = c->pods[i].pod;
        int64_t at = c->pods[i].ordinal - s->first;
        if (!is_wanted(s, c->pods[i].ordinal))
            continue;
        if (at < s->partition)
            return;
        if (!text_equal(p->revision, s->update) && !p->deleting && !p->expected) {
            remove_pod(c, p);
            return;
        }
        if (!is_healthy(p))
            return;
    }
}

void stateful_set_plan(struct arena *a, const struct stateful_spec *spec, const struct job_pod *const *pods, uint32_t pods_n,
                       int64_t now_ms, struct stateful_plan *ret_plan)
{
    *ret_plan = (struct stateful_plan){.remove = arena_alloc(a, sizeof(void *) * ((size_t)pods_n * 2 + 1)),
                                       .create = arena_alloc(a, sizeof(struct stateful_create) * STATEFUL_CREATE_MAX)};
    struct context c = {.spec = spec,
                        .pods = arena_alloc(a, sizeof(struct numbered) * ((size_t)pods_n + 1)),
                        .now_ms = now_ms,
                        .plan = ret_plan};
    for (uint32_t i = 0; i < pods_n; i++) {
        int64_t ordinal = stateful_set_ordinal(spec->name, pods[i]->name);
        if (ordinal >= 0)
            c.pods[c.n++] = (struct numbered){ordinal, pods[i]};
    }
    qsort(c.pods, c.n, sizeof *c.pods, order);
    count(&c);
    bool is_full = fill(&c), is_clean = is_full && empty(&c);
    if (is_clean || spec->is_parallel)
        update(&c);
}
