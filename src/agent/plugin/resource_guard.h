/* resource_guard.h - no device over its share while its slicing changes
 *
 * A config may split a GPU differently while containers still hold it by the old split: a whole GPU becomes four shares, four shares become
 * ten. Until the last of them is known to have ended, nothing of that unit is handed out: its slots are SLOT_OLD_SLICING, which does not
 * touch what runs.
 *
 * SHAPE  per unit that has owners: the slicing by which they got it, "<resource> <replicas>". Kept as intents in the inventory's journal
 *        (slicing/<uuid>), so that a restart of the agent between the two changes nothing.
 */
#ifndef AGENT_RESOURCE_GUARD_H
#define AGENT_RESOURCE_GUARD_H
#include "agent/inventory/resource.h"

struct resource_guard;
struct resource_guard *resource_guard_new(struct inventory *i);
void resource_guard_free(struct resource_guard *g); /* NULL-safe */
/* Close what must not be handed out; the reasons stand in `a`. Call it with each new table, and again when owners have changed while
 * resource_guard_waits. */
void resource_guard_apply(struct resource_guard *g, struct arena *a, const struct inventory_snapshot *s, struct resource_table *t);
bool resource_guard_waits(const struct resource_guard *g); /* units wait for containers of an older slicing */
/* Slots of the unit under which its containers hold it, when that is `resource`; 0: not known. */
uint32_t resource_guard_slots(const struct inventory *i, const char *uuid, const char *resource);

#endif
