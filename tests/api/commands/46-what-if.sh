# capstan sim what-if: who would start when with another quota, a job more, a node more; and nothing of it is written.
if ! embedded; then
    skip "what if" "needs an embedded server of its own"
    return
fi
if ! at_least 24; then
    skip "what if" "kubectl $MINOR: one is enough"
    return
fi
K() { "$KUBECTL" "$@"; }
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
what_if() { { echo "# YAML"; cat "$HOME/change.yaml"; } | "$PROGRAM" sim what-if --change - -n "$NS" "$@"; }
change() { cat >"$HOME/change.yaml"; }
queue() { # GPUS
    cat <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-q}, spec: {namespaceSelector: {},
 resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: $NS-f, resources: [{name: nvidia.com/gpu, nominalQuota: $1}]}]}]}}
YAML
}
# A node of its own, that other scripts' pods are kept off: how soon a GPU comes free is known here.
node() { # NAME LABEL
    cat <<YAML
---
{apiVersion: v1, kind: Node, metadata: {name: $1, labels: {capstan.dev/simulated: "true", only: $2}, annotations: {capstan.dev/shape: "gpus=4,product=What-If,cpu=8,memory=8Gi"}},
 spec: {taints: [{key: only, value: $NS, effect: NoSchedule}]}, status: {
 capacity: {cpu: 8, memory: 8Gi, pods: 10, nvidia.com/gpu: 4}, allocatable: {cpu: 8, memory: 8Gi, pods: 10, nvidia.com/gpu: 4},
 conditions: [{type: Ready, status: "True", reason: KubeletReady, lastHeartbeatTime: "$(date -u +%FT%TZ)", lastTransitionTime: "$(date -u +%FT%TZ)"}]}}
YAML
}
job() { # NAME LIMIT [NODES]
    cat <<YAML
---
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: q}},
 spec: {suspend: true, activeDeadlineSeconds: $2, template: {metadata: {annotations: {capstan.dev/run-seconds: "600"}},
 spec: {restartPolicy: Never, nodeSelector: {only: ${3:-$NS}}, tolerations: [{key: only, value: $NS}], containers: [{name: main, image: train, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}
YAML
}
{
    cat <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-f}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q}, spec: {clusterQueue: $NS-q}}
---
YAML
    queue 1
    node "$NS" "$NS"
    job first 900
} | apply
soon "a job runs" '^1$' k get job first -o 'jsonpath={.status.active}'
job second 600 | apply
job elsewhere 600 "$NS-n" | apply
soon "others wait" '2' bash -c "'$KUBECTL' -n '$NS' get workloads -o name | grep -cE 'second|elsewhere'"
rv() { K get clusterqueue "$NS-q" -o 'jsonpath={.spec}'; }
before=$(rv)

queue 2 | change
says "with more quota the next would start at once" "^Workload +$NS +job-second-[^ ]+ +in 1[45]m +at once +1[45]m\$" what_if
says "and who has no node for it not" "^Workload +$NS +job-elsewhere-[^ ]+ +not known +not known +-\$" what_if
{ queue 3; node "$NS-n" "$NS-n"; } | change
says "but with a node" "^Workload +$NS +job-elsewhere-[^ ]+ +not known +at once" what_if
job third 600 | change
says "a job more would wait for both" "^Workload +$NS +third +- +in 2[45]m +new\$" what_if
says "as data" '"new": true' what_if -o json
is "nothing of it was written" "$before" rv
refuses "nor the node" 'not found' K get node "$NS-n"
refuses "nor the job" 'not found' k get job third
job third 600 | sed 's/{suspend: true,/{suspend: true, parallelism: 4, completions: 1,/' | change
says "of a Job with more parallelism than completions no more pods are counted" "^Workload +$NS +third +- +in 2[45]m +new\$" what_if
echo "{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: $NS-high}, value: 100}" | apply
job urgent 600 | sed "s/queue-name: q}/queue-name: q, kueue.x-k8s.io\/priority-class: $NS-high}/" | change
says "an urgent one would come first" "^Workload +$NS +urgent +- +in 1[45]m +new\$" what_if
says "and the other later" "^Workload +$NS +job-second-[^ ]+ +in 1[45]m +in 2[45]m +later by 10m\$" what_if
job urgent 600 | sed "s/queue-name: q}/queue-name: q, kueue.x-k8s.io\/priority-class: none}/" | change
refuses "a class that is not there" 'none' what_if
job second 600 | change
says "a job that is there is no change" '^Job second is there already: left out' what_if
pods() { echo "template: {spec: {restartPolicy: Never, nodeSelector: {only: $NS}, tolerations: [{key: only, value: $NS}], containers: [{name: $1, image: train, resources: {limits: {nvidia.com/gpu: 1}}}]}}"; }
{ queue 2; cat <<YAML
---
{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: both, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {replicatedJobs: [
 {name: a, replicas: 2, template: {spec: {$(pods main)}}}]}}
YAML
} | change
says "a JobSet waits for room for all its pods" "^Workload +$NS +both +- +in 1[45]m +new\$" what_if
{ queue 2; cat <<YAML
---
{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: both, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {pytorchReplicaSpecs: {
 Master: {$(pods pytorch)}, Worker: {replicas: 1, $(pods pytorch)}}}}
YAML
} | change
says "a PyTorchJob too" "^Workload +$NS +both +- +in 1[45]m +new\$" what_if
apply <<YAML
{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainingRuntime, metadata: {name: plain}, spec: {mlPolicy: {numNodes: 1}, template: {spec: {
 replicatedJobs: [{name: node, template: {spec: {$(pods node)}}}]}}}}
YAML
echo '{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: x, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {runtimeRef: {kind: TrainingRuntime, name: plain}}}' | change
says "of a TrainJob its runtime knows more" "^Workload +$NS +x +- +in 2[45]m +new\$" what_if
echo '{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: x, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {runtimeRef: {kind: TrainingRuntime, name: none}}}' | change
refuses "one that is not there" 'none' what_if
member() { # NAME
    cat <<YAML
---
{apiVersion: v1, kind: Pod, metadata: {name: $1}, spec: {schedulingGroup: {podGroupName: pair}, nodeSelector: {only: $NS}, tolerations: [{key: only, value: $NS}],
 containers: [{name: main, image: train, resources: {limits: {nvidia.com/gpu: 1}}}]}}
YAML
}
pair='{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: pair}, spec: {schedulingPolicy: {gang: {minCount: 2}}}}'
{ echo "$pair"; member pair-0; member pair-1; } | change
says "a PodGroup of Kubernetes itself would start" "^PodGroup +$NS +pair +- +at once +new\$" what_if
{ echo "$pair"; member pair-0; } | change
says "and not without all of its members" "^PodGroup +$NS +pair +- +not known +new\$" what_if
echo '{apiVersion: scheduling.k8s.io/v1alpha1, kind: Workload, metadata: {name: w}, spec: {podGroups: [{name: g, policy: {basic: {}}}]}}' | change
refuses "a Workload that only has groups" 'Workload w of scheduling.k8s.io: its groups are what its pods name' what_if
echo '{apiVersion: v1, kind: Node, metadata: {name: x}}' | change
refuses "a node that has nothing" 'Node x: status.capacity: say what it has' what_if
echo '{apiVersion: batch/v1, kind: Job, metadata: {name: x}, spec: {parallelism: 2, completions: 2, template: {spec: {restartPolicy: Never, containers: [{name: m, image: i}]}}}}' | change
says "a job of no queue comes as its pods" "^Pod +$NS +x-main-1 +- +at once +new\$" what_if
echo '{apiVersion: batch/v1, kind: Job, metadata: {generateName: x-}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: m, image: i}]}}}}' | change
says "one that the server names" "^Pod +$NS +x-xxxxx-main-0 +- +at once +new\$" what_if
echo "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: ring}, spec: {minAvailable: 2, tasks: [{name: w, replicas: 2, $(pods main)}]}}" | change
says "Volcano's Job is a group of them" "^PodGroup +$NS +ring-[^ ]+ +- +in 2[45]m +new\$|^PodGroup +$NS +ring-[^ ]+ +- +(at once|not known) +new\$" what_if
echo '{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}' | change
refuses "what changes nothing" 'ConfigMap x: nothing of this kind changes who starts when' what_if
echo '{apiVersion: v7, kind: Thing, metadata: {name: x}}' | change
refuses "what is not known" 'kind "Thing" of apiVersion "v7" is not known' what_if
: | change
refuses "an empty file" 'there is nothing in it' what_if
k delete jobs --all >/dev/null
K delete node "$NS" >/dev/null # other scripts count nodes
