#!/bin/bash
# clients.sh CAPSTAN LIBRARY - NVML clients that others wrote, unchanged, on simulated nodes; one TAP line a check
#
#   CAPSTAN, LIBRARY  the program and libnvidia-ml.so.1 of a build
#   NVML_PYTHON       a Python with nvidia-ml-py, gpustat or py3nvml (default: python3); what it lacks is skipped
#   NVTOP             nvtop (default: the one in PATH)
#   LSTOPO            hwloc's lstopo with its NVML plugin (libhwloc-contrib-plugins; default: the one in PATH)
#   NVIDIA_CTK        NVIDIA's nvidia-ctk (default: the one in PATH); with MIG as root only, since it reads /proc/driver
# What they printed when they were last looked at: docs/nvml-clients.md
set -u
here=$(cd "$(dirname "$0")" && pwd)
capstan=$(realpath "${1:?clients.sh CAPSTAN LIBRARY}") || exit 1
library=$(realpath "${2:?clients.sh CAPSTAN LIBRARY}") || exit 1
export CAPSTAN=$capstan
python=${NVML_PYTHON:-python3}
nvtop=${NVTOP:-$(command -v nvtop)}
lstopo=${LSTOPO:-$(command -v lstopo-no-graphics)}
ctk=${NVIDIA_CTK:-$(command -v nvidia-ctk)}
scratch=$(mktemp -d)
pid=
work_end() {
    [ -z "$pid" ] || { kill "$pid" && wait "$pid"; } 2>/dev/null
    pid=
}
finish() {
    work_end
    rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP
export LD_LIBRARY_PATH=${library%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
checks=0 failed=0
if grep -qaE '__(asan|tsan)_init' "$library"; then
    echo "1..0 # SKIP programs without the sanitizer cannot load this library"
    exit 0
fi

check() { # check NAME FILE PATTERN...: every pattern is in the file
    local name=$1 file=$2 pattern missing=
    shift 2
    for pattern in "$@"; do
        grep -qaE -- "$pattern" "$file" || missing=${missing:+$missing, }$pattern
    done
    checks=$((checks + 1))
    if [ -z "$missing" ]; then
        echo "ok $checks - $name"
        return
    fi
    failed=$((failed + 1))
    echo "not ok $checks - $name: not found: $missing"
    head -c 3000 "$file" | tr -d '\033' | sed 's/^/# /'
    echo
}
skip() {
    checks=$((checks + 1))
    echo "ok $checks - $1 # SKIP $2"
}

# node MODEL GPUS: a node of its own, with work of a live process (gpustat hides others) on GPU 0
node() {
    work_end
    "$capstan" nvsim create "$scratch/$1" --model "$1" --gpus "$2" >"$scratch/create" || exit 1
    export NVSIM_STATE=$scratch/$1/state
    "$capstan" nvsim start --gpu 0 --memory 9000 --sm 90 --memory-load 40 -- sleep 300 &
    pid=$!
    for _ in {1..600}; do
        "$capstan" nvsim list --output json | grep -q "\"pid\": $pid" && return
        sleep 0.1
    done
    echo "not ok - work on $1 does not start"
    exit 1
}
has_module() {
    "$python" -c "import $1" 2>/dev/null
}

python_clients() { # MODEL NAME
    if "$python" -c "import pynvml; pynvml.nvmlDeviceGetNumaNodeId" 2>/dev/null; then
        timeout 60 "$python" "$here/pynvml_tour.py" "$1" >"$scratch/out" 2>&1
        check "nvidia-ml-py on $1" "$scratch/out" "^name $2$" "^process $pid 9437184000" '^utilization 90 40$' '^done$'
    else
        skip "nvidia-ml-py on $1" "$python has no module pynvml (nvidia-ml-py 12.550 or later)"
    fi
    if has_module gpustat; then
        timeout 60 "$python" -m gpustat --no-color --show-pid --show-power >"$scratch/out" 2>&1
        check "gpustat on $1" "$scratch/out" "\[0\] $2 +\|" "/$pid\(9000M\)"
    else
        skip "gpustat on $1" "$python has no module gpustat"
    fi
    if has_module py3nvml; then
        timeout 60 "$python" -c '
from py3nvml.py3nvml import *
nvmlInit()
d = nvmlDeviceGetHandleByIndex(0)
print(nvmlDeviceGetName(d), nvmlDeviceGetUtilizationRates(d).gpu, nvmlDeviceGetComputeRunningProcesses(d)[0].pid)' >"$scratch/out" 2>&1
        check "py3nvml on $1" "$scratch/out" "^$2 90 $pid$"
    else
        skip "py3nvml on $1" "$python has no module py3nvml"
    fi
}

nvtop_client() { # MODEL NAME
    if [ -z "$nvtop" ] || ! command -v script >/dev/null; then
        skip "nvtop on $1" "nvtop or script is not installed"
        return
    fi
    local seconds
    for seconds in 3 20; do # until it has drawn its screen, in the foreground: elsewhere the terminal would stop it
        TERM=xterm SHELL=/bin/sh timeout 60 script -qec "stty rows 40 cols 140; timeout --foreground -s INT $seconds $nvtop" /dev/null </dev/null >"$scratch/out" 2>&1
        ! grep -qa POW "$scratch/out" || break
    done
    check "nvtop on $1" "$scratch/out" "\[$2" "$pid" '9000MiB' 'POW'
}

lstopo_client() { # MODEL NAME
    if [ -z "$lstopo" ] || ! timeout 30 "$lstopo" --no-caches -v >"$scratch/out" 2>&1 || ! grep -q 'Backend=NVML' "$scratch/out"; then
        skip "hwloc on $1" "lstopo or its NVML plugin is not installed"
        return
    fi
    check "hwloc on $1" "$scratch/out" "GPUModel=\"$2\" NVIDIASerial=[0-9]+ NVIDIAUUID=GPU-[0-9a-f-]+\) \"nvml0\"" '"nvml1"'
}

ctk_client() { # MODEL
    local root=$scratch/$1/root in_root=() names=('"hostPath": ?"[^"]*/libcuda\.so\.580\.95\.05"' '"hostPath": ?"[^"]*/libnvidia-ml\.so\.580\.95\.05"' '"name": ?"1"')
    if [ -z "$ctk" ]; then
        skip "nvidia-ctk on $1" "it is not installed"
        return
    fi
    if [ "$1" = h100-80gb ] && unshare --mount true 2>/dev/null; then
        printf 'version: v1\nmig-configs:\n  two:\n  - {devices: [1], mig-enabled: true, mig-devices: {1g.10gb: 2}}\n' >"$scratch/mig"
        "$capstan" mig apply -f "$scratch/mig" -c two --library "$library" >/dev/null || exit 1
        in_root=("$here/inroot.sh" "$scratch/$1" "$library")
        names[2]='"path": ?"/dev/nvidia-caps/nvidia-cap[0-9]+"'
        names+=('"name": ?"1:1"')
    fi
    LD_LIBRARY_PATH='' "${in_root[@]}" "$ctk" cdi generate --mode nvml --driver-root="$root" --dev-root="$root" --format=json >"$scratch/out" 2>/dev/null
    check "nvidia-ctk on $1" "$scratch/out" "${names[@]}"
}

for model in "t4:Tesla T4" "a100-40gb:NVIDIA A100-SXM4-40GB" "h100-80gb:NVIDIA H100 80GB HBM3" "b200:NVIDIA B200"; do
    node "${model%%:*}" 2
    python_clients "${model%%:*}" "${model#*:}"
    nvtop_client "${model%%:*}" "${model#*:}"
    lstopo_client "${model%%:*}" "${model#*:}"
    ctk_client "${model%%:*}"
done
echo "1..$checks"
[ "$failed" -eq 0 ]
