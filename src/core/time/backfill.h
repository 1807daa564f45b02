/* backfill.h - a line of gangs, and one turn of it: who starts now, who is promised a start, and who may pass whom
 *
 *     turn    all promises are taken back
 *             in the order of the line:  fits now, and takes nothing from a promise made so far  -> starts
 *                                        does not, and there are promises left to give           -> is promised its earliest start
 *                                        strict                                                  -> nobody behind it starts
 *
 * SHAPE  a promise is places and quota from its time on (reserve.h), so who stands behind in the line passes only where it ends before, or
 *        beside it. It is found anew in each turn: who ends sooner than expected makes it earlier. Those who pass never make it later;
 *        somebody who came to stand in front of its holder may (where several are promised a start also one who finds other nodes now), and
 *        so may who runs longer than he was expected to.
 * ORDER  (key, owner), the least first. The key is the caller's: what he knows of a gang when it gets in line.
 * UNIT   as in profile.h.
 * LIMIT  a turn looks at each shape of gangs once for every time it was shorter than those that did not fit: so once where the line is
 *        ordered by length.
 * SOURCE docs/design/0021-time.md
 */
#ifndef CORE_TIME_BACKFILL_H
#define CORE_TIME_BACKFILL_H
#include "core/time/reserve.h"

struct backfill_policy {
    bool is_strict;      /* who does not fit keeps all behind it waiting */
    uint32_t promises_n; /* given at a time */
    enum reserve_choice choice;
};
struct backfill_shape {
    const int64_t *pods; /* as of a reserve_ask */
    uint32_t pods_n;
    int64_t sum;
    int64_t failed_ms; /* this turn: so long, or longer, it does not fit; INT64_MAX: not tried */
};
struct backfill_gang {
    uint64_t key;
    uint32_t owner, shape, quota;
    int64_t lasts_ms;
    bool anywhere; /* of a reserve_ask */
};
struct backfill_promise {
    struct backfill_gang gang;
    int64_t start_ms;
    uint32_t *nodes; /* one a pod */
};
struct backfill {
    struct profile *profile;
    struct backfill_policy policy;
    struct backfill_gang *line;
    uint32_t line_n, line_cap;
    struct backfill_shape *shapes;
    uint32_t shapes_n, shapes_cap;
    struct backfill_promise *promises; /* of the last turn */
    uint32_t promised_n, promised_cap;
    uint32_t *nodes; /* scratch */
    uint32_t nodes_cap;
};
void backfill_init(struct backfill *b, struct profile *p, const struct backfill_policy *policy);
void backfill_fini(struct backfill *b); /* the profile stays */
/* What gangs ask for, the largest pod first; copied. Returns its number. */
uint32_t backfill_shape(struct backfill *b, const int64_t *pods, uint32_t pods_n);
void backfill_add(struct backfill *b, const struct backfill_gang *g);
void backfill_take_out(struct backfill *b, uint64_t key, uint32_t owner); /* no-op when it is not in line */
/* It has started, and holds what the profile says from now on: places in the order of its shape's pods. */
typedef void backfill_started_fn(void *arg, const struct backfill_gang *g, const uint32_t *nodes);
void backfill_turn(struct backfill *b, int64_t now_ms, backfill_started_fn *started, void *arg);
/* Whoever ends gives back what he holds; nodes as he was told them. */
void backfill_ended(struct backfill *b, const struct backfill_gang *g, const uint32_t *nodes);

#endif
