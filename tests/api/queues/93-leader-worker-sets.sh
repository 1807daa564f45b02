# LeaderWorkerSets: groups of a leader and its workers, each queued by itself, started whole, made again with one of its pods, updated one by
# one. On the embedded server's nodes.
if ! embedded; then
    skip "LeaderWorkerSets" "needs the simulated nodes of the embedded cluster"
    return
fi
K() { "$KUBECTL" "$@"; }
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
bound() { k get pods -l "leaderworkerset.sigs.k8s.io/name=$1" -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | awk 'NF {n++} END {print n + 0}'; }
ready() { k get lws "$1" -o 'jsonpath={.status.readyReplicas}'; }
workloads() { k get workloads -o 'jsonpath={range .items[*]}{.metadata.annotations.kueue\.x-k8s\.io/component-workload-index} {.status.conditions[?(@.type=="Admitted")].status}{"\n"}{end}' | sort | tr '\n' ' '; }
uid() { k get pod "$1" -o 'jsonpath={.metadata.uid}'; }
pod="spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: \"x:1\", resources: {limits: {nvidia.com/gpu: 1}}}]}"
# lws NAME GROUPS SIZE [SPEC] [TEMPLATE]
lws() {
    apply <<YAML
{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: q}},
 spec: {replicas: $2, ${4:+$4,} leaderWorkerTemplate: {size: $3, ${5:+$5,} workerTemplate: {$pod}}}}
YAML
}

apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-a}, spec: {nodeLabels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-q}, spec: {namespaceSelector: {}, resourceGroups: [
 {coveredResources: [nvidia.com/gpu], flavors: [{name: $NS-a, resources: [{name: nvidia.com/gpu, nominalQuota: 5}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q}, spec: {clusterQueue: $NS-q}}
YAML

# --- two of three groups fit, and not half of the third
lws multi 3 2 "startupPolicy: LeaderReady" "leaderTemplate: {$pod}"
soon "two groups start" '^2$' ready multi
is "and nothing of the third" "4" bound multi
says "each is a Workload of its own" '0 True 1 True 2 (False)? ?' workloads
says "columns" 'multi +2 +3 +2 ' k get lws multi
says "its pods know their group" 'LWS_LEADER_ADDRESS=multi-1.multi.'"$NS"' LWS_GROUP_SIZE=2 LWS_WORKER_INDEX=1' k get pod multi-1-1 \
    -o 'jsonpath={range .spec.containers[0].env[*]}{.name}={.value} {end}'
is "labels" "1 1 multi-1" k get pod multi-1-1 -o 'jsonpath={.metadata.labels.leaderworkerset\.sigs\.k8s\.io/group-index} {.metadata.labels.leaderworkerset\.sigs\.k8s\.io/worker-index} {.metadata.annotations.leaderworkerset\.sigs\.k8s\.io/leader-name}'
says "on the nodes of its flavor" 'NVIDIA-A100-SXM4-40GB' k get pod multi-0-1 -o 'jsonpath={.spec.nodeSelector}'
says "each group stands in the list of jobs" 'LeaderWorkerSet +multi-1 +2 +2 ' "$PROGRAM" jobs -n "$NS"
says "by whose name why takes it" 'admitted by ClusterQueue' "$PROGRAM" why lws/multi-1 -n "$NS"
says "why the third waits" 'insufficient' "$PROGRAM" why lws/multi -n "$NS"

# --- a pod fails: its group is made again, with the quota that it has
leader=$(uid multi-0) other=$(uid multi-1)
k delete pod multi-0-1 --wait=false >/dev/null
soon "its leader is another" . bash -c "'$KUBECTL' -n '$NS' get pod multi-0 -o 'jsonpath={.metadata.uid}' | grep -v '$leader'"
soon "and both are ready" '^2$' ready multi
is "the other group has stayed" "$other" uid multi-1
is "still nothing of the third" "4" bound multi

# --- what is refused
refuses "another size" 'spec.leaderWorkerTemplate.size: Invalid value: 3: field is immutable' k patch lws multi --type=merge -p '{"spec":{"leaderWorkerTemplate":{"size":3}}}'
refuses "no pods at all" 'spec.leaderWorkerTemplate.size' k create -f - <<YAML
{"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "none"}, "spec": {"leaderWorkerTemplate": {"size": 0, "workerTemplate": {"spec": {"containers": [{"name": "c", "image": "x"}]}}}}}
YAML

# --- updated, one group after the other, and scaled
ok "without the one that waits" k scale lws multi --replicas=2
soon "two Workloads" '^0 True 1 True $' workloads
ok "another image" k patch lws multi --type=json -p '[{"op": "replace", "path": "/spec/leaderWorkerTemplate/workerTemplate/spec/containers/0/image", "value": "x:2"}]'
soon "workers run it" '^x:2 x:2 $' k get pods multi-0-1 multi-1-1 --ignore-not-found -o 'jsonpath={range .items[*]}{.spec.containers[0].image} {end}'
soon "and both are ready" '^2$' ready multi
ok "one group" k scale lws multi --replicas=1
soon "one Workload" '^0 True $' workloads
soon "and its pods" '^2$' bound multi
ok "none" k scale lws multi --replicas=0
soon "no Workload" '^$' workloads

# --- the workers' template for all, and deleted
lws plain 1 3
soon "three of a kind" '^1$' ready plain
is "are one pod set" "main=3 " k get workloads -o 'jsonpath={range .items[0].spec.podSets[*]}{.name}={.count} {end}'
k delete lws multi plain --wait=false >/dev/null
soon "nothing is left" '^$' k get workloads,pods,statefulsets,services -o name

K delete clusterqueue "$NS-q" --wait=false >/dev/null
K delete resourceflavor "$NS-a" --wait=false >/dev/null
