"""95-many-events.py ADDRESS:PORT PID PROGRAM EVENTS - so many Events, of one pod that waits and of others: what people ask is answered as
before, as fast and in as little memory; one line a check"""
import http.client
import json
import multiprocessing
import os
import re
import socket
import subprocess
import sys
import threading
import time

address, pid, program, events_n = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
host, port = address.rsplit(":", 1)
WRITERS = 4
SANITIZED = b"__asan_init" in open(program, "rb").read()
FIRST_ROWS_S = 3  # of the page's stream: its first message is everything


def check(what, good, *detail):
    print(f"ok {what}" if good else "\n#   ".join([f"not ok {what}"] + [str(d)[:500] for d in detail]), flush=True)


def event(i):
    return json.dumps({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": f"flood-{i}", "namespace": "default"}, "type": "Warning", "reason": "Flood",
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": f"stuck-{i % 2}"}, "message": f"event {i} " + "x" * 300,
        "firstTimestamp": "2026-01-31T12:00:00Z", "lastTimestamp": "2026-01-31T12:00:00Z", "count": 1, "source": {"component": "flood"}}).encode()


def write(first, made):
    """Requests go out without waiting for answers: the server is what limits it."""
    mine = range(first, events_n, WRITERS)
    s = socket.create_connection((host, int(port)))

    def send():
        for i in mine:
            body = event(i)
            s.sendall(b"POST /api/v1/namespaces/default/events HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
                      b"Content-Length: %d\r\n\r\n%s" % (address.encode(), len(body), body))

    sender = threading.Thread(target=send)
    sender.start()
    answers = s.makefile("rb")
    for _ in mine:
        status, length = answers.readline(), 0
        while (line := answers.readline().strip()):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        answers.read(length)
        with made.get_lock():
            made.value += b" 201 " in status
    sender.join()


def rss_mib():
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return next(int(line.split()[1]) // 1024 for line in f if line.startswith("VmRSS"))


def get(path):
    c = http.client.HTTPConnection(host, int(port), timeout=60)
    c.request("GET", path)
    return c.getresponse().read()


def asked(*args):
    """What a command says, its seconds, and its MiB at most."""
    read, put = os.pipe()
    begun, child = time.monotonic(), os.fork()
    if child == 0:
        os.dup2(put, 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.execv(program, [program, *args])
    os.close(put)
    with os.fdopen(read, encoding="utf-8") as out:
        said = out.read()
    _, _, used = os.wait4(child, 0)
    return re.sub(" +", " ", re.sub(r"\b\d+[smh](\d+s)?\b", "AGE", said)), time.monotonic() - begun, used.ru_maxrss // 1024


def page_rows():
    """Of the first message of the page's stream, and its bytes."""
    c = http.client.HTTPConnection(host, int(port), timeout=FIRST_ROWS_S * 10)
    c.request("GET", "/ui/api/stream")
    line = c.getresponse().readline()
    return json.loads(line[len(b"data: "):])["set"], len(line)


QUESTIONS = [("why", "pod/stuck-0"), ("jobs", "-A"), ("queues",), ("doctor",), ("advise",)]
before = {q: asked(*q) for q in QUESTIONS}
rows_before, bytes_before = page_rows()
made, small = multiprocessing.Value("i", 0), rss_mib()
writers = [multiprocessing.Process(target=write, args=(i, made)) for i in range(WRITERS)]
for w in writers:
    w.start()
for w in writers:
    w.join()
check(f"{events_n} Events are made", made.value == events_n, made.value)
grown = rss_mib() - small
check("the server holds each in 2 KiB at most", SANITIZED or grown * 1024 <= 2 * events_n + 16384, f"{grown} MiB more")
for q in QUESTIONS:
    said, took_s, mib = asked(*q)
    check(f"capstan {' '.join(q)}: the same answer as before", said == before[q][0], before[q][0], said)
    check(f"capstan {' '.join(q)}: in as little time and memory", took_s < before[q][1] + 2 and (SANITIZED or mib <= before[q][2] + 8),
          f"before {before[q][1:]}, then {took_s:.2f} s, {mib} MiB")
rows, n = page_rows()
check("the page's list has what the scheduler told, and grows by none of them", n < bytes_before + 65536 and
      not any("flood" in json.dumps(r) for r in rows), n, bytes_before)
# what is read in part says so, and the parts are the whole
first = json.loads(get("/api/v1/events?limit=500"))
left = first["metadata"].get("remainingItemCount", 0)
check("a part of the list says how many are left", len(first["items"]) == 500 and first["metadata"].get("continue") and left >= events_n - 500, left)
names, token = set(), ""
while True:
    part = json.loads(get(f"/api/v1/events?limit=5000&continue={token}"))
    names.update(e["metadata"]["name"] for e in part["items"] if e.get("reason") == "Flood")
    token = part["metadata"].get("continue", "")
    if not token:
        break
check("and all parts are all of them", len(names) == events_n, len(names))
mine = json.loads(get("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dstuck-1,reason%3DFlood&limit=1"))
check("those of one object are found among them", mine["items"] and mine["items"][0]["involvedObject"]["name"] == "stuck-1", mine["metadata"])

# what the scheduler itself tells is bounded on the page, and the page says how much it has
subprocess.run([os.environ["KUBECTL"], "apply", "-f", "-"], check=True, stdout=subprocess.DEVNULL, text=True, input=json.dumps({
    "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "wide"}, "spec": {"parallelism": 700, "completions": 700, "template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "c", "image": "x", "resources": {"limits": {"nvidia.com/gpu": 99}}}]}}}}))
until, told = time.monotonic() + 60, []
while time.monotonic() < until and not (told and int(told[0]["id"][2:]) > 0):
    time.sleep(0.5)
    rows, n = page_rows()
    told = [r for r in rows if r["k"] == "e"]
most = next(r["max"][0] for r in rows if r["k"] == "m")
check("the page keeps the last of what the scheduler told", len(told) == most, len(told), most)
check("and knows that older ones are gone", told and int(told[0]["id"][2:]) > 0, told[:1])
check("the server is as it was", get("/readyz") == b"ok")
