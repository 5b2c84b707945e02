"""Tokens as chips: a text's tokens in a row, and predicted tokens with their probabilities.

What a person typed is data: the script only ever sets it as text.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from explorer.tokens import Token, groups
from explorer.views.components import source
from explorer.views.numerals import percent

_component = st.components.v2.component(
    "explorer_tokens",
    html='<div id="root"></div>',
    css=source("tokens.css"),
    js=source("colours.js", "elements.js", "tokens.js"),
)


@dataclass(frozen=True)
class Bar:
    """A token and its share, such as a probability; no token stands for all others together."""

    token: Token | None
    share: float
    name: str = ""  # what stands in place of the chip where there is no token
    said: str = ""  # what stands at the end of the bar; otherwise the share in per cent


def chip(token: Token) -> dict:
    """A token as the script draws it: the spaces apart, so that they can be paler."""
    text = token.label[token.spaces :]
    return {
        "spaces": token.spaces,
        "text": text,
        "kind": "special" if token.special else "part" if token.part or text.startswith("⟨") else "text",
        "id": token.id,
        "bytes": token.hex if token.bytes else "",
    }


def strip_data(tokens: Sequence[Token], focus: int | None, marked: Sequence[int] = ()) -> dict:
    """The row of a text's tokens, those that share a character side by side without a gap."""
    return {"runs": groups(tokens), "chips": [chip(token) for token in tokens], "focus": focus, "marked": list(marked)}


def strip(
    tokens: Sequence[Token],
    *,
    name: str,
    key: str,
    focus: int | None = None,
    on_pick: Callable[[int], None] | None = None,
    hint: str = "",
    tall: bool = False,
    marked: Sequence[int] = (),
    mark: str = "",
) -> None:
    """Draw a text's tokens with their ids. `on_pick` is called with the position of a clicked one, before the rerun.

    `name` says to a screen reader what the row is, `hint` what a click does. Many tokens scroll in a window, which is
    a few rows high, or `tall`. The tokens at the positions `marked` are underlined, and `mark` says why.
    """

    def picked():
        position = getattr(st.session_state.get(key), "pick", None)
        if isinstance(position, int) and 0 <= position < len(tokens) and on_pick:
            on_pick(position)

    said = {"name": name, "hint": hint, "tall": tall, "mark": mark, "clickable": on_pick is not None}
    data = strip_data(tokens, focus, marked) | said
    _component(key=key, data=data, on_pick_change=picked)


def bars(rows: Sequence[Bar], *, name: str, key: str) -> None:
    """Draw tokens, the first in accent, as bars with their probabilities, or what they say instead, at the end."""
    data = {
        "name": name,
        "bars": [
            {
                "chip": row.token and chip(row.token),
                "name": row.name,
                "share": row.share,
                "said": row.said or percent(row.share),
            }
            for row in rows
        ],
    }
    _component(key=key, data=data, on_pick_change=lambda: None)
