// The colours of both themes, and how they are mixed. It is put in front of the scripts that use it.
const hex = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
const mix = (one, other, share) => one.map((part, at) => part + (other[at] - part) * share);
const clamp = (number, least, most) => Math.max(least, Math.min(most, number));
const stops = (colours) => colours.split(" ").map(hex);

const LIGHT = {
  raised: "#FFFFFF", third: "#8D95A0", hair: "#E7E8E6", hatch: "#C9CCD0", negative: "#5D6470",
  weight: stops("#F6F3FA #E9E1F3 #D9CBEA #C6B1E0 #B196D4 #9B7BC6 #8460B4 #6D479E #543182 #3A1D61"),
  below: stops("#DCE7EC #A3C0CF #6E9AB1 #3F7390 #1D4E6B"), above: stops("#F5E3DC #E7B3A4 #D28470 #B4543F #8A2C1B"),
};
const DARK = {
  raised: "#20242D", third: "#737B89", hair: "#272B35", hatch: "#3B404C", negative: "#7E8696",
  weight: stops("#221E2F #2E2742 #3D3259 #4E3F73 #624E8E #7860A9 #9076C0 #AA91D6 #C7B2EA #E8DCFA"),
  below: stops("#1D323E #295A72 #3D809F #5FA9CB #8FD0EC"), above: stops("#3E2823 #74392C #A8513D #D97A62 #F5B3A0"),
};

/** The colours that go with a background. */
const coloursOn = ([r, g, b]) => (0.299 * r + 0.587 * g + 0.114 * b < 128 ? DARK : LIGHT);

/** The page's background. */
const background = (root) => hex(getComputedStyle(root).getPropertyValue("--st-background-color").trim());

/** Mark a root as dark where the page is, for its style sheet. */
const markDark = (root) => root.classList.toggle("dark", coloursOn(background(root)) === DARK);

/** A colour between those of a row of stops. */
function ramp(row, share) {
  const at = clamp(share, 0, 0.9999) * (row.length - 1), first = Math.floor(at);
  return mix(row[first], row[first + 1], at - first);
}

/** A signed number of -1 to 1: zero is the background. Small numbers take more of the colours than large ones, since a
 *  stream grows from layer to layer and all are drawn on one scale. */
function diverging(ground, set, z) {
  const share = Math.abs(z) ** 0.6;
  return mix(ground, ramp(z < 0 ? set.below : set.above, share), Math.min(1, share * 4));
}

/** Black or white, whichever can be read better on a colour: the contrast (WCAG 2) is at least 4.5. */
function inkOn(colour) {
  const [r, g, b] = colour.map((part) => (part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#FFFFFF";
}

/** A number of -1 to 1 in a colour of its own, that of queries, keys or values. */
const tinted = (ground, set, own, z) => (z < 0 ? mix(ground, hex(set.negative), (-z) ** 0.9 * 0.8) : mix(ground, own, z ** 0.8));

