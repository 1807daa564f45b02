/* twins.h - nodes that have the same: idle ones among them hold as many of a shape, and score as much
 *
 * WHY    a shape that nobody has placed yet is scored on every node, and most nodes are one of a few models.
 * SHAPE  of each node what it can give, and of its devices all but their names, as one text; equal texts are one number, from 1. Found when
 *        the node's record is taken in. What of a node makes a difference to who may stand there at all (labels, taints) is no part of it.
 */
#ifndef CORE_TWINS_H
#define CORE_TWINS_H
#include "core/state/model.h"

/* The node's record, its devices among it, was taken in. */
void twins_take(struct state *s, uint32_t node);

uint32_t twins_look(const struct state *s, uint32_t node);
/* Its number, while nobody has anything of it; 0: somebody has. */
static inline uint32_t twins_idle(const struct state *s, uint32_t node)
{
    const uint32_t known = s->nodes.idle_twins[node];
    return known == TWINS_UNKNOWN ? twins_look(s, node) : known;
}

#endif
