# LeaderWorkerSets of no queue: updated several groups at once, with more groups than they have, or in part; domains of their own, subgroups,
# names of their own. On the embedded server's nodes.
if ! embedded; then
    skip "LeaderWorkerSets" "needs the simulated nodes of the embedded cluster"
    return
fi
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
pod="spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: \"x:1\"}]}"
# lws NAME GROUPS SIZE [SPEC] [TEMPLATE] [ANNOTATIONS]
lws() { echo "{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {name: $1, annotations: {${6:-}}}, spec: {replicas: $2, ${4:+$4,} leaderWorkerTemplate: {size: $3, ${5:+$5,} workerTemplate: {$pod}}}}"; }
rolling() { echo "rolloutStrategy: {type: RollingUpdate, rollingUpdateConfiguration: {$1}}"; }
image() { k patch lws "$1" --type json -p "[{\"op\": \"replace\", \"path\": \"/spec/leaderWorkerTemplate/workerTemplate/spec/containers/0/image\", \"value\": \"x:$2\"}]" >/dev/null; }
images() { k get pods -l "leaderworkerset.sigs.k8s.io/name=$1" -o 'jsonpath={range .items[*]}{.metadata.name}={.spec.containers[0].image} {end}'; }
status() { k get lws "$1" -o 'jsonpath={.status.readyReplicas}/{.status.updatedReplicas}/{.status.replicas} {.status.conditions[?(@.status=="True")].type}'; }
partition() { k get sts "$1" -o 'jsonpath={.spec.updateStrategy.rollingUpdate.partition} {.spec.replicas}'; }
label() { k get pods -l "leaderworkerset.sigs.k8s.io/name=$1" -o "jsonpath={range .items[*]}{.metadata.name}={.metadata.labels.leaderworkerset\.sigs\.k8s\.io/$2} {end}"; }

# --- a part of it
lws part 4 2 "$(rolling 'partition: 2, maxUnavailable: 2')" | apply
soon "four groups" '^4/4/4 Available$' status part
image part 2
soon "half of them have another image" '^part-0=x:1 part-0-1=x:1 part-1=x:1 part-1-1=x:1 part-2=x:2 part-2-1=x:2 part-3=x:2 part-3-1=x:2 $' images part
soon "and that is all for now" '^4/2/4 Available$' status part
k patch lws part --type merge -p '{"spec": {"rolloutStrategy": {"rollingUpdateConfiguration": {"partition": 0}}}}' >/dev/null
soon "then the others" '^4/4/4 Available$' status part
is "it is at rest" '0 4' partition part
says "steps are told" 'GroupsUpdating: Updating replicas? ' k get events --field-selector involvedObject.name=part -o 'jsonpath={range .items[*]}{.reason}: {.message}{"\n"}{end}'

# --- with more groups meanwhile
lws surge 2 1 "$(rolling 'maxUnavailable: 0, maxSurge: 1')" | apply
soon "two groups" '^2/2/2 Available$' status surge
fewest=9 most=0
image surge 2
for _ in $(seq 150); do
    now=$(k get pods -l leaderworkerset.sigs.k8s.io/name=surge -o 'jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status} {end}')
    up=$(grep -o True <<<"$now" | wc -l)
    [ "$up" -ge "$fewest" ] || fewest=$up
    [ "$up" -le "$most" ] || most=$up
    [ "$(status surge)" != "2/2/2 Available" ] || [ "$(images surge)" != "surge-0=x:2 surge-1=x:2 " ] || break
done
is "of which never one was missing, and one was there besides" "none 3" echo "$([ "$fewest" -lt 2 ] || echo none) $most"
is "both are new" "surge-0=x:2 surge-1=x:2 " images surge

# --- a node for each group
lws apart 3 3 "" "" 'leaderworkerset.sigs.k8s.io/exclusive-topology: kubernetes.io/hostname' | apply
soon "three groups" '^3/3/3 Available$' status apart
is "each on a node of its own" "3 3" bash -c "'$KUBECTL' -n '$NS' get pods -l leaderworkerset.sigs.k8s.io/name=apart -o 'jsonpath={range .items[*]}{.metadata.labels.leaderworkerset\\.sigs\\.k8s\\.io/group-index} {.spec.nodeName}{\"\\n\"}{end}' | sort -u | awk '{print; n[\$2]++} END {}' | awk '{pairs++; if (!seen[\$2]++) nodes++} END {print pairs, nodes}'"

lws nowhere 1 2 "" "" 'leaderworkerset.sigs.k8s.io/exclusive-topology: example.com/rack' | apply
soon "why one waits" "didn't match pod affinity rules" "$PROGRAM" why lws/nowhere -n "$NS"
says "so do its groups" "didn't match pod affinity rules" "$PROGRAM" why lws/nowhere-0 -n "$NS"

# --- subgroups; names of its own for each group
lws parts 1 5 'networkConfig: {subdomainPolicy: UniquePerReplica}' 'subGroupPolicy: {subGroupSize: 2}' | apply
soon "five pods" '^1/1/1 Available$' status parts
is "in parts of two, the leader besides" 'parts-0=0 parts-0-1=0 parts-0-2=0 parts-0-3=1 parts-0-4=1 ' label parts subgroup-index
is "a Service of the group alone" 'parts-0' k get services -o 'jsonpath={.items[?(@.spec.selector.leaderworkerset\.sigs\.k8s\.io/name=="parts")].metadata.name}'
says "by which its leader is found" "parts-0.parts-0.$NS" k get pod parts-0-1 -o 'jsonpath={.spec.containers[0].env[?(@.name=="LWS_LEADER_ADDRESS")].value}'
k patch lws parts --type merge -p '{"spec": {"networkConfig": {"subdomainPolicy": "Shared"}}}' >/dev/null
soon "names of all of them, when asked for" "parts-0.parts.$NS" k get pod parts-0-1 -o 'jsonpath={.spec.containers[0].env[?(@.name=="LWS_LEADER_ADDRESS")].value}'
soon "have their Service" '^parts$' k get services -o 'jsonpath={.items[?(@.spec.selector.leaderworkerset\.sigs\.k8s\.io/name=="parts")].metadata.name}'
lws grown 2 2 | apply
soon "groups of two" '^2/2/2 Available$' status grown
k patch lws grown --type merge -p '{"spec": {"leaderWorkerTemplate": {"size": 3}}}' >/dev/null
soon "become groups of three" '^grown-0=x:1 grown-0-1=x:1 grown-0-2=x:1 grown-1=x:1 grown-1-1=x:1 grown-1-2=x:1 $' images grown
soon "all of them" '^2/2/2 Available$' status grown
lws without 1 3 "" 'subGroupPolicy: {subGroupSize: 2, subGroupPolicyType: LeaderExcluded}' | apply
soon "or without the leader" '^without-0= without-0-1=0 without-0-2=0 $' label without subgroup-index

# --- what is wrong in one
refuses "nothing may be missing, and nothing be there besides" 'maxUnavailable: .*must not be 0 when `maxSurge` is 0' k apply -f <({ echo "# YAML"; lws bad 2 1 "$(rolling 'maxUnavailable: 0')"; })
refuses "parts that are none" 'maxSurge: .*must be a number of groups' k apply -f <({ echo "# YAML"; lws bad 2 1 "$(rolling 'maxSurge: "300%"')"; })
refuses "domains of subgroups that are not there" 'write spec.leaderWorkerTemplate.subGroupPolicy' k apply -f <({ echo "# YAML"; lws bad 2 1 "" "" 'leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology: rack'; })
