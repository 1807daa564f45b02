# capstan nodes --gpus; capstan top: --once against the lists, and the screen in a real terminal (tmux) with keys, from 200 columns to 20
if ! embedded || [ -z "${PROGRAM:-}" ]; then
    skip "the whole screen" "needs an embedded server of its own"
    return
fi
# WHY  one of its own: the lists are compared, and others' jobs come and go
"$PROGRAM" up --tls --nodes 2:t4 --nodes 1:a100-40gb,gpus=2,mig=1g.5gb --data-dir ./own --listen 127.0.0.1:0 >own.log 2>&1 &
server=$!
appears own/kubeconfig
export KUBECONFIG=$PWD/own/kubeconfig TERM=xterm LC_ALL=C.UTF-8
unset NO_COLOR
ends() { # ends CODE WHAT PATTERN CMD...: the exit code, and what it said on both streams
    local code=$1 what=$2 pattern=$3 got; shift 3
    said=$(timeout 60 "$@" 2>&1); got=$?
    if [ "$got" = "$code" ] && grep -Eq -- "$pattern" <<<"$said"; then pass "$what"
    else miss "$what" "\$ $*" "wanted: exit code $code, $pattern" "exit code $got" "$said"; fi
}
soon "a server of its own" ' Ready ' "$KUBECTL" get nodes

# --- jobs that run for as long as this takes, one that waits, a pod with the longest name
long=$(printf 'n%.0s' $(seq 253))
"$KUBECTL" apply -f - >/dev/null <<YAML
# YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: t4}, spec: {nodeLabels: {nvidia.com/gpu.product: Tesla-T4}}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: all}, spec: {namespaceSelector: {}, resourceGroups: [
 {coveredResources: [nvidia.com/gpu], flavors: [{name: t4, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]}]}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: mine}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q, namespace: mine}, spec: {clusterQueue: all}}
---
{apiVersion: v1, kind: Pod, metadata: {name: $long, namespace: default, annotations: {capstan.dev/run-seconds: "600"}},
 spec: {containers: [{name: c, image: x, resources: {limits: {nvidia.com/mig-1g.5gb: 1}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: hostile, namespace: default},
 spec: {schedulerName: nobody, containers: [{name: c, image: x, resources: {limits: {nvidia.com/gpu: 1}}}]}}
YAML
run() { "$PROGRAM" submit -n mine --queue q --image x --anyway --annotation capstan.dev/run-seconds=600 "$@" >/dev/null 2>&1; }
run --gpus 6x1 --name runs --user kim
run --gpus 3x1 --name waits --user ann
"$KUBECTL" patch pod hostile --subresource=status --type merge -p '{"status":{"conditions":[{"type":"PodScheduled","status":"False",
 "message":"<b>\u001b[2J\u0007\u202egnp.exe\nsecond"}]}}' >/dev/null
soon "one runs" 'runs +6 +6' "$PROGRAM" jobs -n mine
soon "one waits" 'waits.* Queued' "$PROGRAM" jobs -n mine

# --- GPUs one by one
gpus() { "$PROGRAM" nodes --gpus "$@"; }
soon "whose they are" '^t4-0 +[0-7] +nvidia.com/gpu +1 .* mine/runs$' gpus
is "each of them" 6 bash -c '"$0" nodes --gpus | grep -c "mine/runs$"' "$PROGRAM"
soon "how busy" 6 bash -c '"$0" nodes --gpus -o json | jq "[.[] | select(.pods == 1 and .busyPercent == 80 and .memoryUsedMiB > 0)] | length"' "$PROGRAM"
is "slices, too" 1 bash -c '"$0" nodes --gpus | grep -c " nvidia.com/mig-1g.5gb  *1 .*default/nnn"' "$PROGRAM"
is "and for programs by whose" '["mine","runs","q",1]' bash -c '"$0" nodes --gpus -o json |
    jq -c "[.[].usedBy[] | select(.name == \"runs\")][0] | [.namespace, .name, .queue, (.pods | length)]"' "$PROGRAM"
ends 2 "either, or" 'either --summary or --gpus' "$PROGRAM" nodes --gpus --summary
"$KUBECTL" apply -f - >/dev/null <<'YAML'
# YAML
{apiVersion: v1, kind: Node, metadata: {name: plain}, status: {capacity: {nvidia.com/gpu: "4"}, allocatable: {nvidia.com/gpu: "4"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: torn, annotations: {capstan.dev/devices: '[{"id":3},{"r":7,"id":"GPU-a"},"x",{]'}},
 status: {capacity: {nvidia.com/gpu: "4"}, allocatable: {nvidia.com/gpu: "4"}}}
YAML
ends 0 "nodes without an agent, and lists that are none, are counted" '^capstan nodes: not shown: GPUs of 2 nodes without an agent' \
    "$PROGRAM" nodes --gpus

# --- once, as the lists
# What is written once a second may come between the two.
same() { # same WHAT VIEW COMMAND...: but for what grows
    local what=$1 view=$2 ages='walk(if type == "object" then with_entries(select(.key | test("age|wait|measured|busy|memory") | not)) else . end)'; shift 2
    soon "$what" '^same$' bash -c 'list=$("$0" "${@:3}" -o json 2>/dev/null | jq -S "$2") top=$("$0" top --once -A -o json 2>/dev/null | jq -S ".$1 | $2")
        [ "$list" = "$top" ] && echo same || diff <(echo "$list") <(echo "$top")' "$PROGRAM" "$view" "$ages" "$@"
}
same "queues as capstan queues" queues queues
same "jobs as capstan jobs" jobs jobs -A
same "GPUs as capstan nodes --gpus" gpus nodes --gpus
same_text() { # same_text WHAT OPTION...: of queues alone
    soon "$1" '^same$' bash -c 'list=$("$0" queues "$@") top=$("$0" top --once --view queues "$@")
        [ "$list" = "$top" ] && echo same || diff <(echo "$list") <(echo "$top")' "$PROGRAM" "${@:2}"
}
same_text "one of them alone"
same_text "as YAML" -o yaml
says "all have their names above" '^gpus:$' "$PROGRAM" top --once
is "by a number" "runs waits" bash -c '"$0" top --once -n mine --view jobs --sort gpus --reverse -o json | jq -r "[.[].name] | join(\" \")"' "$PROGRAM"
for n in 10 3; do
    "$KUBECTL" apply -f - >/dev/null <<<"# YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: of-$n}, spec: {resourceGroups: [
     {coveredResources: [nvidia.com/gpu], flavors: [{name: t4, resources: [{name: nvidia.com/gpu, nominalQuota: $n}]}]}]}}"
done
is "by what a quantity is worth" "3 8 10" bash -c '"$0" top --once --view queues --sort nominal -o json | jq -r "[.[].nominal | values] | join(\" \")"' "$PROGRAM"
ends 0 "a reader that has seen enough" '^queues:$' bash -c '"$0" top --once | head -n 1' "$PROGRAM"
ends 1 "a full disk" 'No space left' bash -c '"$0" top --once >/dev/full' "$PROGRAM"
ends 2 "no such column" '--sort: jobs have no .gpu.; did you mean gpus' "$PROGRAM" top --once --view jobs --sort gpu
ends 2 "of which list" '--sort goes with --view' "$PROGRAM" top --once --sort gpus
ends 2 "not as CSV: three lists are none" '--output' "$PROGRAM" top --once -o csv
ends 2 "no terminal" 'needs a terminal: use --once' bash -c '"$0" top </dev/null' "$PROGRAM"
ends 2 "nobody there" 'top: .*(refused|connect)' "$PROGRAM" top --once --kubeconfig <(sed 's|server: .*|server: https://127.0.0.1:1|' own/kubeconfig)

# --- a user of one namespace
"$KUBECTL" create serviceaccount anna -n mine >/dev/null
"$KUBECTL" create rolebinding anna -n mine --clusterrole view --serviceaccount mine:anna >/dev/null
sed '/client-\|token/d' own/kubeconfig >anna.yaml
KUBECONFIG=anna.yaml "$KUBECTL" config set-credentials anna --token "$("$KUBECTL" create token anna -n mine)" >/dev/null
KUBECONFIG=anna.yaml "$KUBECTL" config set-context --current --user anna --namespace mine >/dev/null
ends 0 "sees her jobs" 'mine +Job +runs +6' "$PROGRAM" top --once --kubeconfig anna.yaml
says "and what she does not see" '^capstan top: gpus: .*forbidden' bash -c '"$0" top --once --kubeconfig anna.yaml 2>&1' "$PROGRAM"
ends 1 "what she asked for alone is a failure" 'forbidden' "$PROGRAM" top --once --view gpus --kubeconfig anna.yaml

# --- the screen
if ! command -v tmux >/dev/null; then
    skip "capstan top on a terminal" "no tmux"
    kill "$server"
    return
fi
export TMUX_TMPDIR=$PWD
echo "set -g exit-empty off" >tmux.conf
t() { tmux -L top -f tmux.conf "$@"; }
opens() { # opens WIDTH HEIGHT OPTION...
    t kill-session -t top 2>/dev/null
    t new-session -d -s top -x "$1" -y "$2" "$PROGRAM top --period 300ms ${*:3} 2>&1; echo \"ended with \$?\"; sleep 600"
}
keys() { t send-keys -t top "$@"; }
seen() { t capture-pane -p -t top; }
widest() { seen | awk '{ if (length($0) > n) n = length($0) } END { print n + 0 }'; }
opens 160 40 -A
soon "it begins with jobs" '^ 1 queues  \[2 jobs\]  3 GPUs +all namespaces' seen
soon "as they are listed" '^mine +Job +waits +3 +0 +3 +Queued' seen
is "names of 253 letters are cut, and what stands behind them is there" 1 bash -c "grep -cE '^default +Pod +n{39}> +1 +1 +1 +Running' <<<\"\$0\"" "$(seen)"
cursor_on() { # cursor_on PATTERN: goes down until the row of it is lit
    local i k
    keys Home
    for i in $(seq 12); do
        keys Enter
        for k in $(seq 50); do # the lower part is empty until it is answered
            sleep 0.2
            if seen | grep -A1 '^-- why --' | grep -q '^[A-Z]'; then break; fi
        done
        if seen | grep -Eq -- "$1"; then return; fi
        keys Enter Down
    done
    return 1
}
ok "why the job under the cursor waits" cursor_on '^Job mine/waits: pending'
sed 's/ *$//' <("$PROGRAM" why job/waits -n mine) >why.txt
is "line by line as capstan why" 0 bash -c 'while IFS= read -r line; do grep -qF -- "$line" <<<"$0" || echo "$line"; done <why.txt | wc -l' "$(seen)"
run --gpus 2x1 --name last
soon "what is new comes by itself" '^mine +Job +last ' seen
says "and the cursor stays on its job" '^Job mine/waits: pending' seen
"$KUBECTL" delete job last -n mine >/dev/null
keys Enter
soon "the lower part closes" 0 bash -c "grep -c '^-- why --' <<<\"\$0\" || true" "$(sleep 0.5; seen)"
ok "what a status says is text" cursor_on 'gnp.exe'
says "no control character of it reaches the terminal" '^<b>\?\[2J\?\?gnp.exe' seen
keys Enter 1
soon "queues" '^all +t4 +nvidia.com/gpu +8 +6' seen
keys 3
soon "GPUs" '^t4-0 +0 +nvidia.com/gpu +1 .*mine/runs$' seen
says "what is not shown is said" '^not shown: GPUs of 2 nodes' seen
keys Tab
soon "round to the first" '^\[1 queues\]' seen
keys BTab
soon "and back" '\[3 GPUs\]' seen
keys 2 '>' '>' '>'
soon "the order is said" 'by NAME$' seen
order() { seen | awk '$1 == "mine" { printf "%s ", $3 }'; }
soon "and kept" '^runs waits $' order
keys r
soon "turned round" 'by NAME, the greatest first' seen
soon "with its rows" '^waits runs $' order
t resize-window -t top -x 20 -y 10
soon "a window that gets narrow is drawn anew" '^NAMESPACE   KIND  *>?$' seen
soon "no line passes it" '^20$' widest
is "the foot is the last of its lines" 10 bash -c 'wc -l <<<"$0"' "$(seen)"
keys Right Right Right Right Right Right
soon "what lies to the right can be reached" 'GANG' seen
keys Left Left Left Left Left Left Enter
soon "the lower part goes on in the next line" '^-- why --' seen
t resize-window -t top -x 20 -y 2
sleep 0.5
t resize-window -t top -x 160 -y 40
soon "and wide again" '^NAMESPACE +KIND +NAME +GANG +RUNNING' seen
of_top() { pgrep -P "$(t list-panes -t top -F '#{pane_pid}')" -x capstan; }
memory() { awk '/^RssAnon/ { print ($2 <= 4096) }' "/proc/$(of_top)/status"; }
resident() { awk '/^VmRSS/ { print ($2 <= 8192 ? "8 MB at most" : $2) }' "/proc/$(of_top)/status"; }
if grep -qa __asan_init "$PROGRAM"; then
    skip "memory of its own: 4 MB at most" "a sanitizer has more"
    skip "resident while it rests: 8 MB at most" "a sanitizer has more"
else
    is "memory of its own: 4 MB at most" 1 memory
    soon "resident while it rests: 8 MB at most" 'at most' resident
fi
keys q
soon "q ends it" '^ended with 0' seen
opens 80 20 --view gpus --sort busyPercent --reverse
soon "it begins as it was told" '\[3 GPUs\].* by BUSY %, the greatest first' seen
keys C-c
soon "so does an interrupt" '^ended with 0' seen
opens 80 20 --kubeconfig anna.yaml --view gpus
soon "who may not list them is told" 'forbidden' seen
keys 2
soon "and sees the others" '^mine +Job +runs' seen
kill -STOP "$server"
sleep 1
keys Down q
soon "a server that hangs is not waited for" '^ended with 0' seen
kill -CONT "$server"
opens 80 20 -n mine
soon "a terminal that goes away" '^mine +Job +runs' seen
running=$(of_top)
t kill-session -t top
soon "takes it along" '^gone$' bash -c "kill -0 $running 2>/dev/null || echo gone"
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # ncurses' own, where it finds no such terminal
for term in dumb nosuch ''; do
    opens 80 20
    t kill-session -t top
    t new-session -d -s top -x 80 -y 20 "TERM=$term ASAN_OPTIONS=$ASAN_OPTIONS $PROGRAM top 2>&1; echo \"ended with \$?\"; sleep 600"
    soon "TERM=$term: it says so" '(TERM=|of this terminal)' seen
    soon "TERM=$term: the exit code" '^ended with 2' seen
done
t kill-server
kill "$server"
