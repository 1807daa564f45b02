#include "core/score/binary64.h"
#include "core/quota/wide.h"

#define SIGN ((uint64_t)1 << 63)
#define HIDDEN ((uint64_t)1 << 52)
#define BIAS 1075 /* value = mantissa * 2^(exponent - BIAS) */

static uint64_t mantissa(binary64 a)
{
    return a << 1 ? (a & (HIDDEN - 1)) | HIDDEN : 0;
}

static int exponent(binary64 a)
{
    return (int)(a >> 52 & 0x7ff);
}

static int bits_of(u128 m)
{
    uint64_t high = (uint64_t)(m >> 64), low = (uint64_t)m;
    return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

/* m * 2^(e - BIAS), rounded. Where m has lost bits below, its lowest one is set and it has 55 bits at least. */
static binary64 rounded(uint64_t sign, u128 m, int e)
{
    int shift = bits_of(m) - 53;
    uint64_t q;
    if (!m)
        return 0;
    if (shift <= 0) {
        q = (uint64_t)m << -shift;
    } else {
        u128 rest = m & (((u128)1 << shift) - 1), half = (u128)1 << (shift - 1);
        q = (uint64_t)(m >> shift);
        q += rest > half || (rest == half && (q & 1));
    }
    if (q == HIDDEN << 1) {
        q = HIDDEN;
        shift++;
    }
    e += shift;
    return e <= 0 ? 0 : sign | (uint64_t)e << 52 | (q & (HIDDEN - 1));
}

binary64 b64_of(int64_t n)
{
    return rounded(n < 0 ? SIGN : 0, n < 0 ? -(uint64_t)n : (uint64_t)n, BIAS);
}

binary64 b64_plus(binary64 a, binary64 b)
{
    if (!(a << 1))
        return b << 1 ? b : 0;
    if (!(b << 1))
        return a;
    if ((a & ~SIGN) < (b & ~SIGN)) {
        binary64 swap = a;
        a = b;
        b = swap;
    }
    int apart = exponent(a) - exponent(b);
    u128 big = (u128)mantissa(a) << 60, small = (u128)mantissa(b) << 60, kept = apart < 113 ? small >> apart : 0;
    if (apart && (apart >= 113 || kept << apart != small))
        kept |= 1;
    return rounded(a & SIGN, (a ^ b) & SIGN ? big - kept : big + kept, exponent(a) - 60);
}

binary64 b64_minus(binary64 a, binary64 b)
{
    return b64_plus(a, b ^ SIGN);
}

binary64 b64_times(binary64 a, binary64 b)
{
    return rounded((a ^ b) & SIGN, (u128)mantissa(a) * mantissa(b), exponent(a) + exponent(b) - BIAS);
}

binary64 b64_over(binary64 a, binary64 b)
{
    uint64_t left = mantissa(a), by = mantissa(b), q = 0;
    for (int i = 0; i < 58; i++) { /* 57 bits at least */
        q = q << 1 | (left >= by);
        left = (left >= by ? left - by : left) << 1;
    }
    return rounded((a ^ b) & SIGN, (u128)q << 1 | (left != 0), exponent(a) - exponent(b) + BIAS - 58);
}

int64_t b64_whole(binary64 a)
{
    int shift = exponent(a) - BIAS;
    uint64_t n = shift >= 0 ? mantissa(a) << (shift > 10 ? 10 : shift) : shift > -64 ? mantissa(a) >> -shift : 0;
    return a & SIGN ? -(int64_t)n : (int64_t)n;
}

bool b64_at_least(binary64 a, binary64 b)
{
    if (!(a << 1) && !(b << 1))
        return true;
    if ((a ^ b) & SIGN)
        return !(a & SIGN);
    return a & SIGN ? a <= b : a >= b;
}
