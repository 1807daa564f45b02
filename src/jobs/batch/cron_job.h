/* cron_job.h - CronJobs of the embedded cluster: a Job at each time of the schedule
 *
 * SOURCE batch/v1 API reference: schedule, suspend, concurrencyPolicy, startingDeadlineSeconds, history limits. A Job's name is
 *        <cronjob>-<scheduled time in minutes since 1970>. Times missed while nothing ran: only the last one is made up for.
 */
#ifndef JOBS_CRON_JOB_H
#define JOBS_CRON_JOB_H
#include "kube/client.h"

struct cron_jobs;
struct cron_jobs *cron_jobs_new(struct kube_client *c);
void cron_jobs_free(struct cron_jobs *c); /* NULL-safe */

#endif
