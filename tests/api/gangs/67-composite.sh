# CompositePodGroups of Kubernetes itself, scheduling.k8s.io/v1alpha3: several PodGroups that start together or not at all.
if ! embedded || [ -z "${PROGRAM:-}" ]; then
    skip "CompositePodGroups" "needs the simulated nodes of the embedded cluster"
    return
fi
apply() { { echo "# YAML"; cat; } | k apply -f -; }
# composite NAME POLICY [MORE OF SPEC]; group NAME PARENT FEWEST; pod NAME GROUP [GPUS [SECONDS]]
composite() {
    apply <<YAML
{apiVersion: scheduling.k8s.io/v1alpha3, kind: CompositePodGroup, metadata: {name: $1},
 spec: {workloadRef: {workloadName: w, templateName: t}, schedulingPolicy: {$2}${3:+, $3}}}
YAML
}
group() {
    apply <<YAML
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: $1},
 spec: {parentCompositePodGroupName: $2, workloadRef: {workloadName: w, templateName: t}, schedulingPolicy: {gang: {minCount: $3}}}}
YAML
}
pod() {
    apply <<YAML >/dev/null
{apiVersion: v1, kind: Pod, metadata: {name: $1, annotations: {capstan.dev/run-seconds: "${4:-600}"}}, spec: {schedulingGroup: {podGroupName: $2},
 restartPolicy: Never, containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: ${3:-1}}}}]}}
YAML
}
# on NAME...: how many of these pods have a node
on() { k get pods "$@" -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | awk 'NF {n++} END {print n + 0}'; }
node_of() { k get pod "$1" -o 'jsonpath={.spec.nodeName}'; }
condition() { k get "$1" "$2" -o 'jsonpath={range .status.conditions[*]}{.type} {.status} {.reason}: {.message}{end}'; }
of_group() { condition podgroups.v1beta1.scheduling.k8s.io "$1"; }
of_composite() { condition compositepodgroups "$1"; }
waits() { k get pod "$1" -o 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}'; }
capstan() { "$PROGRAM" "$@" -n "$NS"; }
clear_all() {
    k delete pods --all --grace-period=0 --force >/dev/null 2>&1
    k delete podgroups.v1beta1.scheduling.k8s.io,compositepodgroups --all >/dev/null
}

# --- the API, as kube-apiserver 1.37 has it
says "a CompositePodGroup" 'compositepodgroup.scheduling.k8s.io/all created' composite all 'gang: {minGroupCount: 2}'
says "its columns" '^NAME +POLICY +WORKLOAD +AGE' k get compositepodgroups
says "what they show" '^all +Gang +w ' k get compositepodgroups all
is "what is written where nothing is said" '{"single":{}}' k get compositepodgroup all -o 'jsonpath={.spec.disruptionMode}'
says "explain" 'minGroupCount.*<integer> -required-' k explain compositepodgroup.spec.schedulingPolicy.gang --api-version=scheduling.k8s.io/v1alpha3
refuses "two policies" 'schedulingPolicy: Invalid value: "\{basic, gang\}": must specify exactly one of: `basic`, `gang`' composite x 'gang: {minGroupCount: 2}, basic: {}'
refuses "no policy" 'schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`' composite x ''
refuses "no group at all" 'minGroupCount: Invalid value: -1: (must|should) be greater than or equal to 1' composite x 'gang: {minGroupCount: -1}'
refuses "two topologies" 'spec.schedulingConstraints.topology: Too many: 2: must have at most 1 item' composite x 'basic: {}' 'schedulingConstraints: {topology: [{key: a}, {key: b}]}'
refuses "a parent of no name" 'spec.parentCompositePodGroupName: Invalid value: "A_b"' composite x 'basic: {}' 'parentCompositePodGroupName: A_b'
refuses "another minimum" 'spec.schedulingPolicy: Invalid value: .*: field is immutable' composite all 'gang: {minGroupCount: 1}'
refuses "another parent" 'spec.parentCompositePodGroupName: Invalid value: .*field is immutable' composite all 'gang: {minGroupCount: 2}' 'parentCompositePodGroupName: a'
no_workload() {
    apply <<YAML
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: x}, spec: {parentCompositePodGroupName: all, schedulingPolicy: {basic: {}}}}
YAML
}
refuses "a PodGroup below one, of no Workload" 'spec.workloadRef: Required value: must be set when parentCompositePodGroupName is set' no_workload

# --- two groups start together
group a all 2 >/dev/null
group b all 1 >/dev/null
k annotate podgroups.v1beta1.scheduling.k8s.io b capstan.dev/refill-seconds=60 >/dev/null
pod a-0 a
pod a-1 a
soon "one of two groups is whole: it waits for the other" '0 of 1 subgroups of b have all their pods' waits a-0
soon "the CompositePodGroup says so" '^CompositePodGroupInitiallyScheduled False Unschedulable: 0 of 1 subgroups of b' of_composite all
soon "a PodGroup of it, too" '^PodGroupInitiallyScheduled False Unschedulable: 0 of 1 subgroups of b' of_group a
soon "what is written on it and is the top's is told" 'annotations.capstan.dev/refill-seconds.: write it on the CompositePodGroup on top' \
    k get events --field-selector reason=PodGroupIgnored -o 'jsonpath={.items[*].message}'
soon "and the one that lacks pods" '^PodGroupInitiallyScheduled False Unschedulable: 0 of 1 subgroups of b' of_group b
for what in pod/a-0 podgroup/a podgroup/b compositepodgroup/all; do
    soon "why $what" '0 of 1 subgroups of b have all their pods' capstan why $what
done
pod b-0 b 9
soon "a pod that no node holds keeps all of them" 'GPU|nvidia.com/gpu' waits a-0
is "none has started" 0 on
k delete pod b-0 --grace-period=0 --force >/dev/null 2>&1
says "hold" 'held' capstan hold compositepodgroup/all
pod b-0 b
soon "it is held" 'It is held' waits a-0
is "none starts while it is" 0 on
says "resume" 'resumed|may start' capstan resume compositepodgroup/all
soon "all start" '^3$' on
soon "and all say so" '^CompositePodGroupInitiallyScheduled True Scheduled' of_composite all
soon "a PodGroup" '^PodGroupInitiallyScheduled True Scheduled' of_group a
soon "the other" '^PodGroupInitiallyScheduled True Scheduled' of_group b
says "why of one that runs" 'all: scheduled' capstan why compositepodgroup/all
pod a-2 a
soon "a pod that comes later starts" . node_of a-2
says "cancel ends all of it" 'cancelled, with its 4 pods' capstan cancel compositepodgroup/all
clear_all

# --- so many of them
composite three 'gang: {minGroupCount: 3}' >/dev/null
for name in a b; do group $name three 1 >/dev/null; pod $name-0 $name; done
soon "three groups are wanted, and two are there" '2 of 3 subgroups' waits a-0
is "none has started" 0 on
group c three 1 >/dev/null
pod c-0 c 1 1
soon "the third makes them start" '^3$' on
soon "a group whose pods have done all that they were to do is completed" 'PodGroup +c .* Completed ' capstan jobs
says "another one runs" 'PodGroup +a .* Running ' capstan jobs
clear_all
composite few 'gang: {minGroupCount: 2}' >/dev/null
for name in a b c; do group $name few 2 >/dev/null; pod $name-0 $name; done
pod a-1 a
pod c-1 c
soon "two of three are whole, and enough" '^4$' on
soon "that is enough for all of it" '^CompositePodGroupInitiallyScheduled True' of_composite few
is "the third is not whole" "" node_of b-0
soon "and says so" '^PodGroupInitiallyScheduled False' of_group b
pod b-1 b
soon "now it is" . node_of b-0
clear_all
composite each 'basic: {}' >/dev/null
group a each 1 >/dev/null
group b each 2 >/dev/null
pod a-0 a
pod b-0 b
soon "basic: each starts by itself" . node_of a-0
soon "the other waits for its own pods" '1 of 2 pods exist' waits b-0
soon "the CompositePodGroup is scheduled with one" '^CompositePodGroupInitiallyScheduled True' of_composite each
clear_all

# --- whichever comes last
group a late 1 >/dev/null
pod a-0 a
soon "what is above the group does not exist" 'CompositePodGroup .*/late, of which it is, does not exist' waits a-0
soon "the group says so" 'False Unschedulable: CompositePodGroup .*/late, which is above it, does not exist' of_group a
says "why says so" 'CompositePodGroup .*/late, (of which it is|which is above it), does not exist' capstan why pod/a-0
composite late 'gang: {minGroupCount: 2}' 'parentCompositePodGroupName: top' >/dev/null
soon "nor does what is above that" 'CompositePodGroup .*/top, which is above it, does not exist' of_composite late
pod b-0 b
group b late 1 >/dev/null
group c top 1 >/dev/null
pod c-0 c
composite top 'gang: {minGroupCount: 2}' >/dev/null
soon "there is all: a tree starts" '^3$' on
soon "each part of it says so" 'True Scheduled' of_composite late
k delete pods --all --grace-period=0 --force >/dev/null 2>&1
pod d-0 a
soon "one of the lowest: the others are waited for" 'subgroups' waits d-0
k delete compositepodgroups late >/dev/null
soon "one in the middle goes: who is below it waits" 'CompositePodGroup .*/late, of which it is, does not exist' waits d-0
composite late 'gang: {minGroupCount: 1}' 'parentCompositePodGroupName: top' >/dev/null
pod d-1 c
soon "it comes back, and asks for less" '^2$' on
k delete compositepodgroups top >/dev/null
sleep 1
is "who runs goes on when the top goes" 2 on
clear_all

# --- a domain of all, and one of a part
racks=$(k get nodes -l nvidia.com/gpu.present=true -o 'jsonpath={range .items[*]}{.metadata.name} {.status.allocatable.nvidia\.com/gpu}{"\n"}{end}' | awk '$2 == 8 {print $1}')
i=0
for node in $racks; do
    k label node "$node" "zone-67=z$((i / 2))" "rack-67=r$i" >/dev/null
    i=$((i + 1))
done
composite near 'gang: {minGroupCount: 2}' 'schedulingConstraints: {topology: [{key: zone-67}]}' >/dev/null
group a near 1 >/dev/null
group b near 1 >/dev/null
pod a-0 a 8
pod b-0 b 8
soon "both start" '^2$' on
zones() { for p in "$@"; do k get node "$(node_of "$p")" -o 'jsonpath={.metadata.labels.zone-67}{"\n"}'; done | sort -u | wc -l | tr -d ' '; }
is "in one zone" 1 zones a-0 b-0
composite far 'gang: {minGroupCount: 3}' 'schedulingConstraints: {topology: [{key: zone-67}]}' >/dev/null
for name in d e f; do group $name far 1 >/dev/null; pod $name-0 $name 8; done
soon "three nodes are in no zone" 'no domain of label zone-67 holds 3 pod' waits d-0
is "none of them has started" "" node_of d-0
for node in $racks; do k label node "$node" zone-67- rack-67- >/dev/null; done
clear_all

# --- trees that cannot be
composite one 'gang: {minGroupCount: 1}' 'parentCompositePodGroupName: two' >/dev/null
composite two 'gang: {minGroupCount: 1}' 'parentCompositePodGroupName: one' >/dev/null
group a one 1 >/dev/null
pod a-0 a
soon "a circle" '^CompositePodGroupInitiallyScheduled False Invalid: .*more than 4, or a circle' of_composite one
soon "its pods wait" 'more than 4, or a circle' waits a-0
k delete compositepodgroups two >/dev/null
composite two 'gang: {minGroupCount: 1}' >/dev/null
soon "until it is none" . node_of a-0
clear_all
composite c1 'gang: {minGroupCount: 1}' >/dev/null
for i in 2 3 4; do composite c$i 'gang: {minGroupCount: 1}' "parentCompositePodGroupName: c$((i - 1))" >/dev/null; done
group a c4 1 >/dev/null
pod a-0 a
soon "five levels" '^CompositePodGroupInitiallyScheduled False Invalid: .*more than 4' of_composite c1
is "do not start" "" node_of a-0
group b c3 1 >/dev/null
k delete podgroups.v1beta1.scheduling.k8s.io a >/dev/null
pod b-0 b
soon "four do" . node_of b-0
is "a pod of a group that is gone waits" "" node_of a-0
clear_all
