/* advise_quota.c - quota and nodes that do not meet: more promised than there is, nodes that no queue may use, teams without quota */
#include "base/amount.h"
#include "base/quantity.h"
#include "cli/advise/advise.h"
#include "cli/lookup/accelerators.h"
#include "cli/lookup/node_models.h"
#include "kube/object.h"

#define PRODUCT_LABEL "nvidia.com/gpu.product"
enum { TEAMS_LEAST = 2 };

static int64_t on_node(const struct json *node, const char *resource)
{
    return whole_number(json_path(node, "status", "allocatable", resource, NULL));
}

/* The first accelerator that the node offers; NULL: none. */
static const char *accelerator_of(const struct json *node)
{
    JSON_EACH (amount, json_path(node, "status", "allocatable", NULL))
        if (is_accelerator(amount->key) && whole_number(amount) > 0)
            return amount->key;
    return NULL;
}

/* The nominal quota of this flavor and resource; 0: it has none. */
static int64_t nominal_of(const struct json *queue, const char *flavor, const char *resource)
{
    return whole_number(json_get(node_models_quota(queue, flavor, resource), "nominalQuota"));
}

/* ---- more than there is ---- */

static bool has_checks(const struct json *queue)
{
    return json_first(json_path(queue, "spec", "admissionChecks", NULL)) || json_path(queue, "spec", "admissionChecksStrategy", NULL);
}

static bool in_cohorts(const struct advise *x, const char *flavor, const char *resource)
{
    JSON_EACH (cohort, x->cohorts)
        if (node_models_quota(cohort, flavor, resource))
            return true;
    return false;
}

/* Each queue's part of what there is, as its quota is of all; what division leaves goes to the first ones. */
static void quota_shrink(struct advise *x, struct advise_finding *f, const char *flavor, const char *resource, int64_t promised_n,
                         int64_t have_n)
{
    int64_t left_n = have_n;
    JSON_EACH (queue, x->cluster_queues)
        left_n -= nominal_of(queue, flavor, resource) * have_n / promised_n;
    JSON_EACH (queue, x->cluster_queues) {
        int64_t own_n = nominal_of(queue, flavor, resource), part_n = own_n * have_n / promised_n;
        if (!own_n)
            continue;
        part_n += left_n > 0 && part_n < own_n;
        left_n -= left_n > 0 && part_n > own_n * have_n / promised_n;
        struct json *object = advise_object(x, queue, "kueue.x-k8s.io/v1beta2", "ClusterQueue");
        struct json *quota = node_models_quota(object, flavor, resource);
        json_set_text(x->a, quota, "nominalQuota", arena_printf(x->a, "%lld", (long long)part_n));
        if (whole_number(json_get(quota, "lendingLimit")) > part_n)
            json_set_text(x->a, quota, "lendingLimit", arena_printf(x->a, "%lld", (long long)part_n));
        json_append(f->manifests, object);
    }
}

static void promised_look(struct advise *x, const struct json *flavor, const char *resource)
{
    const char *name = object_meta(flavor, "name"), *queues = NULL;
    int64_t promised_n = 0, have_n = 0;
    uint32_t nodes_n = 0;
    JSON_EACH (queue, x->cluster_queues) {
        int64_t own_n = nominal_of(queue, name, resource);
        if (own_n && has_checks(queue)) /* an autoscaler makes the nodes when they are needed */
            return;
        promised_n = amount_plus(promised_n, own_n);
        if (own_n)
            queues =
                arena_printf(x->a, "%s%s%s %lld", queues ? queues : "", queues ? ", " : "", object_meta(queue, "name"), (long long)own_n);
    }
    JSON_EACH (node, x->nodes)
        if (node_models_selects(flavor, node)) {
            have_n = amount_plus(have_n, on_node(node, resource));
            nodes_n += on_node(node, resource) > 0;
        }
    if (promised_n <= have_n || promised_n > INT32_MAX || in_cohorts(x, name, resource))
        return;
    struct advise_finding *f =
        advise_find(x, arena_printf(x->a, "ResourceFlavor %s", name), "lower the quota to what is there: then who is admitted also starts",
                    "queues are promised %lld %s, and there are %lld", (long long)promised_n, resource, (long long)have_n);
    advise_evidence(x, f, "ClusterQueues, spec.resourceGroups", "nominalQuota: %s", queues);
    advise_evidence(x, f, "Nodes, status.allocatable", "%lld on %u nodes with the labels of the flavor", (long long)have_n, nodes_n);
    quota_shrink(x, f, name, resource, promised_n, have_n);
}

void advise_quota_without_nodes(struct advise *x)
{
    for (const struct json *flavor = x->nodes ? json_first(x->flavors) : NULL; flavor; flavor = flavor->next) {
        struct json *seen = json_new(x->a, JSON_OBJECT);
        JSON_EACH (queue, x->cluster_queues)
            JSON_EACH (group, json_path(queue, "spec", "resourceGroups", NULL))
                JSON_EACH (covered, json_get(group, "coveredResources")) {
                    const char *resource = json_text(covered, "");
                    if (!is_accelerator(resource) || json_get(seen, resource))
                        continue;
                    json_set_bool(x->a, seen, resource, true);
                    promised_look(x, flavor, resource);
                }
    }
}

/* ---- nodes that no queue may use ---- */

static bool is_covered(const struct advise *x, const struct json *node, const char *resource)
{
    JSON_EACH (flavor, x->flavors)
        if (node_models_selects(flavor, node))
            JSON_EACH (queue, x->cluster_queues)
                if (node_models_quota(queue, object_meta(flavor, "name"), resource))
                    return true;
    return false;
}

/* "NVIDIA-A100-SXM4-40GB" as the name of an object. */
static const char *name_of(struct advise *x, const char *product)
{
    char *name = arena_text(x->a, product);
    for (char *c = name; *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') ? *c : '-';
    return name;
}

static struct json *flavor_new(struct advise *x, const char *product)
{
    struct json *flavor = json_new(x->a, JSON_OBJECT);
    json_set_text(x->a, flavor, "apiVersion", "kueue.x-k8s.io/v1beta2");
    json_set_text(x->a, flavor, "kind", "ResourceFlavor");
    json_set_text(x->a, json_ensure_object(x->a, flavor, "metadata"), "name", name_of(x, product));
    json_set_text(x->a, json_ensure_object(x->a, json_ensure_object(x->a, flavor, "spec"), "nodeLabels"), PRODUCT_LABEL, product);
    return flavor;
}

static void quota_add(struct advise *x, struct json *resources, const char *resource, const char *amount)
{
    struct json *quota = json_new(x->a, JSON_OBJECT);
    json_set_text(x->a, quota, "name", resource);
    json_set_text(x->a, quota, "nominalQuota", amount);
    json_append(resources, quota);
}

/* Of the nodes of a product, all together, as they count it. */
static const char *sum_of(struct advise *x, const char *product, const char *resource)
{
    struct quantity sum = {0}, one;
    char text[QUANTITY_TEXT_MAX];
    JSON_EACH (node, x->nodes)
        if (text_equal(object_label(node, PRODUCT_LABEL), product) &&
            quantity_parse(json_bytes(json_path(node, "status", "allocatable", resource, NULL)), &one, NULL) == 0) {
            sum.nano += one.nano;
            sum.format = one.format;
        }
    return arena_text(x->a, quantity_format(text, sum));
}

/* The first queue that has quota of this resource gets the new flavor, with all that its group covers. */
static void flavor_add(struct advise *x, struct advise_finding *f, const char *product, const char *resource)
{
    JSON_EACH (queue, x->cluster_queues) {
        struct json *object = advise_object(x, queue, "kueue.x-k8s.io/v1beta2", "ClusterQueue");
        JSON_EACH (group, json_path(object, "spec", "resourceGroups", NULL)) {
            bool covers = false;
            JSON_EACH (covered, json_get(group, "coveredResources"))
                covers |= text_equal(json_text(covered, ""), resource);
            if (!covers)
                continue;
            struct json *flavor = json_new(x->a, JSON_OBJECT), *resources;
            json_set_text(x->a, flavor, "name", name_of(x, product));
            resources = json_ensure_array(x->a, flavor, "resources");
            JSON_EACH (covered, json_get(group, "coveredResources"))
                quota_add(x, resources, json_text(covered, ""), sum_of(x, product, json_text(covered, "")));
            json_append(json_ensure_array(x->a, group, "flavors"), flavor);
            json_append(f->manifests, flavor_new(x, product));
            json_append(f->manifests, object);
            return;
        }
    }
}

void advise_nodes_without_flavor(struct advise *x)
{
    struct json *seen = json_new(x->a, JSON_OBJECT);
    if (!json_first(x->cluster_queues))
        return;
    JSON_EACH (node, x->nodes) {
        const char *resource = accelerator_of(node), *product = object_label(node, PRODUCT_LABEL);
        if (!resource || !*product || is_covered(x, node, resource) || json_get(seen, arena_printf(x->a, "%s %s", product, resource)))
            continue;
        json_set_bool(x->a, seen, arena_printf(x->a, "%s %s", product, resource), true);
        int64_t n = 0;
        uint32_t nodes_n = 0;
        JSON_EACH (other, x->nodes)
            if (text_equal(object_label(other, PRODUCT_LABEL), product) && !is_covered(x, other, resource)) {
                n = amount_plus(n, on_node(other, resource));
                nodes_n += on_node(other, resource) > 0;
            }
        struct advise_finding *f =
            advise_find(x, arena_printf(x->a, "nodes with %s", product), "give a queue quota of them, in a flavor with their label",
                        "no ClusterQueue has quota of their %s: no job of a queue starts there", resource);
        advise_evidence(x, f, "Nodes, status.allocatable", "%lld on %u nodes", (long long)n, nodes_n);
        advise_evidence(x, f, "ResourceFlavors, spec.nodeLabels", "no flavor with quota of %s selects them", resource);
        flavor_add(x, f, product, resource);
    }
}

/* ---- teams without quota ---- */

struct team {
    const char *ns;
    int64_t accelerators_n;
};

static uint32_t teams_of(struct advise *x, struct team **ret_teams)
{
    struct map *by_name = map_new(sizeof(uint32_t));
    uint32_t n = 0, pods_n = 0;
    for (const struct advise_pod *p = x->pods; p; p = p->next)
        pods_n++;
    struct team *teams = arena_zero(x->a, pods_n + 1, sizeof *teams);
    for (const struct advise_pod *p = x->pods; p; p = p->next) {
        if (*p->queue)
            continue;
        uint32_t *place = map_put(by_name, bytes_of(p->ns), NULL);
        if (!*place) {
            teams[n].ns = p->ns;
            *place = ++n;
        }
        teams[*place - 1].accelerators_n = amount_plus(teams[*place - 1].accelerators_n, p->accelerators_n);
    }
    map_free(by_name);
    *ret_teams = teams;
    return n;
}

static struct json *queue_new(struct advise *x, const char *kind, const char *name, const char *ns)
{
    struct json *queue = json_new(x->a, JSON_OBJECT), *metadata;
    json_set_text(x->a, queue, "apiVersion", "kueue.x-k8s.io/v1beta2");
    json_set_text(x->a, queue, "kind", kind);
    metadata = json_ensure_object(x->a, queue, "metadata");
    json_set_text(x->a, metadata, "name", name);
    if (ns)
        json_set_text(x->a, metadata, "namespace", ns);
    return queue;
}

/* A ClusterQueue and a LocalQueue of the namespace's name: its part of the GPUs of each product; what it leaves others may borrow. */
static void team_add(struct advise *x, struct advise_finding *f, const struct json *products, const struct team *team, uint32_t place,
                     uint32_t teams_n)
{
    struct json *queue = queue_new(x, "ClusterQueue", team->ns, NULL), *spec = json_ensure_object(x->a, queue, "spec"),
                *local = queue_new(x, "LocalQueue", team->ns, team->ns), *group = json_new(x->a, JSON_OBJECT);
    json_set_text(x->a, spec, "cohortName", "teams");
    json_set(x->a, spec, "namespaceSelector", json_new(x->a, JSON_OBJECT));
    json_set_text(x->a, json_ensure_object(x->a, spec, "preemption"), "reclaimWithinCohort", "Any");
    json_append(json_ensure_array(x->a, group, "coveredResources"), json_new_text(x->a, "nvidia.com/gpu"));
    JSON_EACH (product, products) {
        struct json *flavor = json_new(x->a, JSON_OBJECT);
        int64_t all_n = json_int64(product, 0), part_n = all_n / teams_n + (place < all_n % teams_n);
        json_set_text(x->a, flavor, "name", name_of(x, product->key));
        quota_add(x, json_ensure_array(x->a, flavor, "resources"), "nvidia.com/gpu", arena_printf(x->a, "%lld", (long long)part_n));
        json_append(json_ensure_array(x->a, group, "flavors"), flavor);
    }
    json_append(json_ensure_array(x->a, spec, "resourceGroups"), group);
    json_set_text(x->a, json_ensure_object(x->a, local, "spec"), "clusterQueue", team->ns);
    json_append(f->manifests, queue);
    json_append(f->manifests, local);
}

void advise_no_quota(struct advise *x)
{
    struct team *teams;
    struct json *products = json_new(x->a, JSON_OBJECT);
    uint32_t teams_n = teams_of(x, &teams);
    if (json_first(x->cluster_queues) || !x->nodes || teams_n < TEAMS_LEAST)
        return;
    JSON_EACH (node, x->nodes) {
        const char *product = object_label(node, PRODUCT_LABEL);
        if (*product && on_node(node, "nvidia.com/gpu") > 0)
            json_set_int64(x->a, products, product, json_get_int64(products, product, 0) + on_node(node, "nvidia.com/gpu"));
    }
    struct advise_finding *f =
        advise_find(x, "cluster", "give each its part, and let it borrow what others leave; then jobs name their LocalQueue",
                    "%u namespaces use GPUs and none has a quota: who comes first takes all", teams_n);
    for (uint32_t i = 0; i < teams_n; i++)
        advise_evidence(x, f, "Pods without a queue", "%s: %lld", teams[i].ns, (long long)teams[i].accelerators_n);
    advise_evidence(x, f, "ClusterQueues", "there is none");
    JSON_EACH (product, products)
        json_append(f->manifests, flavor_new(x, product->key));
    for (uint32_t i = 0; i < teams_n && json_first(products); i++)
        team_add(x, f, products, &teams[i], i, teams_n);
}
