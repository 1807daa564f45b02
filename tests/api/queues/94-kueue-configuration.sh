# Kueue's Configuration by --config: what is wrong is told before anything starts, what does nothing is named, the rest is applied.
file() { cat >"$WORK/config.yaml"; }
start() { timeout 20 "$PROGRAM" "$@" --config "$WORK/config.yaml" 2>&1; }
WORK=$(mktemp -d)
HEAD="apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration"

file <<YAML
$HEAD
waitForPodsReady: {timeout: 5, timeOut: 5m}
YAML
refuses "up: a wrong value" 'waitForPodsReady.timeout: 5 is no duration: write a number with a unit' start up --data-dir "$WORK/none"
refuses "scheduler: an unknown field" 'waitForPodsReady.timeOut: no such field: write timeout' start scheduler
refuses "scheduler: no such file" 'No such file' "$PROGRAM" scheduler --config "$WORK/none.yaml"
ok "up: nothing was started" test ! -e "$WORK/none"

file <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {name: kueue-manager-config}
data:
  controller_manager_config.yaml: |
    apiVersion: config.kueue.x-k8s.io/v1beta2
    kind: Configuration
    webhook: {port: 9443}
    integrations: {frameworks: [batch/job, workload.codeflare.dev/appwrapper]}
    leaderElection: {leaderElect: false}
YAML
if embedded; then
    says "who applies it is told where it is read" 'Warning: data\[controller_manager_config.yaml\]: .* --config FILE' k apply -f "$WORK/config.yaml"
    lines() { # what it says until it has connected
        "$PROGRAM" scheduler --config "$WORK/config.yaml" --scheduler-name nobody-names-it >"$WORK/log" 2>&1 &
        local process=$!
        for _ in $(seq 200); do grep -q 'scheduling pods=' "$WORK/log" && break; sleep 0.05; done
        kill "$process"
        wait "$process"
        cat "$WORK/log"
    }
    lines >"$WORK/said"
    says "what does nothing is named" '^capstan scheduler: --config .*: webhook does nothing: ' cat "$WORK/said"
    says "so are frameworks of others" 'integrations.frameworks: workload.codeflare.dev/appwrapper: nothing is done for them' cat "$WORK/said"
    says "leaderElect: false: it schedules without the Lease that another has" 'scheduling pods=' cat "$WORK/said"
else
    skip "a configuration that is right" "would schedule a second time on somebody's cluster"
fi
rm -rf "$WORK"

# --- waitForPodsReady, on a cluster of its own
if ! embedded; then
    skip "waitForPodsReady" "needs the simulated nodes of an embedded cluster"
    return
fi
WORK=$(mktemp -d)
file <<YAML
$HEAD
waitForPodsReady: {timeout: 15s, blockAdmission: true, requeuingStrategy: {backoffBaseSeconds: 300, backoffLimitCount: 3}}
YAML
"$PROGRAM" up --data-dir "$WORK/c" --listen 127.0.0.1:0 --nodes 1:a100-40gb --config "$WORK/config.yaml" >"$WORK/log" 2>&1 &
process=$!
appears "$WORK/c/kubeconfig"
C() { "$KUBECTL" --kubeconfig "$WORK/c/kubeconfig" -n default "$@"; }
put() { { echo "# YAML"; cat; } | C apply -f - >/dev/null; }
job() { # NAME START-SECONDS
    put <<YAML
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {suspend: true, template: {
  metadata: {annotations: {capstan.dev/run-seconds: "600", capstan.dev/start-seconds: "$2"}},
  spec: {restartPolicy: Never, containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}
YAML
}
of() { # JOB JSONPATH
    C get workloads -o "jsonpath={range .items[?(@.metadata.ownerReferences[0].name==\"$1\")]}$2{end}"
}
condition() { of "$1" "{range .status.conditions[?(@.type==\"$2\")]}{.status} {.reason}{end}"; }
put <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: any}}
YAML
put <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: q}, spec: {namespaceSelector: {}, resourceGroups: [
 {coveredResources: [nvidia.com/gpu], flavors: [{name: any, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]}]}}
YAML
put <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q}, spec: {clusterQueue: q}}
YAML
job late 600
soon "a job that will be late is admitted" '^True' condition late Admitted
job next 0
soon "blockAdmission: the next one waits" '^False WaitingForPodsReady$|^True' condition next QuotaReserved
soon "it is late and evicted" '^True PodsReadyTimeout$' condition late Evicted
soon "how often is counted" '^1 20[0-9-]+T[0-9:]+Z$' of late '{.status.requeueState.count} {.status.requeueState.requeueAt}'
soon "it is kept out for a while" '^False OnHold$' condition late QuotaReserved
soon "then the next one is admitted" '^True' condition next Admitted
soon "and ready" '^True Started$' condition next PodsReady
kill "$process"
wait "$process"
rm -rf "$WORK"
