// The list of values: built once for a pass, filtered here while the reader types, so that a search needs no server.
const searched = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const input = parentElement.querySelector("input"), list = parentElement.querySelector("#list");
  input.placeholder = data.search;
  input.setAttribute("aria-label", data.search);

  function draw() {
    const wanted = input.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    list.replaceChildren();
    for (const group of data.groups) {
      const items = group.items.filter((item) => {
        const text = `${item.path} ${item.name} ${group.title}`.toLowerCase();
        return wanted.every((word) => text.includes(word));
      });
      if (!items.length) continue;
      list.append(element("h3", "", group.title));
      for (const item of items) {
        const button = element("button");
        button.type = "button";
        button.title = item.path;
        button.append(element("span", "", item.name), element("span", "shape", item.shape));
        if (item.path === data.chosen) button.setAttribute("aria-current", "true");
        button.onclick = () => setTriggerValue("open", item.path);
        list.append(button);
      }
    }
    if (!list.childElementCount) list.append(element("p", "", data.none));
  }

  input.oninput = draw;
  list.onkeydown = (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...list.querySelectorAll("button")];
    const at = buttons.indexOf(event.target) + step;
    buttons[Math.max(0, Math.min(buttons.length - 1, at))]?.focus();
  };
  refocused(list, draw);
  const chosen = list.querySelector("[aria-current]");
  if (chosen && searched.get(list) !== data.chosen) {
    searched.set(list, data.chosen);
    const box = list.getBoundingClientRect(), own = chosen.getBoundingClientRect();
    if (own.top < box.top + 24 || own.bottom > box.bottom) list.scrollTop += own.top - box.top - 80;
  }
}
