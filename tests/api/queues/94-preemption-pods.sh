# Pods of no queue: who of lower priority leaves for whom, and how both sides hear of it.
if ! embedded; then
    skip "preemption of pods" "needs the simulated nodes of the embedded cluster"
    return
fi
K() { "$KUBECTL" "$@"; }
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
for class in low:10 mid:100 high:1000; do
    apply <<YAML
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: $NS-${class%:*}}, value: ${class#*:}}
YAML
done
apply <<YAML
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: $NS-never}, value: 1000, preemptionPolicy: Never}
YAML
# A node of our own, so that nobody else is in the way: one with a resource that no other has. It is simulated, and its kubelet lives.
node=$(k get nodes -o 'jsonpath={.items[0].metadata.name}')
nodes=$(k get nodes -o name | wc -l)
K patch node "$node" --subresource=status -p '{"status":{"capacity":{"test.dev/seat":"2"},"allocatable":{"test.dev/seat":"2"}}}' >/dev/null
soon "a node with two seats" '^2$' k get node "$node" -o 'jsonpath={.status.allocatable.test\.dev/seat}'
# pod NAME CLASS SEATS GRACE [APP]
pod() {
    apply <<YAML
{apiVersion: v1, kind: Pod, metadata: {name: $1, labels: {app: ${5:-$1}}, annotations: {capstan.dev/run-seconds: "600"}},
 spec: {priorityClassName: $NS-$2, terminationGracePeriodSeconds: $4, restartPolicy: Never,
  containers: [{name: main, image: busybox, resources: {limits: {test.dev/seat: $3}}}]}}
YAML
}
phase() { k get pod "$1" -o 'jsonpath={.status.phase}'; }
nominated() { k get pod "$1" -o 'jsonpath={.status.nominatedNodeName}'; }
condition() { k get pod "$1" -o "jsonpath={range .status.conditions[?(@.type==\"$2\")]}{.status} {.reason} {.message}{end}"; }
uid_of() { k get pod "$1" -o 'jsonpath={.metadata.uid}'; }

# --- who fits on no node: others of lower priority leave, and one is enough
pod keeps mid 1 0
pod goes low 1 0
for p in keeps goes; do soon "$p runs" Running phase $p; done
# A finalizer keeps it there, so that it can be looked at.
K -n "$NS" patch pod goes -p '{"metadata":{"finalizers":["test.dev/hold"]}}' >/dev/null
pod late low 1 0
soon "who comes first and is of the same priority waits" '^False Unschedulable ' condition late PodScheduled
pod urgent high 1 0
soon "the preemptor starts once the victim has ended" Running phase urgent
soon "it was nominated" "^$node\$" nominated urgent
soon "the victim's condition" '^True PreemptionByScheduler default-scheduler: preempting to accommodate a higher priority pod$' condition goes DisruptionTarget
soon "the victim is deleted" '^20' k get pod goes -o 'jsonpath={.metadata.deletionTimestamp}'
soon "the victim's Event" "Preempted +pod/goes +Preempted by pod $(uid_of urgent) on node $node" k get events
is "one of lower priority was enough" Running phase keeps
is "and it was not asked" '' k get pod keeps -o 'jsonpath={.metadata.deletionTimestamp}'
K -n "$NS" patch pod goes --type=merge -p '{"metadata":{"finalizers":null}}' >/dev/null
is "who is of lower priority still waits" Pending phase late

# --- Never, and equal priority
pod never never 2 0
soon "preemptionPolicy Never: it waits, and says so" 'preemption: not eligible due to preemptionPolicy=Never\.$' condition never PodScheduled
pod same high 2 0
soon "nobody of equal priority goes" "preemption: 0/$nodes nodes are available: 1 Insufficient test.dev/seat, $((nodes - 1)) Preemption is not helpful for scheduling\\.\$" condition same PodScheduled
is "those who run go on" Running phase keeps
soon "an Event says so" 'FailedScheduling +pod/never .*preemptionPolicy=Never' k get events
k delete pod never same late urgent keeps --wait=false >/dev/null
soon "all have gone" '^$' bash -c "'$KUBECTL' -n $NS get pods -o name"

# --- budgets: a higher victim that none protects
apply <<YAML
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: db}, spec: {minAvailable: 1, selector: {matchLabels: {app: db}}}}
YAML
pod db low 1 0 db
pod web mid 1 0
for p in db web; do soon "$p runs" Running phase $p; done
soon "the budget allows nothing" '^0$' k get pdb db -o 'jsonpath={.status.disruptionsAllowed}'
pod urgent high 1 0
soon "budget: the preemptor starts" Running phase urgent
is "budget: who is protected stays" Running phase db
soon "budget: who is not has gone" '^$' bash -c "'$KUBECTL' -n $NS get pod web --ignore-not-found -o name"
k delete pod urgent db --wait=false >/dev/null
K patch node "$node" --subresource=status --type=json -p '[{"op":"remove","path":"/status/capacity/test.dev~1seat"},{"op":"remove","path":"/status/allocatable/test.dev~1seat"}]' >/dev/null
for class in low mid high never; do K delete priorityclass "$NS-$class" >/dev/null; done
