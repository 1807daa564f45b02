// queues.js - queues: what is theirs, what they have, what they have borrowed, who waits in which place

import { amount, dot, h, jobLink, keyed, num, queueLink, span, text, renew } from "./dom.js";
import { jobs, now, placementOf, queues, teamSlot } from "./store.js";

const byName = new Intl.Collator("en", { numeric: true });
const isGpu = (resource) => /gpu|\/mig-|^amd\.com\//.test(resource);
const place = (q) => q.co ?? "";

// Of one flavor and resource: what it has in front of what is its own, and how far it may go.
function bar([flavor, resource, nominal, used, borrowed, most, lends]) {
  const end = Math.max(nominal, used, most > 0 ? Math.min(most, nominal * 3) : 0, 1),
    part = (n) => Math.min(100, (100 * n) / end) + "%";
  const own = Math.min(used, nominal < 0 ? used : nominal),
    words =
      nominal < 0
        ? `${amount(resource, used)} used, no quota bounds it`
        : `${amount(resource, used)} of ${amount(resource, nominal)} used` +
          (borrowed ? `, ${amount(resource, borrowed)} of it borrowed` : "") +
          (most >= 0 && most > nominal ? `, at most ${amount(resource, most)}` : "") +
          (lends >= 0 ? `, lends ${amount(resource, lends)}` : "");
  return h(
    "div.quota",
    {},
    h("div.what", {}, h("b", {}, resource), flavor ? h("span", {}, flavor) : null, h("span.num", {}, words)),
    h(
      "div.bar",
      { role: "img", "aria-label": words },
      h("i.own", { style: { width: part(own) } }),
      borrowed > 0 ? h("i.borrowed", { style: { width: part(borrowed) } }) : null,
      nominal > 0 && nominal < end ? h("i.edge", { style: { left: part(nominal) } }) : null,
    ),
  );
}

// Something is used, or quota says how much may be.
const says = ([, , nominal, used, , most]) => used > 0 || nominal > 0 || most > 0;

function bars(q, all) {
  const rows = [...q.rows].sort((a, b) => isGpu(b[1]) - isGpu(a[1]) || says(b) - says(a));
  const shown = all ? rows : rows.slice(0, 3);
  return [
    shown.map(bar),
    rows.length > shown.length
      ? h("p.more", {}, `and ${rows.length - shown.length} more: `, h("a", { href: queueLink(q.key) }, "all of them"))
      : null,
  ];
}

function facts(q, placement) {
  const words = [
    q.kd === "Queue" ? "Volcano queue" : q.kd,
    q.co ? (q.kd === "ClusterQueue" ? "cohort " : "below ") + q.co : null,
    q.st || null,
    placement && q.pol ? `nodes by ${q.pol}` : null,
    q.share !== undefined ? `share ${num(q.share / 10)} %` : null,
  ];
  return words.filter(Boolean).join(" · ");
}

function problemOf(q) {
  const words = [
    q.act ? null : "It admits nothing: " + q.why,
    q.polx ? "Its annotation capstan.dev/placement names no policy: the last good one stays" : null,
  ];
  return words.filter(Boolean).join(". ");
}

export function waitingRow(key, i) {
  const job = jobs.get(key);
  return h(
    "li",
    {},
    h("span.num", {}, `${i + 1}.`),
    h("a", { href: jobLink(key) }, job ? `${job.ns}/${job.n}` : key),
    job ? h("span", {}, `${num(job.g ?? 0)} GPUs`) : null,
    job ? h("span.faint", {}, "for " + span(now() - job.c)) : null,
    job?.x ? h("p.why", {}, job.x) : null,
  );
}

function card(q) {
  return h(
    "article.card",
    { "aria-label": "Queue " + q.n },
    h("h3", {}, dot(teamSlot(q.n)), h("a", { href: queueLink(q.key) }, q.n)),
    h("p.faint"),
    h("p.problem"),
    h("div.bars"),
    h("p.counts"),
    h("ol.line-up"),
  );
}

function fill(e, q) {
  const stamp = JSON.stringify([
    q.rows,
    q.pend,
    q.adm,
    q.res,
    q.act,
    q.why,
    q.pol,
    q.polx,
    q.share,
    q.wait?.slice(0, 3),
    (q.wait ?? []).slice(0, 3).map((key) => [jobs.get(key)?.x, Math.floor((now() - (jobs.get(key)?.c ?? 0)) / 10000)]),
  ]);
  if (e.stamp === stamp) return;
  e.stamp = stamp;
  const [, about, problem, quotas, counts, waits] = e.children;
  text(about, facts(q, true));
  text(problem, problemOf(q));
  renew(quotas, ...bars(q, false).flat().filter(Boolean));
  text(counts, `${q.adm ?? 0} admitted · ${q.pend ?? 0} waiting`);
  renew(
    waits,
    ...(q.wait ?? []).slice(0, 3).map(waitingRow),
    ...(q.waitn > 3 ? [h("li", {}, h("a", { href: queueLink(q.key) }, `and ${q.waitn - 3} more`))] : []),
  );
}

// Queues that are no ClusterQueues, by kind: the heading that they stand below.
const ofOthers = { Queue: "Volcano", "KAI Queue": "KAI" };

export function queuesPage(page, route) {
  const filter = h("input", {
    type: "search",
    placeholder: "Only queues with…",
    "aria-label": "Only queues whose name or cohort has",
    value: route.query.get("q") ?? "",
  });
  const groups = h("div"),
    none = h("p.none", {}, "There are no queues. A ClusterQueue of Kueue, or a Queue of Volcano or KAI, is shown here as soon as it is made.");
  page.append(h("div.tools", {}, h("h1", {}, "Queues"), filter), none, groups);
  filter.addEventListener("input", () => route.change({ q: filter.value || null }, true));
  function draw() {
    const q = (route.query.get("q") ?? "").toLowerCase();
    const all = [...queues.values()]
      .filter((one) => !q || one.n.toLowerCase().includes(q) || place(one).toLowerCase().includes(q))
      .sort((a, b) => byName.compare(a.n, b.n));
    const empty = (one) => one.kd === "Queue" && !one.rows.length && !one.pend && !one.adm;
    const cohorts = new Map();
    for (const one of all) {
      const title = ofOthers[one.kd] ?? (place(one) ? "Cohort " + place(one) : "On their own");
      if (empty(one) && !q) continue;
      if (!cohorts.has(title)) cohorts.set(title, []);
      cohorts.get(title).push(one);
    }
    none.hidden = cohorts.size > 0;
    const last = ([title]) => Object.values(ofOthers).includes(title);
    const order = [...cohorts].sort((a, b) => last(a) - last(b) || byName.compare(a[0], b[0]));
    keyed(
      groups,
      order,
      ([title]) => title,
      ([title]) => h("section", {}, h("h2", {}, title), h("div.cards")),
      (e, [, list]) => keyed(e.lastChild, list, (one) => one.key, card, fill),
    );
  }
  return { draw, tick: draw };
}

export function queuePage(page, route, id) {
  const title = h("h1"),
    about = h("p.faint"),
    problem = h("p.problem"),
    places = h("p.faint"),
    quotas = h("div.bars"),
    locals = h("ul.locals"),
    waits = h("ol.line-up"),
    runs = h("ol.line-up"),
    more = h("p.more");
  const localsHead = h("h2", {}, "Local queues"),
    waitsHead = h("h2", {}, "Waiting"),
    runsHead = h("h2", {}, "Running");
  page.append(
    h("p.path", {}, h("a", { href: "#/queues" }, "Queues")),
    h("div.tools", {}, title),
    about,
    places,
    problem,
    h("h2", {}, "Quota"),
    quotas,
    localsHead,
    locals,
    waitsHead,
    waits,
    more,
    runsHead,
    runs,
  );
  function draw() {
    const q = queues.get(id);
    if (!q) {
      title.textContent = "";
      title.append(id.replace(/^(volcano|kai):/, ""));
      text(about, "There is no such queue (any more).");
      for (const e of [problem, places, quotas, locals, waits, runs]) e.replaceChildren();
      return;
    }
    document.title = q.n + " · Capstan";
    renew(title, dot(teamSlot(q.n)), q.n);
    text(about, facts(q) + ` · ${q.adm ?? 0} admitted · ${q.pend ?? 0} waiting`);
    text(problem, problemOf(q));
    text(places, `Nodes are chosen by ${placementOf(q)}.`);
    renew(quotas, ...bars(q, true).flat().filter(Boolean));
    localsHead.hidden = !q.lq?.length;
    renew(
      locals,
      ...(q.lq ?? []).map(([key, pending, reserving]) => h("li", {}, h("b", {}, key), ` ${reserving} with quota, ${pending} waiting`)),
    );
    waitsHead.hidden = !q.waitn;
    renew(waits, ...(q.wait ?? []).map(waitingRow));
    text(more, q.waitn > (q.wait ?? []).length ? `The first ${q.wait.length} of ${q.waitn}.` : "");
    const has = [...jobs.values()]
      .filter((job) => job.q === q.n && ["running", "starting", "leaving", "reserved"].includes(job.s))
      .sort((a, b) => (b.g ?? 0) - (a.g ?? 0));
    runsHead.hidden = !has.length;
    renew(
      runs,
      ...has
        .slice(0, 100)
        .map((job) =>
          h(
            "li",
            {},
            h("a", { href: jobLink(job.key) }, `${job.ns}/${job.n}`),
            h("span", {}, `${num(job.g ?? 0)} GPUs`),
            h("span.faint", {}, job.b ? "for " + span(now() - job.b) : job.s),
          ),
        ),
      ...(has.length > 100 ? [h("li", {}, `and ${has.length - 100} more`)] : []),
    );
  }
  return { draw, tick: draw };
}
