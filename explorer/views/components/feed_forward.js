const GATES = { gelu: (h) => h * normal(h), relu: (h) => Math.max(0, h) };
const observers = new WeakMap();

/** The share of a normal distribution under h, to 1e-7 (Abramowitz and Stegun 7.1.26): for the curve, not for a number. */
function normal(h) {
  const t = 1 / (1 + (0.3275911 * Math.abs(h)) / Math.SQRT2);
  const tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const erf = 1 - tail * Math.exp((-h * h) / 2);
  return h < 0 ? (1 - erf) / 2 : (1 + erf) / 2;
}

function heading(number, title, text, under) {
  const made = element("div", "step");
  const line = element("div", "title");
  line.append(element("i", "", String(number)), element("b", "", title));
  made.append(line, formula(text), element("p", "", under));
  return made;
}

function numberButton(text, label, on) {
  const made = element("button", "number", text);
  made.type = "button";
  made.setAttribute("aria-label", label);
  made.onclick = on;
  return made;
}

function plot(data, words, tip, pick) {
  const width = 264, top = 14, zero = 206, bottom = 214, base = 286, svg = document.createElementNS(NS, "svg");
  const gate = GATES[data.gate], least = Math.min(-1, ...data.hidden) - 0.2, most = Math.max(1, ...data.hidden) + 0.3;
  const x = (h) => 4 + ((h - least) / (most - least)) * (width - 8);
  const tall = Math.max(...data.activated, 1);
  const y = (g) => zero - (g / tall) * (zero - top - 10);
  svg.setAttribute("viewBox", `0 0 ${width} 308`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", fill(words.gate_alt, { n: data.open, all: data.hidden.length }));
  drawn(svg, "path", { d: `M0 ${y(0)}H${width}M${x(0)} ${top}V${bottom + 12}`, class: "axis" });
  const step = most - least > 9 ? 2 : 1;
  for (let h = Math.ceil(least / step) * step; h < most; h += step) {
    if (h) drawn(svg, "text", { x: x(h), y: bottom + 22, class: "tick middle" }, minus(String(h)));
  }
  drawn(svg, "text", { x: width - 2, y: y(0) - 6, class: "letter end" }, "h");
  drawn(svg, "text", { x: x(0) + 6, y: top + 4, class: "letter" }, "g");
  const points = Array.from({ length: 161 }, (_, i) => least + ((most - least) * i) / 160).filter((h) => y(gate(h)) > 2);
  if (data.gate !== data.own) {
    const old = points.map((h) => `${x(h).toFixed(1)} ${y(GATES[data.own](h)).toFixed(1)}`);
    drawn(svg, "path", { d: `M${old.join("L")}`, class: "curve before" });
  }
  drawn(svg, "path", { d: `M${points.map((h) => `${x(h).toFixed(1)} ${y(gate(h)).toFixed(1)}`).join("L")}`, class: "curve" });
  const listed = new Map(data.rows.map((row, place) => [row.n, place]));
  const order = data.hidden.map((_, n) => n).sort((a, b) => (listed.get(b) ?? 1e3) - (listed.get(a) ?? 1e3));
  const dots = new Map();
  let chosen = null, labels = [];
  for (const n of order) {
    const kind = n === data.chosen ? "chosen" : listed.has(n) ? "listed" : "";
    const at = [x(data.hidden[n]), y(data.activated[n])];
    const dot = drawn(svg, "circle", { cx: at[0], cy: at[1], r: n === data.chosen ? 7 : kind ? 5 : 2.2, class: `dot ${kind}` });
    dot.onpointermove = (event) => tip(event, `#${n}  h = ${fixed(data.hidden[n], 3)}`, `g = ${fixed(data.activated[n], 3)}`);
    dot.onpointerleave = () => tip(null);
    dot.onclick = () => pick(n);
    dots.set(n, dot);
    if (kind) labels.push([n, at]);
    if (n === data.chosen) chosen = dot;
  }
  // By keys from neuron to neuron in the order of h, as they stand from left to right.
  const walk = [...dots.keys()].sort((a, b) => data.hidden[a] - data.hidden[b]);
  let place = Math.max(0, walk.indexOf(data.chosen));
  svg.setAttribute("tabindex", "0");
  svg.onblur = () => { tip(null); dots.get(walk[place]).classList.remove("walked"); };
  svg.onkeydown = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageDown: -20, PageUp: 20, Home: -walk.length, End: walk.length }[event.key];
    if (event.key === "Enter") pick(walk[place]);
    else if (event.key === "Escape") tip(null);
    else if (step) {
      dots.get(walk[place]).classList.remove("walked");
      place = clamp(place + step, 0, walk.length - 1);
      const n = walk[place], dot = dots.get(n), box = dot.getBoundingClientRect();
      dot.classList.add("walked");
      dot.onpointermove({ clientX: box.right, clientY: box.top });
      svg.setAttribute("aria-label", `#${n}: h ${fixed(data.hidden[n], 3)}, g ${fixed(data.activated[n], 3)}`);
    } else return;
    event.preventDefault();
  };
  let last = -99;
  for (const [n, at] of labels.sort((a, b) => (b[0] === data.chosen) - (a[0] === data.chosen) || a[1][1] - b[1][1])) {
    if (at[0] < 48 || (Math.abs(at[1] - last) < 13 && n !== data.chosen) || data.activated[n] < 0.05 * tall) continue;
    if (n !== data.chosen && chosen && Math.abs(at[1] - chosen.getAttribute("cy")) < 13) continue;
    drawn(svg, "text", { x: at[0] - 10, y: at[1] - 3, class: `tick end${n === data.chosen ? " strong" : ""}` }, `#${n}`);
    if (n !== data.chosen) last = at[1];
  }
  const count = 40, bins = new Array(count).fill(0);
  for (const h of data.hidden) bins[Math.min(count - 1, Math.floor(((h - least) / (most - least)) * count))]++;
  const highest = Math.max(...bins);
  bins.forEach((number, at) => {
    const high = (number / highest) * 40;
    if (number) drawn(svg, "rect", { x: 4 + (at * (width - 8)) / count, y: base - high, width: (width - 8) / count - 1, height: high, class: "bin" });
  });
  drawn(svg, "text", { x: 4, y: base + 16, class: "tick" }, fill(words.shut, { n: data.hidden.length - data.open }));
  drawn(svg, "text", { x: width - 4, y: base + 16, class: "tick end" }, fill(words.open, { n: data.open, all: data.hidden.length }));
  return { svg, chosen };
}

function layer(data, root, send) {
  const words = data.words, colours = theme(root), tip = tooltip(root), three = element("div", "three");
  const pick = (n) => send("neuron", n), open = (kind, neuron, at) => send("cell", { kind, neuron, at });
  const vector = (kind, numbers, limit, name, neuron) =>
    strip(numbers, limit, colours, name, (event, at) => tip(event, event && `${name}[${at}]`, event && fixed(numbers[at], 3)),
      (at) => open(kind, neuron, at));
  const probe = element("section"), gate = element("section"), compose = element("section");
  probe.append(heading(1, words.probe, `h = W_1 ${data.symbol} + b_1`, fill(words.probe_under, { n: data.hidden.length })));
  const entrance = element("div", "row first");
  const token = chip(data.token);
  token.classList.add("focus");
  entrance.append(token, vector("x", data.x, data.limits.x, data.symbol), element("span", "number second small", words.cosine), formula("h"));
  probe.append(entrance);
  compose.append(heading(3, words.compose, "f = W_2 g + b_2", words.compose_under));
  const top = element("div", "row first");
  const over = element("span", "over small second");
  over.append(data.target ? words.to_logit : words.writes);
  if (data.target) over.append(chip(data.target));
  top.append(formula("g"), element("span"), element("span"), over);
  compose.append(top);
  const reach = Math.max(...data.rows.map((row) => Math.abs(row.push)), 1e-9), below = Math.min(0, ...data.rows.map((row) => row.push));
  const above = Math.max(0, ...data.rows.map((row) => row.push)), span = Math.max(above - below, 1e-9);
  let left = null, right = null;
  for (const row of data.rows) {
    const on = row.n === data.chosen, one = element("div", on ? "row on" : "row"), other = element("div", on ? "row on" : "row");
    const name = element("button", "name", `#${row.n}`);
    name.type = "button";
    name.setAttribute("aria-pressed", String(on));
    name.onclick = () => pick(row.n);
    const press = (event) => { if (event.target === one || event.target === other || event.target.tagName === "SPAN") pick(row.n); };
    one.append(name, vector("w_1", row.w_1, data.limits.w_1, `W₁ #${row.n} `, row.n), element("span", "number second small", fixed(row.cosine)),
      numberButton(signed(row.h), `h ${row.n}`, () => open("hidden", row.n)));
    const track = element("span", "track"), bar = element("span", "bar");
    const from = (Math.min(0, row.push) - below) / span, size = Math.abs(row.push) / span;
    bar.style.left = `calc((100% - 92px) * ${from} + 46px)`;
    bar.style.width = `max(1.5px, calc((100% - 92px) * ${size}))`;
    bar.style.background = data.target ? colours.css((Math.sign(row.push) * (0.45 + 0.4 * Math.abs(row.push))) / reach) : "var(--plum)";
    const said = element("span", on ? "said strong" : "said", data.target ? signed(row.push) : fixed(row.push));
    const end = row.push < 0 ? from : from + size;
    said.style.left = `calc((100% - 92px) * ${end} + ${row.push < 0 ? 0 : 52}px)`;
    if (row.push < 0) said.classList.add("before");
    track.append(bar, said);
    other.append(numberButton(fixed(row.g), `g ${row.n}`, () => open("activated", row.n)), element("span", "second", "×"),
      vector("w_2", row.w_2, data.limits.w_2, `W₂ #${row.n} `, row.n), track);
    one.onclick = other.onclick = press;
    probe.append(one);
    compose.append(other);
    if (on) [left, right] = [one, other];
  }
  probe.append(element("p", "more", fill(words.more, { n: data.hidden.length - data.rows.length })));
  const all = element("div", "row all");
  const result = element("span", "framed");
  result.append(vector("output", data.output, data.limits.output, "f "));
  all.append(element("b", "whole", fill(words.all, { n: data.hidden.length })), result, element("b", "total", data.target ? signed(data.total) : fixed(data.total)));
  compose.append(all);
  gate.append(heading(2, words.gate, data.gate === "relu" ? "g = ~ReLU(~h~)~" : "g = ~GELU(~h~)~", words.gate_under));
  const ground = element("div", "ground"), picture = plot(data, words, tip, pick);
  ground.append(picture.svg);
  gate.append(ground);
  three.append(probe, gate, compose);
  const threads = document.createElementNS(NS, "svg");
  threads.setAttribute("class", "threads");
  threads.setAttribute("aria-hidden", "true");
  three.append(threads);
  root.prepend(three);

  function thread() {
    threads.replaceChildren();
    const box = three.getBoundingClientRect(), plotted = ground.getBoundingClientRect();
    if (box.width < 900 || !left || !picture.chosen) return;
    const dot = picture.chosen.getBoundingClientRect(), one = left.getBoundingClientRect(), two = right.getBoundingClientRect();
    const at = (x, y) => `${(x - box.left).toFixed(1)} ${(y - box.top).toFixed(1)}`;
    const y = one.top + one.height / 2, cx = dot.left + dot.width / 2, cy = dot.top + dot.height / 2, w = two.top + two.height / 2;
    drawn(threads, "path", { d: `M${at(one.right, y)}L${at(plotted.left, y)}` });
    drawn(threads, "path", { d: `M${at(plotted.left, y)}C${at((plotted.left + cx) / 2, y)} ${at((plotted.left + cx) / 2, cy)} ${at(dot.left - 1, cy)}`, class: "pale" });
    drawn(threads, "path", { d: `M${at(dot.right + 1, cy)}C${at((dot.right + two.left) / 2, cy)} ${at((dot.right + two.left) / 2, w)} ${at(two.left - 5, w)}` });
    drawn(threads, "path", { d: `M${at(two.left - 10, w - 4)}L${at(two.left - 4, w)}L${at(two.left - 10, w + 4)}` });
  }
  watch(root, thread);
}

/** Draw again when the width changes; one observer for each mounted picture. */
function watch(root, draw) {
  observers.get(root)?.disconnect();
  const observer = new ResizeObserver(draw);
  observer.observe(root);
  observers.set(root, observer);
}

function neuron(data, root, send) {
  const words = data.words, colours = theme(root), tip = tooltip(root), card = element("div", "card");
  const where = element("section", "where");
  where.append(element("h3", "", fill(words.neuron, { n: data.n })), element("code", "", `${data.path} · ${data.n}`), element("h4", "", words.here));
  const bars = element("div", "opens"), most = Math.max(...data.opens.map((one) => one.value), 0.05), least = Math.min(...data.opens.map((one) => one.value), 0);
  for (const one of data.opens) {
    const column = element("button", one.at === data.focus ? "column focus" : "column"), bar = element("i");
    column.type = "button";
    column.setAttribute("aria-label", `${one.chip.text} ${fixed(one.value, 3)}`);
    bar.style.height = `${Math.max(1, (72 * Math.abs(one.value)) / (most - least))}px`;
    bar.style.marginTop = `${(72 * (most - Math.max(0, one.value))) / (most - least)}px`;
    column.append(bar);
    const label = element("span", "", one.chip.text.length > 9 ? `${one.chip.text.slice(0, 8)}…` : one.chip.text);
    if (data.opens.length <= 24 || one.at === data.focus) column.append(label);
    column.onpointermove = (event) => tip(event, `${one.chip.text}`, `g = ${fixed(one.value, 3)}`);
    column.onpointerleave = () => tip(null);
    column.onclick = () => send("focus", one.at);
    bars.append(column);
  }
  where.append(bars);
  if (data.left_out) where.append(element("p", "", data.left_out));
  card.append(where);
  for (const [title, rows] of [[words.up, data.up], [words.down, data.down]]) {
    const part = element("section", "pushes"), size = Math.max(...rows.map((row) => Math.abs(row.value)), 1e-9);
    part.append(element("h4", "", title));
    for (const row of rows) {
      const line = element("div", "line"), track = element("span", "track"), bar = element("span", "bar");
      bar.style.width = `calc((100% - 52px) * ${Math.abs(row.value) / size})`;
      bar.style.background = colours.css((Math.sign(row.value) * (0.45 + (0.4 * Math.abs(row.value)) / size)));
      track.append(bar, element("span", "said", signed(row.value)));
      line.append(chip(row.chip), track);
      part.append(line);
    }
    card.append(part);
  }
  if (data.off) {
    const off = element("section", "off"), about = element("p");
    about.append(words.probability, chip(data.off.chip));
    off.append(element("h4", "", words.off), about);
    for (const [name, share, said, kind] of [[words.as_is, data.off.before, data.off.said[0], "before"], [words.without, data.off.after, data.off.said[1], "after"]]) {
      const track = element("span", "track"), bar = element("span", `bar ${kind}`);
      bar.style.width = `calc((100% - 62px) * ${share})`;
      track.append(bar, element("b", "said", said));
      off.append(element("p", "", name), track);
    }
    if (data.off.note) off.append(element("p", "note", data.off.note));
    card.append(off);
  }
  const texts = element("section", "texts");
  texts.append(element("h4", "", words.texts));
  const list = element("ol");
  for (const context of data.contexts) {
    const line = element("li"), text = element("span", "context"), token = element("mark", "", context.token);
    text.append(context.before, token, context.after);
    line.append(element("b", "", fixed(context.value)), text);
    list.append(line);
  }
  texts.append(list);
  if (data.contexts.length) card.append(texts);
  root.prepend(card);
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector("#root");
  refocused(root, () => {
    root.replaceChildren();
    (data.kind === "layer" ? layer : neuron)(data, root, setTriggerValue);
  });
}
