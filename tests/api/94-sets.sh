# StatefulSet: what `kubectl get`, `describe` and `rollout` show and do. Embedded only.
if ! embedded; then
    skip "stateful sets" "needs the embedded cluster"
    return
fi
images() { k get pods -l "app=$1" --sort-by=.metadata.name -o 'jsonpath={range .items[*]}{.metadata.name}={.spec.containers[0].image} {end}'; }

# --- StatefulSet
cat >web.yaml <<'YAML'
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {clusterIP: None, selector: {app: web}, ports: [{port: 80, name: http}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  serviceName: web
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: "nginx:1", volumeMounts: [{name: data, mountPath: /data}]}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
YAML
ok "a stateful set with its service" k apply -f web.yaml
says "rolled out" 'rolling update complete 3 pods|partitioned roll out complete' k rollout status sts/web --timeout=60s
says "columns" 'web +3/3 ' k get sts web
is "pods by number" "web-0=nginx:1 web-1=nginx:1 web-2=nginx:1 " images web
is "a claim each" "data-web-0 data-web-1 data-web-2" k get pvc -o 'jsonpath={.items[*].metadata.name}'
says "describe" '3 Running / 0 Waiting' k describe sts web
ok "scale up" k scale sts web --replicas=4
soon "a fourth" '^4 4$' k get sts web -o 'jsonpath={.status.replicas} {.status.readyReplicas}'
ok "scale down" k scale sts web --replicas=2
soon "the first two are left" '^web-0=nginx:1 web-1=nginx:1 $' images web
is "claims stay" "4" bash -c "'$KUBECTL' -n '$NS' get pvc -o name | wc -l"
ok "new image" k set image sts/web c=nginx:2
says "rolled out" 'complete' k rollout status sts/web --timeout=60s
is "in every pod" "web-0=nginx:2 web-1=nginx:2 " images web
says "history" '^2 ' bash -c "'$KUBECTL' -n '$NS' rollout history sts/web | grep '^[0-9]' | tail -1"
says "one state of it" 'nginx:1' k rollout history sts/web --revision=1
says "its controller revisions" 'web-[a-z0-9]+ +(StatefulSet/web|statefulset.apps/web) +2 ' k get controllerrevisions
says "undo" 'rolled back' k rollout undo sts/web
says "rolled out" 'complete' k rollout status sts/web --timeout=60s
is "as it was" "web-0=nginx:1 web-1=nginx:1 " images web
says "undo again" 'skipped rollback|rolled back' k rollout undo sts/web --to-revision=2
says "rolled out" 'complete' k rollout status sts/web --timeout=60s
is "to the second" "web-0=nginx:2 web-1=nginx:2 " images web
ok "a partition" k patch sts web --type=merge -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":1}}}}'
ok "a canary" k set image sts/web c=nginx:3
says "rolled out so far" 'partitioned roll out complete: 1 new pods' k rollout status sts/web --timeout=60s
is "above the partition only" "web-0=nginx:2 web-1=nginx:3 " images web
ok "restart" k rollout restart sts/web
ok "no partition" k patch sts web --type=merge -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}'
says "rolled out" 'complete' k rollout status sts/web --timeout=60s
uid=$(k get pod web-1 -o 'jsonpath={.metadata.uid}')
ok "a pod is deleted" k delete pod web-1 --wait=true
soon "and comes back under its name" '^Running$' k get pod web-1 -o 'jsonpath={.status.phase}'
is "as another" "0" bash -c "'$KUBECTL' -n '$NS' get pod web-1 -o 'jsonpath={.metadata.uid}' | grep -c '$uid'"
k apply -f - >/dev/null <<'YAML'
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: web}}}
YAML
soon "a budget counts its pods" '^2 2 0$' k get pdb web -o 'jsonpath={.status.expectedPods} {.status.currentHealthy} {.status.disruptionsAllowed}'
ok "orphaned" k delete sts web --cascade=orphan
is "pods stay" "2" bash -c "'$KUBECTL' -n '$NS' get pods -l app=web -o name | wc -l"
k delete pods -l app=web --wait=false >/dev/null
