# Events: listed, of one object, watched.
k create cm c >/dev/null
uid=$(k get cm c -o "jsonpath={.metadata.uid}")
event() {
    k create -f - >/dev/null <<YAML
apiVersion: v1
kind: Event
metadata: {name: $1}
involvedObject: {apiVersion: v1, kind: ConfigMap, name: c, namespace: $NS, uid: $uid}
type: $2
reason: $3
message: "$4"
firstTimestamp: "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
lastTimestamp: "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
count: 2
source: {component: tester}
YAML
}
event e1 Normal First "one thing"
event e2 Warning Second "another thing"
says "get" '^[0-9]+s +Warning +Second +configmap/c +another thing' k get events
says "wide" 'tester' k get events -o wide
is "by field" "event/e2" k get events --field-selector type=Warning -o name
is "by object" "event/e1
event/e2" k get events --field-selector involvedObject.name=c,involvedObject.kind=ConfigMap -o name
says "sorted" 'First' k get events --sort-by=.lastTimestamp
says "describe shows them" 'another thing' k describe cm c
if at_least 27; then
    says "events" 'another thing' k events
    says "events of one object" 'one thing' k events --for cm/c
    is "events of a type" "1" bash -c '"$0" -n "$1" events --types=Warning --no-headers | wc -l | tr -d " "' "$KUBECTL" "$NS"
fi
