/* provisioning.h - the admission checks of controller kueue.x-k8s.io/provisioning-request: an autoscaler is asked for nodes
 *
 *   quota reserved -> PodTemplates -> ProvisioningRequest -> what the autoscaler says -> state of the check
 *
 * What is asked for is deleted when the Workload is over or evicted; with the Workload itself it goes by its ownerReferences.
 */
#ifndef JOBS_PROVISIONING_H
#define JOBS_PROVISIONING_H
#include "jobs/controllers.h"

struct provisioning;
struct provisioning *provisioning_new(struct jobs *j);
void provisioning_free(struct provisioning *p); /* NULL-safe */
/* A Workload was seen or changed. */
void provisioning_workload(struct provisioning *p, const struct json *workload, const char *key);

#endif
