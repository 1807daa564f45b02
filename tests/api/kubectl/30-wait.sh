# wait: for conditions, fields and ends.
cat >pod.yaml <<YAML
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {schedulerName: nobody, containers: [{name: c, image: busybox}]}
YAML
k apply -f pod.yaml >/dev/null
later() { (sleep 0.7; "$@") >/dev/null 2>&1 & }
set_status() { k patch pod p --subresource=status --type merge -p "$1"; }
if at_least 24; then
    later set_status '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}'
    says "condition" 'condition met' k wait pod/p --for=condition=Ready --timeout=60s
    says "condition that holds already" 'condition met' k wait pod/p --for=condition=Ready --timeout=60s
    later set_status '{"status":{"message":"here"}}'
    says "field" 'condition met' k wait pod/p --for=jsonpath='{.status.message}'=here --timeout=60s
    says "several" 'condition met' k wait pods --all --for=condition=Ready --timeout=60s
fi
refuses "in vain" 'timed out' k wait pod/p --for=condition=Never --timeout=1s
# The pod goes when kubectl has seen it: of a pod that is gone already kubectl says nothing.
k wait pod/p --for=delete --timeout=60s -v=6 >deletion.txt 2>&1 &
waiter=$!
soon "a wait for deletion looks at the pod" 'pods/p.*200 OK' cat deletion.txt
k delete pod p >/dev/null
wait $waiter
says "deletion" 'condition met' cat deletion.txt
refuses "of what is absent" 'not found' k wait pod/p --for=condition=Ready --timeout=1s
if at_least 31; then
    later k create cm born
    says "creation" 'condition met' k wait cm/born --for=create --timeout=60s
fi
