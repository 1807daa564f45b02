/* time_zone.h - what the clock on the wall shows in a place, from the system's time zone files
 *
 * SHAPE  the moments at which the difference from UTC changes, and a rule for the years after the last of them.
 * UNIT   seconds; offsets are those of the wall from UTC, east is positive.
 * SOURCE RFC 8536 (TZif), POSIX TZ for the rule. Versions 2 and later; files of version 1 end in 2037 and are not made any more.
 * LIMIT  a file has at most 1 MiB.
 */
#ifndef JOBS_TIME_ZONE_H
#define JOBS_TIME_ZONE_H
#include <stdbool.h>
#include <stdint.h>
#include "base/bytes.h"
#include "base/err.h"

struct time_zone;
/* "Europe/Berlin"; -E_NOTFOUND, -E_INVALID. "" and "UTC" need no file. */
int time_zone_load(const char *name, struct time_zone **ret_zone, struct err *e);
int time_zone_parse(struct bytes file, struct time_zone **ret_zone, struct err *e);
void time_zone_free(struct time_zone *z); /* NULL-safe */
int32_t time_zone_offset(const struct time_zone *z, int64_t utc_s);

#endif
