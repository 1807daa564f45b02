# Every kind of job, by its example: each manifest of examples/ that starts something is applied by kubectl, in one cluster, and comes to its
# end: jobs complete, what serves is ready. A server of its own, which runs pods at twenty times the speed.
if ! embedded; then
    skip "examples of all kinds" "needs the simulated nodes of the embedded cluster"
    return
fi
"$PROGRAM" up --data-dir "$PWD/own" --listen 127.0.0.1:0 --speed 20 >own.log 2>&1 &
own=$!
appears own/kubeconfig
E() { "$KUBECTL" --kubeconfig own/kubeconfig "$@"; }
# things FILE: what it makes that has an end, KIND.GROUP NAMESPACE/NAME in a line
things() {
    E get -f "$1" -o 'jsonpath={range .items[*]}{.kind} {.apiVersion} {.metadata.namespace}/{.metadata.name}{"\n"}{end}{.kind} {.apiVersion} {.metadata.namespace}/{.metadata.name}{"\n"}' |
        awk '$3 != "/" && $1 ~ /^(Job|TrainJob|JobSet|PyTorchJob|TFJob|XGBoostJob|JAXJob|PaddleJob|MPIJob|JobFlow|StatefulSet|Deployment|LeaderWorkerSet|Pod)$/ { split($2, at, "/"); print $1 "." at[1] " " $3 }'
}
# state KIND.GROUP NAMESPACE/NAME: how it stands, as its kind says it
state() {
    local show
    case $1 in
    Pod.*) set -- pods "$2"; show='{.status.phase}' ;;
    Job.batch.volcano.sh | JobFlow.*) show='{.status.state.phase}' ;;
    StatefulSet.* | Deployment.* | LeaderWorkerSet.*) show='{.spec.replicas} of {.status.readyReplicas}' ;;
    *) show='{range .status.conditions[?(@.status=="True")]}{.type} {end}' ;;
    esac
    E get "$1" "${2#*/}" -n "${2%/*}" -o "jsonpath=$show"
}
# good KIND.GROUP: what it says when all is well
good() {
    case $1 in
    Pod.*) echo '^Succeeded$' ;;
    JobFlow.*) echo '^Succeed$' ;;
    StatefulSet.* | Deployment.* | LeaderWorkerSet.*) echo '^([1-9]) of \1$' ;;
    *) echo '(^| )(Complete|Completed|Succeeded)( |$)' ;;
    esac
}
# all that jobs make, and what is made for them, by name
there() {
    E get pods,services,configmaps,secrets,serviceaccounts,networkpolicies,persistentvolumeclaims,jobs.batch,replicasets,controllerrevisions,poddisruptionbudgets \
        -A -o 'jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{"\n"}{end}' 2>/dev/null | sort
    E get podgroups.scheduling.volcano.sh,podgroups.scheduling.x-k8s.io,workloads.kueue.x-k8s.io,jobs.batch.volcano.sh,commands.bus.volcano.sh,jobsets.jobset.x-k8s.io \
        -A -o 'jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{"\n"}{end}' | sort
}
left() { comm -13 before <(there | sort); }
seen() { left | tr '\n' ' '; }
kinds=
ok "a queue for them" E apply -f "$ROOT/examples/03-queue.yaml"
soon "whose job completes" 'Complete' state Job.batch "$(things "$ROOT/examples/03-queue.yaml" | cut -d' ' -f2)"
there | sort >before
says "there is something to compare with" 'Pod team-a/.*Workload team-a/' tr '\n' ' ' <before
for file in "$ROOT"/examples/{01,02,04,05,06,09}-*.yaml "$ROOT"/examples/jobs/*.yaml "$ROOT"/examples/flows/*.yaml; do
    ok "${file#"$ROOT"/} is taken" E apply -f "$file"
    list=$(things "$file")
    says "and something comes to its end" . echo "$list"
    while read -r kind name; do
        soon "$kind $name" "$(good "$kind")" state "$kind" "$name"
        kinds="$kinds$kind "
    done <<<"$list"
    case $file in */29-*) says "what stays is seen, and what went with its end is not" '^Job default/allreduce Pod default/allreduce-mpimaster-0 $' seen ;; esac
    E delete -f "$file" --wait=false --ignore-not-found >/dev/null 2>&1 # a set that serves keeps its quota
done
soon "when they are deleted nothing of them is left: no Service, ConfigMap, Secret, Workload" '^$' left
for kind in Job.batch Job.batch.volcano.sh JobFlow.flow.volcano.sh TrainJob.trainer.kubeflow.org JobSet.jobset.x-k8s.io MPIJob.kubeflow.org \
    PyTorchJob.kubeflow.org TFJob.kubeflow.org XGBoostJob.kubeflow.org JAXJob.kubeflow.org PaddleJob.kubeflow.org StatefulSet.apps \
    Deployment.apps LeaderWorkerSet.leaderworkerset.x-k8s.io Pod.v1; do
    says "there is an example of a $kind" "(^| )$kind " echo "$kinds"
done
kill "$own"
wait "$own" 2>/dev/null || true
