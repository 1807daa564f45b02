/* Kueue's kinds, both served shapes; fields that were renamed are looked for under both names. */
#include "base/clock.h"
#include "base/limits.h"
#include "base/quantity.h"
#include "codec/decode/decode_part.h"
#include "codec/decode/template_rules.h"
#include "codec/kinds/kind_convert.h"
#include "codec/kinds/queued_kinds.h"
#include "codec/kinds/waiting_names.h"
#include "core/state/topology.h"

int decode_namespace(const struct decoder *d, const struct json *object, struct namespace_record *ret_ns, struct err *e)
{
    const char *name;
    if (decode_object_name(object, &name, e) < 0)
        return -E_INVALID;
    memset(ret_ns, 0, sizeof *ret_ns);
    ret_ns->name = intern_text_id(d->names, name);
    decode_labels(d, json_path(object, "metadata", "labels", NULL), &ret_ns->labels, &ret_ns->labels_n);
    return 0;
}

int decode_flavor(const struct decoder *d, const struct json *object, struct flavor_record *ret_flavor, struct err *e)
{
    const char *name;
    if (decode_object_name(object, &name, e) < 0)
        return -E_INVALID;
    const struct json *spec = json_get(object, "spec");
    memset(ret_flavor, 0, sizeof *ret_flavor);
    ret_flavor->name = intern_text_id(d->names, name);
    ret_flavor->topology = decode_name(d, json_get(spec, "topologyName"));
    decode_labels(d, json_get(spec, "nodeLabels"), &ret_flavor->node_labels, &ret_flavor->node_labels_n);
    decode_taints(d, json_get(spec, "nodeTaints"), &ret_flavor->taints, &ret_flavor->taints_n);
    decode_tolerations(d, json_get(spec, "tolerations"), &ret_flavor->tolerations, &ret_flavor->tolerations_n);
    return 0;
}

static int decode_limit(const struct json *v, bool milli, int64_t *ret_value, struct err *e)
{
    *ret_value = NO_LIMIT;
    return v && v->type != JSON_NULL ? decode_quantity(json_bytes(v), milli, ret_value, e) : 0;
}

static uint32_t list_n(const struct json *list)
{
    return json_is(list, JSON_ARRAY) ? list->n : 0;
}

/* The item of a flavor's resources with this name. */
static const struct json *resource_of(const struct json *flavor, struct bytes name)
{
    JSON_EACH (resource, list_n(json_get(flavor, "resources")) ? json_get(flavor, "resources") : NULL)
        if (bytes_equal(json_bytes(json_get(resource, "name")), name))
            return resource;
    return NULL;
}

static int decode_quota(const struct decoder *d, const struct json *flavor, const struct json *covered,
                        struct quota_record *q, struct err *e)
{
    struct bytes name = json_bytes(covered);
    const struct json *resource = resource_of(flavor, name);
    bool milli = decode_is_milli(name);
    *q =
        (struct quota_record){decode_name(d, json_get(flavor, "name")), decode_name(d, covered), 0, NO_LIMIT, NO_LIMIT};
    if (!resource)
        return 0;
    if (json_get(resource, "nominalQuota") &&
        decode_quantity(json_bytes(json_get(resource, "nominalQuota")), milli, &q->nominal, e) < 0)
        return err_wrap(e, "nominalQuota");
    if (decode_limit(json_get(resource, "borrowingLimit"), milli, &q->borrowing_limit, e) < 0)
        return err_wrap(e, "borrowingLimit");
    if (decode_limit(json_get(resource, "lendingLimit"), milli, &q->lending_limit, e) < 0)
        return err_wrap(e, "lendingLimit");
    return 0;
}

struct quota_table {
    struct resource_group *groups;
    uint32_t groups_n;
    struct quota_record *quotas;
    uint32_t quotas_n;
};

static int decode_group(const struct decoder *d, const struct json *group, struct quota_table *t, struct err *e)
{
    const struct json *covered = json_get(group, "coveredResources"), *flavors = json_get(group, "flavors");
    struct resource_group *out = &t->groups[t->groups_n];
    uint32_t resources_n = list_n(covered), flavors_n = list_n(flavors);
    if (resources_n == 0 || flavors_n == 0)
        return 0;
    name_id *resources = arena_alloc(d->arena, resources_n * sizeof *resources);
    name_id *names = arena_alloc(d->arena, flavors_n * sizeof *names);
    uint32_t at = 0;
    JSON_EACH (resource, covered)
        resources[at++] = decode_name(d, resource);
    at = 0;
    JSON_EACH (flavor, flavors) {
        names[at] = decode_name(d, json_get(flavor, "name"));
        JSON_EACH (resource, covered)
            if (decode_quota(d, flavor, resource, &t->quotas[t->quotas_n++], e) < 0)
                return err_wrap(e, "flavors[%u].resources[%s]", at, json_text(resource, "?"));
        at++;
    }
    *out = (struct resource_group){resources, resources_n, names, flavors_n};
    t->groups_n++;
    return 0;
}

static int decode_resource_groups(const struct decoder *d, const struct json *groups, struct quota_table *t,
                                  struct err *e)
{
    size_t pairs_n = 0;
    memset(t, 0, sizeof *t);
    if (list_n(groups) == 0)
        return 0;
    JSON_EACH (group, groups)
        pairs_n += (size_t)list_n(json_get(group, "coveredResources")) * list_n(json_get(group, "flavors"));
    if (pairs_n > 16 * 512)
        return err_set(e, E_LIMIT, "spec.resourceGroups: %zu pairs of flavor and resource, at most %d are counted",
                       pairs_n, 16 * 512);
    t->groups = arena_zero(d->arena, groups->n, sizeof *t->groups);
    t->quotas = arena_zero(d->arena, pairs_n ? pairs_n : 1, sizeof *t->quotas);
    uint32_t at = 0;
    JSON_EACH (group, groups) {
        if (decode_group(d, group, t, e) < 0)
            return err_wrap(e, "spec.resourceGroups[%u]", at);
        at++;
    }
    return 0;
}

/* LIMIT  what is more than an int64 of 1e-9 counts as that: nobody's share is less. */
static int decode_weight(const struct json *spec, bool *ret_has_weight, int64_t *ret_weight_nano, struct err *e)
{
    const struct json *v = json_path(spec, "fairSharing", "weight", NULL);
    struct quantity q;
    *ret_has_weight = v && v->type != JSON_NULL;
    *ret_weight_nano = 0;
    if (!*ret_has_weight)
        return 0;
    if (quantity_parse(json_bytes(v), &q, e) < 0)
        return err_wrap(e, "spec.fairSharing.weight");
    *ret_weight_nano = q.nano < 0 ? 0 : q.nano > INT64_MAX ? INT64_MAX : (int64_t)q.nano;
    return 0;
}

/* ---- topologies ---- */

static const struct json *items_of(const struct json *v)
{
    return list_n(v) ? v : NULL;
}

int decode_topology(const struct decoder *d, const struct json *object, struct topology_record *ret_topology, struct err *e)
{
    const char *name;
    const struct json *levels = items_of(json_path(object, "spec", "levels", NULL));
    if (decode_object_name(object, &name, e) < 0)
        return -E_INVALID;
    if (levels && levels->n > TOPOLOGY_LEVELS)
        return err_set(e, E_LIMIT, "spec.levels: %u levels, at most %d are allowed", levels->n, TOPOLOGY_LEVELS);
    name_id *all = arena_alloc(d->arena, (levels ? levels->n : 0) * sizeof *all + 1);
    *ret_topology = (struct topology_record){.name = intern_text_id(d->names, name), .levels = all};
    JSON_EACH (level, levels)
        all[ret_topology->levels_n++] = decode_name(d, json_get(level, "nodeLabel"));
    return 0;
}

static int32_t size_of(const struct json *v)
{
    int64_t n = json_int64(v, 0);
    return n < 1 ? 1 : n > INT32_MAX ? INT32_MAX : (int32_t)n;
}

static void decode_topology_request(const struct decoder *d, const struct json *request, struct topology_request *ret_request)
{
    struct topology_request r = {0};
    const struct json *required = json_get(request, "required"), *preferred = json_get(request, "preferred");
    if (json_is(required, JSON_STRING)) {
        r.mode = TOPOLOGY_REQUIRED;
        r.level = decode_name(d, required);
    } else if (json_is(preferred, JSON_STRING)) {
        r.mode = TOPOLOGY_PREFERRED;
        r.level = decode_name(d, preferred);
    } else if (json_get_bool(request, "unconstrained", false)) {
        r.mode = TOPOLOGY_UNCONSTRAINED;
    }
    r.group = decode_name(d, json_get(request, "podSetGroupName"));
    JSON_EACH (layer, items_of(json_get(request, "podsetSliceRequiredTopologyConstraints")))
        if (r.slices_n < TOPOLOGY_SLICES)
            r.slices[r.slices_n++] = (struct topology_slice){decode_name(d, json_get(layer, "topology")), size_of(json_get(layer, "size"))};
    const struct json *slice = json_get(request, "podSetSliceRequiredTopology");
    if (!r.slices_n && json_is(slice, JSON_STRING))
        r.slices[r.slices_n++] = (struct topology_slice){decode_name(d, slice), size_of(json_get(request, "podSetSliceSize"))};
    *ret_request = r;
}

/* "b1,r2"; of nodes the last value alone. */
static name_id domain_name(const struct decoder *d, const struct json *values, bool by_node)
{
    const char *text = "";
    JSON_EACH (value, items_of(values))
        text = by_node || !*text ? json_text(value, "") : arena_printf(d->arena, "%s,%s", text, json_text(value, ""));
    return intern_text_id(d->names, text);
}

static uint32_t decode_domains(const struct decoder *d, const struct json *assignment, uint16_t pod_set, struct domain_choice **ret_domains)
{
    const struct json *levels = items_of(json_get(assignment, "levels")), *level = levels ? json_item(levels, levels->n - 1) : NULL;
    struct json *rows = json_is(assignment, JSON_OBJECT) ? json_clone(d->arena, assignment) : NULL;
    uint32_t n = 0;
    if (rows && json_get(rows, "slices"))
        kind_convert_topology(d->arena, rows, false);
    const struct json *domains = items_of(json_get(rows, "domains"));
    bool by_node = bytes_is(json_bytes(level), TOPOLOGY_NODE_LABEL);
    *ret_domains = arena_alloc(d->arena, (domains ? domains->n : 0) * sizeof **ret_domains + 1);
    JSON_EACH (domain, domains) {
        int64_t count = json_get_int64(domain, "count", 0);
        (*ret_domains)[n++] = (struct domain_choice){pod_set, domain_name(d, json_get(domain, "values"), by_node),
                                                     count < 0 ? 0 : count > INT32_MAX ? INT32_MAX : (int32_t)count};
    }
    return n;
}

/* ---- queues ---- */

static enum stop_policy stop_policy_of(const struct json *v)
{
    struct bytes text = json_bytes(v);
    return bytes_is(text, "Hold") ? STOP_HOLD : bytes_is(text, "HoldAndDrain") ? STOP_HOLD_AND_DRAIN : STOP_NONE;
}

static enum preemption_policy preemption_of(const struct json *v)
{
    struct bytes text = json_bytes(v);
    return bytes_is(text, "LowerPriority")               ? PREEMPT_LOWER_PRIORITY
           : bytes_is(text, "LowerOrNewerEqualPriority") ? PREEMPT_LOWER_OR_NEWER_EQUAL_PRIORITY
           : bytes_is(text, "Any")                       ? PREEMPT_ANY
                                                         : PREEMPT_NEVER;
}

static int32_t int32_of(int64_t n)
{
    return n > INT32_MAX ? INT32_MAX : n < INT32_MIN ? INT32_MIN : (int32_t)n;
}

static bool is_deleting(const struct json *object)
{
    return json_is(json_path(object, "metadata", "deletionTimestamp", NULL), JSON_STRING);
}

const struct json *decode_queue_cohort(const struct json *spec)
{
    const struct json *cohort = json_get(spec, "cohortName");
    return cohort ? cohort : json_get(spec, "cohort");
}

int decode_cluster_queue(const struct decoder *d, const struct json *object, struct queue_record *ret_queue,
                         struct err *e)
{
    const char *name;
    struct quota_table quota;
    const struct json *spec = json_get(object, "spec");
    if (decode_object_name(object, &name, e) < 0 ||
        decode_resource_groups(d, json_get(spec, "resourceGroups"), &quota, e) < 0)
        return -E_INVALID;
    struct queue_record q = {.name = intern_text_id(d->names, name)};
    const struct json *fungibility = json_get(spec, "flavorFungibility"), *preemption = json_get(spec, "preemption");
    struct bytes borrow = json_bytes(json_get(fungibility, "whenCanBorrow")),
                 preempt = json_bytes(json_get(fungibility, "whenCanPreempt"));
    q.cohort = decode_name(d, decode_queue_cohort(spec));
    q.strategy = bytes_is(json_bytes(json_get(spec, "queueingStrategy")), "StrictFIFO") ? QUEUE_STRICT_FIFO
                                                                                        : QUEUE_BEST_EFFORT_FIFO;
    (void)decode_backfill(json_bytes(json_path(object, "metadata", "annotations", DECODE_BACKFILL_ANNOTATION, NULL)), &q.backfill);
    q.placement = decode_queue_placement(object, d->arena);
    (void)decode_move_cost(json_bytes(json_path(object, "metadata", "annotations", DECODE_MOVE_COST_ANNOTATION, NULL)), &q.move_cost_s);
    q.stop = stop_policy_of(json_get(spec, "stopPolicy"));
    decode_label_selector(d, json_get(spec, "namespaceSelector"), &q.namespaces);
    q.groups = quota.groups;
    q.groups_n = quota.groups_n;
    q.quotas = quota.quotas;
    q.quotas_n = quota.quotas_n;
    q.borrow_before_next_flavor = !bytes_is(borrow, "TryNextFlavor");
    q.preempt_before_next_flavor = bytes_is(preempt, "MayStopSearch") || bytes_is(preempt, "Preempt");
    q.preempt_before_borrowing = bytes_is(json_bytes(json_get(fungibility, "preference")), "PreemptionOverBorrowing");
    q.within_queue = preemption_of(json_get(preemption, "withinClusterQueue"));
    q.reclaim_within_cohort = preemption_of(json_get(preemption, "reclaimWithinCohort"));
    q.borrow_within_cohort = preemption_of(json_path(preemption, "borrowWithinCohort", "policy", NULL));
    const struct json *threshold = json_path(preemption, "borrowWithinCohort", "maxPriorityThreshold", NULL);
    q.has_borrow_threshold = json_is(threshold, JSON_NUMBER);
    q.borrow_threshold = int32_of(json_int64(threshold, 0));
    if (decode_weight(spec, &q.has_weight, &q.weight_nano, e) < 0)
        return -E_INVALID;
    q.by_consumption = bytes_is(json_bytes(json_path(spec, "admissionScope", "admissionMode", NULL)), "UsageBasedAdmissionFairSharing");
    q.unlimited = d->charge && d->charge->ignores_undeclared;
    q.closed = is_deleting(object);
    decode_queue_checks(d, spec, &q);
    const char *problem = !q.closed && q.checks_n && d->checks_problem ? d->checks_problem(d->ctx, spec, d->arena) : NULL;
    if (problem) {
        q.closed = true;
        q.closed_text = intern_text_id(d->names, problem);
    }
    *ret_queue = q;
    return 0;
}

int decode_cohort(const struct decoder *d, const struct json *object, struct cohort_record *ret_cohort, struct err *e)
{
    const char *name;
    struct quota_table quota;
    const struct json *spec = json_get(object, "spec");
    if (decode_object_name(object, &name, e) < 0 ||
        decode_resource_groups(d, json_get(spec, "resourceGroups"), &quota, e) < 0)
        return -E_INVALID;
    const struct json *parent = json_get(spec, "parentName") ? json_get(spec, "parentName") : json_get(spec, "parent");
    struct cohort_record c = {.name = intern_text_id(d->names, name), .parent = decode_name(d, parent), .quotas = quota.quotas,
                              .quotas_n = quota.quotas_n};
    if (decode_weight(spec, &c.has_weight, &c.weight_nano, e) < 0)
        return -E_INVALID;
    *ret_cohort = c;
    return 0;
}

static name_id slash_key(const struct decoder *d, const char *ns, const char *name)
{
    char key[2 * LIMIT_NAME + 2];
    int n = snprintf(key, sizeof key, "%s/%s", ns, name);
    return n < 0 || (size_t)n >= sizeof key ? 0 : intern_id(d->names, (struct bytes){key, (size_t)n});
}

/* What somebody, perhaps an earlier self, found that it had used of late. What is no quantity has not been used. */
static void decode_consumed(const struct decoder *d, const struct json *object, struct local_queue_record *r)
{
    const struct json *told = json_path(object, "status", "fairSharing", "admissionFairSharingStatus", NULL),
                      *all = json_get(told, "consumedResources");
    if (!time_parse(json_bytes(json_get(told, "lastUpdate")), &r->consumed_ms) || r->consumed_ms <= 0) {
        r->consumed_ms = 0;
        return;
    }
    uint32_t most = json_is(all, JSON_OBJECT) ? all->n : 0;
    struct fine_amount *rows = arena_alloc(d->arena, (most + 1) * sizeof *rows);
    r->consumed = rows;
    JSON_EACH (one, most ? all : NULL) {
        struct quantity q;
        if (quantity_parse(json_bytes(one), &q, NULL) < 0 || q.nano <= 0)
            continue;
        __int128 most_nano = (__int128)INT64_MAX * FINE_PER_UNIT;
        q.nano = q.nano < most_nano ? q.nano : most_nano;
        rows[r->consumed_n++] = (struct fine_amount){intern_text_id(d->names, one->key), (int64_t)(q.nano / FINE_PER_UNIT),
                                                     (int32_t)(q.nano % FINE_PER_UNIT)};
    }
}

int decode_local_queue(const struct decoder *d, const struct json *object, struct local_queue_record *ret_queue,
                       struct err *e)
{
    const char *name;
    if (decode_object_name(object, &name, e) < 0)
        return -E_INVALID;
    const char *ns = json_text(json_path(object, "metadata", "namespace", NULL), "");
    const struct json *spec = json_get(object, "spec");
    *ret_queue = (struct local_queue_record){.key = slash_key(d, ns, name), .title = intern_text_id(d->names, name),
                                             .ns = intern_text_id(d->names, ns), .queue = decode_name(d, json_get(spec, "clusterQueue")),
                                             .stop = stop_policy_of(json_get(spec, "stopPolicy"))};
    decode_consumed(d, object, ret_queue);
    return decode_weight(spec, &ret_queue->has_weight, &ret_queue->weight_nano, e);
}

static int32_t count_of(const struct json *v, int32_t fallback)
{
    int64_t n = json_int64(v, fallback);
    return n < 0 ? 0 : n > LIMIT_GANG_MEMBERS ? LIMIT_GANG_MEMBERS : (int32_t)n;
}

/* status.reclaimablePods: how many members of each set are over and give back what they used. */
static void decode_reclaimable(const struct json *list, const struct intern *names, struct pod_set *sets, uint32_t sets_n)
{
    JSON_EACH (item, list_n(list) ? list : NULL) {
        struct bytes name = json_bytes(json_get(item, "name"));
        int32_t over = count_of(json_get(item, "count"), 0);
        for (uint32_t i = 0; i < sets_n; i++)
            if (bytes_equal(name, bytes_of(intern_name(names, sets[i].name))))
                sets[i].reclaimed = over < sets[i].count ? over : sets[i].count;
    }
}

static const struct json *controlling_owner(const struct json *object)
{
    JSON_EACH (owner, json_path(object, "metadata", "ownerReferences", NULL))
        if (json_get_bool(owner, "controller", false))
            return owner;
    return NULL;
}

/* Pods of a job may come after others that have succeeded: it may have more completions than it runs pods at a time, and its Workload
 * does not say how many. */
static bool comes_in_turns(const struct json *object)
{
    const struct json *owner = controlling_owner(object);
    const struct queued_kind *k = owner ? queued_kind_of_owner(owner) : NULL;
    return k && k->reclaims;
}

/* The template as its pods will be. What no pod can be made of waits, and says why. */
static int decode_set_template(const struct decoder *d, const struct json *pod_template, const char *path,
                               struct gang_record *g, struct pod_set *set, struct err *e)
{
    struct shape *ret_shape = &set->shape;
    struct template_rules rules = {0};
    const char *class = json_text(json_path(pod_template, "spec", "runtimeClassName", NULL), "");
    if (d->limit_ranges)
        rules.limit_ranges = d->limit_ranges(d->ctx, intern_name(d->names, g->ns), d->arena);
    if (d->runtime_class && class[0])
        rules.runtime_class = d->runtime_class(d->ctx, class, d->arena);
    pod_template = template_rules_apply(d->arena, pod_template, &rules);
    const struct amount *counted;
    uint32_t counted_n;
    const char *broken_share;
    if (decode_template_counted(d, pod_template, g->ns, path, ret_shape, &counted, &counted_n, &broken_share, e) < 0)
        return -E_INVALID;
    set->is_charged = charge_apply(d->charge, d->arena, d->names, counted, counted_n, &set->charged, &set->charged_n);
    if (!set->is_charged && counted != ret_shape->requests) {
        set->is_charged = true;
        set->charged = counted;
        set->charged_n = counted_n;
    }
    if (g->on_hold)
        return 0;
    const char *broken = broken_share ? broken_share : template_rules_broken(d->arena, pod_template, path, &rules);
    if (!broken)
        broken = template_rules_pod_broken(d, ret_shape, path, &rules);
    if (broken) {
        g->on_hold = g->hold_is_fault = true;
        g->hold_text = intern_text_id(d->names, broken);
    }
    return 0;
}

/* Is the name one of "a,b"? */
static bool is_listed(const char *list, const char *name)
{
    size_t name_n = strlen(name);
    for (size_t n = strcspn(list, ","); *list; list += n + (list[n] == ','), n = strcspn(list, ","))
        if (n == name_n && memcmp(list, name, n) == 0)
            return true;
    return false;
}

static int decode_pod_sets(const struct decoder *d, const struct json *object, struct gang_record *g,
                           struct pod_set **ret_sets, struct err *e)
{
    const struct json *list = json_path(object, "spec", "podSets", NULL);
    if (list_n(list) > LIMIT_PODSETS)
        return err_set(e, E_LIMIT, "spec.podSets: %u pod sets, at most %d are allowed", list->n, LIMIT_PODSETS);
    struct pod_set *sets = list_n(list) ? arena_zero(d->arena, list->n, sizeof *sets) : NULL;
    const char *later = json_text(json_path(object, "metadata", "annotations", DECODE_LATER_ANNOTATION, NULL), ""),
               *serial = json_text(json_path(object, "metadata", "annotations", DECODE_SERIAL_ANNOTATION, NULL), "");
    uint32_t n = 0;
    int64_t members = 0;
    bool in_turns = comes_in_turns(object);
    JSON_EACH (item, sets ? list : NULL) {
        char path[64];
        struct pod_set *s = &sets[n];
        (void)snprintf(path, sizeof path, "spec.podSets[%u].template", n); /* fits */
        s->name = intern_text_id(d->names, json_get_text(item, "name", "main"));
        s->later = is_listed(later, json_get_text(item, "name", "main"));
        s->serial = is_listed(serial, json_get_text(item, "name", "main"));
        s->count = count_of(json_get(item, "count"), 1);
        s->min_count = count_of(json_get(item, "minCount"), s->count);
        decode_topology_request(d, json_get(item, "topologyRequest"), &s->topology);
        /* WHY  a job of fewer pods than one of its slices is refused by Kueue's webhook, and could never be started */
        if (s->topology.slices_n && s->min_count < s->topology.slices[0].size)
            s->min_count = s->topology.slices[0].size;
        if (s->min_count > s->count)
            s->min_count = s->count;
        const struct json *pod_template = decode_updated_template(d, object, intern_name(d->names, s->name), json_get(item, "template"));
        if (decode_set_template(d, decode_passed_over(d, object, pod_template), path, g, s, e) < 0)
            return -E_INVALID;
        s->in_turns = in_turns;
        members += s->min_count;
        n++;
    }
    if (members > LIMIT_GANG_MEMBERS)
        return err_set(e, E_LIMIT, "spec.podSets: %lld pods, at most %d in one gang", (long long)members,
                       LIMIT_GANG_MEMBERS);
    if (!d->charge || !d->charge->counts_reclaimable)
        decode_reclaimable(json_path(object, "status", "reclaimablePods", NULL), d->names, sets, n);
    g->pod_sets = *ret_sets = sets;
    g->pod_sets_n = n;
    g->min_members = (int32_t)members;
    return 0;
}

static int by_resource(const void *left, const void *right)
{
    const struct amount *a = left, *b = right;
    return a->resource < b->resource ? -1 : a->resource > b->resource;
}

/* The amount that the sum of a set's members comes to for one of them. */
static bool usage_of_one(const struct json *sum, struct bytes resource, int64_t count, int64_t *ret_value)
{
    int64_t value;
    if (!sum || decode_quantity(json_bytes(sum), decode_is_milli(resource), &value, NULL) < 0 || value % count)
        return false;
    *ret_value = value / count;
    return true;
}

/* What the admission was for: overhead, defaults and rules of then, whatever they are today. Its pods were made with them.
 * SOURCE Kueue counts status.admission, not the template. */
static void decode_usage(const struct decoder *d, const struct json *usage, int64_t count, struct pod_set *set)
{
    uint32_t known_n = set->is_charged ? set->charged_n : set->shape.requests_n, n = known_n, extra_n = 0;
    const struct amount *known = set->is_charged ? set->charged : set->shape.requests;
    struct amount *own = arena_alloc(d->arena, (known_n + (json_is(usage, JSON_OBJECT) ? usage->n : 0) + 1) * sizeof *own);
    for (uint32_t i = 0; i < known_n; i++) {
        const char *name = intern_name(d->names, known[i].resource);
        own[i] = known[i];
        if (count > 0)
            (void)usage_of_one(json_get(usage, name), bytes_of(name), count, &own[i].value);
    }
    JSON_EACH (one, json_is(usage, JSON_OBJECT) && count > 0 ? usage : NULL) { /* counted by rules that are no more */
        struct bytes name = {one->key, one->key_n};
        struct amount extra = {.resource = intern_id(d->names, name)};
        bool is_known = bytes_is(name, "pods") || !usage_of_one(one, name, count, &extra.value) || extra.value <= 0;
        for (uint32_t i = 0; i < known_n && !is_known; i++)
            is_known = own[i].resource == extra.resource;
        if (!is_known)
            own[n + extra_n++] = extra;
    }
    if (!set->is_charged && !extra_n) {
        set->shape.requests = own;
        return;
    }
    qsort(own, n + extra_n, sizeof *own, by_resource);
    set->is_charged = true;
    set->charged = own;
    set->charged_n = n + extra_n;
}

/* status.admission -> flavor choices; unknown pod sets are left out. */
static void decode_admission(const struct decoder *d, const struct json *object, const struct json *admission,
                             struct pod_set *sets, struct gang_record *g)
{
    const struct json *assignments = json_get(admission, "podSetAssignments");
    struct flavor_choice *choices = NULL;
    struct domain_choice *domains = NULL, *more;
    uint32_t n = 0, cap = 0, domains_n = 0, domains_cap = 0;
    JSON_EACH (assignment, list_n(assignments) ? assignments : NULL) {
        name_id set = intern_text_id(d->names, json_get_text(assignment, "name", "main"));
        uint16_t at = 0;
        while (at < g->pod_sets_n && g->pod_sets[at].name != set)
            at++;
        const struct json *flavors = json_get(assignment, "flavors");
        if (at == g->pod_sets_n)
            continue;
        sets[at].granted = count_of(json_get(assignment, "count"), 0);
        decode_usage(d, json_get(assignment, "resourceUsage"), count_of(json_get(assignment, "count"), sets[at].count), &sets[at]);
        for (uint32_t i = 0, more_n = decode_domains(d, json_get(assignment, "topologyAssignment"), at, &more); i < more_n; i++)
            *DECODE_PUSH(d->arena, domains, domains_n, domains_cap) = more[i];
        if (!json_is(flavors, JSON_OBJECT))
            continue;
        JSON_EACH (flavor, flavors)
            *DECODE_PUSH(d->arena, choices, n, cap) = (struct flavor_choice){
                at, intern_id(d->names, (struct bytes){flavor->key, flavor->key_n}), decode_name(d, flavor)};
    }
    g->admitted = true;
    g->reserved_only = !decode_condition_true(object, "Admitted");
    g->evicted = decode_condition_true(object, "Evicted");
    g->foreign = g->reserved_only && (!decode_reserved_by_us(object) || decode_waits_for_machines(object));
    if (!time_parse(json_bytes(json_get(decode_condition(object, "QuotaReserved"), "lastTransitionTime")), &g->reserved_ms))
        g->reserved_ms = 0;
    g->admitted_queue = decode_name(d, json_get(admission, "clusterQueue"));
    g->choices = choices;
    g->choices_n = n;
    g->domains = domains;
    g->domains_n = domains_n;
}

/* Place in the queue: creation, or the eviction when the pods did not become ready in time (Kueue's default requeuing
 * timestamp), or a check asked for another try. */
static int64_t queued_ms(const struct decoder *d, const struct json *object)
{
    const struct json *evicted = decode_condition(object, "Evicted");
    struct bytes why = json_bytes(json_get(evicted, "reason"));
    int64_t ms;
    if (bytes_is(json_bytes(json_get(evicted, "status")), "True") &&
        ((!d->requeue_by_creation && bytes_is(why, "PodsReadyTimeout")) || bytes_is(why, "AdmissionCheck")) &&
        time_parse(json_bytes(json_get(evicted, "lastTransitionTime")), &ms))
        return ms;
    return decode_created_ms(object);
}

static int64_t changed_ms(const struct json *condition)
{
    int64_t ms;
    return time_parse(json_bytes(json_get(condition, "lastTransitionTime")), &ms) ? ms : 0;
}

/* SOURCE Kueue: without the condition, and for the reason that it had once, they have not been ready yet. */
static void decode_ready(const struct json *object, struct gang_record *g)
{
    const struct json *ready = decode_condition(object, "PodsReady"), *admitted = decode_condition(object, "Admitted");
    struct bytes why = json_bytes(json_get(ready, "reason"));
    g->pods = PODS_UNSAID;
    if (bytes_is(json_bytes(json_get(ready, "status")), "True"))
        g->pods = PODS_READY;
    else if (!ready || bytes_is(why, "WaitForStart") || bytes_is(why, "PodsReady"))
        g->pods = PODS_START;
    else if (bytes_is(why, "WaitForRecovery"))
        g->pods = PODS_RECOVER;
    g->unready_ms = changed_ms(ready);
    g->admitted_ms = decode_condition_true(object, "Admitted") ? changed_ms(admitted) : 0;
    g->retries_n = int32_of(json_int64(json_path(object, "status", "requeueState", "count", NULL), 0));
}

static bool is_of_one_pod(const struct json *object)
{
    return bytes_is(json_bytes(json_get(controlling_owner(object), "kind")), "Pod");
}

/* SOURCE Kueue: a pod that was stopped does not start again; its Workload needs no place. */
static bool has_lost_its_pod(const struct json *object)
{
    const struct json *requeued = decode_condition(object, "Requeued");
    struct bytes why = json_bytes(json_get(requeued, "reason"));
    return is_of_one_pod(object) && !decode_condition_true(object, "QuotaReserved") && bytes_is(json_bytes(json_get(requeued, "status")), "False") &&
           (bytes_is(why, "Preempted") || bytes_is(why, "NodeFailures"));
}

/* SOURCE Kueue: an evicted group comes back when it is whole again. */
static bool waits_for_pods(const struct json *object)
{
    return decode_condition_true(object, "WaitingForReplacementPods") && !decode_condition_true(object, "QuotaReserved");
}

/* A set without pods, a job that is invalid: the sentence; NULL: it is not held. */
static const char *held_by_owner(const struct json *object)
{
    const struct json *reserved = decode_condition(object, "QuotaReserved");
    const char *text = json_get_text(reserved, "message", "");
    return workload_held_message(text) && bytes_is(json_bytes(json_get(reserved, "status")), "False") ? text : NULL;
}

/* What keeps it from its queue besides queues, flavors and its own faults. */
static void decode_hold(const struct decoder *d, const struct json *object, struct gang_record *g)
{
    const char *gated_by = json_text(json_get(json_path(object, "metadata", "annotations", NULL), "kueue.x-k8s.io/admission-gated-by"), ""),
               *why = *gated_by                   ? arena_printf(d->arena, "Admission is gated by: %s", gated_by)
                      : has_lost_its_pod(object) ? "Its pod was stopped, and does not start again"
                      : held_by_owner(object)    ? held_by_owner(object)
                      : waits_for_pods(object)   ? "Waits for pods in the place of those that were stopped"
                                                 : NULL;
    if (!why)
        return;
    g->on_hold = true;
    g->hold_is_fault = false;
    g->hold_text = intern_text_id(d->names, why);
}

/* ---- what is lost by its end (core/preempt/stakes.h) ---- */

bool decode_minimum_run(struct bytes text, int32_t *ret_s)
{
    int64_t seconds;
    if (!bytes_int64(text, &seconds) || seconds < 0 || seconds > DECODE_MINIMUM_RUN_MOST_S)
        return false;
    *ret_s = (int32_t)seconds;
    return true;
}

bool decode_checkpoint(struct bytes text, int64_t *ret_ms)
{
    int64_t ms;
    if (!time_parse(text, &ms) || ms <= 0)
        return false;
    *ret_ms = ms;
    return true;
}

/* SOURCE Kubernetes: 0 is taken as 1. */
static int32_t grace_of(const struct json *set)
{
    int64_t seconds = json_int64(json_path(set, "template", "spec", "terminationGracePeriodSeconds", NULL), POD_GRACE_S);
    return seconds < 1 ? 1 : seconds > INT32_MAX ? INT32_MAX : (int32_t)seconds;
}

/* What cannot be read was not said: who wrote it had a Warning. */
static void decode_stakes(const struct json *object, struct gang_record *g)
{
    const struct json *annotations = json_path(object, "metadata", "annotations", NULL), *sets = json_path(object, "spec", "podSets", NULL);
    if (!decode_minimum_run(json_bytes(json_get(annotations, DECODE_MINIMUM_RUN_ANNOTATION)), &g->minimum_run_s))
        g->minimum_run_s = 0;
    if (!decode_checkpoint(json_bytes(json_get(annotations, DECODE_CHECKPOINT_ANNOTATION)), &g->checkpoint_ms))
        g->checkpoint_ms = 0;
    bool movable;
    g->stays = decode_truth(json_bytes(json_get(annotations, DECODE_MOVABLE_ANNOTATION)), &movable) && !movable;
    g->restart_ms = decode_restart_ms(object);
    JSON_EACH (set, json_is(sets, JSON_ARRAY) ? sets : NULL) {
        int32_t grace_s = grace_of(set);
        g->grace_s = grace_s > g->grace_s ? grace_s : g->grace_s;
    }
}

int decode_workload(const struct decoder *d, const struct json *object, struct gang_record *ret_gang, struct err *e)
{
    const char *name;
    if (decode_object_name(object, &name, e) < 0)
        return -E_INVALID;
    const char *ns = json_text(json_path(object, "metadata", "namespace", NULL), "");
    const struct json *spec = json_get(object, "spec"), *admission = json_path(object, "status", "admission", NULL);
    struct gang_record g = {.source = GANG_WORKLOAD, .planned = true};
    g.key = decode_gang_key(d, GANG_WORKLOAD, bytes_of(ns), bytes_of(name));
    g.ns = intern_text_id(d->names, ns);
    const char *queue = json_get_text(spec, "queueName", "");
    g.local_queue = slash_key(d, ns, queue); /* without a name: a queue that cannot exist, so it waits, as Kueue has it */
    g.queue_title = intern_text_id(d->names, *queue ? queue : "\"\"");
    g.queue_kind = QUEUE_LOCAL;
    g.priority = int32_of(json_get_int64(spec, "priority", 0));
    g.created_ms = queued_ms(d, object);
    g.uid = decode_name(d, json_path(object, "metadata", "uid", NULL));
    struct pod_set *sets = NULL;
    if (decode_pod_sets(d, object, &g, &sets, e) < 0)
        return -E_INVALID;
    g.active = json_get_bool(spec, "active", true) && !is_deleting(object);
    decode_hold(d, object, &g);
    if (!time_parse(json_bytes(json_path(object, "status", "requeueState", "requeueAt", NULL)), &g.not_before_ms))
        g.not_before_ms = 0;
    g.finished = decode_condition_true(object, "Finished");
    g.of_one_pod = is_of_one_pod(object);
    decode_stakes(object, &g);
    decode_gang_checks(d, object, &g);
    decode_ready(object, &g);
    if (json_is(admission, JSON_OBJECT) && decode_condition_true(object, "QuotaReserved"))
        decode_admission(d, object, admission, sets, &g);
    decode_booking(d, object, &g);
    *ret_gang = g;
    return 0;
}
