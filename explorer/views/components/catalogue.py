"""The list of all values of a pass, in the order of computation, grouped by module, with a search of its own."""

from collections.abc import Callable
from itertools import groupby

import streamlit as st

from explorer import glossary
from explorer.trace import Trace
from explorer.views.components import source
from explorer.words import Words

_component = st.components.v2.component(
    "explorer_catalogue",
    html='<div id="root"><input type="search"><div id="list"></div></div>',
    css=source("catalogue.css"),
    js=source("elements.js", "catalogue.js"),
)


def groups(trace: Trace, words: Words) -> list[dict]:
    """The values in the order of computation, those of one sublayer together: `title` and `items`.

    A sublayer and its residual connection are one group: the norm and the plus belong to what they surround.
    """
    found = []
    for title, paths in groupby(trace, key=lambda path: _title(path, words)):
        items = [
            {
                "path": path,
                "name": glossary.entry(path, trace).name[words.language],
                "shape": " × ".join(map(str, trace[path].tensor.shape)),
            }
            for path in paths
        ]
        found.append({"title": title, "items": items})
    return found


def _title(path: str, words: Words) -> str:
    names = path.split(".")
    if len(names) == 1:
        return words("part.prediction")
    stack = words(f"stack.{names[0]}")
    if names[1] != "layers":
        return f"{stack}, {words(f'part.{names[1]}')}"
    return f"{stack} {words('layer.of', n=int(names[2]))}, {words('part.' + names[3].removesuffix('_residual'))}"


def catalogue(trace: Trace, chosen: str, words: Words, *, key: str, on_open: Callable[[str], None]) -> None:
    """Draw the list with one value chosen; `on_open(path)` is called when another is, before the rerun."""

    def opened():
        path = getattr(st.session_state.get(key), "open", None)
        if path in trace:
            on_open(path)

    data = {"groups": groups(trace, words), "chosen": chosen}
    data |= {"search": words("values.search"), "none": words("values.none")}
    _component(key=key, data=data, on_open_change=opened)
