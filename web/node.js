// node.js - one node: each of its GPUs, who has it, how busy and how well it is; the processes on them; its labels

import { dot, h, jobLink, num, text, time, renew } from "./dom.js";
import { events, gpusOf, jobs, nodes, now, teamOf, teamSlot } from "./store.js";
import { eventRow } from "./events.js";

const meter = (part, words) =>
  h("div.meter", { role: "img", "aria-label": words }, h("i", { style: { width: Math.min(100, part) + "%" } }), h("span", {}, words));

function holder(d) {
  const job = jobs.get(d.gang),
    team = teamOf(d.gang, d.pod),
    pod = d.pod.slice(d.pod.indexOf("/") + 1);
  if (!d.gang && !d.pod) return h("span.faint", {}, "free");
  return h(
    "div.who",
    {},
    dot(teamSlot(team)),
    job ? h("a", { href: jobLink(d.gang) }, `${job.ns}/${job.n}`) : d.pod || d.gang,
    d.pod && pod !== job?.n ? h("span.faint", {}, " " + pod) : null,
    d.pod ? null : h("span.faint", {}, " kept for a pod that does not exist yet"),
  );
}

function health(d) {
  const words = [d.ok ? null : "not healthy", d.slow ? "slowed down" : null, d.xid ? "XID " + d.xid : null].filter(Boolean);
  return h(words.length ? "span.problem" : "span", {}, words.length ? words.join(", ") : "healthy");
}

// Processes that have a context on one of its devices, as the agent has told last.
function sessionTable(all, node, ids) {
  const numbers = new Map(),
    gangs = new Map(node.h.map(([gang, pod]) => [pod, gang]));
  for (const gpu of gpusOf(node)) for (const d of gpu.devices) if (ids.has(d.index)) numbers.set(ids.get(d.index).split("::")[0], gpu.gpu);
  const pod = (s) => (s.pod ? (gangs.get(s.pod) ? h("a", { href: jobLink(gangs.get(s.pod)) }, s.pod) : s.pod) : h("span.faint", {}, "of no pod")),
    dash = () => h("span.faint", {}, "–");
  return h(
    "div.scroll",
    {},
    h(
      "table.sessions",
      {},
      h("caption.unseen", {}, "Sessions on " + node.id.slice(2)),
      h("thead", {}, h("tr", {}, ["GPU", "PID", "Process", "Pod", "Memory", "Busy", "Since"].map((c) => h("th", { scope: "col" }, c)))),
      h(
        "tbody",
        {},
        all.sessions.map((s) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, String(numbers.get(s.unit) ?? s.unit)),
            h("td", {}, String(s.pid ?? "–")),
            h("td", {}, s.command || dash()),
            h("td", {}, pod(s), s.container ? h("span.faint", {}, " " + s.container) : null),
            h("td", {}, s.memory >= 0 ? num(s.memory / 1024) + " GiB" : dash()),
            h("td", {}, s.busy >= 0 ? s.busy + " %" : dash()),
            h("td", {}, s.since ? time(s.since, now()) : dash()),
          ),
        ),
      ),
    ),
  );
}

function sessionPart(all, node, ids) {
  const lasts = 12 * (all?.period ?? 15000);
  if (!all) return [h("p.none", {}, "Asking …")];
  if (!all.ok) return [h("p.none", {}, "No agent has told which processes are on its devices.")];
  return [
    all.sessions.length ? sessionTable(all, node, ids) : h("p.none", {}, "No process is on any of its devices."),
    all.more ? h("p.faint", {}, `and ${all.more} more: capstan sessions on the node`) : null,
    h("p.faint", {}, "Measured ", time(all.at, now()), now() - all.at > lasts ? ": too long ago to go by" : ""),
  ].filter(Boolean);
}

export function nodePage(page, route, name) {
  const title = h("h1"),
    facts = h("dl.facts"),
    gpus = h("div"),
    sessions = h("div"),
    labels = h("dl.labels"),
    told = h("ol.events");
  const labelBox = h("details", {}, h("summary", {}, "Labels"), labels),
    ids = new Map();
  page.append(
    h("p.path", {}, h("a", { href: "#/gpus" }, "GPUs")),
    h("div.tools", {}, title),
    facts,
    h("h2", {}, "GPUs and who is on them"),
    gpus,
    h("h2", {}, "Sessions"),
    sessions,
    h("h2", {}, "Events"),
    told,
    labelBox,
  );
  const fact = (key, ...value) => h("div", {}, h("dt", {}, key), h("dd", {}, value));
  let stamp = "",
    asked = false,
    who = null,
    askedOf; // the measurement that was told when its sessions were asked for
  async function askSessions(of) {
    askedOf = of;
    const answer = await fetch("api/sessions?name=" + encodeURIComponent(name)).catch(() => null);
    if (!page.isConnected) return;
    if (answer?.ok) who = await answer.json();
    else if (!who) who = {};
    stamp = "";
    draw();
  }
  async function ask() {
    const answer = await fetch("api/node?name=" + encodeURIComponent(name)).catch(() => null);
    if (!answer?.ok || !page.isConnected) return;
    const all = await answer.json();
    all.devices.forEach((id, i) => ids.set(i, id));
    renew(
      labels,
      ...Object.entries(all.labels)
        .sort()
        .map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, value || "–"))),
    );
    stamp = "";
    draw();
  }
  function draw() {
    const node = nodes.get(name),
      t = now();
    if (node && !asked) {
      asked = true;
      ask();
    }
    text(title, name);
    document.title = name + " · Capstan";
    const about = events
      .filter((e) => e.of === "n" && e.to === name)
      .slice(-20)
      .reverse();
    renew(
      told,
      ...(about.length ? about.map(eventRow) : [h("li.faint", {}, "Nothing has happened since this page's server was started.")]),
    );
    if (!node) {
      renew(facts, fact("State", "There is no such node (any more)."));
      gpus.replaceChildren();
      sessions.replaceChildren();
      return;
    }
    renew(
      facts,
      ...[
        fact("State", h(node.ok ? "span" : "span.problem", {}, node.ok ? "ready" : "not ready"), node.co ? ", cordoned" : ""),
        fact("Model", node.m ?? "–"),
        node.z ? fact("Zone", node.z) : null,
        fact("GPUs", String(gpusOf(node).length)),
        fact("Measured", node.at ? time(node.at, t) : "not, or too long ago"),
      ].filter(Boolean),
    );
    if (askedOf !== (node.at ?? 0)) askSessions(node.at ?? 0);
    const is = JSON.stringify([node.g, node.a, node.t, node.s, node.h, node.h.map(([g]) => jobs.get(g)?.n)]);
    if (is === stamp) return;
    stamp = is;
    renew(sessions, ...sessionPart(who, node, ids));
    if (!gpusOf(node).length) return renew(gpus, h("p.none", {}, "This node has no GPUs."));
    renew(
      gpus,
      h(
        "div.scroll",
        {},
        h(
          "table.gpus",
          {},
          h("caption.unseen", {}, "GPUs of " + name),
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ["GPU", "Resource", "Who", "Busy", "Memory", "Health"].map((c) => h("th", { scope: "col" }, c)),
            ),
          ),
          h(
            "tbody",
            {},
            gpusOf(node).flatMap((gpu) =>
              gpu.devices.map((d, i) =>
                h(
                  "tr",
                  {},
                  i === 0 ? h("th", { scope: "rowgroup", rowspan: gpu.devices.length }, String(gpu.gpu)) : null,
                  h("td", {}, d.resource, d.part ? ` · ${num(d.part / 10)} %` : null, ids.has(d.index) ? h("div.id", {}, ids.get(d.index)) : null),
                  h("td", {}, holder(d)),
                  h("td", {}, d.busy >= 0 ? meter(d.busy / 10, Math.round(d.busy / 10) + " %") : h("span.faint", {}, "–")),
                  h(
                    "td",
                    {},
                    d.total
                      ? meter((100 * d.used) / d.total, `${num(d.used / 1024)} / ${num(d.total / 1024)} GiB`)
                      : h("span.faint", {}, "–"),
                  ),
                  h("td", {}, health(d)),
                ),
              ),
            ),
          ),
        ),
      ),
    );
  }
  return { draw };
}
