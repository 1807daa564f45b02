/* shrink.h - a planned gang that may start with fewer members than it asks for
 *
 * SHAPE  a pod set's `count` is what it was given, or asks for while nothing was given; `asked_n` and `min_count` are what its record says.
 * SOURCE Kueue, partial admission (pkg/scheduler/flavorassigner/podset_reducer.go): what is left out is shared by the pod sets in
 *        proportion to what each may leave out, and the least that must be left out is found by halving.
 */
#ifndef CORE_SHRINK_H
#define CORE_SHRINK_H
#include "core/state/model.h"

/* `granted` of the members asked for (0: all) make the set. Members that are over are first taken from those that were left out. */
void set_grant(struct gang_set *set, int32_t granted);
/* Members that need quota and a place. */
static inline int32_t set_needs(const struct gang_set *set)
{
    return set->count - set->reclaimed_n;
}

/* Does nobody come in the place of a pod that has succeeded? WHY  a job may have more completions than it runs pods at a time, or was let
 * in with fewer than it asks for: the dialect says when nobody comes any more (reclaimed_n). */
static inline bool set_ends_by_success(const struct gang_set *set)
{
    return !set->in_turns;
}
/* Members that need no place any more. */
static inline int32_t set_gone_n(const struct gang_set *set)
{
    return set_ends_by_success(set) && set->done_n > set->reclaimed_n ? set->done_n : set->reclaimed_n;
}

bool shrink_may(const struct gang *g);
/* Grants the most that `fits`, as halving finds it. False: not even the fewest, of whom it was asked last and who stand granted. */
bool shrink_search(struct gang *g, bool (*fits)(void *arg), void *arg);
void shrink_to_fewest(struct gang *g);
void shrink_back(struct gang *g); /* all that it asks for */

#endif
