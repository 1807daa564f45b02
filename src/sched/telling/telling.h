/* telling.h - when the reason why something waits is written to its object
 *
 *   what it would say has changed -> stood for a while -> a place in the budget -> written -> not again for a while
 *
 * A sentence has a cause: itself without its numbers. One that differs in numbers only ("3 more needed", "2 more needed") is no news, and
 * is written rarely, so that what stands there does not become untrue for long. So is the tree that stands beside the sentence (why nobody
 * is preempted, what would help), where that alone is another; but that something is known to help by now, or when it starts, is news.
 *
 * WHY    Ten thousand wait; each completion changes what each of them could be told.
 * UNIT   monotonic milliseconds. Pure: time is an argument.
 */
#ifndef SCHED_TELLING_H
#define SCHED_TELLING_H
#include "base/bucket.h"

enum {
    TELLING_SETTLE_MS = 500,      /* so long a reason stands before it is told: most are over by then */
    TELLING_MEMBERS_MS = 5000,    /* "6 of 80 pods exist", after the last that came: they are being made */
    TELLING_AGAIN_MS = 5000,      /* between two sentences about one object */
    TELLING_NUMBERS_MS = 60000,   /* the same, when only numbers differ */
    TELLING_ECHO_MS = 1000,       /* what was sent comes back by the watch in this time */
};

struct telling {
    uint64_t cause;    /* of what it would say */
    int64_t since_ms;  /* that has stood since */
    int64_t sent_ms, told_ms;
    int64_t slot_ms;   /* its place in the budget; 0 = none yet */
};
/* The tree of reasons beside the sentence, as JSON: is it said already? */
enum telling_rest { REST_IS_SAID, REST_DIFFERS, REST_IS_NEWS };
enum telling_rest telling_rest(const char *tree, const char *said);
enum telling_parts { TELLS_REMEDIES = 1, TELLS_START = 2 };
uint8_t telling_parts(const char *tree); /* bits of those that it has */
uint64_t telling_cause(const char *text);
/* Milliseconds until `text` may be written to an object that says `said` (NULL or "": nothing); 0: now; -1: there is nothing to write.
 * settle_ms counts from when the cause changed, and from moved_ms. budget may be NULL. */
int64_t telling_wait_ms(struct telling *t, struct bucket *budget, const char *text, const char *said, enum telling_rest rest,
                        int64_t settle_ms, int64_t moved_ms, int64_t now_ms);
void telling_sent(struct telling *t, int64_t now_ms);
void telling_drop(struct telling *t, struct bucket *budget, int64_t now_ms); /* it waits no longer */

#endif
