/* pod_counts.h - the pods of each job, counted while a list of pods goes by
 *
 *   pod ──▶ its own uid · uid of its controller · its pod group of each maker ──▶ how many run, how many wait, since when
 */
#ifndef CLI_LOOKUP_POD_COUNTS_H
#define CLI_LOOKUP_POD_COUNTS_H
#include "cli/lookup/accelerators.h"
#include "cli/lookup/pod_group.h"

struct pod_count {
    int64_t all_n, running_n; /* pods that have not ended; of those in phase Running */
    int64_t waiting_n;        /* without a node */
    int64_t ended_n, failed_n; /* pods that have ended; of those in phase Failed */
    int64_t bound_ms;         /* wall: when the first one that is there had its node; 0 none */
    struct accelerators asked; /* that those ask for which have not ended */
    int64_t priority;         /* the highest; meaningless where all_n is 0 */
    const char *message;      /* why the first one waits for its node, NULL none */
    const char *user;         /* whose the first one is that says so, NULL none */
    struct json *nodes;       /* names of the nodes that they have, each once, as keys; NULL none */
};

struct pod_counts;
struct pod_counts *pod_counts_new(void);
void pod_counts_free(struct pod_counts *p);
void pod_counts_add(struct pod_counts *p, const struct json *pod); /* keeps nothing of the tree */
/* All 0 when there are none. Whoever asks has told of these pods: */
struct pod_count pod_counts_of(struct pod_counts *p, const char *uid); /* the pod's own, or its controller's */
struct pod_count pod_counts_of_group(struct pod_counts *p, enum pod_group_maker maker, const char *ns, const char *name);
struct pod_count pod_counts_one(const struct pod_counts *p, const char *uid); /* of this pod alone; tells of nothing */
/* Whether somebody asked for a count that has the pod of this uid in it. */
bool pod_counts_told(const struct pod_counts *p, const char *uid);
/* Texts of `more` are copied into a. */
void pod_counts_sum(struct arena *a, struct pod_count *sum, struct pod_count more);

#endif
