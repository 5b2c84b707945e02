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

/** Draw anew, and leave the focus where it was: whoever walks by keys would else begin again at the top of the page. */
function refocused(root, draw) {
  const takers = () => [...root.querySelectorAll("button, [tabindex]")];
  const at = takers().indexOf(root.getRootNode().activeElement);
  draw();
  if (at >= 0) takers()[Math.min(at, takers().length - 1)]?.focus({ preventScroll: true });
}
