/* preempted.h - for whom a Workload was preempted, and why */
#ifndef CLI_LOOKUP_PREEMPTED_H
#define CLI_LOOKUP_PREEMPTED_H
#include "base/arena.h"
#include "wire/json.h"

/* {"reason", "message", "namespace", "name"}: the names where the Workload that took its place is among `workloads`, all that can be read.
 * NULL: it was not preempted, or has started again since. */
struct json *preempted_of(struct arena *a, const struct json *workload, const struct json *workloads);
/* Was it for the shares of two ClusterQueues? Their names, as the paths in the message end: the preemptor's, then its own. */
bool preempted_by_shares(struct arena *a, const struct json *preempted, const char *ret_queues[2]);
/* What they are now; -1: not known. */
void preempted_add_share(struct arena *a, struct json *preempted, const char *queue, int64_t share);
/* "preempted for Workload ns/name (InClusterQueue)", "...; shares now: ClusterQueue blue 500, ClusterQueue red 500" */
const char *preempted_text(struct arena *a, const struct json *preempted);

#endif
