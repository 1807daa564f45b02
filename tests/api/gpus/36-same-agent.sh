# One ConfigMap and one label mean the same on a simulated node of `up` and on a node with a `capstan agent` process of its own: the same
# labels, allocatable, devices and conditions, in the same words.
with_libnvsim "the same agent" || return 0
real=a100-40gb-0 simulated=a100-40gb-1
printf 'devicePlugin: {config: {name: shares}}\nmig: {strategy: mixed}\nmigManager: {config: {name: layouts}}\n' >values.yaml
CAPSTAN_LIBNVSIM=$library "$PROGRAM" up --data-dir ./own --listen 127.0.0.1:0 --nodes 2:a100-40gb,gpus=2 --real-agent $real \
    --operator-values values.yaml >own.log 2>&1 &
own=$!
appears own/kubeconfig
O() { KUBECONFIG=$PWD/own/kubeconfig "$KUBECTL" "$@"; }
offers() { O get node "$1" -o "jsonpath={.status.allocatable.${2//./\\.}}"; }
condition() { O get node "$1" -o 'jsonpath={range .status.conditions[?(@.type=="GPUConfigValid")]}{.status} {.reason} {.message}{end}'; }
state() { O get node "$1" -o 'jsonpath={.metadata.labels.nvidia\.com/mig\.config\.state}'; }
# All that the agent writes, but what is of the machine (its product name, the time) and the identities of its devices.
facts() {
    O get node "$1" -o json | python3 -c '
import json, re, sys
node = json.load(sys.stdin)
for name, value in sorted(node["metadata"]["labels"].items()):
    if name.startswith("nvidia.com/") and name not in ("nvidia.com/gpu.machine", "nvidia.com/gfd.timestamp"):
        print("label", name, value)
for part in ("capacity", "allocatable"):
    for name, value in sorted(node["status"][part].items()):
        if name.startswith("nvidia.com/") and value != "0":
            print(part, name, value)
for one in node["status"]["conditions"]:
    if one["type"].startswith("GPU"):
        text = re.sub("(GPU|MIG)-[0-9a-f-]{36}", "\\1", one["message"])
        print("condition", one["type"], one["status"], one["reason"], text)
for one in sorted(json.loads(node["metadata"]["annotations"]["capstan.dev/devices"]), key=lambda d: (d["r"], d["gpu"], d["id"][45:])):
    print("device", one["r"], one["gpu"], one["link"], one["healthy"], one.get("state"))'
}
differ() { diff <(facts $real) <(facts $simulated); }
both() { O label nodes $real $simulated "$@" >/dev/null; }

soon "an agent offers two GPUs" '^2$' offers $real nvidia.com/gpu
soon "so does the simulated node" '^2$' offers $simulated nvidia.com/gpu
soon "both look at a ConfigMap that is not there: the defaults" '^True ConfigValid gpu-operator/shares/\(defaults\)$' condition $simulated
soon "the same on both" '^$' differ
cat >shares.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: shares, namespace: gpu-operator}
data:
  plain: "version: v1"
  shared: "{version: v1, sharing: {timeSlicing: {renameByDefault: true, resources: [{name: nvidia.com/gpu, replicas: 4}]}}}"
  mps: "{version: v1, sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 10}]}}}"
  typo: "{version: v1, sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replica: 4}]}}}"
---
apiVersion: v1
kind: ConfigMap
metadata: {name: layouts, namespace: gpu-operator}
data:
  config.yaml: |
    version: v1
    mig-configs:
      mine: [{devices: [0], mig-enabled: true, mig-devices: {1g.5gb: 7}}, {devices: [1], mig-enabled: false}]
YAML
O apply -f shares.yaml >/dev/null
both nvidia.com/device-plugin.config=shared
soon "shared under another name" '^8$' offers $simulated nvidia.com/gpu.shared
soon "the same on both" '^$' differ
both nvidia.com/device-plugin.config=nope --overwrite
soon "an entry that is not there" "^False ConfigInvalid .*has no entry 'nope'" condition $simulated
soon "the same on both, and the shares stay" '^$' differ
is "eight of them" 8 offers $real nvidia.com/gpu.shared
both nvidia.com/device-plugin.config=typo --overwrite
soon "an entry with a mistake" '^False ConfigInvalid gpu-operator/shares/typo: sharing.timeSlicing.resources\[0\]' condition $simulated
soon "the same on both" '^$' differ
both nvidia.com/device-plugin.config=shared --overwrite
soon "back" '^True ConfigValid gpu-operator/shares/shared$' condition $simulated
both nvidia.com/device-plugin.config-
soon "without the label: the defaults" '^2$' offers $simulated nvidia.com/gpu
soon "the same on both" '^$' differ

# --- without a label the only entry counts; what is in use stays when it goes
O patch configmap shares -n gpu-operator --type merge -p '{"data":{"plain":null,"typo":null,"mps":null}}' >/dev/null
soon "the only entry counts" '^8$' offers $simulated nvidia.com/gpu.shared
soon "the same on both" '^$' differ
O delete configmap shares -n gpu-operator >/dev/null
soon "the ConfigMap goes: its config stays" "^False ConfigGone .*has been deleted while its entry 'shared' is in use" condition $simulated
soon "the same on both" '^$' differ
is "eight of them" 8 offers $simulated nvidia.com/gpu.shared
O apply -f shares.yaml >/dev/null
soon "it comes back, with several entries" '^2$' offers $simulated nvidia.com/gpu
soon "the same on both" '^$' differ

# --- MIG: a layout of the ConfigMap, edited, one that does not fit, one that is not there
both nvidia.com/mig.config=mine
soon "one GPU is split" '^7$' offers $simulated nvidia.com/mig-1g.5gb
soon "and the agent says so" '^success$' state $real
soon "the same on both" '^$' differ
O patch configmap layouts -n gpu-operator --type merge -p "$(printf '{"data":{"config.yaml":"version: v1\\nmig-configs:\\n  mine: [{devices: all, mig-enabled: true, mig-devices: {3g.20gb: 2}}]\\n"}}')" >/dev/null
soon "an edited layout is applied under the same label" '^4$' offers $simulated nvidia.com/mig-3g.20gb
soon "by both" '^4$' offers $real nvidia.com/mig-3g.20gb
soon "the same on both" '^$' differ
both nvidia.com/mig.config=nope --overwrite
soon "a layout that nobody has" '^failed$' state $simulated
soon "the same on both" '^$' differ
both nvidia.com/mig.config=all-disabled --overwrite
soon "whole GPUs" '^2$' offers $simulated nvidia.com/gpu
soon "the same on both" '^$' differ
kill $own
wait $own 2>/dev/null
true
