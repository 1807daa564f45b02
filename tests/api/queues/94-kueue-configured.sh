# capstan up --config: what the configuration says of Workloads and of quota is done.
WORK=$(mktemp -d)
if ! embedded; then
    skip "a configured cluster" "would start one of its own"
    rm -rf "$WORK"
    return
fi
cat >"$WORK/config.yaml" <<'YAML'
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
resources: {excludeResourcePrefixes: [memory], transformations: [{input: cpu, strategy: Replace, outputs: {credits: 3}}]}
integrations: {labelKeysToCopy: [team]}
manageJobsWithoutQueueName: true
managedJobsNamespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [default]}]}
objectRetentionPolicies: {workloads: {afterFinished: 1s, afterDeactivatedByKueue: 0s}}
YAML
"$PROGRAM" up --data-dir "$WORK/up" --listen 127.0.0.1:0 --config "$WORK/config.yaml" --speed 10 >"$WORK/log" 2>&1 &
process=$!
appears "$WORK/up/kubeconfig"
c() { "$KUBECTL" --kubeconfig "$WORK/up/kubeconfig" "$@"; }
# job NAME SECONDS MORE-LABELS: of two CPUs
job() {
    c apply -f - <<YAML
apiVersion: batch/v1
kind: Job
metadata: {name: $1, namespace: default, labels: {kueue.x-k8s.io/queue-name: lq$3}}
spec:
  suspend: true
  template:
    metadata: {annotations: {capstan.dev/run-seconds: "$2"}}
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i, resources: {requests: {cpu: 2, memory: 1Gi}}}]
YAML
}
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
  - coveredResources: [credits]
    flavors: [{name: any, resources: [{name: credits, nominalQuota: 100}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: default}
spec: {clusterQueue: cq}
YAML
ok "a job that runs" job runs 90000 ", team: vision, other: x"
one() { c get workloads -o "jsonpath={.items[0]$1}"; }
soon "labelKeysToCopy: the Workload has the label" "^vision,$" one '.metadata.labels.team},{.items[0].metadata.labels.other'
soon "transformations: it is counted in credits" '^{"credits":"6"}$' one '.status.admission.podSetAssignments[0].resourceUsage'
ok "which ends" c delete job runs
soon "and its Workload with it" '^$' c get workloads -o name
ok "a short job" job short 1 ""
soon "is over" 'Complete' c get job short -o 'jsonpath={.status.conditions[*].type}'
soon "afterFinished: its Workload goes" '^$' c get workloads -o name
is "and the job stays" 'job.batch/short' c get jobs -o name
ok "a job with a time limit" job long 90000 ', kueue.x-k8s.io/max-exec-time-seconds: "1"'
soon "afterDeactivatedByKueue: it goes when its time is used up" '^job.batch/short$' c get jobs -o name
ok "a job without a queue" c create job lone --image=i
soon "manageJobsWithoutQueueName: it is held" '^true$' c get job lone -o 'jsonpath={.spec.suspend}'
ok "it names one" c label job lone kueue.x-k8s.io/queue-name=lq
soon "and runs" '^Complete$' c get job lone -o 'jsonpath={.status.conditions[?(@.type=="Complete")].type}'
ok "a job elsewhere" c -n kube-public create job lone --image=i
soon "managedJobsNamespaceSelector: it is left alone" '^Complete$' c -n kube-public get job lone -o 'jsonpath={.status.conditions[?(@.type=="Complete")].type}'
kill "$process"
wait "$process" 2>/dev/null
rm -rf "$WORK"
