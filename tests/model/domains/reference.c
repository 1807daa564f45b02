#include "reference.h"

/* ---- domains are lists of nodes ---- */

/* One domain of a level: the nodes that have the same values down to it. */
struct dom {
    int nodes[NODES], n, level;
    int leaf;                  /* the level of leaves, where it is one */
};

static bool labelled(const struct cluster *m, int node, int level)
{
    if (!m->nodes[node].known)
        return false;
    for (int l = 0; l <= level; l++)
        if (m->nodes[node].value[l] < 0)
            return false;
    return true;
}

int compare_paths(const struct cluster *m, int a, int b, int level)
{
    for (int l = 0; l <= level; l++)
        if (m->nodes[a].value[l] != m->nodes[b].value[l])
            return m->nodes[a].value[l] < m->nodes[b].value[l] ? -1 : 1;
    return 0;
}

/* All domains of a level below `in` (NULL: all), by path. */
static int doms_of(const struct cluster *m, int level, const struct dom *in, struct dom *ret)
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

int reference_best_gpu(int gpus_n, const int taken[NODE_GPUS], int milli)
{
    int best = -1;
    for (int k = 0; k < gpus_n; k++)
        if (milli ? 1000 - taken[k] >= milli && (best < 0 || taken[k] > taken[best]) : !taken[k] && best < 0)
            best = k;
    return best;
}

/* Pods of this kind that its GPUs hold. */
static int gpus_room(const struct cluster *m, const struct usage *used, const struct ask *a, int node)
{
    const struct plain_node *n = &m->nodes[node];
    int whole_n = n->gpu - used->gpu[node], untouched_n = 0, parts_n = 0;
    for (int k = 0; k < n->gpu && m->in_parts; k++) {
        untouched_n += !used->taken[node][k];
        parts_n += a->milli && used->taken[node][k] < 1000 ? (1000 - used->taken[node][k]) / a->milli : 0;
    }
    if (a->milli) {
        int left = 1000 * n->gpu - used->parts[node], most = left > 0 ? left / a->milli : 0;
        return parts_n < most ? parts_n : most;
    }
    whole_n = m->in_parts && untouched_n < whole_n ? untouched_n : whole_n;
    return a->gpu ? whole_n / a->gpu : 1000;
}

static void take_gpus(const struct cluster *m, struct usage *used, const struct ask *a, int node)
{
    used->gpu[node] += a->gpu;
    used->parts[node] += a->milli;
    for (int n = a->milli ? 1 : a->gpu; n && m->in_parts; n--)
        used->taken[node][reference_best_gpu(m->nodes[node].gpu, used->taken[node], a->milli)] += a->milli ? a->milli : 1000;
}

static int room(const struct cluster *m, const struct usage *used, const struct ask *a, int node)
{
    const struct plain_node *n = &m->nodes[node];
    if (!n->known || !n->ready || !n->of_flavor)
        return 0;
    int by_cpu = a->cpu ? (n->cpu - used->cpu[node]) / a->cpu : 1000, by_gpu = gpus_room(m, used, a, node);
    int places = by_cpu < by_gpu ? by_cpu : by_gpu, pods = NODE_PODS - used->pods[node];
    places = places < pods ? places : pods;
    return places < 0 ? 0 : places;
}

struct count {
    int pods, slices, pods_led, slices_led, leads, wished;
};

static int layer_at(const struct ask *a, int level)
{
    int size = 0;
    if (a->layers_n > 1 && level > a->layer_level[0] && level <= a->layer_level[1])
        size = a->layer_size[1];
    return size;
}

/* What a domain holds, from its nodes up. */
static struct count count_of(const struct cluster *m, const struct usage *used, const struct ask *a, const struct ask *leader,
                             const struct dom *d)
{
    struct count c = {0};
    int slice_level = a->layers_n ? a->layer_level[0] : m->levels_n - 1, size = a->layers_n ? a->layer_size[0] : 1;
    if (d->level == m->levels_n - 1) {
        int lost = -1;
        for (int i = 0; i < d->n; i++) {
            int has = room(m, used, a, d->nodes[i]);
            const struct plain_node *node = &m->nodes[d->nodes[i]];
            c.pods += has;
            c.wished += m->wishes && node->known && node->ready && node->of_flavor ? a->wish[node->mood] : 0;
            if (!leader || !room(m, used, leader, d->nodes[i]))
                continue;
            struct usage beside = *used;
            beside.cpu[d->nodes[i]] += leader->cpu;
            take_gpus(m, &beside, leader, d->nodes[i]);
            beside.pods[d->nodes[i]]++;
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
            c.wished += one.wished;
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
    if (a->has.wished != b->has.wished)
        return b->has.wished - a->has.wished;
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

static int list(const struct cluster *m, const struct usage *used, const struct ask *a, const struct ask *leader, int level,
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
    for (int i = from; i < n && all[i].has.wished == all[from].has.wished; i++)
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

/* The same of those that have places for what fills no slice, too. Where the level is preferred only what is wished for most, else what is
 * wished for most of what is enough. */
static int tightest_of_all(const struct cluster *m, const struct usage *used, const struct ask *a, const struct share *all, int n, int need,
                           bool led)
{
    int best = -1, most = 0;
    for (int i = 0; i < n; i++)
        most = (!led || all[i].has.leads) && all[i].has.wished > most ? all[i].has.wished : most;
    for (int i = 0; i < n; i++) {
        int places = 0;
        if ((a->mode == TOPOLOGY_PREFERRED && all[i].has.wished < most) || (best >= 0 && all[i].has.wished < all[best].has.wished))
            continue; /* they are in order of that */
        for (int k = 0; k < all[i].d.n; k++)
            places += room(m, used, a, all[i].d.nodes[k]);
        places -= led ? all[i].has.pods - all[i].has.pods_led : 0;
        if ((!a->rest || places >= a->count + a->rest) && tightest(&all[i], 0, 1, need, true, led) == 0 &&
            (best < 0 || amount(&all[i], true, led) < amount(&all[best], true, led)))
            best = i;
    }
    return best;
}

/* Domains of the level on which it stands: one, or at last several. 0: there are none. */
static int find_level(const struct cluster *m, const struct usage *used, const struct ask *a, const struct ask *leader, struct share *ret,
                      int *ret_level)
{
    bool named = a->mode == TOPOLOGY_REQUIRED || a->mode == TOPOLOGY_PREFERRED;
    int size = a->layers_n ? a->layer_size[0] : 1, need = a->count / size;
    int level = named ? a->level : a->layers_n ? 0 : m->levels_n - 1;
    for (;; level--) {
        int n = list(m, used, a, leader, level, NULL, 0, ret);
        *ret_level = level;
        sort(ret, n, false, true);
        int one = tightest_of_all(m, used, a, ret, n, need, leader != NULL);
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
static int choose(const struct cluster *m, const struct usage *used, const struct ask *a, const struct ask *leader, struct share *ret)
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

static bool sit(const struct cluster *m, struct usage *used, struct plain_gang *g, int set, const struct dom *leaf, int pods)
{
    const struct ask *a = &g->sets[set];
    g->given[set][leaf->nodes[0]] += pods;
    for (int i = 0; i < leaf->n; i++)
        for (int k = room(m, used, a, leaf->nodes[i]); k && pods; k--, pods--) {
            g->on[set][leaf->nodes[i]]++;
            used->cpu[leaf->nodes[i]] += a->cpu;
            take_gpus(m, used, a, leaf->nodes[i]);
            used->pods[leaf->nodes[i]]++;
        }
    return !pods;
}

static bool place_ask(const struct cluster *m, struct usage *used, struct plain_gang *g, int set, const struct ask *a, int lead)
{
    struct share all[NODES];
    int n = choose(m, used, a, lead < 0 ? NULL : &g->sets[lead], all);
    for (int i = 0; i < n; i++)
        if ((lead >= 0 && all[i].leads && !sit(m, used, g, lead, &all[i].d, 1)) ||
            (all[i].pods && !sit(m, used, g, set, &all[i].d, all[i].pods)))
            return false;
    return n > 0;
}

/* The nodes of the domain of the named level that all pods of the set stand in; of all, where there is no such domain. */
static struct cluster near_the_others(const struct cluster *m, const struct plain_gang *g, int set)
{
    const struct ask *a = &g->sets[set];
    struct cluster near = *m;
    int first = -1;
    bool one = a->mode == TOPOLOGY_REQUIRED || a->mode == TOPOLOGY_PREFERRED;
    for (int i = 0; i < NODES; i++) {
        if (!g->given[set][i])
            continue;
        first = first < 0 ? i : first;
        one &= compare_paths(m, first, i, a->level) == 0;
    }
    for (int i = 0; i < NODES && one && first >= 0; i++)
        near.nodes[i].known &= compare_paths(m, first, i, a->level) == 0;
    return near;
}

static bool place_set(const struct cluster *m, struct usage *used, struct plain_gang *g, int set, int lead)
{
    struct ask whole = g->sets[set], rest = whole;
    whole.rest = whole.layers_n ? whole.count % whole.layer_size[0] : 0;
    whole.count -= whole.rest;
    rest.layers_n = 0;
    rest.count = whole.rest;
    if (!whole.count)
        return place_ask(m, used, g, set, &rest, lead);
    if (!place_ask(m, used, g, set, &whole, lead))
        return false;
    struct cluster near = near_the_others(m, g, set);
    return !rest.count || place_ask(&near, used, g, set, &rest, -1) ||
           (rest.mode == TOPOLOGY_PREFERRED && place_ask(m, used, g, set, &rest, -1));
}

bool reference_replace(const struct cluster *m, struct usage *used, struct plain_gang *g, int set, int lost)
{
    struct ask a = g->sets[set];
    a.count = g->given[set][lost];
    g->given[set][lost] = g->on[set][lost] = 0;
    struct cluster near = near_the_others(m, g, set);
    return place_ask(a.mode == TOPOLOGY_REQUIRED ? &near : m, used, g, set, &a, -1);
}

bool reference_place(const struct cluster *m, struct usage *used, struct plain_gang *g)
{
    struct usage before = *used;
    int lead = g->sets[1].count > g->sets[0].count ? 0 : 1;
    memset(g->given, 0, sizeof g->given);
    memset(g->on, 0, sizeof g->on);
    bool is_led = g->sets[0].count == 1 || g->sets[1].count == 1;
    bool fits = !g->group || (is_led && place_set(m, used, g, !lead, lead));
    for (int i = 0; i < g->sets_n && fits && !g->group; i++)
        fits = place_set(m, used, g, i, -1);
    if (!fits)
        *used = before;
    return fits;
}
