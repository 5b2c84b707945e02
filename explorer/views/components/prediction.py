"""The pictures of a prediction: the output, the whole distribution, the lens, the parts of a logit, every position."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st
from torch import Tensor

from explorer.tokens import Token
from explorer.views.components import source
from explorer.views.components.feed_forward import end, rounded
from explorer.views.components.tokens import chip
from explorer.views.numerals import fixed, percent
from explorer.views.window import around
from explorer.words import Words

_component = st.components.v2.component(
    "explorer_prediction",
    html='<div id="root"></div>',
    css=source("strips.css", "prediction.css"),
    js=source("colours.js", "elements.js", "strips.js", "prediction.js"),
)
POINTS = 120  # of the curve of the whole vocabulary
COLUMNS = 9  # positions of the lens; of a longer text those around the focus


def _ignore() -> None:
    """For a kind of click that a picture does not have."""


def _draw(key: str, data: dict, **on: Callable[[], None]) -> None:
    """Mount a picture. Every mounted picture names the same kinds of click."""
    kinds = ("cell", "token", "focus", "stage", "part")
    _component(key=key, data=data, **{f"on_{kind}_change": on.get(kind, _ignore) for kind in kinds})


def _clicked(key: str, kind: str) -> object:
    """What the browser reported; it is to be checked."""
    return getattr(st.session_state.get(key), kind, None)


def _whole(number: object, below: int) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number < below


@dataclass(frozen=True)
class Candidate:
    """A token of the vocabulary: its row of E, its logit and probability; whether it is kept, and its chance then."""

    token: Token
    row: Tensor
    logit: float
    share: float
    kept: bool
    drawn: float


def output_data(
    words: Words, token: Token, symbol: str, x: Tensor, rows: Sequence[Candidate], chosen: int, vocabulary: int
) -> dict:
    """The last vector and the tokens that it is compared with; those that are not listed are one row together."""
    share = max(0.0, 1 - sum(row.share for row in rows))
    drawn = max(0.0, 1 - sum(row.drawn for row in rows))
    drawn = drawn if drawn > 1e-9 else 0.0
    return {
        "kind": "output",
        "words": {
            **{name: words(f"prediction.{name}") for name in ("probability", "draw", "filtered")},
            "others": words("prediction.others", n=vocabulary - len(rows)),
        },
        "token": chip(token),
        "symbol": symbol,
        "x": rounded(x),
        "rows": [
            {
                "chip": chip(row.token),
                "e": rounded(row.row),
                "logit": row.logit,
                "share": row.share,
                "said": percent(row.share),
                "kept": row.kept,
                "drawn": row.drawn,
                "drawn_said": percent(row.drawn),
            }
            for row in rows
        ],
        "others": {"share": share, "said": percent(share), "drawn": drawn, "drawn_said": percent(drawn)},
        "chosen": chosen,
        "limits": {"x": end([x]), "e": end([row.row for row in rows])},
    }


def output(
    words: Words,
    *,
    key: str,
    vocabulary: int,
    on_token: Callable[[int], None],
    on_cell: Callable[[str, int | None, int | None], None],
    **what: object,
) -> None:
    """Draw the output. `on_token` is called with a clicked token's id, `on_cell` with a kind, an id and a place.

    Kinds are x, e, logit, probability. The other arguments are those of `output_data`.
    """
    width = what["x"].shape[0]

    def token() -> None:
        found = _clicked(key, "token")
        if _whole(found, vocabulary):
            on_token(found)

    def cell() -> None:
        found = _clicked(key, "cell")
        if not isinstance(found, dict) or found.get("kind") not in ("x", "e", "logit", "probability"):
            return
        kind, id, at = found["kind"], found.get("id"), found.get("at")
        if (kind == "x" or _whole(id, vocabulary)) and (kind not in ("x", "e") or _whole(at, width)):
            on_cell(kind, id, at)

    _draw(key, output_data(words, vocabulary=vocabulary, **what), token=token, cell=cell)


def curve_data(words: Words, cumulated: Tensor, after_k: int, count: int) -> dict:
    """How much the likeliest n tokens have together, `cumulated`, [vocabulary], at some ranks; and the two cuts."""
    size = len(cumulated)
    ranks = sorted({round(size ** (i / POINTS)) for i in range(POINTS + 1)} | {count, after_k})
    marks = [[after_k, "top-k"]] if after_k < size else []
    marks += [[count, "top-p"]] if count < after_k else []
    return {
        "kind": "curve",
        "words": {"rank": words("prediction.rank"), "first": words("prediction.first")},
        "size": size,
        "points": [[rank, round(float(cumulated[rank - 1]), 4)] for rank in ranks],
        "kept": count,
        "marks": marks,
        "alt": words("prediction.curve", n=count, all=size),
    }


def curve(words: Words, *, key: str, cumulated: Tensor, after_k: int, count: int) -> None:
    """Draw the whole vocabulary, and what the filters leave of it."""
    _draw(key, curve_data(words, cumulated, after_k, count))


@dataclass(frozen=True)
class Guesses:
    """One stage of the lens: at each position the likeliest token and its probability; the final token's rank here."""

    name: str
    tokens: Sequence[Token]
    shares: Sequence[float]
    rank: int


def lens_data(
    words: Words, tokens: Sequence[Token], rows: Sequence[Guesses], focus: int, final: Token, vocabulary: int
) -> dict:
    """The guesses of the stages at the positions around the focus."""
    shown = around(focus, len(tokens), COLUMNS)
    return {
        "kind": "lens",
        "words": {"stage": words("prediction.stage"), "rank_of": words("prediction.rank_of")},
        "columns": [{"at": at, "chip": chip(tokens[at])} for at in shown],
        "focus": focus,
        "final": chip(final),
        "size": vocabulary,
        "rows": [
            {
                "stage": stage,
                "name": row.name,
                "rank": row.rank,
                "cells": [
                    {"chip": chip(row.tokens[at]), "share": row.shares[at], "said": percent(row.shares[at])}
                    for at in shown
                ],
            }
            for stage, row in enumerate(rows)
        ],
    }


def lens(
    words: Words,
    *,
    key: str,
    on_focus: Callable[[int], None],
    on_stage: Callable[[int, int], None],
    **what: object,
) -> None:
    """Draw the lens. `on_focus` is called with a clicked position, `on_stage` with a stage's number and a position.

    The other arguments are those of `lens_data`.
    """
    _grid(lens_data(words, **what), key, len(what["tokens"]), len(what["rows"]), on_focus, on_stage)


def _grid(
    data: dict,
    key: str,
    positions: int,
    stages: int,
    on_focus: Callable[[int], None],
    on_stage: Callable[[int, int], None],
) -> None:
    """Mount a picture of stages by positions, its clicks checked."""

    def focus() -> None:
        found = _clicked(key, "focus")
        if _whole(found, positions):
            on_focus(found)

    def stage() -> None:
        found = _clicked(key, "stage")
        if isinstance(found, list) and len(found) == 2 and _whole(found[0], stages) and _whole(found[1], positions):
            on_stage(*found)

    _draw(key, data, focus=focus, stage=stage)


def differences_data(
    words: Words, tokens: Sequence[Token], names: Sequence[str], difference: Tensor, equal: Tensor, focus: int
) -> dict:
    """How far two passes are apart, [stage, position], around the focus; 0 where all numbers are the same bits."""
    shown = around(focus, len(tokens), COLUMNS)
    most = float(difference.max()) or 1.0
    return {
        "kind": "differences",
        "words": {"stage": words("prediction.stage")},
        "columns": [{"at": at, "chip": chip(tokens[at])} for at in shown],
        "focus": focus,
        "final": None,
        "rows": [
            {
                "stage": stage,
                "name": name,
                "cells": [
                    {
                        "text": "0" if equal[stage, at] else f"{float(difference[stage, at]):.3g}",
                        "share": float(difference[stage, at]) / most,
                        "said": f"{float(difference[stage, at]):.4g}",
                    }
                    for at in shown
                ],
            }
            for stage, name in enumerate(names)
        ],
    }


def differences(
    words: Words, *, key: str, on_focus: Callable[[int], None], on_stage: Callable[[int, int], None], **what: object
) -> None:
    """Draw the differences; clicks are those of `lens`, the other arguments those of `differences_data`."""
    _grid(differences_data(words, **what), key, len(what["tokens"]), len(what["names"]), on_focus, on_stage)


@dataclass(frozen=True)
class Part:
    """One summand by name; `link` says whether a click on it leads anywhere."""

    name: str
    value: float
    link: bool = True


def parts_data(words: Words, parts: Sequence[Part], total: float, name: str, most: int) -> dict:
    """The largest summands by size in the order given, the others as one, and the total."""
    order = sorted(range(len(parts)), key=lambda i: -abs(parts[i].value))
    largest, rest = sorted(order[:most]), order[most:]
    rows = [
        {"kind": "one", "number": i, "name": parts[i].name, "value": parts[i].value, "path": parts[i].link}
        for i in largest
    ]
    if rest:
        name_of_rest = words("prediction.other_parts", n=len(rest))
        rows.append({"kind": "rest", "name": name_of_rest, "value": sum(parts[i].value for i in rest), "path": False})
    return {"kind": "parts", "rows": rows, "total": fixed(total, 3), "total_name": name}


def parts(
    words: Words,
    *,
    key: str,
    parts: Sequence[Part],
    total: float,
    name: str,
    on_part: Callable[[int], None],
    most: int = 14,
) -> None:
    """Draw the summands of a logit. `on_part` is called with the number of a clicked one."""

    def part() -> None:
        found = _clicked(key, "part")
        if _whole(found, len(parts)) and parts[found].link:
            on_part(found)

    _draw(key, parts_data(words, parts, total, name, most), part=part)


@dataclass(frozen=True)
class Asked:
    """A position that was asked: what is read there, the right answer (None: unknown), its chance, the likeliest."""

    position: int
    read: Token
    answer: Token | None
    share: float
    best: Token


def each_data(words: Words, rows: Sequence[Asked], focus: int, reads: str, follows: str) -> dict:
    """A line for each position."""
    return {
        "kind": "each",
        "words": {
            "reads": reads,
            "follows": follows,
            **{name: words(f"prediction.{name}") for name in ("chance", "guess", "use")},
        },
        "focus": focus,
        "rows": [
            {
                "at": row.position,
                "from": chip(row.read),
                "to": row.answer and chip(row.answer),
                "share": row.share,
                "said": percent(row.share),
                "best": chip(row.best),
                "right": row.answer is not None and row.answer.id == row.best.id,
            }
            for row in rows
        ],
    }


def each(words: Words, *, key: str, positions: int, on_focus: Callable[[int], None], **what: object) -> None:
    """Draw a line for each position. `on_focus` is called with a clicked one."""

    def focus() -> None:
        found = _clicked(key, "focus")
        if _whole(found, positions):
            on_focus(found)

    _draw(key, each_data(words, **what), focus=focus)
