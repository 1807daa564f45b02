/* admission_kai.c - KAI's PodGroup: names, parents and minimums of its subgroups
 *
 * SOURCE KAI-Scheduler scheduling.run.ai/v2alpha2: its definition and its webhook.
 */
#include "base/collections/map.h"
#include "codec/admission/admission_part.h"

enum { NO_PARENT = -1, NOBODY = -2 };

/* Of each subgroup where in the list its parent stands, or NO_PARENT, or NOBODY: none has that name. Whose name is another's is said. */
static int32_t *parents_of(struct admission *x, const struct json *groups)
{
    struct map *by_name = map_new(sizeof(int32_t));
    int32_t *parents = arena_alloc(x->arena, groups->n * sizeof *parents), i = 0;
    bool is_new;
    JSON_EACH (group, groups) {
        int32_t *at = map_put(by_name, bytes_of(json_get_text(group, "name", "")), &is_new);
        if (is_new)
            *at = i;
        else
            admission_error(x, FIELD_DUPLICATE, AT(x, "spec.subGroups[%d].name", i), json_get(group, "name"),
                            "another subgroup has this name: write another one");
        i++;
    }
    i = 0;
    JSON_EACH (group, groups) {
        const char *parent = json_get_text(group, "parent", "");
        const int32_t *at = *parent ? map_find_text(by_name, parent) : NULL;
        parents[i++] = at ? *at : *parent ? NOBODY : NO_PARENT;
    }
    map_free(by_name);
    return parents;
}

/* Upwards from one, no further than there are subgroups. */
static bool is_in_circle(const int32_t *parents, uint32_t n, int32_t at)
{
    for (uint32_t steps = 0; steps <= n && at >= 0; steps++)
        at = parents[at];
    return at >= 0;
}

/* WHY  no errors: KAI takes them, and the Topology may come later. */
static void check_topology(struct admission *x, const struct json *asked)
{
    const char *name = json_get_text(asked, "topology", "");
    bool has_level = *json_get_text(asked, "requiredTopologyLevel", "") || *json_get_text(asked, "preferredTopologyLevel", "");
    if (!*name && has_level)
        admission_warn(x, "spec.topologyConstraint: its level has no effect without the Topology that it is one of: write topology");
    else if (*name && !has_level)
        admission_warn(x, "spec.topologyConstraint: the group waits before requiredTopologyLevel, preferredTopologyLevel or both are written");
    else if (*name && x->read && !x->read(x->ctx, "kai.scheduler", "topologies", "", name))
        admission_warn(x, "spec.topologyConstraint.topology: there is no Topology %.253s (kai.scheduler): the group waits before there is", name);
}

static bool is_said(const struct json *object, const char *member)
{
    return json_is(json_get(object, member), JSON_NUMBER);
}

/* Pods of a group, or groups of it: one of them. */
static void check_one_minimum(struct admission *x, const struct json *of, const char *path)
{
    if (is_said(of, "minMember") && is_said(of, "minSubGroup"))
        admission_error(x, FIELD_INVALID, AT(x, "%s.minSubGroup", path), json_get(of, "minSubGroup"),
                        "minMember and minSubGroup are mutually exclusive: write minMember for so many pods, or minSubGroup for so many subgroups");
}

/* No error: KAI takes it, and the group waits for who may still come. */
static void check_enough(struct admission *x, const struct json *of, const char *path, uint32_t below_n)
{
    int64_t least = json_int64(json_get(of, "minSubGroup"), 0);
    if (least > (int64_t)below_n)
        admission_warn(x, "%s.minSubGroup: minSubGroup (%lld) exceeds the number of direct child SubGroups (%u): the group waits before there "
                       "are as many", path, (long long)least, below_n);
}

/* Children of one subgroup, or of the group itself with NO_PARENT. */
static uint32_t below(const int32_t *parents, uint32_t n, int32_t at)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++)
        found += parents[i] == at;
    return found;
}

/* Pods are counted where they are, in leaves; groups where they have parts. WHY a parent's minMember of before is only told: as in KAI,
 * whose versions before that rule let it in. */
static void check_minimums(struct admission *x, const struct json *groups, const int32_t *parents)
{
    static const char text[] = "minMember cannot be set on a mid-level SubGroup (has child SubGroups); use minSubGroup instead";
    uint32_t n = admission_list_n(groups);
    int32_t i = 0;
    JSON_EACH (group, n ? groups : NULL) {
        const char *path = AT(x, "spec.subGroups[%d]", i);
        uint32_t below_n = below(parents, n, i++);
        check_one_minimum(x, group, path);
        if (!below_n && is_said(group, "minSubGroup"))
            admission_error(x, FIELD_INVALID, AT(x, "%s.minSubGroup", path), json_get(group, "minSubGroup"),
                            "minSubGroup cannot be set on a leaf SubGroup (no child SubGroups): write minMember");
        else if (below_n && is_said(group, "minMember") && !x->old)
            admission_error(x, FIELD_INVALID, AT(x, "%s.minMember", path), json_get(group, "minMember"), text);
        else if (below_n && is_said(group, "minMember"))
            admission_warn(x, "%s.minMember: %s", path, text);
        if (below_n)
            check_enough(x, group, path, below_n);
    }
}

static void check_tree(struct admission *x, const struct json *groups, const int32_t *parents)
{
    int32_t i = 0;
    JSON_EACH (group, groups) {
        const char *path = AT(x, "spec.subGroups[%d].parent", i);
        if (parents[i] == NOBODY)
            admission_error(x, FIELD_NOT_FOUND, path, json_get(group, "parent"),
                            "no subgroup has this name: write one of the list, or none");
        else if (is_in_circle(parents, groups->n, i)) {
            admission_error(x, FIELD_INVALID, path, json_get(group, "parent"),
                            "parents go in a circle: a tree of subgroups ends at one without a parent");
            return;
        }
        i++;
    }
}

void admission_kai(struct admission *x, const struct kind *k)
{
    const struct json *spec = json_get(x->object, "spec"), *groups = json_get(spec, "subGroups");
    if (strcmp(k->kind, "Queue") == 0) {
        admission_kai_queue(x);
        return;
    }
    if (x->status_only)
        return;
    check_topology(x, json_get(spec, "topologyConstraint"));
    admission_kai_duration(x, spec, "preemptionDelay");
    admission_kai_duration(x, spec, "stalenessGracePeriod");
    check_one_minimum(x, spec, "spec");
    if (!json_is(groups, JSON_ARRAY) || !groups->n || groups->n > LIMIT_TASK_GROUPS)
        return; /* its type and length are refused elsewhere */
    const int32_t *parents = parents_of(x, groups);
    check_tree(x, groups, parents);
    check_minimums(x, groups, parents);
    check_enough(x, spec, "spec", below(parents, groups->n, NO_PARENT));
}
