/* admission_composite.c - Kubernetes' own groups of pod groups: one policy, the Workload that they were made from, what may not change
 *
 * SOURCE kube-apiserver 1.37.2 with feature gate CompositePodGroup: paths, types and texts.
 */
#include "codec/admission/admission_part.h"

/* Of what may be there as one of two members, exactly one is. */
static void one_of(struct admission *x, const char *path, const struct json *v, const char *first, const char *second)
{
    bool has_first = json_get(v, first) != NULL, has_second = json_get(v, second) != NULL;
    if (!has_first && !has_second)
        admission_error_text(x, FIELD_INVALID, path, (struct bytes){0}, AT(x, "must specify one of: `%s`, `%s`", first, second));
    else if (has_first && has_second)
        admission_error_text(x, FIELD_INVALID, path, bytes_of(AT(x, "{%s, %s}", first, second)),
                             AT(x, "must specify exactly one of: `%s`, `%s`", first, second));
}

static void composite(struct admission *x, const struct json *spec)
{
    static const char *const fixed[] = {"schedulingPolicy", "schedulingConstraints", "disruptionMode", "workloadRef",
                                        "priorityClassName", "priority", "preemptionPolicy"};
    const struct json *policy = json_get(spec, "schedulingPolicy"), *mode = json_get(spec, "disruptionMode");
    if (policy)
        one_of(x, "spec.schedulingPolicy", policy, "basic", "gang");
    if (mode)
        one_of(x, "spec.disruptionMode", mode, "single", "all");
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        admission_immutable(x, "spec", fixed[i]);
}

void admission_composite(struct admission *x, const struct kind *k)
{
    const struct json *spec = json_get(x->object, "spec"), *parent = json_get(spec, "parentCompositePodGroupName");
    bool is_composite = text_equal(k->plural, "compositepodgroups");
    if (!is_composite && !text_equal(k->plural, "podgroups"))
        return;
    admission_immutable(x, "spec", "parentCompositePodGroupName");
    if (is_composite)
        composite(x, spec);
    else if (parent && !json_get(spec, "workloadRef"))
        admission_error(x, FIELD_REQUIRED, "spec.workloadRef", NULL, "must be set when parentCompositePodGroupName is set");
}
