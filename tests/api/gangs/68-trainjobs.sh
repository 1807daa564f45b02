# TrainJobs through runtimes of each policy: the JobSet that is made, what pods are told, what is there besides, how they are stopped, go on
# and end; and what is wrong in one. On the embedded server's nodes.
if ! embedded; then
    skip "TrainJobs" "needs the simulated nodes of the embedded cluster"
    return
fi
send() { { echo "# YAML"; cat; } | k apply -f -; }
apply() { send >/dev/null; }
condition() { k get "$1" "$2" -o "jsonpath={.status.conditions[?(@.type==\"$3\")].status}/{.status.conditions[?(@.type==\"$3\")].reason}"; }
env_of() { k get job "$1" -o 'jsonpath={range .spec.template.spec.containers[0].env[*]}{.name}={.value} {end}'; }
# runtime NAME POLICY JOBS...
runtime() {
    echo "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainingRuntime, metadata: {name: $1}, spec: {mlPolicy: {$2}, template: {spec: {$3}}}}"
    echo ---
}
# job NAME SECONDS STEP MORE: a replicatedJob
job() {
    echo "{name: $1, $4 template: {metadata: {labels: {$([ -z "$3" ] || echo "trainer.kubeflow.org/trainjob-ancestor-step: $3")}}, spec: {template: {metadata: {annotations: {capstan.dev/run-seconds: \"$2\"}}, spec: {containers: [{name: node, image: x}]}}}}}"
}
trainjob() { echo "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: $1}, spec: {runtimeRef: {kind: TrainingRuntime, name: $2}, $3}}"; }

{
    runtime mpi 'numNodes: 1, mpi: {runLauncherAsNode: true, sshAuthMountPath: /home/m/.ssh}' \
        "successPolicy: {operator: All, targetReplicatedJobs: [launcher]}, replicatedJobs: [$(job node 600 "" ""), $(job launcher 3 trainer 'dependsOn: [{name: node, status: Ready}],')]"
    runtime jax 'jax: {}' "replicatedJobs: [$(job node 2 trainer "")]"
    runtime torch 'torch: {}' "replicatedJobs: [$(job node 600 trainer "")]"
    runtime plain 'numNodes: 2' "failurePolicy: {maxRestarts: 1}, replicatedJobs: [$(job node 600 trainer "")]"
} | apply

# --- mpi: workers, then the launcher, which ends it all
trainjob mpi mpi 'trainer: {numNodes: 3, command: [mpirun, x], resourcesPerNode: {limits: {nvidia.com/gpu: 1}}}' | apply
soon "the launcher comes when the nodes are ready" '^1 1$' k get job mpi-launcher-0 -o 'jsonpath={.spec.parallelism} {.status.ready}'
is "one of three is the launcher" 2 k get job mpi-node-0 -o 'jsonpath={.spec.parallelism}'
is "the JobSet is the TrainJob's" 'TrainJob mpi' k get jobset mpi -o 'jsonpath={.metadata.ownerReferences[0].kind} {.metadata.ownerReferences[0].name}'
is "the hosts" "$(printf 'mpi-node-0-0.mpi slots=1\nmpi-node-0-1.mpi slots=1\nmpi-launcher-0-0.mpi slots=1')" k get configmap mpi-mpi-hostfile -o 'jsonpath={.data.hostfile}'
is "the keys" 'kubernetes.io/ssh-auth true' k get secret mpi-mpi-ssh-auth -o 'jsonpath={.type} {.immutable}'
is "the launcher is told" 'OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile OMPI_MCA_orte_keep_fqdn_hostnames=true OMPI_MCA_orte_set_default_slots=1 OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10 ' env_of mpi-launcher-0
is "keys and hosts are mounted" '/home/m/.ssh /etc/mpi' k get job mpi-launcher-0 -o 'jsonpath={.spec.template.spec.containers[0].volumeMounts[*].mountPath}'
soon "it ends with its launcher" '^True/AllJobsCompleted$' condition trainjob mpi Complete
soon "and the nodes go" '^$' k get pods -l jobset.sigs.k8s.io/replicatedjob-name=node,jobset.sigs.k8s.io/jobset-name=mpi --field-selector status.phase=Running -o name
k delete trainjob mpi >/dev/null
soon "deleted, it leaves nothing" '^$' k get jobsets,jobs,pods,services,secrets,configmaps -o 'jsonpath={range .items[?(@.metadata.name!="kube-root-ca.crt")]}{.metadata.name} {end}'

# --- Volcano's group: whole, or not at all, and why
{
    echo "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainingRuntime, metadata: {name: volcano}, spec: {mlPolicy: {torch: {}}, podGroupPolicy: {volcano: {}}, template: {metadata: {annotations: {scheduling.volcano.sh/queue-name: default}}, spec: {replicatedJobs: [$(job node 600 trainer "")]}}}}"
    echo ---
    trainjob large volcano 'trainer: {numNodes: 20, resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}'
} | apply
soon "its PodGroup" '^20 default 160$' k get podgroup.scheduling.volcano.sh large -o 'jsonpath={.spec.minMember} {.spec.queue} {.spec.minResources.nvidia\.com/gpu}'
soon "so many GPUs are not there" 'Insufficient nvidia.com/gpu|nvidia.com/gpu' "$PROGRAM" why trainjob/large -n "$NS"
is "none of it starts" "" k get pods -l jobset.sigs.k8s.io/jobset-name=large -o 'jsonpath={.items[*].spec.nodeName}'
k delete trainjob large --wait=false >/dev/null

# --- jax, torch
trainjob jax jax 'trainer: {numNodes: 2}' | apply
soon "jax: who is first" '^JAX_NUM_PROCESSES=2 JAX_PROCESS_ID= JAX_COORDINATOR_ADDRESS=jax-node-0-0.jax:29500 $' env_of jax-node-0
trainjob torch torch 'trainer: {numNodes: 2, resourcesPerNode: {requests: {cpu: 3}}}, suspend: true' | apply
soon "made suspended its JobSet is there, and stands" '^true$' k get jobset torch -o 'jsonpath={.spec.suspend}'
soon "it says so" '^True/Suspended$' condition trainjob torch Suspended
is "and has no jobs" "" k get jobs -l jobset.sigs.k8s.io/jobset-name=torch -o name
k patch trainjob torch --type merge -p '{"spec": {"suspend": false, "runtimePatches": [{"manager": "acme.io/me", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
 {"name": "node", "template": {"spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/os": "linux"}}}}}}]}}}}]}}' >/dev/null
soon "it goes on with what was patched meanwhile" '^linux 2$' k get job torch-node-0 -o 'jsonpath={.spec.template.spec.nodeSelector.kubernetes\.io/os} {.status.active}'
soon "and says so" '^False/Resumed$' condition trainjob torch Suspended
is "torch: a process for each cpu" 'PET_NNODES=2 PET_NPROC_PER_NODE=3 PET_NODE_RANK= PET_MASTER_ADDR=torch-node-0-0.torch PET_MASTER_PORT=29500 ' env_of torch-node-0
uid=$(k get job torch-node-0 -o 'jsonpath={.metadata.uid}')
k patch trainingruntime torch --type json -p '[{"op": "replace", "path": "/spec/template/spec/replicatedJobs/0/template/spec/template/spec/containers/0/image", "value": "other"}]' >/dev/null
k annotate trainjob torch seen=1 >/dev/null
is "a runtime that changes leaves those that run" "$uid x" k get job torch-node-0 -o 'jsonpath={.metadata.uid} {.spec.template.spec.containers[0].image}'
k patch trainjob torch --type merge -p '{"spec": {"suspend": true}}' >/dev/null
soon "also when it is stopped" '^$' k get jobs -l jobset.sigs.k8s.io/jobset-name=torch -o name
k patch trainjob torch --type merge -p '{"spec": {"suspend": false}}' >/dev/null
soon "and goes on" '^x 2$' k get job torch-node-0 -o 'jsonpath={.spec.template.spec.containers[0].image} {.status.active}'

# --- what the JobSet of its runtime says of failures holds
trainjob retry plain 'trainer: {command: [x]}' | apply
soon "it runs" '^2$' k get job retry-node-0 -o 'jsonpath={.status.active}'
fail_job() { k patch job "$1" --subresource status --type merge -p "{\"status\": {\"conditions\": [{\"type\": \"FailureTarget\", \"status\": \"True\", \"reason\": \"BackoffLimitExceeded\", \"lastTransitionTime\": \"2026-01-01T00:00:00Z\"}, {\"type\": \"Failed\", \"status\": \"True\", \"reason\": \"BackoffLimitExceeded\", \"lastTransitionTime\": \"2026-01-01T00:00:00Z\"}]}}" >/dev/null; }
fail_job retry-node-0
soon "a failure restarts it" '^1$' k get job retry-node-0 -o 'jsonpath={.metadata.labels.jobset\.sigs\.k8s\.io/restart-attempt}'
soon "it runs again" '^2$' k get job retry-node-0 -o 'jsonpath={.status.ready}'
fail_job retry-node-0
soon "the second ends it" '^True/ReachedMaxRestarts$' condition trainjob retry Failed

# --- a deadline
trainjob late plain 'activeDeadlineSeconds: 2' | apply
soon "its time is over" '^True/DeadlineExceeded$' condition trainjob late Failed
soon "and its JobSet gone" '^$' k get jobset late -o name --ignore-not-found

# --- what is wrong in one
bad() { trainjob bad "$1" "$2" | send; }
refuses "variables of the runtime's own" 'spec.trainer.env\[0\].name: .*PET_NNODES is what the torch runtime writes itself' bad torch 'trainer: {env: [{name: PET_NNODES, value: "1"}]}'
refuses "an initializer without its job" 'the runtime has no replicatedJob "dataset-initializer"' bad torch 'initializer: {dataset: {storageUri: "hf://x"}}'
refuses "a patch of a job that is not there" 'replicatedJobs\[0\].name: .*must not have replicated job that' bad torch 'runtimePatches: [{manager: a.io/b, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: nodes}]}}}}]'
refuses "a patch of a container's variables" 'containers\[0\].env: .*write spec.trainer.env' \
    bad torch 'runtimePatches: [{manager: a.io/b, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {containers: [{name: node, env: [{name: A, value: b}]}]}}}}}]}}}}]'
refuses "a manager of no domain" 'runtimePatches\[0\].manager: .*domain-prefixed path' bad torch 'runtimePatches: [{manager: me}]'
refuses "a trainer that changes" 'spec.trainer: .*immutable' k patch trainjob torch --type merge -p '{"spec": {"trainer": {"numNodes": 3}}}'
refuses "patches while it runs" 'spec.runtimePatches: Forbidden: .*write spec.suspend: true' k patch trainjob torch --type merge -p '{"spec": {"runtimePatches": null}}'
refuses "two policies" 'spec.mlPolicy: .*there are torch, jax' send <<<"$(runtime two 'torch: {}, jax: {}' "replicatedJobs: [$(job node 1 trainer "")]" | head -1)"
