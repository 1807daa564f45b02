/* steering.c - which waiting container the kubelet asks for, which slots it gets, and what podresources says afterwards
 *
 * SHAPE  pods stand in the order in which they were seen. A want is what one container asks of one resource, with three sets of slots:
 *
 *            chosen   the slots that the pod's annotation names: the scheduler wrote them, or the agent when it corrected them
 *            aim      the slots that steering will give: `chosen` at first; interchangeable containers may exchange theirs
 *            taken    the slots that the container has
 *
 *        Siblings are wants for the same number of slots of the same resource with the same limits. The kubelet does not say which of them
 *        it asks for, so which one becomes ADMITTED is a guess. podresources shows who it was: want_settle corrects the guess.
 */
#include <stdlib.h>
#include "agent/plugin/steering.h"
#include "agent/plugin/slot_set.h"
#include "base/collections/map.h"
#include "base/memory.h"

#define LIMIT_TOMBSTONES 256
#define LIMIT_ANSWERS 256 /* of Allocate that are remembered: podresources names a pod within seconds */
#define TOMBSTONE_MS 300000

enum want_state { WAITING, ADMITTED, SETTLED };
struct want {
    char *container, *resource, *chosen_text;
    struct slot_set chosen, aim, taken; /* taken: as Allocate answered, or (SETTLED) as podresources says */
    struct slot_set origin; /* what was chosen first, before the agent corrected the annotation */
    uint32_t n;
    struct allocate_limits limits;
    enum want_state state;
    int64_t since_ms; /* when `state` last changed */
    bool told;    /* that it has other slots than the chosen ones was reported, or is not to be */
    bool passing; /* of an init container */
    bool again;   /* WAITING after it, or a sibling that was marked in its place, has been ADMITTED: perhaps it does not */
    bool wrong; /* SETTLED, and the container runs with limits_given, which are not its own */
    struct allocate_limits limits_given;
};
struct pod {
    char *ns, *name, *uid;
    struct want *wants;
    uint32_t wants_n;
};
/* The slots of a pod that was deleted: podresources may still list them for a while, under the name that its successor has too. */
struct tombstone {
    char *ns, *name, *resource;
    struct slot_set slots;
    int64_t ms;
};
/* One answer of Allocate: these slots were handed out with these limits. */
struct answer {
    char *resource;
    struct slot_set slots;
    struct allocate_limits limits;
};
struct steering {
    struct answer answers[LIMIT_ANSWERS]; /* a ring */
    uint32_t answers_n;                   /* counts */
    struct pod **pods;
    uint32_t pods_n, pods_cap;
    struct tombstone tombstones[LIMIT_TOMBSTONES];
    uint32_t tombstones_n;
    int64_t now_ms; /* of the last call that said it */
};

static bool limits_equal(struct allocate_limits a, struct allocate_limits b)
{
    return a.thread_percentage == b.thread_percentage && a.pinned_memory_mib == b.pinned_memory_mib;
}

/* ---- pods ---- */

static void want_free(struct want *w)
{
    free(w->container);
    free(w->resource);
    free(w->chosen_text);
    slot_set_free(&w->chosen);
    slot_set_free(&w->origin);
    slot_set_free(&w->aim);
    slot_set_free(&w->taken);
}

static void pod_free(struct pod *p)
{
    for (uint32_t i = 0; i < p->wants_n; i++)
        want_free(&p->wants[i]);
    free(p->wants);
    free(p->ns);
    free(p->name);
    free(p->uid);
    free(p);
}

static void want_make(struct want *to, const struct steering_want *from, int64_t now_ms)
{
    _cleanup_buf_ struct buf text = {0};
    memset(to, 0, sizeof *to);
    to->container = mem_text(from->container);
    to->resource = mem_text(from->resource);
    to->n = from->slots_n < LIMIT_STEERING_SLOTS ? from->slots_n : LIMIT_STEERING_SLOTS;
    to->chosen = slot_set_make(from->slots, from->slots ? to->n : 0);
    to->aim = slot_set_copy(&to->chosen);
    to->origin = slot_set_copy(&to->chosen);
    for (uint32_t i = 0; from->slots && i < to->n; i++)
        buf_printf(&text, "%s%s", i ? "," : "", from->slots[i]);
    to->chosen_text = mem_text(text.n ? text.data : "");
    to->limits = from->limits;
    to->passing = from->passing;
    to->since_ms = now_ms;
}

/* The pod was told again: the new want takes over what is known of the old one. A new choice of slots counts only while the want waits. */
static void want_keep(struct want *now, struct want *was)
{
    if (!text_equal(now->container, was->container) || !text_equal(now->resource, was->resource) || now->n != was->n)
        return;
    now->state = was->state;
    now->since_ms = was->since_ms;
    now->again = was->again;
    now->wrong = was->wrong;
    now->limits_given = was->limits_given;
    /* Slots that are named only after the container has its own are the agent's correction of the annotation: nothing to differ from. */
    now->told = was->told || (was->state == SETTLED && !was->chosen.n);
    slot_set_free(&now->taken);
    now->taken = was->taken;
    was->taken = (struct slot_set){NULL, 0};
    if (was->state != WAITING && was->origin.n)
        slot_set_swap(&now->origin, &was->origin);
    if (slot_set_equal(&now->chosen, &was->chosen)) {
        slot_set_free(&now->aim);
        now->aim = was->aim;
        was->aim = (struct slot_set){NULL, 0};
    }
}

static struct pod *pod_find(const struct steering *g, const char *uid, uint32_t *ret_at)
{
    for (uint32_t i = 0; i < g->pods_n; i++) {
        if (!text_equal(g->pods[i]->uid, uid))
            continue;
        if (ret_at)
            *ret_at = i;
        return g->pods[i];
    }
    return NULL;
}

/* The scheduler does not know that containers exchanged their slots. A want that was to get slots by an exchange gives them up when the
 * scheduler chooses them for another container. */
static void aims_yield(struct steering *g, const struct pod *to)
{
    for (uint32_t i = 0; i < g->pods_n; i++) {
        for (uint32_t k = 0; g->pods[i] != to && k < g->pods[i]->wants_n; k++) {
            struct want *w = &g->pods[i]->wants[k];
            for (uint32_t n = 0; n < to->wants_n; n++) {
                if (text_equal(w->resource, to->wants[n].resource) && !slot_set_equal(&w->aim, &w->chosen) &&
                    slot_sets_meet(&w->aim, &to->wants[n].chosen))
                    slot_set_free(&w->aim);
            }
        }
    }
}

void steering_pod(struct steering *g, const char *ns, const char *pod, const char *uid, const struct steering_want *wants, uint32_t wants_n,
                  int64_t now_ms)
{
    uint32_t at = g->pods_n;
    g->now_ms = now_ms;
    struct pod *old = pod_find(g, uid, &at);
    if (!old && g->pods_n >= LIMIT_STEERING_PODS)
        return; /* its Allocate gets no limits, as a pod without the annotation */
    struct pod *p = mem_zero(1, sizeof *p);
    p->ns = mem_text(ns);
    p->name = mem_text(pod);
    p->uid = mem_text(uid);
    p->wants = mem_zero(wants_n ? wants_n : 1, sizeof *p->wants);
    for (uint32_t i = 0; i < wants_n; i++) {
        if (!wants[i].slots_n)
            continue;
        struct want *w = &p->wants[p->wants_n++];
        want_make(w, &wants[i], now_ms);
        for (uint32_t k = 0; old && k < old->wants_n; k++)
            want_keep(w, &old->wants[k]);
    }
    if (old) {
        pod_free(old);
    } else {
        MEM_RESERVE(g->pods, g->pods_cap, g->pods_n + 1);
        g->pods_n++;
    }
    g->pods[at] = p;
    aims_yield(g, p);
}

struct cursor {
    uint32_t pod, want;
};
/* The next want after *at that is in `state`, asks for `resource` and, where n > 0, for n slots; NULL at the end. */
static struct want *want_next(const struct steering *g, struct cursor *at, enum want_state state, const char *resource, uint32_t n,
                              struct pod **ret_pod)
{
    for (; at->pod < g->pods_n; at->pod++, at->want = 0) {
        struct pod *p = g->pods[at->pod];
        while (at->want < p->wants_n) {
            struct want *w = &p->wants[at->want++];
            if (w->state != state || (n && w->n != n) || !text_equal(w->resource, resource))
                continue;
            if (ret_pod)
                *ret_pod = p;
            return w;
        }
    }
    return NULL;
}

/* A sibling of w that is in `state` and has these slots (NULL: any); NULL: there is none. */
static struct want *sibling_find(const struct steering *g, const struct want *w, enum want_state state, const struct slot_set *taken)
{
    struct cursor at = {0, 0};
    for (struct want *s; (s = want_next(g, &at, state, w->resource, w->n, NULL));)
        if (s != w && limits_equal(s->limits, w->limits) && (!taken || slot_set_equal(&s->taken, taken)))
            return s;
    return NULL;
}

static void wait_again(struct want *w)
{
    w->state = WAITING;
    w->again = true;
    slot_set_free(&w->taken);
}

/* w was ADMITTED, perhaps by mistake: the kubelet may have asked for a sibling that still counts as waiting. */
static void siblings_may_have(const struct steering *g, const struct want *w)
{
    struct cursor at = {0, 0};
    for (struct want *s; (s = want_next(g, &at, WAITING, w->resource, w->n, NULL));)
        s->again = s->again || limits_equal(s->limits, w->limits);
}

/* w's siblings that are ADMITTED may have been marked although the kubelet asked for w: they wait again until podresources says who has
 * which slots. WHY all others too, unless w alone is known to have been served: an answer for one of them would else count for nobody. */
static void siblings_wait_again(const struct steering *g, const struct want *w, bool was_served)
{
    uint32_t answers_n = 0;
    for (struct want *s; (s = sibling_find(g, w, ADMITTED, NULL)); answers_n++)
        wait_again(s);
    if (answers_n > was_served)
        siblings_may_have(g, w);
}

/* w, which perhaps had its slots before, is marked: so is one sibling that had none. WHY  there are no more such than wait. */
static void sibling_may_have(const struct steering *g, const struct want *w)
{
    struct cursor at = {0, 0};
    for (struct want *s; w->again && (s = want_next(g, &at, WAITING, w->resource, w->n, NULL));) {
        if (s == w || s->again || !limits_equal(s->limits, w->limits))
            continue;
        s->again = true;
        return;
    }
}

static void tombstone_remove(struct steering *g, uint32_t at)
{
    struct tombstone *t = &g->tombstones[at];
    free(t->ns);
    free(t->name);
    free(t->resource);
    slot_set_free(&t->slots);
    memmove(t, t + 1, (g->tombstones_n - at - 1) * sizeof *t);
    g->tombstones_n--;
}

/* These slots are handed out again: no deleted pod has them any more. */
static void tombstones_drop(struct steering *g, const char *resource, const char *const *slots, uint32_t n)
{
    for (uint32_t i = 0; i < g->tombstones_n;) {
        bool again = false;
        for (uint32_t k = 0; k < n && !again; k++)
            again = text_equal(g->tombstones[i].resource, resource) && slot_set_has(&g->tombstones[i].slots, slots[k]);
        if (again)
            tombstone_remove(g, i);
        else
            i++;
    }
}

static void tombstone_add(struct steering *g, const struct pod *p, const struct want *w)
{
    if (!w->taken.n)
        return;
    if (g->tombstones_n == LIMIT_TOMBSTONES)
        tombstone_remove(g, 0);
    g->tombstones[g->tombstones_n++] =
        (struct tombstone){mem_text(p->ns), mem_text(p->name), mem_text(w->resource), slot_set_copy(&w->taken), g->now_ms};
}

void steering_pod_gone(struct steering *g, const char *uid)
{
    uint32_t at;
    struct pod *p = pod_find(g, uid, &at);
    if (!p)
        return;
    memmove(&g->pods[at], &g->pods[at + 1], (g->pods_n - at - 1) * sizeof *g->pods);
    g->pods_n--;
    for (uint32_t i = 0; i < p->wants_n; i++) {
        struct want *w = &p->wants[i];
        tombstone_add(g, p, w);
        if (w->state == WAITING)
            siblings_wait_again(g, w, false);
        if (w->state == ADMITTED || (w->state == WAITING && w->again))
            siblings_may_have(g, w);
    }
    pod_free(p);
}

static void all_wait_again(struct steering *g, int64_t admitted_before_ms)
{
    for (uint32_t i = 0; i < g->pods_n; i++) {
        for (uint32_t k = 0; k < g->pods[i]->wants_n; k++) {
            struct want *w = &g->pods[i]->wants[k];
            if (w->state == ADMITTED && w->since_ms <= admitted_before_ms)
                wait_again(w);
        }
    }
}

void steering_kubelet_restarted(struct steering *g)
{
    all_wait_again(g, INT64_MAX);
}

void steering_begun(struct steering *g, const char *uid, int64_t now_ms)
{
    struct pod *p = pod_find(g, uid, NULL);
    for (uint32_t k = 0; p && k < p->wants_n; k++) {
        struct want *w = &p->wants[k];
        if (w->state != WAITING)
            continue;
        siblings_wait_again(g, w, true);
        w->state = ADMITTED;
        w->since_ms = now_ms;
    }
}

/* ---- the truth ---- */

static struct slot_set owned_by(const struct pod *p, const struct want *w, const struct slot_owner *owners, uint32_t n)
{
    const char **ids = mem_alloc((n ? n : 1) * sizeof *ids);
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct slot_owner *o = &owners[i];
        if (text_equal(o->pod, p->name) && text_equal(o->ns, p->ns) && text_equal(o->container, w->container) &&
            text_equal(o->resource, w->resource))
            ids[found++] = o->slot;
    }
    struct slot_set s = slot_set_make(ids, found);
    free(ids);
    return s;
}

static bool is_of_the_dead(const struct steering *g, const struct pod *p, const struct want *w, const struct slot_set *given)
{
    for (uint32_t i = 0; i < g->tombstones_n; i++) {
        const struct tombstone *t = &g->tombstones[i];
        if (g->now_ms - t->ms < TOMBSTONE_MS && text_equal(t->name, p->name) && text_equal(t->ns, p->ns) &&
            text_equal(t->resource, w->resource) && slot_set_equal(&t->slots, given))
            return true;
    }
    return false;
}

/* The last answer of Allocate for these slots; NULL: forgotten, or given before this agent started. */
static const struct answer *answer_find(const struct steering *g, const char *resource, const struct slot_set *slots)
{
    uint32_t n = g->answers_n < LIMIT_ANSWERS ? g->answers_n : LIMIT_ANSWERS;
    for (uint32_t i = 1; i <= n; i++) {
        const struct answer *it = &g->answers[(g->answers_n - i) % LIMIT_ANSWERS];
        if (text_equal(it->resource, resource) && slot_set_equal(&it->slots, slots))
            return it;
    }
    return NULL;
}

static void answer_clear(struct answer *it)
{
    free(it->resource);
    slot_set_free(&it->slots);
}

static void answer_add(struct steering *g, const char *resource, const struct slot_set *slots, struct allocate_limits limits)
{
    struct answer *it = &g->answers[g->answers_n++ % LIMIT_ANSWERS];
    answer_clear(it);
    *it = (struct answer){mem_text(resource), slot_set_copy(slots), limits};
}

/* A want with other limits was taken for w: the kubelet has not asked for it after all. */
static void others_wait(const struct steering *g, const struct want *w, const struct slot_set *given)
{
    struct cursor at = {0, 0};
    for (struct want *s; (s = want_next(g, &at, ADMITTED, w->resource, w->n, NULL));) {
        if (s == w || limits_equal(s->limits, w->limits) || !slot_set_equal(&s->taken, given))
            continue;
        wait_again(s);
        s->again = false;
    }
}

/* podresources says that w has the slots `given`, whose memory becomes w's. A sibling that was thought to have them gets what w was thought
 * to have: the slots, or the place in the line.
 * WHY  no more siblings may be ADMITTED than the kubelet has asked for: one of them would still wait, and be overlooked. */
static void want_settle(struct steering *g, struct want *w, struct slot_set *given)
{
    struct want *other = w->state == ADMITTED && slot_set_equal(&w->taken, given) ? NULL : sibling_find(g, w, ADMITTED, given);
    if (other && w->state == ADMITTED)
        slot_set_swap(&other->taken, &w->taken);
    else if (other) {
        wait_again(other);
        slot_set_swap(&other->aim, &w->aim);
    } else if (w->state == WAITING)
        siblings_wait_again(g, w, true); /* one of them was marked in w's place, and nothing says which */
    const struct answer *answer = answer_find(g, w->resource, given);
    if (answer && !limits_equal(answer->limits, w->limits)) {
        w->wrong = true;
        w->limits_given = answer->limits;
        others_wait(g, w, given);
    }
    slot_set_free(&w->taken);
    w->taken = *given;
    *given = (struct slot_set){NULL, 0};
    w->state = SETTLED;
    w->since_ms = g->now_ms;
}

/* podresources leaves out init containers that have ended. The kubelet serves the containers of a pod in their order: when a later one has
 * its slots, the earlier ones had theirs. */
static void settle_earlier(struct steering *g, struct pod *p)
{
    const struct want *last = NULL;
    for (uint32_t k = p->wants_n; k-- > 0;) {
        struct want *w = &p->wants[k];
        if (w->state == SETTLED) {
            last = last ? last : w;
            continue;
        }
        if (!last || text_equal(last->container, w->container))
            continue;
        if (w->state == WAITING)
            siblings_wait_again(g, w, true);
        w->state = SETTLED;
        w->told = true; /* what it was given is not known */
    }
}

void steering_settled(struct steering *g, const struct slot_owner *owners, uint32_t n)
{
    for (uint32_t i = 0; i < g->pods_n; i++) {
        struct pod *p = g->pods[i];
        bool namesake = false; /* an older pod of the same name is still known: the owner is that one */
        for (uint32_t k = 0; k < i && !namesake; k++)
            namesake = text_equal(g->pods[k]->name, p->name) && text_equal(g->pods[k]->ns, p->ns);
        for (uint32_t k = 0; !namesake && k < p->wants_n; k++) {
            struct want *w = &p->wants[k];
            if (w->state == SETTLED)
                continue;
            struct slot_set given = owned_by(p, w, owners, n);
            if (given.n == w->n && (w->state == ADMITTED || !is_of_the_dead(g, p, w, &given)))
                want_settle(g, w, &given);
            slot_set_free(&given);
        }
        if (!namesake)
            settle_earlier(g, p);
    }
}

/* ---- questions of the kubelet ---- */

static bool list_has(const char *const *list, uint32_t n, const char *id)
{
    for (uint32_t i = 0; i < n; i++)
        if (text_equal(list[i], id))
            return true;
    return false;
}

static bool is_available(const struct slot_set *aim, const char *const *available, uint32_t n)
{
    for (uint32_t i = 0; i < aim->n; i++)
        if (!list_has(available, n, aim->ids[i]))
            return false;
    return aim->n > 0;
}

bool steering_awaits(struct steering *g, const char *resource, uint32_t n, bool lost_too, int64_t now_ms)
{
    struct cursor at = {0, 0};
    g->now_ms = now_ms;
    all_wait_again(g, now_ms - STEERING_UNSETTLED_MS);
    for (const struct want *w; n && (w = want_next(g, &at, WAITING, resource, n, NULL));)
        if (lost_too || !w->again)
            return true;
    return false;
}

bool steering_prefer(struct steering *g, struct arena *a, const char *resource, const char *const *available, uint32_t available_n,
                     uint32_t size, int64_t now_ms, const char ***ret_slots)
{
    struct cursor at = {0, 0};
    const struct want *first = NULL;
    g->now_ms = now_ms;
    all_wait_again(g, now_ms - STEERING_UNSETTLED_MS);
    for (const struct want *w; size && (w = want_next(g, &at, WAITING, resource, size, NULL));) {
        first = first ? first : w;
        if (!limits_equal(w->limits, first->limits) || !is_available(&w->aim, available, available_n))
            continue; /* only siblings of the first in line: steering_admit gives the limits of the first */
        const char **slots = arena_alloc(a, size * sizeof *slots);
        for (uint32_t i = 0; i < size; i++)
            slots[i] = arena_text(a, w->aim.ids[i]);
        *ret_slots = slots;
        return true;
    }
    return false;
}

/* The want that waits and for which this slot was chosen; NULL none. */
static struct want *reserved_for(const struct steering *g, const char *resource, const char *slot, int64_t now_ms, struct pod **ret_pod)
{
    struct cursor at = {0, 0};
    for (struct want *w; (w = want_next(g, &at, WAITING, resource, 0, ret_pod));)
        if (now_ms - w->since_ms < STEERING_RESERVE_MS && slot_set_has(&w->aim, slot))
            return w;
    return NULL;
}

/* As free as that: chosen for nobody who waits; or for one with the same limits who may be asking; or for anybody. */
static bool is_free_for(const struct steering *g, const char *resource, const char *slot, uint32_t size, int64_t now_ms, int level)
{
    struct cursor at = {0, 0};
    const struct want *w = reserved_for(g, resource, slot, now_ms, NULL);
    const struct want *first = level == 1 ? want_next(g, &at, WAITING, resource, size, NULL) : NULL;
    return !w || level == 2 || (first && w->n == size && limits_equal(w->limits, first->limits));
}

uint32_t steering_unreserved(const struct steering *g, struct arena *a, const char *resource, const char *const *available,
                             uint32_t available_n, uint32_t size, int64_t now_ms, const char ***ret_slots)
{
    uint32_t n = 0;
    *ret_slots = arena_alloc(a, (available_n + 1) * sizeof **ret_slots);
    for (int level = 0; level == 0 || (n < size && level < 3); level++) {
        n = 0;
        for (uint32_t i = 0; i < available_n; i++)
            if (is_free_for(g, resource, available[i], size, now_ms, level))
                (*ret_slots)[n++] = available[i];
    }
    return n;
}

static int check_who_asks(const struct steering *g, const char *resource, uint32_t n, struct want **ret_first, struct pod **ret_pod,
                          bool *ret_alone, struct err *e)
{
    struct cursor at = {0, 0};
    struct pod *pod, *other;
    struct want *first = want_next(g, &at, WAITING, resource, n, &pod);
    *ret_first = first;
    *ret_pod = first ? pod : NULL;
    *ret_alone = first && !sibling_find(g, first, ADMITTED, NULL); /* else that one may still wait, marked in the place of `first` */
    for (struct want *w; first && (w = want_next(g, &at, WAITING, resource, n, &other));) {
        *ret_alone = false;
        if (!limits_equal(w->limits, first->limits))
            return err_set(e, E_CONFLICT,
                           "pods %s/%s and %s/%s both wait for %u of %s with different limits, and the kubelet does not say which of them it "
                           "asks for: start one after the other",
                           pod->ns, pod->name, other->ns, other->name, n, resource);
    }
    return 0;
}

int steering_admit(struct steering *g, const char *resource, const char *const *slots, uint32_t n, int64_t now_ms,
                   struct allocate_limits *ret_limits, const char **ret_ns, const char **ret_pod, struct err *e)
{
    struct want *taker;
    struct pod *pod, *other;
    bool alone;
    g->now_ms = now_ms;
    all_wait_again(g, now_ms - STEERING_UNSETTLED_MS);
    int r = check_who_asks(g, resource, n, &taker, &pod, &alone, e);
    if (r < 0)
        return r;
    struct allocate_limits limits = taker ? taker->limits : (struct allocate_limits){0};
    for (uint32_t i = 0; i < n; i++) {
        const struct want *w = reserved_for(g, resource, slots[i], now_ms, &other);
        if (w && !limits_equal(w->limits, limits))
            return err_set(e, E_CONFLICT, "slot %s of %s was chosen for pod %s/%s, which waits for it with other limits", slots[i],
                           resource, other->ns, other->name);
    }
    tombstones_drop(g, resource, slots, n);
    struct slot_set taken = slot_set_make(slots, n);
    answer_add(g, resource, &taken, limits);
    struct cursor at = {0, 0};
    for (struct want *w; (w = want_next(g, &at, WAITING, resource, n, NULL));) {
        if (slot_set_equal(&w->aim, &taken)) { /* that one, or a sibling of it */
            taker = w;
            break;
        }
    }
    if (taker) {
        sibling_may_have(g, taker);
        slot_set_free(&taker->taken);
        taker->taken = taken;
        taker->state = ADMITTED;
        taker->since_ms = now_ms;
    } else {
        slot_set_free(&taken);
    }
    *ret_limits = limits;
    *ret_ns = alone && pod ? pod->ns : "";
    *ret_pod = alone && pod ? pod->name : "";
    return 0;
}

/* ---- reports ---- */

/* w has slots that were chosen for another container: that one takes w's slots, or those of a third one. */
static bool is_exchange(const struct steering *g, const struct want *w)
{
    for (uint32_t i = 0; i < g->pods_n; i++) {
        for (uint32_t k = 0; k < g->pods[i]->wants_n; k++) {
            const struct want *other = &g->pods[i]->wants[k];
            if (other != w && text_equal(other->resource, w->resource) && limits_equal(other->limits, w->limits) &&
                slot_set_equal(&other->origin, &w->taken))
                return true;
        }
    }
    return false;
}

uint32_t steering_differences(struct steering *g, struct arena *a, struct steering_difference **ret_list)
{
    uint32_t n = 0, room = 1;
    for (uint32_t i = 0; i < g->pods_n; i++)
        room += g->pods[i]->wants_n;
    struct steering_difference *list = arena_zero(a, room, sizeof *list);
    for (uint32_t i = 0; i < g->pods_n; i++) {
        struct pod *p = g->pods[i];
        for (uint32_t k = 0; k < p->wants_n; k++) {
            struct want *w = &p->wants[k];
            if (w->state != SETTLED || w->told || !w->chosen.n || slot_set_equal(&w->chosen, &w->taken))
                continue;
            w->told = true;
            if (is_exchange(g, w))
                continue;
            _cleanup_buf_ struct buf given = {0};
            for (uint32_t s = 0; s < w->taken.n; s++)
                buf_printf(&given, "%s%s", s ? "," : "", w->taken.ids[s]);
            list[n++] = (struct steering_difference){arena_text(a, p->ns), arena_text(a, p->name), arena_text(a, p->uid),
                                                     arena_text(a, w->container), arena_text(a, w->resource),
                                                     arena_text(a, w->chosen_text), arena_text(a, given.data)};
        }
    }
    *ret_list = list;
    return n;
}

uint32_t steering_wrong_limits(struct steering *g, struct arena *a, struct steering_wrong_limits **ret_list)
{
    uint32_t n = 0, room = 1;
    for (uint32_t i = 0; i < g->pods_n; i++)
        room += g->pods[i]->wants_n;
    struct steering_wrong_limits *list = arena_zero(a, room, sizeof *list);
    for (uint32_t i = 0; i < g->pods_n; i++) {
        struct pod *p = g->pods[i];
        for (uint32_t k = 0; k < p->wants_n; k++) {
            struct want *w = &p->wants[k];
            if (!w->wrong)
                continue;
            w->wrong = false;
            list[n++] = (struct steering_wrong_limits){arena_text(a, p->ns), arena_text(a, p->name), arena_text(a, p->uid),
                                                       arena_text(a, w->container), arena_text(a, w->resource), w->limits, w->limits_given};
        }
    }
    *ret_list = list;
    return n;
}

/* The slots of one resource as the annotation should name them; none while a container of the pod has not got its slots. */
static struct steering_given pod_given(const struct pod *p, struct arena *a, const char *resource)
{
    struct steering_given out = {arena_text(a, resource), NULL, 0, false};
    bool whole = true;
    uint32_t room = 0;
    for (uint32_t k = 0; k < p->wants_n; k++) {
        const struct want *w = &p->wants[k];
        if (text_equal(w->resource, resource) && w->state != SETTLED)
            return out;
        whole = whole && (!text_equal(w->resource, resource) || (!w->passing && w->taken.n == w->n));
        room += w->taken.n;
    }
    out.whole = whole;
    out.slots = arena_alloc(a, (room + 1) * sizeof *out.slots);
    for (uint32_t k = 0; k < 2 * p->wants_n; k++) {
        const struct want *w = &p->wants[k % p->wants_n];
        if (!text_equal(w->resource, resource) || w->passing != (k >= p->wants_n))
            continue;
        for (uint32_t i = 0; i < w->taken.n; i++)
            if (!list_has(out.slots, out.n, w->taken.ids[i]))
                out.slots[out.n++] = arena_text(a, w->taken.ids[i]);
    }
    return out;
}

uint32_t steering_given(const struct steering *g, struct arena *a, const char *uid, struct steering_given **ret_list)
{
    const struct pod *p = pod_find(g, uid, NULL);
    struct steering_given *list = arena_zero(a, p ? p->wants_n + 1 : 1, sizeof *list);
    uint32_t n = 0;
    for (uint32_t k = 0; p && k < p->wants_n; k++) {
        bool seen = false;
        for (uint32_t i = 0; i < k && !seen; i++)
            seen = text_equal(p->wants[i].resource, p->wants[k].resource);
        if (!seen && (list[n] = pod_given(p, a, p->wants[k].resource)).n)
            n++;
    }
    *ret_list = list;
    return n;
}

uint32_t steering_waiting(const struct steering *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->pods_n; i++) {
        for (uint32_t k = 0; k < g->pods[i]->wants_n; k++)
            n += g->pods[i]->wants[k].state != SETTLED;
    }
    return n;
}

struct steering *steering_new(void)
{
    return mem_zero(1, sizeof(struct steering));
}

void steering_free(struct steering *g)
{
    if (!g)
        return;
    for (uint32_t i = 0; i < g->pods_n; i++)
        pod_free(g->pods[i]);
    for (uint32_t i = 0; i < LIMIT_ANSWERS; i++)
        answer_clear(&g->answers[i]);
    while (g->tombstones_n)
        tombstone_remove(g, g->tombstones_n - 1);
    free(g->pods);
    free(g);
}
