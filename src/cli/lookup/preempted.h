/* preempted.h - for whom a Workload was preempted, and why */
#ifndef CLI_LOOKUP_PREEMPTED_H
#define CLI_LOOKUP_PREEMPTED_H
#include "base/arena.h"
#include "wire/json.h"

/* {"reason", "message", "namespace", "name"}: the names where the Workload that took its place is among `workloads`, all that can be read.
 * NULL: it was not preempted, or has started again since. */
struct json *preempted_of(struct arena *a, const struct json *workload, const struct json *workloads);
/* "preempted for Workload ns/name (InClusterQueue)" */
const char *preempted_text(struct arena *a, const struct json *preempted);

#endif
