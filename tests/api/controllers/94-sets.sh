# StatefulSet and DaemonSet: what `kubectl get`, `describe`, `rollout` and `drain` show and do. Embedded only.
if ! embedded; then
    skip "stateful and daemon sets" "needs the embedded cluster"
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
ok "as another" bash -c "! '$KUBECTL' -n '$NS' get pod web-1 -o 'jsonpath={.metadata.uid}' | grep -q '$uid'"
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

# --- DaemonSet
nodes=$(k get nodes -o name | wc -l)
k apply -f - >/dev/null <<'YAML'
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {tolerations: [{operator: Exists}], containers: [{name: c, image: "busybox:1"}]}
YAML
says "rolled out" 'successfully rolled out' k rollout status ds/agent --timeout=60s
says "columns" "agent +$nodes +$nodes +$nodes +$nodes +$nodes " k get ds agent
is "a pod a node" "$nodes" bash -c "'$KUBECTL' -n '$NS' get pods -l app=agent -o 'jsonpath={range .items[*]}{.spec.nodeName}{\"\\n\"}{end}' | sort -u | wc -l"
says "describe" "Desired Number of Nodes Scheduled: $nodes" k describe ds agent
ok "new image" k set image ds/agent c=busybox:2
says "rolled out one by one" 'successfully rolled out' k rollout status ds/agent --timeout=120s
is "in every pod" "$nodes" bash -c "'$KUBECTL' -n '$NS' get pods -l app=agent -o 'jsonpath={range .items[*]}{.spec.containers[0].image}{\"\\n\"}{end}' | grep -c busybox:2"
says "history" '^2 ' bash -c "'$KUBECTL' -n '$NS' rollout history ds/agent | grep '^[0-9]' | tail -1"
ok "faster" k patch ds agent --type=merge -p '{"spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":"100%"}}}}'
says "undo" 'rolled back' k rollout undo ds/agent
says "rolled out" 'successfully rolled out' k rollout status ds/agent --timeout=60s
says "as it was" '^(busybox:1 )+$' k get pods -l app=agent -o 'jsonpath={range .items[*]}{.spec.containers[0].image} {end}'
ok "on one node only" k patch ds agent --type=merge -p '{"spec":{"template":{"spec":{"nodeSelector":{"kubernetes.io/hostname":"cpu-0"}}}}}'
soon "one pod" '^1 1$' k get ds agent -o 'jsonpath={.status.desiredNumberScheduled} {.status.numberReady}'
soon "there" '^cpu-0$' k get pods -l app=agent -o 'jsonpath={.items[*].spec.nodeName}'
node=node-$NS
"$KUBECTL" get node t4-3 -o json | sed "s/t4-3/$node/g" >node.json
ok "a node more" k create -f node.json
ok "to which it goes" k patch ds agent --type=merge -p '{"spec":{"template":{"spec":{"nodeSelector":{"kubernetes.io/hostname":"'"$node"'"}}}}}'
soon "it runs" "^$node Running\$" k get pods -l app=agent -o 'jsonpath={.items[*].spec.nodeName} {.items[*].status.phase}'
refuses "drain names it" 'DaemonSet-managed' k drain "$node"
says "drain leaves it" 'ignoring DaemonSet-managed|ignoring daemonset' k drain "$node" --ignore-daemonsets
soon "it stays on the cordoned node" "^$node Running\$" k get pods -l app=agent -o 'jsonpath={.items[*].spec.nodeName} {.items[*].status.phase}'
"$KUBECTL" delete node "$node" >/dev/null
soon "nothing is wanted without the node" '^0 0$' k get ds agent -o 'jsonpath={.status.desiredNumberScheduled} {.status.currentNumberScheduled}'
ok "delete" k delete ds agent
soon "cascades" '^$' k get controllerrevisions,pods -l app=agent -o name
