/* bytes.h - text and bytes: a view that owns nothing, and a buffer that grows
 *
 * SHAPE  struct bytes {data, n}: a view; not NUL terminated unless said.
 *        struct buf {data, n, cap}: always NUL terminated after n when data is not NULL.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/err.h"

struct bytes {
    const char *data;
    size_t n;
};
#define BYTES(literal) ((struct bytes){(literal), sizeof(literal) - 1})

static inline struct bytes bytes_of(const char *text)
{
    return (struct bytes){text, text ? strlen(text) : 0};
}
bool bytes_equal(struct bytes a, struct bytes b);
/* memcmp == 0 and memcpy. WHY  most keys and values of an object are shorter than the way to those. */
static inline bool bytes_same(const char *a, const char *b, size_t n)
{
    if (n > 16)
        return memcmp(a, b, n) == 0;
    if (n >= 8) {
        uint64_t x[2], y[2];
        memcpy(&x[0], a, 8);
        memcpy(&x[1], a + n - 8, 8);
        memcpy(&y[0], b, 8);
        memcpy(&y[1], b + n - 8, 8);
        return x[0] == y[0] && x[1] == y[1];
    }
    if (n >= 4) {
        uint32_t x[2], y[2];
        memcpy(&x[0], a, 4);
        memcpy(&x[1], a + n - 4, 4);
        memcpy(&y[0], b, 4);
        memcpy(&y[1], b + n - 4, 4);
        return x[0] == y[0] && x[1] == y[1];
    }
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}
static inline void bytes_copy(char *to, const char *from, size_t n)
{
    if (n > 16) {
        memcpy(to, from, n);
    } else if (n >= 8) {
        memcpy(to, from, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        memcpy(to, from, 4);
        memcpy(to + n - 4, from + n - 4, 4);
    } else {
        for (size_t i = 0; i < n; i++)
            to[i] = from[i];
    }
}
static inline bool bytes_is(struct bytes a, const char *text) /* WHY here: the length of a literal is known then */
{
    size_t n = strlen(text);
    return a.n == n && (n == 0 || memcmp(a.data, text, n) == 0);
}
int bytes_compare(struct bytes a, struct bytes b); /* memcmp order, then length */
static inline bool bytes_starts(struct bytes a, const char *prefix) /* likewise */
{
    size_t n = strlen(prefix);
    return a.n >= n && (n == 0 || memcmp(a.data, prefix, n) == 0);
}
bool text_equal(const char *a, const char *b); /* NULL equals only NULL */
bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);
/* 1, t, T, TRUE, true, True and their opposites; false: it is none of them. SOURCE Go's strconv.ParseBool */
bool text_bool(const char *text, bool *ret_value);

/* Decimal int64 of the whole view; sign allowed, no spaces. False on anything else or overflow. */
bool bytes_int64(struct bytes a, int64_t *ret_value);

struct buf {
    char *data;
    size_t n, cap;
};
void buf_init(struct buf *b);
void buf_free(struct buf *b);  /* NULL-safe; leaves an empty buffer */
void buf_clear(struct buf *b); /* n = 0, memory kept */
char *buf_grow(struct buf *b, size_t extra); /* buf_reserve, where there is no room yet */
/* Room for `extra` more bytes; returns where they start. */
static inline char *buf_reserve(struct buf *b, size_t extra)
{
    return extra < b->cap - b->n ? b->data + b->n : buf_grow(b, extra);
}
void buf_add(struct buf *b, const void *data, size_t n);
void buf_text(struct buf *b, const char *text);
void buf_bytes(struct buf *b, struct bytes view);
static inline void buf_char(struct buf *b, char c)
{
    char *at = buf_reserve(b, 1);
    at[0] = c;
    at[1] = '\0';
    b->n++;
}
void buf_int64(struct buf *b, int64_t value);
void buf_printf(struct buf *b, const char *format, ...) PRINTF_LIKE(2, 3);
void buf_vprintf(struct buf *b, const char *format, va_list args);
static inline struct bytes buf_view(const struct buf *b)
{
    return (struct bytes){b->data, b->n};
}
/* vsnprintf, to the byte. WHY  stdio sets a stream up for each call, a thousand instructions for a short text: %s %.*s %c %d %u %lld %llu
 * %zu and %% are done without it, a format with any other is left to it. */
int text_vprintf(char *to, size_t max, const char *format, va_list args) PRINTF_LIKE(3, 0);
int text_printf(char *to, size_t max, const char *format, ...) PRINTF_LIKE(3, 4); /* the same as snprintf */
/* Hand the memory over (never NULL, NUL terminated); the buffer is empty after. Caller frees. */
char *buf_take(struct buf *b, size_t *ret_n);
#define _cleanup_buf_ _cleanup_(buf_free)

struct blob_part {
    uint32_t from, to; /* the same: there is no such part */
};
/* Bytes that several owners read: written once, then immutable, freed with the last reference (one thread). */
struct blob {
    uint32_t refs;
    uint32_t n;
    uint32_t notes; /* of whoever made it: what was found out about the bytes, so that it is looked for once; 0 = nothing yet */
    bool has_parts; /* of an object's text: who printed it has said where these stand, each with the comma before it */
    struct blob_part managed, spec; /* metadata.managedFields, and behind it .spec */
    char data[]; /* n bytes and a NUL */
};
struct blob *blob_new(const void *data, size_t n); /* one reference */
struct blob *blob_joined(struct bytes first, struct bytes second); /* likewise, of both */
struct blob *blob_ref(struct blob *b);
void blob_unref(struct blob *b); /* NULL-safe */

/* base64, standard alphabet with padding. Decode passes over line ends, as Go's does and `base64 FILE` writes them, and returns false on
 * malformed input. */
void base64_encode(struct buf *out, struct bytes in);
bool base64_decode(struct buf *out, struct bytes in);

/* Bytes of the well-formed UTF-8 sequence at `at` < end, 1..4; 0 when it is malformed. SOURCE Unicode 15, table 3-7; RFC 3629 */
size_t utf8_length(const char *at, const char *end);
/* Is it a character that shows itself and moves nothing beside it: no control character, direction mark or part of a broken sequence?
 * n: of utf8_length. SOURCE Unicode 15, general categories Cc, Cf, Zl, Zp */
bool utf8_is_plain(const char *at, size_t n);

#endif
