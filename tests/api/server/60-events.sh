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
# The same objects in the words of the other group.
new() {
    k create -f - <<YAML
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: $1, namespace: $NS}
regarding: {apiVersion: v1, kind: ConfigMap, name: c, namespace: $NS, uid: $uid}
type: Normal
reason: Third
note: "a new thing"
action: Look
eventTime: "$(date -u +%Y-%m-%dT%H:%M:%S.000000Z)"
reportingController: example.com/looker
$2
YAML
}
refuses "without its actor" 'reportingInstance: Required value' new e3 ""
new e3 "reportingInstance: looker-1" >/dev/null
same="event.events.k8s.io/e1
event.events.k8s.io/e2
event.events.k8s.io/e3"
is "one list, new" "$same" bash -c '"$0" -n "$1" get events.events.k8s.io -o name | grep /e' "$KUBECTL" "$NS"
is "one list, old" "event/e1
event/e2
event/e3" bash -c '"$0" -n "$1" get events -o name | grep /e' "$KUBECTL" "$NS"
is "converted to core" "c a new thing example.com/looker" k get event e3 -o "jsonpath={.involvedObject.name} {.message} {.reportingComponent}"
is "converted from core" "c another thing tester 2" k get events.events.k8s.io e2 -o "jsonpath={.regarding.name} {.note} {.deprecatedSource.component} {.deprecatedCount}"
is "new by field" "event.events.k8s.io/e3" k get events.events.k8s.io --field-selector reportingController=example.com/looker,regarding.name=c -o name
is "source by its controller" "event/e3" k get events --field-selector source=example.com/looker -o name
refuses "no field of the other group" 'field label not supported: involvedObject.name' k get events.events.k8s.io --field-selector involvedObject.name=c
says "describe shows both" 'a new thing' k describe cm c
says "new table" '[0-9]+s +Normal +Third +configmap/c +a new thing' k get events.events.k8s.io
k delete events.events.k8s.io e1 >/dev/null
refuses "gone from both" 'events "e1" not found' k get event e1
