# What a new user types, and what was meant: words of other tools, a name where an option belongs, a queue of another namespace, a state that
# is none, a job that is held, a layout that cannot be made.
if ! embedded || [ -z "${PROGRAM:-}" ]; then
    skip "what was meant" "needs simulated nodes"
    return
fi
ends() { # ends CODE WHAT PATTERN CMD...: the exit code, and what it said on both streams
    local code=$1 what=$2 pattern=$3 got; shift 3
    said=$(timeout 60 "$@" 2>&1); got=$?
    if [ "$got" = "$code" ] && grep -Eq -- "$pattern" <<<"$said"; then pass "$what"
    else miss "$what" "\$ $*" "wanted: exit code $code, $pattern" "exit code $got" "$said"; fi
}
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }

# --- words
ends 2 "squeue" "unknown command 'squeue'; that is capstan jobs$" "$PROGRAM" squeue
ends 2 "gpus" "unknown command 'gpus'; that is capstan nodes --gpus$" "$PROGRAM" gpus
ends 2 "a typing error" "unknown command 'jbos'; did you mean jobs" "$PROGRAM" jbos
ends 2 "a job where --name belongs" 'unexpected argument train; did you mean --name train\?' "$PROGRAM" jobs train
ends 2 "a node where --node belongs" 'unexpected argument t4-0; did you mean --node t4-0\?' "$PROGRAM" nodes t4-0
ends 2 "where there is no such option" 'unexpected argument a$' "$PROGRAM" queues a
ends 2 "why of what is no job: a queue" 'queue: it does not wait by itself: capstan queues shows it' "$PROGRAM" why queue/x
ends 2 "a node" 'node: it does not wait by itself: capstan nodes shows it' "$PROGRAM" why node/t4-0
ends 2 "a CronJob" 'cronjob: it does not wait by itself: ask of one of its Jobs, which capstan jobs lists' "$PROGRAM" why cronjob/x
ends 2 "a time without its unit" "--time: a time of at least 1s, as 90s, 10m or 2h, not '2'" "$PROGRAM" submit --gpus 1 --image x --time 2
ends 2 "a manifest where a command belongs" 'job.yaml: a manifest is applied: kubectl apply -f job.yaml; capstan advise job.yaml' "$PROGRAM" submit job.yaml
ends 2 "a slice where a number belongs" 'which slices they are says --resource: --gpus 1 --resource nvidia.com/mig-1g.5gb' "$PROGRAM" submit --gpus nvidia.com/mig-1g.5gb --image x
ends 2 "half a GPU" "not '0.5'; a part of a GPU is a MIG slice .* --annotation gpu-fraction=0.5" "$PROGRAM" submit --gpus 0.5 --image x
ends 2 "a folder where files belong" 'manifests: a folder: name its files, as manifests/\*.yaml' bash -c 'mkdir -p manifests; "$0" advise manifests' "$PROGRAM"

# --- nodes alone
is "nodes by name" '["t4-0","t4-1","t4-2","t4-3"]' bash -c '"$0" nodes --node "T4-[0-3],none" -o json | jq -c "[.[].node]"' "$PROGRAM"
is "their GPUs" '["t4-1"]' bash -c '"$0" nodes --gpus --node t4-1 -o json | jq -c "[.[].node] | unique"' "$PROGRAM"
ends 0 "no such node" 'capstan nodes: there is no such node' "$PROGRAM" nodes --node none
ends 0 "no GPU of such a node" 'capstan nodes: no GPU of such a node is known' "$PROGRAM" nodes --gpus --node none

# --- queues and states
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-f}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-q}, spec: {namespaceSelector: {},
 resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: $NS-f, resources: [{name: nvidia.com/gpu, nominalQuota: 1}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: $NS-l}, spec: {clusterQueue: $NS-q}}
YAML
"$KUBECTL" create namespace "$NS-other" >/dev/null
ends 3 "a queue of another namespace" "there is no LocalQueue $NS-l in namespace $NS-other; there is one in namespace $NS: -n $NS\$" \
    "$PROGRAM" submit --queue "$NS-l" -n "$NS-other" --gpus 1 --image x
ends 3 "one that is nowhere" "there is no LocalQueue $NS-nowhere in namespace $NS; there are: $NS-l\$" "$PROGRAM" submit --queue "$NS-nowhere" -n "$NS" --gpus 1 --image x
ends 0 "a job that waits" 'Job/large: submitted' "$PROGRAM" submit --queue "$NS-l" -n "$NS" --gpus 2 --name large --image x --anyway
soon "it waits" ' Queued ' "$PROGRAM" jobs -n "$NS"
ends 0 "a state that none has" '1 job is there, and none is as asked: their states are Queued; --all-namespaces shows the others' "$PROGRAM" jobs -n "$NS" --state queud
ends 0 "a name that none has" '1 job is there, and none is as asked; --all' "$PROGRAM" jobs -n "$NS" --name smal
ends 0 "nothing at all is said as before" "nothing in namespace $NS-other; --all-namespaces shows the others" "$PROGRAM" jobs -n "$NS-other"
ends 3 "to move it into a queue that is not there" "there is no LocalQueue none in namespace $NS; there are: $NS-l\$" "$PROGRAM" move job/large -q none -n "$NS"
ends 0 "it is held" 'Job/large: held' "$PROGRAM" hold job/large -n "$NS"
ends 0 "why says what lets it go on" "^would help: capstan resume Job/large -n $NS\$" "$PROGRAM" why job/large -n "$NS"
is "and nothing of what it waited for before" null bash -c '"$0" why job/large -n "$1" -o json | jq -c .reason' "$PROGRAM" "$NS"
says "programs are told, too" "\"resume\": \"capstan resume Job/large -n $NS\"" "$PROGRAM" why job/large -n "$NS" -o json
ends 0 "and that works" 'resumed' "$PROGRAM" resume Job/large -n "$NS"
soon "it waits again, and says for what" 'quota' "$PROGRAM" why job/large -n "$NS"

# --- a MIG layout that cannot be made
echo "# YAML
{apiVersion: v1, kind: Node, metadata: {name: cut-$NS, labels: {capstan.dev/simulated: 'true', nvidia.com/mig.config: all-9g}, annotations: {capstan.dev/shape: a100-40gb}}}" | "$KUBECTL" create -f - >/dev/null
soon "doctor says which, and why" "fault +node cut-$NS +MIG layout all-9g: no such layout; there are: .* correct its label nvidia.com/mig.config" bash -c '"$0" doctor || true' "$PROGRAM"
{ echo "# YAML"; echo "{apiVersion: v1, kind: Node, metadata: {name: busy-$NS, labels: {capstan.dev/simulated: 'true'}, annotations: {capstan.dev/shape: a100-40gb}}}"; } | "$KUBECTL" create -f - >/dev/null
{ echo "# YAML"; echo "{apiVersion: v1, kind: Pod, metadata: {name: busy, annotations: {capstan.dev/run-seconds: '600'}}, spec: {restartPolicy: Never, nodeName: busy-$NS, containers: [{name: c, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}}"; } | k create -f - >/dev/null
k wait pod/busy --for=condition=Ready --timeout=60s >/dev/null
"$KUBECTL" label node "busy-$NS" nvidia.com/mig.config=all-1g.5gb >/dev/null
soon "one that waits for a pod is no fault" "note +node busy-$NS +MIG layout all-1g.5gb: .* in use by $NS/busy +nothing: it is made once these have ended" bash -c '"$0" doctor || true' "$PROGRAM"
k delete pod busy --force >/dev/null 2>&1
"$KUBECTL" delete node "cut-$NS" "busy-$NS" >/dev/null
"$KUBECTL" delete namespace "$NS-other" --wait=false >/dev/null
