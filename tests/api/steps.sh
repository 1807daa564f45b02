# steps.sh FILE - the words that the test files are written in; sources FILE between making and removing its namespace
#
#   k ARGS...                      kubectl in the file's namespace
#   ok WHAT CMD...                 passes when CMD succeeds
#   says WHAT PATTERN CMD...       ... and its output matches the extended regular expression
#   is WHAT TEXT CMD...            ... and its output is TEXT
#   refuses WHAT PATTERN CMD...    passes when CMD fails and its output matches
#   soon WHAT PATTERN CMD...       says, tried until it does: for whatever happens after a request was answered
#   skip WHAT WHY                  a check that cannot be made here
#   embedded | at_least MINOR | with_libnvsim WHAT      conditions
set -u
said=
# WHY  a quarter of what kubectl costs is collecting garbage of a process that ends at once; what watches for long collects at the limit.
export GOGC=off GOMEMLIMIT=256MiB

k() { "$KUBECTL" -n "$NS" "$@"; }
# get --raw paths stand for themselves
raw() { "$KUBECTL" get --raw "$1"; }
embedded() { [ -n "${EMBEDDED:-}" ]; }
at_least() { [ "${MINOR:-99}" -ge "$1" ]; }

pass() { echo "ok $1"; }
miss() {
    echo "not ok $1"
    shift
    # how it began, and how it ended
    printf '%s\n' "$@" | awk '{line[NR] = $0} NR <= 20; END {if (NR > 40) print "..."; for (i = NR > 40 ? NR - 19 : 21; i <= NR; i++) print line[i]}' |
        sed 's/^/#   /'
}
ok() {
    local what=$1; shift
    if said=$("$@" 2>&1); then pass "$what"; else miss "$what" "\$ $*" "$said"; fi
}
says() {
    local what=$1 pattern=$2; shift 2
    if said=$("$@" 2>&1) && grep -Eq -- "$pattern" <<<"$said"; then pass "$what"; else miss "$what" "\$ $*" "wanted: $pattern" "$said"; fi
}
is() {
    local what=$1 text=$2; shift 2
    if said=$("$@" 2>&1) && [ "$said" = "$text" ]; then pass "$what"; else miss "$what" "\$ $*" "wanted: $text" "$said"; fi
}
refuses() {
    local what=$1 pattern=$2; shift 2
    if said=$("$@" 2>&1); then miss "$what" "\$ $*" "succeeded: $said"
    elif grep -Eq -- "$pattern" <<<"$said"; then pass "$what"
    else miss "$what" "\$ $*" "wanted: $pattern" "$said"; fi
}
# Limits are for a busy machine: only what fails waits for a minute.
soon() {
    local what=$1 pattern=$2 until=$((SECONDS + 60)); shift 2
    while :; do
        if said=$("$@" 2>&1) && grep -Eq -- "$pattern" <<<"$said"; then pass "$what"; return; fi
        [ "$SECONDS" -lt "$until" ] || break
        sleep 0.2
    done
    miss "$what" "\$ $*" "wanted soon: $pattern" "$said"
}
appears() { # a file with something in it
    for _ in $(seq 1200); do [ -s "$1" ] && return; sleep 0.05; done
}
# A port for a server that is started again on it: below those that the kernel gives to connections meanwhile.
port_to_keep() {
    local port below=32768
    read -r below _ 2>/dev/null </proc/sys/net/ipv4/ip_local_port_range
    [ "$below" -ge 8192 ] || below=32768
    for _ in $(seq 100); do
        port=$((below / 2 + RANDOM % (below / 2)))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
    done
    echo "$port"
}
skip() { pass "$1 # SKIP $2"; }
# WHAT starts servers with agents of their own: `library` is what these call. False, and WHAT is skipped: not here.
with_libnvsim() {
    library=${CAPSTAN_LIBNVSIM:-$(dirname "${PROGRAM:-}")/libnvsim/libnvidia-ml.so.1}
    if ! embedded || [ -z "${PROGRAM:-}" ]; then
        skip "$1" "needs an embedded server of its own"
    elif [ ! -f "$library" ]; then
        skip "$1" "libnvsim is not built: $library"
    else
        return 0
    fi
    return 1
}

"$KUBECTL" create namespace "$NS" >/dev/null || { miss "namespace $NS"; exit 0; }
. "$1"
"$KUBECTL" delete namespace "$NS" --wait=false >/dev/null 2>&1
exit 0
