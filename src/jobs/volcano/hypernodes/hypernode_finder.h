/* hypernode_finder.h - HyperNodes of labels are made, followed and taken away, as Volcano's hypernode controller does
 *
 * Where ConfigMap volcano-system/volcano-controller-configmap asks for it (label_hypernodes.h): what its labels make of the nodes is
 * written as HyperNodes with the label volcano.sh/network-topology-source: label; those with that label which they do not make are deleted.
 * Where it does not ask, or asks no more, all stay. What is wrong with it is told by an Event HyperNodesIgnored. Who counts their nodes and
 * makes a topology of them: sched/hypernode_source.c.
 *
 * COST   without such a ConfigMap one watch. Else of each node the labels that count, and a pass over all a moment after one has changed.
 */
#ifndef JOBS_HYPERNODE_FINDER_H
#define JOBS_HYPERNODE_FINDER_H
#include "jobs/controllers.h"

struct hypernode_finder;
struct hypernode_finder *hypernode_finder_new(struct jobs *j);
void hypernode_finder_free(struct hypernode_finder *x); /* NULL-safe */

#endif
