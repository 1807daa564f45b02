/* garbage.h - deletion that follows from deletion: dependents by ownerReferences, terminating namespaces, old Events
 *
 * SHAPE  owner uid -> its dependents, kept from every committed change; work is queued by uid and done in later turns, bounded each turn.
 * SOURCE Kubernetes garbage collection: background (owner gone -> dependents are deleted), foreground (finalizer foregroundDeletion waits
 *        for dependents with blockOwnerDeletion), orphan (references are cut first), absent owners (uid does not exist).
 */
#ifndef APISERVER_GARBAGE_H
#define APISERVER_GARBAGE_H
#include "apiserver/request/request.h"

struct garbage *garbage_new(struct apiserver *s); /* reads what is stored, then observes the store */
void garbage_free(struct garbage *g);
bool garbage_has_dependents(const struct garbage *g, const char *uid);
void garbage_orphan(struct garbage *g, const char *uid); /* cut the ownerReferences to uid now */
void garbage_tick(struct garbage *g);                    /* about once a second: Events older than an hour */

#endif
