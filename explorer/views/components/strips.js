// What the pictures of single vectors share: colours, a vector as a strip of cells, chips, a tooltip. It is put in front
// of the script that uses it. Everything that a person typed is set as text, never as markup.
const BELOW = { light: "#DCE7EC #A3C0CF #6E9AB1 #3F7390 #1D4E6B", dark: "#1D323E #295A72 #3D809F #5FA9CB #8FD0EC" };
const ABOVE = { light: "#F5E3DC #E7B3A4 #D28470 #B4543F #8A2C1B", dark: "#3E2823 #74392C #A8513D #D97A62 #F5B3A0" };
const NS = "http://www.w3.org/2000/svg";

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function drawn(parent, tag, attributes, text) {
  const made = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

function chip(token, tag = "span") {
  const made = element(tag, `chip ${token.kind}`);
  if (token.spaces) made.append(element("span", "space", "·".repeat(token.spaces)));
  made.append(element("span", "", token.text));
  made.title = token.bytes ? `${token.id} · ${token.bytes}` : `${token.id}`;
  return made;
}

/** A formula in the serif of mathematics: letters slanted, _1 a subscript, ~names~ upright, a bar drawn over x̄. */
function formula(text) {
  const made = element("span", "math");
  for (const part of text.split(/(_\d|~[^~]+~|x̄)/)) {
    if (part.startsWith("_")) made.append(element("sub", "", part.slice(1)));
    else if (part.startsWith("~")) made.append(element("span", "upright", part.slice(1, -1)));
    else if (part === "x̄") made.append(element("span", "barred", "x"));
    else made.append(part);
  }
  return made;
}

const hex = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
const mix = (one, other, share) => one.map((part, at) => part + (other[at] - part) * share);
const minus = (text) => text.replace("-", "−");
const fixed = (number, digits = 2) => minus(number.toFixed(digits).replace(/^-(0(\.0*)?)$/, "$1"));
const signed = (number, digits = 2) => (Number(number.toFixed(digits)) > 0 ? "+" : "") + fixed(number, digits);
const filled = (text, parts) => text.replace(/\{(\w+)\}/g, (_, name) => parts[name]);

/** The theme as it is now; `signed(z)` is the colour of a signed value of -1 to 1, zero being paper. */
function theme(root) {
  const paper = hex(getComputedStyle(root).getPropertyValue("--st-background-color").trim());
  const mode = 0.299 * paper[0] + 0.587 * paper[1] + 0.114 * paper[2] < 128 ? "dark" : "light";
  root.classList.toggle("dark", mode === "dark");
  const stops = [BELOW, ABOVE].map((set) => set[mode].split(" ").map(hex));
  const colour = (z) => {
    const ramp = stops[z < 0 ? 0 : 1], size = Math.min(0.9999, Math.abs(z)), at = size * 4, first = Math.floor(at);
    return mix(paper, mix(ramp[first], ramp[first + 1], at - first), Math.min(1, size * 4)).map(Math.round);
  };
  return { mode, colour, css: (z) => `rgb(${colour(z)})` };
}

/** A vector as one row of cells. `at` is called with a cell's place where one is pointed at, `on` where one is clicked. */
function strip(numbers, limit, colours, label, at, on) {
  const canvas = element("canvas", on ? "cells clickable" : "cells");
  canvas.width = numbers.length;
  canvas.height = 1;
  const context = canvas.getContext("2d"), image = context.createImageData(numbers.length, 1);
  numbers.forEach((number, place) => image.data.set([...colours.colour(number / limit), 255], place * 4));
  context.putImageData(image, 0, 0);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return Math.max(0, Math.min(numbers.length - 1, Math.floor(((event.clientX - box.left) / box.width) * numbers.length)));
  };
  canvas.onpointermove = (event) => at(event, place(event));
  canvas.onpointerleave = () => at(null);
  if (on) canvas.onclick = (event) => { event.stopPropagation(); on(place(event)); };
  return canvas;
}

/** A tooltip that follows the pointer inside `root`: tip(event, head, number), tip(null) to put it away. */
function tooltip(root) {
  const tip = element("div", "tip"), head = element("span"), number = element("b");
  tip.append(head, number);
  root.append(tip);
  return (event, text, value) => {
    tip.classList.toggle("on", Boolean(event));
    if (!event) return;
    head.textContent = text;
    number.textContent = value;
    const box = root.getBoundingClientRect(), x = event.clientX - box.left;
    tip.style.left = `${Math.max(0, Math.min(x + 12, box.width - tip.offsetWidth))}px`;
    tip.style.top = `${event.clientY - box.top + 16}px`;
  };
}

