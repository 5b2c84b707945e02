// What can be switched off, and what became of a prediction.

const ACROSS = 32, SIDE = 14;  // neurons in a row, and a neuron's side

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector("#root"), ground = background(root), set = coloursOn(ground);
  root.style.setProperty("--hatch", set.hatch);
  root.style.setProperty("--raised", set.raised);
  root.style.setProperty("--third", set.third);
  const pick = (what) => setTriggerValue("pick", what);
  const flip = (one) => pick(`${one.off ? "on" : "off"}:${one.code}`);
  // By the root, so that small effects still show beside a large one.
  const shade = (effect) => diverging(ground, set, clamp(effect / (data.limit || 1), -1, 1));
  const css = (colour) => `rgb(${colour.map(Math.round)})`;
  const sentence = (one) => [one.said, one.off ? data.words.off : one.changed ? data.words.changed : "",
    one.number ? fill(data.words.effect, { n: one.number }) : ""].filter(Boolean).join(" · ");

  function button(one, className) {
    const made = element("button", className);
    made.type = "button";
    if (one.off) made.classList.add("off");
    if (one.changed) made.classList.add("changed");
    if (one.code === data.chosen) made.classList.add("chosen");
    made.setAttribute("aria-pressed", String(one.off));
    made.title = made.ariaLabel = sentence(one);
    made.onclick = () => flip(one);
    made.append(element("span", "name", one.label));
    return made;
  }

  function place(one) {
    const made = button(one, "switch");
    made.append(element("span", "number", one.number));
    if (one.effect !== null) {
      const colour = shade(one.effect);
      made.style.background = css(colour);
      made.style.color = inkOn(colour);
    }
    return made;
  }

  function model() {
    return data.lanes.map((lane) => {
      const row = element("div", "lane"), layers = element("div", "layers");
      for (const layer of lane.layers) {
        const block = element("div", "layer"), subs = element("div", "subs");
        block.append(element("div", "title", layer.name), subs);
        for (const sub of layer.subs) {
          const hung = element("div", sub.heads.length ? "sub heads" : "sub");
          hung.append(place(sub));
          if (sub.heads.length) {
            const grid = element("div", "grid");
            grid.style.setProperty("--across", String(Math.min(4, sub.heads.length)));
            grid.append(...sub.heads.map(place));
            hung.append(grid);
          }
          subs.append(hung);
        }
        layers.append(block);
      }
      row.append(button(lane, "stack"), layers);
      return row;
    });
  }

  function neurons() {
    const box = element("div", "neurons"), svg = document.createElementNS(NS, "svg");
    const rows = Math.ceil(data.neurons.length / ACROSS);
    svg.setAttribute("viewBox", `-1 -1 ${ACROSS * SIDE + 2} ${rows * SIDE + 2}`);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", data.alt);
    svg.tabIndex = 0;
    const cells = data.neurons.map((one, n) => {
      const cell = document.createElementNS(NS, "rect"), told = document.createElementNS(NS, "title");
      for (const [name, value] of Object.entries({ x: (n % ACROSS) * SIDE, y: Math.floor(n / ACROSS) * SIDE,
        width: SIDE - 1, height: SIDE - 1, rx: 1.5 })) cell.setAttribute(name, value);
      cell.setAttribute("fill", one.off ? "none" : one.effect === null ? "var(--st-secondary-background-color)" : css(shade(one.effect)));
      if (one.off) cell.setAttribute("stroke", "var(--st-text-color)");
      else if (one.changed) cell.setAttribute("stroke", "var(--st-violet-color)");
      if (one.off) cell.setAttribute("stroke-dasharray", "2 2");
      told.textContent = sentence(one);
      cell.append(told);
      cell.onclick = () => flip(one);
      return cell;
    });
    const ring = document.createElementNS(NS, "rect");
    for (const [name, value] of Object.entries({ width: SIDE, height: SIDE, fill: "none", "pointer-events": "none",
      "stroke-width": 2, stroke: "var(--st-text-color)" })) ring.setAttribute(name, value);
    let at = Math.max(0, data.neurons.findIndex((one) => one.code === data.chosen));
    const walk = (to) => {
      at = clamp(to, 0, cells.length - 1);
      ring.setAttribute("x", (at % ACROSS) * SIDE - 0.5);
      ring.setAttribute("y", Math.floor(at / ACROSS) * SIDE - 0.5);
      svg.setAttribute("aria-label", `${data.alt} ${sentence(data.neurons[at])}`);
    };
    if (data.neurons[at].code === data.chosen) walk(at);
    svg.onkeydown = (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -ACROSS, ArrowDown: ACROSS }[event.key];
      if (step) walk(at + step);
      else if (event.key === "Enter" || event.key === " ") flip(data.neurons[at]);
      else return;
      event.preventDefault();
    };
    svg.append(...cells, ring);
    const list = element("div", "list");
    list.append(...data.strongest.map((one) => {
      const made = button(one, "");
      made.append(element("span", "number", one.number));
      return made;
    }));
    box.append(svg, list);
    return [box];
  }

  function outcomes() {
    const table = element("div", "outcomes"), accent = css(set.weight[7]), pale = css(set.weight[3]);
    table.append(element("span"), element("span"), ...["before", "after", "moved"].map((name) => element("span", "top", data.words[name])));
    for (const row of data.rows) {
      const token = chip(row.chip, "button", row.id === data.chosen ? "now" : ""), pair = element("span", "pair");
      token.type = "button";
      token.setAttribute("aria-pressed", String(row.id === data.chosen));
      token.title = `${token.title} · ${data.words.choose}`;
      token.onclick = () => pick(row.id);
      for (const [share, colour] of [[row.before, pale], [row.after, accent]]) {
        const bar = element("i");
        bar.style.width = `${100 * share}%`;
        bar.style.background = colour;
        pair.append(bar);
      }
      table.append(token, pair, element("span", "figure", row.before_said), element("span", "figure strong", row.after_said),
        element("span", "figure", row.moved));
    }
    return [table];
  }

  function stages() {
    const table = element("div", "stages"), wide = data.columns.length <= 16;
    table.style.setProperty("--columns", String(data.columns.length));
    table.classList.toggle("narrow", !wide);
    table.append(element("span", "side"));
    for (const column of data.columns) {
      const top = element("span", "above");
      top.append(chip(column.chip, "span", column.at === data.focus ? "now" : ""));
      table.append(top);
    }
    data.rows.forEach((row, r) => {
      table.append(element("span", "side", data.names[r]));
      row.forEach((found, c) => {
        const column = data.columns[c], cell = element("button", "cell");
        cell.type = "button";
        cell.title = cell.ariaLabel = `${data.names[r]}, ${column.chip.text} (${column.at}): ${found ? found[1] : data.words.untried}`;
        cell.onclick = () => pick(`${r},${column.at}`);
        if (found) {
          const share = found[0] / (data.limit || 1), least = set.weight[0].map((part, at) => (share ? part : ground[at]));
          const colour = data.share ? (share ? ramp(set.weight, clamp(share, 0, 1)) : least) : shade(found[0]);
          cell.style.background = css(colour);
          cell.style.color = inkOn(colour);
          if (wide) cell.textContent = found[1];
        } else cell.classList.add("untried");
        table.append(cell);
      });
    });
    const frame = element("div", "frame");
    frame.append(table);
    return [frame];
  }

  refocused(root, () => root.replaceChildren(...{ model, neurons, outcomes, stages }[data.kind]()));
}
