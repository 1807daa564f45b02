# ProvisioningRequests as an admission check. kubectl plays the autoscaler: it patches their status.
if ! embedded; then
    skip "provisioning requests" "needs the simulated nodes of the embedded cluster"
    return
fi
if ! at_least 24; then
    skip "provisioning requests" "kubectl $MINOR has no --subresource"
    return
fi
K() { "$KUBECTL" "$@"; }
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
workload_of() { k get workloads -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.ownerReferences[0].name}{"\n"}{end}' | awk -v o="$1" '$2 == o {print $1}'; }
condition() { k get workload "$(workload_of "$1")" -o "jsonpath={range .status.conditions[?(@.type==\"$2\")]}{.status} {.reason} {.message}{end}"; }
entry() { k get workload "$(workload_of "$1")" -o 'jsonpath={.status.admissionChecks[0].state} {.status.admissionChecks[0].message}'; }
active() { K get admissioncheck "$NS-c" -o 'jsonpath={.status.conditions[0].status} {.status.conditions[0].reason} {.status.conditions[0].message}'; }
running() { k get job "$1" -o 'jsonpath={.status.active}'; }
request() { echo "$(workload_of "$1")-$NS-c-$2"; } # JOB ATTEMPT
# answer JOB ATTEMPT CONDITION MESSAGE: as the autoscaler does
answer() {
    k patch provisioningrequest "$(request "$1" "$2")" --subresource=status --type=merge -p "{\"status\":{\"conditions\":[{\"type\":\"$3\",
        \"status\":\"True\",\"reason\":\"Tested\",\"message\":\"$4\",\"lastTransitionTime\":\"$(date -u +%FT%TZ)\"}]}}" >/dev/null
}
job() {
    apply <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, annotations: {provreq.kueue.x-k8s.io/ValidUntilSeconds: "60"}, labels: {kueue.x-k8s.io/queue-name: q}},
 spec: {parallelism: 1, completions: 1, suspend: true, template: {metadata: {annotations: {capstan.dev/run-seconds: "600"}},
 spec: {restartPolicy: Never, containers: [{name: main, image: busybox, resources: {limits: {cpu: 10m}}}]}}}}
YAML
}
says "a check of this controller and its config are taken without a warning" '^0$' bash -c "printf '%s' '
{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: $NS-w}, spec: {controllerName: kueue.x-k8s.io/provisioning-request}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ProvisioningRequestConfig, metadata: {name: $NS-w}, spec: {provisioningClassName: x.example}}
' | '$KUBECTL' apply --dry-run=server -f - 2>&1 >/dev/null | grep -c Warning || true"
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-f}, spec: {}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: $NS-c}, spec: {controllerName: kueue.x-k8s.io/provisioning-request,
 parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: $NS-conf}}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-q}, spec: {namespaceSelector: {}, admissionChecksStrategy: {
 admissionChecks: [{name: $NS-c}]}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: $NS-f, resources: [{name: cpu, nominalQuota: 8}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q}, spec: {clusterQueue: $NS-q}}
YAML
soon "a config that is not there closes the check" "^False BadParametersRef ProvisioningRequestConfig.kueue.x-k8s.io \"$NS-conf\" not found\$" active
apply <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ProvisioningRequestConfig, metadata: {name: $NS-conf}, spec: {provisioningClassName: atomic.example,
 parameters: {Size: large}, retryStrategy: {backoffLimitCount: 1, backoffBaseSeconds: 2, backoffMaxSeconds: 10}}}
YAML
soon "and opens it when it comes" "^True Active The admission check is active\$" active

# --- provisioned
job one
soon "quota is reserved" '^True QuotaReserved ' condition one QuotaReserved
soon "a request is made" '^atomic.example large 60 1$' bash -c "'$KUBECTL' get provreq -n '$NS' -o 'jsonpath={range .items[0].spec}{.provisioningClassName} {.parameters.Size} {.parameters.ValidUntilSeconds} {.podSets[0].count}{end}'"
is "by the name that Kueue gives it" "$(request one 1)" k get provreq -o 'jsonpath={.items[0].metadata.name}'
is "its template too" "ppt-$(request one 1)-main" k get provreq -o 'jsonpath={.items[0].spec.podSets[0].podTemplateRef.name}'
soon "which is the request's own" "^ProvisioningRequest $(request one 1) 10m\$" k get podtemplate "ppt-$(request one 1)-main" \
    -o 'jsonpath={.metadata.ownerReferences[*].kind} {.metadata.ownerReferences[*].name} {.template.spec.containers[0].resources.requests.cpu}'
soon "an event says so" "ProvisioningRequestCreated .*$(request one 1)" k get events
refuses "what it asks for stays" 'Value is immutable' k patch provreq "$(request one 1)" --type=merge -p '{"spec":{"provisioningClassName":"b"}}'
is "the job waits" 'Pending ' entry one
soon "why: for the check" "waits for admission check $NS-c \\(Pending\\)" "$PROGRAM" why job/one -n "$NS"
answer one 1 Provisioned "two nodes made"
soon "provisioned: it starts" '^1$' running one
is "the check says what the autoscaler said" 'Ready two nodes made' entry one
is "its pod may use the nodes" "$(request one 1) atomic.example" k get pods -l job-name=one \
    -o 'jsonpath={.items[0].metadata.annotations.autoscaling\.x-k8s\.io/consume-provisioning-request} {.items[0].metadata.annotations.autoscaling\.x-k8s\.io/provisioning-class-name}'
answer one 1 CapacityRevoked "nodes are going away"
soon "revoked: it is stopped" '^True DeactivatedDueToAdmissionCheck .*nodes are going away' condition one Evicted
soon "and its request is gone" '^$' k get provreq -o name

# --- failed
job two
soon "another is asked for" "$(request two 1)" k get provreq -o name
answer two 1 Failed "no room"
# Soon it has quota again, which says what was.
soon "failed: it is evicted" '^(True AdmissionCheck|False QuotaReserved Previously:) .*Retrying after failure: no room' condition two Evicted
soon "and asked for again" "provisioningrequest.*/$(request two 2)" k get provreq -o name
answer two 2 Failed "never"
soon "the last failure is final" '^True DeactivatedDueToAdmissionCheck .*\(never\)' condition two Evicted
soon "nothing stays of it" '^$' k get provreq,podtemplates -o name

# --- with its job
job three
soon "a third is asked for" "$(request three 1)" k get provreq -o name
k delete job three >/dev/null
soon "and gone with its job" '^$' k get provreq,podtemplates -o name
k delete jobs --all --wait=false >/dev/null
