# Watches and logs by WebSocket, as web pages read them (Headlamp). Embedded only.
python=/usr/bin/python3
if ! embedded || [ -z "${PROGRAM:-}" ] || ! "$python" -c 'import yaml' 2>/dev/null; then
    skip "WebSockets" "needs the embedded cluster, and python3-yaml"
    return
fi
"$python" -W ignore "$ROOT/tests/api/server/98-websockets.py" "$KUBECONFIG" "$NS" 2>&1 | grep -E '^(ok|not ok|#)|Error' || true
# The same where it is ciphered, by a client certificate. Other pages are kept out there, too.
"$PROGRAM" up --tls --nodes 1:t4 --data-dir ./ciphered --listen 127.0.0.1:0 >ciphered.log 2>&1 &
ciphered=$!
appears ciphered/kubeconfig
"$python" -W ignore "$ROOT/tests/api/server/98-websockets.py" ciphered/kubeconfig default 2>&1 | sed -nE 's/^(ok|not ok) /&with TLS: /p; /^#|Error/p' || true
kill "$ciphered"
if wait "$ciphered"; then pass "the server with TLS ends"; else miss "the server with TLS ends" "$(tail -3 ciphered.log)"; fi
"$PROGRAM" up --nodes 1:t4 --data-dir ./own --listen 127.0.0.1:0 >own.log 2>&1 &
own=$!
appears own/kubeconfig
"$python" -W ignore "$ROOT/tests/api/server/98-websockets.py" own/kubeconfig default stays >stays.log 2>&1 &
stays=$!
soon "a server that is asked to end" '^ok it stays' cat stays.log
kill "$own"
if wait "$own"; then pass "ends while WebSockets are there"; else miss "ends while WebSockets are there" "$(tail -3 own.log)"; fi
wait "$stays"
says "which see its end" '^ok the end' cat stays.log
