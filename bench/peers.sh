# The same measurements on other programs, where they are installed: Debian's etcd-server. Skips what is absent.
#
# peer.etcd.ready   from exec to the first 200 of /health, milliseconds, median of 5, empty data directory
# peer.etcd.rss     resident memory 3 s later, no key stored
# peer.capstan.*    capstan up with 10 nodes, API server, scheduler and controllers included, measured between those
set -u
etcd=$(command -v etcd) || exit 0
work=$(mktemp -d)
pid=
trap '[ -n "$pid" ] && kill "$pid" 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
now_ms() { date +%s%3N; }
figure() { printf '{"name":"%s","value":%s,"unit":"%s"}\n' "$1" "$2" "$3"; }
rss_kb() { sed -n 's/VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$pid/status"; }
median() { printf '%s\n' "$@" | sort -n | sed -n 3p; }
stop() {
    kill "$pid"
    wait "$pid" 2>/dev/null
    pid=
}
# Until URL answers 200; sets ready_ms.
wait_for() { # BEGIN URL
    until curl -sf "$2" >/dev/null; do
        kill -0 "$pid" 2>/dev/null || exit 0
        [ $(($(now_ms) - $1)) -lt 60000 ] || exit 0
        sleep 0.002
    done
    ready_ms=$(($(now_ms) - $1))
    kill -0 "$pid" 2>/dev/null || exit 0 # somebody else answered: the port was taken
}
start_etcd() {
    local begin port=$((20000 + RANDOM % 10000))
    rm -rf "$work/etcd"
    begin=$(now_ms)
    "$etcd" --data-dir "$work/etcd" --listen-client-urls "http://127.0.0.1:$port" --advertise-client-urls "http://127.0.0.1:$port" \
        --listen-peer-urls "http://127.0.0.1:$((port + 1))" >"$work/log" 2>&1 &
    pid=$!
    wait_for "$begin" "http://127.0.0.1:$port/health"
}
start_capstan() {
    local begin
    rm -rf "$work/capstan"
    begin=$(now_ms)
    "$CAPSTAN" up --data-dir "$work/capstan" --listen 127.0.0.1:0 --nodes 10:h100-80gb >"$work/log" 2>&1 &
    pid=$!
    until [ -s "$work/capstan/kubeconfig" ]; do
        kill -0 "$pid" 2>/dev/null || exit 0
        sleep 0.001
    done
    wait_for "$begin" "$(sed -n 's/ *server: //p' "$work/capstan/kubeconfig")/readyz"
}

etcd_ms=() capstan_ms=()
for _ in 1 2 3 4 5; do
    start_etcd
    etcd_ms+=("$ready_ms")
    sleep 3
    etcd_kb=$(rss_kb)
    stop
    start_capstan
    capstan_ms+=("$ready_ms")
    sleep 3
    capstan_kb=$(rss_kb)
    stop
done
figure peer.etcd.ready "$(median "${etcd_ms[@]}")" ms
figure peer.etcd.rss "$etcd_kb" KB
figure peer.capstan.ready "$(median "${capstan_ms[@]}")" ms
figure peer.capstan.rss "$capstan_kb" KB
