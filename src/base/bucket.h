/* bucket.h - a token bucket: so many at once, then one every while
 *
 * UNIT  milliseconds of one monotonic clock, given by the caller. A zeroed bucket is full.
 */
#ifndef BASE_BUCKET_H
#define BASE_BUCKET_H
#include <stdbool.h>
#include <stdint.h>

struct bucket {
    int64_t filled_ms; /* what came back until then is counted in `spent` */
    int64_t spent;
};
/* Milliseconds until there is a token; 0: now. burst and refill_ms are the same at each call. */
int64_t bucket_wait_ms(struct bucket *b, int64_t now_ms, int64_t burst, int64_t refill_ms);
void bucket_take(struct bucket *b); /* one that is there now, or, as a promise, when bucket_wait_ms has said */
void bucket_give(struct bucket *b); /* a promised one is not needed after all */

#endif
