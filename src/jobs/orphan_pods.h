/* orphan_pods.h - removes pods from nodes that are gone (embedded cluster only)
 *
 * A deleted Node takes its kubelet with it, and nobody would ever end its pods: their jobs would wait for them for ever.
 * SOURCE Kubernetes' pod garbage collector: pods of a node that stays away are deleted without grace.
 */
#ifndef JOBS_ORPHAN_PODS_H
#define JOBS_ORPHAN_PODS_H
#include "kube/client.h"

struct orphan_pods;
struct orphan_pods *orphan_pods_new(struct kube_client *c);
void orphan_pods_free(struct orphan_pods *o); /* NULL-safe */

#endif
