/* hole.h - a pod group that lost a member, and a place that is kept for its successor: what is so, by the state alone (refill.h) */
#ifndef CORE_HOLE_H
#define CORE_HOLE_H
#include "core/state/model.h"

/* It keeps places for members to come. */
static inline bool holes_are_kept(const struct gang *g)
{
    return !g->planned && g->own->seats_n > 0;
}
/* Of a pod that is over and has its place still: would its gang be broken without it, perhaps, and could be mended? */
bool hole_is_left(const struct state *s, const struct pod *p);
/* The gang is below its minimum: does it stay as it is, since places are kept for it? */
bool holes_may_be_filled(const struct state *s, const struct gang *g);

#endif
