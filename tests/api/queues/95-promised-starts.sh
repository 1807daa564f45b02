# Starts that are promised to those who wait (capstan.dev/backfill): who passes, who is told that he would, and that it starts on time.
if ! embedded; then
    skip "starts that are promised" "needs an embedded server of its own"
    return
fi
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
queue() { # NAME BACKFILL STRATEGY
    cat <<YAML
# YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-$1, annotations: {capstan.dev/backfill: "$2"}},
 spec: {namespaceSelector: {}, queueingStrategy: $3,
 resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: $NS-f, resources: [{name: nvidia.com/gpu, nominalQuota: 4}]}]}]}}
YAML
}
job() { # NAME PODS GPUS SECONDS [LIMIT]
    apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: q}},
 spec: {suspend: true, parallelism: $2, completions: $2, ${5:+activeDeadlineSeconds: $5,}
 template: {metadata: {annotations: {capstan.dev/run-seconds: "$4"}},
 spec: {restartPolicy: Never, containers: [{name: main, image: train, resources: {limits: {nvidia.com/gpu: $3}}}]}}}}
YAML
}
why() { "$PROGRAM" why "job/$1" -n "$NS" "${@:2}"; }
workload_of() { # JOB TEMPLATE: of its Workload
    k get workloads -o "jsonpath={range .items[?(@.metadata.ownerReferences[0].name==\"$1\")]}$2{end}"
}
promised_of() { workload_of "$1" '{.status.conditions[?(@.type=="capstan.dev/Promised")].message}'; }
admitted_of() { workload_of "$1" '{.status.conditions[?(@.type=="Admitted")].lastTransitionTime}'; }
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-f}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q}, spec: {clusterQueue: $NS-q}}
YAML
says "a word that is none is told" 'Warning: metadata.annotations\[capstan.dev/backfill\]: has no effect: write easy, conservative or none' \
    "$KUBECTL" apply -f - <<<"$(queue q eager BestEffortFIFO)"
soon "and its queue says so" 'InvalidValue: metadata.annotations\[capstan.dev/backfill\]: "eager" is none of easy, conservative and none' "$KUBECTL" get \
    clusterqueue "$NS-q" -o 'jsonpath={.status.conditions[?(@.type=="capstan.dev/Backfill")].reason}: {.status.conditions[?(@.type=="capstan.dev/Backfill")].message}'
says "so is a StrictFIFO queue, where nobody passes" 'Warning: .*capstan.dev/backfill\]: has no effect: in a StrictFIFO queue nobody passes who waits' \
    "$KUBECTL" apply -f - <<<"$(queue s easy StrictFIFO)"
ok "a queue promises starts" "$KUBECTL" annotate --overwrite clusterqueue "$NS-q" capstan.dev/backfill=easy
soon "and has nothing to say of that" '^Active$' "$KUBECTL" get clusterqueue "$NS-q" -o 'jsonpath={.status.conditions[*].type}'

job first 1 2 25 35
soon "a job runs, with a limit of time" '^1$' k get job first -o 'jsonpath={.status.active}'
job big 2 2 5
soon "a large one is promised a start, on nodes" 'is promised a start about 20..-..-..T..:..:..Z on nodes? .*, by limits of time' why big
soon "which its Workload says" '^\{"start":"20.*","from":\["limits"\],"nodes":\{"main":\{.*\}\},"quota":\{".*-f":\{"nvidia.com/gpu":"4"\}\}\}$' promised_of big
is "its reason is still Kueue's" 'WaitingForQuota' workload_of big '{.status.conditions[?(@.type=="QuotaReserved")].reason}'
says "the list has it" '^"?big"?,20..-..-..T' bash -c "'$PROGRAM' jobs -n '$NS' -o csv | python3 -c '
import csv, sys
for row in csv.DictReader(sys.stdin): print(row[\"name\"] + \",\" + row[\"promised\"])'"
start=$(why big -o json | python3 -c 'import json, sys; print(json.load(sys.stdin)["promised"])')
job long 1 1 2
soon "a small one that may run for long does not pass" "would pass $NS/job-big-.*, which is promised a start about $start, and nothing is known of how long it runs: set a limit" \
    why long
is "and says why" 'WaitingForPromisedStart' workload_of long '{.status.conditions[?(@.type=="QuotaReserved")].reason}'
limit=$(why long -o json | python3 -c 'import json, sys; print(json.load(sys.stdin)["remedies"][0]["all"][0]["seconds"])')
ok "what would help is a limit of time" test "$limit" -gt 5 -a "$limit" -lt 35
job short 1 1 2 5
soon "one with a short limit passes" '^True$' k get job short -o 'jsonpath={.status.conditions[?(@.type=="Complete")].status}'
is "the long one waits" '' k get job long -o 'jsonpath={.status.active}'
limit=$(why long -o json | python3 -c 'import json, sys; print(json.load(sys.stdin)["remedies"][0]["all"][0]["seconds"])')
k delete job long --wait >/dev/null
job long 1 1 2 "$limit"
soon "with the limit that it was told it starts" '^True$' k get job long -o 'jsonpath={.status.conditions[?(@.type=="Complete")].status}'
soon "the large one starts, and ends" '^True$' k get job big -o 'jsonpath={.status.conditions[?(@.type=="Complete")].status}'
ok "not later than it was promised" test "$(date -d "$(admitted_of big)" +%s)" -le "$(($(date -d "$start" +%s) + 2))"
is "and is promised nothing any more" '' promised_of big
"$KUBECTL" delete clusterqueue "$NS-q" "$NS-s" --wait=false >/dev/null
