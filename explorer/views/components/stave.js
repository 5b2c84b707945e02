// Draws the whole pass: structure in SVG, cells on a canvas between two layers of it, words in the DOM.
// What arrives is laid out by the modules stave_*.py and packed by stave.py. Nothing here knows an architecture.

const OWN = { query: "blue-color", key: "orange-color", value: "green-color", weight: "violet-color" };
const TALLEST = 4096; // rows of the image from which cells are drawn: what any browser can hold
const STEPS = 256; // colours on each side of zero
const CELLS = new Set(["strip", "plate", "maps", "thumb"]);
const NARROW = 700, ROOM = 1000; // widths at which the picture stands upright, and has its legend inside
const LEAST = 0.92, MOST = 1.3; // how far the picture is scaled so that it fits the window's height
const PATIENCE = 4000; // milliseconds before a layer is asked for again
const PACE = 1300, LATER = 0.07; // milliseconds a step when it plays; how pale cells are that are still to come
const mounted = new WeakMap();

const ROLES = ["background-color", "secondary-background-color", "text-color", "gray-text-color", "border-color",
  "violet-color", "gray-color", "yellow-color", "yellow-text-color", "blue-color", "orange-color", "green-color"];

/** The theme as it is now. The colours of a mode are a table, a pixel each, from -STEPS to STEPS; zero is paper. */
function palette(element, known) {
  const style = getComputedStyle(element), pen = document.createElement("canvas").getContext("2d");
  const roles = Object.fromEntries(ROLES.map((name) => { pen.fillStyle = style.getPropertyValue(`--st-${name}`).trim(); return [name, pen.fillStyle]; }));
  const sign = Object.values(roles).join();
  if (known?.sign === sign) return known;
  const ground = hex(roles["background-color"]), set = coloursOn(ground);
  const colour = {
    weight: (z) => ramp(set.weight, Math.sqrt(Math.max(0, z))),
    mask: () => ramp(set.weight, 0.25),
    signed: (z) => diverging(ground, set, z),
  };
  for (const mode of ["query", "key", "value"]) {
    const own = hex(roles[OWN[mode]]);
    colour[mode] = (z) => tinted(ground, set, own, z);
  }
  const table = {};
  for (const mode in colour) {
    table[mode] = new Uint32Array(2 * STEPS + 1);
    for (let at = -STEPS; at <= STEPS; at += 1) {
      const [r, g, b] = colour[mode](at / STEPS).map(Math.round);
      table[mode][at + STEPS] = 0xff000000 | (b << 16) | (g << 8) | r;
    }
  }
  const css = (mode, z) => `rgb(${colour[mode](z).map(Math.round)})`;
  return { ...set, table, css, roles, sign };
}

/** Deflated text. Written and read without a Blob or a Response, whose answers wait behind the page's other tasks. */
async function inflated(bytes) {
  const stream = new DecompressionStream("deflate"), pen = stream.writable.getWriter(), reader = stream.readable.getReader();
  const written = Promise.all([pen.write(bytes), pen.close()]), decoder = new TextDecoder();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += decoder.decode(part.value, { stream: true });
  await written;
  return text + decoder.decode();
}

/** The message: [length of the header][header, deflated][cells]. */
async function unpack(data) {
  const bytes = new Uint8Array(data instanceof Uint8Array ? data.slice() : data);
  const length = new DataView(bytes.buffer).getUint32(0, true), start = 4 + Math.ceil(length / 4) * 4;
  const o = JSON.parse(await inflated(bytes.subarray(4, 4 + length)));
  for (const cells of Object.values(o.cells)) {
    const size = cells.rows * cells.heads * cells.cols, at = start + cells.at;
    cells.numbers = cells.thumb ? new Uint8Array(bytes.buffer, at, size) : new Float32Array(bytes.buffer, at, size);
    if (cells.places !== undefined) cells.places = new Uint8Array(bytes.buffer, start + cells.places, size);
  }
  o.number = new Map(o.steps.map((step, at) => [step.p, at]));
  return o;
}

// -- mathematics: the LaTeX that the glossary uses, as elements --------------------------------------------------

const SIGNS = {
  cdot: "·", odot: "⊙", sum: "∑", top: "⊤", in: "∈", le: "≤", ne: "≠", infty: "∞", dots: "…", leftarrow: "←", times: "×",
  alpha: "α", beta: "β", gamma: "γ", mu: "μ", sigma: "σ", epsilon: "ε", ell: "ℓ", Phi: "Φ", "{": "{", "}": "}", ",": "\u2009",
  ";": "\u2002", quad: "\u2003", " ": " ", sin: "sin\u2009", cos: "cos\u2009", max: "max", exp: "exp", log: "log", ldots: "…",
  qquad: "\u2003\u2003", "!": "", to: "→", ge: "≥", pm: "±", sqrt: "√", lvert: "|", rvert: "|", left: "", right: "",
};
const SLANTED = new Set(["alpha", "beta", "gamma", "mu", "sigma", "epsilon", "ell"]);
const MARKS = { tilde: "~", hat: "ˆ", bar: "¯" };
const LOOSE = new Set(["=", "+", "-", "≤", "≠", "∈", "·", "⊙", "←", "→", "≥", "<", ">", "×"]);

/** A formula as an element. What is not known is shown as it is written. */
function formula(latex) {
  let at = 0;
  const element = (tag, kind, ...parts) => {
    const made = document.createElement(tag);
    if (kind) made.className = kind;
    made.append(...parts);
    return made;
  };
  const command = () => {
    const found = /^\\([a-zA-Z]+|.)/.exec(latex.slice(at));
    at += found[0].length;
    return found[1];
  };
  const group = () => { // one argument, as elements
    while (latex[at] === " ") at += 1;
    if (latex[at] === "{") { at += 1; const parts = row("}"); at += 1; return parts; }
    return [atom(true)];
  };
  const plain = () => { // the letters of \text{...}
    const end = latex.indexOf("}", at), text = latex.slice(at + 1, end);
    at = end + 1;
    return text;
  };
  const atom = (deep) => {
    const letter = latex[at];
    if (letter === "\\") {
      const name = command();
      if (name === "frac") {
        const upper = element("span", "", ...group()), lower = element("span", "", ...group());
        return element("span", "frac", upper, lower);
      }
      if (name === "sqrt") return element("span", "", "√", element("span", "root", ...group()));
      if (name in MARKS) {
        const marked = element("span", "mark", ...group());
        marked.dataset.mark = MARKS[name];
        return marked;
      }
      if (name === "text" || name === "mathrm" || name === "operatorname") return element("span", "", plain());
      if (name === "begin") {
        plain();
        const cases = element("span", "cases");
        for (;;) {
          cases.append(element("span", "", ...row("&", "\\\\", "\\end")));
          if (latex.startsWith("\\\\", at)) at += 2;
          else if (latex[at] === "&") at += 1;
          else break;
        }
        command();
        plain();
        return cases;
      }
      const sign = SIGNS[name] ?? name;
      if (LOOSE.has(sign)) return element("span", "", ` ${sign} `);
      return SLANTED.has(name) ? element("i", "", sign) : element("span", "", sign);
    }
    at += 1;
    if (letter === "{") { const parts = row("}"); at += 1; return element("span", "", ...parts); }
    if (letter === "'") return element("span", "", "′");
    if (letter === "-") return element("span", "", deep ? "−" : " − ");
    if (LOOSE.has(letter)) return element("span", "", deep ? letter : ` ${letter} `);
    if (/[a-zA-Z]/.test(letter)) {
      const own = !deep && "qkv".includes(letter.toLowerCase()) ? letter.toLowerCase() : "";
      return element("i", own, letter);
    }
    return element("span", "", letter);
  };
  const row = (...ends) => {
    const parts = [];
    while (at < latex.length && !ends.some((end) => latex.startsWith(end, at))) {
      const letter = latex[at];
      if (letter === " ") { at += 1; continue; }
      if (letter === "_" || letter === "^") {
        at += 1;
        const first = element(letter === "_" ? "sub" : "sup", "", ...group());
        parts.push(first);
        continue;
      }
      parts.push(atom(false));
    }
    return parts;
  };
  const made = element("span", "formula");
  made.append(...row());
  return made;
}

// -- numbers and words -------------------------------------------------------------------------------------------

function written(number, digits = 3) {
  if (number === null || number === -Infinity) return "−∞";
  if (Number.isNaN(number)) return "NaN";
  const size = Math.abs(number);
  if (size !== 0 && (size < 0.0005 || size >= 1e5)) {
    return number.toExponential(2).replace("-", "−").replace("e−", "e−").replace("e+", "e");
  }
  const text = size.toFixed(size >= 1000 ? 1 : digits);
  return number < 0 && Number(text) !== 0 ? `−${text}` : text;
}

const begun = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const span = (kind, text) => { const made = document.createElement("span"); made.className = kind; made.textContent = text; return made; };

class Stave {
  constructor(parent) {
    this.style = document.createElement("style");
    this.root = document.createElement("div");
    this.root.className = "stave";
    this.root.innerHTML = `<div class="bar" data-control><div class="walk" role="group"></div><div class="say"><div class="words"></div></div></div>
      <div class="stage" tabindex="0" role="img"><svg class="under"></svg><canvas></canvas><svg class="over"></svg></div>
      <div class="below"></div><div class="tip"></div><div class="live" aria-live="polite"></div>`;
    parent.append(this.style, this.root);
    const find = (name) => this.root.querySelector(name);
    [this.bar, this.buttons, this.say, this.stage, this.under, this.canvas, this.over, this.below, this.tip, this.live] =
      [".bar", ".walk", ".say", ".stage", ".under", "canvas", ".over", ".below", ".tip", ".live"].map(find);
    this.atlas = document.createElement("canvas");
    this.canvas.finer = finely(this, () => this.resize());
    this.step = null;
    this.awaited = null; // the layer that was asked for
    this.walked = []; // the layers that the walk asked for and that have not come, in this order
    this.wish = null; // what the reader wants to see, as far as the server has not answered
    this.wishes = 0; // how many there were
    this.held = null; // the value under the pointer
    this.makeBar();
    this.stage.addEventListener("pointermove", (event) => event.pointerType !== "touch" && this.point(this.seek(event)));
    this.stage.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && this.point(null));
    this.stage.addEventListener("click", (event) => this.click(event));
    this.stage.addEventListener("keydown", (event) => this.key(event));
    this.stage.addEventListener("blur", () => this.byKey && this.point(null));
    this.watch = new ResizeObserver(() => this.root.clientWidth !== this.width && this.resize());
    this.watch.observe(this.root);
  }

  /** A new message, or another theme. */
  async show({ data, setTriggerValue }, style) {
    this.trigger = setTriggerValue;
    if (this.style.textContent !== style) this.style.textContent = style;
    const turn = this.turn = (this.turn ?? 0) + 1, o = await unpack(data);
    if (turn !== this.turn) return; // a newer message has come
    const first = !this.o, changed = first || o.scene !== this.o.scene;
    if (first) this.wishes = o.answers;
    const answered = this.wish !== null && o.answers === this.wish.number;
    if (answered) {
      if ("layer" in this.wish || "focus" in this.wish) this.painted();
      this.wish = null;
    }
    // What is to be replaced goes first, so that nobody works out its style once more.
    if (changed) for (const svg of [this.under, this.over]) svg.replaceChildren();
    const colours = palette(this.root, this.colours), themed = colours !== this.colours;
    this.colours = colours;
    if (first && o.step !== null && o.number.has(o.step)) this.step = o.number.get(o.step);
    if (!changed && !themed) return;
    const path = this.step === null ? null : this.o?.steps[this.step]?.p;
    if (changed) {
      const before = this.o?.layer;
      this.o = o;
      if (path) this.step = o.number.get(path) ?? null;
      if (before !== undefined && before !== o.layer) this.arrive();
    }
    this.places = null;
    if (themed) {
      this.root.style.setProperty("--raised", colours.raised);
      this.root.style.setProperty("--hair", colours.hair);
    }
    this.held = null;
    this.tip.classList.remove("on");
    this.drawn = null;
    this.label();
    this.resize();
    if (changed && (this.elsewhere() || (path && this.step === null))) this.tellServer();
    if (changed && !first && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
      for (const part of this.stage.children) part.animate([{ opacity: 0.35 }, {}], { duration: 160, easing: "ease-out" });
    }
    this.tell();
  }

  /** Tell the server once the answer is on the screen. Not before all is answered: this event would take the place of
   *  a wish that still waits there. */
  painted() {
    requestAnimationFrame(() => setTimeout(() => { if (this.wish === null) this.trigger("painted", true); }));
  }

  // -- size ------------------------------------------------------------------------------------------------------

  resize() {
    if (!this.o) return;
    const width = this.width = this.root.clientWidth;
    if (!width) return;
    const form = width < NARROW ? "upright" : "wide", inside = width >= ROOM;
    const picture = this.o.pictures[form];
    let scale = width / picture.w;
    if (form === "wide") {
      const top = this.stage.getBoundingClientRect().top + window.scrollY;
      scale = Math.min(scale, clamp((window.innerHeight - top - 10) / picture.h, LEAST, MOST));
    }
    this.root.classList.toggle("narrow", form === "upright");
    this.tip.classList.toggle("sheet", form === "upright");
    this.scale = scale;
    this.stage.style.width = `${picture.w * scale}px`;
    this.stage.style.height = `${picture.h * scale}px`;
    const drawn = `${form} ${inside}`;
    if (this.drawn !== drawn) {
      this.drawn = drawn;
      this.picture = picture;
      this.draw(inside);
      this.places = null;
    }
    if (!this.places) this.pack();
    const ratio = this.fine || window.devicePixelRatio || 1;
    this.canvas.width = Math.round(picture.w * scale * ratio);
    this.canvas.height = Math.round(picture.h * scale * ratio);
    this.pixel = scale * ratio;
    this.paint();
  }

  // -- structure -------------------------------------------------------------------------------------------------

  make(parent, tag, attributes = {}, text) {
    const made = document.createElementNS(NS, tag);
    for (const name in attributes) if (attributes[name] !== undefined) made.setAttribute(name, attributes[name]);
    if (text !== undefined) made.textContent = text;
    parent?.appendChild(made);
    return made;
  }

  draw(inside) {
    const { w, h, items, legend } = this.picture, c = this.colours.roles, make = this.make;
    for (const svg of [this.under, this.over]) {
      svg.replaceChildren();
      svg.setAttribute("viewBox", `0 0 ${w} ${h}`);
    }
    const defs = make(this.over, "defs");
    const pattern = make(defs, "pattern", { id: "hatch", width: 4, height: 4, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
    make(pattern, "line", { x1: 0, y1: 0, x2: 0, y2: 4, stroke: this.colours.hatch, "stroke-width": 1.3 });
    for (const [name, colour] of [["plain", c["gray-text-color"]], ["query", c["blue-color"]], ["key", c["orange-color"]], ["value", c["green-color"]], ["weight", c["violet-color"]]]) {
      const head = make(defs, "marker", { id: `head-${name}`, viewBox: "0 0 8 8", refX: 6.6, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto-start-reverse" });
      make(head, "path", { d: "M1 1 L7 4 L1 7", fill: "none", stroke: colour, "stroke-width": 1.5, "stroke-linecap": "round", "stroke-linejoin": "round" });
    }
    this.spots = [];
    this.owned = [];
    for (const item of items) {
      const low = item.kind === "ground" || item.kind === "thread" || item.kind === "layer";
      const group = make(low ? this.under : this.over, "g");
      if (item.p !== undefined && this.o.number.has(item.p)) {
        group.setAttribute("class", "own");
        this.owned.push([group, this.o.number.get(item.p)]);
      }
      this[`draw_${item.kind}`]?.(group, item, c);
      if (item.hit || item.kind === "more" || (item.kind === "chip" && item.stack)) this.spots.push(item);
    }
    this.rings = make(this.over, "g", { class: "rings" });
    if (legend && inside) {
      this.below.replaceChildren();
      make(this.over, "g", { transform: `translate(${legend.x} ${legend.y})` }).append(this.legend(1, true));
    } else {
      const across = clamp(Math.floor(this.width / 230), 1, 4);
      const high = across > 1 ? 52 + 27 * Math.ceil(10 / across) : 325, wide = across * 230;
      const svg = make(null, "svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high });
      svg.append(this.legend(across, false));
      this.below.replaceChildren(svg);
    }
    this.parts = this.spots.filter((spot) => this.o.number.has(spot.p) && spot.kind !== "more" && spot.kind !== "chip")
      .sort((one, other) => this.o.number.get(one.p) - this.o.number.get(other.p));
  }

  draw_ground(g, { x, y, w, h }, c) { this.make(g, "rect", { x, y, width: w, height: h, rx: 14, fill: c["secondary-background-color"] }); }

  draw_thread(g, { d, focus }, c) {
    if (focus) this.make(g, "path", { d, fill: "none", stroke: c["yellow-color"], "stroke-width": 11 });
    this.make(g, "path", { d, fill: "none", stroke: focus ? c["yellow-text-color"] : c["gray-color"], "stroke-width": focus ? 1.6 : 1.3 });
  }

  draw_arrow(g, { d, colour, head }, c) {
    const stroke = colour ? c[OWN[colour]] : undefined;
    this.make(g, "path", { d, class: "flow", style: stroke && `stroke:${stroke}`, "marker-end": head ? `url(#head-${colour ?? "plain"})` : undefined });
  }

  draw_twig(g, { d }) { this.make(g, "path", { d, class: "flow", style: `stroke:${this.colours.third};stroke-width:1.2` }); }

  draw_comb(g, { x, ys, y0, y1 }, c) {
    this.make(g, "path", { d: `M${x} ${y0}V${y1}`, stroke: c["gray-text-color"], "stroke-width": 1.5, fill: "none" });
    for (const y of ys) this.make(g, "circle", { cx: x, cy: y, r: 2.1, fill: c["gray-text-color"] });
  }

  draw_plus(g, { x, y, w, h }, c) {
    this.make(g, "rect", { x: x - w / 2, y, width: w, height: h, rx: w / 2, fill: c["background-color"], stroke: c["text-color"], "stroke-width": 1.4 });
    const middle = y + h / 2, arm = w * 0.27;
    this.make(g, "path", { d: `M${x - arm} ${middle}h${2 * arm}M${x} ${middle - arm}v${2 * arm}`, stroke: c["text-color"], "stroke-width": w < 10 ? 1.3 : 1.6, "stroke-linecap": "round" });
  }

  draw_sliver(g, { x, y, w, h }, c) { this.make(g, "rect", { x, y, width: w, height: h, rx: 1.5, fill: c["secondary-background-color"], stroke: c["gray-text-color"], "stroke-width": 0.8 }); }

  draw_norm(g, { x, y, w, h, upright, text }, c) {
    this.make(g, "rect", { x, y, width: w, height: h, rx: Math.min(w, h) / 2, fill: upright ? c["secondary-background-color"] : c["background-color"], stroke: c["text-color"], "stroke-width": 1.2 });
    const label = this.make(g, "text", { "text-anchor": "middle", "font-size": 11 }, text);
    if (upright) label.setAttribute("transform", `translate(${x + w / 2 + 3.8} ${y + h / 2}) rotate(-90)`);
    else { label.setAttribute("x", x + w / 2); label.setAttribute("y", y + h / 2 + 3.8); }
  }

  draw_circle(g, { x, y, r: size, sign }, c) {
    this.make(g, "circle", { cx: x, cy: y, r: size, fill: c["background-color"], stroke: c["text-color"], "stroke-width": 1.3 });
    if (sign === "·") this.make(g, "circle", { cx: x, cy: y, r: 1.8, fill: c["text-color"] });
    else { const a = size * 0.36; this.make(g, "path", { d: `M${x - a} ${y - a}l${2 * a} ${2 * a}M${x - a} ${y + a}l${2 * a} ${-2 * a}`, stroke: c["text-color"], "stroke-width": 1.4, "stroke-linecap": "round" }); }
  }

  draw_added(g, { x, y, r }, c) {
    this.make(g, "circle", { cx: x, cy: y, r, fill: c["background-color"], stroke: c["text-color"], "stroke-width": 1.4 });
    this.make(g, "path", { d: `M${x - r / 2} ${y}h${r}M${x} ${y - r / 2}v${r}`, stroke: c["text-color"], "stroke-width": 1.6, "stroke-linecap": "round" });
  }

  draw_taken(g, { x, y, r }, c) { this.make(g, "circle", { cx: x, cy: y, r, fill: c["gray-text-color"] }); }

  draw_curve(g, { x, y, w, h }, c) {
    this.make(g, "rect", { x, y, width: w, height: h, rx: w > 40 ? 8 : 6, fill: c["background-color"], stroke: c["text-color"], "stroke-width": 1.2 });
    const middle = x + w / 2, zero = y + h * 0.72, wide = w / 8, high = h / 5.8;
    this.make(g, "path", { d: `M${x + w * 0.12} ${zero}H${x + w * 0.88}M${middle} ${y + h * 0.14}V${y + h * 0.86}`, stroke: c["border-color"], fill: "none" });
    const bend = this.o.activation === "relu" ? (u) => Math.max(0, u) : (u) => 0.5 * u * (1 + erf(u / Math.SQRT2));
    let d = "";
    for (let at = 0; at <= 48; at += 1) { const u = -3 + at / 8; d += `${at ? "L" : "M"}${(middle + u * wide).toFixed(1)} ${(zero - bend(u) * high).toFixed(1)}`; }
    this.make(g, "path", { d, fill: "none", stroke: c["violet-color"], "stroke-width": w > 40 ? 1.8 : 1.5, "stroke-linejoin": "round" });
  }

  draw_pill(g, { x, y, w, h, parts }, c) {
    this.make(g, "rect", { x, y, width: w, height: h, rx: h / 2, fill: c["background-color"], stroke: c["text-color"], "stroke-width": 1.2 });
    this.write(g, { x: x + w / 2, y: y + h / 2 + 4.5, parts, size: 12, anchor: "middle" }).style.fontFamily = "var(--math)";
  }

  draw_layer(g, { x, y, w, h }, c) { this.make(g, "rect", { x, y, width: w, height: h, rx: 8, fill: this.colours.raised, stroke: c["border-color"] }); }

  draw_bracket(g, { x0, x1, y, way }, c) {
    this.make(g, "path", { d: `M${x0} ${y + way * 8}V${y + way * 4}Q${x0} ${y} ${x0 + 4} ${y}H${x1 - 4}Q${x1} ${y} ${x1} ${y + way * 4}V${y + way * 8}`, fill: "none", stroke: c["violet-color"], "stroke-width": 1.4 });
  }

  draw_bar(g, { x, y, w, h, best }, c) { this.make(g, "rect", { x, y, width: w, height: h, rx: 2, fill: best ? c["violet-color"] : this.colours.css("weight", 0.2) }); }

  draw_ribbon(g, { d, w, focus, weight }, c) {
    this.make(g, "path", { d, fill: "none", stroke: focus ? c["violet-color"] : this.colours.css("weight", 0.3), "stroke-width": w, opacity: focus ? 0.95 : Math.min(0.5, 0.16 + weight * 0.35), "stroke-linecap": "round" });
  }

  draw_tick(g, { x, y, w, h }, c) { this.make(g, "rect", { x, y, width: w, height: h, rx: 2, fill: this.colours.raised, stroke: c["border-color"] }); }

  draw_more(g, { x, y, text }, c) {
    this.make(g, "text", { x: x + 7, y: y + 10, "font-size": 11, fill: c["violet-color"], style: `fill:${c["violet-color"]}` }, text);
  }

  draw_chip(g, { x, y, w, h, text, spaces, special, part, focus, bare, small }, c) {
    if (!bare) {
      this.make(g, "rect", { x, y, width: w, height: h, rx: Math.min(4, h / 2), fill: focus ? c["yellow-color"] : this.colours.raised, stroke: focus ? c["yellow-text-color"] : c["border-color"], "stroke-dasharray": part ? "2.5 2" : undefined });
    }
    const label = this.make(g, "text", small ? { x: x + w / 2, y: y + h / 2 + 3.8, "font-size": 11, "text-anchor": "middle" } : { x: x + 6.5, y: y + h / 2 + 4.1, "font-size": h < 14 ? 11 : 12 });
    if (focus) label.setAttribute("font-weight", 620);
    label.style.whiteSpace = "pre";
    this.make(label, "tspan", { style: `fill:${this.colours.third}` }, text.slice(0, spaces));
    this.make(label, "tspan", special ? { style: `fill:${c["gray-text-color"]}` } : {}, text.slice(spaces));
  }

  draw_text(g, item) { item.element = this.write(g, item); }

  /** Words with lowered, raised, slanted and coloured parts. */
  write(g, { x, y, parts, size, anchor, tone, strong }) {
    const text = this.make(g, "text", { x, y, "font-size": size, "text-anchor": anchor, class: [tone ?? "", strong ? "strong" : ""].join(" ") });
    let back = 0;
    for (const part of parts) {
      const [words, style] = typeof part === "string" ? [part, ""] : part;
      const piece = this.make(text, "tspan", {}, words);
      let by = -back;
      back = 0;
      if (style.includes("s")) { by += 3.5; back = 3.5; piece.setAttribute("font-size", "72%"); }
      if (style.includes("r")) { by -= 4; back = -4; piece.setAttribute("font-size", "72%"); }
      if (by) piece.setAttribute("dy", by);
      piece.setAttribute("class", [...style].filter((letter) => "iqkv".includes(letter)).join(" "));
    }
    return text;
  }

  draw_strip(g, item, c) {
    if (item.framed) this.make(g, "rect", { x: item.x - 1.5, y: item.ys[0] - item.h / 2 - 3, width: item.w + 3, height: item.ys.at(-1) - item.ys[0] + item.h + 6, rx: 3, fill: "none", stroke: c["text-color"], "stroke-width": 1.2 });
  }

  draw_plate(g, item, c) {
    const { x, y, w, h, bar, mode, tick, stack } = item, cells = this.o.cells[item.p];
    if (bar) this.make(g, "rect", { x, y: y - 5, width: w, height: 3, rx: 1.5, fill: c[OWN[mode] ?? OWN.weight] });
    if (mode === "signed") this.make(g, "rect", { x: x - 0.5, y: y - 0.5, width: w + 1, height: h + 1, rx: 1.5, fill: "none", stroke: c["border-color"] });
    const row = this.focusRow(stack);
    if (tick && row !== null) { const middle = y + (row + 0.5) * h / cells.rows; this.make(g, "path", { d: `M${x - 6} ${middle - 3}l4.5 3l-4.5 3z`, fill: c["yellow-text-color"] }); }
  }

  /** The row of the token in focus in a stack's window; only the last stack has one. */
  focusRow(stack) {
    if (stack !== this.o.last) return null;
    const { focus, start, labels } = this.o.tokens[stack];
    return focus >= start && focus < start + labels.length ? focus - start : null;
  }

  /** Where the maps of an item stand: [x, y, width of a cell, height of a cell] for each head. */
  maps(item) {
    const cells = this.o.cells[item.p], across = item.across || Math.ceil(Math.sqrt(cells.heads)), down = Math.ceil(cells.heads / across);
    const gap = item.gap ?? (cells.heads > 1 ? 2 : 0), lift = item.lift ?? 0;
    const wide = item.across && item.cell ? item.cell : (item.w - (across - 1) * gap) / across / cells.cols;
    const high = item.across && item.cell ? item.cell : (item.h - (down - 1) * (gap + lift)) / down / cells.rows;
    return Array.from({ length: cells.heads }, (_, head) => [
      item.x + (head % across) * (cells.cols * wide + gap), item.y + Math.floor(head / across) * (cells.rows * high + gap + lift), wide, high]);
  }

  masked(item) {
    if (!/\.(weights|masked_scores|allowed)$/.test(item.p)) return null;
    return this.o.cells[item.p.replace(/\w+$/, "allowed")] ?? null;
  }

  draw_maps(g, item, c) {
    const cells = this.o.cells[item.p], allowed = this.masked(item), row = item.focus ? this.focusRow(item.stack) : null;
    this.maps(item).forEach(([x, y, wide, high], head) => {
      if (allowed) {
        let d = "";
        for (let i = 0; i < cells.rows; i += 1) {
          for (let j = 0; j < cells.cols; j += 1) {
            if (allowed.numbers[i * cells.cols + j]) continue;
            let end = j;
            while (end < cells.cols && !allowed.numbers[i * cells.cols + end]) end += 1;
            d += `M${x + j * wide} ${y + i * high}h${(end - j) * wide}v${high}h${(j - end) * wide}z`;
            j = end;
          }
        }
        if (d) this.make(g, "path", { d, fill: "url(#hatch)", opacity: 0.9 });
      }
      if (item.named) {
        const label = this.make(g, "text", { x: x + cells.cols * wide - 1, y: item.lift ? y - 4 : y + 11, "text-anchor": "end", "font-size": 11, class: "second", style: `paint-order:stroke;stroke:${c["secondary-background-color"]};stroke-width:4px;stroke-linejoin:round` });
        label.textContent = cells.heads > 4 ? head : fill(this.o.words.head_n, { n: head });
      }
      if (row !== null) {
        let end = cells.cols;
        if (allowed) { end = 0; for (let j = 0; j < cells.cols; j += 1) if (allowed.numbers[row * cells.cols + j]) end = j + 1; }
        this.make(g, "rect", { x: x - 1.5, y: y + row * high - 1.5, width: end * wide + 2, height: high + 2, rx: 1.5, fill: "none", stroke: c["yellow-text-color"], "stroke-width": high < 4 ? 0.8 : 1.2 });
      }
    });
  }

  // -- cells -----------------------------------------------------------------------------------------------------

  /** The cells of all parts in one image, a pixel a cell: where each head's begin. One image is put together, and drawn
   *  from, in a fraction of the time of many. */
  pack() {
    this.places = new Map();
    let left = 0, top = 0, widest = 0, tallest = 0;
    for (const item of this.picture.items) {
      if (!CELLS.has(item.kind)) continue;
      const cells = this.o.cells[item.p], cols = item.kind === "strip" ? item.cols : cells.cols;
      for (const head of item.kind === "thumb" ? [item.head ?? 0] : Array(item.kind === "strip" ? 1 : cells.heads).keys()) {
        const name = `${item.p} ${head} ${cols}`;
        if (this.places.has(name)) continue;
        if (top + cells.rows > TALLEST) { left += widest; top = widest = 0; }
        this.places.set(name, { item, cells, head, cols, left, top });
        top += cells.rows;
        widest = Math.max(widest, cols);
        tallest = Math.max(tallest, top);
      }
    }
    const pixels = new ImageData(left + widest, tallest), ink = new Uint32Array(pixels.data.buffer);
    for (const place of this.places.values()) this.ink(ink, pixels.width, place);
    this.atlas.width = pixels.width;
    this.atlas.height = pixels.height;
    this.atlas.getContext("2d").putImageData(pixels, 0, 0);
  }

  /** Colour a head's cells at their place in the image. */
  ink(ink, width, { item, cells, head, cols, left, top }) {
    const { numbers } = cells, share = cells.cols / cols, table = this.colours.table[item.mode], allowed = this.masked(item);
    const limit = item.mode === "weight" || item.mode === "mask" ? 1 : cells.limit ?? 1;
    for (let i = 0; i < cells.rows; i += 1) {
      for (let j = 0; j < cols; j += 1) {
        if (allowed && !allowed.numbers[i * cells.cols + j]) continue;
        let at = this.at(cells, head, i, Math.floor(j * share));
        for (let k = Math.floor(j * share) + 1; k < Math.floor((j + 1) * share); k += 1) {
          const other = this.at(cells, head, i, k);
          if (Math.abs(numbers[other]) > Math.abs(numbers[at])) at = other;
        }
        let z = numbers[at] / limit;
        if (cells.thumb && item.mode === "weight") {
          if (!numbers[at]) continue;
          z = ((numbers[at] - 1) / 254) ** 2;
        } else if (cells.thumb) z = (numbers[at] - 128) / 127;
        ink[(top + i) * width + left + j] = table[Math.round((Number.isFinite(z) ? clamp(z, -1, 1) : 0) * STEPS) + STEPS];
      }
    }
  }

  /** Draw some of a head's cells: columns and rows from (j, i), into a rectangle of the canvas. */
  stamp(pen, item, head, cols, [j, i, wide, high], left, top, width, height) {
    const place = this.places.get(`${item.p} ${head} ${cols}`);
    pen.drawImage(this.atlas, place.left + j, place.top + i, wide, high, left, top, width, height);
  }

  /** Where a cell's number lies. Vectors are [row, head, column], maps [head, row, column]. */
  at(cells, head, row, col) {
    return cells.maps || cells.thumb ? (head * cells.rows + row) * cells.cols + col : (row * cells.heads + head) * cells.cols + col;
  }

  paint() {
    const pen = this.canvas.getContext("2d"), px = this.pixel;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.imageSmoothingEnabled = false;
    for (const item of this.picture.items) {
      if (!CELLS.has(item.kind)) continue;
      pen.globalAlpha = this.step !== null && this.o.number.get(item.p) > this.step ? LATER : 1;
      this[`paint_${item.kind}`](pen, item, px);
    }
    pen.globalAlpha = 1;
    for (const [group, number] of this.owned) group.classList.toggle("later", this.step !== null && number > this.step);
  }

  paint_strip(pen, item, px) {
    const left = Math.round(item.x * px), right = Math.round((item.x + item.w) * px);
    item.ys.forEach((y, row) => {
      const top = Math.round((y - item.h / 2) * px), bottom = Math.round((y + item.h / 2) * px);
      this.stamp(pen, item, 0, item.cols, [0, row, item.cols, 1], left, top, right - left, bottom - top);
    });
  }

  paint_plate(pen, item, px) {
    const cells = this.o.cells[item.p];
    for (let head = 0; head < cells.heads; head += 1) {
      const [x, w] = this.share(item, cells, head);
      const left = Math.round(x * px), top = Math.round(item.y * px);
      this.stamp(pen, item, head, cells.cols, [0, 0, cells.cols, cells.rows], left, top, Math.round((x + w) * px) - left, Math.round((item.y + item.h) * px) - top);
    }
  }

  /** A head's place in a plate: heads side by side with a gap. */
  share(item, cells, head) {
    const gap = cells.heads > 1 ? (item.w > 60 ? 2 : 1) : 0, w = (item.w - gap * (cells.heads - 1)) / cells.heads;
    return [item.x + head * (w + gap), w];
  }

  paint_maps(pen, item, px) {
    const cells = this.o.cells[item.p];
    this.maps(item).forEach(([x, y, wide, high], head) => {
      const gap = Math.min(wide, high) >= 6 ? Math.max(1, Math.round(px)) : 0;
      if (!gap) {
        const left = Math.round(x * px), top = Math.round(y * px);
        this.stamp(pen, item, head, cells.cols, [0, 0, cells.cols, cells.rows], left, top, Math.round((x + cells.cols * wide) * px) - left, Math.round((y + cells.rows * high) * px) - top);
        return;
      }
      for (let i = 0; i < cells.rows; i += 1) {
        const top = Math.round((y + i * high) * px), tall = Math.round((y + (i + 1) * high) * px) - top - gap;
        for (let j = 0; j < cells.cols; j += 1) {
          const left = Math.round((x + j * wide) * px);
          this.stamp(pen, item, head, cells.cols, [j, i, 1, 1], left, top, Math.round((x + (j + 1) * wide) * px) - left - gap, tall);
        }
      }
    });
  }

  paint_thumb(pen, item, px) {
    const cells = this.o.cells[item.p], left = Math.round(item.x * px), top = Math.round(item.y * px);
    this.stamp(pen, item, item.head ?? 0, cells.cols, [0, 0, cells.cols, cells.rows], left, top, Math.round((item.x + item.w) * px) - left, Math.round((item.y + item.h) * px) - top);
  }

  // -- pointing --------------------------------------------------------------------------------------------------

  box(item) {
    if (item.kind === "strip") return [item.x, item.ys[0] - item.h / 2, item.w, item.ys.at(-1) - item.ys[0] + item.h];
    if (item.kind === "comb") return [item.x - 5, Math.min(item.ys[0], item.y1) - 5, 10, Math.abs(Math.max(item.y1, item.ys.at(-1)) - Math.min(item.ys[0], item.y1)) + 10];
    if (item.kind === "taken") return [item.x - 12, item.y - 12, 24, 24];
    return [item.x, item.y, item.w, item.h];
  }

  /** Where a pointer finds a part: a closed layer under its name as well. */
  reach(item) {
    return item.label === undefined ? [this.box(item)] : [this.box(item), [item.x, item.label - 13, item.w, 18]];
  }

  seek(event) {
    const place = this.stage.getBoundingClientRect();
    const x = (event.clientX - place.left) / this.scale, y = (event.clientY - place.top) / this.scale;
    const slack = event.pointerType === "touch" ? 6 : 1.5;
    let best = null, least = Infinity;
    for (const spot of this.spots) {
      for (const [left, top, w, h] of this.reach(spot)) {
        if (x < left - slack || x > left + w + slack || y < top - slack || y > top + h + slack) continue;
        const size = w * h;
        if (size < least) { least = size; best = spot; }
      }
    }
    return best && this.cell(best, x, y);
  }

  /** The cell of a part under a point of the picture: which row, column and head, its number, its index. */
  cell(item, x, y) {
    const hit = { item };
    const cells = this.o.cells[item.p];
    if (!CELLS.has(item.kind) || !cells) {
      if (item.kind === "comb") hit.row = this.nearest(item.ys, y);
      return hit;
    }
    if (item.kind === "maps") {
      for (const [head, [left, top, wide, high]] of this.maps(item).entries()) {
        const j = Math.floor((x - left) / wide), i = Math.floor((y - top) / high);
        if (i >= 0 && i < cells.rows && j >= 0 && j < cells.cols) return this.map(item, head, i, j);
      }
      return hit;
    }
    const row = item.kind === "strip" ? this.nearest(item.ys, y) : clamp(Math.floor((y - item.y) / item.h * cells.rows), 0, cells.rows - 1);
    if (item.kind === "strip") return this.vector(item, 0, row, clamp(Math.floor((x - item.x) / item.w * item.cols), 0, item.cols - 1), item.cols);
    for (let head = 0; head < cells.heads; head += 1) {
      const [left, w] = this.share(item, cells, head);
      if (x <= left + w + 1 || head === cells.heads - 1) return this.vector(item, head, row, clamp(Math.floor((x - left) / w * cells.cols), 0, cells.cols - 1), cells.cols);
    }
    return hit;
  }

  nearest(ys, y) { return ys.reduce((best, other, at) => (Math.abs(other - y) < Math.abs(ys[best] - y) ? at : best), 0); }

  map(item, head, i, j) {
    const cells = this.o.cells[item.p], row = i + this.o.tokens[item.stack].start, col = j + this.o.tokens[item.columns ?? item.stack].start;
    const allowed = this.masked(item), several = cells.axes.length === 3;
    return { item, head, row: i, col: j, number: cells.hides && !allowed.numbers[i * cells.cols + j] ? -Infinity : cells.numbers[this.at(cells, head, i, j)], index: several ? [head, row, col] : [row, col],
      masked: allowed ? !allowed.numbers[i * cells.cols + j] : false };
  }

  vector(item, head, row, col, cols) {
    const cells = this.o.cells[item.p], share = cells.cols / cols;
    let at = this.at(cells, head, row, Math.floor(col * share)), from = Math.floor(col * share);
    for (let k = from + 1; k < Math.floor((col + 1) * share); k += 1) {
      const other = this.at(cells, head, row, k);
      if (Math.abs(cells.numbers[other]) > Math.abs(cells.numbers[at])) { at = other; from = k; }
    }
    const place = from * cells.share + (cells.places ? cells.places[at] : 0), position = row + this.o.tokens[item.stack].start;
    return { item, head, row, col, cols, number: cells.numbers[at], place, each: cells.share * share,
      index: cells.axes.length === 3 ? [head, position, place] : [position, place] };
  }

  point(hit) {
    const same = hit && this.held && hit.item === this.held.item && hit.row === this.held.row && hit.col === this.held.col && hit.head === this.held.head;
    if (same || (!hit && !this.held)) return;
    this.held = hit;
    this.stage.style.cursor = hit ? "pointer" : "";
    this.ring();
    if (!hit) { this.tip.classList.remove("on"); return; }
    this.explain(hit);
  }

  // -- rings: what is pointed at, what it is made of, what a step computes -----------------------------------------

  ring() {
    this.rings.replaceChildren();
    this.taken = [];
    if (this.step !== null) this.lit(this.o.steps[this.step].p);
    if (!this.held) return;
    const { item, row } = this.held;
    this.taken.push(...this.outline(this.held, this.colours.roles["text-color"]));
    if (!this.o.number.has(item.p) || item.kind === "layer" || item.kind === "chip" || item.kind === "more") return;
    this.sources(item.p, item, row, this.held);
  }

  /** Rings around the value that a step computes, and around its inputs. */
  lit(path) {
    const c = this.colours.roles, chips = [];
    for (const item of this.picture.items) {
      if (item.p !== path || !(item.hit || item.kind === "plus" || item.kind === "norm")) continue;
      if (item.kind === "layer") continue;
      if (item.kind === "chip" && this.picture.w > NARROW) { chips.push(item); continue; }
      const [x, y, w, h] = item.kind === "plus" ? [item.x - item.w / 2, item.y, item.w, item.h] : this.box(item);
      this.make(this.rings, "rect", { x: x - 3, y: y - 3, width: w + 6, height: h + 6, rx: item.kind === "plus" || item.kind === "norm" ? Math.min(w, h) / 2 + 3 : 4, fill: "none", stroke: c["text-color"], "stroke-width": 2 });
    }
    if (chips.length) this.mark(chips[0].x, chips[0].y, chips[0].w, chips.at(-1).y + chips.at(-1).h - chips[0].y, c["text-color"]);
    this.sources(path, null, null, null);
  }

  sources(path, item, row, hit) {
    const step = this.o.steps[this.o.number.get(path)];
    for (const read of step.i) {
      let column = null; // chips one below the other get one ring
      const name = typeof read === "number" ? this.o.steps[read].p : read;
      for (const other of this.picture.items) {
        if (other.parameter === name && other.p === path && (other.element || other.kind === "pill")) this.around(other);
        if (other.p !== name || !other.hit || other.kind === "layer" || other.kind === "bar") continue;
        const cells = this.o.cells[name];
        const axes = cells?.axes, mine = item && this.o.cells[item.p]?.axes;
        let only = null;
        if (row !== null && row !== undefined && item && other.stack === item.stack && !axes?.includes("vocabulary")) {
          const kind = axes ? axes[axes.length - 2] : "position";
          if (kind !== "key") only = row;
          else if (mine?.at(-1) === "key") only = hit.col;
          else if (mine?.at(-2) === "key") only = row;
        } else if (hit?.col !== undefined && mine?.at(-1) === "key" && axes?.at(-2) === "key") only = hit.col;
        const colour = this.colours.roles[OWN[other.mode] ?? OWN.weight];
        if (other.kind === "chip" && only === null && this.picture.w > NARROW) {
          column ??= [other.x, other.y, other.w, 0];
          column[3] = other.y + other.h - column[1];
          continue;
        }
        this.taken.push(...this.outline({ item: other, row: only ?? undefined }, colour));
      }
      if (column) this.taken.push(this.mark(...column, this.colours.roles["violet-color"]));
    }
  }

  around(other) {
    const c = this.colours.roles["violet-color"];
    const box = other.element ? other.element.getBBox() : { x: other.x, y: other.y, width: other.w, height: other.h };
    this.make(this.rings, "rect", { x: box.x - 3, y: box.y - 1, width: box.width + 6, height: box.height + 2, rx: 5, fill: "none", stroke: c, "stroke-width": 1.5 });
  }

  outline({ item, row, col, head, cols }, stroke) {
    let [x, y, w, h] = this.box(item);
    const cells = this.o.cells[item.p];
    if (item.kind === "strip" && row !== undefined) { y = item.ys[row] - item.h / 2; h = item.h; }
    else if (item.kind === "comb" && row !== undefined) { y = item.ys[row] - 5; h = 10; }
    else if (item.kind === "comb") { x = item.x - 4; w = 8; }
    else if (item.kind === "plate" && row !== undefined) { h = item.h / cells.rows; y = item.y + row * h; }
    else if (item.kind === "maps" && row !== undefined) {
      const places = this.maps(item), chosen = head === undefined ? places : [places[head]];
      return chosen.map(([left, top, wide, high]) => this.mark(col === undefined ? left : left + col * wide, top + row * high, col === undefined ? cells.cols * wide : wide, high, stroke));
    } else if (item.kind === "chip" && row !== undefined && item.position !== undefined) {
      if (item.position - this.o.tokens[item.stack].start !== row) return [];
    }
    return [this.mark(x, y, w, h, stroke)];
  }

  mark(x, y, w, h, stroke) {
    this.make(this.rings, "rect", { x: x - 1.5, y: y - 1.5, width: w + 3, height: h + 3, rx: 2.5, fill: "none", stroke, "stroke-width": 2 });
    return [x, y, w, h];
  }

  // -- the tooltip -----------------------------------------------------------------------------------------------

  explain(hit) {
    const { item } = hit, o = this.o, words = o.words, tip = this.tip;
    tip.replaceChildren();
    const line = (kind, ...parts) => { const made = document.createElement("div"); made.className = kind; made.append(...parts); tip.append(made); return made; };
    const bold = (text) => { const made = document.createElement("b"); made.textContent = text; return made; };
    const label = (stack, row) => o.tokens[stack].labels[row];
    let spoken;
    if (item.kind === "layer") {
      line("head", bold(item.text), span("", words.closed));
      line("note", words.click_layer);
      spoken = `${item.text}. ${words.click_layer}`;
    } else if (item.kind === "more") {
      line("head", bold(item.text));
      spoken = item.text;
    } else if (item.kind === "chip" && item.position !== undefined) {
      const { labels, start, bytes } = o.tokens[item.stack];
      const text = labels[item.position - start] ?? item.text;
      line("head", bold(text), span("", `${words.token} ${item.position}`));
      line("path", item.p && o.number.has(item.p) ? `${item.p}[${item.position}]` : "");
      if (bytes[item.position]) line("note", fill(words.bytes, { hex: bytes[item.position] }));
      spoken = `${words.token} ${item.position}: ${text}`;
    } else {
      const step = o.steps[o.number.get(item.p)], text = o.texts[step.e], layer = /\.layers\.(\d+)\./.exec(item.p);
      line("head", bold(begun(text.name)), span("", layer ? fill(words.layer, { n: layer[1] }) : ""));
      line("path", item.p);
      line("formula", formula(text.formula));
      const shape = step.s.join(" × "), value = line("value");
      const at = span("at", ""), number = bold("");
      let shown = true;
      if (item.kind === "bar") {
        at.append(`${words.logit} ${written(item.logit)}`);
        number.textContent = written(item.share);
      } else if (hit.number === undefined) {
        shown = false;
      } else if (o.cells[item.p].maps) {
        const columns = item.columns ?? item.stack;
        at.append(span("q", label(item.stack, hit.row)), " → ", span("k", label(columns, hit.col)), hit.index.length === 3 ? ` · ${fill(words.head_n, { n: hit.head })}` : "");
        number.textContent = hit.masked && !item.p.endsWith(".allowed") ? `${words.masked_cell}, ${written(hit.number)}` : written(hit.number, item.p.endsWith(".allowed") ? 0 : 3);
      } else {
        at.append(`${label(item.stack, hit.row)} [${hit.index.filter((_, axis) => o.cells[item.p].axes[axis] !== "1").join(", ")}]`);
        number.textContent = written(hit.number);
      }
      if (shown) value.append(at, number);
      else value.append(span("at", fill(words.tokens_by, { shape })), span("", ""));
      const notes = [];
      if (shown) notes.push(shape);
      if (hit.each > 1) notes.push(fill(o.cells[item.p].sampled ? words.one_of : words.numbers_a_cell, { n: hit.each }));
      const limit = o.cells[item.p]?.limit;
      if (limit && item.mode !== "weight") notes.push(fill(words.limit, { n: written(limit, 2) }));
      line("note", notes.join(" · "));
      spoken = [text.name, layer ? fill(words.layer, { n: layer[1] }) : "", at.textContent, number.textContent].filter(Boolean).join(", ");
    }
    if (this.tip.classList.contains("sheet") && this.acts(item) === "open") {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = words.click;
      button.onclick = () => this.act(hit);
      tip.append(button);
    }
    if (this.byKey) this.live.textContent = spoken;
    tip.classList.add("on");
    if (!this.tip.classList.contains("sheet")) this.place(hit);
  }

  /** Beside what it explains, never over it or over its inputs. */
  place(hit) {
    const scale = this.scale, [ox, oy] = [this.stage.offsetLeft, this.stage.offsetTop];
    const boxes = (this.taken.length ? this.taken : [this.box(hit.item)]).map(([x, y, w, h]) => [ox + x * scale, oy + y * scale, w * scale, h * scale]);
    const [x, y, w, h] = boxes[0], wide = this.tip.offsetWidth, high = this.tip.offsetHeight;
    const right = Math.max(this.root.clientWidth, ox + this.picture.w * scale), bottom = oy + this.picture.h * scale + 40;
    const tries = [];
    for (const gap of [16, 60, 120, 220]) {
      for (const lift of [0, -high / 2, -high, 40, -high - 60]) tries.push([x + w + gap, y + lift], [x - wide - gap, y + lift]);
      tries.push([x + w / 2 - wide / 2, y + h + gap], [x + w / 2 - wide / 2, y - high - gap]);
    }
    const clash = ([left, top]) => boxes.reduce((sum, [bx, by, bw, bh]) => sum + Math.max(0, Math.min(left + wide + 6, bx + bw) - Math.max(left - 6, bx)) * Math.max(0, Math.min(top + high + 6, by + bh) - Math.max(top - 6, by)), 0);
    let best = null, least = Infinity;
    for (const [left, top] of tries) {
      const spot = [clamp(left, 0, right - wide), clamp(top, oy - 40, Math.max(oy, bottom - high))];
      const cost = clash(spot);
      if (cost < least) { least = cost; best = spot; }
      if (!cost) break;
    }
    this.tip.style.left = `${best[0]}px`;
    this.tip.style.top = `${best[1]}px`;
  }

  // -- acting ----------------------------------------------------------------------------------------------------

  acts(item) {
    if (item.kind === "layer") return "layer";
    if (item.kind === "more" || (item.kind === "chip" && item.position !== undefined)) return "focus";
    return this.o.number.has(item.p) ? "open" : null;
  }

  act(hit) {
    const { item } = hit, what = this.acts(item);
    if (what === "layer") this.ask("layer", item.layer);
    else if (what === "focus") this.ask("focus", { stack: item.stack, position: item.position });
    else if (what === "open") this.ask("open", { path: item.p, index: item.kind === "bar" ? [item.position, item.id] : hit.index ?? null });
  }

  /** Ask for another layer, another token, a value or a step, and for all of it that still waits. */
  ask(name, what) {
    this.wishes += 1;
    this.wish = { ...this.wish, [name]: what, number: this.wishes };
    this.trigger("look", this.wish);
  }

  click(event) {
    const hit = this.seek(event);
    if (!hit) { this.point(null); return; }
    if (this.tip.classList.contains("sheet") && this.acts(hit.item) === "open") { this.byKey = false; this.point(null); this.point(hit); return; }
    this.act(hit);
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const across = { ArrowLeft: -1, ArrowRight: 1 }[event.key], down = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (event.key === "Escape") { if (this.held) this.point(null); else if (this.step !== null) this.go(null); return; }
    if (event.key === "Enter" && this.held) { event.preventDefault(); this.act(this.held); return; }
    if (across && this.step !== null) { event.preventDefault(); this.move(across); return; }
    if (!across && !down) return;
    event.preventDefault();
    this.byKey = true;
    if (!this.held || !this.parts.includes(this.held.item)) { this.stand(this.parts[0], null, 0); return; }
    const now = this.parts.indexOf(this.held.item);
    if (across) this.stand(this.parts[clamp(now + across, 0, this.parts.length - 1)], this.held.row, this.held.col ?? 0);
    else this.stand(this.held.item, (this.held.row ?? 0) + down, this.held.col ?? 0);
  }

  /** Point at a part by key: the row that was held, or the focus token's. */
  stand(item, row, col) {
    const cells = this.o.cells[item.p];
    this.held = null;
    if (!cells || !CELLS.has(item.kind)) { this.point({ item, row: item.kind === "comb" ? row ?? 0 : undefined }); return; }
    const i = clamp(row ?? this.focusRow(item.stack) ?? 0, 0, cells.rows - 1);
    if (item.kind === "maps") this.point(this.map(item, 0, i, clamp(col, 0, cells.cols - 1)));
    else this.point(this.vector(item, 0, i, clamp(col, 0, (item.cols ?? cells.cols) - 1), item.kind === "strip" ? Math.min(item.cols, cells.cols) : cells.cols));
  }

  // -- a step at a time ------------------------------------------------------------------------------------------

  makeBar() {
    const shapes = { back: "M8 2L4 6l4 4", play: "M3.5 2l6 4-6 4z", next_step: "M4 2l4 4-4 4" };
    for (const name of ["back", "play", "next_step"]) {
      const button = document.createElement("button");
      button.type = "button";
      this.make(this.make(button, "svg", { viewBox: "0 0 12 12", "aria-hidden": "true" }), "path", { d: shapes[name] });
      this.buttons.append(button);
      this[`${name}Button`] = button;
    }
    this.scrub = document.createElement("input");
    this.scrub.type = "range";
    this.scrub.min = 0;
    this.count = span("count", "");
    this.wholeButton = document.createElement("button");
    this.wholeButton.type = "button";
    this.wholeButton.className = "wide";
    this.buttons.append(this.scrub, this.count, this.wholeButton);
    this.backButton.onclick = () => this.move(-1);
    this.next_stepButton.onclick = () => this.move(1);
    this.playButton.onclick = () => this.play();
    this.wholeButton.onclick = () => this.go(null);
    this.scrub.oninput = () => { this.pause(); this.go(Number(this.scrub.value)); };
    this.buttons.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!by || event.target === this.scrub) return;
      event.preventDefault();
      this.move(by);
    });
  }

  /** The words of the language at hand. */
  label() {
    const { words, steps, tokens, last } = this.o;
    for (const [button, name] of [[this.backButton, "back"], [this.next_stepButton, "next_step"], [this.wholeButton, "whole"], [this.playButton, this.playing ? "pause" : "play"]]) {
      button.setAttribute("aria-label", words[name]);
      button.title = words[name];
    }
    this.wholeButton.textContent = words.whole;
    this.scrub.max = steps.length - 1;
    this.scrub.setAttribute("aria-label", words.scrub);
    this.buttons.setAttribute("aria-label", words.speak);
    this.stage.setAttribute("aria-label", fill(words.walk, { n: tokens[last].length }));
  }

  move(by) {
    this.pause();
    const count = this.o.steps.length;
    if (this.step === null) this.go(by > 0 ? 0 : count - 1);
    else this.go(clamp(this.step + by, 0, count - 1));
  }

  play() {
    if (this.playing) { this.pause(); return; }
    if (this.step === null || this.step === this.o.steps.length - 1) this.go(0);
    this.playing = setInterval(() => {
      if (this.awaited !== null) return;
      if (!this.root.isConnected || this.step === null || this.step >= this.o.steps.length - 1) { this.pause(); return; }
      this.go(this.step + 1);
    }, PACE);
    this.label();
    this.playButton.querySelector("path").setAttribute("d", "M4 2v8M8 2v8");
  }

  pause() {
    if (!this.playing) return;
    clearInterval(this.playing);
    this.playing = null;
    this.playButton.querySelector("path").setAttribute("d", "M3.5 2l6 4-6 4z");
    this.label();
    this.tellServer();
  }

  go(step) {
    if (step === null) this.pause();
    this.step = step;
    this.paint();
    this.tell();
    this.tellServer();
  }

  /** The layer in which the walk stands, where that is not the open one. */
  elsewhere() {
    const layer = this.step !== null && /\.layers\.(\d+)\./.exec(this.o.steps[this.step].p);
    return layer && Number(layer[1]) !== this.o.layer ? layer[1] : null;
  }

  /** Another layer has opened. Where the walk asked for it, and stands in another by now, the walk goes on; where it did
   *  not ask, the reader opened the layer, and the walk ends. */
  arrive() {
    const at = this.walked.indexOf(String(this.o.layer)), aside = this.elsewhere();
    this.walked.splice(0, at < 0 ? Infinity : at + 1);
    if (aside && at < 0) this.step = null;
    if (!this.walked.includes(aside)) this.awaited = null;
  }

  /** The address follows a little later; another layer opens when the walk enters it. */
  tellServer() {
    const path = this.step === null ? null : this.o.steps[this.step].p, layer = this.elsewhere();
    if (layer !== null && this.awaited !== layer) {
      this.awaited = layer;
      this.walked.push(layer);
      this.ask("layer", Number(layer));
      setTimeout(() => { // a message that crossed another may be lost
        if (this.awaited !== layer || !this.root.isConnected) return;
        this.awaited = null;
        this.tellServer();
      }, PATIENCE);
    }
    clearTimeout(this.sending);
    if (!this.playing) this.sending = setTimeout(() => this.ask("step", path), 400);
  }

  tell() {
    const { words, steps, texts, tokens, last } = this.o, at = this.step;
    this.scrub.value = at === null ? steps.length - 1 : at;
    this.wholeButton.hidden = at === null;
    this.count.textContent = at === null ? words.speak : fill(words.step_of, { n: at + 1, all: steps.length });
    this.scrub.setAttribute("aria-valuetext", at === null ? words.whole : `${at + 1}, ${texts[steps[at].e].name}`);
    this.say.replaceChildren();
    this.ring();
    if (at === null) { this.say.append(span("words second", words.lede)); return; }
    const step = steps[at], text = texts[step.e], said = document.createElement("div"), layer = /\.layers\.(\d+)\./.exec(step.p);
    said.className = "words";
    const name = document.createElement("b");
    name.textContent = begun(text.name);
    const stack = tokens[step.p.split(".")[0]] ? step.p.split(".")[0] : last, { labels, start, focus } = tokens[step.t];
    const first = span("first", ` ${step.n.map((number) => (Number.isInteger(number) ? number : written(number))).join(", ")}${step.s.at(-1) > step.n.length ? " …" : ""}`);
    const where = [step.p.split(".").length > 2 && Object.keys(tokens).length > 1 ? words[stack] : "", layer ? fill(words.layer, { n: layer[1] }) : ""].filter(Boolean).join(", ");
    said.append(name, where ? ` (${where}). ` : ". ", text.sentence, " ", span("token", labels[focus - start]), first);
    this.say.append(said, formula(text.formula));
    this.live.textContent = `${fill(words.step_of, { n: at + 1, all: steps.length })}. ${text.name}. ${text.sentence}`;
  }

  // -- the legend ------------------------------------------------------------------------------------------------

  /** The legend as a group, made anew only where what it says has changed: most clicks leave it as it is. */
  legend(across, inside) {
    const c = this.colours.roles, words = this.o.words, make = this.make;
    const most = written(this.o.stream, 1), sign = [across, inside, words.legend, most, this.colours.sign].join();
    if (this.explained?.sign === sign) return this.explained.group;
    const parent = make(null, "g");
    this.explained = { sign, group: parent };
    const shift = inside ? 0 : 14, down = Math.ceil(10 / across);
    make(parent, "text", { x: 0, y: shift, "font-size": 13, class: "strong" }, words.legend);
    const spot = (at) => across > 1 ? [Math.floor(at / down) * 230, 22 + shift + (at % down) * 27] : [0, 22 + shift + at * 25 + Math.max(0, at - 5) * 8];
    const row = (at, draw, text) => {
      const [x, y] = spot(at), g = make(parent, "g", { transform: `translate(${x} ${y})` });
      draw(g);
      make(g, "text", { x: 56, y: 4, "font-size": 12, class: "second" }, text);
    };
    const line = (g, stroke, width) => make(g, "path", { d: "M0 0h44", stroke, "stroke-width": width });
    row(0, (g) => line(g, c["gray-color"], 1.5), words.legend_stream);
    row(1, (g) => { line(g, c["yellow-color"], 11); line(g, c["yellow-text-color"], 1.6); }, words.legend_focus);
    row(2, (g) => { line(g, c["gray-color"], 1.5); make(g, "path", { d: "M22 0v9", stroke: c["gray-text-color"], "stroke-width": 1.5 }); make(g, "circle", { cx: 22, cy: 0, r: 2.4, fill: c["gray-text-color"] }); }, words.legend_read);
    row(3, (g) => { line(g, c["gray-color"], 1.5); this.draw_plus(g, { x: 22, y: -8, w: 14, h: 16 }, c); }, words.legend_add);
    row(4, (g) => this.draw_norm(g, { x: 0, y: -9, w: 44, h: 18, text: words.norm }, c), words.legend_norm);
    row(5, (g) => make(g, "rect", { x: 0, y: -8, width: 44, height: 16, fill: "url(#hatch)" }), words.legend_masked);
    const bar = (at, paint, ends, text) => {
      const [x, y] = spot(at), g = make(parent, "g", { transform: `translate(${x} ${y})` });
      paint(g);
      ends.forEach((end, k) => make(g, "text", { x: [0, 48, 97][k], y: 18, "font-size": 11, class: "second num", "text-anchor": ["start", "middle", "end"][k] }, end));
      make(g, "text", { x: 106, y: 4, "font-size": 12, class: "second" }, text);
    };
    const defs = make(parent, "defs");
    const cells = (g, mode, y, h, from) => { // stops stand closer near zero, where colours change fastest
      const scale = make(defs, "linearGradient", { id: `scale-${mode}` });
      for (let j = 0; j <= 16; j += 1) {
        const share = from + (1 - from) * j / 16, z = Math.sign(share) * Math.abs(share) ** 1.7;
        make(scale, "stop", { offset: (z - from) / (1 - from), "stop-color": this.colours.css(mode, mode === "weight" ? z * z : z) });
      }
      make(g, "rect", { x: 0, y, width: 96, height: h, fill: `url(#scale-${mode})` });
    };
    bar(6, (g) => cells(g, "weight", -5, 10, 0), ["0", ".25", "1"], words.legend_weight);
    bar(7, (g) => cells(g, "signed", -5, 10, -1), [`−${most}`, "0", most], words.legend_signed);
    bar(8, (g) => ["query", "key", "value"].forEach((mode, k) => cells(g, mode, -7 + k * 5, 4, -1)), ["−", "", "+"], words.legend_qkv);
    const [x, y] = spot(9);
    make(parent, "text", { x, y: y + 6, "font-size": 12, class: "second" }, words.legend_point);
    make(parent, "text", { x, y: y + 23, "font-size": 12, class: "second" }, words.legend_click);
    return parent;
  }
}

/** The error function, to about 1e-7 (Abramowitz and Stegun 7.1.26): for the curve's shape, not for a number. */
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const rest = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))) * Math.exp(-x * x);
  return x < 0 ? rest - 1 : 1 - rest;
}

export default function ({ data: style }) {
  (globalThis.explorerStave ??= Promise.withResolvers()).resolve((component) => {
    const parent = component.parentElement;
    if (!mounted.has(parent)) mounted.set(parent, new Stave(parent));
    return mounted.get(parent).show(component, style);
  });
}
