# Bad input of every sort: each gets a clear answer, nothing is half-applied, the server stays up and small.
if ! embedded || [ -z "${PROGRAM:-}" ] || ! command -v python3 >/dev/null; then
    skip "hostile input" "only with a server started here, and python3"
    return
fi
# ---- kubeconfigs ----
asks() { timeout 60 "$PROGRAM" "$@" 2>&1; [ $? -eq 2 ]; }
kubeconfig() { # FILE SERVER CLUSTER-FIELD USER-FIELDS
    cat >"$1" <<YAML
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "$2"$3}}]
users: [{name: u, user: {$4}}]
YAML
}
printf 'clusters: [\n' >broken
printf 'apiVersion: v1\nkind: Config\n' >empty
head -c 300 /dev/urandom >noise
kubeconfig nowhere http://127.0.0.1:1 "" ""
kubeconfig nohost "http://$(printf 'x%.0s' {1..64}).invalid" "" "" # a name that no name server is asked for
kubeconfig noca https://127.0.0.1:1 ", certificate-authority: /none/ca.crt" ""
kubeconfig nocert https://127.0.0.1:1 "" "client-certificate: /none/a.crt, client-key: /none/a.key"
kubeconfig badca https://127.0.0.1:1 ', certificate-authority-data: "!"' ""
mkdir -p folder
for verb in nodes queues jobs "why job/x"; do
    says "$verb: no such kubeconfig" 'none.*No such file' asks $verb --kubeconfig /none
    says "$verb: broken kubeconfig" 'broken: line' asks $verb --kubeconfig broken
    says "$verb: empty kubeconfig" 'current-context' asks $verb --kubeconfig empty
    says "$verb: noise for a kubeconfig" 'noise' asks $verb --kubeconfig noise
    says "$verb: a folder for a kubeconfig" 'folder' asks $verb --kubeconfig folder
    says "$verb: nobody there" 'is the server running' asks $verb --kubeconfig nowhere
    says "$verb: no such host" 'resolve host' asks $verb --kubeconfig nohost
    says "$verb: no authority" '/none/ca.crt' asks $verb --kubeconfig noca
    says "$verb: no certificate" '/none/a.crt' asks $verb --kubeconfig nocert
    says "$verb: a broken authority" 'base64' asks $verb --kubeconfig badca
done
for file in /none broken empty noise folder noca nocert badca; do
    says "scheduler: $file" "^capstan" asks scheduler --kubeconfig "$file"
done
# ---- up ----
up() { timeout 60 "$PROGRAM" up --nodes 1:cpu "$@" 2>&1; [ $? -eq 2 ]; }
data=$(dirname "$KUBECONFIG")
says "a data directory in use" 'in use by pid [0-9]+' up --data-dir "$data" --listen 127.0.0.1:0
is "and its server goes on" ok raw /healthz
port=$("$KUBECTL" config view --minify -o 'jsonpath={.clusters[0].cluster.server}')
port=${port##*:}
says "a port in use" 'address is in use' up --data-dir ./d --listen "127.0.0.1:$port"
"$PROGRAM" up --nodes 1:t4 --data-dir ./d --listen 127.0.0.1:0 >/dev/null 2>&1 &
server=$!
appears d/kubeconfig
is "a start that could not listen has made no nodes" node/t4-0 env KUBECONFIG="$PWD/d/kubeconfig" "$KUBECTL" get nodes -o name
kill "$server"; wait "$server" 2>/dev/null
says "no port" 'HOST:PORT' up --data-dir ./d --listen 127.0.0.1
says "a port that is none" 'HOST:PORT' up --data-dir ./d --listen 127.0.0.1:99999
says "another machine's address" 'add --tls' up --data-dir ./d --listen 192.0.2.1:8080
says "all addresses" 'add --tls' up --data-dir ./d --listen 0.0.0.0:0
says "no nodes" 'how many' up --data-dir ./d --nodes 0:cpu
says "no such shape" 'shape|known|understood' up --data-dir ./d --nodes 1:no-such-gpu
says "no speed" '--speed' up --data-dir ./d --speed nan
touch file
says "a file for a data directory" 'Not a directory' up --data-dir ./file --listen 127.0.0.1:0
says "a data directory that cannot be made" 'make directory' up --data-dir /proc/none --listen 127.0.0.1:0
mkdir -p damaged kept/kubeconfig
head -c 8192 /dev/urandom >damaged/capstan.db
before=$(md5sum <damaged/capstan.db)
says "a damaged database" 'damaged.*put a copy back' up --data-dir ./damaged --listen 127.0.0.1:0
is "which is left as it was" "$before" md5sum <damaged/capstan.db
says "a kubeconfig that cannot be written" 'write .*kubeconfig' up --data-dir ./kept --listen 127.0.0.1:0
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    program=$(mktemp) && cp "$PROGRAM" "$program" && chmod 755 "$program"
    readonly_dir=$(mktemp -d) && chmod 555 "$readonly_dir"
    says "a read-only data directory" 'Permission denied' bash -c 'timeout 60 setpriv --reuid=65534 --regid=65534 --clear-groups "$0" up --data-dir "$1" --listen 127.0.0.1:0 2>&1; [ $? -eq 2 ]' "$program" "$readonly_dir"
    rm -rf "$program" "$readonly_dir"
fi
# A page in the middle of the file turned to noise: told at the start, not served.
"$PROGRAM" up --nodes 20:cpu --data-dir ./page --listen 127.0.0.1:0 >/dev/null 2>&1 &
server=$!
appears page/kubeconfig
kill "$server"; wait "$server" 2>/dev/null
python3 - <<'PY'
import os
size = os.path.getsize("page/capstan.db")
with open("page/capstan.db", "r+b") as f:
    for at in range(4096, size, 4096):
        f.seek(at)
        f.write(os.urandom(64))
PY
says "damaged pages" 'damaged' up --data-dir ./page --listen 127.0.0.1:0
# ---- queues that turn in circles ----
for pair in "$NS-a $NS-b" "$NS-b $NS-a"; do
    set -- $pair
    said=$(printf 'apiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {name: %s}\nspec: {parentName: %s}\n' "$1" "$2" | k apply -f - 2>&1)
done
if grep -Eqi 'cycle' <<<"$said"; then pass "a circle of cohorts"; else
    says "a circle of cohorts is told" '[Cc]ycle' k get cohorts "$NS-b" -o yaml
fi
k delete cohorts "$NS-a" "$NS-b" >/dev/null 2>&1
for amount in -1 lots 1.5.2 0x10 1eE; do
    refuses "a quota of $amount" 'nominalQuota|quantit|Invalid' k create -f - <<YAML
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: $NS-q}
spec: {resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: "$amount"}]}]}]}
YAML
done
# ---- the server ----
server=$("$KUBECTL" config view --minify -o 'jsonpath={.clusters[0].cluster.server}')
pid=$(cat "$data/lock")
python3 "$ROOT/tests/api/server/95-hostile.py" "${server#http://}" "${pid:-0}" "$NS"
is "the server is still up" ok raw /healthz
