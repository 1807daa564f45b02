# TLS mode from the outside: who is let in with what, what a restart keeps, and what plain mode refuses.
if ! embedded || [ -z "${PROGRAM:-}" ] || ! command -v curl >/dev/null || ! command -v openssl >/dev/null; then
    skip "tls from outside" "only with a server started here, curl and openssl"
    return
fi
server=
url=
t() { KUBECONFIG=tls/kubeconfig "$KUBECTL" "$@"; }
start() { # ARGS...
    rm -f tls/kubeconfig
    "$PROGRAM" up --tls --nodes 1:cpu --data-dir ./tls "$@" >>server.log 2>&1 &
    server=$!
    appears tls/kubeconfig
    url=$(t config view --raw -o 'jsonpath={.clusters[0].cluster.server}')
    # At the start its own clients shake hands, and kubectl waits ten seconds for its turn.
    soon "the server answers" 'Ready|NAME' t get nodes
}
stop() {
    kill "$server" 2>/dev/null
    wait "$server" 2>/dev/null
}
# A client certificate of the user and group given, signed by the authority in the folder given: NAME.crt and NAME.key
sign() { # NAME USER GROUP CA-FOLDER
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1.key" -subj "/O=$3/CN=$2" -out "$1.csr" 2>/dev/null
    printf 'extendedKeyUsage=clientAuth\n' >"$1.ext"
    openssl x509 -req -in "$1.csr" -CA "$4/ca.crt" -CAkey "$4/ca.key" -set_serial "$RANDOM" -days 1 -extfile "$1.ext" -out "$1.crt" 2>/dev/null
}
port=$(port_to_keep)
start --listen "127.0.0.1:$port"
as() { curl -s --cacert tls/pki/ca.crt "$@"; }

says "the server's certificate is good for its address" '^ok' as "$url/readyz"
says "the version without a user" 'gitVersion' as "$url/version"
says "no certificate" '"reason":"Unauthorized".*"code":401' as "$url/api/v1/pods"
says "a hint how to come in" '[Ww][Ww][Ww]-[Aa]uthenticate: Bearer' as -i "$url/api/v1/pods"
says "no such token" '"code":401' as -H 'Authorization: Bearer a.b.c' "$url/api/v1/pods"
says "no token" '"code":401' as -H 'Authorization: Bearer ' "$url/api/v1/pods"
says "a password" '"code":401' as -u admin:admin "$url/api/v1/pods"
says "a wrong token beside the right certificate" '"code":401' as --cert tls/pki/admin.crt --key tls/pki/admin.key -H 'Authorization: Bearer a.b.c' "$url/api/v1/pods"

says "a browser with a certificate on a page of somebody else" 'from the web page' as --cert tls/pki/admin.crt --key tls/pki/admin.key -H 'Origin: https://evil.example' "$url/api/v1/pods"
says "and on its own" 'PodList' as --cert tls/pki/admin.crt --key tls/pki/admin.key -H "Origin: $url" "$url/api/v1/pods"

mkdir -p foreign
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout foreign/ca.key -subj /CN=capstan-ca -days 1 -out foreign/ca.crt 2>/dev/null
sign intruder kubernetes-admin system:masters foreign
said=$(as --cert intruder.crt --key intruder.key "$url/api/v1/pods" 2>&1)
if grep -q PodList <<<"$said"; then miss "a certificate of another authority" "$said"; else pass "a certificate of another authority"; fi
sign anna anna developers tls/pki
says "a known user without a role" '"code":403.*|anna.*cannot list' as --cert anna.crt --key anna.key "$url/api/v1/namespaces/default/pods"
ok "a role for the user's group" t create rolebinding devs --clusterrole=view --group=developers
says "now she may look" 'PodList' as --cert anna.crt --key anna.key "$url/api/v1/namespaces/default/pods"
says "but not into secrets" '"code":403' as --cert anna.crt --key anna.key "$url/api/v1/namespaces/default/secrets"
says "nor as somebody else" '"code":403' as --cert anna.crt --key anna.key -H 'Impersonate-User: kubernetes-admin' -H 'Impersonate-Group: system:masters' "$url/api/v1/namespaces/default/secrets"
anna=(--kubeconfig=/dev/null --server "$url" --certificate-authority tls/pki/ca.crt --client-certificate anna.crt --client-key anna.key)
says "can-i for herself" '^yes' "$KUBECTL" "${anna[@]}" auth can-i list pods
refuses "can-i what she may not" '^no' "$KUBECTL" "${anna[@]}" auth can-i delete pods
at_least 28 && says "whoami" 'anna' "$KUBECTL" "${anna[@]}" auth whoami
at_least 28 && says "whoami tells the groups" 'developers' "$KUBECTL" "${anna[@]}" auth whoami
ok "a role taken away" t delete rolebinding devs
says "works at once" '"code":403' as --cert anna.crt --key anna.key "$url/api/v1/namespaces/default/pods"

ok "a service account" t create sa robot
token=
if at_least 24; then
    token=$(t create token robot)
    says "its token, without a role" '"code":403' as -H "Authorization: Bearer $token" "$url/api/v1/namespaces/default/pods"
    ok "a role for all service accounts of the namespace" t create rolebinding robots --clusterrole=edit --group=system:serviceaccounts:default
    says "its token" 'PodList' as -H "Authorization: Bearer $token" "$url/api/v1/namespaces/default/pods"
    says "its token, from whatever page" 'PodList' as -H "Authorization: Bearer $token" -H 'Origin: https://evil.example' "$url/api/v1/namespaces/default/pods"
    says "it may write" '"code":201|ConfigMap' as -X POST -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d '{"metadata":{"name":"from-robot"}}' "$url/api/v1/namespaces/default/configmaps"
    says "a token cut short" '"code":401' as -H "Authorization: Bearer ${token%?????}" "$url/api/v1/namespaces/default/pods"
    robot=(--kubeconfig=/dev/null --server "$url" --certificate-authority tls/pki/ca.crt --token "$token")
    says "kubectl with the token" 'from-robot' "$KUBECTL" "${robot[@]}" -n default get cm
    at_least 28 && says "whoami of the robot" 'system:serviceaccount:default:robot' "$KUBECTL" "${robot[@]}" auth whoami
    refuses "the robot may not give itself more" '[Ff]orbidden' "$KUBECTL" "${robot[@]}" create clusterrolebinding me --clusterrole=cluster-admin --serviceaccount=default:robot
fi

if [ -n "$token" ]; then
    t delete sa robot >/dev/null
    says "the token of a deleted account is void" '"code":401' as -H "Authorization: Bearer $token" "$url/api/v1/namespaces/default/pods"
    t create sa robot >/dev/null
    token=$(t create token robot)
fi

before=$(md5sum <tls/pki/ca.crt)
is "keys are for the owner only" "600" stat -c %a tls/pki/ca.key
is "so is the kubeconfig" "600" stat -c %a tls/kubeconfig
is "so is the database" "600" stat -c %a tls/capstan.db
cp tls/kubeconfig old.kubeconfig
stop
start --listen "127.0.0.1:$port"
is "a restart keeps the authority" "$before" md5sum <tls/pki/ca.crt
says "the old kubeconfig still works" 'robot' env KUBECONFIG=old.kubeconfig "$KUBECTL" get sa
[ -n "$token" ] && says "tokens outlive the server" PodList as -H "Authorization: Bearer $token" "$url/api/v1/namespaces/default/pods"
says "plain HTTP to the TLS port is no harm" '' bash -c "curl -s --max-time 3 http://127.0.0.1:$port/readyz || true"
says "and the server goes on" '^ok' as "$url/readyz"
stop
start --listen 0.0.0.0:0
says "all addresses with TLS" '^https://127' echo "$url"
address=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -m1 '^[0-9.]*$')
[ -n "$address" ] && says "another address asks for a user too" '"code":401' curl -sk "https://$address:${url##*:}/api/v1/pods"
stop
refused() { "$PROGRAM" up --data-dir ./plain --listen "$1" 2>&1; [ $? -eq 2 ]; }
for address in 0.0.0.0:0 '[::]:0' 192.0.2.7:0 10.0.0.1:6443; do
    says "without TLS not on $address" 'add --tls' refused "$address"
done
server=$("$KUBECTL" config view --minify -o 'jsonpath={.clusters[0].cluster.server}')
for name in evil.example localhost.evil.example 127.0.0.1.nip.io '127.0.0.1@evil.example' 169.254.169.254; do
    says "plain mode: the name $name" '"code":403' curl -s -H "Host: $name" "$server/api/v1/pods"
done
for origin in http://evil.example null http://localhost.evil.example http://127.0.0.1:1; do
    says "plain mode: the page $origin" '"code":403' curl -s -H "Origin: $origin" "$server/api/v1/pods"
done
says "plain mode: its own page" 'PodList' curl -s -H "Origin: $server" "$server/api/v1/pods"
