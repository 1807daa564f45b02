# YuniKorn's task groups: applications whose pods start together, or not at all; what is said of those that are wrong. On the embedded
# server's nodes: 6 with 8 GPUs each, 3 of which can hold three of these pods at once.
if ! embedded; then
    skip "YuniKorn's task groups" "needs the simulated nodes of the embedded cluster"
    return
fi
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
why() { "$PROGRAM" why "$1" -n "$NS"; }
bound() { k get pods -l "applicationId=$1" -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | awk 'NF {n++} END {print n + 0}'; }
group() { k get podgroups.scheduling.volcano.sh "yunikorn-$1" -o "jsonpath=$2"; }
warnings() { k get events --field-selector "type=Warning,reason=$1" -o 'jsonpath={range .items[*]}{.message}{"\n"}{end}'; }
# pod NAME APPLICATION GPUS ANNOTATIONS [LABELS]: of task group worker, where ANNOTATIONS do not say else
pod() {
    apply <<YAML
{apiVersion: v1, kind: Pod, metadata: {name: $1, labels: {applicationId: $2${5:+, $5}}, annotations: {capstan.dev/run-seconds: "600"${4:+, $4}}},
 spec: {schedulerName: yunikorn, restartPolicy: Never, containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: $3}}}]}}
YAML
}
in_group() { echo "yunikorn.apache.org/task-group-name: $1"; }
groups='yunikorn.apache.org/task-groups: "[{\"name\": \"head\", \"minMember\": 1, \"minResource\": {\"cpu\": \"1\"}}, {\"name\": \"worker\", \"minMember\": 2, \"minResource\": {\"cpu\": \"1\", \"nvidia.com/gpu\": 1}, \"nodeSelector\": {\"a\": \"b\"}}]"'

# --- waits whole, starts whole
pod one-head one 1 "$(in_group head), $groups, yunikorn.apache.org/schedulingPolicyParameters: \"placeholderTimeoutInSeconds=30 gangSchedulingStyle=Soft\"" "queue: root.team"
pod one-w0 one 8 "$(in_group worker)"
soon "an application's PodGroup" '^3 {"head":1,"worker":2} default 3 2$' group one '{.spec.minMember} {.spec.minTaskMember} {.spec.queue} {.spec.minResources.cpu} {.spec.minResources.nvidia\.com/gpu}'
soon "two of three: why counts" '2 of 3 pods' why podgroup/yunikorn-one
soon "a member says the same" '2 of 3 pods' why pod/one-w0
is "and none starts" 0 bound one
soon "what does nothing is told: a queue" 'queue root[.]team: there is no Queue' warnings TaskGroupsIgnored
soon "of the groups" 'worker[.]nodeSelector: without effect' warnings TaskGroupsIgnored
soon "of the parameters" 'placeholderTimeoutInSeconds: it waits until it fits; gangSchedulingStyle=Soft' warnings TaskGroupsIgnored
pod one-w1 one 8 "$(in_group worker)"
soon "the third comes: all start" '^3$' bound one
soon "the group runs" '^Running 3$' group one '{.status.phase} {.status.running}'
soon "it is listed as a job with its pods" 'yunikorn-one .*Running' "$PROGRAM" jobs -n "$NS"
pod one-w2 one 1 "$(in_group worker)"
soon "one beyond minMember starts after that" '^4$' bound one
pod one-more one 1 ""
soon "one of no task group, too" '^5$' bound one

# --- of each group so many
pod two-w0 two 0 "$(in_group worker), $groups"
pod two-w1 two 0 "$(in_group worker), $groups"
pod two-w2 two 0 "$(in_group worker), $groups"
soon "three workers are no head" 'head' why podgroup/yunikorn-two
is "none starts" 0 bound two
pod two-head two 0 "$(in_group head), $groups"
soon "with the head all do" '^4$' bound two

# --- a queue of a pod that is of no task group
queued() { # NAME
    { echo "# YAML"; cat; } <<YAML | k apply -f -
{apiVersion: v1, kind: Pod, metadata: {name: queued-$1, labels: {applicationId: queued, queue: root.lonely}}, spec: {schedulerName: yunikorn, restartPolicy: Never, containers: [{name: main, image: busybox}]}}
YAML
}
says "its queue does nothing" 'metadata: queue root[.]lonely: has no effect: of YuniKorn.s pods those of task groups count' queued a
queued b >/dev/null
soon "they start" '^2$' bound queued
soon "an Event says it, once" '^1$' bash -c "'$KUBECTL' -n '$NS' get events --field-selector reason=QueueIgnored -o name | wc -l"

# --- its queues' configuration
configs() {
    { echo "# YAML"; cat; } <<YAML | k apply -f -
{apiVersion: v1, kind: ConfigMap, metadata: {name: yunikorn-configs}, data: {$1: "partitions: []"}}
YAML
}
is "other settings of its are not spoken of" 'configmap/yunikorn-configs created' configs service.clusterId
says "queues in it do nothing" 'data.queues.yaml.: the queues that it describes have no effect' configs queues.yaml
soon "an Event says so" 'ConfigMap data.queues.yaml.: the queues that it describes' k get events --field-selector reason=QueuesIgnored -o \
    'jsonpath={range .items[*]}{.involvedObject.kind} {.message}{"\n"}{end}'
configs queues.yaml >/dev/null 2>&1
k annotate configmap yunikorn-configs again=1 >/dev/null
is "once" 1 bash -c "'$KUBECTL' -n '$NS' get events --field-selector reason=QueuesIgnored -o name | wc -l"
k delete configmap yunikorn-configs >/dev/null

# --- room
large='yunikorn.apache.org/task-groups: "[{\"name\": \"worker\", \"minMember\": 5, \"minResource\": {\"nvidia.com/gpu\": 8}}]"'
for i in 0 1 2 3 4; do pod large-$i large 8 "$(in_group worker), $large"; done
soon "room for fewer" 'only [0-9] of 5 pods can be placed' why podgroup/yunikorn-large
is "so none" 0 bound large
k delete pods -l applicationId=one --wait=false >/dev/null
soon "room: all" '^5$' bound large
soon "the group of an application without pods goes" '^$' k get podgroups.scheduling.volcano.sh yunikorn-one --ignore-not-found -o name
k delete pods -l applicationId=large --wait=false >/dev/null

# --- a queue of that name, as Volcano's have shares
printf -- '---\n{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: %s-team}, spec: {capability: {nvidia.com/gpu: 1}}}\n' "$NS" | "$KUBECTL" apply -f - >/dev/null
pair='yunikorn.apache.org/task-groups: "[{\"name\": \"worker\", \"minMember\": 2, \"minResource\": {\"nvidia.com/gpu\": 1}}]"'
for i in 0 1; do pod held-$i held 1 "$(in_group worker), $pair, yunikorn.apache.org/queue: root.org.$NS-team"; done
soon "its queue's limit holds" "$NS-team" why podgroup/yunikorn-held
is "none starts" 0 bound held
says "the queue grows" 'patched' "$KUBECTL" patch queues.scheduling.volcano.sh "$NS-team" --type merge -p '{"spec":{"capability":{"nvidia.com/gpu":2}}}'
soon "both start" '^2$' bound held

# --- a job whose template has all of it
apply <<YAML
apiVersion: batch/v1
kind: Job
metadata: {name: gang}
spec:
  completions: 3
  parallelism: 3
  template:
    metadata:
      labels: {applicationId: gang, queue: root.default}
      annotations:
        capstan.dev/run-seconds: "1"
        yunikorn.apache.org/task-group-name: task
        yunikorn.apache.org/task-groups: |-
          [{"name": "task", "minMember": 3, "minResource": {"cpu": "100m", "memory": "50M"}, "nodeSelector": {}, "tolerations": [], "affinity": {}, "topologySpreadConstraints": []}]
        yunikorn.apache.org/schedulingPolicyParameters: gangSchedulingStyle=Hard
    spec: {schedulerName: yunikorn, restartPolicy: Never, containers: [{name: main, image: busybox, resources: {requests: {cpu: 100m, memory: 50M}}}]}
YAML
listed() { "$PROGRAM" jobs -n "$NS" | awk '/gang/ {printf "%s ", $2}'; }
soon "a job stands for its group in lists" '^Job $' listed
soon "a job is done" '^3$' k get job gang -o 'jsonpath={.status.succeeded}'
soon "its group is" '^Completed$' group gang '{.status.phase}'
no_warning_of_gang() { k get events --field-selector type=Warning,reason=TaskGroupsIgnored -o 'jsonpath={.items[*].involvedObject.name}' | { grep -o 'gang-[a-z0-9]*' || true; }; }
is "and nobody was warned" "" no_warning_of_gang

# --- Spark: the driver makes the executors
spark='yunikorn.apache.org/task-groups: "[{\"name\": \"driver\", \"minMember\": 1, \"minResource\": {\"cpu\": 1}}, {\"name\": \"executor\", \"minMember\": 2, \"minResource\": {\"cpu\": 1}}]"'
pod spark-driver spark 0 "$(in_group driver), $spark" "spark-role: driver"
soon "a driver starts by itself" '^1$' bound spark
pod spark-1 spark 0 "$(in_group executor)" "spark-role: executor"
soon "an executor waits for the other" '1 of 2 pods' why podgroup/yunikorn-spark
pod spark-2 spark 0 "$(in_group executor)" "spark-role: executor"
soon "both start" '^3$' bound spark

# --- what is wrong
told() { apply 2>&1 <<YAML
{apiVersion: v1, kind: Pod, metadata: {name: told-$RANDOM, labels: {applicationId: told}, annotations: {yunikorn.apache.org/task-groups: '$1', $2}}, spec: {schedulerName: yunikorn, containers: [{name: c, image: busybox}]}}
YAML
}
says "kubectl shows what is wrong" 'annotations.yunikorn.apache.org/task-groups.: \[0\][.]minResource: missing' told '[{"name": "a", "minMember": 1}]' 'a: b'
says "and what does nothing" 'a[.]tolerations: no effect' told '[{"name": "a", "minMember": 1, "minResource": {}, "tolerations": [{}]}]' 'a: b'
says "and a group that is none" 'no task group has this name' told '[{"name": "a", "minMember": 1, "minResource": {}}]' "$(in_group b)"
k delete pods -l applicationId=told --wait=false >/dev/null
pod bad-0 bad 0 "$(in_group worker), yunikorn.apache.org/task-groups: \"[{\\\"name\\\": \\\"worker\\\", \\\"minMember\\\": 0}]\""
soon "task groups that cannot be read" '\[0\][.]minMember: write a whole number from 1' warnings TaskGroupsError
is "nobody starts" 0 bound bad
soon "why says what is missing" 'PodGroup yunikorn-bad .scheduling[.]volcano[.]sh., of which it is, does not exist' why pod/bad-0
pod none-0 none 0 "$(in_group worker)"
soon "nobody says what groups there are" 'no pod of application none has the annotation' warnings TaskGroupsIgnored
soon "then they start one by one" '^1$' bound none
apply <<YAML
{apiVersion: v1, kind: Pod, metadata: {name: tg-0, labels: {applicationId: tg}, annotations: {yunikorn.apache.org/placeholder: "true"}},
 spec: {schedulerName: yunikorn, containers: [{name: pause, image: pause}]}}
YAML
pod single single 0 ""
soon "a pod of no application's gang starts" '^1$' bound single
is "a placeholder that YuniKorn left does not" 0 bound tg
k delete pods --all --wait=false >/dev/null
soon "its queue can go" 'deleted' "$KUBECTL" delete queues.scheduling.volcano.sh "$NS-team" --wait=false
