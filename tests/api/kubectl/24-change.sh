# Changing: patch in three forms, edit, label, annotate, replace, set.
k create cm c --from-literal=a=1 >/dev/null
says "merge patch" 'patched' k patch cm c --type merge -p '{"data":{"b":"2"}}'
says "json patch" 'patched' k patch cm c --type json -p '[{"op":"add","path":"/data/c","value":"3"},{"op":"test","path":"/data/a","value":"1"}]'
refuses "json patch whose test fails" 'the server rejected our request|test|invalid' k patch cm c --type json -p '[{"op":"test","path":"/data/a","value":"9"}]'
says "strategic patch" 'patched' k patch cm c -p '{"data":{"d":"4"}}'
is "all of them" '{"a":"1","b":"2","c":"3","d":"4"}' k get cm c -o 'jsonpath={.data}'
says "nothing to change" 'patched \(no change\)' k patch cm c -p '{"data":{"d":"4"}}'
rv=$(k get cm c -o 'jsonpath={.metadata.resourceVersion}')
k patch cm c -p '{"data":{"d":"4"}}' >/dev/null
is "writes nothing" "$rv" k get cm c -o 'jsonpath={.metadata.resourceVersion}'
refuses "stale resourceVersion" 'the object has been modified' k patch cm c --type merge -p '{"metadata":{"resourceVersion":"1"},"data":{"e":"5"}}'
says "label" 'labeled' k label cm c x=1
refuses "label that is there" 'already has a value|overwrite is false' k label cm c x=2
says "label, overwrite" 'labeled' k label cm c x=2 --overwrite
says "label, remove" 'configmap/c (unlabeled|labeled)' k label cm c x-
says "annotate" 'annotate' k annotate cm c note=hello
is "annotation" "hello" k get cm c -o 'jsonpath={.metadata.annotations.note}'
cat >edit.sh <<'SH'
#!/bin/sh
sed -i 's/  a: "1"/  a: edited/' "$1"
SH
chmod +x edit.sh
says "edit" 'edited' env EDITOR=./edit.sh "$KUBECTL" -n "$NS" edit cm c
is "edited value" "edited" k get cm c -o 'jsonpath={.data.a}'
k get cm c -o yaml | sed 's/a: edited/a: replaced/' >c.yaml
says "replace" 'replaced' k replace -f c.yaml
refuses "replace from an old copy" 'the object has been modified|Conflict' k replace -f c.yaml
says "replace by force" 'replaced' bash -c 'sed -i "/resourceVersion/d;/uid/d" c.yaml; "$0" -n "$1" replace --force -f c.yaml' "$KUBECTL" "$NS"
k create deployment d --image=busybox:1 --replicas=0 >/dev/null
says "set image" 'image updated' k set image deployment/d busybox=busybox:2
says "set env" 'env updated' k set env deployment/d A=1
says "set resources" 'resource requirements updated' k set resources deployment/d --requests=cpu=100m
is "image and env" "busybox:2 1" k get deployment d -o 'jsonpath={.spec.template.spec.containers[0].image} {.spec.template.spec.containers[0].env[0].value}'
says "list element taken out by key" 'patched' k patch deployment d -p '{"spec":{"template":{"spec":{"containers":[{"name":"busybox","env":[{"name":"A","$patch":"delete"}]}]}}}}'
says "it is out" "^(\[\])?$" k get deployment d -o 'jsonpath={.spec.template.spec.containers[0].env}'
if at_least 24; then
    says "status by itself" 'patched' k patch deployment d --subresource=status --type merge -p '{"status":{"replicas":7},"spec":{"replicas":9}}'
    is "spec stays" "0" k get deployment d -o 'jsonpath={.spec.replicas}'
    says "get of a subresource" '^d ' k get deployment d --subresource=scale
fi
if embedded; then
    k apply -f - >/dev/null <<YAML
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: f-$NS}
spec: {nodeLabels: {a: b}}
YAML
    refuses "strategic patch of a custom kind" '415|UnsupportedMediaType|media type' k patch resourceflavor "f-$NS" --type strategic -p '{"spec":{}}'
    says "merge patch of a custom kind" 'patched' k patch resourceflavor "f-$NS" --type merge -p '{"spec":{"nodeLabels":{"c":"d"}}}'
    k delete resourceflavor "f-$NS" >/dev/null
fi
