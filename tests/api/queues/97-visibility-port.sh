# capstan scheduler serves the visibility API to an API server's front proxy, and to nobody else. curl plays the front proxy.
if ! embedded || [ -z "${PROGRAM:-}" ] || ! command -v curl >/dev/null || ! command -v openssl >/dev/null; then
    skip "the port of the visibility API" "only with a server started here, curl and openssl"
    return
fi
ca() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1.key" -subj "/CN=$1" -days 1 -out "$1.crt" 2>/dev/null; }
signed() { # NAME CN CA [EXTENSION]
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1.key" -subj "/CN=$2" -out "$1.csr" 2>/dev/null
    openssl x509 -req -in "$1.csr" -CA "$3.crt" -CAkey "$3.key" -set_serial "$RANDOM" -days 1 -out "$1.crt" ${4:+-extfile <(echo "$4")} 2>/dev/null
}
V=/apis/visibility.kueue.x-k8s.io
# ask CERTIFICATE PATH [CURL-ARGUMENT...]: status, then the body
ask() {
    local cert=$1 path=$2
    shift 2
    curl -sk -w '%{http_code} ' -o body --cert "$cert.crt" --key "$cert.key" "$@" "https://127.0.0.1:$port$path" && cat body
}
proxy() { ask proxy "$1" -H 'X-Remote-User: jane'; }
proxy_ca() { # NAME [NAMES]: the front proxy's certificates are of this CA from now on
    "$KUBECTL" create configmap extension-apiserver-authentication -n kube-system --from-file=requestheader-client-ca-file="$1.crt" \
        --from-literal=requestheader-allowed-names="${2-[\"front-proxy\"]}" --from-literal=requestheader-username-headers='["X-Remote-User"]' \
        --dry-run=client -o yaml | "$KUBECTL" apply -f - >/dev/null 2>&1
}
mkdir -p port && cd port || return
head -c 4000000 /dev/zero >long
ca first; ca second
signed proxy front-proxy first
signed other somebody first
signed foreign front-proxy second
# A replica that does not lead: somebody else has the Lease.
{ echo "# YAML"; cat <<YAML
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: capstan-scheduler}, spec: {holderIdentity: somebody, leaseDurationSeconds: 36000,
 leaseTransitions: 0, acquireTime: "$(date -u +%FT%T.000000Z)", renewTime: "$(date -u +%FT%T.000000Z)"}}
YAML
} | k apply -f - >/dev/null
command=("$PROGRAM" scheduler --kubeconfig "$KUBECONFIG" --lease-namespace "$NS" --hold --no-kueue --no-volcano --scheduler-name nobody)
"${command[@]}" --visibility-address 127.0.0.1:0 2>log &
scheduler=$!
soon "it says where" 'visibility API port=[0-9]' cat log
port=$(sed -n 's/.*visibility API port=\([0-9]*\).*/\1/p' log | head -1)
soon "before the front proxy is known: nothing" '^503 .*the CA of the front proxy is not known' proxy $V/v1beta2
proxy_ca first
soon "then it is answered" '^200 .*"kind":"APIResourceList".*"name":"localqueues/pendingworkloads"' proxy $V/v1beta2
says "the group" '^200 .*"preferredVersion":\{"groupVersion":"visibility.kueue.x-k8s.io/v1beta2"' proxy $V
says "an OpenAPI document without kinds" '^200 .*"swagger":"2.0"' proxy /openapi/v2
says "one who is not the front proxy is not" '^401 ' ask other $V/v1beta2 -H 'X-Remote-User: jane'
says "nor is one of another CA" '^401 ' ask foreign $V/v1beta2 -H 'X-Remote-User: jane'
says "nor who has no certificate" '^401 ' curl -sk -w '%{http_code} ' -H 'X-Remote-User: jane' "https://127.0.0.1:$port$V/v1beta2" -o /dev/null
says "nor the proxy when it speaks for nobody" '^401 .*does not say for whom' ask proxy $V/v1beta2
{ echo "# YAML"; cat <<YAML
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: $NS-f}, spec: {}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: $NS-q}, spec: {namespaceSelector: {}, stopPolicy: Hold, resourceGroups: [
 {coveredResources: [pods], flavors: [{name: $NS-f, resources: [{name: pods, nominalQuota: 1}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: red}, spec: {clusterQueue: $NS-q}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: waits, labels: {kueue.x-k8s.io/queue-name: red}}, spec: {suspend: true, template: {
 spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}}
YAML
} | k apply -f - >/dev/null
soon "who waits in a ClusterQueue" '^200 .*"apiVersion":"visibility.kueue.x-k8s.io/v1beta2".*"name":"waits".*"positionInClusterQueue":0' proxy "$V/v1beta2/clusterqueues/$NS-q/pendingworkloads"
says "and in a LocalQueue, in the other version" '^200 .*visibility.kueue.x-k8s.io/v1beta1".*"name":"waits".*"localQueueName":"red"' proxy "$V/v1beta1/namespaces/$NS/localqueues/red/pendingworkloads"
says "limits count" '^200 .*"items":\[\]' proxy "$V/v1beta2/clusterqueues/$NS-q/pendingworkloads?offset=1"
says "a limit that is no number" '^400 .*no whole number' proxy "$V/v1beta2/clusterqueues/$NS-q/pendingworkloads?limit=x"
says "a queue that is not there" '^404 .*clusterqueue.visibility.kueue.x-k8s.io ..none.. not found' proxy "$V/v1beta2/clusterqueues/none/pendingworkloads"
for path in / /apis $V/v1 "$V/v1beta2/clusterqueues" "$V/v1beta2//clusterqueues/$NS-q/pendingworkloads" "$V/v1beta2/clusterqueues/$NS-q/pendingworkloads/" \
    "$V/v1beta2/namespaces/$NS/clusterqueues/$NS-q/pendingworkloads" "$V/v1beta2/namespaces//localqueues/red/pendingworkloads" /1/2/3/4/5/6/7/8/9/10/11; do
    says "nothing at $path" '^404 ' ask proxy "$path" --path-as-is -H 'X-Remote-User: jane'
done
says "nor is what comes with a request kept: no limit of its size" '^200 ' ask proxy $V/v1beta2 -H 'X-Remote-User: jane' -X GET --data-binary @long -H Expect:
says "nothing is written" '^405 ' ask proxy "$V/v1beta2/clusterqueues/$NS-q/pendingworkloads" -X POST -H 'X-Remote-User: jane'
proxy_ca first '["front-proxy"'
soon "names that are no list: nobody is answered" '^401 ' proxy $V/v1beta2
proxy_ca first ''
soon "no names: whoever has a certificate of the CA" '^200 ' ask other $V/v1beta2 -H 'X-Remote-User: jane'
proxy_ca second
soon "another CA: its front proxy is answered" '^200 ' ask foreign $V/v1beta2 -H 'X-Remote-User: jane'
says "the old one no longer" '^401 ' proxy $V/v1beta2
"$KUBECTL" delete configmap extension-apiserver-authentication -n kube-system >/dev/null 2>&1
soon "and nobody when it is gone" '^503 ' ask foreign $V/v1beta2 -H 'X-Remote-User: jane'
is "all this without the Lease" somebody k get lease capstan-scheduler -o 'jsonpath={.spec.holderIdentity}'
ok "it ends" bash -c "kill $scheduler; while kill -0 $scheduler 2>/dev/null; do sleep 0.1; done"

# --- a certificate from files, as a mounted Secret has them: a folder behind a link that is renamed
NAME=capstan-visibility.capstan-system.svc
files() { # FOLDER CA
    mkdir "$1" && signed "$1/tls" "$NAME" "$2" "subjectAltName=DNS:$NAME"
}
mount() { ln -s "$1" new && mv -T new tls; }
files old first; files new-pair second; mkdir broken && cp old/tls.crt broken/ && cp new-pair/tls.key broken/
mount old
serve() { timeout 20 "${command[@]}" "$@" 2>&1; }
refuses "a certificate without its key" 'certificate.s key as well, with --tls-private-key-file' serve --visibility-address 127.0.0.1:0 --tls-cert-file tls/tls.crt
refuses "a key without its certificate" 'key.s certificate as well, with --tls-cert-file' serve --visibility-address 127.0.0.1:0 --tls-private-key-file tls/tls.key
refuses "both without a port" 'it goes with --visibility-address' serve --tls-cert-file tls/tls.crt --tls-private-key-file tls/tls.key
refuses "files that are not there" 'certificate and key: open none/tls.crt: No such file' serve --visibility-address 127.0.0.1:0 --tls-cert-file none/tls.crt --tls-private-key-file tls/tls.key
refuses "a key of another certificate" 'broken/tls.crt, broken/tls.key: TLS: certificate and key cannot be used together' serve --visibility-address 127.0.0.1:0 --tls-cert-file broken/tls.crt --tls-private-key-file broken/tls.key
refuses "what is no certificate" 'log, tls/tls.key: TLS: certificate and key cannot be used' serve --visibility-address 127.0.0.1:0 --tls-cert-file log --tls-private-key-file tls/tls.key
proxy_ca first
"${command[@]}" --visibility-address 127.0.0.1:0 --tls-cert-file tls/tls.crt --tls-private-key-file tls/tls.key 2>log2 &
scheduler=$!
soon "it serves" 'visibility API port=[0-9]' cat log2
port=$(sed -n 's/.*visibility API port=\([0-9]*\).*/\1/p' log2 | head -1)
# As the API server with a caBundle: who answers has to be of this CA, and of this name.
verified() { curl -s --cacert "$1.crt" --resolve "$NAME:$port:127.0.0.1" -w '%{http_code} ' -o body --cert proxy.crt --key proxy.key -H 'X-Remote-User: jane' "https://$NAME:$port$V/v1beta2" && cat body; }
soon "who asks whose certificate it is, is content" '^200 .*"APIResourceList"' verified first
refuses "of another CA it is not" '' verified second
mount broken
soon "a pair that does not fit: the one before stays, and the log says why" 'the certificate before stays in use file=tls/tls.crt error="TLS: certificate and key cannot be used together' cat log2
soon "it answers as before" '^200 ' verified first
rm tls
soon "so it is without files" 'the certificate before stays in use error="open tls/tls.crt: No such file' cat log2
says "it answers all the same" '^200 ' verified first
mount new-pair
soon "a new pair is served without a restart" '^200 ' verified second
refuses "the old one no longer" '' verified first
is "each is told once" "2 1" bash -c 'echo $(grep -c "certificate before stays" log2) $(grep -c "certificate read anew" log2)'
ok "it ends, too" bash -c "kill $scheduler; while kill -0 $scheduler 2>/dev/null; do sleep 0.1; done"
k delete jobs --all --wait=false >/dev/null
