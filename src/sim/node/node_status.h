/* node_status.h - what a kubelet writes of its devices into the Node object: capacity and allocatable
 *
 * Read it, compare, patch only what differs; resources that are no longer offered stay at 0, as kubelets leave them. Beside these the MIG
 * instances, which a simulated node has to remember (sim/node/mig_memory.h). The rest of the object is the agent's to write.
 * ORDER  one exchange at a time; what changes meanwhile is written afterwards.
 */
#ifndef SIM_NODE_STATUS_H
#define SIM_NODE_STATUS_H
#include "agent/agent_feed.h"
#include "kube/client.h"

#define NODE_MIG_ANNOTATION "capstan.dev/simulated-mig" /* not there when no GPU is split, and the shape does not say that they are */

struct node_status;
/* off: nothing is offered; is looked at with each comparison. split: by the shape. */
struct node_status *node_status_new(struct kube_client *c, const struct agent *a, const char *node, const bool *off, bool split);
void node_status_free(struct node_status *p); /* NULL-safe */
void node_status_ask(struct node_status *p);  /* compare and write soon */
void node_status_seen(struct node_status *p, const struct json *node); /* the object as it is now: writes when others changed it */
/* Writes into a Node object what would be written to it. */
void node_status_describe(const struct agent *a, bool split, struct arena *m, struct json *node);

#endif
