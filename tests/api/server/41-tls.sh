# TLS mode: users are known, and roles decide.
if ! embedded || [ -z "${PROGRAM:-}" ]; then
    skip "tls" "only with a server started here"
    return
fi
"$PROGRAM" up --tls --nodes 1:cpu --data-dir ./tls --listen 127.0.0.1:0 >server.log 2>&1 &
server=$!
appears tls/kubeconfig
t() { KUBECONFIG=tls/kubeconfig "$KUBECTL" "$@"; }
url=$(t config view --raw -o 'jsonpath={.clusters[0].cluster.server}')
# At the start its own clients shake hands, and kubectl waits ten seconds for its turn.
soon "nodes" 'Ready' t get nodes
says "the administrator may all" '^yes' t auth can-i delete nodes
at_least 28 && says "whoami" 'kubernetes-admin' t auth whoami
says "https" '^https://' echo "$url"
says "without a user" '"code":401' curl -sk "$url/api/v1/nodes"
says "probes need no user" '^ok' curl -sk "$url/readyz"
says "wrong token" '"code":401' curl -sk -H 'Authorization: Bearer wrong' "$url/api/v1/nodes"
ok "a robot" t create sa robot
if at_least 24; then
    token=$(t create token robot)
    says "the robot may nothing" '"code":403' curl -sk -H "Authorization: Bearer $token" "$url/api/v1/namespaces/default/pods"
    ok "a role" t create role r --verb=get,list --resource=pods
    ok "given to the robot" t create rolebinding rb --role=r --serviceaccount=default:robot
    says "now it may look at pods" 'PodList' curl -sk -H "Authorization: Bearer $token" "$url/api/v1/namespaces/default/pods"
    says "only there" '"code":403' curl -sk -H "Authorization: Bearer $token" "$url/api/v1/namespaces/kube-system/pods"
    says "can-i for the robot" '^yes' t auth can-i list pods --as=system:serviceaccount:default:robot
    refuses "can-i what it may not" '^no' t auth can-i delete pods --as=system:serviceaccount:default:robot
fi
kill "$server"
wait "$server" 2>/dev/null
