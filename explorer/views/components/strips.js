// What the pictures of single vectors share: a vector as a strip of cells, formulas, numbers, a tooltip. It is put in
// front of the script that uses it, behind colours.js and elements.js.

function drawn(parent, tag, attributes, text) {
  const made = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
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

const minus = (text) => text.replace("-", "−");
const fixed = (number, digits = 2) => minus(number.toFixed(digits).replace(/^-(0(\.0*)?)$/, "$1"));
const signed = (number, digits = 2) => (Number(number.toFixed(digits)) > 0 ? "+" : "") + fixed(number, digits);

/** The theme as it is now: `colour(z)` and, as a text, `css(z)` are the colour of a signed value of -1 to 1. */
function theme(root) {
  const ground = background(root), set = coloursOn(ground);
  markDark(root);
  const colour = (z) => diverging(ground, set, z).map(Math.round);
  return { colour, css: (z) => `rgb(${colour(z)})` };
}

/** A vector as one row of cells. `at` is called with a cell's place where one is pointed at, `on` where one is clicked.
 *  Where it can be clicked, the arrow keys walk it and Enter clicks. */
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
  if (on) {
    let walked = 0;
    canvas.tabIndex = 0;
    canvas.onclick = (event) => { event.stopPropagation(); on(place(event)); };
    canvas.onfocus = () => { walked = Math.min(walked, numbers.length - 1); };
    canvas.onblur = () => at(null);
    canvas.onkeydown = (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -numbers.length, End: numbers.length }[event.key];
      if (event.key === "Enter") on(walked);
      else if (event.key === "Escape") at(null);
      else if (step) {
        walked = clamp(walked + step, 0, numbers.length - 1);
        const box = canvas.getBoundingClientRect();
        at({ clientX: box.left + ((walked + 0.5) * box.width) / numbers.length, clientY: box.bottom - 8 }, walked);
        canvas.setAttribute("aria-label", `${label} ${walked}: ${fixed(numbers[walked], 3)}`);
      } else return;
      event.preventDefault();
    };
  }
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

