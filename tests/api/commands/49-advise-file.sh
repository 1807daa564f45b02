# capstan advise FILE: work that is not in the cluster yet. Each question is answered with evidence; what is printed has nothing to change any
# more, is applied, and runs
if ! embedded || [ -z "${PROGRAM:-}" ]; then
    skip "advice for a file" "needs an embedded server of its own"
    return
fi
if ! at_least 24; then
    skip "advice for a file" "kubectl $MINOR: one is enough"
    return
fi
"$PROGRAM" up --tls --nodes 2:t4 --nodes 1:a100-40gb,gpus=2,mig=1g.5gb --nodes 1:t4,gpus=2,replicas=4,name=shared --data-dir ./own \
    --listen 127.0.0.1:0 >own.log 2>&1 &
server=$!
appears own/kubeconfig
export KUBECONFIG=$PWD/own/kubeconfig
soon "a server of its own" 'shared-shared-0 +Ready ' "$KUBECTL" get nodes
ends() { # ends CODE WHAT PATTERN CMD...
    local code=$1 what=$2 pattern=$3 got; shift 3
    said=$(timeout 60 "$@" 2>&1); got=$?
    if [ "$got" = "$code" ] && grep -Eq -- "$pattern" <<<"$said"; then pass "$what"
    else miss "$what" "\$ $*" "wanted: exit code $code, $pattern" "exit code $got" "$said"; fi
}
advise() { "$PROGRAM" advise "$@" 2>/dev/null; }
answers() { says "$2" "^$1 +$3" advise "$4" --rule "$1" "${@:5}"; } # answers QUESTION WHAT PATTERN FILE [OPTION]...
# fixed NAME: what is printed for NAME.yaml has nothing to change, and is taken
fixed() {
    advise "$1.yaml" "${@:2}" --manifest >"$1-fixed.yaml"
    is "$1: each answer has evidence that says where it stands" true bash -c '"$0" advise "$@" -o json 2>/dev/null | jq "all(.[]; (.evidence | length > 0) and all(.evidence[]; (.what | length > 0) and (.from | length > 0)))"' "$PROGRAM" "$1.yaml" "${@:2}"
    is "$1: a change has its manifest, and how to apply it" true bash -c '"$0" advise "$@" -o json 2>/dev/null | jq "([.[] | select(.apply)] | length > 0) and all(.[]; (.apply == null) == (.manifest == []))"' "$PROGRAM" "$1.yaml" "${@:2}"
    ends 0 "$1: as it is printed there is nothing to change" ' answers, 0 with a change$' "$PROGRAM" advise "$1-fixed.yaml" "${@:2}"
    ok "$1: it is taken" "$KUBECTL" apply -f "$1-fixed.yaml"
}
pods() { echo "template: {metadata: {annotations: {capstan.dev/run-seconds: '${3:-600}'}}, spec: {restartPolicy: Never, containers: [{name: ${4:-main}, image: x, resources: {limits: {${1}: $2}}}]}}"; }
job() { # job NAME PODS GPUS [LABELS] [RESOURCE] [SECONDS]
    echo "# YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, labels: {${4:-}}}, spec: {parallelism: $2, completions: $2, $(pods "${5:-nvidia.com/gpu}" "$3" "${6:-600}")}}"
}

# --- gangs of any dialect: they are one workload, and are told to be whole; nobody is given a second group
whole() { # whole WHAT FILE PATTERN
    answers gang "$1" "$3" "$2"
    ends 0 "$1: nothing to change" ' 0 with a change$' "$PROGRAM" advise "$2" --rule gang
    answers start "$1: would start" '.*would start now' "$2"
}
whole "KAI's subgroups" "$ROOT/examples/jobs/31-kai.yaml" 'PodGroup default/serve +PodGroup serve starts 3 of its 3 pods together'
sed 's/schedulerName: kai-scheduler/schedulerName: capstan/' "$ROOT/examples/jobs/31-kai.yaml" >of-nobody.yaml
answers gang "KAI's words on a pod for another scheduler are no group" 'Pod default/serve-leader +one pod: it waits for nobody' of-nobody.yaml
whole "YuniKorn's task groups" "$ROOT/examples/jobs/30-yunikorn.yaml" 'Job default/bert +starts together with all that is of the task groups of its application'
# --- of what the server names
sed 's/^{apiVersion: batch.v1, kind: Job, metadata: {name: one,/{apiVersion: batch\/v1, kind: Job, metadata: {generateName: run-,/' <<<"$(job one 2 1)" >run.yaml
answers gang "of what the server names" 'Job default/run ' run.yaml
answers start "whether it would start" 'Job default/run +.*would start now' run.yaml
ok "what is printed has no name of ours" bash -c '"$0" advise run.yaml --manifest 2>/dev/null | grep -q "generateName: run-" && ! "$0" advise run.yaml --manifest 2>/dev/null | sed -n "/kind: Job/,\$p" | grep -q "^  name:"' "$PROGRAM"
native() { # native MEMBERS
    echo "# YAML
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: pair}, spec: {schedulingPolicy: {gang: {minCount: $1}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: two}, spec: {parallelism: 2, completions: 2, template: {spec: {restartPolicy: Never,
 schedulingGroup: {podGroupName: pair}, containers: [{name: main, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}"
}
native 2 >native.yaml
whole "a group of Kubernetes itself" native.yaml 'Job default/two +PodGroup pair starts 2 of its 2 pods together'
native 3 >native.yaml
answers gang "that waits for more than there are" 'Job default/two +PodGroup pair waits for 3 pods, and there are 2: it never starts +a minimum of 2' native.yaml
is "is given as many as there are" 2 bash -c '"$0" advise native.yaml --manifest 2>/dev/null | sed -n "s/.*minCount: //p"' "$PROGRAM"
sed '/PodGroup, metadata/d' native.yaml >alone.yaml
answers gang "whose group is not there" 'Job default/two +its pods name PodGroup pair, which is not there: they wait for it +make PodGroup pair \(scheduling.k8s.io\)' alone.yaml
ends 0 "is not given another dialect's" ' 0 with a change$' "$PROGRAM" advise alone.yaml --rule gang

# --- no queue at all: a group for those that need each other
job ring 4 2 >ring.yaml
answers queue "without queues there is none to stand in" 'Job default/ring +names no queue, and there are none: the scheduler places what comes' ring.yaml
answers gang "who needs all of its pods is told what starts them" 'Job default/ring +its 4 pods need each other, and nothing starts them together' ring.yaml
answers sharing "training on several GPUs has whole ones" 'Job default/ring +whole GPUs: each pod works on several' ring.yaml
answers start "and it would start" 'Job default/ring +would start now' ring.yaml
fixed ring
soon "ring: it runs as a group" '^4 4$' bash -c 'echo $("$0" get podgroups.scheduling.x-k8s.io ring -o jsonpath={.spec.minMember}) $("$0" get job ring -o jsonpath={.status.active})' "$KUBECTL"
answers start "what is there already is not asked about" 'Job default/ring +not known whether it would start now: it is in the cluster already' ring-fixed.yaml
"$KUBECTL" delete -f ring-fixed.yaml >/dev/null
{ job lost 2 1 | sed 's/template: {metadata: {/&labels: {scheduling.x-k8s.io\/pod-group: duo}, /'; } >lost.yaml
answers gang "a group that is nowhere" 'Job default/lost +its pods name PodGroup duo, which is not there' lost.yaml
fixed lost
soon "lost: it runs" '^2$' "$KUBECTL" get job lost -o 'jsonpath={.status.active}'
{ cat lost-fixed.yaml; echo ---; cat "$ROOT/examples/06-pod-group.yaml"; } | sed 's/minMember: 3/minMember: 5/' >trio.yaml
answers gang "a group that waits for more than there are" 'PodGroup default/trio +PodGroup trio waits for 5 pods, and there are 3: it never starts' trio.yaml
fixed trio
soon "trio: they run" '^3$' bash -c '"$0" get pods -l scheduling.x-k8s.io/pod-group=trio -o json | jq "[.items[] | select(.spec.nodeName)] | length"' "$KUBECTL"
answers gang "pods that do not need each other" 'Deployment default/web +its 3 pods do not need each other' <(echo "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: x}]}}}}")
answers gang "Volcano's Job is one" "Job default/ring +Volcano's Job starts all 4 pods or none" "$ROOT/examples/02-gang.yaml"
answers start "and would start" 'Job default/ring +would start now' "$ROOT/examples/02-gang.yaml"
sed 's/queue: default/queue: nowhere/' "$ROOT/examples/02-gang.yaml" >volcano.yaml
answers queue "in a Queue that is not there" 'Job default/ring +there is no Queue nowhere' volcano.yaml
fixed volcano
"$KUBECTL" delete -f volcano-fixed.yaml -f trio-fixed.yaml >/dev/null 2>&1

# --- kinds of Kubeflow, without a queue and with one
training() { echo "{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: $1}, spec: {pytorchReplicaSpecs: {Master: {replicas: 1, $(pods nvidia.com/gpu 1 600 pytorch)}, Worker: {replicas: 3, $(pods nvidia.com/gpu 1 600 pytorch)}}}}"; }
training llm >llm.yaml
answers gang "Kubeflow has words of its own" 'PyTorchJob default/llm +its 4 pods need each other' llm.yaml
fixed llm
"$KUBECTL" delete -f llm-fixed.yaml >/dev/null

# --- queues: a LocalQueue that is missing, one that is named wrongly, one without what is asked for
queue() { # queue NAME RESOURCE=QUOTA...
    local name=$1 quotas='' names=''; shift
    for q in "$@"; do names+="${names:+, }${q%=*}"; quotas+="${quotas:+, }{name: ${q%=*}, nominalQuota: ${q#*=}}"; done
    echo "---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $name}, spec: {namespaceSelector: {}, resourceGroups: [
 {coveredResources: [$names], flavors: [{name: any, resources: [$quotas]}]}]}}"
}
{ echo "# YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: any}}"; queue day nvidia.com/gpu=6 nvidia.com/mig-1g.5gb=4 capstan.dev/gpu-milli=4000; } | "$KUBECTL" apply -f - >/dev/null
job fleet 3 2 >fleet.yaml
answers queue "a LocalQueue is made" 'Job default/fleet +names no queue; LocalQueue day \(of ClusterQueue day\) has the most left' fleet.yaml
answers start "and it would start there" 'Job default/fleet +would start now' fleet.yaml
fixed fleet
soon "fleet: its queue lets it in" ' Running ' "$PROGRAM" jobs --name fleet
job next 2 1 'kueue.x-k8s.io/queue-name: dya' >next.yaml
answers queue "a queue that is not there" 'Job default/next +there is no LocalQueue dya in namespace default; LocalQueue day' next.yaml
answers gang "a queue is a gang" 'Job default/next +its queue starts all 2 pods or none' next.yaml
says "what would help it start" 'Job default/next +would wait: .* would help: ' advise next.yaml --rule queue,start
fixed next
soon "next: it waits in the queue" ' Queued ' "$PROGRAM" jobs --name next
job other 1 1 'kueue.x-k8s.io/queue-name: day' amd.com/gpu >other.yaml
answers queue "a queue without what is asked for" 'Job default/other +ClusterQueue day of its queue has no quota of amd.com/gpu, and no queue has quota of all that it asks for in namespace default' other.yaml
answers sharing "nor has any node" 'Job default/other +asks for amd.com/gpu, which no node offers' other.yaml
job greedy 1 1 | sed 's/nvidia.com\/gpu: 1/nvidia.com\/gpu: 1, cpu: 2/' >greedy.yaml
answers queue "a queue without quota of cpu would keep it out" 'Job default/greedy +names no queue, and no queue has quota of all that it asks for' greedy.yaml
job plain 1 1 '' cpu >plain.yaml
answers queue "who asks for no GPU needs none" 'Job default/plain +asks for no GPU: it needs no queue' plain.yaml
"$KUBECTL" delete job fleet next >/dev/null
soon "the queue is empty" '^ *$' "$PROGRAM" jobs -o name
job huge 4 2 'kueue.x-k8s.io/queue-name: day' >huge.yaml
answers start "what can never start" 'Job default/huge +could not start as things are: .*would help: 2 more nvidia.com/gpu of quota' huge.yaml
sed -n '/kind: TrainJob/,$p' "$ROOT/examples/05-trainjob.yaml" | sed '1i apiVersion: trainer.kubeflow.org/v1alpha1' | sed 's/namespace: team-a/namespace: default/; s/team-a-queue/day/' >train.yaml
{ sed '/^---/,$d' "$ROOT/examples/05-trainjob.yaml"; echo ---; cat train.yaml; } >both.yaml
sed '/^---/,$d' "$ROOT/examples/05-trainjob.yaml" | "$KUBECTL" apply -f - >/dev/null
answers queue "a TrainJob stands in its queue" 'TrainJob default/t5-large +stands in LocalQueue day of ClusterQueue day' both.yaml
answers start "its runtime says what its pods are" 'TrainJob default/t5-large +could not start as things are: .*resource cpu unavailable in ClusterQueue' both.yaml

# --- sets of groups, and Jobs that come by the clock
lws() { # lws NAME GPUS [LABELS]
    echo "# YAML
{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {name: $1, labels: {${3:-}}}, spec: {replicas: 2, leaderWorkerTemplate: {size: 3,
 leaderTemplate: {spec: {containers: [{name: c, image: x, resources: {limits: {nvidia.com/gpu: $2}}}]}},
 workerTemplate: {spec: {containers: [{name: c, image: x, resources: {limits: {nvidia.com/gpu: $2}}}]}}}}}"
}
lws model 1 >model.yaml
says "a LeaderWorkerSet: all of its pods count" '6 pods, each asks for 1 nvidia.com/gpu' advise model.yaml -o wide
answers queue "it stands in a queue" 'LeaderWorkerSet default/model +names no queue; LocalQueue day' model.yaml
answers gang "without one nobody starts its groups" 'LeaderWorkerSet default/model +the 3 pods of a group need each other, and nothing starts them together.* a queue: it starts each group as a whole' model.yaml
answers sharing "its pods work as one" 'LeaderWorkerSet default/model +whole GPUs: its pods work as one' model.yaml
answers time "it serves" 'LeaderWorkerSet default/model +serves: it has no end' model.yaml
fixed model
is "model: both templates say that their pods wait, and where" '["leaderworkerset.x-k8s.io/leaderworkerset","day","leaderworkerset.x-k8s.io/leaderworkerset","day"]' \
    bash -c '"$0" advise model.yaml --manifest 2>/dev/null | "$1" create --dry-run=client -o json -f - | jq -c "[.spec.leaderWorkerTemplate | .leaderTemplate, .workerTemplate | .metadata | .annotations[\"kueue.x-k8s.io/pod-suspending-parent\"], .labels[\"kueue.x-k8s.io/queue-name\"]]"' "$PROGRAM" "$KUBECTL"
answers gang "in a queue each group starts whole" 'LeaderWorkerSet default/model +its queue starts each group as a whole: all 3 pods or none' model-fixed.yaml
soon "model: both groups run" '^6$' bash -c '"$0" get pods -l leaderworkerset.sigs.k8s.io/name=model -o json | jq "[.items[] | select(.spec.nodeName)] | length"' "$KUBECTL"
answers start "what is there already" 'LeaderWorkerSet default/model +not known whether it would start now: it is in the cluster already' model-fixed.yaml
"$KUBECTL" delete lws model >/dev/null
soon "model: it is gone" '^ *$' "$PROGRAM" jobs -o name
lws wide 3 'kueue.x-k8s.io/queue-name: day' >wide.yaml
answers start "a group that can never start" 'LeaderWorkerSet default/wide +could not start as things are: .*would help: 3 more nvidia.com/gpu of quota' wide.yaml
cron() { # cron NAME PODS [LABELS] [LABELS OF ITS JOBS]
    echo "# YAML
{apiVersion: batch/v1, kind: CronJob, metadata: {name: $1, labels: {${3:-}}}, spec: {schedule: '@daily', jobTemplate: {metadata: {labels: {${4:-}}}, spec: {parallelism: $2, completions: $2, $(pods nvidia.com/gpu 1)}}}}"
}
cron nightly 2 >nightly.yaml
answers queue "a CronJob: its Jobs stand in the queue" 'CronJob default/nightly +names no queue; LocalQueue day' nightly.yaml
answers gang "without one nobody starts them as a whole" 'CronJob default/nightly +the 2 pods of a Job need each other, .* a queue: it starts each Job as a whole' nightly.yaml
answers start "and the next one would start" 'CronJob default/nightly +would start now' nightly.yaml
fixed nightly
is "nightly: what its Jobs are made of says so" '["day",true]' bash -c '"$0" get cronjob nightly -o json | jq -c ".spec.jobTemplate | [.metadata.labels[\"kueue.x-k8s.io/queue-name\"], .spec.suspend]"' "$KUBECTL"
ok "nightly: one of them" "$KUBECTL" create job nightly-1 --from cronjob/nightly
soon "nightly: it runs" ' Running ' "$PROGRAM" jobs --name nightly-1
cron vain 1 'kueue.x-k8s.io/queue-name: day' >vain.yaml
answers queue "a CronJob that names a queue where nobody reads it" 'CronJob default/vain +its Jobs do not wait for quota, .* say it there, too' vain.yaml
fixed vain
"$KUBECTL" delete cronjob nightly vain >/dev/null
ends 0 "one of Volcano's is not read" 'no advice for: CronJob v' "$PROGRAM" advise nightly.yaml -f <(echo '{apiVersion: batch.volcano.sh/v1alpha1, kind: CronJob, metadata: {name: v}}')
ends 2 "one without a Job" 'there is no workload in it, only CronJob none' "$PROGRAM" advise -f <(echo '{apiVersion: batch/v1, kind: CronJob, metadata: {name: none}, spec: {jobTemplate: 3}}')
ends 0 "hostile sizes are none" 'answers' "$PROGRAM" advise -f <(echo '{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {name: x}, spec: {replicas: 9223372036854775807, leaderWorkerTemplate: {size: -9223372036854775808, leaderTemplate: [], workerTemplate: {metadata: 3}}}}')

# --- how much of a GPU: by what is said, by what was measured
job tune-1 1 1 '' nvidia.com/gpu 2 >tune-1.yaml
answers sharing "nothing is known" 'Job default/tune-1 +a whole GPU: nothing was measured of earlier default/tune\* .*--gpu-memory' tune-1.yaml
soon "a part, as its owner says" '^sharing +Job default/tune-1 +asks for a whole GPU for work that a part .* a MIG slice nvidia.com/mig-1g.5gb' advise tune-1.yaml --rule sharing --gpu-memory 3Gi
answers sharing "most of one" 'Job default/tune-1 +a whole GPU, most of which it uses' tune-1.yaml --gpu-memory 9Gi
fixed tune-1 --gpu-memory 3Gi
soon "tune-1: it ran on a slice" '^1$' "$KUBECTL" get job tune-1 -o 'jsonpath={.status.succeeded}'
store() { # store FOLDER ACTIVE MIB HOURS: the cluster's, in which the pods of tune-1 were active for so much of an hour
    mkdir "$1"
    /usr/bin/python3 -c 'import sqlite3, sys
to = sqlite3.connect(sys.argv[1] + "/usage.db")
sqlite3.connect("own/usage.db").backup(to)
uids = "uid IN (SELECT uid FROM pod WHERE job = \"tune-1\")"
to.execute("UPDATE slice SET allocated_s = 3600, active_s = 3600 * ? WHERE " + uids, (float(sys.argv[2]),))
to.execute("UPDATE pod SET memory_high = ? * 1048576.0, memory_granted = 16384 * 1048576.0, end_s = start_s + 3600 * ? WHERE " + uids, (float(sys.argv[3]), float(sys.argv[4])))
to.commit()' "$@"
}
soon "tune-1: the usage store has it" '^1$' /usr/bin/python3 -c 'import sqlite3
print(sqlite3.connect("own/usage.db").execute("SELECT count(*) FROM pod JOIN slice USING (uid) WHERE job = ? AND end_s > 0", ("tune-1",)).fetchone()[0])'
store little 0.1 3000 20
store rare 0.02 1000 20
store much 0.9 3000 20
job tune-2 1 1 'kueue.x-k8s.io/queue-name: day' >tune-2.yaml
answers sharing "a part, by what earlier ones used" 'Job default/tune-2 +asks for a whole GPU for work .* 1 earlier pods of default/tune\*: 1\.0 GPU-hours given, 0\.1 active \(10\.0 %\), at most 3000 MiB used \(usage store .*little.* a MIG slice' tune-2.yaml --store little -o wide
answers sharing "now and then: time slices" 'Job default/tune-2 +asks for a whole GPU for work .* time slices: one after the other.*\(250 thousandths\)' tune-2.yaml --store rare
answers sharing "earlier ones used it" 'Job default/tune-2 +a whole GPU, most of which it uses' tune-2.yaml --store much
answers time "how long earlier ones took" 'Job default/tune-2 +has no limit of time: .* limit it to 41h' tune-2.yaml --store little
fixed tune-2 --store rare
soon "tune-2: it runs on a share" '^\["shared-shared-0",4\]$' bash -c '"$0" nodes --gpus -o json 2>/dev/null | jq -c ".[] | select(.usedBy[].name == \"tune-2\") | [.node, .slots]"' "$PROGRAM"
is "tune-2: its limit of time is twice that" 147600 "$KUBECTL" get job tune-2 -o 'jsonpath={.spec.activeDeadlineSeconds}'
job tune-3 1 1 'kueue.x-k8s.io/queue-name: day, kueue.x-k8s.io/max-exec-time-seconds: "600"' >tune-3.yaml
answers time "a limit that would have ended one" 'Job default/tune-3 +its limit of 10m would have ended an earlier one' tune-3.yaml --store much
"$KUBECTL" patch clusterqueue day --type json -p '[{"op":"replace","path":"/spec/resourceGroups/0","value":{"coveredResources":["nvidia.com/gpu"],"flavors":[{"name":"any","resources":[{"name":"nvidia.com/gpu","nominalQuota":"6"}]}]}}]' >/dev/null
answers sharing "a queue without quota of parts" 'Job default/tune-3 +asks for a whole .*for that ClusterQueue day needs quota of nvidia.com/mig-1g.5gb' tune-3.yaml --store little
job cut 1 1 '' nvidia.com/mig-1g.10gb >cut.yaml
answers sharing "a slice of another model" 'Job default/cut +asks for nvidia.com/mig-1g.10gb, which no node offers .*docs/sharing.md' cut.yaml

# --- too large for the slices that there are: time slices, and MPS where a node has it
"$KUBECTL" delete jobs --all >/dev/null
"$KUBECTL" delete localqueues --all >/dev/null
"$KUBECTL" delete clusterqueue day >/dev/null
job half 1 1 >half.yaml
answers sharing "no slice is large enough" 'Job default/half +asks for a whole .*time slices' half.yaml --gpu-memory 5500Mi
"$KUBECTL" create configmap mps -n gpu-operator --from-literal=mps='{"version": "v1", "sharing": {"mps": {"resources": [{"name": "nvidia.com/gpu", "replicas": 4}]}}}' >/dev/null
"$KUBECTL" label node t4-1 nvidia.com/device-plugin.config=mps >/dev/null
soon "a node shares by MPS" '^mps$' "$KUBECTL" get node t4-1 -o 'jsonpath={.metadata.labels.nvidia\.com/gpu\.sharing-strategy}'
answers sharing "MPS holds it to its part" 'Job default/half +asks for a whole .* a share by MPS: side by side.*\(500 thousandths\)' half.yaml --gpu-memory 5500Mi
fixed half --gpu-memory 5500Mi
soon "half: it runs there" '^t4-1$' "$KUBECTL" get pods -l job-name=half -o 'jsonpath={.items[0].spec.nodeName}'

# --- bad input, rights
ends 2 "no such file" 'advise: .*nowhere.yaml' "$PROGRAM" advise nowhere.yaml
ends 2 "no workload" 'there is no workload in it' "$PROGRAM" advise -f <(queue a nvidia.com/gpu=1)
ends 2 "no object" 'not a Kubernetes object' "$PROGRAM" advise -f <(echo 'a: 1')
ends 2 "no name" 'Job: metadata.name: say how it is called' "$PROGRAM" advise -f <(echo '{apiVersion: batch/v1, kind: Job}')
ends 2 "no YAML" 'line [12]' "$PROGRAM" advise -f <(echo '{a: [')
ends 2 "no such question" "there is no rule 'queu'; did you mean queue" "$PROGRAM" advise ring.yaml --rule queu
ends 2 "a file is not replaced" '--replace and --for are of what is in the cluster' "$PROGRAM" advise ring.yaml --replace
ends 2 "memory that is none" "--gpu-memory: write an amount as 6Gi, not '-3'" "$PROGRAM" advise ring.yaml --gpu-memory=-3
ends 2 "memory of no file" '--gpu-memory: name the file' "$PROGRAM" advise --gpu-memory 3Gi
says "what the server says of it, without the path of a request" 'not known whether it would start now: [^/]*invalid' advise -f <(job x 1 1 | sed 's/restartPolicy: Never/restartPolicy: Always/') --rule start
says "and without its example of many lines" 'not known whether it would start now: [^?;]*naming a runtime[^?;]* nothing$' advise -f <(echo '{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: bare}, spec: {trainer: {numNodes: 2}}}') --rule start
ends 0 "several files, and one from a pipe" 'capstan advise: 15 answers' bash -c 'cat next.yaml | "$0" advise ring.yaml -f huge.yaml -' "$PROGRAM"
ends 0 "kinds that have no pods are said" 'no advice for: Role a' "$PROGRAM" advise ring.yaml -f <(echo '{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}}')
ends 0 "hostile values are none" 'answers' "$PROGRAM" advise -f <(echo '{apiVersion: batch/v1, kind: Job, metadata: {name: x, labels: [1]}, spec: {parallelism: 9223372036854775807, completions: 9223372036854775807, template: {spec: {containers: [3, {resources: {limits: {nvidia.com/gpu: 9999999999999999999}}}]}}}}')
"$KUBECTL" create serviceaccount anna >/dev/null
"$KUBECTL" create rolebinding anna --clusterrole view --serviceaccount default:anna >/dev/null
sed '/client-\|token/d' own/kubeconfig >anna.yaml
KUBECONFIG=anna.yaml "$KUBECTL" config set-credentials anna --token "$("$KUBECTL" create token anna)" >/dev/null
KUBECONFIG=anna.yaml "$KUBECTL" config set-context --current --user anna >/dev/null
ends 0 "who may not look is told so" 'not known whether it would start now: .*forbidden' "$PROGRAM" advise ring.yaml --kubeconfig anna.yaml
kill "$server"
