/* pace.h - how often an object is written whose figures change all the time
 *
 * LIMIT  once a second; from the sixth write in a row on every five seconds, or when the figures have rested for a second; after ten quiet
 *        seconds a new row begins. 4096 are remembered.
 * UNIT   monotonic milliseconds. Pure: time is an argument.
 */
#ifndef SCHED_PACE_H
#define SCHED_PACE_H
#include <stdint.h>

enum { PACE_MS = 1000, PACE_SLOW_MS = 5000, PACE_ROW = 5, PACE_QUIET_MS = 10000, PACE_REST_MS = 1000 };

struct pace;
struct pace *pace_new(void);
void pace_free(struct pace *p);
int64_t pace_wait_ms(struct pace *p, const char *key, int64_t now_ms); /* until it may be written; 0: now */
/* The same of figures that hash to this: sooner when they are still the same after a while. Asked again then. */
int64_t pace_rest_ms(struct pace *p, const char *key, uint64_t figures, int64_t now_ms);
void pace_written(struct pace *p, const char *key, int64_t now_ms);

#endif
