# Ways to install: the kustomize base as it is and from a folder of one's own; the Helm chart, where helm is
if ! embedded || [ -z "${PROGRAM:-}" ]; then
    skip "ways to install" "would install Capstan on a cluster of somebody else"
    return
fi
"$PROGRAM" up --nodes 1:t4 --data-dir ./empty --listen 127.0.0.1:0 >empty.log 2>&1 &
server=$!
appears empty/kubeconfig
c() { KUBECONFIG=empty/kubeconfig "$KUBECTL" "$@"; }
soon "a server of its own" ' Ready ' c get nodes

# --- kustomize
if at_least 21; then # older ones know another kustomize
    "$KUBECTL" kustomize "$ROOT/deploy" >base.yaml
    # shellcheck disable=SC2016 # awk's words
    objects() { awk '/^kind: /{ kind = $2 } /^  name: /{ if (kind) print kind, $2; kind = "" }' | sort; }
    is "every object of its files is there, once" "" diff <(cd "$ROOT/deploy" && for f in namespace crds kueue-rules scheduler agent; do cat "$f.yaml"; echo; done | objects) <(objects <base.yaml)
    ok "the base is applied" c apply -k "$ROOT/deploy"
    is "the namespace lets the agent run" privileged c get namespace capstan-system -o 'jsonpath={.metadata.labels.pod-security\.kubernetes\.io/enforce}'
    said=$(c apply -k "$ROOT/deploy" 2>&1 | grep -v 'unchanged$')
    is "again, and nothing changes" "" echo "$said"
    is "the scheduler's two pods are wanted" 2 c get deployment capstan-scheduler -n capstan-system -o 'jsonpath={.spec.replicas}'
    mkdir -p ours
    # kustomize follows no link out of its folder: the same by its whole path
    sed "s|\.\./deploy|$(realpath --relative-to "$PWD/ours" "$ROOT/deploy")|" "$ROOT/examples/install/kustomization.yaml" >ours/kustomization.yaml
    is "a folder of one's own: another registry, less than the whole" "2 registry.example.com/capstan:0.1.0" bash -c '"$0" kustomize ours | sed -n "s/^ *-\{0,1\} *image: //p" | sort | uniq -c | sed "s/^ *//"' "$KUBECTL"
    "$KUBECTL" kustomize "$ROOT/deploy/monitoring" >monitoring.yaml
    is "monitors, rules and dashboards, as they lie there" "6 2 2" bash -c 'for kind in ConfigMap PodMonitor PrometheusRule; do grep -c "^kind: $kind$" monitoring.yaml; done | paste -sd" "'
    says "each dashboard is small enough for kubectl apply" '^configmap/capstan-dashboard-waste created' bash -c \
        'sed "/^apiVersion: monitoring/,\$d" monitoring.yaml | KUBECONFIG=empty/kubeconfig "$0" apply -f -' "$KUBECTL"
    is "with the label that Grafana's sidecar looks for" 6 bash -c 'KUBECONFIG=empty/kubeconfig "$0" get configmap -n capstan-system -l grafana_dashboard=1 -o name | wc -l' "$KUBECTL"
    ok "and is what Grafana reads" bash -c 'KUBECONFIG=empty/kubeconfig "$0" get configmap capstan-dashboard-queues -n capstan-system -o json | jq -e ".data[\"gpu-queues.json\"] | fromjson | .uid == \"capstan-gpu-queues\""' "$KUBECTL"
    ok "it is deleted" c delete -k "$ROOT/deploy" --wait=false --ignore-not-found
else
    skip "the kustomize base" "needs kubectl 1.21"
fi

# --- Helm
helm=${HELM:-$(command -v helm)}
chart=$ROOT/deploy/helm/capstan
render() { "$helm" template capstan "$chart" -n gpus --kube-version 1.32.0 "$@" >rendered.yaml; }
args() { # KIND NAME: of its first container, as one line
    /usr/bin/python3 - "$1" "$2" <<'PY'
import re, sys
for text in open('rendered.yaml').read().split('\n---\n'):
    if re.search(rf'^kind: {sys.argv[1]}$', text, re.M) and re.search(rf'^  name: {sys.argv[2]}$', text, re.M):
        print(*re.search(r'(?:args|command):\n((?: *- .*\n)+)', text).group(1).replace('- ', '').split())
PY
}
if [ -n "$helm" ]; then
    ok "the chart has no fault" "$helm" lint "$chart"
    ok "it is rendered" render
    is "in the release's namespace" "" bash -c 'grep capstan-system rendered.yaml; true'
    is "with one image" "3 capstan:0.1.0" bash -c 'sed -n "s/^ *-\{0,1\} *image: //p" rendered.yaml | tr -d "\"" | sort | uniq -c | sed "s/^ *//"'
    ok "with rules and dashboards" render --set monitoring.rules.enabled=true,monitoring.dashboards.enabled=true
    is "as they lie in deploy/monitoring" "6 2" bash -c 'for kind in ConfigMap PrometheusRule; do grep -A3 "^kind: $kind$" rendered.yaml | grep -cE "name: capstan-(dashboard|gpu$|queues$)"; done | paste -sd" "'
    ok "a dashboard is what Grafana reads" /usr/bin/python3 -c 'import json, re, textwrap; json.loads(textwrap.dedent(re.search(r"gpu-waste.json: \|-\n((?:    .*\n|\n)+)", open("rendered.yaml").read()).group(1)))'
    ok "and without" render
    says "the policies know the agent of this namespace" 'system:serviceaccount:gpus:capstan-agent' cat rendered.yaml
    c create namespace gpus >/dev/null
    ok "what it makes is accepted" c apply -f rendered.yaml
    said=$(c apply -f rendered.yaml 2>&1 | grep -v 'unchanged$')
    is "and is the same again" "" echo "$said"
    ok "installed as Helm does it" env KUBECONFIG=empty/kubeconfig "$helm" upgrade --install capstan "$chart" -n gpu2 --create-namespace --set kueueRules.enabled=false,agent.enabled=false --take-ownership --skip-crds
    said=$(KUBECONFIG=empty/kubeconfig "$helm" upgrade --install capstan "$chart" -n gpu2 --set kueueRules.enabled=false,agent.enabled=false --take-ownership --skip-crds --set driver.enabled=true 2>&1)
    says "what has no effect is said" 'WARNING: driver has no effect' echo "$said"
    ok "and taken away" env KUBECONFIG=empty/kubeconfig "$helm" uninstall capstan -n gpu2
    cat >values.yaml <<'YAML'
driver: {enabled: true, version: "535.104.12"}
toolkit: {enabled: true}
devicePlugin: {enabled: true, config: {name: time-slicing-config, default: any}}
dcgmExporter: {enabled: true, serviceMonitor: {enabled: true}}
mig: {strategy: mixed}
validator: {enabled: true}
YAML
    ok "values of the GPU operator" render -f values.yaml
    says "their ConfigMap, key and strategy" '--config-map=gpus/time-slicing-config .*--config-default=any --mig-strategy=mixed' args DaemonSet capstan-agent
    says "and a monitor" '^kind: PodMonitor' cat rendered.yaml
    is "the chart's own config is left out" 0 bash -c "grep -c 'name: device-plugin-config' rendered.yaml; true"
    ok "others" render --set image.repository=r.example.com/capstan,image.tag=9,scheduler.replicas=3,dcgmExporter.enabled=false,mps.enabled=false,migManager.enabled=false --set 'scheduler.args={--no-volcano}' \
        --set-file managerConfig.controllerManagerConfigYaml="$ROOT/examples/configuration/fair-sharing.yaml"
    is "options of the scheduler" 'scheduler --address=:8081 --config=/config/controller_manager_config.yaml --no-volcano' args Deployment capstan-scheduler
    says "no metrics of the agent" '--exporter=false' args DaemonSet capstan-agent
    is "no MPS, no layouts" "" bash -c 'grep -e --mps- -e mig-config-map rendered.yaml; true'
    is "that image" "2 r.example.com/capstan:9" bash -c 'sed -n "s/^ *-\{0,1\} *image: //p" rendered.yaml | tr -d "\"" | sort | uniq -c | sed "s/^ *//"'
    ok "scheduler's and agent's arguments are ours" c apply -f rendered.yaml --dry-run=client
    ok "no agent without a device plugin" render --set devicePlugin.enabled=false
    is "none" 0 bash -c 'grep -c "kind: DaemonSet" rendered.yaml; true'
else
    skip "the Helm chart" "helm is not installed"
fi
kill "$server"
wait "$server" 2>/dev/null
