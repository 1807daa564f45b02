// jobs.js - all jobs as one list; and one of them: why it waits as a tree, what would help, where its pods are

import { dot, h, jobLink, keyed, nodeLink, num, queueLink, span, text, time, when, renew } from "./dom.js";
import { gpusOf, jobs, nodes, now, over, placementOf, queues, running, teamSlot, waiting } from "./store.js";

const shownAtOnce = 300;
const groups = { all: () => true, waiting, running, over };
const words = {
  waiting: "waiting",
  held: "on hold",
  reserved: "has quota",
  starting: "starts",
  running: "running",
  leaving: "has to go",
  done: "done",
  failed: "failed",
};
const byName = new Intl.Collator("en", { numeric: true });
const since = (job) => (over(job) ? (job.e ?? 0) - (job.b ?? job.c) : running(job) && job.b ? now() - job.b : now() - (job.y ?? job.c));
const order = ["leaving", "waiting", "held", "reserved", "starting", "running", "failed", "done"];
const columns = [
  { id: "state", title: "State", of: (j) => order.indexOf(j.s) },
  { id: "name", title: "Job", of: (j) => j.ns + "/" + j.n },
  { id: "queue", title: "Queue", of: (j) => j.q ?? "" },
  { id: "gpus", title: "GPUs", of: (j) => j.g ?? 0, num: true },
  { id: "pods", title: "Pods", of: (j) => j.m ?? 0, num: true },
  { id: "priority", title: "Priority", of: (j) => j.p ?? 0, num: true },
  { id: "time", title: "For", of: since, num: true },
];

const badge = (job) => (job.hg ? h("span.badge.hung", {}, "hangs") : h("span.badge." + job.s, {}, words[job.s] ?? job.s));

function compare(by, down) {
  const of = columns.find((c) => c.id === by)?.of ?? columns[0].of,
    sign = down ? -1 : 1;
  return (a, b) => {
    const x = of(a),
      y = of(b);
    return sign * (typeof x === "string" ? byName.compare(x, y) : x - y) || b.c - a.c || byName.compare(a.key, b.key);
  };
}

function row(job) {
  const cell = (spec) => h(spec, { role: "cell" }); // said, as on a narrow screen it is laid out otherwise
  return h(
    "tr",
    { role: "row" },
    cell("td"),
    h("th", { scope: "row", role: "rowheader" }, h("a", { href: jobLink(job.key) }), h("span.faint")),
    cell("td"),
    ...Array.from({ length: 4 }, () => cell("td.num")),
    cell("td.why"),
  );
}

function fill(e, job) {
  const [state, name, queue, gpus, pods, priority, time_, why] = e.children,
    s = job.s;
  const is = s + (job.hg ? " hung" : "");
  if (e.state !== is) renew(state, badge(job));
  e.state = is;
  text(name.firstChild, `${job.ns}/${job.n}`);
  text(name.lastChild, job.kd);
  if (queue.of !== job.q) renew(queue, ...(job.q ? [dot(teamSlot(job.q)), job.q] : ["–"]));
  queue.of = job.q;
  text(gpus, num(job.g ?? 0));
  text(pods, running(job) ? `${job.r ?? 0} / ${job.m ?? 0}` : String(job.m ?? 0));
  text(priority, job.p ?? 0);
  text(time_, span(since(job)));
  text(why, job.x ?? (job.u ? "until " + new Date(job.u).toLocaleTimeString() + " at the latest" : ""));
}

export function jobsPage(page, route) {
  const chips = Object.keys(groups).map((id) =>
    h(
      "button",
      { type: "button", "aria-pressed": "false", onclick: () => route.change({ s: id === "all" ? null : id, n: null }) },
      h("span", {}, { all: "All", waiting: "Waiting", running: "Running", over: "Over" }[id]),
      h("b"),
    ),
  );
  const filter = h("input", {
    type: "search",
    placeholder: "Only jobs with…",
    "aria-label": "Only jobs whose name, kind, queue or reason has",
    value: route.query.get("q") ?? "",
  });
  const heads = columns.map((c) =>
    h("th", { scope: "col", class: c.num ? "num" : null }, h("button", { type: "button", onclick: () => sort(c.id) }, c.title)),
  );
  const body = h("tbody", { role: "rowgroup" }),
    none = h("p.none"),
    more = h("p.more"),
    all = h(
      "button",
      { type: "button", onclick: () => route.change({ n: String((Number(route.query.get("n")) || shownAtOnce) + 1000) }) },
      "Show more",
    );
  page.append(
    h("div.tools", {}, h("h1", {}, "Jobs"), h("div.group", { role: "group", "aria-label": "Which" }, chips), filter),
    h(
      "div.scroll",
      {},
      h(
        "table.jobs",
        { role: "table" },
        h("caption.unseen", {}, "Jobs"),
        h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, heads, h("th", { scope: "col" }, "Why, or until when"))),
        body,
      ),
    ),
    none,
    h("div.tools", {}, more, all),
  );
  filter.addEventListener("input", () => route.change({ q: filter.value || null, n: null }, true));
  function sort(id) {
    const by = route.query.get("sort") ?? "state";
    route.change({ sort: id, down: by === id && !route.query.has("down") ? "1" : null });
  }
  function draw() {
    const which = groups[route.query.get("s")] ? route.query.get("s") : "all",
      q = (route.query.get("q") ?? "").toLowerCase().trim();
    const by = route.query.get("sort") ?? "state",
      down = route.query.has("down"),
      most = Number(route.query.get("n")) || shownAtOnce;
    const everything = [...jobs.values()];
    chips.forEach((chip, i) => {
      const id = Object.keys(groups)[i];
      chip.setAttribute("aria-pressed", String(id === which));
      text(chip.lastChild, everything.filter(groups[id]).length);
    });
    heads.forEach((th, i) =>
      columns[i].id === by ? th.setAttribute("aria-sort", down ? "descending" : "ascending") : th.removeAttribute("aria-sort"),
    );
    const hit = (j) => !q || `${j.ns}/${j.n} ${j.kd} ${j.q ?? ""} ${j.x ?? ""} ${j.key}`.toLowerCase().includes(q);
    const list = everything.filter((j) => groups[which](j) && hit(j)).sort(compare(by, down)),
      shown = list.slice(0, most);
    keyed(body, shown, (j) => j.key, row, fill);
    none.hidden = list.length > 0;
    text(
      none,
      q
        ? `No job has “${q}” in its name, queue or reason.`
        : which === "all"
          ? "There are no jobs yet. kubectl apply one: it is shown here at once."
          : "None.",
    );
    text(more, list.length > shown.length ? `${shown.length} of ${list.length} jobs are shown.` : "");
    all.hidden = list.length <= shown.length;
  }
  return { draw, tick: draw };
}

// ---- one job

function reasons(reason, top) {
  if (!reason) return null;
  const kids = reason.children ?? [],
    about = [
      reason.flavor && `flavor ${reason.flavor}`,
      reason.podSet && `pod set ${reason.podSet}`,
      reason.node && `node ${reason.node}`,
      reason.resource && reason.need > 0 && `has ${num(reason.have ?? 0)}, needs ${num(reason.need)}`,
    ]
      .filter(Boolean)
      .join(" · ");
  return h(
    "li",
    {},
    h("div.reason", {}, h("code", {}, reason.code), h("span", {}, reason.message), about && !top ? h("span.faint", {}, about) : null),
    kids.length || reason.more
      ? h(
          "ul",
          {},
          kids.map((kid) => reasons(kid)),
          reason.more ? h("li.faint", {}, `and ${reason.more} more, which are left out`) : null,
        )
      : null,
  );
}

// Who ends or moves, of a change that is that.
function holderOf(change) {
  const name = `/${change.namespace}/${change.name}`,
    of = { Workload: ["workload"], Pod: ["pod"], PodGroup: ["volcano", "coscheduling", "native"] }[change.kind] ?? [];
  return ["end", "move"].includes(change.change) ? of.map((source) => jobs.get(source + name)).find(Boolean) : undefined;
}

// When it is there at the latest: that one's limit of time. 0: nobody knows.
const endOf = (change) => (change.change === "end" && holderOf(change)?.u) || 0;

// The message with jobs in the place of their Workloads, as links to them.
function remedyText(remedy) {
  let parts = [remedy.message];
  for (const change of remedy.all ?? []) {
    const holder = holderOf(change),
      named = `${change.kind} ${change.namespace}/${change.name}`;
    if (!holder) continue;
    const who = change.kind === "Workload" && holder.n ? `${holder.kd} ${holder.ns}/${holder.n}` : named,
      link = () => h("a", { href: jobLink(holder.key) }, who);
    parts = parts.flatMap((part) => {
      // "n/a" is not "n/a-2"
      const pieces = typeof part === "string" ? (part + " ").split(named + " ") : [];
      return pieces.length < 2 ? [part] : pieces.flatMap((piece, i) => (i ? [link(), " " + piece] : [piece]));
    });
  }
  return parts;
}

// When all that a remedy needs has happened by itself, at the latest; 0: it may not.
const remedyEnd = (remedy) => ((remedy.all ?? []).every(endOf) ? Math.max(0, ...(remedy.all ?? []).map(endOf)) : 0);

function earliest(reason) {
  const ends = (reason?.remedies ?? []).map(remedyEnd).filter((ms) => ms > 0);
  return ends.length ? Math.min(...ends) : 0;
}

function help(reason) {
  if (reason?.impossible)
    return h("p.problem", {}, "Nothing that can be waited for: ", reason.impossible.message ?? String(reason.impossible));
  if (reason?.notComputed) return h("p.faint", {}, "Not worked out: ", reason.notComputed.message ?? String(reason.notComputed));
  if (!reason?.remedies?.length) return null;
  return h(
    "ul.remedies",
    {},
    reason.remedies.map((one) => {
      const end = remedyEnd(one);
      return h("li", {}, remedyText(one), end ? h("span.faint", {}, ` (at ${when(end, now())} at the latest)`) : null);
    }),
  );
}

const fact = (name, ...value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));

export function jobPage(page, route, key) {
  const title = h("h1"),
    facts = h("dl.facts"),
    why = h("section", { hidden: true }),
    pods = h("section", { hidden: true });
  page.append(h("p.path", {}, h("a", { href: "#/jobs" }, "Jobs")), h("div.tools", {}, title), facts, why, pods);
  let stamp = "",
    asked = 0,
    reason = null;
  async function ask() {
    const mine = ++asked;
    const answer = await fetch("api/why?job=" + encodeURIComponent(key)).catch(() => null);
    if (mine !== asked || !page.isConnected) return;
    const all = answer?.ok ? await answer.json() : null,
      job = jobs.get(key);
    reason = all?.reason;
    why.hidden = !all?.reason || !job || !(waiting(job) || job.s === "starting");
    const root = all?.reason,
      said = root?.message === job?.x && root?.children?.length; // the sentence stands above already
    renew(
      why,
      ...(help(root)
        ? [h("h2", {}, "What would help"), help(root)]
        : [h("p.more", {}, "What would help is worked out for the first of those that wait alike.")]),
      h("h2", {}, "Why it waits"),
      h("ul.tree", {}, said ? root.children.map((kid) => reasons(kid)) : (reasons(root, true) ?? [])),
    );
    pods.hidden = !all?.pods?.length;
    const shown = (all?.pods ?? []).slice(0, 600);
    renew(
      pods,
      h("h2", {}, `Pods (${all?.pods?.length ?? 0})`),
      h(
        "div.scroll",
        {},
        h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ["Pod", "State", "Node", "GPUs", "Busy"].map((t) => h("th", { scope: "col" }, t)),
            ),
          ),
          h(
            "tbody",
            {},
            shown.map(([pod, node, phase]) => podRow(pod, node, phase)),
          ),
        ),
      ),
      shown.length < (all?.pods ?? []).length ? h("p.more", {}, `${shown.length} of ${all.pods.length} pods are shown.`) : "",
    );
  }
  function podRow(pod, node, phase) {
    const has =
      node && nodes.get(node)
        ? gpusOf(nodes.get(node)).flatMap((gpu) => gpu.devices.filter((d) => d.pod === pod).map((d) => ({ gpu: gpu.gpu, d })))
        : [];
    const busy = has.filter((one) => one.d.busy >= 0);
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, pod.slice(pod.indexOf("/") + 1)),
      h("td", {}, phase),
      h("td", {}, node ? h("a", { href: nodeLink(node) }, node) : "–"),
      h("td", {}, has.length ? [...new Set(has.map((one) => one.gpu))].join(", ") : "–"),
      h("td", {}, busy.length ? Math.round(busy.reduce((sum, one) => sum + one.d.busy, 0) / busy.length / 10) + " %" : "–"),
    );
  }
  function draw() {
    const job = jobs.get(key);
    if (!job) {
      text(title, key.split("/").slice(1).join("/"));
      renew(facts, fact("State", "There is no such job (any more)."));
      why.hidden = pods.hidden = true;
      return;
    }
    document.title = job.n + " · Capstan";
    renew(title, `${job.ns}/${job.n} `, badge(job));
    const queue = [...queues.values()].find((q) => q.n === job.q),
      place = queue?.wait?.indexOf(key) ?? -1,
      t = now(),
      eta = waiting(job) ? earliest(reason) : 0;
    renew(
      facts,
      ...[
        fact("Kind", job.kd),
        fact("Queue", job.q ? [dot(teamSlot(job.q)), queue ? h("a", { href: queueLink(queue.key) }, job.q) : job.q] : "none"),
        fact("GPUs", num(job.g ?? 0)),
        fact("Pods", running(job) ? `${job.r ?? 0} of ${job.m} run` : String(job.m ?? 0)),
        fact("Priority", String(job.p ?? 0)),
        fact("Created", time(job.c, t), h("span.faint", {}, ` ${span(t - job.c)} ago`)),
        job.b ? fact("Started", time(job.b, t), h("span.faint", {}, ` after ${span(job.b - (job.y ?? job.c))}`)) : null,
        job.e ? fact("Ended", time(job.e, t), h("span.faint", {}, job.b ? ` after ${span(job.e - job.b)}` : "")) : null,
        job.hg ? fact("Hangs", "found at ", time(job.hg, t), h("span.faint", {}, ` ${span(t - job.hg)} ago`)) : null,
        over(job) ? null : fact("Nodes by", placementOf(queue)),
        job.u ? fact("Ends", h("span", {}, "at the latest "), time(job.u, t)) : null,
        waiting(job) && place >= 0 ? fact("Place", `${place + 1} of ${queue.waitn} in ${queue.n}`) : null,
        waiting(job) && job.f
          ? fact("Starts", h("span", {}, "about "), time(job.f, t), h("span.faint", {}, " as far as limits of time and earlier runs tell"))
          : null,
        eta ? fact("May start", h("span", {}, "at "), time(eta, t), h("span", {}, " at the latest, if nothing else comes between")) : null,
        job.x ? h("div.wide", {}, h("dt", {}, "Reason"), h("dd", {}, job.x)) : null,
      ].filter(Boolean),
    );
    const is = JSON.stringify([job.s, job.w, job.r, job.m]);
    if (is !== stamp) ask();
    stamp = is;
  }
  return { draw, tick: draw };
}
