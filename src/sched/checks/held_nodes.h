/* held_nodes.h - nodes that came while a gang waits for machines: they are kept for it (docs/design/0025-machines.md)
 *
 *   Workload waits (scale_up.h) ──▶ nodes made since its admission, with its flavors' labels and room for one of its pods, are held:
 *   the core reads them with a taint that only its pods tolerate ──▶ all its pods are bound, or it waits no more: the taint is gone
 *
 * SHAPE  who was admitted first comes first, and takes nodes in the order in which they were made, until all its pods have room on them.
 *        The same objects give the same holds, whoever has read them, in whichever order. Nothing is written to nodes.
 * LIMIT  what is held ends with the time that machines have; NODES_MOST nodes, made within the hour before they are read, are looked at,
 *        and none where no check asks for machines.
 */
#ifndef SCHED_CHECKS_HELD_NODES_H
#define SCHED_CHECKS_HELD_NODES_H
#include "base/collections/intern.h"
#include "core/flow.h"
#include "sched/checks/queue_checks.h"

struct held_nodes;
/* This node, as it was read last, is held for somebody else now; NULL: for nobody. Not called back into. */
typedef void held_changed_fn(void *arg, struct bytes node, const char *holder);
struct held_nodes *held_nodes_new(held_changed_fn *on_changed, check_finder *flavor, void *arg); /* flavor finds ResourceFlavors */
void held_nodes_free(struct held_nodes *h); /* NULL-safe */
/* Is there a check for which machines come? Until that is said none is kept. WHY  the objects of all nodes of a young cluster would stand
 * in memory for an hour. */
void held_nodes_use(struct held_nodes *h, bool used);
void held_nodes_wait(struct held_nodes *h, const char *gang, const struct json *workload); /* for machines, from its admission on */
void held_nodes_wait_no_more(struct held_nodes *h, const char *gang);
bool held_nodes_awaited(const struct held_nodes *h, const char *gang); /* it waits */
/* A node has been read: for whom it is held (scale_up_holder); NULL: for nobody. */
const char *held_nodes_of(struct held_nodes *h, struct bytes node, int64_t now_ms);
void held_nodes_look(struct held_nodes *h); /* a flavor is there that was not */
void held_nodes_gone(struct held_nodes *h, const char *node);
/* As the core reads it: with the taint of a node that is held. */
void held_nodes_taint(struct arena *a, struct intern *names, struct node_record *node, const char *holder);
/* Pods that were made for one node (DaemonSets name it so) are none of those whom it is held from. */
void held_nodes_tolerate(struct arena *a, struct intern *names, struct pod_record *pod);

#endif
