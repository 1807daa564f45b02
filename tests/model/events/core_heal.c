/* core_heal.c - pod groups that run, lose members, and get others in their stead: by chance alone few are whole long enough to be broken;
 * gangs that ask for a restart */
#include "core_model.h"

static void bring_members(struct model *m, int slot)
{
    const struct m_gang *g = &m->api.gangs[slot];
    for (int i = 0; i < g->sets_n; i++) {
        struct members n = members_of(m, slot, g->sets[i].name);
        for (; n.live + n.succeeded < g->sets[i].count && chance(m, 700); n.live++)
            new_member(m, slot, i);
    }
}

/* All are needed, so that none may be missing; or as many as it says. */
static void ask(struct model *m, int slot)
{
    struct m_gang *g = &m->api.gangs[slot];
    int members = 0;
    for (int i = 0; i < g->sets_n; i++)
        members += g->sets[i].count;
    g->min_members = chance(m, 700) ? members : g->min_members;
    g->refill_s = chance(m, 500) ? 0 : 1 + (int)pick(m, 90);
    floor_draw(m, g);
    note(m, "gang %u needs %d, and is to be evicted when broken for %d s", g->serial, g->min_members, g->refill_s);
    changed(m, OBJ_GANG, slot);
}

static void lose_member(struct model *m, int slot)
{
    int bound[PODS], n = 0;
    for (int i = 0; i < PODS; i++) {
        const struct m_pod *p = &m->api.pods[i];
        if (p->exists && p->gang == slot && p->gang_serial == m->api.gangs[slot].serial && p->node >= 0 && p->phase < POD_SUCCEEDED)
            bound[n++] = i;
    }
    if (n < 2)
        return;
    int at = bound[pick(m, (uint32_t)n)];
    note(m, "gang %u loses p%u", m->api.gangs[slot].serial, m->api.pods[at].name);
    if (chance(m, 400))
        m->api.pods[at].phase = POD_FAILED;
    else
        m->api.pods[at].exists = false;
    changed(m, OBJ_POD, at);
}

static void ask_for_restart(struct model *m, int slot)
{
    struct m_gang *g = &m->api.gangs[slot];
    g->restart_ms = m->life.w.now_ms - pick(m, 3000);
    note(m, "gang %u asks for a restart", g->serial);
    changed(m, OBJ_GANG, slot);
}

static void heal(struct model *m, int slot)
{
    uint32_t what = pick(m, 10);
    if (what < 6)
        bring_members(m, slot);
    else if (what < 8)
        lose_member(m, slot);
    else if (what < 9)
        ask(m, slot);
}

void random_heal(struct model *m)
{
    if (m->seed % 4 != 1 || model_leaves_out("heal"))
        return;
    for (int slot = 0; slot < GANGS; slot++) {
        const struct m_gang *g = &m->api.gangs[slot];
        if (g->exists && g->type != TYPE_PLANNED && !g->finished && chance(m, 400))
            heal(m, slot);
        if (g->exists && chance(m, 5) && !model_leaves_out("restarts"))
            ask_for_restart(m, slot);
    }
}
