# NodePools and NodeClaims of Karpenter: what machines can come is known, and said; pods that none of them would hold are not declared
# Unschedulable. Nobody buys anything here: the objects are written by hand.
if ! embedded; then
    skip "node pools" "needs an embedded server of its own"
    return
fi
K() { "$KUBECTL" "$@"; }
apply() { { echo "# YAML"; cat; } | K apply -f - >/dev/null; }
crd() { # PLURAL KIND
    apply <<YAML
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: $1.karpenter.sh}, spec: {group: karpenter.sh,
 scope: Cluster, names: {plural: $1, kind: $2}, versions: [{name: v1, served: true, storage: true,
 schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}
YAML
}
pool() { # GPUS-OF-A-MACHINE LIMIT [MORE]: of the pool $NS
    apply <<YAML
{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: $NS}, spec: {limits: {nvidia.com/gpu: $2}, template: {spec: {requirements: [
 {key: karpenter.sh/capacity-type, operator: In, values: [on-demand, reserved]},
 {key: karpenter.k8s.aws/instance-gpu-count, operator: In, values: [$1]}], taints: [${3:-}]}}}}
YAML
}
claim() { # NAME
    apply <<YAML
{apiVersion: karpenter.sh/v1, kind: NodeClaim, metadata: {name: $NS-$1, labels: {karpenter.sh/nodepool: $NS,
 node.kubernetes.io/instance-type: p5.48xlarge}}, status: {capacity: {cpu: 192, memory: 2Ti, pods: 100, nvidia.com/gpu: 8},
 allocatable: {cpu: 190, memory: 1900Gi, pods: 100, nvidia.com/gpu: 8}, conditions: [{type: Launched, status: "True"}]}}
YAML
}
pod() { # NAME GPUS [LABELS [SELECTOR]]
    apply <<YAML
{apiVersion: v1, kind: Pod, metadata: {name: $1, namespace: $NS, labels: {app: w${3:-}}}, spec: {nodeSelector: {karpenter.sh/nodepool: $NS${4:-}},
 containers: [{name: main, image: x, resources: {limits: {nvidia.com/gpu: $2}}}]}}
YAML
}
said() { k get pod "$1" -o 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].reason} {.status.conditions[?(@.type=="PodScheduled")].message}'; }
group() { k get pods -l scheduling.x-k8s.io/pod-group=g -o 'jsonpath={range .items[*]}{.status.conditions[?(@.type=="PodScheduled")].reason}{"\n"}{end}' | sort | uniq -c | tr -s ' \n' ' '; }

pod large 8
soon "without Karpenter what waits for nodes is Unschedulable" '^Unschedulable ' said large
crd nodepools NodePool
crd nodeclaims NodeClaim
K wait --for=condition=Established crd/nodepools.karpenter.sh crd/nodeclaims.karpenter.sh >/dev/null
pool '"4"' 24
soon "whom no machine would hold is not" '^NoMachineFits .*; no machine that NodePool '"$NS"' brings has 8 nvidia.com/gpu \(4 at most\)' said large
soon "and capstan why says it" "^machines: no machine that NodePool $NS brings has 8 nvidia.com/gpu \\(4 at most\\)" "$PROGRAM" why pod/large -n "$NS"
pod spot 4 '' ', karpenter.sh/capacity-type: spot'
soon "nor who wants another kind of capacity" "^NoMachineFits .*; no machine that NodePool $NS brings has the label karpenter.sh/capacity-type" said spot
pod fits 4
soon "who fits is" '^Unschedulable ' said fits
k delete pod spot fits --wait=false >/dev/null
pool '"4", "8"' 24
soon "when larger machines may come it is Unschedulable again" '^Unschedulable ' said large
pool '"4", "8"' 24 '{key: team, value: a, effect: NoSchedule}'
soon "machines with a taint that it does not tolerate are none for it" "^NoMachineFits .*machines of NodePool $NS have the taint team" said large
pool '"4", "8"' 24
k delete pod large --wait=false >/dev/null

apply <<YAML
{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: g, namespace: $NS}, spec: {minMember: 4}}
YAML
for i in 1 2 3 4; do pod "g$i" 8 ', scheduling.x-k8s.io/pod-group: g'; done
soon "a gang that limits keep out is declared in no part of it" '^ *4 MachinesLimited *$' group
soon "and is told how many machines may come" 'NodePool '"$NS"' has limits \(nvidia.com/gpu: 24\): machines for 3 of 4 pods may come' said g1
pool '"4", "8"' 32
soon "when the limit is higher all of it is" '^ *4 Unschedulable *$' group
claim a
claim b
soon "machines on their way are counted for it, not against it" "^machines: 2 machines of NodePool $NS are on their way" "$PROGRAM" why pod/g1 -n "$NS"
soon "while they are it is declared" '^ *4 Unschedulable *$' group
pool '"4", "8"' 24
soon "also where they count against a limit" 'machines for 3 of 4 pods may come' said g1
k delete pods -l scheduling.x-k8s.io/pod-group=g --wait=false >/dev/null
K delete nodeclaim "$NS-a" "$NS-b" >/dev/null

apply <<YAML
{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: $NS-big}, spec: {template: {spec: {requirements: []}}}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: $NS-p}, spec: {controllerName: capstan.dev/scale-up}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-small}, spec: {nodeLabels: {karpenter.sh/nodepool: $NS}}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-big}, spec: {nodeLabels: {karpenter.sh/nodepool: $NS-big}}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-p}, spec: {namespaceSelector: {}, admissionChecksStrategy: {
 admissionChecks: [{name: $NS-p}]}, resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [
 {name: $NS-small, resources: [{name: nvidia.com/gpu, nominalQuota: 64}]}, {name: $NS-big, resources: [{name: nvidia.com/gpu, nominalQuota: 64}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: p, namespace: $NS}, spec: {clusterQueue: $NS-p}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: wide, namespace: $NS, labels: {kueue.x-k8s.io/queue-name: p}},
 spec: {parallelism: 2, completions: 2, suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: main, image: train,
 resources: {limits: {nvidia.com/gpu: 16}}}]}}}}
YAML
soon "a flavor whose machines would not hold it is left at once" "$NS-big" k get workloads -o 'jsonpath={.items[*].status.admission.podSetAssignments[0].flavors}'
is "which its Workload says" "True InsufficientCapacity" k get workloads \
    -o 'jsonpath={.items[0].status.conditions[?(@.type=="capstan.dev/PassedOver")].status} {.items[0].status.conditions[?(@.type=="capstan.dev/PassedOver")].reason}'
soon "of the next one all of its pods are declared" '^2$' bash -c "'$KUBECTL' get pods -n '$NS' -l job-name=wide -o 'jsonpath={range .items[*]}{.status.conditions[?(@.type==\"PodScheduled\")].reason}{\"\\n\"}{end}' | grep -c '^Unschedulable$'"
k delete job wide --wait=false >/dev/null
K delete clusterqueue "$NS-p" --wait=false >/dev/null

K create -f - >/dev/null <<JSON
{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "$NS-n", "labels": {"capstan.dev/simulated": "true", "karpenter.sh/nodepool": "$NS"},
 "annotations": {"capstan.dev/shape": "t4"}}, "status": {"capacity": {"cpu": "8", "memory": "8Gi", "pods": "10", "nvidia.com/gpu": "8"},
 "allocatable": {"cpu": "8", "memory": "8Gi", "pods": "10", "nvidia.com/gpu": "8"}, "conditions": [{"type": "Ready", "status": "True",
 "reason": "KubeletReady", "lastHeartbeatTime": "$(date -u +%FT%TZ)", "lastTransitionTime": "$(date -u +%FT%TZ)"}]}}
JSON
apply <<YAML
{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: h, namespace: $NS}, spec: {minMember: 2}}
YAML
kept() { k get pod "$1" -o 'jsonpath={.spec.nodeName} {.metadata.annotations.karpenter\.sh/do-not-disrupt} {.metadata.annotations.capstan\.dev/kept-together}'; }
pod h1 2 ', scheduling.x-k8s.io/pod-group: h'
k run h2 --image=x --labels=scheduling.x-k8s.io/pod-group=h --annotations=karpenter.sh/do-not-disrupt=30m \
    --overrides="{\"spec\": {\"nodeSelector\": {\"karpenter.sh/nodepool\": \"$NS\"}}}" >/dev/null
pod lone 1
soon "Karpenter may not empty the node of a member of a gang" "^$NS-n true true$" kept h1
is "what its owner says of it stays" "$NS-n 30m " kept h2
is "a lone pod may be moved" "$NS-n  " kept lone
k patch podgroup.scheduling.x-k8s.io h --type=merge -p '{"spec": {"minMember": 1}}' >/dev/null
soon "it may, once its members do not need each other" "^$NS-n  $" kept h1
k patch podgroup.scheduling.x-k8s.io h --type=merge -p '{"spec": {"minMember": 2}}' >/dev/null
soon "until they do again" "^$NS-n true true$" kept h1
k delete podgroup.scheduling.x-k8s.io h >/dev/null
soon "when their group is gone it may be" "^$NS-n  $" kept h1
is "and what its owner said of it stays still" "$NS-n 30m " kept h2
k delete pod h1 h2 lone --wait=false >/dev/null
K delete node "$NS-n" >/dev/null

pod last 8
pool '"4"' 24
soon "one more is not declared" '^NoMachineFits ' said last
K delete crd nodepools.karpenter.sh nodeclaims.karpenter.sh >/dev/null
soon "when Karpenter is gone all is as without it" '^Unschedulable ' said last
k delete pod last --wait=false >/dev/null
