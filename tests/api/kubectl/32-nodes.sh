# Nodes: cordon, taint, drain. On a node of its own, so that nobody's pods are disturbed.
if ! embedded; then
    skip "nodes" "only on the embedded server, where nodes can be made up"
    return
fi
n=node-$NS
cat >node.yaml <<YAML
apiVersion: v1
kind: Node
metadata: {name: $n, labels: {node-role.kubernetes.io/test: ""}}
YAML
ok "a node" k apply -f node.yaml
says "columns" "^$n +(Unknown|Ready|NotReady) +test" k get node "$n"
says "cordon" 'cordoned' k cordon "$n"
says "shows" 'SchedulingDisabled' k get node "$n"
says "cordon again" 'already cordoned' k cordon "$n"
says "uncordon" 'uncordoned' k uncordon "$n"
says "taint" 'tainted' k taint node "$n" a=b:NoSchedule
is "the taint" "a=b:NoSchedule" k get node "$n" -o 'jsonpath={range .spec.taints[?(@.key=="a")]}{.key}={.value}:{.effect}{end}'
says "untaint" 'untainted' k taint node "$n" a-
cat >pods.yaml <<YAML
apiVersion: v1
kind: Pod
metadata: {name: p1, labels: {app: guarded}}
spec: {nodeName: $n, terminationGracePeriodSeconds: 0, containers: [{name: c, image: busybox}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: guard}
spec: {minAvailable: 1, selector: {matchLabels: {app: guarded}}}
YAML
ok "a guarded pod" k apply -f pods.yaml
if at_least 24; then
    k patch pod p1 --subresource=status --type merge -p '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}' >/dev/null
    soon "budget's columns" '^guard +1 +N/A +0 ' k get pdb guard
    refuses "drain against a budget" "disruption budget|timed out|global timeout|deadline exceeded" k drain "$n" --force --timeout=2s
    k delete pdb guard >/dev/null
fi
says "drain" 'drained|evicted' k drain "$n" --force --timeout=60s
is "it is empty" "" k get pods -o name
ok "delete the node" k delete node "$n"
