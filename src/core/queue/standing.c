#include "core/queue/standing.h"
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include "base/amount.h"
#include "base/memory.h"
#include "core/queue/lane.h"
#include "core/queue/shrink.h"
#include "core/quota/bid.h"

#define KINDS 16u              /* LIMIT  of one tree */
#define CHARGES 4u             /* LIMIT  of one gang */

struct kind {                  /* what a gang of the line would be charged */
    struct charge charges[CHARGES];
    uint32_t charges_n;
    uint32_t lines_n;          /* 0: the slot is free */
    uint32_t hope;             /* index of the charge that was too much */
    bool helped;               /* when this cycle began there was enough of that */
    int64_t outdated_ms;       /* what was said before is of other amounts: something was given back then, and it was too little for it */
};
struct tree {
    struct tree *next;
    uint32_t root, lines_n;
    bool has_limits;           /* nobody can stand in it */
    int64_t tried_ms;          /* nobody was refused before */
    struct kind kinds[KINDS];
};
struct stand {                 /* a queue or cohort */
    struct stand *next;
    size_t heap_at;            /* among the children of its parent, while it has a winner and is not stale */
    struct heap children, lines;
    struct stand *parent;
    struct tree *tree;
    uint32_t node, depth;
    struct line *winner;       /* NULL: there is none */
    struct bid bid;
    bool stale, had_turn;      /* had_turn: queue, in this round */
};
struct standing {
    struct line **lines;
    uint32_t lines_n, lines_cap;
    struct stand **at, *stands; /* by node of the tree of quotas; all */
    uint32_t at_n;
    struct tree *trees;
    struct stand **stale, **had_turn;
    uint32_t stale_n, stale_cap, had_turn_n, had_turn_cap;
    uint64_t rebuilt;          /* quota.rebuilt of all this */
};

/* ---- who may stand ---- */

static bool covers(const struct resource_group *group, name_id resource)
{
    for (uint32_t i = 0; i < group->resources_n; i++)
        if (group->resources[i] == resource)
            return true;
    return false;
}

/* Under the only flavors that there are. False: there are several, or too many resources. */
static bool find_charges(const struct state *s, const struct line *l, struct kind *ret_kind)
{
    const struct gang_set *set = line_first(l)->sets;
    const struct shape_class *c = &s->shapes.classes[set_charged(set)];
    *ret_kind = (struct kind){.hope = CHARGES, .outdated_ms = INT64_MIN};
    for (uint32_t g = 0; g < l->queue->groups_n; g++) {
        const struct resource_group *group = &l->queue->groups[g];
        for (uint32_t i = 0; i < c->demands_n; i++) {
            if (!covers(group, c->demands[i].resource))
                continue;
            if (group->flavors_n != 1 || ret_kind->charges_n == CHARGES)
                return false;
            struct charge one = {group->flavors[0], c->demands[i].resource, amount_times(c->demands[i].value, set_needs(set))};
            if (one.flavor == l->park.hopes[0].flavor && one.resource == l->park.hopes[0].resource)
                ret_kind->hope = ret_kind->charges_n;
            ret_kind->charges[ret_kind->charges_n++] = one;
        }
    }
    return ret_kind->hope < CHARGES && ret_kind->charges[ret_kind->hope].amount == l->park.hopes[0].need;
}

static bool may_stand(const struct state *s, const struct line *l)
{
    const struct queue *q = l->queue;
    const struct gang *g = line_first(l);
    bool state_may = s->fair.on && !s->all_wake && !s->strict_n && !s->promised_n && !s->bookings_n && !s->backfills_n;
    bool queue_may = q->cohort && !q->has_shares && !q->preempts && !q->by_consumption;
    bool line_may = l->park.on == PARK_QUOTA && l->park.hopes_n == 1 && !l->park.shapes_n && !l->park.takes;
    return state_may && queue_may && line_may && g->planned && g->sets_n == 1 && !g->sets->topology && !shrink_may(g);
}

static bool has_limits(const struct quota *q, uint32_t node)
{
    const struct quota_node *n = &q->nodes[node];
    bool any = n->broken;
    for (uint32_t i = 0; i < n->cells_n && !any; i++)
        any = n->cells[i].borrowing_limit != NO_LIMIT || n->cells[i].lending_limit != NO_LIMIT || n->cells[i].bound != INT64_MAX;
    for (uint32_t child = n->first_child; child && !any; child = q->nodes[child].next_child)
        any = has_limits(q, child);
    return any;
}

/* ---- trees and kinds ---- */

static void free_places(struct standing *t)
{
    for (struct stand *one = t->stands; one; one = one->next) { /* first all: heaps write to what they hold */
        heap_fini(&one->children);
        heap_fini(&one->lines);
    }
    for (struct stand *one; (one = t->stands);) {
        t->stands = one->next;
        free(one);
    }
    for (struct tree *one; (one = t->trees);) {
        t->trees = one->next;
        free(one);
    }
    t->stale_n = t->had_turn_n = 0;
}

static void begin_anew(struct state *s)
{
    struct standing *t = s->standing;
    free_places(t);
    free(t->at);
    t->at_n = s->quota.nodes_n;
    t->at = mem_zero(t->at_n, sizeof(struct stand *));
    t->rebuilt = s->quota.rebuilt;
}

static struct tree *tree_of(struct state *s, uint32_t root)
{
    struct standing *t = s->standing;
    struct stand *top = t->at[root];
    if (top)
        return top->tree;
    struct tree *one = mem_zero(1, sizeof *one);
    one->root = root;
    one->has_limits = has_limits(&s->quota, root);
    one->next = t->trees;
    return t->trees = one;
}

static bool same_kind(const struct kind *a, const struct kind *b)
{
    bool same = a->charges_n == b->charges_n && a->hope == b->hope;
    for (uint32_t i = 0; i < a->charges_n && same; i++)
        same = a->charges[i].flavor == b->charges[i].flavor && a->charges[i].resource == b->charges[i].resource &&
               a->charges[i].amount == b->charges[i].amount;
    return same;
}

/* NULL: there are too many. */
static struct kind *kind_of(struct tree *tree, const struct kind *wanted)
{
    struct kind *hole = NULL;
    for (uint32_t i = 0; i < KINDS; i++) {
        struct kind *one = &tree->kinds[i];
        if (same_kind(one, wanted)) /* also where nobody of it is left: its lines are tried and come back */
            return one;
        hole = hole || one->lines_n ? hole : one;
    }
    if (hole)
        *hole = *wanted;
    return hole;
}

/* All below a root have the same. */
static int64_t left(const struct state *s, uint32_t root, const struct charge *c)
{
    return quota_available(&s->quota, root, c->flavor, c->resource);
}

static bool has_hope(const struct state *s, uint32_t root, const struct kind *k)
{
    return k->lines_n && left(s, root, &k->charges[k->hope]) >= k->charges[k->hope].amount;
}

/* WHY not what was given back since: others would be woken by it only in the next cycle, too. */
static bool may_start(const struct state *s, uint32_t root, const struct kind *k)
{
    return k->helped && has_hope(s, root, k);
}

static bool has_enough(const struct state *s, uint32_t root, const struct kind *k)
{
    bool all = true;
    for (uint32_t i = 0; i < k->charges_n && all; i++)
        all = left(s, root, &k->charges[i]) >= k->charges[i].amount;
    return all;
}

/* ---- places ---- */

static bool child_before(const void *left_child, const void *right_child)
{
    const struct stand *a = left_child, *b = right_child;
    return bid_before(&a->bid, &b->bid);
}

static struct stand *place_of(struct state *s, struct tree *tree, uint32_t node)
{
    struct standing *t = s->standing;
    if (t->at[node])
        return t->at[node];
    struct stand *one = mem_zero(1, sizeof *one);
    const struct quota_node *n = &s->quota.nodes[node];
    one->tree = tree;
    one->node = node;
    one->depth = n->depth;
    heap_init(&one->children, offsetof(struct stand, heap_at), child_before);
    heap_init(&one->lines, offsetof(struct line, stand_at), line_before);
    one->next = t->stands;
    t->stands = t->at[node] = one;
    one->parent = n->parent ? place_of(s, tree, n->parent) : NULL;
    return one;
}

/* RACE  out of the heap at once: its winner may be gone by the time when others are compared. */
static void touch(struct standing *t, struct stand *one)
{
    if (one->stale)
        return;
    if (one->parent)
        heap_remove(&one->parent->children, one);
    one->stale = true;
    MEM_RESERVE(t->stale, t->stale_cap, t->stale_n + 1);
    t->stale[t->stale_n++] = one;
}

static void touch_way(struct standing *t, struct stand *one)
{
    for (; one; one = one->parent)
        touch(t, one);
}

static int deepest_first(const void *left_place, const void *right_place)
{
    const struct stand *a = *(struct stand *const *)left_place, *b = *(struct stand *const *)right_place;
    if (a->depth != b->depth)
        return a->depth > b->depth ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static void look_again(struct state *s, struct stand *one)
{
    const struct stand *best = heap_first(&one->children);
    struct line *own = one->had_turn ? NULL : heap_first(&one->lines);
    one->stale = false;
    one->winner = own ? own : best ? best->winner : NULL;
    if (!one->winner || !one->parent)
        return;
    const struct kind *k = &one->tree->kinds[one->winner->kind];
    struct contender x = {.gang = line_first(one->winner), .node = one->winner->queue->quota, .charges = k->charges,
                          .charges_n = k->charges_n};
    bid_find(s, one->node, &x, &one->bid);
    heap_add(&one->parent->children, one);
}

static void settle(struct state *s)
{
    struct standing *t = s->standing;
    while (s->quota.touched_n) {
        uint32_t node = s->quota.touched[--s->quota.touched_n];
        s->quota.nodes[node].touched = false;
        for (; node; node = s->quota.nodes[node].parent)
            if (node < t->at_n && t->at[node])
                touch(t, t->at[node]);
    }
    if (t->stale_n > 1)
        qsort(t->stale, t->stale_n, sizeof(struct stand *), deepest_first);
    for (uint32_t i = 0; i < t->stale_n; i++)
        look_again(s, t->stale[i]);
    t->stale_n = 0;
}

/* ---- lines ---- */

bool standing_is_old(const struct state *s)
{
    return s->standing && s->standing->lines_n && (s->standing->rebuilt != s->quota.rebuilt || !s->fair.on || s->all_wake);
}

bool standing_add(struct state *s, struct line *l, bool may_be_enough)
{
    struct kind wanted;
    if (!may_stand(s, l) || !find_charges(s, l, &wanted))
        return false;
    s->standing = s->standing ? s->standing : mem_zero(1, sizeof *s->standing);
    struct standing *t = s->standing;
    if (!t->lines_n && t->rebuilt != s->quota.rebuilt)
        begin_anew(s);
    uint32_t node = l->queue->quota, root = s->quota.nodes[node].root;
    if (t->rebuilt != s->quota.rebuilt || !s->quota.nodes[node].parent)
        return false;
    struct tree *tree = tree_of(s, root);
    struct stand *one = place_of(s, tree, node); /* also where nobody can stand: the tree is remembered with it */
    if (tree->has_limits || (!may_be_enough && left(s, root, &wanted.charges[wanted.hope]) >= wanted.charges[wanted.hope].amount))
        return false;
    struct kind *k = kind_of(tree, &wanted);
    if (!k)
        return false;
    k->lines_n++;
    l->kind = (uint8_t)(k - tree->kinds);
    tree->tried_ms = tree->lines_n && tree->tried_ms < l->park.tried_ms ? tree->tried_ms : l->park.tried_ms;
    tree->lines_n++;
    MEM_RESERVE(t->lines, t->lines_cap, t->lines_n + 1);
    t->lines[t->lines_n] = l;
    l->standing_at = t->lines_n++;
    l->stand = one;
    touch_way(t, one);
    heap_add(&one->lines, l);
    return true;
}

void standing_remove(struct state *s, struct line *l)
{
    struct standing *t = s->standing;
    struct stand *one = l->stand;
    touch_way(t, one);
    heap_remove(&one->lines, l);
    one->tree->kinds[l->kind].lines_n--;
    one->tree->lines_n--;
    t->lines[l->standing_at] = t->lines[--t->lines_n];
    t->lines[l->standing_at]->standing_at = l->standing_at;
    l->stand = NULL;
}

void standing_moved(struct state *s, struct line *l)
{
    if (!l->stand)
        return;
    heap_moved(&l->stand->lines, l);
    touch_way(s->standing, l->stand);
}

uint32_t standing_n(const struct state *s)
{
    return s->standing ? s->standing->lines_n : 0;
}

struct line *standing_line(const struct state *s, uint32_t i)
{
    return s->standing->lines[i];
}

void standing_fini(struct state *s)
{
    struct standing *t = s->standing;
    if (!t)
        return;
    free_places(t);
    free(t->lines);
    free(t->at);
    free(t->stale);
    free(t->had_turn);
    free(t);
    s->standing = NULL;
}

/* ---- when they were refused ---- */

static struct tree *known_tree(const struct state *s, uint32_t root)
{
    struct stand *top = s->standing && root < s->standing->at_n ? s->standing->at[root] : NULL;
    return top ? top->tree : NULL;
}

/* WHY not those with hope: one of them starts, and then about so much is left as before. Who was outdated already stays so. */
bool standing_gained(struct state *s, uint32_t root, int64_t now_ms, int64_t *ret_outdated_ms)
{
    struct tree *tree = known_tree(s, root);
    *ret_outdated_ms = INT64_MAX;
    for (uint32_t i = 0; tree && i < KINDS; i++) {
        struct kind *k = &tree->kinds[i];
        k->helped = has_hope(s, root, k);
        if (k->lines_n && !k->helped)
            k->outdated_ms = now_ms;
        if (k->outdated_ms == now_ms)
            *ret_outdated_ms = tree->tried_ms;
    }
    return tree && tree->lines_n;
}

bool standing_helped(const struct line *l)
{
    return l->stand->tree->kinds[l->kind].helped;
}

bool standing_outdated(const struct line *l)
{
    return l->stand && l->stand->tree->kinds[l->kind].outdated_ms >= l->park.tried_ms;
}

void standing_retried(struct state *s)
{
    struct standing *t = s->standing;
    for (struct tree *one = t ? t->trees : NULL; one; one = one->next)
        one->tried_ms = INT64_MAX;
    for (uint32_t i = 0; i < standing_n(s); i++) {
        struct tree *tree = t->lines[i]->stand->tree;
        int64_t tried_ms = t->lines[i]->park.tried_ms;
        tree->tried_ms = tree->tried_ms < tried_ms ? tree->tried_ms : tried_ms;
    }
}

/* ---- rounds ---- */

enum standing_round standing_begin_round(struct state *s, uint32_t root)
{
    struct standing *t = s->standing;
    const struct tree *tree = known_tree(s, root);
    bool any = false, all = true;
    while (t->had_turn_n) {
        struct stand *one = t->had_turn[--t->had_turn_n];
        one->had_turn = false;
        touch_way(t, one);
    }
    if (standing_is_old(s))
        return STANDING_SOME;
    for (uint32_t i = 0; i < KINDS; i++) {
        const struct kind *k = &tree->kinds[i];
        any |= may_start(s, root, k);
        all &= !k->lines_n || (may_start(s, root, k) && has_enough(s, root, k));
    }
    return !any ? STANDING_NOBODY : all ? STANDING_ALL : STANDING_SOME;
}

static bool anybody(const struct state *s, const struct tree *tree)
{
    bool any = false;
    for (uint32_t i = 0; i < KINDS && !any; i++)
        any = may_start(s, tree->root, &tree->kinds[i]);
    return any;
}

struct line *standing_left(struct state *s, uint32_t root)
{
    struct standing *t = s->standing;
    if (standing_is_old(s))
        return NULL;
    settle(s);
    struct line *l = t->at[root]->winner;
    if (!l)
        return NULL;
    MEM_RESERVE(t->had_turn, t->had_turn_cap, t->had_turn_n + 1);
    t->had_turn[t->had_turn_n++] = l->stand;
    l->stand->had_turn = true;
    touch_way(t, l->stand);
    return l;
}

struct line *standing_next(struct state *s, uint32_t root)
{
    struct line *l = NULL;
    bool enough = false;
    while (!enough && anybody(s, s->standing->at[root]->tree) && (l = standing_left(s, root)))
        enough = may_start(s, root, &l->stand->tree->kinds[l->kind]);
    return enough ? l : NULL;
}
