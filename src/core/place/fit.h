/* fit.h - can a pod of this shape stand on this node? The filters, one by one
 *
 * ORDER  the first cause that applies is the one reported for a node, in the order of enum fit_cause; resources are all reported.
 * SOURCE kube-scheduler filters NodeUnschedulable, NodeName/NodeAffinity, TaintToleration, NodePorts, NodeResourcesFit.
 */
#ifndef CORE_FIT_H
#define CORE_FIT_H
#include "core/state/model.h"

enum fit_cause { FIT_OK, FIT_UNKNOWN_NODE, FIT_NOT_READY, FIT_UNSCHEDULABLE, FIT_TAINT, FIT_SELECTOR };

/* What depends only on the node's record. ret_taint (may be NULL): the taint in the way. */
enum fit_cause fit_record(const struct state *s, const struct shape_class *c, uint32_t node, const struct taint **ret_taint);
/* The same; most nodes and shapes have nothing to say, at once. */
static inline enum fit_cause fit_record_of(const struct state *s, const struct shape_class *c, uint32_t node)
{
    bool is_open = (s->nodes.flags[node] & ~NODE_GAINED) == (NODE_KNOWN | NODE_READY);
    return is_open && !c->shape.node_labels_n && !c->shape.node_terms_n ? FIT_OK : fit_record(s, c, node, NULL);
}
/* How many more pods of the shape the node holds: resources, devices, ports. 0 = none. */
uint32_t fit_room(const struct state *s, const struct shape_class *c, uint32_t node);
/* The same once one pod of the shape `other` stands there, too; `taken`: what it takes of devices is taken already (domain_room_beside). */
uint32_t fit_room_beside(const struct state *s, const struct shape_class *c, const struct shape_class *other, uint32_t node, bool taken);
bool fit_ports(const struct state *s, const struct shape_class *c, uint32_t node);

#endif
