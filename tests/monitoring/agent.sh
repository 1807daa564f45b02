#!/usr/bin/env bash
# agent.sh - capstan agent on simulated GPUs as an exporter: pages, health, TLS and passwords, textfile, reload, a driver that hangs. TAP.
#
#   CAPSTAN  the program    BUILD  the build folder, for libnvsim
# shellcheck disable=SC2016,SC2034 # checks are given to eval, which sees the variables
set -u
here=$(cd "$(dirname "$0")" && pwd)
BUILD=$(realpath "${BUILD:-$here/../../build}")
CAPSTAN=$(realpath "${CAPSTAN:-$BUILD/capstan}")
library=$BUILD/libnvsim/libnvidia-ml.so.1
if [ ! -x "$CAPSTAN" ] || [ ! -e "$library" ]; then
    echo "ok 1 agent # SKIP capstan and libnvsim are not built"
    exit 0
fi
dir=$(mktemp -d)
children=()
finish() {
    for pid in "${children[@]}"; do
        kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
    done
    rm -rf "$dir"
}
trap finish EXIT
n=0
check() { # check NAME COMMAND...: true or false
    local name=$1
    shift
    n=$((n + 1))
    if "$@" >"$dir/out" 2>&1; then
        echo "ok $n agent: $name"
    else
        echo "not ok $n agent: $name"
        tail -n 30 "$dir/out" "$dir/log" | sed 's/^/# /'
    fi
}
skip() { # skip NAME WHY
    n=$((n + 1))
    echo "ok $n agent: $1 # SKIP $2"
}
until_true() { # until_true COMMAND...: within a minute
    local end=$((SECONDS + 60))
    while ! "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.1
    done
}
soon() { # soon NAME COMMAND...: of the page, which lacks the devices for a moment when this machine is too busy to collect twice in 600 ms
    local name=$1
    shift
    check "$name" until_true "$@"
}
free_port() {
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here /usr/bin/python3 -c 'import servers; print(servers.free_port())'
}
page() { curl -sS --max-time 30 "$url/metrics"; }
says() { page >"$dir/page" && grep -qE -- "$1" "$dir/page"; } # says PATTERN: the page has it
lacks() { page >"$dir/page" && ! grep -qE -- "$1" "$dir/page"; }
status_is() { # status_is CODE PATH [CURL-OPTION]...
    local want=$1 path=$2
    shift 2
    [ "$(curl -s -o /dev/null -w '%{http_code}' --max-time 30 "$@" "$url$path")" = "$want" ]
}
header_is() { # header_is PATTERN [CURL-OPTION]...
    local pattern=$1
    shift
    curl -sS -D - -o /dev/null --max-time 30 "$@" "$url/metrics" | tr -d '\r' | grep -qiE -- "$pattern"
}
told_ports() { sed -n 's/.* metrics port=\([0-9]*\) .*/\1/p' "$dir/log"; }
more_ports() { [ "$(told_ports | wc -l)" -gt "$1" ]; } # more_ports THAN
start_agent() { # start_agent OPTION...: $url is where it listens, on a port that its log tells
    local before
    before=$(told_ports | wc -l)
    "$CAPSTAN" agent --no-cluster --node-name n1 --library "$library" --plugin-dir "$dir/plugins" --state-dir "$dir/state" \
        --pod-resources-socket "$dir/pods.sock" --cdi-dir "$dir/cdi" --output-file "$dir/features" --address 127.0.0.1:0 \
        --collect-interval 300 "$@" >>"$dir/log" 2>&1 </dev/null &
    agent=$!
    children+=("$agent")
    until_true more_ports "$before"
    port=$(told_ports | tail -n 1)
    url=http://127.0.0.1:$port
}
stop_agent() {
    local others=() pid
    kill "$agent" && wait "$agent"
    for pid in "${children[@]}"; do
        [ "$pid" = "$agent" ] || others+=("$pid")
    done
    children=("${others[@]}")
}

: >"$dir/log"
mkdir "$dir/plugins" "$dir/textfile" "$dir/web"
"$CAPSTAN" nvsim create "$dir/node" --model a100-40gb --gpus 2 --node n1 >/dev/null || exit 1
export NVSIM_STATE=$dir/node/state
sleep 600 >/dev/null 2>&1 &
work=$!
children+=("$work")
"$CAPSTAN" nvsim start --gpu 0 --pid "$work" --follow --memory 2000 --sm 80 || exit 1

# ---- the page ----
start_agent --textfile "$dir/textfile"
soon "collects within seconds of its start" status_is 200 /readyz
soon "healthz, health, the index" eval 'status_is 200 /healthz && status_is 200 /health && status_is 200 /'
check "unknown paths are 404, other methods 405" eval 'status_is 404 /debug/pprof && status_is 405 /metrics -X POST'
soon "layer A: dcgm-exporter's names and labels" says '^DCGM_FI_DEV_FB_USED\{gpu="0",UUID="GPU-[^"]+",pci_bus_id="[^"]+",device="nvidia0",modelName="NVIDIA A100[^"]*",Hostname="n1",'
soon "layer B: the process with its real pid" says "^gpu_process_info\\{gpu=\"0\",pid=\"$work\",command=\"sleep\",pod=\"\",namespace=\"\",container=\"\",status=\"active\",gpu_memory=\"2000MiB\"\\} 1\$"
soon "layer B: an idle GPU" says '^gpu_process_info\{gpu="1",pid="",command="",pod="",namespace="",container="",status="idle",gpu_memory="0MiB"\} 1$'
soon "layer B: counts" eval "says '^gpu_session_count\\{gpu=\"0\"\\} 1\$' && says '^gpu_total_sessions 1\$'"
soon "layer C: bytes" says "^gpu_process_memory_bytes\\{gpu=\"0\",[^}]*pid=\"$work\"[^}]*\\} 2097152000\$"
soon "text format by default" header_is '^content-type: text/plain; version=0.0.4; charset=utf-8$'
check "OpenMetrics when asked for" header_is '^content-type: application/openmetrics-text; version=1.0.0; charset=utf-8$' \
    -H 'Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5'
check "HEAD has the length and no body" eval '[ -z "$(curl -sS --head -o /dev/null -w "%{size_download}" "$url/metrics" | tr -d 0)" ] && header_is "^content-length: [0-9]{4,}" --head'
soon "gzip is the same page" eval 'curl -sS -H "Accept-Encoding: gzip" "$url/metrics" | gzip -d | grep -q "^gpu_total_sessions 1$"'
check "sixteen at once are answered" eval 'curl -sS --parallel --parallel-max 16 --parallel-immediate -o /dev/null $(for i in $(seq 16); do echo "$url/metrics"; done)'
if command -v promtool >/dev/null; then
    # Names that are not ours to choose: dcgm-exporter's, the guide's, and labels that look like Go's.
    lint() {
        page | promtool check metrics >"$dir/lint" 2>&1
        ! grep -vE '^(DCGM_[A-Z0-9_]+ |gpu_session_count non-histogram)' "$dir/lint"
    }
    check "promtool finds nothing in names of ours" lint
else
    skip "promtool finds nothing in names of ours" "no promtool"
fi

# ---- textfile ----
soon "the textfile has the sessions" grep -q "^gpu_process_info{gpu=\"0\",pid=\"$work\"" "$dir/textfile/gpu_sessions.prom"
if command -v prometheus-node-exporter >/dev/null; then
    node_port=$(free_port)
    prometheus-node-exporter --collector.disable-defaults --collector.textfile --collector.textfile.directory="$dir/textfile" \
        --web.listen-address="127.0.0.1:$node_port" >>"$dir/log" 2>&1 </dev/null &
    children+=("$!")
    node_says() { curl -sS --max-time 30 "http://127.0.0.1:$node_port/metrics" | grep -qE -- "$1"; }
    soon "node-exporter takes the textfile" node_says '^gpu_total_sessions 1$'
    soon "node-exporter finds nothing wrong with it" node_says '^node_textfile_scrape_error 0$'
else
    skip "node-exporter takes the textfile" "no prometheus-node-exporter"
fi

# ---- what changes ----
"$CAPSTAN" nvsim fault --gpu 1 xid 31
soon "an XID is counted" says '^gpu_xid_errors_total\{[^}]*gpu="1"[^}]*xid="31"[^}]*\} 1$'
kill "$work"
soon "the series of a process end with it" lacks "pid=\"$work\""
"$CAPSTAN" nvsim fault --gpu 1 hang 3600
soon "a GPU that hangs: its values go, the other's stay" eval "lacks '^DCGM_FI_DEV_GPU_TEMP\{gpu=\"1\"' && says '^DCGM_FI_DEV_GPU_TEMP\{gpu=\"0\"'"
"$CAPSTAN" nvsim fault --gpu 1 back
soon "a GPU that is back" says '^DCGM_FI_DEV_GPU_TEMP\{gpu="1"'
"$CAPSTAN" nvsim fault --gpu 0 hang 3600 && "$CAPSTAN" nvsim fault --gpu 1 hang 3600
soon "a driver that hangs: the page says so" says '^gpu_agent_collect_stalled 1$'
check "a driver that hangs: no old values" lacks '^DCGM_FI_DEV_'
check "a driver that hangs: not ready, but alive" eval 'status_is 200 /healthz && until_true status_is 503 /readyz'
"$CAPSTAN" nvsim fault --gpu 0 back && "$CAPSTAN" nvsim fault --gpu 1 back
soon "a driver that is back" says '^DCGM_FI_DEV_GPU_TEMP\{gpu="0"'
sleep 0.5
stop_agent
check "the textfile goes with the agent" test ! -e "$dir/textfile/gpu_sessions.prom"

# ---- sessions of pods: real processes in cgroups that are made here ----
uid=01234567-89ab-cdef-0123-456789abcdef
container=$(printf '%064d' 7)
root=$dir/root
mkdir -p "$root/proc" "$root/var/log/containers" "$root/var/log/pods/team-a_train-0_$uid/main"
touch "$root/var/log/containers/train-0_team-a_main-$container.log"
ln -s /proc/stat "$root/proc/stat"
mkdir "$dir/bin"
in_pod() { # in_pod GPU MIB CGROUP NAME: a process of this name; its pid is $work
    ln -s "$(command -v sleep)" "$dir/bin/$4"
    "$dir/bin/$4" 600 >/dev/null 2>&1 &
    work=$!
    children+=("$work")
    mkdir "$root/proc/$work"
    ln -s "/proc/$work/stat" "/proc/$work/cmdline" "$root/proc/$work/"
    echo "0::$3" >"$root/proc/$work/cgroup"
    until_true grep -qaF -- "${4##*$'\n'}" "/proc/$work/comm"
    "$CAPSTAN" nvsim start --gpu "$1" --pid "$work" --follow --memory "$2" --sm 50
}
in_pod 0 1024 "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${uid//-/_}.slice/cri-containerd-$container.scope" $'a"b\\'
first=$work
in_pod 1 256 "/kubepods/pod$uid/$container" $'n\nl\xff\xfe\t"\\'
hostile=$work
in_pod 1 2048 "/kubepods/besteffort/pod$uid/$container/child" 'b) S 1 1'
start_agent --root "$root"
row='pod="train-0",namespace="team-a",container="main"'
soon "sessions: a process of a pod, systemd cgroups, a name with quotes" eval \
    "page | grep -qF 'gpu_process_info{gpu=\"0\",pid=\"$first\",command=\"a\\\"b\\\\\",$row,status=\"active\",gpu_memory=\"1024MiB\"} 1'"
soon "sessions: cgroupfs, below the container, a name with a parenthesis" eval \
    "page | grep -qF 'gpu_process_info{gpu=\"1\",pid=\"$work\",command=\"b) S 1 1\",$row,status=\"active\",gpu_memory=\"2048MiB\"} 1'"
unknown=$'\xef\xbf\xbd' # U+FFFD
hostile_row="gpu_process_info{gpu=\"1\",pid=\"$hostile\",command=\"nl$unknown$unknown\\\"\\\\\",$row,"
soon "sessions: a name with a line end, no UTF-8, quotes and backslashes" eval 'page | grep -qF -- "$hostile_row"'
if command -v promtool >/dev/null; then
    check "sessions: promtool reads them" lint
fi
started() { # SOURCE proc(5): field 22 of stat, in ticks since boot
    local ticks boot
    ticks=$(sed 's/.*) //' "/proc/$work/stat" | cut -d ' ' -f 20)
    boot=$(sed -n 's/^btime //p' /proc/stat)
    page | awk -v want="$((boot + ticks / $(getconf CLK_TCK)))" -v pid="pid=\"$work\"" \
        'index($0, "gpu_process_start_time_seconds{") == 1 && index($0, pid) { d = $NF - want; found = d >= -1 && d <= 2 } END { exit !found }'
}
soon "sessions: when it started" started
check "sessions: without podresources nobody is blamed" lacks '^gpu_unauthorized_processes'
kill "$work" "$hostile"
soon "sessions: they end with the process" eval "lacks 'pid=\"$work\"' && says '^gpu_session_count\{gpu=\"1\"\} 0\$'"
kill "$first"
stop_agent

# ---- a textfile's directory that comes late ----
written_says() { says "^gpu_agent_textfile_writes_total\\{outcome=\"$1\"\\} $2\$"; } # written_says OUTCOME PATTERN
failing_before=$(grep -c "textfile not written" "$dir/log")
start_agent --textfile "$dir/late"
soon "a textfile's directory that is missing is counted" written_says failed '([3-9]|[0-9]{2,})'
check "and said once" eval '[ "$(grep -c "textfile not written" "$dir/log")" = $((failing_before + 1)) ]'
mkdir "$dir/late"
ln -s "$dir/state/account" "$dir/late/.gpu_sessions.prom.new" # somebody's trap
sleep 1
rm "$dir/late/.gpu_sessions.prom.new"
soon "once it is there it is written" written_says written '[1-9][0-9]*'
check "whole, and nothing is left beside it" eval 'tail -n 1 "$dir/late/gpu_sessions.prom" | grep -q "^gpu_" && [ "$(ls -A "$dir/late" | grep -vc "^\.gpu_sessions\.prom\.new$")" = 1 ]'
kill -KILL "$agent" # no farewell: the file stays
wait "$agent" 2>/dev/null
check "a killed agent leaves its textfile" test -e "$dir/late/gpu_sessions.prom"
echo torn >"$dir/late/.gpu_sessions.prom.new"
start_agent --textfile "$dir/late"
soon "the next one writes it, over what was torn" written_says written '[1-9][0-9]*'
last_busy() { page | sed -n 's/^gpu_last_active_timestamp_seconds{gpu="0"} //p'; }
until_true eval 'busy_until=$(last_busy); [ -n "$busy_until" ]'
stop_agent
check "and removes it" eval '[ -z "$(ls -A "$dir/late")" ]'

# ---- idle since before the agent began ----
start_agent
soon "since when a GPU is idle is kept over a restart" eval '[ -n "$busy_until" ] && [ "$(last_busy)" = "$busy_until" ]'
stop_agent

# ---- counters file ----
printf 'DCGM_FI_DEV_GPU_TEMP, gauge, temperature\nDCGM_FI_DEV_NO_SUCH, gauge, nothing\n' >"$dir/counters.csv"
start_agent -f "$dir/counters.csv"
soon "a counters file chooses the fields" says '^DCGM_FI_DEV_GPU_TEMP'
soon "others are not there" eval "says '^DCGM_FI_DEV_GPU_TEMP' && lacks '^DCGM_FI_DEV_(FB_USED|SM_CLOCK)'"
check "a name that is not known is a warning" grep -q "DCGM_FI_DEV_NO_SUCH" "$dir/log"
printf 'DCGM_FI_DEV_SM_CLOCK, gauge, clock\n' >"$dir/counters.csv"
kill -HUP "$agent"
gap_seen=0
reloaded() { page >"$dir/page" && { grep -qE '^(DCGM_FI_DEV_|gpu_agent_collect_stalled 1$)' "$dir/page" || gap_seen=1; } && grep -q '^DCGM_FI_DEV_SM_CLOCK' "$dir/page"; }
soon "SIGHUP reads it again" reloaded
check "without a page that lacks both" test "$gap_seen" = 0
printf 'nonsense\n' >"$dir/counters.csv"
kill -HUP "$agent"
check "a wrong file leaves the list as it was" eval 'sleep 1; until_true says "^DCGM_FI_DEV_SM_CLOCK"'
stop_agent

# ---- TLS and passwords ----
if command -v openssl >/dev/null; then
    (cd "$dir/web" &&
        openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=test-ca &&
        openssl req -x509 -newkey rsa:2048 -nodes -keyout other.key -out other.pem -days 2 -subj /CN=other &&
        openssl req -newkey rsa:2048 -nodes -keyout client.key -out client.csr -subj /CN=prometheus &&
        openssl x509 -req -in client.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out client.pem -days 2 &&
        openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost \
            -addext subjectAltName=IP:127.0.0.1) >"$dir/openssl" 2>&1
    # bcrypt of "secret"
    cat >"$dir/web/web.yml" <<'END'
tls_server_config:
  cert_file: cert.pem
  key_file: key.pem
  client_ca_file: ca.pem
  client_auth_type: RequireAndVerifyClientCert
basic_auth_users:
  alice: $2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW
END
    start_agent --web-config-file "$dir/web/web.yml"
    url=https://127.0.0.1:$port
    tls=(--cacert "$dir/web/cert.pem")
    client=("${tls[@]}" --cert "$dir/web/client.pem" --key "$dir/web/client.key")
    other=("${tls[@]}" --cert "$dir/web/other.pem" --key "$dir/web/other.key")
    soon "TLS with a client certificate and a password" status_is 200 /metrics "${client[@]}" -u alice:secret
    check "no password: 401" status_is 401 /metrics "${client[@]}"
    check "a wrong one: 401" status_is 401 /metrics "${client[@]}" -u alice:guess
    check "health needs no password" status_is 200 /healthz "${client[@]}"
    check "no client certificate: no connection" eval '! curl -s --max-time 30 "${tls[@]}" -u alice:secret "$url/metrics"'
    check "somebody else's: no connection" eval '! curl -s --max-time 30 "${other[@]}" -u alice:secret "$url/metrics"'
    stop_agent
    printf 'tls_server_config: {cert_file: cert.pem, key_file: key.pem, min_versions: TLS13}\n' >"$dir/web/web.yml"
    check "a key that is not known ends the start, with its path" eval \
        '! "$CAPSTAN" agent --no-cluster --node-name n1 --library "$library" --plugin-dir "$dir/plugins" --state-dir "$dir/state" \
            --cdi-dir "$dir/cdi" --web-config-file "$dir/web/web.yml" >"$dir/said" 2>&1 && grep -q tls_server_config.min_versions "$dir/said"'
else
    skip "TLS and passwords" "no openssl"
fi

# ---- capstan sessions ----
check "capstan sessions: a table" eval '"$CAPSTAN" sessions --library "$library" | grep -qE "^1 .* idle$"'
check "capstan sessions: JSON" eval '"$CAPSTAN" sessions --library "$library" -o json | grep -q "\"status\": *\"idle\""'
check "capstan sessions: the textfile, for cron" eval '"$CAPSTAN" sessions --once --library "$library" --textfile "$dir/textfile" && grep -q "^gpu_total_sessions 0$" "$dir/textfile/gpu_sessions.prom"'
check "capstan sessions: a watch ends with its reader" eval 'timeout 60 "$CAPSTAN" sessions --watch --period 100ms --library "$library" | head -n 1 | grep -q "^GPU" && [ "${PIPESTATUS[0]}" != 124 ]'
check "capstan sessions: a disk that is full" eval '! "$CAPSTAN" sessions --library "$library" >/dev/full 2>"$dir/said" && grep -q "No space" "$dir/said"'
"$CAPSTAN" sessions --watch --period 100ms --library "$library" --textfile "$dir/late" >>"$dir/log" 2>&1 &
watch=$!
children+=("$watch")
soon "capstan sessions: a watch writes the textfile" test -e "$dir/late/gpu_sessions.prom"
kill -INT "$watch"
wait "$watch"
check "and takes it with it" test ! -e "$dir/late/gpu_sessions.prom"
check "capstan sessions: options that would be ignored are refused" eval '! "$CAPSTAN" sessions --period 5s 2>"$dir/said" && grep -q "goes with --watch" "$dir/said"'
check "capstan sessions: a folder that is missing" eval '! "$CAPSTAN" sessions --library "$library" --textfile "$dir/absent" 2>"$dir/said" && grep -q missing "$dir/said"'
echo "1..$n"
