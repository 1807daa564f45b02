# What is wrong is told, and nothing is stored.
config() { printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n%s\n' "$1"; }
if at_least 27; then
    refuses "a field that does not exist" 'unknown field "datta"' k apply -f - < <(config 'datta: {a: b}')
    refuses "nothing was stored" 'not found' k get cm c
    said=$(k apply --validate=warn -f - < <(config 'datta: {a: b}') 2>&1)
    if grep -q 'unknown field "datta"' <<<"$said"; then pass "a warning when asked for"; else miss "a warning when asked for" "$said"; fi
    ok "no word when asked for" k apply --validate=false -f - < <(config 'datta: {a: b}')
    k delete cm c >/dev/null
fi
refuses "a value of the wrong type" 'data|cannot unmarshal|expected|invalid' k create --validate=false -f - < <(config 'data: {a: {b: c}}')
refuses "broken YAML" 'error' k create -f - < <(config 'data: {a: [')
refuses "no such kind" 'no matches for kind' k create -f - <<YAML
apiVersion: v1
kind: Nothing
metadata: {name: x}
YAML
refuses "a pod without containers" 'spec.containers.*Required|equired value' k create -f - <<YAML
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: []}
YAML
refuses "a quantity that is none" 'quantit' k create -f - <<YAML
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: lots}}}]}
YAML
refuses "a negative request" 'must be greater than or equal to 0' k create -f - <<YAML
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "-1"}}}]}
YAML
refuses "a name that is too long" 'Invalid value|more than|must be' k create cm "$(printf 'x%.0s' $(seq 300))"
head -c 4000000 /dev/zero | tr '\0' 'x' >big.txt
refuses "an object that is too large" 'too large|larger than|Too long|limit' k create cm big --from-file=big.txt
is "the server is up" "ok" raw /healthz
if embedded && command -v curl >/dev/null; then
    server=$("$KUBECTL" config view --minify -o 'jsonpath={.clusters[0].cluster.server}')
    says "a foreign name" '"code":403' curl -s -H 'Host: evil.example' "$server/api/v1/pods"
    says "a foreign page" '"code":403' curl -s -H 'Origin: http://evil.example' "$server/api/v1/pods"
    says "its own name" 'PodList' curl -s "$server/api/v1/pods"
    says "broken JSON" '"code":400' curl -s -X POST -H 'Content-Type: application/json' -d '{"a":' "$server/api/v1/namespaces/$NS/configmaps"
    says "a field twice" "duplicate field" curl -s -X POST -H "Content-Type: application/json" -d "{\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":\"1\",\"a\":\"2\"}}" "$server/api/v1/namespaces/$NS/configmaps?fieldValidation=Strict"
    says "a strange type" '"code":415' curl -s -X POST -H 'Content-Type: text/csv' -d 'a,b' "$server/api/v1/namespaces/$NS/configmaps"
    says "broken protobuf" '"code":400' curl -s -X POST -H 'Content-Type: application/vnd.kubernetes.protobuf' --data-binary 'k8s' "$server/api/v1/namespaces/$NS/configmaps"
    says "a method that is none" '"code":405' curl -s -X BREW "$server/api/v1/namespaces/$NS/configmaps"
    says "no such path" '"code":404' curl -s "$server/no/such/path"
    says "watch of initial events without a version" '"code":422' curl -s "$server/api/v1/namespaces?watch=true&sendInitialEvents=true"
    is "the server is still up" "ok" raw /healthz
fi

# --- who leaves spec out leaves out all that has to be in it
while read -r version kind plural; do
    embedded || [[ $version != *.*.* ]] || continue
    refuses "a $kind without spec" 'Required value' k create -f - <<YAML
apiVersion: $version
kind: $kind
metadata: {name: none}
YAML
    is "and none is stored" "" k get "$plural" -o name
done <<'KINDS'
v1 Pod pods
batch/v1 Job jobs.batch
batch/v1 CronJob cronjobs.batch
apps/v1 Deployment deployments
apps/v1 ReplicaSet replicasets
apps/v1 StatefulSet statefulsets
apps/v1 DaemonSet daemonsets
batch.volcano.sh/v1alpha1 Job jobs.batch.volcano.sh
jobset.x-k8s.io/v1alpha2 JobSet jobsets
leaderworkerset.x-k8s.io/v1 LeaderWorkerSet leaderworkersets
trainer.kubeflow.org/v1alpha1 TrainJob trainjobs
kubeflow.org/v1 PyTorchJob pytorchjobs
kubeflow.org/v1 TFJob tfjobs
kubeflow.org/v1 XGBoostJob xgboostjobs
kubeflow.org/v1 JAXJob jaxjobs
kubeflow.org/v1 PaddleJob paddlejobs
kubeflow.org/v2beta1 MPIJob mpijobs
KINDS
refuses "a CronJob whose jobs have no spec" 'spec.jobTemplate.spec.template: Required value' k create -f - <<YAML
apiVersion: batch/v1
kind: CronJob
metadata: {name: none}
spec: {schedule: "0 3 * * *", jobTemplate: {}}
YAML
is "the server is up after these, too" "ok" raw /healthz

# --- less of each object: ?fields=
if embedded; then
    says "a list with less" '"items":\[\{"metadata":\{"name":"[^"]*"\},"status":\{"phase":"[A-Za-z]*"\}\}\]' raw "/api/v1/namespaces?limit=1&fields=metadata(name),status(phase)"
    refuses "brackets that do not close" 'fields: a bracket is not closed; write names between commas' raw "/api/v1/namespaces?fields=metadata(name"
    head -c 700000 /dev/zero | tr '\0' x >"$HOME/large"
    for i in 1 2; do k create configmap "large-$i" --from-file="data=$HOME/large" >/dev/null; done
    is "a list that is sent in parts has as little" '{"name":"large-1"} {"name":"large-2"}' \
        bash -c '"$0" get --raw "$1" | grep -o "{\"name\":\"large[^}]*}" | tr "\n" " " | sed "s/ $//"' "$KUBECTL" "/api/v1/namespaces/$NS/configmaps?fields=metadata(name)"
    k delete configmap large-1 large-2 >/dev/null
    says "a table has its own" '"kind":"Table"' bash -c 'curl -s -H "Accept: application/json;as=Table;v=v1;g=meta.k8s.io" "$("$0" config view --raw -o "jsonpath={.clusters[0].cluster.server}")/api/v1/namespaces?fields=metadata(name)"' "$KUBECTL"
fi
