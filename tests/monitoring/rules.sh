#!/usr/bin/env bash
# rules.sh - what promtool can say without a server: rules, their unit tests, and pages as they would be scraped. Lines "ok NAME".
set -u
cd "$(dirname "$0")/../.." || exit 1
# Findings that stay: the session guide's gpu_session_count, and names and labels that are DCGM's. All others are ours to mend.
THEIRS='^(DCGM_(FI|EXP)_[A-Z0-9_]+|dcgm_[a-z0-9_]+|gpu_session_count) '

step() { # NAME COMMAND...
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then
        echo "ok $name"
    else
        echo "not ok $name"
        printf '%s\n' "$output" | sed 's/^/# /'
    fi
}
lint() { # PAGE: nothing but THEIRS; 3 is promtool's status for findings
    local output status=0
    output=$(promtool check metrics <"$1" 2>&1) || status=$?
    [ "$status" -eq 0 ] || [ "$status" -eq 3 ] || { echo "$output"; return 1; }
    ! grep -vE "$THEIRS" <<<"$output" | grep .
}

step "what deploy/monitoring/make writes is there" deploy/monitoring/make --check
if ! command -v promtool >/dev/null; then
    echo "ok rules # SKIP promtool (Debian package prometheus) is not installed"
    exit 0
fi
for name in gpu queues; do
    step "rules are well-formed: $name" promtool check rules deploy/monitoring/$name.rules.yaml
    step "each alert fires when it should and not otherwise: $name" promtool test rules tests/monitoring/$name.test.yaml
    alerts=$(sed -n 's/^ *- alert: //p' deploy/monitoring/$name.rules.yaml) untested='' told=''
    for alert in $alerts; do
        grep -A 3 "alertname: $alert\b" tests/monitoring/$name.test.yaml | grep -q exp_labels || untested="$untested$alert "
    done
    step "each alert has a test in which it fires: $name" test -z "$untested"
    for alert in $alerts; do
        grep -q "\b$alert\b" docs/monitoring.md || told="$told$alert "
    done
    step "each alert is in docs/monitoring.md: $name" test -z "$told"
done
# dcgm-exporter's order; behind Hostname the label fields, then the attributes, each by name.
MIG='(,GPU_I_PROFILE="[^"]+",GPU_I_ID="[0-9]+")?'
ATTRIBUTES='container="[^"]*"(,err_code="[0-9]+",err_msg="[^"]+")?,namespace="[^"]*",pod="[^"]*"(,pod_uid="[^"]+")?'
ORDER="^DCGM_[A-Z0-9_]+\{gpu=\"[0-9]+\",UUID=\"GPU-[^\"]+\",pci_bus_id=\"[0-9A-F]{8}:[0-9A-F]{2}:00.0\",device=\"nvidia[0-9]+\","
ORDER="${ORDER}modelName=\"[^\"]+\"$MIG,Hostname=\"[^\"]+\",DCGM_FI_DRIVER_VERSION=\"[0-9.]+\",$ATTRIBUTES\} [0-9.]+$"
in_order() {
    local page=$1
    [ "$(grep -cE '^DCGM_' "$page")" -gt 20 ] && ! grep -E '^DCGM_' "$page" | grep -vE "$ORDER"
}
for page in a100 h100 shared; do
    step "labels of DCGM's families in dcgm-exporter's order: $page" in_order "tests/golden/exporter/$page.txt"
done
for page in tests/golden/exporter/*.txt; do
    case $page in
    *openmetrics*) ;; # promtool reads the text format only; the live test has Prometheus read these
    *) step "promtool check metrics $(basename "$page" .txt)" lint "$page" ;;
    esac
done
