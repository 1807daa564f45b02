/* kueue_in_use.h - what of Kueue's kinds is held from its creation on */
#ifndef APISERVER_KUEUE_IN_USE_H
#define APISERVER_KUEUE_IN_USE_H
#include "apiserver/apply/object_write.h"

/* A new ClusterQueue or ResourceFlavor has the finalizer that keeps it while it is used, as by Kueue's webhooks. WHY not Topologies and
 * AdmissionChecks: their controller gives it to them. Where nobody runs queues, none: nobody would take it off. */
void kueue_in_use_given(struct object_write *w);

#endif
