/* job_flow.h - JobFlows and JobTemplates of flow.volcano.sh: jobs that are made when those before them have completed
 *
 * LEVEL  each pass reads the flow, its templates and its jobs, and makes what is due under names that are given: made twice is made once.
 */
#ifndef JOBS_JOB_FLOW_H
#define JOBS_JOB_FLOW_H
#include "jobs/controllers.h"

struct job_flows;
/* vcjobs: the Volcano Jobs, of which job_flows_job is told by whoever watches them. */
struct job_flows *job_flows_new(struct jobs *j, struct kube_cache *vcjobs);
void job_flows_free(struct job_flows *f); /* NULL-safe */
void job_flows_job(struct job_flows *f, enum kube_event event, const char *key, const struct json *job);
void job_flows_synced(struct job_flows *f); /* the jobs are read */

#endif
