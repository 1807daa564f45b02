# Client-side apply: create, change, nothing to do, fields that are no longer named.
cat >one.yaml <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {name: c, labels: {a: "1"}}
data: {x: "1", y: "2"}
YAML
says "create" 'configmap/c created' k apply -f one.yaml
says "unchanged" 'configmap/c unchanged' k apply -f one.yaml
sed -i 's/y: "2"/z: "3"/' one.yaml
says "change" 'configmap/c configured' k apply -f one.yaml
is "a field no longer named is gone" '{"x":"1","z":"3"}' k get cm c -o 'jsonpath={.data}'
ok "another client adds a field" k patch cm c --type merge -p '{"data":{"mine":"m"}}'
says "apply again" 'configmap/c (configured|unchanged)' k apply -f one.yaml
is "the other's field stays" "m" k get cm c -o 'jsonpath={.data.mine}'
says "last applied is kept" 'kind: ConfigMap' k apply view-last-applied cm/c

cat >pod.yaml <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: 0
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec:
      containers:
      - {name: main, image: "busybox:1", env: [{name: A, value: "1"}, {name: B, value: "2"}], ports: [{containerPort: 80}]}
      - {name: side, image: "busybox:1"}
YAML
says "deployment" 'created' k apply -f pod.yaml
sed -i -e 's/, {name: B, value: "2"}/, {name: C, value: "3"}/' -e 's/{name: main, image: "busybox:1"/{name: main, image: "busybox:2"/' pod.yaml
says "strategic merge" 'configured' k apply -f pod.yaml
is "env merged by name" "A=1 C=3 " k get deployment d -o 'jsonpath={range .spec.template.spec.containers[0].env[*]}{.name}={.value} {end}'
is "the other container stays" "busybox:2 busybox:1" k get deployment d -o 'jsonpath={.spec.template.spec.containers[*].image}'
is "generation counts" "2" k get deployment d -o 'jsonpath={.metadata.generation}'
says "several documents" 'configmap/k2 created' k apply -f - <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {name: k1}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: k2}
YAML
says "a list" 'configmap/l1 created' k apply -f - <<YAML
apiVersion: v1
kind: List
items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: l1}}]
YAML
sed -i 's/z: "3"/z: "4"/' one.yaml
if at_least 27; then
    says "server dry run" 'configured \(server dry run\)' k apply -f one.yaml --dry-run=server
    is "changes nothing" "3" k get cm c -o 'jsonpath={.data.z}'
    said=$(k diff -f one.yaml 2>&1)
    if grep -q '^+  z: "4"' <<<"$said"; then pass "diff"; else miss "diff" "$said"; fi
fi
says "client dry run" 'dry run' k apply -f one.yaml --dry-run=client
refuses "generateName" 'cannot use generate name' k apply -f - <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {generateName: g-}
YAML
if at_least 25; then # older ones look for batch/v1beta1 too
k apply -f - >/dev/null <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {name: old, labels: {prune: me}}
YAML
says "prune" 'configmap/old pruned' k apply --prune -l prune=me -f - <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {name: new, labels: {prune: me}}
YAML
fi
mkdir -p kustom && cp one.yaml kustom/ && printf 'resources: [one.yaml]\nnamePrefix: pre-\n' >kustom/kustomization.yaml
says "kustomize" 'configmap/pre-c created' k apply -k kustom

# Who creates a pod owns what he wrote and its defaults, and nothing that the server puts there by itself.
cat >owned.yaml <<YAML
apiVersion: v1
kind: Pod
metadata: {name: owned}
spec:
  nodeSelector: {no: such}
  containers: [{name: main, image: "busybox:1"}]
YAML
owned() { k get pod "$1" --show-managed-fields -o 'jsonpath={.metadata.managedFields[?(@.manager=="kubectl-create")].fieldsV1}'; }
count() { owned "$1" | grep -oE "\"f:($2)\"" | wc -l; } # POD FIELDS: how many of these the creator owns
ok "a pod" k create -f owned.yaml
is "its defaults are the creator's" 3 count owned 'dnsPolicy|enableServiceLinks|imagePullPolicy'
is "what the server puts there is nobody's" 0 count owned 'tolerations|priority|preemptionPolicy|serviceAccount|serviceAccountName|status'
is "and it is there" 'default BestEffort 0' k get pod owned -o 'jsonpath={.spec.serviceAccountName} {.status.qosClass} {.spec.priority}'
sed -e 's/name: owned/name: tolerant/' -e 's/nodeSelector: .*/tolerations: [{key: a, operator: Exists}]/' owned.yaml >tolerant.yaml
ok "a pod with tolerations" k create -f tolerant.yaml
is "tolerations that are written are owned" 1 count tolerant tolerations
