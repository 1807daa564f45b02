# Our own commands: what their help, man pages and README promise, with exit codes; and that every sentence they print is so.
if ! embedded || [ -z "${PROGRAM:-}" ]; then
    skip "the commands" "needs an embedded server of its own"
    return
fi
# ends CODE WHAT PATTERN CMD...: the exit code, and what it said on both streams
ends() {
    local code=$1 what=$2 pattern=$3 got; shift 3
    said=$(timeout 60 "$@" 2>&1); got=$?
    if [ "$got" = "$code" ] && grep -Eq -- "$pattern" <<<"$said"; then pass "$what"
    else miss "$what" "\$ $*" "wanted: exit code $code, $pattern" "exit code $got" "$said"; fi
}
export PROGRAM

# --- a full disk
for verb in up demo scheduler agent submit why hold resume requeue move cancel queues jobs nodes report lint nvsim sim mig sessions completion version; do
    ends 0 "$verb --help: an example" '[Ee]xample' "$PROGRAM" "$verb" --help
    ends 0 "help $verb is the same" '[Uu]sage: capstan '"$verb" "$PROGRAM" help "$verb"
    ends 2 "$verb --hlep: what was meant" "capstan $verb: unknown option --hlep; did you mean --help\?" "$PROGRAM" "$verb" --hlep
    ends 1 "$verb --help: a full disk" "capstan $verb: standard output: No space left" bash -c '"$PROGRAM" "$@" >/dev/full' - "$verb" --help
done
for verb in queues jobs nodes version; do
    for format in table wide json yaml csv; do
        ends 1 "$verb -o $format: a full disk" "capstan $verb: standard output: No space left" bash -c '"$PROGRAM" "$@" >/dev/full' - "$verb" -o "$format"
    done
done
(
    eval "$("$PROGRAM" nvsim create node --model a100-40gb --gpus 2)"
    ends 2 "a list that is given twice means both" '\[1\]: .nonsense. is none of' "$PROGRAM" agent --print --no-cluster --cdi-disable-hooks all --cdi-disable-hooks nonsense
    ends 0 "sessions: --once=false is no --once" 'idle' bash -c '"$PROGRAM" sessions --once=false --watch | head -n 2'
    for words in "nvsim create another --model t4" "nvsim list" "nvsim list -o json" "mig generate-config" "mig export" "mig apply -c all-balanced --dry-run" \
        "sessions" "sessions -o json" "agent --print --no-cluster"; do
        # shellcheck disable=SC2086 # words
        ends 1 "$words: a full disk" 'No space left' bash -c '"$PROGRAM" "$@" >/dev/full' - $words
    done
)
ends 1 "lint: a full disk" 'capstan lint: standard output: No space left' bash -c 'echo "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {x: 1}}" | "$PROGRAM" lint - --fix >/dev/full'
ends 1 "--help: a full disk" 'No space left' bash -c '"$PROGRAM" --help >/dev/full'
ends 0 "a reader that has seen enough is no fault" '' bash -c 'set -o pipefail; "$PROGRAM" nodes -o json | head -c 1 >/dev/null'

# --- the demo, which tells on standard error what happens, to a terminal as to a pipe
ends 0 "the demo's examples: each ends as it should" 'Job +team-red +owner +3 .* Complete' "$PROGRAM" demo --output table --speed 2
told=$said
says "who had to give back what was borrowed" 'guest stops: .* due to reclamation within the cohort; preemptor path: /teams/red;' echo "$told"
says "who had to stop for a higher priority" 'nightly stops: .* due to prioritization in the ClusterQueue; preemptor path: /teams/blue;' echo "$told"
says "who had to stop for a fair share" 'sweep-[ab] stops: .* due to Fair Sharing within the cohort; preemptor path: /lab/gold; preemptee path: /lab/green' echo "$told"
says "and why it does not come back before there is room" 'sweep-[ab] waits: .*; ClusterQueue gold has a share of 500, and with this one its own side would have 1000' echo "$told"
says "how much of the pool it has" 'ClusterQueue green borrows (500|1000)/1000 of what cohort lab has' echo "$told"
says "and why it waits" 'guest waits: .*insufficient unused quota for nvidia.com/gpu in flavor t4, 3 more needed' echo "$told"

# --- the demo's story: every fact in it is waited for, so that exit code 0 says they were all true
began=$SECONDS
ends 0 "the demo tells its story" 'Yours to try:' "$PROGRAM" demo
told=$said
says "in half a minute" '^([0-9]|[123][0-9])$' echo $((SECONDS - began))
says "a gang that waits, and why" 'insufficient unused quota for nvidia.com/gpu in flavor a100, 4 more needed' echo "$told"
says "what would help" 'would help: the end of Job (vision/detect|nlp/bert)$' echo "$told"
says "a bar of GPUs by node" '^ +a100-40gb-[01] +\[(BBBBBBBB|PPPPPP\.\.)\]' echo "$told"
says "a layout, and one that is refused" 'event MIGConfigFailed: in use by nlp/notebook' echo "$told"
says "a GPU that fails" 'event GPUError: XID 79 GPU has fallen off the bus' echo "$told"
says "and whose it was" 'pretrain had it: capstan requeue' echo "$told"
says "without it the job runs again" '\[PPPPPP\.x\]' echo "$told"
says "borrowed" 'nlp/sweep runs: 2 of 2 pods' echo "$told"
says "taken back" 'nlp/sweep has to leave, due to reclamation within the cohort' echo "$told"
says "priority" 'vision/urgent has to leave, due to prioritization in the ClusterQueue' echo "$told"
says "who wasted what" 'nlp/bert +[0-9]+ +1[0-9]  <- ask them' echo "$told"
is "no line is longer than a wide window" '' awk 'length > 130' <<<"$told"
is "and no escapes for a pipe" 0 bash -c 'grep -c "$(printf "\\033")" <<<"$1"; true' - "$told"
ends 1 "a full disk" 'No space left' bash -c '"$PROGRAM" demo --speed 10 >/dev/full' -

# --- stray arguments, options without a use
for words in "queues stray" "jobs stray" "nodes stray" "version stray" "--version stray" "demo stray" "up stray" "scheduler stray" "report stray" \
    "sessions stray" "completion bash stray" "agent stray --print" "mig export stray" "why job/a stray" "nvsim list stray"; do
    # shellcheck disable=SC2086 # words
    NVSIM_STATE=$PWD/none ends 2 "$words" 'unexpected argument|no arguments are expected|name one object|takes no argument|which node' "$PROGRAM" $words
done
ends 2 "no such command" "unknown command 'stray'" "$PROGRAM" stray
ends 2 "a command that is misspelt" "unknown command 'shceduler'; did you mean scheduler\?" "$PROGRAM" shceduler
ends 2 "what goes with another verb" "capstan mig: --valid-config goes with assert, not with apply" "$PROGRAM" mig apply --valid-config -f x
ends 2 "or with several" "capstan nvsim: --gi goes with start or fault, not with list" "$PROGRAM" nvsim list --gi 3
ends 2 "a shell that has none" 'name a shell: bash, zsh or fish' "$PROGRAM" completion tcsh
ends 2 "an option without its value" 'capstan jobs: --output: a value is missing' "$PROGRAM" jobs --output
ends 2 "a word that is none of them" "capstan agent: --drain: use wait or evict, not 'shoot'" "$PROGRAM" agent --drain shoot
ends 2 "nor in the environment" "capstan agent: .GPU_DRAIN: use wait or evict, not 'shoot'" env GPU_DRAIN=shoot "$PROGRAM" agent --print --no-cluster
ends 2 "no such command to be helped with" "unknown command 'stray'" "$PROGRAM" help stray
for verb in queues nodes; do
    ends 2 "$verb -n" 'in no namespace: leave out --namespace' "$PROGRAM" $verb -n default
    ends 2 "$verb -A" 'in no namespace: leave out --all-namespaces' "$PROGRAM" $verb -A
done
ends 2 "why -A" 'name one namespace' "$PROGRAM" why job/a -A
ends 2 "why without a name" 'name one object' "$PROGRAM" why
for name in '' job/ pod/; do ends 2 "why '$name'" 'name one object' "$PROGRAM" why "$name"; done
for format in wide csv; do ends 2 "why -o $format" 'use table, json or yaml' "$PROGRAM" why job/a -o $format; done
for verb in "agent --print" "mig assert -c all-disabled" "mig export" "mig apply -c all-disabled"; do
    # shellcheck disable=SC2086 # words
    ends 2 "$verb -o csv" '--output' "$PROGRAM" $verb -o csv
done
ends 3 "why: not found" 'no job named a in namespace' "$PROGRAM" why job/a -n "$NS"
k create job meant-this --image=x >/dev/null
ends 3 "why: what was meant" 'no job named meant-tihs in namespace .*; did you mean meant-this\?' "$PROGRAM" why meant-tihs -n "$NS"
ends 3 "why: the beginning of a name" 'did you mean meant-this\?' "$PROGRAM" why job/meant -n "$NS"
ends 3 "why: of another namespace" "there is one in namespace $NS: -n $NS" "$PROGRAM" why job/meant-this -n kube-public
k delete job meant-this >/dev/null

# --- jobs: what runs is running, what waits waits
field() { # NAME FIELD
    "$PROGRAM" jobs -n "$NS" --output json | /usr/bin/python3 -c '
import json, sys
rows = [row for row in json.load(sys.stdin) if row["name"] == sys.argv[1]]
print(rows[0][sys.argv[2]] if rows else "-")' "$1" "$2"
}
ran_before() { # NAME SECONDS: its age has at least so many more than its wait
    "$PROGRAM" jobs -n "$NS" --output json | /usr/bin/python3 -c '
import json, sys
row = [row for row in json.load(sys.stdin) if row["name"] == sys.argv[1]][0]
print("counts one wait" if row["ageSeconds"] - row["waitSeconds"] >= float(sys.argv[2]) else row)' "$1" "$2"
}
job() { # NAME GPUS [QUEUE [PODS]]
    k apply -f - >/dev/null <<YAML
apiVersion: batch/v1
kind: Job
metadata: {name: $1, labels: {${3:+kueue.x-k8s.io/queue-name: $3}}}
spec:
  parallelism: ${4:-2}
  completions: ${4:-2}
  template:
    metadata: {annotations: {capstan.dev/run-seconds: "600"}}
    spec: {restartPolicy: Never, containers: [{name: a, image: x, resources: {limits: {nvidia.com/gpu: $2}}}]}
YAML
}
job large 1000
soon "pods that wait for a node" '^2$' k get job large -o 'jsonpath={.status.active}'
soon "why they wait" 'Insufficient nvidia.com/gpu' field large message
is "do not run" 0 field large running
is "and are Pending" Pending field large state
sleep 2
says "their wait grows" '^([2-9]|[1-9][0-9]+)$' field large waitSeconds
k delete job large --wait=false >/dev/null

{
    echo "# YAML"
    cat <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-a}, spec: {nodeLabels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-q}, spec: {namespaceSelector: {}, queueingStrategy: StrictFIFO, resourceGroups: [
 {coveredResources: [nvidia.com/gpu], flavors: [{name: $NS-a, resources: [{name: nvidia.com/gpu, nominalQuota: 2}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q}, spec: {clusterQueue: $NS-q}}
YAML
} | k apply -f - >/dev/null
stop_queue() { "$KUBECTL" patch clusterqueue "$NS-q" --type merge -p "{\"spec\": {\"stopPolicy\": \"$1\"}}" >/dev/null; }
workload_of() { k get workloads -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.ownerReferences[0].name}{"\n"}{end}' | awk -v o="$1" '$2 == o {print $1}'; }
condition() { k get workload "$(workload_of "$1")" -o "jsonpath={range .status.conditions[?(@.type==\"$2\")]}{.status} {.reason}{end}"; }
job first 1 q
soon "a job runs" '^2$' field first running
is "Running" Running field first state
for name in second third fourth; do
    job $name 1 q
    soon "$name waits" '^Queued$' field $name state
done
why() { "$PROGRAM" why "job/$1" -n "$NS" "${@:2}"; }
soon "three wait" 'position: 2 of 3 waiting' why third
json_of() { "$PROGRAM" "${@:2}" -o json | /usr/bin/python3 -c "import json, sys; x = json.load(sys.stdin); print($1)" "$("$PROGRAM" jobs -o json 2>/dev/null)"; }
is "why names its two queues apart for programs" "Job q $NS-q 2 3" json_of 'x["kind"], x["queue"], x["clusterQueue"], x["position"], x["waiting"]' why job/third -n "$NS"
says "and people read both" "^queue: q \(cluster queue $NS-q\)\$" why third
k patch workload "$(workload_of third)" --type merge -p '{"spec": {"active": false}}' >/dev/null
soon "deactivated" '^Deactivated$' field third state
is "which is no wait" None field third wait
says "why says so" ': deactivated$' why third
refuses "and gives it no place" 'no place' bash -c '"$PROGRAM" why job/third -n "$1" | grep position && exit 0; echo no place; exit 1' - "$NS"
is "nor in JSON" "deactivated None" bash -c '"$PROGRAM" why job/third -n "$1" -o json | /usr/bin/python3 -c "import json, sys; x = json.load(sys.stdin); print(x[\"state\"], x.get(\"position\"))"' - "$NS"
says "the others' places do not count it" 'position: 2 of 2 waiting' why fourth
job fifth 1 q 1
soon "who asks for something else waits behind the first" "^waits behind Workload $NS/job-second-[0-9a-f]* in StrictFIFO" why fifth
k delete job second --wait=false >/dev/null
soon "when the first is deleted, it waits behind the next" "^waits behind Workload $NS/job-fourth-[0-9a-f]* in StrictFIFO" why fifth
is "in JSON, too" "waits behind Workload" bash -c '"$PROGRAM" why job/fifth -n "$1" -o json | /usr/bin/python3 -c "import json, sys; x = json.load(sys.stdin); assert x[\"message\"] == x[\"reason\"][\"message\"]; print(x[\"message\"][:21])"' - "$NS"

# --- what others write moves nothing on the terminal
k apply -f - >/dev/null 2>&1 <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: hostile}
spec: {schedulerName: nobody, containers: [{name: c, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}
YAML
k patch pod hostile --subresource=status --type merge -p '{"status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"X",
    "message":"<b>\u001b[2J\u009b2J\u202egnp.exe\nwould help: more"}]}}' >/dev/null
is "why" "<b>?[2J?2J?gnp.exe?would help: more" bash -c '"$PROGRAM" why pod/hostile -n "$1" | tail -n +2' - "$NS"
says "jobs" '<b>\?\[2J\?2J\?gnp.exe\?would help: more' "$PROGRAM" jobs -n "$NS" -o wide
is "and programs have it as it is" 1 bash -c '"$PROGRAM" why pod/hostile -n "$1" -o json | jq -r .message | head -n 1 | grep -c "$(printf "\033")"' - "$NS"
k delete pod hostile --wait=false >/dev/null

# --- what nobody has said anything of
k apply -f - >said 2>&1 <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: foreign}
spec: {schedulerName: elsewhere, containers: [{name: c, image: x}]}
YAML
says "who names a scheduler that is not here is told" 'Warning: spec.schedulerName: this server has no scheduler elsewhere: ' cat said
says "and why says so" 'not tried yet: its schedulerName is elsewhere: does a scheduler of that name run\?' "$PROGRAM" why pod/foreign -n "$NS"
k delete pod foreign --wait=false >/dev/null
k apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: numberless, labels: {kueue.x-k8s.io/queue-name: q, kueue.x-k8s.io/pod-group-name: some}}
spec: {containers: [{name: c, image: x}]}
YAML
says "a group without a number" 'nobody knows how many pods group some has: write annotation kueue.x-k8s.io/pod-group-total-count' "$PROGRAM" why pod/numberless -n "$NS"
k delete pod numberless --wait=false >/dev/null
k apply -f - >/dev/null <<'YAML'
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: wide}
spec: {replicatedJobs: [{name: w, template: {spec: {template: {spec: {nodeSelector: {no: such}, containers: [{name: c, image: x}]}}}}}]}
YAML
for name in jobset/wide jobsets.jobset.x-k8s.io/wide jobset.v1alpha2.jobset.x-k8s.io/wide; do
    soon "why of a JobSet that nobody queues: $name" 'match Pod.s node affinity' "$PROGRAM" why "$name" -n "$NS"
done
ends 2 "of a group that has no such kind" 'not a kind that waits' "$PROGRAM" why jobset.batch/wide -n "$NS"
k delete jobset wide --wait=false >/dev/null

# --- nodes: who has the GPUs
holders() {
    "$PROGRAM" nodes --output json | /usr/bin/python3 -c '
import json, sys
for row in json.load(sys.stdin):
    assert sum(one["devices"] for one in row["usedBy"]) == (row["used"] or 0), row
    for one in row["usedBy"]:
        if one["namespace"] == sys.argv[1]:
            print(row["resource"], one["job"], one["queue"], one["devices"], len(one["pods"]))' "$NS"
}
says "nodes says who has the GPUs" "$NS/first 2" "$PROGRAM" nodes
says "instances of one GPU are told apart" '^a100-[^ ]* +[0-9]+ MIG-[0-9a-f]{8} +nvidia.com/mig-' "$PROGRAM" nodes --gpus
is "and each of them has its own line" 0 bash -c '"$PROGRAM" nodes --gpus | grep " MIG-" | cut -c-40 | sort | uniq -d | wc -l'
says "in CSV too" "$NS/first 2" "$PROGRAM" nodes --output csv
is "and programs" "nvidia.com/gpu first q 2 2" holders

# --- a wait begins when the last one has ended
sleep 12
stop_queue HoldAndDrain
soon "evicted" '^Queued$' field first state
soon "its pods are gone" '^0$' field first running
is "its wait is what came after" "counts one wait" ran_before first 5
soon "why tells of the stop" 'is stopped' why first
resumed=$SECONDS
stop_queue None
soon "runs again" '^2$' field first running
soon "who stands behind it does not tell of the stop any more" 'told: waits behind|told: .*insufficient unused quota' bash -c 'said=$("$PROGRAM" why job/fourth -n "$1"); grep -q stopped <<<"$said" || echo "told: $said" | tr "\n" " "' - "$NS"
is "so is that of the second start" "counts one wait" ran_before first 5
most=$((SECONDS - resumed + 3))
event_waits() { # the last one
    k get events --field-selector "reason=QuotaReserved,involvedObject.name=$(workload_of first)" --sort-by=.metadata.creationTimestamp \
        -o 'jsonpath={range .items[*]}{.message}{"\n"}{end}' | sed -n 's/.*wait time since queued was \([0-9]*\)s.*/\1/p' | tail -1 |
        awk -v most="$most" '{ print ($1 <= most) ? "one wait" : $1 }'
}
soon "and the event tells no other" '^one wait$' event_waits
"$KUBECTL" delete clusterqueue "$NS-q" --wait=false >/dev/null
k delete job first third fourth fifth --wait=false >/dev/null
"$KUBECTL" delete resourceflavor "$NS-a" --wait=false >/dev/null

# --- report as README says it, and the scheduler's word on who listens
own() { # DIRECTORY CMD...: with a cluster of its own there
    local dir=$1 pid; shift
    "$PROGRAM" up --data-dir "$dir" --listen 127.0.0.1:0 >up.log 2>&1 &
    pid=$!
    appears "$dir/kubeconfig"
    KUBECONFIG=$dir/kubeconfig "$@"
    kill $pid; wait $pid 2>/dev/null
}
drained() { # waits of the pods of a job that was evicted and runs again, beside the time since it may
    k() { "$KUBECTL" "$@"; }
    NS=default
    k apply -f - >/dev/null <<'YAML'
{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "a"}, "spec": {"nodeLabels": {"nvidia.com/gpu.product": "Tesla-T4"}}}
YAML
    { echo "# YAML"; echo '{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: default-q}, spec: {namespaceSelector: {}, resourceGroups: [
 {coveredResources: [nvidia.com/gpu], flavors: [{name: a, resources: [{name: nvidia.com/gpu, nominalQuota: 2}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q}, spec: {clusterQueue: default-q}}'; } | k apply -f - >/dev/null
    { echo "# YAML"; echo '{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: ring}, spec: {minAvailable: 2, schedulerName: volcano, tasks: [{name: w, replicas: 2, template: {
 metadata: {annotations: {capstan.dev/run-seconds: "600"}}, spec: {restartPolicy: Never, containers: [{name: a, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}}}]}}'; } | k apply -f - >/dev/null
    soon "a vcjob runs" '^2$' field ring running
    job back 1 q
    soon "a job in its own cluster runs" '^2$' field back running
    is "why calls a kind as jobs does" "vcjob ring vcjob" json_of 'x["kind"], x["name"], *[row["kind"] for row in json.loads(sys.argv[1]) if row["name"] == "ring"]' why vcjob/ring
    sleep 8
    stop_queue HoldAndDrain
    soon "is evicted" '^0$' field back running
    resumed=$SECONDS
    stop_queue None
    k delete pod ring-w-0 --wait=false >/dev/null
    soon "and runs again" '^2$' field back running
    soon "so does the vcjob that lost a pod" 'ring-w-0 *1/1 *Running *0 *[0-9]s' k get pods ring-w-0
    is "jobs: its wait is a new one" "counts one wait" ran_before ring 5
    most=$((SECONDS - resumed + 3))
    waits() { # [JOB]: of its pods, beside the time since it may run again
        "$PROGRAM" report --since 1h --by pod --output json 2>/dev/null | /usr/bin/python3 -c '
import json, sys
rows = [row for row in json.load(sys.stdin)["rows"] if row["pod"].startswith("default/" + sys.argv[2])]
print(len(rows), "wait as long as they did" if all(row["queueWaitSeconds"] <= float(sys.argv[1]) / row["pods"] for row in rows) else rows)' "$most" "${1:-back}"
    }
    soon "report: each pod has its own wait" '^4 wait as long as they did$' waits
    soon "and the pods of the vcjob" '^2 wait as long as they did$' waits ring
    ends 0 "report as README has it: the store beside the kubeconfig" 'default' "$PROGRAM" report --by namespace
    says "it says where from" "read from .*usage.db" "$PROGRAM" report --by namespace
    ends 0 "report --store DIR" 'default' env -u KUBECONFIG "$PROGRAM" report --store "$(dirname "$KUBECONFIG")"
    ends 1 "report: a full disk" "capstan report: standard output: No space left" bash -c '"$PROGRAM" report >/dev/full'
    ends 124 "scheduler: connected where somebody listens" 'info connected server=' timeout 8 "$PROGRAM" scheduler --leader-elect=false
    holder() { "$KUBECTL" -n kube-system get lease capstan-scheduler -o 'jsonpath=held by {.spec.holderIdentity};'; }
    "$PROGRAM" scheduler --scheduler-name nobody-names-it --address :0 2>second.log &
    local second=$!
    soon "scheduler: the Lease has its name" "^held by .+_$second;$" holder
    local port
    port=$(sed -n 's/.* port=\([0-9]*\)$/\1/p' second.log)
    page() { curl -sS --max-time 30 "${@:2}" -w ' is %{http_code}' "http://127.0.0.1:$port$1"; }
    is "scheduler --address: healthy" "ok
 is 200" page /healthz
    soon "ready when all has been read" '^ok' page /readyz
    soon "it says that it leads" '^capstan_scheduler_leading 1$' page /metrics
    says "OpenMetrics when asked for" '^# EOF$' page /metrics -H 'Accept: application/openmetrics-text; version=1.0.0'
    says "nothing else is there" 'not found: /ui/, /metrics, /healthz and /readyz are here' page /debug/pprof
    says "and nothing is taken" 'is 405$' page /metrics -X POST
    ends 2 "what is no port" 'listen address ":8081x": write HOST:PORT' "$PROGRAM" scheduler --address :8081x
    ends 2 "a port that is taken" 'capstan scheduler: --address: .*in use' "$PROGRAM" scheduler --address "127.0.0.1:$port"
    # Its port may be taken here: that is no fault of theirs.
    says "the arguments in deploy/scheduler.yaml are taken" 'connected server=|address: .*in use' bash -c \
        'arguments=$(sed -n "s/^ *args: .scheduler, \([^]]*\)].*/\1/p" "$0" | tr -d "\",")
        timeout 5 "$PROGRAM" scheduler --scheduler-name nobody-names-it ${arguments:?} 2>&1; true' \
        "$ROOT/deploy/scheduler.yaml"
    kill "$second"
    wait "$second"
    is "and is given back when it is ended" "held by ;" holder
    held() { # ARGUMENT...: a second scheduler, which is that of pods that name it
        "$PROGRAM" scheduler --scheduler-name looks-only --leader-elect=false "$@" 2>>looks.log &
        second=$!
    }
    held --hold
    ok "a pod for it" "$KUBECTL" create -f - <<YAML
apiVersion: v1
kind: Pod
metadata: {name: looked-at}
spec: {schedulerName: looks-only, containers: [{name: main, image: "busybox:1"}]}
YAML
    soon "scheduler --hold: it is connected" 'connected server=' cat looks.log
    sleep 3
    is "and lets nobody in" "" "$KUBECTL" get pod looked-at -o 'jsonpath={.spec.nodeName}'
    kill "$second"
    wait "$second"
    held
    soon "without --hold it does" '.+' "$KUBECTL" get pod looked-at -o 'jsonpath={.spec.nodeName}'
    kill "$second"
    wait "$second"
    ok "the pod goes" "$KUBECTL" delete pod looked-at --now
}
(own "$PWD/hours" drained)
ends 3 "report where there is no store" 'no such file' env HOME="$PWD/none" XDG_DATA_HOME= KUBECONFIG= "$PROGRAM" report
sed 's|server: .*|server: http://127.0.0.1:9|' "$KUBECONFIG" >nobody
refuses "scheduler: not connected where nobody listens" 'said so' bash -c '
    said=$(timeout 5 "$PROGRAM" scheduler --kubeconfig nobody --leader-elect=false 2>&1)
    echo "$said"; grep -q "warning not connected server=http://127.0.0.1:9 .*is the server running" <<<"$said" && ! grep -q "info connected" <<<"$said" && echo said so; exit 1'

# --- without a kubeconfig: where kubectl looks, and a plain `up` listens
if unshare -rn true 2>/dev/null && command -v ip >/dev/null; then
    says "a plain up is found as kubectl finds it" 'a100-40gb-0' env -u KUBECONFIG HOME="$PWD/nohome" XDG_DATA_HOME="$PWD/nohome" timeout 100 unshare -rn bash -c '
        ip link set lo up
        "$PROGRAM" up >up-plain.log 2>&1 &
        up=$!
        for _ in $(seq 600); do [ -s "$HOME/capstan/kubeconfig" ] && break; sleep 0.1; done
        "$PROGRAM" nodes; "$PROGRAM" jobs >/dev/null && "$PROGRAM" report
        kill $up; wait $up'
    ends 2 "nobody there: it says what it tried" 'no kubeconfig.*localhost:8080' env -u KUBECONFIG HOME="$PWD/nohome" unshare -rn "$PROGRAM" nodes
else
    skip "a plain up" "no network of its own to be had"
fi
ends 2 "a kubeconfig that is named and not there is not replaced" 'none.*No such file' env KUBECONFIG=none "$PROGRAM" nodes

# --- sim jobs
(
    traces=$(mktemp -d)
    trap 'rm -rf "$traces"' EXIT
    printf 'num_gpus,timestamp,duration\n4,0,100\n8,1,50\n1,2,98\n1,3,200\n2,4,10\n' >"$traces/jobs.csv"
    jobs() { "$PROGRAM" sim jobs --cluster 2x4 --jobs "$traces/jobs.csv" "$@"; }
    export -f jobs
    export traces
    for queue in fifo skip easy sjf capstan; do
        ends 0 "sim jobs: $queue" "queue $queue, cluster 2x4: 5 jobs" bash -c 'jobs --queue "$1"' - "$queue"
    done
    ends 0 "sim jobs: JSON" '^ok$' bash -c 'jobs --queue easy -o json | python3 -c "
import json, sys
r = json.load(sys.stdin)
assert r[\"jobs\"] == 5 and r[\"large\"][\"jobs\"] == 0 and abs(r[\"wait_hours\"][\"mean\"] - (99 + 147) / 5 / 3600) < 1e-4, r
print(\"ok\")"'
    ends 0 "sim jobs: YAML" '^queue: capstan' bash -c 'jobs -o yaml'
    ends 0 "sim jobs: nothing but the result in a pipe" '^0$' bash -c 'jobs 2>&1 >/dev/null | wc -c'
    ends 0 "sim jobs: the same again, with errors" '^same$' bash -c 'cmp <(jobs --estimate-error 5 -o json | grep -v turns_per) <(jobs --estimate-error 5 -o json | grep -v turns_per) && echo same'
    ends 2 "sim jobs: without a trace" 'want --jobs FILE and --cluster NODESxGPUS' "$PROGRAM" sim jobs --cluster 2x4
    ends 2 "sim jobs: no such cluster" 'cluster 8: want NODESxGPUS as in 64x8' bash -c 'jobs --cluster 8'
    ends 2 "sim jobs: an error below 1" 'estimate-error 0.5: want a number from 1 to 1000' bash -c 'jobs --estimate-error 0.5'
    ends 2 "sim jobs: what goes with the other" '--pods goes with trace' bash -c 'jobs --pods x'
    ends 1 "sim jobs: a job that is too large" 'jobs.csv: line 3, column num_gpus: "8": the cluster has 4 GPUs' bash -c 'jobs --cluster 1x4'
    ends 1 "sim jobs: a full disk" 'No space left' bash -c 'jobs >/dev/full'
    ends 3 "sim jobs: no such file" 'No such file' "$PROGRAM" sim jobs --cluster 2x4 --jobs "$traces/none.csv"
)
