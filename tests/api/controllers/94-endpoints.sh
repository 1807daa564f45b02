# Endpoints and EndpointSlices: what `kubectl get` and `describe` show of the pods of a Service. Embedded only.
if ! embedded; then
    skip "endpoints" "needs the embedded cluster"
    return
fi
addresses() { k get endpoints "$1" -o 'jsonpath={range .subsets[*]}{range .addresses[*]}{.targetRef.name} {end}{end}'; }

k create deployment web --image=nginx:1 --replicas=3 --port=8080 >/dev/null
says "exposed" 'exposed' k expose deployment web --port=80 --target-port=8080
ok "the pods run" k rollout status deployment/web --timeout=60s
soon "three addresses" '^3$' bash -c "'$KUBECTL' -n '$NS' get endpoints web -o 'jsonpath={.subsets[0].addresses[*].ip}' | wc -w"
is "at the pods' port" "8080 TCP" k get endpoints web -o 'jsonpath={.subsets[0].ports[0].port} {.subsets[0].ports[0].protocol}'
says "columns" 'web +10\.[0-9.]+:8080,10\.[0-9.]+:8080,10\.[0-9.]+:8080 ' k get endpoints web
says "describe" 'Endpoints: +10\.[0-9.]+:8080,10\.[0-9.]+:8080,10\.[0-9.]+:8080' k describe service web
says "slice" 'IPv4 +8080 +10\.' k get endpointslices -l kubernetes.io/service-name=web
is "the slice belongs to the service" "Service web true" k get endpointslices -l kubernetes.io/service-name=web -o 'jsonpath={.items[0].metadata.ownerReferences[0].kind} {.items[0].metadata.ownerReferences[0].name} {.items[0].metadata.ownerReferences[0].controller}'
is "all are ready" "true true true" k get endpointslices -l kubernetes.io/service-name=web -o 'jsonpath={.items[0].endpoints[*].conditions.ready}'
ok "scale" k scale deployment web --replicas=1
soon "one is left" '^1$' bash -c "'$KUBECTL' -n '$NS' get endpoints web -o 'jsonpath={.subsets[0].addresses[*].ip}' | wc -w"
soon "the others are gone" '^1$' bash -c "'$KUBECTL' -n '$NS' get pods -l app=web --no-headers | wc -l"
is "it is the pod's" "$(k get pods -l app=web -o 'jsonpath={.items[0].status.podIP}')" k get endpoints web -o 'jsonpath={.subsets[0].addresses[0].ip}'

k apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Service
metadata: {name: ranks}
spec: {clusterIP: None, selector: {job-name: ranks}}
---
apiVersion: v1
kind: Service
metadata: {name: mine}
spec: {ports: [{port: 80}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: ranks}
spec:
  completions: 2
  parallelism: 2
  completionMode: Indexed
  template:
    metadata: {annotations: {capstan.dev/run-seconds: "600"}}
    spec: {subdomain: ranks, restartPolicy: Never, containers: [{name: c, image: "busybox:1"}]}
YAML
soon "a headless service names the hosts of a job" '^ranks-0 ranks-1 $' k get endpoints ranks -o 'jsonpath={range .subsets[0].addresses[*]}{.hostname} {end}'
says "they are shown without a port" 'ranks +10\.[0-9.]+,10\.[0-9.]+ ' k get endpoints ranks
says "endpoints without a selector are the user's" 'NotFound' bash -c "'$KUBECTL' -n '$NS' get endpoints mine 2>&1 | cat"
k apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Endpoints
metadata: {name: mine}
subsets: [{addresses: [{ip: 192.0.2.1}], ports: [{port: 80}]}]
YAML
soon "and have a slice, too" '^192\.0\.2\.1 Endpoints mine$' k get endpointslices -l kubernetes.io/service-name=mine -o 'jsonpath={.items[0].endpoints[*].addresses[0]} {.items[0].metadata.ownerReferences[0].kind} {.items[0].metadata.ownerReferences[0].name}'
ok "the job ends" k delete job ranks
soon "and its addresses" '^$' addresses ranks
is "the user's stay" "192.0.2.1" k get endpoints mine -o 'jsonpath={.subsets[0].addresses[0].ip}'
ok "the services go" k delete service web ranks
soon "with endpoints and slices" '^endpoints/mine$' bash -c "echo \$('$KUBECTL' -n '$NS' get endpoints,endpointslices -o name | grep -v slice.*/mine | sort)"
k delete deployment web --wait=false >/dev/null

soon "the API server's own address" '^[0-9]+ 127\.0\.0\.1$' "$KUBECTL" -n default get endpoints kubernetes -o 'jsonpath={.subsets[0].ports[0].port} {.subsets[0].addresses[0].ip}'
port=${said%% *}
says "is where kubectl goes" ":$port\$" "$KUBECTL" config view --minify -o 'jsonpath={.clusters[0].cluster.server}'
soon "in a slice, too" "^$port\$" "$KUBECTL" -n default get endpointslices -l kubernetes.io/service-name=kubernetes -o 'jsonpath={.items[0].ports[0].port}'
