/* Kueue's Workload: what may change while quota is reserved for it. */
#include "codec/admission/admission_part.h"
#include "codec/decode/decode.h"
#include "codec/kinds/podset_names.h"

/* "pods" is counted by the queue and may not be asked for; nothing may be asked for in negative amounts. */
static void check_amounts(struct admission *x, const struct json *resources, const char *path)
{
    static const char *const lists[] = {"requests", "limits"};
    struct quantity unused;
    for (int l = 0; l < 2; l++) {
        const struct json *amounts = json_get(resources, lists[l]);
        JSON_EACH (amount, json_is(amounts, JSON_OBJECT) ? amounts : NULL) {
            const char *at = AT(x, "%s.%s[%s]", path, lists[l], amount->key);
            if (text_equal(amount->key, "pods"))
                admission_error(x, FIELD_INVALID, at, NULL, "the key is reserved for internal kueue use");
            else
                (void)admission_quantity(x, amount, at, &unused); /* only its form */
        }
    }
}

static void check_pod_amounts(struct admission *x, const struct json *spec, const char *path)
{
    static const char *const lists[] = {"initContainers", "containers"};
    for (int l = 0; l < 2; l++) {
        uint32_t at = 0;
        JSON_EACH (c, admission_list_n(json_get(spec, lists[l])) ? json_get(spec, lists[l]) : NULL) {
            check_amounts(x, json_get(c, "resources"), AT(x, "%s.%s[%u].resources", path, lists[l], at));
            at++;
        }
    }
    check_amounts(x, json_get(spec, "resources"), AT(x, "%s.resources", path));
}

/* ---- topologies ---- */

#define LAYERS_MAX 3 /* of an annotation; those of a Workload are counted by its schema */

/* SOURCE Kueue's webhooks: of Workloads, and of jobs, which makes no Workload of a group with slices. */
static void check_topology_request(struct admission *x, const struct json *request, const char *path)
{
    const struct json *slice = json_get(request, "podSetSliceRequiredTopology"), *size = json_get(request, "podSetSliceSize");
    uint32_t at = 0;
    if (slice && !size)
        admission_error(x, FIELD_REQUIRED, AT(x, "%s.podSetSliceSize", path), NULL,
                        "must be set when podSetSliceRequiredTopology is specified");
    else if (slice && json_int64(size, 0) <= 0)
        admission_error(x, FIELD_INVALID, AT(x, "%s.podSetSliceSize", path), size, "must be greater than 0");
    else if (!slice && size)
        admission_error(x, FIELD_FORBIDDEN, AT(x, "%s.podSetSliceSize", path), NULL,
                        "may not be set when podSetSliceRequiredTopology is not specified");
    const struct json *layers = json_get(request, "podsetSliceRequiredTopologyConstraints");
    if (!admission_absent(json_get(request, "podSetGroupName")) && (slice || admission_list_n(layers)))
        admission_error(x, FIELD_FORBIDDEN, AT(x, "%s.podSetGroupName", path), NULL, "may not be set when '%s' is specified",
                        slice ? "podSetSliceRequiredTopology" : "podsetSliceRequiredTopologyConstraints");
    JSON_EACH (layer, admission_list_n(layers) ? layers : NULL) {
        if (json_get_int64(layer, "size", 0) <= 0)
            admission_error(x, FIELD_INVALID, AT(x, "%s.podsetSliceRequiredTopologyConstraints[%u].size", path, at),
                            json_get(layer, "size"), "must be greater than 0");
        at++;
    }
}

static const char *key_path(struct admission *x, const char *path, const char *key)
{
    return AT(x, "%s[%s]", path, key);
}

static void check_modes(struct admission *x, const struct json *annotations, const char *path)
{
    static const char *const modes[] = {PODSET_REQUIRED, PODSET_PREFERRED, PODSET_UNCONSTRAINED};
    static const char *const levels[] = {PODSET_REQUIRED, PODSET_PREFERRED, PODSET_SLICE};
    uint32_t n = 0;
    for (int i = 0; i < 3; i++)
        n += json_get(annotations, modes[i]) != NULL;
    if (n > 1)
        admission_error(x, FIELD_INVALID, path, NULL, "must not contain more than one topology annotation: [\"%s\", \"%s\", \"%s\"]",
                        PODSET_REQUIRED, PODSET_PREFERRED, PODSET_UNCONSTRAINED);
    for (int i = 0; i < 3; i++) {
        const struct json *level = json_get(annotations, levels[i]);
        if (level && !name_is_qualified(json_bytes(level)))
            admission_error(x, FIELD_INVALID, key_path(x, path, levels[i]), level, NAME_QUALIFIED_RULE);
    }
    const struct json *any = json_get(annotations, PODSET_UNCONSTRAINED);
    if (any && !text_equal(json_text(any, ""), "true") && !text_equal(json_text(any, ""), "false"))
        admission_error(x, FIELD_INVALID, key_path(x, path, PODSET_UNCONSTRAINED), any, "must be a boolean value");
}

static void check_group(struct admission *x, const struct json *annotations, const char *path)
{
    static const char *const others[] = {PODSET_SLICE_SIZE, PODSET_SLICE, PODSET_LAYERS};
    const struct json *group = json_get(annotations, PODSET_GROUP);
    int64_t n;
    if (!group)
        return;
    if (bytes_int64(json_bytes(group), &n) && n >= 0)
        admission_error(x, FIELD_INVALID, key_path(x, path, PODSET_GROUP), group, "must not be a number");
    for (int i = 0; i < 3; i++)
        if (json_get(annotations, others[i]))
            admission_error(x, FIELD_FORBIDDEN, key_path(x, path, PODSET_GROUP), NULL, "may not be set when '%s' is specified", others[i]);
    if (!json_get(annotations, PODSET_REQUIRED) && !json_get(annotations, PODSET_PREFERRED))
        admission_error(x, FIELD_FORBIDDEN, key_path(x, path, PODSET_GROUP), NULL,
                        "may not be set when neither '%s' nor '%s' is specified", PODSET_PREFERRED, PODSET_REQUIRED);
}

static void check_slice(struct admission *x, const struct json *annotations, const char *path, int64_t count)
{
    const struct json *slice = json_get(annotations, PODSET_SLICE), *size = json_get(annotations, PODSET_SLICE_SIZE);
    const char *at = key_path(x, path, PODSET_SLICE_SIZE);
    int64_t n = 0;
    bool numeric = size && bytes_int64(json_bytes(size), &n) && n <= INT32_MAX && n >= INT32_MIN;
    if (size && !numeric)
        admission_error(x, FIELD_INVALID, at, size, "must be a numeric value");
    else if (size && n < 1)
        admission_error(x, FIELD_INVALID, at, size, "must be greater than or equal to 1");
    else if (size && slice && count && n > count)
        admission_error(x, FIELD_INVALID, at, size, "must not be greater than pod set count %lld", (long long)count);
    if (slice && !size)
        admission_error(x, FIELD_REQUIRED, at, NULL, "must be set when '%s' is specified", PODSET_SLICE);
    if (!slice && size)
        admission_error(x, FIELD_FORBIDDEN, at, NULL, "may not be set when '%s' is not specified", PODSET_SLICE);
}

static void check_layer(struct admission *x, const struct json *layers, uint32_t at, const char *path)
{
    const struct json *layer = json_item(layers, at), *level = json_get(layer, "topology");
    const struct json *above = at ? json_item(layers, at - 1) : NULL;
    int64_t size = json_get_int64(layer, "size", 0), above_size = json_get_int64(above, "size", 0);
    if (!name_is_qualified(json_bytes(level)))
        admission_error(x, FIELD_INVALID, AT(x, "%s[%u].topology", path, at), level, NAME_QUALIFIED_RULE);
    if (size < 1)
        admission_error(x, FIELD_INVALID, AT(x, "%s[%u].size", path, at), json_get(layer, "size"), "must be greater than or equal to 1");
    else if (above && above_size % size)
        admission_error(x, FIELD_INVALID, AT(x, "%s[%u].size", path, at), json_get(layer, "size"),
                        "must evenly divide the parent layer size %lld", (long long)above_size);
}

static void check_layers(struct admission *x, const struct json *annotations, const char *path, int64_t count)
{
    static const char *const others[] = {PODSET_SLICE, PODSET_SLICE_SIZE};
    const struct json *text = json_get(annotations, PODSET_LAYERS);
    const char *at = key_path(x, path, PODSET_LAYERS);
    if (!text)
        return;
    for (int i = 0; i < 2; i++)
        if (json_get(annotations, others[i]))
            admission_error(x, FIELD_FORBIDDEN, at, NULL, "may not be set when '%s' is specified", others[i]);
    const struct json *layers = json_parse(x->arena, json_bytes(text), NULL, NULL);
    if (!json_is(layers, JSON_ARRAY)) {
        admission_error(x, FIELD_INVALID, at, text, "must be a valid JSON array");
        return;
    }
    if (layers->n < 1 || layers->n > LAYERS_MAX) {
        admission_error(x, FIELD_INVALID, at, text, "topology constraints must contain between 1 and %d entries", LAYERS_MAX);
        return;
    }
    for (uint32_t i = 0; i < layers->n; i++)
        check_layer(x, layers, i, at);
    admission_unique(x, layers, at, "topology");
    const struct json *first = json_get(json_item(layers, 0), "size");
    if (count && json_int64(first, 0) > count)
        admission_error(x, FIELD_INVALID, at, first, "must not be greater than pod set count %lld", (long long)count);
}

/* SOURCE Kueue's webhooks for jobs and pods. */
void admission_topology_annotations(struct admission *x, const struct json *annotations, const char *path, int64_t count)
{
    bool any = false;
    JSON_EACH (annotation, json_is(annotations, JSON_OBJECT) ? annotations : NULL)
        any |= text_starts(annotation->key, PODSET);
    if (!any)
        return;
    admission_as_webhook(x, true);
    check_modes(x, annotations, path);
    check_group(x, annotations, path);
    check_slice(x, annotations, path, count);
    check_layers(x, annotations, path, count);
    admission_as_webhook(x, false);
}

/* ---- pod sets ---- */

static void check_pod_sets(struct admission *x, const struct json *sets)
{
    uint32_t at = 0, partial_n = 0, n = admission_list_n(sets);
    if (!sets)
        admission_error(x, FIELD_REQUIRED, "spec.podSets", NULL, "must have 1 to %d pod sets", LIMIT_PODSETS);
    JSON_EACH (set, n ? sets : NULL) {
        const char *path = AT(x, "spec.podSets[%u]", at++);
        const struct json *name = json_get(set, "name"), *fewest = json_get(set, "minCount");
        struct json *pod_template = json_get(set, "template");
        int64_t count = json_get_int64(set, "count", 1);
        admission_default_text(x, set, "name", "main");
        if (!admission_absent(name) && !name_is_dns_label(json_bytes(name)))
            admission_error(x, FIELD_INVALID, AT(x, "%s.name", path), name, NAME_DNS_LABEL_RULE);
        admission_not_negative(x, set, path, "count");
        partial_n += fewest != NULL;
        if (fewest && (json_int64(fewest, 0) < 1 || json_int64(fewest, 0) > count))
            admission_error(x, FIELD_INVALID, AT(x, "%s.minCount", path), fewest,
                            "should be between 1 and podSet.count (%lld)", (long long)count);
        admission_as_webhook(x, true);
        admission_labels(x, json_path(pod_template, "metadata", "labels", NULL), AT(x, "%s.template.metadata.labels", path));
        admission_annotation_keys(x, json_path(pod_template, "metadata", "annotations", NULL),
                                  AT(x, "%s.template.metadata.annotations", path));
        check_pod_amounts(x, json_get(pod_template, "spec"), AT(x, "%s.template.spec", path));
        check_topology_request(x, json_get(set, "topologyRequest"), AT(x, "%s.topologyRequest", path));
        admission_as_webhook(x, false);
    }
    admission_as_webhook(x, true);
    if (partial_n > 1)
        admission_error(x, FIELD_INVALID, "spec.podSets", NULL, "at most one podSet can use minCount");
    admission_as_webhook(x, false);
}

static void check_priority_class(struct admission *x, const struct json *spec)
{
    const struct json *ref = json_get(spec, "priorityClassRef");
    if (!ref)
        return;
    if (!json_get(spec, "priority"))
        admission_error(x, FIELD_REQUIRED, "spec.priority", NULL,
                        "priority should not be nil when priorityClassRef is set");
    bool kueue = text_equal(json_get_text(ref, "group", ""), "kueue.x-k8s.io");
    if (kueue != text_equal(json_get_text(ref, "kind", ""), "WorkloadPriorityClass"))
        admission_error(x, FIELD_INVALID, "spec.priorityClassRef.kind", json_get(ref, "kind"),
                        "must be WorkloadPriorityClass of kueue.x-k8s.io or PriorityClass of scheduling.k8s.io");
}

static const struct json *named(const struct json *list, const char *name)
{
    JSON_EACH (item, admission_list_n(list) ? list : NULL)
        if (text_equal(json_get_text(item, "name", "main"), name))
            return item;
    return NULL;
}

/* What a pod set uses is that of one pod, times its pods. SOURCE Kueue counts cpu in thousandths, the rest in whole units, rounded up. */
static void check_usage(struct admission *x, const struct json *assignment, const char *path)
{
    int64_t count = json_get_int64(assignment, "count", 0);
    const struct json *usage = json_get(assignment, "resourceUsage");
    JSON_EACH (amount, count > 0 && json_is(usage, JSON_OBJECT) ? usage : NULL) {
        struct quantity q;
        if (quantity_parse(json_bytes(amount), &q, NULL) == 0 &&
            (text_equal(amount->key, "cpu") ? quantity_milli(q) : quantity_whole(q)) % count)
            admission_error(x, FIELD_INVALID, AT(x, "%s.resourceUsage[%s]", path, amount->key), amount, "is not a multiple of %lld",
                            (long long)count);
    }
}

/* status.admission gives each pod set its flavors. */
static void check_assignments(struct admission *x)
{
    const struct json *admission = json_path(x->object, "status", "admission", NULL), *sets = json_path(x->object, "spec", "podSets", NULL);
    const struct json *assignments = json_get(admission, "podSetAssignments"), *was = json_path(x->old, "status", "admission", NULL);
    uint32_t at = 0;
    if (!decode_condition_true(x->object, "QuotaReserved"))
        return;
    if (!json_is(admission, JSON_OBJECT)) { /* who was so already may go on: else nobody could mend it */
        if (json_is(was, JSON_OBJECT) || !decode_condition_true(x->old, "QuotaReserved"))
            admission_error(x, FIELD_REQUIRED, "status.admission", NULL, "must be set while the condition QuotaReserved is True");
        return;
    }
    admission_as_webhook(x, false);
    if (admission_list_n(assignments) != admission_list_n(sets))
        admission_error(x, FIELD_INVALID, "status.admission.podSetAssignments", NULL,
                        "must have the same number of podSets as the spec");
    admission_as_webhook(x, true);
    JSON_EACH (assignment, admission_list_n(assignments) ? assignments : NULL) {
        const char *path = AT(x, "status.admission.podSetAssignments[%u]", at++);
        if (!named(sets, json_get_text(assignment, "name", "main")))
            admission_error(x, FIELD_NOT_FOUND, AT(x, "%s.name", path), json_get(assignment, "name"), "%s", "");
        check_usage(x, assignment, path);
    }
}

/* ---- places of pods, as slices of domains ---- */

static void check_either(struct admission *x, const struct json *v, const char *path)
{
    if (json_is(v, JSON_OBJECT) && !json_get(v, "universal") == !json_get(v, "individual"))
        admission_error(x, FIELD_INVALID, path, NULL, "must have either universal or individual");
}

static void check_place_slice(struct admission *x, const struct json *slice, const char *path)
{
    const struct json *counts = json_get(slice, "podCounts"), *levels = json_get(slice, "valuesPerLevel");
    uint32_t domains_n = (uint32_t)json_get_int64(slice, "domainCount", 0), at = 0;
    check_either(x, counts, AT(x, "%s.podCounts", path));
    if (json_get(counts, "individual") && admission_list_n(json_get(counts, "individual")) != domains_n)
        admission_error(x, FIELD_INVALID, path, NULL, "podCounts.individual must have length equal to domainCount");
    JSON_EACH (level, admission_list_n(levels) ? levels : NULL) {
        const struct json *individual = json_get(level, "individual");
        check_either(x, level, AT(x, "%s.valuesPerLevel[%u]", path, at++));
        if (individual && admission_list_n(json_get(individual, "roots")) != domains_n)
            admission_error(x, FIELD_INVALID, path, NULL, "valuesPerLevel.individual, if set, must have roots of length equal to "
                            "domainCount of this TopologyAssignmentSlice");
    }
}

static void check_places(struct admission *x)
{
    const struct json *assignments = json_path(x->object, "status", "admission", "podSetAssignments", NULL);
    uint32_t at = 0;
    JSON_EACH (assignment, admission_list_n(assignments) ? assignments : NULL) {
        const char *path = AT(x, "status.admission.podSetAssignments[%u].topologyAssignment", at++);
        const struct json *places = json_get(assignment, "topologyAssignment"), *slices = json_get(places, "slices");
        uint32_t slice_at = 0;
        JSON_EACH (slice, admission_list_n(slices) ? slices : NULL) {
            if (admission_list_n(json_get(slice, "valuesPerLevel")) != admission_list_n(json_get(places, "levels")))
                admission_error(x, FIELD_INVALID, path, NULL, "slices[%u].valuesPerLevel must have the same length as the number of levels "
                                "in this TopologyAssignment", slice_at);
            check_place_slice(x, slice, AT(x, "%s.slices[%u]", path, slice_at++));
        }
    }
}

/* ---- pods that are over ---- */

/* Of each pod set at most all pods are over; while quota is reserved, what is over stays over. SOURCE the fields are named as by Kueue. */
static void check_reclaimable(struct admission *x)
{
    const struct json *is = json_path(x->object, "status", "reclaimablePods", NULL),
                      *was = json_path(x->old, "status", "reclaimablePods", NULL),
                      *sets = json_path(x->object, "spec", "podSets", NULL);
    JSON_EACH (item, admission_list_n(is) ? is : NULL) {
        const char *name = json_get_text(item, "name", ""), *path = AT(x, "status.reclaimablePods[%s]", name);
        const struct json *set = named(sets, name);
        if (!set)
            admission_error(x, FIELD_NOT_SUPPORTED, AT(x, "%s.name", path), json_get(item, "name"),
                            "must name a pod set of this Workload");
        else if (json_get_int64(item, "count", 0) > json_get_int64(set, "count", 1))
            admission_error(x, FIELD_INVALID, AT(x, "%s.count", path), json_get(item, "count"),
                            "should be less or equal to %lld", (long long)json_get_int64(set, "count", 1));
    }
    if (!decode_condition_true(x->old, "QuotaReserved") || !decode_condition_true(x->object, "QuotaReserved"))
        return;
    JSON_EACH (before, admission_list_n(was) ? was : NULL) {
        const char *name = json_get_text(before, "name", ""), *path = AT(x, "status.reclaimablePods[%s]", name);
        const struct json *now = named(is, name);
        if (!now)
            admission_error(x, FIELD_REQUIRED, path, NULL, "cannot be removed while quota is reserved");
        else if (json_get_int64(now, "count", 0) < json_get_int64(before, "count", 0))
            admission_error(x, FIELD_INVALID, AT(x, "%s.count", path), json_get(now, "count"),
                            "cannot become less than %lld while quota is reserved", (long long)json_get_int64(before, "count", 0));
    }
}

/* ---- what checks want of the pods ---- */

static void check_pod_set_update(struct admission *x, const struct json *update, const char *path)
{
    const struct json *tolerations = json_get(update, "tolerations");
    uint32_t at = 0;
    if (!named(json_path(x->object, "spec", "podSets", NULL), json_get_text(update, "name", "")))
        admission_error(x, FIELD_NOT_SUPPORTED, AT(x, "%s.name", path), json_get(update, "name"), "must name a pod set of this Workload");
    JSON_EACH (t, admission_list_n(tolerations) ? tolerations : NULL) {
        const struct json *key = json_get(t, "key");
        if (!admission_absent(key) && !name_is_qualified(json_bytes(key)))
            admission_error(x, FIELD_INVALID, AT(x, "%s.tolerations[%u].key", path, at), key, NAME_QUALIFIED_RULE);
        at++;
    }
    admission_labels(x, json_get(update, "labels"), AT(x, "%s.labels", path));
    admission_labels(x, json_get(update, "nodeSelector"), AT(x, "%s.nodeSelector", path));
    admission_annotation_keys(x, json_get(update, "annotations"), AT(x, "%s.annotations", path));
    admission_as_webhook(x, false);
    admission_tolerations(x, tolerations, AT(x, "%s.tolerations", path));
    admission_as_webhook(x, true);
}

static void check_pod_set_updates(struct admission *x)
{
    const struct json *is = json_path(x->object, "status", "admissionChecks", NULL),
                      *was = json_path(x->old, "status", "admissionChecks", NULL);
    uint32_t at = 0;
    JSON_EACH (check, admission_list_n(is) ? is : NULL) {
        const struct json *updates = json_get(check, "podSetUpdates");
        uint32_t update_at = 0;
        JSON_EACH (update, admission_list_n(updates) ? updates : NULL)
            check_pod_set_update(x, update, AT(x, "status.admissionChecks[%u].podSetUpdates[%u]", at, update_at++));
        at++;
    }
    at = 0;
    JSON_EACH (before, admission_list_n(was) ? was : NULL) {
        const struct json *now = named(is, json_get_text(before, "name", "")), *a = json_get(before, "podSetUpdates"),
                          *b = json_get(now, "podSetUpdates");
        bool ready = text_equal(json_get_text(before, "state", ""), "Ready") && text_equal(json_get_text(now, "state", ""), "Ready");
        if (ready && (admission_list_n(a) || admission_list_n(b)) && !(a && b && json_equal(a, b)))
            admission_error(x, FIELD_INVALID, AT(x, "status.admissionChecks[%u].podSetUpdates", at), NULL,
                            IMMUTABLE " while the check is Ready");
        at++;
    }
}

/* ---- gates: an annotation of names between commas ---- */

#define GATES "kueue.x-k8s.io/admission-gated-by"
#define GATE_MAX 63

/* The next one, without blanks around it. False: that was the last; text stands at its end. */
static bool gate_next(const char **text, struct bytes *ret_gate)
{
    const char *from = *text, *to = from + strcspn(from, ",");
    bool more = *to == ',';
    *text = to + more;
    while (from < to && *from == ' ')
        from++;
    while (to > from && to[-1] == ' ')
        to--;
    *ret_gate = (struct bytes){from, (size_t)(to - from)};
    return more;
}

/* DOMAIN/PATH */
static bool is_gate(struct bytes gate)
{
    static const char more[] = "/-._~%!$&'()*+,;=:";
    const char *slash = gate.n ? memchr(gate.data, '/', gate.n) : NULL;
    size_t host_n = slash ? (size_t)(slash - gate.data) : 0;
    bool good = slash && host_n + 1 < gate.n && gate.n <= GATE_MAX && name_is_dns_subdomain((struct bytes){gate.data, host_n});
    for (size_t i = host_n; good && i < gate.n; i++) {
        char c = gate.data[i];
        good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr(more, c));
    }
    return good;
}

static uint32_t gates_count(const char *text, struct bytes gate)
{
    uint32_t n = 0;
    struct bytes other;
    for (bool more = *text != '\0'; more;) {
        more = gate_next(&text, &other);
        n += bytes_equal(gate, other);
    }
    return n;
}

/* Who made the workload may keep it out; later its gates only open. */
static void check_gates(struct admission *x)
{
    const char *path = "metadata.annotations[" GATES "]", *now = admission_annotation(x->object, GATES),
               *was = x->old ? admission_annotation(x->old, GATES) : now, *at = now;
    struct bytes gate;
    for (bool more = *now != '\0'; more;) {
        more = gate_next(&at, &gate);
        if (!is_gate(gate) || gates_count(now, gate) > 1)
            admission_error_text(x, FIELD_INVALID, path, gate, "must be names such as example.com/budget, each once, of at most 63 characters");
        if (!gates_count(was, gate))
            admission_error(x, FIELD_FORBIDDEN, path, NULL, "a gate cannot be added after creation");
    }
}

/* ---- updates ---- */

static void check_fixed_class(struct admission *x)
{
    const struct json *was = json_path(x->old, "spec", "priorityClassRef", NULL),
                      *is = json_path(x->object, "spec", "priorityClassRef", NULL);
    static const char *const keys[] = {"group", "kind", "name"};
    if (!was != !is)
        admission_error(x, FIELD_INVALID, "spec.priorityClassRef", is, IMMUTABLE " while quota is reserved");
    for (int i = 0; was && is && i < 3; i++) {
        bool may_change = i == 2 && text_equal(json_get_text(is, "kind", ""), "WorkloadPriorityClass");
        if (!may_change && !text_equal(json_get_text(was, keys[i], ""), json_get_text(is, keys[i], "")))
            admission_error(x, FIELD_INVALID, AT(x, "spec.priorityClassRef.%s", keys[i]), json_get(is, keys[i]),
                            IMMUTABLE " while quota is reserved");
    }
}

/* SOURCE Kueue names a pod set that changed by its number, without brackets. */
static void check_fixed_sets(struct admission *x)
{
    const struct json *was = json_path(x->old, "spec", "podSets", NULL), *is = json_path(x->object, "spec", "podSets", NULL);
    if (admission_list_n(was) != admission_list_n(is))
        admission_error(x, FIELD_INVALID, "spec.podSets", NULL, IMMUTABLE);
    for (uint32_t i = 0; admission_list_n(was) == admission_list_n(is) && i < admission_list_n(is); i++)
        if (!json_equal(json_item(was, i), json_item(is, i)))
            admission_error(x, FIELD_INVALID, AT(x, "spec.podSets.%u", i), NULL, IMMUTABLE);
}

/* Which places the pods have may follow later; all else of an admission stands until it is taken back. */
static bool same_admission(const struct json *was, const struct json *is)
{
    static const char *const keys[] = {"name", "flavors", "resourceUsage", "count"};
    const struct json *a = json_get(was, "podSetAssignments"), *b = json_get(is, "podSetAssignments");
    if (!text_equal(json_get_text(was, "clusterQueue", ""), json_get_text(is, "clusterQueue", "")) ||
        admission_list_n(a) != admission_list_n(b))
        return false;
    for (uint32_t i = 0; i < admission_list_n(a); i++)
        for (int k = 0; k < 4; k++) {
            const struct json *before = json_get(json_item(a, i), keys[k]), *now = json_get(json_item(b, i), keys[k]);
            if (!before != !now || (now && !json_equal(before, now)))
                return false;
        }
    return true;
}

static bool names_text(const struct json *list, const struct json *text)
{
    JSON_EACH (item, admission_list_n(list) ? list : NULL)
        if (json_equal(item, text))
            return true;
    return false;
}

/* MultiKueue's, whose controller somebody else may run. */
static void check_cluster_name(struct admission *x)
{
    const struct json *was = json_get(x->old, "status"), *is = json_get(x->object, "status");
    const struct json *before = json_get(was, "clusterName"), *now = json_get(is, "clusterName");
    if (before && now && !json_equal(before, now))
        admission_error(x, FIELD_INVALID, "status.clusterName", now, IMMUTABLE " once it is set");
    if (now && admission_list_n(json_get(is, "nominatedClusterNames")))
        admission_error(x, FIELD_INVALID, "status.clusterName", now, "nobody may be nominated any more");
    admission_as_webhook(x, true);
    if (!before && now && !names_text(json_get(was, "nominatedClusterNames"), now))
        admission_error(x, FIELD_INVALID, "status.clusterName", now, "must be one of the nominatedClusterNames");
    admission_as_webhook(x, false);
}

static void check_update(struct admission *x)
{
    const struct json *was = json_path(x->old, "status", "admission", NULL),
                      *is = json_path(x->object, "status", "admission", NULL);
    bool was_reserved = decode_condition_true(x->old, "QuotaReserved");
    if (was_reserved) {
        admission_as_webhook(x, true);
        check_fixed_sets(x);
        admission_as_webhook(x, false);
        check_fixed_class(x);
    }
    if (was_reserved && decode_condition_true(x->object, "QuotaReserved"))
        admission_immutable(x, "spec", "queueName");
    if (decode_condition_true(x->old, "Admitted") && decode_condition_true(x->object, "Admitted"))
        admission_immutable(x, "spec", "maximumExecutionTimeSeconds");
    admission_as_webhook(x, true);
    if (json_is(was, JSON_OBJECT) && json_is(is, JSON_OBJECT) && !same_admission(was, is))
        admission_error(x, FIELD_INVALID, "status.admission", NULL, IMMUTABLE ": it can be set or unset, not changed");
    admission_as_webhook(x, false);
}

void admission_workload(struct admission *x)
{
    const struct json *spec = json_get(x->object, "spec"), *queue = json_get(spec, "queueName");
    check_pod_sets(x, json_get(spec, "podSets"));
    if (!admission_absent(queue) && !name_is_dns_subdomain(json_bytes(queue)))
        admission_error(x, FIELD_INVALID, "spec.queueName", queue, NAME_DNS_SUBDOMAIN_RULE);
    check_priority_class(x, spec);
    check_places(x);
    admission_as_webhook(x, true);
    check_assignments(x);
    check_reclaimable(x);
    check_pod_set_updates(x);
    check_gates(x);
    admission_as_webhook(x, false);
    check_cluster_name(x);
    if (x->old)
        check_update(x);
}
