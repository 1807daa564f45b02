# GPUs are cut as pods ask (docs/sharing.md): on nodes that say so, never one in use, told on the node and on who waits. And MIG beside MPS.
[ -n "${PROGRAM:-}" ] || { skip "MIG layouts by demand" "needs a cluster of its own"; return; }
real=()
if with_libnvsim "a real agent that cuts by demand"; then
    real=(--real-agent a100-80gb-0)
    export CAPSTAN_LIBNVSIM=$library
fi
"$PROGRAM" up --data-dir ./own --listen 127.0.0.1:0 --nodes 2:a100-40gb --nodes 1:a100-80gb,gpus=2 --nodes 1:t4,gpus=1 "${real[@]}" >own.log 2>&1 &
own=$!
appears own/kubeconfig
O() { KUBECONFIG=$PWD/own/kubeconfig "$KUBECTL" "$@"; }
events() { O get events -A --field-selector "reason=$1" -o 'jsonpath={range .items[*]}{.involvedObject.kind}/{.involvedObject.name}: {.message}{"\n"}{end}'; }
layouts() { O get node "$1" -o 'jsonpath={.metadata.annotations.capstan\.dev/mig-layouts}'; }
phases() { O get pods "$@" -o 'jsonpath={range .items[*]}{.status.phase} {end}'; }
pod() { # NAME RESOURCE N
    cat <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1, annotations: {capstan.dev/run-seconds: "600"}}
spec:
  restartPolicy: Never
  containers: [{name: app, image: cuda-app:latest, resources: {limits: {$2: $3}}}]
YAML
}

# --- nobody has said that layouts may follow: the pod waits, and says for what
soon "the node tells of its GPUs" 'A100-SXM4-80GB' O get node a100-80gb-0 -o 'jsonpath={.metadata.labels.nvidia\.com/gpu\.product}'
ok "a pod asks for an instance that no node has" O apply -f <(pod big nvidia.com/mig-3g.40gb 1)
soon "it waits for that" 'Insufficient nvidia.com/mig-3g.40gb' O get pod big -o 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}'
sleep 3
is "no layout changes" "" events MIGLayoutChanges

# --- a GPU in use is never cut
ok "a pod with one of the GPUs" O apply -f <(pod user nvidia.com/gpu 1 | sed 's/^spec:/&\n  nodeSelector: {kubernetes.io\/hostname: a100-80gb-0}/')
says "runs" 'condition met' O wait pod/user --for=condition=Ready --timeout=60s
used=$(O get node a100-80gb-0 -o 'jsonpath={.metadata.annotations.capstan\.dev/devices}' |
    sed "s/},{/\n/g" | grep "$(O get pod user -o 'jsonpath={.metadata.annotations.capstan\.dev/devices}' | cut -d= -f2)" | sed 's/.*"gpu":\([0-9]*\).*/\1/')
ok "the node says that its idle GPUs may be cut" O label node a100-80gb-0 capstan.dev/mig-demand=true
says "the pod runs" 'condition met' O wait pod/big --for=condition=Ready --timeout=60s
soon "on one MIG device" '^nvidia.com/mig-3g.40gb=MIG-[0-9a-f-]+$' O get pod big -o 'jsonpath={.metadata.annotations.capstan\.dev/devices}'
is "the other GPU was cut" "Node/a100-80gb-0: MIG layout of GPU $((1 - used)) changes from no MIG to 2×3g.40gb for default/big" \
    bash -c "KUBECONFIG=$PWD/own/kubeconfig '$KUBECTL' get events --field-selector reason=MIGLayoutChanges,involvedObject.kind=Node -o 'jsonpath={range .items[*]}{.involvedObject.kind}/{.involvedObject.name}: {.message}{end}'"
soon "the pod is told" "^Pod/big: on node a100-80gb-0, MIG layout of GPU $((1 - used)) changes from no MIG to 2×3g.40gb" events MIGLayoutChanges
says "the layout is the node's own" '"3g.40gb": 2' layouts a100-80gb-0
soon "and applied" '^demand-[0-9]+ success$' \
    O get node a100-80gb-0 -o 'jsonpath={.metadata.labels.nvidia\.com/mig\.config} {.metadata.labels.nvidia\.com/mig\.config\.state}'
is "who has the other one runs on" Running O get pod user -o 'jsonpath={.status.phase}'

# --- who waits for a GPU that is in use is told by whom it could be cut
ok "a pod that needs more than is idle" O apply -f <(pod whole nvidia.com/mig-7g.80gb 1)
soon "why says where GPUs are cut" '^MIG layouts follow what waits: GPUs of a100-80gb-0 are cut for it when nobody has a part of them$' \
    "$PROGRAM" why pod/whole --kubeconfig own/kubeconfig
soon "programs find the nodes" '"migDemand": *\[ *"a100-80gb-0" *\]' \
    bash -c "'$PROGRAM' why pod/whole --kubeconfig own/kubeconfig --output json | tr -d '\n'"
ok "it is not needed any more" O delete pod whole --grace-period=0 --force

# --- the example: several that want different cuts
ok "another node" O label node a100-40gb-0 capstan.dev/mig-demand=true
ok "the example" O apply -f "$ROOT/examples/gpus/mig-demand.yaml"
soon "all run" '^(Running ){4}$' phases -l job-name=inference
says "the larger one, too" 'condition met' O wait pod/train-half --for=condition=Ready --timeout=60s
says "by one change of the node" 'for default/' events MIGLayoutChanges
is "of its own, once" 1 bash -c "KUBECONFIG=$PWD/own/kubeconfig '$KUBECTL' get events --field-selector reason=MIGConfigApplied,involvedObject.name=a100-40gb-0 -o name | wc -l"

# --- a job in a queue: all its pods or none, and its Workload is told
cat >queue.yaml <<'YAML'
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cut}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/mig-1g.5gb]
    flavors: [{name: any, resources: [{name: nvidia.com/mig-1g.5gb, nominalQuota: 20}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: cut, namespace: default}
spec: {clusterQueue: cut}
---
apiVersion: batch/v1
kind: Job
metadata: {name: ten, labels: {kueue.x-k8s.io/queue-name: cut}}
spec:
  parallelism: 10
  completions: 10
  template:
    metadata: {annotations: {capstan.dev/run-seconds: "600"}}
    spec:
      restartPolicy: Never
      containers: [{name: app, image: cuda-app:latest, resources: {limits: {nvidia.com/mig-1g.5gb: 1}}}]
YAML
ok "a queue, and a job of ten in it" O apply -f queue.yaml
soon "it waits" 'Insufficient nvidia.com/mig-1g.5gb' O get workloads -o 'jsonpath={.items[*].status.conditions[*].message}'
ok "a third node" O label node a100-40gb-1 capstan.dev/mig-demand=true
soon "its pods run" '^(Running ){10}$' phases -l job-name=ten
soon "its Workload was told, of two GPUs" '^Workload/job-ten-[^:]*: on node a100-40gb-1, MIG layout of GPU 1 changes from no MIG to 7×1g.5gb$' \
    events MIGLayoutChanges

# --- what has no effect is said
ok "a node whose GPUs cannot be cut" O label node t4-0 capstan.dev/mig-demand=true
soon "that is said" 'MIG.*has no effect: its GPUs cannot be split by MIG' bash -c \
    "KUBECONFIG=$PWD/own/kubeconfig '$KUBECTL' get events --field-selector involvedObject.name=t4-0,reason=MIGDemandIgnored | sed s/mig-demand/MIG/"
ok "it is taken back" O label node t4-0 capstan.dev/mig-demand-

# --- MIG and MPS on one node
ok "no more by demand" O label node a100-40gb-1 capstan.dev/mig-demand-
ok "the job is over" O delete job ten
soon "its pods are gone" '^$' phases -l job-name=ten
ok "the example of MIG beside MPS" O apply -f "$ROOT/examples/gpus/mig-and-mps.yaml"
ok "the node takes both" O label node a100-40gb-1 nvidia.com/mig.config=half-cut nvidia.com/device-plugin.config=mps-beside-mig --overwrite
says "a pod on an instance" 'condition met' O wait pod/on-mig --for=condition=Ready --timeout=60s
says "and a client of MPS" 'condition met' O wait pod/on-mps --for=condition=Ready --timeout=60s
is "on one node" "a100-40gb-1 a100-40gb-1" O get pods on-mig on-mps -o 'jsonpath={.items[*].spec.nodeName}'
soon "what it offers" '^8 40$' O get node a100-40gb-1 -o 'jsonpath={.status.allocatable.nvidia\.com/mig-3g\.20gb} {.status.allocatable.nvidia\.com/gpu\.shared}'
kill $own
wait $own 2>/dev/null
true
