// Chips in a row, or in front of bars.

function strip(data, root, pick) {
  const row = element("div", data.tall ? "strip tall" : "strip");
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", data.name);
  const buttons = [];
  for (const run of data.runs) {
    const group = element("span", "run");
    for (const position of run) {
      const token = data.chips[position];
      const cell = element("span", "cell");
      const button = chip(token, data.clickable ? "button" : "span");
      if (position === data.focus) button.classList.add("focus");
      if (data.marked.includes(position)) {
        button.classList.add("marked");
        button.title = `${button.title}\n${data.mark}`;
      }
      if (data.clickable) {
        if (data.hint) button.title = `${button.title}\n${data.hint}`;
        button.type = "button";
        button.setAttribute("aria-label", "·".repeat(token.spaces) + token.text);
        button.tabIndex = -1;
        button.setAttribute("aria-pressed", String(position === data.focus));
        button.onclick = () => pick(position);
      }
      buttons.push(button);
      cell.append(button, element("span", "id", String(token.id)));
      group.append(cell);
    }
    row.append(group);
  }
  if (data.clickable && buttons.length) {
    let at = data.focus ?? 0;
    (buttons[at] ?? buttons[0]).tabIndex = 0;
    row.onkeydown = (event) => {
      const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      buttons[at].tabIndex = -1;
      at = Math.max(0, Math.min(buttons.length - 1, buttons.indexOf(event.target) + step));
      buttons[at].tabIndex = 0;
      buttons[at].focus();
    };
  }
  root.replaceChildren(row);
}

function bars(data, root) {
  const list = element("ol", "bars");
  list.setAttribute("aria-label", data.name);
  data.bars.forEach((row, place) => {
    const item = element("li", row.chip ? (place ? "" : "first") : "others");
    const head = element("span");
    head.append(row.chip ? chip(row.chip, "span") : element("span", "rest", row.name));
    const track = element("span", "track");
    const bar = element("span", "bar");
    bar.style.width = `calc((100% - 64px) * ${row.share})`;
    track.append(bar, element("span", "said", row.said));
    item.append(head, track);
    list.append(item);
  });
  root.replaceChildren(list);
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector("#root");
  markDark(root);
  if (data.bars) bars(data, root);
  else refocused(root, () => strip(data, root, (position) => setTriggerValue("pick", position)));
}
