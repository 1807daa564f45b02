# A node with nothing left out: capstan agent on libnvsim behind a fake kubelet's sockets, against the embedded API server.
with_libnvsim "a real agent" || return 0
start() {
    rm -f own/kubeconfig
    CAPSTAN_LIBNVSIM=$library "$PROGRAM" up --data-dir ./own --listen 127.0.0.1:0 --nodes 1:a100-40gb,gpus=2 --nodes 1:t4,gpus=2 \
        --nodes 1:a100-40gb,gpus=1,mig=1g.5gb --nodes 1:t4,gpus=1,mps=10 \
        --real-agent a100-40gb-0 --real-agent a100-40gb-mig-0 --real-agent t4-mps-0 >>own.log 2>&1 &
    own=$!
    appears own/kubeconfig
}
alive() { for pid in $1; do if grep -qs sleep "/proc/$pid/cmdline"; then echo "$pid"; fi; done; } # of the dead that is empty
daemons() { alive "$(ls own/agents/t4-mps-0/mps-daemons)"; } # named by their process ids
agents() { pgrep -fc "capstan agent .*$PWD/own/" || true; }
O() { KUBECONFIG=$PWD/own/kubeconfig "$KUBECTL" "$@"; }
offers() { O get node "$1" -o "jsonpath={.status.allocatable.${2//./\\.}}"; }
devices() { O get node "$1" -o 'jsonpath={.metadata.annotations.capstan\.dev/devices}'; }
label() { O get node "$1" -o "jsonpath={.metadata.labels.${2//./\\.}}"; }
chosen() { O get pod "$1" -o 'jsonpath={.metadata.annotations.capstan\.dev/devices}'; }
given() { O get pod "$1" -o 'jsonpath={range .status.containerStatuses[*].allocatedResourcesStatus[*]}{.name}={range .resources[*]}{.resourceID}{end}{end}'; }
pod() { # NAME NODE RESOURCE N
    cat <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1, annotations: {capstan.dev/run-seconds: "600"}}
spec:
  restartPolicy: Never
  nodeSelector: {kubernetes.io/hostname: $2}
  containers: [{name: app, image: cuda-app:latest, resources: {limits: {$3: $4}}}]
YAML
}

start
soon "three agents run" '^3$' agents
soon "capacity comes from the kubelet's device manager" '^2$' offers a100-40gb-0 nvidia.com/gpu
soon "labels come from the agent" '^NVIDIA-A100-SXM4-40GB$' label a100-40gb-0 nvidia.com/gpu.product
soon "devices as well" 'GPU-[0-9a-f]' devices a100-40gb-0
pod p1 a100-40gb-0 nvidia.com/gpu 1 >p1.yaml
ok "a pod" O apply -f p1.yaml
soon "runs" '^Running$' O get pod p1 -o 'jsonpath={.status.phase}'
says "has a device" '^nvidia.com/gpu=GPU-' chosen p1
is "the chosen one is the one that the kubelet gave" "$(chosen p1)" given p1
says "Allocate's answer is in its log" "^env NVIDIA_VISIBLE_DEVICES=$(chosen p1 | cut -d= -f2)\$" O logs p1
soon "its process is on the GPU" '"pid": ?[0-9]' env NVSIM_STATE="$PWD/own/agents/a100-40gb-0/nvsim/state" "$PROGRAM" nvsim list --output json
sessions() { # NODE: who is on its GPUs, as the agent's root shows it
    NVSIM_STATE=$PWD/own/agents/$1/nvsim/state "$PROGRAM" sessions --library "$library" --root "$PWD/own/agents/$1/nvsim/root" \
        --pod-resources-socket "$(readlink "own/agents/$1/sockets")/pod-resources.sock" --output csv
}
page() { curl -s --unix-socket "$(readlink "own/agents/$1/sockets")/metrics.sock" http://agent/metrics; }
soon "it is the pod's session" ',p1,default,p1,app,1024,' sessions a100-40gb-0
soon "on the agent's page as well" '^gpu_process_info\{gpu="[01]",pid="[0-9]+",command="p1",pod="p1",namespace="default",container="app",status="active"' page a100-40gb-0
soon "the API server forwards it, as on every node" '^gpu_process_info\{.*pod="p1"' O get --raw /api/v1/nodes/a100-40gb-0:9400/proxy/metrics
soon "and its GPU time" '^gpu_pod_allocated_seconds_total\{.*namespace="default",pod="p1"' page a100-40gb-0

# --- MIG: a layout of the shape, one by label, refused while something runs
soon "the shape's slices" '^7$' offers a100-40gb-mig-0 nvidia.com/mig-1g.5gb
soon "as devices" 'MIG-[0-9a-f]' devices a100-40gb-mig-0
pod slice a100-40gb-mig-0 nvidia.com/mig-1g.5gb 1 >slice.yaml
ok "a pod on a slice" O apply -f slice.yaml
soon "runs" '^Running$' O get pod slice -o 'jsonpath={.status.phase}'
is "on the chosen MIG device" "$(chosen slice)" given slice
O label node a100-40gb-mig-0 nvidia.com/mig.config=all-disabled --overwrite >/dev/null
soon "a slice in use is not taken away" '^failed$' label a100-40gb-mig-0 nvidia.com/mig.config.state
is "it is still there" 7 offers a100-40gb-mig-0 nvidia.com/mig-1g.5gb
ok "the pod ends" O delete pod slice --grace-period=0 --force
O label node a100-40gb-mig-0 nvidia.com/mig.config=all-balanced --overwrite >/dev/null
soon "another layout" '^success$' label a100-40gb-mig-0 nvidia.com/mig.config.state
soon "one large slice" '^1$' offers a100-40gb-mig-0 nvidia.com/mig-3g.20gb
soon "and two small ones" '^2$' offers a100-40gb-mig-0 nvidia.com/mig-1g.5gb

# --- KETI's shares: the daemon's directory is the node's own
soon "ten shares of keti.com/mpsgpu" '^10$' offers t4-mps-0 keti.com/mpsgpu
soon "as devices" 'keti.com/mpsgpu' devices t4-mps-0
pod share t4-mps-0 keti.com/mpsgpu 1 >share.yaml
ok "a pod on a share" O apply -f share.yaml
soon "runs" '^Running$' O get pod share -o 'jsonpath={.status.phase}'
is "on the chosen one" "$(chosen share)" given share
ok "the pod ends" O delete pod share --grace-period=0 --force
pod ask t4-mps-0 keti.com/mpsgpu 1 | sed 's/annotations: {/&GPUrequest: 6Gi, /' >ask.yaml
ok "a pod that asks for memory of its GPU" O apply -f ask.yaml
soon "runs" '^Running$' O get pod ask -o 'jsonpath={.status.phase}'
soon "and is limited to that by MPS" '^env CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=GPU-[0-9a-f-]+=6144M$' O logs ask
pod more t4-mps-0 keti.com/mpsgpu 1 | sed 's/annotations: {/&GPUrequest: 10Gi, /' >more.yaml
ok "another that asks for more than is left" O apply -f more.yaml
soon "waits" 'Insufficient capstan.dev/gpu-memory' O get pod more -o 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}'
ok "both end" O delete pod ask more --grace-period=0 --force

# --- init containers and sidecars: on one GPU of two beside p1, and on both
parts() { # NAME FIRST: an init container or sidecar with a GPU, then a container with one
    pod "$1" a100-40gb-0 nvidia.com/gpu 1 | sed 's/^  containers:.*/  initContainers: [{name: first, image: cuda-app:latest, '"$2"'resources: {limits: {nvidia.com\/gpu: 1}}}]\n&/'
}
visible() { O logs "$1" -c "$2" | grep '^env NVIDIA_VISIBLE_DEVICES='; }
parts init "" >init.yaml
ok "a pod with an init container" O apply -f init.yaml
soon "runs: its container takes over what that had" '^Running$' O get pod init -o 'jsonpath={.status.phase}'
is "the same GPU" "$(visible init first)" visible init app
is "the chosen one" "$(chosen init)" given init
ok "it ends" O delete pod init p1 --grace-period=0 --force
parts side "restartPolicy: Always, " >side.yaml
ok "a pod with a sidecar" O apply -f side.yaml
soon "runs on both GPUs" '^Running true$' O get pod side -o 'jsonpath={.status.phase} {.status.initContainerStatuses[0].ready}'
says "the sidecar has one" '^env NVIDIA_VISIBLE_DEVICES=GPU-' visible side first
is "and the container another" 2 bash -c 'printf "%s\n" "$@" | sort -u | wc -l' - "$(visible side first)" "$(visible side app)"
soon "the sidecar is a session" ',side,default,side,first,1024,' sessions a100-40gb-0
soon "so is the container" ',side,default,side,app,1024,' sessions a100-40gb-0
ok "it ends" O delete pod side --grace-period=0 --force

# --- a pod that another scheduler has bound: the agent says which GPU it has, and the next one is given the other
pod bound a100-40gb-0 nvidia.com/gpu 1 | sed 's/^  nodeSelector:.*/  nodeName: a100-40gb-0/' >bound.yaml
ok "a pod with a node of its own choice" O apply -f bound.yaml
soon "its GPU stands on it" '^nvidia.com/gpu=GPU-' chosen bound
is "the one that the kubelet gave" "$(chosen bound)" given bound
pod next a100-40gb-0 nvidia.com/gpu 1 >next.yaml
ok "a pod for the scheduler" O apply -f next.yaml
soon "runs" '^Running$' O get pod next -o 'jsonpath={.status.phase}'
is "on the chosen GPU" "$(chosen next)" given next
is "which is the other one" 2 bash -c 'printf "%s\n" "$@" | sort -u | wc -l' - "$(given bound)" "$(given next)"
is "nobody says otherwise" "" O get events --field-selector reason=DevicesDiffer -o 'jsonpath={range .items[*]}{.involvedObject.name} {end}'
ok "they end" O delete pod bound next --grace-period=0 --force

# --- time-slicing from a ConfigMap that the agent reads itself
cat >maps.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: time-slicing-config, namespace: gpu-operator}
data:
  any: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
YAML
gone() { sessions a100-40gb-0 | grep -c -E ',(p1|side|bound|next),' || true; }
soon "their sessions end with them" '^0$' gone
soon "nothing is left below /proc" '^$' bash -c 'cd own/agents/a100-40gb-0/nvsim/root && { ls proc | grep "^[0-9]"; ls var/log/pods var/log/containers | grep -E "p1|side|bound|next"; true; }'
O apply -f maps.yaml >/dev/null
O label node a100-40gb-0 nvidia.com/device-plugin.config=any >/dev/null
soon "2 GPUs, 4 times each" '^8$' offers a100-40gb-0 nvidia.com/gpu
soon "and the devices say so" '::3' devices a100-40gb-0
pod p2 a100-40gb-0 nvidia.com/gpu 1 >p2.yaml
ok "a pod on a share" O apply -f p2.yaml
soon "runs" '^Running$' O get pod p2 -o 'jsonpath={.status.phase}'
says "share" '^nvidia.com/gpu=GPU-.*::[0-3]$' chosen p2
is "the chosen one" "$(chosen p2)" given p2

# --- pods with different limits, all at once: bound one after the other, or the agent could not tell them apart and would refuse
for i in 1 2 3 4 5; do
    echo ---
    pod "l$i" a100-40gb-0 nvidia.com/gpu 1 | sed "s/annotations: {/&GPUlimits: $((1 + i % 3))G, /"
done >limits.yaml
ok "five pods with limits of three kinds" O apply -f limits.yaml
soon "all run" '^Running Running Running Running Running$' O get pods l1 l2 l3 l4 l5 -o 'jsonpath={.items[*].status.phase}'
ok "they end" O delete pods l1 l2 l3 l4 l5 --grace-period=0 --force
soon "their shares are free" '^$' O get pods l1 l2 l3 l4 l5 --ignore-not-found -o name

# --- a fault in libnvsim
soon "its session" ',p2,' sessions a100-40gb-0
p2_on=$(sessions a100-40gb-0 | grep ,p2, | cut -d, -f1)
O annotate node a100-40gb-0 "capstan.dev/simulate-fault=xid=79,gpu=$((1 - p2_on))" >/dev/null
soon "XID 79: its four shares are not offered" '^4$' offers a100-40gb-0 nvidia.com/gpu
soon "an event of the agent" 'Warning.*79' O get events --field-selector involvedObject.name=a100-40gb-0

# --- the agent is killed: it comes back, nobody loses a device
KUBECONFIG=$PWD/own/kubeconfig timeout 200 "$KUBECTL" get node a100-40gb-0 -w -o 'jsonpath={.status.allocatable.nvidia\.com/gpu}{"\n"}' >offered 2>&1 &
watcher=$!
soon "four shares are offered" '^4$' cat offered
kill -9 "$(cat own/agents/a100-40gb-0/agent.pid)"
soon "its devices are out of reach" '^0$' cat offered
soon "then it is back" '^4$' offers a100-40gb-0 nvidia.com/gpu
kill $watcher
wait $watcher 2>/dev/null
is "the pod runs on" Running O get pod p2 -o 'jsonpath={.status.phase}'

# --- everything is killed and started again: who has which device is known
soon "an MPS daemon runs" '^[0-9]+$' daemons
before=$said
kill -9 $own
wait $own 2>/dev/null
start
soon "agents of before are ended" '^3$' agents
soon "so is the MPS daemon" '^$' alive "$before"
soon "who ran runs on, with a session" ',p2,default,p2,app,1024,' sessions a100-40gb-0
soon "offers as before" '^4$' offers a100-40gb-0 nvidia.com/gpu
pod p3 a100-40gb-0 nvidia.com/gpu 3 >p3.yaml
ok "three more shares" O apply -f p3.yaml
soon "run" '^Running$' O get pod p3 -o 'jsonpath={.status.phase}'
is "none of them is another pod's" 0 bash -c "grep -c \"\$1\" <<<\"\$2\" || true" - "$(given p2 | cut -d= -f2)" "$(chosen p3)"
soon "an MPS daemon runs again" '^[0-9]+$' daemons
before=$said
find own -name account -delete
kill $own
wait $own 2>/dev/null
soon "no agent is left" '^0$' agents
soon "nor an MPS daemon" '^$' alive "$before"
is "each has saved its books at the end" 3 bash -c 'find own -name account | wc -l'
refuses "a node that is not there" 'no GPU node of this name' "$PROGRAM" up --data-dir "$PWD/none" --listen 127.0.0.1:0 --real-agent nope
