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
    says "condition" 'condition met' k wait pod/p --for=condition=Ready --timeout=10s
    says "condition that holds already" 'condition met' k wait pod/p --for=condition=Ready --timeout=10s
    later set_status '{"status":{"message":"here"}}'
    says "field" 'condition met' k wait pod/p --for=jsonpath='{.status.message}'=here --timeout=10s
    says "several" 'condition met' k wait pods --all --for=condition=Ready --timeout=10s
fi
refuses "in vain" 'timed out' k wait pod/p --for=condition=Never --timeout=1s
later k delete pod p
says "deletion" 'condition met' k wait pod/p --for=delete --timeout=10s
refuses "of what is absent" 'not found' k wait pod/p --for=condition=Ready --timeout=1s
if at_least 31; then
    later k create cm born
    says "creation" 'condition met' k wait cm/born --for=create --timeout=10s
fi
