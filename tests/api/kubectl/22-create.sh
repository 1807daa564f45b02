# kubectl create: newer versions send protobuf.
says "config map" 'configmap/c created' k create cm c --from-literal=a=1 --from-literal=b=2
is "with its data" '{"a":"1","b":"2"}' k get cm c -o 'jsonpath={.data}'
refuses "twice" 'configmaps "c" already exists' k create cm c
says "secret" 'secret/s created' k create secret generic s --from-literal=password=geheim
is "in base64" "Z2VoZWlt" k get secret s -o 'jsonpath={.data.password}'
says "lines of base64, as they are pasted" 'secret/lines created' k apply -f - <<'YAML'
apiVersion: v1
kind: Secret
metadata: {name: lines}
data:
  password: |
    Z2Vo
    ZWlt
YAML
is "are one" "Z2VoZWlt" k get secret lines -o 'jsonpath={.data.password}'
says "service account" 'serviceaccount/robot created' k create sa robot
says "job" 'job.batch/j created' k create job j --image=busybox -- sleep 1
is "job's command" '["sleep","1"]' k get job j -o 'jsonpath={.spec.template.spec.containers[0].command}'
says "deployment" 'deployment.apps/d created' k create deployment d --image=busybox --replicas=0
says "service" 'service/svc created' k create service clusterip svc --tcp=80:8080
is "service's port" "8080" k get service svc -o 'jsonpath={.spec.ports[0].targetPort}'
says "node port" 'service/np created' k create service nodeport np --tcp=80
says "headless" 'service/hl created' k create service clusterip hl --clusterip=None
says "role" 'role.rbac.authorization.k8s.io/r created' k create role r --verb=get,list --resource=pods
says "role binding" 'created' k create rolebinding rb --role=r --serviceaccount="$NS:robot"
says "cluster role" 'created' k create clusterrole "cr-$NS" --verb=get --resource=nodes
says "cluster role binding" 'created' k create clusterrolebinding "crb-$NS" --clusterrole="cr-$NS" --user=anna
says "priority class" 'created' k create priorityclass "pc-$NS" --value=1000 --description=test
is "its value" "1000" k get priorityclass "pc-$NS" -o 'jsonpath={.value}'
says "quota" 'resourcequota/q created' k create quota q --hard=pods=5,cpu=2
if at_least 21; then
    says "disruption budget" 'created' k create pdb b --selector=app=x --min-available=1
    says "ingress" 'created' k create ingress i --rule=a.example/=svc:80
fi
if at_least 24; then
    says "token" '.{20,}' k create token robot
    refuses "token of nobody" 'serviceaccounts "nobody" not found' k create token nobody
fi
says "from a file" 'configmap/f created' k create -f - <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {name: f}
YAML
says "generated name" 'configmap/g-[a-z0-9]{5} created' k create -f - <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {generateName: g-}
YAML
says "yaml without sending" 'kind: ConfigMap' k create cm dry --dry-run=client -o yaml
refuses "in a namespace that is absent" 'namespaces "nope" not found' "$KUBECTL" -n nope create cm c
refuses "a bad name" 'Invalid value|invalid' k create cm Bad_Name
says "columns of roles" 'CREATED AT' k get role r
says "columns of bindings" 'Role/r' k get rolebinding rb
says "columns of the quota" 'pods: 0/5|pods: ./5' k get quota q
says "columns of services" '^svc +ClusterIP .* 80/TCP' k get service svc
if at_least 21; then # older ones know only batch/v1beta1
    says "cron job" 'cronjob.batch/cj created' k create cronjob cj --image=busybox --schedule='0 3 * * *' -- date
    says "job from cron job" 'job.batch/from created' k create job from --from=cronjob/cj
    says "columns of cron jobs" '^cj +0 3 ' k get cronjob cj
fi
ok "clean up" k delete clusterrole/"cr-$NS" clusterrolebinding/"crb-$NS" priorityclass/"pc-$NS"
