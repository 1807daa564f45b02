# Programs written with other clients than kubectl.
python=/usr/bin/python3
if "$python" -c 'import kubernetes' 2>/dev/null; then
    "$python" -W ignore "$ROOT/tests/api/server/97-clients.py" "$NS" ${EMBEDDED:+EMBEDDED} 2>&1 | grep -E '^(ok|not ok|#)|Error' || true
else
    skip "the Python client" "no python3-kubernetes"
fi
