// Elements, chips, and words with places to fill. It is put in front of the scripts that use it.
// Everything that a person typed is set as text, never as markup.
const NS = "http://www.w3.org/2000/svg";
const fill = (text, parts) => text.replace(/\{(\w+)\}/g, (_, name) => parts[name] ?? "");

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** A token with its spaces paler; its tooltip has the id and the bytes. */
function chip(token, tag = "span", more = "") {
  const made = element(tag, `chip ${token.kind} ${more}`.trim());
  if (token.spaces) made.append(element("span", "space", "·".repeat(token.spaces)));
  made.append(element("span", "", token.text));
  made.title = token.bytes ? `${token.id} · ${token.bytes}` : `${token.id}`;
  return made;
}

/** For a drawing of the page (see drawing.js): draw as fine as it asks, and return the way back. */
const finely = (owner, draw) => (scale) => {
  owner.fine = scale;
  draw();
  return () => { owner.fine = 0; draw(); };
};

const held = new WeakMap(); // where a button may be held down -> what is drawn once it is let go

/** Draw anew, but not under a finger: what is gone before it is let go of was never clicked. */
function released(root, draw) {
  if (!held.has(root)) {
    held.set(root, { down: false, draw: null });
    root.addEventListener("pointerdown", () => {
      const press = held.get(root), up = new AbortController();
      press.down = true;
      for (const end of ["pointerup", "pointercancel"]) {
        addEventListener(end, () => {
          up.abort();
          setTimeout(() => { // the click comes first
            press.down = false;
            const late = press.draw;
            press.draw = null;
            late?.();
          });
        }, { signal: up.signal, capture: true });
      }
    }, { capture: true });
  }
  const press = held.get(root);
  if (press.down) press.draw = draw;
  else draw();
}

/** Draw anew, and leave the focus where it was: whoever walks by keys would else begin again at the top of the page. */
function refocused(root, draw) {
  released(root, () => {
    const takers = () => [...root.querySelectorAll("button, [tabindex]")];
    const at = takers().indexOf(root.getRootNode().activeElement);
    draw();
    if (at >= 0) takers()[Math.min(at, takers().length - 1)]?.focus({ preventScroll: true });
  });
}
