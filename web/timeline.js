// timeline.js - when which job ran, on a line each: the past, what runs, and its end at the latest where that is known

import { h, jobLink, num, span, text, tint, when } from "./dom.js";
import { jobs, now, over, runs, teamSlot, waiting } from "./store.js";
import { timeStep } from "./usage.js";

const windows = { "10m": 600e3, "1h": 3600e3, "6h": 6 * 3600e3, "1d": 86400e3 };
const named = { "10m": "10 minutes", "1h": "1 hour", "6h": "6 hours", "1d": "1 day" };
const linesShown = 150;

export function timelinePage(page, route) {
  const chips = Object.keys(windows).map((id) =>
    h("button", { type: "button", "aria-pressed": "false", onclick: () => route.change({ w: id }) }, named[id]),
  );
  const filter = h("input", {
    type: "search",
    placeholder: "Only jobs with…",
    "aria-label": "Only jobs whose name or queue has",
    value: route.query.get("q") ?? "",
  });
  const signs = h(
    "div.legend",
    {},
    h("span", {}, h("i.sign.waits", { "aria-hidden": "true" }), "waits"),
    h("span", {}, h("i.sign.planned", { "aria-hidden": "true" }), "may run on until then, or starts about then"),
    h("span", {}, h("i.sign.ended-badly", { "aria-hidden": "true" }), "failed, or had to go"),
  );
  const plot = h("div.plot.gantt"),
    none = h("p.none", {}, "Nothing has run yet."),
    more = h("p.more");
  page.append(
    h("div.tools", {}, h("h1", {}, "Timeline"), h("div.group", { role: "group", "aria-label": "How long" }, chips), filter),
    signs,
    none,
    plot,
    more,
  );
  filter.addEventListener("input", () => route.change({ q: filter.value || null }, true));

  // Each job once, with all its runs.
  function lines(from, q) {
    const all = new Map();
    const line = (key, job) =>
      all.get(key) ??
      (all.set(key, { key, name: `${job.ns}/${job.n}`, queue: job.q || job.ns, gpus: job.g ?? 0, bars: [], last: 0 }), all.get(key));
    for (const run of runs)
      if (run.e >= from)
        line(run.j, run).bars.push({ from: run.b, to: run.e, bad: run.s === "evicted" || run.s === "failed", words: run.s });
    for (const job of jobs.values()) {
      if (job.b && !(over(job) && job.e < from))
        line(job.key, job).bars.push({ from: job.b, to: job.e || null, until: job.u, bad: job.s === "failed", words: job.s });
      if (waiting(job)) line(job.key, job).bars.push({ from: job.y ?? job.c, to: null, waits: true, starts: job.f, most: job.l, words: "waits" });
      else if (job.b && job.b - (job.y ?? job.c) > 2000 && job.b > from)
        line(job.key, job).bars.unshift({ from: job.y ?? job.c, to: job.b, waits: true, words: "waited" });
    }
    const list = [...all.values()].filter((l) => !q || l.name.toLowerCase().includes(q) || l.queue.toLowerCase().includes(q));
    for (const l of list) (l.last = Math.max(...l.bars.map((b) => b.to ?? Infinity))), (l.first = Math.min(...l.bars.map((b) => b.from)));
    return list.sort((a, b) => (a.last === b.last ? 0 : b.last > a.last ? 1 : -1) || b.first - a.first || (a.key < b.key ? -1 : 1));
  }

  function draw() {
    const w = windows[route.query.get("w")] ? route.query.get("w") : "10m",
      t = now(),
      q = (route.query.get("q") ?? "").toLowerCase();
    chips.forEach((chip, i) => chip.setAttribute("aria-pressed", String(Object.keys(windows)[i] === w)));
    const everything = lines(t - windows[w], q),
      from = Math.max(t - windows[w], Math.min(t - 60e3, ...everything.map((l) => l.first)) - 5e3);
    const all = everything,
      shown = all.slice(0, linesShown),
      width = Math.max(260, plot.clientWidth || page.clientWidth);
    none.hidden = all.length > 0;
    text(more, all.length > shown.length ? `${shown.length} of ${all.length} jobs are shown, the latest.` : "");
    const planned = Math.max(0, ...shown.flatMap((l) => l.bars.map((b) => b.until ?? (b.starts ?? 0) + (b.most ?? 0)))),
      end = Math.min(Math.max(t + (t - from) / 12, planned), t + (t - from) / 2);
    const narrow = width < 560,
      left = narrow ? 4 : Math.min(260, width / 3),
      tall = narrow ? 40 : 24,
      top = 26,
      x = (ms) => left + ((Math.min(Math.max(ms, from), end) - from) / (end - from)) * (width - left - 4);
    const grid = [],
      each = timeStep(end - from, (width - left) / 84),
      height = top + shown.length * tall + 6;
    for (let ms = Math.ceil(from / each) * each; ms <= end; ms += each)
      grid.push(
        h("line.grid", { x1: x(ms), x2: x(ms), y1: top - 6, y2: height }),
        h(
          "text-svg",
          { x: x(ms), y: 14, "text-anchor": x(ms) > width - 30 ? "end" : "middle" },
          when(ms, t).replace(/:\d\d$/, (s) => (each < 60e3 ? s : "")),
        ),
      );
    grid.push(h("line.now", { x1: x(t), x2: x(t), y1: top - 8, y2: height }));
    const rows = shown.map((l, i) => {
      const y = top + i * tall,
        room = narrow ? 16 : 0,
        high = tall - room - 5;
      // Without a limit of time nobody knows for how long: to the edge.
      const start = (b) =>
        h(
          "rect.planned.starts",
          {
            x: x(b.starts),
            y: y + room + 1,
            width: Math.max(2, x(b.most ? b.starts + b.most : end) - x(b.starts)),
            height: high,
            rx: 3,
            style: { stroke: tint(teamSlot(l.queue)) },
          },
          h("title-svg", {}, `starts about ${when(b.starts, t)}` + (b.most ? `, until ${when(b.starts + b.most, t)} at the latest` : "")),
        );
      const bars = l.bars
        .filter((b) => (b.to ?? t) >= from)
        .map((b) => {
          const a = x(b.from),
            z = Math.max(a + 2, x(b.to ?? t));
          const words =
            `${l.name}: ${b.waits ? b.words : b.words + (b.to ? "" : " now")} for ${span((b.to ?? t) - b.from)}, from ${when(b.from, t)}` +
            (b.to ? ` to ${when(b.to, t)}` : "") +
            (b.waits ? "" : `, ${num(l.gpus)} GPUs`);
          return [
            h(
              b.waits ? "rect.waits" : b.bad ? "rect.bad" : "rect",
              {
                x: a,
                y: y + room + (b.waits ? high / 3 : 1),
                width: z - a,
                height: b.waits ? high / 3 : high,
                rx: 3,
                style: { fill: b.waits ? "var(--faint)" : tint(teamSlot(l.queue)) },
              },
              h("title-svg", {}, words),
            ),
            b.bad ? h("line.badly", { x1: z - 1.5, x2: z - 1.5, y1: y + room, y2: y + room + high + 2 }) : null,
            b.starts > t ? start(b) : null,
            b.until && !b.to && b.until > t
              ? h(
                  "rect.planned",
                  {
                    x: z,
                    y: y + room + 1,
                    width: Math.max(1, x(b.until) - z),
                    height: high,
                    rx: 3,
                    style: { stroke: tint(teamSlot(l.queue)) },
                  },
                  h("title-svg", {}, `at the latest until ${when(b.until, t)}`),
                )
              : null,
          ];
        });
      const most = Math.floor((narrow ? width : left - 40) / 7),
        label = l.name.length > most ? l.name.slice(0, most - 1) + "…" : l.name;
      return h(
        "a-svg",
        { href: jobLink(l.key), "aria-label": `${l.name}, ${l.bars.map((b) => b.words + (b.starts > t ? ", starts about " + when(b.starts, t) : "")).join(", ")}` },
        h("rect.row", { x: 0, y, width, height: tall }),
        h("circle", { cx: 8, cy: y + (narrow ? 9 : tall / 2 - 1), r: 4, style: { fill: tint(teamSlot(l.queue)) } }),
        h("text-svg.name", { x: 18, y: y + (narrow ? 13 : tall / 2 + 3) }, label),
        bars,
      );
    });
    const focused = document.activeElement?.getAttribute?.("href");
    plot.replaceChildren(h("svg", { width, height, role: "group", "aria-label": `${shown.length} jobs, when each ran` }, grid, rows));
    if (focused) [...plot.querySelectorAll("a")].find((a) => a.getAttribute("href") === focused)?.focus();
  }
  return { draw, tick: draw, resize: draw };
}
