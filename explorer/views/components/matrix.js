// Draws a matrix: cells on a canvas, rings and edges in SVG, words in the DOM. See matrix.py for what arrives.

const MASKED = -(2 ** 31), NOT_A_NUMBER = MASKED + 1, INFINITE = 2 ** 31 - 1;
const STEPS = 512; // colours in a table
const OWN = { query: "--st-blue-color", key: "--st-orange-color", value: "--st-green-color" };
const mounted = new WeakMap();

/** The theme as it is now: roles, and a table of colours for the scale. Zero is paper in a signed scale. */
function palette(element, scale) {
  const style = getComputedStyle(element), canvas = document.createElement("canvas").getContext("2d");
  const theme = (name) => { canvas.fillStyle = style.getPropertyValue(name).trim(); return canvas.fillStyle; };
  const ground = hex(theme("--st-background-color"));
  const set = coloursOn(ground);
  const own = OWN[scale] && hex(theme(OWN[scale]));
  const colour = (z) => {
    if (scale === "weight") return ramp(set.weight, Math.sqrt(Math.max(0, z)));
    if (scale === "mask") return ramp(set.weight, 0.25);
    if (scale === "id") return ground;
    return own ? tinted(ground, set, own, z) : diverging(ground, set, z);
  };
  const table = Array.from({ length: 2 * STEPS + 1 }, (_, at) => colour(at / STEPS - 1).map(Math.round));
  return {
    ...set, table, css: table.map((c) => `rgb(${c})`), ink: theme("--st-text-color"),
    accent: theme("--st-violet-color"), edge: theme("--st-yellow-text-color"),
    query: theme(OWN.query), key: theme(OWN.key), value: theme(OWN.value), font: style.getPropertyValue("--st-font"),
  };
}

/** The message: [length of the header][header][parts]. Cells become whole numbers with their row and column. */
function unpack(data) {
  const bytes = new Uint8Array(data instanceof Uint8Array ? data.slice() : data);
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const o = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const part = (name, signed) => {
    const [at, size, item] = o.parts[name];
    const kind = { 1: Uint8Array, 2: signed ? Int16Array : Uint16Array, 4: Int32Array }[item];
    return new kind(bytes.buffer, 4 + length + at, size);
  };
  const widen = (numbers) => {
    const least = -(2 ** (8 * o.item - 1)), most = -least - 1;
    return Int32Array.from(numbers, (n) => (n === least ? MASKED : n === least + 1 ? NOT_A_NUMBER : n === most ? INFINITE : n));
  };
  if (o.columns === "rows") o.columns = o.rows;
  const sent = widen(part("cells", true));
  if (o.mode === "lines") {
    const [from, to, panel] = [part("row"), part("column"), part("panel")];
    o.curves = Array.from(sent, (n, at) => ({ n, p: panel[at], r: from[at], c: to[at] }));
    return o;
  }
  const [panels, tall, wide] = o.grid, [down, across] = o.group, width = o.shape[2], area = tall * wide;
  const places = o.parts.places && part("places"), mask = o.masks && part("mask");
  let next = 0;
  o.panels = Array.from({ length: panels }, (_, p) => {
    const numbers = new Int32Array(area), at = new Int32Array(area);
    for (let cell = 0; cell < area; cell++) {
      const bit = (o.masks > 1 ? p * area : 0) + cell;
      const hidden = mask && (mask[bit >> 3] >> (bit & 7)) & 1, place = !hidden && places ? places[next] : 0;
      at[cell] = (Math.floor(cell / wide) * down + Math.floor(place / across)) * width + (cell % wide) * across + (place % across);
      numbers[cell] = hidden ? MASKED : sent[next++];
    }
    return { p, tall, wide, numbers, at, share: down * across };
  });
  if (o.window) {
    const [p, top, left, tall, wide] = o.window;
    const at = Int32Array.from({ length: tall * wide }, (_, i) => (top + Math.floor(i / wide)) * width + left + (i % wide));
    o.near = { p, tall, wide, numbers: widen(part("window", true)), at, share: 1, top, left };
  }
  return o;
}

/** Neighbours that share a pixel become one cell: the largest in size, sign kept. */
function merge(panel, down, across) {
  const tall = Math.ceil(panel.tall / down), wide = Math.ceil(panel.wide / across);
  const numbers = new Int32Array(tall * wide).fill(MASKED), at = new Int32Array(tall * wide).fill(-1);
  for (let i = 0; i < panel.numbers.length; i++) {
    const cell = Math.floor(Math.floor(i / panel.wide) / down) * wide + Math.floor((i % panel.wide) / across);
    const n = panel.numbers[i], old = numbers[cell];
    if (at[cell] < 0 || (n !== MASKED && (old === MASKED || Math.abs(n) > Math.abs(old)))) {
      numbers[cell] = n; at[cell] = panel.at[i];
    }
  }
  return { ...panel, tall, wide, numbers, at, share: panel.share * down * across };
}

const parts = (label) => (typeof label === "string" ? [label, "text", 0] : label);
const short = (text) => { const letters = [...text]; return letters.length > 9 ? letters.slice(0, 8).join("") + "…" : text; };

class Matrix {
  constructor(parent) {
    this.stage = document.createElement("div");
    this.stage.className = "stage";
    this.stage.tabIndex = 0;
    this.stage.setAttribute("role", "img");
    this.canvas = document.createElement("canvas");
    this.canvas.finer = finely(this, () => this.draw());
    this.words = document.createElement("div");
    this.rings = document.createElementNS(NS, "svg");
    this.tip = document.createElement("div");
    this.live = document.createElement("div");
    this.live.className = "live";
    this.live.setAttribute("aria-live", "polite");
    this.style = document.createElement("style");
    this.waits = null; // the number of the last click, until the server has heard of it
    this.stage.append(this.canvas, this.words, this.rings);
    parent.append(this.style, this.stage, this.tip, this.live);
    this.stage.addEventListener("pointermove", (event) => {
      if (event.pointerType === "touch") return;
      this.pointer = { clientX: event.clientX, clientY: event.clientY };
      this.point(this.hit(event));
    });
    this.stage.addEventListener("pointerleave", () => { this.pointer = null; this.point(null); });
    this.stage.addEventListener("click", (event) => {
      const hit = this.hit(event);
      if (hit) { this.point(hit, true); this.choose(hit); }
    });
    this.stage.addEventListener("keydown", (event) => this.walk(event));
    this.stage.addEventListener("blur", () => this.point(null));
    this.watch = new ResizeObserver(() => {
      if (this.o && this.stage.clientWidth && this.stage.clientWidth !== this.width) this.draw();
    });
    this.watch.observe(this.stage);
  }

  /** New numbers, or the same in another theme. */
  show(component, style) {
    this.style.textContent = style;
    this.send = component.setTriggerValue;
    if (component.data !== this.data) {
      this.data = component.data;
      this.o = unpack(component.data);
      if (this.waits !== null && this.o.heard >= this.waits) this.waits = null;
      if (this.waits === null || !this.has(this.chosen)) this.chosen = this.o.chosen && this.full(this.o.chosen);
      this.stage.setAttribute("aria-label", this.o.alt);
    }
    this.colours = palette(this.stage, this.o.scale);
    for (const name of ["raised", "third", "hair"]) {
      this.stage.style.setProperty(`--${name}`, this.colours[name]);
      this.tip.style.setProperty(`--${name}`, this.colours[name]);
    }
    this.draw();
  }

  /** An index into the tensor as panel, row and column, and back. */
  full(cell) {
    if (this.o.index === 3) return { p: cell[0], r: cell[1], c: cell[2] };
    if (this.o.index === 2) return { p: 0, r: cell[0], c: cell[1] };
    return this.o.row_of_one ? { p: 0, r: 0, c: cell[0] } : { p: 0, r: cell[0], c: 0 };
  }

  index({ p, r, c }) {
    return this.o.index === 3 ? [p, r, c] : this.o.index === 2 ? [r, c] : this.o.row_of_one ? [c] : [r];
  }

  has({ p, r, c }) {
    return p < this.o.shape[0] && r < this.o.shape[1] && c < this.o.shape[2];
  }

  number(n) {
    if (n === MASKED) return this.o.words.masked;
    if (n === NOT_A_NUMBER) return this.o.words.not_a_number;
    if (n === INFINITE) return this.o.words.infinite;
    if (this.o.scale === "mask") return n ? this.o.words.allowed : this.o.words.masked;
    return this.decimal(n / 10 ** this.o.digits, this.o.digits);
  }

  decimal(number, digits) {
    const text = Math.abs(number).toFixed(digits);
    return number < 0 && Number(text) !== 0 ? `−${text}` : text;
  }

  shade(n) {
    return clamp(Math.round((n / 10 ** this.o.digits / this.o.limit) * STEPS) + STEPS, 0, 2 * STEPS);
  }

  axis(which) {
    const name = this.o.axes[which];
    return this.o.words.axes[name] ?? name;
  }

  text(words, x, y, kind = "") {
    const element = document.createElement("span");
    element.className = `text ${kind}`;
    element.textContent = words;
    element.style.left = `${x}px`;
    element.style.top = `${y}px`;
    this.words.append(element);
    return element;
  }

  /** A token's chip; without a border where there is little height. `right` is the edge it stands at. */
  chip(label, index, side, x, y, width, height, right = false) {
    const [text, kind, spaces] = parts(label), element = document.createElement("span");
    const focus = side === "rows" && index === this.o.focus;
    element.className = `chip ${kind}${height < 15 ? " bare" : ""}${focus ? " focus" : ""}${height < 14 ? " small" : ""}`;
    element.style.cssText = `left:${x}px;top:${y}px;height:${height}px;width:${width}px;line-height:${height - (height < 15 ? 0 : 2)}px`;
    if (right) element.style.textAlign = "left";
    const words = short(text), pale = document.createElement("span");
    pale.className = "space";
    pale.textContent = words.slice(0, spaces);
    element.append(pale, words.slice(spaces));
    this.words.append(element);
  }

  wide(labels) {
    const canvas = this.canvas.getContext("2d");
    canvas.font = `600 12px ${this.colours.font}`;
    return Math.min(96, Math.ceil(Math.max(...labels.map((label) => canvas.measureText(short(parts(label)[0])).width))) + 15);
  }

  draw() {
    this.width = this.stage.clientWidth;
    if (!this.width) return;
    this.words.replaceChildren();
    this.places = [];
    this.late = [];
    const bottom = this.o.mode === "lines" ? this.spreadLines() : this.spread();
    const height = this.o.legend && this.o.mode === "map" ? this.legend(bottom + 12) : bottom;
    const scale = this.fine || window.devicePixelRatio || 1, context = this.canvas.getContext("2d");
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${height}px`;
    this.rings.setAttribute("width", this.width);
    this.rings.setAttribute("height", height);
    this.stage.style.height = `${height}px`;
    this.sheet = this.width < 700;
    this.tip.className = this.sheet ? "tip sheet" : "tip";
    if (!this.sheet) this.stage.append(this.tip); else this.stage.after(this.tip);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, this.width, height);
    this.hatch = this.pattern(context, scale);
    for (const place of this.places) if (place.numbers) this.paint(context, place);
    for (const paint of this.late) paint(context);
    this.follow();
    this.stage.dataset.painted = Number(this.stage.dataset.painted ?? 0) + 1;
  }

  /** After a new layout or new numbers: what is pointed at now, if it is still there. */
  follow() {
    const now = this.next ?? this.over, spoken = Boolean(this.next);
    if (this.waits === null) this.next = null;
    this.over = null;
    if (!now) return this.ring();
    if (this.pointer && !spoken) return this.point(this.hit(this.pointer));
    this.point(this.has(now) ? this.seek(now.p, now.r, now.c) : null, spoken);
  }

  pattern(context, scale) {
    const tile = document.createElement("canvas"), size = Math.round(5.657 * scale), pen = tile.getContext("2d");
    tile.width = tile.height = size; // a pitch of 4 px across 45 degrees
    pen.strokeStyle = this.colours.hatch;
    pen.lineWidth = 1.3 * scale;
    for (const shift of [-size, 0, size]) {
      pen.beginPath();
      pen.moveTo(shift - size / 2, size * 1.5);
      pen.lineTo(shift + size * 1.5, -size / 2);
      pen.stroke();
    }
    const pattern = context.createPattern(tile, "repeat");
    pattern.setTransform(new DOMMatrix().scale(1 / scale));
    return pattern;
  }

  /** Where every panel goes; returns the height. */
  spread() {
    const o = this.o, [count, tall, wide] = o.grid, grouped = o.group[0] * o.group[1] > 1;
    const map = o.axes[1] === "query" && o.axes[2] === "key", single = o.shape[2] === 1;
    const own = OWN[o.scale], titles = count > 1 ? 18 : 0, bar = own ? 6 : 0;
    const first = o.panels[0].numbers, corner = map && count > 1 && tall > 3 && first[wide - 1] === MASKED && first[2 * wide - 1] === MASKED;
    const margin = o.focus === null ? 0 : 9;
    let labels = o.rows && o.group[0] === 1 ? this.wide(o.rows) + margin : margin;
    let across, cw, ch, gap, slant = 0;
    const fit = (left) => {
      if (map) {
        const most = count === 1 ? 32 : count === 2 ? 26 : 20;
        const side = Math.max(count === 1 ? 480 : count === 2 ? 440 : 300, Math.min(this.width, 6 * wide));
        gap = 12;
        const size = (a) => Math.min(most, side / wide, (this.width - left - (a - 1) * gap) / a / wide);
        const choices = [4, 3, 2, 1].filter((a) => a <= count && (a !== 3 || count % 3 === 0));
        across = choices.find((a) => size(a) >= Math.min(10, size(1))) ?? choices.find((a) => size(a) >= 6) ?? 1;
        cw = ch = size(across);
        if (cw >= 3) cw = ch = Math.floor(cw);
      } else {
        gap = 2;
        const size = (a) => Math.min(single ? 40 : 8, (this.width - left - (a - 1) * gap) / a / wide);
        across = [count, 8, 4, 2, 1].find((a) => a <= count && (size(a) >= 2 || a === 1));
        cw = size(across);
        if (cw >= 3) cw = Math.floor(cw * 4) / 4;
        ch = clamp(600 / tall, 1, o.rows ? 18 : tall === 1 ? 18 : 8);
        if (ch >= 3) ch = Math.floor(ch);
      }
    };
    fit(labels);
    if (ch < 11 && labels > margin) { labels = margin; fit(labels); }
    if (map && o.columns && !grouped && cw >= 14 && count <= 2) slant = Math.ceil((this.wide(o.columns) - 8) * 0.71) + 12;
    const high = ch < 15 ? ch : Math.min(20, ch - 1);
    const axes = map && cw >= 12 && labels > margin;
    const head = Math.max(slant, (corner && cw * wide >= 90 ? 0 : titles), axes && !slant ? 18 : 0) + bar;
    const pw = cw * wide, ph = ch * tall, ticks = !map && !single ? 18 : 0, lines = Math.ceil(count / across);
    o.panels.forEach((panel, at) => {
      const x = labels + (at % across) * (pw + gap), y = head + Math.floor(at / across) * (ph + head + ticks + gap);
      const down = ch < 1 ? Math.ceil(1 / ch) : 1, over = cw < 1 ? Math.ceil(1 / cw) : 1;
      const cells = down * over > 1 ? merge(panel, down, over) : panel;
      const place = { ...cells, down: down * o.group[0], over: over * o.group[1], x, y, cw: pw / cells.wide, ch: ph / cells.tall, map, pw, ph, all: [0, 0, o.shape[1], o.shape[2]] };
      this.places.push(place);
      if (count > 1) {
        const words = `${this.axis(0)} ${panel.p}`;
        if (corner && pw >= 90) this.late.push(() => this.text(words, x + pw - 5, y + 2, "small second end").classList.add("corner"));
        else this.text(pw < 44 ? String(panel.p) : words, x, y - bar - 18, "second");
      }
      if (own) this.late.push((pen) => { pen.fillStyle = this.colours[o.scale]; pen.fillRect(x, y - 5, pw, 3); });
      if (o.rows && labels > margin && at % across === 0)
        o.rows.forEach((label, r) => this.chip(label, r, "rows", 0, y + (r + 0.5) * ch - high / 2 - (map ? 0.5 : 0), labels - margin - 4, high));
      if (slant) o.columns.forEach((label, c) => this.text(short(parts(label)[0]), x + (c + 0.5) * cw + 2, y - 19, "small slant second"));
      if (ticks && pw > 70 && at === 0) {
        this.text("0", x, y + ph + 2, "small second");
        if (pw > 120) this.text(this.axis(2), x + pw / 2, y + ph + 2, "small second middle");
        this.text(String(o.shape[2] - 1), x + pw, y + ph + 2, "small second end");
      }
      if (single && ch >= 11)
        for (let r = 0; r < tall; r++)
          this.text(this.number(panel.numbers[r]), o.scale === "id" ? x + 60 : x + cw + 58, y + r * ch + (ch - 16) / 2, "end");
    });
    const last = head + (lines - 1) * (ph + head + ticks + gap);
    if (axes) {
      const word = this.text(`${o.words.queries} ↓`, labels - margin - 4, head - bar - 18, "small query end");
      if (word.offsetWidth > labels - margin - 4) {
        if (count > 1) word.remove(); // it would run into the first panel's title
        else { word.style.left = 0; word.classList.remove("end"); }
      }
      this.text(`${o.words.keys} →`, labels, last + ph + 3, "small key");
    }
    const bottom = last + ph + ticks + (axes ? 18 : 0) + (single ? 4 : 0);
    return o.near ? this.magnify(bottom + 20, map, margin) : bottom;
  }

  /** The window around the chosen cell, where every number is a cell. */
  magnify(top, map, margin) {
    const o = this.o, near = o.near, side = Math.min(18, (this.width - 100) / near.wide);
    const labels = o.rows ? this.wide(o.rows) + margin : margin;
    const span = (which, first, size) => fill(o.words.rows, { axis: this.axis(which), first, last: first + size - 1 });
    const where = [...(o.axes[0] ? [`${this.axis(0)} ${near.p}`] : []), span(1, near.top, near.tall), span(2, near.left, near.wide)];
    this.text(o.words.window, 0, top).style.fontWeight = 600;
    const line = this.text(where.join(", "), 0, top + 17, "small second"), y = top + 40;
    line.style.whiteSpace = "normal";
    if (o.rows && side >= 11)
      for (let r = 0; r < near.tall; r++)
        this.chip(o.rows[near.top + r], near.top + r, "rows", 0, y + r * side + 0.5, labels - margin - 4, side < 15 ? side : side - 1);
    this.places.push({ ...near, x: labels, y, cw: side, ch: side, map: true, pw: side * near.wide, ph: side * near.tall,
      all: [near.top, near.left, near.top + near.tall, near.left + near.wide] });
    return y + side * near.tall;
  }

  paint(pen, place) {
    const { x, y, cw, ch, tall, wide, numbers, map, pw, ph } = place, { table, css } = this.colours;
    const hidden = new Path2D();
    let some = false;
    for (let r = 0; r < tall; r++)
      for (let c = 0; c < wide; c++) {
        let end = c;
        while (end < wide && (numbers[r * wide + end] === MASKED || (this.o.scale === "mask" && !numbers[r * wide + end]))) end++;
        if (end > c) { hidden.rect(x + c * cw, y + r * ch, (end - c) * cw, ch); c = end; some = true; }
      }
    if (some) { pen.fillStyle = this.hatch; pen.fill(hidden); }
    const gapped = Math.min(cw, ch) >= 4 || (cw >= 4 && ch >= 4), gap = map ? (Math.min(cw, ch) >= 6 ? 1 : 0) : cw >= 4 ? 0.5 : 0;
    if (this.o.scale === "id") return;
    if (gapped) {
      const low = map ? gap : ch >= 14 ? 3 : 0;
      for (let i = 0; i < numbers.length; i++) {
        if (numbers[i] === MASKED || numbers[i] === NOT_A_NUMBER) continue;
        if (this.o.scale === "mask" && !numbers[i]) continue;
        pen.fillStyle = css[this.shade(numbers[i])];
        pen.fillRect(x + (i % wide) * cw, y + Math.floor(i / wide) * ch + low / 2, cw - gap, ch - low);
      }
    } else {
      const image = new ImageData(wide, tall), sheet = new OffscreenCanvas(wide, tall);
      for (let i = 0; i < numbers.length; i++) {
        if (numbers[i] === MASKED || numbers[i] === NOT_A_NUMBER || (this.o.scale === "mask" && !numbers[i])) continue;
        image.data.set(table[this.shade(numbers[i])], i * 4);
        image.data[i * 4 + 3] = 255;
      }
      sheet.getContext("2d").putImageData(image, 0, 0);
      pen.imageSmoothingEnabled = false;
      if (ch >= 14) // strips: paper between the rows
        for (let r = 0; r < tall; r++) pen.drawImage(sheet, 0, r, wide, 1, x, y + r * ch + 1.5, pw, ch - 3);
      else pen.drawImage(sheet, x, y, pw, ph);
    }
    for (let i = 0; i < numbers.length; i++)
      if (numbers[i] === NOT_A_NUMBER) {
        pen.fillStyle = this.colours.ink;
        pen.fillRect(x + (i % wide) * cw + cw * 0.3, y + Math.floor(i / wide) * ch + ch * 0.3, cw * 0.4, ch * 0.4);
      }
  }

  /** Two columns of tokens a panel, and a curve for each weight that is kept. */
  spreadLines() {
    const o = this.o, [count, tall, wide] = o.shape, most = Math.max(tall, wide);
    const pitch = most <= 24 ? 18 : Math.max(2.5, Math.min(11, 704 / most)), written = pitch >= 11 && o.rows && o.columns;
    const across = clamp(Math.floor((this.width + 24) / 264), 1, Math.min(4, count));
    const pw = Math.min(300, (this.width - (across - 1) * 24) / across), head = 22, ph = most * pitch;
    const chips = written ? Math.min(88, Math.max(this.wide(o.rows), this.wide(o.columns))) : 8;
    for (let p = 0; p < count; p++) {
      const x = (p % across) * (pw + 24), y = head + Math.floor(p / across) * (ph + head + 16);
      const place = { p, lines: true, x, y, pw, ph, pitch, from: x + chips + 4, to: x + pw - chips - 4 };
      this.places.push(place);
      if (count > 1) this.text(`${this.axis(0)} ${p}`, x + pw / 2, y - 20, "second middle");
      this.text(o.words.queries, x, y - 20, "small query");
      this.text(o.words.keys, x + pw, y - 20, "small key end");
      if (written) {
        const height = pitch < 15 ? pitch : pitch - 1;
        o.rows.forEach((label, r) => this.chip(label, r, "rows", x, y + r * pitch, chips, height));
        o.columns.forEach((label, c) => this.chip(label, c, "columns", x + pw - chips, y + c * pitch, chips, height, true));
      }
      this.late.push((pen) => this.curves(pen, place));
    }
    const bottom = head + Math.ceil(count / across) * (ph + head + 16) - head - 16;
    const note = fill(o.words.fewer, { least: this.decimal(o.least, 2), hidden: o.possible - o.links, all: o.possible });
    this.text(note, 0, bottom + 8, "small second");
    return bottom + 26;
  }

  curves(pen, place) {
    const only = this.over?.place.p === place.p ? this.over : null, { from, to, y, pitch, p } = place;
    for (const { n, p: panel, r, c } of this.o.curves) {
      if (panel !== p) continue;
      const weight = n / 10 ** this.o.digits, mine = only ? (only.side === "rows" ? r === only.r : c === only.c) : r === this.o.focus;
      pen.globalAlpha = mine ? 0.35 + 0.65 * weight : only ? 0.05 : 0.15 + 0.25 * weight;
      pen.strokeStyle = this.colours.accent;
      pen.lineWidth = 0.6 + 4.4 * weight;
      const one = y + (r + 0.5) * pitch, other = y + (c + 0.5) * pitch, bend = (to - from) * 0.45;
      pen.beginPath();
      pen.moveTo(from, one);
      pen.bezierCurveTo(from + bend, one, to - bend, other, to, other);
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  legend(y) {
    const o = this.o, digits = Math.min(o.digits, o.limit >= 10 ? 1 : 2 + Math.max(0, o.digits - 3)), own = OWN[o.scale];
    let x = 0, height = y;
    if (["weight", "signed"].includes(o.scale) || own) {
      const ends = o.scale === "weight" ? ["0", o.limit === 1 ? ".25" : this.decimal(o.limit / 4, 2), this.decimal(o.limit, o.limit === 1 ? 0 : 2)]
        : [this.decimal(-o.limit, digits), "0", this.decimal(o.limit, digits)];
      this.late.push((pen) => {
        for (let i = 0; i < 96; i++) {
          const z = o.scale === "weight" ? (i / 95) ** 2 : (i / 95) * 2 - 1;
          pen.fillStyle = this.colours.css[Math.round(z * STEPS) + STEPS];
          pen.fillRect(i, y + 3, 1, 10);
        }
      });
      ends.forEach((end, at) => this.text(end, at * 48, y + 15, `small second ${["", "middle", "end"][at]}`));
      const word = this.text(o.words.scales[o.scale], 106, y, "small");
      x = 106 + word.offsetWidth + 24;
      height = y + 32;
    }
    if (o.masks || o.scale === "mask") {
      const below = x > 0 && x + 96 > this.width, at = below ? 0 : x, top = below ? height : y;
      this.late.push((pen) => { pen.fillStyle = this.hatch; pen.fillRect(at, top + 2, 32, 12); });
      const word = this.text(o.words.masked, at + 40, top, "small");
      x = at + 40 + word.offsetWidth + 24;
      height = Math.max(height, top + 18);
    }
    const share = Math.max(1, ...this.places.map((place) => place.share ?? 1));
    if (share > 1) {
      const beside = this.width - x > 260, note = this.text(fill(o.words.shares, { n: share }), beside ? x : 0, beside ? y : height, "small second");
      note.style.whiteSpace = "normal";
      height = Math.max(height, (beside ? y : height) + 18);
    }
    return height;
  }

  /** Which cell a pointer is over. */
  hit(event) {
    const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    for (const place of this.places) {
      if (place.lines) {
        const r = Math.floor((y - place.y) / place.pitch), side = x < (place.from + place.to) / 2 ? "rows" : "columns";
        if (x < place.x || x > place.x + place.pw || r < 0 || r >= this.o.shape[side === "rows" ? 1 : 2]) continue;
        return this.link(place, side, r);
      }
      const c = Math.floor((x - place.x) / place.cw), r = Math.floor((y - place.y) / place.ch);
      if (c < 0 || r < 0 || c >= place.wide || r >= place.tall) continue;
      return this.cell(place, r * place.wide + c);
    }
    return null;
  }

  cell(place, i) {
    const width = this.o.shape[2], at = place.at[i];
    return { place, i, p: place.p, r: Math.floor(at / width), c: at % width, n: place.numbers[i] };
  }

  /** A token of the line view, with its strongest links. */
  link(place, side, at) {
    const mine = this.o.curves.filter((curve) => curve.p === place.p && (side === "rows" ? curve.r : curve.c) === at);
    mine.sort((one, other) => other.n - one.n);
    const best = mine[0] ?? { r: side === "rows" ? at : 0, c: side === "rows" ? 0 : at };
    return { place, side, p: place.p, r: best.r, c: best.c, [side === "rows" ? "r" : "c"]: at, links: mine };
  }

  /** One exact number and where it is drawn: in the window, where there is one. */
  seek(p, r, c) {
    const { near, shape } = this.o;
    if (this.o.mode === "lines") return this.link(this.places[p], "rows", r);
    if (near) {
      const i = near.p === p ? near.at.indexOf(r * shape[2] + c) : -1;
      return i < 0 ? null : this.cell(this.places.at(-1), i);
    }
    return { ...this.cover({ p, r, c }), p, r, c, n: this.o.panels[p].numbers[r * shape[2] + c], exact: true };
  }

  point(hit, spoken = false) {
    const before = this.over;
    this.over = hit;
    if (this.o.mode === "lines" && (before?.place !== hit?.place || before?.r !== hit?.r || before?.side !== hit?.side || before?.c !== hit?.c)) this.relight();
    this.ring();
    this.describe(hit);
    if (spoken && hit) this.live.textContent = this.sentence(hit);
  }

  relight() {
    const pen = this.canvas.getContext("2d"), height = this.canvas.height;
    pen.save();
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, height);
    pen.restore();
    for (const place of this.places) this.curves(pen, place);
  }

  word(side, at) {
    const labels = this.o[side], which = side === "rows" ? 1 : 2;
    return labels ? parts(labels[at])[0] : `${this.axis(which)} ${at}`.trim();
  }

  sentence(hit) {
    if (hit.links) return `${this.word(hit.side, hit[hit.side === "rows" ? "r" : "c"])}: ${this.strongest(hit)}`;
    const sides = [this.word("rows", hit.r), ...(this.o.axes[2] ? [this.word("columns", hit.c)] : [])].filter(Boolean);
    return `${sides.join(", ")}: ${this.number(hit.n)}`;
  }

  strongest(hit) {
    const other = hit.side === "rows" ? "columns" : "rows", at = other === "rows" ? "r" : "c";
    return hit.links.slice(0, 4).map((curve) => `${this.word(other, curve[at])} ${this.number(curve.n)}`).join("   ");
  }

  describe(hit) {
    this.tip.classList.toggle("on", Boolean(hit));
    if (!hit) return;
    const o = this.o, make = (parent, tag, kind, words = "") => {
      const element = document.createElement(tag);
      element.className = kind;
      element.textContent = words;
      parent.append(element);
      return element;
    };
    this.tip.replaceChildren();
    const head = make(this.tip, "div", "head");
    make(head, "b", "", o.name);
    if (o.axes[0]) make(head, "span", "second", `${this.axis(0)} ${hit.p}`);
    if (hit.links) {
      make(this.tip, "div", "path", o.path);
      const line = make(this.tip, "div", "number");
      make(line, "span", hit.side === "rows" ? "query" : "key", this.word(hit.side, hit[hit.side === "rows" ? "r" : "c"]));
      make(line, "span", "", this.strongest(hit));
    } else {
      if (o.path) make(this.tip, "div", "path", `${o.path}[${[...o.part, ...this.index(hit)].join(", ")}]`);
      const line = make(this.tip, "div", "number"), where = make(line, "span", ""), map = o.axes[1] === "query" && o.axes[2] === "key";
      if (!o.row_of_one) make(where, "span", map ? "query" : "", this.word("rows", hit.r));
      if (o.axes[2]) {
        if (!o.row_of_one) where.append(map ? " → " : ", ");
        make(where, "span", map ? "key" : "", this.word("columns", hit.c));
      }
      make(line, "b", "", this.number(hit.n));
      if (hit.place.share > 1 && !hit.exact) make(this.tip, "div", "small second", fill(o.words.shares, { n: hit.place.share }));
    }
    if (this.sheet) return;
    const box = this.box(hit), width = this.tip.offsetWidth, height = this.tip.offsetHeight;
    const right = box.x + box.w + 14, x = right + width <= this.width ? right : box.x - width - 14;
    this.tip.style.left = `${clamp(x, 0, Math.max(0, this.width - width))}px`;
    this.tip.style.top = `${x < 0 ? box.y + box.h + 10 : Math.max(-40, box.y + box.h / 2 - height / 2)}px`;
  }

  box(hit) {
    const place = hit.place;
    if (place.lines) {
      const at = hit.side === "rows" ? hit.r : hit.c;
      return { x: hit.side === "rows" ? place.x : place.to, y: place.y + at * place.pitch, w: place.from - place.x, h: place.pitch };
    }
    return { x: place.x + (hit.i % place.wide) * place.cw, y: place.y + Math.floor(hit.i / place.wide) * place.ch, w: place.cw, h: place.ch };
  }

  /** Rings on the hovered and the chosen cell; triangle and edge on the focus row. */
  ring() {
    this.rings.replaceChildren();
    const shape = (kind, values) => {
      const element = document.createElementNS(NS, kind);
      for (const [name, value] of Object.entries(values)) element.setAttribute(name, value);
      this.rings.append(element);
    };
    const rect = (x, y, width, height, stroke, thick) => shape("rect", { x, y, width: Math.max(2, width), height: Math.max(2, height), fill: "none", stroke, "stroke-width": thick, rx: 1.5 });
    const focus = this.o.focus;
    for (const place of this.places) {
      if (focus === null || place.lines || focus < place.all[0] || focus >= place.all[2]) continue;
      const rows = (place.all[2] - place.all[0]) / place.tall, r = Math.floor((focus - place.all[0]) / rows), y = place.y + r * place.ch;
      if (place.map) {
        let end = place.wide;
        while (end > 1 && place.numbers[r * place.wide + end - 1] === MASKED) end--;
        rect(place.x - 1.5, y - 1.5, end * place.cw + 2, place.ch + 2, this.colours.edge, 1.2);
      }
      const middle = y + place.ch / 2;
      if (place.x >= 8 && (place.x === this.places[0].x || place === this.places.at(-1) && place.top !== undefined))
        shape("path", { d: `M${place.x - 8} ${middle - 3}l4.5 3l-4.5 3z`, fill: this.colours.edge });
    }
    const mark = (hit, thick) => {
      const { x, y, w, h } = this.box(hit), size = Math.max(w, h) < 4 ? 2 : 0;
      rect(x - 1.5 - size, y - 1.5 - size, w + 2 + 2 * size, h + 2 + 2 * size, this.colours.ink, thick);
    };
    if (this.chosen && this.o.mode === "map") {
      const hit = this.seek(this.chosen.p, this.chosen.r, this.chosen.c) ?? this.cover(this.chosen);
      if (hit) mark(hit, 2);
      const over = hit?.place.top !== undefined && this.cover(this.chosen);
      if (over) mark(over, 2);
    }
    if (this.over && !this.over.links) mark(this.over, 2);
  }

  /** The cell of a panel that a number belongs to, though another of its group may be shown in it. */
  cover({ p, r, c }) {
    const place = this.places[p];
    return this.cell(place, Math.floor(r / place.down) * place.wide + Math.floor(c / place.over));
  }

  /** The ring is there at once. It gives way to what the server says after it has heard of this click: an answer to
   *  what was done before may still be on its way. */
  choose(hit) {
    if (!this.o.clickable) return;
    this.chosen = { p: hit.p, r: hit.r, c: hit.c };
    this.ring();
    this.waits = Math.max(Date.now(), (this.waits ?? 0) + 1);
    this.send("click", { number: this.waits, cell: this.index(hit) });
  }

  walk(event) {
    const step = { ArrowUp: [0, -1, 0], ArrowDown: [0, 1, 0], ArrowLeft: [0, 0, -1], ArrowRight: [0, 0, 1], PageUp: [-1, 0, 0], PageDown: [1, 0, 0] }[event.key];
    if (event.key === "Escape") { this.point(null); this.stage.blur(); return; }
    if (event.key === "Enter" && this.over) { event.preventDefault(); this.choose(this.over); return; }
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const shape = this.o.shape, near = this.o.near, now = this.next ?? this.over ?? this.chosen;
    this.pointer = null;
    const start = near ? { p: near.p, r: near.top, c: near.left } : { p: 0, r: this.o.focus ?? 0, c: 0 };
    const [p, r, c] = now ? [now.p, now.r, now.c].map((at, i) => clamp(at + step[i], 0, shape[i] - 1)) : [start.p, start.r, start.c];
    const hit = this.seek(p, r, c);
    if (hit) this.point(hit, true);
    else this.choose((this.next = { p, r, c })); // beyond the window: the server sends the one around it
  }
}

export default function ({ data: style }) {
  (globalThis.explorerMatrix ??= Promise.withResolvers()).resolve((component) => {
    const parent = component.parentElement;
    if (!mounted.has(parent)) mounted.set(parent, new Matrix(parent));
    mounted.get(parent).show(component, style);
  });
}
