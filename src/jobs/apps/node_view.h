/* node_view.h - what decides whether a DaemonSet's pod goes to a node: labels and taints of all nodes, and a judge
 *
 * SHAPE  name -> the few parts of the Node that matter, as text. WHY  whole Nodes are some 20 KB each, mostly annotations and status.
 */
#ifndef JOBS_APPS_NODE_VIEW_H
#define JOBS_APPS_NODE_VIEW_H
#include "jobs/apps/daemon_set_plan.h"
#include "kube/watch.h"

struct node_view;
/* on_change: some node came, went or was changed in what counts here. on_synced: all are known. */
struct node_view *node_view_new(struct kube_client *c, void (*on_change)(void *arg), void (*on_synced)(void *arg), void *arg);
void node_view_free(struct node_view *v); /* NULL-safe */
bool node_view_synced(const struct node_view *v);
/* All nodes by name, judged for a pod of this template (with the tolerations that it will have). */
uint32_t node_view_judge(const struct node_view *v, struct arena *a, const struct json *template, struct daemon_node **ret_nodes);

#endif
