// dom.js - making elements, and saying amounts and times. Names come from whoever may create objects: they become text, never markup.

// Control characters and those that turn the direction of text would let a name look like another one.
export const clean = (text) =>
  String(text ?? "").replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, "\u00b7");

// h("td.num", {title: "x", onclick: f}, "text", element, ...)
export function h(spec, props, ...kids) {
  const [tag, ...classes] = spec.split(".");
  const svg = ["svg", "path", "rect", "g", "line", "circle", "polyline", "text-svg", "title-svg", "a-svg"].includes(tag);
  const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag.replace("-svg", "")) : document.createElement(tag || "div");
  if (classes.length) e.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [name, v] of Object.entries(value)) e.style.setProperty(name, v);
    else e.setAttribute(key, value === true ? "" : clean(value));
  }
  e.append(
    ...kids
      .flat(9)
      .filter((k) => k !== null && k !== undefined && k !== false)
      .map((k) => (k instanceof Node ? k : clean(k))),
  );
  return e;
}

export function text(e, value) {
  const to = clean(value);
  if (e.textContent !== to) e.textContent = to;
}

// Other children, and the focus where it was among them.
export function renew(parent, ...kids) {
  const places = "a, button, summary, [tabindex]",
    at = parent.contains(document.activeElement) ? [...parent.querySelectorAll(places)].indexOf(document.activeElement) : -1;
  parent.replaceChildren(
    ...kids
      .flat(9)
      .filter((k) => k !== null && k !== undefined && k !== false)
      .map((k) => (k instanceof Node ? k : clean(k))),
  );
  if (at >= 0) parent.querySelectorAll(places)[at]?.focus({ preventScroll: true });
}

// Children of `parent` become those of `items`, in their order; elements of items that stay, stay, and so does the focus.
export function keyed(parent, items, key, create, update) {
  const had = parent.had ?? (parent.had = new Map()),
    keep = new Map();
  let at = parent.firstChild;
  for (const item of items) {
    const id = key(item);
    let e = had.get(id);
    if (!e) {
      e = create(item);
      e.item = null;
    }
    update?.(e, item);
    keep.set(id, e);
    if (e === at) at = at.nextSibling;
    else parent.insertBefore(e, at);
  }
  for (const [id, e] of had) if (keep.get(id) !== e) e.remove();
  parent.had = keep;
}

// ---- words

const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
export const num = (n) => plain.format(n);
export const gpus = (milli) => plain.format((milli ?? 0) / 1000);
export const percent = (part, all) => (all > 0 ? Math.round((100 * part) / all) + " %" : "–");

export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000)),
    m = Math.floor(s / 60),
    hours = Math.floor(m / 60),
    d = Math.floor(hours / 24);
  if (s < 60) return s + " s";
  if (m < 10) return m + " min" + (s % 60 ? " " + (s % 60) + " s" : "");
  if (hours < 1) return m + " min";
  if (hours < 10) return hours + " h" + (m % 60 ? " " + (m % 60) + " min" : "");
  return d < 2 ? hours + " h" : d + " d";
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
export const when = (ms, now) => (Math.abs(now - ms) < 20 * 3600e3 ? clock : day).format(ms);
export const time = (ms, now) => h("time", { datetime: new Date(ms).toISOString(), title: new Date(ms).toString() }, when(ms, now));

// An amount of a resource in words: thousandths of cores and of what KAI's Queues count of GPUs, bytes, pieces.
export function amount(resource, n) {
  if (n < 0) return "∞";
  if (resource === "cpu" || resource === "gpu") return num(n / 1000);
  if (resource === "memory" || resource.endsWith("storage") || resource.startsWith("hugepages-")) {
    const unit = Math.min(5, Math.floor(Math.log2(Math.max(1, n)) / 10));
    return num(n / 2 ** (10 * unit)) + " " + ["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit];
  }
  return num(n);
}

// ---- links

const part = (name) => encodeURIComponent(name).replace(/%2F/g, "/");
export const jobLink = (key) => "#/job/" + part(key);
export const nodeLink = (name) => "#/node/" + part(name);
export const queueLink = (id) => "#/queue/" + part(id);

const tints = 12;
export const tint = (slot) => (slot < tints ? `var(--t${slot})` : `hsl(${Math.round(slot * 137.5) % 360} 55% 55%)`);
export const dot = (slot) => h("i.dot", { "aria-hidden": "true", style: { background: tint(slot) } });
