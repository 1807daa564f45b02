# Pod groups of Kubernetes itself, scheduling.k8s.io, in the versions of its releases: what our server has, and `capstan scheduler` on servers
# that have one of them alone.
if ! embedded || [ -z "${PROGRAM:-}" ]; then
    skip "native pod groups, version by version" "needs the simulated nodes of the embedded cluster"
    return
fi
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
# pod NAME GROUP [SCHEDULER]: one GPU; GROUP is the part of its spec that says whose it is
pod() {
    apply <<YAML
{apiVersion: v1, kind: Pod, metadata: {name: $1, annotations: {capstan.dev/run-seconds: "600"}}, spec: {$2, schedulerName: ${3:-default-scheduler},
 restartPolicy: Never, containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}}
YAML
}
# on NAME...: how many of these pods have a node
on() { k get pods "$@" -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | awk 'NF {n++} END {print n + 0}'; }
node_of() { k get pod "$1" -o 'jsonpath={.spec.nodeName}'; }
condition() { k get "podgroups.$1.scheduling.k8s.io" "$2" -o "jsonpath={range .status.conditions[?(@.type==\"$3\")]}{.status} {.reason}{end}"; }
waits() { k get pod "$1" -o 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}'; }

# --- v1alpha1, of 1.35: a Workload has the groups
apply <<YAML
{apiVersion: scheduling.k8s.io/v1alpha1, kind: Workload, metadata: {name: train}, spec: {podGroups: [
 {name: workers, policy: {gang: {minCount: 2}}}, {name: logs, policy: {basic: {}}}]}}
YAML
says "what was written is read" '^workers 2$' k get workloads.v1alpha1.scheduling.k8s.io train -o 'jsonpath={.spec.podGroups[0].name} {.spec.podGroups[0].policy.gang.minCount}'
says "in the newest version, too" '^workers 2$' k get workloads.v1beta1.scheduling.k8s.io train -o 'jsonpath={.spec.podGroupTemplates[0].name} {.spec.podGroupTemplates[0].schedulingPolicy.gang.minCount}'
of() { echo "workloadRef: {name: train, podGroup: $1${2:+, podGroupReplicaKey: \"$2\"}}"; }
pod w0-0 "$(of workers 0)"
pod w1-0 "$(of workers 1)"
pod log "$(of logs)"
soon "a pod of a basic group starts by itself" . node_of log
soon "one of a gang waits for its own replica" '1 of 2 pods exist' waits w0-0
soon "why says so" '1 of 2 pods exist' "$PROGRAM" why pod/w1-0 -n "$NS"
pod w1-1 "$(of workers 1)"
soon "that is whole, and starts" . node_of w1-0
is "the other one still waits" "" node_of w0-0
pod lost "$(of nobody)"
says "a group that its Workload does not have" 'Group nobody in Workload train .scheduling.k8s.io., of which it is, does not exist' "$PROGRAM" why pod/lost -n "$NS"
pod lost-2 "workloadRef: {name: gone, podGroup: workers}"
says "a Workload that does not exist" 'Workload gone .scheduling.k8s.io., of which it is, does not exist' "$PROGRAM" why pod/lost-2 -n "$NS"
pod lost-3 "schedulingGroup: {podGroupName: gone}"
says "a PodGroup that does not exist" 'PodGroup gone .scheduling.k8s.io., of which it is, does not exist' "$PROGRAM" why pod/lost-3 -n "$NS"
k delete pods --all --grace-period=0 --force >/dev/null 2>&1
k delete workloads.v1beta1.scheduling.k8s.io train >/dev/null

# --- v1alpha2, of 1.36, beside v1beta1, of 1.37: the same objects
apply <<YAML
{apiVersion: scheduling.k8s.io/v1alpha2, kind: PodGroup, metadata: {name: both}, spec: {schedulingPolicy: {gang: {minCount: 2}}, disruptionMode: Pod}}
YAML
pod both-0 "schedulingGroup: {podGroupName: both}"
pod both-1 "schedulingGroup: {podGroupName: both}"
soon "a condition as 1.36 calls it" '^True Scheduled$' condition v1alpha2 both PodGroupScheduled
soon "and as 1.37 does" '^True Scheduled$' condition v1beta1 both PodGroupInitiallyScheduled

# --- a group on nodes with one value of a label, which none has at first
apply <<YAML
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: near}, spec: {schedulingPolicy: {gang: {minCount: 2}},
 schedulingConstraints: {topology: [{key: rack-63}]}}}
YAML
pod near-0 "schedulingGroup: {podGroupName: near}"
pod near-1 "schedulingGroup: {podGroupName: near}"
soon "no node has the label" 'no node is in a domain of label rack-63' waits near-0
rack=$(k get nodes -o 'jsonpath={.items[0].metadata.name}')
k label node "$rack" rack-63=r1 >/dev/null
soon "one has it" "^$rack\$" node_of near-0
is "both stand there" "$rack" node_of near-1
says "why of a group that has started" 'near: scheduled' "$PROGRAM" why podgroup/near -n "$NS"
apply <<YAML
{apiVersion: v1, kind: Pod, metadata: {name: near-large}, spec: {schedulingGroup: {podGroupName: near}, restartPolicy: Never,
 containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: 8}}}]}}
YAML
soon "one that comes later, and has no room there: why says so of it" 'no domain of label rack-63 holds 1 pod' "$PROGRAM" why pod/near-large -n "$NS"
k label node "$rack" rack-63- >/dev/null
k delete pods near-0 near-1 near-large --grace-period=0 --force >/dev/null 2>&1
k delete podgroups.scheduling.k8s.io near >/dev/null

# --- servers that have one version alone; the scheduler of this one does not look after pods of another scheduler
url=$("$KUBECTL" config view -o 'jsonpath={.clusters[0].cluster.server}')
# older VERSION: a server that has that version of the group alone, and a scheduler for it that serves pods of schedulerName VERSION
older() {
    python3 "$ROOT/tests/api/gangs/63-older-server.py" "$url" "$PWD/$1.conf" scheduling.k8s.io "$1" &
    door=$!
    appears "$1.conf"
    "$PROGRAM" scheduler --kubeconfig "$1.conf" --leader-elect=false --scheduler-name "$1" --no-kueue --no-volcano >"$1.log" 2>&1 &
    scheduler=$!
}
leaves() { kill "$scheduler" "$door"; wait "$scheduler" "$door" 2>/dev/null; }
for version in v1alpha2 v1beta1; do
    older $version
    apply <<YAML
{apiVersion: scheduling.k8s.io/$version, kind: PodGroup, metadata: {name: of-$version}, spec: {schedulingPolicy: {gang: {minCount: 2}}}}
YAML
    pod "$version-0" "schedulingGroup: {podGroupName: of-$version}" $version
    soon "a server with $version alone: one of two waits" '1 of 2 pods exist' waits "$version-0"
    pod "$version-1" "schedulingGroup: {podGroupName: of-$version}" $version
    soon "both start" . node_of "$version-0"
    soon "capstan jobs finds the group there" "of-$version" "$PROGRAM" jobs --kubeconfig "$version.conf" -n "$NS"
    says "and why does" 'PodGroup .*/of-' "$PROGRAM" why "podgroup/of-$version" --kubeconfig "$version.conf" -n "$NS"
    says "capstan cancel ends it" 'cancelled, with its 2 pods' "$PROGRAM" cancel "podgroup/of-$version" --kubeconfig "$version.conf" -n "$NS"
    leaves
done
older v1alpha1
apply <<YAML
{apiVersion: scheduling.k8s.io/v1alpha1, kind: Workload, metadata: {name: train}, spec: {podGroups: [{name: workers, policy: {gang: {minCount: 2}}}]}}
YAML
pod old-0 "$(of workers a)" v1alpha1
soon "a server with v1alpha1 alone: one of two waits" '1 of 2 pods exist' waits old-0
pod old-1 "$(of workers a)" v1alpha1
soon "both start there, too" . node_of old-1
leaves
