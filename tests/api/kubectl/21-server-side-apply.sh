# Server-side apply: fields have owners.
if ! at_least 22; then
    skip "server-side apply" "this kubectl needs OpenAPI v2 for it"
    return
fi
manifest() {
    cat <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {name: $1}
data: {$2}
YAML
}
apply_as() { local manager=$1; shift; k apply --server-side --field-manager="$manager" "$@" -f -; }
says "create" 'configmap/c serverside-applied' apply_as one < <(manifest c 'a: "1", b: "1"')
says "again" 'serverside-applied' apply_as one < <(manifest c 'a: "1", b: "1"')
says "a second manager adds its own" 'serverside-applied' apply_as two < <(manifest c 'd: "2"')
refuses "a second manager may not change the first one's" 'conflict with "one".*|\.data\.a' apply_as two < <(manifest c 'a: "2", d: "2"')
says "the same value is no conflict" 'serverside-applied' apply_as two < <(manifest c 'b: "1", d: "2"')
says "force" 'serverside-applied' apply_as two --force-conflicts < <(manifest c 'a: "2", d: "2"')
is "forced value" "2" k get cm c -o 'jsonpath={.data.a}'
refuses "now the first one conflicts" 'conflict with "two"' apply_as one < <(manifest c 'a: "1", b: "1"')
says "giving a field up" 'serverside-applied' apply_as one < <(manifest c 'x: "9"')
is "removes what nobody else has" "" k get cm c -o 'jsonpath={.data.b}'
is "keeps what another has" "2" k get cm c -o 'jsonpath={.data.a}'
says "managers are shown" 'manager: two' k get cm c -o yaml --show-managed-fields
says "client-side apply first" 'created' k apply -f - < <(manifest m 'a: "1"')
says "then server-side" 'serverside-applied' k apply --server-side -f - < <(manifest m 'a: "2"')
is "took over" "2" k get cm m -o 'jsonpath={.data.a}'
says "on a list with keys" 'serverside-applied' apply_as one <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: 0
  selector: {matchLabels: {app: d}}
  template: {metadata: {labels: {app: d}}, spec: {containers: [{name: c, image: busybox}]}}
YAML
says "another container by another manager" 'serverside-applied' apply_as two <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec: {template: {spec: {containers: [{name: e, image: alpine}]}}}
YAML
is "both are there" "busybox alpine" k get deployment d -o 'jsonpath={.spec.template.spec.containers[*].image}'
says "dry run" 'serverside-applied \(server dry run\)' apply_as one --dry-run=server < <(manifest dry 'a: "1"')
refuses "stored nothing" 'not found' k get cm dry
