/* amount.h - sums and products of amounts: what is more than there are numbers for is the largest of them, so nothing wraps around */
#ifndef BASE_AMOUNT_H
#define BASE_AMOUNT_H
#include <stdint.h>

static inline int64_t amount_plus(int64_t one, int64_t other)
{
    int64_t sum;
    return __builtin_add_overflow(one, other, &sum) ? (other > 0 ? INT64_MAX : INT64_MIN) : sum;
}

static inline int64_t amount_times(int64_t one, int64_t other)
{
    int64_t product;
    return __builtin_mul_overflow(one, other, &product) ? ((one < 0) == (other < 0) ? INT64_MAX : INT64_MIN) : product;
}

#endif
