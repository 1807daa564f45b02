# What pods would rather have: preferred nodes and neighbours, spreads that may be broken, taints that keep nobody away.
if ! embedded; then
    skip "what pods would rather have" "needs simulated nodes of its own"
    return
fi
now=$(date -u +%FT%TZ)
for n in a b c; do
    cat <<YAML
---
{apiVersion: v1, kind: Node, metadata: {name: $n-$NS, labels: {capstan.dev/simulated: "true", mine: $NS, disk: $([ "$n" = c ] && echo new || echo old)},
 annotations: {capstan.dev/shape: "t4,gpus=4"}}, status: {capacity: {cpu: 8, memory: 8Gi, pods: 50}, allocatable: {cpu: 8, memory: 8Gi, pods: 50},
 conditions: [{type: Ready, status: "True", reason: KubeletReady, lastHeartbeatTime: "$now", lastTransitionTime: "$now"}]}}
YAML
done | "$KUBECTL" create -f - >/dev/null
pod() { # NAME SPEC: on these nodes
    printf -- '---\n{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: {app: web}}, spec: {nodeSelector: {mine: %s}, terminationGracePeriodSeconds: 0, %s containers: [{name: c, image: nginx, resources: {requests: {cpu: 10m}}}]}}' \
        "$1" "$NS" "$2" | k create -f - 2>&1
}
on() { k get pod "$1" -o 'jsonpath={.spec.nodeName}'; }
hosts() { k get pods -l "app=$1" --field-selector=status.phase=Running -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | sort | uniq -c | tr -s ' \n' ' '; }

disk='affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 10, preference: {matchExpressions: [{key: disk, operator: In, values: [%s]}]}}]}},'
is "a pod that prefers a node is made without a word" "pod/picky created" pod picky "$(printf "$disk" new)"
soon "and stands there" "^c-$NS\$" on picky
is "one that prefers what there is not" "pod/dreamer created" pod dreamer "$(printf "$disk" floppy)"
soon "stands somewhere" "-$NS\$" on dreamer

deployment() { # NAME RULES
    printf -- '---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s}, spec: {replicas: 3, selector: {matchLabels: {app: %s}}, template: {metadata: {labels: {app: %s}}, spec: {nodeSelector: {mine: %s}, %s containers: [{name: c, image: nginx, resources: {requests: {cpu: 10m}}}]}}}}' \
        "$1" "$1" "$1" "$NS" "$2" | k create -f - 2>&1
}
says "replicas that would rather stand apart" '^deployment.apps/apart created$' deployment apart \
    'affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: apart}}}}]}},'
soon "do, while there are nodes" "^ 1 a-$NS 1 b-$NS 1 c-$NS \$" hosts apart
k scale deployment apart --replicas=4 >/dev/null
soon "and stand together where there are none" '^ [12] a-.* [12] b-.* [12] c-' hosts apart
says "spreads that may be broken" '^deployment.apps/even created$' deployment even \
    'topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: even}}}],'
soon "are even" "^ 1 a-$NS 1 b-$NS 1 c-$NS \$" hosts even
says "replicas that would rather stand together" '^deployment.apps/together created$' deployment together \
    'affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: together}}}}]}},'
soon "do" '^ 3 [abc]-' hosts together

k taint nodes "a-$NS" "b-$NS" slow=yes:PreferNoSchedule >/dev/null
for i in 1 2 3 4; do pod "plain-$i" '' >/dev/null; done
plain() { for i in 1 2 3 4; do on "plain-$i"; echo; done | sort | uniq -c | tr -s ' \n' ' '; }
soon "nodes that are better avoided are" "^ 4 c-$NS \$" plain
k delete deployments --all >/dev/null
k delete pods --all --wait=true >/dev/null
ok "and the nodes go" "$KUBECTL" delete nodes -l "mine=$NS"
