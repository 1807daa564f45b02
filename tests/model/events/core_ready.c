/* core_ready.c - pods that must be ready in time: what controllers say of them, what the server counts, and what must hold of it */
#include "core_model.h"

enum { LATE_AT_REST_MS = 20000 }; /* more than one round of core_rest.c */

void ready_policy(struct model *m)
{
    struct ready_policy *p = &m->ready;
    if (chance(m, 400))
        return; /* nobody waits */
    /* WHY it ends: pods that a webhook has enlarged never find a place, and a world with them would never come to rest */
    *p = (struct ready_policy){.timeout_ms = 1000 * (3 + pick(m, 18)), .recovery_ms = chance(m, 700) ? 1000 * (3 + pick(m, 10)) : 0,
                               .block_admission = chance(m, 500), .requeue_by_creation = chance(m, 300),
                               .retries_most = (int32_t)pick(m, 4),
                               .backoff_ms = 1000 * pick(m, 4), .backoff_most_ms = 1000 * pick(m, 30)};
}

/* ---- the job controller, and the server ---- */

static bool all_ready(const struct model *m, int slot)
{
    const struct m_gang *g = &m->api.gangs[slot];
    int want = 0, ready = 0;
    for (int i = 0; i < g->sets_n; i++)
        want += set_needs(&g->sets[i]);
    for (int i = 0; i < PODS; i++)
        ready += is_member(&m->api.pods[i], g, slot) && !m->api.pods[i].deleting &&
                 (m->api.pods[i].phase == POD_RUNNING || m->api.pods[i].phase == POD_SUCCEEDED);
    return ready >= want;
}

void ready_say(struct model *m, int slot)
{
    struct m_gang *g = &m->api.gangs[slot];
    if (!g->exists || !g->admitted || g->reserved_only || g->evicting || g->finished)
        return;
    bool ready = all_ready(m, slot);
    if (ready == (g->pods == PODS_READY) || (!ready && g->pods != PODS_READY))
        return;
    g->pods = ready ? PODS_READY : PODS_RECOVER;
    g->unready_ms = m->life.w.now_ms - m->life.w.now_ms % 1000;
    note(m, "gang %u: its pods are %s", g->serial, ready ? "ready" : "ready no more");
    changed(m, OBJ_GANG, slot);
}

void ready_begin(const struct model *m, struct m_gang *g)
{
    g->pods = PODS_START;
    g->admitted_ms = m->life.w.now_ms - m->life.w.now_ms % 1000;
}

void ready_end(struct m_gang *g)
{
    g->pods = PODS_START;
    g->unready_ms = g->admitted_ms = 0;
}

/* The eviction and what it counts are one write. */
void ready_count(struct model *m, struct m_gang *g, const struct write *w)
{
    char key[40];
    if (w->deactivates) {
        g->active = false;
        g->retries_n = 0;
    } else if (w->retries_n) {
        if (w->retries_n != g->retries_n + 1)
            die(m, "%s has been evicted %d times, and is counted as %d", gang_key(g, key), g->retries_n, w->retries_n);
        g->retries_n = w->retries_n;
        g->not_before_ms = w->again_ms > g->not_before_ms ? w->again_ms : g->not_before_ms;
        g->created_ms = m->ready.requeue_by_creation ? g->created_ms : m->life.w.now_ms - m->life.w.now_ms % 1000;
    }
}

/* ---- what must hold ---- */

/* 0: it may take its time. */
static int64_t due_ms(const struct model *m, const struct m_gang *g)
{
    const struct ready_policy *p = &m->ready;
    if (!p->timeout_ms || g->type != TYPE_PLANNED || !g->exists || !g->admitted || g->reserved_only || g->evicting || g->finished)
        return 0;
    if (g->pods == PODS_START)
        return g->admitted_ms + p->timeout_ms;
    return g->pods == PODS_RECOVER && p->recovery_ms ? g->unready_ms + p->recovery_ms : 0;
}

static void check_evicted(struct model *m, const struct life *l, const struct plan_entry *e, const struct m_gang *g)
{
    const struct ready_policy *p = &m->ready;
    bool last = p->retries_most >= 0 && g->retries_n >= p->retries_most;
    int64_t due = due_ms(m, g), pause_ms = p->backoff_ms;
    char key[40];
    if (!due || due > l->w.now_ms)
        die(m, "%s is evicted before its pods must be ready", gang_key(g, key));
    if (last != (e->reason->code == REASON_RETRIES_EXCEEDED))
        die(m, "%s was evicted %d times, and is %s", gang_key(g, key), g->retries_n, last ? "evicted again" : "deactivated");
    for (int i = 0; i < g->retries_n; i++)
        pause_ms *= 2;
    if (!last && e->reason->have != l->w.now_ms + (pause_ms < p->backoff_most_ms ? pause_ms : p->backoff_most_ms))
        die(m, "%s is kept out until %" PRId64, gang_key(g, key), e->reason->have);
}

static bool holds_unready(const struct life *l, const struct m_gang *g)
{
    enum gang_phase phase = phase_of(l, g);
    return g->exists && g->type == TYPE_PLANNED && g->pods != PODS_READY && phase >= GANG_CHECKING && phase <= GANG_LEAVING;
}

static int slot_named(const struct life *l, name_id name)
{
    char key[40];
    for (int i = 0; i < GANGS; i++)
        if (!strcmp(gang_key(&l->seen.gangs[i], key), intern_name(l->w.names, name)))
            return i;
    return -1;
}

/* It had its quota before this decision: what it is given now are places. */
static bool was_reserved(const struct plan *p, uint32_t at, const struct life *l, int slot)
{
    for (uint32_t i = 0; i < at; i++)
        if (p->entries[i].effect == EFFECT_RESERVE && p->entries[i].gang == p->entries[at].gang)
            return true;
    return l->reserved[slot] == l->seen.gangs[slot].serial || (l->seen.gangs[slot].admitted && l->seen.gangs[slot].reserved_only);
}

void ready_check_plan(struct model *m, const struct life *l)
{
    const struct plan *p = &l->w.plan;
    char a[40], b[40];
    for (uint32_t i = 0; i < p->entries_n; i++) {
        const struct plan_entry *e = &p->entries[i];
        int slot = slot_named(l, e->gang);
        const struct m_gang *g = &l->seen.gangs[slot < 0 ? 0 : slot];
        if (slot < 0)
            continue;
        if (e->effect == EFFECT_EVICT && (e->reason->code == REASON_PODS_TIMEOUT || e->reason->code == REASON_RETRIES_EXCEEDED))
            check_evicted(m, l, e, g);
        bool lets_in = e->effect == EFFECT_RESERVE || (e->effect == EFFECT_ADMIT && !was_reserved(p, i, l, slot));
        if (!lets_in || g->type != TYPE_PLANNED || !m->ready.block_admission)
            continue;
        for (int k = 0; k < GANGS; k++)
            if (k != slot && holds_unready(l, &l->seen.gangs[k]))
                die(m, "%s is admitted, but %s is not ready", gang_key(g, a), gang_key(&l->seen.gangs[k], b));
    }
}

bool ready_stands_still(const struct model *m)
{
    bool any = false;
    for (int i = 0; i < GANGS; i++)
        any |= holds_unready(&m->life, &m->api.gangs[i]);
    return any && m->ready.block_admission;
}

void ready_check_rest(struct model *m)
{
    char key[40];
    for (int i = 0; i < GANGS; i++) {
        int64_t due = due_ms(m, &m->api.gangs[i]);
        if (due && due + LATE_AT_REST_MS <= m->life.w.now_ms)
            die(m, "%s is late by %" PRId64 " ms, and nobody evicts it", gang_key(&m->api.gangs[i], key), m->life.w.now_ms - due);
    }
}
