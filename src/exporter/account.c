/* account.c - one pass over the allocations of a sample */
#include "exporter/account.h"
#include <math.h>
#include <stdlib.h>
#include "base/log.h"
#include "base/map.h"
#include "base/memory.h"
#include "exporter/account_state.h"

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

/* ---- who is in the books ---- */

static void text_set(const char **to, const char *text)
{
    if (!*text || (*to && text_equal(*to, text)))
        return;
    free((char *)*to);
    *to = mem_text(text);
}

struct account_pod *account_pod_put(struct account *a, const char *ns, const char *pod)
{
    _cleanup_buf_ struct buf key = {0};
    buf_printf(&key, "%s/%s", ns, pod);
    bool is_new;
    struct account_pod **slot = map_put(a->pods, buf_view(&key), &is_new);
    if (is_new) {
        *slot = mem_zero(1, sizeof **slot);
        const char **const texts[] = {&(*slot)->ns,    &(*slot)->pod,  &(*slot)->uid,
                                      &(*slot)->queue, &(*slot)->node, &(*slot)->device_kind};
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            *texts[i] = mem_text(i == 0 ? ns : i == 1 ? pod : i == 4 ? a->node_name : "");
    }
    return *slot;
}

static void pod_free(struct account_pod *p)
{
    free((char *)p->ns);
    free((char *)p->pod);
    free((char *)p->uid);
    free((char *)p->queue);
    free((char *)p->node);
    free((char *)p->device_kind);
    free(p);
}

/* A new pod of an old name begins at 0, as its counters' readers expect of a new process. */
static void begin_anew(struct account_pod *p)
{
    p->allocated_s = p->active_s = p->memory_byte_s = p->energy_j = 0;
    p->no_process_s = p->idle_s = p->low_s = p->throttled_s = 0;
    p->memory_high_bytes = p->memory_granted_bytes = p->first_s = p->last_active_s = 0;
}

static struct account_pod *pod_of(struct account *a, const struct sample *s, const struct sample_container *c,
                                  const char *device_kind)
{
    if (map_count(a->pods) >= LIMIT_ACCOUNT_PODS) {
        _cleanup_buf_ struct buf key = {0};
        buf_printf(&key, "%s/%s", c->ns, c->pod);
        if (!map_find(a->pods, buf_view(&key)))
            return NULL;
    }
    struct account_pod *p = account_pod_put(a, c->ns, c->pod);
    if (*p->uid && *c->pod_uid && !text_equal(p->uid, c->pod_uid))
        begin_anew(p);
    text_set(&p->uid, c->pod_uid);
    text_set(&p->queue, c->queue);
    text_set(&p->device_kind, device_kind);
    if (p->first_s == 0)
        p->first_s = s->wall_s;
    p->last_s = s->wall_s;
    p->live = true;
    return p;
}

struct account_gpu *account_gpu_put(struct account *a, const char *uuid)
{
    struct account_gpu **slot = map_put(a->gpus, bytes_of(uuid), NULL);
    if (!*slot) {
        *slot = mem_zero(1, sizeof **slot);
        memcpy((*slot)->uuid, uuid, strlen(uuid) < sizeof(*slot)->uuid ? strlen(uuid) : sizeof(*slot)->uuid - 1);
    }
    return *slot;
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

static const struct measure_values *board_of(const struct sample *s, const char *uuid)
{
    for (uint32_t i = 0; s && i < s->boards_n; i++)
        if (text_equal(s->boards[i].gpu->uuid, uuid))
            return s->boards[i].board;
    return NULL;
}

/* Joules of the board in this step. */
static double board_add(struct account *a, const struct sample_unit *u, double dt)
{
    const struct measure_values *before = board_of(a->last, u->gpu->uuid);
    struct account_gpu *g = account_gpu_put(a, u->gpu->uuid);
    bool known;
    double joules = grown(u->board, before, MEASURE_ENERGY_MJ, &known) / 1000;
    g->energy_j += joules;
    g->capacity_s += dt;
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

static bool same_pod(const struct sample *s, int32_t a, int32_t b)
{
    return a >= 0 && b >= 0 && text_equal(s->containers[a].ns, s->containers[b].ns) &&
           text_equal(s->containers[a].pod, s->containers[b].pod);
}

/* What the processes of an allocation's pod do on its unit. */
struct doing {
    uint32_t processes_n;
    double memory_bytes, ran; /* ran: sm seconds in this step */
    double own_share;         /* of all allocations of the pod on this unit: they have its processes in common */
    bool is_first;            /* of them */
};

/* COST  processes x allocations comparisons of two numbers; texts are compared only within a unit. Caller frees. */
static struct doing *doings_of(const struct sample *s)
{
    struct doing *all = mem_zero(s->allocations_n + 1, sizeof *all);
    for (uint32_t i = 0; i < s->allocations_n; i++) {
        all[i].is_first = true;
        for (uint32_t k = 0; k < s->allocations_n; k++) {
            const struct sample_allocation *x = &s->allocations[i], *y = &s->allocations[k];
            if (x->unit != y->unit || (i != k && !same_pod(s, x->container, y->container)))
                continue;
            all[i].own_share += y->share;
            all[i].is_first &= k >= i;
        }
    }
    for (uint32_t k = 0; k < s->processes_n; k++) {
        const struct sample_process *p = &s->processes[k];
        for (uint32_t i = 0; i < s->allocations_n; i++) {
            if (p->unit != s->allocations[i].unit || !same_pod(s, p->container, s->allocations[i].container))
                continue;
            all[i].processes_n++;
            all[i].ran += p->measured->sm_seconds;
            if (p->measured->memory_bytes != UINT64_MAX)
                all[i].memory_bytes += (double)p->measured->memory_bytes;
        }
    }
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

/* Whole-GPU equivalents that the unit stands for: a MIG device is its slices. */
static double unit_size(const struct sample_unit *u)
{
    uint8_t slices = u->gpu->geometry ? u->gpu->geometry->mig_slices : 0;
    return u->mig && slices ? (double)u->mig->ci_slices / slices : 1;
}

static void waste_add(struct account_pod *p, const struct sample *s, const struct sample_unit *u, const struct doing *d,
                      double unused_s)
{
    if (d->processes_n == 0 && !s->pid_namespace_mismatch)
        p->no_process_s += unused_s;
    else if (u->activity >= 0 && s->wall_s - u->last_active_s >= ACCOUNT_IDLE_S)
        p->idle_s += unused_s;
    else if (u->activity >= 0 && u->activity < ACCOUNT_LOW_RATIO)
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

static void allocation_add(struct account *a, const struct sample *s, const struct doing *all, uint32_t at, double dt,
                           const double *joules)
{
    const struct sample_allocation *l = &s->allocations[at];
    const struct sample_unit *u = &s->units[l->unit];
    struct account_gpu *g = account_gpu_put(a, u->gpu->uuid);
    double allocated = l->share * dt, size = unit_size(u),
           busy = u->activity > 0 ? fmin(u->activity, 1) * size * dt : 0;
    double active = fmin(allocated, busy * part_of(s, all, at));
    g->allocated_s += allocated;
    g->active_s += active;
    struct account_pod *p =
        l->container < 0 ? NULL : pod_of(a, s, &s->containers[l->container], u->mig ? u->mig->profile : u->gpu->name);
    if (!p)
        return;
    p->allocated_s += allocated;
    p->active_s += active;
    p->energy_j += joules[u->gpu->index] * l->share;
    p->throttled_s += allocated * throttled_part(a, u, dt);
    if (u->activity > 0)
        p->last_active_s = s->wall_s;
    waste_add(p, s, u, &all[at], allocated - active);
    memory_add(p, u, &all[at], size > 0 ? fmin(l->share / size, 1) : 1, dt);
    p->changed = true;
}

static void forget_the_gone(struct account *a, double wall_s)
{
    size_t at = 0;
    struct bytes key;
    for (struct account_pod **p; (p = map_next(a->pods, &at, &key));) {
        if ((*p)->live || (*p)->changed || wall_s - (*p)->last_s < ACCOUNT_KEEP_S)
            continue;
        pod_free(*p);
        map_remove(a->pods, key);
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
    size_t at = 0;
    struct bytes key;
    for (struct account_pod **p; (p = map_next(a->pods, &at, &key));)
        (*p)->live = false;
    double joules[LIMIT_NODE_GPUS] = {0}; /* by GPU index */
    for (uint32_t i = 0; i < s->boards_n; i++)
        joules[s->boards[i].gpu->index] = board_add(a, &s->boards[i], dt);
    struct doing *all = doings_of(s);
    for (uint32_t i = 0; i < s->allocations_n; i++)
        allocation_add(a, s, all, i, dt, joules);
    free(all);
    forget_the_gone(a, s->wall_s);
    sample_unref(a->last);
    a->last = sample_ref(s);
}

/* ---- reading ---- */

static int pod_order(const void *a, const void *b)
{
    const struct account_pod *x = *(struct account_pod *const *)a, *y = *(struct account_pod *const *)b;
    int r = strcmp(x->ns, y->ns);
    return r ? r : strcmp(x->pod, y->pod);
}

uint32_t account_pods(const struct account *a, const struct account_pod *const **ret_pods)
{
    struct account *own = (struct account *)a; /* the list is a cache */
    size_t at = 0;
    struct bytes key;
    own->pod_list_n = 0;
    for (struct account_pod **p; (p = map_next(a->pods, &at, &key));) {
        MEM_RESERVE(own->pod_list, own->pod_list_cap, own->pod_list_n + 1);
        own->pod_list[own->pod_list_n++] = *p;
    }
    if (own->pod_list_n > 1) /* qsort takes no NULL, not even of nothing */
        qsort(own->pod_list, own->pod_list_n, sizeof *own->pod_list, pod_order);
    *ret_pods = own->pod_list;
    return own->pod_list_n;
}

uint32_t account_gpus(const struct account *a, const struct account_gpu *const **ret_gpus)
{
    struct account *own = (struct account *)a;
    size_t at = 0;
    struct bytes key;
    own->gpu_list_n = 0;
    for (struct account_gpu **g; (g = map_next(a->gpus, &at, &key));) {
        MEM_RESERVE(own->gpu_list, own->gpu_list_cap, own->gpu_list_n + 1);
        own->gpu_list[own->gpu_list_n++] = *g;
    }
    *ret_gpus = own->gpu_list;
    return own->gpu_list_n;
}

void account_drain(struct account *a, void (*fn)(void *arg, const struct account_pod *pod), void *arg)
{
    const struct account_pod *const *pods;
    uint32_t n = account_pods(a, &pods);
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
        pod_free(*p);
    at = 0;
    for (struct account_gpu **g; (g = map_next(a->gpus, &at, &key));)
        free(*g);
    map_free(a->pods);
    map_free(a->gpus);
    sample_unref(a->last);
    free(a->pod_list);
    free(a->gpu_list);
    free(a->node_name);
    free(a->state_path);
    free(a);
}
