// The candidates for one place of a text, or the tree of a beam search. See writing.py.

/** A chip whose tooltip begins with its text, since a narrow one may be cut. */
function named(token, tag, more) {
  const made = chip(token, tag, more);
  made.title = `${"·".repeat(token.spaces)}${token.text}\n${made.title}`;
  return made;
}

function candidates(data, root, pick) {
  const { words } = data, sheet = element("table"), head = element("tr");
  sheet.setAttribute("aria-label", data.name);
  for (const name of ["", words.token, words.probability, words.chance]) head.append(element("th", "", name));
  const bar = (share, said) => {
    const cell = element("td"), made = element("span", "bar");
    made.style.width = `${100 * share}px`;
    cell.append(made, element("span", "figure", said));
    return cell;
  };
  const rows = data.rows.map((row) => {
    const line = element("tr", row.written ? "now" : ""), name = element("td");
    const button = named(row.chip, "button", row.written ? "written" : "");
    button.type = "button";
    button.title += `\n${row.written ? words.written : words.pick}`;
    button.setAttribute("aria-pressed", String(row.written));
    button.onclick = () => pick(row.chip.id);
    name.append(button);
    line.append(element("td", "", String(row.rank)), name, bar(row.probability, row.said), bar(row.chance, row.chance_said));
    return line;
  });
  sheet.append(head, ...rows);
  const parts = [sheet];
  if (data.draw !== null) {
    const line = element("div", "line");
    data.line.forEach(([from, to], at) => {
      if (to <= from) return;
      const part = element("span", data.draw >= from && data.draw < to ? "now" : "");
      part.style.flex = `${to - from} 0 0`;
      part.title = data.rows[at].chip.text;
      line.append(part);
    });
    if (data.others > 0) {
      const rest = element("span", "rest");
      rest.style.flex = `${data.others} 0 0`;
      line.append(rest);
    }
    const mark = element("i");
    mark.style.left = `${100 * data.draw}%`;
    line.append(mark);
    const said = words.draw.replace("{draw}", data.draw.toFixed(3));
    line.setAttribute("role", "img");
    line.setAttribute("aria-label", said);
    parts.push(line, element("div", "note", `${words.line} ${said}`));
  }
  root.replaceChildren(...parts);
}

/** A column for each step, the texts that were kept above, those passed over below. */
function tree(data, root) {
  const wide = 88, high = 25, frame = element("div", "frame"), board = element("div", "tree");
  const svg = document.createElementNS(NS, "svg"), nodes = new Map(data.nodes.map((node) => [node.number, node]));
  const place = (node) => [(node.depth - 1) * wide, node.row * high];
  let right = 0, low = 0;
  frame.tabIndex = 0;
  frame.setAttribute("role", "group");
  frame.setAttribute("aria-label", data.name);
  board.append(svg);
  frame.append(board);
  root.replaceChildren(frame);
  const kind = (node) => (node.best ? "best" : node.kept ? "" : "over"), ends = new Map();
  for (const node of data.nodes) {
    const [x, y] = place(node), made = named(node.chip, "span", kind(node));
    made.style.left = `${x}px`;
    made.style.top = `${y}px`;
    made.title += `\n${node.said}\n${data.words.mean} ${node.mean}${node.kept ? "" : `\n${data.words.passed}`}`;
    board.append(made);
    ends.set(node.number, x + made.offsetWidth);
    right = Math.max(right, x + wide);
    low = Math.max(low, y + high);
  }
  for (const node of [...data.nodes].sort((one, other) => one.best - other.best)) {
    if (node.parent === null) continue;
    const [x, y] = place(node), above = place(nodes.get(node.parent))[1], from = ends.get(node.parent);
    const line = document.createElementNS(NS, "path"), bend = Math.max(12, (x - from) * 0.6);
    line.setAttribute("d", `M${from} ${above + 10}C${from + bend} ${above + 10} ${x - bend} ${y + 10} ${x} ${y + 10}`);
    line.setAttribute("class", kind(node));
    svg.append(line);
  }
  board.style.width = `${right}px`;
  board.style.height = `${low}px`;
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector("#root");
  markDark(root);
  if (data.kind === "tree") tree(data, root);
  else refocused(root, () => candidates(data, root, (id) => setTriggerValue("pick", id)));
}
