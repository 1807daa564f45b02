# Start time and memory of `capstan up`: CAPSTAN is the program. up.ready.N: from exec to the first 200 of /readyz, milliseconds, median of 5.
set -u
work=$(mktemp -d)
trap 'kill %1 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
now_ms() { date +%s%3N; }

start() { # NAME NODES...
    local name=$1 args=()
    shift
    for shape in "$@"; do args+=(--nodes "$shape"); done
    rm -rf "$work/$name"
    begin=$(now_ms)
    "$CAPSTAN" up --data-dir "$work/$name" --listen 127.0.0.1:0 "${args[@]}" >"$work/log" 2>&1 &
    pid=$!
    for _ in $(seq 2000); do
        [ -s "$work/$name/kubeconfig" ] && break
        sleep 0.001
    done
    url=$(sed -n 's/ *server: //p' "$work/$name/kubeconfig")
    until curl -sf "$url/readyz" >/dev/null; do sleep 0.002; done
    ready_ms=$(($(now_ms) - begin))
}
stop() { kill "$pid"; wait "$pid" 2>/dev/null; }
rss_kb() { sed -n 's/VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$pid/status"; }
figure() { printf '{"name":"%s","value":%s,"unit":"%s"}\n' "$1" "$2" "$3"; }

for nodes in 10 1000; do
    times=()
    for _ in 1 2 3 4 5; do
        start "n$nodes" "$nodes:h100-80gb"
        times+=("$ready_ms")
        [ ${#times[@]} -lt 5 ] && stop
    done
    figure "up.ready.$nodes" "$(printf '%s\n' "${times[@]}" | sort -n | sed -n 3p)" ms
    sleep 3
    [ "$nodes" = 10 ] && figure up.rss.10 "$(rss_kb)" KB
    if [ "$nodes" = 1000 ] && [ -x "$BUILD/bench/bench_load" ]; then
        "$BUILD/bench/bench_load" "$url" 10000
        sleep 5
        figure up.rss.1000x10000 "$(rss_kb)" KB
    fi
    if [ "$nodes" = 10 ] && command -v kubectl >/dev/null; then
        export KUBECONFIG=$work/n$nodes/kubeconfig HOME=$work
        kubectl get nodes >/dev/null
        total=0 own=0
        for _ in 1 2 3 4 5; do
            begin=$(now_ms); kubectl get nodes >/dev/null; total=$((total + $(now_ms) - begin))
            begin=$(now_ms); kubectl version --client >/dev/null 2>&1; own=$((own + $(now_ms) - begin))
        done
        figure kubectl.get.nodes.over.start $(((total - own) / 5)) ms
    fi
    stop
done
