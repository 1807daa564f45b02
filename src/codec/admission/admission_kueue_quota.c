/* resourceGroups of ClusterQueue and Cohort. Kueue wants every flavor to list every covered resource, in the same
 * order, and no borrowing limit without a cohort. Guides get all three wrong; what they mean is plain, so it is
 * accepted with a Warning unless strict_kueue. */
#include "codec/admission/admission_part.h"

#define FLAVORS_MAX 256 /* of one queue, over all groups */
#define RESOURCES_MAX 256
#define PAIRS_MAX 512 /* flavors x resources of one group */

struct quota_check {
    struct admission *x;
    bool is_cohort, has_cohort; /* a Cohort's "cohort" is its parent */
    const char *group_path;     /* "spec.resourceGroups[0]" */
    const char *flavor_path;    /* "spec.resourceGroups[0].flavors[1]" */
    const char *flavor_name;
};

static int position_in(const struct json *covered, struct bytes name)
{
    int at = 0;
    JSON_EACH (resource, admission_list_n(covered) ? covered : NULL) {
        if (bytes_equal(json_bytes(resource), name))
            return at;
        at++;
    }
    return -1;
}

static void check_limit_needs_cohort(struct quota_check *q, const struct json *resource, const char *path,
                                     const char *key)
{
    const struct json *limit = json_get(resource, key);
    if (!limit || q->has_cohort)
        return;
    bool of_type = !q->is_cohort && text_equal(key, "borrowingLimit"); /* there Kueue's type says it, and of spec as a whole */
    admission_as_webhook(q->x, !of_type);
    if (q->x->strict_kueue && of_type)
        admission_error(q->x, FIELD_INVALID, "spec", NULL, "%s.%s: must be nil when cohort is empty", path + strlen("spec."), key);
    else if (q->x->strict_kueue)
        admission_error(q->x, FIELD_INVALID, AT(q->x, "%s.%s", path, key), limit, "must be nil when %s is empty",
                        q->is_cohort ? "parent" : "cohort");
    else
        admission_warn(q->x, "%s.%s: has no effect: there is no cohort to %s; remove it, or name a %s", path, key,
                       text_equal(key, "borrowingLimit") ? "borrow from" : "lend to",
                       q->is_cohort ? "parent" : "cohort");
    admission_as_webhook(q->x, false);
}

static void check_quota(struct quota_check *q, const struct json *resource, const char *path)
{
    struct quantity nominal, limit;
    admission_require(q->x, resource, path, "nominalQuota", "");
    admission_as_webhook(q->x, true);
    bool known =
        admission_quantity(q->x, json_get(resource, "nominalQuota"), AT(q->x, "%s.nominalQuota", path), &nominal);
    (void)admission_quantity(q->x, json_get(resource, "borrowingLimit"), AT(q->x, "%s.borrowingLimit", path),
                             &limit); /* only its form */
    admission_as_webhook(q->x, false);
    check_limit_needs_cohort(q, resource, path, "borrowingLimit");
    check_limit_needs_cohort(q, resource, path, "lendingLimit");
    const struct json *lending = json_get(resource, "lendingLimit");
    admission_as_webhook(q->x, true);
    if (admission_quantity(q->x, lending, AT(q->x, "%s.lendingLimit", path), &limit) && known && !q->is_cohort &&
        quantity_compare(limit, nominal) > 0)
        admission_error(q->x, FIELD_INVALID, AT(q->x, "%s.lendingLimit", path), lending,
                        "must be less than or equal to the nominalQuota");
    admission_as_webhook(q->x, false);
}

/* Resources in another order than the group's, or some left out. */
static void check_cover(struct quota_check *q, const struct json *resources, const struct json *covered)
{
    _cleanup_buf_ struct buf missing = {0};
    int last = -1;
    uint32_t at = 0, covered_n = admission_list_n(covered), resources_n = admission_list_n(resources);
    bool ordered = true;
    admission_as_webhook(q->x, true);
    JSON_EACH (resource, resources_n ? resources : NULL) {
        struct bytes name = json_bytes(json_get(resource, "name"));
        int position = position_in(covered, name);
        if (position < 0)
            admission_error(q->x, FIELD_INVALID, AT(q->x, "%s.resources[%u].name", q->flavor_path, at),
                            json_get(resource, "name"),
                            "must match the name in coveredResources: add it there, or remove it here");
        else if (q->x->strict_kueue && (uint32_t)position != at && at < covered_n)
            admission_error(q->x, FIELD_INVALID, AT(q->x, "%s.resources[%u].name", q->flavor_path, at),
                            json_get(resource, "name"), "must match the name in coveredResources");
        ordered &= position < 0 || position > last;
        last = position < 0 ? last : position;
        at++;
    }
    admission_as_webhook(q->x, false);
    JSON_EACH (name, covered_n ? covered : NULL) {
        bool found = false;
        JSON_EACH (resource, resources_n ? resources : NULL)
            found |= bytes_equal(json_bytes(json_get(resource, "name")), json_bytes(name));
        if (!found)
            buf_printf(&missing, "%s%s", missing.n ? ", " : "", json_text(name, "?"));
    }
    if (q->x->strict_kueue && resources_n != covered_n)
        admission_error(q->x, FIELD_INVALID, q->group_path, NULL,
                        "flavors must have the same number of resources as the coveredResources");
    if (q->x->strict_kueue)
        return;
    if (missing.n)
        admission_warn(q->x,
                       "%s: flavor %s gives no quota for %s: taken as 0, so jobs that ask for it do not fit there; "
                       "write nominalQuota for each covered resource",
                       q->flavor_path, q->flavor_name, missing.data);
    if (!ordered)
        admission_warn(q->x,
                       "%s: flavor %s lists its resources in another order than coveredResources: the order does not "
                       "matter here, but Kueue refuses it",
                       q->flavor_path, q->flavor_name);
}

static void check_flavor(struct quota_check *q, const struct json *flavor, const struct json *covered)
{
    const struct json *name = json_get(flavor, "name"), *resources = json_get(flavor, "resources");
    uint32_t at = 0;
    q->flavor_name = json_text(name, "?");
    if (admission_absent(name))
        admission_error(q->x, FIELD_REQUIRED, AT(q->x, "%s.name", q->flavor_path), NULL, "%s", "");
    else if (!name_is_dns_subdomain(json_bytes(name)))
        admission_error(q->x, FIELD_INVALID, AT(q->x, "%s.name", q->flavor_path), name, NAME_DNS_SUBDOMAIN_RULE);
    JSON_EACH (resource, admission_list_n(resources) ? resources : NULL)
        check_quota(q, resource, AT(q->x, "%s.resources[%u]", q->flavor_path, at++));
    check_cover(q, resources, covered);
}

/* A name may stand in one group only. `list_of` names the list; its items are texts, or objects with a name: of these the schema says
 * which one a group has twice. */
static void check_once(struct admission *x, const struct json *groups, const char *list_of)
{
    uint32_t group_at = 0;
    _cleanup_buf_ struct buf seen = {0}; /* "\nname\n" of all before */
    buf_char(&seen, '\n');
    JSON_EACH (group, groups) {
        uint32_t at = 0;
        size_t before_n = seen.n; /* bytes of the groups before this one */
        const struct json *list = json_get(group, list_of);
        JSON_EACH (item, admission_list_n(list) ? list : NULL) {
            const struct json *name = json_is(item, JSON_STRING) ? item : json_get(item, "name");
            const char *mark = AT(x, "\n%s\n", json_text(name, ""));
            const char *found = name ? strstr(seen.data, mark) : NULL;
            if (found && (name == item || (size_t)(found - seen.data) + 1 < before_n))
                admission_error(
                    x, FIELD_DUPLICATE,
                    AT(x, "spec.resourceGroups[%u].%s[%u]%s", group_at, list_of, at, name == item ? "" : ".name"), name,
                    "%s", "");
            buf_text(&seen, mark + 1);
            at++;
        }
        group_at++;
    }
}

static void check_sizes(struct admission *x, const struct json *groups)
{
    size_t flavors_n = 0, resources_n = 0;
    uint32_t at = 0;
    JSON_EACH (group, groups) {
        uint32_t f = admission_list_n(json_get(group, "flavors")),
                 r = admission_list_n(json_get(group, "coveredResources"));
        flavors_n += f;
        resources_n += r;
        if ((size_t)f * r > PAIRS_MAX)
            admission_error(x, FIELD_INVALID, AT(x, "spec.resourceGroups[%u]", at), NULL,
                            "must have at most %d pairs of flavor and resource, has %zu", PAIRS_MAX, (size_t)f * r);
        at++;
    }
    if (flavors_n > FLAVORS_MAX)
        admission_error(x, FIELD_INVALID, "spec.resourceGroups", NULL,
                        "must have at most %d flavors across all groups, has %zu", FLAVORS_MAX, flavors_n);
    if (resources_n > RESOURCES_MAX)
        admission_error(x, FIELD_INVALID, "spec.resourceGroups", NULL,
                        "must have at most %d covered resources across all groups, has %zu", RESOURCES_MAX,
                        resources_n);
}

void admission_resource_groups(struct admission *x, const struct json *spec, bool is_cohort, bool has_cohort)
{
    const struct json *groups = json_get(spec, "resourceGroups");
    struct quota_check q = {.x = x, .is_cohort = is_cohort, .has_cohort = has_cohort};
    if (admission_list_n(groups) == 0)
        return;
    admission_as_webhook(x, true);
    check_sizes(x, groups);
    admission_as_webhook(x, false);
    uint32_t group_at = 0;
    JSON_EACH (group, groups) {
        const char *path = AT(x, "spec.resourceGroups[%u]", group_at++);
        const struct json *covered = json_get(group, "coveredResources"), *flavors = json_get(group, "flavors");
        uint32_t at = 0;
        if (admission_list_n(covered) == 0)
            admission_error(x, FIELD_REQUIRED, AT(x, "%s.coveredResources", path), NULL,
                            "name the resources that this group's flavors give");
        if (admission_list_n(flavors) == 0)
            admission_error(x, FIELD_REQUIRED, AT(x, "%s.flavors", path), NULL, "name at least one flavor");
        JSON_EACH (resource, admission_list_n(covered) ? covered : NULL) {
            admission_as_webhook(x, true);
            if (!name_is_qualified(json_bytes(resource)))
                admission_error(x, FIELD_INVALID, AT(x, "%s.coveredResources[%u]", path, at), resource,
                                NAME_QUALIFIED_RULE);
            admission_as_webhook(x, false);
            at++;
        }
        at = 0;
        q.group_path = path;
        JSON_EACH (flavor, admission_list_n(flavors) ? flavors : NULL) {
            q.flavor_path = AT(x, "%s.flavors[%u]", path, at++);
            check_flavor(&q, flavor, covered);
        }
    }
    admission_as_webhook(x, true);
    check_once(x, groups, "coveredResources");
    check_once(x, groups, "flavors");
    admission_as_webhook(x, false);
}
