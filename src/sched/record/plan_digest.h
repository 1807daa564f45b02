/* plan_digest.h - did two schedulers decide the same? */
#ifndef SCHED_RECORD_PLAN_DIGEST_H
#define SCHED_RECORD_PLAN_DIGEST_H
#include "core/decide.h"

/* Of all that a plan says, by texts: the same on every machine. */
uint64_t plan_digest(const struct plan *plan, const struct intern *names, struct buf *scratch);

#endif
