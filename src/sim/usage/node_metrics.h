/* node_metrics.h - the agent's page of simulated nodes: GET /api/v1/nodes/NODE:9400/proxy/metrics, as real API servers forward it
 *
 * A request measures the node and is answered with that sample. Counters of pods begin with the first request, and run in wall
 * time whatever `speed` is. Requests for nodes with an agent of their own are forwarded to that.
 */
#ifndef SIM_NODE_METRICS_H
#define SIM_NODE_METRICS_H
#include "apiserver/apiserver.h"
#include "sim/usage/node_measure.h"

struct node_metrics;
/* Registers its path at the server. ORDER  freed after `measure`, after which the server must not get requests any more. */
struct node_metrics *node_metrics_new(struct loop *l, struct apiserver *s, struct kubelets *k, struct node_measure *measure);
void node_metrics_free(struct node_metrics *m); /* NULL-safe; who waits gets 503 */

#endif
