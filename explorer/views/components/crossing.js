// Two texts and the curves between them, or a table of what is looked at and what is needed. See crossing.py.
const weight = (n) => (n >= 1000 ? "1" : (n / 1000).toFixed(2).slice(1));
const share = (n) => (n / 1000).toFixed(2);

/** A chip whose tooltip is its text; as a button it is reached by the arrow keys. */
function named(token, tag, more) {
  const made = chip(token, tag, more);
  made.title = "·".repeat(token.spaces) + token.text;
  if (tag === "button") { made.type = "button"; made.tabIndex = -1; }
  return made;
}

class Crossing {
  constructor(root) {
    this.root = root;
    this.stage = element("div", "stage");
    this.stage.setAttribute("role", "group");
    this.svg = document.createElementNS(NS, "svg");
    this.notes = element("div", "notes");
    this.live = element("div", "live");
    this.live.setAttribute("aria-live", "polite");
    root.replaceChildren(this.stage, this.notes, this.live);
    this.stage.onkeydown = (event) => this.walk(event);
    this.watch = new ResizeObserver(() => this.data && root.clientWidth !== this.width && this.draw());
    this.watch.observe(root);
  }

  show(data, send) {
    this.data = data;
    this.send = send;
    this.at ??= ["target", data.focus];
    this.stage.setAttribute("aria-label", data.words.name);
    this.notes.replaceChildren(...data.words.notes.map((note) => element("div", "", note)));
    this.draw();
  }

  draw() {
    const { data } = this, width = this.root.clientWidth;
    if (!width) return;
    this.width = width;
    const held = this.stage.contains(this.root.getRootNode().activeElement);
    this.over = null;
    this.stage.replaceChildren(this.svg);
    this.chips = { source: [], target: [] };
    const make = (side, token, i) => {
      const chosen = side === "source" ? data.first[0] + i === data.chosen : i === data.focus;
      const made = named(token, "button", chosen ? (side === "source" ? "chosen" : "focus") : "");
      made.setAttribute("aria-pressed", String(chosen));
      made.title += `\n${side === "source" ? data.words.hint : data.words.looks}`;
      made.onclick = () => this.send(side, data.first[side === "source" ? 0 : 1] + i);
      made.onpointerenter = () => this.point([side, i]);
      made.onpointerleave = () => this.point(null);
      made.onfocus = () => { this.at = [side, i]; this.point([side, i], true); };
      made.onblur = () => this.point(null);
      this.stage.append(made);
      this.chips[side].push(made);
      return made;
    };
    const source = data.source.map((token, i) => make("source", token, i));
    const target = data.target.map((token, i) => make("target", token, i));
    const out = data.expected.map((token) => this.stage.appendChild(named(token, "span", "out")));
    const wide = (all) => all.map((one) => Math.ceil(one.offsetWidth));
    const pairs = wide(target).map((size, i) => Math.max(size, wide([out[i]])[0]));
    const gutter = 84, room = width - gutter, sum = (sizes) => sizes.reduce((one, other) => one + other, 0);
    const fits = (sizes) => sum(sizes) + 4 * (sizes.length - 1) <= room;
    const upright = !(fits(wide(source)) && fits(pairs));
    this.stage.classList.toggle("upright", upright);
    if (upright) this.upright(source, target, out, width);
    else this.level(source, target, out, wide(source), pairs, gutter, room);
    this.curves();
    const [side, i] = this.at, tab = this.chips[side][Math.min(i, this.chips[side].length - 1)] ?? target[data.focus];
    tab.tabIndex = 0;
    if (held) tab.focus();
    else this.point(null);
  }

  text(words, x, y, kind = "") {
    const made = element("span", `word ${kind}`, words);
    made.style.left = `${x}px`;
    made.style.top = `${y}px`;
    this.stage.append(made);
    return made;
  }

  /** Source above, target below, what is predicted under it. */
  level(source, target, out, sources, pairs, gutter, room) {
    const { words, shares } = this.data, top = 20, low = top + 22 + 170;
    const total = (sizes) => sizes.reduce((one, other) => one + other, 0);
    const full = Math.min(room, Math.max(total(sources) + 60 * (sources.length - 1), total(pairs) + 60 * (pairs.length - 1)));
    const place = (sizes) => {
      const gap = sizes.length > 1 ? Math.min(96, (full - total(sizes)) / (sizes.length - 1)) : 0;
      let x = gutter + (full - total(sizes) - gap * (sizes.length - 1)) / 2;
      return sizes.map((size) => { const at = x + size / 2; x += size + gap; return at; });
    };
    const [above, below] = [place(sources), place(pairs)];
    source.forEach((one, i) => { one.style.left = `${above[i] - sources[i] / 2}px`; one.style.top = `${top}px`; });
    target.forEach((one, i) => { one.style.left = `${below[i] - one.offsetWidth / 2}px`; one.style.top = `${low}px`; });
    out.forEach((one, i) => {
      one.style.left = `${below[i] - one.offsetWidth / 2}px`;
      one.style.top = `${low + 38}px`;
      this.text("↓", below[i], low + 22, "middle small");
      this.text(share(shares[i]), below[i], low + 59, "middle small");
    });
    this.text(words.source, 0, top + 3);
    this.text(words.in, 0, low + 3);
    this.text(words.out, 0, low + 41);
    this.ends = {
      source: above.map((x) => [x, top + 22]), target: below.map((x) => [x, low]),
      figures: { source: above.map((x) => [x, top - 18, "middle"]), target: below.map((x) => [x, low - 18, "middle"]) },
    };
    this.bend = ([x, y], [u, v]) => `M${u} ${v}C${u} ${v - 75} ${x} ${y + 95} ${x} ${y}`;
    this.size(low + 76);
  }

  /** Source at the left, target and what is predicted at the right, where there is too little width. */
  upright(source, target, out, width) {
    const { words, shares } = this.data, pitch = 27, top = 22;
    const tall = Math.max(source.length, target.length) * pitch; // the shorter text is spread, up to twice the pitch
    const [apart, spread] = [source, target].map((all) => clamp(tall / all.length, pitch, 2 * pitch));
    const right = Math.max(...target.map((one) => one.offsetWidth)), last = Math.max(...out.map((one) => one.offsetWidth));
    const left = Math.max(...source.map((one) => one.offsetWidth)), end = Math.min(width, 860), x = end - right - last - 46;
    const [above, below] = [(i) => top + i * apart, (i) => top + i * spread];
    source.forEach((one, i) => { one.style.left = `${left - one.offsetWidth}px`; one.style.top = `${above(i)}px`; });
    target.forEach((one, i) => { one.style.left = `${x}px`; one.style.top = `${below(i)}px`; });
    out.forEach((one, i) => {
      this.text("→", x + right + 3, below(i) + 3, "small");
      one.style.left = `${x + right + 16}px`;
      one.style.top = `${below(i)}px`;
      this.text(share(shares[i]), end - 24, below(i) + 3, "small");
    });
    this.text(words.source, 0, 0);
    this.text(words.in, x, 0);
    this.text(words.out, x + right + 19, 0);
    this.ends = {
      source: source.map((_, i) => [left, above(i) + 11]), target: target.map((_, i) => [x, below(i) + 11]),
      figures: {
        source: source.map((_, i) => [left + 4, above(i) - 3, ""]), target: target.map((_, i) => [x - 20, below(i) - 3, ""]),
      },
    };
    this.bend = ([a, b], [u, v]) => `M${u} ${v}C${u - (u - a) * 0.45} ${v} ${a + (u - a) * 0.45} ${b} ${a} ${b}`;
    this.size(top + tall);
  }

  size(height) {
    this.stage.style.height = `${height}px`;
    this.svg.setAttribute("width", this.width);
    this.svg.setAttribute("height", height);
  }

  curves() {
    const { weights, least } = this.data;
    this.lines = [];
    weights.forEach((row, r) => row.forEach((n, c) => {
      if (n < least) return;
      const line = document.createElementNS(NS, "path");
      line.setAttribute("d", this.bend(this.ends.source[c], this.ends.target[r]));
      line.setAttribute("stroke-width", 0.8 + (7.2 * n) / 1000);
      this.lines.push({ line, r, c, n });
    }));
    this.lines.sort((one, other) => (one.r === this.data.focus) - (other.r === this.data.focus));
    this.svg.replaceChildren(...this.lines.map((one) => one.line));
  }

  /** Light up the curves of one token, or of the one in focus, and write their weights at the other ends. */
  point(over, spoken = false) {
    const { data } = this, [side, i] = over ?? ["target", data.focus];
    this.over = over;
    for (const { line, r, c, n } of this.lines) {
      const mine = side === "target" ? r === i : c === i;
      line.setAttribute("stroke", mine ? "var(--st-violet-color)" : "var(--plum)");
      line.setAttribute("stroke-opacity", mine ? 0.9 : over ? 0.08 : 0.14 + (0.3 * n) / 1000);
    }
    this.written?.forEach((one) => one.remove());
    const other = side === "target" ? "source" : "target";
    const row = side === "target" ? data.weights[i] : data.weights.map((weights) => weights[i]);
    this.written = row.flatMap((n, at) => {
      if (n < data.least) return [];
      const [x, y, kind] = this.ends.figures[other][at];
      return [this.text(weight(n), x, y, `${kind} small strong`)];
    });
    if (!spoken) return;
    const name = (where, at) => (where === "source" ? data.source : data.target)[at].text;
    const best = row.map((n, at) => [n, at]).sort((one, two) => two[0] - one[0]).slice(0, 4);
    const said = best.map(([n, at]) => `${name(other, at)} ${share(n)}`).join(", ");
    this.live.textContent = `${name(side, i)}: ${side === "target" ? data.words.looks : data.words.looked}: ${said}`;
  }

  walk(event) {
    const [side, i] = this.at, chips = this.chips[side];
    if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      const to = event.key === "ArrowUp" ? "source" : "target";
      const next = this.chips[to][clamp(i, 0, this.chips[to].length - 1)];
      event.preventDefault();
      this.move(next);
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      event.preventDefault();
      this.move(chips[clamp(i + (event.key === "ArrowLeft" ? -1 : 1), 0, chips.length - 1)]);
    } else if (event.key === "Escape") this.root.getRootNode().activeElement?.blur();
  }

  move(next) {
    for (const one of [...this.chips.source, ...this.chips.target]) one.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
}

function needs(data, root, send) {
  const { words } = data, sheet = element("table"), frame = element("div", "frame"), head = element("tr");
  for (const name of ["source", "weight", "hidden", "unread"]) head.append(element("th", "", words[name]));
  const usual = element("tr", "usual"), said = element("td");
  said.colSpan = 2;
  said.append(`${words.everything} `, named(data.expected, "span"));
  usual.append(said);
  const bar = (n, kind, full) => {
    const made = element("span", `bar ${kind}`);
    made.style.width = `${(n / 1000) * full}px`;
    return made;
  };
  for (let i = 0; i < 2; i++) {
    const cell = element("td");
    cell.append(bar(data.usual, "kept", 120), element("span", "figure", share(data.usual)));
    usual.append(cell);
  }
  const largest = Math.max(...data.rows.map((row) => row.weight));
  const rows = data.rows.map((row) => {
    const line = element("tr", `row${row.weight === largest ? " most" : ""}${row.position === data.chosen ? " chosen" : ""}`);
    const name = element("td"), button = named(row.chip, "button");
    button.tabIndex = 0;
    button.setAttribute("aria-pressed", String(row.position === data.chosen));
    name.append(button);
    const looked = element("td");
    looked.append(bar(row.weight, "looked", 160), element("span", "figure", share(row.weight)));
    line.append(name, looked);
    for (const kind of ["hidden", "unread"]) {
      const cell = element("td"), n = row[kind];
      cell.append(bar(n, "kept", 120));
      if (n < data.usual) cell.append(bar(data.usual - n, "gone", 120));
      cell.append(element("span", "", share(n)));
      if (kind === "hidden" && row.instead) cell.append(` ${words.instead} `, named(row.instead, "span"));
      line.append(cell);
    }
    line.onclick = () => send("source", row.position);
    return line;
  });
  sheet.setAttribute("aria-label", words.needs);
  sheet.append(head, usual, ...rows);
  frame.append(sheet);
  root.replaceChildren(frame);
}

const drawn = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector("#root");
  markDark(root);
  released(root, () => {
    if (data.kind === "needs") { needs(data, root, setTriggerValue); return; }
    if (!drawn.has(root)) drawn.set(root, new Crossing(root));
    drawn.get(root).show(data, setTriggerValue);
  });
}
