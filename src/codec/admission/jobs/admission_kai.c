/* admission_kai.c - KAI's PodGroup: names and parents of its subgroups
 *
 * SOURCE KAI-Scheduler scheduling.run.ai/v2alpha2: its definition and its webhook.
 */
#include "codec/admission/admission_part.h"

static int64_t at_of(const struct json *groups, const char *name)
{
    int64_t at = 0;
    JSON_EACH (group, groups) {
        if (strcmp(json_get_text(group, "name", ""), name) == 0)
            return at;
        at++;
    }
    return -1;
}

/* Upwards from one, no further than there are subgroups. */
static bool is_in_circle(const struct json *groups, const struct json *group)
{
    for (uint32_t steps = 0; steps <= groups->n; steps++) {
        const char *parent = json_get_text(group, "parent", "");
        int64_t at = *parent ? at_of(groups, parent) : -1;
        if (at < 0)
            return false;
        group = json_item(groups, (size_t)at);
    }
    return true;
}

void admission_kai(struct admission *x, const struct kind *k)
{
    const struct json *groups = json_path(x->object, "spec", "subGroups", NULL);
    int64_t i = 0;
    (void)k;
    if (!json_is(groups, JSON_ARRAY) || groups->n > LIMIT_TASK_GROUPS)
        return; /* its type and length are refused elsewhere */
    JSON_EACH (group, groups) {
        const char *name = json_get_text(group, "name", ""), *parent = json_get_text(group, "parent", "");
        if (at_of(groups, name) < i)
            admission_error(x, FIELD_DUPLICATE, AT(x, "spec.subGroups[%lld].name", (long long)i), json_get(group, "name"),
                            "another subgroup has this name: write another one");
        else if (*parent && at_of(groups, parent) < 0)
            admission_error(x, FIELD_NOT_FOUND, AT(x, "spec.subGroups[%lld].parent", (long long)i), json_get(group, "parent"),
                            "no subgroup has this name: write one of the list, or none");
        else if (is_in_circle(groups, group)) {
            admission_error(x, FIELD_INVALID, AT(x, "spec.subGroups[%lld].parent", (long long)i), json_get(group, "parent"),
                            "parents go in a circle: a tree of subgroups ends at one without a parent");
            return;
        }
        i++;
    }
}
