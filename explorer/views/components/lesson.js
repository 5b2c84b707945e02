const KINDS = { lesson, drift, batch };

/** A loss as a bar: full width is `most` nats. A button where `on` is given. */
function measured(loss, said, most, right, on, label) {
  const made = element(on ? "button" : "span", right ? "measure right" : "measure"), bar = element("i");
  if (on) { made.type = "button"; made.onclick = on; made.setAttribute("aria-label", label); }
  bar.style.width = `calc((100% - 38px) * ${Math.min(1, loss / most)})`;
  made.append(bar, element("span", "", said));
  return made;
}

/** A line for each position: what is read, what is asked for, and the loss. A shifted answer is the next line's input. */
function lesson(data, root, send) {
  const words = data.words, list = element("div", "lesson"), head = element("div", "line head");
  list.setAttribute("role", "group");
  list.setAttribute("aria-label", data.name);
  head.append(...[words.reads, "", words.asked, words.loss].map((text) => element("span", "second small", text)));
  list.append(head);
  data.rows.forEach((row, at) => {
    const line = element("div", at === data.chosen ? "line on" : "line"), read = chip(row.in), link = element("span", "link");
    if (at === data.focus) read.classList.add("focus");
    const asked = row.out !== null;
    if (asked) {
      const svg = drawn(link, "svg", { viewBox: "0 0 22 30", class: "way", "aria-hidden": "true" });
      drawn(svg, "path", { d: data.shifted ? "M21 15L1 45" : "M1 15H21" });
    }
    const open = fill(words.open, { token: asked ? row.out.text : "", n: at });
    line.append(read, link, asked ? chip(row.out) : element("span", "second", "–"));
    line.append(asked ? measured(row.loss, row.said, data.most, row.right, () => send("pick", at), open) : element("span", "second small", words.not_asked));
    list.append(line);
  });
  root.append(list);
  const on = list.querySelector(".on");
  if (on) list.scrollTop = Math.max(0, on.offsetTop - list.offsetTop - list.clientHeight / 2);
}

/** A line for each position: the right token, the guess after right tokens, and what the model wrote after its own. */
function drift(data, root) {
  const words = data.words, list = element("div", "drift"), head = element("div", "line head");
  list.setAttribute("role", "group");
  list.setAttribute("aria-label", data.name);
  head.append(...[words.truth, words.forced, words.own].map((text) => element("span", "second small", text)));
  list.append(head);
  data.rows.forEach((row, at) => {
    const line = element("div", at === data.apart ? "line apart" : "line");
    line.append(chip(row.answer));
    for (const one of [row.forced, row.own]) {
      const cell = element("span", "cell");
      if (one) cell.append(chip(one.chip, "span", one.right ? "" : "wrong"), measured(one.loss, one.said, data.most, one.right));
      else cell.append(element("span", "second small", words.ended));
      line.append(cell);
    }
    list.append(line);
  });
  root.append(list);
}

/** Rows of a batch: what goes in, what is asked for, the loss; padding hatched. */
function batch(data, root) {
  const words = data.words, frame = element("div", "batch"), table = element("table");
  frame.tabIndex = 0;
  frame.setAttribute("role", "group");
  frame.setAttribute("aria-label", data.name);
  for (const row of data.rows) {
    const body = element("tbody"), lines = row.read_only ? ["in"] : ["in", "out", "said"];
    const title = element("tr", "title"), name = element("th", "", row.name);
    name.colSpan = row.cells.length + 1;
    title.append(name);
    body.append(title);
    for (const part of lines) {
      const line = element("tr", part);
      line.append(element("th", "second small", { in: words.reads, out: words.asked, said: words.loss }[part]));
      for (const cell of row.cells) {
        const box = element("td", cell.pad ? "pad" : "");
        if (part === "in") box.append(chip(cell.in));
        else if (!cell.out) box.append(element("span", "second", part === "out" ? "–" : ""));
        else box.append(part === "out" ? chip(cell.out) : element("span", "", cell.said));
        if (cell.pad && part !== "in") box.title = words.ignored;
        line.append(box);
      }
      body.append(line);
    }
    table.append(body);
  }
  frame.append(table);
  root.append(frame);
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector("#root");
  markDark(root);
  refocused(root, () => {
    root.replaceChildren();
    KINDS[data.kind](data, root, setTriggerValue);
  });
}
