# Deleting: at once, later, with what depends on it, held by finalizers.
make() { k create cm "$1" >/dev/null; }
make a
says "one" 'configmap "a" deleted' k delete cm a
refuses "is gone" 'not found' k get cm a
refuses "twice" 'configmaps "a" not found' k delete cm a
ok "twice, ignored" k delete cm a --ignore-not-found
make b1; make b2; k label cm b1 b2 x=y >/dev/null
says "by label" 'configmap "b2" deleted' k delete cm -l x=y
make f
k patch cm f --type merge -p '{"metadata":{"finalizers":["test.io/hold"]}}' >/dev/null
says "held by a finalizer" 'deleted' k delete cm f --wait=false
says "is still there" 'deletionTimestamp' k get cm f -o yaml
k patch cm f --type json -p '[{"op":"remove","path":"/metadata/finalizers/0"}]' >/dev/null
refuses "gone with its finalizer" 'not found' k get cm f
if at_least 26; then
    make dry
    says "dry run" 'server dry run' k delete cm dry --dry-run=server
    ok "is still there after a dry run" k get cm dry
fi

owned() { # owner's name, dependent's name
    k create cm "$1" >/dev/null
    k apply -f - >/dev/null <<YAML
apiVersion: v1
kind: ConfigMap
metadata:
  name: $2
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: $1, uid: $(k get cm "$1" -o 'jsonpath={.metadata.uid}'), blockOwnerDeletion: true}]
YAML
}
owned o1 d1
ok "background" k delete cm o1
soon "its dependent goes too" '^$' k get cm d1 -o name --ignore-not-found
owned o2 d2
says "orphan" 'deleted' k delete cm o2 --cascade=orphan
soon "its dependent stays" '^$' k get cm d2 -o 'jsonpath={.metadata.ownerReferences}'
owned o3 d3
says "foreground" 'deleted' k delete cm o3 --cascade=foreground
refuses "its dependent went first" 'not found' k get cm d3

cat >pod.yaml <<YAML
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {schedulerName: nobody, containers: [{name: c, image: busybox}]}
YAML
k apply -f pod.yaml >/dev/null
says "a pod that was never bound" 'pod "p".* deleted' k delete pod p
k apply -f pod.yaml >/dev/null
says "at once" 'deleted' k delete pod p --grace-period=0 --force
"$KUBECTL" create ns "$NS-x" >/dev/null
"$KUBECTL" -n "$NS-x" create cm c >/dev/null
says "a namespace" "namespace \"$NS-x\" deleted" k delete ns "$NS-x"
refuses "with all in it" 'not found' "$KUBECTL" -n "$NS-x" get cm c
