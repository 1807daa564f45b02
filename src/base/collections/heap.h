/* heap.h - binary heap of items that know their own place
 *
 * SHAPE  array of pointers; each item carries `size_t heap_at` (its index + 1, 0 = not in a heap) at offset `at_offset`.
 *        ranks: beside them what `rank` says of each, so that whoever goes down past thousands does not touch each of them.
 * ORDER  by the caller's `before(a, b)`; it must be a total order. A smaller rank is before.
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap {
    void **items;
    int64_t *ranks; /* NULL: no rank */
    size_t n, cap, ranks_cap;
    size_t at_offset;
    int64_t (*rank)(const void *item);
    bool (*before)(const void *a, const void *b);
};
void heap_init(struct heap *h, size_t at_offset, bool (*before)(const void *, const void *));
/* The same where most of the order is one number. */
void heap_init_ranked(struct heap *h, size_t at_offset, int64_t (*rank)(const void *), bool (*before)(const void *, const void *));
void heap_fini(struct heap *h);
void heap_add(struct heap *h, void *item);    /* no-op when already in */
void heap_remove(struct heap *h, void *item); /* no-op when not in */
void heap_moved(struct heap *h, void *item);  /* its key changed */
static inline void *heap_first(const struct heap *h) /* NULL when empty */
{
    return h->n ? h->items[0] : NULL;
}
void *heap_pop(struct heap *h);               /* NULL when empty */

#endif
