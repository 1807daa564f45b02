# Jobs that are moved so that another one starts (capstan.dev/move-cost-seconds): told, allowed, and done; each has its place again.
if ! embedded; then
    skip "moves" "needs an embedded server of its own"
    return
fi
K() { "$KUBECTL" "$@"; }
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
for i in 1 2; do { echo "# YAML"; cat; } <<YAML | K create -f - >/dev/null
{apiVersion: v1, kind: Node, metadata: {name: $NS-$i, labels: {capstan.dev/simulated: "true", only: $NS}, annotations: {capstan.dev/shape: "t4,gpus=4"}},
 status: {capacity: {cpu: 8, memory: 8Gi, pods: 10, nvidia.com/gpu: 4}, allocatable: {cpu: 8, memory: 8Gi, pods: 10, nvidia.com/gpu: 4},
 conditions: [{type: Ready, status: "True", reason: KubeletReady, lastHeartbeatTime: "$(date -u +%FT%TZ)",
 lastTransitionTime: "$(date -u +%FT%TZ)"}]}}
YAML
done
# The jobs of `spreads` stand on both nodes; the others wait for a whole one.
for q in spreads whole; do apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-f}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-$q, annotations: {capstan.dev/placement: spread}},
 spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: $NS-f,
 resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: $q}, spec: {clusterQueue: $NS-$q}}
YAML
done
job() { # NAME QUEUE GPUS [ANNOTATIONS]
    apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, annotations: {${4:-}}, labels: {kueue.x-k8s.io/queue-name: $2}}, spec: {suspend: true,
 template: {metadata: {labels: {run: $1}, annotations: {capstan.dev/run-seconds: "600"}}, spec: {restartPolicy: Never, nodeSelector: {only: $NS},
 terminationGracePeriodSeconds: 1, containers: [{name: main, image: train, resources: {limits: {nvidia.com/gpu: $3}}}]}}}}
YAML
}
running() { k get pods --field-selector status.phase=Running -l "run in ($1)" -o name | grep -c . || true; }
node_of() { k get pods -l "run=$1" --field-selector status.phase=Running -o 'jsonpath={.items[0].spec.nodeName}'; }
workload_of() { k get workloads -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.ownerReferences[0].name}{"\n"}{end}' | awk -v o="$1" '$2 == o {print $1}'; }
events_of() { k get events --field-selector "involvedObject.name=$(workload_of "$1"),reason=$2" -o 'jsonpath={.items[*].message}'; }
why() { "$PROGRAM" why "job/$1" -n "$NS" "${@:2}"; }
moves() { # of the job that waits: who would be moved, where to, and whether that is allowed
    why "$1" -o json | python3 -c '
import json, sys
for remedy in json.load(sys.stdin).get("remedies") or []:
    if all(c["change"] == "move" for c in remedy["all"]):
        for c in remedy["all"]: print(c["name"].rsplit("-", 1)[0], c["to"][0]["pods"], c["allowed"], c["policy"], c["lostGpuSeconds"])'
}
preempted() { k get workload "$(workload_of "$1")" -o 'jsonpath={range .status.conditions[?(@.type=="Preempted")]}{.reason}{end}'; }
on() { for j in a b c d; do echo "$(node_of $j) $j"; done; }

for j in a b c d; do job $j spreads 1; done
soon "four jobs run" '^4$' running a,b,c,d
is "two on each node" 2 bash -c "'$KUBECTL' -n '$NS' get pods -l 'run in (a,b,c,d)' -o 'jsonpath={range .items[*]}{.spec.nodeName}{\"\\n\"}{end}' | sort | uniq -c | awk '{print \$1}' | sort -u"
job big whole 4
soon "four GPUs are free, and no node has them: two jobs elsewhere would help" '^job-. 1 False QueueDoesNotAllow [0-9]+$' moves big
is "two of the four" 2 bash -c "$(declare -f moves why); PROGRAM='$PROGRAM' NS='$NS' moves big | wc -l"
soon "in words, too" "Job $NS/[a-d] moved to node $NS-[12] \(.* GPU-minutes? of its work lost; ClusterQueue $NS-spreads has no capstan.dev/move-cost-seconds, which would allow it\)" why big
is "nobody is moved" 4 running a,b,c,d
says "a bound that is none is told" 'Warning: metadata.annotations\[capstan.dev/move-cost-seconds\]: has no effect: write GPU-seconds, from 0 to 604800' \
    "$KUBECTL" annotate clusterqueue "$NS-spreads" capstan.dev/move-cost-seconds=cheap
says "a LocalQueue is told where it belongs" 'Warning: .*move-cost-seconds\]: has no effect yet: it is read of the ClusterQueue' \
    "$KUBECTL" -n "$NS" annotate localqueue spreads capstan.dev/move-cost-seconds=60
on | sort >before
ok "its queue lets them go" K annotate --overwrite clusterqueue "$NS-spreads" capstan.dev/move-cost-seconds=600
soon "the large one starts" '^1$' running big
soon "and those who were moved run again" '^4$' running a,b,c,d
on | sort >after
is "on the other node, with the two that stayed" 1 bash -c "cut -d' ' -f1 after | sort -u | wc -l"
is "two were moved" 2 bash -c "comm -13 before after | wc -l"
moved=$(comm -13 before after | awk '{print $2; exit}')
stayed=$(comm -12 before after | awk '{print $2; exit}')
soon "its Workload was told for whom and why" 'Preempted to accommodate a workload .* due to defragmentation, with a place kept for it on other nodes' events_of "$moved" Preempted
is "who stayed was not told anything" '' preempted "$stayed"
soon "nor does the other side lack an Event" 'preempted for it \(Moved\)' events_of big PreemptedWorkload

# Who says that it must not be moved.
k delete jobs --all --wait=true >/dev/null
soon "all are gone" '^0$' running a,b,c,d,big
for j in a b c d; do job $j spreads 1 'capstan.dev/movable: "false"'; done
soon "four jobs run that stay where they are" '^4$' running a,b,c,d
job big whole 4
soon "which is told" '^job-. 1 False NotMovable [0-9]+$' moves big
sleep 3
is "and holds" 4 running a,b,c,d
k delete jobs --all --wait=false >/dev/null
K delete clusterqueue "$NS-spreads" "$NS-whole" --wait=false >/dev/null
K delete nodes -l "only=$NS" --wait=false >/dev/null
