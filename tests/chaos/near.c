#include "near.h"
#include <stdio.h>
#include "codec/kinds/kind_convert.h"
#include "codec/kinds/waiting_names.h"
#include "kube/object.h"

#define KUEUE "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
#define ZONE "topology.kubernetes.io/zone"

const char *near_seed(int at)
{
    static const char *const objects[] = {
        KUEUE "\"Topology\",\"metadata\":{\"name\":\"t\"},\"spec\":{\"levels\":[{\"nodeLabel\":\"" ZONE
              "\"},{\"nodeLabel\":\"kubernetes.io/hostname\"}]}}",
        KUEUE "\"ResourceFlavor\",\"metadata\":{\"name\":\"near\"},\"spec\":{\"nodeLabels\":{\"kubernetes.io/os\":\"linux\"},"
              "\"topologyName\":\"t\"}}",
        KUEUE "\"ClusterQueue\",\"metadata\":{\"name\":\"q3\"},\"spec\":{\"namespaceSelector\":{},\"preemption\":{"
              "\"withinClusterQueue\":\"LowerPriority\"},\"resourceGroups\":[{\"coveredResources\":[\"cpu\",\"nvidia.com/gpu\"],\"flavors\":"
              "[{\"name\":\"near\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":1000},{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":12}]}]}]}}",
        KUEUE "\"LocalQueue\",\"metadata\":{\"name\":\"team3\",\"namespace\":\"default\"},\"spec\":{\"clusterQueue\":\"q3\"}}"};
    return (size_t)at < sizeof objects / sizeof *objects ? objects[at] : NULL;
}

const char *near_annotation(struct world *w)
{
    static const char *const asks[] = {"",
                                       ",\"kueue.x-k8s.io/podset-required-topology\":\"" ZONE "\"",
                                       ",\"kueue.x-k8s.io/podset-required-topology\":\"" ZONE "\"",
                                       ",\"kueue.x-k8s.io/podset-required-topology\":\"kubernetes.io/hostname\"",
                                       ",\"kueue.x-k8s.io/podset-preferred-topology\":\"" ZONE "\"",
                                       ",\"kueue.x-k8s.io/podset-preferred-topology\":\"kubernetes.io/hostname\"",
                                       ",\"kueue.x-k8s.io/podset-unconstrained-topology\":\"true\"",
                                       ",\"kueue.x-k8s.io/podset-required-topology\":\"" ZONE "\",\"kueue.x-k8s.io/podset-slice-required-topology\":"
                                       "\"kubernetes.io/hostname\",\"kueue.x-k8s.io/podset-slice-size\":\"2\""};
    return asks[random_below(&w->random, sizeof asks / sizeof *asks)];
}

void near_change(struct world *w)
{
    static const char *const zones[] = {"\"zone-a\"", "\"zone-b\"", "\"zone-c\"", "null"};
    if (random_below(&w->random, 3) == 0) { /* with a check domains come later than quota */
        world_patch(w, "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/q3", "{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[%s]}}}",
                    random_below(&w->random, 2) ? "{\"name\":\"budget\"}" : "");
        return;
    }
    const char *zone = zones[random_below(&w->random, 4)];
    world_patch(w, arena_printf(w->arena, "/api/v1/nodes/node-%d", (int)random_below(&w->random, WORLD_NODES)),
                "{\"metadata\":{\"labels\":{\"" ZONE "\":%s}}}", zone);
}

/* Its pods end with it, but for those of groups whose maker replaces only what failed. */
void near_node_fails(struct world *w)
{
    static const char *const how[] = {"{\"spec\":{\"taints\":[{\"key\":\"broken\",\"effect\":\"NoExecute\"}]}}",
                                      "{\"spec\":{\"unschedulable\":true}}", "{\"spec\":{\"taints\":null,\"unschedulable\":false}}",
                                      "{\"spec\":{\"taints\":null,\"unschedulable\":false}}"};
    const char *node = arena_printf(w->arena, "node-%d", (int)random_below(&w->random, WORLD_NODES));
    uint64_t what = random_below(&w->random, 4);
    size_t at = 0;
    struct bytes key;
    world_patch(w, arena_printf(w->arena, "/api/v1/nodes/%s", node), "%s", how[what]);
    for (const struct mirror_pod *p; what < 2 && (p = map_next(w->pods, &at, &key));)
        if (p->bound && !p->over && !p->deleting && text_equal(p->node, node) && !text_starts(p->gang, "kg"))
            world_delete(w, arena_printf(w->arena, "/api/v1/namespaces/default/pods/%s", strchr(key.data, '/') + 1));
}

/* Live pods of the job on the node. */
static int64_t pods_on(struct world *w, const char *job, const char *node)
{
    size_t at = 0;
    struct bytes key;
    int64_t n = 0;
    for (const struct mirror_pod *p; (p = map_next(w->pods, &at, &key));)
        n += p->bound && !p->over && !p->deleting && text_equal(p->gang, job) && (!node || text_equal(p->node, node));
    return n;
}

static void look_at(struct world *w, struct json *workload, char *wrong, size_t size)
{
    struct json *set = json_item(json_path(workload, "status", "admission", "podSetAssignments", NULL), 0),
                *given = json_get(set, "topologyAssignment");
    const char *job = json_get_text(json_item(json_path(workload, "metadata", "ownerReferences", NULL), 0), "name", ""),
               *name = object_meta(workload, "name");
    int64_t sum = 0, stand = 0;
    if (!object_condition_true(workload, "Admitted") || object_condition_true(workload, "Evicted") ||
        object_condition_true(workload, "Finished"))
        return;
    if (!json_is(given, JSON_OBJECT)) {
        snprintf(wrong, size, "Workload %s runs, and does not say its domains", name);
        return;
    }
    const char *lost = json_get_text(json_item(json_path(workload, "status", "unhealthyNodes", NULL), 0), "name", NULL);
    if (lost)
        snprintf(wrong, size, "Workload %s has lost node %s, and neither goes nor has another", name, lost);
    kind_convert_topology(w->arena, given, false);
    JSON_EACH (domain, json_get(given, "domains")) {
        const char *node = json_text(json_item(json_get(domain, "values"), 0), "");
        int64_t count = json_get_int64(domain, "count", 0), on = pods_on(w, job, node);
        sum += count;
        stand += on;
        if (on > count)
            snprintf(wrong, size, "%lld pods of %s stand on %s, where its Workload has %lld", (long long)on, job, node, (long long)count);
    }
    if (sum != json_get_int64(set, "count", 0))
        snprintf(wrong, size, "Workload %s has %lld pods in domains, and was given %lld", name, (long long)sum,
                 (long long)json_get_int64(set, "count", 0));
    if (stand != pods_on(w, job, NULL))
        snprintf(wrong, size, "pods of %s stand where its Workload has no domain", job);
}

struct look {
    struct world *w;
    char wrong[512];
};

static void on_workloads(void *arg, const struct kube_answer *answer)
{
    struct look *l = arg;
    struct json *list = answer->code == 0 ? json_parse(l->w->arena, answer->body, NULL, NULL) : NULL;
    if (!list)
        snprintf(l->wrong, sizeof l->wrong, "Workloads cannot be read: %s", answer->error.text);
    JSON_EACH (one, json_get(list, "items"))
        if (text_equal(json_get_text(json_get(one, "spec"), "queueName", ""), "team3") && !l->wrong[0])
            look_at(l->w, one, l->wrong, sizeof l->wrong);
    l->w->asked = false;
}

static void owner_delete(struct world *w, struct arena *a, const struct json *workload)
{
    const struct json *owner = json_item(json_path(workload, "metadata", "ownerReferences", NULL), 0);
    if (owner)
        world_delete(w, arena_printf(a, "/apis/%s/namespaces/default/%ss/%s", json_get_text(owner, "apiVersion", ""),
                                     arena_text_lower(a, json_get_text(owner, "kind", "")), json_get_text(owner, "name", "")));
}

void near_give_up(struct world *w)
{
    _cleanup_arena_ struct arena *a = arena_new();
    JSON_EACH (one, world_read(w, a, "/apis/kueue.x-k8s.io/v1beta2/workloads"))
        if (object_condition_true(one, "QuotaReserved") &&
            text_equal(json_get_text(object_condition(one, "Admitted"), "reason", ""), OBJECT_AWAITS_PLACES))
            owner_delete(w, a, one);
}

/* WHY  three times: a pod that just moved, or a Workload that just started, is said in a moment. */
bool near_check(struct world *w)
{
    struct look l = {.w = w};
    for (int i = 0; i < 3; i++) {
        l.wrong[0] = '\0';
        w->asked = true;
        kube_get(w->quiet_client, "/apis/kueue.x-k8s.io/v1beta2/workloads", on_workloads, &l);
        for (int k = 0; k < 1000 && w->asked; k++)
            loop_run_for(w->loop, 1, NULL);
        arena_reset(w->arena);
        if (!l.wrong[0])
            return true;
        loop_run_for(w->loop, 1000, NULL);
    }
    world_broken(w, "%s", l.wrong);
    return false;
}
