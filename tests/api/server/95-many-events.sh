# A hundred thousand Events in the cluster: why, jobs, the page and lists are as fast, as small and as whole as without.
#
#   EVENTS  how many (default 100000; under sanitizers a twentieth)
if ! embedded || [ -z "${PROGRAM:-}" ] || ! command -v python3 >/dev/null; then
    skip "many Events" "only with a server started here, and python3"
    return
fi
if ! at_least 24; then
    skip "many Events" "kubectl $MINOR: one is enough"
    return
fi
events=${EVENTS:-100000}
if [ -z "${EVENTS:-}" ] && grep -q __asan_init "$PROGRAM"; then events=5000; fi
"$PROGRAM" up --nodes 1:t4 --data-dir ./own --listen 127.0.0.1:0 >own.log 2>&1 &
server=$!
appears own/kubeconfig
export KUBECONFIG=$PWD/own/kubeconfig
soon "a server of its own" ' Ready ' "$KUBECTL" get nodes
{ echo "# YAML"; for i in 0 1; do echo "---
{apiVersion: v1, kind: Pod, metadata: {name: stuck-$i, namespace: default}, spec: {containers: [{name: c, image: x, resources: {limits: {nvidia.com/gpu: 99}}}]}}"; done; } |
    "$KUBECTL" apply -f - >/dev/null
soon "a pod waits" 'Insufficient nvidia.com/gpu' "$PROGRAM" why pod/stuck-0
sleep 1 # what is told of it is told
python3 "$ROOT/tests/api/server/95-many-events.py" "$(sed -n 's|.*server: http://||p' own/kubeconfig | head -1)" "$server" "$PROGRAM" "$events"
kill "$server"
wait "$server" 2>/dev/null
