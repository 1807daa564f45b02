# Pods that ask for the scheduler volcano and name no group: they get one, one for each owner.
group_of() { k get pod "$1" -o 'jsonpath={.metadata.annotations.scheduling\.k8s\.io/group-name}'; }
if ! embedded || [ -z "$(k get nodes -o name | head -1)" ]; then
    skip "groups of single pods" "Volcano's controllers are not known to be here"
    return
fi
cat >pods.yaml <<YAML
apiVersion: v1
kind: Pod
metadata: {name: single}
spec: {schedulerName: volcano, containers: [{name: c, image: nginx, resources: {requests: {cpu: 100m}, limits: {cpu: 200m}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: other}
spec: {containers: [{name: c, image: nginx}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: three}
spec:
  completions: 3
  template: {spec: {schedulerName: volcano, restartPolicy: Never, containers: [{name: c, image: busybox, command: [sleep, "0.2"]}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {schedulerName: volcano, containers: [{name: c, image: nginx}]}}
YAML
ok "pods" k apply -f pods.yaml
soon "told its group" "^podgroup-$(k get pod single -o 'jsonpath={.metadata.uid}')\$" group_of single
pg=$(group_of single)
soon "the group runs" '^Running 1$' k get podgroups.scheduling.volcano.sh "$pg" -o 'jsonpath={.status.phase} {.status.running}'
soon "what it needs" '^1 default 100m 200m 1$' k get podgroups.scheduling.volcano.sh "$pg" \
    -o 'jsonpath={.spec.minMember} {.spec.queue} {.spec.minResources.cpu} {.spec.minResources.limits\.cpu} {.spec.minResources.count/pods}'
is "no group for other schedulers" "" group_of other
soon "a job's pods one after another" '^3$' k get job three -o 'jsonpath={.status.succeeded}'
job_group=podgroup-$(k get job three -o 'jsonpath={.metadata.uid}')
soon "their group is done" '^Completed$' k get podgroups.scheduling.volcano.sh "$job_group" -o 'jsonpath={.status.phase}'
set_group() { echo "podgroup-$(k get rs -l app=web -o 'jsonpath={.items[0].metadata.uid}')"; }
soon "a deployment's set" '.' k get rs -l app=web -o name
soon "a set's pods share one" '^2$' bash -c '"$0" -n "$1" get pods -l app=web -o yaml | grep -c "group-name: $2"' "$KUBECTL" "$NS" "$(set_group)"
owned() { printf -- '---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: band, annotations: {scheduling.volcano.sh/group-min-member: "%s", volcano.sh/preemptable: "false", other: x}}, spec: {replicas: 2, selector: {matchLabels: {app: band}}, template: {metadata: {labels: {app: band}}, spec: {schedulerName: volcano, containers: [{name: c, image: nginx, resources: {requests: {cpu: 100m}}}]}}}}\n' "$1" | k apply -f -; }
ok "a deployment that says how many start together" owned 2
soon "its set says so too" '2' k get rs -l app=band -o 'jsonpath={.items[*].metadata.annotations.scheduling\.volcano\.sh/group-min-member}'
band_group() { k get podgroups.scheduling.volcano.sh "podgroup-$(k get rs -l app=band -o 'jsonpath={.items[0].metadata.uid}')" -o "jsonpath=$1"; }
soon "and so its group" '^2 200m Running$' band_group '{.spec.minMember} {.spec.minResources.cpu} {.status.phase}'
is "what is Volcano's of its annotations passes" 'false' band_group '{.metadata.annotations.volcano\.sh/preemptable}{.metadata.annotations.other}'
k delete deployment band --wait=false >/dev/null
says "scale to none" 'scaled' k scale deployment web --replicas=0
soon "and it goes with the last" '^$' k get podgroups.scheduling.volcano.sh "$(set_group)" --ignore-not-found -o name
says "a pod goes" 'deleted' k delete pod single
soon "and its group with it" '^$' k get podgroups.scheduling.volcano.sh "$pg" --ignore-not-found -o name
cat >tree.yaml <<YAML
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: $NS-top}, spec: {parent: root}}
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: $NS-leaf, labels: {parent: $NS-leaf}}, spec: {parent: $NS-top}}
YAML
ok "queues under queues" k apply -f tree.yaml
in_queue() { printf -- '---\n{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: in-%s}, spec: {queue: %s, tasks: [{name: t, replicas: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}}]}}\n' "$1" "$NS-$1" | k create -f -; }
refuses "a job in a queue that has queues" 'can only submit job to leaf queue' in_queue top
says "a job in a leaf" 'in-leaf created' in_queue leaf
k delete job.batch.volcano.sh in-leaf >/dev/null
refuses "a queue with queues is not deleted" "it is the parent of $NS-leaf" k delete queues.scheduling.volcano.sh "$NS-top"
command_to() { printf -- '---\n{apiVersion: bus.volcano.sh/v1alpha1, kind: Command, metadata: {generateName: c-}, action: %s, target: {apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, name: %s, uid: %s}}\n' "$1" "$NS-$2" "$(k get queues.scheduling.volcano.sh "$NS-$2" -o 'jsonpath={.metadata.uid}')" | k create -f - >/dev/null; }
state_of() { k get queues.scheduling.volcano.sh "$NS-$1" -o 'jsonpath={.status.state}'; }
command_to CloseQueue top
soon "closing a queue closes those under it" '^Closed$' state_of leaf
command_to OpenQueue leaf
command_to OpenQueue top
soon "and opening it opens them" '^Open$' state_of leaf
command_to CloseQueue top
soon "closed with its parent" '^Closed$' state_of leaf
command_to CloseQueue leaf
soon "noted as closed for itself" '^$' k get queues.scheduling.volcano.sh "$NS-leaf" -o 'jsonpath={.metadata.annotations.volcano\.sh/closed-by-parent}'
command_to OpenQueue top
soon "its parent is open" '^Open$' state_of top
soon "what was closed for itself stays closed" '^Closed$' state_of leaf
k delete queues.scheduling.volcano.sh "$NS-leaf" "$NS-top" >/dev/null
