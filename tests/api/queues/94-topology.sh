# Topologies as a Kueue user knows them: domains by labels of nodes, required and preferred, both encodings of what was given. On the four
# nodes of 8 T4 of the embedded server, in two racks.
if ! embedded; then
    skip "topologies" "needs the simulated nodes of the embedded cluster"
    return
fi
K() { "$KUBECTL" "$@"; }
apply() { { echo "# YAML"; cat; } | k apply -f - 2>&1; }
RACK=$NS.example.com/rack
at=0
for node in $(K get nodes -l nvidia.com/gpu.product=Tesla-T4 -o name | sort); do
    K label "$node" "$RACK=r$((at / 2))" >/dev/null
    at=$((at + 1))
done
# job NAME PODS ANNOTATION: one GPU a pod, runs for ten minutes
job() {
    apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: lq}},
 spec: {parallelism: $2, completions: $2, suspend: true, template: {
  metadata: {annotations: {capstan.dev/run-seconds: "600", $3}},
  spec: {restartPolicy: Never, containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}
YAML
}
workload_of() { k get workloads -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.ownerReferences[0].name}{"\n"}{end}' | awk -v o="$1" '$2 == o {print $1}'; }
given() { k get "workloads.${2:-v1beta2}.kueue.x-k8s.io" "$(workload_of "$1")" -o "jsonpath={.status.admission.podSetAssignments[0].topologyAssignment}" | tr -d ' \n'; }
said() { k get workload "$(workload_of "$1")" -o 'jsonpath={range .status.conditions[?(@.type=="QuotaReserved")]}{.status} {.reason} {.message}{end}'; }
# racks JOB: racks in which its pods stand
racks() {
    for node in $(k get pods -l "job-name=$1" -o 'jsonpath={.items[*].spec.nodeName}'); do
        K get node "$node" -o "jsonpath={.metadata.labels.${RACK//./\\.}}{'\n'}"
    done | sort | uniq -c | awk '{printf "%s=%s ", $2, $1}'
}

is "a Topology brings no Warning" "topology.kueue.x-k8s.io/$NS-t created" apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: Topology, metadata: {name: $NS-t}, spec: {levels: [{nodeLabel: $RACK}, {nodeLabel: kubernetes.io/hostname}]}}
YAML
is "nor a flavor with one" "resourceflavor.kueue.x-k8s.io/$NS-f created" apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-f}, spec: {nodeLabels: {nvidia.com/gpu.product: Tesla-T4}, topologyName: $NS-t}}
YAML
apply >/dev/null <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-q}, spec: {namespaceSelector: {},
 resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: $NS-f, resources: [{name: nvidia.com/gpu, nominalQuota: 100}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: lq}, spec: {clusterQueue: $NS-q}}
YAML

is "nor a job that asks for a rack" "job.batch/ten created" job ten 10 "kueue.x-k8s.io/podset-required-topology: $RACK"
soon "it is told which nodes it has, in columns" '^\{"levels":\["kubernetes.io/hostname"\],"slices":\[\{"domainCount":2,"podCounts":\{"individual":\[8,2\]\},"valuesPerLevel":\[\{"individual":\{"prefix":"[^"]*","roots":\["[^"]*","[^"]*"\]' given ten
says "and in rows for readers of v1beta1" '^\{"domains":\[\{"count":8,"values":\["[^"]*"\]\},\{"count":2,"values":\["[^"]*"\]\}\],"levels":\["kubernetes.io/hostname"\]\}$' given ten v1beta1
soon "its pods stand in one rack" '^r0=10 $' racks ten
job too-many 17 "kueue.x-k8s.io/podset-required-topology: $RACK" >/dev/null
soon "what no rack holds waits, and says so as Kueue does" "^False TopologyPlacementFailed couldn't assign flavors to pod set main: topology \"$NS-t\" allows to fit only 16 out of 17 pod\(s\)" said too-many
says "capstan why says it too" "topology \"$NS-t\" allows to fit only 16 out of 17 pod\(s\)" "$PROGRAM" why job/too-many -n "$NS"
job level 1 'kueue.x-k8s.io/podset-required-topology: no.example.com/level' >/dev/null
soon "a level that the topology does not have" "^False NoMatchingFlavor couldn't assign flavors to pod set main: Flavor \"$NS-f\" does not contain the requested level" said level
job wide 18 "kueue.x-k8s.io/podset-preferred-topology: $RACK" >/dev/null
soon "who prefers a rack gets several" '^r0=2 r1=16 $' racks wide
job any 4 'capstan.dev/nothing: asked' >/dev/null
soon "who asks for nothing has domains all the same: all flavors of the queue have a topology" '^r0=4 $' racks any
k delete job ten too-many level wide any --wait=false >/dev/null

# A node fails under a job that has to stay in its rack, and there is no other.
job full 16 "kueue.x-k8s.io/podset-required-topology: $RACK" >/dev/null
soon "a job fills a rack" '^r[01]=16 $' racks full
node=$(k get pods -l job-name=full -o 'jsonpath={.items[0].spec.nodeName}')
rack=$(racks full)
evicted() { k get workload "$(workload_of full)" -o 'jsonpath={range .status.schedulingStats.evictions[*]}{.reason}={.count}{end} {.status.unhealthyNodes}'; }
K cordon "$node" >/dev/null
says "pods that run on a node that is cordoned go on" '^ $' evicted
k delete pods -l job-name=full --field-selector "spec.nodeName=$node" --wait=false >/dev/null
soon "when they end, and its rack has no other node, it is evicted" '^NodeFailures=1 $' evicted
other() { racks full | grep -v -x -F "$rack"; }
soon "and starts in the other rack" '^r[01]=16 $' other
K uncordon "$node" >/dev/null
k delete job full --wait=false >/dev/null
