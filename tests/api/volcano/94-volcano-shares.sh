# Volcano's queues share a cluster by weight, deserved and guarantee: a queue has what nobody else needs, another takes its own back, and
# everybody is told why. A server of its own: what queues deserve follows from all nodes and all that is asked for.
if ! embedded; then
    skip "shares of Volcano's queues" "needs the simulated nodes of the embedded cluster"
    return
fi
"$PROGRAM" up --data-dir "$PWD/own" --listen 127.0.0.1:0 --nodes 1:t4,gpus=8 >own.log 2>&1 &
own=$!
appears own/kubeconfig
v() { "$KUBECTL" --kubeconfig own/kubeconfig "$@"; }
why() { "$PROGRAM" why "$1" --kubeconfig own/kubeconfig -n default; }
QUEUES=queues.scheduling.volcano.sh GROUPS_=podgroups.scheduling.volcano.sh
# queue NAME SPEC
queue() { v apply -f - <<<$'---\n'"{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: $1}, spec: {$2}}" 2>&1; }
# job NAME QUEUE GPUS [ANNOTATION [FEWEST]]
job() {
    v apply -f - <<YAML
---
{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: $1, annotations: {${4:-}}}, spec: {queue: $2, minAvailable: ${5:-$3}, tasks: [
 {name: t, replicas: $3, template: {metadata: {annotations: {capstan.dev/run-seconds: "600"}}, spec: {restartPolicy: Never, containers: [
  {name: c, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}}}]}}
YAML
}
state() { v get vcjob "$1" -o 'jsonpath={.status.state.phase} {.status.running}'; }
end() { v delete vcjob "$@" >/dev/null; }
queues() { "$PROGRAM" queues --kubeconfig own/kubeconfig "$@"; }
has() { v get $QUEUES "$1" -o 'jsonpath={.status.allocated.nvidia\.com/gpu}'; }
told() { v get events --field-selector reason=Evicted -o 'jsonpath={range .items[*]}{.involvedObject.name}: {.message}{"\n"}{end}'; }

# --- by weight
is "shares are taken without a warning" "queue.scheduling.volcano.sh/a created" queue a 'weight: 3'
is "so are all others" "queue.scheduling.volcano.sh/b created" queue b 'weight: 1, reclaimable: true, deserved: {}, guarantee: {resource: {}}, parent: root'
job wide b 6 >/dev/null
soon "a queue has what nobody else needs" '^Running 6$' state wide
job small b 2 >/dev/null
soon "all of it" '^Running 2$' state small
soon "and says so" '^8$' has b
says "capstan queues: who deserves by weight names nothing" '^b +- +nvidia.com/gpu +- +8 +- +- ' queues
job mine a 4 >/dev/null
soon "another takes back what it deserves" '^Running 4$' state mine
is "who was not needed stays" "Running 2" state small
page() { v get --raw /metrics/scheduler; }
soon "metrics: what each deserves by its weight" '^volcano_queue_deserved_scalar_resources{queue_name="a",resource="nvidia.com/gpu",replica_role="standalone"} 4000$' page
says "of what is asked for" '^volcano_queue_deserved_scalar_resources{queue_name="b",resource="nvidia.com/gpu",replica_role="standalone"} 4000$' page
says "and has" '^volcano_queue_allocated_scalar_resources{queue_name="b",resource="nvidia.com/gpu",replica_role="standalone"} [0-9]+$' page
soon "the others are told for whom, and of what" '^wide-t-[0-5]: reclaimed for PodGroup default/mine-[-0-9a-f]+ of queue a, which has less than it deserves: queue b has more than the 4 nvidia.com/gpu that it deserves$' told
soon "the job's pods are made anew, and wait" '^6$' bash -c "'$KUBECTL' --kubeconfig own/kubeconfig get pods -l volcano.sh/job-name=wide --field-selector status.phase=Pending -o name | wc -l"
soon "why: it takes nothing back itself" 'queue b takes nothing back for it: it would have more than it deserves' why vcjob/wide
job more a 2 >/dev/null
soon "what is free needs no taking back" '^Running 2$' state more
end mine more
soon "what comes free goes to who waits" '^Running 6$' state wide
end wide small

# --- what a job can do without goes before any job goes whole
job stretch b 8 '' 3 >/dev/null
soon "a job has more than it needs" '^Running 8$' state stretch
job firm a 2 >/dev/null
soon "another queue takes back what it deserves" '^Running 2$' state firm
soon "from those that it can do without" '^Running 6$' state stretch
soon "they are told for whom" '^stretch-t-[67]: reclaimed for PodGroup default/firm-.*; its pod group has more than its minimum of 3, and stays$' told
is "nobody else of it has gone" 2 bash -c "'$KUBECTL' --kubeconfig own/kubeconfig get events --field-selector reason=Evicted -o jsonpath='{.items[*].involvedObject.name}' | grep -o stretch | wc -l"
end firm
soon "it grows when there is room" '^Running 8$' state stretch
end stretch

# --- what is written
ok "the queues name what they deserve" bash -c "'$KUBECTL' --kubeconfig own/kubeconfig patch $QUEUES a --type=merge -p '{\"spec\":{\"deserved\":{\"nvidia.com/gpu\":2}}}' &&
    '$KUBECTL' --kubeconfig own/kubeconfig patch $QUEUES b --type=merge -p '{\"spec\":{\"deserved\":{\"nvidia.com/gpu\":6}}}'"
job first a 4 >/dev/null
job second a 4 'volcano.sh/preemptable: "false"' >/dev/null
soon "one has it all" '^Running 4$' state first
soon "both jobs of it" '^Running 4$' state second
job own b 4 >/dev/null
soon "the other has its own" '^Running 4$' state own
is "who is not preemptable stays" "Running 4" state second
soon "metrics: what it names" '^volcano_queue_deserved_scalar_resources{queue_name="a",resource="nvidia.com/gpu",replica_role="standalone"} 2000$' page
soon "capstan queues: what a queue deserves, has, and has of what is not its own" '^a +- +nvidia.com/gpu +2 +4 +2 +- ' queues
soon "of another nothing" '^b +- +nvidia.com/gpu +6 +4 +0 +- ' queues
end first second own

# --- guarantees, and queues that keep what they have
ok "a guarantee" bash -c "'$KUBECTL' --kubeconfig own/kubeconfig patch $QUEUES a --type=merge -p '{\"spec\":{\"guarantee\":{\"resource\":{\"nvidia.com/gpu\":2}}}}'"
job seven b 7 >/dev/null
soon "what is guaranteed is not for others" 'insufficient quota for nvidia.com/gpu in queue b' why vcjob/seven
job six b 6 >/dev/null
soon "all else is" '^Running 6$' state six
says "capstan queues: with its guarantee and its weight" '^a +Queue .* nvidia.com/gpu +2 +0 +0 +- +2 +3 ' queues -o wide
job two a 2 >/dev/null
soon "it is at hand at once" '^Running 2$' state two
end seven six two
ok "a queue that keeps what it has" bash -c "'$KUBECTL' --kubeconfig own/kubeconfig patch $QUEUES b --type=merge -p '{\"spec\":{\"reclaimable\":false,\"deserved\":{\"nvidia.com/gpu\":1}}}' &&
    '$KUBECTL' --kubeconfig own/kubeconfig patch $QUEUES a --type=merge -p '{\"spec\":{\"guarantee\":null,\"deserved\":{\"nvidia.com/gpu\":7}}}'"
job kept b 4 >/dev/null
soon "it has more than it deserves" '^Running 4$' state kept
job waits a 6 >/dev/null
soon "and nobody takes it back" 'queue a takes nothing back for it: no other queue has more than it deserves of what it needs, or none that may lose it' why vcjob/waits
is "it runs on" "Running 4" state kept
end kept waits

# --- queues below queues
ok "a parent" queue dept 'capability: {nvidia.com/gpu: 4}, deserved: {nvidia.com/gpu: 4}'
queue dept-x 'parent: dept' >/dev/null
queue dept-y 'parent: dept' >/dev/null
job red dept-x 3 >/dev/null
soon "its capability is for all below it" '^Running 3$' state red
says "capstan queues: at most its capability" '^dept +- +nvidia.com/gpu +4 +0 +0 +4 ' queues
refuses "metrics: nothing of a queue with queues below it" '^$' bash -c "'$KUBECTL' --kubeconfig own/kubeconfig get --raw /metrics/scheduler | grep 'queue_name=.dept\"'"
says "and where it stands" '^dept-x +Queue +dept ' queues -o wide
job blue dept-y 2 >/dev/null
soon "what would be more takes it back within it" '^Running 2$' state blue
soon "not beyond it" '^2$' has dept-y
end red
job third dept-x 3 >/dev/null
soon "who would need more than the parent may have waits, without pods" 'insufficient unused quota for nvidia.com/gpu in queue dept-x, 1 more needed' why vcjob/third
end blue
soon "until others below it need less" '^Running 3$' state third
kill $own
wait $own 2>/dev/null

# --- within one queue: Volcano's action preempt
rm -r own
"$PROGRAM" up --data-dir "$PWD/own" --listen 127.0.0.1:0 --nodes 1:t4,gpus=8 --volcano-preempt >own.log 2>&1 &
own=$!
appears own/kubeconfig
queue a '' >/dev/null
v create priorityclass high --value=9 >/dev/null
job low a 8 >/dev/null
soon "a queue is full" '^Running 8$' state low
job high 'a, priorityClassName: high' 4 >/dev/null
soon "who has a higher priority ends who has a lower one in it" '^Running 4$' state high
soon "he is told for whom" '^low-t-[0-7]: preempted for PodGroup default/high-[-0-9a-f]+, which has a higher priority in queue a$' told
job other 'a, priorityClassName: high' 8 >/dev/null
soon "for one of equal priority nobody goes" 'only 4 of 8 pods can be placed' why vcjob/other
is "he runs on" "Running 4" state high
kill $own
wait $own 2>/dev/null
