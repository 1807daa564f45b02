# capstan jobs as people at a queue read it: GPUs, priority, user, nodes; plain pods and Deployments; filters, order, names
if ! embedded || [ -z "${PROGRAM:-}" ]; then
    skip "the list of jobs" "needs an embedded server of its own"
    return
fi
jobs() { "$PROGRAM" jobs -n "$NS" "$@"; }
column() { # KEY OPTION...: of each job, as NAME=VALUE, in the order of the list
    local key=$1; shift
    jobs --output json "$@" | /usr/bin/python3 -c '
import json, sys
print(" ".join("%s=%s" % (row["name"], row[sys.argv[1]]) for row in json.load(sys.stdin)))' "$key"
}
names() { jobs --output name "$@" | tr '\n' ' ' | sed 's/ $//'; }

k apply -f - >/dev/null <<'YAML'
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: lists-high}
value: 70
---
apiVersion: batch/v1
kind: Job
metadata: {name: gang, labels: {capstan.dev/user: ann}}
spec:
  parallelism: 3
  completions: 3
  template:
    metadata: {annotations: {capstan.dev/run-seconds: "600"}}
    spec: {priorityClassName: lists-high, restartPolicy: Never, containers: [{name: a, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: too-large}
spec:
  parallelism: 2
  completions: 2
  template: {spec: {restartPolicy: Never, containers: [{name: a, image: x, resources: {limits: {nvidia.com/gpu: 900}}}]}}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: tasks}
spec:
  minAvailable: 3
  schedulerName: volcano
  tasks:
  - {name: head, replicas: 1, template: {spec: {restartPolicy: Never, containers: [{name: a, image: x}]}}}
  - {name: work, replicas: 2, template: {spec: {restartPolicy: Never, containers: [{name: a, image: x, resources: {limits: {nvidia.com/gpu: 2}}}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: serve}
spec:
  replicas: 2
  selector: {matchLabels: {app: serve}}
  template:
    metadata: {labels: {app: serve, capstan.dev/user: kim}}
    spec: {containers: [{name: a, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: note, annotations: {capstan.dev/user: Kim}}
spec: {containers: [{name: a, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: without}
spec: {containers: [{name: a, image: x}]}
YAML
soon "all but the too large one run" '^gang=Running too-large=Pending tasks=(Running|Completed) note=Running serve=Running$' column state
is "GPUs of the whole gang, placed or not" 'gang=3 too-large=1800 tasks=4 note=1 serve=2' column gpus
is "who makes the pods gives them their kind" 'Job/gang Job/too-large vcjob/tasks Pod/note Deployment/serve' names
is "whose they are" 'gang=ann too-large=None tasks=None note=Kim serve=kim' column user
says "priority" '^gang=70 too-large=0 ' column priority
node=$(k get pod note -o 'jsonpath={.spec.nodeName}')
says "where they run" "note=\\['$node'\\]" column nodes
says "wide shows it to people" "^$NS +Pod +note .*Kim +$node( |\$)" jobs --output wide

is "by state" 'Job/too-large' names --state pending
is "by several" 'Job/too-large Pod/note Deployment/serve' names --state pending,running --name '*e'
is "by user, whatever the case" 'Pod/note Deployment/serve' names --user kim
says "by node" 'Pod/note' names --node "$node"
is "by a node without pods" '' names --node nowhere
is "by queue" 'vcjob/tasks' names --queue default
is "in order" 'Pod/note Deployment/serve Job/gang vcjob/tasks Job/too-large' names --sort gpus
is "the other way round" 'Job/too-large vcjob/tasks Job/gang Deployment/serve Pod/note' names --sort gpus --reverse
says "an empty list says what there is, and where the others are" "none is as asked: their states are .*; --all-namespaces shows the others" jobs --state failed
refuses "no such column: which there are" 'jobs: --sort: use name, state, gpus, wait, age, priority, queue, user or running, not .colour.' jobs --sort colour

# what the list prints is what why takes
for one in $(names --sort name); do
    says "why $one" . "$PROGRAM" why "$one" -n "$NS"
done
k patch deployment serve --type json -p '[{"op": "replace", "path": "/spec/template/spec/containers/0/resources", "value": {"limits": {"nvidia.com/gpu": 900}}}]' >/dev/null
soon "why a Deployment waits: its first pod that does" 'Insufficient nvidia.com/gpu' "$PROGRAM" why deployment/serve -n "$NS"
k delete priorityclass lists-high >/dev/null
k apply -f - >/dev/null <<'YAML'
apiVersion: batch/v1
kind: Job
metadata: {name: classy, labels: {kueue.x-k8s.io/queue-name: q, kueue.x-k8s.io/priority-class: nobody-made-it}}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: a, image: x}]}}}
YAML
says "why a job with a priority class that is not there waits" "WorkloadPriorityClass nobody-made-it doesn't exist: create it" "$PROGRAM" why job/classy -n "$NS"

# nodes, model by model
summary() { # PRODUCT RESOURCE KEY...
    "$PROGRAM" nodes --summary --output json | /usr/bin/python3 -c '
import json, sys
row = [row for row in json.load(sys.stdin) if row["product"] == sys.argv[1] and row["resource"] == sys.argv[2]][0]
print(*(row[key] for key in sys.argv[3:]))' "$@"
}
a100=NVIDIA-A100-SXM4-40GB
{
    echo "# YAML"
    cat <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-a}, spec: {nodeLabels: {nvidia.com/gpu.product: $a100}}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-q}, spec: {namespaceSelector: {}, resourceGroups: [
 {coveredResources: [nvidia.com/gpu], flavors: [{name: $NS-a, resources: [{name: nvidia.com/gpu, nominalQuota: 2}]}]}]}}
YAML
} | k apply -f - >/dev/null
says "a model's nodes, and whose quota they are" "^2 2 16 [0-9]+ [0-9]+ [0-2] [0-8] .*'$NS-q'" \
    summary $a100 nvidia.com/gpu nodes usableNodes total used free emptyNodes mostFree queues
is "another resource of the same model" "1 14" summary $a100 nvidia.com/mig-1g.5gb nodes total
is "another model" "4 32" summary Tesla-T4 nvidia.com/gpu nodes total
"$KUBECTL" cordon t4-0 >/dev/null
soon "a cordoned node is not usable, once what others had has ended" "^4 3 32 24$" summary Tesla-T4 nvidia.com/gpu nodes usableNodes total free
"$KUBECTL" uncordon t4-0 >/dev/null
"$KUBECTL" delete clusterqueue "$NS-q" --wait=false >/dev/null
"$KUBECTL" delete resourceflavor "$NS-a" --wait=false >/dev/null
