/* doctor_queues.c - queues that take nothing, flavors without nodes, quota beyond what nodes have */
#include "base/amount.h"
#include "cli/doctor/doctor.h"
#include "cli/lookup/accelerators.h"
#include "cli/lookup/node_models.h"
#include "kube/object.h"

struct queues {
    const struct json *cluster_queues, *cohorts, *flavors; /* items */
};

static void active_look(struct doctor *d, const struct json *queue, const char *about, const char *todo)
{
    const struct json *active = object_condition(queue, "Active");
    if (!active)
        doctor_say(d, DOCTOR_FAULT, about, "see whether a scheduler runs (above)", "nobody has looked at it: it has no condition Active");
    else if (!object_condition_true(queue, "Active"))
        doctor_say(d, DOCTOR_FAULT, about, todo, "admits nothing: %s",
                   json_get_text(active, "message", json_get_text(active, "reason", "not active")));
    else
        doctor_say(d, DOCTOR_OK, about, NULL, "admits jobs");
}

/* Of all of them together. */
static int64_t nominal_of(const struct json *queues, const char *flavor, const char *resource)
{
    int64_t n = 0;
    JSON_EACH (queue, queues)
        n = amount_plus(n, whole_number(json_get(node_models_quota(queue, flavor, resource), "nominalQuota")));
    return n;
}

static void resource_look(struct doctor *d, const struct queues *q, const struct json *flavor, const char *about, const char *resource)
{
    const char *name = object_meta(flavor, "name");
    int64_t promised_n = amount_plus(nominal_of(q->cluster_queues, name, resource), nominal_of(q->cohorts, name, resource)), have_n = 0;
    JSON_EACH (node, d->nodes)
        if (node_models_selects(flavor, node))
            have_n = amount_plus(have_n, whole_number(json_path(node, "status", "allocatable", resource, NULL)));
    if (promised_n > have_n)
        doctor_say(d, DOCTOR_NOTE, about, "lower nominalQuota, or add nodes; fine where an autoscaler adds them",
                   "queues are promised %lld %s in all, and the nodes of the flavor have %lld: jobs within their quota wait for places",
                   (long long)promised_n, resource, (long long)have_n);
    else if (promised_n)
        doctor_say(d, DOCTOR_OK, about, NULL, "%lld %s promised, %lld there", (long long)promised_n, resource, (long long)have_n);
}

/* Each accelerator that some queue has quota for in this flavor, once. */
static void flavor_look(struct doctor *d, const struct queues *q, const struct json *flavor)
{
    const char *name = object_meta(flavor, "name"), *about = arena_printf(d->a, "ResourceFlavor %s", name);
    struct json *resources = json_new(d->a, JSON_OBJECT);
    uint32_t nodes_n = 0;
    JSON_EACH (queue, q->cluster_queues)
        JSON_EACH (group, json_path(queue, "spec", "resourceGroups", NULL))
            JSON_EACH (covered, json_get(group, "coveredResources"))
                if (is_accelerator(json_text(covered, "")) && node_models_quota(queue, name, json_text(covered, "")))
                    json_set_bool(d->a, resources, json_text(covered, ""), true);
    JSON_EACH (node, d->nodes)
        nodes_n += node_models_selects(flavor, node);
    if (!d->nodes || !json_first(resources))
        return;
    if (!nodes_n)
        doctor_say(d, DOCTOR_FAULT, about,
                   "compare its spec.nodeLabels with kubectl get nodes --show-labels; fine where an autoscaler adds such nodes",
                   "no node has its labels: nothing that is admitted to it starts");
    for (const struct json *resource = nodes_n ? json_first(resources) : NULL; resource; resource = resource->next)
        resource_look(d, q, flavor, about, resource->key);
}

void doctor_queues(struct doctor *d)
{
    struct queues q = {doctor_items(d, "ClusterQueues", "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"),
                       doctor_items(d, "Cohorts", "/apis/kueue.x-k8s.io/v1beta2/cohorts"),
                       doctor_items(d, "ResourceFlavors", "/apis/kueue.x-k8s.io/v1beta2/resourceflavors")};
    const struct json *local =
        doctor_items(d, "LocalQueues", kube_path(d->a, "kueue.x-k8s.io", "v1beta2", "localqueues", d->c.ns, NULL, NULL));
    JSON_EACH (queue, q.cluster_queues)
        active_look(d, queue, arena_printf(d->a, "ClusterQueue %s", object_meta(queue, "name")),
                    "kubectl describe clusterqueue; then make what it lacks, or start it (spec.stopPolicy: None)");
    JSON_EACH (queue, local)
        active_look(d, queue, arena_printf(d->a, "LocalQueue %s", object_key(d->a, queue)),
                    "name a ClusterQueue that is there and active in spec.clusterQueue");
    JSON_EACH (flavor, q.flavors)
        flavor_look(d, &q, flavor);
}
