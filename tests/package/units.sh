#!/bin/bash
# units.sh ROOT - the systemd units of a package, laid out below ROOT, started by a systemd of their own: in namespaces, over a copy of this
# machine's files that is thrown away, with a network and cgroups of its own. Lines of TAP without numbers, a plan or a reason to skip.
#
#   outside   looks whether that can be done here, and tells what came of it
#   inside    PID 1 of the namespaces: lays the files out and becomes systemd, which starts the unit `probe`
#   probe     starts the units, and looks
# shellcheck disable=SC2317 # functions are named to check and soon
set -u
here=$(realpath "$0")

say() { echo "$1 - units: $2"; }
check() { # WHAT COMMAND...
    local what=$1 said
    shift
    if said=$("$@" 2>&1); then say ok "$what"; else say "not ok" "$what"; printf '%s\n' "\$ $*" "$said" | tail -12 | sed 's/^/#   /'; fi
}
soon() { # WHAT COMMAND...: within 15 s
    local what=$1 end=$((SECONDS + 15))
    shift
    while ! "$@" >/dev/null 2>&1 && [ $SECONDS -lt $end ]; do sleep 0.1; done
    check "$what" "$@"
}

probe() {
    pid() { systemctl show -P MainPID "$1"; }
    state() { [ "$(systemctl is-active "$1")" = "$2" ]; }
    has() { grep -Eq "$2" "/proc/$(pid "$1")/status"; }
    answers() { curl -sf "$1" | grep -q "$2"; }
    other_than() { local now; now=$(pid "$1"); [ "$now" != 0 ] && [ "$now" != "$2" ]; }
    keeps_out() { ! nsenter -t "$(pid "$1")" -m touch "$2"; }
    # the agent, on a simulated driver
    eval "$(capstan nvsim create /var/lib/nvsim --model t4 --gpus 2)"
    printf 'NVSIM_STATE=%s\nLD_LIBRARY_PATH=%s\n' "$NVSIM_STATE" "$LD_LIBRARY_PATH" >/etc/default/capstan-agent
    unset NVSIM_STATE LD_LIBRARY_PATH
    check "the agent starts" systemctl start capstan-agent
    soon "it serves metrics" answers http://127.0.0.1:9400/metrics '^DCGM_FI_DEV_GPU_TEMP.*Tesla T4'
    check "its state is kept" test -d /var/lib/capstan
    check "it gets no rights that it has not" has capstan-agent 'NoNewPrivs:.*1'
    check "it may not write where programs are" keeps_out capstan-agent /usr/bin/x
    check "it reads its configuration again" systemctl reload capstan-agent
    local was
    was=$(pid capstan-agent)
    kill -9 "$was"
    soon "one that is killed is started again" other_than capstan-agent "$was"
    soon "and serves" answers http://127.0.0.1:9400/metrics '^DCGM_FI_DEV_GPU_TEMP.*Tesla T4'
    check "it stops" systemctl stop capstan-agent
    check "without a complaint" [ "$(systemctl show -P Result capstan-agent)" = success ]
    # the scheduler, of a cluster without one
    check "the scheduler waits for its kubeconfig" systemctl start capstan-scheduler
    check "and is no failure without" state capstan-scheduler inactive
    capstan up --listen 127.0.0.1:6443 --data-dir /run/cluster --nodes 1:t4 >/out/cluster.log 2>&1 &
    local cluster=$!
    soon "a cluster" test -s /run/cluster/kubeconfig
    mkdir -p /etc/capstan
    install -m 600 /run/cluster/kubeconfig /etc/capstan/kubeconfig
    KUBECONFIG=/run/cluster/kubeconfig kubectl create namespace capstan-system >/dev/null 2>&1
    check "the scheduler starts" systemctl start capstan-scheduler
    soon "it has read the cluster" answers http://127.0.0.1:8081/readyz ok
    soon "and leads" answers http://127.0.0.1:8081/metrics '^capstan_scheduler_leading 1'
    check "it is nobody here" has capstan-scheduler '^Uid:[[:space:]]+6[0-9]{4}'
    check "with no capability" has capstan-scheduler '^CapBnd:[[:space:]]+0+$'
    check "and may write nowhere of this machine's" keeps_out capstan-scheduler /var/lib/x
    check "it stops" systemctl stop capstan-scheduler
    check "without a complaint" [ "$(systemctl show -P Result capstan-scheduler)" = success ]
    kill "$cluster"
    wait "$cluster"
}

inside() { # PACKAGE WORK
    local r=$2/root d
    set -e
    mount --make-rprivate /
    mount -t tmpfs tmpfs "$2"
    mkdir "$2/upper" "$2/over" "$r"
    mount -t overlay overlay -o "lowerdir=/,upperdir=$2/upper,workdir=$2/over" "$r"
    mount -t proc proc "$r/proc"
    mount -t sysfs -o ro sysfs "$r/sys"
    mount -t cgroup2 cgroup2 "$r/sys/fs/cgroup"
    mount -t tmpfs -o mode=755 tmpfs "$r/run"
    mount -t tmpfs -o mode=755 tmpfs "$r/dev"
    for d in null zero full random urandom tty; do
        touch "$r/dev/$d"
        mount --bind "/dev/$d" "$r/dev/$d"
    done
    mkdir "$r/dev/shm" "$r/dev/pts" "$r/out"
    ln -s pts/ptmx "$r/dev/ptmx"
    mount --bind "$3" "$r/out"
    ip link set lo up
    # Nothing of this machine's is started.
    rm -rf "$r"/etc/systemd/system/* "$r"/usr/lib/systemd/system/*.wants "$r"/usr/lib/systemd/system-generators "$r/etc/fstab"
    cp -a "$1/usr" "$r/"
    cp "$here" "$r/probe.sh"
    for d in agent scheduler; do
        mkdir -p "$r/etc/systemd/system/capstan-$d.service.d"
        printf '[Service]\nStandardOutput=append:/out/%s.log\nStandardError=inherit\n' "$d" >"$r/etc/systemd/system/capstan-$d.service.d/said.conf"
    done
    mkdir -p "$r/etc/default"
    cat >"$r/etc/systemd/system/probe.service" <<'UNIT'
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
ExecStart=/bin/bash /probe.sh --probe
ExecStopPost=/bin/systemctl exit
StandardOutput=append:/out/said
StandardError=inherit
UNIT
    mkdir "$r/old"
    cd "$r"
    pivot_root . old # systemd makes namespaces for its units, which a root that is no mount would not do for
    umount -l /old
    mount --make-rshared / # as systemd finds it on a machine: mounts of credentials are to be seen by those who begin later
    container=other exec /lib/systemd/systemd --system --unit=probe.service --log-target=console --show-status=0 \
        </dev/null >/out/systemd.log 2>&1
}

case $1 in
--probe) probe; exit ;;
--inside) inside "$2" "$3" "$4"; exit ;;
esac

skip() { echo "ok - units # SKIP $1"; exit 0; }
[ "$(id -u)" = 0 ] || skip "needs root"
for program in /lib/systemd/systemd systemctl unshare nsenter curl kubectl ip; do
    command -v "$program" >/dev/null || skip "needs $program"
done
over=$(findmnt -n -t cgroup2 -o TARGET 2>/dev/null | head -1)
group=$over$(sed -n 's/^0:://p' /proc/self/cgroup)/capstan-units-$$
{ [ -n "$over" ] && mkdir "$group" 2>/dev/null; } || skip "no cgroup of its own can be made here"
work=$(mktemp -d) out=$(mktemp -d)
clean() {
    find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
    rm -rf "$work" "$out"
}
trap clean EXIT
(echo $BASHPID >"$group/cgroup.procs" && exec timeout 120 unshare --kill-child -mpfuiCn "$here" --inside "$1" "$work" "$out") >"$out/namespaces.log" 2>&1
if [ ! -s "$out/said" ]; then
    cat "$out"/*.log | tail -5 | sed 's/^/# /'
    skip "no systemd of its own can be started here"
fi
cat "$out/said"
grep -q '^not ok' "$out/said" && tail -n 15 "$out"/*.log | sed 's/^/#   /'
exit 0
