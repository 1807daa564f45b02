/* profile.h - how much of each node is free, and when: what runs is expected to end, what is promised begins
 *
 *     free
 *      8 |          _____        promised: 4 from 50 on
 *      6 |    _____|     |
 *      4 |___|           |____
 *        +----------------------  ms
 *          20   30      50
 *
 * SHAPE  a row is a node, or the quota of a queue: `capacity` of one resource, and a short list of holds [from_ms, until_ms) in no order.
 *        Who runs holds since he started; a promise holds from the time that it is for. A hold of no length counts at from_ms alone.
 * UNIT   milliseconds of whichever clock the caller keeps; amounts of one resource.
 * LIMIT  a look at a row takes as many steps as it has holds, times those that begin within what is looked at. Times are below 2^62.
 * SOURCE docs/design/0021-time.md
 */
#ifndef CORE_TIME_PROFILE_H
#define CORE_TIME_PROFILE_H
#include <stdbool.h>
#include <stdint.h>

struct hold {
    uint32_t owner;
    int64_t amount, from_ms, until_ms;
};
struct profile_row {
    int64_t capacity;
    struct hold *holds;
    uint32_t n, cap;
    bool is_node;
    int64_t longest_ms; /* who is expected to last longer is given nothing here; INT64_MAX: there is no such bound */
    /* scratch of reserve.c: the least that is free in what is looked at, what is free as it begins, and when the last hold ends by then */
    int64_t left, free_now, last_end_ms;
};
struct profile {
    struct profile_row *rows; /* nodes in the order in which they are named (ORDER of choice among equals) */
    uint32_t n, cap;
};
void profile_init(struct profile *p);
void profile_fini(struct profile *p);
uint32_t profile_add(struct profile *p, int64_t capacity, bool is_node); /* its place among rows */

/* It may be more than is free: somebody has it already. */
void profile_hold(struct profile *p, uint32_t row, const struct hold *h);
void profile_drop(struct profile *p, uint32_t row, uint32_t owner); /* one hold of his there; no-op when he has none */
/* Whoever was to have ended by now and has not is expected to run as long again as he has. WHY  all that is known of him is that he ran so
 * long; where long runs are the rarer the longer they are by a power law, the mean of what is left grows with that. */
void profile_prolong(struct profile *p, int64_t now_ms);

/* The least that is free at any time in [from_ms, until_ms), at least at from_ms; less than 0 where more is held than there is. */
int64_t profile_least(const struct profile *p, uint32_t row, int64_t from_ms, int64_t until_ms);

#endif
