// events.js - what has happened since the server was started, the newest first

import { h, jobLink, keyed, nodeLink, queueLink, text, time } from "./dom.js";
import { events, now, whole } from "./store.js";

const links = { n: nodeLink, j: jobLink, q: queueLink };
const levels = ["", "good", "warns", "bad"],
  signs = ["·", "✓", "!", "✕"],
  spoken = ["", "good: ", "warning: ", "bad: "];

export function eventRow(e) {
  return h(
    "li." + (levels[e.l] || "plain"),
    {},
    time(e.t, now()),
    h("i.sign", { "aria-hidden": "true" }, signs[e.l]),
    h("span.unseen", {}, spoken[e.l]),
    h("a", { href: links[e.of](e.to) }, e.x),
  );
}

export function eventsPage(page, route) {
  const filter = h("input", {
    type: "search",
    placeholder: "Only events with…",
    "aria-label": "Only events that say",
    value: route.query.get("q") ?? "",
  });
  const warns = h(
    "button",
    { type: "button", "aria-pressed": "false", onclick: () => route.change({ l: route.query.has("l") ? null : "2" }) },
    "Only troubles",
  );
  const list = h("ol.events"),
    none = h("p.none"),
    more = h("p.more");
  page.append(h("div.tools", {}, h("h1", {}, "Events"), warns, filter), list, none, more);
  filter.addEventListener("input", () => route.change({ q: filter.value || null }, true));
  function draw() {
    const q = (route.query.get("q") ?? "").toLowerCase(),
      least = route.query.has("l") ? 2 : 0;
    warns.setAttribute("aria-pressed", String(least > 0));
    const shown = events.filter((e) => e.l >= least && (!q || e.x.toLowerCase().includes(q))).reverse();
    keyed(list, shown, (e) => e.id, eventRow);
    none.hidden = shown.length > 0;
    text(none, events.length ? "None of them." : "Nothing has happened since the server was started.");
    const gone = events.length ? Number(events[0].key) : 0;
    text(
      more,
      gone > 0
        ? `The last ${whole.max?.[0] ?? events.length} are kept: ${gone} older ones are gone. kubectl events has those of the objects.`
        : "",
    );
  }
  return { draw };
}
