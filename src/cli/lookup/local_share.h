/* local_share.h - admission fair sharing, as the status of LocalQueues tells it: what each has used of late, by its weight */
#ifndef CLI_LOOKUP_LOCAL_SHARE_H
#define CLI_LOOKUP_LOCAL_SHARE_H
#include "base/arena.h"
#include "wire/json.h"

#define LOCAL_SHARE_UNKNOWN (-1)
/* In which the Workload stands; NULL: it is not among them. */
const struct json *local_queue_of(const struct json *workload, const struct json *local_queues);
/* status.fairSharing.weightedShare of the Workload's LocalQueue, in thousandths; LOCAL_SHARE_UNKNOWN: nobody counts it. */
int64_t local_share_of(const struct json *workload, const struct json *local_queues);
/* Does the ClusterQueue go by it? */
bool local_shares_count(const struct json *cluster_queue);
/* [{"localQueue": "ns/name", "weightedShare"}]: the Workload's own, then those of the same ClusterQueue that have used less and in which
 * others wait. NULL: there are none of these. */
struct json *local_shares_ahead(struct arena *a, const struct json *workload, const struct json *local_queues, const char *cluster_queue);
/* A line for each that goes first: "LocalQueue ns/b goes first: it has used 0 of late, LocalQueue ns/a 3900". */
const char *local_shares_text(struct arena *a, const struct json *shares);

#endif
