/* decay.h - what is left of an amount as time goes by: a half after each half-life
 *
 * UNIT   a fraction is so many 2^-64; 1 is the largest of them, and so by 2^-64 too little.
 * WHY    not floating point: the same on every machine, and so exact (to 60 bits) that halves of halves come out as halves.
 */
#ifndef CORE_DECAY_H
#define CORE_DECAY_H
#include "core/quota/wide.h"

/* 0.5 ^ (elapsed / half_life). half_life_ms > 0; elapsed_ms >= 0. */
uint64_t decay_left(int64_t elapsed_ms, int64_t half_life_ms);
/* So much of the amount, rounded down. */
u128 decay_part(u128 amount, uint64_t fraction);
/* amount / 10^9, rounded down; what is over in ret_rest. */
u128 decay_whole(u128 amount, uint32_t *ret_rest);

#endif
