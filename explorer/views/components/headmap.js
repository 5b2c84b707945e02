// Small grids, layers down and heads across, one for each question.

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector("#root"), set = coloursOn(background(root)), night = set === DARK;
  root.style.setProperty("--hatch", set.hatch);
  const maps = element("div", "maps"), wide = data.heads > 4 ? 27 : 34;
  for (const map of data.maps) {
    const grid = element("div", "map");
    grid.setAttribute("role", "group");
    grid.setAttribute("aria-label", map.title);
    grid.style.gridTemplateColumns = `max-content repeat(${data.heads}, ${wide}px)`;
    grid.append(element("div", "title", map.title), element("div", "note", map.note), element("div", "side", data.corner));
    for (let head = 0; head < data.heads; head++) grid.append(element("div", "top", String(head)));
    data.rows.forEach((row, r) => {
      grid.append(element("div", "side", row));
      for (let head = 0; head < data.heads; head++) {
        const share = map.shares[r][head], said = map.said[r][head];
        const cell = element("button", "cell", said);
        const place = share === null ? 0 : Math.min(9, Math.max(0, Math.round(9 * Math.sqrt(Math.max(0, share)))));
        cell.type = "button";
        cell.style.background = `rgb(${set.weight[place]})`;
        cell.style.color = (place > 4) === night ? "#14161C" : night ? "#E9EAEE" : place > 4 ? "#FFFFFF" : "#1B2330";
        if (share === null) cell.classList.add("none");
        const chosen = r === data.chosen[0] && head === data.chosen[1];
        if (chosen) cell.classList.add("chosen");
        cell.setAttribute("aria-pressed", String(chosen));
        cell.title = cell.ariaLabel = `${row}, ${data.head} ${head}, ${map.title}: ${said}`;
        cell.onclick = () => setTriggerValue("pick", [r, head]);
        grid.append(cell);
      }
    });
    maps.append(grid);
  }
  refocused(root, () => root.replaceChildren(maps));
}
