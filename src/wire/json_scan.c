/* json_scan.c - see json_scan.h
 *
 * Blocks of 64 bytes become bit masks (quotes, backslashes, open and close brackets). The running parity of the
 * unescaped quotes says which bytes are inside strings; a block whose closing brackets are fewer than the depth needs
 * no closer look.
 */
#include <stdbool.h>
#include <stddef.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include "wire/json_scan.h"

const char *json_scan_close_scalar(struct json_scan *s, const char *at, const char *end)
{
    for (; at < end; at++) {
        if (s->escaped) {
            s->escaped = 0;
        } else if (*at == '\\') {
            s->escaped = 1;
        } else if (*at == '"') {
            s->in_string = ~s->in_string;
        } else if (!s->in_string) {
            char folded = (char)(*at | 0x20); /* '[' is '{' less 0x20, ']' is '}' less 0x20 */
            s->depth += folded == '{';
            if (folded == '}' && --s->depth == 0)
                return at + 1;
        }
    }
    return NULL;
}

#ifdef __SSE2__
struct masks {
    uint64_t quote, backslash, open, close;
};

static struct masks block_masks(const char *at)
{
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), fold = _mm_set1_epi8(0x20);
    const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
    struct masks m = {0};
    for (int i = 0; i < 4; i++) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * i)), folded = _mm_or_si128(x, fold);
        int shift = 16 * i;
        m.quote |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(x, quote)) << shift;
        m.backslash |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(x, backslash)) << shift;
        m.open |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(folded, open)) << shift;
        m.close |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(folded, close)) << shift;
    }
    return m;
}

/* Bytes that follow a backslash which is not itself escaped. *carry: whether the first byte is one; then for the next
 * block. */
static uint64_t escaped_bytes(uint64_t backslash, uint64_t *carry)
{
    uint64_t escaped = *carry, rest = backslash & ~escaped;
    *carry = 0;
    while (rest) {
        int i = __builtin_ctzll(rest);
        if (i == 63) {
            *carry = 1;
            break;
        }
        escaped |= UINT64_C(2) << i;
        rest &= ~(UINT64_C(3) << i);
    }
    return escaped;
}

/* Bit i = parity of bits 0..i. */
static uint64_t running_parity(uint64_t x)
{
    for (int shift = 1; shift < 64; shift *= 2)
        x ^= x << shift;
    return x;
}

static uint64_t count_bits(uint64_t x) /* WHY  baseline x86-64 has no popcnt, and the library's body is a call */
{
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return x * UINT64_C(0x0101010101010101) >> 56;
}

/* Index of the bracket that brings depth to 0, or -1 with depth updated. */
static int find_close(uint64_t *depth, uint64_t open, uint64_t close)
{
    uint64_t close_n = count_bits(close);
    if (close_n < *depth) {
        *depth += count_bits(open) - close_n;
        return -1;
    }
    for (uint64_t brackets = open | close; brackets; brackets &= brackets - 1) {
        uint64_t bit = brackets & -brackets;
        *depth += open & bit ? 1 : -UINT64_C(1);
        if (*depth == 0)
            return __builtin_ctzll(bit);
    }
    return -1;
}

const char *json_scan_close(struct json_scan *s, const char *at, const char *end)
{
    for (; end - at >= 64; at += 64) {
        struct masks m = block_masks(at);
        uint64_t escaped = s->escaped;
        if (m.backslash)
            escaped = escaped_bytes(m.backslash, &s->escaped);
        else
            s->escaped = 0;
        uint64_t inside = running_parity(m.quote & ~escaped) ^ s->in_string;
        s->in_string = (uint64_t)((int64_t)inside >> 63);
        uint64_t hidden = inside | escaped, open = m.open & ~hidden, close = m.close & ~hidden;
        int found = open | close ? find_close(&s->depth, open, close) : -1;
        if (found >= 0)
            return at + found + 1;
    }
    return json_scan_close_scalar(s, at, end);
}
#else
const char *json_scan_close(struct json_scan *s, const char *at, const char *end)
{
    return json_scan_close_scalar(s, at, end);
}
#endif
