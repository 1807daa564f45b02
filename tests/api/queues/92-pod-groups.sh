# Pods that start together or not at all, whoever groups them: Kueue pod groups, coscheduling, native PodGroups, TrainJobs;
# and one pod in a queue. On the embedded server's nodes: 6 with 8 GPUs each.
if ! embedded; then
    skip "pod groups" "needs the simulated nodes of the embedded cluster"
    return
fi
K() { "$KUBECTL" "$@"; }
# The comment keeps kubectl from taking flow style for JSON.
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
why() { "$PROGRAM" why "$1" -n "$NS" "${@:2}"; }
# pod NAME GPUS LABELS [ANNOTATIONS] [SPEC]: runs for ten minutes unless ANNOTATIONS say else
pod() {
    apply <<YAML
{apiVersion: v1, kind: Pod, metadata: {name: $1, labels: {$3}, annotations: {capstan.dev/run-seconds: "600"${4:+, $4}}},
 spec: {restartPolicy: Never${5:+, $5}, containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: $2}}}]}}
YAML
}
node_of() { k get pod "$1" -o 'jsonpath={.spec.nodeName}'; }
# bound SELECTOR: how many of its pods have a node
bound() { k get pods -l "$1" -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | awk 'NF {n++} END {print n + 0}'; }
condition() { k get workload "$1" -o "jsonpath={range .status.conditions[?(@.type==\"$2\")]}{.status} {.reason} {.message}{end}"; }
workload_of() { k get workloads -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.ownerReferences[0].name}{"\n"}{end}' | awk -v o="$1" '$2 == o {print $1}'; }
remove() { k delete "$@" --wait=false >/dev/null; }

apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-a}, spec: {nodeLabels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}}}
YAML
for queue in small:4 big:100; do
    apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-${queue%:*}}, spec: {namespaceSelector: {}, resourceGroups: [
 {coveredResources: [nvidia.com/gpu], flavors: [{name: $NS-a, resources: [{name: nvidia.com/gpu, nominalQuota: ${queue#*:}}]}]}]}}
YAML
    apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: ${queue%:*}}, spec: {clusterQueue: $NS-${queue%:*}}}
YAML
done

# --- one pod in a queue
queued="kueue.x-k8s.io/queue-name: small"
pod lone 3 "$queued"
soon "a queued pod runs on a node of its flavor" '^a100-40gb-[01]$' node_of lone
pod lone-2 2 "$queued"
condition_of() { condition "$(workload_of "$1")" "$2"; }
soon "the next waits for quota" '^False WaitingForQuota' condition_of lone-2 QuotaReserved
says "it is gated" 'SchedulingGated' k get pod lone-2
is "and has no node" "" node_of lone-2
soon "why tells its Workload's reason" 'would help: 1 more nvidia.com/gpu of quota' why pod/lone-2
remove pod lone
soon "and runs when there is room" '^a100-40gb-[01]$' node_of lone-2

# --- a Deployment with a queue: its pods are queued, each by itself
apply <<YAML
{apiVersion: apps/v1, kind: Deployment, metadata: {name: served, labels: {$queued}}, spec: {replicas: 3, selector: {matchLabels: {app: served}},
 template: {metadata: {labels: {app: served}}, spec: {containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}
YAML
soon "a Deployment with a queue: as many pods as its quota holds" '^2$' bound app=served
soon "the third waits for quota" 'WaitingForQuota' k get workloads -o 'jsonpath={.items[*].status.conditions[*].reason}'
remove deployment served
soon "its pods go with it" '^$' k get pods -l app=served -o name

# --- a Kueue pod group
group="$queued, kueue.x-k8s.io/pod-group-name: trio"
total='kueue.x-k8s.io/pod-group-total-count: "3"'
pod trio-0 1 "$group" "$total, capstan.dev/run-seconds: \"2\""
pod trio-1 1 "$group" "$total, capstan.dev/run-seconds: \"2\""
soon "two of three: why counts" '2 of 3 pods of group trio exist' why pod/trio-0
refuses "no Workload before the group is whole" 'not found' k get workload trio
pod trio-2 1 "$group" "$total, capstan.dev/run-seconds: \"2\""
soon "the whole group waits for quota" '^False WaitingForQuota .*1 more needed' condition trio QuotaReserved
is "none of it starts" 0 bound kueue.x-k8s.io/pod-group-name=trio
soon "why of the Workload" 'position: 1 of 1' why workload/trio
soon "why of a member" 'insufficient unused quota' why pod/trio-1
remove pod lone-2
soon "room: all start" '^3$' bound kueue.x-k8s.io/pod-group-name=trio
soon "all end: the group is finished" '^True Succeeded Pods succeeded: 3/3[.]$' condition trio Finished
soon "and gives its quota back" '^0 0$' K get clusterqueue "$NS-small" -o 'jsonpath={.status.reservingWorkloads} {.status.pendingWorkloads}'
for i in 0 1 2; do pod large-$i 8 "kueue.x-k8s.io/queue-name: big, kueue.x-k8s.io/pod-group-name: large" "$total"; done
soon "quota for three, nodes for two" '^False TopologyPlacementFailed .*only 2 of 3 pods' condition large QuotaReserved
is "so none" 0 bound kueue.x-k8s.io/pod-group-name=large
pod large-3 8 "kueue.x-k8s.io/queue-name: big, kueue.x-k8s.io/pod-group-name: large" "$total"
soon "a pod too many is told" 'ExcessPodDeleted' k get events --field-selector reason=ExcessPodDeleted
soon "and deleted" '^3$' bash -c "'$KUBECTL' -n '$NS' get pods -l kueue.x-k8s.io/pod-group-name=large -o name | wc -l"
remove pods -l kueue.x-k8s.io/pod-group-name=large
soon "a group without pods leaves no Workload" '^workload.kueue.x-k8s.io/trio$' bash -c "'$KUBECTL' -n '$NS' get workloads -o name | grep -v pod-lone | paste -sd ' '"

# --- coscheduling
for g in co:3 co2:4; do
    apply <<YAML
{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: ${g%:*}}, spec: {minMember: ${g#*:}}}
YAML
done
member="schedulerName: coscheduling"
for i in 0 1; do pod co-$i 8 "scheduling.x-k8s.io/pod-group: co" "" "$member"; done
soon "two of three: why counts" '2 of 3 pods exist' why podgroup/co
soon "a member says the same" '2 of 3 pods exist' why pod/co-0
soon "as JSON" '"code": "members-missing"' why podgroup/co -o json
is "and none starts" 0 bound scheduling.x-k8s.io/pod-group=co
pod co-2 8 "scheduling.x-k8s.io/pod-group: co" "" "$member"
soon "the third comes: all start" '^3$' bound scheduling.x-k8s.io/pod-group=co
soon "the group runs" '^Running 3$' k get podgroups.scheduling.x-k8s.io co -o 'jsonpath={.status.phase} {.status.running}'
for i in 0 1 2 3; do pod co2-$i 8 "scheduling.x-k8s.io/pod-group: co2" "" "$member"; done
soon "room for three of four" 'only 3 of 4 pods can be placed' why podgroup/co2
is "so none" 0 bound scheduling.x-k8s.io/pod-group=co2
# a pod's condition is rewritten at most every ten seconds
soon "a member's condition says it" 'only 3 of 4 pods' k get pod co2-0 -o 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}'
remove pods -l scheduling.x-k8s.io/pod-group=co
soon "room for four: all" '^4$' bound scheduling.x-k8s.io/pod-group=co2
remove pods -l scheduling.x-k8s.io/pod-group=co2

# --- the native PodGroup
apply <<YAML
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: nat}, spec: {schedulingPolicy: {gang: {minCount: 3}}}}
YAML
for i in 0 1; do pod nat-$i 1 "app: nat" "" "schedulingGroup: {podGroupName: nat}"; done
soon "native, two of three: why counts" '2 of 3 pods exist' why podgroup/nat
is "and none starts" 0 bound app=nat
pod nat-2 1 "app: nat" "" "schedulingGroup: {podGroupName: nat}"
soon "the third comes: all start" '^3$' bound app=nat
soon "the condition says so" '^True Scheduled' k get podgroups.v1beta1.scheduling.k8s.io nat -o 'jsonpath={range .status.conditions[?(@.type=="PodGroupInitiallyScheduled")]}{.status} {.reason}{end}'
remove pods -l app=nat

# --- TrainJobs through a runtime
for t in first:3:600 second:2:2; do
    name=${t%%:*} seconds=${t##*:} t=${t%:*}
    apply <<YAML
{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainingRuntime, metadata: {name: $name, labels: {trainer.kubeflow.org/framework: torch}}, spec: {
 mlPolicy: {numNodes: 1, torch: {}}, template: {spec: {replicatedJobs: [{name: node, template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
 spec: {template: {metadata: {annotations: {capstan.dev/run-seconds: "$seconds"}}, spec: {containers: [{name: node, image: x}]}}}}}]}}}}
YAML
    apply <<YAML
{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: $name, labels: {kueue.x-k8s.io/queue-name: small}}, spec: {
 runtimeRef: {apiGroup: trainer.kubeflow.org, kind: TrainingRuntime, name: $name}, trainer: {numNodes: ${t#*:}, resourcesPerNode: {limits: {nvidia.com/gpu: 1}}}}}
YAML
done
soon "the first TrainJob starts whole on its flavor" '^(a100-40gb-[01] ?){3}$' k get pods -l jobset.sigs.k8s.io/jobset-name=first -o 'jsonpath={.items[*].spec.nodeName}'
soon "the second waits" 'insufficient unused quota for nvidia.com/gpu' why trainjob/second
is "with no pods" "" k get pods -l jobset.sigs.k8s.io/jobset-name=second -o name
remove trainjob first
says "then it completes" 'condition met' k wait trainjob/second --for=condition=Complete --timeout=60s
soon "its Workload is finished" '^True Succeeded' condition_of second Finished

K delete clusterqueue "$NS-small" "$NS-big" --wait=false >/dev/null
K delete resourceflavor "$NS-a" --wait=false >/dev/null
