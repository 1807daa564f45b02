#!/bin/bash
# command.sh CAPSTAN - `capstan nvsim` as people type it, wrong input included; one TAP line a check
set -u
capstan=$(realpath "${1:?command.sh CAPSTAN}") || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
cd "$scratch" || exit 1
unset NVSIM_STATE
checks=0 failed=0

expect() { # expect NAME EXIT_CODE PATTERN ARGUMENT...: the command ends so and prints that
    local name=$1 code=$2 pattern=$3 output status=0
    shift 3
    output=$(timeout 60 "$capstan" nvsim "$@" 2>&1 </dev/null) || status=$?
    checks=$((checks + 1))
    if [ "$status" -eq "$code" ] && grep -qE -- "$pattern" <<<"$output"; then
        echo "ok $checks - $name"
    else
        failed=$((failed + 1))
        echo "not ok $checks - $name: exit $status, want $code and '$pattern'"
        echo "# ${output//$'\n'/$'\n'# }"
    fi
}

expect "help" 0 'Example: ' --help
expect "no verb" 2 'want create' --model t4
expect "unknown verb" 2 'want create' --state "$scratch" fly
expect "no node" 1 'capstan nvsim create' list
expect "a node that is not there" 3 'No such file' list --state "$scratch/none"
expect "create without a model" 2 'Give --model' create node
expect "create with an unknown model" 3 'a100-40gb' create node --model gtx
expect "create with too many GPUs" 2 'from 0 to 16' create node --model t4 --gpus 17
expect "create with a wrong CUDA version" 2 'such as 13.0' create node --model t4 --cuda-version thirteen
expect "create" 0 "^export NVSIM_STATE='.*/node/state'" create node --model h100-80gb --gpus 2 --node n1
checks=$((checks + 1))
libraries=node/root/usr/lib/$(uname -m)-linux-gnu
if [ "$(readlink "$libraries/libnvidia-ml.so")$(readlink "$libraries/libnvidia-ml.so.1")" = libnvidia-ml.so.1libnvidia-ml.so.580.95.05 ] &&
    [ -f "$libraries/libnvidia-ml.so.580.95.05" ] && [ ! -L "$libraries/libcuda.so.580.95.05" ]; then
    echo "ok $checks - the driver's libraries have its version in their names"
else
    failed=$((failed + 1))
    echo "not ok $checks - the driver's libraries have its version in their names"
    find node/root/usr | sed 's/^/# /'
fi
mkdir alone && cp "$capstan" alone/ && output=$(alone/capstan nvsim create away --model t4 2>&1)
checks=$((checks + 1))
if grep -q "$scratch/alone/libnvsim/libnvidia-ml.so.1" <<<"$output" || grep -q '^export' <<<"$output"; then # found: it is installed
    echo "ok $checks - create says where it looked for the library"
else
    failed=$((failed + 1))
    echo "not ok $checks - create says where it looked for the library: $output"
fi
expect "create again" 1 'there already' create node --model t4
export NVSIM_STATE=$scratch/node/state
expect "list" 0 'GPU-[0-9a-f-]{36} +0 +551/81559 MiB +70 W' list
expect "list as JSON" 0 '"model": "h100-80gb"' list --output json
expect "list as CSV" 0 '^gpu,uuid' list -o csv
expect "list in an unknown form" 2 'xml' list -o xml
expect "start without a GPU" 2 'Give --gpu' start --pid 7
expect "start without a process" 2 'either --pid' start --gpu 0
expect "start with a wrong share" 2 'from 0 to 100' start --gpu 0 --pid 7 --sm 101
expect "start with a wrong time" 2 '30s' start --gpu 0 --pid 7 --for ever
expect "start on a GPU that is not there" 3 'index from 0 to 1' start --gpu 2 --pid 7
expect "start with half a MIG device" 2 'both, --gi and --ci' start --gpu 0 --gi 1 --pid 7
expect "start on no MIG device" 3 'no MIG device 1/0.*list -o wide' start --gpu 0 --gi 1 --ci 0 --pid 7
expect "start with too much memory" 4 'out of memory' start --gpu 0 --pid 7 --memory 90000
expect "start following nobody" 3 'no such process' start --gpu 0 --pid 2147483646 --follow
expect "start" 0 '' start --gpu 0000:07:00.0 --pid 7 --memory 1000 --sm 50 --kind mps --name worker
expect "the work is there" 0 '"name": "worker"' list -o json
expect "start a command that is not there" 3 'No such file' start --gpu 0 -- ./none
expect "start a command" 0 '^hello$' start --gpu 0 -- echo hello
expect "reset a busy GPU" 1 'stop them first' reset --gpu 0
expect "stop nobody" 3 'no work' stop 8
expect "stop a word" 2 'the pid' stop everything
expect "stop" 0 '' stop 7
expect "a fault without a GPU" 2 'Give --gpu' fault xid 79
expect "an unknown fault" 1 'want xid, ecc' fault --gpu 1 fire
expect "a fault with a wrong number" 1 'from 1 to 999' fault --gpu 1 xid x
expect "a fault" 0 '' fault --gpu 1 xid 79
expect "the fault is there" 0 'lost' list
expect "reset all" 0 '' reset
expect "the fabric manager ends" 0 '' fault fabric-manager off
expect "a linked GPU is not reset alone" 1 'in the same command: 00000000:0f:00.0' reset --gpu 0
expect "linked GPUs are reset together" 0 '' reset --gpu "0,0000:0f:00.0"
expect "the fabric manager is back" 0 '' fault fabric-manager on
expect "a GPU that is not there" 3 'index' reset --gpu 0,7
expect "the fault is over" 0 '"lastXid": 0' list --output json
expect "the driver goes" 0 '' fault driver not-loaded
expect "the driver is gone" 0 '"driver": "not-loaded"' list -o yaml -o json
head -c 100 /dev/urandom >"$scratch/junk"
expect "a file that is no node" 1 'not the state' list --state "$scratch/junk"
truncate -s 5000 "$NVSIM_STATE"
expect "a state that was cut off" 1 'cut off' list
echo "1..$checks"
[ "$failed" -eq 0 ]
