# Start time, memory and throughput of `capstan up`: CAPSTAN is the program, BUILD its build folder.
#
# up.ready.N                   from exec to the first 200 of /readyz, median of 5, N nodes x 8 GPUs, empty data directory
# up.rss.10                    resident memory 3 s later, N = 10
# kubectl.get.nodes.over.start `kubectl get nodes` less `kubectl version --client`, best of 25 each
# server.bind.10000 ...        see load.c; 1,000 nodes
# server.bind.cpu.10000        CPU time of the server (user and system) for one pod: created, placed, bound, running, told
# server.gangs.NxSIZE          see load.c: N PodGroups of SIZE pods, 1 GPU each, and one of 512 pods of 8 GPUs, on 1,000 nodes
# server.vcjobs.10000x1        the same of Volcano Jobs of one pod each; .cpu: CPU time of the server for one of them; .loop: of that what its
#                              one loop takes, without the thread that writes commits
# server.gangs.cpu.1000x3      CPU time of the server for one pod of those, its part of the group included
# cli.jobs.10000 ...           what the lists take that people read, best of 25, with all of these pods: capstan jobs, nodes, nodes --summary, queues
# up.rss.1000x10000            resident memory 5 s after these
set -u
work=$(mktemp -d)
pid=
trap '[ -n "$pid" ] && kill "$pid" 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
now_ms() { date +%s%3N; }

start() { # NAME NODES...
    local name=$1 args=() begin
    shift
    for shape in "$@"; do args+=(--nodes "$shape"); done
    rm -rf "${work:?}/$name"
    begin=$(now_ms)
    "$CAPSTAN" up --data-dir "$work/$name" --listen 127.0.0.1:0 "${args[@]}" >"$work/log" 2>&1 &
    pid=$!
    for _ in $(seq 5000); do
        [ -s "$work/$name/kubeconfig" ] && break
        sleep 0.001
    done
    url=$(sed -n 's/ *server: //p' "$work/$name/kubeconfig")
    until curl -sf "$url/readyz" >/dev/null; do
        kill -0 "$pid" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
        sleep 0.002
    done
    ready_ms=$(($(now_ms) - begin))
}
stop() {
    kill "$pid"
    wait "$pid" 2>/dev/null
    pid=
}
rss_kb() { sed -n 's/VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$pid/status"; }
cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$pid/stat"; }
loop_us() { awk '{ print int($1 / 1000) }' "/proc/$pid/schedstat"; } # of the first thread alone
figure() { printf '{"name":"%s","value":%s,"unit":"%s"}\n' "$1" "$2" "$3"; }
best_ms() { # COMMAND...
    local best=999999 begin took
    for _ in $(seq 25); do
        begin=$(now_ms)
        "$@" >/dev/null 2>&1
        took=$(($(now_ms) - begin))
        [ "$took" -lt "$best" ] && best=$took
    done
    echo "$best"
}

ready() { # NODES: leaves the last one running
    local times=()
    for _ in 1 2 3 4 5; do
        [ -n "$pid" ] && stop
        start "n$1" "$1:h100-80gb"
        times+=("$ready_ms")
    done
    figure "up.ready.$1" "$(printf '%s\n' "${times[@]}" | sort -n | sed -n 3p)" ms
    sleep 3
}

ready 10
figure up.rss.10 "$(rss_kb)" KB
if command -v kubectl >/dev/null; then
    export KUBECONFIG=$work/n10/kubeconfig HOME=$work
    kubectl get nodes >/dev/null # discovery is cached from here on
    figure kubectl.get.nodes.over.start $(($(best_ms kubectl get nodes) - $(best_ms kubectl version --client))) ms
fi
stop

ready 1000
if [ -x "$BUILD/bench/bench_load" ]; then
    before=$(cpu_ticks)
    "$BUILD/bench/bench_load" "$url" 10000
    sleep 5
    figure server.bind.cpu.10000 $((($(cpu_ticks) - before) * 1000000 / $(getconf CLK_TCK) / 10000)) us
    figure up.rss.1000x10000 "$(rss_kb)" KB
    export KUBECONFIG=$work/n1000/kubeconfig
    figure cli.jobs.10000 "$(best_ms "$CAPSTAN" jobs --all-namespaces)" ms
    figure cli.nodes.10000 "$(best_ms "$CAPSTAN" nodes)" ms
    figure cli.nodes.summary.10000 "$(best_ms "$CAPSTAN" nodes --summary)" ms
    figure cli.queues.10000 "$(best_ms "$CAPSTAN" queues)" ms
fi
stop
if [ -x "$BUILD/bench/bench_load" ]; then
    start gangs 1000:h100-80gb
    before=$(cpu_ticks)
    "$BUILD/bench/bench_load" "$url" 3000 3 1
    sleep 5
    figure server.gangs.cpu.1000x3 $((($(cpu_ticks) - before) * 1000000 / $(getconf CLK_TCK) / 3000)) us
    "$BUILD/bench/bench_load" "$url" 512 512 8
    before=$(cpu_ticks) loop_before=$(loop_us)
    "$BUILD/bench/bench_load" "$url" 10000 1 0 vcjob
    sleep 5
    figure server.vcjobs.loop.10000x1 $((($(loop_us) - loop_before) / 10000)) us
    figure server.vcjobs.cpu.10000x1 $((($(cpu_ticks) - before) * 1000000 / $(getconf CLK_TCK) / 10000)) us
    stop
fi
