/* lws_plan.h - how far a LeaderWorkerSet may be updated, and how many groups it has meanwhile; for the embedded cluster
 *
 *     groups  0 1 2 3 | 4 5        partition 4: those from there on have the new template
 *             <--------><-->       replicas 4, and up to maxSurge more while it is updated
 *
 * Pure.
 * SOURCE lws 0.10: rollingUpdateParameters.
 */
#ifndef JOBS_LWS_PLAN_H
#define JOBS_LWS_PLAN_H
#include <stdbool.h>
#include <stdint.h>

struct lws_group {
    bool ready, updated;
};
struct lws_rollout {
    int64_t replicas, most_surge, most_unavailable; /* wanted; none below 0 */
    int64_t least;                  /* groups below it are not updated */
    bool is_there, is_new;          /* the leaders' StatefulSet; with another template than it has */
    int64_t now, partition, asked;  /* of that: replicas, partition, for how many replicas it was made so */
    const struct lws_group *groups; /* by index; as many as `now` */
};
/* UNIT  groups. */
void lws_plan(const struct lws_rollout *r, int64_t *ret_partition, int64_t *ret_replicas);

#endif
