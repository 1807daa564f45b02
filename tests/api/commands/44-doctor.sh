# capstan doctor: faults that are put into a cluster, one line each with what to do; what is well is quiet; --node on a made-up machine
if ! embedded || [ -z "${PROGRAM:-}" ]; then
    skip "what is missing" "needs an embedded server of its own"
    return
fi
"$PROGRAM" up --tls --nodes 1:t4 --data-dir ./sick --listen 127.0.0.1:0 >sick.log 2>&1 &
server=$!
appears sick/kubeconfig
s() { KUBECONFIG=sick/kubeconfig "$KUBECTL" "$@"; }
doctor() { KUBECONFIG=${CONFIG:-sick/kubeconfig} "$PROGRAM" doctor "$@"; }
told() { doctor "$@" || [ $? = 1 ]; } # faults are no failure of the test
# finds WHAT LEVEL ABOUT PATTERN: the line is there
finds() { says "$1" "^$2 +$3 +$4" told; }
# ends CODE WHAT OPTION...
ends() {
    local code=$1 what=$2; shift 2
    doctor "$@" >/dev/null 2>&1
    is "$what" "$code" echo $?
}
soon "a server of its own" ' Ready ' s get nodes

# --- nothing is wrong: nothing is said, but how much was looked at
is "a healthy cluster has no line" '' bash -c '"$0" doctor --kubeconfig sick/kubeconfig 2>/dev/null' "$PROGRAM"
ends 0 "and the exit code 0"
says "and a sum" 'checks well, 0 notes, 0 not known, 0 faults' bash -c '"$0" doctor --kubeconfig sick/kubeconfig 2>&1' "$PROGRAM"
says "and in which version Kubernetes' own pod groups are read" '^ok +scheduling.k8s.io/v1beta1 +podgroups' doctor --all
says "--all says what is well" '^ok +node t4-0 +8 devices, all usable' doctor --all

# --- nodes: no plugin, no agent, broken devices, cordoned
s apply -f - >/dev/null <<'YAML'
# YAML
{apiVersion: v1, kind: Node, metadata: {name: bare, labels: {nvidia.com/gpu.present: "true", nvidia.com/gpu.count: "8"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: plain, labels: {nvidia.com/gpu.present: "true"}}, status: {capacity: {nvidia.com/gpu: "4"},
 allocatable: {nvidia.com/gpu: "3"}, conditions: [{type: Ready, status: "True"}, {type: GPUConfigValid, status: "False", message: "version: v9"}]}}
YAML
s apply -f - >/dev/null <<'YAML'
# YAML
{apiVersion: v1, kind: Node, metadata: {name: changing, labels: {nvidia.com/gpu.present: "true"}, annotations: {capstan.dev/devices:
 '[{"r":"nvidia.com/gpu","id":"a","gpu":0},{"r":"nvidia.com/gpu","id":"b","gpu":1,"healthy":false,"state":"OldSlicing"},{"r":"nvidia.com/gpu","id":"c","gpu":2,"healthy":false,"state":"Lost"}]'}},
 status: {capacity: {nvidia.com/gpu: "3"}, allocatable: {nvidia.com/gpu: "1"}, conditions: [{type: Ready, status: "True"}]}}
YAML
s cordon t4-0 >/dev/null
finds "a node whose kubelet offers nothing" fault 'node bare' 'its label says 8 GPUs, and its kubelet offers none'
finds "a node that is not ready" fault 'node bare' 'not Ready'
finds "a node without an agent" note 'node plain' 'no agent'
finds "devices that are broken" fault 'node plain' '1 of 4 devices are unhealthy'
finds "those that open by themselves" note 'node changing' '1 of 3 devices are closed for now: OldSlicing'
finds "and the others" fault 'node changing' '1 of 3 devices are unhealthy'
finds "what its agent says" fault 'node plain' 'GPUConfigValid: version: v9'
finds "a node that is cordoned" note 'node t4-0' 'cordoned: .* kubectl uncordon'
ends 1 "the exit code is 1"

# --- queues: without a flavor, without a ClusterQueue, a flavor without nodes, quota that is not there
s apply -f - >/dev/null <<'YAML'
# YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: t4}, spec: {nodeLabels: {nvidia.com/gpu.product: Tesla-T4}}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: nowhere}, spec: {nodeLabels: {rack: "99"}}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: lost}, spec: {namespaceSelector: {}, resourceGroups: [
 {coveredResources: [nvidia.com/gpu], flavors: [{name: gone, resources: [{name: nvidia.com/gpu, nominalQuota: 4}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: rich}, spec: {namespaceSelector: {}, resourceGroups: [
 {coveredResources: [nvidia.com/gpu], flavors: [{name: t4, resources: [{name: nvidia.com/gpu, nominalQuota: 40}]},
  {name: nowhere, resources: [{name: nvidia.com/gpu, nominalQuota: 1}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: stray, namespace: default}, spec: {clusterQueue: nobody}}
YAML
soon "the scheduler has looked at them" 'False' s get clusterqueue lost -o 'jsonpath={.status.conditions[?(@.type=="Active")].status}'
soon "and at this one" 'False' s get localqueue stray -o 'jsonpath={.status.conditions[?(@.type=="Active")].status}'
finds "a queue that admits nothing, and why" fault 'ClusterQueue lost' 'admits nothing: .*gone'
finds "a LocalQueue of no ClusterQueue" fault 'LocalQueue default/stray' 'admits nothing'
finds "a flavor without nodes" fault 'ResourceFlavor nowhere' 'no node has its labels'
finds "more quota than GPUs" note 'ResourceFlavor t4' 'queues are promised 40 nvidia.com/gpu in all, and the nodes of the flavor have 8'

# --- who does the same work
s apply -f - >/dev/null <<'YAML'
# YAML
{apiVersion: v1, kind: Pod, metadata: {name: kueue-controller-manager-1, namespace: kube-system}, spec: {nodeName: t4-0, containers: [{name: m, image: "registry.k8s.io/kueue/kueue:v0.14.1"}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: plugin-1, namespace: kube-system}, spec: {nodeName: t4-0, containers: [{name: m, image: "nvcr.io/nvidia/k8s-device-plugin:v0.17.4"}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: plugin-2, namespace: kube-system}, spec: {nodeName: plain, containers: [{name: m, image: "nvcr.io/nvidia/k8s-device-plugin:v0.17.4"}]}}
YAML
finds "Kueue's manager beside ours" fault "Kueue's manager" 'does the same work as Capstan: pod kube-system/kueue-controller-manager-1'
finds "the device plugin beside our agent, and not elsewhere" fault "NVIDIA's device plugin" "does the same work as Capstan's agent on the same node: pod kube-system/plugin-1 "

s apply -f - >/dev/null <<'YAML'
# YAML
{apiVersion: v1, kind: Pod, metadata: {name: scheduler, namespace: kube-system}, spec: {nodeName: t4-0, containers: [{name: s, image: "example.com/capstan:0.1.0", args: [scheduler, --no-kueue]}]}}
YAML
is "not where the scheduler leaves queues to it" 0 bash -c '"$0" doctor --kubeconfig sick/kubeconfig 2>/dev/null | grep -c "Kueue.s manager"; true' "$PROGRAM"

# --- the scheduler's lease
lease() { # HOLDER RENEWED
    s apply -f - >/dev/null <<YAML
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: capstan-scheduler, namespace: kube-system}
spec: {holderIdentity: "$1", leaseDurationSeconds: 15, renewTime: "$2"}
YAML
}
lease host-1 "2026-01-01T00:00:00.000000Z"
finds "a scheduler that has died" fault 'Lease kube-system/capstan-scheduler' 'host-1 has not renewed it for .* nobody schedules'
lease "" "2026-01-01T00:00:00.000000Z"
finds "a lease that was given back" fault 'Lease kube-system/capstan-scheduler' 'the last scheduler has given it back: nobody schedules'
lease host-1 "$(date -u +%Y-%m-%dT%H:%M:%S.000000Z)"
says "one that leads" '^ok +Lease kube-system/capstan-scheduler +host-1 leads' told --all

# --- an older server without our kinds: what the same server says through one that takes them away
cat >old.py <<'PY'
import http.server, json, ssl, sys, urllib.request
class Old(http.server.BaseHTTPRequestHandler):
    def do(self):
        body = self.rfile.read(int(self.headers.get('content-length') or 0)) or None
        request = urllib.request.Request(sys.argv[1] + self.path, body, {'Content-Type': 'application/json'}, method=self.command)
        try:
            answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as e:
            answer = e
        status, text = answer.status, answer.read()
        if self.path == '/version':
            text = json.dumps({**json.loads(text), 'gitVersion': 'v1.28.4', 'minor': '28+'}).encode()
        elif self.path == '/apis':
            groups = json.loads(text)
            for group in groups['groups']:
                if group['name'] == 'kueue.x-k8s.io':
                    group['versions'] = [{'groupVersion': 'kueue.x-k8s.io/v1beta1', 'version': 'v1beta1'}]
            text = json.dumps(groups).encode()
        elif self.path.startswith('/apis/kueue.x-k8s.io/v1beta2'):
            status, text = 404, b'{"kind":"Status","code":404,"message":"not found"}'
        self.send_response(status)
        self.send_header('Content-Length', str(len(text)))
        self.send_header('Content-Type', 'application/json')
        self.end_headers()
        self.wfile.write(text)
    do_GET = do_POST = do
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Old)
print(server.server_port, flush=True)
server.serve_forever()
PY
s delete lease capstan-scheduler -n kube-system >/dev/null
"$PROGRAM" up --nodes 1:cpu --data-dir ./plain --listen 127.0.0.1:0 >plain.log 2>&1 &
plain=$!
appears plain/kubeconfig
/usr/bin/python3 old.py "$(sed -n 's/ *server: //p' plain/kubeconfig)" >port 2>/dev/null &
old=$!
appears port
sed "s|server: .*|server: http://127.0.0.1:$(cat port)|" plain/kubeconfig >old.yaml
CONFIG=old.yaml
finds "a server that is too old for policies" note 'API server' 'v1.28.4: deploy/agent.yaml'
finds "kinds in another version only" fault 'kueue.x-k8s.io/v1beta2' 'the cluster serves kueue.x-k8s.io as v1beta1 only'
finds "no scheduler" fault 'scheduler' 'no scheduler has ever led here'
finds "no GPU at all" note 'nodes' 'no node has a GPU'
kill "$old" "$plain"
wait "$old" "$plain" 2>/dev/null
says "nobody answers" '^fault +API server' told
unset CONFIG

# --- rights of somebody who may see one namespace
if at_least 24; then
    s create namespace mine >/dev/null
    s create sa anna -n mine >/dev/null
    s create rolebinding anna -n mine --clusterrole view --serviceaccount mine:anna >/dev/null
    s config view --raw >anna.yaml
    KUBECONFIG=anna.yaml "$KUBECTL" config set-credentials anna --token "$(s create token anna -n mine)" >/dev/null
    KUBECONFIG=anna.yaml "$KUBECTL" config set-context --current --user anna --namespace mine >/dev/null
    CONFIG=anna.yaml
    finds "what she may not" note 'your rights' 'you may not create jobs.batch in namespace mine: without it no capstan submit'
    finds "what she may not look at is not called well" unknown 'nodes' '.*nodes.* is forbidden'
    ends 0 "which is no fault"
    "$PROGRAM" scheduler --leader-elect=false --kubeconfig anna.yaml 2>anna.log &
    scheduler=$!
    soon "a scheduler with her rights says what it waits for" 'may not be read path=/apis/kueue.x-k8s.io/v1beta2/clusterqueues error="clusterqueues.kueue.x-k8s.io is forbidden: .*it is waited for' cat anna.log
    is "each kind once" 0 bash -c 'sed -n "s/.*may not be read path=\([^ ]*\).*/\1/p" anna.log | sort | uniq -d | wc -l'
    kill "$scheduler"
    wait "$scheduler" 2>/dev/null
    unset CONFIG
fi
kill "$server"
wait "$server" 2>/dev/null

# --- a machine
mkdir -p host/proc/driver/nvidia host/dev host/var/lib/kubelet/device-plugins host/var/lib/kubelet/pod-resources host/sys/fs/cgroup/memory
here() { told --node --root host "$@"; }
says "no driver" '^fault +kernel module +no NVIDIA driver is loaded' here
says "no library" '^fault +libnvidia-ml.so.1 ' here
says "no kubelet" '^fault +kubelet +no socket host/var/lib/kubelet/device-plugins/kubelet.sock' here
says "cgroups of version 1" '^note +cgroups +version 1' here
echo "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23 10:11:16 UTC 2025" >host/proc/driver/nvidia/version
touch host/dev/nvidiactl host/dev/nvidia-uvm host/dev/nvidia0 host/sys/fs/cgroup/cgroup.controllers
for socket in device-plugins/kubelet pod-resources/kubelet device-plugins/nvidia-gpu; do
    /usr/bin/python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "host/var/lib/kubelet/$socket.sock"
done
says "the module's version" '^ok +kernel module +580.95.05$' bash -c '"$0" doctor --node --root host --all -o csv | tr , " " | sed "s/ *$//"; true' "$PROGRAM"
says "another device plugin" "^fault +device plugins +NVIDIA's device plugin has its socket here: .*nvidia-gpu.sock" here
is "the kubelet is there" 1 bash -c '"$0" doctor --node --root host --all 2>/dev/null | grep -c "^ok *kubelet"' "$PROGRAM"
if with_libnvsim "GPUs of a machine"; then
    nvsim=$("$PROGRAM" nvsim create ./node --model a100-40gb --gpus 2)
    says "GPUs through NVML" '^ok +GPUs +2, driver ' bash -c 'eval "$1"; "$0" doctor --node --all; true' "$PROGRAM" "$nvsim"
fi
is "as data" '["about", "finding", "level", "todo"]' bash -c '"$0" doctor --node --root host -o json 2>/dev/null | /usr/bin/python3 -c "import json, sys; print(json.dumps(sorted(json.load(sys.stdin)[0])))"' "$PROGRAM"
"$PROGRAM" doctor --root host >/dev/null 2>&1
is "--root without --node is no usage" 2 echo $?
