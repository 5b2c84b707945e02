// Small grids, layers down and heads across, one for each question. Every word is set as text, never as markup.
const LIGHT = ["#F6F3FA", "#E9E1F3", "#D9CBEA", "#C6B1E0", "#B196D4", "#9B7BC6", "#8460B4", "#6D479E", "#543182", "#3A1D61"];
const DARK = ["#221E2F", "#2E2742", "#3D3259", "#4E3F73", "#624E8E", "#7860A9", "#9076C0", "#AA91D6", "#C7B2EA", "#E8DCFA"];

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function dark(root) {
  const colour = getComputedStyle(root).getPropertyValue("--st-background-color").trim();
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b < 128;
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector("#root"), night = dark(root), colours = night ? DARK : LIGHT;
  root.style.setProperty("--hatch", night ? "#3B404C" : "#C9CCD0");
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
        cell.style.background = colours[place];
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
  root.replaceChildren(maps);
}
