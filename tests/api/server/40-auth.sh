# Who may what.
says "can-i" '^yes' k auth can-i create pods
says "can-i a subresource" '^yes' k auth can-i get pods --subresource=log
says "can-i a custom kind" '^(yes|no)' bash -c '"$0" auth can-i list jobs.batch || true' "$KUBECTL"
says "can-i list" 'Resources' k auth can-i --list
if at_least 28; then
    says "whoami" 'Username' k auth whoami
    embedded && says "whoami as another" 'anna' k auth whoami --as=anna
fi
says "reconcile" 'reconciled' k auth reconcile -f - <<YAML
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r, namespace: $NS}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
YAML
says "a role that adds to another" 'created' k create -f - <<YAML
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: adds-$NS, labels: {rbac.authorization.k8s.io/aggregate-to-view: "true"}}
rules: [{apiGroups: ["$NS.io"], resources: [widgets], verbs: [get]}]
YAML
soon "view has its rules" "$NS.io" k get clusterrole view -o yaml
soon "and so has admin" "$NS.io" k get clusterrole admin -o yaml
ok "clean up" k delete clusterrole "adds-$NS"
