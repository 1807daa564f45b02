# Pods of KAI's scheduler name without its podgrouper: those of a job get the PodGroup that it would make, and start together; in a cluster
# with Queues of KAI's every pod gets one. On the embedded server's nodes: 6 with 8 GPUs each.
if ! embedded; then
    skip "KAI's groups without podgrouper" "needs the simulated nodes of the embedded cluster"
    return
fi
apply() { { echo "# YAML"; cat; } | k apply -f -; }
why() { "$PROGRAM" why "$1" -n "$NS"; }
bound() { k get pods -l "$1" -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | awk 'NF {n++} END {print n + 0}'; }
# count PATTERN: PodGroups whose names have it
count() { k get podgroups.scheduling.run.ai -o name | awk -v p="$1" '$0 ~ p {n++} END {print n + 0}'; }
# groups PATTERN JSONPATH: of the PodGroups whose names begin so
groups() { k get podgroups.scheduling.run.ai -o "jsonpath={range .items[*]}{.metadata.name} $2{\"\n\"}{end}" | grep "^$1"; }
template() { echo "template: {metadata: {labels: {app: $1}, annotations: {capstan.dev/run-seconds: \"600\"}}, spec: {schedulerName: kai-scheduler, terminationGracePeriodSeconds: 1, containers: [{name: $2, image: busybox, resources: {limits: {nvidia.com/gpu: $3}}}]}}"; }

# --- a job of Kubeflow's
torch() { # NAME WORKERS GPUS
    apply >/dev/null <<YAML
{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: $1}, spec: {pytorchReplicaSpecs: {
  Master: {replicas: 1, $(template "$1" pytorch "$3")}, Worker: {replicas: $2, $(template "$1" pytorch "$3")}}}}
YAML
}
torch fits 3 2
soon "its pods start" '^4$' bound app=fits
soon "by one PodGroup" '^pg-fits-[0-9a-f-]+ 4 master:1 worker:3' groups pg-fits '{.spec.minMember}{range .spec.subGroups[*]} {.name}:{.minMember}{end}'
soon "which is the job's" 'PyTorchJob fits' groups pg-fits '{.metadata.ownerReferences[0].kind} {.metadata.ownerReferences[0].name}'
soon "its pods are of parts of it" '^master$' k get pod fits-master-0 -o 'jsonpath={.metadata.labels.kai\.scheduler/subgroup-name}'
torch large 6 8
soon "seven of eight GPUs each, six nodes" 'only [0-9] of 7 pods can be placed|insufficient' why "$(k get podgroups.scheduling.run.ai -o name | grep pg-large | sed 's/.*\//podgroup\//')"
is "none starts" 0 bound app=large
k delete pytorchjobs large fits >/dev/null
soon "its group goes with it" '^0$' count 'pg-large|pg-fits'

# --- a JobSet, whose replicated jobs start one by one, or all together
jobset() { # NAME POLICY
    apply >/dev/null <<YAML
{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: $1}, spec: {$2 replicatedJobs: [
  {name: head, template: {spec: {template: {metadata: {labels: {app: $1}, annotations: {capstan.dev/run-seconds: "600"}}, spec: {restartPolicy: Never, schedulerName: kai-scheduler, containers: [{name: c, image: busybox}]}}}}},
  {name: work, replicas: 2, template: {spec: {parallelism: 2, completions: 2, template: {metadata: {labels: {app: $1}, annotations: {capstan.dev/run-seconds: "600"}}, spec: {restartPolicy: Never, schedulerName: kai-scheduler, containers: [{name: c, image: busybox}]}}}}}]}}
YAML
}
jobset apart "startupPolicy: {startupPolicyOrder: InOrder},"
soon "all start" '^5$' bound app=apart
soon "as one group, of which one replicated job is enough" '^pg-apart-[0-9a-f-]+ 1$' groups pg-apart '{.spec.minSubGroup}'
jobset joined ""
soon "in any order: all start" '^5$' bound app=joined
soon "as one group, with both of them" '^pg-joined-[0-9a-f-]+ 2 head:1/ head-replica-0:/1 work:2/ work-replica-0:/2 work-replica-1:/2$' groups pg-joined '{.spec.minSubGroup}{range .spec.subGroups[*]} {.name}:{.minSubGroup}/{.minMember}{end}'

# --- leaders and workers
apply >/dev/null <<YAML
{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {name: serve}, spec: {replicas: 2, leaderWorkerTemplate: {size: 3,
 workerTemplate: {metadata: {labels: {app: serve}}, spec: {schedulerName: kai-scheduler, containers: [{name: c, image: busybox}]}}}}}
YAML
soon "all start" '^6$' bound leaderworkerset.sigs.k8s.io/name=serve
soon "each replica by itself" 'pg-serve-[0-9a-f-]+-group-1 3 leader:1 workers:2' groups pg-serve '{.spec.minMember}{range .spec.subGroups[*]} {.name}:{.minMember}{end}'

# --- others, and queues
job() { # NAME [LABELS [GPUS [ANNOTATIONS]]]
    apply >/dev/null <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, annotations: {${4:-}}}, spec: {completions: 3, parallelism: 3, template: {metadata: {labels: {app: $1${2:+, $2}}, annotations: {capstan.dev/run-seconds: "600"}},
 spec: {schedulerName: kai-scheduler, restartPolicy: Never, containers: [{name: c, image: busybox, resources: {limits: {nvidia.com/gpu: ${3:-1}}}}]}}}}
YAML
}
job plain
soon "pods of a Job start" '^3$' bound app=plain
is "without a group" 0 count pg-plain
job gang "" 1 "kai.scheduler/batch-min-member: '3'"
soon "those of a Job that says how many start together do" '^3$' bound app=gang
soon "by one group" '^pg-gang-[0-9a-f-]+ 3 Job' groups pg-gang '{.spec.minMember} {.metadata.ownerReferences[0].kind}'
job fourth "" 1 "kai.scheduler/batch-min-member: '4'"
soon "who wants one more than the Job makes waits" '3 of 4 pods exist' why "$(k get podgroups.scheduling.run.ai -o name | grep pg-fourth | sed 's/.*\//podgroup\//')"
is "none starts" 0 bound app=fourth
k delete jobs gang fourth >/dev/null
apply >/dev/null <<YAML
{apiVersion: scheduling.run.ai/v2, kind: Queue, metadata: {name: $NS-q}, spec: {resources: {gpu: {quota: 2, limit: 2}, cpu: {quota: -1, limit: -1}, memory: {quota: -1, limit: -1}}}}
YAML
job counted "kai.scheduler/queue: $NS-q"
soon "with a Queue it has one, and the Queue's limit holds" '^2$' bound app=counted
soon "of which each starts by itself" "^pg-counted-.* 1 train $NS-q" groups pg-counted '{.spec.minMember} {.spec.priorityClassName} {.spec.queue}'
apply >/dev/null <<YAML
{apiVersion: v1, kind: Pod, metadata: {name: astray}, spec: {schedulerName: kai-scheduler, containers: [{name: c, image: busybox}]}}
YAML
soon "who names no queue waits for KAI's default" "queue default-queue doesn't exist" why pod/astray
apply >/dev/null <<YAML
{apiVersion: v1, kind: Pod, metadata: {name: apart, labels: {app: free}, annotations: {kai.scheduler/skip-podgrouper: "true"}}, spec: {schedulerName: kai-scheduler, containers: [{name: c, image: busybox}]}}
YAML
soon "who wants no group gets none" '^1$' bound app=free
"$KUBECTL" delete queues.scheduling.run.ai "$NS-q" >/dev/null

# --- where KAI's podgrouper runs
k create configmap owner >/dev/null
apply >/dev/null <<YAML
{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: theirs, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: $(k get configmap owner -o 'jsonpath={.metadata.uid}')}]}, spec: {minMember: 1}}
YAML
torch others 1 1
pods() { k get pods -l "$1" -o name | awk 'END {print NR}'; }
soon "pods are made" '^2$' pods app=others
job theirs
soon "its podgrouper is waited for, and then they start by themselves" '^3$' bound app=theirs
is "nothing is made" 0 count 'pg-others|pg-theirs'
k delete configmap owner >/dev/null
k delete podgroups.scheduling.run.ai theirs >/dev/null 2>&1
k delete pytorchjobs,jobsets,leaderworkersets,jobs,pods --all --wait=false >/dev/null
