/* heap.c - see heap.h */
#include <assert.h>
#include <stdlib.h>
#include "base/collections/heap.h"
#include "base/memory.h"

static size_t *at_of(const struct heap *h, void *item)
{
    return (size_t *)(void *)((char *)item + h->at_offset);
}

static int64_t rank_of(const struct heap *h, const void *item)
{
    return h->rank ? h->rank(item) : 0;
}

static int64_t rank_at(const struct heap *h, size_t i)
{
    return h->rank ? h->ranks[i] : 0;
}

static bool is_before(const struct heap *h, int64_t rank, const void *item, size_t i)
{
    int64_t other = rank_at(h, i);
    return rank != other ? rank < other : h->before(item, h->items[i]);
}

static void place(struct heap *h, size_t i, void *item, int64_t rank)
{
    h->items[i] = item;
    if (h->rank)
        h->ranks[i] = rank;
    *at_of(h, item) = i + 1;
}

static void take_place(struct heap *h, size_t i, size_t from)
{
    place(h, i, h->items[from], rank_at(h, from));
}

static void rise(struct heap *h, size_t i, void *item, int64_t rank)
{
    while (i > 0 && is_before(h, rank, item, (i - 1) / 2)) {
        take_place(h, i, (i - 1) / 2);
        i = (i - 1) / 2;
    }
    place(h, i, item, rank);
}

/* The first of the two below; 0: there are none. */
static size_t first_below(const struct heap *h, size_t i)
{
    size_t child = 2 * i + 1;
    if (child >= h->n)
        return 0;
    return child + (child + 1 < h->n && is_before(h, rank_at(h, child + 1), h->items[child + 1], child));
}

static void sink(struct heap *h, size_t i, void *item, int64_t rank)
{
    for (size_t child; (child = first_below(h, i)) && !is_before(h, rank, item, child); i = child)
        take_place(h, i, child);
    place(h, i, item, rank);
}

static void settle(struct heap *h, size_t i, void *item)
{
    int64_t rank = rank_of(h, item);
    if (i > 0 && is_before(h, rank, item, (i - 1) / 2))
        rise(h, i, item, rank);
    else
        sink(h, i, item, rank);
}

void heap_init(struct heap *h, size_t at_offset, bool (*before)(const void *, const void *))
{
    *h = (struct heap){.at_offset = at_offset, .before = before};
}

void heap_init_ranked(struct heap *h, size_t at_offset, int64_t (*rank)(const void *), bool (*before)(const void *, const void *))
{
    *h = (struct heap){.at_offset = at_offset, .rank = rank, .before = before};
}

void heap_fini(struct heap *h)
{
    for (size_t i = 0; i < h->n; i++)
        *at_of(h, h->items[i]) = 0;
    free(h->items);
    free(h->ranks);
    h->items = NULL;
    h->ranks = NULL;
    h->n = h->cap = h->ranks_cap = 0;
}

void heap_add(struct heap *h, void *item)
{
    if (*at_of(h, item))
        return;
    MEM_RESERVE(h->items, h->cap, h->n + 1);
    if (h->rank)
        MEM_RESERVE(h->ranks, h->ranks_cap, h->n + 1);
    h->n++;
    rise(h, h->n - 1, item, rank_of(h, item));
}

void heap_remove(struct heap *h, void *item)
{
    size_t at = *at_of(h, item);
    if (!at)
        return;
    assert(at <= h->n && h->items[at - 1] == item);
    *at_of(h, item) = 0;
    void *last = h->items[--h->n];
    int64_t rank = rank_at(h, h->n);
    if (last == item)
        return;
    /* WHY the hole goes all the way down before the last item takes it: that one nearly always belongs there, and the way down asks each
     * level once, not twice. */
    size_t i = at - 1;
    for (size_t child; (child = first_below(h, i)); i = child)
        take_place(h, i, child);
    rise(h, i, last, rank);
}

void heap_moved(struct heap *h, void *item)
{
    size_t at = *at_of(h, item);
    if (at && (h->n > 1 || h->rank))
        settle(h, at - 1, item);
}

void *heap_pop(struct heap *h)
{
    void *item = heap_first(h);
    if (item)
        heap_remove(h, item);
    return item;
}
