// store.js - the cluster as the server tells it: one snapshot, then what has changed; whoever draws is told once a frame
//
// Rows are as src/sched/view writes them (the head of each view_*.c says what is in which).

export const nodes = new Map(),
  queues = new Map(),
  jobs = new Map(); // by the rest of the id after "n/", "q/", "j/"
export const runs = [],
  events = [],
  recent = [],
  past = []; // the oldest first
export let whole = {};
let ahead = 0; // the server's clock less ours
const listeners = new Set();

export const now = () => Date.now() + ahead;
export const listen = (fn) => {
  listeners.add(fn);
  return () => listeners.delete(fn);
};

let order = null; // names of nodes as people read them
const byName = new Intl.Collator("en", { numeric: true });
export const sortedNodes = () => (order ??= [...nodes.keys()].sort(byName.compare)).map((name) => nodes.get(name));

const maps = { n: nodes, q: queues, j: jobs };
const lists = { e: () => events, r: () => runs, u: (row) => (row.id[2] === "s" ? recent : past) };
const most = { e: 0, r: 1, s: 2, m: 3 };

function put(row, changed) {
  const id = row.id.slice(2);
  row.key = id;
  if (row.k === "n" && !nodes.has(id)) order = null;
  if (maps[row.k]) {
    maps[row.k].set(id, row);
    changed[row.k].add(id);
  } else if (row.k === "m") {
    whole = row;
  } else if (lists[row.k]) {
    const list = lists[row.k](row),
      max = whole.max?.[most[row.k === "u" ? row.id[2] : row.k]] ?? 4000;
    list.push(row);
    if (list.length > max) list.splice(0, list.length - max);
    changed[row.k].add(id);
  }
}

// The sum of all changes since the last frame.
const none = () => ({ full: false, n: new Set(), q: new Set(), j: new Set(), r: new Set(), e: new Set(), u: new Set() });
let changed = none(),
  asked = false;

function tell() {
  asked = false;
  const all = changed;
  changed = none();
  for (const fn of listeners) fn(all);
}

export function apply(message) {
  ahead = message.t - Date.now();
  if (message.full) {
    for (const map of Object.values(maps)) map.clear();
    order = null;
    for (const list of [runs, events, recent, past]) list.length = 0;
    changed.full = true;
  }
  for (const row of message.set) put(row, changed);
  for (const id of message.del ?? []) {
    maps[id[0]]?.delete(id.slice(2));
    if (id[0] === "n") order = null;
    changed[id[0]]?.add(id.slice(2));
  }
  if (!asked) {
    asked = true;
    requestAnimationFrame(tell);
    if (document.hidden) setTimeout(() => asked && tell(), 1000); // frames are not drawn in the background
  }
}

// state: "wait" connecting, "live", "lost"
export function connect(state) {
  const source = new EventSource("api/stream");
  state("wait");
  source.onmessage = (e) => {
    apply(JSON.parse(e.data));
    state("live");
  };
  source.onerror = () => {
    state("lost");
    if (source.readyState === EventSource.CLOSED) setTimeout(() => connect(state), 2000);
  };
  addEventListener("pagehide", () => source.close(), { once: true });
}

// ---- what follows from the rows

// Whose a gang is: its queue, or the namespace of what is in none.
export function teamOf(gang, pod) {
  const job = jobs.get(gang);
  return job ? job.q || job.ns || "" : (pod || gang.slice(gang.indexOf("/") + 1)).split("/")[0];
}

export const running = (job) => ["running", "leaving", "starting"].includes(job.s);
export const waiting = (job) => ["waiting", "held", "reserved"].includes(job.s);
export const over = (job) => job.s === "done" || job.s === "failed";

// By which policy nodes are chosen for those of a queue (undefined: none).
export const placementOf = (queue) => (queue?.pol ? `${queue.pol}, the queue's own policy` : `${whole.pol ?? "binpack"}, the policy of all`);

// Devices of one GPU together: [{gpu, devices: [{index, resource, ok, gang, pod, busy, used, total, slow, xid}]}]. Kept with the row.
// How much of its GPU a device is: a share says so, instances and slots count alike.
export const partOf = (gpu, d) => (d.part ?? 1000 / gpu.devices.length) / 1000;

export function gpusOf(node) {
  if (node.gpus) return node.gpus;
  const byGpu = new Map();
  node.g.forEach(([gpu, resource, ok, holder, busy = -1, used = 0, total = 0, slow = 0, xid = 0], index) => {
    const [gang, pod] = holder < 0 ? ["", ""] : node.h[holder];
    if (!byGpu.has(gpu)) byGpu.set(gpu, { gpu, devices: [] });
    byGpu.get(gpu).devices.push({ index, resource: node.res[resource], ok: !!ok, gang, pod, busy, used, total, slow, xid });
  });
  for (const [gpu, holder, part] of node.s ?? []) {
    const [gang, pod] = node.h[holder] ?? ["", ""];
    const at = byGpu.get(gpu);
    if (at) (at.shares ??= []).push({ ...at.devices[0], index: -1, resource: "share", gang, pod, part });
  }
  for (const gpu of byGpu.values())
    if (gpu.shares && !gpu.devices.some((d) => d.gang || d.pod)) {
      const left = 1000 - gpu.shares.reduce((sum, d) => sum + d.part, 0);
      gpu.devices = left > 0 ? [...gpu.shares, { ...gpu.shares[0], gang: "", pod: "", part: left }] : gpu.shares;
    }
  const gpus = [...byGpu.values()].sort((a, b) => a.gpu - b.gpu);
  for (const [resource, total] of node.a ?? []) {
    // only counted: who has them is known, which ones is not
    const taken = (node.t ?? []).filter((t) => t[0] === resource).flatMap(([, h, n]) => Array(Math.min(n, 64)).fill(h));
    for (let i = 0; i < Math.min(total, 64); i++) {
      const [gang, pod] = taken[i] >= 0 ? node.h[taken[i]] : ["", ""];
      gpus.push({
        gpu: gpus.length,
        counted: true,
        devices: [{ index: -1, resource: node.res[resource], ok: true, gang, pod, busy: -1, used: 0, total: 0, slow: 0, xid: 0 }],
      });
    }
  }
  node.gpus = gpus;
  return gpus;
}

// A place for each team's colour that does not move while the page is open.
const slots = new Map();
export function teamSlot(team) {
  if (!slots.has(team)) slots.set(team, slots.size);
  return slots.get(team);
}
