# KAI's PodGroups: pods that an annotation puts into one start together, or not at all; subgroups; what does nothing is told. On the embedded
# server's nodes: 6 with 8 GPUs each.
if ! embedded; then
    skip "KAI's PodGroups" "needs the simulated nodes of the embedded cluster"
    return
fi
apply() { { echo "# YAML"; cat; } | k apply -f -; }
why() { "$PROGRAM" why "$1" -n "$NS"; }
bound() { k get pods -l "app=$1" -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | awk 'NF {n++} END {print n + 0}'; }
group() { k get podgroups.scheduling.run.ai "$1" -o "jsonpath=$2"; }
warnings() { k get events --field-selector "type=Warning,reason=PodGroupIgnored" -o 'jsonpath={range .items[*]}{.message}{"\n"}{end}'; }
# pg NAME SPEC
pg() {
    apply <<YAML
{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: $1}, spec: {$2}}
YAML
}
# pod NAME GROUP GPUS [LABELS]: none where GROUP is ""
pod() {
    apply >/dev/null <<YAML
{apiVersion: v1, kind: Pod, metadata: {name: $1, labels: {app: ${2:-alone}${4:+, $4}}, annotations: {capstan.dev/run-seconds: "600"${2:+, pod-group-name: $2}}},
 spec: {schedulerName: kai-scheduler, restartPolicy: Never, containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: $3}}}]}}
YAML
}

# --- waits whole, starts whole
says "a PodGroup" 'created' pg three "minMember: 3, queue: research"
pod three-0 three 8
pod three-1 three 8
soon "two of three: why counts" '2 of 3 pods exist' why podgroup/three
soon "a member says the same" '2 of 3 pods exist' why pod/three-0
is "and none starts" 0 bound three
soon "a queue that is none is told" 'spec[.]queue: there is no Queue of the name research' warnings
soon "its status" '^Pending 2$' group three '{.status.phase} {.status.pending}'
pod three-2 three 8
soon "the third comes: all start" '^3$' bound three
soon "the group runs" '^Running 3$' group three '{.status.phase} {.status.running}'
pod three-3 three 1
soon "one beyond minMember starts after that" '^4$' bound three
soon "it is listed as a job" 'three +[^ ]* *.*Running' "$PROGRAM" jobs -n "$NS"

# --- subgroups
says "subgroups" 'created' pg parts "minMember: 3, subGroups: [{name: head, minMember: 1}, {name: work, minMember: 2}]"
for i in 0 1 2; do pod parts-$i parts 0 "kai.scheduler/subgroup-name: work"; done
soon "three of one are none of the other" 'head' why podgroup/parts
is "none starts" 0 bound parts
pod parts-head parts 0 "kai.scheduler/subgroup-name: head"
soon "with the head all do" '^4$' bound parts
says "a tree is taken" '^podgroup.*created$' pg tree "subGroups: [{name: all}, {name: a, minMember: 1, parent: all}, {name: b, minMember: 1, parent: all}]"
pod tree-a tree 0 "kai.scheduler/subgroup-name: a"
soon "a leaf waits for the other" '1 of 2 pods' why podgroup/tree
pod tree-b tree 0 "kai.scheduler/subgroup-name: b"
soon "both start" '^2$' bound tree
says "one of two, in replicas of two each" '^podgroup.*created$' pg some "minSubGroup: 1, subGroups: [{name: x, minSubGroup: 2}, {name: x1, minMember: 1, parent: x}, {name: x2, minMember: 1, parent: x}, {name: z}, {name: z1, minMember: 1, parent: z}, {name: z2, minMember: 1, parent: z}]"
pod some-x1 some 0 "kai.scheduler/subgroup-name: x1"
pod some-z1 some 0 "kai.scheduler/subgroup-name: z1"
soon "none is whole: what is missing is said" '0 of 1 subgroups have all their pods' why podgroup/some
pod some-z2 some 0 "kai.scheduler/subgroup-name: z2"
soon "one is: its pods start" '^2$' bound some
is "and not those of the other" "" k get pod some-x1 -o 'jsonpath={.spec.nodeName}'
pod some-x2 some 0 "kai.scheduler/subgroup-name: x2"
soon "which follow, both of them" '^4$' bound some
refuses "two subgroups of one name" 'spec[.]subGroups\[1\][.]name.*another one' pg bad "subGroups: [{name: a}, {name: a}]"
refuses "a parent that is none" 'spec[.]subGroups\[0\][.]parent.*no subgroup has this name' pg bad "subGroups: [{name: a, parent: x}]"
refuses "parents in a circle" 'parents go in a circle' pg bad "subGroups: [{name: a, parent: b}, {name: b, parent: a}]"
refuses "a minimum below none" 'spec[.]minMember' pg bad "minMember: -1"
refuses "a minimum of pods and one of subgroups" 'spec[.]minSubGroup.*mutually exclusive' pg bad "minMember: 1, minSubGroup: 1, subGroups: [{name: a}]"
says "no minimum: each by itself" 'created' pg each "minMember: 0"
pod each-0 each 1
soon "it starts" '^1$' bound each
k delete pods -l app=each --wait=false >/dev/null

# --- a topology
apply >/dev/null <<YAML
{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {name: $NS}, spec: {levels: [{nodeLabel: $NS/block}, {nodeLabel: $NS/rack, alias: rack}]}}
YAML
pg near "minMember: 2, topologyConstraint: {topology: $NS, requiredTopologyLevel: rack}" >/dev/null
pod near-0 near 1
pod near-1 near 1
soon "no node is in a rack" "no node is in a domain of label $NS/rack" why podgroup/near
k label nodes --all "$NS/block=b" >/dev/null
for node in $(k get nodes -o name); do k label "$node" "$NS/rack=${node#node/}" >/dev/null; done # each is one
soon "each is one: both start" '^2$' bound near
is "on one" 1 bash -c "'$KUBECTL' -n '$NS' get pods -l app=near -o 'jsonpath={range .items[*]}{.spec.nodeName}{\"\n\"}{end}' | sort -u | wc -l"
# two subgroups, each in a rack of its own: a node more is free than they need, should another file's pods be slow to go
k delete pods near-0 near-1 three-3 --wait=false >/dev/null
pg apart "topologyConstraint: {topology: $NS, requiredTopologyLevel: $NS/block}, subGroups: [{name: a, minMember: 2, topologyConstraint: {topology: $NS, requiredTopologyLevel: rack}}, {name: b, minMember: 2, topologyConstraint: {topology: $NS, requiredTopologyLevel: rack}}]" >/dev/null
for one in a b; do for gpus in 5 3; do pod "apart-$one-$gpus" apart "$gpus" "kai.scheduler/subgroup-name: $one"; done; done
soon "subgroups with topologies of their own start" '^4$' bound apart
racks_of() { k get pods -l "app=apart,kai.scheduler/subgroup-name=$1" -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | sort -u | wc -l; }
is "each in one rack" "1 1" eval 'echo "$(racks_of a) $(racks_of b)"'
says "a Topology that is none is said when it is written" 'there is no Topology gone' \
    pg lost "minMember: 1, topologyConstraint: {topology: gone, requiredTopologyLevel: rack}"
says "and a level of none" 'its level has no effect without the Topology' pg level "minMember: 1, topologyConstraint: {requiredTopologyLevel: rack}"
warnings() { "$@" 2>&1 | awk '/Warning/ {n++} END {print n + 0}'; }
is "of how long it waits nothing is to be said" 0 warnings pg delay "minMember: 1, preemptionDelay: 10m, stalenessGracePeriod: 1m"
says "and none" 'the group waits before requiredTopologyLevel' pg level "minMember: 1, topologyConstraint: {topology: $NS, requiredTopologyLevel: null}"
pod lost-0 lost 0
soon "a Topology that is none" 'spec.topologyConstraint.topology: there is no Topology gone' why podgroup/lost
k delete pods -l 'app in (apart, lost)' --wait=false >/dev/null
k label nodes --all "$NS/block-" "$NS/rack-" >/dev/null
"$KUBECTL" delete topologies.kai.scheduler "$NS" >/dev/null

# --- room, hold
pg large "minMember: 5" >/dev/null
for i in 0 1 2 3 4; do pod large-$i large 8; done
soon "room for fewer" 'only [0-9] of 5 pods can be placed' why podgroup/large
is "so none" 0 bound large
says "it can be held" 'large' "$PROGRAM" hold podgroup/large -n "$NS"
k delete pods -l app=three --wait=false >/dev/null
soon "held, although there is room" 'held' why podgroup/large
is "none starts" 0 bound large
says "and goes on" 'large' "$PROGRAM" resume podgroup/large -n "$NS"
soon "room: all" '^5$' bound large
k delete pods -l app=large --wait=false >/dev/null

# --- a queue of that name, as Volcano's have shares
pg held "minMember: 2, queue: $NS-team" >/dev/null
printf -- '---\n{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: %s-team}, spec: {capability: {nvidia.com/gpu: 1}}}\n' "$NS" | "$KUBECTL" apply -f - >/dev/null
soon "the queue is there" "$NS-team" "$KUBECTL" get queues.scheduling.volcano.sh -o name
for i in 0 1; do pod held-$i held 1; done
soon "its queue's limit holds, also where the queue came later" "$NS-team" why podgroup/held
is "none starts" 0 bound held
says "the queue grows" 'patched' "$KUBECTL" patch queues.scheduling.volcano.sh "$NS-team" --type merge -p '{"spec":{"capability":{"nvidia.com/gpu":2}}}'
soon "both start" '^2$' bound held

# --- a podgrouper tells pods that have an owner their group a moment after they were made
apply >/dev/null <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: late}, spec: {completions: 2, parallelism: 2, template: {metadata: {labels: {app: late}, annotations: {capstan.dev/run-seconds: "600"}},
 spec: {schedulerName: kai-scheduler, restartPolicy: Never, containers: [{name: main, image: busybox}]}}}}
YAML
soon "a job's pods" '^2$' bash -c "'$KUBECTL' -n '$NS' get pods -l app=late -o name | wc -l"
pg late "minMember: 3" >/dev/null
k annotate pods -l app=late pod-group-name=late >/dev/null
soon "were not bound before" '2 of 3 pods exist' why podgroup/late
is "none starts" 0 bound late
k patch podgroups.scheduling.run.ai late --type merge -p '{"spec":{"minMember":2}}' >/dev/null
soon "its minimum falls: both start" '^2$' bound late
pod nowhere nowhere 0
soon "why of a pod whose group is not there" 'PodGroup nowhere .scheduling[.]run[.]ai., of which it is, does not exist: create it' why pod/nowhere
soon "the pod says so itself" "^PodGroupNotFound PodGroup $NS/nowhere, of which it is, does not exist\$" k get pod nowhere -o \
    'jsonpath={.status.conditions[?(@.type=="PodScheduled")].reason} {.status.conditions[?(@.type=="PodScheduled")].message}'
soon "and by an Event" "FailedScheduling PodGroup $NS/nowhere, of which it is, does not exist" k get events -o \
    'jsonpath={range .items[*]}{.reason} {.message}{"\n"}{end}'
pg nowhere "minMember: 1" >/dev/null
soon "once it is made the pod starts" '^Running' k get pod nowhere -o 'jsonpath={.status.phase}'
pod single "" 1
soon "a pod of no group starts by itself" '^1$' bound alone
k delete pods,jobs --all --wait=false >/dev/null
soon "its queue can go" 'deleted' "$KUBECTL" delete queues.scheduling.volcano.sh "$NS-team" --wait=false
