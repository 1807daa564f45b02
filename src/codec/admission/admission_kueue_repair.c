/* Kueue manifests as guides print them: what is meant, and how it is written. */
#include "codec/admission/admission_part.h"
#include "wire/yaml.h"

/* Flavors written as bare names, with one list of resources for the whole group. */
static bool group_is_flat(const struct json *group)
{
    bool flat = json_get(group, "resources") != NULL && admission_list_n(json_get(group, "flavors")) > 0;
    JSON_EACH (flavor, admission_list_n(json_get(group, "flavors")) ? json_get(group, "flavors") : NULL)
        flat |= json_is(flavor, JSON_STRING);
    return flat;
}

/* The group's resources belong to each of its flavors; coveredResources are their names. */
static void unfold_group(struct arena *a, struct json *group)
{
    const struct json *resources = json_get(group, "resources");
    struct json *covered = json_get(group, "coveredResources"), *old_flavors = json_get(group, "flavors"),
                *flavors = json_new(a, JSON_ARRAY);
    if (admission_list_n(covered) == 0) {
        covered = json_new(a, JSON_ARRAY);
        JSON_EACH (resource, admission_list_n(resources) ? resources : NULL)
            json_append(covered, json_new_text(a, json_get_text(resource, "name", "")));
    } else
        covered = json_clone(a, covered);
    JSON_EACH (flavor, admission_list_n(old_flavors) ? old_flavors : NULL) {
        struct json *made = json_is(flavor, JSON_OBJECT) ? json_clone(a, flavor) : json_new(a, JSON_OBJECT);
        if (json_is(flavor, JSON_STRING))
            json_set_text(a, made, "name", json_text(flavor, ""));
        if (!json_get(made, "resources") && resources)
            json_set(a, made, "resources", json_clone(a, resources));
        json_append(flavors, made);
    }
    json_remove(group, "resources");
    json_remove(group, "flavors");
    json_remove(group, "coveredResources");
    json_set(a, group, "coveredResources", covered);
    json_set(a, group, "flavors", flavors);
}

/* Each flavor lists each covered resource once, in their order; those that were left out get 0. */
static bool order_flavor(struct arena *a, struct json *flavor, const struct json *covered)
{
    struct json *resources = json_get(flavor, "resources"), *ordered = json_new(a, JSON_ARRAY);
    JSON_EACH (name, admission_list_n(covered) ? covered : NULL) {
        struct json *made = NULL;
        JSON_EACH (resource, admission_list_n(resources) ? resources : NULL)
            if (!made && bytes_equal(json_bytes(json_get(resource, "name")), json_bytes(name)))
                made = json_clone(a, resource);
        if (!made) {
            made = json_new(a, JSON_OBJECT);
            json_set_text(a, made, "name", json_text(name, ""));
            json_set_int64(a, made, "nominalQuota", 0);
        }
        json_append(ordered, made);
    }
    if (resources && json_equal(resources, ordered))
        return false;
    json_set(a, flavor, "resources", ordered);
    return true;
}

static bool drop_limits(struct json *flavor)
{
    bool changed = false;
    JSON_EACH (resource, admission_list_n(json_get(flavor, "resources")) ? json_get(flavor, "resources") : NULL) {
        changed |= json_remove(resource, "borrowingLimit");
        changed |= json_remove(resource, "lendingLimit");
    }
    return changed;
}

static bool fix_cluster_queue(struct arena *a, struct json *spec)
{
    bool changed = false,
         has_cohort = !admission_absent(json_get(spec, "cohort")) || !admission_absent(json_get(spec, "cohortName"));
    struct json *groups = json_get(spec, "resourceGroups");
    JSON_EACH (group, admission_list_n(groups) ? groups : NULL) {
        if (!json_is(group, JSON_OBJECT))
            continue;
        if (group_is_flat(group)) {
            unfold_group(a, group);
            changed = true;
        }
        JSON_EACH (flavor, admission_list_n(json_get(group, "flavors")) ? json_get(group, "flavors") : NULL) {
            changed |= order_flavor(a, flavor, json_get(group, "coveredResources"));
            changed |= !has_cohort && drop_limits(flavor);
        }
    }
    if (!json_get(spec, "namespaceSelector")) {
        json_set(a, spec, "namespaceSelector", json_new(a, JSON_OBJECT));
        changed = true;
    }
    return changed;
}

static bool fix_flavor(struct arena *a, struct json *spec)
{
    struct json *labels = json_get(spec, "nodeSelector");
    if (!json_is(labels, JSON_OBJECT) || json_get(spec, "nodeLabels"))
        return false;
    struct json *copy = json_clone(a, labels);
    json_remove(spec, "nodeSelector");
    json_set(a, spec, "nodeLabels", copy);
    return true;
}

struct json *admission_kueue_fix(struct admission *x, const struct kind *k)
{
    struct json *fixed = json_clone(x->arena, x->object), *spec = json_get(fixed, "spec");
    if (!json_is(spec, JSON_OBJECT))
        return NULL;
    bool changed = false;
    if (text_equal(k->plural, "clusterqueues"))
        changed = fix_cluster_queue(x->arena, spec);
    else if (text_equal(k->plural, "resourceflavors"))
        changed = fix_flavor(x->arena, spec);
    return changed ? fixed : NULL;
}

/* The refusal of a flat group carries the corrected spec: whoever reads it can paste it. */
static void refuse_flat(struct admission *x, const struct kind *k)
{
    const struct json *groups = json_path(x->object, "spec", "resourceGroups", NULL);
    _cleanup_buf_ struct buf yaml = {0};
    bool flat = false;
    JSON_EACH (group, admission_list_n(groups) ? groups : NULL)
        flat |= group_is_flat(group);
    if (!flat)
        return;
    uint32_t group_at = 0;
    JSON_EACH (group, groups) {
        const char *path = AT(x, "spec.resourceGroups[%u]", group_at++);
        uint32_t at = 0;
        if (!group_is_flat(group))
            continue;
        if (admission_list_n(json_get(group, "coveredResources")) == 0)
            admission_error(x, FIELD_REQUIRED, AT(x, "%s.coveredResources", path), NULL,
                            "name the resources that the flavors of this group give");
        JSON_EACH (flavor, admission_list_n(json_get(group, "flavors")) ? json_get(group, "flavors") : NULL) {
            if (json_is(flavor, JSON_STRING))
                admission_error(x, FIELD_TYPE_INVALID, AT(x, "%s.flavors[%u]", path, at), flavor,
                                "must be an object with name and resources, not a text");
            at++;
        }
        if (json_get(group, "resources"))
            admission_error(x, FIELD_FORBIDDEN, AT(x, "%s.resources", path), NULL,
                            "no such field here: quotas stand under each flavor, as flavors[].resources");
    }
    if (!json_path(x->object, "spec", "namespaceSelector", NULL))
        admission_error(x, FIELD_REQUIRED, "spec.namespaceSelector", NULL,
                        "without it no namespace may use the queue; write {} for all");
    const struct json *fixed = admission_kueue_fix(x, k);
    struct json *shown = json_new(x->arena, JSON_OBJECT);
    if (!fixed)
        return;
    json_set(x->arena, shown, "spec", json_clone(x->arena, json_get(fixed, "spec")));
    yaml_write(&yaml, shown);
    admission_error(
        x, FIELD_INVALID, "spec", NULL,
        "write it like this (a quota counts for each flavor: divide it if it was meant for all of them together):\n%s",
        yaml.data);
}

void admission_kueue_repair(struct admission *x, const struct kind *k)
{
    if (text_equal(k->plural, "clusterqueues"))
        refuse_flat(x, k);
    if (!text_equal(k->plural, "resourceflavors") || x->strict_kueue ||
        !fix_flavor(x->arena, json_get(x->object, "spec")))
        return;
    admission_warn(x, "spec.nodeSelector: a ResourceFlavor calls it nodeLabels; it was taken as spec.nodeLabels, Kueue "
                      "drops it silently");
}
