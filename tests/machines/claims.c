#include "claims.h"
#include "autoscaler.h"
#include "base/arena.h"

#define CLAIMS "/apis/karpenter.sh/v1/nodeclaims"

const char *claims_definition(struct arena *a, int kind)
{
    static const char *const plural[] = {"nodepools", "nodeclaims"}, *const kinds[] = {"NodePool", "NodeClaim"};
    return arena_printf(
        a,
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":\"%s.karpenter.sh\"},"
        "\"spec\":{\"group\":\"karpenter.sh\",\"scope\":\"Cluster\",\"names\":{\"plural\":\"%s\",\"kind\":\"%s\"},\"versions\":[{"
        "\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
        "\"x-kubernetes-preserve-unknown-fields\":true}}}]}}",
        plural[kind], plural[kind], kinds[kind]);
}

const char *claims_pool(struct arena *a, const char *pool, int gpus, int limit_n, int zones_n)
{
    const char *zones = "";
    for (int i = 0; i < zones_n; i++)
        zones = arena_printf(a, "%s%s\"%s\"", zones, i ? "," : "", zone_names[i]);
    zones = zones_n ? arena_printf(a, ",{\"key\":\"" ZONE_LABEL "\",\"operator\":\"In\",\"values\":[%s]}", zones) : "";
    const char *limits = limit_n ? arena_printf(a, "\"limits\":{\"nvidia.com/gpu\":\"%d\"},", limit_n * gpus) : "";
    return arena_printf(
        a,
        "{\"apiVersion\":\"karpenter.sh/v1\",\"kind\":\"NodePool\",\"metadata\":{\"name\":\"%s\"},\"spec\":{%s\"template\":{\"spec\":{"
        "\"requirements\":[{\"key\":\"karpenter.k8s.aws/instance-gpu-count\",\"operator\":\"In\",\"values\":[\"%d\"]}%s]}}}}",
        pool, limits, gpus, zones);
}

void claim_begins(struct kube_client *c, struct arena *a, int at, const char *pool, int gpus)
{
    const char *text =
        arena_printf(a,
                     "{\"apiVersion\":\"karpenter.sh/v1\",\"kind\":\"NodeClaim\",\"metadata\":{\"name\":\"m-%d\",\"labels\":{"
                     "\"karpenter.sh/nodepool\":\"%s\",\"node.kubernetes.io/instance-type\":\"type-%s\"}},\"spec\":{\"resources\":{"
                     "\"requests\":{\"nvidia.com/gpu\":\"%d\"}}}}",
                     at, pool, pool, gpus);
    kube_create(c, CLAIMS, bytes_of(text), NULL, NULL);
}

void claim_has(struct kube_client *c, struct arena *a, int at, int gpus, bool is_node, bool ready)
{
    const char *text = arena_printf(
        a,
        "{\"status\":{%s\"capacity\":{\"cpu\":\"64\",\"memory\":\"256Gi\",\"pods\":\"110\",\"nvidia.com/gpu\":\"%d\"},"
        "\"conditions\":[{\"type\":\"Launched\",\"status\":\"True\"}%s]}}",
        is_node ? arena_printf(a, "\"nodeName\":\"m-%d\",", at) : "", gpus, ready ? ",{\"type\":\"Initialized\",\"status\":\"True\"}" : "");
    kube_patch(c, KUBE_PATCH_MERGE, arena_printf(a, CLAIMS "/m-%d", at), bytes_of(text), NULL, NULL);
}

void claim_ends(struct kube_client *c, struct arena *a, int at)
{
    kube_delete(c, arena_printf(a, CLAIMS "/m-%d", at), (struct bytes){0}, NULL, NULL);
}
