/* kueue_topology.c - what a pod template's annotations ask of a topology, and how its pods are counted, as
 * spec.podSets[].topologyRequest; see kueue_kind.h */
#include "codec/kinds/podset_names.h"
#include "jobs/kueue/kueue_kind.h"

static const char *asked(const struct json *annotations, const char *key)
{
    return json_get_text(annotations, key, NULL);
}

/* Both or nothing. Returns whether there are slices. */
static bool add_slices(struct arena *a, struct json *request, const char *level, const char *size)
{
    int64_t n;
    if (!level || !size || !bytes_int64(bytes_of(size), &n) || n < 1 || n > INT32_MAX)
        return false;
    json_set_text(a, request, "podSetSliceRequiredTopology", level);
    json_set_int64(a, request, "podSetSliceSize", n);
    return true;
}

/* SOURCE Kueue: required before preferred before unconstrained, slices of several layers before those of one. What its webhooks refuse is
 * left out: no Workload could be made with it, and on a cluster without them jobs say it all the same. */
void kueue_topology_request(struct arena *a, struct json *set, const struct json *annotations, const char *index_label)
{
    const char *required = asked(annotations, PODSET_REQUIRED), *preferred = asked(annotations, PODSET_PREFERRED),
               *unconstrained = asked(annotations, PODSET_UNCONSTRAINED),
               *slice = asked(annotations, PODSET_SLICE), *size = asked(annotations, PODSET_SLICE_SIZE),
               *layers = asked(annotations, PODSET_LAYERS), *group = asked(annotations, PODSET_GROUP);
    struct json *request = json_new(a, JSON_OBJECT), *list = layers ? json_parse(a, bytes_of(layers), NULL, NULL) : NULL;
    if (required)
        json_set_text(a, request, "required", required);
    else if (preferred)
        json_set_text(a, request, "preferred", preferred);
    else if (unconstrained)
        json_set_bool(a, request, "unconstrained", strcmp(unconstrained, "true") == 0);
    bool layered = json_is(list, JSON_ARRAY) && list->n;
    if (layered)
        json_set(a, request, "podsetSliceRequiredTopologyConstraints", list);
    bool sliced = layered || add_slices(a, request, slice, size);
    if (group && !sliced && (required || preferred))
        json_set_text(a, request, "podSetGroupName", group);
    if (index_label)
        json_set_text(a, request, "podIndexLabel", index_label);
    if (request->n)
        json_set(a, set, "topologyRequest", request);
}

void kueue_topology_of_jobs(struct arena *a, struct json *set, int64_t jobs_n)
{
    struct json *request = json_ensure_object(a, set, "topologyRequest");
    json_set_text(a, request, "subGroupIndexLabel", "jobset.sigs.k8s.io/job-index");
    json_set_int64(a, request, "subGroupCount", jobs_n);
}

/* Not only by which labels its pods are told apart, which every set has. */
static bool asks_for_domains(const struct json *request)
{
    static const char *const keys[] = {"required", "preferred", "unconstrained", "podSetSliceRequiredTopology",
                                       "podsetSliceRequiredTopologyConstraints"};
    bool asks = false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        asks |= json_get(request, keys[i]) != NULL;
    return asks;
}

bool kueue_topology_is_missing(const struct json *workload, const struct json *pod_sets)
{
    const struct json *is = json_item(json_path(workload, "spec", "podSets", NULL), 0);
    JSON_EACH (want, pod_sets) {
        if (asks_for_domains(json_get(want, "topologyRequest")) && !json_get(is, "topologyRequest"))
            return true;
        is = is ? is->next : NULL;
    }
    return false;
}
