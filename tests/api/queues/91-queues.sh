# Queues as a Kueue user knows them: strategies, priorities, cohorts, flavors, status. They need GPU nodes, so the embedded
# server's; 2 nodes of 8 A100 and 4 of 8 T4. Names of cluster-wide objects begin with the namespace's.
if ! embedded; then
    skip "queues" "needs the simulated nodes of the embedded cluster"
    return
fi
A="nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB"
T="nvidia.com/gpu.product: Tesla-T4"

K() { "$KUBECTL" "$@"; }
# The comment keeps kubectl from taking flow style for JSON.
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
why() { "$PROGRAM" why "$1" -n "$NS" "${@:2}"; }
# until_json WAITS HOLDS: the name of what is to end, and how long after its admission it does at the latest
until_json() {
    local admitted end
    admitted=$(k get workload "$(workload_of "$2")" -o 'jsonpath={.status.conditions[?(@.type=="Admitted")].lastTransitionTime}')
    end=$(why "job/$1" -o json | tr -d ' \n' | sed -n 's/.*"change":"end"[^}]*"name":"\([^"]*\)","job":[^}]*}[^}]*"until":"\([^"]*\)".*/\1 \2/p')
    [ -n "$end" ] && echo "${end% *} $(($(date -d "${end#* }" +%s) - $(date -d "$admitted" +%s)))"
}
code_of() { "$@" >/dev/null 2>&1; echo $?; }
# flavor NAME LABELS [MORE]
flavor() {
    apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-$1}, spec: {nodeLabels: {$2}${3:+, $3}}}
YAML
}
# quota FLAVOR GPUS [MORE]: a flavor of a queue
quota() { echo "{name: $NS-$1, resources: [{name: nvidia.com/gpu, nominalQuota: $2${3:+, $3}}]}"; }
# queue NAME FLAVORS [MORE]: a ClusterQueue and its LocalQueue of the same name
queue() {
    apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-$1}, spec: {namespaceSelector: {},
 resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [$2]}]${3:+, $3}}}
YAML
    local_queue "$1" "$1"
}
local_queue() {
    apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: $1}, spec: {clusterQueue: $NS-$2}}
YAML
}
# job NAME QUEUE PODS [LABELS] [POD SPEC]: one GPU a pod, runs for ten minutes
job() {
    apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: $2${4:+, $4}}},
 spec: {parallelism: $3, completions: $3, suspend: true, template: {
  metadata: {annotations: {capstan.dev/run-seconds: "600"}},
  spec: {restartPolicy: Never${5:+, $5}, containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}
YAML
}
remove() { k delete job "$@" --wait=false >/dev/null; }
waits() { k get job "$1" -o 'jsonpath={.spec.suspend}'; }
workload_of() { k get workloads -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.ownerReferences[0].name}{"\n"}{end}' | awk -v o="$1" '$2 == o {print $1}'; }
condition() { k get workload "$(workload_of "$1")" -o "jsonpath={range .status.conditions[?(@.type==\"${2:-QuotaReserved}\")]}{.status} {.reason} {.message}{end}"; }
flavor_of() { k get workload "$(workload_of "$1")" -o 'jsonpath={.status.admission.podSetAssignments[*].flavors.nvidia\.com/gpu}'; }
ACTIVE='jsonpath={range .status.conditions[?(@.type=="Active")]}{.status} {.reason} {.message}{end}'
COUNTS='jsonpath={.status.pendingWorkloads} {.status.reservingWorkloads} {.status.admittedWorkloads}'
active() { K get clusterqueue "$NS-$1" -o "$ACTIVE"; }
local_active() { k get localqueue "$1" -o "$ACTIVE"; }
counts() { K get clusterqueue "$NS-$1" -o "$COUNTS"; }
# used QUEUE FIELD: flavorsUsage or flavorsReservation as "total/borrowed"
used() { K get clusterqueue "$NS-$1" -o "jsonpath={range .status.${2:-flavorsReservation}[*].resources[*]}{.total}/{.borrowed} {end}"; }
set_quota() { K patch clusterqueue "$NS-$1" --type json -p "[{\"op\":\"add\",\"path\":\"/spec/resourceGroups/0/flavors/0/resources/0/$2\",\"value\":$3}]" >/dev/null; }

flavor a "$A"
flavor t "$T"

# --- StrictFIFO: the head blocks; BestEffortFIFO: what fits passes. Both keep the order of one second.
queue strict "$(quota a 4)" "queueingStrategy: StrictFIFO"
queue effort "$(quota t 4)"
soon "a new ClusterQueue is active" '^True Ready Can admit new workloads$' active strict
soon "and its LocalQueue" '^True Ready Can submit new workloads to localQueue$' local_active strict
for q in strict effort; do
    job $q-first $q 3 'kueue.x-k8s.io/max-exec-time-seconds: "900"'
    soon "$q: the first runs" '^false$' waits $q-first
    job $q-large $q 3
    soon "$q: the large one waits" "^False WaitingForQuota couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor $NS-[at], 2 more needed\$" condition $q-large
    job $q-small $q 1
done
soon "BestEffortFIFO: the small one passes" '^false$' waits effort-small
soon "StrictFIFO: the small one stands behind" "^False .*waits behind workload/$NS/job-strict-large-.* in StrictFIFO queue $NS-strict" condition strict-small
is "StrictFIFO: and does not start" true waits strict-small
soon "counts: pending, reserving, admitted" '^2 1 1$' counts strict
soon "usage of the flavor" '^3/0 $' used strict flavorsUsage
soon "why: the first in line" 'position: 1 of 2' why job/strict-large
soon "why: the second" 'position: 2 of 2' why job/strict-small
soon "why: what would help" 'would help: 2 more nvidia.com/gpu of quota' why job/strict-large
soon "why: who holds it, and until when" 'or: the end of Job [^ ]*/strict-first \(at 20[-0-9]*T[:0-9]*Z at the latest\)$' why job/strict-large
soon "why as JSON: until when" "^job-strict-first-[0-9a-f]* 900\$" until_json strict-large strict-first
soon "why as YAML" 'code: quota-short' why job/strict-large -o yaml
soon "events of a started one" 'Admitted by clusterQueue' k get events --field-selector involvedObject.name=strict-first,reason=Started
soon "events of its Workload" "Quota reserved in ClusterQueue $NS-strict, wait time since queued was [0-9]+s" k get events --field-selector reason=QuotaReserved
soon "events of a waiting one" 'Warning +WaitingForQuota' k get events --field-selector type=Warning
remove strict-first
soon "StrictFIFO: then the head" '^false$' waits strict-large
soon "StrictFIFO: and all that fits behind it" '^false$' waits strict-small
remove strict-large strict-small effort-first effort-large effort-small

# --- partial admission: as many of eight as the quota has room for, two at least
queue few "$(quota t 4)"
apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: few, labels: {kueue.x-k8s.io/queue-name: few}, annotations: {kueue.x-k8s.io/job-min-parallelism: "2"}},
 spec: {parallelism: 8, completions: 8, suspend: true, template: {metadata: {annotations: {capstan.dev/run-seconds: "600"}},
  spec: {restartPolicy: Never, containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}
YAML
soon "fewer: it starts with four" '^false 4$' k get job few -o 'jsonpath={.spec.suspend} {.spec.parallelism}'
soon "fewer: and four run" '^4$' k get job few -o 'jsonpath={.status.active}'
is "fewer: the Workload says four" 4 k get workload "$(workload_of few)" -o 'jsonpath={.status.admission.podSetAssignments[0].count}'
soon "fewer: jobs says so" 'few +4 of 8 \(at least 2\) ' "$PROGRAM" jobs -n "$NS"
soon "fewer: programs read numbers" '"gangAsked": *8' "$PROGRAM" jobs -n "$NS" -o json
says "fewer: in CSV it is the text, under the name of old" '^namespace,kind,name,gang,running,' "$PROGRAM" jobs -n "$NS" -o csv
soon "fewer: why says so" '^pods: 4 of 8 \(at least 2\)$' why job/few
K patch clusterqueue "$NS-few" --type merge -p '{"spec":{"stopPolicy":"HoldAndDrain"}}' >/dev/null
soon "fewer: stopped, it asks for eight" '^true 8$' k get job few -o 'jsonpath={.spec.suspend} {.spec.parallelism}'
set_quota few nominalQuota '"1"'
K patch clusterqueue "$NS-few" --type merge -p '{"spec":{"stopPolicy":"None"}}' >/dev/null
soon "fewer: one is too few, and one more would help" 'would help: 1 more nvidia.com/gpu of quota' why job/few
soon "fewer: why says how many it wants" '^pods: 8 \(at least 2\)$' why job/few
set_quota few nominalQuota '"2"'
soon "fewer: with two it starts with its fewest" '^false 2$' k get job few -o 'jsonpath={.spec.suspend} {.spec.parallelism}'
soon "fewer: and two run" '^2$' k get job few -o 'jsonpath={.status.active}'
refuses "fewer: a number that is written anew is looked at" 'should be a whole number between 0 and the job.s parallelism' \
    k annotate job few --overwrite kueue.x-k8s.io/job-min-parallelism=7
remove few

# --- priorities: WorkloadPriorityClass over PriorityClass; a changed value is followed
queue prio "$(quota a 1)"
for p in low:10 high:1000; do
    apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: $NS-${p%:*}}, value: ${p#*:}}
YAML
    apply <<YAML
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: $NS-pod-${p%:*}}, value: ${p#*:}}
YAML
done
job p-run prio 1
soon "one runs" '^false$' waits p-run
job p-low prio 1 "kueue.x-k8s.io/priority-class: $NS-low" "priorityClassName: $NS-pod-high"
job p-none prio 1
job p-high prio 1 "" "priorityClassName: $NS-pod-high"
soon "three wait" '^3 1 1$' counts prio
soon "the label wins over the pods' class" '^10 WorkloadPriorityClass$' k get workload "$(workload_of p-low)" -o 'jsonpath={.spec.priority} {.spec.priorityClassRef.kind}'
soon "the pods' class counts" '^1000 PriorityClass$' k get workload "$(workload_of p-high)" -o 'jsonpath={.spec.priority} {.spec.priorityClassRef.kind}'
soon "v1beta1 writes it its own way" "^kueue.x-k8s.io/workloadpriorityclass $NS-low\$" k get workloads.v1beta1.kueue.x-k8s.io "$(workload_of p-low)" -o 'jsonpath={.spec.priorityClassSource} {.spec.priorityClassName}'
remove p-run
soon "the highest goes first" '^false$' waits p-high
is "not the older" true waits p-low
K patch workloadpriorityclass $NS-low --type merge -p '{"value": -5}' >/dev/null
soon "a class that changes changes its Workloads" '^-5$' k get workload "$(workload_of p-low)" -o 'jsonpath={.spec.priority}'
remove p-high
soon "now the one without a class is first" '^false$' waits p-none
is "and the lowered one waits" true waits p-low
remove p-none p-low

# --- a cohort: borrowing, lending, borrowing limit
queue left "$(quota a 2)" "cohortName: $NS-team"
queue right "$(quota a 4 'lendingLimit: 2')" "cohortName: $NS-team"
job left-1 left 4
soon "borrows what the other lends" '^false$' waits left-1
soon "borrowed is told" '^4/2 $' used left
job left-2 left 1
soon "no more is lent" '^False WaitingForQuota' condition left-2
job left-3 left 5
soon "more than can ever be had" '^False ExceedsMaxQuota .*insufficient quota for nvidia.com/gpu in flavor .* > maximum capacity' condition left-3
job right-1 right 2
soon "what is not lent is there for the owner" '^false$' waits right-1
job right-2 right 1
soon "what is lent is away" '^False WaitingForQuota' condition right-2
soon "capstan queues shows the loan" "$NS-left +$NS-a +nvidia.com/gpu +2 +4 +2" "$PROGRAM" queues
remove left-2 left-3
says "and what is lent to nobody" "^$NS-right .* $NS-a +nvidia.com/gpu +4 +[0-9]+ +[0-9]+ +- +2 +- " "$PROGRAM" queues -o wide
set_quota left borrowingLimit 1
says "and the most that a queue may have" "^$NS-left +$NS-a +nvidia.com/gpu +2 +[0-9]+ +[0-9]+ +3 " "$PROGRAM" queues
remove left-1
soon "given back: the owner's job starts" '^false$' waits right-2
job left-4 left 4
soon "borrowingLimit keeps it below" '^False ExceedsMaxQuota .*current podset request \(4\) > maximum capacity \(3\)' condition left-4
set_quota left borrowingLimit 2
remove right-2
soon "a higher limit wakes it" '^false$' waits left-4
remove left-4 right-1

# --- a tree of Cohorts with quota of its own; a cycle stops this tree only
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: $NS-root}, spec: {resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [$(quota t 5)]}]}}
YAML
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: $NS-mid}, spec: {parentName: $NS-root}}
YAML
queue deep "$(quota t 1)" "cohortName: $NS-mid"
job deep-1 deep 6
soon "a queue uses the quota of the cohort above its cohort" '^false$' waits deep-1
soon "as a loan" '^6/5 $' used deep
job deep-2 deep 1
soon "but not more" '^False WaitingForQuota' condition deep-2
says "a cycle is warned of" 'Warning: .*cycle' bash -c "'$KUBECTL' patch cohort $NS-root --type merge -p '{\"spec\":{\"parentName\":\"$NS-mid\"}}' 2>&1"
soon "the queues of the cycle are inactive and say why" '^False CohortCycle .*cycle of cohorts' active deep
soon "so does the LocalQueue" '^False ClusterQueueIsInactive' local_active deep
soon "and the Workload" '^False Suspended .*cycle of cohorts' condition deep-2
soon "and why" 'cycle of cohorts' why job/deep-2
job left-5 left 2
soon "another tree works on" '^false$' waits left-5
K patch cohort $NS-root --type json -p '[{"op": "remove", "path": "/spec/parentName"}]' >/dev/null
soon "the cycle is cut: active" '^True Ready' active deep
remove deep-1 left-5
soon "and goes on" '^false$' waits deep-2
remove deep-2

# --- flavors: in order; the next one when quota or nodes say no; selectors, taints
queue two "$(quota a 2), $(quota t 40)"
job two-1 two 2
soon "the first flavor first" "^$NS-a\$" flavor_of two-1
job two-2 two 2
soon "the next when its quota is taken" "^$NS-t\$" flavor_of two-2
soon "the pods go to its nodes" '^(t4-[0-3] ?){2}$' k get pods -l job-name=two-2 -o 'jsonpath={.items[*].spec.nodeName}'
job two-3 two 1 "" "nodeSelector: {$A}"
soon "the pods' nodeSelector excludes a flavor" "^False WaitingForQuota .*flavor $NS-t doesn't match node affinity" condition two-3
job two-4 two 31
soon "quota yes, nodes no" '^False TopologyPlacementFailed .*only 30 of 31 pods of pod set main in flavor .* can be placed; for the 31st, 0/[0-9]+ nodes are available: ' condition two-4
soon "why tells nodes" 'Insufficient nvidia.com/gpu' why job/two-4
remove two-1 two-2 two-3 two-4
queue place "$(quota a 40), $(quota t 40)"
job place-1 place 20
soon "the next flavor when nodes are too few" "^$NS-t\$" flavor_of place-1
remove place-1
flavor tainted "$T" "nodeTaints: [{key: team, value: x, effect: NoSchedule}]"
flavor open "$T" "nodeTaints: [{key: team, value: x, effect: NoSchedule}], tolerations: [{key: team, operator: Exists}]"
queue tainted "$(quota tainted 4)"
queue open "$(quota open 4)"
job taint-1 tainted 1
soon "a taint of the flavor keeps out" '^False NoMatchingFlavor .*untolerated taint' condition taint-1
job taint-2 tainted 1 "" "tolerations: [{key: team, operator: Exists}]"
soon "who tolerates it comes in" '^false$' waits taint-2
job taint-3 open 1
soon "so does everybody where the flavor brings the toleration" '^false$' waits taint-3
soon "the pods get it" '^team$' k get job taint-3 -o 'jsonpath={.spec.template.spec.tolerations[*].key}'
remove taint-1 taint-2 taint-3

# --- changes wake who waits
queue change "$(quota a 1)"
job change-1 change 2
soon "too much" '^False ExceedsMaxQuota' condition change-1
set_quota change nominalQuota 2
soon "quota is raised" '^false$' waits change-1
set_quota change nominalQuota 1
job change-2 change 1
soon "quota is lowered" '^False WaitingForQuota' condition change-2
is "who runs is left alone" false waits change-1
remove change-1
soon "and its end makes room" '^false$' waits change-2
remove change-2

# --- what is missing
queue missing "$(quota later 2)"
soon "a flavor that does not exist" "^False FlavorNotFound .*$NS-later" active missing
job missing-1 missing 1
soon "the job waits for it" "^False Suspended ClusterQueue .* is inactive" condition missing-1
flavor later "$A"
soon "it comes" '^True Ready' active missing
soon "and the job starts" '^false$' waits missing-1
K delete resourceflavor $NS-later --wait=false >/dev/null
soon "it is in use, so it stays" '^20' K get resourceflavor $NS-later -o 'jsonpath={.metadata.deletionTimestamp}'
is "the queue admits on" "True Ready Can admit new workloads" active missing
is "who runs runs on" false waits missing-1
remove missing-1
K delete clusterqueue $NS-missing --wait=false >/dev/null
soon "it goes when no queue names it" NotFound bash -c "'$KUBECTL' get resourceflavor $NS-later 2>&1 | cat"
local_queue nowhere nowhere
soon "a LocalQueue to nowhere" '^False ClusterQueueDoesNotExist' local_active nowhere
job nowhere-1 nowhere 1
soon "its job says so" "^False Misconfigured ClusterQueue $NS-nowhere doesn't exist" condition nowhere-1
job nowhere-2 no-such-queue 1
soon "a job in no LocalQueue" "^False Misconfigured LocalQueue no-such-queue doesn't exist" condition nowhere-2
soon "why says it too" "LocalQueue no-such-queue doesn't exist" why job/nowhere-2
queue nowhere "$(quota a 1)"
soon "the queue comes" '^false$' waits nowhere-1
remove nowhere-1 nowhere-2

# --- namespaceSelector: null selects nothing
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-closed}, spec: {resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [$(quota a 2)]}]}}
YAML
local_queue closed closed
job closed-1 closed 1
soon "no selector: no namespace" "^False Misconfigured workload namespace doesn't match ClusterQueue selector$" condition closed-1
K patch clusterqueue $NS-closed --type merge -p '{"spec": {"namespaceSelector": {"matchLabels": {"team": "x"}}}}' >/dev/null
is "another label: still not" true waits closed-1
K label namespace "$NS" team=x >/dev/null
soon "the namespace gets the label" '^false$' waits closed-1
remove closed-1
apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: bare, labels: {kueue.x-k8s.io/queue-name: change}},
 spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: a, image: x, resources: {requests: {cpu: 1}}}]}}}}
YAML
soon "a resource that the queue does not cover" "^False NoMatchingFlavor couldn't assign flavors to pod set main: resource cpu unavailable in ClusterQueue" condition bare
remove bare

# --- the commands: every form, and their exit codes
for what in queues jobs nodes; do
    for form in table wide json yaml csv; do ok "capstan $what -o $form" "$PROGRAM" $what -o $form; done
    is "capstan $what with a form that there is not" 2 code_of "$PROGRAM" $what -o pictures
done
is "why: no such object" 3 code_of why job/nobody
is "why: no such kind" 2 code_of why nothing/nobody
is "why: no object" 2 code_of "$PROGRAM" why

soon "all is given back: nothing is reserved" '^(0 )+$' K get clusterqueues -o 'jsonpath={range .items[*]}{.status.reservingWorkloads} {end}'
K delete clusterqueues $(K get clusterqueues -o name | sed 's|.*/||' | grep "^$NS-") --wait=false >/dev/null
K delete cohort $NS-root $NS-mid --wait=false >/dev/null
K delete resourceflavors $(K get resourceflavors -o name | sed 's|.*/||' | grep "^$NS-") --wait=false >/dev/null
K delete workloadpriorityclass $NS-low $NS-high >/dev/null
K delete priorityclass $NS-pod-low $NS-pod-high >/dev/null
