# What the scheduler is told of each device: simulated nodes with GPU work write the agent's annotation, 'capstan nodes' reads it with its age.
if ! embedded || [ -z "${PROGRAM:-}" ]; then
    skip "feedback of nodes" "needs simulated nodes"
    return
fi
feedback() { "$KUBECTL" get node "$1" -o 'jsonpath={.metadata.annotations.capstan\.dev/gpu-feedback}'; }
# NODE FIELD: of the first row of the node
measured() {
    "$PROGRAM" nodes --output json | /usr/bin/python3 -c '
import json, sys
row = next(row for row in json.load(sys.stdin) if row["node"] == sys.argv[1])
print(row[sys.argv[2]])' "$1" "$2"
}
# Nodes of its own: on the others pods of other files may run.
for node in busy idle; do
    cat <<YAML
---
apiVersion: v1
kind: Node
metadata: {name: $node-$NS, labels: {capstan.dev/simulated: "true"}, annotations: {capstan.dev/shape: t4}}
YAML
done >nodes.yaml
cat >busy.yaml <<YAML
apiVersion: v1
kind: Pod
metadata: {name: busy, annotations: {capstan.dev/run-seconds: "600", capstan.dev/gpu-activity: "0.5", capstan.dev/gpu-memory: "0.25"}}
spec:
  restartPolicy: Never
  nodeName: busy-$NS
  containers: [{name: app, image: cuda-app:latest, resources: {limits: {nvidia.com/gpu: 2}}}]
YAML
ok "two nodes that are added by hand" k apply -f nodes.yaml
ok "a pod with two GPUs" k apply -f busy.yaml
says "runs" 'condition met' k wait pod/busy --for=condition=Ready --timeout=60s
soon "its node says how busy they are" '"activity":0.50,"memory":\[384[0-9],15360\],"margin":[0-9]+,"throttled":false' feedback "busy-$NS"
is "and who is on them: a process on each of two devices, of this pod" "[[\"$NS/busy\",\"app\",\"simulated\",50,true],[\"$NS/busy\",\"app\",\"simulated\",50,true]] 2" \
    bash -c '"$0" get node "$1" -o "jsonpath={.metadata.annotations.capstan\.dev/gpu-sessions}" | jq -rc "\"\([.sessions[] | [.pod, .container, .command, .busy, .pid > 0 and .memory > 3000 and .since > 1600000000]]) \([.sessions[].unit] | unique | length)\""' "$KUBECTL" "busy-$NS"
is "each device once" 8 bash -c 'grep -o "\"id\":\"GPU-" <<<"$1" | wc -l' - "$(feedback "busy-$NS")"
soon "the scheduler's view: two of eight at 50 %" '^1[23]$' measured "busy-$NS" busyPercent
says "with its age" '^[0-9]+$' measured "busy-$NS" measuredSecondsAgo
is "nodes that never had GPU work write nothing" "" feedback "idle-$NS"
"$KUBECTL" annotate node cpu-0 "capstan.dev/gpu-feedback={\"at\":$(($(date +%s) - 150)),\"period\":15,\"units\":[{\"id\":\"GPU-a\",\"activity\":1}]}" --overwrite >/dev/null
is "150 s old: read" 100 measured cpu-0 busyPercent
"$KUBECTL" annotate node cpu-0 "capstan.dev/gpu-feedback={\"at\":$(($(date +%s) - 190)),\"period\":15,\"units\":[{\"id\":\"GPU-a\",\"activity\":1}]}" --overwrite >/dev/null
is "190 s old, more than twelve periods: unknown" None measured cpu-0 busyPercent
"$KUBECTL" annotate node cpu-0 capstan.dev/gpu-feedback=junk --overwrite >/dev/null
is "nonsense: unknown" None measured cpu-0 busyPercent
"$KUBECTL" annotate node cpu-0 capstan.dev/gpu-feedback- >/dev/null
"$KUBECTL" delete node "busy-$NS" "idle-$NS" >/dev/null
