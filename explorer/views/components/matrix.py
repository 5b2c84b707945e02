"""The one component that draws every matrix: attention maps, plates of vectors, parameters, masks, ids.

`payload` turns a recorded value into a small header and the bytes of its cells, without a browser; `matrix` mounts
the picture and says which cell the reader clicked. Numbers travel as whole multiples of the last decimal that the
tooltip prints, so what is read on the screen is the trace's number, rounded once.

A matrix of more cells than a picture can show travels in groups: of neighbours, the largest in size, with its sign
and its exact place; and a window around the chosen cell travels whole, so every number can be reached.
"""

import json
import math
from collections.abc import Callable, Sequence
from typing import Literal, Protocol, get_args

import numpy as np
import streamlit as st
from torch import Tensor

from explorer.trace import Value
from explorer.views.components import mount, source

Scale = Literal["weight", "signed", "query", "key", "value", "id", "mask"]
Mode = Literal["map", "lines"]
Cell = tuple[int, ...]

BYTES = 50_000  # of cells in one message; with labels and header it stays under 60 kB
MAP_CELLS = 172  # cells of 6 px that fit beside each other into a page's width
WINDOW = 24  # rows and columns of the exact part of a grouped matrix
LINKS = 6_000  # curves of the line view in one message

WORDS = {
    "en": {
        "axes": {
            "position": "position",
            "query": "query",
            "key": "key",
            "head": "head",
            "vocabulary": "vocabulary",
        },
        "scales": {
            "weight": "attention weight",
            "signed": "signed value",
            "query": "query",
            "key": "key",
            "value": "value",
            "id": "",
            "mask": "allowed",
        },
        "masked": "masked",
        "allowed": "allowed",
        "shares": "{n} numbers a cell, the largest in size is shown",
        "window": "every number near the chosen cell",
        "rows": "{axis} {first} to {last}",
        "fewer": "Links under {least} are left out: {hidden} of {all}.",
        "queries": "queries",
        "keys": "keys",
        "not_a_number": "not a number",
        "infinite": "∞",
        "alt": "{name}: {size}. Arrow keys walk the cells, Enter chooses one, Escape leaves.",
        "alt_lines": "{name}, as lines from queries to keys: {size}. Arrow keys walk the queries, Enter chooses one.",
        "alt_read": "{name}: {size}. Arrow keys walk the cells, Escape leaves.",
    },
    "ko": {
        "axes": {"position": "위치", "query": "쿼리", "key": "키", "head": "헤드", "vocabulary": "어휘"},
        "scales": {
            "weight": "어텐션 가중치",
            "signed": "부호 있는 값",
            "query": "쿼리",
            "key": "키",
            "value": "값",
            "id": "",
            "mask": "허용",
        },
        "masked": "가려짐",
        "allowed": "허용",
        "shares": "한 칸에 수 {n}개, 크기가 가장 큰 수를 표시",
        "window": "고른 칸 둘레의 모든 수",
        "rows": "{axis} {first}~{last}",
        "fewer": "{least} 미만인 선 생략: {all}개 중 {hidden}개.",
        "queries": "쿼리",
        "keys": "키",
        "not_a_number": "수가 아님",
        "infinite": "∞",
        "alt": "{name}: {size}. 화살표 키로 칸을 오가고 Enter 키로 고르며 Esc 키로 나갑니다.",
        "alt_lines": "{name}, 쿼리에서 키로 잇는 선: {size}. 화살표 키로 쿼리를 오가고 Enter 키로 고릅니다.",
        "alt_read": "{name}: {size}. 화살표 키로 칸을 오가고 Esc 키로 나갑니다.",
    },
}


class Word(Protocol):
    """A token as a label: what a person reads, and how many of its first characters stand for spaces."""

    label: str
    spaces: int
    special: bool
    part: tuple[int, int] | None


def payload(
    value: Value,
    scale: Scale = "signed",
    *,
    limit: float | None = None,
    allowed: Tensor | None = None,
    rows: Sequence[str | Word] | None = None,
    columns: Sequence[str | Word] | None = None,
    focus: int | None = None,
    chosen: Cell | None = None,
    mode: Mode = "map",
    least: float = 0.07,
    beside: int = 1,
) -> tuple[dict, bytes]:
    """The header and the cells of a picture of a value with one, two or three axes; the first of three is panels.

    The bytes hold, one after the other, each part aligned to its item size and named in `header["parts"]`:
    `mask` (one bit for each cell of the grid, 1 = masked, for all panels or, if they differ, for each), `cells`
    (whole numbers, the masked ones left out, to be divided by 10^digits), `places` (which of its group's numbers a
    cell shows, row by row) and `window` (the whole numbers around the chosen cell, masked ones as the least of
    their type). In mode `lines` the cells are the weights of at least `least`, and `panel`, `row` and `column` say
    where each stands.

    `limit` is where the colours end; by default the largest size in the value. `allowed`, [row, column] or
    [panel, row, column], is False where a cell is masked; minus infinity is masked by itself.
    `beside` says how many pictures share the page's width.
    Raises ValueError when labels, mask or scale do not fit the value.
    """
    if scale not in get_args(Scale):
        raise ValueError(f"scale is {scale!r}; choose one of {', '.join(get_args(Scale))}.")
    array, axes = _panels(value)
    panels, height, width = array.shape
    for side, labels, length in (("row", rows, height), ("column", columns, width)):
        if labels is not None and len(labels) != length:
            raise ValueError(f"{len(labels)} {side} labels for {length} {side}s; give one for each.")
    masked = np.zeros((1, height, width), bool)
    if array.dtype == bool:
        masked = ~array
    elif array.dtype.kind == "f":
        masked = np.isneginf(array)
    if allowed is not None:
        stated = allowed.detach().cpu().numpy()
        if stated.shape[-2:] != (height, width) or stated.ndim > 3 or (stated.ndim == 3 and len(stated) != panels):
            raise ValueError(f"The mask has shape {stated.shape}, the matrix {(panels, height, width)}.")
        masked = masked | ~stated.reshape(-1, height, width)
    if len(masked) > 1 and (masked == masked[:1]).all():
        masked = masked[:1]

    numbers = array if array.dtype.kind == "f" else array.astype(np.float64)
    largest = float(np.abs(numbers).max(where=np.isfinite(numbers) & ~masked, initial=0))
    digits = _digits(largest, whole=array.dtype.kind != "f")
    kind = np.dtype("<i2" if largest * 10**digits < 2**15 - 4 else "<i4")

    header = {
        "shape": [panels, height, width],
        "axes": axes,
        "index": len(value.axes),
        "row_of_one": value.tensor.dim() == 1 and axes[1] == "",
        "scale": scale,
        "limit": float(limit if limit is not None else 1.0 if scale == "weight" else largest or 1.0),
        "digits": digits,
        "item": kind.itemsize,
        "rows": _labels(rows),
        "columns": "rows" if columns is not None and columns == rows else _labels(columns),
        "focus": focus if focus is not None and 0 <= focus < height else None,
        "chosen": valid(chosen, shape_of(value)),
        "mode": mode,
    }
    if mode == "lines":
        return _lines(header, numbers, masked, kind, least)
    return _map(header, numbers, masked, kind, beside)


def _panels(value: Value) -> tuple[np.ndarray, list[str]]:
    """A value as [panel, row, column], with the three axes' names ("" where there is none, or but one place)."""
    array, names = value.tensor.detach().cpu().numpy(), ["" if axis == "1" else axis for axis in value.axes]
    if array.ndim == 1 and names[0] in ("position", "query", "key"):
        array, names = array[:, None], [*names, ""]
    elif array.ndim == 1:
        array, names = array[None], ["", *names]
    if array.ndim not in (2, 3) or not array.size:
        raise ValueError(f"A picture takes one to three axes, none of them empty; this value has shape {array.shape}.")
    return (array, names) if array.ndim == 3 else (array[None], ["", *names])


def shape_of(value: Value) -> tuple[int, ...]:
    """The shape that a chosen cell of this value is an index into."""
    return tuple(value.tensor.shape)


def _digits(largest: float, whole: bool) -> int:
    """Decimals to print: three, and more where all numbers are so small that three would show few of them."""
    if whole:
        return 0
    small = 0 if largest == 0 else max(0, -math.floor(math.log10(largest)) - 1)
    digits = 3 + min(small, 6)
    while digits and largest * 10**digits >= 2**31 - 4:
        digits -= 1
    return digits


def _whole(numbers: np.ndarray, digits: int, kind: np.dtype) -> np.ndarray:
    """Numbers as multiples of their last decimal; the type's ends stand for what is no finite number."""
    ends = np.iinfo(kind)
    with np.errstate(invalid="ignore"):
        rounded = np.rint(numbers.astype(np.float64) * 10.0**digits)
    rounded = np.where(np.isneginf(numbers), ends.min, rounded)
    rounded = np.where(np.isnan(numbers), ends.min + 1, rounded)
    return np.where(np.isposinf(numbers), ends.max, np.clip(rounded, ends.min, ends.max)).astype(kind)


def _labels(labels: Sequence[str | Word] | None) -> list | None:
    """Plain texts as they are, others as [text, kind, spaces]."""
    if labels is None:
        return None
    return [label if isinstance(label, str) else _label(label) for label in labels]


def _label(word: Word) -> str | list:
    kind = "special" if word.special else "part" if word.part else "text"
    return word.label if kind == "text" and not word.spaces else [word.label, kind, word.spaces]


def _groups(panels: int, height: int, width: int, item: int, seen: float, square: bool, beside: int) -> tuple[int, int]:
    """How many rows and columns share a cell, so that the cells fit into one message; `seen` is the share sent.

    In attention maps (`square`), of which up to four stand side by side, also so that a cell is 6 px wide at least.
    """

    def size(down: int, across: int) -> float:
        place = (down * across > 1) + (down * across > 256)
        return panels * math.ceil(height / down) * math.ceil(width / across) * (item + place) * seen

    down = across = 1
    if square:
        down = across = math.ceil(max(height, width) / (MAP_CELLS // max(beside, min(panels, 4))))
    while size(down, across) > BYTES:
        if square:
            down, across = down + 1, across + 1
        elif math.ceil(height / down) > math.ceil(width / across):
            down *= 2
        else:
            across *= 2
    return down, across


def _grouped(array: np.ndarray, down: int, across: int, fill) -> np.ndarray:
    """[panel, row, column] to [panel, group row, group column, number in the group]."""
    panels, height, width = array.shape
    short = (-height % down, -width % across)
    padded = np.pad(array, ((0, 0), (0, short[0]), (0, short[1])), constant_values=fill)
    tall, wide = padded.shape[1] // down, padded.shape[2] // across
    split = padded.reshape(panels, tall, down, wide, across).swapaxes(2, 3)
    return split.reshape(panels, tall, wide, down * across)


def _map(header: dict, numbers: np.ndarray, masked: np.ndarray, kind: np.dtype, beside: int) -> tuple[dict, bytes]:
    panels, height, width = numbers.shape
    attention = {"query", "key"} <= set(header["axes"])
    down, across = _groups(panels, height, width, kind.itemsize, 1 - float(masked.mean()), attention, beside)
    parts, cells, hidden = {}, numbers, masked
    if down * across > 1:
        hidden = _grouped(masked, down, across, True).all(-1)
        groups = _grouped(numbers, down, across, 0)
        place = np.where(_grouped(masked, down, across, True), -1, np.abs(groups)).argmax(-1)
        cells = np.take_along_axis(groups, place[..., None], -1)[..., 0]
        parts["places"] = place.astype("u1" if down * across <= 256 else "<u2")
        row, column = _middle(header, numbers, masked)
        top, left = (max(0, min(at - WINDOW // 2, end - WINDOW)) for at, end in ((row, height), (column, width)))
        panel = header["chosen"][0] if header["chosen"] and header["axes"][0] else 0
        near = np.s_[top : top + WINDOW, left : left + WINDOW]
        exact = _whole(numbers[panel][near], header["digits"], kind)
        exact[masked[panel if len(masked) > 1 else 0][near]] = np.iinfo(kind).min
        header["window"] = [panel, top, left, *exact.shape]
        parts["window"] = exact
    shown = ~np.broadcast_to(hidden, cells.shape)
    header["grid"], header["group"] = [panels, *cells.shape[1:]], [down, across]
    parts["cells"] = _whole(cells[shown], header["digits"], kind)
    if "places" in parts:
        parts["places"] = parts["places"][shown]
    if hidden.any():
        header["masks"] = len(hidden)
        parts["mask"] = np.packbits(hidden.reshape(len(hidden), -1), axis=None, bitorder="little")
    return _pack(header, parts)


def _middle(header: dict, numbers: np.ndarray, masked: np.ndarray) -> tuple[int, int]:
    """Row and column around which all numbers are sent: the chosen cell, or the focus row's largest."""
    if header["chosen"]:
        cell = header["chosen"]
        if header["index"] == 1:
            return (0, cell[0]) if header["row_of_one"] else (cell[0], 0)
        return cell[-2], cell[-1]
    row = header["focus"] or 0
    return row, int(np.where(masked[0, row], -1, np.abs(numbers[0, row])).argmax())


def _lines(header: dict, numbers: np.ndarray, masked: np.ndarray, kind: np.dtype, least: float) -> tuple[dict, bytes]:
    sizes = np.where(np.broadcast_to(masked, numbers.shape), -1, np.nan_to_num(numbers))
    possible = int((sizes >= 0).sum())
    if (sizes >= least).sum() > LINKS:
        least = float(np.partition(sizes, sizes.size - LINKS, axis=None)[-LINKS])
    kept = sizes >= least
    header |= {"least": least, "links": int(kept.sum()), "possible": possible, "group": [1, 1]}
    header["grid"] = header["shape"]
    panel, row, column = np.nonzero(kept)
    cells = _whole(numbers[kept], header["digits"], kind)
    return _pack(
        header,
        {"cells": cells, "row": row.astype("<u2"), "column": column.astype("<u2"), "panel": panel.astype("u1")},
    )


def _pack(header: dict, parts: dict[str, np.ndarray]) -> tuple[dict, bytes]:
    """The parts one after the other, those of larger items first, so that each is aligned."""
    packed, at, header["parts"] = [], 0, {}
    for name, part in sorted(parts.items(), key=lambda x: -x[1].dtype.itemsize):
        header["parts"][name] = [at, part.size, part.dtype.itemsize]
        packed.append(part.tobytes())
        at += len(packed[-1])
    return header, b"".join(packed)


def valid(cell: object, shape: tuple[int, ...]) -> Cell | None:
    """The cell that a browser, a link or an earlier sentence names, or None where this shape has no such cell."""
    if not isinstance(cell, list | tuple) or len(cell) != len(shape):
        return None
    whole = all(isinstance(at, int) and not isinstance(at, bool) for at in cell)
    return tuple(cell) if whole and all(0 <= at < end for at, end in zip(cell, shape, strict=True)) else None


_STYLE = source("matrix.css")
# Streamlit sends a component's script again with every message whose data changed, but a message that did not
# change, and is over 10 kB, only by its hash. So script and style live in an element of their own, one for all matrices
# of a page, and the picture's script merely waits for it.
_script = st.components.v2.component("explorer_matrix_script", js=source("colours.js", "elements.js", "matrix.js"))
_picture = st.components.v2.component(
    "explorer_matrix",
    js="""export default function (component) {
  (globalThis.explorerMatrix ??= Promise.withResolvers()).promise.then((draw) => draw(component));
}
""",
)


def matrix(
    value: Value,
    *,
    name: str,
    path: str,
    key: str,
    rows: Sequence[str | Word] | None = None,
    columns: Sequence[str | Word] | None = None,
    scale: Scale = "signed",
    limit: float | None = None,
    allowed: Tensor | None = None,
    focus: int | None = None,
    chosen: Cell | None = None,
    part: Cell = (),
    mode: Mode = "map",
    least: float = 0.07,
    beside: int = 1,
    legend: bool = True,
    language: str = "en",
    on_choose: Callable[[Cell], None] | None = None,
) -> None:
    """Draw a value, with a ring on the cell that is chosen, an index into its tensor; on none that this shape lacks.

    `name` and `path` stand in the tooltip, the path not where it is empty: what is drawn is then no recorded value.
    `rows` and `columns` are the words of the tokens, None where an axis has none. `focus` is the row of the token in
    focus. Where the value is a part of the one at `path`, such as one head, `part` is the part's index, `(2,)`, and
    stands before the cell's own in the tooltip.

    `on_choose` is called with a cell that was clicked, before the run that the click causes: once a click, and neither
    for a cell that this shape lacks nor once the page is turned. It is for the page to say what is chosen then; the
    ring stands where the click was until that is heard. Without `on_choose` the cells are there to be read alone.
    Raises ValueError as `payload` does.
    """
    if path:
        st.session_state.setdefault("pictured", []).append((path, value.tensor))  # on the screen: see take_away.py
    header, cells = payload(
        value,
        scale,
        limit=limit,
        allowed=allowed,
        rows=rows,
        columns=columns,
        focus=focus,
        chosen=chosen,
        mode=mode,
        least=least,
        beside=beside,
    )
    shape = shape_of(value)
    heard: dict[str, int] = st.session_state.setdefault("matrix clicks", {})  # the number of the last on each

    def clicked() -> None:
        click = getattr(st.session_state.get(key), "click", None)
        number, index = (click.get("number"), click.get("cell")) if isinstance(click, dict) else (None, None)
        if not isinstance(number, int) or number == heard.get(key):
            return
        heard[key] = number
        if on_choose and (cell := valid(index, shape)) is not None:
            on_choose(cell)

    words = WORDS[language]
    header |= {
        "name": name,
        "path": path,
        "part": part,
        "legend": legend,
        "words": words,
        "alt": _sentence(header, name, words, on_choose is not None),
        "clickable": on_choose is not None,
        "heard": heard.get(key),
    }
    head = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 4)
    mount(_script, "matrix-script", _STYLE)
    _picture(key=key, data=len(head).to_bytes(4, "little") + head + cells, on_click_change=clicked)


def _sentence(header: dict, name: str, words: dict, clickable: bool) -> str:
    sides = zip(header["shape"], header["axes"], strict=True)
    size = " × ".join(f"{n} {words['axes'].get(axis, axis)}" for n, axis in sides if axis)
    kind = "alt_lines" if header["mode"] == "lines" else "alt" if clickable else "alt_read"
    return words[kind].format(name=name, size=size)
