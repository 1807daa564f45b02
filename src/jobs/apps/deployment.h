/* deployment.h - Deployments of the embedded cluster: ReplicaSets by template, rolled over without going below what is allowed
 *
 * SOURCE apps/v1 API reference; a ReplicaSet's name is <deployment>-<hash of the template>; its annotation
 *        deployment.kubernetes.io/revision counts up, and a template that comes back (kubectl rollout undo) takes its old ReplicaSet with a
 *        new revision.
 */
#ifndef JOBS_DEPLOYMENT_H
#define JOBS_DEPLOYMENT_H
#include "kube/client.h"

struct deployments;
struct deployments *deployments_new(struct kube_client *c);
void deployments_free(struct deployments *d); /* NULL-safe */

#endif
