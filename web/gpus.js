// gpus.js - the page with the map: by team, by activity, by health; and the same as a table

import { dot, h, jobLink, keyed, nodeLink, num, percent, text, renew } from "./dom.js";
import { GpuMap } from "./map.js";
import { gpusOf, jobs, nodes, partOf, sortedNodes, teamOf, teamSlot, whole } from "./store.js";

const ways = { team: "by team", activity: "by activity", health: "by health" };
const rowsShown = 200;

const byName = new Intl.Collator("en", { numeric: true });

export function describe(at) {
  const node = nodes.get(at.node),
    gpu = node && gpusOf(node)[at.gpu];
  if (!gpu) return { title: at.node, lines: [node?.ok ? "no GPUs" : "not ready"] };
  const lines = [],
    d = gpu.devices[0],
    held = gpu.devices.filter((one) => one.pod || one.gang);
  if (!node.ok) lines.push("the node is not ready");
  if (node.co) lines.push("the node is cordoned");
  if (d.part) lines.push(`${percent(1000 * held.reduce((sum, one) => sum + partOf(gpu, one), 0), 1000)} of it held in shares`);
  else if (gpu.devices.length > 1) lines.push(`${gpu.devices.length} × ${d.resource}, ${held.length} held`);
  const names = new Map();
  for (const one of held) {
    const job = jobs.get(one.gang),
      name = job ? `${job.kd} ${job.ns}/${job.n}` : one.pod;
    names.set(name, { n: (names.get(name)?.n ?? 0) + 1, team: teamOf(one.gang, one.pod) });
  }
  for (const [name, { n, team }] of [...names].slice(0, 4)) lines.push(name + (n > 1 ? ` (${n})` : "") + ", " + team);
  if (names.size > 4) lines.push(`and ${names.size - 4} more`);
  if (!held.length) lines.push("free");
  if ((d.part || gpu.devices.length === 1) && d.busy >= 0) lines.push(`${Math.round(d.busy / 10)} % busy`);
  if ((d.part || gpu.devices.length === 1) && d.total) lines.push(`${num(d.used / 1024)} of ${num(d.total / 1024)} GiB`);
  for (const one of gpu.devices) {
    if (!one.ok) lines.push("not healthy");
    if (one.slow) lines.push("slowed down");
    if (one.xid) lines.push("XID " + one.xid);
  }
  return { title: `${at.node} · GPU ${gpu.counted ? at.gpu : gpu.gpu}`, lines: [...new Set(lines)] };
}

// Who holds how much: {team: thousandths of GPUs}.
function holders() {
  const sums = new Map();
  for (const node of nodes.values())
    for (const gpu of gpusOf(node))
      for (const d of gpu.devices)
        if (d.gang || d.pod) {
          const team = teamOf(d.gang, d.pod);
          sums.set(team, (sums.get(team) ?? 0) + 1000 * partOf(gpu, d));
        }
  return sums;
}

export function gpusPage(page, route) {
  const canvas = h("canvas", {
    tabindex: "0",
    role: "application",
    "aria-label": "Map of GPUs. Arrow keys go from GPU to GPU, Enter opens the node.",
    "aria-describedby": "map-at",
  });
  const at = h("p.unseen", { id: "map-at", "aria-live": "polite" });
  const tip = h("div.tip", { hidden: true, role: "presentation" });
  const legend = h("div.legend", { role: "group", "aria-label": "Legend; a team shows its own" });
  const filter = h("input", {
    type: "search",
    placeholder: "Only nodes with…",
    "aria-label": "Only nodes whose name, model or holders have",
    value: route.query.get("q") ?? "",
  });
  const body = h("tbody"),
    more = h("p.more");
  const table = h(
    "div.scroll",
    { hidden: true },
    h(
      "table",
      {},
      h("caption.unseen", {}, "Nodes and their GPUs"),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["Node", "Model", "State", "GPUs", "Held", "Busy", "Held by"].map((t) => h("th", { scope: "col" }, t)),
        ),
      ),
      body,
    ),
    more,
  );
  const buttons = Object.entries(ways).map(([by, words]) =>
    h("button", { type: "button", "aria-pressed": "false", onclick: () => route.change({ by }) }, words),
  );
  const asTable = h(
    "button",
    { type: "button", "aria-pressed": "false", onclick: () => route.change({ as: route.query.get("as") ? null : "table" }) },
    "as a table",
  );
  const none = h("p.none", { hidden: true }, "No node has GPUs yet.");
  const wrap = h("div.map", {}, canvas, tip);
  page.append(
    h("div.tools", {}, h("h1", {}, "GPUs"), h("div.group", { role: "group", "aria-label": "Colours" }, buttons), filter, asTable),
    legend,
    none,
    wrap,
    at,
    table,
  );
  const map = new GpuMap(canvas);
  let shape = "",
    legendAt = 0;

  function matching() {
    const q = (route.query.get("q") ?? "").trim().toLowerCase();
    if (!q) return null;
    const hits = (node) =>
      node.key.toLowerCase().includes(q) ||
      (node.m ?? "").toLowerCase().includes(q) ||
      node.h.some(
        ([gang, pod]) =>
          pod.toLowerCase().includes(q) ||
          teamOf(gang, pod).toLowerCase().includes(q) ||
          (jobs.get(gang)?.n ?? "").toLowerCase().includes(q),
      );
    return new Set([...nodes.values()].filter(hits).map((node) => node.key));
  }

  function drawLegend() {
    const by = map.by,
      items = [];
    legendAt = performance.now();
    if (by === "team") {
      const sums = holders();
      for (const team of [...sums.keys()].sort(byName.compare)) teamSlot(team);
      for (const [team, milli] of [...sums].sort((a, b) => b[1] - a[1] || byName.compare(a[0], b[0])))
        items.push({ id: "team " + team, team, words: team || "(no team)", n: num(milli / 1000) });
      items.push({ id: "free", sign: "free", words: "free", n: num(((whole.n ?? 0) - (whole.h ?? 0)) / 1000) });
    } else if (by === "activity") {
      items.push(
        { id: "ramp", sign: "ramp", words: "0 to 100 % busy" },
        { id: "idle", sign: "idle", words: "held, but idle" },
        { id: "unknown", sign: "unknown", words: "not measured" },
        { id: "free", sign: "free", words: "free" },
      );
    } else {
      items.push(
        { id: "good", sign: "good", words: "healthy" },
        { id: "slow", sign: "slow", words: "slowed down" },
        { id: "xid", sign: "xid", words: "has had an XID" },
        { id: "sick", sign: "sick", words: "not healthy" },
      );
    }
    if ([...nodes.values()].some((node) => !node.ok)) items.push({ id: "down", sign: "down", words: "node not ready" });
    keyed(
      legend,
      items,
      (i) => i.id,
      (i) =>
        i.team === undefined
          ? h("span", {}, h("i.sign." + i.sign, { "aria-hidden": "true" }), h("span", {}, i.words), h("b"))
          : h(
              "button",
              {
                type: "button",
                "aria-pressed": "false",
                onclick: () => route.change({ team: route.query.get("team") === i.team ? null : i.team }),
              },
              dot(teamSlot(i.team)),
              h("span", {}, i.words),
              h("b"),
            ),
      (e, i) => {
        text(e.lastChild, i.n ?? "");
        if (i.team !== undefined) e.setAttribute("aria-pressed", String(map.only === i.team));
      },
    );
  }

  function drawTable() {
    const only = map.matches,
      all = sortedNodes().filter((node) => !only || only.has(node.key)),
      shown = all.slice(0, rowsShown);
    keyed(
      body,
      shown,
      (node) => node.key,
      (node) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, h("a", { href: nodeLink(node.key) }, node.key)),
          h("td"),
          h("td"),
          h("td.num"),
          h("td.num"),
          h("td.num"),
          h("td"),
        ),
      (e, node) => {
        const gpus = gpusOf(node),
          [, model, state, total, held, busy, by] = e.children;
        const used = gpus
          .flatMap((gpu) => gpu.devices.filter((d) => d.gang || d.pod).map((d) => partOf(gpu, d)))
          .reduce((sum, part) => sum + part, 0);
        const measured = gpus.flatMap((gpu) => gpu.devices).filter((d) => d.busy >= 0);
        text(model, node.m ?? "–");
        text(state, (node.ok ? "ready" : "not ready") + (node.co ? ", cordoned" : ""));
        text(total, gpus.length);
        text(held, num(used));
        text(
          busy,
          measured.length
            ? percent(
                measured.reduce((sum, d) => sum + d.busy, 0),
                1000 * measured.length,
              )
            : "–",
        );
        const names = [
          ...new Set(
            node.h.map(([gang, pod]) => {
              const job = jobs.get(gang);
              return job ? job.ns + "/" + job.n : pod;
            }),
          ),
        ];
        text(by, names.slice(0, 4).join(", ") + (names.length > 4 ? `, and ${names.length - 4} more` : ""));
      },
    );
    text(more, all.length > shown.length ? `${shown.length} of ${all.length} nodes: the search above finds the others.` : "");
  }

  function draw(changes) {
    const by = ways[route.query.get("by")] ? route.query.get("by") : "team",
      only = route.query.has("team") ? route.query.get("team") : null;
    const restyled = by !== map.by || only !== map.only;
    map.by = by;
    map.only = only;
    buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(Object.keys(ways)[i] === by)));
    const isTable = route.query.get("as") === "table";
    asTable.setAttribute("aria-pressed", String(isTable));
    table.hidden = !isTable;
    wrap.hidden = isTable;
    none.hidden = nodes.size > 0;
    const before = map.matches;
    map.matches = matching();
    const list = sortedNodes();
    if (restyled || !changes || changes.full || performance.now() - legendAt > 400) drawLegend();
    if (isTable) return drawTable();
    const style = getComputedStyle(page),
      width = Math.floor(page.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight));
    const room = Math.max(220, innerHeight - wrap.getBoundingClientRect().top - scrollY - 24),
      now = width + " " + room + " " + list.length;
    const jobsMoved = changes?.j.size && by === "team"; // a job's queue may have become known after its pods
    if (now !== shape || !changes || changes.full) {
      shape = now;
      map.layout(list, width, room);
    } else if (restyled || before !== map.matches || jobsMoved || (list.length > 300 && changes.n.size > 300)) {
      if (!map.some(changes.n, nodes)) map.layout(list, width, room);
      else map.all();
    } else if (changes.n.size && !map.some(changes.n, nodes)) {
      map.layout(list, width, room);
    }
    if (!tip.hidden && map.at) showTip(map.at);
  }

  function showTip(place) {
    const { title, lines } = describe(place),
      t = map.places.get(place.node);
    renew(tip, h("b", {}, title), ...lines.map((line) => h("div", {}, line)));
    tip.hidden = false;
    const x = t.x + (place.gpu % t.cols) * (t.size + t.gap),
      y = t.y + t.label + (Math.floor(place.gpu / t.cols) + 1) * (t.size + t.gap) + 4;
    tip.style.left = Math.max(0, Math.min(x, map.width - tip.offsetWidth)) + "px";
    tip.style.top = y + "px";
  }

  const leave = () => {
    tip.hidden = true;
    map.mark(null);
  };
  canvas.addEventListener("pointermove", (e) => {
    const place = map.find(e.offsetX, e.offsetY);
    canvas.style.cursor = place ? "pointer" : "";
    if (place?.node === map.at?.node && place?.gpu === map.at?.gpu) return;
    map.mark(place);
    if (place) showTip(place);
    else tip.hidden = true;
  });
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("blur", leave);
  canvas.addEventListener("click", (e) => {
    const place = map.find(e.offsetX, e.offsetY);
    if (place) location.hash = nodeLink(place.node);
  });
  canvas.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && map.at) {
      location.hash = nodeLink(map.at.node);
    } else if (e.key === "Escape") {
      leave();
    } else if (["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(e.key)) {
      const place = map.beside(e.key);
      if (!place) return;
      map.mark(place);
      showTip(place);
      const { title, lines } = describe(place);
      text(at, title + ": " + lines.join(", "));
      const t = map.places.get(place.node),
        top = canvas.getBoundingClientRect().top + t.y;
      if (top < 80 || top + t.h > innerHeight - 20) scrollBy({ top: top - innerHeight / 2 });
    } else {
      return;
    }
    e.preventDefault();
  });
  filter.addEventListener("input", () => route.change({ q: filter.value || null }, true));
  return {
    draw,
    resize: () => draw(),
    restyle: () => {
      map.colours();
      draw();
    },
    map,
    jobLink,
  };
}
