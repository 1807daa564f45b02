# capstan submit: what is made of its options, whether its word about starting comes true, and what is refused
if ! embedded || [ -z "${PROGRAM:-}" ]; then
    skip "submitting jobs" "needs an embedded server of its own"
    return
fi
submit() { # OPTION...: of jobs that run for ten minutes
    "$PROGRAM" submit -n "$NS" --image example/train:1 --annotation capstan.dev/run-seconds=600 "$@"
}
# ends CODE WHAT PATTERN OPTION...: the exit code, and what it said on both streams
ends() {
    local code=$1 what=$2 pattern=$3 got; shift 3
    said=$(submit "$@" 2>&1); got=$?
    if [ "$got" = "$code" ] && grep -Eq -- "$pattern" <<<"$said"; then pass "$what"
    else miss "$what" "\$ submit $*" "wanted: exit code $code, $pattern" "exit code $got" "$said"; fi
}
state() { "$PROGRAM" jobs -n "$NS" --name "$1" -o json | sed -n 's/.*"state": "\(.*\)",*/\1/p'; }
nodes() { "$PROGRAM" jobs -n "$NS" --name "$1" -o json | tr -d '\n ' | sed -n 's/.*"nodes":\[\([^]]*\)\].*/\1/p'; }

# --- in no queue: one pod, or a group
ends 0 "one pod" 'would start now' --gpus 1 --name one
soon "runs" '^Running$' state one
says "of that image" 'example/train:1 1$' k get job one -o 'jsonpath={.spec.template.spec.containers[0].image} {.spec.template.spec.containers[0].resources.limits.nvidia\.com/gpu}'
ends 0 "several start together" '3 pods of 2 nvidia.com/gpu, 6 together, in no queue, as a pod group' --gpus 3x2 --name group -- python train.py --lr 0.1
soon "they run" '^Running$' state group
is "with what stands behind --" '["python","train.py","--lr","0.1"]' k get job group -o 'jsonpath={.spec.template.spec.containers[0].command}'
is "its group is the Job's" 'Job group 3' k get podgroups.scheduling.x-k8s.io group -o 'jsonpath={.metadata.ownerReferences[0].kind} {.metadata.ownerReferences[0].name} {.spec.minMember}'
ends 4 "more than there is" 'could not start as things are: .*' --gpus 100x8 --name huge
refuses "is not submitted" NotFound k get job huge
ends 0 "but when it must be" 'Job/huge: submitted' --gpus 100x8 --name huge --anyway
is "and none of its pods starts" '' nodes huge
is "what the server warns of is said, once" 'Warning: spec.template.metadata.annotations[capstan.dev/minimum-run-seconds]: has no effect yet: it is read of the job'"'"'s own metadata' \
    bash -c 'grep Warning <<<"$1"' - "$(submit --gpus 1 --name warned --annotation capstan.dev/minimum-run-seconds=9 2>&1)"
"$PROGRAM" cancel -n "$NS" huge group one warned >/dev/null
soon "a group goes with its Job" '^$' k get podgroups.scheduling.x-k8s.io -o name

# --- in a queue
{
    cat <<YAML
# YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS}, spec: {nodeLabels: {nvidia.com/gpu.product: Tesla-T4}}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS}, spec: {namespaceSelector: {}, preemption: {withinClusterQueue: LowerPriority},
 resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: $NS, resources: [{name: nvidia.com/gpu, nominalQuota: 4}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: day, namespace: $NS}, spec: {clusterQueue: $NS}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: $NS-high}, value: 100}
YAML
} | k apply -f - >/dev/null
soon "the queue admits" True k get clusterqueue "$NS" -o 'jsonpath={.status.conditions[?(@.type=="Active")].status}'
ends 0 "the only queue of the namespace" 'in queue day$' --gpus 4 --name first --time 1h
soon "it said that it would start, and it runs" '^Running$' state first
ends 0 "the next one waits" 'would wait: .*insufficient unused quota for nvidia.com/gpu' --gpus 2x1 --name second
is "so it does" Queued state second
deadline=$(date -u -d "$(k get job first -o 'jsonpath={.status.startTime}') + 3600 seconds" +%Y-%m-%dT%H:%M:%SZ)
k delete job second >/dev/null
soon "it is gone" NotFound bash -c '"$0" get workloads -n "$1" -o name | grep -q second || echo NotFound' "$KUBECTL" "$NS"
ends 0 "the one that runs has a limit of its own" 'starts: about 20..-..-..T..:..:..Z \(in (59m|60m|1h); as far as limits of time tell\)' --gpus 1 --dry-run
ends 0 "it waits for that" 'Job/queued: submitted' --gpus 1 --name queued
soon "the list says so, too" "\"startsBy\": \"$deadline\"" "$PROGRAM" jobs -n "$NS" --name queued -o json
says "but of nobody who runs" '"startsBy": null' "$PROGRAM" jobs -n "$NS" --name first -o json
"$PROGRAM" cancel -n "$NS" queued >/dev/null
ends 4 "at once or not at all" 'not submitted: it would not start at once' --gpus 1 --name now --immediate
refuses "it was not submitted" NotFound k get job now
ends 0 "a higher priority has others leave" 'would wait: .*[Pp]reempt' --gpus 1 --name urgent --priority "$NS-high"
soon "so they do, and it runs" '^Running$' state urgent
ends 4 "more than the queue can have" 'could not start as things are: .*maximum capacity' --gpus 5 --queue day
ends 0 "users and variables" 'Job/mine: submitted' --gpus 1 --user kim --env A=b=c --name mine --anyway
is "are the job's" 'kim A=b=c' k get job mine -o 'jsonpath={.metadata.labels.capstan\.dev/user} {.spec.template.spec.containers[0].env[0].name}={.spec.template.spec.containers[0].env[0].value}'

# --- a dry run
manifest=$(submit --gpus 2x1 --name dry --dry-run 2>/dev/null)
is "its manifest is one that kubectl takes" 'job.batch/dry created (server dry run)' k create --dry-run=server -f - <<<"$manifest"
refuses "and nothing was submitted" NotFound k get job dry
says "as JSON" '"kind": "Job"' submit --gpus 1 --dry-run -o json
is "with the group where there is no queue" 'PodGroup Job ' bash -c '"$0" submit -n default --gpus 2x1 --image x --dry-run -o json 2>/dev/null | sed -n "s/.*\"kind\": \"\(PodGroup\|Job\)\".*/\1/p" | tr "\n" " "' "$PROGRAM"

# --- what is wrong
ends 2 "how many" "--gpus: write GPUS or PODSxGPUS, as 4 or 8x4, not '8 x 4'" --gpus '8 x 4'
ends 2 "no GPUs" 'say how many GPUs, with --gpus' --queue day
ends 2 "a variable without a value" '--env: write NAME=VALUE' --gpus 1 --env A
ends 3 "no such queue" "there is no LocalQueue night in namespace $NS; there are: day" --gpus 1 --queue night
ends 3 "no such class" "there is no WorkloadPriorityClass low; there are: .*$NS-high" --gpus 1 --priority low
ends 2 "what the server refuses" 'submit: Job.batch "A B" is invalid: .metadata.name' --gpus 1 --name 'A B'
ends 1 "a name that is taken" 'already exists' --gpus 1 --name first
k apply -f - >/dev/null <<YAML
{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "night", "namespace": "$NS"}, "spec": {"clusterQueue": "$NS"}}
YAML
ends 2 "which of two queues" "say which queue, with --queue: namespace $NS has day, night" --gpus 1
"$KUBECTL" delete clusterqueue "$NS" --wait=false >/dev/null
"$KUBECTL" delete resourceflavor "$NS" --wait=false >/dev/null
"$KUBECTL" delete workloadpriorityclass "$NS-high" --wait=false >/dev/null

# --- a user who may see one namespace only: nothing of the others leaks, and the job is submitted all the same
"$PROGRAM" up --tls --nodes 1:t4 --data-dir ./tls --listen 127.0.0.1:0 >tls.log 2>&1 &
server=$!
appears tls/kubeconfig
t() { KUBECONFIG=tls/kubeconfig "$KUBECTL" "$@"; }
soon "a server that knows its users" Ready t get nodes
if at_least 24; then
    t create namespace mine >/dev/null
    t create namespace theirs >/dev/null
    t create sa anna -n mine >/dev/null
    t create rolebinding anna -n mine --clusterrole edit --serviceaccount mine:anna >/dev/null
    t create job secret -n theirs --image x >/dev/null
    t config view --raw >anna.yaml
    KUBECONFIG=anna.yaml "$KUBECTL" config set-credentials anna --token "$(t create token anna -n mine)" >/dev/null
    KUBECONFIG=anna.yaml "$KUBECTL" config set-context --current --user anna --namespace mine >/dev/null
    anna() { local code=$1; shift; said=$(KUBECONFIG=anna.yaml "$PROGRAM" "$@" 2>&1); [ $? = "$code" ] && printf '%s\n' "$said"; }
    says "it is not known whether it would start" 'not known whether it would start now: .*nodes.* is forbidden' anna 0 submit --gpus 1 --image x --name hers
    says "it is there" 'Job +hers' anna 0 jobs
    says "and kinds that she may not list are named" 'not shown, since you may not list them: .*podgroups.scheduling.k8s.io$' anna 0 jobs
    says "not at once: not at all" 'not submitted' anna 4 submit --gpus 1 --image x --immediate
    says "her jobs may be held" 'Job/hers: ' anna 0 hold hers --stop
    says "and cancelled" 'Job/hers: cancelled' anna 0 cancel hers
    says "those of others not" 'forbidden' anna 1 cancel job/secret -n theirs
    says "nor seen" 'forbidden' anna 1 jobs --all-namespaces
    says "nodes neither" 'forbidden' anna 1 nodes
    is "and no word of them is said" '' bash -c 'grep secret <<<"$1"; true' - "$(anna 1 jobs --all-namespaces)"
fi
kill "$server"
wait "$server" 2>/dev/null
