# Two teams in a cohort: one borrows, the other takes back; a high priority goes first; and everybody is told why.
if ! embedded; then
    skip "preemption" "needs the simulated nodes of the embedded cluster"
    return
fi
K() { "$KUBECTL" "$@"; }
# The comment keeps kubectl from taking flow style for JSON.
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
why() { "$PROGRAM" why "job/$1" -n "$NS" "${@:2}"; }
# queue NAME GPUS PREEMPTION
queue() {
    apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-$1}, spec: {cohortName: $NS, namespaceSelector: {},
 preemption: {$3}, resourceGroups: [
 {coveredResources: [nvidia.com/gpu], flavors: [{name: $NS-a, resources: [{name: nvidia.com/gpu, nominalQuota: $2}]}]}]}}
YAML
    apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: $1}, spec: {clusterQueue: $NS-$1}}
YAML
}
# job NAME QUEUE GPUS [PRIORITY CLASS]
job() {
    apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: $2${4:+, kueue.x-k8s.io/priority-class: $NS-$4}}},
 spec: {parallelism: $3, completions: $3, suspend: true, template: {metadata: {annotations: {capstan.dev/run-seconds: "600"}},
  spec: {restartPolicy: Never, containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}
YAML
}
running() { k get job "$1" -o 'jsonpath={.status.active}'; }
suspended() { k get job "$1" -o 'jsonpath={.spec.suspend}'; }
workload_of() { k get workloads -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.ownerReferences[0].name}{"\n"}{end}' | awk -v o="$1" '$2 == o {print $1}'; }
uid_of() { k get "$@" -o 'jsonpath={.metadata.uid}'; }
condition() { k get workload "$(workload_of "$1")" -o "jsonpath={range .status.conditions[?(@.type==\"$2\")]}{.status} {.reason} {.message}{end}"; }
usage() { K get clusterqueue "$NS-$1" -o 'jsonpath={.status.flavorsReservation[0].resources[0].total} borrows {.status.flavorsReservation[0].resources[0].borrowed}'; }

apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-a}, spec: {nodeLabels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}}}
YAML
for class in low:1 high:1000; do
    apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: $NS-${class%:*}}, value: ${class#*:}, description: d}
YAML
done

# --- nothing of this warns any more
says "policies are taken without a warning" '^\[\]$' bash -c "printf '%s' '
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-w}, spec: {cohortName: w, namespaceSelector: {}, preemption: {
withinClusterQueue: LowerPriority, reclaimWithinCohort: Any, borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: 5}}}}' |
    '$KUBECTL' apply --dry-run=server -f - 2>&1 >/dev/null | grep -c Warning | sed 's/^0\$/[]/'"

# --- borrow and reclaim
queue red 2 'withinClusterQueue: LowerPriority, reclaimWithinCohort: Any'
queue blue 2 'withinClusterQueue: LowerPriority, reclaimWithinCohort: Any'
job guest blue 4
soon "one team uses all that the other leaves" '^4$' running guest
soon "and it is told as borrowed" '^4 borrows 2$' usage blue
job owner red 2
soon "the other takes its own back" '^2$' running owner
is "the guest's job stops" true suspended guest
soon "its Workload says why, in Kueue's words" "^True InCohortReclamation Preempted to accommodate a workload \\(UID: $(uid_of workload "$(workload_of owner)"), JobUID: $(uid_of job owner)\\) due to reclamation within the cohort; preemptor path: /$NS/$NS-red; preemptee path: /$NS/$NS-blue\$" condition guest Preempted
soon "it is evicted for that" '^True Preempted ' condition guest Evicted
soon "and queued again" '^True Preempted ' condition guest Requeued
soon "an event tells of it" 'Preempted +workload/.*Preempted to accommodate a workload' k get events
soon "another of its eviction" 'EvictedDueToPreempted' k get events
soon "and one of the preemptor's, whom it waited for" "PreemptedWorkload +workload/$(workload_of owner) .*Waits for workloads of ClusterQueue $NS-blue that were preempted for it \\(InCohortReclamation\\)" k get events
soon "why: for whom, and why" "^preempted for Workload $NS/$(workload_of owner) \\(InCohortReclamation\\)\$" why guest
soon "why as JSON" "\"name\": *\"$(workload_of owner)\"" why guest -o json
soon "why: it takes nothing back, for it would borrow" 'may preempt nobody for it: it would have to borrow, and borrowWithinCohort is Never' why guest
k delete job owner --wait=false >/dev/null
soon "it runs again when there is room" '^4$' running guest
soon "and its preemption is history" '^False QuotaReserved Previously: Preempted to accommodate' condition guest Preempted
k delete job guest --wait=false >/dev/null

# --- priority
job small-a red 1 low
job small-b red 1 low
job other blue 2 low
for j in small-a small-b; do soon "$j runs" '^1$' running $j; done
soon "the cohort is full" '^2$' running other
job urgent red 1 high
soon "priority: it runs" '^1$' running urgent
soon "priority: one of the lower has gone for it" '^True InClusterQueue Preempted to accommodate a workload .* due to prioritization in the ClusterQueue' bash -c "
    for w in $(workload_of small-a) $(workload_of small-b); do '$KUBECTL' -n $NS get workload \$w -o 'jsonpath={range .status.conditions[?(@.type==\"Preempted\")]}{.status} {.reason} {.message}{end}'; done"
soon "priority: only one" '^1 1$' bash -c "for j in small-a small-b other; do '$KUBECTL' -n $NS get job \$j -o 'jsonpath={.spec.suspend} '; done | tr ' ' '\n' | sort | uniq -c | awk '{print \$1}' | sort -n | head -2 | sed 's/2/1/' | xargs"
is "priority: who is within the quota of another team stays" false suspended other
job late red 1 low
soon "why: equal priority preempts nobody" 'may preempt nobody for it: no running workload is one that its policies allow to preempt' why late

# --- a gang that nodes could not hold even then evicts nobody
job wide red 4 high
soon "too wide for its own quota: nobody goes" 'may preempt nobody for it: it would have to borrow' why wide
is "nobody was evicted for it" false suspended other

# --- and Prometheus hears of all of it, by Kueue's names
page() { K get --raw /metrics/scheduler; }
soon "metrics: who was preempted, for whose queue" "^kueue_preempted_workloads_total{preempting_cluster_queue=\"$NS-red\",reason=\"InCohortReclamation\",replica_role=\"standalone\"} 1\$" page
soon "metrics: by priority, too" "^kueue_preempted_workloads_total{preempting_cluster_queue=\"$NS-red\",reason=\"InClusterQueue\",replica_role=\"standalone\"} 1\$" page
soon "metrics: evictions by queue and class" "^kueue_evicted_workloads_total{cluster_queue=\"$NS-red\",reason=\"Preempted\",underlying_cause=\"\",priority_class=\"$NS-low\",replica_role=\"standalone\"} 1\$" page
soon "metrics: the same by LocalQueue" "^kueue_local_queue_evicted_workloads_total{name=\"red\",namespace=\"$NS\",reason=\"Preempted\",underlying_cause=\"\",priority_class=\"$NS-low\",replica_role=\"standalone\"} 1\$" page
soon "metrics: how long it took until its quota was free" "^kueue_workload_eviction_latency_seconds_count{cluster_queue=\"$NS-red\",reason=\"Preempted\",replica_role=\"standalone\"} 1\$" page
soon "metrics: who was admitted in the cohort" "^kueue_cohort_subtree_admitted_workloads_total{cohort=\"$NS\",priority_class=\"$NS-high\",replica_role=\"standalone\"} 1\$" page
soon "metrics: pods that got ready" "^kueue_ready_wait_time_seconds_count{cluster_queue=\"$NS-red\",priority_class=\"$NS-high\",replica_role=\"standalone\"} 1\$" page
evictions() { k get workloads -o 'jsonpath={range .items[*]}{range .status.schedulingStats.evictions[*]}{.reason} {.count}{"\n"}{end}{end}' | sort | uniq -c | xargs; }
is "the object says how often, too" "1 Preempted 1" evictions
soon "metrics: what waits" "^kueue_pending_workloads{cluster_queue=\"$NS-red\",status=\"inadmissible\",replica_role=\"standalone\"} 3\$" page
soon "metrics: what is in use" "^kueue_cluster_queue_resource_usage{cohort=\"$NS\",cluster_queue=\"$NS-blue\",flavor=\"$NS-a\",resource=\"nvidia.com/gpu\",replica_role=\"standalone\"} 2\$" page
soon "metrics: the ClusterQueue's status" "^kueue_cluster_queue_status{cluster_queue=\"$NS-red\",status=\"active\",replica_role=\"standalone\"} 1\$" page
page >page.txt
if command -v promtool >/dev/null; then
    is "metrics: promtool finds nothing wrong" "" promtool check metrics <page.txt
else
    skip "metrics: promtool finds nothing wrong" "promtool is not installed"
fi
