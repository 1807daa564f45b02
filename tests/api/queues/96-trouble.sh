# Trouble around queues: a victim that does not go, its Workload edited meanwhile, nodes without the label of a topology, two schedulers at
# once. Each is told in a sentence, and leaves a state from which everything goes on.
if ! embedded; then
    skip "trouble around queues" "needs the simulated nodes of the embedded cluster"
    return
fi
K() { "$KUBECTL" "$@"; }
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
why() { "$PROGRAM" why "job/$1" -n "$NS" "${@:2}"; }
# job NAME QUEUE PODS PRIORITY CLASS [ANNOTATION]: one GPU a pod, runs for ten minutes
job() {
    apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: $2, kueue.x-k8s.io/priority-class: $NS-$4}},
 spec: {parallelism: $3, completions: $3, suspend: true, template: {metadata: {annotations: {capstan.dev/run-seconds: "600", ${5:-}}},
  spec: {restartPolicy: Never, containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}
YAML
}
# queue NAME FLAVOR GPUS
queue() {
    apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-$1}, spec: {namespaceSelector: {},
 preemption: {withinClusterQueue: LowerPriority}, resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [
  {name: $NS-$2, resources: [{name: nvidia.com/gpu, nominalQuota: $3}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: $1}, spec: {clusterQueue: $NS-$1}}
YAML
}
running() { k get job "$1" -o 'jsonpath={.status.active}'; }
suspended() { k get job "$1" -o 'jsonpath={.spec.suspend}'; }
workload_of() { k get workloads -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.ownerReferences[0].name}{"\n"}{end}' | awk -v o="$1" '$2 == o {print $1}'; }
condition() { k get workload "$(workload_of "$1")" -o "jsonpath={range .status.conditions[?(@.type==\"$2\")]}{.status} {.reason} {.message}{end}"; }
edit() { k patch workload "$(workload_of "$1")" --type merge -p "$2"; }
usage() { K get clusterqueue "$NS-$1" -o 'jsonpath={.status.flavorsReservation[0].resources[0].total}'; }
leaving() { k get pods -l "job-name=$1" -o 'jsonpath={range .items[*]}{.metadata.deletionTimestamp}{"\n"}{end}' | grep -c '^20'; }
let_go() { k delete pods -l "job-name=$1" --force --grace-period=0 >/dev/null 2>&1; }
keep() { for p in $(k get pods -l "job-name=$1" -o name); do k patch "$p" --type merge -p "{\"metadata\":{\"finalizers\":$2}}" >/dev/null; done; }
ends() { k delete job "$@" --wait=false >/dev/null; soon "${*: -1}: all have gone" '^$' k get pods,workloads -o name; }

for class in low:1 high:1000; do
    apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: $NS-${class%:*}}, value: ${class#*:}, description: d}
YAML
done
# A node whose kubelet has died: what is on it does not end, whoever deletes it.
apply <<YAML
{apiVersion: v1, kind: Node, metadata: {name: $NS-dead, labels: {example.com/kind: $NS-dead}}, status: {
 capacity: {cpu: 8, memory: 64Gi, pods: 20, nvidia.com/gpu: 4}, allocatable: {cpu: 8, memory: 64Gi, pods: 20, nvidia.com/gpu: 4},
 conditions: [{type: Ready, status: "True", reason: Tested, message: ""}]}}
YAML
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-a}, spec: {nodeLabels: {example.com/kind: $NS-dead}}}
YAML
queue q a 4

# --- a victim that ignores its deletion
job stays q 4 low
soon "four have their places" '^4$' running stays
job urgent q 4 high
soon "it is preempted" '^True Preempted ' condition stays Evicted
soon "its job is stopped" '^true$' suspended stays
soon "and its pods are told to end" '^4$' leaving stays
soon "the preemptor waits, and says for whom" '^False WaitingForPreemptedWorkloads .*pending the preemption of 1 workload' condition urgent QuotaReserved
soon "why: by name" "preempted $NS/$(workload_of stays): InClusterQueue" why urgent
soon "why: the victim" "^preempted for Workload $NS/$(workload_of urgent) \\(InClusterQueue\\)\$" why stays
edit stays '{"spec":{"priority":5000}}' >/dev/null
refuses "edited meanwhile: what makes no sense is refused by its field" 'spec.podSets: Invalid value' edit stays '{"spec":{"podSets":[]}}'
soon "edited meanwhile: its priority is that of its job again" '^1$' k get workload "$(workload_of stays)" -o 'jsonpath={.spec.priority}'
edit stays '{"spec":{"active":false}}' >/dev/null
soon "edited meanwhile: it is deactivated" '^Job .*/stays: deactivated$' why stays
is "and the preemptor still waits for its pods" 4 leaving stays
let_go stays
soon "once they have gone the preemptor has their place" '^4$' running urgent
soon "the victim says what it is now" '^False Deactivated The workload is deactivated' condition stays QuotaReserved
edit stays '{"spec":{"active":true}}' >/dev/null
soon "activated again it waits for quota" '^False WaitingForQuota .*insufficient unused quota for nvidia.com/gpu' condition stays QuotaReserved
soon "why: for what" 'insufficient unused quota for nvidia.com/gpu in flavor .*, 4 more needed' why stays
k delete job urgent --wait=false >/dev/null
let_go urgent
soon "and runs when there is room" '^4$' running stays

# --- the preemptor goes before its victim has: the victim is queued again all the same
job urgent q 4 high
soon "preempted once more" '^True Preempted ' condition stays Evicted
soon "its pods are told to end" '^4$' leaving stays
k delete job urgent --wait=false >/dev/null
let_go stays
soon "nobody has its place: it runs again" '^4$' bash -c "'$KUBECTL' -n '$NS' get pods -l job-name=stays -o 'jsonpath={range .items[*]}{.spec.nodeName} {.metadata.deletionTimestamp}{\"\n\"}{end}' | grep -c 'dead \$'"
soon "and its quota is counted once" '^4$' usage q
k delete job stays --wait=false >/dev/null
let_go stays
soon "all have gone" '^$' k get pods,workloads -o name

# --- half of the nodes lack a label of the topology
rack=$NS.example.com/rack at=0
for node in $(K get nodes -l nvidia.com/gpu.product=Tesla-T4 -o name | sort); do
    [ $((at % 2)) = 1 ] || K label "$node" "$rack=r" >/dev/null
    at=$((at + 1))
done
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: Topology, metadata: {name: $NS-t}, spec: {levels: [{nodeLabel: $rack}, {nodeLabel: kubernetes.io/hostname}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-t}, spec: {nodeLabels: {nvidia.com/gpu.product: Tesla-T4}, topologyName: $NS-t}}
YAML
queue racks t 100
job fits racks 16 low "kueue.x-k8s.io/podset-required-topology: $rack"
soon "half of the nodes lack a label of the topology: what fits on the others runs" '^16$' running fits
job more racks 8 low "kueue.x-k8s.io/podset-required-topology: $rack"
soon "who finds no room there waits" '^False TopologyPlacementFailed .*Total nodes: 3; excluded: resource "nvidia.com/gpu": 3$' condition more QuotaReserved
soon "why: the others lack the label" "2 node\\(s\\) with room are in no domain of it: they have no label $rack\$" why more
K label nodes -l nvidia.com/gpu.product=Tesla-T4 "$rack=r" --overwrite >/dev/null
soon "with the label it starts" '^8$' running more
K label nodes -l nvidia.com/gpu.product=Tesla-T4 "$rack-" >/dev/null
job late racks 1 low "kueue.x-k8s.io/podset-required-topology: $rack"
soon "nobody has the label any more: that is said" "no topology domains at level: $rack" condition late QuotaReserved
is "and who runs goes on" "16 8" bash -c "echo \$('$KUBECTL' -n '$NS' get job fits more -o 'jsonpath={.items[*].status.active}')"
k delete jobs --all --wait=false >/dev/null
soon "all have gone" '^$' k get pods,workloads -o name

# --- two schedulers at once, neither of which knows of the other
"$PROGRAM" scheduler --leader-elect=false --default-scheduler 2>second.log &
second=$!
soon "a second scheduler" 'connected server=' cat second.log
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-s}, spec: {nodeLabels: {nvidia.com/gpu.product: Tesla-T4}}}
YAML
queue both s 24
for i in $(seq 10); do
    job "j$i" both 3 low
    k create -f - >/dev/null <<YAML
# YAML
{apiVersion: v1, kind: Pod, metadata: {name: p$i, annotations: {capstan.dev/run-seconds: "600"}}, spec: {restartPolicy: Never,
 containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}}
YAML
done
running_n() { k get jobs -o 'jsonpath={range .items[*]}{.status.active}{"\n"}{end}' | grep -c '^3$'; }
given() { k get pods -o 'jsonpath={range .items[*]}{.spec.nodeName} {.metadata.annotations.capstan\.dev/devices} {.status.phase}{"\n"}{end}' | awk '$3 == "Running" {print $1, $2}'; }
twice() { given | sort | uniq -d; } # a GPU that two pods have
versions() { k get workloads -o 'jsonpath={.items[*].metadata.resourceVersion}'; }
soon "both at once: as many jobs run as there is quota" '^8$' running_n
soon "and all pods that come alone have a node" '^10$' bash -c "'$KUBECTL' -n '$NS' get pods -o 'jsonpath={range .items[*]}{.metadata.name} {.spec.nodeName}{\"\n\"}{end}' | grep -c '^p.* .'"
soon "quota is counted once" '^24$' usage both
soon "all that run say which GPU" '^(2[4-9]|3[0-4])$' bash -c "$(declare -f k given); given | wc -l"
is "no GPU is given twice" '' twice
job first both 3 high
soon "who is urgent starts" '^3$' running first
soon "and one has gone for it" '^8$' running_n
is "one alone" 1 bash -c "'$KUBECTL' -n '$NS' get workloads -o 'jsonpath={range .items[*]}{.status.conditions[?(@.type==\"Preempted\")].status}{\"\n\"}{end}' | grep -c True"
is "no GPU is given twice" '' twice
quiet() { local before; before=$(versions); sleep 5; [ "$before" != "$(versions)" ] || echo quiet; }
soon "then both are quiet" '^quiet$' quiet
kill "$second"
wait "$second"
k delete job first --wait=false >/dev/null
soon "when one of them ends the other goes on" '^8$' bash -c "'$KUBECTL' -n '$NS' get jobs -o 'jsonpath={range .items[*]}{.metadata.name} {.status.active}{\"\n\"}{end}' | grep -c '^j.* 3$'"
K delete node "$NS-dead" --wait=false >/dev/null
