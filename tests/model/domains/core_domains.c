/* core_domains.c - pod sets in domains of a topology, against a slow reference that counts everything anew for each question
 *
 *   core_domains [SEED [STEPS [RUNS]]]
 *
 * Clusters of up to twelve nodes in trees of one to three levels; workloads of one or two pod sets, or of a leader and its workers, that
 * require, prefer or do not mind a level, with slices and slices within slices. Workloads come and end, nodes come, go, and get other
 * labels; now and then the scheduler begins anew from what the API says. What is admitted, in which domains, and who waits must be what the
 * reference says; a place whose node is lost comes back in the domain that the rest requires.
 */
#include <inttypes.h>
#include "../../unit/core/world.h"
#include "base/random.h"

enum { NODES = 12, GANGS = 10, LEVELS = 3, SETS = 2, VALUES = 3 };
#define GPU "nvidia.com/gpu"

struct plain_node {
    bool known, ready, of_flavor;
    int value[LEVELS];         /* by level; -1: without the label */
    int cpu, gpu;
};
struct ask {
    enum topology_mode mode;
    int level, count, cpu, gpu, layers_n, layer_level[2], layer_size[2];
};
struct plain_gang {
    bool known, admitted, group;
    int serial, sets_n;
    struct ask sets[SETS];
    int given[SETS][NODES];    /* pods of a set in a leaf, by its first node */
    int on[SETS][NODES];       /* on a node; where a leaf has several it may be another one of them: all pods ask for the same there */
    struct gang_record record;
};
struct model {
    struct world w;
    struct random random;
    struct plain_node nodes[NODES];
    struct plain_gang gangs[GANGS];
    int levels_n, serial;
    bool by_node, trace;
};

static int pick(struct model *m, int n)
{
    return (int)random_below(&m->random, (uint64_t)n);
}

/* ---- the reference: domains are lists of nodes ---- */

/* One domain of a level: the nodes that have the same values down to it. */
struct dom {
    int nodes[NODES], n, level;
    int leaf;                  /* the level of leaves, where it is one */
};

static bool labelled(const struct model *m, int node, int level)
{
    if (!m->nodes[node].known)
        return false;
    for (int l = 0; l <= level; l++)
        if (m->nodes[node].value[l] < 0)
            return false;
    return true;
}

static int compare_paths(const struct model *m, int a, int b, int level)
{
    for (int l = 0; l <= level; l++)
        if (m->nodes[a].value[l] != m->nodes[b].value[l])
            return m->nodes[a].value[l] < m->nodes[b].value[l] ? -1 : 1;
    return 0;
}

/* All domains of a level below `in` (NULL: all), by path. */
static int doms_of(const struct model *m, int level, const struct dom *in, struct dom *ret)
{
    int n = 0;
    for (int i = 0; i < NODES; i++) {
        bool inside = !in;
        for (int k = 0; in && k < in->n; k++)
            inside |= in->nodes[k] == i;
        if (!inside || !labelled(m, i, m->levels_n - 1))
            continue;
        int at = 0;
        while (at < n && compare_paths(m, ret[at].nodes[0], i, level) < 0)
            at++;
        if (at == n || compare_paths(m, ret[at].nodes[0], i, level) != 0) {
            memmove(&ret[at + 1], &ret[at], (size_t)(n - at) * sizeof *ret);
            ret[at] = (struct dom){.level = level};
            n++;
        }
        ret[at].nodes[ret[at].n++] = i;
    }
    return n;
}

struct usage {
    int cpu[NODES], gpu[NODES];
};

static int room(const struct model *m, const struct usage *used, const struct ask *a, int node)
{
    const struct plain_node *n = &m->nodes[node];
    if (!n->known || !n->ready || !n->of_flavor)
        return 0;
    int by_cpu = a->cpu ? (n->cpu - used->cpu[node]) / a->cpu : 1000, by_gpu = a->gpu ? (n->gpu - used->gpu[node]) / a->gpu : 1000;
    int places = by_cpu < by_gpu ? by_cpu : by_gpu;
    return places < 0 ? 0 : places > 100 ? 100 : places;
}

struct count {
    int pods, slices, pods_led, slices_led, leads;
};

static int layer_at(const struct ask *a, int level)
{
    int size = 0;
    if (a->layers_n > 1 && level > a->layer_level[0] && level <= a->layer_level[1])
        size = a->layer_size[1];
    return size;
}

/* What a domain holds, from its nodes up. */
static struct count count_of(const struct model *m, const struct usage *used, const struct ask *a, const struct ask *leader,
                             const struct dom *d)
{
    struct count c = {0};
    int slice_level = a->layers_n ? a->layer_level[0] : m->levels_n - 1, size = a->layers_n ? a->layer_size[0] : 1;
    if (d->level == m->levels_n - 1) {
        int lost = -1;
        for (int i = 0; i < d->n; i++) {
            int has = room(m, used, a, d->nodes[i]);
            c.pods += has;
            if (!leader || !room(m, used, leader, d->nodes[i]))
                continue;
            struct usage beside = *used;
            beside.cpu[d->nodes[i]] += leader->cpu;
            beside.gpu[d->nodes[i]] += leader->gpu;
            int less = has - room(m, &beside, a, d->nodes[i]);
            lost = lost < 0 || less < lost ? less : lost;
        }
        c.leads = lost >= 0;
        c.pods_led = c.pods - (lost > 0 ? lost : 0);
    } else {
        struct dom below[NODES];
        int n = doms_of(m, d->level + 1, d, below), inner = layer_at(a, d->level + 1), lost = -1, slices_lost = -1;
        for (int i = 0; i < n; i++) {
            struct count one = count_of(m, used, a, leader, &below[i]);
            if (inner) {
                one.pods -= one.pods % inner;
                one.pods_led -= one.pods_led % inner;
            }
            c.pods += one.pods;
            c.slices += one.slices;
            if (leader && !one.leads)
                continue;
            c.leads |= one.leads;
            lost = lost < 0 || one.pods - one.pods_led < lost ? one.pods - one.pods_led : lost;
            slices_lost = slices_lost < 0 || one.slices - one.slices_led < slices_lost ? one.slices - one.slices_led : slices_lost;
        }
        c.pods_led = lost < 0 ? 0 : c.pods - lost;
        c.slices_led = slices_lost < 0 ? 0 : c.slices - slices_lost;
    }
    if (d->level == slice_level) {
        c.slices = c.pods / size;
        c.slices_led = c.pods_led / size;
    }
    return c;
}

/* A domain with what it holds, and what it is given. */
struct share {
    struct dom d;
    struct count has;
    int order;                 /* by path */
    int pods, leads;
};

static int compare(const struct share *a, const struct share *b, bool ascending, bool led)
{
    int sa = led ? a->has.slices_led : a->has.slices, sb = led ? b->has.slices_led : b->has.slices,
        pa = led ? a->has.pods_led : a->has.pods, pb = led ? b->has.pods_led : b->has.pods;
    if (led && a->has.leads != b->has.leads)
        return b->has.leads - a->has.leads;
    if (sa != sb)
        return ascending ? sa - sb : sb - sa;
    return pa != pb ? pa - pb : a->order - b->order;
}

static void sort(struct share *all, int n, bool ascending, bool led)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && compare(&all[k - 1], &all[k], ascending, led) > 0; k--) {
            struct share swap = all[k];
            all[k] = all[k - 1];
            all[k - 1] = swap;
        }
}

static int amount(const struct share *s, bool slices, bool led)
{
    return slices ? led ? s->has.slices_led : s->has.slices : led ? s->has.pods_led : s->has.pods;
}

static int list(const struct model *m, const struct usage *used, const struct ask *a, const struct ask *leader, int level,
                const struct share *in, int in_n, struct share *ret)
{
    int n = 0;
    for (int i = 0; i < (in ? in_n : 1); i++) {
        struct dom all[NODES];
        int more = doms_of(m, level, in ? &in[i].d : NULL, all);
        for (int k = 0; k < more; k++, n++)
            ret[n] = (struct share){.d = all[k], .has = count_of(m, used, a, leader, &all[k])};
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            ret[i].order += compare_paths(m, ret[k].d.nodes[0], ret[i].d.nodes[0], level) < 0;
    return n;
}

/* The first that has the fewest of what is enough. */
static int tightest(const struct share *all, int from, int n, int need, bool slices, bool led)
{
    int best = -1;
    for (int i = from; i < n; i++)
        if (amount(&all[i], slices, led) >= need && (!led || all[i].has.leads) &&
            (best < 0 || amount(&all[i], slices, led) < amount(&all[best], slices, led)))
            best = i;
    return best;
}

static void to_front(struct share *all, int at, int from)
{
    struct share moved = all[from];
    memmove(&all[at + 1], &all[at], (size_t)(from - at) * sizeof *all);
    all[at] = moved;
}

static void leader_first(struct share *all, int n, int need, bool slices, bool leads)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += amount(&all[i], slices, false);
    for (int i = 0; i < n && leads; i++)
        if (all[i].has.leads && sum - amount(&all[i], slices, false) + amount(&all[i], slices, true) >= need) {
            to_front(all, 0, i);
            return;
        }
}

/* Fewest domains in order. Returns how many; 0: they do not hold it. */
static int take(struct share *all, int n, int pods, bool leads, int size, bool slices, bool ascending)
{
    int left = slices ? pods / size : pods;
    leader_first(all, n, left, slices, leads);
    for (int i = 0; i < n; i++) {
        if (!ascending && amount(&all[i], slices, leads) >= left && (!leads || all[i].has.leads))
            to_front(all, i, tightest(all, i, n, left, slices, leads));
        int has = amount(&all[i], slices, leads), taken = has < left ? has : left;
        all[i].pods = slices ? taken * size : taken;
        all[i].leads = leads && all[i].has.leads;
        leads = leads && !all[i].leads;
        left -= taken;
        if (!left && !leads)
            return i + 1;
    }
    return 0;
}

/* Domains of the level on which it stands: one, or at last several. 0: there are none. */
static int find_level(const struct model *m, const struct usage *used, const struct ask *a, const struct ask *leader, struct share *ret,
                      int *ret_level)
{
    bool named = a->mode == TOPOLOGY_REQUIRED || a->mode == TOPOLOGY_PREFERRED;
    int size = a->layers_n ? a->layer_size[0] : 1, need = a->count / size;
    int level = named ? a->level : a->layers_n ? 0 : m->levels_n - 1;
    for (;; level--) {
        int n = list(m, used, a, leader, level, NULL, 0, ret);
        *ret_level = level;
        sort(ret, n, false, true);
        int one = tightest(ret, 0, n, need, true, leader != NULL);
        if (one >= 0) {
            to_front(ret, 0, one);
            return 1;
        }
        if (a->mode == TOPOLOGY_REQUIRED)
            return 0;
        if (level && named)
            continue;
        sort(ret, n, !named, true);
        leader_first(ret, n, need, true, leader != NULL);
        int at = 0, left = need;
        for (bool leads = leader != NULL; at < n && (leads || left > 0); at++, leads = false) {
            if (!leads && at == (leader != NULL))
                sort(&ret[at], n - at, !named, false);
            if (leads && !ret[at].has.leads)
                return 0;
            if (named && amount(&ret[at], true, leads) >= left)
                to_front(ret, at, tightest(ret, at, n, left, true, leads));
            left -= amount(&ret[at], true, leads);
        }
        return left > 0 || (leader && !n) ? 0 : at;
    }
}

/* Down to the leaves. Returns how many; 0: it cannot stand. */
static int choose(const struct model *m, const struct usage *used, const struct ask *a, const struct ask *leader, struct share *ret)
{
    struct share now[NODES], next[NODES], below[NODES];
    int level, n = find_level(m, used, a, leader, now, &level), size = a->layers_n ? a->layer_size[0] : 1;
    int slice_level = a->layers_n ? a->layer_level[0] : m->levels_n - 1;
    bool ascending = a->mode != TOPOLOGY_REQUIRED && a->mode != TOPOLOGY_PREFERRED;
    n = n ? take(now, n, a->count, leader != NULL, size, true, ascending) : 0;
    for (; n && level < slice_level; level++) {
        int more = list(m, used, a, leader, level + 1, now, n, next);
        sort(next, more, ascending, false);
        n = take(next, more, a->count, leader != NULL, size, true, ascending);
        memcpy(now, next, sizeof now);
    }
    for (; n && level < m->levels_n - 1; level++) {
        int next_n = 0, inner = layer_at(a, level + 1);
        for (int i = 0; i < n; i++) {
            int more = list(m, used, a, leader, level + 1, &now[i], 1, below);
            sort(below, more, ascending, false);
            for (int k = 0; k < more && inner > 1; k++) {
                below[k].has.slices = below[k].has.pods / inner;
                below[k].has.slices_led = below[k].has.pods_led / inner;
            }
            int took = take(below, more, now[i].pods, now[i].leads, inner > 1 ? inner : 1, inner > 1, ascending);
            if (!took && now[i].pods + now[i].leads)
                return 0;
            memcpy(&next[next_n], below, (size_t)took * sizeof *below);
            next_n += took;
        }
        n = next_n;
        memcpy(now, next, sizeof now);
    }
    memcpy(ret, now, sizeof now);
    return n;
}

static bool sit(const struct model *m, struct usage *used, struct plain_gang *g, int set, const struct dom *leaf, int pods)
{
    const struct ask *a = &g->sets[set];
    g->given[set][leaf->nodes[0]] += pods;
    for (int i = 0; i < leaf->n; i++)
        for (int k = room(m, used, a, leaf->nodes[i]); k && pods; k--, pods--) {
            g->on[set][leaf->nodes[i]]++;
            used->cpu[leaf->nodes[i]] += a->cpu;
            used->gpu[leaf->nodes[i]] += a->gpu;
        }
    return !pods;
}

static bool place_set(const struct model *m, struct usage *used, struct plain_gang *g, int set, int lead)
{
    struct share all[NODES];
    int n = choose(m, used, &g->sets[set], lead < 0 ? NULL : &g->sets[lead], all);
    for (int i = 0; i < n; i++)
        if ((lead >= 0 && all[i].leads && !sit(m, used, g, lead, &all[i].d, 1)) ||
            (all[i].pods && !sit(m, used, g, set, &all[i].d, all[i].pods)))
            return false;
    return n > 0;
}

/* Does it fit beside what is used? Then the gang says where. */
static bool place(const struct model *m, struct usage *used, struct plain_gang *g)
{
    struct usage before = *used;
    int lead = g->sets[1].count > g->sets[0].count ? 0 : 1;
    memset(g->given, 0, sizeof g->given);
    memset(g->on, 0, sizeof g->on);
    bool fits = !g->group || place_set(m, used, g, !lead, lead);
    for (int i = 0; i < g->sets_n && fits && !g->group; i++)
        fits = place_set(m, used, g, i, -1);
    if (!fits)
        *used = before;
    return fits;
}

static struct usage usage_now(const struct model *m)
{
    struct usage u = {0};
    for (int i = 0; i < GANGS; i++)
        for (int s = 0; s < m->gangs[i].sets_n && m->gangs[i].known && m->gangs[i].admitted; s++)
            for (int k = 0; k < NODES; k++) {
                u.cpu[k] += m->gangs[i].on[s][k] * m->gangs[i].sets[s].cpu;
                u.gpu[k] += m->gangs[i].on[s][k] * m->gangs[i].sets[s].gpu;
            }
    return u;
}

/* ---- the same for the core ---- */

static const char *const level_names[LEVELS + 1] = {"zone", "block", "rack", "kubernetes.io/hostname"};

static const char *level_name(const struct model *m, int level)
{
    return level_names[m->by_node ? LEVELS + 1 - m->levels_n + level : level];
}

static const char *value_of(const struct model *m, int node, int level)
{
    if (m->by_node && level == m->levels_n - 1)
        return arena_printf(m->w.records, "n%02d", node);
    return arena_printf(m->w.records, "v%d", m->nodes[node].value[level]);
}

static const char *leaf_name(const struct model *m, int node)
{
    const char *name = value_of(m, node, m->by_node ? m->levels_n - 1 : 0);
    for (int l = 1; l < m->levels_n && !m->by_node; l++)
        name = arena_printf(m->w.records, "%s,%s", name, value_of(m, node, l));
    return name;
}

static void tell_node(struct model *m, struct world *w, int at)
{
    const struct plain_node *n = &m->nodes[at];
    const char *labels = n->of_flavor ? "tas=yes" : "tas=no", *name = arena_printf(w->records, "n%02d", at);
    for (int l = 0; l < m->levels_n; l++)
        if (n->value[l] >= 0)
            labels = arena_printf(w->records, "%s,%s=%s", labels, level_name(m, l), value_of(m, at, l));
    struct node_record r = a_node(w, name, arena_printf(w->records, "cpu=%d,pods=100," GPU "=%d", n->cpu, n->gpu), labels);
    r.ready = n->ready;
    if (n->known)
        node_record(w, r);
    else
        gone(w, CHANGE_NODE_GONE, name);
}

static void tell_cluster(struct model *m, struct world *w)
{
    struct queue_words q;
    const char *levels = "";
    for (int l = 0; l < m->levels_n; l++)
        levels = arena_printf(w->records, "%s%s%s", levels, l ? "," : "", level_name(m, l));
    topology(w, "t", levels);
    topology_flavor(w, "f", "t", "tas=yes");
    queue_begin(w, &q, "q", NULL);
    queue_quota(w, &q, "f", "cpu", 1000000, NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "f", GPU, 1000000, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    local_queue(w, "ns/lq", "q");
    for (int i = 0; i < NODES; i++)
        if (m->nodes[i].known)
            tell_node(m, w, i);
}

static const char *gang_name(const struct model *m, const struct plain_gang *g)
{
    return arena_printf(m->w.records, "g%d", g->serial);
}

static struct gang_record record_of(struct model *m, struct world *w, const struct plain_gang *g)
{
    struct pod_set *sets = arena_zero(w->records, SETS, sizeof *sets);
    struct gang_record r = a_workload(w, gang_name(m, g), "ns/lq", 1, "cpu=1");
    for (int i = 0; i < g->sets_n; i++) {
        const struct ask *a = &g->sets[i];
        sets[i] = (struct pod_set){.name = id(w, i ? "b" : "a"), .count = a->count, .min_count = a->count};
        sets[i].shape = shape_of(w, arena_printf(w->records, a->gpu ? "cpu=%d," GPU "=%d" : "cpu=%d", a->cpu, a->gpu), "");
        sets[i].topology = (struct topology_request){.mode = a->mode, .slices_n = (uint32_t)a->layers_n};
        if (a->mode == TOPOLOGY_REQUIRED || a->mode == TOPOLOGY_PREFERRED)
            sets[i].topology.level = id(w, level_name(m, a->level));
        for (int k = 0; k < a->layers_n; k++)
            sets[i].topology.slices[k] = (struct topology_slice){id(w, level_name(m, a->layer_level[k])), a->layer_size[k]};
        sets[i].topology.group = g->group ? id(w, "group") : 0;
    }
    r.created_ms = g->serial;
    r.pod_sets = sets;
    r.pod_sets_n = (uint32_t)g->sets_n;
    return r;
}

/* The API says that it has what it was given. */
static void tell_admitted(struct model *m, struct world *w, const struct plain_gang *g)
{
    struct gang_record r = record_of(m, w, g);
    struct flavor_choice *choices = arena_zero(w->records, 2 * SETS, sizeof *choices);
    struct domain_choice *domains = arena_zero(w->records, SETS * NODES, sizeof *domains);
    for (int i = 0; i < g->sets_n; i++) {
        for (uint32_t k = 0; k < r.pod_sets[i].shape.requests_n; k++)
            choices[r.choices_n++] = (struct flavor_choice){(uint16_t)i, r.pod_sets[i].shape.requests[k].resource, id(w, "f")};
        for (int k = 0; k < NODES; k++)
            if (g->given[i][k])
                domains[r.domains_n++] = (struct domain_choice){(uint16_t)i, id(w, leaf_name(m, k)), g->given[i][k]};
    }
    r.admitted = true;
    r.admitted_queue = id(w, "q");
    r.choices = choices;
    r.domains = domains;
    gang_record(w, r);
}

/* ---- what the core did ---- */

static const char *domains_expected(const struct model *m, const struct plain_gang *g)
{
    const char *text = "";
    for (int s = 0; s < g->sets_n; s++)
        for (int leaf = 0, first = 1; leaf < NODES; leaf++) { /* by path, which is not the order of nodes */
            int at = -1;
            for (int i = 0; i < NODES; i++) {
                int before = 0;
                for (int k = 0; k < NODES; k++)
                    before += g->given[s][k] && g->given[s][i] && compare_paths(m, k, i, m->levels_n - 1) < 0;
                at = g->given[s][i] && before == leaf ? i : at;
            }
            if (at < 0)
                break;
            text = arena_printf(m->w.records, "%s%s%s=%d", text, first ? s ? "; " : "" : " ", leaf_name(m, at), g->given[s][at]);
            first = 0;
        }
    return text;
}

static int failed(struct model *m, const struct plain_gang *g, const char *what, const char *expected)
{
    fprintf(stderr, "%s: %s\n  expected %s\n  core     %s (%s)\n", gang_name(m, g), what, expected, domains_of(&m->w, gang_name(m, g)),
            why(&m->w, gang_name(m, g)));
    return -1;
}

/* WHY  with less room the first set may go elsewhere, and let the second fit; only more room makes the core look again. */
static bool may_have_missed_it(const struct model *m, const struct plain_gang *g)
{
    return g->sets_n > 1 && !g->group && g->serial + 1 < m->serial;
}

/* Those that wait, in order: the reference lets in who fits, and the core must have done the same. */
static int compare_decisions(struct model *m)
{
    struct usage used = usage_now(m);
    struct err e = {0};
    for (int serial = 0; serial < m->serial; serial++)
        for (int i = 0; i < GANGS; i++) {
            struct plain_gang *g = &m->gangs[i];
            if (!g->known || g->admitted || g->serial != serial)
                continue;
            struct usage before = used;
            bool fits = place(m, &used, g), admitted = entry_of(&m->w, EFFECT_ADMIT, gang_name(m, g)) != NULL;
            if (fits && !admitted && may_have_missed_it(m, g)) {
                used = before;
                continue;
            }
            if (fits != admitted)
                return failed(m, g, admitted ? "admitted, and cannot stand" : "waits, and could stand",
                              fits ? domains_expected(m, g) : "nothing");
            if (!fits)
                continue;
            g->admitted = true;
            if (strcmp(domains_of(&m->w, gang_name(m, g)), domains_expected(m, g)) != 0)
                return failed(m, g, "stands in other domains", domains_expected(m, g));
            outcome(&m->w, EFFECT_ADMIT, gang_name(m, g), NULL, OUTCOME_DONE);
            tell_admitted(m, &m->w, g);
        }
    if (!state_check(m->w.s, &e)) {
        fprintf(stderr, "%s\n", e.text);
        return -1;
    }
    return 0;
}

/* ---- steps ---- */

static void random_ask(struct model *m, struct ask *a, bool units)
{
    *a = (struct ask){.mode = (enum topology_mode)pick(m, 4), .level = pick(m, m->levels_n), .count = 1 + pick(m, pick(m, 3) ? 5 : 14)};
    a->cpu = units ? 1 : 1 + pick(m, 3);
    a->gpu = units || pick(m, 2) ? 0 : 1 + pick(m, 2);
    bool named = a->mode == TOPOLOGY_REQUIRED || a->mode == TOPOLOGY_PREFERRED;
    if (pick(m, 3))
        return;
    a->layers_n = 1;
    a->layer_level[0] = named ? a->level + pick(m, m->levels_n - a->level) : pick(m, m->levels_n);
    a->layer_size[0] = 1 + pick(m, 4);
    if (a->layer_level[0] + 1 < m->levels_n && pick(m, 2)) {
        a->layers_n = 2;
        a->layer_level[1] = a->layer_level[0] + 1 + pick(m, m->levels_n - a->layer_level[0] - 1);
        a->layer_size[1] = a->layer_size[0] % 2 ? 1 : 2;
    }
    a->count = a->layer_size[0] * (1 + pick(m, 4)); /* whole slices: what is left over has a rule of its own */
}

static void gang_comes(struct model *m)
{
    struct plain_gang *g = &m->gangs[pick(m, GANGS)];
    if (g->known)
        return;
    *g = (struct plain_gang){.known = true, .serial = m->serial++, .sets_n = pick(m, 4) ? 1 : 2};
    for (int i = 0; i < g->sets_n; i++)
        random_ask(m, &g->sets[i], !m->by_node);
    if (g->sets_n == 2 && pick(m, 2)) {
        g->group = true;
        if (g->sets[0].mode != TOPOLOGY_REQUIRED)
            g->sets[0].mode = TOPOLOGY_PREFERRED;
        g->sets[0].layers_n = 0;
        struct ask leader = g->sets[0];
        leader.count = 1;
        leader.gpu = m->by_node ? pick(m, 2) : 0;
        g->sets[1] = leader;
    }
    gang_record(&m->w, record_of(m, &m->w, g));
}

static void gang_ends(struct model *m)
{
    struct plain_gang *g = &m->gangs[pick(m, GANGS)];
    if (g->known)
        gone(&m->w, CHANGE_GANG_GONE, gang_name(m, g));
    g->known = false;
}

static bool stands_on(const struct model *m, int node)
{
    for (int i = 0; i < GANGS; i++)
        for (int s = 0; s < m->gangs[i].sets_n; s++)
            if (m->gangs[i].known && m->gangs[i].admitted && m->gangs[i].on[s][node])
                return true;
    return false;
}

static void random_node(struct model *m, struct plain_node *n, int at)
{
    *n = (struct plain_node){.known = true, .ready = pick(m, 8) != 0, .of_flavor = pick(m, 8) != 0, .cpu = pick(m, 9), .gpu = pick(m, 5)};
    for (int l = 0; l < m->levels_n; l++)
        n->value[l] = pick(m, 12) ? pick(m, VALUES) : -1;
    if (m->by_node && n->value[m->levels_n - 1] >= 0)
        n->value[m->levels_n - 1] = at;
}

/* One on which nobody stands comes, goes, or is another one. Where leaves have several nodes, what stands in one may stand on any of
 * them. */
static void node_changes(struct model *m)
{
    int at = pick(m, NODES);
    bool leaf_used = false;
    for (int i = 0; i < NODES; i++)
        leaf_used |= stands_on(m, i) && (m->by_node ? i == at : true);
    if (leaf_used)
        return;
    if (m->nodes[at].known && !pick(m, 3))
        m->nodes[at].known = false;
    else
        random_node(m, &m->nodes[at], at);
    tell_node(m, &m->w, at);
}

/* The API tells a new scheduler of everything: it must hold the same. */
static int begins_anew(struct model *m)
{
    struct world fresh = world_new();
    struct model other = *m;
    struct err e = {0};
    int r = 0;
    other.w = fresh;
    tell_cluster(&other, &other.w);
    for (int i = 0; i < GANGS; i++)
        if (m->gangs[i].known && m->gangs[i].admitted)
            tell_admitted(&other, &other.w, &m->gangs[i]);
    run(&other.w);
    for (int i = 0; i < GANGS && !r; i++) {
        struct plain_gang *g = &m->gangs[i];
        if (g->known && g->admitted && strcmp(domains_of(&other.w, gang_name(&other, g)), domains_expected(&other, g)) != 0)
            r = failed(&other, g, "after a new start it stands elsewhere", domains_expected(&other, g));
    }
    if (!r && !state_check(other.w.s, &e)) {
        fprintf(stderr, "after a new start: %s\n", e.text);
        r = -1;
    }
    if (r) {
        world_free(&other.w);
        return r;
    }
    for (int i = 0; i < GANGS; i++)
        if (m->gangs[i].known && !m->gangs[i].admitted)
            gang_record(&other.w, record_of(&other, &other.w, &m->gangs[i]));
    run(&other.w);
    world_free(&m->w);
    m->w = other.w;
    return compare_decisions(m);
}

/* A node on which somebody stands is lost: each of its gangs stands in one domain all the same, or nowhere. It ends after that. */
static int node_is_lost(struct model *m)
{
    int at = pick(m, NODES);
    struct err e = {0};
    if (!m->by_node || !stands_on(m, at) || !m->nodes[at].known)
        return 0;
    m->nodes[at].known = false;
    tell_node(m, &m->w, at);
    run(&m->w);
    for (int i = 0; i < GANGS; i++) {
        struct plain_gang *g = &m->gangs[i];
        const struct domain_choice *all;
        if (!g->known || !g->admitted || !(g->on[0][at] + g->on[1][at]))
            continue;
        uint32_t n = state_gang_domains(m->w.s, id(&m->w, gang_name(m, g)), &all);
        int sum = 0, first = -1;
        bool here = false, apart = false;
        for (uint32_t k = 0; k < n; k++) {
            int node = (int)strtol(text_of(&m->w, all[k].domain) + 1, NULL, 10);
            const struct ask *a = &g->sets[all[k].pod_set];
            first = k && all[k - 1].pod_set == all[k].pod_set ? first : node;
            sum += all[k].count;
            here |= node == at;
            apart |= a->mode == TOPOLOGY_REQUIRED && node != at && first != at && compare_paths(m, first, node, a->level) != 0;
        }
        if (sum != g->sets[0].count + (g->sets_n > 1 ? g->sets[1].count : 0) || (!here && apart))
            return failed(m, g, "a node was lost, and its places are not where they have to be", domains_expected(m, g));
    }
    for (int i = 0; i < GANGS; i++) /* where they went is not the reference's affair: all end */
        if (m->gangs[i].known && m->gangs[i].admitted) {
            gone(&m->w, CHANGE_GANG_GONE, gang_name(m, &m->gangs[i]));
            m->gangs[i].known = false;
        }
    run(&m->w);
    if (!state_check(m->w.s, &e)) {
        fprintf(stderr, "after a node was lost: %s\n", e.text);
        return -1;
    }
    return compare_decisions(m);
}

static int step(struct model *m)
{
    int what = pick(m, 20);
    if (what < 9)
        gang_comes(m);
    else if (what < 14)
        gang_ends(m);
    else if (what < 18)
        node_changes(m);
    else if (what < 19)
        return begins_anew(m);
    else
        return node_is_lost(m);
    run(&m->w);
    return compare_decisions(m);
}

static void print_world(const struct model *m)
{
    for (int i = 0; i < NODES; i++) {
        const struct plain_node *n = &m->nodes[i];
        if (!n->known)
            continue;
        fprintf(stderr, "  n%02d cpu %d gpu %d%s%s:", i, n->cpu, n->gpu, n->ready ? "" : " not ready", n->of_flavor ? "" : " other flavor");
        for (int l = 0; l < m->levels_n; l++)
            fprintf(stderr, " %d", n->value[l]);
        fprintf(stderr, "\n");
    }
    for (int i = 0; i < GANGS; i++)
        for (int s = 0; s < m->gangs[i].sets_n && m->gangs[i].known; s++) {
            const struct ask *a = &m->gangs[i].sets[s];
            fprintf(stderr, "  g%d%s%s: %d x cpu %d gpu %d, mode %d level %d", m->gangs[i].serial, m->gangs[i].group ? " group" : "",
                    m->gangs[i].admitted ? " runs" : "", a->count, a->cpu, a->gpu, (int)a->mode, a->level);
            for (int k = 0; k < a->layers_n; k++)
                fprintf(stderr, ", %d on level %d", a->layer_size[k], a->layer_level[k]);
            fprintf(stderr, "\n");
        }
}

/* How many gangs were let in, by the first set's mode; -1: a fault. */
static int one_run(uint64_t seed, int steps)
{
    struct model m = {.random = {seed}};
    int r = 0, at = 0;
    m.w = world_new();
    m.levels_n = 1 + pick(&m, LEVELS);
    m.by_node = pick(&m, 4) != 0;
    for (int i = 0; i < NODES; i++)
        if (pick(&m, 4))
            random_node(&m, &m.nodes[i], i);
    tell_cluster(&m, &m.w);
    for (; at < steps && !r; at++)
        r = step(&m);
    if (r) {
        fprintf(stderr, "core_domains: seed %" PRIu64 ", step %d, %d levels%s\n", seed, at, m.levels_n, m.by_node ? " down to nodes" : "");
        print_world(&m);
    }
    world_free(&m.w);
    return r ? -1 : m.serial;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 60;
    uint64_t runs = argc > 3 ? strtoull(argv[3], NULL, 10) : 2000, gangs = 0;
    for (uint64_t i = 0; i < runs; i++) {
        int n = one_run(seed + i, (int)steps);
        if (n < 0)
            return 1;
        gangs += (uint64_t)n;
    }
    printf("# %" PRIu64 " workloads in domains\n", gangs);
    return gangs ? 0 : 1;
}
