/* kueue_served.h - inside kueue_kinds.c and kueue_owners.c: the jobs of each kind as they are known, and whose parts they are */
#ifndef JOBS_KUEUE_SERVED_H
#define JOBS_KUEUE_SERVED_H
#include "jobs/kueue/kueue_kind.h"

#define KUEUE_ANCESTORS_MOST 10 /* SOURCE Kueue */

struct served {
    struct kueue_kinds *all;
    const struct queued_kind *kind;
    const struct kueue_kind *calls;
    struct kube_cache *cache; /* marked by "ns/workload" that the job names; by the uid of the queued job that controls it */
    struct workqueue *queue;
    struct map *missed;      /* by key: hash of why its pod sets cannot be said, as an Event has told */
    struct map *still;       /* keys of jobs that were suspended when they were looked at last */
};
struct kueue_kinds {
    struct jobs *jobs;
    struct map *parents; /* uids of jobs that control others, as those others say; those whose Workload is waited for */
    struct map *strayed; /* keys of jobs that a Workload says it is of, and is not theirs */
    struct arena *scratch;
    struct served served[QUEUED_KINDS_N];
    uint32_t served_n;
};

const struct served *kueue_served_named(const struct kueue_kinds *k, const char *kind); /* NULL: it is not queued here */
/* The job of this name, where it is that of this uid; else NULL. */
const struct json *kueue_served_job(const struct served *s, const char *ns, const char *name, const char *uid, struct arena *a);
/* The job that controls this one, and its kind; NULL where it is not known, *ret_served too where it is of no kind that is queued. */
const struct json *kueue_parent_of(const struct kueue_kinds *k, struct arena *a, const struct json *job, const struct served **ret_served);
const char *kueue_job_workload_name(const struct queued_kind *k, struct arena *a, const struct json *job);
/* Of Jobs and RayClusters, which others make, too: does it name a queue, or is it of a job of a kind that is queued, and need not? Read
 * from its text: of all the Jobs of a cluster hardly one may be. */
bool kueue_owners_keep(struct bytes object);

#endif
