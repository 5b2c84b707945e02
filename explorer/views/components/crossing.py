"""Who looks at whom: source chips above, target chips below, a curve for each weight; and what is needed of it.

`picture` and `table` turn numbers into what the script draws, without a browser. A target token stands with the token
that is predicted after it, since a row of cross-attention serves that prediction. What a person typed is data: the
script only ever sets it as text.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st
from torch import Tensor

from explorer.tokens import Token
from explorer.views.components import source
from explorer.views.components.tokens import chip
from explorer.views.window import around
from explorer.words import Words

MOST = 40  # tokens of a text that are drawn; of a longer one, so many around what matters
LEAST = 0.07  # lighter curves are left out

_component = st.components.v2.component(
    "explorer_crossing",
    html='<div id="root"></div>',
    css=source("crossing.css"),
    js=source("colours.js", "elements.js", "crossing.js"),
)


@dataclass(frozen=True)
class Expected:
    """The token that is first at a row, and its probability."""

    token: Token
    share: float


@dataclass(frozen=True)
class Row:
    """A row of an attention map, by what goes in and what comes out, as the matrix component writes it."""

    label: str
    spaces: int
    special: bool
    part: tuple[int, int] | None = None


def rows(target: Sequence[Token], expected: Sequence[Expected]) -> list[Row]:
    """The names of a map's rows: `의사 → 는`."""
    return [
        Row(f"{token.label}→{out.token.label}", token.spaces, token.special)
        for token, out in zip(target, expected, strict=True)
    ]


def picture(
    source: Sequence[Token], target: Sequence[Token], expected: Sequence[Expected], weights: Tensor, focus: int
) -> dict:
    """The part of the texts around the focus and what it looks at, and their weights in thousandths, row by row.

    `weights` is [target, source]. `left_out` counts the tokens before and after the parts that are drawn, and `beyond`
    is the weight that the focus gives to source tokens that are not. Raises ValueError when the shapes do not fit.
    """
    if tuple(weights.shape) != (len(target), len(source)) or len(expected) != len(target):
        raise ValueError(
            f"{len(target)} target and {len(source)} source tokens, but weights of shape {tuple(weights.shape)} "
            f"and {len(expected)} predictions."
        )
    rows = around(focus, len(target), MOST)
    columns = around(int(weights[focus].argmax()), len(source), MOST)
    part = weights[rows.start : rows.stop, columns.start : columns.stop]
    return {
        "source": [chip(source[at]) for at in columns],
        "target": [chip(target[at]) for at in rows],
        "expected": [chip(expected[at].token) for at in rows],
        "shares": [round(1000 * expected[at].share) for at in rows],
        "weights": [[round(1000 * weight) for weight in row] for row in part.tolist()],
        "focus": focus - rows.start,
        "first": [columns.start, rows.start],
        "left_out": [columns.start, len(source) - columns.stop, rows.start, len(target) - rows.stop],
        "beyond": round(1000 * float(weights[focus].sum() - weights[focus, columns.start : columns.stop].sum())),
    }


def crossing(
    data: dict,
    words: Words,
    *,
    key: str,
    chosen: int | None,
    note: str,
    on_target: Callable[[int], None],
    on_source: Callable[[int], None],
) -> None:
    """Draw a `picture`, and a note under it.

    A click on a target token calls `on_target` with its position, one on a source token, of which `chosen` is one,
    `on_source`, each before the rerun.
    """
    first, sizes = data["first"], (len(data["source"]), len(data["target"]))

    def picked() -> None:
        state = st.session_state.get(key)
        for side, at, call in (("source", 0, on_source), ("target", 1, on_target)):
            position = getattr(state, side, None)
            if isinstance(position, int) and first[at] <= position < first[at] + sizes[at]:
                call(position)

    left_out = data["left_out"]
    said = {name: words(f"crossing.{name}") for name in ("source", "in", "out", "looks", "looked", "hint")}
    said["name"] = words("crossing.alt", source=sizes[0], target=sizes[1])
    said["notes"] = [f"{words('crossing.light', least=f'{LEAST:.2f}'[1:])} {note}"]
    if any(left_out):
        missing = {"source": sum(left_out[:2]), "target": sum(left_out[2:])}
        parts = [words(f"crossing.without.{side}", n=n) for side, n in missing.items() if n]
        said["notes"].append(words("crossing.window", parts=", ".join(parts)))
        if missing["source"]:
            said["notes"][-1] += " " + words("crossing.beyond", share=f"{data['beyond'] / 1000:.2f}")
    _component(
        key=key,
        data=data | {"kind": "curves", "least": round(1000 * LEAST), "chosen": chosen, "words": said},
        on_source_change=picked,
        on_target_change=picked,
    )


@dataclass(frozen=True)
class Loss:
    """A source token in the eyes of one row: the weight it gets, and the probability of the row's prediction when it is
    hidden from the decoder and from both stacks; `instead` is the token that comes first then, where another does."""

    position: int
    token: Token
    weight: float
    hidden: float
    unread: float
    instead: Token | None


def table(losses: Sequence[Loss], usual: Expected) -> dict:
    """The rows of the table, in thousandths."""
    return {
        "usual": round(1000 * usual.share),
        "expected": chip(usual.token),
        "rows": [
            {
                "position": loss.position,
                "chip": chip(loss.token),
                "weight": round(1000 * loss.weight),
                "hidden": round(1000 * loss.hidden),
                "unread": round(1000 * loss.unread),
                "instead": loss.instead and chip(loss.instead),
            }
            for loss in losses
        ],
    }


def needs(data: dict, words: Words, *, key: str, chosen: int | None, on_source: Callable[[int], None]) -> None:
    """Draw a `table`: what is looked at, beside what is lost without it. A click on a row calls `on_source`."""
    known = {row["position"] for row in data["rows"]}

    def picked() -> None:
        position = getattr(st.session_state.get(key), "source", None)
        if position in known:
            on_source(position)

    names = ("source", "weight", "hidden", "unread", "instead", "everything", "needs")
    said = {name: words(f"crossing.{name}") for name in names}
    _component(
        key=key,
        data=data | {"kind": "needs", "chosen": chosen, "words": said},
        on_source_change=picked,
        on_target_change=lambda: None,
    )
