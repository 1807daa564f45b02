/* random.c - see random.h
 *
 * SOURCE splitmix64, Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (2014).
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include "base/random.h"

uint64_t random_next(struct random *r)
{
    uint64_t x = r->state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t random_below(struct random *r, uint64_t bound)
{
    assert(bound > 0);
    uint64_t uneven = -bound % bound; /* 2^64 mod bound: so many low values would be drawn once too often */
    uint64_t x;
    do {
        x = random_next(r);
    } while (x < uneven);
    return x % bound;
}

bool random_permille(struct random *r, uint32_t permille)
{
    return random_below(r, 1000) < permille;
}

uint64_t random_seed_from_system(void)
{
    uint64_t seed;
    ssize_t n;
    do {
        n = getrandom(&seed, sizeof seed, 0);
    } while (n < 0 && errno == EINTR);
    if (n != sizeof seed)
        abort(); /* the kernel always gives 8 bytes; a guessable seed is worse than no start */
    return seed;
}
