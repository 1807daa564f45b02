/* account_step.c - from one sample to the next: what the boards counted, and each allocation's part of it */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/memory.h"
#include "exporter/account/account_parts.h"

static const struct {
    const char *name;
    enum measure measure;
} throttles[] = {
#define X(name, text, measure) {text, MEASURE_##measure},
    ACCOUNT_THROTTLES(X)
#undef X
};

const char *account_throttle_name(enum account_throttle t)
{
    return throttles[t].name;
}

/* ---- boards: what the driver counts itself ---- */

/* What a driver's counter has grown by; one that goes back has begun again. */
static double grown(const struct measure_values *now, const struct measure_values *before, enum measure m,
                    bool *ret_known)
{
    double value, last;
    *ret_known = now && measure_get(now, m, &value);
    if (!*ret_known || !before || !measure_get(before, m, &last))
        return 0;
    return value >= last ? value - last : value;
}

static const struct sample_unit *board_find(const struct sample *s, const char *uuid)
{
    for (uint32_t i = 0; s && i < s->boards_n; i++)
        if (text_equal(s->boards[i].gpu->uuid, uuid))
            return &s->boards[i];
    return NULL;
}

static const struct measure_values *board_of(const struct sample *s, const char *uuid)
{
    const struct sample_unit *board = board_find(s, uuid);
    return board ? board->board : NULL;
}

double account_board_add(struct account *a, const struct sample_unit *u, double dt)
{
    const struct measure_values *before = board_of(a->last, u->gpu->uuid);
    struct account_gpu *g = account_gpu_put(a, u->gpu->uuid);
    bool known;
    double joules = grown(u->board, before, MEASURE_ENERGY_MJ, &known) / 1000;
    g->energy_j += joules;
    g->capacity_s += dt;
    (void)snprintf(g->model, sizeof g->model, "%s", u->gpu->name);
    for (int t = 0; t < ACCOUNT_THROTTLES_N; t++) {
        g->throttle_s[t] += grown(u->board, before, throttles[t].measure, &known) / 1e9;
        g->throttles |= (uint32_t)known << t;
    }
    return joules;
}

/* Part of dt in which the clocks were held down, by the worst reason but the bought power limit. */
static double throttled_part(const struct account *a, const struct sample_unit *u, double dt)
{
    double most = 0;
    bool known;
    for (int t = ACCOUNT_THROTTLE_HW_THERMAL; t <= ACCOUNT_THROTTLE_HW_POWER_BRAKE; t++) {
        double s = grown(u->board, board_of(a->last, u->gpu->uuid), throttles[t].measure, &known) / 1e9;
        most = s > most ? s : most;
    }
    return dt > 0 && most < dt ? most / dt : most > 0;
}

/* ---- allocations ---- */

/* Index of a unit of one sample in another; -1: it is not there. */
static int32_t unit_in(const struct sample *s, const struct sample *from, uint32_t unit)
{
    const char *uuid = sample_unit_uuid(&from->units[unit]);
    if (unit < s->units_n && text_equal(sample_unit_uuid(&s->units[unit]), uuid)) /* mostly */
        return (int32_t)unit;
    for (uint32_t i = 0; i < s->units_n; i++)
        if (text_equal(sample_unit_uuid(&s->units[i]), uuid))
            return (int32_t)i;
    return -1;
}

static bool same_pod(const struct sample *s, int32_t a, const struct sample *t, int32_t b)
{
    return a >= 0 && b >= 0 && text_equal(s->containers[a].ns, t->containers[b].ns) &&
           text_equal(s->containers[a].pod, t->containers[b].pod);
}

/* What the processes of an allocation's pod do on its unit. */
struct doing {
    uint32_t processes_n;   /* when the step began */
    double memory_bytes;    /* likewise */
    uint32_t now_n;         /* when it ended */
    double ran_before, ran; /* SM seconds of the step before, of this step */
    double own_share;       /* of all allocations of the pod on this unit: they have its processes in common */
    bool is_first;          /* of them */
};

static void processes_before(const struct sample *was, struct doing *all)
{
    for (uint32_t k = 0; k < was->processes_n; k++) {
        const struct sample_process *p = &was->processes[k];
        for (uint32_t i = 0; i < was->allocations_n; i++) {
            if (p->unit != was->allocations[i].unit || !same_pod(was, p->container, was, was->allocations[i].container))
                continue;
            all[i].processes_n++;
            all[i].ran_before += p->measured->sm_seconds;
            if (p->measured->memory_bytes != UINT64_MAX)
                all[i].memory_bytes += (double)p->measured->memory_bytes;
        }
    }
}

static void processes_now(const struct sample *was, const struct sample *now, struct doing *all)
{
    int32_t *units = mem_zero(now->units_n + 1, sizeof *units);
    for (uint32_t u = 0; u < now->units_n; u++)
        units[u] = unit_in(was, now, u);
    for (uint32_t k = 0; k < now->processes_n; k++) {
        const struct sample_process *p = &now->processes[k];
        for (uint32_t i = 0; i < was->allocations_n; i++) {
            const struct sample_allocation *l = &was->allocations[i];
            if (units[p->unit] != (int32_t)l->unit || !same_pod(now, p->container, was, l->container))
                continue;
            all[i].now_n++;
            all[i].ran += p->measured->sm_seconds;
        }
    }
    free(units);
}

/* By allocation of `was`. A pod whose processes have ended ran on as it did (scale: this step by the one before), which nobody has
 * measured.
 * COST  processes x allocations comparisons of two numbers; texts are compared only within a unit. Caller frees. */
static struct doing *doings_of(const struct sample *was, const struct sample *now, double scale)
{
    struct doing *all = mem_zero(was->allocations_n + 1, sizeof *all);
    for (uint32_t i = 0; i < was->allocations_n; i++) {
        all[i].is_first = true;
        for (uint32_t k = 0; k < was->allocations_n; k++) {
            const struct sample_allocation *x = &was->allocations[i], *y = &was->allocations[k];
            if (x->unit != y->unit || (i != k && !same_pod(was, x->container, was, y->container)))
                continue;
            all[i].own_share += y->share;
            all[i].is_first &= k >= i;
        }
    }
    processes_before(was, all);
    processes_now(was, now, all);
    for (uint32_t i = 0; i < was->allocations_n; i++)
        if (all[i].now_n == 0)
            all[i].ran = all[i].ran_before * scale;
    return all;
}

/* Which part of a unit's activity is this allocation's. */
static double part_of(const struct sample *s, const struct doing *all, uint32_t at)
{
    const struct sample_allocation *l = &s->allocations[at];
    double all_ran = 0, all_share = 0;
    for (uint32_t i = 0; i < s->allocations_n; i++) {
        if (s->allocations[i].unit != l->unit)
            continue;
        all_share += s->allocations[i].share;
        all_ran += all[i].is_first ? all[i].ran : 0;
    }
    if (all_share <= l->share)
        return 1;
    if (all_ran > 0)
        return all[at].own_share > 0 ? all[at].ran / all_ran * l->share / all[at].own_share : 0;
    return l->share / all_share;
}

/* A step of an allocation: from the sample that had it to the next. */
struct step {
    const struct sample *was, *now;
    double dt;
    const double *joules;    /* by GPU index of now */
    const struct doing *all; /* by allocation of was */
};

/* u: the unit as it is now; NULL: there is none any more. */
static void waste_add(struct account_pod *p, const struct step *t, const struct sample_unit *u, const struct doing *d,
                      double unused_s)
{
    if (d->processes_n == 0 && !t->was->pid_namespace_mismatch)
        p->no_process_s += unused_s;
    else if (u && u->activity >= 0 && t->now->wall_s - fmax(u->last_active_s, p->first_s) >= ACCOUNT_IDLE_S)
        p->idle_s += unused_s;
    else if (u && u->activity >= 0 && u->activity < ACCOUNT_LOW_RATIO)
        p->low_s += unused_s;
}

static void memory_add(struct account_pod *p, const struct sample_unit *u, const struct doing *d, double part,
                       double dt)
{
    double total_mib;
    p->memory_byte_s += d->memory_bytes * dt;
    if (d->memory_bytes > p->memory_high_bytes)
        p->memory_high_bytes = d->memory_bytes;
    if (u->values && measure_get(u->values, MEASURE_FB_TOTAL_MIB, &total_mib) &&
        total_mib * 1048576 * part > p->memory_granted_bytes)
        p->memory_granted_bytes = total_mib * 1048576 * part;
}

/* WHY  the allocation is that of the step's beginning: who came in it is not charged for what was before him, who left in it is charged for
 *      his end. Activity is that of the step's end: the driver's counters tell of the time since they were read last. */
static void allocation_add(struct account *a, const struct step *t, uint32_t at)
{
    const struct sample_allocation *l = &t->was->allocations[at];
    const struct sample_unit *had = &t->was->units[l->unit], *board = board_find(t->now, had->gpu->uuid);
    if (!board)
        return; /* the GPU is gone: it has no capacity in this step */
    int32_t index = unit_in(t->now, t->was, l->unit);
    const struct sample_unit *u = index < 0 ? NULL : &t->now->units[index];
    struct account_gpu *g = account_gpu_put(a, had->gpu->uuid);
    double allocated = l->share * t->dt, size = sample_unit_size(had),
           busy = u && u->activity > 0 ? fmin(u->activity, 1) * size * t->dt : 0;
    double active = fmin(allocated, busy * part_of(t->was, t->all, at));
    g->allocated_s += allocated;
    g->active_s += active;
    struct account_pod *p = account_pod_of(a, t->was, l);
    if (!p)
        return;
    p->allocated_s += allocated;
    p->active_s += active;
    p->throttled_s += allocated * throttled_part(a, board, t->dt);
    if (t->dt > 0) { /* over a gap nobody knows whose the energy was */
        p->energy_j += t->joules[board->gpu->index] * l->share;
        p->last_s = t->now->wall_s;
        p->seen_ms = t->now->measured->monotonic_ms;
    }
    if (t->dt > 0 && busy > 0)
        p->last_active_s = t->now->wall_s;
    waste_add(p, t, u, &t->all[at], allocated - active);
    memory_add(p, had, &t->all[at], size > 0 ? fmin(l->share / size, 1) : 1, t->dt);
    p->changed = true;
}

void account_step_add(struct account *a, const struct sample *s, double dt, const double *joules)
{
    struct doing *all = doings_of(a->last, s, a->last_dt > 0 ? dt / a->last_dt : 0);
    const struct step t = {.was = a->last, .now = s, .dt = dt, .joules = joules, .all = all};
    for (uint32_t i = 0; i < t.was->allocations_n; i++)
        allocation_add(a, &t, i);
    free(all);
}
