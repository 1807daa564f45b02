# StatefulSets that serve: they wait for quota whole, start one by one where they say so, are updated, scaled and stopped. On the embedded
# server's nodes.
if ! embedded; then
    skip "sets in queues" "needs the simulated nodes of the embedded cluster"
    return
fi
K() { "$KUBECTL" "$@"; }
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
remove() { k delete "$@" --wait=false >/dev/null; }
workload_of() { k get workloads -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.ownerReferences[0].name}{"\n"}{end}' | awk -v o="$1" '$2 == o {print $1}'; }
of_workload() { k get workload "$(workload_of "$1")" -o "jsonpath=$2"; }
condition() { of_workload "$1" "{range .status.conditions[?(@.type==\"$2\")]}{.status} {.reason}{end}"; }
bound() { k get pods -l "app=$1" -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | awk 'NF {n++} END {print n + 0}'; }
ready() { k get sts "$1" -o 'jsonpath={.status.readyReplicas}'; }
# set NAME REPLICAS [LABELS] [SPEC]: one GPU a pod
set_of() {
    apply <<YAML
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: q${3:+, $3}}},
 spec: {replicas: $2, serviceName: $1, ${4:+$4,} selector: {matchLabels: {app: $1}}, template: {metadata: {labels: {app: $1}},
 spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: "x:1", resources: {limits: {nvidia.com/gpu: 1}}}]}}}}
YAML
}

apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-a}, spec: {nodeLabels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-q}, spec: {namespaceSelector: {}, preemption: {withinClusterQueue: LowerPriority},
 resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: $NS-a, resources: [{name: nvidia.com/gpu, nominalQuota: 4}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q}, spec: {clusterQueue: $NS-q}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: $NS-high}, value: 100}
YAML

# --- starts whole, pod by pod
set_of web 3
soon "a StatefulSet starts" '^3$' ready web
is "as one Workload" "main=3 " of_workload web '{range .spec.podSets[*]}{.name}={.count} {end}'
says "named as Kueue names it" '^statefulset-web-[0-9a-f]{5}$' workload_of web
says "on the nodes of its flavor" 'NVIDIA-A100-SXM4-40GB' k get pod web-2 -o 'jsonpath={.spec.nodeSelector}'
soon "whose pods are ready" '^True Started$' condition web PodsReady
says "capstan says so" 'admitted by ClusterQueue' "$PROGRAM" why sts/web -n "$NS"

# --- a second one waits whole
set_of late 2 "" "podManagementPolicy: Parallel"
soon "another waits" '^False QuotaReserved|^False ' condition late QuotaReserved
is "nobody of it runs" "0" bound late
says "its pods are held" 'kueue.x-k8s.io/admission' k get pod late-1 -o 'jsonpath={.spec.schedulingGates}'
says "it stands in the list of jobs" 'StatefulSet +late +2 +0 ' "$PROGRAM" jobs -n "$NS"
says "and why" 'insufficient' "$PROGRAM" why sts/late -n "$NS"

# --- what is refused, and what to write
refuses "another number" 'Scale to 0, then to 2' k scale sts web --replicas=2
refuses "another queue while it serves" 'field is immutable: scale to 0' k label sts web --overwrite kueue.x-k8s.io/queue-name=other
refuses "other requests" 'spec.template.spec.containers\[0\].resources.requests' k patch sts web --type=json \
    -p '[{"op": "replace", "path": "/spec/template/spec/containers/0/resources", "value": {"limits": {"nvidia.com/gpu": "2"}}}]'

# --- updated, with the quota that it has
uid=$(of_workload web '{.metadata.uid}')
ok "another image" k set image sts/web c=x:2
says "rolls" 'rolling update complete|roll out complete' k rollout status sts/web --timeout=90s
is "in the same Workload" "$uid" of_workload web '{.metadata.uid}'
is "nobody else has started" "0" bound late

# --- a pod is lost, and made again
pod=$(k get pod web-1 -o 'jsonpath={.metadata.uid}')
k delete pod web-1 --wait=true >/dev/null
soon "a pod comes back" '^3$' ready web
says "as another" . bash -c "'$KUBECTL' -n '$NS' get pod web-1 -o 'jsonpath={.metadata.uid}' | grep -v '$pod'"
is "in the same Workload" "$uid" of_workload web '{.metadata.uid}'

# --- scaled to zero: on hold, and another starts
ok "to zero" k scale sts web --replicas=0
soon "on hold" '^False OnHold$' condition web QuotaReserved
soon "who waited starts" '^2$' ready late
soon "its pods have gone" '^0$' k get sts web -o 'jsonpath={.status.replicas}'
ok "back again" k scale sts web --replicas=3
soon "it waits" '^False ' condition web QuotaReserved
is "and has nothing" "0" bound web
remove sts late
soon "until there is room" '^3$' ready web
is "once more whole" "main=3 " of_workload web '{range .spec.podSets[*]}{.name}={.count} {end}'

# --- priority
set_of urgent 4 "kueue.x-k8s.io/priority-class: $NS-high"
soon "a higher class starts" '^4$' ready urgent
is "and the other has stopped, whole" "0" bound web
soon "evicted" '^True Preempted$' condition web Evicted
remove sts urgent
soon "it comes back" '^3$' ready web

# --- deleted, and its Workload with it
remove sts web
soon "nothing is left" '^$' k get workloads,pods -o name

K delete clusterqueue "$NS-q" --wait=false >/dev/null
K delete resourceflavor "$NS-a" --wait=false >/dev/null
K delete workloadpriorityclass "$NS-high" --wait=false >/dev/null
