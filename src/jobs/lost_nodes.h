/* lost_nodes.h - removes pods from nodes that are gone, or never were, taints nodes that are not ready (embedded cluster only)
 *
 * A deleted Node takes its kubelet with it, and nobody would ever end its pods: their jobs would wait for them for ever.
 * SOURCE Kubernetes' pod garbage collector: pods of a node that stays away, and that are not over, fail with condition DisruptionTarget,
 *        reason DeletionByPodGC; then they are deleted without grace.
 *        Its node life cycle: condition Ready=False brings taint node.kubernetes.io/not-ready, Ready=Unknown
 *        node.kubernetes.io/unreachable, each with effects NoSchedule and NoExecute; the latter ends pods after their tolerationSeconds
 *        (taint_eviction.h).
 */
#ifndef JOBS_LOST_NODES_H
#define JOBS_LOST_NODES_H
#include "kube/client.h"
#include "wire/json.h"

struct lost_nodes;
struct lost_nodes *lost_nodes_new(struct kube_client *c);
/* The taints of the node as its condition Ready wants them; NULL = they are so. now_ms: for timeAdded. */
struct json *lost_nodes_taints(struct arena *a, const struct json *node, int64_t now_ms);
/* Somebody names it: is there such a node? */
void lost_nodes_look(struct lost_nodes *o, const char *node);
void lost_nodes_free(struct lost_nodes *o); /* NULL-safe */

#endif
