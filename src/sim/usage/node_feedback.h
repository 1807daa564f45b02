/* node_feedback.h - what the scheduler should know of simulated nodes: the agents' annotation, from the same samples and rules
 *
 *     node_measure ─▶ exporter/push/feedback (one a node) ─▶ PATCH annotation capstan.dev/gpu-feedback
 *
 * Nodes that never had a pod with devices have none: nothing is known of them but that they are idle, and thousands of them would be
 * written for that. A write that is lost is made good by the next.
 */
#ifndef SIM_NODE_FEEDBACK_H
#define SIM_NODE_FEEDBACK_H
#include "kube/client.h"
#include "sim/usage/node_measure.h"

struct node_feedback;
struct node_feedback *node_feedback_new(struct loop *l, struct kube_client *c, struct node_measure *measure);
void node_feedback_free(struct node_feedback *f); /* NULL-safe. ORDER  after `measure` */

#endif
