# What takes an admitted job's place away and gives it back: stopPolicy, spec.active, a user's own suspend, deletion, failure;
# and a server that is killed in the midst of it.
if ! embedded; then
    skip "stops" "needs the simulated nodes of the embedded cluster"
    return
fi
K() { "$KUBECTL" "$@"; }
# The comment keeps kubectl from taking flow style for JSON.
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
why() { "$PROGRAM" why "$1" -n "$NS" "${@:2}"; }
# job NAME QUEUE PODS [SECONDS] [MORE SPEC] [MORE ANNOTATIONS]
job() {
    apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: $2}},
 spec: {parallelism: $3, completions: $3, suspend: true, ${5:+$5, }template: {
  metadata: {annotations: {capstan.dev/run-seconds: "${4:-600}"${6:+, $6}}},
  spec: {restartPolicy: Never, containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}
YAML
}
remove() { k delete job "$@" --wait=false >/dev/null; }
waits() { k get job "$1" -o 'jsonpath={.spec.suspend}'; }
workload_of() { k get workloads -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.ownerReferences[0].name}{"\n"}{end}' | awk -v o="$1" '$2 == o {print $1}'; }
condition() { k get workload "$(workload_of "$1")" -o "jsonpath={range .status.conditions[?(@.type==\"${2:-QuotaReserved}\")]}{.status} {.reason} {.message}{end}"; }
running() { k get job "$1" -o 'jsonpath={.status.active}'; }
resume_json() { why "job/$1" -o json | tr -d ' \n' | sed -n 's/.*"change":"\(resume\)","kind":"\([A-Za-z]*\)","name":"\([^"]*\)".*/\1 \2 \3/p'; }
pods_in_quota() { k get workload "$(workload_of "$1")" -o 'jsonpath={.spec.podSets[0].count}'; }
pods_of() { k get pods -l "job-name=$1" -o name; }
template_of() { k get job "$1" -o 'jsonpath={.spec.template.spec.nodeSelector}{.spec.template.metadata.labels.kueue\.x-k8s\.io/podset}'; }
counts() { K get clusterqueue "$NS-q" -o 'jsonpath={.status.pendingWorkloads} {.status.reservingWorkloads} {.status.admittedWorkloads}'; }
active() { "$@" -o 'jsonpath={range .status.conditions[?(@.type=="Active")]}{.status} {.reason}{end}'; }
stop_queue() { K patch clusterqueue "$NS-q" --type merge -p "{\"spec\": {\"stopPolicy\": \"$1\"}}" >/dev/null; }
stop_local() { k patch localqueue q --type merge -p "{\"spec\": {\"stopPolicy\": \"$1\"}}" >/dev/null; }
set_active() { k patch workload "$(workload_of "$1")" --type merge -p "{\"spec\": {\"active\": $2}}" >/dev/null; }

apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-a}, spec: {nodeLabels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}}}
YAML
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-q}, spec: {namespaceSelector: {}, resourceGroups: [
 {coveredResources: [nvidia.com/gpu], flavors: [{name: $NS-a, resources: [{name: nvidia.com/gpu, nominalQuota: 4}]}]}]}}
YAML
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q}, spec: {clusterQueue: $NS-q}}
YAML

# --- stopPolicy of the ClusterQueue
job one q 2
soon "a job runs" '^2$' running one
stop_queue Hold
job two q 1
soon "Hold: nothing new" "^False Suspended ClusterQueue $NS-q is inactive$" condition two
soon "Hold: the queue says so" '^False Stopped$' active K get clusterqueue "$NS-q"
soon "Hold: and why" 'is stopped' why job/two
soon "Hold: what would help" "^would help: ClusterQueue $NS-q resumed\$" why job/two
soon "Hold: and as JSON" "^resume ClusterQueue $NS-q\$" resume_json two
is "Hold: who runs runs on" false waits one
stop_queue HoldAndDrain
soon "HoldAndDrain: evicted" '^True ClusterQueueStopped' condition one Evicted
soon "HoldAndDrain: suspended" '^true$' waits one
soon "HoldAndDrain: its pods go" '^$' pods_of one
soon "HoldAndDrain: its quota is free" '^2 0 0$' counts
soon "HoldAndDrain: to be requeued later" '^False ClusterQueueStopped' condition one Requeued
soon "HoldAndDrain: its template is as it was" '^$' template_of one
soon "HoldAndDrain: an event" 'EvictedDueToClusterQueueStopped' k get events
stop_queue None
for j in one two; do soon "resumed: $j runs" '^[12]$' running $j; done
soon "resumed: says why it was requeued" '^True ClusterQueueRestarted The ClusterQueue was restarted after being stopped$' condition one Requeued
soon "resumed: the eviction is history" '^False QuotaReserved Previously: ' condition one Evicted

# --- stopPolicy of the LocalQueue
stop_local Hold
job three q 1
soon "LocalQueue Hold: nothing new" "^False Suspended LocalQueue q is inactive$" condition three
soon "LocalQueue Hold: what would help" "^would help: LocalQueue $NS/q resumed\$" why job/three
soon "LocalQueue Hold: it says so" '^False Stopped$' active k get localqueue q
stop_local HoldAndDrain
for j in one two; do soon "LocalQueue HoldAndDrain: $j is evicted" '^True LocalQueueStopped' condition $j Evicted; done
soon "LocalQueue HoldAndDrain: all wait" '^3 0 0$' counts
stop_local None
for j in one two three; do soon "LocalQueue resumed: $j runs" '^[12]$' running $j; done
soon "LocalQueue resumed: says why" '^True LocalQueueRestarted The LocalQueue was restarted after being stopped$' condition one Requeued

# --- spec.active
set_active one false
soon "deactivated: evicted" '^True Deactivated' condition one Evicted
soon "deactivated: suspended, without pods" '^$' pods_of one
soon "deactivated: template restored" '^$' template_of one
soon "deactivated: its quota is free" '^[01] 2 2$' counts
soon "deactivated: why" 'deactivated' why job/one
set_active one true
soon "activated: runs again" '^2$' running one
soon "activated: says why" '^True Reactivated The workload was reactivated$' condition one Requeued

# --- somebody's finalizer keeps the pods of an evicted job: they are no failures of it
remove one two three
apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: kept, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {parallelism: 2, completions: 2, suspend: true, backoffLimit: 0,
 template: {metadata: {finalizers: [example.com/keep], annotations: {capstan.dev/run-seconds: "600"}},
  spec: {restartPolicy: Never, containers: [{name: a, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}
YAML
soon "kept pods: the job runs" '^2$' running kept
set_active kept false
soon "kept pods: they end and stay" '^FailedFailed$' k get pods -l job-name=kept -o 'jsonpath={range .items[*]}{.status.phase}{end}'
set_active kept true
soon "kept pods: the job runs again" '^2$' running kept
is "kept pods: none of them counts as a failure" "" k get job kept -o 'jsonpath={.status.failed}'
for p in $(pods_of kept); do k patch "$p" --type merge -p '{"metadata": {"finalizers": null}}' >/dev/null; done
remove kept
for j in one two three; do job $j q "$([ $j = one ] && echo 2 || echo 1)"; done
for j in one two three; do soon "after it: $j runs" '^[12]$' running $j; done

# --- jobs that are not suspended, deleted while they wait, fail, run a part at a time
k create job rash --image=busybox --dry-run=client -o yaml | sed 's/^  name: rash/&\n  labels: {kueue.x-k8s.io\/queue-name: q}/' | sed 's/resources: {}/resources: {limits: {nvidia.com\/gpu: 1}}/' | k apply -f - >/dev/null
soon "created running: suspended at once" '^true$' waits rash
soon "it waits" '^False WaitingForQuota' condition rash
is "and never had a pod" "" pods_of rash
k patch job rash --type merge -p '{"spec": {"suspend": false}}' >/dev/null
soon "started by hand: suspended again" '^true$' waits rash
name=$(workload_of rash)
remove rash
soon "deleted while it waits: its Workload goes" 'not found' bash -c "! '$KUBECTL' -n '$NS' get workload $name 2>&1"
soon "and is not counted" '^0 3 3$' counts
remove one two three
soon "deleted while they run: their quota is free" '^0 0 0$' counts
job bad q 4 1 "backoffLimit: 0" 'capstan.dev/exit-code: "3"'
job after q 4
soon "a job fails" '^True Failed' condition bad Finished
soon "its quota is free" '^4$' running after
soon "why: it is over" 'finished' why job/bad
remove after bad
apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: waves, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {parallelism: 2, completions: 6, suspend: true, template: {
 metadata: {annotations: {capstan.dev/run-seconds: "1"}}, spec: {restartPolicy: Never, containers: [{name: a, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}
YAML
soon "parallelism below completions: quota for those at a time" '^2$' pods_in_quota waves
says "all of them complete" 'condition met' k wait job/waves --for=condition=complete --timeout=60s
soon "then it is finished" '^True Succeeded' condition waves Finished
soon "and nothing is held" '^0 0 0$' counts

# --- what a user changes while the job runs
apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: wide, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {parallelism: 2, completions: 9, suspend: true, template: {
 metadata: {annotations: {capstan.dev/run-seconds: "600"}}, spec: {restartPolicy: Never, containers: [{name: a, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}
YAML
soon "two at a time" '^2$' running wide
k patch job wide --type merge -p '{"spec": {"parallelism": 6}}' >/dev/null
soon "six are more than the quota: it is suspended and waits" '^False ExceedsMaxQuota' condition wide
soon "with no pods" '^$' pods_of wide
k patch job wide --type merge -p '{"spec": {"parallelism": 4}}' >/dev/null
soon "four are not" '^4$' running wide
remove wide
apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: timed, labels: {kueue.x-k8s.io/queue-name: q, kueue.x-k8s.io/max-exec-time-seconds: "2"}}, spec: {suspend: true, template: {
 metadata: {annotations: {capstan.dev/run-seconds: "600"}}, spec: {restartPolicy: Never, containers: [{name: a, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}
YAML
soon "its time is up: deactivated" '^True DeactivatedDueToMaximumExecutionTimeExceeded The workload is deactivated due to exceeding the maximum execution time' condition timed Evicted
soon "and suspended" '^true$' waits timed
remove timed

# --- the server is killed between admitted and waiting gangs and goes on
own=$PWD/own own_pid= port=$(port_to_keep)
start_own() {
    "$PROGRAM" up --data-dir "$own" --listen "127.0.0.1:$port" "$@" >>own.log 2>&1 &
    own_pid=$!
    for _ in $(seq 1200); do "$KUBECTL" --kubeconfig "$own/kubeconfig" get --raw /readyz >/dev/null 2>&1 && return; sleep 0.05; done
}
shared_kubeconfig=$KUBECONFIG
start_own
export KUBECONFIG=$own/kubeconfig
K create namespace "$NS" >/dev/null
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: a}, spec: {nodeLabels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}}}
YAML
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-q}, spec: {namespaceSelector: {}, queueingStrategy: StrictFIFO, resourceGroups: [
 {coveredResources: [nvidia.com/gpu], flavors: [{name: a, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]}]}}
YAML
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q}, spec: {clusterQueue: $NS-q}}
YAML
for j in gang-1 gang-2 gang-3 gang-4; do job $j q 4 600; done
soon "two gangs of four run, two wait" '^2 2 2$' counts
pods=$(k get pods -o 'jsonpath={range .items[*]}{.metadata.uid} {.spec.nodeName}{"\n"}{end}' | sort)
kill -9 $own_pid
wait $own_pid 2>/dev/null
start_own
is "the same pods on the same nodes" "$pods" bash -c "'$KUBECTL' -n '$NS' get pods -o 'jsonpath={range .items[*]}{.metadata.uid} {.spec.nodeName}{\"\n\"}{end}' | sort"
soon "the queue counts as before" '^2 2 2$' counts
soon "why still knows" 'would help: 4 more' why job/gang-3
kill -9 $own_pid
wait $own_pid 2>/dev/null
start_own --speed 100 # or they would run for ten minutes
for j in gang-1 gang-2 gang-3 gang-4; do says "$j completes" 'condition met' k wait job/$j --for=condition=complete --timeout=60s; done
is "each with four pods" "16" bash -c "'$KUBECTL' -n '$NS' get pods -o name | wc -l"
soon "nothing is held" '^0 0 0$' counts
remove gang-1 gang-2 gang-3 gang-4

# --- nodes are lost under a gang
job lost q 6 1000000 'backoffLimit: 20' # pods whose nodes go count
soon "a gang runs on one node" '^6$' running lost
gone=$(k get pods -l job-name=lost -o 'jsonpath={.items[0].spec.nodeName}')
K delete node "$gone" >/dev/null
soon "the node goes: the gang is made whole on another" "^(a100-40gb-[^${gone#a100-40gb-}] Running ){6}\$" k get pods -l job-name=lost -o 'jsonpath={range .items[*]}{.spec.nodeName} {.status.phase} {end}'
K delete node --all >/dev/null
soon "all go: why tells what the pods wait for" '6 pods wait for a node' why job/lost
kill $own_pid
wait $own_pid 2>/dev/null
export KUBECONFIG=$shared_kubeconfig

K delete clusterqueue "$NS-q" --wait=false >/dev/null
K delete resourceflavor "$NS-a" --wait=false >/dev/null
