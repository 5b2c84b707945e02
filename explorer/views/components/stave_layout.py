"""The whole pass as one picture: what its three forms (`stave_single`, `stave_double`, `stave_upright`) share. Pure.

The trace is read in its order. A `Sublayer` runs from the stream it reads to the sum it leaves; a norm recorded
before its body hangs on the branch, one recorded after the sum stands on the stave. A sublayer with attention weights
gets an attention detour, any other a chain of its values. Keys that come from another stack's vectors bring a thread
from there. So another norm order or architecture is another trace, not other drawing code.

A picture is a list of items, each a dict: `kind`, a place (`x y w h`, `d`, `ys`), and

    p      the path it shows or belongs to: it is pale until a walk through the pass has reached that value
    hit    it answers to the pointer      mode   its colours: signed, query, key, value, weight, mask

Coordinates are those of a picture 1076 wide, or 358 wide for a narrow screen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from unicodedata import east_asian_width

from explorer import glossary
from explorer.trace import Trace
from explorer.views.numerals import percent
from explorer.views.window import around
from explorer.words import Words

WIDTH, UPRIGHT_WIDTH = 1076, 358
ALL_SHOWN, SHOWN = 24, 20  # texts up to 24 tokens are shown whole, longer ones through a window of 20

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


def origin(path: str, trace: Trace) -> str:
    """The recorded value that a value is made of; of several the first."""
    return next(read for read in glossary.inputs(path, trace).values() if read in trace)


def window(length: int, focus: int) -> tuple[int, int]:
    """The positions that are shown, from and up to: all of a short text, of a long one those around the focus."""
    if length <= ALL_SHOWN:
        return 0, length
    shown = around(focus, length, SHOWN)
    return shown.start, shown.stop


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

    @property
    def last(self) -> str:
        """The stack that predicts."""
        return list(self.view.tokens)[-1]

    @property
    def activation(self) -> str:
        return {"gelu": "GELU", "relu": "ReLU"}[self.view.trace.config.activation]

    @property
    def scores(self) -> list[tuple[str, list[Part]]]:
        """The four values on the way from queries and keys to weights, by name, with their labels."""
        return [
            ("raw_scores", [("Q", "iq"), ("K", "ik"), ("⊤", "r")]),
            ("scores", ["÷ √", ("d", "i"), ("k", "is")]),
            ("allowed", [self.word("mask")]),
            ("masked_scores", [self.word("masked")]),
        ]

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

    def maps(self, x, y, w, h, p: str, stack: str, across: int = 0, **more) -> dict:
        """A value of pairs: its heads as maps, `across` of them side by side, or, with 0, put together in one."""
        place = {"x": x, "y": y, "w": w, "h": h, "across": across}
        return self.add("maps", **place, p=p, mode=self.mode(p), stack=stack, hit=True, **more)

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
        focus = position == at.focus and at.stack.name == picture.last
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
    step = width / len(layer)
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
        label=label_y,
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
    if not sublayer.after:
        return x + width
    return stave_norm(picture, at, x + width + (3 if small else 4), sublayer.after, small)


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


def threads(picture: Picture, at: Lines, x0: float, x1: float, turn: tuple[float, float] | None = None) -> None:
    """The lines, first of all and under everything.

    In the stack that predicts, `turn` is where the line whose prediction is shown turns back to it, and the line in
    focus is marked.
    """
    shown = picture.view.prediction
    claimed = shown.position if turn and shown.claim != "none" else None
    made = []
    for position, y in enumerate(at.ys, at.start):
        d = f"M{x0:g} {y:g}H{x1:g}"
        if position == claimed:
            right, low = turn
            d = path_from((x0, y), (right, y), turn, (right - 16, low), radius=16)
        focus = turn is not None and position == at.focus
        place = {"stack": at.stack.name, "position": position, "x0": x0, "x1": x1, "y": y}
        made.append({"kind": "thread", "d": d, "focus": focus, **place})
    picture.items[:0] = sorted(made, key=lambda thread: thread["focus"])


# -- the prediction ----------------------------------------------------------------------------------------------


def prediction(picture: Picture, at: Lines, x: float, y: float, right: float) -> float:
    """The best predictions with their probabilities; for a text without a mask, that nothing is claimed.

    The stream arrives from the right, at height y. Returns the lower end.
    """
    shown = picture.view.prediction
    if shown.claim == "none":
        for i, line in enumerate(wrapped(picture.word("no_mask"), right - x, 13)):
            picture.text(x, y + 5 + 18 * i, line, 13, strong=True)
            y += 18 * bool(i)
        for i, line in enumerate(wrapped(picture.word("no_mask_do"), right - x, 12)):
            picture.text(x, y + 24 + 17 * i, line, 12, tone="second")
            y += 17 * bool(i)
        pills(picture, (x, 44), (x + 54, 58), y + 38)
        picture.arrow(f"M{x + 44:g} {y + 50:g}H{x + 53:g}", "probabilities", head=False)
        return y + 66
    end = right - 16
    logits, probabilities = end - 44, end - 44 - 10 - 58
    pills(picture, (logits, 44), (probabilities, 58), y - 12)
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
    return best(picture, at.stack, x, y + 20, end - x - 46, (62, 18), 21)


def pills(picture: Picture, logits: tuple[float, float], probabilities: tuple[float, float], y: float) -> None:
    """The product with E and the softmax, each at its (x, width)."""
    trace = picture.view.trace
    table = next(path for path in glossary.inputs("logits", trace).values() if path in trace.parameters)
    product = [("x", "i"), (" E", "i"), ("⊤", "r")]
    (x, w), (x2, w2) = logits, probabilities
    picture.add("pill", x=x, y=y, w=w, h=24, parts=product, p="logits", parameter=table, hit=True)
    picture.add("pill", x=x2, y=y, w=w2, h=24, parts=["softmax"], p="probabilities", hit=True)


def best(picture: Picture, stack: Stack, x, y, width: float, size: tuple[float, float], pitch: float) -> float:
    """The best tokens, chips of a size, each with a bar and its probability. Returns the lower end."""
    shown, (w, h) = picture.view.prediction, size
    left, down = x + w + 10, (h - 12) / 2
    scale = (width - w - 10) / max(0.45, max((share for _, share, _ in shown.best), default=1))
    for i, (chip, share, logit) in enumerate(shown.best):
        p, text = "probabilities", shortened(chip.text, w - 12)
        picture.add("chip", x=x, y=y, w=w, h=h, text=text, **look(chip), p=p)
        picture.add(
            "bar",
            x=left,
            y=y + down,
            w=max(1, share * scale),
            h=12,
            best=i == 0,
            p=p,
            position=shown.position,
            id=chip.id,
            share=share,
            logit=logit,
            hit=True,
            stack=stack.name,
        )
        tone = None if i == 0 else "second"
        picture.text(left + share * scale + 7, y + down + 10, percent(share), 12, tone=tone, strong=i == 0, p=p)
        y += pitch
    return y


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
