/* starts.h - when those that wait start, as things are: told with the reason why they wait
 *
 *   somebody waits ──now and then──▶ a copy of this process ──▶ its state goes on (core/time/forecast.h) ──▶ starts ──▶ trees of reasons
 *
 * WHY a copy: the state is used up by it, and here nobody waits for it meanwhile. It reads the objects, too: what limits their time.
 * LIMIT  as in forecast.h; and what nothing is known of never ends, nor does what starts behind it.
 */
#ifndef SCHED_STARTS_H
#define SCHED_STARTS_H
#include "core/time/forecast.h"

struct scheduler;
struct starts;
/* Looks every period_ms, more rarely where nothing is found or it takes long, while the scheduler leads and something waits. NULL: in
 * virtual time, or period 0. Free it before the scheduler. */
struct starts *starts_new(struct scheduler *s, int64_t period_ms);
void starts_free(struct starts *t); /* NULL-safe */

/* When this gang starts, which no object may name yet; 0: not known. basis: bits of enum end_basis. The scheduler's state is used up. */
void starts_find(struct scheduler *s, name_id gang, int64_t *ret_start_ms, uint8_t *ret_basis);
/* The sooner of what its limit of time leaves and what earlier runs tell, in milliseconds; 0: not known. */
void starts_expect(struct forecast_job *job, int64_t limit_ms, int64_t usual_ms);
/* Of all gangs, and of those in `more` that no object names yet, which say how long they will run. Returns how many; in the arena. The
 * scheduler's state is used up. */
uint32_t starts_all(struct scheduler *s, const struct forecast_job *more, uint32_t more_n, struct arena *a, struct forecast_job **ret_jobs);

#endif
