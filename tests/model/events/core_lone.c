/* core_lone.c - pods of no queue: who leaves for whom, and that nobody waits in vain */
#include "core_model.h"
#include "core/state/model.h"

static int slot_of(const struct cluster *c, const char *key)
{
    char text[40];
    for (int i = 0; i < PODS; i++)
        if (c->pods[i].exists && !strcmp(pod_gang_key(&c->pods[i], text), key))
            return i;
    return -1;
}

static bool is_waiting(const struct m_pod *p)
{
    return p->exists && p->gang < 0 && !p->foreign && !p->gated && !p->deleting && p->node < 0 && p->phase == POD_PENDING;
}

static bool may_go(const struct m_pod *p, const struct assumed *assumed, int node, int priority)
{
    int at = p->node >= 0 ? p->node : assumed && assumed->serial == p->serial ? assumed->node : -1;
    return p->exists && p->gang < 0 && !p->foreign && !p->gated && at == node && p->phase < POD_SUCCEEDED && p->priority < priority;
}

static bool fits(const struct cluster *c, const struct assumed *assumed, const struct m_pod *p, int node)
{
    struct fit_node room;
    bool fits = kind_may_stand(&p->kind, 0, &c->nodes[node]) && neighbours_allow(c, assumed, p, node);
    room_left(c, assumed, &room);
    for (int r = 0; r < RES_N; r++)
        fits &= !p->kind.ask[r] || p->kind.ask[r] <= room.left[node][r];
    if (fits && c->nodes[node].shared)
        fits = share_most(&p->kind, &room.share[node], 1) == 1;
    return fits && (c->nodes[node].shared || (!p->kind.milli && !p->kind.gib));
}

/* All of lower priority are gone from the node. */
static bool would_fit(const struct cluster *c, const struct assumed *assumed, const struct m_pod *p, int node, bool *ret_any)
{
    static struct cluster without;
    without = *c;
    *ret_any = false;
    for (int i = 0; i < PODS; i++)
        if (may_go(&c->pods[i], assumed ? &assumed[i] : NULL, node, p->priority)) {
            without.pods[i].exists = false;
            *ret_any = true;
        }
    return fits(&without, assumed, p, node);
}

void lone_check_victim(struct model *m, const struct life *l, const struct plan_entry *e)
{
    const char *victim_key = intern_name(l->w.names, e->gang), *key = intern_name(l->w.names, e->reason->name);
    int victim = slot_of(&l->seen, victim_key), by = slot_of(&l->seen, key);
    if (e->reason->code != REASON_PREEMPTED || e->reason->have != PREEMPTION_BY_PRIORITY)
        die(m, "%s is evicted for no reason", victim_key);
    int node = (int)strtol(intern_name(l->w.names, e->reason->flavor) + 1, NULL, 10);
    if (victim < 0 || by < 0 || !is_waiting(&l->seen.pods[by]))
        die(m, "%s is evicted for %s, which does not wait", victim_key, key);
    const struct m_pod *p = &l->seen.pods[by];
    bool any;
    if (p->never)
        die(m, "%s preempts %s, though it preempts nobody", key, victim_key);
    if (!may_go(&l->seen.pods[victim], &l->assumed[victim], node, p->priority))
        die(m, "%s preempts %s, which is no pod of lower priority on n%d", key, victim_key, node);
    if (l->seen.pods[victim].deleting)
        die(m, "%s preempts %s, which is deleted already", key, victim_key);
    if (!would_fit(&l->seen, l->assumed, p, node, &any))
        die(m, "%s preempts %s, but would not fit on n%d with all of lower priority gone", key, victim_key, node);
}

void lone_write_nominated(struct model *m, const struct plan_entry *e)
{
    const struct reason *r = e->reason ? reason_find(e->reason, REASON_PREEMPTING) : NULL;
    int slot = e->source == GANG_POD ? slot_of(&m->api, intern_name(m->life.w.names, e->gang)) : -1;
    if (slot < 0 || (m->faults && chance(m, 100)))
        return;
    int node = r ? 1 + (int)strtol(intern_name(m->life.w.names, r->name) + 1, NULL, 10) : 0;
    if (m->api.pods[slot].nominated != node) {
        m->api.pods[slot].nominated = node;
        changed(m, OBJ_POD, slot);
    }
}

/* By a start that is promised to somebody in front of it. */
static bool is_kept_out(const struct model *m, const struct reason *r)
{
    const struct reason *kept = r ? reason_find(r, REASON_KEPT_OUT) : NULL;
    struct booking_record b;
    return kept && state_gang_booking(m->life.w.s, kept->name, &b) && b.start_ms == kept->have && b.start_ms > m->life.w.s->now_ms;
}

void lone_rest_check(struct model *m)
{
    for (int i = 0; i < PODS; i++) {
        const struct m_pod *p = &m->api.pods[i];
        char key[40];
        pod_gang_key(p, key);
        const struct reason *r = is_waiting(p) ? state_gang_reason(m->life.w.s, id(&m->life.w, key)) : NULL;
        const struct reason *lack = r ? reason_find(r, REASON_NO_PREEMPTION) : NULL;
        for (int n = 0; n < NODES && is_waiting(p) && !is_kept_out(m, r); n++) {
            bool any;
            if (fits(&m->api, NULL, p, n))
                die(m, "%s fits on n%d, but waits: %s", key, n, why(&m->life.w, key));
            /* WHY  what would be free where a device was given twice is not known: nobody is told to go there */
            if (!p->never && !has_device_twice(&m->api, n) && would_fit(&m->api, NULL, p, n, &any) && any &&
                !(lack && lack->have == LACK_PATIENCE))
                die(m, "%s waits, though those of lower priority on n%d are enough: %s", key, n, why(&m->life.w, key));
        }
    }
}
