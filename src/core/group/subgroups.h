/* subgroups.h - which members of a pod group are in which of its subgroups, and which of them can start
 *
 *     pods ── first policy that selects it, values of its keys ──▶ subgroup ──▶ its policy ──▶ the policies above it ──▶ the group
 *
 * These are nodes of a tree. A subgroup is satisfied (whole) while `size` of its members are there: they run, or are done; a policy with
 * `least_n` of its subgroups, or of the policies below it; the group with subgroups_least of its topmost policies.
 * Members start in units: as many as satisfy a node that is right below a satisfied one, or below the group; then, below it, the same
 * again; those beyond the size of a subgroup, and those of none, one by one. Who cannot help to satisfy anything waits.
 * WHY    anew each time: few groups have any, and membership follows from labels of pods and from an object that may change.
 */
#ifndef CORE_SUBGROUPS_H
#define CORE_SUBGROUPS_H
#include "core/state/model.h"

struct subgroup {            /* a node; 0 is the group */
    const struct subgroup_policy *policy; /* NULL: the group */
    uint32_t above;
    uint32_t there_n;        /* of a subgroup: members with a place, or done; else how many of those right below are satisfied */
    uint32_t least_n;        /* so many satisfy it */
    bool of_pods;            /* a subgroup: right below it are pods */
    const struct tier_request *tiers; /* NULL: it asks for none */
};
struct subgroup_member {
    uint32_t pod, subgroup;  /* node; 0: of none */
};
struct subgroups {
    struct subgroup *all;    /* each after those above it */
    uint32_t n, members_n;
    struct subgroup_member *members; /* by pod slot */
};
/* NULL: the group has no policies. The caller frees it (subgroups_free, NULL-safe). */
struct subgroups *subgroups_of(const struct state *s, const struct gang *g);
void subgroups_free(struct subgroups *x);
uint32_t subgroup_of(const struct subgroups *x, uint32_t pod); /* 0: none; x NULL: none */
static inline bool subgroup_is_satisfied(const struct subgroup *one)
{
    return one->there_n >= one->least_n;
}
/* The node itself counts; above 0: every node is. */
static inline bool subgroup_is_below(const struct subgroups *x, uint32_t node, uint32_t above)
{
    while (node && node != above)
        node = x->all[node].above;
    return node == above;
}
/* One more, or one less, of those right below it is there, or satisfied: and so on above. */
void subgroup_count(struct subgroup *all, uint32_t at, bool more);

/* Members that start together. */
struct unit {
    uint32_t first, n;       /* pods[first .. first + n) */
    bool counts;             /* it satisfies a policy that is below none */
    uint32_t after;          /* index + 1 of the unit that has to start first; 0: none */
};
/* Puts the pods of each unit side by side, units in the order of their first pods, and at the end those that cannot start. Returns the
 * number of units, which are in the arena. Where there are no policies each pod is a unit. */
uint32_t group_units(const struct state *s, const struct gang *g, struct arena *a, uint32_t *pods, uint32_t n, struct unit **ret_units);

/* Who keeps the group from being satisfied with these loose members beside those that are there: the lowest of which all are needed. */
struct subgroup_lack {
    name_id name;            /* of its policy; 0: it is the group */
    bool of_pods;            /* have, need: pods of one subgroup; else of those right below */
    uint32_t have, need;
};
/* False: they satisfy it. */
bool subgroups_lack(const struct subgroups *x, struct arena *a, const uint32_t *pods, uint32_t n, struct subgroup_lack *ret);

#endif
