"""The whole pass in one picture, and a step at a time."""

import streamlit as st

from explorer import controls, reader
from explorer.config import MASK
from explorer.view import current
from explorer.views.components import stave

controls.within_frame()

words = reader.words()
view = current()
step = reader.option("step")

# A link to a step opens the layer in which it is computed. Where the reader has opened another since, that one stays.
stands = view.layer_of(step) if step in view.trace else None
new, st.session_state["overview_step"] = st.session_state.get("overview_step") != step, step
if new and stands not in (None, view.layer):
    reader.choose(layer=stands)
    st.rerun()
st.session_state["overview_rest"] = False  # this run draws the whole page


def clicked(event: str) -> object:
    """What the picture reported; None once the page is turned, when a click may still be on its way.

    It comes from the reader's browser, so each callback checks it.
    """
    return getattr(st.session_state.get("overview"), event, None)


def look() -> None:
    """Another layer is open, another token in focus, a walk at another step from here on, or a value is opened on its
    page; several of these where the reader was faster than this page. For a token of the other stack, the one at the
    same share of the text.
    """
    asked = clicked("look")
    if not isinstance(asked, dict):
        return
    layer, token, value = (asked.get(name) for name in ("layer", "focus", "open"))
    if isinstance(layer, int) and 0 <= layer < view.config.layers:
        reader.choose(layer=layer)
    if isinstance(token, dict) and token.get("stack") in view.tokens and isinstance(token.get("position"), int):
        share = token["position"] / max(1, len(view.tokens[token["stack"]]) - 1)
        reader.choose(focus=round(min(max(share, 0), 1) * (len(view.tokens[view.stack]) - 1)))
    if isinstance(asked.get("number"), int):
        st.session_state["overview_answers"] = asked["number"]
    if isinstance(value, dict) and known(value.get("path")):
        reader.open_value(value["path"], value.get("index"))
        rest()
    if "step" in asked:
        reader.set_option("step", asked["step"] if known(asked["step"]) else "")
        rest()


def known(path: object) -> bool:
    """Whether a value of the pass is recorded under this path."""
    return isinstance(path, str) and path in view.trace


def rest() -> None:
    """Let the whole page follow."""
    st.session_state["overview_rest"] = True


@st.fragment
def picture() -> stave.View:
    """The picture. A click in it that opens a layer or follows a token draws it anew before the rest of the page: the
    picture asks for that once it is painted. Otherwise it would wait for its turn behind all other elements.
    """
    if st.session_state["overview_rest"]:
        st.rerun()
    now = view.followed()
    drawn = stave.view(now.trace, now.tokens, words, now.token, layer=now.layer, focus=now.focus, masked=MASK)
    stave.stave(
        drawn,
        key="overview",
        step=step,
        answers=st.session_state.get("overview_answers", 0),
        on_look=look,
        on_painted=rest,
    )
    return drawn


drawn = picture()
table = st.expander(words("stave.list"), on_change="rerun", key="overview_list")
if table.open:
    with table:
        st.markdown(words.prose("overview")["list"])
        st.dataframe(stave.listing(drawn), hide_index=True)
