# Volcano's JobFlows, JobTemplates and CronJobs, and the plugins of frameworks, with kubectl. Embedded cluster only: simulated nodes run the
# pods.
if ! embedded; then
    skip "Volcano's flows" "needs the embedded cluster"
    return
fi
jobs_of() { k get vcjob -o 'jsonpath={range .items[*]}{.metadata.name}:{.status.state.phase} {end}'; }

# --- a flow
ok "the example of a flow" k apply -f "$ROOT/examples/flows/volcano-jobflow.yaml"
soon "one job after the other" '^night-fetch:Completed night-train:Completed $' jobs_of
soon "the flow has succeeded" '^Succeed$' k get jf night -o 'jsonpath={.status.state.phase}'
says "kubectl shows it" '^night +Succeed +' k get jobflow night --no-headers
is "its jobs are told" "night-fetch night-train" k get jf night -o 'jsonpath={.status.completedJobs[*]}'
is "templates tell theirs" "night-train" k get jt train -o 'jsonpath={.status.jobDependsOnList[*]}'
is "its jobs say of what they are" "$NS.night $NS.train" k get vcjob night-train \
    -o 'jsonpath={.metadata.labels.volcano\.sh/createdByJobFlow} {.metadata.labels.volcano\.sh/createdByJobTemplate}'
is "pytorch without a master: worker 0 is it" "night-train-worker-0.night-train" k get pod night-train-worker-1 \
    -o 'jsonpath={.spec.containers[0].env[?(@.name=="MASTER_ADDR")].value}'
ok "the flow goes" k delete jobflow night --wait=false
soon "with its jobs" '^$' jobs_of
k delete jobtemplate --all >/dev/null
flow() { k apply -f - <<<$'---\n{apiVersion: flow.volcano.sh/v1alpha1, kind: JobFlow, metadata: {name: f}, spec: {flows: ['"$1"']}}'; }
refuses "flows that wait for each other" 'not DAG: a, b wait for each other' flow '{name: a, dependsOn: {targets: [b]}}, {name: b, dependsOn: {targets: [a]}}'
refuses "a target that is not there" 'spec.flows\[0\].dependsOn.targets\[0\].*vertex is not defined' flow '{name: a, dependsOn: {targets: [x]}}'
refuses "a policy that is none" 'jobRetainPolicy' k apply -f - <<<$'---\n{apiVersion: flow.volcano.sh/v1alpha1, kind: JobFlow, metadata: {name: f}, spec: {jobRetainPolicy: keep, flows: []}}'
ok "a flow without its template waits" flow '{name: later}'
soon "and says for what" 'no JobTemplate of namespace .* is called later' k get events -o 'jsonpath={.items[?(@.reason=="TemplateMissing")].message}'
k delete jobflow --all --wait=false >/dev/null

# --- a schedule
cron() { k apply -f - <<<$'---\n{apiVersion: batch.volcano.sh/v1alpha1, kind: CronJob, metadata: {name: '"$1"'}, spec: {'"$2"$', jobTemplate: {spec: {tasks: [{name: t, replicas: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox:1}]}}}]}}}}'; }
says "a CronJob" 'cron created' cron cron 'schedule: "0 3 * * *"'
says "kubectl shows it" '^cron +0 3 \* \* \* +false +[0-9]+s' k get cronvcjob cron --no-headers
refuses "a schedule that is none" 'spec.schedule.*five fields' cron bad 'schedule: daily'
refuses "a time zone that is none" 'spec.timeZone.*unknown time zone' cron bad 'schedule: "@daily", timeZone: ../etc'
ok "one that nobody knows" cron zone 'schedule: "@daily", timeZone: Nowhere/City'
soon "is told" 'unknown time zone Nowhere/City' k get events -o 'jsonpath={.items[?(@.reason=="InvalidTimeZone")].message}'
k delete cronvcjob --all >/dev/null
