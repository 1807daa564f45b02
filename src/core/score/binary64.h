/* binary64.h - IEEE 754 numbers of 64 bits, counted in integers: for formulas that others published in them, to the last bit
 *
 * WHY    what they rounded decides between nodes that are equal otherwise, and no machine's arithmetic, compiler or library may have a say
 *        in a decision.
 * SHAPE  their bits. Rounded to nearest, ties to even. Finite and not smaller than 2^-1022: what is comes out as 0.
 */
#ifndef CORE_BINARY64_H
#define CORE_BINARY64_H
#include <stdbool.h>
#include <stdint.h>

typedef uint64_t binary64;

binary64 b64_of(int64_t n);
binary64 b64_plus(binary64 a, binary64 b);
binary64 b64_minus(binary64 a, binary64 b);
binary64 b64_times(binary64 a, binary64 b);
binary64 b64_over(binary64 a, binary64 b); /* b is not 0 */
int64_t b64_whole(binary64 a);             /* towards 0 */
bool b64_at_least(binary64 a, binary64 b);

#endif
