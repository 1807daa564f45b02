# When those that wait start: from limits of time, from earlier runs of jobs of that name, one after another.
if ! embedded; then
    skip "when those that wait start" "needs an embedded server of its own"
    return
fi
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
job() { # NAME SECONDS [LIMIT]
    apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: q}},
 spec: {suspend: true, ${3:+activeDeadlineSeconds: $3,} template: {metadata: {annotations: {capstan.dev/run-seconds: "$2"}},
 spec: {restartPolicy: Never, containers: [{name: main, image: train, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}
YAML
}
# Seconds until the start that is told; 0 where none is.
starts_in() {
    "$PROGRAM" why "job/$1" -n "$NS" -o json | python3 -c '
import datetime, json, sys
about = json.load(sys.stdin).get("start", {}).get("about")
now = datetime.datetime.now(datetime.timezone.utc)
print(int((datetime.datetime.fromisoformat(about.replace("Z", "+00:00")) - now).total_seconds()) if about else 0)'
}
from() { "$PROGRAM" why "job/$1" -n "$NS" -o json | python3 -c 'import json, sys; print(*json.load(sys.stdin).get("start", {}).get("from", []))'; }
# WHAT NAME FROM TO: seconds. WHY so long, and FROM so low: starts are thought through in a copy of low priority, which waits for all others.
within() {
    local what=$1 name=$2 from=$3 to=$4 until=$((SECONDS + 120)) at=0
    while [ "$SECONDS" -lt "$until" ]; do
        at=$(starts_in "$name" 2>/dev/null || echo 0)
        if [ "$at" -ge "$from" ] && [ "$at" -le "$to" ]; then pass "$what"; return; fi
        sleep 0.5
    done
    miss "$what" "starts in $at s, wanted $from to $to"
}
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-f}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-q}, spec: {namespaceSelector: {},
 resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: $NS-f, resources: [{name: nvidia.com/gpu, nominalQuota: 1}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q}, spec: {clusterQueue: $NS-q}}
YAML
job nightly-1 3
soon "a job runs to its end" '^True$' k get job nightly-1 -o 'jsonpath={.status.conditions[?(@.type=="Complete")].status}'

job first 900 900
soon "another runs, with a limit of time" '^1$' k get job first -o 'jsonpath={.status.active}'
is "its Workload knows that limit" '900' k get workloads -o \
    'jsonpath={range .items[?(@.metadata.ownerReferences[0].name=="first")]}{.metadata.annotations.capstan\.dev/active-deadline-seconds}{end}'
job second 900 600
within "who waits for it starts when its time is over" second 660 905
is "as limits tell" 'limits' from second
says "in words, too" '^starts: about 20..-..-..T..:..:..Z \(in 1?[0-9]m; as far as limits of time tell\)$' "$PROGRAM" why job/second -n "$NS"
job nightly-2 3
within "and the next when that one's time is over as well" nightly-2 1230 1505
job third 5
within "behind one of a name that ran before: not later than that took" third 1180 1520
is "as limits and earlier runs tell" 'limits runs' from third
says "the list has it" '^"?third.*20..-..-..T' bash -c "'$PROGRAM' jobs -n '$NS' -o csv | tail -n +2 | cut -d, -f3- | grep ^third"
