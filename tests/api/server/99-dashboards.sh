# What Headlamp and Lens ask of an API server, as recorded in 99-dashboards.tsv: each call is answered as they expect.
if ! embedded || ! command -v curl >/dev/null; then
    skip "calls of dashboards" "needs the embedded cluster, and curl"
    return
fi
url=$("$KUBECTL" config view --raw --minify -o 'jsonpath={.clusters[0].cluster.server}')
k run talks --image=x --restart=Never --labels=app=talks --annotations=capstan.dev/run-seconds=600 >/dev/null
k create deployment web --image=x >/dev/null
k create job one --image=x >/dev/null
soon "a pod runs" '^Running$' k get pod talks -o 'jsonpath={.status.phase}'
node=cpu-0
missed=0 calls=0
while IFS=$'\t' read -r status who method path body; do
    case $status in "" | \#*) continue ;; esac
    path=${path//NS/$NS} body=${body//NS/$NS} path=${path//NODE/$node} kind=application/json
    case $body in application/*) kind=${body%% *} body=${body#* } ;; -) body= ;; esac
    if [ "$method" = PUT-AGAIN ]; then # as an editor saves what it was shown
        body=$(curl -s "$url$path") method=PUT
    fi
    got=$(curl -s -o answer -w '%{http_code}' -m 20 -X "$method" -H "Content-Type: $kind" -H 'Accept: application/json' ${body:+--data-binary "$body"} "$url$path")
    calls=$((calls + 1))
    [ "$got" = "$status" ] || { missed=$((missed + 1)); miss "$who: $method $path" "wanted $status, got $got" "$(head -c 300 answer)"; }
done <"$ROOT/tests/api/server/99-dashboards.tsv"
is "all of them are answered as expected" "0 of $calls" echo "$missed of $calls"
