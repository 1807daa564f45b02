/* arena.h - memory with one end of life: a request, a cycle
 *
 * OWNER  everything allocated lives until arena_reset or arena_free. Nothing is freed singly.
 * LIMIT  none of its own; callers bound their input (base/limits.h).
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include "base/bytes.h"
#include "base/memory.h"

struct arena { /* arena.c's own, here for arena_alloc alone */
    char *at, *end; /* free part of `newest` */
    struct arena_chunk *newest;
    size_t used, next_size;
};
struct arena *arena_new(void);
void arena_free(struct arena *a);   /* NULL-safe */
void arena_reset(struct arena *a);  /* forget all; keeps the first chunk (<= 256 KiB) for reuse */
#define ARENA_ALIGNMENT 16
void *arena_more(struct arena *a, size_t n) __attribute__((returns_nonnull)); /* arena_alloc, where there is no room yet */
/* Aligned to ARENA_ALIGNMENT, uninitialised. */
static inline __attribute__((returns_nonnull)) void *arena_alloc(struct arena *a, size_t n)
{
    assert(n <= SIZE_MAX / 2);
    n = n ? (n + ARENA_ALIGNMENT - 1) & ~(size_t)(ARENA_ALIGNMENT - 1) : ARENA_ALIGNMENT;
    a->used += n;
    if (n > (size_t)(a->end - a->at))
        return arena_more(a, n);
    char *p = a->at;
    a->at += n;
    return p;
}
void *arena_zero(struct arena *a, size_t count, size_t size) __attribute__((returns_nonnull));
/* Room for `more` behind the n items of `size` that `items` has (NULL when n is 0): the same array, or a copy of twice its size.
 * *cap: items that it has room for. */
void *arena_grow(struct arena *a, void *items, uint32_t n, uint32_t more, uint32_t *cap, size_t size);
char *arena_text(struct arena *a, const char *text);            /* copy with NUL; NULL gives NULL */
char *arena_text_n(struct arena *a, const char *text, size_t n); /* copy with NUL */
char *arena_joined(struct arena *a, const char *first, char between, const char *second);
char *arena_text_lower(struct arena *a, const char *text);      /* copy, the letters A to Z in lower case */
char *arena_printf(struct arena *a, const char *format, ...) PRINTF_LIKE(2, 3);
size_t arena_used(const struct arena *a); /* bytes handed out since reset */
void arena_free_p(struct arena **a);
#define _cleanup_arena_ _cleanup_(arena_free_p)

#endif
