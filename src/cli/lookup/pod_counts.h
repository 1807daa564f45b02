/* pod_counts.h - the pods of each job, counted from one list of pods
 *
 *   pod ──▶ its own uid · uid of its controller · its pod group of each maker ──▶ how many run, how many wait, since when
 */
#ifndef CLI_LOOKUP_POD_COUNTS_H
#define CLI_LOOKUP_POD_COUNTS_H
#include "cli/lookup/pod_group.h"

struct pod_count {
    int64_t all_n, running_n; /* pods that have not ended; of those in phase Running */
    int64_t waiting_n;        /* without a node */
    int64_t bound_ms;         /* wall: when the first one that is there had its node; 0 none */
    const char *message;      /* why the first one waits for its node, NULL none; stands in the list */
};

struct pod_counts;
struct pod_counts *pod_counts_new(void);
void pod_counts_free(struct pod_counts *p);
void pod_counts_add(struct pod_counts *p, const struct json *pod);
/* All 0 when there are none. */
struct pod_count pod_counts_of(const struct pod_counts *p, const char *uid); /* the pod's own, or its controller's */
struct pod_count pod_counts_of_group(const struct pod_counts *p, enum pod_group_maker maker, const char *ns, const char *name);
void pod_counts_sum(struct pod_count *sum, struct pod_count more);

#endif
