/* cron_schedule.h - five-field cron times
 *
 * SHAPE  minute hour day-of-month month day-of-week; lists, ranges, steps, names (jan, mon), @hourly @daily @midnight @weekly @monthly
 *        @yearly @annually.
 * UNIT   minutes. Day of month and day of week are or-ed when both are restricted, as in cron(8).
 */
#ifndef JOBS_CRON_SCHEDULE_H
#define JOBS_CRON_SCHEDULE_H
#include <stdbool.h>
#include <stdint.h>

struct cron_schedule {
    uint64_t minutes, hours, days, months, weekdays; /* bits */
    bool any_day, any_weekday;
};
bool cron_schedule_parse(const char *text, struct cron_schedule *ret_schedule);
/* First time after `after_ms` (wall), or -1 within five years. zone: where the fields are told; NULL: UTC. What the clock there skips does
 * not come, what it shows twice comes twice. */
struct time_zone;
int64_t cron_schedule_next(const struct cron_schedule *s, const struct time_zone *zone, int64_t after_ms);

#endif
