# The manifests of the user's guides, unmodified, as they stand in SEEDS (default: ../shared/seeds/manifests beside the repository).
# They need the simulated nodes of `capstan up`, so they run on the embedded server only. Fixed namespaces: cleaned up at the end.
seeds=${SEEDS:-$ROOT/../shared/seeds/manifests}
if ! embedded || [ ! -d "$seeds" ]; then
    skip "manifests of the guides" "needs the embedded cluster and $seeds"
    return
fi
program=${CAPSTAN:-$ROOT/build}
[ -d "$program" ] && program=$program/capstan
capstan() { "$program" "$@"; }
K() { "$KUBECTL" "$@"; }
warnings() { "$@" 2>&1 | grep -c '^Warning:'; }

# --- KETI: it runs for ten seconds, beside what follows
K create namespace userpod >/dev/null
says "keti-nbody-mps-job.yaml: accepted" 'nbody-benchmark-mps-test created' K apply -f "$seeds/keti-nbody-mps-job.yaml"

# --- Kueue: quota, a job that is admitted whole, one that waits whole
K create namespace ml-training >/dev/null
if at_least 20; then
    is "kueue-quota.yaml: three warnings" 3 warnings K apply -f "$seeds/kueue-quota.yaml"
fi
says "kueue-quota.yaml: accepted" 'clusterqueue.kueue.x-k8s.io/ml-cluster-queue' K apply -f "$seeds/kueue-quota.yaml"
says "kueue-job.yaml: accepted" 'job.batch/training-job' K apply -f "$seeds/kueue-job.yaml"
soon "the job is admitted on a100-40gb" 'a100-40gb' K get workloads -n ml-training -o 'jsonpath={.items[*].status.admission.podSetAssignments[*].flavors}'
soon "four pods on nodes of that product" '^(a100-40gb-[01] ){4}$' K get pods -n ml-training -l job-name=training-job -o 'jsonpath={range .items[*]}{.spec.nodeName} {end}'
says "the job completes" 'condition met' K wait job/training-job -n ml-training --for=condition=complete --timeout=90s
soon "its workload is finished" 'True' K get workloads -n ml-training -o 'jsonpath={.items[*].status.conditions[?(@.type=="Finished")].status}'
K delete job training-job -n ml-training >/dev/null

cat >filler.yaml <<YAML
apiVersion: batch/v1
kind: Job
metadata: {name: filler, namespace: ml-training, labels: {kueue.x-k8s.io/queue-name: ml-team-queue}}
spec:
  parallelism: 13
  completions: 13
  suspend: true
  template:
    metadata: {annotations: {capstan.dev/run-seconds: "600"}}
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: busybox
        resources: {requests: {cpu: 1, memory: 1Gi, nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}}
YAML
ok "13 of 16 GPUs are taken" K apply -f filler.yaml
soon "the filler runs" '^13$' K get job filler -n ml-training -o 'jsonpath={.status.active}'
ok "the job again" K apply -f "$seeds/kueue-job.yaml"
soon "why: 1 GPU short in which flavor" '1 (more|short).*a100-40gb|a100-40gb.*(1 more|1 short|short by 1)' capstan why job/training-job -n ml-training
soon "why: what t4 lacks" 't4' capstan why job/training-job -n ml-training
says "why as JSON" '"code": *"quota-short"' capstan why job/training-job -n ml-training --output json
is "it waits whole: no pod of it exists" "" K get pods -n ml-training -l job-name=training-job -o name
ok "room again" K delete job filler -n ml-training
says "then it runs" 'condition met' K wait job/training-job -n ml-training --for=condition=complete --timeout=90s
K delete namespace ml-training --wait=false >/dev/null
K delete clusterqueue ml-cluster-queue >/dev/null
K delete resourceflavor a100-40gb t4 >/dev/null

# --- Volcano: a gang, its variables, restart when a pod is deleted
says "volcano-pytorch-ddp.yaml: accepted" 'pytorch-ddp-training created' k apply -f "$seeds/volcano-pytorch-ddp.yaml"
soon "four workers run" '^4$' k get vcjob pytorch-ddp-training -o 'jsonpath={.status.running}'
# at once: its workers run for ten seconds
ok "one worker is deleted" k delete pod pytorch-ddp-training-worker-2 --wait=false
soon "the job restarts: version 1" '^1$' k get vcjob pytorch-ddp-training -o 'jsonpath={.status.version}'
soon "and runs again" '^Running 4$' k get vcjob pytorch-ddp-training -o 'jsonpath={.status.state.phase} {.status.running}'
soon "VC_WORKER_0_SVC is the first worker's host name" 'pytorch-ddp-training-worker-0.pytorch-ddp-training' \
    k get pod pytorch-ddp-training-worker-3 -o 'jsonpath={.spec.containers[0].env[?(@.name=="VC_WORKER_0_SVC")].value}'
soon "a warning event tells the portable form" 'Warning.*VC_WORKER_0_SVC' k get events
ok "gone" k delete vcjob pytorch-ddp-training

says "volcano-horovod-mpi.yaml: accepted" 'horovod-training created' k apply -f "$seeds/volcano-horovod-mpi.yaml"
soon "five pods run as one gang" '^5$' k get vcjob horovod-training -o 'jsonpath={.status.running}'
says "hosts are usable" 'horovod-training-worker-0.horovod-training' k get cm horovod-training-svc -o yaml
# --- EKS: a misspelt flavor, a malformed queue, a TrainJob without runtime
says "eks-resourceflavors.yaml: a warning" 'Warning: .*nodeLabels' K apply -f "$seeds/eks-resourceflavors.yaml"
is "nodeSelector is understood as nodeLabels" "nvidia-efa" K get resourceflavor flavor-gpu-nvidia-efa -o 'jsonpath={.spec.nodeLabels.nodeType}'
refuses "eks-clusterqueue.yaml: refused with field paths" 'spec.resourceGroups\[0\]' K apply -f "$seeds/eks-clusterqueue.yaml"
says "... and the corrected form" 'coveredResources' printf '%s' "$said"
ok "lint --fix prints a manifest that applies" bash -c "'$program' lint --fix '$seeds/eks-clusterqueue.yaml' 2>/dev/null | '$KUBECTL' apply -f -"
says "eks-localqueue.yaml: accepted" 'localqueue.kueue.x-k8s.io/default-queue' K apply -f "$seeds/eks-localqueue.yaml"
refuses "eks-trainjob.yaml: refused for its missing runtimeRef" 'runtimeRef' K apply -f "$seeds/eks-trainjob.yaml"
K delete -f "$seeds/eks-localqueue.yaml" -f "$seeds/eks-resourceflavors.yaml" --wait=false >/dev/null 2>&1
K delete clusterqueue cluster-queue-gpu --wait=false >/dev/null 2>&1

# --- the end of the Volcano job
soon "the master's end completes the job" '^Completed$' k get vcjob horovod-training -o 'jsonpath={.status.state.phase}'
soon "and removes the workers" '^1$' bash -c "'$KUBECTL' -n '$NS' get pods -l volcano.sh/job-name=horovod-training -o name | wc -l"
ok "gone" k delete vcjob horovod-training

# --- KETI's end, MIG, shared GPU
says "the KETI job completes" 'condition met' K wait job/nbody-benchmark-mps-test -n userpod --for=condition=complete --timeout=90s
K delete namespace userpod --wait=false >/dev/null
ok "mig-inference-pod.yaml" k apply -f "$seeds/mig-inference-pod.yaml"
ok "shared-gpu-pod.yaml" k apply -f "$seeds/shared-gpu-pod.yaml"
says "the MIG pod runs" 'condition met' k wait pod/mig-inference-pod --for=condition=Ready --timeout=60s
says "on a node with that resource" '^a100-40gb-mig-0$' k get pod mig-inference-pod -o 'jsonpath={.spec.nodeName}'
says "the shared pod runs" 'condition met' k wait pod/shared-gpu-pod --for=condition=Ready --timeout=60s
for file in mig-parted-config mps-config time-slicing-config; do
    says "$file.yaml: accepted" 'configmap/' K apply -f "$seeds/$file.yaml"
done
K delete configmap mig-parted-config mps-config time-slicing-config -n gpu-operator >/dev/null
