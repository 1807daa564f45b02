/* arena_pool.c - see arena_pool.h */
#include "base/collections/arena_pool.h"

struct arena *arena_take(struct arena_pool *p)
{
    return p->n ? p->spare[--p->n] : arena_new();
}

void arena_give(struct arena_pool *p, struct arena *a)
{
    if (!a || p->n == ARENA_SPARE_MAX) {
        arena_free(a);
        return;
    }
    arena_reset(a);
    p->spare[p->n++] = a;
}

void arena_pool_fini(struct arena_pool *p)
{
    while (p->n)
        arena_free(p->spare[--p->n]);
}
