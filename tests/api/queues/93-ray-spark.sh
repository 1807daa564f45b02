# RayServices and SparkApplications: nobody runs them here, but they are queued: suspended, counted, started with what their flavor gives,
# stopped and restored. Their definitions are bare ones, for the embedded server has none.
if ! embedded; then
    skip "Ray and Spark in queues" "needs a server without their operators"
    return
fi
K() { "$KUBECTL" "$@"; }
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
workload_of() { k get workloads -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.ownerReferences[0].name}{"\n"}{end}' | awk -v o="$1" '$2 == o {print $1}'; }
of_workload() { k get workload "$(workload_of "$1")" -o "jsonpath=$2"; }
condition() { of_workload "$1" "{range .status.conditions[?(@.type==\"$2\")]}{.status} {.reason}{end}"; }
# definition GROUP VERSION KIND PLURAL
definition() {
    { echo "# YAML"; cat; } <<YAML | K apply -f - >/dev/null
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: $4.$1}, spec: {group: $1, scope: Namespaced,
 names: {kind: $3, plural: $4, singular: ${4%s}}, versions: [{name: $2, served: true, storage: true, subresources: {status: {}},
 schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}
YAML
    K wait --for=condition=Established "crd/$4.$1" --timeout=20s >/dev/null
}
definition ray.io v1 RayService rayservices
definition ray.io v1 RayCluster rayclusters
definition sparkoperator.k8s.io v1beta2 SparkApplication sparkapplications

apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-a}, spec: {nodeLabels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-q}, spec: {namespaceSelector: {}, resourceGroups: [
 {coveredResources: [nvidia.com/gpu, cpu, memory], flavors: [{name: $NS-a, resources: [{name: nvidia.com/gpu, nominalQuota: 4},
 {name: cpu, nominalQuota: 100}, {name: memory, nominalQuota: 1Ti}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q}, spec: {clusterQueue: $NS-q}}
YAML

# --- RayService: through its cluster's suspend
pod="template: {spec: {containers: [{name: c, image: ray, resources: {limits: {nvidia.com/gpu: 1}}}]}}"
apply <<YAML
{apiVersion: ray.io/v1, kind: RayService, metadata: {name: serve, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {serveConfigV2: "x", rayClusterConfig: {
 headGroupSpec: {$pod}, workerGroupSpecs: [{groupName: Small, replicas: 2, $pod}]}}}
YAML
soon "a RayService is admitted" '^True ' condition serve Admitted
is "head and workers are pod sets" "head=1 small=2 " of_workload serve '{range .spec.podSets[*]}{.name}={.count} {end}'
soon "its cluster may start" '^false$' k get rayservice serve -o 'jsonpath={.spec.rayClusterConfig.suspend}'
says "on the nodes of its flavor" 'NVIDIA-A100-SXM4-40GB' k get rayservice serve \
    -o 'jsonpath={.spec.rayClusterConfig.workerGroupSpecs[0].template.spec.nodeSelector}'
is "what it serves is as it was" "x" k get rayservice serve -o 'jsonpath={.spec.serveConfigV2}'
uid=$(k get rayservice serve -o 'jsonpath={.metadata.uid}')
apply <<YAML
{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: serve-1, labels: {kueue.x-k8s.io/queue-name: q}, ownerReferences: [
 {apiVersion: ray.io/v1, kind: RayService, name: serve, uid: $uid, controller: true}]}, spec: {headGroupSpec: {$pod}}}
YAML
k patch rayservice serve --subresource=status --type=merge -p '{"status":{"conditions":[{"type":"Ready","status":"True","reason":"r","message":"m","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}' >/dev/null
soon "it is ready when Ray says so" '^True ' condition serve PodsReady
is "its cluster has no Workload of its own" "" workload_of serve-1
says "capstan knows it" 'admitted by ClusterQueue' "$PROGRAM" why rayservice/serve -n "$NS"

# --- SparkApplication: waits, starts, ends
apply <<YAML
{apiVersion: sparkoperator.k8s.io/v1beta2, kind: SparkApplication, metadata: {name: etl, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {type: Python,
 mode: cluster, driver: {coreRequest: "1", memory: 1g}, executor: {instances: 2, coreRequest: "1", memory: 2g, gpu: {name: nvidia.com/gpu, quantity: 1}}}}
YAML
soon "a SparkApplication is suspended" '^true$' k get sparkapplication etl -o 'jsonpath={.spec.suspend}'
soon "while there is no room for its executors" '^False ' condition etl QuotaReserved
is "driver and executors are pod sets" "driver=1 executor=2 " of_workload etl '{range .spec.podSets[*]}{.name}={.count} {end}'
is "memory as Kubernetes says it" "2Gi" of_workload etl '{.spec.podSets[1].template.spec.containers[0].resources.requests.memory}'
k delete rayservice serve --wait=false >/dev/null
soon "it starts" '^false$' k get sparkapplication etl -o 'jsonpath={.spec.suspend}'
says "its executors on the nodes of its flavor" 'NVIDIA-A100-SXM4-40GB' k get sparkapplication etl -o 'jsonpath={.spec.executor.nodeSelector}'
k patch workload "$(workload_of etl)" --type=merge -p '{"spec":{"active":false}}' >/dev/null
soon "stopped, it is as it was" '^true ||$' k get sparkapplication etl -o 'jsonpath={.spec.suspend} |{.spec.executor.nodeSelector.nvidia\.com/gpu\.product}|'
k patch workload "$(workload_of etl)" --type=merge -p '{"spec":{"active":true}}' >/dev/null
soon "and starts again" '^false$' k get sparkapplication etl -o 'jsonpath={.spec.suspend}'
k patch sparkapplication etl --subresource=status --type=merge -p '{"status":{"applicationState":{"state":"COMPLETED"}}}' >/dev/null
soon "it ends" '^True Succeeded$' condition etl Finished
apply <<YAML
{apiVersion: sparkoperator.k8s.io/v1beta2, kind: SparkApplication, metadata: {name: grows, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {mode: cluster,
 dynamicAllocation: {enabled: true}, driver: {}, executor: {}}}
YAML
soon "one that grows is told what to write" 'write false, and spec.executor.instances' k get events -o 'jsonpath={.items[*].message}'

k delete sparkapplications --all --wait=false >/dev/null
for name in rayservices.ray.io rayclusters.ray.io sparkapplications.sparkoperator.k8s.io; do
    K delete crd "$name" --wait=false >/dev/null
done
K delete clusterqueue "$NS-q" --wait=false >/dev/null
K delete resourceflavor "$NS-a" --wait=false >/dev/null
