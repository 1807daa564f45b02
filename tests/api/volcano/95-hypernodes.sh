# HyperNodes: the status that they get, groups that stand in one of them, and what is said where they do not.
if ! embedded; then
    skip "HyperNodes" "needs the embedded cluster"
    return
fi
# A server of its own: four nodes of one GPU each, and everybody of it in HyperNodes.
"$PROGRAM" up --data-dir "$PWD/own" --listen 127.0.0.1:0 --nodes 4:t4,gpus=1 >own.log 2>&1 &
own=$!
appears own/kubeconfig
v() { "$KUBECTL" --kubeconfig own/kubeconfig "$@"; }
why() { "$PROGRAM" why "$1" --kubeconfig own/kubeconfig -n default; }
HN=hypernodes.topology.volcano.sh GROUPS_=podgroups.scheduling.volcano.sh
nodes() { v get pods -l "volcano.sh/job-name=$1" -o 'jsonpath={range .items[*]}{.spec.nodeName} {end}' | tr ' ' '\n' | sort | tr '\n' ' '; }
v label node t4-2 t4-3 rack=r2 >/dev/null
# hypernode NAME TIER TIERNAME MEMBERS...
hypernode() {
    local name=$1 tier=$2 title=$3
    shift 3
    { printf 'apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata: {name: %s}\nspec:\n  tier: %s\n' "$name" "$tier"
      [ -z "$title" ] || printf '  tierName: %s\n' "$title"
      printf '  members:\n'
      printf '  - %s\n' "$@"; } | v apply -f - 2>&1
}
# job NAME PODS TOPOLOGY [MORE_OF_SPEC [MORE_OF_TASK]]: each pod has a node
job() {
    v apply -f - <<YAML
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: $1}
spec:
  networkTopology: $3
  ${4:-}
  tasks:
  - name: w
    replicas: $2
    ${5:-}
    template:
      metadata: {annotations: {capstan.dev/run-seconds: "600"}}
      spec: {restartPolicy: Never, containers: [{name: c, image: busybox:1, resources: {limits: {nvidia.com/gpu: 1}}}]}
YAML
}

says "HyperNodes: by name, by pattern, by labels, and of others" 'rack-2 created.*pod-1 created' echo "$(
    hypernode rack-1 1 rack '{type: Node, selector: {exactMatch: {name: t4-0}}}' '{type: Node, selector: {exactMatch: {name: t4-1}}}')$(
    hypernode rack-2 1 rack '{type: Node, selector: {labelMatch: {matchLabels: {rack: r2}}}}')$(
    hypernode pod-1 2 pod '{type: HyperNode, selector: {exactMatch: {name: rack-1}}}' '{type: HyperNode, selector: {exactMatch: {name: rack-2}}}')$(
    hypernode all-3 3 '' '{type: Node, selector: {regexMatch: {pattern: "^t4-[0-9]+$"}}}')"
soon "how many nodes they have, as Volcano counts them" '^4 2 2 2 $' v get $HN all-3 pod-1 rack-1 rack-2 -o 'jsonpath={range .items[*]}{.status.nodeCount} {end}'
is "nothing is wrong with them" "" v get $HN -o 'jsonpath={.items[*].status.conditions}'
says "columns" 'rack-1 +1 +rack +2' v get $HN

says "a job that has to stand in one rack" 'near created' job near 2 '{mode: hard, highestTierAllowed: 1}'
is "its group asks for the same" "hard 1" v get $GROUPS_ -l volcano.sh/job-name=near -o 'jsonpath={.items[0].spec.networkTopology.mode} {.items[0].spec.networkTopology.highestTierAllowed}'
soon "it does" '^t4-0 t4-1 $' nodes near
says "one that fits in no rack" 'wide created' job wide 3 '{mode: hard, highestTierName: rack}'
soon "waits, though other nodes are free, and says why" 'only 2 of 3 pods' why vcjob/wide
v delete vcjob near >/dev/null
soon "nor when all are" 'no HyperNode up to tier rack holds 3 pod.s. together: "rack-1" has room for 2' why vcjob/wide
v delete vcjob wide >/dev/null
says "one tier higher" 'higher created' job higher 3 '{mode: hard, highestTierName: pod}'
soon "it finds its place" '^t4-[0-3] t4-[0-3] t4-[0-3] $' nodes higher
v delete vcjob higher >/dev/null
says "a tier that nobody has" 'nowhere created' job nowhere 1 '{highestTierName: building}'
soon "is said so" 'no node is in a HyperNode up to tier building' why vcjob/nowhere
hypernode hall 4 building '{type: HyperNode, selector: {exactMatch: {name: pod-1}}}' >/dev/null
soon "until somebody has it" '^t4-[0-3] $' nodes nowhere
v delete vcjob nowhere >/dev/null
says "one that would like to stand close" 'soft created' job soft 3 '{mode: soft}'
soon "stands where it can" '^t4-[0-3] t4-[0-3] t4-[0-3] $' nodes soft
v delete vcjob soft >/dev/null

# --- partitions, each in a HyperNode of its own
# parted NAME PODS MIN PARTITIONS LEAST: of two pods each
parted() {
    job "$1" "$2" null "minAvailable: $3" \
        "partitionPolicy: {totalPartitions: $4, partitionSize: 2, minPartitions: $5, networkTopology: {mode: hard, highestTierAllowed: 1}}" 2>&1
}
part() { v get pods -l "volcano.sh/job-name=$1,volcano.sh/partition-id=$2" -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | sort | xargs; }
both() { echo "$(part parted 0), $(part parted 1)"; }
bound() { nodes "$1" | xargs; }
is "a job in partitions is taken without a warning" "job.batch.volcano.sh/parted created" parted parted 4 4 2 0
soon "each stands in one rack" '^(t4-0 t4-1, t4-2 t4-3|t4-2 t4-3, t4-0 t4-1)$' both
is "as its group asks" "2 1" v get $GROUPS_ -l volcano.sh/job-name=parted -o 'jsonpath={.items[0].spec.subGroupPolicy[0].subGroupSize} {.items[0].spec.subGroupPolicy[0].networkTopology.highestTierAllowed}'
v delete vcjob parted >/dev/null
job single 1 '{mode: soft}' >/dev/null
soon "one GPU is taken" '^ ?t4-[0-3] $' nodes single
parted some 6 2 3 1 >/dev/null
soon "of three partitions one starts, where it fits whole" '^(t4-0 t4-1|t4-2 t4-3)$' bound some
v delete vcjob some >/dev/null
parted all 6 2 3 2 >/dev/null
soon "none, where two have to" 'no HyperNode up to tier 1 holds 2 pod.s. together|only 1 of 2 pods' why vcjob/all
is "and nobody of it runs" "" bound all
v delete vcjob all single >/dev/null

# --- what is wrong with them
problem() { v get $HN "$1" -o 'jsonpath={.status.conditions[0].status} {.status.conditions[0].reason}: {.status.conditions[0].message}'; }
hypernode rack-3 1 rack '{type: Node, selector: {exactMatch: {name: t4-3}}}' '{type: Node, selector: {exactMatch: {name: t4-9}}}' >/dev/null
soon "a node that is not there" '^False NoSuchMember: there is no node "t4-9"$' problem rack-3
hypernode rack-3 1 rack '{type: Node, selector: {exactMatch: {name: t4-3}}}' >/dev/null
soon "a node of two HyperNodes of a tier" '^False Overlap: of its nodes "t4-3" .rack-2. count for another HyperNode of its tier already$' problem rack-3
hypernode rack-3 1 rack '{type: HyperNode, selector: {exactMatch: {name: pod-1}}}' >/dev/null
soon "a circle" '^False TierOrder: its member HyperNode "pod-1" is of tier 2, which is not below its own: it does not count$' problem rack-3
hypernode rack-3 1 rack '{type: Node, selector: {labelMatch: {matchLabels: {rack: r3}}}}' >/dev/null
soon "all is well again" '^True Valid: its members are as they should be$' problem rack-3
refuses "no selector" 'Either ExactMatch or RegexMatch or LabelMatch must be specified' hypernode bad 1 '' '{type: Node, selector: {}}'
refuses "a pattern that is none" 'regexMatch pattern is invalid' hypernode bad 1 '' '{type: Node, selector: {regexMatch: {pattern: "a(b"}}}'
refuses "a tier by number and by name" 'must not specify .highestTierAllowed. and .highestTierName. in networkTopology simultaneously' job both 1 '{highestTierAllowed: 1, highestTierName: rack}'

# --- of labels
v delete $HN --all >/dev/null
v create namespace volcano-system >/dev/null
says "what makes HyperNodes is Volcano's configuration" created v -n volcano-system create configmap volcano-controller-configmap --from-literal=volcano-controller.conf='
networkTopologyDiscovery:
- {source: label, enabled: true, config: {networkTopologyTypes: {fabric: [{nodeLabel: spine}, {nodeLabel: leaf}, {nodeLabel: kubernetes.io/hostname}]}}}
- {source: ufm, enabled: true}'
v label node t4-0 t4-1 leaf=l1 spine=s1 >/dev/null
v label node t4-2 leaf=l2 spine=s1 >/dev/null
found() { v get $HN -l volcano.sh/network-topology-source=label -o 'jsonpath={range .items[*]}{.spec.tier} {.spec.tierName} {.status.nodeCount} {.metadata.labels.leaf}{.metadata.labels.spine}{"\n"}{end}' | sort | tr '\n' ','; }
soon "one for each label" '^1 leaf 1 l2,1 leaf 2 l1,2 spine 2 s1,$' found
soon "other sources are said to have no effect" 'source ufm has no effect here' v -n volcano-system get events --field-selector reason=HyperNodesIgnored -o 'jsonpath={.items[*].message}'
says "a job in one of them" 'leafy created' job leafy 2 '{mode: hard, highestTierName: leaf}'
soon "stands there" '^t4-0 t4-1 $' nodes leafy
v delete vcjob leafy >/dev/null
v label node t4-0 t4-1 t4-2 leaf- spine- >/dev/null
soon "none without labels" '^$' found
kill $own
wait $own 2>/dev/null
