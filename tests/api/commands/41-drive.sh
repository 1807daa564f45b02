# Jobs that people drive: hold, resume, requeue, move, cancel, for each kind that is queued; what cannot be done is said, with exit codes
if ! embedded || [ -z "${PROGRAM:-}" ]; then
    skip "driving jobs" "needs an embedded server of its own"
    return
fi
# ends CODE WHAT PATTERN VERB...: the exit code, and what it said on both streams
ends() {
    local code=$1 what=$2 pattern=$3 got; shift 3
    said=$(timeout 90 "$PROGRAM" "$@" -n "$NS" 2>&1); got=$?
    if [ "$got" = "$code" ] && grep -Eq -- "$pattern" <<<"$said"; then pass "$what"
    else miss "$what" "\$ $*" "wanted: exit code $code, $pattern" "exit code $got" "$said"; fi
}
states() { "$PROGRAM" jobs -n "$NS" --sort name --output csv --name "${1:-*}" | tail -n +2 | awk -F, '{ printf "%s%s=%s", sep, $3, $7; sep = " " }'; }
queue_of() { k get "$1" "$2" -o "jsonpath={.metadata.labels.kueue\.x-k8s\.io/queue-name}"; }
job() { # NAME PODS GPUS QUEUE
    k apply -f - >/dev/null <<YAML
apiVersion: batch/v1
kind: Job
metadata: {name: $1, labels: {${4:+kueue.x-k8s.io/queue-name: $4}}}
spec:
  parallelism: $2
  completions: $2
  template:
    metadata: {annotations: {capstan.dev/run-seconds: "600"}}
    spec: {restartPolicy: Never, terminationGracePeriodSeconds: 0, containers: [{name: a, image: x, resources: {limits: {nvidia.com/gpu: $3}}}]}
YAML
}
{
    echo "# YAML"
    echo "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS}, spec: {nodeLabels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}}}"
    for queue in day night; do
        cat <<YAML
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-$queue}, spec: {namespaceSelector: {}, resourceGroups: [
 {coveredResources: [nvidia.com/gpu], flavors: [{name: $NS, resources: [{name: nvidia.com/gpu, nominalQuota: 4}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: $queue, namespace: $NS}, spec: {clusterQueue: $NS-$queue}}
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: $NS-$queue}, spec: {weight: 1}}
YAML
    done
} | k apply -f - >/dev/null

# --- Jobs in a queue
job run 2 2 day
soon "one runs" '^run=Running$' states
job wait 2 2 day
soon "another waits" '^run=Running wait=Queued$' states
ends 0 "hold what waits" '^Job/wait: held: it does not start before capstan resume$' hold job/wait
ends 0 "twice" '^Job/wait: held already$' hold wait
ends 1 "what runs is left alone" 'hold: run: it runs, and to hold it ends its pods: say so with --stop' hold run
is "and goes on" 'run=Running wait=Deactivated' states
ends 0 "resume" '^Job/wait: resumed' resume wait
ends 0 "what is not held" '^Job/wait: it is not held' resume wait
ends 0 "move what waits: it starts in the other queue" '^Job/wait: moved from queue day to night$' move wait --queue night
is "the label says so" night queue_of job wait
soon "and it runs" 'wait=Running' states
ends 1 "what runs is not moved" 'say so with --stop' move job/wait -q day
ends 3 "a queue that is not there: which there are" "there is no LocalQueue noon in namespace $NS; there are: day, night" move run -q noon
before=$(k get pods -l job-name=run -o name)
ends 0 "requeue: it gives all back, and starts again" '^Job/run: requeued' requeue run
soon "it runs again" 'run=Running' states run
says "with other pods" 'other' bash -c '[ "$1" = "$2" ] || echo other' - "$before" "$(k get pods -l job-name=run -o name)"
ends 0 "hold with --stop" 'held: its pods end, and it starts anew after capstan resume' hold wait --stop
ends 0 "move what is held" 'moved from queue night to day' move wait -q day
soon "it stays held" '^wait=Deactivated$' states wait
ends 0 "move what runs, with --stop" '^Job/run: moved from queue day to night$' move run -q night --stop
soon "it runs there" '^run=Running$' states run
is "in the other queue" night queue_of job run
ends 0 "cancel several" 'Job/wait: cancelled' cancel run job/wait
soon "they are gone" '^$' states

# --- a Workload stands for its job, and a TrainJob is queued like a Job
k apply -f - >/dev/null <<YAML
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: plain}
spec:
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {metadata: {annotations: {capstan.dev/run-seconds: "600"}}, spec: {containers: [{name: node, image: x}]}}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: tune, labels: {kueue.x-k8s.io/queue-name: day}}
spec: {runtimeRef: {apiGroup: trainer.kubeflow.org, kind: TrainingRuntime, name: plain}, trainer: {numNodes: 2, resourcesPerNode: {limits: {nvidia.com/gpu: 1}}}}
YAML
soon "a TrainJob runs" '^tune=Running$' states tune
workload=$(k get workloads -o 'jsonpath={.items[0].metadata.name}')
ends 0 "its Workload stands for it" '^TrainJob/tune: held: its pods end' hold "workload/$workload" --stop
soon "it is held" '^tune=Deactivated$' states tune
ends 0 "moved meanwhile" 'TrainJob/tune: moved from queue day to night' move trainjob/tune -q night
ends 0 "and resumed" 'TrainJob/tune: resumed' resume tune
soon "it runs there" '^tune=Running$' states tune
ends 0 "requeued" 'TrainJob/tune: requeued' requeue tune
ends 0 "cancelled" 'TrainJob/tune: cancelled' cancel tune

# --- and Kubeflow's others: their operator makes the pods, here what stands in for it, and the queue says when
k apply -f - >/dev/null <<YAML
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: torch, labels: {kueue.x-k8s.io/queue-name: day}}
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: pytorch, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}}}
YAML
suspended() { k get pytorchjob torch -o 'jsonpath={.spec.runPolicy.suspend}'; }
soon "a PyTorchJob is let in" '^false$' suspended
soon "it is listed, and runs" '^torch=Running$' states torch
says "as what it is" '^PyTorchJob/torch$' "$PROGRAM" jobs -n "$NS" --name torch -o name
ends 0 "held" '^PyTorchJob/torch: held' hold torch --stop
soon "it is suspended" '^true$' suspended
is "and not awaited" 'torch=Deactivated' states torch
ends 0 "moved" 'PyTorchJob/torch: moved from queue day to night' move pytorchjob/torch -q night
ends 0 "and resumed" 'PyTorchJob/torch: resumed' resume torch
soon "in the other queue" "admitted by ClusterQueue $NS-night" "$PROGRAM" why pytorchjob/torch -n "$NS"
ends 0 "cancelled" 'PyTorchJob/torch: cancelled' cancel torch

# --- sets in a queue
set_of() { # KIND SPEC...
    { echo "# YAML"; echo "{apiVersion: $1, metadata: {name: $3, labels: {kueue.x-k8s.io/queue-name: night}}, spec: $4}" | sed "s#{#{kind: $2, #"; } | k apply -f - >/dev/null
}
pod='{containers: [{name: c, image: x, resources: {limits: {nvidia.com/gpu: 1}}}], terminationGracePeriodSeconds: 0}'
set_of apps/v1 StatefulSet served "{replicas: 2, serviceName: served, selector: {matchLabels: {app: served}}, template: {metadata: {labels: {app: served}}, spec: $pod}}"
soon "a StatefulSet runs" '^served=Running$' states served
ends 1 "it is not stopped unasked" 'sts/served: it runs, and to hold it ends its pods: say so with --stop' hold sts/served
ends 0 "hold" 'StatefulSet/served: held: its pods end' hold sts/served --stop
soon "it has given back what it had" '^served=Deactivated$' states served
ends 0 "why says what lets it go on" "^would help: capstan resume StatefulSet/served -n $NS\$" why sts/served
ends 0 "resume" 'StatefulSet/served: resumed' resume sts/served
soon "it runs again" '^served=Running$' states served
ends 0 "requeue" 'StatefulSet/served: requeued' requeue sts/served
soon "and once more" '^served=Running$' states served
ends 1 "who would cancel it means the set" 'it makes its pods again: kubectl scale --replicas, or kubectl delete' cancel sts/served
ends 1 "and its queue stands in its label" 'kubectl scale it to 0, then kubectl label it' move sts/served --queue day
k delete sts served >/dev/null
set_of leaderworkerset.x-k8s.io/v1 LeaderWorkerSet groups "{replicas: 1, leaderWorkerTemplate: {size: 2, workerTemplate: {spec: $pod}}}"
soon "a LeaderWorkerSet runs" '^groups-0=Running$' states 'groups*'
ends 1 "its groups are driven one by one" 'each of its groups has a Workload: name that, as workload/leaderworkerset-groups-0-' hold lws/groups
ends 0 "by their Workload" 'held: its pods end' hold "workload/$(k get workloads -o 'jsonpath={.items[*].metadata.name}' | tr ' ' '\n' | grep groups-0)" --stop
ends 0 "which why names" '^would help: capstan resume Workload/leaderworkerset-groups-0-' why lws/groups
k delete lws groups >/dev/null

# --- in no queue
job plain 2 1
soon "a Job in no queue runs" 'plain=Running' states plain
ends 1 "it is not stopped unasked" 'say so with --stop' hold plain
ends 0 "hold" 'Job/plain: held: its pods end' hold plain --stop
soon "suspended" '^plain=Suspended$' states plain
ends 0 "resume" 'Job/plain: resumed' resume plain
soon "it runs" '^plain=Running$' states plain
ends 0 "requeue" 'Job/plain: requeued: its pods have ended, and new ones are made' requeue plain
k run lone --image x --restart Never >/dev/null
ends 1 "a pod that is there" 'lone: a pod of no queue cannot be held once it is there' hold pod/lone
ends 1 "is not made again" 'nobody would make its pods again' requeue pod/lone
ends 0 "but cancelled" 'Pod/lone: cancelled' cancel pod/lone
ends 1 "a pod of a Job" 'it is a pod of Job plain, which would make another one: name that' cancel "$(k get pods -l job-name=plain -o name | head -1)"
k create deployment web --image x >/dev/null
ends 1 "no queue has a Deployment" 'no queue has a Deployment' hold deployment/web

# --- Volcano
{
    echo "apiVersion: batch.volcano.sh/v1alpha1"
    echo "kind: Job"
    echo "metadata: {name: plain}"
    echo "spec: {minAvailable: 2, schedulerName: volcano, queue: $NS-day, tasks: [{name: w, replicas: 2, template: {metadata: {annotations: {capstan.dev/run-seconds: '600'}},"
    echo "  spec: {restartPolicy: Never, terminationGracePeriodSeconds: 0, containers: [{name: a, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}}}]}"
} | k apply -f - >/dev/null
ends 1 "a name that two jobs have" 'there are a Job and a Volcano Job of this name: write Job/plain or vcjob/plain' cancel plain
ends 0 "one of them" 'Job/plain: cancelled' cancel job/plain
vcjob() { k get vcjob plain -o 'jsonpath={.status.state.phase}'; }
soon "it runs" Running vcjob
ends 0 "hold aborts it" 'vcjob/plain: held: its pods end' hold vcjob/plain --stop
soon "Aborted" '^Aborted$' vcjob
ends 0 "resume" 'vcjob/plain: resumed' resume vcjob/plain
soon "it runs again" '^Running$' vcjob
ends 0 "requeue restarts it" 'vcjob/plain: requeued' requeue "podgroup/$(k get podgroups.scheduling.volcano.sh -o 'jsonpath={.items[0].metadata.name}')"
soon "restarted once" '[1-9]' k get vcjob plain -o 'jsonpath={.status.version}'
ends 3 "a Queue that is not there" 'there is no Queue of Volcano called noon' move vcjob/plain -q noon
ends 0 "cancel" 'vcjob/plain: cancelled' cancel vcjob/plain

# --- pod groups: of coscheduling, of Kueue
pod() { # NAME LABELS ANNOTATIONS
    printf -- '---\n{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: {%s}, annotations: {capstan.dev/run-seconds: "600", %s}}, spec: {schedulerName: capstan,\n' "$1" "$2" "${3:-}"
    printf ' terminationGracePeriodSeconds: 0, containers: [{name: a, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}}\n'
}
{
    echo "# YAML"
    echo "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: pair}, spec: {minMember: 2}}"
    pod pair-0 'scheduling.x-k8s.io/pod-group: pair'
} | k apply -f - >/dev/null
ends 0 "hold a pod group that waits" 'PodGroup/pair: held: it does not start' hold podgroup/pair
pod pair-1 'scheduling.x-k8s.io/pod-group: pair' | k apply -f - >/dev/null
soon "it is whole, and says why it waits" 'It is held: annotation capstan.dev/hold' "$PROGRAM" why podgroup/pair -n "$NS"
is "none of its pods has a node" '' k get pods -l scheduling.x-k8s.io/pod-group=pair -o 'jsonpath={.items[*].spec.nodeName}'
ends 0 "resume" 'PodGroup/pair: resumed' resume podgroup/pair
soon "it runs" 'pair=Running' states pair
ends 1 "pods that nobody makes again are not ended" 'nobody would make its pods again' hold podgroup/pair --stop
ends 1 "nor in any queue" 'it is in no queue' move podgroup/pair -q day
ends 0 "but cancelled" 'PodGroup/pair: cancelled, with its 2 pods' cancel podgroup/pair
total='kueue.x-k8s.io/pod-group-total-count: "2"'
for number in 0 1; do pod four-$number 'kueue.x-k8s.io/pod-group-name: four, kueue.x-k8s.io/queue-name: day' "$total"; done | k apply -f - >/dev/null
soon "a group in a queue of Kueue" 'four=Running' states four
says "why finds it by that name" 'admitted by ClusterQueue' "$PROGRAM" why podgroup/four -n "$NS"
ends 1 "it is not stopped" 'nobody would make its pods again' requeue podgroup/four
ends 0 "but cancelled" 'PodGroup/four: cancelled, with its 2 pods' cancel podgroup/four

# --- what is wrong
ends 3 "no such job" 'no job named nobody in namespace' hold nobody
ends 2 "no such kind" 'not a kind that waits' cancel table/x
for name in '' job/ job/a/status 'job/a?b' 'job/..'; do ends 2 "no name: '$name'" 'name one or more objects' cancel "$name"; done
ends 2 "move without a queue" 'say where to, with --queue' move job/x
ends 2 "a queue that no name can be" '--queue: names have' move job/x -q 'a"b'
ends 3 "the others are done all the same" 'no job named nobody' cancel nobody deployment/web
"$KUBECTL" delete clusterqueue "$NS-day" "$NS-night" --wait=false >/dev/null
"$KUBECTL" delete resourceflavor "$NS" --wait=false >/dev/null
"$KUBECTL" delete queues.scheduling.volcano.sh "$NS-day" "$NS-night" --wait=false >/dev/null
