/* scale_up.h - the admission check of controller capstan.dev/scale-up: a gang may start on machines that are not there yet
 *
 *   quota reserved -> Ready, in the same write -> admitted without places -> its pods are unschedulable, all at once: an autoscaler that
 *   looks for such pods (Karpenter, Cluster Autoscaler) buys for all of them -> bound whole when the last place is there
 *   a set that has to stand in one zone: its pods are held to one of which machines for all of them can come, before they are asked for
 *                                             -> not in time: Retry, which takes the quota back; it comes again for the next flavor of its
 *                                                queue (checks/passed_over.h), or after a pause
 *
 * Its annotation capstan.dev/scale-up-timeout says how long machines may take (15m); where none can come at all it gives up at once. Who
 * stands somewhere when the time is over has got them, and its entry says so from then on: what becomes of nodes later is no matter of this
 * check.
 * Pure: JSON in, JSON out, times are arguments.
 */
#ifndef SCHED_CHECKS_SCALE_UP_H
#define SCHED_CHECKS_SCALE_UP_H
#include "sched/checks/queue_checks.h"

/* What is wrong with such a check; NULL: nothing. */
const char *scale_up_wrong(struct arena *a, const struct json *check);

/* What nodes that are held for the Workload say: "namespace.name", or where that is too long its uid. */
const char *scale_up_holder(struct arena *a, const struct json *workload);
/* It is admitted, such a check has said that its machines have time to come, and that time is not over. */
bool scale_up_waits(struct arena *a, const struct json *workload);

struct scale_up {
    const struct json *workload;
    bool stands;          /* some of its pods have places: a gang has them whole or not at all at first */
    int64_t bound_ms;     /* wall time when one was bound last; 0 = not known */
    bool is_settled;      /* all that is known of its pods is counted */
    const char *hopeless; /* why no machine that can be bought would hold its pods, as it was given flavors; NULL: some may */
    int64_t now_ms;
    const struct json *queue; /* the ClusterQueue that it has quota of; NULL: not known */
    check_finder *find, *find_flavor;
    void *ctx;
    /* Where all pods of a set have to stand in one domain (of topologyRequest.required): which one may hold them, none of left_out; NULL:
     * nothing is known. No function: nobody is asked. */
    const char *(*domain)(void *ctx, const char *key, const struct json *left_out, struct arena *a);
    void *domain_ctx;
};
struct scale_up_said {
    struct json *list;        /* as status.admissionChecks should be; NULL: it is so already */
    struct json *passed_over; /* what passed_over.h says from now on, when is_retried; NULL: nothing */
    bool is_retried;          /* machines did not come */
    int64_t again_ms;         /* in so many ms there may be more to say; 0: nothing will */
};
/* LIST (array of entries, as status.admissionChecks) as such checks would have it of a Workload with quota. */
struct scale_up_said scale_up_followed(struct arena *a, const struct scale_up *x, const struct json *list);

#endif
