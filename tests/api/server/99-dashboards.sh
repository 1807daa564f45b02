# What Headlamp and Lens ask of an API server, as recorded in 99-dashboards.tsv: each call is answered as they expect, and each list that
# Headlamp shows is followed by WebSocket; without TLS, and with a client certificate over TLS, as headlamp-server does it.
if ! embedded || ! command -v curl >/dev/null; then
    skip "calls of dashboards" "needs the embedded cluster, and curl"
    return
fi
# dashboards WHAT NAMESPACE NODE CURL-OPTION...: of the server of KUBECONFIG
dashboards() {
    local what=$1 ns=$2 node=$3 url missed=0 calls=0 status who method path body kind got
    shift 3
    url=$("$KUBECTL" config view --raw --minify -o 'jsonpath={.clusters[0].cluster.server}')
    "$KUBECTL" -n "$ns" run talks --image=x --restart=Never --labels=app=talks --annotations=capstan.dev/run-seconds=600 >/dev/null
    "$KUBECTL" -n "$ns" create deployment web --image=x >/dev/null
    "$KUBECTL" -n "$ns" create job one --image=x >/dev/null
    soon "${what}a pod runs" '^Running$' "$KUBECTL" -n "$ns" get pod talks -o 'jsonpath={.status.phase}'
    if /usr/bin/python3 -c 'import yaml' 2>/dev/null; then
        /usr/bin/python3 -W ignore "$ROOT/tests/api/server/98-websockets.py" "$KUBECONFIG" "$ns" dashboards 2>&1 |
            sed -nE "s/^(ok|not ok) /&$what/p; /^#|Error/p"
    fi
    while IFS=$'\t' read -r status who method path body; do
        case $status in "" | \#*) continue ;; esac
        path=${path//NS/$ns} body=${body//NS/$ns} path=${path//NODE/$node} kind=application/json
        case $body in application/*) kind=${body%% *} body=${body#* } ;; -) body= ;; esac
        if [ "$method" = PUT-AGAIN ]; then # as an editor saves what it was shown
            body=$(curl -s "$@" "$url$path") method=PUT
        fi
        got=$(curl -s "$@" -o answer -w '%{http_code}' -m 20 -X "$method" -H "Content-Type: $kind" -H 'Accept: application/json' \
            ${body:+--data-binary "$body"} "$url$path")
        calls=$((calls + 1))
        [ "$got" = "$status" ] ||
            { missed=$((missed + 1)); miss "$what$who: $method $path" "wanted $status, got $got" "$(head -c 300 answer)"; }
    done <"$ROOT/tests/api/server/99-dashboards.tsv"
    is "${what}all of them are answered as expected" "0 of $calls" echo "$missed of $calls"
}
dashboards "" "$NS" cpu-0
[ -n "${PROGRAM:-}" ] || return 0
"$PROGRAM" up --tls --nodes 1:t4 --nodes 1:cpu --data-dir ./ciphered --listen 127.0.0.1:0 >ciphered.log 2>&1 &
ciphered=$!
appears ciphered/kubeconfig
for part in certificate-authority:cluster client-certificate:user client-key:user; do
    field=${part%:*} where=${part#*:}
    "$KUBECTL" --kubeconfig ciphered/kubeconfig config view --raw --minify -o "jsonpath={.${where}s[0].$where.$field-data}" | base64 -d >"$field.pem"
done
KUBECONFIG=ciphered/kubeconfig dashboards "with TLS: " default cpu-0 \
    --cacert certificate-authority.pem --cert client-certificate.pem --key client-key.pem
kill "$ciphered"
if wait "$ciphered"; then pass "the server with TLS ends"; else miss "the server with TLS ends" "$(tail -3 ciphered.log)"; fi
