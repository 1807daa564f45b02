/* snappy.c - what came before within 64 KiB is said by its distance
 *
 *     varint of the length, then  literal  n-1 < 60: [n-1 << 2]            < 256: [60 << 2][n-1]     else: [61 << 2][n-1: 2 bytes]
 *                                 copy     4..11 bytes, distance < 2048: [n-4 << 2 | 1 | distance >> 8 << 5][distance & 0xff]
 *                                          1..64 bytes:                  [n-1 << 2 | 2][distance: 2 bytes]
 *
 * A chunk of 64 KiB knows nothing of the others, so that each distance fits. Places are found by a hash of four bytes; the last place of
 * a hash is known, others are forgotten: a page's labels repeat soon.
 */
#include "exporter/push/snappy.h"
#include <stdint.h>

enum { CHUNK = 1 << 16, HASH_BITS = 12, MATCH_MIN = 4, COPY_MAX = 64 };

static uint32_t four(const char *at)
{
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

static void add_two(struct buf *out, size_t v)
{
    buf_char(out, (char)(v & 0xff));
    buf_char(out, (char)(v >> 8));
}

static void add_literal(struct buf *out, const char *from, size_t n)
{
    if (n == 0)
        return;
    if (n <= 60) {
        buf_char(out, (char)((n - 1) << 2));
    } else if (n <= 256) {
        buf_char(out, (char)(60 << 2));
        buf_char(out, (char)(n - 1));
    } else {
        buf_char(out, (char)(61 << 2));
        add_two(out, n - 1);
    }
    buf_add(out, from, n);
}

static void add_copy(struct buf *out, size_t distance, size_t n)
{
    while (n > 0) {
        size_t part = n < COPY_MAX ? n : COPY_MAX;
        if (part >= MATCH_MIN && part < 12 && distance < 2048) {
            buf_char(out, (char)(1 | (part - 4) << 2 | (distance >> 8) << 5));
            buf_char(out, (char)(distance & 0xff));
        } else {
            buf_char(out, (char)(2 | (part - 1) << 2));
            add_two(out, distance);
        }
        n -= part;
    }
}

static void add_chunk(struct buf *out, const char *in, size_t n)
{
    uint16_t places[1 << HASH_BITS] = {0};
    size_t said = 0; /* what stands before is in `out` */
    for (size_t at = 1; at + MATCH_MIN <= n;) {
        uint16_t *place = &places[four(in + at) * 0x1e35a7bdu >> (32 - HASH_BITS)];
        size_t before = *place, length = 0;
        *place = (uint16_t)at;
        if (four(in + before) == four(in + at))
            for (length = MATCH_MIN; at + length < n && in[before + length] == in[at + length];)
                length++;
        if (length == 0) {
            at += 1 + ((at - said) >> 6); /* faster through what does not repeat */
            continue;
        }
        add_literal(out, in + said, at - said);
        add_copy(out, at - before, length);
        said = at += length;
    }
    add_literal(out, in + said, n - said);
}

void snappy_add(struct buf *out, struct bytes in)
{
    for (size_t left = in.n;; left >>= 7) {
        buf_char(out, (char)((left & 0x7f) | (left > 0x7f ? 0x80 : 0)));
        if (left <= 0x7f)
            break;
    }
    for (size_t at = 0; at < in.n; at += CHUNK)
        add_chunk(out, in.data + at, in.n - at < CHUNK ? in.n - at : CHUNK);
}
