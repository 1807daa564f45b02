# Kubeflow's jobs when pods are lost and when they are over: what is made again, what is said, what is left. On the embedded server's nodes.
if ! embedded; then
    skip "Kubeflow's jobs" "needs the simulated nodes of the embedded cluster"
    return
fi
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
template() { echo "template: {metadata: {annotations: {capstan.dev/run-seconds: \"$1\"}}, spec: {containers: [{name: $2, image: x}]}}"; }
last() { k get "$1" "$2" -o 'jsonpath={.status.conditions[-1:].type}/{.status.conditions[-1:].reason}'; }
types() { k get "$1" "$2" -o 'jsonpath={.status.conditions[*].type}'; }
evict() { k patch pod "$1" --subresource status --type merge -p '{"status": {"phase": "Failed", "reason": "Evicted"}}' >/dev/null; }
uid() { k get pod "$1" -o 'jsonpath={.metadata.uid}'; }
other() { [ "$(uid "$1")" != "$2" ] && echo another; }
job() { echo "{apiVersion: kubeflow.org/$1, kind: $2, metadata: {name: $3}, spec: {$4}}"; }

# --- a worker that is evicted is made again, unless it says Never
job v1 PyTorchJob lost "pytorchReplicaSpecs: {Master: {$(template 600 pytorch)}, Worker: {replicas: 2, $(template 600 pytorch)}}" | apply
soon "it runs" '^Running/PyTorchJobRunning$' last pytorchjob lost
was=$(uid lost-worker-1)
evict lost-worker-1
soon "the worker is another" '^another$' other lost-worker-1 "$was"
soon "and the job runs on" '^Created Running$' types pytorchjob lost
soon "it was told" 'PyTorchJobRestarting PyTorchJob .*/lost is restarting because 1 Worker replica.s. failed' \
    k get events --field-selector involvedObject.name=lost -o 'jsonpath={range .items[*]}{.reason} {.message}{"\n"}{end}'
job v1 PyTorchJob never "runPolicy: {cleanPodPolicy: All}, pytorchReplicaSpecs: {Worker: {replicas: 2, restartPolicy: Never, $(template 600 pytorch)}}" | apply
soon "another runs" '^Running/PyTorchJobRunning$' last pytorchjob never
evict never-worker-0
soon "with Never it fails" '^Failed/PyTorchJobFailed$' last pytorchjob never
soon "pods and Services are cleaned up" '^$' k get pods,services -l training.kubeflow.org/job-name=never -o name

# --- over
job v1 PyTorchJob well "runPolicy: {cleanPodPolicy: Running}, pytorchReplicaSpecs: {Master: {$(template 2 pytorch)}, Worker: {replicas: 2, $(template 600 pytorch)}}" | apply
soon "the master ends it" '^Succeeded/PyTorchJobSucceeded$' last pytorchjob well
soon "workers count as done" '^1 2$' k get pytorchjob well -o 'jsonpath={.status.replicaStatuses.Master.succeeded} {.status.replicaStatuses.Worker.succeeded}{.status.replicaStatuses.Worker.active}'
soon "and go with their Services" '^service/well-master-0$' k get services -l training.kubeflow.org/job-name=well -o name
job v1 PyTorchJob elastic "elasticPolicy: {minReplicas: 1, maxReplicas: 3}, pytorchReplicaSpecs: {Worker: {replicas: 2, $(template 600 pytorch)}}" | apply
soon "an elastic one runs" '^Running/PyTorchJobRunning$' last pytorchjob elastic
ok "three workers" k scale pytorchjob elastic --replicas=3
soon "it has three" '^3$' k get pytorchjob elastic -o 'jsonpath={.status.replicaStatuses.Worker.active}'
says "autoscalers find them" '"selector":"training.kubeflow.org/job-name=elastic,training.kubeflow.org/operator-name=pytorchjob-controller,training.kubeflow.org/replica-type=worker"' \
    raw "/apis/kubeflow.org/v1/namespaces/$NS/pytorchjobs/elastic/scale"
apply <<'YAML'
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: elastic}, spec: {maxUnavailable: 1, selector: {matchLabels: {training.kubeflow.org/job-name: elastic}}}}
YAML
soon "a budget counts them all" '^3 1$' k get pdb elastic -o 'jsonpath={.status.expectedPods} {.status.disruptionsAllowed}'
ok "two" k scale pytorchjob elastic --replicas=2
soon "the third has gone, and its Service" '^Pod/elastic-worker-0 Pod/elastic-worker-1 Service/elastic-worker-0 Service/elastic-worker-1 $' \
    k get pods,services -l training.kubeflow.org/job-name=elastic -o 'jsonpath={range .items[*]}{.kind}/{.metadata.name} {end}'
k patch pod elastic-worker-0 --subresource status --type merge -p '{"status": {"phase": "Succeeded"}}' >/dev/null
soon "one worker that is done is enough" '^Succeeded/PyTorchJobSucceeded$' last pytorchjob elastic
k patch pytorchjob lost --type merge -p '{"spec": {"runPolicy": {"suspend": true}}}' >/dev/null
soon "suspended it has neither pods nor Services" '^$' k get pods,services -l training.kubeflow.org/job-name=lost -o name

# --- MPI: the launcher tells how it ends
job v2beta1 MPIJob mpi "runPolicy: {backoffLimit: 0, cleanPodPolicy: Running}, mpiReplicaSpecs: {Launcher: {template: {metadata: {annotations: {capstan.dev/run-seconds: \"2\", capstan.dev/exit-code: \"3\"}}, spec: {containers: [{name: l, image: x}]}}}, Worker: {replicas: 2, $(template 600 w)}}" | apply
soon "it fails as its launcher does" '^Failed/BackoffLimitExceeded$' last mpijob mpi
soon "no worker is active" '^$' k get mpijob mpi -o 'jsonpath={.status.replicaStatuses.Worker.active}'
job v2beta1 MPIJob evicted "mpiReplicaSpecs: {Launcher: {$(template 600 l)}, Worker: {replicas: 2, $(template 600 w)}}" | apply
soon "another runs" '^Running/MPIJobRunning$' last mpijob evicted
k patch pod evicted-worker-0 --subresource status --type merge -p '{"status": {"phase": "Failed"}}' >/dev/null
is "a worker that failed does not end it" Running/MPIJobRunning last mpijob evicted
evict evicted-worker-1
soon "one that was evicted does" '^Failed/MPIJobEvicted$' last mpijob evicted

# --- what is wrong in one
bad() { { echo "# YAML"; job "$@"; } | k apply -f -; }
says "more pods than there are" 'Warning: spec.runPolicy.schedulingPolicy.minAvailable: 9, and there are 2 pods: taken as that' \
    bad v1 PyTorchJob few "runPolicy: {schedulingPolicy: {minAvailable: 9}}, pytorchReplicaSpecs: {Worker: {replicas: 2, $(template 1 pytorch)}}"
refuses "fewest above most" 'spec.elasticPolicy.minReplicas: Invalid value: 5: must not be greater than maxReplicas' \
    bad v1 PyTorchJob wrong "elasticPolicy: {minReplicas: 5, maxReplicas: 2}, pytorchReplicaSpecs: {Worker: {replicas: 2, $(template 1 pytorch)}}"
