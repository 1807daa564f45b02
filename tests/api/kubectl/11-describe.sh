# describe: several reads put together by kubectl.
cat >things.yaml <<YAML
apiVersion: v1
kind: Pod
metadata: {name: p1, labels: {app: x}}
spec:
  schedulerName: nobody
  containers: [{name: main, image: "busybox:1", command: [sleep, "1"], resources: {requests: {cpu: 100m}}}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: j1}
spec:
  suspend: true
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d1}
spec:
  replicas: 0
  selector: {matchLabels: {app: d}}
  template: {metadata: {labels: {app: d}}, spec: {containers: [{name: c, image: busybox}]}}
---
apiVersion: v1
kind: Service
metadata: {name: s1}
spec: {selector: {app: d}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Event
metadata: {name: e1}
involvedObject: {kind: Pod, name: p1, namespace: $NS}
type: Warning
reason: TestReason
message: told by a test
YAML
ok "apply" k apply -f things.yaml
says "pod" '^Containers:' k describe pod p1
says "pod by prefix" 'Name: +p1' k describe pod p
says "job" 'Parallelism:' k describe job j1
says "deployment" 'StrategyType:' k describe deployment d1
says "service" 'Port:' k describe service s1
says "service account" '^Name: +default' k describe sa default
says "secret-less namespace" 'Status: +Active' k describe ns "$NS"
says "config map" 'ca.crt' k describe cm kube-root-ca.crt
refuses "absent pod" 'pods "nope" not found' k describe pod nope
node=$(k get nodes -o 'jsonpath={.items[0].metadata.name}' 2>/dev/null)
if [ -n "$node" ]; then
    says "node" 'Allocated resources:' k describe node "$node"
else
    skip "node" "no nodes"
fi
if embedded; then
    ok "a queue" k apply -f - <<YAML
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: flavor-$NS}
YAML
    says "custom kind" 'Kind: +ResourceFlavor' k describe resourceflavor "flavor-$NS"
    ok "delete it" k delete resourceflavor "flavor-$NS"
fi
