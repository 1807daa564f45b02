#include "sched/domains/domain_status.h"
#include "codec/kinds/kind_convert.h"

#define DELAYED "delayedTopologyRequest"

/* "b1,r2": a label's value has no ','. */
static struct json *values_of(struct arena *a, const char *domain)
{
    struct json *values = json_new(a, JSON_ARRAY);
    for (const char *at = domain;; at++) {
        size_t n = strcspn(at, ",");
        json_append(values, json_new_text_n(a, (struct bytes){at, n}));
        at += n;
        if (!*at)
            return values;
    }
}

/* Rows, as v1beta1 has them. NULL: none. */
static struct json *rows_of(struct arena *a, const struct state *s, const struct intern *names, name_id gang, uint32_t pod_set)
{
    const struct domain_choice *all;
    const name_id *levels;
    uint32_t n = state_gang_domains(s, gang, &all), levels_n = state_gang_levels(s, gang, pod_set, &levels);
    struct json *assignment = json_new(a, JSON_OBJECT), *names_of = json_ensure_array(a, assignment, "levels"),
                *rows = json_ensure_array(a, assignment, "domains");
    for (uint32_t i = 0; i < levels_n; i++)
        json_append(names_of, json_new_text(a, intern_name(names, levels[i])));
    for (uint32_t i = 0; i < n && levels_n; i++) {
        if (all[i].pod_set != pod_set)
            continue;
        struct json *row = json_new(a, JSON_OBJECT);
        struct json *values = values_of(a, intern_name(names, all[i].domain));
        if (values->n != levels_n)
            return NULL; /* of levels that the topology has no more: what was said of them stays */
        json_set(a, row, "values", values);
        json_set_int64(a, row, "count", all[i].count);
        json_append(rows, row);
    }
    return rows->n ? assignment : NULL;
}

void domain_status_add(struct arena *a, const struct state *s, const struct intern *names, name_id gang, uint32_t pod_set,
                       struct json *assignment)
{
    const name_id *levels;
    struct json *rows = rows_of(a, s, names, gang, pod_set);
    if (!rows && state_gang_levels(s, gang, pod_set, &levels) && json_get_int64(assignment, "count", 0))
        json_set_text(a, assignment, DELAYED, "Pending");
    if (!rows)
        return;
    kind_convert_topology(a, rows, true);
    json_set(a, assignment, "topologyAssignment", rows);
    if (json_get(assignment, DELAYED))
        json_set_text(a, assignment, DELAYED, "Ready");
}

static bool says(struct arena *a, const struct json *assignment, const struct json *rows)
{
    const struct json *told = json_get(assignment, "topologyAssignment");
    struct json *copy = json_is(told, JSON_OBJECT) ? json_clone(a, told) : NULL;
    if (copy && json_get(copy, "slices"))
        kind_convert_topology(a, copy, false);
    return copy && json_equal(json_get(copy, "levels"), json_get(rows, "levels")) &&
           json_equal(json_get(copy, "domains"), json_get(rows, "domains"));
}

static uint32_t set_named(const struct json *workload, const char *name)
{
    uint32_t at = 0;
    JSON_EACH (set, json_path(workload, "spec", "podSets", NULL)) {
        if (strcmp(json_get_text(set, "name", "main"), name) == 0)
            break;
        at++;
    }
    return at;
}

struct json *domain_status_moved(struct arena *a, const struct state *s, const struct intern *names, name_id gang,
                                 const struct json *workload)
{
    const struct domain_choice *all;
    const struct json *told = json_path(workload, "status", "admission", NULL);
    if (!json_is(told, JSON_OBJECT) || !state_gang_domains(s, gang, &all))
        return NULL;
    bool moved = false;
    struct json *admission = json_clone(a, told);
    JSON_EACH (assignment, json_get(admission, "podSetAssignments")) {
        uint32_t set = set_named(workload, json_get_text(assignment, "name", "main"));
        struct json *rows = rows_of(a, s, names, gang, set);
        if (!rows || says(a, assignment, rows))
            continue;
        moved = true;
        domain_status_add(a, s, names, gang, set, assignment);
    }
    return moved ? admission : NULL;
}

struct json *domain_status_unhealthy(struct arena *a, const struct state *s, const struct intern *names, name_id gang,
                                     const struct json *workload)
{
    const struct json *told = json_path(workload, "status", "unhealthyNodes", NULL), *one = json_item(told, 0);
    name_id lost = state_gang_lost(s, gang);
    const char *node = lost ? intern_name(names, lost) : "";
    if (text_equal(json_get_text(one, "name", ""), node) && !(one && one->next))
        return NULL;
    if (!lost)
        return json_new(a, JSON_NULL);
    struct json *list = json_new(a, JSON_ARRAY), *entry = json_new(a, JSON_OBJECT);
    json_set_text(a, entry, "name", node);
    json_append(list, entry);
    return list;
}
