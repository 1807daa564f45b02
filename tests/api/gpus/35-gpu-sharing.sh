# GPUs shared and split by ConfigMaps, node labels and the operator's values, as the guides say. On nodes of the default cluster, which are
# given back as they were.
if ! embedded; then
    skip "sharing of GPUs" "needs the simulated nodes of the embedded server"
    return
fi
seeds=${SEEDS:-$ROOT/../shared/seeds/manifests}
K() { "$KUBECTL" "$@"; }
# offers NODE RESOURCE: allocatable, as the guide looks at it
offers() { K get node "$1" --no-headers -o "custom-columns=N:.status.allocatable.${2//./\\.}"; }
label() { K get node "$1" -o "jsonpath={.metadata.labels.${2//./\\.}}"; }
chosen() { k get pod "$1" -o 'jsonpath={.metadata.annotations.capstan\.dev/devices}'; }
given() { k get pod "$1" -o 'jsonpath={range .status.containerStatuses[*].allocatedResourcesStatus[*]}{.name}={range .resources[*]}{.resourceID}{end}{end}'; }

# --- the ConfigMaps of the guides; those of an earlier run go
K create namespace gpu-operator >/dev/null 2>&1
K delete configmap --all -n gpu-operator >/dev/null 2>&1
if [ -d "$seeds" ]; then
    for file in time-slicing-config mps-config mig-parted-config; do K apply -f "$seeds/$file.yaml" >/dev/null; done
    time_slicing=$seeds/time-slicing-config.yaml
else
    time_slicing=$PWD/time-slicing.yaml
    cat >"$time_slicing" <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: time-slicing-config, namespace: gpu-operator}
data:
  any: |
    version: v1
    sharing: {timeSlicing: {renameByDefault: false, resources: [{name: nvidia.com/gpu, replicas: 4}]}}
YAML
    cat >maps.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: mps-config, namespace: gpu-operator}
data:
  config.yaml: |
    version: v1
    sharing: {mps: {renameByDefault: false, resources: [{name: nvidia.com/gpu, replicas: 10}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: mig-parted-config, namespace: gpu-operator}
data:
  config.yaml: |
    version: v1
    mig-configs:
      all-1g.5gb: [{devices: all, mig-enabled: true, mig-devices: {"1g.5gb": 7}}]
      all-balanced: [{devices: all, mig-enabled: true, mig-devices: {"3g.20gb": 2, "1g.5gb": 1}}]
YAML
    K apply -f "$time_slicing" -f maps.yaml >/dev/null
fi
soon "without a label nothing changes" '^8$' offers t4-3 nvidia.com/gpu

# --- time-slicing
K label node t4-3 nvidia.com/device-plugin.config=any >/dev/null
soon "time-slicing: 8 GPUs, 4 times each" '^32$' offers t4-3 nvidia.com/gpu
is "the label says how" time-slicing label t4-3 nvidia.com/gpu.sharing-strategy
is "the product says it" Tesla-T4-SHARED label t4-3 nvidia.com/gpu.product
is "replicas" 4 label t4-3 nvidia.com/gpu.replicas
soon "an event on the node" 'GPUConfigApplied.*time-slicing-config' K get events --field-selector involvedObject.name=t4-3
cat >shared.yaml <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: shared-gpu-pod, annotations: {capstan.dev/run-seconds: "600"}}
spec:
  restartPolicy: Never
  nodeSelector: {kubernetes.io/hostname: t4-3}
  containers: [{name: app, image: cuda-app:latest, resources: {limits: {nvidia.com/gpu: 1}}}]
YAML
ok "a pod asks for a share" k apply -f shared.yaml
says "it runs" 'condition met' k wait pod/shared-gpu-pod --for=condition=Ready --timeout=60s
says "the device is a share of a GPU" '^nvidia.com/gpu=GPU-[0-9a-f-]+::[0-3]$' chosen shared-gpu-pod
is "what was chosen is what was given" "$(chosen shared-gpu-pod)" given shared-gpu-pod
says "the container sees it in its log" 'devices nvidia.com/gpu=GPU-' k logs shared-gpu-pod
[ -d "$seeds" ] && {
    ok "shared-gpu-pod.yaml of the guide" bash -c "sed s/shared-gpu-pod/guide-pod/ '$seeds/shared-gpu-pod.yaml' | '$KUBECTL' -n '$NS' apply -f -"
    says "runs" 'condition met' k wait pod/guide-pod --for=condition=Ready --timeout=60s
    is "with what was chosen" "$(chosen guide-pod)" given guide-pod
    ok "wherever it was, it ends" k delete pod guide-pod --grace-period=0 --force
}

# --- the label goes while a pod still has a share: whole GPUs again, but not the one that is in use
K label node t4-3 nvidia.com/device-plugin.config- >/dev/null
soon "without the label: whole GPUs, 7 can be had" '^7$' offers t4-3 nvidia.com/gpu
is "and the labels of before" "none Tesla-T4" bash -c "echo \$('$KUBECTL' get node t4-3 -o 'jsonpath={.metadata.labels.nvidia\.com/gpu\.sharing-strategy} {.metadata.labels.nvidia\.com/gpu\.product}')"
is "the pod runs on" Running k get pod shared-gpu-pod -o 'jsonpath={.status.phase}'
soon "and stays on the node's page" "gpu_allocation_info\{.*pod=\"shared-gpu-pod\"" raw /api/v1/nodes/t4-3:9400/proxy/metrics
soon "its GPU is not handed out" '"healthy":false' K get node t4-3 -o 'jsonpath={.metadata.annotations.capstan\.dev/devices}'
ok "the pod ends" k delete pod shared-gpu-pod --grace-period=0 --force
soon "then all of them are" '^0$' bash -c "'$KUBECTL' get node t4-3 -o 'jsonpath={.metadata.annotations.capstan\.dev/devices}' | grep -c '\"healthy\":false'; true"
soon "8 whole GPUs" '^8$' offers t4-3 nvidia.com/gpu

# --- MPS
K label node t4-3 nvidia.com/device-plugin.config=config.yaml >/dev/null
soon "mps-config: 8 GPUs with 10 shares" '^80$' offers t4-3 nvidia.com/gpu
is "the label says how" mps label t4-3 nvidia.com/gpu.sharing-strategy
K label node t4-3 nvidia.com/device-plugin.config=any --overwrite >/dev/null
soon "another key: time-slicing again" '^32$' offers t4-3 nvidia.com/gpu
K label node t4-3 nvidia.com/device-plugin.config=mps-config --overwrite >/dev/null
soon "the ConfigMap's name does as well as its key" '^80$' offers t4-3 nvidia.com/gpu
cat >two.yaml <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: two-shares}
spec:
  restartPolicy: Never
  nodeName: t4-3
  containers: [{name: app, image: cuda-app:latest, resources: {limits: {nvidia.com/gpu: 2}}}]
YAML
ok "a pod that asks for two shares of MPS" k apply -f two.yaml
soon "is refused as kubelets do" '^Failed UnexpectedAdmissionError$' k get pod two-shares -o 'jsonpath={.status.phase} {.status.reason}'
k delete pod two-shares --wait=false >/dev/null

# --- mistakes: an event, and what was before stays
K label node t4-3 nvidia.com/device-plugin.config=nope --overwrite >/dev/null
soon "a key that no ConfigMap has: an event that lists those there are" "Warning.*GPUConfigInvalid.*'nope'.*time-slicing-config \(any\)" \
    K get events --field-selector involvedObject.name=t4-3
is "the old configuration stays" 80 offers t4-3 nvidia.com/gpu
config_condition() { K get node t4-3 -o 'jsonpath={range .status.conditions[?(@.type=="GPUConfigValid")]}{.status} {.reason} {.message}{end}'; }
soon "the node's condition tells of it" "^False ConfigInvalid .*'nope'.*the config before it stays in use$" config_condition
cat >bad.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: bad-config, namespace: gpu-operator}
data:
  typo: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replica: 4}]}}
YAML
K apply -f bad.yaml >/dev/null
K label node t4-3 nvidia.com/device-plugin.config=typo --overwrite >/dev/null
soon "a wrong key in the file: named with its path" 'Warning.*GPUConfigInvalid.*bad-config.*sharing.timeSlicing.resources\[0\].*replica' \
    K get events --field-selector involvedObject.name=t4-3
is "the old configuration stays" 80 offers t4-3 nvidia.com/gpu
soon "and in the condition" '^False ConfigInvalid gpu-operator/bad-config/typo: sharing.timeSlicing.resources\[0\]' config_condition
sed -i s/replica:/replicas:/ bad.yaml
K apply -f bad.yaml >/dev/null
soon "corrected: it is taken at once" '^32$' offers t4-3 nvidia.com/gpu
soon "the condition says where it is from" '^True ConfigValid gpu-operator/bad-config/typo$' config_condition
sed -i 's/replicas: 4/replicas: 2/' bad.yaml
K apply -f bad.yaml >/dev/null
soon "an edit under the same name is noticed" '^16$' offers t4-3 nvidia.com/gpu
K label node t4-3 nvidia.com/device-plugin.config- >/dev/null
K delete cm bad-config -n gpu-operator >/dev/null
soon "as it was" '^8$' offers t4-3 nvidia.com/gpu

# --- MIG
K label node a100-40gb-1 nvidia.com/mig.config=all-1g.5gb >/dev/null
soon "all-1g.5gb: state success" '^success$' label a100-40gb-1 nvidia.com/mig.config.state
soon "56 slices" '^56$' offers a100-40gb-1 nvidia.com/mig-1g.5gb
is "no whole GPU is left" 0 offers a100-40gb-1 nvidia.com/gpu
k apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: too-late, annotations: {capstan.dev/devices: nvidia.com/gpu=GPU-00000000-0000-0000-0000-000000000000}}
spec: {nodeName: a100-40gb-1, containers: [{name: c, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}
YAML
soon "whoever was bound to one as it was cut is refused" '^Failed UnexpectedAdmissionError .*no healthy devices present.* nvidia.com/gpu' \
    k get pod too-late -o 'jsonpath={.status.phase} {.status.reason} {.status.message}'
k delete pod too-late --grace-period=0 --force >/dev/null 2>&1
is "labels of the slices" "56 NVIDIA-A100-SXM4-40GB-MIG-1g.5gb" bash -c \
    "echo \$('$KUBECTL' get node a100-40gb-1 -o 'jsonpath={.metadata.labels.nvidia\.com/mig-1g\.5gb\.count} {.metadata.labels.nvidia\.com/mig-1g\.5gb\.product}')"
cat >mig.yaml <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: mig-inference-pod}
spec:
  nodeSelector: {kubernetes.io/hostname: a100-40gb-1}
  containers: [{name: inference, image: "nvcr.io/nvidia/tritonserver:latest", resources: {limits: {nvidia.com/mig-1g.5gb: 1}}}]
YAML
ok "a pod asks for a slice" k apply -f mig.yaml
says "it runs" 'condition met' k wait pod/mig-inference-pod --for=condition=Ready --timeout=60s
says "on one MIG device" '^nvidia.com/mig-1g.5gb=MIG-[0-9a-f-]+$' chosen mig-inference-pod
is "the chosen one" "$(chosen mig-inference-pod)" given mig-inference-pod
K label node a100-40gb-1 nvidia.com/mig.config=all-disabled --overwrite >/dev/null
soon "a slice in use is not taken away: state failed" '^failed$' label a100-40gb-1 nvidia.com/mig.config.state
soon "the event says which" 'MIGConfigFailed.*in use.*MIG-' K get events --field-selector involvedObject.name=a100-40gb-1
is "the pod runs on" Running k get pod mig-inference-pod -o 'jsonpath={.status.phase}'
ok "the pod ends" k delete pod mig-inference-pod --grace-period=0 --force
K label node a100-40gb-1 nvidia.com/mig.config=all-balanced --overwrite >/dev/null
soon "the guide's all-balanced does not fit: the event says what would" 'MIGConfigFailed.*does not fit.*Would fit' \
    K get events --field-selector involvedObject.name=a100-40gb-1
soon "state failed" '^failed$' label a100-40gb-1 nvidia.com/mig.config.state
K label node a100-40gb-1 nvidia.com/mig.config=all-disabled --overwrite >/dev/null
soon "a built-in layout" '^success$' label a100-40gb-1 nvidia.com/mig.config.state
soon "whole GPUs again" '^8$' offers a100-40gb-1 nvidia.com/gpu
K label node a100-40gb-1 nvidia.com/mig.config- nvidia.com/mig.config.state- >/dev/null

# --- health
gpus() { K get node t4-3 -o 'jsonpath={.status.capacity.nvidia\.com/gpu} {.status.allocatable.nvidia\.com/gpu}'; }
K annotate node t4-3 capstan.dev/simulate-fault=xid=79,gpu=3 >/dev/null
soon "XID 79: one GPU less to hand out" '^8 7$' gpus
soon "an event with its meaning" 'Warning.*GPUError.*79' K get events --field-selector involvedObject.name=t4-3
says "the condition GPUHealthy is False" 'condition met' K wait node/t4-3 --for=condition=GPUHealthy=false --timeout=60s
says "it names the GPU and the XID" '^GPU-.* xid=79$' K get node t4-3 -o 'jsonpath={.status.conditions[?(@.type=="GPUHealthy")].message}'
K annotate node t4-3 capstan.dev/simulate-fault- >/dev/null
says "repaired: it is True" 'condition met' K wait node/t4-3 --for=condition=GPUHealthy --timeout=60s
soon "repaired: all of them" '^8 8$' gpus
K annotate node t4-3 capstan.dev/simulate-fault=nonsense >/dev/null
soon "a fault that is none is said" 'SimulatedFaultInvalid' K get events --field-selector involvedObject.name=t4-3
K annotate node t4-3 capstan.dev/simulate-fault- >/dev/null

# --- more than there is, past the scheduler
cat >many.yaml <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: nine}
spec:
  restartPolicy: Never
  nodeName: t4-3
  containers: [{name: app, image: cuda-app:latest, resources: {limits: {nvidia.com/gpu: 9}}}]
YAML
ok "nine GPUs on a node of eight" k apply -f many.yaml
soon "UnexpectedAdmissionError in the kubelet's words" 'UnexpectedAdmissionError.*requested number of devices unavailable for nvidia.com/gpu. Requested: 9, Available: 8' \
    k get pod nine -o 'jsonpath={.status.reason} {.status.message}'
k delete pod nine --wait=false >/dev/null

# --- as Kubernetes counts init containers and sidecars, so their devices are given
cat >parts.yaml <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: five}
spec:
  nodeSelector: {kubernetes.io/hostname: t4-3}
  containers: [{name: app, image: cuda-app:latest, resources: {limits: {nvidia.com/gpu: 5}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: three}
spec:
  nodeSelector: {kubernetes.io/hostname: t4-3}
  initContainers: [{name: first, image: cuda-app:latest, resources: {limits: {nvidia.com/gpu: 1}}}]
  containers:
  - {name: a, image: cuda-app:latest, resources: {limits: {nvidia.com/gpu: 2}}}
  - {name: b, image: cuda-app:latest, resources: {limits: {nvidia.com/gpu: 1}}}
YAML
ok "five GPUs, and three for a pod whose init container has one of them before" k apply -f parts.yaml
soon "both run" '^Running Running$' k get pods five three -o 'jsonpath={.items[*].status.phase}'
all_given() { k get pod "$1" -o 'jsonpath={range .status.containerStatuses[*].allocatedResourcesStatus[*].resources[*]}{.resourceID}{"\n"}{end}' | sort; }
is "what was given is what was chosen" "$(chosen three | cut -d= -f2 | tr , '\n' | sort)" all_given three
is "nobody says otherwise" "" k get events --field-selector reason=DevicesDiffer,involvedObject.name=three -o name
ok "they end" k delete pod five three --grace-period=0 --force
cat >sidecar.yaml <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: sidecar}
spec:
  nodeSelector: {kubernetes.io/hostname: t4-3}
  initContainers: [{name: s, image: cuda-app:latest, restartPolicy: Always, resources: {limits: {nvidia.com/gpu: 4}}}]
  containers: [{name: a, image: cuda-app:latest, resources: {limits: {nvidia.com/gpu: 4}}}]
YAML
ok "a sidecar with four and a container with four" k apply -f sidecar.yaml
soon "both are ready" ' 2/2 +Running' k get pod sidecar
rows() { raw /api/v1/nodes/t4-3:9400/proxy/metrics | grep -c "^gpu_allocation_info{.*pod=\"sidecar\",container=\"$1\""; }
soon "four GPUs are the sidecar's" '^4$' rows s
soon "four the container's" '^4$' rows a
if [ -n "${PROGRAM:-}" ]; then
    is "all eight are in use" t4-3,nvidia.com/gpu,8,0 bash -c "'$PROGRAM' nodes --output csv | sed -n 's/^\(t4-3\),[^,]*,[^,]*,\([^,]*\),8,\([0-9]*\),\([0-9]*\).*/\1,\2,\3,\4/p'"
fi
ok "it ends" k delete pod sidecar --grace-period=0 --force

# --- the operator's values, all nodes at once; as a ConfigMap here, as --operator-values FILE below
values=$seeds/gpu-operator-values.yaml
[ -f "$values" ] || {
    values=$PWD/values.yaml
    printf 'driver: {enabled: true}\ndevicePlugin: {config: {name: time-slicing-config, default: any}}\nmig: {strategy: mixed}\n' >"$values"
}
K create configmap gpu-operator-values -n gpu-operator --from-file=values.yaml="$values" >/dev/null
soon "the default key shares every GPU node" '^(32 ){6}$' K get nodes -l 'nvidia.com/gpu.sharing-strategy=time-slicing' -o 'jsonpath={range .items[*]}{.status.allocatable.nvidia\.com/gpu} {end}'
is "KETI nodes keep their shares" 20 offers t4-mps-0 keti.com/mpsgpu
is "MIG nodes their slices" 14 offers a100-40gb-mig-0 nvidia.com/mig-1g.5gb
K delete configmap gpu-operator-values -n gpu-operator >/dev/null
soon "gone: whole GPUs" '^8$' offers t4-0 nvidia.com/gpu
soon "everywhere" '^$' K get nodes -l 'nvidia.com/gpu.sharing-strategy=time-slicing' -o name
cat >wrong.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: gpu-operator-values, namespace: gpu-operator}
data: {values.yaml: "mig: {strategy: mixd}"}
YAML
K apply -f wrong.yaml >/dev/null
soon "wrong values: an event with the path" 'Warning.*GPUConfigInvalid.*mixd' K get events -n gpu-operator
K delete -f wrong.yaml >/dev/null

# --- a server of its own, started with the values
[ -n "${PROGRAM:-}" ] || return
"$PROGRAM" up --data-dir "$PWD/own" --listen 127.0.0.1:0 --nodes 2:t4 --nodes 1:a100-40gb,gpus=1 --mig-busy evict --operator-values "$values" >own.log 2>&1 &
own=$!
appears own/kubeconfig
O() { KUBECONFIG=$PWD/own/kubeconfig "$KUBECTL" "$@"; }
says "what is not served is said at the start" '^capstan up: --operator-values: driver: .*assumed present' cat own.log
soon "the ConfigMap is missed" 'ConfigMap gpu-operator/time-slicing-config: does not exist' O get events
# A pod that Capstan's scheduler has not placed: it learns which GPUs are taken.
gpu_pod() { # NAME GPUS PLACE
    cat <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  restartPolicy: Never
  $3
  containers: [{name: app, image: cuda-app:latest, resources: {limits: {nvidia.com/gpu: $2}}}]
YAML
}
devices_of() { O get pod "$@" -o 'jsonpath={range .items[*]}{.metadata.annotations.capstan\.dev/devices}{"\n"}{end}'; }
ok "a pod names its node itself" O apply -f <(gpu_pod placed 4 "nodeName: t4-0")
soon "the devices of a pod that was placed past the scheduler are on it" '^nvidia.com/gpu=(GPU-[0-9a-f-]+,){3}GPU-[0-9a-f-]+$' \
    O get pod placed -o 'jsonpath={.metadata.annotations.capstan\.dev/devices}'
ok "and one that leaves it to the scheduler" O apply -f <(gpu_pod after 4 "nodeSelector: {kubernetes.io/hostname: t4-0}")
says "a pod through the scheduler runs beside it" 'condition met' O wait pod/after --for=condition=Ready --timeout=60s
is "on the other GPUs" 8 bash -c "echo '$(devices_of placed after)' | grep -o 'GPU-[0-9a-f-]*' | sort -u | wc -l"
is "nobody had to correct that" "" O get events --field-selector reason=DevicesDiffer -o name
O delete pod placed after --grace-period=0 --force >/dev/null 2>&1
O apply -f "$time_slicing" >/dev/null
soon "and taken when it comes" '^32 32 $' O get nodes -l nvidia.com/gpu.product=Tesla-T4-SHARED -o 'jsonpath={range .items[*]}{.status.allocatable.nvidia\.com/gpu} {end}'
# --- MIG with --mig-busy evict: pods leave as their budget allows
cat >budget.yaml <<'YAML'
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: kept}
spec: {minAvailable: 1, selector: {matchLabels: {app: kept}}}
---
apiVersion: v1
kind: Pod
metadata: {name: kept, labels: {app: kept}}
spec:
  nodeSelector: {kubernetes.io/hostname: a100-40gb-0}
  containers: [{name: app, image: nginx, resources: {limits: {nvidia.com/gpu: 1}}}]
YAML
ok "a pod with a budget" O apply -f budget.yaml
soon "runs" '^Running$' O get pod kept -o 'jsonpath={.status.phase}'
mig_state() { O get node a100-40gb-0 -o 'jsonpath={.metadata.labels.nvidia\.com/mig\.config\.state}'; }
O label node a100-40gb-0 nvidia.com/mig.config=all-balanced >/dev/null
soon "a layout needs its GPU: the budget says no" 'GPUEvictionWaits.*MIG layout all-balanced needs the GPU.*budget' O get events
is "it runs on" Running O get pod kept -o 'jsonpath={.status.phase}'
soon "the layout waits" '^pending$' mig_state
soon "nothing of the GPU is offered meanwhile" '^0$' O get node a100-40gb-0 -o 'jsonpath={.status.allocatable.nvidia\.com/gpu}'
ok "without the budget" O delete pdb kept
soon "it is evicted" '^$' O get pod kept --ignore-not-found -o name
soon "the layout is applied" '^success$' mig_state
soon "and its slices are offered" '^1$' O get node a100-40gb-0 -o 'jsonpath={.status.allocatable.nvidia\.com/mig-3g\.20gb}'
O delete node a100-40gb-0 >/dev/null # the sharing of the others is looked at next
kill $own
wait $own 2>/dev/null
rm own/kubeconfig
"$PROGRAM" up --data-dir "$PWD/own" --listen 127.0.0.1:0 --nodes 2:t4 >own.log 2>&1 &
own=$!
appears own/kubeconfig
soon "the same cluster again, without the option, keeps them" '^32 32 $' O get nodes -o 'jsonpath={range .items[*]}{.status.allocatable.nvidia\.com/gpu} {end}'
kill $own
wait $own 2>/dev/null
printf 'mig: {strategy: 7}\n' >bad-values.yaml
refuses "wrong values: the path is named" 'mig.strategy: expected none, single or mixed' "$PROGRAM" up --data-dir "$PWD/none" --operator-values bad-values.yaml
echo 'mig: {strategy: mixed}' >quiet-values.yaml
refuses "values of which there is nothing to say are read" 'write HOST:PORT' \
    "$PROGRAM" up --data-dir "$PWD/none" --listen nowhere --operator-values quiet-values.yaml
K delete cm time-slicing-config mps-config mig-parted-config -n gpu-operator >/dev/null 2>&1
true
