const KINDS = { output, curve, lens, differences: lens, parts, each };

function button(className, text, label, on) {
  const made = element("button", className, text);
  made.type = "button";
  if (label) made.setAttribute("aria-label", label);
  made.onclick = on;
  return made;
}

/** The last vector against the rows of E: logits, probabilities, and the chances of the draw. */
function output(data, root, send, colours, tip) {
  const words = data.words, grid = element("div", "output");
  const open = (kind, id, at) => send("cell", { kind, id, at });
  const vector = (kind, numbers, limit, name, id) =>
    strip(numbers, limit, colours, name, (event, at) => tip(event, event && `${name}[${at}]`, event && fixed(numbers[at], 3)),
      (at) => open(kind, id, at));
  const head = element("div", "line head"), token = chip(data.token);
  token.classList.add("focus");
  const over = element("span", "second small", words.probability), draw = element("span", "second small", words.draw);
  head.append(token, vector("x", data.x, data.limits.x, data.symbol), formula("ℓ"), over, draw);
  grid.append(head);
  for (const row of data.rows) {
    const on = row.chip.id === data.chosen, line = element("div", on ? "line on" : "line");
    const name = chip(row.chip, "button");
    name.type = "button";
    name.setAttribute("aria-pressed", String(on));
    name.onclick = () => send("token", row.chip.id);
    line.append(name, vector("e", row.e, data.limits.e, `E ${row.chip.id} `, row.chip.id));
    line.append(button("number", fixed(row.logit), `logit ${row.chip.id}`, () => open("logit", row.chip.id)));
    line.append(measure(row.share, row.said, "first", () => open("probability", row.chip.id)), measure(row.drawn, row.kept ? row.drawn_said : words.filtered, row.kept ? "drawn" : "gone"));
    grid.append(line);
  }
  const rest = element("div", "line rest");
  rest.append(element("span", "second", words.others), element("span"), element("span"), measure(data.others.share, data.others.said, "other"), measure(data.others.drawn, data.others.drawn_said, "drawn"));
  grid.append(rest);
  root.prepend(grid);
}

function measure(share, said, kind, on) {
  const track = element(on ? "button" : "span", `measure ${kind}`), bar = element("i");
  if (on) { track.type = "button"; track.onclick = on; }
  bar.style.width = `calc((100% - 62px) * ${share})`;
  track.append(bar, element("span", "", said));
  return track;
}

/** The whole vocabulary, likeliest first, on a scale of doubling ranks: how much the first n tokens have together. */
function curve(data, root, send, colours, tip) {
  const width = 420, height = 196, left = 34, right = 8, top = 12, bottom = 162, svg = document.createElementNS(NS, "svg");
  const words = data.words, last = Math.log(data.size), x = (rank) => left + (Math.log(rank) / last) * (width - left - right);
  const y = (share) => bottom - share * (bottom - top);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", data.alt);
  const kept = data.points.filter(([rank]) => rank <= data.kept), all = data.points;
  const path = (points) => points.map(([rank, share]) => `${x(rank).toFixed(1)} ${y(share).toFixed(1)}`).join("L");
  drawn(svg, "path", { d: `M${x(1)} ${y(0)}L${path(kept)}L${x(kept.at(-1)[0])} ${y(0)}Z`, class: "kept" });
  drawn(svg, "path", { d: `M${path(all)}`, class: "sum" });
  for (const share of [0, 0.5, 1]) {
    drawn(svg, "path", { d: `M${left} ${y(share)}H${width - right}`, class: "axis" });
    drawn(svg, "text", { x: left - 5, y: y(share) + 4, class: "tick end" }, `${share * 100} %`);
  }
  for (const rank of [1, 10, 100, 1000, data.size]) {
    if (rank === 1000 && data.size < 4000) continue;
    const end = rank === data.size;
    if (rank <= data.size) drawn(svg, "text", { x: x(rank), y: bottom + 15, class: end ? "tick end" : "tick middle" }, rank.toLocaleString("en"));
  }
  drawn(svg, "text", { x: (left + width) / 2, y: bottom + 31, class: "tick middle" }, words.rank);
  for (const [rank, name] of data.marks) {
    drawn(svg, "path", { d: `M${x(rank)} ${y(0)}V${y(1) - 6}`, class: "mark" });
    drawn(svg, "text", { x: x(rank) + (rank > 60 ? -4 : 4), y: name === "top-k" ? y(0.12) : y(0.04), class: rank > 60 ? "tick end" : "tick" }, name);
  }
  svg.onpointermove = (event) => {
    const box = svg.getBoundingClientRect(), at = ((event.clientX - box.left) / box.width) * width;
    const rank = Math.exp(((at - left) / (width - left - right)) * last);
    const point = all.reduce((best, one) => (Math.abs(Math.log(one[0] / rank)) < Math.abs(Math.log(best[0] / rank)) ? one : best));
    tip(event, fill(words.first, { n: point[0] }), `${fixed(point[1] * 100, 1)} %`);
  };
  svg.onpointerleave = () => tip(null);
  const figure = element("div", "curve");
  figure.append(svg);
  root.prepend(figure);
}

/** Stages by positions: what each would say, with the rank of the token that is first in the end; or differences. */
function lens(data, root, send, colours, tip) {
  const words = data.words, frame = element("div", "lens"), table = element("table"), head = element("tr");
  head.append(element("th", "", words.stage));
  for (const one of data.columns) {
    const cell = element("th"), name = chip(one.chip, "button");
    name.type = "button";
    if (one.at === data.focus) name.classList.add("focus");
    name.onclick = () => send("focus", one.at);
    cell.append(name);
    head.append(cell);
  }
  if (data.final) {
    const last = element("th", "rank", words.rank_of);
    last.append(chip(data.final));
    head.append(last);
  }
  table.append(head);
  const longest = Math.log(data.size);
  data.rows.forEach((row) => {
    const line = element("tr");
    line.append(element("th", "", row.name));
    row.cells.forEach((cell, at) => {
      const box = element("td", data.columns[at].at === data.focus ? "here" : ""), text = cell.text ?? "·".repeat(cell.chip.spaces) + cell.chip.text;
      const inside = element("button", "guess", text);
      inside.type = "button";
      inside.style.setProperty("--share", `${Math.round(100 * Math.sqrt(cell.share))}%`);
      inside.classList.toggle("strong", cell.share > 0.45);
      inside.onpointermove = (event) => tip(event, `${row.name}, ${data.columns[at].chip.text}: ${cell.chip ? text : ""}`, cell.said);
      inside.onpointerleave = () => tip(null);
      inside.onclick = () => send("stage", [row.stage, data.columns[at].at]);
      box.append(inside);
      line.append(box);
    });
    if (!data.final) { table.append(line); return; }
    const rank = element("td", "rank"), dot = element("i"), said = element("span", "", row.rank.toLocaleString("en"));
    dot.style.left = said.style.left = `calc((100% - 64px) * ${Math.log(row.rank) / longest} + 8px)`;
    rank.append(dot, said);
    line.append(rank);
    table.append(line);
  });
  frame.append(table);
  root.prepend(frame);
  const here = table.querySelector(".here");
  if (here) frame.scrollLeft = here.offsetLeft - frame.clientWidth / 2;
}

/** Signed parts that add up. */
function parts(data, root, send, colours, tip) {
  const list = element("div", "parts"), values = data.rows.map((row) => row.value);
  const below = Math.min(0, ...values), span = Math.max(Math.max(0, ...values) - below, 1e-9);
  const size = Math.max(...values.map(Math.abs), 1e-9);
  for (const row of data.rows) {
    const line = element("div", `part ${row.kind}`);
    const name = row.path ? button("name", row.name, "", () => send("part", row.number)) : element("span", "name", row.name);
    const track = element("span", "track"), bar = element("i"), said = element("span", "said", signed(row.value, 3));
    const from = (Math.min(0, row.value) - below) / span, wide = Math.abs(row.value) / span;
    bar.style.left = `calc((100% - 116px) * ${from} + 58px)`;
    bar.style.width = `max(1.5px, calc((100% - 116px) * ${wide}))`;
    bar.style.background = row.kind === "rest" ? "var(--st-gray-color)" : colours.css((Math.sign(row.value) * (0.45 + (0.4 * Math.abs(row.value)) / size)));
    said.style.left = row.value < 0 ? `calc((100% - 116px) * ${from} + 2px)` : `calc((100% - 116px) * ${from + wide} + 64px)`;
    if (row.value < 0) said.classList.add("before");
    track.append(bar, said);
    line.append(name, track);
    list.append(line);
  }
  const total = element("div", "part total");
  total.append(element("b", "name", data.total_name), element("b", "", data.total));
  list.append(total);
  root.prepend(list);
}

/** A line for each position: what goes in, what really followed (or stood there), and the chance it was given. */
function each(data, root, send) {
  const list = element("div", "each"), words = data.words, head = element("div", "line head");
  for (const name of [words.reads, words.follows, words.chance, words.guess]) head.append(element("span", "second small", name));
  list.append(head);
  for (const row of data.rows) {
    const line = element("div", row.at === data.focus ? "line on" : "line"), from = chip(row.from, "button");
    from.type = "button";
    if (row.at === data.focus) from.classList.add("focus");
    from.onclick = () => send("focus", row.at);
    line.append(from, row.to ? chip(row.to) : element("span", "second", "?"), row.to ? measure(row.share, row.said, row.right ? "first" : "drawn") : element("span", "second small", words.use), chip(row.best));
    list.append(line);
  }
  root.prepend(list);
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector("#root");
  refocused(root, () => {
    root.replaceChildren();
    KINDS[data.kind](data, root, setTriggerValue, theme(root), tooltip(root));
  });
}
