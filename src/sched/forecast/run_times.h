/* run_times.h - how long jobs ran, remembered by what they are called, to say how long others like them will
 *
 * SHAPE  of each name the last RUN_TIMES_EACH runs that succeeded.
 * LIMIT  RUN_TIMES_NAMES names; the one that was used longest ago goes for a new one. Nothing is kept across a restart.
 * UNIT   milliseconds. Pure.
 */
#ifndef SCHED_RUN_TIMES_H
#define SCHED_RUN_TIMES_H
#include "base/arena.h"

enum { RUN_TIMES_EACH = 16, RUN_TIMES_NAMES = 10000 };

struct run_times;
struct run_times *run_times_new(void);
void run_times_free(struct run_times *t); /* NULL-safe */
void run_times_add(struct run_times *t, const char *name, int64_t run_ms);
/* How long one of that name will run on that has run for elapsed_ms (0: that has not begun): what the median of those runs had left that
 * took longer; where none did, as long again as it has run. 0: nothing is known. */
int64_t run_times_left_ms(struct run_times *t, const char *name, int64_t elapsed_ms);

int64_t run_times_longest_ms(const struct run_times *t, const char *name); /* of those remembered; 0: none is */

/* "ns/stem" of "ns/name": the name without what numbers runs of one thing or was made up for it: "train-7", "train-x2v9k", "nightly-28391040" and
 * "sweep-3-q7wzk" are runs of train, nightly and sweep. In the arena. */
char *run_times_name(struct arena *a, const char *key);

#endif
