"""What training asks, position by position: a text with its losses, a batch, a text fed with the model's own words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from explorer.tokens import Token
from explorer.views.components import source
from explorer.views.components.tokens import chip
from explorer.words import Words

_component = st.components.v2.component(
    "explorer_lesson",
    html='<div id="root"></div>',
    css=source("strips.css", "lesson.css"),
    js=source("colours.js", "elements.js", "strips.js", "lesson.js"),
)


@dataclass(frozen=True)
class Asked:
    """A position: what is read, the token asked for (None: not asked), its loss, and whether it is the likeliest.

    `padding` says that nothing stands there: it fills a batch up.
    """

    read: Token
    answer: Token | None = None
    loss: float | None = None
    right: bool = False
    padding: bool = False


def _draw(key: str, data: dict, on_pick: Callable[[int], None] | None = None) -> None:
    places = len(data["rows"])

    def picked() -> None:
        found = getattr(st.session_state.get(key), "pick", None)
        if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < places and on_pick:
            on_pick(found)

    _component(key=key, data=data, on_pick_change=picked)


def _said(loss: float | None) -> str:
    return "" if loss is None else f"{loss:.2f}"


def lesson_data(
    words: Words, rows: Sequence[Asked], *, name: str, shifted: bool, most: float, focus: int | None, chosen: int | None
) -> dict:
    """A line a position, the bars on a scale that ends at `most` nats. `shifted` targets are the next line's input."""
    return {
        "kind": "lesson",
        "name": name,
        "words": {name: words(f"sees.{name}") for name in ("reads", "asked", "loss", "not_asked", "open")},
        "shifted": shifted,
        "most": most,
        "focus": focus,
        "chosen": chosen,
        "rows": [
            {
                "in": chip(row.read),
                "out": row.answer and chip(row.answer),
                "loss": row.loss,
                "said": _said(row.loss),
                "right": row.right,
            }
            for row in rows
        ],
    }


def lesson(words: Words, rows: Sequence[Asked], *, key: str, on_pick: Callable[[int], None], **what: object) -> None:
    """Draw one text as it is asked. `on_pick` is called with the position of a clicked loss, before the rerun.

    The other arguments are those of `lesson_data`.
    """
    _draw(key, lesson_data(words, rows, **what), on_pick)


@dataclass(frozen=True)
class Written:
    """A token as the model wrote it, or would have; the loss of the right one; whether they are the same."""

    token: Token
    loss: float
    right: bool


@dataclass(frozen=True)
class Twice:
    """A position of a text read with the right tokens before it, and with the model's own; None where it had ended."""

    answer: Token
    forced: Written
    own: Written | None


def drift_data(words: Words, rows: Sequence[Twice], *, name: str, most: float, apart: int | None) -> dict:
    """A line a position; `apart` is the line from which the model goes its own way."""

    def written(one: Written | None) -> dict | None:
        return one and {"chip": chip(one.token), "loss": one.loss, "said": _said(one.loss), "right": one.right}

    return {
        "kind": "drift",
        "name": name,
        "words": {name: words(f"sees.{name}") for name in ("truth", "forced", "own", "ended")},
        "most": most,
        "apart": apart,
        "rows": [{"answer": chip(row.answer), "forced": written(row.forced), "own": written(row.own)} for row in rows],
    }


def drift(words: Words, rows: Sequence[Twice], *, key: str, **what: object) -> None:
    """Draw a text that was fed the truth beside one that was fed what the model wrote."""
    _draw(key, drift_data(words, rows, **what))


@dataclass(frozen=True)
class Row:
    """A row of a batch, under a name; `read_only` where nothing is asked of it, as of a translation's source."""

    name: str
    cells: Sequence[Asked]
    read_only: bool = False


def batch_data(words: Words, rows: Sequence[Row], *, name: str) -> dict:
    """The rows of a batch, all of one length, [PAD] included."""
    return {
        "kind": "batch",
        "name": name,
        "words": {name: words(f"sees.{name}") for name in ("reads", "asked", "loss", "ignored")},
        "rows": [
            {
                "name": row.name,
                "read_only": row.read_only,
                "cells": [
                    {
                        "in": chip(cell.read),
                        "pad": cell.padding,
                        "out": cell.answer and chip(cell.answer),
                        "said": _said(cell.loss),
                    }
                    for cell in row.cells
                ],
            }
            for row in rows
        ],
    }


def batch(words: Words, rows: Sequence[Row], *, key: str, name: str) -> None:
    """Draw a small batch, its padding hatched, and which of its positions count."""
    _draw(key, batch_data(words, rows, name=name))
