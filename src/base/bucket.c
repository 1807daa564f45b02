/* bucket.c - tokens are counted when somebody asks; see bucket.h */
#include "base/bucket.h"

int64_t bucket_wait_ms(struct bucket *b, int64_t now_ms, int64_t burst, int64_t refill_ms)
{
    int64_t back_n = (now_ms - b->filled_ms) / refill_ms;
    if (back_n >= b->spent) {
        b->spent = 0;
        b->filled_ms = now_ms;
    } else {
        b->spent -= back_n;
        b->filled_ms += back_n * refill_ms;
    }
    return b->spent < burst ? 0 : b->filled_ms + (b->spent - burst + 1) * refill_ms - now_ms;
}

void bucket_take(struct bucket *b)
{
    b->spent++;
}

void bucket_give(struct bucket *b)
{
    b->spent -= b->spent > 0;
}
