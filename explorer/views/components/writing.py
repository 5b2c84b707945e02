"""How a text is written: the candidates for one place with the draw between them, and the tree of a beam search.

`candidates_data` and `tree_data` turn numbers into what the script draws, without a browser.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from explorer.tokens import Token
from explorer.views.components import source
from explorer.views.components.tokens import chip
from explorer.views.numerals import fixed, percent
from explorer.words import Words

_component = st.components.v2.component(
    "explorer_writing",
    html='<div id="root"></div>',
    css=source("writing.css"),
    js=source("colours.js", "elements.js", "writing.js"),
)


@dataclass(frozen=True)
class Choice:
    """A token that could stand at a place: its `probability` by the model, its `chance` in the draw, its `rank`."""

    token: Token
    probability: float
    chance: float
    rank: int


def candidates_data(choices: Sequence[Choice], written: Choice, draw: float | None, drawn: bool) -> dict:
    """The likeliest tokens, with the one that was written added at the end where it is not among them.

    The chances lie side by side on a line from 0 to 1, the likeliest first, and `draw`, the random number, falls on one
    of them; None where there is nothing to draw.
    """
    listed = [*choices] if any(one.rank == written.rank for one in choices) else [*choices, written]
    places, end = [], 0.0
    for one in choices:
        places.append([end, end + one.chance])
        end += one.chance
    return {
        "kind": "candidates",
        "rows": [
            {
                "chip": chip(one.token),
                "rank": one.rank,
                "probability": one.probability,
                "said": percent(one.probability),
                "chance": one.chance,
                "chance_said": percent(one.chance) if one.chance else "–",
                "written": one.rank == written.rank,
            }
            for one in listed
        ],
        "line": places,
        "others": max(0.0, 1 - end),
        "draw": draw,
        "drawn": drawn,
    }


def candidates(data: dict, words: Words, *, name: str, key: str, on_pick: Callable[[int], None]) -> None:
    """Draw what `candidates_data` made. `on_pick` is called with the id of a clicked token, before the rerun."""
    known = {row["chip"]["id"] for row in data["rows"]}

    def picked() -> None:
        id = getattr(st.session_state.get(key), "pick", None)
        if id in known:
            on_pick(id)

    labels = ("token", "probability", "chance", "written", "pick", "line", "draw")
    said = {label: words(f"generation.{label}") for label in labels}
    _component(key=key, data=data | {"name": name, "words": said}, on_pick_change=picked)


@dataclass(frozen=True)
class Branch:
    """A node of the tree: `parent` and `number` are places in the list, `share` the probability of the token after its
    parent's text, `mean` the mean log probability up to it."""

    number: int
    parent: int | None
    depth: int
    token: Token
    share: float
    mean: float
    kept: bool
    finished: bool


def tree_data(branches: Sequence[Branch], best: Sequence[int]) -> dict:
    """The nodes by depth, in each the best text first; `best` are the numbers of those that lead to the found text."""
    columns: dict[int, list[Branch]] = {}
    for branch in branches:
        columns.setdefault(branch.depth, []).append(branch)
    row = {
        branch.number: place
        for column in columns.values()
        for place, branch in enumerate(sorted(column, key=lambda one: (not one.kept, -one.mean)))
    }
    chosen = set(best)
    return {
        "kind": "tree",
        "nodes": [
            {
                "number": branch.number,
                "parent": branch.parent,
                "depth": branch.depth,
                "row": row[branch.number],
                "chip": chip(branch.token),
                "said": percent(branch.share),
                "mean": fixed(branch.mean, 2),
                "kept": branch.kept,
                "best": branch.number in chosen,
            }
            for branch in branches
        ],
    }


def tree(data: dict, words: Words, *, name: str, key: str) -> None:
    """Draw what `tree_data` made."""
    said = {label: words(f"generation.{label}") for label in ("passed", "mean")}
    _component(key=key, data=data | {"name": name, "words": said}, on_pick_change=lambda: None)
