/* memory.c - see memory.h */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/memory.h"

#define EXIT_NO_MEMORY 70 /* EX_SOFTWARE of sysexits.h */
#define SMALL 1024        /* bytes */

static _Noreturn void memory_out(size_t count, size_t size)
{
    char line[96];
    int n = snprintf(line, sizeof line, "capstan: out of memory: %zu x %zu bytes asked for\n", count, size);
    (void)!write(STDERR_FILENO, line, (size_t)n); /* nothing left to do when stderr is gone too */
    _exit(EXIT_NO_MEMORY);
}

void *mem_alloc(size_t n)
{
    void *p = malloc(n ? n : 1);
    if (!p)
        memory_out(1, n);
    return p;
}

/* WHY  small blocks apart: what was freed just now glibc hands out again at once to malloc, but not to calloc, which takes thrice as
 * long. */
void *mem_zero(size_t count, size_t size)
{
    size_t n;
    if (__builtin_mul_overflow(count, size, &n))
        memory_out(count, size);
    n = n ? n : 1;
    if (n <= SMALL)
        return memset(mem_alloc(n), 0, n);
    void *p = calloc(1, n);
    if (!p)
        memory_out(count, size);
    return p;
}

void *mem_grow(void *old, size_t count, size_t size)
{
    size_t n;
    if (__builtin_mul_overflow(count, size, &n))
        memory_out(count, size);
    void *p = realloc(old, n ? n : 1);
    if (!p)
        memory_out(count, size);
    return p;
}

char *mem_text(const char *text)
{
    return text ? mem_text_n(text, strlen(text)) : NULL;
}

char *mem_text_n(const char *text, size_t n)
{
    char *copy = mem_alloc(n + 1);
    if (n > 0)
        memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

void mem_free_p(void *p)
{
    void *memory;
    memcpy(&memory, p, sizeof memory); /* WHY  p is the address of a pointer of any type */
    free(memory);
}

void fd_close_p(int *fd)
{
    if (*fd < 0)
        return;
    int saved_errno = errno;
    (void)close(*fd); /* a cleanup path: writers that care call close themselves */
    *fd = -1;
    errno = saved_errno;
}
