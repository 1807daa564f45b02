# Controllers' kinds: scale, rollout, run, expose, autoscale. Replicas are only looked at where pods can run.
k create deployment d --image=busybox:1 --replicas=0 >/dev/null
says "scale" 'scaled' k scale deployment d --replicas=2
is "replicas" "2" k get deployment d -o 'jsonpath={.spec.replicas}'
says "scale from what it is" 'scaled' k scale deployment d --replicas=1 --current-replicas=2
refuses "scale from what it is not" 'xpected replicas to be 7, was 1' k scale deployment d --replicas=3 --current-replicas=7
refuses "fewer than none" 'invalid|required|positive|must be' k scale deployment d --replicas=-1
says "raw scale" '"selector":"app=d"' raw "/apis/apps/v1/namespaces/$NS/deployments/d/scale"
cat >sts.yaml <<YAML
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: st}
spec:
  serviceName: st
  replicas: 0
  selector: {matchLabels: {app: st}}
  template: {metadata: {labels: {app: st}}, spec: {containers: [{name: c, image: busybox}]}}
YAML
k apply -f sts.yaml >/dev/null
says "scale a stateful set" 'scaled' k scale sts st --replicas=0
says "expose" 'exposed' k expose deployment d --port=80
is "exposed port" "80" k get service d -o 'jsonpath={.spec.ports[0].port}'
says "autoscale" 'autoscaled' k autoscale deployment d --max=3
says "pause" 'paused' k rollout pause deployment d
says "resume" 'resumed' k rollout resume deployment d
says "restart" 'restarted' k rollout restart deployment d
says "run" 'pod/r created' k run r --image=busybox --restart=Never --command -- true
is "run's command" '["true"]' k get pod r -o 'jsonpath={.spec.containers[0].command}'
if embedded && [ "$(k get nodes -o name | head -1)" ]; then
    ok "rollout status" k rollout status deployment d --timeout=60s
    k set image deployment/d busybox=busybox:2 >/dev/null
    ok "rollout status after a change" k rollout status deployment d --timeout=60s
    says "history" '^2|^3' k rollout history deployment d
    says "undo" 'rolled back' k rollout undo deployment d
    soon "undone" '^busybox:1$' k get deployment d -o 'jsonpath={.spec.template.spec.containers[0].image}'
else
    skip "rollout status" "no nodes to run pods on"
fi
cat >rc.yaml <<YAML
apiVersion: v1
kind: ReplicationController
metadata: {name: rc}
spec: {replicas: 2, template: {metadata: {labels: {app: rc}}, spec: {containers: [{name: c, image: nginx}]}}}
YAML
says "replication controller" 'rc created' k create -f rc.yaml
if embedded && [ "$(k get nodes -o name | head -1)" ]; then
    soon "its pods" '^2 2$' k get rc rc -o 'jsonpath={.status.replicas} {.status.readyReplicas}'
    says "scale it" 'scaled' k scale rc rc --replicas=1
    soon "fewer pods" '^1$' k get rc rc -o 'jsonpath={.status.replicas}'
fi
says "delete it" 'deleted' k delete rc rc
