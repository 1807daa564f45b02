/* admission_kai.c - KAI's PodGroup: names and parents of its subgroups
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

void admission_kai(struct admission *x, const struct kind *k)
{
    const struct json *groups = json_path(x->object, "spec", "subGroups", NULL);
    int32_t i = 0;
    if (strcmp(k->kind, "Queue") == 0) {
        admission_kai_queue(x);
        return;
    }
    if (!x->status_only)
        check_topology(x, json_path(x->object, "spec", "topologyConstraint", NULL));
    if (!json_is(groups, JSON_ARRAY) || !groups->n || groups->n > LIMIT_TASK_GROUPS)
        return; /* its type and length are refused elsewhere */
    const int32_t *parents = parents_of(x, groups);
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
