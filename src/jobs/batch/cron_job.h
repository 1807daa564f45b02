/* cron_job.h - CronJobs, of batch and of batch.volcano.sh: make Jobs at the times of a schedule, keep a few finished ones
 *
 * SHAPE  one pass per CronJob: what is due, what is active, what is too old. A Job is called <cronjob>-<due time in minutes since 1970>, so
 *        it is made once; that a time has had its Job is written when the Job is seen. Of times missed only the last is made up for.
 *        timeZone: of the system's files (time_zone.h); a name that is not there is told by an event, and nothing is made.
 * SOURCE Kubernetes' CronJob controller; Volcano's does the same of its own kinds.
 */
#ifndef JOBS_CRON_JOB_H
#define JOBS_CRON_JOB_H
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/event.h"

enum cron_ended { CRON_RUNS, CRON_SUCCEEDED, CRON_FAILED, CRON_OVER }; /* OVER: in no history */
struct cron_kind {
    const char *group, *version;   /* of CronJobs and of their Jobs */
    const char *annotation;        /* of a Job: its due time */
    enum cron_ended (*ended)(const struct json *job, int64_t *ret_ended_ms); /* when it succeeded; 0 = not told */
};
extern const struct cron_kind cron_kind_batch;

struct cron_jobs;
/* jobs: the Jobs, of which cron_jobs_job is told by whoever watches them; NULL: they are watched here. */
struct cron_jobs *cron_jobs_new(struct kube_client *c, struct kube_recorder *events, const struct cron_kind *kind, struct kube_cache *jobs);
void cron_jobs_free(struct cron_jobs *c); /* NULL-safe */
void cron_jobs_job(struct cron_jobs *c, const char *key, const struct json *job);
void cron_jobs_synced(struct cron_jobs *c); /* the jobs are read */

#endif
