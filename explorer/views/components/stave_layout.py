"""The whole pass as one picture: where each value of a trace stands. Pure; no browser, no drawing.

The trace is read in its order. A `Sublayer` runs from the stream it reads to the sum it leaves; a norm recorded
before its body hangs on the branch, one recorded after the sum stands on the stave. A sublayer with attention weights
gets an attention detour, any other a chain of its values. Keys that come from another stack's vectors bring a thread
from there. So another norm order or architecture is another trace, not other drawing code.

A picture is a list of items, each a dict: `kind`, a place (`x y w h`, `d`, `ys`), and

    p      the path it shows or belongs to: it is pale until a walk through the pass has reached that value
    hit    it answers to the pointer      mode   its colours: signed, query, key, value, weight, mask

Coordinates are those of a picture 1076 wide (`wide`) or 358 wide (`upright`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from unicodedata import east_asian_width

from explorer import glossary
from explorer.trace import Trace
from explorer.words import Words

WIDTH, UPRIGHT_WIDTH = 1076, 358
ALL_SHOWN, SHOWN = 24, 20  # texts up to 24 tokens are shown whole, longer ones through a window of 20
LEAST_WEIGHT = 0.07  # weaker curves between two texts are left out

Part = str | tuple[str, str]  # a text, or a text and its style: i mathematics, s lowered, r raised, b strong, q k v


@dataclass(frozen=True)
class Sublayer:
    """What happens between two states of the stream: paths, in the order of the pass."""

    name: str  # decoder.layers.1.self_attention
    input: str
    before: tuple[str, ...]  # a norm on the branch
    body: tuple[str, ...]
    sum: str
    after: tuple[str, ...]  # a norm on the stave

    @property
    def word(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def end(self) -> str:
        """The stream that it leaves."""
        return self.after[-1] if self.after else self.sum

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.input, *self.before, *self.body, self.sum, *self.after)

    @property
    def attends(self) -> bool:
        return f"{self.name}.weights" in self.body


@dataclass(frozen=True)
class Stack:
    """One stream: its entrance, its layers, and what follows them."""

    name: str
    embedding: tuple[str, ...]
    layers: tuple[tuple[Sublayer, ...], ...]
    norm: tuple[str, ...]

    @property
    def ids(self) -> str:
        return f"{self.name}.embedding.ids"

    @property
    def end(self) -> str:
        return self.norm[-1] if self.norm else self.layers[-1][-1].end


def stacks(trace: Trace) -> list[Stack]:
    """The streams of a pass, read from the order of its paths."""
    found = []
    for ids in [path for path in trace if path.endswith(".embedding.ids")]:
        name = ids.split(".")[0]
        own = [path for path in trace if path.startswith(f"{name}.")]
        layers: list[list[Sublayer]] = []
        inputs = [path for path in own if path.endswith("_residual.input")]
        for path in inputs:
            residual = path.rpartition(".")[0]
            body_name = residual.removesuffix("_residual")
            total = f"{residual}.sum"
            norm = [other for other in own if other.startswith(f"{residual}.norm.")]
            number = int(residual.split(".")[2])
            if number == len(layers):
                layers.append([])
            layers[number].append(
                Sublayer(
                    body_name,
                    path,
                    tuple(other for other in norm if trace.before(other, total)),
                    tuple(other for other in own if other.startswith(f"{body_name}.")),
                    total,
                    tuple(other for other in norm if trace.before(total, other)),
                )
            )
        found.append(
            Stack(
                name,
                tuple(path for path in own if path.startswith(f"{name}.embedding.")),
                tuple(map(tuple, layers)),
                tuple(path for path in own if path.startswith(f"{name}.norm.")),
            )
        )
    return found


def window(length: int, focus: int) -> tuple[int, int]:
    """The positions that are shown, from and up to: all of a short text, of a long one those around the focus."""
    if length <= ALL_SHOWN:
        return 0, length
    start = min(max(focus - SHOWN // 2, 0), length - SHOWN)
    return start, start + SHOWN


def cells(width: int, heads: int = 1) -> int:
    """How many cells a vector is drawn with: 32 at most, shared by its heads; neighbours are put together."""
    share = max(1, 32 // heads)
    return heads * min(width // heads, share)


@dataclass(frozen=True)
class Chip:
    """A token as a picture names it."""

    text: str
    id: int
    spaces: int = 0
    special: bool = False
    part: bool = False
    whole: str = ""  # what a tooltip says: the bytes of a part


def look(token: Chip) -> dict:
    """How a chip is drawn."""
    return {"spaces": token.spaces, "special": token.special, "part": token.part}


@dataclass(frozen=True)
class Prediction:
    """The best tokens at one position, with their probabilities and logits; `claim` is next, masked or none."""

    claim: str
    position: int = 0
    best: tuple[tuple[Chip, float, float], ...] = ()


@dataclass(frozen=True)
class View:
    """What a picture is asked to show: the pass, its tokens by stack, the layer that is open, who is in focus."""

    trace: Trace
    tokens: Mapping[str, Sequence[Chip]]
    layer: int
    focus: Mapping[str, int]
    prediction: Prediction
    words: Words


def text_width(text: str, size: float = 12) -> float:
    """About how wide a text is in the sans of the pictures."""
    width = 0.0
    for character in text:
        if east_asian_width(character) in "WF":
            width += 0.92
        elif character in "il.,;:'|!·()[]⟨⟩/ ":
            width += 0.28
        elif character in "mwMW@%":
            width += 0.82
        elif character.isupper():
            width += 0.6
        else:
            width += 0.5
    return width * size


def shortened(text: str, width: float, size: float = 12) -> str:
    """A text that fits: its end gives way to an ellipsis."""
    if text_width(text, size) <= width:
        return text
    while text and text_width(f"{text}…", size) > width:
        text = text[:-1]
    return f"{text}…"


MODES = {
    "signed": "signed",
    "score": "signed",
    "query": "query",
    "key": "key",
    "value": "value",
    "weight": "weight",
    "probability": "weight",
    "mask": "mask",
    "id": "id",
}


@dataclass
class Picture:
    """The items of one picture, and how large it is."""

    view: View
    width: float
    height: float = 0
    items: list[dict] = field(default_factory=list)
    legend: dict | None = None

    def add(self, kind: str, **place) -> dict:
        item = {"kind": kind, **{name: value for name, value in place.items() if value is not None}}
        self.items.append(item)
        return item

    def word(self, name: str, **numbers) -> str:
        return self.view.words(f"stave.{name}", **numbers)

    def mode(self, path: str) -> str:
        return MODES[glossary.entry(path).role]

    # -- parts ---------------------------------------------------------------------------------------------------

    def text(self, x, y, parts: Part | Sequence[Part], size=12, anchor=None, tone=None, p=None, **more) -> dict:
        parts = [parts] if isinstance(parts, str) else list(parts)
        return self.add("text", x=x, y=y, parts=parts, size=size, anchor=anchor, tone=tone, p=p, **more)

    def strip(self, x, w, stack: str, p: str, ys: Sequence[float], h: float, count: int = 8) -> dict:
        """A value on the stave: one row of cells on each line."""
        width = self.view.trace[p].tensor.shape[-1]
        return self.add(
            "strip", x=x, w=w, ys=ys, h=h, p=p, mode=self.mode(p), cols=min(count, width), stack=stack, hit=True
        )

    def plate(self, x, y, w, h, p: str, stack: str, **more) -> dict:
        """A value as a matrix: rows are positions; heads side by side."""
        return self.add("plate", x=x, y=y, w=w, h=h, p=p, mode=self.mode(p), stack=stack, hit=True, **more)

    def arrow(self, d: str, p: str, colour: str | None = None, head: bool = True) -> dict:
        return self.add("arrow", d=d, p=p, colour=colour, head=head)

    def plus(self, x, y0, y1, p: str, w=14) -> dict:
        return self.add("plus", x=x, y=y0 - 3, w=w, h=y1 - y0 + 6, p=p)

    def weight(self, x, y, letter: str, parameter: str, p: str) -> dict:
        """A matrix of weights, written on the arrow."""
        return self.text(x, y, [("W", "i"), (letter, "is")], tone="second", p=p, parameter=parameter)

    def norm_motif(self, norm: Sequence[str], stack: str, ys=None, h=13, x=0.0, y=0.0, w=44.0, across=0.0) -> float:
        """A norm's four values in a row: mean, variance, normalised, output. On the lines `ys`, or as plates."""
        thin = 5 if w >= 40 else 3
        gap = 2 if w >= 40 else 1
        wide = (w - 2 * thin - 3 * gap) / 2
        for path, width in zip(norm, (thin, thin, wide, wide), strict=True):
            if ys is not None:
                self.strip(x, width, stack, path, ys, h, 1 if width == thin else 6)
            else:
                self.plate(x, y, width, across, path, stack)
            x += width + gap
        return x - gap


@dataclass(frozen=True)
class Lines:
    """The lines of one stack's stave: which positions they are and where they run."""

    stack: Stack
    start: int
    stop: int
    length: int
    pitch: float
    top: float
    focus: int

    @property
    def ys(self) -> list[float]:
        return [round(self.top + (i + 0.5) * self.pitch, 2) for i in range(self.stop - self.start)]

    @property
    def bottom(self) -> float:
        return self.top + (self.stop - self.start) * self.pitch

    @property
    def strip(self) -> float:
        """How high a row of cells is."""
        return min(13, self.pitch - 3)

    @property
    def count(self) -> int:
        return self.stop - self.start


def lines(view: View, stack: Stack, pitch: float, top: float) -> Lines:
    length = len(view.tokens[stack.name])
    focus = view.focus[stack.name]
    return Lines(stack, *window(length, focus), length, pitch, top, focus)


def pitch_for(rows: int) -> float:
    return 17 if rows <= 14 else 12


def path_from(*points: tuple[float, float], radius: float = 8) -> str:
    """A line through points, only upright and level, with round corners."""
    d = f"M{points[0][0]:g} {points[0][1]:g}"
    for before, here, after in zip(points, points[1:], points[2:], strict=False):
        first = min(radius, (abs(here[0] - before[0]) + abs(here[1] - before[1])) / 2)
        second = min(radius, (abs(after[0] - here[0]) + abs(after[1] - here[1])) / 2)
        r = min(first, second)
        d += f"L{_toward(here, before, r)}Q{here[0]:g} {here[1]:g} {_toward(here, after, r)}"
    return d + f"L{points[-1][0]:g} {points[-1][1]:g}"


def _toward(here, there, r) -> str:
    dx, dy = there[0] - here[0], there[1] - here[1]
    length = (dx * dx + dy * dy) ** 0.5 or 1
    return f"{here[0] + dx / length * r:g} {here[1] + dy / length * r:g}"


def grid(
    count: int, rows: int, columns: int, width: float, height: float, gap: float, most: float, lift: float = 0
) -> tuple[int, float]:
    """How to lay `count` maps of rows x columns into a space: how many side by side, and the size of a cell.

    `lift` is the height of what stands above each map.
    """
    best = (1, 0.0)
    for across in range(1, count + 1):
        down = -(-count // across)
        wide = (width - (across - 1) * gap) / across / columns
        high = (height - lift - (down - 1) * (gap + lift)) / down / rows
        cell = max(0.5, min(wide, high, most))
        cell = int(cell) if cell >= 6 else int(cell * 2) / 2
        if cell > best[1] or (cell == best[1] and down < -(-count // best[0])):
            best = (across, cell)
    return best


# -- the parts of a stave ----------------------------------------------------------------------------------------


def tokens(picture: Picture, at: Lines, chip_width: float, id_x: float) -> None:
    """Chips and ids at the left end, and what a window leaves out."""
    boxed = at.pitch >= 16
    height = 16 if boxed else at.pitch
    for i, y in enumerate(at.ys):
        position = at.start + i
        chip = picture.view.tokens[at.stack.name][position]
        focus = position == at.focus and at.stack.name == _last(picture)
        picture.add(
            "chip",
            x=0,
            y=y - height / 2,
            w=chip_width,
            h=height,
            stack=at.stack.name,
            position=position,
            text=shortened(chip.text, chip_width - 11, 12 if boxed else 11),
            **look(chip),
            focus=focus,
            bare=not boxed and not focus,
            p=at.stack.ids,
            hit=True,
        )
        picture.text(id_x, y + 4, str(chip.id), 11, "end", "second", at.stack.ids)
    for hidden, y, to in ((at.start, at.top - 9, at.start - 1), (at.length - at.stop, at.bottom + 13, at.stop)):
        if hidden:
            picture.add(
                "more",
                x=0,
                y=y - 9,
                w=chip_width + 30,
                h=12,
                stack=at.stack.name,
                position=to,
                text=picture.word("more", n=hidden),
                p=at.stack.ids,
            )


def entrance(picture: Picture, at: Lines, x: float, hang: int, plate_height: float) -> float:
    """Embedding: the token's vector, scaled, a place added. The places hang from their plus. Returns the next x."""
    name = f"{at.stack.name}.embedding"
    small = hang and plate_height < 60
    width = 9 if small else 12
    picture.strip(x, width, at.stack.name, f"{name}.tokens", at.ys, at.strip, 4)
    picture.strip(x + width + 3, width, at.stack.name, f"{name}.scaled", at.ys, at.strip, 4)
    plus = x + 2 * width + 14
    picture.plus(plus, at.top, at.bottom, f"{name}.output")
    half = 18 if small else 22
    if hang > 0:
        y = at.bottom + 32
        picture.arrow(f"M{plus:g} {y - 2:g}V{at.bottom + 5:g}", f"{name}.output")
        picture.text(
            plus, y + plate_height + 16, picture.word("positions"), 12, "middle", "second", f"{name}.positions"
        )
    else:
        y = at.top - 24 - plate_height
        picture.arrow(f"M{plus:g} {y + plate_height + 2:g}V{at.top - 6:g}", f"{name}.output")
        picture.text(plus, y - 7, picture.word("positions"), 12, "middle", "second", f"{name}.positions")
    picture.plate(plus - half, y, 2 * half, plate_height, f"{name}.positions", at.stack.name, tick=True)
    picture.strip(plus + 12, width, at.stack.name, f"{name}.output", at.ys, at.strip, 4)
    return plus + 12 + width


def compact(picture: Picture, at: Lines, x: float, number: int, hang: int, width: float, label_y: float) -> float:
    """A closed layer: its real maps and one thumbnail of each chain, on the same stave. A click opens it."""
    layer = at.stack.layers[number]
    attending = [sublayer for sublayer in layer if sublayer.attends]
    others = [sublayer for sublayer in layer if not sublayer.attends]
    inner = width - 12
    maps = []
    for sublayer in attending:
        weights = f"{sublayer.name}.weights"
        heads = picture.view.trace[weights].tensor.shape[0]
        across = 2 if heads > 4 or (len(attending) > 1 and heads > 2) else 1
        side = min(24.0, (inner - (across - 1) * 2) / across)
        maps.append((sublayer, weights, heads, across, side))
    height = 8 + sum(-(-heads // across) * (side + 3) + 3 for _, _, heads, across, side in maps)
    height += len(others) * (min(24, inner) + 4) + 2
    top = at.bottom + 32 if hang > 0 else at.top - 32 - height
    end = layer[-1].end
    step = width / (len(layer) + 0.0)
    for i, sublayer in enumerate(layer):
        px = x + step * (i + 0.5)
        edge = (at.bottom, top) if hang > 0 else (at.top, top + height)
        way = 5 if hang > 0 else -5
        picture.add("twig", d=f"M{px:g} {edge[0] + way:g}V{edge[1]:g}", p=sublayer.sum)
        picture.plus(px - (2 if sublayer.after else 0), at.top, at.bottom, sublayer.sum, 8 if step > 13 else 7)
        if sublayer.after:
            picture.add("sliver", x=px + 3.5, y=at.top - 2, w=3, h=at.bottom - at.top + 4, p=sublayer.end)
    picture.add(
        "layer",
        x=x,
        y=top,
        w=width,
        h=height,
        stack=at.stack.name,
        layer=number,
        p=end,
        begins=layer[0].input,
        text=picture.word("layer", n=number),
        hit=True,
    )
    y = top + 8
    for _, weights, heads, across, side in maps:
        rows = -(-heads // across)
        left = x + (width - across * side - (across - 1) * 2) / 2
        for head in range(heads):
            picture.add(
                "thumb",
                x=left + head % across * (side + 2),
                y=y + head // across * (side + 3),
                w=side,
                h=side,
                p=weights,
                head=head,
                mode="weight",
                layer=number,
            )
        y += rows * (side + 3) + 3
    for sublayer in others:
        side = min(24, inner)
        picture.add(
            "thumb", x=x + (width - side) / 2, y=y, w=side, h=side, p=sublayer.body[-2], mode="signed", layer=number
        )
        y += side + 4
    picture.text(x + width / 2, label_y, picture.word("layer", n=number), 12, "middle", "second", end)
    return x + width


def after_sum(picture: Picture, at: Lines, x: float, sublayer: Sublayer, small: bool) -> float:
    """The sum on the stave and, where the norm stands there, the norm with its values. Returns the next x."""
    width = 8 if small else 18
    picture.strip(x, width, at.stack.name, sublayer.sum, at.ys, at.strip, 4 if small else 8)
    return (
        stave_norm(picture, at, x + width + (3 if small else 4), sublayer.after, small) if sublayer.after else x + width
    )


def stave_norm(picture: Picture, at: Lines, x: float, norm: Sequence[str], small: bool) -> float:
    """A norm that stands on the stave: its capsule, then its values."""
    width = 12 if small else 16
    picture.add(
        "norm",
        x=x,
        y=at.top - 3,
        w=width,
        h=at.bottom - at.top + 6,
        upright=True,
        text=picture.word("norm"),
        p=norm[-1],
    )
    x += width + 3
    return picture.norm_motif(norm, at.stack.name, at.ys, at.strip, x, w=24 if small else 40)


def read(picture: Picture, at: Lines, x: float, to: float, sublayer: Sublayer, hang: int) -> None:
    """Dots on the lines: a copy is read there."""
    start = at.ys[0] if hang > 0 else at.ys[-1]
    picture.add("comb", x=x, ys=at.ys, y0=start, y1=to, p=sublayer.input, hit=True, stack=at.stack.name)


def chain_arrow(y: float, x0: float, x1: float) -> str:
    return f"M{x0:g} {y:g}H{x1:g}"


# -- one stave, with room ----------------------------------------------------------------------------------------


def attention_with_room(
    picture: Picture, at: Lines, x: float, sublayer: Sublayer, plate_width: float, wide_maps: bool
) -> tuple:
    """An attention detour that hangs from a single stave. Returns its plus, its right end and its lower end."""
    view, name, stack = picture.view, sublayer.name, at.stack.name
    trace = view.trace
    heads, queries, keys = trace[f"{name}.weights"].tensor.shape
    y1, n = at.bottom, at.count
    high = min(max(7 * n, 62), 84 if n <= 14 else 104)
    rows = [y1 + 76 + i * (high + 29) for i in range(3)]  # queries, keys, values
    cx, px = x + 30, x + 64
    room = rows[2] + high / 2 - 34 - (y1 + 104)
    area = 204.0
    corner = not bool(trace[f"{name}.allowed"].tensor[at.start, at.stop - 1])
    lift = 0 if corner else 13  # where the corner of a map is not masked, its head's number stands above it
    across, cell = grid(heads, n, n, area, room, 10, 14, lift)
    if cell < 6 and wide_maps:
        area = 258.0
        across, cell = grid(heads, n, n, area, room, 10, 14, lift)
    mx = px + plate_width + 46
    down = -(-heads // across)
    gap = 10
    side_w = across * n * cell + (across - 1) * gap
    side_h = down * n * cell + (down - 1) * (gap + lift)
    area = max(min(area, side_w), 204)
    hx = mx + area + (18 if area == 204 else 25)
    ground = picture.add("ground", x=x, y=y1 + 14, w=hx + 46 + 14 - x, h=rows[2] + high + 28 - y1 - 14)

    branch = y1 + 32
    if sublayer.before:
        read(picture, at, cx, branch, sublayer, 1)
        picture.add("norm", x=cx - 22, y=branch, w=44, h=18, text=picture.word("norm"), p=sublayer.before[-1])
        picture.norm_motif(sublayer.before, stack, x=cx - 22, y=branch + 22, w=44, across=24)
        branch += 48
    else:
        read(picture, at, cx, branch, sublayer, 1)
    picture.text(px, y1 + 34, picture.word(sublayer.word), 13, p=sublayer.body[0], strong=True)
    picture.text(px, y1 + 49, picture.word(f"{sublayer.word}_does"), 11, tone="second", p=sublayer.body[0])
    for (letter, value), y in zip((("Q", "queries"), ("K", "keys"), ("V", "values")), rows, strict=True):
        path = f"{name}.{value}"
        centre = y + high / 2
        picture.arrow(path_from((cx, branch), (cx, centre), (px - 7, centre)), path)
        picture.weight(cx + 7, centre + 15, letter, f"{name}.w_{letter.lower()}.weight", path)
        picture.plate(px, y, plate_width, high, path, stack, bar=True, tick=True)
        picture.text(px, y - 10, [(letter, f"i{letter.lower()}"), (f" {picture.word(value)}", letter.lower())], p=path)

    # queries meet keys; four steps from their products to the weights
    nx, ny = px + plate_width + 17, rows[1] - 15
    raw = f"{name}.raw_scores"
    picture.arrow(
        path_from((px + plate_width + 3, rows[0] + high / 2), (nx, rows[0] + high / 2), (nx, ny - 12)), raw, "query"
    )
    picture.arrow(
        path_from((px + plate_width + 3, rows[1] + high / 2), (nx, rows[1] + high / 2), (nx, ny + 12)), raw, "key"
    )
    picture.add("circle", x=nx, y=ny, r=9.5, sign="·", p=raw)
    steps = [f"{name}.{value}" for value in ("raw_scores", "scores", "allowed", "masked_scores")]
    labels = [
        [("Q", "iq"), ("K", "ik"), ("⊤", "r")],
        ["÷ √", ("d", "i"), ("k", "is")],
        [picture.word("mask")],
        [picture.word("masked")],
    ]
    ty, size = y1 + 34, 34.0
    gutter = (204 - 4 * size) / 3
    picture.arrow(
        path_from((nx + 10, ny), (mx - 13, ny), (mx - 13, ty + size / 2), (mx - 4, ty + size / 2), radius=6), raw
    )
    for i, (path, label) in enumerate(zip(steps, labels, strict=True)):
        tx = mx + i * (size + gutter)
        picture.text(tx + size / 2, ty - 6, label, 11, "middle", "second", path)
        picture.add(
            "maps", x=tx, y=ty, w=size, h=size, p=path, mode=picture.mode(path), stack=stack, hit=True, across=0
        )
        if i:
            picture.arrow(chain_arrow(ty + size / 2, tx - gutter + 4, tx - 4), path)
    weights = f"{name}.weights"
    last = mx + 3 * (size + gutter) + size / 2
    my = y1 + 104 + lift
    picture.arrow(f"M{last:g} {ty + size + 4:g}V{my - lift - 5:g}", weights, "weight")
    picture.text(mx, my - lift - 11, picture.word("weights"), 12, p=weights, strong=True)
    picture.text(last - 7, my - lift - 11, "softmax", 11, "end", "second", weights)
    picture.add(
        "maps",
        x=mx,
        y=my,
        w=side_w,
        h=side_h,
        p=weights,
        mode="weight",
        stack=stack,
        hit=True,
        across=across,
        cell=cell,
        gap=gap,
        lift=lift,
        named=cell * n >= 44,
        focus=True,
    )

    # the weighted sum of values, the heads side by side, and out
    vy, sx = rows[2] + high / 2, mx + min(side_w, area) / 2
    z = f"{name}.heads"
    picture.arrow(f"M{px + plate_width + 4:g} {vy:g}H{sx - 13:g}", z, "value")
    picture.arrow(f"M{sx:g} {my + side_h + 4:g}V{vy - 13:g}", z, "weight")
    picture.add("circle", x=sx, y=vy, r=9.5, sign="×", p=z)
    picture.text(sx, vy + 28, picture.word("average"), 11, "middle", "second", z)
    picture.arrow(f"M{sx + 11:g} {vy:g}H{hx - 5:g}", z, "value")
    ax = hx + 23
    picture.plate(hx, rows[2], 46, high, z, stack, bar=True)
    picture.text(ax, rows[2] + high + 16, picture.word("heads"), 11, "middle", "second", z)
    concat, output = f"{name}.concat", f"{name}.output"
    picture.plate(hx, rows[1], 46, high, concat, stack)
    picture.arrow(f"M{ax:g} {rows[2] - 8:g}V{rows[1] + high + 5:g}", concat)
    picture.text(ax - 8, rows[2] - 11, picture.word("concat"), 11, "end", "second", concat)
    picture.plate(hx, rows[0], 46, high, output, stack, tick=True)
    picture.arrow(f"M{ax:g} {rows[1] - 4:g}V{rows[0] + high + 5:g}", output)
    picture.weight(ax + 8, rows[1] - 10, "O", f"{name}.w_o.weight", output)
    picture.text(ax - 8, rows[1] - 10, picture.word("output"), 11, "end", "second", output)
    picture.arrow(f"M{ax:g} {rows[0] - 4:g}V{y1 + 6:g}", sublayer.sum)
    picture.plus(ax, at.top, at.bottom, sublayer.sum)
    return ax, ground["x"] + ground["w"], ground["y"] + ground["h"]


def chain_with_room(picture: Picture, at: Lines, x: float, sublayer: Sublayer, plate_width: float) -> tuple:
    """A feed-forward detour that hangs from a single stave: hidden, the bend, activated, output."""
    name, stack = sublayer.name, at.stack.name
    hidden, activated, output = sublayer.body
    y1, n = at.bottom, at.count
    high = min(max(6 * n, 62), 96)
    left, gap = x + 12, 12
    right = left + plate_width + gap
    cx, cx2 = left + 22, right + plate_width - 22
    top = y1 + 110
    middle = (cx + cx2) / 2
    bend = top + high + 46
    ground = picture.add("ground", x=x, y=y1 + 14, w=2 * plate_width + gap + 24, h=bend + 84 - y1 - 14)
    branch = y1 + 32
    read(picture, at, cx, branch, sublayer, 1)
    if sublayer.before:
        picture.add("norm", x=cx - 22, y=branch, w=44, h=18, text=picture.word("norm"), p=sublayer.before[-1])
        picture.norm_motif(sublayer.before, stack, x=cx - 22, y=branch + 22, w=44, across=24)
        branch += 48
    picture.arrow(f"M{cx:g} {branch:g}V{top - 5:g}", hidden)
    picture.weight(cx + 8, top - 11, "1", f"{name}.w_1.weight", hidden)
    picture.plate(left, top, plate_width, high, hidden, stack, tick=True)
    picture.plate(right, top, plate_width, high, activated, stack, tick=True)
    picture.arrow(path_from((cx, top + high + 4), (cx, bend), (middle - 33, bend)), activated)
    picture.add("curve", x=middle - 28, y=bend - 24, w=56, h=48, p=activated)
    activation = picture.view.trace.config.activation
    picture.text(middle, bend + 38, {"gelu": "GELU", "relu": "ReLU"}[activation], 11, "middle", "second", activated)
    picture.text(middle, bend + 59, picture.word(sublayer.word), 13, "middle", p=hidden, strong=True)
    picture.text(middle, bend + 74, picture.word(f"{sublayer.word}_does"), 11, "middle", "second", hidden)
    picture.arrow(path_from((middle + 28, bend), (cx2, bend), (cx2, top + high + 5)), activated)
    picture.arrow(f"M{cx2:g} {top - 4:g}V{y1 + 54 + 24 + 5:g}", output)
    picture.weight(cx2 + 8, top - 11, "2", f"{name}.w_2.weight", output)
    picture.plate(cx2 - 22, y1 + 54, 44, 24, output, stack)
    picture.arrow(f"M{cx2:g} {y1 + 50:g}V{y1 + 6:g}", sublayer.sum)
    picture.plus(cx2, at.top, at.bottom, sublayer.sum)
    return cx2, ground["x"] + ground["w"], ground["y"] + ground["h"]


def single(
    view: View, stack: Stack, plate_width: float, chain_width: float, slack: float = 0, wide_maps: bool = True
) -> tuple:
    """The picture of a pass with one stave, and where its stave ends."""
    picture = Picture(view, WIDTH)
    n = window(len(view.tokens[stack.name]), view.focus[stack.name])
    at = lines(view, stack, pitch_for(n[1] - n[0]), 44)
    more = 12 if at.start else 0
    at = lines(view, stack, at.pitch, 44 + more)
    embedding = f"{stack.name}.embedding"
    picture.text(0, 18, picture.word("tokens"), 12, strong=True)
    picture.text(0, 33, picture.word("ids"), 12, tone="second")
    tokens(picture, at, 66, 96)
    picture.text(104, at.top - 26, picture.word("embedding"), 12, strong=True, p=f"{embedding}.tokens")
    picture.text(111, at.top - 10, [("E", "i")], 13, "middle", p=f"{embedding}.tokens", parameter=f"{embedding}.weight")
    x = entrance(picture, at, 104, 1, 84) + 10 + slack / 4
    lowest = at.bottom + 32 + 84 + 20
    for number in range(view.layer):
        x = compact(picture, at, x, number, 1, 40, at.top - 10) + 5 + slack / 12
    opened = x + slack / 6
    for i, sublayer in enumerate(stack.layers[view.layer]):
        if sublayer.attends:
            label = _state(picture, at, x, sublayer.input)
            picture.strip(x, 18, stack.name, sublayer.input, at.ys, at.strip)
            x += label + slack / 12
            plus, end, low = attention_with_room(picture, at, x, sublayer, plate_width, wide_maps)
        else:
            plus, end, low = chain_with_room(picture, at, x, sublayer, chain_width)
        lowest = max(lowest, low)
        after = after_sum(picture, at, plus + 12, sublayer, False)
        _state(picture, at, plus + 12, sublayer.sum, sublayer.end)
        last = plus
        nearest = 30 if i + 1 < len(stack.layers[view.layer]) else 0  # the next comb stands this far inside its ground
        x = max(end + 8, after + 10 - nearest) if nearest else after + 10
        chain_low = low
        if sublayer.attends:
            attention_end = end
    picture.add("bracket", x0=opened, x1=last + 8, y=5, way=1)
    picture.text((opened + last) / 2, 24, picture.word("opened", n=view.layer), 12, "middle", "accent", strong=True)
    for number in range(view.layer + 1, len(stack.layers)):
        x = compact(picture, at, x, number, 1, 40, at.top - 10) + 5 + slack / 12
    if stack.norm:
        x = stave_norm(picture, at, x, stack.norm, False)
    end = x + 6
    right = WIDTH - 9
    by = chain_low + (27 if attention_end < 736 else 20)
    bottom = prediction(picture, at, max(744, attention_end + 14), by, right)
    _stave(picture, at, 98, right if view.prediction.claim != "none" else end, right, by)
    picture.legend = {"x": 0, "y": at.bottom + 32 + 84 + 40, "w": 215}
    picture.height = max(lowest, bottom, picture.legend["y"] + 302) + 4
    return picture, end


def _state(picture: Picture, at: Lines, x: float, path: str, end: str | None = None) -> float:
    """The stream's symbol above its strip; returns how far the next thing stands away."""
    number = int(path.split(".")[2])
    sublayer = path.split(".")[3]
    if path.endswith(".input"):
        parts = [("x", "i"), (str(number), "s")]
    elif sublayer.startswith("feed_forward"):
        parts = [("x", "i"), (str(number + 1), "s")]
    else:
        parts = [("x", "i"), (str(number), "s"), "′"]
    picture.text(x + 9, at.top - 10, parts, 13, "middle", p=end or path)
    return 26


def _stave(picture: Picture, at: Lines, x0: float, x1: float, right: float, by: float) -> None:
    """The lines, first of all and under everything; the line whose prediction is shown runs on to it."""
    claimed = picture.view.prediction.position if picture.view.prediction.claim != "none" else None
    threads = []
    for i, y in enumerate(at.ys):
        position = at.start + i
        focus = position == at.focus
        if position == claimed:
            d = path_from((x0, y), (right, y), (right, by), (right - 16, by), radius=16)
        else:
            d = f"M{x0:g} {y:g}H{x1 - 10:g}"
        threads.append(
            {
                "kind": "thread",
                "d": d,
                "focus": focus,
                "stack": at.stack.name,
                "position": position,
                "x0": x0,
                "x1": x1 - 10,
                "y": y,
            }
        )
    picture.items[:0] = sorted(threads, key=lambda thread: thread["focus"])


def prediction(picture: Picture, at: Lines, x: float, y: float, right: float) -> float:
    """The best predictions with their probabilities; for a text without a mask, that nothing is claimed.

    The stream arrives from the right, at height y. Returns the lower end.
    """
    shown = picture.view.prediction
    trace = picture.view.trace
    table = next(path for path in glossary.inputs("logits", trace).values() if path in trace.parameters)
    product = [("x", "i"), (" E", "i"), ("⊤", "r")]
    if shown.claim == "none":
        for i, line in enumerate(wrapped(picture.word("no_mask"), right - x, 13)):
            picture.text(x, y + 5 + 18 * i, line, 13, strong=True)
            y += 18 * bool(i)
        for i, line in enumerate(wrapped(picture.word("no_mask_do"), right - x, 12)):
            picture.text(x, y + 24 + 17 * i, line, 12, tone="second")
            y += 17 * bool(i)
        picture.add("pill", x=x, y=y + 38, w=44, h=24, parts=product, p="logits", parameter=table, hit=True)
        picture.add("pill", x=x + 54, y=y + 38, w=58, h=24, parts=["softmax"], p="probabilities", hit=True)
        picture.arrow(f"M{x + 44:g} {y + 50:g}H{x + 53:g}", "probabilities", head=False)
        return y + 66
    end = right - 16
    logits, probabilities = end - 44, end - 44 - 10 - 58
    picture.add("pill", x=logits, y=y - 12, w=44, h=24, parts=product, p="logits", parameter=table, hit=True)
    picture.add("pill", x=probabilities, y=y - 12, w=58, h=24, parts=["softmax"], p="probabilities", hit=True)
    picture.arrow(f"M{logits:g} {y:g}H{probabilities + 60:g}", "probabilities", head=False)
    chip = picture.view.tokens[at.stack.name][shown.position]
    label = shortened(chip.text, 58)
    chip_width = text_width(label) + 13
    heading = picture.word("next" if shown.claim == "next" else "masked_token", n=shown.position, chip="{chip}")
    before, _, after = (part.strip() for part in heading.partition("{chip}"))
    needed = sum(text_width(part, 13.8) + 8 for part in (before, after) if part) + chip_width
    narrow = x + needed > probabilities - 6
    if narrow:
        y += 28
    cursor = x
    if before:
        picture.text(cursor, y + 5, before, 13, strong=True, p="logits")
        cursor += text_width(before, 13.8) + 8
    picture.add(
        "chip",
        x=cursor,
        y=y - 9,
        w=chip_width,
        h=18,
        stack=at.stack.name,
        position=shown.position,
        text=label,
        **look(chip),
        focus=shown.position == at.focus,
        p="logits",
    )
    if after:
        picture.text(cursor + chip_width + 8, y + 5, after, 13, strong=True, p="logits")
    wide = end - x - 72 - 46
    scale = wide / max(0.45, max(share for _, share, _ in shown.best))
    for i, (chip, share, logit) in enumerate(shown.best):
        row = y + 20 + i * 21
        picture.add(
            "chip",
            x=x,
            y=row,
            w=62,
            h=18,
            text=shortened(chip.text, 50),
            **look(chip),
            p="probabilities",
        )
        picture.add(
            "bar",
            x=x + 72,
            y=row + 3,
            w=max(1, share * scale),
            h=12,
            best=i == 0,
            p="probabilities",
            position=shown.position,
            id=chip.id,
            share=share,
            logit=logit,
            hit=True,
            stack=at.stack.name,
        )
        picture.text(
            x + 72 + share * scale + 7,
            row + 13,
            percent(share),
            12,
            tone=None if i == 0 else "second",
            strong=i == 0,
            p="probabilities",
        )
    return y + 20 + len(shown.best) * 21


def wrapped(text: str, width: float, size: float) -> list[str]:
    """A text in lines that fit."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def percent(share: float) -> str:
    """A probability as a person reads it: two digits where there are any."""
    if share >= 0.995:
        return "> 99 %" if share < 1 else "100 %"
    return f"{share * 100:.0f} %" if share >= 0.0095 else f"{share * 100:.1f} %" if share >= 0.0005 else "< 0.1 %"


# -- two staves --------------------------------------------------------------------------------------------------


def attention_between(
    picture: Picture, at: Lines, x: float, sublayer: Sublayer, hang: int, memory: Stack | None, side: float
) -> dict:
    """An attention detour in the space between two staves. Returns its plus, right end, and where memory enters."""
    trace, name, stack = picture.view.trace, sublayer.name, at.stack.name
    heads = trace[f"{name}.weights"].tensor.shape[0]
    source = memory.name if memory else stack
    view = picture.view
    key_window = window(len(view.tokens[source]), view.focus[source])
    keys = key_window[1] - key_window[0]
    n = at.count
    high, step = 32.0, 43.0
    gap = 6
    across, cell = grid(heads, n, keys, side, side, gap, 8)
    down = -(-heads // across)
    side_w, side_h = across * keys * cell + (across - 1) * gap, down * n * cell + (down - 1) * gap
    tall = 72 + side
    y0 = at.bottom + 14 if hang > 0 else at.top - 14 - tall
    order = ("Q", "K", "V") if hang > 0 else ("V", "K", "Q")
    rows = {
        letter: y0 + 32 + (side - 106) / 2 * (0 if i == 0 else 1 if i == 1 else 2) + i * step
        for i, letter in enumerate(order)
    }
    cx, px, pw = x + 20, x + 50, 40.0
    tx, size = px + pw + 13, 18.0
    mx, my = tx + size + 13, y0 + 34
    area = max(side_w, 60)
    circle = mx + area + 11
    ox, ow = circle + 13, 24.0
    ax = ox + ow / 2
    picture.add("ground", x=x, y=y0, w=ox + ow + 9 - x, h=tall)
    picture.text(px, y0 + 20, picture.word(sublayer.word), 12, p=sublayer.body[0], strong=True)

    # what is read, from the stave and from the memory
    branch = at.bottom + 14 + 8 if hang > 0 else at.top - 14 - 8
    edge = branch
    if sublayer.before:
        capsule = branch if hang > 0 else branch - 14
        motif = capsule + 17 if hang > 0 else capsule - 15
        picture.add("norm", x=cx - 17, y=capsule, w=34, h=14, text=picture.word("norm"), p=sublayer.before[-1])
        picture.norm_motif(sublayer.before, stack, x=cx - 16, y=motif, w=32, across=12)
        edge = motif + 12 if hang > 0 else motif
    read(picture, at, cx, branch, sublayer, hang)
    entries = {}
    for letter, value in (("Q", "queries"), ("K", "keys"), ("V", "values")):
        path = f"{name}.{value}"
        y, centre = rows[letter], rows[letter] + high / 2
        origin = next(read for read in glossary.inputs(path, trace).values() if read in trace)
        if origin.split(".")[0] == stack:
            picture.arrow(path_from((cx, edge), (cx, centre), (px - 6, centre)), path)
        else:
            entries[letter] = (centre, path)
        picture.text(
            px - 8,
            centre - 6 if hang < 0 else centre + 13,
            [("W", "i"), (letter, "is")],
            11,
            "end",
            "second",
            path,
            parameter=f"{name}.w_{letter.lower()}.weight",
        )
        plate_stack = source if letter != "Q" else stack
        picture.plate(px, y, pw, high, path, plate_stack, bar=True, tick=letter == "Q" or memory is None)

    # products, scaled, masked, weights
    raw = f"{name}.raw_scores"
    steps = [f"{name}.{value}" for value in ("raw_scores", "scores", "allowed", "masked_scores")]
    pitch = (side - size) / 3
    places = [y0 + 34 + i * pitch for i in range(4)]
    if hang < 0:
        places.reverse()
    first = places[0] + size / 2
    q, k = rows["Q"] + high / 2, rows["K"] + high / 2
    join = px + pw + 6
    picture.arrow(path_from((px + pw + 2, k), (join, k), (join, first), (tx - 3, first), radius=4), raw, "key")
    picture.arrow(
        path_from((px + pw + 2, q - hang * 3), (join, q - hang * 3), (join, first), (tx - 3, first), radius=4),
        raw,
        "query",
    )
    for i, path in enumerate(steps):
        picture.add(
            "maps",
            x=tx,
            y=places[i],
            w=size,
            h=size,
            p=path,
            mode=picture.mode(path),
            stack=stack,
            hit=True,
            across=0,
            columns=source,
        )
        if i:
            before, here = (places[i - 1] + size, places[i]) if hang > 0 else (places[i - 1], places[i] + size)
            picture.arrow(f"M{tx + size / 2:g} {before + hang * 2:g}V{here - hang * 2:g}", path)
    weights = f"{name}.weights"
    last = places[3] + size / 2
    picture.arrow(f"M{tx + size + 2:g} {last:g}H{mx - 4:g}", weights, "weight")
    picture.add(
        "maps",
        x=mx,
        y=my,
        w=side_w,
        h=side_h,
        p=weights,
        mode="weight",
        stack=stack,
        hit=True,
        across=across,
        cell=cell,
        gap=gap,
        named=False,
        focus=True,
        columns=source,
    )

    # weighted sum, joined, out
    vy = rows["V"] + high / 2
    outer = y0 + tall - 11 if hang > 0 else y0 + 27
    z = f"{name}.heads"
    picture.arrow(
        path_from(
            (px + pw + 2, vy + hang * 6),
            (px + pw + 7, vy + hang * 6),
            (px + pw + 7, outer),
            (circle, outer),
            (circle, vy + hang * 9),
            radius=5,
        ),
        z,
        "value",
    )
    picture.arrow(f"M{mx + side_w + 2:g} {vy:g}H{circle - 9:g}", z, "weight")
    picture.add("circle", x=circle, y=vy, r=6.5, sign="×", p=z)
    picture.arrow(f"M{circle + 7:g} {vy:g}H{ox - 3:g}", z, "value", False)
    out = {"V": f"{name}.heads", "K": f"{name}.concat", "Q": f"{name}.output"}
    for letter, path in out.items():
        picture.plate(ox, rows[letter], ow, high, path, stack, bar=letter == "V")
    for start, stop in (("V", "K"), ("K", "Q")):
        a, b = (rows[start], rows[stop] + high) if hang > 0 else (rows[start] + high, rows[stop])
        picture.arrow(f"M{ax:g} {a - hang * (6 if start == 'V' and hang > 0 else 2):g}V{b + hang * 2:g}", out[stop])
    leave = rows["Q"] if hang > 0 else rows["Q"] + high
    picture.arrow(f"M{ax:g} {leave - hang * 3:g}V{at.bottom + 6 if hang > 0 else at.top - 6:g}", sublayer.sum)
    picture.plus(ax, at.top, at.bottom, sublayer.sum)
    return {"plus": ax, "end": ox + ow + 9, "cx": cx, "px": px, "entries": entries, "top": y0, "bottom": y0 + tall}


def chain_between(picture: Picture, at: Lines, x: float, sublayer: Sublayer, hang: int, side: float) -> dict:
    """A feed-forward detour in the space between two staves."""
    name, stack = sublayer.name, at.stack.name
    hidden, activated, output = sublayer.body
    tall = 72 + side
    y0 = at.bottom + 14 if hang > 0 else at.top - 14 - tall
    w = 100.0
    cx, cx2, pw = x + 22, x + w - 22, 40.0
    high = 40 + (side - 106) / 3

    def place(offset: float, height: float) -> float:
        """A part's top, measured from the stave outward."""
        return y0 + offset if hang > 0 else y0 + tall - offset - height

    picture.add("ground", x=x, y=y0, w=w, h=tall)
    picture.text(
        x + w / 2, y0 + (tall - 9 if hang > 0 else 18), picture.word(sublayer.word), 12, "middle", p=hidden, strong=True
    )
    start = at.bottom + 22 if hang > 0 else at.top - 22
    read(picture, at, cx, start, sublayer, hang)
    edge = start
    if sublayer.before:
        capsule = place(8, 14)
        motif = place(25, 14)
        picture.add("norm", x=cx - 17, y=capsule, w=34, h=14, text=picture.word("norm"), p=sublayer.before[-1])
        picture.norm_motif(sublayer.before, stack, x=cx - 16, y=motif, w=32, across=14)
        edge = motif + 14 if hang > 0 else motif
    top = place(62, high)
    near, far = (top, top + high) if hang > 0 else (top + high, top)
    picture.arrow(f"M{cx:g} {edge:g}V{near - hang * 4:g}", hidden)
    picture.text(
        cx + 6,
        near - hang * 10 + 4,
        [("W", "i"), ("1", "is")],
        11,
        None,
        "second",
        hidden,
        parameter=f"{name}.w_1.weight",
    )
    picture.plate(x + 6, top, pw, high, hidden, stack, tick=True)
    picture.plate(x + w - 6 - pw, top, pw, high, activated, stack)
    bend = place(62 + high + 8, 30) + 15
    middle = x + w / 2
    picture.arrow(path_from((cx, far + hang * 2), (cx, bend), (middle - 19, bend), radius=6), activated)
    picture.add("curve", x=middle - 16, y=bend - 14, w=32, h=28, p=activated)
    picture.arrow(path_from((middle + 16, bend), (cx2, bend), (cx2, far + hang * 3), radius=6), activated)
    out = place(25, 14)
    out_near, out_far = (out, out + 14) if hang > 0 else (out + 14, out)
    picture.arrow(f"M{cx2:g} {near - hang * 2:g}V{out_far + hang * 3:g}", output)
    picture.text(
        cx2 + 6,
        near - hang * 10 + 4,
        [("W", "i"), ("2", "is")],
        11,
        None,
        "second",
        output,
        parameter=f"{name}.w_2.weight",
    )
    picture.plate(cx2 - 16, out, 32, 14, output, stack)
    picture.arrow(f"M{cx2:g} {out_near - hang * 2:g}V{at.bottom + 6 if hang > 0 else at.top - 6:g}", sublayer.sum)
    picture.plus(cx2, at.top, at.bottom, sublayer.sum)
    return {"plus": cx2, "end": x + w}


def double(view: View, upper: Stack, lower: Stack) -> Picture:
    """The picture of a pass with two staves: detours between them, the upper stack's vectors running down."""
    picture = Picture(view, WIDTH)
    counts = [
        stop - start
        for start, stop in (window(len(view.tokens[stack.name]), view.focus[stack.name]) for stack in (upper, lower))
    ]
    pitch = min(17, max(12, int(272 / sum(counts))))
    side = min(max(106, 5 * max(counts) + 6 if max(counts) > 14 else 106), 150)
    tall = 72 + side
    above = lines(
        view, upper, pitch, 44 + (10 if window(len(view.tokens[upper.name]), view.focus[upper.name])[0] else 0)
    )
    lane_top = max(above.bottom + 14 + tall, above.top + 314)  # below the predictions at the right
    below_top = lane_top + 18 + tall + 14
    below = lines(view, lower, pitch, below_top)
    memory_end = glossary_memory(view.trace, lower)
    panel = 772.0

    ends = {}
    cross = None
    for at, hang in ((above, 1), (below, -1)):
        stack = at.stack
        name = picture.word(stack.name)
        label = at.top - 11 - (11 if at.start else 0)
        picture.text(0, label - 15, name, 13, strong=True)
        picture.text(0, label, picture.word(f"{stack.name}_text"), 12, tone="second")
        tokens(picture, at, 62, 92)
        symbol_y = at.top - 10 if hang > 0 else at.bottom + 18
        picture.text(
            105,
            symbol_y,
            [("E", "i")],
            12,
            "middle",
            p=f"{stack.name}.embedding.tokens",
            parameter=f"{stack.name}.embedding.weight",
        )
        x = entrance(picture, at, 100, hang, 48) + 10
        label_y = at.top - 10 if hang > 0 else at.bottom + 20
        for number in range(view.layer):
            x = compact(picture, at, x, number, hang, 36, label_y) + 6
        opened = x
        last = x
        for sublayer in stack.layers[view.layer]:
            if sublayer.attends:
                origin = next(
                    path for path in glossary.inputs(f"{sublayer.name}.keys", view.trace).values() if path in view.trace
                )
                memory = next((s for s in (upper, lower) if origin.startswith(f"{s.name}.") and s is not stack), None)
                placed = attention_between(picture, at, x, sublayer, hang, memory, side)
                if memory:
                    cross = (placed, sublayer)
            else:
                placed = chain_between(picture, at, x, sublayer, hang, side)
            after = after_sum(picture, at, placed["plus"] + 10, sublayer, True)
            last = placed["plus"]
            x = max(placed["end"] + 8, after + 8 - 20)
        x = max(placed["end"], after) + 8
        way = 1 if hang > 0 else -1
        edge = 5 if hang > 0 else at.bottom + 17
        if hang > 0:
            edge = at.top - 39
        picture.add("bracket", x0=opened, x1=last + 8, y=edge, way=way)
        picture.text(
            (opened + last) / 2,
            edge + 19 if hang > 0 else edge + 16,
            picture.word("opened", n=view.layer),
            12,
            "middle",
            "accent",
            strong=True,
        )
        for number in range(view.layer + 1, len(stack.layers)):
            x = compact(picture, at, x, number, hang, 36, label_y) + 6
        if stack.norm:
            x = stave_norm(picture, at, x, stack.norm, True) + 6
        ends[stack.name] = x

    # the upper stack's vectors, and their way to the lower stack's keys and values
    memory_x = ends[upper.name] + 14
    if memory_end:
        item = picture.strip(memory_x, 22, upper.name, memory_end, above.ys, above.strip)
        item["framed"] = True
        picture.text(memory_x + 11, above.top - 10, picture.word("memory"), 12, "middle", strong=True, p=memory_end)
    if cross:
        placed, sublayer = cross
        lane = lane_top + 9
        for i, (letter, (y, path)) in enumerate(sorted(placed["entries"].items(), key=lambda entry: entry[1][0])):
            shift = 3 if i == 0 else -3
            colour = {"K": "key", "V": "value", "Q": "query"}[letter]
            picture.arrow(
                path_from(
                    (memory_x + 11 + shift, above.bottom + 4),
                    (memory_x + 11 + shift, lane + shift),
                    (placed["cx"] + shift, lane + shift),
                    (placed["cx"] + shift, y),
                    (placed["px"] - 6, y),
                ),
                path,
                colour,
            )
    end = max(ends.values())
    right = WIDTH - 10
    by = above.top + 220
    best = 3 if len(view.prediction.best) > 3 else len(view.prediction.best)
    if cross:
        alignment(picture, above, below, cross[1], panel, WIDTH - panel)
    shown = Prediction(view.prediction.claim, view.prediction.position, view.prediction.best[:best])
    picture.view = View(view.trace, view.tokens, view.layer, view.focus, shown, view.words)
    prediction(picture, below, panel, by, right)
    _stave(picture, below, 94, ends[lower.name] + 6, right, by)
    _stave_only(picture, above, 94, memory_x + (22 if memory_end else 12))
    picture.legend = None
    picture.height = below.bottom + 36
    picture.end = end
    return picture


def glossary_memory(trace: Trace, stack: Stack) -> str | None:
    """Which vectors of another stack this one's keys are computed from, if any are."""
    for sublayer in stack.layers[0]:
        if sublayer.attends:
            for path in glossary.inputs(f"{sublayer.name}.keys", trace).values():
                if path in trace and not path.startswith(f"{stack.name}."):
                    return path
    return None


def _stave_only(picture: Picture, at: Lines, x0: float, x1: float) -> None:
    threads = [
        {
            "kind": "thread",
            "d": f"M{x0:g} {y:g}H{x1:g}",
            "focus": False,
            "stack": at.stack.name,
            "position": at.start + i,
            "x0": x0,
            "x1": x1,
            "y": y,
        }
        for i, y in enumerate(at.ys)
    ]
    picture.items[:0] = threads


def alignment(picture: Picture, above: Lines, below: Lines, sublayer: Sublayer, x: float, width: float) -> None:
    """Who looks at whom: curves from the lower stack's tokens to the upper's, as wide as the heads' mean weight."""
    path = f"{sublayer.name}.weights"
    weights = picture.view.trace[path].tensor
    mean = weights.float().mean(0).tolist()
    y0 = above.top - 44
    number = int(sublayer.name.split(".")[2])
    picture.text(x, y0 + 18, picture.word("alignment"), 13, strong=True, p=path)
    picture.text(x, y0 + 34, picture.word("alignment_of", n=number, heads=weights.shape[0]), 11, tone="second", p=path)
    top, bottom = y0 + 50, y0 + 182
    strongest = max(range(above.start, above.stop), key=lambda j: mean[below.focus][j])
    upper = _row(picture, above, x, width, top, strongest, path)
    lower = _row(picture, below, x, width, bottom, below.focus, path)
    for focus in (False, True):
        for i, x1 in lower.items():
            if (i == below.focus) is not focus:
                continue
            for j, x0 in upper.items():
                weight = mean[i][j]
                if weight >= LEAST_WEIGHT:
                    d = f"M{x1:g} {bottom:g}C{x1:g} {bottom - 60:g} {x0:g} {top + 80:g} {x0:g} {top + 20:g}"
                    picture.add(
                        "ribbon", d=d, w=max(0.8, weight * 8), focus=focus, p=path, query=i, key=j, weight=weight
                    )
    picture.text(x + width, y0 + 34, picture.word("left_out"), 11, "end", "second", p=path)


def _row(picture: Picture, at: Lines, x: float, width: float, y: float, chosen: int, path: str) -> dict[int, float]:
    """A stack's tokens side by side; where they do not fit, ticks, with a chip for the chosen one."""
    chips = {i: picture.view.tokens[at.stack.name][i] for i in range(at.start, at.stop)}
    labels = {
        i: shortened(chip.text.partition(" ")[0] if chip.part else chip.text, 52, 11) for i, chip in chips.items()
    }
    widths = {i: max(14.0, text_width(label, 11) + 10) for i, label in labels.items()}
    if sum(widths.values()) + 2 * len(widths) > width:
        labels[chosen] = shortened(chips[chosen].text, 60, 11)
        pitch = (width - text_width(labels[chosen], 11) - 12) / len(chips)
        widths = {i: text_width(labels[i], 11) + 12 if i == chosen else min(7.0, pitch - 2) for i in chips}
    spare = width - sum(widths.values())
    gap = min(16, spare / max(1, len(widths) - 1))
    centres = {}
    for i, chip in chips.items():
        if widths[i] <= 7:
            picture.add("tick", x=x, y=y + 6, w=widths[i], h=8, p=path, stack=at.stack.name, position=i)
        else:
            picture.add(
                "chip",
                x=x,
                y=y,
                w=widths[i],
                h=20,
                small=True,
                stack=at.stack.name,
                position=i,
                text=labels[i],
                **look(chip),
                focus=at.focus == i and at.stack.name == _last(picture),
                p=path,
            )
        centres[i] = x + widths[i] / 2
        x += widths[i] + gap
    return centres


def _last(picture: Picture) -> str:
    return list(picture.view.tokens)[-1]


def wide(view: View) -> Picture:
    """The picture for a screen with room: one stave, or two with the detours between them."""
    found = stacks(view.trace)
    if len(found) > 1:
        return double(view, *found)
    plate, chain, limit = 96.0, 76.0, WIDTH - 18
    for wide_maps in (True, False):  # where the stave would be too long, first the plates give way, then the maps
        picture, end = single(view, found[0], plate, chain, wide_maps=wide_maps)
        if end <= limit:
            return single(view, found[0], plate, chain, limit - end, wide_maps)[0]
        spare = limit - end
        picture, end = single(
            view, found[0], max(54.0, plate + spare * 0.45), max(50.0, chain + spare * 0.28), wide_maps=wide_maps
        )
        if end <= limit + 1:
            break
    return picture
