/* account.c - the books from sample to sample: who is there, which devices there are, and what is read of both */
#include "exporter/account/account.h"
#include <math.h>
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/log.h"
#include "base/memory.h"
#include "exporter/account/account_parts.h"

/* ---- who is there, and who is gone ---- */

/* Who has something from now on. */
static void see(struct account *a, const struct sample *s, const struct sample_allocation *l)
{
    struct account_pod *p = account_pod_of(a, s, l);
    if (!p) {
        a->pods_dropped_n += l->container >= 0;
        return;
    }
    if (p->first_s == 0)
        p->first_s = p->began_s = s->wall_s;
    p->last_s = s->wall_s;
    p->seen_ms = s->measured->monotonic_ms;
    p->live = p->changed = true;
}

static void forget_the_gone(struct account *a, const struct sample *s)
{
    size_t at = 0;
    struct bytes key;
    for (struct account_pod **p; (p = map_next(a->pods, &at, &key));) {
        if ((*p)->live || (*p)->changed || s->measured->monotonic_ms - (*p)->seen_ms < ACCOUNT_KEEP_S * 1000)
            continue;
        account_pod_free(*p);
        (void)map_remove(a->pods, key);
    }
    at = 0;
    for (struct account_unit *u; (u = map_next(a->units, &at, &key));)
        if (s->wall_s - u->seen_s > (map_count(a->units) > LIMIT_ACCOUNT_UNITS ? 0 : ACCOUNT_UNIT_KEEP_S))
            (void)map_remove(a->units, key);
}

/* ---- devices, and the clock that their times are of ---- */

double account_last_active(const struct account *a, const char *uuid)
{
    const struct account_unit *u = a ? map_find_text(a->units, uuid) : NULL;
    return u ? u->last_active_s : 0;
}

static void units_see(struct account *a, const struct sample *s)
{
    for (uint32_t i = 0; i < s->units_n; i++) {
        struct account_unit *u = map_put(a->units, bytes_of(sample_unit_uuid(&s->units[i])), NULL);
        *u = (struct account_unit){s->units[i].last_active_s, s->wall_s};
    }
}

/* No time lies in the future: after a restart nobody knows by how much the clock was set. */
static void time_move(double *time_s, double by_s, double now_s)
{
    if (*time_s > 0)
        *time_s = fmin(*time_s + by_s, now_s);
}

static void clock_follow(struct account *a, const struct sample *s)
{
    double by_s = sample_clock_set(&a->clock, s->wall_s, s->measured->monotonic_ms);
    if (a->last && fabs(by_s) <= 0)
        return;
    size_t at = 0;
    struct bytes key;
    for (struct account_pod **p; (p = map_next(a->pods, &at, &key));) {
        double *const times[] = {&(*p)->first_s, &(*p)->last_s, &(*p)->last_active_s};
        for (size_t i = 0; i < sizeof times / sizeof *times; i++)
            time_move(times[i], by_s, s->wall_s);
        if (!a->last)
            (*p)->seen_ms = s->measured->monotonic_ms; /* of the agent before: it is kept from now on */
    }
    at = 0;
    for (struct account_unit *u; (u = map_next(a->units, &at, &key));) {
        time_move(&u->last_active_s, by_s, s->wall_s);
        time_move(&u->seen_s, by_s, s->wall_s);
    }
}

static double step_seconds(const struct account *a, const struct sample *s)
{
    if (!a->last)
        return 0;
    double dt = (double)(s->measured->monotonic_ms - a->last->measured->monotonic_ms) / 1000;
    return dt > 0 && dt <= ACCOUNT_GAP_S ? dt : 0;
}

void account_add(struct account *a, const struct sample *s)
{
    double dt = step_seconds(a, s);
    clock_follow(a, s);
    size_t at = 0;
    struct bytes key;
    for (struct account_pod **p; (p = map_next(a->pods, &at, &key));)
        (*p)->live = false;
    double joules[LIMIT_NODE_GPUS] = {0}; /* by GPU index */
    for (uint32_t i = 0; i < s->boards_n; i++)
        joules[s->boards[i].gpu->index] = account_board_add(a, &s->boards[i], dt);
    if (a->last)
        account_step_add(a, s, dt, joules);
    for (uint32_t i = 0; i < s->allocations_n; i++) /* ORDER  after: a namesake begins at 0 */
        see(a, s, &s->allocations[i]);
    units_see(a, s);
    forget_the_gone(a, s);
    sample_unref(a->last);
    a->last = sample_ref(s);
    a->last_dt = dt;
}

/* ---- reading ---- */

uint64_t account_pods_dropped(const struct account *a)
{
    return a->pods_dropped_n;
}

void account_drain(struct account *a, void (*fn)(void *arg, const struct account_pod *pod), void *arg)
{
    const struct account_pod *const *pods;
    uint32_t n = account_pods(a, &pods);
    for (; a->replaced_n > 0; a->replaced_n--) {
        fn(arg, a->replaced[a->replaced_n - 1]);
        account_pod_free(a->replaced[a->replaced_n - 1]);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct account_pod *p = (struct account_pod *)pods[i];
        if (!p->changed)
            continue;
        fn(arg, p);
        p->changed = false;
    }
}

/* ---- life ---- */

struct account *account_open(const char *state_path, const char *node_name)
{
    struct account *a = mem_zero(1, sizeof *a);
    struct err e = {0};
    a->pods = map_new(sizeof(struct account_pod *));
    a->gpus = map_new(sizeof(struct account_gpu *));
    a->units = map_new(sizeof(struct account_unit));
    a->node_name = mem_text(node_name);
    a->state_path = mem_text(state_path);
    if (state_path && account_state_read(a, &e) < 0)
        log_warning("counters begin anew: %s", e.text);
    return a;
}

void account_close(struct account *a)
{
    if (!a)
        return;
    struct err e = {0};
    if (account_save(a, &e) < 0)
        log_warning("counters are not kept: %s", e.text);
    size_t at = 0;
    struct bytes key;
    for (struct account_pod **p; (p = map_next(a->pods, &at, &key));)
        account_pod_free(*p);
    at = 0;
    for (struct account_gpu **g; (g = map_next(a->gpus, &at, &key));)
        free(*g);
    map_free(a->pods);
    map_free(a->gpus);
    map_free(a->units);
    sample_unref(a->last);
    while (a->replaced_n > 0)
        account_pod_free(a->replaced[--a->replaced_n]);
    free(a->replaced);
    free(a->pod_list);
    free(a->gpu_list);
    free(a->node_name);
    free(a->state_path);
    free(a);
}
