/* clock.h - times as numbers and as RFC 3339 text
 *
 * UNIT  wall times are int64 milliseconds (or microseconds where said) since 1970-01-01T00:00:00Z; monotonic times never mix with them.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include "base/amount.h"
#include "base/bytes.h"

int64_t clock_wall_us(void);      /* CLOCK_REALTIME; only loop/ and cli/ may call it, everybody else is told the time */
int64_t clock_monotonic_us(void); /* likewise */
int64_t clock_monotonic_ns(void); /* likewise, and sim/trace: how long a decision takes */
int64_t clock_thread_ns(void);    /* that the processor has worked for this thread; the same */
struct timespec clock_monotonic_after(int64_t ms); /* CLOCK_MONOTONIC in so long: for threads that wait with a limit */

#define TIME_TEXT_MAX 40
/* "2026-01-01T00:00:00Z" (metav1.Time). Returns text. */
char *time_format(char text[TIME_TEXT_MAX], int64_t wall_ms);
/* "2026-01-01T00:00:00.000000Z" (metav1.MicroTime). */
char *time_format_micro(char text[TIME_TEXT_MAX], int64_t wall_us);
/* RFC 3339 with optional fraction and any offset. False when malformed or outside years 1..9999. */
bool time_parse(struct bytes text, int64_t *ret_wall_ms);
/* So many seconds later. WHY  objects name as many as they like: what is more than there are milliseconds for never comes. */
static inline int64_t time_after_s(int64_t ms, int64_t seconds)
{
    return amount_plus(ms, amount_times(seconds, 1000));
}
/* kubectl's short age: 5s, 2m3s, 61m, 5h2m, 3d, 2y10d. Negative gives "0s". */
char *time_age(char text[TIME_TEXT_MAX], int64_t age_ms);
/* Go duration ("1h30m", "1.5s", "300ms"). */
bool duration_parse(struct bytes text, int64_t *ret_ms);

#endif
