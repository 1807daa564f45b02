/* account.c - who is in the books, which devices there were, and what is read of both */
#include "exporter/account/account.h"
#include <math.h>
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/log.h"
#include "base/memory.h"
#include "exporter/account/account_parts.h"

/* ---- who is in the books ---- */

static void text_set(const char **to, const char *text)
{
    if (!text || !*text || (*to && text_equal(*to, text)))
        return;
    free((char *)*to);
    *to = mem_text(text);
}

static struct account_pod *pod_new(const struct account *a, const char *ns, const char *pod)
{
    struct account_pod *p = mem_zero(1, sizeof *p);
#define X(name) p->name = mem_text("");
    ACCOUNT_TEXTS(X)
#undef X
    text_set(&p->ns, ns);
    text_set(&p->pod, pod);
    text_set(&p->node, a->node_name);
    return p;
}

static void pod_free(struct account_pod *p)
{
#define X(name) free((char *)p->name);
    ACCOUNT_TEXTS(X)
#undef X
    free(p);
}

/* NULL: too many pods. */
static struct account_pod **pod_slot(struct account *a, const char *ns, const char *pod)
{
    _cleanup_buf_ struct buf key = {0};
    buf_printf(&key, "%s/%s", ns, pod);
    struct account_pod **slot = map_find(a->pods, buf_view(&key));
    if (slot || map_count(a->pods) >= LIMIT_ACCOUNT_PODS)
        return slot;
    slot = map_put(a->pods, buf_view(&key), NULL);
    *slot = pod_new(a, ns, pod);
    return slot;
}

struct account_pod *account_pod_put(struct account *a, const char *ns, const char *pod)
{
    struct account_pod **slot = pod_slot(a, ns, pod);
    return slot ? *slot : NULL;
}

/* A new pod of an old name begins at 0, as its counters' readers expect of a new process. What nobody has drained of the old one is kept
 * beside until somebody does. */
static void replace(struct account *a, struct account_pod **slot)
{
    struct account_pod *old = *slot;
    *slot = pod_new(a, old->ns, old->pod);
    old->live = false;
    if (!old->changed || a->replaced_n >= LIMIT_ACCOUNT_PODS) {
        pod_free(old);
        return;
    }
    MEM_RESERVE(a->replaced, a->replaced_cap, a->replaced_n + 1);
    a->replaced[a->replaced_n++] = old;
}

struct account_pod *account_pod_of(struct account *a, const struct sample *s, const struct sample_allocation *l)
{
    if (l->container < 0)
        return NULL;
    const struct sample_container *c = &s->containers[l->container];
    const struct sample_unit *u = &s->units[l->unit];
    struct account_pod **slot = pod_slot(a, c->ns, c->pod);
    if (!slot)
        return NULL;
    if (*(*slot)->uid && *c->pod_uid && !text_equal((*slot)->uid, c->pod_uid))
        replace(a, slot);
    struct account_pod *p = *slot;
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

struct account_gpu *account_gpu_put(struct account *a, const char *uuid)
{
    struct account_gpu **slot = map_put(a->gpus, bytes_of(uuid), NULL);
    if (!*slot) {
        *slot = mem_zero(1, sizeof **slot);
        memcpy((*slot)->uuid, uuid, strlen(uuid) < sizeof(*slot)->uuid ? strlen(uuid) : sizeof(*slot)->uuid - 1);
    }
    return *slot;
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
