/* core_answers.c - what the core decided becomes writes; the server takes, refuses or loses them; answers come back, or not
 *
 * A write that did not land is always answered in the end (a client's time runs out); one that landed may never be: then its record tells.
 */
#include "core_model.h"

static void answer(struct model *m, enum effect effect, enum outcome how, const char *gang, const char *pod)
{
    if (m->answers_n == ANSWERS)
        die(m, "too many answers under way");
    struct answer *a = &m->answers[m->answers_n++];
    *a = (struct answer){.effect = effect, .outcome = how, .due = m->step + (m->faults && chance(m, 300) ? pick(m, 6) : 0),
                         .twice = m->faults && chance(m, 20)};
    snprintf(a->gang, sizeof a->gang, "%s", gang);
    snprintf(a->pod, sizeof a->pod, "%s", pod ? pod : "");
}

/* ---- plan -> writes ---- */

/* A status write that has not gone out yet is replaced by the next one about the same gang: then nobody answers it. */
static struct write *write_slot(struct model *m, bool of_pod, const char *gang)
{
    for (uint32_t i = 0; i < m->writes_n && !of_pod; i++)
        if (m->writes[i].pod_slot < 0 && !strcmp(m->writes[i].gang, gang) && chance(m, 500))
            return &m->writes[i];
    if (m->writes_n == WRITES)
        die(m, "too many writes under way");
    return &m->writes[m->writes_n++];
}

static int slot_of_gang(const struct cluster *c, const char *key)
{
    char text[40];
    for (int i = 0; i < GANGS; i++)
        if (!strcmp(gang_key(&c->gangs[i], text), key))
            return i;
    return -1;
}

static int slot_of_pod(const struct cluster *c, const char *key)
{
    char text[40];
    for (int i = 0; i < PODS; i++)
        if (c->pods[i].exists && !strcmp(pod_key(&c->pods[i], text), key))
            return i;
    return -1;
}

static void take_choices(const struct model *m, const struct plan_entry *e, struct write *w)
{
    memset(w->choices, -1, sizeof w->choices);
    for (uint32_t i = 0; i < e->choices_n; i++)
        for (int f = 0; f < FLAVORS; f++)
            for (int r = 0; r < RES_N; r++)
                if (!strcmp(intern_name(m->life.w.names, e->choices[i].flavor), flavor_names[f]) &&
                    !strcmp(intern_name(m->life.w.names, e->choices[i].resource), resource_names[r]) && e->choices[i].pod_set < SETS)
                    w->choices[e->choices[i].pod_set][r] = (int8_t)f;
}

static void submit_entry(struct model *m, const struct plan_entry *e)
{
    const struct life *l = &m->life;
    const char *gang = intern_name(l->w.names, e->gang);
    int slot = slot_of_gang(&l->seen, gang);
    bool planned = slot >= 0 && l->seen.gangs[slot].type == TYPE_PLANNED;
    if (e->effect == EFFECT_EXPLAIN)
        lone_write_nominated(m, e);
    if (e->effect == EFFECT_EXPLAIN && planned)
        booked_write(m, e, slot);
    if (e->effect == EFFECT_EXPLAIN || ((e->effect == EFFECT_ADMIT || e->effect == EFFECT_RESERVE) && !planned)) {
        answer(m, e->effect, m->faults && chance(m, 20) ? OUTCOME_FAILED : OUTCOME_DONE, gang, NULL);
        return;
    }
    struct write *w = write_slot(m, e->pod != 0, gang);
    *w = (struct write){.effect = e->effect, .gang_slot = slot, .pod_slot = -1, .node = -1, .queue = -1,
                        .due = m->step + (m->faults && chance(m, 300) ? pick(m, 5) : 0)};
    snprintf(w->gang, sizeof w->gang, "%s", gang);
    if (slot >= 0) {
        w->gang_serial = l->seen.gangs[slot].serial;
        w->generation = l->seen.gangs[slot].generation;
        w->queue = local_queue_of(&l->seen, &l->seen.gangs[slot]);
        for (int q = 0; q < QUEUES && e->queue; q++) /* its local queue may lead elsewhere since it was given quota */
            w->queue = e->queue == queue_id(l, q) ? q : w->queue;
    }
    if (e->effect == EFFECT_EVICT && e->reason->code == REASON_PODS_TIMEOUT) {
        w->retries_n = (int)e->reason->need;
        w->again_ms = e->reason->have;
    }
    w->deactivates = e->effect == EFFECT_EVICT && e->reason->code == REASON_RETRIES_EXCEEDED;
    take_choices(m, e, w);
    for (uint32_t i = 0; i < e->counts_n && i < SETS; i++)
        w->counts[i] = e->counts[i];
    if (e->pod) {
        w->pod_slot = slot_of_pod(&l->seen, intern_name(l->w.names, e->pod));
        w->pod_serial = l->seen.pods[w->pod_slot].serial;
    }
    if (e->effect == EFFECT_BIND) {
        w->node = (int)strtol(intern_name(l->w.names, e->node) + 1, NULL, 10);
        snprintf(w->devices, sizeof w->devices, "%s", e->devices ? e->devices : "");
    }
    m->admits_n += e->effect == EFFECT_ADMIT;
    m->reserves_n += e->effect == EFFECT_RESERVE;
    m->retries_n += e->effect == EFFECT_EVICT && e->reason->code == REASON_CHECK_RETRIED;
    m->binds_n += e->effect == EFFECT_BIND;
    m->evicts_n += e->effect == EFFECT_EVICT;
    m->preempts_n += e->effect == EFFECT_EVICT && e->reason->code == REASON_PREEMPTED;
    m->lone_n += e->effect == EFFECT_EVICT && e->source == GANG_POD;
}

void submit(struct model *m, const struct plan *p)
{
    for (uint32_t i = 0; i < p->entries_n; i++)
        submit_entry(m, &p->entries[i]);
}

/* ---- at the server ---- */

static bool land_admit(struct model *m, const struct write *w)
{
    struct m_gang *g = &m->api.gangs[w->gang_slot];
    if (!g->exists || g->serial != w->gang_serial || g->generation != w->generation || g->finished || g->evicting)
        return false;
    if (g->admitted && (w->effect == EFFECT_RESERVE || !g->reserved_only))
        return true;
    if (g->admitted) { /* its quota was told before */
        g->reserved_only = g->foreign = false;
        ready_begin(m, g);
        changed(m, OBJ_GANG, w->gang_slot);
        return true;
    }
    g->admitted = true;
    g->booked = (struct m_booked){0};
    g->reserved_only = w->effect == EFFECT_RESERVE;
    g->foreign = false;
    g->admitted_queue = w->queue;
    g->reserved_ms = m->life.w.now_ms - m->life.w.now_ms % 1000;
    memcpy(g->choices, w->choices, sizeof g->choices);
    ready_begin(m, g);
    for (int i = 0; i < g->sets_n; i++)
        g->sets[i].granted = w->counts[i];
    list_checks(&m->api, g);
    changed(m, OBJ_GANG, w->gang_slot);
    return true;
}

static bool delete_members(struct model *m, const struct write *w)
{
    bool all = true;
    for (int i = 0; i < PODS; i++) {
        struct m_pod *p = &m->api.pods[i];
        char key[40];
        if (!p->exists || strcmp(pod_gang_key(p, key), w->gang) || p->deleting || p->phase >= POD_SUCCEEDED)
            continue;
        if (m->faults && chance(m, 60)) {
            all = false;
            continue;
        }
        p->deleting = p->node >= 0;
        p->exists = p->node >= 0;
        changed(m, OBJ_POD, i);
    }
    return all;
}

static bool delete_member(struct model *m, const struct write *w)
{
    struct m_pod *p = &m->api.pods[w->pod_slot];
    if (!p->exists || p->serial != w->pod_serial)
        return false;
    p->deleting |= p->node >= 0;
    p->exists = p->node >= 0;
    changed(m, OBJ_POD, w->pod_slot);
    return true;
}

static bool land_evict(struct model *m, const struct write *w)
{
    if (w->pod_slot >= 0)
        return delete_member(m, w);
    struct m_gang *g = w->gang_slot < 0 ? NULL : &m->api.gangs[w->gang_slot];
    if (!g || g->type != TYPE_PLANNED)
        return delete_members(m, w);
    if (!g->exists || g->serial != w->gang_serial)
        return false;
    if (g->admitted && !g->finished && !g->evicting) {
        ready_count(m, g, w);
        m->late_n += w->retries_n || w->deactivates;
    }
    reset_checks(m, g);
    g->evicting = g->admitted && !g->finished; /* the job controller deletes the pods, then takes the admission back */
    changed(m, OBJ_GANG, w->gang_slot);
    return true;
}

static bool land_bind(struct model *m, const struct write *w)
{
    struct m_pod *p = &m->api.pods[w->pod_slot];
    if (!p->exists || p->serial != w->pod_serial || p->node >= 0 || p->gated || p->deleting || p->phase != POD_PENDING)
        return false;
    p->node = w->node;
    snprintf(p->devices, sizeof p->devices, "%s", w->devices);
    changed(m, OBJ_POD, w->pod_slot);
    return true;
}

static void work_write(struct model *m, const struct write *w)
{
    static const char *const words[] = {"admit", "bind", "evict", "explain", "reserve"};
    char pod[40] = "";
    if (w->pod_slot >= 0)
        pod_key(&m->api.pods[w->pod_slot], pod);
    uint32_t fate = m->faults ? pick(m, 1000) : 1000;
    if (model_leaves_out("lost") && fate >= 60)
        fate = 1000;
    struct m_pod *binds = w->effect == EFFECT_BIND ? &m->api.pods[w->pod_slot] : NULL;
    if (binds && fate >= 60 && fate < 80)
        binds->denied = true; /* before it lands, for who sees it then */
    bool landed = fate >= 60 && (w->effect == EFFECT_ADMIT || w->effect == EFFECT_RESERVE ? land_admit(m, w)
                                 : w->effect == EFFECT_EVICT ? land_evict(m, w)
                                                             : land_bind(m, w));
    note(m, "write: %s %s %s %s", words[w->effect], w->gang, pod,
         landed ? fate < 80    ? "landed, told failed"
                  : fate < 100 ? "landed, no answer"
                               : "landed"
                : "refused");
    if (binds && !landed && binds->node < 0)
        binds->denied = false;
    if (landed && fate >= 80 && fate < 100 && w->effect != EFFECT_EVICT)
        return; /* nobody ever answers; the record tells */
    answer(m, w->effect, landed && fate >= 80 ? OUTCOME_DONE : OUTCOME_FAILED, w->gang, w->pod_slot >= 0 ? pod : NULL);
}

void work_writes(struct model *m, bool all)
{
    static struct write now[WRITES];
    uint32_t now_n = 0, left_n = 0;
    for (uint32_t i = 0; i < m->writes_n; i++) {
        bool waits = !all && m->writes[i].due > m->step;
        for (uint32_t k = 0; k < left_n && !waits; k++) /* after those before it about the same gang */
            waits = !strcmp(m->writes[k].gang, m->writes[i].gang);
        if (waits)
            m->writes[left_n++] = m->writes[i];
        else
            now[now_n++] = m->writes[i];
    }
    m->writes_n = left_n;
    for (uint32_t i = 0; i < now_n; i++)
        work_write(m, &now[i]);
}

/* That a bind failed is told once more, when a later one has landed, or is under way: it is told that the pod is not bound. */
static void deny(struct model *m, const struct answer *a)
{
    int slot = a->again && a->effect == EFFECT_BIND && a->outcome == OUTCOME_FAILED ? slot_of_pod(&m->api, a->pod) : -1;
    bool binds = slot >= 0 && m->api.pods[slot].node >= 0;
    for (uint32_t i = 0; i < m->writes_n && slot >= 0; i++)
        binds |= m->writes[i].effect == EFFECT_BIND && m->writes[i].pod_slot == slot && m->writes[i].pod_serial == m->api.pods[slot].serial;
    if (binds)
        m->api.pods[slot].denied = true;
}

void work_answers(struct model *m, bool all)
{
    static struct answer now[ANSWERS];
    uint32_t now_n = 0, left_n = 0;
    for (uint32_t i = 0; i < m->answers_n; i++) {
        struct answer a = m->answers[i];
        bool due = all || a.due <= m->step;
        if (due)
            now[now_n++] = a;
        if (due && a.twice) {
            a.twice = false;
            a.again = true;
            a.due = m->step + pick(m, 8);
        }
        if (!due || (m->answers[i].twice && !all))
            m->answers[left_n++] = a;
    }
    m->answers_n = left_n;
    for (uint32_t i = 0; i < now_n; i++) {
        note(m, "answer: effect %d of %s %s: %s", now[i].effect, now[i].gang, now[i].pod,
             now[i].outcome == OUTCOME_DONE ? "done" : "failed");
        deny(m, &now[i]);
        answer_outcome(&m->life, &now[i]);
    }
}
