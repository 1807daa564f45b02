/* child_jobs.h - the batch Jobs of a JobSet, or of a TrainJob, which is run as one; for the embedded cluster
 *
 *     replicatedJobs ──▶ Jobs <owner>-<replicatedJob>-<i>, behind a headless Service, those that depend on others after them
 *
 * SHAPE  nothing is kept: the Jobs that are there, and the owner, say what is to be done.
 * SOURCE jobset v1alpha2, for names, labels and when what depends on others may start.
 */
#ifndef JOBS_CHILD_JOBS_H
#define JOBS_CHILD_JOBS_H
#include "kube/cache.h"
#include "kube/workqueue.h"
#include "wire/json.h"

#define CHILD_SET_LABEL "jobset.sigs.k8s.io/jobset-name"
#define CHILD_EXCLUSIVE "alpha.jobset.sigs.k8s.io/exclusive-topology"
#define CHILD_BY_SELECTOR "alpha.jobset.sigs.k8s.io/node-selector"
#define CHILD_ATTEMPT_LABEL "jobset.sigs.k8s.io/restart-attempt"

struct jobs;
struct replicated_job {
    const char *name, *group;      /* of its own, and of those that belong together ("": of none) */
    int64_t replicas, count;       /* jobs of it (LIMIT: child_jobs_bound), pods that one runs at a time */
    bool is_initializer;           /* of a TrainJob: it fetches what is trained with */
    struct json *job_spec;         /* JobSpec; without suspend */
    const struct json *labels, *annotations; /* of the Jobs; NULL: none */
    const struct json *depends_on; /* array or NULL */
    const struct json **children;  /* by index, of whatever attempt; NULL: is not there (child_jobs_read) */
};
struct child_jobs {
    struct jobs *all;               /* for events of the owner */
    struct work *work;
    const struct kube_cache *cache; /* Jobs that have the label */
    const struct json *owner;
    const char *api_version, *kind; /* of the owner */
    const char *subdomain;          /* NULL: pods get no host names */
    const char *coordinator;        /* where it is found; NULL: there is none */
    const struct json *claims;      /* made before the first Job (jobset_claims); NULL: none */
    bool hides_unready;             /* the Service shows only pods that are ready */
    bool in_order;                  /* each begins when those before it are ready */
    int64_t attempt;                /* Jobs of an earlier one are in the way */
    struct replicated_job *jobs;
    uint32_t n;
};
void child_jobs_read(struct child_jobs *c); /* which Jobs are there; before all that is below */
bool child_jobs_any(const struct child_jobs *c); /* one of them is there */
/* A Job with the label was seen, or has gone: its owner of this kind is looked at. KEY "ns/name" of the Job. */
void child_jobs_seen(struct workqueue *owners, const char *kind, const char *key, struct bytes object);
/* Those of this attempt that have failed and are not about to go. Returns how many. */
struct child_failure {
    const struct json *job;
    const struct replicated_job *of;
};
uint32_t child_jobs_failures(const struct child_jobs *c, struct child_failure **ret_failures);
/* How many of them are in which state. */
struct child_counts {
    int64_t ready, succeeded, failed, active, suspended;
};
int64_t child_jobs_bound(int64_t replicas); /* no more than LIMIT_GANG_MEMBERS jobs, whatever is asked for */
const struct json *child_jobs_get(const struct child_jobs *c, const struct replicated_job *job, int64_t i); /* of this attempt, or NULL */
struct child_counts child_jobs_count(const struct child_jobs *c, const struct replicated_job *job);
struct json *child_jobs_status(struct arena *a, const struct replicated_job *job, const struct child_counts *n);
/* Those that may start and are not there; some hundreds a pass: their coming brings the next. True: there were some. What the server
 * refuses is told by an event JobCreationFailed of the owner, and tried again. */
bool child_jobs_make(const struct child_jobs *c);
/* Those that run get as many pods as is said now, where all of their indexes run at once. */
void child_jobs_resize(const struct child_jobs *c);
/* Those that have not ended are deleted: they are made again with what the next start puts in. */
void child_jobs_stop(const struct child_jobs *c);
void child_jobs_delete(const struct child_jobs *c, const struct json *child);
/* Those of earlier attempts are deleted. True: there are some. */
bool child_jobs_clear(const struct child_jobs *c);

#endif
