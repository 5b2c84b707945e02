"""The number that a reader opened on a page, and the panel that says how it was made."""

from collections.abc import Callable, Sequence

import streamlit as st

from explorer import reader
from explorer.analysis.limits import nearest
from explorer.view import View
from explorer.views.components.arithmetic import arithmetic_panel


def open_at(path: str, index: Sequence[int]) -> None:
    """Open the arithmetic of one number of a value, where the page draws it (see `show`). For callbacks."""
    reader.set_option("p", path)
    reader.set_option("pc", ",".join(map(str, index)))


def opened(view: View) -> tuple[str, tuple[int, ...]] | None:
    """The value and the cell that the reader opened, in the layer at hand where it belongs to one."""
    path = reader.option("p")
    if path:
        asked, path = path, nearest(view.trace, path, view.layer)
        if path is None:
            reader.gave_way("p", asked)
    index = reader.cell(view.run.value(path).tensor.shape, "pc") if path else None
    return (path, index) if index is not None else None


def cell_of(view: View, path: str) -> tuple[int, ...] | None:
    """The cell that the reader opened, where it is one of this value."""
    found = opened(view)
    return found[1] if found and found[0] == path else None


def show(
    view: View,
    key: str,
    *values: str,
    on_open: Callable[[str, tuple[int, ...]], None] = open_at,
    listed: bool = True,
) -> None:
    """The arithmetic of the number that the reader opened, and the ways on from it.

    Where `values` are named, only if it is a number of one of them: so each picture has its numbers below it.
    `on_open` is called when the reader follows an input, before the rerun; `listed` says that the page of all values
    shows this pass too.
    """
    found = opened(view)
    if found is None or (values and found[0] not in values):
        return
    arithmetic_panel(view, *found, key=key, on_open=on_open)
    with st.container(horizontal=True):
        words = view.words
        if listed:
            label = words("open_in_values")
            st.button(label, type="tertiary", key=f"all {key}", on_click=reader.open_value, args=found)
        st.button(words("close"), type="tertiary", key=f"close {key}", on_click=reader.set_option, args=("p", ""))
