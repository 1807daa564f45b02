#include "core/place/place_domains.h"
#include <stdlib.h>
#include "base/memory.h"
#include "core/place/fit.h"
#include "core/place/undo.h"
#include "core/place/view.h"

bool place_is_in_domains(const struct want *wants, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (wants[i].topology)
            return true;
    return false;
}

/* ---- wants of one set that are alike ---- */

struct batch {
    struct want **wants;
    uint32_t n;
    uint32_t set, shape, topology;
    const struct topology_request *request;
};
struct placing {
    struct state *s;
    struct gang *gang;
    enum placement by;       /* by which policy its nodes are chosen */
    struct want *wants;
    uint32_t n, placed_n;
    uint32_t before_n;       /* placed before the set whose turn it is */
    struct misfit *misfit;
    bool *is_done;           /* by want */
};

static bool refuse(struct placing *x, const struct batch *b, const struct domain_misfit *why, bool neighbours)
{
    *x->misfit = (struct misfit){.shape = b->shape, .labels = b->wants[0]->labels, .pod_set = b->set, .placed_n = x->placed_n,
                                 .wanted_n = x->n, .alone = !x->before_n && !neighbours, .neighbours = neighbours, .mixed = true};
    if (why)
        x->misfit->domains = *why;
    return false;
}

/* All of the set that are not placed yet and have the shape of the first of them; n = 0: there is none. */
static struct batch next_batch(struct placing *x, uint32_t set, struct want **room)
{
    struct batch b = {.wants = room, .set = set};
    for (uint32_t i = 0; i < x->n; i++) {
        struct want *w = &x->wants[i];
        if (!w->topology || w->pod_set != set || x->is_done[i] || (b.n && (w->shape != b.shape || w->topology != b.topology)))
            continue;
        b.shape = w->shape;
        b.topology = w->topology;
        b.wants[b.n++] = w;
        x->is_done[i] = true;
    }
    b.request = set_topology(set < x->gang->sets_n ? &x->gang->sets[set] : &(struct gang_set){0});
    return b;
}

static void take_back(struct placing *x, uint32_t mark, uint32_t placed_n, struct want **wants, uint32_t n)
{
    undo_back(x->s, mark);
    x->placed_n = placed_n;
    for (uint32_t i = 0; i < n; i++)
        wants[i]->seat = 0;
}

/* ---- onto nodes ---- */

static void sit(struct placing *x, struct want *w, uint32_t node)
{
    w->seat = seat_take(x->s, node, w->shape, w->labels, x->gang, w->pod_set, true);
    undo_seat(x->s, w->seat);
    x->placed_n++;
}

struct spot {
    uint32_t score, rank, node;
};

static int compare_spots(const void *left, const void *right)
{
    const struct spot *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* At most n wants onto the nodes of a leaf, the best of them first. Returns how many. */
static uint32_t sit_in_leaf(struct placing *x, const struct topology *t, uint32_t leaf, struct want **wants, uint32_t n)
{
    const struct domain *d = &t->domains[leaf];
    const struct view *v = view_scored(x->s, wants[0]->shape, x->by);
    struct spot *spots = mem_alloc(d->n * sizeof *spots);
    uint32_t done = 0, spots_n = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        uint32_t node = t->nodes[d->first + i];
        if (v->room[node])
            spots[spots_n++] = (struct spot){v->score[node], x->s->nodes.rank[node], node};
    }
    if (spots_n > 1)
        qsort(spots, spots_n, sizeof *spots, compare_spots);
    for (uint32_t i = 0; i < spots_n; i++)
        for (uint32_t k = v->room[spots[i].node]; k && done < n; k--)
            sit(x, wants[done++], spots[i].node);
    free(spots);
    return done;
}

/* The leader on the node of the leaf where it takes least from the workers. */
static bool seat_leader(struct placing *x, const struct topology *t, uint32_t leaf, struct want *leader, uint32_t shape)
{
    struct state *s = x->s;
    const struct domain *d = &t->domains[leaf];
    const uint32_t *room = view_scored(s, shape, x->by)->room, *leader_room = view_scored(s, leader->shape, x->by)->room;
    uint32_t best = 0;
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < d->n; i++) {
        uint32_t node = t->nodes[d->first + i];
        if (!leader_room[node])
            continue;
        int64_t left = room[node] ? domain_room_beside(s, shape, leader->shape, node, x->by) : 0;
        if ((int64_t)room[node] - left >= least)
            continue;
        least = (int64_t)room[node] - left;
        best = node;
    }
    if (best)
        sit(x, leader, best);
    return best != 0;
}

static bool sit_in_shares(struct placing *x, const struct batch *b, struct want **wants, struct want *leader,
                          const struct domain_share *shares, uint32_t shares_n)
{
    const struct topology *t = topology_sync(x->s, b->topology);
    uint32_t at = 0;
    bool all = true;
    for (uint32_t i = 0; i < shares_n && all; i++) {
        if (shares[i].leads)
            all = seat_leader(x, t, shares[i].leaf, leader, b->shape);
        if (!all || !shares[i].pods_n)
            continue;
        all = sit_in_leaf(x, t, shares[i].leaf, &wants[at], shares[i].pods_n) == shares[i].pods_n;
        at += shares[i].pods_n;
    }
    return all;
}

/* ---- chosen by domains ---- */

/* What does not fill a slice stands beside the slices, as single pods; the leader only where there is no whole slice. */
static bool choose_rest(struct placing *x, const struct batch *b, uint32_t from, struct want *leader, uint32_t within)
{
    struct topology_request single = *b->request;
    single.slices_n = 0;
    struct domain_ask ask = {b->topology, &single, b->shape, b->n - from, leader ? leader->shape : 0, within, 0, x->by};
    struct domain_share *shares;
    struct domain_misfit why;
    uint32_t shares_n;
    if (from == b->n)
        return true;
    if (!domain_choose(x->s, &ask, &shares, &shares_n, &why))
        return refuse(x, b, &why, false);
    bool all = sit_in_shares(x, b, &b->wants[from], leader, shares, shares_n);
    free(shares);
    return all ? true : refuse(x, b, NULL, false);
}

static struct batch without_first(const struct batch *b, uint32_t n)
{
    struct batch rest = *b;
    rest.wants = b->wants + n;
    rest.n = b->n - n;
    return rest;
}

static uint32_t required_domain(const struct topology *t, const struct topology_request *r, uint32_t leaf)
{
    int32_t level = r->mode == TOPOLOGY_REQUIRED ? topology_level(t, r->level) : -1;
    return level < 0 ? 0 : domain_above(t, leaf, (uint32_t)level);
}

/* The domain of the level that is named which holds all shares; 0: there is none. */
static uint32_t domain_of_shares(const struct topology *t, const struct topology_request *r, const struct domain_share *shares, uint32_t n)
{
    bool named = r->mode == TOPOLOGY_REQUIRED || r->mode == TOPOLOGY_PREFERRED;
    int32_t level = named && n ? topology_level(t, r->level) : -1;
    uint32_t first = level < 0 ? 0 : domain_above(t, shares[0].leaf, (uint32_t)level);
    for (uint32_t i = 1; i < n && first; i++)
        first = domain_above(t, shares[i].leaf, (uint32_t)level) == first ? first : 0;
    return first;
}

static bool choose(struct placing *x, const struct batch *b, struct want *leader, uint32_t within)
{
    int32_t size = b->request->slices_n && b->request->slices[0].size > 1 ? b->request->slices[0].size : 1;
    uint32_t whole_n = b->n / (uint32_t)size * (uint32_t)size;
    struct domain_ask ask = {b->topology, b->request, b->shape, whole_n, leader ? leader->shape : 0, within, within ? 0 : b->n - whole_n,
                             x->by};
    struct domain_share *shares;
    struct domain_misfit why;
    uint32_t shares_n;
    if (!whole_n)
        return choose_rest(x, b, 0, leader, within);
    if (!domain_choose(x->s, &ask, &shares, &shares_n, &why))
        return refuse(x, b, &why, false);
    bool all = sit_in_shares(x, b, b->wants, leader, shares, shares_n);
    uint32_t near = within ? within : domain_of_shares(topology_sync(x->s, b->topology), b->request, shares, shares_n);
    free(shares);
    if (!all)
        return refuse(x, b, NULL, false);
    uint32_t mark = undo_mark(x->s), placed_n = x->placed_n;
    if (choose_rest(x, b, whole_n, NULL, near))
        return true;
    take_back(x, mark, placed_n, &b->wants[whole_n], b->n - whole_n);
    return near && !within && b->request->mode == TOPOLOGY_PREFERRED && choose_rest(x, b, whole_n, NULL, 0);
}

/* ---- where rules about other pods matter ---- */

static bool is_ruled(struct state *s, const struct want *w)
{
    struct neighbours rules;
    bool ruled = s->shapes.classes[w->shape].neighbours || neighbour_prepare(s, w->shape, w->labels, &rules);
    if (ruled && !s->shapes.classes[w->shape].neighbours)
        neighbour_release(&rules);
    return ruled;
}

/* Does a rule of theirs, or somebody else's about them, touch any? Wants of a set are alike but for their labels. */
static bool minds_others(struct state *s, const struct batch *b, const struct want *leader)
{
    bool minds = leader && is_ruled(s, leader);
    for (uint32_t i = 0; i < b->n && !minds; i++)
        minds = (!i || b->wants[i]->labels != b->wants[i - 1]->labels) && is_ruled(s, b->wants[i]);
    return minds;
}

/* The best node below a domain (0: of the whole tree) that has room and is allowed. */
static uint32_t best_below(struct placing *x, const struct topology *t, uint32_t domain, const struct want *w)
{
    struct state *s = x->s;
    const struct view *v = view_scored(s, w->shape, x->by);
    struct neighbours rules;
    bool ruled = neighbour_prepare(s, w->shape, w->labels, &rules);
    uint32_t best = 0;
    for (uint32_t slot = 1; slot < v->n; slot++) {
        uint32_t leaf = v->room[slot] ? topology_leaf(t, slot) : 0, at = leaf;
        while (at > domain && domain)
            at = t->domains[at].parent;
        bool better = !best || v->score[slot] > v->score[best] ||
                      (v->score[slot] == v->score[best] && s->nodes.rank[slot] < s->nodes.rank[best]);
        if (!leaf || (domain && at != domain) || !better)
            continue;
        if (!ruled || neighbour_check(s, &rules, &s->shapes.classes[w->shape].shape, slot) == NEIGHBOUR_OK)
            best = slot;
    }
    if (ruled)
        neighbour_release(&rules);
    return best;
}

static bool sit_below(struct placing *x, const struct topology *t, uint32_t domain, const struct batch *b, struct want *leader)
{
    uint32_t mark = undo_mark(x->s), placed_n = x->placed_n, node = leader ? best_below(x, t, domain, leader) : 0;
    bool all = !leader || node;
    if (node)
        sit(x, leader, node);
    for (uint32_t i = 0; i < b->n && all; i++) {
        node = best_below(x, t, domain, b->wants[i]);
        all = node != 0;
        if (all)
            sit(x, b->wants[i], node);
    }
    if (!all) {
        take_back(x, mark, placed_n, b->wants, b->n);
        if (leader)
            leader->seat = 0;
    }
    return all;
}

/* Domains of the level, those with the fewest places that are enough first; preferred: then those above. Slices are not formed here. */
static bool beside_others(struct placing *x, const struct batch *b, struct want *leader, uint32_t within)
{
    const struct topology *t = topology_sync(x->s, b->topology);
    const struct topology_request *r = b->request;
    bool named = r->mode == TOPOLOGY_REQUIRED || r->mode == TOPOLOGY_PREFERRED;
    int32_t level = named && !within ? topology_level(t, r->level) : -1;
    bool placed = false;
    if (r->slices_n || (named && !within && level < 0))
        return refuse(x, b, NULL, true);
    if (within)
        placed = sit_below(x, t, within, b, leader);
    for (; level >= 0 && !placed; level = r->mode == TOPOLOGY_PREFERRED ? level - 1 : -1) {
        uint32_t first = t->level_first[level], n = t->level_first[level + 1] - first;
        struct spot *spots = mem_alloc((n + 1) * sizeof *spots);
        const uint64_t *room = view_domains(x->s, view_scored(x->s, b->shape, x->by), b->topology);
        uint32_t spots_n = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint64_t has = room[first + i] > INT32_MAX ? INT32_MAX : room[first + i];
            if (has >= b->n)
                spots[spots_n++] = (struct spot){INT32_MAX - (uint32_t)has, i, first + i};
        }
        if (spots_n > 1)
            qsort(spots, spots_n, sizeof *spots, compare_spots);
        for (uint32_t i = 0; i < spots_n && !placed; i++)
            placed = sit_below(x, t, spots[i].node, b, leader);
        free(spots);
    }
    if (!placed && !within && r->mode != TOPOLOGY_REQUIRED)
        placed = sit_below(x, t, 0, b, leader);
    return placed ? true : refuse(x, b, NULL, true);
}

static bool choose_minding(struct placing *x, const struct batch *b, struct want *leader, uint32_t within)
{
    if (!minds_others(x->s, b, leader))
        return choose(x, b, leader, within);
    return beside_others(x, b, leader, within);
}

/* ---- what stands already ---- */

static uint32_t leaf_of_seat(const struct placing *x, const struct topology *t, uint32_t seat, uint32_t set)
{
    const struct seat *at = &x->s->seats[seat];
    return seat && !at->lifted && at->pod_set == set ? topology_leaf(t, at->node) : 0;
}

/* Pods of the set that stand in each domain of the lowest level, or have just been placed there, by domain. */
static uint32_t *standing(const struct placing *x, const struct topology *t, uint32_t set, uint32_t *ret_n)
{
    const struct gang *g = x->gang;
    uint32_t *in = mem_zero(t->domains_n, sizeof *in);
    *ret_n = 0;
    for (uint32_t i = 0; i < g->own->seats_n + g->members_n + x->n; i++) {
        const struct want *w = i < g->own->seats_n + g->members_n ? NULL : &x->wants[i - g->own->seats_n - g->members_n];
        const struct pod *p = w || i < g->own->seats_n ? NULL : &x->s->pods[g->members[i - g->own->seats_n]];
        uint32_t seat = w ? w->topology ? w->seat : 0 : p ? p->former || p->deleting ? 0 : p->seat : g->own->seats[i];
        uint32_t leaf = leaf_of_seat(x, t, seat, set);
        in[leaf] += leaf != 0;
        *ret_n += leaf != 0;
    }
    return in;
}

/* First where it was told that they stand. Those that were placed come first in the batch; returns how many. */
static uint32_t sit_as_told(struct placing *x, const struct topology *t, const struct batch *b, const uint32_t *in)
{
    const struct gang *g = x->gang;
    uint32_t done = 0;
    bool minds = g->own->told_n && minds_others(x->s, b, NULL);
    for (uint32_t i = 0; i < g->own->told_n && done < b->n && !minds; i++) {
        uint32_t leaf = g->own->told[i].pod_set == b->set ? id_map_get(&t->leaf_by_name, g->own->told[i].domain) : 0;
        int64_t missing = leaf ? (int64_t)g->own->told[i].count - in[leaf] : 0;
        if (missing > b->n - done)
            missing = b->n - done;
        if (missing > 0)
            done += sit_in_leaf(x, t, leaf, &b->wants[done], (uint32_t)missing);
    }
    return done;
}

/* The first domain of the level in which a slice of what stands lacks pods; 0: none lacks any. `n` are to come. */
static uint32_t broken_slice(const struct topology *t, uint32_t level, uint32_t size, const uint32_t *in, uint32_t n)
{
    uint32_t first = t->level_first[level], domains_n = t->level_first[level + 1] - first, found = 0;
    uint32_t *there = mem_zero((size_t)domains_n + 1, sizeof *there);
    for (uint32_t leaf = topology_first_leaf(t); leaf < t->domains_n; leaf++)
        if (in[leaf])
            there[domain_above(t, leaf, level) - first] += in[leaf];
    for (uint32_t i = 0; i < domains_n && !found; i++)
        found = there[i] && (there[i] + n) % size == 0 ? first + i : 0;
    free(there);
    return found;
}

/* The domain that has to hold what is left: where the others stand; of a slice that lacks a pod, the slice's. */
static uint32_t domain_of_rest(const struct topology *t, const struct batch *b, const uint32_t *in, uint32_t n)
{
    const struct topology_request *r = b->request;
    for (uint32_t i = r->slices_n; i-- > 0;) {
        int32_t level = topology_level(t, r->slices[i].level);
        uint32_t size = r->slices[i].size > 0 ? (uint32_t)r->slices[i].size : 1;
        uint32_t broken = level < 0 || n % size == 0 ? 0 : broken_slice(t, (uint32_t)level, size, in, n);
        if (broken)
            return broken;
    }
    for (uint32_t leaf = topology_first_leaf(t); leaf < t->domains_n; leaf++)
        if (in[leaf])
            return required_domain(t, r, leaf);
    return 0;
}

/* The other set of its group: the one with a single pod leads. */
static uint32_t partner(const struct gang *g, uint32_t set)
{
    for (uint32_t i = 0; i < g->sets_n && set_topology(&g->sets[set])->group; i++)
        if (i != set && set_topology(&g->sets[i])->group == set_topology(&g->sets[set])->group)
            return i;
    return set;
}

/* Of the set; where none of it stands, of the other set of its group, which it has to stand with. */
static uint32_t *standing_with(const struct placing *x, const struct topology *t, uint32_t set, uint32_t *ret_n)
{
    uint32_t *in = standing(x, t, set, ret_n), other = partner(x->gang, set);
    if (*ret_n || other == set)
        return in;
    free(in);
    return standing(x, t, other, ret_n);
}

static bool is_new(const struct gang *g)
{
    return !g->own->told_n && !g->own->seats_n && !g->members_n;
}

/* Of so many pods that fill no slice: those of the innermost layer that they fill stay together. SOURCE Kueue. */
static void keep_inner_slices(struct topology_request *r, uint32_t pods_n)
{
    uint32_t i = r->slices_n;
    while (i && (r->slices[i - 1].size < 1 || pods_n % (uint32_t)r->slices[i - 1].size))
        i--;
    r->slices_n = i != 0;
    if (i)
        r->slices[0] = r->slices[i - 1];
}

/* Where they were told to stand, then with those that stand, then, when none does, anywhere. */
static bool complete(struct placing *x, const struct batch *b)
{
    uint32_t stood_n;
    if (!b->n)
        return true;
    if (is_new(x->gang) && b->request->group == 0)
        return choose_minding(x, b, NULL, 0);
    const struct topology *t = topology_sync(x->s, b->topology);
    uint32_t *in = standing_with(x, t, b->set, &stood_n);
    uint32_t mark = undo_mark(x->s), placed_n = x->placed_n;
    uint32_t done = sit_as_told(x, t, b, in);
    for (uint32_t i = 0; i < done; i++)
        in[topology_leaf(t, x->s->seats[b->wants[i]->seat].node)]++;
    struct batch rest = without_first(b, done);
    struct topology_request single = *b->request;
    uint32_t within = domain_of_rest(t, &rest, in, rest.n);
    if (single.slices_n && (stood_n || done) && rest.n % (uint32_t)(single.slices[0].size > 0 ? single.slices[0].size : 1)) {
        keep_inner_slices(&single, rest.n);
        rest.request = &single;
    }
    bool all = !rest.n || choose_minding(x, &rest, NULL, within);
    free(in);
    if (all || stood_n || (!done && !within))
        return all;
    take_back(x, mark, placed_n, b->wants, b->n);
    return choose_minding(x, b, NULL, 0);
}

/* ---- sets and groups ---- */

/* Returns how many stand as they were told; `ret_stood_n` counts those that stood before, too. */
static uint32_t begin_as_told(struct placing *x, const struct batch *b, uint32_t *ret_stood_n)
{
    uint32_t stood_n;
    const struct topology *t = topology_sync(x->s, b->topology);
    uint32_t *in = standing(x, t, b->set, &stood_n);
    uint32_t done = sit_as_told(x, t, b, in);
    free(in);
    *ret_stood_n += stood_n;
    return done;
}

/* A leader and his workers: as they were told, then where the others of them stand; when none does, both anew. */
static bool place_together(struct placing *x, const struct batch *leaders, const struct batch *workers)
{
    uint32_t mark = undo_mark(x->s), placed_n = x->placed_n, stood_n = 0;
    uint32_t led = begin_as_told(x, leaders, &stood_n), working = begin_as_told(x, workers, &stood_n);
    struct batch lead = without_first(leaders, led), work = without_first(workers, working);
    bool anew = !stood_n && !led && !working;
    if (!anew && complete(x, &lead) && complete(x, &work))
        return true;
    if (stood_n)
        return false;
    take_back(x, mark, placed_n, leaders->wants, leaders->n);
    take_back(x, mark, placed_n, workers->wants, workers->n);
    return choose_minding(x, workers, leaders->wants[0], 0);
}

static bool place_group(struct placing *x, uint32_t a, uint32_t b, struct want **room)
{
    uint32_t lead = x->gang->sets[b].count > x->gang->sets[a].count ? a : b, work = lead == a ? b : a;
    struct batch leaders = next_batch(x, lead, room), workers = next_batch(x, work, room + leaders.n);
    static const struct domain_misfit apart = {.trouble = DOMAINS_APART, .topology = DOMAIN_SEVERAL};
    if (!workers.n || leaders.n != 1)
        return complete(x, &leaders) && complete(x, &workers);
    if (leaders.topology != workers.topology)
        return refuse(x, &leaders, &apart, false);
    return place_together(x, &leaders, &workers);
}

/* SOURCE Kueue's webhooks: two sets, one of a single pod. Who was let in all the same stays. */
static bool is_led(const struct gang *g, uint32_t set)
{
    uint32_t n = 0, single_n = 0;
    for (uint32_t i = 0; i < g->sets_n; i++) {
        bool in_group = set_topology(&g->sets[i])->group == set_topology(&g->sets[set])->group;
        n += in_group;
        single_n += in_group && g->sets[i].count <= 1;
    }
    return !set_topology(&g->sets[set])->group || n == 1 || (n == 2 && single_n) || g->phase != GANG_WAITING;
}

static bool place_set(struct placing *x, uint32_t set, struct want **room)
{
    uint32_t other = partner(x->gang, set);
    if (other > set && !place_group(x, set, other, room))
        return false;
    for (struct batch b = next_batch(x, set, room); b.n; b = next_batch(x, set, room))
        if (!complete(x, &b))
            return false;
    return true;
}

/* Before anything is placed: DOMAIN_SEVERAL is no topology, and two sets of a group that both have it are not in the same one. */
static bool may_be_placed(struct placing *x)
{
    static const struct domain_misfit several = {.trouble = DOMAINS_SEVERAL, .topology = DOMAIN_SEVERAL},
                                      unled = {.trouble = DOMAINS_UNLED, .topology = DOMAIN_SEVERAL};
    for (uint32_t i = 0; i < x->n; i++) {
        struct want *w = &x->wants[i];
        struct batch b = {.wants = &w, .n = 1, .set = w->pod_set, .shape = w->shape, .topology = w->topology};
        if (w->topology == DOMAIN_SEVERAL)
            return refuse(x, &b, &several, false);
        if ((!i || w[-1].pod_set != w->pod_set) && w->topology && !is_led(x->gang, w->pod_set))
            return refuse(x, &b, &unled, false);
    }
    return true;
}

bool place_in_domains(struct state *s, struct gang *g, struct want *wants, uint32_t n, struct misfit *ret_misfit)
{
    struct placing x = {.s = s, .gang = g, .by = gang_policy(s, g), .wants = wants, .n = n, .misfit = ret_misfit};
    struct want **room = mem_alloc(n * sizeof *room);
    x.is_done = mem_zero(n, sizeof *x.is_done);
    bool all = may_be_placed(&x);
    for (uint32_t i = 0; i < n; i++)
        wants[i].seat = 0;
    for (uint32_t set = 0; set < g->sets_n && all; set++) {
        x.before_n = x.placed_n;
        all = place_set(&x, set, room);
    }
    free(room);
    free(x.is_done);
    return all;
}
