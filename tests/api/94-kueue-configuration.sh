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
    integrations: {frameworks: [batch/job, ray.io/rayjob]}
    leaderElection: {leaderElect: false}
YAML
if embedded; then
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
    says "so are frameworks of others" 'integrations.frameworks: ray.io/rayjob: nothing is done for them' cat "$WORK/said"
    says "leaderElect: false: it schedules without the Lease that another has" 'scheduling pods=' cat "$WORK/said"
else
    skip "a configuration that is right" "would schedule a second time on somebody's cluster"
fi
rm -rf "$WORK"
