/* json_text.h - the bytes of JSON strings, shared by the tree parser, the reader and the writer (this room only)
 *
 * UNIT   positions are pointers into one contiguous text; nothing is NUL terminated.
 */
#ifndef WIRE_JSON_TEXT_H
#define WIRE_JSON_TEXT_H
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include "base/bytes.h"

/* json_text_scan from its second block on. */
const char *json_text_scan_on(const char *at, const char *end);
/* The same, but bytes above 0x7f are passed over. */
const char *json_text_scan_raw(const char *at, const char *end);

/* How many of the n bytes at `at` stand before the first such. Up to 16 bytes behind them are read and do not matter: most strings are
 * shorter than a register, and are looked through in one step. */
#ifdef __SSE2__
/* Which of the 16 bytes at `at` must be escaped. */
static inline unsigned json_text_mask(const char *at)
{
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1f);
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)at);
    __m128i below = _mm_cmpeq_epi8(_mm_min_epu8(x, control), x);
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, backslash)), below));
}
/* Which of them end what needs no check: those, and all above 0x7f. */
static inline unsigned json_text_mask_ascii(const char *at)
{
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), space = _mm_set1_epi8(' ');
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)at);
    /* signed compare: below space are the control characters and everything above 0x7f */
    return (unsigned)_mm_movemask_epi8(
        _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, backslash)), _mm_cmplt_epi8(x, space)));
}
#endif

/* First byte in at..end that is '"', '\\', below 0x20 or above 0x7f; end when none. */
static inline const char *json_text_scan(const char *at, const char *end)
{
#ifdef __SSE2__
    if (end - at >= 16) { /* most strings end in it */
        unsigned mask = json_text_mask_ascii(at);
        if (mask)
            return at + __builtin_ctz(mask);
        at += 16;
    }
#endif
    return json_text_scan_on(at, end);
}

static inline size_t json_text_plain_n(const char *at, size_t n)
{
#ifdef __SSE2__
    if (n <= 16) {
        unsigned mask = json_text_mask(at) & ((1u << n) - 1);
        return mask ? (size_t)__builtin_ctz(mask) : n;
    }
    for (size_t i = 0; i < n; i += 16) {
        unsigned mask = json_text_mask(at + i);
        if (n - i < 16)
            mask &= (1u << (n - i)) - 1;
        if (mask)
            return i + (size_t)__builtin_ctz(mask);
    }
    return n;
#else
    return (size_t)(json_text_scan_raw(at, at + n) - at);
#endif
}

/* Decode the escape at `at` (a backslash) into to[4]. Returns bytes of input used, 0 with *ret_problem set when it is
 * wrong. *ret_n: bytes written. */
size_t json_text_escape(const char *at, const char *end, char to[4], size_t *ret_n, const char **ret_problem);
/* Bytes of the number at `at` by RFC 8259's grammar, 0 when there is none. */
size_t json_text_number(const char *at, const char *end);

static inline bool json_text_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

#endif
