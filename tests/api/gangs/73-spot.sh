# A spot node goes: its pods fail with DisruptionTarget and are deleted, as Kubernetes' pod garbage collector does, and whoever has a policy
# for that follows it: Jobs, JobSets, TrainJobs, Volcano Jobs, Kubeflow's; pod groups are made whole again. On nodes of its own.
if ! embedded; then
    skip "spot nodes" "needs simulated nodes that may be removed"
    return
fi
K() { "$KUBECTL" "$@"; }
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
# spot NAME SIDE: a node
spot() {
    { echo "# YAML"; cat; } <<YAML | K create -f - >/dev/null
{apiVersion: v1, kind: Node, metadata: {name: $NS-$1, labels: {capstan.dev/simulated: "true", side: $NS-$2}, annotations: {capstan.dev/shape: "t4,gpus=8"}},
 status: {capacity: {cpu: 64, memory: 64Gi, pods: 60, nvidia.com/gpu: 8}, allocatable: {cpu: 64, memory: 64Gi, pods: 60, nvidia.com/gpu: 8},
 conditions: [{type: Ready, status: "True", reason: KubeletReady, lastHeartbeatTime: "$(date -u +%FT%TZ)", lastTransitionTime: "$(date -u +%FT%TZ)"}]}}
YAML
}
# pod SIDE [SPEC]: what stands in a template, or in a pod
on() { echo "{restartPolicy: Never, terminationGracePeriodSeconds: 1, nodeSelector: {side: $NS-$1}, ${2:+$2, }containers: [{name: ${3:-c}, image: x}]}"; }
template() { echo "template: {metadata: {annotations: {capstan.dev/run-seconds: \"600\"}}, spec: $(on "$@")}"; }
target="onPodConditions: [{type: DisruptionTarget}]"
job() { echo "{apiVersion: batch/v1, kind: Job, metadata: {name: $1}, spec: {backoffLimit: ${3:-0}, ${2:+$2, }$(template left)}}" | apply; }
policy() { echo "podFailurePolicy: {rules: [{action: $1, $target}]}"; }
jobset() { echo "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: $1}, spec: {failurePolicy: {maxRestarts: 0, rules: [{name: spot, action: RestartJobSetAndIgnoreMaxRestarts, onJobFailureReasons: [PodFailurePolicy]}]}, replicatedJobs: [{name: a, template: {spec: {backoffLimit: 0, ${2:+$2, }$(template left)}}}, {name: b, template: {spec: {backoffLimit: 0, $(template right)}}}]}}" | apply; }
# A Volcano Job with a pod on either side
vcjob() { echo "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: $1}, spec: {schedulerName: volcano, policies: [$2], tasks: [{name: a, replicas: 1, $(template left)}, {name: b, replicas: 1, $(template right)}]}}" | apply; }
pytorch() { echo "{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: $1}, spec: {pytorchReplicaSpecs: {Master: {$(template right "" pytorch)}, Worker: {replicas: 1, restartPolicy: $2, $(template left "" pytorch)}}}}" | apply; }
# member NAME GROUP SIDE: a pod of a group; native or coscheduling
member() {
    local label="scheduling.x-k8s.io/pod-group: $2" more=
    [ "$2" = cosched ] || { label="a: b" more="schedulingGroup: {podGroupName: $2}"; }
    echo "{apiVersion: v1, kind: Pod, metadata: {name: $1, labels: {of: $2, $label}, annotations: {capstan.dev/run-seconds: \"600\"}}, spec: $(on "$3" "$more")}" | apply
}
jobs_state() { k get job "$1" -o 'jsonpath={.status.conditions[?(@.status=="True")].type} {.status.conditions[?(@.type=="Failed")].reason} {.status.failed}/{.status.active}'; }
jobset_state() { k get jobset "$1" -o 'jsonpath={.status.terminalState}/{.status.conditions[?(@.type=="Failed")].reason} {.status.restarts}/{.status.restartsCountTowardsMax}'; }
vcjob_state() { k get vcjob "$1" -o 'jsonpath={.status.state.phase} {.status.running} {.status.retryCount}'; }
running() { k get pods -l "of=$1" -o 'jsonpath={range .items[?(@.status.phase=="Running")]}{.metadata.name}@{.spec.nodeName}{" "}{end}' | sed "s/$NS-//g"; }
uid() { k get pod "$1" -o 'jsonpath={.metadata.uid}'; }
last() { k get pytorchjob "$1" -o 'jsonpath={.status.conditions[-1:].type}'; }

spot a left
spot b right
job plain
job ignores "$(policy Ignore)"
job counts "$(policy Count)"
job fails "$(policy FailJob)"
job index "$(policy FailIndex), completionMode: Indexed, completions: 1, backoffLimitPerIndex: 3" 6
jobset restarts "$(policy FailJob)"
jobset counted
vcjob failed '{event: PodFailed, action: RestartJob}'
vcjob evicted '{event: PodEvicted, action: RestartJob}'
vcjob either '{event: PodFailed, action: RestartTask}, {event: PodEvicted, action: AbortJob}'
vcjob quiet ''
pytorch code ExitCode
pytorch never Never
echo "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: cosched}, spec: {minMember: 3}}" | apply
echo "{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: native}, spec: {schedulingPolicy: {gang: {minCount: 3}}}}" | apply
for group in cosched native; do
    member $group-0 $group left
    member $group-1 $group right
    member $group-2 $group right
done
echo "{apiVersion: v1, kind: Pod, metadata: {name: kept, finalizers: [example.com/keep], annotations: {capstan.dev/run-seconds: \"600\"}}, spec: $(on left)}" | apply
soon "a coscheduling group runs on two nodes" '^cosched-0@a cosched-1@b cosched-2@b $' running cosched
soon "so does one of Kubernetes' own" '^native-0@a native-1@b native-2@b $' running native
for name in failed evicted either quiet; do soon "so does Volcano Job $name" '^Running 2 *$' vcjob_state $name; done
for name in code never; do soon "so does PyTorchJob $name" '^Running$' last $name; done
for name in plain ignores counts fails index restarts-a-0 counted-a-0; do soon "so does Job $name" '^ +/1$' jobs_state $name; done
soon "and a pod" '^Running$' k get pod kept -o 'jsonpath={.status.phase}'
stays=$(uid cosched-1) stays_native=$(uid native-1) quiet=$(uid quiet-b-0) either=$(uid either-b-0)
spot c left
K delete node "$NS-a" >/dev/null

soon "its pods have failed, and it is said why" '^Failed True DeletionByPodGC PodGC: node no longer exists$' \
    k get pod kept -o 'jsonpath={.status.phase} {range .status.conditions[?(@.type=="DisruptionTarget")]}{.status} {.reason} {.message}{end}'
soon "then they are deleted" '^0$' k get pod kept -o 'jsonpath={.metadata.deletionGracePeriodSeconds}'
k patch pod kept --type merge -p '{"metadata": {"finalizers": null}}' >/dev/null
soon "a Job fails with its pod" '^FailureTarget Failed BackoffLimitExceeded 1/$' jobs_state plain
soon "whose policy is Ignore goes on elsewhere" '^ +/1$' jobs_state ignores
soon "there" "^Running $NS-c\$" k get pods -l job-name=ignores -o 'jsonpath={.items[*].status.phase} {.items[*].spec.nodeName}'
is "and nothing is counted" '' k get job ignores -o 'jsonpath={.status.failed}'
soon "Count counts it" '^FailureTarget Failed BackoffLimitExceeded 1/$' jobs_state counts
soon "FailJob fails it" '^FailureTarget Failed PodFailurePolicy 1/$' jobs_state fails
says "in Kubernetes' words" "Pod $NS/fails-[a-z0-9]+ has condition DisruptionTarget matching FailJob rule at index 0" \
    k get job fails -o 'jsonpath={.status.conditions[?(@.type=="Failed")].message}'
soon "FailIndex fails the index" '^FailureTarget Failed FailedIndexes 1/$' jobs_state index
soon "a JobSet restarts without counting where a rule is for that" '^/ 1/(0)?$' jobset_state restarts
soon "both of its Jobs run anew" '^restarts-a-0 1 1 restarts-b-0 1 1 $' k get jobs -l jobset.sigs.k8s.io/jobset-name=restarts \
    -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.labels.jobset\.sigs\.k8s\.io/restart-attempt} {.status.ready} {end}'
soon "and fails where none is" '^Failed/ReachedMaxRestarts 0/(0)?$' jobset_state counted
soon "a Volcano Job with a policy for PodFailed is restarted" '^Running 2 1$' vcjob_state failed
soon "one with a policy for PodEvicted, too" '^Running 2 1$' vcjob_state evicted
soon "with both PodFailed comes first" '^Running 2 1$' vcjob_state either
is "and the task beside it stays" "$either" uid either-b-0
soon "without a policy the pod is made again" '^Running 2 $' vcjob_state quiet
is "and the other one stays" "$quiet" uid quiet-b-0
soon "a PyTorchJob that goes by exit codes makes the worker again" '^Running$' last code
soon "on the other node" "^Running $NS-c\$" k get pod code-worker-0 -o 'jsonpath={.status.phase} {.spec.nodeName}'
soon "with Never it fails" '^Failed$' last never
for group in cosched native; do
    is "of group $group the others run" "$group-1@b $group-2@b " running $group
    member $group-3 $group left
    soon "it is whole again with a successor" "^$group-1@b $group-2@b $group-3@c \$" running $group
done
soon "and called so" '^Running 3$' k get podgroups.scheduling.x-k8s.io cosched -o 'jsonpath={.status.phase} {.status.running}'
is "nobody else was started again" "$stays $stays_native" echo "$(uid cosched-1) $(uid native-1)"

# --- a taint says before that it goes
job tainted
job taint-fails "$(policy FailJob)"
for name in tainted taint-fails; do soon "Job $name runs" '^ +/1$' jobs_state $name; done
spot d left
K taint node "$NS-c" spot.example.com/interrupted=yes:NoExecute >/dev/null
soon "pods that do not tolerate a taint fail their Job" '^FailureTarget Failed BackoffLimitExceeded 1/$' jobs_state tainted
soon "or as its policy says" '^FailureTarget Failed PodFailurePolicy 1/$' jobs_state taint-fails
soon "whose policy is Ignore goes on" "^Running $NS-d\$" k get pods -l job-name=ignores --field-selector status.phase=Running \
    -o 'jsonpath={.items[*].status.phase} {.items[*].spec.nodeName}'
is "and nothing is counted" '' k get job ignores -o 'jsonpath={.status.failed}'
k delete jobs,jobsets,vcjob,pytorchjobs,pods --all --wait=false >/dev/null 2>&1
K delete nodes -l "side in ($NS-left, $NS-right)" --wait=false >/dev/null
