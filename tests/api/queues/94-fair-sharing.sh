# Fair sharing, turned on by Kueue's Configuration: who borrows most gives up first, both sides are told, and shares stand in status.
if ! embedded; then
    skip "fair sharing" "needs an embedded cluster of its own"
    return
fi
trap 'kill $(jobs -p) 2>/dev/null' EXIT
cat >fair.yaml <<YAML
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]}
YAML
"$PROGRAM" up --config fair.yaml --data-dir "$PWD/own" --listen 127.0.0.1:0 --nodes 2:a100-40gb,gpus=4 >own.log 2>&1 &
appears own/kubeconfig
export KUBECONFIG=$PWD/own/kubeconfig
"$KUBECTL" create namespace "$NS" >/dev/null
refuses "nothing of fairSharing is told to do nothing" '^$' grep 'does nothing' own.log

says "a weight is taken without a warning where shares are kept" '^cohort.kueue.x-k8s.io/weighed created$' bash -c \
    "printf 'apiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {name: weighed}\nspec: {fairSharing: {weight: 2}}\n' | '$KUBECTL' apply -f - 2>&1"

K() { "$KUBECTL" "$@"; }
# The comment keeps kubectl from taking flow style for JSON.
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null 2>&1; }
why() { "$PROGRAM" why "job/$1" -n "$NS"; }
queue() {
    apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $1}, spec: {cohortName: all, namespaceSelector: {},
 preemption: {reclaimWithinCohort: Any}, resourceGroups: [
 {coveredResources: [nvidia.com/gpu], flavors: [{name: a, resources: [{name: nvidia.com/gpu, nominalQuota: 0}]}]}]}}
YAML
    apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: $1}, spec: {clusterQueue: $1}}
YAML
}
job() {
    apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: $2}},
 spec: {parallelism: $3, completions: $3, suspend: true, template: {metadata: {annotations: {capstan.dev/run-seconds: "600"}},
  spec: {restartPolicy: Never, containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}
YAML
}
running() { k get jobs -o 'jsonpath={range .items[*]}{.metadata.name}={.status.active} {end}'; }
workload_of() { k get workloads -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.ownerReferences[0].name}{"\n"}{end}' | awk -v o="$1" '$2 == o {print $1}'; }
uid_of() { k get "$@" -o 'jsonpath={.metadata.uid}'; }
share() { K get "$1" "$2" -o 'jsonpath={.status.fairSharing.weightedShare}'; }
preempted() { k get workloads -o 'jsonpath={range .items[*]}{.status.conditions[?(@.type=="Preempted")].reason}{end}'; }

apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: a}, spec: {nodeLabels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}}}
YAML
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: all}, spec: {resourceGroups: [
 {coveredResources: [nvidia.com/gpu], flavors: [{name: a, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]}]}}
YAML
queue red
queue blue
for i in 1 2 3 4; do job "red-$i" red 2; done
soon "one team takes all" '^red-1=2 red-2=2 red-3=2 red-4=2 $' running
soon "its share is all" '^1000$' share clusterqueue red
soon "who uses nothing has none" '^0$' share clusterqueue blue
soon "nor has a cohort without a parent" '^0$' share cohort all
job blue-1 blue 4
soon "another comes, and gets as much" 'blue-1=4' running
soon "shares are equal then" '^500 500$' bash -c "echo \$('$KUBECTL' get clusterqueues red blue -o 'jsonpath={.items[0].status.fairSharing.weightedShare} {.items[1].status.fairSharing.weightedShare}')"
soon "two have gone for it, by shares" '^InCohortFairSharingInCohortFairSharing$' preempted
victim=$(k get workloads -o 'jsonpath={range .items[*]}{.metadata.ownerReferences[0].name} {.status.conditions[?(@.type=="Preempted")].reason}{"\n"}{end}' | awk '$2 != "" {print $1; exit}')
condition() { k get workload "$(workload_of "$victim")" -o 'jsonpath={.status.conditions[?(@.type=="Preempted")].message}'; }
soon "in Kueue's words" "^Preempted to accommodate a workload \\(UID: $(uid_of workload "$(workload_of blue-1)"), JobUID: $(uid_of job blue-1)\\) due to Fair Sharing within the cohort; preemptor path: /all/blue; preemptee path: /all/red\$" condition
soon "why: for whom, by which rule, and both shares" "^preempted for Workload $NS/$(workload_of blue-1) \\(InCohortFairSharing\\); shares now: ClusterQueue blue 500, ClusterQueue red 500\$" why "$victim"
job red-5 red 1
soon "why: nobody takes it back, with both shares" 'ClusterQueue blue has a share of 500, and with this one its own side would have 625' why red-5
job blue-2 blue 2
soon "nobody goes for more than a half" 'ClusterQueue red has a share of 500, and with this one its own side would have 750' why blue-2
K patch clusterqueue blue --type merge -p '{"spec":{"fairSharing":{"weight":"3"}}}' >/dev/null 2>&1
soon "with three times the weight more is its due" 'blue-2=2' running
soon "its share counts by its weight" '^250$' share clusterqueue blue
K patch clusterqueue red --type merge -p '{"spec":{"fairSharing":{"weight":"0"}}}' >/dev/null 2>&1
soon "a weight of 0 makes what is borrowed infinitely much" '^9223372036854775807$' share clusterqueue red
page() { K get --raw /metrics/scheduler; }
soon "and to Prometheus, which has no such number, none" '^kueue_cluster_queue_weighted_share{cluster_queue="red",cohort="all",replica_role="standalone"} NaN$' page
job blue-3 blue 2
soon "and it may all be taken" 'blue-3=2' running

# --- Prometheus reads shares and cohorts by Kueue's names
soon "metrics: a share" '^kueue_cluster_queue_weighted_share{cluster_queue="blue",cohort="all",replica_role="standalone"} [0-9.]+$' page
soon "metrics: a cohort" '^kueue_cohort_info{cohort="all",parent_cohort="",root_cohort="all",replica_role="standalone"} 1$' page
soon "metrics: what it has" '^kueue_cohort_subtree_quota{cohort="all",flavor="a",resource="nvidia.com/gpu",replica_role="standalone"} 8$' page
soon "metrics: what is reserved in it" '^kueue_cohort_subtree_resource_reservations{cohort="all",flavor="a",resource="nvidia.com/gpu",replica_role="standalone"} 8$' page
soon "metrics: no limit is +Inf" '^kueue_cluster_queue_borrowing_limit{cohort="all",cluster_queue="blue",flavor="a",resource="nvidia.com/gpu",replica_role="standalone"} \+Inf$' page
soon "metrics: what waits, by reason" '^kueue_unadmitted_workloads{cluster_queue="red",reason="NoReservation",underlying_cause="WaitingForQuota",replica_role="standalone"} [1-9]$' page
soon "metrics: of a LocalQueue" "^kueue_local_queue_unadmitted_workloads{name=\"red\",namespace=\"$NS\",cluster_queue=\"red\",reason=\"NoReservation\",underlying_cause=\"WaitingForQuota\",replica_role=\"standalone\"} [1-9]\$" page
soon "metrics: what all that waits asks for" '^kueue_cluster_queue_resource_pending{cluster_queue="red",resource="nvidia.com/gpu",replica_role="standalone"} [1-9][0-9]*$' page
soon "metrics: whether a LocalQueue is active" "^kueue_local_queue_status{name=\"red\",namespace=\"$NS\",active=\"True\",replica_role=\"standalone\"} 1\$" page
soon "metrics: a LocalQueue's use" "^kueue_local_queue_resource_usage{name=\"blue\",namespace=\"$NS\",flavor=\"a\",resource=\"nvidia.com/gpu\",replica_role=\"standalone\"} [1-9]\$" page
