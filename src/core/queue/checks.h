/* checks.h - admission checks: what stands between a gang's quota and its start
 *
 * SOURCE Kueue, two phases: quota is reserved first, so that whoever answers a check knows what for; its job starts when all are ready.
 */
#ifndef CORE_CHECKS_H
#define CORE_CHECKS_H
#include "core/state/model.h"

/* Does the queue, NULL for none, demand a check of a gang that is given these flavors? */
bool checks_demanded(const struct queue *q, const struct flavor_choice *choices, uint32_t choices_n);
/* Does it demand some of those alone who are given certain flavors? */
bool checks_by_flavor(const struct queue *q);
/* The gang holds quota: are all ready that are demanded of it? Where its queue is not known, all that its object lists. */
bool checks_ready(const struct gang *g);
/* Which are not, in the arena. */
struct reason *checks_why(const struct gang *g, struct arena *a);
/* The first that wants the gang to give its quota back and to come again later; 0: none. */
name_id checks_retried(const struct gang *g);

#endif
