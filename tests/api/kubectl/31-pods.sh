# Pods that run: logs, top, exec. Needs nodes.
node=$(k get nodes -o 'jsonpath={.items[0].metadata.name}' 2>/dev/null)
cat >pod.yaml <<YAML
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {app: p}, annotations: {capstan.dev/run-seconds: "600"}}
spec:
  nodeName: $node
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: busybox, command: [sh, -c, "echo started; sleep 600"]}]
YAML
if [ -z "$node" ]; then
    skip "pods" "no nodes"
    return
fi
ok "a pod" k apply -f pod.yaml
if ! embedded && ! k wait pod/p --for=condition=Ready --timeout=20s >/dev/null 2>&1; then
    skip "pods that run" "no kubelet runs them here"
    return
fi
says "runs" 'condition met' k wait pod/p --for=condition=Ready --timeout=60s
says "columns" '^p +1/1 +Running +0 ' k get pod p
says "wide columns" " $node " k get pod p -o wide
soon "log" '.' k logs p
is "tail" "1" bash -c '"$0" -n "$1" logs p --tail=1 | wc -l | tr -d " "' "$KUBECTL" "$NS"
says "timestamps" '^20[0-9-]+T' k logs p --timestamps
ok "since" k logs p --since=1h
says "by label" '.' k logs -l app=p
refuses "of no container" 'container nope is not valid' k logs p -c nope
refuses "before it restarted" 'previous terminated container' k logs p --previous
timeout 120 "$KUBECTL" -n "$NS" logs -f p >follow.txt 2>&1 &
follower=$!
soon "follow" '.' cat follow.txt
kill $follower 2>/dev/null
wait $follower 2>/dev/null
if embedded; then
    soon "top nodes" "^$node " k top nodes
    soon "top pods" '^p ' k top pods
    refuses "exec" 'simulated|not available|NotImplemented|501' k exec p -- ls
    refuses "attach" 'simulated|not available|NotImplemented|501' k attach p
fi
ok "debug" k debug p --image=busybox -c look --attach=false
soon "the debugger runs" '^20' k get pod p -o "jsonpath={.status.ephemeralContainerStatuses[?(@.name=='look')].state.running.startedAt}"
says "delete" 'pod "p".* deleted' k delete pod p
k run late --image=nginx >/dev/null
says "late runs" 'condition met' k wait pod/late --for=condition=Ready --timeout=60s
k patch pod late -p '{"spec":{"activeDeadlineSeconds":1}}' >/dev/null
soon "its deadline ends it" '^Failed DeadlineExceeded' k get pod late -o 'jsonpath={.status.phase} {.status.reason}'
if embedded; then
    says "run and look" 'pod "once" deleted' timeout 100 "$KUBECTL" -n "$NS" run once --rm -i --restart=Never --image=busybox \
        --annotations=capstan.dev/run-seconds=1 -- true
fi
cat >job.yaml <<YAML
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  completions: 2
  parallelism: 2
  template:
    metadata: {annotations: {capstan.dev/run-seconds: "1"}}
    spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: [sh, -c, "echo done"]}]}
YAML
ok "a job" k apply -f job.yaml
says "completes" 'condition met' k wait job/j --for=condition=Complete --timeout=60s
says "job columns" '^j +Complete +2/2|^j +2/2' k get job j
says "job's log" '.' k logs job/j
ok "delete it" k delete job j
