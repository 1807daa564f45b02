/* garbage.h - deletion that follows from deletion: dependents by ownerReferences, terminating namespaces, old Events
 *
 * SHAPE  owner uid -> its dependents, kept from every committed change; work is queued by uid and done in later turns, bounded each turn.
 * SOURCE Kubernetes garbage collection: background (owner gone -> dependents are deleted), foreground (finalizer foregroundDeletion waits
 *        for dependents with blockOwnerDeletion), orphan (references are cut first), absent owners (uid does not exist).
 */
#ifndef APISERVER_GARBAGE_H
#define APISERVER_GARBAGE_H
#include "apiserver/apply/object_change.h"

struct garbage *garbage_new(struct apiserver *s); /* reads what is stored, then observes the store */
void garbage_free(struct garbage *g);
/* An owner is about to be deleted: its dependents are cut off (Orphan), or it waits for them (Foreground: a finalizer). */
void garbage_propagate(struct apiserver *s, struct arena *a, struct json *object, const struct delete_options *o);
void garbage_tick(struct garbage *g);                    /* about once a second: Events older than an hour */

#endif
