/* heap.c - see heap.h */
#include <assert.h>
#include <stdlib.h>
#include "base/collections/heap.h"
#include "base/memory.h"

static size_t *at_of(const struct heap *h, void *item)
{
    return (size_t *)(void *)((char *)item + h->at_offset);
}

static void place(struct heap *h, size_t i, void *item)
{
    h->items[i] = item;
    *at_of(h, item) = i + 1;
}

static void rise(struct heap *h, size_t i, void *item)
{
    while (i > 0 && h->before(item, h->items[(i - 1) / 2])) {
        place(h, i, h->items[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    place(h, i, item);
}

/* The first of the two below; 0: there are none. */
static size_t first_below(const struct heap *h, size_t i)
{
    size_t child = 2 * i + 1;
    if (child >= h->n)
        return 0;
    return child + (child + 1 < h->n && h->before(h->items[child + 1], h->items[child]));
}

static void sink(struct heap *h, size_t i, void *item)
{
    for (size_t child; (child = first_below(h, i)) && h->before(h->items[child], item); i = child)
        place(h, i, h->items[child]);
    place(h, i, item);
}

static void settle(struct heap *h, size_t i, void *item)
{
    if (i > 0 && h->before(item, h->items[(i - 1) / 2]))
        rise(h, i, item);
    else
        sink(h, i, item);
}

void heap_init(struct heap *h, size_t at_offset, bool (*before)(const void *, const void *))
{
    *h = (struct heap){.at_offset = at_offset, .before = before};
}

void heap_fini(struct heap *h)
{
    for (size_t i = 0; i < h->n; i++)
        *at_of(h, h->items[i]) = 0;
    free(h->items);
    h->items = NULL;
    h->n = h->cap = 0;
}

void heap_add(struct heap *h, void *item)
{
    if (*at_of(h, item))
        return;
    MEM_RESERVE(h->items, h->cap, h->n + 1);
    h->n++;
    rise(h, h->n - 1, item);
}

void heap_remove(struct heap *h, void *item)
{
    size_t at = *at_of(h, item);
    if (!at)
        return;
    assert(at <= h->n && h->items[at - 1] == item);
    *at_of(h, item) = 0;
    void *last = h->items[--h->n];
    if (last == item)
        return;
    /* WHY the hole goes all the way down before the last item takes it: that one nearly always belongs there, and the way down asks each
     * level once, not twice. */
    size_t i = at - 1;
    for (size_t child; (child = first_below(h, i)); i = child)
        place(h, i, h->items[child]);
    rise(h, i, last);
}

void heap_moved(struct heap *h, void *item)
{
    size_t at = *at_of(h, item);
    if (at && h->n > 1)
        settle(h, at - 1, item);
}

void *heap_pop(struct heap *h)
{
    void *item = heap_first(h);
    if (item)
        heap_remove(h, item);
    return item;
}
