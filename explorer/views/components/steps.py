"""One attention head at work for one query, step by step: a table with a row for each token that is looked at.

`table` gathers the recorded numbers without a browser; `steps` mounts the picture. What a person typed is data: the
script only ever sets it as text. Products are not recorded values. The script multiplies two recorded float32
numbers and rounds once, as the model's own arithmetic does.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
from torch import Tensor

from explorer import glossary
from explorer.trace import Trace
from explorer.views.components import source
from explorer.views.components.tokens import chip

Index = tuple[int, ...]

ALL = 40  # keys up to which each has a row
MOST = 22  # rows of a longer text, the others gathered in rows that say what they hold


@dataclass(frozen=True)
class Gap:
    """Neighbouring keys without a row of their own: `first` to `last`, their weights' sum, and how many are masked."""

    first: int
    last: int
    weight: float
    masked: int


@dataclass(frozen=True)
class Table:
    """The numbers of one head and one query: what was read and projected, and for each row's key what came of it.

    `paths` name the recorded values. `x`, [d_model], is what the query was made of; `query`, [d_k]; `output`, [d_v].
    `read`, [row, d_model], is what keys and values were made of; `keys`, [row, d_k]; `values`, [row, d_v];
    `numbers`, [row, 4]: raw score, score, masked score, weight. `rows` are the keys that have a row, in the order of
    the text; `gaps` what lies between them.
    """

    paths: dict[str, str]
    head: int
    place: int
    rows: list[int]
    gaps: list[Gap]
    x: np.ndarray
    query: np.ndarray
    output: np.ndarray
    read: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    numbers: np.ndarray
    total: float


def rows_of(weights: Tensor, keep: Sequence[int]) -> list[int]:
    """The keys that get a row: all of a short text; else those with the largest weights, the first, and `keep`.

    A key that would stand alone between two rows gets one too.
    """
    if len(weights) <= ALL:
        return list(range(len(weights)))
    kept = {0, *keep}
    for key in weights.argsort(descending=True, stable=True).tolist():
        if len(kept) >= MOST or weights[key] == 0:
            break
        kept.add(key)
    kept |= {key for key in range(len(weights)) if key not in kept and {key - 1, key + 1} <= kept}
    return sorted(kept)


def table(trace: Trace, path: str, head: int, place: int, keep: Sequence[int] = ()) -> Table:
    """The steps of the attention at `path` for one head and the query at `place`.

    `keep` are keys that must have a row, such as a chosen one. Raises IndexError for a head or a place that the pass
    does not have.
    """
    shape = trace[f"{path}.weights"].tensor.shape
    if not (0 <= head < shape[0] and 0 <= place < shape[1]):
        raise IndexError(
            f"{path} has {shape[0]} heads and {shape[1]} queries, so there is no head {head}, query {place}."
        )
    paths = {name: path_of(trace, path, name) for name in STEPS}
    got = {name: trace[found].tensor for name, found in paths.items()}
    weights, allowed = got["weights"][head, place], trace[f"{path}.allowed"].tensor[place]
    rows = rows_of(weights, [key for key in keep if 0 <= key < shape[2]])
    gaps = []
    for before, after in zip([-1, *rows], [*rows, shape[2]], strict=True):
        if after - before > 1:
            left = slice(before + 1, after)
            gaps.append(Gap(before + 1, after - 1, float(weights[left].sum()), int((~allowed[left]).sum())))
    numbers = [got[name][head, place, rows] for name in ("raw_scores", "scores", "masked_scores", "weights")]
    return Table(
        paths,
        head,
        place,
        rows,
        gaps,
        x=_numbers(got["x"][place]),
        query=_numbers(got["queries"][head, place]),
        output=_numbers(got["heads"][head, place]),
        read=_numbers(got["read"][rows]),
        keys=_numbers(got["keys"][head, rows]),
        values=_numbers(got["values"][head, rows]),
        numbers=np.stack([_numbers(column) for column in numbers], axis=1),
        total=float(weights.sum()),
    )


def _numbers(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy().astype("<f4")


def message(found: Table, about: dict) -> bytes:
    """[length of the header][header][numbers]: the header in JSON, the numbers in float32, part after part."""
    parts = {name: getattr(found, name) for name in ("x", "query", "output", "read", "keys", "values", "numbers")}
    header = about | {
        "paths": found.paths,
        "head": found.head,
        "place": found.place,
        "keys": found.rows,
        "gaps": [[gap.first, gap.last, gap.weight, gap.masked] for gap in found.gaps],
        "total": found.total,
        "parts": {name: part.size for name, part in parts.items()},
    }
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    return len(text).to_bytes(4, "little") + text + b"".join(part.tobytes() for part in parts.values())


_component = st.components.v2.component(
    "explorer_steps",
    html='<div id="root"></div>',
    css=source("steps.css"),
    js=source("colours.js", "elements.js", "steps.js"),
)


def steps(
    view,
    path: str,
    head: int,
    place: int,
    *,
    limits: dict[str, float],
    key: str,
    chosen: tuple[str, Index] | None = None,
    on_open: Callable[[str, Index], None],
    on_focus: Callable[[int], None],
) -> None:
    """Draw the steps of one head for the query at `place`.

    `view` is what `controls.current()` returns; `limits` say where the colours of x, read, queries, keys and values
    end. `chosen` is the cell that is marked. `on_open(path, index)` is called when the reader chooses a cell,
    `on_focus(place)` when another query, before the rerun.
    """
    words, trace = view.words, view.trace
    crossing = ".cross_attention" in path
    looked_at = view.tokens_of(f"{path}.weights", "key")
    asking = view.tokens_of(f"{path}.weights", "query")
    in_row = [chosen[1][axis] for axis in (_key_axis(trace, *chosen),) if axis is not None] if chosen else []
    found = table(trace, path, head, place, [*([] if crossing else [place]), *in_row])
    masked = not bool(trace[f"{path}.allowed"].tensor.all())
    normed = {name: glossary.entry(found.paths[name], trace).symbol == r"\bar x" for name in SOURCES}
    symbols = {"x": ["x", normed["x"]], "read": ["M", False] if crossing else ["x", normed["read"]]}
    said = {
        name: words(f"steps.{name}")
        for name in ("project", "multiply", "add", "scale", "mask", "softmax", "weigh", "values", "output", "numbers")
    }
    said["mask_how"] = words("steps.future" if masked else "steps.all")
    said["gap"], said["gap_masked"], said["masked"] = (
        words(f"steps.{name}") for name in ("gap", "gap_masked", "masked")
    )
    said["back"], said["on"], said["look"] = words("steps.back"), words("steps.on"), words("steps.look")
    said["names"] = {name: glossary.entry(found.paths[name], trace).name[words.language] for name in found.paths} | {
        "product": words("steps.product"),
        "weighed": words("steps.weighed"),
    }
    about = {
        "words": said,
        "alt": words("steps.alt", token=asking[place].label, n=len(found.rows)),
        "symbols": symbols,
        "limits": limits,
        "chips": [chip(looked_at[at]) for at in found.rows],
        "own": None if crossing else place,
        "asking": chip(asking[place]),
        "last": len(asking) - 1,
        "chosen": [chosen[0], list(chosen[1])] if chosen else None,
        "crossing": crossing,
    }

    def picked() -> None:
        pick = getattr(st.session_state.get(key), "pick", None)
        if not isinstance(pick, list) or len(pick) != 2:
            return
        name, index = pick
        if name == "focus" and isinstance(index, int) and 0 <= index < len(asking):
            on_focus(index)
        elif name in found.paths and isinstance(index, list) and all(isinstance(at, int) for at in index):
            shape = trace[found.paths[name]].tensor.shape
            if len(index) == len(shape) and all(0 <= at < size for at, size in zip(index, shape, strict=True)):
                on_open(found.paths[name], tuple(index))

    _component(key=key, data=message(found, about), on_pick_change=picked)


SOURCES = {"x": "queries", "read": "keys"}  # the vectors that stand in the table, and what is made of them
STEPS = ("raw_scores", "scores", "masked_scores", "weights", "queries", "keys", "values", "heads", *SOURCES)


def path_of(trace: Trace, path: str, name: str) -> str:
    """The path of a value of the table by its name there."""
    return glossary.inputs(f"{path}.{SOURCES[name]}", trace)["x"] if name in SOURCES else f"{path}.{name}"


def write_cell(trace: Trace, path: str, cell: str, index: Index) -> tuple[str, int | None, int | None] | None:
    """A cell of the attention at `path` as a short text without its head and query, and those two where it has them.

    So the text names the same step when another head or query is chosen. None for a value that is not in the table.
    """
    name = next((name for name in STEPS if path_of(trace, path, name) == cell), None)
    if name is None:
        return None
    at = dict(zip(trace[cell].axes, index, strict=True))
    head, query = at.pop("head", None), at.pop("query", None)
    return ",".join([name, *map(str, at.values())]), head, query


def read_cell(trace: Trace, path: str, head: int, place: int, text: str) -> tuple[str, Index] | None:
    """The path and index that such a text means for a head and the query at `place`; None where there is none."""
    name, *numbers = text.split(",")
    if name not in STEPS or not all(at.isdecimal() and len(at) < 10 for at in numbers):
        return None
    cell = path_of(trace, path, name)
    axes, shape = trace[cell].axes, trace[cell].tensor.shape
    known, rest = {"head": head, "query": place}, [axis for axis in axes if axis not in ("head", "query")]
    if len(rest) != len(numbers):
        return None
    known |= dict(zip(rest, map(int, numbers), strict=True))
    index = tuple(known[axis] for axis in axes)
    return (cell, index) if all(at < size for at, size in zip(index, shape, strict=True)) else None


def _key_axis(trace: Trace, path: str, index: Index) -> int | None:
    """Which of a cell's numbers is a place among the keys; None where none is."""
    axes = trace[path].axes if path in trace and len(index) == trace[path].tensor.dim() else ()
    return axes.index("key") if "key" in axes else None
