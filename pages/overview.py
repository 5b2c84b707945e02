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


def clicked(event: str) -> object:
    """What the picture reported. It comes from the reader's browser, so each callback checks it."""
    return st.session_state["overview"].get(event)


def open_value() -> None:
    asked = clicked("open")
    if isinstance(asked, dict) and asked.get("path") in view.trace:
        reader.open_value(asked["path"], asked.get("index"))
        rest()


def look_at() -> None:
    """A token is in focus from here on; for one of the other stack, the token at the same share of the text."""
    asked = clicked("focus")
    if not isinstance(asked, dict) or asked.get("stack") not in view.tokens:
        return
    position, last = asked.get("position"), len(view.tokens[view.stack]) - 1
    if isinstance(position, int):
        share = position / max(1, len(view.tokens[asked["stack"]]) - 1)
        reader.choose(focus=round(min(max(share, 0), 1) * last))


def open_layer() -> None:
    asked = clicked("layer")
    if isinstance(asked, int) and 0 <= asked < view.config.layers:
        reader.choose(layer=asked)


def follow() -> None:
    asked = clicked("step")
    reader.set_option("step", asked if asked in view.trace else "")
    rest()


def rest() -> None:
    """Let the whole page follow."""
    st.session_state["overview_rest"] = True


@st.fragment
def picture() -> stave.View:
    """The picture. A click in it that opens a layer or follows a token draws it anew before the rest of the page: the
    picture asks for that once it is painted. Otherwise it would wait for its turn behind all other elements.
    """
    if st.session_state.pop("overview_rest", False):
        st.rerun()
    now = view.followed()
    drawn = stave.view(now.trace, now.tokens, words, now.token, layer=now.layer, focus=now.focus, masked=MASK)
    stave.stave(
        drawn,
        key="overview",
        step=step,
        on_open=open_value,
        on_focus=look_at,
        on_layer=open_layer,
        on_step=follow,
        on_painted=rest,
    )
    return drawn


drawn = picture()
table = st.expander(words("stave.list"), on_change="rerun", key="overview_list")
if table.open:
    with table:
        st.markdown(words.prose("overview")["list"])
        st.dataframe(stave.listing(drawn), hide_index=True)
