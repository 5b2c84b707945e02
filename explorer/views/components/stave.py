"""The component that shows a whole pass in one picture and walks through it, a step at a time.

`view` and `message` turn a trace into what travels, without a browser: where everything stands (see `stave_layout`),
what can be seen (neighbours put together into the cells that a picture has room for, as the largest of them, with its
exact number and place), and the steps: every value in the order of the pass, with its sentence, formula, inputs and
the focus token's first numbers. `stave` mounts the picture. Hovering, stepping and playing cost no round trip.
"""

import hashlib
import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np
import streamlit as st

from explorer import glossary
from explorer.trace import Trace
from explorer.views.components import source
from explorer.views.components import stave_layout as layout
from explorer.views.components.stave_double import double
from explorer.views.components.stave_layout import Chip, Picture, Prediction, View, origin
from explorer.views.components.stave_single import single
from explorer.views.components.stave_upright import upright
from explorer.views.numerals import fixed
from explorer.words import Words

BEST = 5  # predictions shown
SAMPLED = {"embedding.positions"}  # of neighbours the first is shown, of all else the largest
SAMPLE = 20_000  # numbers looked at to find where a kind's colours end
_STYLE = source("stave.css")


class Token(Protocol):
    """A token of a text or of a prediction."""

    id: int
    label: str
    spaces: int
    special: bool
    part: tuple[int, int] | None
    hex: str


def chip(token: Token) -> Chip:
    """A token as a picture names it; a tooltip adds the bytes of a part of a character."""
    part = token.part is not None
    return Chip(token.label, token.id, token.spaces, token.special, part, token.hex if part else "")


def view(
    trace: Trace,
    tokens: Mapping[str, Sequence[Token]],
    words: Words,
    spell: Callable[[int], Token],
    *,
    layer: int,
    focus: int,
    masked: int | None = None,
) -> View:
    """What a picture is asked to show. `focus` is a position of the last stack; the other one follows it in
    proportion. `spell` names a token of the vocabulary; `masked` is the id that hides a token.
    """
    chips = {stack: [chip(token) for token in found] for stack, found in tokens.items()}
    last = list(chips)[-1]
    length = len(chips[last])
    places = {
        stack: focus if stack == last else round(focus * (len(found) - 1) / max(1, length - 1))
        for stack, found in chips.items()
    }
    return View(trace, chips, layer, places, predict(trace, chips[last], focus, spell, masked), words)


def predict(
    trace: Trace, tokens: Sequence[Chip], focus: int, spell: Callable[[int], Token], masked: int | None
) -> Prediction:
    """What the pass claims at the focus. Where no position sees a later one, the next token; where all see all, the
    masked token nearest the focus; and nothing at all when none is masked.
    """
    allowed = next(trace[path].tensor for path in reversed(list(trace)) if path.endswith(".self_attention.allowed"))
    claim, position = "next", focus
    if len(allowed) > 1 and bool(allowed[0, 1:].any()):
        hidden = [i for i, token in enumerate(tokens) if token.id == masked]
        if not hidden:
            return Prediction("none")
        claim, position = "masked", min(hidden, key=lambda i: abs(i - focus))
    shares, logits = trace["probabilities"].tensor[position], trace["logits"].tensor[position]
    best = shares.topk(BEST)
    return Prediction(
        claim,
        position,
        tuple(
            (chip(spell(id)), share, float(logits[id]))
            for id, share in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ),
    )


# -- what can be seen ----------------------------------------------------------------------------------------------


def kind(path: str) -> str:
    """What is drawn on one scale: the same value in every layer of every stack, and the stream in all its states."""
    if path.endswith(("_residual.input", "_residual.sum", ".embedding.output")):
        return "stream"
    return re.sub(r"^(encoder|decoder)\.(layers\.\d+\.)?", "", path)


# Both are the same for every layer that a reader opens in a pass, and forgotten with it.
_LIMITS: WeakKeyDictionary[Trace, dict[str, float]] = WeakKeyDictionary()
_STEPS: WeakKeyDictionary[Trace, tuple] = WeakKeyDictionary()


def limits(trace: Trace, kinds: set[str]) -> dict[str, float]:
    """Where the colours end: the 99th percentile of the sizes of a kind, as it is drawn, over all layers."""
    known = _LIMITS.setdefault(trace, {})
    if missing := kinds - known.keys():
        known.update(_limits(trace, missing))
    return {name: known[name] for name in kinds}


def _limits(trace: Trace, kinds: set[str]) -> dict[str, float]:
    sizes: dict[str, list[np.ndarray]] = {name: [] for name in kinds}
    for path, value in trace.items():
        name = kind(path)
        if name in sizes and value.tensor.is_floating_point():
            numbers = value.tensor.abs()
            width = numbers.shape[-1]
            share = 1 if value.axes[-1] == "key" or name in SAMPLED else -(-width // (8 if name == "stream" else 32))
            if share > 1 and width % share == 0:
                numbers = numbers.unflatten(-1, (-1, share)).amax(-1)
            numbers = numbers.reshape(-1)
            numbers = numbers[:: max(1, len(numbers) // SAMPLE)].numpy()
            sizes[name].append(numbers[np.isfinite(numbers)])
    found = {}
    for name, parts in sizes.items():
        numbers = np.concatenate(parts) if parts else np.zeros(0)
        found[name] = float(np.quantile(numbers, 0.99)) if numbers.size else 1.0
    return {name: limit or 1.0 for name, limit in found.items()}


def sampled(array: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray, int]:
    """As `grouped`, but the first number of each group: of waves the largest would hide that they are waves."""
    share = -(-array.shape[-1] // most)
    numbers = array[..., ::share]
    return numbers, np.zeros(numbers.shape, np.uint8), share


def grouped(array: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray, int]:
    """The last axis in at most `most` cells: of each group of neighbours the largest in size, sign kept.

    Returns the numbers, their places in their groups, and how many numbers a cell stands for.
    """
    width = array.shape[-1]
    share = -(-width // most)
    count = -(-width // share)
    padded = np.zeros((*array.shape[:-1], count * share), array.dtype)
    padded[..., :width] = array
    groups = padded.reshape(*array.shape[:-1], count, share)
    places = np.abs(groups).argmax(-1)
    return np.take_along_axis(groups, places[..., None], -1)[..., 0], places.astype(np.uint8), share


class Cells:
    """The numbers of a message: a table of what lies where, and the bytes."""

    def __init__(self, pass_view: View):
        self.view = pass_view
        self.table: dict[str, dict] = {}
        self.parts: list[bytes] = []
        self.places: dict[bytes, int] = {}
        self.size = 0

    def put(self, array: np.ndarray) -> int:
        """Where the numbers lie; equal ones (a sum, and the stream that the next sublayer reads) lie there once."""
        data = array.tobytes()
        data += b"\0" * (-len(data) % 4)
        if data in self.places:
            return self.places[data]
        at = self.places[data] = self.size
        self.parts.append(data)
        self.size += len(data)
        return at

    def window(self, stack: str) -> slice:
        return slice(*layout.window(len(self.view.tokens[stack]), self.view.focus[stack]))

    def add(self, item: dict, limit: Mapping[str, float]) -> None:
        """File the numbers of an item, once for each path."""
        path = item["p"]
        if path in self.table:
            return
        value = self.view.trace[path]
        if item["kind"] == "thumb":
            self.table[path] = self._thumb(path, value, limit.get(kind(path), 1.0))
        elif value.axes[-1] == "key":
            self.table[path] = self._map(item, value)
        else:
            self.table[path] = self._vectors(item, value)
        if kind(path) in limit:
            self.table[path]["limit"] = limit[kind(path)]

    def _vectors(self, item: dict, value) -> dict:
        rows = self.window(item["stack"])
        array = value.tensor[..., rows, :].float().numpy()
        heads = array.shape[0] if array.ndim == 3 else 1
        array = array[None] if array.ndim == 2 else array
        put_together = sampled if kind(item["p"]) in SAMPLED else grouped
        numbers, places, share = put_together(array, max(1, 32 // heads))
        numbers, places = (part.transpose(1, 0, 2) for part in (numbers, places))
        table = {
            "shape": list(value.tensor.shape),
            "axes": list(value.axes),
            "rows": numbers.shape[0],
            "heads": heads,
            "cols": numbers.shape[2],
            "share": share,
            "stack": item["stack"],
            "sampled": kind(item["p"]) in SAMPLED,
            "at": self.put(np.ascontiguousarray(numbers, np.float32)),
        }
        if share > 1:
            table["places"] = self.put(np.ascontiguousarray(places))
        return table

    def _map(self, item: dict, value) -> dict:
        columns = item.get("columns", item["stack"])
        shown = (..., self.window(item["stack"]), self.window(columns))
        array = value.tensor[shown].float().numpy()
        array = array[None] if array.ndim == 2 else array
        hides = False
        if item["p"].endswith(".masked_scores"):  # as a rule the scores once more, with the masked cells hidden
            allowed = self.view.trace[_beside(item["p"], "allowed")].tensor[shown].numpy()
            scores = self.view.trace[_beside(item["p"], "scores")].tensor[shown].float().numpy()
            if np.array_equal(array, np.where(allowed, scores, -np.inf)):
                array, hides = scores, True
        return {
            "shape": list(value.tensor.shape),
            "axes": list(value.axes),
            "maps": True,
            "hides": hides,
            "heads": array.shape[0],
            "rows": array.shape[1],
            "cols": array.shape[2],
            "stack": item["stack"],
            "columns": columns,
            "at": self.put(np.ascontiguousarray(array, np.float32)),
        }

    def _thumb(self, path: str, value, limit: float) -> dict:
        """A closed layer's thumbnail, a byte a cell: 0 is masked, 1 to 255 a weight or a signed value's colour."""
        trace, stack = self.view.trace, path.split(".")[0]
        rows = self.window(stack)
        if value.axes[-1] == "key":
            columns = self.window(origin(_beside(path, "keys"), trace).split(".")[0])
            array = value.tensor[..., rows, columns].float().numpy()
            allowed = trace[_beside(path, "allowed")].tensor[rows, columns].numpy()
            cells = np.where(allowed, 1 + np.rint(254 * np.sqrt(array)), 0)
        else:
            numbers, _, _ = grouped(value.tensor[rows].float().numpy(), 16)
            array = numbers[None]
            cells = 128 + np.rint(127 * np.clip(array / limit, -1, 1))
        return {
            "shape": list(value.tensor.shape),
            "axes": list(value.axes),
            "thumb": True,
            "heads": cells.shape[0],
            "rows": cells.shape[1],
            "cols": cells.shape[2],
            "at": self.put(np.ascontiguousarray(cells, np.uint8)),
        }


def _beside(path: str, name: str) -> str:
    return f"{path.rpartition('.')[0]}.{name}"


# -- the steps -----------------------------------------------------------------------------------------------------


def first_numbers(pass_view: View, path: str, count: int = 3) -> tuple[str, list[float | None]]:
    """A value's first numbers for a token in focus, in its first head; None stands for minus infinity.

    With them the stack whose token it is: keys and values may come from the other one.
    """
    value = pass_view.trace[path]
    tensor = value.tensor[0] if value.axes[0] == "head" else value.tensor
    own = path.split(".")[0] if path.split(".")[0] in pass_view.tokens else list(pass_view.tokens)[-1]
    if value.axes[-2:-1] == ("key",):
        own = origin(path, pass_view.trace).split(".")[0]
    row = tensor[pass_view.focus[own]].reshape(-1)[:count].tolist()
    return own, [None if number == float("-inf") else round(float(number), 6) for number in row]


def steps(pass_view: View, language: str) -> tuple[list[dict], list[dict]]:
    """Every value, in the order of the pass, and the texts that they share."""
    asked = (language, pass_view.focus)
    if _STEPS.get(pass_view.trace, (None,))[0] != asked:
        _STEPS[pass_view.trace] = (asked, *_steps(pass_view, language))
    return _STEPS[pass_view.trace][1:]


def _steps(pass_view: View, language: str) -> tuple[list[dict], list[dict]]:
    trace = pass_view.trace
    number = {path: i for i, path in enumerate(trace)}
    texts: dict[tuple, int] = {}
    found = []
    for path in trace:
        entry = glossary.entry(path, trace)
        text = (entry.name[language], entry.sentence[language], entry.formula, entry.symbol)
        reads = glossary.inputs(path, trace).values()
        stack, numbers = first_numbers(pass_view, path)
        found.append(
            {
                "p": path,
                "e": texts.setdefault(text, len(texts)),
                "n": numbers,
                "t": stack,
                "i": [number.get(read, read) for read in reads],
                "s": list(trace[path].tensor.shape),
            }
        )
    names = ("name", "sentence", "formula", "symbol")
    return found, [dict(zip(names, text, strict=True)) for text in texts]


def listing(pass_view: View) -> list[dict[str, str]]:
    """The steps as rows of a table, for those who cannot see the picture."""
    words = pass_view.words
    walk, texts = steps(pass_view, words.language)
    columns = [words(f"stave.list_{name}") for name in ("step", "name", "path", "shape", "first")]
    return [
        dict(
            zip(
                columns,
                (
                    str(number),
                    texts[step["e"]]["name"],
                    step["p"],
                    " × ".join(map(str, step["s"])),
                    ", ".join("−∞" if n is None else fixed(n, 3) for n in step["n"]),
                ),
                strict=True,
            )
        )
        for number, step in enumerate(walk, 1)
    ]


# -- the message ---------------------------------------------------------------------------------------------------

UI = (
    "encoder", "decoder",
    "back", "next_step", "play", "pause", "whole", "step_of", "scrub", "speak", "numbers_a_cell", "one_of",
    "masked_cell", "token", "head_n", "click", "click_layer", "legend", "legend_stream", "legend_focus",
    "legend_read", "legend_add", "legend_norm", "legend_masked", "legend_weight", "legend_signed", "legend_qkv",
    "legend_point", "legend_click", "tokens_by", "norm", "closed", "logit", "layer", "walk", "lede",
    "bytes", "limit",
)  # fmt: skip


def wide(pass_view: View) -> Picture:
    """The picture for a screen with room: one stave, or two with the detours between them."""
    found = layout.stacks(pass_view.trace)
    return double(pass_view, *found) if len(found) > 1 else single(pass_view, *found)


def message(pass_view: View, step: str | None = None, answers: int = 0) -> bytes:
    """What travels for a view: the length of a header, the header (JSON, deflated, to a multiple of 4), the cells."""
    language = pass_view.words.language
    pictures = {"wide": wide(pass_view), "upright": upright(pass_view)}
    shown = [item for picture in pictures.values() for item in picture.items if item["kind"] in SHOWN]
    kinds = {kind(item["p"]) for item in shown if item.get("mode") not in ("weight", "mask", "id")}
    limit = limits(pass_view.trace, kinds | {"stream"})
    cells = Cells(pass_view)
    for item in shown:
        cells.add(item, limit)
    walk, texts = steps(pass_view, language)
    last = list(pass_view.tokens)[-1]
    header = {
        "pictures": {name: described(picture) for name, picture in pictures.items()},
        "cells": cells.table,
        "steps": walk,
        "texts": texts,
        "words": {name: pass_view.words(f"stave.{name}") for name in UI},  # their places are filled in the browser
        "tokens": {
            stack: {
                "start": cells.window(stack).start,
                "length": len(chips),
                "labels": [token.text for token in chips[cells.window(stack)]],
                "focus": pass_view.focus[stack],
                "bytes": {i: token.whole for i, token in enumerate(chips) if token.whole},
            }
            for stack, chips in pass_view.tokens.items()
        },
        "last": last,
        "layer": pass_view.layer,
        "layers": len(layout.stacks(pass_view.trace)[0].layers),
        "activation": pass_view.trace.config.activation,
        "stream": limit["stream"],
        "language": language,
    }
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":"))
    scene = hashlib.sha1(text.encode() + b"".join(cells.parts)).hexdigest()[:16]
    text = f'{{"scene":"{scene}","step":{json.dumps(step)},"answers":{answers},{text[1:]}'
    head = zlib.compress(text.encode(), 5)
    padding = b"\0" * (-len(head) % 4)
    return len(head).to_bytes(4, "little") + head + padding + b"".join(cells.parts)


SHOWN = ("strip", "plate", "maps", "thumb")


def described(picture: Picture) -> dict:
    """A picture, its places rounded to a tenth of a pixel."""
    return {
        "w": picture.width,
        "h": round(picture.height, 1),
        "legend": picture.legend,
        "items": [{name: _short(value) for name, value in item.items()} for item in picture.items],
    }


def _short(value):
    if isinstance(value, float):
        return round(value, 1) if value != int(value) else int(value)
    if isinstance(value, list):
        return [_short(part) for part in value]
    return value


# -- the component -------------------------------------------------------------------------------------------------

# Streamlit sends a component's script again with every message whose data changed, but a message that did not
# change, and is over 10 kB, only by its hash. So the script lives in an element of its own (see matrix.py).
_script = st.components.v2.component("explorer_stave_script", js=source("colours.js", "elements.js", "stave.js"))
_picture = st.components.v2.component(
    "explorer_stave",
    js="""export default function (component) {
  const meeting = (globalThis.explorerStave ??= Promise.withResolvers());
  let left = false;
  meeting.promise.then((draw) => { if (!left) draw(component); });
  return () => { left = true; };
}
""",
)


def stave(
    pass_view: View,
    *,
    key: str,
    step: str | None = None,
    answers: int = 0,
    on_look: Callable[[], None] | None = None,
    on_painted: Callable[[], None] | None = None,
):
    """Mount the picture of a pass. `step` is the path of the value at which a walk through the pass stands.

    The result's `look` is what the reader wants to see: {number, layer, focus, open, step}, of which `layer` is the
    number of a closed layer, `focus` {stack, position} of a token, `open` {path, index} of a value, `step` a path or
    None, and any may be missing. An event takes the place of one that still waits for the server, so each holds all
    that was asked for since the last that was answered: `answers` is the number of that one. `painted` says that the
    answer to all of them is on the screen. Each calls its callback. They come from the reader's browser, so check them
    before use.
    """
    with st.container(gap=None):
        result = _picture(
            key=key,
            data=message(pass_view, step, answers),
            on_look_change=on_look or _nothing,
            on_painted_change=on_painted or _nothing,
        )
        _script(key=f"{key}-script", data=_STYLE)
    return result


def _nothing() -> None:
    """Streamlit keeps a component's events only where there is a callback for them."""
