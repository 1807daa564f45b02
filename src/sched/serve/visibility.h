/* visibility.h - who waits in a queue, and in which place: the answers of visibility.kueue.x-k8s.io, for whichever server serves them
 *
 * SHAPE  {"kind":"PendingWorkloadsSummary","items":[{"metadata":{...},"priority":0,"localQueueName":"lq","positionInClusterQueue":0,
 *        "positionInLocalQueue":0}]}, in the order in which the core tries them.
 * LIMIT  1000 items, or as many as `limit` says, at most LIMIT_PENDING_ITEMS; places are counted from 0, over all that wait.
 * SOURCE Kueue's visibility API, v1beta1 and v1beta2, which are the same but for their name.
 */
#ifndef SCHED_VISIBILITY_H
#define SCHED_VISIBILITY_H
#include "net/http.h"
#include "sched/sched.h"

#define VISIBILITY_GROUP "visibility.kueue.x-k8s.io"
struct visibility_question {
    const char *version;
    const char *ns, *name; /* of a LocalQueue; ns "": of a ClusterQueue */
    int64_t limit, offset;
};
/* limit and offset of the query. -E_INVALID: one of them is no number. */
int visibility_query(const struct http_request *r, struct visibility_question *q, struct err *e);
/* The summary, appended. -E_NOTFOUND; -E_AGAIN: not everything has been read yet. */
int visibility_answer(const struct scheduler *s, struct arena *a, const struct visibility_question *q, struct buf *out, struct err *e);

#endif
