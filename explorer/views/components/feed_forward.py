"""A feed-forward layer on one token as one picture, probe, gate, compose; and one of its neurons looked at closely."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st
import torch
from torch import Tensor

from explorer.tokens import Token
from explorer.views.components import source
from explorer.views.components.tokens import chip
from explorer.views.numerals import percent
from explorer.words import Words

_component = st.components.v2.component(
    "explorer_feed_forward",
    html='<div id="root"></div>',
    css=source("strips.css", "feed_forward.css"),
    js=source("colours.js", "elements.js", "strips.js", "feed_forward.js"),
)
SHOWN = 40  # positions as bars; of a longer text those around the focus
AROUND = 44  # characters of a context on each side
LAYER = (
    *("probe", "probe_under", "cosine", "gate", "gate_under", "gate_alt", "open", "shut", "more"),
    *("compose", "compose_under", "to_logit", "writes", "all"),
)
NEURON = ("neuron", "here", "texts", "up", "down", "off", "probability", "as_is", "without")


@dataclass(frozen=True)
class Row:
    """One neuron on its way: its row of W_1 and its similarity with x, h, g, its column of W_2, and what it comes to.

    `push` is its part in a logit, or, where there is none, the size of what it writes.
    """

    number: int
    row: Tensor
    cosine: float
    hidden: float
    activated: float
    column: Tensor
    push: float


def layer_data(
    words: Words,
    token: Token,
    symbol: str,
    x: Tensor,
    hidden: Tensor,
    activated: Tensor,
    rows: Sequence[Row],
    output: Tensor,
    total: float,
    target: Token | None,
    gate: str,
    own: str,
    chosen: int,
) -> dict:
    """What the script draws. `gate` is the activation at work, `own` the one that the model was trained with."""
    return {
        "kind": "layer",
        "words": {name: words(f"ff.{name}") for name in LAYER},
        "token": chip(token),
        "symbol": symbol,
        "x": rounded(x),
        "hidden": rounded(hidden),
        "activated": rounded(activated),
        "open": int((hidden > 0).sum()),
        "rows": [
            {
                "n": row.number,
                "w_1": rounded(row.row),
                "cosine": row.cosine,
                "h": row.hidden,
                "g": row.activated,
                "w_2": rounded(row.column),
                "push": row.push,
            }
            for row in rows
        ],
        "output": rounded(output),
        "total": total,
        "target": target and chip(target),
        "gate": gate,
        "own": own,
        "chosen": chosen,
        "limits": {
            "x": end([x]),
            "w_1": end([row.row for row in rows]),
            "w_2": end([row.column for row in rows]),
            "output": end([output]),
        },
    }


def layer(
    words: Words,
    *,
    key: str,
    on_neuron: Callable[[int], None],
    on_cell: Callable[[str, int | None, int | None], None],
    neurons: int,
    **what: object,
) -> None:
    """Draw the layer. `on_neuron` is called with a clicked neuron, `on_cell` with a kind of value, neuron and place.

    Kinds are x, w_1, hidden, activated, w_2, output. What the browser says is checked against the number of neurons
    and the vector's width. The other arguments are those of `layer_data`.
    """
    width = what["x"].shape[0]

    def neuron() -> None:
        found = getattr(st.session_state.get(key), "neuron", None)
        if isinstance(found, int) and 0 <= found < neurons:
            on_neuron(found)

    def cell() -> None:
        found = getattr(st.session_state.get(key), "cell", None)
        if not isinstance(found, dict):
            return
        kind, at, number = found.get("kind"), found.get("at"), found.get("neuron")
        along = kind in ("x", "w_1", "w_2", "output")
        of_neuron = kind in ("w_1", "w_2", "hidden", "activated")
        if along and not (isinstance(at, int) and 0 <= at < width):
            return
        if of_neuron and not (isinstance(number, int) and 0 <= number < neurons):
            return
        if along or of_neuron:
            on_cell(kind, number, at)

    data = layer_data(words, **what)
    _component(key=key, data=data, on_neuron_change=neuron, on_cell_change=cell)


@dataclass(frozen=True)
class Context:
    """A token in its text, and what the neuron said to it."""

    before: str
    token: str
    after: str
    value: float


def context(text: str, token: Token, value: float) -> Context:
    """A token of a text, with a little of what stands before and after it."""
    before, after = text[: token.start], text[token.end :]
    return Context(
        before if len(before) <= AROUND else f"…{before[-AROUND:]}",
        text[token.start : token.end],
        after if len(after) <= AROUND else f"{after[:AROUND]}…",
        value,
    )


@dataclass(frozen=True)
class Off:
    """A token's probability as it is and with the neuron switched off."""

    token: Token
    before: float
    after: float
    note: str = ""


def neuron_data(
    words: Words,
    number: int,
    path: str,
    tokens: Sequence[Token],
    opens: Tensor,
    focus: int,
    up: Sequence[tuple[Token, float]],
    down: Sequence[tuple[Token, float]],
    off: Off | None,
    contexts: Sequence[Context],
) -> dict:
    """What the script draws of one neuron: `opens`, [position], is its activation at each token of the text."""
    first = max(0, min(focus - SHOWN // 2, len(tokens) - SHOWN))
    last = min(len(tokens), first + SHOWN)
    return {
        "kind": "neuron",
        "words": {name: words(f"ff.{name}") for name in NEURON},
        "n": number,
        "path": path,
        "opens": [
            {"at": at, "chip": chip(tokens[at]), "value": value}
            for at, value in enumerate(rounded(opens[first:last]), first)
        ],
        "focus": focus,
        "left_out": words("ff.left_out", n=len(tokens) - SHOWN) if len(tokens) > SHOWN else "",
        "up": [{"chip": chip(token), "value": value} for token, value in up],
        "down": [{"chip": chip(token), "value": value} for token, value in down],
        "off": off
        and {
            "chip": chip(off.token),
            "before": off.before,
            "after": off.after,
            "said": [percent(off.before), percent(off.after)],
            "note": off.note,
        },
        "contexts": [vars(context) for context in contexts],
    }


def neuron(words: Words, *, key: str, on_focus: Callable[[int], None], **what: object) -> None:
    """Draw the neuron. `on_focus` is called with a clicked position. The other arguments are those of `neuron_data`."""
    positions = len(what["tokens"])

    def focus() -> None:
        found = getattr(st.session_state.get(key), "focus", None)
        if isinstance(found, int) and 0 <= found < positions:
            on_focus(found)

    _component(key=key, data=neuron_data(words, **what), on_focus_change=focus)


def rounded(values: Tensor) -> list[float]:
    """Numbers with the three decimals that a tooltip prints, and more where they are small."""
    digits = 3 if float(values.abs().max()) >= 0.1 else 5
    return [round(value, digits) for value in values.tolist()]


def end(vectors: Sequence[Tensor]) -> float:
    """Where the colours end: the 99th percentile of the size of the numbers."""
    size = torch.cat([vector.flatten() for vector in vectors]).abs()
    return float(size.kthvalue(max(1, round(0.99 * len(size)))).values) or 1.0
