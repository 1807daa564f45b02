/* embedded.h - the controllers that a real cluster's controller manager brings, for the embedded cluster: batch Job, CronJob, Deployment,
 * ReplicaSet, StatefulSet, DaemonSet, Endpoints, taints that evict, nodes that are lost. They speak HTTP as all others do. */
#ifndef JOBS_EMBEDDED_H
#define JOBS_EMBEDDED_H
#include "kube/client.h"

struct embedded_controllers;
/* speed divides back-off and ttl times (sim/kubelet/kubelets.h); seed makes pod names. */
struct embedded_controllers *embedded_controllers_new(struct kube_client *c, double speed, uint64_t seed);
void embedded_controllers_look_at_node(struct embedded_controllers *e, const char *node); /* a pod names it; perhaps there is none */
void embedded_controllers_free(struct embedded_controllers *e); /* NULL-safe */

#endif
