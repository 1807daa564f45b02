/* random.h - seeded random numbers (splitmix64): the same seed gives the same sequence on every machine */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H
#include <stdbool.h>
#include <stdint.h>

struct random {
    uint64_t state;
};
uint64_t random_next(struct random *r);
uint64_t random_below(struct random *r, uint64_t bound);    /* 0 .. bound-1, unbiased; bound > 0 */
bool random_permille(struct random *r, uint32_t permille);  /* true with that probability */
uint64_t random_seed_from_system(void);                     /* getrandom(2); only edges call it */

#endif
