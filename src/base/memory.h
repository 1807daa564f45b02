/* memory.h - heap memory that is there or the program ends
 *
 * WHY  Every write of ours survives a crash at any point (store, journal), so running out of memory is handled as one more
 *      crash: say what was asked for, exit 70, let the supervisor start us again. No half-handled ENOMEM paths anywhere.
 *      What a user or peer can make us allocate is bounded in base/limits.h before these are called.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H
#include <stddef.h>
#include <stdlib.h>

void *mem_alloc(size_t n) __attribute__((malloc, alloc_size(1), returns_nonnull));                /* uninitialised */
void *mem_zero(size_t count, size_t size) __attribute__((malloc, alloc_size(1, 2), returns_nonnull)); /* zeroed; overflow checked */
void *mem_grow(void *old, size_t count, size_t size) __attribute__((alloc_size(2, 3), returns_nonnull)); /* realloc; overflow checked */
char *mem_text(const char *text) __attribute__((malloc));                                          /* strdup; NULL gives NULL */
char *mem_text_n(const char *text, size_t n) __attribute__((malloc));

/* Grow a dense array so that it holds at least `need` items: `array` and `cap` are updated, doubling, starting at 8. */
#define MEM_RESERVE(array, cap, need)                                                                                            \
    do {                                                                                                                         \
        size_t mem_need_ = (size_t)(need);                                                                                       \
        if (mem_need_ > (size_t)(cap)) {                                                                                         \
            size_t mem_cap_ = (size_t)(cap) < 8 ? 8 : (size_t)(cap)*2;                                                           \
            while (mem_cap_ < mem_need_)                                                                                         \
                mem_cap_ *= 2;                                                                                                   \
            (array) = mem_grow((array), mem_cap_, sizeof *(array));                                                              \
            (cap) = (__typeof__(cap))mem_cap_;                                                                                   \
        }                                                                                                                        \
    } while (0)

/* _cleanup_(fn): call fn(&variable) when the variable leaves scope. fn must accept a pointer to NULL. */
#define _cleanup_(fn) __attribute__((cleanup(fn)))
#define take_ptr(p)                                                                                                              \
    ({                                                                                                                           \
        __typeof__(p) take_ = (p);                                                                                               \
        (p) = NULL;                                                                                                              \
        take_;                                                                                                                   \
    })
void mem_free_p(void *p); /* p is the address of a pointer: free(*p) */
void fd_close_p(int *fd); /* close(*fd) unless negative; keeps errno */
#define _cleanup_free_ _cleanup_(mem_free_p)
#define _cleanup_close_ _cleanup_(fd_close_p)

#endif
