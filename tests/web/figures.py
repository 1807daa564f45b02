"""figures.py - what the web page costs, a line of JSON a figure:

web.bytes             all files of the page together, compressed
web.first.paint       first contentful paint on loopback, nothing cached, median of 5
web.first.paint.line  the same of a page of one line (/healthz), between these: what the browser and the machine take by themselves
web.frames.8000gpu    frames a second in Chromium while every frame a tenth of 1,000 nodes x 8 GPUs is other, and drawn
web.redraw.8000gpu    the whole map drawn anew
web.viewers.50        CPU of the server that 50 viewers cost, in per cent of a core: 1,000 nodes x 8 GPUs, five pods a second come and go
web.viewers.50.memory what 50 viewers cost in memory
"""
import json
import re
import selectors
import socket
import statistics
import sys
import time

import browser
import cluster

WATCH_S = 20


def figure(name, value, unit):
    print(json.dumps({"name": name, "value": round(value, 2), "unit": unit}), flush=True)


def files_of(c):
    """All files that the page loads, by what they name."""
    names, todo = set(), {"index.html"}
    while todo:
        name = todo.pop()
        names.add(name)
        text = c.ask("/ui/" + name)[2].decode()
        todo |= set(re.findall(r'(?:from|src=|href=)\s?"(?:\./)?([\w.-]+\.(?:js|css|svg))"', text)) - names
    return names


def page_bytes(c):
    figure("web.bytes", sum(len(c.ask("/ui/" + name, headers={"Accept-Encoding": "gzip"})[2]) for name in files_of(c)), "B")


def first_paint(c, b):
    took = {"/ui/#/gpus": [], "/healthz": []}
    for _ in range(5):
        for page, times in took.items():
            b.command("Network.clearBrowserCache", {})
            b.open("about:blank")
            b.open(c.url + page)
            times.append(b.wait("painted", "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime"))
    figure("web.first.paint", statistics.median(took["/ui/#/gpus"]), "ms")
    figure("web.first.paint.line", statistics.median(took["/healthz"]), "ms")


FRAMES = """const done = arguments[0];
import('./store.js').then(store => {
  const names = [...store.nodes.keys()], t0 = performance.now();
  let frames = 0, at = 0;
  const drop = store.listen(() => frames++);
  const step = () => {
    if (performance.now() - t0 > 5000) { drop(); return done([frames / (performance.now() - t0) * 1000, names.length]); }
    const set = [];
    for (let i = 0; i < names.length / 10; i++) {
      const node = store.nodes.get(names[at++ % names.length]);
      set.push({ id: node.id, k: 'n', m: node.m, z: node.z, ok: 1, res: node.res, h: [['pod/team-' + at % 12 + '/a', 'team-' + at % 12 + '/a']], g: node.g.map(d => [d[0], d[1], 1, Math.random() < 0.8 ? 0 : -1, Math.floor(Math.random() * 1000), 1024, 81920, 0, 0]) });
    }
    store.apply({ t: Date.now(), set });
    requestAnimationFrame(step);
  };
  step();
});"""
REDRAW = """const done = arguments[0];
import('./map.js').then(m => import('./store.js').then(store => {
  const canvas = document.createElement('canvas'), map = new m.GpuMap(canvas);
  map.layout([...store.nodes.values()], 1600, 900);
  const t0 = performance.now();
  for (let i = 0; i < 50; i++) map.all();
  map.paint.getImageData(0, 0, 1, 1);
  done((performance.now() - t0) / 50);
}));"""


def frames(c, b):
    b.resize(1600, 1000)
    b.open(c.url + "/ui/#/gpus")
    b.wait("all nodes are there", "return document.querySelector('#nodes').textContent === '1000'", limit_s=60)
    value, nodes = b.run_later(FRAMES)
    assert nodes == 1000
    figure("web.frames.8000gpu", value, "1/s")
    figure("web.redraw.8000gpu", b.run_later(REDRAW), "ms")


def churn(c, n, names):
    for _ in range(n):
        c.pod("churn-%d" % len(names), gpus=1, seconds=4)
        names.append(0)


def watched(c, sockets, names):
    """CPU that the server took in WATCH_S seconds, memory after them, bytes that came."""
    reader, came, before, end = selectors.DefaultSelector(), 0, c.cpu_s(), time.monotonic() + WATCH_S
    for s in sockets:
        reader.register(s, selectors.EVENT_READ)
    due = time.monotonic()
    while time.monotonic() < end:
        if time.monotonic() >= due:
            churn(c, 1, names)
            due += 0.2
        for key, _ in reader.select(0.05) if sockets else []:
            came += len(key.fileobj.recv(1 << 20))
        if not sockets:
            time.sleep(0.02)
    return c.cpu_s() - before, c.rss_kb(), came


def viewers(c):
    host, port = c.url.rsplit("/", 1)[1].split(":")
    names, sockets = [], []
    watched(c, [], names)  # until as many end as begin
    _, first_kb, _ = watched(c, [], names)
    bare_s, bare_kb, _ = watched(c, [], names)
    grows_kb = max(0, bare_kb - first_kb)  # by what the pods leave behind, whoever looks
    for _ in range(50):
        s = socket.create_connection((host, int(port)))
        s.sendall(b"GET /ui/api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        sockets.append(s)
    with_s, with_kb, came = watched(c, sockets, names)
    assert came > 50 * 1000, came
    figure("web.viewers.50", 100 * (with_s - bare_s) / WATCH_S, "%")
    figure("web.viewers.50.memory", with_kb - bare_kb - grows_kb, "KB")
    for s in sockets:
        s.close()


def main():
    lacks = browser.missing()
    c = cluster.Cluster("--nodes", "1000:h100-80gb")
    b = None if lacks else browser.Browser()
    if lacks:
        print("web.first.paint, web.frames.8000gpu: " + lacks, file=sys.stderr)
    try:
        page_bytes(c)
        viewers(c)
        if b:
            small = cluster.Cluster()
            first_paint(small, b)
            small.stop()
            frames(c, b)
    finally:
        if b:
            b.close()
        c.stop()


if __name__ == "__main__":
    main()
