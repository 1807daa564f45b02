/* core_priority.c - groups and pods without a queue: who goes for whom, against a plain search of all places
 *
 *   core_priority [SEED [STEPS [RUNS]]]        MODEL_TRACE=1 prints what happens
 *
 * Nodes, groups of two kinds of pods, and lone pods come, go and change. Now and then it is refused that one is told to go; else its pods
 * end one by one, and its controller makes them anew. After each decision
 *   - whoever has to go has a lower priority than the one for whom, keeps no places, and that one waits and may preempt;
 *   - a group that stays keeps its minimum; and with all gone that go for it, the preemptor has room for its minimum;
 *   - where others leave for one alone: nobody goes in vain (each is needed), and no group whole where members that groups can do without
 *     were enough;
 *   - a core that begins anew while they leave tells nobody else to go for it.
 * At rest nobody waits who has room, or would have it with all of lower priority gone, and a core that begins anew has nothing to do.
 */
#include <inttypes.h>
#include "../unit/core/world.h"
#include "base/random.h"
#include "core/state/model.h"

#define GPU "nvidia.com/gpu"

enum { RES_GPU, RES_CPU, RES_N };
#define NOT_THERE INT64_C(-1000000)
enum { NODES = 4, GANGS = 12, PODS = 5, CYCLES_MAX = 80 };

struct m_pod {
    bool exists, deleting;
    int serial, node;          /* -1: waits */
};
struct m_gang {
    bool exists, lone, keeps, never, anew; /* anew: its controller makes its pods again */
    int serial, min, count, priority, second_n, nominated; /* so many of its pods, the last, are of the second kind; node + 1 */
    int64_t ask[2][RES_N], created_ms;
    struct m_pod pods[PODS];
};
struct m_node {
    bool exists, ready;
    int64_t room[RES_N];
};
struct model {
    struct world w;
    struct random random;
    struct m_node nodes[NODES];
    struct m_gang gangs[GANGS];
    uint64_t seed, step, binds_n, evicts_n, members_n, lone_n, restarts_n;
    int serial;
};

static uint32_t pick(struct model *m, uint32_t n)
{
    return (uint32_t)random_below(&m->random, n);
}

static bool traces(void)
{
    return getenv("MODEL_TRACE") != NULL;
}

static const char *gang_key(const struct m_gang *g, char out[24])
{
    snprintf(out, 24, g->lone ? "pod/ns/p%d" : "g%d", g->lone ? g->pods[0].serial : g->serial);
    return out;
}

static int kind_of(const struct m_gang *g, int k)
{
    return k >= g->count - g->second_n;
}

static void die(struct model *m, const char *what, const char *who)
{
    for (int i = 0; i < NODES && traces(); i++)
        if (m->nodes[i].exists)
            printf("# n%d:%s gpu %" PRId64 " cpu %" PRId64 "\n", i, m->nodes[i].ready ? "" : " not ready,", m->nodes[i].room[0],
                   m->nodes[i].room[1]);
    for (int i = 0; i < GANGS && traces(); i++) {
        const struct m_gang *g = &m->gangs[i];
        if (!g->exists)
            continue;
        printf("# g%d%s%s%s prio %d nominated %d min %d of %d:", g->serial, g->lone ? " lone" : "", g->keeps ? " keeps" : "",
               g->never ? " never" : "", g->priority, g->nominated - 1, g->min, g->count);
        for (int k = 0; k < g->count; k++)
            if (g->pods[k].exists)
                printf(" p%d%s (gpu %" PRId64 " cpu %" PRId64 ") on n%d", g->pods[k].serial, g->pods[k].deleting ? " ends" : "",
                       g->ask[kind_of(g, k)][0], g->ask[kind_of(g, k)][1], g->pods[k].node);
        printf(" | %s\n", why(&m->w, gang_key(g, (char[24]){0})));
    }
    fprintf(stderr, "core_priority: seed %" PRIu64 " step %" PRIu64 ": %s: %s\n", m->seed, m->step, who, what);
    exit(1);
}

/* ---- telling a core ---- */

static void tell_node(const struct model *m, struct world *w, int i)
{
    char name[16], room[96];
    snprintf(name, sizeof name, "n%d", i);
    if (!m->nodes[i].exists) {
        gone(w, CHANGE_NODE_GONE, name);
        return;
    }
    snprintf(room, sizeof room, GPU "=%" PRId64 ",cpu=%" PRId64, m->nodes[i].room[RES_GPU], m->nodes[i].room[RES_CPU]);
    struct node_record r = a_node(w, name, room, "");
    r.ready = m->nodes[i].ready;
    node_record(w, r);
}

static void tell_gang(const struct model *m, struct world *w, int i)
{
    const struct m_gang *g = &m->gangs[i];
    char key[24];
    if (g->lone)
        return;
    struct gang_record r = a_group(w, gang_key(g, key), NULL, g->min);
    r.created_ms = g->created_ms;
    r.priority = g->priority;
    r.keeps_places = g->keeps;
    gang_record(w, r);
}

static void tell_pod(const struct model *m, struct world *w, int i, int k)
{
    const struct m_gang *g = &m->gangs[i];
    const struct m_pod *p = &g->pods[k];
    char key[32], gang[24], asks[96], node[16];
    snprintf(key, sizeof key, "ns/p%d", p->serial);
    if (!p->exists) {
        gone(w, CHANGE_POD_GONE, key);
        return;
    }
    const int64_t *ask = g->ask[kind_of(g, k)];
    snprintf(asks, sizeof asks, GPU "=%" PRId64 ",cpu=%" PRId64, ask[RES_GPU], ask[RES_CPU]);
    struct pod_record r = a_pod(w, key, g->lone ? NULL : gang_key(g, gang), asks);
    snprintf(node, sizeof node, "n%d", p->node);
    r.node = p->node < 0 ? 0 : id(w, node);
    r.phase = p->node < 0 ? POD_PENDING : POD_RUNNING;
    r.deleting = p->deleting;
    r.preempts_nobody = g->never;
    r.priority = g->priority;
    r.created_ms = p->serial;
    snprintf(node, sizeof node, "n%d", g->nominated - 1);
    r.nominated = g->lone && g->nominated ? id(w, node) : 0;
    pod_record(w, r);
}

static void tell_all(const struct model *m, struct world *w)
{
    for (int i = 0; i < NODES; i++)
        if (m->nodes[i].exists)
            tell_node(m, w, i);
    for (int i = 0; i < GANGS; i++) {
        if (m->gangs[i].exists)
            tell_gang(m, w, i);
        for (int k = 0; k < PODS && m->gangs[i].exists; k++)
            if (m->gangs[i].pods[k].exists)
                tell_pod(m, w, i, k);
    }
}

/* ---- who has room: plainly ---- */

static int standing_n(const struct m_gang *g, bool staying)
{
    int n = 0;
    for (int k = 0; k < g->count && g->exists; k++)
        n += g->pods[k].exists && g->pods[k].node >= 0 && !(staying && g->pods[k].deleting);
    return n;
}

/* `go`: how much of each gang goes. 0: nothing, 1: what it can do without, those that were made last; 2: all, 3: pods that are being
 * deleted. */
static void left_of(const struct model *m, const int go[GANGS], int64_t left[NODES][RES_N])
{
    for (int n = 0; n < NODES; n++)
        for (int r = 0; r < RES_N; r++)
            left[n][r] = m->nodes[n].exists && m->nodes[n].ready ? m->nodes[n].room[r] : NOT_THERE;
    for (int i = 0; i < GANGS; i++) {
        const struct m_gang *g = &m->gangs[i];
        int spare_n = standing_n(g, false) - g->min;
        for (int k = 0; k < g->count && g->exists; k++) {
            const struct m_pod *p = &g->pods[k];
            int later_n = 0;
            for (int j = 0; j < g->count; j++) { /* those being deleted first, then the last ones */
                const struct m_pod *other = &g->pods[j];
                bool first = other->deleting != p->deleting ? other->deleting : other->serial > p->serial;
                later_n += other->exists && other->node >= 0 && first;
            }
            bool goes = go[i] == 2 || (go[i] == 1 && later_n < spare_n) || (go[i] == 3 && p->deleting);
            for (int r = 0; r < RES_N && p->exists && p->node >= 0 && !goes; r++)
                left[p->node][r] -= g->ask[kind_of(g, k)][r];
        }
    }
}

/* Do so many of the first kind and so many of the second find places? All ways are tried. */
static bool finds(const struct m_gang *g, int64_t left[NODES][RES_N], int first_n, int second_n, int from)
{
    if (!first_n && !second_n)
        return true;
    const int64_t *ask = g->ask[first_n ? 0 : 1];
    for (int n = from; n < NODES; n++) {
        bool fits = true;
        for (int r = 0; r < RES_N; r++)
            fits &= left[n][r] > NOT_THERE / 2 && (!ask[r] || ask[r] <= left[n][r]);
        if (!fits)
            continue;
        for (int r = 0; r < RES_N; r++)
            left[n][r] -= ask[r];
        bool found = first_n ? finds(g, left, first_n - 1, second_n, first_n > 1 ? n : 0) : finds(g, left, 0, second_n - 1, n);
        for (int r = 0; r < RES_N; r++)
            left[n][r] += ask[r];
        if (found)
            return true;
    }
    return false;
}

/* Its minimum, of whichever of its pods that wait. */
static bool has_room(const struct model *m, const struct m_gang *g, const int go[GANGS])
{
    int64_t left[NODES][RES_N];
    int waiting_n[2] = {0}, need = g->min - standing_n(g, false);
    left_of(m, go, left);
    for (int k = 0; k < g->count; k++)
        waiting_n[kind_of(g, k)] += g->pods[k].exists && g->pods[k].node < 0 && !g->pods[k].deleting;
    bool any = false;
    for (int first_n = 0; first_n <= waiting_n[0] && !any; first_n++)
        any = need > 0 && need - first_n >= 0 && need - first_n <= waiting_n[1] && finds(g, left, first_n, need - first_n, 0);
    return any;
}

static bool waits(const struct m_gang *g)
{
    int n = 0;
    for (int k = 0; k < g->count && g->exists; k++)
        n += g->pods[k].exists && g->pods[k].node < 0 && !g->pods[k].deleting;
    return g->exists && standing_n(g, false) < g->min && standing_n(g, false) + n >= g->min;
}

/* LIMIT  a group that has lost members, and waits for others, is not told to go. */
static bool may_go_for(struct model *m, const struct m_gang *v, const struct m_gang *p)
{
    char key[24];
    const struct gang *g = v->exists && v != p ? gang_find(m->w.s, id(&m->w, gang_key(v, key))) : NULL;
    return g && gang_holds(g) && !v->keeps && v->priority < p->priority && standing_n(v, false) > 0;
}

static int gang_of(struct model *m, name_id key)
{
    char text[24];
    for (int i = 0; i < GANGS; i++)
        if (m->gangs[i].exists && !strcmp(gang_key(&m->gangs[i], text), text_of(&m->w, key)))
            return i;
    die(m, "is not there", text_of(&m->w, key));
    return -1;
}

/* ---- what a plan may say ---- */

static bool entry_is_eviction(const struct plan_entry *e)
{
    return e->effect == EFFECT_EVICT;
}

static void check_eviction(struct model *m, const struct plan_entry *e)
{
    const char *who = text_of(&m->w, e->gang);
    if (e->reason->code != REASON_PREEMPTED || e->reason->have != PREEMPTION_BY_PRIORITY)
        die(m, "goes for another reason", who);
    const struct m_gang *v = &m->gangs[gang_of(m, e->gang)], *p = &m->gangs[gang_of(m, e->reason->name)];
    if (!may_go_for(m, v, p) || p->never)
        die(m, "may not be preempted for that one", who);
    if (!waits(p))
        die(m, "goes for one that does not wait", who);
}

/* All that go for p, now or already, or by themselves. */
static void going_for(const struct model *m, const struct gang *p, int go[GANGS])
{
    char key[24];
    memset(go, 0, GANGS * sizeof *go);
    for (int i = 0; i < GANGS; i++) {
        name_id name = intern_find(m->w.names, bytes_of(gang_key(&m->gangs[i], key)));
        const struct gang *g = m->gangs[i].exists ? gang_find(m->w.s, name) : NULL;
        if (g && g->preemptor == p)
            go[i] = g->shrinks ? 1 : 2;
        else if (g && !g->preemptor && g->priority < p->priority)
            go[i] = 3;
    }
}

static bool only_members_are_enough(struct model *m, const struct m_gang *p)
{
    int go[GANGS] = {0};
    for (int i = 0; i < GANGS; i++)
        go[i] = may_go_for(m, &m->gangs[i], p) && !m->gangs[i].lone && standing_n(&m->gangs[i], true) > m->gangs[i].min;
    return has_room(m, p, go);
}

/* Or places are kept for pods that were lost. */
static bool somebody_leaves(const struct model *m)
{
    bool any = false;
    for (uint32_t i = 0; i < m->w.s->gangs_n; i++)
        any |= m->w.s->gangs[i]->own->seats_n > 0;
    for (int i = 0; i < GANGS; i++)
        for (int k = 0; k < PODS; k++)
            any |= m->gangs[i].exists && m->gangs[i].pods[k].exists && m->gangs[i].pods[k].deleting;
    return any;
}

/* Who stays where some of its members go alone. */
static void check_minimum(struct model *m, int i)
{
    int told_n = 0;
    for (uint32_t k = 0; k < m->w.plan.entries_n; k++) {
        const struct plan_entry *e = &m->w.plan.entries[k];
        told_n += entry_is_eviction(e) && e->pod && gang_of(m, e->gang) == i;
        told_n -= e->effect == EFFECT_BIND && gang_of(m, e->gang) == i;
    }
    if (told_n > 0 && standing_n(&m->gangs[i], true) - told_n < m->gangs[i].min)
        die(m, "is below its minimum without its members that were told to go", gang_key(&m->gangs[i], (char[24]){0}));
}

/* Before anything of the plan is done. */
static void check_plan(struct model *m, bool quiet)
{
    const struct plan *plan = &m->w.plan;
    int evicts_n = 0, binds_n = 0;
    for (uint32_t i = 0; i < plan->entries_n; i++) {
        evicts_n += entry_is_eviction(&plan->entries[i]);
        binds_n += plan->entries[i].effect == EFFECT_BIND;
        if (entry_is_eviction(&plan->entries[i]))
            check_eviction(m, &plan->entries[i]);
    }
    for (int i = 0; i < GANGS && evicts_n; i++)
        if (m->gangs[i].exists)
            check_minimum(m, i);
    if (!evicts_n || binds_n || m->w.s->promised_n != 1)
        return; /* whoever starts takes room, and what others are promised is nobody's: it is not so plain then */
    int go[GANGS];
    const struct gang *promised = m->w.s->promised[0];
    const struct m_gang *p = &m->gangs[gang_of(m, promised->key)];
    going_for(m, promised, go);
    if (!has_room(m, p, go))
        die(m, "others go for it, and it has no room then", text_of(&m->w, promised->key));
    bool whole = false;
    for (int i = 0; i < GANGS && quiet; i++) {
        int how = go[i];
        whole |= how == 2;
        go[i] = 0;
        if (how == 2 && has_room(m, p, go))
            die(m, "goes in vain", gang_key(&m->gangs[i], (char[24]){0}));
        go[i] = how;
    }
    if (quiet && whole && !p->lone && only_members_are_enough(m, p))
        die(m, "groups go whole for it, where members that they can do without were enough", text_of(&m->w, promised->key));
}

/* ---- doing it ---- */

static void bind(struct model *m, const struct plan_entry *e)
{
    struct m_gang *g = &m->gangs[gang_of(m, e->gang)];
    for (int k = 0; k < PODS; k++) {
        char key[32];
        snprintf(key, sizeof key, "ns/p%d", g->pods[k].serial);
        if (!g->pods[k].exists || strcmp(key, text_of(&m->w, e->pod)) != 0)
            continue;
        g->pods[k].node = (int)strtol(text_of(&m->w, e->node) + 1, NULL, 10);
        m->binds_n++;
        tell_pod(m, &m->w, (int)(g - m->gangs), k);
    }
}

static void evict(struct model *m, const struct plan_entry *e)
{
    int i = gang_of(m, e->gang);
    struct m_gang *g = &m->gangs[i];
    char key[24];
    snprintf(key, sizeof key, "%s", text_of(&m->w, e->gang));
    const char *only = e->pod ? arena_text(m->w.records, text_of(&m->w, e->pod)) : NULL;
    m->evicts_n++;
    m->members_n += only != NULL;
    m->lone_n += g->lone;
    if (pick(m, 8) == 0) {
        outcome(&m->w, EFFECT_EVICT, key, only, OUTCOME_FAILED);
        return;
    }
    for (int k = 0; k < PODS; k++) {
        char pod[32];
        snprintf(pod, sizeof pod, "ns/p%d", g->pods[k].serial);
        if (!g->pods[k].exists || (only && strcmp(only, pod) != 0))
            continue;
        g->pods[k].deleting = true;
        tell_pod(m, &m->w, i, k);
    }
    outcome(&m->w, EFFECT_EVICT, key, only, OUTCOME_DONE);
}

static void note_nominated(struct model *m, const struct plan_entry *e)
{
    if (e->source != GANG_POD || !e->reason)
        return;
    const struct reason *r = reason_find(e->reason, REASON_PREEMPTING);
    struct m_gang *g = &m->gangs[gang_of(m, e->gang)];
    g->nominated = r && r->name ? 1 + (int)strtol(text_of(&m->w, r->name) + 1, NULL, 10) : 0;
    tell_pod(m, &m->w, (int)(g - m->gangs), 0);
}

static void end_gang(struct model *m, int i);

/* Kubelets and controllers. False: there was nothing to do. */
static bool controllers(struct model *m)
{
    bool any = false;
    for (int i = 0; i < GANGS; i++)
        for (int k = 0; k < m->gangs[i].count && m->gangs[i].exists; k++) {
            struct m_gang *g = &m->gangs[i];
            struct m_pod *p = &g->pods[k];
            bool comes = !p->exists && g->anew;
            if ((p->exists && !p->deleting) || (!p->exists && !comes))
                continue;
            any = true;
            if (pick(m, 3) == 0)
                continue;
            if (p->exists && g->lone) {
                end_gang(m, i);
            } else if (p->exists) {
                p->exists = false;
                tell_pod(m, &m->w, i, k);
            } else {
                *p = (struct m_pod){.exists = true, .serial = ++m->serial, .node = -1};
                tell_pod(m, &m->w, i, k);
            }
        }
    return any;
}

/* Nobody starts, and others go for the one that they go for already. WHY  else what was promised is nobody's own any more. */
static bool does_nothing_for_others(const struct model *m, struct world *fresh)
{
    const char *promised = text_of((struct world *)&m->w, m->w.s->promised[0]->key);
    bool all = true;
    for (uint32_t i = 0; i < fresh->plan.entries_n; i++) {
        const struct plan_entry *e = &fresh->plan.entries[i];
        all &= e->effect != EFFECT_BIND && (!entry_is_eviction(e) || !strcmp(text_of(fresh, e->reason->name), promised));
    }
    return all;
}

/* Those who leave already are enough: a core that begins anew tells nobody else to go. */
static void begin_anew(struct model *m, bool rests)
{
    struct world fresh = world_new();
    struct err e = {0};
    fresh.now_ms = m->w.now_ms;
    tell_all(m, &fresh);
    run(&fresh);
    if (!state_check(fresh.s, &e))
        die(m, e.text, "a core that begins anew");
    bool alone = !rests && does_nothing_for_others(m, &fresh);
    for (uint32_t i = 0; i < fresh.plan.entries_n; i++) {
        const struct plan_entry *one = &fresh.plan.entries[i];
        char gang[24];
        snprintf(gang, sizeof gang, "%s", text_of(&fresh, one->gang));
        if (one->effect == EFFECT_BIND && rests)
            die(m, "would be bound by a core that begins anew", text_of(&fresh, one->pod));
        if (one->effect != EFFECT_EVICT)
            continue;
        int at = gang_of(m, id(&m->w, gang)), staying = standing_n(&m->gangs[at], true);
        if (rests || (alone && !one->pod && staying == standing_n(&m->gangs[at], false)))
            die(m, "would be evicted by a core that begins anew", gang);
    }
    if (!rests && pick(m, 3) == 0) { /* one goes on in its place */
        struct world again = world_new();
        again.now_ms = m->w.now_ms;
        tell_all(m, &again);
        world_free(&m->w);
        m->w = again;
        m->restarts_n++;
    }
    world_free(&fresh);
}

/* Others leave for one alone, and all that go have been told; of a lone pod its object says by then where it will stand. */
static bool only_leaving(struct model *m)
{
    bool all = m->w.s->promised_n == 1;
    const struct m_gang *p = all ? &m->gangs[gang_of(m, m->w.s->promised[0]->key)] : NULL;
    all &= p && (!p->lone || p->nominated);
    for (uint32_t i = 0; all && i < m->w.s->promised[0]->promise->victims_n; i++) {
        const struct gang *v = m->w.s->promised[0]->promise->victims[i];
        for (uint32_t k = 0; k < v->members_n; k++)
            all &= !m->w.s->pods[v->members[k]].seat || m->w.s->pods[v->members[k]].deleting || v->shrinks;
    }
    return all && m->w.s->promised[0]->promise->victims_n;
}

/* Returns whether the plan had anything to do. */
static bool cycle(struct model *m)
{
    struct err e = {0};
    bool any = false, quiet = !somebody_leaves(m) && !m->w.s->promised_n;
    run(&m->w);
    if (!state_check(m->w.s, &e))
        die(m, e.text, "state");
    check_plan(m, quiet);
    for (uint32_t i = 0; i < m->w.plan.entries_n; i++) {
        const struct plan_entry *one = &m->w.plan.entries[i];
        if (traces() && (entry_is_eviction(one) || one->effect == EFFECT_BIND))
            printf("#   %s %s for %s\n", entry_is_eviction(one) ? "evict" : "bind", text_of(&m->w, one->pod ? one->pod : one->gang),
                   entry_is_eviction(one) ? text_of(&m->w, one->reason->name) : "");
        any |= one->effect == EFFECT_BIND || entry_is_eviction(one);
        if (one->effect == EFFECT_BIND)
            bind(m, one);
        else if (entry_is_eviction(one))
            evict(m, one);
        else if (one->effect == EFFECT_EXPLAIN)
            note_nominated(m, one);
    }
    return any;
}

static void come_to_rest(struct model *m)
{
    for (int n = 0, still = 0; still < 3; n++) {
        if (n > CYCLES_MAX)
            die(m, "does not come to rest", "the world");
        bool any = cycle(m);
        if (only_leaving(m) && pick(m, 2))
            begin_anew(m, false);
        any |= controllers(m);
        still = any ? 0 : still + 1;
        m->w.now_ms += any ? 1000 : 400000;
    }
}

static void check_rest(struct model *m)
{
    for (int i = 0; i < GANGS; i++) {
        const struct m_gang *g = &m->gangs[i];
        int nobody[GANGS] = {0}, lower[GANGS] = {0};
        if (!waits(g))
            continue;
        for (int v = 0; v < GANGS; v++)
            lower[v] = may_go_for(m, &m->gangs[v], g) ? 2 : 0;
        if (has_room(m, g, nobody))
            die(m, "waits, and has room", gang_key(g, (char[24]){0}));
        if (!g->never && has_room(m, g, lower))
            die(m, "waits, though those of lower priority are enough", gang_key(g, (char[24]){0}));
    }
}

/* ---- users ---- */

static void put_node(struct model *m, int i)
{
    m->nodes[i] = (struct m_node){.exists = pick(m, 6) > 0, .ready = pick(m, 8) > 0,
                                  .room = {pick(m, 9), 1000 + 1000 * (int64_t)pick(m, 9)}};
    tell_node(m, &m->w, i);
    for (int g = 0; g < GANGS; g++)
        for (int k = 0; k < PODS; k++) {
            struct m_gang *gang = &m->gangs[g];
            if (!gang->exists || !gang->pods[k].exists || gang->pods[k].node != i || m->nodes[i].exists)
                continue;
            if (gang->lone) {
                end_gang(m, g);
                break;
            }
            gang->pods[k].exists = false;
            tell_pod(m, &m->w, g, k);
        }
}

static void put_gang(struct model *m, int i)
{
    struct m_gang *g = &m->gangs[i];
    *g = (struct m_gang){.exists = true, .lone = pick(m, 3) == 0, .keeps = pick(m, 8) == 0, .never = pick(m, 6) == 0,
                         .anew = pick(m, 3) > 0, .serial = ++m->serial, .priority = (int)pick(m, 4), .created_ms = m->w.now_ms};
    g->count = g->lone ? 1 : 1 + (int)pick(m, PODS);
    g->min = pick(m, 3) ? g->count : 1 + (int)pick(m, (uint32_t)g->count);
    g->keeps &= !g->lone;
    g->anew &= !g->lone;
    if (g->min == g->count && pick(m, 2)) /* LIMIT  others go for the first of its pods that make it whole */
        g->second_n = (int)pick(m, (uint32_t)g->count);
    for (int kind = 0; kind < 2; kind++) {
        g->ask[kind][RES_GPU] = pick(m, 4);
        g->ask[kind][RES_CPU] = 500 * (int64_t)pick(m, 4);
    }
    for (int k = 0; k < g->count; k++)
        g->pods[k] = (struct m_pod){.exists = true, .serial = ++m->serial, .node = -1};
    tell_gang(m, &m->w, i);
    for (int k = 0; k < g->count; k++)
        tell_pod(m, &m->w, i, k);
}

static void end_gang(struct model *m, int i)
{
    char key[24];
    struct m_gang *g = &m->gangs[i];
    for (int k = 0; k < PODS; k++)
        if (g->pods[k].exists) {
            g->pods[k].exists = false;
            tell_pod(m, &m->w, i, k);
        }
    if (!g->lone)
        gone(&m->w, CHANGE_GANG_GONE, gang_key(g, key));
    g->exists = false;
}

static void random_event(struct model *m)
{
    int i = (int)pick(m, GANGS);
    uint32_t what = pick(m, 20);
    struct m_gang *g = &m->gangs[i];
    if (what < 12 && !g->exists) {
        put_gang(m, i);
    } else if (what < 14 && g->exists) {
        end_gang(m, i);
    } else if (what < 16) {
        put_node(m, (int)pick(m, NODES));
    } else if (what < 18 && g->exists && !g->lone) {
        g->keeps = pick(m, 4) == 0;
        g->priority = (int)pick(m, 4);
        tell_gang(m, &m->w, i);
        for (int k = 0; k < g->count; k++)
            if (g->pods[k].exists)
                tell_pod(m, &m->w, i, k);
    } else if (what < 19 && g->exists && g->lone) {
        g->priority = (int)pick(m, 4);
        tell_pod(m, &m->w, i, 0);
    } else if (what == 19 && g->exists) { /* somebody deletes a pod */
        int k = (int)pick(m, (uint32_t)g->count);
        g->pods[k].deleting |= g->pods[k].exists && g->pods[k].node >= 0;
        if (g->pods[k].exists)
            tell_pod(m, &m->w, i, k);
    }
    if (traces())
        printf("# step %" PRIu64 ": event %u of g%d\n", m->step, what, g->serial);
}

static void run_seed(uint64_t seed, uint64_t steps)
{
    struct model m = {.w = world_new(), .random = {seed}, .seed = seed};
    for (int i = 0; i < NODES; i++)
        put_node(&m, i);
    for (m.step = 0; m.step < steps; m.step++) {
        for (uint32_t n = 1 + pick(&m, 3); n; n--)
            random_event(&m);
        come_to_rest(&m);
        check_rest(&m);
        begin_anew(&m, true);
        arena_reset(m.w.records);
        if (pick(&m, 4) == 0)
            sweep_names(&m.w);
    }
    printf("# seed %" PRIu64 ": %" PRIu64 " bound, %" PRIu64 " evicted (%" PRIu64 " members alone, %" PRIu64 " lone pods), %" PRIu64
           " restarts\n", seed, m.binds_n, m.evicts_n, m.members_n, m.lone_n, m.restarts_n);
    world_free(&m.w);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 100;
    for (uint64_t runs = argc > 3 ? strtoull(argv[3], NULL, 10) : 40; runs; runs--)
        run_seed(seed++, steps);
    return 0;
}
