// Draws the steps of one attention head: strips of cells on a canvas, rings in SVG, words and chips in the DOM.
// See steps.py for what arrives. Every word from the text goes in as textContent.

const WIDTH = 1052, STRIP = 128, READ = 64; // px: the table, a strip of a head's width, a strip of the stream
const AT = { read: 80, keys: 162, product: 314, raw_scores: 496, scores: 556, masked_scores: 616, weights: 636, bar: 660, values: 770, weighed: 922 };
const BAR = 62, QUERY = 48, FIRST = 86;
const WALK = ["token", "read", "keys", "product", "raw_scores", "scores", "masked_scores", "weights", "values", "weighed"];
const NUMBERS = ["raw_scores", "scores", "masked_scores", "weights"];
const mounted = new WeakMap();

function written(number, digits) {
  if (number === -Infinity) return "−∞";
  const text = Math.abs(number).toFixed(digits);
  return number < 0 && Number(text) !== 0 ? `−${text}` : text;
}

function unpack(data) {
  const bytes = new Uint8Array(data instanceof Uint8Array ? data.slice() : data);
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const o = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  let at = 4 + length;
  o.data = {};
  for (const [name, size] of Object.entries(o.parts)) {
    o.data[name] = new Float32Array(bytes.buffer, at, size);
    at += 4 * size;
  }
  const { x, query, keys, values, read, numbers } = o.data, rows = o.keys.length;
  o.d = { read: x.length, keys: query.length, values: o.data.output.length };
  const slice = (part, r, size) => part.subarray(r * size, (r + 1) * size);
  o.rows = o.keys.map((key, r) => {
    const row = { key, read: slice(read, r, o.d.read), keys: slice(keys, r, o.d.keys), values: slice(values, r, o.d.values) };
    NUMBERS.forEach((name, n) => { row[name] = numbers[4 * r + n]; });
    row.product = row.keys.map((k, c) => k * query[c]); // rounded to float32 once, by the array that holds it
    row.weighed = row.values.map((v) => v * row.weights);
    row.masked = row.masked_scores === -Infinity;
    return row;
  });
  o.limits.product = rows ? Math.max(...o.rows.map((row) => row.product.reduce((most, n) => Math.max(most, Math.abs(n)), 0))) : 1;
  o.limits.weighed = o.limits.output = o.limits.values;
  const lines = [...o.rows.map((row, r) => ({ at: row.key, r })), ...o.gaps.map((gap) => ({ at: gap[0], gap }))];
  o.lines = lines.sort((one, other) => one.at - other.at);
  return o;
}

class Steps {
  constructor(root) {
    this.root = root;
    const make = (parent, tag, kind = "") => this.make(parent, tag, kind);
    this.frame = make(root, "div", "frame");
    this.frame.tabIndex = 0;
    this.frame.setAttribute("role", "group");
    this.sheet = make(this.frame, "div", "sheet");
    this.tokens = make(this.sheet, "div", "tokens");
    this.back = make(this.sheet, "div", "back");
    this.canvas = make(this.sheet, "canvas");
    this.canvas.finer = finely(this, () => this.draw());
    this.words = make(this.sheet, "div", "back");
    this.rings = document.createElementNS(NS, "svg");
    this.sheet.append(this.rings);
    this.tip = make(root, "div", "tip");
    this.live = make(root, "div", "live");
    this.live.setAttribute("aria-live", "polite");
    this.sheet.addEventListener("pointermove", (event) => event.pointerType === "touch" || this.point(this.hit(event)));
    this.sheet.addEventListener("pointerleave", () => this.point(null));
    this.sheet.addEventListener("click", (event) => {
      const hit = this.hit(event);
      if (hit) { this.point(hit, true); this.choose(hit); }
    });
    this.frame.addEventListener("keydown", (event) => this.walk(event));
    this.frame.addEventListener("blur", () => this.point(null));
    this.watch = new ResizeObserver(() => this.o && this.root.clientWidth !== this.wide && this.place());
    this.watch.observe(root);
  }

  make(parent, tag, kind, words) {
    const made = document.createElement(tag);
    if (kind) made.className = kind;
    if (words !== undefined) made.textContent = words;
    parent.append(made);
    return made;
  }

  show({ data, setTriggerValue }) {
    this.send = (name, index) => setTriggerValue("pick", [name, index]);
    if (data !== this.data) { this.data = data; this.o = unpack(data); this.over = null; }
    this.palette();
    this.frame.setAttribute("aria-label", this.o.alt);
    this.draw();
    this.place();
  }

  /** The theme as it is now. */
  palette() {
    const style = getComputedStyle(this.root), pen = document.createElement("canvas").getContext("2d");
    const theme = (name) => { pen.fillStyle = style.getPropertyValue(name).trim(); return pen.fillStyle; };
    const ground = hex(theme("--st-background-color")), set = coloursOn(ground);
    const own = { queries: "--st-blue-color", keys: "--st-orange-color", values: "--st-green-color" };
    own.weighed = own.output = own.values;
    for (const name of ["raised", "third", "hair"]) this.root.style.setProperty(`--${name}`, set[name]);
    this.theme = { ...set, ground, ink: theme("--st-text-color"), second: theme("--st-gray-text-color"), line: theme("--st-border-color"),
      accent: theme("--st-violet-color"), soft: theme("--st-violet-background-color"), query: theme("--st-blue-color"), value: theme("--st-green-color") };
    for (const name in own) own[name] = hex(theme(own[name]));
    this.own = own;
  }

  colour(name, number) {
    const z = clamp(number / this.o.limits[name], -1, 1), set = this.theme, own = this.own[name];
    const made = own ? tinted(set.ground, set, own, z) : diverging(set.ground, set, z);
    return `rgb(${made.map(Math.round)})`;
  }

  weight(number) { return `rgb(${ramp(this.theme.weight, Math.sqrt(number)).map(Math.round)})`; }

  text(words, x, y, kind = "", parent = this.words) {
    const made = this.make(parent, "span", `t ${kind}`, words);
    made.style.left = `${x}px`;
    made.style.top = `${y}px`;
    return made;
  }

  /** A formula: plain words, and [word, kind] for what is set apart. */
  formula(x, y, parts) {
    const line = this.text("", x, y, "math");
    for (const part of parts) {
      if (typeof part === "string") line.append(part);
      else this.make(line, part[2] ?? "span", part[1], part[0]);
    }
  }

  /** A letter with or without its bar; fonts put a combining one in different places. */
  symbol([letter, bar]) { return [letter, bar ? "over" : ""]; }

  chip(token, y, high, focus, key) {
    const made = this.make(this.tokens, "span", `chip ${token.kind}${focus ? " focus" : ""}`);
    made.style.cssText = `top:${y}px;height:${high}px;line-height:${high - 2}px`;
    if (token.spaces) this.make(made, "span", "space", "·".repeat(token.spaces));
    made.append(token.text);
    made.title = `${"·".repeat(token.spaces)}${token.text}`;
    if (key !== null) {
      made.classList.add("pick");
      made.title += ` – ${this.o.words.look}`;
      made.onclick = (event) => { event.stopPropagation(); this.send("focus", key); };
    }
    return made;
  }

  draw() {
    const o = this.o, said = o.words;
    this.words.replaceChildren();
    this.tokens.replaceChildren();
    this.pitch = o.lines.length <= 16 ? 28 : o.lines.length <= 24 ? 25 : 22;
    this.high = Math.min(17, this.pitch - 6);
    o.lines.forEach((line, at) => { line.y = FIRST + at * this.pitch; if (line.gap === undefined) o.rows[line.r].y = line.y; });
    this.end = FIRST + o.lines.length * this.pitch + 8;
    this.height = this.end + 50; // with room for a legend in a line of its own
    const scale = this.fine || window.devicePixelRatio || 1, pen = this.canvas.getContext("2d");
    this.canvas.width = WIDTH * scale;
    this.canvas.height = this.height * scale;
    this.canvas.style.width = `${WIDTH}px`;
    this.canvas.style.height = `${this.height}px`;
    this.rings.setAttribute("width", WIDTH);
    this.rings.setAttribute("height", this.height);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    this.pen = pen;
    this.hatch = this.pattern(scale);
    this.chosen = this.find(o.chosen);
    this.heads();
    this.band();
    this.queryRow();
    for (const line of o.lines) if (line.gap) this.gap(line); else this.row(o.rows[line.r], line.r);
    this.sums();
    this.ring();
    this.root.dataset.painted = Number(this.root.dataset.painted ?? 0) + 1;
  }

  pattern(scale) {
    const tile = document.createElement("canvas"), size = Math.round(5.657 * scale), pen = tile.getContext("2d");
    tile.width = tile.height = size; // a pitch of 4 px across 45 degrees
    pen.strokeStyle = this.theme.hatch;
    pen.lineWidth = 1.3 * scale;
    for (const shift of [-size, 0, size]) {
      pen.beginPath();
      pen.moveTo(shift - size / 2, size * 1.5);
      pen.lineTo(shift + size * 1.5, -size / 2);
      pen.stroke();
    }
    const pattern = this.pen.createPattern(tile, "repeat");
    pattern.setTransform(new DOMMatrix().scale(1 / scale));
    return pattern;
  }

  heads() {
    const { words: said, symbols } = this.o, sub = (text) => [text, "", "sub"];
    const step = (x, number, name, parent = this.words) => {
      const head = this.text("", x, 0, "strong", parent);
      this.make(head, "span", "step", String(number));
      head.append(name);
    };
    step(0, 1, said.project, this.tokens);
    const q = ["q", "q"], k = ["k", "k"], v = ["v", "v"], x = this.symbol(symbols.x), read = this.symbol(symbols.read);
    this.formula(80, 22, [q, ` = W`, sub("Q"), " ", x, " + b", sub("Q"), "   ", k, " = W", sub("K"), " ", read, " + b", sub("K")]);
    step(AT.product, 2, said.multiply);
    this.formula(AT.product, 22, [q, ["c", "q", "sub"], " ", k, ["c", "k", "sub"]]);
    step(AT.raw_scores - 44, 3, said.add);
    this.formula(AT.raw_scores - 22, 22, [["Σ", "", "i"]]);
    step(AT.scores - 44, 4, said.scale);
    this.formula(AT.scores - 44, 22, [["÷ √", "", "i"], "d", sub("k")]);
    step(AT.masked_scores - 38, 5, said.mask);
    this.text(said.mask_how, AT.masked_scores - 38, 22, "small second");
    step(AT.bar + 16, 6, said.softmax);
    this.formula(AT.bar + 16, 22, ["e", ["s", "", "sup"], [" / Σ ", "", "i"], "e", ["s", "", "sup"]]);
    this.text(said.values, AT.values, 0, "strong v");
    this.formula(AT.values, 22, [v, " = W", sub("V"), " ", read, " + b", sub("V")]);
    step(AT.weighed, 7, said.weigh);
    this.formula(AT.weighed, 22, ["α ", v]);
  }

  /** The row of the chosen cell, on a pale ground. */
  band() {
    const row = this.chosen && this.o.rows[this.chosen.r];
    if (!row) return;
    this.pen.fillStyle = this.theme.soft;
    this.pen.beginPath();
    this.pen.roundRect(0, row.y - 4, WIDTH, this.pitch - 3, [6]);
    this.pen.fill();
    const band = this.make(this.tokens, "div", "band");
    band.style.top = `${row.y - 4}px`;
    band.style.height = `${this.pitch - 3}px`;
  }

  strip(name, numbers, x, y, high = this.high) {
    const wide = name === "read" ? READ : STRIP, share = Math.max(1, Math.ceil(numbers.length / wide));
    const cells = Math.ceil(numbers.length / share), cw = wide / cells;
    for (let cell = 0; cell < cells; cell++) {
      this.pen.fillStyle = this.colour(name, numbers[this.largest(numbers, cell * share, share)]);
      this.pen.fillRect(x + cell * cw, y, cw - (cw >= 4 ? 0.5 : 0), high);
    }
  }

  /** Of neighbours that share a cell, the place of the largest in size. */
  largest(numbers, first, share) {
    let best = first;
    for (let at = first; at < Math.min(numbers.length, first + share); at++) if (Math.abs(numbers[at]) > Math.abs(numbers[best])) best = at;
    return best;
  }

  stroke(path, colour, thick = 1) {
    this.pen.strokeStyle = colour;
    this.pen.lineWidth = thick;
    this.pen.stroke(new Path2D(path));
  }

  arrow(x, y) {
    this.stroke(`M${x} ${y}h13m-4 -3.2l4 3.2l-4 3.2`, this.theme.second, 1.2);
  }

  queryRow() {
    const o = this.o, middle = QUERY + 9, last = this.end - 20;
    this.chip(o.asking, QUERY - 1, 20, true, null);
    this.strip("read", o.data.x, AT.read, QUERY);
    this.arrow(AT.read + READ + 3, middle);
    this.strip("queries", o.data.query, AT.keys, QUERY);
    this.formula(AT.keys + STRIP + 3, QUERY - 1, [["q", "q strong"]]);
    const x = AT.product - 8;
    this.pen.globalAlpha = 0.55;
    this.stroke(`M${x - 3} ${middle}Q${x} ${middle} ${x} ${middle + 4}V${last}`, this.theme.query, 1.5);
    this.pen.globalAlpha = 1;
    this.stroke(`M0 77.5H${WIDTH}`, this.theme.line);
    const turn = (x, words, sign, to) => {
      const button = this.make(this.words, "button", "turn", sign);
      button.style.cssText = `left:${x}px;top:${QUERY - 4}px`;
      button.title = words;
      button.setAttribute("aria-label", words);
      button.disabled = to < 0 || to > o.last;
      button.onclick = (event) => { event.stopPropagation(); this.send("focus", to); };
    };
    turn(AT.product + 4, o.words.back, "‹", o.place - 1);
    turn(AT.product + 28, o.words.on, "›", o.place + 1);
  }

  row(row, r) {
    const { pen, theme, high } = this, y = row.y, top = y - 0.5, line = y - 1, marked = this.chosen?.r === r ? " strong" : "";
    const chip = this.chip(this.o.chips[r], y - 1, high + 2, row.key === this.o.own, this.o.crossing ? null : row.key);
    chip.classList.toggle("masked", row.masked);
    this.strip("read", row.read, AT.read, y);
    this.arrow(AT.read + READ + 3, y + high / 2);
    this.strip("keys", row.keys, AT.keys, y);
    this.stroke(`M${AT.keys + STRIP + 4} ${y + high / 2}H${AT.product - 13}`, theme.line);
    this.strip("product", row.product, AT.product, y);
    this.text(written(row.raw_scores, 2), AT.raw_scores, line, `end${marked}`);
    this.text(written(row.scores, 2), AT.scores, line, "end second");
    if (row.masked) {
      pen.fillStyle = this.hatch;
      pen.fillRect(AT.masked_scores - 42, top, 46, high);
      pen.fillRect(AT.weights, top, high, high);
      pen.fillRect(AT.weighed, y, STRIP, high);
      this.text("−∞", AT.masked_scores, line, "end second");
    } else {
      this.text(written(row.masked_scores, 2), AT.masked_scores, line, "end second");
      pen.fillStyle = this.weight(row.weights);
      pen.beginPath();
      pen.roundRect(AT.weights, top, high, high, 2);
      pen.fill();
      pen.fillStyle = this.weight(Math.max(0.16, row.weights));
      pen.beginPath();
      pen.roundRect(AT.bar, y + (high - 10) / 2, Math.max(1, row.weights * BAR), 10, 2);
      pen.fill();
      this.strip("weighed", row.weighed, AT.weighed, y);
    }
    this.text(row.masked ? "0" : written(row.weights, 3), AT.bar + (row.masked ? 0 : row.weights * BAR) + 5, line, `small${marked || " second"}`);
    pen.globalAlpha = row.masked ? 0.3 : 1;
    this.strip("values", row.values, AT.values, y);
    pen.globalAlpha = 1;
    this.stroke(`M${AT.values + STRIP + 4} ${y + high / 2}H${AT.weighed - 6}`, theme.line);
  }

  /** Keys that have no row: how many, and what they weigh together. */
  gap({ y, gap: [first, last, weight, masked] }) {
    const n = last - first + 1, said = this.o.words;
    this.text(fill(n === masked ? said.gap_masked : said.gap, { n, first, last }), AT.read, y - 1, "small second");
    this.stroke(`M${AT.read - 4} ${y - 2.5}H${WIDTH}M${AT.read - 4} ${y + this.pitch - 5.5}H${WIDTH}`, this.theme.hair);
    this.text("⋮", 4, y - 1, "second", this.tokens);
    if (n === masked) {
      this.pen.fillStyle = this.hatch;
      this.pen.fillRect(AT.weights, y - 0.5, this.high, this.high);
    } else {
      this.pen.fillStyle = this.weight(Math.max(0.16, weight));
      this.pen.fillRect(AT.bar, y + (this.high - 10) / 2, Math.max(1, weight * BAR), 10);
    }
    this.text(n === masked ? "0" : `Σ ${written(weight, 3)}`, AT.bar + (n === masked ? 0 : weight * BAR) + 5, y - 1, "small second");
  }

  sums() {
    const o = this.o, y = this.end, said = o.words;
    this.stroke(`M0 ${y - 6.5}H${WIDTH}`, this.theme.line);
    this.text(`Σ = ${written(o.total, 3)}`, AT.bar, y + 1, "small second");
    const name = this.text("", AT.weighed - 8, y + 1, "end");
    this.make(name, "span", "strong", `${said.output} `);
    this.make(name, "span", "math v", "z");
    this.strip("output", o.data.output, AT.weighed, y, 20);
    this.stroke(`M${AT.weighed - 2} ${y - 2}h${STRIP + 4}v24h${-STRIP - 4}z`, this.theme.value, 1.4);
    const key = this.text("", AT.read, y + 2, "small second"), digits = (number) => written(number, number < 10 ? 2 : 1);
    for (const [limit, symbol, kind] of [["read", o.symbols.read[0], o.symbols.read[1] ? "over" : ""], ["queries", "q", "q"], ["keys", "k", "k"], ["product", "q k", ""], ["values", "v, α v, z", "v"]]) {
      if (key.childElementCount) key.append("    ");
      this.make(key, "span", `math ${kind}`, symbol);
      const shade = (z) => this.colour(limit, z * o.limits[limit]);
      this.make(key, "span", "ramp").style.background = `linear-gradient(90deg, ${[-1, -0.6, -0.3, 0, 0.3, 0.6, 1].map(shade).join(",")})`;
      key.append(`±${digits(o.limits[limit])}`);
    }
    const long = key.offsetWidth > AT.bar - AT.read - 8;
    if (long) key.style.top = `${y + 26}px`;
    this.sheet.style.height = `${long ? this.height : y + 28}px`;
  }

  /** Where a cell is drawn: the name of its column, its row (-1 the query's, and the last for the output), its place. */
  find(chosen) {
    if (!chosen) return null;
    const [path, index] = chosen, o = this.o, at = o.keys.indexOf(index[path === o.paths.read || path === o.paths.x ? 0 : 1]);
    if (path === o.paths.x && index[0] === o.place) return { name: "read", r: -1, c: index[1] };
    if (path === o.paths.read) return at < 0 ? null : { name: "read", r: at, c: index[1] };
    const name = Object.keys(o.paths).find((found) => o.paths[found] === path);
    if (!name || index[0] !== o.head) return null;
    if (name === "queries") return index[1] === o.place ? { name, r: -1, c: index[2] } : null;
    if (name === "heads") return index[1] === o.place ? { name, r: o.rows.length, c: index[2] } : null;
    if (NUMBERS.includes(name)) {
      const r = o.keys.indexOf(index[2]);
      return index[1] === o.place && r >= 0 ? { name, r, c: 0 } : null;
    }
    return at < 0 ? null : { name, r: at, c: index[2] };
  }

  /** The rectangle of a cell; with no place, of its whole strip. */
  box({ name, r, c }) {
    const o = this.o, row = o.rows[r], y = r < 0 ? QUERY : row ? row.y : this.end, high = r < 0 ? this.high : row ? this.high : 20;
    if (name === "token") return { x: 0, y: y - 1, w: 72, h: high + 2 };
    if (name === "weights") return { x: AT.weights, y: y - 0.5, w: high, h: high };
    if (NUMBERS.includes(name)) return { x: AT[name] - 44, y: y - 1, w: 50, h: high + 2 };
    const column = { queries: "keys", heads: "weighed" }[name] ?? name, wide = name === "read" ? READ : STRIP;
    const size = name === "read" ? o.d.read : ["values", "weighed", "heads"].includes(name) ? o.d.values : o.d.keys;
    const share = Math.max(1, Math.ceil(size / wide)), cw = wide / Math.ceil(size / share);
    return c === undefined ? { x: AT[column], y, w: wide, h: high } : { x: AT[column] + Math.floor(c / share) * cw, y, w: cw, h: high, share };
  }

  numbers({ name, r }) {
    const o = this.o;
    if (name === "heads") return o.data.output;
    if (name === "queries") return o.data.query;
    return r < 0 ? o.data.x : o.rows[r][name];
  }

  number(hit) {
    const row = this.o.rows[hit.r];
    return NUMBERS.includes(hit.name) ? row[hit.name] : this.numbers(hit)[hit.c];
  }

  /** The recorded value behind a cell: a product opens the sum that it belongs to. */
  recorded({ name, r, c }) {
    const o = this.o, key = o.keys[r];
    if (name === "read") return [r < 0 ? "x" : "read", [r < 0 ? o.place : key, c]];
    if (name === "queries" || name === "heads") return [name, [o.head, o.place, c]];
    if (name === "product") return ["raw_scores", [o.head, o.place, key]];
    if (name === "weighed") return ["heads", [o.head, o.place, c]];
    return [name, NUMBERS.includes(name) ? [o.head, o.place, key] : [o.head, key, c]];
  }

  hit(event) {
    const bounds = this.sheet.getBoundingClientRect(), x = event.clientX - bounds.left, y = event.clientY - bounds.top, o = this.o;
    if (x - this.frame.scrollLeft < 76) return null; // the tokens stand there
    let r = o.rows.findIndex((row) => y >= row.y - 4 && y < row.y - 4 + this.pitch);
    if (r < 0 && Math.abs(y - QUERY - 9) < 14) r = -2;
    else if (r < 0 && y >= this.end - 4 && y < this.end + 26) r = o.rows.length;
    else if (r < 0) return null;
    const names = r === -2 ? ["read", "queries"] : r === o.rows.length ? ["heads"] : WALK.slice(1);
    for (const name of names) {
      const at = { name, r: r === -2 ? -1 : r }, whole = this.box(at), extra = name === "weights" ? 90 : NUMBERS.includes(name) ? 4 : 0;
      if (x < whole.x || x >= whole.x + whole.w + extra) continue;
      if (NUMBERS.includes(name)) return { ...at, c: 0 };
      const { w, share } = this.box({ ...at, c: 0 }), numbers = this.numbers(at);
      return { ...at, c: this.largest(numbers, Math.min(numbers.length - 1, Math.floor((x - whole.x) / w) * share), share) };
    }
    return null;
  }

  point(hit, spoken = false) {
    this.over = hit;
    this.ring();
    this.describe(hit);
    if (hit && spoken) this.live.textContent = this.tip.innerText;
  }

  token(r) { return this.o.rows[r] ? `${"·".repeat(this.o.chips[r].spaces)}${this.o.chips[r].text}` : `${"·".repeat(this.o.asking.spaces)}${this.o.asking.text}`; }

  describe(hit) {
    this.tip.classList.toggle("on", Boolean(hit));
    if (!hit) return;
    const o = this.o, { name, r, c } = hit;
    this.tip.replaceChildren();
    if (name === "token") { this.make(this.tip, "b", "", this.token(r)); this.make(this.tip, "div", "second", o.crossing ? "" : o.words.look); }
    else {
      const [known, index] = this.recorded(hit), made = name === "product" || name === "weighed";
      this.make(this.tip, "b", "", o.words.names[made ? name : known]);
      this.make(this.tip, "div", "path", made ? `c = ${c}` : `${o.paths[known]}[${index.join(", ")}]`);
      const line = this.make(this.tip, "div", "number"), row = o.rows[r];
      const digits = NUMBERS.includes(name) || made ? 4 : 3;
      if (made) {
        const [one, other, left, right] = name === "product" ? [o.data.query[c], row.keys[c], "q", "k"] : [row.weights, row.values[c], "", "v"];
        const factors = this.make(line, "span");
        this.make(factors, "span", left, written(one, 3));
        factors.append(" × ");
        this.make(factors, "span", right, written(other, 3));
      } else this.make(line, "span", "", NUMBERS.includes(name) ? `${this.token(-1)} → ${this.token(r)}` : this.token(r));
      const number = row?.masked && name === "weights" ? "0" : written(this.number(hit), digits);
      this.make(line, "b", "", row?.masked && name === "weighed" ? o.words.masked : number);
      const share = NUMBERS.includes(name) ? 1 : this.box(hit).share;
      if (share > 1) this.make(this.tip, "div", "second", fill(o.words.numbers, { n: share }));
    }
    if (this.below) return;
    const box = this.box(hit), shift = this.frame.scrollLeft, width = this.tip.offsetWidth, right = box.x + box.w + 14 - shift;
    const x = right + width <= this.wide ? right : box.x - shift - width - 14;
    this.tip.style.left = `${clamp(x, 0, Math.max(0, this.wide - width))}px`;
    this.tip.style.top = `${Math.max(-30, box.y + box.h / 2 - this.tip.offsetHeight / 2)}px`;
  }

  /** What a cell is made of, as rectangles. */
  inputs({ name, r, c }) {
    const rows = this.o.rows, all = (of, at) => { const [top, end] = [this.box({ name: of, r: 0, c: at }), this.box({ name: of, r: rows.length - 1, c: at })]; return { ...top, h: end.y + end.h - top.y }; };
    if (!rows.length) return [];
    if (name === "product") return [this.box({ name: "queries", r: -1, c }), this.box({ name: "keys", r, c })];
    if (name === "raw_scores") return [this.box({ name: "product", r })];
    if (name === "scores") return [this.box({ name: "raw_scores", r, c: 0 })];
    if (name === "masked_scores") return [this.box({ name: "scores", r, c: 0 })];
    if (name === "weights") return [all("masked_scores", 0)];
    if (name === "weighed") return [this.box({ name: "weights", r, c: 0 }), this.box({ name: "values", r, c })];
    if (name === "heads") return [all("weighed", c)];
    return ["queries", "keys", "values"].includes(name) ? [this.box({ name: "read", r })] : [];
  }

  ring() {
    this.rings.replaceChildren();
    const rect = ({ x, y, w, h }, colour, thick) => {
      const made = document.createElementNS(NS, "rect"), spare = w < 5 ? 2 : 1.5;
      for (const [name, value] of Object.entries({ x: x - spare, y: y - 1.5, width: w + 2 * spare, height: h + 3, fill: "none", stroke: colour, "stroke-width": thick, rx: 2 })) made.setAttribute(name, value);
      this.rings.append(made);
    };
    if (this.chosen) rect(this.box(this.chosen), this.theme.ink, 2);
    if (!this.over) return;
    for (const box of this.inputs(this.over)) rect(box, this.theme.accent, 1.5);
    rect(this.box(this.over), this.theme.ink, 2);
  }

  choose(hit) {
    if (hit.name === "token") { if (!this.o.crossing && hit.r >= 0) this.send("focus", this.o.keys[hit.r]); return; }
    this.chosen = hit;
    this.ring();
    const [name, index] = this.recorded(hit);
    this.send(name, index);
  }

  walk(event) {
    if (event.target !== this.frame) return;
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (event.key === "Escape") { this.point(null); this.frame.blur(); return; }
    if (event.key === "Enter" && this.over) { event.preventDefault(); this.choose(this.over); return; }
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const o = this.o, now = this.over ?? this.chosen ?? { name: "raw_scores", r: 0, c: 0 }, one = NUMBERS.includes(now.name) || now.name === "token";
    const r = clamp(now.r + step[0], -1, o.rows.length);
    let { name, c } = now;
    if (step[1] && !one && c + step[1] >= 0 && c + step[1] < this.numbers(now).length) c += step[1];
    else if (step[1] && now.r >= 0 && now.r < o.rows.length) {
      const next = clamp(WALK.indexOf(name) + step[1], 0, WALK.length - 1);
      if (next !== WALK.indexOf(name)) { name = WALK[next]; c = 0; if (step[1] < 0 && !NUMBERS.includes(name) && name !== "token") c = o.rows[r][name].length - 1; }
    }
    if (r < 0) name = name === "read" ? "read" : "queries";
    else if (r === o.rows.length) name = "heads";
    else if (name === "queries") name = "keys";
    else if (name === "heads") name = "weighed";
    const most = NUMBERS.includes(name) || name === "token" ? 0 : this.numbers({ name, r }).length - 1;
    const hit = { name, r, c: clamp(c, 0, most) }, box = this.box(hit), left = this.frame.scrollLeft;
    if (box.x - left < 80) this.frame.scrollLeft = Math.max(0, box.x - 90);
    else if (box.x + box.w - left > this.frame.clientWidth) this.frame.scrollLeft = box.x + box.w - this.frame.clientWidth + 12;
    this.point(hit, true);
  }

  /** Beside the pointer where there is room, else below the table. */
  place() {
    this.wide = this.root.clientWidth;
    this.below = this.wide < 700;
    this.tip.classList.toggle("sheet-below", this.below);
  }
}

export default function (component) {
  const root = component.parentElement.querySelector("#root");
  if (!mounted.has(root)) mounted.set(root, new Steps(root));
  released(root, () => mounted.get(root).show(component));
}
