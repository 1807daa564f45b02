# The visibility API: who waits in a queue, in which place.
if ! embedded; then
    skip "visibility API" "needs the simulated nodes of the embedded cluster"
    return
fi
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
cq() { raw "/apis/visibility.kueue.x-k8s.io/$1/clusterqueues/$NS-q/pendingworkloads${2:-}"; }
lq() { raw "/apis/visibility.kueue.x-k8s.io/$1/namespaces/$NS/localqueues/$2/pendingworkloads${3:-}"; }
# "owner queue place-in-ClusterQueue place-in-LocalQueue priority; ..." of a summary on standard input
short() {
    python3 -c 'import json, sys
for w in json.load(sys.stdin)["items"]:
    print(w["metadata"]["ownerReferences"][0]["name"], w["localQueueName"], w["positionInClusterQueue"], w["positionInLocalQueue"], w["priority"], end="; ")'
}
of_cq() { cq "$@" | short; }
of_lq() { lq "$@" | short; }
job() { # NAME QUEUE PRIORITY-CLASS
    apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: $2, kueue.x-k8s.io/priority-class: $NS-$3}}, spec: {
 parallelism: 1, completions: 1, suspend: true, template: {metadata: {annotations: {capstan.dev/run-seconds: "600"}},
 spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}}
YAML
}
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-f}, spec: {}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: $NS-low}, value: 1}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: $NS-high}, value: 7}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-q}, spec: {namespaceSelector: {}, resourceGroups: [
 {coveredResources: [pods], flavors: [{name: $NS-f, resources: [{name: pods, nominalQuota: 1}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: red}, spec: {clusterQueue: $NS-q}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: blue}, spec: {clusterQueue: $NS-q}}
YAML
is "nobody waits" '' of_cq v1beta2
job runs red low
soon "one runs" '^1$' k get job runs -o 'jsonpath={.status.active}'
job first red low
soon "one waits" '^first red 0 0 1; $' of_cq v1beta2
job second blue low
soon "another behind it" '^first red 0 0 1; second blue 1 0 1; $' of_cq v1beta2
job third red low
soon "a third" '^first red 0 0 1; second blue 1 0 1; third red 2 1 1; $' of_cq v1beta2
job urgent blue high
soon "who is urgent comes first" '^urgent blue 0 0 7; first red 1 0 1; second blue 2 1 1; third red 3 1 1; $' of_cq v1beta2
is "v1beta1 says the same" 'urgent blue 0 0 7; first red 1 0 1; second blue 2 1 1; third red 3 1 1; ' of_cq v1beta1
is "of a LocalQueue: its own, with both places" 'first red 1 0 1; third red 3 1 1; ' of_lq v1beta2 red
is "limit" 'urgent blue 0 0 7; first red 1 0 1; ' of_cq v1beta2 '?limit=2'
is "limit and offset" 'second blue 2 1 1; ' of_cq v1beta2 '?limit=1&offset=2'
is "offset of a LocalQueue" 'third red 3 1 1; ' of_lq v1beta1 red '?offset=1'
is "beyond the end" '' of_cq v1beta2 '?offset=9'
says "it is a summary of its version" '"kind":"PendingWorkloadsSummary","apiVersion":"visibility.kueue.x-k8s.io/v1beta1"' cq v1beta1
says "with whose they are" '"metadata":\{"name":"job-urgent-[^"]*","namespace":"[^"]*","creationTimestamp":"[^"]*","ownerReferences":\[\{"apiVersion":"batch/v1","kind":"Job","name":"urgent","uid":"[^"]*"\}\]\}' cq v1beta2
refuses "a queue that is not there" 'NotFound|not found' raw "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/$NS-none/pendingworkloads"
refuses "a LocalQueue that is not there" 'NotFound|not found' lq v1beta2 none
refuses "a limit that is no number" 'limit: "x" is no whole number' cq v1beta2 '?limit=x'
refuses "queues themselves are elsewhere" 'MethodNotAllowed|does not allow' raw "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues"
says "it is announced" '"name":"localqueues/pendingworkloads","singularName":"","namespaced":true,"kind":"PendingWorkloadsSummary","verbs":\["get"\]' raw /apis/visibility.kueue.x-k8s.io/v1beta2
ok "and kubectl finds the queues where they were" k get clusterqueues,localqueues
k delete jobs --all --wait=false >/dev/null
