/* node_publish.h - what a node's devices are, written into its Node object: read it, compare, patch only what differs
 *
 * Labels that feature discovery may set and the devices annotation by one patch; capacity, allocatable and the agent's conditions by
 * another;
 * resources that are no longer offered stay at 0, as kubelets leave them.
 * ORDER  one exchange at a time; what changes meanwhile is written afterwards.
 */
#ifndef SIM_NODE_PUBLISH_H
#define SIM_NODE_PUBLISH_H
#include "kube/client.h"
#include "sim/node/node_object.h"

struct node_publish;
struct node_publish *node_publish_new(struct kube_client *c, const struct node_devices *d, const struct node_kind *kind, const char *node);
void node_publish_free(struct node_publish *p); /* NULL-safe */
void node_publish_ask(struct node_publish *p);  /* compare and write soon */
void node_publish_label(struct node_publish *p, const char *name, const char *value); /* one more label; value NULL removes it */
void node_publish_set_off(struct node_publish *p, bool off);                           /* offer nothing */
/* Condition GPUConfigValid: where the config in use is from, or what is wrong with the one that was asked for. */
void node_publish_config(struct node_publish *p, bool valid, const char *message);
void node_publish_seen(struct node_publish *p, const struct json *node); /* the object as it is now: writes when others changed it */

#endif
