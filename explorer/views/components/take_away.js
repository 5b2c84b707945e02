// The part of "take away" that only a browser can do: pictures as files, the page as a file, the link. See take_away.py.

function save(name, content, kind) {
  const link = document.createElement("a"), blob = content instanceof Blob ? content : new Blob([content], { type: kind });
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser reads it after the click
}

/** A title as the name of a file, in any script. */
const filed = (text) => text.normalize("NFC").replaceAll(/[^\p{L}\p{N}]+/gu, "-").replaceAll(/^-+|-+$/g, "").slice(0, 60).toLowerCase() || "picture";

const AGAIN = 400; // milliseconds after which it is looked again which pictures there are

class TakeAway {
  constructor(parent) {
    this.root = element("div");
    this.root.id = "take-away";
    this.list = element("ul");
    this.page = element("button", "", "");
    this.copy = element("button", "", "");
    this.said = element("p", "said");
    this.said.setAttribute("role", "status");
    this.head = element("p", "head");
    const row = element("div", "row");
    row.append(this.page, this.copy);
    this.root.append(this.head, this.list, row, this.said);
    parent.append(this.root);
    this.page.onclick = () => this.busy(this.page, async () => {
      const { words, about } = this.data, link = location.href;
      save(`${filed(about.title)}.html`, await new Standalone(words, { ...about, link }).file(), "text/html;charset=utf-8");
    });
    this.copy.onclick = () => this.busy(this.copy, async () => { await this.written(location.href); this.said.textContent = this.data.words.copied; });
  }

  /** Put a text on the clipboard, also where a page without a certificate may not use the browser's own way. */
  async written(text) {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const box = element("textarea");
    box.value = text;
    this.root.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }

  async busy(button, work) {
    button.disabled = true;
    this.said.textContent = "";
    try {
      await work();
    } catch (error) {
      this.said.textContent = `${this.data.words.failed} (${error.message})`;
      throw error;
    } finally {
      button.disabled = false;
    }
  }

  show({ data }) {
    this.data = data;
    const { words } = data;
    this.page.textContent = words.page;
    this.page.title = words.page_help;
    this.copy.textContent = words.link;
    this.offered = null;
    this.offer();
    clearInterval(this.looking); // pictures may still be on their way, or give way to others
    this.looking = setInterval(() => this.offer(), AGAIN);
  }

  /** The pictures that are on the page now. */
  offer() {
    const { data } = this, { words } = data, found = listed(words);
    const same = ({ host, title }, at) => this.offered[at].host === host && this.offered[at].title === title;
    if (this.offered?.length === found.length && found.every(same)) return;
    this.offered = found;
    this.head.textContent = found.length ? words.pictures : words.no_pictures;
    this.list.replaceChildren(...found.map(({ host, title: said }) => {
      const line = element("li"), name = element("span", "name", said);
      name.title = said;
      line.append(name);
      for (const kind of ["SVG", "PNG"]) {
        const button = element("button", "", kind);
        button.setAttribute("aria-label", `${said}: ${kind}`);
        button.onclick = () => this.busy(button, async () => {
          const drawing = new Drawing(host, kind === "SVG" ? 2 : Math.max(2, window.devicePixelRatio || 1)).entitle(said, [...data.about.facts, location.href].join("\n"));
          const file = `${filed(data.about.title)}-${filed(said)}.${kind.toLowerCase()}`;
          if (kind === "SVG") save(file, drawing.text, "image/svg+xml;charset=utf-8");
          else save(file, await png(drawing, 2));
        });
        line.append(button);
      }
      const ring = (on) => { host.style.outline = on ? `2px solid ${getComputedStyle(this.root).getPropertyValue("--st-violet-color")}` : ""; host.style.outlineOffset = on ? "4px" : ""; };
      line.onpointerenter = () => ring(true);
      line.onpointerleave = () => ring(false);
      line.onfocus = () => ring(true);
      return line;
    }));
  }
}

const mounted = new WeakMap();
export default function (component) {
  const parent = component.parentElement;
  if (!mounted.has(parent)) mounted.set(parent, new TakeAway(parent));
  mounted.get(parent).show(component);
  return () => {
    clearInterval(mounted.get(parent)?.looking);
    mounted.get(parent)?.list.querySelectorAll("li").forEach((line) => line.onpointerleave());
  };
}
