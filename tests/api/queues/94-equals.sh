# Of equals those are preempted by whose end least is lost: budgets, a minimum run, checkpoints. Else Kueue's order goes on.
if ! embedded; then
    skip "among equals" "needs the simulated nodes of the embedded cluster"
    return
fi
K() { "$KUBECTL" "$@"; }
# The comment keeps kubectl from taking flow style for JSON.
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
# job NAME PRIORITY CLASS ANNOTATIONS: of one pod, with a label of its name
job() {
    apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, annotations: {$3}, labels: {kueue.x-k8s.io/queue-name: q,
 kueue.x-k8s.io/priority-class: $NS-$2}}, spec: {suspend: true, template: {
  metadata: {labels: {app: $1}, annotations: {capstan.dev/run-seconds: "600"}},
  spec: {restartPolicy: Never, containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}
YAML
}
running() { k get job "$1" -o 'jsonpath={.status.active}'; }
suspended() { k get job "$1" -o 'jsonpath={.spec.suspend}'; }
workload_of() { k get workloads -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.ownerReferences[0].name}{"\n"}{end}' | awk -v o="$1" '$2 == o {print $1}'; }
annotation() { k get workload "$(workload_of "$1")" -o "jsonpath={.metadata.annotations.capstan\\.dev/$2}"; }
preempted() { k get workload "$(workload_of "$1")" -o 'jsonpath={range .status.conditions[?(@.type=="Preempted")]}{.status} {.reason}{end}'; }
spared() { k get events --field-selector "involvedObject.name=$(workload_of "$1"),reason=PreemptedWorkload" -o 'jsonpath={.items[*].message}'; }
now() { date -u +%Y-%m-%dT%H:%M:%SZ; }
# equals FIRST SECOND [ANNOTATIONS OF SECOND]: two run, the second is let in later
equals() {
    job "$1" low ""
    soon "$1 runs" '^1$' running "$1"
    sleep 2.1 # times are told in seconds
    job "$2" low "${3:-}"
    soon "$2 runs" '^1$' running "$2"
}
ends() {
    k delete job "$@" --wait=false >/dev/null
    soon "all have gone" '^$' k get pods,workloads -o name
}

apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-a}, spec: {nodeLabels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}}}
YAML
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-q}, spec: {namespaceSelector: {},
 preemption: {withinClusterQueue: LowerPriority}, resourceGroups: [
 {coveredResources: [nvidia.com/gpu], flavors: [{name: $NS-a, resources: [{name: nvidia.com/gpu, nominalQuota: 2}]}]}]}}
YAML
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q}, spec: {clusterQueue: $NS-q}}
YAML
for class in low:1 high:1000; do
    apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: $NS-${class%:*}}, value: ${class#*:}, description: d}
YAML
done

# --- nobody says anything: who was let in last
equals first second
job urgent high ""
soon "Kueue's order: who was let in last goes" '^True InClusterQueue$' preempted second
is "and the other stays" false suspended first
soon "nobody is spared" 'preempted for it \(InClusterQueue\)$' spared urgent
ends first second urgent

# --- a checkpoint
equals first second
sleep 2.1
k annotate job first "capstan.dev/checkpoint-time=$(now)" >/dev/null
soon "a running job's checkpoint is on its Workload" '^20..-.*Z$' annotation first checkpoint-time
job urgent high ""
soon "who has saved since goes" '^True InClusterQueue$' preempted first
is "who was let in after him stays" false suspended second
soon "an Event says whom that spares, and for what" "preempted for it \\(InClusterQueue\\); $NS/$(workload_of second) stays instead: less run time is lost\$" spared urgent
soon "and it starts" '^1$' running urgent
ends first second urgent

# --- a minimum run
equals first second 'capstan.dev/minimum-run-seconds: "600"'
is "the Workload has it from the job" 600 annotation second minimum-run-seconds
job urgent high ""
soon "who has not run his minimum stays" '^True InClusterQueue$' preempted first
soon "and it says so" "$(workload_of second) stays instead: fewer jobs end before their capstan.dev/minimum-run-seconds\$" spared urgent
soon "the minimum: it starts" '^1$' running urgent
job more high ""
soon "where nobody else of his priority is enough he goes" '^True InClusterQueue$' preempted second
ends first second urgent more

# --- a budget
equals first second
apply <<YAML
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: second}, spec: {minAvailable: 1, selector: {matchLabels: {app: second}}}}
YAML
soon "the budget sees its pod" '^1 0$' k get pdb second -o 'jsonpath={.status.currentHealthy} {.status.disruptionsAllowed}'
job urgent high ""
soon "whose pods it protects stays" '^True InClusterQueue$' preempted first
is "he runs on" false suspended second
soon "the budget is named" "$(workload_of second) stays instead: fewer pods go against a PodDisruptionBudget\$" spared urgent
ends first second urgent

# --- bad values
says "what is no number of seconds is told" 'Warning: metadata.annotations\[capstan.dev/minimum-run-seconds\]: has no effect: write seconds, from 0 to 86400' \
    bash -c "printf '# YAML\n%s' '{apiVersion: batch/v1, kind: Job, metadata: {name: bad, annotations: {capstan.dev/minimum-run-seconds: 1h}},
 spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}}' | '$KUBECTL' -n $NS apply --dry-run=server -f - 2>&1"
for class in low high; do K delete workloadpriorityclass "$NS-$class" >/dev/null; done
