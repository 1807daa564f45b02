/* pace.h - how often an object is written whose figures change all the time
 *
 * LIMIT  once a second; from the sixth write in a row on every five seconds; after ten quiet seconds a new row begins. 4096 are remembered.
 * UNIT   monotonic milliseconds. Pure: time is an argument.
 */
#ifndef SCHED_PACE_H
#define SCHED_PACE_H
#include <stdint.h>

enum { PACE_MS = 1000, PACE_SLOW_MS = 5000, PACE_ROW = 5, PACE_QUIET_MS = 10000 };

struct pace;
struct pace *pace_new(void);
void pace_free(struct pace *p);
int64_t pace_wait_ms(struct pace *p, const char *key, int64_t now_ms); /* until it may be written; 0: now */
void pace_written(struct pace *p, const char *key, int64_t now_ms);

#endif
