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
cat >busy.yaml <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: busy, annotations: {capstan.dev/run-seconds: "600", capstan.dev/gpu-activity: "0.5", capstan.dev/gpu-memory: "0.25"}}
spec:
  restartPolicy: Never
  nodeSelector: {kubernetes.io/hostname: t4-1}
  containers: [{name: app, image: cuda-app:latest, resources: {limits: {nvidia.com/gpu: 2}}}]
YAML
ok "a pod with two GPUs" k apply -f busy.yaml
says "runs" 'condition met' k wait pod/busy --for=condition=Ready --timeout=20s
soon "its node says how busy they are" '"activity":0.50,"memory":\[384[0-9],15360\],"margin":[0-9]+,"throttled":false' feedback t4-1
is "each device once" 8 bash -c 'grep -o "\"id\":\"GPU-" <<<"$1" | wc -l' - "$(feedback t4-1)"
says "the scheduler's view: two of eight at 50 %" '^1[23]$' measured t4-1 busyPercent
says "with its age" '^[0-9]$|^1[0-9]$' measured t4-1 measuredSecondsAgo
cat >idle.yaml <<YAML
apiVersion: v1
kind: Node
metadata: {name: idle-$NS, labels: {capstan.dev/simulated: "true"}, annotations: {capstan.dev/shape: t4}}
YAML
ok "a node that is added by hand" k apply -f idle.yaml
is "nodes that never had GPU work write nothing" "" feedback "idle-$NS"
"$KUBECTL" delete node "idle-$NS" >/dev/null
"$KUBECTL" annotate node cpu-0 "capstan.dev/gpu-feedback={\"at\":$(($(date +%s) - 170)),\"period\":15,\"units\":[{\"id\":\"GPU-a\",\"activity\":1}]}" --overwrite >/dev/null
is "170 s old: read" 100 measured cpu-0 busyPercent
"$KUBECTL" annotate node cpu-0 "capstan.dev/gpu-feedback={\"at\":$(($(date +%s) - 190)),\"period\":15,\"units\":[{\"id\":\"GPU-a\",\"activity\":1}]}" --overwrite >/dev/null
is "190 s old, more than twelve periods: unknown" None measured cpu-0 busyPercent
"$KUBECTL" annotate node cpu-0 capstan.dev/gpu-feedback=junk --overwrite >/dev/null
is "nonsense: unknown" None measured cpu-0 busyPercent
"$KUBECTL" annotate node cpu-0 capstan.dev/gpu-feedback- >/dev/null
ok "the pod ends" k delete pod busy --grace-period=0 --force
