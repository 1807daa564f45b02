# minResources of coscheduling's PodGroups: a group starts only while all nodes together have so much free. On the embedded server's nodes: 6
# with 8 GPUs each.
if ! embedded; then
    skip "minResources of coscheduling" "needs the simulated nodes of the embedded cluster"
    return
fi
apply() { { echo "# YAML"; cat; } | k apply -f - 2>&1; }
why() { "$PROGRAM" why "$1" -n "$NS" "${@:2}"; }
bound() { k get pods -l "scheduling.x-k8s.io/pod-group=$1" -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | awk 'NF {n++} END {print n + 0}'; }
said() { k get pod "$1" -o 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].reason}: {.status.conditions[?(@.type=="PodScheduled")].message}'; }
# pg NAME MINRESOURCES: and its two pods of a GPU each
pg() {
    apply <<YAML
{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: $1}, spec: {minMember: 2, minResources: {$2}}}
YAML
    for i in 0 1; do
        pod "$1-$i" 1 "$1"
    done
}
# pod NAME GPUS [GROUP]
pod() {
    apply >/dev/null <<YAML
{apiVersion: v1, kind: Pod, metadata: {name: $1, labels: {app: t${3:+, scheduling.x-k8s.io/pod-group: $3}}, annotations: {capstan.dev/run-seconds: "600"}},
 spec: {restartPolicy: Never, containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: $2}}}]}}
YAML
}

pod large 8
soon "a pod has a node for itself" '.' k get pod large -o 'jsonpath={.spec.nodeName}'
is "a group that wants more GPUs free than there are is taken without a warning" "podgroup.scheduling.x-k8s.io/much created" pg much "nvidia.com/gpu: 41"
soon "it waits, and its pods say what is short" '^Unschedulable: minResources asks that all nodes together have 41 nvidia.com/gpu free, and with what its own pods have they have 40: it waits until they do; write there no more than minMember of its pods ask for' said much-0
soon "why says the same, and what would help" '1 less nvidia.com/gpu in minResources of PodGroup .*/much' why podgroup/much
soon "as JSON by its code" '"code": *"free-short"' why podgroup/much -o json
is "none of it has started" 0 bound much
says "one that asks for what its pods do" created pg sum "nvidia.com/gpu: 2"
soon "starts beside it" '^2$' bound sum
k delete pod sum-0 sum-1 --now >/dev/null
k delete pod large --now >/dev/null
soon "what comes free lets the first one start" '^2$' bound much
says "what is not counted is told" 'spec.minResources\[nvidia.com/gpumem\]: has no effect' pg part "nvidia.com/gpumem: 1000"
soon "and keeps nobody waiting" '^2$' bound part
k delete pods -l app=t --now >/dev/null
