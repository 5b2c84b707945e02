// A part of the page as a drawing: what stands in the document is written as SVG, with colours as they are and fonts
// by name. It is put in front of the scripts that use it.
const SVG = "http://www.w3.org/2000/svg", LEAST = 0.01;
const INHERITED = ["fill", "fill-opacity", "fill-rule", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
  "stroke-linecap", "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight", "font-style", "text-anchor",
  "dominant-baseline", "letter-spacing", "visibility", "display", "paint-order", "marker-start", "marker-end",
  "clip-path", "stop-color", "stop-opacity", "transform", "transform-origin"];
const USUAL = { "fill-opacity": "1", "fill-rule": "nonzero", "stroke-opacity": "1", "stroke-dasharray": "none",
  "stroke-linecap": "butt", "stroke-linejoin": "miter", opacity: "1", "text-anchor": "start", "dominant-baseline": "auto",
  "letter-spacing": "normal", visibility: "visible", display: "inline", "paint-order": "normal", "marker-start": "none",
  "marker-end": "none", "clip-path": "none", transform: "none", "stop-opacity": "1", "font-style": "normal" };
const pen = document.createElement("canvas").getContext("2d");
let drawings = 0; // so that marks which are referred to by name are told apart when several drawings share a page

const clear = (colour) => !colour || colour === "transparent" || /,\s*0\)$|\/\s*0\)$/.test(colour);
const solid = (colour) => { pen.fillStyle = "#000"; pen.fillStyle = colour; return pen.fillStyle; };
const legal = (text) => text.replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD");
const round = (number) => Math.round(number * 100) / 100;

function shape(parent, name, attributes = {}) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, typeof value === "number" ? round(value) : value);
  parent.append(made);
  return made;
}

/** What is seen of an element: nothing of one that is hidden, or there for screen readers only. */
function seen(element, style) {
  if (style.display === "none" || style.visibility === "hidden" || Number(style.opacity) < LEAST) return false;
  const box = element.getBoundingClientRect();
  return !(style.overflow === "hidden" && box.width <= 1.5 && box.height <= 1.5);
}

class Drawing {
  /** `root` is an element of the page; canvases that can draw themselves finer do so at `scale`. */
  constructor(root, scale = 2) {
    this.mark = `d${++drawings}-`;
    this.scale = scale;
    this.frame = root.getBoundingClientRect();
    this.svg = document.createElementNS(SVG, "svg");
    this.definitions = shape(this.svg, "defs");
    this.edges = [0, 0, this.frame.width, this.frame.height];
    this.fonts = new Set();
    const body = shape(this.svg, "g");
    this.walk(root, body);
    this.ground = solid(getComputedStyle(document.querySelector(".stApp") ?? document.body).backgroundColor);
    const [left, top, right, bottom] = this.edges.map(Math.round), margin = 12;
    this.width = right - left + 2 * margin;
    this.height = bottom - top + 2 * margin;
    const corner = { x: left - margin, y: top - margin, width: this.width, height: this.height };
    this.svg.setAttribute("xmlns", SVG);
    this.svg.setAttribute("viewBox", Object.values(corner).join(" "));
    this.svg.setAttribute("width", this.width);
    this.svg.setAttribute("height", this.height);
    body.before(shape(this.svg, "rect", { ...corner, fill: this.ground }));
  }

  /** Say what it is, for people and screen readers. */
  entitle(title, description) {
    const [said, more] = ["title", "desc"].map((name) => document.createElementNS(SVG, name));
    said.textContent = legal(title);
    more.textContent = legal(description);
    this.svg.prepend(said, more);
    this.svg.setAttribute("role", "img");
    this.svg.setAttribute("aria-label", legal(title));
    return this;
  }

  get text() { return new XMLSerializer().serializeToString(this.svg); }

  reach(box) {
    const [x, y] = [box.left - this.frame.left, box.top - this.frame.top];
    const limits = this.limits;
    const [right, bottom] = [x + box.width, y + box.height];
    if (limits && (right < limits[0] || bottom < limits[1] || x > limits[2] || y > limits[3])) return;
    const [l, t, r, b] = limits ? [Math.max(x, limits[0]), Math.max(y, limits[1]), Math.min(right, limits[2]), Math.min(bottom, limits[3])] : [x, y, right, bottom];
    this.edges = [Math.min(this.edges[0], l), Math.min(this.edges[1], t), Math.max(this.edges[2], r), Math.max(this.edges[3], b)];
  }

  at(box) { return { x: box.left - this.frame.left, y: box.top - this.frame.top, width: box.width, height: box.height }; }

  walk(element, parent) {
    const style = getComputedStyle(element);
    if (!seen(element, style)) return;
    if (["STYLE", "SCRIPT", "TEMPLATE"].includes(element.tagName) || element.dataset.control !== undefined) return;
    let into = parent;
    if (Number(style.opacity) < 1) into = shape(into, "g", { opacity: style.opacity });
    if (element instanceof SVGElement) return this.picture(element, into);
    if (element instanceof HTMLCanvasElement) return this.pixels(element, into);
    const [a, b, c, d] = style.transform.startsWith("matrix(") ? style.transform.slice(7).split(",").map(Number) : [1, 0, 0, 1];
    if (Math.abs(b) + Math.abs(c) > LEAST || Math.abs(a - 1) + Math.abs(d - 1) > LEAST) return this.turned(element, style, [a, b, c, d], into);
    this.box(element, style, into);
    into = this.window(element, style, into);
    const before = this.limits;
    if (into.limits) this.limits = into.limits;
    this.content(element, into);
    this.limits = before;
  }

  content(element, into) {
    if (element.tagName === "INPUT" || element.tagName === "TEXTAREA" || element.tagName === "SELECT") return;
    const made = ["::before", "::after"].map((which) => this.added(element, which));
    const raised = (child) => (child.nodeType === 1 ? Number.parseInt(getComputedStyle(child).zIndex, 10) || 0 : 0);
    const children = [...(element.shadowRoot ?? element).childNodes].map((child) => [child, raised(child)]);
    children.sort((one, other) => one[1] - other[1]);
    for (const [child] of children) {
      if (child.nodeType === 3) this.words(child, into);
      else if (child.nodeType === 1) this.walk(child, into);
    }
    for (const one of made) one?.remove();
  }

  /** What a style sheet adds before or after an element, if it is placed by itself, as an element for the moment. */
  added(element, which) {
    const style = getComputedStyle(element, which);
    if (["none", "normal", ""].includes(style.content) || style.position !== "absolute") return null;
    const made = document.createElement("span");
    for (const name of style) made.style.setProperty(name, style.getPropertyValue(name));
    made.textContent = /^["'].*["']$/.test(style.content) ? style.content.slice(1, -1) : "";
    element.append(made);
    return made;
  }

  /** An element that a style sheet turns or scales: drawn straight, and turned in the drawing. */
  turned(element, style, parts, parent) {
    const [x, y] = style.transformOrigin.split(" ").map(Number.parseFloat);
    this.reach(element.getBoundingClientRect());
    const kept = element.style.transform, edges = [...this.edges];
    element.style.transform = "none";
    const box = element.getBoundingClientRect();
    const [left, top] = [box.left - this.frame.left + x, box.top - this.frame.top + y].map(round);
    const into = shape(parent, "g", { transform: `translate(${left} ${top}) matrix(${parts.map((n) => n.toFixed(5)).join(" ")} 0 0) translate(${-left} ${-top})` });
    this.walk(element, into);
    element.style.transform = kept;
    this.edges = edges;
  }

  /** Background, borders and rings. */
  box(element, style, parent) {
    const rect = element.getBoundingClientRect();
    if (!rect.width || !rect.height) return;
    const { x, y, width, height } = this.at(rect);
    const round_ = Math.min(Number.parseFloat(style.borderTopLeftRadius) || 0, width / 2, height / 2);
    const plain = (inset) => ({ x: x + inset, y: y + inset, width: Math.max(0, width - 2 * inset), height: Math.max(0, height - 2 * inset), rx: Math.max(0, round_ - inset) });
    if (!clear(style.backgroundColor)) { shape(parent, "rect", { ...plain(0), fill: style.backgroundColor }); this.reach(rect); }
    if (style.backgroundImage.includes("linear-gradient")) { shape(parent, "rect", { ...plain(0), fill: this.gradient(style.backgroundImage) }); this.reach(rect); }
    const sides = ["Top", "Right", "Bottom", "Left"].map((side) => ({
      thick: style[`border${side}Style`] === "none" ? 0 : Number.parseFloat(style[`border${side}Width`]), colour: style[`border${side}Color`], kind: style[`border${side}Style`],
    }));
    const dashes = ({ kind, thick }) => (kind === "dashed" ? { "stroke-dasharray": `${3 * thick} ${2 * thick}` } : kind === "dotted" ? { "stroke-dasharray": `${thick} ${thick}` } : {});
    const [first] = sides;
    if (first.thick && sides.every((side) => side.thick === first.thick && side.colour === first.colour)) {
      if (!clear(first.colour)) shape(parent, "rect", { ...plain(first.thick / 2), fill: "none", stroke: first.colour, "stroke-width": first.thick, ...dashes(first) });
    } else {
      const lines = [[x, y, x + width, y], [x + width, y, x + width, y + height], [x, y + height, x + width, y + height], [x, y, x, y + height]];
      sides.forEach((side, at) => {
        if (!side.thick || clear(side.colour)) return;
        const [x1, y1, x2, y2] = lines[at], half = side.thick / 2, [dx, dy] = [[0, half], [-half, 0], [0, -half], [half, 0]][at];
        shape(parent, "line", { x1: x1 + dx, y1: y1 + dy, x2: x2 + dx, y2: y2 + dy, stroke: side.colour, "stroke-width": side.thick, ...dashes(side) });
      });
    }
    const ring = /^(.*\)) 0px 0px 0px ([\d.]+)px$/.exec(style.boxShadow);
    if (ring && !clear(ring[1])) shape(parent, "rect", { ...plain(-ring[2] / 2), fill: "none", stroke: ring[1], "stroke-width": Number(ring[2]) });
  }

  gradient(text) {
    const colours = text.match(/(?:rgba?|color|oklab|oklch)\([^()]*\)/g) ?? [];
    const id = `${this.mark}${this.definitions.childElementCount}`;
    if (text.includes("repeating")) { // hatching: a line of the one colour that is seen, every few pixels
      const pattern = shape(this.definitions, "pattern", { id, width: 4.5, height: 4.5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
      shape(pattern, "rect", { width: 1.3, height: 4.5, fill: colours.find((colour) => !clear(colour)) ?? "none" });
    } else {
      const along = text.includes("90deg") || text.includes("to right") ? { x2: 1, y2: 0 } : { x2: 0, y2: 1 };
      const made = shape(this.definitions, "linearGradient", { id, ...along });
      colours.forEach((colour, at) => shape(made, "stop", { offset: at / Math.max(1, colours.length - 1), "stop-color": colour }));
    }
    return `url(#${id})`;
  }

  /** Where an element shows only a part of its content, the same part. One that scrolls sideways is drawn whole. */
  window(element, style, parent) {
    if (style.overflowX === "visible" && style.overflowY === "visible") return parent;
    const wide = element.scrollWidth > element.clientWidth + 1, tall = element.scrollHeight > element.clientHeight + 1;
    const whole = ["auto", "scroll"].includes(style.overflowX) && element.clientWidth > 0.9 * this.frame.width;
    if (!(tall && style.overflowY !== "visible") && !(wide && style.overflowX !== "visible" && !whole)) return parent;
    const box = this.at(element.getBoundingClientRect());
    if (whole) [box.x, box.width] = [-1e5, 2e5];
    const id = `${this.mark}${this.definitions.childElementCount}`;
    shape(shape(this.definitions, "clipPath", { id }), "rect", box);
    const made = shape(parent, "g", { "clip-path": `url(#${id})` });
    made.limits = [box.x, box.y, box.x + box.width, box.y + box.height];
    return made;
  }

  /** A canvas as an image; one whose owner can draw it finer (`finer(scale)`, which returns the way back) is. */
  pixels(canvas, parent) {
    if (!canvas.width || !canvas.height) return;
    const box = canvas.getBoundingClientRect();
    if (!box.width || !box.height) return;
    const back = canvas.finer?.(this.scale);
    const image = shape(parent, "image", { ...this.at(box), preserveAspectRatio: "none" });
    image.setAttribute("href", canvas.toDataURL("image/png"));
    if (!back) image.setAttribute("style", "image-rendering:pixelated");
    back?.();
    this.reach(box);
  }

  /** An SVG of the page, its styles written into it. */
  picture(svg, parent) {
    const box = svg.getBoundingClientRect();
    const copy = svg.cloneNode(true), pairs = [[svg, copy]];
    for (const [from, to] of pairs) {
      if (from.nodeType !== 1) continue;
      [...from.childNodes].forEach((child, at) => pairs.push([child, to.childNodes[at]]));
    }
    for (const [from, to] of pairs) {
      if (to.nodeType === 3) { to.data = legal(to.data); continue; }
      if (to.nodeType !== 1) continue;
      const style = getComputedStyle(from);
      const kept = from === svg ? INHERITED.filter((name) => !["opacity", "transform", "transform-origin", "display"].includes(name)) : INHERITED;
      const written = kept.filter((name) => style.getPropertyValue(name) && style.getPropertyValue(name) !== USUAL[name]);
      for (const attribute of [...to.attributes]) {
        if (attribute.name.startsWith("on") || attribute.name === "class" || attribute.name === "style") to.removeAttribute(attribute.name);
        else if (attribute.name === "id") to.id = this.mark + attribute.value;
        else if (attribute.value.includes("url(#")) attribute.value = attribute.value.replaceAll("url(#", `url(#${this.mark}`);
        else if (attribute.name.endsWith("href") && attribute.value.startsWith("#")) attribute.value = `#${this.mark}${attribute.value.slice(1)}`;
      }
      to.setAttribute("style", written.filter((name) => name !== "transform-origin" || style.transform !== "none")
        .map((name) => `${name}:${style.getPropertyValue(name).replaceAll(/url\("?[^")]*#([^")]+)"?\)/g, `url(#${this.mark}$1)`)}`).join(";"));
      if (style.fontFamily && from.tagName === "text") this.fonts.add(`${style.fontFamily}`);
      if (from !== svg && from.getBBox && ["text", "path", "rect", "circle", "line", "polyline", "polygon", "ellipse"].includes(from.tagName) && style.visibility !== "hidden" && style.overflow !== "hidden") {
        const place = from.getBoundingClientRect();
        if (place.width && place.height) this.reach(place);
      }
    }
    const place = this.at(box);
    for (const [name, value] of Object.entries(place)) copy.setAttribute(name, round(value));
    if (!copy.hasAttribute("viewBox")) copy.setAttribute("viewBox", `0 0 ${round(box.width)} ${round(box.height)}`);
    copy.setAttribute("overflow", getComputedStyle(svg).overflow === "hidden" ? "hidden" : "visible");
    for (const dead of copy.querySelectorAll("foreignObject, script, a")) dead.replaceWith(...(dead.tagName === "a" ? dead.childNodes : []));
    parent.append(copy);
  }

  /** A text, one line of it after the other, each as wide as it is on the page whichever font is found. */
  words(node, parent) {
    if (!node.data.trim()) return;
    const owner = node.parentElement ?? node.getRootNode().host, style = getComputedStyle(owner);
    const kept = style.whiteSpace.startsWith("pre") || style.whiteSpace === "break-spaces";
    const size = Number.parseFloat(style.fontSize);
    if (!size || clear(style.color)) return;
    pen.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const { fontBoundingBoxAscent: up, fontBoundingBoxDescent: down } = pen.measureText("x");
    for (const { text, box } of lines(node)) {
      const shown = kept ? text.replace(/\n$/, "") : text.replace(/\s+/g, " ").trim();
      if (!shown.trim()) continue;
      const attributes = { x: box.left - this.frame.left, y: box.top - this.frame.top + (box.height - up - down) / 2 + up,
        textLength: box.width, lengthAdjust: "spacingAndGlyphs", fill: style.color, "font-family": style.fontFamily, "font-size": size };
      if (style.fontWeight !== "400") attributes["font-weight"] = style.fontWeight;
      if (style.fontStyle !== "normal") attributes["font-style"] = style.fontStyle;
      if (kept) attributes.style = "white-space:pre";
      if (style.textDecorationLine.includes("underline")) attributes["text-decoration"] = "underline";
      const capitals = style.textTransform === "uppercase" ? shown.toUpperCase() : shown;
      shape(parent, "text", attributes).textContent = legal(capitals);
      this.fonts.add(style.fontFamily);
      this.reach(box);
    }
  }
}

/** The lines of a text node: what stands in each, and where. */
function lines(node) {
  const range = document.createRange();
  range.selectNodeContents(node);
  const boxes = [...range.getClientRects()].filter((box) => box.width);
  if (!boxes.length) return [];
  if (boxes.every((box) => Math.abs(box.top - boxes[0].top) < 2)) return [{ text: node.data, box: range.getBoundingClientRect() }];
  const found = [];
  let at = 0;
  for (const letter of node.data) {
    range.setStart(node, at);
    range.setEnd(node, (at += letter.length));
    const box = range.getClientRects()[0], line = found.at(-1);
    if (!box?.width) { if (line) line.text += letter; continue; }
    if (!line || Math.abs(box.top - line.box.top) > 2) found.push({ text: letter, box: new DOMRect(box.left, box.top, box.width, box.height) });
    else { line.text += letter; line.box.width = Math.max(line.box.width, box.right - line.box.left); }
  }
  return found;
}

/** The page's own font files that a drawing names, as rules that hold the files themselves. */
async function faces(families) {
  const wanted = new Set([...families].flatMap((family) => family.split(",").slice(0, 1).map((name) => name.trim().replaceAll(/["']/g, ""))));
  const rules = [...document.styleSheets].flatMap((sheet) => { try { return [...sheet.cssRules]; } catch { return []; } }); // another site's sheet cannot be read
  const found = rules.filter((rule) => rule instanceof CSSFontFaceRule && wanted.has(rule.style.getPropertyValue("font-family").replaceAll(/["']/g, "")) && rule.style.getPropertyValue("font-style") !== "italic");
  return (await Promise.all(found.map(async (rule) => {
    const [, address] = /url\("?([^")]+)"?\)/.exec(rule.style.getPropertyValue("src")) ?? [];
    const answer = address && await fetch(new URL(address, rule.parentStyleSheet.href ?? document.baseURI));
    if (!answer?.ok) return "";
    const bytes = new Uint8Array(await answer.arrayBuffer());
    let text = "";
    for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
    return `@font-face{font-family:${rule.style.getPropertyValue("font-family")};font-weight:${rule.style.getPropertyValue("font-weight") || "400"};src:url(data:font/woff2;base64,${btoa(text)}) format("woff2")}`;
  }))).join("");
}

/** A drawing as PNG, `scale` pixels to each of the page's. */
async function png(drawing, scale) {
  const copy = drawing.svg.cloneNode(true), style = shape(copy, "style");
  style.textContent = await faces(drawing.fonts);
  copy.prepend(style);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await image.decode();
  const canvas = document.createElement("canvas"), most = 16_000;
  const sharp = Math.min(scale, most / drawing.width, most / drawing.height);
  canvas.width = Math.round(drawing.width * sharp);
  canvas.height = Math.round(drawing.height * sharp);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
