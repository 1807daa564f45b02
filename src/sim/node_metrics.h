/* node_metrics.h - the agent's page of simulated nodes: GET /api/v1/nodes/NODE:9400/proxy/metrics, as real API servers forward it
 *
 *     running pods (usage_sim) ─▶ processes, activity ─▶ driver_model ─▶ exporter's collector ─▶ exporter's page
 *                              └▶ owners of slots ─▶ an inventory of its own ─▲
 *
 * A node that nobody asks for costs nothing; from the first request on it is measured every 15 s and whenever somebody asks. Counters of
 * pods begin then, and run in wall time whatever `speed` is. Nodes with an agent of their own answer 404: their agent has a page itself.
 */
#ifndef SIM_NODE_METRICS_H
#define SIM_NODE_METRICS_H
#include "apiserver/apiserver.h"
#include "sim/kubelets.h"
#include "sim/usage_sim.h"

struct node_metrics;
/* Registers its path at the server. ORDER  freed before `k` and `u`, after which the server must not get requests any more. */
struct node_metrics *node_metrics_new(struct loop *l, struct apiserver *s, struct kubelets *k, struct usage_sim *u);
void node_metrics_free(struct node_metrics *m); /* NULL-safe; who waits gets 503 */

#endif
