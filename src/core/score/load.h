/* load.h - what agents measured of GPUs, as far as a policy goes by it (PLACEMENT_BY_LOAD)
 *
 * SHAPE  of each device with a name one of four strains, found when the node's record is taken in; a pod's strain on a node is that of the
 *        worst GPU that it would have to take there. Nodes with less come first, whatever the policy says; among equal ones it decides.
 * UNIT   what was measured counts in full until it is older than FEEDBACK_PERIODS, and not at all then: what is not known is calm.
 * SOURCE docs/placement.md has the constants and where each comes from.
 */
#ifndef CORE_LOAD_H
#define CORE_LOAD_H
#include "core/state/model.h"

enum load_strain { LOAD_CALM, LOAD_BUSY, LOAD_HOT, LOAD_FAULTY, LOAD_STRAINS_N };
/* The node's record, its devices among it, was taken in. */
void load_take(struct state *s, uint32_t node);
/* A cycle at now_ms begins: nodes whose measurements became too old since the last, or count from now on, are looked at again. */
void load_begin(struct state *s, int64_t now_ms);
/* What was measured of the device; of a share, or where a node has too many devices, of its GPU. NULL: nothing. */
const struct device_feedback *load_measured(const struct intern *names, const struct device_feedback *all, uint32_t n, name_id id);
/* That of a pod of the shape, and the devices that are worse, which it leaves (ret_worse may be NULL). */
enum load_strain load_of(const struct state *s, const struct shape_class *c, uint32_t node, struct device_bits *ret_worse);
/* The score of a node with that strain: 1 .. 2^32-1. `score`: by the policy alone. */
uint32_t load_score(uint32_t score, bool is_packed, enum load_strain strain);

#endif
