// What is on the screen as one HTML file: prose, numbers and pictures, without a script and without a network.
// It is put in front of the scripts that use it, after drawing.js.
const PICTURES = '[data-testid="stBidiComponentIsolated"], [data-testid="stVegaLiteChart"]';
const LEFT_OUT = '[data-testid="stButton"], [data-testid="stPageLink"], [data-testid="stDownloadButton"], ' +
  '[data-testid="stPopover"], [data-testid="stElementToolbar"], [data-testid="stSpinner"], [data-testid="stHtml"] style';
const KEPT = new Set(["P", "H1", "H2", "H3", "H4", "H5", "H6", "UL", "OL", "LI", "STRONG", "EM", "CODE", "PRE", "TABLE",
  "THEAD", "TBODY", "TR", "TH", "TD", "BR", "HR", "BLOCKQUOTE", "SUB", "SUP", "DEL", "SMALL", "B", "I"]);
const LABEL = 40; // letters of a text that only leads to the buttons behind it
const MATH = "http://www.w3.org/1998/Math/MathML";
const MATH_KEPT = new Set(["display", "mathvariant", "stretchy", "fence", "separator", "displaystyle", "scriptlevel",
  "accent", "accentunder", "width", "height", "columnalign", "columnspacing", "rowspacing", "linethickness", "minsize", "maxsize", "lspace", "rspace"]);

/** Whether an element itself hides nothing; one that makes no box of its own does not either. */
function visible(element) {
  const style = getComputedStyle(element);
  return style.display !== "none" && style.visibility !== "hidden" && Number(style.opacity) > LEAST;
}

/** The pictures of the page, in their order: what our components and Vega drew, controls left out. */
function pictures() {
  const root = document.querySelector('[data-testid="stMain"]') ?? document.body;
  return [...root.querySelectorAll(PICTURES)].filter((host) => {
    const box = host.getBoundingClientRect();
    return box.width > 24 && box.height > 12 && host.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !host.closest('[data-testid="stPopoverBody"]')
      && !inside(host).querySelector("input:not([type=range]), textarea, #take-away");
  });
}

/** What a host shows: our components in a tree of their own. */
const inside = (host) => host.shadowRoot ?? [...host.querySelectorAll("*")].find((one) => one.shadowRoot)?.shadowRoot ?? host;

/** What a picture is called: what screen readers are told of it, or the heading above it. */
function title(host, at, words) {
  const tree = inside(host);
  const label = host.dataset.testid === "stBidiComponentIsolated" ? tree.querySelector('[role="img"][aria-label]')?.getAttribute("aria-label") : "";
  let said = (label ?? "").split(/[:.。]\s/)[0];
  if (!said || said.length > 60) {
    const headings = [...document.querySelectorAll('[data-testid="stMain"] :is(h1, h2, h3)')];
    const above = headings.filter((one) => one.compareDocumentPosition(host) & Node.DOCUMENT_POSITION_FOLLOWING).at(-1);
    said = above?.textContent.trim() ?? "";
  }
  return said || `${words.picture} ${at + 1}`;
}

/** Pictures with their titles; of those with the same title each gets a number. */
function listed(words) {
  const found = pictures().map((host, at) => ({ host, title: title(host, at, words) }));
  const counts = new Map();
  for (const one of found) counts.set(one.title, (counts.get(one.title) ?? 0) + 1);
  const seen_ = new Map();
  return found.map(({ host, title: said }) => {
    if (counts.get(said) < 2) return { host, title: said };
    seen_.set(said, (seen_.get(said) ?? 0) + 1);
    return { host, title: `${said} (${seen_.get(said)})` };
  });
}

class Standalone {
  constructor(words, about) {
    this.words = words;
    this.about = about;
    this.page = document.implementation.createHTMLDocument("");
    this.fonts = new Set();
    this.names = new Map(listed(words).map(({ host, title: said }) => [host, said]));
  }

  make(tag, parent, text, name) {
    const made = this.page.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (name) made.className = name;
    parent?.append(made);
    return made;
  }

  /** The blocks of the page, one below or beside the other as on the screen. */
  blocks(element, into) {
    if (element.nodeType !== 1 || element.matches(LEFT_OUT) || !visible(element)) return;
    const kind = element.dataset.testid;
    if (element.matches(PICTURES)) return this.picture(element, into);
    if (kind === "stMarkdownContainer") return this.prose(element, into, getComputedStyle(document.body).color);
    if (kind === "stDataFrame") return this.table(element, into);
    if (kind === "stButtonGroup" || kind === "stRadio") return this.chosen(element, into);
    if (kind === "stSelectbox" || kind === "stTextInput" || kind === "stTextArea" || kind === "stNumberInput") return this.typed(element, into);
    if (kind === "stCode") return void this.make("pre", into, element.querySelector("code")?.textContent ?? "");
    if (kind === "stHorizontalBlock") {
      const row = this.make("div", into, undefined, "row");
      for (const child of element.children) {
        const part = this.make("div", row);
        if (child.dataset.testid === "stColumn") part.style.flex = `${Math.round(child.getBoundingClientRect().width)} 1 0`;
        this.blocks(child, part);
        if (!part.childNodes.length) part.remove();
      }
      const label = !row.querySelector("figure, table, h1, h2") && row.textContent.length < LABEL && element.querySelector(LEFT_OUT);
      if (!row.childNodes.length || label) row.remove(); // what stood before buttons says nothing without them
      return;
    }
    if (kind === "stExpander" && element.querySelector("details:not([open])")) return;
    const box = ["stAlert", "stExpander"].includes(kind) ? this.make("div", into, undefined, "box") : into;
    for (const child of element.children) this.blocks(child, box);
  }

  picture(host, into) {
    const said = this.names.get(host);
    if (!said) return;
    const drawing = new Drawing(host).entitle(said, this.about.link);
    for (const font of drawing.fonts) this.fonts.add(font);
    const figure = this.make("figure", into);
    figure.append(this.page.importNode(drawing.svg, true));
    figure.style.maxWidth = `${drawing.width}px`;
  }

  /** Prose, tag by tag: only what stands in the list is taken, without its attributes. */
  prose(node, into, ink) {
    for (const child of node.childNodes) {
      if (child.nodeType === 3) { into.append(legal(child.data)); continue; }
      if (child.nodeType !== 1 || !visible(child)) continue;
      if (child.classList.contains("katex")) { this.formula(child, into); continue; }
      if (child.tagName.toUpperCase() === "SVG" || child.tagName === "BUTTON") continue;
      const colour = getComputedStyle(child).color, kept = KEPT.has(child.tagName);
      const made = kept ? this.make(child.tagName, into) : colour !== ink && child.tagName === "SPAN" ? this.make("span", into) : into;
      if (made !== into && colour !== ink) made.style.color = colour;
      const ground = getComputedStyle(child).backgroundColor;
      if (made !== into && child.tagName === "SPAN" && !clear(ground)) made.style.backgroundColor = ground;
      if (["TD", "TH"].includes(child.tagName)) made.style.textAlign = getComputedStyle(child).textAlign;
      this.prose(child, made, colour);
    }
  }

  /** A formula as MathML, which browsers draw with fonts of their own. */
  formula(katex, into) {
    const math = katex.querySelector("math");
    if (!math) return;
    const copy = (from) => {
      if (from.nodeType === 3) return this.page.createTextNode(from.data);
      if (from.nodeType !== 1 || from.localName === "annotation") return null;
      const made = this.page.createElementNS(MATH, from.localName);
      for (const { name, value } of from.attributes) if (MATH_KEPT.has(name)) made.setAttribute(name, value);
      if (from.getAttribute("mathcolor")) made.style.color = from.getAttribute("mathcolor");
      made.append(...[...from.childNodes].map(copy).filter(Boolean));
      return made;
    };
    into.append(copy(math));
  }

  table(frame, into) {
    const grid = frame.querySelector("canvas table[role=grid]");
    if (!grid) return;
    const table = this.make("table", into);
    for (const row of grid.querySelectorAll("tr")) {
      const made = this.make("tr", table);
      for (const cell of row.querySelectorAll("th, td")) this.make(cell.tagName.toLowerCase(), made, cell.textContent);
    }
  }

  chosen(group, into) {
    const label = group.closest(".stElementContainer")?.querySelector('[data-testid="stWidgetLabel"]')?.textContent.trim();
    const picked = [...group.querySelectorAll('[aria-checked="true"]')].map((one) => one.textContent.trim()).join(", ");
    if (picked) this.make("p", into, label ? `${label}: ${picked}` : picked, "choice");
  }

  typed(widget, into) {
    const label = widget.querySelector('[data-testid="stWidgetLabel"]')?.textContent.trim() ?? "";
    const value = widget.querySelector("input, textarea")?.value || widget.querySelector('[data-baseweb="select"]')?.textContent || "";
    if (value) this.make("p", into, label ? `${label}: ${value}` : value, "choice");
  }

  /** The whole file as a text. */
  async file() {
    const { page, words, about } = this, style = getComputedStyle(document.querySelector(".stApp") ?? document.body);
    page.documentElement.lang = document.documentElement.lang || "en";
    const head = page.head, body = page.body;
    head.replaceChildren();
    const meta = (attributes) => Object.entries(attributes).forEach(([name, value], at, all) => { if (at === 0) head.append(page.createElement("meta")); head.lastChild.setAttribute(name, value); });
    meta({ charset: "utf-8" });
    meta({ name: "viewport", content: "width=device-width, initial-scale=1" });
    meta({ "http-equiv": "Content-Security-Policy", content: "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:" });
    this.make("title", head, `${about.title} · Transformer Explorer`);
    const main = this.make("main", body), facts = this.make("header", main);
    for (const fact of about.facts) this.make("p", facts, fact);
    const still = this.make("p", facts, `${words.still} `, "still");
    const link = this.make("a", still, words.live);
    link.href = about.link;
    const content = this.make("article", main);
    for (const child of document.querySelector(".stMainBlockContainer").children) this.blocks(child, content);
    if (about.code) {
      const more = this.make("footer", main);
      this.make("p", more, words.python);
      this.make("pre", more, about.code);
    }
    const sheet = this.make("style", head);
    const ground = solid(style.backgroundColor), ink = solid(style.color);
    sheet.textContent = `${await faces(new Set([...this.fonts, style.fontFamily]))}
:root { color-scheme: ${ground < "#8" ? "dark" : "light"}; }
body { margin: 0; background: ${ground}; color: ${ink}; font: 15px/1.55 ${style.fontFamily}; }
main { max-width: 1140px; margin: 0 auto; padding: 24px 16px 48px; }
header, footer { font-size: 13px; border: 0 solid ${ink}33; overflow-wrap: anywhere; }
header { border-bottom-width: 1px; margin-bottom: 16px; } footer { border-top-width: 1px; margin-top: 32px; }
header p { margin: 2px 0; } .still { opacity: .8; margin: 8px 0 12px !important; } a { color: inherit; }
h1 { font-size: 26px; } h2 { font-size: 16px; } h3 { font-size: 15px; } h1, h2, h3 { line-height: 1.25; margin: 20px 0 8px; }
article p, article li { max-width: 66ch; margin: 6px 0; } .row { display: flex; flex-wrap: wrap; gap: 8px 28px; } .row > div { min-width: min(100%, 260px); }
figure { margin: 8px 0; } figure svg { max-width: 100%; height: auto; display: block; } code, pre { font-family: ui-monospace, Consolas, monospace; font-size: 12.5px; } pre { overflow: auto; padding: 10px 12px; background: ${ink}0d; border-radius: 8px; }
.box { border: 1px solid ${ink}26; border-radius: 8px; padding: 4px 14px; margin: 8px 0; } .choice { font-size: 13px; opacity: .8; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; } td, th { padding: 3px 14px 3px 0; border-bottom: 1px solid ${ink}26; text-align: left; }`;
    return `<!doctype html>\n${page.documentElement.outerHTML}`;
  }
}
