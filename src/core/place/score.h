/* score.h - which of the nodes that fit is best, as one integer
 *
 * UNIT   0 = does not fit; 1 .. 2^32-1, greater is better. Integers only: equal on every machine, no order of summation.
 * ORDER  pack: nodes without devices that the pod does not ask for, then fewest devices left over, then least cpu left, then least
 *        memory left; spread: the other way round after the first. Ties go to the lower slot (view.c).
 */
#ifndef CORE_SCORE_H
#define CORE_SCORE_H
#include "core/state/model.h"

uint32_t score_node(const struct state *s, const struct shape_class *c, uint32_t node);

#endif
