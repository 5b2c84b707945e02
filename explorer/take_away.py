"""What a reader can take along from a page: pictures, values as files, the page itself, its link, lines of Python."""

from typing import TYPE_CHECKING

import streamlit as st

from explorer import reader
from explorer.config import MAX_TOKENS
from explorer.view import View
from explorer.views.components.take_away import pictures
from explorer.words import Words

if TYPE_CHECKING:
    from torch import Tensor

KEY = "take away"
WHOLE = ""  # the choice of all values at once
TABLE = ".csv"


def begin() -> None:
    """Forget what was on the screen: before a page is drawn."""
    st.session_state.pictured = []  # paths and tensors, written by the components that draw values


@st.fragment
def offer(page: str, words: Words) -> None:
    """Offer, behind one word, what is on the screen to be taken along. Nothing is made before it is asked for.

    A fragment: opening it, and choosing in it, leaves the page alone.
    """
    view: View | None = st.session_state.view
    if view is None:
        return
    with st.popover(f":gray[{words('take')}]", type="tertiary", on_change="rerun", key=KEY) as opened:
        if not opened.open:
            return
        offered = _offered(view)
        chosen = f"{KEY} value {offered[0]}"  # what is looked at closely on the page is what is first offered here
        if st.session_state.get(chosen) not in offered:
            st.session_state[chosen] = offered[0]
        path, (looked_at, cell) = st.session_state[chosen], _opened(view)
        code = _code(view, path, cell if path == looked_at else None)
        pictures(words, words(f"page.{page}"), _facts(view), code, key=f"{KEY} pictures")
        _values(view, offered, path, chosen)
        st.markdown(f"**{words('take.python')}**")
        st.code(code, language="python", wrap_lines=True)


def _opened(view: View) -> tuple[str, tuple[int, ...] | None]:
    """The value that the reader looks at closely, and the number in it: none while there is no such value."""
    from explorer import panel

    if "v" in st.session_state.asked and (path := reader.option("v")):
        return path, reader.cell(view.run.value(path).tensor.shape)
    # Asking for an option puts it into the address, so only where the page has asked.
    return ("p" in st.session_state.asked and panel.opened(view)) or ("", None)


def _offered(view: View) -> list[str]:
    """The values of the pass, those first that are on the screen, and all at once."""
    looked_at = [path] if (path := _opened(view)[0]) else []
    drawn = [path for path, tensor in st.session_state.pictured if is_of(view, path, tensor)]
    return list(dict.fromkeys([*looked_at, *drawn, WHOLE, *view.trace]))


def is_of(view: View, path: str, drawn: "Tensor") -> bool:
    """Whether what a picture showed under a path is this pass's value, or a part of it; pages draw others besides."""
    if path not in view.trace and path not in view.trace.parameters:
        return False
    return drawn.untyped_storage().data_ptr() == view.run.value(path).tensor.untyped_storage().data_ptr()


def _facts(view: View) -> list[str]:
    """Lines on what the page shows."""
    words, chosen = view.words, view.choices
    texts = [f"{words('text.source' if chosen.architecture == 'encoder-decoder' else 'text')}: {chosen.text}"]
    if len(view.config.stacks) > 1:
        target = view.tokens["decoder"]
        texts.append(f"{words('text.target')}: {''.join(token.text for token in target)}")
    texts.append(f"{chosen.model} · {words('layer')} {view.layer} · {words('head')} {view.head}")
    if view.edited:
        texts.append(f"{words('edits')} {view.run.changes}")
    return texts


def _about(view: View) -> dict[str, str]:
    """What a file of values says of itself, as in explorer.notebook."""
    from explorer import notebook

    chosen = view.choices
    return notebook.about(
        chosen.model, chosen.text, _target(view), view.run.changes, chosen.other if any(view.run.other) else "",
        view.tokens,
    )  # fmt: skip


def _target(view: View) -> str:
    """What the decoder reads, where it is not the model's own."""
    return view.choices.target if view.own is None and len(view.config.stacks) > 1 else ""


def _code(view: View, path: str, index: tuple[int, ...] | None) -> str:
    from explorer import notebook

    chosen = view.choices
    beginning = chosen.cut and any(len(tokens) == MAX_TOKENS for tokens in view.tokens.values())
    return notebook.lines(
        path, chosen.text, chosen.model, target=_target(view), edits=view.run.changes,
        other=chosen.other if any(view.run.other) else "", beginning=beginning, index=index,
    )  # fmt: skip


def _values(view: View, offered: list[str], path: str, key: str) -> None:
    """A value, or all of them, as a file."""
    from explorer import export, notebook

    words = view.words
    st.selectbox(
        f"**{words('take.values')}**", offered, key=key,
        format_func=lambda path: path or words("take.whole", n=len(view.trace)),
    )  # fmt: skip
    kinds = [*([TABLE] if path != WHOLE else []), *export.KINDS]
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        kind = st.segmented_control(
            words("take.kind"), kinds, default=kinds[0], format_func=lambda kind: kind[1:], required=True,
            key=f"{KEY} kind {path == WHOLE}", label_visibility="collapsed",
        )  # fmt: skip

        def made() -> bytes:
            values = dict(view.trace) if path == WHOLE else {path: view.run.value(path)}
            if kind == TABLE:
                return export.csv(values[path], notebook.labels(view.trace, view.tokens, path, values[path]))
            return export.file(kind, values, _about(view))

        st.download_button(
            words("take.download"), made, file_name=f"{view.choices.model}.{path or 'all'}{kind}",
            mime="text/csv" if kind == TABLE else "application/octet-stream", on_click="ignore", type="tertiary",
        )  # fmt: skip
