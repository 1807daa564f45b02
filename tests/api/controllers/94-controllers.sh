# The controllers that a cluster brings: Job, CronJob, Deployment, ReplicaSet; what kubelets do with pods; nodes that go. Embedded only.
if ! embedded; then
    skip "controllers" "needs the embedded cluster"
    return
fi

# batch NAME SECONDS EXIT [SPEC LINES...]: a Job whose pods run so long and end so
batch() {
    local name=$1 seconds=$2 exit=$3; shift 3
    { printf 'apiVersion: batch/v1\nkind: Job\nmetadata: {name: %s}\nspec:\n' "$name"
      for line in "$@"; do printf '  %s\n' "$line"; done
      printf '  template:\n    metadata: {annotations: {capstan.dev/run-seconds: "%s", capstan.dev/exit-code: "%s"}}\n' "$seconds" "$exit"
      printf '    spec: {restartPolicy: Never, containers: [{name: c, image: busybox:1}]}\n'; } | k apply -f - >/dev/null
}
# single NAME RESTART SECONDS EXIT [NODE]
single() {
    k apply -f - >/dev/null <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1, labels: {app: $1}, annotations: {capstan.dev/run-seconds: "$3", capstan.dev/exit-code: "$4"}}
spec: {restartPolicy: $2, ${5:+nodeName: $5, }containers: [{name: c, image: busybox:1, resources: {requests: {cpu: 100m, memory: 64Mi}}}]}
YAML
}
status() { k get job "$1" -o "jsonpath=$2"; }
condition() { status "$1" '{range .status.conditions[?(@.status=="True")]}{.type}:{.reason} {end}'; }
count() { k get pods -l "$1" -o name | wc -l; }

# --- Jobs, all started at once
batch indexed 1 0 'completionMode: Indexed' 'completions: 3' 'parallelism: 3'
batch limit 0.2 1 'backoffLimit: 1'
batch perindex 0.2 1 'completionMode: Indexed' 'completions: 4' 'parallelism: 1' 'backoffLimitPerIndex: 0' 'maxFailedIndexes: 5'
batch deadline 600 0 'activeDeadlineSeconds: 2'
batch policy 0.2 42 'backoffLimit: 6' 'podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {containerName: c, operator: In, values: [42]}}]}'
batch success 0.5 0 'completionMode: Indexed' 'completions: 3' 'parallelism: 1' 'successPolicy: {rules: [{succeededIndexes: "0"}]}'
batch paused 600 0 'suspend: true' 'parallelism: 2' 'completions: 2'
batch ttl 0.2 0 'ttlSecondsAfterFinished: 1'
batch wide 600 0 'parallelism: 3'
batch plain 0.5 0 'completions: 2' 'parallelism: 1'

soon "Indexed: names, one for each index" '^indexed-0-[a-z0-9]{5} indexed-1-[a-z0-9]{5} indexed-2-[a-z0-9]{5} $' k get pods -l job-name=indexed --sort-by=.metadata.name -o 'jsonpath={range .items[*]}{.metadata.name} {end}'
says "host name and index" '^indexed-1 1 1$' k get pods -l batch.kubernetes.io/job-completion-index=1,job-name=indexed -o 'jsonpath={.items[0].spec.hostname} {.items[0].metadata.labels.batch\.kubernetes\.io/job-completion-index} {.items[0].metadata.annotations.batch\.kubernetes\.io/job-completion-index}'
says "environment" 'JOB_COMPLETION_INDEX' k get pods -l job-name=indexed -o 'jsonpath={.items[0].spec.containers[0].env[*].name}'
says "owner and labels" '^Job indexed true indexed' k get pods -l job-name=indexed -o 'jsonpath={.items[0].metadata.ownerReferences[0].kind} {.items[0].metadata.ownerReferences[0].name} {.items[0].metadata.ownerReferences[0].controller} {.items[0].metadata.labels.batch\.kubernetes\.io/job-name}'
soon "completed indexes" '^0-2 3$' status indexed '{.status.completedIndexes} {.status.succeeded}'
soon "Complete" 'Complete:' condition indexed
says "columns" 'indexed +(Complete +)?3/3 ' k get job indexed
soon "backoffLimitPerIndex: no index waits for another" '^0-3$' status perindex '{.status.failedIndexes}'
soon "the job failed for it" 'Failed:FailedIndexes' condition perindex
soon "activeDeadlineSeconds" 'Failed:DeadlineExceeded' condition deadline
soon "its pods are gone" '^0$' count job-name=deadline
soon "podFailurePolicy FailJob" 'Failed:PodFailurePolicy' condition policy
soon "without a retry" '^1$' status policy '{.status.failed}'
soon "suspended: condition, no pod" '^Suspended:JobSuspended 0$' bash -c "echo \"\$('$KUBECTL' -n '$NS' get job paused -o 'jsonpath={.status.conditions[0].type}:{.status.conditions[0].reason}') \$('$KUBECTL' -n '$NS' get pods -l job-name=paused -o name | wc -l)\""
ok "resume" k patch job paused --type=merge -p '{"spec":{"suspend":false}}'
soon "its pods run" '^2 2$' status paused '{.status.active} {.status.ready}'
ok "suspend again" k patch job paused --type=merge -p '{"spec":{"suspend":true}}'
soon "its pods are deleted" '^0$' count job-name=paused
soon "ttlSecondsAfterFinished" 'NotFound' bash -c "'$KUBECTL' -n '$NS' get job ttl 2>&1 | cat"
soon "parallelism 3 runs three" '^3$' status wide '{.status.active}'
ok "parallelism down" k patch job wide --type=merge -p '{"spec":{"parallelism":1}}'
soon "one is left" '^1$' count job-name=wide
name=$(k get pods -l job-name=wide -o 'jsonpath={.items[0].metadata.name}')
ok "its pod is deleted" k delete pod "$name" --wait=false
soon "and replaced" '^1 [^ ]*$' bash -c "'$KUBECTL' -n '$NS' get pods -l job-name=wide -o 'jsonpath={.items[*].metadata.name}' | grep -v '$name' | xargs echo 1"
soon "completions one after the other" '^2 Complete' bash -c "'$KUBECTL' -n '$NS' get job plain -o 'jsonpath={.status.succeeded} {.status.conditions[*].type}' | sed 's/SuccessCriteriaMet //'"
ok "deleted" k delete job plain
soon "with its pods" '^0$' count job-name=plain
soon "successPolicy: complete with index 0 alone" '^0 SuccessCriteriaMet:SuccessPolicy Complete:SuccessPolicy ' bash -c "'$KUBECTL' -n '$NS' get job success -o 'jsonpath={.status.completedIndexes} {range .status.conditions[*]}{.type}:{.reason} {end}'"
ok "a job by command" k create job manual --image=busybox:1 -- true
says "it completes" 'condition met' k wait job/manual --for=condition=complete --timeout=60s
says "logs of a job" 'step|started' k logs job/manual
# the second pod comes ten seconds after the first has failed
soon "backoffLimit: two failures, then Failed" 'Failed:BackoffLimitExceeded' condition limit
soon "failed pods are counted" '^2$' status limit '{.status.failed}'
k delete job --all --wait=false >/dev/null

# --- CronJob: its schedule is tested without waiting; here a run by hand, and what is refused
if at_least 21; then # older ones create batch/v1beta1
    says "cronjob" 'nightly created' k create cronjob nightly --image=busybox:1 --schedule='0 3 1 1 *' -- true
    says "columns" 'nightly +0 3 1 1 \* .*False +0 ' k get cronjob nightly
    ok "a run by hand" k create job --from=cronjob/nightly first
    says "it completes" 'condition met' k wait job/first --for=condition=complete --timeout=60s
    refuses "a bad schedule" 'spec.schedule' k create cronjob bad --image=busybox:1 --schedule='99 * * * *'
    ok "suspended" k patch cronjob nightly --type=merge -p '{"spec":{"suspend":true}}'
    ok "removed" k delete cronjob nightly
else
    skip "cronjob" "this kubectl creates batch/v1beta1, which is not served"
fi

# --- Deployment
ok "deployment" k create deployment web --image=nginx:1 --replicas=3
says "rolled out" 'successfully rolled out' k rollout status deployment/web --timeout=60s
says "columns" 'web +3/3 +3 +3 ' k get deployment web
says "its replica set" 'web-[a-z0-9]+ +3 +3 +3 ' k get rs -l app=web
ok "scale" k scale deployment web --replicas=5
soon "five ready" '^5 5$' k get deployment web -o 'jsonpath={.status.readyReplicas} {.status.availableReplicas}'
k delete pod "$(k get pods -l app=web -o 'jsonpath={.items[0].metadata.name}')" --wait=false >/dev/null
soon "a deleted pod is replaced" '^5$' bash -c "'$KUBECTL' -n '$NS' get pods -l app=web --field-selector=status.phase=Running -o name | wc -l"
ok "new image" k set image deployment/web nginx=nginx:2
says "rolled out" 'successfully rolled out' k rollout status deployment/web --timeout=60s
soon "all pods have it" '^(nginx:2 ){5}$' k get pods -l app=web --field-selector=status.phase=Running -o 'jsonpath={range .items[*]}{.spec.containers[0].image} {end}'
soon "the old replica set is empty" '^0 5 $' k get rs -l app=web --sort-by=.spec.replicas -o 'jsonpath={range .items[*]}{.spec.replicas} {end}'
says "history" '^2 ' bash -c "'$KUBECTL' -n '$NS' rollout history deployment/web | grep '^[0-9]' | tail -1"
ok "undo" k rollout undo deployment/web
says "rolled back" 'successfully rolled out' k rollout status deployment/web --timeout=60s
is "to the first image" "nginx:1" k get deployment web -o 'jsonpath={.spec.template.spec.containers[0].image}'
soon "as revision 3" '^3$' k get deployment web -o 'jsonpath={.metadata.annotations.deployment\.kubernetes\.io/revision}'
ok "pause" k rollout pause deployment/web
ok "a change while paused" k set image deployment/web nginx=nginx:3
soon "is seen" '^true$' bash -c "'$KUBECTL' -n '$NS' get deployment web -o 'jsonpath={.metadata.generation} {.status.observedGeneration}' | awk '{ print (\$1 == \$2) ? \"true\" : \$0 }'"
is "is not rolled out" "2" bash -c "'$KUBECTL' -n '$NS' get rs -l app=web -o name | wc -l"
ok "resume" k rollout resume deployment/web
says "then it is" 'successfully rolled out' k rollout status deployment/web --timeout=60s
ok "restart" k rollout restart deployment/web
says "rolled out" 'successfully rolled out' k rollout status deployment/web --timeout=60s
ok "delete" k delete deployment web
soon "cascades" '^$' k get rs,pods -l app=web -o name
cat >bare.yaml <<'YAML'
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: bare}
spec:
  replicas: 2
  selector: {matchLabels: {app: bare}}
  template: {metadata: {labels: {app: bare}}, spec: {containers: [{name: c, image: busybox:1}]}}
YAML
k apply -f bare.yaml >/dev/null
soon "a bare replica set" '^2 2$' k get rs bare -o 'jsonpath={.status.replicas} {.status.readyReplicas}'
ok "its pods are orphaned on demand" k delete rs bare --cascade=orphan
soon "and stay" '^2 $' bash -c "sleep 0.5; echo \$('$KUBECTL' -n '$NS' get pods -l app=bare -o name | wc -l)' '\$('$KUBECTL' -n '$NS' get pods -l app=bare -o 'jsonpath={.items[*].metadata.ownerReferences}')"
ok "a third pod of the label" k run stray --image=busybox:1 --labels=app=bare
k apply -f bare.yaml >/dev/null
soon "a replica set of the same selector takes them in, and ends one too many" '^bare true bare true $' k get pods -l app=bare -o 'jsonpath={range .items[*]}{.metadata.ownerReferences[0].name} {.metadata.ownerReferences[0].controller} {end}'
soon "it counts two" '^2 2$' k get rs bare -o 'jsonpath={.status.replicas} {.status.readyReplicas}'
name=$(k get pods -l app=bare -o 'jsonpath={.items[0].metadata.name}')
ok "a pod gets another label" k label pod "$name" app=debug --overwrite
soon "and is nobody's" '^none$' k get pod "$name" -o 'go-template={{if .metadata.ownerReferences}}owned{{else}}none{{end}}'
soon "another stands in for it" '^2$' count app=bare
k delete rs bare --wait=false >/dev/null
k delete pods -l app=debug --wait=false >/dev/null
sed 's/name: bare/name: refused/; s/app: bare/app: refused/g; s/spec: {containers/spec: {priorityClassName: absent, containers/' bare.yaml | k apply -f - >/dev/null
soon "pods that the server refuses are told" '^True FailedCreate$' k get rs refused -o 'jsonpath={.status.conditions[?(@.type=="ReplicaFailure")].status} {.status.conditions[?(@.type=="ReplicaFailure")].reason}'
soon "with the cause" 'FailedCreate.*no PriorityClass with name absent' k describe rs refused
k delete rs refused --wait=false >/dev/null

# --- kubelets
single always Always 0.2 1
single onfail OnFailure 0.2 3
single never Never 0.2 7
single fine OnFailure 0.2 0
single serve Always 600 0
soon "Always restarts" '^[1-9]' k get pod always -o 'jsonpath={.status.containerStatuses[0].restartCount}'
soon "and is shown in a crash loop" 'CrashLoopBackOff' k get pod always
soon "OnFailure restarts a failure" '^[1-9]' k get pod onfail -o 'jsonpath={.status.containerStatuses[0].restartCount}'
soon "what it ended with" '^3$' k get pod onfail -o 'jsonpath={.status.containerStatuses[0].lastState.terminated.exitCode}'
soon "Never: the pod failed with its exit code" '^Failed 7$' k get pod never -o 'jsonpath={.status.phase} {.status.containerStatuses[0].state.terminated.exitCode}'
says "shown as Error" 'never +0/1 +Error' k get pod never
soon "OnFailure: success completes" '^Succeeded$' k get pod fine -o 'jsonpath={.status.phase}'
says "shown as Completed" 'fine +0/1 +Completed' k get pod fine
says "logs" 'exit code 7' k logs never
says "previous logs" 'exit code|started' k logs always --previous
soon "a service runs" '^Running$' k get pod serve -o 'jsonpath={.status.phase}'
soon "top pods" 'serve +[0-9]+m +[0-9]+Mi' k top pod serve
soon "top nodes" 'cpu-0 +[0-9]+m +[0-9]+%' k top node cpu-0
ok "graceful deletion" k delete pod serve --wait=true --timeout=60s

# --- nodes: drain respects a budget; a node that goes takes its pods along. On a node of its own, so that nobody's pods are disturbed.
node=node-$NS
"$KUBECTL" get node t4-3 -o json | sed "s/t4-3/$node/g" >node.json
ok "a node more" k create -f node.json
k apply -f - >/dev/null <<'YAML'
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: guard}
spec: {minAvailable: 1, selector: {matchLabels: {app: guarded}}}
YAML
single guarded Always 600 0 "$node"
soon "a pod on the node" '^Running$' k get pod guarded -o 'jsonpath={.status.phase}'
ok "cordon" k cordon "$node"
says "is shown" 'SchedulingDisabled' k get node "$node"
refuses "drain is held by the budget" 'disruption budget|timed out|timeout|deadline exceeded' k drain "$node" --force --ignore-daemonsets --timeout=2s
ok "without it" k delete pdb guard
ok "drain" k drain "$node" --force --ignore-daemonsets --timeout=60s
soon "the pod is gone" '^0$' count app=guarded
ok "uncordon" k uncordon "$node"
single weak Always 600 0 "$node"
soon "a pod on it again" '^Running$' k get pod weak -o 'jsonpath={.status.phase}'
ok "a taint that evicts" k taint node "$node" maintenance=now:NoExecute
soon "the pod is gone, too" '^0$' count app=weak
soon "an event says why" 'TaintManagerEviction' k get events --field-selector involvedObject.name=weak
ok "the taint goes" k taint node "$node" maintenance-
# heard STATUS: what the condition Ready of the node says
heard() {
    "$KUBECTL" get --raw "/api/v1/nodes/$node" |
        sed 's/,"resourceVersion":"[0-9]*"//; s/"type":"Ready","status":"[A-Za-z]*"/"type":"Ready","status":"'"$1"'"/; s/"status":"[A-Za-z]*",\([^{}]*\)"type":"Ready"/"status":"'"$1"'",\1"type":"Ready"/' >heard.json
    "$KUBECTL" replace --raw "/api/v1/nodes/$node/status" -f heard.json
}
ok "a kubelet is not heard of" heard Unknown
soon "its node is tainted" 'unreachable:NoExecute' "$KUBECTL" describe node "$node"
ok "it is back" heard True
soon "the taint goes" 'Taints: +<none>' "$KUBECTL" describe node "$node"
k create deployment stay --image=nginx:1 --replicas=1 >/dev/null
k patch deployment stay --type=merge -p '{"spec":{"template":{"spec":{"nodeSelector":{"kubernetes.io/hostname":"'$node'"}}}}}' >/dev/null
says "a deployment on one node" 'successfully rolled out' k rollout status deployment/stay --timeout=60s
old=$(k get pods -l app=stay -o 'jsonpath={.items[0].metadata.name}')
single lost Always 600 0 "$node"
soon "and a pod" '^Running$' k get pod lost -o 'jsonpath={.status.phase}'
ok "the node is deleted" k delete node "$node"
soon "its pods go with it" '^0$' count app=lost
soon "those of a deployment too" 'NotFound' bash -c "'$KUBECTL' -n '$NS' get pod $old 2>&1 | cat"
soon "another waits for a node" '^Pending$' k get pods -l app=stay -o 'jsonpath={.items[*].status.phase}'
ok "the node comes back" k create -f node.json
soon "and the pod runs on it" "^Running $node\$" k get pods -l app=stay -o 'jsonpath={.items[*].status.phase} {.items[*].spec.nodeName}'
k delete deployment stay --wait=false >/dev/null
ok "a pod may name a node that never was" k run nowhere --image=nginx:1 --overrides='{"spec":{"nodeName":"nowhere"}}'
soon "and goes, as nobody would ever run it, or end it" 'NotFound' bash -c "'$KUBECTL' -n '$NS' get pod nowhere 2>&1 | cat"
"$KUBECTL" delete node "$node" >/dev/null
