/* Pod groups of Kubernetes itself (scheduling.k8s.io): a PodGroup, a group of a Workload, a tree of CompositePodGroups. */
#include "base/limits.h"
#include "codec/decode/decode_part.h"

#define NATIVE_VERSIONS(X)                      \
    X("v1beta1", "PodGroupInitiallyScheduled")  \
    X("v1alpha3", "PodGroupInitiallyScheduled") \
    X("v1alpha2", "PodGroupScheduled")
#define NATIVE_ROW(version, scheduled) {version, "scheduling.k8s.io/" version, scheduled},
#define NATIVE_PATH(version, scheduled) "/apis/scheduling.k8s.io/" version "/podgroups",
const struct native_version native_versions[] = {NATIVE_VERSIONS(NATIVE_ROW) {NULL, NULL, NULL}};
const char *const native_paths[] = {NATIVE_VERSIONS(NATIVE_PATH) NULL};

const struct native_version *native_version_at(const char *path)
{
    size_t at = 0;
    while (native_paths[at + 1] && !text_equal(native_paths[at], path))
        at++;
    return &native_versions[at];
}

/* levels NULL: it asks for none. */
static struct tier_request one_domain_of(const struct decoder *d, name_id gang, const char *levels)
{
    int64_t tier = INT64_MIN;
    bool known = d->levels_of && d->levels_of(d->ctx, gang, &levels, 1, &tier);
    return known ? decode_domain(d, levels, tier) : (struct tier_request){0};
}

/* Of spec.schedulingConstraints.topology[] {key}; NULL: it has none. The API lets it have one. */
static const char *native_labels(const struct decoder *d, const struct json *spec)
{
    const struct json *topology = json_path(spec, "schedulingConstraints", "topology", NULL);
    const char *labels = NULL;
    JSON_EACH (one, json_is(topology, JSON_ARRAY) ? topology : NULL) {
        const char *key = json_get_text(one, "key", "");
        if (*key)
            labels = labels ? arena_printf(d->arena, "%s,%s", labels, key) : key;
    }
    return labels;
}

/* spec.disruptionMode {single | all}, of v1alpha2 the word "Pod" or "PodGroup"; spec.preemptionPolicy. */
static void take_disruption(const struct json *spec, struct gang_record *g)
{
    const struct json *mode = json_get(spec, "disruptionMode");
    g->goes_whole |= json_get(mode, "all") != NULL || text_equal(json_text(mode, NULL), "PodGroup");
    g->preempts_nobody |= text_equal(json_get_text(spec, "preemptionPolicy", ""), "Never");
}

/* spec.schedulingPolicy {basic | gang{minCount}}: in all versions. */
int decode_native_pod_group(const struct decoder *d, const struct json *object, struct gang_record *ret_gang,
                            struct err *e)
{
    struct gang_record g;
    if (decode_group_begin(d, object, GANG_NATIVE, &g, e) < 0)
        return -E_INVALID;
    const struct json *spec = json_get(object, "spec");
    const struct json *priority = json_get(spec, "priority");
    g.min_members = decode_members(json_path(spec, "schedulingPolicy", "gang", "minCount", NULL));
    g.priority = priority ? decode_int32(json_int64(priority, 0)) : decode_class_priority(d, spec);
    g.tiers = one_domain_of(d, g.key, native_labels(d, spec));
    take_disruption(spec, &g);
    *ret_gang = g;
    return 0;
}

const char *decode_native_parent(const struct json *object)
{
    return json_text(json_path(object, "spec", "parentCompositePodGroupName", NULL), "");
}

const char *decode_native_unused(const struct decoder *d, const struct json *object)
{
    const struct json *spec = json_get(object, "spec"), *claims = json_get(spec, "resourceClaims");
    const char *text = NULL;
    struct gang_record g;
    bool asks = native_labels(d, spec) && decode_native_pod_group(d, object, &g, NULL) == 0;
    if (asks && g.tiers.mode == TOPOLOGY_UNASKED)
        text = "spec.schedulingConstraints.topology: " DECODE_LABELS_UNUSED;
    if (json_is(claims, JSON_ARRAY) && claims->n)
        text = decode_unused_add(d->arena, text, "spec.resourceClaims: no device is claimed for the group");
    return text;
}

const char *decode_part_unused(const struct decoder *d, const struct json *object, const char *unused)
{
    static const char *const of_top[] = {DECODE_REFILL_ANNOTATION, DECODE_HUNG_AFTER_ANNOTATION, DECODE_HUNG_RESTART_ANNOTATION,
                                         DECODE_CHECKPOINT_WITHIN_ANNOTATION};
    const struct json *annotations = json_path(object, "metadata", "annotations", NULL);
    for (size_t i = 0; i < sizeof of_top / sizeof *of_top; i++)
        if (json_get(annotations, of_top[i])) {
            const char *text = "metadata.annotations[%s]: write it on the CompositePodGroup on top, for all below it";
            unused = decode_unused_add(d->arena, unused, arena_printf(d->arena, text, of_top[i]));
        }
    return unused;
}

/* "native/NS/NAME/GROUP..." -> what follows NAME/, NULL when nothing does. */
static const char *group_of_workload(const char *gang_key)
{
    const char *prefix = decode_gang_prefix(GANG_NATIVE), *at = text_starts(gang_key, prefix) ? gang_key + strlen(prefix) : NULL;
    for (int i = 0; i < 2 && at; i++)
        at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL;
    return at;
}

bool decode_native_workload(const char *gang_key, struct bytes *ret_workload)
{
    const char *group = group_of_workload(gang_key), *object = group ? decode_gang_object(GANG_NATIVE, gang_key) : NULL;
    if (!group)
        return false;
    *ret_workload = (struct bytes){object, (size_t)(group - 1 - object)};
    return true;
}

/* spec.podGroups[] {name, policy {basic | gang{minCount}}}. WHY no restart, as of a group that has its object for itself: what is written
 * on this one is said of all its groups. */
int decode_native_group_of(const struct decoder *d, const struct json *workload, const char *gang_key, struct gang_record *ret_gang,
                           struct err *e)
{
    struct gang_record g;
    const char *name = group_of_workload(gang_key);
    struct bytes group = {name, name ? strcspn(name, "/") : 0};
    if (decode_group_begin(d, workload, GANG_NATIVE, &g, e) < 0)
        return -E_INVALID;
    const struct json *groups = json_path(workload, "spec", "podGroups", NULL), *found = NULL;
    JSON_EACH (one, json_is(groups, JSON_ARRAY) ? groups : NULL)
        if (!found && group.n && bytes_equal(json_bytes(json_get(one, "name")), group))
            found = one;
    if (!found)
        return err_set(e, E_NOTFOUND, "spec.podGroups: none is named \"%.*s\"", (int)group.n, group.data);
    g.key = intern_text_id(d->names, gang_key);
    g.min_members = decode_members(json_path(found, "policy", "gang", "minCount", NULL));
    g.restart_ms = 0;
    *ret_gang = g;
    return 0;
}

/* ---- a tree of CompositePodGroups ---- */

bool decode_native_asks(const struct json *object)
{
    const struct json *topology = json_path(object, "spec", "schedulingConstraints", "topology", NULL);
    return json_is(topology, JSON_ARRAY) && topology->n;
}

bool decode_composite_is_apart(const struct json *composite)
{
    return composite && !json_path(composite, "spec", "schedulingPolicy", "gang", NULL) && !decode_native_asks(composite);
}

static const char *kind_of(const struct native_part *part)
{
    return part->is_composite ? "CompositePodGroup" : "PodGroup";
}

static const char *part_name(const struct native_part *part)
{
    return json_text(json_path(part->object, "metadata", "name", NULL), "");
}

static const char *part_workload(const struct native_part *part)
{
    return json_text(json_path(part->object, "spec", "workloadRef", "workloadName", NULL), "");
}

/* What keeps the tree from starting at all; NULL: nothing. SOURCE Kubernetes, reason Invalid of CompositePodGroupInitiallyScheduled. */
static const char *tree_fault(const struct decoder *d, const struct native_part *parts, uint32_t n)
{
    uint32_t *depth = arena_zero(d->arena, n, sizeof *depth);
    bool is_deep = parts[0].is_endless;
    const struct native_part *other = NULL;
    for (uint32_t i = 1; i < n; i++) {
        depth[i] = depth[parts[i].above] + 1;
        is_deep |= depth[i] >= NATIVE_DEPTH;
        other = other || text_equal(part_workload(&parts[i]), part_workload(&parts[0])) ? other : &parts[i];
    }
    if (n - 1 > LIMIT_SUBGROUP_POLICIES)
        return arena_printf(d->arena, "more than %d groups are below CompositePodGroup %s: make fewer", LIMIT_SUBGROUP_POLICIES,
                            part_name(&parts[0]));
    if (is_deep)
        return arena_printf(d->arena, "spec.parentCompositePodGroupName: the groups above one another are more than %d, or a circle",
                            NATIVE_DEPTH);
    return other ? arena_printf(d->arena, "spec.workloadRef.workloadName: %s %.253s is of Workload %.253s, and CompositePodGroup %.253s above it "
                                          "of %.253s: a tree is of one", kind_of(other), part_name(other), part_workload(other),
                                part_name(&parts[0]), part_workload(&parts[0]))
                 : NULL;
}

static struct subgroup_policy part_policy(const struct decoder *d, const struct native_part *part)
{
    const struct json *policy = json_path(part->object, "spec", "schedulingPolicy", NULL);
    struct subgroup_policy p = {.name = intern_text_id(d->names, part_name(part)), .above = part->above};
    p.least_n = decode_members(json_path(policy, "gang", "minGroupCount", NULL)); /* basic, or of pods: one */
    if (part->is_composite) {
        p.pods.matches_nothing = true;
        return p;
    }
    struct requirement *one = arena_zero(d->arena, 1, sizeof *one);
    name_id *name = arena_alloc(d->arena, sizeof *name);
    *name = p.name;
    *one = (struct requirement){.key = intern_text_id(d->names, DECODE_PART_LABEL), .op = REQUIRE_IN, .values = name, .values_n = 1};
    p.pods = (struct selector){.all = one, .all_n = 1};
    p.size = decode_members(json_path(policy, "gang", "minCount", NULL));
    return p;
}

/* Of the whole, and of its parts: each in one domain of the label that it names. */
static void tree_topologies(const struct decoder *d, const struct native_part *parts, uint32_t n, struct subgroup_policy *policies,
                            struct gang_record *g)
{
    const char **levels = arena_zero(d->arena, n, sizeof *levels);
    int64_t *tiers = arena_alloc(d->arena, n * sizeof *tiers);
    for (uint32_t i = 0; i < n; i++) {
        levels[i] = native_labels(d, json_get(parts[i].object, "spec"));
        tiers[i] = INT64_MIN;
    }
    if (!d->levels_of || !d->levels_of(d->ctx, g->key, levels, n, tiers))
        return;
    for (uint32_t i = 0; i < n; i++)
        if (levels[i])
            *(i ? &policies[i - 1].tiers : &g->tiers) = decode_domain(d, levels[i], tiers[i]);
}

int decode_composite_group(const struct decoder *d, const struct native_part *parts, uint32_t n, struct gang_record *ret_gang,
                           struct err *e)
{
    struct gang_record g;
    if (decode_group_begin(d, parts[0].object, GANG_COMPOSITE, &g, e) < 0)
        return -E_INVALID;
    const struct json *spec = json_get(parts[0].object, "spec"), *priority = json_get(spec, "priority");
    const char *fault = tree_fault(d, parts, n);
    g.priority = priority ? decode_int32(json_int64(priority, 0)) : decode_class_priority(d, spec);
    for (uint32_t i = 1; i < n && !g.on_hold; i++)
        decode_group_hold(d, parts[i].object, &g);
    if (fault) {
        decode_group_fault(d, &g, fault);
        *ret_gang = g;
        return 0;
    }
    struct subgroup_policy *policies = arena_zero(d->arena, n, sizeof *policies);
    for (uint32_t i = 1; i < n; i++)
        policies[i - 1] = part_policy(d, &parts[i]);
    tree_topologies(d, parts, n, policies, &g);
    g.subgroups = policies;
    g.subgroups_n = n - 1;
    g.subgroups_least = decode_members(json_path(spec, "schedulingPolicy", "gang", "minGroupCount", NULL));
    for (uint32_t i = 0; i < n; i++) /* one that goes whole takes all with it, which is more than it asks for */
        take_disruption(json_get(parts[i].object, "spec"), &g);
    *ret_gang = g;
    return 0;
}
