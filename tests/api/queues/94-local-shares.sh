# Admission fair sharing, turned on by Kueue's Configuration: who has used less of late comes first, both sides are told, what was used stands
# in status and outlives the scheduler.
if ! embedded; then
    skip "admission fair sharing" "needs an embedded cluster of its own"
    return
fi
trap 'kill $(jobs -p) 2>/dev/null' EXIT
cat >shares.yaml <<YAML
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
admissionFairSharing: {usageHalfLifeTime: 1h, usageSamplingInterval: 2s, resourceWeights: {nvidia.com/gpu: 1000, cpu: 0}}
YAML
server=
start() {
    "$PROGRAM" up --config shares.yaml --data-dir "$PWD/own" --listen 127.0.0.1:0 --nodes 1:a100-40gb,gpus=4 >own.log 2>&1 &
    server=$!
    appears own/kubeconfig
}
start
export KUBECONFIG=$PWD/own/kubeconfig
"$KUBECTL" create namespace "$NS" >/dev/null
refuses "nothing of admissionFairSharing is told to do nothing" '^$' grep 'does nothing' own.log

K() { "$KUBECTL" "$@"; }
# The comment keeps kubectl from taking flow style for JSON.
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null 2>&1; }
why() { "$PROGRAM" why "job/$1" -n "$NS" "${@:2}"; }
local_queue() {
    apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: $1}, spec: {clusterQueue: all, fairSharing: {weight: $2}}}
YAML
}
job() {
    apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: $2}},
 spec: {parallelism: 4, completions: 4, suspend: true, template: {metadata: {annotations: {capstan.dev/run-seconds: "600"}},
  spec: {restartPolicy: Never, containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}
YAML
}
running() { k get jobs -o 'jsonpath={range .items[*]}{.metadata.name}={.status.active} {end}'; }
consumed() { k get localqueue "$1" -o 'jsonpath={.status.fairSharing.admissionFairSharingStatus.consumedResources.nvidia\.com/gpu}'; }
share() { k get localqueue "$1" -o 'jsonpath={.status.fairSharing.weightedShare}'; }
version_of() { k get localqueue "$1" -o 'jsonpath={.metadata.resourceVersion}'; }
last_update() { k get localqueue "$1" -o 'jsonpath={.status.fairSharing.admissionFairSharingStatus.lastUpdate}'; }

apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: a}, spec: {nodeLabels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}}}
YAML
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: all}, spec: {namespaceSelector: {},
 admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}, resourceGroups: [
 {coveredResources: [nvidia.com/gpu], flavors: [{name: a, resources: [{name: nvidia.com/gpu, nominalQuota: 4}]}]}]}}
YAML
local_queue red 1
local_queue blue 1
soon "who has used nothing says so" '^0$' consumed red
job red-1 red
soon "one runs" 'red-1=4 ' running
soon "and what it holds adds up" '^[1-9][0-9]*[mun]$' consumed red
soon "by the weights" '^[1-9][0-9]*$' share red
idle=$(last_update blue) version=$(version_of blue) told=$(last_update red)
again() { [ "$(last_update red)" \> "$told" ] && echo yes; }
soon "it is told again and again" '^yes$' again
soon "of who uses nothing nothing is written" "^$version\$" version_of blue
job red-2 red
job blue-1 blue
soon "why: who goes first, with both shares" "^LocalQueue $NS/blue goes first: it has used 0 of late, LocalQueue $NS/red [1-9][0-9]*\$" why red-2
soon "why: though it came later" '^position: 2 of 2 waiting$' why red-2
soon "why: the other is first" '^position: 1 of 2 waiting$' why blue-1
ahead_of_blue() { why blue-1 | grep 'goes first'; }
refuses "and is told of nobody" '^$' ahead_of_blue
soon "why: for programs" "\"localQueue\": *\"$NS/blue\"" why red-2 -o json
page() { K get --raw /metrics/scheduler; }
soon "metrics: what was used" "^kueue_local_queue_admission_fair_sharing_usage{name=\"red\",namespace=\"$NS\",cluster_queue=\"all\",replica_role=\"standalone\"} [0-9.]+\$" page

# --- a scheduler that starts anew knows it
before=$(share red) told=$(last_update red)
kill "$server"
wait "$server" 2>/dev/null
rm -f own/kubeconfig
start
told_since() { [ "$(last_update red)" \> "$told" ] && [ "$(share red)" -ge "$before" ] && echo yes; }
soon "what was used outlives the scheduler" '^yes$' told_since
soon "and who has used nothing had nothing to be written" "^$idle\$" last_update blue
k delete job red-1 >/dev/null 2>&1
soon "who has used less runs next, and the other waits" '^blue-1=4 red-2= $' running
k delete job blue-1 >/dev/null 2>&1
k patch localqueue blue --type merge -p '{"spec":{"fairSharing":{"weight":"0"}}}' >/dev/null 2>&1
soon "a weight of 0 comes last" 'red-2=4 ' running
soon "with all that can be told" '^9223372036854775807$' share blue
