#include "core/queue/tournament.h"
#include <stddef.h>
#include <stdlib.h>
#include "core/place/undo.h"
#include "core/queue/order.h"
#include "core/quota/share.h"

struct place {                 /* a queue or cohort with heads that are left */
    size_t heap_at;            /* among the children of its parent, or among the roots */
    struct heap children;
    uint32_t node, parent, depth;
    uint32_t first;            /* queue: index + 1 of its best contender, next[] has the others */
    const struct contender *winner; /* NULL: none is left */
    struct bid bid;
    bool stale;
};
struct tournament {
    struct state *s;
    const struct contender *all;
    uint32_t n, *next;
    struct place **at;  /* by node of the tree of quotas */
    struct heap roots;
    struct place **used, **stale; /* stale: to be looked at again */
    uint32_t used_n, stale_n;
};

/* ---- order ---- */

static bool winner_before(const struct contender *a, const struct contender *b)
{
    return order_before(a->gang, b->gang);
}

static bool child_before(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    return bid_before(&a->bid, &b->bid);
}

static bool root_before(const void *left, const void *right)
{
    const struct contender *a = ((const struct place *)left)->winner, *b = ((const struct place *)right)->winner;
    return a->borrow_level != b->borrow_level ? a->borrow_level < b->borrow_level : winner_before(a, b);
}

/* ---- with a winner started ---- */

static void look_again(struct tournament *t, struct place *one)
{
    const struct place *best = one->children.n ? heap_first(&one->children) : NULL;
    one->stale = false;
    one->winner = one->first ? &t->all[one->first - 1] : best ? best->winner : NULL;
    if (one->winner && one->parent)
        bid_find(t->s, one->node, one->winner, &one->bid);
}

/* ---- the tree of those who have heads ---- */

static struct place *place_of(struct tournament *t, struct arena *a, uint32_t node)
{
    if (t->at[node])
        return t->at[node];
    struct place *one = arena_zero(a, 1, sizeof *one);
    one->node = node;
    one->parent = t->s->quota.nodes[node].parent;
    one->depth = t->s->quota.nodes[node].depth;
    one->stale = true;
    heap_init(&one->children, offsetof(struct place, heap_at), child_before);
    t->at[node] = one;
    t->used[t->used_n++] = t->stale[t->stale_n++] = one;
    if (one->parent)
        (void)place_of(t, a, one->parent);
    return one;
}

static void add(struct tournament *t, struct arena *a, uint32_t i)
{
    uint32_t *link = &place_of(t, a, t->all[i].node)->first;
    while (*link && winner_before(&t->all[*link - 1], &t->all[i]))
        link = &t->next[*link - 1];
    t->next[i] = *link;
    *link = i + 1;
}

/* ---- looking again ---- */

void tournament_touch(struct tournament *t, uint32_t node)
{
    for (uint32_t at = node;; at = t->s->quota.nodes[at].parent) {
        struct place *one = t->at[at];
        if (one && !one->stale) {
            one->stale = true;
            t->stale[t->stale_n++] = one;
        }
        if (!t->s->quota.nodes[at].parent)
            return;
    }
}

static int deepest_first(const void *left, const void *right)
{
    const struct place *a = *(struct place *const *)left, *b = *(struct place *const *)right;
    if (a->depth != b->depth)
        return a->depth > b->depth ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* A promise of somebody counts for everybody: he comes before whoever would be his next victim. */
static void put_promises(struct state *s)
{
    for (uint32_t i = 0; i < s->promised_n; i++) {
        const struct promise *p = s->promised[i]->promise;
        for (uint32_t k = 0; k < p->charges_n; k++)
            undo_charge(s, p->queue->quota, p->charges[k].flavor, p->charges[k].resource, p->charges[k].amount);
    }
}

static void settle(struct tournament *t)
{
    uint32_t mark = undo_mark(t->s);
    put_promises(t->s);
    if (t->stale_n > 1)
        qsort(t->stale, t->stale_n, sizeof *t->stale, deepest_first);
    for (uint32_t i = 0; i < t->stale_n; i++) {
        struct place *one = t->stale[i];
        struct heap *among = one->parent ? &t->at[one->parent]->children : &t->roots;
        heap_remove(among, one);
        look_again(t, one);
        if (one->winner)
            heap_add(among, one);
    }
    t->stale_n = 0;
    undo_back(t->s, mark);
}

/* ---- the whole ---- */

struct tournament *tournament_begin(struct state *s, struct arena *a, const struct contender *all, uint32_t n)
{
    struct tournament *t = arena_zero(a, 1, sizeof *t);
    *t = (struct tournament){.s = s, .all = all, .n = n};
    t->next = arena_zero(a, n + 1, sizeof *t->next);
    t->at = arena_zero(a, s->quota.nodes_n, sizeof *t->at);
    t->used = arena_alloc(a, s->quota.nodes_n * sizeof *t->used);
    t->stale = arena_alloc(a, s->quota.nodes_n * sizeof *t->stale);
    heap_init(&t->roots, offsetof(struct place, heap_at), root_before);
    for (uint32_t i = 0; i < n; i++)
        add(t, a, i);
    return t;
}

uint32_t tournament_next(struct tournament *t)
{
    settle(t);
    const struct place *root = heap_first(&t->roots);
    if (!root)
        return t->n;
    uint32_t i = (uint32_t)(root->winner - t->all);
    t->at[t->all[i].node]->first = t->next[i];
    tournament_touch(t, t->all[i].node);
    return i;
}

void tournament_end(struct tournament *t)
{
    for (uint32_t i = 0; i < t->used_n; i++)
        heap_fini(&t->used[i]->children);
    heap_fini(&t->roots);
}
