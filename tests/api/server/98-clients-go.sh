# Clients that others have made, unchanged: kueuectl, vcctl, plugins of kubectl, stern, k9s; each where it is found (PATH, build/clients:
# scripts/build-client). docs/clients.md says what was tried.
if ! embedded || [ -z "${PROGRAM:-}" ]; then
    skip "other clients" "needs the embedded cluster"
    return
fi
export PATH=$PATH:$ROOT/build/clients HOME=$PWD
client() {
    command -v "$1" >/dev/null && return
    skip "$1" "not here: scripts/build-client $1 build/clients"
    return 1
}
job() { # NAME: two pods of a GPU each, in queue q
    { echo "# YAML"; cat; } <<YAML | k apply -f - >/dev/null
{apiVersion: batch/v1, kind: Job, metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {parallelism: 2, completions: 2, template: {
 metadata: {annotations: {capstan.dev/run-seconds: "600"}}, spec: {restartPolicy: Never, containers: [{name: c, image: x,
 resources: {requests: {cpu: 100m, memory: 100Mi}, limits: {nvidia.com/gpu: 1}}}]}}}}
YAML
}

# --- kueuectl
if client kubectl-kueue; then
    kueue() { kubectl-kueue "$@" -n "$NS"; }
    workload() { k get workloads -o "jsonpath={.items[?(@.metadata.ownerReferences[0].name==\"$1\")].metadata.name}"; }
    says "kueuectl makes a flavor" created kueue create resourceflavor "$NS-f" --node-labels=nvidia.com/gpu.product=Tesla-T4
    says "a ClusterQueue" created kueue create clusterqueue "$NS-q" --cohort "$NS-c" \
        --nominal-quota "$NS-f:cpu=4;memory=1Gi;nvidia.com/gpu=2" --borrowing-limit "$NS-f:cpu=1;memory=1Gi;nvidia.com/gpu=1"
    refuses "no LocalQueue for one that is not there" 'not found' kueue create localqueue lost -c "$NS-none"
    says "a LocalQueue" created kueue create localqueue q -c "$NS-q"
    job one
    soon "it lists who is admitted" "job-one-[^ ]+ +job +one +q +$NS-q +ADMITTED" kueue list workload
    job two
    job three
    soon "who waits, with its place" 'three +q +[^ ]+ +PENDING +1 ' kueue list workload
    soon "pods of a job" 'one-.*Running' kueue list pods --for job/one
    says "queues" "$NS-q +$NS-c +2 +1 +true" kueue list clusterqueue
    says "LocalQueues" "^q +$NS-q +2 +1 " kueue list localqueue
    says "flavors" 'nvidia.com/gpu.product=Tesla-T4' kueue list resourceflavor
    says "it stops a Workload" stopped kueue stop workload "$(workload one)"
    soon "and the next one starts" 'two +q +[^ ]+ +ADMITTED' kueue list workload
    says "it resumes it" resumed kueue resume workload "$(workload one)"
    ok "it stops a queue" kueue stop clusterqueue "$NS-q"
    soon "which ends what runs" "$NS-q +$NS-c +3 +0 +false" kueue list clusterqueue
    ok "it resumes it " kueue resume clusterqueue "$NS-q"
    soon "and work goes on" "$NS-q +$NS-c +2 +1 +true" kueue list clusterqueue
    ok "it stops a LocalQueue" kueue stop localqueue q --keep-already-running
    is "without ending what runs" Hold k get localqueue q -o 'jsonpath={.spec.stopPolicy}'
    ok "resumes it" kueue resume localqueue q
    says "it deletes a Workload with its job" 'jobs.batch/three deleted' bash -c "yes | kubectl-kueue delete workload -n '$NS' '$(workload three)'"
    says "get and describe go to kubectl" 'Type: +Admitted' kueue describe workload "$(workload one)"
else
    "$KUBECTL" apply -f - >/dev/null <<YAML
# YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q, namespace: $NS}, spec: {clusterQueue: $NS-none}}
YAML
fi

# --- vcctl
if client vcctl; then
    vc() { vcctl "$@" 2>&1; }
    few=(--requests cpu=100m,memory=10Mi --limits cpu=100m,memory=10Mi)
    ok "vcctl makes a queue" vc queue create --name "$NS-v" --weight 2
    soon "lists it" "$NS-v +2 +Open" vc queue list
    says "runs a job" 'run job vj successfully' vc job run --name vj -n "$NS" --replicas 2 --min 2 --image x "${few[@]}"
    soon "lists it running" '^vj +[0-9-]+ +(Running|Completed) +Batch +2 +2' vc job list -n "$NS"
    says "shows it" 'Min Available:[[:space:]]+2' vc job view --name vj -n "$NS"
    says "and its pods" 'vj-' vc pod list -n "$NS" --job vj
    printf '%s\n' 'apiVersion: batch.volcano.sh/v1alpha1' 'kind: Job' 'metadata: {name: held}' 'spec:' '  minAvailable: 1' '  schedulerName: volcano' \
        '  tasks: [{name: t, replicas: 1, template: {metadata: {annotations: {capstan.dev/run-seconds: "600"}}, spec: {containers: [{name: c, image: x}]}}}]' >held.yaml
    says "runs one of a file" 'run job held successfully' vc job run -f held.yaml -n "$NS"
    soon "which runs" '^held +[0-9-]+ +Running' vc job list -n "$NS"
    ok "suspends it" vc job suspend --name held -n "$NS"
    soon "which aborts it" '^held +[0-9-]+ +Aborted' vc job list -n "$NS"
    ok "resumes it" vc job resume --name held -n "$NS"
    soon "and it runs again" '^held +[0-9-]+ +Running' vc job list -n "$NS"
    says "deletes it" 'delete job held successfully' vc job delete --name held -n "$NS"
    ok "closes a queue" vc queue operate --name "$NS-v" --action close
    soon "which is closed" "$NS-v +2 +Closed" vc queue get --name "$NS-v"
    ok "opens it" vc queue operate --name "$NS-v" --action open
    ok "weighs it" vc queue operate --name "$NS-v" --action update --weight 5
    soon "which it has" "$NS-v +5 +Open" vc queue get --name "$NS-v"
    vc queue operate --name "$NS-v" --action close >/dev/null
    soon "a closed one" "$NS-v +5 +Closed" vc queue get --name "$NS-v"
    ok "can be deleted" vc queue delete --name "$NS-v"
    refuses "and is gone" 'not found' k get queue.scheduling.volcano.sh "$NS-v"
fi

# --- plugins of kubectl
k run talks --image=x --restart=Never --annotations=capstan.dev/run-seconds=600 >/dev/null
soon "a pod runs" '^Running$' k get pod talks -o 'jsonpath={.status.phase}'
if client kube-capacity; then
    says "kube-capacity counts requests and use" '^\* +.*\(0?[0-9]+%\)' kube-capacity --util
    says "and pods" '^cpu-0 +talks ' kube-capacity --pods -n "$NS"
fi
if client kubectl-tree; then
    job tree
    soon "kubectl tree shows what a job owns" 'Workload/job-tree' kubectl-tree -n "$NS" job tree
fi
if client stern; then
    soon "stern follows logs" 'talks x|talks talks|talks .*step' stern -n "$NS" talks --no-follow --tail 3
fi

# --- k9s: its screen
if client k9s && command -v tmux >/dev/null; then
    tmux -L "$NS" -f /dev/null new-session -d -x 180 -y 40 "KUBECONFIG='$KUBECONFIG' TERM=xterm k9s -n '$NS' --logoless --headless" 2>/dev/null
    screen() { tmux -L "$NS" capture-pane -p; }
    keys() { # it takes a command in before Enter
        for key; do
            tmux -L "$NS" send-keys "$key"
            sleep 1
        done
    }
    soon "k9s shows pods" 'talks .*1/1 .*Running' screen
    keys :workloads.kueue.x-k8s.io Enter # "workloads" alone is a view of k9s' own
    soon "Workloads" 'NAME.* QUEUE .*RESERVED IN .*ADMITTED' screen
    keys :clusterqueues Enter
    soon "ClusterQueues" 'clusterqueues\(all\)\[' screen
    keys :nodes Enter
    soon "nodes with their GPUs" 'NAME.*GPU/A +GPU/C' screen
    keys :pod Enter
    keys /talks Enter
    keys d
    soon "describes a pod" 'Name: +talks' screen
    keys Escape
    keys l
    soon "follows its log" 'step|started' screen
    tmux -L "$NS" kill-server
fi
"$KUBECTL" delete clusterqueue "$NS-q" --wait=false >/dev/null 2>&1 || true
