#!/bin/bash
# image.sh DEB - the container image of that package: what is in it (scripts/package/make-image), the program at work with nothing but that below
# its root, and the image itself built by buildah, without a network, where buildah is. Lines of TAP without numbers.
# shellcheck disable=SC2317 # functions are named to check
set -u
cd "$(dirname "$0")/../.." || exit 1
deb=$(realpath "$1")
most_mb=40
work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; wait; rm -rf "$work"' EXIT

say() { echo "$1 - image: $2"; }
check() { # WHAT COMMAND...
    local what=$1 said
    shift
    if said=$("$@" 2>&1); then say ok "$what"; else say "not ok" "$what"; printf '%s\n' "\$ $*" "$said" | tail -12 | sed 's/^/#   /'; fi
}
skip() { say ok "$1 # SKIP $2"; }
is() { [ "$1" = "$2" ] || { printf 'wanted: %s\ngot:    %s\n' "$1" "$2"; return 1; }; }
empty() { local said; said=$("$@"); [ -z "$said" ] || { echo "$said"; return 1; }; }

root=$work/context/root
check "it is laid out" scripts/package/make-image "$root" "$deb"
small() { [ "$(du -sm --apparent-size "$root" | cut -f1)" -lt $most_mb ]; }
check "of less than $most_mb MB" small
check "nothing in it is writable for others, setuid, or a device" empty find "$root" ! -type l \
    \( -perm /6000 -o -perm -2 ! -perm -1000 -o ! -type f ! -type d \)
check "no link leads out of it" empty find "$root" -lname "/*"
check "no shell and no package manager" empty find "$root" -name sh -o -name bash -o -name 'apt*' -o -name perl
again() { scripts/package/make-image "$work/again" "$deb" && diff -r "$root" "$work/again" && is "$(listed "$root")" "$(listed "$work/again")"; }
listed() { (cd "$1" && find . -printf '%p %m %T@ %l\n' | sort); }
check "the same packages give the same bytes" again
rm -rf "$work/again"
licences() {
    for package in "$root"/var/lib/dpkg/status.d/*; do
        [ -s "$root/usr/share/doc/${package##*/}/copyright" ] || { echo "${package##*/}"; return 1; }
        grep -q '^Version: ' "$package" || { echo "no version: $package"; return 1; }
    done
}
check "each package's version and licence" licences

# The program below that root, as 65532; nothing is mounted outside its own namespace.
# shellcheck disable=SC2016 # the inner shell expands it
beneath() {
    exec unshare --mount sh -c 'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" &&
        exec chroot --userspec=65532:65532 --groups= "$0" /usr/bin/capstan "$@"' "$root" "$@"
}
within() { (beneath "$@"); }
if [ "$(id -u)" != 0 ]; then
    skip "the program in it at work" "not root"
else
    version=$(dpkg-deb -f "$deb" Version)
    says_version() { is "capstan,$version" "$(within version -o csv | grep '^capstan,')"; }
    check "the program runs in it" says_version
    simulates() { within nvsim create /tmp/node --model t4 | grep -q "LD_LIBRARY_PATH="; }
    check "and finds the simulated driver" simulates
    free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
    port=$(free_port)
    beneath up --data-dir /tmp/c --listen "127.0.0.1:$port" --nodes 2:a100-40gb >"$work/up.log" 2>&1 &
    pid=$!
    for _ in $(seq 100); do [ -s "$root/tmp/c/kubeconfig" ] && grep -q '^kubeconfig' "$work/up.log" && break; sleep 0.1; done
    starts() { grep -q '^page:' "$work/up.log" || { cat "$work/up.log"; return 1; }; }
    check "a cluster starts in it" starts
    submits() { within submit --kubeconfig /tmp/c/kubeconfig --gpus 2x4 --name j --image x -- sleep 60; }
    check "a job is submitted from within" submits
    runs() {
        for _ in $(seq 100); do within jobs --kubeconfig /tmp/c/kubeconfig | grep -q 'Running' && return; sleep 0.1; done
        within jobs --kubeconfig /tmp/c/kubeconfig
        return 1
    }
    check "and runs" runs
    tops() { TERM=xterm within top --once --kubeconfig /tmp/c/kubeconfig | grep -q j; }
    check "top shows it" tops
    outside() { KUBECONFIG=$root/tmp/c/kubeconfig kubectl get pods | grep -q '^j-'; }
    check "kubectl outside sees its pods" outside
    zone() {
        KUBECONFIG=$root/tmp/c/kubeconfig kubectl apply -f - <<'YAML'
apiVersion: batch/v1
kind: CronJob
metadata: {name: late}
spec:
  schedule: "0 3 * * *"
  timeZone: Asia/Seoul
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: x}]}}}}
YAML
    }
    check "time zones are known" zone
    kill "$pid"
    wait "$pid"
    check "and it ends" is 0 $?
    pid=
    rm -rf "$root/tmp/c" "$root/tmp/node"
fi

# ---- the image itself
builds="buildah builds it without a network"
if ! command -v buildah >/dev/null; then
    skip "$builds" "no buildah here"
elif [ "$(id -u)" != 0 ]; then
    skip "$builds" "not root"
else
    bud() { buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs "$@"; }
    build() { unshare --net buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs build --timestamp 0 --isolation chroot \
        -f deploy/Containerfile -t capstan:test "$work/context"; }
    check "$builds" build
    about() { bud inspect --type image --format "{{$1}}" capstan:test; }
    check "it runs the program, as nobody" is '[/usr/bin/capstan] 65532:65532' "$(about .OCIv1.Config.Entrypoint) $(about .OCIv1.Config.User)"
    check "found by its name" is '[PATH=/usr/bin]' "$(about .OCIv1.Config.Env)"
    check "as an archive for those who have no registry, either" bud push -q capstan:test "oci-archive:$work/image.tar"
    echo "# $(du -m --apparent-size "$work/image.tar" | cut -f1) MB as an archive"
    started() {
        local from
        from=$(bud from --pull-never capstan:test) && is "capstan,$version" "$(bud run --isolation chroot "$from" capstan version -o csv | grep '^capstan,')"
    }
    check "a container of it starts" started
    bud rm -a >/dev/null 2>&1
fi
