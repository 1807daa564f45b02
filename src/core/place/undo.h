/* undo.h - try and take back: every seat and charge of a search is written down and can be undone to a mark
 *
 * SHAPE  a stack of steps; a mark is a height, and marks nest. undo_back takes back what was done since the mark; undo_keep lets it stand
 *        for good and forgets it, while steps from before the mark (claims of a round, say) can still be taken back. What is undone was
 *        never seen outside, and wakes nobody. Steps are exact inverses, and charges commute, so it does not matter what was kept in
 *        between.
 * SOURCE docs/design/0001-core.md
 */
#ifndef CORE_UNDO_H
#define CORE_UNDO_H
#include "core/state/model.h"

uint32_t undo_mark(const struct state *s);
void undo_seat(struct state *s, uint32_t seat); /* seat was just taken */
/* Take a seat off its node, its pod or gang aside: undo puts it back, keep frees it for good. The caller drops what points to it. */
void undo_lift(struct state *s, uint32_t seat);
/* Charge now, give back on undo. */
void undo_charge(struct state *s, uint32_t queue, name_id flavor, name_id resource, int64_t amount);
void undo_charges_of(struct state *s, const struct gang *g, int sign); /* all that it is charged: -1 as if it had left, 1 once more */
/* For a while, never kept: less free of a resource on a node, at most what is free, with as many devices where they are counted by name,
 * but for those of a node whose GPUs are given in parts, too: these the caller takes from the table, and says so. */
void undo_withhold(struct state *s, uint32_t node, name_id resource, int64_t amount);
void undo_devices(struct state *s, uint32_t node);
/* For trials only, never kept. More nominal quota of one cell; more free of a resource on a node, with devices that somebody has where they
 * are counted by name; other flags of a node. False: it cannot be done, and nothing was. */
bool undo_nominal(struct state *s, uint32_t queue, name_id flavor, name_id resource, int64_t amount);
bool undo_room(struct state *s, uint32_t node, name_id resource, int64_t amount);
void undo_flags(struct state *s, uint32_t node, uint8_t flags);
void undo_back(struct state *s, uint32_t mark);
void undo_keep(struct state *s, uint32_t mark);

#endif
