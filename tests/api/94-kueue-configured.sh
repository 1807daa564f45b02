# capstan up --config: what the configuration says of Workloads is done.
WORK=$(mktemp -d)
if ! embedded; then
    skip "a configured cluster" "would start one of its own"
    rm -rf "$WORK"
    return
fi
cat >"$WORK/config.yaml" <<'YAML'
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {labelKeysToCopy: [team]}
objectRetentionPolicies: {workloads: {afterFinished: 1s, afterDeactivatedByKueue: 0s}}
YAML
"$PROGRAM" up --data-dir "$WORK/up" --listen 127.0.0.1:0 --config "$WORK/config.yaml" --speed 10 >"$WORK/log" 2>&1 &
process=$!
appears "$WORK/up/kubeconfig"
c() { "$KUBECTL" --kubeconfig "$WORK/up/kubeconfig" "$@"; }
refuses "no field of it does nothing" "^$" grep "does nothing" "$WORK/log"
ok "queues" c apply -f - <<'YAML'
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cq}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: 8}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: default}
spec: {clusterQueue: cq}
---
apiVersion: batch/v1
kind: Job
metadata: {name: j, namespace: default, labels: {kueue.x-k8s.io/queue-name: lq, team: vision, other: x}}
spec:
  suspend: true
  template:
    metadata: {annotations: {capstan.dev/run-seconds: "1"}}
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i, resources: {requests: {cpu: 2}}}]
YAML
soon "labelKeysToCopy: the Workload has the label" '^vision,$' \
    c get workloads -o 'jsonpath={.items[0].metadata.labels.team},{.items[0].metadata.labels.other}'
soon "afterFinished: the Workload goes" '^$' c get workloads -o name
is "and its job stays" 'Complete' c get job j -o 'jsonpath={.status.conditions[?(@.type=="Complete")].type}'
ok "a job with a time limit" c apply -f - <<'YAML'
apiVersion: batch/v1
kind: Job
metadata: {name: long, namespace: default, labels: {kueue.x-k8s.io/queue-name: lq, kueue.x-k8s.io/max-exec-time-seconds: "1"}}
spec:
  suspend: true
  template:
    metadata: {annotations: {capstan.dev/run-seconds: "9000"}}
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i, resources: {requests: {cpu: 2}}}]
YAML
soon "afterDeactivatedByKueue: it goes when its time is used up" '^job.batch/j$' c get jobs -o name
kill "$process"
wait "$process" 2>/dev/null
rm -rf "$WORK"
