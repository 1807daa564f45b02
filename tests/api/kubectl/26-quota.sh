# ResourceQuota and LimitRange: counted, refused in Kubernetes' words, filled in.
gpu_pod() { # NAME GPUS
    "$KUBECTL" -n "$NS" create -f - <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  schedulerName: nobody
  containers: [{name: c, image: busybox, resources: {limits: {nvidia.com/gpu: $2}}}]
YAML
}
says "quota" 'resourcequota/gpus created' k create quota gpus --hard=requests.nvidia.com/gpu=4,pods=3
soon "counted" '"pods":"0"' k get quota gpus -o 'jsonpath={.status.used}'
says "a pod within it" 'created' gpu_pod one 3
refuses "one GPU too many" 'pods "two" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=2, used: requests.nvidia.com/gpu=3, limited: requests.nvidia.com/gpu=4' gpu_pod two 2
soon "described" 'requests.nvidia.com/gpu +3 +4' k describe quota gpus
ok "a pod goes" k delete pod one --wait=false
soon "its GPUs are free" '"requests.nvidia.com/gpu":"0"' k get quota gpus -o 'jsonpath={.status.used}'
says "for another" 'created' gpu_pod two 2
ok "without quota" k delete quota gpus
says "limit range" 'created' k create -f - <<YAML
apiVersion: v1
kind: LimitRange
metadata: {name: sizes}
spec:
  limits: [{type: Container, max: {cpu: 2}, default: {cpu: 500m}, defaultRequest: {cpu: 100m}}]
YAML
says "described" 'Container +cpu +- +2 +100m +500m' k describe limitrange sizes
says "a pod that says nothing" 'created' gpu_pod three 1
is "has the default request" "100m" k get pod three -o 'jsonpath={.spec.containers[0].resources.requests.cpu}'
is "and limit" "500m" k get pod three -o 'jsonpath={.spec.containers[0].resources.limits.cpu}'
big() {
    "$KUBECTL" -n "$NS" create -f - <<YAML
apiVersion: v1
kind: Pod
metadata: {name: big}
spec:
  containers: [{name: c, image: busybox, resources: {limits: {cpu: 3}}}]
YAML
}
refuses "a pod beyond it" 'maximum cpu usage per Container is 2, but limit is 3' big
