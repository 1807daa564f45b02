// map.js - nodes and their GPUs on a canvas: as large as they fit, drawn anew only where something has changed
//
//   a group for each model of GPU ─▶ a tile for each node ─▶ a cell for each GPU ─▶ parts: MIG instances, shares

import { clean, tint } from "./dom.js";
import { gpusOf, teamOf, teamSlot } from "./store.js";

const sizes = [92, 72, 56, 48, 40, 32, 26, 21, 17, 13, 10, 8, 6]; // of a cell
const idleBelow = 50; // thousandths: held, and next to nothing is done with it

export class GpuMap {
  constructor(canvas) {
    this.canvas = canvas;
    this.paint = canvas.getContext("2d", { alpha: false });
    this.by = "team";
    this.only = null; // a team; others are faint
    this.matches = null; // names of nodes that the search has found; others are faint
    this.tiles = [];
    this.places = new Map();
    this.at = null; // {node, gpu}: under the pointer, or the keyboard's place
    this.colours();
  }

  colours() {
    const style = getComputedStyle(document.documentElement),
      of = (name) => style.getPropertyValue(name).trim();
    this.c = {
      back: of("--back"),
      card: of("--card"),
      line: of("--line"),
      text: of("--text"),
      faint: of("--faint"),
      free: of("--free"),
      good: of("--good"),
      warns: of("--warns"),
      bad: of("--bad"),
      accent: of("--accent"),
      cool: of("--cool"),
      hot: of("--hot"),
    };
    this.teams = [];
    this.ramp = Array.from({ length: 11 }, (_, i) => `color-mix(in oklab, ${this.c.hot} ${i * 10}%, ${this.c.cool})`);
    const probe = document.createElement("i"); // a canvas takes no variables
    document.body.append(probe);
    const solid = (colour) => {
      probe.style.color = "";
      probe.style.color = colour;
      return getComputedStyle(probe).color;
    };
    this.ramp = this.ramp.map(solid);
    this.solidTeam = (slot) =>
      this.teams[slot] ?? (document.body.append(probe), (this.teams[slot] = solid(tint(slot))), probe.remove(), this.teams[slot]);
    probe.remove();
  }

  // Rows of nodes, in the order to show; `height` is what there is room for.
  layout(nodes, width, height) {
    const groups = new Map();
    for (const node of nodes) {
      const name = node.m || (node.g.length || node.a ? "GPUs of no told model" : "without GPUs");
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(node);
    }
    this.groups = [...groups].sort((a, b) => (a[0] === "without GPUs") - (b[0] === "without GPUs") || (a[0] < b[0] ? -1 : 1));
    this.size = sizes.find((size) => this.place(size, width) <= height) ?? sizes.at(-1);
    const total = this.place(this.size, width);
    const scale = devicePixelRatio || 1;
    this.width = width;
    this.canvas.style.width = width + "px";
    this.canvas.style.height = total + "px";
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(total * scale);
    this.paint.setTransform(scale, 0, 0, scale, 0, 0);
    this.all();
  }

  place(size, width) {
    const gap = size > 20 ? 4 : size > 9 ? 2 : 1,
      label = size >= 17 ? 17 : 0,
      space = size > 20 ? 16 : size > 9 ? 8 : 4;
    let y = 0;
    this.heads = [];
    this.tiles = [];
    this.places.clear();
    this.paint.font = "12px system-ui, sans-serif";
    for (const [name, nodes] of this.groups) {
      this.heads.push({ name, y, n: nodes.length });
      y += 26;
      let x = 0,
        row = 0;
      for (const node of nodes) {
        const gpus = gpusOf(node),
          cols = Math.max(1, Math.min(gpus.length, size >= 26 || gpus.length < 8 ? 8 : Math.ceil(gpus.length / 2)));
        const rows = Math.max(1, Math.ceil(gpus.length / cols)),
          w = Math.max(
            cols * (size + gap) - gap,
            label ? Math.min(150, this.paint.measureText(clean(node.key)).width + (node.co || !node.ok ? 20 : 4)) : 0,
          ),
          tall = label + rows * (size + gap) - gap;
        if (x && x + w > width) {
          x = 0;
          y += row + space;
          row = 0;
        }
        const tile = { node, x, y, w: Math.min(w, width), h: tall, cols, size, gap, label };
        this.tiles.push(tile);
        this.places.set(node.key, tile);
        x += w + space;
        row = Math.max(row, tall);
      }
      y += row + space + 6;
    }
    return Math.max(y, 40);
  }

  all() {
    const p = this.paint;
    p.fillStyle = this.c.back;
    p.fillRect(0, 0, this.width, this.canvas.height);
    p.textBaseline = "middle";
    for (const head of this.heads) {
      p.font = "600 13px system-ui, sans-serif";
      p.fillStyle = this.c.text;
      const name = clean(head.name);
      p.fillText(name, 0, head.y + 12);
      const after = p.measureText(name).width + 8;
      p.font = "12px system-ui, sans-serif";
      p.fillStyle = this.c.faint;
      p.fillText(head.n === 1 ? "1 node" : head.n + " nodes", after, head.y + 12);
    }
    if (this.size < 13 && !this.matches && this.only === null) this.small();
    else for (const tile of this.tiles) this.tile(tile);
  }

  // All tiles at once, colour by colour: thousands of cells are drawn in the time of hundreds.
  small() {
    const rects = new Map(),
      p = this.paint;
    this.rects = rects;
    for (const tile of this.tiles) this.tile(tile);
    this.rects = null;
    for (const [colour, list] of rects) {
      p.fillStyle = colour;
      for (let i = 0; i < list.length; i += 4) p.fillRect(list[i], list[i + 1], list[i + 2], list[i + 3]);
    }
  }

  // The nodes of these names, where no node has come, gone, or has other GPUs than before; else false.
  some(names, nodes) {
    for (const name of names) {
      const tile = this.places.get(name),
        node = nodes.get(name);
      if (!tile || !node || gpusOf(node).length !== gpusOf(tile.node).length || node.m !== tile.node.m) return false;
      tile.node = node;
    }
    for (const name of names) this.tile(this.places.get(name), true);
    return true;
  }

  tile(t, again) {
    const p = this.paint,
      c = this.c,
      node = t.node;
    if (again) {
      p.fillStyle = c.back;
      p.fillRect(t.x - 2, t.y - 1, t.w + 4, t.h + 3);
    }
    const faint = this.matches && !this.matches.has(node.key);
    if (!this.rects) p.globalAlpha = faint ? 0.22 : node.ok ? 1 : 0.55;
    if (t.label) {
      p.font = "12px system-ui, sans-serif";
      p.fillStyle = node.ok ? c.text : c.bad;
      p.fillText(this.fit((node.ok ? "" : "✕ ") + (node.co ? "⊘ " : "") + clean(node.key), t.w), t.x, t.y + 7);
    }
    const gpus = gpusOf(node);
    if (!gpus.length) {
      p.strokeStyle = c.line;
      p.setLineDash([3, 3]);
      p.strokeRect(t.x + 0.5, t.y + t.label + 0.5, Math.min(t.w, t.size) - 1, t.size - 1);
      p.setLineDash([]);
    }
    gpus.forEach((gpu, i) =>
      this.cell(t, gpu, t.x + (i % t.cols) * (t.size + t.gap), t.y + t.label + Math.floor(i / t.cols) * (t.size + t.gap), faint),
    );
    if (!this.rects) p.globalAlpha = 1;
    if (!node.ok || (node.co && !t.label)) {
      p.strokeStyle = node.ok ? c.warns : c.bad;
      p.setLineDash(t.size > 12 ? [4, 3] : []);
      p.strokeRect(t.x - 1.5, t.y + t.label - 1.5, t.cols * (t.size + t.gap) - t.gap + 3, t.h - t.label + 3);
      p.setLineDash([]);
    }
    if (this.at?.node === node.key) this.ring(t);
  }

  // Parts side by side, in as many rows as the cell is wide enough for.
  cell(t, gpu, x, y, faint) {
    const p = this.paint,
      n = gpu.devices.length,
      size = t.size,
      own = this.rects ? 1 : p.globalAlpha;
    const cols = n === 1 ? 1 : Math.ceil(Math.sqrt(n)),
      rows = Math.ceil(n / cols),
      line = n > 1 && size >= 13 ? 1 : 0;
    let before = 0; // shares stand side by side, each as wide as it is large
    gpu.devices.forEach((device, i) => {
      const [from, to] = device.part ? [before, Math.min(1000, before + device.part)] : [1000 * (i % cols), 1000 * ((i % cols) + 1)],
        row = device.part ? 0 : Math.floor(i / cols),
        [across, down] = device.part ? [1000, 1] : [1000 * cols, rows];
      before = to;
      const left = x + Math.floor((from * size) / across),
        top = y + Math.floor((row * size) / down);
      const right = x + Math.floor((to * size) / across),
        below = y + Math.floor(((row + 1) * size) / down);
      const team = device.gang || device.pod ? teamOf(device.gang, device.pod) : null;
      const other = this.only !== null && team !== this.only && !faint;
      if (other) p.globalAlpha = own * 0.2;
      this.device(
        device,
        team,
        left,
        top,
        right - left - (right < x + size ? line : 0),
        below - top - (below < y + size ? line : 0),
        n === 1 ? Math.min(6, size / 5) : 1,
      );
      if (other) p.globalAlpha = own;
    });
  }

  device(d, team, x, y, w, h, round) {
    const p = this.paint,
      c = this.c,
      held = team !== null;
    let fill = null;
    if (this.by === "health") fill = !d.ok ? c.bad : d.xid ? c.warns : d.slow ? c.hot : c.good;
    else if (held && this.by === "team") fill = this.solidTeam(teamSlot(team));
    else if (held) fill = d.busy < 0 ? c.faint : this.ramp[Math.min(10, Math.round(d.busy / 100))];
    if (w < 13) {
      if (this.rects && d.ok) {
        const list = this.rects.get(fill ?? c.line);
        if (list) list.push(x, y, w, h);
        else this.rects.set(fill ?? c.line, [x, y, w, h]);
        return;
      }
      p.fillStyle = fill ?? c.line;
      p.fillRect(x, y, w, h);
    } else if (round > 1.5) {
      p.beginPath();
      p.roundRect(x, y, w, h, round);
      p.fillStyle = fill ?? c.free;
      p.fill();
      if (!fill) {
        p.strokeStyle = c.line;
        p.beginPath();
        p.roundRect(x + 0.5, y + 0.5, w - 1, h - 1, round);
        p.stroke();
      }
    } else {
      p.fillStyle = fill ?? c.line;
      p.fillRect(x, y, w, h);
      if (!fill) {
        p.fillStyle = c.free;
        p.fillRect(x + 1, y + 1, w - 2, h - 2);
      }
    }
    if (!d.ok) this.cross(x, y, w, h);
    else if (held && this.by === "activity" && d.busy >= 0 && d.busy < idleBelow && w > 9) this.idle(x, y, w, h);
    else if (held && w >= 32 && h >= 26 && d.busy >= 0 && this.by !== "health") this.words(Math.round(d.busy / 10) + "%", x, y, w, h, fill);
  }

  cross(x, y, w, h) {
    const p = this.paint,
      in_ = Math.max(1, w / 5);
    p.strokeStyle = this.by === "health" ? this.c.back : this.c.bad;
    p.lineWidth = w > 12 ? 2.5 : 1;
    p.beginPath();
    p.moveTo(x + in_, y + in_);
    p.lineTo(x + w - in_, y + h - in_);
    p.moveTo(x + w - in_, y + in_);
    p.lineTo(x + in_, y + h - in_);
    p.stroke();
    p.lineWidth = 1;
  }

  // Held and not used: not told by colour alone.
  idle(x, y, w, h) {
    const p = this.paint;
    p.strokeStyle = this.c.warns;
    p.lineWidth = 2;
    p.strokeRect(x + 1, y + 1, w - 2, h - 2);
    p.lineWidth = 1;
  }

  words(text, x, y, w, h, on) {
    const p = this.paint,
      [r, g, b] = on.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0];
    p.font = `600 ${Math.max(11, Math.round(w / 5))}px system-ui, sans-serif`;
    p.textAlign = "center";
    p.fillStyle = r * 0.3 + g * 0.59 + b * 0.11 > 140 ? "#10151d" : "#fff";
    p.fillText(text, x + w / 2, y + h / 2 + 1);
    p.textAlign = "start";
  }

  ring(t) {
    const p = this.paint,
      i = this.at.gpu;
    p.strokeStyle = this.c.text;
    p.lineWidth = 2;
    p.strokeRect(
      t.x + (i % t.cols) * (t.size + t.gap) - 1,
      t.y + t.label + Math.floor(i / t.cols) * (t.size + t.gap) - 1,
      t.size + 2,
      t.size + 2,
    );
    p.lineWidth = 1;
  }

  fit(text, width) {
    const p = this.paint;
    if (p.measureText(text).width <= width) return text;
    let n = Math.max(1, Math.floor((text.length * width) / p.measureText(text).width) - 1);
    while (n > 1 && p.measureText(text.slice(0, n) + "…").width > width) n--;
    return text.slice(0, n) + "…";
  }

  // {node, gpu} at a point of the canvas, or null.
  find(x, y) {
    const t = this.tiles.find((one) => x >= one.x - 2 && x < one.x + one.w + 2 && y >= one.y && y < one.y + one.h + 2);
    if (!t) return null;
    const col = Math.floor((x - t.x) / (t.size + t.gap)),
      row = Math.floor((y - t.y - t.label) / (t.size + t.gap));
    const n = gpusOf(t.node).length,
      gpu = Math.max(0, row) * t.cols + Math.min(t.cols - 1, Math.max(0, col));
    return { node: t.node.key, gpu: gpu < n ? gpu : Math.max(0, n - 1) };
  }

  mark(at) {
    const before = this.at && this.places.get(this.at.node);
    this.at = at;
    if (before) this.tile(before, true);
    const t = at && this.places.get(at.node);
    if (t) this.tile(t, true);
  }

  // The place beside the marked one, as arrow keys go.
  beside(key) {
    const first = this.tiles.find((t) => gpusOf(t.node).length);
    const t = this.at && this.places.get(this.at.node);
    if (!t) return first ? { node: first.node.key, gpu: 0 } : null;
    const i = this.tiles.indexOf(t),
      n = gpusOf(t.node).length;
    if (key === "Home") return { node: this.tiles[0].node.key, gpu: 0 };
    if (key === "End") return { node: this.tiles.at(-1).node.key, gpu: 0 };
    if (key === "ArrowRight" && this.at.gpu + 1 < n) return { node: t.node.key, gpu: this.at.gpu + 1 };
    if (key === "ArrowLeft" && this.at.gpu > 0) return { node: t.node.key, gpu: this.at.gpu - 1 };
    if (key === "ArrowRight" || key === "ArrowLeft") {
      const to = this.tiles[i + (key === "ArrowRight" ? 1 : -1)];
      return to ? { node: to.node.key, gpu: key === "ArrowRight" ? 0 : Math.max(0, gpusOf(to.node).length - 1) } : this.at;
    }
    const down = key === "ArrowDown" ? 1 : -1,
      row = Math.floor(this.at.gpu / t.cols),
      rows = Math.ceil(n / t.cols);
    if (row + down >= 0 && row + down < rows) return { node: t.node.key, gpu: Math.min(n - 1, this.at.gpu + down * t.cols) };
    const x = t.x + (this.at.gpu % t.cols) * (t.size + t.gap) + t.size / 2;
    const others = this.tiles.filter((o) => (down > 0 ? o.y > t.y : o.y < t.y));
    const y = others.length
      ? others.reduce((best, o) => (down > 0 ? Math.min(best, o.y) : Math.max(best, o.y)), down > 0 ? Infinity : -Infinity)
      : null;
    const line = others.filter((o) => o.y === y);
    const to = line.length ? line.reduce((best, o) => (Math.abs(o.x + o.w / 2 - x) < Math.abs(best.x + best.w / 2 - x) ? o : best)) : null;
    return to ? this.find(Math.min(Math.max(x, to.x), to.x + to.w - 1), down > 0 ? to.y + to.label + 1 : to.y + to.h - 1) : this.at;
  }
}
