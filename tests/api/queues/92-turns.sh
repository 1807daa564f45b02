# A Job that has more completions than it runs pods at a time keeps its places for those that come next, though others wait for them; and gives
# them back as nobody comes any more.
if ! embedded; then
    skip "pods in turns" "needs an embedded cluster of its own"
    return
fi
trap 'kill $(jobs -p) 2>/dev/null' EXIT
"$PROGRAM" up --data-dir "$PWD/own" --listen 127.0.0.1:0 --nodes 1:a100-40gb,gpus=2 >own.log 2>&1 &
appears own/kubeconfig
export KUBECONFIG=$PWD/own/kubeconfig
"$KUBECTL" create namespace "$NS" >/dev/null

K() { "$KUBECTL" "$@"; }
# The comment keeps kubectl from taking flow style for JSON.
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null 2>&1; }
GPU="containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]"
active() { k get job turns -o 'jsonpath={.status.active}'; }
succeeded() { k get job turns -o 'jsonpath={.status.succeeded}'; }
# standing NAME...: those of the pods that have a node
standing() { k get pods "$@" -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | grep -c .; }

apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: a}, spec: {nodeLabels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: q}, spec: {namespaceSelector: {}, resourceGroups: [
 {coveredResources: [nvidia.com/gpu], flavors: [{name: a, resources: [{name: nvidia.com/gpu, nominalQuota: 2}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q}, spec: {clusterQueue: q}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: turns, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {parallelism: 2, completions: 6, suspend: true,
 template: {metadata: {annotations: {capstan.dev/run-seconds: "3"}}, spec: {restartPolicy: Never, $GPU}}}}
YAML
soon "two of six run" '^2$' active
for name in one two three; do
    apply <<YAML
{apiVersion: v1, kind: Pod, metadata: {name: $name, labels: {lone: "yes"}, annotations: {capstan.dev/run-seconds: "600"}}, spec: {restartPolicy: Never, $GPU}}
YAML
done
soon "two of them are over" '^[2-6]$' succeeded
soon "four of them are over, beside pods that wait for a GPU" '^[4-6]$' succeeded
soon "all of them are over" '^6$' succeeded
soon "then pods that waited have the GPUs" '^2$' standing -l lone=yes
# late: pods of the job that did not start within three seconds, and lone pods that started before the last of the job; and how many it had
late() {
    k get pods -o 'jsonpath={range .items[*]}{.metadata.labels.lone}-{.metadata.creationTimestamp} {.status.startTime}{"\n"}{end}' |
        while read -r created at; do
            [ "$at" ] || continue
            case $created in
            yes-*) echo "lone $(date -d "$at" +%s)" ;;
            *) echo "job $(date -d "$at" +%s) $(($(date -d "$at" +%s) - $(date -d "${created#-}" +%s)))" ;;
            esac
        done | sort |
        awk '$1 == "job" {if ($3 > 3) print "late"; if ($2 > last) last = $2; n++} $1 == "lone" && $2 < last {print "early"} END {print n}'
}
is "and no pod of the job had to wait for its place" 6 late
usage() { k get clusterqueue q -o 'jsonpath={.status.flavorsReservation[0].resources[0].total} {.status.flavorsUsage[0].resources[0].total}'; }
soon "nothing of the quota is kept" '^0 0$' usage

# --- one at a time
apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: single, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {parallelism: 1, completions: 2, suspend: true,
 template: {metadata: {annotations: {capstan.dev/run-seconds: "1"}}, spec: {restartPolicy: Never, $GPU}}}}
YAML
k delete pod one --wait=false >/dev/null
k delete pod two --wait=false >/dev/null
k delete pod three --wait=false >/dev/null
over() { k get job single -o 'jsonpath={.status.succeeded} {.status.conditions[?(@.type=="Complete")].status}'; }
soon "one at a time: both are over" '^2 True$' over
soon "nothing of the quota is kept" '^0 0$' usage
for name in four five; do
    apply <<YAML
{apiVersion: v1, kind: Pod, metadata: {name: $name, labels: {lone: "yes"}}, spec: {restartPolicy: Never, $GPU}}
YAML
done
soon "no place either" '^2$' standing -l lone=yes
