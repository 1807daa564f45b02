# capstan advise: each rule finds what was made for it and says by which numbers; what it prints is applied, and the finding is gone
if ! embedded || [ -z "${PROGRAM:-}" ]; then
    skip "advice" "needs an embedded server of its own"
    return
fi
"$PROGRAM" up --tls --nodes 2:t4 --nodes 1:a100-40gb,gpus=2,mig=1g.5gb --nodes 1:l4 --data-dir ./own --listen 127.0.0.1:0 >own.log 2>&1 &
server=$!
appears own/kubeconfig
export KUBECONFIG=$PWD/own/kubeconfig
ends() { # ends CODE WHAT PATTERN CMD...: the exit code, and what it said on both streams
    local code=$1 what=$2 pattern=$3 got; shift 3
    said=$(timeout 60 "$@" 2>&1); got=$?
    if [ "$got" = "$code" ] && grep -Eq -- "$pattern" <<<"$said"; then pass "$what"
    else miss "$what" "\$ $*" "wanted: exit code $code, $pattern" "exit code $got" "$said"; fi
}
advise() { "$PROGRAM" advise --for 1s "$@" 2>/dev/null; }
by() { advise --rule "$1" -o json | jq -c "${2:-length}"; } # by RULE [JQ]: what the rule finds
# finds RULE ABOUT PATTERN: the finding, and evidence that says where each number stands
finds() {
    soon "$1: it is found" "^$1 +$2 +$3" advise --rule "$1"
    is "$1: each piece of evidence has a number or a name, and its place" true by "$1" '[.[].evidence | length >= 2 and all(.[]; (.what | length > 0) and (.from | length > 0))] | all'
}
# applied RULE [--replace]: what is printed is taken, the finding is gone, and a second time there is nothing to do
applied() {
    local how=${2:---manifest}
    advise --rule "$1" "$how" >"$1.yaml"
    if [ "$how" = --replace ]; then ok "$1: it is taken" "$KUBECTL" replace --force -f "$1.yaml"
    else ok "$1: it is taken" "$KUBECTL" apply -f "$1.yaml"; fi
    soon "$1: and it is gone" '^0$' by "$1"
}
soon "a server of its own" ' Ready ' "$KUBECTL" get nodes
ends 0 "an empty cluster needs no advice" '^capstan advise: 0 findings$' "$PROGRAM" advise

# --- teams without quota
"$KUBECTL" create namespace red >/dev/null
"$KUBECTL" create namespace blue >/dev/null
pod() { # pod NAMESPACE NAME GPUS [ANNOTATIONS]
    echo "{apiVersion: v1, kind: Pod, metadata: {name: $2, namespace: $1, annotations: {capstan.dev/run-seconds: '600'${4:+, $4}}},
     spec: {containers: [{name: c, image: x, resources: {limits: {nvidia.com/gpu: $3}}}]}}"
}
{ echo "# YAML"; pod red a 1; echo ---; pod blue b 2; } | "$KUBECTL" apply -f - >/dev/null
finds no-quota cluster '2 namespaces use GPUs and none has a quota'
says "no-quota: whose" '"red: 1","Pods without a queue"' by no-quota '[.[0].evidence[] | [.what, .from]]'
applied no-quota
is "no-quota: every GPU is somebody's, none twice" '[16,8]' bash -c '"$0" get clusterqueues -o json | jq -c "[[\"tesla-t4\", \"nvidia-l4\"][] as \$f |
    [.items[].spec.resourceGroups[].flavors[] | select(.name == \$f) | .resources[].nominalQuota | tonumber] | add]"' "$KUBECTL"
soon "no-quota: the queues admit" '^True True $' "$KUBECTL" get clusterqueues -o 'jsonpath={range .items[*]}{.status.conditions[?(@.type=="Active")].status} {end}'
"$KUBECTL" delete pod a -n red --wait=false >/dev/null
"$KUBECTL" delete pod b -n blue --wait=false >/dev/null
"$KUBECTL" delete clusterqueues,resourceflavors --all >/dev/null
"$KUBECTL" delete localqueues --all -A >/dev/null

# --- quota beyond what nodes have; nodes that no queue may use
queue() { # queue NAME QUOTA [SPEC]
    echo "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $1}, spec: {namespaceSelector: {}${3:+, $3}, resourceGroups: [
     {coveredResources: [nvidia.com/gpu], flavors: [{name: t4, resources: [{name: nvidia.com/gpu, nominalQuota: $2}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: $1, namespace: red}, spec: {clusterQueue: $1}}
---"
}
{ echo "# YAML"; queue big 30; queue small 10; echo "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: t4}, spec: {nodeLabels: {nvidia.com/gpu.product: Tesla-T4}}}"; } |
    "$KUBECTL" apply -f - >/dev/null
finds quota-without-nodes 'ResourceFlavor t4' 'queues are promised 40 nvidia.com/gpu, and there are 16'
applied quota-without-nodes
is "quota-without-nodes: in the same proportion" '12 4 ' "$KUBECTL" get clusterqueues -o 'jsonpath={range .items[*]}{.spec.resourceGroups[0].flavors[0].resources[0].nominalQuota} {end}'
finds nodes-without-flavor 'nodes with NVIDIA-L4' 'no ClusterQueue has quota of their nvidia.com/gpu'
advise --rule nodes-without-flavor --manifest >l4.yaml
ok "nodes-without-flavor: it is taken" "$KUBECTL" apply -f l4.yaml
is "nodes-without-flavor: those with slices are left" '["nodes with NVIDIA-A100-SXM4-40GB"]' by nodes-without-flavor '[.[].about]'
soon "nodes-without-flavor: a job gets there" ' Running ' bash -c '"$0" submit -n red --queue big --gpus 1x13 --name probe --image x --anyway >/dev/null 2>&1; "$0" submit -n red --queue big --gpus 8x1 --name l4 --image x --anyway --annotation capstan.dev/run-seconds=30 >/dev/null 2>&1; "$0" jobs -n red --name l4 | grep " Running "' "$PROGRAM"
"$KUBECTL" delete jobs --all -n red >/dev/null
"$KUBECTL" delete clusterqueues,resourceflavors --all >/dev/null
"$KUBECTL" delete localqueues --all -A >/dev/null

# --- lent and not given back; jobs without an end; a head that blocks
{ echo "# YAML"; queue guest 8 "cohortName: c"; queue owner 8 "cohortName: c, preemption: {reclaimWithinCohort: Never}"
    queue strict 0 "queueingStrategy: StrictFIFO"
    echo "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: t4}, spec: {nodeLabels: {nvidia.com/gpu.product: Tesla-T4}}}"; } | "$KUBECTL" apply -f - >/dev/null
run() { "$PROGRAM" submit -n red --image x --anyway --annotation capstan.dev/run-seconds=600 "$@" >/dev/null 2>&1; }
run --queue guest --gpus 8x1 --name own
run --queue guest --gpus 6x1 --name borrows
soon "the guest borrows" '"6"' bash -c '"$0" get clusterqueue guest -o json | jq -c ".status.flavorsReservation[0].resources[0].borrowed"' "$KUBECTL"
run --queue owner --gpus 4x1 --name mine
finds no-reclaim 'ClusterQueue owner' '1 wait below its own quota, which others of cohort c have borrowed'
says "no-reclaim: who borrows" 'borrowed: guest 6' by no-reclaim '.[0].evidence'
is "no-time-limit: only where somebody waits" 0 by no-time-limit
run --queue guest --gpus 1x1 --name more --priority 0
run --queue guest --gpus 4x1 --name waits
finds no-time-limit 'ClusterQueue guest' '[12] wait, and [23] of [23] running Jobs have no limit of time'
applied no-time-limit
is "no-time-limit: a day at least, and they run on" '86400 true' bash -c '"$0" get job own -n red -o json | jq -r "\"\(.spec.activeDeadlineSeconds) \(.status.active == 8)\""' "$KUBECTL"
applied no-reclaim
soon "no-reclaim: and the owner has its own" ' Running ' "$PROGRAM" jobs -n red --name mine
"$KUBECTL" delete jobs --all -n red >/dev/null
"$KUBECTL" patch clusterqueue strict --type json -p '[{"op":"replace","path":"/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota","value":"6"}]' >/dev/null
run --queue strict --gpus 4x1 --name first
soon "the first runs" ' Running ' "$PROGRAM" jobs -n red --name first
run --queue strict --gpus 5x1 --name head
soon "the head waits" ' Queued ' "$PROGRAM" jobs -n red --name head
run --queue strict --gpus 2x1 --name little
finds strict-head 'ClusterQueue strict' 'its first one does not fit, and 1 of the 1 behind it would'
applied strict-head
soon "strict-head: and the little one runs" ' Running ' "$PROGRAM" jobs -n red --name little
"$KUBECTL" delete jobs --all -n red >/dev/null

# --- a gang that nobody starts as a whole
gang() { # gang NAME N NAMESPACE
    echo "# YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, namespace: $3}, spec: {parallelism: $2, completions: $2, template: {metadata: {annotations: {capstan.dev/run-seconds: '600'}},
 spec: {restartPolicy: Never, nodeSelector: {nvidia.com/gpu.product: NVIDIA-L4}, containers: [{name: c, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}"
}
gang torn 12 blue | "$KUBECTL" apply -f - >/dev/null
finds gang-in-part 'Job blue/torn' '8 of its 12 pods have started and hold 8 GPUs, the others wait'
is "gang-in-part: not before its time" '[]' bash -c '"$0" advise --for 1h --rule gang-in-part -o json 2>/dev/null' "$PROGRAM"
is "gang-in-part: nothing for kubectl apply" '' advise --rule gang-in-part --manifest
applied gang-in-part --replace
soon "gang-in-part: it is a gang now, and holds nothing" '^12 0$' bash -c '"$0" get podgroups.scheduling.x-k8s.io torn -n blue -o json | jq -r ".spec.minMember" | tr "\n" " "; "$0" get pods -n blue -o json | jq "[.items[] | select(.spec.nodeName)] | length"' "$KUBECTL"
"$KUBECTL" delete job torn -n blue >/dev/null
gang queued 12 red | "$KUBECTL" apply -f - >/dev/null
finds gang-in-part 'Job red/queued' '8 of its 12 pods have started'
applied gang-in-part --replace
says "gang-in-part: where there is a queue, it stands in it" '^(guest|owner|strict)$' "$KUBECTL" get job queued -n red -o 'jsonpath={.metadata.labels.kueue\.x-k8s\.io/queue-name}'
"$KUBECTL" delete jobs --all -n red >/dev/null
echo "# YAML
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: most, namespace: blue}, spec: {schedulingPolicy: {gang: {minCount: 8}}}}" |
    "$KUBECTL" apply -f - >/dev/null
gang most 12 blue | sed 's/spec: {restartPolicy/spec: {schedulingGroup: {podGroupName: most}, restartPolicy/' | "$KUBECTL" apply -f - >/dev/null
soon "gang-in-part: of a PodGroup of Kubernetes itself its minimum runs" '^8$' bash -c '"$0" get pods -n blue -l job-name=most -o json | jq "[.items[] | select(.spec.nodeName)] | length"' "$KUBECTL"
sleep 2
is "gang-in-part: and that is what was asked for" "[]" advise --rule gang-in-part -o json
"$KUBECTL" delete job most -n blue >/dev/null

# --- a queue that is named in vain
echo "# YAML
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: vain, namespace: red, labels: {kueue.x-k8s.io/queue-name: guest}}, spec: {replicas: 1, selector: {matchLabels: {app: vain}},
 template: {metadata: {labels: {app: vain}}, spec: {containers: [{name: c, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}" >vain.yaml
ends 0 "who names a queue in vain is told so" 'does nothing: write it into spec.template.metadata.labels, too' "$KUBECTL" apply -f vain.yaml
ends 1 "by lint, too" 'vain.yaml:2 ReplicaSet/vain: warning: metadata.labels.*queue-name.: its pods do not wait for quota' "$PROGRAM" lint vain.yaml
soon "and by an event" 'PodsNotHeld' "$KUBECTL" get events -n red
soon "and whoever asks why" '^not queued: its pods do not wait for quota, .*as kueue.x-k8s.io/queue-name: guest$' "$PROGRAM" why rs/vain -n red
is "and programs" true bash -c '"$0" why rs/vain -n red -o json | jq ".notQueued | test(\"spec.template.metadata.labels\")"' "$PROGRAM"
finds not-queued 'ReplicaSet red/vain' 'its pods do not wait for quota'
is "not-queued: one namespace alone" '[]' bash -c '"$0" advise -n blue --rule not-queued -o json 2>/dev/null' "$PROGRAM"
applied not-queued
"$KUBECTL" delete pods -n red -l app=vain >/dev/null
soon "not-queued: its next pods stand in the queue" '^guest$' "$KUBECTL" get workloads -n red -o 'jsonpath={range .items[?(@.metadata.ownerReferences[0].kind=="Pod")]}{.spec.queueName}{"\n"}{end}'
is "not-queued: and nobody is told any more" null bash -c '"$0" why rs/vain -n red -o json | jq .notQueued' "$PROGRAM"
"$KUBECTL" delete replicaset vain -n red >/dev/null

# --- what was measured: idle, and small work
{ echo "# YAML"; pod blue sleeps 1 "capstan.dev/gpu-activity: '0'"
    for kind in lazy:0:0.5 light:0.1:0.05 busy:0.9:0.9; do
        IFS=: read -r name activity memory <<<"$kind"
        echo "---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: $name, namespace: blue}, spec: {replicas: 2, selector: {matchLabels: {app: $name}}, template: {
 metadata: {labels: {app: $name}, annotations: {capstan.dev/gpu-activity: '$activity', capstan.dev/gpu-memory: '$memory'}},
 spec: {containers: [{name: c, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}"
    done; } | "$KUBECTL" apply -f - >/dev/null
run --queue guest --gpus 2x1 --name dozes --annotation capstan.dev/gpu-activity=0
finds idle-gpus 'Deployment blue/lazy' 'has 2 nvidia.com/gpu and computes nothing'
says "idle-gpus: by the node's own numbers" 'active 0.0 % of the time, [0-9]+ of [0-9]+ MiB used.*Node [a-z0-9-]+, annotation capstan.dev/gpu-feedback' by idle-gpus '.[0].evidence'
soon "idle-gpus: and by the usage store" 'Deployment blue/lazy .*[0-9.]+ GPU-hours given, 0\.0 active \(usage store .*own/usage\.db\)' advise --rule idle-gpus -o wide
store() { # store FOLDER JOB ACTIVE: the cluster's, in which each pod of the job was active for so much of the hour that it was given
    mkdir "$1"
    /usr/bin/python3 -c 'import sqlite3, sys
to = sqlite3.connect(sys.argv[1] + "/usage.db")
sqlite3.connect("own/usage.db").backup(to)
to.execute("UPDATE slice SET allocated_s = 3600, active_s = 3600 * ? WHERE uid IN (SELECT uid FROM pod WHERE job = ?)", (float(sys.argv[3]), sys.argv[2]))
to.commit()' "$@"
}
store hour-idle lazy 0.05
store hour-busy lazy 0.5
says "idle-gpus: idle for most of its time: told" 'blue/lazy .*2\.0 GPU-hours given, 0\.1 active \(usage store .*hour-idle' advise --rule idle-gpus -o wide --store hour-idle
is "idle-gpus: a pause of one that computes for most of its time is none" '[]' bash -c '"$0" advise --for 1s --rule idle-gpus -o json --store hour-busy 2>/dev/null | jq -c "[.[].about | select(test(\"lazy\"))]"' "$PROGRAM"
soon "idle-gpus: what a queue holds, too" '^idle-gpus +Job red/dozes +has 2' advise --rule idle-gpus
soon "idle-gpus: a pod of nobody cannot be applied" 'idle-gpus +Pod blue/sleeps .* delete it' advise --rule idle-gpus
is "idle-gpus: not before its time" '[]' bash -c '"$0" advise --for 1h --rule idle-gpus -o json 2>/dev/null' "$PROGRAM"
is "idle-gpus: one namespace alone" '["Job red/dozes"]' bash -c '"$0" advise --for 1s --rule idle-gpus -n red -o json 2>/dev/null | jq -c "[.[].about]"' "$PROGRAM"
"$KUBECTL" delete pod sleeps -n blue >/dev/null
soon "idle-gpus: that one is gone" '^2$' by idle-gpus
applied idle-gpus
soon "idle-gpus: nobody is asked to do more than stop" ' Deactivated ' "$PROGRAM" jobs -n red --name dozes
is "idle-gpus: others go on" 2 "$KUBECTL" get deployment busy -n blue -o 'jsonpath={.status.readyReplicas}'
finds small-work 'Deployment blue/light' 'has 2 whole GPUs \(Tesla-T4|small-work +Deployment blue/light +has 2 whole GPUs'
says "small-work: a slice that is free" 'ask for nvidia.com/mig-1g.5gb: its own engines and 5 GB' advise --rule small-work
store hour-light light 0.2
store hour-heavy light 0.4
says "small-work: nor was it ever more" 'blue/light .*2\.0 GPU-hours given, 0\.4 active \(usage store .*hour-light' advise --rule small-work -o wide --store hour-light
is "small-work: one that is large for most of its time is left alone" '[]' bash -c '"$0" advise --for 1s --rule small-work -o json --store hour-heavy 2>/dev/null | jq -c "[.[].about]"' "$PROGRAM"
applied small-work
soon "small-work: and it runs on slices" '^2$' bash -c '"$0" nodes --gpus -o json 2>/dev/null | jq "[.[] | select(.resource == \"nvidia.com/mig-1g.5gb\") | .usedBy[] | select(.name == \"light\")] | length"' "$PROGRAM"

# --- enough is free, but not together
"$KUBECTL" delete jobs,deployments --all -n blue >/dev/null
"$KUBECTL" delete jobs --all -n red >/dev/null
{ echo "# YAML"; queue pieces 16 "queueingStrategy: BestEffortFIFO" | sed 's/name: pieces}, spec: {names/name: pieces, annotations: {capstan.dev\/placement: spread}}, spec: {names/'; } | "$KUBECTL" apply -f - >/dev/null
soon "nobody has a GPU" '^0$' bash -c '"$0" get pods -A -o json | jq "[.items[] | select(.spec.nodeName)] | length"' "$KUBECTL"
run --queue pieces --gpus 1x3 --name left
soon "one is here" ' Running ' "$PROGRAM" jobs -n red --name left
run --queue pieces --gpus 1x3 --name right
soon "one is there" ' Running ' "$PROGRAM" jobs -n red --name right
is "moves: nobody waits" 0 by moves
member() { # member NAME GPUS OF-METADATA OF-SPEC: a pod of a gang, which wants a T4
    echo "---
{apiVersion: v1, kind: Pod, metadata: {name: $1, namespace: red$3}, spec: {restartPolicy: Never$4, nodeSelector: {nvidia.com/gpu.product: Tesla-T4},
 containers: [{name: c, image: x, resources: {limits: {nvidia.com/gpu: $2}}}]}}"
}
moves_group() { # moves_group WHAT GROUP OF-METADATA OF-SPEC: of two pods, one of which needs a node of its own
    { echo "# YAML"; echo "$2"; member large 8 "$3" "$4"; member small 1 "$3" "$4"; } | "$KUBECTL" apply -f - >/dev/null
    finds moves 'PodGroup red/gang' 'enough GPUs for it are free, but not together: it would start with Job red/(left|right) elsewhere'
    says "moves: $1: whose queue lets them not" '"QueueDoesNotAllow","ClusterQueue pieces, annotation' by moves '[.[0].evidence[] | [.what, .from]]'
    is "moves: $1: found once" '["PodGroup red/gang"]' by moves '[.[].about]'
    is "moves: $1: whose queues allow it" '["pieces"]' by moves '[.[0].manifest[].metadata.name]'
    "$KUBECTL" delete pods large small -n red >/dev/null
    "$KUBECTL" delete "$5" gang -n red >/dev/null
    soon "moves: $1: gone" '^0$' by moves
}
moves_group "a group of Kubernetes itself" '{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: gang, namespace: red}, spec: {schedulingPolicy: {gang: {minCount: 2}}}}' \
    '' ', schedulingGroup: {podGroupName: gang}' podgroups.scheduling.k8s.io
moves_group "KAI's" '{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: gang, namespace: red}, spec: {minMember: 2, queue: default}}' \
    ', annotations: {pod-group-name: gang}' ', schedulerName: kai-scheduler' podgroups.scheduling.run.ai
moves_group "coscheduling's" '{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: gang, namespace: red}, spec: {minMember: 2}}' \
    ', labels: {scheduling.x-k8s.io/pod-group: gang}' '' podgroups.scheduling.x-k8s.io
run --queue pieces --gpus 1x8 --name whole
finds moves 'Job red/whole' 'enough GPUs for it are free, but not together: it would start with Job red/(left|right) elsewhere, at a loss of 0\.. GPU-hours'
says "moves: who goes where, and who lets him not" '(left|right) would go to t4-[01], and lose .*"QueueDoesNotAllow","ClusterQueue pieces, annotation' by moves '[.[0].evidence[] | [.what, .from]]'
applied moves
soon "moves: and it starts" ' Running ' "$PROGRAM" jobs -n red --name whole
soon "moves: who went has a place" '^2$' bash -c '"$0" jobs -n red --name left,right -o json | jq "[.[] | select(.state == \"Running\")] | length"' "$PROGRAM"
"$KUBECTL" delete jobs --all -n red >/dev/null

# --- bad input, rights
ends 2 "no such rule" '--rule: there is no rule .idle-gpu.; did you mean idle-gpus' "$PROGRAM" advise --rule idle-gpu
ends 2 "nor that" 'write one of: idle-gpus small-work' "$PROGRAM" advise --rule idle-gpus,zzzzzzzzzzzz
ends 2 "one way to apply at a time" 'either --manifest or --replace' "$PROGRAM" advise --manifest --replace
ends 2 "manifests are YAML" 'manifests are YAML' "$PROGRAM" advise --manifest -o json
ends 2 "nobody there" 'advise: .*(refused|onnect)' "$PROGRAM" advise --kubeconfig <(sed 's|server: .*|server: https://127.0.0.1:1|' own/kubeconfig)
ends 0 "a store that is not there is said" 'not looked at: .*there is no such file' "$PROGRAM" advise --store ./nowhere
"$KUBECTL" create serviceaccount anna -n red >/dev/null
"$KUBECTL" create rolebinding anna -n red --clusterrole view --serviceaccount red:anna >/dev/null
sed '/client-\|token/d' own/kubeconfig >anna.yaml
KUBECONFIG=anna.yaml "$KUBECTL" config set-credentials anna --token "$("$KUBECTL" create token anna -n red)" >/dev/null
KUBECONFIG=anna.yaml "$KUBECTL" config set-context --current --user anna >/dev/null
ends 0 "who may not look is told what was not looked at" 'not looked at: .*nodes.* is forbidden' "$PROGRAM" advise -n red --kubeconfig anna.yaml
"$KUBECTL" annotate node t4-0 --overwrite 'capstan.dev/gpu-feedback={"at":1,"units":[{"id":7},"x",{"id":"GPU-a","activity":1e999}' 'capstan.dev/devices=[{"id":3}' >/dev/null
ends 0 "annotations that are none are no finding" 'findings$' "$PROGRAM" advise --for 1s
kill "$server"

# --- without queues, and with GPUs that are handed out in shares: what has to be made anew for a share; jobs and sets that stop
"$PROGRAM" up --tls --nodes 2:t4 --nodes 1:t4,gpus=2,replicas=4,name=shared --data-dir ./shares --listen 127.0.0.1:0 >shares.log 2>&1 &
server=$!
appears shares/kubeconfig
export KUBECONFIG=$PWD/shares/kubeconfig
soon "a server with shares" 'shared-shared-0 +Ready ' "$KUBECTL" get nodes
work() { # work APIVERSION KIND NAME ACTIVITY MEMORY GPUS SPEC POD: that stands on whole GPUs at first
    echo "---
{apiVersion: $1, kind: $2, metadata: {name: $3, namespace: default}, spec: {$7, template: {metadata: {labels: {app: $3}, annotations: {
 capstan.dev/run-seconds: '600', capstan.dev/gpu-activity: '$4', capstan.dev/gpu-memory: '$5'}}, spec: {${8-}
 containers: [{name: c, image: x, resources: {limits: {nvidia.com/gpu: $6}}}]}}}}"
}
"$KUBECTL" cordon shared-shared-0 >/dev/null
{ echo "# YAML"
    work batch/v1 Job part 0.1 0.35 1 "parallelism: 1" "restartPolicy: Never,"
    work apps/v1 Deployment wide 0.1 0.05 2 "replicas: 1, selector: {matchLabels: {app: wide}}"
    work batch/v1 Job dozes 0 0 1 "parallelism: 1" "restartPolicy: Never,"
    work apps/v1 StatefulSet rests 0 0 1 "replicas: 2, serviceName: rests, selector: {matchLabels: {app: rests}}"; } | "$KUBECTL" apply -f - >/dev/null
soon "all have their GPUs" '^5$' bash -c '"$0" get pods -o json | jq "[.items[].status | select(.phase == \"Running\")] | length"' "$KUBECTL"
"$KUBECTL" uncordon shared-shared-0 >/dev/null
finds idle-gpus 'StatefulSet default/rests' 'has 2 nvidia.com/gpu and computes nothing'
finds idle-gpus 'Job default/dozes' 'has 1 nvidia.com/gpu and computes nothing'
applied idle-gpus
is "idle-gpus: a Job is suspended, a set is scaled to nothing" 'true 0' bash -c 'echo $("$0" get job dozes -o jsonpath={.spec.suspend}) $("$0" get statefulset rests -o jsonpath={.spec.replicas})' "$KUBECTL"
finds small-work 'Job default/part' 'has 1 whole GPU '
is "small-work: pods with several GPUs each are no work for a part of one" '["Job default/part"]' by small-work '[.[].about]'
says "small-work: a share, where no slice is free" 'ask for 500 thousandths of a GPU' advise --rule small-work
is "small-work: nothing for kubectl apply" '' advise --rule small-work --manifest
applied small-work --replace
soon "small-work: and it runs on a share" '^\["shared-shared-0",4\]$' bash -c '"$0" nodes --gpus -o json 2>/dev/null | jq -c ".[] | select(.usedBy[].name == \"part\") | [.node, .slots]"' "$PROGRAM"
kill "$server"
