# Who must be stopped for others and asks for it is asked to save first: stopped when it says that it has, or when its time is over; and it
# runs on where nobody waits for its end any more. A server of its own, which is started anew in the middle of it.
if ! embedded; then
    skip "jobs that save before they are stopped" "needs the simulated nodes of the embedded cluster"
    return
fi
server() {
    "$PROGRAM" up --data-dir "$PWD/own" --listen 127.0.0.1:0 --nodes 1:t4,gpus=4 >own.log 2>&1 &
    own=$!
}
server
appears own/kubeconfig
C() { "$KUBECTL" --kubeconfig own/kubeconfig "$@"; }
why() { "$PROGRAM" why "$1" --kubeconfig own/kubeconfig -n default; }
C apply -f - >/dev/null <<'YAML'
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: any}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: q}, spec: {namespaceSelector: {}, preemption: {withinClusterQueue: LowerPriority}, resourceGroups: [
 {coveredResources: [nvidia.com/gpu], flavors: [{name: any, resources: [{name: nvidia.com/gpu, nominalQuota: 4}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q, namespace: default}, spec: {clusterQueue: q}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: high}, value: 9}
YAML
# job NAME LABELS ANNOTATIONS
job() {
    C apply -f - <<YAML
---
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: q, $2}, annotations: {$3}}, spec: {parallelism: 4, completions: 4, suspend: true, template: {
 metadata: {annotations: {capstan.dev/run-seconds: "600"}}, spec: {restartPolicy: Never, containers: [{name: c, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}
YAML
}
HIGH='kueue.x-k8s.io/priority-class: high'
pods_running() { C get pods -l "batch.kubernetes.io/job-name=$1" --field-selector status.phase=Running -o name | wc -l | tr -d ' '; }
active() { C get job "$1" -o 'jsonpath={.spec.suspend} {.status.active}'; }
asked() { C get workloads.kueue.x-k8s.io -o "jsonpath={range .items[?(@.metadata.ownerReferences[0].name==\"$1\")]}{.metadata.annotations.capstan\.dev/checkpoint-requested}{end}"; }
pods_asked() { C get pods -l "batch.kubernetes.io/job-name=$1" -o 'jsonpath={.items[*].metadata.annotations.capstan\.dev/checkpoint-requested}' | wc -w | tr -d ' '; }
events() { C get events --field-selector "reason=$1" -o 'jsonpath={range .items[*]}{.involvedObject.kind}/{.involvedObject.name}: {.message}{"\n"}{end}'; }
saved() { C annotate --overwrite job "$1" "capstan.dev/checkpoint-time=$(date -u +%Y-%m-%dT%H:%M:%SZ)"; }

# --- it says that it has saved
job low '' 'capstan.dev/checkpoint-within-seconds: "600"' >/dev/null
soon "a job runs" '^4$' pods_running low
job high "$HIGH" '' >/dev/null
soon "it is to go for another, and is asked to save" '^20[0-9-]+T[0-9:]+Z$' asked low
soon "its pods are told, too" '^4$' pods_asked low
soon "an Event says until when, and for whom" '^Workload/job-low-.*: it is asked to save, and stopped once capstan.dev/checkpoint-time says that it has, at 20[0-9TZ:-]+ at the latest: Preempted to accommodate a workload' events CheckpointRequested
soon "why says so" 'it is asked to save, and stopped once it says that it has, at 20[0-9TZ:-]+ at the latest' why job/low
soon "whoever waits for it is told that it does" 'pending the preemption of 1 workload' why job/high
is "it runs on meanwhile" "false 4" active low
before=$(asked low)

# --- a scheduler that begins anew
kill $own
wait $own 2>/dev/null
server
appears own/kubeconfig
sleep 2
soon "a scheduler that begins anew lets it run on" '^false 4$' active low
is "it counts on from the same time" "$before" asked low
is "and asks nobody again" 1 bash -c "'$KUBECTL' --kubeconfig own/kubeconfig get events --field-selector reason=CheckpointRequested -o name | wc -l | tr -d ' '"
ok "it says that it has saved" saved low
soon "then it is stopped" '^true' active low
soon "and the other one runs" '^false 4$' active high
soon "an Event says why" '^Workload/job-low-.*: it has saved, and is stopped$' events CheckpointSaved
soon "it is not asked any more" '^$' asked low
C delete job low high >/dev/null

# --- it says nothing
job mute '' 'capstan.dev/checkpoint-within-seconds: "3"' >/dev/null
soon "another one runs" '^4$' pods_running mute
job urgent "$HIGH" '' >/dev/null
soon "it is asked as well" '^20' asked mute
soon "and stopped when its time is over" '^false 4$' active urgent
soon "a Warning says so" '^Workload/job-mute-.*: it has not said in time that it has saved, and is stopped$' events CheckpointLate
C delete job mute urgent >/dev/null

# --- nobody waits for it any more
job lucky '' 'capstan.dev/checkpoint-within-seconds: "600"' >/dev/null
soon "a third one runs" '^4$' pods_running lucky
job given-up "$HIGH" '' >/dev/null
soon "it is asked, too" '^20' asked lucky
C delete job given-up >/dev/null
soon "whoever it was to go for is gone: it is told that it need not" '^Workload/job-lucky-.*: nobody waits for its end any more: it runs on$' events CheckpointNotNeeded
soon "nothing is asked of it" '^$' asked lucky
soon "nor of its pods" '^0$' pods_asked lucky
is "it runs on" "false 4" active lucky
C delete job lucky >/dev/null

# --- a group of Volcano's, whose pods say that they have saved
C apply -f - >/dev/null <<'YAML'
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: a}, spec: {weight: 1}}
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: b}, spec: {weight: 1}}
YAML
# vcjob NAME QUEUE N ANNOTATIONS
vcjob() {
    C apply -f - <<YAML
---
{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: $1, annotations: {$4}}, spec: {queue: $2, minAvailable: $3, tasks: [{name: t, replicas: $3, template: {
 metadata: {annotations: {capstan.dev/run-seconds: "600"}}, spec: {restartPolicy: Never, containers: [{name: c, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}}}]}}
YAML
}
running() { C get vcjob "$1" -o 'jsonpath={.status.state.phase} {.status.running}'; }
vcjob wide a 4 'capstan.dev/checkpoint-within-seconds: "600"' >/dev/null
soon "a group runs" '^Running 4$' running wide
vcjob mine b 2 '' >/dev/null
soon "it is asked before its queue gives back what is not its own" '^PodGroup/wide-.*: it is asked to save, .* reclaimed for PodGroup default/mine-' events CheckpointRequested
soon "why says so of a group" 'it is asked to save' why vcjob/wide
is "it runs meanwhile" "Running 4" running wide
for pod in 0 1 2 3; do
    C annotate pod wide-t-$pod "capstan.dev/checkpoint-time=$(date -u +%Y-%m-%dT%H:%M:%SZ)" >/dev/null
done
soon "once all its pods say that they have saved the other one runs" '^Running 2$' running mine
soon "an Event of the group says why" '^PodGroup/wide-.*: it has saved, and is stopped$' events CheckpointSaved
kill $own
wait $own 2>/dev/null
