# Gangs that run and compute nothing: they are told so, and started again only where that is asked for. A server of its own: what its GPUs do
# is said by the pods.
if ! embedded; then
    skip "gangs that hang" "needs the simulated nodes of the embedded cluster"
    return
fi
"$PROGRAM" up --data-dir "$PWD/own" --listen 127.0.0.1:0 --nodes 2:t4,gpus=4 >own.log 2>&1 &
own=$!
appears own/kubeconfig
O() { "$KUBECTL" --kubeconfig own/kubeconfig "$@"; }
why() { "$PROGRAM" why "$1" --kubeconfig own/kubeconfig -n default; }
jobs_() { "$PROGRAM" jobs --kubeconfig own/kubeconfig -n default --output csv; }
GROUPS_=podgroups.scheduling.volcano.sh
# job NAME ACTIVITY [ANNOTATION]...: two pods of a GPU each
job() {
    O apply -f - <<YAML
---
{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: $1, annotations: {capstan.dev/hung-after-seconds: "10", ${3:-}}}, spec: {minAvailable: 2, tasks: [
 {name: t, replicas: 2, template: {metadata: {annotations: {capstan.dev/run-seconds: "600", capstan.dev/gpu-activity: "$2"}}, spec: {restartPolicy: Never, containers: [
  {name: c, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}}}]}}
YAML
}
group() { O get $GROUPS_ -o "jsonpath={range .items[?(@.metadata.ownerReferences[0].name==\"$1\")]}{.metadata.annotations.$2}{end}"; }
uids() { O get pods -l "volcano.sh/job-name=$1" -o 'jsonpath={.items[*].metadata.uid}'; }
running() { O get vcjob "$1" -o 'jsonpath={.status.state.phase} {.status.running}'; }
events() { O get events --field-selector "reason=$1" -o 'jsonpath={range .items[*]}{.involvedObject.kind}/{.involvedObject.name}: {.message}{"\n"}{end}'; }

job busy 0.8 >/dev/null
job stuck 0 >/dev/null
soon "two jobs run, one of them computes nothing" '^Running 2$' running stuck
soon "the other does" '^Running 2$' running busy
first=$(uids stuck)
soon "that it hangs is found, and since when" '^20[0-9-]+T[0-9:]+Z$' group stuck 'capstan\.dev/hung'
soon "an Event says so, and what would start it again" '^PodGroup/stuck-.*: none of its 2 GPU\(s\) has done anything for [0-9]+ s, though all its pods run; annotation capstan.dev/restart-when-hung: "true" starts it again then$' events GangHung
says "why says so" 'it hangs: none of its GPUs does anything \(found 20' why vcjob/stuck
says "capstan jobs as well" '^default,vcjob,stuck,.*,it hangs: none of its GPUs does anything' jobs_
is "who computes is not called so" "" group busy 'capstan\.dev/hung'
is "nobody has asked for it to be started again" "$first" uids stuck
ok "the jobs end" O delete vcjob busy stuck

# --- started again, where it is asked for
job again 0 'capstan.dev/restart-when-hung: "true"' >/dev/null
soon "a job that asks to be started again runs" '^Running 2$' running again
first=$(uids again)
other() { [ "$(uids again)" != "$1" ] && running again; }
soon "all its pods are others a while later" '^Running 2$' other "$first"
soon "its group was evicted for that" 'again-t-[01]: its GPUs did nothing for too long: it is started again, as it asks for' events Evicted
ok "it ends" O delete vcjob again

# --- who loads data computes nothing, and does not hang: the network of a node whose GPUs it alone has is busy
job loads 0 >/dev/null
soon "a job that computes nothing runs" '^Running 2$' running loads
# network BYTES_PER_S: as an agent would say it of each node
network() {
    for node in $(O get nodes -o 'jsonpath={.items[*].metadata.name}'); do
        said=$(O get node "$node" -o 'jsonpath={.metadata.annotations.capstan\.dev/gpu-feedback}' |
            sed -E 's/"network":[0-9]+,"networkOf":"rdma",//; s/"units"/"network":'"$1"',"networkOf":"rdma",&/')
        O annotate --overwrite node "$node" "capstan.dev/gpu-feedback=$said" >/dev/null
    done
}
for _ in 1 2 3 4 5 6 7 8; do
    network 5000000
    sleep 2
done
is "while the network of its nodes is busy it does not hang" "" group loads 'capstan\.dev/hung'
network 1000
soon "when that is quiet, too, it does" '^20[0-9-]+T[0-9:]+Z$' group loads 'capstan\.dev/hung'
ok "it ends as well" O delete vcjob loads

# --- what is queued the Kueue way: the annotations of the job are its Workload's
O apply -f - >/dev/null <<'YAML'
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: any}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: q}, spec: {namespaceSelector: {}, resourceGroups: [
 {coveredResources: [nvidia.com/gpu], flavors: [{name: any, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q, namespace: default}, spec: {clusterQueue: q}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  labels: {kueue.x-k8s.io/queue-name: q}
  annotations: {capstan.dev/hung-after-seconds: "10", capstan.dev/restart-when-hung: "true"}
spec:
  parallelism: 2
  completions: 2
  template:
    metadata: {annotations: {capstan.dev/run-seconds: "600", capstan.dev/gpu-activity: "0"}}
    spec: {restartPolicy: Never, containers: [{name: c, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}
YAML
evicted() { O get events --field-selector reason=EvictedDueToHung -o 'jsonpath={range .items[*]}{.involvedObject.kind} {.message}{"\n"}{end}'; }
active() { O get job train -o 'jsonpath={.status.active}'; }
soon "a Job of a queue runs" '^2$' active
soon "its Workload is evicted when it hangs" '^Workload its GPUs did nothing for too long' evicted
soon "and it starts again from its queue" '^2$' active
says "words that are none are told" 'Warning: metadata.annotations\[capstan.dev/restart-when-hung\]: has no effect: write "true" or "false"' \
    bash -c "printf '# YAML\n%s' '{apiVersion: batch/v1, kind: Job, metadata: {name: bad, annotations: {capstan.dev/restart-when-hung: maybe}},
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}' | '$KUBECTL' --kubeconfig own/kubeconfig create --dry-run=server -f - 2>&1"
kill "$own"
wait "$own"
