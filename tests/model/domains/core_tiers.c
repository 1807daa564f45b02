/* core_tiers.c - pod groups in HyperNodes, against rules that count everything anew
 *
 *   core_tiers [SEED [STEPS [RUNS]]]
 *
 * Up to eight nodes in trees of one to three tiers, with gaps; groups of one or two kinds of pods that have to stand in one HyperNode, or
 * would like to, or do not mind. Groups, pods and nodes come and go, and so do HyperNodes; now and then the scheduler begins anew from what
 * the API says. After each of these:
 *   - who was bound and has to stand in a HyperNode of a tier does, together with those who stood before;
 *   - the same of each subgroup that has to, and its members start together; so it is of two subgroups that are below one policy;
 *   - a group that came whole, and has no subgroups, stands in the lowest tier in which a HyperNode would have held it;
 *   - nobody waits for whom there is an allowed HyperNode (or, where there need be none, are nodes) with places for all that he needs;
 *     of groups with several subgroups only where all pods are equal: else the order in which they are placed may decide.
 */
#include <inttypes.h>
#include "../../unit/core/world.h"
#include "base/random.h"
#include "core/heal/refill.h"

enum { NODES = 8, TIERS = 3, GANGS = 5, MEMBERS = 5 };

#define GPU "nvidia.com/gpu"

struct size {
    int cpu, gpu;
};
struct plain_pod {
    bool known;
    struct size size;
    int node, serial;        /* node -1: waits */
    int part;                /* its subgroup, 0: none */
};
struct plain_gang {
    bool known;
    int serial, min;
    struct tier_request tiers, each; /* each: of its subgroups */
    int size, least;         /* size 0: it has no subgroups */
    bool is_tree;            /* subgroups 1 and 2, 3 and 4 are below a policy: pair_least satisfy it; and top_least of three the group */
    int pair_least, top_least;
    struct tier_request pair;
    struct plain_pod pods[MEMBERS];
};
struct model {
    struct world w;
    struct random random;
    int tiers_n, tier[TIERS];    /* from the lowest */
    int in[NODES][TIERS];        /* HyperNode by level, -1: none. Those of a level are within those of the next, but for gaps */
    struct size size[NODES];
    bool known[NODES];
    struct plain_gang gangs[GANGS];
    int serial, bound_n, low_n, parted_n, event; /* event: the last one, as something_happens numbers them */
};

static int pick(struct model *m, int n)
{
    return (int)random_below(&m->random, (uint64_t)n);
}

static const char *name(struct model *m, const char *prefix, int n)
{
    return arena_printf(m->w.records, "%s%d", prefix, n);
}

/* ---- the slow way ---- */

static struct size less(struct size a, struct size b)
{
    return (struct size){a.cpu - b.cpu, a.gpu - b.gpu};
}

static void count_free(const struct model *m, struct size free[NODES])
{
    for (int n = 0; n < NODES; n++)
        free[n] = m->known[n] ? m->size[n] : (struct size){0};
    for (int i = 0; i < GANGS; i++)
        for (int k = 0; k < MEMBERS; k++)
            if (m->gangs[i].known && m->gangs[i].pods[k].known && m->gangs[i].pods[k].node >= 0)
                free[m->gangs[i].pods[k].node] = less(free[m->gangs[i].pods[k].node], m->gangs[i].pods[k].size);
}

/* Do they fit on the nodes of this HyperNode (level -1: on all)? */
static bool fit(const struct model *m, struct size free[NODES], int level, int hypernode, const struct size *pods, int n)
{
    if (!n)
        return true;
    for (int at = 0; at < NODES; at++) {
        struct size before = free[at], left = less(before, pods[0]);
        if (!m->known[at] || left.cpu < 0 || left.gpu < 0 || (level >= 0 && m->in[at][level] != hypernode))
            continue;
        free[at] = left;
        bool rest = fit(m, free, level, hypernode, pods + 1, n - 1);
        free[at] = before;
        if (rest)
            return true;
    }
    return false;
}

/* The lowest level with a HyperNode that holds these and has all who stand; tiers_n: none has. */
static int lowest_level(const struct model *m, struct size free[NODES], const struct size *pods, int n, const int *stand, int stand_n)
{
    for (int l = 0; l < m->tiers_n; l++)
        for (int at = 0; at < NODES; at++) {
            int hypernode = m->known[at] ? m->in[at][l] : -1;
            bool all = hypernode >= 0;
            for (int i = 0; i < stand_n; i++)
                all = all && m->in[stand[i]][l] == hypernode;
            if (all && fit(m, free, l, hypernode, pods, n))
                return l;
        }
    return m->tiers_n;
}

static bool could_stand(const struct model *m, const struct plain_gang *g, const struct size *pods, int n, const int *stand, int stand_n)
{
    struct size free[NODES];
    count_free(m, free);
    if (g->tiers.mode != TOPOLOGY_REQUIRED)
        return fit(m, free, -1, 0, pods, n);
    int level = lowest_level(m, free, pods, n, stand, stand_n);
    return level < m->tiers_n && m->tier[level] <= g->tiers.highest;
}

/* ---- what the core is told ---- */

static void tell_node(struct model *m, struct world *w, int at)
{
    if (m->known[at])
        node(w, name(m, "n", at), arena_printf(m->w.records, "cpu=%d,pods=100," GPU "=%d", m->size[at].cpu, m->size[at].gpu), "");
    else
        gone(w, CHANGE_NODE_GONE, name(m, "n", at));
}

static void tell_tiers(struct model *m, struct world *w)
{
    const char *levels = "", *rows = "";
    for (int l = m->tiers_n; l-- > 0;)
        levels = arena_printf(m->w.records, "%s%s%d", levels, *levels ? "," : "", m->tier[l]);
    for (int at = 0; at < NODES; at++) {
        bool any = false;
        const char *row = "";
        for (int l = m->tiers_n; l-- > 0;) {
            const char *letter = l == 0 ? "s" : l == 1 ? "t" : "u", *in = m->in[at][l] < 0 ? "-" : name(m, letter, m->in[at][l]);
            row = arena_printf(m->w.records, "%s%s%s", row, *row ? "/" : "", in);
            any |= m->in[at][l] >= 0;
        }
        rows = any ? arena_printf(m->w.records, "%s%sn%d=%s", rows, *rows ? " " : "", at, row) : rows;
    }
    if (m->tiers_n)
        tiers(w, levels, rows);
    else
        gone(w, CHANGE_TOPOLOGY_GONE, "hypernodes");
}

static void tell_tree(struct world *w, const struct plain_gang *g, struct gang_record *r)
{
    struct subgroup_policy *all = arena_zero(w->records, MEMBERS + 2, sizeof *all);
    struct requirement *is = arena_zero(w->records, MEMBERS, sizeof *is);
    name_id *values = arena_zero(w->records, MEMBERS, sizeof *values);
    for (int i = 0; i < 2; i++)
        all[MEMBERS + i] = (struct subgroup_policy){.name = id(w, "pair"), .pods = {.matches_nothing = true}, .least_n = g->pair_least,
                                                    .tiers = g->pair};
    for (int i = 0; i < MEMBERS; i++) {
        values[i] = id(w, arena_printf(w->records, "%d", i + 1));
        is[i] = (struct requirement){.key = id(w, "part"), .op = REQUIRE_IN, .values = &values[i], .values_n = 1};
        all[i] = (struct subgroup_policy){.name = values[i], .above = i < 4 ? (uint32_t)(MEMBERS + i / 2 + 1) : 0,
                                          .pods = {.all = &is[i], .all_n = 1}, .size = g->size, .least_n = 1, .tiers = g->each};
    }
    r->subgroups = all;
    r->subgroups_n = MEMBERS + 2;
    r->subgroups_least = g->top_least;
}

static void tell_gang(struct model *m, struct world *w, const struct plain_gang *g)
{
    struct gang_record r = a_group(w, name(m, "g", g->serial), NULL, g->min);
    r.created_ms = g->serial;
    r.tiers = g->tiers;
    const name_id key = id(w, "part");
    const struct subgroup_policy parts = {.name = key, .keys = &key, .keys_n = 1, .size = g->size, .least_n = g->least, .tiers = g->each};
    r.subgroups = &parts;
    r.subgroups_n = g->size > 0;
    if (g->is_tree)
        tell_tree(w, g, &r);
    gang_record(w, r);
}

static void tell_pod(struct model *m, struct world *w, const struct plain_gang *g, const struct plain_pod *p)
{
    struct pod_record r = a_pod(w, name(m, "ns/p", p->serial), name(m, "g", g->serial),
                                arena_printf(m->w.records, p->size.gpu ? "cpu=%d," GPU "=%d" : "cpu=%d", p->size.cpu, p->size.gpu));
    r.created_ms = p->serial;
    if (p->part)
        r.shape.labels = labels_of(w, arena_printf(m->w.records, "part=%d", p->part), &r.shape.labels_n);
    r.node = p->node >= 0 ? id(w, name(m, "n", p->node)) : 0;
    r.phase = p->node >= 0 ? POD_RUNNING : POD_PENDING;
    pod_record(w, r);
}

static void begin_anew(struct model *m)
{
    world_free(&m->w);
    m->w = world_new();
    for (int at = 0; at < NODES; at++)
        if (m->known[at])
            tell_node(m, &m->w, at);
    tell_tiers(m, &m->w);
    for (int i = 0; i < GANGS; i++) {
        if (m->gangs[i].known)
            tell_gang(m, &m->w, &m->gangs[i]);
        for (int k = 0; k < MEMBERS; k++)
            if (m->gangs[i].known && m->gangs[i].pods[k].known)
                tell_pod(m, &m->w, &m->gangs[i], &m->gangs[i].pods[k]);
    }
}

/* ---- what happens ---- */

static void new_tree(struct model *m)
{
    m->tiers_n = pick(m, TIERS + 1);
    for (int l = 0, tier = 0; l < m->tiers_n; l++)
        m->tier[l] = tier += 1 + pick(m, 2);
    for (int at = 0; at < NODES; at++)
        for (int l = 0; l < TIERS; l++)
            m->in[at][l] = at >> (l + 1);
    for (int i = pick(m, 4); i > 0; i--) { /* a HyperNode that is not there, or has not all that it could */
        int at = pick(m, NODES), l = pick(m, TIERS), part = l + pick(m, 2);
        for (int k = 0; k < NODES; k++)
            if (k >> part == at >> part)
                m->in[k][l] = -1;
    }
    tell_tiers(m, &m->w);
}

static void new_pod(struct model *m, struct plain_gang *g, struct plain_pod *p, struct size size)
{
    *p = (struct plain_pod){true, size, -1, ++m->serial, pick(m, 6) ? 1 + (int)(p - g->pods) / (g->size ? g->size : 1) : pick(m, 3)};
    tell_pod(m, &m->w, g, p);
}

static struct size any_size(struct model *m)
{
    return (struct size){1 + pick(m, 3), pick(m, 2)};
}

static void new_gang(struct model *m, struct plain_gang *g)
{
    int n = 1 + pick(m, MEMBERS);
    struct size one = any_size(m), other = pick(m, 2) ? one : any_size(m);
    *g = (struct plain_gang){.known = true, .serial = ++m->serial, .min = pick(m, 3) ? n : 1 + pick(m, n)};
    g->tiers.mode = (enum topology_mode)pick(m, 3);
    g->tiers.highest = g->tiers.mode == TOPOLOGY_REQUIRED ? pick(m, 7) : 0;
    if (pick(m, 2)) {
        g->size = 1 + pick(m, 3);
        g->least = pick(m, 2) ? pick(m, 3) : 0;
        g->each.mode = (enum topology_mode)pick(m, 3);
        g->each.highest = g->each.mode == TOPOLOGY_REQUIRED ? pick(m, 5) : 0;
        g->is_tree = pick(m, 2);
        g->pair_least = pick(m, 3);
        g->top_least = pick(m, 4);
        g->pair.mode = (enum topology_mode)pick(m, 3);
        g->pair.highest = g->pair.mode == TOPOLOGY_REQUIRED ? pick(m, 6) : 0;
    }
    tell_gang(m, &m->w, g);
    for (int k = 0; k < n; k++)
        new_pod(m, g, &g->pods[k], pick(m, 2) ? one : other);
}

static void pod_goes(struct model *m, struct plain_pod *p)
{
    gone(&m->w, CHANGE_POD_GONE, name(m, "ns/p", p->serial));
    p->known = false;
}

static void gang_goes(struct model *m, struct plain_gang *g)
{
    for (int k = 0; k < MEMBERS; k++)
        if (g->pods[k].known)
            pod_goes(m, &g->pods[k]);
    gone(&m->w, CHANGE_GANG_GONE, name(m, "g", g->serial));
    g->known = false;
}

static bool is_empty(const struct model *m, int at)
{
    for (int i = 0; i < GANGS; i++)
        for (int k = 0; k < MEMBERS; k++)
            if (m->gangs[i].known && m->gangs[i].pods[k].known && m->gangs[i].pods[k].node == at)
                return false;
    return true;
}

static void node_changes(struct model *m, int at)
{
    if (!is_empty(m, at))
        return;
    m->known[at] = pick(m, 4) != 0;
    m->size[at] = (struct size){1 + pick(m, 5), pick(m, 3)};
    tell_node(m, &m->w, at);
}

static void something_happens(struct model *m)
{
    struct plain_gang *g = &m->gangs[pick(m, GANGS)];
    struct plain_pod *p = &g->pods[pick(m, MEMBERS)];
    m->event = pick(m, 8);
    switch (m->event) {
    case 0:
        new_tree(m);
        break;
    case 1:
        node_changes(m, pick(m, NODES));
        break;
    case 2:
        begin_anew(m);
        break;
    case 3:
        if (g->known && p->known)
            pod_goes(m, p);
        break;
    case 4:
        if (g->known && !p->known)
            new_pod(m, g, p, any_size(m));
        break;
    case 5:
        if (g->known) {
            struct tier_request *r = g->size && pick(m, 2) ? &g->each : &g->tiers;
            r->mode = r->mode == TOPOLOGY_REQUIRED ? TOPOLOGY_UNASKED : TOPOLOGY_REQUIRED;
            tell_gang(m, &m->w, g);
        }
        break;
    default:
        if (g->known)
            gang_goes(m, g);
        else
            new_gang(m, g);
    }
}

/* ---- rules ---- */

static int failed(struct model *m, const struct plain_gang *g, const char *what)
{
    fprintf(stderr, "g%d (min %d, mode %d, tier %d; size %d, least %d, mode %d, tier %d): %s\n  %s\n", g->serial, g->min,
            (int)g->tiers.mode, (int)g->tiers.highest, g->size, g->least, (int)g->each.mode, (int)g->each.highest, what,
            why(&m->w, name(m, "g", g->serial)));
    for (int k = 0; k < MEMBERS; k++)
        if (g->pods[k].known)
            fprintf(stderr, "  p%d cpu %d gpu %d of %d on %d\n", g->pods[k].serial, g->pods[k].size.cpu, g->pods[k].size.gpu,
                    g->pods[k].part, g->pods[k].node);
    for (int at = 0; at < NODES; at++)
        fprintf(stderr, "  n%d%s cpu %d gpu %d in %d %d %d\n", at, m->known[at] ? "" : " (gone)", m->size[at].cpu, m->size[at].gpu,
                m->in[at][0], m->in[at][1], m->in[at][2]);
    for (int l = 0; l < m->tiers_n; l++)
        fprintf(stderr, "  tier %d\n", m->tier[l]);
    fprintf(stderr, "  after event %d\n", m->event);
    return -1;
}

/* The lowest level on which all these nodes are in one HyperNode. */
static int level_together(const struct model *m, const int *nodes, int n)
{
    for (int l = 0; l < m->tiers_n; l++) {
        bool same = m->in[nodes[0]][l] >= 0;
        for (int i = 1; i < n; i++)
            same = same && m->in[nodes[i]][l] == m->in[nodes[0]][l];
        if (same)
            return l;
    }
    return m->tiers_n;
}

static bool together(const struct model *m, const struct tier_request *asked, const int *nodes, int n)
{
    int level = n ? level_together(m, nodes, n) : 0;
    return asked->mode != TOPOLOGY_REQUIRED || !n || (level < m->tiers_n && m->tier[level] <= asked->highest);
}

/* ---- subgroups ---- */

static int standing_of(const struct plain_gang *g, int part, int *nodes)
{
    int n = 0;
    for (int k = 0; k < MEMBERS; k++)
        if (g->pods[k].known && g->pods[k].node >= 0 && (!part || g->pods[k].part == part))
            nodes[n++] = g->pods[k].node;
    return n;
}

static int whole_n(const struct plain_gang *g)
{
    int nodes[MEMBERS], n = 0;
    for (int part = 1; g->size && part <= MEMBERS; part++)
        n += standing_of(g, part, nodes) >= g->size;
    return n;
}

/* Of a tree: subgroups 1 and 2 (pair 0), or 3 and 4. */
static bool pair_is_satisfied(const struct plain_gang *g, int pair)
{
    int nodes[MEMBERS];
    return (standing_of(g, 2 * pair + 1, nodes) >= g->size) + (standing_of(g, 2 * pair + 2, nodes) >= g->size) >= g->pair_least;
}

static bool is_whole(const struct plain_gang *g)
{
    int nodes[MEMBERS];
    if (g->is_tree)
        return standing_of(g, 0, nodes) >= g->min && pair_is_satisfied(g, 0) + pair_is_satisfied(g, 1) +
               (standing_of(g, 5, nodes) >= g->size) >= (g->top_least ? g->top_least : 3);
    return standing_of(g, 0, nodes) >= g->min && whole_n(g) >= (g->size ? g->least : 0);
}

static bool all_together(const struct model *m, const struct plain_gang *g)
{
    int nodes[MEMBERS];
    bool all = together(m, &g->tiers, nodes, standing_of(g, 0, nodes));
    for (int part = 1; g->size && part <= MEMBERS && all; part++)
        all = together(m, &g->each, nodes, standing_of(g, part, nodes));
    return all;
}

/* Is there any way to place these beside those who stand? */
static bool all_could_stand(const struct model *m, struct plain_gang *g, struct size free[NODES], struct plain_pod **pods, int n)
{
    bool could = n == 0 && all_together(m, g);
    for (int at = 0; at < NODES && n && !could; at++) {
        struct size before = free[at], left = less(before, pods[0]->size);
        if (!m->known[at] || left.cpu < 0 || left.gpu < 0)
            continue;
        free[at] = left;
        pods[0]->node = at;
        could = all_could_stand(m, g, free, pods + 1, n - 1);
        pods[0]->node = -1;
        free[at] = before;
    }
    return could;
}

/* Who waits, by serial, those who start together side by side; those who cannot are left out. ret_with: how many start together from
 * there on, 0 inside of such a unit. */
static int units_of(const struct plain_gang *g, struct plain_pod **loose, int n, struct plain_pod **ret_pods, int *ret_with)
{
    int done[MEMBERS + 1] = {0}, nodes[MEMBERS], units_n = 0;
    for (int i = 0; i < n; i++) {
        int part = g->size ? loose[i]->part : 0, lacks = part ? g->size - standing_of(g, part, nodes) : 0, loose_n = 0;
        for (int k = 0; k < n; k++)
            loose_n += loose[k]->part == part;
        lacks = lacks > 0 ? lacks : 0;
        if (lacks > loose_n || (lacks && done[part]))
            continue; /* it cannot start; or it is of the unit, or behind it */
        ret_with[units_n] = lacks ? lacks : 1;
        ret_pods[units_n++] = loose[i];
        for (int k = i + 1, more = lacks - 1; k < n && more > 0; k++)
            if (loose[k]->part == part) {
                ret_with[units_n] = 0;
                ret_pods[units_n++] = loose[k];
                more--;
            }
        done[part] = 1;
    }
    return units_n;
}

/* Of a subgroup of which somebody was bound; 0: of none. NULL: all is well. */
static const char *subgroup_fault(const struct model *m, const struct plain_gang *g, int part)
{
    int nodes[MEMBERS], n = part ? standing_of(g, part, nodes) : 0;
    if (!part)
        return NULL;
    if (n < g->size || !together(m, &g->each, nodes, n))
        return n < g->size ? "a subgroup started in part" : "a subgroup is not together";
    if (!g->is_tree || part > 4)
        return NULL;
    int pair = (part - 1) / 2, first_n = standing_of(g, 2 * pair + 1, nodes);
    int both_n = first_n + standing_of(g, 2 * pair + 2, &nodes[first_n]);
    return !pair_is_satisfied(g, pair) ? "a pair started in part" : together(m, &g->pair, nodes, both_n) ? NULL : "a pair is not together";
}

/* Binds of one gang in this cycle: its pods get their nodes, and the rules about them hold. `alone`: nobody else was bound. */
static int take_binds(struct model *m, struct plain_gang *g, bool alone)
{
    int stand[MEMBERS], stand_n = 0, n = 0, all[MEMBERS], all_n = 0, waits_n = 0;
    struct size pods[MEMBERS], free[NODES];
    bool was_bound[MEMBERS] = {false};
    count_free(m, free);
    for (int k = 0; k < MEMBERS; k++)
        if (g->pods[k].known && g->pods[k].node >= 0)
            all[all_n++] = stand[stand_n++] = g->pods[k].node;
    for (int k = 0; k < MEMBERS; k++) {
        struct plain_pod *p = &g->pods[k];
        const struct plan_entry *e = p->known && p->node < 0 ? entry_of(&m->w, EFFECT_BIND, name(m, "ns/p", p->serial)) : NULL;
        waits_n += p->known && p->node < 0 && !e;
        if (!e)
            continue;
        p->node = (int)strtol(text_of(&m->w, e->node) + 1, NULL, 10);
        was_bound[k] = true;
        pods[n++] = p->size;
        all[all_n++] = p->node;
    }
    if (!n)
        return 0;
    m->bound_n += n;
    int level = level_together(m, all, all_n);
    if (g->tiers.mode == TOPOLOGY_REQUIRED && (level == m->tiers_n || m->tier[level] > g->tiers.highest))
        return failed(m, g, "its pods are not together");
    if (!is_whole(g))
        return failed(m, g, "it started in part");
    for (int k = 0; k < MEMBERS && g->size; k++)
        if (was_bound[k] && subgroup_fault(m, g, g->pods[k].part))
            return failed(m, g, subgroup_fault(m, g, g->pods[k].part));
    if (g->size || g->tiers.mode == TOPOLOGY_UNASKED || stand_n || waits_n || !alone)
        return 0;
    m->low_n++;
    return lowest_level(m, free, pods, n, stand, 0) < level ? failed(m, g, "there is a lower tier that holds it") : 0;
}

static int gangs_bound(struct model *m)
{
    int n = 0;
    for (int i = 0; i < GANGS; i++)
        n += m->gangs[i].known && entry_of(&m->w, EFFECT_BIND, name(m, "g", m->gangs[i].serial)) != NULL;
    return n;
}

static void sort_by_serial(struct plain_pod **pods, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k && pods[k - 1]->serial > pods[k]->serial; k--) {
            struct plain_pod *swap = pods[k];
            pods[k] = pods[k - 1];
            pods[k - 1] = swap;
        }
}

static bool are_equal(const struct plain_gang *g)
{
    const struct plain_pod *one = NULL;
    bool equal = true;
    for (int k = 0; k < MEMBERS; k++) {
        const struct plain_pod *p = &g->pods[k];
        one = one ? one : p->known ? p : NULL;
        equal = equal && (!p->known || (p->size.cpu == one->size.cpu && p->size.gpu == one->size.gpu));
    }
    return equal;
}

/* The same of a group with subgroups. */
static int check_waiting_subgroups(struct model *m, struct plain_gang *g, struct plain_pod **loose, int n)
{
    struct plain_pod *pods[MEMBERS + 1], *some[MEMBERS + 1];
    int with[MEMBERS + 1], units_n = units_of(g, loose, n, pods, with), some_n = 0, need = g->least - whole_n(g), nodes[MEMBERS];
    int all_need = g->min - standing_of(g, 0, nodes);
    struct size free[NODES];
    count_free(m, free);
    for (int i = 0; i < units_n && is_whole(g); i++)
        if (with[i] && all_could_stand(m, g, free, &pods[i], with[i]))
            return failed(m, g, "more of its pods could stand");
    if (is_whole(g) || !are_equal(g))
        return 0;
    bool chosen[MEMBERS + 1] = {false};
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < units_n; i += with[i]) {
            bool makes_whole = pods[i]->part && standing_of(g, pods[i]->part, nodes) < g->size;
            if (chosen[i] || (pass ? all_need <= 0 : !makes_whole || need <= 0))
                continue;
            chosen[i] = true;
            for (int k = i; k < i + with[i]; k++)
                some[some_n++] = pods[k];
            need -= makes_whole;
            all_need -= with[i];
        }
    if (need > 0 || all_need > 0)
        return 0; /* too few are there */
    m->parted_n++;
    bool could = all_could_stand(m, g, free, some, some_n) || all_could_stand(m, g, free, pods, units_n);
    return could ? failed(m, g, "it could start") : 0;
}

static int check_waiting(struct model *m, struct plain_gang *g)
{
    struct plain_pod *loose[MEMBERS];
    struct size pods[MEMBERS];
    int stand[MEMBERS], stand_n = 0, n = 0;
    for (int k = 0; k < MEMBERS && g->known; k++) {
        if (g->pods[k].known && g->pods[k].node >= 0)
            stand[stand_n++] = g->pods[k].node;
        else if (g->pods[k].known)
            loose[n++] = &g->pods[k];
    }
    sort_by_serial(loose, n);
    if (g->known && g->is_tree)
        return 0; /* which subgroups are tried follows from an order; nobody starts in part */
    if (g->known && g->size)
        return check_waiting_subgroups(m, g, loose, n);
    for (int i = 0; i < n; i++)
        pods[i] = loose[i]->size;
    if (stand_n >= g->min) {
        for (int i = 0; i < n; i++)
            if (could_stand(m, g, &pods[i], 1, stand, stand_n))
                return failed(m, g, "one more of its pods could stand");
        return 0;
    }
    int needed = g->min - stand_n;
    if (!g->known || n < needed)
        return 0;
    bool could = could_stand(m, g, pods, n, stand, stand_n) || could_stand(m, g, pods, needed, stand, stand_n);
    return could ? failed(m, g, "it could start") : 0;
}

static int settle_now(struct model *m)
{
    struct err e = {0};
    for (int round = 0, n = 1; (n || decide_has_work(m->w.s)) && round < 20; round++) {
        run(&m->w);
        n = gangs_bound(m);
        if (!state_check(m->w.s, &e)) {
            fprintf(stderr, "%s\n", e.text);
            return -1;
        }
        for (int i = 0; i < GANGS; i++)
            if (m->gangs[i].known && take_binds(m, &m->gangs[i], n == 1) < 0)
                return -1;
        for (int i = 0; i < GANGS && n; i++)
            for (int k = 0; k < MEMBERS; k++)
                if (m->gangs[i].known && m->gangs[i].pods[k].known && m->gangs[i].pods[k].node >= 0)
                    tell_pod(m, &m->w, &m->gangs[i], &m->gangs[i].pods[k]);
    }
    return 0;
}

/* Then, and when no places are kept any more for members that were lost. */
static int settle(struct model *m)
{
    if (settle_now(m) < 0)
        return -1;
    m->w.now_ms += (REFILL_S + 1) * 1000;
    if (settle_now(m) < 0)
        return -1;
    for (int i = 0; i < GANGS; i++)
        if (check_waiting(m, &m->gangs[i]) < 0)
            return -1;
    return 0;
}

static void run_seed(uint64_t seed, int steps)
{
    static struct model model;
    struct model *m = &model;
    memset(m, 0, sizeof *m);
    m->w = world_new();
    m->random.state = seed;
    new_tree(m);
    for (int at = 0; at < NODES; at++)
        node_changes(m, at);
    for (int i = 0; i < steps; i++) {
        something_happens(m);
        if (settle(m) < 0) {
            fprintf(stderr, "core_tiers: seed %" PRIu64 " step %d\n", seed, i);
            exit(1);
        }
        if (pick(m, 10) == 0) {
            sweep_names(&m->w);
            arena_reset(m->w.records);
        }
    }
    printf("# seed %" PRIu64 ": %d pods bound, %d first in the lowest tier, %d times subgroups waited\n", seed, m->bound_n, m->low_n,
           m->parted_n);
    world_free(&m->w);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, runs = argc > 3 ? strtoull(argv[3], NULL, 10) : 20;
    int steps = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 400;
    for (uint64_t i = 0; i < runs; i++)
        run_seed(seed + i, steps);
    printf("tiers ok\n");
    return 0;
}
