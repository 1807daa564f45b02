/* arena.h - memory with one end of life: a request, a cycle
 *
 * OWNER  everything allocated lives until arena_reset or arena_free. Nothing is freed singly.
 * LIMIT  none of its own; callers bound their input (base/limits.h).
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H
#include <stddef.h>
#include "base/bytes.h"
#include "base/memory.h"

struct arena;
struct arena *arena_new(void);
void arena_free(struct arena *a);   /* NULL-safe */
void arena_reset(struct arena *a);  /* forget all; keeps the first chunk (<= 256 KiB) for reuse */
void *arena_alloc(struct arena *a, size_t n) __attribute__((returns_nonnull)); /* 16-byte aligned, uninitialised */
void *arena_zero(struct arena *a, size_t count, size_t size) __attribute__((returns_nonnull));
char *arena_text(struct arena *a, const char *text);            /* copy with NUL; NULL gives NULL */
char *arena_text_n(struct arena *a, const char *text, size_t n); /* copy with NUL */
char *arena_text_lower(struct arena *a, const char *text);      /* copy, the letters A to Z in lower case */
char *arena_printf(struct arena *a, const char *format, ...) PRINTF_LIKE(2, 3);
size_t arena_used(const struct arena *a); /* bytes handed out since reset */
void arena_free_p(struct arena **a);
#define _cleanup_arena_ _cleanup_(arena_free_p)

#endif
