# Reading: one, many, by label and field, in every output form.
for i in 1 2 3 4 5; do
    cat <<YAML
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c$i, labels: {num: "$i", parity: "$((i % 2))"}}
data: {key: "value $i", other: "$((9 - i))"}
YAML
done >maps.yaml
ok "apply five" k apply -f maps.yaml
says "table" '^c1 +2 +[0-9]+s' k get cm
says "wide" '^c1 ' k get cm c1 -o wide
says "no headers" '^c3 ' k get cm c3 --no-headers
is "name" "configmap/c1" k get cm c1 -o name
is "jsonpath" "value 2" k get cm c2 -o 'jsonpath={.data.key}'
says "yaml" '^  key: value 1$' k get cm c1 -o yaml
says "json" '"kind": "ConfigMap"' k get cm c1 -o json
says "list as json" '"kind": "List"' k get cm -o json
is "label equal" "configmap/c1
configmap/c3
configmap/c5" k get cm -l parity=1 -o name
is "label sets" "configmap/c2
configmap/c4" k get cm -l 'num in (2,4),parity!=1' -o name
is "label absent" "" k get cm -l '!num,parity' -o name
is "field selector" "configmap/c4" k get cm --field-selector metadata.name=c4 -o name
says "sorted by a field" '^NAME.*c5.*c4.*c3.*c2.*c1' bash -c '"$0" -n "$1" get cm -l num --sort-by=.data.other | tr "\n" " "' "$KUBECTL" "$NS"
is "in chunks" "5" bash -c '"$0" -n "$1" get cm -l num --chunk-size=2 -o name | wc -l | tr -d " "' "$KUBECTL" "$NS"
says "all namespaces" "^$NS +c1 " k get cm -A
says "show labels" 'num=1,parity=1' k get cm c1 --show-labels
says "label column" '^c1 .* 1$' k get cm c1 -L num
says "custom columns" '^value 1' k get cm c1 -o custom-columns=KEY:.data.key --no-headers
says "several kinds" 'configmap/c1' k get cm,sa,secret -o name
ok "all" k get all
refuses "one that is absent" 'configmaps "nope" not found' k get cm nope
refuses "a field that is not supported" 'field label not supported' k get pods --field-selector spec.foo=1
says "none" 'No resources found' k get pods
says "raw list" '"kind":"ConfigMapList"' raw "/api/v1/namespaces/$NS/configmaps"
says "raw page" '"continue":"' raw "/api/v1/namespaces/$NS/configmaps?limit=2"

# Watching: the first lines are what is there, then changes.
timeout 120 "$KUBECTL" -n "$NS" get cm -l num -w --no-headers >watch.txt 2>&1 &
watcher=$!
timeout 120 "$KUBECTL" -n "$NS" get cm c1 -w -o 'jsonpath={.data.key}{"\n"}' >watch-one.txt 2>&1 &
one=$!
soon "watch shows what is there" '^c3 ' cat watch.txt
soon "watch one shows what is there" '^value 1$' cat watch-one.txt
k patch cm c1 --type merge -p '{"data":{"key":"changed"}}' >/dev/null
k delete cm c5 >/dev/null
k label cm c4 num- >/dev/null
soon "watch one shows the change" '^changed$' cat watch-one.txt
soon "watch shows the change" '^2$' grep -c '^c1 ' watch.txt
kill $watcher $one 2>/dev/null
wait $watcher $one 2>/dev/null
if at_least 21; then
    timeout 120 "$KUBECTL" -n "$NS" get cm -l parity -w --output-watch-events --no-headers >events.txt 2>&1 &
    watcher=$!
    soon "watch events begin with what is there" '^ADDED +c2 ' cat events.txt
    k delete cm c2 >/dev/null
    soon "watch events have types" '^DELETED +c2 ' cat events.txt
    kill $watcher 2>/dev/null
    wait $watcher 2>/dev/null
fi
