/* arena_pool.h - arenas that are used again: the one that was given back last is taken first, its memory is still near the processor
 *
 * LIMIT  more than ARENA_SPARE_MAX are freed: half of the writes of a queue that may be under way inside one process.
 */
#ifndef BASE_ARENA_POOL_H
#define BASE_ARENA_POOL_H
#include "base/arena.h"

#define ARENA_SPARE_MAX 32
struct arena_pool { /* {0} is empty */
    struct arena *spare[ARENA_SPARE_MAX];
    size_t n;
};
struct arena *arena_take(struct arena_pool *p);          /* an empty one */
void arena_give(struct arena_pool *p, struct arena *a);  /* NULL-safe */
void arena_pool_fini(struct arena_pool *p);

#endif
