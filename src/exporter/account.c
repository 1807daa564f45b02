/* account.c - one pass over the allocations of the sample before, one over those of the new one */
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
    if (!text || !*text || (*to && text_equal(*to, text)))
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
        const char **const texts[] = {&(*slot)->ns,   &(*slot)->pod,         &(*slot)->uid, &(*slot)->queue,
                                      &(*slot)->node, &(*slot)->device_kind, &(*slot)->job, &(*slot)->user};
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
    free((char *)p->job);
    free((char *)p->user);
    free((char *)p->node);
    free((char *)p->device_kind);
    free(p);
}

/* What nobody has drained of a pod is kept beside until somebody does. */
static void replaced_keep(struct account *a, const struct account_pod *p)
{
    if (!p->changed || a->replaced_n >= LIMIT_ACCOUNT_PODS)
        return;
    struct account_pod *copy = mem_zero(1, sizeof *copy);
    *copy = *p;
    copy->live = false;
    const char **const texts[] = {&copy->ns,  &copy->pod,  &copy->uid,  &copy->queue,
                                  &copy->job, &copy->user, &copy->node, &copy->device_kind};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = mem_text(*texts[i]);
    MEM_RESERVE(a->replaced, a->replaced_cap, a->replaced_n + 1);
    a->replaced[a->replaced_n++] = copy;
}

/* A new pod of an old name begins at 0, as its counters' readers expect of a new process. */
static void begin_anew(struct account *a, struct account_pod *p)
{
    replaced_keep(a, p);
    const char **const texts[] = {&p->queue, &p->job, &p->user};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        free((char *)*texts[i]);
        *texts[i] = mem_text("");
    }
    p->allocated_s = p->active_s = p->memory_byte_s = p->energy_j = 0;
    p->no_process_s = p->idle_s = p->low_s = p->throttled_s = 0;
    p->memory_high_bytes = p->memory_granted_bytes = p->first_s = p->last_active_s = 0;
}

/* The pod of an allocation; NULL: of nobody, or too many pods. */
static struct account_pod *pod_of(struct account *a, const struct sample *s, const struct sample_allocation *l)
{
    if (l->container < 0)
        return NULL;
    const struct sample_container *c = &s->containers[l->container];
    const struct sample_unit *u = &s->units[l->unit];

    if (map_count(a->pods) >= LIMIT_ACCOUNT_PODS) {
        _cleanup_buf_ struct buf key = {0};
        buf_printf(&key, "%s/%s", c->ns, c->pod);
        if (!map_find(a->pods, buf_view(&key)))
            return NULL;
    }
    struct account_pod *p = account_pod_put(a, c->ns, c->pod);
    if (*p->uid && *c->pod_uid && !text_equal(p->uid, c->pod_uid))
        begin_anew(a, p);
    text_set(&p->uid, c->pod_uid);
    text_set(&p->queue, c->queue);
    text_set(&p->job, c->job);
    text_set(&p->user, c->user);
    text_set(&p->device_kind, u->mig ? u->mig->profile : u->gpu->name);
    return p;
}

/* Who has something from now on. */
static void see(struct account *a, const struct sample *s, const struct sample_allocation *l)
{
    struct account_pod *p = pod_of(a, s, l);
    if (!p) {
        a->pods_dropped_n += l->container >= 0;
        return;
    }
    if (p->first_s == 0)
        p->first_s = s->wall_s;
    p->last_s = s->wall_s;
    p->seen_ms = s->measured->monotonic_ms;
    p->live = p->changed = true;
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

static const char *unit_uuid(const struct sample_unit *u)
{
    return u->mig ? u->mig->uuid : u->gpu->uuid;
}

/* Index of a unit of one sample in another; -1: it is not there. */
static int32_t unit_in(const struct sample *s, const struct sample *from, uint32_t unit)
{
    const char *uuid = unit_uuid(&from->units[unit]);
    if (unit < s->units_n && text_equal(unit_uuid(&s->units[unit]), uuid)) /* mostly */
        return (int32_t)unit;
    for (uint32_t i = 0; i < s->units_n; i++)
        if (text_equal(unit_uuid(&s->units[i]), uuid))
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

/* By allocation of `was`. A pod whose processes have ended ran on as it did (scale: this step by the one before), which nobody has measured.
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

/* Whole-GPU equivalents that the unit stands for: a MIG device is its slices. */
static double unit_size(const struct sample_unit *u)
{
    uint8_t slices = u->gpu->geometry ? u->gpu->geometry->mig_slices : 0;
    return u->mig && slices ? (double)u->mig->ci_slices / slices : 1;
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
    double allocated = l->share * t->dt, size = unit_size(had),
           busy = u && u->activity > 0 ? fmin(u->activity, 1) * size * t->dt : 0;
    double active = fmin(allocated, busy * part_of(t->was, t->all, at));
    g->allocated_s += allocated;
    g->active_s += active;
    struct account_pod *p = pod_of(a, t->was, l);
    if (!p)
        return;
    p->allocated_s += allocated;
    p->active_s += active;
    p->energy_j += t->joules[board->gpu->index] * l->share;
    p->throttled_s += allocated * throttled_part(a, board, t->dt);
    if (t->dt > 0) {
        p->last_s = t->now->wall_s;
        p->seen_ms = t->now->measured->monotonic_ms;
    }
    if (t->dt > 0 && busy > 0)
        p->last_active_s = t->now->wall_s;
    waste_add(p, t, u, &t->all[at], allocated - active);
    memory_add(p, had, &t->all[at], size > 0 ? fmin(l->share / size, 1) : 1, t->dt);
    p->changed = true;
}

static void step_add(struct account *a, const struct sample *s, double dt, const double *joules)
{
    struct doing *all = doings_of(a->last, s, a->last_dt > 0 ? dt / a->last_dt : 0);
    const struct step t = {.was = a->last, .now = s, .dt = dt, .joules = joules, .all = all};
    for (uint32_t i = 0; i < t.was->allocations_n; i++)
        allocation_add(a, &t, i);
    free(all);
}

static void forget_the_gone(struct account *a, const struct sample *s)
{
    size_t at = 0;
    struct bytes key;
    for (struct account_pod **p; (p = map_next(a->pods, &at, &key));) {
        if ((*p)->live || (*p)->changed || s->measured->monotonic_ms - (*p)->seen_ms < ACCOUNT_KEEP_S * 1000)
            continue;
        pod_free(*p);
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
        struct account_unit *u = map_put(a->units, bytes_of(unit_uuid(&s->units[i])), NULL);
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
        joules[s->boards[i].gpu->index] = board_add(a, &s->boards[i], dt);
    if (a->last)
        step_add(a, s, dt, joules);
    for (uint32_t i = 0; i < s->allocations_n; i++) /* ORDER  after: a namesake begins at 0 */
        see(a, s, &s->allocations[i]);
    units_see(a, s);
    forget_the_gone(a, s);
    sample_unref(a->last);
    a->last = sample_ref(s);
    a->last_dt = dt;
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
        pod_free(a->replaced[a->replaced_n - 1]);
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
        pod_free(*p);
    at = 0;
    for (struct account_gpu **g; (g = map_next(a->gpus, &at, &key));)
        free(*g);
    map_free(a->pods);
    map_free(a->gpus);
    map_free(a->units);
    sample_unref(a->last);
    while (a->replaced_n > 0)
        pod_free(a->replaced[--a->replaced_n]);
    free(a->replaced);
    free(a->pod_list);
    free(a->gpu_list);
    free(a->node_name);
    free(a->state_path);
    free(a);
}
