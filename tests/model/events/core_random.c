/* core_random.c - what users, kubelets and job controllers do to the cluster, drawn from the seed */
#include "core_model.h"

/* ---- nodes ---- */

static void measure(struct model *m, struct m_node *n)
{
    n->measured_ms = chance(m, 800) ? m->life.w.now_ms + 26000 - pick(m, 50000) : 0; /* it counts, does soon, or does no more */
    n->margin_c = (int)pick(m, 25);
}

static void put_node(struct model *m, int slot)
{
    struct m_node *n = &m->api.nodes[slot];
    *n = (struct m_node){.exists = true, .ready = !chance(m, 80), .cordoned = chance(m, 60), .tainted = chance(m, 150),
                           .named = chance(m, 500) || m->shares, .shared = m->shares, .kind = slot % 2, .zone = slot % ZONES};
    n->room[RES_CPU] = 1000 * (4 + pick(m, 16));
    n->room[RES_GPU] = pick(m, 5) ? 1 + pick(m, 8) : 0;
    n->room[RES_NIC] = pick(m, 3);
    if (m->one_cohort) {
        n->room[RES_CPU] *= 2;
        n->room[RES_GPU] *= 2;
    }
    if (m->placements)
        measure(m, n);
    changed(m, OBJ_NODE, slot);
}

static void change_node(struct model *m)
{
    int slot = (int)pick(m, NODES);
    struct m_node *n = &m->api.nodes[slot];
    uint32_t what = pick(m, 12);
    if (m->placements && chance(m, 800))
        measure(m, n);
    if (!n->exists || what == 0) {
        note(m, "node n%d made", slot);
        put_node(m, slot); /* also under the name of one that was there a moment ago */
        return;
    }
    if (what <= 2)
        n->exists = false;
    else if (what <= 4)
        n->ready = !n->ready || chance(m, 300); /* what is broken is soon whole again, so that long runs stay lively */
    else if (what <= 6)
        n->cordoned = !n->cordoned && chance(m, 500);
    else if (what == 7)
        n->sick = !n->sick && chance(m, 500);
    else if (what == 8)
        n->room[RES_GPU] -= n->room[RES_GPU] > 0;
    else if (what == 9)
        n->room[RES_CPU] += 1000;
    else if (what == 10)
        n->tainted = !n->tainted && chance(m, 500);
    else if (chance(m, 500))
        n->zone = (int)pick(m, ZONES);
    else
        n->kind = !n->kind;
    note(m, "node n%d: %s ready %d cordoned %d sick %d gpus %d tainted %d zone %d kind %d", slot, n->exists ? "there" : "gone", n->ready,
         n->cordoned, n->sick, (int)n->room[RES_GPU], n->tainted, n->zone, n->kind);
    changed(m, OBJ_NODE, slot);
}

static void put_fair_sharing(struct model *m)
{
    m->fair.on = chance(m, m->preempts ? 500 : 200);
    m->fair.strategies_n = pick(m, 3);
    m->fair.strategies[0] = m->fair.strategies_n == 1 && chance(m, 500) ? FAIR_LESS_THAN_INITIAL_SHARE
                                                                        : FAIR_LESS_THAN_OR_EQUAL_TO_FINAL_SHARE;
    m->fair.strategies[1] = FAIR_LESS_THAN_INITIAL_SHARE;
    m->life.w.fair = m->fair;
    static const enum placement placements[] = {PLACEMENT_BINPACK, PLACEMENT_FGD, PLACEMENT_CAPSTAN, PLACEMENT_DOTPRODUCT,
                                                PLACEMENT_SPREAD};
    m->life.w.placement = m->placement = placements[m->seed % 5]; /* not drawn: the same worlds for all */
}

void random_world(struct model *m)
{
    m->one_cohort = chance(m, 300);
    m->preempts = chance(m, 500);
    put_fair_sharing(m);
    m->backfills = m->seed % 4 == 2 && !model_leaves_out("backfills");
    m->placements = m->seed % 3 == 1 && !model_leaves_out("placements");
    if (m->placements)
        m->life.w.placement = m->placement |= PLACEMENT_BY_LOAD;
    m->checks = chance(m, 400) && !model_leaves_out("checks");
    m->crowds = chance(m, 500);
    m->shares = m->seed % 4 == 1;
    for (int i = 0; i < NODES; i++)
        put_node(m, i);
    for (int i = 0; i < COHORTS; i++)
        random_put_cohort(m, i);
    for (int i = 0; i < QUEUES; i++)
        random_put_queue(m, i);
    for (int i = 0; i < LOCALS; i++) {
        m->api.locals[i] = (struct m_local){.exists = true, .queue = i % VOLCANO_QUEUE, .weight_milli = random_weight(m)};
        changed(m, OBJ_LOCAL, i);
    }
}

/* ---- pods ---- */

static struct kind random_kind(struct model *m)
{
    struct kind k = {.zone = chance(m, 250) ? (int)pick(m, ZONES) : -1, .tolerates = chance(m, 150)};
    k.ask[RES_CPU] = 500 * (1 + pick(m, 6));
    k.ask[RES_GPU] = chance(m, 600) ? 1 + pick(m, chance(m, 200) ? 8 : 3) : 0;
    k.ask[RES_NIC] = chance(m, 120);
    random_share(m, &k);
    return k;
}

/* Of one planned gang in four quota counts something else than its pods ask for: nothing, as much, the double, or what they do not ask. */
static void charge_otherwise(struct model *m, struct m_gang *g)
{
    bool otherwise = g->type == TYPE_PLANNED && chance(m, 250);
    for (int i = 0; i < g->sets_n; i++) {
        struct m_set *s = &g->sets[i];
        s->is_charged = otherwise;
        for (int r = 0; r < RES_N; r++)
            s->charged[r] = (int64_t)pick(m, 3) * (s->kind.ask[r] ? s->kind.ask[r] : r == RES_GPU);
        if (g->type == TYPE_PLANNED && !otherwise && (s->kind.milli || s->kind.gib)) { /* no queue has quota for shares */
            s->is_charged = true;
            memcpy(s->charged, s->kind.ask, sizeof s->charged);
        }
    }
}

/* A free slot, with a new name or that of the pod that was in it; -1: none. */
static int new_pod(struct model *m)
{
    int slot = (int)pick(m, PODS);
    for (int i = 0; i < PODS && m->api.pods[slot].exists; i++)
        slot = (slot + 1) % PODS;
    struct m_pod *p = &m->api.pods[slot];
    if (p->exists)
        return -1;
    uint32_t name = p->name && chance(m, 300) ? p->name : ++m->pod_names;
    *p = (struct m_pod){.exists = true, .serial = ++m->serial, .name = name, .gang = -1, .node = -1, .created_ms = m->life.w.now_ms};
    return slot;
}

static void delete_pod(struct model *m, int slot, bool at_once)
{
    struct m_pod *p = &m->api.pods[slot];
    if (p->node >= 0 && p->phase < POD_SUCCEEDED && !at_once)
        p->deleting = true;
    else
        p->exists = false;
    changed(m, OBJ_POD, slot);
}

void new_member(struct model *m, int gang, int set)
{
    const struct m_gang *g = &m->api.gangs[gang];
    int slot = new_pod(m);
    if (slot < 0)
        return;
    struct m_pod *p = &m->api.pods[slot];
    p->gang = gang;
    p->gang_serial = g->serial;
    p->gang_type = g->type;
    p->set = g->sets[set].name;
    p->priority = g->priority;
    p->kind = g->sets[set].kind;
    p->gated = m->faults && chance(m, 50);
    if (g->type == TYPE_PLANNED) {
        for (int r = 0; r < RES_N && g->webhook != 4; r++)
            p->kind.flavors |= g->choices[set][r] >= 0 ? 1 << g->choices[set][r] : 0;
        if (g->webhook == 1 || (g->webhook == 2 && chance(m, 500)))
            p->kind.ask[RES_CPU] += 1500;
        p->kind.tolerates |= g->webhook >= 3;
    }
    changed(m, OBJ_POD, slot);
}

struct members members_of(const struct model *m, int gang, int set)
{
    struct members n = {.any = -1};
    for (int i = 0; i < PODS; i++) {
        const struct m_pod *p = &m->api.pods[i];
        if (!is_member(p, &m->api.gangs[gang], gang) || p->set != set)
            continue;
        n.succeeded += p->phase == POD_SUCCEEDED;
        if (p->phase >= POD_SUCCEEDED || p->deleting)
            continue;
        n.live++;
        n.any = i;
    }
    return n;
}

/* Slots are needed by gangs, too. */
enum { STRAYS_MAX = 24 };

static void stray_pod(struct model *m)
{
    int strays_n = 0;
    for (int i = 0; i < PODS; i++)
        strays_n += m->api.pods[i].exists && m->api.pods[i].gang < 0;
    int slot = strays_n < STRAYS_MAX ? new_pod(m) : -1;
    if (slot < 0)
        return;
    struct m_pod *p = &m->api.pods[slot];
    p->kind = random_kind(m);
    p->kind.ask[RES_GPU] = p->kind.ask[RES_GPU] > 2 ? 2 : p->kind.ask[RES_GPU];
    p->foreign = chance(m, 300);
    p->priority = (int)pick(m, 4);
    p->never = chance(m, 150);
    p->app = (int)pick(m, APPS + 1);
    p->anti = p->app && chance(m, 250) ? 1 + (int)pick(m, 2) : 0;
    if (m->crowds && chance(m, 500)) { /* large, so that others are in its way */
        p->kind.ask[RES_CPU] = 1000 * (3 + pick(m, 8));
        p->kind.ask[RES_GPU] = chance(m, 300) ? p->kind.milli || p->kind.gib ? 1 : 1 + pick(m, 6) : 0;
        p->kind.ask[RES_NIC] = 0;
    }
    if (p->foreign && chance(m, 800)) { /* another scheduler's: it only takes up room, here where there is some */
        struct fit_node room;
        int node = (int)pick(m, NODES);
        room_left(&m->api, NULL, &room);
        bool fits = m->api.nodes[node].exists;
        for (int r = 0; r < RES_N; r++)
            fits &= p->kind.ask[r] <= room.left[node][r];
        if (fits && !m->api.nodes[node].named) {
            p->node = node;
            p->phase = POD_RUNNING;
        }
    }
    changed(m, OBJ_POD, slot);
}

static void change_pod(struct model *m)
{
    int slot = (int)pick(m, PODS);
    struct m_pod *p = &m->api.pods[slot];
    uint32_t what = pick(m, 10);
    if (!p->exists || p->deleting)
        return;
    if (what == 0)
        delete_pod(m, slot, chance(m, 500));
    else if (what == 1 && p->node >= 0 && p->phase == POD_RUNNING)
        p->phase = chance(m, 700) ? POD_SUCCEEDED : POD_FAILED;
    else if (what == 2 && p->node >= 0 && p->phase == POD_PENDING)
        p->phase = chance(m, 900) ? POD_RUNNING : POD_FAILED;
    else if (what <= 5)
        p->gated = false;
    else
        return;
    note(m, "pod ns/p%u of gang %u: %s phase %d", p->name, p->gang_serial,
         p->deleting ? "deleting"
         : p->exists ? "there"
                     : "gone",
         p->phase);
    if (what)
        changed(m, OBJ_POD, slot);
}

/* ---- gangs ---- */

/* Few queues, which all of them want: so that somebody stands in the way, and may have to go. */
static void crowd(struct model *m, struct m_gang *g)
{
    g->local = (int)pick(m, 3);
    g->priority = (int)pick(m, 4);
    for (int i = 0; i < g->sets_n && g->type == TYPE_PLANNED && chance(m, 700); i++) { /* small: quota holds some of them, not all */
        g->sets[i].count = 1 + (int)pick(m, 2);
        g->sets[i].min_count = 0;
        g->sets[i].kind = (struct kind){.zone = -1, .ask = {500 * (1 + pick(m, 4)), pick(m, 3), 0}};
    }
    g->webhook = chance(m, 50) ? g->webhook : 0;
}

static void new_gang(struct model *m)
{
    int slot = (int)pick(m, GANGS), members = 0;
    struct m_gang *g = &m->api.gangs[slot];
    if (g->exists)
        return;
    *g = (struct m_gang){.exists = true, .active = true, .serial = ++m->serial, .local = (int)pick(m, LOCALS), .priority = (int)pick(m, 3),
                         .created_ms = m->life.w.now_ms + pick(m, 3), .admitted_queue = -1};
    g->due_ms = g->serial % 4 || model_leaves_out("due") ? 0 : g->created_ms + 1000 * (int64_t)(g->serial % 3);
    uint32_t type = pick(m, 10);
    g->type = type < (m->preempts ? 9 : 7) ? TYPE_PLANNED : type < 9 ? TYPE_GROUP : TYPE_VOLCANO;
    g->sets_n = chance(m, 500) ? 1 : 1 + (int)pick(m, SETS);
    g->webhook = chance(m, 150) ? 1 + (int)pick(m, 4) : 0;
    if (model_leaves_out("webhook"))
        g->webhook = 0;
    for (int i = 0; i < g->sets_n; i++) {
        g->sets[i] = (struct m_set){.name = i, .kind = random_kind(m), .count = 1 + (int)pick(m, g->sets_n > 1 ? 3 : 5)};
        g->sets[i].task_min = g->type == TYPE_PLANNED || chance(m, 500) ? 0 : 1 + (int)pick(m, (uint32_t)g->sets[i].count);
        g->sets[i].later = g->type == TYPE_PLANNED && i > 0 && chance(m, 250) && !model_leaves_out("later");
        g->sets[i].serial = g->type == TYPE_PLANNED && (g->created_ms + i) % 7 == 0 && !model_leaves_out("serial");
        g->sets[i].in_turns = g->type == TYPE_PLANNED && chance(m, 300) && !model_leaves_out("turns");
        g->sets[i].more = (int)pick(m, 4);
        if (g->type == TYPE_PLANNED && chance(m, 250))
            g->sets[i].min_count = 1 + (int)pick(m, (uint32_t)g->sets[i].count);
        members += g->sets[i].min_count ? g->sets[i].min_count : g->sets[i].task_min ? g->sets[i].task_min : g->sets[i].count;
    }
    if (m->preempts)
        crowd(m, g);
    charge_otherwise(m, g);
    memset(g->choices, -1, sizeof g->choices);
    memset(g->checks, -1, sizeof g->checks);
    g->min_members = g->type == TYPE_PLANNED ? members : 1 + (int)pick(m, (uint32_t)members);
    floor_draw(m, g);
    note(m, "gang %u made, type %d, %d sets, lq%d", g->serial, g->type, g->sets_n, g->local);
    changed(m, OBJ_GANG, slot);
}

/* What is lost by its end. Some say nothing, and not for ever the same. */
static void put_stakes(struct model *m, struct m_gang *g)
{
    g->checkpoint_ms = chance(m, 400) ? m->life.w.now_ms + 1000 - pick(m, 20000) : 0;
    g->minimum_run_s = chance(m, 400) ? (int)pick(m, 30) : 0;
    g->grace_s = chance(m, 400) ? (const int[]){0, 10, 30, 60}[pick(m, 4)] : 0;
    g->run_s = m->backfills && chance(m, 800) ? 1 + (int)pick(m, 120) : 0; /* by a limit, where it is even */
}

/* Sets taken away or moved, counts up and down. The choices of an admission go with their sets. */
static void edit_sets(struct model *m, struct m_gang *g)
{
    uint32_t what = model_leaves_out("edits") ? 1 + pick(m, 3) : pick(m, 4);
    g->generation++;
    if (what == 0 && g->sets_n > 1) {
        int keep = (int)pick(m, (uint32_t)g->sets_n);
        g->sets[0] = g->sets[keep];
        memmove(g->choices[0], g->choices[keep], sizeof g->choices[0]);
        g->sets_n = 1;
        return;
    }
    struct m_set *s = &g->sets[pick(m, (uint32_t)g->sets_n)];
    if (what == 1)
        s->count += 1 + (int)pick(m, 2);
    else if (what == 2)
        s->count -= s->count > 1;
    else if (!g->admitted && chance(m, 600))
        s->kind = random_kind(m);
    else if (!g->admitted)
        charge_otherwise(m, g);
    s->reclaimed = s->reclaimed > s->count ? s->count : s->reclaimed;
    if (!g->admitted && chance(m, 300))
        s->min_count = (int)pick(m, (uint32_t)s->count + 1);
    s->min_count = s->min_count > s->count ? s->count : s->min_count;
}

/* Of a pod group: how many make it whole. */
static void edit_minimum(struct model *m, struct m_gang *g)
{
    int members = 0;
    for (int i = 0; i < g->sets_n; i++)
        members += g->sets[i].task_min ? g->sets[i].task_min : g->sets[i].count;
    g->min_members = 1 + (int)pick(m, (uint32_t)members);
}

static void gang_gone(struct model *m, int slot)
{
    m->api.gangs[slot].exists = false;
    changed(m, OBJ_GANG, slot);
}

static void change_gang(struct model *m)
{
    int slot = (int)pick(m, GANGS);
    struct m_gang *g = &m->api.gangs[slot];
    uint32_t what = pick(m, 18);
    if (!g->exists) {
        new_gang(m);
        return;
    }
    if (!g->active || g->on_hold) { /* not for long */
        g->active = true;
        g->on_hold = false;
        changed(m, OBJ_GANG, slot);
        return;
    }
    if (what == 0 || g->finished || (!g->admitted && what >= 13)) {
        gang_gone(m, slot);
        note(m, "gang %u deleted", g->serial);
        return;
    }
    if (g->type == TYPE_PLANNED && chance(m, 200))
        put_stakes(m, g);
    if (what == 1)
        g->priority = (int)pick(m, 3);
    else if (what <= 3)
        g->active = false;
    else if (what <= 5)
        g->on_hold = true;
    else if (what == 6)
        g->not_before_ms = m->life.w.now_ms + pick(m, 3000);
    else if (what <= 8 && g->type == TYPE_PLANNED)
        edit_sets(m, g);
    else if (what <= 8)
        edit_minimum(m, g);
    else if (what == 10 && g->type == TYPE_PLANNED && !g->admitted) {
        g->local = (int)pick(m, m->preempts ? 3 : LOCALS);
        g->generation++;
    }
    else if (what == 9 && g->type == TYPE_PLANNED && g->admitted) {
        struct m_set *s = &g->sets[pick(m, (uint32_t)g->sets_n)];
        s->reclaimed += s->reclaimed < s->count;
        s->in_turns ^= chance(m, 100) && !model_leaves_out("turns"); /* a job has taken up a Workload that was made before it */
    } else if (what >= 12 && g->type == TYPE_PLANNED && g->admitted && !g->evicting)
        g->finished = true;
    else if (what == 11 && g->type == TYPE_PLANNED && g->admitted)
        g->evicting = true; /* somebody else evicts it */
    else
        return;
    note(m, "gang %u: active %d hold %d finished %d evicting %d priority %d sets %d", g->serial, g->active, g->on_hold, g->finished,
         g->evicting, g->priority, g->sets_n);
    changed(m, OBJ_GANG, slot);
}

/* Members of pod groups come from users, in any order. */
static void new_group_member(struct model *m)
{
    int slot = (int)pick(m, GANGS);
    const struct m_gang *g = &m->api.gangs[slot];
    if (!g->exists || g->type == TYPE_PLANNED)
        return;
    int set = (int)pick(m, (uint32_t)g->sets_n);
    struct members n = members_of(m, slot, g->sets[set].name);
    if (n.live + n.succeeded < g->sets[set].count)
        new_member(m, slot, set);
}

static void change_budget(struct model *m)
{
    int slot = (int)pick(m, BUDGETS);
    m->api.budgets[slot] = (struct m_budget){.exists = chance(m, 800), .app = 1 + (int)pick(m, APPS), .allowed = (int)pick(m, 3)};
    changed(m, OBJ_BUDGET, slot);
}

/* ---- while something is under way ---- */

/* A planned gang that was admitted and does not run yet, or whose status write has not landed; -1: none. */
static int gang_under_way(struct model *m)
{
    int first = (int)pick(m, GANGS);
    for (uint32_t i = 0; i < m->writes_n; i++)
        if ((m->writes[i].effect == EFFECT_ADMIT || m->writes[i].effect == EFFECT_RESERVE) && m->writes[i].gang_slot >= 0 && chance(m, 500))
            return m->writes[i].gang_slot;
    for (int i = 0; i < GANGS; i++) {
        int slot = (first + i) % GANGS;
        const struct m_gang *g = &m->api.gangs[slot];
        if (g->exists && g->type == TYPE_PLANNED && g->admitted && !g->finished && !m->life.started[slot])
            return slot;
    }
    return -1;
}

static void drain(struct model *m, struct m_gang *g)
{
    int queue = m->api.locals[g->local].queue;
    if (chance(m, 500)) {
        m->api.queues[queue].stop = STOP_HOLD_AND_DRAIN;
        changed(m, OBJ_QUEUE, queue);
    } else {
        m->api.locals[g->local].stop = STOP_HOLD_AND_DRAIN;
        changed(m, OBJ_LOCAL, g->local);
    }
}

/* Another scheduler, or an older write of ours that landed last: admitted as before, under other flavors. WHY not in the last layout: one
 * of its flavors tolerates, the other selects nothing: pods of the one could stand on nodes of the other that they do not tolerate. */
static void move_admission(struct model *m, struct m_gang *g)
{
    int layout = m->api.queues[g->admitted_queue].layout;
    const struct layout_group *groups = layouts[layout];
    for (int s = 0; s < g->sets_n && layout != 2; s++)
        for (int group = 0; group < 2; group++) {
            int flavor = groups[group].flavors_n ? groups[group].flavors[pick(m, (uint32_t)groups[group].flavors_n)] : -1;
            for (int r = 0; r < RES_N; r++)
                if (groups[group].covers[r] && g->choices[s][r] >= 0)
                    g->choices[s][r] = (int8_t)flavor;
        }
}

/* Most of what went wrong once went wrong between a decision and the record that shows it; by chance alone little comes just then. */
static void strike(struct model *m)
{
    int slot = gang_under_way(m);
    struct m_gang *g = &m->api.gangs[slot < 0 ? 0 : slot];
    if (slot < 0 || !g->exists || g->finished || g->evicting)
        return;
    uint32_t what = pick(m, g->admitted ? 6 : 5);
    note(m, "strike %u at gang %u", what, g->serial);
    if (chance(m, 400)) { /* somebody wrote the object: our write is refused as a conflict */
        g->generation++;
        changed(m, OBJ_GANG, slot);
    }
    if (what == 0) {
        drain(m, g);
        return;
    }
    for (int i = 0; i < NODES && what == 1; i++)
        if (chance(m, 500)) {
            m->api.nodes[i].cordoned = true;
            changed(m, OBJ_NODE, i);
        }
    if (what == 1)
        return;
    if (what == 2)
        g->active = false;
    else if (what == 5)
        move_admission(m, g);
    else
        edit_sets(m, g);
    changed(m, OBJ_GANG, slot);
}

/* Whatever keeps gangs from being tried ends, so that they meet in their queues. */
static void let_all_run(struct model *m)
{
    for (int i = 0; i < VOLCANO_QUEUE; i++) {
        struct m_queue *q = &m->api.queues[i];
        bool same = q->exists && q->stop == STOP_NONE;
        q->exists = true;
        q->stop = STOP_NONE;
        if (!same)
            changed(m, OBJ_QUEUE, i);
    }
    for (int i = 0; i < LOCALS; i++) {
        struct m_local *l = &m->api.locals[i];
        bool same = l->exists && l->stop == STOP_NONE;
        l->exists = true;
        l->stop = STOP_NONE;
        if (!same)
            changed(m, OBJ_LOCAL, i);
    }
    for (int i = 0; i < GANGS; i++) {
        struct m_gang *g = &m->api.gangs[i];
        bool same = g->active && !g->on_hold;
        g->active = true;
        g->on_hold = false;
        if (g->exists && !same)
            changed(m, OBJ_GANG, i);
    }
    note(m, "all may run");
}

void random_event(struct model *m)
{
    if (m->preempts && chance(m, 100))
        let_all_run(m);
    if (m->checks && chance(m, 80))
        random_checks(m);
    uint32_t what = pick(m, 100);
    for (int n = m->crowds ? 3 : 0; n; n--) /* pods of no queue, more than there is room for */
        if (chance(m, 300))
            stray_pod(m);
    if (chance(m, 20))
        change_budget(m);
    if (what < 33)
        change_gang(m);
    else if (what < 36)
        strike(m);
    else if (what < 56)
        new_group_member(m);
    else if (what < 61)
        stray_pod(m);
    else if (what < 80)
        change_pod(m);
    else if (what < 87)
        change_node(m);
    else if (what < 92)
        random_change_queue(m);
    else
        m->life.w.now_ms += pick(m, 4000);
}

/* ---- job controllers and kubelets ---- */

static bool has_set(const struct m_gang *g, int name)
{
    for (int i = 0; i < g->sets_n; i++)
        if (g->sets[i].name == name)
            return true;
    return false;
}

/* Live pods that the set should have. Where they come in turns, others come after those that have succeeded, those first that were left
 * out, and the job says when nobody does any more. */
static int wanted(struct model *m, int slot, struct m_set *s, int succeeded, bool all)
{
    int over = set_over(s), left = s->count + s->more - succeeded;
    if (!s->in_turns)
        return set_count(s) - (succeeded > over ? succeeded : over);
    left = left > 0 ? left : 0;
    if (left < set_needs(s) && (all || chance(m, 500))) {
        s->reclaimed = s->count - left;
        note(m, "gang %u: of set s%d only %d are to come", m->api.gangs[slot].serial, s->name, left);
        changed(m, OBJ_GANG, slot);
    }
    return left < set_needs(s) ? left : set_needs(s);
}

static void job_controller(struct model *m, int slot, bool all)
{
    struct m_gang *g = &m->api.gangs[slot];
    bool runs = g->exists && g->admitted && !g->reserved_only && !g->evicting && !g->finished, any = false;
    for (int i = 0; i < PODS; i++) {
        struct m_pod *p = &m->api.pods[i];
        if (!is_member(p, g, slot))
            continue;
        bool over = !runs || !has_set(g, p->set) || p->phase == POD_FAILED;
        if (over && !p->deleting && (p->phase != POD_SUCCEEDED || !runs) && (all || chance(m, 600)))
            delete_pod(m, i, false);
        any |= p->exists;
    }
    if (g->exists && g->evicting && !any) {
        g->evicting = g->admitted = g->reserved_only = g->foreign = false;
        ready_end(g);
        memset(g->choices, -1, sizeof g->choices);
        for (int i = 0; i < g->sets_n; i++)
            g->sets[i].granted = 0;
        note(m, "gang %u: its pods are gone, the admission is taken back", g->serial);
        changed(m, OBJ_GANG, slot);
    }
    bool over = runs;
    for (int i = 0; i < g->sets_n && runs; i++) {
        struct members n = members_of(m, slot, g->sets[i].name);
        int want = wanted(m, slot, &g->sets[i], n.succeeded, all);
        for (; n.live < want && (all || chance(m, 700)); n.live++)
            new_member(m, slot, i);
        if (n.live > want && n.any >= 0)
            delete_pod(m, n.any, false);
        over &= want <= 0;
    }
    if (over) {
        g->finished = true;
        changed(m, OBJ_GANG, slot);
    }
}

/* Pods whose gang is gone, or was replaced in its slot, go too. */
static bool is_orphan(const struct model *m, const struct m_pod *p)
{
    return p->gang >= 0 && (!m->api.gangs[p->gang].exists || m->api.gangs[p->gang].serial != p->gang_serial);
}

void random_controllers(struct model *m, bool all)
{
    if (m->checks)
        check_controllers(m, all);
    for (int i = 0; i < GANGS; i++)
        if (m->api.gangs[i].type == TYPE_PLANNED && m->api.gangs[i].serial && (all || chance(m, 500)))
            job_controller(m, i, all);
    for (int i = 0; i < GANGS; i++)
        if (m->api.gangs[i].type == TYPE_PLANNED && m->api.gangs[i].serial && (all || chance(m, 600)))
            ready_say(m, i);
    for (int i = 0; i < PODS; i++) {
        struct m_pod *p = &m->api.pods[i];
        if (!p->exists)
            continue;
        if (p->deleting && (all || chance(m, 300)))
            delete_pod(m, i, true);
        else if (!p->deleting && is_orphan(m, p) && (all || chance(m, 400)))
            delete_pod(m, i, false);
        else if (p->node >= 0 && p->phase == POD_PENDING && !p->deleting && (all || chance(m, 300)) && m->api.nodes[p->node].exists) {
            p->phase = POD_RUNNING;
            p->started_ms = m->life.w.now_ms - m->life.w.now_ms % 1000;
            changed(m, OBJ_POD, i);
        } else if (p->node >= 0 && !m->api.nodes[p->node].exists && (all || chance(m, 200))) {
            delete_pod(m, i, true); /* pod garbage collection: its node is gone */
        } else if (!all && p->phase == POD_RUNNING && !p->foreign && !p->deleting && chance(m, p->gang >= 0 ? 25 : 60)) {
            p->phase = POD_SUCCEEDED;
            changed(m, OBJ_POD, i);
        } else if (p->phase >= POD_SUCCEEDED && p->gang < 0) {
            delete_pod(m, i, true);
        } else if (!all && p->gang < 0 && chance(m, p->foreign ? 15 : p->node < 0 ? 10 : 0)) {
            delete_pod(m, i, true); /* others end too, whether they ran or not: their slots are needed */
        } else if (all && p->gated) {
            p->gated = false;
            changed(m, OBJ_POD, i);
        }
    }
}
