/* wide.h - whole numbers of up to 192 bits, the lowest word first: what products of amounts and weights take, so that ratios are compared
 * exactly. Nothing is divided: the machine's division of 128 bits is a library call (scripts/check-core-purity). */
#ifndef CORE_WIDE_H
#define CORE_WIDE_H
#include <stdint.h>

typedef unsigned __int128 u128;

struct wide {
    uint64_t words[3];
};

static inline struct wide wide_times(u128 a, uint64_t b)
{
    u128 low = (u128)(uint64_t)a * b, high = (u128)(uint64_t)(a >> 64) * b + (uint64_t)(low >> 64);
    return (struct wide){{(uint64_t)low, (uint64_t)high, (uint64_t)(high >> 64)}};
}

static inline int wide_compare(struct wide a, struct wide b)
{
    for (int i = 2; i >= 0; i--)
        if (a.words[i] != b.words[i])
            return a.words[i] < b.words[i] ? -1 : 1;
    return 0;
}

/* The least n with n * by >= a; INT64_MAX where that is more. */
static inline int64_t wide_over(struct wide a, u128 by)
{
    uint64_t low = 0, high = INT64_MAX;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (wide_compare(wide_times(by, middle), a) >= 0)
            high = middle;
        else
            low = middle + 1;
    }
    return (int64_t)low;
}

#endif
