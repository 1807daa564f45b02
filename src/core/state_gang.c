/* state_gang.c - gangs, pods and outcomes come in */
#include "core/state_gang.h"
#include <stddef.h>
#include "base/memory.h"
#include "core/admission.h"
#include "core/order.h"

#define RETRY_FIRST_MS 50    /* a failed write is tried again at once, then after this, doubled each time */
#define RETRY_MOST_MS 10000

/* ---- gangs ---- */

static struct gang *gang_of(struct state *s, name_id key)
{
    struct gang *g = gang_find(s, key);
    if (g)
        return g;
    g = mem_zero(1, sizeof *g);
    g->key = key;
    g->names = s->names;
    MEM_RESERVE(s->gangs, s->gangs_cap, s->gangs_n + 1);
    g->gang_at = s->gangs_n;
    s->gangs[s->gangs_n++] = g;
    id_map_put(&s->gang_by_key, key, s->gangs_n); /* index + 1 */
    g->counted_queue = s->queues[0];
    return g;
}

static void drop_sets(struct state *s, struct gang *g)
{
    for (uint32_t i = 0; i < g->sets_n; i++) {
        shape_release(s, g->sets[i].shape);
        label_set_unref(&s->shapes, g->sets[i].labels);
        if (g->sets[i].placed_shape)
            shape_release(s, g->sets[i].placed_shape);
    }
    free(g->sets);
    g->sets = NULL;
    g->sets_n = 0;
}

void gang_free(struct gang *g)
{
    free(g->sets);
    free(g->min_of_task);
    free(g->members);
    free(g->seats);
    free(g->choices);
    free(g->charges);
    free(g->reason);
    free(g);
}

static void drop_reason(struct gang *g)
{
    free(g->reason);
    g->reason = NULL;
    g->reason_hash = 0;
}

static void gang_drop_if_unused(struct state *s, struct gang *g)
{
    if (g->known || g->members_n)
        return;
    order_forget(s, g);
    order_count(s, g);
    drop_sets(s, g);
    struct gang *last = s->gangs[--s->gangs_n];
    s->gangs[g->gang_at] = last;
    last->gang_at = g->gang_at;
    id_map_put(&s->gang_by_key, last->key, last->gang_at + 1);
    id_map_remove(&s->gang_by_key, g->key);
    gang_free(g);
}

/* Same pod sets as before? Then places and charges stay as they are. */
static bool take_sets(struct state *s, struct gang *g, const struct gang_record *r)
{
    struct gang_set *sets = r->pod_sets_n ? mem_zero(r->pod_sets_n, sizeof *sets) : NULL;
    bool same = r->pod_sets_n == g->sets_n;
    for (uint32_t i = 0; i < r->pod_sets_n; i++) {
        const struct pod_set *from = &r->pod_sets[i];
        sets[i] = (struct gang_set){.name = from->name, .count = from->count < 0 ? 0 : from->count};
        if (sets[i].count > LIMIT_GANG_MEMBERS)
            sets[i].count = LIMIT_GANG_MEMBERS;
        sets[i].reclaimed_n = from->reclaimed < 0 ? 0 : from->reclaimed < sets[i].count ? from->reclaimed : sets[i].count;
        sets[i].shape = shape_class_id(&s->shapes, &s->nodes, &from->shape, s->names);
        sets[i].labels = label_set_id(&s->shapes, from->shape.ns ? from->shape.ns : r->ns, from->shape.labels, from->shape.labels_n);
        same = same && sets[i].name == g->sets[i].name && sets[i].shape == g->sets[i].shape && sets[i].count == g->sets[i].count &&
               sets[i].reclaimed_n == g->sets[i].reclaimed_n && sets[i].labels == g->sets[i].labels;
        if (i < g->sets_n && sets[i].name == g->sets[i].name)
            sets[i].done_n = g->sets[i].done_n;
    }
    struct gang old = {.sets = g->sets, .sets_n = g->sets_n};
    if (same)
        for (uint32_t i = 0; i < g->sets_n; i++) {
            sets[i].placed_shape = g->sets[i].placed_shape;
            old.sets[i].placed_shape = 0;
        }
    drop_sets(s, &old);
    g->sets = sets;
    g->sets_n = r->pod_sets_n;
    return same;
}

static void take_record(struct gang *g, const struct gang_record *r)
{
    g->known = true;
    g->source = r->source;
    g->ns = r->ns;
    g->local_queue = r->local_queue;
    g->queue_name = r->queue;
    g->priority = r->priority;
    g->created_ms = r->created_ms;
    g->uid = r->uid;
    g->planned = r->planned;
    g->min_members = r->min_members;
    g->active = r->active;
    g->on_hold = r->on_hold;
    g->hold_text = r->hold_text;
    g->not_before_ms = r->not_before_ms;
    g->finished = r->finished;
    free(g->min_of_task);
    g->min_of_task = r->min_of_task_n ? mem_alloc(r->min_of_task_n * sizeof *r->min_of_task) : NULL;
    if (r->min_of_task_n)
        memcpy(g->min_of_task, r->min_of_task, r->min_of_task_n * sizeof *r->min_of_task);
    g->min_of_task_n = r->min_of_task_n;
}

/* Status writes of ours come back as changes that say nothing new: they must not wake anybody. */
static bool says_nothing_new(const struct gang *g, const struct gang_record *r)
{
    return g->known && g->source == r->source && g->ns == r->ns && g->local_queue == r->local_queue && g->queue_name == r->queue &&
           g->priority == r->priority && g->created_ms == r->created_ms && g->uid == r->uid && g->planned == r->planned &&
           g->min_members == r->min_members && g->active == r->active && g->on_hold == r->on_hold && g->hold_text == r->hold_text &&
           g->not_before_ms == r->not_before_ms && g->finished == r->finished && g->confirmed == (r->admitted && r->planned) &&
           g->min_of_task_n == r->min_of_task_n &&
           (!r->min_of_task_n || !memcmp(g->min_of_task, r->min_of_task, r->min_of_task_n * sizeof *r->min_of_task));
}

void state_apply_gang(struct state *s, const struct gang_record *r)
{
    struct gang *g = gang_of(s, r->key);
    bool nothing_new = says_nothing_new(g, r);
    bool same_sets = take_sets(s, g, r);
    if (nothing_new && same_sets)
        return;
    order_forget(s, g); /* its place in the order may change */
    take_record(g, r);
    if (g->finished) {
        admission_release(s, g);
    } else if (g->admitted && g->planned) {
        if (!same_sets)
            admission_recharge(s, g);
        if (!r->admitted && g->confirmed)
            admission_release(s, g); /* taken back by whoever writes the API; a record from before our own write says nothing */
        else
            g->confirmed |= r->admitted;
    } else if (r->admitted && g->planned) {
        admission_restore(s, g, r);
    }
    order_count(s, g);
    order_wake(s, g);
}

void state_apply_gang_gone(struct state *s, name_id key)
{
    struct gang *g = gang_find(s, key);
    if (!g)
        return;
    admission_release(s, g);
    g->known = false;
    order_forget(s, g);
    order_count(s, g);
    drop_reason(g);
    gang_drop_if_unused(s, g);
}

/* ---- pods ---- */

static bool pod_ended(const struct pod *p)
{
    return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}

bool gang_is_over(const struct state *s, const struct gang *g)
{
    if (g->finished)
        return true;
    if (g->planned || !g->members_n || g->bound_n)
        return false;
    for (uint32_t i = 0; i < g->members_n; i++)
        if (!pod_ended(&s->pods[g->members[i]]))
            return false;
    return true;
}

/* A group whose pods are all gone or ended is no longer admitted: pods that come now must be whole again before any starts. */
static void members_changed(struct state *s, struct gang *g)
{
    if (g->admitted && !g->planned && !g->bound_n)
        admission_release(s, g);
    if (gang_is_over(s, g)) {
        order_forget(s, g);
        return;
    }
    order_wake(s, g);
}

static void member_join(struct state *s, uint32_t at, struct gang *g)
{
    struct pod *p = &s->pods[at];
    p->gang = g;
    if (!g)
        return;
    MEM_RESERVE(g->members, g->members_cap, g->members_n + 1);
    p->member_at = g->members_n;
    g->members[g->members_n++] = at;
    if (p->seat) {
        g->bound_n++;
        s->seats[p->seat].gang = g;
    }
}

static void member_leave(struct state *s, uint32_t at)
{
    struct pod *p = &s->pods[at];
    struct gang *g = p->gang;
    p->gang = NULL;
    if (!g)
        return;
    uint32_t last = g->members[--g->members_n];
    g->members[p->member_at] = last;
    s->pods[last].member_at = p->member_at;
    if (p->seat) {
        g->bound_n--;
        s->seats[p->seat].gang = NULL;
    }
}

static uint32_t pod_slot(struct state *s, name_id key)
{
    uint32_t at = s->pod_hole;
    if (at) {
        s->pod_hole = s->pods[at].member_at;
    } else {
        MEM_RESERVE(s->pods, s->pods_cap, s->pods_n + 1);
        at = s->pods_n++;
    }
    s->pods[at] = (struct pod){.key = key};
    s->pods_live_n++;
    id_map_put(&s->pod_by_key, key, at);
    return at;
}

static void pod_drop(struct state *s, uint32_t at)
{
    struct pod *p = &s->pods[at];
    struct gang *g = p->gang;
    pod_end_seat(s, at);
    member_leave(s, at);
    shape_release(s, p->shape);
    label_set_unref(&s->shapes, p->labels);
    id_map_remove(&s->pod_by_key, p->key);
    *p = (struct pod){.member_at = s->pod_hole};
    s->pod_hole = at;
    s->pods_live_n--;
    if (!g)
        return;
    if (g->source == GANG_POD && !g->members_n) {
        admission_release(s, g);
        g->known = false;
    } else if (g->known) {
        members_changed(s, g);
    }
    gang_drop_if_unused(s, g);
}

static struct gang *lone_gang(struct state *s, const struct pod_record *r)
{
    buf_clear(&s->text);
    buf_text(&s->text, "pod/");
    buf_text(&s->text, intern_name(s->names, r->key));
    struct gang *g = gang_of(s, intern_id(s->names, buf_view(&s->text)));
    if (g->known && g->source != GANG_POD)
        return g;
    if (g->known && g->priority == r->priority && g->created_ms == r->created_ms && g->uid == r->uid)
        return g;
    order_forget(s, g);
    g->known = g->active = true;
    g->source = GANG_POD;
    g->priority = r->priority;
    g->created_ms = r->created_ms;
    g->uid = r->uid;
    g->ns = r->shape.ns;
    g->min_members = 1;
    order_count(s, g);
    return g;
}

/* The API's word on where the pod is. */
static void sit_where_told(struct state *s, uint32_t at, const struct pod_record *r, bool other_devices)
{
    struct pod *p = &s->pods[at];
    uint32_t node = node_table_find(&s->nodes, r->node);
    if (p->seat && s->seats[p->seat].node == node && (p->assumed || s->seats[p->seat].shape == p->shape)) {
        other_devices |= p->assumed;
        p->assumed = false; /* our own bind, now seen */
        if (other_devices)
            seat_take_told_devices(s, p->seat);
        return;
    }
    pod_leave_seat(s, at);
    node = node_table_slot(&s->nodes, r->node); /* only now: leaving may have dropped the slot of an unknown node */
    struct queue *q = p->gang && p->gang->admitted && !p->gang->planned ? p->gang->queue : NULL;
    if (p->gang && !p->gang->admitted && !p->gang->planned && p->gang->known && p->ours) {
        name_id missing;
        q = gang_asks_queue(s, p->gang, &missing);
        quota_settle(&s->quota);
    }
    int32_t set = p->gang && p->gang->planned ? pod_set_index(p->gang, p) : 0;
    uint32_t seat = seat_take(s, node, p->shape, p->labels, p->gang, set < 0 ? 0 : (uint32_t)set, false);
    pod_sit(s, at, seat);
    seat_take_told_devices(s, seat);
    if (q && !q->groups_n)
        seat_charge(s, seat, q->quota);
}

static void take_shape(struct state *s, struct pod *p, const struct pod_record *r)
{
    uint32_t shape = shape_class_id(&s->shapes, &s->nodes, &r->shape, s->names);
    uint32_t labels = label_set_id(&s->shapes, r->shape.ns, r->shape.labels, r->shape.labels_n);
    uint32_t old_shape = p->shape, old_labels = p->labels;
    p->shape = shape;
    p->labels = labels;
    if (old_shape)
        shape_release(s, old_shape);
    label_set_unref(&s->shapes, old_labels);
}

static void take_fields(struct pod *p, const struct pod_record *r)
{
    p->uid = r->uid;
    p->pod_set = r->pod_set;
    p->priority = r->priority;
    p->created_ms = r->created_ms;
    p->deleting = r->deleting;
    p->gated = r->gated;
    p->ours = r->ours;
    p->node_name = r->node;
    p->devices = r->devices;
}

/* Watch events that only touch other fields wake nobody. */
static bool same_to_gang(const struct pod *a, const struct pod *b)
{
    return a->gang == b->gang && a->pod_set == b->pod_set && a->shape == b->shape && a->labels == b->labels && a->seat == b->seat &&
           a->phase == b->phase && a->deleting == b->deleting && a->gated == b->gated && a->ours == b->ours &&
           a->priority == b->priority && a->created_ms == b->created_ms;
}

static void count_done(struct gang *g, const struct pod *p)
{
    int32_t set = g && g->planned && g->admitted ? pod_set_index(g, p) : -1;
    if (set >= 0 && g->sets[set].done_n < g->sets[set].count)
        g->sets[set].done_n++;
}

void state_apply_pod(struct state *s, const struct pod_record *r)
{
    uint32_t at = id_map_get(&s->pod_by_key, r->key);
    if (at && s->pods[at].uid != r->uid) {
        pod_drop(s, at); /* deleted and made anew between two looks */
        at = 0;
    }
    if (!at)
        at = pod_slot(s, r->key);
    struct pod *p = &s->pods[at];
    bool was_over = pod_ended(p);
    const struct pod before = *p;
    take_fields(p, r);
    take_shape(s, p, r);
    struct gang *g = r->gang ? gang_of(s, r->gang) : r->ours ? lone_gang(s, r) : NULL;
    struct gang *old = p->gang;
    if (old != g) {
        member_leave(s, at);
        member_join(s, at, g);
    }
    p->phase = (uint8_t)r->phase;
    if (pod_ended(p)) {
        if (!was_over && p->phase == POD_SUCCEEDED)
            count_done(g, p);
        pod_end_seat(s, at);
    } else if (r->node) {
        sit_where_told(s, at, r, before.devices != r->devices);
    }
    p = &s->pods[at];
    if (g && g->known && !same_to_gang(&before, p))
        members_changed(s, g);
    if (old && old != g)
        gang_drop_if_unused(s, old);
}

void state_apply_pod_gone(struct state *s, name_id key)
{
    uint32_t at = id_map_get(&s->pod_by_key, key);
    if (at)
        pod_drop(s, at);
}

/* ---- outcomes ---- */

static void retry(struct state *s, struct gang *g)
{
    if (g->failures_n < 16)
        g->failures_n++;
    order_wake(s, g);
    if (g->failures_n == 1 || !g->known || g->finished)
        return;
    int64_t wait = RETRY_FIRST_MS << (g->failures_n - 2 < 8 ? g->failures_n - 2 : 8);
    g->retry_ms = s->now_ms + (wait < RETRY_MOST_MS ? wait : RETRY_MOST_MS);
    order_park(s, g, PARK_TIME);
    struct reason why = {.code = REASON_BACKOFF, .need = g->retry_ms};
    drop_reason(g);
    g->reason = reason_copy(&why);
}

void state_apply_outcome(struct state *s, const struct outcome_record *r)
{
    struct gang *g = gang_find(s, r->gang);
    if (!g)
        return;
    if (r->outcome == OUTCOME_DONE) {
        if (r->effect == EFFECT_BIND || r->effect == EFFECT_ADMIT)
            g->failures_n = 0;
        if (r->effect == EFFECT_EVICT)
            g->confirmed = true; /* from here on a record without admission means that it is over */
        return;
    }
    uint32_t at = r->effect == EFFECT_BIND ? id_map_get(&s->pod_by_key, r->pod) : 0;
    if (r->effect == EFFECT_EVICT) {
        g->evict_sent = false;
    } else if (r->effect == EFFECT_ADMIT) {
        if (g->planned || !g->bound_n)
            admission_release(s, g);
        else
            g->say_again = true;
    } else if (at && s->pods[at].assumed) {
        pod_leave_seat(s, at);
        if (g->admitted && !g->planned && !g->bound_n)
            admission_release(s, g);
    } else if (r->effect == EFFECT_EXPLAIN) {
        g->reason_hash = 0; /* say it again next time */
        return;
    } else {
        return;
    }
    retry(s, g);
}
