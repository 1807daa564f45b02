/* undo.h - try and take back: every seat and charge of a search is written down and can be undone to a mark
 *
 * SHAPE  a stack of steps; a mark is a height. Committing forgets the stack. SOURCE docs/design/0001-core.md
 */
#ifndef CORE_UNDO_H
#define CORE_UNDO_H
#include "core/model.h"

uint32_t undo_mark(const struct state *s);
void undo_seat(struct state *s, uint32_t seat); /* seat was just taken */
/* Charge now, give back on undo. */
void undo_charge(struct state *s, uint32_t queue, name_id flavor, name_id resource, int64_t amount);
void undo_back(struct state *s, uint32_t mark);
void undo_commit(struct state *s); /* what was tried stays */

#endif
