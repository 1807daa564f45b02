# GPU-hours: the examples run in a cluster of their own, at a hundred times the speed, and 'capstan report' adds them up.
if ! embedded || [ -z "${PROGRAM:-}" ]; then
    skip "the report" "needs an embedded server of its own"
    return
fi
up() {
    rm -f hours/kubeconfig
    "$PROGRAM" up --data-dir "$PWD/hours" --listen 127.0.0.1:0 --speed 100 >>hours.log 2>&1 &
    hours=$!
    appears hours/kubeconfig
}
down() { kill "$hours"; wait "$hours" 2>/dev/null || true; }
H() { KUBECONFIG=$PWD/hours/kubeconfig "$KUBECTL" "$@"; }
report() { "$PROGRAM" report --store hours/usage.db --since 1h "$@"; }
# FIELD of the row whose first cell is KEY; "-" for none.
cell() { # BY KEY COLUMN
    report --by "$1" --output csv | awk -F, -v key="$2" -v column="$3" '$1 == key { print $column; found = 1 } END { if (!found) print "-" }'
}
adds_up() { # BY: the rows are the total, used is 0.8 of given
    report --by "$1" --output json | /usr/bin/python3 -c '
import json, sys
report = json.load(sys.stdin)
rows, total = report["rows"], report["total"]
for key in "pods", "allocatedHours", "activeHours", "energyKWh":
    assert abs(sum(row[key] for row in rows) - total[key]) < 1e-4, key
for row in rows:
    assert 0 <= row["activeHours"] <= row["allocatedHours"], row # of the shortest pods nothing is seen on a busy machine
assert total["allocatedHours"] > 0
print("adds up")'
}

refuses "no store" 'no such file.*--store' "$PROGRAM" report --store nowhere/usage.db
refuses "a wrong span" '--since: write 30m' "$PROGRAM" report --since tomorrow
refuses "a wrong grouping" '--by: use namespace' "$PROGRAM" report --by colour
refuses "a Prometheus that is not there" 'is the server running' "$PROGRAM" report --by user --prometheus http://127.0.0.1:9
says "an example in the help" '^Example: capstan report' "$PROGRAM" report --help

up
for file in 01-pod 02-gang 03-queue 07-mps-share 08-mig 09-deployment; do
    ok "$file" H apply -f "$ROOT/examples/$file.yaml"
done
cat >lazy.yaml <<'YAML'
apiVersion: v1
kind: Pod
metadata:
  name: lazy
  labels: {capstan.dev/user: ada}
  annotations: {capstan.dev/gpu-activity: "0.1", capstan.dev/run-seconds: "500"}
spec:
  restartPolicy: Never
  containers: [{name: app, image: cuda-app:latest, resources: {limits: {nvidia.com/gpu: 2}}}]
YAML
ok "a pod that hardly does anything" H apply -f lazy.yaml
# --- the agent's page of a simulated node, as a real API server would forward it
page() { H get --raw "/api/v1/nodes/$1:9400/proxy/metrics"; }
node_of() { H get pods -l app=chat -o 'jsonpath={.items[0].spec.nodeName}'; }
soon "the deployment runs" '^2$' H get deployment chat -o 'jsonpath={.status.readyReplicas}'
page_of_chat() { page "$(node_of)"; }
soon "who has the GPU" '^gpu_allocation_info\{.*namespace="default",pod="chat-.*,resource="nvidia.com/gpu"' page_of_chat
soon "and keeps it busy" '^DCGM_FI_DEV_GPU_UTIL\{.*Hostname="[a-z0-9-]*".*pod="chat-[^"]*".*\} 80$' page_of_chat
soon "GPU-seconds" '^gpu_pod_active_seconds_total\{namespace="default",pod="chat-[^"]*"\} [0-9.]*[1-9]' page_of_chat
soon "whose it is" '^gpu_pod_info\{namespace="default",pod="chat-[^"]*",queue="",job_name="chat",user=""\} 1$' page_of_chat
cat >slice.yaml <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: slice, annotations: {capstan.dev/run-seconds: "1000000"}}
spec:
  containers: [{name: app, image: cuda-app:latest, resources: {limits: {nvidia.com/mig-1g.5gb: 1}}}]
YAML
ok "a slice" H apply -f slice.yaml
page_of_slice() { page a100-40gb-mig-0 | grep 'pod="slice"'; }
soon "a seventh of its GPU" '^gpu_allocation_share_ratio\{.*,pod="slice",container="app"\} 0\.142857' page_of_slice
soon "a process on it" '^gpu_process_memory_bytes\{gpu="[0-9]_[0-9]*_0",pid="[0-9]*",namespace="default",pod="slice",container="app"\} [1-9]' page_of_slice
ok "the slice ends" H delete pod slice --grace-period=0 --force
if command -v promtool >/dev/null; then
    page a100-40gb-mig-0 >page.txt
    refuses "no fault in the page but names that are not ours to choose" 'gpu_session_count' promtool check metrics <page.txt
    others() { grep -Ev "$1" <<<"$2" || true; }
    is "none else" "" others 'snake_case|DCGM_FI_|gpu_session_count' "$said"
else
    skip "the page" "no promtool"
fi
refuses "a node without GPUs has no page" 'NotFound' page cpu-0
soon "has run" '^Succeeded$' H get pod lazy -o 'jsonpath={.status.phase}'
finished() { H get pods -A -o 'jsonpath={range .items[*]}{.metadata.labels.app}/{.status.phase}{"\n"}{end}' | grep -vc -e Succeeded -e '^chat/' || true; }
soon "as have the jobs" '^0$' finished
soon "lazy is in the report" '^default/lazy$' cell pod default/lazy 1
soon "so are all pods" '^[1-9][0-9]*$' cell namespace team-a 2
soon "the queue of Kueue" '^[1-9][0-9]*$' cell queue gpu-queue 2
soon "the queue of Volcano" '^[1-9][0-9]*$' cell queue default 2
soon "two GPUs for five hundred seconds, a tenth of it used: some 1000 GPU-seconds, more on a busy machine" '^0\.[2-9][0-9]*$' cell user ada 3
is "10 % used" 10.0 cell user ada 5
for by in namespace queue user job pod node; do
    is "by $by" "adds up" adds_up "$by"
done
there_was() { report --output json | jq '.total | .capacityHours > .allocatedHours and .capacityHours > .unallocatedHours and .unallocatedHours > 0'; }
soon "there were more GPUs than were given" '^true$' there_was
says "each model has a price" '^NVIDIA-A100-SXM4-40GB .* [0-9.]*[1-9]' report --by model --price a100=1000,t4=100
is "of all models" "" sh -c "'$PROGRAM' report --store hours/usage.db --since 1h --price 1 2>&1 >/dev/null | grep price || true"
says "this week is a row" '^20[0-9][0-9]-W' report --by week
says "a slice is a seventh: a second of it, or little more" '^0\.0' cell pod default/inference-slice 3
ok "by the name of its file" report --by queue --title "Cluster <1>" --write named.html
says "it is a page" '^<!DOCTYPE html>' head -c 15 named.html
ok "a table of its own" report --by queue --write named.csv
says "by its name, too" '^queue,pods,' head -1 named.csv
ok "what is said goes before the name" report --by queue --output json --write other.csv
says "so it is JSON" '^[[{]' head -c 1 other.csv
refuses "a currency of no amounts" '--currency needs --price' "$PROGRAM" report --currency EUR
ok "the page" report --by queue --output html --title "Cluster <1>" --write report.html
says "has the queue" 'gpu-queue' cat report.html
says "and no markup out of names" 'Cluster &lt;1&gt;' cat report.html
if command -v chromium >/dev/null; then
    says "a browser shows it" 'gpu-queue' timeout 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/browser" --dump-dom "file://$PWD/report.html"
else
    skip "a browser shows it" "no chromium"
fi

# --- what is written counts once, and goes on after a restart
down
before=$(cell job default/chat 3)
up
soon "the deployment's pods still run" '^2$' H get deployment chat -o 'jsonpath={.status.readyReplicas}'
grew() { awk -v a="$before" -v b="$(cell job default/chat 3)" 'BEGIN { print (b > a) ? "more" : "not more" }'; }
soon "their hours go on" '^more$' grew
is "those that had ended count once" 10.0 cell user ada 5
is "in the same rows" 1 cell user ada 2
down
