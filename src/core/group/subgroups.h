/* subgroups.h - which members of a pod group are in which of its subgroups, and which of them can start
 *
 *     pods ── first policy that selects it, values of its keys ──▶ subgroup 1..n, or none (0)
 *
 * A subgroup is whole while `size` of its members are there: they run, or are done. Members of one that is not start together, as many as
 * make it whole (a unit); those beyond, and those of no subgroup, one by one. Who is of a subgroup that cannot be made whole waits.
 * WHY anew each time: few groups have any, and membership follows from labels of pods and from an object that may change.
 */
#ifndef CORE_SUBGROUPS_H
#define CORE_SUBGROUPS_H
#include "core/state/model.h"

struct subgroup {
    const struct subgroup_policy *policy;
    uint32_t there_n;        /* members with a place, or done */
};
struct subgroup_member {
    uint32_t pod, subgroup;
};
struct subgroups {
    struct subgroup *all;    /* by number, from 1 */
    uint32_t n, members_n;
    struct subgroup_member *members; /* by pod slot */
};
/* NULL: the group has no policies. The caller frees it (subgroups_free, NULL-safe). */
struct subgroups *subgroups_of(const struct state *s, const struct gang *g);
void subgroups_free(struct subgroups *x);
uint32_t subgroup_of(const struct subgroups *x, uint32_t pod); /* 0: none; x NULL: none */
/* So many more make it whole. */
static inline uint32_t subgroup_lacks(const struct subgroup *one)
{
    return one->policy->size > 0 && (uint32_t)one->policy->size > one->there_n ? (uint32_t)one->policy->size - one->there_n : 0;
}

/* Members that start together. */
struct unit {
    uint32_t first, n;       /* pods[first .. first + n) */
    uint32_t policy;         /* index + 1 of that of the subgroup which it makes whole; 0: it makes none whole */
    uint32_t after;          /* index + 1 of the unit that makes its subgroup whole, and has to start first; 0: none */
};
/* Puts the pods of each unit side by side, units in the order of their first pods, and at the end those that cannot start. Returns the
 * number of units, which are in the arena. */
uint32_t subgroups_units(const struct subgroups *x, const struct gang *g, struct arena *a, uint32_t *pods, uint32_t n,
                         struct unit **ret_units);
/* The same where there may be no policies: each pod is a unit then. */
uint32_t group_units(const struct state *s, const struct gang *g, struct arena *a, uint32_t *pods, uint32_t n, struct unit **ret_units);

/* So many subgroups of that policy (index) are whole. */
uint32_t subgroups_whole(const struct subgroups *x, const struct subgroup_policy *policy);

#endif
