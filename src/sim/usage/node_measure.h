/* node_measure.h - the exporter's collector of each simulated node that is measured: one that was asked for, or has pods with devices
 *
 *     running pods (usage_sim) ─▶ processes, activity ─▶ driver_model ─▶ exporter's collector ─▶ sample ─▶ listeners
 *                              └▶ owners of slots ─▶ an inventory of its own ─▲
 *
 * A node is measured soon after pods with devices came or went there, 15 s later, and every 150 s while they run. From when somebody asked
 * for it, or a GPU had an XID, every 15 s (wall time) as well, and its counters begin then; they are dropped when nobody has asked for ten
 * minutes and its faults, if any, have been repaired for as long. Others cost nothing. Nodes with an agent of their own are measured by
 * that.
 * LIMIT  a hundred nodes a second are looked at because of their pods: thousands that get pods at once are spread over the period.
 */
#ifndef SIM_NODE_MEASURE_H
#define SIM_NODE_MEASURE_H
#include "exporter/pages/page.h"
#include "sim/kubelet/kubelets.h"
#include "sim/usage/usage_sim.h"

#define NODE_MEASURE_PERIOD_MS 15000

struct node_measure;
/* ORDER  freed before `k` and `u`. */
struct node_measure *node_measure_new(struct loop *l, struct kubelets *k, struct usage_sim *u);
void node_measure_free(struct node_measure *m); /* NULL-safe; listeners hear nothing of it */

struct node_measure_listener {
    void (*sampled)(void *arg, const char *node, const struct sample *s);
    void (*gone)(void *arg, const char *node); /* its devices go: a sample that was asked for does not come */
    void *arg;
};
void node_measure_listen(struct node_measure *m, const struct node_measure_listener *listener); /* copied; two at most */
/* Count on this node from now on; `sampled` comes in a later turn. -E_AGAIN: its GPUs are still being made; -E_NOTFOUND: no simulated GPU
 * node of this name. */
int node_measure_now(struct node_measure *m, const char *node);
/* The page of a node that was sampled; borrowed until its next sample or page. */
struct bytes node_measure_page(struct node_measure *m, const char *node, bool openmetrics);

#endif
