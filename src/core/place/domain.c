#include "core/place/domain.h"
#include <stdlib.h>
#include "base/memory.h"
#include "core/place/fit.h"
#include "core/place/view.h"
#include "core/score/score.h"

/* ---- one search ---- */

struct search {
    struct state *s;
    struct topology *t;
    const struct domain_ask *ask;
    const uint64_t *room_in;   /* of the shape, by domain */
    uint64_t id;
    uint32_t level, slice_level, leaf_level;
    int64_t slice_size;
    int64_t size_at[TOPOLOGY_LEVELS]; /* slices within slices, by level; 0: single pods */
    bool required, ascending, wishes;
    int32_t leaders_n;
    struct domain_misfit misfit;
};

static bool trouble(struct search *x, enum domain_trouble what, name_id level, name_id other)
{
    x->misfit = (struct domain_misfit){.trouble = what, .topology = x->ask->topology, .level = level, .other = other};
    return false;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Where nobody leads and nothing is sliced, a domain is counted when it is looked at first. */
static struct domain_room *room_of(const struct search *x, uint32_t domain)
{
    struct domain_room *r = &x->t->rooms[domain];
    if (r->search != x->id) {
        int64_t n = x->room_in[domain] < INT32_MAX ? (int64_t)x->room_in[domain] : INT32_MAX;
        *r = (struct domain_room){.pods = n, .slices = n, .pods_beside = n, .slices_beside = n, .search = x->id};
    }
    return r;
}

static uint32_t level_of(const struct topology *t, uint32_t domain)
{
    uint32_t level = 0;
    while (domain >= t->level_first[level + 1])
        level++;
    return level;
}

uint32_t domain_above(const struct topology *t, uint32_t leaf, uint32_t level)
{
    uint32_t at = leaf;
    while (at >= t->level_first[level + 1])
        at = t->domains[at].parent;
    return at;
}

/* ---- what is asked ---- */

static bool find_level(struct search *x, name_id name, uint32_t *ret_level)
{
    int32_t at = topology_level(x->t, name);
    if (at < 0)
        return trouble(x, DOMAINS_NO_LEVEL, name, 0);
    *ret_level = (uint32_t)at;
    return true;
}

/* Levels down to that of an inner layer are filled in its multiples. */
static bool read_layers(struct search *x)
{
    const struct topology_request *r = x->ask->request;
    int64_t size = x->slice_size;
    uint32_t level = x->slice_level, inner;
    for (uint32_t i = 1; i < r->slices_n; i++) {
        if (!find_level(x, r->slices[i].level, &inner))
            return false;
        if (inner <= level)
            return trouble(x, DOMAINS_UPSIDE_DOWN, r->slices[i].level, x->t->levels[level]);
        if (r->slices[i].size < 1 || size % r->slices[i].size)
            return trouble(x, DOMAINS_INDIVISIBLE, r->slices[i].level, 0);
        size = r->slices[i].size;
        while (level < inner)
            x->size_at[++level] = size;
    }
    return true;
}

static bool read_request(struct search *x)
{
    const struct topology_request *r = x->ask->request;
    bool named = r->mode == TOPOLOGY_REQUIRED || r->mode == TOPOLOGY_PREFERRED;
    x->leaf_level = x->t->levels_n - 1;
    x->required = r->mode == TOPOLOGY_REQUIRED;
    x->ascending = !named;
    x->level = r->slices_n ? 0 : x->leaf_level;
    x->slice_level = x->leaf_level;
    x->slice_size = 1;
    x->leaders_n = x->ask->leader_shape != 0;
    if (named && !find_level(x, r->level, &x->level))
        return false;
    if (!r->slices_n)
        return true;
    if (!find_level(x, r->slices[0].level, &x->slice_level))
        return false;
    x->slice_size = r->slices[0].size > 0 ? r->slices[0].size : 1;
    if (x->level > x->slice_level)
        return trouble(x, DOMAINS_UPSIDE_DOWN, r->slices[0].level, x->t->levels[x->level]);
    return read_layers(x);
}

/* ---- counting the whole tree: slices, leaders, or only a part of it ---- */

/* WHY  where GPUs are shared it depends on which ones that takes: a part of one that others share takes none that is given whole. */
uint32_t domain_room_beside(struct state *s, uint32_t shape, uint32_t other, uint32_t node, enum placement by)
{
    struct device_table *t = &s->nodes.nodes[node].devices;
    const struct shape_class *c = &s->shapes.classes[shape], *o = &s->shapes.classes[other];
    if (!t->gpus || !(c->share.n || o->share.n))
        return fit_room_beside(s, c, o, node, false);
    const struct device_bits bits = score_choose_devices(s, other, node, by);
    device_take(t, &bits, shape_share_on(s, other, node));
    uint32_t room = fit_room_beside(s, c, o, node, true);
    device_give(t, &bits, shape_share_on(s, other, node));
    return room;
}

/* Places of the shape that a leader takes from its node. False: it cannot stand there. */
static bool lost_to_leader(const struct search *x, const uint32_t *room, const uint32_t *leader_room, uint32_t node, int64_t *ret_lost)
{
    struct state *s = x->s;
    if (!leader_room[node])
        return false;
    uint32_t left = room[node] ? domain_room_beside(s, x->ask->shape, x->ask->leader_shape, node, x->ask->by) : 0;
    *ret_lost = (int64_t)room[node] - left;
    return true;
}

/* SOURCE Kueue: of nodes that the pod may stand on, whether there is room or not. */
static int64_t wished_of(const struct search *x, uint32_t node)
{
    const struct shape_class *c = &x->s->shapes.classes[x->ask->shape];
    struct label_list labels = node_labels(&x->s->nodes, node);
    int64_t sum = 0;
    if (fit_record(x->s, c, node, NULL) != FIT_OK)
        return 0;
    for (uint32_t i = 0; i < c->shape.node_wishes_n; i++)
        if (selector_matches(&c->shape.node_wishes[i].term, labels, x->s->nodes.nodes[node].name, x->s->names))
            sum += c->shape.node_wishes[i].weight;
    return sum;
}

static void count_leaf(struct search *x, uint32_t leaf, const uint32_t *room, const uint32_t *leader_room)
{
    const struct topology *t = x->t;
    struct domain_room *r = &t->rooms[leaf];
    *r = (struct domain_room){.search = x->id};
    if (x->ask->within && domain_above(t, leaf, level_of(t, x->ask->within)) != x->ask->within)
        return;
    r->pods = x->room_in[leaf] < INT32_MAX ? (int64_t)x->room_in[leaf] : INT32_MAX;
    int64_t lost = INT64_MAX, one;
    for (uint32_t i = 0; i < t->domains[leaf].n && x->wishes; i++)
        r->wished += wished_of(x, t->nodes[t->domains[leaf].first + i]);
    for (uint32_t i = 0; i < t->domains[leaf].n && leader_room; i++)
        if (lost_to_leader(x, room, leader_room, t->nodes[t->domains[leaf].first + i], &one))
            lost = least(lost, one);
    r->leaders = lost != INT64_MAX;
    r->pods_beside = r->pods - (r->leaders ? lost : 0);
    if (x->slice_level == x->leaf_level) {
        r->slices = r->pods / x->slice_size;
        r->slices_beside = r->pods_beside / x->slice_size;
    }
}

static void count_parent(struct search *x, uint32_t at, uint32_t level)
{
    const struct domain *d = &x->t->domains[at];
    struct domain_room *r = &x->t->rooms[at];
    int64_t pods_lost = INT64_MAX, slices_lost = INT64_MAX, inner = x->size_at[level + 1] ? x->size_at[level + 1] : 1;
    *r = (struct domain_room){.search = x->id};
    for (uint32_t i = 0; i < d->n; i++) {
        const struct domain_room *child = &x->t->rooms[d->first + i];
        int64_t pods = child->pods / inner * inner, beside = child->pods_beside / inner * inner;
        r->pods += pods;
        r->slices += child->slices;
        r->wished += child->wished;
        if (x->leaders_n && !child->leaders)
            continue;
        r->leaders |= child->leaders;
        pods_lost = least(pods_lost, pods - beside);
        slices_lost = least(slices_lost, child->slices - child->slices_beside);
    }
    r->pods_beside = pods_lost == INT64_MAX ? 0 : r->pods - pods_lost;
    r->slices_beside = pods_lost == INT64_MAX ? 0 : r->slices - slices_lost;
    if (level == x->slice_level) {
        r->slices = r->pods / x->slice_size;
        r->slices_beside = r->pods_beside / x->slice_size;
    }
}

static void count_all(struct search *x)
{
    const struct topology *t = x->t;
    const uint32_t *room = view_scored(x->s, x->ask->shape, x->ask->by)->room, *leader_room = NULL;
    if (x->leaders_n) { /* the other view stays where it is: both were used last */
        leader_room = view_scored(x->s, x->ask->leader_shape, x->ask->by)->room;
        room = view_scored(x->s, x->ask->shape, x->ask->by)->room;
    }
    for (uint32_t leaf = topology_first_leaf(t); leaf < t->domains_n; leaf++)
        count_leaf(x, leaf, room, leader_room);
    for (uint32_t level = x->leaf_level; level-- > 0;)
        for (uint32_t at = t->level_first[level]; at < t->level_first[level + 1]; at++)
            count_parent(x, at, level);
}

/* ---- order ---- */

struct rank {
    int32_t leaders;
    int64_t wished, slices, pods;
    uint32_t domain;
};

static int compare_ranks(const void *left, const void *right)
{
    const struct rank *a = left, *b = right;
    if (a->leaders != b->leaders)
        return a->leaders > b->leaders ? -1 : 1;
    if (a->wished != b->wished)
        return a->wished > b->wished ? -1 : 1;
    if (a->slices != b->slices)
        return a->slices > b->slices ? -1 : 1;
    if (a->pods != b->pods)
        return a->pods < b->pods ? -1 : 1;
    return a->domain < b->domain ? -1 : a->domain > b->domain;
}

static void sort(const struct search *x, uint32_t *domains, uint32_t n, bool leading)
{
    if (n < 2)
        return;
    struct rank *ranks = mem_alloc(n * sizeof *ranks);
    for (uint32_t i = 0; i < n; i++) {
        const struct domain_room *r = room_of(x, domains[i]);
        ranks[i] = leading ? (struct rank){r->leaders, r->wished, r->slices_beside, r->pods_beside, domains[i]}
                           : (struct rank){0, r->wished, r->slices, r->pods, domains[i]};
        ranks[i].slices = x->ascending ? -ranks[i].slices : ranks[i].slices;
    }
    qsort(ranks, n, sizeof *ranks, compare_ranks);
    for (uint32_t i = 0; i < n; i++)
        domains[i] = ranks[i].domain;
    free(ranks);
}

/* Places that count where so many leaders are still to be placed; single pods below the level of slices. */
static int64_t places(const struct domain_room *r, bool slices, int32_t leaders_n)
{
    if (leaders_n)
        return slices ? r->slices_beside : r->pods_beside;
    return slices ? r->slices : r->pods;
}

/* The first in order that has the fewest places that are enough; n: there is none. SOURCE Kueue: only of those that are wished for as much
 * as the first. */
static uint32_t best_fit(const struct search *x, const uint32_t *domains, uint32_t n, int64_t need, bool slices, int32_t leaders_n)
{
    uint32_t best = n;
    int64_t fewest = INT64_MAX;
    for (uint32_t i = 0; i < n && room_of(x, domains[i])->wished == room_of(x, domains[0])->wished; i++) {
        const struct domain_room *r = room_of(x, domains[i]);
        int64_t has = places(r, slices, leaders_n);
        if (r->leaders < leaders_n || has < need || has >= fewest)
            continue;
        best = i;
        fewest = has;
    }
    return best;
}

/* A domain whose leader costs no more places than are to spare comes first. */
static void put_leader_first(const struct search *x, uint32_t *domains, uint32_t n, int64_t need, bool slices, int32_t leaders_n)
{
    int64_t all = 0;
    for (uint32_t i = 0; i < n; i++)
        all += places(room_of(x, domains[i]), slices, 0);
    for (uint32_t i = 0; i < n && leaders_n; i++) {
        const struct domain_room *r = room_of(x, domains[i]);
        uint32_t chosen = domains[i];
        if (r->leaders < leaders_n || all - (places(r, slices, 0) - places(r, slices, leaders_n)) < need)
            continue;
        memmove(&domains[1], domains, i * sizeof *domains);
        domains[0] = chosen;
        return;
    }
}

/* ---- the level ---- */

static int64_t slices_below(const struct search *x, uint32_t at, uint32_t level, uint32_t target, int64_t size)
{
    if (level == target)
        return room_of(x, at)->pods / size;
    int64_t n = 0;
    for (uint32_t i = 0; i < x->t->domains[at].n; i++)
        n += slices_below(x, x->t->domains[at].first + i, level + 1, target, size);
    return n;
}

/* `have` of all that are asked for find a place. */
static bool too_few(struct search *x, uint32_t level, int64_t have)
{
    const struct topology_request *r = x->ask->request;
    uint32_t best = x->t->level_first[level];
    (void)trouble(x, DOMAINS_SHORT, 0, 0);
    x->misfit.have = have > 0 ? have : 0;
    x->misfit.want = x->ask->pods_n / x->slice_size;
    x->misfit.is_sliced = x->slice_size > 1;
    if (r->slices_n < 2)
        return false;
    for (uint32_t at = best; at < x->t->level_first[level + 1]; at++)
        best = room_of(x, at)->slices > room_of(x, best)->slices ? at : best;
    x->misfit.layers_n = r->slices_n;
    for (uint32_t i = 0; i < r->slices_n; i++) {
        x->misfit.layers[i] = r->slices[i].level;
        x->misfit.layer_have[i] = slices_below(x, best, level, (uint32_t)topology_level(x->t, r->slices[i].level), r->slices[i].size);
        x->misfit.layer_want[i] = x->ask->pods_n / r->slices[i].size;
    }
    return false;
}

/* Several domains of a level, the last of them the tightest. */
static bool take_several(struct search *x, uint32_t level, uint32_t *domains, uint32_t n, uint32_t *ret_n)
{
    uint32_t at = 0;
    int64_t left = x->ask->pods_n / x->slice_size;
    int32_t leaders_n = x->leaders_n;
    sort(x, domains, n, true);
    put_leader_first(x, domains, n, left, true, leaders_n);
    for (; at < n && (leaders_n || left > 0); at++) {
        if (!leaders_n && at == (uint32_t)x->leaders_n)
            sort(x, &domains[at], n - at, false);
        const struct domain_room *r = room_of(x, domains[at]);
        if (r->leaders < leaders_n)
            return too_few(x, level, 0);
        uint32_t last = at;
        if (!x->ascending && places(r, true, leaders_n) >= left)
            last = at + best_fit(x, &domains[at], n - at, left, true, leaders_n);
        uint32_t chosen = domains[last];
        memmove(&domains[at + 1], &domains[at], (last - at) * sizeof *domains);
        domains[at] = chosen;
        left -= places(room_of(x, chosen), true, leaders_n);
        leaders_n = 0;
    }
    *ret_n = at;
    return left <= 0 && !leaders_n ? true : too_few(x, level, x->ask->pods_n / x->slice_size - left);
}

static uint32_t list_level(const struct search *x, uint32_t level, uint32_t *domains)
{
    uint32_t n = 0;
    for (uint32_t at = x->t->level_first[level]; at < x->t->level_first[level + 1]; at++)
        domains[n++] = at;
    return n;
}

/* The widest in (leaders, places): what a refusal counts. */
static int64_t most_slices(const struct search *x, const uint32_t *domains, uint32_t n)
{
    struct rank top = {0};
    for (uint32_t i = 0; i < n; i++) {
        const struct domain_room *r = room_of(x, domains[i]);
        struct rank one = {r->leaders, r->wished, r->slices_beside, r->pods_beside, domains[i]};
        if (!i || compare_ranks(&one, &top) < 0)
            top = one;
    }
    return n ? room_of(x, top.domain)->slices : 0;
}

/* Places of single pods, besides the leader. What slices within slices leave over counts, too. */
static int64_t single_places(const struct search *x, uint32_t domain)
{
    const struct domain_room *r = room_of(x, domain);
    int64_t all = x->room_in[domain] < INT32_MAX ? (int64_t)x->room_in[domain] : INT32_MAX;
    return x->leaders_n ? all - (r->pods - r->pods_beside) : all;
}

/* WHY  asked of the domain, and not of each way to fill it: slices take places, and wherever they stand in it the others are left. */
static bool holds_rest(const struct search *x, uint32_t domain)
{
    return !x->ask->rest_n || single_places(x, domain) >= (int64_t)x->ask->pods_n + x->ask->rest_n;
}

/* The slices would find a place, all pods do not. */
static bool too_few_for_rest(struct search *x, const uint32_t *domains, uint32_t n)
{
    int64_t have = 0, one;
    for (uint32_t i = 0; i < n; i++)
        have = (one = single_places(x, domains[i])) > have ? one : have;
    (void)trouble(x, DOMAINS_SHORT, 0, 0);
    x->misfit.have = have;
    x->misfit.want = (int64_t)x->ask->pods_n + x->ask->rest_n;
    return false;
}

/* SOURCE Kueue: where domains are preferred, one that is wished for less is no better than the level above. */
static int64_t least_wished(const struct search *x, const uint32_t *domains, uint32_t n)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < n && x->wishes && !x->required && !x->ascending; i++) {
        const struct domain_room *r = room_of(x, domains[i]);
        most = r->leaders >= x->leaders_n && r->wished > most ? r->wished : most;
    }
    return most;
}

/* One domain that holds all, else of the level above, at last several. */
static bool find_domains(struct search *x, uint32_t *domains, uint32_t *ret_n, uint32_t *ret_level)
{
    int64_t need = x->ask->pods_n / x->slice_size;
    for (uint32_t level = x->level;; level--) {
        uint32_t n = list_level(x, level, domains);
        if (!n)
            return trouble(x, DOMAINS_NONE, x->t->levels[level], 0);
        *ret_level = level;
        struct rank best = {0};
        bool found = false, lacks_rest = false;
        int64_t wished = least_wished(x, domains, n);
        for (uint32_t i = 0; i < n; i++) { /* the fewest places that are enough, without sorting them all */
            const struct domain_room *r = room_of(x, domains[i]);
            int64_t has = places(r, true, x->leaders_n);
            struct rank one = {0, r->wished, -has, r->pods_beside, domains[i]};
            if (r->leaders < x->leaders_n || r->wished < wished || has < need || (found && compare_ranks(&best, &one) < 0))
                continue;
            if (!holds_rest(x, domains[i])) {
                lacks_rest = true;
                continue;
            }
            best = one;
            found = true;
        }
        if (found) {
            domains[0] = best.domain;
            *ret_n = 1;
            return true;
        }
        if (x->required && lacks_rest)
            return too_few_for_rest(x, domains, n);
        if (x->required)
            return too_few(x, level, most_slices(x, domains, n));
        if (!level || x->ascending)
            return take_several(x, level, domains, n, ret_n);
    }
}

/* ---- down the levels ---- */

/* One domain takes what it can of what is left. Returns what is left then. */
static int64_t take(struct domain_room *r, int64_t left, int64_t size, bool slices, int32_t *leaders_n)
{
    int64_t has = places(r, slices, *leaders_n), taken = least(has, left);
    r->pods = taken * (slices ? size : 1);
    r->slices = taken;
    r->leaders = *leaders_n ? r->leaders : 0;
    *leaders_n -= *leaders_n ? r->leaders : 0;
    return left - taken;
}

/* As few of the domains, which are in order, as hold so many pods; what each holds of them becomes its count. Returns how many: they come
 * first. 0: they do not hold them. */
static uint32_t take_fewest(const struct search *x, uint32_t *domains, uint32_t n, int64_t pods_n, int32_t leaders_n, int64_t size,
                            bool slices)
{
    int64_t left = slices ? pods_n / size : pods_n;
    put_leader_first(x, domains, n, left, slices, leaders_n);
    for (uint32_t at = 0; at < n; at++) {
        const struct domain_room *r = room_of(x, domains[at]);
        uint32_t last = at;
        if (!x->ascending && r->leaders >= leaders_n && places(r, slices, leaders_n) >= left)
            last = at + best_fit(x, &domains[at], n - at, left, slices, leaders_n);
        uint32_t chosen = domains[last];
        memmove(&domains[at + 1], &domains[at], (last - at) * sizeof *domains);
        domains[at] = chosen;
        left = take(room_of(x, chosen), left, size, slices, &leaders_n);
        if (left <= 0 && !leaders_n)
            return at + 1;
    }
    return 0;
}

static uint32_t list_children(const struct search *x, const uint32_t *domains, uint32_t n, uint32_t *children)
{
    uint32_t children_n = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < x->t->domains[domains[i]].n; k++)
            children[children_n++] = x->t->domains[domains[i]].first + k;
    return children_n;
}

/* Below the level of slices each domain hands on what it was given. Returns how many of its children take it. */
static uint32_t hand_on(const struct search *x, uint32_t at, uint32_t level, uint32_t *children)
{
    uint32_t n = list_children(x, &at, 1, children);
    int64_t size = level >= x->slice_level ? x->size_at[level + 1] : x->slice_size;
    const struct domain_room *up = room_of(x, at);
    size = size ? size : 1;
    sort(x, children, n, false); /* SOURCE Kueue: before slices of this level are counted, so by places of single pods, fewest first */
    for (uint32_t i = 0; i < n && size > 1; i++) {
        struct domain_room *r = room_of(x, children[i]);
        r->slices = r->pods / size;
        r->slices_beside = r->pods_beside / size;
    }
    return take_fewest(x, children, n, up->pods, up->leaders, size, size > 1);
}

static bool go_down(struct search *x, uint32_t level, uint32_t **domains, uint32_t *n)
{
    uint32_t *lists[2] = {*domains, *domains == x->t->lists ? x->t->lists + x->t->domains_n : x->t->lists};
    *n = take_fewest(x, lists[0], *n, x->ask->pods_n, x->leaders_n, x->slice_size, true);
    for (; *n && level < x->slice_level; level++) {
        uint32_t children_n = list_children(x, lists[0], *n, lists[1]);
        sort(x, lists[1], children_n, false);
        *n = take_fewest(x, lists[1], children_n, x->ask->pods_n, x->leaders_n, x->slice_size, true);
        uint32_t *other = lists[0];
        lists[0] = lists[1];
        lists[1] = other;
    }
    for (; *n && level < x->leaf_level; level++) {
        uint32_t next_n = 0;
        for (uint32_t i = 0; i < *n; i++) {
            uint32_t more = hand_on(x, lists[0][i], level, &lists[1][next_n]);
            if (!more && room_of(x, lists[0][i])->pods + room_of(x, lists[0][i])->leaders)
                return too_few(x, level, 0);
            next_n += more;
        }
        *n = next_n;
        uint32_t *other = lists[0];
        lists[0] = lists[1];
        lists[1] = other;
    }
    *domains = lists[0];
    return *n ? true : too_few(x, level, 0);
}

/* ---- all ---- */

static int compare_shares(const void *left, const void *right)
{
    const struct domain_share *a = left, *b = right;
    return a->leaf < b->leaf ? -1 : a->leaf > b->leaf;
}

static struct domain_share *shares_of(const struct search *x, const uint32_t *leaves, uint32_t leaves_n, uint32_t *ret_n)
{
    struct domain_share *shares = mem_alloc((leaves_n + 1) * sizeof *shares);
    uint32_t n = 0;
    for (uint32_t i = 0; i < leaves_n; i++) {
        const struct domain_room *r = room_of(x, leaves[i]);
        if (r->pods > 0 || (x->leaders_n && r->leaders))
            shares[n++] = (struct domain_share){leaves[i], (uint32_t)r->pods, x->leaders_n && r->leaders};
    }
    if (n > 1)
        qsort(shares, n, sizeof *shares, compare_shares);
    *ret_n = n;
    return shares;
}

bool domain_choose(struct state *s, const struct domain_ask *ask, struct domain_share **ret_shares, uint32_t *ret_n,
                   struct domain_misfit *ret_misfit)
{
    struct search x = {.s = s, .ask = ask, .t = topology_sync(s, ask->topology), .id = ++s->domain_searches};
    uint32_t *domains = x.t->lists, n = 0, level = 0;
    x.room_in = view_domains(s, view_scored(s, ask->shape, ask->by), ask->topology);
    bool fits = read_request(&x);
    x.wishes = s->node_wishes && x.t->by_node && s->shapes.classes[ask->shape].shape.node_wishes_n;
    if (fits && (ask->within || x.leaders_n || ask->request->slices_n || x.wishes))
        count_all(&x);
    fits = fits && find_domains(&x, domains, &n, &level) && go_down(&x, level, &domains, &n);
    if (fits)
        *ret_shares = shares_of(&x, domains, n, ret_n);
    else
        *ret_misfit = x.misfit;
    return fits;
}
