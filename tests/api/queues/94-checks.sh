# Admission checks: quota first, the start when somebody outside has said yes. kubectl plays that somebody.
if ! embedded; then
    skip "admission checks" "needs the simulated nodes of the embedded cluster"
    return
fi
if ! at_least 32; then
    skip "admission checks" "kubectl $MINOR has no apply --subresource"
    return
fi
K() { "$KUBECTL" "$@"; }
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
why() { "$PROGRAM" why "job/$1" -n "$NS" "${@:2}"; }
workload_of() { k get workloads -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.ownerReferences[0].name}{"\n"}{end}' | awk -v o="$1" '$2 == o {print $1}'; }
condition() { k get workload "$(workload_of "$1")" -o "jsonpath={range .status.conditions[?(@.type==\"$2\")]}{.status} {.reason} {.message}{end}"; }
state() { k get workload "$(workload_of "$1")" -o "jsonpath={range .status.admissionChecks[?(@.name==\"$NS-$2\")]}{.state} {.message}{end}"; }
active() { K get clusterqueue "$NS-q" -o 'jsonpath={range .status.conditions[?(@.type=="Active")]}{.status} {.reason} {.message}{end}'; }
suspended() { k get job "$1" -o 'jsonpath={.spec.suspend}'; }
running() { k get job "$1" -o 'jsonpath={.status.active}'; }
# check NAME ACTIVE
check() {
    apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: $NS-$1}, spec: {controllerName: example.com/$1}}
YAML
    K patch admissioncheck "$NS-$1" --subresource=status --type=merge -p "{\"status\":{\"conditions\":[{\"type\":\"Active\",
        \"status\":\"$2\",\"reason\":\"Tested\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}" >/dev/null
}
# answer JOB CHECK STATE [MORE]: as a controller does, by server-side apply under a name of its own
answer() {
    K apply --server-side --force-conflicts --field-manager="example.com/$2" --subresource=status -n "$NS" -f - >/dev/null <<YAML
{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": "$(workload_of "$1")"}, "status": {"admissionChecks": [
 {"name": "$NS-$2", "state": "$3", "lastTransitionTime": "$(date -u +%FT%TZ)", "message": "said by $2"${4:+, $4}}]}}
YAML
}
job() {
    apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: checked}}, spec: {parallelism: 1, completions: 1, suspend: true,
 template: {metadata: {annotations: {capstan.dev/run-seconds: "600"}}, spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}}
YAML
}
queue() {
    apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-q}, spec: {namespaceSelector: {}, ${1:+admissionChecksStrategy: {admissionChecks: [$1]\},}
 resourceGroups: [{coveredResources: [pods], flavors: [{name: $NS-f, resources: [{name: pods, nominalQuota: 8}]}]}]}}
YAML
}
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-f}, spec: {}}
YAML
says "a queue with checks is taken without a warning" '^0$' bash -c "printf '%s' '
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-w}, spec: {namespaceSelector: {}, admissionChecksStrategy: {
admissionChecks: [{name: a}]}}}' | '$KUBECTL' apply --dry-run=server -f - 2>&1 >/dev/null | grep -c Warning || true"
queue "{name: $NS-budget}, {name: $NS-nodes}"
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: checked}, spec: {clusterQueue: $NS-q}}
YAML
soon "checks that nobody made close the queue" "^False AdmissionCheckNotFound .*missing AdmissionCheck\(s\): $NS-budget,$NS-nodes\\.\$" active
job early
soon "and a job says so" "references missing AdmissionCheck\(s\): $NS-budget,$NS-nodes" why early
check budget True
check nodes False
soon "one that is not active does, too" "^False AdmissionCheckInactive .*inactive AdmissionCheck\(s\): $NS-nodes\\.\$" active
check nodes True
soon "with all of them it admits" '^True Ready ' active

soon "quota is reserved" '^True QuotaReserved ' condition early QuotaReserved
soon "which is not admitted" '^False UnsatisfiedAdmissionChecks The workload has not all checks ready$' condition early Admitted
soon "both checks are pending" '^Pending' state early nodes
is "the job waits" true suspended early
soon "why: for which checks" "^quota is reserved in ClusterQueue $NS-q; waits for admission check $NS-budget \\(Pending\\), admission check $NS-nodes \\(Pending\\)\$" why early
soon "why: its state" '^Job .*/early: reserved$' why early
soon "jobs: the same" "early .*waits for admission check $NS-budget" "$PROGRAM" jobs -n "$NS" -o wide
soon "why as JSON" '"code": *"admission-checks"' why early -o json
answer early budget Ready
soon "why: for the other, with nothing from its controller" "waits for admission check $NS-nodes \\(Pending\\)\$" why early
is "an answer stays its controller's" 'Ready said by budget' state early budget
is "the job still waits" true suspended early
answer early nodes Ready "\"podSetUpdates\": [{\"name\": \"main\", \"labels\": {\"paid-by\": \"red\"}, \"annotations\": {\"bill\": \"7\"}}]"
soon "with the last answer it starts" '^1$' running early
soon "and is admitted" '^True Admitted ' condition early Admitted
soon "an event says how long it waited" 'Admitted by ClusterQueue .*, wait time since reservation was [0-9]+s' k get events
soon "its pod has what the check adds" '^7$' k get pods -l paid-by=red -o 'jsonpath={.items[0].metadata.annotations.bill}'
is "the controllers own their entries" 'example.com/budget example.com/nodes' bash -c "'$KUBECTL' get workload -n '$NS' '$(workload_of early)' --show-managed-fields -o 'jsonpath={.metadata.managedFields[*].manager}' | tr ' ' '\n' | grep example | sort | paste -sd' '"

# --- retry
job again
soon "another job has its quota" '^Pending' state again budget
answer again nodes Retry '"requeueAfterSeconds": 3'
# It comes again after three seconds; a look that is later sees what it was.
soon "retry evicts it" "^(True AdmissionCheck |False QuotaReserved Previously: )Evicted due to AdmissionCheck in Retry state: \"$NS-nodes\" \\(said by nodes\\)\$" condition again Evicted
soon "with an event" "EvictedDueToAdmissionCheck" k get events
soon "its checks are pending again" '^Pending Reset to Pending after eviction. Previously: Retry$' state again nodes
soon "and it comes again" '^True QuotaReserved ' condition again QuotaReserved
soon "as the backoff was over" '^True BackoffFinished ' condition again Requeued
answer again budget Ready
answer again nodes Ready
soon "and starts this time" '^1$' running again

# --- rejected
job never
soon "a third has its quota" '^Pending' state never budget
answer never budget Rejected
soon "rejected: deactivated" "^True DeactivatedDueToAdmissionCheck The workload is deactivated due to AdmissionCheck in Rejected state: \"$NS-budget\"" condition never Evicted
soon "rejected: an event" "AdmissionCheckRejected .*Deactivated due to AdmissionCheck in Rejected state: \"$NS-budget\"" k get events
soon "rejected: it is not active" '^false$' k get workload "$(workload_of never)" -o 'jsonpath={.spec.active}'
is "rejected: its job never starts" true suspended never

# --- nobody answers
job silent
soon "one whose controllers never answer waits" '^Pending' state silent nodes
queue ""
soon "until nobody asks for its checks any more" '^1$' running silent
soon "and lists none" '^$' state silent nodes
k delete jobs --all --wait=false >/dev/null

# --- put aside while it waits: what was answered before it had quota does not stand when it is back
queue "{name: $NS-budget}"
K patch clusterqueue "$NS-q" --type merge -p '{"spec":{"stopPolicy":"Hold"}}' >/dev/null
job aside
soon "it waits, and its check is listed" '^Pending' state aside budget
answer aside budget Ready
soon "it is answered all the same" '^Ready said by budget' state aside budget
k patch workload "$(workload_of aside)" --type merge -p '{"spec":{"active":false}}' >/dev/null
soon "put aside it counts as evicted" '^True Deactivated' condition aside Evicted
soon "and its check is asked anew" '^Pending Reset to Pending after eviction. Previously: Ready' state aside budget
k delete job aside --wait=false >/dev/null
K patch clusterqueue "$NS-q" --type merge -p '{"spec":{"stopPolicy":"None"}}' >/dev/null
