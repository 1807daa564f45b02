# Pods that wait at the gate of their Volcano queue (scheduling.volcano.sh/queue-allocation-gate), unseen by autoscalers.
if ! embedded || [ -z "$(k get nodes -o name | head -1)" ]; then
    skip "gates of Volcano's queues" "Volcano's webhooks are not known to be here"
    return
fi
gate=scheduling.volcano.sh/queue-allocation-gate
queue() { printf -- '---\n{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: %s}, spec: {weight: 1, capability: {cpu: 1}}}\n' "$NS-$1" | k create -f - >/dev/null; }
pod() { # NAME QUEUE [SPEC]
    printf -- '---\n{apiVersion: v1, kind: Pod, metadata: {name: %s, annotations: {%s: "true", scheduling.volcano.sh/queue-name: %s}}, spec: {schedulerName: volcano, terminationGracePeriodSeconds: 0, %s containers: [{name: c, image: nginx, resources: {requests: {cpu: 600m}}}]}}\n' \
        "$1" "$gate" "$NS-$2" "${3:-}" | k create -f - -o 'jsonpath={.spec.schedulingGates[*].name}' 2>&1
}
gates() { k get pod "$1" -o 'jsonpath={.spec.schedulingGates[*].name}'; }
waits() { k get pod "$1" -o 'jsonpath={.spec.schedulingGates[*].name} {.status.conditions[?(@.type=="PodScheduled")].reason}'; }
phase() { k get pod "$1" -o 'jsonpath={.status.phase}'; }

queue full
is "a pod that asks for it is made with the gate" "$gate" pod first full
soon "and runs where its queue has room" '^Running$' phase first
is "without it" "" gates first
is "one for which there is no room" "$gate" pod second full
message() { k get pod "$1" -o 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}'; }
soon "why: the queue is full" "insufficient unused quota for cpu in queue $NS-full" "$PROGRAM" why pod/second -n "$NS"
soon "which its condition says, too" "insufficient unused quota for cpu in queue $NS-full" message second
is "it stays behind the gate" "$gate SchedulingGated" waits second
k delete pod first --wait=true >/dev/null
soon "until there is" '^Running$' phase second

queue nodes
nowhere='nodeSelector: {no-such: node},'
pod third nodes "$nowhere" >/dev/null
soon "one that lacks a node, not quota, is let through, and seen by autoscalers" '^ Unschedulable$' waits third
is "one behind it" "$gate" pod fourth nodes "$nowhere"
soon "waits at the gate: both are more than the queue may have" 'what queue .* has left is for pods that were let through before' message fourth
is "where it is not seen" "$gate SchedulingGated" waits fourth
pod fifth nodes >/dev/null
soon "one that finds a node takes the room" '^Running$' phase fifth
k delete pod third fifth --wait=true >/dev/null
soon "the next is let through when those are gone" '^ Unschedulable$' waits fourth

is "with a gate of somebody else's both are there" "example.com/other $gate" pod sixth full 'schedulingGates: [{name: example.com/other}],'
k delete pod second --wait=true >/dev/null
sleep 1
is "and stay" "example.com/other $gate" gates sixth
k patch pod sixth --type=json -p '[{"op": "remove", "path": "/spec/schedulingGates/0"}]' >/dev/null
soon "until that one is taken off" '^Running$' phase sixth
says "of another scheduler's pods the annotation says nothing" "Warning: metadata.annotations\\[$gate\\]: has no effect" \
    k run seventh --image=nginx --annotations="$gate=true"
is "they have no gate" "" gates seventh

running() { k get queues.scheduling.volcano.sh "$NS-$1" -o 'jsonpath={.status.running}'; }
soon "its queue's status counts it a moment later" '^1$' running full
refuses "a queue in use is not deleted" '1 of its pod groups run' k delete queues.scheduling.volcano.sh "$NS-full"
k delete pod --all --wait=true >/dev/null
ok "but at once when its pods are gone, or go" k delete queues.scheduling.volcano.sh "$NS-full" "$NS-nodes" --wait=false
