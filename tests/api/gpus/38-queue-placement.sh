# A queue's own policy by which nodes are chosen (capstan.dev/placement): live, refused, kept by whoever schedules next, and in what looks ahead.
if ! embedded; then
    skip "placement by queue" "needs an embedded server of its own"
    return
fi
K() { "$KUBECTL" "$@"; }
# WHY so much cpu: pods that others have left on the server are expected to come again; where cpu is short for those, nodes are chosen by it.
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
for i in 1 2 3; do { echo "# YAML"; cat; } <<YAML | K create -f - >/dev/null
{apiVersion: v1, kind: Node, metadata: {name: $NS-$i, labels: {capstan.dev/simulated: "true", only: $NS}, annotations: {capstan.dev/shape: "t4,gpus=4"}},
 status: {capacity: {cpu: 1000, memory: 8Gi, pods: 10, nvidia.com/gpu: 4}, allocatable: {cpu: 1000, memory: 8Gi, pods: 10, nvidia.com/gpu: 4},
 conditions: [{type: Ready, status: "True", reason: KubeletReady, lastHeartbeatTime: "$(date -u +%FT%TZ)",
 lastTransitionTime: "$(date -u +%FT%TZ)"}]}}
YAML
done
queue() { # NAME PLACEMENT: with a LocalQueue of that name
    cat <<YAML
# YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-$1, annotations: {capstan.dev/placement: "$2"}},
 spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: $NS-f,
 resources: [{name: nvidia.com/gpu, nominalQuota: 12}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: $1, namespace: $NS}, spec: {clusterQueue: $NS-$1}}
YAML
}
job() { # NAME QUEUE PODS GPUS
    cat <<YAML
---
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, namespace: $NS, labels: {kueue.x-k8s.io/queue-name: $2}}, spec: {suspend: true,
 activeDeadlineSeconds: 600, parallelism: $3, completions: $3, template: {metadata: {labels: {run: $1}, annotations: {capstan.dev/run-seconds: "600"}},
 spec: {restartPolicy: Never, terminationGracePeriodSeconds: 1, nodeSelector: {only: $NS}, containers: [{name: main, image: train,
 resources: {limits: {nvidia.com/gpu: $4}}}]}}}}
YAML
}
runs() { k get pods -l "run=$1" --field-selector status.phase=Running -o name | grep -c . || true; }
nodes_of() { k get pods -l "run=$1" -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | sort -u | grep -c . || true; }
on_nodes() { # WORDS JOB QUEUE NODES: two pods that fill a node, whoever else is expected, and nobody afterwards
    job "$2" "$3" 2 2 | apply
    soon "two pods of $2 run" '^2$' runs "$2"
    is "$1" "$4" nodes_of "$2"
    k delete job "$2" --wait=true >/dev/null
    soon "and are gone" '^0$' bash -c "'$KUBECTL' -n '$NS' get pods -l run=$2 -o name | grep -c . || true"
}
condition() { K get clusterqueue "$NS-$1" -o 'jsonpath={range .status.conditions[?(@.type=="capstan.dev/Placement")]}{.status} {.reason}: {.message}{end}'; }
events() { K get events -A -o 'jsonpath={range .items[?(@.reason=="PolicyRefused")]}{.involvedObject.kind} {.involvedObject.name} {.message}{"\n"}{end}'; }
annotate() { K annotate --overwrite "$1" "$2" "capstan.dev/placement=$3" 2>&1; }

apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-f}}
---
$(queue packs "" | tail -n +2)
---
$(queue spreads spread | tail -n +2)
YAML
soon "a queue says by which policy nodes are chosen for it" '^True Taken: Nodes are chosen by spread$' condition spreads
is "and one without a policy of its own nothing" '' condition packs
on_nodes "a queue goes by the policy of all: one node" packed packs 1
on_nodes "at the same time another one by its own: a node each" spread spreads 2
says "the list has it" '^spread -$' bash -c "'$PROGRAM' queues -o json | python3 -c '
import json, sys
rows = {row[\"queue\"]: row.get(\"placement\") for row in json.load(sys.stdin)}
print(rows[\"$NS-spreads\"] or \"-\", rows[\"$NS-packs\"] or \"-\")'"

what_if() { { echo "# YAML"; cat; } | "$PROGRAM" sim what-if --change - -n "$NS"; }
small_and_large() { job a-small spreads 3 1; job b-large spreads 1 4; }
says "looked ahead, three small ones of it leave no node for a large one" "b-large +- +in 10m +new\$" what_if < <(small_and_large)
says "which a change of its policy would" "b-large +- +at once +new\$" what_if < <(queue spreads binpack | sed 1d; small_and_large)

job wide spreads 1 4 | apply
job wider spreads 3 4 | apply
soon "one runs" '^1$' runs wide
soon "why says by which policy nodes are chosen for what waits" "nodes: chosen by spread, the queue's own policy" "$PROGRAM" why job/wider -n "$NS"
k delete job wide wider --wait=true >/dev/null
soon "its pod has gone, too" '^0$' bash -c "'$KUBECTL' -n '$NS' get pods -l run=wide -o name | grep -c . || true"

says "a name that is none is told at once" 'Warning: metadata.annotations\[capstan.dev/placement\]: has no effect: write binpack, spread, .* or capstan' \
    annotate clusterqueue "$NS-spreads" best
soon "its queue says so, and what holds instead" \
    '^False InvalidValue: metadata.annotations\[capstan.dev/placement\]: "best": write binpack, spread, .* or capstan, .*; the policy stays spread$' \
    condition spreads
soon "and so does an Event" "^ClusterQueue $NS-spreads .*\"best\": write binpack.*; the policy stays spread" events
on_nodes "the last good one stays" kept spreads 2
says "a LocalQueue is told where it belongs" 'Warning: .*capstan.dev/placement\]: has no effect yet: it is read of the ClusterQueue' \
    "$KUBECTL" -n "$NS" annotate localqueue packs capstan.dev/placement=fgd
almost() { queue packs fgd | sed 's#dev/placement#dev/placment#' | "$PROGRAM" lint - || true; }
says "lint knows a word that is almost right" 'capstan.dev/placment\]: nothing reads it; write capstan.dev/placement' almost

# Another scheduler takes over: it has not seen the good one.
{ echo "# YAML"; cat; } <<YAML | K create -f - >/dev/null
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: capstan-scheduler, namespace: kube-system}, spec: {holderIdentity: other,
 leaseDurationSeconds: 3, acquireTime: "$(date -u +%FT%T.000000Z)", renewTime: "$(date -u +%FT%T.000000Z)"}}
YAML
"$PROGRAM" scheduler --no-volcano >"$HOME/second.log" 2>&1 &
second=$!
soon "another scheduler leads" 'scheduler' bash -c "'$KUBECTL' -n kube-system get lease capstan-scheduler -o 'jsonpath={.spec.holderIdentity}' | grep -v '^other$' | sed 's/.*/scheduler/'"
on_nodes "and knows the last good one of the queue" taken spreads 2
kill "$second"
wait "$second" 2>/dev/null
K -n kube-system delete lease capstan-scheduler --ignore-not-found >/dev/null

says "mended, it is another one at once" annotated annotate clusterqueue "$NS-spreads" fgd
soon "which the queue says" '^True Taken: Nodes are chosen by fgd$' condition spreads
on_nodes "and is" mended spreads 1
says "what agents measure counts where the policy says so" annotated annotate clusterqueue "$NS-spreads" binpack+load
soon "which the queue says" '^True Taken: Nodes are chosen by binpack.load$' condition spreads
first() { # JOB: where its pod runs, by the number of the node
    job "$1" spreads 1 1 | apply
    soon "a pod of $1 runs" '^1$' runs "$1"
    k get pods -l "run=$1" -o 'jsonpath={.items[0].spec.nodeName}' >where
    k delete job "$1" --wait=true >/dev/null
    soon "and is gone" '^0$' bash -c "'$KUBECTL' -n '$NS' get pods -l run=$1 -o name | grep -c . || true"
}
gpus_of() { K get node "$1" -o 'jsonpath={.metadata.annotations.capstan\.dev/devices}' | grep -oE 'GPU-[0-9a-f-]+' | sort -u; }
measured() { # NODE MARGIN SECONDS_AGO
    local units="" gpu
    for gpu in $(gpus_of "$1"); do units="$units${units:+,}{\"id\":\"$gpu\",\"activity\":0.1,\"memory\":[10,15360],\"margin\":$2,\"throttled\":false,\"xid\":0,\"xidAt\":0}"; done
    K annotate --overwrite node "$1" "capstan.dev/gpu-feedback={\"at\":$(($(date +%s) - $3)),\"period\":15,\"units\":[$units]}" >/dev/null
}
soon "the nodes say which GPUs they have" '^4$' bash -c "'$KUBECTL' get node '$NS-1' -o 'jsonpath={.metadata.annotations.capstan\.dev/devices}' | grep -oE 'GPU-[0-9a-f-]+' | sort -u | grep -c ."
for i in 1 2 3; do measured "$NS-$i" 59 0; done
first calm
is "all are calm: the first node" "$NS-1" cat where
measured "$NS-1" 3 0
first cooler
is "one that is hot is left" "$NS-2" cat where
measured "$NS-1" 3 300
first older
is "what was measured five minutes ago is not known" "$NS-1" cat where
K annotate clusterqueue "$NS-spreads" capstan.dev/placement- >/dev/null
soon "without the annotation it has nothing to say" '^$' condition spreads
"$KUBECTL" delete clusterqueue "$NS-packs" "$NS-spreads" --wait=false >/dev/null

# Volcano's queues, which have no conditions.
apply <<YAML
{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: $NS-v, annotations: {capstan.dev/placement: spread}}, spec: {weight: 1}}
YAML
group() { # NAME
    cat <<YAML
{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: $1}, spec: {schedulerName: volcano, queue: $NS-v, minAvailable: 3, tasks: [{name: t,
 replicas: 3, template: {metadata: {labels: {run: $1}, annotations: {capstan.dev/run-seconds: "600"}}, spec: {restartPolicy: Never,
 terminationGracePeriodSeconds: 1, nodeSelector: {only: $NS}, containers: [{name: main, image: train, resources: {limits: {nvidia.com/gpu: 1}}}]}}}]}}
YAML
}
group one | apply
soon "a group of Volcano's runs" '^3$' runs one
is "on a node each, as its queue says" 3 nodes_of one
says "why says so" "nodes: chosen by spread, the queue's own policy" "$PROGRAM" why vcjob/one -n "$NS"
k delete jobs.batch.volcano.sh one --wait=true >/dev/null
soon "it is gone" '^0$' runs one
says "a name that is none is told" 'Warning: .*capstan.dev/placement\]: has no effect' annotate "queues.scheduling.volcano.sh" "$NS-v" best
soon "by an Event, too" "^Queue $NS-v .*the policy stays spread" events
group two | apply
soon "the next group runs" '^3$' runs two
is "where the last good one says" 3 nodes_of two
k delete jobs.batch.volcano.sh two --wait=true >/dev/null
K delete queues.scheduling.volcano.sh "$NS-v" --wait=false >/dev/null
K delete nodes -l "only=$NS" --wait=false >/dev/null
