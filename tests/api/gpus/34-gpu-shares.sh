# Shares of GPUs: pods ask for a part of one in the ways of KAI, HAMi and KETI; two stand on one GPU, whole ones on none of those.
if ! embedded; then
    skip "shares of GPUs" "needs the simulated nodes of the embedded server"
    return
fi
K() { "$KUBECTL" "$@"; }
offers() { K get node "$1" --no-headers -o "custom-columns=N:.status.allocatable.${2//./\\.}"; }
chosen() { k get pod "$1" -o 'jsonpath={.metadata.annotations.capstan\.dev/devices}'; }
share() { chosen "$1" | tr ';' '\n' | sed -n 's/^capstan.dev.gpu-milli=//p'; } # the GPU that it has a share of
given() { k get pod "$1" -o 'jsonpath={range .status.containerStatuses[*].allocatedResourcesStatus[*]}{range .resources[*]}{.resourceID}{end}{end}'; }
same_gpu() { if [ -n "$(share "$1")" ] && [ "$(share "$1")" = "$(share "$2")" ]; then echo same; else echo other; fi; }
# pod NAME NODE ANNOTATIONS LIMITS
pod() {
    cat <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1, annotations: {capstan.dev/run-seconds: "600"${3:+, $3}}}
spec:
  restartPolicy: Never
  nodeSelector: {kubernetes.io/hostname: $2}
  containers: [{name: app, image: cuda-app:latest, resources: {limits: {$4}}}]
YAML
}
make() { pod "$@" | k create -f -; }
runs() { says "$1 runs" 'condition met' k wait "pod/$1" --for=condition=Ready --timeout=60s; }

# --- the example, on a node that hands out each GPU several times
K create namespace gpu-operator >/dev/null 2>&1
K label node t4-2 nvidia.com/device-plugin.config=slots >/dev/null
sed 's/run-seconds: "2"/run-seconds: "600"/; s/restartPolicy: Never/&\n  nodeSelector: {kubernetes.io\/hostname: t4-2}/' "$ROOT/examples/25-gpu-shares.yaml" >half.yaml
csplit -s -f half- half.yaml '/^---$/' '{*}'
ok "its ConfigMap" K apply -f half-00
soon "each GPU of the node four times" '^32$' offers t4-2 nvidia.com/gpu
ok "its pods" k create -f half-01 -f half-02
runs half-a
runs half-b
is "both on one GPU" same same_gpu half-a half-b
says "each has a device of that GPU" "^$(share half-a)::[0-3]$" given half-a
says "and the other another one" "^$(share half-a)::[0-3]$" given half-b
soon "nothing holds them to it: an event says so" 'ShareNotEnforced.*time-slicing' k get events --field-selector involvedObject.name=half-a

# --- a third finds no room there, a whole one neither
make third t4-2 'gpu-fraction: "0.1"' 'nvidia.com/gpu: 1' >/dev/null
runs third
is "a third is on another GPU" other same_gpu third half-a
make many t4-2 "" 'nvidia.com/gpu: 25' >/dev/null
soon "25 of 32 are more than 6 GPUs without a share have" 'too few|Insufficient' k get pod many -o 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}'
k delete pod many --wait=false >/dev/null
make rest t4-2 "" 'nvidia.com/gpu: 24' >/dev/null
runs rest
is "none of its devices is of a GPU with a share" 0 bash -c "echo '$(chosen rest)' | grep -c -e '$(share half-a)' -e '$(share third)'; true"
says "capstan nodes: what is left of GPUs with shares" 't4-2 .*capstan.dev/gpu-milli +2000 +1100 +900' "$PROGRAM" nodes
says "and that nothing else is" 't4-2 .*nvidia.com/gpu +32 +27 +0' "$PROGRAM" nodes
make big t4-2 'gpu-fraction: "0.95"' 'nvidia.com/gpu: 1' >/dev/null
soon "whose share is too large waits, and is told why" 'no GPU with so large a share left' k get pod big -o 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}'
ok "one ends" k delete pod rest --grace-period=0 --force
runs big
k delete pod half-a half-b third big --grace-period=0 --force >/dev/null 2>&1
K label node t4-2 nvidia.com/device-plugin.config- >/dev/null
soon "as it was" '^8$' offers t4-2 nvidia.com/gpu

# --- HAMi's and our own resources; whole GPUs are handed out once, so shares of them with a device are alone there
make hami t4-2 "" 'nvidia.com/gpu: 1, nvidia.com/gpumem: 8000, nvidia.com/gpucores: 50' >/dev/null
make hami2 t4-2 "" 'nvidia.com/gpu: 1, nvidia.com/gpumem: 8000, nvidia.com/gpucores: 50' >/dev/null
make own t4-2 "" 'capstan.dev/gpu-milli: 400, capstan.dev/gpu-memory: 4Gi' >/dev/null
make kai t4-2 'gpu-memory: "8000"' "" >/dev/null
runs hami
runs hami2
runs own
runs kai
is "a device of its own each" other same_gpu hami hami2
soon "a share that no container asks for: an event says so" 'ShareNotHandedOut' k get events --field-selector involvedObject.name=own
make large t4-2 "" 'nvidia.com/gpu: 1, nvidia.com/gpumem: 16000' >/dev/null
soon "more memory than a GPU has" 'no GPU with so large a share left' k get pod large -o 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}'
ok "all go" k delete pod hami hami2 own kai large --grace-period=0 --force

# --- KETI: clients of one MPS server with a memory ask each
mps=$(K get nodes -o 'jsonpath={range .items[*]}{.metadata.name}{" "}{.status.allocatable.keti\.com/mpsgpu}{"\n"}{end}' | awk '$2 ~ /^[1-9]/ {print $1; exit}')
for n in 1 2; do make "keti-$n" "$mps" 'GPUrequest: 6Gi' 'keti.com/mpsgpu: 2' >/dev/null; done
runs keti-1
runs keti-2
is "both on one GPU" same same_gpu keti-1 keti-2
make keti-3 "$mps" 'GPUrequest: 6Gi' 'keti.com/mpsgpu: 2' >/dev/null
runs keti-3
is "a third is not" other same_gpu keti-3 keti-1
ok "they go" k delete pod keti-1 keti-2 keti-3 --grace-period=0 --force

# --- what is wrong is refused where it stands
try() { pod "$1" t4-2 "$2" "$3" | k create -f - 2>&1; true; }
refused() { says "refused: $1$2" "$3" try x "$1" "$2"; }
refused 'gpu-fraction: "1.5"' '' 'metadata.annotations\[gpu-fraction\].*between 0 and 1'
refused 'gpu-fraction: "-1"' '' 'metadata.annotations\[gpu-fraction\].*between 0 and 1'
refused 'gpu-memory: "9223372036854775807"' '' 'metadata.annotations\[gpu-memory\].*write MiB'
refused '' 'nvidia.com/gpucores: 101' 'spec.containers\[0\].resources.limits\[nvidia.com/gpucores\].*write 1 to 100'
refused '' 'capstan.dev/gpu-milli: 1001' 'limits\[capstan.dev/gpu-milli\].*1 to 1000'
refused 'GPUrequest: 4Gi, GPUlimits: 2Gi' 'keti.com/mpsgpu: 1' 'annotations\[GPUlimits\].*at least as much'
make kept t4-2 'gpu-fraction: "0.5"' "" >/dev/null
runs kept
says "what it has is not made smaller by words" 'Forbidden: the pod has its share' bash -c "'$KUBECTL' -n '$NS' annotate pod kept gpu-fraction=0.1 --overwrite 2>&1; true"
k delete pod kept --grace-period=0 --force >/dev/null 2>&1
