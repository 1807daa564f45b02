/* collect_sample.c - a sample: units and boards with their values, who was given them, who uses them
 *
 *     inventory units x measured values ─▶ units, boards
 *     inventory owners x shares         ─▶ allocations ─┐
 *     measured processes x pods         ─▶ processes  ──┴▶ containers (each once)
 */
#include <math.h>
#include "agent/health/health.h"
#include "agent/inventory/slot_id.h"
#include "agent/plugin/resource_guard.h"
#include "base/memory.h"
#include "exporter/collect/collect_parts.h"

#define NAME_BYTES 253

struct making {
    const struct sample_input *in;
    struct sample *s;
    struct arena *a;
    struct map *containers;   /* "ns/pod/container" -> index */
    struct map *by_uuid;      /* unit's UUID -> index */
    double now_s, ran_most_s; /* a process cannot have run longer since the sample before */
    uint32_t containers_cap, allocations_cap;
    struct sample_container *containers_list; /* grow on the heap, end in the arena */
    struct sample_allocation *allocations_list;
};

/* ---- units ---- */

static const char *session_label(struct making *m, const struct sample_unit *u)
{
    if (!u->mig)
        return arena_printf(m->a, "%u", u->gpu->index);
    uint32_t index = (uint32_t)(u->mig - u->gpu->migs);
    return arena_printf(m->a, "%u_%u_%u", u->gpu->index, m->in->session_label_index ? index : u->mig->gi, u->mig->ci);
}

/* Several compute instances have the values of their GPU instance in common: only its rest is known of each. */
static bool is_alone(const struct driver_gpu *g, const struct driver_mig *mig)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->migs_n; i++)
        n += g->migs[i].gi == mig->gi;
    return n == 1;
}

static double activity_of(const struct sample_unit *u)
{
    double value;
    if (measure_get(u->values, MEASURE_GPM_GRAPHICS, &value))
        return u->mig && value > 0 && !is_alone(u->gpu, u->mig) ? -1 : value > 1 ? 1 : value;
    if (!u->mig && !u->gpu->mig_on && measure_get(u->values, MEASURE_UTILIZATION_GPU, &value))
        return value > 100 ? 1 : value / 100;
    return -1;
}

static void unit_activity(struct making *m, struct sample_unit *u)
{
    const char *uuid = sample_unit_uuid(u);
    struct unit_history *h = history_unit(m->in->history, uuid);
    u->activity = activity_of(u);
    if (h->last_active_s <= 0) /* the agent has been restarted, or the GPU was away */
        h->last_active_s = fmin(account_last_active(m->in->account, uuid), m->now_s);
    if (u->activity > 0 || (u->activity >= 0 && h->last_active_s <= 0))
        h->last_active_s = m->now_s;
    h->sample = m->in->number;
    u->last_active_s = h->last_active_s;
}

static void board_counts(struct making *m, struct sample_unit *u)
{
    struct board_history *h = history_board(m->in->history, u->gpu->uuid);
    int64_t now_ms = m->in->measured->monotonic_ms, window_ms = m->in->history->clock_window_ms;
    double reasons, tx, rx;
    h->sample = m->in->number;
    if (measure_get(u->board, MEASURE_CLOCK_EVENT_REASONS, &reasons) && reasons >= 0 && reasons < 1e15)
        for (int b = 0; b < SAMPLE_CLOCK_EVENTS; b++)
            if ((uint64_t)reasons >> b & 1)
                window_add(&h->clock_events[b], window_ms, now_ms);
    for (int b = 0; b < SAMPLE_CLOCK_EVENTS; b++) {
        uint32_t n = window_sum(&h->clock_events[b], window_ms, now_ms);
        u->clock_events[b] = (uint16_t)(n > UINT16_MAX ? UINT16_MAX : n);
    }
    u->nvlink_mb_per_s = -1;
    if (!measure_get(u->board, MEASURE_NVLINK_TX_KIB, &tx) || !measure_get(u->board, MEASURE_NVLINK_RX_KIB, &rx)) {
        h->nvlink_ms = 0;
        return;
    }
    if (h->nvlink_ms > 0 && now_ms > h->nvlink_ms && tx + rx >= h->nvlink_kib) /* less: the counter has begun again */
        u->nvlink_mb_per_s = (tx + rx - h->nvlink_kib) / (double)(now_ms - h->nvlink_ms);
    h->nvlink_kib = tx + rx;
    h->nvlink_ms = now_ms;
}

static void make_boards(struct making *m)
{
    const struct driver_reading *r = m->in->inventory->reading;
    struct sample *s = m->s;
    s->boards = arena_zero(m->a, r->gpus_n + 1, sizeof *s->boards);
    for (uint32_t i = 0; i < r->gpus_n; i++) {
        struct sample_unit *u = &s->boards[s->boards_n++];
        u->gpu = &r->gpus[i];
        u->values = u->board = &m->in->measured->gpus[i].board;
        u->session_label = session_label(m, u);
        const struct unit *whole = NULL;
        for (uint32_t k = 0; k < m->in->inventory->units_n; k++) { /* of a cut board: the worst of its units */
            const struct unit *of = &m->in->inventory->units[k];
            if (of->gpu == u->gpu && (!whole || of->health > whole->health))
                whole = of;
        }
        u->health = whole ? whole->health : u->gpu->lost ? UNIT_SUSPECT : UNIT_HEALTHY;
        board_counts(m, u);
        unit_activity(m, u);
        history_gpu(m->in->history, u->gpu);
    }
}

static void make_units(struct making *m)
{
    const struct inventory_snapshot *inventory = m->in->inventory;
    struct sample *s = m->s;
    s->units = arena_zero(m->a, inventory->units_n + 1, sizeof *s->units);
    for (uint32_t i = 0; i < inventory->units_n; i++) {
        const struct unit *from = &inventory->units[i];
        const struct sample_unit *board = &s->boards[from->gpu - inventory->reading->gpus];
        const struct measure_gpu *values = &m->in->measured->gpus[from->gpu - inventory->reading->gpus];
        struct sample_unit *u = &s->units[s->units_n++];
        *u = *board;
        u->mig = from->mig;
        u->health = from->health;
        if (u->mig) {
            u->values = &values->migs[from->mig - from->gpu->migs];
            u->session_label = session_label(m, u);
            unit_activity(m, u);
        }
        *(uint32_t *)map_put(m->by_uuid, bytes_of(from->uuid), NULL) = i;
    }
}

static void make_xids(struct making *m)
{
    struct history *h = m->in->history;
    struct sample *s = m->s;
    s->xids = arena_zero(m->a, h->xids_n + 1, sizeof *s->xids);
    for (uint32_t i = 0; i < h->xids_n; i++) {
        struct xid_history *x = &h->xids[i];
        s->xids[s->xids_n++] =
            (struct sample_xid){.gpu_uuid = arena_text(m->a, x->uuid),
                                .gpu = x->gpu,
                                .xid = x->xid,
                                .n = x->n,
                                .window_n = window_sum(&x->window, h->xid_window_ms, m->in->measured->monotonic_ms),
                                .last_s = x->last_s};
    }
}

/* ---- containers ---- */

/* Names of the kubelet are plain; whatever else comes is cleaned. */
static const char *clean(struct making *m, const char *text)
{
    size_t n = 0;
    while (text[n] > ' ' && text[n] < 0x7f && text[n] != '"' && text[n] != '\\' && n <= NAME_BYTES)
        n++;
    if (!text[n])
        return arena_text_n(m->a, text, n);
    _cleanup_buf_ struct buf out = {0};
    prometheus_clean(&out, bytes_of(text), NAME_BYTES);
    return arena_text(m->a, out.data ? out.data : "");
}

static int32_t container_get(struct making *m, const char *ns, const char *pod, const char *container)
{
    bool is_new;
    const char *key = arena_printf(m->a, "%s/%s/%s", ns, pod, container);
    uint32_t *index = map_put(m->containers, bytes_of(key), &is_new);
    if (!is_new)
        return (int32_t)*index;
    *index = m->s->containers_n;
    MEM_RESERVE(m->containers_list, m->containers_cap, m->s->containers_n + 1);
    struct sample_container *c = &m->containers_list[m->s->containers_n++];
    struct pod_names names;
    *c = (struct sample_container){clean(m, ns), clean(m, pod), clean(m, container), "", "", "", "", NULL, 0};
    (void)pods_pod(m->in->pods, m->a, ns, pod, &names, &c->pod_labels, &c->pod_labels_n); /* unknown: empty names */
    c->pod_uid = clean(m, names.uid);
    c->queue = clean(m, names.queue);
    c->job = clean(m, names.job);
    c->user = clean(m, names.user);
    return (int32_t)*index;
}

/* ---- allocations ---- */

static int32_t unit_of_slot(struct making *m, const char *slot)
{
    const char *end = strstr(slot, "::");
    uint32_t *index = map_find(m->by_uuid, (struct bytes){slot, end ? (size_t)(end - slot) : strlen(slot)});
    if (index)
        return (int32_t)*index;
    for (uint32_t i = 0; i < m->in->inventory->units_n; i++) /* other plugins' ids, and indexes */
        if (slot_is_of(slot, &m->in->inventory->units[i]))
            return (int32_t)i;
    return -1;
}

static const char *replica_text(struct making *m, const struct slot_owner *o, const struct unit *u)
{
    size_t n = strlen(u->uuid);
    const char *rest = text_starts(o->slot, u->uuid) ? o->slot + n : strstr(o->slot, "::"),
               *gke = text_starts(o->slot, "nvidia") ? strstr(o->slot, "/vgpu") : NULL;
    if (gke)
        return clean(m, gke + strlen("/vgpu"));
    while (rest && (*rest == ':' || *rest == '-'))
        rest++;
    return rest ? clean(m, rest) : "";
}

/* Into how many parts the unit was cut when the container got its slot. */
static uint32_t parts_of(struct making *m, const struct slot_owner *o, uint32_t unit, const struct slot_share *share)
{
    const char *uuid = m->in->inventory->units[unit].uuid;
    uint32_t now_n = share && share->shared && share->replicas_n > 0 ? share->replicas_n : 1;
    if (map_count(m->in->shares) == 0)
        return now_n; /* share_unknown looks at it */
    const char *key = arena_printf(m->a, "%s %s %s/%s/%s", o->resource, o->slot, o->ns, o->pod, o->container);
    struct held_share *h = map_put(m->in->held, bytes_of(key), NULL);
    if (h->parts_n == 0)
        h->parts_n = m->in->journal ? resource_guard_slots(m->in->journal, uuid, o->resource) : 0;
    if (h->parts_n == 0)
        h->parts_n = now_n;
    h->sample = m->in->number;
    return h->parts_n;
}

static void held_forget(struct map *held, uint64_t sample)
{
    size_t at = 0;
    struct bytes key;
    for (struct held_share *h; (h = map_next(held, &at, &key));)
        if (h->sample < sample)
            (void)map_remove(held, key);
}

static void allocation_add(struct making *m, const struct slot_owner *o)
{
    int32_t unit = unit_of_slot(m, o->slot);
    const char *key = arena_printf(m->a, "%s %s", o->resource, o->slot);
    const struct slot_share *share = map_find_text(m->in->shares, key);
    bool is_number = o->slot[0] >= '0' && o->slot[0] <= '9'; /* another vendor's device may be called so, too */
    if (unit < 0 || (is_number && !share && !text_starts(o->resource, "nvidia.com/")))
        return;
    uint32_t parts_n = parts_of(m, o, (uint32_t)unit, share);
    MEM_RESERVE(m->allocations_list, m->allocations_cap, m->s->allocations_n + 1);
    m->allocations_list[m->s->allocations_n++] = (struct sample_allocation){
        .unit = (uint32_t)unit,
        .container = o->pod[0] ? container_get(m, o->ns, o->pod, o->container) : -1,
        .resource = clean(m, o->resource),
        .replica = share && !share->shared ? "" : replica_text(m, o, &m->in->inventory->units[unit]),
        .share = sample_unit_size(&m->s->units[unit]) / parts_n};
}

/* While no resource is known: as many replicas as there are holders. */
static void share_unknown(struct making *m)
{
    for (uint32_t i = 0; map_count(m->in->shares) == 0 && i < m->s->allocations_n; i++) {
        struct sample_allocation *l = &m->allocations_list[i];
        uint32_t n = 0;
        for (uint32_t k = 0; *l->replica && k < m->s->allocations_n; k++)
            n += m->allocations_list[k].unit == l->unit;
        if (n > 1)
            l->share = sample_unit_size(&m->s->units[l->unit]) / n;
    }
}

static void make_allocations(struct making *m)
{
    for (uint32_t i = 0; i < m->in->inventory->owners_n; i++)
        allocation_add(m, &m->in->inventory->owners[i]);
    held_forget(m->in->held, m->in->number);
    share_unknown(m);
}

/* ---- processes ---- */

static int32_t unit_of_process(const struct making *m, const struct measure_process *p)
{
    for (uint32_t i = 0; i < m->s->units_n; i++) {
        const struct sample_unit *u = &m->s->units[i];
        if (u->gpu->index == p->gpu && (u->mig ? u->mig->gi == p->gi && u->mig->ci == p->ci : p->gi == HEALTH_WHOLE))
            return (int32_t)i;
    }
    return -1;
}

/* The container of a process whose log files do not tell it: the one of its pod that was given the unit. */
static const char *container_name(const struct making *m, const struct pod_names *names, uint32_t unit)
{
    const char *found = "";
    for (uint32_t i = 0; !*names->container && i < m->s->allocations_n; i++) {
        const struct sample_allocation *l = &m->allocations_list[i];
        const struct sample_container *c = l->container >= 0 ? &m->containers_list[l->container] : NULL;
        if (!c || l->unit != unit || !text_equal(c->ns, names->ns) || !text_equal(c->pod, names->pod))
            continue;
        if (*found && !text_equal(found, c->container))
            return "";
        found = c->container;
    }
    return *names->container ? names->container : found;
}

static void process_history_add(struct making *m, struct sample_process *p)
{
    const struct sample_unit *u = &m->s->units[p->unit];
    struct process_history *h = history_process(m->in->history, sample_unit_uuid(u), p->measured->pid, p->start_ticks);
    h->sample = m->in->number;
    h->sm_seconds += fmin(p->measured->sm_seconds, m->ran_most_s);
    if (p->measured->samples_n > 0 && p->measured->sm_percent > 0)
        h->last_active_s = fmin((double)p->measured->last_sample_us / 1e6, m->now_s);
    int64_t now_ms = m->in->measured->monotonic_ms;
    if (p->measured->samples_n > 0) {
        h->sm_percent = p->measured->sm_percent;
        h->sampled_ms = now_ms;
    } else if (now_ms - h->sampled_ms > PROCESS_SILENCE_MS) { /* WHY  a period may be shorter than the driver's */
        h->sm_percent = 0;
    }
    p->sm_percent = h->sm_percent;
    p->sm_seconds = h->sm_seconds;
    p->last_active_s = h->last_active_s;
}

/* Displays are no sessions. */
static bool is_display(const struct measure_process *p, const char *command)
{
    return p->graphics && (text_equal(command, "Xorg") || text_equal(command, "X") || text_equal(command, "Xwayland"));
}

/* Which processes get series: first each unit's share of the cap, then in order what room is left. */
static bool *choose(const struct making *m, const int32_t *units)
{
    const struct measure_reading *r = m->in->measured;
    uint32_t units_n = m->s->units_n ? m->s->units_n : 1, quota = m->in->processes_max / units_n,
             left = m->in->processes_max;
    bool *chosen = mem_zero(r->processes_n + 1, sizeof *chosen);
    uint32_t *taken = mem_zero(units_n, sizeof *taken);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < r->processes_n && left > 0; i++) {
            if (units[i] < 0 || chosen[i] || (pass == 0 && taken[units[i]] >= quota))
                continue;
            chosen[i] = true;
            taken[units[i]]++;
            left--;
        }
    free(taken);
    return chosen;
}

/* False: gone since the driver listed it. */
static bool process_make(struct making *m, const struct measure_process *from, uint32_t unit, struct sample_process *p)
{
    struct pod_process seen;
    bool there = pods_process(m->in->pods, m->a, from->pid, &seen);
    *p = (struct sample_process){.measured = from,
                                 .unit = unit,
                                 .container = -1,
                                 .command = seen.command,
                                 .start_time_s = seen.start_s,
                                 .start_ticks = seen.start_ticks};
    if (there && *seen.names.ns && *seen.names.pod)
        p->container = container_get(m, seen.names.ns, seen.names.pod, container_name(m, &seen.names, unit));
    return there;
}

/* ORDER  What is not under /proc stays only when nothing is: then it is not gone, but in another pid namespace. */
static void make_processes(struct making *m)
{
    const struct measure_reading *r = m->in->measured;
    struct sample *s = m->s;
    int32_t *units = mem_alloc((r->processes_n + 1) * sizeof *units);
    for (uint32_t i = 0; i < r->processes_n; i++)
        units[i] = unit_of_process(m, &r->processes[i]);
    bool *chosen = choose(m, units), *gone = mem_zero(r->processes_n + 1, sizeof *gone);
    s->processes = arena_zero(m->a, (r->processes_n < m->in->processes_max ? r->processes_n : m->in->processes_max) + 1,
                              sizeof *s->processes);
    s->processes_left_out_n = r->processes_left_out_n;
    uint32_t n = 0, kept_n = 0;
    for (uint32_t i = 0; i < r->processes_n; i++) {
        if (units[i] < 0)
            continue;
        if (!chosen[i]) {
            s->processes_left_out_n++;
            s->units[units[i]].sessions_n++;
            continue;
        }
        gone[n] = !process_make(m, &r->processes[i], (uint32_t)units[i], &s->processes[n]);
        n++;
    }
    s->pid_namespace_mismatch = pods_pid_namespace_mismatch(m->in->pods);
    for (uint32_t i = 0; i < n; i++) {
        struct sample_process *p = &s->processes[i];
        if ((gone[i] && !s->pid_namespace_mismatch) || is_display(p->measured, p->command))
            continue;
        process_history_add(m, p);
        s->units[p->unit].sessions_n++;
        s->processes[kept_n++] = *p;
    }
    s->processes_n = kept_n;
    free(units);
    free(chosen);
    free(gone);
}

/* ---- all of it ---- */

/* A MIG device with one process: what it does is what the device does. */
static void mig_process_activity(struct making *m)
{
    for (uint32_t i = 0; i < m->s->processes_n; i++) {
        struct sample_process *p = &m->s->processes[i];
        const struct sample_unit *u = &m->s->units[p->unit];
        if (!u->mig || u->sessions_n != 1 || u->activity <= 0)
            continue;
        history_process(m->in->history, u->mig->uuid, p->measured->pid, p->start_ticks)->last_active_s = m->now_s;
        p->last_active_s = m->now_s;
    }
}

static void *arena_keep(struct arena *a, void *list, size_t size)
{
    void *copy = arena_alloc(a, size + 1);
    if (size > 0)
        memcpy(copy, list, size);
    free(list);
    return copy;
}

/* What is remembered goes with a wall clock that was set.
 * WHY  ran_most_s: the driver dates what processes ran by the wall clock, and makes hours of such a step. */
static void clock_follow(struct making *m)
{
    struct history *h = m->in->history;
    int64_t now_ms = m->in->measured->monotonic_ms;
    double set_s = sample_clock_set(&h->clock, m->now_s, now_ms);
    if (set_s < 0 || set_s > 0) {
        history_clock_set(h, set_s);
        pods_clock_set(m->in->pods);
    }
    m->ran_most_s = h->sampled_ms > 0 ? (double)(now_ms - h->sampled_ms + PROCESS_SILENCE_MS) / 1000 : INFINITY;
    h->sampled_ms = now_ms;
}

struct sample *sample_make(const struct sample_input *in)
{
    struct arena *a = arena_new();
    struct sample *s = arena_zero(a, 1, sizeof *s);
    struct making m = {
        .in = in, .s = s, .a = a, .containers = map_new(sizeof(uint32_t)), .by_uuid = map_new(sizeof(uint32_t))};
    s->refs = 1;
    s->number = in->number;
    s->arena = a;
    s->wall_s = m.now_s = (double)in->measured->wall_us / 1e6;
    s->inventory = inventory_snapshot_ref(in->inventory);
    s->measured = measure_reading_ref(in->measured);
    s->xid_window_ms = in->history->xid_window_ms;
    s->clock_window_ms = in->history->clock_window_ms;
    s->hostname = clean(&m, in->hostname ? in->hostname : "");
    clock_follow(&m);
    pods_begin(in->pods);
    make_boards(&m);
    make_units(&m);
    make_xids(&m);
    make_allocations(&m);
    make_processes(&m);
    mig_process_activity(&m);
    history_forget(in->history, in->number);
    s->containers = arena_keep(a, m.containers_list, s->containers_n * sizeof *s->containers);
    s->allocations = arena_keep(a, m.allocations_list, s->allocations_n * sizeof *s->allocations);
    map_free(m.containers);
    map_free(m.by_uuid);
    return s;
}
