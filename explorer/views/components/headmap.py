"""All heads of a model at once: one small grid for each question that can be asked of a head."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from explorer.views.components import source

_component = st.components.v2.component(
    "explorer_headmap",
    html='<div id="root"></div>',
    css=source("headmap.css"),
    js=source("colours.js", "elements.js", "headmap.js"),
)


@dataclass(frozen=True)
class Question:
    """A question and its answer for each head of each row, a share from 0 to 1; None where it cannot be asked."""

    title: str
    note: str
    shares: Sequence[Sequence[float | None]]


def share(number: float | None) -> str:
    """A share with two decimals and no nought before them: .63, 1, and a dash where there is none."""
    if number is None:
        return "–"
    written = f"{number:.2f}"
    return written[:1] if written in ("0.00", "1.00") else written[1:]


def headmap_data(
    questions: Sequence[Question], rows: Sequence[str], chosen: tuple[int, int], *, corner: str, head: str
) -> dict:
    """The message of the grids. Raises ValueError when a question has another number of rows or heads."""
    heads = len(questions[0].shares[0])
    for question in questions:
        if len(question.shares) != len(rows) or any(len(row) != heads for row in question.shares):
            raise ValueError(f"{question.title} has other sizes than {len(rows)} rows of {heads} heads.")
    return {
        "maps": [
            {
                "title": question.title,
                "note": question.note,
                "shares": [list(row) for row in question.shares],
                "said": [[share(number) for number in row] for row in question.shares],
            }
            for question in questions
        ],
        "rows": list(rows),
        "heads": heads,
        "chosen": list(chosen),
        "corner": corner,
        "head": head,
    }


def headmap(
    questions: Sequence[Question],
    rows: Sequence[str],
    chosen: tuple[int, int],
    *,
    corner: str,
    head: str,
    key: str,
    on_pick: Callable[[int, int], None],
) -> None:
    """Draw the grids: `rows` names the attentions from the first down, `chosen` is a row and a head.

    `on_pick(row, head)` is called when another is clicked, before the rerun.
    """
    data = headmap_data(questions, rows, chosen, corner=corner, head=head)

    def picked():
        pick = getattr(st.session_state.get(key), "pick", None)
        if isinstance(pick, list) and len(pick) == 2 and all(isinstance(at, int) for at in pick):
            row, at = pick
            if 0 <= row < len(rows) and 0 <= at < data["heads"]:
                on_pick(row, at)

    _component(key=key, data=data, on_pick_change=picked)
