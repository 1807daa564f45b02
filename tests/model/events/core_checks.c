/* core_checks.c - admission checks of queues, controllers that answer them early, late, never or in another way, and who else reserves
 *
 * The part of the scheduler in them that is no decision is played here too: checks are listed and reset, who was rejected is deactivated.
 */
#include "core_model.h"

/* ---- what is demanded ---- */

bool check_demanded(const struct cluster *c, int queue, int check, int8_t choices[SETS][RES_N])
{
    bool any = false, named = false;
    for (int s = 0; s < SETS; s++)
        for (int r = 0; r < RES_N; r++) {
            any |= choices[s][r] >= 0;
            named |= choices[s][r] >= 0 && (c->queues[queue].check_flavors >> choices[s][r] & 1);
        }
    return c->queues[queue].exists && c->queues[queue].checks[check] && (check ? named : any);
}

bool checks_answered(const struct cluster *c, const struct m_gang *g)
{
    for (int i = 0; i < CHECKS; i++) {
        bool counts = c->queues[g->admitted_queue].exists ? check_demanded(c, g->admitted_queue, i, (int8_t(*)[RES_N])g->choices)
                                                          : g->checks[i] >= 0;
        if (counts && g->checks[i] != CHECK_READY)
            return false;
    }
    return true;
}

void list_checks(const struct cluster *c, struct m_gang *g)
{
    for (int i = 0; i < CHECKS && g->admitted; i++)
        if (g->checks[i] < 0 && check_demanded(c, g->admitted_queue, i, g->choices))
            g->checks[i] = CHECK_PENDING;
}

void reset_checks(struct model *m, struct m_gang *g)
{
    for (int i = 0; i < CHECKS; i++) {
        if (g->checks[i] == CHECK_RETRY)
            g->not_before_ms = m->life.w.now_ms + pick(m, 3000);
        if (g->checks[i] >= 0)
            g->checks[i] = CHECK_PENDING;
    }
}

/* ---- what happens ---- */

/* Somebody gives a gang that waits the first flavors of its queue, whether there is quota or not. */
static void reserve_by_hand(struct model *m)
{
    int slot = (int)pick(m, GANGS);
    struct m_gang *g = &m->api.gangs[slot];
    int q = g->exists && g->type == TYPE_PLANNED ? local_queue_of(&m->api, g) : -1;
    if (q < 0 || g->admitted || g->finished || !g->active)
        return;
    const struct layout_group *groups = layouts[m->api.queues[q].layout];
    for (int s = 0; s < g->sets_n && s < SETS; s++)
        for (int group = 0; group < 2; group++)
            for (int r = 0; r < RES_N; r++)
                if (groups[group].covers[r] && g->sets[s].kind.ask[r])
                    g->choices[s][r] = (int8_t)groups[group].flavors[0];
    g->admitted = g->reserved_only = g->foreign = true;
    g->admitted_queue = q;
    g->generation++;
    list_checks(&m->api, g);
    note(m, "gang %u: quota is reserved by hand", g->serial);
    changed(m, OBJ_GANG, slot);
}

/* Somebody reserves once more what was told to leave and has not given its quota back. */
static void reserve_what_leaves(struct model *m)
{
    int slot = (int)pick(m, GANGS);
    struct m_gang *g = &m->api.gangs[slot];
    const struct m_gang *seen = &m->life.seen.gangs[slot];
    if (!g->exists || !g->evicting || !g->admitted || !g->reserved_only || g->finished || !g->active || seen->serial != g->serial ||
        !seen->evicting)
        return;
    g->evicting = false;
    g->foreign = true;
    g->generation++;
    note(m, "gang %u: what it has to give back is reserved by hand", g->serial);
    changed(m, OBJ_GANG, slot);
}

void random_checks(struct model *m)
{
    int slot = (int)pick(m, VOLCANO_QUEUE), check = (int)pick(m, CHECKS);
    struct m_gang *g = &m->api.gangs[pick(m, GANGS)];
    uint32_t what = pick(m, 10);
    if (what < 4) {
        m->api.queues[slot].checks[check] = !m->api.queues[slot].checks[check];
        note(m, "queue q%d: check c%d %d", slot, check, m->api.queues[slot].checks[check]);
        changed(m, OBJ_QUEUE, slot);
    } else if (what < 6) {
        reserve_by_hand(m);
        for (int i = 0; i < GANGS; i++)
            reserve_what_leaves(m);
    } else if (g->exists && g->type == TYPE_PLANNED && g->checks[check] >= 0 && !g->evicting) { /* whatever it said, running or not */
        g->checks[check] = (int8_t)(chance(m, 300) ? CHECK_RETRY : chance(m, 300) ? CHECK_REJECTED : (int)pick(m, 2));
        g->generation++;
        note(m, "gang %u: check c%d is %d now", g->serial, check, g->checks[check]);
        changed(m, OBJ_GANG, (int)(g - m->api.gangs));
    }
}

/* One that never answers: some gangs wait for ever, and all others go on. */
static bool is_silent(const struct m_gang *g, int check)
{
    return (g->serial + (uint32_t)check) % 6 == 0;
}

/* Others have reserved it, or its second check has said that machines come. */
bool starts_without_places(const struct m_gang *g)
{
    return g->foreign || (g->serial % 3 == 0 && g->checks[1] == CHECK_READY);
}

static void answer_checks(struct model *m, int slot, bool all)
{
    struct m_gang *g = &m->api.gangs[slot];
    const struct m_gang before = *g;
    list_checks(&m->api, g);
    bool rejected = false;
    for (int i = 0; i < CHECKS; i++) {
        if (g->checks[i] == CHECK_PENDING && !is_silent(g, i) && (all || chance(m, 150)))
            g->checks[i] = (int8_t)(all || chance(m, 800) ? CHECK_READY : chance(m, 700) ? CHECK_RETRY : CHECK_REJECTED);
        rejected |= g->checks[i] == CHECK_REJECTED;
    }
    if (rejected && (all || chance(m, 500)))
        g->active = false;
    if (memcmp(&before, g, sizeof before) == 0)
        return;
    g->generation++;
    note(m, "gang %u: checks %d %d, active %d", g->serial, g->checks[0], g->checks[1], g->active);
    changed(m, OBJ_GANG, slot);
}

void check_controllers(struct model *m, bool all)
{
    for (int i = 0; i < GANGS; i++) {
        const struct m_gang *g = &m->api.gangs[i];
        if (g->exists && g->type == TYPE_PLANNED && g->admitted && !g->evicting && !g->finished)
            answer_checks(m, i, all);
    }
}

/* ---- what must hold ---- */

void oracle_reserve(struct model *m, const struct life *l, const struct plan_entry *e, int slot)
{
    const struct m_gang *g = &l->seen.gangs[slot];
    int8_t choices[SETS][RES_N];
    int queue = -1, demanded_n = 0, ready_n = 0;
    char key[40];
    for (int i = 0; i < QUEUES; i++)
        queue = e->queue == queue_id(l, i) ? i : queue;
    if (queue < 0)
        return;
    memset(choices, -1, sizeof choices);
    for (uint32_t i = 0; i < e->choices_n; i++)
        for (int f = 0; f < FLAVORS; f++)
            for (int r = 0; r < RES_N; r++)
                if (!strcmp(intern_name(l->w.names, e->choices[i].flavor), flavor_names[f]) &&
                    !strcmp(intern_name(l->w.names, e->choices[i].resource), resource_names[r]) && e->choices[i].pod_set < SETS)
                    choices[e->choices[i].pod_set][r] = (int8_t)f;
    for (int i = 0; i < CHECKS; i++) {
        bool demanded = check_demanded(&l->seen, queue, i, choices);
        demanded_n += demanded;
        ready_n += demanded && g->checks[i] == CHECK_READY;
    }
    if (e->effect == EFFECT_RESERVE && !demanded_n)
        die(m, "%s is given quota only, though no check is demanded of it", gang_key(g, key));
    if (e->effect == EFFECT_ADMIT && l->seen.queues[queue].exists && ready_n < demanded_n)
        die(m, "%s is admitted with %d of %d checks ready", gang_key(g, key), ready_n, demanded_n);
}

/* All checks are ready, and there is room: it starts. */
void nobody_waits_behind_checks(struct model *m)
{
    struct fit_node room;
    room_left(&m->api, NULL, &room);
    for (int i = 0; i < GANGS; i++) {
        const struct m_gang *g = &m->api.gangs[i];
        struct wish wishes[SETS];
        char key[40], text[40];
        if (!g->exists || g->type != TYPE_PLANNED || !g->admitted || g->finished || !g->reserved_only ||
            !checks_answered(&m->api, g))
            continue;
        for (int s = 0; s < g->sets_n; s++) {
            wishes[s] = (struct wish){.kind = g->sets[s].kind, .count = set_needs(&g->sets[s])};
            for (int r = 0; r < RES_N; r++)
                wishes[s].flavors |= g->choices[s][r] >= 0 ? 1 << g->choices[s][r] : 0;
        }
        snprintf(text, sizeof text, "%s", gang_key(g, key));
        if (starts_without_places(g) || brute_place(&m->api, &room, wishes, g->sets_n) == 1)
            die(m, "%s has quota, its checks are ready and there is room, but it waits: %s", text, why(&m->life.w, text));
    }
}
