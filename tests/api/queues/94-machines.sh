# Machines that come: a gang is admitted on quota alone, an autoscaler sees all of its pods at once, and it is bound whole. This script
# plays the autoscaler: a node for each pod that is unschedulable, one after the other.
if ! embedded; then
    skip "machines that come" "needs an embedded server of its own"
    return
fi
if ! at_least 24; then
    skip "machines that come" "kubectl $MINOR has no --subresource"
    return
fi
K() { "$KUBECTL" "$@"; }
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
workload() { k get workloads -o "jsonpath={range .items[?(@.metadata.ownerReferences[0].name==\"$1\")]}$2{end}"; }
unschedulable() { k get pods -l "job-name=$1" -o 'jsonpath={range .items[*]}{.status.conditions[?(@.type=="PodScheduled")].reason}{"\n"}{end}' | grep -c '^Unschedulable$' || true; }
bound() { k get pods -l "job-name=$1" -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | grep -c . || true; }
job() { # NAME PODS
    apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: q}},
 spec: {parallelism: $2, completions: $2, suspend: true, template: {metadata: {annotations: {capstan.dev/run-seconds: "600"}},
 spec: {restartPolicy: Never, containers: [{name: main, image: train, resources: {limits: {nvidia.com/gpu: 8}}}]}}}}
YAML
}
machine() { # NAME [POOL]
    { echo "# YAML"; cat; } <<YAML | K create -f - >/dev/null
{apiVersion: v1, kind: Node, metadata: {name: $NS-$1, labels: {capstan.dev/simulated: "true", karpenter.sh/nodepool: ${2:-$NS}},
 annotations: {capstan.dev/shape: t4}}, status: {capacity: {cpu: 8, memory: 8Gi, pods: 10, nvidia.com/gpu: 8},
 allocatable: {cpu: 8, memory: 8Gi, pods: 10, nvidia.com/gpu: 8}, conditions: [{type: Ready, status: "True", reason: KubeletReady,
 lastHeartbeatTime: "$(date -u +%FT%TZ)", lastTransitionTime: "$(date -u +%FT%TZ)"}]}}
YAML
}
says "such a check is taken without a warning" '^0$' bash -c "printf '%s' '
{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: $NS-w}, spec: {controllerName: capstan.dev/scale-up}}
' | '$KUBECTL' apply --dry-run=server -f - 2>&1 >/dev/null | grep -c Warning || true"
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: $NS-c, annotations: {capstan.dev/scale-up-timeout: soon}},
 spec: {controllerName: capstan.dev/scale-up}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-f}, spec: {nodeLabels: {karpenter.sh/nodepool: $NS}}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-q}, spec: {namespaceSelector: {}, admissionChecksStrategy: {
 admissionChecks: [{name: $NS-c}]}, resourceGroups: [{coveredResources: [nvidia.com/gpu],
 flavors: [{name: $NS-f, resources: [{name: nvidia.com/gpu, nominalQuota: 24}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q}, spec: {clusterQueue: $NS-q}}
YAML
active() { K get admissioncheck "$NS-c" -o 'jsonpath={.status.conditions[0].status} {.status.conditions[0].reason} {.status.conditions[0].message}'; }
soon "a timeout that is none is told" '^False BadParameters metadata.annotations\[capstan.dev/scale-up-timeout\]: "soon" is no time from 1s to 168h' active
K annotate --overwrite admissioncheck "$NS-c" capstan.dev/scale-up-timeout=5m >/dev/null
soon "and one that is opens it" '^True Active ' active

job large 3
soon "it is admitted though no node is there" '^True$' workload large '{.status.conditions[?(@.type=="Admitted")].status}'
soon "all of its pods are unschedulable, which an autoscaler looks for" '^3$' unschedulable large
is "and carry for how long, and that none may be moved away" '5m true' k get pods -l job-name=large \
    -o 'jsonpath={.items[0].metadata.annotations.capstan\.dev/scale-up} {.items[0].metadata.annotations.karpenter\.sh/do-not-disrupt}'
is "none is promised a node" '' k get pods -l job-name=large -o 'jsonpath={.items[*].status.nominatedNodeName}'
job more 1
soon "whom quota keeps out has no pods, so that nothing is bought for it" 'nsufficient unused quota' "$PROGRAM" why job/more -n "$NS"
is "none at all" '0' unschedulable more
machine a
machine b
k create -f - >/dev/null <<JSON
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "other"}, "spec": {"nodeSelector": {"karpenter.sh/nodepool": "$NS"},
 "containers": [{"name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}
JSON
soon "on two of three machines it waits" "only 2 of 3 pods of pod set main can be placed" "$PROGRAM" why job/large -n "$NS"
is "with all of its pods" '0' bound large
is "and goes on asking for all of them" '3' unschedulable large
soon "nobody else is bound on what came for it" 'had untolerated taint .capstan.dev/held-for' k get pod other \
    -o 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}'
k delete pod other --wait=false >/dev/null
machine c
soon "with the last one it is bound whole" '^3$' bound large
k delete job large --wait=false >/dev/null
soon "the next one starts on what is there" '^1$' bound more
k delete job more --wait=false >/dev/null

K annotate --overwrite admissioncheck "$NS-c" capstan.dev/scale-up-timeout=1s >/dev/null
K delete node "$NS-c" >/dev/null
job late 3
soon "machines that do not come: it gives its quota back" 'machines for its pods did not come within 1s' workload late '{.status.conditions[?(@.type=="Evicted")].message}'
soon "and comes again after a minute" '^1 60$' workload late '{.status.admissionChecks[0].retryCount} {.status.admissionChecks[0].requeueAfterSeconds}'
soon "its pods are gone" '^0$' unschedulable late
k delete job late --wait=false >/dev/null

K delete nodes -l "karpenter.sh/nodepool=$NS" >/dev/null
machine g "$NS-g"
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-g}, spec: {nodeLabels: {karpenter.sh/nodepool: $NS-g}}}
YAML
K patch clusterqueue "$NS-q" --type=json -p "[{\"op\": \"add\", \"path\": \"/spec/resourceGroups/0/flavors/-\", \"value\":
 {\"name\": \"$NS-g\", \"resources\": [{\"name\": \"nvidia.com/gpu\", \"nominalQuota\": 24}]}}]" >/dev/null
job next 1
soon "where another flavor is left it comes again for that at once" '^1$' bound next
is "on its machines" "$NS-g" k get pods -l job-name=next -o 'jsonpath={.items[*].spec.nodeName}'
is "and its Workload says which it leaves out" 'True InsufficientCapacity' workload next \
    '{.status.conditions[?(@.type=="capstan.dev/PassedOver")].status} {.status.conditions[?(@.type=="capstan.dev/PassedOver")].reason}'
job more 1
soon "when all flavors have been tried none is left out" '^False AllTried' workload more \
    '{.status.conditions[?(@.type=="capstan.dev/PassedOver")].status} {.status.conditions[?(@.type=="capstan.dev/PassedOver")].reason}'
k delete job next more --wait=false >/dev/null
K delete nodes -l "karpenter.sh/nodepool in ($NS,$NS-g)" >/dev/null
