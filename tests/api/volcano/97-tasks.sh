# Volcano: the names that its users type, tasks that wait for one of several others or for all of them, and what a group says whose pods
# are not there yet.
if ! embedded; then
    skip "Volcano's tasks" "needs the simulated nodes of the embedded cluster"
    return
fi
for names in "jobs.batch.volcano.sh vcjob vj" "cronjobs.batch.volcano.sh cronvcjob" "podgroups.scheduling.volcano.sh podgroup-v1beta1" \
    "queues.scheduling.volcano.sh q queue-v1beta1" "jobtemplates.flow.volcano.sh jt" "jobflows.flow.volcano.sh jf" \
    "hypernodes.topology.volcano.sh hn"; do
    read -r plural shorts <<<"$names"
    for short in $shorts; do
        says "$short is $plural" "$plural|No resources found|^NAME" k get "$short"
    done
    says "$plural are served" "^${plural%%.*} " bash -c "'$KUBECTL' api-resources --api-group='${plural#*.}' --no-headers"
done

# waits NAME any|all: its task c comes after a, which runs, and b, which no node holds
waits() {
    k apply -f - >/dev/null <<YAML
---
{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: $1}, spec: {minAvailable: 1, tasks: [
 {name: a, replicas: 1, template: {metadata: {annotations: {capstan.dev/run-seconds: "600"}}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}},
 {name: b, replicas: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: 9k}}}]}}},
 {name: c, replicas: 2, minAvailable: 1, dependsOn: {name: [a, b], iteration: $2}, template: {metadata: {annotations: {capstan.dev/run-seconds: "600"}},
  spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}]}}
YAML
}
pods() { k get pods -l "volcano.sh/job-name=$1" -o 'jsonpath={range .items[*]}{.metadata.name}={.status.phase} {end}'; }
waits one any
waits every all
soon "iteration any: it comes when one of them runs" '^one-a-0=Running one-b-0=Pending one-c-0=Running one-c-1=Running $' pods one
soon "iteration all: it waits for the other" '^every-a-0=Running every-b-0=Pending $' pods every
k delete vcjob one every --wait=false >/dev/null

# --- a group by hand
group() { k get podgroup-v1beta1 "$1" -o "jsonpath=$2"; }
k apply -f - >/dev/null <<'YAML'
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: duo}, spec: {minMember: 2}}
---
{apiVersion: v1, kind: Pod, metadata: {name: duo-0, annotations: {scheduling.k8s.io/group-name: duo, capstan.dev/run-seconds: "600"}}, spec: {
 schedulerName: volcano, restartPolicy: Never, containers: [{name: c, image: i}]}}
YAML
soon "a group without all of its pods says that they are missing" '^Unschedulable True NotEnoughTasks ' group duo \
    '{range .status.conditions[?(@.type=="Unschedulable")]}{.type} {.status} {.reason} {.message}{end}'
says "with an id of its own" '^[0-9]+$' group duo '{.status.conditions[?(@.type=="Unschedulable")].transitionID}'
k apply -f - >/dev/null <<'YAML'
---
{apiVersion: v1, kind: Pod, metadata: {name: duo-1, annotations: {scheduling.k8s.io/group-name: duo, capstan.dev/run-seconds: "600"}}, spec: {
 schedulerName: volcano, restartPolicy: Never, containers: [{name: c, image: i}]}}
YAML
soon "with them it runs" '^Running 2 Scheduled True' group duo '{.status.phase} {.status.running} {range .status.conditions[?(@.status=="True")]}{.type} {.status}{end}'
k delete pod duo-0 duo-1 --wait=false >/dev/null
k apply -f - >/dev/null <<'YAML'
# YAML
{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: pair}, spec: {minMember: 2, minTaskMember: {a: 2}}}
YAML
for i in 0 1; do
    k apply -f - >/dev/null <<<"# YAML
{apiVersion: v1, kind: Pod, metadata: {name: pair-$i, annotations: {scheduling.k8s.io/group-name: pair, volcano.sh/task-spec: b}}, spec: {
 schedulerName: volcano, restartPolicy: Never, containers: [{name: c, image: i}]}}"
done
soon "it says whether pods of one task are missing" '^Unschedulable True NotEnoughPodsOfTask .*0 of 2 pods of task a exist' group pair \
    '{range .status.conditions[?(@.type=="Unschedulable")]}{.type} {.status} {.reason} {.message}{end}'
k delete pod pair-0 pair-1 --wait=false >/dev/null
