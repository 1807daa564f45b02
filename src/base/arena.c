/* arena.c - see arena.h
 *
 * SHAPE  a list of chunks, the newest first; each chunk is twice the size of the one before, up to CHUNK_MAX. A request that is
 *        larger than that gets a chunk of its own.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "base/arena.h"

#define CHUNK_MIN (16u << 10)
#define CHUNK_KEEP (256u << 10) /* the largest that survives a reset */
#define CHUNK_MAX (1u << 20)

struct arena_chunk {
    struct arena_chunk *older;
    size_t size; /* of data */
    _Alignas(ARENA_ALIGNMENT) char data[];
};

struct arena *arena_new(void)
{
    struct arena *a = mem_zero(1, sizeof *a);
    a->next_size = CHUNK_MIN;
    return a;
}

void arena_free(struct arena *a)
{
    if (!a)
        return;
    for (struct arena_chunk *c = a->newest, *older; c; c = older) {
        older = c->older;
        free(c);
    }
    free(a);
}

void arena_free_p(struct arena **a)
{
    arena_free(*a);
}

void arena_reset(struct arena *a)
{
    struct arena_chunk *keep = NULL;
    for (struct arena_chunk *c = a->newest, *older; c; c = older) {
        older = c->older;
        bool better = c->size <= CHUNK_KEEP && (!keep || c->size > keep->size);
        free(better ? keep : c);
        keep = better ? c : keep;
    }
    a->newest = keep;
    a->at = keep ? keep->data : NULL;
    a->end = keep ? keep->data + keep->size : NULL;
    a->next_size = keep ? keep->size * 2 : CHUNK_MIN;
    a->used = 0;
    if (keep)
        keep->older = NULL;
}

void *arena_more(struct arena *a, size_t n)
{
    size_t size = a->next_size > CHUNK_MAX ? CHUNK_MAX : a->next_size;
    bool alone = n > size / 2 && a->newest; /* WHY  the rest of the current chunk stays in use */
    if (alone || size < n)
        size = n;
    assert(size <= SIZE_MAX - sizeof(struct arena_chunk));
    struct arena_chunk *c = mem_alloc(sizeof *c + size);
    c->size = size;
    if (alone) {
        c->older = a->newest->older;
        a->newest->older = c;
        return c->data;
    }
    c->older = a->newest;
    a->newest = c;
    a->at = c->data + n;
    a->end = c->data + size;
    a->next_size = size * 2;
    return c->data;
}

void *arena_zero(struct arena *a, size_t count, size_t size)
{
    size_t n;
    bool overflow = __builtin_mul_overflow(count, size, &n);
    assert(!overflow);
    return memset(arena_alloc(a, n), 0, n);
}

void *arena_grow(struct arena *a, void *items, uint32_t n, uint32_t more, uint32_t *cap, size_t size)
{
    enum { FIRST = 16 };
    assert(more <= UINT32_MAX - n);
    if (items && n + more <= *cap)
        return items;
    uint32_t least = more > n ? more : n;
    *cap = least < UINT32_MAX - n ? n + least : UINT32_MAX;
    *cap = *cap < FIRST ? FIRST : *cap;
    void *grown = arena_alloc(a, *cap * size);
    if (n)
        memcpy(grown, items, n * size);
    return grown;
}

char *arena_text(struct arena *a, const char *text)
{
    return text ? arena_text_n(a, text, strlen(text)) : NULL;
}

char *arena_text_n(struct arena *a, const char *text, size_t n)
{
    char *copy = arena_alloc(a, n + 1);
    bytes_copy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

char *arena_joined(struct arena *a, const char *first, char between, const char *second)
{
    size_t first_n = strlen(first), second_n = strlen(second);
    char *text = arena_alloc(a, first_n + second_n + 2);
    memcpy(text, first, first_n);
    text[first_n] = between;
    memcpy(text + first_n + 1, second, second_n + 1);
    return text;
}

char *arena_text_lower(struct arena *a, const char *text)
{
    char *copy = arena_text(a, text);
    for (char *c = copy; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c | 0x20 : *c);
    return copy;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
    char small[256]; /* most texts fit: one pass */
    va_list args;
    va_start(args, format);
    int n = text_vprintf(small, sizeof small, format, args);
    va_end(args);
    assert(n >= 0); /* a broken format is our bug */
    if ((size_t)n < sizeof small)
        return arena_text_n(a, small, (size_t)n);
    char *text = arena_alloc(a, (size_t)n + 1);
    va_start(args, format);
    (void)text_vprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

size_t arena_used(const struct arena *a)
{
    return a->used;
}
