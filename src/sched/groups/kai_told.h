/* kai_told.h - why a PodGroup of KAI's waits, as its own scheduler says it
 *
 *   status.schedulingConditions   one, UnschedulableOnNodePool, while it waits; with reasons[] where its Queue is in the way
 *   an Event NotReady             while it waits for pods that do not exist
 *
 * WHY    What watches KAI's PodGroups reads these; status.phase is no longer in its definition.
 * SOURCE KAI-Scheduler pkg/apis/scheduling/v2alpha2, pkg/scheduler/cache/status_updater.
 */
#ifndef SCHED_KAI_TOLD_H
#define SCHED_KAI_TOLD_H
#include "wire/json.h"

/* What it waits for: a sentence, and the tree of reasons as JSON. */
struct kai_waits {
    const char *text, *tree;
};
/* In the group's status, as it will be. waits: NULL, it does not. now_ms: wall time. */
void kai_told_set(struct arena *a, const struct json *group, struct json *status, const struct kai_waits *waits, int64_t now_ms);
/* Of the Event; in the arena. */
const char *kai_told_not_ready(struct arena *a, int64_t needed, int64_t exist, int64_t gated);

#endif
