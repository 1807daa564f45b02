// app.js - which page is shown, the bar above it, search, dark and light
//
//   #/gpus?by=team   #/queues   #/queue/ID   #/jobs?s=waiting   #/job/KEY   #/timeline   #/usage   #/events   #/node/NAME

import { gpus, h, jobLink, nodeLink, percent, queueLink, text, renew } from "./dom.js";
import { eventsPage } from "./events.js";
import { gpusPage } from "./gpus.js";
import { jobPage, jobsPage } from "./jobs.js";
import { nodePage } from "./node.js";
import { queuePage, queuesPage } from "./queues.js";
import { connect, jobs, listen, nodes, queues, running, waiting, whole } from "./store.js";
import { timelinePage } from "./timeline.js";
import { usagePage } from "./usage.js";

const pages = {
  gpus: ["GPUs", gpusPage],
  queues: ["Queues", queuesPage],
  queue: ["Queue", queuePage, "queues"],
  jobs: ["Jobs", jobsPage],
  job: ["Job", jobPage, "jobs"],
  timeline: ["Timeline", timelinePage],
  usage: ["Usage", usagePage],
  events: ["Events", eventsPage],
  node: ["Node", nodePage, "gpus"],
};
const byId = (id) => document.getElementById(id);
const main = byId("page");
let shown = null,
  path = "";

// ---- pages

const unescape = (part) => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

function read() {
  const [where, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = where.split("/");
  return { name: pages[name] ? name : "gpus", id: rest.map(unescape).join("/"), query: new URLSearchParams(query) };
}

function show(moved) {
  const at = read(),
    now = at.name + "/" + at.id;
  if (shown && now === path) {
    // another view of the same page
    shown.route.query = at.query;
    shown.draw();
    return;
  }
  path = now;
  const [title, make, nav = at.name] = pages[at.name];
  document.title = title + " · Capstan";
  for (const a of document.querySelectorAll("nav a"))
    if (a.hash === "#/" + nav) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  const route = {
    query: at.query,
    change(to, replace) {
      // what differs in this view, as a link that can be shared
      const query = new URLSearchParams(route.query);
      for (const [key, value] of Object.entries(to))
        if (value === null) query.delete(key);
        else query.set(key, value);
      const hash = location.hash.split("?")[0] || "#/" + at.name,
        text_ = query.toString();
      history[replace ? "replaceState" : "pushState"](null, "", hash + (text_ ? "?" + text_ : ""));
      show();
    },
  };
  main.replaceChildren();
  main.dataset.page = at.name;
  shown = make(main, route, at.id);
  shown.route = route;
  shown.draw();
  if (moved) {
    scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }
}

// ---- the bar above

function totals() {
  let run = 0,
    wait = 0,
    down = 0;
  for (const job of jobs.values())
    if (running(job)) run++;
    else if (waiting(job)) wait++;
  for (const node of nodes.values()) if (!node.ok) down++;
  text(byId("held"), `${gpus(whole.h)} / ${gpus(whole.n)}`);
  text(byId("busy"), whole.a >= 0 ? percent(whole.a, whole.ma) : "–");
  text(byId("running"), run);
  text(byId("waiting"), wait);
  text(byId("wanted"), gpus(whole.w));
  text(byId("nodes"), nodes.size + (down ? `, ${down} not ready` : "") + (whole.sick ? `, ${whole.sick} GPUs not healthy` : ""));
  byId("nodes").parentElement.dataset.bad = down || whole.sick ? "1" : "";
}

function state(is) {
  const e = byId("live");
  if (e.dataset.state === is) return;
  e.dataset.state = is;
  text(e, { wait: "connecting", live: whole.role === "follower" ? "live, another one decides" : "live", lost: "not connected" }[is]);
}

// ---- search

const search = byId("search"),
  found = byId("found");
let hits = [],
  chosen = -1;

function find(q) {
  const want = q.toLowerCase().trim(),
    all = [];
  if (!want) return all;
  const add = (map, kind, of, link, name, more) => {
    let n = 0;
    for (const row of map.values()) {
      if (n === 5) break;
      if (!of(row).toLowerCase().includes(want)) continue;
      n++;
      all.push({ kind, link: link(row.key), name: name(row), more: more(row) });
    }
  };
  add(
    jobs,
    "job",
    (j) => `${j.ns}/${j.n}`,
    jobLink,
    (j) => `${j.ns}/${j.n}`,
    (j) => j.s,
  );
  add(
    nodes,
    "node",
    (n) => n.key,
    nodeLink,
    (n) => n.key,
    (n) => n.m ?? "",
  );
  add(
    queues,
    "queue",
    (q_) => q_.n,
    queueLink,
    (q_) => q_.n,
    (q_) => `${q_.pend ?? 0} waiting`,
  );
  all.push({ kind: "all", link: "#/jobs?q=" + encodeURIComponent(q.trim()), name: `all jobs with “${q.trim()}”`, more: "" });
  return all;
}

function list() {
  hits = find(search.value);
  chosen = Math.min(chosen, hits.length - 1);
  renew(
    found,
    ...hits.map((hit, i) =>
      h(
        "li",
        {
          role: "option",
          id: "hit-" + i,
          "aria-selected": String(i === chosen),
          onpointerdown: (e) => {
            e.preventDefault();
            go(hit);
          },
        },
        h("span.kind", {}, hit.kind),
        h("span", {}, hit.name),
        h("span.faint", {}, hit.more),
      ),
    ),
  );
  found.hidden = !hits.length;
  search.setAttribute("aria-expanded", String(hits.length > 0));
  if (chosen >= 0) search.setAttribute("aria-activedescendant", "hit-" + chosen);
  else search.removeAttribute("aria-activedescendant");
}

function go(hit) {
  location.hash = hit.link;
  search.value = "";
  chosen = -1;
  list();
  search.blur();
}

search.addEventListener("input", () => {
  chosen = -1;
  list();
});
search.addEventListener("blur", () => {
  found.hidden = true;
  search.setAttribute("aria-expanded", "false");
});
search.addEventListener("focus", list);
search.addEventListener("keydown", (e) => {
  if (e.key === "ArrowDown" || e.key === "ArrowUp")
    chosen = hits.length
      ? (chosen + (e.key === "ArrowDown" ? 1 : hits.length) + (chosen < 0 && e.key === "ArrowUp" ? 1 : 0)) % hits.length
      : -1;
  else if (e.key === "Enter" && hits.length) return go(hits[Math.max(0, chosen)]);
  else if (e.key === "Escape") {
    search.value = "";
    chosen = -1;
    search.blur();
  } else return;
  e.preventDefault();
  list();
});
addEventListener("keydown", (e) => {
  if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName)) return;
  e.preventDefault();
  search.focus();
});

// ---- dark and light

const kept = {
  get: () => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null;
    }
  },
  set: (t) => {
    try {
      localStorage.setItem("theme", t);
    } catch {
      /* not for the next time, then */
    }
  },
};
const dark = matchMedia("(prefers-color-scheme: dark)");
const theme = () => kept.get() ?? (dark.matches ? "dark" : "light");

function dress() {
  document.documentElement.dataset.theme = theme();
  byId("theme").setAttribute("aria-label", theme() === "dark" ? "To light colours" : "To dark colours");
  shown?.restyle?.();
}
byId("theme").addEventListener("click", () => {
  kept.set(theme() === "dark" ? "light" : "dark");
  dress();
});
dark.addEventListener("change", dress);
dress();

// ---- live

listen((changes) => {
  totals();
  shown?.draw(changes);
});
addEventListener("hashchange", () => show(true));
let wide = innerWidth;
addEventListener("resize", () => {
  if (wide !== innerWidth || !/^(jobs|job|events)$/.test(main.dataset.page)) (shown?.resize ?? shown?.draw)?.();
  wide = innerWidth;
});
setInterval(() => document.hidden || shown?.tick?.(), 1000);
document.querySelector(".skip").addEventListener("click", (e) => {
  e.preventDefault();
  main.focus();
});
show();
connect(state);
