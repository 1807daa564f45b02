// usage.js - GPUs over time: how many there are, who held them, how busy they were
//
// The plot is a hundred lines of SVG: Debian has no small library for it, and nothing is fetched from elsewhere.

import { dot, h, keyed, num, percent, text, tint, when, renew } from "./dom.js";
import { now, past, recent, teamSlot } from "./store.js";

const windows = { "10m": 600e3, "1h": 3600e3, "6h": 6 * 3600e3, "1d": 86400e3, "7d": 7 * 86400e3 };
const named = { "10m": "10 minutes", "1h": "1 hour", "6h": "6 hours", "1d": "1 day", "7d": "7 days" };

// A round step that gives about `n` of them.
export function step(span, n) {
  const rough = span / n,
    unit = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((k) => k * unit).find((s) => s >= rough) ?? rough;
}
const timeSteps = [10e3, 30e3, 60e3, 120e3, 300e3, 600e3, 1800e3, 3600e3, 2 * 3600e3, 6 * 3600e3, 12 * 3600e3, 86400e3];
export const timeStep = (span, n) => timeSteps.find((s) => span / s <= n) ?? 86400e3;

export function usagePage(page, route) {
  const chips = Object.keys(windows).map((id) =>
    h("button", { type: "button", "aria-pressed": "false", onclick: () => route.change({ w: id }) }, named[id]),
  );
  const plot = h("div.plot"),
    legend = h("div.legend"),
    none = h("p.none"),
    note = h("p.more");
  const body = h("tbody"),
    table = h(
      "div.scroll",
      {},
      h(
        "table",
        {},
        h("caption", {}, "On the average of that time"),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["Team", "GPUs", "Part", "Most"].map((t, i) => h("th", { scope: "col", class: i ? "num" : null }, t)),
          ),
        ),
        body,
      ),
    );
  page.append(
    h("div.tools", {}, h("h1", {}, "Usage"), h("div.group", { role: "group", "aria-label": "How long" }, chips)),
    legend,
    plot,
    none,
    table,
    note,
  );

  // Usage from the fine rows where there are any, from the coarse ones before.
  function samples(from) {
    const fine = recent[0]?.t ?? Infinity;
    return past.filter((u) => u.t >= from && u.t < fine).concat(recent.filter((u) => u.t >= from));
  }

  function draw() {
    const w = windows[route.query.get("w")] ? route.query.get("w") : "1h",
      t = now();
    chips.forEach((chip, i) => chip.setAttribute("aria-pressed", String(Object.keys(windows)[i] === w)));
    const all = samples(t - windows[w]),
      from = Math.max(t - windows[w], Math.min(t - 60e3, all[0]?.t ?? t)),
      width = Math.max(260, plot.clientWidth || page.clientWidth),
      tall = Math.max(200, Math.min(440, innerHeight - 420)),
      left = 44,
      below = 24,
      top = 8;
    none.hidden = all.length > 1;
    text(none, "A line appears here after the first twenty seconds: usage is sampled every ten.");
    const high = Math.max(1000, ...all.map((u) => Math.max(u.n, u.h))),
      x = (ms) => left + ((ms - from) / (t - from)) * (width - left - 8),
      y = (milli) => top + (1 - milli / high) * (tall - top - below);
    const sums = new Map();
    for (const u of all) for (const [team, n] of Object.entries(u.by)) sums.set(team, (sums.get(team) ?? 0) + n);
    const teams = [...sums].sort((a, b) => b[1] - a[1]).map(([team]) => team),
      parts = [],
      base = all.map(() => 0);
    for (const team of teams) {
      const lower = base.map((b, i) => [x(all[i].t), y(b)]);
      all.forEach((u, i) => (base[i] += u.by[team] ?? 0));
      const upper = base.map((b, i) => [x(all[i].t), y(b)]);
      parts.push(
        h(
          "path",
          {
            d:
              "M" +
              upper.map((p) => p.map((v) => v.toFixed(1)).join(",")).join("L") +
              "L" +
              lower
                .reverse()
                .map((p) => p.map((v) => v.toFixed(1)).join(","))
                .join("L") +
              "Z",
            style: { fill: tint(teamSlot(team)) },
          },
          h("title-svg", {}, team),
        ),
      );
    }
    const line = (of, name) => {
      const points = all.filter((u) => of(u) >= 0);
      return points.length > 1
        ? h("polyline." + name, { points: points.map((u) => x(u.t).toFixed(1) + "," + y(of(u)).toFixed(1)).join(" ") })
        : null;
    };
    const grid = [],
      every = step(high / 1000, 5) * 1000,
      each = timeStep(t - from, width / 90);
    for (let n = 0; n <= high; n += every)
      grid.push(
        h("line.grid", { x1: left, x2: width - 8, y1: y(n), y2: y(n) }),
        h("text-svg", { x: left - 8, y: y(n) + 4, "text-anchor": "end" }, num(n / 1000)),
      );
    for (let ms = Math.ceil(from / each) * each; ms <= t; ms += each)
      grid.push(
        h(
          "text-svg",
          { x: x(ms), y: tall - 6, "text-anchor": "middle" },
          when(ms, t).replace(/:\d\d$/, (s) => (each < 60e3 ? s : "")),
        ),
      );
    const last = all.at(-1),
      words = last
        ? `Of ${num(last.n / 1000)} GPUs ${num(last.h / 1000)} are held now` +
          (last.a >= 0 ? `, as busy as ${num(last.a / 1000)} of them` : "") +
          "."
        : "Nothing yet.";
    renew(
      plot,
      h(
        "svg",
        { width, height: tall, role: "img", "aria-label": words + " The table below has each team." },
        grid,
        parts,
        line((u) => u.n, "capacity"),
        line((u) => u.a, "active"),
      ),
    );
    keyed(
      legend,
      [["capacity", "GPUs there are"], ["active", "of those held busy"], ...teams.map((team) => [team, team])],
      ([id, name]) => (name === id ? "t" + id : id),
      ([id, name]) =>
        h("span", {}, name === id ? dot(teamSlot(id)) : h("i.sign." + id, { "aria-hidden": "true" }), h("span", {}, name || "(no team)")),
    );
    const held = all.reduce((sum, u) => sum + u.h, 0),
      there = all.reduce((sum, u) => sum + u.n, 0);
    const rows = [
      ...teams.map((team) => ({ team, n: sums.get(team), most: Math.max(...all.map((u) => u.by[team] ?? 0)) })),
      { team: null, n: there - held, most: Math.max(0, ...all.map((u) => u.n - u.h)) },
    ];
    keyed(
      body,
      all.length ? rows : [],
      (r) => "t" + r.team,
      (r) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, r.team === null ? "free" : [dot(teamSlot(r.team)), r.team]),
          h("td.num"),
          h("td.num"),
          h("td.num"),
        ),
      (e, r) => {
        text(e.children[1], num(r.n / all.length / 1000));
        text(e.children[2], percent(r.n, there));
        text(e.children[3], num(r.most / 1000));
      },
    );
    text(
      note,
      "Kept in memory since the server was started: every ten seconds for an hour, every five minutes for a week. capstan report has GPU-hours and what they were used for.",
    );
  }
  return { draw, tick: draw, resize: draw };
}
