# JobSets beyond their quota: labels, groups, rules for failures, restarts, order of start, domains of their own. On the embedded server's
# nodes.
if ! embedded; then
    skip "JobSets" "needs the simulated nodes of the embedded cluster"
    return
fi
apply() { { echo "# YAML"; cat; } | k apply -f - >/dev/null; }
condition() { k get jobset "$1" -o "jsonpath={.status.conditions[?(@.type==\"$2\")].status}/{.status.conditions[?(@.type==\"$2\")].reason}"; }
events() { k get events --field-selector "involvedObject.name=$1,involvedObject.kind=JobSet" -o 'jsonpath={range .items[*]}{.reason}: {.message}{"\n"}{end}'; }
# job NAME SECONDS MORE: a replicatedJob that is not tried again
job() { echo "{name: $1, ${3:-} template: {spec: {backoffLimit: 0, ${4:-} template: {metadata: {annotations: {capstan.dev/run-seconds: \"$2\"${5:-}}}, spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}}}"; }
jobset() { echo "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: $1, annotations: {${3:-}}}, spec: {$2}}"; }
fails=", capstan.dev/exit-code: \"3\""

# --- groups, coordinator
jobset marks "coordinator: {replicatedJob: a, jobIndex: 1, podIndex: 0}, replicatedJobs: [$(job a 600 'replicas: 2, groupName: left,' 'parallelism: 1, completions: 1,'), $(job b 600 'groupName: right,'), $(job c 600 'groupName: left,')]" | apply
label() { k get job "$1" -o "jsonpath={.metadata.labels.jobset\.sigs\.k8s\.io/group-name} {.metadata.labels.jobset\.sigs\.k8s\.io/group-replicas} {.metadata.labels.jobset\.sigs\.k8s\.io/job-group-index} {.metadata.labels.jobset\.sigs\.k8s\.io/coordinator} {.spec.template.metadata.annotations.jobset\.sigs\.k8s\.io/job-group-index}"; }
soon "the place of a job in its group" '^left 3 2 marks-a-1-0.marks 2$' label marks-c-0
is "of one alone" 'right 1 0 marks-a-1-0.marks 0' label marks-b-0
soon "pods have their priority" '^0$' k get pods -l jobset.sigs.k8s.io/replicatedjob-name=b -o 'jsonpath={.items[0].metadata.labels.jobset\.sigs\.k8s\.io/priority}'
k delete jobset marks --wait=false >/dev/null

# --- rules: what a job says decides
jobset rules "failurePolicy: {maxRestarts: 5, rules: [{name: other, action: FailJobSet, onJobFailureMessagePatterns: ['^no job says so$']}, {name: again, action: RestartJobSet, targetReplicatedJobs: [w]}]}, replicatedJobs: [$(job w 1 "" "" "$fails")]" | apply
soon "the rule that fits restarts it" '^(True|False)/(FailurePolicy_again|JobsReady)$' condition rules RestartingJobSet
soon "which an event tells" 'RestartJobSetFailurePolicyAction: applying RestartJobSet failure policy action .first failed job: rules-w-0.' events rules
soon "until there were too many" '^True/ReachedMaxRestarts$' condition rules Failed
is "so many" '5 5 Failed' k get jobset rules -o 'jsonpath={.status.restarts} {.status.restartsCountTowardsMax} {.status.terminalState}'
jobset said "failurePolicy: {maxRestarts: 5, rules: [{name: stop, action: FailJobSet, onJobFailureMessagePatterns: ['backoff limit$']}]}, replicatedJobs: [$(job w 1 "" "" "$fails")]" | apply
soon "a pattern that is found ends it" '^True/FailJobSetFailurePolicyAction$' condition said Failed
jobset blocks "failurePolicy: {maxRestarts: 1, restartStrategy: BlockingRecreate}, replicatedJobs: [$(job w 1 "" "" "$fails"), $(job v 600)]" | apply
soon "all are made again after all have gone" '^True/ReachedMaxRestarts$' condition blocks Failed
is "once" 1 k get jobset blocks -o 'jsonpath={.status.restarts}'

# --- in order
jobset order "startupPolicy: {startupPolicyOrder: InOrder}, replicatedJobs: [$(job first 600), $(job second 600)]" | apply
soon "all have begun, one after the other" '^True/InOrderStartupPolicyCompleted$' condition order StartupPolicyCompleted
is "nothing is in progress" 'False' k get jobset order -o 'jsonpath={.status.conditions[?(@.type=="StartupPolicyInProgress")].status}'
k delete jobset order --wait=false >/dev/null

# --- a node for each job
jobset apart "replicatedJobs: [$(job w 600 'replicas: 3,' 'parallelism: 2, completions: 2,')]" 'alpha.jobset.sigs.k8s.io/exclusive-topology: kubernetes.io/hostname' | apply
places() { k get pods -l "jobset.sigs.k8s.io/jobset-name=$1" -o 'jsonpath={range .items[*]}{.metadata.labels.jobset\.sigs\.k8s\.io/job-index} {.spec.nodeName}{"\n"}{end}' | awk 'NF == 2 {pods++; if (!at[$1]++) jobs++; if (!seen[$1 $2]++) pairs++; if (!nodes[$2]++) n++} END {print pods + 0, jobs + 0, pairs + 0, n + 0}'; }
soon "each job has a node, and no two the same" '^6 3 3 3$' places apart
k delete jobset apart --wait=false >/dev/null
jobset labelled "replicatedJobs: [$(job w 600)]" 'alpha.jobset.sigs.k8s.io/exclusive-topology: kubernetes.io/hostname, alpha.jobset.sigs.k8s.io/node-selector: "true"' | apply
soon "or those that are labelled for it" "^${NS}_labelled-w-0 alpha.jobset.sigs.k8s.io/no-schedule$" k get job labelled-w-0 -o 'jsonpath={.spec.template.spec.nodeSelector.alpha\.jobset\.sigs\.k8s\.io/namespaced-job} {.spec.template.spec.tolerations[0].key}'

# --- more pods, and fewer
jobset sized "replicatedJobs: [$(job w 600 '' 'parallelism: 2, completions: 2,')]" | apply
soon "two pods" '^2$' k get job sized-w-0 -o 'jsonpath={.status.ready}'
size() { k patch jobset "$1" --type json -p "[{\"op\": \"replace\", \"path\": \"/spec/replicatedJobs/0/template/spec/parallelism\", \"value\": $2}, {\"op\": \"replace\", \"path\": \"/spec/replicatedJobs/0/template/spec/completions\", \"value\": $3}]"; }
ok "four are asked for" size sized 4 4
soon "four pods" '^4$' k get job sized-w-0 -o 'jsonpath={.status.ready}'
ok "and one" size sized 1 1
soon "one pod" '^1$' k get job sized-w-0 -o 'jsonpath={.status.ready}'
refuses "not all at once" 'completions: Invalid value: 3: completions must be equal to parallelism' size sized 2 3
refuses "other numbers of jobs" 'spec.replicatedJobs: .*immutable, but for parallelism and completions' \
    k patch jobset sized --type json -p '[{"op": "replace", "path": "/spec/replicatedJobs/0/replicas", "value": 2}]'
k delete jobset sized --wait=false >/dev/null

# --- what is wrong in one
bad() { { echo "# YAML"; jobset "$1" "$2"; } | k apply -f -; }
refuses "a reason that no job has" 'rules\[0\].onJobFailureReasons\[0\]: Invalid value: "Crashed": .*write BackoffLimitExceeded' \
    bad bad1 "failurePolicy: {rules: [{action: FailJobSet, onJobFailureReasons: [Crashed]}]}, replicatedJobs: [$(job a 1)]"
refuses "a rule of an odd name" 'rules\[0\].name: Invalid value: "9x": must start with a letter' \
    bad bad2 "failurePolicy: {rules: [{name: 9x, action: FailJobSet}]}, replicatedJobs: [$(job a 1)]"
says "a pattern that is none" 'Warning: spec.failurePolicy.rules\[0\].onJobFailureMessagePatterns\[0\]: is no regular expression' \
    bad bad3 "suspend: true, failurePolicy: {rules: [{action: FailJobSet, onJobFailureMessagePatterns: ['(']}]}, replicatedJobs: [$(job a 1)]"
refuses "a coordinator that is not there" 'spec.coordinator.replicatedJob: Invalid value: "z": no replicatedJob has this name' \
    bad bad4 "coordinator: {replicatedJob: z}, replicatedJobs: [$(job a 1)]"
refuses "a coordinator in a job that is not there" 'spec.coordinator.jobIndex: Invalid value: 7: .*it has 1' \
    bad bad5 "coordinator: {replicatedJob: a, jobIndex: 7}, replicatedJobs: [$(job a 1)]"
refuses "a coordinator of no index" 'spec.coordinator: .*write completions of a' bad bad6 "coordinator: {replicatedJob: a}, replicatedJobs: [$(job a 1)]"
refuses "a subdomain that is no name" 'spec.network.subdomain: Invalid value: "A_b"' bad bad7 "network: {subdomain: A_b}, replicatedJobs: [$(job a 1)]"
refuses "a group that is no name" 'spec.replicatedJobs\[0\].groupName: Invalid value: "A_b"' bad bad8 "replicatedJobs: [$(job a 1 'groupName: A_b,')]"
