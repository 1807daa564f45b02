# Volcano as its users know it: Jobs with their fields, policies, commands and plugins; queues; pod groups. Embedded cluster only:
# the simulated nodes run the pods, and annotations say for how long and how they end.
if ! embedded; then
    skip "Volcano jobs" "needs the embedded cluster"
    return
fi
program=${PROGRAM:-${CAPSTAN:-$ROOT/build}}
[ -d "$program" ] && program=$program/capstan
why() { "$program" why "$1" -n "$NS"; }
QUEUES=queues.scheduling.volcano.sh GROUPS_=podgroups.scheduling.volcano.sh

# job NAME [SPEC LINES...] < tasks: a Job; each line stands in spec
job() {
    local name=$1; shift
    { printf 'apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: %s}\nspec:\n' "$name"
      for line in "$@"; do printf '  %s\n' "$line"; done
      echo '  tasks:'
      cat; } >"$name.yaml"
    k apply -f "$name.yaml"
}
# task NAME REPLICAS SECONDS [EXIT [CPU [LINES...]]]: one task; each further line stands in the task
task() {
    local name=$1 replicas=$2 seconds=$3 exit=${4:-0} cpu=${5:-100m}
    shift $(($# < 5 ? $# : 5))
    printf '  - name: %s\n    replicas: %s\n' "$name" "$replicas"
    for line in "$@"; do printf '    %s\n' "$line"; done
    printf '    template:\n      metadata: {annotations: {capstan.dev/run-seconds: "%s", capstan.dev/exit-code: "%s"}}\n' "$seconds" "$exit"
    printf '      spec: {restartPolicy: Never, containers: [{name: c, image: busybox:1, command: [work], resources: {requests: {cpu: %s}}}]}\n' "$cpu"
}
field() { k get vcjob "$1" -o "jsonpath=$2"; }
phase() { k get vcjob "$1" -o 'jsonpath={.status.state.phase}'; }
pods() { k get pods -l "volcano.sh/job-name=$1" -o 'jsonpath={range .items[*]}{.metadata.name} {end}'; }
group() { k get $GROUPS_ -l "volcano.sh/job-name=$1" -o "jsonpath={range .items[*]}$2{end}"; }
# command ACTION JOB
order() {
    local uid
    uid=$(field "$2" '{.metadata.uid}')
    k create -f - <<YAML
---
{apiVersion: bus.volcano.sh/v1alpha1, kind: Command, metadata: {generateName: $2-}, action: $1, reason: test,
 target: {apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: $2, uid: "$uid"}}
YAML
}

# --- defaults, names, plugins
{ task ps-a 1 600; task w 3 600 0 100m 'minAvailable: 2'; } >tasks
says "a job of two tasks" 'full created' job full 'plugins: {svc: [], ssh: [], env: []}' 'ttlSecondsAfterFinished: 600' <tasks
is "defaults: minAvailable is the tasks' sum, maxRetry 3, queue default" "3 3 default volcano 1" \
    field full '{.spec.minAvailable} {.spec.maxRetry} {.spec.queue} {.spec.schedulerName} {.spec.tasks[0].minAvailable}'
soon "it runs" '^Running 4 3$' field full '{.status.state.phase} {.status.running} {.status.minAvailable}'
is "pods are called <job>-<task>-<index>" "full-ps-a-0 full-w-0 full-w-1 full-w-2 " pods full
is "counts by task" "1 3" field full '{.status.taskStatusCount.ps-a.phase.Running} {.status.taskStatusCount.w.phase.Running}'
is "one condition a phase" "Pending Running" field full '{.status.conditions[*].status}'
uid=$(field full '{.metadata.uid}')
soon "the pod group's name, minimum and phase" "^full-$uid 3 2 Running\$" group full '{.metadata.name} {.spec.minMember} {.spec.minTaskMember.w} {.status.phase}'
soon "what its members need" '^300m$' group full '{.spec.minResources.cpu}'
is "pod annotations" "full-$uid w full 0 2 full-w" k get pod full-w-2 -o 'jsonpath={.metadata.annotations.scheduling\.k8s\.io/group-name} {.metadata.annotations.volcano\.sh/task-spec} {.metadata.annotations.volcano\.sh/job-name} {.metadata.annotations.volcano\.sh/job-version} {.metadata.annotations.volcano\.sh/task-index} {.metadata.annotations.volcano\.sh/template-uid}'
is "pod labels" "full $NS w 2 default" k get pod full-w-2 -o 'jsonpath={.metadata.labels.volcano\.sh/job-name} {.metadata.labels.volcano\.sh/job-namespace} {.metadata.labels.volcano\.sh/task-spec} {.metadata.labels.volcano\.sh/task-index} {.metadata.labels.volcano\.sh/queue-name}'
is "svc: host name, subdomain" "full-w-2 full" k get pod full-w-2 -o 'jsonpath={.spec.hostname} {.spec.subdomain}'
is "svc: a headless service" "None full true" k get svc full -o 'jsonpath={.spec.clusterIP} {.spec.selector.volcano\.sh/job-name} {.spec.publishNotReadyAddresses}'
is "svc: hosts" "full-w-0.full,full-w-1.full,full-w-2.full 3 full-ps-a-0.full" k get cm full-svc -o 'jsonpath={.data.VC_W_HOSTS} {.data.VC_W_NUM} {.data.VC_PS_A_HOSTS}'
is "svc: host file of lines" "$(printf 'full-w-0.full\nfull-w-1.full\nfull-w-2.full')" k get cm full-svc -o 'jsonpath={.data.w\.host}'
says "svc: environment and mount" 'VC_PS_A_HOSTS.*VC_W_NUM.*/etc/volcano' k get pod full-w-2 -o 'jsonpath={.spec.containers[0].env[*].name} {.spec.containers[0].volumeMounts[*].mountPath}'
says "svc: a network policy" 'full' k get networkpolicy full
is "ssh: the secret is mounted at /root/.ssh, 0600" "full-ssh 384 /root/.ssh" k get pod full-w-2 -o 'jsonpath={.spec.volumes[?(@.secret)].secret.secretName} {.spec.volumes[?(@.secret)].secret.defaultMode} {.spec.containers[0].volumeMounts[?(@.name=="full-ssh")].mountPath}'
says "ssh: keys" 'authorized_keys.*config.*id_rsa.*id_rsa.pub' k get secret full-ssh -o 'jsonpath={.data}'
is "env: the index" "2 2" k get pod full-w-2 -o 'jsonpath={.spec.containers[0].env[?(@.name=="VC_TASK_INDEX")].value} {.spec.containers[0].env[?(@.name=="VK_TASK_INDEX")].value}'
says "columns" 'full +Running +3 +4 ' k get vcjob

# --- scaling: up, down, and what may not change
ok "scale up" k patch vcjob full --type=json -p '[{"op":"replace","path":"/spec/tasks/1/replicas","value":5}]'
soon "the new pods run" '^6$' field full '{.status.running}'
soon "and the hosts know them" 'full-w-4.full' k get cm full-svc -o 'jsonpath={.data.VC_W_HOSTS}'
ok "scale down" k patch vcjob full --type=json -p '[{"op":"replace","path":"/spec/tasks/1/replicas","value":2}]'
soon "the last ones go" '^full-ps-a-0 full-w-0 full-w-1 $' pods full
soon "the job still runs, version 0" '^Running 3 $' field full '{.status.state.phase} {.status.running} {.status.version}'
refuses "a minimum above the replicas is refused" 'minAvailable' k patch vcjob full --type=merge -p '{"spec":{"minAvailable":9}}'
refuses "the queue may not change" 'may not change fields other than' k patch vcjob full --type=merge -p '{"spec":{"queue":"root"}}'
refuses "nor a template" 'may not change' k patch vcjob full --type=json -p '[{"op":"replace","path":"/spec/tasks/0/template/spec/containers/0/image","value":"x"}]'
ok "removed" k delete vcjob full --wait=false
soon "with all that was its own" '^$' k get pods,svc,cm,secret,networkpolicy,$GROUPS_ -l volcano.sh/job-name=full -o name
soon "service too" 'not found' bash -c "'$KUBECTL' -n '$NS' get svc full 2>&1 | cat"

# --- volumes: a claim of the job's own, mounted by all, that stays while the job restarts
says "a job with a volume" 'disk created' job disk 'volumes: [{mountPath: /data, volumeClaim: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]' < <(task a 2 600 0 1 'topologyPolicy: best-effort')
soon "it runs" '^Running 2$' field disk '{.status.state.phase} {.status.running}'
claim=$(k get pvc -l volcano.sh/job-name=disk -o 'jsonpath={.items[0].metadata.name}')
says "the claim is called <job>-pvc-<12 letters>" '^disk-pvc-[a-z0-9]{12}$' echo "$claim"
is "every pod mounts it" "$claim /data $claim" k get pod disk-a-1 -o 'jsonpath={.spec.volumes[0].persistentVolumeClaim.claimName} {.spec.containers[0].volumeMounts[0].mountPath} {.spec.containers[0].volumeMounts[0].name}'
is "topologyPolicy is passed on" "best-effort" k get pod disk-a-1 -o 'jsonpath={.metadata.annotations.volcano\.sh/numa-topology-policy}'
ok "removed" k delete vcjob disk --wait=false
soon "with its claim" '^$' k get pvc -l volcano.sh/job-name=disk -o name
refuses "a volume without a claim" 'spec.volumes\[0\].*either volumeClaim or volumeClaimName' job x 'volumes: [{mountPath: /data}]' < <(task a 1 1)

# --- how jobs end
job complete 'minSuccess: 1' < <(task a 2 1; task b 1 600) >/dev/null
job failed < <(task a 2 1 3; task b 1 2) >/dev/null
job enough 'minAvailable: 1' < <(task a 1 1 1; task b 2 1) >/dev/null
job ttl 'ttlSecondsAfterFinished: 1' < <(task a 1 1) >/dev/null
job chain 'minAvailable: 3' < <(task first 1 600; task then 2 600 0 100m 'dependsOn: {name: [first]}') >/dev/null
job prio 'priorityClassName: system-node-critical' < <(task a 1 600) >/dev/null
job codes 'policies: [{exitCode: 3, action: AbortJob}, {event: PodFailed, action: TerminateJob}]' < <(task a 2 600; task b 1 1 3) >/dev/null
job ends 'policies: [{event: TaskCompleted, action: CompleteJob}]' < <(task a 2 600; task b 1 1) >/dev/null
job own 'policies: [{event: "*", action: AbortJob}]' < <(task a 2 600; task b 1 1 1 100m 'policies: [{event: PodFailed, action: TerminateJob}]') >/dev/null
job late 'policies: [{event: PodFailed, action: AbortJob, timeout: 2s}]' < <(task a 1 600; task b 1 0 1) >/dev/null
job again 'policies: [{event: PodFailed, action: RestartJob}]' < <(task a 1 600; task b 1 0.2 1) >/dev/null
job pod 'policies: [{event: PodEvicted, action: RestartPod}]' < <(task a 2 600) >/dev/null
job task 'policies: [{event: PodEvicted, action: RestartTask}]' < <(task a 2 600; task b 1 600) >/dev/null
job hand < <(task a 2 600) >/dev/null
job stuck 'policies: [{event: PodPending, action: AbortJob, timeout: 1s}]' < <(task a 1 600 0 5000) >/dev/null
job exits 'maxRetry: 2' 'policies: [{event: TaskFailed, action: CompleteJob}]' < <(task a 1 0.1 1 100m 'maxRetry: 1' | sed 's/restartPolicy: Never/restartPolicy: OnFailure/'; task b 1 600) >/dev/null

soon "minSuccess: completed as soon as one succeeded" '^Completed$' phase complete
soon "the pods that ran on are removed" '^complete-a-0 complete-a-1 $' pods complete
soon "a task short of its minimum fails the job" '^Failed' phase failed
soon "minAvailable met by successes completes it" '^Completed 2 1' field enough '{.status.state.phase} {.status.succeeded} {.status.failed}'
says "how long it ran" '^[0-9]+s$' field enough '{.status.runningDuration}'
soon "ttlSecondsAfterFinished: it is gone" 'NotFound' bash -c "'$KUBECTL' -n '$NS' get vcjob ttl 2>&1 | cat"
soon "dependsOn: followed after the first ran" '^Running 3$' field chain '{.status.state.phase} {.status.running}'
says "dependsOn: made later" 'then-0' pods chain
soon "priorityClassName reaches the pods" '2000001000' k get pod prio-a-0 -o 'jsonpath={.spec.priority}'
soon "exitCode: its own policy" '^Aborted 1 1$' field codes '{.status.state.phase} {.status.version} {.status.failed}'
soon "aborted: running pods are gone, the failed one stays" '^codes-b-0 $' pods codes
soon "TaskCompleted completes the job" '^Completed 1$' field ends '{.status.state.phase} {.status.succeeded}'
soon "the task's policies go first" '^Terminated$' phase own
soon "timeout: acted after it" '^Aborted$' phase late
soon "maxRetry 3: two restarts, the third fails the job" '^Failed 3 3$' field again '{.status.state.phase} {.status.retryCount} {.status.version}'
soon "PodPending with a timeout" '^Aborted$' phase stuck
soon "TaskFailed: restarts of containers reach the task's maxRetry" '^Completed$' phase exits

# --- deleted pods
soon "both jobs run" '^Running 2$' field pod '{.status.state.phase} {.status.running}'
soon "all of it" '^Running 3$' field task '{.status.state.phase} {.status.running}'
uid_b=$(k get pod task-b-0 -o 'jsonpath={.metadata.uid}') uid_a=$(k get pod pod-a-0 -o 'jsonpath={.metadata.uid}')
k delete pod pod-a-1 task-a-1 --wait=false >/dev/null
soon "RestartPod: the pod is replaced" '^Running 2 1 $' field pod '{.status.state.phase} {.status.running} {.status.retryCount} {.status.version}'
is "its sibling stays" "$uid_a" k get pod pod-a-0 -o 'jsonpath={.metadata.uid}'
soon "RestartTask: the task is replaced" '^Running 3 1 $' field task '{.status.state.phase} {.status.running} {.status.retryCount} {.status.version}'
is "the other task stays" "$uid_b" k get pod task-b-0 -o 'jsonpath={.metadata.uid}'
uid_a=$(k get pod hand-a-0 -o 'jsonpath={.metadata.uid}')
k delete pod hand-a-1 --wait=false >/dev/null
soon "no policy: a deleted pod comes back" '^Running 2  $' field hand '{.status.state.phase} {.status.running} {.status.retryCount} {.status.version}'

# --- Commands
ok "AbortJob" order AbortJob hand
soon "is obeyed" '^Aborted 1$' field hand '{.status.state.phase} {.status.version}'
soon "all pods are gone" '^$' pods hand
soon "the command is consumed" '^$' k get commands -o name
ok "ResumeJob" order ResumeJob hand
soon "runs again" '^Running 2 1$' field hand '{.status.state.phase} {.status.running} {.status.retryCount}'
ok "RestartJob" order RestartJob hand
soon "new pods" '^Running 2 2 3$' field hand '{.status.state.phase} {.status.running} {.status.retryCount} {.status.version}'
ok "TerminateJob" order TerminateJob hand
soon "is final" '^Terminated$' phase hand
ok "ResumeJob of a terminated job" order ResumeJob hand
soon "the command is consumed all the same" '^$' k get commands -o name
is "it stays terminated" "Terminated" phase hand
refuses "an unknown action" 'AbortJob' order Dance pod
k delete vcjob --all --wait=false >/dev/null

# --- what is refused
refuses "no task" 'No task specified' k apply -f - <<<$'---\n{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: x}, spec: {tasks: []}}'
refuses "minAvailable of a task above its replicas" 'spec.tasks\[0\].minAvailable' job x < <(task a 1 1 0 1 'minAvailable: 2')
refuses "an unknown plugin" 'spec.plugins\[dance\].*svc' job x 'plugins: {dance: []}' < <(task a 1 1)
refuses "a queue that is not there" 'unable to find job queue' job x 'queue: nowhere' < <(task a 1 1)
refuses "event and exitCode together" 'spec.policies\[0\].*simultaneously' job x 'policies: [{event: PodFailed, exitCode: 1, action: RestartJob}]' < <(task a 1 1)
refuses "exit code 0" 'not a valid error code' job x 'policies: [{exitCode: 0, action: RestartJob}]' < <(task a 1 1)
refuses "an internal action" 'spec.policies\[0\].action' job x 'policies: [{event: PodFailed, action: SyncJob}]' < <(task a 1 1)
refuses "an internal event" 'spec.policies\[0\].event' job x 'policies: [{event: PodRunning, action: RestartJob}]' < <(task a 1 1)
refuses "* with another event" 'spec.policies' job x 'policies: [{events: ["*", PodFailed], action: RestartJob}]' < <(task a 1 1)
refuses "an internal event in a list" 'spec.policies\[0\].events' job x 'policies: [{events: [OutOfSync], action: RestartJob}]' < <(task a 1 1)
refuses "two policies of one event" 'spec.policies\[1\]' job x 'policies: [{event: PodFailed, action: RestartJob}, {events: [PodFailed], action: AbortJob}]' < <(task a 1 1)
refuses "a bad timeout" 'timeout' job x 'policies: [{event: PodFailed, action: RestartJob, timeout: soon}]' < <(task a 1 1)
refuses "tasks that wait for each other" 'directed acyclic' job x < <(task a 1 1 0 1 'dependsOn: {name: [b]}'; task b 1 1 0 1 'dependsOn: {name: [a]}')
refuses "a priority class that is not there" 'priorityClassName.*nowhere|nowhere.*[Pp]riority' job x 'priorityClassName: nowhere' < <(task a 1 1)
refuses "two tasks of one name" 'spec.tasks\[1\]' job x < <(task a 1 1; task a 1 1)
refuses "minSuccess 0" 'minSuccess' job x 'minSuccess: 0' < <(task a 1 1)
refuses "negative maxRetry" 'maxRetry' job x 'maxRetry: -1' < <(task a 1 1)

# --- room for one
a100='nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB'
gpus() { task w "$1" 600 | sed "s/requests: {cpu: 100m}/limits: {nvidia.com\/gpu: 1}/; s/spec: {/spec: {nodeSelector: {$(sed 's,/,\\/,g' <<<"$a100")}, /"; }
job one < <(gpus 10) >/dev/null
soon "the first gang runs" '^Running 10$' field one '{.status.state.phase} {.status.running}'
job two < <(gpus 10) >/dev/null
soon "the second says why, in GPUs" '(6|10) .*nvidia.com/gpu' why vcjob/two
is "nothing of it is bound" "" k get pods -l volcano.sh/job-name=two -o 'jsonpath={.items[*].spec.nodeName}'
soon "its pod group" 'Unschedulable.*NotEnoughResources.*10/10 tasks in gang unschedulable' group two '{.status.conditions[*].type} {.status.conditions[*].reason} {.status.conditions[*].message}'
soon "waits" '^Pending$' phase two
ok "the first goes" k delete vcjob one --wait=false
soon "the second starts whole" '^Running 10$' field two '{.status.state.phase} {.status.running}'
job giant < <(gpus 40) >/dev/null
soon "a gang that no cluster of this size holds is told at once" 'only 6 of 40 pods can be placed' why vcjob/giant
k delete vcjob --all --wait=false >/dev/null

# --- queues
says "a queue with a limit" 'small created' k apply -f - <<<$'---\n{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: t93-small}, spec: {weight: 1, capability: {cpu: 2}}}'
job q1 'queue: t93-small' < <(task a 2 600 0 1) >/dev/null
soon "runs within it" '^Running 2$' field q1 '{.status.state.phase} {.status.running}'
job q2 'queue: t93-small' < <(task a 1 600 0 1) >/dev/null
soon "why: the queue is full" 'insufficient unused quota for cpu in queue t93-small, 1 more needed' why vcjob/q2
soon "the queue counts" '^Open 1 1 2$' k get $QUEUES t93-small -o 'jsonpath={.status.state} {.status.running} {.status.pending} {.status.allocated.cpu}'
refuses "a queue in use is not deleted" '1 of its pod groups run' k delete $QUEUES t93-small
k create -f - >/dev/null <<<$'---\n{apiVersion: bus.volcano.sh/v1alpha1, kind: Command, metadata: {generateName: q-}, action: CloseQueue, target: {apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, name: t93-small, uid: x}}'
soon "CloseQueue: closing while groups are left" '^Closing$' k get $QUEUES t93-small -o 'jsonpath={.status.state}'
refuses "no new job into it" 'can only submit job to queue with state' job q3 'queue: t93-small' < <(task a 1 1)
k delete vcjob q1 q2 q3 --wait=false >/dev/null 2>&1
soon "then closed" '^Closed$' k get $QUEUES t93-small -o 'jsonpath={.status.state}'
k create -f - >/dev/null <<<$'---\n{apiVersion: bus.volcano.sh/v1alpha1, kind: Command, metadata: {generateName: q-}, action: OpenQueue, target: {apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, name: t93-small, uid: x}}'
soon "OpenQueue" '^Open$' k get $QUEUES t93-small -o 'jsonpath={.status.state}'
refuses "default is not deleted" 'default' k delete $QUEUES default
refuses "root is not deleted" 'root' k delete $QUEUES root
refuses "no job into root" 'root' job x 'queue: root' < <(task a 1 1)
refuses "guarantee above capability" 'spec.guarantee' k apply -f - <<<$'---\n{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: t93-bad}, spec: {capability: {cpu: 2}, guarantee: {resource: {cpu: 3}}}}'
ok "a queue is deleted" k delete $QUEUES t93-small
says "fifo and a priority are no news to the scheduler" '^queue.scheduling.volcano.sh/t93-fifo created$' \
    k apply -f - <<<$'---\n{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: t93-fifo}, spec: {capability: {cpu: 2}, dequeueStrategy: fifo, priority: 3}}'
job f1 'queue: t93-fifo' < <(task a 1 600 0 1) >/dev/null
soon "the first runs" '^Running 1$' field f1 '{.status.state.phase} {.status.running}'
job f2 'queue: t93-fifo' < <(task a 2 600 0 1) >/dev/null
soon "the next is too large" 'insufficient unused quota for cpu in queue t93-fifo, 1 more needed' why vcjob/f2
job f3 'queue: t93-fifo' < <(task a 1 600 0 1) >/dev/null
soon "and who would fit waits behind it" 'waits behind .*f2.* in queue t93-fifo, whose dequeueStrategy is fifo' why vcjob/f3
is "no pod of it is made" "" pods f3
ok "the one in front goes" k delete vcjob f2 --wait=false
soon "and the one behind it runs" '^Running 1$' field f3 '{.status.state.phase} {.status.running}'
k delete vcjob f1 f3 --wait=false >/dev/null

# --- bare pods
bare() { printf -- '---\n{apiVersion: v1, kind: Pod, metadata: {name: %s, annotations: {%s capstan.dev/run-seconds: "600"}}, spec: {schedulerName: volcano, containers: [{name: c, image: busybox:1, resources: {requests: {cpu: 100m}}}]}}\n' "$1" "${2:-}"; }
says "a pod group by hand" 'band created' k apply -f - <<<$'---\n{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: band}, spec: {minMember: 3}}'
bare band-1 'scheduling.k8s.io/group-name: band,' | k apply -f - >/dev/null
bare band-2 'scheduling.k8s.io/group-name: band,' | k apply -f - >/dev/null
bare alone | k apply -f - >/dev/null
soon "a lone pod of Volcano's scheduler runs" '^Running$' k get pod alone -o 'jsonpath={.status.phase}'
soon "two of three wait" '2 of 3' k get $GROUPS_ band -o 'jsonpath={.status.conditions[*].message}'
is "unbound" "" k get pod band-1 band-2 -o 'jsonpath={.items[*].spec.nodeName}'
bare band-3 'scheduling.k8s.io/group-name: band,' | k apply -f - >/dev/null
soon "with the third all start" '^Running Running Running$' k get pod band-1 band-2 band-3 -o 'jsonpath={.items[*].status.phase}'
soon "the group runs" '^Running 3$' k get $GROUPS_ band -o 'jsonpath={.status.phase} {.status.running}'
k delete pod --all --wait=false >/dev/null
