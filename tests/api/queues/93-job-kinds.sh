# PyTorchJobs, MPIJobs, JobSets and their family: they wait for quota, start whole with what the operators give their pods, are stopped and
# restored, and end. On the embedded server's nodes.
if ! embedded; then
    skip "kinds of jobs" "needs the simulated nodes of the embedded cluster"
    return
fi
K() { "$KUBECTL" "$@"; }
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
why() { "$PROGRAM" why "$1" -n "$NS"; }
remove() { k delete "$@" --wait=false >/dev/null; }
condition() { k get "$1" "$2" -o "jsonpath={.status.conditions[?(@.type==\"$3\")].status}"; }
workload_of() { k get workloads -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.ownerReferences[0].name}{"\n"}{end}' | awk -v o="$1" '$2 == o {print $1}'; }
of_workload() { k get workload "$(workload_of "$1")" -o "jsonpath=$2"; }
# nodes_n LABEL=VALUE: how many of its pods have a node
nodes_n() { k get pods -l "$1" -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | awk 'NF {n++} END {print n + 0}'; }
env_of() { k get pod "$1" -o 'jsonpath={range .spec.containers[0].env[*]}{.name}={.value} {end}'; }
# template SECONDS CONTAINER GPUS
template() { echo "template: {metadata: {annotations: {capstan.dev/run-seconds: \"$1\"}}, spec: {containers: [{name: $2, image: x, resources: {limits: {nvidia.com/gpu: $3}}}]}}"; }

apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-a}, spec: {nodeLabels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-q}, spec: {namespaceSelector: {}, preemption: {withinClusterQueue: LowerPriority},
 resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: $NS-a, resources: [{name: nvidia.com/gpu, nominalQuota: 4}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q}, spec: {clusterQueue: $NS-q}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: $NS-high}, value: 100}
YAML

# --- PyTorchJob: holds all of the quota
apply <<YAML
{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: pt, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {pytorchReplicaSpecs: {
 Master: {$(template 600 pytorch 1)}, Worker: {replicas: 3, $(template 600 pytorch 1)}}}}
YAML
soon "a PyTorchJob starts whole" '^4$' nodes_n training.kubeflow.org/job-name=pt
is "its Workload has a pod set a role" 'master=1 worker=3 ' of_workload pt '{range .spec.podSets[*]}{.name}={.count} {end}'
says "on the nodes of its flavor" '^a100' k get pod pt-worker-2 -o 'jsonpath={.spec.nodeName}'
says "the environment of a worker" 'MASTER_PORT=23456 .*MASTER_ADDR=pt-master-0 .*WORLD_SIZE=4 RANK=3 ' env_of pt-worker-2
is "its labels" 'worker 2 pytorchjob-controller' k get pod pt-worker-2 \
    -o 'jsonpath={.metadata.labels.training\.kubeflow\.org/replica-type} {.metadata.labels.training\.kubeflow\.org/replica-index} {.metadata.labels.training\.kubeflow\.org/operator-name}'
is "a Service for each" None k get service pt-worker-2 -o 'jsonpath={.spec.clusterIP}'
soon "it runs" '^True$' condition pytorchjob pt Running

# --- MPIJob: waits, then takes the quota by its priority; the launcher comes when the workers are ready
apply <<YAML
{apiVersion: kubeflow.org/v2beta1, kind: MPIJob, metadata: {name: mpi, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {slotsPerWorker: 2,
 launcherCreationPolicy: WaitForWorkersReady, runPolicy: {cleanPodPolicy: Running}, mpiReplicaSpecs: {
 Launcher: {$(template 6 l 0)}, Worker: {replicas: 4, $(template 600 w 1)}}}}
YAML
soon "an MPIJob waits for quota" 'insufficient unused quota for nvidia.com/gpu' why mpijob/mpi
is "with no pods" "" k get pods -l training.kubeflow.org/job-name=mpi -o name
is "suspended" true k get mpijob mpi -o 'jsonpath={.spec.runPolicy.suspend}'
written=$(k get pytorchjob pt -o 'jsonpath={.metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration}')
k label mpijob mpi "kueue.x-k8s.io/priority-class=$NS-high" >/dev/null
soon "who has a higher priority stops the other" '^True$' condition pytorchjob pt Suspended
says "whose Workload says why" 'Preempted' of_workload pt '{range .status.conditions[?(@.status=="True")]}{.reason} {end}'
soon "its pods go" '^$' k get pods -l training.kubeflow.org/job-name=pt -o name
is "and its templates are as before" "" k get pytorchjob pt -o 'jsonpath={.spec.pytorchReplicaSpecs.*.template.spec.nodeSelector}{.spec.pytorchReplicaSpecs.*.template.metadata.labels}'
says "as they were applied" '"replicas":3' echo "$written"
soon "the workers start, and then the launcher" '^5$' nodes_n training.kubeflow.org/job-name=mpi
is "the hosts" "$(for i in 0 1 2 3; do echo "mpi-worker-$i.mpi.$NS.svc slots=2"; done)" k get configmap mpi-config -o 'jsonpath={.data.hostfile}'
says "the launcher finds them" 'K_MPI_JOB_ROLE=launcher .*OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile' \
    env_of "$(k get pods -l training.kubeflow.org/job-role=launcher -o 'jsonpath={.items[0].metadata.name}')"
says "the MPIJob ends with its launcher" 'condition met' k wait mpijob/mpi --for=condition=Succeeded --timeout=60s
soon "and its workers go" '^0$' nodes_n training.kubeflow.org/job-name=mpi,training.kubeflow.org/job-role=worker
soon "the one that was stopped starts again" '^4$' nodes_n training.kubeflow.org/job-name=pt
remove pytorchjob pt

# --- JobSet: what depends on others comes after them
apply <<YAML
{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: js, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {replicatedJobs: [
 {name: data, template: {spec: {$(template 3 c 0)}}},
 {name: train, replicas: 2, dependsOn: [{name: data, status: Complete}], template: {spec: {parallelism: 2, completions: 2, $(template 8 c 1)}}}]}}
YAML
soon "a JobSet begins with what depends on nothing" '^1$' nodes_n jobset.sigs.k8s.io/jobset-name=js
is "all of it is in its Workload" 'data=1 train=4 ' of_workload js '{range .spec.podSets[*]}{.name}={.count} {end}'
soon "then the others" '^4$' nodes_n jobset.sigs.k8s.io/replicatedjob-name=train
is "labels of its jobs" 'js train 2 1 2' k get job js-train-1 -o 'jsonpath={range .metadata.labels}{.jobset\.sigs\.k8s\.io/jobset-name} {.jobset\.sigs\.k8s\.io/replicatedjob-name} {.jobset\.sigs\.k8s\.io/replicatedjob-replicas} {.jobset\.sigs\.k8s\.io/job-index} {.jobset\.sigs\.k8s\.io/job-global-index}{end}'
soon "what is over gives its quota back" '^data=1$' of_workload js '{range .status.reclaimablePods[*]}{.name}={.count}{end}'
says "and it completes" 'condition met' k wait jobset/js --for=condition=Completed --timeout=60s
soon "so does its Workload" '^Succeeded$' of_workload js '{.status.conditions[?(@.type=="Finished")].reason}'

# --- of no queue: nothing is waited for
apply <<YAML
{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: free}, spec: {replicatedJobs: [{name: w, template: {spec: {$(template 600 c 0)}}}]}}
YAML
soon "a JobSet of no queue starts at once" '^1$' nodes_n jobset.sigs.k8s.io/jobset-name=free
remove jobset/free
apply <<YAML
{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: torn}, spec: {replicatedJobs: [{name: w, template: {spec: {template: {spec: {
 containers: [{name: c, image: x, volumeMounts: [{name: data, mountPath: /data}]}]}}}}}]}}
YAML
soon "why a JobSet has no jobs is told" 'JobCreationFailed .*volumeMounts.0..name: Not found: "data"' \
    k get events --field-selector involvedObject.name=torn,involvedObject.kind=JobSet -o 'jsonpath={range .items[*]}{.reason} {.message}{"\n"}{end}'
remove jobset/torn
claim() { echo "{templates: [{metadata: {name: $1}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}], retentionPolicy: {whenDeleted: $2}}"; }
apply <<YAML
{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: lasting}, spec: {volumeClaimPolicies: [$(claim scratch Delete), $(claim model Retain)],
 replicatedJobs: [{name: w, template: {spec: {template: {spec: {containers: [{name: c, image: x, volumeMounts: [{name: scratch, mountPath: /s}, {name: model, mountPath: /m}]}]}}}}}]}}
YAML
soon "a JobSet has its claims" 'scratch=scratch-lasting model=model-lasting' \
    k get pods -l jobset.sigs.k8s.io/jobset-name=lasting -o 'jsonpath={range .items[0].spec.volumes[*]}{.name}={.persistentVolumeClaim.claimName} {end}'
is "they are there" 'model-lasting scratch-lasting' k get pvc -o 'jsonpath={.items[*].metadata.name}'
remove jobset/lasting
soon "it leaves what is to be kept" '^model-lasting$' k get pvc -o 'jsonpath={.items[*].metadata.name}'
remove pvc/model-lasting

# --- the rest of the family
while read -r kind specs container variable; do
    apply <<YAML
{apiVersion: kubeflow.org/v1, kind: $kind, metadata: {name: ${kind,,}, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {$specs: {$(
        [ "$kind" != XGBoostJob ] || echo "Master: {$(template 3 "$container" 1)}, ")Worker: {replicas: 2, $(template 3 "$container" 1)}}}}
YAML
    soon "a $kind starts" '^[23]$' nodes_n "training.kubeflow.org/job-name=${kind,,}"
    says "its environment" "$variable" env_of "${kind,,}-worker-1"
    says "it ends" 'condition met' k wait "${kind,,}/${kind,,}" --for=condition=Succeeded --timeout=60s
done <<'KINDS'
TFJob tfReplicaSpecs tensorflow TF_CONFIG=.*"task":{"type":"worker","index":1}
XGBoostJob xgbReplicaSpecs xgboost WORKER_ADDRS=xgboostjob-worker-0,xgboostjob-worker-1
JAXJob jaxReplicaSpecs jax NUM_PROCESSES=2.PROCESS_ID=1
PaddleJob paddleReplicaSpecs paddle PADDLE_NNODES=2
KINDS
says "capstan jobs shows them" 'TFJob +tfjob +2 ' "$PROGRAM" jobs -n "$NS"

# --- what is wrong in one
refuses "a role that the kind does not know" 'spec.pytorchReplicaSpecs: Unsupported value: "Chief": supported values: Master, Worker' k apply -f - <<YAML
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bad}
spec: {pytorchReplicaSpecs: {Chief: {$(template 1 pytorch 1)}}}
YAML
refuses "a container of another name" 'write name: pytorch' k apply -f - <<YAML
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bad}
spec: {pytorchReplicaSpecs: {Worker: {$(template 1 trainer 1)}}}
YAML
refuses "a JobSet that depends on what comes after" 'must be the name of a replicatedJob that stands before this one' k apply -f - <<YAML
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: bad}
spec: {replicatedJobs: [{name: a, dependsOn: [{name: b, status: Ready}], template: {spec: {$(template 1 c 1)}}}, {name: b, template: {spec: {$(template 1 c 1)}}}]}
YAML
says "a field that does nothing is told" 'Warning: spec.runPolicy.schedulingPolicy.queue: has no effect yet: a job is queued by its label' k apply -f - <<YAML
apiVersion: kubeflow.org/v1
kind: JAXJob
metadata: {name: warned}
spec: {runPolicy: {suspend: true, schedulingPolicy: {queue: fast}}, jaxReplicaSpecs: {Worker: {$(template 1 jax 1)}}}
YAML

K delete clusterqueue "$NS-q" --wait=false >/dev/null
K delete resourceflavor "$NS-a" --wait=false >/dev/null
K delete workloadpriorityclass "$NS-high" --wait=false >/dev/null
