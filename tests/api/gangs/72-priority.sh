# Groups that are in no queue: those of higher priority end those of lower, whole or what they can do without; lone pods, too. On the embedded
# server's nodes: 6 with 8 GPUs each.
if ! embedded; then
    skip "priorities of groups without a queue" "needs the simulated nodes of the embedded cluster"
    return
fi
apply() { { echo "# YAML"; cat; } | k apply -f - 2>&1; }
class() {
    apply >/dev/null <<YAML
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: $1}, value: $2, preemptionPolicy: ${3:-PreemptLowerPriority}}
YAML
}
# pods NAME N GPUS CLASS LABELS [SPEC]
pods() {
    local i
    for i in $(seq 0 $(($2 - 1))); do
        cat <<YAML
---
{apiVersion: v1, kind: Pod, metadata: {name: $1-$i, labels: {app: priority, of: $1, $5}, annotations: {capstan.dev/run-seconds: "600"}},
 spec: {${6:+$6, }priorityClassName: $4, restartPolicy: Never, terminationGracePeriodSeconds: 1,
        containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: $3}}}]}}
YAML
    done | apply >/dev/null
}
# group NAME MIN N GPUS CLASS: of coscheduling
group() {
    apply >/dev/null <<YAML
{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: $1}, spec: {minMember: $2}}
YAML
    pods "$1" "$3" "$4" "$5" "scheduling.x-k8s.io/pod-group: $1"
}
running() { k get pods -l "of=$1" -o 'jsonpath={range .items[?(@.status.phase=="Running")]}{.metadata.name}{" "}{end}'; }
events() { k get events -o 'jsonpath={range .items[*]}{.reason} {.involvedObject.name}: {.message}{"\n"}{end}'; }
target() { k get pods -l "of=$1" -o 'jsonpath={range .items[*].status.conditions[?(@.type=="DisruptionTarget")]}{.reason}: {.message}{"\n"}{end}'; }
keep() { k get pods -l of=whole -o name | while read -r pod; do k patch "$pod" --type merge -p "{\"metadata\": {\"finalizers\": $1}}" >/dev/null; done; }
class p-low 10
class p-mid 100
class p-high 1000
class p-quiet 1000 Never

group low 6 6 8 p-low
soon "a group of low priority has all nodes" '^low-0 low-1 low-2 low-3 low-4 low-5 $' running low
group quiet 2 2 8 p-quiet
soon "one whose pods preempt nobody waits" 'only 0 of 2 pods can be placed' "$PROGRAM" why podgroup/quiet -n "$NS"
group high 2 2 8 p-high
soon "one of higher priority starts" '^high-0 high-1 $' running high
is "all of the other one have gone for it" "" running low
soon "and it is told for whom" "Preempted low-0: preempted for pod group $NS/high, which has a higher priority" events
k delete podgroups.scheduling.x-k8s.io low quiet >/dev/null
k delete pods -l 'of in (low, quiet)' --now >/dev/null 2>&1

group elastic 2 4 8 p-mid
soon "a group with more than its minimum has the other nodes" '^elastic-0 elastic-1 elastic-2 elastic-3 $' running elastic
group one 1 1 8 p-high
soon "a member that it can do without goes for another" '^one-0 $' running one
soon "the others stay" '^elastic-0 elastic-1 elastic-2 $' running elastic
soon "it is told so" "Preempted elastic-3: preempted for pod group $NS/one, which has a higher priority; its pod group has more than its minimum of 2, and stays" events
pods lone 1 8 p-high ""
soon "one more goes for a lone pod" '^lone-0 $' running lone
soon "and the minimum is left" '^elastic-0 elastic-1 $' running elastic
pods lone2 1 8 p-high ""
soon "for the next one the group goes whole" '^lone2-0 $' running lone2
is "all of it" "" running elastic
k delete podgroups.scheduling.x-k8s.io elastic high one >/dev/null
k delete pods -l app=priority --now >/dev/null 2>&1

apply >/dev/null <<YAML
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: whole},
 spec: {schedulingPolicy: {gang: {minCount: 2}}, disruptionMode: {all: {}}, priorityClassName: p-low}}
YAML
pods whole 6 8 p-low "" "schedulingGroup: {podGroupName: whole}"
soon "a group of Kubernetes' own with disruptionMode all" '^whole-0 whole-1 whole-2 whole-3 whole-4 whole-5 $' running whole
keep '["example.com/keep"]'
group last 1 1 8 p-high
soon "gives none of its members alone" '^(PreemptionByScheduler: default-scheduler: preempting to accommodate a higher priority pod ?){6}$' eval 'target whole | tr "\n" " "'
keep null
soon "and goes whole" '^last-0 $' running last
k delete podgroups.scheduling.k8s.io whole >/dev/null
k delete podgroups.scheduling.x-k8s.io last >/dev/null
k delete pods -l app=priority --now >/dev/null 2>&1
