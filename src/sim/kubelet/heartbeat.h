/* heartbeat.h - the Leases of simulated nodes: renewed every 10 s, in slices, as 1000 nodes would be 1000 writes at once */
#ifndef SIM_HEARTBEAT_H
#define SIM_HEARTBEAT_H
#include "kube/client.h"

struct heartbeat;
struct heartbeat *heartbeat_new(struct kube_client *c);
void heartbeat_free(struct heartbeat *h); /* NULL-safe */
/* The node lives: its lease is made, and renewed from now on. h NULL: nothing happens, as in the next. */
void heartbeat_lives(struct heartbeat *h, const char *node);
void heartbeat_ends(struct heartbeat *h, const char *node);

#endif
