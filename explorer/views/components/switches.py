"""What can be switched off in a model, as buttons where it stands, and what a change does.

Four pictures: the model with its sublayers and heads, the neurons of one layer, a prediction before and after, and a
number for each stage of the stream at each position. A button's colour is what became of a token's logit when it alone
was switched off.
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
    "explorer_switches",
    html='<div id="root"></div>',
    css=source("switches.css"),
    js=source("colours.js", "elements.js", "switches.js"),
)
STRONGEST = 8  # neurons in the list beside their picture


@dataclass(frozen=True)
class Switch:
    """A place that can be switched off: `code` names it (`d0a.h2`), `label` stands on it, `said` in its tooltip.

    `effect` is None where it was not tried. `off` says that it is switched off, `changed` that it is changed otherwise.
    """

    code: str
    label: str
    said: str
    effect: float | None = None
    off: bool = False
    changed: bool = False


@dataclass(frozen=True)
class Sublayer:
    """A sublayer and its heads; a feed-forward layer has none."""

    itself: Switch
    heads: Sequence[Switch] = ()


@dataclass(frozen=True)
class Lane:
    """A stack: a name, and its layers from the first on, each by name with its sublayers."""

    itself: Switch
    layers: Sequence[tuple[str, Sequence[Sublayer]]]


def signed(number: float) -> str:
    """A difference with its sign: +0.42, −1.30, 0 for none at all."""
    return "0" if number == 0 else fixed(number, 2, signed=True)


def model_data(words: Words, lanes: Sequence[Lane], chosen: str, limit: float) -> dict:
    """The message of the model's picture."""
    return {
        "kind": "model",
        "words": {name: words(f"switches.{name}") for name in ("off", "effect", "changed")},
        "chosen": chosen,
        "limit": limit,
        "lanes": [
            {
                **_switch(lane.itself),
                "layers": [
                    {
                        "name": name,
                        "subs": [{**_switch(sub.itself), "heads": list(map(_switch, sub.heads))} for sub in subs],
                    }
                    for name, subs in lane.layers
                ],
            }
            for lane in lanes
        ],
    }


def _switch(one: Switch) -> dict:
    return {
        "code": one.code,
        "label": one.label,
        "said": one.said,
        "effect": one.effect,
        "number": "" if one.effect is None else signed(one.effect),
        "off": one.off,
        "changed": one.changed,
    }


def neurons_data(words: Words, neurons: Sequence[Switch], chosen: str, limit: float) -> dict:
    """The message of the neurons' picture: all of them, and those with the largest effects."""
    tried = sorted((one for one in neurons if one.effect), key=lambda one: -abs(one.effect))
    return {
        "kind": "neurons",
        "words": {name: words(f"switches.{name}") for name in ("off", "effect", "changed")},
        "alt": words("switches.neurons", n=len(neurons)),
        "chosen": chosen,
        "limit": limit,
        "neurons": list(map(_switch, neurons)),
        "strongest": list(map(_switch, tried[:STRONGEST])),
    }


@dataclass(frozen=True)
class Outcome:
    """A token with its probability before and after, and how far its logit moved."""

    token: Token
    before: float
    after: float
    moved: float


def outcomes_data(words: Words, rows: Sequence[Outcome], chosen: int) -> dict:
    """The message of a prediction before and after; `chosen` is the id of the token whose logit is looked at."""
    return {
        "kind": "outcomes",
        "words": {name: words(f"switches.{name}") for name in ("before", "after", "moved", "choose")},
        "chosen": chosen,
        "rows": [
            {
                "chip": chip(row.token),
                "id": row.token.id,
                "before": row.before,
                "after": row.after,
                "before_said": percent(row.before),
                "after_said": percent(row.after),
                "moved": signed(row.moved),
            }
            for row in rows
        ],
    }


def stages_data(
    words: Words,
    names: Sequence[str],
    tokens: Sequence[Token],
    window: Sequence[int],
    numbers: dict[tuple[int, int], float],
    *,
    share: bool,
    focus: int | None,
    limit: float,
) -> dict:
    """The message of a grid, stages down and the positions of `window` across; a cell without a number is hatched.

    The numbers are shares, from nothing on, or else signed.
    """

    def written(number: float) -> str:
        return signed(number) if not share else percent(number) if number else "0"

    return {
        "kind": "stages",
        "words": {"untried": words("switches.untried")},
        "names": list(names),
        "columns": [{"at": at, "chip": chip(tokens[at])} for at in window],
        "rows": [
            [None if (row, at) not in numbers else [numbers[row, at], written(numbers[row, at])] for at in window]
            for row in range(len(names))
        ],
        "share": share,
        "focus": focus,
        "limit": limit,
    }


def stages(
    words: Words,
    *,
    key: str,
    names: Sequence[str],
    window: Sequence[int],
    on_stage: Callable[[int, int], None],
    **what: object,
) -> None:
    """Draw such a grid. `on_stage` is called with the row and the position of a clicked cell, before the rerun; the
    other arguments are those of `stages_data`."""
    cells = {f"{row},{at}" for row in range(len(names)) for at in window}
    data = stages_data(words, names, window=window, **what)
    _draw(key, data, cells, lambda cell: on_stage(*map(int, cell.split(","))))


def model(
    words: Words, *, key: str, lanes: Sequence[Lane], chosen: str, limit: float, on_switch: Callable[[str, bool], None]
) -> None:
    """Draw the model. `on_switch` is called with the code of what was clicked, and whether it is to be off, before the
    rerun."""
    codes = {lane.itself.code for lane in lanes}
    for lane in lanes:
        for _, subs in lane.layers:
            codes |= {one.code for sub in subs for one in (sub.itself, *sub.heads)}
    _flip(key, model_data(words, lanes, chosen, limit), codes, on_switch)


def neurons(
    words: Words,
    *,
    key: str,
    neurons: Sequence[Switch],
    chosen: str,
    limit: float,
    on_switch: Callable[[str, bool], None],
) -> None:
    """Draw the neurons of a layer. `on_switch` is called as by `model`."""
    _flip(key, neurons_data(words, neurons, chosen, limit), {one.code for one in neurons}, on_switch)


def outcomes(words: Words, *, key: str, rows: Sequence[Outcome], chosen: int, on_token: Callable[[int], None]) -> None:
    """Draw a prediction before and after. `on_token` is called with the id of a clicked token, before the rerun."""
    _draw(key, outcomes_data(words, rows, chosen), {row.token.id for row in rows}, on_token)


def _flip(key: str, data: dict, codes: set[str], on_switch: Callable[[str, bool], None]) -> None:
    """Mount a picture of switches, which says what a click wants: said twice, it is still that."""
    wanted = {f"{to}:{code}": (code, to == "off") for code in codes for to in ("off", "on")}
    _draw(key, data, set(wanted), lambda found: on_switch(*wanted[found]))


def _draw(key: str, data: dict, known: set, on_pick: Callable) -> None:
    """Mount a picture; what the browser says was clicked counts only if it is in the picture."""

    def picked() -> None:
        found = getattr(st.session_state.get(key), "pick", None)
        if isinstance(found, str | int) and found in known:
            on_pick(found)

    _component(key=key, data=data, on_pick_change=picked)
