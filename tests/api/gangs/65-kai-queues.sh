# KAI's Queues: quota, limit, borrowing, taking back, a tree, what is easily written wrong; their columns and status. On the embedded
# server's nodes: 6 with 8 GPUs each.
if ! embedded; then
    skip "KAI's Queues" "needs the simulated nodes of the embedded cluster"
    return
fi
apply() { { echo "# YAML"; cat; } | k apply -f -; }
why() { "$PROGRAM" why "$1" -n "$NS"; }
bound() { k get pods -l "app=$1" -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | awk 'NF {n++} END {print n + 0}'; }
column() { "$KUBECTL" get queues.scheduling.run.ai "$NS-$1" --no-headers; }
# queue NAME SPEC
queue() {
    apply <<YAML
{apiVersion: scheduling.run.ai/v2, kind: Queue, metadata: {name: $NS-$1}, spec: {$2}}
YAML
}
free='cpu: {quota: -1, limit: -1}, memory: {quota: -1, limit: -1}'
# gpus QUOTA LIMIT [WEIGHT]
gpus() { echo "resources: {gpu: {quota: $1, limit: $2, overQuotaWeight: ${3:-1}}, $free}"; }
# group NAME QUEUE PODS: of one GPU each
group() {
    apply >/dev/null <<YAML
{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: $1}, spec: {minMember: $3, queue: $NS-$2}}
YAML
    for i in $(seq "$3"); do
        apply >/dev/null <<YAML
{apiVersion: v1, kind: Pod, metadata: {name: $1-$i, labels: {app: $1}, annotations: {capstan.dev/run-seconds: "600", pod-group-name: $1}},
 spec: {schedulerName: kai-scheduler, restartPolicy: Never, terminationGracePeriodSeconds: 1, containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}}
YAML
    done
}

# --- what is written wrong
refuses "a queue without resources" 'spec[.]resources.*quota, limit' queue bad "parentQueue: x"
says "a limit that is not written is none" 'spec[.]resources[.]gpu[.]limit: not written, which is 0.*write -1' queue bad "resources: {gpu: {quota: 2}, $free}"
refuses "a time that is none" 'spec[.]reclaimMinRuntime' queue bad "reclaimMinRuntime: soon, $(gpus 1 1)"
says "a Queue with times" 'configured|created' queue bad "reclaimMinRuntime: 5m, $(gpus 1 1)"
says "a parent that is not there" "there is no Queue $NS-later" queue bad "parentQueue: $NS-later, $(gpus 1 1)"
refuses "an amount that is no number" 'spec[.]resources[.]gpu[.]quota' queue worse "resources: {gpu: {quota: many, limit: 1}}"

# --- a tree
says "the org" 'created' queue org "displayName: The Org, $(gpus 4 4)"
queue a "parentQueue: $NS-org, priority: 200, $(gpus 2 3)" >/dev/null
queue b "parentQueue: $NS-org, $(gpus 2 -1)" >/dev/null
soon "its columns" "$NS-a.*$NS-b.*The Org" column org
soon "those of a leaf" "200 +$NS-org" column a
group four a 4
soon "more than its limit waits" "queue $NS-a" why podgroup/four
is "and nothing of it starts" 0 bound four
soon "its group says so in KAI's words" "^UnschedulableOnNodePool OverLimit $NS-a\$" k get podgroups.scheduling.run.ai four -o \
    'jsonpath={.status.schedulingConditions[0].type} {.status.schedulingConditions[0].reasons[0].reason} {.status.schedulingConditions[0].reasons[0].details.queueDetails.name}'
k delete podgroups.scheduling.run.ai four >/dev/null
k delete pods -l app=four --wait=false >/dev/null
group three a 3
soon "up to its limit it borrows" '^3$' bound three
soon "who runs says nothing" '^[.]$' k get podgroups.scheduling.run.ai three -o 'jsonpath={.status.schedulingConditions}.'
soon "its status says what it has" '"nvidia.com/gpu":"3"' "$KUBECTL" get queues.scheduling.run.ai "$NS-a" -o 'jsonpath={.status.allocated}'
soon "its parent's too" '"nvidia.com/gpu":"3"' "$KUBECTL" get queues.scheduling.run.ai "$NS-org" -o 'jsonpath={.status.allocated}'
soon "capstan queues shows what it borrowed" "$NS-a +[^ ]+ +nvidia.com/gpu +2 +3 +1 +3 " "$PROGRAM" queues
group two b 2
soon "who is below his quota takes back what was borrowed" '^2$' bound two
soon "from who had borrowed it" '^0$' bound three
# --- how long who borrows runs first
queue a "parentQueue: $NS-org, priority: 200, reclaimMinRuntime: 15s, $(gpus 2 3)" >/dev/null
k delete podgroups.scheduling.run.ai,pods -l app=two >/dev/null 2>&1
k delete podgroups.scheduling.run.ai two three --ignore-not-found >/dev/null
k delete pods -l app=three --wait=false >/dev/null
group late a 3
soon "it borrows again" '^3$' bound late
group back b 2
soon "who takes back waits for its time" "takes nothing back for it before .*reclaimMinRuntime" why podgroup/back
is "nobody has gone yet" 3 bound late
soon "then it goes" '^2$' bound back
k delete podgroups.scheduling.run.ai late >/dev/null
k delete pods -l app=late --wait=false >/dev/null
group more b 3
soon "the limit of the org holds for those below it, too" "$NS-" why podgroup/more
is "it waits" 0 bound more
# --- what is non-preemptible borrows nothing
queue firm "$(gpus 2 -1)" >/dev/null
for i in 1 2 3; do
    apply >/dev/null <<YAML
{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: firm-$i}, spec: {minMember: 1, queue: $NS-firm, preemptibility: non-preemptible}}
---
{apiVersion: v1, kind: Pod, metadata: {name: firm-$i, labels: {app: firm}, annotations: {capstan.dev/run-seconds: "600", pod-group-name: firm-$i}},
 spec: {schedulerName: kai-scheduler, restartPolicy: Never, containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}}
YAML
done
soon "its quota is full" '^2$' bound firm
soon "one waits, and is told for what" "stays within the quota of queue $NS-firm .*of gpu they have 0 left, and it asks for 1" \
    bash -c "for i in 1 2 3; do '$PROGRAM' why podgroup/firm-\$i -n '$NS'; done"
soon "its group says so in KAI's words" "NonPreemptibleOverQuota $NS-firm" k get podgroups.scheduling.run.ai -o \
    'jsonpath={range .items[*]}{.status.schedulingConditions[0].reasons[0].reason} {.status.schedulingConditions[0].reasons[0].details.queueDetails.name}{"\n"}{end}'
group free firm 2
soon "others borrow" '^2$' bound free
is "it waits" 2 bound firm
soon "the Queue says what of it does not go" '^4 2$' "$KUBECTL" get queues.scheduling.run.ai "$NS-firm" -o \
    'jsonpath={.status.allocated.nvidia\.com/gpu} {.status.allocatedNonPreemptible.nvidia\.com/gpu}'
queue firm "$(gpus 3 -1)" >/dev/null
soon "the quota is raised: it starts" '^3$' bound firm
k delete podgroups.scheduling.run.ai,pods -l app=three >/dev/null 2>&1
k delete podgroups.scheduling.run.ai --all >/dev/null
k delete pods --all --wait=false >/dev/null

# --- priorities within a queue, parts of GPUs
queue p "$(gpus 1 1)" >/dev/null
apply >/dev/null <<YAML
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: $NS-high}, value: 60}
YAML
group low p 1
soon "one of two fits" '^1$' bound low
apply >/dev/null <<YAML
{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: high}, spec: {minMember: 1, queue: $NS-p, priorityClassName: $NS-high}}
---
{apiVersion: v1, kind: Pod, metadata: {name: high-1, labels: {app: high}, annotations: {capstan.dev/run-seconds: "600", pod-group-name: high}},
 spec: {schedulerName: kai-scheduler, restartPolicy: Never, containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}}
YAML
soon "a higher priority ends it" '^1$' bound high
soon "and has its place" '^0$' bound low
queue f "$(gpus 1 1)" >/dev/null
for i in 1 2 3; do
    apply >/dev/null 2>&1 <<YAML
{apiVersion: v1, kind: Pod, metadata: {name: half-$i, labels: {app: half, kai.scheduler/queue: $NS-f}, annotations: {capstan.dev/run-seconds: "600", gpu-fraction: "0.5"}},
 spec: {schedulerName: kai-scheduler, restartPolicy: Never, containers: [{name: main, image: busybox}]}}
YAML
done
soon "two halves of a GPU, of three" '^2$' bound half
soon "the third waits for the limit" "quota for gpu in queue $NS-f, 500m more needed" bash -c "for i in 1 2 3; do '$PROGRAM' why pod/half-\$i -n '$NS'; done"
is "two have started" 2 bound half
queue f "$(gpus 1 2)" >/dev/null
soon "a higher limit: it starts" '^3$' bound half
group whole f 1
soon "a whole GPU is beyond the rest of it" "quota for gpu in queue $NS-f, 500m more needed" why podgroup/whole
mib=$(k get nodes -o 'jsonpath={.items[0].metadata.labels.nvidia\.com/gpu\.memory}')
for i in 1 2; do
    apply >/dev/null 2>&1 <<YAML
{apiVersion: v1, kind: Pod, metadata: {name: memory-$i, labels: {app: memory, kai.scheduler/queue: $NS-f}, annotations: {capstan.dev/run-seconds: "600", gpu-memory: "$((mib / 4))"}},
 spec: {schedulerName: kai-scheduler, restartPolicy: Never, containers: [{name: main, image: busybox}]}}
YAML
done
soon "two quarters of a GPU's memory are not" '^2$' bound memory
soon "the Queue has two GPUs" '^(2|1999m|1998m)$' "$KUBECTL" get queues.scheduling.run.ai "$NS-f" -o 'jsonpath={.status.allocated.nvidia\.com/gpu}'
k delete podgroups.scheduling.run.ai --all >/dev/null
k delete pods --all --wait=false >/dev/null
"$KUBECTL" delete priorityclass "$NS-high" >/dev/null

# --- where nothing starts
group top org 1
soon "a queue above others takes in nobody" "queue $NS-org is inactive: it is above other Queues, $NS-a for one" why podgroup/top
group orphan bad 1
soon "nor one whose parent is not there" "its spec.parentQueue $NS-later does not exist" why podgroup/orphan
group nowhere none 1
soon "nor one that is not there" "queue $NS-none doesn't exist" why podgroup/nowhere
is "none has started" "0 0 0" echo "$(bound top) $(bound orphan) $(bound nowhere)"
queue later "$(gpus 1 1)" >/dev/null
queue none "$(gpus 1 1)" >/dev/null
soon "its parent comes: it starts" '^1$' bound orphan
soon "it comes itself" '^1$' bound nowhere
k delete podgroups.scheduling.run.ai,pods --all --wait=false >/dev/null
soon "they can go" 'deleted' "$KUBECTL" delete queues.scheduling.run.ai "$NS-a" "$NS-b" "$NS-org" "$NS-bad" "$NS-later" "$NS-none" "$NS-p" "$NS-f" "$NS-firm" --wait=false
