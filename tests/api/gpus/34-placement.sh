# How nodes are chosen, by a ConfigMap and while it runs: ours, and those that users of KETI's scheduler have.
if ! embedded; then
    skip "placement by a ConfigMap" "needs an embedded server of its own"
    return
fi
K() { "$KUBECTL" "$@"; }
nodes_of() { k get pods -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | sort -u | grep -c . || true; }
running() { k get pods --field-selector status.phase=Running -o name | grep -c . || true; }
map() { # NAMESPACE NAME KEY=VALUE...
    local ns=$1 name=$2 literals=() one
    shift 2
    for one in "$@"; do literals+=("--from-literal=$one"); done
    K -n "$ns" create configmap "$name" "${literals[@]}" --dry-run=client -o yaml | K apply -f - >/dev/null
}
events() { K -n "$1" get events -o 'jsonpath={range .items[*]}{.reason} {.message}{"\n"}{end}'; }
K create namespace gpu >/dev/null 2>&1
for i in 1 2 3; do { echo "# YAML"; cat; } <<YAML | K create -f - >/dev/null
{apiVersion: v1, kind: Node, metadata: {name: $NS-$i, labels: {capstan.dev/simulated: "true", only: $NS}, annotations: {capstan.dev/shape: "t4,gpus=4"}},
 status: {capacity: {cpu: 8, memory: 8Gi, pods: 10, nvidia.com/gpu: 4}, allocatable: {cpu: 8, memory: 8Gi, pods: 10, nvidia.com/gpu: 4},
 conditions: [{type: Ready, status: "True", reason: KubeletReady, lastHeartbeatTime: "$(date -u +%FT%TZ)",
 lastTransitionTime: "$(date -u +%FT%TZ)"}]}}
YAML
done
pod() { # NAME
    { echo "# YAML"; cat; } <<YAML | k apply -f - >/dev/null
{apiVersion: v1, kind: Pod, metadata: {name: $1, annotations: {capstan.dev/run-seconds: "600"}}, spec: {restartPolicy: Never,
 nodeSelector: {only: $NS}, containers: [{name: main, image: train, resources: {limits: {nvidia.com/gpu: 1}}}]}}
YAML
}
for i in 1 2 3; do pod "packed-$i"; done
soon "three pods run" '^3$' running
is "on one node: it is filled first" 1 nodes_of
k delete pods --all --wait=true --grace-period=1 >/dev/null

map gpu gpu-scheduler-policy gpu-allocate-prefer=spread node-gpu-score-weight=0.4:0.6
soon "what KETI's users write is told where it does nothing" 'PolicyHasNoEffect data.node-gpu-score-weight: "0.4:0.6" changes nothing: GPUs' events gpu
for i in 1 2 3; do pod "spread-$i"; done
soon "three pods run" '^3$' running
is "on a node each, as the map prefers" 3 nodes_of
k delete pods --all --wait=true --grace-period=1 >/dev/null

# Who only looks ahead chooses nodes in the same way: three pods on three nodes leave no whole node for the next.
{ echo "# YAML"; cat; } <<YAML | k apply -f - >/dev/null
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-f}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-q}, spec: {namespaceSelector: {}, resourceGroups: [
 {coveredResources: [nvidia.com/gpu], flavors: [{name: $NS-f, resources: [{name: nvidia.com/gpu, nominalQuota: 12}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q}, spec: {clusterQueue: $NS-q}}
YAML
job() { # NAME PODS GPUS
    cat <<YAML
---
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {suspend: true, activeDeadlineSeconds: 600,
 parallelism: $2, completions: $2, template: {spec: {restartPolicy: Never, nodeSelector: {only: $NS}, containers: [{name: main, image: train,
 resources: {limits: {nvidia.com/gpu: $3}}}]}}}}
YAML
}
what_if() { { echo "# YAML"; job a-small 3 1; job b-large 1 4; } | "$PROGRAM" sim what-if --change - -n "$NS" "$@"; }
says "with spread the large one waits for the small" "b-large +- +in 10m +new\$" what_if

map gpu gpu-scheduler-policy gpu-allocate-prefer=binpack "node-gpu-score-weight=0.3 0.7"
soon "what cannot be read is told, with what to write" \
    'PolicyRefused data.node-gpu-score-weight: "0.3 0.7": write two numbers .*, as 0.4:0.6; the policy stays spread' events gpu
for i in 1 2 3; do pod "still-$i"; done
soon "three pods run" '^3$' running
is "and the last good policy stays" 3 nodes_of
k delete pods --all --wait=true --grace-period=1 >/dev/null

map kube-system capstan-policy placement=fgd
sleep 1
for i in 1 2 3; do pod "fgd-$i"; done
soon "by our own map, which goes before theirs, three pods run" '^3$' running
is "where the least is lost to others" 1 nodes_of
k delete pods --all --wait=true --grace-period=1 >/dev/null
says "what looks ahead goes by it too" "b-large +- +at once +new\$" what_if
map kube-system capstan-policy placement=best
soon "a policy that does not exist is told" 'PolicyRefused data.placement: "best": write binpack, .* the policy stays fgd' events kube-system
K -n kube-system delete configmap capstan-policy >/dev/null
K -n gpu delete configmap gpu-scheduler-policy >/dev/null
K delete nodes -l "only=$NS" --wait=false >/dev/null

# Who waits for the Lease has read the map long before he leads: it is told of then.
map kube-system capstan-policy placement=best
soon "told of" 'PolicyRefused' events kube-system
K -n kube-system delete events --all >/dev/null
{ echo "# YAML"; cat; } <<YAML | K create -f - >/dev/null
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: capstan-scheduler, namespace: kube-system}, spec: {holderIdentity: other,
 leaseDurationSeconds: 3, acquireTime: "$(date -u +%FT%T.000000Z)", renewTime: "$(date -u +%FT%T.000000Z)"}}
YAML
"$PROGRAM" scheduler --hold --no-kueue --no-volcano >"$HOME/second.log" 2>&1 &
second=$!
soon "once another one leads it is told again" 'PolicyRefused' events kube-system
kill "$second"
wait "$second" 2>/dev/null
K -n kube-system delete lease capstan-scheduler --ignore-not-found >/dev/null
K -n kube-system delete configmap capstan-policy >/dev/null
