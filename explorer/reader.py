"""What a reader has chosen: the text, the model, where to look, the options of a page.

The choices belong to the visit, not to the widgets: a widget shows a choice and, when it is touched, changes it. So
nothing is lost when a widget is not drawn, and labels may change with the language while the choices stay.
"""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from explorer import address, checkpoints, passes
from explorer.address import MOST_EDITS, Choices, Notice
from explorer.changes import LEVELS, Change
from explorer.config import Config, kind_of
from explorer.tokens import MASK_TEXT, Token
from explorer.words import LANGUAGES, Words

FIRST_TEXT = {
    "en": "The cat sat on the mat because it was tired.",
    "ko": "고양이가 피곤해서 매트 위에 앉았다.",
}


def begin() -> Words:
    """Read the address where a visit begins or goes back in history, and return the words of the chosen language."""
    state = st.session_state
    state.models = {name: _config(name) for name in checkpoints.available()}
    if "choices" not in state:
        language = "ko" if (st.context.locale or "").lower().startswith("ko") else "en"
        if st.query_params.get("lang") in LANGUAGES:
            language = st.query_params["lang"]
        _read(Choices(language=language, text=FIRST_TEXT[language]))
    elif get_script_run_ctx().is_history_navigation:
        kept = state.choices
        target, other = ("" if address.carries(text) else text for text in (kept.target, kept.other))
        _read(replace(kept, target=target, head=0, focus=None, cut=False, edits=(), other=other))
    state.view, state.asked = None, []
    return Words(state.choices.language)


def _read(otherwise: Choices) -> None:
    given = st.query_params
    found, notices = address.read(given.to_dict(), models(), list(LANGUAGES), otherwise)
    for name in given:
        first, last = given.get_all(name)[0], given[name]
        if first != last:
            notices.append(Notice(name, first, last))
    st.session_state.choices, st.session_state.notices = found, notices
    st.session_state.linked = set(given)  # what the link said and no page has looked at yet


def models() -> dict[str, Config]:
    """The trained models by name, with their sizes, as this run found them; plain ones where a card is unreadable."""
    return st.session_state.models


def _config(name: str) -> Config:
    try:
        return Config(**passes.card(name)["config"])
    except checkpoints.CheckpointError:  # the reader is told when this model is chosen
        return Config(*kind_of(name))


def choices() -> Choices:
    """What this visitor has chosen. To change it, use `choose`."""
    return st.session_state.choices


def words() -> Words:
    """The words of the chosen language."""
    return Words(choices().language)


def choose(**chosen: object) -> None:
    """Change choices by name, for the run that follows: a callback of a widget that is not one of the frame's."""
    for name, value in chosen.items():
        setattr(st.session_state.choices, name, value)
    if "text" in chosen:
        st.session_state.choices.focus, st.session_state.choices.cut = None, False
    _acted()


def gave_way(name: str, given: str, used: str = "") -> None:
    """Say that a choice is not there, and what is shown in its place, if it is the link that asked for it.

    A choice that the reader made, and that another text or model does not have, gives way without a word.
    """
    if name in st.session_state.linked:
        st.session_state.linked.discard(name)
        st.session_state.notices.append(Notice(name, given, used))
        if name in choices().options:
            choices().options[name] = used


def _acted() -> None:
    """The reader has done something, so what is on the screen is no longer what the link asked for."""
    st.session_state.notices, st.session_state.linked = [], set()


def edit(change: Change, make: bool = True) -> None:
    """Make a change in the model, or take it back. For callbacks.

    A place is switched off, multiplied or levelled: one takes the place of another. Beyond MOST_EDITS nothing is added.
    """
    made = choices().edits
    if (change in made) == make:
        return
    if not make:
        choose(edits=tuple(one for one in made if one != change))
        return
    if change.action in LEVELS:
        made = tuple(
            one
            for one in made
            if one.action not in LEVELS or replace(one, action=change.action, factor=change.factor) != change
        )
    if len(made) < MOST_EDITS:
        choose(edits=(*made, change))


def undo(*numbers: int) -> None:
    """Undo the changes of these numbers; all of them where none is named. For callbacks."""
    choose(edits=tuple(one for number, one in enumerate(choices().edits) if numbers and number not in numbers))


def switch(architecture: str | None = None, norm: str | None = None) -> None:
    """Choose another architecture or norm order, and the nearest heads, layer and head that it has. For callbacks."""
    choose(architecture=architecture or choices().architecture, norm=norm or choices().norm)
    nearest_model()


def nearest_model() -> None:
    """After another model was chosen: the nearest heads and norm that it has, and its nearest layer and head."""
    found = nearest(choices())
    choose(norm=found.norm, heads=found.heads, layer=found.layer, head=found.head)


def nearest(chosen: Choices, **asked: str) -> Choices:
    """The choices with what is asked of another model (arch, norm, heads, as an address says them), or the nearest of
    it that there is; and with the nearest layer and head of that model."""
    found, _ = address.read(asked, models(), list(LANGUAGES), chosen)
    model = {name: getattr(found, name) for name in ("architecture", "norm", "heads", "layer", "head")}
    return replace(chosen, **model)


def option(name: str, usual: str = "", offered: Sequence[str] | None = None) -> str:
    """What the reader chose on a page, under a short name that stands in the address while the page is shown.

    Another page that asks for the same name shares the choice. A value that is not `offered` gives way to `usual`.
    """
    if name not in st.session_state.asked:
        st.session_state.asked.append(name)
    chosen = choices().options.get(name)
    if chosen is None:
        return usual
    if offered is not None and chosen not in offered:
        choices().options[name] = usual
        gave_way(name, chosen, usual)
        return usual
    return chosen


def set_option(name: str, value: str) -> None:
    """Choose a page's option: for callbacks, and for a page that makes its usual choice the reader's."""
    if choices().options.get(name) != value:
        choices().options[name] = value
        _acted()


def whole(name: str, usual: int, below: int) -> int:
    """A page's option as a whole number below a limit; the usual one where it is none."""
    given = option(name)
    found = address.whole_number(given)
    if found is not None and found < below:
        return found
    if given:
        gave_way(name, given, str(usual))
    return usual


def cell(shape: Sequence[int], name: str = "c") -> tuple[int, ...] | None:
    """The cell that the reader chose (an option), where a value of this shape has it."""
    given = option(name)
    index = tuple(map(address.whole_number, given.split(",")))
    if len(index) == len(shape) and all(at is not None and at < size for at, size in zip(index, shape, strict=True)):
        return index
    if given:
        gave_way(name, given)
    return None


def open_value(path: str, index: Sequence[int] | None = None) -> None:
    """Go to the page of all values and open one there, with one of its cells. For callbacks on any page."""
    names = path.split(".")
    if names[1:2] == ["layers"]:
        choose(layer=int(names[2]))
    set_option("v", path)
    set_option("c", ",".join(map(str, index)) if index is not None else "")
    st.session_state.go = "values"


def mask(group: Sequence[Token]) -> None:
    """Write [MASK] in the place of a token, or of those that share a character with it. For callbacks."""
    text = choices().text
    start, end = group[0].start + group[0].spaces, group[-1].end
    choose(text=f"{text[:start]}{MASK_TEXT}{text[end:]}")
